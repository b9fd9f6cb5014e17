/*
 * window_spill.c: windows and sessions that leave memory when it is short (state.h, spill).
 *
 *     "e" due key                all panes and sent windows of a key, instead of their own entries
 *
 * What stays is a stub, 16 bytes in a table that is a third to two thirds full: 56 bits of the
 * key's hash (the mark) and when the key is due, by which the store finds the rest. Whoever asks
 * for a key with a stub gets it read back and made an entry as if it had never left. So is what is
 * due, in order of (due, key) as it lies in the store, before its rows are made: order and content
 * of rows are those of a run in which nothing leaves. Keys to be corrected stay, and so do those
 * with early rows to come, which would all have to be back at once: both have changed since the
 * last commit or multiple.
 */
#include <stdlib.h>

#include "window.h"
#include "aggregates_state.h"

#define HEAD 9u /* bytes before the key of an entry */
#ifdef PIPE_DEBUG
#define SOON 3u
#else
#define SOON 256u /* keys that come back at once where each is due at a time of its own */
#endif

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
    if (spilled->count++ == 0 || due < spilled->next)
        spilled->next = due;
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
    if (--spilled->count > 0)
        return;
    free(spilled->stubs);
    spilled->stubs = NULL;
    spilled->capacity = 0;
}

static bool has_stub(const struct window_spilled *spilled, uint64_t mark)
{
    return spilled->count > 0 && stub_of(spilled, mark)->mark == mark;
}

int64_t window_next_spilled(const struct pipe_window *st)
{
    return st->spilled.count == 0 ? PIPE_TIME_MAX : st->spilled.next;
}

static uint64_t trace_bytes(const struct pipe_window *st)
{
    return st->spilled.capacity * sizeof *st->spilled.stubs;
}

/* --- What states of both kinds have ----------------------------------------------------------- */

void window_attach(void *state, const struct pipe_state_reader *reader)
{
    struct pipe_window *st = state;
    st->spilled.reader = *reader;
    st->spilled.has_reader = true;
}

void window_count_spilled(const void *state, struct pipe_state_spilled *out)
{
    const struct window_spilled *spilled = &((const struct pipe_window *)state)->spilled;
    *out = (struct pipe_state_spilled){spilled->panes, spilled->reads, trace_bytes(state)};
}

uint64_t window_entry_count(const void *state)
{
    const struct pipe_window *st = state;
    return st->pane_count + st->spilled.panes;
}

uint64_t window_memory_bytes(const void *state)
{
    const struct pipe_window *st = state;
    return sizeof *st + st->memory_bytes + due_queue_bytes(&st->queue) + st->removed.capacity +
           st->spilled.removed.capacity + st->row_capacity * sizeof *st->rows + trace_bytes(st);
}

void window_free_spilled(struct pipe_window *st)
{
    free(st->spilled.stubs);
    pipe_buf_free(&st->spilled.removed);
    pipe_buf_free(&st->spilled.key);
    pipe_buf_free(&st->spilled.value);
}

/* --- Leaving ---------------------------------------------------------------------------------- */

static void put_head(struct pipe_buf *key, int64_t due)
{
    uint8_t head[HEAD] = {'e'};
    pipe_state_time_key(head + 1, due);
    key->size = 0;
    pipe_buf_add(key, head, sizeof head);
}

static void write_entry(struct pipe_window *st, const struct window_entry *entry, uint64_t open,
                        struct pipe_buf *out)
{
    pipe_state_put(out, open);
    pipe_state_put(out, entry->pane_count);
    pipe_state_put(out, entry->sent_count);
    pipe_state_put_signed(out, st->sessions ? PIPE_TIME_MAX : entry->next_close);
    for (uint32_t i = 0; i < entry->pane_count; i++) {
        const struct window_pane *pane = window_pane_at(st, entry, i);
        pipe_state_put_signed(out, pane->start);
        if (!st->sessions) /* of those the end comes with the rest */
            pipe_state_put_signed(out, pane->first);
        window_write_pane(st, pane, out);
    }
    for (uint32_t i = 0; i < entry->sent_count; i++) {
        pipe_state_put_signed(out, entry->sent[i].end);
        window_write_sent(&entry->sent[i], out);
    }
}

static int64_t due_of(const struct pipe_window *st, const struct window_entry *entry)
{
    return st->sessions ? session_next_over(st, entry) : entry->due;
}

static bool may_leave(const struct pipe_window *st, const struct window_entry *entry, bool cold)
{
    if (entry->at[WINDOW_DIRTY] != 0 || entry->at[WINDOW_EARLY] != 0 ||
        (cold && entry->at[WINDOW_SAVE] != 0) || mark_of(entry->hash) == 0 ||
        has_stub(&st->spilled, mark_of(entry->hash)))
        return false;
    int64_t due = due_of(st, entry);
    return due > st->advanced && due != PIPE_TIME_MAX;
}

