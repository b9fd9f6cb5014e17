/*
 * aggregates_sketch.c: HyperLogLog and DDSketch. Both keep a function of the set or multiset of
 * values (greatest rank a register; count a bucket), so order and grouping of merges cannot matter;
 * the smaller form of HyperLogLog turns into the larger one by the number of registers set, which
 * is such a function.
 *
 * Flajolet et al., HyperLogLog (2007); Ertl, New cardinality estimation algorithms for HyperLogLog
 * sketches (2017), whose estimator needs no tables of bias; Masson et al., DDSketch (2019).
 */
#include <stdlib.h>

#include "pipe.h"
#include "aggregates_state.h"

/* --- HyperLogLog --------------------------------------------------------------------------------
 */

#define PRECISION 14
#define REGISTERS (1u << PRECISION)
#define RANKS (64 - PRECISION + 1) /* greatest rank */
#define SPARSE_MAX 1024

static void make_dense(struct pipe_approx_count_distinct *acc)
{
    acc->dense = pipe_calloc(REGISTERS, 1);
    for (uint32_t i = 0; i < acc->count; i++)
        acc->dense[acc->sparse[i] >> 8] = (uint8_t)acc->sparse[i];
    free(acc->sparse);
    acc->sparse = NULL;
    acc->count = acc->capacity = 0;
}

static void set_register(struct pipe_approx_count_distinct *acc, uint32_t index, uint8_t rank)
{
    if (acc->dense != NULL) {
        if (acc->dense[index] < rank)
            acc->dense[index] = rank;
        return;
    }
    uint32_t low = 0, high = acc->count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (acc->sparse[middle] >> 8 < index)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < acc->count && acc->sparse[low] >> 8 == index) {
        if ((acc->sparse[low] & 0xFF) < rank)
            acc->sparse[low] = index << 8 | rank;
        return;
    }
    if (acc->count == SPARSE_MAX) {
        make_dense(acc);
        acc->dense[index] = rank;
        return;
    }
    if (acc->count == acc->capacity) {
        acc->capacity = acc->capacity == 0 ? 8 : acc->capacity * 2;
        acc->sparse = pipe_realloc(acc->sparse, acc->capacity * sizeof *acc->sparse);
    }
    memmove(acc->sparse + low + 1, acc->sparse + low, (acc->count - low) * sizeof *acc->sparse);
    acc->sparse[low] = index << 8 | rank;
    acc->count++;
}

void pipe_approx_count_distinct_update(struct pipe_approx_count_distinct *acc,
                                       struct pipe_str value)
{
    uint64_t hash = pipe_hash64(value.data, value.size, 0);
    uint64_t rest = hash << PRECISION | 1ull << (PRECISION - 1);
    set_register(acc, (uint32_t)(hash >> (64 - PRECISION)), (uint8_t)(__builtin_clzll(rest) + 1));
}

void pipe_approx_count_distinct_merge(struct pipe_approx_count_distinct *into,
                                      const struct pipe_approx_count_distinct *from)
{
    for (uint32_t i = 0; i < from->count; i++)
        set_register(into, from->sparse[i] >> 8, (uint8_t)from->sparse[i]);
    if (from->dense == NULL)
        return;
    if (into->dense == NULL)
        make_dense(into);
    for (uint32_t i = 0; i < REGISTERS; i++) {
        if (into->dense[i] < from->dense[i])
            into->dense[i] = from->dense[i];
    }
}

/* Count and registers while sparse; SPARSE_MAX + 1 and a byte a register when dense. */
void pipe_approx_count_distinct_save(const struct pipe_approx_count_distinct *acc,
                                     struct pipe_buf *out)
{
    if (acc->dense != NULL) {
        pipe_state_put(out, SPARSE_MAX + 1);
        pipe_buf_add(out, acc->dense, REGISTERS);
        return;
    }
    pipe_state_put(out, acc->count);
    for (uint32_t i = 0; i < acc->count; i++)
        pipe_state_put(out, acc->sparse[i]);
}

