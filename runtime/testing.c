/*
 * testing.c: runs inline tests on the engine, row by row, in three ways against one expectation
 * (docs/decisions/0004-inline-tests.md). What came out goes to standard output as one JSON object:
 *
 *   {"tests": [{"expected": [ROWS, …], "ways": [{"error": "…" or null, "streams": [ROWS, …]}, …]},
 * …]}
 *
 * Time: the broker's clock stands at the greatest `at` so far. What the engine takes for the
 * monotonic clock is that plus CLOCK_OFFSET_US, so that a partition that never had a record, at its
 * end since 0, has been so for longer than any idle rule waits.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <unistd.h>

#include "testing.h"

#define CLOCK_OFFSET_US (INT64_C(1) << 52)
#define BATCH_RECORDS 1024u

enum way_kind { WAY_STRAIGHT, WAY_RESTORED, WAY_REFUSED, WAY_COUNT };

struct way {
    struct test_suite *suite;
    const struct test *test;
    enum way_kind kind;
    char dir[4096];
    struct pipe_hooks hooks;
    struct pipe_run_options options;
    struct pipe_engine *engine; /* NULL while closed */
    int64_t now_ms;
    uint32_t visible; /* rows of the test that have arrived */
    bool refused;     /* the hook refused a commit */
    bool was_refused; /* and lets the next attempt pass */
    char error[768];
};

/* ---- File sources: an input that holds the rows that have arrived ---- */

struct rows_input {
    struct pipe_input input; /* first */
    const struct way *way;
    struct pipe_record record;
    struct pipe_csv_splitter splitter;
    struct pipe_buf line;
    struct pipe_input_csv_row csv;
    const char *fault;
};

static const struct given *arrived(const struct rows_input *rows, int64_t number)
{
    const struct test *test = rows->way->test;
    for (uint32_t i = 0; i < rows->way->visible; i++) {
        const struct given *given = &test->givens[i];
        if (given->kind == GIVEN_RECORD && given->source == rows->input.config.source_index &&
            given->partition == rows->input.config.partition && number-- == 0)
            return given;
    }
    return NULL;
}

static void split_fields(struct rows_input *rows, struct pipe_str value)
{
    struct pipe_csv_record record = {0};
    pipe_csv_free(&rows->splitter);
    pipe_csv_init(&rows->splitter, rows->input.config.max_record_bytes);
    rows->line.size = 0;
    pipe_buf_add(&rows->line, value.data, value.size);
    pipe_buf_add_byte(&rows->line, '\n');
    pipe_csv_feed(&rows->splitter, rows->line.data, rows->line.size);
    if (!pipe_csv_next(&rows->splitter, &record)) {
        pipe_csv_finish(&rows->splitter); /* a quote is open */
        pipe_csv_next(&rows->splitter, &record);
    }
    rows->fault = record.cause;
    rows->csv = (struct pipe_input_csv_row){record.fields, (uint32_t)record.field_count};
}

static enum pipe_input_state rows_next(struct pipe_input *input, uint32_t max_records,
                                       struct pipe_record **records, uint32_t *count)
{
    struct rows_input *rows = (struct rows_input *)input;
    const struct pipe_input_config *config = &input->config;
    const struct given *given = arrived(rows, input->position.offset);
    (void)max_records;
    if (given == NULL)
        return PIPE_INPUT_WAIT;
    rows->fault = NULL;
    if (config->source->format == PIPE_FORMAT_CSV)
        split_fields(rows, given->value);
    rows->record = (struct pipe_record){
        .has_position = true,
        .source = config->source_index,
        .partition = config->partition,
        .offset = input->position.offset++,
        .topic = pipe_str_of(config->path, strlen(config->path)),
        .kafka_time_ms = PIPE_TIME_MIN,
        .payload = given->value,
    };
    input->faults = &rows->fault;
    input->csv_rows = &rows->csv;
    *records = &rows->record;
    *count = 1;
    return PIPE_INPUT_RECORDS;
}

static void rows_close(struct pipe_input *input)
{
    struct rows_input *rows = (struct rows_input *)input;
    pipe_csv_free(&rows->splitter);
    pipe_buf_free(&rows->line);
    free(rows);
}

static struct pipe_input *open_rows(void *context, const struct pipe_input_config *config)
{
    static const struct pipe_input_ops ops = {rows_next, rows_close};
    struct rows_input *rows = pipe_calloc(1, sizeof *rows);
    rows->input.ops = &ops;
    rows->input.config = *config;
    rows->input.position = config->resume;
    rows->input.csv_expected = config->source->row->column_count;
    rows->way = context;
    return &rows->input;
}

