/*
 * reconcile_tables.h: between reconcile_tables.c, reconcile_server.c and reconcile_last.c.
 */
#ifndef PIPE_RECONCILE_TABLES_H
#define PIPE_RECONCILE_TABLES_H

#include "native.h"
#include "reconcile.h"

struct reconcile_last;

struct reconcile_table {
    uint32_t topic; /* that it follows, in the engine's log */
    uint32_t partitions;
    int64_t *marks;                    /* by partition: rows below are confirmed */
    int64_t *begins;                   /* by partition: the topic has nothing before */
    char *directory;                   /* of files; NULL: a server's table */
    struct pipe_native_writer *writer; /* of rows that can't be told apart from others */
    struct pipe_native_reader *reader;
    struct pipe_buf block, row;
    struct reconcile_last *last; /* of a server's table that keeps the last row of a key */
    uint64_t unconfirmed;        /* rows of the topic behind the marks */
    uint64_t found_early;        /* rows of the table behind the marks */
};

/* A row that is there. `where`: a file, or the table. */
void reconcile_find_row(struct reconcile *r, struct reconcile_layer *layer, struct pipe_str json,
                        int32_t partition, int64_t offset, const char *where);

/* reconcile_server.c */
void reconcile_make_server_table(struct reconcile *r, struct reconcile_layer *layer);
bool reconcile_find_server_rows(struct reconcile *r, struct reconcile_layer *layer);

/* reconcile_last.c: what is left of many rows where a table keeps the last of each key. */
struct reconcile_last *reconcile_new_last(struct reconcile *r, const struct pipe_sink_def *sink);
void reconcile_free_last(struct reconcile_last *last); /* NULL: nothing */
void reconcile_expect_last(struct reconcile *r, struct reconcile_layer *layer, bool confirmed,
                           int32_t partition, int64_t offset, struct pipe_str json);
/* A row of the table that is later than what is compared: it may have replaced others. */
void reconcile_find_later(struct reconcile *r, struct reconcile_layer *layer, struct pipe_str json);
/* After all rows: which must be there, and which may be. */
bool reconcile_judge_last(struct reconcile *r, struct reconcile_layer *layer);

#endif
