/*
 * emit_clickhouse.c: the tables of ClickHouse, as clickhouse.sql and in the plan. Tables of rows
 * carry their position, so that an insert sent twice adds nothing (semantics.md §6); what keeps
 * only the last revision or version needs no position. The statements run as often as one likes.
 */
#include "emit_clickhouse.h"

#include <inttypes.h>
#include <string.h>

#include "emit.h"
#include "emit_artifacts.h"

const char *text_keep(struct program *program, struct text *text)
{
    const char *kept = arena_strndup(program->arena, text->size > 0 ? text->data : "", text->size);
    text_free(text);
    return kept;
}

/* ---- What a sink wants ---- */

static void set_keeping(struct program *program, struct clickhouse_table *table,
                        const struct sink *sink)
{
    const struct record_type *row = sink->from->row;
    struct text engine = {0};
    table->keeping = "ALL";
    table->engine = "MergeTree";
    table->has_deleted = sink->delete_when != NULL;
    if (sink->upsert_count > 0) {
        table->keeping = "LAST_VERSION";
        text_puts(&engine, "ReplacingMergeTree(");
        clickhouse_identifier(&engine, row->fields[sink->version_column].name);
        text_puts(&engine, table->has_deleted ? ", _pipe_deleted)" : ")");
        table->engine = text_keep(program, &engine);
    } else if (sink->from->sends_corrections && !sink->append_revisions) {
        table->keeping = "LAST_REVISION";
        table->engine = "ReplacingMergeTree(revision)";
    }
}

static void add_column(struct program *program, struct clickhouse_table *table, const char *name,
                       const char *type)
{
    struct clickhouse_column column = {name, type};
    vec_push(program->arena, &table->columns, column);
}

/* The rows that are sent: those of the contract, if the sink has one (its columns in its order, of
 * its types). Dead letters stay as they are. */
static const struct record_type *sent_row(const struct sink *sink)
{
    bool is_rejects = sink->from->kind == STREAM_REJECTS;
    return sink->contract != NULL && !is_rejects ? sink->contract->versions[0]->record
                                                 : sink->from->row;
}

static void set_columns(struct program *program, struct clickhouse_table *table,
                        const struct sink *sink)
{
    const struct record_type *row = sent_row(sink);
    for (size_t i = 0; i < row->field_count; i++) {
        struct text type = {0};
        clickhouse_type(&type, row->fields[i].type, row->fields[i].nullable);
        add_column(program, table, row->fields[i].name, text_keep(program, &type));
    }
    if (table->has_deleted)
        add_column(program, table, "_pipe_deleted", "UInt8");
    add_column(program, table, "_pipe_partition", "Int32");
    add_column(program, table, "_pipe_offset", "Int64");
}

static void set_order(struct program *program, struct clickhouse_table *table,
                      const struct sink *sink)
{
    const struct record_type *row = sink->from->row;
    bool upsert = sink->upsert_count > 0;
    const uint32_t *columns = upsert ? sink->upsert_columns : sink->order_columns;
    size_t count = upsert ? sink->upsert_count : sink->order_count;
    struct text order = {0}, partition = {0};
    if (count == 0)
        text_puts(&order, "_pipe_partition, _pipe_offset");
    for (size_t i = 0; i < count; i++) {
        text_puts(&order, i > 0 ? ", " : "");
        clickhouse_identifier(&order, row->fields[columns[i]].name);
        table->nullable_key = table->nullable_key || row->fields[columns[i]].nullable;
    }
    table->order_by = text_keep(program, &order);
    size_t transforms = sink->partition_by != NULL ? sink->partition_by->count : 0;
    for (size_t i = 0; i < transforms; i++) {
        text_puts(&partition, i > 0 ? ", " : "");
        clickhouse_transform(&partition, &sink->partition_by->items[i], row);
    }
    if (transforms > 0)
        table->partition_by = text_keep(program, &partition);
}

