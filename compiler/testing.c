/*
 * testing.c: `pipec test`. The program is emitted and built in a scratch directory with a tap on
 * every stream under test in the place of its sinks; its command `run-tests` runs the tests.
 */
#include "testing.h"
#include "command.h"
#include "emit.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* ---- what is tested ---- */

/* The quoted title behind `test`. */
static struct span title_span(const struct statement *test)
{
    struct span span = test->span;
    const char *text = span.source->text;
    while (span.begin < span.end && text[span.begin] != '\'')
        span.begin++;
    uint32_t end = span.begin + 1;
    while (end < span.end && (text[end] != '\'' || text[end + 1] == '\''))
        end += text[end] == '\'' ? 2 : 1;
    span.end = end + 1;
    return span;
}

static uint32_t column_index(const struct record_type *row, const char *name)
{
    uint32_t i = 0;
    while (strcmp(row->fields[i].name, name) != 0)
        i++;
    return i;
}

static struct test_expect expect_of(struct program *program, const struct expectation *expectation)
{
    struct test_expect expect = {.expectation = expectation,
                                 .stream = test_stream(program, expectation->stream.text)};
    const struct record_type *row = expect.stream->row;
    const struct constant *first = expectation->rows.count > 0 ? expectation->rows.items[0] : NULL;
    expect.column_count = first != NULL ? first->names.count : row->field_count;
    expect.columns = arena_alloc(program->arena, (expect.column_count + 1) * sizeof(uint32_t));
    for (size_t i = 0; i < expect.column_count; i++)
        expect.columns[i] =
            first != NULL ? column_index(row, first->names.items[i].text) : (uint32_t)i;
    return expect;
}

static void add_run(struct program *program, const struct statement *test, test_runs *runs)
{
    struct test_run run = {.test = test, .title = title_span(test)};
    for (size_t i = 0; i < test->expects.count; i++)
        vec_push(program->arena, &run.expects, expect_of(program, &test->expects.items[i]));
    vec_push(program->arena, runs, run);
}

/* The tests that are wanted; false, after a message: there is none of that title. */
static bool choose_tests(struct program *program, const char *only, test_runs *runs)
{
    const char **titles = arena_alloc(program->arena, (program->tests.count + 1) * sizeof *titles);
    for (size_t i = 0; i < program->tests.count; i++) {
        const struct statement *test = program->tests.items[i];
        titles[i] = test->text;
        if (only == NULL || strcmp(only, test->text) == 0)
            add_run(program, test, runs);
    }
    if (runs->count > 0 || only == NULL)
        return true;
    const char *nearest = nearest_name(only, titles, program->tests.count);
    if (nearest != NULL)
        complain("there is no test '%s' in `%s`; did you mean '%s'?", only, program->source->path,
                 nearest);
    else
        complain("there is no test '%s' in `%s`", only, program->source->path);
    return false;
}

/* ---- taps ---- */

/* Nothing of a test goes to the sinks of the program, and what hangs on them goes with them. */
static void remove_sinks(struct program *program)
{
    for (size_t i = 0; i < program->streams.count; i++)
        program->streams.items[i]->sinks.count = 0;
    program->sinks.count = 0;
    program->slos.count = 0;
    program->traffics.count = 0;
}

static void add_tap(struct program *program, struct stream *stream, struct span at)
{
    struct sink *tap = arena_alloc(program->arena, sizeof *tap);
    if (stream->sinks.count > 0)
        return;
    /* `"` can't be in a name of the program */
    const char *name = arena_printf(program->arena, "expect \"%s\"", stream->name.text);
    *tap =
        (struct sink){.name = {intern_cstr(program, name), at},
                      .span = at,
                      .from = stream,
                      .kind = SINK_KAFKA,
                      .target = arena_printf(program->arena, "pipec.expect.%s", stream->name.text),
                      .partitions = 1,
                      .format = FORMAT_JSON,
                      .exactly_once = true,
                      .commit_ms = program->commit_ms,
                      .commit_bytes = program->commit_bytes,
                      .version_column = -1};
    vec_push(program->arena, &stream->sinks, tap);
    vec_push(program->arena, &program->sinks, tap);
}

static bool plan_with_taps(struct program *program, const test_runs *runs)
{
    remove_sinks(program);
    for (size_t r = 0; r < runs->count; r++)
        for (size_t i = 0; i < runs->items[r].expects.count; i++) {
            const struct expectation *expectation = runs->items[r].expects.items[i].expectation;
            add_tap(program, test_stream(program, expectation->stream.text),
                    expectation->stream.span);
        }
    plan_program(program);
    return diag_error_count(program) == 0;
}

/* ---- building and running ---- */

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *where)
{
    (void)about;
    (void)kind;
    (void)where;
    return remove(path);
}

