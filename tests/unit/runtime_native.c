/* Unit tests of native.h: golden bytes (as the server writes and reads them, tests/native), round
 * trips however the bytes are cut, and what is refused. */
#include "../../runtime/native.h"
#include "runtime_sample_row.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static char error[512];

static struct pipe_str str(const char *text)
{
    return pipe_str_of(text, strlen(text));
}

/* ---- Tables ---- */

#define POSITIONS                                                                                  \
    {"_pipe_partition", "Int32"},                                                                  \
    {                                                                                              \
        "_pipe_offset", "Int64"                                                                    \
    }
#define TABLE(tag, text, ...)                                                                      \
    static const struct pipe_table_column tag##_in_table[] = {__VA_ARGS__, POSITIONS};             \
    static const struct pipe_table_def tag##_table = {.name = (text),                              \
                                                      .columns = tag##_in_table,                   \
                                                      .column_count = sizeof tag##_in_table /      \
                                                                      sizeof *tag##_in_table}

TABLE(sample, "t.sample", {"flag", "Bool"}, {"small", "Int32"}, {"big", "Int64"},
      {"big_maybe", "Nullable(Int64)"}, {"f32", "Float32"}, {"f64", "Float64"},
      {"price", "Decimal(10, 2)"}, {"exact", "Decimal(38, 6)"}, {"text", "String"},
      {"note", "Nullable(String)"}, {"id", "UUID"}, {"color", "LowCardinality(String)"},
      {"raw", "String"}, {"mac", "String"}, {"day", "Date32"}, {"at_ms", "DateTime64(3, 'UTC')"},
      {"at_us", "DateTime64(6, 'UTC')"}, {"pause", "Int64"},
      {"origin", "Tuple(x Int32, label Nullable(String))"},
      {"points", "Array(Tuple(x Nullable(Int32), label Nullable(String)))"},
      {"numbers", "Array(Int64)"}, {"counts", "Map(String, Int64)"},
      {"names", "Map(String, Nullable(String))"});

struct small {
    struct pipe_str text;
    int64_t number;
    bool number_null;
    uint32_t color;
    bool color_null;
};
static const struct pipe_column small_columns[] = {
    COLUMN(small, text, &t_string),
    NULLABLE(small, number, &t_int64, true),
    NULLABLE(small, color, &t_color, true),
};
static const struct pipe_row_type small_type = {"small", small_columns, 3, sizeof(struct small)};
TABLE(small, "t.small", {"text", "String"}, {"number", "Nullable(Int64)"},
      {"color", "LowCardinality(Nullable(String))"});

/* ---- Rows that were read ---- */

struct seen {
    struct pipe_buf text; /* each row behind its position, with a line end */
    uint32_t rows;
    uint32_t most; /* then it says no */
};

static bool see(void *context, struct pipe_str json, int32_t partition, int64_t offset)
{
    struct seen *seen = context;
    if (seen->rows == seen->most)
        return false;
    seen->rows++;
    pipe_buf_printf(&seen->text, "%d %lld ", partition, (long long)offset);
    pipe_buf_add(&seen->text, json.data, json.size);
    pipe_buf_add_byte(&seen->text, '\n');
    return true;
}

static struct seen nothing_seen(void)
{
    return (struct seen){.most = UINT32_MAX};
}

static void check_seen(struct seen *seen, const char *expected)
{
    pipe_buf_add_byte(&seen->text, 0);
    assert_string_equal((char *)seen->text.data, expected);
    pipe_buf_free(&seen->text);
}

static void add(struct pipe_native_writer *writer, const char *json, int32_t partition,
                int64_t offset)
{
    if (!pipe_native_add(writer, str(json), partition, offset, error, sizeof error))
        fail_msg("%s", error);
}

/* Reads the block in pieces of `cut` bytes. */
static void read_cut(struct pipe_native_reader *reader, const struct pipe_buf *block, size_t cut,
                     struct seen *seen)
{
    for (size_t at = 0; at < block->size; at += cut) {
        size_t size = block->size - at < cut ? block->size - at : cut;
        if (!pipe_native_take(reader, pipe_str_of(block->data + at, size), see, seen, error,
                              sizeof error))
            fail_msg("%s", error);
    }
    assert_true(pipe_native_ends(reader));
}

/* ---- Tests ---- */

