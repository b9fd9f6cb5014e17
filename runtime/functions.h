/*
 * functions.h: the functions and casts of the language, one C function each (functions.c,
 * time_text.c, regex.cc, hash.c), named pipe_fn_<name> and pipe_cast_<from>_<to>.
 *
 * Conventions. Arguments are never null: generated code tests for null first (null in, null out).
 *   - `T f(args)`                cannot fail;
 *   - `bool f(args, T *out)`     fallible (`expression_failed`), or, where the comment says
 * PRESENT, null if false;
 *   - an arena comes first where a result needs memory; other results point into their arguments.
 * Texts are as long as they have to be; _within is for those that data can make longer than any
 * record: beyond arena->limit_bytes the result is the one that pipe_is_too_long knows.
 * Positions and lengths are in code points, counting from 1.
 * Types in names: bool i32 i64 f32 f64 decimal string uuid enum bytes date ts_ms ts_us duration
 * (ms).
 */
#ifndef PIPE_FUNCTIONS_H
#define PIPE_FUNCTIONS_H

#include "row.h"
#include "value.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const char pipe_too_long_text[1];
static inline bool pipe_is_too_long(struct pipe_str s)
{
    return s.data == pipe_too_long_text;
}

/* --- Strings ---------------------------------------------------------------------------------- */

int64_t pipe_fn_length_slow(struct pipe_str s);
static inline int64_t pipe_fn_length(struct pipe_str s) /* code points */
{
    if (PIPE_LIKELY(s.size >= 2 && s.size <= 16 &&
                    pipe_high_bits_of_few((const uint8_t *)s.data, s.size) == 0))
        return (int64_t)s.size;
    return pipe_fn_length_slow(s);
}
static inline int64_t pipe_fn_length_array(struct pipe_array a)
{
    return a.count;
}
static inline int64_t pipe_fn_octet_length(struct pipe_str s) /* also of bytes */
{
    return (int64_t)s.size;
}

struct pipe_str pipe_fn_lower(struct pipe_arena *arena,
                              struct pipe_str s); /* simple mapping: one */
struct pipe_str pipe_fn_upper(struct pipe_arena *arena, struct pipe_str s); /* code point to one */
struct pipe_str pipe_fn_trim(struct pipe_str s);                            /* U+0020 only */
struct pipe_str pipe_fn_ltrim(struct pipe_str s);
struct pipe_str pipe_fn_rtrim(struct pipe_str s);

/* Positions from, …, from + n - 1; those before 1 count but hold nothing; n <= 0 is ''. */
struct pipe_str pipe_fn_substring(struct pipe_str s, int64_t from, int64_t n);
struct pipe_str pipe_fn_substring_from(struct pipe_str s, int64_t from); /* to the end */
struct pipe_str pipe_fn_left(struct pipe_str s, int64_t n);              /* n <= 0: '' */
struct pipe_str pipe_fn_right(struct pipe_str s, int64_t n);

bool pipe_fn_starts_with(struct pipe_str s, struct pipe_str prefix);
bool pipe_fn_ends_with(struct pipe_str s, struct pipe_str suffix);
bool pipe_fn_contains(struct pipe_str s, struct pipe_str part);
/* Every occurrence from the left, not overlapping; `from` = '' changes nothing. */
struct pipe_str pipe_fn_replace(struct pipe_arena *arena, struct pipe_str s, struct pipe_str from,
                                struct pipe_str to);
struct pipe_str pipe_fn_replace_within(struct pipe_arena *arena, struct pipe_str s,
                                       struct pipe_str from, struct pipe_str to);
/* Part n; n < 1 or beyond the last part: ''. With the separator '' all of s is part 1. */
struct pipe_str pipe_fn_split_part(struct pipe_str s, struct pipe_str separator, int64_t n);
/* pipe_fn_concat(arena, (struct pipe_str[]){a, b, c}, 3) */
struct pipe_str pipe_fn_concat(struct pipe_arena *arena, const struct pipe_str *parts,
                               size_t count);
struct pipe_str pipe_fn_concat2(struct pipe_arena *arena, struct pipe_str a, struct pipe_str b);
struct pipe_str pipe_fn_concat_within(struct pipe_arena *arena, const struct pipe_str *parts,
                                      size_t count);

/* `%` any text, `_` one code point, no escape; the whole of s must match. */
bool pipe_fn_like(struct pipe_str s, struct pipe_str pattern);

/* --- Regexes: RE2 syntax, unanchored, linear time, at most 8 MiB a program ---------------------
 */

