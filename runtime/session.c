/*
 * session.c: session windows (semantics.md §2, Sessions). A session is a pane of window.h: [start,
 * first).
 *
 * The queue holds for each key in memory a lower bound of the W at which its next session is over:
 * records move the end of a session all the time, and only when that bound is reached the key is
 * queued anew, by its true end.
 */
#include <stdlib.h>

#include "window.h"

static struct window_pane *session_i(const struct pipe_window *st, const struct window_entry *entry,
                                     uint32_t i)
{
    return window_pane_at(st, entry, i);
}

/* The W at which a session is over. */
static int64_t over_at(const struct pipe_window *st, const struct window_pane *session)
{
    return pipe_time_add(session->first, st->def->lateness);
}

/* entry->due is the least due that the queue has for the key. */
void session_queue(struct pipe_window *st, struct window_entry *entry, int64_t due)
{
    if (due >= entry->due)
        return;
    entry->due = due;
    entry->queued++;
    pipe_state_due_by(&st->state, due);
    due_queue_add(&st->queue, due, entry);
}

int64_t session_next_over(const struct pipe_window *st, const struct window_entry *entry)
{
    int64_t due = PIPE_TIME_MAX;
    for (uint32_t i = 0; i < entry->pane_count; i++) {
        int64_t over = over_at(st, session_i(st, entry, i));
        due = over < due ? over : due;
    }
    return due;
}

uint64_t session_open_of(const struct pipe_window *st, const struct window_entry *entry)
{
    uint64_t open = 0;
    for (uint32_t i = 0; i < entry->pane_count; i++)
        open += session_i(st, entry, i)->records;
    return open;
}

void session_make_ready(struct pipe_window *st)
{
    st->ready = true;
    st->open = st->spilled.open;
    for (uint32_t s = 0; s < st->slot_capacity; s++) {
        struct window_entry *entry = st->slots[s].entry;
        if (entry == NULL)
            continue;
        st->open += session_open_of(st, entry);
        session_queue(st, entry, session_next_over(st, entry));
    }
}

/* Makes the queue anew: items of entries that left memory go. */
static void requeue(struct pipe_window *st)
{
    st->is_queue_stale = false;
    due_queue_clear(&st->queue);
    for (uint32_t s = 0; s < st->slot_capacity; s++) {
        window_fetch_entry_at(st, s + WINDOW_FETCH_AHEAD);
        while (st->slots[s].entry != NULL) {
            struct window_entry *entry = st->slots[s].entry;
            entry->due = PIPE_TIME_MAX;
            entry->queued = 0;
            if (entry->pane_count > 0)
                break;
            window_release(st, entry); /* another one may have moved here */
        }
    }
    for (uint32_t s = 0; s < st->slot_capacity; s++) {
        window_fetch_entry_at(st, s + WINDOW_FETCH_AHEAD);
        struct window_entry *entry = st->slots[s].entry;
        if (entry != NULL)
            session_queue(st, entry, session_next_over(st, entry));
    }
}

#define TRIM_BYTES (64u << 10)

void session_trim_queue(struct pipe_window *st)
{
    /* Buckets have room for up to twice their items. */
    uint64_t most = st->entry_count * 4ull * sizeof(struct due_item) + TRIM_BYTES;
    if (st->is_queue_stale && due_queue_bytes(&st->queue) > most)
        requeue(st);
}

/* --- Rows ------------------------------------------------------------------------------------ */

/* Sends and forgets the sessions of a key that end at `end`. */
static void close_sessions(struct pipe_task *task, struct pipe_window *st,
                           struct window_entry *entry, int64_t end, int64_t until)
{
    struct pipe_counters *counters = &task->counters[st->def->stream];
    for (uint32_t i = 0; i < entry->pane_count;) {
        const struct window_pane *session = session_i(st, entry, i);
        if (session->first != end) {
            i++;
            continue;
        }
        struct pipe_window_row row = {
            .key = entry->key,
            .key_bytes = entry->key_bytes,
            .start = session->start,
            .end = end,
            .acc = window_acc(session),
            .kafka_time_ms = task->kafka_time_ms,
            .watermark = window_forgotten(st),
        };
        if (st->def->emit_row(task, &row))
            counters->emitted += session->records;
        else
            counters->window_rejected += session->records;
        st->open -= session->records;
        window_drop_panes(st, entry, i, 1);
    }
    int64_t due = session_next_over(st, entry);
    if (due > until) /* else its row is among those being made */
        session_queue(st, entry, due);
    window_release(st, entry);
}

