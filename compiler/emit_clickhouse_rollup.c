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
    else if (aggregate->kind == AGG_SUM)
        clickhouse_type(out, aggregate->type, aggregate->arg->nullable);
    else
        clickhouse_type(out, aggregate->arg->type, aggregate->arg->nullable);
    if (aggregate->by != NULL) {
        text_puts(out, ", ");
        clickhouse_type(out, aggregate->by->type, aggregate->by->nullable);
    }
    text_puts(out, ")");
}

static void add_rollup_value(struct text *out, const struct aggregate *aggregate,
                             const struct record_type *row)
{
    struct rollup_function function = rollup_function(aggregate->kind);
    struct text column = {0}, by = {0};
    clickhouse_identifier(&column, column_of(aggregate->arg, row));
    clickhouse_identifier(&by, column_of(aggregate->by, row));
    if (aggregate->kind == AGG_COUNT)
        text_printf(out, "toInt64(count(%s))", aggregate->arg != NULL ? column.data : "");
    else if (aggregate->kind == AGG_COUNT_IF)
        text_printf(out, "toInt64(countIf(%s))", column.data);
    else if (function.simple)
        text_printf(out, "%s(%s)", function.name, column.data);
    else if (aggregate->kind == AGG_APPROX_QUANTILE)
        text_printf(out, "quantileTDigestState(%.17g)(%s)", aggregate->quantile, column.data);
    else
        text_printf(out, "%sState(%s%s%s)", function.name, column.data,
                    aggregate->by != NULL ? ", " : "", aggregate->by != NULL ? by.data : "");
    text_puts(out, " AS ");
    clickhouse_identifier(out, aggregate->name);
    text_free(&column);
    text_free(&by);
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

static const char *select_text(struct program *program, const struct sink *sink,
                               const struct rollup *rollup, const char *keys)
{
    const struct record_type *row = sink->from->row;
    struct text out = {0};
    text_puts(&out, "SELECT\n");
    for (size_t i = 0; i < rollup->transforms->count; i++) {
        const struct transform *transform = &rollup->transforms->items[i];
        text_puts(&out, "    ");
        clickhouse_transform(&out, transform, row);
        if (transform->function.text != NULL) {
            text_puts(&out, " AS ");
            clickhouse_identifier(&out, transform_name(transform));
        }
        text_puts(&out, ",\n");
    }
    for (size_t i = 0; i < rollup->aggregate_count; i++) {
        text_puts(&out, "    ");
        add_rollup_value(&out, &rollup->aggregates[i], row);
        text_puts(&out, i + 1 < rollup->aggregate_count ? ",\n" : "\n");
    }
    text_puts(&out, "FROM ");
    clickhouse_table_name(&out, sink->target);
    text_printf(&out, "\nGROUP BY %s", keys);
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
    made.select = select_text(program, sink, rollup, made.order_by);
    add_columns(program, &made.columns, rollup, sink->from->row);
    return made;
}
