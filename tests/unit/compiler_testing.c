/* compiler_testing.c: cells of inline tests as constants of the language, and multisets compared.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "testing.h"

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

/* What the cell is written as; NULL: it can't be. In the program's arena. */
static const char *written(struct program *program, const char *cell, const struct type *type,
                           const struct constant *style)
{
    struct text out = {0};
    bool good = test_constant(program, cell, type, style, &out);
    const char *text = good ? arena_strndup(program->arena, out.data, out.size) : NULL;
    text_free(&out);
    return text;
}

static void expect_as(struct program *program, enum type_kind kind, const char *cell,
                      const char *constant)
{
    const char *got = written(program, cell, type_simple(kind), NULL);
    if (constant == NULL)
        assert_null(got);
    else
        assert_string_equal(got, constant);
}

static void test_scalars(void **state)
{
    struct program *program = *state;
    expect_as(program, TYPE_INT64, "-9223372036854775808", "-9223372036854775808");
    expect_as(program, TYPE_BOOL, "true", "true");
    expect_as(program, TYPE_STRING, "null", "null");
    expect_as(program, TYPE_STRING, "\"null\"", "'null'");
    expect_as(program, TYPE_STRING, "\"it's \\\"x\\\" \\\\\"", "'it''s \"x\" \\'");
    expect_as(program, TYPE_STRING, "\"a\\nb\"", NULL);
    expect_as(program, TYPE_STRING, "\"a\\u0000b\"", NULL);
    expect_as(program, TYPE_UUID, "\"00000000-0000-0000-0000-000000000000\"",
              "'00000000-0000-0000-0000-000000000000'");
    expect_as(program, TYPE_DATE, "\"2026-01-31\"", "'2026-01-31'");
    expect_as(program, TYPE_DURATION, "90000", "90s");
    expect_as(program, TYPE_DURATION, "120000", "2m");
    expect_as(program, TYPE_DURATION, "0", "0s");
    expect_as(program, TYPE_DURATION, "-5", "-5");
    assert_string_equal(written(program, "\"-0.50\"", type_decimal(program, 5, 2), NULL), "-0.50");
}

static void test_floats(void **state)
{
    struct program *program = *state;
    expect_as(program, TYPE_FLOAT64, "0.1", "0.1");
    expect_as(program, TYPE_FLOAT64, "1e+21", "1000000000000000000000");
    expect_as(program, TYPE_FLOAT64, "-1.25e-7", "-0.000000125");
    expect_as(program, TYPE_FLOAT64, "1.5e3", "1500");
    expect_as(program, TYPE_FLOAT64, "1.2345e2", "123.45");
    expect_as(program, TYPE_FLOAT64, "1e300", NULL);
    expect_as(program, TYPE_FLOAT64, "1e-300", NULL);
}

static void test_instants(void **state)
{
    struct program *program = *state;
    const struct constant duration = {.kind = CONST_DURATION}, string = {.kind = CONST_STRING};
    const char *early = "\"1970-01-01T00:00:10.000Z\"", *late = "\"2026-01-31T10:00:00.000Z\"";
    const struct type *ms = type_simple(TYPE_TIMESTAMP_MS);
    assert_string_equal(written(program, early, ms, NULL), "10s");
    assert_string_equal(written(program, early, ms, &duration), "10s");
    assert_string_equal(written(program, early, ms, &string), "'1970-01-01T00:00:10.000Z'");
    assert_string_equal(written(program, late, ms, &duration), "'2026-01-31T10:00:00.000Z'");
    expect_as(program, TYPE_TIMESTAMP_US, "\"1970-01-01T00:00:00.001000Z\"", "1ms");
    expect_as(program, TYPE_TIMESTAMP_US, "\"1970-01-01T00:00:00.000001Z\"",
              "'1970-01-01T00:00:00.000001Z'");
    expect_as(program, TYPE_TIMESTAMP_MS, "\"1969-12-31T23:59:59.000Z\"",
              "'1969-12-31T23:59:59.000Z'");
}

static void test_nested(void **state)
{
    struct program *program = *state;
    struct type array = {.kind = TYPE_ARRAY, .element = type_simple(TYPE_INT32)};
    struct type map = {.kind = TYPE_MAP, .element = &array};
    struct field fields[] = {{.name = "a", .type = type_simple(TYPE_STRING)},
                             {.name = "when", .type = &map}};
    struct record_type row = {.name = "r", .fields = fields, .field_count = 2};
    struct type record = {.kind = TYPE_RECORD, .record = &row};
    assert_string_equal(written(program, "[1,2]", &array, NULL), "[1, 2]");
    assert_string_equal(written(program, "{\"k\":[],\"from\":[3]}", &map, NULL),
                        "(k: [], \"from\": [3])");
    assert_null(written(program, "{\"a\\\"b\":[]}", &map, NULL));
    assert_null(written(program, "{\"\":[]}", &map, NULL));
    assert_string_equal(written(program, "{\"a\":\"x\",\"when\":{}}", &record, NULL),
                        "(a: 'x', \"when\": ())");
    assert_null(written(program, "[1", &array, NULL));
}

static void add_row(struct program *program, cells_list *rows, const char *a, const char *b)
{
    struct cells cells = {arena_alloc(program->arena, 2 * sizeof *cells.texts)};
    cells.texts[0] = a;
    cells.texts[1] = b;
    vec_push(program->arena, rows, cells);
}

static void test_multisets(void **state)
{
    struct program *program = *state;
    struct test_expect expect = {.column_count = 2};
    struct difference difference = {0};
    add_row(program, &expect.expected, "1", "x");
    add_row(program, &expect.expected, "1", "x");
    add_row(program, &expect.expected, "2", "y");
    add_row(program, &expect.expected, "3", "z");
    add_row(program, &expect.actual[1], "3", "w"); /* alike */
    add_row(program, &expect.actual[1], "1", "x");
    add_row(program, &expect.actual[1], "4", "v");
    test_difference(program, &expect, 1, &difference);
    assert_int_equal(difference.pairs.count, 1);
    assert_int_equal(difference.pairs.items[0].expected, 3);
    assert_int_equal(difference.pairs.items[0].actual, 0);
    assert_int_equal(difference.missing.count, 2); /* the second of (1, x), and (2, y) */
    assert_int_equal(difference.missing.items[0], 1);
    assert_int_equal(difference.missing.items[1], 2);
    assert_int_equal(difference.unexpected.count, 1);
    assert_int_equal(difference.unexpected.items[0], 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scalars),   cmocka_unit_test(test_floats),
        cmocka_unit_test(test_instants),  cmocka_unit_test(test_nested),
        cmocka_unit_test(test_multisets),
    };
    return cmocka_run_group_tests(tests, open_program, close_program);
}
