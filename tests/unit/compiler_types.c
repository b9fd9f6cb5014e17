/* compiler_types.c: types by name and structure, widening, and the text of instants and dates. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "resolve.h"

static int open_program(void **state)
{
    *state = program_new(".");
    return 0;
}

static int close_program(void **state)
{
    program_free(*state);
    return 0;
}

static void test_names(void **state)
{
    struct program *program = *state;
    assert_string_equal(type_name(program, type_simple(TYPE_INT64)), "int64");
    assert_string_equal(type_name(program, type_decimal(program, 12, 2)), "decimal(12,2)");
    struct type array = {.kind = TYPE_ARRAY, .element = type_simple(TYPE_STRING)};
    assert_string_equal(type_name(program, &array), "array(string)");
    array.element_nullable = true;
    assert_string_equal(type_name(program, &array), "array(string null)");
    struct type fixed = {.kind = TYPE_BYTES, .fixed_bytes = 16};
    assert_string_equal(type_name(program, &fixed), "bytes(16)");
}

static void test_equality(void **state)
{
    struct program *program = *state;
    assert_true(type_equal(type_decimal(program, 12, 2), type_decimal(program, 12, 2)));
    assert_false(type_equal(type_decimal(program, 12, 2), type_decimal(program, 13, 2)));
    const char *letters[] = {"S", "M"}, *turned[] = {"M", "S"};
    struct type a = {.kind = TYPE_ENUM, .symbols = letters, .symbol_count = 2};
    struct type b = {.kind = TYPE_ENUM, .symbols = turned, .symbol_count = 2};
    assert_false(type_equal(&a, &b));
    struct field one[] = {{.name = "x", .type = type_simple(TYPE_INT32)}};
    struct field other[] = {{.name = "x", .type = type_simple(TYPE_INT32), .nullable = true}};
    struct record_type record = {.name = "R", .fields = one, .field_count = 1};
    struct record_type nullable = {.name = "R", .fields = other, .field_count = 1};
    struct type r = {.kind = TYPE_RECORD, .record = &record};
    struct type n = {.kind = TYPE_RECORD, .record = &nullable};
    assert_true(type_equal(&r, &r));
    assert_false(type_equal(&r, &n));
}

static void test_widening(void **state)
{
    struct program *program = *state;
    const struct type *int32 = type_simple(TYPE_INT32), *int64 = type_simple(TYPE_INT64);
    assert_true(type_widens(int32, int64));
    assert_false(type_widens(int64, int32));
    assert_true(type_widens(int64, type_decimal(program, 19, 0)));
    assert_false(type_widens(int64, type_decimal(program, 19, 2)));
    assert_false(type_widens(int32, type_simple(TYPE_FLOAT64)));
    assert_true(type_widens(type_simple(TYPE_TIMESTAMP_MS), type_simple(TYPE_TIMESTAMP_US)));
    const struct type *joined = join_types(program, int32, type_decimal(program, 4, 2));
    assert_int_equal(joined->precision, 12);
    assert_int_equal(joined->scale, 2);
    assert_null(join_types(program, int32, type_simple(TYPE_STRING)));
    assert_null(join_types(program, type_decimal(program, 38, 0), type_decimal(program, 38, 38)));
}

static void test_timestamps(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool micros, good;
        int64_t value;
    } cases[] = {
        {"1970-01-01T00:00:00Z", false, true, 0},
        {"1970-01-01T00:00:00.001Z", false, true, 1},
        {"1970-01-01T00:00:00.000001Z", true, true, 1},
        {"1970-01-01T00:00:00.000001Z", false, false, 0},
        {"1969-12-31T23:59:59.999Z", false, true, -1},
        {"1970-01-01T02:00:00+02:00", false, true, 0},
        {"2000-02-29T12:00:00-00:30", false, true, 951827400000},
        {"0001-01-01T00:00:00Z", false, true, -62135596800000},
        {"0001-01-01T00:00:00+00:01", false, false, 0},
        {"9999-12-31T23:59:59.999Z", false, true, 253402300799999},
        {"1900-02-29T00:00:00Z", false, false, 0},
        {"2026-13-01T00:00:00Z", false, false, 0},
        {"2026-01-01T24:00:00Z", false, false, 0},
        {"2026-01-01T00:00:00", false, false, 0},
        {"2026-01-01T00:00:00.Z", false, false, 0},
        {"2026-01-01T00:00:00Zx", false, false, 0},
        {"", false, false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t value = 0;
        bool good =
            text_to_timestamp(cases[i].text, strlen(cases[i].text), cases[i].micros, &value);
        if (good != cases[i].good)
            fail_msg("%s", cases[i].text);
        if (good)
            assert_int_equal(value, cases[i].value);
    }
}

static void test_dates(void **state)
{
    (void)state;
    int32_t days;
    assert_true(text_to_date("1970-01-02", 10, &days));
    assert_int_equal(days, 1);
    assert_true(text_to_date("0001-01-01", 10, &days));
    assert_int_equal(days, -719162);
    assert_true(text_to_date("9999-12-31", 10, &days));
    assert_int_equal(days, 2932896);
    assert_false(text_to_date("2026-02-30", 10, &days));
    assert_false(text_to_date("2026-2-3", 8, &days));
    assert_false(text_to_date("0000-01-01", 10, &days));
}

static void test_digits(void **state)
{
    (void)state;
    assert_int_equal(digits_of(0), 1);
    assert_int_equal(digits_of(-999), 3);
    __int128 value = 1;
    assert_true(int128_scale(&value, 37));
    assert_int_equal(digits_of(value), 38);
    assert_false(int128_scale(&value, 1));
    value = 0;
    assert_true(int128_scale(&value, 1000));
}

static void test_functions(void **state)
{
    (void)state;
    assert_false(function_find("lower")->is_aggregate);
    assert_true(function_find("sum")->is_aggregate);
    assert_null(function_find("now"));
    size_t plain, folding;
    function_names(false, &plain);
    function_names(true, &folding);
    assert_true(plain >= 30);
    assert_int_equal(folding, 13);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_names, open_program, close_program),
        cmocka_unit_test_setup_teardown(test_equality, open_program, close_program),
        cmocka_unit_test_setup_teardown(test_widening, open_program, close_program),
        cmocka_unit_test(test_timestamps),
        cmocka_unit_test(test_dates),
        cmocka_unit_test(test_digits),
        cmocka_unit_test(test_functions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
