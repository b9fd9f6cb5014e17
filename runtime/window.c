/*
 * window.c: tumbling and hopping windows (semantics.md §2, §3): where records and partials go, when
 * rows are made, sent again and forgotten. The structures are in window.h.
 *
 * Everything due at W is done before the next record is taken, whether or not the engine has called
 * advance in between; so rows and revisions are functions of the log, whatever the batches.
 */
#include <stdlib.h>

#include "window.h"

static struct window_pane *pane_i(const struct pipe_window *st, const struct window_entry *entry,
                                  uint32_t i)
{
    return window_pane_at(st, entry, i);
}

static struct pipe_counters *counters_of(struct pipe_task *task, const struct pipe_window *st)
{
    return &task->counters[st->def->stream];
}

/* --- When an entry is due -------------------------------------------------------------------- */

/* End of the next window after `closed` with something in it; panes are sorted, so the first one
 * that is not over gives it unless it skips windows. */
static int64_t next_close(const struct pipe_window *st, const struct window_entry *entry,
                          int64_t closed)
{
    const struct pipe_state_def *def = st->def;
    int64_t least = PIPE_TIME_MAX;
    uint32_t low = 0, high = entry->pane_count;
    if (closed == PIPE_TIME_MAX)
        return PIPE_TIME_MAX;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (window_last_end(def, pane_i(st, entry, middle)->start) <= closed)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < entry->pane_count; low++) {
        const struct window_pane *pane = pane_i(st, entry, low);
        int64_t regular = window_end_after(def, window_first_end(def, pane->start), closed);
        if (regular >= least)
            break;
        int64_t end = window_end_after(def, pane->first, closed);
        if (end < least)
            least = end;
    }
    return least;
}

static int64_t due_of_close(const struct pipe_window *st, int64_t end)
{
    return st->def->emit == PIPE_EMIT_FINAL ? pipe_time_add(end, st->def->lateness) : end;
}

static void reschedule(struct pipe_window *st, struct window_entry *entry)
{
    int64_t due = due_of_close(st, entry->next_close);
    if (entry->sent_count > 0) {
        int64_t forget = pipe_time_add(entry->sent[0].end, st->def->lateness);
        due = forget < due ? forget : due;
    }
    window_schedule(st, entry, due);
}

/* No entry is due before, in memory or not. */
static int64_t least_due(const struct pipe_window *st)
{
    int64_t due = st->heap.count > 0 ? st->heap.items[0].due : PIPE_TIME_MAX;
    int64_t spilled = window_next_spilled(st);
    return spilled < due ? spilled : due;
}

static int64_t forgotten_of(const struct pipe_window *st)
{
    return st->def->phase == PIPE_PHASE_PARTIAL ? PIPE_TIME_MIN : window_forgotten(st);
}

uint64_t window_open_of(const struct pipe_window *st, const struct window_entry *entry)
{
    int64_t forgotten = forgotten_of(st);
    uint64_t open = 0;
    for (uint32_t i = 0; i < entry->pane_count; i++) {
        const struct window_pane *pane = pane_i(st, entry, i);
        int64_t begin = window_end_after(st->def, pane->first, forgotten);
        open += pane->records * window_ends(st->def, begin, window_last_end(st->def, pane->start));
    }
    return open;
}

void window_make_ready(struct pipe_window *st)
{
    const struct pipe_state_def *def = st->def;
    st->ready = true;
    st->open = st->spilled.open;
    for (uint32_t s = 0; s < st->slot_capacity; s++) {
        struct window_entry *entry = st->slots[s].entry;
        if (entry == NULL)
            continue;
        int64_t first = PIPE_TIME_MAX;
        for (uint32_t i = 0; i < entry->pane_count; i++) {
            const struct window_pane *pane = pane_i(st, entry, i);
            first = pane->first < first ? pane->first : first;
            if (pane->changed)
                window_enlist(st, WINDOW_EARLY, entry);
        }
        for (uint32_t i = 0; i < entry->sent_count; i++) {
            if (entry->sent[i].dirty)
                window_enlist(st, WINDOW_DIRTY, entry);
        }
        st->open += window_open_of(st, entry);
        entry->next_close =
            def->phase == PIPE_PHASE_PARTIAL ? first : next_close(st, entry, window_closed(st));
        reschedule(st, entry);
    }
}

