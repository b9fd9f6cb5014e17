/*
 * toy_follower.h: for tests of followers: a follower over a real embedded log, a target that does
 * what a test tells it, and a clock that is the test's. Of one test program each.
 */
#ifndef TOY_FOLLOWER_H
#define TOY_FOLLOWER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../runtime/follower_internal.h"
#include "scratch_dir.h"

/* ---- A plan: a stream of numbers, its topic, two tables of it ---- */

struct number_row {
    int64_t n;
};
static const struct pipe_type int64_type = {.kind = PIPE_INT64};
static const struct pipe_column number_columns[] = {
    {"n", &int64_type, offsetof(struct number_row, n), PIPE_NOT_NULL, false, false, NULL}};
static const struct pipe_row_type number_type = {"number", number_columns, 1,
                                                 sizeof(struct number_row)};
static const struct pipe_table_column table_columns[] = {
    {"n", "Int64"}, {"_pipe_partition", "Int32"}, {"_pipe_offset", "Int64"}};
static const struct pipe_table_def table_def = {
    .name = "t.numbers", .columns = table_columns, .column_count = 3};
enum { SINK_TOPIC, SINK_TABLE, SINK_OTHER, SINKS };
static struct pipe_sink_def sinks[SINKS] = {{.name = "topic",
                                             .kind = PIPE_SINK_KAFKA,
                                             .target = "numbers",
                                             .partitions = 2,
                                             .format = PIPE_FORMAT_JSON,
                                             .row = &number_type,
                                             .exactly_once = true},
                                            {.name = "table",
                                             .kind = PIPE_SINK_CLICKHOUSE,
                                             .target = "t.numbers",
                                             .format = PIPE_FORMAT_JSON,
                                             .row = &number_type,
                                             .table = &table_def,
                                             .commit_ms = 1000,
                                             .exactly_once = true},
                                            {.name = "other",
                                             .kind = PIPE_SINK_CLICKHOUSE,
                                             .target = "t.others",
                                             .format = PIPE_FORMAT_JSON,
                                             .row = &number_type,
                                             .table = &table_def,
                                             .commit_ms = 1000,
                                             .exactly_once = true}};
static struct pipe_plan plan = {
    .abi = PIPE_RUNTIME_ABI, .name = "toy", .hash = "0123", .sinks = sinks, .sink_count = SINKS};

/* ---- Time is the test's (linked before clock.c) ---- */

static int64_t now_us = 1000000;

int64_t engine_monotonic_us(void)
{
    return now_us;
}

int64_t engine_wall_ms(void)
{
    return now_us / 1000;
}

void engine_sleep_us(int64_t us)
{
    now_us += us;
}

void pipe_random_bytes(void *to, size_t size_bytes)
{
    static uint8_t next;
    for (size_t i = 0; i < size_bytes; i++)
        ((uint8_t *)to)[i] = (uint8_t)(next = (uint8_t)(next * 5 + 17));
}

/* ---- A target that does as it is told ---- */

struct sent {
    struct pipe_table_batch batch; /* but for the block: its hash */
    uint64_t block[2];
};
struct scripted {
    struct pipe_table_target target;
    enum pipe_table_outcome outcome[SINKS], check[SINKS];
    bool holds, has; /* `has` is asked where `holds` finds nothing */
    int64_t asked;   /* the last offset */
    struct sent sent[64];
    uint32_t count;
};
struct pipe_table_request {
    struct scripted *scripted;
    uint32_t sink;
};

static enum pipe_table_outcome check(struct pipe_table_target *target, uint32_t sink, char *error,
                                     size_t error_bytes)
{
    snprintf(error, error_bytes, "as told");
    return ((struct scripted *)target)->check[sink];
}

static enum pipe_table_outcome holds(struct pipe_table_target *target, uint32_t sink,
                                     int32_t partition, int64_t offset, bool *any, char *error,
                                     size_t error_bytes)
{
    (void)sink, (void)partition, (void)error, (void)error_bytes;
    ((struct scripted *)target)->asked = offset;
    *any = ((struct scripted *)target)->holds;
    return PIPE_TABLE_DONE;
}

static enum pipe_table_outcome has(struct pipe_table_target *target, uint32_t sink,
                                   int32_t partition, int64_t offset, bool *any, char *error,
                                   size_t error_bytes)
{
    (void)sink, (void)partition, (void)error, (void)error_bytes;
    ((struct scripted *)target)->asked = offset;
    *any = ((struct scripted *)target)->has;
    return PIPE_TABLE_DONE;
}

static struct pipe_table_request *begin(struct pipe_table_target *target,
                                        const struct pipe_table_batch *batch)
{
    struct scripted *scripted = (struct scripted *)target;
    struct pipe_table_request *request = pipe_calloc(1, sizeof *request);
    assert_true(batch->block.size > 0);
    assert_true(scripted->count < 64);
    struct sent *sent = &scripted->sent[scripted->count++];
    sent->batch = *batch;
    pipe_hash128(batch->block.data, batch->block.size, 0, sent->block);
    *request = (struct pipe_table_request){scripted, batch->sink};
    return request;
}

