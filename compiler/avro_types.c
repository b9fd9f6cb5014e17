/*
 * avro_types.c: the types of an Avro schema file: primitives with logical types, enums, fixed,
 * arrays, maps, references, and unions with null.
 */
#include "contracts.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Primitives and what they are with a logical type. `json` on a string and `pipec.duration-ms` on a
 * long are ours; others are of the specification. A base alone has no logical type. */
static const struct {
    const char *base, *logical;
    enum type_kind kind;
} type_rows[] = {
    {"boolean", NULL, TYPE_BOOL},
    {"int", NULL, TYPE_INT32},
    {"int", "date", TYPE_DATE},
    {"long", NULL, TYPE_INT64},
    {"long", "timestamp-millis", TYPE_TIMESTAMP_MS},
    {"long", "timestamp-micros", TYPE_TIMESTAMP_US},
    {"long", "pipec.duration-ms", TYPE_DURATION},
    {"float", NULL, TYPE_FLOAT32},
    {"double", NULL, TYPE_FLOAT64},
    {"bytes", NULL, TYPE_BYTES},
    {"bytes", "decimal", TYPE_DECIMAL},
    {"fixed", NULL, TYPE_BYTES},
    {"fixed", "decimal", TYPE_DECIMAL},
    {"string", NULL, TYPE_STRING},
    {"string", "uuid", TYPE_UUID},
    {"string", "json", TYPE_STRING},
};
enum { TYPE_ROWS = sizeof type_rows / sizeof *type_rows };

static int row_find(const char *base, const char *logical)
{
    for (int i = 0; i < TYPE_ROWS; i++) {
        const char *row = type_rows[i].logical;
        if (strcmp(type_rows[i].base, base) == 0 &&
            (row == logical || (row != NULL && logical != NULL && strcmp(row, logical) == 0)))
            return i;
    }
    return -1;
}

static void note_unknown(struct schema_reader *reader, struct schema_value at, const char *base,
                         const char *logical)
{
    const char *other = NULL;
    for (int i = 0; i < TYPE_ROWS; i++)
        if (type_rows[i].logical != NULL && strcmp(type_rows[i].logical, logical) == 0)
            other = type_rows[i].base;
    struct diag *diag =
        diag_lint(reader->program, W5001, value_span(reader, at),
                  "logical type `%s` of %s is not known on %s: it is read as plain %s", logical,
                  reader_subject(reader), base, base);
    if (other != NULL)
        diag_note(diag, "`%s` belongs to %s", logical, other);
}

/* Digits that any value of a two's complement number of so many bytes can have. */
static unsigned digits_in(uint32_t bytes)
{
    return bytes >= 16 ? 38 : (8 * bytes - 1) * 30103 / 100000;
}

/* False after an error. */
static bool read_decimal(struct schema_reader *reader, struct schema_value value, struct type *type)
{
    struct schema_value precision = value_member(reader, value, "precision");
    struct schema_value scale = value_member(reader, value, "scale");
    const char *subject = reader_subject(reader);
    if (!json_is_integer(precision.json) || json_integer_value(precision.json) < 1 ||
        json_integer_value(precision.json) > 38) {
        schema_error(reader, PC5014, precision.json == NULL ? value : precision,
                     "the decimal of %s must have a `precision` from 1 to 38", subject);
        return false;
    }
    json_int_t digits = json_integer_value(precision.json);
    json_int_t after_point = scale.json == NULL ? 0 : json_integer_value(scale.json);
    if ((scale.json != NULL && !json_is_integer(scale.json)) || after_point < 0 ||
        after_point > digits) {
        schema_error(reader, PC5014, scale,
                     "the `scale` of the decimal of %s must be from 0 to its precision, %d",
                     subject, (int)digits);
        return false;
    }
    if (type->fixed_bytes > 0 && digits > digits_in(type->fixed_bytes)) {
        schema_error(reader, PC5014, precision,
                     "the decimal of %s has a precision of %d, but a fixed of %u bytes holds %u "
                     "digits",
                     subject, (int)digits, type->fixed_bytes, digits_in(type->fixed_bytes));
        return false;
    }
    type->kind = TYPE_DECIMAL;
    type->precision = (uint8_t)digits;
    type->scale = (uint8_t)after_point;
    return true;
}

