/*
 * reconcile_server.c: tables on a ClickHouse server: their rows, range by range, and their
 * roll-ups, which the server itself compares with what feeds them.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "clickhouse.h"
#include "reconcile.h"
#include "reconcile_tables.h"

#define RANGE_ROWS 1000000 /* offsets of one question */
#define ASK_MS 110000
#define LOOKS 5 /* at roll-ups, while rows may be on their way */
#define LOOK_EVERY_US 500000
#define ANSWER_BYTES 4096u

void reconcile_make_server_table(struct reconcile *r, struct reconcile_layer *layer)
{
    const struct pipe_sink_def *sink = &r->plan->sinks[layer->index];
    snprintf(layer->place, sizeof layer->place, "table %.250s", sink->table->name);
    if (sink->table->keeping == PIPE_TABLE_ALL)
        return;
    layer->table->last = reconcile_new_last(r, sink);
    layer->label_column = NULL;
}

/* ---- Rows ---- */

struct answer {
    struct reconcile *r;
    struct reconcile_layer *layer;
    struct pipe_native_reader *reader;
    char error[400]; /* of the reader */
};

static bool find_row(void *context, struct pipe_str json, int32_t partition, int64_t offset)
{
    const struct answer *answer = context;
    reconcile_find_row(answer->r, answer->layer, json, partition, offset, answer->layer->place);
    return !answer->r->spills.failed;
}

static bool take_bytes(void *context, struct pipe_str bytes)
{
    struct answer *answer = context;
    return pipe_native_take(answer->reader, bytes, find_row, answer, answer->error,
                            sizeof answer->error);
}

/* `rest`: what follows the name of the table. */
static bool ask(struct reconcile *r, struct reconcile_layer *layer, const char *rest)
{
    const struct pipe_sink_def *sink = &r->plan->sinks[layer->index];
    struct answer answer = {r, layer, pipe_native_reader_new(sink->table, sink->row), ""};
    struct pipe_clickhouse_result result;
    struct pipe_buf sql = {0};
    pipe_buf_printf(&sql, "SELECT ");
    for (uint32_t i = 0; i < sink->table->column_count; i++) {
        pipe_buf_printf(&sql, i > 0 ? ", " : "");
        pipe_clickhouse_identifier(&sql, sink->table->columns[i].name);
    }
    pipe_buf_printf(&sql, " FROM ");
    pipe_clickhouse_table(&sql, sink->table->name);
    pipe_buf_printf(&sql, "%s SETTINGS max_block_size = 16384 FORMAT Native", rest);
    pipe_buf_add_byte(&sql, 0);
    pipe_clickhouse_select(r->clickhouse, (const char *)sql.data, ASK_MS, take_bytes, &answer,
                           &result);
    bool ok = result.outcome == PIPE_CLICKHOUSE_DONE && pipe_native_ends(answer.reader);
    if (!ok && !r->spills.failed)
        reconcile_fail(r, PIPE_EXIT_DATA, "table %s can't be read: %s", sink->table->name,
                       answer.error[0] != '\0'                  ? answer.error
                       : result.outcome != PIPE_CLICKHOUSE_DONE ? result.error
                                                                : "an answer ends early");
    pipe_native_reader_free(answer.reader);
    pipe_buf_free(&result.body);
    pipe_buf_free(&sql);
    return ok || r->spills.failed;
}

/* Embedded nothing may be behind the end; on Kafka that is later. */
static bool ask_partition(struct reconcile *r, struct reconcile_layer *layer, uint32_t partition)
{
    const struct reconcile_table *table = layer->table;
    const struct pipe_log *log = r->engine->log;
    int64_t end = r->ends != NULL ? r->ends[table->topic][partition]
                                  : log->ops->end(log, table->topic, (int32_t)partition);
    for (int64_t from = table->begins[partition]; from < end; from += RANGE_ROWS) {
        char rest[160];
        int64_t to = end - from > RANGE_ROWS ? from + RANGE_ROWS - 1 : end - 1;
        snprintf(rest, sizeof rest,
                 " WHERE _pipe_partition = %u AND _pipe_offset BETWEEN %" PRId64 " AND %" PRId64,
                 partition, from, to);
        if (!ask(r, layer, rest))
            return false;
    }
    char beyond[120];
    snprintf(beyond, sizeof beyond, " WHERE _pipe_partition = %u AND _pipe_offset >= %" PRId64,
             partition, end);
    return r->ends != NULL || ask(r, layer, beyond);
}

bool reconcile_find_server_rows(struct reconcile *r, struct reconcile_layer *layer)
{
    const struct reconcile_table *table = layer->table;
    char rest[120];
    if (table->last != NULL)
        return ask(r, layer, " FINAL");
    for (uint32_t p = 0; p < table->partitions; p++) {
        if (!ask_partition(r, layer, p))
            return false;
    }
    snprintf(rest, sizeof rest, " WHERE _pipe_partition NOT BETWEEN 0 AND %u OR _pipe_offset < 0",
             table->partitions - 1);
    return ask(r, layer, rest);
}

/* ---- Roll-ups ---- */

static bool begins_with(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* The function of a column's type, as text in it: "sum" of SimpleAggregateFunction(sum, Int64). */
static struct pipe_str function_of(const char *type)
{
    const char *name = strchr(type, '(') + 1;
    return pipe_str_of(name, strcspn(name, "(,"));
}

/* Whether the order of rows has no influence on it. */
static bool is_exact(const char *type)
{
    static const char *const names[] = {"sum", "min", "max", "avg", "uniqExact", "uniqCombined64"};
    struct pipe_str function = function_of(type);
    bool adds =
        pipe_str_equal(function, PIPE_STR("sum")) || pipe_str_equal(function, PIPE_STR("avg"));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (pipe_str_equal(function, pipe_str_of(names[i], strlen(names[i]))))
            return !adds || strstr(type, "Float") == NULL;
    }
    return false;
}

