/* compiler_emit.c: what generated text keeps to: names, literals, comments, lines; and files that
 * are written. */
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checked_programs.h"
#include "emit.h"

static struct emitter emitter_of(struct program *program, struct text *out)
{
    return (struct emitter){
        .program = program, .arena = program->arena, .file = "x.pipe", .out = out};
}

static void test_names(void **state)
{
    (void)state;
    struct program *program = program_new(".");
    struct emitter e = emitter_of(program, NULL);
    assert_string_equal(mangle(&e, "price_cents"), "price_cents");
    assert_string_equal(mangle(&e, "double"), "double_");
    assert_string_equal(mangle(&e, "linux"), "linux_");
    assert_string_equal(mangle(&e, "EOF"), "EOF_");
    assert_string_equal(mangle(&e, "2nd \"x\""), "c_2nd__x_");
    assert_string_equal(mangle(&e, "_x"), "c__x");
    assert_string_equal(mangle(&e, "größe"), "gr____e");
    assert_string_equal(global_name(&e, "push_%s", "a"), "push_a");
    assert_string_equal(global_name(&e, "push_%s", "a"), "push_a_2");
    program_free(program);
}

static void test_literals(void **state)
{
    (void)state;
    struct program *program = program_new(".");
    struct emitter e = emitter_of(program, NULL);
    assert_string_equal(c_int64(&e, INT64_MIN), "INT64_MIN");
    assert_string_equal(c_int64(&e, -5), "-5");
    assert_string_equal(c_int64(&e, 10000000000), "INT64_C(10000000000)");
    __int128 big = (__int128)12345678901234567 * 1000000000000000000 + 42;
    assert_string_equal(c_int128(&e, big), "(pipe_decimal)INT64_C(12345678901234567) * "
                                           "INT64_C(1000000000000000000) + 42");
    assert_string_equal(c_duration(&e, 10000), "PIPE_SECONDS(10)");
    assert_string_equal(c_duration(&e, 86400000), "PIPE_DAYS(1)");
    assert_string_equal(c_duration(&e, 1), "PIPE_MS(1)");
    assert_string_equal(c_string_z(&e, "a\"b\\\n\x01"), "\"a\\\"b\\\\\\n\\001\"");
    assert_string_equal(c_string_z(&e, "\?\?/"), "\"?\\?/\"");
    /* Text that shows in another order than it is: gcc refuses it. Its neighbours stay. */
    assert_string_equal(c_string_z(&e, "a\u202Eb\u200F"), "\"a\\342\\200\\256b\\342\\200\\217\"");
    assert_string_equal(c_string_z(&e, "\u2066\u2069"
                                       "1"),
                        "\"\\342\\201\\246\\342\\201\\2511\"");
    assert_string_equal(c_string_z(&e, "\u200D\u2010\u2030\u206A"), "\"\u200D\u2010\u2030\u206A\"");
    assert_string_equal(c_string(&e, "\u202E", 2), "\"\xE2\x80\"");
    struct literal_number percent = {.is_decimal = true, .digits = 5, .scale = 2};
    assert_string_equal(percent_ppm(&e, percent), "500");
    program_free(program);
}

static void test_lines(void **state)
{
    (void)state;
    struct program *program = program_new(".");
    struct text out = {0};
    struct emitter e = emitter_of(program, &out);
    emit(&e, 1, "if (%s && %s)",
         "a_condition_of_some_length(row->first_column, row->second_column)",
         "another_condition(row->third_column) == 1");
    assert_string_equal(
        out.data, "    if (a_condition_of_some_length(row->first_column, row->second_column) &&\n"
                  "        another_condition(row->third_column) == 1)\n");
    out.size = 0;
    emit_comment(&e, 0, "ends */ here, begins /* there, \?\?/ too, a\u202Eb\u2069");
    assert_string_equal(out.data, "/* ends * / here, begins / * there, ? ?/ too, a b  */\n");
    text_free(&out);
    program_free(program);
}

static void test_words(void **state)
{
    (void)state;
    assert_true(mentions_word("f(row->x)", "row"));
    assert_true(mentions_word("(int64_t)row", "row"));
    assert_false(mentions_word("out.row = other->row;", "row"));
    assert_false(mentions_word("PIPE_STR(\"row \\\" row\") /* row */", "row"));
    assert_false(mentions_word("rows + arrow", "row"));
}

static struct program *planned(const char *text)
{
    struct program *program = checked(text, NULL);
    assert_int_equal(diag_error_count(program), 0);
    plan_program(program);
    return program;
}

static const char *case_text = SOURCE "stream a from s where n is not null and n + 1 > 2 select k, "
                                      "try(n * i, 0) as m rejects to bad;" SUNK;

static char *contents(const char *directory)
{
    char path[512];
    snprintf(path, sizeof path, "%s/p/p.c", directory);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *text = calloc(1, 1 << 20);
    assert_true(fread(text, 1, (1 << 20) - 1, file) > 0);
    fclose(file);
    return text;
}

static void remove_all(const char *directory)
{
    DIR *open = opendir(directory);
    if (open != NULL) {
        for (struct dirent *entry; (entry = readdir(open)) != NULL;) {
            char path[1024];
            snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
            if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
                remove_all(path);
        }
        closedir(open);
    }
    remove(directory);
}

