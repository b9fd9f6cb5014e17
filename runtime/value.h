/*
 * value.h: the values of pipelines in C, with no notion of tasks or streams: text, memory, checked
 * arithmetic, decimals, instants. Generated code and the runtime include it; what runs once a value
 * is inline.
 *
 * Ownership: a `struct pipe_str` never owns its bytes; they live in the record that was read, in a
 * literal, or in a `struct pipe_arena` until that is reset. A `struct pipe_buf` owns its memory.
 * Errors: a function that can fail returns bool, false = failed, and leaves *out alone then.
 * Threads: no shared mutable state; any object is used by one thread at a time.
 */
#ifndef PIPE_VALUE_H
#define PIPE_VALUE_H

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "bytes.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PIPE_LIKELY(x) __builtin_expect(!!(x), 1)
#define PIPE_UNLIKELY(x) __builtin_expect(!!(x), 0)
/* A function that does nothing but prefetch: gcc takes it for one without any effect and drops
 * calls of it, unless they are inlined before it looks. */
#define PIPE_FETCHES static inline __attribute__((always_inline)) void
#define PIPE_PRINTF(format_at, args_at) __attribute__((format(printf, format_at, args_at)))

/* ------------------------------------------------------------------------------------------------
 * Memory (buffer.c)
 * --------------------------------------------------------------------------------------------- */

/* Prints one line and leaves with exit code 4. State is only a cache of the log: nothing is lost.
 */
void pipe_out_of_memory(void) __attribute__((noreturn));

void *pipe_malloc(size_t size_bytes); /* these three never return NULL (except for size 0) */
void *pipe_calloc(size_t count, size_t size_bytes);
void *pipe_realloc(void *memory, size_t size_bytes);

/* Bytes that grow. All zero is empty; free with pipe_buf_free. */
struct pipe_buf {
    uint8_t *data;
    size_t size, capacity;
};

void pipe_buf_grow(struct pipe_buf *buf, size_t more_bytes); /* slow path of reserve */
void pipe_buf_free(struct pipe_buf *buf);                    /* empty afterwards, usable again */
void pipe_buf_printf(struct pipe_buf *buf, const char *format, ...) PIPE_PRINTF(2, 3);
void pipe_buf_vprintf(struct pipe_buf *buf, const char *format, va_list args) PIPE_PRINTF(2, 0);

/* Room for more_bytes behind what is there; returns where to write them (then add to buf->size). */
static inline uint8_t *pipe_buf_reserve(struct pipe_buf *buf, size_t more_bytes)
{
    if (PIPE_UNLIKELY(buf->capacity - buf->size <= more_bytes))
        pipe_buf_grow(buf, more_bytes);
    return buf->data + buf->size;
}

static inline void pipe_buf_add(struct pipe_buf *buf, const void *bytes, size_t size_bytes)
{
    if (size_bytes == 0)
        return;
    memcpy(pipe_buf_reserve(buf, size_bytes), bytes, size_bytes);
    buf->size += size_bytes;
}

static inline void pipe_buf_add_byte(struct pipe_buf *buf, uint8_t byte)
{
    *pipe_buf_reserve(buf, 1) = byte;
    buf->size++;
}

/*
 * A bump allocator, reset per record or batch; pointers stay valid until the reset, chunks are kept
 * and used again. Alignment is 16 bytes. `limit_bytes` bounds what one reset period may hand out:
 *   pipe_arena_alloc  returns NULL beyond it, and sets `overflow`: decoders refuse the record then;
 *   pipe_arena_more   is for what is bounded otherwise, as what expressions make of a record: the
 *                     program says how often how much. It never returns NULL.
 */
struct pipe_arena_chunk;
struct pipe_arena {
    uint8_t *at, *end;               /* free part of the current chunk */
    uint8_t *begin;                  /* of the current chunk */
    struct pipe_arena_chunk *chunk;  /* current */
    struct pipe_arena_chunk *chunks; /* all, in order of use */
    size_t closed_bytes;             /* handed out from chunks before the current one */
    size_t limit_bytes;
    bool overflow;
};
struct pipe_arena_mark {
    struct pipe_arena_chunk *chunk;
    uint8_t *at;
    size_t closed_bytes;
};

