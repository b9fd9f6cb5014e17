/*
 * Lexer, grammar, messages of syntax errors, syntax tree.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "syntax.h"

/* ---- Helpers ---- */

static struct program *parsed_bytes(const char *text, size_t size)
{
    struct program *program = program_new(".");
    parse(program, source_from_text(program, "test.pipe", text, size));
    return program;
}

static struct program *parsed(const char *text)
{
    return parsed_bytes(text, strlen(text));
}

/* What is printed about the program; the caller frees it. */
static char *messages(const struct program *program)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    diag_print(program, file, false);
    fclose(file);
    return text;
}

/* Whether the tree of `text` prints as `expected`. */
static void expect_tree(const char *text, const char *expected)
{
    struct program *program = parsed(text);
    char *errors = messages(program);
    assert_string_equal(errors, "");
    free(errors);
    struct text tree = {0};
    ast_print(program, &tree);
    assert_string_equal(tree.data ? tree.data : "", expected);
    text_free(&tree);
    program_free(program);
}

/* The tree of an expression in a `where`. */
static void expect_expr(const char *text, const char *expected)
{
    struct text program = {0}, tree = {0};
    text_printf(&program, "stream s from i where %s;", text);
    text_printf(&tree, "(stream s ( i )\n  (where %s))\n", expected);
    expect_tree(program.data, tree.data);
    text_free(&program);
    text_free(&tree);
}

/* One error with this first line, and this help (NULL: none). */
static void expect_error(const char *text, const char *first_line, const char *help)
{
    struct program *program = parsed(text);
    char *printed = messages(program);
    assert_int_equal(diag_error_count(program), 1);
    char *end = strchr(printed, '\n');
    assert_non_null(end);
    const char *written = strstr(printed, "= help: ");
    *end = '\0';
    assert_string_equal(printed, first_line);
    if (help) {
        assert_non_null(written);
        assert_memory_equal(written + strlen("= help: "), help, strlen(help));
        assert_int_equal(written[strlen("= help: ") + strlen(help)], '\n');
    } else {
        assert_null(written);
    }
    free(printed);
    program_free(program);
}

static void expect_printed(const char *text, const char *expected)
{
    struct program *program = parsed(text);
    char *printed = messages(program);
    assert_string_equal(printed, expected);
    free(printed);
    program_free(program);
}

/* `unit` `count` times between two texts; the caller frees it. */
static char *repeated(const char *before, const char *unit, size_t count, const char *after)
{
    struct text text = {0};
    text_puts(&text, before);
    for (size_t i = 0; i < count; i++)
        text_puts(&text, unit);
    text_puts(&text, after);
    return text.data;
}

static void expect_repeated_error(const char *before, const char *unit, size_t count,
                                  const char *after, const char *first_line, const char *help)
{
    char *text = repeated(before, unit, count, after);
    expect_error(text, first_line, help);
    free(text);
}

static unsigned errors_of(const char *text, size_t size)
{
    struct program *program = parsed_bytes(text, size);
    unsigned count = diag_error_count(program);
    program_free(program);
    return count;
}

/* ---- Words ---- */

static void test_keywords_are_sorted(void **state)
{
    (void)state;
    size_t reserved = 0;
    for (size_t i = 0; i < keyword_count; i++) {
        if (i)
            assert_true(strcmp(keywords[i - 1].word, keywords[i].word) < 0);
        assert_ptr_equal(keyword_find(keywords[i].word, strlen(keywords[i].word)), &keywords[i]);
        reserved += keywords[i].status == RESERVED;
    }
    assert_int_equal(reserved, 36);
    assert_null(keyword_find("", 0));
    assert_null(keyword_find("selec", 5));
    assert_null(keyword_find("selects", 7));
}

