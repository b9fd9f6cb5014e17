/*
 * native_write.c: JSON rows into columns, and those into a block (native.h).
 *
 * Rows come as our own encoders write them, columns in order and without blanks: such a row is read
 * in one pass, scalars straight into their columns. Whatever looks otherwise takes the general
 * reader (row_json.c), which also finds the words for what is wrong.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "json_read.h"
#include "native_internal.h"
#include "row_internal.h"

#define ROW_MEMORY ((size_t)256 << 20) /* of one row's nested values */
#define LENGTH_MOST 10u                /* bytes of a length, at most */

struct pipe_native_writer {
    struct native_table table;
    struct pipe_arena arena; /* of one row's values */
    void *row;               /* the struct of table.row */
    bool has_nested;
    bool is_small; /* after pipe_native_shrink */
    uint32_t rows;
    size_t bytes;       /* of all columns */
    size_t names_bytes; /* of what else is in a block, at most */
};

/* ---- Values into columns ---- */

static inline size_t write_length(uint8_t *at, uint64_t value)
{
    size_t size = 0;
    for (; value >= 0x80; value >>= 7)
        at[size++] = (uint8_t)(value | 0x80);
    at[size++] = (uint8_t)value;
    return size;
}

static void put_length(struct pipe_buf *to, uint64_t value)
{
    to->size += write_length(pipe_buf_reserve(to, LENGTH_MOST), value);
}

static void put_text(struct pipe_buf *to, struct pipe_str text)
{
    uint8_t *at = pipe_buf_reserve(to, LENGTH_MOST + text.size);
    size_t size = write_length(at, text.size);
    if (text.size > 0)
        memcpy(at + size, text.data, text.size);
    to->size += size + text.size;
}

/* Two numbers of 64 bits, the first half of the text first. */
static void put_uuid(uint8_t to[16], struct pipe_str text)
{
    uint8_t bytes[16];
    pipe_uuid_to_bytes(text, bytes);
    for (unsigned i = 0; i < 8; i++) {
        to[i] = bytes[7 - i];
        to[8 + i] = bytes[15 - i];
    }
}

static void put_fixed(struct native_column *column, const void *value)
{
    uint8_t *to = pipe_buf_reserve(&column->data, 16);
    if (column->type->kind == PIPE_UUID)
        put_uuid(to, *(const struct pipe_str *)value);
    else
        memcpy(to, value, column->width); /* of a decimal the lower bytes: it is little-endian */
    column->data.size += column->width;
}

static void put_null(struct native_column *column)
{
    pipe_buf_add_byte(&column->nulls, 1);
    if (column->kind == NATIVE_STRING) {
        pipe_buf_add_byte(&column->data, 0);
    } else {
        memset(pipe_buf_reserve(&column->data, column->width), 0, column->width);
        column->data.size += column->width;
    }
}

static void put_symbol(struct native_column *column, const uint32_t *symbol)
{
    uint32_t index = symbol == NULL ? 0 : *symbol + 1 + column->nullable;
    pipe_buf_add(&column->data, &index, column->width);
}

/* `value` NULL: null. */
static void put_value(struct native_column *column, const void *value);

static void put_tuple(struct native_column *column, const void *row)
{
    const struct pipe_row_type *record = column->type->record;
    if (column->child_count == 0)
        pipe_buf_add_byte(&column->data, '0'); /* so does the server */
    for (uint32_t i = 0; i < column->child_count; i++) {
        const struct pipe_column *from = &record->columns[i];
        bool null = row == NULL || pipe_column_is_null(from, row);
        put_value(&column->children[i], null ? NULL : pipe_column_value(from, row));
    }
}

static void put_list(struct native_column *column, const void *value)
{
    const struct pipe_type *type = column->type;
    bool map = type->kind == PIPE_MAP;
    struct native_column *element = &column->children[map];
    const struct pipe_array *array = value;
    const struct pipe_map *entries = value;
    uint32_t count = value == NULL ? 0 : map ? entries->count : array->count;
    for (uint32_t i = 0; i < count; i++) {
        void *item = slot_value(type, map ? entries->entries : array->items, i);
        bool null = type->element_nullable && *slot_is_null(type, item);
        if (map)
            put_value(&column->children[0], (const char *)item - PIPE_MAP_VALUE_OFFSET);
        put_value(element, null ? NULL : item);
    }
    pipe_buf_add(&column->data, &element->rows, sizeof element->rows);
}

