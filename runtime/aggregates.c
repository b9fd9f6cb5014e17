/*
 * aggregates.c: accumulators that are plain, or own a few bytes: counts, sums, extremes, first,
 * last.
 */
#include <stdlib.h>

#include "pipe.h"
#include "aggregates_state.h"

/* --- Counts and sums ----------------------------------------------------------------------------
 */

void pipe_count_save(const struct pipe_count *acc, struct pipe_buf *out)
{
    pipe_state_put(out, acc->n);
}

bool pipe_count_load(struct pipe_count *acc, struct pipe_reader *in)
{
    return pipe_state_get(in, &acc->n);
}

void pipe_sum_int_save(const struct pipe_sum_int *acc, struct pipe_buf *out)
{
    pipe_state_put(out, acc->n);
    pipe_state_put_i128(out, acc->total);
}

bool pipe_sum_int_load(struct pipe_sum_int *acc, struct pipe_reader *in)
{
    return pipe_state_get(in, &acc->n) && pipe_state_get_i128(in, &acc->total);
}

void pipe_avg_int_save(const struct pipe_avg_int *acc, struct pipe_buf *out)
{
    pipe_sum_int_save(&acc->sum, out);
}

bool pipe_avg_int_load(struct pipe_avg_int *acc, struct pipe_reader *in)
{
    return pipe_sum_int_load(&acc->sum, in);
}

bool pipe_avg_int_finish(const struct pipe_avg_int *acc, double *out, bool *is_null)
{
    *out = 0;
    if (pipe_aggregate_none(acc->sum.n == 0, is_null))
        return true;
    struct pipe_sum256 total = {(pipe_u128)acc->sum.total, acc->sum.total < 0 ? -1 : 0};
    *out = pipe_sum256_average(&total, acc->sum.n, 0);
    return true;
}

void pipe_sum_decimal_save(const struct pipe_sum_decimal *acc, struct pipe_buf *out)
{
    pipe_state_put(out, acc->n);
    pipe_state_put_u128(out, acc->total.low);
    pipe_state_put_i128(out, acc->total.high);
}

bool pipe_sum_decimal_load(struct pipe_sum_decimal *acc, struct pipe_reader *in)
{
    return pipe_state_get(in, &acc->n) && pipe_state_get_u128(in, &acc->total.low) &&
           pipe_state_get_i128(in, &acc->total.high);
}

bool pipe_sum_decimal_finish(const struct pipe_sum_decimal *acc, pipe_decimal *out, bool *is_null)
{
    pipe_aggregate_none(acc->n == 0, is_null);
    *out = 0;
    return pipe_sum256_to_decimal(&acc->total, PIPE_DECIMAL_DIGITS, out);
}

void pipe_avg_decimal_save(const struct pipe_avg_decimal *acc, struct pipe_buf *out)
{
    pipe_sum_decimal_save(&acc->sum, out);
}

bool pipe_avg_decimal_load(struct pipe_avg_decimal *acc, struct pipe_reader *in)
{
    return pipe_sum_decimal_load(&acc->sum, in);
}

bool pipe_avg_decimal_finish(const struct pipe_avg_decimal *acc, unsigned scale, double *out,
                             bool *is_null)
{
    *out = 0;
    if (pipe_aggregate_none(acc->sum.n == 0, is_null))
        return true;
    *out = pipe_sum256_average(&acc->sum.total, acc->sum.n, scale);
    return true;
}

/* --- Extremes of numbers ------------------------------------------------------------------------
 */

