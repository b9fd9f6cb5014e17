/*
 * dedup.h: the inside of dedup (dedup.c, dedup_spill.c).
 *
 * Time is cut into cells of a 256th of the ttl; an id lies in the cell of its expiry. Those that
 * came last are in memory, in one table (id_table.h). When memory is short, the ids of the oldest
 * cells leave it as a run: pages of ids in the store, one page for each part of the hashes, and a
 * share of a filter (id_filter.h) that stays, so that a new key is seldom looked for in the store.
 */
#ifndef PIPE_DEDUP_H
#define PIPE_DEDUP_H

#include "pipe.h"
#include "state.h"
#include "id_filter.h"
#include "id_table.h"

#define CELLS_PER_TTL 256

struct dedup_cell {
    int64_t index;  /* expiry / width */
    uint64_t count; /* in memory */
    bool saved;     /* the store has entries of it */
};

/* Ids of cells up to `last` that left memory together. */
struct dedup_run {
    int64_t last;
    uint64_t serial;
    uint64_t count;
    uint32_t pages;
    uint32_t filter;
};

/* Shared by runs that follow each other: a look-up asks every filter. */
struct dedup_filter {
    struct id_filter ids;
    uint32_t runs;
};

struct pipe_dedup {
    struct pipe_state state; /* first */
    const struct pipe_state_def *def;
    struct pipe_hash_key hash_key;
    struct id_table table;
    int64_t width;
    struct dedup_cell *cells; /* ascending; only those that may hold living keys */
    uint32_t cell_count, cell_capacity, recent;
    uint64_t live;                 /* in memory, of the cells */
    int64_t advanced;              /* W up to which cells were dropped */
    int64_t first_kept;            /* index; all cells below are dropped */
    bool drop_saved, drop_spilled; /* the store has entries of dropped cells; of dropped runs */
    uint64_t serial;               /* of the next save */
    struct pipe_buf pending;       /* struct id, added since the last save */
    struct id ahead[PIPE_AHEAD];   /* identities of keys that come next; pipe_task.ahead_index */
    struct pipe_state_reader reader;
    bool has_reader;
    struct dedup_run *runs; /* in order of their making */
    struct dedup_filter *filters;
    uint32_t run_count, filter_count;
    int64_t run_due; /* W at which a run is over */
    uint64_t spilled, reads;
    struct pipe_buf page; /* scratch */
};

static inline int64_t dedup_cell_of(const struct pipe_dedup *dedup, const struct id *id)
{
    return pipe_floor_div(id_expiry(id), dedup->width);
}

/* The first W at which every key of the cell is forgotten. */
static inline int64_t dedup_end_of(const struct pipe_dedup *dedup, int64_t cell)
{
    int64_t end;
    return __builtin_mul_overflow(cell + 1, dedup->width, &end) ? PIPE_TIME_MAX : end;
}

/* --- Keys of the store ------------------------------------------------------------------------ */

/* 'r' cell serial → a run; 'r' cell serial page → its ids; 's' cell serial → ids of one save. */
#define DEDUP_KEY_BYTES 17
#define DEDUP_PAGE_KEY_BYTES 21
void dedup_key(uint8_t key[DEDUP_KEY_BYTES], char kind, int64_t cell, uint64_t serial);
/* Removes entries of a kind of all cells below. */
void dedup_remove_below(const struct pipe_state_writer *writer, char kind, int64_t cell);

/* --- dedup_spill.c ---------------------------------------------------------------------------- */

/* Fetches what a look-up will touch. */
PIPE_FETCHES dedup_spilled_ahead(const struct pipe_dedup *dedup, uint64_t place)
{
    for (uint32_t i = 0; i < dedup->filter_count; i++) {
        const struct id_filter *ids = &dedup->filters[i].ids;
        if (ids->words != NULL)
            __builtin_prefetch(ids->words + id_filter_block(ids, place) * ID_FILTER_WORDS);
    }
}
/* Whether an id that left memory counts at `judge`. A store that can't be read stops the task. */
bool dedup_is_spilled(struct pipe_task *task, struct pipe_dedup *dedup, const struct id *id,
                      int64_t judge);
void dedup_drop_runs(struct pipe_dedup *dedup, int64_t watermark);
bool dedup_load_run(struct pipe_dedup *dedup, const uint8_t *key, size_t key_bytes,
                    struct pipe_str value);
void dedup_spill(void *state, uint64_t bytes, bool traces, const struct pipe_state_writer *writer);
uint64_t dedup_trace_bytes(const struct pipe_dedup *dedup); /* of filters */
uint64_t dedup_spill_bytes(const struct pipe_dedup *dedup); /* of memory */
void dedup_free_runs(struct pipe_dedup *dedup);

/* --- dedup.c ---------------------------------------------------------------------------------- */

/* Gives the ids of a state entry to `each`; false: malformed, or `each` said so. */
bool dedup_each_id(struct pipe_dedup *dedup, struct pipe_str value,
                   bool (*each)(struct pipe_dedup *dedup, const struct id *id, void *context),
                   void *context);

#endif
