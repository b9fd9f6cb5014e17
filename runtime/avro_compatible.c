/* avro_compatible.c: can one schema read what another wrote? See avro_schema_tree.h. */
#include "avro_schema_tree.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_VISITS 200000u /* unions of records multiply */
#define MAX_FIELDS 4096u   /* as the compiler; every two names are compared */

struct comparison {
    struct pipe_buf path;
    bool same_form;
    uint32_t visits;
    unsigned depth;
    char *error;
    size_t error_bytes;
};

void pipe_schema_clean(char *text)
{
    for (; *text != '\0'; text++) {
        if (*text < ' ' || *text > '~')
            *text = '?';
    }
}

static bool fail(struct comparison *c, const char *format, ...) PIPE_PRINTF(2, 3);
static bool fail(struct comparison *c, const char *format, ...)
{
    va_list args;
    int used = c->path.size > 0 ? snprintf(c->error, c->error_bytes, "field `%.*s` ",
                                           (int)c->path.size, (char *)c->path.data)
                                : snprintf(c->error, c->error_bytes, "the record ");
    va_start(args, format);
    if (used >= 0 && (size_t)used < c->error_bytes)
        vsnprintf(c->error + used, c->error_bytes - (size_t)used, format, args);
    va_end(args);
    pipe_schema_clean(c->error);
    return false;
}

/* ---- What a node says ---- */

const char *pipe_schema_text(const struct schema_node *node, const char *key)
{
    return json_string_value(json_object_get(node->json, key));
}

/* A decimal as the node says it; false: it is none, and reads as plain bytes. */
static bool decimal_of(const struct schema_node *node, struct schema_meaning *meaning)
{
    json_int_t digits = json_integer_value(json_object_get(node->json, "precision"));
    json_int_t after = json_integer_value(json_object_get(node->json, "scale"));
    if (digits < 1 || digits > 38 || after < 0 || after > digits)
        return false;
    *meaning = (struct schema_meaning){
        .kind = PIPE_DECIMAL, .precision = (unsigned)digits, .scale = (unsigned)after};
    return true;
}

struct schema_meaning pipe_schema_meaning(const struct schema_node *node)
{
    static const struct {
        enum schema_node_kind node;
        const char *logical;
        enum pipe_kind kind;
    } rows[] = {{NODE_INT, "date", PIPE_DATE},
                {NODE_LONG, "timestamp-millis", PIPE_TIMESTAMP_MS},
                {NODE_LONG, "timestamp-micros", PIPE_TIMESTAMP_US},
                {NODE_LONG, "pipec.duration-ms", PIPE_DURATION},
                {NODE_STRING, "uuid", PIPE_UUID}};
    static const enum pipe_kind plain[] = {
        [NODE_BOOL] = PIPE_BOOL,     [NODE_INT] = PIPE_INT32,      [NODE_LONG] = PIPE_INT64,
        [NODE_FLOAT] = PIPE_FLOAT32, [NODE_DOUBLE] = PIPE_FLOAT64, [NODE_BYTES] = PIPE_BYTES,
        [NODE_STRING] = PIPE_STRING, [NODE_ENUM] = PIPE_ENUM,      [NODE_FIXED] = PIPE_BYTES,
        [NODE_RECORD] = PIPE_RECORD, [NODE_ARRAY] = PIPE_ARRAY,    [NODE_MAP] = PIPE_MAP};
    struct schema_meaning meaning = {0};
    if (node->kind == NODE_NULL || node->kind == NODE_UNION)
        return meaning;
    meaning.kind = plain[node->kind];
    const char *logical = pipe_schema_text(node, "logicalType");
    if (logical == NULL)
        return meaning;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (node->kind == rows[i].node && strcmp(logical, rows[i].logical) == 0)
            meaning.kind = rows[i].kind;
    }
    meaning.is_json = node->kind == NODE_STRING && strcmp(logical, "json") == 0;
    if ((node->kind == NODE_BYTES || node->kind == NODE_FIXED) && strcmp(logical, "decimal") == 0)
        decimal_of(node, &meaning);
    return meaning;
}

/* More than its bytes. */
static bool has_meaning(struct schema_meaning meaning)
{
    switch (meaning.kind) {
    case PIPE_DATE:
    case PIPE_TIMESTAMP_MS:
    case PIPE_TIMESTAMP_US:
    case PIPE_DURATION:
    case PIPE_DECIMAL:
    case PIPE_UUID:
        return true;
    default:
        return meaning.is_json;
    }
}

static const json_t *field_json(const struct schema_node *record, uint32_t field)
{
    return json_array_get(json_object_get(record->json, "fields"), field);
}

const char *pipe_schema_field_name(const struct schema_node *record, uint32_t field)
{
    return json_string_value(json_object_get(field_json(record, field), "name"));
}

static int64_t field_named(const struct schema_node *record, const char *name)
{
    for (uint32_t i = 0; name != NULL && i < record->child_count; i++) {
        if (strcmp(pipe_schema_field_name(record, i), name) == 0)
            return i;
    }
    return -1;
}