struct pipe_regex; /* immutable; may be shared by threads */
/* NULL, with the cause in *error (may be NULL), if the pattern is wrong or too large. */
struct pipe_regex *pipe_regex_compile(const char *pattern, struct pipe_error *error);
struct pipe_regex *pipe_regex_compile_str(struct pipe_str pattern, struct pipe_error *error);
void pipe_regex_free(struct pipe_regex *regex);
unsigned pipe_regex_groups(const struct pipe_regex *regex); /* without group 0 */
/* In `text` `\0` … `\9` stand for groups and `\\` for a backslash; false if it names no group. */
bool pipe_regex_check_replacement(const struct pipe_regex *regex, struct pipe_str text,
                                  struct pipe_error *error);

bool pipe_fn_matches(const struct pipe_regex *regex, struct pipe_str s);
/* PRESENT: the group (0: all) of the leftmost match; absent without a match, or if the group took
 * no part in it. */
bool pipe_fn_regexp_extract(const struct pipe_regex *regex, struct pipe_str s, int64_t group,
                            struct pipe_str *out);
/* Every match, from the left, not overlapping. An empty match right behind a match is passed over.
 */
struct pipe_str pipe_fn_regexp_replace(struct pipe_arena *arena, const struct pipe_regex *regex,
                                       struct pipe_str s, struct pipe_str text);
struct pipe_str pipe_fn_regexp_replace_within(struct pipe_arena *arena,
                                              const struct pipe_regex *regex, struct pipe_str s,
                                              struct pipe_str text);

/* --- Numbers: abs of integers is pipe_abs_i32 / _i64 (fallible) --------------------------------
 */

/* round is half away from zero. Of decimals the result has scale 0. */
static inline double pipe_fn_abs_f64(double x)
{
    return fabs(x);
}
static inline float pipe_fn_abs_f32(float x)
{
    return fabsf(x);
}
static inline pipe_decimal pipe_fn_abs_decimal(pipe_decimal x)
{
    return x < 0 ? -x : x;
}
static inline double pipe_fn_round_f64(double x)
{
    return round(x);
}
static inline float pipe_fn_round_f32(float x)
{
    return roundf(x);
}
static inline double pipe_fn_floor_f64(double x)
{
    return floor(x);
}
static inline float pipe_fn_floor_f32(float x)
{
    return floorf(x);
}
static inline double pipe_fn_ceil_f64(double x)
{
    return ceil(x);
}
static inline float pipe_fn_ceil_f32(float x)
{
    return ceilf(x);
}
pipe_decimal pipe_fn_round_decimal(pipe_decimal x, unsigned scale);
pipe_decimal pipe_fn_floor_decimal(pipe_decimal x, unsigned scale);
pipe_decimal pipe_fn_ceil_decimal(pipe_decimal x, unsigned scale);

/* Of two values of one type; fold for more. Any null argument makes the result null. Dates are i32,
 * instants and durations i64. */
#define PIPE_GREATEST_LEAST(suffix, type)                                                          \
    static inline type pipe_fn_greatest_##suffix(type a, type b)                                   \
    {                                                                                              \
        return a < b ? b : a;                                                                      \
    }                                                                                              \
    static inline type pipe_fn_least_##suffix(type a, type b)                                      \
    {                                                                                              \
        return b < a ? b : a;                                                                      \
    }
PIPE_GREATEST_LEAST(i32, int32_t)
PIPE_GREATEST_LEAST(i64, int64_t)
PIPE_GREATEST_LEAST(f32, float)
PIPE_GREATEST_LEAST(f64, double)
PIPE_GREATEST_LEAST(decimal, pipe_decimal)
#undef PIPE_GREATEST_LEAST
static inline struct pipe_str pipe_fn_greatest_string(struct pipe_str a, struct pipe_str b)
{
    return pipe_str_compare(a, b) < 0 ? b : a;
}
static inline struct pipe_str pipe_fn_least_string(struct pipe_str a, struct pipe_str b)
{
    return pipe_str_compare(b, a) < 0 ? b : a;
}

/* Whether x is in the table, which is sorted. */
bool pipe_fn_in_i32(int32_t x, const int32_t *sorted, size_t count);
bool pipe_fn_in_u32(uint32_t x, const uint32_t *sorted, size_t count);
bool pipe_fn_in_i64(int64_t x, const int64_t *sorted, size_t count);
bool pipe_fn_in_decimal(pipe_decimal x, const pipe_decimal *sorted, size_t count);
bool pipe_fn_in_string(struct pipe_str x, const struct pipe_str *sorted, size_t count);

