/*
 * window_spill.c: windows that leave memory when it is short (state.h, spill).
 *
 *     "e" mark key               all panes and sent windows of a key, instead of their own entries
 *
 * What stays is a stub of 40 bytes: the mark (56 bits of the key's hash) and when the key is due.
 * Whoever asks for a key with a stub gets it read back and made an entry as if it had never left;
 * so is what is due, one instant at a time, before its rows are made: order and content of rows are
 * those of a run in which nothing leaves. Keys to be corrected, or with early rows to come, stay,
 * and so do sessions (their ends move all the time, and each is over soon) and partials that are
 * all shipped whenever W passes a multiple.
 */
#include <stdlib.h>

#include "window.h"
#include "aggregates_state.h"

/* --- Stubs: linear probing, at most two thirds used ------------------------------------------- */

static uint64_t mark_of(uint64_t hash)
{
    return hash >> 8;
}

static struct window_stub *stub_of(const struct window_spilled *spilled, uint64_t mark)
{
    uint32_t mask = spilled->capacity - 1, i = (uint32_t)mark & mask;
    while (spilled->stubs[i].mark != mark && spilled->stubs[i].mark != 0)
        i = (i + 1) & mask;
    return &spilled->stubs[i];
}

static void grow_stubs(struct window_spilled *spilled)
{
    const struct window_spilled old = *spilled;
    spilled->capacity = old.capacity == 0 ? 64 : old.capacity * 2;
    spilled->stubs = pipe_calloc(spilled->capacity, sizeof *spilled->stubs);
    for (uint32_t i = 0; i < old.capacity; i++) {
        if (old.stubs[i].mark != 0)
            *stub_of(spilled, old.stubs[i].mark) = old.stubs[i];
    }
    free(old.stubs);
}

static void add_stub(struct window_spilled *spilled, uint64_t mark, int64_t due)
{
    if (spilled->count >= spilled->capacity / 3 * 2)
        grow_stubs(spilled);
    *stub_of(spilled, mark) = (struct window_stub){mark, due};
    spilled->count++;
    due_queue_add(&spilled->dues, due, (void *)(uintptr_t)mark);
}

static void remove_stub(struct window_spilled *spilled, struct window_stub *stub)
{
    uint32_t mask = spilled->capacity - 1, i = (uint32_t)(stub - spilled->stubs);
    for (uint32_t next = (i + 1) & mask; spilled->stubs[next].mark != 0; next = (next + 1) & mask) {
        uint32_t home = (uint32_t)spilled->stubs[next].mark & mask;
        if (((next - home) & mask) >= ((next - i) & mask)) { /* it may move back to i */
            spilled->stubs[i] = spilled->stubs[next];
            i = next;
        }
    }
    spilled->stubs[i].mark = 0;
    spilled->count--;
}

static bool has_stub(const struct window_spilled *spilled, uint64_t mark)
{
    return spilled->count > 0 && stub_of(spilled, mark)->mark == mark;
}

uint64_t window_spilled_bytes(const struct pipe_window *st)
{
    return st->spilled.capacity * sizeof *st->spilled.stubs + due_queue_bytes(&st->spilled.dues);
}

void window_free_spilled(struct pipe_window *st)
{
    free(st->spilled.stubs);
    due_queue_free(&st->spilled.dues);
    pipe_buf_free(&st->spilled.key);
    pipe_buf_free(&st->spilled.value);
}

/* --- Leaving ---------------------------------------------------------------------------------- */

static void put_mark(struct pipe_buf *key, uint64_t mark)
{
    uint8_t head[9] = {'e'};
    mark = __builtin_bswap64(mark);
    memcpy(head + 1, &mark, sizeof mark);
    pipe_buf_add(key, head, sizeof head);
}

static void write_entry(struct pipe_window *st, const struct window_entry *entry, uint64_t open,
                        struct pipe_buf *out)
{
    pipe_state_put_signed(out, entry->due);
    pipe_state_put(out, open);
    pipe_state_put(out, entry->pane_count);
    pipe_state_put(out, entry->sent_count);
    pipe_state_put_signed(out, entry->next_close);
    for (uint32_t i = 0; i < entry->pane_count; i++) {
        const struct window_pane *pane = window_pane_at(st, entry, i);
        pipe_state_put_signed(out, pane->start);
        pipe_state_put_signed(out, pane->first);
        window_write_pane(st, pane, out);
    }
    for (uint32_t i = 0; i < entry->sent_count; i++) {
        pipe_state_put_signed(out, entry->sent[i].end);
        window_write_sent(&entry->sent[i], out);
    }
}

