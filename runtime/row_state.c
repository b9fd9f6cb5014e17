/*
 * row_state.c: the compact state encoding of rows, deep copies, order and hash (row.h).
 *
 * A row: a bitmap of its nullable columns (bit set: null; spare bits 0), then the other values.
 * Integers, enums, dates, instants, decimals: zigzag varint; bool a byte; floats their bytes; uuid
 * 16 bytes; text: varint length, bytes. Array, map: varint count, a bitmap if elements are
 * nullable, the elements (a map: key before value). Only canonical bytes are accepted.
 */
#include "row_internal.h"

/* --- Saving -------------------------------------------------------------------------------------
 */

static void save_decimal(struct pipe_buf *buf, pipe_decimal value)
{
    pipe_u128 raw = (pipe_u128)value << 1 ^ (pipe_u128)(value >> 127);
    uint8_t *to = pipe_buf_reserve(buf, 19), *at = to;
    for (; raw >= 0x80; raw >>= 7)
        *at++ = (uint8_t)(raw | 0x80);
    *at++ = (uint8_t)raw;
    buf->size += (size_t)(at - to);
}

/* A zeroed bitmap behind what is in buf; its offset. */
static size_t add_bitmap(struct pipe_buf *buf, size_t bits)
{
    size_t at = buf->size, size = (bits + 7) / 8;
    if (size > 0)
        memset(pipe_buf_reserve(buf, size), 0, size);
    buf->size += size;
    return at;
}

static void save_slots(const struct pipe_type *type, const void *slots, uint32_t count,
                       struct pipe_buf *buf)
{
    uint8_t *to = pipe_buf_reserve(buf, 10);
    buf->size += (size_t)(pipe_varint_put(to, count) - to);
    size_t bitmap = type->element_nullable ? add_bitmap(buf, count) : 0;
    for (uint32_t i = 0; i < count; i++) {
        void *value = slot_value(type, slots, i);
        if (type->kind == PIPE_MAP)
            pipe_key_add_str(buf, *(struct pipe_str *)((char *)value - PIPE_MAP_VALUE_OFFSET));
        if (type->element_nullable && *slot_is_null(type, value))
            buf->data[bitmap + i / 8] |= (uint8_t)(1 << i % 8);
        else
            pipe_value_save(type->element, value, buf);
    }
}

void pipe_value_save(const struct pipe_type *type, const void *value, struct pipe_buf *buf)
{
    switch (type->kind) {
    case PIPE_BOOL:
        return pipe_buf_add_byte(buf, *(const bool *)value);
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
        return pipe_buf_add(buf, value, 4);
    case PIPE_FLOAT64:
        return pipe_buf_add(buf, value, 8);
    case PIPE_DECIMAL:
        return save_decimal(buf, *(const pipe_decimal *)value);
    case PIPE_STRING:
    case PIPE_BYTES:
        return pipe_key_add_str(buf, *(const struct pipe_str *)value);
    case PIPE_UUID:
        return pipe_key_add_uuid(buf, *(const struct pipe_str *)value);
    case PIPE_RECORD:
        return pipe_row_save(type->record, value, buf);
    case PIPE_ARRAY:
        return save_slots(type, ((const struct pipe_array *)value)->items,
                          ((const struct pipe_array *)value)->count, buf);
    case PIPE_MAP:
        return save_slots(type, ((const struct pipe_map *)value)->entries,
                          ((const struct pipe_map *)value)->count, buf);
    }
}

static size_t nullable_columns(const struct pipe_row_type *type)
{
    size_t count = 0;
    for (uint32_t i = 0; i < type->column_count; i++)
        count += type->columns[i].null_offset != PIPE_NOT_NULL;
    return count;
}

void pipe_row_save(const struct pipe_row_type *type, const void *row, struct pipe_buf *buf)
{
    size_t bitmap = add_bitmap(buf, nullable_columns(type)), bit = 0;
    for (uint32_t i = 0; i < type->column_count; i++) {
        const struct pipe_column *column = &type->columns[i];
        bool null = pipe_column_is_null(column, row);
        if (null)
            buf->data[bitmap + bit / 8] |= (uint8_t)(1 << bit % 8);
        else
            pipe_value_save(column->type, pipe_column_value(column, row), buf);
        bit += column->null_offset != PIPE_NOT_NULL;
    }
}