/* Does what is due by `until`; all of it is in memory. */
static void close_until(struct pipe_task *task, struct pipe_window *st, int64_t until)
{
    struct due_item item;
    st->row_count = 0;
    if (PIPE_UNLIKELY(st->is_queue_stale))
        requeue(st);
    while (due_queue_take(&st->queue, until, &item)) {
        struct window_entry *entry = item.entry;
        uint32_t before = st->row_count;
        entry->queued--;
        entry->due = PIPE_TIME_MAX; /* an item that is left may be later than what comes now */
        for (uint32_t i = 0; i < entry->pane_count; i++) {
            if (over_at(st, session_i(st, entry, i)) <= until)
                window_add_row(st, session_i(st, entry, i)->first, entry);
        }
        if (st->row_count > before) {
            window_fetch_slot(st, entry);
            continue; /* queued again when its rows are made */
        }
        session_queue(st, entry, session_next_over(st, entry));
        window_release(st, entry);
    }
    if (st->row_count == 0)
        return;
    window_sort_rows(st);
    for (uint32_t i = 0; i < st->row_count; i++)
        close_sessions(task, st, st->rows[i].entry, st->rows[i].end, until);
}

static void advance_to(struct pipe_task *task, struct pipe_window *st, int64_t watermark)
{
    int64_t until;
    if (!st->ready)
        session_make_ready(st);
    if (watermark <= st->advanced)
        return;
    st->advanced = watermark;
    do {
        until = window_come_back_next(st, watermark);
        close_until(task, st, until);
    } while (until < watermark);
    window_check_spilled(task, st);
}

/* --- Records --------------------------------------------------------------------------------- */

struct span {
    int64_t start, end;
};

/* Widens the span by the session if they overlap and `max` allows. */
static bool join(const struct pipe_state_def *def, struct span *span,
                 const struct window_pane *session, struct span own)
{
    if (session->start >= own.end || own.start >= session->first)
        return false;
    struct span both = {session->start < span->start ? session->start : span->start,
                        session->first > span->end ? session->first : span->end};
    if (def->max > 0 && both.end - both.start > def->max)
        return false;
    *span = both;
    return true;
}

/* Puts all sessions that the record joins into one, which is not yet widened, and takes the store
 * entries of all whose start goes. Returns it, or NULL if there is none. */
static struct window_pane *merge_joined(struct pipe_window *st, struct window_entry *entry,
                                        struct span own, struct span *span)
{
    uint32_t kept = UINT32_MAX;
    for (uint32_t i = 0; i < entry->pane_count;) {
        struct window_pane *session = session_i(st, entry, i);
        if (!join(st->def, span, session, own)) {
            i++;
        } else if (kept == UINT32_MAX) {
            kept = i++;
        } else {
            struct window_pane *into = session_i(st, entry, kept);
            into->records += session->records;
            into->units += session->units;
            st->def->acc->merge(window_acc(into), window_acc(session));
            window_drop_panes(st, entry, i, 1); /* behind kept: its place stays */
        }
    }
    return kept == UINT32_MAX ? NULL : session_i(st, entry, kept);
}

/* Gives a session a lower start; sessions stay in order of start. */
static struct window_pane *move_start(struct pipe_window *st, struct window_entry *entry,
                                      struct window_pane *session, int64_t start)
{
    window_forget_stored_pane(st, entry, session);
    session->stored = false;
    session->start = start;
    uint8_t *at = (uint8_t *)session, *first = (uint8_t *)session_i(st, entry, 0);
    while (at > first && ((struct window_pane *)(void *)(at - st->stride))->start > start) {
        for (uint32_t i = 0; i < st->stride; i++) {
            uint8_t byte = at[i];
            at[i] = at[(ptrdiff_t)i - (ptrdiff_t)st->stride];
            at[(ptrdiff_t)i - (ptrdiff_t)st->stride] = byte;
        }
        at -= st->stride;
    }
    return (struct window_pane *)(void *)at;
}

static struct window_pane *take(struct pipe_window *st, struct window_entry *entry, int64_t time)
{
    struct span own = {time, pipe_time_add(time, st->def->gap)}, span = own;
    struct window_pane *session = NULL;
    bool made = false;
    if (PIPE_LIKELY(entry->pane_count == 1)) {
        session = session_i(st, entry, 0);
        if (!join(st->def, &span, session, own))
            session = NULL;
    } else if (entry->pane_count > 1) {
        session = merge_joined(st, entry, own, &span);
    }
    if (session == NULL) {
        session = window_pane_of(st, entry, span.start, span.end, &made);
    } else if (session->start != span.start) {
        session = move_start(st, entry, session, span.start);
    }
    session->first = span.end;
    session->records++;
    session->units++;
    session->save = true;
    window_enlist(st, WINDOW_SAVE, entry);
    if (made)
        session_queue(st, entry, over_at(st, session));
    return session;
}

