/*
 * kafka_internal.h: the inside of the log on Apache Kafka (log_kafka.c), over librdkafka.
 *
 *   kafka_config.c    properties, callbacks, what librdkafka says
 *   kafka_member.c    membership in the group: who reads what, and the fence of commits
 *   kafka_claim.c     which process an instance name belongs to
 *   kafka_producer.c  a producer and the thread of its blocking calls (kafka_producer.h)
 *   kafka_transaction.c  transactions and their outcomes
 *   kafka_reader.c    reading a partition
 *   kafka_position.c  committed positions and what is stored with them
 *   kafka_watch.c     a thread that asks the brokers: ends, partitions, topic ids
 *   kafka_topic_id.c  the id of a topic
 *
 * Four clients are kept, because each needs settings that another must not have:
 *   member    in the group; nothing is fetched with it. Also asked for committed offsets
 *   fetcher   reads records, read_committed; in no group, so a rebalance never touches it
 *   observer  read_uncommitted: sees the ends behind open transactions; metadata
 *   producer  one at a time; made anew whenever a request of it may still be on its way
 *
 * Threads: all functions belong to the thread that uses the log, but where they say otherwise.
 */
#ifndef KAFKA_INTERNAL_H
#define KAFKA_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include <librdkafka/rdkafka.h>

#include "log.h"

#define KAFKA_ID_BYTES 16
#define KAFKA_WAIT_MS 30000       /* for an answer without which there is no going on */
#define KAFKA_METADATA_BYTES 4096 /* offset.metadata.max.bytes of a broker, by default */

/* ---- kafka_config.c ---- */

struct kafka_property {
    char *name, *value, *from;
    bool secret;
};

/* What the callbacks of all clients need. It outlives the log where a client does (a producer whose
 * call never came back), so it is counted. */
struct kafka_common {
    atomic_int references;
    char *pipeline, *plan_hash, *group, *instance;
    struct kafka_property *properties;
    uint32_t property_count;
    int64_t transaction_timeout_ms;
    atomic_bool refused;      /* a broker refused who we are (SASL, TLS) */
    atomic_int group_answers; /* answers of the group's coordinator to the member */
    /* Readers have records, or the group has an event: */
    pthread_mutex_t lock;
    pthread_cond_t woken;
    bool awake;
    struct {
        char name[24];
        int64_t said_us;
    } said[32]; /* when a kind of message was last passed on */
};

struct kafka_setting {
    const char *name, *value;
};

struct kafka_common *kafka_common_new(const struct pipe_kafka_config *config, char *error,
                                      size_t error_bytes);
void kafka_common_keep(struct kafka_common *common);
void kafka_common_drop(struct kafka_common *common);
/* A client of these settings, over which the user's properties go. NULL: error. */
rd_kafka_t *kafka_client(struct kafka_common *common, rd_kafka_type_t type,
                         const struct kafka_setting *settings, size_t count,
                         void (*prepare)(rd_kafka_conf_t *conf, void *context), void *context,
                         char *error, size_t error_bytes);
const char *kafka_setting_of(const struct kafka_common *common, const char *name); /* or NULL */
/* A text of librdkafka without the values of secrets. */
void kafka_redact(const struct kafka_common *common, const char *text, char *to, size_t to_bytes);
/* A warning, at most one a minute for each `kind`. Any thread. */
void kafka_warn(struct kafka_common *common, const char *kind, const char *format, ...)
    PIPE_PRINTF(3, 4);
/* Says, once it takes seconds, that an answer of the brokers is waited for since `began_us`. */
void kafka_tell_wait(struct kafka_common *common, int64_t began_us);
void kafka_wake(struct kafka_common *common);                  /* any thread */
void kafka_wait(struct kafka_common *common, int64_t wait_ms); /* until woken */

/* ---- kafka_topic_id.c ---- */

enum kafka_id_state { KAFKA_ID_KNOWN, KAFKA_ID_UNKNOWN, KAFKA_ID_FAILED };
/* UNKNOWN: this librdkafka cannot say it over such a connection. FAILED: ask again. Any thread. */
enum kafka_id_state kafka_topic_id(struct kafka_common *common, rd_kafka_t *observer,
                                   const char *topic, int timeout_ms, uint8_t id[KAFKA_ID_BYTES]);
