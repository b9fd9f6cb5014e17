/*
 * native_internal.h: what native*.c share: the columns of a block as a tree that mirrors the types
 * of the row. Writer and reader have one each, and fill it with the values of one block.
 */
#ifndef PIPE_NATIVE_INTERNAL_H
#define PIPE_NATIVE_INTERNAL_H

#include "native.h"

/* What a reader takes of others in one block. */
#define NATIVE_ROWS_MAX (1u << 24)
#define NATIVE_BLOCK_BYTES_MAX ((size_t)256 << 20)

/* LowCardinality: the version before a column, and the flags of each part of it: keys of its own,
 * which are not those of the part before; the low byte is the width of an index as a power of 2. */
#define NATIVE_LOW_VERSION 1u
#define NATIVE_LOW_OWN_KEYS 0x200u
#define NATIVE_LOW_FLAGS 0x600u

enum native_kind {
    NATIVE_FIXED,  /* `width` bytes a value */
    NATIVE_STRING, /* String: of text, also of JSON, and bytes */
    NATIVE_LOW,    /* LowCardinality(String): the symbols of an enum */
    NATIVE_LIST,   /* Array: an element; Map: key and value. Behind one another in the children */
    NATIVE_TUPLE
};

struct native_column {
    enum native_kind kind;
    const struct pipe_type *type;       /* NULL: _pipe_partition, _pipe_offset, the keys of a map */
    const struct native_column *parent; /* NULL: a column of the table */
    bool is_flag;                       /* _pipe_deleted: a bool here, UInt8 in the table */
    /* The value may be null in the row. FIXED, STRING and LOW say so, a tuple by what is in it:
     * `mark` is null then and only then. Without one, and in a LIST, null can't be told apart. */
    bool may_be_null;
    bool nullable; /* FIXED, STRING: Nullable(…); LOW: its first key is null */
    const struct native_column *mark;
    uint32_t width; /* bytes; LOW: of an index */
    struct native_column *children;
    uint32_t child_count;
    struct pipe_str name, prefix; /* prefix: `{"name":`, `,"name":`; empty in lists */
    uint64_t rows;
    struct pipe_buf nulls, data; /* data: FIXED values, LOW indexes, LIST ends (uint64_t); STRING:
                                    the writer each behind its length, the reader text only */
    struct pipe_buf ends;        /* reader: STRING, uint64_t */
    struct pipe_buf keys;        /* reader: LOW, uint32_t: symbols */
    size_t nulls_before, data_before; /* writer: without the row that is being added */
    size_t nulls_likely, data_likely; /* writer: of the block finished last */
};

/* The row as the table has it: with _pipe_deleted, if it has that, as its last column, and without
 * the difference between text and JSON: in rows of topics both are strings. */
struct native_table {
    const struct pipe_table_def *def;
    struct pipe_row_type row;
    struct pipe_arena arena;       /* of types, columns and names */
    struct native_column *columns; /* those of `row`, partition, offset */
    uint32_t column_count;
    struct native_column **all; /* these and all inside of them, each before its children */
    uint32_t all_count;
    bool lossy; /* some null can't be told apart */
};

void native_table_init(struct native_table *table, const struct pipe_table_def *def,
                       const struct pipe_row_type *row);
void native_table_clear(struct native_table *table); /* forgets values */
void native_table_free(struct native_table *table);

#endif
