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
void pipe_json_string_slow(struct pipe_buf *buf, struct pipe_str value, size_t clean);

/* Nonzero if one of the 8 bytes must be escaped: below 0x20, `"`, `\`. */
static inline uint64_t pipe_json_escapes_in(uint64_t word)
{
    const uint64_t ones = 0x0101010101010101u, highs = 0x8080808080808080u;
    uint64_t quote = word ^ ones * '"', slash = word ^ ones * '\\';
    uint64_t hits = (word - ones * 0x20) | (quote - ones) | (slash - ones);
    return hits & ~word & highs; /* the borrow may give a false hit above a true one: never alone */
}

/* The same of 16 bytes. */
static inline bool pipe_json_escapes_in_16(const void *at)
{
    typedef uint8_t bytes __attribute__((vector_size(16)));
    typedef uint64_t pair __attribute__((vector_size(16)));
    bytes text;
    memcpy(&text, at, sizeof text);
    pair hits = (pair)((text < 0x20) | (text == '"') | (text == '\\'));
    return (hits[0] | hits[1]) != 0;
}

static inline void pipe_json_string(struct pipe_buf *buf, struct pipe_str value)
{
    uint8_t *to = pipe_buf_reserve(buf, value.size + 2);
    size_t i = 0;
    *to++ = '"';
    if (value.size >= 16) { /* the last part may overlap the one before */
        for (size_t last = value.size - 16;; i = i + 16 < last ? i + 16 : last) {
            if (PIPE_UNLIKELY(pipe_json_escapes_in_16(value.data + i)))
                return pipe_json_string_slow(buf, value, i);
            memcpy(to + i, value.data + i, 16);
            if (i == last)
                break;
        }
    } else if (value.size >= 8) {
        uint64_t first, last;
        memcpy(&first, value.data, 8);
        memcpy(&last, value.data + value.size - 8, 8);
        if (PIPE_UNLIKELY(pipe_json_escapes_in(first) || pipe_json_escapes_in(last)))
            return pipe_json_string_slow(buf, value, 0);
        memcpy(to, &first, 8);
        memcpy(to + value.size - 8, &last, 8);
    } else {
        for (; i < value.size; i++) {
            uint8_t c = (uint8_t)value.data[i];
            if (PIPE_UNLIKELY(c < 0x20 || c == '"' || c == '\\'))
                return pipe_json_string_slow(buf, value, i);
            to[i] = c;
        }
    }
    to[value.size] = '"';
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