void kafka_id_text(const uint8_t id[KAFKA_ID_BYTES], char to[33]);

/* ---- kafka_transaction.c ---- */

enum kafka_producer_state {
    KAFKA_PRODUCER_NONE,    /* there is none */
    KAFKA_PRODUCER_OPENING, /* init_transactions is under way */
    KAFKA_PRODUCER_READY,
    KAFKA_PRODUCER_ENDING, /* abort_transaction is under way */
    KAFKA_PRODUCER_DOOMED  /* its transaction cannot commit any more: abort, or replace it */
};

struct kafka_producer;

struct kafka_writer {
    struct kafka_producer *producer;
    enum kafka_producer_state state;
    bool open; /* a transaction is */
    int64_t opened_us;
    bool replace;         /* before the next transaction */
    bool was_fenced;      /* by somebody: the group tells whether by a newer instance */
    int fenced_answers;   /* common->group_answers at that time */
    int64_t retry_us;     /* not before: a new producer */
    int64_t committed_us; /* when the last commit ended, however it did; 0: none */
    int64_t pause_us;     /* from there to the first record of the next transaction */
    uint64_t replaced;    /* how often, since opening */
    rd_kafka_topic_partition_list_t *offsets; /* of the open commit */
    rd_kafka_topic_t **topics;                /* of the producer, by topic */
    uint32_t topic_count;
};

/* ---- The log ---- */

struct kafka_part {
    int64_t first; /* of the task that reads it; -1: not asked for yet */
    int64_t end;   /* known to be committed */
    struct pipe_log_reader *reader;
    bool written; /* by this process */
    /* Of the watch, under its lock: */
    int64_t wanted_us;     /* when its end was asked for; 0: never */
    int64_t high, high_us; /* the high watermark, and when a broker was asked for it; 0: never */
};

struct kafka_topic {
    char *name;
    uint8_t id[KAFKA_ID_BYTES]; /* zeros: not known */
    struct kafka_part *parts;
    uint32_t partitions;
    rd_kafka_topic_t *fetched, *observed; /* of the fetcher, NULL: none; of the observer */
    int64_t missing_us; /* of the watch: since when no broker knows it; 0: it is there */
};

struct kafka_watch {
    pthread_t thread;
    bool started, stop;
    pthread_mutex_t lock; /* also for log->topics, which the watch reads */
    pthread_cond_t changed;
    bool asked;
    atomic_bool failed; /* error is set: */
    char error[512];
};

struct kafka_group {
    bool joined, assigned; /* assigned: at least once */
    rd_kafka_queue_t *queue;
    rd_kafka_consumer_group_metadata_t *fence; /* as of the last assignment; NULL: none */
    struct pipe_log_partition *partitions;     /* ours */
    uint32_t count, capacity;
    bool leaving;     /* REVOKED or LOST was told, release is due */
    bool doubt;       /* the coordinator says that somebody has our place: it may be ourselves */
    bool rejoin;      /* it is: begin anew after the next release */
    char claim[33];   /* of this process */
    uint32_t *topics; /* joined */
    uint32_t topic_count;
};

struct kafka_log {
    struct pipe_log log; /* first */
    struct kafka_common *common;
    bool read_only, solo;
    uint32_t prefetch_kib; /* of all partitions */
    struct pipe_kafka_fetch fetch;
    rd_kafka_t *member, *fetcher, *observer;
    char *cluster; /* id */
    struct kafka_topic *topics;
    uint32_t topic_capacity;
    struct kafka_group group;
    struct kafka_writer writer;
    struct kafka_watch watch;
    uint64_t stale_records; /* below their reader's position, dropped */
    bool failed;
};

static inline struct kafka_log *kafka_of(struct pipe_log *log)
{
    return (struct kafka_log *)log;
}

/* log_kafka.c. Sets log->error, the first one of a log that is used no further; returns false. */
bool kafka_fail(struct kafka_log *log, const char *format, ...) PIPE_PRINTF(2, 3);
/* Sets log->error; the log goes on. */
void kafka_tell(struct kafka_log *log, const char *format, ...) PIPE_PRINTF(2, 3);
bool kafka_open_fetcher(struct kafka_log *log); /* unless it is there */
void kafka_name_incarnation(struct kafka_log *log, const uint32_t *topics, uint32_t count);

