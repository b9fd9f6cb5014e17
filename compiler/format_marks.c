/*
 * format_marks.c: which tokens of a statement start a line, and what is aligned, from its tree.
 */
#include <limits.h>
#include <string.h>
#include "format.h"

#define MOST_ALIGNED_COLUMNS 60 /* a longer item is left out of the alignment */

static void mark(struct layout *layout, uint32_t offset, enum mark mark, unsigned indent)
{
    struct piece *piece = &layout->pieces[layout_find(layout, offset)];
    piece->mark = mark;
    piece->indent = indent;
}

/* Spaces before the pieces `at[i]` so that they stand in one column; lines start at `from[i]`. */
static void align(struct layout *layout, const size_t *from, const size_t *at, size_t count)
{
    unsigned widest = 0;
    for (size_t i = 0; i < count; i++) {
        unsigned columns = layout_columns(layout, from[i], at[i]);
        if (columns <= MOST_ALIGNED_COLUMNS && columns > widest)
            widest = columns;
    }
    for (size_t i = 0; i < count; i++) {
        unsigned columns = layout_columns(layout, from[i], at[i]);
        if (columns <= widest)
            layout->pieces[at[i]].pad = widest - columns;
    }
}

static void mark_items(struct layout *layout, const item_list *items)
{
    for (size_t i = 0; i < items->count; i++) {
        const struct item *item = &items->items[i];
        if (item->kind == ITEM_STAR && item->except.count)
            layout->pieces[layout_find(layout, item->span.begin) + 2].spaced = true;
    }
    if (items->count < 2)
        return;
    struct arena *arena = layout->program->arena;
    size_t *from = arena_alloc(arena, items->count * sizeof *from);
    size_t *at = arena_alloc(arena, items->count * sizeof *at);
    size_t count = 0;
    for (size_t i = 0; i < items->count; i++) {
        const struct item *item = &items->items[i];
        mark(layout, item->span.begin, MARK_HARD, FORMAT_ITEM_INDENT);
        if (!item->as.text)
            continue;
        from[count] = layout_find(layout, item->span.begin);
        at[count++] = layout_find(layout, item->as.span.begin) - 1;
    }
    align(layout, from, at, count);
}

static void mark_steps(struct layout *layout, const struct clause *clause)
{
    struct arena *arena = layout->program->arena;
    size_t *from = arena_alloc(arena, clause->steps.count * sizeof *from);
    size_t *at = arena_alloc(arena, clause->steps.count * sizeof *at);
    for (size_t i = 0; i < clause->steps.count; i++) {
        mark(layout, clause->steps.items[i].span.begin, MARK_HARD, FORMAT_ITEM_INDENT);
        from[i] = layout_find(layout, clause->steps.items[i].span.begin);
        at[i] = from[i] + 1;
    }
    align(layout, from, at, clause->steps.count);
}

/* On one line if they fit, else one a line. */
static void mark_columns(struct layout *layout, const struct clause *clause)
{
    size_t from = layout_find(layout, clause->span.begin);
    size_t to = layout_find(layout, clause->span.end);
    layout->pieces[from + 1].spaced = true;
    if (layout_columns(layout, from, to) <= FORMAT_MAX_COLUMNS - FORMAT_CLAUSE_INDENT)
        return;
    for (size_t i = 0; i < clause->columns.count; i++)
        mark(layout, clause->columns.items[i].name.span.begin, MARK_HARD, FORMAT_ITEM_INDENT);
    mark(layout, clause->span.end - 1, MARK_HARD, FORMAT_CLAUSE_INDENT);
}

/* Whether a clause continues the line of the one before it, if there is room. */
static bool joins(const struct clause *before, const struct clause *clause)
{
    if (!before)
        return clause->kind == CLAUSE_COMMIT;
    enum clause_kind last = before->kind;
    enum clause_kind kind = clause->kind;
    if (kind == CLAUSE_PARTITIONS || kind == CLAUSE_KEY)
        return last == CLAUSE_FROM_KAFKA || last == CLAUSE_PARTITIONS || last == CLAUSE_KEY;
    if (kind == CLAUSE_IDLE || kind == CLAUSE_AHEAD)
        return last == CLAUSE_WATERMARK || last == CLAUSE_IDLE || last == CLAUSE_AHEAD;
    if (kind == CLAUSE_FORMAT)
        return last == CLAUSE_FROM_FILE || last == CLAUSE_FROM_KAFKA;
    return kind == CLAUSE_HEADER && last == CLAUSE_FORMAT;
}

