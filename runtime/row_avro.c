/* row_avro.c: rows from and to Avro's binary encoding by descriptor (row.h). */
#include "row_internal.h"

static bool read_value(const struct pipe_type *type, struct pipe_reader *r, void *value);

static bool read_bytes(const struct pipe_type *type, struct pipe_reader *r, struct pipe_str *out)
{
    return type->fixed_bytes > 0 ? pipe_avro_fixed(r, type->fixed_bytes, out)
                                 : pipe_avro_bytes(r, out);
}

static bool read_decimal(const struct pipe_type *type, struct pipe_reader *r, pipe_decimal *out)
{
    return type->fixed_bytes > 0
               ? pipe_avro_decimal_fixed(r, type->fixed_bytes, type->precision, out)
               : pipe_avro_decimal(r, type->precision, out);
}

static bool read_slots(const struct pipe_type *type, struct pipe_reader *r,
                       struct pipe_items *items)
{
    void *slot;
    while ((slot = pipe_avro_item(r, items)) != NULL) {
        int64_t index = items->count - 1;
        void *value = slot_value(type, items->slots, items->count - 1);
        bool null = false;
        if (type->kind == PIPE_MAP && !pipe_avro_map_key(r, items, slot))
            return pipe_reader_within(r, "", index);
        if (type->element_nullable) {
            if (!pipe_avro_nullable(r, type->element_null_first, &null))
                return pipe_reader_within(r, "", index);
            *slot_is_null(type, value) = null;
        }
        if (!null && !read_value(type->element, r, value))
            return pipe_reader_within(r, "", index);
    }
    return r->cause == NULL;
}

static bool read_nested(const struct pipe_type *type, struct pipe_reader *r, void *value)
{
    struct pipe_items items = {.slot_bytes = type->element_bytes};
    if (type->kind == PIPE_RECORD)
        return pipe_row_from_avro(type->record, r, value);
    if (!pipe_reader_enter(r) || !read_slots(type, r, &items))
        return false;
    pipe_reader_leave(r);
    if (type->kind == PIPE_ARRAY)
        *(struct pipe_array *)value = (struct pipe_array){items.slots, items.count};
    else
        *(struct pipe_map *)value = (struct pipe_map){items.slots, items.count};
    return true;
}

static bool read_value(const struct pipe_type *type, struct pipe_reader *r, void *value)
{
    switch (type->kind) {
    case PIPE_BOOL:
        return pipe_avro_bool(r, value);
    case PIPE_INT32:
        return pipe_avro_int(r, value);
    case PIPE_INT64:
    case PIPE_DURATION:
        return pipe_avro_long(r, value);
    case PIPE_FLOAT32:
        return pipe_avro_float(r, value);
    case PIPE_FLOAT64:
        return pipe_avro_double(r, value);
    case PIPE_DECIMAL:
        return read_decimal(type, r, value);
    case PIPE_STRING:
        return type->is_json ? pipe_avro_json(r, value) : pipe_avro_string(r, value);
    case PIPE_UUID:
        return pipe_avro_uuid(r, value);
    case PIPE_ENUM:
        return pipe_avro_enum(r, type->symbol_count, value);
    case PIPE_BYTES:
        return read_bytes(type, r, value);
    case PIPE_DATE:
        return pipe_avro_date(r, value);
    case PIPE_TIMESTAMP_MS:
        return pipe_avro_timestamp_ms(r, value);
    case PIPE_TIMESTAMP_US:
        return pipe_avro_timestamp_us(r, value);
    case PIPE_RECORD:
    case PIPE_ARRAY:
    case PIPE_MAP:
        return read_nested(type, r, value);
    }
    return false;
}

static bool read_column(const struct pipe_column *column, struct pipe_reader *r, void *row)
{
    if (column->null_offset != PIPE_NOT_NULL) {
        bool *is_null = (bool *)((char *)row + column->null_offset);
        if (!pipe_avro_nullable(r, column->null_first, is_null))
            return false;
        if (*is_null)
            return true;
    }
    return read_value(column->type, r, (char *)row + column->offset);
}

bool pipe_row_from_avro(const struct pipe_row_type *type, struct pipe_reader *r, void *row)
{
    if (!pipe_reader_enter(r))
        return false;
    memset(row, 0, type->size_bytes);
    for (uint32_t i = 0; i < type->column_count; i++) {
        if (!read_column(&type->columns[i], r, row))
            return pipe_reader_within(r, type->columns[i].name, -1);
    }
    pipe_reader_leave(r);
    return true;
}

/* --- Skipping -----------------------------------------------------------------------------------
 */

static bool skip_slots(const struct pipe_type *type, struct pipe_reader *r)
{
    uint32_t total = 0;
    int64_t count = 0;
    while (pipe_avro_skip_block(r, &total, &count) && count > 0) {
        for (; count > 0; count--) {
            bool null = false;
            if ((type->kind == PIPE_MAP && !pipe_avro_skip_bytes(r)) ||
                (type->element_nullable &&
                 !pipe_avro_nullable(r, type->element_null_first, &null)) ||
                (!null && !pipe_avro_skip_value(type->element, r)))
                return false;
        }
    }
    return r->cause == NULL;
}

