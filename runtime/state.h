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

void pipe_state_free_keys(struct pipe_state *state);

static inline void pipe_state_due_by(struct pipe_state *state, int64_t due)
{
    if (due < state->due)
        state->due = due;
}

struct pipe_state_writer {
    void *context;
    void (*put)(void *context, const void *key, size_t key_bytes, const void *value,
                size_t value_bytes);
    void (*remove)(void *context, const void *key, size_t key_bytes);
    void (*remove_range)(void *context, const void *from, size_t from_bytes, const void *to,
                         size_t to_bytes); /* [from, to) */
};

typedef bool pipe_state_each(void *context, struct pipe_str key, struct pipe_str value);

/* Reads back what was saved, for states that let go of memory (spill). Valid while the store is. */
struct pipe_state_reader {
    void *context;
    uint32_t stage;
    int32_t partition;
    uint32_t index;
    /* false: it can't be read (fault). *found false: there is no such entry. */
    bool (*get)(const struct pipe_state_reader *reader, const void *key, size_t key_bytes,
                struct pipe_buf *value, bool *found);
    /* Calls `each` for the entries from the key `from` on that begin with its first byte, in the
     * order of their keys, until it returns false. What `each` is given is valid during the call,
     * in which the store may be read. */
    bool (*scan)(const struct pipe_state_reader *reader, const void *from, size_t from_bytes,
                 pipe_state_each *each, void *context);
    const char *(*fault)(const struct pipe_state_reader *reader); /* one line */
};

/* 16 random bytes made once per state directory: the key of the 128-bit hash of long dedup keys. */
struct pipe_hash_key {
    uint64_t low, high;
};

struct pipe_state_spilled {
    uint64_t entries, reads;
    uint64_t trace_bytes; /* of memory, by which they are found */
};

/* One vtable a kind of state, so that the engine treats them alike. */
struct pipe_state_ops {
    void *(*create)(const struct pipe_state_def *def, const struct pipe_hash_key *hash_key);
    /* A state begins with struct pipe_state. */
    void (*destroy)(void *state);
    /* Where the state may read back what it has let go of. A state that is not given one, or whose
     * kind has no `attach`, lets go of nothing. */
    void (*attach)(void *state, const struct pipe_state_reader *reader);
    /* Entries come in the order of their keys. */
    bool (*load)(void *state, const void *key, size_t key_bytes, const void *value,
                 size_t value_bytes); /* false: malformed */
    /* The first part of a save, where memory is short: lets go of about `bytes` of it, what is not
     * needed soon first, and writes what it takes to read that back. What was let go of is read
     * from the store from then on, so the save must succeed or the state be dropped. `traces`: of
     * the memory by which what was spilled is found. Verdicts and rows never depend on it. */
    void (*spill)(void *state, uint64_t bytes, bool traces, const struct pipe_state_writer *writer);
    void (*save)(void *state, const struct pipe_state_writer *writer);
    /* state->keys[i], for each bit i of `wanted` (0 to PIPE_AHEAD - 1), will be asked for some
     * records from now: hashes them, and fetches what that will touch. */
    void (*ask)(void *state, uint32_t wanted);
    /* W of the state's input (delay already subtracted) has grown to `watermark`: closes, emits,
     * ships and forgets, in order of (end, key). A later stream's state in the same task is
     * advanced after the earlier ones. */
    void (*advance)(struct pipe_task *task, uint32_t state, int64_t watermark);
    /* Before a commit: sends pending corrections. */
    void (*settle)(struct pipe_task *task, uint32_t state);
    uint64_t (*open_pairs)(const void *state);
    uint64_t (*entry_count)(const void *state); /* ids remembered, windows or sessions held */
    uint64_t (*memory_bytes)(const void *state);
    /* Of the entries: those that are in the store alone; how often it was asked for one. */
    void (*spilled)(const void *state, struct pipe_state_spilled *out);
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