/* --- Rows ------------------------------------------------------------------------------------ */

/* Makes a row; false: it was rejected. */
static bool emit(struct pipe_task *task, struct pipe_window *st, struct window_entry *entry,
                 int64_t end, const struct window_pane *total, uint64_t revision)
{
    struct pipe_window_row row = {
        .key = entry->key,
        .key_bytes = entry->key_bytes,
        .start = end - st->def->size,
        .end = end,
        .acc = window_acc(total),
        .revision = revision < INT32_MAX ? (int32_t)revision : INT32_MAX,
        .kafka_time_ms = task->kafka_time_ms,
        .watermark = window_forgotten(st),
    };
    if (PIPE_LIKELY(task->watch_window == NULL))
        return window_emit_row(task, st->def, &row);
    task->watch_window(task, st->def, &row);
    bool sent = window_emit_row(task, st->def, &row);
    task->watch_window(task, st->def, NULL);
    return sent;
}

/* The window is over for good: its last row was sent or rejected. */
static void account(struct pipe_task *task, struct pipe_window *st, uint64_t records, bool rejected)
{
    struct pipe_counters *counters = counters_of(task, st);
    if (rejected)
        counters->window_rejected += records;
    else
        counters->emitted += records;
    st->open -= records;
}

/* Sends a row, the first or again, of a window that is held on to. */
static void send(struct pipe_task *task, struct pipe_window *st, struct window_entry *entry,
                 struct window_slider **slider, int64_t end)
{
    const struct window_pane *total = window_total_of(st, entry, slider, end);
    struct window_sent *sent = window_sent_of(entry, end);
    if (sent == NULL) {
        uint64_t base = st->def->emit == PIPE_EMIT_UPDATE ? 0 : total->units;
        sent = window_add_sent(st, entry, (struct window_sent){.end = end, .base = base});
    } else if (sent->units == total->units) {
        sent->dirty = false;
        return;
    }
    sent->units = total->units;
    sent->records = total->records;
    sent->dirty = false;
    sent->save = true;
    window_enlist(st, WINDOW_SAVE, entry);
    uint64_t revision = total->units - sent->base;
    sent->rejected = !emit(task, st, entry, end, total, revision);
}

/* The window ends (final: will take nothing more). */
static void close_window(struct pipe_task *task, struct pipe_window *st, struct window_entry *entry,
                         int64_t end)
{
    const struct pipe_state_def *def = st->def;
    if (def->emit == PIPE_EMIT_FINAL || (def->emit == PIPE_EMIT_CLOSE && def->lateness == 0)) {
        const struct window_pane *total = window_total_of(st, entry, &entry->closing, end);
        account(task, st, total->records, !emit(task, st, entry, end, total, 0));
        return;
    }
    send(task, st, entry, &entry->closing, end);
}

/* What is due of one entry; `time`: at which instant, or up to which W. */
typedef void due_function(struct pipe_task *task, struct pipe_window *st,
                          struct window_entry *entry, int64_t time);

/* Does what is due for one key at `due`. */
static void process(struct pipe_task *task, struct pipe_window *st, struct window_entry *entry,
                    int64_t due)
{
    const struct pipe_state_def *def = st->def;
    int64_t closed = def->emit == PIPE_EMIT_FINAL ? pipe_time_sub(due, def->lateness) : due;
    if (entry->next_close != PIPE_TIME_MAX && due_of_close(st, entry->next_close) == due) {
        close_window(task, st, entry, entry->next_close);
        closed = entry->next_close;
    }
    while (entry->sent_count > 0 && pipe_time_add(entry->sent[0].end, def->lateness) <= due) {
        account(task, st, entry->sent[0].records, entry->sent[0].rejected);
        window_drop_sent(st, entry, 0);
    }
    uint32_t over = 0;
    while (over < entry->pane_count &&
           pipe_time_add(window_last_end(def, pane_i(st, entry, over)->start), def->lateness) <=
               due)
        over++;
    if (over > 0)
        window_drop_panes(st, entry, 0, over);
    entry->next_close = next_close(st, entry, closed);
    reschedule(st, entry);
    window_release(st, entry);
}

