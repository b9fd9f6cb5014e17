/* emit_clickhouse.h: the tables of ClickHouse that a sink wants, for clickhouse.sql and for the
 * plan in the C. All text lives in the program's arena. Private to emit_*.c. */
#ifndef PIPEC_EMIT_CLICKHOUSE_H
#define PIPEC_EMIT_CLICKHOUSE_H

#include "plan.h"

/* Blocks of which the server must remember the tokens: inserts a second, times the minutes that a
 * sender may be cut off. */
#define CLICKHOUSE_WINDOW 10000

struct clickhouse_column {
    const char *name, *type;
};
typedef VEC(struct clickhouse_column) clickhouse_columns;

/* One CREATE statement. */
struct clickhouse_object {
    const char *kind; /* "DATABASE": PIPE_TABLE_DATABASE */
    const char *name; /* "db.table" */
    const char *note; /* the comment above it; NULL: none */
    const char *sql;
};

struct clickhouse_rollup {
    const char *table, *view, *select, *order_by;
    clickhouse_columns columns;
};

struct clickhouse_table {
    const char *keeping; /* "ALL": PIPE_TABLE_ALL */
    const char *engine, *order_by;
    const char *partition_by;       /* NULL: none */
    const char *view, *view_select; /* NULL: none */
    bool nullable_key, has_deleted;
    clickhouse_columns columns;
    VEC(struct clickhouse_rollup) rollups;
    VEC(struct clickhouse_object) objects;
};

/* The sink's tables; it is one of ClickHouse. emit_clickhouse.c */
const struct clickhouse_table *clickhouse_table_of(struct program *program,
                                                   const struct sink *sink);
/* emit_clickhouse_types.c */
void clickhouse_identifier(struct text *out, const char *name);
/* db.table, each part quoted where it must be. */
void clickhouse_table_name(struct text *out, const char *target);
void clickhouse_type(struct text *out, const struct type *type, bool nullable);
const char *transform_name(const struct transform *transform); /* of its column */
void clickhouse_transform(struct text *out, const struct transform *transform,
                          const struct record_type *row);
/* As the key of a roll-up: exact for the years 0001 to 9999, where the engine's own functions clamp
 * or wrap. The number makes an alias in it the only one. */
void clickhouse_rollup_key(struct text *out, const struct transform *transform,
                           const struct record_type *row, size_t number);
/* Of a roll-up's key. */
void clickhouse_transform_type(struct text *out, const struct transform *transform,
                               const struct record_type *row);
/* emit_clickhouse_rollup.c */
struct clickhouse_rollup clickhouse_rollup_of(struct program *program, const struct sink *sink,
                                              const struct rollup *rollup);

/* A copy in the arena; frees the text. */
const char *text_keep(struct program *program, struct text *text);

#endif
