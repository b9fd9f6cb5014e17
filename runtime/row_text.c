/* row_text.c: descriptors, and scalars from text (row.h). */
#include "functions.h"
#include "row_internal.h"

#include <stdio.h>

size_t pipe_type_size(const struct pipe_type *type)
{
    switch (type->kind) {
    case PIPE_BOOL:
        return sizeof(bool);
    case PIPE_INT32:
    case PIPE_DATE:
    case PIPE_ENUM:
    case PIPE_FLOAT32:
        return 4;
    case PIPE_INT64:
    case PIPE_FLOAT64:
    case PIPE_TIMESTAMP_MS:
    case PIPE_TIMESTAMP_US:
    case PIPE_DURATION:
        return 8;
    case PIPE_DECIMAL:
        return sizeof(pipe_decimal);
    case PIPE_STRING:
    case PIPE_UUID:
    case PIPE_BYTES:
        return sizeof(struct pipe_str);
    case PIPE_RECORD:
        return type->record->size_bytes;
    case PIPE_ARRAY:
        return sizeof(struct pipe_array);
    case PIPE_MAP:
        return sizeof(struct pipe_map);
    }
    return 0;
}

const char *pipe_kind_name(enum pipe_kind kind)
{
    static const char *const names[] = {
        [PIPE_BOOL] = "bool",
        [PIPE_INT32] = "int32",
        [PIPE_INT64] = "int64",
        [PIPE_FLOAT32] = "float32",
        [PIPE_FLOAT64] = "float64",
        [PIPE_DECIMAL] = "decimal",
        [PIPE_STRING] = "string",
        [PIPE_UUID] = "uuid",
        [PIPE_ENUM] = "enum",
        [PIPE_BYTES] = "bytes",
        [PIPE_DATE] = "date",
        [PIPE_TIMESTAMP_MS] = "timestamp_ms",
        [PIPE_TIMESTAMP_US] = "timestamp_us",
        [PIPE_DURATION] = "duration",
        [PIPE_RECORD] = "record",
        [PIPE_ARRAY] = "array",
        [PIPE_MAP] = "map",
    };
    return names[kind];
}

#define SYMBOLS_TOLD 5u

/* "symbol of the enum (NEW, PAID, …)": the first few. */
static void tell_symbols(const struct pipe_type *type, struct type_text *out)
{
    size_t room = sizeof out->text - sizeof ", …)";
    size_t used = (size_t)snprintf(out->text, room, "symbol of the enum (");
    uint32_t i;
    for (i = 0; i < type->symbol_count && i < SYMBOLS_TOLD; i++) {
        size_t size = strlen(type->symbols[i]) + (i > 0 ? 2 : 0);
        if (used + size >= room)
            break;
        used += (size_t)snprintf(out->text + used, room - used, "%s%s", i > 0 ? ", " : "",
                                 type->symbols[i]);
    }
    const char *end = i == type->symbol_count ? ")" : i > 0 ? ", …)" : "…)";
    snprintf(out->text + used, sizeof out->text - used, "%s", end);
}

struct type_text type_expected(const struct pipe_type *type)
{
    static const char *const hints[] = {
        [PIPE_BOOL] = " (true or false)",
        [PIPE_INT32] = " (an integer in range)",
        [PIPE_INT64] = " (an integer in range)",
        [PIPE_FLOAT32] = " (a finite number)",
        [PIPE_FLOAT64] = " (a finite number)",
        [PIPE_UUID] = " (36 characters)",
        [PIPE_BYTES] = " (base64)",
        [PIPE_DATE] = " (YYYY-MM-DD, or days since 1970; years 0001 to 9999)",
        [PIPE_TIMESTAMP_MS] = " (RFC 3339, or ms since 1970; years 0001 to 9999)",
        [PIPE_TIMESTAMP_US] = " (RFC 3339, or us since 1970; years 0001 to 9999)",
        [PIPE_DURATION] = " (an integer, ms)",
        [PIPE_RECORD] = " (an object)",
        [PIPE_MAP] = NULL,
    };
    struct type_text out;
    if (type->kind == PIPE_DECIMAL && type->scale > 0)
        snprintf(out.text, sizeof out.text,
                 "decimal(%u,%u) (no `+`, no exponent, at most %u digits before the point and %u "
                 "behind it)",
                 type->precision, type->scale, type->precision - type->scale, type->scale);
    else if (type->kind == PIPE_DECIMAL)
        snprintf(out.text, sizeof out.text,
                 "decimal(%u,0) (no `+`, no exponent, at most %u digits, no point)",
                 type->precision, type->precision);
    else if (type->kind == PIPE_ENUM)
        tell_symbols(type, &out);
    else if (type->kind == PIPE_BYTES && type->fixed_bytes > 0)
        snprintf(out.text, sizeof out.text, "bytes (base64 of exactly %u bytes)",
                 type->fixed_bytes);
    else if (type->kind == PIPE_STRING && type->is_json)
        snprintf(out.text, sizeof out.text, "JSON value");
    else
        snprintf(out.text, sizeof out.text, "%s%s", pipe_kind_name(type->kind),
                 hints[type->kind] != NULL ? hints[type->kind] : "");
    return out;
}

