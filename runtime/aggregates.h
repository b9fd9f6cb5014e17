/*
 * aggregates.h: the accumulators of windows and sessions. A generated accumulator is a struct of
 * these; what runs once a record is inline.
 *
 * Every aggregate X has
 *     init(acc)            all zero bytes are an empty one, so this only clears
 *     update(acc, …)       takes one value in; nulls are skipped by the caller, who does not call
 *     merge(into, from)    `from` stays as it is
 *     save(acc, buf)       canonical: equal contents give equal bytes, however they came together
 *     load(acc, reader)    into an empty one; false: malformed, acc may be dropped
 *     drop(acc)            frees what hangs off it; init before it is used again
 *     finish(acc, …, out, is_null)   false: the total is beyond the column's type, and the row is
 * to be rejected. is_null (NULL where the column is not nullable) is set if there was no value;
 * *out is then zero or empty. Results depend neither on the order of updates nor on how merges are
 * grouped. An accumulator is moved by memcpy: nothing points into it. `plain` ones own no memory;
 * copying their bytes copies them. They hold __int128: 16 byte alignment.
 *
 *     call                     type                          plain
 *     count(), count_if(e)     pipe_count                    yes
 *     sum(int), avg(int)       pipe_sum_int, pipe_avg_int    yes
 *     sum, avg(decimal)        pipe_sum_decimal, pipe_avg_decimal   yes
 *     sum, avg(float)          pipe_sum_float, pipe_avg_float       no
 *     min, max: integers, bool, dates, instants, durations, enums by index
 *                              pipe_min_int, pipe_max_int    yes
 *     min, max: float, decimal pipe_min_float, pipe_max_float, pipe_min_decimal, …   yes
 *     min, max: string, uuid, bytes      pipe_min_bytes, pipe_max_bytes     no
 *     first, last              pipe_first, pipe_last         no
 *     min_by, max_by           pipe_min_by, pipe_max_by      no
 *     count_distinct           pipe_count_distinct           no
 *     approx_count_distinct    pipe_approx_count_distinct    no
 *     approx_quantile          pipe_approx_quantile          no
 */
#ifndef PIPE_AGGREGATES_H
#define PIPE_AGGREGATES_H

#include "value.h"
#include "row.h"

struct pipe_record;

#define PIPE_AGGREGATE_STATE(name)                                                                 \
    void pipe_##name##_save(const struct pipe_##name *acc, struct pipe_buf *out);                  \
    bool pipe_##name##_load(struct pipe_##name *acc, struct pipe_reader *in);                      \
    static inline void pipe_##name##_init(struct pipe_##name *acc)                                 \
    {                                                                                              \
        memset(acc, 0, sizeof *acc);                                                               \
    }

#define PIPE_AGGREGATE_PLAIN(name)                                                                 \
    PIPE_AGGREGATE_STATE(name)                                                                     \
    static inline void pipe_##name##_drop(struct pipe_##name *acc)                                 \
    {                                                                                              \
        (void)acc;                                                                                 \
    }

#define PIPE_AGGREGATE_OWNING(name)                                                                \
    PIPE_AGGREGATE_STATE(name)                                                                     \
    void pipe_##name##_merge(struct pipe_##name *into, const struct pipe_##name *from);            \
    void pipe_##name##_drop(struct pipe_##name *acc);

static inline bool pipe_aggregate_none(bool none, bool *is_null)
{
    if (is_null != NULL)
        *is_null = none;
    return none;
}

/* --- count: count() and count_if(e) call update for the rows that count; count(x) if x is not
 * null. pipe_count_update(&acc->events); pipe_count_finish(&acc->events, &row.events, NULL);
 * ------------------------------------------ */

struct pipe_count {
    uint64_t n;
};
PIPE_AGGREGATE_PLAIN(count)

static inline void pipe_count_update(struct pipe_count *acc)
{
    acc->n++;
}
static inline void pipe_count_merge(struct pipe_count *into, const struct pipe_count *from)
{
    into->n += from->n;
}
static inline bool pipe_count_finish(const struct pipe_count *acc, int64_t *out, bool *is_null)
{
    pipe_aggregate_none(false, is_null);
    *out = (int64_t)acc->n;
    return acc->n <= INT64_MAX;
}