/* --- Corrected and early rows ---------------------------------------------------------------- */

/* Corrections of windows that are forgotten at `watermark`. */
static void send_corrections(struct pipe_task *task, struct pipe_window *st, int64_t watermark)
{
    struct window_list *list = &st->lists[WINDOW_DIRTY];
    st->row_count = 0;
    for (uint32_t i = list->count; i-- > 0;) {
        struct window_entry *entry = list->items[i];
        bool left = false;
        for (uint32_t k = 0; k < entry->sent_count; k++) {
            if (!entry->sent[k].dirty)
                continue;
            if (pipe_time_add(entry->sent[k].end, st->def->lateness) <= watermark)
                window_add_row(st, entry->sent[k].end, entry);
            else
                left = true;
        }
        if (!left)
            window_unlist(st, WINDOW_DIRTY, entry);
    }
    window_sort_rows(st);
    for (uint32_t i = 0; i < st->row_count; i++)
        send(task, st, st->rows[i].entry, &st->rows[i].entry->again, st->rows[i].end);
}

/* emit on update: W has passed a multiple of emit_every. */
static void send_early(struct pipe_task *task, struct pipe_window *st)
{
    const struct pipe_state_def *def = st->def;
    struct window_list *list = &st->lists[WINDOW_EARLY];
    st->row_count = 0;
    while (list->count > 0) {
        struct window_entry *entry = list->items[list->count - 1];
        window_unlist(st, WINDOW_EARLY, entry);
        window_enlist(st, WINDOW_SAVE, entry);
        for (uint32_t i = 0; i < entry->pane_count; i++) {
            struct window_pane *pane = pane_i(st, entry, i);
            if (!pane->changed)
                continue;
            pane->changed = false;
            pane->save = true;
            int64_t last = window_last_end(def, pane->start);
            int64_t end = window_end_after(def, pane->first, st->advanced);
            for (; end <= last; end += def->every)
                window_add_row(st, end, entry);
        }
    }
    window_sort_rows(st);
    for (uint32_t i = 0; i < st->row_count; i++) {
        send(task, st, st->rows[i].entry, &st->rows[i].entry->again, st->rows[i].end);
        reschedule(st, st->rows[i].entry);
    }
}

static bool passes_multiple(const struct pipe_window *st, int64_t from, int64_t to)
{
    int64_t every = st->def->emit_every;
    return st->def->emit == PIPE_EMIT_UPDATE && from != to &&
           (from == PIPE_TIME_MIN || pipe_floor_div(from, every) != pipe_floor_div(to, every));
}

/* --- Partials -------------------------------------------------------------------------------- */

/* Sends what is due at W, or all: PIPE_TIME_MAX. */
static void ship(struct pipe_task *task, struct pipe_window *st, struct window_entry *entry,
                 int64_t watermark)
{
    const struct pipe_state_def *def = st->def;
    int64_t least = PIPE_TIME_MAX;
    for (uint32_t i = 0; i < entry->pane_count;) {
        const struct window_pane *pane = pane_i(st, entry, i);
        if (due_of_close(st, pane->first) > watermark) {
            least = pane->first < least ? pane->first : least;
            i++;
            continue;
        }
        uint64_t pairs =
            pane->records * window_ends(def, pane->first, window_last_end(def, pane->start));
        st->value.size = 0;
        window_write_partial(entry, def, pane, &st->value);
        pipe_exchange_partial(task, def->exchange, entry->key, entry->key_bytes,
                              pipe_str_of(st->value.data, st->value.size));
        counters_of(task, st)->shipped += pairs;
        st->open -= pairs;
        window_drop_panes(st, entry, i, 1);
    }
    entry->next_close = least;
    reschedule(st, entry);
    window_release(st, entry);
}

/* --- Time ------------------------------------------------------------------------------------ */

