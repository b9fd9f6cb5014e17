/*
 * testing.h: inline tests in a compiled pipeline (docs/decisions/0004-inline-tests.md).
 * testing_suite.c reads tests.json and makes records of its rows; testing.c drives the engine;
 * testing_rows.c writes what came out. All of it lives in the arena of the suite. Errors: false,
 * and suite->error has one line.
 */
#ifndef PIPE_TESTING_H
#define PIPE_TESTING_H

#include <jansson.h>

#include "engine.h"

enum given_kind { GIVEN_RECORD, GIVEN_NOTHING };
struct given {
    enum given_kind kind;
    uint32_t source;
    int32_t partition;
    int64_t at_ms;
    struct pipe_str key, value; /* key.data NULL: none */
};

struct expected {
    uint32_t sink;           /* the tap */
    const uint32_t *columns; /* compared, indexes in the tap's row */
    uint32_t column_count;
    const json_t *rows;  /* arrays of JSON texts, one a column */
    const uint32_t *key; /* of corrections: what names a window */
    uint32_t key_count;
    int32_t revision; /* column; -1: no corrections */
};

struct test {
    const char *title;
    struct given *givens;
    uint32_t given_count;
    struct expected *expects;
    uint32_t expect_count;
};

struct test_suite {
    const struct pipe_plan *plan;
    struct pipe_arena arena;
    json_t *json;
    struct test *tests;
    uint32_t test_count;
    char error[768];
};

bool suite_read(struct test_suite *suite, const char *path);
void suite_free(struct test_suite *suite);
void *suite_alloc(struct test_suite *suite, size_t size_bytes); /* zeroed */
bool suite_fail(struct test_suite *suite, const char *format, ...) PIPE_PRINTF(2, 3);

/* Appends `[[cell, …], …]`, each cell a JSON string that holds a JSON text: the expected rows in
 * canonical form, or the committed rows of the tap (of corrections the last). */
bool rows_expected(struct test_suite *suite, const struct expected *expected, struct pipe_buf *out);
bool rows_committed(struct test_suite *suite, struct pipe_engine *engine,
                    const struct expected *expected, struct pipe_buf *out);

#endif