static void mark_clause(struct layout *layout, const struct clause *before,
                        const struct clause *clause)
{
    bool soft = joins(before, clause);
    mark(layout, clause->span.begin, soft ? MARK_SOFT : MARK_HARD, FORMAT_CLAUSE_INDENT);
    if (clause->kind == CLAUSE_SELECT || clause->kind == CLAUSE_AGGREGATE)
        mark_items(layout, &clause->items);
    else if (clause->kind == CLAUSE_COLUMNS)
        mark_columns(layout, clause);
    else if (clause->kind == CLAUSE_STEPS)
        mark_steps(layout, clause);
}

static bool is_target(const struct clause *clause)
{
    return clause->kind == CLAUSE_TO_KAFKA || clause->kind == CLAUSE_TO_CLICKHOUSE ||
           clause->kind == CLAUSE_TO_ICEBERG || clause->kind == CLAUSE_TO_FILE ||
           clause->kind == CLAUSE_TO_STDOUT;
}

/* A sink is one line if it fits and has no rollup; else its target stays on the first line. */
static void mark_sink(struct layout *layout, const struct statement *statement, size_t from,
                      size_t to)
{
    bool has_rollup = false;
    for (size_t i = 0; i < statement->clauses.count; i++) {
        const struct clause *clause = &statement->clauses.items[i];
        if (clause->kind != CLAUSE_ROLLUP)
            continue;
        has_rollup = true;
        size_t item = layout_find(layout, clause->items.items[0].span.begin);
        layout->pieces[item - 1].mark = MARK_HARD;
        layout->pieces[item - 1].indent = FORMAT_ITEM_INDENT;
    }
    if (!has_rollup && layout_columns(layout, from, to) <= FORMAT_MAX_COLUMNS)
        return;
    for (size_t i = 0; i < statement->clauses.count; i++) {
        const struct clause *clause = &statement->clauses.items[i];
        bool soft = i == 0 && is_target(clause);
        mark(layout, clause->span.begin, soft ? MARK_SOFT : MARK_HARD, FORMAT_CLAUSE_INDENT);
    }
}

static void mark_test(struct layout *layout, const struct statement *statement)
{
    for (size_t i = 0; i < statement->givens.count; i++) {
        const struct test_given *given = &statement->givens.items[i];
        size_t source = layout_find(layout, given->source.span.begin);
        layout->pieces[source - 1].mark = MARK_HARD;
        layout->pieces[source - 1].indent = FORMAT_CLAUSE_INDENT;
        for (size_t k = 0; k < given->rows.count; k++)
            mark(layout, given->rows.items[k].span.begin, MARK_HARD, FORMAT_ITEM_INDENT);
    }
    for (size_t i = 0; i < statement->expects.count; i++) {
        const struct expectation *expectation = &statement->expects.items[i];
        mark(layout, expectation->span.begin, MARK_HARD, FORMAT_CLAUSE_INDENT);
        for (size_t k = 0; k < expectation->rows.count; k++)
            mark(layout, expectation->rows.items[k]->span.begin, MARK_HARD, FORMAT_ITEM_INDENT);
    }
}

/* Rows are the only places where a name and ':' follow a '('. */
static void mark_rows(struct layout *layout, size_t from, size_t to)
{
    for (size_t i = from; i + 2 < to; i++)
        if (piece_is(&layout->pieces[i], "(") && piece_is(&layout->pieces[i + 2], ":"))
            layout->pieces[i].spaced = true;
}

void layout_mark(struct layout *layout, const struct statement *statement, size_t from, size_t to)
{
    mark_rows(layout, from, to);
    layout->pieces[from].mark = MARK_HARD;
    if (statement->kind == STATEMENT_SINK) {
        mark_sink(layout, statement, from, to);
        return;
    }
    for (size_t i = 0; i < statement->clauses.count; i++)
        mark_clause(layout, i ? &statement->clauses.items[i - 1] : NULL,
                    &statement->clauses.items[i]);
    mark_test(layout, statement);
    for (size_t i = 0; i < statement->decisions.count; i++)
        mark(layout, statement->decisions.items[i].span.begin, MARK_HARD, FORMAT_CLAUSE_INDENT);
}
