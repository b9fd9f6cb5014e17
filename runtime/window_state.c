/*
 * window_state.c: entries of the store, and partials on their way through an exchange.
 *
 *     "m"                        the W up to which all was done
 *     "p" start first key        a pane: records, units, flags, accumulator
 *     "s" end key                a window of which a row was sent: base, units, records, flags
 *     "e" due key                all of a key that left memory: window_spill.c
 *
 * A session is a pane with 0 for `first`, for its end moves, and the end in front of the rest; what
 * else is stored of sessions: session_state.c.
 */
#include <stdlib.h>

#include "window.h"
#include "aggregates_state.h"

enum { PANE_CHANGED = 1, SENT_DIRTY = 1, SENT_REJECTED = 2 };

static void pane_key(const struct pipe_window *st, struct pipe_buf *to,
                     const struct window_entry *entry, const struct window_pane *pane)
{
    uint8_t head[WINDOW_PANE_KEY] = {'p'};
    pipe_state_time_key(head + 1, pane->start);
    pipe_state_time_key(head + 9, st->sessions ? 0 : pane->first);
    pipe_buf_add(to, head, sizeof head);
    pipe_buf_add(to, entry->key, entry->key_bytes);
}

static void sent_key(struct pipe_buf *to, const struct window_entry *entry, int64_t end)
{
    uint8_t head[9] = {'s'};
    pipe_state_time_key(head + 1, end);
    pipe_buf_add(to, head, sizeof head);
    pipe_buf_add(to, entry->key, entry->key_bytes);
}

static void removed_size(struct pipe_window *st, uint32_t size)
{
    pipe_buf_add(&st->removed, &size, sizeof size);
    st->removed_count++;
}

void window_forget_pane(struct pipe_window *st, const struct window_entry *entry,
                        const struct window_pane *pane)
{
    removed_size(st, WINDOW_PANE_KEY + entry->key_bytes);
    pane_key(st, &st->removed, entry, pane);
}

void window_forget_stored_sent(struct pipe_window *st, const struct window_entry *entry,
                               const struct window_sent *sent)
{
    if (!sent->stored)
        return;
    removed_size(st, 9 + entry->key_bytes);
    sent_key(&st->removed, entry, sent->end);
}

/* --- Save ------------------------------------------------------------------------------------ */

void window_write_pane(const struct pipe_window *st, const struct window_pane *pane,
                       struct pipe_buf *out)
{
    if (st->sessions)
        pipe_state_put_signed(out, pane->first);
    pipe_state_put(out, pane->records);
    pipe_state_put(out, pane->units);
    pipe_buf_add_byte(out, pane->changed ? PANE_CHANGED : 0);
    st->def->acc->save(window_acc(pane), out);
}

void window_write_sent(const struct window_sent *sent, struct pipe_buf *out)
{
    pipe_state_put(out, sent->base);
    pipe_state_put(out, sent->units);
    pipe_state_put(out, sent->records);
    pipe_buf_add_byte(
        out, (uint8_t)((sent->dirty ? SENT_DIRTY : 0) | (sent->rejected ? SENT_REJECTED : 0)));
}

static void put(const struct pipe_window *st, const struct pipe_state_writer *writer)
{
    writer->put(writer->context, st->key.data, st->key.size, st->value.data, st->value.size);
}

static void save_entry(struct pipe_window *st, struct window_entry *entry,
                       const struct pipe_state_writer *writer)
{
    for (uint32_t i = 0; i < entry->pane_count; i++) {
        struct window_pane *pane = window_pane_at(st, entry, i);
        if (!pane->save)
            continue;
        st->key.size = st->value.size = 0;
        pane_key(st, &st->key, entry, pane);
        window_write_pane(st, pane, &st->value);
        put(st, writer);
        pane->save = false;
        pane->stored = true;
    }
    for (uint32_t i = 0; i < entry->sent_count; i++) {
        struct window_sent *sent = &entry->sent[i];
        if (!sent->save)
            continue;
        st->key.size = st->value.size = 0;
        sent_key(&st->key, entry, sent->end);
        window_write_sent(sent, &st->value);
        put(st, writer);
        sent->save = false;
        sent->stored = true;
    }
}

static void save_removed(struct pipe_window *st, const struct pipe_state_writer *writer)
{
    for (size_t at = 0; at < st->removed.size;) {
        uint32_t size;
        memcpy(&size, st->removed.data + at, sizeof size);
        const uint8_t *key = st->removed.data + at + sizeof size;
        if (st->base_parts > 0) /* the base may have it */
            writer->put(writer->context, key, size, "", 0);
        else
            writer->remove(writer->context, key, size);
        at += sizeof size + size;
    }
    st->removed.size = 0;
    st->removed_count = 0;
}

void window_save(void *state, const struct pipe_state_writer *writer)
{
    struct pipe_window *st = state;
    window_save_spilled(st, writer);
    save_removed(st, writer);
    if (st->advanced != st->saved_advanced) {
        st->key.size = st->value.size = 0;
        pipe_buf_add_byte(&st->key, 'm');
        pipe_state_put_signed(&st->value, st->advanced);
        put(st, writer);
        st->saved_advanced = st->advanced;
    }
    struct window_list *list = &st->lists[WINDOW_SAVE];
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->items[i] == NULL)
            continue;
        list->items[i]->at[WINDOW_SAVE] = 0;
        save_entry(st, list->items[i], writer);
    }
    list->count = list->holes = 0;
}

/* --- Load ------------------------------------------------------------------------------------ */

static bool on_grid(const struct pipe_state_def *def, int64_t end)
{
    return window_grid(end - def->size, def->offset, def->every) == end - def->size;
}

