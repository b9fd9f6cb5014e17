/*
 * aggregates_distinct.c: exact sets of encoded values. The bytes lie one behind the other in an
 * arena, the table holds their offsets; a slot costs 8 bytes and is at most three quarters used.
 */
#include <stdlib.h>

#include "pipe.h"
#include "aggregates_state.h"

struct slot {
    uint32_t at;  /* offset of the entry in `bytes`, plus 1; 0: free */
    uint32_t tag; /* upper half of the hash */
};

struct pipe_distinct_set {
    struct slot *slots;
    uint32_t capacity; /* a power of two */
    uint32_t count;
    struct pipe_buf bytes; /* entries: varint length, bytes */
};

static struct pipe_str entry_at(const struct pipe_distinct_set *set, uint32_t at)
{
    const uint8_t *from = set->bytes.data + at;
    uint32_t size = 0;
    unsigned shift = 0;
    for (; *from > 0x7F; shift += 7)
        size |= (uint32_t)(*from++ & 0x7F) << shift;
    size |= (uint32_t)*from++ << shift;
    return pipe_str_of(from, size);
}

static void grow(struct pipe_distinct_set *set)
{
    uint32_t capacity = set->capacity == 0 ? 8 : set->capacity * 2;
    struct slot *slots = pipe_calloc(capacity, sizeof *slots);
    for (uint32_t i = 0; i < set->capacity; i++) {
        if (set->slots[i].at == 0)
            continue;
        struct pipe_str entry = entry_at(set, set->slots[i].at - 1);
        uint32_t to = (uint32_t)pipe_hash64(entry.data, entry.size, 0) & (capacity - 1);
        while (slots[to].at != 0)
            to = (to + 1) & (capacity - 1);
        slots[to] = set->slots[i];
    }
    free(set->slots);
    set->slots = slots;
    set->capacity = capacity;
}

void pipe_count_distinct_update(struct pipe_count_distinct *acc, struct pipe_str value)
{
    if (acc->set == NULL)
        acc->set = pipe_calloc(1, sizeof *acc->set);
    struct pipe_distinct_set *set = acc->set;
    if (set->count >= set->capacity / 4 * 3)
        grow(set);
    uint64_t hash = pipe_hash64(value.data, value.size, 0);
    uint32_t i = (uint32_t)hash & (set->capacity - 1), tag = (uint32_t)(hash >> 32);
    for (; set->slots[i].at != 0; i = (i + 1) & (set->capacity - 1)) {
        if (set->slots[i].tag == tag && pipe_str_equal(entry_at(set, set->slots[i].at - 1), value))
            return;
    }
    if (set->bytes.size + value.size >= UINT32_MAX - 16)
        pipe_out_of_memory();
    set->slots[i] = (struct slot){(uint32_t)set->bytes.size + 1, tag};
    set->count++;
    pipe_state_put_bytes(&set->bytes, value);
}

void pipe_count_distinct_merge(struct pipe_count_distinct *into,
                               const struct pipe_count_distinct *from)
{
    if (from->set == NULL)
        return;
    for (uint32_t i = 0; i < from->set->capacity; i++) {
        if (from->set->slots[i].at != 0)
            pipe_count_distinct_update(into, entry_at(from->set, from->set->slots[i].at - 1));
    }
}

static int compare_entries(const void *a, const void *b)
{
    return pipe_str_compare(*(const struct pipe_str *)a, *(const struct pipe_str *)b);
}

void pipe_count_distinct_save(const struct pipe_count_distinct *acc, struct pipe_buf *out)
{
    const struct pipe_distinct_set *set = acc->set;
    uint32_t count = set == NULL ? 0 : set->count, n = 0;
    pipe_state_put(out, count);
    if (count == 0)
        return;
    struct pipe_str *entries = pipe_malloc(count * sizeof *entries);
    for (uint32_t i = 0; i < set->capacity; i++) {
        if (set->slots[i].at != 0)
            entries[n++] = entry_at(set, set->slots[i].at - 1);
    }
    qsort(entries, count, sizeof *entries, compare_entries);
    for (uint32_t i = 0; i < count; i++)
        pipe_state_put_bytes(out, entries[i]);
    free(entries);
}

bool pipe_count_distinct_load(struct pipe_count_distinct *acc, struct pipe_reader *in)
{
    uint32_t count = 0;
    if (!pipe_state_get_u32(in, &count))
        return false;
    struct pipe_str before = {NULL, 0};
    for (uint32_t i = 0; i < count; i++) {
        struct pipe_str entry;
        if (!pipe_state_get_bytes(in, &entry))
            return false;
        if (i > 0 && pipe_str_compare(before, entry) >= 0)
            return pipe_reader_fail(in, "values of the state are out of order");
        before = entry;
        pipe_count_distinct_update(acc, entry);
    }
    return true;
}

void pipe_count_distinct_drop(struct pipe_count_distinct *acc)
{
    if (acc->set == NULL)
        return;
    free(acc->set->slots);
    pipe_buf_free(&acc->set->bytes);
    free(acc->set);
    acc->set = NULL;
}

bool pipe_count_distinct_finish(const struct pipe_count_distinct *acc, int64_t *out, bool *is_null)
{
    pipe_aggregate_none(false, is_null);
    *out = acc->set == NULL ? 0 : acc->set->count;
    return true;
}
