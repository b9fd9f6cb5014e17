/*
 * target_clickhouse.c: batches into tables of a ClickHouse server (follower.h), over clickhouse.h.
 *
 * An attempt is one insert; but the first of a batch begins with the probe, a count of its rows,
 * and ends there if all are in the table. Tables that need no condition need no probe: what comes
 * twice is replaced (rows of one key), or dropped by its token (semantics.md §6).
 *
 * A table is looked at before its first row: its columns, and that it remembers tokens.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "clickhouse.h"
#include "follower.h"
#include "tables.h"

#define ASK_MS 10000
/* Longer than max_execution_time, which the client sends: who gives up first is the server. */
#define INSERT_MS 75000
#define ANSWER_BYTES (1u << 20)

/* ---- Questions: of a table, or of a partition of it ---- */

enum about { ABOUT_TABLE, ABOUT_ROWS_FROM, ABOUT_ROW };
struct question {
    struct question *next;
    uint32_t sink;
    int32_t partition; /* -1: of the table */
    enum about about;
    int64_t offset;
    struct pipe_clickhouse_request *request;
};

struct clickhouse_target {
    struct pipe_table_target target; /* first */
    const struct pipe_plan *plan;
    struct pipe_clickhouse *client;
    struct question *questions;
};

struct pipe_table_request {
    struct clickhouse_target *target;
    const struct pipe_table_def *table;
    struct pipe_clickhouse_range ranges[PIPE_TABLE_RANGES_MAX];
    uint32_t range_count, rows, attempt;
    char token[65];
    struct pipe_buf block; /* compressed */
    bool probes;
    struct pipe_clickhouse_request *request;
    char error[512];
};

static struct clickhouse_target *target_of(struct pipe_table_target *target)
{
    return (struct clickhouse_target *)target;
}

static const struct pipe_table_def *table_of(const struct clickhouse_target *target, uint32_t sink)
{
    return target->plan->sinks[sink].table;
}

static struct pipe_str text_of(const struct pipe_buf *buf)
{
    return pipe_str_of(buf->data, buf->size);
}

static enum pipe_table_outcome outcome_of(const struct pipe_clickhouse_result *result)
{
    switch (result->outcome) {
    case PIPE_CLICKHOUSE_PENDING:
        return PIPE_TABLE_PENDING;
    case PIPE_CLICKHOUSE_DONE:
        return PIPE_TABLE_DONE;
    case PIPE_CLICKHOUSE_REFUSED:
    case PIPE_CLICKHOUSE_RETRY:
    case PIPE_CLICKHOUSE_UNKNOWN:
        return PIPE_TABLE_AGAIN;
    case PIPE_CLICKHOUSE_FATAL:
        break;
    }
    return PIPE_TABLE_BROKEN;
}

static struct question *find_question(struct clickhouse_target *target, uint32_t sink,
                                      int32_t partition)
{
    struct question *question = target->questions;
    while (question != NULL && (question->sink != sink || question->partition != partition))
        question = question->next;
    return question;
}

/* Of other things, or of another offset: whoever asked has gone. */
static bool is_stale(const struct question *question, enum about about, int64_t offset)
{
    return question->about != about || question->offset != offset;
}

static void end_question(struct clickhouse_target *target, struct question *question)
{
    struct question **at = &target->questions;
    while (*at != question)
        at = &(*at)->next;
    *at = question->next;
    pipe_clickhouse_end(question->request);
    free(question);
}

static struct question *ask(struct clickhouse_target *target, uint32_t sink, int32_t partition,
                            const struct pipe_buf *sql)
{
    struct question *question = pipe_calloc(1, sizeof *question);
    struct pipe_clickhouse_call call = {
        .sql = text_of(sql), .deadline_ms = ASK_MS, .answer_bytes = ANSWER_BYTES};
    *question = (struct question){.next = target->questions,
                                  .sink = sink,
                                  .partition = partition,
                                  .request = pipe_clickhouse_begin(target->client, &call)};
    target->questions = question;
    return question;
}

