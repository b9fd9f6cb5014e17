/*
 * avro_defaults.c: does a default in a schema fit its type?
 *
 * Beyond the specification, it must also be a value of the logical type: it is decoded at run time
 * like any other value, and a default that no record could hold would show up there.
 */
#include "contracts.h"

#include <math.h>
#include <string.h>

/* Instants lie in the years 0001 to 9999. */
#define FIRST_INSTANT_MS INT64_C(-62135596800000)
#define LAST_INSTANT_MS INT64_C(253402300799999)
#define FIRST_DAY INT64_C(-719162)
#define LAST_DAY INT64_C(2932896)

static const char *type_problem(struct program *program, const struct type *type,
                                const json_t *value);

const char *default_problem(struct program *program, struct slot slot, const json_t *value)
{
    if (slot.nullable && slot.null_first)
        return json_is_null(value)
                   ? NULL
                   : arena_printf(program->arena, "%s is not null", json_written(program, value));
    return type_problem(program, slot.type, value);
}

const char *plain_text(const json_t *value)
{
    const char *text = json_string_value(value);
    return text != NULL && strlen(text) == json_string_length(value) ? text : NULL;
}

static const char *not_a(struct program *program, const json_t *value, const char *what)
{
    return arena_printf(program->arena, "%s is not %s", json_written(program, value), what);
}

static const char *integer_problem(struct program *program, const json_t *value, const char *what,
                                   int64_t low, int64_t high)
{
    if (!json_is_integer(value))
        return not_a(program, value, what);
    if (json_integer_value(value) < low || json_integer_value(value) > high)
        return arena_printf(program->arena, "%s is out of the range of %s",
                            json_written(program, value), what);
    return NULL;
}

static const char *float_problem(struct program *program, const json_t *value, bool is_double)
{
    if (!json_is_number(value))
        return not_a(program, value, "a number");
    if (!is_double && isinf((float)json_number_value(value)))
        return not_a(program, value, "finite as a float");
    return NULL;
}

/* Bytes stand in JSON as a string with one code point a byte; -1: it is no such string. */
static ssize_t bytes_size(const json_t *value)
{
    if (!json_is_string(value))
        return -1;
    const char *text = json_string_value(value);
    size_t left = json_string_length(value);
    ssize_t size = 0;
    for (; left > 0; size++) {
        uint32_t code_point = 0;
        size_t step = utf8_sequence(text, left, &code_point);
        if (step == 0 || code_point > 0xff)
            return -1;
        text += step;
        left -= step;
    }
    return size;
}

static const char *bytes_problem(struct program *program, const struct type *type,
                                 const json_t *value)
{
    ssize_t size = bytes_size(value);
    if (size < 0)
        return not_a(program, value, "bytes: a string of code points up to U+00FF");
    if (type->fixed_bytes > 0 && (size_t)size != type->fixed_bytes)
        return arena_printf(program->arena, "%s has %zd bytes, not %u",
                            json_written(program, value), size, type->fixed_bytes);
    return NULL;
}

/* The unscaled value is a big-endian two's complement number. */
static const char *decimal_problem(struct program *program, const struct type *type,
                                   const json_t *value)
{
    const char *problem = bytes_problem(program, type, value);
    if (problem != NULL)
        return problem;
    if (json_string_length(value) == 0)
        return "a decimal needs at least one byte";
    const char *text = json_string_value(value);
    size_t left = json_string_length(value);
    unsigned __int128 limit = 1;
    for (unsigned i = 0; i < type->precision; i++)
        limit *= 10;
    bool negative = false, first = true, fits = true;
    unsigned __int128 magnitude = 0; /* of a negative number: of its complement */
    while (left > 0) {
        uint32_t byte = 0;
        size_t step = utf8_sequence(text, left, &byte);
        if (first)
            negative = byte >= 0x80;
        first = false;
        fits &= magnitude >> 120 == 0;
        magnitude = magnitude << 8 | (negative ? byte ^ 0xff : byte);
        text += step;
        left -= step;
    }
    if (!fits || magnitude >= limit || (negative && magnitude + 1 >= limit))
        return arena_printf(program->arena, "%s has more than %u digits",
                            json_written(program, value), type->precision);
    return NULL;
}

static bool is_uuid(const json_t *value)
{
    if (!json_is_string(value) || json_string_length(value) != 36)
        return false;
    const char *text = json_string_value(value);
    for (int i = 0; i < 36; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        char c = text[i];
        bool hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
        if (dash ? c != '-' : !hex)
            return false;
    }
    return true;
}

