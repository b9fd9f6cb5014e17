/* due_queue.c: see due_queue.h. */
#include "due_queue.h"

#include <stdlib.h>

#define LEAST_TICK_BITS 2u /* the difference of two ticks is no overflow */
#define SOON 32u /* items of the bucket that comes next: they will be wanted soon */
#define KEPT 16u /* items for which an empty bucket keeps memory */
#define NO_TICK INT64_MAX

static inline int64_t tick_of(const struct due_queue *queue, int64_t time)
{
    return time >> queue->tick_bits;
}

static inline unsigned bucket_of(int64_t tick)
{
    return (unsigned)((uint64_t)tick % DUE_BUCKETS);
}

static inline int64_t begin_of(const struct due_queue *queue, int64_t tick)
{
    return tick * (INT64_C(1) << queue->tick_bits);
}

void due_queue_init(struct due_queue *queue, int64_t span)
{
    queue->tick_bits = LEAST_TICK_BITS;
    while (span >> queue->tick_bits >= DUE_BUCKETS / 2)
        queue->tick_bits++;
    queue->last = tick_of(queue, PIPE_TIME_MIN);
}

void due_queue_free(struct due_queue *queue)
{
    for (unsigned i = 0; i < DUE_BUCKETS; i++)
        free(queue->buckets[i].items);
    free(queue->opened.items);
    free(queue->first);
}

uint64_t due_queue_bytes(const struct due_queue *queue)
{
    return queue->capacity * sizeof(struct due_item *) +
           queue->first_capacity * sizeof(struct due_first);
}

/* --- Buckets ---------------------------------------------------------------------------------- */

static inline void append(struct due_queue *queue, struct due_bucket *bucket, struct due_item *item)
{
    if (PIPE_UNLIKELY(bucket->count == bucket->capacity)) {
        uint32_t more = bucket->capacity == 0 ? 4 : bucket->capacity;
        bucket->capacity += more;
        queue->capacity += more;
        bucket->items = pipe_realloc(bucket->items, bucket->capacity * sizeof *bucket->items);
    }
    item->at = bucket->count;
    bucket->items[bucket->count++] = item;
}

static inline void mark_empty(struct due_queue *queue, unsigned bucket)
{
    queue->used[bucket / 64] &= ~(UINT64_C(1) << bucket % 64);
}

/* The least tick that has a bucket with items. */
static inline int64_t next_tick(const struct due_queue *queue)
{
    unsigned from = bucket_of(queue->last + 1);
    uint64_t word = queue->used[from / 64] >> from % 64;
    if (PIPE_LIKELY(word != 0))
        return queue->last + 1 + __builtin_ctzll(word);
    unsigned steps = 64 - from % 64;
    for (; steps < DUE_BUCKETS; steps += 64) {
        word = queue->used[(from + steps) % DUE_BUCKETS / 64];
        if (word != 0)
            return queue->last + 1 + steps + __builtin_ctzll(word);
    }
    return NO_TICK;
}

void due_queue_begin(struct due_queue *queue, int64_t time)
{
    int64_t tick = tick_of(queue, time);
    if (tick > queue->last && queue->first_count == 0 && next_tick(queue) == NO_TICK)
        queue->last = tick;
}

/* --- The tick in hand: a binary heap by due ----------------------------------------------------
 */

static inline void place(struct due_queue *queue, uint32_t at, struct due_first first)
{
    queue->first[at] = first;
    first.item->at = at;
}

/* Puts one where it belongs, from place `at` on, whose own is elsewhere. */
static inline void sift(struct due_queue *queue, uint32_t at, struct due_first first)
{
    const struct due_first *all = queue->first;
    uint32_t count = queue->first_count;
    for (; at > 0 && all[(at - 1) / 2].due > first.due; at = (at - 1) / 2)
        place(queue, at, all[(at - 1) / 2]);
    for (uint32_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
        child += child + 1 < count && all[child + 1].due < all[child].due;
        if (all[child].due >= first.due)
            break;
        place(queue, at, all[child]);
        at = child;
    }
    place(queue, at, first);
}

static inline void push_first(struct due_queue *queue, struct due_item *item, int64_t due)
{
    if (PIPE_UNLIKELY(queue->first_count == queue->first_capacity)) {
        queue->first_capacity = queue->first_capacity == 0 ? 16 : queue->first_capacity * 2;
        queue->first = pipe_realloc(queue->first, queue->first_capacity * sizeof *queue->first);
    }
    item->due = due;
    queue->first_count++;
    sift(queue, queue->first_count - 1, (struct due_first){due, item});
}

