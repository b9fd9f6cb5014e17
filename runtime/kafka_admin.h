/*
 * kafka_admin.h: looking at topics and changing them, for commands (topics, doctor). All calls wait
 * for the brokers, at most KAFKA_ADMIN_WAIT_MS; false or NULL: admin->error holds one line. One
 * thread.
 */
#ifndef KAFKA_ADMIN_H
#define KAFKA_ADMIN_H

#include "log.h"

#define KAFKA_ADMIN_WAIT_MS 30000
/* Of topics that are written: a row of 1 MiB (--max-record) may be six times that in JSON. Above
 * message.max.bytes of the producer, for that counts a record, the broker a batch. */
#define KAFKA_TOPIC_MESSAGE_BYTES "8388608"

struct kafka_admin {
    struct kafka_common *common;
    struct rd_kafka_s *client;
    char error[512];
};

struct kafka_topic_setting {
    const char *name, *value;
};

/* Connects when first asked. false: the configuration is wrong, and `admin` need not be closed. */
bool kafka_admin_open(struct kafka_admin *admin, const struct pipe_kafka_config *config);
void kafka_admin_close(struct kafka_admin *admin);

/* The ids of the brokers that the cluster has, at most `most`; *count: how many there are. */
bool kafka_admin_brokers(struct kafka_admin *admin, int32_t *ids, uint32_t most, uint32_t *count);
/* partitions 0: there is no such topic. */
bool kafka_admin_topic(struct kafka_admin *admin, const char *name, uint32_t *partitions,
                       uint32_t *replicas);
/* replication -1: as the brokers' default says. */
bool kafka_admin_create(struct kafka_admin *admin, const char *name, uint32_t partitions,
                        int32_t replication, const struct kafka_topic_setting *settings,
                        uint32_t count);
/* Until the brokers know a topic that was just made. */
bool kafka_admin_wait(struct kafka_admin *admin, const char *name);
/* Calls `each` for every setting of a topic; own: it was set for this topic. */
bool kafka_admin_settings(struct kafka_admin *admin, const char *name,
                          void (*each)(void *context, const char *name, const char *value,
                                       bool own),
                          void *context);
/* The same of a broker. */
bool kafka_admin_broker_settings(struct kafka_admin *admin, int32_t id,
                                 void (*each)(void *context, const char *name, const char *value,
                                              bool own),
                                 void *context);
/* The group of the runs; their transactional ids begin with `pipec.GROUP.`. */
const char *kafka_admin_group(const struct kafka_admin *admin);
/* Whether rights can be asked for: librdkafka, as it was compiled against, is 2.3 or later. */
extern const bool kafka_admin_asks_rights;
/* What this user may do with a topic. told false: it cannot be asked, or the broker does not say.
 */
struct kafka_rights {
    bool told, read, write;
};
bool kafka_admin_rights(struct kafka_admin *admin, const char *name, struct kafka_rights *rights);
/* Sets these, and leaves the others of the topic as they are. */
bool kafka_admin_set(struct kafka_admin *admin, const char *name,
                     const struct kafka_topic_setting *settings, uint32_t count);

#endif