#define EXTREME_STATE(name, suffix)                                                                \
    void pipe_##name##_save(const struct pipe_##name *acc, struct pipe_buf *out)                   \
    {                                                                                              \
        pipe_buf_add_byte(out, acc->has);                                                          \
        if (acc->has)                                                                              \
            pipe_state_put_##suffix(out, acc->value);                                              \
    }                                                                                              \
    bool pipe_##name##_load(struct pipe_##name *acc, struct pipe_reader *in)                       \
    {                                                                                              \
        return pipe_state_get_bool(in, &acc->has) &&                                               \
               (!acc->has || pipe_state_get_##suffix(in, &acc->value));                            \
    }
EXTREME_STATE(min_int, signed)
EXTREME_STATE(max_int, signed)
EXTREME_STATE(min_float, double)
EXTREME_STATE(max_float, double)
EXTREME_STATE(min_decimal, i128)
EXTREME_STATE(max_decimal, i128)

/* --- Owned bytes --------------------------------------------------------------------------------
 */

_Thread_local uint64_t pipe_owned_grown;

void pipe_owned_set(struct pipe_owned *owned, struct pipe_str bytes)
{
    uint32_t before = owned->capacity;
    if (bytes.size > UINT32_MAX / 2)
        pipe_out_of_memory();
    if (owned->capacity == 0 && bytes.size > PIPE_OWNED_INSIDE) {
        owned->capacity = (uint32_t)bytes.size;
        owned->data = pipe_malloc(owned->capacity);
    } else if (owned->capacity != 0 && bytes.size > owned->capacity) {
        owned->capacity = (uint32_t)bytes.size + (uint32_t)bytes.size / 4;
        owned->data = pipe_realloc(owned->data, owned->capacity);
    }
    pipe_owned_grown += owned->capacity - before;
    owned->size = (uint32_t)bytes.size;
    if (bytes.size > 0)
        memcpy(owned->capacity == 0 ? owned->inside : owned->data, bytes.data, bytes.size);
}

void pipe_owned_free(struct pipe_owned *owned)
{
    if (owned->capacity != 0)
        free(owned->data);
    memset(owned, 0, sizeof *owned);
}

static bool load_owned(struct pipe_owned *owned, struct pipe_reader *in)
{
    struct pipe_str bytes;
    if (!pipe_state_get_bytes(in, &bytes))
        return false;
    pipe_owned_set(owned, bytes);
    return true;
}

static bool finish_owned(bool has, const struct pipe_owned *owned, struct pipe_str *out,
                         bool *is_null)
{
    pipe_aggregate_none(!has, is_null);
    *out = pipe_owned_str(owned);
    return true;
}

/* --- Extremes of bytes --------------------------------------------------------------------------
 */

#define EXTREME_BYTES(name, better)                                                                \
    void pipe_##name##_update(struct pipe_##name *acc, struct pipe_str value)                      \
    {                                                                                              \
        if (!acc->has || pipe_str_compare(value, pipe_owned_str(&acc->value)) better 0)            \
            pipe_owned_set(&acc->value, value);                                                    \
        acc->has = true;                                                                           \
    }                                                                                              \
    void pipe_##name##_merge(struct pipe_##name *into, const struct pipe_##name *from)             \
    {                                                                                              \
        if (from->has)                                                                             \
            pipe_##name##_update(into, pipe_owned_str(&from->value));                              \
    }                                                                                              \
    void pipe_##name##_save(const struct pipe_##name *acc, struct pipe_buf *out)                   \
    {                                                                                              \
        pipe_buf_add_byte(out, acc->has);                                                          \
        if (acc->has)                                                                              \
            pipe_state_put_bytes(out, pipe_owned_str(&acc->value));                                \
    }                                                                                              \
    bool pipe_##name##_load(struct pipe_##name *acc, struct pipe_reader *in)                       \
    {                                                                                              \
        return pipe_state_get_bool(in, &acc->has) && (!acc->has || load_owned(&acc->value, in));   \
    }                                                                                              \
    void pipe_##name##_drop(struct pipe_##name *acc)                                               \
    {                                                                                              \
        pipe_owned_free(&acc->value);                                                              \
    }                                                                                              \
    bool pipe_##name##_finish(const struct pipe_##name *acc, struct pipe_str *out, bool *is_null)  \
    {                                                                                              \
        return finish_owned(acc->has, &acc->value, out, is_null);                                  \
    }
EXTREME_BYTES(min_bytes, <)
EXTREME_BYTES(max_bytes, >)

/* --- First and last -----------------------------------------------------------------------------
 */

struct pipe_position pipe_position_of(const struct pipe_record *record)
{
    struct pipe_position at = {.event_time = record->event_time};
    if (record->has_position) {
        at.source = record->source;
        at.partition = record->partition;
        at.offset = record->offset;
    }
    return at;
}

static void put_position(struct pipe_buf *out, const struct pipe_position *at)
{
    pipe_state_put_signed(out, at->event_time);
    pipe_state_put(out, at->source);
    pipe_state_put_signed(out, at->partition);
    pipe_state_put_signed(out, at->offset);
}

static bool get_position(struct pipe_reader *in, struct pipe_position *at)
{
    int64_t partition;
    if (!pipe_state_get_signed(in, &at->event_time) || !pipe_state_get_u32(in, &at->source) ||
        !pipe_state_get_signed(in, &partition) || !pipe_state_get_signed(in, &at->offset))
        return false;
    if (partition != (int32_t)partition)
        return pipe_reader_fail_number(in, "no partition", partition);
    at->partition = (int32_t)partition;
    return true;
}

#define POSITIONED(name, better)                                                                   \
    void pipe_##name##_update(struct pipe_##name *acc, const struct pipe_position *at,             \
                              struct pipe_str value)                                               \
    {                                                                                              \
        int order = acc->has ? pipe_position_compare(at, &acc->at) : 0;                            \
        if (acc->has && order == 0)                                                                \
            order = pipe_str_compare(value, pipe_owned_str(&acc->value));                          \
        if (acc->has && !(order better 0))                                                         \
            return;                                                                                \
        acc->has = true;                                                                           \
        acc->at = *at;                                                                             \
        pipe_owned_set(&acc->value, value);                                                        \
    }                                                                                              \
    void pipe_##name##_merge(struct pipe_##name *into, const struct pipe_##name *from)             \
    {                                                                                              \
        if (from->has && pipe_##name##_wants(into, &from->at))                                     \
            pipe_##name##_update(into, &from->at, pipe_owned_str(&from->value));                   \
    }                                                                                              \
    void pipe_##name##_save(const struct pipe_##name *acc, struct pipe_buf *out)                   \
    {                                                                                              \
        pipe_buf_add_byte(out, acc->has);                                                          \
        if (acc->has) {                                                                            \
            put_position(out, &acc->at);                                                           \
            pipe_state_put_bytes(out, pipe_owned_str(&acc->value));                                \
        }                                                                                          \
    }                                                                                              \
    bool pipe_##name##_load(struct pipe_##name *acc, struct pipe_reader *in)                       \
    {                                                                                              \
        return pipe_state_get_bool(in, &acc->has) &&                                               \
               (!acc->has || (get_position(in, &acc->at) && load_owned(&acc->value, in)));         \
    }                                                                                              \
    void pipe_##name##_drop(struct pipe_##name *acc)                                               \
    {                                                                                              \
        pipe_owned_free(&acc->value);                                                              \
    }                                                                                              \
    bool pipe_##name##_finish(const struct pipe_##name *acc, struct pipe_str *out, bool *is_null)  \
    {                                                                                              \
        return finish_owned(acc->has, &acc->value, out, is_null);                                  \
    }
POSITIONED(first, <)
POSITIONED(last, >)

/* --- min_by and max_by --------------------------------------------------------------------------
 */

size_t pipe_order_int(uint8_t *to, int64_t value)
{
    pipe_state_time_key(to, value);
    return 8;
}

size_t pipe_order_float(uint8_t *to, double value)
{
    uint64_t bits;
    value += 0.0;
    memcpy(&bits, &value, sizeof bits);
    bits = __builtin_bswap64(bits >> 63 ? ~bits : bits | 1ull << 63);
    memcpy(to, &bits, sizeof bits);
    return 8;
}

size_t pipe_order_decimal(uint8_t *to, pipe_decimal value)
{
    uint64_t low = __builtin_bswap64((uint64_t)value);
    pipe_state_time_key(to, (int64_t)(value >> 64));
    memcpy(to + 8, &low, 8);
    return 16;
}

/* `sign` 1: the least key, -1: the greatest. Whether (key, at) may replace what is there. */
static int by_order(const struct pipe_by *by, int sign, struct pipe_str key,
                    const struct pipe_position *at)
{
    if (!by->has)
        return -1;
    int order = sign * pipe_str_compare(key, pipe_owned_str(&by->key));
    return order != 0 ? order : pipe_position_compare(at, &by->at);
}

static void by_update(struct pipe_by *by, int sign, struct pipe_str key,
                      const struct pipe_position *at, struct pipe_str value)
{
    int order = by_order(by, sign, key, at);
    if (order == 0)
        order = pipe_str_compare(value, pipe_owned_str(&by->value));
    if (order >= 0)
        return;
    by->has = true;
    by->at = *at;
    pipe_owned_set(&by->key, key);
    pipe_owned_set(&by->value, value);
}

static void by_save(const struct pipe_by *by, struct pipe_buf *out)
{
    pipe_buf_add_byte(out, by->has);
    if (!by->has)
        return;
    put_position(out, &by->at);
    pipe_state_put_bytes(out, pipe_owned_str(&by->key));
    pipe_state_put_bytes(out, pipe_owned_str(&by->value));
}

static bool by_load(struct pipe_by *by, struct pipe_reader *in)
{
    return pipe_state_get_bool(in, &by->has) &&
           (!by->has ||
            (get_position(in, &by->at) && load_owned(&by->key, in) && load_owned(&by->value, in)));
}

static void by_drop(struct pipe_by *by)
{
    pipe_owned_free(&by->key);
    pipe_owned_free(&by->value);
}

#define BY(name, sign)                                                                             \
    bool pipe_##name##_wants(const struct pipe_##name *acc, struct pipe_str key,                   \
                             const struct pipe_position *at)                                       \
    {                                                                                              \
        return by_order(&acc->by, sign, key, at) <= 0;                                             \
    }                                                                                              \
    void pipe_##name##_update(struct pipe_##name *acc, struct pipe_str key,                        \
                              const struct pipe_position *at, struct pipe_str value)               \
    {                                                                                              \
        by_update(&acc->by, sign, key, at, value);                                                 \
    }                                                                                              \
    void pipe_##name##_merge(struct pipe_##name *into, const struct pipe_##name *from)             \
    {                                                                                              \
        if (from->by.has)                                                                          \
            by_update(&into->by, sign, pipe_owned_str(&from->by.key), &from->by.at,                \
                      pipe_owned_str(&from->by.value));                                            \
    }                                                                                              \
    void pipe_##name##_save(const struct pipe_##name *acc, struct pipe_buf *out)                   \
    {                                                                                              \
        by_save(&acc->by, out);                                                                    \
    }                                                                                              \
    bool pipe_##name##_load(struct pipe_##name *acc, struct pipe_reader *in)                       \
    {                                                                                              \
        return by_load(&acc->by, in);                                                              \
    }                                                                                              \
    void pipe_##name##_drop(struct pipe_##name *acc)                                               \
    {                                                                                              \
        by_drop(&acc->by);                                                                         \
    }                                                                                              \
    bool pipe_##name##_finish(const struct pipe_##name *acc, struct pipe_str *out, bool *is_null)  \
    {                                                                                              \
        return finish_owned(acc->by.has, &acc->by.value, out, is_null);                            \
    }
BY(min_by, 1)
BY(max_by, -1)
