/* functions.c: the string functions, rounding, and casts of the language (functions.h). */
#define _GNU_SOURCE /* memmem */
#include "functions.h"

#include <utf8proc.h>

static const struct pipe_str empty = {"", 0};

/* --- Strings ------------------------------------------------------------------------------------
 */

static bool is_continuation(char c)
{
    return ((uint8_t)c & 0xC0) == 0x80;
}

int64_t pipe_fn_length_slow(struct pipe_str s)
{
    size_t count = 0;
    for (size_t i = 0; i < s.size; i++)
        count += !is_continuation(s.data[i]);
    return (int64_t)count;
}

static uint32_t decode(const char *at, size_t size)
{
    static const uint8_t lead_bits[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    uint32_t code_point = (uint8_t)at[0] & lead_bits[size];
    for (size_t i = 1; i < size; i++)
        code_point = code_point << 6 | ((uint8_t)at[i] & 0x3F);
    return code_point;
}

/* utf8proc gives ß the capital ẞ, which Unicode's simple mapping does not. */
static utf8proc_int32_t to_upper(utf8proc_int32_t code_point)
{
    return code_point == 0xDF ? code_point : utf8proc_toupper(code_point);
}

/* Maps s code point by code point; `to` NULL: only the size. */
static size_t map_case(struct pipe_str s, utf8proc_int32_t (*map)(utf8proc_int32_t), char *to)
{
    const char *at = s.data, *end = s.data + s.size;
    size_t size = 0;
    while (at < end) {
        char encoded[4];
        size_t step = pipe_utf8_step(at, end);
        size_t mapped = pipe_utf8_put(encoded, (uint32_t)map((utf8proc_int32_t)decode(at, step)));
        if (to != NULL)
            memcpy(to + size, encoded, mapped);
        size += mapped;
        at += step;
    }
    return size;
}

static struct pipe_str change_case(struct pipe_arena *arena, struct pipe_str s, char first,
                                   char last, utf8proc_int32_t (*map)(utf8proc_int32_t))
{
    size_t i = 0;
    char *result = pipe_arena_more(arena, s.size);
    for (; i < s.size && (uint8_t)s.data[i] < 0x80; i++)
        result[i] = s.data[i] >= first && s.data[i] <= last ? s.data[i] ^ 0x20 : s.data[i];
    if (i == s.size)
        return pipe_str_of(result, s.size);
    size_t size = map_case(s, map, NULL);
    result = pipe_arena_more(arena, size);
    return pipe_str_of(result, map_case(s, map, result));
}

struct pipe_str pipe_fn_lower(struct pipe_arena *arena, struct pipe_str s)
{
    return change_case(arena, s, 'A', 'Z', utf8proc_tolower);
}

struct pipe_str pipe_fn_upper(struct pipe_arena *arena, struct pipe_str s)
{
    return change_case(arena, s, 'a', 'z', to_upper);
}

struct pipe_str pipe_fn_ltrim(struct pipe_str s)
{
    while (s.size > 0 && s.data[0] == ' ') {
        s.data++;
        s.size--;
    }
    return s;
}

struct pipe_str pipe_fn_rtrim(struct pipe_str s)
{
    while (s.size > 0 && s.data[s.size - 1] == ' ')
        s.size--;
    return s;
}

struct pipe_str pipe_fn_trim(struct pipe_str s)
{
    return pipe_fn_rtrim(pipe_fn_ltrim(s));
}

static const char *skip_characters(const char *at, const char *end, int64_t count)
{
    for (; at < end && count > 0; count--)
        at += pipe_utf8_step(at, end);
    return at;
}

struct pipe_str pipe_fn_substring(struct pipe_str s, int64_t from, int64_t n)
{
    int64_t behind; /* first position that is not taken */
    if (n <= 0)
        return empty;
    if (__builtin_add_overflow(from, n, &behind))
        behind = INT64_MAX;
    if (from < 1)
        from = 1;
    if (behind <= from)
        return empty;
    const char *end = s.data + s.size, *begin = skip_characters(s.data, end, from - 1);
    return pipe_str_of(begin, (size_t)(skip_characters(begin, end, behind - from) - begin));
}

struct pipe_str pipe_fn_substring_from(struct pipe_str s, int64_t from)
{
    return pipe_fn_substring(s, from < 1 ? 1 : from, INT64_MAX);
}

struct pipe_str pipe_fn_left(struct pipe_str s, int64_t n)
{
    return pipe_fn_substring(s, 1, n);
}

struct pipe_str pipe_fn_right(struct pipe_str s, int64_t n)
{
    size_t at = s.size;
    for (; at > 0 && n > 0; n--) {
        do
            at--;
        while (at > 0 && is_continuation(s.data[at]));
    }
    return pipe_str_of(s.size > 0 ? s.data + at : s.data, s.size - at);
}

bool pipe_fn_starts_with(struct pipe_str s, struct pipe_str prefix)
{
    return s.size >= prefix.size &&
           (prefix.size == 0 || memcmp(s.data, prefix.data, prefix.size) == 0);
}

bool pipe_fn_ends_with(struct pipe_str s, struct pipe_str suffix)
{
    return s.size >= suffix.size && (suffix.size == 0 || memcmp(s.data + s.size - suffix.size,
                                                                suffix.data, suffix.size) == 0);
}

/* Where `part` (not empty) next occurs at or behind offset `from`; SIZE_MAX: nowhere. */
static size_t find(struct pipe_str s, size_t from, struct pipe_str part)
{
    if (s.size - from < part.size)
        return SIZE_MAX;
    const char *hit = memmem(s.data + from, s.size - from, part.data, part.size);
    return hit != NULL ? (size_t)(hit - s.data) : SIZE_MAX;
}

bool pipe_fn_contains(struct pipe_str s, struct pipe_str part)
{
    return part.size == 0 || find(s, 0, part) != SIZE_MAX;
}

const char pipe_too_long_text[1] = "";
static const struct pipe_str too_long = {pipe_too_long_text, 0};

static struct pipe_str replace(struct pipe_arena *arena, struct pipe_str s, struct pipe_str from,
                               struct pipe_str to, size_t limit_bytes)
{
    size_t count = 0, size, written = 0, at = 0, hit;
    if (from.size == 0)
        return s;
    for (; (hit = find(s, at, from)) != SIZE_MAX; at = hit + from.size)
        count++;
    if (count == 0)
        return s;
    if (__builtin_mul_overflow(count, to.size, &size) ||
        __builtin_add_overflow(size, s.size - count * from.size, &size))
        size = SIZE_MAX;
    if (size > limit_bytes)
        return too_long;
    char *result = pipe_arena_more(arena, size);
    for (at = 0; (hit = find(s, at, from)) != SIZE_MAX; at = hit + from.size) {
        memcpy(result + written, s.data + at, hit - at);
        written += hit - at;
        if (to.size > 0)
            memcpy(result + written, to.data, to.size);
        written += to.size;
    }
    memcpy(result + written, s.data + at, s.size - at);
    return pipe_str_of(result, size);
}

struct pipe_str pipe_fn_replace(struct pipe_arena *arena, struct pipe_str s, struct pipe_str from,
                                struct pipe_str to)
{
    return replace(arena, s, from, to, SIZE_MAX / 4);
}

struct pipe_str pipe_fn_replace_within(struct pipe_arena *arena, struct pipe_str s,
                                       struct pipe_str from, struct pipe_str to)
{
    return replace(arena, s, from, to, arena->limit_bytes);
}

struct pipe_str pipe_fn_split_part(struct pipe_str s, struct pipe_str separator, int64_t n)
{
    size_t at = 0, hit;
    if (n < 1)
        return empty;
    if (separator.size == 0)
        return n == 1 ? s : empty;
    for (; n > 1; n--) {
        hit = find(s, at, separator);
        if (hit == SIZE_MAX)
            return empty;
        at = hit + separator.size;
    }
    hit = find(s, at, separator);
    return pipe_str_of(s.size > 0 ? s.data + at : s.data, (hit == SIZE_MAX ? s.size : hit) - at);
}

struct pipe_str pipe_fn_concat(struct pipe_arena *arena, const struct pipe_str *parts, size_t count)
{
    size_t size = 0, written = 0;
    for (size_t i = 0; i < count; i++)
        size += parts[i].size;
    char *result = pipe_arena_more(arena, size);
    for (size_t i = 0; i < count; i++) {
        if (parts[i].size > 0)
            memcpy(result + written, parts[i].data, parts[i].size);
        written += parts[i].size;
    }
    return pipe_str_of(result, size);
}

struct pipe_str pipe_fn_concat_within(struct pipe_arena *arena, const struct pipe_str *parts,
                                      size_t count)
{
    size_t size = 0;
    for (size_t i = 0; i < count; i++)
        size += parts[i].size;
    return size > arena->limit_bytes ? too_long : pipe_fn_concat(arena, parts, count);
}

struct pipe_str pipe_fn_concat2(struct pipe_arena *arena, struct pipe_str a, struct pipe_str b)
{
    return pipe_fn_concat(arena, (struct pipe_str[]){a, b}, 2);
}

/* On a mismatch only the last % takes one more character: earlier ones need never be tried again.
 */
bool pipe_fn_like(struct pipe_str s, struct pipe_str pattern)
{
    const char *at = s.data, *end = s.data + s.size, *retry = NULL;
    size_t p = 0, behind_percent = 0;
    while (at < end) {
        if (p < pattern.size && pattern.data[p] == '%') {
            behind_percent = ++p;
            retry = at;
        } else if (p < pattern.size && pattern.data[p] == '_') {
            at += pipe_utf8_step(at, end);
            p++;
        } else if (p < pattern.size && pattern.data[p] == *at) {
            at++;
            p++;
        } else if (retry != NULL) {
            retry += pipe_utf8_step(retry, end);
            at = retry;
            p = behind_percent;
        } else {
            return false;
        }
    }
    while (p < pattern.size && pattern.data[p] == '%')
        p++;
    return p == pattern.size;
}

/* --- Numbers ------------------------------------------------------------------------------------
 */

pipe_decimal pipe_fn_round_decimal(pipe_decimal x, unsigned scale)
{
    pipe_decimal result = 0;
    pipe_decimal_rescale(x, scale, 0, PIPE_DECIMAL_DIGITS, &result);
    return result;
}

pipe_decimal pipe_fn_floor_decimal(pipe_decimal x, unsigned scale)
{
    pipe_decimal power = pipe_powers_of_ten[scale];
    return x / power - (x % power < 0);
}

pipe_decimal pipe_fn_ceil_decimal(pipe_decimal x, unsigned scale)
{
    pipe_decimal power = pipe_powers_of_ten[scale];
    return x / power + (x % power > 0);
}

const void *pipe_fn_get_map(struct pipe_map m, struct pipe_str key, size_t entry_bytes)
{
    const char *entry = m.entries;
    for (uint32_t i = 0; i < m.count; i++, entry += entry_bytes) {
        if (pipe_str_equal(*(const struct pipe_str *)entry, key))
            return entry + PIPE_MAP_VALUE_OFFSET;
    }
    return NULL;
}

/* --- Casts from string --------------------------------------------------------------------------
 */

bool pipe_cast_string_bool(struct pipe_str s, bool *out)
{
    bool is_true = pipe_str_equal(s, PIPE_STR("true"));
    if (!is_true && !pipe_str_equal(s, PIPE_STR("false")))
        return false;
    *out = is_true;
    return true;
}

bool pipe_cast_string_i32(struct pipe_str s, int32_t *out)
{
    return pipe_i32_read(s, true, out);
}

bool pipe_cast_string_i64(struct pipe_str s, int64_t *out)
{
    return pipe_i64_read(s, true, out);
}

bool pipe_cast_string_duration(struct pipe_str s, int64_t *out)
{
    return pipe_i64_read(s, true, out);
}

static struct pipe_str without_plus(struct pipe_str s)
{
    bool plus = s.size > 1 && s.data[0] == '+' && s.data[1] != '-';
    return plus ? pipe_str_of(s.data + 1, s.size - 1) : s;
}

bool pipe_cast_string_f32(struct pipe_str s, float *out)
{
    return pipe_f32_read(without_plus(s), out);
}

bool pipe_cast_string_f64(struct pipe_str s, double *out)
{
    return pipe_f64_read(without_plus(s), out);
}

bool pipe_cast_string_decimal(struct pipe_str s, unsigned precision, unsigned scale,
                              pipe_decimal *out)
{
    return pipe_decimal_read(without_plus(s), precision, scale, out);
}

bool pipe_cast_string_uuid(struct pipe_arena *arena, struct pipe_str s, struct pipe_str *out)
{
    if (pipe_uuid_is_lower(s)) {
        *out = s;
        return true;
    }
    char *text = s.size == 36 ? pipe_arena_more(arena, 36) : NULL;
    if (text == NULL || !pipe_uuid_read(s, text))
        return false;
    *out = pipe_str_of(text, 36);
    return true;
}

bool pipe_cast_string_enum(struct pipe_str s, const struct pipe_type *type, uint32_t *out)
{
    for (uint32_t i = 0; i < type->symbol_count; i++) {
        if (strlen(type->symbols[i]) == s.size && memcmp(type->symbols[i], s.data, s.size) == 0) {
            *out = i;
            return true;
        }
    }
    return false;
}

bool pipe_cast_string_date(struct pipe_str s, int32_t *out)
{
    return pipe_date_read(s, out);
}

bool pipe_cast_string_ts_ms(struct pipe_str s, int64_t *out)
{
    return pipe_ts_ms_read(s, out);
}

bool pipe_cast_string_ts_us(struct pipe_str s, int64_t *out)
{
    return pipe_ts_us_read(s, out);
}

bool pipe_cast_bytes_string(struct pipe_str s, struct pipe_str *out)
{
    if (!pipe_utf8_check(s.data, s.size))
        return false;
    *out = s;
    return true;
}

/* --- Casts to narrower --------------------------------------------------------------------------
 */

bool pipe_cast_f64_i64(double x, int64_t *out)
{
    double rounded = round(x);
    if (!(rounded >= -0x1p63 && rounded < 0x1p63))
        return false;
    *out = (int64_t)rounded;
    return true;
}

bool pipe_cast_f64_i32(double x, int32_t *out)
{
    int64_t wide;
    return pipe_cast_f64_i64(x, &wide) && pipe_cast_i64_i32(wide, out);
}

bool pipe_cast_f64_decimal(double x, unsigned precision, unsigned scale, pipe_decimal *out)
{
    return pipe_decimal_from_f64(x, precision, scale, out);
}

bool pipe_cast_i64_decimal(int64_t x, unsigned precision, unsigned scale, pipe_decimal *out)
{
    return pipe_decimal_rescale(x, 0, scale, precision, out);
}

bool pipe_cast_decimal_i64(pipe_decimal x, unsigned scale, int64_t *out)
{
    pipe_decimal whole = pipe_fn_round_decimal(x, scale);
    if (whole < INT64_MIN || whole > INT64_MAX)
        return false;
    *out = (int64_t)whole;
    return true;
}

bool pipe_cast_decimal_i32(pipe_decimal x, unsigned scale, int32_t *out)
{
    int64_t wide;
    return pipe_cast_decimal_i64(x, scale, &wide) && pipe_cast_i64_i32(wide, out);
}

float pipe_cast_decimal_f32(pipe_decimal x, unsigned scale)
{
    char text[PIPE_DECIMAL_TEXT_MAX];
    float result = 0; /* through text: rounding a double again could be off by one unit */
    pipe_f32_read(pipe_str_of(text, pipe_decimal_write(text, x, scale)), &result);
    return result;
}

bool pipe_cast_i64_ts_ms(int64_t x, int64_t *out)
{
    return pipe_ts_ms_ok(x) && (*out = x, true);
}

bool pipe_cast_i64_ts_us(int64_t x, int64_t *out)
{
    return pipe_ts_us_ok(x) && (*out = x, true);
}

bool pipe_cast_i64_date(int64_t x, int32_t *out)
{
    return x >= PIPE_DATE_MIN && x <= PIPE_DATE_MAX && (*out = (int32_t)x, true);
}

/* --- Casts to string ----------------------------------------------------------------------------
 */

static struct pipe_str keep(struct pipe_arena *arena, const char *text, size_t size)
{
    return pipe_str_of(memcpy(pipe_arena_more(arena, size), text, size), size);
}

struct pipe_str pipe_cast_i64_string(struct pipe_arena *arena, int64_t x)
{
    char text[PIPE_INT64_TEXT_MAX];
    return keep(arena, text, pipe_i64_write(text, x));
}

struct pipe_str pipe_cast_f32_string(struct pipe_arena *arena, float x)
{
    char text[PIPE_FLOAT_TEXT_MAX];
    return keep(arena, text, pipe_f32_write(text, x));
}

struct pipe_str pipe_cast_f64_string(struct pipe_arena *arena, double x)
{
    char text[PIPE_FLOAT_TEXT_MAX];
    return keep(arena, text, pipe_f64_write(text, x));
}

struct pipe_str pipe_cast_decimal_string(struct pipe_arena *arena, pipe_decimal x, unsigned scale)
{
    char text[PIPE_DECIMAL_TEXT_MAX];
    return keep(arena, text, pipe_decimal_write(text, x, scale));
}

struct pipe_str pipe_cast_date_string(struct pipe_arena *arena, int32_t days)
{
    char text[PIPE_DATE_TEXT];
    pipe_date_write(text, days);
    return keep(arena, text, sizeof text);
}

struct pipe_str pipe_cast_ts_ms_string(struct pipe_arena *arena, int64_t ms)
{
    char text[PIPE_TS_MS_TEXT];
    pipe_ts_ms_write(text, ms);
    return keep(arena, text, sizeof text);
}

struct pipe_str pipe_cast_ts_us_string(struct pipe_arena *arena, int64_t us)
{
    char text[PIPE_TS_US_TEXT];
    pipe_ts_us_write(text, us);
    return keep(arena, text, sizeof text);
}

/* ---- in ---- */

#define PIPE_IN(suffix, type)                                                                      \
    bool pipe_fn_in_##suffix(type x, const type *sorted, size_t count)                             \
    {                                                                                              \
        size_t low = 0;                                                                            \
        while (low < count) {                                                                      \
            size_t middle = low + (count - low) / 2;                                               \
            if (sorted[middle] == x)                                                               \
                return true;                                                                       \
            if (sorted[middle] < x)                                                                \
                low = middle + 1;                                                                  \
            else                                                                                   \
                count = middle;                                                                    \
        }                                                                                          \
        return false;                                                                              \
    }
PIPE_IN(i32, int32_t)
PIPE_IN(u32, uint32_t)
PIPE_IN(i64, int64_t)
PIPE_IN(decimal, pipe_decimal)
#undef PIPE_IN

bool pipe_fn_in_string(struct pipe_str x, const struct pipe_str *sorted, size_t count)
{
    size_t low = 0;
    while (low < count) {
        size_t middle = low + (count - low) / 2;
        int order = pipe_str_compare(sorted[middle], x);
        if (order == 0)
            return true;
        if (order < 0)
            low = middle + 1;
        else
            count = middle;
    }
    return false;
}