static bool may_leave(const struct pipe_window *st, const struct window_entry *entry, bool cold)
{
    return entry->at[WINDOW_DIRTY] == 0 && entry->at[WINDOW_EARLY] == 0 &&
           !(cold && entry->at[WINDOW_SAVE] != 0) && mark_of(entry->hash) != 0 &&
           !has_stub(&st->spilled, mark_of(entry->hash));
}

static void leave(struct pipe_window *st, struct window_entry *entry,
                  const struct pipe_state_writer *writer)
{
    uint64_t mark = mark_of(entry->hash), open = window_open_of(st, entry);
    st->key.size = st->value.size = 0;
    put_mark(&st->key, mark);
    pipe_buf_add(&st->key, entry->key, entry->key_bytes);
    write_entry(st, entry, open, &st->value);
    writer->put(writer->context, st->key.data, st->key.size, st->value.data, st->value.size);
    add_stub(&st->spilled, mark, entry->due);
    st->spilled.open += open;
    st->spilled.panes += entry->pane_count;
    window_drop_panes(st, entry, 0, entry->pane_count);
    while (entry->sent_count > 0)
        window_drop_sent(st, entry, entry->sent_count - 1);
    window_release(st, entry);
}

void window_spill(void *state, uint64_t bytes, bool traces, const struct pipe_state_writer *writer)
{
    struct pipe_window *st = state;
    const struct pipe_state_def *def = st->def;
    if (traces || !st->spilled.has_reader || st->slot_capacity == 0 ||
        (def->phase == PIPE_PHASE_PARTIAL && def->emit == PIPE_EMIT_UPDATE))
        return;
    if (!st->ready)
        window_make_ready(st);
    window_save_removed(st, writer); /* a key that came back and goes again is put after that */
    uint64_t before = st->memory_bytes;
    for (unsigned pass = 0; pass < 2; pass++) { /* first what has not changed since the last save */
        for (uint32_t i = 0; i < st->slot_capacity && before - st->memory_bytes < bytes; i++) {
            uint32_t at = (st->spilled.hand + i) & (st->slot_capacity - 1);
            while (st->slots[at].entry != NULL && may_leave(st, st->slots[at].entry, pass == 0))
                leave(st, st->slots[at].entry, writer); /* the next may have moved here */
        }
    }
    st->spilled.hand += st->slot_capacity / 4;
}

static const char no_store[] = "a spilled window is asked for where there is no store";

/* --- Coming back ------------------------------------------------------------------------------ */

static bool read_panes(struct pipe_window *st, struct window_entry *entry, uint64_t count,
                       struct pipe_reader *in)
{
    for (uint64_t i = 0; i < count; i++) {
        int64_t start, first;
        if (!pipe_state_get_signed(in, &start) || !pipe_state_get_signed(in, &first))
            return false;
        struct window_pane *pane = window_read_pane(st, entry, start, first, in);
        if (pane == NULL)
            return false;
        pane->save = true;
    }
    return true;
}

static bool read_sent(struct pipe_window *st, struct window_entry *entry, uint64_t count,
                      struct pipe_reader *in)
{
    for (uint64_t i = 0; i < count; i++) {
        struct window_sent sent = {.save = true};
        if (!pipe_state_get_signed(in, &sent.end) || !window_read_sent(st, entry, &sent, in))
            return false;
        window_add_sent(st, entry, sent);
    }
    return true;
}

struct spilled_head {
    int64_t due;
    uint64_t open, panes, sent;
};

static bool read_head(struct pipe_reader *in, struct spilled_head *head)
{
    return pipe_state_get_signed(in, &head->due) && pipe_state_get(in, &head->open) &&
           pipe_state_get(in, &head->panes) && pipe_state_get(in, &head->sent);
}

