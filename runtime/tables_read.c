/* tables_read.c: what a server says of its tables. See tables.h. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "tables.h"

#define ASK_MS 30000
#define ANSWER_BYTES (4u << 20)

/* ---- Rows of an answer in JSONCompactEachRow ---- */

static bool ask(const struct tables_server *server, const struct pipe_buf *sql,
                bool (*row)(void *context, json_t *row), void *context)
{
    struct pipe_clickhouse_result result;
    const struct pipe_clickhouse_setting settings[] = {
        {"output_format_json_quote_64bit_integers", "0"},
        {"output_format_json_named_tuples_as_objects", "0"}};
    const struct pipe_clickhouse_call call = {.sql =
                                                  pipe_str_of((const char *)sql->data, sql->size),
                                              .settings = settings,
                                              .setting_count = 2,
                                              .deadline_ms = ASK_MS,
                                              .answer_bytes = ANSWER_BYTES};
    pipe_clickhouse_do(server->client, &call, &result);
    bool ok = result.outcome == PIPE_CLICKHOUSE_DONE;
    if (!ok)
        snprintf(server->error, server->error_bytes, "%s", result.error);
    const char *at = (const char *)result.body.data;
    const char *end = at + result.body.size;
    while (ok && at < end) {
        const char *line = memchr(at, '\n', (size_t)(end - at));
        size_t size = (size_t)((line != NULL ? line : end) - at);
        json_t *json = json_loadb(at, size, 0, NULL);
        ok = json_is_array(json) && row(context, json);
        if (!ok)
            snprintf(server->error, server->error_bytes,
                     "%s answers a question about its tables with something else",
                     pipe_clickhouse_url(server->client));
        json_decref(json);
        at += size + 1;
    }
    pipe_buf_free(&result.body);
    return ok;
}

/* A text of a row; "" if it is none. */
static char *text_at(const json_t *row, size_t index)
{
    const char *text = json_string_value(json_array_get(row, index));
    return pipe_text_dup(text != NULL ? text : "");
}

static void add_text(struct pipe_buf *sql, const char *text)
{
    pipe_clickhouse_literal(sql, pipe_str_of(text, strlen(text)));
}

/* ` WHERE database = … AND COLUMN = …` of a target; more conditions may follow. */
static void add_where(struct pipe_buf *sql, const char *target, const char *column)
{
    const char *dot = strchr(target, '.');
    pipe_buf_printf(sql, " WHERE database = ");
    pipe_clickhouse_literal(sql, pipe_str_of(target, (size_t)(dot - target)));
    pipe_buf_printf(sql, " AND %s = ", column);
    add_text(sql, dot + 1);
}

#define FORMAT " FORMAT JSONCompactEachRow"

/* ---- Databases, tables, columns ---- */

static bool take_exists(void *context, json_t *row)
{
    *(bool *)context = json_integer_value(json_array_get(row, 0)) > 0;
    return json_is_integer(json_array_get(row, 0));
}

/* Whether a table of `system` has a row of that name. */
static bool ask_named(const struct tables_server *server, const char *table, const char *name,
                      bool *exists)
{
    struct pipe_buf sql = {0};
    pipe_buf_printf(&sql, "SELECT count() FROM system.%s WHERE name = ", table);
    add_text(&sql, name);
    pipe_buf_printf(&sql, FORMAT);
    bool ok = ask(server, &sql, take_exists, exists);
    pipe_buf_free(&sql);
    return ok;
}

bool tables_read_database(const struct tables_server *server, const char *name, bool *exists)
{
    return ask_named(server, "databases", name, exists);
}

static bool take_table(void *context, json_t *row)
{
    struct tables_found *found = context;
    if (found->exists)
        return false;
    found->exists = true;
    found->engine = text_at(row, 0);
    found->engine_full = text_at(row, 1);
    found->sorting_key = text_at(row, 2);
    found->partition_key = text_at(row, 3);
    found->as_select = text_at(row, 4);
    found->create = text_at(row, 5);
    return true;
}

static bool take_column(void *context, json_t *row)
{
    struct tables_found *found = context;
    found->columns =
        pipe_realloc(found->columns, (found->column_count + 1) * sizeof *found->columns);
    found->columns[found->column_count++] =
        (struct tables_column){text_at(row, 0), text_at(row, 1), text_at(row, 2)};
    return true;
}