bool pipe_approx_count_distinct_load(struct pipe_approx_count_distinct *acc, struct pipe_reader *in)
{
    uint32_t count = 0;
    if (!pipe_state_get_u32(in, &count))
        return false;
    if (count > SPARSE_MAX) {
        if (count != SPARSE_MAX + 1 || in->end - in->at < (ptrdiff_t)REGISTERS)
            return pipe_reader_fail(in, "a sketch of the state is malformed");
        make_dense(acc);
        memcpy(acc->dense, in->at, REGISTERS);
        in->at += REGISTERS;
        uint32_t used = 0;
        for (uint32_t i = 0; i < REGISTERS; i++) {
            if (acc->dense[i] > RANKS)
                return pipe_reader_fail(in, "a sketch of the state is malformed");
            used += acc->dense[i] != 0;
        }
        return used > SPARSE_MAX || pipe_reader_fail(in, "a sketch of the state is malformed");
    }
    uint32_t before = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t entry = 0;
        if (!pipe_state_get_u32(in, &entry))
            return false;
        if (entry >> 8 >= REGISTERS || (entry & 0xFF) == 0 || (entry & 0xFF) > RANKS ||
            (i > 0 && entry >> 8 <= before))
            return pipe_reader_fail(in, "a sketch of the state is malformed");
        before = entry >> 8;
        set_register(acc, entry >> 8, (uint8_t)entry);
    }
    return true;
}

void pipe_approx_count_distinct_drop(struct pipe_approx_count_distinct *acc)
{
    free(acc->sparse);
    free(acc->dense);
    memset(acc, 0, sizeof *acc);
}

static double sigma(double x)
{
    double y = 1, z = x, before;
    if (x == 1)
        return HUGE_VAL;
    do {
        x *= x;
        before = z;
        z += x * y;
        y += y;
    } while (z != before);
    return z;
}

static double tau(double x)
{
    if (x == 0 || x == 1)
        return 0;
    double y = 1, z = 1 - x, before;
    do {
        x = sqrt(x);
        before = z;
        y *= 0.5;
        z -= (1 - x) * (1 - x) * y;
    } while (z != before);
    return z / 3;
}

bool pipe_approx_count_distinct_finish(const struct pipe_approx_count_distinct *acc, int64_t *out,
                                       bool *is_null)
{
    uint32_t ranks[RANKS + 1] = {0};
    ranks[0] = acc->dense == NULL ? REGISTERS - acc->count : 0;
    for (uint32_t i = 0; i < acc->count; i++)
        ranks[acc->sparse[i] & 0xFF]++;
    for (uint32_t i = 0; acc->dense != NULL && i < REGISTERS; i++)
        ranks[acc->dense[i]]++;
    const double m = REGISTERS;
    double z = m * tau(1 - ranks[RANKS] / m);
    for (int k = RANKS - 1; k >= 1; k--)
        z = 0.5 * (z + ranks[k]);
    z += m * sigma(ranks[0] / m);
    double estimate = m * m / (2 * 0.693147180559945309417 * z) + 0.5;
    pipe_aggregate_none(false, is_null);
    *out = estimate < 9e18 ? (int64_t)estimate : INT64_MAX;
    return true;
}

/* --- DDSketch -----------------------------------------------------------------------------------
 */

#define LOG_GAMMA 0.02                      /* the error is tanh(LOG_GAMMA / 2), a bit below 1 % */
#define COSH_HALF_LOG_GAMMA 1.0000500004167 /* cosh(LOG_GAMMA / 2) */
#define BUCKET_OF_ONE 40000 /* |x| in 2^-1074 … 2^1024 gives 2,700 … 75,500; 0 is bucket 0 */

struct pipe_quantile_bucket {
    int32_t
        index; /* sign of the value × (BUCKET_OF_ONE + ceil(log of |value| to the base gamma)) */
    uint64_t n;
};

static int32_t bucket_of(double value)
{
    if (value == 0)
        return 0;
    int32_t index = BUCKET_OF_ONE + (int32_t)ceil(log(fabs(value)) / LOG_GAMMA);
    return value < 0 ? -index : index;
}

static double value_of(int32_t index)
{
    if (index == 0)
        return 0;
    double power = (abs(index) - BUCKET_OF_ONE) * LOG_GAMMA;
    double value = exp(power - LOG_GAMMA / 2) / COSH_HALF_LOG_GAMMA;
    return index < 0 ? -value : value;
}