int64_t pipe_schema_match(const struct schema_node *writer, const struct schema_node *reader,
                          uint32_t field)
{
    const json_t *aliases = json_object_get(field_json(reader, field), "aliases");
    int64_t found = field_named(writer, pipe_schema_field_name(reader, field));
    for (size_t i = 0; found < 0 && i < json_array_size(aliases); i++)
        found = field_named(writer, json_string_value(json_array_get(aliases, i)));
    return found;
}

const struct schema_node *pipe_schema_value(const struct schema_node *node)
{
    for (uint32_t i = 0; node->kind == NODE_UNION && i < node->child_count; i++) {
        if (node->children[i]->kind != NODE_NULL)
            return node->children[i];
    }
    return node;
}

static bool is_nullable(const struct schema_node *node)
{
    for (uint32_t i = 0; node->kind == NODE_UNION && i < node->child_count; i++) {
        if (node->children[i]->kind == NODE_NULL)
            return true;
    }
    return node->kind == NODE_NULL;
}

/* ---- Comparing ---- */

static bool compare(struct comparison *c, const struct schema_node *reader,
                    const struct schema_node *writer);

static const char *name_of(const struct schema_node *node)
{
    static const char *const names[] = {
        [NODE_NULL] = "null",   [NODE_BOOL] = "boolean",  [NODE_INT] = "int",
        [NODE_LONG] = "long",   [NODE_FLOAT] = "float",   [NODE_DOUBLE] = "double",
        [NODE_BYTES] = "bytes", [NODE_STRING] = "string", [NODE_ENUM] = "enum",
        [NODE_FIXED] = "fixed", [NODE_RECORD] = "record", [NODE_UNION] = "union",
        [NODE_ARRAY] = "array", [NODE_MAP] = "map",
    };
    return names[node->kind];
}

static bool promotes(enum schema_node_kind from, enum schema_node_kind into)
{
    static const enum schema_node_kind rows[][2] = {
        {NODE_INT, NODE_LONG},     {NODE_INT, NODE_FLOAT},   {NODE_INT, NODE_DOUBLE},
        {NODE_LONG, NODE_FLOAT},   {NODE_LONG, NODE_DOUBLE}, {NODE_FLOAT, NODE_DOUBLE},
        {NODE_BYTES, NODE_STRING}, {NODE_STRING, NODE_BYTES}};
    bool found = from == into;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        found = found || (rows[i][0] == from && rows[i][1] == into);
    return found;
}

static const char *short_name(const char *full)
{
    const char *dot = strrchr(full, '.');
    return dot != NULL ? dot + 1 : full;
}

/* By the name without namespace, or by an alias of the reader. */
static bool compare_names(struct comparison *c, const struct schema_node *reader,
                          const struct schema_node *writer)
{
    const json_t *aliases = json_object_get(reader->json, "aliases");
    const char *name = short_name(writer->name);
    if (strcmp(short_name(reader->name), name) == 0)
        return true;
    for (size_t i = 0; i < json_array_size(aliases); i++) {
        const char *alias = json_string_value(json_array_get(aliases, i));
        if (alias != NULL && strcmp(short_name(alias), name) == 0)
            return true;
    }
    return fail(c, "is of the type %.60s, which is not read as %.60s", writer->name, reader->name);
}

static bool has_symbol(const json_t *symbols, const char *symbol)
{
    for (size_t i = 0; i < json_array_size(symbols); i++) {
        if (strcmp(json_string_value(json_array_get(symbols, i)), symbol) == 0)
            return true;
    }
    return false;
}

static bool compare_enums(struct comparison *c, const struct schema_node *reader,
                          const struct schema_node *writer)
{
    const json_t *from = json_object_get(writer->json, "symbols");
    const json_t *into = json_object_get(reader->json, "symbols");
    const char *other = pipe_schema_text(reader, "default");
    if (!compare_names(c, reader, writer))
        return false;
    if (json_array_size(from) > MAX_FIELDS || json_array_size(into) > MAX_FIELDS)
        return fail(c, "has more than %u symbols", MAX_FIELDS);
    if (other != NULL && has_symbol(into, other))
        return true;
    for (size_t i = 0; i < json_array_size(from); i++) {
        const char *symbol = json_string_value(json_array_get(from, i));
        if (!has_symbol(into, symbol))
            return fail(c, "may be `%.60s`, which the reader's enum lacks, and it has no default",
                        symbol);
    }
    return true;
}

/* The same logical type on both sides, of the same digits. */
static bool compare_meanings(struct comparison *c, const struct schema_node *reader,
                             const struct schema_node *writer)
{
    struct schema_meaning from = pipe_schema_meaning(writer), into = pipe_schema_meaning(reader);
    const char *had = pipe_schema_text(writer, "logicalType");
    const char *wants = pipe_schema_text(reader, "logicalType");
    if (!has_meaning(from) && (!has_meaning(into) || (c->same_form && had == NULL)))
        return true;
    if (from.kind != into.kind || from.is_json != into.is_json)
        return fail(c, "is %s%s%.40s, which is not read as %s%s%.40s", name_of(writer),
                    had != NULL ? ": " : "", had != NULL ? had : "", name_of(reader),
                    wants != NULL ? ": " : "", wants != NULL ? wants : "");
    if (from.kind == PIPE_DECIMAL && (from.precision != into.precision || from.scale != into.scale))
        return fail(c, "is decimal(%u,%u), which is not read as decimal(%u,%u)", from.precision,
                    from.scale, into.precision, into.scale);
    return true;
}