/* --- sum of int32 or int64, exact in 128 bits; the range of int64 is tested at the end.
 *     pipe_sum_int_update(&acc->cents, row->cents);
 *     if (!pipe_sum_int_finish(&acc->cents, &out.cents, &out.cents_null)) reject;
 * ------------------- */

struct pipe_sum_int {
    pipe_decimal total;
    uint64_t n;
};
PIPE_AGGREGATE_PLAIN(sum_int)

static inline void pipe_sum_int_update(struct pipe_sum_int *acc, int64_t value)
{
    acc->total += value;
    acc->n++;
}
static inline void pipe_sum_int_merge(struct pipe_sum_int *into, const struct pipe_sum_int *from)
{
    into->total += from->total;
    into->n += from->n;
}
static inline bool pipe_sum_int_finish(const struct pipe_sum_int *acc, int64_t *out, bool *is_null)
{
    pipe_aggregate_none(acc->n == 0, is_null);
    *out = (int64_t)acc->total;
    return acc->total == *out;
}

/* --- avg of int32 or int64: the exact sum over the count, rounded once.
 *     pipe_avg_int_finish(&acc->price, &out.price, &out.price_null); ------------------------------
 */

struct pipe_avg_int {
    struct pipe_sum_int sum;
};
PIPE_AGGREGATE_PLAIN(avg_int)

static inline void pipe_avg_int_update(struct pipe_avg_int *acc, int64_t value)
{
    pipe_sum_int_update(&acc->sum, value);
}
static inline void pipe_avg_int_merge(struct pipe_avg_int *into, const struct pipe_avg_int *from)
{
    pipe_sum_int_merge(&into->sum, &from->sum);
}
bool pipe_avg_int_finish(const struct pipe_avg_int *acc, double *out, bool *is_null);

/* --- sum of decimals of one scale, exact in 256 bits; 38 digits are tested at the end.
 * -------------- */

struct pipe_sum_decimal {
    struct pipe_sum256 total;
    uint64_t n;
};
PIPE_AGGREGATE_PLAIN(sum_decimal)

static inline void pipe_sum_decimal_update(struct pipe_sum_decimal *acc, pipe_decimal value)
{
    pipe_sum256_add(&acc->total, value);
    acc->n++;
}
static inline void pipe_sum_decimal_merge(struct pipe_sum_decimal *into,
                                          const struct pipe_sum_decimal *from)
{
    pipe_sum256_merge(&into->total, &from->total);
    into->n += from->n;
}
bool pipe_sum_decimal_finish(const struct pipe_sum_decimal *acc, pipe_decimal *out, bool *is_null);

/* --- avg of decimals: pipe_avg_decimal_finish(&acc->price, 2, &out.price, NULL); scale of the
 * input -- */

struct pipe_avg_decimal {
    struct pipe_sum_decimal sum;
};
PIPE_AGGREGATE_PLAIN(avg_decimal)

static inline void pipe_avg_decimal_update(struct pipe_avg_decimal *acc, pipe_decimal value)
{
    pipe_sum_decimal_update(&acc->sum, value);
}
static inline void pipe_avg_decimal_merge(struct pipe_avg_decimal *into,
                                          const struct pipe_avg_decimal *from)
{
    pipe_sum_decimal_merge(&into->sum, &from->sum);
}
bool pipe_avg_decimal_finish(const struct pipe_avg_decimal *acc, unsigned scale, double *out,
                             bool *is_null);

/* --- sum of floats (float32 is widened by the caller), exact and rounded once; -0 is 0.
 * Fixed point of 256 bits with 128 behind the point takes values from 2^-76 up to 2^63 and smaller
 * ones with few digits; the first value beyond that moves the sum into one of 2240 bits that takes
 * every double. Values are finite.
 * ------------------------------------------------------------------------ */

#define PIPE_WIDE_LIMBS 35           /* 64 bits each, two's complement */
#define PIPE_WIDE_LOWEST_BIT (-1088) /* the exponent of bit 0 */
#define PIPE_FIXED_LOWEST_BIT (-128)

struct pipe_sum_float {
    struct pipe_sum256 fixed;
    uint64_t *wide; /* NULL, or PIPE_WIDE_LIMBS; to be added to `fixed` */
    uint64_t n;
};
PIPE_AGGREGATE_OWNING(sum_float)

