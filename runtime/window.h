/*
 * window.h: the inside of tumbling and hopping windows (window.c, window_table.c, window_total.c,
 * window_state.c, window_spill.c, session_state.c).
 *
 * Time is cut into panes of length gcd(size, every), so that each window is a run of whole panes; a
 * tumbling window is one pane. A record updates one pane of its key, whatever size / every is. A
 * pane carries `first`, the end of the first window that it counts for: a record may be late, by
 * its own partition's watermark, for the earlier windows it lies in and on time for the later ones,
 * and the task that makes the rows may not have closed those earlier windows yet. Panes of one time
 * and key with different `first` are kept apart.
 *
 *   key → entry: panes in order of (start, first), and the windows whose row was or will be sent
 * again heap of entries by `due`, the W at which the next window of the key closes or is forgotten
 *
 * Sessions (session.c) use the same table, rows and store entries: a session is a pane whose
 * `first` is its end. `sessions` tells them apart. There are many keys and each is over soon, so
 * dues are in a timing wheel (due_queue.h), and the memory of entries is used again.
 */
#ifndef PIPE_WINDOW_H
#define PIPE_WINDOW_H

#include "pipe.h"
#include "due_queue.h"
#include "state.h"

/* Followed by the accumulator at WINDOW_ACC_OFFSET. Also used for totals of several panes. */
struct window_pane {
    int64_t start, first;
    uint64_t records; /* merged */
    uint64_t units;   /* what revisions count: records; behind an exchange: partials */
    bool changed;     /* since the last early rows (emit on update) */
    bool save;        /* since the last save */
    bool stored;      /* the store has an entry */
};
#define WINDOW_ACC_OFFSET ((sizeof(struct window_pane) + 15) & ~(size_t)15)

/* A window and key of which a row was sent, or that is closed and will send one, and that is still
 * held. */
struct window_sent {
    int64_t end;
    uint64_t base;           /* units that do not count as a revision */
    uint64_t units, records; /* in the last row */
    bool dirty;              /* closed, and changed since its last row */
    bool rejected;           /* the last row was */
    bool save, stored;
};

/* Totals of a window that slides over the panes of a key: two stacks. `front` holds the totals of
 * the panes from each one up to `middle`, the oldest on top; `back` the total from `middle` to
 * `upto`. Every pane is merged twice, however many windows it lies in. */
struct window_slider {
    bool valid;
    int64_t middle, upto;
    uint8_t *front; /* panes of st->stride */
    uint32_t front_count, front_capacity;
    struct window_pane *back;
};

enum window_list_kind { WINDOW_SAVE, WINDOW_DIRTY, WINDOW_EARLY, WINDOW_LISTS };

/* What a record touches is at the end, beside the key; behind the key is room for the first panes.
 */
struct window_entry {
    uint64_t hash;
    union {
        struct due_item queued; /* of sessions */
        struct {
            int64_t due;        /* PIPE_TIME_MAX: never */
            uint32_t heap_at;   /* index in the heap, plus 1; 0: not in it */
            uint32_t irregular; /* panes that do not count for all their windows */
            int64_t next_close; /* end of the next window that sends its first or final row */
            struct window_slider *closing, *again; /* NULL until needed: first rows; early,
                                                      corrected ones */
        };
    };
    struct window_sent *sent; /* ascending by end; of sessions none */
    uint32_t sent_count, sent_capacity;
    uint8_t *panes; /* pane i is at (pane_begin + i) * stride */
    uint32_t pane_begin, pane_count, pane_capacity, recent;
    uint32_t at[WINDOW_LISTS]; /* index in the list, plus 1; 0: not in it */
    uint32_t key_bytes;
    uint8_t key[];
};
#define WINDOW_PANES_INSIDE 2
#define SESSION_PANES_INSIDE 1

struct window_list {
    struct window_entry **items; /* NULL: a hole, in that of WINDOW_SAVE */
    uint32_t count, capacity, holes;
};

/* Four children a node: they share a cache line or two. Dues are here, not to be fetched from
 * entries. */
struct window_due {
    int64_t due;
    struct window_entry *entry;
};
struct window_heap {
    struct window_due *items;
    uint32_t count, capacity;
};

struct window_slot {
    uint64_t hash;
    struct window_entry *entry; /* NULL: free */
};

/* Freed entries, to be used again: by size in cache lines. They begin with the next one. */
#define WINDOW_SPARE_SIZES 16
#define WINDOW_SPARE_MAX 1024 /* of a size */
struct window_spare {
    void *first;
    uint32_t count;
};