/* --- Time, UTC -------------------------------------------------------------------------------- */

enum pipe_time_unit {
    PIPE_UNIT_SECOND,
    PIPE_UNIT_MINUTE,
    PIPE_UNIT_HOUR,
    PIPE_UNIT_DAY,
    PIPE_UNIT_WEEK, /* date_trunc only; from Monday */
    PIPE_UNIT_MONTH,
    PIPE_UNIT_YEAR,
    PIPE_UNIT_DOW /* date_part only; Monday 1 … Sunday 7 */
};
bool pipe_time_unit_of(struct pipe_str name, enum pipe_time_unit *out); /* 'hour' */

int64_t pipe_fn_date_trunc_ms(enum pipe_time_unit unit, int64_t ms);
int64_t pipe_fn_date_trunc_us(enum pipe_time_unit unit, int64_t us);
int32_t pipe_fn_date_trunc_date(enum pipe_time_unit unit,
                                int32_t days); /* units up to hour: itself */
int32_t pipe_fn_date_part_ms(enum pipe_time_unit unit, int64_t ms);
int32_t pipe_fn_date_part_us(enum pipe_time_unit unit, int64_t us);
int32_t pipe_fn_date_part_date(enum pipe_time_unit unit, int32_t days); /* hour … second: 0 */

/*
 * %Y (4 digits) %m %d %H %M %S (2 digits) %f (reading: 1 to 6 digits; writing: 6, of timestamp_ms
 * 3) %b (Jan … Dec, reading in any case) %z (reading +hhmm, +hh:mm, Z; writing +0000) %%. Other
 * text must match. Reading: a part that is not in the format is that of 1970-01-01T00:00:00Z;
 * digits beyond the unit are cut off; a part given twice must agree; years 0001 to 9999 after the
 * offset.
 */
bool pipe_time_format_check(struct pipe_str format, struct pipe_error *error);
bool pipe_fn_parse_timestamp_ms(struct pipe_str s, struct pipe_str format, int64_t *out);
bool pipe_fn_parse_timestamp_us(struct pipe_str s, struct pipe_str format, int64_t *out);
struct pipe_str pipe_fn_format_timestamp_ms(struct pipe_arena *arena, int64_t ms,
                                            struct pipe_str format);
struct pipe_str pipe_fn_format_timestamp_us(struct pipe_arena *arena, int64_t us,
                                            struct pipe_str format);

/* --- Nested values and JSON ------------------------------------------------------------------- */

/* PRESENT: a pointer to the slot, NULL if absent; a nullable element's is_null lies behind it
 * (row.h). */
static inline const void *pipe_fn_get_array(struct pipe_array a, int64_t index,
                                            size_t element_bytes)
{
    if (index < 0 || index >= (int64_t)a.count)
        return NULL;
    return (const char *)a.items + (size_t)index * element_bytes;
}
/* PRESENT: a pointer to the value part of the entry, NULL if there is no such key. */
const void *pipe_fn_get_map(struct pipe_map m, struct pipe_str key, size_t entry_bytes);

/* PRESENT: the text of the scalar at `path` (`a.b[0].c`, `[2]`; '' is the root): a string
 * unescaped, a number as written, true, false. Absent: not JSON, no such path, null, object, array.
 * If a name occurs twice, the first counts. */
bool pipe_fn_json_value(struct pipe_arena *arena, struct pipe_str s, struct pipe_str path,
                        struct pipe_str *out);
bool pipe_json_path_check(struct pipe_str path, struct pipe_error *error);

/* --- Hashes ----------------------------------------------------------------------------------- */

int64_t pipe_fn_hash64(struct pipe_str s); /* XXH64, seed 0; of bytes too */
struct pipe_str pipe_fn_sha256(struct pipe_arena *arena, struct pipe_str s); /* 64 hex characters */
struct pipe_str pipe_fn_hmac_sha256(struct pipe_arena *arena, struct pipe_str s,
                                    struct pipe_str secret);

/* --- Casts. Widening is plain C; string → bytes and integer ↔ duration are the same value. ------
 */

bool pipe_cast_string_bool(struct pipe_str s, bool *out);   /* `true`, `false` */
bool pipe_cast_string_i32(struct pipe_str s, int32_t *out); /* optional sign, digits */
bool pipe_cast_string_i64(struct pipe_str s, int64_t *out);
bool pipe_cast_string_f32(struct pipe_str s, float *out); /* optional sign, then as in JSON */
bool pipe_cast_string_f64(struct pipe_str s, double *out);
bool pipe_cast_string_decimal(struct pipe_str s, unsigned precision, unsigned scale,
                              pipe_decimal *out); /* optional sign; no digits are rounded away */
