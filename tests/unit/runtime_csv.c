/* Unit tests of the CSV splitter and of rows from and to CSV (row.h). */
#include "runtime_sample_row.h"

#include <setjmp.h>
#include <stdlib.h>

#include <cmocka.h>

static struct pipe_arena arena;
static struct pipe_error error;

static struct pipe_str str(const char *text)
{
    return pipe_str_of(text, strlen(text));
}

/* What the splitter makes of the input fed in chunks of `chunk` bytes: `[a|"b"](x,y)` and
 * `!cause<text>`. */
static void split(const char *input, size_t size, size_t chunk, size_t max, struct pipe_buf *out)
{
    struct pipe_csv_splitter splitter;
    struct pipe_csv_record record;
    size_t at = 0;
    bool finished = false;
    pipe_csv_init(&splitter, max);
    out->size = 0;
    while (!finished) {
        size_t piece = size - at < chunk ? size - at : chunk;
        char *copy =
            malloc(piece > 0 ? piece : 1); /* its own memory: the sanitizer sees steps outside */
        memcpy(copy, input + at, piece);
        at += piece;
        finished = piece == 0;
        if (finished)
            pipe_csv_finish(&splitter);
        else
            pipe_csv_feed(&splitter, copy, piece);
        while (pipe_csv_next(&splitter, &record)) {
            if (record.cause != NULL)
                pipe_buf_printf(out, "!%.9s<%.*s>", record.cause, (int)record.text.size,
                                record.text.data);
            for (size_t i = 0; record.cause == NULL && i < record.field_count; i++)
                pipe_buf_printf(out, "%s%s%.*s%s", i == 0 ? "[" : "|",
                                record.fields[i].quoted ? "\"" : "",
                                (int)record.fields[i].text.size, record.fields[i].text.data,
                                record.fields[i].quoted ? "\"" : "");
            pipe_buf_printf(out, "](%llu,%llu)", (unsigned long long)record.begin,
                            (unsigned long long)record.end);
        }
        free(copy);
    }
    pipe_buf_add_byte(out, 0);
    pipe_csv_free(&splitter);
}

static void check_split(const char *input, size_t size, size_t max, const char *expected)
{
    struct pipe_buf out = {NULL, 0, 0};
    for (size_t chunk = 1; chunk <= size + 1; chunk++) {
        split(input, size, chunk, max, &out);
        assert_string_equal((char *)out.data, expected);
    }
    pipe_buf_free(&out);
}

#define SPLIT(input, expected) check_split(input, sizeof(input) - 1, 100, expected)

static void test_good_records(void **state)
{
    (void)state;
    check_split("", 0, 100, "");
    SPLIT("a,b\n", "[a|b](0,4)");
    SPLIT("a,b", "[a|b](0,3)");
    SPLIT("a,b\r\nc,d\r\n", "[a|b](0,5)[c|d](5,10)");
    SPLIT("\n\n", "[](0,1)[](1,2)");
    SPLIT(",\n", "[|](0,2)");
    SPLIT("a,", "[a|](0,2)");
    SPLIT("\"a,b\",\"c\"\"d\"\n", "[\"a,b\"|\"c\"d\"](0,13)");
    SPLIT("\"\",x\n", "[\"\"|x](0,5)");
    SPLIT("\"a\nb\r\nc\"\r\nd\n", "[\"a\nb\r\nc\"](0,10)[d](10,12)");
    SPLIT("\"\"\"\"\n", "[\"\"\"](0,5)");
    SPLIT("\"a\"", "[\"a\"](0,3)");
    SPLIT("a\rb,c\n", "[a\rb|c](0,6)");
    SPLIT("\xef\xbb\xbf\"a\",b\n", "[\"a\"|b](3,9)");
    SPLIT("\xef\xbb\xbf", "");
    SPLIT("\xef\xbb\n", "[\xef\xbb](0,3)");
    SPLIT("\xef\xbb", "[\xef\xbb](0,2)");
    SPLIT("\xef\xbbx\"\na\n", "!a quote s<\xef\xbbx\">](0,5)[a](5,7)");
}

