/*
 * id_table.c: see id_table.h.
 */
#include <stdlib.h>

#include "huge.h"
#include "id_table.h"

_Static_assert(sizeof(struct id_bucket) == 128, "two cache lines");

#define BUCKETS_LEAST 4u

static uint64_t buckets_for(uint64_t ids)
{
    return ids / ID_BUCKET_IDS + BUCKETS_LEAST;
}

/* Five ninths are used then, and whole huge pages filled up; of a small table a third, for it is
 * soon outgrown, and each id that it moves costs as much as a look-up. */
static uint64_t roomy(uint64_t ids)
{
    size_t bytes = buckets_for(ids + ids / 5 * 4) * sizeof(struct id_bucket);
    size_t small = buckets_for(3 * ids) * sizeof(struct id_bucket);
    if (small <= HUGE_PAGE_BYTES)
        bytes = small;
    else
        bytes = (bytes + HUGE_PAGE_BYTES - 1) & ~(HUGE_PAGE_BYTES - 1);
    return bytes / sizeof(struct id_bucket);
}

#define CHUNK 512u /* buckets: they fit into the second-level cache */

struct moving {
    struct id *ids; /* taken out of the table */
    size_t count, capacity;
};

static void take_out(struct id_table *table, struct moving *moving, uint64_t place, int64_t least)
{
    struct id_bucket *bucket = &table->buckets[place];
    if (moving->capacity - moving->count < ID_BUCKET_IDS) {
        moving->capacity = moving->capacity == 0 ? 8 * CHUNK : 2 * moving->capacity;
        moving->ids = pipe_realloc(moving->ids, moving->capacity * sizeof *moving->ids);
    }
    for (unsigned i = 0; i < bucket->count; i++) {
        moving->ids[moving->count] = bucket->ids[i];
        moving->count += id_expiry(&bucket->ids[i]) >= least;
    }
    table->used -= bucket->count;
    bucket->count = 0;
    bucket->passed = false;
}

static void put_back(struct id_table *table, struct moving *moving)
{
    for (size_t i = 0; i < moving->count; i++)
        id_table_add(table, &moving->ids[i]);
    moving->count = 0;
}

/* The buckets at the front that may have ids of the last ones. Returns how many these are. */
static uint64_t take_front(struct id_table *table, struct moving *front, uint64_t count,
                           int64_t least)
{
    uint64_t taken = 0;
    for (bool more = count > 0 && table->buckets[count - 1].passed; more && taken < count;) {
        more = table->buckets[taken].passed;
        take_out(table, front, taken++, least);
    }
    return taken;
}

/* In place, from back to front: an id moves towards the back, so what was not taken out yet is
 * never in its way if a piece begins behind a bucket that was not passed. The ids of the front come
 * last. */
static void spread(struct id_table *table, uint64_t old_count, int64_t least)
{
    struct moving front = {0}, moving = {0};
    uint64_t begin = take_front(table, &front, old_count, least), end = old_count;
    while (end > begin) {
        uint64_t stop = end;
        while (stop > begin && (end - stop < CHUNK || table->buckets[stop - 1].passed))
            take_out(table, &moving, --stop, least);
        put_back(table, &moving);
        end = stop;
    }
    put_back(table, &front);
    free(front.ids);
    free(moving.ids);
}

static void grow(struct id_table *table, uint64_t count, int64_t least)
{
    uint64_t old = table->bucket_count;
    table->buckets =
        huge_grow(table->buckets, old * sizeof *table->buckets, count * sizeof *table->buckets);
    table->bucket_count = count;
    spread(table, old, least);
}

/* The next buckets of the old table. */
static void take_next(struct id_table *table, struct moving *moving, uint64_t *frontier,
                      uint64_t old_count, int64_t least)
{
    for (uint64_t i = 0; i < CHUNK && *frontier < old_count; i++)
        take_out(table, moving, (*frontier)++, least);
}

/* Where id_table_add would put it. */
static uint64_t place_of(const struct id_table *table, const struct id *id)
{
    struct id_bucket *bucket = &table->buckets[id_part(id->low, table->bucket_count)];
    while (bucket->count == ID_BUCKET_IDS)
        bucket = id_table_next(table, bucket);
    return (uint64_t)(bucket - table->buckets);
}

/* In place, from front to back: an id moves towards the front. Buckets are taken out well before
 * ids come near; should they come nearer, more are. */
static void compact(struct id_table *table, uint64_t count, int64_t least)
{
    struct moving front = {0}, moving = {0}, ahead = {0};
    uint64_t old = table->bucket_count, frontier = take_front(table, &front, old, least);
    table->bucket_count = count;
    take_next(table, &ahead, &frontier, old, least);
    while (ahead.count > 0 || frontier < old) {
        const struct moving now = ahead;
        ahead = moving;
        moving = now;
        take_next(table, &ahead, &frontier, old, least);
        for (size_t i = 0; i < moving.count; i++) {
            while (frontier < old && place_of(table, &moving.ids[i]) >= frontier)
                take_next(table, &ahead, &frontier, old, least);
            id_table_add(table, &moving.ids[i]);
        }
        moving.count = 0;
    }
    put_back(table, &front);
    free(front.ids);
    free(moving.ids);
    free(ahead.ids);
    table->buckets =
        huge_shrink(table->buckets, old * sizeof *table->buckets, count * sizeof *table->buckets);
}

static uint64_t count_staying(const struct id_table *table, int64_t least)
{
    uint64_t count = 0;
    for (uint64_t b = 0; b < table->bucket_count; b++) {
        const struct id_bucket *bucket = &table->buckets[b];
        for (unsigned i = 0; i < bucket->count; i++)
            count += id_expiry(&bucket->ids[i]) >= least;
    }
    return count;
}

static void resize(struct id_table *table, uint64_t count, int64_t least)
{
    if (count >= table->bucket_count)
        grow(table, count, least);
    else
        compact(table, count, least);
}

void id_table_rebuild(struct id_table *table, int64_t least, uint64_t living)
{
    /* Where nearly all stay they are not worth counting. */
    bool nearly_all = living > table->used / 8 * 7;
    resize(table, roomy(nearly_all ? table->used : count_staying(table, least)), least);
    table->most = id_table_capacity(table) / 4 * 3;
}

void id_table_fit(struct id_table *table, int64_t least)
{
    uint64_t count = count_staying(table, least);
    resize(table, buckets_for(count + count / 3), least);
    table->most = id_table_capacity(table) / 5 * 4;
}

uint64_t id_table_bytes(const struct id_table *table)
{
    return table->bucket_count * sizeof *table->buckets;
}

uint64_t id_table_fitting(uint64_t bytes)
{
    return bytes / sizeof(struct id_bucket) * ID_BUCKET_IDS / 4 * 3;
}

void id_table_free(struct id_table *table)
{
    huge_free(table->buckets, table->bucket_count * sizeof *table->buckets);
    *table = (struct id_table){0};
}