bool pipe_cast_string_uuid(struct pipe_arena *arena, struct pipe_str s, struct pipe_str *out);
bool pipe_cast_string_enum(struct pipe_str s, const struct pipe_type *type, uint32_t *out);
bool pipe_cast_string_date(struct pipe_str s, int32_t *out);  /* 2026-01-31 */
bool pipe_cast_string_ts_ms(struct pipe_str s, int64_t *out); /* RFC 3339 */
bool pipe_cast_string_ts_us(struct pipe_str s, int64_t *out);
bool pipe_cast_string_duration(struct pipe_str s, int64_t *out);      /* integer: milliseconds */
bool pipe_cast_bytes_string(struct pipe_str s, struct pipe_str *out); /* must be UTF-8 */

/* To narrower: fails out of range; fractions are rounded half away from zero, as round() does. */
static inline bool pipe_cast_i64_i32(int64_t x, int32_t *out)
{
    if (x < INT32_MIN || x > INT32_MAX)
        return false;
    *out = (int32_t)x;
    return true;
}
static inline bool pipe_cast_f64_f32(double x, float *out)
{
    return pipe_finite_f32((float)x, out);
}
bool pipe_cast_f64_i32(double x, int32_t *out); /* float32: the same, after widening */
bool pipe_cast_f64_i64(double x, int64_t *out);
bool pipe_cast_f64_decimal(double x, unsigned precision, unsigned scale, pipe_decimal *out);
bool pipe_cast_i64_decimal(int64_t x, unsigned precision, unsigned scale, pipe_decimal *out);
bool pipe_cast_decimal_i32(pipe_decimal x, unsigned scale, int32_t *out);
bool pipe_cast_decimal_i64(pipe_decimal x, unsigned scale, int64_t *out);
/* decimal → decimal: pipe_decimal_rescale; decimal → float64: pipe_decimal_to_f64, never fails. */
float pipe_cast_decimal_f32(pipe_decimal x, unsigned scale);

bool pipe_cast_i64_ts_ms(int64_t x, int64_t *out); /* years 0001 to 9999 */
bool pipe_cast_i64_ts_us(int64_t x, int64_t *out);
bool pipe_cast_i64_date(int64_t x, int32_t *out);
static inline int64_t pipe_cast_ts_ms_ts_us(int64_t ms)
{
    return ms * 1000;
}
static inline int64_t pipe_cast_ts_us_ts_ms(int64_t us) /* floor */
{
    return pipe_floor_div(us, 1000);
}
static inline int32_t pipe_cast_ts_ms_date(int64_t ms) /* the day it lies in */
{
    return (int32_t)pipe_floor_div(ms, 86400000);
}
static inline int32_t pipe_cast_ts_us_date(int64_t us)
{
    return (int32_t)pipe_floor_div(us, 86400000000);
}
static inline int64_t pipe_cast_date_ts_ms(int32_t days) /* its midnight */
{
    return (int64_t)days * 86400000;
}
static inline int64_t pipe_cast_date_ts_us(int32_t days)
{
    return (int64_t)days * 86400000000;
}

/* To string: as in JSON output (row.h), without quotes. */
struct pipe_str pipe_cast_i64_string(struct pipe_arena *arena, int64_t x); /* int32, duration too */
struct pipe_str pipe_cast_f32_string(struct pipe_arena *arena, float x);
struct pipe_str pipe_cast_f64_string(struct pipe_arena *arena, double x);
struct pipe_str pipe_cast_decimal_string(struct pipe_arena *arena, pipe_decimal x, unsigned scale);
struct pipe_str pipe_cast_date_string(struct pipe_arena *arena, int32_t days);
struct pipe_str pipe_cast_ts_ms_string(struct pipe_arena *arena, int64_t ms);
struct pipe_str pipe_cast_ts_us_string(struct pipe_arena *arena, int64_t us);
static inline struct pipe_str pipe_cast_bool_string(bool x)
{
    return x ? PIPE_STR("true") : PIPE_STR("false");
}
static inline struct pipe_str pipe_cast_enum_string(uint32_t x, const struct pipe_type *type)
{
    return pipe_str_of(type->symbols[x], strlen(type->symbols[x]));
}

#ifdef __cplusplus
}
#endif

#endif
