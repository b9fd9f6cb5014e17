/*
 * testing_suite.c: tests.json, as pipec writes it:
 *
 *   {"keys": [[column, …] or null, a source],
 *    "tests": [{"title": "…",
 *               "given": [{"source": 0, "partition": 0, "at_ms": 1000,
 *                          "row": "{…}" or "text": "…" or neither}, …],
 *               "expect": [{"sink": 0, "columns": ["a", …], "rows": [["1", …], …],
 *                           "key": ["window_start", …] or absent}, …]}, …]}
 *
 * Rows and cells are texts in JSON, so that numbers keep their digits.
 */
#include <stdio.h>
#include <stdlib.h>

#include "testing.h"

#define ROWS_MAX_BYTES (256u << 20)

bool suite_fail(struct test_suite *suite, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(suite->error, sizeof suite->error, format, args);
    va_end(args);
    return false;
}

void *suite_alloc(struct test_suite *suite, size_t size_bytes)
{
    void *memory = pipe_arena_zalloc(&suite->arena, size_bytes);
    if (memory == NULL)
        pipe_out_of_memory();
    return memory;
}

static bool malformed(struct test_suite *suite, const char *what)
{
    return suite_fail(suite, "the file of tests is malformed: %s", what);
}

static bool integer_of(const json_t *object, const char *name, int64_t least, int64_t most,
                       int64_t *out)
{
    const json_t *value = json_object_get(object, name);
    *out = json_is_integer(value) ? json_integer_value(value) : least - 1;
    return *out >= least && *out <= most;
}

static struct pipe_str text_of(const json_t *string)
{
    return pipe_str_of(json_string_value(string), json_string_length(string));
}

static struct pipe_str keep(struct test_suite *suite, const struct pipe_buf *bytes)
{
    char *copy = suite_alloc(suite, bytes->size + 1);
    if (bytes->size > 0)
        memcpy(copy, bytes->data, bytes->size);
    return pipe_str_of(copy, bytes->size);
}

/* ---- Records ---- */

/* The key that a producer would give the row. */
static bool make_key(struct test_suite *suite, struct given *given, const void *row)
{
    const struct pipe_source_def *source = &suite->plan->sources[given->source];
    const json_t *columns = json_array_get(json_object_get(suite->json, "keys"), given->source);
    size_t count = json_array_size(columns);
    if (count == 0)
        return true;
    uint32_t *indexes = suite_alloc(suite, count * sizeof *indexes);
    for (size_t i = 0; i < count; i++) {
        json_int_t index = json_integer_value(json_array_get(columns, i));
        if (index < 0 || index >= (json_int_t)source->row->column_count)
            return malformed(suite, "key");
        indexes[i] = (uint32_t)index;
    }
    struct pipe_buf key = {0};
    pipe_key_text(&key, source->row, row, indexes, (uint32_t)count);
    given->key = keep(suite, &key);
    pipe_buf_free(&key);
    return true;
}

static bool make_record(struct test_suite *suite, struct given *given, const char *title,
                        struct pipe_str json)
{
    const struct pipe_source_def *source = &suite->plan->sources[given->source];
    struct pipe_error error = {0};
    struct pipe_buf value = {0};
    void *row = suite_alloc(suite, source->row_bytes);
    if (!pipe_row_from_json(source->row, json, &suite->arena, row, &error))
        return suite_fail(suite, "test '%s': a row of %s: %s: %s", title, source->name, error.field,
                          error.detail);
    if (source->is_kafka && !make_key(suite, given, row))
        return false;
    /* A record in JSON is the text itself: what reads as a JSON column is not what it is written
     * as. */
    bool is_json = source->format == PIPE_FORMAT_JSON || source->format == PIPE_FORMAT_JSONL;
    if (!is_json)
        pipe_record_encode(source, row, &value);
    given->value = is_json ? json : keep(suite, &value);
    pipe_buf_free(&value);
    return true;
}

/* Of a raw text that is a sound record the key is known too. */
static bool make_raw(struct test_suite *suite, struct given *given, struct pipe_str text)
{
    const struct pipe_source_def *source = &suite->plan->sources[given->source];
    struct pipe_error error = {0};
    given->value = text;
    if (!source->is_kafka || source->format == PIPE_FORMAT_AVRO)
        return true;
    void *row = suite_alloc(suite, source->row_bytes);
    if (source->format == PIPE_FORMAT_JSON)
        return !pipe_row_from_json(source->row, text, &suite->arena, row, &error) ||
               make_key(suite, given, row);
    *(struct pipe_str *)((char *)row + source->row->columns[0].offset) = text;
    return make_key(suite, given, row);
}

