/*
 * avro_program.h: the flat program that avro_resolve.c builds and avro_program.c runs. Everything
 * refers to everything by index. Reads happen in the order of the writer's fields.
 */
#ifndef PIPE_AVRO_PROGRAM_H
#define PIPE_AVRO_PROGRAM_H

#include "avro_resolve.h"
#include "avro_schema_tree.h"

enum program_op {
    OP_NULL,
    OP_BOOL,
    OP_INT,
    OP_LONG,
    OP_FLOAT,
    OP_DOUBLE,
    OP_INT_AS_LONG,
    OP_INT_AS_FLOAT,
    OP_INT_AS_DOUBLE,
    OP_LONG_AS_FLOAT,
    OP_LONG_AS_DOUBLE,
    OP_FLOAT_AS_DOUBLE,
    OP_BYTES,
    OP_STRING,
    OP_JSON,
    OP_UUID,
    OP_FIXED,         /* a: bytes */
    OP_DECIMAL,       /* b: precision */
    OP_DECIMAL_FIXED, /* a: bytes, b: precision */
    OP_DATE,
    OP_TIMESTAMP_MS,
    OP_TIMESTAMP_US,
    OP_ENUM,   /* numbers[a …]: the reader's index of each of b symbols */
    OP_UNION,  /* numbers[a …]: the value of each of b branches */
    OP_RECORD, /* steps[a …]: b of them */
    OP_ARRAY,  /* a: value of the elements */
    OP_MAP     /* a: value of the values */
};

/* How one value of the writer is read into a place of the reader's type. */
struct program_value {
    enum program_op op;
    uint32_t a, b;
    const struct pipe_type *type; /* of the reader: arrays, maps */
};

enum step_kind { STEP_READ, STEP_SKIP, STEP_DEFAULT };
struct program_step {
    enum step_kind kind;
    uint32_t value;                 /* READ */
    bool nested;                    /* READ: a record: its fields' paths go on behind the name */
    uint32_t offset, null_offset;   /* in the row's struct; PIPE_NOT_NULL: it is never null */
    const char *name;               /* the writer's field */
    const struct schema_node *node; /* SKIP */
    const void *constant;           /* DEFAULT: the value; NULL: null */
    uint32_t constant_bytes;
};

struct pipe_resolved {
    struct pipe_writer_schema *writer;
    struct pipe_arena constants;
    struct program_value *values;
    struct program_step *steps;
    uint32_t *numbers;
    uint32_t value_count, step_count, number_count;
    uint32_t root;
};

#endif
