/*
 * avro_schema.c: an Avro schema file (one record) into struct schema.
 *
 * Follows the Avro 1.11 specification where it is not narrower: unions are optional values only,
 * recursion is refused, a default fits the first branch of its union. All errors of a file are
 * reported. Messages point into the schema file and, second, at the clause that names it.
 */
#include "contracts.h"
#include "../runtime/schema_json.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct span value_span(const struct schema_reader *reader, struct schema_value value)
{
    return (struct span){reader->source, value.place->begin, value.place->end};
}

struct schema_value value_member(const struct schema_reader *reader, struct schema_value object,
                                 const char *key)
{
    return (struct schema_value){json_object_get(object.json, key),
                                 place_member(reader->source, object.place, key)};
}

/* Objects and arrays can be long: only their first line is marked, or just their bracket. */
static struct span short_span(const struct schema_reader *reader, struct schema_value value)
{
    struct span span = value_span(reader, value);
    const char *text = reader->source->text + span.begin;
    const char *line_end = memchr(text, '\n', span.end - span.begin);
    if (line_end != NULL)
        span.end = span.begin + 1;
    return span;
}

struct diag *schema_error(struct schema_reader *reader, enum code code, struct schema_value at,
                          const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char message[2048];
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    struct diag *diag = diag_error(reader->program, code, short_span(reader, at), "%s", message);
    if (reader->where.source != NULL)
        diag_also(diag, reader->where, "of this contract");
    reader->failed = true;
    return diag;
}

const char *reader_subject(const struct schema_reader *reader)
{
    if (reader->path.size == 0)
        return "the schema";
    return arena_printf(reader->program->arena, "field `%s`", reader->path.data);
}

const char *short_name(const char *full_name)
{
    const char *dot = strrchr(full_name, '.');
    return dot == NULL ? full_name : dot + 1;
}

const char *json_written(struct program *program, const json_t *value)
{
    enum { WRITTEN_MAX_BYTES = 80 };
    char *dumped = json_dumps(value, JSON_ENCODE_ANY);
    if (dumped == NULL)
        out_of_memory();
    size_t size = strlen(dumped);
    size_t cut = size < WRITTEN_MAX_BYTES ? size : WRITTEN_MAX_BYTES;
    while (cut < size && ((unsigned char)dumped[cut] & 0xc0) == 0x80)
        cut--;
    const char *copy =
        arena_printf(program->arena, "%.*s%s", (int)cut, dumped, cut < size ? "…" : "");
    free(dumped);
    return copy;
}

uint64_t avro_fingerprint(const char *canonical, size_t size_bytes)
{
    const uint64_t empty = 0xc15d213aa4d7a795u;
    uint64_t fingerprint = empty;
    for (size_t i = 0; i < size_bytes; i++) {
        fingerprint ^= (unsigned char)canonical[i];
        for (int bit = 0; bit < 8; bit++)
            fingerprint = fingerprint >> 1 ^ (empty & -(fingerprint & 1));
    }
    return fingerprint;
}

/* Names. */

static bool is_name(const char *text, size_t size)
{
    if (size == 0 || size > AVRO_NAME_MAX_BYTES)
        return false;
    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && (i == 0 || c < '0' || c > '9'))
            return false;
    }
    return true;
}

bool is_avro_name(const char *name)
{
    return is_name(name, strlen(name));
}

/* Names joined by dots. */
static bool is_full_name(const char *name)
{
    for (;;) {
        size_t size = strcspn(name, ".");
        if (!is_name(name, size))
            return false;
        if (name[size] == '\0')
            return true;
        name += size + 1;
    }
}

static struct diag *bad_name(struct schema_reader *reader, struct schema_value value,
                             const char *what)
{
    bool inside = reader->path.size > 0;
    struct diag *diag = schema_error(
        reader, PC5006, value, "%s%s is not an Avro name: %s", what,
        inside ? arena_printf(reader->program->arena, " in field `%s`", reader->path.data) : "",
        json_written(reader->program, value.json));
    diag_help(diag, "a name is a letter or `_`, then letters, digits and `_`; at most %d bytes",
              AVRO_NAME_MAX_BYTES);
    return diag;
}

/* The string member `key`; NULL after an error if it is absent or no string. */
static const char *string_member(struct schema_reader *reader, struct schema_value object,
                                 const char *key)
{
    struct schema_value member = value_member(reader, object, key);
    if (json_is_string(member.json))
        return json_string_value(member.json);
    if (member.json == NULL)
        schema_error(reader, PC5005, object, "`%s` is missing in a definition of %s", key,
                     reader_subject(reader));
    else
        schema_error(reader, PC5005, member, "`%s` in %s must be a string", key,
                     reader_subject(reader));
    return NULL;
}

