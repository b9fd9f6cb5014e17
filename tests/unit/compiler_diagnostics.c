/* Memory, sources and messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pipec.h"

static int set_up(void **state)
{
    *state = program_new(NULL);
    return 0;
}

static int tear_down(void **state)
{
    program_free(*state);
    return 0;
}

static char *printed(struct program *program, bool json)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    diag_print(program, out, json);
    fclose(out);
    return text;
}

static void assert_printed(struct program *program, bool json, const char *expected)
{
    char *text = printed(program, json);
    assert_string_equal(text, expected);
    free(text);
}

static struct source *source_of(struct program *program, const char *text)
{
    struct source *source = source_from_text(program, "shop.pipe", text, strlen(text));
    program->source = source;
    return source;
}

/* The place of the first `what` in the source. */
static struct span place(const struct source *source, const char *what)
{
    uint32_t begin = (uint32_t)(strstr(source->text, what) - source->text);
    return (struct span){source, begin, begin + (uint32_t)strlen(what)};
}

static void test_arena_and_vec(void **state)
{
    struct program *program = *state;
    VEC(int) numbers = {0};
    for (int i = 0; i < 10000; i++)
        vec_push(program->arena, &numbers, i);
    assert_int_equal(numbers.count, 10000);
    assert_int_equal(numbers.items[9999], 9999);
    char *large = arena_alloc(program->arena, 1000000);
    for (size_t i = 0; i < 1000000; i++)
        assert_int_equal(large[i], 0);
    memset(large, 1, 1000000);
    char *small = arena_alloc(program->arena, 1);
    assert_int_equal(*small, 0);
    assert_int_equal((uintptr_t)small % 16, 0);
    assert_string_equal(arena_printf(program->arena, "%d-%s", 7, "x"), "7-x");
    assert_string_equal(arena_strndup(program->arena, "abcdef", 3), "abc");
}

static void count_call(void *object)
{
    ++*(int *)object;
}

static void test_arena_defer(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    int calls = 0;
    arena_defer(arena, count_call, &calls);
    arena_defer(arena, count_call, &calls);
    arena_free(arena);
    assert_int_equal(calls, 2);
}

static void test_intern(void **state)
{
    struct program *program = *state;
    const char *name = intern_cstr(program, "price");
    assert_ptr_equal(name, intern(program, "price_cents", 5));
    assert_ptr_not_equal(name, intern_cstr(program, "prices"));
    const char *names[3000];
    for (int i = 0; i < 3000; i++)
        names[i] = intern_cstr(program, arena_printf(program->arena, "n%d", i));
    for (int i = 0; i < 3000; i++)
        assert_ptr_equal(names[i], intern_cstr(program, arena_printf(program->arena, "n%d", i)));
    assert_ptr_equal(name, intern_cstr(program, "price"));
}

static void test_text(void **state)
{
    (void)state;
    struct text text = {0};
    for (int i = 0; i < 1000; i++)
        text_printf(&text, "%d,", i % 10);
    text_add(&text, "end", 3);
    assert_int_equal(text.size, 2003);
    assert_string_equal(text.data + 2000, "end");
    text_free(&text);
    assert_null(text.data);
}

static void test_positions(void **state)
{
    struct program *program = *state;
    struct source *source = source_of(program, "a\n\tpräis = 1\r\n");
    unsigned line, column;
    span_position(place(source, "="), &line, &column);
    assert_int_equal(line, 2);
    assert_int_equal(column, 8);
    span_position((struct span){source, 1000, 1000}, &line, &column);
    assert_int_equal(line, 3);
    assert_int_equal(column, 1);
    span_position((struct span){0}, &line, &column);
    assert_int_equal(line, 1);
    struct span joined = span_join(place(source, "="), place(source, "a"));
    assert_int_equal(joined.begin, 0);
    assert_ptr_equal(span_join((struct span){0}, joined).source, source);
}