/* A side of the comparison: keys, and the aggregates that can be compared. `merged`: of the rows of
 * the roll-up's table; else of the view's query over what feeds it. No column can have the names
 * given here. */
static void put_side(struct pipe_buf *sql, const struct pipe_table_rollup *rollup, bool merged)
{
    pipe_buf_printf(sql, "SELECT ");
    for (uint32_t i = 0; i < rollup->column_count; i++) {
        const struct pipe_table_column *column = &rollup->columns[i];
        bool simple = begins_with(column->type, "SimpleAggregateFunction(");
        bool state = begins_with(column->type, "AggregateFunction(");
        struct pipe_buf name = {0};
        if ((simple || state) && !is_exact(column->type))
            continue;
        pipe_clickhouse_identifier(&name, column->name);
        pipe_buf_add_byte(&name, 0);
        if (merged && (simple || state)) {
            struct pipe_str function = function_of(column->type);
            pipe_buf_printf(sql, "%.*s%s(r.%s) AS _pipe_%u, ", (int)function.size, function.data,
                            state ? "Merge" : "", (char *)name.data, i);
        } else {
            pipe_buf_printf(
                sql, state ? "finalizeAggregation(r.%s) AS _pipe_%u, " : "r.%s AS _pipe_%u, ",
                (char *)name.data, i);
        }
        pipe_buf_free(&name);
    }
    pipe_buf_printf(sql, "%d AS _pipe_side FROM ", merged ? 1 : -1);
    if (merged)
        pipe_clickhouse_table(sql, rollup->table);
    else
        pipe_buf_printf(sql, "(%s)", rollup->select);
    pipe_buf_printf(sql, " AS r");
    if (merged)
        pipe_buf_printf(sql, " GROUP BY %s", rollup->order_by);
}

/* Groups that are on one side only, or differ: each counts once a side. */
static void put_question(struct pipe_buf *sql, const struct pipe_table_rollup *rollup)
{
    pipe_buf_printf(sql, "SELECT countIf(_pipe_sides > 0), countIf(_pipe_sides < 0) FROM "
                         "(SELECT sum(_pipe_side) AS _pipe_sides FROM (");
    put_side(sql, rollup, true);
    pipe_buf_printf(sql, " UNION ALL ");
    put_side(sql, rollup, false);
    pipe_buf_printf(sql, ") GROUP BY ");
    for (uint32_t i = 0, any = 0; i < rollup->column_count; i++) {
        const char *type = rollup->columns[i].type;
        if (strstr(type, "AggregateFunction(") == NULL || is_exact(type))
            pipe_buf_printf(sql, "%s_pipe_%u", any++ > 0 ? ", " : "", i);
    }
    pipe_buf_printf(sql, " HAVING _pipe_sides != 0) FORMAT TabSeparated");
}

static bool ask_rollup(struct reconcile *r, const struct pipe_table_rollup *rollup, int64_t *more,
                       int64_t *fewer)
{
    struct pipe_buf sql = {0};
    struct pipe_clickhouse_result result;
    long long numbers[2];
    put_question(&sql, rollup);
    const struct pipe_clickhouse_call call = {.sql = pipe_str_of(sql.data, sql.size),
                                              .deadline_ms = ASK_MS,
                                              .answer_bytes = ANSWER_BYTES};
    pipe_clickhouse_do(r->clickhouse, &call, &result);
    pipe_buf_add_byte(&result.body, 0);
    bool done = result.outcome == PIPE_CLICKHOUSE_DONE;
    bool ok = done && sscanf((char *)result.body.data, "%lld\t%lld", &numbers[0], &numbers[1]) == 2;
    if (ok) {
        *more = numbers[0];
        *fewer = numbers[1];
    } else {
        reconcile_fail(r, PIPE_EXIT_DATA, "roll-up %s can't be compared: %s", rollup->table,
                       done ? "the answer is no pair of numbers" : result.error);
    }
    pipe_buf_free(&result.body);
    pipe_buf_free(&sql);
    return ok;
}

/* Rows reach a table and its view one after the other: what differs is looked at again. */
static bool check_rollup(struct reconcile *r, const struct pipe_sink_def *sink,
                         const struct pipe_table_rollup *rollup)
{
    int64_t more = 0, fewer = 0;
    char text[200], feeds[400];
    for (int look = 0; look < LOOKS; look++) {
        if (!ask_rollup(r, rollup, &more, &fewer))
            return false;
        if ((more == 0 && fewer == 0) || !r->kafka)
            break;
        engine_sleep_us(LOOK_EVERY_US);
    }
    snprintf(text, sizeof text, "groups of %.100s that its table does not give", rollup->table);
    reconcile_check(r, "roll-ups", more, text, 0, "none", false);
    snprintf(feeds, sizeof feeds, "groups of %.150s that %.150s does not have", sink->table->name,
             rollup->table);
    reconcile_check(r, "roll-ups", fewer, feeds, 0, "none", false);
    return true;
}

bool reconcile_check_rollups(struct reconcile *r)
{
    for (uint32_t i = 0; i < r->layer_count; i++) {
        if (r->layers[i].kind != RECONCILE_TABLE || !r->on_server)
            continue;
        const struct pipe_sink_def *sink = &r->plan->sinks[r->layers[i].index];
        for (uint32_t u = 0; u < sink->table->rollup_count; u++) {
            if (!check_rollup(r, sink, &sink->table->rollups[u]))
                return false;
        }
    }
    return true;
}