/* A NUL in quotes is text. */
static void check_nul(const char *input, size_t size, bool good)
{
    struct pipe_csv_splitter splitter;
    struct pipe_csv_record record;
    pipe_csv_init(&splitter, 100);
    pipe_csv_feed(&splitter, input, size);
    assert_true(pipe_csv_next(&splitter, &record));
    assert_int_equal(record.cause == NULL, good);
    if (good)
        assert_non_null(memchr(record.fields[0].text.data, 0, record.fields[0].text.size));
    pipe_csv_free(&splitter);
}

static void test_bad_records(void **state)
{
    (void)state;
    SPLIT("a\"b,c\nd\n", "!a quote s<a\"b,c>](0,6)[d](6,8)");
    SPLIT("\"a\"b,c\nd\n", "!text stan<\"a\"b,c>](0,7)[d](7,9)");
    SPLIT("\"a\"\rb\nd\n", "!text stan<\"a\"\rb>](0,6)[d](6,8)");
    SPLIT("\"a\"\r", "!text stan<\"a\"\r>](0,4)");
    SPLIT("x\n\"a,b\n", "[x](0,2)!a quoted <\"a,b\n>](2,7)");
    struct pipe_buf out = {NULL, 0, 0};
    split("a\0b\nc\n", 6, 2, 100, &out);
    assert_non_null(strstr((char *)out.data, "!a NUL byt<a"));
    check_nul("a\0b,\"c\"\n", 8, false);
    check_nul("\"a\"\"\",\0\n", 8, false);
    check_nul("\"\"\0\n", 4, false); /* behind the quote */
    check_nul("\"a\0\"\"\0\",b\n", 10, true);
    check_nul("\"\0\"\n", 4, true);
    pipe_buf_free(&out);
}

static void test_long_records(void **state)
{
    (void)state;
    check_split("abcde\nf\n", 8, 5, "[abcde](0,6)[f](6,8)");
    check_split("abcde\r\nf\n", 9, 5, "[abcde](0,7)[f](7,9)");
    check_split("abcdef\nf\n", 9, 5, "!the recor<abcde>](0,7)[f](7,9)");
    check_split("abcdef\r\nf\n", 10, 5, "!the recor<abcde>](0,8)[f](8,10)");
    check_split("abcdefghijkl", 12, 5, "!the recor<abcde>](0,12)");
    check_split("abcdef", 6, 5, "!the recor<abcde>](0,6)");
    check_split("\"b\n\n\n\n\n\nc\nd\n", 12, 5, "!the recor<\"b\n\n\n>](0,8)[c](8,10)[d](10,12)");
}

static uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static void test_chunks_never_matter(void **state)
{
    (void)state;
    static const char alphabet[] = "ab,,\"\"\"\n\n\r\xef\xbb\xbf";
    struct pipe_buf whole = {NULL, 0, 0}, parts = {NULL, 0, 0};
    uint64_t seed = 99;
    for (int i = 0; i < 3000; i++) {
        char input[64];
        size_t size = next_random(&seed) % sizeof input, max = next_random(&seed) % 20 + 1;
        for (size_t at = 0; at < size; at++)
            input[at] = alphabet[next_random(&seed) % (sizeof alphabet - 1)];
        split(input, size, 1000, max, &whole);
        for (size_t chunk = 1; chunk < 9; chunk++) {
            split(input, size, chunk, max, &parts);
            assert_string_equal((char *)whole.data, (char *)parts.data);
        }
    }
    pipe_buf_free(&whole);
    pipe_buf_free(&parts);
}

/* --- Rows ---------------------------------------------------------------------------------------
 */

struct plain {
    int32_t n;
    bool n_null;
    struct pipe_str s;
    struct pipe_str t;
    bool t_null;
    double f;
    int64_t at;
    struct pipe_str b;
};
static const struct pipe_column plain_columns[] = {
    NULLABLE(plain, n, &t_int32, true),
    COLUMN(plain, s, &t_string),
    NULLABLE(plain, t, &t_string, true),
    COLUMN(plain, f, &t_float64),
    COLUMN(plain, at, &t_ms),
    COLUMN(plain, b, &t_bytes),
};
static const struct pipe_row_type plain_type = {"plain", plain_columns, 6, sizeof(struct plain)};

