/*
 * server.c: a ClickHouse server, as far as its promises go, and the client of runtime/clickhouse.h
 * to it. The statements are the runtime's own; what they mean is read from their text.
 *
 * An insert travels, starts, runs and ends. When it starts its condition is evaluated: rows whose
 * offsets are in the table then are left out. When it ends its token is looked up: one of the last
 * minutes drops the block, and that is a success; else its rows are there at once. A server ends
 * what runs for longer than a minute. Nothing of this depends on who waits for the answer: that may
 * get lost, or come too late, and the client may be gone.
 *
 * Tables live for ever; so does what is under way.
 */
#include <stdio.h>
#include <stdlib.h>

#include "clickhouse.h"
#include "native.h"
#include "server.h"

#define RUNS_MOST_US 60000000 /* max_execution_time */
#define WINDOW_US 130000000   /* of tokens: more than twice that */
#define TABLES_MAX 8
#define PARTITIONS_MAX 8

enum kind { KIND_INSERT, KIND_PROBE, KIND_HOLDS, KIND_COLUMNS };
enum stage { STAGE_TRAVELS, STAGE_RUNS, STAGE_OVER };

struct rows {
    struct sim_row *items;
    size_t count, capacity;
};

struct token {
    char text[65];
    int64_t at_us;
};

struct table {
    const struct pipe_sink_def *sink;
    bool forgets; /* tokens, after a while */
    struct rows rows;
    struct token *tokens;
    size_t token_count;
    int64_t gone_until_us; /* dropped, or altered, by somebody */
    int64_t checked[PARTITIONS_MAX];
};

struct range {
    int32_t partition; /* -1: any */
    int64_t first, last;
};

struct work { /* an insert or a question, on the server */
    enum kind kind;
    enum stage stage;
    struct table *table;
    bool conditional;
    struct range ranges[PIPE_TABLE_RANGES_MAX]; /* of condition or question */
    size_t range_count;
    char token[65];
    struct rows rows; /* of its block; when it runs, what it adds */
    int64_t starts_us, ends_us;
    enum pipe_clickhouse_outcome outcome; /* when it is over */
    char answer[2000];
};

struct pipe_clickhouse {
    int unused;
};
struct pipe_clickhouse_request {
    struct work *work; /* NULL: it never got there */
    int64_t cut_us;    /* then the connection breaks; INT64_MAX: never */
    int64_t deadline_us;
    enum pipe_clickhouse_outcome at_once; /* without work */
    struct pipe_clickhouse_result result;
};

static struct table tables[TABLES_MAX];
static size_t table_count;
static struct work **works; /* not over */
static size_t work_count, work_capacity;
static int64_t away_until_us;
uint64_t sim_inserts;

/* ---- Tables ---- */

static void add_row(struct rows *rows, struct sim_row row)
{
    if (rows->count == rows->capacity) {
        rows->capacity = rows->capacity * 2 + 64;
        rows->items = pipe_realloc(rows->items, rows->capacity * sizeof *rows->items);
    }
    rows->items[rows->count++] = row;
}

static bool has_row(const struct rows *rows, int32_t partition, int64_t offset)
{
    for (size_t i = rows->count; i > 0; i--)
        if (rows->items[i - 1].offset == offset && rows->items[i - 1].partition == partition)
            return true;
    return false;
}

static struct table *table_of(const struct pipe_sink_def *sink)
{
    for (size_t i = 0; i < table_count; i++)
        if (tables[i].sink == sink)
            return &tables[i];
    if (table_count == TABLES_MAX)
        sim_fail("too many tables");
    /* Where inserts have no condition, tokens outlast everything. */
    tables[table_count] = (struct table){.sink = sink, .forgets = sink->table->rollup_count == 0};
    return &tables[table_count++];
}

static struct table *table_named(const char *sql)
{
    const struct pipe_plan *plan = sim.program->plan;
    for (uint32_t i = 0; i < plan->sink_count; i++) {
        struct pipe_buf name = {0};
        if (plan->sinks[i].table == NULL)
            continue;
        const char *bare = strchr(plan->sinks[i].table->name, '.') + 1;
        pipe_clickhouse_table(&name, plan->sinks[i].table->name);
        pipe_buf_add_byte(&name, '\0');
        bool found = strstr(sql, (const char *)name.data) != NULL;
        name.size = 0;
        pipe_clickhouse_literal(&name, pipe_str_of(bare, strlen(bare)));
        pipe_buf_add_byte(&name, '\0');
        found = found || strstr(sql, (const char *)name.data) != NULL;
        pipe_buf_free(&name);
        if (found)
            return table_of(&plan->sinks[i]);
    }
    sim_fail("no table of the plan is in: %s", sql);
}

