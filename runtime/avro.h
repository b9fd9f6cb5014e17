/*
 * avro.h: Avro's binary encoding, value by value, for generated decoders and encoders (avro.c holds
 * what is not worth inlining). Decoding is zero-copy: strings point into the input.
 *
 * A decoder is a chain of `pipe_avro_x(r, &row->x) || return pipe_reader_at(r, "x")`; every
 * function checks bounds and ranges and on failure sets r->cause (and r->number) and returns false.
 * No input makes them read outside [at, end), loop, or allocate beyond the arena's limit.
 */
#ifndef PIPE_AVRO_H
#define PIPE_AVRO_H

#include <endian.h>

#include "value.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pipe_reader {
    const uint8_t *at, *end;
    struct pipe_arena *arena;
    const char *field; /* path of the failure, NULL: none yet */
    const char *cause; /* NULL: good */
    int64_t number;    /* the offending number, if has_number */
    bool has_number;
    unsigned depth; /* of nested values now being read */
};

static inline void pipe_reader_init(struct pipe_reader *r, const void *bytes, size_t size_bytes,
                                    struct pipe_arena *arena)
{
    const uint8_t *end = bytes != NULL ? (const uint8_t *)bytes + size_bytes : NULL;
    *r = (struct pipe_reader){(const uint8_t *)bytes, end, arena, NULL, NULL, 0, false, 0};
}

/* All three return false. */
bool pipe_reader_fail(struct pipe_reader *r, const char *cause);
bool pipe_reader_fail_number(struct pipe_reader *r, const char *cause, int64_t number);
static inline bool pipe_reader_at(struct pipe_reader *r,
                                  const char *field) /* keeps the innermost */
{
    if (r->field == NULL)
        r->field = field;
    return false;
}
/* Prefixes the path that is there: at("price") then within("order", i) gives `order[i].price`;
 * index < 0: `order.price`. */
bool pipe_reader_within(struct pipe_reader *r, const char *field, int64_t index);
void pipe_reader_error(const struct pipe_reader *r, struct pipe_error *error);

static inline bool pipe_reader_enter(struct pipe_reader *r)
{
    if (PIPE_UNLIKELY(++r->depth > PIPE_MAX_DEPTH))
        return pipe_reader_fail(r, "nested too deep");
    return true;
}
static inline void pipe_reader_leave(struct pipe_reader *r)
{
    r->depth--;
}
/* At the end of a record: bytes left over are an error. */
static inline bool pipe_reader_done(struct pipe_reader *r)
{
    if (PIPE_UNLIKELY(r->at != r->end))
        return pipe_reader_fail_number(r, "bytes left over behind the record", r->end - r->at);
    return true;
}

/* --- Reading ------------------------------------------------------------------------------------
 */

bool pipe_avro_long_slow(struct pipe_reader *r, int64_t *out);

/* An integer of up to 8 bytes without a loop; false: it may be longer, or the end is too near. */
static inline bool pipe_avro_long_of_word(struct pipe_reader *r, int64_t *out)
{
    uint64_t word;
    ptrdiff_t left = r->end - r->at;
    if (PIPE_LIKELY(left >= 8)) {
        memcpy(&word, r->at, 8);
        word = le64toh(word);
    } else if (left >= 4) { /* two loads that may overlap; what is behind them counts as set */
        uint32_t first, rest;
        memcpy(&first, r->at, 4);
        memcpy(&rest, r->end - 4, 4);
        word =
            le32toh(first) | (uint64_t)le32toh(rest) << 8 * (left - 4) | ~UINT64_C(0) << 8 * left;
    } else {
        return false;
    }
    uint64_t last = ~word & 0x8080808080808080u; /* bits 0x80 of bytes that can be the last one */
    if (PIPE_UNLIKELY(last == 0))
        return false;
    word &= last ^ (last - 1); /* up to the first of them */
    word = (word & 0x007F007F007F007Fu) | (word & 0x7F007F007F007F00u) >> 1;
    word = (word & 0x00003FFF00003FFFu) | (word & 0x3FFF00003FFF0000u) >> 2;
    word = (word & 0x000000000FFFFFFFu) | (word & 0x0FFFFFFF00000000u) >> 4;
    r->at += ((unsigned)__builtin_ctzll(last) + 1) / 8;
    *out = (int64_t)(word >> 1) ^ -(int64_t)(word & 1);
    return true;
}

