/*
 * session_state.c: sessions in the store.
 *
 *     "b" number     a part of the base: all sessions that were open at one save
 *     "m", "p" …     window_state.c: what has changed since then; without a value: it is over, or
 *                    left memory
 *     "e" …          window_spill.c: those that left memory, whatever the others have of them
 *
 * Sessions change with every record and are over soon, so that between two saves most of them
 * change. The base holds them one behind the other, a few entries in place of thousands that would
 * each be sorted and merged. It is written anew when what has been written since then is as much,
 * so a session costs a constant number of writes for each of its changes. Above BASE_BYTES there is
 * none, for it is held in memory while it is written.
 */
#include "window.h"
#include "aggregates_state.h"

#ifdef PIPE_DEBUG
#define BASE_BYTES (16ull << 10) /* tests come to both ways */
#else
#define BASE_BYTES (64ull << 20) /* of memory for the sessions: a quarter of that in the store */
#endif
#define PART_BYTES (64u << 10)
#define PART_KEY_BYTES 5u

static void part_key(uint8_t key[PART_KEY_BYTES], uint32_t number)
{
    key[0] = 'b';
    for (unsigned i = 0; i < 4; i++)
        key[1 + i] = (uint8_t)(number >> (24 - 8 * i));
}

/* --- Save ------------------------------------------------------------------------------------ */

struct part {
    uint32_t number, sessions; /* how many are in it stands in front of them */
};

/* Into the part that is in hand. */
static void add_session(struct pipe_window *st, struct part *part, const struct window_entry *entry,
                        const struct window_pane *session)
{
    if (part->sessions++ == 0) {
        st->value.size = 0;
        pipe_buf_add(&st->value, &part->sessions, sizeof part->sessions);
    }
    pipe_state_put_bytes(&st->value, pipe_str_of(entry->key, entry->key_bytes));
    pipe_state_put_signed(&st->value, session->start);
    window_write_pane(st, session, &st->value);
}

static void put_part(struct pipe_window *st, struct part *part,
                     const struct pipe_state_writer *writer)
{
    uint8_t key[PART_KEY_BYTES];
    if (part->sessions == 0)
        return;
    part_key(key, part->number++);
    memcpy(st->value.data, &part->sessions, sizeof part->sessions);
    writer->put(writer->context, key, sizeof key, st->value.data, st->value.size);
    part->sessions = 0;
    st->value.size = 0;
}

static void drop_parts(struct pipe_window *st, const struct pipe_state_writer *writer,
                       uint32_t from)
{
    for (uint32_t i = from; i < st->base_parts; i++) {
        uint8_t key[PART_KEY_BYTES];
        part_key(key, i);
        writer->remove(writer->context, key, sizeof key);
    }
    st->base_parts = from;
}

static void drop_changes(struct pipe_window *st, const struct pipe_state_writer *writer)
{
    if (st->behind_base > 0)
        writer->remove_range(writer->context, "p", 1, "q", 1);
    st->behind_base = 0;
    st->removed.size = 0;
    st->removed_count = 0;
}

/* All sessions in memory, in no order; what was saved before is given up. */
static void save_base(struct pipe_window *st, const struct pipe_state_writer *writer)
{
    struct part part = {0};
    drop_changes(st, writer);
    for (uint32_t s = 0; s < st->slot_capacity; s++) {
        window_fetch_entry_at(st, s + WINDOW_FETCH_AHEAD);
        struct window_entry *entry = st->slots[s].entry;
        if (entry == NULL)
            continue;
        entry->at[WINDOW_SAVE] = 0;
        for (uint32_t i = 0; i < entry->pane_count; i++) {
            struct window_pane *session = window_pane_at(st, entry, i);
            add_session(st, &part, entry, session);
            session->save = false;
            session->stored = true;
            if (st->value.size >= PART_BYTES)
                put_part(st, &part, writer);
        }
    }
    put_part(st, &part, writer);
    drop_parts(st, writer, part.number);
    st->base_parts = part.number;
    st->lists[WINDOW_SAVE].count = st->lists[WINDOW_SAVE].holes = 0;
}

