/*
 * window_table.c: the entries of windows: hash table by key, heap by due time, lists, and the panes
 * and sent windows of an entry.
 */
#include <stdlib.h>

#include "window.h"

/* --- Hash table: linear probing ----------------------------------------------------------------
 */

#define SMALL_TABLE 1024u /* slots */

/* At most half used, and less where that costs next to nothing: most keys are in their own slot. */
static inline bool is_full(const struct pipe_window *st)
{
    uint32_t most = st->slot_capacity / (st->slot_capacity <= SMALL_TABLE ? 4 : 2);
    return PIPE_UNLIKELY(st->entry_count >= most);
}

static void grow_table(struct pipe_window *st)
{
    uint32_t capacity = st->slot_capacity == 0 ? 64 : st->slot_capacity * 2;
    struct window_slot *slots = pipe_calloc(capacity, sizeof *slots);
    for (uint32_t i = 0; i < st->slot_capacity; i++) {
        if (st->slots[i].entry == NULL)
            continue;
        uint32_t to = (uint32_t)st->slots[i].hash & (capacity - 1);
        while (slots[to].entry != NULL)
            to = (to + 1) & (capacity - 1);
        slots[to] = st->slots[i];
    }
    free(st->slots);
    st->slots = slots;
    st->memory_bytes += (uint64_t)(capacity - st->slot_capacity) * sizeof *slots;
    st->slot_capacity = capacity;
}

static size_t inside_offset(size_t key_bytes)
{
    return (offsetof(struct window_entry, key) + key_bytes + 15) & ~(size_t)15;
}

static uint32_t panes_inside(const struct pipe_window *st)
{
    return st->sessions ? SESSION_PANES_INSIDE : WINDOW_PANES_INSIDE;
}

/* An entry takes one more: behind its header in the heap the next begins a line later. */
#define LINE_BYTES 64u

static size_t entry_bytes(const struct pipe_window *st, size_t key_bytes)
{
    size_t bytes = inside_offset(key_bytes) + (size_t)panes_inside(st) * st->stride;
    return (bytes + LINE_BYTES - 1) & ~(size_t)(LINE_BYTES - 1);
}

static void *new_entry(struct pipe_window *st, size_t bytes)
{
    size_t size = bytes / LINE_BYTES - 1;
    if (size < WINDOW_SPARE_SIZES && st->spare[size].first != NULL) {
        struct window_spare *spare = &st->spare[size];
        void *entry = spare->first;
        memcpy(&spare->first, entry, sizeof spare->first);
        spare->count--;
        return entry;
    }
    void *entry = aligned_alloc(LINE_BYTES, bytes);
    if (entry == NULL)
        pipe_out_of_memory();
    return entry;
}

static void spare_entry(struct pipe_window *st, void *entry, size_t bytes)
{
    size_t size = bytes / LINE_BYTES - 1;
    if (size >= WINDOW_SPARE_SIZES || st->spare[size].count == WINDOW_SPARE_MAX) {
        free(entry);
        return;
    }
    struct window_spare *spare = &st->spare[size];
    memcpy(entry, &spare->first, sizeof spare->first);
    spare->first = entry;
    spare->count++;
}

static void free_spare(struct pipe_window *st)
{
    for (unsigned size = 0; size < WINDOW_SPARE_SIZES; size++) {
        for (void *entry = st->spare[size].first, *next; entry != NULL; entry = next) {
            memcpy(&next, entry, sizeof next);
            free(entry);
        }
    }
}

static bool has_panes_inside(const struct window_entry *entry)
{
    return entry->panes == (const uint8_t *)entry + inside_offset(entry->key_bytes);
}

/* The lines of an entry that a record touches: they come in one wait. */
PIPE_FETCHES fetch_entry(const struct pipe_window *st, const struct window_entry *entry)
{
    __builtin_prefetch((const uint8_t *)entry + 64);
    __builtin_prefetch((const uint8_t *)entry + 128);
    __builtin_prefetch((const uint8_t *)entry + 192);
    if (!st->sessions) /* with room for a pane more */
        __builtin_prefetch((const uint8_t *)entry + 256);
}

/* Of few keys all is in the nearest caches anyway. */
#define FEW_ENTRIES 128u