/* --- Loading ------------------------------------------------------------------------------------
 */

static bool load_decimal(const uint8_t **at, const uint8_t *end, unsigned precision,
                         pipe_decimal *out)
{
    pipe_u128 raw = 0;
    for (unsigned shift = 0; shift < 133 && *at < end; shift += 7) {
        uint8_t byte = *(*at)++;
        if (shift == 126 && byte > 3)
            return false;
        raw |= (pipe_u128)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            pipe_decimal value = (pipe_decimal)(raw >> 1) ^ -(pipe_decimal)(raw & 1);
            *out = value;
            return (byte != 0 || shift == 0) && pipe_decimal_fits(value, precision);
        }
    }
    return false;
}

static bool load_raw(const uint8_t **at, const uint8_t *end, void *to, size_t size_bytes)
{
    if ((size_t)(end - *at) < size_bytes)
        return false;
    memcpy(to, *at, size_bytes);
    *at += size_bytes;
    return true;
}

/* Passes over a bitmap, whose spare bits must be 0. */
static bool load_bitmap(const uint8_t **at, const uint8_t *end, size_t bits, const uint8_t **bitmap)
{
    size_t size = (bits + 7) / 8;
    if ((size_t)(end - *at) < size)
        return false;
    *bitmap = *at;
    *at += size;
    return bits % 8 == 0 || (*at)[-1] >> bits % 8 == 0;
}

static bool bit_of(const uint8_t *bitmap, size_t bit)
{
    return bitmap[bit / 8] >> bit % 8 & 1;
}

static bool load_slots(const struct pipe_type *type, const uint8_t **at, const uint8_t *end,
                       struct pipe_arena *arena, void **slots, uint32_t *count)
{
    uint64_t wanted;
    const uint8_t *bitmap = NULL;
    if (!pipe_varint_get(at, end, &wanted) || wanted > PIPE_MAX_ELEMENTS ||
        (type->element_nullable && !load_bitmap(at, end, wanted, &bitmap)))
        return false;
    *slots = pipe_arena_zalloc(arena, wanted * type->element_bytes);
    if (*slots == NULL)
        return false;
    for (uint32_t i = 0; i < wanted; i++) {
        void *value = slot_value(type, *slots, i);
        if (type->kind == PIPE_MAP &&
            !pipe_key_str(at, end, (struct pipe_str *)((char *)value - PIPE_MAP_VALUE_OFFSET)))
            return false;
        bool null = bitmap != NULL && bit_of(bitmap, i);
        if (type->element_nullable)
            *slot_is_null(type, value) = null;
        if (!null && !pipe_value_load(type->element, at, end, arena, value))
            return false;
    }
    *count = (uint32_t)wanted;
    return true;
}