static uint32_t count_partitions(void *context, uint32_t source)
{
    const struct way *way = context;
    int32_t last = 0;
    for (uint32_t i = 0; i < way->test->given_count; i++)
        if (way->test->givens[i].source == source && way->test->givens[i].partition > last)
            last = way->test->givens[i].partition;
    return (uint32_t)last + 1;
}

static bool refuse_commit(void *context)
{
    struct way *way = context;
    if (way->kind != WAY_REFUSED || way->was_refused)
        return false;
    way->refused = way->was_refused = true;
    return true;
}

/* ---- Opening and closing ---- */

static bool way_fail(struct way *way, const char *error)
{
    snprintf(way->error, sizeof way->error, "%s", error);
    return false;
}

static void close_engine(struct way *way)
{
    if (way->engine != NULL)
        engine_close(way->engine);
    way->engine = NULL;
}

/* Everything in memory is dropped; what is on disk is opened again, and what is not saved replayed.
 */
static bool open_engine(struct way *way)
{
    for (;;) {
        close_engine(way);
        way->refused = false;
        way->engine = engine_new(way->suite->plan, &way->options);
        way->engine->wall_ms = way->now_ms;
        if (engine_open(way->engine))
            return true;
        if (!way->refused)
            return way_fail(way, way->engine->error);
    }
}

/* After a failure: if it was a refused commit, the way goes on from what is committed. */
static bool recovers(struct way *way)
{
    if (!way->refused)
        return way_fail(way, way->engine->error);
    engine_rollback(way->engine);
    return open_engine(way);
}

/* ---- Time and rows ---- */

/* When the last record of a partition arrived, as the engine's idle rule measures it. */
static void tell_idle(struct way *way)
{
    struct pipe_engine *engine = way->engine;
    for (uint32_t s = 0; s < engine->plan->source_count; s++)
        for (uint32_t p = 0; p < engine->sources[s].partitions; p++)
            engine->tasks[engine->sources[s].first_task + p].at_end_since_us = 0;
    int64_t now_ms = 0;
    for (uint32_t i = 0; i < way->visible; i++) {
        const struct given *given = &way->test->givens[i];
        now_ms = given->at_ms > now_ms ? given->at_ms : now_ms;
        const struct engine_source *source = &engine->sources[given->source];
        if (given->kind == GIVEN_RECORD)
            engine->tasks[source->first_task + (uint32_t)given->partition].at_end_since_us =
                CLOCK_OFFSET_US + now_ms * 1000;
    }
}

/* Until there is nothing to read, no floor to raise, nothing to commit. false: see recovers(). */
static bool try_to_settle(struct way *way)
{
    struct pipe_engine *engine = way->engine;
    for (;;) {
        bool worked = false, raised = false;
        engine->wall_ms = way->now_ms;
        for (uint32_t t = 0; t < engine->task_count; t++) {
            enum task_result result = task_run(&engine->tasks[t], BATCH_RECORDS, INT64_MAX);
            if (result == TASK_FAILED || engine->failed)
                return false;
            worked = worked || result == TASK_WORKED;
        }
        if (worked)
            continue;
        tell_idle(way);
        if (!watermark_idle(engine, CLOCK_OFFSET_US + way->now_ms * 1000, &raised) ||
            engine->failed)
            return false;
        if (raised)
            continue;
        if (!engine_has_pending(engine))
            return true;
        if (!engine_commit(engine))
            return false;
        way->was_refused = false;
    }
}

static bool settle(struct way *way)
{
    while (!try_to_settle(way))
        if (!recovers(way))
            return false;
    return true;
}

/* As a producer does: a commit of the log, but none of the pipeline. Nothing else is pending. */
static bool append(struct way *way, const struct given *given)
{
    struct pipe_log *log = way->engine->log;
    return (log->ops->append(log, way->engine->sources[given->source].topic, given->partition,
                             way->now_ms, given->key, given->value) &&
            log->ops->commit(log) == PIPE_LOG_COMMITTED) ||
           way_fail(way, log->error);
}

static bool give(struct way *way, const struct given *given)
{
    if (given->at_ms > way->now_ms) {
        way->now_ms = given->at_ms;
        if (!settle(way)) /* idle partitions, before the record is there */
            return false;
    }
    way->visible++;
    if (given->kind == GIVEN_RECORD && !way->engine->sources[given->source].files &&
        !append(way, given))
        return false;
    if (!settle(way))
        return false;
    if (way->kind != WAY_RESTORED)
        return true;
    if (!engine_save_state(way->engine))
        return way_fail(way, way->engine->error);
    return open_engine(way);
}