void window_ask(void *state, uint32_t wanted)
{
    struct pipe_window *st = state;
    uint32_t mask = st->slot_capacity - 1;
    bool is_far = st->entry_count > FEW_ENTRIES;
    for (uint32_t left = wanted; left != 0; left &= left - 1) {
        unsigned index = (unsigned)__builtin_ctz(left);
        const struct pipe_buf *key = &st->state.keys[index];
        uint64_t hash = st->ahead[index] = window_hash(st, key->data, key->size);
        if (is_far)
            __builtin_prefetch(&st->slots[hash & mask]);
    }
    /* Of the group before, whose turn is next, the slots have come by now. */
    for (uint32_t left = is_far ? wanted : 0; left != 0; left &= left - 1) {
        uint32_t before = ((uint32_t)__builtin_ctz(left) + PIPE_AHEAD / 2) % PIPE_AHEAD;
        uint64_t hash = st->ahead[before];
        const struct window_slot *slot = &st->slots[hash & mask];
        if (slot->hash != hash)
            slot = &st->slots[(hash + 1) & mask];
        if (slot->hash == hash && slot->entry != NULL)
            fetch_entry(st, slot->entry);
    }
}

static struct window_entry *make_entry(struct pipe_window *st, struct window_slot *slot,
                                       uint64_t hash, const void *key, size_t key_bytes)
{
    if (key_bytes > UINT32_MAX)
        pipe_out_of_memory();
    size_t bytes = entry_bytes(st, key_bytes);
    struct window_entry *entry = new_entry(st, bytes);
    memset(entry, 0, sizeof *entry);
    entry->panes = (uint8_t *)entry + inside_offset(key_bytes);
    entry->pane_capacity = panes_inside(st);
    entry->hash = hash;
    if (st->sessions)
        entry->queued.due = PIPE_TIME_MAX;
    else
        entry->due = entry->next_close = PIPE_TIME_MAX;
    entry->key_bytes = (uint32_t)key_bytes;
    pipe_bytes_copy(entry->key, key, key_bytes);
    *slot = (struct window_slot){hash, entry};
    st->entry_count++;
    st->memory_bytes += bytes + LINE_BYTES;
    return entry;
}

static struct window_slot *free_slot(const struct pipe_window *st, uint64_t hash)
{
    uint32_t mask = st->slot_capacity - 1, i = (uint32_t)hash & mask;
    while (st->slots[i].entry != NULL)
        i = (i + 1) & mask;
    return &st->slots[i];
}

struct window_entry *window_new_entry(struct pipe_window *st, const void *key, size_t key_bytes)
{
    uint64_t hash = window_hash(st, key, key_bytes);
    if (is_full(st))
        grow_table(st);
    return make_entry(st, free_slot(st, hash), hash, key, key_bytes);
}

struct window_entry *window_make_entry(struct pipe_window *st, struct window_slot *slot,
                                       uint64_t hash, const void *key, size_t key_bytes)
{
    if (PIPE_UNLIKELY(st->spilled.count > 0)) {
        struct window_entry *back = window_come_back(st, hash, key, key_bytes);
        if (back != NULL)
            return back;
    }
    if (is_full(st)) {
        grow_table(st);
        slot = free_slot(st, hash);
    }
    return make_entry(st, slot, hash, key, key_bytes);
}

struct window_entry *window_find(const struct pipe_window *st, uint64_t hash, const void *key,
                                 size_t key_bytes)
{
    return st->slot_capacity == 0 ? NULL : window_slot_of(st, hash, key, key_bytes)->entry;
}

struct window_entry *window_entry_of(struct pipe_window *st, uint64_t hash, const void *key,
                                     size_t key_bytes)
{
    struct window_slot *slot =
        st->slot_capacity == 0 ? NULL : window_slot_of(st, hash, key, key_bytes);
    return slot != NULL && slot->entry != NULL ? slot->entry
                                               : window_make_entry(st, slot, hash, key, key_bytes);
}

/* --- Lists ----------------------------------------------------------------------------------- */

/* Closes the holes in a list that is full and has many. */
static void compact(struct window_list *list, enum window_list_kind kind)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        struct window_entry *entry = list->items[i];
        if (entry == NULL)
            continue;
        list->items[kept++] = entry;
        entry->at[kind] = kept;
    }
    list->count = kept;
    list->holes = 0;
}