static void test_free_keywords_are_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < keyword_count; i++) {
        const char *word = keywords[i].word;
        struct text text = {0};
        text_printf(
            &text,
            "pipeline %1$s; source %1$s key %1$s event time %1$s.%1$s as %1$s;"
            "stream %1$s from %1$s, %1$s where %1$s = %1$s(%1$s) unnest %1$s as %1$s"
            " select %1$s as %1$s, * except (%1$s) dedup by %1$s within 1s group by %1$s;"
            "sink %1$s from %1$s key %1$s partition by %1$s(%1$s) upsert by %1$s version %1$s;"
            "traffic %1$s into %1$s steps %1$s 'a' to end 1 field %1$s unique"
            " fault value %1$s.%1$s 1 1 percent;"
            "test 't' given %1$s at 1s (%1$s: 1) expect %1$s nothing;"
            "evolve from plan 'p' renamed %1$s to %1$s drop %1$s because 'x';",
            word);
        unsigned errors = errors_of(text.data, text.size);
        if (keywords[i].status == FREE)
            assert_int_equal(errors, 0);
        else
            assert_true(errors > 0);
        text_free(&text);
    }
}

static void test_reserved_words_are_quoted_names(void **state)
{
    (void)state;
    expect_tree("stream \"select\" from \"a b\" where \"Ünïcode\".\"from\" = 1;",
                "(stream select ( \"a b\" )\n  (where (= \"Ünïcode\" . from 1)))\n");
}

/* ---- The tree ---- */

static void test_precedence(void **state)
{
    (void)state;
    expect_expr("a or b and not c = d", "(or a (and b (not (= c d))))");
    expect_expr("a + b * c - d", "(- (+ a (* b c)) d)");
    expect_expr("(a + b) * c", "(* (+ a b) c)");
    expect_expr("a || b + 1 = 'x'", "(= (|| a (+ b 1)) 'x')");
    expect_expr("- a % b / 2", "(/ (% (- a) b) 2)");
    expect_expr("a - -1 = - -b", "(= (- a (- 1)) (- (- b)))");
    expect_expr("not a = 1 or b", "(or (not (= a 1)) b)");
    expect_expr("a <> 1 and b < 2 and c > 3 and d <= 4 and e >= 5",
                "(and (and (and (and (<> a 1) (< b 2)) (> c 3)) (<= d 4)) (>= e 5))");
}

static void test_predicates(void **state)
{
    (void)state;
    expect_expr("a is null or b is not null", "(or (is_null a) (not is_null b))");
    expect_expr("a between 1 and 2 + 3 and b", "(and (between a 1 (+ 2 3)) b)");
    expect_expr("a not between -1 and 1", "(not between a (- 1) 1)");
    expect_expr("a in (1, -2, 0.5, -0.50, 'x', 5s, 1KiB)",
                "(in a 1 -2 0.5 -0.50 'x' 5000ms 1024B)");
    expect_expr("a not in ('x')", "(not in a 'x')");
    expect_expr("a like '%x' and b not like 'y'", "(and (like a '%x') (not like b 'y'))");
    expect_expr("a matches '^\\d+$' and b not matches ''",
                "(and (matches a '^\\d+$') (not matches b ''))");
}

static void test_primaries(void **state)
{
    (void)state;
    expect_expr("f() = g(a, b.c) and max(1) = try(a / b, 0)",
                "(and (= (call f) (call g a b . c)) (= (call max 1) (try (/ a b) 0)))");
    expect_expr("cast(a as decimal(10, 2)) = cast(b as int64)",
                "(= (cast a decimal 10 2) (cast b int64))");
    expect_expr("case when a then b when c then d else e end",
                "(case (when a b) (when c d) else e)");
    expect_expr("case a when 1 then true when 2 then false end",
                "(case a (when 1 true) (when 2 false))");
    expect_expr("a = null or 10_000 = 1.5_0", "(or (= a null) (= 10000 1.50))");
    expect_expr("'it''s' = '' || '\\n'", "(= 'it''s' (|| '' '\\n'))");
    expect_expr("1ms = 1s and 1m = 1h and 36500d = 0d",
                "(and (and (= 1ms 1000ms) (= 60000ms 3600000ms)) (= 3153600000000ms 0ms))");
    expect_expr("1B = 1KiB and 1MiB = 1GiB", "(and (= 1B 1024B) (= 1048576B 1073741824B))");
    expect_expr("99999999999999999999999999999999999999 = 0.00000000000000000000000000000000000001",
                "(= 99999999999999999999999999999999999999 "
                "0.00000000000000000000000000000000000001)");
}

