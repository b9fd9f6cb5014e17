/*
 * id_filter.c: see id_filter.h.
 */
#include "huge.h"
#include "id_filter.h"

static size_t words_bytes(const struct id_filter *filter)
{
    return filter->blocks * ID_FILTER_WORDS * sizeof *filter->words;
}

void id_filter_init(struct id_filter *filter, uint64_t ids)
{
    filter->blocks = ids / ID_FILTER_BLOCK_IDS + 1;
    filter->room = ids;
    filter->words = huge_alloc(words_bytes(filter));
}

void id_filter_drop(struct id_filter *filter)
{
    huge_free(filter->words, words_bytes(filter));
    filter->words = NULL;
}

void id_filter_add(struct id_filter *filter, uint64_t place)
{
    filter->room -= filter->room > 0;
    if (filter->words == NULL)
        return;
    uint32_t *block = filter->words + id_filter_block(filter, place) * ID_FILTER_WORDS;
    for (unsigned i = 0; i < ID_FILTER_WORDS; i++)
        block[i] |= id_filter_bit(place, i);
}

uint64_t id_filter_bytes(const struct id_filter *filter)
{
    return filter->words == NULL ? 0 : words_bytes(filter);
}