/* A key that left memory (window_spill.c). */
struct window_stub {
    uint64_t mark; /* 56 bits of the hash; 0: free */
    int64_t due;
};
struct window_spilled {
    struct window_stub *stubs;
    uint32_t capacity, count;
    uint32_t hand;           /* steps that the search for keys to go has taken */
    int64_t next;            /* none of them is due before */
    bool passed;             /* the store has entries due before that, which have come back */
    struct pipe_buf removed; /* those that came back otherwise, as in pipe_window.removed */
    struct pipe_state_reader reader;
    bool has_reader;
    const char *fault; /* the store can't be read: the task stops; NULL: none */
    uint64_t open, panes, reads;
    struct pipe_buf key, value; /* scratch */
};

/* A row to make: sorted by (end, key). */
struct window_task_row {
    int64_t end;
    struct window_entry *entry;
};

struct pipe_window {
    struct pipe_state state; /* first */
    const struct pipe_state_def *def;
    bool sessions;
    struct pipe_hash_key seed;
    uint32_t stride; /* bytes of a pane with its accumulator */
    int64_t pane_length;
    int64_t advanced, saved_advanced; /* W up to which all was done; as stored */
    int64_t pane_start, pane_first,
        pane_last; /* of the record before: of its pane, and of its windows */
    bool cached;
    bool simple; /* tumbling, and no early rows: a record changes one pane, mostly nothing else */
    bool ready;  /* dues are known; false behind a load */
    struct window_slot *slots;
    uint32_t slot_capacity, entry_count;
    struct window_heap heap;
    struct due_queue queue; /* of sessions */
    struct window_spilled spilled;
    struct window_spare spare[WINDOW_SPARE_SIZES];
    uint64_t ahead[PIPE_AHEAD]; /* hashes of state.keys */
    struct window_list lists[WINDOW_LISTS];
    struct window_pane *total; /* scratch */
    struct pipe_buf removed;   /* keys to be removed from the store: uint32_t size, bytes */
    uint64_t removed_count;
    uint32_t base_parts;  /* of sessions: entries of the base in the store (session_state.c) */
    uint64_t behind_base; /* entries written since then */
    struct pipe_buf key, value;   /* scratch */
    struct window_task_row *rows; /* scratch */
    uint32_t row_count, row_capacity;
    uint64_t open; /* (record, window) pairs held */
    uint64_t pane_count, memory_bytes;
};

static inline void *window_acc(const struct window_pane *pane)
{
    return (uint8_t *)(uintptr_t)pane + WINDOW_ACC_OFFSET;
}
static inline struct window_pane *window_pane_at(const struct pipe_window *st,
                                                 const struct window_entry *entry, uint32_t i)
{
    return (struct window_pane *)(void *)(entry->panes +
                                          (size_t)(entry->pane_begin + i) * st->stride);
}

/* --- The grid: ends are start + size, one every `every` -------------------------------------- */

static inline int64_t window_grid(int64_t time, int64_t offset, int64_t step)
{
    return time - offset - (((time - offset) % step) + step) % step + offset;
}
/* End of the last window that begins at or before `time`; the time is in none if it is not after
 * it. */
static inline int64_t window_last_end(const struct pipe_state_def *def, int64_t time)
{
    return window_grid(time, def->offset, def->every) + def->size;
}
static inline int64_t window_first_end(const struct pipe_state_def *def, int64_t time)
{
    int64_t last = window_last_end(def, time);
    return last > time ? last - (last - time - 1) / def->every * def->every : last + def->every;
}
/* The least end that is at least `first` and after `bound`. */
static inline int64_t window_end_after(const struct pipe_state_def *def, int64_t first,
                                       int64_t bound)
{
    if (first > bound)
        return first;
    if (bound == PIPE_TIME_MAX)
        return PIPE_TIME_MAX;
    return first + ((bound - first) / def->every + 1) * def->every;
}
static inline uint64_t window_ends(const struct pipe_state_def *def, int64_t first, int64_t last)
{
    if (PIPE_LIKELY(last == first)) /* of a tumbling window always: a division is saved */
        return 1;
    return last < first ? 0 : (uint64_t)((last - first) / def->every) + 1;
}
/* The W of the state's input; mostly nothing delays it. */
static inline int64_t window_delayed(const struct pipe_state_def *def, int64_t watermark)
{
    return PIPE_LIKELY(def->delay == 0) ? watermark : pipe_time_sub(watermark, def->delay);
}
/* Windows that end by this are closed, and their row (final: only row) was made. */
static inline int64_t window_closed(const struct pipe_window *st)
{
    return st->def->emit == PIPE_EMIT_FINAL ? pipe_time_sub(st->advanced, st->def->lateness)
                                            : st->advanced;
}
static inline int64_t window_forgotten(const struct pipe_window *st)
{
    return pipe_time_sub(st->advanced, st->def->lateness);
}

