/*
 * log.h: the log that is the only commit point (semantics.md §5): partitioned topics of records and
 * small metadata values. All that is appended or put between two commits becomes visible and
 * durable together, or not at all; readers see committed records only. log_embedded.c keeps it in
 * RocksDB; another transport fits behind the same operations.
 *
 * Offsets of a partition are consecutive from 0. Nothing is changed or deleted once committed.
 * Errors: bool, false = failed, and log->error holds one line (what, where, cause, what to do).
 * After a failed append, put or commit only abort and close are allowed. One thread uses a log.
 */
#ifndef PIPE_LOG_H
#define PIPE_LOG_H

#include "pipe.h"

struct pipe_log;
struct pipe_log_reader;

enum pipe_log_state {
    PIPE_LOG_RECORDS, /* *count >= 1 records */
    PIPE_LOG_END,     /* none committed beyond the position */
    PIPE_LOG_FAILED   /* log->error */
};

struct pipe_log_topic {
    const char *name; /* owned by the log */
    uint32_t id, partitions;
};

struct pipe_log_ops {
    /* Finds the topic or registers it (durable with the next commit). Another count of partitions
     * than the registered one fails. `topic` is its index in log->topics; it stays valid. */
    bool (*topic)(struct pipe_log *log, const char *name, uint32_t partitions, uint32_t *topic);

    /* The end of what is committed: the offset that the next record gets if nothing is pending. */
    int64_t (*end)(const struct pipe_log *log, uint32_t topic, int32_t partition);

    /* Copies the record into the open commit. data NULL: no key, no value. */
    bool (*append)(struct pipe_log *log, uint32_t topic, int32_t partition, int64_t kafka_time_ms,
                   struct pipe_str key, struct pipe_str value);

    /* Metadata: replaces the value of `name` with the commit. get sees committed values only;
     * *found. */
    bool (*put)(struct pipe_log *log, const char *name, const void *value, size_t value_bytes);
    bool (*get)(struct pipe_log *log, const char *name, struct pipe_buf *value, bool *found);
    /* Calls `each` for the names that begin with `prefix`, in byte order. */
    bool (*list)(struct pipe_log *log, const char *prefix,
                 bool (*each)(void *context, const char *name, struct pipe_str value),
                 void *context);

    bool (*commit)(struct pipe_log *log); /* durable (fsync) when it returns true */
    void (*abort)(struct pipe_log *log);  /* forgets what is pending */

    /* A reader at `offset`; records get the given constant fields (source, partition, topic). Never
     * NULL. */
    struct pipe_log_reader *(*reader)(struct pipe_log *log, uint32_t topic, int32_t partition,
                                      int64_t offset, const struct pipe_record *constant);
    /* At most max_records records from the reader's position on, which moves behind them. They and
     * what they point to live until the next call with this reader. */
    enum pipe_log_state (*read)(struct pipe_log_reader *reader, uint32_t max_records,
                                struct pipe_record **records, uint32_t *count);
    void (*reader_close)(struct pipe_log_reader *reader);

    void (*close)(struct pipe_log *log); /* aborts what is pending */
};

struct pipe_log {
    const struct pipe_log_ops *ops;
    struct pipe_log_topic *topics;
    uint32_t topic_count;
    char incarnation[33];   /* 128 random bits in hex, made with the log: names it for the state */
    uint64_t pending_bytes; /* of the open commit, about */
    uint64_t commits;       /* since opening */
    uint64_t written_bytes; /* given to the storage by commits since opening */
    char error[512];
};

/* Opens the log of an embedded run under `dir`/log; makes it unless read_only, which needs no lock
 * on `dir` and changes nothing. NULL: error. */
struct pipe_log *pipe_log_embedded_open(const char *dir, bool read_only, char *error,
                                        size_t error_bytes);

#endif