static void test_comments_and_spaces(void **state)
{
    (void)state;
    expect_tree("-- one\r\npipeline\ta -- two\n;-- three", "(pipeline a)\n");
    expect_tree("", "");
    expect_tree("-- only a comment", "");
}

static void test_spans(void **state)
{
    (void)state;
    const char *text = "stream s from i\n  where (a + b) * 2 = c;";
    struct program *program = parsed(text);
    const struct statement *statement = program->statements.items[0];
    assert_int_equal(statement->span.begin, 0);
    assert_int_equal(statement->span.end, strlen(text));
    const struct clause *clause = &statement->clauses.items[0];
    assert_int_equal(clause->word.begin, 18);
    assert_int_equal(clause->word.end, 23);
    assert_int_equal(clause->span.end, strlen(text) - 1);
    assert_int_equal(clause->expr->left->span.begin, 24);
    assert_int_equal(clause->expr->left->span.end, 35);
    program_free(program);
}

static void test_clause_values(void **state)
{
    (void)state;
    struct program *program =
        parsed("sink k from s rollup 'r' by bucket(8, a), b aggregate count();"
               "traffic t into s field a pick 'x', 'y' 3;"
               "source s idle 3s advance;");
    assert_int_equal(diag_error_count(program), 0);
    const struct clause *rollup = &program->statements.items[0]->clauses.items[0];
    assert_int_equal(rollup->kind, CLAUSE_ROLLUP);
    assert_int_equal(rollup->transforms.count, 2);
    assert_true(rollup->transforms.items[0].has_argument);
    assert_int_equal(rollup->transforms.items[0].argument, 8);
    assert_null(rollup->transforms.items[1].function.text);
    assert_null(rollup->items.items[0].as.text);
    const struct generator *pick = program->statements.items[1]->clauses.items[0].generator;
    assert_int_equal(pick->picks.items[0].weight, 1);
    assert_int_equal(pick->picks.items[1].weight, 3);
    const struct clause *idle = &program->statements.items[2]->clauses.items[0];
    assert_int_equal(idle->duration_ms, 3000);
    assert_true(idle->flag);
    program_free(program);
}

/* ---- Messages ---- */

static void test_messages_of_the_grammar(void **state)
{
    (void)state;
    expect_error("stream a from b window tumbling 10 group by x;",
                 "error[PC1001]: unexpected `10`; expected a duration",
                 "a duration has a unit, one of ms, s, m, h, d: `10s`");
    expect_error(
        "sink a from b to kafak topic 'x';",
        "error[PC1001]: unexpected `kafak`; expected kafka, file, stdout, clickhouse, iceberg",
        "did you mean `kafka`?");
    expect_error("stream a from b where length(y) > 2 els 3;",
                 "error[PC1001]: unexpected `els`; expected an operator, another clause, ';'",
                 NULL);
    expect_error("stream a from b require x > 0;",
                 "error[PC1001]: unexpected `;`; expected an operator, else",
                 "write `else 'reason'` behind the condition");
    expect_error("stream a from b select window;",
                 "error[PC1001]: unexpected `window`; expected an expression, '*'",
                 "`window` is a keyword; as a name it is written \"window\"");
    expect_error("stream a from b where a < b < c;",
                 "error[PC1001]: unexpected `<`; expected an operator, another clause, ';'",
                 "comparisons do not chain; join them with `and`");
    expect_error("stream a from b where a = 'it's';",
                 "error[PC1001]: unexpected `s`; expected an operator, another clause, ';'",
                 "a quote inside text is written twice: 'it''s'");
}

