/* testing_json.c: the rows of tests as JSON for the program, and the rows that it sent back. */
#include "emit.h"
#include "testing.h"

#include <string.h>

struct stream *test_stream(const struct program *program, const char *name)
{
    for (size_t i = 0; i < program->streams.count; i++)
        if (strcmp(program->streams.items[i]->name.text, name) == 0)
            return program->streams.items[i];
    return NULL;
}

const struct constant *test_value(const struct constant *row, const char *column)
{
    for (size_t i = 0; i < row->names.count; i++)
        if (strcmp(row->names.items[i].text, column) == 0)
            return row->items.items[i];
    return NULL;
}

/* A string value; never NULL. */
static json_t *json_of_text(const struct text *text)
{
    json_t *json = json_stringn(text->size > 0 ? text->data : "", text->size);
    if (json == NULL)
        out_of_memory();
    return json;
}

static json_t *json_of_string(const char *text)
{
    return json_of_text(&(struct text){(char *)text, strlen(text), 0});
}

/* ---- given ---- */

static void add_member(struct text *out, const char *name, const struct constant *value,
                       const struct type *type)
{
    json_t *string = json_of_string(name);
    char *quoted = json_dumps(string, JSON_ENCODE_ANY);
    if (quoted == NULL)
        out_of_memory();
    text_printf(out, "%s%s:", out->size > 1 ? "," : "", quoted);
    constant_json(out, value, type);
    json_decref(string);
    free(quoted);
}

/* The columns that are written, and the event time: 1970 + `at`, unless it is. */
static json_t *given_row(struct program *program, const struct source_def *source,
                         const struct given *given)
{
    const struct record_type *payload = source->payload;
    bool plain_time = source->event_time != NULL && !source->event_time_added &&
                      !source->event_time_is_kafka_time;
    struct text out = {0};
    text_puts(&out, "{");
    for (size_t i = 0; i < payload->field_count; i++) {
        const struct field *field = &payload->fields[i];
        const struct constant *value = test_value(given->row, field->name);
        struct constant at = {.kind = CONST_DURATION, .duration_ms = given->at_ms};
        if (value != NULL)
            add_member(&out, field->name, value, field->type);
        else if (plain_time && i == source->event_time_column)
            add_member(&out, field->name, &at, field->type);
    }
    text_puts(&out, "}");
    json_t *json = json_of_text(&out);
    text_free(&out);
    (void)program;
    return json;
}

static int source_number(const struct program *program, const struct stream *source)
{
    int number = 0;
    for (size_t i = 0; program->streams.items[i] != source; i++)
        number += program->streams.items[i]->kind == STREAM_SOURCE;
    return number;
}

static json_t *given_json(struct program *program, const struct stream *source,
                          const struct given *given)
{
    json_t *json = json_pack("{s:i, s:I, s:I}", "source", source_number(program, source),
                             "partition", (json_int_t)(given->has_partition ? given->partition : 0),
                             "at_ms", (json_int_t)given->at_ms);
    if (given->kind == GIVEN_ROW)
        json_object_set_new(json, "row", given_row(program, source->source, given));
    else if (given->kind == GIVEN_TEXT)
        json_object_set_new(
            json, "text", json_of_text(&(struct text){(char *)given->text, given->text_bytes, 0}));
    return json;
}

/* ---- expect ---- */

/* The columns that name a window among corrections; NULL: the stream sends none. Its rows were only
 * selected since, and a select must keep these columns. */
static json_t *correction_key(const struct stream *stream)
{
    if (!stream->sends_corrections)
        return NULL;
    json_t *key = json_array();
    json_array_append_new(key, json_of_string("window_start"));
    for (const struct stream *at = stream; at != NULL;
         at = at->input_count > 0 ? at->inputs[0] : NULL)
        for (size_t i = 0; i < at->step_count; i++) {
            const struct step *step = &at->steps[i];
            if (step->kind != STEP_WINDOW || !step->sends_corrections)
                continue;
            for (size_t k = 0; k < step->key_count; k++)
                json_array_append_new(
                    key, json_of_string(step->input->fields[step->key_columns[k]].name));
            return key;
        }
    return key;
}

static json_t *expected_row(const struct test_expect *expect, const struct constant *row)
{
    json_t *cells = json_array();
    for (size_t c = 0; c < expect->column_count; c++) {
        const struct field *field = &expect->stream->row->fields[expect->columns[c]];
        struct text cell = {0};
        constant_json(&cell, test_value(row, field->name), field->type);
        json_array_append_new(cells, json_of_text(&cell));
        text_free(&cell);
    }
    return cells;
}