static bool is_late(struct pipe_window *st, const struct pipe_record *record,
                    struct window_entry *entry)
{
    const struct pipe_state_def *def = st->def;
    struct span own = {record->event_time, pipe_time_add(record->event_time, def->gap)};
    struct span span = own;
    if (def->judge_by_record) {
        int64_t judge = pipe_time_sub(record->watermark, def->delay);
        return record->has_position && pipe_time_add(own.start, def->lateness) < judge;
    }
    if (PIPE_LIKELY(pipe_time_add(own.end, def->lateness) > st->advanced))
        return false;
    for (uint32_t i = 0; i < entry->pane_count; i++) {
        if (join(def, &span, session_i(st, entry, i), own))
            return false; /* what it joins is open, and so is the whole */
    }
    return true;
}

struct pipe_window_hit pipe_session(struct pipe_task *task, uint32_t state,
                                    const struct pipe_record *record, bool is_ahead)
{
    struct pipe_window *st = task->states[state];
    const struct pipe_state_def *def = st->def;
    struct pipe_counters *counters = &task->counters[def->stream];
    if (!st->ready)
        session_make_ready(st);
    /* Rows made by a window see W as it was for this state: window.c. */
    if (record->has_position) {
        int64_t watermark = pipe_time_sub(task->watermark, def->delay);
        if (PIPE_UNLIKELY(watermark >= st->state.due))
            advance_to(task, st, watermark);
        else if (watermark > st->advanced)
            st->advanced = watermark;
    }
    counters->window_in++;
    struct window_entry *entry = window_entry_in_hand(task, st, is_ahead);
    window_check_spilled(task, st);
    if (is_late(st, record, entry)) {
        window_release(st, entry);
        counters->late++;
        return (struct pipe_window_hit){NULL, 1, pipe_time_add(record->event_time, def->gap)};
    }
    st->open++;
    struct window_pane *session = take(st, entry, record->event_time);
    return (struct pipe_window_hit){window_acc(session), 0, 0};
}

/* --- State ----------------------------------------------------------------------------------- */

static void *session_create(const struct pipe_state_def *def, const struct pipe_hash_key *hash_key)
{
    struct pipe_window *st = pipe_calloc(1, sizeof *st);
    st->def = def;
    st->sessions = true;
    st->seed = *hash_key;
    st->stride = (uint32_t)(WINDOW_ACC_OFFSET + ((def->acc->size_bytes + 15) & ~15u));
    st->advanced = st->saved_advanced = PIPE_TIME_MIN;
    st->state.due = PIPE_TIME_MAX;
    st->ready = true;
    return st;
}

static void session_destroy(void *state)
{
    struct pipe_window *st = state;
    window_free_all(st);
    window_free_spilled(st);
    pipe_buf_free(&st->removed);
    pipe_buf_free(&st->key);
    pipe_buf_free(&st->value);
    free(st);
}

static void session_settle(struct pipe_task *task, uint32_t state)
{
    struct pipe_window *st = task->states[state];
    advance_to(task, st, pipe_time_sub(task->watermark, st->def->delay));
}

static void session_advance(struct pipe_task *task, uint32_t state, int64_t watermark)
{
    struct pipe_window *st = task->states[state];
    advance_to(task, st, watermark);
    int64_t due = due_queue_bound(&st->queue), spilled = window_next_spilled(st);
    st->state.due = spilled < due ? spilled : due;
}

static uint64_t session_open_pairs(const void *state)
{
    struct pipe_window *st = (struct pipe_window *)(uintptr_t)state;
    if (!st->ready)
        session_make_ready(st);
    return st->open;
}

const struct pipe_state_ops pipe_session_ops = {
    .create = session_create,
    .destroy = session_destroy,
    .attach = window_attach,
    .load = session_load,
    .spill = window_spill,
    .save = session_save,
    .ask = window_ask,
    .advance = session_advance,
    .settle = session_settle,
    .open_pairs = session_open_pairs,
    .entry_count = window_entry_count,
    .memory_bytes = window_memory_bytes,
    .spilled = window_count_spilled,
};
