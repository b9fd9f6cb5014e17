/*
 * state_store.h: between state_store.c and state_transfer.c; all others see engine.h.
 */
#ifndef PIPE_STATE_STORE_H
#define PIPE_STATE_STORE_H

#include <rocksdb/c.h>

#include "engine.h"

#define ENTRY_PREFIX 13u
#define TASK_PREFIX 9u /* kind, stage, partition */

struct pipe_store {
    rocksdb_t *db;
    rocksdb_options_t *options;
    rocksdb_block_based_table_options_t *table_options;
    rocksdb_cache_t *cache;
    rocksdb_writeoptions_t *write_options, *unlogged;
    rocksdb_flushoptions_t *flush_options, *flush_later;
    rocksdb_readoptions_t *read_options;
    rocksdb_writebatch_t *batch;
    struct pipe_hash_key hash_key;
    char version[16], plan[80], incarnation[40];
    bool read_only;
    bool is_read;     /* states read what they spilled: not from a memtable, which is in no order */
    bool is_adopting; /* what was written last is not logged: nothing behind it may be */
    bool is_flushing; /* likewise; its flush is under way */
    uint64_t saves;   /* in the life of the store */
    struct pipe_buf key, value, schemas;
    int64_t *markers;
    uint32_t marker_capacity;
    uint8_t prefix[ENTRY_PREFIX]; /* of the state that is being saved */
    char error[512];
};

void store_prefix(uint8_t to[ENTRY_PREFIX], char kind, uint32_t stage, int32_t partition,
                  uint32_t index);
/* Frees the cause; false. */
bool store_fail(struct pipe_store *store, const char *doing, char *cause);

/* state_transfer.c: what an adoption that did not end has left of a task without a position. */
bool store_clear_unfinished(struct pipe_store *store, uint32_t stage, int32_t partition);

#endif