/* ---- Whether the table is as it must be ---- */

/* The parts of its name: `db.t`, or `t` in the database of the URL. */
static void add_place(const struct clickhouse_target *target, const char *name, const char *column,
                      struct pipe_buf *sql)
{
    const char *dot = strchr(name, '.');
    const char *database = pipe_clickhouse_database(target->client);
    const char *table = dot != NULL ? dot + 1 : name;
    pipe_buf_printf(sql, " WHERE database = ");
    pipe_clickhouse_literal(sql, dot != NULL ? pipe_str_of(name, (size_t)(dot - name))
                                             : pipe_str_of(database, strlen(database)));
    pipe_buf_printf(sql, " AND %s = ", column);
    pipe_clickhouse_literal(sql, pipe_str_of(table, strlen(table)));
}

/* A line a column, its name and type; one without a name holds the engine with its settings, those
 * with a blank before it tell more of the table. */
static void ask_table(struct clickhouse_target *target, uint32_t sink)
{
    const char *name = table_of(target, sink)->name;
    struct pipe_buf sql = {0};
    pipe_buf_printf(&sql, "SELECT name, type FROM system.columns");
    add_place(target, name, "table", &sql);
    pipe_buf_printf(&sql,
                    " UNION ALL SELECT f.1, f.2 FROM system.tables ARRAY JOIN arrayConcat("
                    "[('', engine_full), (' engine', engine), (' sorting_key', sorting_key)], "
                    "arrayMap((d, t) -> (' view', concat(d, '.', t)), "
                    "dependencies_database, dependencies_table)) AS f");
    add_place(target, name, "name", &sql);
    pipe_buf_printf(&sql, " FORMAT TabSeparatedRaw");
    ask(target, sink, -1, &sql);
    pipe_buf_free(&sql);
}

/* The type of a column in the answer; data NULL: there is no such column. */
static struct pipe_str column_type(struct pipe_str answer, const char *name)
{
    const char *at = answer.data, *end = answer.data + answer.size;
    size_t name_bytes = strlen(name);
    while (at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        line_end = line_end != NULL ? line_end : end;
        const char *tab = memchr(at, '\t', (size_t)(line_end - at));
        if (tab != NULL && (size_t)(tab - at) == name_bytes && memcmp(at, name, name_bytes) == 0)
            return pipe_str_of(tab + 1, (size_t)(line_end - tab - 1));
        at = line_end + 1;
    }
    return pipe_str_of(NULL, 0);
}

/* The value of a line of its own, from malloc; "" if there is none. */
static char *line_of(struct pipe_str answer, const char *name)
{
    struct pipe_str text = column_type(answer, name);
    return text.data != NULL ? pipe_str_dup(text) : pipe_text_dup("");
}

/* Whether tokens count: without a window a server takes and forgets them. */
static bool remembers_tokens(const char *engine_full, bool replicated)
{
    const char *setting = replicated ? " replicated_deduplication_window = "
                                     : " non_replicated_deduplication_window = ";
    const char *at = strstr(engine_full, setting);
    if (at == NULL) /* the default of what is replicated is not 0 */
        return replicated;
    at += strlen(setting);
    return *at >= '1' && *at <= '9';
}

static bool has_line(struct pipe_str answer, const char *name, const char *value)
{
    struct pipe_buf line = {0};
    pipe_buf_printf(&line, "%s\t%s\n", name, value);
    const char *at = memmem(answer.data, answer.size, line.data, line.size);
    bool found = at != NULL && (at == answer.data || at[-1] == '\n');
    pipe_buf_free(&line);
    return found;
}