/* Adds a row to make for every entry that is due at W: in a heap they are at the top, connected. */
static void add_due(struct pipe_window *st, int64_t watermark)
{
    const struct window_heap *heap = &st->heap;
    st->row_count = 0;
    if (heap->count > 0 && heap->items[0].due <= watermark)
        window_add_row(st, heap->items[0].entry->next_close, heap->items[0].entry);
    for (uint32_t i = 0; i < st->row_count; i++) {
        uint32_t child = 4 * (st->rows[i].entry->heap_at - 1) + 1;
        for (uint32_t end = child + 4; child < end && child < heap->count; child++) {
            if (heap->items[child].due <= watermark)
                window_add_row(st, heap->items[child].entry->next_close, heap->items[child].entry);
        }
    }
}

/* Entries in memory, which st->rows has in order, and those that come back, each in its place. */
struct in_order {
    struct pipe_task *task;
    struct pipe_window *st;
    due_function *each;
    int64_t time;
    uint32_t done;
};

static void do_in_memory(struct in_order *order, const struct window_task_row *until)
{
    const struct pipe_window *st = order->st;
    while (order->done < st->row_count &&
           (until == NULL || window_compare_rows(&st->rows[order->done], until) < 0))
        order->each(order->task, order->st, st->rows[order->done++].entry, order->time);
}

static void do_come_back(void *context, struct window_entry *entry)
{
    struct in_order *order = context;
    bool by_end = order->st->def->phase == PIPE_PHASE_PARTIAL;
    do_in_memory(order, &(struct window_task_row){by_end ? entry->next_close : 0, entry});
    order->each(order->task, order->st, entry, order->time);
}

/* Partials go in order of (end of the first window, key); whatever else is due at one instant, by
 * key. */
static void do_due(struct pipe_task *task, struct pipe_window *st, int64_t due, due_function *each,
                   int64_t time)
{
    struct in_order order = {task, st, each, time, 0};
    add_due(st, due);
    for (uint32_t i = 0; st->def->phase != PIPE_PHASE_PARTIAL && i < st->row_count; i++)
        st->rows[i].end = 0;
    window_sort_rows(st);
    window_come_back_due(st, due, do_come_back, &order);
    do_in_memory(&order, NULL);
}

/* Does all that is due at W, one instant after the other. */
static void do_instants(struct pipe_task *task, struct pipe_window *st)
{
    bool partial = st->def->phase == PIPE_PHASE_PARTIAL;
    int64_t due;
    while ((due = least_due(st)) <= st->advanced && due != PIPE_TIME_MAX &&
           st->spilled.fault == NULL)
        do_due(task, st, due, partial ? ship : process, partial ? st->advanced : due);
}

static void advance_to(struct pipe_task *task, struct pipe_window *st, int64_t watermark)
{
    if (!st->ready)
        window_make_ready(st);
    if (watermark <= st->advanced)
        return;
    int64_t before = st->advanced;
    bool early = passes_multiple(st, before, watermark);
    bool partial = st->def->phase == PIPE_PHASE_PARTIAL;
    if (!partial && st->lists[WINDOW_DIRTY].count > 0)
        send_corrections(task, st, watermark);
    st->advanced = watermark;
    if (partial && early)
        do_due(task, st, PIPE_TIME_MAX, ship, PIPE_TIME_MAX);
    else
        do_instants(task, st);
    if (!partial && early)
        send_early(task, st);
    window_check_spilled(task, st);
}

static void window_settle(struct pipe_task *task, uint32_t state)
{
    struct pipe_window *st = task->states[state];
    advance_to(task, st, pipe_time_sub(task->watermark, st->def->delay));
    if (st->def->phase == PIPE_PHASE_PARTIAL)
        do_instants(task, st);
    else if (st->lists[WINDOW_DIRTY].count > 0)
        send_corrections(task, st, PIPE_TIME_MAX);
    window_check_spilled(task, st);
}

static int64_t next_multiple(const struct pipe_window *st)
{
    int64_t every = st->def->emit_every, next;
    if (st->advanced == PIPE_TIME_MIN)
        return PIPE_TIME_MIN + 1;
    if (__builtin_mul_overflow(pipe_floor_div(st->advanced, every) + 1, every, &next))
        return PIPE_TIME_MAX;
    return next;
}