static void test_form(void **state)
{
    struct program *program = *state;
    struct source *source = source_of(program, "pipeline p;\n\nstream s from t\n"
                                               "  where price > 100;\n");
    struct diag *diag =
        diag_error(program, PC5021, place(source, "price"), "`%s` may be null", "price");
    diag_label(diag, "nullable");
    diag_help(diag, "write `price is not null and`");
    diag_also(diag, place(source, "pipeline"), "in this pipeline");
    diag_note(diag, "a fact");
    assert_int_equal(diag_error_count(program), 1);
    assert_printed(program, false,
                   "error[PC5021]: `price` may be null\n"
                   " --> shop.pipe:4:9\n"
                   "  |\n"
                   "1 | pipeline p;\n"
                   "  | -------- in this pipeline\n"
                   "...\n"
                   "4 |   where price > 100;\n"
                   "  |         ^^^^^ nullable\n"
                   "  |\n"
                   "  = help: write `price is not null and`\n"
                   "  = note: a fact\n");
    assert_printed(
        program, true,
        "{\"severity\":\"error\",\"code\":\"PC5021\",\"message\":\"`price` may be null\","
        "\"path\":\"shop.pipe\",\"line\":4,\"column\":9,\"end_line\":4,\"end_column\":14,"
        "\"label\":\"nullable\",\"also\":[{\"message\":\"in this pipeline\","
        "\"path\":\"shop.pipe\",\"line\":1,\"column\":1,\"end_line\":1,"
        "\"end_column\":9}],\"notes\":[\"a fact\"],"
        "\"help\":[\"write `price is not null and`\"]}\n");
}

static void test_second_file(void **state)
{
    struct program *program = *state;
    struct source *source = source_of(program, "a b\n");
    struct source *other = source_from_text(program, "v1.avsc", "\n\n{\"x\"}", 7);
    struct diag *diag = diag_error(program, PC5020, place(source, "b"), "gone");
    diag_also(diag, place(other, "\"x\""), "was here");
    diag_also(diag, place(source, "a"), "named here");
    assert_printed(program, false,
                   "error[PC5020]: gone\n --> shop.pipe:1:3\n  |\n1 | a b\n  | - named here\n"
                   "  |   ^\n ::: v1.avsc:3:2\n  |\n3 | {\"x\"}\n  |  --- was here\n");
}

/* Tabs, wide and combining characters: the caret stands below what it means. */
static void test_columns(void **state)
{
    struct program *program = *state;
    struct source *source = source_of(program, "\two\t= 漢字 + e\xcc\x81 * y");
    diag_error(program, PC5001, place(source, "="), "tab");
    diag_error(program, PC5001, place(source, "+"), "wide");
    diag_error(program, PC5001, place(source, "y"), "combining");
    assert_printed(program, false,
                   "error[PC5001]: tab\n --> shop.pipe:1:5\n  |\n"
                   "1 |     wo  = 漢字 + e\xcc\x81 * y\n  |         ^\n\n"
                   "error[PC5001]: wide\n --> shop.pipe:1:10\n  |\n"
                   "1 |     wo  = 漢字 + e\xcc\x81 * y\n  |                ^\n\n"
                   "error[PC5001]: combining\n --> shop.pipe:1:17\n  |\n"
                   "1 |     wo  = 漢字 + e\xcc\x81 * y\n  |                      ^\n");
}

static void test_end_of_file(void **state)
{
    struct program *program = *state;
    struct source *source = source_of(program, "stream");
    diag_error(program, PC5001, (struct span){source, 6, 6}, "end");
    struct source *empty = source_from_text(program, "z.pipe", "", 0);
    diag_error(program, PC5002, (struct span){empty, 0, 0}, "empty");
    assert_printed(program, false,
                   "error[PC5002]: empty\n --> z.pipe:1:1\n  |\n1 |\n  | ^\n\n"
                   "error[PC5001]: end\n --> shop.pipe:1:7\n  |\n1 | stream\n  |       ^\n");
}