bool tables_read(const struct tables_server *server, const char *target, struct tables_found *found)
{
    struct pipe_buf sql = {0};
    *found = (struct tables_found){0};
    pipe_buf_printf(&sql, "SELECT engine, engine_full, sorting_key, partition_key, as_select, "
                          "create_table_query FROM system.tables");
    add_where(&sql, target, "name");
    pipe_buf_printf(&sql, FORMAT);
    bool ok = ask(server, &sql, take_table, found);
    if (ok && found->exists) {
        sql.size = 0;
        pipe_buf_printf(&sql, "SELECT name, type, default_kind FROM system.columns");
        add_where(&sql, target, "table");
        pipe_buf_printf(&sql, " ORDER BY position" FORMAT);
        ok = ask(server, &sql, take_column, found);
    }
    if (ok && found->exists) {
        sql.size = 0;
        pipe_buf_printf(&sql, "SELECT count() FROM system.data_skipping_indices");
        add_where(&sql, target, "table");
        pipe_buf_printf(&sql, " AND name = '_pipe_position'" FORMAT);
        ok = ask(server, &sql, take_exists, &found->has_position_index);
    }
    pipe_buf_free(&sql);
    return ok;
}

bool tables_has_rows(const struct tables_server *server, const char *target, bool *any)
{
    struct pipe_buf sql = {0};
    *any = false;
    pipe_buf_printf(&sql, "SELECT count() FROM system.tables");
    add_where(&sql, target, "name");
    pipe_buf_printf(&sql, " AND total_rows > 0" FORMAT);
    bool ok = ask(server, &sql, take_exists, any);
    pipe_buf_free(&sql);
    return ok;
}

void tables_found_free(struct tables_found *found)
{
    for (size_t i = 0; i < found->column_count; i++) {
        free(found->columns[i].name);
        free(found->columns[i].type);
        free(found->columns[i].default_kind);
    }
    free(found->columns);
    free(found->engine);
    free(found->engine_full);
    free(found->sorting_key);
    free(found->partition_key);
    free(found->as_select);
    free(found->create);
    *found = (struct tables_found){0};
}

/* ---- Settings and statements ---- */

static bool take_text(void *context, json_t *row)
{
    char **text = context;
    free(*text);
    *text = text_at(row, 0);
    return true;
}

bool tables_read_setting(const struct tables_server *server, const struct tables_found *found,
                         const char *name, char **value)
{
    const char *settings = strstr(found->engine_full, " SETTINGS ");
    struct pipe_buf sql = {0};
    *value = NULL;
    for (const char *at = settings; at != NULL; at = strstr(at, name)) {
        size_t size = strlen(name);
        bool whole =
            strncmp(at, name, size) == 0 && strncmp(at + size, " = ", 3) == 0 && at[-1] == ' ';
        if (whole) {
            at += size + 3;
            *value = strndup(at, strcspn(at, ","));
            if (*value == NULL)
                pipe_out_of_memory();
            return true;
        }
        at++;
    }
    bool replicated = strncmp(found->engine, "Replicated", 10) == 0;
    pipe_buf_printf(&sql, "SELECT value FROM system.%smerge_tree_settings WHERE name = ",
                    replicated ? "replicated_" : "");
    add_text(&sql, name);
    pipe_buf_printf(&sql, FORMAT);
    bool ok = ask(server, &sql, take_text, value);
    pipe_buf_free(&sql);
    if (ok && *value == NULL)
        *value = pipe_text_dup("0"); /* a version that does not know it does not do it */
    return ok;
}

bool tables_knows_setting(const struct tables_server *server, const char *name, bool *knows)
{
    *knows = false;
    return ask_named(server, "merge_tree_settings", name, knows);
}

bool tables_read_normal(const struct tables_server *server, const char *sql, char **normal)
{
    struct pipe_buf ask_sql = {0};
    *normal = NULL;
    pipe_buf_printf(&ask_sql, "SELECT formatQuerySingleLine(");
    add_text(&ask_sql, sql);
    pipe_buf_printf(&ask_sql, ")" FORMAT);
    bool ok = ask(server, &ask_sql, take_text, normal);
    pipe_buf_free(&ask_sql);
    if (ok && *normal == NULL)
        *normal = pipe_text_dup("");
    return ok;
}
