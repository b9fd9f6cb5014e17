/* Unit tests of target_native.c and native_files.h: each range a file, once, whatever happened
 * before. */
#include "../../runtime/follower.h"
#include "../../runtime/native_files.h"

#include <errno.h>
#include <setjmp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "scratch_dir.h"

struct row {
    int64_t n;
};
static const struct pipe_type t_int64 = {.kind = PIPE_INT64};
static const struct pipe_column row_columns[] = {
    {"n", &t_int64, offsetof(struct row, n), PIPE_NOT_NULL, false, false, NULL}};
static const struct pipe_row_type row_type = {"row", row_columns, 1, sizeof(struct row)};
static const struct pipe_table_column in_table[] = {
    {"n", "Int64"}, {"_pipe_partition", "Int32"}, {"_pipe_offset", "Int64"}};
static const struct pipe_table_def table = {
    .name = "t.rows", .columns = in_table, .column_count = 3};
static const struct pipe_sink_def sinks[] = {
    {.name = "numbers", .kind = PIPE_SINK_CLICKHOUSE, .row = &row_type, .table = &table}};
static const struct pipe_plan plan = {.sinks = sinks, .sink_count = 1};

static char error[5000];

/* The rows of offsets first, first + step, … up to last, each with n = offset + shift. */
static struct pipe_buf make_block(int64_t first, int64_t last, int64_t step, int64_t shift)
{
    struct pipe_native_writer *writer = pipe_native_writer_new(&table, &row_type);
    struct pipe_buf block = {0};
    for (int64_t offset = first; offset <= last; offset += step) {
        char json[64];
        snprintf(json, sizeof json, "{\"n\":%lld}", (long long)(offset + shift));
        assert_true(pipe_native_add(writer, pipe_str_of(json, strlen(json)), 3, offset, error,
                                    sizeof error));
    }
    pipe_native_finish(writer, &block);
    pipe_native_writer_free(writer);
    return block;
}

static enum pipe_table_outcome send(struct pipe_table_target *target, int64_t first, int64_t last,
                                    int64_t step, int64_t shift)
{
    struct pipe_buf block = make_block(first, last, step, shift);
    const struct pipe_table_batch batch = {.sink = 0,
                                           .ranges = {{3, first, last, 0}},
                                           .range_count = 1,
                                           .block = pipe_str_of(block.data, block.size)};
    const char *text = "";
    struct pipe_table_request *request = target->ops->begin(target, &batch);
    enum pipe_table_outcome outcome = target->ops->look(request, &text);
    snprintf(error, sizeof error, "%s", text);
    target->ops->end(request);
    pipe_buf_free(&block);
    return outcome;
}

static bool add_row(void *context, struct pipe_str json, int32_t partition, int64_t offset)
{
    pipe_buf_printf(context, "%d.%lld=%.*s ", partition, (long long)offset, (int)json.size - 6,
                    json.data + 5);
    return true;
}

/* Files and rows: "FIRST-LAST: partition.offset=n …" each. */
static void check_files(const char *expected)
{
    struct pipe_native_file *files;
    uint32_t count;
    struct pipe_buf text = {0};
    char *directory = pipe_native_directory(dir, "numbers");
    if (!pipe_native_list(directory, &files, &count, error, sizeof error))
        fail_msg("%s", error);
    for (uint32_t i = 0; i < count; i++) {
        struct pipe_native_reader *reader = pipe_native_reader_new(&table, &row_type);
        pipe_buf_printf(&text, "%lld-%lld: ", (long long)files[i].first, (long long)files[i].last);
        if (!pipe_native_read_file(directory, &files[i], reader, add_row, &text, error,
                                   sizeof error))
            fail_msg("%s", error);
        pipe_native_reader_free(reader);
    }
    pipe_buf_add_byte(&text, 0);
    assert_string_equal((char *)text.data, expected);
    pipe_buf_free(&text);
    free(files);
    free(directory);
}

static void check_error(const char *expected)
{
    char whole[600];
    snprintf(whole, sizeof whole, expected, dir);
    assert_string_equal(error, whole);
}

