/* rows.h: what must hold of any row that was read, from whatever it came: it comes back from every
 * encoding. */
#ifndef FUZZ_ROWS_H
#define FUZZ_ROWS_H

#include "fuzz.h"
#include "sample/sample.c"

#define ROW_ARENA_BYTES (64u << 20)

/* The rows of the sample: of the contract, and of the CSV source. */
#define EVENT_TYPE (contract_event.row)
#define ROWS_TYPE (sources[1].row)

static inline void check_error(const struct pipe_error *error)
{
    FUZZ_CHECK(error->detail[0] != '\0');
    FUZZ_CHECK(pipe_utf8_check(error->detail, strlen(error->detail)));
    FUZZ_CHECK(pipe_utf8_check(error->field, strlen(error->field)));
}

/* A column of JSON text is written as a string and read as any value: only its other columns come
 * back. */
static inline void take_json_columns(const struct pipe_row_type *type, const void *row, void *other)
{
    for (uint32_t i = 0; i < type->column_count; i++) {
        const struct pipe_column *column = &type->columns[i];
        if (column->type->kind == PIPE_STRING && column->type->is_json)
            memcpy((char *)other + column->offset, pipe_column_value(column, row),
                   sizeof(struct pipe_str));
    }
}

static inline void check_json(const struct pipe_row_type *type, const void *row, void *other,
                              struct pipe_arena *arena)
{
    struct pipe_buf text = {0}, again = {0};
    struct pipe_error error = {0};
    pipe_row_to_json(type, row, &text);
    struct pipe_str json = pipe_str_of(text.data, text.size);
    FUZZ_CHECK(pipe_utf8_check(json.data, json.size) && pipe_json_check(json));
    memset(other, 0, type->size_bytes);
    FUZZ_CHECK(pipe_row_from_json(type, json, arena, other, &error));
    take_json_columns(type, row, other);
    pipe_row_to_json(type, other, &again);
    FUZZ_CHECK(again.size == text.size && memcmp(again.data, text.data, text.size) == 0);
    FUZZ_CHECK(pipe_row_equal(type, row, other));
    FUZZ_CHECK(pipe_row_hash(type, row) == pipe_row_hash(type, other));
    pipe_buf_free(&text);
    pipe_buf_free(&again);
}

static inline void check_state(const struct pipe_row_type *type, const void *row, void *other,
                               struct pipe_arena *arena)
{
    struct pipe_buf bytes = {0}, again = {0};
    pipe_row_save(type, row, &bytes);
    const uint8_t *at = bytes.data, *end = bytes.data + bytes.size;
    FUZZ_CHECK(pipe_row_load(type, &at, end, arena, other) && at == end);
    FUZZ_CHECK(pipe_row_equal(type, row, other));
    pipe_row_save(type, other, &again);
    FUZZ_CHECK(again.size == bytes.size && memcmp(again.data, bytes.data, bytes.size) == 0);
    pipe_buf_free(&bytes);
    pipe_buf_free(&again);
}

static inline void check_avro(const struct pipe_row_type *type, const void *row, void *other,
                              struct pipe_arena *arena)
{
    struct pipe_buf bytes = {0};
    struct pipe_reader reader;
    pipe_row_to_avro(type, row, &bytes);
    pipe_reader_init(&reader, bytes.data, bytes.size, arena);
    FUZZ_CHECK(pipe_row_from_avro(type, &reader, other) && pipe_reader_done(&reader));
    FUZZ_CHECK(pipe_row_equal(type, row, other));
    pipe_buf_free(&bytes);
}

static inline void check_row(const struct pipe_row_type *type, const void *row,
                             struct pipe_arena *arena)
{
    struct pipe_buf csv = {0};
    void *other = pipe_calloc(1, type->size_bytes);
    check_json(type, row, other, arena);
    check_state(type, row, other, arena);
    check_avro(type, row, other, arena);
    FUZZ_CHECK(pipe_row_copy(type, row, arena, other) && pipe_row_equal(type, row, other));
    FUZZ_CHECK(pipe_row_compare(type, row, row) == 0);
    pipe_row_to_csv(type, row, &csv);
    FUZZ_CHECK(pipe_utf8_check(csv.data, csv.size));
    pipe_buf_free(&csv);
    free(other);
}

#endif
