/*
 * tables.h: the tables that a pipeline needs in ClickHouse, as the server has them
 * (tables_compare.c), for `NAME tables` (tables.c) and `NAME doctor`.
 *
 * What is missing is made, columns of a grown contract are added, settings on which exactly-once
 * depends are put right, a view that only selects is replaced. Whatever would lose or reinterpret
 * rows is refused: another engine, order, partition or type, another roll-up.
 */
#ifndef PIPE_TABLES_H
#define PIPE_TABLES_H

#include "clickhouse.h"

struct pipe_plan;

enum tables_kind {
    TABLES_MISSING, /* sql makes it */
    TABLES_DIFFERS, /* sql puts it right, losing nothing */
    TABLES_REFUSED, /* nothing is done about it */
    TABLES_NOTE     /* as good, but worth knowing */
};

struct tables_difference {
    enum tables_kind kind;
    char *object; /* "lumen.events" */
    char *text;   /* "column x is missing (String)" */
    char *sql;    /* MISSING, DIFFERS; else NULL */
};

struct tables_differences {
    struct tables_difference *items; /* in the order in which they are to be put right */
    size_t count;
    char error[768]; /* of a comparison that failed */
};

/* All tables of the plan. Blocks. False: the server can't be asked; error. */
bool tables_compare(const struct pipe_plan *plan, struct pipe_clickhouse *client,
                    struct tables_differences *differences);
void tables_differences_free(struct tables_differences *differences);
/* How many sinks write to ClickHouse. */
uint32_t tables_count(const struct pipe_plan *plan);

/* ---- As servers write it (tables_shape.c) ---- */

/* Whether a table's engine is the one wanted ("ReplacingMergeTree(revision)"), replicated or not:
 * then more arguments stand before ours. `engine`, `engine_full`: of system.tables. */
bool tables_same_engine(const char *engine, const char *engine_full, const char *wanted);
bool tables_is_replicated(const char *engine); /* or shared */
/* But for blanks, quotes of names, and parentheses around all of it. */
bool tables_same_key(const char *found, const char *wanted);

/* ---- Private to tables_*.c ---- */

/* What the server says of a table or view (tables_read.c). */
struct tables_column {
    char *name, *type, *default_kind; /* default_kind: "", "DEFAULT", "MATERIALIZED", "ALIAS" … */
};
struct tables_found {
    bool exists;
    char *engine, *engine_full, *sorting_key, *partition_key, *as_select, *create;
    bool has_position_index;
    struct tables_column *columns;
    size_t column_count;
};
struct tables_server {
    struct pipe_clickhouse *client;
    char *error;
    size_t error_bytes;
};

/* These block, and are false if the server can't be asked. */
bool tables_read_database(const struct tables_server *server, const char *name, bool *exists);
bool tables_read(const struct tables_server *server, const char *target,
                 struct tables_found *found);
/* Whether a table is there and has rows. */
bool tables_has_rows(const struct tables_server *server, const char *target, bool *any);
void tables_found_free(struct tables_found *found);
/* The value of a setting of a MergeTree table: its own, or the server's default. From malloc. */
bool tables_read_setting(const struct tables_server *server, const struct tables_found *found,
                         const char *name, char **value);
/* Whether tables of the server can have a setting. */
bool tables_knows_setting(const struct tables_server *server, const char *name, bool *knows);
/* A statement as this server would write it; from malloc. */
bool tables_read_normal(const struct tables_server *server, const char *sql, char **normal);

#endif