void pipe_arena_init(struct pipe_arena *arena, size_t limit_bytes);
void pipe_arena_free(struct pipe_arena *arena);
void pipe_arena_reset_slow(struct pipe_arena *arena);
struct pipe_arena_mark pipe_arena_mark(const struct pipe_arena *arena);
void pipe_arena_back_to(struct pipe_arena *arena, struct pipe_arena_mark mark);
void *pipe_arena_slow(struct pipe_arena *arena, size_t size_bytes);
void *pipe_arena_more_slow(struct pipe_arena *arena, size_t size_bytes);

/* Nothing was handed out since the last reset. */
static inline bool pipe_arena_is_fresh(const struct pipe_arena *arena)
{
    return arena->at == arena->begin && arena->chunk == arena->chunks && !arena->overflow;
}

/* overflow becomes false; big chunks are freed */
static inline void pipe_arena_reset(struct pipe_arena *arena)
{
    if (PIPE_UNLIKELY(!pipe_arena_is_fresh(arena)))
        pipe_arena_reset_slow(arena);
}

/* Not zeroed. NULL beyond the limit, and `overflow` is set; never NULL otherwise, also for 0 bytes.
 */
static inline void *pipe_arena_alloc(struct pipe_arena *arena, size_t size_bytes)
{
    size_t rounded = (size_bytes + 15 + (size_bytes == 0)) & ~(size_t)15;
    if (PIPE_UNLIKELY(rounded < size_bytes || rounded > (size_t)(arena->end - arena->at)))
        return pipe_arena_slow(arena, size_bytes);
    void *memory = arena->at;
    arena->at += rounded;
    return memory;
}

/* Not zeroed, also beyond the limit; size_bytes < SIZE_MAX / 2. */
static inline void *pipe_arena_more(struct pipe_arena *arena, size_t size_bytes)
{
    size_t rounded = (size_bytes + 15 + (size_bytes == 0)) & ~(size_t)15;
    if (PIPE_UNLIKELY(rounded > (size_t)(arena->end - arena->at)))
        return pipe_arena_more_slow(arena, size_bytes);
    void *memory = arena->at;
    arena->at += rounded;
    return memory;
}

static inline void *pipe_arena_zalloc(struct pipe_arena *arena, size_t size_bytes)
{
    void *memory = pipe_arena_alloc(arena, size_bytes);
    return memory != NULL ? memset(memory, 0, size_bytes) : NULL;
}

/* ------------------------------------------------------------------------------------------------
 * Bounds of a record
 * --------------------------------------------------------------------------------------------- */

#define PIPE_MAX_DEPTH 64            /* of nested values */
#define PIPE_MAX_ELEMENTS (1u << 20) /* of one array or map */

/* ------------------------------------------------------------------------------------------------
 * Errors about a value
 * --------------------------------------------------------------------------------------------- */

/* Where and why a record was refused; both texts NUL-terminated, valid UTF-8, clipped to fit. */
struct pipe_error {
    char field[128];  /* path: `after.items[3].price`; "" when it is about the whole record */
    char detail[256]; /* cause with the value as found, clipped and escaped */
};

/* Fills the error (NULL is allowed) and returns false. */
bool pipe_fail(struct pipe_error *error, const char *field, const char *detail_format, ...)
    PIPE_PRINTF(3, 4);
/* `bytes` in quotes for messages: at most 60 bytes, controls, quotes and bad UTF-8 escaped. */
struct pipe_quoted {
    char text[256];
};
struct pipe_quoted pipe_quote(const void *bytes, size_t size_bytes);

/* ------------------------------------------------------------------------------------------------
 * Text (text.c). Strings are UTF-8 that was checked when it was read.
 * --------------------------------------------------------------------------------------------- */

