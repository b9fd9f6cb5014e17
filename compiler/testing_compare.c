/* testing_compare.c: the difference between rows expected and rows that came out, as messages. */
#include "testing.h"

#include <string.h>

enum { SHOWN_ROWS = 10 }; /* messages of a kind and expectation */

static const char *const way_names[TEST_WAYS] = {"straight", "stopped and restored after every row",
                                                 "every commit refused once"};

/* ---- multisets ---- */

static size_t equal_cells(const struct test_expect *expect, const struct cells *a,
                          const struct cells *b)
{
    size_t equal = 0;
    for (size_t c = 0; c < expect->column_count; c++)
        equal += strcmp(a->texts[c], b->texts[c]) == 0;
    return equal;
}

/* Pairs what is left with `equal` columns in common. */
static void pair_rows(struct program *program, const struct test_expect *expect, size_t way,
                      size_t equal, bool *met, bool *used, struct difference *out)
{
    const cells_list *expected = &expect->expected, *actual = &expect->actual[way];
    for (size_t i = 0; i < expected->count; i++)
        for (size_t j = 0; !met[i] && j < actual->count; j++) {
            if (used[j] || equal_cells(expect, &expected->items[i], &actual->items[j]) != equal)
                continue;
            met[i] = used[j] = true;
            if (equal < expect->column_count)
                vec_push(program->arena, &out->pairs, ((struct row_pair){i, j}));
        }
}

void test_difference(struct program *program, const struct test_expect *expect, size_t way,
                     struct difference *out)
{
    const cells_list *expected = &expect->expected, *actual = &expect->actual[way];
    bool *met = arena_alloc(program->arena, expected->count + 1);
    bool *used = arena_alloc(program->arena, actual->count + 1);
    size_t columns = expect->column_count, least = columns == 1 ? 0 : 1;
    /* Rows that are equal first, then those alike, the most alike first. */
    for (size_t equal = columns + 1; equal-- > least;)
        pair_rows(program, expect, way, equal, met, used, out);
    for (size_t i = 0; i < expected->count; i++)
        if (!met[i])
            vec_push(program->arena, &out->missing, i);
    for (size_t j = 0; j < actual->count; j++)
        if (!used[j])
            vec_push(program->arena, &out->unexpected, j);
}

static bool is_empty(const struct difference *difference)
{
    return difference->pairs.count == 0 && difference->missing.count == 0 &&
           difference->unexpected.count == 0;
}

/* Whether a way gave what the straight one gave. */
static bool as_straight(struct program *program, const struct test_run *run, size_t way)
{
    if ((run->errors[0] == NULL) != (run->errors[way] == NULL))
        return false;
    if (run->errors[0] != NULL)
        return strcmp(run->errors[0], run->errors[way]) == 0;
    for (size_t i = 0; i < run->expects.count; i++) {
        struct test_expect both = run->expects.items[i];
        struct difference difference = {0};
        both.expected = both.actual[0];
        test_difference(program, &both, way, &difference);
        if (!is_empty(&difference))
            return false;
    }
    return true;
}

/* ---- messages ---- */

struct report {
    struct program *program;
    struct test_run *run;
    const char *head;
    FILE *to;
    bool json;
    bool is_quiet; /* nothing is printed */
};

static void print(const struct report *report, const struct diag *diag)
{
    report->run->failed = true;
    if (report->is_quiet)
        return;
    diag_print_one(diag, report->to, report->json);
    if (!report->json)
        fputc('\n', report->to);
}

static const char *cell_text(const struct report *report, const struct test_expect *expect,
                             const char *cell, size_t column, const struct constant *style)
{
    struct text out = {0};
    const struct type *type = expect->stream->row->fields[expect->columns[column]].type;
    bool good = test_constant(report->program, cell, type, style, &out);
    const char *text = good ? arena_strndup(report->program->arena, out.data, out.size) : cell;
    text_free(&out);
    return text;
}

/* A row that is there with other values: each of them is marked. */
static void report_pair(const struct report *report, const struct test_expect *expect, size_t way,
                        struct row_pair pair)
{
    const struct constant *row = expect->expectation->rows.items[pair.expected];
    const struct cells *expected = &expect->expected.items[pair.expected];
    const struct cells *actual = &expect->actual[way].items[pair.actual];
    struct diag *diag = NULL;
    for (size_t c = 0; c < expect->column_count; c++) {
        if (strcmp(expected->texts[c], actual->texts[c]) == 0)
            continue;
        const char *name = expect->stream->row->fields[expect->columns[c]].name;
        const struct constant *value = test_value(row, name);
        const char *is = cell_text(report, expect, actual->texts[c], c, value);
        if (diag == NULL) {
            diag = diag_detached(report->program, report->head, value->span,
                                 "a row of `%s` has another `%s`", expect->stream->name.text, name);
            diag_label(diag, "it is %s", is);
        } else {
            diag_also(diag, value->span, "`%s` is %s", name, is);
        }
    }
    bool writable;
    diag_note(diag, "the row is %s", test_row_text(report->program, expect, actual, &writable));
    print(report, diag);
}

