/*
 * json.h: writing JSON lines and CSV, value by value, for generated encoders (json_write.c), and
 * checking JSON text (json_read.c). The format is that of language.md §3: no spaces, nothing
 * escaped but `"`, `\` and control characters (`\u001f`: lower case).
 */
#ifndef PIPE_JSON_H
#define PIPE_JSON_H

#include "value.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Text as it is: punctuation, a name with its colon `,"price":`. */
static inline void pipe_json_raw(struct pipe_buf *buf, const char *text, size_t size_bytes)
{
    memcpy(pipe_buf_reserve(buf, size_bytes), text, size_bytes);
    buf->size += size_bytes;
}
#define PIPE_JSON_RAW(buf, literal) pipe_json_raw((buf), (literal), sizeof(literal) - 1)

static inline void pipe_json_null(struct pipe_buf *buf)
{
    pipe_json_raw(buf, "null", 4);
}
static inline void pipe_json_bool(struct pipe_buf *buf, bool value)
{
    pipe_json_raw(buf, value ? "true" : "false", value ? 4 : 5);
}
static inline void pipe_json_i64(struct pipe_buf *buf, int64_t value) /* int32, duration too */
{
    buf->size += pipe_i64_write((char *)pipe_buf_reserve(buf, PIPE_INT64_TEXT_MAX), value);
}
static inline void pipe_json_f64(struct pipe_buf *buf, double value)
{
    buf->size += pipe_f64_write((char *)pipe_buf_reserve(buf, PIPE_FLOAT_TEXT_MAX), value);
}
static inline void pipe_json_f32(struct pipe_buf *buf, float value)
{
    buf->size += pipe_f32_write((char *)pipe_buf_reserve(buf, PIPE_FLOAT_TEXT_MAX), value);
}
void pipe_json_decimal(struct pipe_buf *buf, pipe_decimal value, unsigned scale); /* in quotes */
void pipe_json_base64(struct pipe_buf *buf, struct pipe_str value);               /* in quotes */
void pipe_json_string_slow(struct pipe_buf *buf, struct pipe_str value);          /* with escapes */

/* Nonzero if one of the 8 bytes must be escaped: below 0x20, `"`, `\`. */
static inline uint64_t pipe_json_escapes_in(uint64_t word)
{
    const uint64_t ones = 0x0101010101010101u, highs = 0x8080808080808080u;
    uint64_t quote = word ^ ones * '"', slash = word ^ ones * '\\';
    uint64_t hits = (word - ones * 0x20) | (quote - ones) | (slash - ones);
    return hits & ~word & highs; /* the borrow may give a false hit above a true one: never alone */
}

/* 16 bytes or more, the last part overlapping the one before; true if any must be escaped. */
static inline bool pipe_json_copy_16(uint8_t *to, struct pipe_str value)
{
    typedef uint8_t bytes __attribute__((vector_size(16)));
    typedef uint64_t pair __attribute__((vector_size(16)));
    bytes text, hits = {0};
    for (size_t i = 0, last = value.size - 16;; i = i + 16 < last ? i + 16 : last) {
        memcpy(&text, value.data + i, sizeof text);
        hits |= (bytes)((text < 0x20) | (text == '"') | (text == '\\'));
        memcpy(to + i, &text, sizeof text);
        if (i == last)
            break;
    }
    return (((pair)hits)[0] | ((pair)hits)[1]) != 0;
}

