/*
 * traffic_position.h: where a traffic to Kafka stands (traffic_position.c): the committed offset of
 * a group without members, in partition 0 of the source's topic, and what its ledger is made of.
 */
#ifndef PIPE_TRAFFIC_POSITION_H
#define PIPE_TRAFFIC_POSITION_H

#include "ledger.h"
#include "log.h"

#define TRAFFIC_GROUP_BYTES 512

void traffic_group_name(const struct pipe_plan *plan, const struct pipe_traffic_def *def,
                        uint64_t seed, char to[TRAFFIC_GROUP_BYTES]);
/* The value beside the offset; head->traffic and partitions are no part of it. */
void traffic_position_write(struct pipe_buf *to, const struct pipe_ledger_head *head);
bool traffic_position_read(struct pipe_str value, struct pipe_ledger_head *head);

/* One that has committed something. */
struct traffic_found {
    char group[TRAFFIC_GROUP_BYTES];
    struct pipe_ledger_head head;
    uint8_t topic_id[16]; /* of the topic it was sent to; zeros: not known */
};
/* All traffics of the plan that ever sent to Kafka, by group name, as committed and stable; free.
 * `log` is one of Kafka. Those of other plans are left out. False: error. */
bool traffic_find_all(struct pipe_log *log, const struct pipe_plan *plan,
                      struct traffic_found **found, uint32_t *count, char *error,
                      size_t error_bytes);

#endif
