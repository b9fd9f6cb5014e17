/*
 * session.c: session windows (semantics.md §2, Sessions). A session is a pane of window.h: [start,
 * first).
 *
 * The queue holds each key in memory by a lower bound of the W at which its next session is over:
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

static struct window_entry *entry_of(struct due_item *item)
{
    return (struct window_entry *)(void *)((uint8_t *)item - offsetof(struct window_entry, queued));
}

void session_queue(struct pipe_window *st, struct window_entry *entry, int64_t due)
{
    pipe_state_due_by(&st->state, due); /* not of the queue, which may have the key far too early */
    if (due >= entry->queued.due)
        return;
    if (PIPE_UNLIKELY(entry->queued.due != PIPE_TIME_MAX))
        due_queue_remove(&st->queue, &entry->queued);
    due_queue_add(&st->queue, &entry->queued, due);
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
    due_queue_begin(&st->queue, st->advanced);
    for (uint32_t s = 0; s < st->slot_capacity; s++) {
        struct window_entry *entry = st->slots[s].entry;
        if (entry == NULL)
            continue;
        st->open += session_open_of(st, entry);
        session_queue(st, entry, session_next_over(st, entry));
    }
}

/* --- Rows ------------------------------------------------------------------------------------ */

/* Sends the row of a session and drops it. */
static void close_session(struct pipe_task *task, struct pipe_window *st,
                          struct window_entry *entry, uint32_t i)
{
    struct pipe_counters *counters = &task->counters[st->def->stream];
    const struct window_pane *session = session_i(st, entry, i);
    struct pipe_window_row row = {
        .key = entry->key,
        .key_bytes = entry->key_bytes,
        .start = session->start,
        .end = session->first,
        .acc = window_acc(session),
        .kafka_time_ms = task->kafka_time_ms,
        .watermark = window_forgotten(st),
    };
    if (window_emit_row(task, st->def, &row))
        counters->emitted += session->records;
    else
        counters->window_rejected += session->records;
    st->open -= session->records;
    window_drop_panes(st, entry, i, 1);
}

/* The sessions of a key that end at `end`. */
static void close_sessions(struct pipe_task *task, struct pipe_window *st,
                           struct window_entry *entry, int64_t end, int64_t until)
{
    for (uint32_t i = 0; i < entry->pane_count;) {
        if (session_i(st, entry, i)->first == end)
            close_session(task, st, entry, i);
        else
            i++;
    }
    if (PIPE_LIKELY(entry->pane_count == 0)) {
        window_release_empty(st, entry);
        return;
    }
    int64_t due = session_next_over(st, entry);
    if (due > until) /* else its row is among those being made */
        session_queue(st, entry, due);
}

/* Of a key that was taken from the queue: adds a row to make for every session that is over, or
 * queues it again, by its true end. Else that is done when its rows are made. */
static void look_at(struct pipe_window *st, struct window_entry *entry, int64_t until)
{
    uint32_t before = st->row_count;
    int64_t next = PIPE_TIME_MAX;
    for (uint32_t i = 0; i < entry->pane_count; i++) {
        const struct window_pane *session = session_i(st, entry, i);
        int64_t over = over_at(st, session);
        if (over <= until)
            window_add_row(st, session->first, entry);
        next = over < next ? over : next;
    }
    window_fetch_slot(st, entry);
    if (st->row_count > before)
        return;
    session_queue(st, entry, next);
    window_release(st, entry);
}

/* Does what is due by `until`; all of it is in memory. */
static void close_until(struct pipe_task *task, struct pipe_window *st, int64_t until)
{
    struct due_item *item;
    st->row_count = 0;
    while ((item = due_queue_take(&st->queue, until)) != NULL)
        look_at(st, entry_of(item), until);
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

static inline struct pipe_window_hit count_in(struct pipe_window *st, struct window_entry *entry,
                                              struct window_pane *session)
{
    st->open++;
    session->records++;
    session->units++;
    session->save = true;
    window_enlist(st, WINDOW_SAVE, entry);
    return (struct pipe_window_hit){window_acc(session), 0, 0};
}

static struct pipe_window_hit take(struct pipe_window *st, struct window_entry *entry, int64_t time)
{
    struct span own = {time, pipe_time_add(time, st->def->gap)}, span = own;
    struct window_pane *session = merge_joined(st, entry, own, &span);
    bool made = false;
    if (session == NULL)
        session = window_pane_of(st, entry, span.start, span.end, &made);
    else if (session->start != span.start)
        session = move_start(st, entry, session, span.start);
    session->first = span.end;
    if (made)
        session_queue(st, entry, over_at(st, session));
    return count_in(st, entry, session);
}

/* What most records do: they lie in the only session of their key, and move its end at the most.
 * NULL: this one may do otherwise. */
static inline struct window_pane *extend(const struct pipe_window *st,
                                         const struct window_entry *entry, int64_t time)
{
    const struct pipe_state_def *def = st->def;
    struct window_pane *session = session_i(st, entry, 0);
    int64_t end = pipe_time_add(time, def->gap);
    if (PIPE_UNLIKELY(entry->pane_count != 1 || def->max > 0 || def->judge_by_record) ||
        time < session->start || time >= session->first ||
        pipe_time_add(end, def->lateness) <= st->advanced)
        return NULL;
    session->first = end > session->first ? end : session->first;
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

/* W as a record finds it: mostly no session is over. Rows made by a window see W as it was for this
 * state: window.c. */
static inline void see(struct pipe_task *task, struct pipe_window *st,
                       const struct pipe_record *record)
{
    int64_t watermark = window_delayed(st->def, task->watermark);
    if (!record->has_position)
        return;
    if (PIPE_UNLIKELY(watermark >= st->state.due))
        advance_to(task, st, watermark);
    else if (watermark > st->advanced)
        st->advanced = watermark;
}

static __attribute__((noinline)) struct pipe_window_hit
take_or_refuse(struct pipe_task *task, struct pipe_window *st, const struct pipe_record *record,
               struct window_entry *entry)
{
    if (!is_late(st, record, entry)) {
        window_count_new(task, record, entry);
        return take(st, entry, record->event_time);
    }
    window_release(st, entry);
    task->counters[st->def->stream].late++;
    return (struct pipe_window_hit){NULL, 1, pipe_time_add(record->event_time, st->def->gap)};
}

struct pipe_window_hit pipe_session(struct pipe_task *task, uint32_t state,
                                    const struct pipe_record *record, bool is_ahead)
{
    struct pipe_window *st = task->states[state];
    if (PIPE_UNLIKELY(!st->ready))
        session_make_ready(st);
    see(task, st, record);
    task->counters[st->def->stream].window_in++;
    struct window_entry *entry = window_entry_in_hand(task, st, is_ahead);
    window_check_spilled(task, st);
    struct window_pane *session = extend(st, entry, record->event_time);
    if (PIPE_LIKELY(session != NULL))
        return count_in(st, entry, session);
    return take_or_refuse(task, st, record, entry);
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
    due_queue_init(&st->queue, pipe_time_add(def->gap, def->lateness));
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