/* The same value, for what is seldom short. */
static inline bool pipe_avro_long_wide(struct pipe_reader *r, int64_t *out)
{
    return PIPE_LIKELY(pipe_avro_long_of_word(r, out)) || pipe_avro_long_slow(r, out);
}

static inline bool pipe_avro_long(struct pipe_reader *r, int64_t *out)
{
    const uint8_t *at = r->at;
    if (PIPE_LIKELY(r->end - at >= 2)) {
        uint32_t raw = at[0];
        if (raw < 0x80) {
            r->at = at + 1;
        } else if (at[1] < 0x80) {
            raw = (raw & 0x7F) | (uint32_t)at[1] << 7;
            r->at = at + 2;
        } else {
            return pipe_avro_long_slow(r, out);
        }
        *out = (int64_t)(raw >> 1) ^ -(int64_t)(raw & 1);
        return true;
    }
    return pipe_avro_long_slow(r, out);
}

static inline bool pipe_avro_int(struct pipe_reader *r, int32_t *out)
{
    int64_t value;
    if (PIPE_UNLIKELY(!pipe_avro_long(r, &value)))
        return false;
    if (PIPE_UNLIKELY(value != (int32_t)value))
        return pipe_reader_fail_number(r, "out of range for int", value);
    *out = (int32_t)value;
    return true;
}

static inline bool pipe_avro_bool(struct pipe_reader *r, bool *out)
{
    if (PIPE_UNLIKELY(r->at == r->end))
        return pipe_reader_fail(r, "the record ends early");
    if (PIPE_UNLIKELY(*r->at > 1))
        return pipe_reader_fail_number(r, "not a boolean (0 or 1)", *r->at);
    *out = *r->at++ != 0;
    return true;
}

static inline bool pipe_avro_float(struct pipe_reader *r, float *out)
{
    if (PIPE_UNLIKELY(r->end - r->at < 4))
        return pipe_reader_fail(r, "the record ends early");
    memcpy(out, r->at, 4);
    r->at += 4;
    return PIPE_LIKELY(__builtin_isfinite(*out)) || pipe_reader_fail(r, "not a finite number");
}

static inline bool pipe_avro_double(struct pipe_reader *r, double *out)
{
    if (PIPE_UNLIKELY(r->end - r->at < 8))
        return pipe_reader_fail(r, "the record ends early");
    memcpy(out, r->at, 8);
    r->at += 8;
    return PIPE_LIKELY(__builtin_isfinite(*out)) || pipe_reader_fail(r, "not a finite number");
}

static inline bool pipe_avro_bytes(struct pipe_reader *r, struct pipe_str *out)
{
    int64_t size;
    if (PIPE_UNLIKELY(!pipe_avro_long(r, &size)))
        return false;
    if (PIPE_UNLIKELY(size < 0 || size > r->end - r->at))
        return pipe_reader_fail_number(r, size < 0 ? "negative length" : "length beyond the record",
                                       size);
    *out = pipe_str_of(r->at, (size_t)size);
    r->at += size;
    return true;
}

bool pipe_avro_string_slow(struct pipe_reader *r, struct pipe_str *out);

/* Up to 63 bytes of ASCII with something behind them: no branch for each length. */
static inline bool pipe_avro_string(struct pipe_reader *r, struct pipe_str *out)
{
    const uint8_t *at = r->at;
    if (PIPE_LIKELY(r->end - at > PIPE_ASCII_WINDOW && (at[0] & 0x81) == 0)) {
        size_t size = at[0] >> 1;
        if (PIPE_LIKELY(pipe_ascii_few(at + 1, size))) {
            *out = pipe_str_of(at + 1, size);
            r->at = at + 1 + size;
            return true;
        }
    }
    return pipe_avro_string_slow(r, out);
}

static inline bool pipe_avro_fixed(struct pipe_reader *r, size_t size_bytes, struct pipe_str *out)
{
    if (PIPE_UNLIKELY(size_bytes > (size_t)(r->end - r->at)))
        return pipe_reader_fail(r, "the record ends early");
    *out = pipe_str_of(r->at, size_bytes);
    r->at += size_bytes;
    return true;
}