const char **read_aliases(struct schema_reader *reader, struct schema_value value,
                          const char *namespace, bool qualified, size_t *count)
{
    enum { ALIASES_MAX = 64 };
    struct program *program = reader->program;
    struct schema_value aliases = value_member(reader, value, "aliases");
    *count = 0;
    if (aliases.json == NULL)
        return NULL;
    size_t size = json_array_size(aliases.json);
    if (!json_is_array(aliases.json) || size > ALIASES_MAX) {
        schema_error(reader, PC5005, aliases,
                     "`aliases` of %s must be an array of at most %d strings",
                     reader_subject(reader), ALIASES_MAX);
        return NULL;
    }
    const char **names = arena_alloc(program->arena, (size + 1) * sizeof *names);
    for (size_t i = 0; i < size; i++) {
        struct schema_value alias = {json_array_get(aliases.json, i),
                                     place_element(aliases.place, i)};
        const char *name = json_string_value(alias.json);
        if (name == NULL || !(qualified ? is_full_name(name) : is_avro_name(name))) {
            bad_name(reader, alias, "an alias");
            continue;
        }
        if (qualified && strchr(name, '.') == NULL && namespace[0] != '\0')
            name = arena_printf(program->arena, "%s.%s", namespace, name);
        names[(*count)++] = intern_cstr(program, name);
    }
    return names;
}

static struct named_type *find_named(const struct schema_reader *reader, const char *full_name)
{
    for (size_t i = 0; i < reader->named.count; i++)
        if (reader->named.items[i]->full_name == full_name)
            return reader->named.items[i];
    return NULL;
}

struct named_type *open_named(struct schema_reader *reader, struct schema_value value,
                              const char *enclosing, const char **namespace)
{
    static const char *const primitives[] = {"null",  "boolean", "int",   "long",
                                             "float", "double",  "bytes", "string"};
    struct program *program = reader->program;
    const char *name = string_member(reader, value, "name");
    if (name == NULL)
        return NULL;
    struct schema_value name_value = value_member(reader, value, "name");
    struct schema_value space = value_member(reader, value, "namespace");
    if (!is_full_name(name)) {
        bad_name(reader, name_value, "a type's name");
        return NULL;
    }
    *namespace = enclosing;
    if (strchr(name, '.') != NULL) {
        *namespace = intern(program, name, (size_t)(strrchr(name, '.') - name));
    } else if (space.json != NULL) {
        const char *given = json_string_value(space.json);
        if (given == NULL || (given[0] != '\0' && !is_full_name(given))) {
            bad_name(reader, space, "a namespace");
            return NULL;
        }
        *namespace = intern_cstr(program, given);
    }
    if (strchr(name, '.') == NULL && (*namespace)[0] != '\0')
        name = arena_printf(program->arena, "%s.%s", *namespace, name);
    name = intern_cstr(program, name);
    for (size_t i = 0; i < sizeof primitives / sizeof *primitives; i++) {
        if (strcmp(name, primitives[i]) == 0) {
            schema_error(reader, PC5006, name_value, "`%s` is the name of a primitive type", name);
            return NULL;
        }
    }
    const struct named_type *earlier = find_named(reader, name);
    if (earlier != NULL) {
        struct diag *diag =
            schema_error(reader, PC5008, name_value, "type `%s` is defined twice", name);
        diag_also(diag, earlier->span, "first here");
        diag_help(diag, "to use the same type again, write its name: \"%s\"", name);
        return NULL;
    }
    struct named_type *named = arena_alloc(program->arena, sizeof *named);
    *named = (struct named_type){
        .full_name = name, .is_open = true, .span = value_span(reader, name_value)};
    vec_push(program->arena, &reader->named, named);
    return named;
}

/* Records. */

static bool read_default(struct schema_reader *reader, struct schema_value value, struct slot slot,
                         struct field *field)
{
    struct schema_value given = value_member(reader, value, "default");
    if (given.json == NULL)
        return true;
    const char *problem = default_problem(reader->program, slot, given.json);
    if (problem != NULL) {
        struct diag *diag =
            schema_error(reader, PC5012, given, "the default of field `%s` does not fit: %s",
                         reader->path.data, problem);
        diag_also(diag, field->span, "its type is %s", field->written_type);
        if (slot.nullable && (json_is_null(given.json) != slot.null_first))
            diag_help(diag, "a default belongs to the first branch: write %s",
                      slot.null_first ? "the type before \"null\"" : "\"null\" first");
        return false;
    }
    field->has_default = true;
    /* The tree is only const on its way here; its owner is released with the arena. */
    field->default_value = json_object_get(value.json, "default");
    return true;
}

