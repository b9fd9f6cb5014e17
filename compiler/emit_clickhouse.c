/*
 * emit_clickhouse.c: clickhouse.sql. Tables of rows carry their position, so that an insert sent
 * twice adds nothing (semantics.md §6); what keeps only the last revision or version needs no
 * position. Runs as often as one likes.
 */
#include "emit_artifacts.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

/* Inserts a second, times minutes a sender may be cut off: what the server must remember of tokens.
 */
#define DEDUPLICATION_WINDOW 10000

static void add_identifier(struct text *out, const char *name)
{
    bool plain = isalpha((unsigned char)name[0]) || name[0] == '_';
    for (const char *c = name; *c != '\0'; c++)
        plain = plain && (isalnum((unsigned char)*c) || *c == '_');
    if (plain) {
        text_puts(out, name);
        return;
    }
    text_puts(out, "`");
    for (const char *c = name; *c != '\0'; c++)
        text_printf(out, *c == '`' || *c == '\\' ? "\\%c" : "%c", *c);
    text_puts(out, "`");
}

/* db.table, each part quoted where it must be. */
static void add_table(struct text *out, const char *target, const char *suffix)
{
    const char *dot = strchr(target, '.');
    struct text part = {0};
    if (dot != NULL) {
        text_add(&part, target, (size_t)(dot - target));
        add_identifier(out, part.data);
        text_puts(out, ".");
        target = dot + 1;
        text_free(&part);
    }
    text_printf(&part, "%s%s", target, suffix);
    add_identifier(out, part.data);
    text_free(&part);
}

static void add_type(struct text *out, const struct type *type, bool nullable);

static void add_nested(struct text *out, const struct type *type, bool nullable)
{
    if (type->kind == TYPE_RECORD) { /* a tuple can't be null: all in it is */
        text_puts(out, "Tuple(");
        for (size_t i = 0; i < type->record->field_count; i++) {
            const struct field *field = &type->record->fields[i];
            text_puts(out, i > 0 ? ", " : "");
            add_identifier(out, field->name);
            text_puts(out, " ");
            add_type(out, field->type, field->nullable || nullable);
        }
    } else {
        text_puts(out, type->kind == TYPE_ARRAY ? "Array(" : "Map(String, ");
        add_type(out, type->element, type->element_nullable);
    }
    text_puts(out, ")");
}

static void add_plain(struct text *out, const struct type *type)
{
    static const char *const names[] = {
        [TYPE_BOOL] = "Bool",
        [TYPE_INT32] = "Int32",
        [TYPE_INT64] = "Int64",
        [TYPE_FLOAT32] = "Float32",
        [TYPE_FLOAT64] = "Float64",
        [TYPE_STRING] = "String",
        [TYPE_BYTES] = "String",
        [TYPE_UUID] = "UUID",
        [TYPE_ENUM] = "String",
        [TYPE_DATE] = "Date32",
        [TYPE_DURATION] = "Int64",
        [TYPE_TIMESTAMP_MS] = "DateTime64(3, 'UTC')",
        [TYPE_TIMESTAMP_US] = "DateTime64(6, 'UTC')",
        [TYPE_MAP] = NULL,
    };
    if (type->kind == TYPE_DECIMAL)
        text_printf(out, "Decimal(%u, %u)", type->precision, type->scale);
    else
        text_puts(out, names[type->kind] != NULL ? names[type->kind] : "String");
}

static void add_type(struct text *out, const struct type *type, bool nullable)
{
    if (type_is_nested(type)) {
        add_nested(out, type, nullable);
        return;
    }
    bool low = type->kind == TYPE_ENUM;
    text_printf(out, "%s%s", low ? "LowCardinality(" : "", nullable ? "Nullable(" : "");
    add_plain(out, type);
    text_printf(out, "%s%s", nullable ? ")" : "", low ? ")" : "");
}

/* ---- transforms ---- */

static const struct field *field_of(const struct record_type *row, const char *name)
{
    for (size_t i = 0; i < row->field_count; i++)
        if (strcmp(row->fields[i].name, name) == 0)
            return &row->fields[i];
    return NULL;
}

/* "Named after function or column." */
static const char *transform_name(const struct transform *transform)
{
    return transform->function.text != NULL ? transform->function.text : transform->column.text;
}

