/* due_queue.c: see due_queue.h. */
#include "due_queue.h"

#include <stdlib.h>

#define BIAS (UINT64_C(1) << 63)

static uint64_t tick_of(int64_t due)
{
    return ((uint64_t)due ^ BIAS) >> DUE_TICK_BITS;
}

static int64_t begin_of(uint64_t tick)
{
    return (int64_t)(tick << DUE_TICK_BITS ^ BIAS);
}

void due_queue_free(struct due_queue *queue)
{
    free(queue->first.items);
    for (unsigned level = 0; level < DUE_LEVELS; level++) {
        for (unsigned digit = 0; digit < DUE_DIGITS; digit++)
            free(queue->buckets[level][digit].items);
    }
}

void due_queue_clear(struct due_queue *queue)
{
    uint64_t last = queue->last;
    due_queue_free(queue);
    memset(queue, 0, sizeof *queue);
    queue->last = last;
}

static inline void append(struct due_queue *queue, struct due_bucket *bucket, struct due_item item)
{
    if (PIPE_UNLIKELY(bucket->count == bucket->capacity)) {
        uint32_t more = bucket->capacity == 0 ? 4 : bucket->capacity;
        bucket->capacity += more;
        queue->capacity += more;
        bucket->items = pipe_realloc(bucket->items, bucket->capacity * sizeof *bucket->items);
    }
    bucket->items[bucket->count++] = item;
}

/* --- Those that come next: a binary heap by due ------------------------------------------------
 */

static void push_first(struct due_queue *queue, struct due_item item)
{
    append(queue, &queue->first, item);
    struct due_item *items = queue->first.items;
    uint32_t at = queue->first.count - 1;
    for (; at > 0 && items[(at - 1) / 2].due > item.due; at = (at - 1) / 2)
        items[at] = items[(at - 1) / 2];
    items[at] = item;
}

static struct due_item pop_first(struct due_queue *queue)
{
    struct due_item *items = queue->first.items, least = items[0];
    uint32_t count = --queue->first.count, at = 0, child = 1;
    struct due_item last = items[count];
    for (; child < count; child = 2 * at + 1) {
        child += child + 1 < count && items[child + 1].due < items[child].due;
        if (items[child].due >= last.due)
            break;
        items[at] = items[child];
        at = child;
    }
    items[at] = last;
    return least;
}

/* --- All others: buckets -----------------------------------------------------------------------
 */

void due_queue_add(struct due_queue *queue, int64_t due, void *entry)
{
    uint64_t tick = tick_of(due);
    struct due_item item = {due, entry};
    if (tick <= queue->last) {
        push_first(queue, item);
        return;
    }
    unsigned level = (63 - (unsigned)__builtin_clzll(tick ^ queue->last)) / DUE_DIGIT_BITS;
    unsigned digit = (unsigned)(tick >> DUE_DIGIT_BITS * level) % DUE_DIGITS;
    append(queue, &queue->buckets[level][digit], item);
    queue->used[level][digit / 64] |= UINT64_C(1) << digit % 64;
    queue->levels |= 1u << level;
}

/* The place of the least dues behind `first`; there must be one. */
static inline void lowest(const struct due_queue *queue, unsigned *level, unsigned *digit)
{
    *level = (unsigned)__builtin_ctz(queue->levels);
    const uint64_t *used = queue->used[*level];
    unsigned word = 0;
    while (used[word] == 0)
        word++;
    *digit = 64 * word + (unsigned)__builtin_ctzll(used[word]);
}

/* The least tick that a bucket can hold: like `last` above its level, `digit` there, 0 below. */
static inline uint64_t least_of(const struct due_queue *queue, unsigned level, unsigned digit)
{
    unsigned shift = DUE_DIGIT_BITS * level;
    return ((queue->last >> shift & ~(uint64_t)(DUE_DIGITS - 1)) | digit) << shift;
}

static int64_t least_due(const struct due_bucket *bucket)
{
    int64_t least = PIPE_TIME_MAX;
    for (uint32_t i = 0; i < bucket->count; i++)
        least = bucket->items[i].due < least ? bucket->items[i].due : least;
    return least;
}

int64_t due_queue_bound(const struct due_queue *queue)
{
    unsigned level, digit;
    if (queue->first.count > 0)
        return queue->first.items[0].due;
    if (queue->levels == 0)
        return PIPE_TIME_MAX;
    lowest(queue, &level, &digit);
    return begin_of(least_of(queue, level, digit));
}

#define SOON 32 /* items of a bucket that is opened: their entries will be wanted soon */
#define KEPT 16 /* items for which an empty bucket keeps memory: there are 1,792 buckets */

PIPE_FETCHES fetch(const void *entry)
{
    __builtin_prefetch((const uint8_t *)entry);
    __builtin_prefetch((const uint8_t *)entry + 64);
    __builtin_prefetch((const uint8_t *)entry + 128);
    __builtin_prefetch((const uint8_t *)entry + 192);
}

static void mark_empty(struct due_queue *queue, unsigned level, unsigned digit)
{
    uint64_t any = 0;
    queue->used[level][digit / 64] &= ~(UINT64_C(1) << digit % 64);
    for (unsigned word = 0; word < DUE_WORDS; word++)
        any |= queue->used[level][word];
    if (any == 0)
        queue->levels &= ~(1u << level);
}

/* Moves `last` into the lowest bucket that has items, to its least due or, if that comes first,
 * behind `time`; its items go to lower ones. */
static void open_lowest(struct due_queue *queue, int64_t time)
{
    unsigned level, digit;
    lowest(queue, &level, &digit);
    struct due_bucket *bucket = &queue->buckets[level][digit], opened = *bucket;
    int64_t least = least_due(&opened);
    queue->last = tick_of(least <= time ? least : time + 1);
    mark_empty(queue, level, digit);
    if (opened.capacity > KEPT)
        *bucket = (struct due_bucket){NULL, 0, 0};
    bucket->count = 0;
    for (uint32_t i = 0; i < opened.count; i++) {
        if (opened.count <= SOON)
            fetch(opened.items[i].entry);
        due_queue_add(queue, opened.items[i].due, opened.items[i].entry);
    }
    if (opened.capacity > KEPT) {
        queue->capacity -= opened.capacity;
        free(opened.items);
    }
}

bool due_queue_take(struct due_queue *queue, int64_t time, struct due_item *out)
{
    if (time == PIPE_TIME_MAX)
        time--;
    while (due_queue_bound(queue) <= time) {
        if (queue->first.count > 0) {
            *out = pop_first(queue);
            return true;
        }
        open_lowest(queue, time);
    }
    return false;
}

uint64_t due_queue_bytes(const struct due_queue *queue)
{
    return queue->capacity * sizeof(struct due_item);
}
