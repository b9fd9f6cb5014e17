/*
 * id_filter.h: a split block Bloom filter (the one of Parquet's specification) over the hashes of
 * ids that are not in memory: 16 bits an id, one cache line a question, and one id in a thousand
 * that was never added is taken for one that was.
 */
#ifndef PIPE_ID_FILTER_H
#define PIPE_ID_FILTER_H

#include "value.h"

#define ID_FILTER_WORDS 8u /* of a block, 32 bits each */
#define ID_FILTER_BLOCK_IDS 16u

struct id_filter {
    uint32_t *words; /* NULL: dropped; every id may be there */
    uint64_t blocks;
    uint64_t room; /* ids that may still be added */
};

/* For so many ids; free it with id_filter_drop. */
void id_filter_init(struct id_filter *filter, uint64_t ids);
void id_filter_drop(struct id_filter *filter);
void id_filter_add(struct id_filter *filter, uint64_t place);
uint64_t id_filter_bytes(const struct id_filter *filter);

/* Its index. */
static inline uint64_t id_filter_block(const struct id_filter *filter, uint64_t place)
{
    return (uint64_t)((pipe_u128)place * filter->blocks >> 64);
}

/* Bit `word` of the low half of the hash; the high half has chosen the block. */
static inline uint32_t id_filter_bit(uint64_t place, unsigned word)
{
    static const uint32_t salts[ID_FILTER_WORDS] = {0x47b6137bu, 0x44974d91u, 0x8824ad5bu,
                                                    0xa2b7289du, 0x705495c7u, 0x2df1424bu,
                                                    0x9efc4947u, 0x5c6bfb31u};
    return 1u << ((uint32_t)place * salts[word] >> 27);
}

static inline bool id_filter_may_have(const struct id_filter *filter, uint64_t place)
{
    uint32_t missing = 0;
    if (filter->words == NULL)
        return true;
    const uint32_t *block = filter->words + id_filter_block(filter, place) * ID_FILTER_WORDS;
    for (unsigned i = 0; i < ID_FILTER_WORDS; i++)
        missing |= id_filter_bit(place, i) & ~block[i];
    return missing == 0;
}

#endif