/* kafka_member.c */
bool kafka_member_open(struct kafka_log *log, char *error, size_t error_bytes);
bool kafka_join(struct pipe_log *log, const uint32_t *topics, uint32_t count);
bool kafka_poll(struct pipe_log *log, int64_t wait_ms, struct pipe_log_event *event);
bool kafka_release(struct pipe_log *log);
enum kafka_standing {
    KAFKA_STANDING_GOOD,
    KAFKA_STANDING_DOUBT, /* not known, or to be taken up again: poll does that */
    KAFKA_STANDING_GONE   /* a newer instance has our place, and log->error says so */
};
/* Whether the place in the group is ours. May ask the coordinator. */
enum kafka_standing kafka_member_standing(struct kafka_log *log);
/* The fence of the last assignment, for one commit; NULL: none. To be destroyed. */
rd_kafka_consumer_group_metadata_t *kafka_fence_copy(struct kafka_log *log);
void kafka_member_close(struct kafka_log *log);

/* kafka_claim.c. claim: this process has the instance from now on; waits. holder: who has it. */
bool kafka_claim(struct kafka_log *log);
enum kafka_holder { KAFKA_HOLDER_UNKNOWN, KAFKA_HOLDER_OURS, KAFKA_HOLDER_ANOTHER };
enum kafka_holder kafka_claim_holder(struct kafka_log *log);

/* kafka_position.c */
bool kafka_get_position(struct pipe_log *log, const struct pipe_log_position *of,
                        struct pipe_log_committed *committed);
bool kafka_put_position(struct pipe_log *log, const struct pipe_log_position *position);
/* The metadata of an offset: printable, NUL-terminated. */
void kafka_metadata_write(struct pipe_buf *to, const char *plan_hash,
                          const uint8_t id[KAFKA_ID_BYTES], int64_t first, struct pipe_str value);
struct kafka_metadata {
    char plan_hash[129];
    uint8_t id[KAFKA_ID_BYTES];
    int64_t first;
};
/* false: malformed. `value` gets the engine's part. */
bool kafka_metadata_read(struct pipe_str text, struct kafka_metadata *out, struct pipe_buf *value);

/* kafka_transaction.c */
enum pipe_log_state kafka_ready(struct pipe_log *log);
bool kafka_append(struct pipe_log *log, uint32_t topic, int32_t partition, int64_t kafka_time_ms,
                  struct pipe_str key, struct pipe_str value);
enum pipe_log_outcome kafka_commit(struct pipe_log *log);
void kafka_abort(struct pipe_log *log);
void kafka_writer_close(struct kafka_log *log);

/* kafka_reader.c */
struct pipe_log_reader *kafka_reader(struct pipe_log *log, uint32_t topic, int32_t partition,
                                     int64_t offset, const struct pipe_record *constant);
enum pipe_log_state kafka_read(struct pipe_log_reader *reader, uint32_t max_records, int64_t before,
                               struct pipe_record **records, uint32_t *count);
int64_t kafka_reader_position(const struct pipe_log_reader *reader);
void kafka_reader_close(struct pipe_log_reader *reader);

/* kafka_watch.c */
bool kafka_watch_start(struct kafka_log *log);
void kafka_watch_stop(struct kafka_log *log);
/* Whether what the watch found allows to go on. */
bool kafka_watch_check(struct kafka_log *log);
bool kafka_at_end(struct pipe_log *log, uint32_t topic, int32_t partition, int64_t offset);
/* The offsets between which a partition has records, open transactions included, as a broker says.
 * false: none answered (within wait_ms). */
bool kafka_bounds(struct kafka_log *log, uint32_t topic, int32_t partition, int64_t wait_ms,
                  int64_t *low, int64_t *high);
int64_t kafka_begin(struct pipe_log *log, uint32_t topic, int32_t partition);
int64_t kafka_end(const struct pipe_log *log, uint32_t topic, int32_t partition);
int64_t kafka_high(const struct pipe_log *log, uint32_t topic, int32_t partition);

#endif
