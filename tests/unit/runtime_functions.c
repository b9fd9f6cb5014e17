/* Unit tests of functions.h: every function and cast of the language, at its boundaries. */
#include "../../runtime/functions.h"

#include <setjmp.h>
#include <stdlib.h>

#include <cmocka.h>

static struct pipe_arena arena;

static struct pipe_str str(const char *text)
{
    return pipe_str_of(text, strlen(text));
}

static void check(struct pipe_str got, const char *expected)
{
    assert_int_equal(got.size, strlen(expected));
    if (got.size > 0)
        assert_memory_equal(got.data, expected, got.size);
}

static void test_lengths_and_case(void **state)
{
    (void)state;
    assert_int_equal(pipe_fn_length(str("")), 0);
    assert_int_equal(pipe_fn_length(str("aé€😀")), 4);
    assert_int_equal(pipe_fn_octet_length(str("aé€😀")), 10);
    check(pipe_fn_upper(&arena, str("")), "");
    check(pipe_fn_upper(&arena, str("abc xyz 019@[`{")), "ABC XYZ 019@[`{");
    check(pipe_fn_lower(&arena, str("ABC XYZ 019@[`{")), "abc xyz 019@[`{");
    check(pipe_fn_upper(&arena, str("straße éя")), "STRAßE ÉЯ"); /* one to one: ß stays */
    check(pipe_fn_upper(&arena, str("ɐ")), "Ɐ");                 /* two bytes become three */
    check(pipe_fn_lower(&arena, str("\xe2\x84\xaa")), "k"); /* the Kelvin sign: three become one */
    check(pipe_fn_lower(&arena, str("ÀΩ")), "àω");
}

static void test_trim(void **state)
{
    (void)state;
    check(pipe_fn_trim(str("  a b  ")), "a b");
    check(pipe_fn_trim(str("\t a\n")), "\t a\n");
    check(pipe_fn_ltrim(str("  a ")), "a ");
    check(pipe_fn_rtrim(str(" a  ")), " a");
    check(pipe_fn_trim(str("    ")), "");
    check(pipe_fn_trim(str("")), "");
}

static void test_substring(void **state)
{
    (void)state;
    check(pipe_fn_substring(str("abc"), 0, 2), "a");
    check(pipe_fn_substring(str("abc"), 1, 2), "ab");
    check(pipe_fn_substring(str("abc"), 2, 100), "bc");
    check(pipe_fn_substring(str("abc"), 4, 1), "");
    check(pipe_fn_substring(str("abc"), -5, 6), "");
    check(pipe_fn_substring(str("abc"), -5, 7), "a");
    check(pipe_fn_substring(str("abc"), 2, -1), "");
    check(pipe_fn_substring(str("abc"), INT64_MIN, INT64_MAX), "");
    check(pipe_fn_substring(str("abc"), INT64_MAX, INT64_MAX), "");
    check(pipe_fn_substring(str("abc"), 1, INT64_MAX), "abc");
    check(pipe_fn_substring(str("aé€😀b"), 3, 2), "€😀");
    check(pipe_fn_substring_from(str("aé€"), 2), "é€");
    check(pipe_fn_substring_from(str("abc"), -7), "abc");
    check(pipe_fn_left(str("é€b"), 2), "é€");
    check(pipe_fn_left(str("abc"), 0), "");
    check(pipe_fn_left(str("abc"), -1), "");
    check(pipe_fn_right(str("é€b"), 2), "€b");
    check(pipe_fn_right(str("abc"), INT64_MAX), "abc");
    check(pipe_fn_right(str("abc"), 0), "");
    check(pipe_fn_right(str(""), 3), "");
}

