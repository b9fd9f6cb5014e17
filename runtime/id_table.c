/*
 * id_table.c: see id_table.h.
 */
#include <stdlib.h>

#include "huge.h"
#include "id_table.h"

static bool stays(const struct id *id, int64_t least)
{
    return id_tag(id) != ID_TAG_FREE && id_expiry(id) >= least;
}

/* Five ninths are used then; whole huge pages are filled up. */
static uint64_t capacity_for(uint64_t ids)
{
    size_t bytes = (ids + ids / 5 * 4 + ID_TABLE_LEAST) * sizeof(struct id);
    if (bytes >= HUGE_PAGE_BYTES)
        bytes = (bytes + HUGE_PAGE_BYTES - 1) & ~(HUGE_PAGE_BYTES - 1);
    return bytes / sizeof(struct id);
}

#define CHUNK 2048u /* slots: they fit into the second-level cache */

struct moving {
    struct id *ids; /* taken out of the table */
    size_t count, capacity;
};

static void take_out(struct moving *moving, struct id *slot, int64_t least)
{
    if (stays(slot, least)) {
        if (moving->count == moving->capacity) {
            moving->capacity = moving->capacity == 0 ? 2 * CHUNK : 2 * moving->capacity;
            moving->ids = pipe_realloc(moving->ids, moving->capacity * sizeof *moving->ids);
        }
        moving->ids[moving->count++] = *slot;
    }
    *slot = (struct id){0};
}

static void put_back(struct id_table *table, struct moving *moving)
{
    for (size_t i = 0; i < moving->count; i++)
        *id_table_find(table, &moving->ids[i]) = moving->ids[i];
    table->used += moving->count;
    moving->count = 0;
}

/* In place, from back to front: an id moves towards the back, so what was not taken out yet is
 * never in its way if a piece begins where no run of slots goes on. The run at the front
 * may have begun at the back; its ids come last. */
static void spread(struct id_table *table, uint64_t old_capacity, int64_t least)
{
    struct moving front = {0}, moving = {0};
    uint64_t begin = 0, end = old_capacity;
    while (begin < end && id_tag(&table->ids[begin]) != ID_TAG_FREE)
        take_out(&front, &table->ids[begin++], least);
    while (end > begin) {
        uint64_t stop = end;
        while (stop > begin &&
               (end - stop < CHUNK || id_tag(&table->ids[stop - 1]) != ID_TAG_FREE)) {
            stop--;
            take_out(&moving, &table->ids[stop], least);
        }
        put_back(table, &moving);
        end = stop;
    }
    put_back(table, &front);
    free(front.ids);
    free(moving.ids);
}

static void grow(struct id_table *table, uint64_t capacity, int64_t least)
{
    uint64_t old = table->capacity;
    table->ids = huge_grow(table->ids, old * sizeof *table->ids, capacity * sizeof *table->ids);
    table->capacity = capacity;
    table->used = 0;
    spread(table, old, least);
}

/* The next slots of the old table. */
static void take_next(struct id_table *table, struct moving *moving, uint64_t *frontier,
                      uint64_t old_capacity, int64_t least)
{
    for (uint64_t i = 0; i < CHUNK && *frontier < old_capacity; i++)
        take_out(moving, &table->ids[(*frontier)++], least);
}

/* In place, from front to back: an id moves towards the front. Slots are taken out well before ids
 * come near; should a run of them come nearer, more are, and it is placed anew. */
static void compact(struct id_table *table, uint64_t capacity, int64_t least)
{
    struct moving front = {0}, moving = {0}, ahead = {0};
    uint64_t old = table->capacity, frontier = 0;
    while (frontier < old && id_tag(&table->ids[frontier]) != ID_TAG_FREE)
        take_out(&front, &table->ids[frontier++], least);
    table->capacity = capacity;
    table->used = 0;
    take_next(table, &ahead, &frontier, old, least);
    while (ahead.count > 0 || frontier < old) {
        const struct moving now = ahead;
        ahead = moving;
        moving = now;
        take_next(table, &ahead, &frontier, old, least);
        for (size_t i = 0; i < moving.count; i++) {
            struct id *slot = id_table_find(table, &moving.ids[i]);
            while (frontier < old && (uint64_t)(slot - table->ids) >= frontier) {
                take_next(table, &ahead, &frontier, old, least);
                slot = id_table_find(table, &moving.ids[i]);
            }
            *slot = moving.ids[i];
        }
        table->used += moving.count;
        moving.count = 0;
    }
    put_back(table, &front);
    free(front.ids);
    free(moving.ids);
    free(ahead.ids);
    table->ids = huge_shrink(table->ids, old * sizeof *table->ids, capacity * sizeof *table->ids);
}

static uint64_t count_staying(const struct id_table *table, int64_t least)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < table->capacity; i++)
        count += stays(&table->ids[i], least);
    return count;
}

static void resize(struct id_table *table, uint64_t capacity, int64_t least)
{
    if (capacity >= table->capacity)
        grow(table, capacity, least);
    else
        compact(table, capacity, least);
}

void id_table_rebuild(struct id_table *table, int64_t least, uint64_t living)
{
    /* Where nearly all stay they are not worth counting. */
    bool nearly_all = living > table->used / 8 * 7;
    resize(table, capacity_for(nearly_all ? table->used : count_staying(table, least)), least);
}

void id_table_fit(struct id_table *table, int64_t least)
{
    uint64_t count = count_staying(table, least);
    resize(table, count + count / 3 + ID_TABLE_LEAST, least);
}

uint64_t id_table_bytes(const struct id_table *table)
{
    return table->capacity * sizeof *table->ids;
}

void id_table_free(struct id_table *table)
{
    huge_free(table->ids, table->capacity * sizeof *table->ids);
    *table = (struct id_table){0};
}