static json_t *expect_json(struct program *program, const struct test_expect *expect)
{
    json_t *json = json_object(), *columns = json_array(), *rows = json_array();
    json_int_t sink = 0;
    while (program->sinks.items[sink]->from != expect->stream)
        sink++;
    for (size_t c = 0; c < expect->column_count; c++)
        json_array_append_new(columns,
                              json_of_string(expect->stream->row->fields[expect->columns[c]].name));
    for (size_t i = 0; i < expect->expectation->rows.count; i++)
        json_array_append_new(rows, expected_row(expect, expect->expectation->rows.items[i]));
    json_object_set_new(json, "sink", json_integer(sink));
    json_object_set_new(json, "columns", columns);
    json_object_set_new(json, "rows", rows);
    json_t *key = correction_key(expect->stream);
    if (key != NULL)
        json_object_set_new(json, "key", key);
    return json;
}

/* ---- all ---- */

static json_t *keys_json(const struct program *program)
{
    json_t *keys = json_array();
    for (size_t i = 0; i < program->streams.count; i++) {
        const struct source_def *source = program->streams.items[i]->source;
        if (program->streams.items[i]->kind != STREAM_SOURCE)
            continue;
        json_t *columns = json_array();
        for (size_t k = 0; source->is_kafka && k < source->key_count; k++)
            json_array_append_new(columns, json_integer(source->key_columns[k]));
        json_array_append_new(keys, columns);
    }
    return keys;
}

static json_t *test_json(struct program *program, const struct test_run *run)
{
    json_t *json = json_object(), *given = json_array(), *expect = json_array();
    const struct statement *test = run->test;
    for (size_t g = 0; g < test->givens.count; g++) {
        const struct test_given *block = &test->givens.items[g];
        const struct stream *source = test_stream(program, block->source.text);
        for (size_t i = 0; i < block->rows.count; i++)
            json_array_append_new(given, given_json(program, source, &block->rows.items[i]));
    }
    for (size_t i = 0; i < run->expects.count; i++)
        json_array_append_new(expect, expect_json(program, &run->expects.items[i]));
    json_object_set_new(json, "title",
                        json_of_text(&(struct text){(char *)test->text, test->text_bytes, 0}));
    json_object_set_new(json, "given", given);
    json_object_set_new(json, "expect", expect);
    return json;
}

json_t *tests_json(struct program *program, const test_runs *runs)
{
    json_t *json = json_object(), *tests = json_array();
    for (size_t i = 0; i < runs->count; i++)
        json_array_append_new(tests, test_json(program, &runs->items[i]));
    json_object_set_new(json, "keys", keys_json(program));
    json_object_set_new(json, "tests", tests);
    return json;
}

/* ---- results ---- */

static bool read_rows(struct program *program, const json_t *rows, size_t columns, cells_list *out)
{
    size_t i;
    json_t *row;
    if (!json_is_array(rows))
        return false;
    json_array_foreach(rows, i, row)
    {
        struct cells cells = {arena_alloc(program->arena, (columns + 1) * sizeof *cells.texts)};
        if (json_array_size(row) != columns)
            return false;
        for (size_t c = 0; c < columns; c++) {
            const json_t *cell = json_array_get(row, c);
            if (!json_is_string(cell))
                return false;
            cells.texts[c] =
                arena_strndup(program->arena, json_string_value(cell), json_string_length(cell));
        }
        vec_push(program->arena, out, cells);
    }
    return true;
}

static bool read_way(struct program *program, const json_t *json, size_t way, struct test_run *run)
{
    const json_t *error = json_object_get(json, "error");
    const json_t *streams = json_object_get(json, "streams");
    if (json_is_string(error)) {
        run->errors[way] =
            arena_strndup(program->arena, json_string_value(error), json_string_length(error));
        return true;
    }
    for (size_t i = 0; i < run->expects.count; i++) {
        struct test_expect *expect = &run->expects.items[i];
        if (!read_rows(program, json_array_get(streams, i), expect->column_count,
                       &expect->actual[way]))
            return false;
    }
    return json_is_null(error);
}

bool tests_read_results(struct program *program, const json_t *results, test_runs *runs)
{
    const json_t *tests = json_object_get(results, "tests");
    if (json_array_size(tests) != runs->count)
        return false;
    for (size_t t = 0; t < runs->count; t++) {
        struct test_run *run = &runs->items[t];
        const json_t *test = json_array_get(tests, t), *ways = json_object_get(test, "ways");
        for (size_t i = 0; i < run->expects.count; i++) {
            const json_t *rows = json_array_get(json_object_get(test, "expected"), i);
            if (!read_rows(program, rows, run->expects.items[i].column_count,
                           &run->expects.items[i].expected))
                return false;
        }
        if (json_array_size(ways) != TEST_WAYS)
            return false;
        for (size_t way = 0; way < TEST_WAYS; way++)
            if (!read_way(program, json_array_get(ways, way), way, run))
                return false;
    }
    return true;
}
