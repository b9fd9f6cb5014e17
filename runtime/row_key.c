/* row_key.c: group keys and key texts (key.h). */
#include "row_internal.h"

void pipe_key_add_str_slow(struct pipe_buf *buf, struct pipe_str value)
{
    uint8_t *to = pipe_buf_reserve(buf, value.size + PIPE_BYTES_INLINE_MOST);
    uint8_t *at = pipe_varint_put(to, value.size);
    pipe_bytes_copy(at, value.data, value.size);
    buf->size += (size_t)(at - to) + value.size;
}

bool pipe_varint_get(const uint8_t **at, const uint8_t *end, uint64_t *out)
{
    uint64_t raw = 0;
    for (unsigned shift = 0; shift < 70 && *at < end; shift += 7) {
        uint8_t byte = *(*at)++;
        if (shift == 63 && byte > 1)
            return false;
        raw |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            *out = raw;
            return byte != 0 || shift == 0;
        }
    }
    return false;
}

bool pipe_key_null(const uint8_t **at, const uint8_t *end, bool *is_null)
{
    return pipe_key_bool(at, end, is_null);
}

bool pipe_key_bool(const uint8_t **at, const uint8_t *end, bool *out)
{
    if (*at == end || **at > 1)
        return false;
    *out = *(*at)++ != 0;
    return true;
}

bool pipe_key_i64(const uint8_t **at, const uint8_t *end, int64_t *out)
{
    uint64_t raw;
    if (!pipe_varint_get(at, end, &raw))
        return false;
    *out = (int64_t)(raw >> 1) ^ -(int64_t)(raw & 1);
    return true;
}

bool pipe_key_i32(const uint8_t **at, const uint8_t *end, int32_t *out)
{
    int64_t value;
    if (!pipe_key_i64(at, end, &value) || value != (int32_t)value)
        return false;
    *out = (int32_t)value;
    return true;
}

bool pipe_key_enum(const uint8_t **at, const uint8_t *end, uint32_t symbol_count, uint32_t *out)
{
    int64_t value;
    if (!pipe_key_i64(at, end, &value) || value < 0 || value >= symbol_count)
        return false;
    *out = (uint32_t)value;
    return true;
}

bool pipe_key_str(const uint8_t **at, const uint8_t *end, struct pipe_str *out)
{
    uint64_t size;
    if (!pipe_varint_get(at, end, &size) || size > (uint64_t)(end - *at))
        return false;
    *out = pipe_str_of(*at, (size_t)size);
    *at += size;
    return true;
}

bool pipe_key_uuid(const uint8_t **at, const uint8_t *end, struct pipe_arena *arena,
                   struct pipe_str *out)
{
    if (end - *at < 16)
        return false;
    char *text = pipe_arena_more(arena, 36);
    pipe_uuid_from_bytes(*at, text);
    *at += 16;
    *out = pipe_str_of(text, 36);
    return true;
}

bool pipe_key_decimal(const uint8_t **at, const uint8_t *end, pipe_decimal *out)
{
    if (end - *at < 16)
        return false;
    memcpy(out, *at, 16);
    *at += 16;
    return true;
}

void pipe_key_add_columns(struct pipe_buf *buf, const struct pipe_row_type *type, const void *row,
                          const uint32_t *columns, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct pipe_column *column = &type->columns[columns[i]];
        const void *value = pipe_column_value(column, row);
        if (column->null_offset != PIPE_NOT_NULL &&
            pipe_key_add_null(buf, pipe_column_is_null(column, row)))
            continue;
        if (column->type->kind == PIPE_DECIMAL)
            pipe_key_add_decimal(buf, *(const pipe_decimal *)value);
        else
            pipe_value_save(column->type, value, buf); /* the same as pipe_key_add_… */
    }
}

bool pipe_key_read_columns(const uint8_t **at, const uint8_t *end, struct pipe_arena *arena,
                           const struct pipe_row_type *type, void *row, const uint32_t *columns,
                           size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct pipe_column *column = &type->columns[columns[i]];
        void *value = (char *)row + column->offset;
        if (column->null_offset != PIPE_NOT_NULL) {
            bool *is_null = (bool *)((char *)row + column->null_offset);
            if (!pipe_key_null(at, end, is_null))
                return false;
            if (*is_null)
                continue;
        }
        bool good = column->type->kind == PIPE_DECIMAL
                        ? pipe_key_decimal(at, end, value)
                        : pipe_value_load(column->type, at, end, arena, value);
        if (!good)
            return false;
    }
    return true;
}

/* Whether the key text of this single column is its plain text. */
static bool is_plain(const struct pipe_column *column)
{
    enum pipe_kind kind = column->type->kind;
    return column->null_offset == PIPE_NOT_NULL &&
           (kind == PIPE_STRING || kind == PIPE_UUID || kind == PIPE_ENUM || kind == PIPE_INT32 ||
            kind == PIPE_INT64);
}

static void add_plain(struct pipe_buf *buf, const struct pipe_type *type, const void *value)
{
    struct pipe_str text;
    if (type->kind == PIPE_INT32) {
        pipe_json_i64(buf, *(const int32_t *)value);
        return;
    }
    if (type->kind == PIPE_INT64) {
        pipe_json_i64(buf, *(const int64_t *)value);
        return;
    }
    if (type->kind == PIPE_ENUM) {
        const char *symbol = type->symbols[*(const uint32_t *)value];
        text = pipe_str_of(symbol, strlen(symbol));
    } else {
        text = *(const struct pipe_str *)value;
    }
    pipe_buf_add(buf, text.data, text.size);
}

void pipe_key_text(struct pipe_buf *buf, const struct pipe_row_type *type, const void *row,
                   const uint32_t *columns, size_t count)
{
    if (count == 1 && is_plain(&type->columns[columns[0]])) {
        add_plain(buf, type->columns[columns[0]].type,
                  pipe_column_value(&type->columns[columns[0]], row));
        return;
    }
    pipe_buf_add_byte(buf, '[');
    for (size_t i = 0; i < count; i++) {
        const struct pipe_column *column = &type->columns[columns[i]];
        if (i > 0)
            pipe_buf_add_byte(buf, ',');
        if (pipe_column_is_null(column, row))
            pipe_json_null(buf);
        else
            pipe_value_to_json(column->type, pipe_column_value(column, row), buf);
    }
    pipe_buf_add_byte(buf, ']');
}
