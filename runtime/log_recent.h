/*
 * log_recent.h: chunks of the embedded log (log_embedded.c) as its readers hold them, and what was
 * committed a moment ago. A reader close behind the end, as a follower of a run is, gets chunks
 * from the batches of the last commits, as the database got them, instead of from disk.
 *
 * Batches are handed over after their commit only, so that both hold the same committed bytes and
 * nothing depends on which of them is read. They are bounded: mostly one, at most three that were
 * flushed, of 40 MiB; what is further behind, or small, is read from the database. All functions
 * may be called from any thread.
 */
#ifndef PIPE_LOG_RECENT_H
#define PIPE_LOG_RECENT_H

#include <rocksdb/c.h>

#include "value.h"

#define LOG_CHUNK_KEY_BYTES 17u

/* 'r' topic id(4) partition(4) base offset(8), big-endian. */
void log_chunk_key(uint8_t to[LOG_CHUNK_KEY_BYTES], uint32_t topic_id, int32_t partition,
                   int64_t base);

/* Where the chunks of a batch that is being filled lie in it. */
struct log_chunk_place {
    uint8_t key[LOG_CHUNK_KEY_BYTES];
    size_t at, size_bytes;
};
struct log_chunk_places {
    struct log_chunk_place *items;
    uint32_t count, capacity;
};
/* The chunk that was put into the batch last. */
void log_chunk_places_add(struct log_chunk_places *places, rocksdb_writebatch_t *batch,
                          const uint8_t key[LOG_CHUNK_KEY_BYTES], size_t size_bytes);

struct log_recent;

struct log_recent *log_recent_new(void);
/* When nothing is held any more; NULL is none. */
void log_recent_free(struct log_recent *recent);
/* Takes a batch that was committed, with its places; returns a batch for the next one. */
rocksdb_writebatch_t *log_recent_give(struct log_recent *recent, rocksdb_writebatch_t *batch,
                                      struct log_chunk_places *places);

/* A chunk in the hand of a reader; all zero: none. */
struct log_chunk {
    const uint8_t *data;
    size_t size_bytes;
    rocksdb_pinnableslice_t *slice; /* of the database, or */
    struct recent_batch *batch;     /* of a recent commit */
};
/* From where chunks come; recent NULL: from the database only. */
struct log_chunk_source {
    rocksdb_t *db;
    const rocksdb_readoptions_t *options;
    struct log_recent *recent;
};
/* False: no such key, or *error (the caller frees it). The bytes live until log_chunk_release. */
bool log_chunk_get(const struct log_chunk_source *source, const uint8_t key[LOG_CHUNK_KEY_BYTES],
                   struct log_chunk *chunk, char **error);
void log_chunk_release(const struct log_chunk_source *source, struct log_chunk *chunk);

#endif
