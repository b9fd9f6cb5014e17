/* tables_compare.c: see tables.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "pipe.h"
#include "tables.h"

/* Small blocks at a high rate are merged again and again, which costs as much as to insert them: a
 * server that knows this setting (default 5) merges more of them at once. */
#define MERGE_BASE "merge_selector_base"
#define MERGE_BASE_VALUE 10

struct comparison {
    struct tables_server server;
    struct tables_differences *out;
    bool knows_merge_base;
};

/* ---- The list ---- */

static char *text_of(struct pipe_buf *buf)
{
    pipe_buf_add_byte(buf, '\0');
    return (char *)buf->data;
}

/* Takes the statement. */
static void add(struct comparison *cmp, enum tables_kind kind, const char *object, char *sql,
                const char *format, ...) PIPE_PRINTF(5, 6);
static void add(struct comparison *cmp, enum tables_kind kind, const char *object, char *sql,
                const char *format, ...)
{
    struct tables_differences *out = cmp->out;
    struct pipe_buf text = {0};
    va_list args;
    va_start(args, format);
    pipe_buf_vprintf(&text, format, args);
    va_end(args);
    out->items = pipe_realloc(out->items, (out->count + 1) * sizeof *out->items);
    out->items[out->count++] =
        (struct tables_difference){kind, pipe_text_dup(object), text_of(&text), sql};
}

void tables_differences_free(struct tables_differences *differences)
{
    for (size_t i = 0; i < differences->count; i++) {
        free(differences->items[i].object);
        free(differences->items[i].text);
        free(differences->items[i].sql);
    }
    free(differences->items);
    differences->items = NULL;
    differences->count = 0;
}

/* `ALTER TABLE target …`, to be gone on with. */
static struct pipe_buf alter(const char *target)
{
    struct pipe_buf sql = {0};
    pipe_buf_printf(&sql, "ALTER TABLE ");
    pipe_clickhouse_table(&sql, target);
    return sql;
}

/* ---- Keys and engines ---- */

static void compare_key(struct comparison *cmp, const char *target, const char *what,
                        const char *wanted, const char *found)
{
    if (!tables_same_key(found, wanted))
        add(cmp, TABLES_REFUSED, target, NULL,
            "%s is (%s), the plan says (%s); a table keeps its own: make another one and copy the "
            "rows, or change the pipeline",
            what, found, wanted);
}

static bool is_replicated(const struct tables_found *found)
{
    return tables_is_replicated(found->engine);
}

static void compare_engine(struct comparison *cmp, const char *target,
                           const struct tables_found *found, const char *engine)
{
    const char *full = found->engine_full[0] != '\0' ? found->engine_full : found->engine;
    const char *order = strstr(full, " ORDER BY"), *partition = strstr(full, " PARTITION BY");
    size_t size = strlen(full);
    if (order != NULL)
        size = (size_t)(order - full);
    if (partition != NULL && partition < full + size)
        size = (size_t)(partition - full);
    if (!tables_same_engine(found->engine, found->engine_full, engine))
        add(cmp, TABLES_REFUSED, target, NULL,
            "the engine is %.*s, the plan says %s; a table keeps its own: make another one and "
            "copy the rows",
            (int)size, full, engine);
}

/* ---- Columns ---- */

static const struct tables_column *column_of(const struct tables_found *found, const char *name)
{
    for (size_t i = 0; i < found->column_count; i++)
        if (strcmp(found->columns[i].name, name) == 0)
            return &found->columns[i];
    return NULL;
}

/* What rows that were there before an ADD COLUMN show: the default of the type. */
static const char *default_of(const char *type)
{
    static const struct {
        const char *begins, *value;
    } defaults[] = {{"Nullable(", "NULL"}, {"LowCardinality(Nullable(", "NULL"},
                    {"String", "''"},      {"LowCardinality(String", "''"},
                    {"Bool", "false"},     {"Date", "1970-01-01"},
                    {"Int", "0"},          {"UInt", "0"},
                    {"Float", "0"},        {"Decimal", "0"},
                    {"Array(", "[]"},      {"Map(", "{}"}};
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++) {
        if (strncmp(type, defaults[i].begins, strlen(defaults[i].begins)) == 0)
            return defaults[i].value;
    }
    return "the default of the type";
}

