/*
 * avro_writer_schema.c: see avro_writer_schema.h. Schemas come out of files, so they are untrusted:
 * size, depth and number of types are bounded, references to types that are not defined are
 * refused.
 */
#include "avro_schema_tree.h"
#include "schema_json.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_NODES = 65536, MAX_NAMED = 4096, MAX_NESTING = 200 };

/* Values that a record may hold for each of its bytes, and besides. Without a bound, 64 nested
 * records of two fields each without bytes would be 2^64 values. */
enum { VALUES_PER_BYTE = 64, VALUES_BESIDES = 4096 };

struct named {
    char *full_name;
    struct schema_node *node;
};

struct pipe_writer_schema {
    json_t *json; /* nodes point into it */
    struct schema_node *root;
    struct schema_node **nodes; /* all, for freeing */
    uint32_t node_count;
    struct named *named;
    uint32_t named_count;
    struct pipe_buf canonical;
    char *name;
    char *error;
    size_t error_bytes;
    uint32_t depth;
};

/* The first cause counts. */
static bool fail(struct pipe_writer_schema *schema, const char *format, const char *what)
{
    if (schema->error[0] == '\0') {
        snprintf(schema->error, schema->error_bytes, format, what);
        pipe_schema_clean(schema->error);
    }
    return false;
}

static struct schema_node *no_node(struct pipe_writer_schema *schema, const char *format,
                                   const char *what)
{
    fail(schema, format, what);
    return NULL;
}

static struct schema_node *new_node(struct pipe_writer_schema *schema, enum schema_node_kind kind)
{
    if (schema->node_count == MAX_NODES)
        return no_node(schema, "the schema has too many types%s", "");
    struct schema_node *node = pipe_calloc(1, sizeof *node);
    node->kind = kind;
    if ((schema->node_count & (schema->node_count - 1)) == 0)
        schema->nodes = pipe_realloc(
            schema->nodes, (schema->node_count == 0 ? 1 : schema->node_count * 2) * sizeof(void *));
    schema->nodes[schema->node_count++] = node;
    return node;
}

static struct schema_node *parse_type(struct pipe_writer_schema *schema, const json_t *json,
                                      const char *namespace);

static void put(struct pipe_writer_schema *schema, const char *text)
{
    pipe_buf_add(&schema->canonical, text, strlen(text));
}

/* A name or symbol. One with quotes could make another schema's canonical form, and so its
 * fingerprint. */
static bool put_quoted(struct pipe_writer_schema *schema, const char *text)
{
    for (const char *at = text; *at != '\0'; at++)
        if (*at == '"' || *at == '\\' || (*at >= '\0' && *at < ' '))
            return fail(schema, "a name in the schema has a quote, backslash or control%s", "");
    put(schema, "\"");
    put(schema, text);
    put(schema, "\"");
    return true;
}

static const struct {
    const char *name;
    enum schema_node_kind kind;
} primitives[] = {
    {"null", NODE_NULL},   {"boolean", NODE_BOOL},  {"int", NODE_INT},     {"long", NODE_LONG},
    {"float", NODE_FLOAT}, {"double", NODE_DOUBLE}, {"bytes", NODE_BYTES}, {"string", NODE_STRING},
};

/* namespace.name, or name alone where it has a dot or there is no namespace; from malloc. */
static char *full_name(const char *name, const char *namespace)
{
    bool joined = strchr(name, '.') == NULL && namespace != NULL && namespace[0] != '\0';
    size_t size = strlen(name) + (joined ? strlen(namespace) + 1 : 0) + 1;
    char *full = pipe_malloc(size);
    snprintf(full, size, "%s%s%s", joined ? namespace : "", joined ? "." : "", name);
    return full;
}

static struct schema_node *find_named(const struct pipe_writer_schema *schema, const char *full)
{
    for (uint32_t i = 0; i < schema->named_count; i++)
        if (strcmp(schema->named[i].full_name, full) == 0)
            return schema->named[i].node;
    return NULL;
}

static struct schema_node *parse_reference(struct pipe_writer_schema *schema, const char *name,
                                           const char *namespace)
{
    for (size_t i = 0; i < sizeof primitives / sizeof primitives[0]; i++)
        if (strcmp(name, primitives[i].name) == 0) {
            put_quoted(schema, name);
            return new_node(schema, primitives[i].kind);
        }
    char *full = full_name(name, namespace);
    struct schema_node *node = find_named(schema, full);
    if (node == NULL)
        fail(schema, "the schema names the type %.100s, which it does not define", full);
    else
        put_quoted(schema, full);
    free(full);
    return node;
}

