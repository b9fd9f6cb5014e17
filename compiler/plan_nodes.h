/*
 * plan_nodes.h: the node structs declared by plan_nodes.def, and a table that describes their
 * fields. A node is made by logical.c, printed by explain*.c and hashed by fingerprint.c, none of
 * which names a field twice.
 */
#ifndef PIPEC_PLAN_NODES_H
#define PIPEC_PLAN_NODES_H

#include "plan.h"

typedef const char *node_TEXT;
typedef int64_t node_INT;
typedef bool node_FLAG;
typedef json_t *node_JSON;

enum node_kind {
#define FIELD(node, type, name, class)
#define NODE(kind, fields) NODE_##kind,
#include "plan_nodes.def"
#undef NODE
#undef FIELD
    NODE_KIND_COUNT
};

#define FIELD(node, type, name, class) node_##type name;
#define NODE(kind, fields)                                                                         \
    struct node_##kind {                                                                           \
        fields                                                                                     \
    };
#include "plan_nodes.def"
#undef NODE
#undef FIELD

enum field_type { FIELD_TEXT, FIELD_INT, FIELD_FLAG, FIELD_JSON };
enum field_class { CLASS_STATE, CLASS_SEMANTIC, CLASS_COSMETIC };
struct node_field {
    const char *name;
    enum field_type type;
    enum field_class class;
    size_t offset;
};
struct node_shape {
    const char *kind;
    const struct node_field *fields;
    size_t field_count;
};
extern const struct node_shape node_shapes[NODE_KIND_COUNT];

struct node {
    enum node_kind kind;
    const struct stream *stream; /* whose node it is; NULL for contracts */
    const struct stage *stage;   /* where it runs; NULL: several or none */
    const struct step *step;
    const struct sink *sink;
    const struct exchange *exchange;
    void *fields; /* struct node_<kind> */
};
typedef VEC(struct node) node_list;

/* All nodes of the plan in dataflow order: contracts, then each stream's with its sinks behind it.
 */
node_list plan_nodes(const struct program *program);
/* The nodes own JSON values that the arena does not free. */
void plan_nodes_release(node_list *nodes);
/* The node as a JSON object with its kind; new reference. */
json_t *node_json(const struct node *node, bool fingerprint_only);

#endif