static inline bool pipe_avro_enum(struct pipe_reader *r, uint32_t symbol_count, uint32_t *out)
{
    int64_t value;
    if (PIPE_UNLIKELY(!pipe_avro_long(r, &value)))
        return false;
    if (PIPE_UNLIKELY(value < 0 || value >= symbol_count))
        return pipe_reader_fail_number(r, "enum index out of range", value);
    *out = (uint32_t)value;
    return true;
}

/* Which of two branches; null_first: of ["null", T], else of [T, "null"]. */
static inline bool pipe_avro_nullable(struct pipe_reader *r, bool null_first, bool *is_null)
{
    int64_t branch;
    if (PIPE_UNLIKELY(!pipe_avro_long(r, &branch)))
        return false;
    if (PIPE_UNLIKELY(branch != 0 && branch != 1))
        return pipe_reader_fail_number(r, "union index out of range", branch);
    *is_null = (branch == 0) == null_first;
    return true;
}

/* Instants and dates: the years 0001 to 9999 only. */
static inline bool pipe_avro_date(struct pipe_reader *r, int32_t *out)
{
    return pipe_avro_int(r, out) &&
           (PIPE_LIKELY(pipe_date_ok(*out)) ||
            pipe_reader_fail_number(r, "date outside the years 0001 to 9999", *out));
}
static inline bool pipe_avro_timestamp_ms(struct pipe_reader *r, int64_t *out)
{
    return pipe_avro_long_wide(r, out) &&
           (PIPE_LIKELY(pipe_ts_ms_ok(*out)) ||
            pipe_reader_fail_number(r, "instant outside the years 0001 to 9999", *out));
}
static inline bool pipe_avro_timestamp_us(struct pipe_reader *r, int64_t *out)
{
    return pipe_avro_long_wide(r, out) &&
           (PIPE_LIKELY(pipe_ts_us_ok(*out)) ||
            pipe_reader_fail_number(r, "instant outside the years 0001 to 9999", *out));
}

/* Two's complement, big-endian; longer than 16 bytes only by sign extension. */
bool pipe_avro_decimal_of(struct pipe_reader *r, struct pipe_str bytes, unsigned precision,
                          pipe_decimal *out);
static inline bool pipe_avro_decimal(struct pipe_reader *r, unsigned precision, pipe_decimal *out)
{
    struct pipe_str bytes;
    return pipe_avro_bytes(r, &bytes) && pipe_avro_decimal_of(r, bytes, precision, out);
}
static inline bool pipe_avro_decimal_fixed(struct pipe_reader *r, size_t size_bytes,
                                           unsigned precision, pipe_decimal *out)
{
    struct pipe_str bytes;
    return pipe_avro_fixed(r, size_bytes, &bytes) && pipe_avro_decimal_of(r, bytes, precision, out);
}

bool pipe_avro_uuid_slow(struct pipe_reader *r, struct pipe_str text, struct pipe_str *out);
static inline bool pipe_avro_uuid(struct pipe_reader *r, struct pipe_str *out)
{
    struct pipe_str text;
    if (PIPE_UNLIKELY(!pipe_avro_bytes(r, &text)))
        return false;
    if (PIPE_UNLIKELY(!pipe_uuid_is_lower(text)))
        return pipe_avro_uuid_slow(r, text, out);
    *out = text;
    return true;
}

/* A string that must hold a JSON value (logicalType json). */
bool pipe_avro_json(struct pipe_reader *r, struct pipe_str *out);

/*
 * Arrays and maps come in blocks. Reading one:
 *     struct pipe_items items = {.slot_bytes = sizeof(struct x)};
 *     struct x *x;
 *     while ((x = pipe_avro_item(r, &items)) != NULL)
 *         if (!pipe_avro_long(r, &x->value)) return …;
 *     if (r->cause != NULL) return …;   row->a = (struct pipe_array){items.slots, items.count};
 * Slots are not zeroed. A map's key is read with pipe_avro_map_key, which refuses a key given
 * twice.
 */