bool pipe_value_load(const struct pipe_type *type, const uint8_t **at, const uint8_t *end,
                     struct pipe_arena *arena, void *value)
{
    struct pipe_array *array;
    struct pipe_map *map;
    switch (type->kind) {
    case PIPE_BOOL:
        return pipe_key_bool(at, end, value);
    case PIPE_INT32:
        return pipe_key_i32(at, end, value);
    case PIPE_DATE:
        return pipe_key_i32(at, end, value) && pipe_date_ok(*(int32_t *)value);
    case PIPE_INT64:
    case PIPE_DURATION:
        return pipe_key_i64(at, end, value);
    case PIPE_TIMESTAMP_MS:
        return pipe_key_i64(at, end, value) && pipe_ts_ms_ok(*(int64_t *)value);
    case PIPE_TIMESTAMP_US:
        return pipe_key_i64(at, end, value) && pipe_ts_us_ok(*(int64_t *)value);
    case PIPE_ENUM:
        return pipe_key_enum(at, end, type->symbol_count, value);
    case PIPE_FLOAT32:
        return load_raw(at, end, value, 4) && __builtin_isfinite(*(float *)value);
    case PIPE_FLOAT64:
        return load_raw(at, end, value, 8) && __builtin_isfinite(*(double *)value);
    case PIPE_DECIMAL:
        return load_decimal(at, end, type->precision, value);
    case PIPE_STRING:
        return pipe_key_str(at, end, value);
    case PIPE_BYTES:
        return pipe_key_str(at, end, value) &&
               (type->fixed_bytes == 0 || ((struct pipe_str *)value)->size == type->fixed_bytes);
    case PIPE_UUID:
        return pipe_key_uuid(at, end, arena, value);
    case PIPE_RECORD:
        return pipe_row_load(type->record, at, end, arena, value);
    case PIPE_ARRAY:
        array = value;
        return load_slots(type, at, end, arena, &array->items, &array->count);
    case PIPE_MAP:
        map = value;
        return load_slots(type, at, end, arena, &map->entries, &map->count);
    }
    return false;
}

bool pipe_row_load(const struct pipe_row_type *type, const uint8_t **at, const uint8_t *end,
                   struct pipe_arena *arena, void *row)
{
    const uint8_t *bitmap;
    size_t bit = 0;
    if (!load_bitmap(at, end, nullable_columns(type), &bitmap))
        return false;
    memset(row, 0, type->size_bytes);
    for (uint32_t i = 0; i < type->column_count; i++) {
        const struct pipe_column *column = &type->columns[i];
        if (column->null_offset != PIPE_NOT_NULL) {
            bool null = bit_of(bitmap, bit++);
            *(bool *)((char *)row + column->null_offset) = null;
            if (null)
                continue;
        }
        if (!pipe_value_load(column->type, at, end, arena, (char *)row + column->offset))
            return false;
    }
    return true;
}

/* --- Copies -------------------------------------------------------------------------------------
 */

static bool copy_parts(const struct pipe_row_type *type, struct pipe_arena *arena, void *row);

/* Replaces what the value points to by copies in the arena. */
static bool copy_value(const struct pipe_type *type, struct pipe_arena *arena, void *value)
{
    bool map = type->kind == PIPE_MAP;
    if (type->kind == PIPE_STRING || type->kind == PIPE_UUID || type->kind == PIPE_BYTES)
        return pipe_str_copy(arena, *(struct pipe_str *)value, value);
    if (type->kind == PIPE_RECORD)
        return copy_parts(type->record, arena, value);
    if (type->kind != PIPE_ARRAY && !map)
        return true;
    void **slots =
        map ? &((struct pipe_map *)value)->entries : &((struct pipe_array *)value)->items;
    uint32_t count = map ? ((struct pipe_map *)value)->count : ((struct pipe_array *)value)->count;
    if (count == 0)
        return true;
    void *copy = pipe_arena_alloc(arena, (size_t)count * type->element_bytes);
    if (copy == NULL)
        return false;
    *slots = memcpy(copy, *slots, (size_t)count * type->element_bytes);
    for (uint32_t i = 0; i < count; i++) {
        void *item = slot_value(type, copy, i);
        struct pipe_str *key =
            map ? (struct pipe_str *)((char *)item - PIPE_MAP_VALUE_OFFSET) : NULL;
        if (map && !pipe_str_copy(arena, *key, key))
            return false;
        bool null = type->element_nullable && *slot_is_null(type, item);
        if (!null && !copy_value(type->element, arena, item))
            return false;
    }
    return true;
}

static bool copy_parts(const struct pipe_row_type *type, struct pipe_arena *arena, void *row)
{
    for (uint32_t i = 0; i < type->column_count; i++) {
        const struct pipe_column *column = &type->columns[i];
        if (!pipe_column_is_null(column, row) &&
            !copy_value(column->type, arena, (char *)row + column->offset))
            return false;
    }
    return true;
}