static const char *string_problem(struct program *program, const struct type *type,
                                  const json_t *value)
{
    if (!json_is_string(value))
        return not_a(program, value, "a string");
    if (!type->is_json)
        return NULL;
    json_t *inner = json_loadb(json_string_value(value), json_string_length(value),
                               JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL, NULL);
    if (inner == NULL)
        return not_a(program, value, "JSON text");
    json_decref(inner);
    return NULL;
}

static const char *enum_problem(struct program *program, const struct type *type,
                                const json_t *value)
{
    const char *text = plain_text(value);
    for (size_t i = 0; text != NULL && i < type->symbol_count; i++)
        if (strcmp(type->symbols[i], text) == 0)
            return NULL;
    return arena_printf(program->arena, "%s is no symbol of enum `%s`",
                        json_written(program, value), type->enum_name);
}

static const char *record_problem(struct program *program, const struct record_type *record,
                                  const json_t *value)
{
    if (!json_is_object(value))
        return not_a(program, value, "an object, as a record is written");
    for (size_t i = 0; i < record->field_count; i++) {
        const struct field *field = &record->fields[i];
        const json_t *member = json_object_get(value, field->name);
        if (member == NULL && field->has_default)
            continue;
        if (member == NULL)
            return arena_printf(program->arena, "its `%s` is missing", field->name);
        struct slot slot = {field->type, field->nullable, field->null_first};
        const char *problem = default_problem(program, slot, member);
        if (problem != NULL)
            return arena_printf(program->arena, "in `%s`, %s", field->name, problem);
    }
    return NULL;
}

static const char *elements_problem(struct program *program, const struct type *type,
                                    const json_t *value)
{
    struct slot slot = {type->element, type->element_nullable, type->element_null_first};
    if (type->kind == TYPE_ARRAY) {
        if (!json_is_array(value))
            return not_a(program, value, "an array");
        for (size_t i = 0; i < json_array_size(value); i++) {
            const char *problem = default_problem(program, slot, json_array_get(value, i));
            if (problem != NULL)
                return problem;
        }
        return NULL;
    }
    if (!json_is_object(value))
        return not_a(program, value, "an object, as a map is written");
    json_t *object = (json_t *)value; /* iterating does not change it */
    for (void *at = json_object_iter(object); at != NULL; at = json_object_iter_next(object, at)) {
        const char *problem = default_problem(program, slot, json_object_iter_value(at));
        if (problem != NULL)
            return problem;
    }
    return NULL;
}

static const char *type_problem(struct program *program, const struct type *type,
                                const json_t *value)
{
    switch (type->kind) {
    case TYPE_BOOL:
        return json_is_boolean(value) ? NULL : not_a(program, value, "a boolean");
    case TYPE_INT32:
        return integer_problem(program, value, "int", INT32_MIN, INT32_MAX);
    case TYPE_DATE:
        return integer_problem(program, value, "a date, in days since 1970", FIRST_DAY, LAST_DAY);
    case TYPE_INT64:
    case TYPE_DURATION:
        return integer_problem(program, value, "long", INT64_MIN, INT64_MAX);
    case TYPE_TIMESTAMP_MS:
        return integer_problem(program, value, "an instant in ms", FIRST_INSTANT_MS,
                               LAST_INSTANT_MS);
    case TYPE_TIMESTAMP_US:
        return integer_problem(program, value, "an instant in µs", FIRST_INSTANT_MS * 1000,
                               LAST_INSTANT_MS * 1000 + 999);
    case TYPE_FLOAT32:
    case TYPE_FLOAT64:
        return float_problem(program, value, type->kind == TYPE_FLOAT64);
    case TYPE_DECIMAL:
        return decimal_problem(program, type, value);
    case TYPE_STRING:
        return string_problem(program, type, value);
    case TYPE_UUID:
        return is_uuid(value) ? NULL : not_a(program, value, "a UUID");
    case TYPE_ENUM:
        return enum_problem(program, type, value);
    case TYPE_BYTES:
        return bytes_problem(program, type, value);
    case TYPE_RECORD:
        return record_problem(program, type->record, value);
    case TYPE_ARRAY:
    case TYPE_MAP:
        return elements_problem(program, type, value);
    case TYPE_POISON:
    case TYPE_NULL:
        break;
    }
    return NULL;
}
