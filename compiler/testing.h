/*
 * testing.h: `pipec test` (docs/decisions/0004-inline-tests.md). testing.c builds and runs,
 * testing_json.c writes the rows for the program, testing_compare.c compares and reports,
 * testing_update.c rewrites expectations. All is allocated in the program's arena.
 */
#ifndef PIPEC_TESTING_H
#define PIPEC_TESTING_H

#include "pipec.h"

/* The ways in which a test runs, as runtime/testing.c orders them. */
enum { TEST_WAYS = 3 };

/* Of one row, in the order of the columns that the expectation names: canonical JSON texts. */
struct cells {
    const char **texts;
};
typedef VEC(struct cells) cells_list;

struct test_expect {
    const struct expectation *expectation;
    const struct stream *stream;
    uint32_t *columns;
    size_t column_count; /* compared, in the stream's row; of `nothing`: all */
    cells_list expected;
    cells_list actual[TEST_WAYS];
};

struct test_run {
    const struct statement *test;
    struct span title; /* with its quotes */
    VEC(struct test_expect) expects;
    const char *errors[TEST_WAYS]; /* why the program stopped, or NULL */
    bool failed, updated; /* updated: the file has the rows that came out (test_update) */
};
typedef VEC(struct test_run) test_runs;

/* --- testing_json.c --- */

struct stream *test_stream(const struct program *program, const char *name);
/* What NAME run-tests reads: an object with keys and tests; the taps are program->sinks. */
json_t *tests_json(struct program *program, const test_runs *runs);
/* Fills `runs` from what it wrote; false: that is malformed. */
bool tests_read_results(struct program *program, const json_t *results, test_runs *runs);

/* --- testing_compare.c --- */

/* The difference of two multisets: `pair` rows have a counterpart that differs in some columns. */
struct row_pair {
    size_t expected, actual;
};
struct difference {
    VEC(struct row_pair) pairs;
    VEC(size_t) missing, unexpected;
};
void test_difference(struct program *program, const struct test_expect *expect, size_t way,
                     struct difference *out);
/* Prints what failed and sets run->failed. `updates`: not what test_update() writes. */
void test_report(struct program *program, struct test_run *run, FILE *to, bool json, bool updates);

/* A cell as a constant of the language: false if none can be written (a line end in a text, …).
 * `style` (may be NULL) tells whether an instant is written as a duration. */
bool test_constant(struct program *program, const char *cell, const struct type *type,
                   const struct constant *style, struct text *out);
/* `(a: 1, b: 'x')`; what has no constant stands as JSON. */
const char *test_row_text(struct program *program, const struct test_expect *expect,
                          const struct cells *row, bool *writable);
const struct constant *test_value(const struct constant *row, const char *column);

/* --- testing_update.c --- */

/* The program text with the rows that came out (straight) in the expectations that failed; false:
 * nothing to change. Prints the lines that changed. */
bool test_update(struct program *program, test_runs *runs, struct text *out);

#endif