static bool is_time(int64_t time)
{
    return time >= -(1ll << 61) && time <= 1ll << 61;
}

static bool pane_is_valid(const struct pipe_window *st, int64_t start, int64_t first)
{
    const struct pipe_state_def *def = st->def;
    if (!is_time(start) || !is_time(first))
        return false;
    if (st->sessions)
        return start < first;
    return window_grid(start, def->offset, st->pane_length) == start && on_grid(def, first) &&
           first >= window_first_end(def, start) && first <= window_last_end(def, start);
}

struct window_pane *window_read_pane(struct pipe_window *st, struct window_entry *entry,
                                     int64_t start, int64_t first, struct pipe_reader *in)
{
    bool made;
    uint64_t records = 0, units = 0;
    if (!pane_is_valid(st, start, first) || !pipe_state_get(in, &records) ||
        !pipe_state_get(in, &units) || in->at == in->end || *in->at > PANE_CHANGED)
        return NULL;
    bool changed = *in->at++ == PANE_CHANGED;
    struct window_pane *pane = window_pane_of(st, entry, start, first, &made);
    pane->records = records;
    pane->units = units;
    pane->changed = changed;
    return made && st->def->acc->load(window_acc(pane), in) ? pane : NULL;
}

static bool load_pane(struct pipe_window *st, const uint8_t *key, size_t key_bytes,
                      struct pipe_reader *in)
{
    int64_t start = pipe_state_time_of_key(key + 1), first = pipe_state_time_of_key(key + 9);
    if (st->sessions && (first != 0 || !pipe_state_get_signed(in, &first)))
        return false;
    const uint8_t *name = key + WINDOW_PANE_KEY;
    size_t name_bytes = key_bytes - WINDOW_PANE_KEY;
    struct window_entry *entry =
        window_entry_of(st, window_hash(st, name, name_bytes), name, name_bytes);
    struct window_pane *pane = window_read_pane(st, entry, start, first, in);
    if (pane != NULL)
        pane->stored = true;
    return pane != NULL;
}

/* sent->end is given. */
bool window_read_sent(const struct pipe_window *st, const struct window_entry *entry,
                      struct window_sent *sent, struct pipe_reader *in)
{
    if (!is_time(sent->end) || (!st->sessions && !on_grid(st->def, sent->end)))
        return false;
    if (!pipe_state_get(in, &sent->base) || !pipe_state_get(in, &sent->units) ||
        !pipe_state_get(in, &sent->records) || in->at == in->end ||
        *in->at > (SENT_DIRTY | SENT_REJECTED))
        return false;
    sent->dirty = (*in->at & SENT_DIRTY) != 0;
    sent->rejected = (*in->at++ & SENT_REJECTED) != 0;
    return window_sent_of(entry, sent->end) == NULL;
}

static bool load_sent(struct pipe_window *st, const uint8_t *key, size_t key_bytes,
                      struct pipe_reader *in)
{
    struct window_sent sent = {.end = pipe_state_time_of_key(key + 1), .stored = true};
    uint64_t hash = window_hash(st, key + 9, key_bytes - 9);
    struct window_entry *entry = window_entry_of(st, hash, key + 9, key_bytes - 9);
    if (!window_read_sent(st, entry, &sent, in))
        return false;
    window_add_sent(st, entry, sent);
    return true;
}

bool window_load(void *state, const void *key, size_t key_bytes, const void *value,
                 size_t value_bytes)
{
    struct pipe_window *st = state;
    const uint8_t *bytes = key;
    struct pipe_reader in;
    pipe_reader_init(&in, value, value_bytes, NULL);
    st->ready = false;
    st->state.due = PIPE_TIME_MIN;
    if (key_bytes == 1 && bytes[0] == 'm') {
        if (!pipe_state_get_signed(&in, &st->advanced))
            return false;
        st->saved_advanced = st->advanced;
    } else if (key_bytes >= 9 && bytes[0] == 'e') {
        if (!window_load_spilled(st, bytes, key_bytes, &in))
            return false;
    } else if (key_bytes >= WINDOW_PANE_KEY && bytes[0] == 'p') {
        if (!load_pane(st, bytes, key_bytes, &in))
            return false;
    } else if (key_bytes >= 9 && bytes[0] == 's' && !st->sessions) {
        if (!load_sent(st, bytes, key_bytes, &in))
            return false;
    } else {
        return false;
    }
    return in.at == in.end;
}

/* --- Partials -------------------------------------------------------------------------------- */

void window_write_partial(const struct window_entry *entry, const struct pipe_state_def *def,
                          const struct window_pane *pane, struct pipe_buf *out)
{
    pipe_state_put_bytes(out, pipe_str_of(entry->key, entry->key_bytes));
    pipe_state_put_signed(out, pane->start);
    pipe_state_put(out, (uint64_t)((pane->first - window_first_end(def, pane->start)) /
                                   def->every)); /* windows it is late for */
    pipe_state_put(out, pane->records);
    def->acc->save(window_acc(pane), out);
}

bool window_read_partial(const struct pipe_state_def *def, struct pipe_reader *in,
                         struct window_partial *out)
{
    uint64_t missed = 0;
    if (!pipe_state_get_bytes(in, &out->key) || !pipe_state_get_signed(in, &out->start) ||
        !pipe_state_get(in, &missed) || !pipe_state_get(in, &out->records))
        return false;
    if (!is_time(out->start))
        return pipe_reader_fail_number(in, "no time", out->start);
    int64_t first = window_first_end(def, out->start), last = window_last_end(def, out->start);
    if (missed >= window_ends(def, first, last))
        return pipe_reader_fail_number(in, "no such window", (int64_t)missed);
    out->first = first + (int64_t)missed * def->every;
    return true;
}
