/*
 * The formatter: pairs of tests/golden/fmt, and what holds for any input: the tree stays,
 * formatting twice changes nothing, every comment is kept, lines fit.
 */
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "syntax.h"

#define GOLDEN "tests/golden/fmt/"

static struct text formatted(const char *text, size_t size)
{
    struct program *program = program_new(".");
    struct text out = {0};
    if (!format_program(program, source_from_text(program, "test.pipe", text, size), &out)) {
        diag_print(program, stderr, false);
        fail_msg("does not parse: %s", text);
    }
    program_free(program);
    text_add(&out, "", 0);
    return out;
}

static struct text tree_of(const char *text, size_t size)
{
    struct program *program = program_new(".");
    struct text out = {0};
    parse(program, source_from_text(program, "test.pipe", text, size));
    ast_print(program, &out);
    program_free(program);
    return out;
}

static const char *text_of(const struct text *text)
{
    return text->data ? text->data : "";
}

/* The tree stays, and formatting the result changes nothing. */
static void expect_stable(const char *text, size_t size)
{
    struct text once = formatted(text, size);
    struct text twice = formatted(text_of(&once), once.size);
    assert_string_equal(text_of(&twice), text_of(&once));
    struct text before = tree_of(text, size), after = tree_of(text_of(&once), once.size);
    assert_string_equal(text_of(&after), text_of(&before));
    text_free(&once);
    text_free(&twice);
    text_free(&before);
    text_free(&after);
}

static void expect_formatted(const char *text, const char *expected)
{
    struct text out = formatted(text, strlen(text));
    assert_string_equal(text_of(&out), expected);
    text_free(&out);
    expect_stable(text, strlen(text));
}

static struct text file_text(const char *path)
{
    struct text text = {0};
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("cannot open %s", path);
    char buffer[4096];
    for (size_t size; (size = fread(buffer, 1, sizeof buffer, file)) > 0;)
        text_add(&text, buffer, size);
    fclose(file);
    return text;
}

static void test_golden(void **state)
{
    (void)state;
    glob_t paths;
    assert_int_equal(glob(GOLDEN "*.in.pipe", 0, NULL, &paths), 0);
    for (size_t i = 0; i < paths.gl_pathc; i++) {
        const char *path = paths.gl_pathv[i];
        char expected_path[256];
        snprintf(expected_path, sizeof expected_path, "%.*s.out.pipe",
                 (int)(strlen(path) - strlen(".in.pipe")), path);
        struct text input = file_text(path), expected = file_text(expected_path);
        struct text out = formatted(text_of(&input), input.size);
        assert_string_equal(text_of(&out), text_of(&expected));
        expect_stable(text_of(&input), input.size);
        text_free(&input);
        text_free(&expected);
        text_free(&out);
    }
    globfree(&paths);
}

static void test_spaces(void **state)
{
    (void)state;
    expect_formatted(
        "stream s from a where f ( a . b , - 1 ) = - ( - x ) - - 1 and c in ( 1 , - 2 ) ;",
        "stream s from a\n  where f(a.b, -1) = -(-x) - -1 and c in (1, -2);\n");
    expect_formatted("stream s from a where value-1=max(key)-end_of;",
                     "stream s from a\n  where value - 1 = max(key) - end_of;\n");
    expect_formatted(
        "stream s from a where cast(a as decimal(1,2))=try(a,b) and not(a or b);",
        "stream s from a\n  where cast(a as decimal(1, 2)) = try(a, b) and not (a or b);\n");
    expect_formatted("stream s from a where 'x'-1=5s-1 and case when a then b end-1=true-1;",
                     "stream s from a\n"
                     "  where 'x' - 1 = 5s - 1 and case when a then b end - 1 = true - 1;\n");
    expect_formatted("traffic t into a field x pick-1,'b' 2,(a:1),[-1,2] field y uniform-5 .. -1;",
                     "traffic t into a\n  field x pick -1, 'b' 2, (a: 1), [-1, 2]\n"
                     "  field y uniform -5..-1;\n");
    expect_formatted("source a columns(a int64,b string null);",
                     "source a\n  columns (a int64, b string null);\n");
    expect_formatted(
        "stream s from a select*except(a,b),columns(a),except(b);",
        "stream s from a\n  select\n    * except (a, b),\n    columns(a),\n    except(b);\n");
}

static void test_blank_lines(void **state)
{
    (void)state;
    expect_formatted("", "");
    expect_formatted("\n\n-- only\n\n\n\n-- comments", "-- only\n\n-- comments\n");
    expect_formatted(
        "pipeline a;slo x fresh within 1s for 9 percent of 1d;\n\n\n\nslo y fresh within 1s "
        "for 9 percent of 1d;stream s from a where b;pipeline c;",
        "pipeline a;\nslo x fresh within 1s for 9 percent of 1d;\n\n"
        "slo y fresh within 1s for 9 percent of 1d;\n\n"
        "stream s from a\n  where b;\n\npipeline c;\n");
}