static void add_transform(struct text *out, const struct transform *transform,
                          const struct record_type *row)
{
    static const char *const times[][2] = {{"minute", "toStartOfMinute"},
                                           {"hour", "toStartOfHour"},
                                           {"day", "toDate32"},
                                           {"month", "toStartOfMonth"},
                                           {"year", "toStartOfYear"}};
    const char *function = transform->function.text;
    const struct field *field = field_of(row, transform->column.text);
    struct text column = {0};
    add_identifier(&column, transform->column.text);
    const char *c = column.data;
    if (function == NULL)
        text_puts(out, c);
    else if (strcmp(function, "bucket") == 0)
        text_printf(out, "sipHash64(%s) %% %" PRId64, c, transform->argument);
    else if (strcmp(function, "truncate") == 0 && field != NULL && field->type->kind == TYPE_STRING)
        text_printf(out, "substringUTF8(%s, 1, %" PRId64 ")", c, transform->argument);
    else if (strcmp(function, "truncate") == 0)
        text_printf(out, "%s - positiveModulo(%s, %" PRId64 ")", c, c, transform->argument);
    for (size_t i = 0; function != NULL && i < sizeof times / sizeof *times; i++)
        if (strcmp(function, times[i][0]) == 0)
            text_printf(out, "%s(%s)", times[i][1], c);
    text_free(&column);
}

static void add_transform_type(struct text *out, const struct transform *transform,
                               const struct record_type *row)
{
    const char *function = transform->function.text;
    const struct field *field = field_of(row, transform->column.text);
    bool nullable = field != NULL && field->nullable;
    const char *type = NULL;
    if (function == NULL || strcmp(function, "truncate") == 0) {
        add_type(out, field->type, nullable);
        return;
    }
    if (strcmp(function, "bucket") == 0)
        type = "UInt64";
    else if (strcmp(function, "day") == 0)
        type = "Date32";
    else
        type = strcmp(function, "month") == 0 || strcmp(function, "year") == 0 ? "Date"
                                                                               : "DateTime('UTC')";
    text_printf(out, nullable ? "Nullable(%s)" : "%s", type);
}

/* ---- tables ---- */

enum keeping { KEEPS_ALL, KEEPS_LAST_REVISION, KEEPS_LAST_VERSION };

static enum keeping keeping_of(const struct sink *sink)
{
    if (sink->upsert_count > 0)
        return KEEPS_LAST_VERSION;
    return sink->from->sends_corrections && !sink->append_revisions ? KEEPS_LAST_REVISION
                                                                    : KEEPS_ALL;
}

static void add_engine(struct text *out, const struct sink *sink, enum keeping keeping)
{
    const struct record_type *row = sink->from->row;
    if (keeping == KEEPS_ALL) {
        text_puts(out, "ENGINE = MergeTree\n");
        return;
    }
    text_puts(out, "ENGINE = ReplacingMergeTree(");
    if (keeping == KEEPS_LAST_REVISION)
        text_puts(out, "revision");
    else
        add_identifier(out, row->fields[sink->version_column].name);
    text_puts(out, sink->delete_when != NULL ? ", _pipe_deleted)\n" : ")\n");
}

static void add_order(struct text *out, const struct sink *sink, enum keeping keeping)
{
    const struct record_type *row = sink->from->row;
    const uint32_t *columns =
        keeping == KEEPS_LAST_VERSION ? sink->upsert_columns : sink->order_columns;
    size_t count = keeping == KEEPS_LAST_VERSION ? sink->upsert_count : sink->order_count;
    bool nullable = false;
    if (sink->partition_by != NULL && sink->partition_by->count > 0) {
        text_puts(out, "PARTITION BY (");
        for (size_t i = 0; i < sink->partition_by->count; i++) {
            text_puts(out, i > 0 ? ", " : "");
            add_transform(out, &sink->partition_by->items[i], row);
        }
        text_puts(out, ")\n");
    }
    text_puts(out, "ORDER BY (");
    if (count == 0)
        text_puts(out, "_pipe_partition, _pipe_offset");
    for (size_t i = 0; i < count; i++) {
        text_puts(out, i > 0 ? ", " : "");
        add_identifier(out, row->fields[columns[i]].name);
        nullable = nullable || row->fields[columns[i]].nullable;
    }
    text_printf(out,
                ")\nSETTINGS non_replicated_deduplication_window = %d, fsync_after_insert = 1, "
                "fsync_part_directory = 1%s;\n",
                DEDUPLICATION_WINDOW, nullable ? ", allow_nullable_key = 1" : "");
}