static void put_file(const char *name, const char *bytes, size_t size)
{
    char path[300];
    snprintf(path, sizeof path, "%s/tables/numbers/%s", dir, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void test_ranges(void **state)
{
    (void)state;
    struct pipe_table_target *target = pipe_target_native(&plan, dir);
    bool any;
    assert_int_equal(target->ops->check(target, 0, error, sizeof error), PIPE_TABLE_DONE);
    check_files("");
    assert_int_equal(target->ops->holds(target, 0, 3, 0, &any, error, sizeof error),
                     PIPE_TABLE_DONE);
    assert_false(any);
    assert_int_equal(send(target, 0, 4, 2, 10), PIPE_TABLE_DONE);
    assert_int_equal(send(target, 5, 5, 1, 0), PIPE_TABLE_DONE);
    assert_int_equal(send(target, 5, 5, 1, 0), PIPE_TABLE_DONE); /* again: nothing is added */
    target->ops->close(target);
    put_file(".00003-x.native.part", "half", 4);
    target = pipe_target_native(&plan, dir);
    assert_int_equal(send(target, 0, 4, 2, 10), PIPE_TABLE_DONE);
    assert_int_equal(target->ops->holds(target, 0, 3, 5, &any, error, sizeof error),
                     PIPE_TABLE_DONE);
    assert_true(any);
    assert_int_equal(target->ops->holds(target, 0, 3, 6, &any, error, sizeof error),
                     PIPE_TABLE_DONE);
    assert_false(any);
    assert_int_equal(target->ops->holds(target, 0, 2, 0, &any, error, sizeof error),
                     PIPE_TABLE_DONE);
    assert_false(any);
    target->ops->close(target);
    check_files("0-4: 3.0=10 3.2=12 3.4=14 5-5: 3.5=5 ");
    char path[300];
    snprintf(path, sizeof path, "%s/tables/numbers/.00003-x.native.part", dir);
    assert_int_not_equal(access(path, F_OK), 0);
}

/* Blocks that are written past the page cache and those that are not make the same files: of whole
 * pages, and with a rest. */
static void test_big_blocks(void **state)
{
    (void)state;
    struct pipe_table_target *target = pipe_target_native(&plan, dir);
    struct pipe_buf block = make_block(0, 99999, 1, 7);
    const size_t sizes[] = {block.size, block.size - block.size % 4096};
    char *pages = aligned_alloc(4096, (block.size / 4096 + 1) * 4096), path[300];
    assert_true(block.size > 1000000 && block.size % 4096 != 0);
    memcpy(pages, block.data, block.size);
    for (int i = 0; i < 4; i++) {
        size_t size = sizes[i % 2];
        const struct pipe_table_batch batch = {
            .ranges = {{3, i, i, 0}},
            .range_count = 1,
            .block = pipe_str_of(i < 2 ? pages : (const char *)block.data, size)};
        const char *text = "";
        struct pipe_table_request *request = target->ops->begin(target, &batch);
        assert_int_equal(target->ops->look(request, &text), PIPE_TABLE_DONE);
        target->ops->end(request);
        snprintf(path, sizeof path, "%s/tables/numbers/00003-%019d-%019d.native", dir, i, i);
        char *found = malloc(block.size);
        FILE *file = fopen(path, "r");
        assert_non_null(file);
        assert_int_equal(fread(found, 1, block.size, file), size);
        assert_int_equal(fgetc(file), EOF);
        assert_memory_equal(found, block.data, size);
        fclose(file);
        free(found);
    }
    free(pages);
    pipe_buf_free(&block);
    target->ops->close(target);
}

/* A journal that went down with its disk is cut otherwise the next time. */
static void test_other_ranges(void **state)
{
    (void)state;
    struct pipe_table_target *target = pipe_target_native(&plan, dir);
    assert_int_equal(send(target, 0, 3, 1, 0), PIPE_TABLE_DONE);
    assert_int_equal(send(target, 4, 5, 1, 0), PIPE_TABLE_DONE);
    assert_int_equal(send(target, 2, 8, 1, 0), PIPE_TABLE_DONE);
    assert_int_equal(send(target, 1, 2, 1, 0), PIPE_TABLE_DONE);
    target->ops->close(target);
    check_files("0-3: 3.0=0 3.1=1 3.2=2 3.3=3 4-5: 3.4=4 3.5=5 6-8: 3.6=6 3.7=7 3.8=8 ");
}

static void test_other_rows(void **state)
{
    (void)state;
    struct pipe_table_target *target = pipe_target_native(&plan, dir);
    assert_int_equal(send(target, 0, 3, 1, 0), PIPE_TABLE_DONE);
    assert_int_equal(send(target, 0, 3, 1, 1), PIPE_TABLE_BROKEN);
    check_error("%s/tables/numbers: the files of partition 3 have other rows from 0 to 3 (4) than "
                "the topic (4): they are not of this run, or some were moved");
    assert_int_equal(send(target, 0, 6, 2, 0), PIPE_TABLE_BROKEN);
    check_error("%s/tables/numbers: the files of partition 3 have other rows from 0 to 3 (4) than "
                "the topic (2): they are not of this run, or some were moved");
    put_file("00003-0000000000000000004-0000000000000000005.native", "\3\1\1n", 4);
    target->ops->close(target);
    target = pipe_target_native(&plan, dir);
    assert_int_equal(send(target, 4, 5, 1, 0), PIPE_TABLE_BROKEN);
    check_error("%s/tables/numbers/00003-0000000000000000004-0000000000000000005.native: ends "
                "within a block");
    put_file("notes.txt", "", 0);
    target->ops->close(target);
    target = pipe_target_native(&plan, dir);
    assert_int_equal(target->ops->check(target, 0, error, sizeof error), PIPE_TABLE_BROKEN);
    check_error("%s/tables/numbers/notes.txt is no file of a table; move it to another directory");
    target->ops->close(target);
}

static void check_listing(const char *name, const char *expected)
{
    char *directory = pipe_native_directory(dir, "numbers");
    struct pipe_native_file *files;
    uint32_t count;
    put_file(name, "", 0);
    assert_false(pipe_native_list(directory, &files, &count, error, sizeof error));
    check_error(expected);
    free(directory);
}

static void test_names(void **state)
{
    (void)state;
    struct pipe_table_target *target = pipe_target_native(&plan, dir);
    assert_int_equal(send(target, 0, 3, 1, 0), PIPE_TABLE_DONE);
    target->ops->close(target);
    check_listing("00003-0000000000000000002-0000000000000000009.native",
                  "%1$s/tables/numbers: 00003-0000000000000000000-0000000000000000003.native and "
                  "00003-0000000000000000002-0000000000000000009.native have rows of the same "
                  "positions; one of them is not of this run");
    check_listing("3-0-3.native", "%s/tables/numbers/3-0-3.native is no file of a table; move it "
                                  "to another directory");
}

/* Nor forges a line, nor hides one. */
static void test_shown_names(void **state)
{
    (void)state;
    struct pipe_table_target *target = pipe_target_native(&plan, dir);
    assert_int_equal(send(target, 0, 3, 1, 0), PIPE_TABLE_DONE);
    target->ops->close(target);
    check_listing("a\n\033[31mexact true\u202E\302\233\377",
                  "%s/tables/numbers/a  [31mexact true     \\xff is no file of a table; move it to "
                  "another directory");
}

/* A directory that can't be read may be readable later: that is no fault of what is in it. */
static void test_unreadable(void **state)
{
    (void)state;
    struct pipe_native_file *files;
    uint32_t count;
    char path[300];
    snprintf(path, sizeof path, "%s/file", dir);
    fclose(fopen(path, "w"));
    assert_false(pipe_native_list(path, &files, &count, error, sizeof error));
    assert_int_equal(errno, ENOTDIR);
    check_error("%s/file can't be listed: Not a directory");
    struct pipe_table_target *target = pipe_target_native(&plan, path);
    assert_int_equal(target->ops->check(target, 0, error, sizeof error), PIPE_TABLE_BROKEN);
    target->ops->close(target);
    const struct pipe_native_file file = {.name = "00000-0-0.native"};
    struct pipe_native_reader *reader = pipe_native_reader_new(&table, &row_type);
    assert_false(pipe_native_read_file(dir, &file, reader, add_row, NULL, error, sizeof error));
    assert_int_equal(errno, ENOENT);
    pipe_native_reader_free(reader);
}

/* Its name says less than it holds. */
static void test_beyond(void **state)
{
    (void)state;
    struct pipe_table_target *target = pipe_target_native(&plan, dir);
    struct pipe_buf block = make_block(0, 2, 1, 0), text = {0};
    struct pipe_native_file file = {3, 0, 1, ""};
    struct pipe_native_reader *reader = pipe_native_reader_new(&table, &row_type);
    char *directory = pipe_native_directory(dir, "numbers");
    assert_int_equal(target->ops->check(target, 0, error, sizeof error), PIPE_TABLE_DONE);
    pipe_native_file_name(&file);
    put_file(file.name, (char *)block.data, block.size);
    assert_false(
        pipe_native_read_file(directory, &file, reader, add_row, &text, error, sizeof error));
    check_error("%s/tables/numbers/00003-0000000000000000000-0000000000000000001.native: has a row "
                "at 2, which its name does not say");
    pipe_native_reader_free(reader);
    pipe_buf_free(&text);
    pipe_buf_free(&block);
    free(directory);
    target->ops->close(target);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_ranges, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_big_blocks, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_other_ranges, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_other_rows, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_names, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_shown_names, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_unreadable, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_beyond, make_dir, remove_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
