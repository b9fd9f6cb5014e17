/*
 * state.h: how operators keep their state (dedup.c, window.c, session.c) and how the engine drives
 * and stores it. Not included by generated code. In memory is the working set; `save` hands the
 * changes since the last save to a writer in one go (the engine puts them into one WriteBatch with
 * the position), `load` takes back every entry ever saved and not deleted. A fresh operator + all
 * its entries = the state as of the last save. Keys and values are the operator's own; the store
 * prefixes them by task and state. One thread owns a task.
 */
#ifndef PIPE_STATE_H
#define PIPE_STATE_H

#include "pipe.h"

struct pipe_state_writer {
    void *context;
    void (*put)(void *context, const void *key, size_t key_bytes, const void *value,
                size_t value_bytes);
    void (*remove)(void *context, const void *key, size_t key_bytes);
    void (*remove_range)(void *context, const void *from, size_t from_bytes, const void *to,
                         size_t to_bytes); /* [from, to) */
};

/* 16 random bytes made once per state directory: the key of the 128-bit hash of long dedup keys. */
struct pipe_hash_key {
    uint64_t low, high;
};

/* One vtable a kind of state, so that the engine treats them alike. */
struct pipe_state_ops {
    void *(*create)(const struct pipe_state_def *def, const struct pipe_hash_key *hash_key);
    void (*destroy)(void *state);
    bool (*load)(void *state, const void *key, size_t key_bytes, const void *value,
                 size_t value_bytes); /* false: malformed */
    void (*save)(void *state, const struct pipe_state_writer *writer);
    /* W of the state's input (delay already subtracted) has grown to `watermark`: closes, emits,
     * ships and forgets, in order of (end, key). A later stream's state in the same task is
     * advanced after the earlier ones. */
    void (*advance)(struct pipe_task *task, uint32_t state, int64_t watermark);
    /* Before a commit: sends pending corrections. */
    void (*settle)(struct pipe_task *task, uint32_t state);
    /* The watermark of its input at which `advance` next has something to do; PIPE_TIME_MAX: never.
     */
    int64_t (*next_due)(const void *state);
    uint64_t (*open_pairs)(const void *state);
    uint64_t (*entry_count)(const void *state); /* ids remembered, windows or sessions held */
    uint64_t (*memory_bytes)(const void *state);
};
extern const struct pipe_state_ops pipe_dedup_ops, pipe_window_ops, pipe_session_ops;
const struct pipe_state_ops *pipe_state_ops_of(enum pipe_state_kind kind);

/* A partial aggregate on its way to the merge task of a window. The payload of an exchange record
 * of kind PARTIAL; made by window.c, read by it. */
void pipe_window_merge(struct pipe_task *task, uint32_t state, const struct pipe_record *record,
                       struct pipe_str payload);

/* Given by the engine to window.c (PIPE_PHASE_PARTIAL): sends a partial, partitioned by `key`. */
void pipe_exchange_partial(struct pipe_task *task, uint32_t exchange, const uint8_t *key,
                           uint32_t key_bytes, struct pipe_str payload);

#endif