static inline void drop_first(struct due_queue *queue, uint32_t at)
{
    struct due_first last = queue->first[--queue->first_count];
    if (at < queue->first_count)
        sift(queue, at, last);
}

/* --- Items ------------------------------------------------------------------------------------ */

void due_queue_add(struct due_queue *queue, struct due_item *item, int64_t due)
{
    int64_t tick = tick_of(queue, due);
    if (tick <= queue->last) {
        push_first(queue, item, due);
        return;
    }
    if (PIPE_UNLIKELY(tick - queue->last >= (int64_t)DUE_BUCKETS)) {
        tick = queue->last + DUE_BUCKETS - 1;
        due = begin_of(queue, tick);
    }
    unsigned bucket = bucket_of(tick);
    item->due = due;
    append(queue, &queue->buckets[bucket], item);
    queue->used[bucket / 64] |= UINT64_C(1) << bucket % 64;
}

void due_queue_remove(struct due_queue *queue, struct due_item *item)
{
    int64_t tick = tick_of(queue, item->due);
    item->due = PIPE_TIME_MAX;
    if (tick <= queue->last) {
        drop_first(queue, item->at);
        return;
    }
    unsigned at = bucket_of(tick);
    struct due_bucket *bucket = &queue->buckets[at];
    struct due_item *last = bucket->items[--bucket->count];
    bucket->items[item->at] = last;
    last->at = item->at;
    if (bucket->count == 0)
        mark_empty(queue, at);
}

int64_t due_queue_bound(const struct due_queue *queue)
{
    if (queue->first_count > 0)
        return queue->first[0].due;
    int64_t tick = next_tick(queue);
    return tick == NO_TICK ? PIPE_TIME_MAX : begin_of(queue, tick);
}

/* Of the bucket that comes next, whose pointers were asked for when it was next but one. */
PIPE_FETCHES fetch_items(const struct due_bucket *bucket)
{
    for (uint32_t i = 0; i < bucket->count && i < SOON; i++) {
        const uint8_t *item = (const uint8_t *)bucket->items[i];
        __builtin_prefetch(item);
        __builtin_prefetch(item + 64);
        __builtin_prefetch(item + 128);
        __builtin_prefetch(item + 192);
    }
}

/* The items of one bucket are to be taken: the memory of those that were goes where they were. */
static void open_bucket(struct due_queue *queue, int64_t tick)
{
    unsigned at = bucket_of(tick);
    struct due_bucket empty = queue->opened;
    if (empty.capacity > KEPT) {
        queue->capacity -= empty.capacity;
        free(empty.items);
        empty = (struct due_bucket){0};
    }
    queue->opened = queue->buckets[at];
    queue->buckets[at] = empty;
    queue->last = tick;
    mark_empty(queue, at);
    fetch_items(&queue->buckets[(at + 1) % DUE_BUCKETS]);
    __builtin_prefetch(queue->buckets[(at + 2) % DUE_BUCKETS].items);
    __builtin_prefetch(&queue->buckets[(at + 8) % DUE_BUCKETS]);
}

/* Time has moved beyond all of them. */
static void open_all(struct due_queue *queue, int64_t tick)
{
    for (unsigned at = 0; at < DUE_BUCKETS; at++) {
        struct due_bucket *bucket = &queue->buckets[at];
        for (uint32_t i = 0; i < bucket->count; i++)
            append(queue, &queue->opened, bucket->items[i]);
        bucket->count = 0;
        if (bucket->capacity > KEPT) {
            queue->capacity -= bucket->capacity;
            free(bucket->items);
            *bucket = (struct due_bucket){0};
        }
    }
    memset(queue->used, 0, sizeof queue->used);
    queue->last = tick;
}

/* false: there is no item whose tick has come. */
static bool open_next(struct due_queue *queue, int64_t time)
{
    int64_t tick = tick_of(queue, time);
    if (tick <= queue->last)
        return false;
    int64_t next = next_tick(queue);
    if (next > tick)
        queue->last = tick;
    else if (tick - queue->last < (int64_t)DUE_BUCKETS)
        open_bucket(queue, next);
    else
        open_all(queue, tick);
    return next <= tick;
}

struct due_item *due_queue_take(struct due_queue *queue, int64_t time)
{
    struct due_item *item = NULL;
    do {
        if (queue->opened.count > 0) {
            item = queue->opened.items[--queue->opened.count];
        } else if (queue->first_count > 0 && queue->first[0].due <= time) {
            item = queue->first[0].item;
            drop_first(queue, 0);
        }
        if (item != NULL) {
            item->due = PIPE_TIME_MAX;
            return item;
        }
    } while (open_next(queue, time));
    return NULL;
}