static bool add_children(struct pipe_writer_schema *schema, struct schema_node *node,
                         const json_t *list, const char *namespace, bool are_fields)
{
    size_t count = json_array_size(list), i;
    if (count > MAX_NODES)
        return fail(schema, "the schema has too many types%s", "");
    node->children = pipe_calloc(count + 1, sizeof *node->children);
    json_t *item;
    json_array_foreach(list, i, item)
    {
        const json_t *type = are_fields ? json_object_get(item, "type") : item;
        const char *name = are_fields ? json_string_value(json_object_get(item, "name")) : "";
        if (name == NULL || type == NULL)
            return fail(schema, "a field of the schema has no %s", name ? "type" : "name");
        put(schema, i > 0 ? "," : "");
        if (are_fields) {
            put(schema, "{\"name\":");
            if (!put_quoted(schema, name))
                return false;
            put(schema, ",\"type\":");
        }
        node->children[i] = parse_type(schema, type, namespace);
        if (node->children[i] == NULL)
            return false;
        put(schema, are_fields ? "}" : "");
        node->child_count++;
    }
    return true;
}

static struct schema_node *parse_symbols(struct pipe_writer_schema *schema,
                                         struct schema_node *node, const json_t *json)
{
    const json_t *symbols = json_object_get(json, "symbols");
    size_t i;
    json_t *symbol;
    if (!json_is_array(symbols))
        return no_node(schema, "an enum of the schema has no symbols%s", "");
    put(schema, ",\"symbols\":[");
    json_array_foreach(symbols, i, symbol)
    {
        if (!json_is_string(symbol))
            return no_node(schema, "an enum symbol of the schema is not a string%s", "");
        put(schema, i > 0 ? "," : "");
        if (!put_quoted(schema, json_string_value(symbol)))
            return NULL;
    }
    put(schema, "]}");
    return node;
}

static struct schema_node *parse_fixed(struct pipe_writer_schema *schema, struct schema_node *node,
                                       const json_t *json)
{
    const json_t *size = json_object_get(json, "size");
    if (!json_is_integer(size) || json_integer_value(size) < 0 ||
        json_integer_value(size) > INT32_MAX)
        return no_node(schema, "a fixed type of the schema has no valid size%s", "");
    node->size = (uint32_t)json_integer_value(size);
    pipe_buf_printf(&schema->canonical, ",\"size\":%u}", node->size);
    return node;
}

static struct schema_node *parse_record(struct pipe_writer_schema *schema, struct schema_node *node,
                                        const json_t *json, const char *full)
{
    const json_t *fields = json_object_get(json, "fields");
    if (!json_is_array(fields))
        return no_node(schema, "the record %.100s of the schema has no fields", full);
    const char *dot = strrchr(full, '.');
    char *inner = dot != NULL ? strndup(full, (size_t)(dot - full)) : NULL;
    put(schema, ",\"fields\":[");
    bool ok = add_children(schema, node, fields, inner, true);
    put(schema, "]}");
    free(inner);
    return ok ? node : NULL;
}

/* Registers the type before its inside is read: it may name itself. */
static struct schema_node *define(struct pipe_writer_schema *schema, enum schema_node_kind kind,
                                  char *full)
{
    if (schema->named_count == MAX_NAMED)
        fail(schema, "the schema has too many named types%s", "");
    else if (find_named(schema, full) != NULL)
        fail(schema, "the schema defines %.100s twice", full);
    struct schema_node *node = schema->error[0] == '\0' ? new_node(schema, kind) : NULL;
    if (node == NULL) {
        free(full);
        return NULL;
    }
    schema->named = pipe_realloc(schema->named, (schema->named_count + 1) * sizeof *schema->named);
    schema->named[schema->named_count++] = (struct named){full, node};
    return node;
}