static bool give_all(struct way *way)
{
    if (!open_engine(way))
        return false;
    way->was_refused = false;
    for (uint32_t i = 0; i < way->test->given_count; i++)
        if (!give(way, &way->test->givens[i]))
            return false;
    counters_gauges(way->engine);
    return counters_check(way->engine) || way_fail(way, way->engine->error);
}

/* ---- A way, a test, all ---- */

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *where)
{
    (void)about;
    (void)kind;
    (void)where;
    return remove(path);
}

static bool run_way(struct test_suite *suite, const struct test *test, enum way_kind kind,
                    const char *dir, struct pipe_buf *out)
{
    struct way *way = pipe_calloc(1, sizeof *way);
    *way = (struct way){.suite = suite, .test = test, .kind = kind};
    way->hooks = (struct pipe_hooks){way, refuse_commit, count_partitions, open_rows};
    way->options = (struct pipe_run_options){.embedded = way->dir,
                                             .commit_ms = suite->plan->commit_ms,
                                             .commit_bytes = suite->plan->commit_bytes,
                                             .max_record_bytes = 1u << 20,
                                             .progress = PIPE_PROGRESS_NEVER,
                                             .hooks = &way->hooks};
    snprintf(way->dir, sizeof way->dir, "%.3000s/%u-%d", dir, (unsigned)(test - suite->tests),
             kind);
    bool ok = give_all(way), written = true;
    PIPE_JSON_RAW(out, "{\"error\":");
    if (ok)
        pipe_json_null(out);
    else
        pipe_json_string(out, pipe_str_of(way->error, strlen(way->error)));
    PIPE_JSON_RAW(out, ",\"streams\":[");
    for (uint32_t i = 0; ok && written && i < test->expect_count; i++) {
        if (i > 0)
            pipe_buf_add_byte(out, ',');
        written = rows_committed(suite, way->engine, &test->expects[i], out);
    }
    PIPE_JSON_RAW(out, "]}");
    close_engine(way);
    nftw(way->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(way);
    return written;
}

static bool run_test(struct test_suite *suite, const struct test *test, const char *dir,
                     struct pipe_buf *out)
{
    PIPE_JSON_RAW(out, "{\"expected\":[");
    for (uint32_t i = 0; i < test->expect_count; i++) {
        if (i > 0)
            pipe_buf_add_byte(out, ',');
        if (!rows_expected(suite, &test->expects[i], out))
            return false;
    }
    PIPE_JSON_RAW(out, "],\"ways\":[");
    for (int kind = 0; kind < WAY_COUNT; kind++) {
        if (kind > 0)
            pipe_buf_add_byte(out, ',');
        if (!run_way(suite, test, (enum way_kind)kind, dir, out))
            return false;
    }
    PIPE_JSON_RAW(out, "]}");
    return true;
}

static bool run_all(struct test_suite *suite, const char *dir, struct pipe_buf *out)
{
    PIPE_JSON_RAW(out, "{\"tests\":[");
    for (uint32_t i = 0; i < suite->test_count; i++) {
        if (i > 0)
            pipe_buf_add_byte(out, ',');
        if (!run_test(suite, &suite->tests[i], dir, out))
            return false;
    }
    PIPE_JSON_RAW(out, "]}\n");
    return true;
}

int pipe_testing_main(const struct pipe_plan *plan, int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s run-tests tests.json DIR\n\n`pipec test` calls it.\n",
                plan->name);
        return PIPE_EXIT_USAGE;
    }
    struct pipe_plan started = *plan; /* the engine opens often, but patterns compile once */
    struct test_suite suite = {.plan = &started};
    struct pipe_buf out = {0};
    if (plan->start != NULL)
        plan->start();
    started.start = NULL;
    pipe_message_level(PIPE_ERROR);
    unsetenv("PIPE_SCHEMA_IDS");
    bool ok = suite_read(&suite, argv[0]) && run_all(&suite, argv[1], &out);
    if (ok && (fwrite(out.data, 1, out.size, stdout) != out.size || fflush(stdout) != 0))
        ok = suite_fail(&suite, "the results can't be written: %s", strerror(errno));
    if (!ok)
        fprintf(stderr, "%s: %s\n", plan->name, suite.error);
    suite_free(&suite);
    pipe_buf_free(&out);
    return ok ? PIPE_EXIT_OK : PIPE_EXIT_INTERNAL;
}