static bool remembers(struct table *table, const char *token)
{
    for (size_t i = 0; i < table->token_count; i++)
        if (strcmp(table->tokens[i].text, token) == 0 &&
            (!table->forgets || sim.now_us - table->tokens[i].at_us < WINDOW_US))
            return true;
    return false;
}

static void remember(struct table *table, const char *token)
{
    table->tokens = pipe_realloc(table->tokens, (table->token_count + 1) * sizeof *table->tokens);
    struct token *last = &table->tokens[table->token_count++];
    *last = (struct token){.at_us = sim.now_us};
    snprintf(last->text, sizeof last->text, "%s", token);
}

/* ---- What is under way ---- */

static bool is_asked_for(const struct work *work, const struct sim_row *row)
{
    for (size_t i = 0; i < work->range_count; i++) {
        const struct range *range = &work->ranges[i];
        if ((row->partition == range->partition || range->partition < 0) &&
            row->offset >= range->first && row->offset <= range->last)
            return true;
    }
    return false;
}

/* The condition: as of now. */
static void start(struct work *work)
{
    struct rows *rows = &work->rows;
    size_t kept = 0;
    work->stage = STAGE_RUNS;
    for (size_t i = 0; work->kind == KIND_INSERT && i < rows->count; i++) {
        const struct sim_row *row = &rows->items[i];
        bool there = work->conditional && is_asked_for(work, row) &&
                     has_row(&work->table->rows, row->partition, row->offset);
        if (!there)
            rows->items[kept++] = *row;
    }
    rows->count = kept;
}

static void insert(struct work *work)
{
    struct table *table = work->table;
    bool known = remembers(table, work->token);
    sim_trace("insert %s %.8s: %zu rows%s", table->sink->name, work->token, work->rows.count,
              known ? ", its token is known" : "");
    sim_inserts++;
    for (size_t i = 0; !known && i < work->rows.count; i++) {
        const struct sim_row *row = &work->rows.items[i];
        if (table->sink->table->keeping == PIPE_TABLE_ALL &&
            has_row(&table->rows, row->partition, row->offset))
            sim_fail("table %s has the row of partition %d, offset %lld twice", table->sink->name,
                     row->partition, (long long)row->offset);
        add_row(&table->rows, *row);
    }
    if (!known && work->rows.count > 0)
        remember(table, work->token);
}

static int64_t count_rows(const struct work *work)
{
    int64_t count = 0;
    for (size_t i = 0; i < work->table->rows.count; i++)
        count += is_asked_for(work, &work->table->rows.items[i]);
    return count;
}

static void tell_columns(struct work *work)
{
    const struct pipe_table_def *def = work->table->sink->table;
    size_t used = (size_t)snprintf(work->answer, sizeof work->answer,
                                   "\t%s ORDER BY (%s) SETTINGS "
                                   "non_replicated_deduplication_window = %lld\n"
                                   " engine\t%.*s\n sorting_key\t%s\n",
                                   def->engine, def->order_by, (long long)def->deduplication_window,
                                   (int)strcspn(def->engine, "("), def->engine, def->order_by);
    for (uint32_t i = 0; i < def->rollup_count && used < sizeof work->answer; i++)
        used += (size_t)snprintf(work->answer + used, sizeof work->answer - used, " view\t%s\n",
                                 def->rollups[i].view);
    for (uint32_t i = 0; i < def->column_count && used < sizeof work->answer; i++)
        used += (size_t)snprintf(work->answer + used, sizeof work->answer - used, "%s\t%s\n",
                                 def->columns[i].name, def->columns[i].type);
}

