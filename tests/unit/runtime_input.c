/* Unit tests of file_reader.c, input_lines.c, input_csv.c: cutting files into records, positions,
 * and files that change. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <sys/wait.h>

#include "runtime_files.h"

static const struct pipe_type t_text = {.kind = PIPE_STRING};
static const struct pipe_column columns[] = {
    {"id", &t_text, 0, PIPE_NOT_NULL, false, false, NULL},
    {"name", &t_text, 16, PIPE_NOT_NULL, false, false, NULL},
};
static const struct pipe_row_type row = {"row", columns, 2, 32};
static const struct pipe_source_def jsonl = {.name = "s", .format = PIPE_FORMAT_JSONL, .row = &row},
                                    text_source = {.name = "s",
                                                   .format = PIPE_FORMAT_TEXT,
                                                   .row = &row},
                                    csv = {.name = "s", .format = PIPE_FORMAT_CSV, .row = &row},
                                    csv_header = {.name = "s",
                                                  .format = PIPE_FORMAT_CSV,
                                                  .header = true,
                                                  .row = &row};

static struct pipe_input_config config_of(const struct pipe_source_def *source, const char *path)
{
    struct stat status;
    return (struct pipe_input_config){
        .source = source,
        .path = path,
        .partition = 3,
        .length_bytes = stat(path, &status) == 0 ? status.st_size : 0,
        .max_record_bytes = 40,
    };
}

/* The file's records are these, joined by a NUL's picture; also from every position. */
static void check_records(const struct pipe_source_def *source, const void *bytes, size_t size,
                          const char *const *expected, size_t count)
{
    const char *path = in_dir("data");
    write_bytes(path, bytes, size);
    struct pipe_input_config config = config_of(source, path);
    struct reading all = check_resume(&config, 1000);
    assert_false(all.failed);
    assert_int_equal(all.count, count);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(all.records[i], expected[i]);
    free_reading(&all);
}
#define CHECK(source, bytes, ...)                                                                  \
    do {                                                                                           \
        const char *const expected[] = {NULL, ##__VA_ARGS__};                                      \
        check_records(source, bytes, sizeof(bytes) - 1, expected + 1,                              \
                      sizeof expected / sizeof expected[0] - 1);                                   \
    } while (0)

#define TOO_LONG "the line is longer than 40 bytes"
#define A40 "aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd"

static void test_lines(void **state)
{
    (void)state;
    CHECK(&text_source, "");
    CHECK(&text_source, "\n", "0|||-|");
    CHECK(&text_source, "a", "0|||-|a");
    CHECK(&text_source, "a\nb\n", "0|||-|a", "1|||-|b");
    CHECK(&text_source, "a\r\n\r\n\nb\r", "0|||-|a", "1|||-|", "2|||-|", "3|||-|b\r");
    CHECK(&text_source, "a\rb\r\r\nc", "0|||-|a\rb\r", "1|||-|c");
    CHECK(&jsonl, "\xEF\xBB\xBF{}\n{}", "0|||-|{}", "1|||-|{}");
    CHECK(&jsonl, "\xEF\xBB\xBF");
    CHECK(&jsonl, "\xEF\xBB\xBF\n", "0|||-|");
    CHECK(&jsonl, "\xEF\xBB", "0|||-|\xEF\xBB");
    CHECK(&jsonl, "x\n\xEF\xBB\xBF", "0|||-|x", "1|||-|\xEF\xBB\xBF");
}

static void test_long_lines(void **state)
{
    (void)state;
    CHECK(&text_source, A40 "\n" A40 "\r\n" A40, "0|||-|" A40, "1|||-|" A40, "2|||-|" A40);
    CHECK(&text_source, A40 "e\nx", "0|" TOO_LONG "||-|" A40, "1|||-|x");
    CHECK(&text_source, A40 "\r", "0|" TOO_LONG "||-|" A40);
    CHECK(&text_source, A40 "\r\r\n" A40 "ef", "0|" TOO_LONG "||-|" A40, "1|" TOO_LONG "||-|" A40);
    CHECK(&text_source, A40 A40 A40 "\n\n" A40 A40 "\n", "0|" TOO_LONG "||-|" A40, "1|||-|",
          "2|" TOO_LONG "||-|" A40);
}

static void test_csv(void **state)
{
    (void)state;
    CHECK(&csv, "");
    CHECK(&csv, "1,a\n2,\"b,\"\"c\"\"\nd\"\r\n3,", "0|||-|1,a|[1][a]",
          "1|||-|2,\"b,\"\"c\"\"\nd\"|[2]q[b,\"c\"\nd]", "2|||-|3,|[3][]");
    CHECK(&csv, "\n1,a\n", "0|||-||[]", "1|||-|1,a|[1][a]");
    CHECK(&csv, "1,a\"b\n\"x\"y,1\n2,b", "0|a quote stands inside an unquoted field||-|1,a\"b|",
          "1|text stands behind a closing quote||-|\"x\"y,1|", "2|||-|2,b|[2][b]");
    CHECK(&csv, "1,\"open\n2,b\n", "0|a quoted field is not closed||-|1,\"open\n2,b\n|");
    CHECK(
        &csv, "1," A40 "\n2,b\n",
        "0|the record is longer than a record may be||-|1,aaaaaaaaaabbbbbbbbbbccccccccccdddddddd|",
        "1|||-|2,b|[2][b]");
    CHECK(&csv_header, "\xEF\xBB\xBFname,other,id\r\na,b,c\r\nd,e\n", "0|||-|a,b,c|[a][b][c]",
          "1|||-|d,e|[d][e]");
    CHECK(&csv_header, "id,name");
    CHECK(&csv_header, "\"id\",\"name\"\n,\"\"", "0|||-|,\"\"|[]q[]");
}

static void test_csv_positions(void **state)
{
    (void)state;
    const char *path = in_dir("positions.csv");
    write_text(path, "name,other,id\na,b,c\n");
    struct pipe_input_config config = config_of(&csv_header, path);
    char error[512];
    struct pipe_input *input = pipe_input_open(&config, error, sizeof error);
    assert_non_null(input);
    assert_int_equal(input->csv_expected, 3);
    assert_int_equal(input->csv_positions[0], 2);
    assert_int_equal(input->csv_positions[1], 0);
    input->ops->close(input);
    config.source = &csv;
    input = pipe_input_open(&config, error, sizeof error);
    assert_non_null(input);
    assert_int_equal(input->csv_expected, 2);
    assert_null(input->csv_positions);
    input->ops->close(input);
}

static void check_header(const char *text, const char *words)
{
    const char *path = in_dir("header.csv");
    write_text(path, text);
    struct pipe_input_config config = config_of(&csv_header, path);
    check_input_refused(&config, words);
    config.resume = (struct pipe_input_position){.offset = 1, .hint_bytes = 8, .hint = {1}};
    check_input_refused(&config, words);
}

static void test_bad_headers(void **state)
{
    (void)state;
    check_header("", "is empty");
    check_header("\xEF\xBB\xBF", "is empty");
    check_header("id,nam\n1,2\n",
                 "line 1: column name: this column is not in the header, which has 'id', 'nam'");
    check_header("a,b,c,d,e,f\n", "which has 'a', 'b', 'c', 'd', 'e', …");
    check_header("id;name\n1;2\n", "which has ';' where commas must separate the fields");
    check_header("id\tname\n", "which has tabs where commas must separate the fields");
    check_header("id,name,id\n", "line 1: column id: this column is in the header twice");
    check_header("id,\"name\n1,2\n",
                 "line 1: the header cannot be read: a quoted field is not closed");
    check_header("id,name," A40 "\n", "line 1: the header cannot be read: the record is longer");
    check_header("\n", "column id");
    check_header("\x1f\x8b\x08", "header.csv: is compressed, not CSV text; unpack it first");
    check_header("PK\x03\x04\n", "is compressed");
    check_header("\xfd\x37zXZ\n", "is compressed");
}

/* Records of all lengths around the limit, over many chunks of the reader. */
static void check_borders(const struct pipe_source_def *source, uint32_t max_record,
                          unsigned longest)
{
    struct pipe_buf bytes = {0};
    while (bytes.size < 3 * 262144) {
        unsigned size = random_below(longest);
        if (source->format == PIPE_FORMAT_CSV)
            pipe_buf_printf(&bytes, "%s", random_below(3) == 0 ? "\"x\"\"\n\r\"," : "y,");
        for (unsigned i = 0; i < size; i++)
            pipe_buf_add_byte(&bytes, (uint8_t)('a' + random_below(26)));
        pipe_buf_printf(&bytes, "%s", random_below(2) == 0 ? "\r\n" : "\n");
    }
    const char *path = in_dir("border");
    write_bytes(path, bytes.data, bytes.size);
    struct pipe_input_config config = config_of(source, path);
    config.max_record_bytes = max_record;
    struct reading all = check_resume(&config, 8);
    assert_false(all.failed);
    assert_true(all.count > 3);
    free_reading(&all);
    pipe_buf_free(&bytes);
}

static void test_borders(void **state)
{
    (void)state;
    const struct pipe_source_def *sources[] = {&text_source, &csv};
    for (int i = 0; i < 2; i++) {
        check_borders(sources[i], 100, 130);
        check_borders(sources[i], 1 << 20, 3000);
        check_borders(sources[i], 70000, 120000);
        check_borders(sources[i], 1 << 20, 400000);
    }
}

/* A line of exactly the limit whose CR is the last byte of a chunk. */
static void test_limit_at_border(void **state)
{
    (void)state;
    for (int shift = -2; shift <= 2; shift++) {
        struct pipe_buf bytes = {0};
        int first = 262144 - 101 + shift;
        for (int i = 0; i < first; i++)
            pipe_buf_add_byte(&bytes, i % 50 == 49 || i == first - 1 ? '\n' : 'x');
        for (int i = 0; i < 100; i++)
            pipe_buf_add_byte(&bytes, 'y');
        pipe_buf_printf(&bytes, "\r\nz");
        const char *path = in_dir("limit");
        write_bytes(path, bytes.data, bytes.size);
        struct pipe_input_config config = config_of(&text_source, path);
        config.max_record_bytes = 100;
        struct reading all = read_input(&config, 0);
        assert_false(all.failed);
        assert_null(strstr(all.records[all.count - 2], "longer"));
        assert_null(strchr(all.records[all.count - 2], '\r'));
        assert_non_null(strstr(all.records[all.count - 1], "|z"));
        free_reading(&all);
        pipe_buf_free(&bytes);
    }
}

static void test_growing(void **state)
{
    (void)state;
    const struct pipe_source_def *sources[] = {&text_source, &csv};
    for (int i = 0; i < 2; i++) {
        const char *path = in_dir("grows");
        write_text(path, "a,b\nc,d\n");
        struct pipe_input_config config = config_of(sources[i], path);
        write_text(path, "a,b\nc,d\nnew,new\n");
        struct reading all = read_input(&config, 0);
        assert_false(all.failed);
        assert_int_equal(all.count, 2);
        free_reading(&all);
    }
}

static void test_shrinking(void **state)
{
    (void)state;
    const struct pipe_source_def *sources[] = {&text_source, &csv};
    for (int i = 0; i < 2; i++) {
        const char *path = in_dir("shrinks");
        write_text(path, "a,b\nc,d\n");
        struct pipe_input_config config = config_of(sources[i], path);
        struct reading whole = read_input(&config, 1);
        write_text(path, "a,b\n");
        struct reading all = read_input(&config, 1);
        assert_true(all.failed);
        assert_int_equal(all.count, 1);
        assert_non_null(strstr(all.error, path));
        assert_non_null(strstr(all.error, "ends at byte 4, but was 8 bytes long"));
        config.resume = whole.positions[1];
        check_input_refused(&config, "is 4 bytes long, but was read to byte 8 before");
        unlink(path);
        check_input_refused(&config, "cannot be opened: No such file or directory");
        free_reading(&all);
        free_reading(&whole);
    }
}

static void test_unreadable(void **state)
{
    (void)state;
    struct pipe_input_config config = config_of(&text_source, test_dir);
    check_input_refused(&config, "is not a regular file");
    const char *fifo = in_dir("fifo");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    config = config_of(&text_source, fifo);
    check_input_refused(&config, "is not a regular file");
    const char *path = in_dir("x");
    write_text(path, "x\n");
    config = config_of(&text_source, path);
    config.resume = (struct pipe_input_position){.offset = 1, .hint_bytes = 5};
    check_input_refused(&config, "belongs to another kind of file");
    config.source = &csv;
    check_input_refused(&config, "belongs to another kind of file");
    const struct pipe_source_def parquet = {.format = PIPE_FORMAT_PARQUET, .row = &row};
    config.source = &parquet;
    check_input_refused(&config, "cannot be read in this format");
}

/* Standard input, in pieces: nothing blocks, and a record that is not complete waits. */
static void check_standard_input(const struct pipe_source_def *source)
{
    int ends[2], kept = dup(STDIN_FILENO);
    struct pipe_record *records;
    uint32_t count;
    char error[512];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    struct pipe_input_config config = {
        .source = source, .path = "-", .length_bytes = -1, .max_record_bytes = 100};
    if (source->header)
        assert_int_equal(write(ends[1], "id,name\n", 8), 8);
    struct pipe_input *input = pipe_input_open(&config, error, sizeof error);
    assert_non_null(input);
    assert_int_equal(input->ops->next(input, 9, &records, &count), PIPE_INPUT_WAIT);
    assert_int_equal(write(ends[1], "a,", 2), 2);
    assert_int_equal(input->ops->next(input, 9, &records, &count), PIPE_INPUT_WAIT);
    assert_int_equal(write(ends[1], "b\nc", 3), 3);
    assert_int_equal(input->ops->next(input, 9, &records, &count), PIPE_INPUT_RECORDS);
    assert_int_equal(count, 1);
    assert_memory_equal(records[0].payload.data, "a,b", 3);
    assert_int_equal(input->ops->next(input, 9, &records, &count), PIPE_INPUT_WAIT);
    close(ends[1]);
    assert_int_equal(input->ops->next(input, 9, &records, &count), PIPE_INPUT_RECORDS);
    assert_memory_equal(records[0].payload.data, "c", 1);
    assert_int_equal(input->ops->next(input, 9, &records, &count), PIPE_INPUT_END);
    config.resume = input->position;
    input->ops->close(input);
    dup2(kept, STDIN_FILENO);
    close(kept);
    close(ends[0]);
    if (!source->header)
        check_input_refused(&config, "can't be read again");
}

static void test_standard_input(void **state)
{
    (void)state;
    check_standard_input(&text_source);
    check_standard_input(&csv);
    check_standard_input(&csv_header);
}

/* Any bytes are records; from every position the same. */
static void test_random_bytes(void **state)
{
    (void)state;
    static const char alphabet[] = "ab,\"\"\r\n\n\xEF\xBB\xBF\0x";
    const struct pipe_source_def *sources[] = {&text_source, &csv};
    for (int round = 0; round < 400; round++) {
        char bytes[300];
        size_t size = random_below(sizeof bytes);
        for (size_t i = 0; i < size; i++)
            bytes[i] = alphabet[random_below(sizeof alphabet - 1)];
        const char *path = in_dir("random");
        write_bytes(path, bytes, size);
        struct pipe_input_config config = config_of(sources[round % 2], path);
        config.max_record_bytes = 16 + random_below(60);
        struct reading all = check_resume(&config, 40);
        assert_false(all.failed);
        free_reading(&all);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_long_lines),
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_csv_positions),
        cmocka_unit_test(test_bad_headers),
        cmocka_unit_test(test_borders),
        cmocka_unit_test(test_limit_at_border),
        cmocka_unit_test(test_growing),
        cmocka_unit_test(test_shrinking),
        cmocka_unit_test(test_unreadable),
        cmocka_unit_test(test_standard_input),
        cmocka_unit_test(test_random_bytes),
    };
    return cmocka_run_group_tests(tests, make_test_dir, remove_test_dir);
}