static void canonical_string(struct schema_reader *reader, const char *prefix, const char *text)
{
    text_printf(&reader->canonical, "%s\"%s\"", prefix, text);
}

/* False: not usable (an error was reported). The field's canonical form is appended. */
static bool read_field(struct schema_reader *reader, struct schema_value value,
                       const char *namespace, struct field *field)
{
    struct program *program = reader->program;
    if (!json_is_object(value.json)) {
        schema_error(reader, PC5005, value, "each of the `fields` of %s must be an object",
                     reader_subject(reader));
        return false;
    }
    const char *name = string_member(reader, value, "name");
    if (name == NULL)
        return false;
    struct schema_value name_value = value_member(reader, value, "name");
    if (!is_avro_name(name)) {
        bad_name(reader, name_value, "a field's name");
        return false;
    }
    field->name = intern_cstr(program, name);
    field->span = value_span(reader, name_value);
    canonical_string(reader, "{\"name\":", name);

    size_t path_size = reader->path.size;
    text_printf(&reader->path, "%s%s", path_size > 0 ? "." : "", name);
    struct schema_value type_value = value_member(reader, value, "type");
    struct slot slot = {0};
    text_puts(&reader->canonical, ",\"type\":");
    if (type_value.json == NULL) {
        schema_error(reader, PC5005, name_value, "field `%s` has no `type`", reader->path.data);
    } else {
        field->written_type = json_written(program, type_value.json);
        slot = read_slot(reader, type_value, namespace);
    }
    text_puts(&reader->canonical, "}");
    field->type = slot.type;
    field->nullable = slot.nullable;
    field->null_first = slot.null_first;
    field->aliases = read_aliases(reader, value, namespace, false, &field->alias_count);
    bool fits = slot.type == NULL || read_default(reader, value, slot, field);
    reader->path.size = path_size;
    if (reader->path.data != NULL)
        reader->path.data[path_size] = '\0';
    return slot.type != NULL && fits;
}

/* Reports a name that an earlier field has. */
static void check_field_name(struct schema_reader *reader, const struct record_type *record)
{
    const struct field *field = &record->fields[record->field_count];
    for (size_t i = 0; field->name != NULL && i < record->field_count; i++) {
        if (record->fields[i].name != field->name)
            continue;
        struct diag *diag =
            diag_error(reader->program, PC5007, field->span, "record `%s` has two fields `%s`",
                       record->name, field->name);
        diag_also(diag, record->fields[i].span, "first here");
        if (reader->where.source != NULL)
            diag_also(diag, reader->where, "of this contract");
        reader->failed = true;
        return;
    }
}

static bool read_fields(struct schema_reader *reader, struct schema_value value,
                        const char *namespace, struct record_type *record)
{
    struct schema_value fields = value_member(reader, value, "fields");
    size_t count = json_array_size(fields.json);
    if (!json_is_array(fields.json)) {
        schema_error(reader, PC5005, fields, "record `%s` must have `fields`, an array",
                     record->name);
        return false;
    }
    if (count == 0) {
        schema_error(reader, PC5005, fields, "record `%s` has no fields", record->name);
        return false;
    }
    reader->field_count += (unsigned)(count > SCHEMA_MAX_FIELDS ? SCHEMA_MAX_FIELDS : count);
    if (count > SCHEMA_MAX_FIELDS || reader->field_count > SCHEMA_MAX_FIELDS) {
        schema_error(reader, PC5015, value, "the schema has more than %d fields",
                     SCHEMA_MAX_FIELDS);
        return false;
    }
    record->fields = arena_alloc(reader->program->arena, count * sizeof *record->fields);
    const struct json_place *place = fields.place->first;
    bool usable = true;
    for (size_t i = 0; i < count; i++, place = place->next) {
        struct schema_value field = {json_array_get(fields.json, i), place};
        text_puts(&reader->canonical, i > 0 ? "," : "");
        usable &= read_field(reader, field, namespace, &record->fields[i]);
        check_field_name(reader, record);
        record->field_count++;
    }
    return usable;
}