static void test_comments(void **state)
{
    (void)state;
    expect_formatted(
        "-- top\n\n-- of p\npipeline p; -- after p\n-- own\n\n-- of s\nstream s from a -- head\n"
        "  -- of where\n where b -- tail  \r\n and c -- last\n ; -- done\n-- end",
        "-- top\n\n-- of p\npipeline p;  -- after p\n\n-- own\n\n-- of s\n"
        "stream s from a  -- head\n  -- of where\n  where b  -- tail\n"
        "      and c  -- last\n      ;  -- done\n\n-- end\n");
    expect_formatted("stream s from a select b -- of b\n, -- of the comma\n c -- of c\n, d;",
                     "stream s from a\n  select\n    b  -- of b\n        ,  -- of the comma\n"
                     "    c,  -- of c\n    d;\n");
    expect_formatted("sink s from a -- why\n to stdout;", "sink s from a  -- why\n  to stdout;\n");
    expect_formatted("source a from kafka topic 'x' -- n\n partitions 3;",
                     "source a\n  from kafka topic 'x'  -- n\n  partitions 3;\n");
}

static void test_long_lines(void **state)
{
    (void)state;
    expect_formatted(
        "stream s from a where aaaaaaaaaaaaaaaaaaaa = 1 and bbbbbbbbbbbbbbbbbbbbbbbbb between 1 "
        "and 2 or "
        "cccccccccccccccccccccccc = 3 and ddddddddddddddddddddd = 4;",
        "stream s from a\n"
        "  where aaaaaaaaaaaaaaaaaaaa = 1 and bbbbbbbbbbbbbbbbbbbbbbbbb between 1 and 2\n"
        "      or cccccccccccccccccccccccc = 3 and ddddddddddddddddddddd = 4;\n");
    char *list = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&list, &size);
    fputs("stream s from a where x in (1", file);
    for (int i = 0; i < 100000; i++)
        fprintf(file, ", %d", i);
    fputs(") and f(g(h(1)));", file);
    fclose(file);
    struct text out = formatted(list, size);
    for (const char *line = text_of(&out), *end; (end = strchr(line, '\n')); line = end + 1)
        assert_true(end - line <= 100);
    text_free(&out);
    free(list);
}

static void test_errors(void **state)
{
    (void)state;
    struct program *program = program_new(".");
    struct text out = {0};
    const char *text = "pipeline a; foo;";
    assert_false(format_program(program, source_from_text(program, "t", text, strlen(text)), &out));
    assert_int_equal(out.size, 0);
    assert_int_equal(diag_error_count(program), 1);
    program_free(program);
    text_free(&out);
}

/* A program that is parsed already is formatted from its tree. */
static void test_parsed_program(void **state)
{
    (void)state;
    struct program *program = program_new(".");
    const char *text = "pipeline   a;";
    const struct source *source = source_from_text(program, "t", text, strlen(text));
    parse(program, source);
    struct text out = {0};
    assert_true(format_program(program, source, &out));
    assert_string_equal(out.data, "pipeline a;\n");
    assert_int_equal(program->statements.count, 1);
    program_free(program);
    text_free(&out);
}

static unsigned next_random(unsigned *seed)
{
    *seed = *seed * 1103515245u + 12345u;
    return *seed >> 16;
}

static size_t count_comments(const char *text, size_t size)
{
    struct program *program = program_new(".");
    token_list tokens = {0};
    size_t count = 0;
    lex_tokens(program, source_from_text(program, "t", text, size), &tokens);
    for (size_t i = 0; i < tokens.count; i++)
        count += tokens.items[i].is_comment;
    program_free(program);
    return count;
}

/* The golden programs with line breaks, blanks and comments at random places between their tokens.
 */
static void test_random_layout(void **state)
{
    (void)state;
    static const char *const between[] = {
        "\n",  "\n\n\n", "  ", "\t", "\r\n", " -- c\n", "\n-- own\n", "\n\n  -- own, blank\n\n",
        "--\n"};
    glob_t paths;
    assert_int_equal(glob(GOLDEN "*.out.pipe", 0, NULL, &paths), 0);
    unsigned seed = 42;
    for (size_t round = 0; round < 40; round++) {
        struct text input = file_text(paths.gl_pathv[round % paths.gl_pathc]), mixed = {0};
        struct program *program = program_new(".");
        token_list tokens = {0};
        lex_tokens(program, source_from_text(program, "t", text_of(&input), input.size), &tokens);
        unsigned often = 2 + next_random(&seed) % 60;
        for (size_t i = 0; i < tokens.count; i++) {
            struct span span = tokens.items[i].span;
            text_add(&mixed, input.data + span.begin, span.end - span.begin);
            text_puts(&mixed, tokens.items[i].is_comment ? "\n" : " ");
            if (next_random(&seed) % often == 0)
                text_puts(&mixed,
                          between[next_random(&seed) % (sizeof between / sizeof between[0])]);
        }
        expect_stable(text_of(&mixed), mixed.size);
        struct text out = formatted(text_of(&mixed), mixed.size);
        assert_int_equal(count_comments(text_of(&out), out.size),
                         count_comments(text_of(&mixed), mixed.size));
        text_free(&out);
        text_free(&mixed);
        text_free(&input);
        program_free(program);
    }
    globfree(&paths);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),         cmocka_unit_test(test_spaces),
        cmocka_unit_test(test_blank_lines),    cmocka_unit_test(test_comments),
        cmocka_unit_test(test_long_lines),     cmocka_unit_test(test_errors),
        cmocka_unit_test(test_parsed_program), cmocka_unit_test(test_random_layout),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