static void put_value(struct native_column *column, const void *value)
{
    switch (column->kind) {
    case NATIVE_FIXED:
    case NATIVE_STRING:
        if (value == NULL) {
            put_null(column);
        } else {
            if (column->nullable)
                pipe_buf_add_byte(&column->nulls, 0);
            if (column->kind == NATIVE_FIXED)
                put_fixed(column, value);
            else
                put_text(&column->data, *(const struct pipe_str *)value);
        }
        break;
    case NATIVE_LOW:
        put_symbol(column, value);
        break;
    case NATIVE_LIST:
        put_list(column, value);
        break;
    case NATIVE_TUPLE:
        put_tuple(column, value);
        break;
    }
    column->rows++;
}

static bool is_nested(const struct native_column *column)
{
    return column->kind == NATIVE_LIST || column->kind == NATIVE_TUPLE;
}

/* ---- A row as our encoders write it ---- */

/* Where the text that began at `at` ends: at its quote; NULL: it has an escape, or is not closed.
 */
static const char *plain_end(const char *at, const char *end)
{
    uint64_t word;
    for (; end - at >= 8; at += 8) {
        memcpy(&word, at, 8);
        uint64_t hits = pipe_json_escapes_in(word);
        if (hits == 0)
            continue;
        at += __builtin_ctzll(hits) / 8;
        return *at == '"' ? at : NULL;
    }
    while (at < end && *at != '"' && *at != '\\' && (uint8_t)*at >= 0x20)
        at++;
    return at < end && *at == '"' ? at : NULL;
}

static bool take_string(struct pipe_native_writer *writer, struct json_scan *scan,
                        struct pipe_str *out)
{
    const char *begin = scan->at + 1;
    const char *quote = plain_end(begin, scan->end);
    if (PIPE_LIKELY(quote != NULL)) {
        *out = pipe_str_of(begin, (size_t)(quote - begin));
        scan->at = quote + 1;
        return true;
    }
    struct json_text text;
    return json_scan_string(scan, &text) && json_text_value(text, &writer->arena, out);
}

static bool take_scalar(struct pipe_native_writer *writer, struct native_column *column,
                        struct json_scan *scan)
{
    __extension__ union {
        struct pipe_str text;
        pipe_decimal decimal;
        int64_t integer;
        bool truth;
    } value;
    struct pipe_str text;
    enum text_origin origin = FROM_JSON_NUMBER;
    if (*scan->at == '"') {
        origin = FROM_JSON_STRING;
        if (!take_string(writer, scan, &text))
            return false;
        if (column->type->kind == PIPE_STRING) { /* the whole row's UTF-8 was checked */
            value.text = text;
            put_value(column, &value);
            return true;
        }
    } else if (column->type->kind == PIPE_BOOL) {
        value.truth = *scan->at == 't';
        if (!json_scan_word(scan, value.truth ? PIPE_STR("true") : PIPE_STR("false")))
            return false;
        put_value(column, &value);
        return true;
    } else if (!json_scan_number(scan, &text)) {
        return false;
    }
    if (!scalar_from_text(column->type, text, origin, &writer->arena, &value))
        return false;
    put_value(column, &value);
    return true;
}

static bool take_nested(struct pipe_native_writer *writer, uint32_t index, struct json_scan *scan)
{
    const struct pipe_column *column = &writer->table.row.columns[index];
    bool nullable = column->null_offset != PIPE_NOT_NULL, null;
    struct pipe_str text;
    if (!json_scan_value(scan, &text) ||
        !pipe_value_from_json(column->type, nullable, text, &writer->arena,
                              (char *)writer->row + column->offset, &null, NULL))
        return false;
    if (nullable)
        *((bool *)writer->row + column->null_offset) = null;
    return true;
}