static void end(struct work *work)
{
    work->stage = STAGE_OVER;
    work->outcome = PIPE_CLICKHOUSE_DONE;
    if (work->table->gone_until_us > sim.now_us) {
        work->outcome = PIPE_CLICKHOUSE_FATAL;
    } else if (work->ends_us - work->starts_us > RUNS_MOST_US) {
        work->outcome = PIPE_CLICKHOUSE_UNKNOWN;
    } else if (work->kind == KIND_INSERT) {
        insert(work);
    } else if (work->kind == KIND_COLUMNS) {
        tell_columns(work);
    } else {
        int64_t count = count_rows(work);
        if (work->kind == KIND_HOLDS)
            count = count > 0;
        snprintf(work->answer, sizeof work->answer, "%lld\n", (long long)count);
    }
}

static int64_t due_us(const struct work *work)
{
    return work->stage == STAGE_TRAVELS ? work->starts_us : work->ends_us;
}

/* All that happens on the server until now, in its order. */
void sim_server_tick(void)
{
    for (;;) {
        size_t next = work_count;
        for (size_t i = 0; i < work_count; i++)
            if (due_us(works[i]) <= sim.now_us &&
                (next == work_count || due_us(works[i]) < due_us(works[next])))
                next = i;
        if (next == work_count)
            return;
        if (works[next]->stage == STAGE_TRAVELS) {
            start(works[next]);
        } else {
            end(works[next]);
            works[next] = works[--work_count]; /* whoever asked for it may still have it */
        }
    }
}

bool sim_server_is_quiet(void)
{
    return work_count == 0;
}

/* ---- Statements ---- */

static int64_t number_behind(const char *sql, const char *words)
{
    const char *at = strstr(sql, words);
    if (at == NULL)
        sim_fail("no %s in: %s", words, sql);
    at += strlen(words);
    at += strcspn(at, "0123456789");
    return strtoll(at, NULL, 10);
}

static bool take_row(void *context, struct pipe_str json, int32_t partition, int64_t offset)
{
    add_row(context, (struct sim_row){partition, offset, pipe_str_dup(json)});
    return true;
}

static void read_block(struct work *work, struct pipe_str body)
{
    const struct pipe_sink_def *sink = work->table->sink;
    char error[300];
    struct pipe_native_reader *reader = pipe_native_reader_new(sink->table, sink->row);
    if (!pipe_native_take(reader, body, take_row, &work->rows, error, sizeof error) ||
        !pipe_native_ends(reader))
        sim_fail("a block for %s can't be read: %s", sink->name, error);
    pipe_native_reader_free(reader);
}

/* (_pipe_partition = 1 AND _pipe_offset BETWEEN 2 AND 3) OR (… */
static void read_ranges(struct work *work, const char *sql)
{
    static const char begin[] = "(_pipe_partition = ";
    for (const char *at = strstr(sql, begin); at != NULL; at = strstr(at + 1, begin)) {
        if (work->range_count == PIPE_TABLE_RANGES_MAX)
            sim_fail("too many ranges in: %s", sql);
        work->ranges[work->range_count++] =
            (struct range){(int32_t)number_behind(at, begin), number_behind(at, "BETWEEN"),
                           number_behind(strstr(at, "BETWEEN"), "AND")};
    }
    if (work->range_count == 0)
        sim_fail("no ranges in: %s", sql);
}

static struct work *read_call(const struct pipe_clickhouse_call *call)
{
    struct work *work = pipe_calloc(1, sizeof *work);
    char *sql = pipe_str_dup(call->sql);
    work->table = table_named(sql);
    if (strncmp(sql, "INSERT INTO", 11) == 0) {
        work->kind = KIND_INSERT;
        work->conditional = strstr(sql, "NOT IN") != NULL;
        snprintf(work->token, sizeof work->token, "%s", call->token);
        read_block(work, call->body);
    } else if (strstr(sql, "system.columns") != NULL) {
        work->kind = KIND_COLUMNS;
    } else {
        work->kind = strstr(sql, "BETWEEN") != NULL ? KIND_PROBE : KIND_HOLDS;
    }
    if (work->kind == KIND_PROBE || work->conditional) {
        read_ranges(work, sql);
    } else if (work->kind == KIND_HOLDS) {
        bool last = strstr(sql, "_pipe_offset = ") != NULL;
        bool behind = strstr(sql, "_pipe_offset >= ") != NULL;
        int64_t offset = last     ? number_behind(sql, "_pipe_offset = ")
                         : behind ? number_behind(sql, "_pipe_offset >= ")
                                  : 0;
        work->ranges[0] =
            (struct range){last || behind ? (int32_t)number_behind(sql, "_pipe_partition = ") : -1,
                           offset, last ? offset : INT64_MAX};
        work->range_count = 1;
    }
    free(sql);
    return work;
}