/* When early rows are due, of emit on update; PIPE_TIME_MAX: nothing has changed. */
static int64_t next_early(const struct pipe_window *st)
{
    if (st->def->emit != PIPE_EMIT_UPDATE)
        return PIPE_TIME_MAX;
    bool partial = st->def->phase == PIPE_PHASE_PARTIAL;
    uint32_t changed = partial ? st->heap.count + st->spilled.count : st->lists[WINDOW_EARLY].count;
    return changed > 0 ? next_multiple(st) : PIPE_TIME_MAX;
}

static int64_t window_next_due(const void *state)
{
    struct pipe_window *st = (struct pipe_window *)(uintptr_t)state;
    if (!st->ready)
        window_make_ready(st);
    int64_t due = least_due(st), early = next_early(st);
    return early < due ? early : due;
}

/* W as a record finds it: mostly nothing is due. */
static inline void window_see(struct pipe_task *task, struct pipe_window *st, int64_t watermark)
{
    if (PIPE_UNLIKELY(watermark >= st->state.due)) {
        advance_to(task, st, watermark);
        return;
    }
#ifdef PIPE_DEBUG
    if (st->heap.count > 0 && st->heap.items[0].due <= watermark)
        pipe_fatal(task, "internal error: a window of %s is due and is passed over", st->def->name);
#endif
    if (watermark > st->advanced)
        st->advanced = watermark;
}

static void window_advance(struct pipe_task *task, uint32_t state, int64_t watermark)
{
    struct pipe_window *st = task->states[state];
    advance_to(task, st, watermark);
    st->state.due = window_next_due(st);
}

/* --- Records and partials -------------------------------------------------------------------- */

/* Windows that are closed but still take records: their rows will be corrected. `end` is the first
 * window that counts. */
static void mark_closed(struct pipe_window *st, struct window_entry *entry, int64_t end,
                        int64_t last)
{
    const struct pipe_state_def *def = st->def;
    if (def->emit == PIPE_EMIT_FINAL)
        return;
    for (; end <= last && end <= st->advanced; end += def->every) {
        struct window_sent *sent = window_sent_of(entry, end);
        if (sent == NULL) {
            uint64_t base = def->emit == PIPE_EMIT_UPDATE ? 0 : 1;
            sent = window_add_sent(st, entry, (struct window_sent){.end = end, .base = base});
        }
        sent->dirty = sent->save = true;
        window_enlist(st, WINDOW_DIRTY, entry);
    }
}

/* The pane that takes `records` records for the windows that end at first … last. */
static struct window_pane *take(struct pipe_window *st, struct window_entry *entry, int64_t start,
                                int64_t first, int64_t last, uint64_t records)
{
    const struct pipe_state_def *def = st->def;
    bool partial = def->phase == PIPE_PHASE_PARTIAL, made;
    int64_t from = first;
    /* What missed only windows that are forgotten here needs no pane of its own. */
    if (!partial && first - def->every <= window_forgotten(st))
        from = window_first_end(def, start);
    struct window_pane *pane = window_pane_of(st, entry, start, from, &made);
    pane->records += records;
    pane->units++;
    pane->save = true;
    window_enlist(st, WINDOW_SAVE, entry);
    st->open += records * window_ends(def, first, last);
    if (!partial) {
        if (def->emit == PIPE_EMIT_UPDATE) {
            pane->changed = true;
            window_enlist(st, WINDOW_EARLY, entry);
        }
        if (PIPE_UNLIKELY(entry->closing != NULL && start < entry->closing->upto))
            entry->closing->valid = false;
        if (PIPE_UNLIKELY(entry->again != NULL))
            entry->again->valid = false;
        if (PIPE_UNLIKELY(first <= st->advanced))
            mark_closed(st, entry, first, last);
    }
    if (made || first <= st->advanced) {
        int64_t end = partial ? from : window_end_after(def, from, window_closed(st));
        if (end <= last && end < entry->next_close)
            entry->next_close = end;
        reschedule(st, entry);
    }
    if (PIPE_UNLIKELY(def->emit == PIPE_EMIT_UPDATE))
        pipe_state_due_by(&st->state, next_early(st));
    return pane;
}