static struct schema_node *parse_named(struct pipe_writer_schema *schema, const json_t *json,
                                       const char *kind, const char *namespace)
{
    const char *name = json_string_value(json_object_get(json, "name"));
    const char *own = json_string_value(json_object_get(json, "namespace"));
    if (name == NULL)
        return no_node(schema, "a %s of the schema has no name", kind);
    char *full = full_name(name, own != NULL ? own : namespace);
    enum schema_node_kind node_kind = kind[0] == 'r'   ? NODE_RECORD
                                      : kind[0] == 'e' ? NODE_ENUM
                                                       : NODE_FIXED;
    struct schema_node *node = define(schema, node_kind, full);
    if (node == NULL)
        return NULL;
    node->json = json;
    node->name = full;
    put(schema, "{\"name\":");
    if (!put_quoted(schema, full))
        return NULL;
    put(schema, ",\"type\":");
    put_quoted(schema, kind);
    if (node_kind == NODE_ENUM)
        return parse_symbols(schema, node, json);
    if (node_kind == NODE_FIXED)
        return parse_fixed(schema, node, json);
    return parse_record(schema, node, json, full);
}

static struct schema_node *parse_container(struct pipe_writer_schema *schema, const json_t *json,
                                           const char *kind, const char *namespace)
{
    bool is_map = kind[0] == 'm';
    struct schema_node *node = new_node(schema, is_map ? NODE_MAP : NODE_ARRAY);
    if (node == NULL)
        return NULL;
    put(schema, is_map ? "{\"type\":\"map\",\"values\":" : "{\"type\":\"array\",\"items\":");
    node->children = pipe_calloc(1, sizeof *node->children);
    node->children[0] =
        parse_type(schema, json_object_get(json, is_map ? "values" : "items"), namespace);
    node->child_count = 1;
    put(schema, "}");
    return node->children[0] != NULL ? node : NULL;
}

static struct schema_node *parse_object(struct pipe_writer_schema *schema, const json_t *json,
                                        const char *namespace)
{
    const json_t *type = json_object_get(json, "type");
    const char *kind = json_string_value(type);
    if (kind == NULL)
        return parse_type(schema, type, namespace);
    if (strcmp(kind, "record") == 0 || strcmp(kind, "enum") == 0 || strcmp(kind, "fixed") == 0)
        return parse_named(schema, json, kind, namespace);
    if (strcmp(kind, "array") == 0 || strcmp(kind, "map") == 0)
        return parse_container(schema, json, kind, namespace);
    struct schema_node *node = parse_reference(schema, kind, namespace);
    if (node != NULL && node->name == NULL)
        node->json = json; /* it may give a primitive a logical type */
    return node;
}

static struct schema_node *parse_type(struct pipe_writer_schema *schema, const json_t *json,
                                      const char *namespace)
{
    if (++schema->depth > MAX_NESTING)
        return no_node(schema, "the schema is nested too deep%s", "");
    struct schema_node *node = NULL;
    if (json_is_string(json)) {
        node = parse_reference(schema, json_string_value(json), namespace);
    } else if (json_is_object(json)) {
        node = parse_object(schema, json, namespace);
    } else if (json_is_array(json)) {
        node = new_node(schema, NODE_UNION);
        put(schema, "[");
        if (node != NULL && !add_children(schema, node, json, namespace, false))
            node = NULL;
        put(schema, "]");
    } else {
        fail(schema, "a type of the schema is missing or no type%s", "");
    }
    schema->depth--;
    return node;
}

struct pipe_writer_schema *pipe_writer_schema_parse(const char *json, size_t size_bytes,
                                                    char *error, size_t error_bytes)
{
    error[0] = '\0';
    json_error_t cause;
    json_t *root = size_bytes <= PIPE_SCHEMA_MAX_BYTES
                       ? pipe_schema_json(json, size_bytes, JSON_DECODE_ANY, &cause)
                       : NULL;
    if (root == NULL) {
        snprintf(error, error_bytes, "its schema is not JSON, or longer than 1 MiB");
        return NULL;
    }
    struct pipe_writer_schema *schema = pipe_calloc(1, sizeof *schema);
    schema->error = error;
    schema->error_bytes = error_bytes;
    schema->json = root;
    schema->root = parse_type(schema, root, NULL);
    if (schema->root == NULL) {
        fail(schema, "its schema cannot be read%s", "");
        pipe_writer_schema_free(schema);
        schema = NULL;
    } else {
        const char *name = json_string_value(json_object_get(root, "name"));
        schema->name = full_name(name != NULL ? name : "",
                                 json_string_value(json_object_get(root, "namespace")));
        schema->error = NULL;
    }
    return schema;
}

void pipe_writer_schema_free(struct pipe_writer_schema *schema)
{
    if (schema == NULL)
        return;
    for (uint32_t i = 0; i < schema->node_count; i++) {
        free(schema->nodes[i]->children);
        free(schema->nodes[i]);
    }
    for (uint32_t i = 0; i < schema->named_count; i++)
        free(schema->named[i].full_name);
    free(schema->nodes);
    free(schema->named);
    free(schema->name);
    json_decref(schema->json);
    pipe_buf_free(&schema->canonical);
    free(schema);
}