static void test_golden(void **state)
{
    (void)state;
    static const char golden[] =
        "\5\2"
        "\4text\6String\1a\0"
        "\6number\17Nullable(Int64)\0\1\xfe\xff\xff\xff\xff\xff\xff\xff\0\0\0\0\0\0\0\0"
        "\5color LowCardinality(Nullable(String))\1\0\0\0\0\0\0\0"
        "\0\6\0\0\0\0\0\0\5\0\0\0\0\0\0\0\0\0\3RED\5GREEN\4BLUE\2\0\0\0\0\0\0\0\4\0"
        "\17_pipe_partition\5Int32\7\0\0\0\7\0\0\0"
        "\14_pipe_offset\5Int64\x29\0\0\0\0\0\0\0\x2a\0\0\0\0\0\0\0";
    struct pipe_native_writer *writer = pipe_native_writer_new(&small_table, &small_type);
    struct pipe_buf block = {0};
    add(writer, "{\"text\":\"a\",\"number\":-2,\"color\":\"BLUE\"}", 7, 41);
    add(writer, "{\"text\":\"\",\"number\":null,\"color\":null}", 7, 42);
    assert_int_equal(pipe_native_rows(writer), 2);
    assert_in_range(pipe_native_bytes(writer), 40, 60);
    pipe_native_finish(writer, &block);
    assert_int_equal(block.size, sizeof golden - 1);
    assert_memory_equal(block.data, golden, sizeof golden - 1);
    assert_int_equal(pipe_native_rows(writer), 0);
    pipe_native_finish(writer, &block); /* no rows, no bytes */
    assert_int_equal(block.size, sizeof golden - 1);
    pipe_native_writer_free(writer);
    pipe_buf_free(&block);
}

/* Every kind of column; a row that is written otherwise is the same row. */
static void test_round_trip(void **state)
{
    (void)state;
    struct pipe_native_writer *writer = pipe_native_writer_new(&sample_table, &sample_type);
    struct pipe_buf block = {0}, expected = {0};
    char spaced[sizeof sample_json + 1];
    snprintf(spaced, sizeof spaced, " %s", sample_json);
    for (int i = 0; i < 3; i++)
        add(writer, i == 1 ? spaced : sample_json, 3, i);
    pipe_native_finish(writer, &block);
    add(writer, sample_json, 3, 3);
    pipe_native_finish(writer, &block);
    for (int i = 0; i < 4; i++)
        pipe_buf_printf(&expected, "3 %d %s\n", i, sample_json);
    pipe_buf_add_byte(&expected, 0);
    for (size_t cut = 1; cut < block.size; cut = cut < 40 ? cut + 1 : cut * 2) {
        struct pipe_native_reader *reader = pipe_native_reader_new(&sample_table, &sample_type);
        struct seen seen = nothing_seen();
        read_cut(reader, &block, cut, &seen);
        check_seen(&seen, (char *)expected.data);
        pipe_native_reader_free(reader);
    }
    pipe_native_writer_free(writer);
    pipe_buf_free(&block);
    pipe_buf_free(&expected);
}

/* Rows of several writers make the block that one would make of them: every kind of column. */
static void test_several_writers(void **state)
{
    (void)state;
    struct pipe_native_writer *one = pipe_native_writer_new(&sample_table, &sample_type), *some[3];
    struct pipe_buf expected = {0}, block = {0};
    for (int i = 0; i < 3; i++)
        some[i] = pipe_native_writer_new(&sample_table, &sample_type);
    for (int i = 0; i < 5; i++) { /* two of the first, none of the second, three of the third */
        add(one, sample_json, i < 2 ? 0 : 2, i);
        add(some[i < 2 ? 0 : 2], sample_json, i < 2 ? 0 : 2, i);
    }
    pipe_native_finish(one, &expected);
    pipe_native_finish_all(some, 3, &block);
    assert_int_equal(block.size, expected.size);
    assert_memory_equal(block.data, expected.data, expected.size);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pipe_native_rows(some[i]), 0);
        pipe_native_writer_free(some[i]);
    }
    pipe_native_writer_free(one);
    pipe_buf_free(&block);
    pipe_buf_free(&expected);
}