/* The logical type of an object whose base is read; `type` is a copy to change. */
static bool read_logical(struct schema_reader *reader, struct schema_value value, const char *base,
                         struct type *type)
{
    struct schema_value logical = value_member(reader, value, "logicalType");
    if (logical.json == NULL)
        return true;
    const char *name = json_string_value(logical.json);
    if (name == NULL) {
        schema_error(reader, PC5005, logical, "`logicalType` of %s must be a string",
                     reader_subject(reader));
        return false;
    }
    int row = row_find(base, name);
    if (row < 0) {
        note_unknown(reader, logical, base, name);
        return true;
    }
    if (type_rows[row].kind == TYPE_DECIMAL)
        return read_decimal(reader, value, type);
    type->kind = type_rows[row].kind;
    type->is_json = strcmp(name, "json") == 0;
    return true;
}

static const struct type *type_copy(struct schema_reader *reader, const struct type *type)
{
    struct type *copy = arena_alloc(reader->program->arena, sizeof *copy);
    *copy = *type;
    return copy;
}

/* Levels of nesting: false after an error. Each true is one `reader->depth--` later. */
static bool enter_level(struct schema_reader *reader, struct schema_value value)
{
    if (reader->depth == SCHEMA_MAX_DEPTH) {
        schema_error(reader, PC5015, value, "%s is nested more than %d levels deep",
                     reader_subject(reader), SCHEMA_MAX_DEPTH);
        return false;
    }
    reader->depth++;
    if (reader->depth > reader->deepest)
        reader->deepest = reader->depth;
    return true;
}