void pipe_sum_float_update_wide(struct pipe_sum_float *acc, double value);

static inline void pipe_sum_float_update(struct pipe_sum_float *acc, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    int shift = (int)(bits >> 52 & 0x7FF) - 1075 - PIPE_FIXED_LOWEST_BIT;
    acc->n++;
    if (PIPE_UNLIKELY(shift < 0 || shift > 138)) {
        pipe_sum_float_update_wide(acc, value);
        return;
    }
    pipe_u128 mantissa = (bits & ((1ull << 52) - 1)) | 1ull << 52;
    struct pipe_sum256 term = {0, 0};
    if (shift < 128) {
        term.low = mantissa << shift;
        term.high = (pipe_decimal)(shift == 0 ? 0 : mantissa >> (128 - shift));
    } else {
        term.high = (pipe_decimal)(mantissa << (shift - 128));
    }
    if (bits >> 63) {
        term.low = ~term.low + 1;
        term.high = ~term.high + (term.low == 0);
    }
    pipe_sum256_merge(&acc->fixed, &term);
}
bool pipe_sum_float_finish(const struct pipe_sum_float *acc, double *out, bool *is_null);

struct pipe_avg_float {
    struct pipe_sum_float sum;
};
PIPE_AGGREGATE_OWNING(avg_float)

static inline void pipe_avg_float_update(struct pipe_avg_float *acc, double value)
{
    pipe_sum_float_update(&acc->sum, value);
}
bool pipe_avg_float_finish(const struct pipe_avg_float *acc, double *out, bool *is_null);

/* --- min and max of numbers.
 *     pipe_max_int_update(&acc->newest, row->occurred_at);
 *     pipe_max_int_finish(&acc->newest, &newest, &out.newest_null);   (int64_t newest)
 * -------------- */

#define PIPE_EXTREME(name, type, clean, better)                                                    \
    struct pipe_##name {                                                                           \
        type value;                                                                                \
        bool has;                                                                                  \
    };                                                                                             \
    PIPE_AGGREGATE_PLAIN(name)                                                                     \
    static inline void pipe_##name##_update(struct pipe_##name *acc, type value)                   \
    {                                                                                              \
        if (!acc->has || value better acc->value)                                                  \
            acc->value = value clean;                                                              \
        acc->has = true;                                                                           \
    }                                                                                              \
    static inline void pipe_##name##_merge(struct pipe_##name *into,                               \
                                           const struct pipe_##name *from)                         \
    {                                                                                              \
        if (from->has)                                                                             \
            pipe_##name##_update(into, from->value);                                               \
    }                                                                                              \
    static inline bool pipe_##name##_finish(const struct pipe_##name *acc, type *out,              \
                                            bool *is_null)                                         \
    {                                                                                              \
        pipe_aggregate_none(!acc->has, is_null);                                                   \
        *out = acc->value;                                                                         \
        return true;                                                                               \
    }
PIPE_EXTREME(min_int, int64_t, , <)
PIPE_EXTREME(max_int, int64_t, , >)
PIPE_EXTREME(min_float, double, +0.0, <) /* + 0.0 makes 0 of -0 */
PIPE_EXTREME(max_float, double, +0.0, >)
PIPE_EXTREME(min_decimal, pipe_decimal, , <)
PIPE_EXTREME(max_decimal, pipe_decimal, , >)
#undef PIPE_EXTREME

/* --- A few bytes owned by an accumulator: short ones inside, longer ones on the heap
 * ---------------- */

#define PIPE_OWNED_INSIDE 16
struct pipe_owned {
    uint32_t size, capacity; /* capacity 0: the bytes are inside */
    union {
        uint8_t inside[PIPE_OWNED_INSIDE];
        uint8_t *data;
    };
};

static inline struct pipe_str pipe_owned_str(const struct pipe_owned *owned)
{
    return pipe_str_of(owned->capacity == 0 ? owned->inside : owned->data, owned->size);
}
void pipe_owned_set(struct pipe_owned *owned, struct pipe_str bytes);
/* What pipe_owned_set has allocated in this thread since it was last asked. */
extern _Thread_local uint64_t pipe_owned_grown;
static inline uint64_t pipe_owned_take_grown(void)
{
    uint64_t grown = pipe_owned_grown;
    pipe_owned_grown = 0;
    return grown;
}
void pipe_owned_free(struct pipe_owned *owned); /* empty afterwards */