static bool read_line(const char *line, const uint32_t *positions, size_t expected,
                      struct plain *row)
{
    struct pipe_csv_splitter splitter;
    struct pipe_csv_record record;
    pipe_csv_init(&splitter, 1000);
    pipe_csv_feed(&splitter, line, strlen(line));
    pipe_csv_finish(&splitter);
    assert_true(pipe_csv_next(&splitter, &record));
    bool good = pipe_row_from_csv(&plain_type, record.fields, record.field_count, expected,
                                  positions, &arena, row, &error);
    if (good) {
        struct plain copy;
        assert_true(pipe_row_copy(&plain_type, row, &arena, &copy));
        *row = copy;
    }
    pipe_csv_free(&splitter);
    return good;
}

static void test_rows(void **state)
{
    (void)state;
    struct plain row;
    struct pipe_buf buf = {NULL, 0, 0};
    static const char *const lines[][2] = {
        {"+5,a,b,1.5,0,AAE=", "5,a,b,1.5,1970-01-01T00:00:00.000Z,AAE=\n"},
        {",,,-2,1970-01-01T00:00:00+01:00,\"\"", ",\"\",,-2,1969-12-31T23:00:00.000Z,\"\"\n"},
        {"\"7\",\"\",\"\",\"1\",\"5\",\"AA==\"", "7,\"\",\"\",1,1970-01-01T00:00:00.005Z,AA==\n"},
        {"1,\"x,\"\"y\",\"l\nm\",0,0,AA==",
         "1,\"x,\"\"y\",\"l\nm\",0,1970-01-01T00:00:00.000Z,AA==\n"},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        if (!read_line(lines[i][0], NULL, 6, &row))
            fail_msg("%s: %s", error.field, error.detail);
        buf.size = 0;
        pipe_row_to_csv(&plain_type, &row, &buf);
        pipe_buf_add_byte(&buf, 0);
        assert_string_equal((char *)buf.data, lines[i][1]);
    }
    static const char *const bad[][2] = {
        {"1,a,b,1,0", ""},
        {"1,a,b,1,0,AA==,x", ""},
        {"\"\",a,b,1,0,AA==", "n"},
        {"1 ,a,b,1,0,AA==", "n"},
        {"2147483648,a,b,1,0,AA==", "n"},
        {"1,\xff,b,1,0,AA==", "s"},
        {"1,a,b,,0,AA==", "f"},
        {"1,a,b,inf,0,AA==", "f"},
        {"1,a,b,1,2020-01-01,AA==", "at"},
        {"1,a,b,1,0,", "b"},
        {"1,a,b,1,0,A", "b"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (read_line(bad[i][0], NULL, 6, &row))
            fail_msg("taken: %s", bad[i][0]);
        assert_string_equal(error.field, bad[i][1]);
    }
    assert_false(read_line("1 ,a,b,1,0,AA==", NULL, 6, &row));
    assert_string_equal(error.detail, "'1 ' is no int32 (an integer in range)");
    assert_false(read_line("1", NULL, 6, &row));
    assert_string_equal(error.detail, "the row has 1 field where 6 are expected");
    buf.size = 0;
    pipe_csv_header(&plain_type, &buf);
    pipe_buf_add_byte(&buf, 0);
    assert_string_equal((char *)buf.data, "n,s,t,f,at,b\n");
    pipe_buf_free(&buf);
}

static void test_header(void **state)
{
    (void)state;
    struct plain row;
    uint32_t positions[6];
    struct pipe_csv_field header[8] = {{str("f"), false},  {str("b"), true},  {str("x"), false},
                                       {str("at"), false}, {str("t"), false}, {str("n"), false},
                                       {str("s"), false},  {str("s"), false}};
    assert_true(pipe_csv_positions(&plain_type, NULL, 0, header, 7, positions, &error));
    assert_true(read_line("1.5,AA==,?,5,t,3,s", positions, 7, &row));
    assert_int_equal(row.n, 3);
    assert_int_equal(row.at, 5);
    assert_false(pipe_csv_positions(&plain_type, NULL, 0, header, 8, positions, &error));
    assert_string_equal(error.field, "s");
    assert_false(pipe_csv_positions(&plain_type, NULL, 0, header, 6, positions, &error));
    assert_string_equal(error.detail, "this column is not in the header, which has 'f', 'b', 'x', "
                                      "'at', 't', …");
}

/* A header of an older version: columns that it may lack have their default, or null. */
static void test_older_header(void **state)
{
    (void)state;
    struct pipe_column columns[6];
    memcpy(columns, plain_columns, sizeof columns);
    columns[0].has_default = columns[1].has_default = true;
    columns[0].default_json = "7";
    columns[1].default_json = "\"x\"";
    const struct pipe_row_type type = {"plain", columns, 6, sizeof(struct plain)};
    static const uint32_t later[] = {0, 2};
    uint32_t positions[6];
    struct plain row;
    struct pipe_csv_field header[4] = {
        {str("f"), false}, {str("b"), true}, {str("at"), false}, {str("s"), false}};
    struct pipe_csv_field fields[4] = {
        {str("1.5"), false}, {str("AA=="), false}, {str("5"), false}, {str("a"), false}};
    assert_true(pipe_csv_positions(&type, later, 2, header, 4, positions, &error));
    assert_int_equal(positions[0], PIPE_CSV_DEFAULT);
    assert_int_equal(positions[1], 3);
    assert_true(pipe_row_from_csv(&type, fields, 4, 4, positions, &arena, &row, &error));
    assert_int_equal(row.n, 7);
    assert_false(row.n_null);
    assert_true(row.t_null);
    assert_int_equal(row.at, 5);
    assert_false(pipe_row_from_csv(&type, fields, 3, 4, positions, &arena, &row, &error));
    /* A default is for older versions only. */
    assert_false(pipe_csv_positions(&type, later, 2, header, 3, positions, &error));
    assert_string_equal(error.field, "s");
    assert_string_equal(error.detail,
                        "this column is not in the header, which has 'f', 'b', 'at'; it has its "
                        "default only in files of a version that the contract `accepts`");
}

static void test_not_utf8(void **state)
{
    (void)state;
    struct plain row;
    assert_false(read_line("1,M\xfc"
                           "ller,b,1,0,AA==",
                           NULL, 6, &row));
    assert_string_equal(error.field, "s");
    assert_string_equal(error.detail, "'M\\xfcller' is not UTF-8");
}

static void test_nested_output(void **state)
{
    (void)state;
    struct sample row;
    struct pipe_buf buf = {NULL, 0, 0};
    assert_true(pipe_row_from_json(&sample_type, str(sample_json), &arena, &row, &error));
    pipe_row_to_csv(&sample_type, &row, &buf);
    pipe_buf_add_byte(&buf, 0);
    assert_non_null(strstr((char *)buf.data, ",\"{\"\"x\"\":1,\"\"label\"\":null}\","));
    assert_non_null(strstr((char *)buf.data, ",BLUE,AP8Q,AAECAwQF,2024-02-29,"));
    pipe_buf_free(&buf);
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
        cmocka_unit_test(test_good_records),
        cmocka_unit_test(test_bad_records),
        cmocka_unit_test(test_long_records),
        cmocka_unit_test(test_chunks_never_matter),
        cmocka_unit_test_teardown(test_rows, reset),
        cmocka_unit_test_teardown(test_header, reset),
        cmocka_unit_test_teardown(test_older_header, reset),
        cmocka_unit_test_teardown(test_not_utf8, reset),
        cmocka_unit_test_teardown(test_nested_output, reset),
    };
    pipe_arena_init(&arena, 1 << 20);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