void window_enlist_new(struct pipe_window *st, enum window_list_kind kind,
                       struct window_entry *entry)
{
    struct window_list *list = &st->lists[kind];
    if (list->count == list->capacity && list->holes > list->count / 2)
        compact(list, kind);
    if (list->count == list->capacity) {
        list->capacity = list->capacity == 0 ? 64 : list->capacity * 2;
        list->items = pipe_realloc(list->items, list->capacity * sizeof *list->items);
    }
    list->items[list->count++] = entry;
    entry->at[kind] = list->count;
}

void window_unlist(struct pipe_window *st, enum window_list_kind kind, struct window_entry *entry)
{
    struct window_list *list = &st->lists[kind];
    if (entry->at[kind] == 0)
        return;
    struct window_entry *last = list->items[--list->count];
    list->items[entry->at[kind] - 1] = last;
    last->at[kind] = entry->at[kind];
    entry->at[kind] = 0;
}

/* Of a list that every session is in when it ends: none but the entry is touched. */
static void unlist_save(struct pipe_window *st, struct window_entry *entry)
{
    struct window_list *list = &st->lists[WINDOW_SAVE];
    if (entry->at[WINDOW_SAVE] == 0)
        return;
    list->items[entry->at[WINDOW_SAVE] - 1] = NULL;
    list->holes++;
    entry->at[WINDOW_SAVE] = 0;
}

/* --- Release --------------------------------------------------------------------------------- */

static void remove_from_table(struct pipe_window *st, const struct window_entry *entry)
{
    uint32_t mask = st->slot_capacity - 1, i = (uint32_t)entry->hash & mask;
    while (st->slots[i].entry != entry)
        i = (i + 1) & mask;
    for (uint32_t next = (i + 1) & mask; st->slots[next].entry != NULL; next = (next + 1) & mask) {
        uint32_t home = (uint32_t)st->slots[next].hash & mask;
        if (((next - home) & mask) >= ((next - i) & mask)) { /* it may move back to i */
            st->slots[i] = st->slots[next];
            i = next;
        }
    }
    st->slots[i].entry = NULL;
    st->entry_count--;
}

static void free_parts(struct pipe_window *st, struct window_entry *entry)
{
    if (!has_panes_inside(entry)) {
        st->memory_bytes -= (uint64_t)entry->pane_capacity * st->stride;
        free(entry->panes);
    }
    if (st->sessions)
        return;
    window_free_slider(st, entry->closing);
    window_free_slider(st, entry->again);
    st->memory_bytes -= entry->sent_capacity * sizeof *entry->sent;
    free(entry->sent);
}

static void free_entry(struct pipe_window *st, struct window_entry *entry)
{
    size_t bytes = entry_bytes(st, entry->key_bytes);
    if (entry->pane_count > 0)
        window_drop_panes(st, entry, 0, entry->pane_count);
    free_parts(st, entry);
    st->memory_bytes -= bytes + LINE_BYTES;
    spare_entry(st, entry, bytes);
}

void window_release_empty(struct pipe_window *st, struct window_entry *entry)
{
    if (!st->sessions) {
        window_unlist(st, WINDOW_DIRTY, entry);
        window_unlist(st, WINDOW_EARLY, entry);
        window_schedule(st, entry, PIPE_TIME_MAX);
    } else if (entry->queued.due != PIPE_TIME_MAX) {
        due_queue_remove(&st->queue, &entry->queued);
    }
    unlist_save(st, entry);
    remove_from_table(st, entry);
    free_entry(st, entry);
}

void window_free_all(struct pipe_window *st)
{
    for (uint32_t i = 0; i < st->slot_capacity; i++) {
        if (st->slots[i].entry != NULL)
            free_entry(st, st->slots[i].entry);
    }
    free_spare(st);
    pipe_state_free_keys(&st->state);
    due_queue_free(&st->queue);
    free(st->slots);
    free(st->heap.items);
    for (unsigned kind = 0; kind < WINDOW_LISTS; kind++)
        free(st->lists[kind].items);
    free(st->rows);
}

/* --- Heap by due time ------------------------------------------------------------------------ */

static void place(struct window_heap *heap, uint32_t i, struct window_due item)
{
    heap->items[i] = item;
    item.entry->heap_at = i + 1;
}