static void leave(struct pipe_window *st, struct window_entry *entry,
                  const struct pipe_state_writer *writer)
{
    int64_t due = due_of(st, entry);
    uint64_t open = st->sessions ? session_open_of(st, entry) : window_open_of(st, entry);
    st->value.size = 0;
    put_head(&st->key, due);
    pipe_buf_add(&st->key, entry->key, entry->key_bytes);
    write_entry(st, entry, open, &st->value);
    writer->put(writer->context, st->key.data, st->key.size, st->value.data, st->value.size);
    add_stub(&st->spilled, mark_of(entry->hash), due);
    st->spilled.open += open;
    st->spilled.panes += entry->pane_count;
    window_drop_panes(st, entry, 0, entry->pane_count);
    while (entry->sent_count > 0)
        window_drop_sent(st, entry, entry->sent_count - 1);
    window_release(st, entry);
}

#define FAR_SLOT 0x9E3779B1u /* odd: it takes the hand to every slot */

/* Where the hand comes so many steps from now: all over the table, for where many neighbours left
 * it would be empty, and all the fuller, in long clusters, elsewhere. */
static uint32_t hand_slot(const struct pipe_window *st, uint32_t steps)
{
    return (st->spilled.hand + steps) * FAR_SLOT & (st->slot_capacity - 1);
}

void window_spill(void *state, uint64_t bytes, bool traces, const struct pipe_state_writer *writer)
{
    struct pipe_window *st = state;
    if (traces || !st->spilled.has_reader || st->slot_capacity == 0)
        return;
    if (!st->ready)
        st->sessions ? session_make_ready(st) : window_make_ready(st);
    window_save_spilled(st, writer); /* a key that came back and goes again is put after that */
    uint64_t before = st->memory_bytes;
    for (unsigned pass = 0; pass < 2; pass++) { /* first what has not changed since the last save */
        for (uint32_t i = 0; i < st->slot_capacity && before - st->memory_bytes < bytes; i++) {
            uint32_t at = hand_slot(st, 0);
            __builtin_prefetch(&st->slots[hand_slot(st, 2 * WINDOW_FETCH_AHEAD)]);
            window_fetch_entry_at(st, hand_slot(st, WINDOW_FETCH_AHEAD));
            while (st->slots[at].entry != NULL && may_leave(st, st->slots[at].entry, pass == 0))
                leave(st, st->slots[at].entry, writer); /* the next may have moved here */
            st->spilled.hand++;
        }
    }
}

void window_save_spilled(struct pipe_window *st, const struct pipe_state_writer *writer)
{
    struct window_spilled *spilled = &st->spilled;
    if (spilled->passed) {
        put_head(&spilled->key, window_next_spilled(st));
        writer->remove_range(writer->context, "e", 1, spilled->key.data, spilled->key.size);
        spilled->passed = false;
    }
    for (size_t at = 0; at < spilled->removed.size;) {
        uint32_t size;
        memcpy(&size, spilled->removed.data + at, sizeof size);
        writer->remove(writer->context, spilled->removed.data + at + sizeof size, size);
        at += sizeof size + size;
    }
    spilled->removed.size = 0;
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
    if (st->sessions && count > 0)
        return false;
    for (uint64_t i = 0; i < count; i++) {
        struct window_sent sent = {.save = true};
        if (!pipe_state_get_signed(in, &sent.end) || !window_read_sent(st, entry, &sent, in))
            return false;
        window_add_sent(st, entry, sent);
    }
    return true;
}

struct spilled_head {
    uint64_t open, panes, sent;
};

static bool read_head(struct pipe_reader *in, struct spilled_head *head)
{
    return pipe_state_get(in, &head->open) && pipe_state_get(in, &head->panes) &&
           pipe_state_get(in, &head->sent);
}

/* Makes the entry from what the store has of it, which has to be removed there. */
static struct window_entry *come_back(struct pipe_window *st, struct window_stub *stub,
                                      struct pipe_str key, struct pipe_str value)
{
    struct window_spilled *spilled = &st->spilled;
    struct spilled_head head = {0};
    struct pipe_reader in;
    int64_t next_close = 0, due = stub->due;
    pipe_reader_init(&in, value.data, value.size, NULL);
    struct window_entry *entry = window_new_entry(st, key.data, key.size);
    bool sound = read_head(&in, &head) && pipe_state_get_signed(&in, &next_close) &&
                 read_panes(st, entry, head.panes, &in) && read_sent(st, entry, head.sent, &in) &&
                 in.at == in.end;
    if (!sound)
        spilled->fault = "the state is damaged: a spilled window is malformed; delete the state "
                         "directory, which is made again from the log";
    remove_stub(spilled, stub);
    spilled->open -= head.open;
    spilled->panes -= head.panes;
    if (st->sessions) {
        session_queue(st, entry, due);
    } else {
        entry->next_close = next_close;
        window_schedule(st, entry, due);
    }
    window_enlist(st, WINDOW_SAVE, entry);
    return entry;
}