static void add_missing_column(struct comparison *cmp, const char *target,
                               const struct pipe_table_column *columns, uint32_t at)
{
    const struct pipe_table_column *column = &columns[at];
    if (strncmp(column->name, "_pipe_", 6) == 0) {
        add(cmp, TABLES_REFUSED, target, NULL,
            "column %s (%s) is missing: its rows have no position, so this pipeline has not made "
            "it; give the sink another table",
            column->name, column->type);
        return;
    }
    struct pipe_buf sql = alter(target);
    pipe_buf_printf(&sql, " ADD COLUMN IF NOT EXISTS ");
    pipe_clickhouse_identifier(&sql, column->name);
    pipe_buf_printf(&sql, " %s%s", column->type, at > 0 ? " AFTER " : " FIRST");
    if (at > 0)
        pipe_clickhouse_identifier(&sql, columns[at - 1].name);
    add(cmp, TABLES_DIFFERS, target, text_of(&sql),
        "column %s (%s) is missing (existing rows read as %s)", column->name, column->type,
        default_of(column->type));
}

static void compare_columns(struct comparison *cmp, const char *target,
                            const struct tables_found *found,
                            const struct pipe_table_column *columns, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct tables_column *column = column_of(found, columns[i].name);
        if (column == NULL)
            add_missing_column(cmp, target, columns, i);
        else if (strcmp(column->type, columns[i].type) != 0)
            add(cmp, TABLES_REFUSED, target, NULL,
                "column %s is %s, the plan says %s; types are not changed, for values could be "
                "lost: ALTER TABLE it by hand, or make another table",
                columns[i].name, column->type, columns[i].type);
        else if (column->default_kind[0] != '\0' && strcmp(column->default_kind, "DEFAULT") != 0)
            add(cmp, TABLES_REFUSED, target, NULL,
                "column %s is %s, so that no insert can give it a value; make it a plain column",
                columns[i].name, column->default_kind);
    }
    for (size_t i = 0; i < found->column_count; i++) {
        bool known = false;
        for (uint32_t j = 0; j < count; j++)
            known = known || strcmp(columns[j].name, found->columns[i].name) == 0;
        if (!known)
            add(cmp, TABLES_NOTE, target, NULL,
                "column %s (%s) is not of the plan: inserts leave it at its default",
                found->columns[i].name, found->columns[i].type);
    }
}

/* ---- Settings ---- */

static bool compare_setting(struct comparison *cmp, const char *target,
                            const struct tables_found *found, const char *name, int64_t least)
{
    char *value = NULL;
    if (!tables_read_setting(&cmp->server, found, name, &value))
        return false;
    if (strtoll(value, NULL, 10) < least) {
        struct pipe_buf sql = alter(target);
        pipe_buf_printf(&sql, " MODIFY SETTING %s = %" PRId64, name, least);
        add(cmp, TABLES_DIFFERS, target, text_of(&sql), "%s is %s, it must be %" PRId64 "%s", name,
            value, least, least > 1 ? " or more" : "");
    }
    free(value);
    return true;
}

static bool compare_settings(struct comparison *cmp, const char *target,
                             const struct tables_found *found, int64_t window, bool synced)
{
    bool replicated = is_replicated(found);
    const char *name =
        replicated ? "replicated_deduplication_window" : "non_replicated_deduplication_window";
    if (!compare_setting(cmp, target, found, name, window))
        return false;
    if (replicated || !synced) /* other replicas have it; a roll-up is made again from its table */
        return true;
    return compare_setting(cmp, target, found, "fsync_after_insert", 1) &&
           compare_setting(cmp, target, found, "fsync_part_directory", 1);
}

/* ---- Views ---- */

static bool same_select(struct comparison *cmp, const struct tables_found *found,
                        const char *select, bool *same)
{
    char *wanted = NULL, *has = NULL;
    bool ok = tables_read_normal(&cmp->server, select, &wanted) &&
              tables_read_normal(&cmp->server, found->as_select, &has);
    if (ok)
        *same = strcmp(has, wanted) == 0;
    free(wanted);
    free(has);
    return ok;
}

