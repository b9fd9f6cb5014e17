/*
 * contracts.c: what the versions of a contract become: the resolution of a writer's schema into the
 * reader's, and the schema of a row that has none.
 */
#include "contracts.h"

#include <string.h>

/* Resolution. One object for each pair of records, however often the pair is met. */

struct resolution {
    struct program *program;
    VEC(struct resolve_record *) records;
};

static const struct resolve_record *resolve_records(struct resolution *resolution,
                                                    const struct record_type *writer,
                                                    const struct record_type *reader);

static const struct resolve_record *
inner_record(struct resolution *resolution, const struct field *writer, const struct field *reader)
{
    const struct type *from = innermost(writer->type), *into = innermost(reader->type);
    if (from->kind != TYPE_RECORD || into->kind != TYPE_RECORD)
        return NULL;
    return resolve_records(resolution, from->record, into->record);
}

static const struct resolve_record *resolve_records(struct resolution *resolution,
                                                    const struct record_type *writer,
                                                    const struct record_type *reader)
{
    struct arena *arena = resolution->program->arena;
    for (size_t i = 0; i < resolution->records.count; i++) {
        struct resolve_record *known = resolution->records.items[i];
        if (known->writer == writer && known->reader == reader)
            return known;
    }
    struct resolve_record *record = arena_alloc(arena, sizeof *record);
    record->writer = writer;
    record->reader = reader;
    record->fields = arena_alloc(arena, writer->field_count * sizeof *record->fields);
    record->field_count = writer->field_count;
    for (size_t i = 0; i < writer->field_count; i++)
        record->fields[i].writer = &writer->fields[i];
    record->defaulted = arena_alloc(arena, (reader->field_count + 1) * sizeof *record->defaulted);
    for (size_t i = 0; i < reader->field_count; i++) {
        const struct field *from = matching_field(&reader->fields[i], writer);
        if (from == NULL)
            record->defaulted[record->defaulted_count++] = &reader->fields[i];
        else
            record->fields[from - writer->fields].reader = &reader->fields[i];
    }
    for (size_t i = 0; i < writer->field_count; i++) {
        struct resolve_field *field = &record->fields[i];
        field->action = field->reader == NULL ? RESOLVE_SKIP : RESOLVE_READ;
        if (field->reader != NULL)
            field->record = inner_record(resolution, field->writer, field->reader);
    }
    vec_push(arena, &resolution->records, record);
    return record;
}

const struct resolve_record *contract_resolve(struct program *program, const struct schema *writer,
                                              const struct schema *reader)
{
    struct resolution resolution = {.program = program};
    return resolve_records(&resolution, writer->record, reader->record);
}

bool is_later_column(struct program *program, const struct contract *contract, size_t column)
{
    const struct schema *newest = contract->versions[0];
    for (size_t i = 1; i < contract->version_count; i++) {
        const struct resolve_record *record =
            contract_resolve(program, contract->versions[i], newest);
        for (size_t j = 0; j < record->defaulted_count; j++)
            if (record->defaulted[j] == &newest->record->fields[column])
                return true;
    }
    return false;
}

const struct resolve_field *renamed_field(const struct resolve_record *record)
{
    for (size_t i = 0; i < record->field_count; i++) {
        const struct resolve_field *field = &record->fields[i];
        if (field->reader != NULL && strcmp(field->reader->name, field->writer->name) != 0)
            return field;
        const struct resolve_field *inner =
            field->record != NULL ? renamed_field(field->record) : NULL;
        if (inner != NULL)
            return inner;
    }
    return NULL;
}

/* Derived schemas: each inner type is defined where it is met first, and named from then on. */

struct derived {
    const char *name;        /* unique in the schema */
    const struct type *type; /* of an enum, fixed or record */
};

struct derivation {
    struct program *program;
    struct text text;
    VEC(struct derived) named;
    bool usable;
};

static void derive_slot(struct derivation *derivation, const struct type *type, bool nullable,
                        bool null_first);

static bool same_definition(const struct type *a, const struct type *b)
{
    if (a->kind == TYPE_RECORD || b->kind == TYPE_RECORD)
        return a->kind == b->kind && a->record == b->record;
    if (a->kind == TYPE_ENUM || b->kind == TYPE_ENUM)
        return a->kind == b->kind && a->symbols == b->symbols;
    return a->kind == b->kind && a->fixed_bytes == b->fixed_bytes && a->precision == b->precision &&
           a->scale == b->scale;
}

static bool name_is_taken(const struct derivation *derivation, const char *name)
{
    for (size_t i = 0; i < derivation->named.count; i++)
        if (strcmp(derivation->named.items[i].name, name) == 0)
            return true;
    return false;
}

/* Writes the reference if the type is defined already, else enters it under a new name. */
static const char *define(struct derivation *derivation, const struct type *type, const char *wish)
{
    struct arena *arena = derivation->program->arena;
    for (size_t i = 0; i < derivation->named.count; i++) {
        const struct derived *known = &derivation->named.items[i];
        if (known->type == NULL || !same_definition(known->type, type))
            continue;
        text_printf(&derivation->text, "\"%s\"", known->name);
        return NULL;
    }
    const char *name = wish;
    for (unsigned number = 2; name_is_taken(derivation, name); number++)
        name = arena_printf(arena, "%s_%u", wish, number);
    vec_push(arena, &derivation->named, ((struct derived){name, type}));
    return name;
}

