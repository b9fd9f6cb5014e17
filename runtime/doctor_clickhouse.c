/* doctor_clickhouse.c: the server of the table sinks. See doctor.h. */
#include <inttypes.h>
#include <stdlib.h>

#include "clickhouse.h"
#include "doctor.h"
#include "follower.h"
#include "tables.h"

#define AREA "clickhouse"
#define ASK_MS 30000
#define RUNS_AT_MOST_S 120 /* two inserts of max_execution_time: what a token must outlast */
#define CATCHING_UP_BYTES_S 200000000 /* what all processes may bring into a table, at most */
#define INSERT_LEAST_S 0.01           /* of one partition */
#define CLOCK_NOTE_S 2
#define CLOCK_PROBLEM_S 60

static bool send(struct pipe_clickhouse *client, const struct pipe_clickhouse_call *call,
                 struct pipe_clickhouse_result *result)
{
    pipe_clickhouse_do(client, call, result);
    return result->outcome == PIPE_CLICKHOUSE_DONE;
}

static bool send_text(struct pipe_clickhouse *client, const struct pipe_buf *sql,
                      struct pipe_clickhouse_result *result)
{
    const struct pipe_clickhouse_call call = {
        .sql = pipe_str_of((const char *)sql->data, sql->size), .deadline_ms = ASK_MS};
    return send(client, &call, result);
}

/* ---- The server ---- */

static void check_clock(struct doctor *doctor, const struct pipe_clickhouse_server *server)
{
    int64_t early_s = server->asked_ms / 1000, late_s = server->answered_ms / 1000 + 1;
    int64_t off_s = server->clock_s < early_s  ? server->clock_s - early_s
                    : server->clock_s > late_s ? server->clock_s - late_s
                                               : 0;
    int64_t far_s = off_s < 0 ? -off_s : off_s;
    if (far_s < CLOCK_NOTE_S)
        return;
    doctor_find(doctor, far_s < CLOCK_PROBLEM_S ? DOCTOR_NOTE : DOCTOR_PROBLEM, AREA,
                "set both by NTP; rows are not touched by it, queries with now() are",
                "the clock of %s is %" PRId64 " s %s ours", server->host, far_s,
                off_s > 0 ? "ahead of" : "behind");
}

/* False: nothing more can be asked. */
static bool check_server(struct doctor *doctor, struct pipe_clickhouse *client)
{
    struct pipe_clickhouse_result result;
    struct pipe_buf sql = {0};
    pipe_buf_printf(&sql, "SELECT 1");
    bool ok = send_text(client, &sql, &result);
    pipe_buf_free(&sql);
    pipe_buf_free(&result.body);
    if (!ok) {
        doctor_find(doctor, DOCTOR_PROBLEM, AREA,
                    "check PIPE_CLICKHOUSE_URL, user and password, and that it runs", "%s: %s",
                    pipe_clickhouse_url(client), result.error);
        return false;
    }
    const struct pipe_clickhouse_server *server = pipe_clickhouse_server(client);
    doctor_find(doctor, DOCTOR_OK, AREA, NULL, "version %s at %s (%s), up for %" PRId64 " s",
                server->version, pipe_clickhouse_url(client), server->host, server->uptime_s);
    check_clock(doctor, server);
    return true;
}

/* ---- Tables ---- */

/* How many inserts a second a table gets at most: by the time of the sink, and, where blocks are
 * full before that, by their size. */
static double inserts_a_second(const struct pipe_plan *plan, const struct pipe_sink_def *sink,
                               uint32_t partitions)
{
    int64_t every_ms = sink->commit_ms > 0 ? sink->commit_ms : plan->commit_ms;
    double by_time = partitions * 1000.0 / (double)(every_ms > 0 ? every_ms : 1);
    double by_size = sink->commit_bytes > 0 ? CATCHING_UP_BYTES_S / (double)sink->commit_bytes : 0;
    double most = partitions / INSERT_LEAST_S;
    double rate = by_size > by_time ? by_size : by_time;
    return rate < most ? rate : most;
}