/* What the columns do not show, and rows would be lost or added up otherwise by. */
static enum pipe_table_outcome judge_engine(const struct pipe_table_def *table,
                                            struct pipe_str answer, char *error, size_t error_bytes)
{
    char *engine = line_of(answer, " engine"), *full = line_of(answer, "");
    char *order_by = line_of(answer, " sorting_key");
    bool replicated = tables_is_replicated(engine);
    const char *lost = NULL;
    for (uint32_t i = 0; i < table->rollup_count && lost == NULL; i++)
        if (!has_line(answer, " view", table->rollups[i].view))
            lost = table->rollups[i].view;
    error[0] = '\0';
    if (!tables_same_engine(engine, full, table->engine))
        snprintf(error, error_bytes,
                 "table %s: the engine is %s, but the pipeline needs %s; `tables plan` shows all "
                 "that differs",
                 table->name, engine, table->engine);
    else if (table->keeping != PIPE_TABLE_ALL && !tables_same_key(order_by, table->order_by))
        snprintf(error, error_bytes,
                 "table %s: ORDER BY is (%.100s), but rows of one (%.100s) must replace each "
                 "other; `tables plan` shows all that differs",
                 table->name, order_by, table->order_by);
    else if (lost != NULL)
        snprintf(error, error_bytes,
                 "table %s has no materialized view %s, or there is no right to see it: its rows "
                 "would not reach the roll-up; `tables apply` makes it, then start again",
                 table->name, lost);
    else if (!remembers_tokens(full, replicated))
        snprintf(error, error_bytes,
                 "table %s forgets the tokens of inserts: set %sreplicated_deduplication_window to "
                 "%" PRId64,
                 table->name, replicated ? "" : "non_", table->deduplication_window);
    free(engine);
    free(full);
    free(order_by);
    return error[0] == '\0' ? PIPE_TABLE_DONE : PIPE_TABLE_BROKEN;
}

static enum pipe_table_outcome judge_table(const struct pipe_table_def *table,
                                           struct pipe_str answer, char *error, size_t error_bytes)
{
    if (answer.size == 0) {
        snprintf(
            error, error_bytes,
            "there is no table %s, or no right to see it; `tables apply` makes it, empty: rows "
            "that were confirmed do not come again",
            table->name);
        return PIPE_TABLE_BROKEN;
    }
    for (uint32_t i = 0; i < table->column_count; i++) {
        const struct pipe_table_column *column = &table->columns[i];
        struct pipe_str type = column_type(answer, column->name);
        if (type.data != NULL &&
            pipe_str_equal(type, pipe_str_of(column->type, strlen(column->type))))
            continue;
        snprintf(error, error_bytes,
                 "table %s: column %s is %.*s, but the pipeline writes %s; `tables plan` shows all "
                 "that differs",
                 table->name, column->name, type.data != NULL ? (int)type.size : 7,
                 type.data != NULL ? type.data : "missing", column->type);
        return PIPE_TABLE_BROKEN;
    }
    return judge_engine(table, answer, error, error_bytes);
}

static enum pipe_table_outcome clickhouse_check(struct pipe_table_target *outer, uint32_t sink,
                                                char *error, size_t error_bytes)
{
    struct clickhouse_target *target = target_of(outer);
    struct question *question = find_question(target, sink, -1);
    if (question == NULL) {
        ask_table(target, sink);
        return PIPE_TABLE_PENDING;
    }
    const struct pipe_clickhouse_result *result = pipe_clickhouse_look(question->request);
    enum pipe_table_outcome outcome = outcome_of(result);
    if (outcome == PIPE_TABLE_PENDING)
        return outcome;
    if (outcome == PIPE_TABLE_DONE)
        outcome = judge_table(table_of(target, sink), text_of(&result->body), error, error_bytes);
    else
        snprintf(error, error_bytes, "%s", result->error);
    end_question(target, question);
    return outcome;
}

/* ---- Whether it has rows of a partition ---- */

static struct question *ask_rows(struct clickhouse_target *target, uint32_t sink, int32_t partition,
                                 enum about about, int64_t offset)
{
    const struct pipe_table_def *table = table_of(target, sink);
    struct pipe_buf sql = {0};
    pipe_buf_printf(&sql, "SELECT count() FROM (SELECT 1 FROM ");
    pipe_clickhouse_table(&sql, table->name);
    if (about == ABOUT_ROWS_FROM || table->keeping == PIPE_TABLE_ALL)
        pipe_buf_printf(&sql, " WHERE _pipe_partition = %d AND _pipe_offset %s %" PRId64, partition,
                        about == ABOUT_ROWS_FROM ? ">=" : "=", offset);
    pipe_buf_printf(&sql, " LIMIT 1) FORMAT TabSeparated");
    struct question *question = ask(target, sink, partition, &sql);
    question->about = about;
    question->offset = offset;
    pipe_buf_free(&sql);
    return question;
}