/* 1 to 15 bytes: from both ends, and of up to three the one in the middle. */
static inline bool pipe_json_copy_short(uint8_t *to, struct pipe_str value)
{
    const char *from = value.data;
    size_t size = value.size;
    uint64_t first, last;
    uint32_t front, back;
    if (size >= 8) {
        memcpy(&first, from, 8);
        memcpy(&last, from + size - 8, 8);
        memcpy(to, &first, 8);
        memcpy(to + size - 8, &last, 8);
        return (pipe_json_escapes_in(first) | pipe_json_escapes_in(last)) != 0;
    }
    if (size >= 4) {
        memcpy(&front, from, 4);
        memcpy(&back, from + size - 4, 4);
        memcpy(to, &front, 4);
        memcpy(to + size - 4, &back, 4);
        return pipe_json_escapes_in((uint64_t)back << 32 | front) != 0;
    }
    to[0] = (uint8_t)from[0];
    to[size / 2] = (uint8_t)from[size / 2];
    to[size - 1] = (uint8_t)from[size - 1];
    first = (uint64_t)to[size / 2] << 16 | (uint64_t)to[size - 1] << 8 | to[0];
    return pipe_json_escapes_in(first | 0x2020202020000000u) != 0;
}

static inline void pipe_json_string(struct pipe_buf *buf, struct pipe_str value)
{
    uint8_t *to = pipe_buf_reserve(buf, value.size + 2);
    bool escapes = value.size >= 16 ? pipe_json_copy_16(to + 1, value)
                                    : value.size > 0 && pipe_json_copy_short(to + 1, value);
    if (PIPE_UNLIKELY(escapes)) {
        pipe_json_string_slow(buf, value);
        return;
    }
    to[0] = to[value.size + 1] = '"';
    buf->size += value.size + 2;
}

/* Text that holds nothing to escape: uuid, a symbol. */
static inline void pipe_json_clean(struct pipe_buf *buf, struct pipe_str value)
{
    uint8_t *to = pipe_buf_reserve(buf, value.size + 2);
    to[0] = '"';
    if (value.size > 0)
        memcpy(to + 1, value.data, value.size);
    to[value.size + 1] = '"';
    buf->size += value.size + 2;
}
static inline void pipe_json_enum(struct pipe_buf *buf, const char *const *symbols, uint32_t index)
{
    const char *symbol = symbols[index];
    pipe_json_clean(buf, pipe_str_of(symbol, strlen(symbol)));
}
static inline void pipe_json_date(struct pipe_buf *buf, int32_t days)
{
    char *to = (char *)pipe_buf_reserve(buf, PIPE_DATE_TEXT + 2);
    to[0] = to[PIPE_DATE_TEXT + 1] = '"';
    pipe_date_write(to + 1, days);
    buf->size += PIPE_DATE_TEXT + 2;
}
static inline void pipe_json_timestamp_ms(struct pipe_buf *buf, int64_t ms)
{
    char *to = (char *)pipe_buf_reserve(buf, PIPE_TS_MS_TEXT + 2);
    to[0] = to[PIPE_TS_MS_TEXT + 1] = '"';
    pipe_ts_ms_write(to + 1, ms);
    buf->size += PIPE_TS_MS_TEXT + 2;
}
static inline void pipe_json_timestamp_us(struct pipe_buf *buf, int64_t us)
{
    char *to = (char *)pipe_buf_reserve(buf, PIPE_TS_US_TEXT + 2);
    to[0] = to[PIPE_TS_US_TEXT + 1] = '"';
    pipe_ts_us_write(to + 1, us);
    buf->size += PIPE_TS_US_TEXT + 2;
}
/* Whether the text is one JSON value (UTF-8 already checked), nested at most PIPE_MAX_DEPTH deep.
 */
bool pipe_json_check(struct pipe_str text);

/* --- CSV: fields without separators; the caller adds ',' and '\n' --------------------------------
 */

void pipe_csv_string(struct pipe_buf *buf,
                     struct pipe_str value); /* "" for empty; quotes if needed */
/* The other kinds are written as in JSON without quotes: */
void pipe_csv_decimal(struct pipe_buf *buf, pipe_decimal value, unsigned scale);
void pipe_csv_date(struct pipe_buf *buf, int32_t days);
void pipe_csv_timestamp_ms(struct pipe_buf *buf, int64_t ms);
void pipe_csv_timestamp_us(struct pipe_buf *buf, int64_t us);

#ifdef __cplusplus
}
#endif

#endif