/* --- Hashes of keys ----------------------------------------------------------------------------
 */

static inline uint64_t window_fold(uint64_t a, uint64_t b)
{
    pipe_u128 product = (pipe_u128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* The place in the table: by folded products under the random key of the state, so that no one can
 * choose keys that fall into one place. Two keys may have the same. */
static inline uint64_t window_hash(const struct pipe_window *st, const void *key, size_t key_bytes)
{
    const uint8_t *at = (const uint8_t *)key, *end = at + key_bytes;
    uint64_t first = 0, last = 0, hash = st->seed.high ^ key_bytes;
    if (key_bytes > 16) {
        for (; at + 16 < end; at += 16) {
            memcpy(&first, at, 8);
            memcpy(&last, at + 8, 8);
            hash = window_fold(first ^ st->seed.low, last ^ hash);
        }
        memcpy(&first, end - 16, 8); /* what is left, and some of what was taken */
        memcpy(&last, end - 8, 8);
    } else if (key_bytes >= 8) {
        memcpy(&first, at, 8);
        memcpy(&last, end - 8, 8);
    } else if (key_bytes >= 4) {
        memcpy(&first, at, 4);
        memcpy(&last, end - 4, 4);
    } else if (key_bytes > 0) {
        memcpy(&first, at, 1);
        first |= (uint64_t)at[key_bytes / 2] << 8 | (uint64_t)end[-1] << 16;
    }
    hash = window_fold(first ^ st->seed.low, last ^ hash);
    return window_fold(hash ^ st->seed.low, 0x9E3779B97F4A7C15u);
}

/* --- window_table.c -------------------------------------------------------------------------- */

/* The entry of a key, made if need be. `hash`: window_hash. */
struct window_entry *window_entry_of(struct pipe_window *st, uint64_t hash, const void *key,
                                     size_t key_bytes);
/* Its entry in memory; NULL: there is none. */
struct window_entry *window_find(const struct pipe_window *st, uint64_t hash, const void *key,
                                 size_t key_bytes);
/* Its entry, of a key that has none, also not in the store. */
struct window_entry *window_new_entry(struct pipe_window *st, const void *key, size_t key_bytes);
void window_ask(void *state, uint32_t wanted); /* state.h; of sessions too */
static inline bool window_is_key(const struct window_entry *entry, const void *key,
                                 size_t key_bytes)
{
    return PIPE_LIKELY(entry->key_bytes == key_bytes) &&
           PIPE_LIKELY(pipe_bytes_equal(entry->key, key, key_bytes));
}
/* The slot of the key, or the free one where it would be. The table must not be empty. */
static inline __attribute__((always_inline)) struct window_slot *
window_slot_of(const struct pipe_window *st, uint64_t hash, const void *key, size_t key_bytes)
{
    uint32_t mask = st->slot_capacity - 1, i = (uint32_t)hash & mask;
    for (; st->slots[i].entry != NULL; i = (i + 1) & mask) {
        if (PIPE_LIKELY(st->slots[i].hash == hash) &&
            window_is_key(st->slots[i].entry, key, key_bytes))
            break;
    }
    return &st->slots[i];
}
/* Makes the entry of a key that has none in memory, and would be in that slot; NULL: the table is
 * empty. */
struct window_entry *window_make_entry(struct pipe_window *st, struct window_slot *slot,
                                       uint64_t hash, const void *key, size_t key_bytes);
/* The entry of the key in hand, made if need be. */
static inline __attribute__((always_inline)) struct window_entry *
window_entry_in_hand(const struct pipe_task *task, struct pipe_window *st, bool is_ahead)
{
    const struct pipe_buf *key = is_ahead ? &st->state.keys[task->ahead_index] : &task->key;
    uint64_t hash = is_ahead ? st->ahead[task->ahead_index] : window_hash(st, key->data, key->size);
    struct window_slot *slot = NULL;
    if (PIPE_LIKELY(st->slot_capacity > 0)) {
        slot = window_slot_of(st, hash, key->data, key->size);
        if (PIPE_LIKELY(slot->entry != NULL))
            return slot->entry;
    }
    return window_make_entry(st, slot, hash, key->data, key->size);
}
/* A key that is not known yet counts as made by the record in hand, with its entry. */
#define WINDOW_ENTRY_LEAST 128u
static inline void window_count_new(struct pipe_task *task, const struct pipe_record *record,
                                    const struct window_entry *entry)
{
    if (PIPE_UNLIKELY(entry->pane_count == 0))
        (void)pipe_may_make(task, record, (uint64_t)entry->key_bytes + WINDOW_ENTRY_LEAST);
}
/* Makes a row; false: it was rejected. What is made of it is counted for it alone: it is due, and
 * no doing of the record in hand. */
static inline bool window_emit_row(struct pipe_task *task, const struct pipe_state_def *def,
                                   const struct pipe_window_row *row)
{
    uint64_t before = task->made_bytes;
    task->made_bytes = 0;
    bool sent = def->emit_row(task, row);
    task->made_bytes = before;
    return sent;
}
/* Asks for what window_release will touch besides the entry. */
PIPE_FETCHES window_fetch_slot(const struct pipe_window *st, const struct window_entry *entry)
{
    __builtin_prefetch(&st->slots[entry->hash & (st->slot_capacity - 1)], 1);
}
/* Asks for the entry that is at a slot, counted around; whoever walks the table asks so many slots
 * ahead. */
#define WINDOW_FETCH_AHEAD 8u
PIPE_FETCHES window_fetch_entry_at(const struct pipe_window *st, uint32_t slot)
{
    const struct window_entry *entry = st->slots[slot & (st->slot_capacity - 1)].entry;
    for (size_t at = 0; entry != NULL && at < 256; at += 64)
        __builtin_prefetch((const uint8_t *)entry + at);
}
/* Removes the entry, which holds nothing. */
void window_release_empty(struct pipe_window *st, struct window_entry *entry);
/* Removes it if it holds nothing. */
static inline void window_release(struct pipe_window *st, struct window_entry *entry)
{
    if (entry->pane_count == 0 && entry->sent_count == 0)
        window_release_empty(st, entry);
}
void window_free_all(struct pipe_window *st);
/* The pane, made (empty, *made true) if need be. */
struct window_pane *window_pane_find(struct pipe_window *st, struct window_entry *entry,
                                     int64_t start, int64_t first, bool *made);
static inline struct window_pane *window_pane_of(struct pipe_window *st, struct window_entry *entry,
                                                 int64_t start, int64_t first, bool *made)
{
    if (PIPE_LIKELY(entry->recent < entry->pane_count)) {
        struct window_pane *pane = window_pane_at(st, entry, entry->recent);
        if (PIPE_LIKELY(pane->start == start && pane->first == first)) {
            *made = false;
            return pane;
        }
    }
    return window_pane_find(st, entry, start, first, made);
}
void window_drop_panes(struct pipe_window *st, struct window_entry *entry, uint32_t from,
                       uint32_t count);
struct window_sent *window_sent_of(const struct window_entry *entry, int64_t end); /* or NULL */
struct window_sent *window_add_sent(struct pipe_window *st, struct window_entry *entry,
                                    struct window_sent sent);
void window_drop_sent(struct pipe_window *st, struct window_entry *entry, uint32_t i);
void window_enlist_new(struct pipe_window *st, enum window_list_kind kind,
                       struct window_entry *entry); /* one that is not in the list */
static inline void window_enlist(struct pipe_window *st, enum window_list_kind kind,
                                 struct window_entry *entry)
{
    if (entry->at[kind] == 0)
        window_enlist_new(st, kind, entry);
}
void window_unlist(struct pipe_window *st, enum window_list_kind kind, struct window_entry *entry);
/* Sets entry->due and its place in the heap. */
void window_schedule(struct pipe_window *st, struct window_entry *entry, int64_t due);
void window_add_row(struct pipe_window *st, int64_t end, struct window_entry *entry);
int window_compare_rows(const struct window_task_row *x, const struct window_task_row *y);
void window_sort_rows(struct pipe_window *st); /* by (end, key), without repetitions */

/* --- window_total.c -------------------------------------------------------------------------- */

struct window_pane *window_new_total(const struct pipe_window *st);
void window_free_total(const struct pipe_window *st, struct window_pane *total); /* may be NULL */
void window_free_slider(const struct pipe_window *st, struct window_slider *slider); /* or NULL */
/* What counts for the window of that end; valid until the next call or a change of the entry. */
const struct window_pane *window_total_of(struct pipe_window *st, struct window_entry *entry,
                                          struct window_slider **slider, int64_t end);

/* --- window_state.c -------------------------------------------------------------------------- */

#define WINDOW_PANE_KEY 17u /* bytes before the key of an entry */

void window_forget_pane(struct pipe_window *st, const struct window_entry *entry,
                        const struct window_pane *pane);
static inline void window_forget_stored_pane(struct pipe_window *st,
                                             const struct window_entry *entry,
                                             const struct window_pane *pane)
{
    if (pane->stored)
        window_forget_pane(st, entry, pane);
}
void window_forget_stored_sent(struct pipe_window *st, const struct window_entry *entry,
                               const struct window_sent *sent);
void window_write_partial(const struct window_entry *entry, const struct pipe_state_def *def,
                          const struct window_pane *pane, struct pipe_buf *out);
struct window_partial {
    struct pipe_str key;
    int64_t start, first;
    uint64_t records;
};
/* Reads up to the accumulator, which follows in `in`; false: malformed. */
bool window_read_partial(const struct pipe_state_def *def, struct pipe_reader *in,
                         struct window_partial *out);
/* What follows the key of an entry; reading makes the pane, NULL: malformed. */
void window_write_pane(const struct pipe_window *st, const struct window_pane *pane,
                       struct pipe_buf *out);
void window_write_sent(const struct window_sent *sent, struct pipe_buf *out);
struct window_pane *window_read_pane(struct pipe_window *st, struct window_entry *entry,
                                     int64_t start, int64_t first, struct pipe_reader *in);
bool window_read_sent(const struct pipe_window *st, const struct window_entry *entry,
                      struct window_sent *sent, struct pipe_reader *in);
/* Sets ready = false. */
bool window_load(void *state, const void *key, size_t key_bytes, const void *value,
                 size_t value_bytes);
void window_save(void *state, const struct pipe_state_writer *writer);

/* --- session_state.c ------------------------------------------------------------------------- */

bool session_load(void *state, const void *key, size_t key_bytes, const void *value,
                  size_t value_bytes);
void session_save(void *state, const struct pipe_state_writer *writer);

/* --- window_spill.c -------------------------------------------------------------------------- */

void window_spill(void *state, uint64_t bytes, bool traces, const struct pipe_state_writer *writer);
/* The entry of a key that left memory, or NULL: it did not. */
struct window_entry *window_come_back(struct pipe_window *st, uint64_t hash, const void *key,
                                      size_t key_bytes);
/* No key that left memory is due before; PIPE_TIME_MAX: there is none. */
int64_t window_next_spilled(const struct pipe_window *st);
/* Brings back what is due by then, in order of (due, key); `each` is called for every one before
 * the next comes. */
void window_come_back_due(struct pipe_window *st, int64_t due,
                          void (*each)(void *context, struct window_entry *entry), void *context);
/* Brings back some that are due next, if any is by `watermark`. Returns the time, watermark at the
 * most, by which none is due that is not in memory. */
int64_t window_come_back_next(struct pipe_window *st, int64_t watermark);
/* What the store could not give back: nothing made since then counts. */
static inline void window_check_spilled(struct pipe_task *task, const struct pipe_window *st)
{
    if (PIPE_UNLIKELY(st->spilled.fault != NULL))
        pipe_fatal(task, "%s", st->spilled.fault);
}
/* state.h; of sessions too */
void window_attach(void *state, const struct pipe_state_reader *reader);
void window_count_spilled(const void *state, struct pipe_state_spilled *out);
uint64_t window_entry_count(const void *state);
uint64_t window_memory_bytes(const void *state);
/* The part of a save that removes what has come back; before any is written anew. */
void window_save_spilled(struct pipe_window *st, const struct pipe_state_writer *writer);
bool window_load_spilled(struct pipe_window *st, const uint8_t *key, size_t key_bytes,
                         struct pipe_reader *in);
void window_free_spilled(struct pipe_window *st);

/* --- window.c -------------------------------------------------------------------------------- */

void window_make_ready(struct pipe_window *st); /* behind a load: dues, lists and gauges */
/* (record, window) pairs that the entry holds. */
uint64_t window_open_of(const struct pipe_window *st, const struct window_entry *entry);

/* --- session.c ------------------------------------------------------------------------------- */

void session_make_ready(struct pipe_window *st); /* likewise */
/* The W at which the next session of the key is over. */
int64_t session_next_over(const struct pipe_window *st, const struct window_entry *entry);
uint64_t session_open_of(const struct pipe_window *st, const struct window_entry *entry);
/* The key is looked at when W is `due`, at the latest. */
void session_queue(struct pipe_window *st, struct window_entry *entry, int64_t due);

#endif