/* Whether the field has a default: null, too, is one. */
static bool compare_field(struct comparison *c, const struct schema_node *reader, uint32_t field,
                          const struct schema_node *writer, int64_t from)
{
    size_t path = c->path.size;
    const char *name = pipe_schema_field_name(reader, field);
    if (path > 0)
        pipe_buf_add_byte(&c->path, '.');
    pipe_buf_add(&c->path, name, strlen(name));
    bool ok = from >= 0 ? compare(c, reader->children[field], writer->children[from])
                        : json_object_get(field_json(reader, field), "default") != NULL ||
                              fail(c, "(%s) is not written and has no default",
                                   name_of(pipe_schema_value(reader->children[field])));
    c->path.size = path;
    return ok;
}

static bool compare_records(struct comparison *c, const struct schema_node *reader,
                            const struct schema_node *writer)
{
    if (!compare_names(c, reader, writer))
        return false;
    if (writer->child_count > MAX_FIELDS || reader->child_count > MAX_FIELDS)
        return fail(c, "has more than %u fields", MAX_FIELDS);
    bool *claimed = pipe_calloc(writer->child_count + 1, sizeof *claimed);
    bool ok = true;
    for (uint32_t i = 0; ok && i < reader->child_count; i++) {
        int64_t from = pipe_schema_match(writer, reader, i);
        if (from >= 0 && claimed[from])
            ok = fail(c, "has the field `%.60s`, which two of the reader stand for",
                      pipe_schema_field_name(writer, (uint32_t)from));
        else if (from >= 0)
            claimed[from] = true;
        ok = ok && compare_field(c, reader, i, writer, from);
    }
    free(claimed);
    return ok;
}

static bool compare_values(struct comparison *c, const struct schema_node *reader,
                           const struct schema_node *writer)
{
    if (!promotes(writer->kind, reader->kind))
        return fail(c, "is %s, which is not read as %s", name_of(writer), name_of(reader));
    if (!compare_meanings(c, reader, writer))
        return false;
    if (reader->kind == NODE_ENUM)
        return compare_enums(c, reader, writer);
    if (reader->kind == NODE_RECORD)
        return compare_records(c, reader, writer);
    if (reader->kind == NODE_FIXED)
        return compare_names(c, reader, writer) &&
               (reader->size == writer->size ||
                fail(c, "is a fixed of %u bytes, not of %u", writer->size, reader->size));
    if (reader->kind != NODE_ARRAY && reader->kind != NODE_MAP)
        return true;
    size_t path = c->path.size;
    pipe_buf_add(&c->path, reader->kind == NODE_MAP ? "{}" : "[]", 2);
    bool ok = compare(c, reader->children[0], writer->children[0]);
    c->path.size = path;
    return ok;
}

/* A contract has optional values only; what others have registered may have more branches. */
static bool compare_with_branches(struct comparison *c, const struct schema_node *reader,
                                  const struct schema_node *writer)
{
    bool ok = false;
    if (reader->kind != NODE_UNION)
        return compare_values(c, reader, writer);
    if (reader->child_count == 0)
        return fail(c, "is read by no type");
    for (uint32_t i = 0; !ok && i < reader->child_count; i++) {
        if (reader->children[i]->kind != NODE_NULL || reader->child_count == 1)
            ok = compare(c, reader->children[i], writer);
    }
    return ok;
}

static bool compare_branches(struct comparison *c, const struct schema_node *reader,
                             const struct schema_node *writer)
{
    if (writer->kind == NODE_NULL)
        return is_nullable(reader) || fail(c, "may be null, which the reader does not take");
    if (writer->kind != NODE_UNION)
        return compare_with_branches(c, reader, writer);
    for (uint32_t i = 0; i < writer->child_count; i++) {
        if (writer->children[i]->kind == NODE_UNION)
            return fail(c, "is a union in a union");
        if (!compare(c, reader, writer->children[i]))
            return false;
    }
    return true;
}

static bool compare(struct comparison *c, const struct schema_node *reader,
                    const struct schema_node *writer)
{
    if (++c->visits > MAX_VISITS || c->depth == 4 * PIPE_MAX_DEPTH)
        return fail(c, "makes the schema too large to compare");
    c->depth++;
    bool ok = compare_branches(c, reader, writer);
    c->depth--;
    if (ok)
        c->error[0] = '\0'; /* of a branch that was tried before */
    return ok;
}

bool pipe_schema_compatible(const struct schema_node *reader, const struct schema_node *writer,
                            bool same_form, char *error, size_t error_bytes)
{
    struct comparison c = {.same_form = same_form, .error = error, .error_bytes = error_bytes};
    error[0] = '\0';
    bool ok = compare(&c, reader, writer);
    pipe_buf_free(&c.path);
    return ok;
}