/* A directory of our own; NULL after a message. */
static const char *make_scratch(struct program *program)
{
    const char *base = getenv("TMPDIR");
    if (base == NULL || base[0] == '\0')
        base = "/tmp";
    char *path = arena_printf(program->arena, "%s/pipec-test.XXXXXX", base);
    if (mkdtemp(path) != NULL)
        return path;
    complain("cannot make a directory in `%s`: %s; name another in TMPDIR", base, strerror(errno));
    return NULL;
}

static bool write_tests(struct program *program, const test_runs *runs, const char *scratch)
{
    json_t *json = tests_json(program, runs);
    char *dumped = json_dumps(json, JSON_COMPACT);
    if (dumped == NULL)
        out_of_memory();
    struct text text = {dumped, strlen(dumped), 0};
    bool good = write_file(scratch, "tests.json", &text);
    free(dumped);
    json_decref(json);
    return good;
}

/* `program run-tests tests.json scratch >results`; false after a message. */
static bool run_tests(const char *program_path, const char *tests, const char *scratch,
                      const char *results)
{
    char *argv[] = {(char *)program_path, "run-tests", (char *)tests, (char *)scratch, NULL};
    posix_spawn_file_actions_t actions;
    pid_t child = -1;
    int status = 0, error = posix_spawn_file_actions_init(&actions);
    if (error == 0) {
        error = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, results,
                                                 O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (error == 0)
            error = posix_spawn(&child, program_path, &actions, NULL, argv, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    if (error != 0) {
        complain("cannot run `%s`: %s", program_path, strerror(error));
        return false;
    }
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) {
            complain("lost the tests: %s", strerror(errno));
            return false;
        }
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    if (WIFSIGNALED(status))
        complain("the tests were ended by signal %d", WTERMSIG(status));
    else
        complain("the tests did not run to their end: exit %d", WEXITSTATUS(status));
    return false;
}

static bool build_and_run(struct program *program, const char *scratch, test_runs *runs)
{
    struct arena *arena = program->arena;
    const char *c_path =
        arena_printf(arena, "%s/generated/%s/%s.c", scratch, program->name, program->name);
    const char *made = arena_printf(arena, "%s/program", scratch);
    const char *results_path = arena_printf(arena, "%s/results.json", scratch);
    if (!plan_with_taps(program, runs) ||
        !emit_all(program, arena_printf(arena, "%s/generated", scratch)) ||
        build_program(c_path, made, true) != 0 || !write_tests(program, runs, scratch) ||
        !run_tests(made, arena_printf(arena, "%s/tests.json", scratch), scratch, results_path))
        return false;
    json_error_t error;
    json_t *results = json_load_file(results_path, JSON_ALLOW_NUL, &error);
    bool good = results != NULL && tests_read_results(program, results, runs);
    json_decref(results);
    if (!good)
        complain("the results of the tests are malformed: this is a fault of pipec");
    return good;
}

/* ---- results ---- */

static bool update_file(struct program *program, test_runs *runs)
{
    struct text text = {0};
    bool good = true;
    if (test_update(program, runs, &text))
        good = replace_file(program->arena, program->source->path, &text);
    text_free(&text);
    return good;
}

static int report_all(struct program *program, const struct options *options, test_runs *runs)
{
    size_t failed = 0;
    for (size_t i = 0; i < runs->count; i++) {
        struct test_run *run = &runs->items[i];
        size_t rows = 0;
        test_report(program, run, options->json_diagnostics ? stderr : stdout,
                    options->json_diagnostics, options->update);
        failed += run->failed;
        for (size_t e = 0; e < run->expects.count; e++)
            rows += run->expects.items[e].expected.count;
        if (options->verbose && !run->failed)
            printf("ok   '%s': %zu row%s, in each of three ways\n", run->test->text, rows,
                   rows == 1 ? "" : "s");
    }
    if (options->update && failed > 0 && !update_file(program, runs))
        return 1;
    size_t updated = 0;
    for (size_t i = 0; i < runs->count; i++)
        updated += runs->items[i].updated;
    if (updated > 0)
        printf("%zu passed, %zu failed, %zu updated: read the changed lines, then test again\n",
               runs->count - failed, failed - updated, updated);
    else
        printf("%zu passed, %zu failed\n", runs->count - failed, failed);
    return flush_stdout() && failed == 0 ? 0 : 1;
}

int test_program(struct program *program, const struct options *options)
{
    test_runs runs = {0};
    if (program->tests.count == 0) {
        printf("%s has no `test` statement\n0 passed, 0 failed\n", program->source->path);
        return flush_stdout() ? 0 : 1;
    }
    if (!choose_tests(program, options->only_test, &runs))
        return 2;
    const char *scratch = make_scratch(program);
    if (scratch == NULL)
        return 1;
    bool ran = build_and_run(program, scratch, &runs);
    nftw(scratch, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return ran ? report_all(program, options, &runs) : 1;
}