/* How long the tokens of a table are remembered if every partition inserts as often as it can. */
static void check_window(struct doctor *doctor, uint32_t index)
{
    const struct pipe_plan *plan = doctor->plan;
    const struct pipe_sink_def *sink = &plan->sinks[index];
    const struct pipe_table_def *table = sink->table;
    struct pipe_plan_topic rows;
    uint32_t topic_sink;
    pipe_plan_topic(plan, PIPE_TOPIC_ROWS, index, &rows);
    uint32_t partitions = pipe_plan_followed(plan, index, &topic_sink)
                              ? plan->sinks[topic_sink].partitions
                              : rows.partitions;
    int64_t window_s = (int64_t)((double)table->deduplication_window /
                                 inserts_a_second(plan, sink, partitions > 0 ? partitions : 1));
    if (window_s < RUNS_AT_MOST_S)
        doctor_find(doctor, DOCTOR_PROBLEM, AREA,
                    "write `commit every` with a longer time or a larger size in the sink",
                    "%s: %" PRId64 " tokens are those of %" PRId64
                    " s only; two attempts of one insert can run for %d",
                    table->name, table->deduplication_window, window_s, RUNS_AT_MOST_S);
    else if (table->rollup_count > 0)
        doctor_find(doctor, DOCTOR_NOTE, AREA, NULL,
                    "%s has a roll-up, so its tokens alone keep rows from being counted twice: for "
                    "a process that stands still for at most %" PRId64 " s",
                    table->name, window_s);
    else
        doctor_find(doctor, DOCTOR_OK, AREA, NULL,
                    "%s: tokens of the last %" PRId64 " s are remembered", table->name, window_s);
}

/* An insert without a row: whether this user may, with the settings that the pipeline sends. */
static void check_insert(struct doctor *doctor, struct pipe_clickhouse *client,
                         const struct pipe_table_def *table)
{
    struct pipe_clickhouse_range none = {0, 0, -1};
    struct pipe_clickhouse_result result;
    struct pipe_buf sql = {0};
    pipe_clickhouse_insert_sql(&sql, table, &none, 1, "Native");
    const struct pipe_clickhouse_call call = {.sql = pipe_str_of((char *)sql.data, sql.size),
                                              .token = "doctor",
                                              .body = pipe_str_of("", 0),
                                              .deadline_ms = ASK_MS};
    bool ok = send(client, &call, &result);
    pipe_buf_free(&result.body);
    if (ok && !pipe_clickhouse_is_plain(table)) {
        sql.size = 0;
        pipe_clickhouse_probe_sql(&sql, table, &none, 1);
        ok = send_text(client, &sql, &result);
        pipe_buf_free(&result.body);
    }
    pipe_buf_free(&sql);
    bool refused = result.outcome == PIPE_CLICKHOUSE_FATAL && result.code == 0 &&
                   result.status != 401 && result.status != 403;
    doctor_find(
        doctor, ok ? DOCTOR_OK : DOCTOR_PROBLEM, AREA,
        ok || refused ? NULL
                      : "grant INSERT and SELECT on it to the user, and the right to set settings",
        ok ? "%s takes inserts%s" : "%s takes no inserts: %s", table->name, ok ? "" : result.error);
}

/* True: nothing is missing or refused. *seen: the server has told of its tables. */
static bool check_tables(struct doctor *doctor, struct pipe_clickhouse *client,
                         struct tables_differences *differences, bool *seen)
{
    char apply[160];
    bool good = *seen = tables_compare(doctor->plan, client, differences);
    snprintf(apply, sizeof apply, "%.100s tables apply", doctor->plan->name);
    if (!good)
        doctor_find(doctor, DOCTOR_PROBLEM, AREA, "grant SELECT on system.tables and its like",
                    "the tables cannot be looked at: %s", differences->error);
    for (size_t i = 0; i < differences->count; i++) {
        const struct tables_difference *difference = &differences->items[i];
        bool note = difference->kind == TABLES_NOTE;
        good = good && note;
        doctor_find(doctor, note ? DOCTOR_NOTE : DOCTOR_PROBLEM, AREA,
                    difference->sql != NULL ? apply : NULL, "%s: %s", difference->object,
                    difference->text);
    }
    return good;
}

/* Whether the table is there with nothing to be put right. */
static bool is_as_planned(const struct tables_differences *differences, const char *table)
{
    for (size_t i = 0; i < differences->count; i++) {
        const struct tables_difference *difference = &differences->items[i];
        size_t size = strlen(difference->object);
        bool database = strncmp(table, difference->object, size) == 0 && table[size] == '.';
        if (difference->kind != TABLES_NOTE && (database || strcmp(difference->object, table) == 0))
            return false;
    }
    return true;
}

/* ---- Whether a token counts for INSERT … SELECT: tried, for it has been otherwise ---- */