/* The type of Avro for a name of other languages; NULL: none is known. */
static const char *avro_name_of(const char *name)
{
    static const struct {
        const char *name, *avro;
    } names[] = {
        {"bool", "boolean"},  {"integer", "int"},    {"int32", "int"},      {"int64", "long"},
        {"bigint", "long"},   {"float32", "float"},  {"float64", "double"}, {"number", "double"},
        {"text", "string"},   {"varchar", "string"}, {"str", "string"},     {"binary", "bytes"},
        {"object", "record"}, {"struct", "record"},  {"list", "array"},     {"dict", "map"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasecmp(names[i].name, name) == 0)
            return names[i].avro;
    return NULL;
}

/* Types that are written as a logical type of another: `{"type": "long", "logicalType": …}`. */
static const char *base_of_logical(const char *name)
{
    static const struct {
        const char *name, *written;
    } names[] = {
        {"timestamp", "{\"type\": \"long\", \"logicalType\": \"timestamp-millis\"}"},
        {"timestamp-millis", "{\"type\": \"long\", \"logicalType\": \"timestamp-millis\"}"},
        {"timestamp-micros", "{\"type\": \"long\", \"logicalType\": \"timestamp-micros\"}"},
        {"datetime", "{\"type\": \"long\", \"logicalType\": \"timestamp-millis\"}"},
        {"date", "{\"type\": \"int\", \"logicalType\": \"date\"}"},
        {"uuid", "{\"type\": \"string\", \"logicalType\": \"uuid\"}"},
        {"decimal", "{\"type\": \"bytes\", \"logicalType\": \"decimal\", \"precision\": 12, "
                    "\"scale\": 2}"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasecmp(names[i].name, name) == 0)
            return names[i].written;
    return NULL;
}

static const struct type *unknown_type(struct schema_reader *reader, struct schema_value value,
                                       const char *name, const char *full_name)
{
    static const char *const simple[] = {"null",   "boolean", "int",    "long",  "float",
                                         "double", "bytes",   "string", "array", "map",
                                         "record", "enum",    "fixed"};
    enum { SIMPLE = sizeof simple / sizeof *simple };
    size_t count = SIMPLE;
    const char **candidates =
        arena_alloc(reader->program->arena, (SIMPLE + reader->named.count) * sizeof *candidates);
    memcpy(candidates, simple, sizeof simple);
    for (size_t i = 0; i < reader->named.count; i++)
        candidates[count++] = reader->named.items[i]->full_name;
    const char *nearest = avro_name_of(name);
    if (nearest == NULL)
        nearest = nearest_name(name, candidates, count);
    if (nearest == NULL)
        nearest = nearest_name(full_name, candidates, count);
    struct diag *diag = schema_error(reader, PC5009, value, "%s has an unknown type, `%s`",
                                     reader_subject(reader), full_name);
    const char *logical = base_of_logical(name);
    if (logical != NULL)
        diag_help(diag, "write `%s`", logical);
    else if (nearest != NULL)
        diag_help(diag, "did you mean `%s`?", nearest);
    else
        diag_help(diag, "a named type must be defined in the file, before its first use");
    return NULL;
}

/* A reference to a type defined earlier in the file. */
static const struct type *read_reference(struct schema_reader *reader, struct schema_value value,
                                         const char *name, const char *namespace)
{
    struct program *program = reader->program;
    const char *full_name = name;
    if (strchr(name, '.') == NULL && namespace[0] != '\0')
        full_name = arena_printf(program->arena, "%s.%s", namespace, name);
    const struct named_type *named = NULL;
    for (size_t i = 0; i < reader->named.count && named == NULL; i++)
        if (strcmp(reader->named.items[i]->full_name, full_name) == 0)
            named = reader->named.items[i];
    if (named == NULL)
        return unknown_type(reader, value, name, full_name);
    if (named->is_open) {
        struct diag *diag =
            schema_error(reader, PC5010, value, "type `%s` contains itself, through `%s`",
                         named->full_name, reader->path.data);
        diag_also(diag, named->span, "defined here");
        diag_help(diag, "a record has a bounded size here: give the inner part its own type, or "
                        "carry it as a string with \"logicalType\": \"json\"");
        return NULL;
    }
    reader->field_count += named->field_count;
    if (reader->field_count > SCHEMA_MAX_FIELDS ||
        reader->depth + named->height > SCHEMA_MAX_DEPTH) {
        schema_error(reader, PC5015, value,
                     "with `%s`, %s goes beyond %d fields or %d levels of nesting",
                     named->full_name, reader_subject(reader), SCHEMA_MAX_FIELDS, SCHEMA_MAX_DEPTH);
        return NULL;
    }
    if (reader->depth + named->height > reader->deepest)
        reader->deepest = reader->depth + named->height;
    text_printf(&reader->canonical, "\"%s\"", named->full_name);
    if (named->type == NULL)
        reader->failed = true; /* its definition was reported */
    return named->type;
}

/* A type given by its name alone, or by the `type` of an object without a definition. */
static const struct type *read_simple(struct schema_reader *reader, struct schema_value value,
                                      const char *name, const char *namespace)
{
    if (strcmp(name, "null") == 0) {
        struct diag *diag =
            schema_error(reader, PC5011, value, "%s is always null", reader_subject(reader));
        diag_help(diag, "leave it out, or make it an optional value: [\"null\", \"string\"]");
        return NULL;
    }
    int row = row_find(name, NULL);
    if (row < 0 || strcmp(name, "fixed") == 0)
        return read_reference(reader, value, name, namespace);
    text_printf(&reader->canonical, "\"%s\"", name);
    return type_copy(reader, &(struct type){.kind = type_rows[row].kind});
}

/* False after an error: symbols that are no names, or not distinct. */
static bool read_symbols(struct schema_reader *reader, struct schema_value symbols,
                         struct type *type)
{
    size_t count = json_array_size(symbols.json);
    if (!json_is_array(symbols.json) || count == 0 || count > SCHEMA_MAX_FIELDS) {
        schema_error(reader, PC5013, symbols,
                     "enum `%s` must have `symbols`, an array of 1 to %d names", type->enum_name,
                     SCHEMA_MAX_FIELDS);
        return false;
    }
    type->symbols = arena_alloc(reader->program->arena, count * sizeof *type->symbols);
    for (size_t i = 0; i < count; i++) {
        const json_t *json = json_array_get(symbols.json, i);
        const char *symbol = json_string_value(json);
        bool is_name = symbol != NULL && is_avro_name(symbol);
        const char *interned = is_name ? intern_cstr(reader->program, symbol) : NULL;
        bool is_new = true;
        for (size_t j = 0; is_name && j < i; j++)
            is_new &= type->symbols[j] != interned;
        if (!is_name || !is_new) {
            struct schema_value at = {json, place_element(symbols.place, i)};
            schema_error(reader, PC5013, at, "symbol %s of enum `%s` %s",
                         json_written(reader->program, json), type->enum_name,
                         is_name ? "stands twice" : "is not a name");
            return false;
        }
        text_printf(&reader->canonical, "%s\"%s\"", i > 0 ? "," : "", interned);
        type->symbols[type->symbol_count++] = interned;
    }
    return true;
}

static bool read_enum_default(struct schema_reader *reader, struct schema_value value,
                              struct type *type)
{
    struct schema_value given = value_member(reader, value, "default");
    if (given.json == NULL)
        return true;
    const char *text = plain_text(given.json);
    for (size_t i = 0; text != NULL && i < type->symbol_count; i++)
        if (strcmp(type->symbols[i], text) == 0)
            type->enum_default = type->symbols[i];
    if (type->enum_default != NULL)
        return true;
    struct diag *diag =
        schema_error(reader, PC5013, given, "the default of enum `%s`, %s, is none of its symbols",
                     type->enum_name, json_written(reader->program, given.json));
    const char *nearest =
        text == NULL ? NULL : nearest_name(text, type->symbols, type->symbol_count);
    if (nearest != NULL)
        diag_help(diag, "did you mean `%s`?", nearest);
    return false;
}

static const struct type *read_enum(struct schema_reader *reader, struct schema_value value,
                                    const char *namespace)
{
    const char *own = "";
    struct named_type *named = open_named(reader, value, namespace, &own);
    if (named == NULL)
        return NULL;
    named->is_open = false;
    struct type type = {.kind = TYPE_ENUM,
                        .full_name = named->full_name,
                        .enum_name = intern_cstr(reader->program, short_name(named->full_name))};
    type.aliases = read_aliases(reader, value, own, true, &type.alias_count);
    text_printf(&reader->canonical, "{\"name\":\"%s\",\"type\":\"enum\",\"symbols\":[",
                named->full_name);
    bool usable = read_symbols(reader, value_member(reader, value, "symbols"), &type) &&
                  read_enum_default(reader, value, &type);
    text_puts(&reader->canonical, "]}");
    if (usable)
        named->type = type_copy(reader, &type);
    return named->type;
}

static const struct type *read_fixed(struct schema_reader *reader, struct schema_value value,
                                     const char *namespace)
{
    enum { FIXED_MAX_BYTES = 1024 * 1024 };
    const char *own = "";
    struct named_type *named = open_named(reader, value, namespace, &own);
    if (named == NULL)
        return NULL;
    named->is_open = false;
    struct schema_value size = value_member(reader, value, "size");
    json_int_t bytes = json_integer_value(size.json);
    if (!json_is_integer(size.json) || bytes < 1 || bytes > FIXED_MAX_BYTES) {
        schema_error(reader, PC5005, size, "fixed `%s` must have a `size` from 1 to %d bytes",
                     short_name(named->full_name), FIXED_MAX_BYTES);
        return NULL;
    }
    struct type type = {
        .kind = TYPE_BYTES, .fixed_bytes = (uint32_t)bytes, .full_name = named->full_name};
    type.aliases = read_aliases(reader, value, own, true, &type.alias_count);
    text_printf(&reader->canonical, "{\"name\":\"%s\",\"type\":\"fixed\",\"size\":%d}",
                named->full_name, (int)bytes);
    if (read_logical(reader, value, "fixed", &type))
        named->type = type_copy(reader, &type);
    return named->type;
}

static const struct type *read_container(struct schema_reader *reader, struct schema_value value,
                                         bool is_map, const char *namespace)
{
    const char *key = is_map ? "values" : "items";
    struct schema_value inner = value_member(reader, value, key);
    if (inner.json == NULL) {
        schema_error(reader, PC5005, value, "the %s of %s must have `%s`", is_map ? "map" : "array",
                     reader_subject(reader), key);
        return NULL;
    }
    if (!enter_level(reader, value))
        return NULL;
    size_t path_size = reader->path.size;
    text_puts(&reader->path, is_map ? "{}" : "[]");
    text_printf(&reader->canonical, "{\"type\":\"%s\",\"%s\":", is_map ? "map" : "array", key);
    struct slot slot = read_slot(reader, inner, namespace);
    text_puts(&reader->canonical, "}");
    reader->path.size = path_size;
    reader->path.data[path_size] = '\0';
    reader->depth--;
    if (slot.type == NULL)
        return NULL;
    return type_copy(reader, &(struct type){.kind = is_map ? TYPE_MAP : TYPE_ARRAY,
                                            .element = slot.type,
                                            .element_nullable = slot.nullable,
                                            .element_null_first = slot.null_first});
}

static const struct type *read_object(struct schema_reader *reader, struct schema_value value,
                                      const char *namespace)
{
    struct schema_value kind_value = value_member(reader, value, "type");
    const char *kind = json_string_value(kind_value.json);
    if (kind == NULL) {
        schema_error(reader, PC5005, kind_value,
                     "the type of %s must name a type in its own `type`", reader_subject(reader));
        return NULL;
    }
    if (strcmp(kind, "record") == 0) {
        if (!enter_level(reader, value))
            return NULL;
        const struct type *record = read_record(reader, value, namespace);
        reader->depth--;
        return record;
    }
    if (strcmp(kind, "enum") == 0)
        return read_enum(reader, value, namespace);
    if (strcmp(kind, "fixed") == 0)
        return read_fixed(reader, value, namespace);
    if (strcmp(kind, "array") == 0 || strcmp(kind, "map") == 0)
        return read_container(reader, value, strcmp(kind, "map") == 0, namespace);
    const struct type *base = read_simple(reader, kind_value, kind, namespace);
    if (base == NULL || row_find(kind, NULL) < 0)
        return base;
    struct type type = *base;
    return read_logical(reader, value, kind, &type) ? type_copy(reader, &type) : NULL;
}

const struct type *read_type(struct schema_reader *reader, struct schema_value value,
                             const char *namespace)
{
    if (json_is_string(value.json))
        return read_simple(reader, value, json_string_value(value.json), namespace);
    if (json_is_object(value.json))
        return read_object(reader, value, namespace);
    if (json_is_array(value.json))
        schema_error(reader, PC5011, value, "%s has a union inside a union",
                     reader_subject(reader));
    else
        schema_error(reader, PC5005, value, "the type of %s is not a type: %s",
                     reader_subject(reader), json_written(reader->program, value.json));
    return NULL;
}

static bool is_null_type(const json_t *json)
{
    const char *name = json_is_object(json) ? json_string_value(json_object_get(json, "type"))
                                            : json_string_value(json);
    return name != NULL && strcmp(name, "null") == 0;
}

struct slot read_slot(struct schema_reader *reader, struct schema_value value,
                      const char *namespace)
{
    if (!json_is_array(value.json))
        return (struct slot){.type = read_type(reader, value, namespace)};
    const json_t *first = json_array_get(value.json, 0);
    const json_t *second = json_array_get(value.json, 1);
    bool null_first = is_null_type(first);
    if (json_array_size(value.json) != 2 || null_first == is_null_type(second)) {
        struct diag *diag =
            schema_error(reader, PC5011, value, "%s is a union that is not an optional value: %s",
                         reader_subject(reader), json_written(reader->program, value.json));
        diag_help(diag, "write [\"null\", T], or a record with an optional field for each branch");
        return (struct slot){0};
    }
    size_t index = null_first ? 1 : 0;
    struct schema_value inner = {null_first ? second : first, place_element(value.place, index)};
    text_puts(&reader->canonical, null_first ? "[\"null\"," : "[");
    struct slot slot = {
        .type = read_type(reader, inner, namespace), .nullable = true, .null_first = null_first};
    text_puts(&reader->canonical, null_first ? "]" : ",\"null\"]");
    return slot;
}
