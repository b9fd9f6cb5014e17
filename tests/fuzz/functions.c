/*
 * functions.c: functions and casts on strings. The first byte chooses the function, the second is
 * the size of the first string; the second string is what is left.
 */
#include "fuzz.h"
#include "functions.h"

struct strings {
    struct pipe_str a, b;
    struct pipe_arena *arena;
    uint8_t number;
};

static void check_text(struct pipe_str text)
{
    FUZZ_CHECK(pipe_utf8_check(text.data, text.size));
}

static void times(struct strings *s)
{
    int64_t ms = 0, us = 0;
    int32_t days;
    char text[PIPE_TS_US_TEXT];
    if (!pipe_time_format_check(s->a, NULL))
        return;
    bool is_ms = pipe_fn_parse_timestamp_ms(s->b, s->a, &ms);
    FUZZ_CHECK(is_ms == pipe_fn_parse_timestamp_us(s->b, s->a, &us));
    if (is_ms) {
        FUZZ_CHECK(pipe_ts_ms_ok(ms) && pipe_floor_div(us, 1000) == ms);
        struct pipe_str out = pipe_fn_format_timestamp_us(s->arena, us, s->a);
        check_text(out);
        check_text(pipe_fn_format_timestamp_ms(s->arena, ms, s->a));
        for (enum pipe_time_unit unit = PIPE_UNIT_SECOND; unit <= PIPE_UNIT_YEAR; unit++)
            FUZZ_CHECK(pipe_fn_date_trunc_us(unit, us) <= us);
        for (enum pipe_time_unit unit = PIPE_UNIT_SECOND; unit <= PIPE_UNIT_DOW; unit++)
            pipe_fn_date_part_us(unit, us);
    }
    if (pipe_ts_us_read(s->b, &us)) {
        int64_t again = 0;
        FUZZ_CHECK(pipe_ts_us_ok(us));
        pipe_ts_us_write(text, us);
        FUZZ_CHECK(pipe_ts_us_read(pipe_str_of(text, sizeof text), &again) && again == us);
    }
    if (pipe_date_read(s->b, &days)) {
        FUZZ_CHECK(s->b.size == PIPE_DATE_TEXT && pipe_date_ok(days));
        pipe_date_write(text, days);
        FUZZ_CHECK(memcmp(text, s->b.data, PIPE_DATE_TEXT) == 0);
    }
}

static void paths(struct strings *s)
{
    struct pipe_str out;
    if (!pipe_json_path_check(s->a, NULL))
        return;
    if (pipe_fn_json_value(s->arena, s->b, s->a, &out))
        check_text(out);
}

/* The least program for LIKE: by recursion, only for short texts. */
static bool like(const char *s, const char *s_end, const char *p, const char *p_end)
{
    if (p == p_end)
        return s == s_end;
    if (*p == '%')
        return like(s, s_end, p + 1, p_end) ||
               (s < s_end && like(s + pipe_utf8_step(s, s_end), s_end, p, p_end));
    if (s == s_end)
        return false;
    size_t step = pipe_utf8_step(s, s_end);
    if (*p == '_')
        return like(s + step, s_end, p + 1, p_end);
    return *s == *p && like(s + 1, s_end, p + 1, p_end);
}

static void likes(struct strings *s)
{
    bool matches = pipe_fn_like(s->b, s->a);
    if (s->a.size <= 8 && s->b.size <= 12)
        FUZZ_CHECK(matches ==
                   like(s->b.data, s->b.data + s->b.size, s->a.data, s->a.data + s->a.size));
}

static void regexes(struct strings *s)
{
    struct pipe_error error = {0};
    /* The compiler refuses it. */
    if (s->a.size >= 2 && memmem(s->a.data, s->a.size, "\\C", 2) != NULL)
        return;
    struct pipe_regex *regex = pipe_regex_compile_str(s->a, &error);
    struct pipe_str out, text = PIPE_STR("<\\0>");
    FUZZ_CHECK(regex != NULL || error.detail[0] != '\0');
    if (regex == NULL)
        return;
    bool matches = pipe_fn_matches(regex, s->b);
    FUZZ_CHECK(pipe_fn_regexp_extract(regex, s->b, 0, &out) == matches);
    for (unsigned group = 0; group <= pipe_regex_groups(regex); group++)
        if (pipe_fn_regexp_extract(regex, s->b, group, &out))
            FUZZ_CHECK(out.size == 0 ||
                       (out.data >= s->b.data && out.data + out.size <= s->b.data + s->b.size));
    if (pipe_regex_check_replacement(regex, text, NULL))
        check_text(pipe_fn_regexp_replace(s->arena, regex, s->b, text));
    if (pipe_regex_check_replacement(regex, s->b, NULL))
        pipe_fn_regexp_replace(s->arena, regex, s->b, s->b);
    pipe_regex_free(regex);
}

