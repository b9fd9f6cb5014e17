/* row_csv.c: rows from and to CSV by descriptor (row.h). */
#include "row_internal.h"

#include <stdio.h>

static bool read_column(const struct pipe_column *column, const struct pipe_csv_field *field,
                        struct pipe_arena *arena, void *row, struct pipe_error *error)
{
    bool nullable = column->null_offset != PIPE_NOT_NULL;
    bool nothing = !field->quoted && field->text.size == 0;
    if (nullable)
        *(bool *)((char *)row + column->null_offset) = nothing;
    if (nothing && nullable)
        return true;
    if (nothing && (column->type->kind != PIPE_STRING || column->type->is_json))
        return pipe_fail(error, column->name, "empty, where a %s is required",
                         type_expected(column->type).text);
    if (scalar_from_text(column->type, field->text, FROM_CSV, arena, (char *)row + column->offset))
        return true;
    if (arena->overflow)
        return pipe_fail(error, column->name, "the record needs more memory than a record may");
    if (!pipe_utf8_check(field->text.data, field->text.size))
        return pipe_fail(error, column->name, "%s is not UTF-8",
                         pipe_quote(field->text.data, field->text.size).text);
    return pipe_fail(error, column->name, "%s is no %s",
                     pipe_quote(field->text.data, field->text.size).text,
                     type_expected(column->type).text);
}

bool pipe_row_from_csv(const struct pipe_row_type *type, const struct pipe_csv_field *fields,
                       size_t field_count, size_t expected, const uint32_t *positions,
                       struct pipe_arena *arena, void *row, struct pipe_error *error)
{
    if (field_count != expected)
        return pipe_fail(error, "", "the row has %zu field%s where %zu are expected", field_count,
                         PIPE_PLURAL(field_count), expected);
    memset(row, 0, type->size_bytes);
    for (uint32_t i = 0; i < type->column_count; i++) {
        size_t at = positions != NULL ? positions[i] : i;
        if (at == PIPE_CSV_DEFAULT) {
            if (!pipe_row_default(type, i, arena, row, error))
                return false;
            continue;
        }
        if (at >= field_count)
            return pipe_fail(error, type->columns[i].name, "no such field in the row");
        if (!read_column(&type->columns[i], &fields[at], arena, row, error))
            return false;
    }
    return true;
}

#define NAMES_TOLD 5u

/* What the header has instead: its first names, or that it was written with another separator. */
static bool refuse_header(const struct pipe_csv_field *header, size_t field_count,
                          const struct pipe_column *column, struct pipe_error *error)
{
    char names[160];
    size_t used = 0;
    for (size_t i = 0; field_count == 1 && i < 3; i++) {
        char separator = ";\t|"[i];
        if (header[0].text.size > 0 && memchr(header[0].text.data, separator, header[0].text.size))
            return pipe_fail(error, column->name,
                             "this column is not in the header, which has %s where commas must "
                             "separate the fields",
                             separator == '\t'  ? "tabs"
                             : separator == ';' ? "';'"
                                                : "'|'");
    }
    names[0] = '\0';
    for (size_t i = 0; i < field_count && i < NAMES_TOLD; i++) {
        struct pipe_str name = header[i].text;
        name.size = name.size < 24 ? name.size : 24;
        const char *before = i > 0 ? ", " : "";
        int size = snprintf(names + used, sizeof names - used, "%s%s", before,
                            pipe_quote(name.data, name.size).text);
        if (size < 0 || (size_t)size >= sizeof names - used) {
            names[used] = '\0';
            field_count = NAMES_TOLD + 1; /* there are more */
            break;
        }
        used += (size_t)size;
    }
    return pipe_fail(error, column->name, "this column is not in the header, which has %s%s%s",
                     names, field_count > NAMES_TOLD ? ", …" : "",
                     column->has_default ? "; it has its default only in files of a version that "
                                           "the contract `accepts`"
                                         : "");
}

