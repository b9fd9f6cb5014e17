/* emit_clickhouse_rollup.c: what a `rollup` clause makes: a table of aggregates, and the view that
 * adds every insert to it. */
#include "emit_clickhouse.h"

#include <string.h>

static const char *column_of(const struct expr *expr, const struct record_type *row)
{
    return expr != NULL && expr->kind == EXPR_PATH && expr->steps.count > 0
               ? row->fields[expr->steps.items[0]].name
               : "";
}

struct rollup_function {
    const char *name;
    bool simple; /* SimpleAggregateFunction(name, type): kept as the value itself */
};

static struct rollup_function rollup_function(enum aggregate_kind kind)
{
    switch (kind) {
    case AGG_COUNT:
    case AGG_COUNT_IF:
    case AGG_SUM:
        return (struct rollup_function){"sum", true};
    case AGG_MIN:
        return (struct rollup_function){"min", true};
    case AGG_MAX:
        return (struct rollup_function){"max", true};
    case AGG_AVG:
        return (struct rollup_function){"avg", false};
    case AGG_MIN_BY:
        return (struct rollup_function){"argMin", false};
    case AGG_MAX_BY:
        return (struct rollup_function){"argMax", false};
    case AGG_COUNT_DISTINCT:
        return (struct rollup_function){"uniqExact", false};
    case AGG_APPROX_COUNT_DISTINCT:
        return (struct rollup_function){"uniqCombined64", false};
    case AGG_APPROX_QUANTILE:
    case AGG_FIRST:
    case AGG_LAST:
        break;
    }
    return (struct rollup_function){"quantileTDigest", false};
}

/* Sums and means add up in a type that they cannot leave. */
static void add_argument_type(struct text *out, const struct aggregate *aggregate)
{
    const struct type *type = aggregate->arg->type;
    bool adds = aggregate->kind == AGG_SUM || aggregate->kind == AGG_AVG;
    bool whole = type_is_integer(type) || type->kind == TYPE_DURATION;
    bool nullable = aggregate->arg->nullable;
    if (adds && (whole || type->kind == TYPE_DECIMAL)) {
        text_puts(out, nullable ? "Nullable(" : "");
        if (whole && aggregate->kind == AGG_SUM)
            text_puts(out, "Int128");
        else
            text_printf(out, "Decimal(76, %u)", whole ? 0 : type->scale);
        text_puts(out, nullable ? ")" : "");
    } else {
        clickhouse_type(out, aggregate->kind == AGG_SUM ? aggregate->type : type, nullable);
    }
}

/* Its argument, named `column`, as of that type. */
static void add_argument(struct text *out, const struct aggregate *aggregate, const char *column)
{
    const struct type *type = aggregate->arg->type;
    bool adds = aggregate->kind == AGG_SUM || aggregate->kind == AGG_AVG;
    bool whole = type_is_integer(type) || type->kind == TYPE_DURATION;
    if (adds && whole && aggregate->kind == AGG_SUM)
        text_printf(out, "toInt128(%s)", column);
    else if (adds && (whole || type->kind == TYPE_DECIMAL))
        text_printf(out, "toDecimal256(%s, %u)", column, whole ? 0 : type->scale);
    else
        text_puts(out, column);
}

static void add_rollup_type(struct text *out, const struct aggregate *aggregate)
{
    struct rollup_function function = rollup_function(aggregate->kind);
    bool count = aggregate->kind == AGG_COUNT || aggregate->kind == AGG_COUNT_IF;
    text_printf(out, "%sAggregateFunction(%s", function.simple ? "Simple" : "", function.name);
    if (aggregate->kind == AGG_APPROX_QUANTILE)
        text_printf(out, "(%.17g)", aggregate->quantile);
    text_puts(out, ", ");
    if (count)
        text_puts(out, "Int64");
    else
        add_argument_type(out, aggregate);
    if (aggregate->by != NULL) {
        text_puts(out, ", ");
        clickhouse_type(out, aggregate->by->type, aggregate->by->nullable);
    }
    text_puts(out, ")");
}

/* `number`: of its columns in the inner query. */
static void add_rollup_value(struct text *out, const struct aggregate *aggregate, size_t number)
{
    struct rollup_function function = rollup_function(aggregate->kind);
    char column[40], by[40];
    snprintf(column, sizeof column, "_pipe_value_%zu", number);
    snprintf(by, sizeof by, "_pipe_by_%zu", number);
    if (aggregate->kind == AGG_COUNT)
        text_printf(out, "toInt64(count(%s))", aggregate->arg != NULL ? column : "");
    else if (aggregate->kind == AGG_COUNT_IF)
        text_printf(out, "toInt64(countIf(%s))", column);
    else if (function.simple)
        text_printf(out, "%s(%s)", function.name, column);
    else if (aggregate->kind == AGG_APPROX_QUANTILE)
        text_printf(out, "quantileTDigestState(%.17g)(%s)", aggregate->quantile, column);
    else
        text_printf(out, "%sState(%s%s%s)", function.name, column,
                    aggregate->by != NULL ? ", " : "", aggregate->by != NULL ? by : "");
    text_puts(out, " AS ");
    clickhouse_identifier(out, aggregate->name);
}