void place_write(const struct place *place, char *to, size_t size_bytes)
{
    *to = '\0';
    if (place == NULL)
        return;
    place_write(place->up, to, size_bytes);
    size_t used = strlen(to);
    if (place->name.data == NULL)
        snprintf(to + used, size_bytes - used, "[%lld]", (long long)place->index);
    else
        snprintf(to + used, size_bytes - used, "%s%.*s", used > 0 ? "." : "",
                 (int)(place->name.size < 64 ? place->name.size : 64), place->name.data);
}

static bool read_instant(const struct pipe_type *type, struct pipe_str text,
                         enum text_origin origin, int64_t *out)
{
    bool ms = type->kind == PIPE_TIMESTAMP_MS;
    int64_t number;
    if (origin != FROM_JSON_STRING && pipe_i64_read(text, origin == FROM_CSV, &number))
        return ms ? pipe_cast_i64_ts_ms(number, out) : pipe_cast_i64_ts_us(number, out);
    if (origin == FROM_JSON_NUMBER)
        return false;
    return ms ? pipe_ts_ms_read(text, out) : pipe_ts_us_read(text, out);
}

static bool read_date(struct pipe_str text, enum text_origin origin, int32_t *out)
{
    int64_t number;
    if (origin != FROM_JSON_STRING && pipe_i64_read(text, origin == FROM_CSV, &number))
        return pipe_cast_i64_date(number, out);
    return origin != FROM_JSON_NUMBER && pipe_date_read(text, out);
}

static bool read_bytes(const struct pipe_type *type, struct pipe_str text, struct pipe_arena *arena,
                       struct pipe_str *out)
{
    size_t size;
    uint8_t *bytes = pipe_arena_alloc(arena, text.size / 4 * 3);
    if (bytes == NULL || !pipe_base64_read(text, bytes, &size) ||
        (type->fixed_bytes > 0 && size != type->fixed_bytes))
        return false;
    *out = pipe_str_of(bytes, size);
    return true;
}

bool scalar_from_text(const struct pipe_type *type, struct pipe_str text, enum text_origin origin,
                      struct pipe_arena *arena, void *value)
{
    bool number = origin != FROM_JSON_STRING, string = origin != FROM_JSON_NUMBER;
    switch (type->kind) {
    case PIPE_BOOL:
        return origin == FROM_CSV && pipe_cast_string_bool(text, value);
    case PIPE_INT32:
        return number && pipe_i32_read(text, origin == FROM_CSV, value);
    case PIPE_INT64:
    case PIPE_DURATION:
        return number && pipe_i64_read(text, origin == FROM_CSV, value);
    case PIPE_FLOAT32:
        return number && pipe_f32_read(text, value);
    case PIPE_FLOAT64:
        return number && pipe_f64_read(text, value);
    case PIPE_DECIMAL:
        return pipe_decimal_read(text, type->precision, type->scale, value);
    case PIPE_STRING:
        if (!string || !pipe_utf8_check(text.data, text.size) ||
            (type->is_json && !pipe_json_check(text)))
            return false;
        *(struct pipe_str *)value = text;
        return true;
    case PIPE_UUID:
        return string && pipe_cast_string_uuid(arena, text, value);
    case PIPE_ENUM:
        return string && pipe_cast_string_enum(text, type, value);
    case PIPE_BYTES:
        return string && read_bytes(type, text, arena, value);
    case PIPE_DATE:
        return read_date(text, origin, value);
    case PIPE_TIMESTAMP_MS:
    case PIPE_TIMESTAMP_US:
        return read_instant(type, text, origin, value);
    case PIPE_RECORD:
    case PIPE_ARRAY:
    case PIPE_MAP:
        break;
    }
    return false;
}

bool pipe_value_from_text(const struct pipe_type *type, struct pipe_str text,
                          struct pipe_arena *arena, void *value, struct pipe_error *error)
{
    if (scalar_from_text(type, text, FROM_CSV, arena, value))
        return true;
    return pipe_fail(error, "", "%s is no %s", pipe_quote(text.data, text.size).text,
                     type_expected(type).text);
}

bool items_grow(struct pipe_arena *arena, struct pipe_items *items, size_t likely)
{
    size_t capacity = items->capacity > 0 ? (size_t)items->capacity * 2 : likely < 8 ? 8 : likely;
    if (items->count >= PIPE_MAX_ELEMENTS)
        return false;
    if (capacity > PIPE_MAX_ELEMENTS)
        capacity = PIPE_MAX_ELEMENTS;
    void *slots = pipe_arena_zalloc(arena, capacity * items->slot_bytes);
    if (slots == NULL)
        return false;
    if (items->count > 0)
        memcpy(slots, items->slots, items->count * items->slot_bytes);
    items->slots = slots;
    items->capacity = (uint32_t)capacity;
    return true;
}