static void report_missing(const struct report *report, const struct test_expect *expect,
                           size_t way, size_t index)
{
    struct diag *diag =
        diag_detached(report->program, report->head, expect->expectation->rows.items[index]->span,
                      "a row of `%s` is missing", expect->stream->name.text);
    diag_label(diag, "not in the output");
    diag_note(diag, "`%s` has %zu row%s", expect->stream->name.text, expect->actual[way].count,
              expect->actual[way].count == 1 ? "" : "s");
    print(report, diag);
}

static void report_unexpected(const struct report *report, const struct test_expect *expect,
                              size_t way, size_t index, size_t times)
{
    bool writable;
    const struct cells *row = &expect->actual[way].items[index];
    struct diag *diag =
        diag_detached(report->program, report->head, expect->expectation->stream.span,
                      "a row of `%s` is not expected", expect->stream->name.text);
    diag_label(diag, expect->expectation->nothing ? "nothing is expected"
                                                  : "not among these rows, or not so often");
    const char *text = test_row_text(report->program, expect, row, &writable);
    if (times > 1)
        diag_note(diag, "the row is %s (%zu times)", text, times);
    else
        diag_note(diag, "the row is %s", text);
    print(report, diag);
}

static size_t beyond_shown(size_t count)
{
    return count > SHOWN_ROWS ? count - SHOWN_ROWS : 0;
}

static void report_more(const struct report *report, const struct test_expect *expect, size_t count,
                        const char *what)
{
    if (count == 0)
        return;
    struct diag *diag =
        diag_detached(report->program, report->head, expect->expectation->stream.span,
                      "%zu more rows of `%s` %s", count, expect->stream->name.text, what);
    print(report, diag);
}

/* Rows that are equal are one message. */
static void report_all_unexpected(const struct report *report, const struct test_expect *expect,
                                  size_t way, const struct difference *difference)
{
    const cells_list *actual = &expect->actual[way];
    size_t count = difference->unexpected.count, shown = 0, left = 0;
    bool *said = arena_alloc(report->program->arena, count + 1);
    for (size_t i = 0; i < count; i++) {
        size_t row = difference->unexpected.items[i], times = 0;
        if (said[i])
            continue;
        for (size_t j = i; j < count; j++) {
            const struct cells *other = &actual->items[difference->unexpected.items[j]];
            if (equal_cells(expect, &actual->items[row], other) < expect->column_count)
                continue;
            said[j] = true;
            times++;
        }
        if (shown++ < SHOWN_ROWS)
            report_unexpected(report, expect, way, row, times);
        else
            left += times;
    }
    report_more(report, expect, left, "are not expected");
}

static void report_expect(const struct report *report, const struct test_expect *expect, size_t way)
{
    struct difference difference = {0};
    test_difference(report->program, expect, way, &difference);
    for (size_t i = 0; i < difference.pairs.count && i < SHOWN_ROWS; i++)
        report_pair(report, expect, way, difference.pairs.items[i]);
    report_more(report, expect, beyond_shown(difference.pairs.count), "have other values");
    for (size_t i = 0; i < difference.missing.count && i < SHOWN_ROWS; i++)
        report_missing(report, expect, way, difference.missing.items[i]);
    report_more(report, expect, beyond_shown(difference.missing.count), "are missing");
    report_all_unexpected(report, expect, way, &difference);
}

void test_report(struct program *program, struct test_run *run, FILE *to, bool json, bool updates)
{
    bool differ = false;
    for (size_t way = 1; way < TEST_WAYS; way++)
        differ = differ || !as_straight(program, run, way);
    for (size_t way = 0; way < TEST_WAYS; way++) {
        if (way > 0 && as_straight(program, run, way))
            continue; /* said already, or fine */
        struct report report = {program, run, NULL, to, json, false};
        report.head = arena_printf(program->arena, "FAIL '%s'%s%s", run->test->text,
                                   differ ? ", " : "", differ ? way_names[way] : "");
        if (run->errors[way] != NULL) {
            struct diag *diag = diag_detached(program, report.head, run->title,
                                              "the program stopped: %s", run->errors[way]);
            print(&report, diag);
            continue;
        }
        report.is_quiet = updates && way == 0;
        for (size_t i = 0; i < run->expects.count; i++)
            report_expect(&report, &run->expects.items[i], way);
    }
}