static void number_casts(struct strings *s)
{
    int32_t i32;
    int64_t i64, again;
    float f32;
    double f64, same = 0;
    pipe_decimal decimal, equal;
    unsigned scale = s->number % 39, precision = 38 - s->number % (39 - scale);
    precision = precision < scale ? scale : precision;
    precision = precision == 0 ? 1 : precision;
    if (pipe_cast_string_i64(s->b, &i64)) {
        FUZZ_CHECK(pipe_cast_string_i32(s->b, &i32) == (i64 == (int32_t)i64));
        FUZZ_CHECK(pipe_cast_string_i64(pipe_cast_i64_string(s->arena, i64), &again) &&
                   again == i64);
    }
    if (pipe_cast_string_f64(s->b, &f64)) {
        struct pipe_str text = pipe_cast_f64_string(s->arena, f64);
        FUZZ_CHECK(pipe_cast_string_f64(text, &same) && memcmp(&same, &f64, sizeof f64) == 0);
        char *copy = strndup(s->b.data, s->b.size);
        FUZZ_CHECK(strtod(copy, NULL) == f64);
        free(copy);
        if (pipe_cast_f64_decimal(f64, precision, scale, &decimal))
            FUZZ_CHECK(pipe_decimal_fits(decimal, precision));
        pipe_cast_f64_i32(f64, &i32);
        pipe_cast_f64_i64(f64, &i64);
    }
    if (pipe_cast_string_f32(s->b, &f32))
        pipe_cast_f32_string(s->arena, f32);
    if (pipe_cast_string_decimal(s->b, precision, scale, &decimal)) {
        struct pipe_str text = pipe_cast_decimal_string(s->arena, decimal, scale);
        FUZZ_CHECK(pipe_decimal_fits(decimal, precision));
        FUZZ_CHECK(pipe_cast_string_decimal(text, precision, scale, &equal) && equal == decimal);
        pipe_fn_round_decimal(decimal, scale);
        pipe_fn_floor_decimal(decimal, scale);
        pipe_fn_ceil_decimal(decimal, scale);
        pipe_decimal_to_f64(decimal, scale);
        pipe_cast_decimal_f32(decimal, scale);
        pipe_cast_decimal_i32(decimal, scale, &i32);
        pipe_cast_decimal_i64(decimal, scale, &i64);
    }
}

static void other_casts(struct strings *s)
{
    struct pipe_str out;
    bool truth;
    int64_t time;
    uint8_t *bytes = pipe_malloc(s->b.size / 4 * 3 + 1);
    size_t size = 0;
    if (pipe_cast_string_uuid(s->arena, s->b, &out))
        FUZZ_CHECK(pipe_uuid_is_lower(out));
    pipe_cast_string_bool(s->b, &truth);
    pipe_cast_string_duration(s->b, &time);
    pipe_cast_string_ts_ms(s->b, &time);
    if (pipe_base64_read(s->b, bytes, &size)) {
        struct pipe_buf text = {0};
        pipe_base64_add(&text, bytes, size);
        FUZZ_CHECK(pipe_str_equal(pipe_str_of(text.data, text.size), s->b));
        pipe_buf_free(&text);
    }
    free(bytes);
}

static void texts(struct strings *s)
{
    struct pipe_str a = s->a, b = s->b;
    int64_t n = (int8_t)s->number;
    check_text(pipe_fn_lower(s->arena, b));
    check_text(pipe_fn_upper(s->arena, b));
    check_text(pipe_fn_trim(b));
    check_text(pipe_fn_substring(b, n, 3));
    check_text(pipe_fn_substring(b, INT64_MIN, INT64_MAX));
    check_text(pipe_fn_substring(b, n, INT64_MAX));
    check_text(pipe_fn_substring_from(b, n));
    check_text(pipe_fn_left(b, n));
    check_text(pipe_fn_right(b, n));
    check_text(pipe_fn_split_part(b, a, n));
    check_text(pipe_fn_replace(s->arena, b, a, PIPE_STR("xyz")));
    check_text(pipe_fn_concat2(s->arena, a, b));
    FUZZ_CHECK(pipe_fn_length(b) >= 0 && pipe_fn_length(b) <= (int64_t)b.size);
    FUZZ_CHECK(!pipe_fn_starts_with(b, a) || pipe_fn_contains(b, a));
    FUZZ_CHECK(!pipe_fn_ends_with(b, a) || pipe_fn_contains(b, a));
    struct pipe_quoted quoted = pipe_quote(b.data, b.size);
    check_text(pipe_str_of(quoted.text, strlen(quoted.text)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const functions[])(struct strings *) = {times,        paths,       likes, regexes,
                                                          number_casts, other_casts, texts};
    const uint8_t *at = data, *end = data + size, *text;
    uint8_t choice = fuzz_byte(&at, end), number = fuzz_byte(&at, end);
    struct pipe_arena arena;
    size_t first = fuzz_take(&at, end, number, &text);
    uint8_t *a = fuzz_copy(text, first), *b = fuzz_copy(at, (size_t)(end - at));
    struct strings strings = {pipe_str_of(a, first), pipe_str_of(b, (size_t)(end - at)), &arena,
                              number};
    pipe_arena_init(&arena, 1 << 20);
    /* Strings were checked when they were read. */
    if (choice < sizeof functions / sizeof *functions && pipe_utf8_check(a, first) &&
        pipe_utf8_check(b, strings.b.size))
        functions[choice](&strings);
    pipe_arena_free(&arena);
    free(a);
    free(b);
    return 0;
}
