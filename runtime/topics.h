/* topics.h: the topics that a pipeline needs, as the plan wants them: for `NAME topics` (topics.c)
 * and `NAME doctor`. */
#ifndef PIPE_TOPICS_H
#define PIPE_TOPICS_H

#include "engine.h"
#include "kafka_admin.h"

#define TOPICS_SETTINGS_MAX 8

/* A topic as the plan wants it, and what the cluster says. */
struct topics_wanted {
    const struct pipe_plan_topic *topic;
    struct kafka_topic_setting settings[TOPICS_SETTINGS_MAX];
    uint32_t count;
    bool least[TOPICS_SETTINGS_MAX]; /* more is as good */
    bool differs[TOPICS_SETTINGS_MAX];
    char found[TOPICS_SETTINGS_MAX][128];
};

extern const char *const topics_kinds[]; /* by enum pipe_topic_kind: "source" */

/* min_insync: "" if it is as the brokers say; borrowed, as the topic is. Of topics that others make
 * and write, only what the promise needs. */
void topics_want(struct topics_wanted *wanted, const struct pipe_plan_topic *topic,
                 const char *min_insync);
/* Fills differs and found; the topic is there. False: admin->error. */
bool topics_compare(struct kafka_admin *admin, struct topics_wanted *wanted);

#endif