static void add_last_view(struct text *out, const struct sink *sink)
{
    const struct record_type *row = sink->from->row;
    text_puts(out, "\n-- What counts now: one row a key.\nCREATE VIEW IF NOT EXISTS ");
    add_table(out, sink->target, "_last");
    text_puts(out, " AS\nSELECT\n");
    for (size_t i = 0; i < row->field_count; i++) {
        text_puts(out, "    ");
        add_identifier(out, row->fields[i].name);
        text_puts(out, i + 1 < row->field_count ? ",\n" : "\n");
    }
    text_puts(out, "FROM ");
    add_table(out, sink->target, "");
    text_puts(out, sink->delete_when != NULL ? " FINAL\nWHERE _pipe_deleted = 0;\n" : " FINAL;\n");
}

static void add_create(struct text *out, const struct sink *sink)
{
    const struct record_type *row = sink->from->row;
    enum keeping keeping = keeping_of(sink);
    text_printf(out, "\n-- sink %s from %s\nCREATE TABLE IF NOT EXISTS ", sink->name.text,
                sink->from->name.text);
    add_table(out, sink->target, "");
    text_puts(out, "\n(\n");
    for (size_t i = 0; i < row->field_count; i++) {
        text_puts(out, "    ");
        add_identifier(out, row->fields[i].name);
        text_puts(out, " ");
        add_type(out, row->fields[i].type, row->fields[i].nullable);
        text_puts(out, ",\n");
    }
    if (sink->delete_when != NULL)
        text_puts(out, "    _pipe_deleted UInt8,\n");
    text_puts(out, "    _pipe_partition Int32,\n    _pipe_offset Int64,\n");
    text_puts(out, "    INDEX _pipe_position _pipe_offset TYPE minmax GRANULARITY 1\n)\n");
    add_engine(out, sink, keeping);
    add_order(out, sink, keeping);
    if (keeping != KEEPS_ALL)
        add_last_view(out, sink);
}

/* ---- rollups ---- */

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

static void add_rollup_column(struct text *out, const struct aggregate *aggregate)
{
    struct rollup_function function = rollup_function(aggregate->kind);
    add_identifier(out, aggregate->name);
    bool count = aggregate->kind == AGG_COUNT || aggregate->kind == AGG_COUNT_IF;
    text_printf(out, " %sAggregateFunction(%s", function.simple ? "Simple" : "", function.name);
    if (aggregate->kind == AGG_APPROX_QUANTILE)
        text_printf(out, "(%.17g)", aggregate->quantile);
    text_puts(out, ", ");
    if (count)
        text_puts(out, "Int64");
    else if (aggregate->kind == AGG_SUM)
        add_type(out, aggregate->type, aggregate->arg->nullable);
    else
        add_type(out, aggregate->arg->type, aggregate->arg->nullable);
    if (aggregate->by != NULL) {
        text_puts(out, ", ");
        add_type(out, aggregate->by->type, aggregate->by->nullable);
    }
    text_puts(out, ")");
}

static void add_rollup_value(struct text *out, const struct aggregate *aggregate,
                             const struct record_type *row)
{
    struct rollup_function function = rollup_function(aggregate->kind);
    struct text column = {0}, by = {0};
    add_identifier(&column, column_of(aggregate->arg, row));
    add_identifier(&by, column_of(aggregate->by, row));
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
    add_identifier(out, aggregate->name);
    text_free(&column);
    text_free(&by);
}

static void add_keys(struct text *out, const struct rollup *rollup)
{
    for (size_t i = 0; i < rollup->transforms->count; i++) {
        text_puts(out, i > 0 ? ", " : "");
        add_identifier(out, transform_name(&rollup->transforms->items[i]));
    }
}

