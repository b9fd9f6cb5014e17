/*
 * avro_schema_tree.h: a parsed schema as a tree, for what looks into it: avro_writer_schema.c makes
 * it and passes over values by it, avro_compatible.c compares two of them, avro_resolve.c builds
 * programs from them.
 *
 * Nodes belong to their schema, as does the JSON that they point to. A named type that is used
 * again is the same node: a recursive schema is a graph.
 */
#ifndef PIPE_AVRO_SCHEMA_TREE_H
#define PIPE_AVRO_SCHEMA_TREE_H

#include <jansson.h>

#include "avro_writer_schema.h"
#include "row.h"

enum schema_node_kind {
    NODE_NULL,
    NODE_BOOL,
    NODE_INT,
    NODE_LONG,
    NODE_FLOAT,
    NODE_DOUBLE,
    NODE_BYTES,
    NODE_STRING,
    NODE_ENUM,
    NODE_FIXED,  /* size */
    NODE_RECORD, /* children: fields, in the order of the JSON's */
    NODE_UNION,  /* children: branches */
    NODE_ARRAY,  /* child */
    NODE_MAP     /* child */
};

struct schema_node {
    enum schema_node_kind kind;
    uint32_t size;      /* bytes */
    const json_t *json; /* the object that says it; NULL: a name alone, a union */
    const char *name;   /* full, of records, enums and fixed; else NULL */
    struct schema_node **children;
    uint32_t child_count;
};

const struct schema_node *pipe_writer_schema_root(const struct pipe_writer_schema *schema);
/* Moves the reader behind one value of the node; false: reader->cause. Values are not judged. */
bool pipe_schema_node_skip(const struct schema_node *node, struct pipe_reader *reader);

/* What a type means to a row; of nulls and unions kind says nothing. */
struct schema_meaning {
    enum pipe_kind kind;
    unsigned precision, scale;
    bool is_json;
};
struct schema_meaning pipe_schema_meaning(const struct schema_node *node);

/* A member of the node's object that is text; NULL: none. */
const char *pipe_schema_text(const struct schema_node *node, const char *key);
const char *pipe_schema_field_name(const struct schema_node *record, uint32_t field);
/* The writer's field for one of the reader, by name or else by an alias of it; -1: none. */
int64_t pipe_schema_match(const struct schema_node *writer, const struct schema_node *reader,
                          uint32_t field);
/* The branch that is not null of an optional value; any other node itself. */
const struct schema_node *pipe_schema_value(const struct schema_node *node);

/*
 * Whether values of `writer` can be read as `reader`, by the rules of the compiler
 * (compatibility.c there); a union of the writer is read if each of its branches is. `same_form`:
 * see pipe_resolve. False: error names the field and what each side says of it.
 */
bool pipe_schema_compatible(const struct schema_node *reader, const struct schema_node *writer,
                            bool same_form, char *error, size_t error_bytes);

/* Names of schemas are any text: what is not printable ASCII becomes '?', so that a message that
 * was cut stays text. */
void pipe_schema_clean(char *text);

#endif
