/*
 * due_queue.h: a monotone priority queue of (due, entry), a radix heap over dues in ticks of 65,536
 * µs with digits of eight bits: an item is in the bucket [level][digit], where level is the highest
 * digit of its tick that differs from `last`, and digit is what its tick has there. `last` only
 * grows, and with it items move to lower levels, each at most once a level (one that is due in half
 * a minute: once or twice): all moves are sequential copies and no entry is touched, as a binary
 * heap with places in its entries would at every level. The items of the tick in hand are a binary
 * heap, a small one, so that the tick can be long and few buckets are opened.
 *
 * Items are never taken out or changed: whoever needs an earlier due adds a second item, and finds
 * out by the entry that one of them is stale.
 */
#ifndef PIPE_DUE_QUEUE_H
#define PIPE_DUE_QUEUE_H

#include "value.h"

struct due_item {
    int64_t due;
    void *entry;
};

struct due_bucket {
    struct due_item *items;
    uint32_t count, capacity;
};

#define DUE_TICK_BITS 16u
#define DUE_DIGIT_BITS 8u
#define DUE_DIGITS (1u << DUE_DIGIT_BITS)
#define DUE_LEVELS 6u /* digits of the 48 bits of a tick */
#define DUE_WORDS (DUE_DIGITS / 64)

struct due_queue {
    uint64_t last; /* the tick: none is below, but of items that came late; biased: order of the
                      signed times */
    struct due_bucket first;              /* heap: of the tick `last`, and those that came late */
    uint32_t levels;                      /* bit i: level i has items */
    uint64_t used[DUE_LEVELS][DUE_WORDS]; /* bit d: [level][d] has items */
    uint64_t capacity;                    /* of all buckets */
    struct due_bucket buckets[DUE_LEVELS][DUE_DIGITS];
};

void due_queue_free(struct due_queue *queue);
void due_queue_clear(struct due_queue *queue); /* all items go */
void due_queue_add(struct due_queue *queue, int64_t due, void *entry);
/* No item is due before this; PIPE_TIME_MAX: there is none, or none is ever due. */
int64_t due_queue_bound(const struct due_queue *queue);
/* Takes an item with due <= time, in no order; false: there is none. PIPE_TIME_MAX is never due. */
bool due_queue_take(struct due_queue *queue, int64_t time, struct due_item *out);
uint64_t due_queue_bytes(const struct due_queue *queue); /* of memory, without the struct */

#endif