/* What a writer has done before changes no byte, nor does giving its memory back. */
static void test_used_again(void **state)
{
    (void)state;
    struct pipe_native_writer *writer = pipe_native_writer_new(&small_table, &small_type);
    struct pipe_buf first = {0}, later = {0};
    for (int round = 0; round < 6; round++) {
        struct pipe_buf *to = round == 0 ? &first : &later;
        to->size = 0;
        for (int i = 0; i < 5000; i++) {
            char json[100];
            snprintf(json, sizeof json, "{\"text\":\"%d\",\"number\":%s,\"color\":\"RED\"}", i * 37,
                     i % 3 == 0 ? "null" : "12345678901");
            add(writer, json, 0, i);
        }
        assert_in_range(pipe_native_block_bytes(writer), pipe_native_bytes(writer),
                        pipe_native_bytes(writer) + 1000);
        size_t most = pipe_native_block_bytes(writer);
        if (round == 3)
            pipe_native_shrink(writer); /* with rows: they are forgotten */
        pipe_native_finish(writer, to);
        assert_int_equal(pipe_native_bytes(writer), 0);
        if (round == 3)
            continue;
        assert_in_range(to->size, most - 1000, most);
        assert_int_equal(to->size, first.size);
        assert_memory_equal(to->data, first.data, first.size);
        if (round % 2 == 1)
            pipe_native_shrink(writer);
    }
    pipe_native_writer_free(writer);
    pipe_buf_free(&first);
    pipe_buf_free(&later);
}

/* A refused row leaves nothing behind. */
static void test_refused_row(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"{\"text\":\"a\",\"number\":1,\"color\":\"PINK\"}",
         "partition 1, offset 9 is no row of t.small: color: '\"PINK\"' is no symbol of the enum "
         "(RED, GREEN, BLUE)"},
        {"{\"text\":\"a\",\"number\":9223372036854775808,\"color\":null}",
         "partition 1, offset 9 is no row of t.small: number: '9223372036854775808' is no int64 "
         "(an integer in range)"},
        {"{\"text\":null,\"number\":1,\"color\":null}",
         "partition 1, offset 9 is no row of t.small: text: 'null' is no string"},
        {"{\"text\":\"a\",\"number\":1,\"color\":null",
         "partition 1, offset 9 is no row of t.small: no good JSON: the text ends early, at the "
         "end"},
        {"{\"text\":\"\xff\",\"number\":1,\"color\":null}",
         "partition 1, offset 9 is no row of t.small: not valid UTF-8"},
        {"", "partition 1, offset 9 is no row of t.small: no good JSON: the text ends early, at "
             "the end"},
    };
    struct pipe_native_writer *writer = pipe_native_writer_new(&small_table, &small_type);
    struct pipe_native_reader *reader = pipe_native_reader_new(&small_table, &small_type);
    struct pipe_buf block = {0};
    struct seen seen = nothing_seen();
    add(writer, "{\"text\":\"x\",\"number\":null,\"color\":\"RED\"}", 0, 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        size_t bytes = pipe_native_bytes(writer);
        assert_false(pipe_native_add(writer, str(bad[i][0]), 1, 9, error, sizeof error));
        assert_string_equal(error, bad[i][1]);
        assert_int_equal(pipe_native_bytes(writer), bytes);
    }
    add(writer, "{\"color\":\"GREEN\",\"more\":[],\"text\":\"\\u0000\\\"\",\"number\":0}", 0, 1);
    pipe_native_finish(writer, &block);
    read_cut(reader, &block, block.size, &seen);
    check_seen(&seen, "0 0 {\"text\":\"x\",\"number\":null,\"color\":\"RED\"}\n"
                      "0 1 {\"text\":\"\\u0000\\\"\",\"number\":0,\"color\":\"GREEN\"}\n");
    pipe_native_writer_free(writer);
    pipe_native_reader_free(reader);
    pipe_buf_free(&block);
}

/* ---- Nulls that a table can't hold as such ---- */

struct inner {
    int64_t sure;
    struct pipe_array list;
    bool list_null;
};
struct hollow {
    int64_t maybe;
    bool maybe_null;
};
struct outer {
    struct inner inner;
    bool inner_null;
    struct hollow hollow;
    bool hollow_null;
    struct pipe_str json;
    bool json_null;
};
static const struct pipe_column inner_columns[] = {
    NULLABLE(inner, list, &t_numbers, true),
    COLUMN(inner, sure, &t_int64),
};
static const struct pipe_row_type inner_type = {"inner", inner_columns, 2, sizeof(struct inner)};
static const struct pipe_column hollow_columns[] = {NULLABLE(hollow, maybe, &t_int64, true)};
static const struct pipe_row_type hollow_type = {"hollow", hollow_columns, 1,
                                                 sizeof(struct hollow)};
