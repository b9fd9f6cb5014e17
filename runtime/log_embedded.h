/*
 * log_embedded.h: the inside of the embedded log, shared by log_embedded.c (topics, writing,
 * values) and log_embedded_read.c. Layout: log_embedded.c.
 */
#ifndef PIPE_LOG_EMBEDDED_H
#define PIPE_LOG_EMBEDDED_H

#include <rocksdb/c.h>

#include "log.h"
#include "log_recent.h"

#define CHUNK_BYTES (256u << 10) /* a chunk is closed beyond this */
#define CHUNK_HEADER 16u
#define CHUNK_VERSION 1
#define RECORD_HEADER_MAX 30u  /* three varints */
#define SHARED (1ull << 32)    /* no value has as many bytes */
#define SHARED_MIN_BYTES 128u  /* smaller values are stored again */
#define REFERENCE_MAX 40u      /* four varints */
#define FLUSH_BYTES (2u << 20) /* a commit from here on is flushed instead of logged */

/* One partition of a topic that is written to or asked for its end. */
struct part {
    int64_t end;  /* committed; also read by a handle that is attached, in another thread */
    int64_t next; /* with what is pending */
    int64_t base; /* of the chunk being filled */
    uint32_t count;
    int64_t first_time_ms, last_time_ms;
    struct pipe_buf chunk;
};

/* Where the value of a record lies in a chunk. */
struct place {
    uint32_t topic_id;
    int32_t partition;
    int64_t base;
    size_t position;
};

struct embedded {
    struct pipe_log log; /* first */
    struct part *last;   /* NULL, or has (if its base is still the same) the value appended last */
    struct place last_place;
    size_t last_bytes;
    rocksdb_t *db;
    rocksdb_options_t *options;
    rocksdb_block_based_table_options_t *table_options;
    rocksdb_cache_t *cache;
    rocksdb_writeoptions_t *logged, *unlogged;
    rocksdb_flushoptions_t *flush_options;
    rocksdb_readoptions_t *read_options;
    rocksdb_writebatch_t *batch;
    struct log_recent *recent; /* NULL: no handle is attached */
    struct log_chunk_places
        places;          /* of chunks in `batch`; with `recent`, not of an attached one */
    struct part **parts; /* by topic: an array of its partitions */
    uint32_t topic_capacity;
    uint32_t committed_topics; /* topics[0, this) are registered durably */
    uint64_t batches;          /* written, in the life of the log */
    bool failed;
};

/* From where its readers get chunks. */
static inline struct log_chunk_source embedded_source(const struct embedded *log)
{
    return (struct log_chunk_source){log->db, log->read_options, log->recent};
}

static inline struct embedded *embedded_of(struct pipe_log *log)
{
    return (struct embedded *)log;
}

/* Where a partition's committed records end: whoever sees an end also sees the records before it.
 */
static inline int64_t embedded_end_of(const struct part *part)
{
    return __atomic_load_n(&part->end, __ATOMIC_ACQUIRE);
}

/* log_embedded.c: the ops that an attached handle has too (log_embedded_attach.c). */
bool embedded_put(struct pipe_log *log, const char *name, const void *value, size_t value_bytes);
bool embedded_get(struct pipe_log *log, const char *name, struct pipe_buf *value, bool *found);
bool embedded_list(struct pipe_log *log, const char *prefix,
                   bool (*each)(void *context, const char *name, struct pipe_str value),
                   void *context);
bool embedded_get_position(struct pipe_log *log, const struct pipe_log_position *of,
                           struct pipe_log_committed *committed);
bool embedded_put_position(struct pipe_log *log, const struct pipe_log_position *position);
int64_t embedded_begin(struct pipe_log *log, uint32_t topic, int32_t partition);
int64_t embedded_end(const struct pipe_log *log, uint32_t topic, int32_t partition);
bool embedded_at_end(struct pipe_log *log, uint32_t topic, int32_t partition, int64_t offset);

/* The first error counts; takes `cause`. Both return false. */
bool embedded_fail(struct embedded *log, const char *doing, char *cause);
bool embedded_fail_damaged(struct embedded *log, uint32_t topic, int32_t partition, int64_t offset,
                           const char *how);

/* The chunk that holds `offset`, or the last one before it. False: the log has failed. */
bool embedded_find_chunk(struct embedded *log, uint32_t topic, int32_t partition, int64_t offset,
                         int64_t *base, uint32_t *count, bool *found);

/* log_embedded_read.c: the ops of a reader. */
struct pipe_log_reader *embedded_reader(struct pipe_log *log, uint32_t topic, int32_t partition,
                                        int64_t offset, const struct pipe_record *constant);
enum pipe_log_state embedded_read(struct pipe_log_reader *reader, uint32_t max_records,
                                  int64_t before, struct pipe_record **records, uint32_t *count);
int64_t embedded_position(const struct pipe_log_reader *reader);
void embedded_reader_close(struct pipe_log_reader *reader);

#endif