static bool is_later(const uint32_t *later, size_t later_count, uint32_t column)
{
    for (size_t i = 0; i < later_count; i++)
        if (later[i] == column)
            return true;
    return false;
}

bool pipe_csv_positions(const struct pipe_row_type *type, const uint32_t *later, size_t later_count,
                        const struct pipe_csv_field *header, size_t field_count,
                        uint32_t *positions, struct pipe_error *error)
{
    for (uint32_t i = 0; i < type->column_count; i++) {
        const char *name = type->columns[i].name;
        struct pipe_str wanted = pipe_str_of(name, strlen(name));
        size_t hits = 0;
        for (size_t at = 0; at < field_count; at++) {
            if (pipe_str_equal(header[at].text, wanted)) {
                positions[i] = (uint32_t)at;
                hits++;
            }
        }
        if (hits == 0 && !is_later(later, later_count, i))
            return refuse_header(header, field_count, &type->columns[i], error);
        if (hits == 0)
            positions[i] = PIPE_CSV_DEFAULT;
        if (hits > 1)
            return pipe_fail(error, name, "this column is in the header twice");
    }
    return true;
}

/* --- Writing ------------------------------------------------------------------------------------
 */

static void write_value(const struct pipe_type *type, const void *value, struct pipe_buf *buf)
{
    struct pipe_buf text = {NULL, 0, 0};
    switch (type->kind) {
    case PIPE_BOOL:
    case PIPE_INT32:
    case PIPE_INT64:
    case PIPE_DURATION:
    case PIPE_FLOAT32:
    case PIPE_FLOAT64:
        return pipe_value_to_json(type, value, buf);
    case PIPE_DECIMAL:
        return pipe_csv_decimal(buf, *(const pipe_decimal *)value, type->scale);
    case PIPE_STRING:
    case PIPE_UUID:
        return pipe_csv_string(buf, *(const struct pipe_str *)value);
    case PIPE_ENUM:
        pipe_json_raw(buf, type->symbols[*(const uint32_t *)value],
                      strlen(type->symbols[*(const uint32_t *)value]));
        return;
    case PIPE_BYTES:
        if (((const struct pipe_str *)value)->size == 0)
            return pipe_csv_string(buf, PIPE_STR(""));
        return pipe_base64_add(buf, ((const struct pipe_str *)value)->data,
                               ((const struct pipe_str *)value)->size);
    case PIPE_DATE:
        return pipe_csv_date(buf, *(const int32_t *)value);
    case PIPE_TIMESTAMP_MS:
        return pipe_csv_timestamp_ms(buf, *(const int64_t *)value);
    case PIPE_TIMESTAMP_US:
        return pipe_csv_timestamp_us(buf, *(const int64_t *)value);
    case PIPE_RECORD:
    case PIPE_ARRAY:
    case PIPE_MAP:
        pipe_value_to_json(type, value, &text);
        pipe_csv_string(buf, pipe_str_of(text.data, text.size));
        pipe_buf_free(&text);
        return;
    }
}

void pipe_row_to_csv(const struct pipe_row_type *type, const void *row, struct pipe_buf *buf)
{
    for (uint32_t i = 0; i < type->column_count; i++) {
        const struct pipe_column *column = &type->columns[i];
        if (i > 0)
            pipe_buf_add_byte(buf, ',');
        if (!pipe_column_is_null(column, row))
            write_value(column->type, pipe_column_value(column, row), buf);
    }
    pipe_buf_add_byte(buf, '\n');
}

void pipe_csv_header(const struct pipe_row_type *type, struct pipe_buf *buf)
{
    for (uint32_t i = 0; i < type->column_count; i++) {
        const char *name = type->columns[i].name;
        if (i > 0)
            pipe_buf_add_byte(buf, ',');
        pipe_csv_string(buf, pipe_str_of(name, strlen(name)));
    }
    pipe_buf_add_byte(buf, '\n');
}
