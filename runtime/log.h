/*
 * log.h: the log that is the only commit point (semantics.md §5): partitioned topics of records,
 * and the position of every task. All that is appended or put between two commits becomes visible
 * and durable together, or not at all; readers see committed records only.
 *
 *   log_embedded.c   RocksDB in the run directory; one process, which has all partitions
 *   log_embedded_attach.c  a second handle on that, for another thread
 *   log_kafka.c      Apache Kafka: transactions; several processes share the partitions as a group
 *   tests/sim        a simulated cluster with faults by seed
 *
 * Offsets of a partition grow; there may be gaps (Kafka's transaction markers, aborted records).
 * Nothing is changed or deleted once committed. One thread uses a log.
 *
 * Errors: false or FAILED, and log->error holds one line (what, where, cause, what to do). After a
 * failed append, put or commit only abort and close are allowed. What passes by itself (a broker
 * that is away, a leader that moves) is no error: the log waits or says WAIT, and tells once.
 *
 * Life, as the engine leads it:
 *
 *   topic … topic, join, then for ever:
 *     poll:  ASSIGNED → get_position, reader (replay), …   REVOKED → commit, save state, release
 *            LOST → abort, drop, release
 *     ready (until it says so) → read, append, put_position → commit
 *       COMMITTED → go on
 *       ABORTED   → drop what is in memory, ready, get_position of every task, replay
 */
#ifndef PIPE_LOG_H
#define PIPE_LOG_H

#include "pipe.h"

struct pipe_log;
struct pipe_log_reader;

enum pipe_log_state {
    PIPE_LOG_RECORDS, /* *count >= 1 records */
    PIPE_LOG_END,     /* none committed beyond the position, or the position is at `before` */
    PIPE_LOG_WAIT,    /* none yet; whether there are any is not known (a fetch is on its way) */
    PIPE_LOG_FAILED   /* log->error */
};

enum pipe_log_outcome {
    PIPE_LOG_COMMITTED,
    /* Not committed, or unknown, which is the same to the engine: the committed positions are the
     * verdict (§5). What was pending is forgotten. */
    PIPE_LOG_ABORTED,
    PIPE_LOG_FENCED, /* a newer instance has taken over: log->error says who; nothing is written */
    PIPE_LOG_BROKEN  /* log->error; may have been committed or not */
};

struct pipe_log_topic {
    const char *name; /* owned by the log */
    uint32_t id, partitions;
};

struct pipe_log_partition {
    uint32_t topic; /* index in log->topics */
    int32_t partition;
};

enum pipe_log_event_kind {
    PIPE_LOG_NOTHING,
    PIPE_LOG_ASSIGNED, /* these partitions are ours from now on, besides those we have */
    PIPE_LOG_REVOKED,  /* these go to others once `release` is called: commit and save before */
    PIPE_LOG_LOST      /* these are others' already: nothing read from them may be committed */
};
struct pipe_log_event {
    enum pipe_log_event_kind kind;
    const struct pipe_log_partition *partitions; /* valid until the next poll */
    uint32_t count;
};

/* Where a task goes on, committed together with its outputs. */
struct pipe_log_position {
    const char *name;             /* of the task; logs that keep values by name use it */
    struct pipe_log_partition at; /* what the task reads; topic UINT32_MAX: files */
    int64_t offset;               /* of the next record */
    struct pipe_str value; /* the engine's (engine_encode_task); bounded, see metadata_bytes */
};
/* As committed. */
struct pipe_log_committed {
    bool found;
    int64_t offset; /* -1: the log keeps it in the value only (embedded) */
    int64_t first;  /* where the task began when it was new; not found: where it begins */
    struct pipe_buf *value;
    bool loose; /* in: what was committed last is enough, though more may be under way */
};

struct pipe_log_ops {
    /* Finds the topic or, embedded, registers it (durable with the next commit). Another count of
     * partitions than the plan's fails. `topic` is its index in log->topics; it stays valid. */
    bool (*topic)(struct pipe_log *log, const char *name, uint32_t partitions, uint32_t *topic);

    /* ---- Who reads what. NULL where one process has everything (log->grouped false). ---- */
    /* Begins to share these topics with the other processes of the group. */
    bool (*join)(struct pipe_log *log, const uint32_t *topics, uint32_t count);
    /* Serves the group and the client; waits at most wait_ms for an event. To be called at least
     * every second, also while replaying. After REVOKED or LOST nothing else comes before release.
     */
    bool (*poll)(struct pipe_log *log, int64_t wait_ms, struct pipe_log_event *event);
    bool (*release)(struct pipe_log *log);

    /* ---- Positions ---- */
    /* Waits until no transaction that could move it is open (require-stable). Refuses (error) what
     * was committed by another plan, or of a topic that was made anew. Any partition may be asked
     * for. */
    bool (*get_position)(struct pipe_log *log, const struct pipe_log_position *of,
                         struct pipe_log_committed *committed);
    bool (*put_position)(struct pipe_log *log, const struct pipe_log_position *position);

    /* ---- What there is ---- */

    /* The first offset that is still there, for a reader that retention has overtaken. May take a
     * round trip; -1: error. */
    int64_t (*begin)(struct pipe_log *log, uint32_t topic, int32_t partition);
    /* The end of what is known to be committed: the offset that the next record gets at least. */
    int64_t (*end)(const struct pipe_log *log, uint32_t topic, int32_t partition);
    /* The end as the last answer told, of whatever kind its records are; it never waits. For
     * figures only. NULL: that is `end`. */
    int64_t (*high)(const struct pipe_log *log, uint32_t topic, int32_t partition);
    /* Whether there is nothing behind `offset`, not even in an open transaction, as a broker has
     * told within the last second. Of a partition with a reader. May take a round trip. */
    bool (*at_end)(struct pipe_log *log, uint32_t topic, int32_t partition, int64_t offset);