/* Puts an item where it belongs, starting at place i, whose own item is elsewhere. */
static void sift(struct window_heap *heap, uint32_t i, struct window_due item)
{
    while (i > 0 && heap->items[(i - 1) / 4].due > item.due) {
        place(heap, i, heap->items[(i - 1) / 4]);
        i = (i - 1) / 4;
    }
    for (;;) {
        uint32_t child = 4 * i + 1, least = child;
        if (child >= heap->count)
            break;
        for (uint32_t next = child + 1; next < child + 4 && next < heap->count; next++) {
            if (heap->items[next].due < heap->items[least].due)
                least = next;
        }
        if (heap->items[least].due >= item.due)
            break;
        place(heap, i, heap->items[least]);
        i = least;
    }
    place(heap, i, item);
}

void window_schedule(struct pipe_window *st, struct window_entry *entry, int64_t due)
{
    struct window_heap *heap = &st->heap;
    entry->due = due;
    pipe_state_due_by(&st->state, due);
    if (due == PIPE_TIME_MAX && entry->pane_count == 0 && entry->sent_count == 0) {
        if (entry->heap_at == 0)
            return;
        uint32_t at = entry->heap_at - 1;
        struct window_due last = heap->items[--heap->count];
        entry->heap_at = 0;
        if (last.entry != entry)
            sift(heap, at, last);
        return;
    }
    if (entry->heap_at == 0) {
        if (heap->count == heap->capacity) {
            heap->capacity = heap->capacity == 0 ? 64 : heap->capacity * 2;
            heap->items = pipe_realloc(heap->items, heap->capacity * sizeof *heap->items);
        }
        entry->heap_at = ++heap->count;
    }
    sift(heap, entry->heap_at - 1, (struct window_due){due, entry});
}

/* --- Panes ----------------------------------------------------------------------------------- */

static void make_room(struct pipe_window *st, struct window_entry *entry)
{
    uint32_t end = entry->pane_begin + entry->pane_count;
    if (end < entry->pane_capacity)
        return;
    if (entry->pane_begin > entry->pane_capacity / 4) {
        memmove(entry->panes, entry->panes + (size_t)entry->pane_begin * st->stride,
                (size_t)entry->pane_count * st->stride);
        entry->pane_begin = 0;
        return;
    }
    size_t before = (size_t)entry->pane_capacity * st->stride;
    if (has_panes_inside(entry)) {
        uint8_t *panes = pipe_malloc(2 * before);
        memcpy(panes, entry->panes, before);
        entry->panes = panes;
        st->memory_bytes += 2 * before;
    } else {
        entry->panes = pipe_realloc(entry->panes, 2 * before);
        st->memory_bytes += before;
    }
    entry->pane_capacity *= 2;
}

struct window_pane *window_pane_find(struct pipe_window *st, struct window_entry *entry,
                                     int64_t start, int64_t first, bool *made)
{
    *made = false;
    uint32_t low = 0, high = entry->pane_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        const struct window_pane *pane = window_pane_at(st, entry, middle);
        if (pane->start < start || (pane->start == start && pane->first < first))
            low = middle + 1;
        else
            high = middle;
    }
    entry->recent = low;
    if (low < entry->pane_count) {
        struct window_pane *pane = window_pane_at(st, entry, low);
        if (pane->start == start && pane->first == first)
            return pane;
    }
    make_room(st, entry);
    struct window_pane *pane = window_pane_at(st, entry, low);
    if (low < entry->pane_count)
        memmove((uint8_t *)pane + st->stride, pane, (size_t)(entry->pane_count - low) * st->stride);
    memset(pane, 0, st->stride);
    pane->start = start;
    pane->first = first;
    st->def->acc->init(window_acc(pane));
    entry->pane_count++;
    if (!st->sessions)
        entry->irregular += first != window_first_end(st->def, start);
    st->pane_count++;
    *made = true;
    return pane;
}

static inline void drop_pane(struct pipe_window *st, struct window_entry *entry,
                             struct window_pane *pane)
{
    if (!st->def->acc->plain)
        st->def->acc->drop(window_acc(pane));
    if (!st->sessions)
        entry->irregular -= pane->first != window_first_end(st->def, pane->start);
    window_forget_stored_pane(st, entry, pane);
}