/* One line with a number. */
static bool read_count(struct pipe_str answer, int64_t *count)
{
    while (answer.size > 0 && answer.data[answer.size - 1] == '\n')
        answer.size--;
    return pipe_i64_read(answer, false, count) && *count >= 0;
}

static enum pipe_table_outcome look_for(struct clickhouse_target *target, uint32_t sink,
                                        int32_t partition, enum about about, int64_t offset,
                                        bool *any, char *error, size_t error_bytes)
{
    struct question *question = find_question(target, sink, partition);
    if (question != NULL && is_stale(question, about, offset)) {
        end_question(target, question);
        question = NULL;
    }
    if (question == NULL)
        question = ask_rows(target, sink, partition, about, offset);
    const struct pipe_clickhouse_result *result = pipe_clickhouse_look(question->request);
    enum pipe_table_outcome outcome = outcome_of(result);
    int64_t count = 0;
    if (outcome == PIPE_TABLE_PENDING)
        return outcome;
    if (outcome == PIPE_TABLE_DONE && !read_count(text_of(&result->body), &count)) {
        outcome = PIPE_TABLE_AGAIN;
        snprintf(error, error_bytes, "the server answers a count with no number");
    } else if (outcome != PIPE_TABLE_DONE) {
        snprintf(error, error_bytes, "%s", result->error);
    }
    *any = count > 0;
    end_question(target, question);
    return outcome;
}

static enum pipe_table_outcome clickhouse_holds(struct pipe_table_target *outer, uint32_t sink,
                                                int32_t partition, int64_t offset, bool *any,
                                                char *error, size_t error_bytes)
{
    return look_for(target_of(outer), sink, partition, ABOUT_ROWS_FROM, offset, any, error,
                    error_bytes);
}

static enum pipe_table_outcome clickhouse_has(struct pipe_table_target *outer, uint32_t sink,
                                              int32_t partition, int64_t offset, bool *any,
                                              char *error, size_t error_bytes)
{
    return look_for(target_of(outer), sink, partition, ABOUT_ROW, offset, any, error, error_bytes);
}

/* ---- Attempts ---- */

static void begin_call(struct pipe_table_request *request, const struct pipe_buf *sql, bool insert)
{
    char query_id[128];
    uint8_t random[8];
    char chance[2 * sizeof random + 1] = {0};
    pipe_random_bytes(random, sizeof random);
    pipe_hex_write(chance, random, sizeof random);
    snprintf(query_id, sizeof query_id, "pipec-%.16s-%u-%s-%s", request->token, request->attempt,
             insert ? "insert" : "probe", chance);
    struct pipe_clickhouse_call call = {.sql = text_of(sql),
                                        .query_id = query_id,
                                        .deadline_ms = insert ? INSERT_MS : ASK_MS,
                                        .answer_bytes = ANSWER_BYTES};
    if (insert) {
        call.token = request->token;
        call.body = text_of(&request->block);
        call.body_lz4 = true;
    }
    if (request->request != NULL)
        pipe_clickhouse_end(request->request);
    request->request = pipe_clickhouse_begin(request->target->client, &call);
}

static void begin_insert(struct pipe_table_request *request)
{
    struct pipe_buf sql = {0};
    request->probes = false;
    pipe_clickhouse_insert_sql(&sql, request->table, request->ranges, request->range_count,
                               "Native");
    begin_call(request, &sql, true);
    pipe_buf_free(&sql);
}

static void begin_probe(struct pipe_table_request *request)
{
    struct pipe_buf sql = {0};
    request->probes = true;
    pipe_clickhouse_probe_sql(&sql, request->table, request->ranges, request->range_count);
    begin_call(request, &sql, false);
    pipe_buf_free(&sql);
}

