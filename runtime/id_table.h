/*
 * id_table.h: the ids that dedup holds in memory (dedup.c): one open-addressing table.
 *
 * An id is a keyed permutation of its key's 16 bytes, so that no one can choose keys that fall into
 * one place; its first word is its place in everything that is cut up by hash. In the table slots
 * are in the order of the places: it grows where it lies, by one pass from back to front, at the
 * cost of the memory that is new. It lies in huge pages (huge.h).
 */
#ifndef PIPE_ID_TABLE_H
#define PIPE_ID_TABLE_H

#include "value.h"
#include "state.h"

#define ID_MAX_EXPIRY ((1ll << 58) - 1) /* 11104 AD: later ones are kept for ever */

/* 1 to 16: bytes of the encoding. */
enum { ID_TAG_FREE, ID_TAG_TEXT_16 = 17, ID_TAG_UUID, ID_TAG_HASHED };

/* Zeroed: a free slot. */
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

#define ID_TABLE_LEAST 16u

/* All zero: empty, without memory. */
struct id_table {
    struct id *ids;
    uint64_t capacity, used;
};

/* The slot with this identity, or the free one where it belongs. capacity > 0. */
static inline struct id *id_table_find(const struct id_table *table, const struct id *id)
{
    struct id *slot = &table->ids[id_part(id->low, table->capacity)];
    const struct id *end = table->ids + table->capacity;
    while (id_tag(slot) != ID_TAG_FREE && !id_equal(slot, id))
        slot = slot + 1 == end ? table->ids : slot + 1;
    return slot;
}

/* Asks for the memory that id_table_find will read. */
PIPE_FETCHES id_table_fetch(const struct id_table *table, const struct id *id)
{
    const struct id *slot = &table->ids[id_part(id->low, table->capacity)];
    __builtin_prefetch(slot, 1);
    __builtin_prefetch((const uint8_t *)slot + 64, 1);
}

static inline bool id_table_is_full(const struct id_table *table)
{
    return table->used >= table->capacity / 5 * 4;
}

/* Of the ids those stay whose expiry is at least `least`, about `living` of them. Makes room: five
 * ninths are used then. */
void id_table_rebuild(struct id_table *table, int64_t least, uint64_t living);
/* To as little memory as takes them, larger or smaller: three quarters are used then. */
void id_table_fit(struct id_table *table, int64_t least);
uint64_t id_table_bytes(const struct id_table *table); /* of memory */
void id_table_free(struct id_table *table);

#endif