static bool compare_view(struct comparison *cmp, const struct pipe_table_def *table,
                         const struct tables_found *found)
{
    bool same = true;
    if (strcmp(found->engine, "View") != 0) {
        add(cmp, TABLES_REFUSED, table->view, NULL,
            "is a %s, the plan wants a view of that name: rename it", found->engine);
        return true;
    }
    if (!same_select(cmp, found, table->view_select, &same))
        return false;
    if (!same) {
        struct pipe_buf sql = {0};
        pipe_buf_printf(&sql, "CREATE OR REPLACE VIEW ");
        pipe_clickhouse_table(&sql, table->view);
        pipe_buf_printf(&sql, " AS\n%s", table->view_select);
        add(cmp, TABLES_DIFFERS, table->view, text_of(&sql), "selects otherwise: %s",
            found->as_select);
    }
    return true;
}

static bool compare_rollup_view(struct comparison *cmp, const struct pipe_table_def *table,
                                const struct pipe_table_rollup *rollup,
                                const struct tables_found *found)
{
    struct pipe_buf to = {0};
    bool same = true;
    if (strcmp(found->engine, "MaterializedView") != 0) {
        add(cmp, TABLES_REFUSED, rollup->view, NULL,
            "is a %s, the plan wants a materialized view of that name: rename it", found->engine);
        return true;
    }
    if (!same_select(cmp, found, rollup->select, &same))
        return false;
    if (!same)
        add(cmp, TABLES_REFUSED, rollup->view, NULL,
            "adds up otherwise: %s; what %s holds was made so: give the roll-up another name, or "
            "drop both while the pipeline stands, apply, and fill it from %s",
            found->as_select, rollup->table, table->name);
    pipe_buf_printf(&to, " TO ");
    pipe_clickhouse_table(&to, rollup->table);
    pipe_buf_add_byte(&to, ' ');
    char *wanted = text_of(&to);
    if (strstr(found->create, wanted) == NULL)
        add(cmp, TABLES_REFUSED, rollup->view, NULL, "does not fill %s: drop it and apply again",
            rollup->table);
    free(wanted);
    return true;
}

/* ---- Objects ---- */

static const struct pipe_table_rollup *rollup_of(const struct pipe_table_def *table,
                                                 const char *name)
{
    for (uint32_t i = 0; i < table->rollup_count; i++)
        if (strcmp(table->rollups[i].table, name) == 0 || strcmp(table->rollups[i].view, name) == 0)
            return &table->rollups[i];
    return NULL;
}

static bool compare_table(struct comparison *cmp, const struct pipe_table_def *table,
                          const struct tables_found *found)
{
    size_t before = cmp->out->count;
    compare_engine(cmp, table->name, found, table->engine);
    if (cmp->out->count > before) /* the rest would only say so again */
        return true;
    compare_key(cmp, table->name, "ORDER BY", table->order_by, found->sorting_key);
    compare_key(cmp, table->name, "PARTITION BY",
                table->partition_by != NULL ? table->partition_by : "", found->partition_key);
    compare_columns(cmp, table->name, found, table->columns, table->column_count);
    if (!found->has_position_index) {
        struct pipe_buf sql = alter(table->name);
        pipe_buf_printf(&sql, " ADD INDEX IF NOT EXISTS _pipe_position _pipe_offset TYPE minmax "
                              "GRANULARITY 1");
        add(cmp, TABLES_DIFFERS, table->name, text_of(&sql),
            "the index _pipe_position is missing: an insert would read the whole table");
    }
    return compare_settings(cmp, table->name, found, table->deduplication_window, true);
}