static bool skip_record(const struct pipe_row_type *type, struct pipe_reader *r)
{
    for (uint32_t i = 0; i < type->column_count; i++) {
        const struct pipe_column *column = &type->columns[i];
        bool null = false;
        if ((column->null_offset != PIPE_NOT_NULL &&
             !pipe_avro_nullable(r, column->null_first, &null)) ||
            (!null && !pipe_avro_skip_value(column->type, r)))
            return pipe_reader_at(r, column->name);
    }
    return true;
}

bool pipe_avro_skip_value(const struct pipe_type *type, struct pipe_reader *r)
{
    switch (type->kind) {
    case PIPE_BOOL:
        return pipe_avro_skip_fixed(r, 1);
    case PIPE_INT32:
    case PIPE_INT64:
    case PIPE_DURATION:
    case PIPE_DATE:
    case PIPE_TIMESTAMP_MS:
    case PIPE_TIMESTAMP_US:
    case PIPE_ENUM:
        return pipe_avro_skip_long(r);
    case PIPE_FLOAT32:
        return pipe_avro_skip_fixed(r, 4);
    case PIPE_FLOAT64:
        return pipe_avro_skip_fixed(r, 8);
    case PIPE_STRING:
    case PIPE_UUID:
        return pipe_avro_skip_bytes(r);
    case PIPE_DECIMAL:
    case PIPE_BYTES:
        return type->fixed_bytes > 0 ? pipe_avro_skip_fixed(r, type->fixed_bytes)
                                     : pipe_avro_skip_bytes(r);
    case PIPE_RECORD:
        return skip_record(type->record, r);
    case PIPE_ARRAY:
    case PIPE_MAP:
        return skip_slots(type, r);
    }
    return false;
}

/* --- Writing ------------------------------------------------------------------------------------
 */

static void write_value(const struct pipe_type *type, const void *value, struct pipe_buf *buf);

static void write_slots(const struct pipe_type *type, const void *slots, uint32_t count,
                        struct pipe_buf *buf)
{
    pipe_avro_put_count(buf, count);
    for (uint32_t i = 0; i < count; i++) {
        void *value = slot_value(type, slots, i);
        bool null = false;
        if (type->kind == PIPE_MAP)
            pipe_avro_put_bytes(buf, *(struct pipe_str *)((char *)value - PIPE_MAP_VALUE_OFFSET));
        if (type->element_nullable) {
            null = *slot_is_null(type, value);
            pipe_avro_put_nullable(buf, type->element_null_first, null);
        }
        if (!null)
            write_value(type->element, value, buf);
    }
    pipe_avro_put_end(buf);
}

static void write_value(const struct pipe_type *type, const void *value, struct pipe_buf *buf)
{
    switch (type->kind) {
    case PIPE_BOOL:
        return pipe_avro_put_bool(buf, *(const bool *)value);
    case PIPE_INT32:
    case PIPE_DATE:
        return pipe_avro_put_long(buf, *(const int32_t *)value);
    case PIPE_INT64:
    case PIPE_DURATION:
    case PIPE_TIMESTAMP_MS:
    case PIPE_TIMESTAMP_US:
        return pipe_avro_put_long(buf, *(const int64_t *)value);
    case PIPE_ENUM:
        return pipe_avro_put_long(buf, *(const uint32_t *)value);
    case PIPE_FLOAT32:
        return pipe_avro_put_float(buf, *(const float *)value);
    case PIPE_FLOAT64:
        return pipe_avro_put_double(buf, *(const double *)value);
    case PIPE_DECIMAL:
        return pipe_avro_put_decimal(buf, *(const pipe_decimal *)value, type->fixed_bytes);
    case PIPE_STRING:
    case PIPE_UUID:
        return pipe_avro_put_bytes(buf, *(const struct pipe_str *)value);
    case PIPE_BYTES:
        if (type->fixed_bytes > 0)
            return pipe_avro_put_fixed(buf, *(const struct pipe_str *)value);
        return pipe_avro_put_bytes(buf, *(const struct pipe_str *)value);
    case PIPE_RECORD:
        return pipe_row_to_avro(type->record, value, buf);
    case PIPE_ARRAY:
        return write_slots(type, ((const struct pipe_array *)value)->items,
                           ((const struct pipe_array *)value)->count, buf);
    case PIPE_MAP:
        return write_slots(type, ((const struct pipe_map *)value)->entries,
                           ((const struct pipe_map *)value)->count, buf);
    }
}

void pipe_row_to_avro(const struct pipe_row_type *type, const void *row, struct pipe_buf *buf)
{
    for (uint32_t i = 0; i < type->column_count; i++) {
        const struct pipe_column *column = &type->columns[i];
        bool null = pipe_column_is_null(column, row);
        if (column->null_offset != PIPE_NOT_NULL)
            pipe_avro_put_nullable(buf, column->null_first, null);
        if (!null)
            write_value(column->type, pipe_column_value(column, row), buf);
    }
}
