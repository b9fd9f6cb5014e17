/*
 * tokens.h: a mutator of .pipe texts by token: random bytes seldom get beyond the lexer. It copies,
 * drops, moves and replaces runs of tokens (a token, a clause, a statement), and takes them from
 * another input in a crossover.
 */
#ifndef FUZZ_TOKENS_H
#define FUZZ_TOKENS_H

#include "fuzz.h"
#include <ctype.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size) __attribute__((weak));

enum { TOKENS_MAX = 4096, RUN_MAX = 24 };

struct run {
    size_t begin, end;
};

static uint32_t token_random(unsigned *state, uint32_t below)
{
    *state = *state * 1664525u + 1013904223u;
    return below == 0 ? 0 : (*state >> 8) % below;
}

static size_t token_end(const uint8_t *text, size_t at, size_t size)
{
    size_t end = at + 1;
    uint8_t c = text[at];
    if (c == '\'' || c == '"') {
        while (end < size && text[end] != c && text[end] != '\n')
            end++;
        return end < size ? end + 1 : end;
    }
    if (isalnum(c) || c == '_')
        while (end < size && (isalnum(text[end]) || text[end] == '_'))
            end++;
    else if (isspace(c))
        while (end < size && isspace(text[end]))
            end++;
    return end;
}

/* Tokens that are not white space; returns how many. */
static size_t find_tokens(const uint8_t *text, size_t size, struct run *tokens)
{
    size_t count = 0;
    for (size_t at = 0; at < size && count < TOKENS_MAX;) {
        size_t end = token_end(text, at, size);
        if (!isspace(text[at]))
            tokens[count++] = (struct run){at, end};
        at = end;
    }
    return count;
}

/* One token, a few, up to the next of ',' or ')', or up to the statement's end. */
static struct run choose_run(const uint8_t *text, const struct run *tokens, size_t count,
                             unsigned *state)
{
    size_t first = token_random(state, (uint32_t)count), last = first;
    switch (token_random(state, 4)) {
    case 0:
        break;
    case 1:
        last += token_random(state, RUN_MAX);
        break;
    case 2:
        while (last + 1 < count && strchr(",;)", text[tokens[last + 1].begin]) == NULL)
            last++;
        break;
    case 3:
        while (first > 0 && text[tokens[first - 1].begin] != ';')
            first--;
        while (last + 1 < count && text[tokens[last].begin] != ';')
            last++;
    }
    last = last < count ? last : count - 1;
    return (struct run){tokens[first].begin, tokens[last].end};
}

/* text[where] becomes ` bytes `; the new size, or 0 if there is no room. */
static size_t put_run(uint8_t *text, size_t size, size_t max_size, struct run where,
                      const uint8_t *bytes, size_t bytes_size)
{
    size_t tail = size - where.end, needed = where.begin + bytes_size + 2 + tail;
    uint8_t *copy;
    if (needed > max_size)
        return 0;
    copy = fuzz_copy(bytes, bytes_size);
    memmove(text + where.begin + bytes_size + 2, text + where.end, tail);
    text[where.begin] = ' ';
    memcpy(text + where.begin + 1, copy, bytes_size);
    text[where.begin + 1 + bytes_size] = ' ';
    free(copy);
    return needed;
}

/* A run of `from` goes to a place of text: instead of another run, or before one. */
static size_t splice(uint8_t *text, size_t size, size_t max_size, const uint8_t *from,
                     size_t from_size, unsigned *state)
{
    static struct run tokens[TOKENS_MAX], others[TOKENS_MAX];
    size_t count = find_tokens(text, size, tokens),
           other_count = find_tokens(from, from_size, others);
    if (count == 0 || other_count == 0)
        return 0;
    struct run taken = choose_run(from, others, other_count, state);
    struct run where = choose_run(text, tokens, count, state);
    if (token_random(state, 2) == 0)
        where.end = where.begin;
    return put_run(text, size, max_size, where, from + taken.begin, taken.end - taken.begin);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    static struct run tokens[TOKENS_MAX];
    unsigned state = seed;
    uint32_t kind = token_random(&state, 8);
    size_t made = 0, count;
    if (kind < 3)
        return LLVMFuzzerMutate(data, size, max_size);
    if (kind < 5) {
        count = find_tokens(data, size, tokens);
        if (count > 0)
            made = put_run(data, size, max_size, choose_run(data, tokens, count, &state),
                           (const uint8_t *)"", 0);
    } else {
        made = splice(data, size, max_size, data, size, &state);
    }
    return made > 0 ? made : LLVMFuzzerMutate(data, size, max_size);
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size,
                                 uint8_t *out, size_t max_out, unsigned seed)
{
    unsigned state = seed;
    if (a_size > max_out)
        return 0;
    memcpy(out, a, a_size);
    return splice(out, a_size, max_out, b, b_size, &state);
}

#endif
