/* due_queue.c: see due_queue.h. */
#include "due_queue.h"

#include <stdlib.h>

#define BIAS (UINT64_C(1) << 63)

static uint64_t biased(int64_t due)
{
    return (uint64_t)due ^ BIAS;
}

static int64_t unbiased(uint64_t due)
{
    return (int64_t)(due ^ BIAS);
}

void due_queue_free(struct due_queue *queue)
{
    for (unsigned i = 0; i < DUE_BUCKETS; i++)
        free(queue->buckets[i].items);
}

static void append(struct due_queue *queue, unsigned index, struct due_item item)
{
    struct due_bucket *bucket = &queue->buckets[index];
    if (bucket->count == bucket->capacity) {
        bucket->capacity = bucket->capacity == 0 ? 16 : bucket->capacity * 2;
        bucket->items = pipe_realloc(bucket->items, bucket->capacity * sizeof *bucket->items);
    }
    bucket->items[bucket->count++] = item;
    if (index > 0)
        queue->used |= UINT64_C(1) << (index - 1);
}

void due_queue_add(struct due_queue *queue, int64_t due, void *entry)
{
    uint64_t key = biased(due);
    unsigned index = key <= queue->last ? 0 : 64 - (unsigned)__builtin_clzll(key ^ queue->last);
    append(queue, index, (struct due_item){due, entry});
}

/* The least due that bucket `index` > 0 can hold: like `last` above bit index - 1, 1 there, 0
 * below. */
static uint64_t least_of(const struct due_queue *queue, unsigned index)
{
    unsigned bit = index - 1;
    return (queue->last >> bit | 1) << bit;
}

int64_t due_queue_bound(const struct due_queue *queue)
{
    const struct due_bucket *first = &queue->buckets[0];
    if (PIPE_UNLIKELY(first->count > 0)) {
        int64_t least = PIPE_TIME_MAX;
        for (uint32_t i = 0; i < first->count; i++)
            least = first->items[i].due < least ? first->items[i].due : least;
        return least;
    }
    if (queue->used == 0)
        return PIPE_TIME_MAX;
    return unbiased(least_of(queue, 1 + (unsigned)__builtin_ctzll(queue->used)));
}

#define SOON 32 /* items of a bucket that is opened: their entries will be wanted soon */

static void fetch(const void *entry)
{
    __builtin_prefetch((const uint8_t *)entry);
    __builtin_prefetch((const uint8_t *)entry + 64);
    __builtin_prefetch((const uint8_t *)entry + 128);
    __builtin_prefetch((const uint8_t *)entry + 192);
}

/* Moves `last` into the lowest bucket that has items, to its least due or, if that comes first,
 * behind `time`; its items go to lower ones. */
static void open_lowest(struct due_queue *queue, int64_t time)
{
    unsigned index = 1 + (unsigned)__builtin_ctzll(queue->used);
    struct due_bucket *bucket = &queue->buckets[index];
    int64_t least = bucket->items[0].due;
    for (uint32_t i = 1; i < bucket->count; i++)
        least = bucket->items[i].due < least ? bucket->items[i].due : least;
    queue->last = biased(least <= time ? least : time + 1);
    uint32_t count = bucket->count;
    bucket->count = 0;
    queue->used &= ~(UINT64_C(1) << (index - 1));
    for (uint32_t i = 0; i < count; i++) {
        if (count <= SOON)
            fetch(bucket->items[i].entry);
        due_queue_add(queue, bucket->items[i].due, bucket->items[i].entry);
    }
}

bool due_queue_take(struct due_queue *queue, int64_t time, struct due_item *out)
{
    struct due_bucket *first = &queue->buckets[0];
    if (time == PIPE_TIME_MAX)
        time--;
    for (;;) {
        for (uint32_t i = first->count; i-- > 0;) {
            if (first->items[i].due > time)
                continue;
            *out = first->items[i];
            first->items[i] = first->items[--first->count];
            return true;
        }
        if (first->count > 0 || due_queue_bound(queue) > time)
            return false;
        open_lowest(queue, time);
    }
}

uint64_t due_queue_bytes(const struct due_queue *queue)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < DUE_BUCKETS; i++)
        bytes += queue->buckets[i].capacity * sizeof(struct due_item);
    return bytes;
}
