/*
 * testing_rows.c: rows as cells of canonical JSON, so that equal values are equal texts: the order
 * of a map's entries does not count, nor how a number or an instant was written.
 */
#include <stdlib.h>

#include "testing.h"

#define READ_RECORDS 256u

/* ---- Values ---- */

static int by_key(const void *a, const void *b)
{
    return pipe_str_compare(*(const struct pipe_str *)a, *(const struct pipe_str *)b);
}

static void sort_maps(const struct pipe_type *type, void *value);

static void sort_elements(const struct pipe_type *type, void *first, uint32_t count, size_t at)
{
    size_t null_at = at + pipe_type_size(type->element);
    for (uint32_t i = 0; i < count; i++) {
        char *item = (char *)first + (size_t)i * type->element_bytes;
        if (!type->element_nullable || !*(const bool *)(item + null_at))
            sort_maps(type->element, item + at);
    }
}

static void sort_maps(const struct pipe_type *type, void *value)
{
    if (type->kind == PIPE_RECORD) {
        for (uint32_t c = 0; c < type->record->column_count; c++) {
            const struct pipe_column *column = &type->record->columns[c];
            if (!pipe_column_is_null(column, value))
                sort_maps(column->type, (char *)value + column->offset);
        }
    } else if (type->kind == PIPE_ARRAY) {
        const struct pipe_array *array = value;
        sort_elements(type, array->items, array->count, 0);
    } else if (type->kind == PIPE_MAP) {
        const struct pipe_map *map = value;
        if (map->count > 1)
            qsort(map->entries, map->count, type->element_bytes, by_key);
        sort_elements(type, map->entries, map->count, PIPE_MAP_VALUE_OFFSET);
    }
}

/* The text of a value; it lives in `cell`. */
static struct pipe_str cell_text(const struct pipe_type *type, void *value, bool is_null,
                                 struct pipe_buf *cell)
{
    cell->size = 0;
    if (is_null) {
        pipe_json_null(cell);
    } else {
        sort_maps(type, value);
        pipe_value_to_json(type, value, cell);
    }
    return pipe_str_of(cell->data, cell->size);
}

static struct pipe_str column_text(const struct pipe_row_type *type, void *row, uint32_t column,
                                   struct pipe_buf *cell)
{
    const struct pipe_column *c = &type->columns[column];
    return cell_text(c->type, (char *)row + c->offset, pipe_column_is_null(c, row), cell);
}

static void add_cell(struct pipe_buf *out, uint32_t index, struct pipe_str text)
{
    pipe_buf_add_byte(out, index == 0 ? '[' : ',');
    pipe_json_string(out, text);
}

/* ---- Types of what is read back ---- */

/* A column of JSON text is written as a JSON string, so it is read as a string. */
static const struct pipe_type *written_type(struct test_suite *suite, const struct pipe_type *type);

static const struct pipe_row_type *written_row(struct test_suite *suite,
                                               const struct pipe_row_type *row)
{
    struct pipe_row_type *copy = suite_alloc(suite, sizeof *copy);
    struct pipe_column *columns = suite_alloc(suite, row->column_count * sizeof *columns + 1);
    *copy = *row;
    copy->columns = columns;
    for (uint32_t c = 0; c < row->column_count; c++) {
        columns[c] = row->columns[c];
        columns[c].type = written_type(suite, row->columns[c].type);
        columns[c].has_default = false;
    }
    return copy;
}

static const struct pipe_type *written_type(struct test_suite *suite, const struct pipe_type *type)
{
    struct pipe_type *copy = suite_alloc(suite, sizeof *copy);
    *copy = *type;
    copy->is_json = false;
    if (type->kind == PIPE_RECORD)
        copy->record = written_row(suite, type->record);
    if (type->kind == PIPE_ARRAY || type->kind == PIPE_MAP)
        copy->element = written_type(suite, type->element);
    return copy;
}

/* ---- What is expected ---- */

static bool expected_cell(struct test_suite *suite, const struct pipe_column *column,
                          const json_t *json, struct pipe_buf *cell)
{
    struct pipe_error error = {0};
    bool is_null = false;
    void *value = suite_alloc(suite, pipe_type_size(column->type) + 16);
    struct pipe_str text = pipe_str_of(json_string_value(json), json_string_length(json));
    if (json == NULL || !pipe_value_from_json(column->type, column->null_offset != PIPE_NOT_NULL,
                                              text, &suite->arena, value, &is_null, &error))
        return suite_fail(suite, "an expected value of %s: %s", column->name, error.detail);
    cell_text(column->type, value, is_null, cell);
    return true;
}