static void test_groups(void **state)
{
    (void)state;
    expect_error("foo bar;", "error[PC1001]: unexpected `foo`; expected a statement",
                 "a statement starts with pipeline, contract, source, stream, sink, slo, traffic, "
                 "test or evolve");
    expect_error("strem a from b;", "error[PC1001]: unexpected `strem`; expected a statement",
                 "did you mean `stream`?");
    expect_error("stream a from b where x between 1;",
                 "error[PC1001]: unexpected `;`; expected an operator, and", NULL);
    expect_error(
        "stream a from b where x in (a);",
        "error[PC1001]: unexpected `a`; expected a number, text in quotes, a duration, a size",
        NULL);
    expect_error("traffic a into b field x pick ;",
                 "error[PC1001]: unexpected `;`; expected a constant", NULL);
    expect_error("slo a fresh within 1s for percent of 3d;",
                 "error[PC1001]: unexpected `percent`; expected a number", NULL);
    expect_error("source a from kafka topic 'x' foo;",
                 "error[PC1001]: unexpected `foo`; expected another clause, ';'", NULL);
    expect_error("traffic a into b foo;",
                 "error[PC1001]: unexpected `foo`; expected session, steps, field, fault, ';'",
                 NULL);
    expect_error(
        "stream a from b select a b;",
        "error[PC1001]: unexpected `b`; expected an operator, as, another clause, ',', ';'",
        "a name stands behind `as`: `as b`");
    expect_error("sink a from b key group;", "error[PC1001]: unexpected `group`; expected a name",
                 "`group` is a keyword; as a name it is written \"group\"");
    expect_error("stream a from b where x is 3;",
                 "error[PC1001]: unexpected `3`; expected not, null",
                 "`is` goes with `null` only: write `=`");
    expect_error("stream a from b where",
                 "error[PC1001]: unexpected end of the file; expected an "
                 "expression",
                 NULL);
}

static void test_common_slips(void **state)
{
    (void)state;
    expect_error("source a from kafka topic \"x\";",
                 "error[PC1001]: unexpected `\"x\"`; expected text in quotes",
                 "text stands in single quotes: 'x'");
    expect_error("stream a from 'b';", "error[PC1001]: unexpected `'b'`; expected a name",
                 "a name stands bare, or in double quotes");
    expect_error("stream a from b select count(*) as n;",
                 "error[PC1001]: unexpected `*`; expected an expression, ')'",
                 "`count()` counts rows");
    expect_error("stream a from b where a[1] = 2;",
                 "error[PC1001]: unexpected `[`; expected an operator, another clause, ';'",
                 "an element of an array is `get(array, index)`, the first has index 0");
    expect_error("stream a from b where x\nsink b from a to stdout;",
                 "error[PC1001]: unexpected `sink`; expected an operator, another clause, ';'",
                 "a statement ends with `;`");
    expect_error("sink a from b target 64;", "error[PC1001]: unexpected `64`; expected a size",
                 "a size has a unit, one of B, KiB, MiB, GiB: `64MiB`");
    expect_error("stream a from b WHERE x;",
                 "error[PC1004]: unexpected `WHERE`; expected another clause, ',', ';'",
                 "keywords are written in lower case: `where`; as a name it is written \"WHERE\"");
}

static void test_foreign_operators(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"==", "equality is one `=`"},
        {"!=", "inequality is `<>`"},
        {"&&", "write `and`"},
        {"!", "write `not`"},
        {"//", "a comment starts with `--`"},
        {"/*", "a comment starts with `--` and ends with the line: write `--` in front of each"},
        {"::", "a conversion is `cast(value as type)`"},
        {"->", "a field of a record is `record.field`; of JSON text, `json_value(text, 'path')`"},
        {"=>", "in a row, `:` stands between column and value; `>=` is greater or equal"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct text text = {0}, line = {0};
        text_printf(&text, "stream a from b where x %s 3;", cases[i][0]);
        text_printf(&line,
                    "error[PC1003]: unexpected `%s`; expected an operator, another clause, ';'",
                    cases[i][0]);
        expect_error(text.data, line.data, cases[i][1]);
        text_free(&text);
        text_free(&line);
    }
}