struct pipe_items {
    size_t slot_bytes;
    void *slots;
    uint32_t count, capacity;
    int64_t left; /* of the current block */
    bool ended;
    uint32_t *key_slots; /* open-addressed table of the keys of a map */
    uint32_t key_slot_count;
};
void *pipe_avro_item_slow(struct pipe_reader *r, struct pipe_items *items);
static inline void *pipe_avro_item(struct pipe_reader *r, struct pipe_items *items)
{
    if (PIPE_UNLIKELY(items->left == 0 || items->count == items->capacity))
        return pipe_avro_item_slow(r, items);
    items->left--;
    return (char *)items->slots + items->slot_bytes * items->count++;
}
bool pipe_avro_map_key(struct pipe_reader *r, struct pipe_items *items, struct pipe_str *key);

/* --- Skipping: fields that nobody reads. Bounds are checked, UTF-8 is not.
 * ------------------------ */

static inline bool pipe_avro_skip_long(struct pipe_reader *r) /* int, enum too */
{
    int64_t unused;
    return pipe_avro_long(r, &unused);
}
static inline bool pipe_avro_skip_bytes(struct pipe_reader *r) /* string too */
{
    struct pipe_str unused;
    return pipe_avro_bytes(r, &unused);
}
static inline bool pipe_avro_skip_fixed(struct pipe_reader *r,
                                        size_t size_bytes) /* bool 1, float 4, … */
{
    struct pipe_str unused;
    return pipe_avro_fixed(r, size_bytes, &unused);
}
/* The next block of an array or map that is skipped: *count items are to be skipped one by one (a
 * block with a byte size is passed over at once); 0: the end. The sum over the blocks is bounded.
 */
bool pipe_avro_skip_block(struct pipe_reader *r, uint32_t *total, int64_t *count);

/* --- Writing -------------------------------------------------------------------------------------
 */

static inline uint8_t *pipe_varint_put(uint8_t *to, uint64_t raw)
{
    for (; raw >= 0x80; raw >>= 7)
        *to++ = (uint8_t)(raw | 0x80);
    *to++ = (uint8_t)raw;
    return to;
}
static inline uint64_t pipe_zigzag(int64_t value)
{
    return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}
static inline void pipe_avro_put_long(struct pipe_buf *buf,
                                      int64_t value) /* int, enum, date, instants */
{
    uint8_t *to = pipe_buf_reserve(buf, 10);
    buf->size += (size_t)(pipe_varint_put(to, pipe_zigzag(value)) - to);
}
static inline void pipe_avro_put_bool(struct pipe_buf *buf, bool value)
{
    pipe_buf_add_byte(buf, value);
}
static inline void pipe_avro_put_float(struct pipe_buf *buf, float value)
{
    pipe_buf_add(buf, &value, 4);
}
static inline void pipe_avro_put_double(struct pipe_buf *buf, double value)
{
    pipe_buf_add(buf, &value, 8);
}
static inline void pipe_avro_put_bytes(struct pipe_buf *buf,
                                       struct pipe_str value) /* string, uuid */
{
    uint8_t *to = pipe_buf_reserve(buf, value.size + 10);
    uint8_t *at = pipe_varint_put(to, (uint64_t)value.size << 1);
    if (value.size > 0)
        memcpy(at, value.data, value.size);
    buf->size += (size_t)(at - to) + value.size;
}
static inline void pipe_avro_put_fixed(struct pipe_buf *buf, struct pipe_str value)
{
    pipe_buf_add(buf, value.data, value.size);
}
/* The union's branch; the value follows unless it is null. */
static inline void pipe_avro_put_nullable(struct pipe_buf *buf, bool null_first, bool is_null)
{
    pipe_buf_add_byte(buf, is_null == null_first ? 0 : 2);
}
/* fixed_bytes 0: the fewest bytes, with a length. */
void pipe_avro_put_decimal(struct pipe_buf *buf, pipe_decimal value, size_t fixed_bytes);
/* An array or map is one block: count (none if 0), the items (a map: key, value), then the end. */
static inline void pipe_avro_put_count(struct pipe_buf *buf, uint32_t count)
{
    if (count > 0)
        pipe_avro_put_long(buf, count);
}
static inline void pipe_avro_put_end(struct pipe_buf *buf)
{
    pipe_buf_add_byte(buf, 0);
}

#ifdef __cplusplus
}
#endif

#endif
