/*
 * state_transfer.h: state that leaves a store or comes into it from another (decision 0013). Of the
 * thread that uses the store. False: pipe_store_error tells; one line.
 */
#ifndef PIPE_STATE_TRANSFER_H
#define PIPE_STATE_TRANSFER_H

#include "engine.h"

/* Of a store into which a task of another was taken over: its ids may be hashed by another key. */
#define PIPE_STATE_VERSION_ADOPTED "9"
#define PIPE_STATE_VERSIONS PIPE_STATE_VERSION " and " PIPE_STATE_VERSION_ADOPTED
bool pipe_store_can_read(const char *version);

/* The key of the task's hashes: that of the store, or the one it came with. */
bool pipe_store_task_key(struct pipe_store *store, uint32_t stage, int32_t partition,
                         struct pipe_hash_key *key);

/* 16 random bytes, made when they are first asked for: who writes checkpoints of this store. */
bool pipe_store_writer(struct pipe_store *store, uint8_t writer[16]);

/* A copy of the database as of the last save at `path`, which must not be there: tables are hard
 * links. Flushes what is in memory. */
bool pipe_store_checkpoint(struct pipe_store *store, const char *path);

/* Calls `each` for every task that has a position. */
bool pipe_store_each_position(struct pipe_store *store,
                              void (*each)(void *context, uint32_t stage, int32_t partition,
                                           const struct pipe_store_position *position),
                              void *context);

/* Puts the task as it is in `from` into the place of what `to` has of it. Copies in batches and
 * calls `turn` between them, which may save other tasks; *ended: it returned false. Whatever ends
 * it before its end, the task has no state in `to` then. */
bool pipe_store_adopt(struct pipe_store *to, struct pipe_store *from, uint32_t stage,
                      int32_t partition, bool (*turn)(void *context), void *context, bool *ended,
                      uint64_t *entries);

#endif