static bool take_column(struct pipe_native_writer *writer, uint32_t index, struct json_scan *scan)
{
    struct native_column *column = &writer->table.columns[index];
    size_t size = column->prefix.size;
    column->nulls_before = column->nulls.size;
    column->data_before = column->data.size;
    if ((size_t)(scan->end - scan->at) <= size || memcmp(scan->at, column->prefix.data, size) != 0)
        return false;
    scan->at += size;
    if (is_nested(column))
        return take_nested(writer, index, scan);
    if (*scan->at != 'n')
        return take_scalar(writer, column, scan);
    if (!column->may_be_null || !json_scan_word(scan, PIPE_STR("null")))
        return false;
    put_value(column, NULL);
    return true;
}

/* The first `count` columns of the row in hand. */
static void take_back(struct pipe_native_writer *writer, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct native_column *column = &writer->table.columns[i];
        if (is_nested(column))
            continue;
        column->nulls.size = column->nulls_before;
        column->data.size = column->data_before;
        column->rows = writer->rows;
    }
}

static void put_nested(struct pipe_native_writer *writer)
{
    const struct pipe_row_type *row = &writer->table.row;
    for (uint32_t i = 0; i < row->column_count; i++) {
        const struct pipe_column *column = &row->columns[i];
        if (is_nested(&writer->table.columns[i]))
            put_value(&writer->table.columns[i], pipe_column_is_null(column, writer->row)
                                                     ? NULL
                                                     : pipe_column_value(column, writer->row));
    }
}

static void count_bytes(struct pipe_native_writer *writer)
{
    writer->bytes = 0;
    for (uint32_t i = 0; i < writer->table.all_count; i++)
        writer->bytes += writer->table.all[i]->nulls.size + writer->table.all[i]->data.size;
}

static bool add_as_written(struct pipe_native_writer *writer, struct pipe_str json)
{
    struct json_scan scan = {json.data, json.data + json.size, NULL, 0};
    uint32_t count = writer->table.row.column_count, i = 0;
    bool good = count > 0 && pipe_utf8_check(json.data, json.size);
    size_t bytes = 0;
    for (; good && i < count; i++) {
        const struct native_column *column = &writer->table.columns[i];
        good = take_column(writer, i, &scan);
        bytes += column->nulls.size - column->nulls_before;
        bytes += column->data.size - column->data_before;
    }
    good = good && scan.end - scan.at == 1 && *scan.at == '}';
    if (!good) {
        take_back(writer, i);
        return false;
    }
    writer->bytes += bytes;
    if (writer->has_nested) {
        put_nested(writer);
        count_bytes(writer);
    }
    return true;
}

/* ---- Any other row ---- */

static bool add_any(struct pipe_native_writer *writer, struct pipe_str json,
                    struct pipe_error *error)
{
    const struct pipe_row_type *row = &writer->table.row;
    pipe_arena_reset(&writer->arena);
    if (!pipe_row_from_json(row, json, &writer->arena, writer->row, error))
        return false;
    for (uint32_t i = 0; i < row->column_count; i++) {
        const struct pipe_column *column = &row->columns[i];
        put_value(&writer->table.columns[i], pipe_column_is_null(column, writer->row)
                                                 ? NULL
                                                 : pipe_column_value(column, writer->row));
    }
    count_bytes(writer);
    return true;
}

/* ---- The writer ---- */

/* All of a block but the values: counts, names, types, dictionaries. */
static size_t bytes_of_names(const struct native_table *table)
{
    size_t bytes = 2 * LENGTH_MOST;
    for (uint32_t i = 0; i < table->column_count; i++)
        bytes +=
            2 * LENGTH_MOST + table->columns[i].name.size + strlen(table->def->columns[i].type);
    for (uint32_t i = 0; i < table->all_count; i++) {
        const struct native_column *column = table->all[i];
        if (column->kind != NATIVE_LOW)
            continue;
        bytes += 4 * sizeof(uint64_t) + 2 * LENGTH_MOST;
        for (uint32_t s = 0; s < column->type->symbol_count; s++)
            bytes += LENGTH_MOST + strlen(column->type->symbols[s]);
    }
    return bytes;
}