static inline void find_windows(struct pipe_window *st, int64_t time)
{
    const struct pipe_state_def *def = st->def;
    if (PIPE_LIKELY(st->cached && time >= st->pane_start &&
                    time - st->pane_start < st->pane_length))
        return;
    st->pane_start = window_grid(time, def->offset, st->pane_length);
    st->pane_last = window_last_end(def, time);
    st->pane_first = window_first_end(def, time);
    st->cached = true;
}

/* What judges a record, beside W. Behind an exchange its own partition's watermark is ahead of W.
 */
static inline int64_t judge_of(const struct pipe_task *task, const struct pipe_window *st,
                               const struct pipe_record *record)
{
    if (!record->has_position || PIPE_LIKELY(task->source != NULL && !st->def->judge_by_record))
        return st->advanced;
    int64_t own = pipe_time_sub(record->watermark, st->def->delay);
    return own > st->advanced ? own : st->advanced;
}

/* A record of which some windows may be over, or that may change more than one pane's counts. */
static __attribute__((noinline)) struct pipe_window_hit
take_or_refuse(struct pipe_task *task, struct pipe_window *st, const struct pipe_record *record,
               int64_t judge, bool is_ahead)
{
    const struct pipe_state_def *def = st->def;
    struct pipe_counters *counters = counters_of(task, st);
    struct pipe_window_hit hit = {NULL, 0, 0};
    int64_t first = st->pane_first, last = st->pane_last;
    uint64_t count = window_ends(def, first, last);
    counters->window_in += count;
    int64_t bound = pipe_time_sub(judge, def->lateness);
    if (PIPE_UNLIKELY(first <= bound)) {
        uint64_t late = bound >= last ? count : window_ends(def, first, bound);
        counters->late += late;
        hit.late = (uint32_t)late;
        hit.late_end = first;
        first += (int64_t)late * def->every;
    }
    if (first > last)
        return hit;
    struct window_entry *entry = window_entry_in_hand(task, st, is_ahead);
    window_count_new(task, record, entry);
    hit.acc = window_acc(take(st, entry, st->pane_start, first, last, 1));
    window_check_spilled(task, st);
    return hit;
}

/* What most records do: they lie in the one window that the record of their key before them lay in,
 * and that has not ended. NULL: this one may do otherwise. */
static inline struct window_pane *recent_pane(const struct pipe_window *st,
                                              const struct window_entry *entry)
{
    if (PIPE_UNLIKELY(entry->recent >= entry->pane_count || entry->closing != NULL ||
                      entry->again != NULL))
        return NULL;
    struct window_pane *pane = window_pane_at(st, entry, entry->recent);
    return pane->start == st->pane_start && pane->first == st->pane_first ? pane : NULL;
}

struct pipe_window_hit pipe_window(struct pipe_task *task, uint32_t state,
                                   const struct pipe_record *record, bool is_ahead)
{
    struct pipe_window *st = task->states[state];
    if (PIPE_UNLIKELY(!st->ready))
        window_make_ready(st);
    /* Rows made by a window come while W moves on, and are never late: they see W as it was for
     * this state. */
    if (PIPE_LIKELY(record->has_position))
        window_see(task, st, window_delayed(st->def, task->watermark));
    int64_t judge = judge_of(task, st, record);
    find_windows(st, record->event_time);
    if (PIPE_UNLIKELY(!st->simple || st->pane_first <= judge))
        return take_or_refuse(task, st, record, judge, is_ahead);
    struct window_entry *entry = window_entry_in_hand(task, st, is_ahead);
    struct window_pane *pane = recent_pane(st, entry);
    if (PIPE_UNLIKELY(pane == NULL))
        return take_or_refuse(task, st, record, judge, is_ahead);
    counters_of(task, st)->window_in++;
    st->open++;
    pane->records++;
    pane->units++;
    pane->save = true;
    window_enlist(st, WINDOW_SAVE, entry);
    window_check_spilled(task, st);
    return (struct pipe_window_hit){window_acc(pane), 0, 0};
}