/* --- min and max of string, uuid and bytes, by bytes.
 *     pipe_min_bytes_update(&acc->first_url, row->url);
 *     pipe_min_bytes_finish(&acc->first_url, &out.first_url, NULL);   borrowed from acc
 * ------------- */

struct pipe_min_bytes {
    struct pipe_owned value;
    bool has;
};
PIPE_AGGREGATE_OWNING(min_bytes)
void pipe_min_bytes_update(struct pipe_min_bytes *acc, struct pipe_str value);
bool pipe_min_bytes_finish(const struct pipe_min_bytes *acc, struct pipe_str *out, bool *is_null);

struct pipe_max_bytes {
    struct pipe_owned value;
    bool has;
};
PIPE_AGGREGATE_OWNING(max_bytes)
void pipe_max_bytes_update(struct pipe_max_bytes *acc, struct pipe_str value);
bool pipe_max_bytes_finish(const struct pipe_max_bytes *acc, struct pipe_str *out, bool *is_null);

/* --- first and last by (event time, source, partition, offset); several values of one position
 * (after an unnest, or rows of a window) go by their encoded bytes. Values are encoded by the
 * caller, with the state encoding (pipe_value_save), and decoded after finish. struct pipe_position
 * at = pipe_position_of(record); if (pipe_last_wants(&acc->url, &at)) { encode into task->text;
 *         pipe_last_update(&acc->url, &at, pipe_str_of(task->text.data, task->text.size)); }
 *     pipe_last_finish(&acc->url, &bytes, &out.url_null);   borrowed from acc
 * ------------------------ */

struct pipe_position {
    int64_t event_time;
    int64_t offset;
    uint32_t source;
    int32_t partition;
};
struct pipe_position pipe_position_of(const struct pipe_record *record);