static void test_long_line(void **state)
{
    struct program *program = *state;
    enum { SIZE = 5000000 };
    char *text = malloc(SIZE + 1);
    memset(text, 'x', SIZE);
    text[SIZE] = '\0';
    memcpy(text + SIZE / 2, "HERE", 4);
    struct source *source = source_of(program, text);
    diag_error(program, PC5001, place(source, "HERE"), "%s", text);
    diag_error(program, PC5001, (struct span){source, SIZE / 2, SIZE}, "wide");
    free(text);
    char *out = printed(program, false);
    assert_true(strlen(out) < 6000);
    assert_non_null(strstr(out, "| …xxx"));
    assert_non_null(strstr(out, "xxxHERExxx"));
    assert_non_null(strstr(out, " ^^^^\n"));
    assert_non_null(strstr(out, "x…\n"));
    free(out);
}

/* Nothing that is quoted can move the cursor or reorder text. */
static void test_unsafe_text(void **state)
{
    struct program *program = *state;
    struct source *source = source_of(program, "a \x1b[31m \xe2\x80\xae b \xff c\x07");
    diag_error(program, PC5001, place(source, "c"), "%s", source->text);
    for (int json = 0; json < 2; json++) {
        char *out = printed(program, json);
        assert_null(strchr(out, 0x1b));
        assert_null(strchr(out, 0x07));
        assert_null(strchr(out, '\xff'));
        assert_null(strstr(out, "\xe2\x80\xae"));
        assert_non_null(strstr(out, "\uFFFD[31m"));
        free(out);
    }
}

static void test_order_and_limit(void **state)
{
    struct program *program = *state;
    struct source *source = source_of(program, "a b c d e f g h i j k l m n o p q r s t u v w x");
    diag_error(program, PC5001, (struct span){0}, "nowhere");
    for (uint32_t i = 23; i-- > 0;)
        assert_int_equal(
            diag_is_shown(diag_error(program, PC5001, (struct span){source, 2 * i, 2 * i + 1},
                                     "error %u", i)),
            i >= 4);
    diag_error(program, PC5001, (struct span){source, 44, 45}, "error %u", 22);
    struct diag *lint = diag_lint(program, W5001, (struct span){source, 0, 1}, "a lint");
    diag_note(lint, "noted");
    assert_int_equal(diag_error_count(program), 25);
    char *out = printed(program, false);
    assert_true(strncmp(out, "warning[W5001]: a lint\n", 23) == 0);
    assert_non_null(strstr(out, "error 22"));
    assert_non_null(strstr(out, "error 4\n"));
    assert_null(strstr(out, "error 3\n"));
    assert_true(strstr(out, "error 5\n") < strstr(out, "error 6\n"));
    assert_true(strstr(out, "nowhere") > strstr(out, "error 22"));
    const char *last = strstr(out, "5 more errors are not shown");
    assert_non_null(last);
    assert_string_equal(last, "5 more errors are not shown\n");
    free(out);
    out = printed(program, true);
    assert_non_null(strstr(out,
                           "{\"severity\":\"note\",\"message\":\"5 more errors are not shown\","
                           "\"hidden\":5}\n"));
    free(out);
}

/* The same message at the same place is one message. */
static void test_said_once(void **state)
{
    struct program *program = *state;
    struct source *source = source_of(program, "a b");
    for (int i = 0; i < 3; i++)
        diag_help(diag_error(program, PC5001, place(source, "b"), "once"), "help");
    assert_int_equal(diag_error_count(program), 1);
    assert_printed(program, false,
                   "error[PC5001]: once\n --> shop.pipe:1:3\n  |\n1 | a b\n"
                   "  |   ^\n  |\n  = help: help\n");
}