static const struct pipe_type t_inner = {.kind = PIPE_RECORD, .record = &inner_type},
                              t_hollow = {.kind = PIPE_RECORD, .record = &hollow_type},
                              t_json = {.kind = PIPE_STRING, .is_json = true};
static const struct pipe_column outer_columns[] = {
    NULLABLE(outer, inner, &t_inner, true),
    NULLABLE(outer, hollow, &t_hollow, true),
    NULLABLE(outer, json, &t_json, true),
};
static const struct pipe_row_type outer_type = {"outer", outer_columns, 3, sizeof(struct outer)};
static const struct pipe_table_column outer_table_columns[] = {
    {"inner", "Tuple(list Array(Int64), sure Nullable(Int64))"},
    {"hollow", "Tuple(maybe Nullable(Int64))"},
    {"json", "Nullable(String)"},
    {"_pipe_deleted", "UInt8"},
    POSITIONS};
static const struct pipe_table_def outer_table = {
    .name = "t.outer", .columns = outer_table_columns, .column_count = 6, .has_deleted = true};

static void test_nulls(void **state)
{
    (void)state;
    struct pipe_native_writer *writer = pipe_native_writer_new(&outer_table, &outer_type);
    struct pipe_native_reader *reader = pipe_native_reader_new(&outer_table, &outer_type);
    struct pipe_buf block = {0};
    struct seen seen = nothing_seen();
    assert_true(pipe_native_lossy(writer));
    add(writer, "{\"inner\":null,\"hollow\":null,\"json\":null,\"_pipe_deleted\":true}", 0, 0);
    add(writer,
        "{\"inner\":{\"list\":null,\"sure\":1},\"hollow\":{\"maybe\":2},\"json\":\"[1, "
        "\\\"a\\\"]\","
        "\"_pipe_deleted\":false}",
        0, 1);
    add(writer,
        "{\"inner\":{\"list\":[5],\"sure\":0},\"hollow\":{\"maybe\":null},\"json\":\"null\","
        "\"_pipe_deleted\":false}",
        0, 2);
    assert_false(pipe_native_add(writer, str("{\"inner\":null,\"hollow\":null,\"json\":null}"), 0,
                                 3, error, sizeof error));
    assert_string_equal(error,
                        "partition 0, offset 3 is no row of t.outer: _pipe_deleted: missing, "
                        "without a default");
    pipe_native_finish(writer, &block);
    read_cut(reader, &block, 7, &seen);
    check_seen(&seen, "0 0 {\"inner\":null,\"hollow\":{\"maybe\":null},\"json\":null,"
                      "\"_pipe_deleted\":true}\n"
                      "0 1 {\"inner\":{\"list\":[],\"sure\":1},\"hollow\":{\"maybe\":2},"
                      "\"json\":\"[1, \\\"a\\\"]\",\"_pipe_deleted\":false}\n"
                      "0 2 {\"inner\":{\"list\":[5],\"sure\":0},\"hollow\":{\"maybe\":null},"
                      "\"json\":\"null\",\"_pipe_deleted\":false}\n");
    pipe_native_writer_free(writer);
    pipe_native_reader_free(reader);
    pipe_buf_free(&block);
}

/* The plan has ruled out what the row's type still allows. */
static void test_narrower_table(void **state)
{
    (void)state;
    static const struct pipe_table_column columns[] = {
        {"text", "String"}, {"number", "Int64"}, {"color", "LowCardinality(String)"}, POSITIONS};
    const struct pipe_table_def table = {.name = "t.sure", .columns = columns, .column_count = 5};
    struct pipe_native_writer *writer = pipe_native_writer_new(&table, &small_type);
    struct pipe_native_reader *reader = pipe_native_reader_new(&table, &small_type);
    struct pipe_buf block = {0};
    struct seen seen = nothing_seen();
    add(writer, "{\"text\":\"a\",\"number\":5,\"color\":\"RED\"}", 0, 0);
    assert_false(pipe_native_add(writer, str("{\"text\":\"a\",\"number\":null,\"color\":\"RED\"}"),
                                 0, 1, error, sizeof error));
    assert_string_equal(error, "partition 0, offset 1 is no row of t.sure: number: 'null' is no "
                               "int64 (an integer in range)");
    pipe_native_finish(writer, &block);
    read_cut(reader, &block, 3, &seen);
    check_seen(&seen, "0 0 {\"text\":\"a\",\"number\":5,\"color\":\"RED\"}\n");
    pipe_native_writer_free(writer);
    pipe_native_reader_free(reader);
    pipe_buf_free(&block);
}