static bool read_given(struct test_suite *suite, const json_t *json, const char *title,
                       struct given *given)
{
    int64_t source, partition, at_ms;
    if (!integer_of(json, "source", 0, (int64_t)suite->plan->source_count - 1, &source) ||
        !integer_of(json, "partition", 0, INT32_MAX - 1, &partition) ||
        !integer_of(json, "at_ms", 0, INT64_MAX / 4000, &at_ms))
        return malformed(suite, "given");
    *given = (struct given){GIVEN_RECORD, (uint32_t)source, (int32_t)partition, at_ms, {0}, {0}};
    const json_t *row = json_object_get(json, "row"), *text = json_object_get(json, "text");
    if (json_is_string(row))
        return make_record(suite, given, title, text_of(row));
    if (json_is_string(text))
        return make_raw(suite, given, text_of(text));
    given->kind = GIVEN_NOTHING;
    return true;
}

/* ---- Expectations ---- */

static const uint32_t *read_columns(struct test_suite *suite, const json_t *names,
                                    const struct pipe_row_type *row, uint32_t *count)
{
    uint32_t *indexes = suite_alloc(suite, json_array_size(names) * sizeof *indexes + 1);
    *count = (uint32_t)json_array_size(names);
    for (uint32_t i = 0; i < *count; i++) {
        const char *name = json_string_value(json_array_get(names, i));
        uint32_t c = 0;
        while (name != NULL && c < row->column_count && strcmp(row->columns[c].name, name) != 0)
            c++;
        if (name == NULL || c == row->column_count)
            return NULL;
        indexes[i] = c;
    }
    return indexes;
}

static bool read_expected(struct test_suite *suite, const json_t *json, struct expected *expected)
{
    int64_t sink;
    if (!integer_of(json, "sink", 0, (int64_t)suite->plan->sink_count - 1, &sink))
        return malformed(suite, "sink");
    const struct pipe_row_type *row = suite->plan->sinks[sink].row;
    const json_t *key = json_object_get(json, "key");
    *expected = (struct expected){.sink = (uint32_t)sink, .revision = -1};
    expected->rows = json_object_get(json, "rows");
    expected->columns =
        read_columns(suite, json_object_get(json, "columns"), row, &expected->column_count);
    expected->key = read_columns(suite, key, row, &expected->key_count);
    if (expected->columns == NULL || expected->key == NULL || !json_is_array(expected->rows))
        return malformed(suite, "expect");
    for (uint32_t c = 0; key != NULL && c < row->column_count; c++)
        if (strcmp(row->columns[c].name, "revision") == 0)
            expected->revision = (int32_t)c;
    return true;
}

static bool read_test(struct test_suite *suite, const json_t *json, struct test *test)
{
    const json_t *given = json_object_get(json, "given"), *expect = json_object_get(json, "expect");
    test->title = json_string_value(json_object_get(json, "title"));
    test->given_count = (uint32_t)json_array_size(given);
    test->expect_count = (uint32_t)json_array_size(expect);
    test->givens = suite_alloc(suite, test->given_count * sizeof *test->givens);
    test->expects = suite_alloc(suite, test->expect_count * sizeof *test->expects);
    if (test->title == NULL)
        return malformed(suite, "title");
    for (uint32_t i = 0; i < test->given_count; i++)
        if (!read_given(suite, json_array_get(given, i), test->title, &test->givens[i]))
            return false;
    for (uint32_t i = 0; i < test->expect_count; i++)
        if (!read_expected(suite, json_array_get(expect, i), &test->expects[i]))
            return false;
    return true;
}

bool suite_read(struct test_suite *suite, const char *path)
{
    json_error_t error;
    pipe_arena_init(&suite->arena, ROWS_MAX_BYTES);
    suite->json = json_load_file(path, 0, &error);
    if (suite->json == NULL)
        return suite_fail(suite, "%s:%d: %s", path, error.line, error.text);
    const json_t *tests = json_object_get(suite->json, "tests");
    suite->test_count = (uint32_t)json_array_size(tests);
    suite->tests = suite_alloc(suite, suite->test_count * sizeof *suite->tests);
    for (uint32_t i = 0; i < suite->test_count; i++)
        if (!read_test(suite, json_array_get(tests, i), &suite->tests[i]))
            return false;
    return true;
}

void suite_free(struct test_suite *suite)
{
    json_decref(suite->json);
    pipe_arena_free(&suite->arena);
}
