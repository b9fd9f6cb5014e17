/*
 * aggregates_float.c: exact sums of doubles. A sum is a fixed-point number, so adding is
 * associative; it is rounded once, at the end. See pipe_sum_float in aggregates.h for the two
 * widths.
 */
#include <stdlib.h>

#include "pipe.h"
#include "aggregates_state.h"

#define LIMBS PIPE_WIDE_LIMBS
#define FIXED_AT                                                                                   \
    ((PIPE_FIXED_LOWEST_BIT - PIPE_WIDE_LOWEST_BIT) / 64) /* limb of the fixed part                \
                                                           */

/* Adds two's complement limbs at limb `at`, with their sign extended to the top. */
static void add_limbs(uint64_t *wide, unsigned at, const uint64_t *limbs, unsigned count)
{
    uint64_t extension = limbs[count - 1] >> 63 ? UINT64_MAX : 0;
    pipe_u128 carry = 0;
    for (unsigned i = at; i < LIMBS; i++) {
        uint64_t limb = i - at < count ? limbs[i - at] : extension;
        carry += (pipe_u128)wide[i] + limb;
        wide[i] = (uint64_t)carry;
        carry >>= 64;
    }
}

static void fixed_limbs(const struct pipe_sum256 *fixed, uint64_t limbs[4])
{
    limbs[0] = (uint64_t)fixed->low;
    limbs[1] = (uint64_t)(fixed->low >> 64);
    limbs[2] = (uint64_t)fixed->high;
    limbs[3] = (uint64_t)((pipe_u128)fixed->high >> 64);
}

void pipe_sum_float_update_wide(struct pipe_sum_float *acc, double value)
{
    if (value == 0)
        return;
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    unsigned exponent = bits >> 52 & 0x7FF;
    pipe_u128 mantissa = bits & ((1ull << 52) - 1);
    if (exponent == 0x7FF)
        return; /* expressions never give one; the count still tells that something came */
    if (exponent > 0)
        mantissa |= 1ull << 52;
    else
        exponent = 1;
    unsigned position = exponent - 1075 - PIPE_WIDE_LOWEST_BIT;
    mantissa <<= position % 64;
    if (bits >> 63)
        mantissa = ~mantissa + 1;
    uint64_t limbs[2] = {(uint64_t)mantissa, (uint64_t)(mantissa >> 64)};
    if (acc->wide == NULL)
        acc->wide = pipe_calloc(LIMBS, sizeof *acc->wide);
    add_limbs(acc->wide, position / 64, limbs, 2);
}

void pipe_sum_float_merge(struct pipe_sum_float *into, const struct pipe_sum_float *from)
{
    into->n += from->n;
    pipe_sum256_merge(&into->fixed, &from->fixed);
    if (from->wide == NULL)
        return;
    if (into->wide == NULL)
        into->wide = pipe_calloc(LIMBS, sizeof *into->wide);
    add_limbs(into->wide, 0, from->wide, LIMBS);
}

/* The whole sum as magnitude; returns whether it is negative. */
static bool magnitude(const struct pipe_sum_float *acc, uint64_t out[LIMBS])
{
    uint64_t fixed[4];
    memset(out, 0, LIMBS * sizeof *out);
    if (acc->wide != NULL)
        memcpy(out, acc->wide, LIMBS * sizeof *out);
    fixed_limbs(&acc->fixed, fixed);
    add_limbs(out, FIXED_AT, fixed, 4);
    if (out[LIMBS - 1] >> 63 == 0)
        return false;
    bool carry = true;
    for (unsigned i = 0; i < LIMBS; i++) {
        out[i] = ~out[i] + carry;
        carry = carry && out[i] == 0;
    }
    return true;
}

/* Sign, first limb and limbs between the outer zeros: one value, one encoding. */
void pipe_sum_float_save(const struct pipe_sum_float *acc, struct pipe_buf *out)
{
    uint64_t limbs[LIMBS];
    bool negative = magnitude(acc, limbs);
    unsigned begin = 0, end = LIMBS;
    while (end > 0 && limbs[end - 1] == 0)
        end--;
    while (begin < end && limbs[begin] == 0)
        begin++;
    if (begin == end)
        begin = end = 0;
    pipe_state_put(out, acc->n);
    pipe_buf_add_byte(out, (uint8_t)(begin | (negative ? 0x80 : 0)));
    pipe_buf_add_byte(out, (uint8_t)(end - begin));
    for (unsigned i = begin; i < end; i++)
        pipe_state_put(out, limbs[i]);
}