static void expect_refused(const char *path, size_t limit, const char *expected)
{
    struct program *program = program_new(NULL);
    assert_null(source_read(program, path, limit, (struct span){0}));
    char *out = printed(program, false);
    if (strstr(out, expected) == NULL)
        fail_msg("%s: no `%s` in: %s", path, expected, out);
    free(out);
    program_free(program);
}

static void write_bytes(const char *path, const char *bytes, size_t size)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void test_read(void **state)
{
    struct program *program = *state;
    char directory[] = "/tmp/pipec_unit_XXXXXX";
    assert_non_null(mkdtemp(directory));
    assert_int_equal(chdir(directory), 0);
    write_bytes("good", "pr\xc3\xa4is\n", 7);
    write_bytes("empty", "", 0);
    write_bytes("nul", "ab\n\0cd", 6);
    write_bytes("latin1", "pr\xe4is", 5);
    write_bytes("surrogate", "\xed\xa0\x80", 3);
    write_bytes("overlong", "\xc0\xaf", 2);
    write_bytes("cut", "a\xe2\x82", 3);
    write_bytes("bom", "\xef\xbb\xbfx", 4);
    assert_int_equal(mkfifo("fifo", 0600), 0);
    assert_int_equal(symlink("loop", "loop"), 0);

    struct source *source = source_read(program, "good", 7, (struct span){0});
    assert_non_null(source);
    assert_string_equal(source->text, "präis\n");
    assert_int_equal(source->size, 7);
    source = source_read(program, "empty", 7, (struct span){0});
    assert_non_null(source);
    assert_int_equal(source->size, 0);
    struct program *rooted = program_new(directory);
    assert_non_null(source_read(rooted, "good", 100, (struct span){0}));
    program_free(rooted);

    expect_refused("missing", 100, "cannot read `missing`: No such file");
    expect_refused("", 100, "the path is empty");
    expect_refused(".", 100, "it is a directory");
    expect_refused("fifo", 100, "it is not a regular file");
    expect_refused("loop", 100, "Too many levels of symbolic links");
    expect_refused("good", 6, "it is larger than 6 bytes");
    expect_refused("nul", 100, "byte 0x00 at offset 3, in line 2, is a NUL");
    expect_refused("latin1", 100, "byte 0xe4 at offset 2, in line 1, is not part of");
    expect_refused("surrogate", 100, "not UTF-8");
    expect_refused("overlong", 100, "not UTF-8");
    expect_refused("cut", 100, "offset 1");
    expect_refused("bom", 100, "byte-order mark");
    static const char *const names[] = {"good",     "empty", "nul", "latin1", "surrogate",
                                        "overlong", "cut",   "bom", "fifo",   "loop"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unlink(names[i]);
    assert_int_equal(chdir("/"), 0);
    rmdir(directory);
}

static void test_nearest(void **state)
{
    (void)state;
    static const char *const names[] = {"kafka", "file", "stdout", "event_id", "ids", "category"};
    static const struct {
        const char *given, *expected;
    } rows[] = {
        {"kafak", "kafka"}, {"fiel", "file"},          {"EVENT_ID", "event_id"},
        {"id", "ids"},      {"categorie", "category"}, {"eventid", "event_id"},
        {"zz", NULL},       {"clickhouse", NULL},      {"", NULL},
        {"kafka", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *nearest = nearest_name(rows[i].given, names, 6);
        if (rows[i].expected == NULL)
            assert_null(nearest);
        else
            assert_string_equal(nearest, rows[i].expected);
    }
    char long_name[100000];
    memset(long_name, 'a', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    assert_null(nearest_name(long_name, names, 6));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_arena_and_vec, set_up, tear_down),
        cmocka_unit_test(test_arena_defer),
        cmocka_unit_test_setup_teardown(test_intern, set_up, tear_down),
        cmocka_unit_test(test_text),
        cmocka_unit_test_setup_teardown(test_positions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_form, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_second_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_columns, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_end_of_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_long_line, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_unsafe_text, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_order_and_limit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_said_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_read, set_up, tear_down),
        cmocka_unit_test(test_nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