/* ---- The client ---- */

struct pipe_clickhouse *sim_server_client(void)
{
    return pipe_calloc(1, sizeof(struct pipe_clickhouse));
}

/* Of commands: the environment names no server. */
struct pipe_clickhouse *pipe_clickhouse_open(char *error, size_t error_bytes)
{
    snprintf(error, error_bytes, "%s", "");
    return NULL;
}

void pipe_clickhouse_close(struct pipe_clickhouse *client)
{
    free(client);
}

const char *pipe_clickhouse_database(const struct pipe_clickhouse *client)
{
    (void)client;
    return "default";
}

void pipe_clickhouse_do(struct pipe_clickhouse *client, const struct pipe_clickhouse_call *call,
                        struct pipe_clickhouse_result *result)
{
    (void)client, (void)result;
    sim_fail("a command asks the server: %.*s", (int)call->sql.size, call->sql.data);
}

void pipe_clickhouse_select(struct pipe_clickhouse *client, const char *sql, int64_t deadline_ms,
                            bool (*take)(void *context, struct pipe_str bytes), void *context,
                            struct pipe_clickhouse_result *result)
{
    (void)client, (void)deadline_ms, (void)take, (void)context, (void)result;
    sim_fail("a command asks the server: %s", sql);
}

void pipe_clickhouse_compress(struct pipe_buf *out, struct pipe_str body)
{
    pipe_buf_add(out, body.data, body.size);
}

static int64_t some_time(int64_t most_us)
{
    return sim_chance(sim.odds.server) ? sim_between(0, most_us) : sim_between(100, 20000);
}

struct pipe_clickhouse_request *pipe_clickhouse_begin(struct pipe_clickhouse *client,
                                                      const struct pipe_clickhouse_call *call)
{
    struct pipe_clickhouse_request *request = pipe_calloc(1, sizeof *request);
    (void)client;
    sim_hold_up(sim.odds.pause * 10); /* where it hurts most */
    sim_point("begin of a request");
    sim_server_tick();
    request->deadline_us = sim.now_us + call->deadline_ms * 1000;
    request->cut_us = INT64_MAX;
    if (sim.now_us < away_until_us) {
        request->at_once = sim_below(2) == 0 ? PIPE_CLICKHOUSE_REFUSED : PIPE_CLICKHOUSE_PENDING;
        return request;
    }
    if (sim_chance(sim.odds.server / 2)) {
        request->at_once = PIPE_CLICKHOUSE_RETRY; /* too many parts */
        return request;
    }
    struct work *work = request->work = read_call(call);
    if (work->table->gone_until_us > sim.now_us) {
        request->work = NULL;
        request->at_once = PIPE_CLICKHOUSE_FATAL;
        return request;
    }
    work->starts_us = sim.now_us + some_time(100000000);
    work->ends_us = work->starts_us + some_time(80000000);
    if (sim_chance(sim.odds.server))
        request->cut_us = sim.now_us + sim_between(0, 3000000);
    if (work_count == work_capacity) {
        work_capacity = work_capacity * 2 + 64;
        works = pipe_realloc(works, work_capacity * sizeof *works);
    }
    works[work_count++] = work;
    return request;
}

void pipe_clickhouse_poll(struct pipe_clickhouse *client, int64_t wait_ms)
{
    (void)client;
    sim_point("wait for a server");
    sim_sleep(wait_ms > 0 ? wait_ms * 1000 : 100);
    sim_server_tick();
}

const struct pipe_clickhouse_result *
pipe_clickhouse_look(const struct pipe_clickhouse_request *outer)
{
    struct pipe_clickhouse_request *request = (struct pipe_clickhouse_request *)(uintptr_t)outer;
    struct pipe_clickhouse_result *result = &request->result;
    if (result->outcome != PIPE_CLICKHOUSE_PENDING)
        return result;
    if (request->work == NULL)
        result->outcome = request->at_once;
    else if (request->work->stage == STAGE_OVER && sim.now_us < request->cut_us)
        result->outcome = request->work->outcome;
    if (result->outcome == PIPE_CLICKHOUSE_DONE)
        pipe_buf_add(&result->body, request->work->answer, strlen(request->work->answer));
    if (result->outcome == PIPE_CLICKHOUSE_PENDING &&
        (sim.now_us >= request->deadline_us || sim.now_us >= request->cut_us))
        result->outcome = PIPE_CLICKHOUSE_UNKNOWN;
    if (result->outcome != PIPE_CLICKHOUSE_PENDING && result->outcome != PIPE_CLICKHOUSE_DONE) {
        snprintf(result->error, sizeof result->error, "outcome %d", result->outcome);
        sim_trace("request: outcome %d", result->outcome);
        sim.errors++;
    }
    return result;
}