static void derive_fields(struct derivation *derivation, const char *name,
                          const struct record_type *record)
{
    struct text *text = &derivation->text;
    text_printf(text, "{\"type\":\"record\",\"name\":\"%s\",\"fields\":[", name);
    for (size_t i = 0; i < record->field_count; i++) {
        const struct field *field = &record->fields[i];
        derivation->usable &= is_avro_name(field->name);
        text_printf(text, "%s{\"name\":\"%s\",\"type\":", i > 0 ? "," : "", field->name);
        derive_slot(derivation, field->type, field->nullable, field->null_first);
        text_puts(text, "}");
    }
    text_puts(text, "]}");
}

static void derive_enum(struct derivation *derivation, const struct type *type)
{
    const char *name =
        define(derivation, type, type->enum_name != NULL ? type->enum_name : "symbols");
    if (name == NULL)
        return;
    text_printf(&derivation->text, "{\"type\":\"enum\",\"name\":\"%s\",\"symbols\":[", name);
    for (size_t i = 0; i < type->symbol_count; i++)
        text_printf(&derivation->text, "%s\"%s\"", i > 0 ? "," : "", type->symbols[i]);
    text_puts(&derivation->text, "]}");
}

/* bytes or fixed, plain or decimal. */
static void derive_bytes(struct derivation *derivation, const struct type *type)
{
    struct text *text = &derivation->text;
    bool is_decimal = type->kind == TYPE_DECIMAL;
    if (type->fixed_bytes > 0) {
        const char *wish = type->full_name != NULL ? short_name(type->full_name)
                                                   : arena_printf(derivation->program->arena,
                                                                  "fixed_%u", type->fixed_bytes);
        const char *name = define(derivation, type, wish);
        if (name == NULL)
            return;
        text_printf(text, "{\"type\":\"fixed\",\"name\":\"%s\",\"size\":%u", name,
                    type->fixed_bytes);
    } else {
        text_puts(text, is_decimal ? "{\"type\":\"bytes\"" : "\"bytes\"");
    }
    if (is_decimal)
        text_printf(text, ",\"logicalType\":\"decimal\",\"precision\":%u,\"scale\":%u",
                    type->precision, type->scale);
    if (is_decimal || type->fixed_bytes > 0)
        text_puts(text, "}");
}

static const char *record_name(const struct record_type *record)
{
    return record->name != NULL ? record->name : "record";
}

static void derive_type(struct derivation *derivation, const struct type *type)
{
    struct text *text = &derivation->text;
    const char *simple = NULL;
    switch (type->kind) {
    case TYPE_BOOL:
        simple = "\"boolean\"";
        break;
    case TYPE_INT32:
        simple = "\"int\"";
        break;
    case TYPE_INT64:
        simple = "\"long\"";
        break;
    case TYPE_FLOAT32:
        simple = "\"float\"";
        break;
    case TYPE_FLOAT64:
        simple = "\"double\"";
        break;
    case TYPE_STRING:
        simple = type->is_json ? "{\"type\":\"string\",\"logicalType\":\"json\"}" : "\"string\"";
        break;
    case TYPE_UUID:
        simple = "{\"type\":\"string\",\"logicalType\":\"uuid\"}";
        break;
    case TYPE_DATE:
        simple = "{\"type\":\"int\",\"logicalType\":\"date\"}";
        break;
    case TYPE_TIMESTAMP_MS:
        simple = "{\"type\":\"long\",\"logicalType\":\"timestamp-millis\"}";
        break;
    case TYPE_TIMESTAMP_US:
        simple = "{\"type\":\"long\",\"logicalType\":\"timestamp-micros\"}";
        break;
    case TYPE_DURATION:
        simple = "{\"type\":\"long\",\"logicalType\":\"pipec.duration-ms\"}";
        break;
    case TYPE_DECIMAL:
    case TYPE_BYTES:
        derive_bytes(derivation, type);
        return;
    case TYPE_ENUM:
        derive_enum(derivation, type);
        return;
    case TYPE_RECORD: {
        const char *name = define(derivation, type, record_name(type->record));
        if (name != NULL)
            derive_fields(derivation, name, type->record);
        return;
    }
    case TYPE_ARRAY:
    case TYPE_MAP:
        text_puts(text, type->kind == TYPE_ARRAY ? "{\"type\":\"array\",\"items\":"
                                                 : "{\"type\":\"map\",\"values\":");
        derive_slot(derivation, type->element, type->element_nullable, type->element_null_first);
        text_puts(text, "}");
        return;
    case TYPE_POISON:
    case TYPE_NULL:
        derivation->usable = false;
        return;
    }
    text_puts(text, simple);
}

static void derive_slot(struct derivation *derivation, const struct type *type, bool nullable,
                        bool null_first)
{
    if (nullable)
        text_puts(&derivation->text, null_first ? "[\"null\"," : "[");
    derive_type(derivation, type);
    if (nullable)
        text_puts(&derivation->text, null_first ? "]" : ",\"null\"]");
}

const char *schema_derive(struct program *program, const char *name, const struct record_type *row)
{
    struct derivation derivation = {.program = program, .usable = is_avro_name(name)};
    vec_push(program->arena, &derivation.named, ((struct derived){name, NULL}));
    derive_fields(&derivation, name, row);
    const char *schema = NULL;
    if (derivation.usable)
        schema = arena_strndup(program->arena, derivation.text.data, derivation.text.size);
    text_free(&derivation.text);
    return schema;
}