static void set_view(struct program *program, struct clickhouse_table *table,
                     const struct sink *sink)
{
    const struct record_type *row = sent_row(sink);
    struct text out = {0};
    table->view = arena_printf(program->arena, "%s_last", sink->target);
    text_puts(&out, "SELECT\n");
    for (size_t i = 0; i < row->field_count; i++) {
        text_puts(&out, "    ");
        clickhouse_identifier(&out, row->fields[i].name);
        text_puts(&out, i + 1 < row->field_count ? ",\n" : "\n");
    }
    text_puts(&out, "FROM ");
    clickhouse_table_name(&out, sink->target);
    text_puts(&out, table->has_deleted ? " FINAL\nWHERE _pipe_deleted = 0" : " FINAL");
    table->view_select = text_keep(program, &out);
}

/* ---- Statements ---- */

static void add_object(struct program *program, struct clickhouse_table *table, const char *kind,
                       const char *name, const char *note, struct text *sql)
{
    struct clickhouse_object object = {kind, name, note, text_keep(program, sql)};
    vec_push(program->arena, &table->objects, object);
}

static void add_database(struct program *program, struct clickhouse_table *table,
                         const char *target)
{
    const char *dot = strchr(target, '.');
    struct text sql = {0};
    if (dot == NULL)
        return;
    const char *name = arena_strndup(program->arena, target, (size_t)(dot - target));
    for (size_t i = 0; i < table->objects.count; i++)
        if (strcmp(table->objects.items[i].name, name) == 0)
            return;
    text_puts(&sql, "CREATE DATABASE IF NOT EXISTS ");
    clickhouse_identifier(&sql, name);
    add_object(program, table, "DATABASE", name, NULL, &sql);
}

static void begin_create(struct text *sql, const char *what, const char *name)
{
    text_printf(sql, "CREATE %s IF NOT EXISTS ", what);
    clickhouse_table_name(sql, name);
}

static void add_column_lines(struct text *sql, const clickhouse_columns *columns, const char *more)
{
    text_puts(sql, "\n(\n");
    for (size_t i = 0; i < columns->count; i++) {
        text_puts(sql, "    ");
        clickhouse_identifier(sql, columns->items[i].name);
        text_printf(sql, " %s%s", columns->items[i].type,
                    i + 1 < columns->count || more != NULL ? ",\n" : "\n");
    }
    if (more != NULL)
        text_printf(sql, "    %s\n", more);
    text_puts(sql, ")\n");
}

static void add_table(struct program *program, struct clickhouse_table *table,
                      const struct sink *sink)
{
    struct text sql = {0};
    begin_create(&sql, "TABLE", sink->target);
    add_column_lines(&sql, &table->columns,
                     "INDEX _pipe_position _pipe_offset TYPE minmax GRANULARITY 1");
    text_printf(&sql, "ENGINE = %s\n", table->engine);
    if (table->partition_by != NULL)
        text_printf(&sql, "PARTITION BY (%s)\n", table->partition_by);
    text_printf(&sql,
                "ORDER BY (%s)\nSETTINGS non_replicated_deduplication_window = %d, "
                "fsync_after_insert = 1, fsync_part_directory = 1%s",
                table->order_by, CLICKHOUSE_WINDOW,
                table->nullable_key ? ", allow_nullable_key = 1" : "");
    add_object(
        program, table, "TABLE", sink->target,
        arena_printf(program->arena, "sink %s from %s", sink->name.text, sink->from->name.text),
        &sql);
}

static void add_last_view(struct program *program, struct clickhouse_table *table)
{
    struct text sql = {0};
    begin_create(&sql, "VIEW", table->view);
    text_printf(&sql, " AS\n%s", table->view_select);
    add_object(program, table, "VIEW", table->view, "What counts now: one row a key.", &sql);
}