void pipe_clickhouse_end(struct pipe_clickhouse_request *request)
{
    pipe_buf_free(&request->result.body);
    free(request);
}

/* ---- What happens to it ---- */

void sim_server_trouble(void)
{
    if (sim_chance(sim.odds.server / 400)) {
        away_until_us = sim.now_us + sim_between(0, 60000000);
        sim_trace("the server is away for %.3f s", (double)(away_until_us - sim.now_us) / 1e6);
    }
    if (table_count > 0 && sim_chance(sim.odds.server / 1000)) {
        struct table *table = &tables[sim_below((uint32_t)table_count)];
        table->gone_until_us = sim.now_us + sim_between(0, 20000000);
        sim_trace("table %s is renamed for a while", table->sink->name);
    }
}

void sim_server_calm(void)
{
    away_until_us = 0;
    for (size_t i = 0; i < table_count; i++)
        tables[i].gone_until_us = 0;
}

/* ---- What is in it ---- */

bool sim_server_has(const struct pipe_sink_def *sink, int32_t partition, int64_t offset)
{
    return has_row(&table_of(sink)->rows, partition, offset);
}

int64_t *sim_server_checked(const struct pipe_sink_def *sink, int32_t partition)
{
    if (partition >= PARTITIONS_MAX)
        sim_fail("too many partitions");
    for (size_t i = 0; i < table_count; i++)
        if (tables[i].sink == sink)
            return &tables[i].checked[partition];
    return NULL;
}

/* ---- The end ---- */

struct comparing {
    const struct table *table;
    uint64_t expected;
};

static bool compare(void *to, const struct sim_record *record)
{
    struct comparing *comparing = to;
    const struct rows *rows = &comparing->table->rows;
    const char *name = comparing->table->sink->name;
    size_t i = 0;
    comparing->expected++;
    while (i < rows->count && (rows->items[i].offset != record->offset ||
                               rows->items[i].partition != record->partition))
        i++;
    if (i == rows->count)
        sim_fail("table %s has no row of partition %d, offset %lld", name, record->partition,
                 (long long)record->offset);
    if (!pipe_str_equal(pipe_str_of(rows->items[i].json, strlen(rows->items[i].json)),
                        record->value))
        sim_fail("table %s, partition %d, offset %lld: %s is not %.*s", name, record->partition,
                 (long long)record->offset, rows->items[i].json, (int)record->value.size,
                 record->value.data);
    return true;
}

void sim_followed_topic(const struct pipe_plan *plan, uint32_t sink, struct pipe_plan_topic *topic)
{
    uint32_t topic_sink = 0;
    bool followed = pipe_plan_followed(plan, sink, &topic_sink);
    pipe_plan_topic(plan, followed ? PIPE_TOPIC_SINK : PIPE_TOPIC_ROWS,
                    followed ? topic_sink : sink, topic);
}

/* Every row of the topic is in the table, and no other; where all are kept, once (see insert). */
void sim_check_tables(const struct sim_reader *reader)
{
    const struct pipe_plan *plan = sim.program->plan;
    for (uint32_t i = 0; i < plan->sink_count; i++) {
        struct pipe_plan_topic topic;
        if (plan->sinks[i].table == NULL)
            continue;
        sim_followed_topic(plan, i, &topic);
        struct comparing comparing = {.table = table_of(&plan->sinks[i])};
        for (uint32_t p = 0; p < topic.partitions; p++)
            reader->read(reader->context, topic.name, (int32_t)p, compare, &comparing);
        if (plan->sinks[i].table->keeping == PIPE_TABLE_ALL &&
            comparing.expected != comparing.table->rows.count)
            sim_fail("table %s has %zu rows, but its topic has %llu", plan->sinks[i].name,
                     comparing.table->rows.count, (unsigned long long)comparing.expected);
    }
}