static void test_files(void **state)
{
    (void)state;
    char one[] = "/tmp/emit_test_XXXXXX", two[] = "/tmp/emit_test_XXXXXX", path[512];
    assert_non_null(mkdtemp(one));
    assert_non_null(mkdtemp(two));
    struct program *program = planned(case_text);
    assert_true(emit_all(program, one));
    program_free(program);
    snprintf(path, sizeof path, "%s/p/p.c", one);
    struct stat before, after;
    assert_int_equal(stat(path, &before), 0);
    program = planned(case_text);
    assert_true(emit_all(program, one)); /* equal: left alone */
    assert_true(emit_all(program, two)); /* and twice from one program */
    program_free(program);
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    char *first = contents(one), *second = contents(two);
    assert_string_equal(first, second);
    assert_null(strstr(first, "/tmp"));
    free(first);
    free(second);
    remove_all(one);
    remove_all(two);
}

static void test_unwritable(void **state)
{
    (void)state;
    struct program *program = planned(case_text);
    assert_false(emit_all(program, "/dev/null/x"));
    program_free(program);
}

static void test_everything_compiles_to_bounded_lines(void **state)
{
    (void)state;
    char directory[] = "/tmp/emit_test_XXXXXX";
    assert_non_null(mkdtemp(directory));
    struct program *program = planned(case_text);
    assert_true(emit_all(program, directory));
    char *text = contents(directory);
    for (char *line = text, *end; *line != '\0'; line = end + 1) {
        end = strchr(line, '\n');
        assert_non_null(end); /* also the last line has an end */
        assert_true(end - line <= 110);
        assert_true(end == line || end[-1] != ' ');
    }
    free(text);
    remove_all(directory);
    program_free(program);
}

/* Of one expression, as a column; free() it. */
static char *generated(const char *expression)
{
    char directory[] = "/tmp/emit_test_XXXXXX";
    assert_non_null(mkdtemp(directory));
    struct text source = {0};
    text_printf(&source, SOURCE "stream a from s select k, %s as m rejects to bad;" SUNK,
                expression);
    struct program *program = planned(source.data);
    assert_true(emit_all(program, directory));
    char *text = contents(directory);
    remove_all(directory);
    program_free(program);
    text_free(&source);
    return text;
}

/* Each argument is lowered once: the time and the text do not double with every level. */
static void test_nesting(void **state)
{
    (void)state;
    static const char *const levels[][2] = {
        {"coalesce(", ", n / i)"},
        {"coalesce(n, i / ", ")"},
        {"try(i / ", ", n)"},
        {"nullif(n, i / coalesce(", ", n))"},
        {"i / length(cast(n between n and ", " as string))"},
        {"i / length(cast(n between ", " and n as string))"},
    };
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        struct text nested = {0};
        for (unsigned level = 0; level < 30; level++)
            text_puts(&nested, levels[i][0]);
        text_puts(&nested, "n");
        for (unsigned level = 0; level < 30; level++)
            text_puts(&nested, levels[i][1]);
        char *text = generated(nested.data);
        assert_true(strlen(text) < 250000);
        free(text);
        text_free(&nested);
    }
}

static void test_long_lists(void **state)
{
    (void)state;
    char *text = generated("i in (3, 1, 2, 5, 4, 9, 8, 7, 6, 10, 16, 15, 14, 13, 12, 11)");
    assert_null(strstr(text, "list_1"));
    free(text);
    text = generated("i in (3, 1, 2, 5, 4, 9, 8, 7, 6, 10, 17, 16, 15, 14, 13, 12, -11)");
    assert_non_null(strstr(text, "static const int32_t list_1[] = {\n    -11, 1, 2, 3, 4, 5, 6,"));
    assert_non_null(strstr(text, "pipe_fn_in_i32(row->i, list_1, 17)"));
    free(text);
    text = generated("k not in ('b', 'a', '', 'aa', 'ab', '1', '2', '3', '4', '5', '6', '7', '8', "
                     "'9', 'x', 'y', 'z')");
    assert_non_null(strstr(text, "list_1[] = {\n    {\"\", 0}, {\"1\", 1},"));
    assert_non_null(strstr(text, "{\"9\", 1}, {\"a\", 1}, {\"aa\", 2}, {\"ab\", 2}, {\"b\", 1},"));
    assert_non_null(strstr(text, "!pipe_fn_in_string(row->k, list_1, 17)"));
    free(text);
}

/* Where a C compiler would warn of a condition that is always false, it is told not to. */
static void test_settled_conditions(void **state)
{
    (void)state;
    static const struct {
        const char *condition;
        bool settled;
    } cases[] = {
        {"i between 1 and 3", false},
        {"i between 3 and 1", true},
        {"i > 5 and i < 7", false},
        {"i > 5 and i < 6", true},
        {"5 < i and 2 > i", true},
        {"i < 5 or i >= 5", true},
        {"x > 1.5 and x < 1.75", false},
        {"x < 1.5 and x > 1.75", true},
        {"i > 7 and k = 'a' and i < 5", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = generated(cases[i].condition);
        assert_int_equal(strstr(text, "-Wtautological-compare") != NULL, cases[i].settled);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_literals),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_unwritable),
        cmocka_unit_test(test_everything_compiles_to_bounded_lines),
        cmocka_unit_test(test_nesting),
        cmocka_unit_test(test_long_lists),
        cmocka_unit_test(test_settled_conditions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