struct pipe_native_writer *pipe_native_writer_new(const struct pipe_table_def *table,
                                                  const struct pipe_row_type *row)
{
    struct pipe_native_writer *writer = pipe_calloc(1, sizeof *writer);
    native_table_init(&writer->table, table, row);
    pipe_arena_init(&writer->arena, ROW_MEMORY);
    writer->row = pipe_calloc(1, writer->table.row.size_bytes + 1);
    for (uint32_t i = 0; i < writer->table.column_count; i++)
        writer->has_nested = writer->has_nested || is_nested(&writer->table.columns[i]);
    writer->names_bytes = bytes_of_names(&writer->table);
    return writer;
}

/* As much as the block before, so that columns do not grow step by step, each a copy. */
static void take_memory(struct pipe_native_writer *writer)
{
    for (uint32_t i = 0; i < writer->table.all_count; i++) {
        struct native_column *column = writer->table.all[i];
        if (column->nulls_likely > 0)
            pipe_buf_reserve(&column->nulls, column->nulls_likely);
        if (column->data_likely > 0)
            pipe_buf_reserve(&column->data, column->data_likely);
    }
    writer->is_small = false;
}

bool pipe_native_add(struct pipe_native_writer *writer, struct pipe_str json, int32_t partition,
                     int64_t offset, char *error, size_t error_bytes)
{
    struct native_column *positions = &writer->table.columns[writer->table.row.column_count];
    struct pipe_error cause;
    if (writer->arena.chunks != NULL)
        pipe_arena_reset(&writer->arena);
    if (writer->is_small)
        take_memory(writer);
    if (!add_as_written(writer, json) && !add_any(writer, json, &cause)) {
        snprintf(error, error_bytes, "partition %d, offset %" PRId64 " is no row of %s: %s%s%s",
                 partition, offset, writer->table.def->name, cause.field,
                 cause.field[0] != '\0' ? ": " : "", cause.detail);
        return false;
    }
    pipe_buf_add(&positions[0].data, &partition, sizeof partition);
    pipe_buf_add(&positions[1].data, &offset, sizeof offset);
    writer->bytes += sizeof partition + sizeof offset;
    writer->rows++;
    return true;
}

uint32_t pipe_native_rows(const struct pipe_native_writer *writer)
{
    return writer->rows;
}

bool pipe_native_lossy(const struct pipe_native_writer *writer)
{
    return writer->table.lossy;
}

size_t pipe_native_bytes(const struct pipe_native_writer *writer)
{
    return writer->bytes;
}

size_t pipe_native_block_bytes(const struct pipe_native_writer *writer)
{
    return writer->bytes + writer->names_bytes;
}

/* ---- The block ---- */

static void put_u64(struct pipe_buf *to, uint64_t value)
{
    pipe_buf_add(to, &value, sizeof value);
}

/* What stands before all values of a column: the versions of the dictionaries in it. */
static void put_versions(struct pipe_buf *to, const struct native_column *column)
{
    if (column->kind == NATIVE_LOW)
        put_u64(to, NATIVE_LOW_VERSION);
    for (uint32_t i = 0; i < column->child_count; i++)
        put_versions(to, &column->children[i]);
}

/* A column of several writers, whose rows stand behind one another. */
struct columns {
    const struct native_column *of[PIPE_NATIVE_WRITERS_MAX];
    uint32_t count;
};

static struct columns children_of(const struct columns *columns, uint32_t index)
{
    struct columns children = {.count = columns->count};
    for (uint32_t i = 0; i < columns->count; i++)
        children.of[i] = &columns->of[i]->children[index];
    return children;
}

static void put_data(struct pipe_buf *to, const struct columns *columns)
{
    for (uint32_t i = 0; i < columns->count; i++)
        pipe_buf_add(to, columns->of[i]->data.data, columns->of[i]->data.size);
}

/* All symbols are keys, so that an index never depends on the rows before. The first is the default
 * value, or null and then that. */