static void add_rollup(struct program *program, struct clickhouse_table *table,
                       const struct sink *sink, const struct clickhouse_rollup *rollup)
{
    struct text sql = {0}, view = {0};
    begin_create(&sql, "TABLE", rollup->table);
    add_column_lines(&sql, &rollup->columns, NULL);
    text_printf(&sql,
                "ENGINE = AggregatingMergeTree\nORDER BY (%s)\nSETTINGS "
                "non_replicated_deduplication_window = %d, allow_nullable_key = 1",
                rollup->order_by, CLICKHOUSE_WINDOW);
    add_object(program, table, "TABLE", rollup->table,
               arena_printf(program->arena, "rollup of sink %s", sink->name.text), &sql);
    begin_create(&view, "MATERIALIZED VIEW", rollup->view);
    text_puts(&view, " TO ");
    clickhouse_table_name(&view, rollup->table);
    text_printf(&view, " AS\n%s", rollup->select);
    add_object(program, table, "MATERIALIZED_VIEW", rollup->view, NULL, &view);
}

const struct clickhouse_table *clickhouse_table_of(struct program *program, const struct sink *sink)
{
    struct clickhouse_table *table = arena_alloc(program->arena, sizeof *table);
    set_keeping(program, table, sink);
    set_columns(program, table, sink);
    set_order(program, table, sink);
    add_database(program, table, sink->target);
    for (size_t i = 0; i < sink->rollup_count; i++)
        add_database(program, table, sink->rollups[i].table);
    add_table(program, table, sink);
    if (strcmp(table->keeping, "ALL") != 0) {
        set_view(program, table, sink);
        add_last_view(program, table);
    }
    for (size_t i = 0; i < sink->rollup_count; i++) {
        struct clickhouse_rollup rollup = clickhouse_rollup_of(program, sink, &sink->rollups[i]);
        vec_push(program->arena, &table->rollups, rollup);
        add_rollup(program, table, sink, &rollup);
    }
    return table;
}

/* ---- clickhouse.sql ---- */

static void write_object(struct text *out, const struct clickhouse_object *object)
{
    text_puts(out, "\n");
    if (object->note != NULL)
        text_printf(out, "-- %s\n", object->note);
    text_printf(out, "%s;\n", object->sql);
}

static void write_databases(struct text *out, const struct clickhouse_table *table)
{
    for (size_t i = 0; i < table->objects.count; i++) {
        struct text line = {0};
        text_printf(&line, "%s;\n", table->objects.items[i].sql);
        if (strcmp(table->objects.items[i].kind, "DATABASE") == 0 &&
            strstr(out->data, line.data) == NULL)
            text_puts(out, line.data);
        text_free(&line);
    }
}

void write_clickhouse(struct program *program, struct text *out)
{
    VEC(const struct clickhouse_table *) tables = {0};
    for (size_t i = 0; i < program->sinks.count; i++)
        if (program->sinks.items[i]->kind == SINK_CLICKHOUSE)
            vec_push(program->arena, &tables,
                     clickhouse_table_of(program, program->sinks.items[i]));
    if (tables.count == 0)
        return;
    text_printf(out, "-- Tables of pipeline %s. Needs ClickHouse 24.8 or later.\n\n",
                program->name);
    for (size_t t = 0; t < tables.count; t++)
        write_databases(out, tables.items[t]);
    for (size_t t = 0; t < tables.count; t++)
        for (size_t i = 0; i < tables.items[t]->objects.count; i++)
            if (strcmp(tables.items[t]->objects.items[i].kind, "DATABASE") != 0)
                write_object(out, &tables.items[t]->objects.items[i]);
}

/* ---- The plan in C ---- */

static void emit_columns(struct emitter *e, const char *name, const clickhouse_columns *columns)
{
    emit(e, 0, "static const struct pipe_table_column %s[] = {", name);
    for (size_t i = 0; i < columns->count; i++)
        emit(e, 1, "{%s, %s},", c_string_z(e, columns->items[i].name),
             c_string_z(e, columns->items[i].type));
    emit(e, 0, "};");
}