/* ---- Passing over one record ---- */

struct skipper {
    struct pipe_reader *reader;
    const uint8_t *begin;
    uint64_t values;
};

static bool skip(struct skipper *skipper, const struct schema_node *node);

static bool skip_items(struct skipper *skipper, const struct schema_node *node)
{
    uint32_t total = 0;
    int64_t count;
    while (pipe_avro_skip_block(skipper->reader, &total, &count)) {
        if (count == 0)
            return true;
        for (int64_t i = 0; i < count; i++)
            if ((node->kind == NODE_MAP && !pipe_avro_skip_bytes(skipper->reader)) ||
                !skip(skipper, node->children[0]))
                return false;
    }
    return false;
}

static bool skip_children(struct skipper *skipper, const struct schema_node *node)
{
    for (uint32_t i = 0; i < node->child_count; i++)
        if (!skip(skipper, node->children[i]))
            return pipe_reader_at(skipper->reader, pipe_schema_field_name(node, i));
    return true;
}

static bool skip_branch(struct skipper *skipper, const struct schema_node *node)
{
    int64_t branch;
    if (!pipe_avro_long(skipper->reader, &branch))
        return false;
    if (branch < 0 || branch >= node->child_count)
        return pipe_reader_fail_number(skipper->reader, "union index out of range", branch);
    return skip(skipper, node->children[branch]);
}

static bool skip_nested(struct skipper *skipper, const struct schema_node *node)
{
    if (!pipe_reader_enter(skipper->reader))
        return false;
    bool ok = node->kind == NODE_RECORD  ? skip_children(skipper, node)
              : node->kind == NODE_UNION ? skip_branch(skipper, node)
                                         : skip_items(skipper, node);
    pipe_reader_leave(skipper->reader);
    return ok;
}

static bool skip(struct skipper *skipper, const struct schema_node *node)
{
    struct pipe_reader *reader = skipper->reader;
    uint64_t bytes = (uint64_t)(reader->at - skipper->begin);
    if (++skipper->values > VALUES_BESIDES + VALUES_PER_BYTE * bytes)
        return pipe_reader_fail(reader, "too many values without bytes");
    switch (node->kind) {
    case NODE_NULL:
        return true;
    case NODE_BOOL:
        return pipe_avro_skip_fixed(reader, 1);
    case NODE_INT:
    case NODE_LONG:
    case NODE_ENUM:
        return pipe_avro_skip_long(reader);
    case NODE_FLOAT:
        return pipe_avro_skip_fixed(reader, 4);
    case NODE_DOUBLE:
        return pipe_avro_skip_fixed(reader, 8);
    case NODE_BYTES:
    case NODE_STRING:
        return pipe_avro_skip_bytes(reader);
    case NODE_FIXED:
        return pipe_avro_skip_fixed(reader, node->size);
    case NODE_RECORD:
    case NODE_UNION:
    case NODE_ARRAY:
    case NODE_MAP:
        return skip_nested(skipper, node);
    }
    return false;
}

bool pipe_schema_node_skip(const struct schema_node *node, struct pipe_reader *reader)
{
    struct skipper skipper = {reader, reader->at, 0};
    return skip(&skipper, node);
}

bool pipe_writer_schema_skip(const struct pipe_writer_schema *schema, struct pipe_reader *reader)
{
    return pipe_schema_node_skip(schema->root, reader);
}

const struct schema_node *pipe_writer_schema_root(const struct pipe_writer_schema *schema)
{
    return schema->root;
}

uint64_t pipe_avro_fingerprint(const void *canonical, size_t size_bytes)
{
    const uint64_t empty = 0xc15d213aa4d7a795u;
    uint64_t fingerprint = empty;
    for (size_t i = 0; i < size_bytes; i++) {
        fingerprint ^= ((const uint8_t *)canonical)[i];
        for (int bit = 0; bit < 8; bit++)
            fingerprint = fingerprint >> 1 ^ (empty & -(fingerprint & 1));
    }
    return fingerprint;
}

uint64_t pipe_writer_schema_fingerprint(const struct pipe_writer_schema *schema)
{
    return pipe_avro_fingerprint(schema->canonical.data, schema->canonical.size);
}

const char *pipe_writer_schema_name(const struct pipe_writer_schema *schema)
{
    return schema->name;
}