static void add_to_bucket(struct pipe_approx_quantile *acc, int32_t index, uint64_t n)
{
    if (acc->recent < acc->count && acc->buckets[acc->recent].index == index) {
        acc->buckets[acc->recent].n += n;
        return;
    }
    uint32_t low = 0, high = acc->count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (acc->buckets[middle].index < index)
            low = middle + 1;
        else
            high = middle;
    }
    acc->recent = low;
    if (low < acc->count && acc->buckets[low].index == index) {
        acc->buckets[low].n += n;
        return;
    }
    if (acc->count == acc->capacity) {
        acc->capacity = acc->capacity == 0 ? 8 : acc->capacity * 2;
        acc->buckets = pipe_realloc(acc->buckets, acc->capacity * sizeof *acc->buckets);
    }
    memmove(acc->buckets + low + 1, acc->buckets + low, (acc->count - low) * sizeof *acc->buckets);
    acc->buckets[low] = (struct pipe_quantile_bucket){index, n};
    acc->count++;
}

static void widen(struct pipe_approx_quantile *acc, double least, double greatest, uint64_t n)
{
    if (acc->n == 0 || least < acc->least)
        acc->least = least + 0.0;
    if (acc->n == 0 || greatest > acc->greatest)
        acc->greatest = greatest + 0.0;
    acc->n += n;
}

void pipe_approx_quantile_update(struct pipe_approx_quantile *acc, double value)
{
    if (!__builtin_isfinite(value))
        return;
    widen(acc, value, value, 1);
    add_to_bucket(acc, bucket_of(value), 1);
}

void pipe_approx_quantile_merge(struct pipe_approx_quantile *into,
                                const struct pipe_approx_quantile *from)
{
    if (from->n == 0)
        return;
    widen(into, from->least, from->greatest, from->n);
    for (uint32_t i = 0; i < from->count; i++)
        add_to_bucket(into, from->buckets[i].index, from->buckets[i].n);
}

void pipe_approx_quantile_save(const struct pipe_approx_quantile *acc, struct pipe_buf *out)
{
    pipe_state_put(out, acc->count);
    if (acc->count == 0)
        return;
    pipe_state_put_double(out, acc->least);
    pipe_state_put_double(out, acc->greatest);
    for (uint32_t i = 0; i < acc->count; i++) {
        pipe_state_put_signed(out, acc->buckets[i].index);
        pipe_state_put(out, acc->buckets[i].n);
    }
}

bool pipe_approx_quantile_load(struct pipe_approx_quantile *acc, struct pipe_reader *in)
{
    uint32_t count = 0;
    if (!pipe_state_get_u32(in, &count))
        return false;
    if (count == 0)
        return true;
    if (!pipe_state_get_double(in, &acc->least) || !pipe_state_get_double(in, &acc->greatest))
        return false;
    int64_t before = INT64_MIN;
    for (uint32_t i = 0; i < count; i++) {
        int64_t index = 0;
        uint64_t n = 0;
        if (!pipe_state_get_signed(in, &index) || !pipe_state_get(in, &n))
            return false;
        if (index <= before || index < -2 * BUCKET_OF_ONE || index > 2 * BUCKET_OF_ONE || n == 0)
            return pipe_reader_fail(in, "a sketch of the state is malformed");
        before = index;
        add_to_bucket(acc, (int32_t)index, n);
        acc->n += n;
    }
    return true;
}

void pipe_approx_quantile_drop(struct pipe_approx_quantile *acc)
{
    free(acc->buckets);
    memset(acc, 0, sizeof *acc);
}

/* The value of rank floor(q × (n − 1)), counted from 0 in ascending order. */
bool pipe_approx_quantile_finish(const struct pipe_approx_quantile *acc, double q, double *out,
                                 bool *is_null)
{
    *out = 0;
    if (pipe_aggregate_none(acc->n == 0, is_null))
        return true;
    double wanted = q * (double)(acc->n - 1);
    uint64_t rank = wanted <= 0                      ? 0
                    : wanted >= (double)(acc->n - 1) ? acc->n - 1
                                                     : (uint64_t)wanted;
    uint64_t below = 0;
    uint32_t i = 0;
    while (below + acc->buckets[i].n <= rank)
        below += acc->buckets[i++].n;
    double value = value_of(acc->buckets[i].index);
    if (rank == 0 || value < acc->least)
        value = acc->least;
    if (rank == acc->n - 1 || value > acc->greatest)
        value = acc->greatest;
    *out = value;
    return true;
}