/* Makes the entry from what the store has of it, and the store forget that. */
static struct window_entry *come_back(struct pipe_window *st, struct window_stub *stub,
                                      const struct pipe_buf *full_key)
{
    struct window_spilled *spilled = &st->spilled;
    const uint8_t *key = full_key->data + 9;
    size_t key_bytes = full_key->size - 9;
    struct spilled_head head = {0};
    struct pipe_reader in;
    int64_t next_close = 0;
    pipe_reader_init(&in, spilled->value.data, spilled->value.size, NULL);
    struct window_entry *entry = window_new_entry(st, key, key_bytes);
    window_forget_stored(st, full_key);
    bool sound = read_head(&in, &head) && pipe_state_get_signed(&in, &next_close) &&
                 read_panes(st, entry, head.panes, &in) && read_sent(st, entry, head.sent, &in) &&
                 in.at == in.end && mark_of(entry->hash) == stub->mark && head.due == stub->due;
    if (!sound)
        spilled->fault = "the state is damaged: a spilled window is malformed; delete the state "
                         "directory, which is made again from the log";
    remove_stub(spilled, stub);
    spilled->open -= head.open;
    spilled->panes -= head.panes;
    entry->next_close = next_close;
    window_schedule(st, entry, head.due);
    window_enlist(st, WINDOW_SAVE, entry);
    return entry;
}

struct window_entry *window_come_back(struct pipe_window *st, uint64_t hash, const void *key,
                                      size_t key_bytes)
{
    struct window_spilled *spilled = &st->spilled;
    bool found = false;
    if (!has_stub(spilled, mark_of(hash)) || spilled->fault != NULL)
        return NULL;
    if (!spilled->has_reader) {
        spilled->fault = no_store;
        return NULL;
    }
    spilled->key.size = 0;
    put_mark(&spilled->key, mark_of(hash));
    pipe_buf_add(&spilled->key, key, key_bytes);
    spilled->reads++;
    if (!spilled->reader.get(&spilled->reader, spilled->key.data, spilled->key.size,
                             &spilled->value, &found))
        spilled->fault = spilled->reader.fault(&spilled->reader);
    /* Else the stub is of another key with the same mark. */
    return found ? come_back(st, stub_of(spilled, mark_of(hash)), &spilled->key) : NULL;
}

static void come_back_due(struct pipe_window *st, const struct due_item *item)
{
    struct window_spilled *spilled = &st->spilled;
    struct pipe_buf prefix = {0};
    bool found = false;
    uint64_t mark = (uint64_t)(uintptr_t)item->entry;
    if (!has_stub(spilled, mark) || stub_of(spilled, mark)->due != item->due)
        return; /* it has come back already */
    if (!spilled->has_reader) {
        spilled->fault = no_store;
        return;
    }
    put_mark(&prefix, mark);
    spilled->reads++;
    if (!spilled->reader.first(&spilled->reader, prefix.data, prefix.size, &spilled->key,
                               &spilled->value, &found))
        spilled->fault = spilled->reader.fault(&spilled->reader);
    else if (!found)
        spilled->fault = "the state is damaged: a spilled window is missing; delete the state "
                         "directory, which is made again from the log";
    else
        come_back(st, stub_of(spilled, mark), &spilled->key);
    pipe_buf_free(&prefix);
}

int64_t window_next_spilled(const struct pipe_window *st)
{
    return st->spilled.count == 0 ? PIPE_TIME_MAX : due_queue_bound(&st->spilled.dues);
}

int64_t window_fetch_next(struct pipe_window *st, int64_t watermark)
{
    struct due_item item;
    for (;;) {
        int64_t due = st->heap.count > 0 ? st->heap.items[0].due : PIPE_TIME_MAX;
        int64_t bound = window_next_spilled(st);
        if (bound > due || bound > watermark || bound == PIPE_TIME_MAX || st->spilled.fault != NULL)
            return due;
        while (st->spilled.fault == NULL && due_queue_take(&st->spilled.dues, bound, &item))
            come_back_due(st, &item);
    }
}

/* --- Loading ---------------------------------------------------------------------------------- */

bool window_load_spilled(struct pipe_window *st, const uint8_t *key, size_t key_bytes,
                         struct pipe_reader *in)
{
    struct spilled_head head;
    uint64_t mark = 0;
    if (st->sessions || key_bytes < 9 || !read_head(in, &head) ||
        head.panes > (uint64_t)(in->end - in->at))
        return false;
    memcpy(&mark, key + 1, sizeof mark);
    mark = __builtin_bswap64(mark);
    if (mark == 0 || mark != mark_of(window_hash(st, key + 9, key_bytes - 9)) ||
        has_stub(&st->spilled, mark))
        return false;
    add_stub(&st->spilled, mark, head.due);
    st->spilled.open += head.open;
    st->spilled.panes += head.panes;
    in->at = in->end; /* the rest is judged when it comes back */
    return true;
}
