/*
 * id_table.h: the ids that dedup holds in memory (dedup.c): one open-addressing table.
 *
 * An id is a keyed permutation of its key's 16 bytes, so that no one can choose keys that fall into
 * one place; its first word is its place in everything that is cut up by hash. The table is one
 * array of buckets in the order of the places: it grows where it lies, by one pass from back to
 * front, at the cost of the memory that is new. It lies in huge pages (huge.h).
 *
 * A bucket is two cache lines: five ids, and a byte of each that says mostly which of them a wanted
 * id can be, so that what is new is known from one line. An id whose bucket is full lies in the
 * next one that is not, and those on the way are marked: a search goes on behind such a bucket
 * only.
 */
#ifndef PIPE_ID_TABLE_H
#define PIPE_ID_TABLE_H

#include <endian.h>

#include "value.h"
#include "state.h"

#define ID_MAX_EXPIRY ((1ll << 58) - 1) /* 11104 AD: later ones are kept for ever */

/* 1 to 16: bytes of the encoding. */
enum { ID_TAG_NONE, ID_TAG_TEXT_16 = 17, ID_TAG_UUID, ID_TAG_HASHED };

struct id {
    uint64_t low, high;
    int64_t meta; /* expiry × 32 + tag */
};

static inline int64_t id_expiry(const struct id *id)
{
    int64_t expiry = id->meta >> 5;
    return expiry == ID_MAX_EXPIRY ? PIPE_TIME_MAX : expiry;
}

static inline unsigned id_tag(const struct id *id)
{
    return (unsigned)id->meta & 31;
}

static inline int64_t id_meta(int64_t expiry, unsigned tag)
{
    if (expiry > ID_MAX_EXPIRY)
        expiry = ID_MAX_EXPIRY;
    if (expiry < -ID_MAX_EXPIRY)
        expiry = -ID_MAX_EXPIRY;
    return (int64_t)((uint64_t)expiry << 5 | tag);
}

static inline bool id_equal(const struct id *a, const struct id *b)
{
    return a->low == b->low && a->high == b->high && id_tag(a) == id_tag(b);
}

/* The words of a key that is held exactly, permuted: four rounds of a Feistel network. */
static inline void id_permute(const struct pipe_hash_key *key, struct id *id)
{
    static const uint64_t odd[4] = {0x9E3779B97F4A7C15u, 0xD1B54A32D192ED03u, 0xA0761D6478BD642Fu,
                                    0xE7037ED1A0B428DBu};
    uint64_t left = id->low, right = id->high;
    for (unsigned round = 0; round < 4; round++) {
        uint64_t secret = round % 2 == 0 ? key->low : key->high;
        pipe_u128 product = (pipe_u128)(left ^ secret ^ odd[3 - round]) * odd[round];
        uint64_t next = right ^ (uint64_t)product ^ (uint64_t)(product >> 64);
        right = left;
        left = next;
    }
    id->low = left;
    id->high = right;
}

/* Part `place` of `parts` equal ones. */
static inline uint64_t id_part(uint64_t place, uint64_t parts)
{
    return (uint64_t)((pipe_u128)place * parts >> 64);
}

#define ID_BUCKET_IDS 5u

/* Zeroed: empty. */
struct id_bucket {
    uint8_t marks[ID_BUCKET_IDS];
    uint8_t count;
    bool passed; /* an id was put behind it, for it was full */
    uint8_t unused;
    struct id ids[ID_BUCKET_IDS]; /* the first `count` of them */
};

/* All zero: empty, without memory. */
struct id_table {
    struct id_bucket *buckets;
    uint64_t bucket_count;
    uint64_t used, most; /* ids: it is full with so many */
};

static inline struct id_bucket *id_table_next(const struct id_table *table,
                                              struct id_bucket *bucket)
{
    return bucket + 1 == table->buckets + table->bucket_count ? table->buckets : bucket + 1;
}

/* Bit 8 × i + 7: the mark of id i is that of the wanted one; a bit may be set where it is not. */
static inline uint64_t id_bucket_marked(const struct id_bucket *bucket, const struct id *id)
{
    const uint64_t ones = 0x0101010101010101u;
    uint64_t marks;
    memcpy(&marks, bucket, sizeof marks);
    uint64_t differ = le64toh(marks) ^ (id->high & 0xFF) * ones;
    return (differ - ones) & ~differ & ((UINT64_C(1) << 8 * bucket->count) - 1) & ones << 7;
}

/* NULL: it is not there. */
static inline struct id *id_table_find(const struct id_table *table, const struct id *id)
{
    if (PIPE_UNLIKELY(table->bucket_count == 0))
        return NULL;
    struct id_bucket *bucket = &table->buckets[id_part(id->low, table->bucket_count)];
    for (;; bucket = id_table_next(table, bucket)) {
        for (uint64_t left = id_bucket_marked(bucket, id); left != 0; left &= left - 1) {
            struct id *found = &bucket->ids[__builtin_ctzll(left) / 8];
            if (PIPE_LIKELY(id_equal(found, id)))
                return found;
        }
        if (PIPE_LIKELY(!bucket->passed))
            return NULL;
    }
}

static inline void id_bucket_put(struct id_bucket *bucket, const struct id *id)
{
    bucket->marks[bucket->count] = (uint8_t)id->high;
    bucket->ids[bucket->count++] = *id;
}

/* One that is not there. The table is not full. */
static inline void id_table_add(struct id_table *table, const struct id *id)
{
    struct id_bucket *bucket = &table->buckets[id_part(id->low, table->bucket_count)];
    for (; PIPE_UNLIKELY(bucket->count == ID_BUCKET_IDS); bucket = id_table_next(table, bucket))
        bucket->passed = true;
    id_bucket_put(bucket, id);
    table->used++;
}

/* Asks for the memory that the two above will touch. */
PIPE_FETCHES id_table_fetch(const struct id_table *table, const struct id *id)
{
    const struct id_bucket *bucket = &table->buckets[id_part(id->low, table->bucket_count)];
    __builtin_prefetch(bucket, 1);
    __builtin_prefetch((const uint8_t *)bucket + 64, 1);
}

static inline uint64_t id_table_capacity(const struct id_table *table)
{
    return table->bucket_count * ID_BUCKET_IDS;
}

/* The ids one by one: the one at *at, from 0, or behind it. NULL: that was all. */
static inline const struct id *id_table_each(const struct id_table *table, uint64_t *at)
{
    for (; *at < id_table_capacity(table); *at += ID_BUCKET_IDS - *at % ID_BUCKET_IDS) {
        const struct id_bucket *bucket = &table->buckets[*at / ID_BUCKET_IDS];
        if (*at % ID_BUCKET_IDS < bucket->count)
            return &bucket->ids[(*at)++ % ID_BUCKET_IDS];
    }
    return NULL;
}

/* Also without any memory. */
static inline bool id_table_is_full(const struct id_table *table)
{
    return table->used >= table->most;
}

/* Of the ids those stay whose expiry is at least `least`, about `living` of them. Makes room: five
 * ninths are used then, and three quarters when it is full, so that few buckets are passed. */
void id_table_rebuild(struct id_table *table, int64_t least, uint64_t living);
/* To as little memory as takes them, larger or smaller: three quarters are used then, and four
 * fifths when it is full. */
void id_table_fit(struct id_table *table, int64_t least);
uint64_t id_table_bytes(const struct id_table *table); /* of memory */
/* How many ids take three quarters of a table of so many bytes. */
uint64_t id_table_fitting(uint64_t bytes);
void id_table_free(struct id_table *table);

#endif