void window_drop_panes(struct pipe_window *st, struct window_entry *entry, uint32_t from,
                       uint32_t count)
{
    for (uint32_t i = from; i < from + count; i++)
        drop_pane(st, entry, window_pane_at(st, entry, i));
    st->pane_count -= count;
    entry->pane_count -= count;
    if (entry->pane_count == 0) {
        entry->pane_begin = entry->recent = 0;
        return;
    }
    if (from == 0)
        entry->pane_begin += count;
    else if (from < entry->pane_count)
        memmove(window_pane_at(st, entry, from), window_pane_at(st, entry, from + count),
                (size_t)(entry->pane_count - from) * st->stride);
    entry->recent = entry->pane_count - 1;
}

/* --- Sent windows ---------------------------------------------------------------------------- */

static uint32_t sent_from(const struct window_entry *entry, int64_t end)
{
    uint32_t low = 0, high = entry->sent_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (entry->sent[middle].end < end)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct window_sent *window_sent_of(const struct window_entry *entry, int64_t end)
{
    uint32_t i = sent_from(entry, end);
    return i < entry->sent_count && entry->sent[i].end == end ? &entry->sent[i] : NULL;
}

struct window_sent *window_add_sent(struct pipe_window *st, struct window_entry *entry,
                                    struct window_sent sent)
{
    if (entry->sent_count == entry->sent_capacity) {
        uint32_t more = entry->sent_capacity == 0 ? 2 : entry->sent_capacity;
        entry->sent =
            pipe_realloc(entry->sent, (size_t)(entry->sent_capacity + more) * sizeof sent);
        entry->sent_capacity += more;
        st->memory_bytes += more * sizeof sent;
    }
    uint32_t i = sent_from(entry, sent.end);
    memmove(entry->sent + i + 1, entry->sent + i, (entry->sent_count - i) * sizeof sent);
    entry->sent[i] = sent;
    entry->sent_count++;
    return &entry->sent[i];
}

void window_drop_sent(struct pipe_window *st, struct window_entry *entry, uint32_t i)
{
    window_forget_stored_sent(st, entry, &entry->sent[i]);
    entry->sent_count--;
    memmove(entry->sent + i, entry->sent + i + 1, (entry->sent_count - i) * sizeof *entry->sent);
}

/* --- Rows to make ---------------------------------------------------------------------------- */

void window_add_row(struct pipe_window *st, int64_t end, struct window_entry *entry)
{
    if (st->row_count == st->row_capacity) {
        st->row_capacity = st->row_capacity == 0 ? 64 : st->row_capacity * 2;
        st->rows = pipe_realloc(st->rows, st->row_capacity * sizeof *st->rows);
    }
    st->rows[st->row_count++] = (struct window_task_row){end, entry};
}

int window_compare_rows(const struct window_task_row *x, const struct window_task_row *y)
{
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1;
    return x->entry == y->entry ? 0
                                : pipe_str_compare(pipe_str_of(x->entry->key, x->entry->key_bytes),
                                                   pipe_str_of(y->entry->key, y->entry->key_bytes));
}

static int compare_rows(const void *a, const void *b)
{
    return window_compare_rows(a, b);
}

#define FEW_ROWS 16u

/* As qsort does; of few rows, as a record mostly makes, without its calls. */
static void sort_rows(struct window_task_row *rows, uint32_t count)
{
    if (count > FEW_ROWS) {
        qsort(rows, count, sizeof *rows, compare_rows);
        return;
    }
    for (uint32_t i = 1; i < count; i++) {
        const struct window_task_row row = rows[i];
        uint32_t at = i;
        for (; at > 0 && compare_rows(&rows[at - 1], &row) > 0; at--)
            rows[at] = rows[at - 1];
        rows[at] = row;
    }
}

void window_sort_rows(struct pipe_window *st)
{
    uint32_t kept = 0;
    if (st->row_count < 2)
        return;
    sort_rows(st->rows, st->row_count);
    for (uint32_t i = 0; i < st->row_count; i++) {
        if (kept == 0 || st->rows[kept - 1].end != st->rows[i].end ||
            st->rows[kept - 1].entry != st->rows[i].entry)
            st->rows[kept++] = st->rows[i];
    }
    st->row_count = kept;
}