const struct type *read_record(struct schema_reader *reader, struct schema_value value,
                               const char *namespace)
{
    struct program *program = reader->program;
    const char *own = "";
    struct named_type *named = open_named(reader, value, namespace, &own);
    if (named == NULL)
        return NULL;
    struct record_type *record = arena_alloc(program->arena, sizeof *record);
    record->full_name = named->full_name;
    record->span = named->span;
    record->name = intern_cstr(program, short_name(named->full_name));
    record->aliases = read_aliases(reader, value, own, true, &record->alias_count);

    canonical_string(reader, "{\"name\":", named->full_name);
    text_puts(&reader->canonical, ",\"type\":\"record\",\"fields\":[");
    unsigned fields_before = reader->field_count;
    unsigned deepest_before = reader->deepest;
    reader->deepest = reader->depth;
    bool usable = read_fields(reader, value, own, record);
    named->height = reader->deepest - reader->depth;
    named->field_count = reader->field_count - fields_before;
    if (reader->deepest < deepest_before)
        reader->deepest = deepest_before;
    text_puts(&reader->canonical, "]}");
    named->is_open = false;
    if (!usable)
        return NULL;
    struct type *type = arena_alloc(program->arena, sizeof *type);
    *type = (struct type){.kind = TYPE_RECORD, .record = record};
    named->type = type;
    return type;
}

/* Files. */

static void release_json(void *object)
{
    json_decref(object);
}

/* What jansson found, in our words where its own are about its inside. */
static const char *json_problem(struct program *program, const json_error_t *error, size_t size)
{
    switch (json_error_code(error)) {
    case json_error_duplicate_key:
        return "a key stands twice in one object";
    case json_error_premature_end_of_input:
        return size == 0 ? "the file is empty" : "the file ends too early";
    case json_error_end_of_input_expected:
        return "something follows the end of the schema";
    case json_error_stack_overflow:
        return "it is nested too deep";
    case json_error_null_character:
    case json_error_null_byte_in_key:
        return "a string that is no default and no doc holds a NUL";
    default:
        return arena_strndup(program->arena, error->text, strlen(error->text));
    }
}

static json_t *load_json(struct schema_reader *reader)
{
    const struct source *source = reader->source;
    json_error_t error;
    json_t *root = pipe_schema_json(source->text, source->size,
                                    JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    if (root != NULL) {
        arena_defer(reader->program->arena, release_json, root);
        return root;
    }
    if (json_error_code(&error) == json_error_out_of_memory)
        out_of_memory();
    uint32_t at = error.position > 0 ? (uint32_t)error.position - 1 : 0;
    if (at > source->size)
        at = (uint32_t)source->size;
    struct span span = {source, at, at < source->size ? at + 1 : at};
    struct diag *diag =
        diag_error(reader->program, PC5003, span, "`%s` is not JSON: %s", source->path,
                   json_problem(reader->program, &error, source->size));
    if (reader->where.source != NULL)
        diag_also(diag, reader->where, "of this contract");
    return NULL;
}

static const char *label_of(struct program *program, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    size_t size = strlen(name);
    if (size > 5 && strcmp(name + size - 5, ".avsc") == 0)
        size -= 5;
    return arena_strndup(program->arena, name, size);
}

static struct schema *schema_from(struct schema_reader *reader, const json_t *root)
{
    struct program *program = reader->program;
    struct schema_value value = {root, json_places(program, reader->source)};
    const char *kind = json_string_value(json_object_get(root, "type"));
    if (!json_is_object(root) || (kind != NULL && strcmp(kind, "record") != 0)) {
        struct diag *diag =
            schema_error(reader, PC5004, value, "`%s` is not the schema of a record: %s",
                         reader->source->path, json_written(program, root));
        diag_help(diag, "wrap it: {\"type\": \"record\", \"name\": …, \"fields\": [{\"name\": …, "
                        "\"type\": …}]}");
        return NULL;
    }
    if (kind == NULL) {
        schema_error(reader, PC5005, value, "the schema must have `\"type\": \"record\"`");
        return NULL;
    }
    const struct type *type = read_record(reader, value, "");
    if (type == NULL || reader->failed)
        return NULL;
    struct schema *schema = arena_alloc(program->arena, sizeof *schema);
    *schema = (struct schema){
        .source = reader->source,
        .record = type->record,
        .canonical = arena_strndup(program->arena, reader->canonical.data, reader->canonical.size),
        .fingerprint = avro_fingerprint(reader->canonical.data, reader->canonical.size),
        .label = label_of(program, reader->source->path)};
    return schema;
}

struct schema *schema_load(struct program *program, const char *path, struct span where)
{
    const struct source *source = source_read(program, path, SCHEMA_MAX_BYTES, where);
    if (source == NULL)
        return NULL;
    struct schema_reader reader = {.program = program, .source = source, .where = where};
    json_t *root = load_json(&reader);
    struct schema *schema = root == NULL ? NULL : schema_from(&reader, root);
    text_free(&reader.canonical);
    text_free(&reader.path);
    return schema;
}