/* There are too many: each is an entry of its own from now on. */
static void give_base_up(struct pipe_window *st, const struct pipe_state_writer *writer)
{
    drop_parts(st, writer, 0);
    drop_changes(st, writer);
    for (uint32_t s = 0; s < st->slot_capacity; s++) {
        struct window_entry *entry = st->slots[s].entry;
        for (uint32_t i = 0; entry != NULL && i < entry->pane_count; i++) {
            window_pane_at(st, entry, i)->save = true;
            window_enlist(st, WINDOW_SAVE, entry);
        }
    }
}

void session_save(void *state, const struct pipe_state_writer *writer)
{
    struct pipe_window *st = state;
    struct window_list *list = &st->lists[WINDOW_SAVE];
    uint64_t changes = list->count - list->holes + st->removed_count;
    uint64_t most = st->base_parts > 0 ? BASE_BYTES : BASE_BYTES / 2;
    if (changes > 0 && st->memory_bytes <= most && st->behind_base + changes >= st->pane_count) {
        save_base(st, writer);
    } else if (changes > 0 && st->memory_bytes > most && st->base_parts > 0) {
        give_base_up(st, writer);
    }
    st->behind_base += list->count - list->holes + st->removed_count;
    window_save(st, writer);
}

/* --- Load ------------------------------------------------------------------------------------ */

static bool load_part(struct pipe_window *st, struct pipe_reader *in)
{
    uint32_t sessions;
    if ((size_t)(in->end - in->at) < sizeof sessions)
        return false;
    memcpy(&sessions, in->at, sizeof sessions);
    in->at += sizeof sessions;
    for (uint32_t i = 0; i < sessions; i++) {
        struct pipe_str key = {0};
        int64_t start = 0, end = 0;
        if (!pipe_state_get_bytes(in, &key) || !pipe_state_get_signed(in, &start) ||
            !pipe_state_get_signed(in, &end))
            return false;
        struct window_entry *entry =
            window_entry_of(st, window_hash(st, key.data, key.size), key.data, key.size);
        struct window_pane *session = window_read_pane(st, entry, start, end, in);
        if (session == NULL)
            return false;
        session->stored = true;
    }
    return sessions > 0 && in->at == in->end;
}

/* What the base has under the key of an entry that follows it, which counts. */
static void forget_older(struct pipe_window *st, const uint8_t *key, size_t key_bytes)
{
    int64_t start = pipe_state_time_of_key(key + 1);
    const uint8_t *name = key + WINDOW_PANE_KEY;
    size_t name_bytes = key_bytes - WINDOW_PANE_KEY;
    struct window_entry *entry =
        window_find(st, window_hash(st, name, name_bytes), name, name_bytes);
    if (entry == NULL)
        return;
    for (uint32_t i = 0; i < entry->pane_count; i++) {
        struct window_pane *session = window_pane_at(st, entry, i);
        if (session->start != start)
            continue;
        session->stored = false;
        window_drop_panes(st, entry, i, 1);
        break;
    }
    window_release(st, entry);
}

bool session_load(void *state, const void *key, size_t key_bytes, const void *value,
                  size_t value_bytes)
{
    struct pipe_window *st = state;
    const uint8_t *bytes = key;
    if (key_bytes == PART_KEY_BYTES && bytes[0] == 'b') {
        uint8_t wanted[PART_KEY_BYTES];
        struct pipe_reader in;
        pipe_reader_init(&in, value, value_bytes, NULL);
        part_key(wanted, st->base_parts++);
        st->ready = false;
        st->state.due = PIPE_TIME_MIN;
        return memcmp(wanted, bytes, sizeof wanted) == 0 && load_part(st, &in);
    }
    if (key_bytes >= WINDOW_PANE_KEY && bytes[0] == 'p') {
        st->behind_base++;
        if (st->base_parts > 0)
            forget_older(st, bytes, key_bytes);
        if (value_bytes == 0)
            return st->base_parts > 0;
    }
    return window_load(state, key, key_bytes, value, value_bytes);
}