static void test_bad_units(void **state)
{
    (void)state;
    static const char duration[] = "; a duration is an integer and one of ms, s, m, h, d";
    static const char size[] = "; the units of sizes are B, KiB, MiB, GiB";
    static const char *const cases[][3] = {
        {"1min", "write `1m`", duration},
        {"10sec", "write `10s`", duration},
        {"64MB", "write `64MiB`", size},
        {"1h30m", "write `90m`", duration},
        {"1.5s", "write `1500ms`", duration},
        {"1_000days", "write `1000d`", duration},
        {"1e5", "numbers have no exponent: write all digits, `_` may group them", ""},
        {"0x10", "numbers are decimal: there is no hexadecimal", ""},
        {"1st",
         "units are ms, s, m, h, d and B, KiB, MiB, GiB; a name that starts with a digit is "
         "written in double quotes",
         ""},
        {"10_",
         "units are ms, s, m, h, d and B, KiB, MiB, GiB; a name that starts with a digit is "
         "written in double quotes",
         ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct text text = {0}, line = {0}, help = {0};
        text_printf(&text, "stream a from b where x = %s;", cases[i][0]);
        text_printf(&line, "error[PC1002]: unexpected `%s`; expected an expression", cases[i][0]);
        text_printf(&help, "%s%s", cases[i][1], cases[i][2]);
        expect_error(text.data, line.data, help.data);
        text_free(&text);
        text_free(&line);
        text_free(&help);
    }
}

static void test_unclosed_quotes(void **state)
{
    (void)state;
    expect_error("stream a from b where x = 'abc;\npipeline p;",
                 "error[PC1005]: this text is not closed",
                 "text ends with `'` on the line on which it starts");
    expect_error("stream a from \"b", "error[PC1005]: this name is not closed",
                 "a name in quotes ends with `\"` on the line on which it starts");
    expect_error("pipeline '", "error[PC1005]: this text is not closed",
                 "text ends with `'` on the line on which it starts");
}

static void test_unclosed_bracket(void **state)
{
    (void)state;
    expect_printed("stream a from b where f(a, b emit on close;",
                   "error[PC1001]: unexpected `emit`; expected an operator, ',', ')'\n"
                   " --> test.pipe:1:30\n"
                   "  |\n"
                   "1 | stream a from b where f(a, b emit on close;\n"
                   "  |                        - this `(` is not closed\n"
                   "  |                              ^^^^\n");
    struct program *program = parsed("stream a from b select case when a then b;\n"
                                     "test 't' expect a (x: [1, 2;");
    char *printed = messages(program);
    assert_int_equal(diag_error_count(program), 2);
    assert_non_null(strstr(printed, "this `case` has no `end`"));
    assert_non_null(strstr(printed, "this `[` is not closed"));
    free(printed);
    program_free(program);
}

static void test_recovery(void **state)
{
    (void)state;
    struct program *program = parsed("pipeline a; foo; stream b from c where; stream d from e;\n"
                                     "stream f from g select (1; stream h from i;");
    assert_int_equal(diag_error_count(program), 3);
    struct text tree = {0};
    ast_print(program, &tree);
    assert_string_equal(tree.data, "(pipeline a)\n(stream d ( e ))\n(stream h ( i ))\n");
    text_free(&tree);
    program_free(program);
}

/* ---- Limits and junk ---- */

static void test_names(void **state)
{
    (void)state;
    expect_error("stream \"\" from b;", "error[PC1007]: a name has at least one character", NULL);
    char *text = repeated("pipeline ", "n", 63, ";");
    assert_int_equal(errors_of(text, strlen(text)), 0);
    free(text);
    expect_repeated_error("pipeline ", "n", 64, ";",
                          "error[PC1007]: this name has 64 bytes; the longest has 63", NULL);
    expect_repeated_error("pipeline \"", "é", 32, "\";",
                          "error[PC1007]: this name has 64 bytes; the longest has 63", NULL);
}

static void test_numbers_out_of_range(void **state)
{
    (void)state;
    expect_repeated_error("stream a from b where x = ", "9", 39, ";",
                          "error[PC1008]: this number has more than 38 digits", NULL);
    expect_repeated_error("stream a from b where x = 0.", "0", 39, ";",
                          "error[PC1008]: this number has more than 38 digits", NULL);
    expect_error("stream a from b lateness 36501d;", "error[PC1008]: this duration is too long",
                 "the longest duration is `36_500d`");
    expect_repeated_error("stream a from b lateness ", "9", 100000, "ms;",
                          "error[PC1008]: this duration is too long",
                          "the longest duration is `36_500d`");
    expect_error("sink a from b target 9_999_999_999GiB;",
                 "error[PC1008]: this size does not fit into 64 bits", NULL);
    expect_error("source a partitions 9_223_372_036_854_775_808;",
                 "error[PC1008]: this number is too large here", NULL);
    expect_error("stream a from b where cast(x as decimal(4_294_967_296)) = 1;",
                 "error[PC1008]: this number is too large here", NULL);
    assert_int_equal(errors_of("source a partitions 9_223_372_036_854_775_807;", 46), 0);
}

static void test_nesting(void **state)
{
    (void)state;
    static const char line[] = "error[PC1009]: nested more than 200 levels deep";
    static const char help[] =
        "split the expression: let a `select` in a stream before this one name its parts";
    static const char *const units[] = {"(",     "not ",           "f(",      "- ",        "-(",
                                        "case ", "not case when ", "try(1, ", "(x + (y * "};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        expect_repeated_error("stream a from b where ", units[i], 70000, "x;", line, help);
    expect_repeated_error("test 't' expect a (x: ", "[", 70000, ";", line, help);
    expect_repeated_error("test 't' expect a ", "(x: ", 70000, ";", line, help);
    char *open = repeated("stream a from b where ", "(", 200, "x");
    char *text = repeated(open, ")", 200, ";");
    assert_int_equal(errors_of(text, strlen(text)), 0);
    free(text);
    free(open);
    text = repeated("stream a from b where ", "not ", 200, "x;");
    assert_int_equal(errors_of(text, strlen(text)), 0);
    free(text);
    /* Many runs of prefix operators: bison's own stack is the bound. */
    char *run = repeated("", "not ", 99, "(");
    text = repeated("stream a from b where ", run, 101, "x;");
    struct program *program = parsed(text);
    assert_int_equal(diag_error_count(program), 1);
    program_free(program);
    free(text);
    free(run);
}

static void test_long_chains(void **state)
{
    (void)state;
    static const char line[] = "error[PC1009]: this expression joins more than 1000 parts";
    static const char help[] =
        "write a list as `x in (…)`, or name parts by a `select` in a stream before this one";
    static const char *const units[] = {"x or ", "x and ", "x + ", "x * ", "x || "};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        expect_repeated_error("stream a from b where ", units[i], 100000, "x;", line, help);
    char *text = repeated("stream a from b where x", " or x", 1000, ";");
    assert_int_equal(errors_of(text, strlen(text)), 0);
    free(text);
    /* Lists are as long as the file. */
    text = repeated("stream a from b where x in (1", ", 1", 300000, ");");
    assert_int_equal(errors_of(text, strlen(text)), 0);
    free(text);
}

static void test_file_size(void **state)
{
    (void)state;
    char *text = repeated("pipeline p;", " ", SYNTAX_MAX_FILE_BYTES - 11, "");
    assert_int_equal(errors_of(text, strlen(text)), 0);
    free(text);
    text = repeated("pipeline p;", " ", SYNTAX_MAX_FILE_BYTES - 10, "");
    assert_int_equal(errors_of(text, strlen(text)), 1);
    free(text);
    expect_repeated_error("", "x", 10000000, "", "error[PC5001]: the file has 10000000 bytes",
                          "a pipeline has at most 1 MiB; is this the right file?");
}

static void test_not_text(void **state)
{
    (void)state;
    static const char *const bad[] = {"\xff",
                                      "\xc3",
                                      "\xc0\x80",
                                      "\xed\xa0\x80",
                                      "\xf4\x90\x80\x80",
                                      "\xe2\x82",
                                      "\xef\xbb\xbfpipeline p;",
                                      "-- \x80",
                                      "pipeline \"\xfe\";"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(errors_of(bad[i], strlen(bad[i])), 1);
    assert_int_equal(errors_of("pipeline p;\0", 12), 1);
    assert_int_equal(errors_of("pipeline \x01 p;", 13), 1);
    expect_error("stream a from b where x = \x07;",
                 "error[PC1006]: unexpected byte 0x07; expected an expression", NULL);
    expect_error(
        "stream a from b where größe = 1;",
        "error[PC1006]: unexpected `ö`; expected an operator, another clause, ';'",
        "a name with other than ASCII letters, digits and `_` is written in double quotes");
    expect_error("stream a from b where a = ‘x’;",
                 "error[PC1006]: unexpected `‘`; expected an expression",
                 "text stands in straight single quotes, names in straight double quotes");
}

static void test_thousands_of_errors(void **state)
{
    (void)state;
    static const char *const units[] = {"foo;",  ";",   "stream;", "'x';", "@ ", "'\n",
                                        "\"\n;", "1x;", "((",      ")))",  "]",  "end end;"};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        char *text = repeated("", units[i], 20000, "");
        assert_true(errors_of(text, strlen(text)) > 0);
        free(text);
    }
}

/* Any bytes at all, from the pieces of which programs are made: no crash, and at least one
 * statement or error. */
static void test_random_tokens(void **state)
{
    (void)state;
    static const char *const bits[] = {
        "stream ", "a ",    "from ",   "where ",  "(",        ")",      ";",        ", ",
        "'x' ",    "1 ",    "5s ",     "case ",   "when ",    "then ",  "end ",     "select ",
        "*",       "as ",   "sink ",   "to ",     "kafka ",   "topic ", "- ",       "not ",
        "[",       "] ",    "source ", "test ",   "given ",   "at ",    "expect ",  "nothing ",
        ": ",      ".. ",   "= ",      "and ",    "between ", "in ",    "\"q\" ",   "'",
        "\"",      "-- \n", "\n",      "window ", "is ",      "null ",  "traffic ", "into ",
        "field ",  "pick ", "fault ",  "value ",  "evolve ",  "plan ",  "@",        "==",
        "SELECT ",
    };
    unsigned seed = 12345;
    for (unsigned round = 0; round < 3000; round++) {
        struct text text = {0};
        for (unsigned i = 0; i < 5 + round % 60; i++) {
            seed = seed * 1103515245u + 12345u;
            text_puts(&text, bits[(seed >> 16) % (sizeof bits / sizeof bits[0])]);
        }
        struct program *program = parsed_bytes(text.data, text.size);
        assert_true(diag_error_count(program) <= 20);
        char *printed = messages(program);
        free(printed);
        program_free(program);
        text_free(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keywords_are_sorted),
        cmocka_unit_test(test_free_keywords_are_names),
        cmocka_unit_test(test_reserved_words_are_quoted_names),
        cmocka_unit_test(test_precedence),
        cmocka_unit_test(test_predicates),
        cmocka_unit_test(test_primaries),
        cmocka_unit_test(test_comments_and_spaces),
        cmocka_unit_test(test_spans),
        cmocka_unit_test(test_clause_values),
        cmocka_unit_test(test_messages_of_the_grammar),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_common_slips),
        cmocka_unit_test(test_foreign_operators),
        cmocka_unit_test(test_bad_units),
        cmocka_unit_test(test_unclosed_quotes),
        cmocka_unit_test(test_unclosed_bracket),
        cmocka_unit_test(test_recovery),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_numbers_out_of_range),
        cmocka_unit_test(test_nesting),
        cmocka_unit_test(test_long_chains),
        cmocka_unit_test(test_file_size),
        cmocka_unit_test(test_not_text),
        cmocka_unit_test(test_thousands_of_errors),
        cmocka_unit_test(test_random_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