static enum pipe_table_outcome look(struct pipe_table_request *request, const char **error)
{
    *error = "as told";
    return request->scripted->outcome[request->sink];
}

static void end(struct pipe_table_request *request)
{
    free(request);
}

static void poll(struct pipe_table_target *target, int64_t wait_ms)
{
    (void)target;
    now_us += wait_ms * 1000;
}

static void close_nothing(struct pipe_table_target *target)
{
    (void)target;
}

static const struct pipe_table_ops scripted_ops = {
    .check = check,
    .holds = holds,
    .has = has,
    .begin = begin,
    .look = look,
    .end = end,
    .poll = poll,
    .close = close_nothing,
};

/* ---- One follower over one log ---- */

static struct pipe_log *log_of_run;
static uint32_t topics[2]; /* numbers, and the rows of `other` */
static struct scripted scripted;
static struct pipe_follower *follower;
static int64_t commit_least_ms; /* of followers that are opened */

static void commit(void)
{
    assert_int_equal(log_of_run->ops->commit(log_of_run), PIPE_LOG_COMMITTED);
}

static void open_log(void)
{
    char error[300];
    log_of_run = pipe_log_embedded_open(dir, false, error, sizeof error);
    assert_non_null(log_of_run);
    assert_true(log_of_run->ops->topic(log_of_run, "numbers", 2, &topics[0]));
    assert_true(log_of_run->ops->topic(log_of_run, "pipec.toy.other.rows", 1, &topics[1]));
    commit();
    for (uint32_t i = 0; i < SINKS; i++)
        scripted.outcome[i] = scripted.check[i] = PIPE_TABLE_DONE;
    scripted.target.ops = &scripted_ops;
    scripted.target.ranges = PIPE_TABLE_RANGES_MAX;
    scripted.count = 0;
    scripted.holds = false;
    scripted.has = true;
}

static void open_follower(void)
{
    struct pipe_follower_config config = {.plan = &plan,
                                          .commit_least_ms = commit_least_ms,
                                          .log = pipe_log_embedded_attach(log_of_run),
                                          .target = &scripted.target,
                                          .memory_bytes = 64000};
    follower = pipe_follower_new(&config);
}

static void close_all(void)
{
    pipe_follower_close(follower);
    log_of_run->ops->close(log_of_run);
}

static void append(uint32_t topic, int32_t partition, const char *value)
{
    assert_true(log_of_run->ops->append(log_of_run, topic, partition, now_us / 1000,
                                        pipe_str_of("k", 1), pipe_str_of(value, strlen(value))));
}

static void append_numbers(uint32_t topic, int32_t partition, uint32_t count)
{
    char value[32];
    for (uint32_t i = 0; i < count; i++) {
        snprintf(value, sizeof value, "{\"n\":%u}", i);
        append(topic, partition, value);
    }
    commit();
}

static void steps(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        now_us += 1000;
        if (pipe_follower_step(follower, 1) == PIPE_FOLLOWER_FAILED)
            fail_msg("%s", pipe_follower_error(follower));
    }
}

static struct pipe_follower_figures figures_of(uint32_t sink)
{
    struct pipe_follower_figures figures;
    pipe_follower_look(follower, sink, &figures);
    return figures;
}

/* ---- The journal ---- */

/* Of partition 0. */
static struct follower_journal sample(void)
{
    struct follower_journal journal = {.confirmed = -1, .pending = true, .range_count = 1};
    journal.ranges[0].at = (struct pipe_table_range){0, 0, 2, 3};
    memset(journal.incarnation, 1, sizeof journal.incarnation);
    memset(journal.ranges[0].hash, 2, sizeof journal.ranges[0].hash);
    memset(journal.token, 3, sizeof journal.token);
    return journal;
}

/* Into the commit that is open: the position of the table in a partition of its topic. */
static void put_position(int32_t partition, const void *bytes, size_t size)
{
    char name[200];
    follower_position_name(name, sizeof name, "table", "numbers", partition);
    assert_true(log_of_run->ops->put(log_of_run, name, bytes, size));
}

static void put_journal(int32_t partition, const struct follower_journal *journal)
{
    struct pipe_buf value = {0};
    follower_journal_write(&value, journal);
    put_position(partition, value.data, value.size);
    pipe_buf_free(&value);
}

static void assert_halted(const char *why)
{
    struct pipe_follower_figures figures = figures_of(SINK_TABLE);
    assert_true(figures.halted);
    if (strstr(figures.error, why) == NULL)
        fail_msg("'%s' is not in: %s", why, figures.error);
    append_numbers(topics[1], 0, 4); /* the other one goes on */
    pipe_follower_flush(follower, false);
    steps(10);
    assert_int_equal(figures_of(SINK_OTHER).rows, 4);
    assert_true(pipe_follower_at_end(follower));
}

#define WITH_DIR(test) cmocka_unit_test_setup_teardown(test, make_dir, remove_dir)

#endif