static bool insert_row(struct pipe_clickhouse *client, const char *table,
                       struct pipe_clickhouse_result *result)
{
    struct pipe_buf sql = {0};
    pipe_buf_printf(&sql,
                    "INSERT INTO %s (a) SELECT a FROM input('a Int64') WHERE a NOT IN (SELECT 1) "
                    "FORMAT RowBinary",
                    table);
    const struct pipe_clickhouse_call call = {.sql = pipe_str_of((char *)sql.data, sql.size),
                                              .token = "doctor",
                                              .body = pipe_str_of("\0\0\0\0\0\0\0\0", 8),
                                              .deadline_ms = ASK_MS};
    bool ok = send(client, &call, result);
    pipe_buf_free(&result->body);
    pipe_buf_free(&sql);
    return ok;
}

/* -1: result->error; else the rows that two inserts with one token have left. */
static int64_t try_token(struct pipe_clickhouse *client, const char *table,
                         struct pipe_clickhouse_result *result)
{
    struct pipe_buf sql = {0};
    int64_t count = -1;
    pipe_buf_printf(&sql,
                    "CREATE TABLE %s (a Int64) ENGINE = MergeTree ORDER BY a SETTINGS "
                    "non_replicated_deduplication_window = 10",
                    table);
    bool ok = send_text(client, &sql, result);
    pipe_buf_free(&result->body);
    ok = ok && insert_row(client, table, result) && insert_row(client, table, result);
    sql.size = 0;
    pipe_buf_printf(&sql, "SELECT count() FROM %s FORMAT TabSeparated", table);
    if (ok && send_text(client, &sql, result)) {
        pipe_buf_add_byte(&result->body, '\0');
        count = atoll((char *)result->body.data);
        pipe_buf_free(&result->body);
    }
    pipe_buf_free(&sql);
    return count;
}

static void check_token(struct doctor *doctor, struct pipe_clickhouse *client, const char *near)
{
    struct pipe_clickhouse_result result = {0}, dropped;
    struct pipe_buf table = {0}, sql = {0};
    uint64_t chance;
    pipe_random_bytes(&chance, sizeof chance);
    pipe_buf_printf(&table, "%.*s._pipe_doctor_%016" PRIx64, (int)strcspn(near, "."), near, chance);
    pipe_buf_add_byte(&table, '\0');
    int64_t count = try_token(client, (char *)table.data, &result);
    pipe_buf_printf(&sql, "DROP TABLE IF EXISTS %s SYNC", (char *)table.data);
    if (!send_text(client, &sql, &dropped) && count >= 0)
        doctor_find(doctor, DOCTOR_NOTE, AREA, "drop it", "%s was made and cannot be dropped: %s",
                    (char *)table.data, dropped.error);
    pipe_buf_free(&dropped.body);
    if (count < 0)
        doctor_find(doctor, DOCTOR_NOTE, AREA,
                    "grant CREATE TABLE and DROP TABLE on the database to try it",
                    "whether a token counts for INSERT SELECT could not be tried: %s",
                    result.error);
    else if (count == 1)
        doctor_find(doctor, DOCTOR_OK, AREA, NULL, "a token counts for INSERT SELECT");
    else
        doctor_find(doctor, DOCTOR_PROBLEM, AREA, "use another version of ClickHouse",
                    "a token does not count for INSERT SELECT: two attempts at once would both add "
                    "their rows");
    pipe_buf_free(&table);
    pipe_buf_free(&sql);
}

void doctor_clickhouse(struct doctor *doctor)
{
    const struct pipe_plan *plan = doctor->plan;
    struct tables_differences differences = {0};
    const char *near = NULL;
    char error[512];
    if (tables_count(plan) == 0) {
        doctor_find(doctor, DOCTOR_SKIPPED, AREA, NULL, "no sink of the pipeline is a table there");
        return;
    }
    struct pipe_clickhouse *client = pipe_clickhouse_open(error, sizeof error);
    if (client == NULL) {
        if (error[0] != '\0')
            doctor_find(doctor, DOCTOR_PROBLEM, AREA, NULL, "%s", error);
        else
            doctor_find(doctor, DOCTOR_SKIPPED, AREA, NULL, "PIPE_CLICKHOUSE_URL is not set");
        return;
    }
    bool seen = false;
    bool good = check_server(doctor, client) && check_tables(doctor, client, &differences, &seen);
    for (uint32_t i = 0; i < plan->sink_count; i++) {
        if (plan->sinks[i].table == NULL)
            continue;
        near = plan->sinks[i].table->name;
        if (seen && is_as_planned(&differences, near))
            check_window(doctor, i);
        if (good)
            check_insert(doctor, client, plan->sinks[i].table);
    }
    if (good)
        check_token(doctor, client, near);
    tables_differences_free(&differences);
    pipe_clickhouse_close(client);
}