static struct pipe_table_request *clickhouse_begin(struct pipe_table_target *outer,
                                                   const struct pipe_table_batch *batch)
{
    struct clickhouse_target *target = target_of(outer);
    struct pipe_table_request *request = pipe_calloc(1, sizeof *request);
    request->target = target;
    request->table = table_of(target, batch->sink);
    for (uint32_t i = 0; i < batch->range_count; i++) {
        const struct pipe_table_range *range = &batch->ranges[i];
        request->ranges[i] =
            (struct pipe_clickhouse_range){range->partition, range->first, range->last};
    }
    request->range_count = batch->range_count;
    request->rows = batch->rows;
    request->attempt = batch->attempt;
    memcpy(request->token, batch->token, sizeof request->token);
    pipe_clickhouse_compress(&request->block, batch->block);
    if (batch->attempt > 0 && !pipe_clickhouse_is_plain(request->table))
        begin_probe(request);
    else
        begin_insert(request);
    return request;
}

/* What the probe has found: all, or not all yet. */
static enum pipe_table_outcome after_probe(struct pipe_table_request *request,
                                           const struct pipe_clickhouse_result *result)
{
    int64_t count = 0;
    if (!read_count(text_of(&result->body), &count)) {
        snprintf(request->error, sizeof request->error,
                 "the server answers a count with no number");
        return PIPE_TABLE_AGAIN;
    }
    if (count == request->rows)
        return PIPE_TABLE_DONE;
    if (count < request->rows) {
        begin_insert(request);
        return PIPE_TABLE_PENDING;
    }
    snprintf(request->error, sizeof request->error,
             "table %s has %" PRId64 " rows of partition %d from offset %" PRId64 " to %" PRId64
             " and of %u other ranges, but the topic has %u: somebody else wrote to it",
             request->table->name, count, request->ranges[0].partition, request->ranges[0].first,
             request->ranges[0].last, request->range_count - 1, request->rows);
    return PIPE_TABLE_BROKEN;
}

static enum pipe_table_outcome clickhouse_look(struct pipe_table_request *request,
                                               const char **error)
{
    const struct pipe_clickhouse_result *result = pipe_clickhouse_look(request->request);
    enum pipe_table_outcome outcome = outcome_of(result);
    if (outcome == PIPE_TABLE_AGAIN || outcome == PIPE_TABLE_BROKEN)
        snprintf(request->error, sizeof request->error, "%s", result->error);
    *error = request->error;
    return outcome == PIPE_TABLE_DONE && request->probes ? after_probe(request, result) : outcome;
}

static void clickhouse_end(struct pipe_table_request *request)
{
    pipe_clickhouse_end(request->request);
    pipe_buf_free(&request->block);
    free(request);
}

static void clickhouse_poll(struct pipe_table_target *outer, int64_t wait_ms)
{
    pipe_clickhouse_poll(target_of(outer)->client, wait_ms);
}

static void clickhouse_close(struct pipe_table_target *outer)
{
    struct clickhouse_target *target = target_of(outer);
    while (target->questions != NULL)
        end_question(target, target->questions);
    pipe_clickhouse_close(target->client);
    free(target);
}

static const struct pipe_table_ops clickhouse_ops = {
    .check = clickhouse_check,
    .holds = clickhouse_holds,
    .has = clickhouse_has,
    .begin = clickhouse_begin,
    .look = clickhouse_look,
    .end = clickhouse_end,
    .poll = clickhouse_poll,
    .close = clickhouse_close,
};

struct pipe_table_target *pipe_target_clickhouse(const struct pipe_plan *plan,
                                                 struct pipe_clickhouse *client)
{
    struct clickhouse_target *target = pipe_calloc(1, sizeof *target);
    target->target.ops = &clickhouse_ops;
    target->target.ranges = PIPE_TABLE_RANGES_MAX;
    target->plan = plan;
    target->client = client;
    return &target->target;
}