static void forget(struct window_spilled *spilled, const struct pipe_buf *key)
{
    uint32_t size = (uint32_t)key->size;
    pipe_buf_add(&spilled->removed, &size, sizeof size);
    pipe_buf_add(&spilled->removed, key->data, key->size);
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
    struct window_stub *stub = stub_of(spilled, mark_of(hash));
    put_head(&spilled->key, stub->due);
    pipe_buf_add(&spilled->key, key, key_bytes);
    spilled->reads++;
    if (!spilled->reader.get(&spilled->reader, spilled->key.data, spilled->key.size,
                             &spilled->value, &found))
        spilled->fault = spilled->reader.fault(&spilled->reader);
    if (!found) /* the stub is of another key with the same mark */
        return NULL;
    forget(spilled, &spilled->key);
    return come_back(st, stub, pipe_str_of(key, key_bytes),
                     pipe_str_of(spilled->value.data, spilled->value.size));
}

/* Keys on their way back: all that are due by `due`, and whole instants until there are `least`. */
struct coming {
    struct pipe_window *st;
    int64_t due, last;
    uint32_t least, count;
    bool is_end; /* nothing came after them */
    void (*each)(void *context, struct window_entry *entry);
    void *context;
};

static bool come_back_next(void *context, struct pipe_str key, struct pipe_str value)
{
    struct coming *coming = context;
    struct pipe_window *st = coming->st;
    struct window_spilled *spilled = &st->spilled;
    if (key.size < HEAD) {
        spilled->fault = "the state is damaged: a spilled window has a malformed key; delete the "
                         "state directory, which is made again from the log";
        return false;
    }
    int64_t due = pipe_state_time_of_key((const uint8_t *)key.data + 1);
    if (due > coming->due && due > coming->last && coming->count >= coming->least) {
        coming->is_end = false;
        spilled->next = due;
        return false;
    }
    coming->last = due;
    struct pipe_str name = pipe_str_of((const uint8_t *)key.data + HEAD, key.size - HEAD);
    uint64_t mark = mark_of(window_hash(st, name.data, name.size));
    if (!has_stub(spilled, mark) || stub_of(spilled, mark)->due != due)
        return true; /* it has come back since the last save */
    coming->count++;
    spilled->reads++;
    struct window_entry *entry = come_back(st, stub_of(spilled, mark), name, value);
    if (coming->each != NULL && spilled->fault == NULL)
        coming->each(coming->context, entry);
    return spilled->fault == NULL && spilled->count > 0;
}

static void come_back_all(struct coming *coming)
{
    struct window_spilled *spilled = &coming->st->spilled;
    struct pipe_buf from = {0};
    if (!spilled->has_reader) {
        spilled->fault = no_store;
        return;
    }
    coming->is_end = true;
    coming->last = PIPE_TIME_MIN;
    put_head(&from, spilled->next);
    if (!spilled->reader.scan(&spilled->reader, from.data, from.size, come_back_next, coming))
        spilled->fault = spilled->reader.fault(&spilled->reader);
    else if (coming->is_end && spilled->count > 0 && spilled->fault == NULL)
        spilled->fault = "the state is damaged: a spilled window is missing; delete the state "
                         "directory, which is made again from the log";
    spilled->passed = true;
    pipe_buf_free(&from);
}

void window_come_back_due(struct pipe_window *st, int64_t due,
                          void (*each)(void *context, struct window_entry *entry), void *context)
{
    struct coming coming = {.st = st, .due = due, .each = each, .context = context};
    if (st->spilled.count > 0 && st->spilled.next <= due && st->spilled.fault == NULL)
        come_back_all(&coming);
}

int64_t window_come_back_next(struct pipe_window *st, int64_t watermark)
{
    struct coming coming = {.st = st, .due = PIPE_TIME_MIN, .least = SOON};
    if (window_next_spilled(st) > watermark || st->spilled.count == 0 || st->spilled.fault != NULL)
        return watermark;
    come_back_all(&coming);
    int64_t next = window_next_spilled(st);
    return st->spilled.fault == NULL && next <= watermark ? next - 1 : watermark;
}

/* --- Loading ---------------------------------------------------------------------------------- */

bool window_load_spilled(struct pipe_window *st, const uint8_t *key, size_t key_bytes,
                         struct pipe_reader *in)
{
    struct spilled_head head = {0};
    if (key_bytes < HEAD || !read_head(in, &head) || head.panes > (uint64_t)(in->end - in->at))
        return false;
    uint64_t mark = mark_of(window_hash(st, key + HEAD, key_bytes - HEAD));
    int64_t due = pipe_state_time_of_key(key + 1);
    if (mark == 0 || has_stub(&st->spilled, mark) || due == PIPE_TIME_MIN || due == PIPE_TIME_MAX)
        return false;
    add_stub(&st->spilled, mark, due);
    st->spilled.open += head.open;
    st->spilled.panes += head.panes;
    in->at = in->end; /* the rest is judged when it comes back */
    return true;
}