bool rows_expected(struct test_suite *suite, const struct expected *expected, struct pipe_buf *out)
{
    const struct pipe_row_type *type = suite->plan->sinks[expected->sink].row;
    struct pipe_buf cell = {0};
    bool ok = true;
    pipe_buf_add_byte(out, '[');
    for (size_t i = 0; ok && i < json_array_size(expected->rows); i++) {
        const json_t *row = json_array_get(expected->rows, i);
        if (i > 0)
            pipe_buf_add_byte(out, ',');
        for (uint32_t c = 0; ok && c < expected->column_count; c++) {
            ok = expected_cell(suite, &type->columns[expected->columns[c]], json_array_get(row, c),
                               &cell);
            add_cell(out, c, pipe_str_of(cell.data, cell.size));
        }
        pipe_buf_add_byte(out, ']');
    }
    pipe_buf_add_byte(out, ']');
    pipe_buf_free(&cell);
    return ok;
}

/* ---- What came out ---- */

struct out_row {
    void *row;
    bool replaced; /* by a later revision */
};

struct out_rows {
    struct out_row *items;
    size_t count, capacity;
};

static bool same_key(const struct pipe_row_type *type, const struct expected *expected, void *a,
                     void *b)
{
    struct pipe_buf left = {0}, right = {0};
    bool same = true;
    for (uint32_t i = 0; same && i < expected->key_count; i++)
        same = pipe_str_equal(column_text(type, a, expected->key[i], &left),
                              column_text(type, b, expected->key[i], &right));
    pipe_buf_free(&left);
    pipe_buf_free(&right);
    return same;
}

static int64_t revision_of(const struct pipe_row_type *type, const struct expected *expected,
                           const void *row)
{
    const struct pipe_column *column = &type->columns[expected->revision];
    const void *value = pipe_column_value(column, row);
    return column->type->kind == PIPE_INT64 ? *(const int64_t *)value : *(const int32_t *)value;
}

static void keep_last(const struct pipe_row_type *type, const struct expected *expected,
                      struct out_rows *rows)
{
    for (size_t i = 0; expected->revision >= 0 && i < rows->count; i++) {
        for (size_t j = 0; j < i; j++) {
            if (rows->items[i].replaced || rows->items[j].replaced ||
                !same_key(type, expected, rows->items[i].row, rows->items[j].row))
                continue;
            bool newer = revision_of(type, expected, rows->items[i].row) >
                         revision_of(type, expected, rows->items[j].row);
            rows->items[newer ? j : i].replaced = true;
        }
    }
}

static bool add_record(struct test_suite *suite, const struct pipe_row_type *type,
                       const struct pipe_record *record, struct out_rows *rows)
{
    struct pipe_error error = {0};
    struct pipe_str text;
    void *row = suite_alloc(suite, type->size_bytes);
    if (!pipe_str_copy(&suite->arena, record->payload, &text))
        pipe_out_of_memory();
    if (!pipe_row_from_json(type, text, &suite->arena, row, &error))
        return suite_fail(suite, "internal error: a row that was sent is malformed: %s: %s",
                          error.field, error.detail);
    if (rows->count == rows->capacity) {
        rows->capacity = rows->capacity * 2 + 16;
        rows->items = pipe_realloc(rows->items, rows->capacity * sizeof *rows->items);
    }
    rows->items[rows->count++] = (struct out_row){row, false};
    return true;
}

static bool read_tap(struct test_suite *suite, struct pipe_engine *engine,
                     const struct expected *expected, const struct pipe_row_type *type,
                     struct out_rows *rows)
{
    struct pipe_log *log = engine->log;
    struct pipe_record constant = {0}, *records;
    struct pipe_log_reader *reader =
        log->ops->reader(log, engine->sinks[expected->sink].topic, 0, 0, &constant);
    enum pipe_log_state state;
    uint32_t count;
    bool ok = true;
    while (ok && (state = pipe_log_read_on(log, reader, READ_RECORDS, &records, &count)) !=
                     PIPE_LOG_END) {
        ok = state == PIPE_LOG_RECORDS || suite_fail(suite, "%s", log->error);
        for (uint32_t i = 0; ok && i < count; i++)
            ok = add_record(suite, type, &records[i], rows);
    }
    log->ops->reader_close(reader);
    return ok;
}

bool rows_committed(struct test_suite *suite, struct pipe_engine *engine,
                    const struct expected *expected, struct pipe_buf *out)
{
    const struct pipe_row_type *type = written_row(suite, suite->plan->sinks[expected->sink].row);
    struct out_rows rows = {0};
    struct pipe_buf cell = {0};
    bool ok = read_tap(suite, engine, expected, type, &rows), any = false;
    keep_last(type, expected, &rows);
    pipe_buf_add_byte(out, '[');
    for (size_t i = 0; ok && i < rows.count; i++) {
        if (rows.items[i].replaced)
            continue;
        if (any)
            pipe_buf_add_byte(out, ',');
        any = true;
        for (uint32_t c = 0; c < expected->column_count; c++)
            add_cell(out, c, column_text(type, rows.items[i].row, expected->columns[c], &cell));
        pipe_buf_add_byte(out, ']');
    }
    pipe_buf_add_byte(out, ']');
    pipe_buf_free(&cell);
    free(rows.items);
    return ok;
}