    /* ---- Writing ---- */
    /* LOG_RECORDS: appends are possible. WAIT: not yet, poll and ask again. After the start and
     * after ABORTED. NULL: always. */
    enum pipe_log_state (*ready)(struct pipe_log *log);
    /* Copies the record into the open commit. data NULL: no key, no value. False only for what no
     * second try cures: in a commit that has to be aborted it goes nowhere, and commit tells. */
    bool (*append)(struct pipe_log *log, uint32_t topic, int32_t partition, int64_t kafka_time_ms,
                   struct pipe_str key, struct pipe_str value);
    enum pipe_log_outcome (*commit)(struct pipe_log *log); /* durable when it is COMMITTED */
    void (*abort)(struct pipe_log *log);                   /* forgets what is pending */

    /* ---- Values of the run: replaced with the commit; get sees committed values only. A log with
     * keeps_values false has none: put forgets, get and list find nothing. ---- */
    bool (*put)(struct pipe_log *log, const char *name, const void *value, size_t value_bytes);
    bool (*get)(struct pipe_log *log, const char *name, struct pipe_buf *value, bool *found);
    /* Calls `each` for the names that begin with `prefix`, in byte order. */
    bool (*list)(struct pipe_log *log, const char *prefix,
                 bool (*each)(void *context, const char *name, struct pipe_str value),
                 void *context);

    /* ---- Reading ---- */
    /* A reader at `offset`; records get the given constant fields (source, partition, topic). Never
     * NULL: what is wrong is told by read. */
    struct pipe_log_reader *(*reader)(struct pipe_log *log, uint32_t topic, int32_t partition,
                                      int64_t offset, const struct pipe_record *constant);
    /* At most max_records records with offsets below `before` (INT64_MAX: all) from the reader's
     * position on, which moves behind them. They and what they point to live until the next call
     * with this reader. The log begins behind the position: FAILED. */
    enum pipe_log_state (*read)(struct pipe_log_reader *reader, uint32_t max_records,
                                int64_t before, struct pipe_record **records, uint32_t *count);
    /* Behind the last record given; after END also behind the gaps that follow it. */
    int64_t (*position)(const struct pipe_log_reader *reader);
    void (*reader_close)(struct pipe_log_reader *reader); /* what was prefetched is dropped */

    void (*close)(struct pipe_log *log); /* aborts what is pending, leaves the group */
};

struct pipe_log {
    const struct pipe_log_ops *ops;
    struct pipe_log_topic *topics;
    uint32_t topic_count;
    bool grouped;            /* several processes may share the topics: join, poll, release */
    bool keeps_values;       /* put, get, list */
    uint32_t metadata_bytes; /* of one position's value, at most */
    int64_t open_most_us;    /* of work between two commits, to be on the safe side; 0: any */
    bool fenced;             /* with an error: a newer instance has taken over */
    char incarnation[33];   /* names the log for the state that is made from it: embedded 128 random
                               bits in hex, Kafka a hash of cluster id, group and topic ids */
    uint64_t pending_bytes; /* of the open commit, about */
    uint64_t commits;       /* since opening */
    uint64_t written_bytes; /* given to the storage by commits since opening */
    char error[512];
};

/* log_read.c: read, where nothing else is to be done meanwhile: sleeps while the log says WAIT. */
enum pipe_log_state pipe_log_read_on(struct pipe_log *log, struct pipe_log_reader *reader,
                                     uint32_t max_records, struct pipe_record **records,
                                     uint32_t *count);

/* Opens the log of an embedded run under `dir`/log; makes it unless read_only, which needs no lock
 * on `dir` and changes nothing. NULL: error; errno is EMEDIUMTYPE if the log is of another layout,
 * made by an older or newer program. */
struct pipe_log *pipe_log_embedded_open(const char *dir, bool read_only, char *error,
                                        size_t error_bytes);

/* A second handle on an embedded log that is open, for one other thread: reads what is committed,
 * and commits positions and values of its own, each commit synced by itself; topics are those that
 * the log has now. It has no append. Closed before `of`. */
struct pipe_log *pipe_log_embedded_attach(struct pipe_log *of);

/* ---- Kafka ---- */
struct pipe_kafka_property {
    const char *name, *value;
    const char *from; /* who gave it, for messages: "--kafka", "PIPE_KAFKA_SASL_PASSWORD", … */
};
/* A broker answers a fetch when it has so many bytes, or after so long: 1 to 100 ms. */
struct pipe_kafka_fetch {
    uint32_t wait_ms, least_bytes; /* 0: 10 ms, 16 KiB */
};
struct pipe_kafka_config {
    const char *pipeline, *plan_hash;
    const char *group;    /* default pipec.<pipeline> */
    const char *instance; /* [A-Za-z0-9._-]+: group.instance.id and part of the transactional.id */
    const struct pipe_kafka_property *properties; /* of librdkafka; bootstrap.servers among them */
    uint32_t property_count;
    int64_t transaction_timeout_ms; /* default 10000 */
    uint32_t prefetch_kib;          /* of all partitions; 0: 16 MiB */
    struct pipe_kafka_fetch fetch;
    bool read_only;                 /* no group, no producer: for reconcile and inspect */
    bool solo; /* never joins: the group has no members, and keeps what its one producer puts */
};
/* Connects lazily: what the cluster says comes with the first topic or join. Values of properties
 * never appear in errors or messages. NULL: error (an unknown property, a bad value). */
struct pipe_log *pipe_log_kafka_open(const struct pipe_kafka_config *config, char *error,
                                     size_t error_bytes);

#endif