static void test_in(void **state)
{
    (void)state;
    static const int64_t numbers[] = {INT64_MIN, -3, 0, 7, 7, INT64_MAX};
    static const int32_t ints[] = {-1, 2};
    static const uint32_t symbols[] = {0, 3, UINT32_MAX};
    static const pipe_decimal decimals[] = {(pipe_decimal)INT64_MIN * 4, 10};
    static const struct pipe_str texts[] = {{"", 0}, {"a", 1}, {"a\0b", 3}, {"ab", 2}, {"é", 2}};
    for (size_t i = 0; i < 6; i++)
        assert_true(pipe_fn_in_i64(numbers[i], numbers, 6));
    assert_false(pipe_fn_in_i64(1, numbers, 6));
    assert_false(pipe_fn_in_i64(INT64_MAX, numbers, 5));
    assert_false(pipe_fn_in_i64(INT64_MAX, numbers, 0));
    assert_true(pipe_fn_in_i32(2, ints, 2));
    assert_false(pipe_fn_in_i32(-2, ints, 2));
    assert_true(pipe_fn_in_u32(UINT32_MAX, symbols, 3));
    assert_false(pipe_fn_in_u32(1, symbols, 3));
    assert_true(pipe_fn_in_decimal(decimals[0], decimals, 2));
    assert_false(pipe_fn_in_decimal(0, decimals, 2));
    for (size_t i = 0; i < 5; i++)
        assert_true(pipe_fn_in_string(texts[i], texts, 5));
    assert_true(pipe_fn_in_string((struct pipe_str){NULL, 0}, texts, 5));
    assert_false(pipe_fn_in_string(str("aa"), texts, 5));
    assert_false(pipe_fn_in_string(str("b"), texts, 5));
}

static void test_search(void **state)
{
    (void)state;
    assert_true(pipe_fn_starts_with(str("abc"), str("ab")));
    assert_true(pipe_fn_starts_with(str(""), str("")));
    assert_false(pipe_fn_starts_with(str("a"), str("ab")));
    assert_true(pipe_fn_ends_with(str("abc"), str("bc")));
    assert_false(pipe_fn_ends_with(str("abc"), str("ab")));
    assert_true(pipe_fn_contains(str("abc"), str("")));
    assert_true(pipe_fn_contains(str("abc"), str("b")));
    assert_false(pipe_fn_contains(str(""), str("b")));
    check(pipe_fn_replace(&arena, str("aXbXc"), str("X"), str("--")), "a--b--c");
    check(pipe_fn_replace(&arena, str("aaa"), str("aa"), str("b")), "ba");
    check(pipe_fn_replace(&arena, str("abc"), str(""), str("b")), "abc");
    check(pipe_fn_replace(&arena, str("XX"), str("X"), str("")), "");
    check(pipe_fn_split_part(str("a,b,,c"), str(","), 1), "a");
    check(pipe_fn_split_part(str("a,b,,c"), str(","), 3), "");
    check(pipe_fn_split_part(str("a,b,,c"), str(","), 4), "c");
    check(pipe_fn_split_part(str("a,b,,c"), str(","), 5), "");
    check(pipe_fn_split_part(str("a,b"), str(","), 0), "");
    check(pipe_fn_split_part(str("a::b"), str("::"), 2), "b");
    check(pipe_fn_split_part(str("ab"), str(""), 1), "ab");
    check(pipe_fn_split_part(str(""), str(","), 1), "");
    check(pipe_fn_concat2(&arena, str("a"), str("é")), "aé");
    check(pipe_fn_concat(&arena, (struct pipe_str[]){str("a"), str(""), str("c")}, 3), "ac");
    check(pipe_fn_greatest_string(str("a"), str("ab")), "ab");
    check(pipe_fn_least_string(str("a"), str("ab")), "a");
}

