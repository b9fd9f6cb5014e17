/*
 * due_queue.h: what is due when: a timing wheel. An item that is due within the next DUE_BUCKETS
 * ticks is in the bucket of its tick, one that is due later in the last bucket, from which it is
 * put in again; the tick is chosen so that items are mostly due within half of them. Adding and
 * removing touch no other item but one, and nothing is sorted before its tick has come; those of
 * the tick in hand are a binary heap, a small one.
 *
 * Whoever only learns that an item is due later than it was queued for leaves it where it is. It is
 * taken in the tick that it is in, and the caller puts it in again: so `due` of an item is a lower
 * bound, and what is due time and again later costs nothing until then.
 *
 * Items are parts of what is due, which is the caller's; the queue holds pointers.
 */
#ifndef PIPE_DUE_QUEUE_H
#define PIPE_DUE_QUEUE_H

#include "value.h"

struct due_item {
    int64_t due; /* not before; PIPE_TIME_MAX: it is not in the queue */
    uint32_t at; /* index in its bucket or in the heap */
};

struct due_bucket {
    struct due_item **items;
    uint32_t count, capacity;
};

struct due_first {
    int64_t due;
    struct due_item *item;
};

#define DUE_BUCKETS 1024u

struct due_queue {
    unsigned tick_bits;
    int64_t last;            /* the tick in hand; those of buckets are due later */
    struct due_first *first; /* heap: of ticks up to `last` */
    uint32_t first_count, first_capacity;
    struct due_bucket opened; /* of ticks that have come, while they are taken */
    uint64_t used[DUE_BUCKETS / 64];
    uint64_t capacity;                      /* of all buckets */
    struct due_bucket buckets[DUE_BUCKETS]; /* by tick modulo DUE_BUCKETS */
};

/* An empty queue, all zero before. `span`: µs, > 0: how long before it is due an item is queued,
 * mostly at the most. */
void due_queue_init(struct due_queue *queue, int64_t span);
/* If nothing is in it: nothing will be due by `time`, so items need not be put in again for that.
 */
void due_queue_begin(struct due_queue *queue, int64_t time);
void due_queue_free(struct due_queue *queue); /* items in it are not touched */
/* An item that is not in it; due < PIPE_TIME_MAX. */
void due_queue_add(struct due_queue *queue, struct due_item *item, int64_t due);
void due_queue_remove(struct due_queue *queue, struct due_item *item); /* one that is in it */
/* No item is due before this; PIPE_TIME_MAX: there is none. */
int64_t due_queue_bound(const struct due_queue *queue);
/* Takes an item that may be due by `time`, in no order; NULL: none is. Only due_queue_add may be
 * called until then. */
struct due_item *due_queue_take(struct due_queue *queue, int64_t time);
uint64_t due_queue_bytes(const struct due_queue *queue); /* of memory, without the struct */

#endif