static void put_low(struct pipe_buf *to, const struct columns *columns)
{
    const struct native_column *column = columns->of[0];
    const struct pipe_type *type = column->type;
    uint64_t rows = 0;
    for (uint32_t i = 0; i < columns->count; i++)
        rows += columns->of[i]->rows;
    if (rows == 0)
        return;
    put_u64(to, NATIVE_LOW_FLAGS | (column->width >> 1));
    put_u64(to, type->symbol_count + 1 + column->nullable);
    for (unsigned i = 0; i < 1u + column->nullable; i++)
        put_length(to, 0);
    for (uint32_t i = 0; i < type->symbol_count; i++)
        put_text(to, pipe_str_of(type->symbols[i], strlen(type->symbols[i])));
    put_u64(to, rows);
    put_data(to, columns);
}

/* Where lists end, counted over all writers. */
static void put_ends(struct pipe_buf *to, const struct columns *columns)
{
    uint64_t before = 0, end;
    for (uint32_t i = 0; i < columns->count; i++) {
        const struct native_column *column = columns->of[i];
        for (size_t at = 0; at < column->data.size; at += sizeof end) {
            memcpy(&end, column->data.data + at, sizeof end);
            put_u64(to, before + end);
        }
        before += column->children[column->child_count - 1].rows;
    }
}

static void put_values(struct pipe_buf *to, const struct columns *columns)
{
    const struct native_column *column = columns->of[0];
    if (column->kind == NATIVE_LOW) {
        put_low(to, columns);
        return;
    }
    for (uint32_t i = 0; i < columns->count; i++)
        pipe_buf_add(to, columns->of[i]->nulls.data, columns->of[i]->nulls.size);
    if (column->kind == NATIVE_LIST && columns->count > 1)
        put_ends(to, columns);
    else
        put_data(to, columns);
    for (uint32_t i = 0; i < column->child_count; i++) {
        struct columns children = children_of(columns, i);
        put_values(to, &children);
    }
}

static void forget_finished(struct pipe_native_writer *writer)
{
    const struct native_table *table = &writer->table;
    for (uint32_t i = 0; i < table->all_count; i++) {
        struct native_column *column = table->all[i];
        column->nulls_likely = column->nulls.size;
        column->data_likely = column->data.size;
    }
    pipe_native_clear(writer);
}

void pipe_native_finish_all(struct pipe_native_writer *const *writers, uint32_t count,
                            struct pipe_buf *block)
{
    const struct native_table *table = &writers[0]->table;
    uint64_t rows = 0;
    size_t bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        rows += writers[i]->rows;
        bytes += pipe_native_block_bytes(writers[i]);
    }
    if (rows == 0)
        return;
    pipe_buf_reserve(block, bytes);
    put_length(block, table->column_count);
    put_length(block, rows);
    for (uint32_t i = 0; i < table->column_count; i++) {
        const char *type = table->def->columns[i].type;
        struct columns columns = {.count = count};
        for (uint32_t k = 0; k < count; k++)
            columns.of[k] = &writers[k]->table.columns[i];
        put_text(block, table->columns[i].name);
        put_text(block, pipe_str_of(type, strlen(type)));
        put_versions(block, &table->columns[i]);
        put_values(block, &columns);
    }
    for (uint32_t i = 0; i < count; i++)
        forget_finished(writers[i]);
}

void pipe_native_finish(struct pipe_native_writer *writer, struct pipe_buf *block)
{
    pipe_native_finish_all(&writer, 1, block);
}

void pipe_native_clear(struct pipe_native_writer *writer)
{
    native_table_clear(&writer->table);
    writer->rows = 0;
    writer->bytes = 0;
}

void pipe_native_shrink(struct pipe_native_writer *writer)
{
    pipe_native_clear(writer);
    for (uint32_t i = 0; i < writer->table.all_count; i++) {
        pipe_buf_free(&writer->table.all[i]->nulls);
        pipe_buf_free(&writer->table.all[i]->data);
    }
    pipe_arena_free(&writer->arena);
    pipe_arena_init(&writer->arena, ROW_MEMORY);
    writer->is_small = true;
}

void pipe_native_writer_free(struct pipe_native_writer *writer)
{
    if (writer == NULL)
        return;
    native_table_free(&writer->table);
    pipe_arena_free(&writer->arena);
    free(writer->row);
    free(writer);
}