static void bad_partial(struct pipe_task *task, const struct pipe_window *st,
                        const struct pipe_record *record, const struct pipe_reader *in)
{
    pipe_fatal(
        task,
        "the log is damaged: the partial of %s in partition %d, offset %lld, of its exchange "
        "is malformed (%s); restore the log from a copy",
        st->def->name, (int)task->partition, (long long)record->offset,
        in->cause != NULL ? in->cause : "bytes left over");
}

void pipe_window_merge(struct pipe_task *task, uint32_t state, const struct pipe_record *record,
                       struct pipe_str payload)
{
    struct pipe_window *st = task->states[state];
    const struct pipe_state_def *def = st->def;
    struct pipe_counters *counters = counters_of(task, st);
    struct pipe_reader in;
    struct window_partial partial;
    advance_to(task, st, pipe_time_sub(task->watermark, def->delay));
    pipe_reader_init(&in, payload.data, payload.size, &task->arena);
    if (!window_read_partial(def, &in, &partial)) {
        bad_partial(task, st, record, &in);
        return;
    }
    struct window_pane *from = window_new_total(st);
    if (!def->acc->load(window_acc(from), &in) || in.at != in.end) {
        bad_partial(task, st, record, &in);
        window_free_total(st, from);
        return;
    }
    int64_t first = partial.first, last = window_last_end(def, partial.start);
    counters->received += partial.records * window_ends(def, first, last);
    /* The order of partials and markers leaves none for windows that are forgotten (semantics.md
     * §3); should one come, it is counted, and no row changes any more. */
    if (first <= window_forgotten(st)) {
        int64_t open = window_end_after(def, first, window_forgotten(st));
        int64_t until = open > last ? last : open - def->every;
        counters->late += partial.records * window_ends(def, first, until);
        first = open;
    }
    if (first <= last) {
        uint64_t hash = window_hash(st, partial.key.data, partial.key.size);
        struct window_entry *entry = window_entry_of(st, hash, partial.key.data, partial.key.size);
        struct window_pane *into =
            take(st, entry, window_grid(partial.start, def->offset, st->pane_length), first, last,
                 partial.records);
        def->acc->merge(window_acc(into), window_acc(from));
        window_check_spilled(task, st);
    }
    window_free_total(st, from);
}

/* --- State ----------------------------------------------------------------------------------- */

static int64_t greatest_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static void *window_create(const struct pipe_state_def *def, const struct pipe_hash_key *hash_key)
{
    struct pipe_window *st = pipe_calloc(1, sizeof *st);
    st->def = def;
    st->seed = *hash_key;
    st->stride = (uint32_t)(WINDOW_ACC_OFFSET + ((def->acc->size_bytes + 15) & ~15u));
    st->pane_length = greatest_divisor(def->size, def->every);
    st->simple = def->size == def->every && def->emit != PIPE_EMIT_UPDATE;
    st->advanced = st->saved_advanced = PIPE_TIME_MIN;
    st->state.due = PIPE_TIME_MAX;
    st->ready = true;
    st->total = window_new_total(st);
    return st;
}

static void window_destroy(void *state)
{
    struct pipe_window *st = state;
    window_free_all(st);
    window_free_spilled(st);
    window_free_total(st, st->total);
    pipe_buf_free(&st->removed);
    pipe_buf_free(&st->key);
    pipe_buf_free(&st->value);
    free(st);
}

static uint64_t window_open_pairs(const void *state)
{
    struct pipe_window *st = (struct pipe_window *)(uintptr_t)state;
    if (!st->ready)
        window_make_ready(st);
    return st->open;
}

const struct pipe_state_ops pipe_window_ops = {
    .create = window_create,
    .destroy = window_destroy,
    .attach = window_attach,
    .load = window_load,
    .spill = window_spill,
    .save = window_save,
    .ask = window_ask,
    .advance = window_advance,
    .settle = window_settle,
    .open_pairs = window_open_pairs,
    .entry_count = window_entry_count,
    .memory_bytes = window_memory_bytes,
    .spilled = window_count_spilled,
};