/* string, uuid (36 lower-case characters), bytes. data may be NULL only if size is 0. */
struct pipe_str {
    const char *data;
    size_t size;
};

#define PIPE_STR(literal) ((struct pipe_str){(literal), sizeof(literal) - 1})

static inline struct pipe_str pipe_str_of(const void *data, size_t size_bytes)
{
    struct pipe_str str = {(const char *)data, size_bytes};
    return str;
}

static inline bool pipe_str_equal(struct pipe_str a, struct pipe_str b)
{
    return a.size == b.size && pipe_bytes_equal(a.data, b.data, a.size);
}

/* < 0, 0, > 0 by bytes, which for UTF-8 is the order of code points. */
static inline int pipe_str_compare(struct pipe_str a, struct pipe_str b)
{
    size_t common = a.size < b.size ? a.size : b.size;
    int order = common == 0 ? 0 : memcmp(a.data, b.data, common);
    return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

char *pipe_str_dup(struct pipe_str str); /* NUL-terminated, from malloc */
char *pipe_text_dup(const char *text);   /* the same of a C string; NULL: NULL */
/* Why something is refused, into the caller's `error`, clipped, as pipe_text_show leaves it; always
 * false. errno stays. */
bool pipe_refuse(char *error, size_t error_bytes, const char *format, ...) PIPE_PRINTF(3, 4);
/* A copy in the arena; false beyond its limit. */
bool pipe_str_copy(struct pipe_arena *arena, struct pipe_str str, struct pipe_str *out);

bool pipe_utf8_check_slow(const uint8_t *at, const uint8_t *end);

/* The bits 0x80 of `size` bytes at `at`, from 2 to 16 of them: two loads that may overlap. */
static inline uint64_t pipe_high_bits_of_few(const uint8_t *at, size_t size)
{
    uint64_t first = 0, last = 0;
    if (size >= 8) {
        memcpy(&first, at, 8);
        memcpy(&last, at + size - 8, 8);
    } else if (size >= 4) {
        memcpy(&first, at, 4);
        memcpy(&last, at + size - 4, 4);
    } else {
        memcpy(&first, at, 2);
        memcpy(&last, at + size - 2, 2);
    }
    return (first | last) & 0x8080808080808080u;
}

#define PIPE_ASCII_WINDOW 64

#ifdef __SSE2__
/* Bit i is bit 0x80 of byte i. */
static inline uint64_t pipe_high_bits_of_16(const uint8_t *at)
{
    typedef char bytes __attribute__((vector_size(16)));
    bytes part;
    memcpy(&part, at, sizeof part);
    return (unsigned)__builtin_ia32_pmovmskb128(part);
}
#endif

/* Whether the first `size` < PIPE_ASCII_WINDOW bytes at `at` are ASCII, where all of
 * PIPE_ASCII_WINDOW bytes may be read. */
static inline bool pipe_ascii_few(const uint8_t *at, size_t size)
{
#ifdef __SSE2__
    uint64_t high = pipe_high_bits_of_16(at);
    if (size > 16)
        high |= pipe_high_bits_of_16(at + 16) << 16 | pipe_high_bits_of_16(at + 32) << 32 |
                pipe_high_bits_of_16(at + 48) << 48;
    return (high & ((UINT64_C(1) << size) - 1)) == 0;
#else
    uint64_t word, high = 0;
    size_t i = 0;
    for (; i + 8 <= size; i += 8) {
        memcpy(&word, at + i, 8);
        high |= word;
    }
    memcpy(&word, at + i, 8);
    high |= word & ((UINT64_C(1) << 8 * (size & 7)) - 1);
    return (high & 0x8080808080808080u) == 0;
#endif
}

/* Well-formed UTF-8: no overlong forms, no surrogates, nothing beyond U+10FFFF. ASCII is the fast
 * case. */
static inline bool pipe_utf8_check(const void *data, size_t size_bytes)
{
    typedef uint64_t pair __attribute__((vector_size(16)));
    const uint8_t *at = (const uint8_t *)data, *end = at + size_bytes;
    uint64_t high = 0;
    if (size_bytes > 16) {
        pair all = {0, 0}, next;
        for (const uint8_t *from = at; from < end - 16; from += 16) {
            memcpy(&next, from, 16);
            all |= next;
        }
        memcpy(&next, end - 16, 16);
        all |= next;
        high = (all[0] | all[1]) & 0x8080808080808080u;
    } else if (size_bytes > 1) {
        high = pipe_high_bits_of_few(at, size_bytes);
    } else if (size_bytes == 1) {
        high = *at & 0x80;
    }
    return PIPE_LIKELY(high == 0) || pipe_utf8_check_slow(at, end);
}

/* Bytes of the character that starts at `at` in checked UTF-8 (1 to 4), clipped to end. */
static inline size_t pipe_utf8_step(const char *at, const char *end)
{
    uint8_t lead = (uint8_t)*at;
    size_t size = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    size_t left = (size_t)(end - at);
    return size < left ? size : left;
}
size_t pipe_utf8_put(char *to, uint32_t code_point); /* writes 1 to 4 bytes */
/* Takes back a character that the clipping of a text to `size` bytes has cut in two. */
void pipe_utf8_trim(char *text, size_t size);
/* The name of a file or another text of the surroundings, which may be any bytes, as text: bytes
 * that are no UTF-8 as \xff, as pipe_quote writes them, and then a backslash as two; text stays as
 * it is. Ends before a character that does not fit. */
void pipe_utf8_escape(char *to, size_t to_bytes, const char *text);
char *pipe_utf8_escaped(const char *text); /* the same, from malloc; NULL: NULL */
/* Bytes of the character at `at`, of a text that ends with a null, if a terminal must not get it:
 * it would end or forge a line, or show it in another order than it is. 0: it may. */
size_t pipe_unsafe_bytes(const unsigned char *at);
void pipe_blank_unsafe(char *text); /* each byte of such characters becomes a blank */
/* Both: a line that stays one and says what it says, whoever its names are of. In place, in a room
 * of `text_bytes`. */
void pipe_text_show(char *text, size_t text_bytes);

void pipe_base64_add(struct pipe_buf *buf, const void *bytes, size_t size_bytes); /* with padding */
/* Strict: standard alphabet, padding, no white space, no stray bits. Room: size / 4 * 3 bytes. */
bool pipe_base64_read(struct pipe_str text, uint8_t *to, size_t *size_bytes);
void pipe_hex_write(char *to, const void *bytes, size_t size_bytes); /* lower case, 2 a byte */
/* 36 characters 8-4-4-4-12 in either case; to[36] gets lower case. */
bool pipe_uuid_read(struct pipe_str text, char *to);
bool pipe_uuid_is_lower(struct pipe_str text); /* already in the form that columns hold */
void pipe_uuid_to_bytes(struct pipe_str uuid, uint8_t to[16]);
void pipe_uuid_from_bytes(const uint8_t bytes[16], char to[36]);

/* ------------------------------------------------------------------------------------------------
 * Integers and floats: checked, never wrapped (numbers.c, float_text.c)
 * --------------------------------------------------------------------------------------------- */

/* false: overflow, or division by zero. `/` truncates, `%` has the dividend's sign and the least
 * integer % -1 is 0. */
#define PIPE_CHECKED_INTEGER(suffix, type, least)                                                  \
    static inline bool pipe_add_##suffix(type a, type b, type *out)                                \
    {                                                                                              \
        return !__builtin_add_overflow(a, b, out);                                                 \
    }                                                                                              \
    static inline bool pipe_sub_##suffix(type a, type b, type *out)                                \
    {                                                                                              \
        return !__builtin_sub_overflow(a, b, out);                                                 \
    }                                                                                              \
    static inline bool pipe_mul_##suffix(type a, type b, type *out)                                \
    {                                                                                              \
        return !__builtin_mul_overflow(a, b, out);                                                 \
    }                                                                                              \
    static inline bool pipe_div_##suffix(type a, type b, type *out)                                \
    {                                                                                              \
        if (b == 0 || (b == -1 && a == (least)))                                                   \
            return false;                                                                          \
        *out = a / b;                                                                              \
        return true;                                                                               \
    }                                                                                              \
    static inline bool pipe_mod_##suffix(type a, type b, type *out)                                \
    {                                                                                              \
        if (b == 0)                                                                                \
            return false;                                                                          \
        *out = b == -1 ? 0 : a % b;                                                                \
        return true;                                                                               \
    }                                                                                              \
    static inline bool pipe_neg_##suffix(type a, type *out)                                        \
    {                                                                                              \
        return !__builtin_sub_overflow((type)0, a, out);                                           \
    }                                                                                              \
    static inline bool pipe_abs_##suffix(type a, type *out)                                        \
    {                                                                                              \
        return a < 0 ? pipe_neg_##suffix(a, out) : (*out = a, true);                               \
    }
PIPE_CHECKED_INTEGER(i32, int32_t, INT32_MIN)
PIPE_CHECKED_INTEGER(i64, int64_t, INT64_MIN)
#undef PIPE_CHECKED_INTEGER

/* false: the result is not finite (also division by zero). `%` is C's fmod. */
#define PIPE_CHECKED_FLOAT(suffix, type, fmod_function)                                            \
    static inline bool pipe_finite_##suffix(type value, type *out)                                 \
    {                                                                                              \
        if (!__builtin_isfinite(value))                                                            \
            return false;                                                                          \
        *out = value;                                                                              \
        return true;                                                                               \
    }                                                                                              \
    static inline bool pipe_add_##suffix(type a, type b, type *out)                                \
    {                                                                                              \
        return pipe_finite_##suffix(a + b, out);                                                   \
    }                                                                                              \
    static inline bool pipe_sub_##suffix(type a, type b, type *out)                                \
    {                                                                                              \
        return pipe_finite_##suffix(a - b, out);                                                   \
    }                                                                                              \
    static inline bool pipe_mul_##suffix(type a, type b, type *out)                                \
    {                                                                                              \
        return pipe_finite_##suffix(a * b, out);                                                   \
    }                                                                                              \
    static inline bool pipe_div_##suffix(type a, type b, type *out)                                \
    {                                                                                              \
        return b != 0 && pipe_finite_##suffix(a / b, out);                                         \
    }                                                                                              \
    static inline bool pipe_mod_##suffix(type a, type b, type *out)                                \
    {                                                                                              \
        return b != 0 && pipe_finite_##suffix(fmod_function(a, b), out);                           \
    }
PIPE_CHECKED_FLOAT(f32, float, fmodf)
PIPE_CHECKED_FLOAT(f64, double, fmod)
#undef PIPE_CHECKED_FLOAT

#define PIPE_INT64_TEXT_MAX 20 /* characters of any int64 */
#define PIPE_FLOAT_TEXT_MAX 32

size_t pipe_i64_write(char *to, int64_t value); /* returns characters written; not terminated */
size_t pipe_u64_write(char *to, uint64_t value);
const char *pipe_u64_grouped(char to[32], uint64_t value); /* 1,234,567; returns `to` */
#define PIPE_PLURAL(number) ((number) == 1 ? "" : "s")
/* "1 row", "1,234 rows"; returns `to`. */
const char *pipe_counted(char to[64], uint64_t value, const char *one, const char *many);
/* Optional '-' ('+' too if allow_plus), ASCII digits, nothing else; false also out of range. */
bool pipe_i64_read(struct pipe_str text, bool allow_plus, int64_t *out);
bool pipe_i32_read(struct pipe_str text, bool allow_plus, int32_t *out);

/*
 * The shortest decimal digits that read back as the same value; of several the nearest. Written
 * plainly while the decimal point is within 21 digits (`100`, `0.000001`, `-0`), else `1.5e21`,
 * `1e-7`: no `+`, no leading zeros in the exponent, no `.0`. The value must be finite. No locale
 * has any influence.
 */
size_t pipe_f64_write(char *to, double value);
size_t pipe_f32_write(char *to, float value);
/* JSON's number syntax (a '+' in front is refused), correctly rounded; false: not a number, or not
 * finite in the type. Too small becomes 0. */
bool pipe_f64_read(struct pipe_str text, double *out);
bool pipe_f32_read(struct pipe_str text, float *out);

/* ------------------------------------------------------------------------------------------------
 * Decimals (decimal.c): unscaled value, at most 38 digits; precision and scale are in the type
 * --------------------------------------------------------------------------------------------- */

__extension__ typedef __int128 pipe_decimal;
__extension__ typedef unsigned __int128 pipe_u128;

#define PIPE_DECIMAL_DIGITS 38
#define PIPE_DECIMAL_TEXT_MAX 42

extern const pipe_decimal pipe_powers_of_ten[PIPE_DECIMAL_DIGITS + 1];

static inline bool pipe_decimal_fits(pipe_decimal value, unsigned precision)
{
    pipe_decimal bound = pipe_powers_of_ten[precision];
    return value < bound && value > -bound;
}

/* Both arguments at one scale; false beyond `precision` digits of the result. */
static inline bool pipe_decimal_add(pipe_decimal a, pipe_decimal b, unsigned precision,
                                    pipe_decimal *out)
{
    pipe_decimal sum;
    if (__builtin_add_overflow(a, b, &sum) || !pipe_decimal_fits(sum, precision))
        return false;
    *out = sum;
    return true;
}

static inline bool pipe_decimal_sub(pipe_decimal a, pipe_decimal b, unsigned precision,
                                    pipe_decimal *out)
{
    return pipe_decimal_add(a, -b, precision, out);
}

/* The scale of the product is the sum of the scales. */
static inline bool pipe_decimal_mul(pipe_decimal a, pipe_decimal b, unsigned precision,
                                    pipe_decimal *out)
{
    pipe_decimal product;
    if (__builtin_mul_overflow(a, b, &product) || !pipe_decimal_fits(product, precision))
        return false;
    *out = product;
    return true;
}

/* To another scale; digits lost are rounded half away from zero. false beyond `precision` digits.
 */
bool pipe_decimal_rescale(pipe_decimal value, unsigned from_scale, unsigned to_scale,
                          unsigned precision, pipe_decimal *out);
/* < 0, 0, > 0 by value, exact for any two scales. */
int pipe_decimal_compare(pipe_decimal a, unsigned a_scale, pipe_decimal b, unsigned b_scale);
/* As `-0.50`, with `scale` fraction digits; returns characters written (PIPE_DECIMAL_TEXT_MAX). */
size_t pipe_decimal_write(char *to, pipe_decimal value, unsigned scale);
/* Optional '-', digits, at most `scale` fraction digits after a '.', no exponent; false also if it
 * does not fit the precision. `12`, `12.5`, `-0.50`; not `.5`, `5.`, `+5`. */
bool pipe_decimal_read(struct pipe_str text, unsigned precision, unsigned scale, pipe_decimal *out);
double pipe_decimal_to_f64(pipe_decimal value, unsigned scale); /* correctly rounded */
/* Rounded half away from zero, from the exact value of the float. */
bool pipe_decimal_from_f64(double value, unsigned precision, unsigned scale, pipe_decimal *out);

/* An exact sum of decimals or integers: 256 bits hold 2^128 values of 38 digits. All zero is 0. */
struct pipe_sum256 {
    pipe_u128 low;
    pipe_decimal high;
};

static inline void pipe_sum256_add(struct pipe_sum256 *sum, pipe_decimal value)
{
    pipe_u128 before = sum->low;
    sum->low += (pipe_u128)value;
    sum->high += (value < 0 ? -1 : 0) + (sum->low < before);
}

static inline void pipe_sum256_merge(struct pipe_sum256 *sum, const struct pipe_sum256 *other)
{
    pipe_u128 before = sum->low;
    sum->low += other->low;
    sum->high = (pipe_decimal)((pipe_u128)sum->high + (pipe_u128)other->high + (sum->low < before));
}

bool pipe_sum256_to_decimal(const struct pipe_sum256 *sum, unsigned precision, pipe_decimal *out);
/* sum / (count * 10^scale), rounded once to nearest-even; count > 0. */
double pipe_sum256_average(const struct pipe_sum256 *sum, uint64_t count, unsigned scale);

/* ------------------------------------------------------------------------------------------------
 * Time (time_text.c): UTC, proleptic Gregorian, years 0001 to 9999, no leap seconds
 * --------------------------------------------------------------------------------------------- */

/* Event times and watermarks inside the runtime: microseconds since 1970, whatever the column's
 * unit. */
#define PIPE_TIME_MIN INT64_MIN /* −∞ */
#define PIPE_TIME_MAX INT64_MAX /* +∞ */
#define PIPE_US(n) ((int64_t)(n))
#define PIPE_MS(n) ((int64_t)(n)*1000)
#define PIPE_SECONDS(n) ((int64_t)(n)*1000000)
#define PIPE_MINUTES(n) ((int64_t)(n)*60000000)
#define PIPE_HOURS(n) ((int64_t)(n)*3600000000)
#define PIPE_DAYS(n) ((int64_t)(n)*86400000000)

#define PIPE_DATE_MIN (-719162) /* 0001-01-01, days since 1970 */
#define PIPE_DATE_MAX 2932896   /* 9999-12-31 */
#define PIPE_TS_MS_MIN ((int64_t)PIPE_DATE_MIN * 86400000)
#define PIPE_TS_MS_MAX (((int64_t)PIPE_DATE_MAX + 1) * 86400000 - 1)
#define PIPE_TS_US_MIN ((int64_t)PIPE_DATE_MIN * 86400000000)
#define PIPE_TS_US_MAX (((int64_t)PIPE_DATE_MAX + 1) * 86400000000 - 1)

/* a + b where ±∞ stays and the rest saturates. */
static inline int64_t pipe_time_add(int64_t time_us, int64_t delta_us)
{
    int64_t sum;
    if (time_us == PIPE_TIME_MIN || time_us == PIPE_TIME_MAX)
        return time_us;
    if (__builtin_add_overflow(time_us, delta_us, &sum))
        return delta_us < 0 ? PIPE_TIME_MIN : PIPE_TIME_MAX;
    return sum;
}

static inline int64_t pipe_time_sub(int64_t time_us, int64_t delta_us)
{
    return delta_us == INT64_MIN ? PIPE_TIME_MAX : pipe_time_add(time_us, -delta_us);
}

static inline int64_t pipe_floor_div(int64_t a, int64_t b) /* b > 0 */
{
    return a / b - (a % b < 0);
}

static inline bool pipe_ts_ms_ok(int64_t ms)
{
    return ms >= PIPE_TS_MS_MIN && ms <= PIPE_TS_MS_MAX;
}

static inline bool pipe_ts_us_ok(int64_t us)
{
    return us >= PIPE_TS_US_MIN && us <= PIPE_TS_US_MAX;
}

static inline bool pipe_date_ok(int32_t days)
{
    return days >= PIPE_DATE_MIN && days <= PIPE_DATE_MAX;
}

/* Instant ± duration: false outside the years 0001 to 9999. Negate a duration to subtract it. */
static inline bool pipe_ts_ms_add(int64_t ms, int64_t duration_ms, int64_t *out)
{
    int64_t sum;
    if (__builtin_add_overflow(ms, duration_ms, &sum) || !pipe_ts_ms_ok(sum))
        return false;
    *out = sum;
    return true;
}

static inline bool pipe_ts_us_add(int64_t us, int64_t duration_ms, int64_t *out)
{
    int64_t delta, sum;
    if (__builtin_mul_overflow(duration_ms, (int64_t)1000, &delta) ||
        __builtin_add_overflow(us, delta, &sum) || !pipe_ts_us_ok(sum))
        return false;
    *out = sum;
    return true;
}

static inline bool pipe_ts_ms_sub(int64_t ms, int64_t duration_ms, int64_t *out)
{
    return duration_ms != INT64_MIN && pipe_ts_ms_add(ms, -duration_ms, out);
}

static inline bool pipe_ts_us_sub(int64_t us, int64_t duration_ms, int64_t *out)
{
    return duration_ms != INT64_MIN && pipe_ts_us_add(us, -duration_ms, out);
}

/* Instant − instant = duration in ms; of microseconds truncated toward zero. Never fails. */
static inline int64_t pipe_ts_ms_diff(int64_t a, int64_t b)
{
    return a - b;
}

static inline int64_t pipe_ts_us_diff(int64_t a, int64_t b)
{
    return (a - b) / 1000;
}

struct pipe_civil {
    int32_t year;
    uint8_t month, day; /* from 1 */
};
struct pipe_civil pipe_civil_of(int32_t days);
int32_t pipe_days_of(int32_t year, unsigned month, unsigned day); /* must be a valid date */
bool pipe_civil_ok(int32_t year, unsigned month, unsigned day);

#define PIPE_DATE_TEXT 10  /* 2026-01-31 */
#define PIPE_TS_MS_TEXT 24 /* 2026-01-31T10:00:00.123Z */
#define PIPE_TS_US_TEXT 27
void pipe_date_write(char to[PIPE_DATE_TEXT], int32_t days); /* arguments in range */
void pipe_ts_ms_write(char to[PIPE_TS_MS_TEXT], int64_t ms);
void pipe_ts_us_write(char to[PIPE_TS_US_TEXT], int64_t us);

/*
 * RFC 3339: `2026-01-31T10:00:00[.fraction](Z|±hh:mm)`; `t`, `z` and a space for the T are
 * accepted, an offset is required, 1 to 9 fraction digits, those beyond the unit are cut off;
 * second 60 is refused.
 */
bool pipe_ts_us_read(struct pipe_str text, int64_t *out_us);
bool pipe_ts_ms_read(struct pipe_str text, int64_t *out_ms);
bool pipe_date_read(struct pipe_str text, int32_t *out_days); /* 2026-01-31 */

/* ------------------------------------------------------------------------------------------------
 * Hashes (hash.c, keyed_hash.c)
 * --------------------------------------------------------------------------------------------- */

uint64_t pipe_hash64(const void *bytes, size_t size_bytes, uint64_t seed);               /* XXH64 */
void pipe_hash128(const void *bytes, size_t size_bytes, uint64_t seed, uint64_t out[2]); /* XXH3 */
/* A keyed 128-bit hash for keys that must not be guessable: SipHash-1-3-128. */
void pipe_keyed_hash128(const void *bytes, size_t size_bytes, const uint8_t key[16],
                        uint64_t out[2]);
/* The same of up to so many texts, side by side where the machine can. */
#define PIPE_KEYED_HASHES 4u
void pipe_keyed_hashes128(const uint8_t *const bytes[PIPE_KEYED_HASHES],
                          const size_t size_bytes[PIPE_KEYED_HASHES], unsigned count,
                          const uint8_t key[16], uint64_t (*out)[2]);
/* Its part for AVX-512 (rotates) or AVX2. False: this machine has not got it, or the texts have not
 * all the same number of whole words. */
bool pipe_keyed_hashes_wide(bool rotates, const uint8_t *const bytes[PIPE_KEYED_HASHES],
                            const size_t size_bytes[PIPE_KEYED_HASHES], const uint8_t key[16],
                            uint64_t (*out)[2]);
void pipe_sha256(const void *bytes, size_t size_bytes, uint8_t out[32]);
void pipe_hmac_sha256(const void *key, size_t key_bytes, const void *bytes, size_t size_bytes,
                      uint8_t out[32]);
void pipe_random_bytes(void *to, size_t size_bytes); /* from the kernel; only for secrets */

#ifdef __cplusplus
}
#endif

#endif
