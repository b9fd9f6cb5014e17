/*
 * aggregates_state.h: how accumulators, windows and sessions write numbers and bytes into their
 * state. Canonical: one value, one encoding. Readers bounds-check, set reader->cause and return
 * false.
 */
#ifndef PIPE_AGGREGATES_STATE_H
#define PIPE_AGGREGATES_STATE_H

#include "value.h"
#include "row.h"

/* Base 128, least digits first; at most 19 bytes. */
static inline void pipe_state_put_u128(struct pipe_buf *out, pipe_u128 value)
{
    uint8_t *to = pipe_buf_reserve(out, 19), *at = to;
    for (; value > 0x7F; value >>= 7)
        *at++ = (uint8_t)value | 0x80;
    *at++ = (uint8_t)value;
    out->size += (size_t)(at - to);
}

static inline bool pipe_state_get_u128(struct pipe_reader *in, pipe_u128 *out)
{
    pipe_u128 value = 0;
    for (unsigned shift = 0; in->at < in->end; shift += 7) {
        uint8_t byte = *in->at++;
        if (shift > 126 || (shift == 126 && byte > 3) || (byte == 0 && shift > 0))
            break;
        value |= (pipe_u128)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            *out = value;
            return true;
        }
    }
    return pipe_reader_fail(in, "a number of the state is malformed");
}

static inline void pipe_state_put(struct pipe_buf *out, uint64_t value)
{
    uint8_t *to = pipe_buf_reserve(out, 10), *at = to;
    for (; value > 0x7F; value >>= 7)
        *at++ = (uint8_t)value | 0x80;
    *at++ = (uint8_t)value;
    out->size += (size_t)(at - to);
}

static inline bool pipe_state_get(struct pipe_reader *in, uint64_t *out)
{
    pipe_u128 value = 0;
    if (!pipe_state_get_u128(in, &value))
        return false;
    if (value > UINT64_MAX)
        return pipe_reader_fail(in, "a number of the state is malformed");
    *out = (uint64_t)value;
    return true;
}

static inline bool pipe_state_get_u32(struct pipe_reader *in, uint32_t *out)
{
    uint64_t value = 0;
    if (!pipe_state_get(in, &value))
        return false;
    if (value > UINT32_MAX)
        return pipe_reader_fail(in, "a number of the state is malformed");
    *out = (uint32_t)value;
    return true;
}

static inline bool pipe_state_get_bool(struct pipe_reader *in, bool *out)
{
    if (in->at == in->end || *in->at > 1)
        return pipe_reader_fail(in, "a flag of the state is malformed");
    *out = *in->at++ != 0;
    return true;
}

static inline void pipe_state_put_signed(struct pipe_buf *out, int64_t value)
{
    pipe_state_put(out, ((uint64_t)value << 1) ^ (uint64_t)(value >> 63));
}

static inline bool pipe_state_get_signed(struct pipe_reader *in, int64_t *out)
{
    uint64_t raw = 0;
    if (!pipe_state_get(in, &raw))
        return false;
    *out = (int64_t)(raw >> 1) ^ -(int64_t)(raw & 1);
    return true;
}

static inline void pipe_state_put_i128(struct pipe_buf *out, pipe_decimal value)
{
    pipe_state_put_u128(out, ((pipe_u128)value << 1) ^ (pipe_u128)(value >> 127));
}

static inline bool pipe_state_get_i128(struct pipe_reader *in, pipe_decimal *out)
{
    pipe_u128 raw = 0;
    if (!pipe_state_get_u128(in, &raw))
        return false;
    *out = (pipe_decimal)(raw >> 1) ^ -(pipe_decimal)(raw & 1);
    return true;
}

static inline void pipe_state_put_double(struct pipe_buf *out, double value)
{
    pipe_buf_add(out, &value, sizeof value);
}

static inline bool pipe_state_get_double(struct pipe_reader *in, double *out)
{
    if (in->end - in->at < (ptrdiff_t)sizeof *out)
        return pipe_reader_fail(in, "the state ends early");
    memcpy(out, in->at, sizeof *out);
    in->at += sizeof *out;
    return __builtin_isfinite(*out) || pipe_reader_fail(in, "not a finite number");
}

static inline void pipe_state_put_bytes(struct pipe_buf *out, struct pipe_str bytes)
{
    pipe_state_put(out, bytes.size);
    pipe_buf_add(out, bytes.data, bytes.size);
}

/* Points into the input. */
static inline bool pipe_state_get_bytes(struct pipe_reader *in, struct pipe_str *out)
{
    uint64_t size = 0;
    if (!pipe_state_get(in, &size))
        return false;
    if (size > (uint64_t)(in->end - in->at))
        return pipe_reader_fail(in, "the state ends early");
    *out = pipe_str_of(in->at, (size_t)size);
    in->at += size;
    return true;
}

/* Big-endian with the sign flipped: keys of the store then sort by time. */
static inline void pipe_state_time_key(uint8_t to[8], int64_t time)
{
    uint64_t raw = __builtin_bswap64((uint64_t)time ^ 1ull << 63);
    memcpy(to, &raw, 8);
}

static inline int64_t pipe_state_time_of_key(const uint8_t from[8])
{
    uint64_t raw = 0;
    memcpy(&raw, from, 8);
    return (int64_t)(__builtin_bswap64(raw) ^ 1ull << 63);
}

#endif