static void test_like(void **state)
{
    (void)state;
    static const struct {
        const char *text, *pattern;
        bool like;
    } cases[] = {{"", "", true},       {"", "%", true},          {"a", "", false},
                 {"abc", "abc", true}, {"abc", "a%", true},      {"abc", "%c", true},
                 {"abc", "%b%", true}, {"abc", "a_c", true},     {"aéc", "a_c", true},
                 {"a😀c", "a_c", true}, {"ac", "a_c", false},     {"abc", "%%%", true},
                 {"abc", "___", true}, {"abc", "____", false},   {"aXbXc", "%X_", true},
                 {"aab", "%ab", true}, {"abab", "%ab%ab", true}, {"abab", "%abb", false},
                 {"a%c", "a%c", true}, {"é", "_", true},         {"é", "__", false},
                 {"abc", "ABC", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(pipe_fn_like(str(cases[i].text), str(cases[i].pattern)), cases[i].like);
}

static struct pipe_str replaced(const char *text, const char *pattern, const char *with)
{
    struct pipe_regex *regex = pipe_regex_compile(pattern, NULL);
    assert_non_null(regex);
    struct pipe_str out = pipe_fn_regexp_replace(&arena, regex, str(text), str(with));
    pipe_regex_free(regex);
    return out;
}

static void test_regexes(void **state)
{
    (void)state;
    struct pipe_error error;
    struct pipe_str out;
    assert_null(pipe_regex_compile("a(", &error));
    assert_true(strlen(error.detail) > 0);
    assert_null(pipe_regex_compile("((((((x{100}){100}){100}){100}){100}){100})", &error));
    assert_null(pipe_regex_compile("(a)\\1", &error));
    struct pipe_regex *regex = pipe_regex_compile("(\\d+)-(x)?", &error);
    assert_non_null(regex);
    assert_int_equal(pipe_regex_groups(regex), 2);
    assert_true(pipe_fn_matches(regex, str("ab 12-")));
    assert_false(pipe_fn_matches(regex, str("ab 12")));
    assert_false(pipe_fn_matches(regex, pipe_str_of(NULL, 0)));
    assert_true(pipe_fn_regexp_extract(regex, str("ab 12-x"), 0, &out));
    check(out, "12-x");
    assert_true(pipe_fn_regexp_extract(regex, str("ab 12-x"), 1, &out));
    check(out, "12");
    assert_false(pipe_fn_regexp_extract(regex, str("ab 12-"), 2, &out));
    assert_false(pipe_fn_regexp_extract(regex, str("none"), 0, &out));
    assert_false(pipe_fn_regexp_extract(regex, str("12-"), 3, &out));
    assert_false(pipe_fn_regexp_extract(regex, str("12-"), -1, &out));
    assert_true(pipe_regex_check_replacement(regex, str("\\1/\\2 \\\\"), &error));
    assert_false(pipe_regex_check_replacement(regex, str("\\3"), &error));
    pipe_regex_free(regex);
    regex = pipe_regex_compile("(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)(k)", NULL);
    assert_true(pipe_fn_regexp_extract(regex, str("abcdefghijk"), 11, &out));
    check(out, "k");
    pipe_regex_free(regex);
    check(replaced("12-34", "(\\d)(\\d)", "\\2\\1"), "21-43");
    check(replaced("baac", "a*", "X"), "XbXcX");
    check(replaced("éé", "", "-"), "-é-é-");
    check(replaced("", "x*", "-"), "-");
    check(replaced("aaa", "^a", "b"), "baa");
    check(replaced("abc", "x", "y"), "abc");
    check(replaced("a.b", "\\.", "\\\\"), "a\\b");
}

static void test_rounding(void **state)
{
    (void)state;
    assert_true(pipe_fn_round_f64(2.5) == 3 && pipe_fn_round_f64(-2.5) == -3);
    assert_true(pipe_fn_floor_f64(-0.5) == -1 && pipe_fn_ceil_f64(0.5) == 1);
    assert_true(pipe_fn_round_decimal(250, 2) == 3 && pipe_fn_round_decimal(-250, 2) == -3);
    assert_true(pipe_fn_round_decimal(249, 2) == 2);
    assert_true(pipe_fn_floor_decimal(-1, 2) == -1 && pipe_fn_floor_decimal(100, 2) == 1);
    assert_true(pipe_fn_ceil_decimal(1, 2) == 1 && pipe_fn_ceil_decimal(-199, 2) == -1);
    assert_true(pipe_fn_abs_decimal(-5) == 5);
    assert_true(pipe_fn_greatest_i64(-1, 2) == 2 && pipe_fn_least_f64(-1, 2) == -1);
}

static int64_t at(const char *text)
{
    int64_t ms;
    assert_true(pipe_ts_ms_read(str(text), &ms));
    return ms;
}

static void test_dates(void **state)
{
    (void)state;
    enum pipe_time_unit unit;
    int64_t t = at("1969-12-30T13:45:59.999Z"); /* a Tuesday */
    assert_true(pipe_time_unit_of(str("week"), &unit) && unit == PIPE_UNIT_WEEK);
    assert_false(pipe_time_unit_of(str("weeks"), &unit));
    assert_int_equal(pipe_fn_date_trunc_ms(PIPE_UNIT_SECOND, t), at("1969-12-30T13:45:59Z"));
    assert_int_equal(pipe_fn_date_trunc_ms(PIPE_UNIT_HOUR, t), at("1969-12-30T13:00:00Z"));
    assert_int_equal(pipe_fn_date_trunc_ms(PIPE_UNIT_DAY, t), at("1969-12-30T00:00:00Z"));
    assert_int_equal(pipe_fn_date_trunc_ms(PIPE_UNIT_WEEK, t), at("1969-12-29T00:00:00Z"));
    assert_int_equal(pipe_fn_date_trunc_ms(PIPE_UNIT_MONTH, t), at("1969-12-01T00:00:00Z"));
    assert_int_equal(pipe_fn_date_trunc_us(PIPE_UNIT_YEAR, t * 1000),
                     at("1969-01-01T00:00:00Z") * 1000);
    assert_int_equal(pipe_fn_date_trunc_ms(PIPE_UNIT_WEEK, PIPE_TS_MS_MIN), PIPE_TS_MS_MIN);
    assert_int_equal(pipe_fn_date_part_ms(PIPE_UNIT_DOW, t), 2);
    assert_int_equal(pipe_fn_date_part_ms(PIPE_UNIT_YEAR, t), 1969);
    assert_int_equal(pipe_fn_date_part_ms(PIPE_UNIT_MONTH, t), 12);
    assert_int_equal(pipe_fn_date_part_ms(PIPE_UNIT_DAY, t), 30);
    assert_int_equal(pipe_fn_date_part_us(PIPE_UNIT_HOUR, t * 1000), 13);
    assert_int_equal(pipe_fn_date_part_ms(PIPE_UNIT_MINUTE, t), 45);
    assert_int_equal(pipe_fn_date_part_ms(PIPE_UNIT_SECOND, t), 59);
    assert_int_equal(pipe_fn_date_part_date(PIPE_UNIT_DOW, 3), 7); /* 1970-01-04 */
}

static void check_parse(const char *text, const char *format, const char *expected)
{
    int64_t ms;
    bool good = pipe_fn_parse_timestamp_ms(str(text), str(format), &ms);
    assert_int_equal(good, expected != NULL);
    if (good)
        assert_int_equal(ms, at(expected));
}

static void test_time_formats(void **state)
{
    (void)state;
    struct pipe_error error;
    assert_true(pipe_time_format_check(str("%Y%m%d %H:%M:%S.%f %b %z %%"), &error));
    assert_false(pipe_time_format_check(str("%Q"), &error));
    assert_false(pipe_time_format_check(str("abc%"), &error));
    check_parse("2019-10-01 00:00:00 UTC", "%Y-%m-%d %H:%M:%S UTC", "2019-10-01T00:00:00Z");
    check_parse("01/Oct/2019:13:55:36 -0700", "%d/%b/%Y:%H:%M:%S %z", "2019-10-01T20:55:36Z");
    check_parse("2019-10-01T00:00:00.5+02:00", "%Y-%m-%dT%H:%M:%S.%f%z", "2019-09-30T22:00:00.5Z");
    check_parse("12:30", "%H:%M", "1970-01-01T12:30:00Z");
    check_parse("100% 2020", "100%% %Y", "2020-01-01T00:00:00Z");
    check_parse("2019-2019", "%Y-%Y", "2019-01-01T00:00:00Z");
    check_parse("2019-2020", "%Y-%Y", NULL);
    check_parse("2019-02-29", "%Y-%m-%d", NULL);
    check_parse("2019-10-1", "%Y-%m-%d", NULL);
    check_parse("2019-10-01 ", "%Y-%m-%d", NULL);
    check_parse("24:00", "%H:%M", NULL);
    check_parse("1.1234567", "1.%f", NULL);
    check_parse("0001 +0100", "%Y %z", NULL);
    check_parse("", "", "1970-01-01T00:00:00Z");
    int64_t t = at("2026-01-31T10:07:09.120Z");
    check(pipe_fn_format_timestamp_ms(&arena, t, str("%d %b %Y %H:%M:%S.%f %z %% %m")),
          "31 Jan 2026 10:07:09.120 +0000 % 01");
    check(pipe_fn_format_timestamp_us(&arena, t * 1000 + 3, str("%f%f%f")), "120003120003120003");
    check(pipe_fn_format_timestamp_ms(&arena, t, str("")), "");
}

static void check_json(const char *text, const char *path, const char *expected)
{
    struct pipe_str out;
    bool present = pipe_fn_json_value(&arena, str(text), str(path), &out);
    assert_int_equal(present, expected != NULL);
    if (present)
        check(out, expected);
}

static void test_json_value(void **state)
{
    (void)state;
    const char *text =
        " {\"a\": {\"b\": [1, {\"c\": \"x\\n\\u00e9\\ud83d\\ude00\"}, null]}, \"t\": true, "
        "\"\\u0061b\": -1.50, \"e\": [], \"d\": 1, \"d\": 2} ";
    check_json(text, "a.b[0]", "1");
    check_json(text, "a.b[1].c", "x\né😀");
    check_json(text, "a.b[2]", NULL);
    check_json(text, "a.b[3]", NULL);
    check_json(text, "a.b", NULL);
    check_json(text, "a", NULL);
    check_json(text, "e[0]", NULL);
    check_json(text, "t", "true");
    check_json(text, "ab", "-1.50");
    check_json(text, "d", "1");
    check_json(text, "t.x", NULL);
    check_json("[[1,2],[3]]", "[1][0]", "3");
    check_json("\"s\"", "", "s");
    check_json("null", "", NULL);
    check_json("{\"a\":1", "a", NULL);
    check_json("{\"a\":1} x", "a", NULL);
    check_json("", "", NULL);
    check_json("{\"a\":\"\\ud800\"}", "a", NULL);
    check_json("{\"a\":01}", "a", NULL);
    check_json("[1,]", "[0]", NULL);
    char deep[400];
    memset(deep, '[', 200);
    memset(deep + 200, ']', 199);
    deep[399] = '\0';
    check_json(deep, "[0]", NULL);
    struct pipe_error error;
    assert_true(pipe_json_path_check(str("a.b[0].c"), &error));
    assert_true(pipe_json_path_check(str(""), &error));
    assert_true(pipe_json_path_check(str("[2]"), &error));
    static const char *const bad[] = {".a",   "a.",    "a..b",  "a[", "a[]",
                                      "a[x]", "a[-1]", "a[1]b", "a[1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(pipe_json_path_check(str(bad[i]), &error));
}

static void test_nested_gets(void **state)
{
    (void)state;
    int64_t items[] = {5, 6};
    struct pipe_array array = {items, 2};
    assert_int_equal(*(const int64_t *)pipe_fn_get_array(array, 1, 8), 6);
    assert_null(pipe_fn_get_array(array, 2, 8));
    assert_null(pipe_fn_get_array(array, -1, 8));
    assert_null(pipe_fn_get_array(array, INT64_MAX, 8));
    struct {
        struct pipe_str key;
        int64_t value;
    } entries[] = {{str("a"), 1}, {str("b"), 2}};
    struct pipe_map map = {entries, 2};
    assert_int_equal(*(const int64_t *)pipe_fn_get_map(map, str("b"), sizeof entries[0]), 2);
    assert_null(pipe_fn_get_map(map, str("c"), sizeof entries[0]));
}

static void test_hash_functions(void **state)
{
    (void)state;
    assert_true(pipe_fn_hash64(str("abc")) == (int64_t)0x44BC2CF5AD770999u);
    check(pipe_fn_sha256(&arena, str("")),
          "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check(pipe_fn_hmac_sha256(&arena, str("what do ya want for nothing?"), str("Jefe")),
          "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

static void test_casts(void **state)
{
    (void)state;
    static const char *const symbols[] = {"RED", "GREEN"};
    const struct pipe_type color = {.kind = PIPE_ENUM, .symbols = symbols, .symbol_count = 2};
    bool b;
    int32_t i;
    int64_t l;
    double d;
    float f;
    uint32_t e;
    pipe_decimal x;
    struct pipe_str s;
    assert_true(pipe_cast_string_bool(str("true"), &b) && b);
    assert_false(pipe_cast_string_bool(str("TRUE"), &b));
    assert_true(pipe_cast_string_i32(str("+7"), &i) && i == 7);
    assert_false(pipe_cast_string_i32(str("2147483648"), &i));
    assert_false(pipe_cast_string_i64(str(" 1"), &l));
    assert_true(pipe_cast_string_f64(str("+1.5e3"), &d) && d == 1500);
    assert_false(pipe_cast_string_f64(str("+-1"), &d));
    assert_false(pipe_cast_string_f64(str("NaN"), &d));
    assert_true(pipe_cast_string_decimal(str("+1.5"), 5, 2, &x) && x == 150);
    assert_false(pipe_cast_string_decimal(str("1.505"), 5, 2, &x));
    assert_true(pipe_cast_string_enum(str("GREEN"), &color, &e) && e == 1);
    assert_false(pipe_cast_string_enum(str("GREE"), &color, &e));
    assert_true(pipe_cast_string_uuid(&arena, str("0F8FAD5B-D9CB-469F-A165-70867728950E"), &s));
    check(s, "0f8fad5b-d9cb-469f-a165-70867728950e");
    assert_false(pipe_cast_bytes_string(str("\xff"), &s));
    assert_true(pipe_cast_f64_i64(-2.5, &l) && l == -3);
    assert_true(pipe_cast_f64_i64(-0x1p63, &l) && l == INT64_MIN);
    assert_false(pipe_cast_f64_i64(0x1p63, &l));
    assert_true(pipe_cast_f64_i32(2147483647.4, &i) && i == INT32_MAX);
    assert_false(pipe_cast_f64_i32(2147483647.5, &i));
    assert_false(pipe_cast_f64_f32(1e39, &f));
    assert_true(pipe_cast_i64_decimal(5, 3, 2, &x) && x == 500);
    assert_false(pipe_cast_i64_decimal(10, 3, 2, &x));
    assert_true(pipe_cast_decimal_i32(-150, 2, &i) && i == -2);
    assert_false(pipe_cast_decimal_i64((pipe_decimal)INT64_MAX * 10 + 5, 1, &l));
    assert_true(pipe_cast_decimal_f32(1, 1) == 0.1f);
    assert_false(pipe_cast_i64_ts_ms(PIPE_TS_MS_MAX + 1, &l));
    assert_false(pipe_cast_i64_date(INT64_MAX, &i));
    assert_int_equal(pipe_cast_ts_us_ts_ms(-1), -1);
    assert_int_equal(pipe_cast_ts_ms_date(-1), -1);
    check(pipe_cast_i64_string(&arena, INT64_MIN), "-9223372036854775808");
    check(pipe_cast_f64_string(&arena, 0.5), "0.5");
    check(pipe_cast_decimal_string(&arena, -5, 2), "-0.05");
    check(pipe_cast_date_string(&arena, -1), "1969-12-31");
    check(pipe_cast_ts_us_string(&arena, 1), "1970-01-01T00:00:00.000001Z");
    check(pipe_cast_enum_string(1, &color), "GREEN");
    check(pipe_cast_bool_string(false), "false");
}

static void test_bounded_results(void **state)
{
    (void)state;
    struct pipe_arena small;
    pipe_arena_init(&small, 1000);
    char text[400];
    memset(text, 'a', sizeof text);
    struct pipe_str many = pipe_str_of(text, sizeof text), by = str("aaaaaa");
    struct pipe_str parts[] = {many, many, many};
    struct pipe_regex *regex = pipe_regex_compile("a", NULL);
    assert_true(pipe_is_too_long(pipe_fn_replace_within(&small, many, str("a"), by)));
    assert_true(pipe_is_too_long(pipe_fn_regexp_replace_within(&small, regex, many, by)));
    assert_true(pipe_is_too_long(pipe_fn_concat_within(&small, parts, 3)));
    check(pipe_fn_replace_within(&small, str("ab"), str("b"), str("c")), "ac");
    check(pipe_fn_concat_within(&small, (struct pipe_str[]){str("ab"), str("c")}, 2), "abc");
    assert_false(pipe_is_too_long(pipe_fn_replace_within(&small, str(""), str("b"), str("c"))));
    /* What the program bounds is never refused, however little room there is. */
    assert_int_equal(pipe_fn_replace(&small, many, str("a"), by).size, 6 * sizeof text);
    assert_int_equal(pipe_fn_regexp_replace(&small, regex, many, by).size, 6 * sizeof text);
    assert_int_equal(pipe_fn_concat(&small, parts, 3).size, 3 * sizeof text);
    check(pipe_cast_i64_string(&small, 12), "12");
    assert_false(small.overflow);
    assert_null(pipe_arena_alloc(&small, 16));
    pipe_regex_free(regex);
    pipe_arena_free(&small);
}

static int reset(void **state)
{
    (void)state;
    pipe_arena_free(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_lengths_and_case, reset),
        cmocka_unit_test_teardown(test_trim, reset),
        cmocka_unit_test_teardown(test_substring, reset),
        cmocka_unit_test(test_in),
        cmocka_unit_test_teardown(test_search, reset),
        cmocka_unit_test_teardown(test_like, reset),
        cmocka_unit_test_teardown(test_regexes, reset),
        cmocka_unit_test_teardown(test_rounding, reset),
        cmocka_unit_test_teardown(test_dates, reset),
        cmocka_unit_test_teardown(test_time_formats, reset),
        cmocka_unit_test_teardown(test_json_value, reset),
        cmocka_unit_test_teardown(test_nested_gets, reset),
        cmocka_unit_test_teardown(test_hash_functions, reset),
        cmocka_unit_test_teardown(test_casts, reset),
        cmocka_unit_test_teardown(test_bounded_results, reset),
    };
    pipe_arena_init(&arena, 1 << 20);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