static inline int pipe_position_compare(const struct pipe_position *a,
                                        const struct pipe_position *b)
{
    if (a->event_time != b->event_time)
        return a->event_time < b->event_time ? -1 : 1;
    if (a->source != b->source)
        return a->source < b->source ? -1 : 1;
    if (a->partition != b->partition)
        return a->partition < b->partition ? -1 : 1;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

struct pipe_first {
    struct pipe_position at;
    struct pipe_owned value;
    bool has;
};
PIPE_AGGREGATE_OWNING(first)
static inline bool pipe_first_wants(const struct pipe_first *acc, const struct pipe_position *at)
{
    return !acc->has || pipe_position_compare(at, &acc->at) <= 0;
}
void pipe_first_update(struct pipe_first *acc, const struct pipe_position *at,
                       struct pipe_str value);
bool pipe_first_finish(const struct pipe_first *acc, struct pipe_str *out, bool *is_null);

struct pipe_last {
    struct pipe_position at;
    struct pipe_owned value;
    bool has;
};
PIPE_AGGREGATE_OWNING(last)
static inline bool pipe_last_wants(const struct pipe_last *acc, const struct pipe_position *at)
{
    return !acc->has || pipe_position_compare(at, &acc->at) >= 0;
}
void pipe_last_update(struct pipe_last *acc, const struct pipe_position *at, struct pipe_str value);
bool pipe_last_finish(const struct pipe_last *acc, struct pipe_str *out, bool *is_null);

/* --- min_by(x, k) and max_by(x, k): x where k is least or greatest; of equal k the first position,
 * then the least bytes of x. Rows with a null x or k are skipped. k comes in an encoding whose byte
 * order is the order of the values: pipe_order_* for numbers, the bytes themselves for string, uuid
 * and bytes. uint8_t k[PIPE_ORDER_MAX]; size_t n = pipe_order_int(k, row->price_cents); if
 * (pipe_max_by_wants(&acc->dearest, pipe_str_of(k, n), &at)) { encode x into task->text;
 *         pipe_max_by_update(&acc->dearest, pipe_str_of(k, n), &at, x); }
 *     pipe_max_by_finish(&acc->dearest, &bytes, &out.dearest_null);   borrowed from acc
 * ------------- */

#define PIPE_ORDER_MAX 16
size_t pipe_order_int(uint8_t *to, int64_t value);  /* 8 bytes; also bool, enum, date, … */
size_t pipe_order_float(uint8_t *to, double value); /* 8 bytes; -0 as 0 */
size_t pipe_order_decimal(uint8_t *to, pipe_decimal value); /* 16 bytes; of one scale */

struct pipe_by { /* what min_by and max_by share */
    struct pipe_position at;
    struct pipe_owned key, value;
    bool has;
};
struct pipe_min_by {
    struct pipe_by by;
};
PIPE_AGGREGATE_OWNING(min_by)
bool pipe_min_by_wants(const struct pipe_min_by *acc, struct pipe_str key,
                       const struct pipe_position *at);
void pipe_min_by_update(struct pipe_min_by *acc, struct pipe_str key,
                        const struct pipe_position *at, struct pipe_str value);
bool pipe_min_by_finish(const struct pipe_min_by *acc, struct pipe_str *out, bool *is_null);

struct pipe_max_by {
    struct pipe_by by;
};
PIPE_AGGREGATE_OWNING(max_by)
bool pipe_max_by_wants(const struct pipe_max_by *acc, struct pipe_str key,
                       const struct pipe_position *at);
void pipe_max_by_update(struct pipe_max_by *acc, struct pipe_str key,
                        const struct pipe_position *at, struct pipe_str value);
bool pipe_max_by_finish(const struct pipe_max_by *acc, struct pipe_str *out, bool *is_null);

/* --- count_distinct, exact: a set of the values' encoded bytes. Equal values must have equal
 * bytes: the caller makes 0 of -0. pipe_count_distinct_update(&acc->users, encoded);
 *     pipe_count_distinct_finish(&acc->users, &out.users, NULL);
 * -------------------------------------- */

struct pipe_distinct_set;
struct pipe_count_distinct {
    struct pipe_distinct_set *set; /* NULL: empty */
};
PIPE_AGGREGATE_OWNING(count_distinct)
void pipe_count_distinct_update(struct pipe_count_distinct *acc, struct pipe_str value);
bool pipe_count_distinct_finish(const struct pipe_count_distinct *acc, int64_t *out, bool *is_null);

/* --- approx_count_distinct: HyperLogLog of 2^14 registers over XXH64 of the encoded bytes
 * (standard error 0.8 %), with a sorted list of the set registers while they are few. Usage as
 * count_distinct. -------- */

struct pipe_approx_count_distinct {
    uint32_t *sparse;         /* register << 8 | rank, ascending */
    uint8_t *dense;           /* rank by register; then sparse is NULL */
    uint32_t count, capacity; /* of sparse */
};
PIPE_AGGREGATE_OWNING(approx_count_distinct)
void pipe_approx_count_distinct_update(struct pipe_approx_count_distinct *acc,
                                       struct pipe_str value);
bool pipe_approx_count_distinct_finish(const struct pipe_approx_count_distinct *acc, int64_t *out,
                                       bool *is_null);

/* --- approx_quantile(x, q): DDSketch with a relative error of 1 % for numbers of any sign; least
 * and greatest value are exact. Decimals: pipe_decimal_to_f64 first.
 *     pipe_approx_quantile_update(&acc->p99, (double)row->ms);
 *     pipe_approx_quantile_finish(&acc->p99, 0.99, &out.p99, &out.p99_null);
 * ------------------------- */

struct pipe_quantile_bucket;
struct pipe_approx_quantile {
    struct pipe_quantile_bucket *buckets; /* ascending */
    uint32_t count, capacity;
    uint32_t recent; /* index of the last one hit: values come in clusters */
    uint64_t n;
    double least, greatest;
};
PIPE_AGGREGATE_OWNING(approx_quantile)
void pipe_approx_quantile_update(struct pipe_approx_quantile *acc, double value);
bool pipe_approx_quantile_finish(const struct pipe_approx_quantile *acc, double q, double *out,
                                 bool *is_null);

#undef PIPE_AGGREGATE_STATE
#undef PIPE_AGGREGATE_PLAIN
#undef PIPE_AGGREGATE_OWNING

#endif