static bool compare_rollup_table(struct comparison *cmp, const struct pipe_table_def *table,
                                 const struct pipe_table_rollup *rollup,
                                 const struct tables_found *found)
{
    size_t before = cmp->out->count;
    compare_engine(cmp, rollup->table, found, "AggregatingMergeTree");
    if (cmp->out->count > before)
        return true;
    compare_key(cmp, rollup->table, "ORDER BY", rollup->order_by, found->sorting_key);
    compare_columns(cmp, rollup->table, found, rollup->columns, rollup->column_count);
    return compare_settings(cmp, rollup->table, found, table->deduplication_window, false);
}

static bool compare_found(struct comparison *cmp, const struct pipe_table_def *table,
                          const struct pipe_table_statement *statement,
                          const struct tables_found *found)
{
    const struct pipe_table_rollup *rollup = rollup_of(table, statement->name);
    switch (statement->object) {
    case PIPE_TABLE_DATABASE:
        return true;
    case PIPE_TABLE_TABLE:
        return rollup != NULL ? compare_rollup_table(cmp, table, rollup, found)
                              : compare_table(cmp, table, found);
    case PIPE_TABLE_VIEW:
        return compare_view(cmp, table, found);
    case PIPE_TABLE_MATERIALIZED_VIEW:
        return rollup == NULL || compare_rollup_view(cmp, table, rollup, found);
    }
    return true;
}

static void add_missing(struct comparison *cmp, const struct pipe_table_statement *statement,
                        const char *filled_from)
{
    static const char *const what[] = {[PIPE_TABLE_DATABASE] = "database",
                                       [PIPE_TABLE_TABLE] = "table",
                                       [PIPE_TABLE_VIEW] = "view",
                                       [PIPE_TABLE_MATERIALIZED_VIEW] = "materialized view"};
    for (size_t i = 0; i < cmp->out->count; i++) /* a database of several tables */
        if (cmp->out->items[i].kind == TABLES_MISSING &&
            strcmp(cmp->out->items[i].object, statement->name) == 0)
            return;
    struct pipe_buf sql = {0};
    pipe_buf_printf(&sql, "%s", statement->sql);
    if (statement->object == PIPE_TABLE_TABLE && cmp->knows_merge_base)
        pipe_buf_printf(&sql, ", " MERGE_BASE " = %d", MERGE_BASE_VALUE);
    add(cmp, TABLES_MISSING, statement->name, text_of(&sql),
        filled_from != NULL ? "the %s is missing; it takes new rows only, those that are in %s "
                              "now are not in its roll-up: fill that from them by hand"
                            : "the %s is missing",
        what[statement->object], filled_from);
}

static bool compare_statement(struct comparison *cmp, const struct pipe_table_def *table,
                              const struct pipe_table_statement *statement)
{
    struct tables_found found = {0};
    bool exists = false, has_rows = false, ok;
    if (statement->object == PIPE_TABLE_DATABASE) {
        ok = tables_read_database(&cmp->server, statement->name, &exists);
    } else {
        ok = tables_read(&cmp->server, statement->name, &found);
        exists = found.exists;
        if (ok && !exists && statement->object == PIPE_TABLE_MATERIALIZED_VIEW)
            ok = tables_has_rows(&cmp->server, table->name, &has_rows);
    }
    if (ok && exists)
        ok = compare_found(cmp, table, statement, &found);
    else if (ok)
        add_missing(cmp, statement, has_rows ? table->name : NULL);
    tables_found_free(&found);
    return ok;
}

bool tables_compare(const struct pipe_plan *plan, struct pipe_clickhouse *client,
                    struct tables_differences *differences)
{
    *differences = (struct tables_differences){0};
    struct comparison cmp = {.server = {client, differences->error, sizeof differences->error},
                             .out = differences};
    if (!tables_knows_setting(&cmp.server, MERGE_BASE, &cmp.knows_merge_base))
        return false;
    for (uint32_t i = 0; i < plan->sink_count; i++) {
        const struct pipe_table_def *table = plan->sinks[i].table;
        for (uint32_t s = 0; table != NULL && s < table->statement_count; s++)
            if (!compare_statement(&cmp, table, &table->statements[s]))
                return false;
    }
    return true;
}

uint32_t tables_count(const struct pipe_plan *plan)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->sink_count; i++)
        count += plan->sinks[i].table != NULL;
    return count;
}