bool pipe_row_copy(const struct pipe_row_type *type, const void *from, struct pipe_arena *arena,
                   void *to)
{
    memcpy(to, from, type->size_bytes);
    return copy_parts(type, arena, to);
}

/* --- Order and hash -----------------------------------------------------------------------------
 */

#define COMPARE(type)                                                                              \
    ((*(const type *)a > *(const type *)b) - (*(const type *)a < *(const type *)b))

static int compare_floats(double a, double b)
{
    if (a == 0 && b == 0)
        return !!signbit(b) - !!signbit(a);
    return (a > b) - (a < b);
}

static int compare_slots(const struct pipe_type *type, const void *a, uint32_t a_count,
                         const void *b, uint32_t b_count)
{
    for (uint32_t i = 0; i < a_count && i < b_count; i++) {
        void *left = slot_value(type, a, i), *right = slot_value(type, b, i);
        int order = 0;
        if (type->kind == PIPE_MAP)
            order = pipe_str_compare(*(struct pipe_str *)((char *)left - PIPE_MAP_VALUE_OFFSET),
                                     *(struct pipe_str *)((char *)right - PIPE_MAP_VALUE_OFFSET));
        bool left_null = type->element_nullable && *slot_is_null(type, left);
        bool right_null = type->element_nullable && *slot_is_null(type, right);
        if (order == 0)
            order = right_null - left_null;
        if (order == 0 && !left_null)
            order = pipe_value_compare(type->element, left, right);
        if (order != 0)
            return order;
    }
    return (a_count > b_count) - (a_count < b_count);
}

int pipe_value_compare(const struct pipe_type *type, const void *a, const void *b)
{
    switch (type->kind) {
    case PIPE_BOOL:
        return COMPARE(bool);
    case PIPE_INT32:
    case PIPE_DATE:
        return COMPARE(int32_t);
    case PIPE_INT64:
    case PIPE_DURATION:
    case PIPE_TIMESTAMP_MS:
    case PIPE_TIMESTAMP_US:
        return COMPARE(int64_t);
    case PIPE_ENUM:
        return COMPARE(uint32_t);
    case PIPE_FLOAT32:
        return compare_floats((double)*(const float *)a, (double)*(const float *)b);
    case PIPE_FLOAT64:
        return compare_floats(*(const double *)a, *(const double *)b);
    case PIPE_DECIMAL:
        return COMPARE(pipe_decimal);
    case PIPE_STRING:
    case PIPE_UUID:
    case PIPE_BYTES:
        return pipe_str_compare(*(const struct pipe_str *)a, *(const struct pipe_str *)b);
    case PIPE_RECORD:
        return pipe_row_compare(type->record, a, b);
    case PIPE_ARRAY:
        return compare_slots(
            type, ((const struct pipe_array *)a)->items, ((const struct pipe_array *)a)->count,
            ((const struct pipe_array *)b)->items, ((const struct pipe_array *)b)->count);
    case PIPE_MAP:
        return compare_slots(
            type, ((const struct pipe_map *)a)->entries, ((const struct pipe_map *)a)->count,
            ((const struct pipe_map *)b)->entries, ((const struct pipe_map *)b)->count);
    }
    return 0;
}

int pipe_row_compare(const struct pipe_row_type *type, const void *a, const void *b)
{
    for (uint32_t i = 0; i < type->column_count; i++) {
        const struct pipe_column *column = &type->columns[i];
        bool a_null = pipe_column_is_null(column, a), b_null = pipe_column_is_null(column, b);
        int order = b_null - a_null;
        if (order == 0 && !a_null)
            order = pipe_value_compare(column->type, pipe_column_value(column, a),
                                       pipe_column_value(column, b));
        if (order != 0)
            return order;
    }
    return 0;
}

uint64_t pipe_row_hash(const struct pipe_row_type *type, const void *row)
{
    struct pipe_buf buf = {NULL, 0, 0};
    pipe_row_save(type, row, &buf);
    uint64_t hash = pipe_hash64(buf.data, buf.size, 0);
    pipe_buf_free(&buf);
    return hash;
}