/* ---- Blocks of others ---- */

static void check_refused(const struct pipe_buf *block, const char *expected)
{
    struct pipe_native_reader *reader = pipe_native_reader_new(&small_table, &small_type);
    struct seen seen = nothing_seen();
    assert_false(pipe_native_take(reader, pipe_str_of(block->data, block->size), see, &seen, error,
                                  sizeof error));
    assert_string_equal(error, expected);
    assert_false(pipe_native_take(reader, str(""), see, &seen, error, sizeof error));
    assert_false(pipe_native_ends(reader));
    pipe_native_reader_free(reader);
    pipe_buf_free(&seen.text);
}

/* The block of one row with `size` bytes at the first place of `find` replaced. */
static void check_change(const char *find, const char *by, size_t size, const char *expected)
{
    struct pipe_native_writer *writer = pipe_native_writer_new(&small_table, &small_type);
    struct pipe_buf block = {0};
    add(writer, "{\"text\":\"abcd\",\"number\":1,\"color\":\"BLUE\"}", 0, 0);
    pipe_native_finish(writer, &block);
    uint8_t *at = memmem(block.data, block.size, find, strlen(find));
    assert_non_null(at);
    memcpy(at, by, size);
    check_refused(&block, expected);
    pipe_native_writer_free(writer);
    pipe_buf_free(&block);
}

static void test_refused_block(void **state)
{
    (void)state;
    check_change("\5", "\6", 1, "t.small, behind 0 rows: a block has 6 columns, expected were 5");
    check_change("\1\4text", "\377\377\377\377\017", 5,
                 "t.small, behind 0 rows: a block has 4294967295 rows, at most 16777216 are read");
    check_change("text", "test", 4,
                 "t.small, behind 0 rows: column 1 is 'test', expected was text");
    check_change("Nullable(Int64)", "Nullable(Int32)", 15,
                 "t.small, behind 0 rows: column 2 is 'Nullable(Int32)', expected was "
                 "Nullable(Int64) of number");
    check_change("abcd", "ab\xff\xff", 4,
                 "t.small, behind 0 rows: row 1 of the block, column text: a text is not valid "
                 "UTF-8");
    check_change("BLUE", "BLUB", 4,
                 "t.small, behind 0 rows: column color has 'BLUB', which is no symbol of it");
}

static void test_stopped(void **state)
{
    (void)state;
    struct pipe_native_writer *writer = pipe_native_writer_new(&small_table, &small_type);
    struct pipe_native_reader *reader = pipe_native_reader_new(&small_table, &small_type);
    struct pipe_buf block = {0};
    struct seen seen = {.most = 1};
    for (int i = 0; i < 3; i++)
        add(writer, "{\"text\":\"x\",\"number\":null,\"color\":\"RED\"}", 0, i);
    pipe_native_clear(writer);
    assert_int_equal(pipe_native_rows(writer), 0);
    for (int i = 0; i < 3; i++)
        add(writer, "{\"text\":\"y\",\"number\":null,\"color\":\"RED\"}", 0, i);
    pipe_native_finish(writer, &block);
    assert_false(pipe_native_take(reader, pipe_str_of(block.data, block.size), see, &seen, error,
                                  sizeof error));
    assert_string_equal(error, "");
    check_seen(&seen, "0 0 {\"text\":\"y\",\"number\":null,\"color\":\"RED\"}\n");
    pipe_native_writer_free(writer);
    pipe_native_reader_free(reader);
    pipe_buf_free(&block);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),          cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_several_writers), cmocka_unit_test(test_used_again),
        cmocka_unit_test(test_refused_row),     cmocka_unit_test(test_nulls),
        cmocka_unit_test(test_narrower_table),  cmocka_unit_test(test_refused_block),
        cmocka_unit_test(test_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