static void add_keys(struct text *out, const struct rollup *rollup)
{
    for (size_t i = 0; i < rollup->transforms->count; i++) {
        text_puts(out, i > 0 ? ", " : "");
        clickhouse_identifier(out, transform_name(&rollup->transforms->items[i]));
    }
}

static void add_columns(struct program *program, clickhouse_columns *columns,
                        const struct rollup *rollup, const struct record_type *row)
{
    for (size_t i = 0; i < rollup->transforms->count; i++) {
        const struct transform *transform = &rollup->transforms->items[i];
        struct text type = {0};
        clickhouse_transform_type(&type, transform, row);
        struct clickhouse_column column = {transform_name(transform), text_keep(program, &type)};
        vec_push(program->arena, columns, column);
    }
    for (size_t i = 0; i < rollup->aggregate_count; i++) {
        struct text type = {0};
        add_rollup_type(&type, &rollup->aggregates[i]);
        struct clickhouse_column column = {rollup->aggregates[i].name, text_keep(program, &type)};
        vec_push(program->arena, columns, column);
    }
}

static void add_outer(struct text *out, const struct rollup *rollup)
{
    text_puts(out, "SELECT\n");
    for (size_t i = 0; i < rollup->transforms->count; i++) {
        text_printf(out, "    _pipe_key_%zu AS ", i);
        clickhouse_identifier(out, transform_name(&rollup->transforms->items[i]));
        text_puts(out, ",\n");
    }
    for (size_t i = 0; i < rollup->aggregate_count; i++) {
        text_puts(out, "    ");
        add_rollup_value(out, &rollup->aggregates[i], i);
        text_puts(out, i + 1 < rollup->aggregate_count ? ",\n" : "\n");
    }
}

static void add_inner(struct text *out, const struct rollup *rollup, const struct record_type *row)
{
    for (size_t i = 0; i < rollup->transforms->count; i++) {
        text_puts(out, i > 0 ? ",\n        " : "    SELECT\n        ");
        clickhouse_rollup_key(out, &rollup->transforms->items[i], row, i);
        text_printf(out, " AS _pipe_key_%zu", i);
    }
    for (size_t i = 0; i < rollup->aggregate_count; i++) {
        const struct aggregate *aggregate = &rollup->aggregates[i];
        struct text column = {0};
        if (aggregate->arg != NULL) {
            clickhouse_identifier(&column, column_of(aggregate->arg, row));
            text_puts(out, ",\n        ");
            add_argument(out, aggregate, column.data);
            text_printf(out, " AS _pipe_value_%zu", i);
            text_free(&column);
        }
        if (aggregate->by != NULL) {
            text_puts(out, ",\n        ");
            clickhouse_identifier(out, column_of(aggregate->by, row));
            text_printf(out, " AS _pipe_by_%zu", i);
        }
    }
}

/* In two queries: a key or an aggregate may have the name of a column, and names in one query stand
 * for whichever of the two the server prefers. */
static const char *select_text(struct program *program, const struct sink *sink,
                               const struct rollup *rollup)
{
    struct text out = {0};
    add_outer(&out, rollup);
    text_puts(&out, "FROM\n(\n");
    add_inner(&out, rollup, sink->from->row);
    text_puts(&out, "\n    FROM ");
    clickhouse_table_name(&out, sink->target);
    text_puts(&out, "\n)\nGROUP BY ");
    for (size_t i = 0; i < rollup->transforms->count; i++)
        text_printf(&out, "%s_pipe_key_%zu", i > 0 ? ", " : "", i);
    return text_keep(program, &out);
}

struct clickhouse_rollup clickhouse_rollup_of(struct program *program, const struct sink *sink,
                                              const struct rollup *rollup)
{
    struct clickhouse_rollup made = {.table = rollup->table};
    struct text keys = {0};
    made.view = arena_printf(program->arena, "%s_view", rollup->table);
    add_keys(&keys, rollup);
    made.order_by = text_keep(program, &keys);
    made.select = select_text(program, sink, rollup);
    add_columns(program, &made.columns, rollup, sink->from->row);
    return made;
}