static void add_rollup_table(struct text *out, const struct sink *sink, const struct rollup *rollup)
{
    const struct record_type *row = sink->from->row;
    text_printf(out, "\n-- rollup of sink %s\nCREATE TABLE IF NOT EXISTS ", sink->name.text);
    add_table(out, rollup->table, "");
    text_puts(out, "\n(\n");
    for (size_t i = 0; i < rollup->transforms->count; i++) {
        text_puts(out, "    ");
        add_identifier(out, transform_name(&rollup->transforms->items[i]));
        text_puts(out, " ");
        add_transform_type(out, &rollup->transforms->items[i], row);
        text_puts(out, ",\n");
    }
    for (size_t i = 0; i < rollup->aggregate_count; i++) {
        text_puts(out, "    ");
        add_rollup_column(out, &rollup->aggregates[i]);
        text_puts(out, i + 1 < rollup->aggregate_count ? ",\n" : "\n");
    }
    text_puts(out, ")\nENGINE = AggregatingMergeTree\nORDER BY (");
    add_keys(out, rollup);
    text_printf(out,
                ")\nSETTINGS non_replicated_deduplication_window = %d, allow_nullable_key = 1;\n",
                DEDUPLICATION_WINDOW);
}

static void add_rollup_view(struct text *out, const struct sink *sink, const struct rollup *rollup)
{
    const struct record_type *row = sink->from->row;
    text_puts(out, "\nCREATE MATERIALIZED VIEW IF NOT EXISTS ");
    add_table(out, rollup->table, "_view");
    text_puts(out, " TO ");
    add_table(out, rollup->table, "");
    text_puts(out, " AS\nSELECT\n");
    for (size_t i = 0; i < rollup->transforms->count; i++) {
        const struct transform *transform = &rollup->transforms->items[i];
        text_puts(out, "    ");
        add_transform(out, transform, row);
        if (transform->function.text != NULL) {
            text_puts(out, " AS ");
            add_identifier(out, transform_name(transform));
        }
        text_puts(out, ",\n");
    }
    for (size_t i = 0; i < rollup->aggregate_count; i++) {
        text_puts(out, "    ");
        add_rollup_value(out, &rollup->aggregates[i], row);
        text_puts(out, i + 1 < rollup->aggregate_count ? ",\n" : "\n");
    }
    text_puts(out, "FROM ");
    add_table(out, sink->target, "");
    text_puts(out, "\nGROUP BY ");
    add_keys(out, rollup);
    text_puts(out, ";\n");
}

/* ---- the file ---- */

static void add_database(struct text *out, const char *table)
{
    const char *dot = strchr(table, '.');
    struct text name = {0}, line = {0};
    text_add(&name, table, dot != NULL ? (size_t)(dot - table) : 0);
    text_puts(&line, "CREATE DATABASE IF NOT EXISTS ");
    add_identifier(&line, dot != NULL ? name.data : "default");
    text_puts(&line, ";\n");
    if (dot != NULL && strstr(out->data, line.data) == NULL)
        text_puts(out, line.data);
    text_free(&name);
    text_free(&line);
}

void write_clickhouse(struct program *program, struct text *out)
{
    bool any = false;
    for (size_t i = 0; i < program->sinks.count; i++)
        any = any || program->sinks.items[i]->kind == SINK_CLICKHOUSE;
    if (!any)
        return;
    text_printf(out, "-- Tables of pipeline %s. Needs ClickHouse 24.8 or later.\n\n",
                program->name);
    for (size_t i = 0; i < program->sinks.count; i++) {
        const struct sink *sink = program->sinks.items[i];
        if (sink->kind != SINK_CLICKHOUSE)
            continue;
        add_database(out, sink->target);
        for (size_t r = 0; r < sink->rollup_count; r++)
            add_database(out, sink->rollups[r].table);
    }
    for (size_t i = 0; i < program->sinks.count; i++) {
        const struct sink *sink = program->sinks.items[i];
        if (sink->kind != SINK_CLICKHOUSE)
            continue;
        add_create(out, sink);
        for (size_t r = 0; r < sink->rollup_count; r++) {
            add_rollup_table(out, sink, &sink->rollups[r]);
            add_rollup_view(out, sink, &sink->rollups[r]);
        }
    }
}