bool pipe_sum_float_load(struct pipe_sum_float *acc, struct pipe_reader *in)
{
    uint64_t limbs[LIMBS] = {0};
    if (!pipe_state_get(in, &acc->n))
        return false;
    if (in->end - in->at < 2)
        return pipe_reader_fail(in, "the state ends early");
    bool negative = (in->at[0] & 0x80) != 0;
    unsigned begin = in->at[0] & 0x7F, count = in->at[1];
    in->at += 2;
    if (begin + count > LIMBS)
        return pipe_reader_fail(in, "a sum of the state is malformed");
    for (unsigned i = begin; i < begin + count; i++) {
        if (!pipe_state_get(in, &limbs[i]))
            return false;
    }
    bool canonical =
        count == 0 ? begin == 0 && !negative : limbs[begin] != 0 && limbs[begin + count - 1] != 0;
    if (!canonical || limbs[LIMBS - 1] >> 63)
        return pipe_reader_fail(in, "a sum of the state is malformed");
    bool carry = true;
    for (unsigned i = 0; negative && i < LIMBS; i++) {
        limbs[i] = ~limbs[i] + carry;
        carry = carry && limbs[i] == 0;
    }
    if (begin >= FIXED_AT && begin + count <= FIXED_AT + 3) {
        acc->fixed.low = (pipe_u128)limbs[FIXED_AT + 1] << 64 | limbs[FIXED_AT];
        acc->fixed.high =
            (pipe_decimal)((pipe_u128)limbs[FIXED_AT + 3] << 64 | limbs[FIXED_AT + 2]);
    } else if (count > 0) {
        acc->wide = pipe_malloc(sizeof limbs);
        memcpy(acc->wide, limbs, sizeof limbs);
    }
    return true;
}

void pipe_sum_float_drop(struct pipe_sum_float *acc)
{
    free(acc->wide);
    acc->wide = NULL;
}

/* Rounds a magnitude to the nearest double, ties to even. The lowest bit of limb 0 is
 * 2^PIPE_WIDE_LOWEST_BIT; `sticky`: the true value is a bit more. false: beyond the greatest
 * double. */
static bool round_magnitude(const uint64_t limbs[LIMBS], bool sticky, double *out)
{
    const int subnormal_bit = -1074 - PIPE_WIDE_LOWEST_BIT;
    int top = LIMBS - 1;
    while (top > 0 && limbs[top] == 0)
        top--;
    int high = limbs[top] == 0 ? -1 : top * 64 + 63 - __builtin_clzll(limbs[top]);
    int low = high - 52 > subnormal_bit ? high - 52 : subnormal_bit; /* last bit that is kept */
    uint64_t kept = limbs[low / 64] >> (low % 64);
    if (low % 64 != 0 && low / 64 + 1 < LIMBS)
        kept |= limbs[low / 64 + 1] << (64 - low % 64);
    kept &= (1ull << 53) - 1;
    int half = low - 1;
    bool round = limbs[half / 64] >> (half % 64) & 1;
    sticky = sticky || (limbs[half / 64] & ((1ull << (half % 64)) - 1)) != 0;
    for (int i = 0; i < half / 64; i++)
        sticky = sticky || limbs[i] != 0;
    kept += round && (sticky || (kept & 1));
    *out =
        ldexp((double)kept, low + PIPE_WIDE_LOWEST_BIT); /* exact: at most 53 bits from `low` on */
    return __builtin_isfinite(*out);
}

static bool finish_divided(const struct pipe_sum_float *acc, uint64_t divisor, double *out)
{
    uint64_t limbs[LIMBS];
    bool negative = magnitude(acc, limbs);
    pipe_u128 rest = 0;
    for (int i = LIMBS - 1; divisor != 1 && i >= 0; i--) {
        rest = rest << 64 | limbs[i];
        limbs[i] = (uint64_t)(rest / divisor);
        rest %= divisor;
    }
    double rounded;
    *out = 0;
    if (!round_magnitude(limbs, rest != 0, &rounded))
        return false;
    *out = negative && rounded != 0 ? -rounded : rounded;
    return true;
}

bool pipe_sum_float_finish(const struct pipe_sum_float *acc, double *out, bool *is_null)
{
    pipe_aggregate_none(acc->n == 0, is_null);
    return finish_divided(acc, 1, out);
}

bool pipe_avg_float_finish(const struct pipe_avg_float *acc, double *out, bool *is_null)
{
    *out = 0;
    return pipe_aggregate_none(acc->sum.n == 0, is_null) ||
           finish_divided(&acc->sum, acc->sum.n, out);
}

void pipe_avg_float_merge(struct pipe_avg_float *into, const struct pipe_avg_float *from)
{
    pipe_sum_float_merge(&into->sum, &from->sum);
}

void pipe_avg_float_save(const struct pipe_avg_float *acc, struct pipe_buf *out)
{
    pipe_sum_float_save(&acc->sum, out);
}

bool pipe_avg_float_load(struct pipe_avg_float *acc, struct pipe_reader *in)
{
    return pipe_sum_float_load(&acc->sum, in);
}

void pipe_avg_float_drop(struct pipe_avg_float *acc)
{
    pipe_sum_float_drop(&acc->sum);
}