static void emit_objects(struct emitter *e, const char *name, const struct clickhouse_table *table)
{
    emit(e, 0, "static const struct pipe_table_statement %s[] = {", name);
    for (size_t i = 0; i < table->objects.count; i++) {
        const struct clickhouse_object *object = &table->objects.items[i];
        emit(e, 1, "{PIPE_TABLE_%s, %s,", object->kind, c_string_z(e, object->name));
        emit_long_string(e, 2, object->sql, "},");
    }
    emit(e, 0, "};");
}

/* Their columns, then the roll-ups. */
static void emit_rollups(struct emitter *e, const char *sink, const char *name,
                         const struct clickhouse_table *table)
{
    VEC(const char *) columns = {0};
    for (size_t i = 0; i < table->rollups.count; i++) {
        const char *of = global_name(e, "%s_rollup", sink);
        emit_columns(e, of, &table->rollups.items[i].columns);
        vec_push(e->arena, &columns, of);
    }
    emit(e, 0, "static const struct pipe_table_rollup %s[] = {", name);
    for (size_t i = 0; i < table->rollups.count; i++) {
        const struct clickhouse_rollup *rollup = &table->rollups.items[i];
        emit(e, 1, "{");
        emit(e, 2, ".table = %s,\n.view = %s,\n.order_by = %s,", c_string_z(e, rollup->table),
             c_string_z(e, rollup->view), c_string_z(e, rollup->order_by));
        emit(e, 2, ".columns = %s,\n.column_count = %zu,", columns.items[i], rollup->columns.count);
        emit(e, 2, ".select =");
        emit_long_string(e, 3, rollup->select, ",");
        emit(e, 1, "},");
    }
    emit(e, 0, "};");
}

struct table_names {
    const char *table, *columns, *rollups, *statements;
};

static void emit_table(struct emitter *e, const struct sink *sink,
                       const struct clickhouse_table *table, const struct table_names *names)
{
    emit(e, 0, "static const struct pipe_table_def %s = {", names->table);
    emit(e, 1, ".name = %s,\n.keeping = PIPE_TABLE_%s,\n.engine = %s,", c_string_z(e, sink->target),
         table->keeping, c_string_z(e, table->engine));
    emit(e, 1, ".order_by = %s,", c_string_z(e, table->order_by));
    if (table->partition_by != NULL)
        emit(e, 1, ".partition_by = %s,", c_string_z(e, table->partition_by));
    if (table->view != NULL) {
        emit(e, 1, ".view = %s,\n.view_select =", c_string_z(e, table->view));
        emit_long_string(e, 2, table->view_select, ",");
    }
    if (table->nullable_key)
        emit(e, 1, ".allow_nullable_key = true,");
    emit(e, 1, ".deduplication_window = %d,", CLICKHOUSE_WINDOW);
    emit(e, 1, ".columns = %s,\n.column_count = %zu,", names->columns, table->columns.count);
    if (table->has_deleted)
        emit(e, 1, ".has_deleted = true,");
    if (table->rollups.count > 0)
        emit(e, 1, ".rollups = %s,\n.rollup_count = %zu,", names->rollups, table->rollups.count);
    emit(e, 1, ".statements = %s,\n.statement_count = %zu,", names->statements,
         table->objects.count);
    emit(e, 0, "};\n");
}

const char *emit_clickhouse_table(struct emitter *e, const struct sink *sink)
{
    const struct clickhouse_table *table = clickhouse_table_of(e->program, sink);
    const char *base = e->sink_functions.items[sink_index(e, sink)] + strlen("sink_");
    struct table_names names = {.table = global_name(e, "%s_table", base),
                                .columns = global_name(e, "%s_columns", base),
                                .statements = global_name(e, "%s_statements", base)};
    emit_columns(e, names.columns, &table->columns);
    if (table->rollups.count > 0) {
        names.rollups = global_name(e, "%s_rollups", base);
        emit_rollups(e, base, names.rollups, table);
    }
    emit_objects(e, names.statements, table);
    emit_table(e, sink, table, &names);
    return names.table;
}
