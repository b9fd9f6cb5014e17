/*
 * Followers: how batches are cut, what becomes
 * of attempts, when a table stands still. The log is a real embedded one, the target does what a
 * test tells it. Whole protocols under faults are the simulation's (tests/sim).
 */
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
    struct pipe_table_batch batch; /* but for the block */
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
    scripted->sent[scripted->count++].batch = *batch;
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

static void open_log(void)
{
    char error[300];
    log_of_run = pipe_log_embedded_open(dir, false, error, sizeof error);
    assert_non_null(log_of_run);
    assert_true(log_of_run->ops->topic(log_of_run, "numbers", 2, &topics[0]));
    assert_true(log_of_run->ops->topic(log_of_run, "pipec.toy.other.rows", 1, &topics[1]));
    assert_int_equal(log_of_run->ops->commit(log_of_run), PIPE_LOG_COMMITTED);
    for (uint32_t i = 0; i < SINKS; i++)
        scripted.outcome[i] = scripted.check[i] = PIPE_TABLE_DONE;
    scripted.target.ops = &scripted_ops;
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
    assert_int_equal(log_of_run->ops->commit(log_of_run), PIPE_LOG_COMMITTED);
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

static struct follower_journal sample(void)
{
    struct follower_journal journal = {
        .mark = 10, .confirmed = 9, .pending = true, .first = 12, .last = 300, .rows = 7};
    memset(journal.incarnation, 1, sizeof journal.incarnation);
    memset(journal.hash, 2, sizeof journal.hash);
    memset(journal.token, 3, sizeof journal.token);
    return journal;
}

/* ---- Topics ---- */

static void test_who_follows_what(void **state)
{
    uint32_t topic;
    (void)state;
    assert_true(pipe_plan_followed(&plan, SINK_TABLE, &topic));
    assert_int_equal(topic, SINK_TOPIC);
    assert_false(pipe_plan_followed(&plan, SINK_OTHER, &topic)); /* it is taken */
    assert_false(pipe_plan_followed(&plan, SINK_TOPIC, &topic));
    sinks[SINK_TOPIC].upsert = true;
    assert_false(pipe_plan_followed(&plan, SINK_TABLE, &topic));
    sinks[SINK_TOPIC].upsert = false;
    sinks[SINK_TOPIC].format = PIPE_FORMAT_AVRO;
    assert_false(pipe_plan_followed(&plan, SINK_TABLE, &topic));
    sinks[SINK_TOPIC].format = PIPE_FORMAT_JSON;
}

/* ---- Batches ---- */

static void test_batch_by_time(void **state)
{
    (void)state;
    open_log();
    open_follower();
    append_numbers(topics[0], 0, 3);
    append_numbers(topics[0], 1, 2);
    steps(50);
    assert_int_equal(scripted.count, 0);
    append_numbers(topics[0], 1, 2);
    now_us += 1000000;
    steps(3); /* both partitions, by the older one's time */
    assert_int_equal(scripted.count, 2);
    assert_int_equal(scripted.sent[0].batch.rows + scripted.sent[1].batch.rows, 7);
    assert_int_equal(scripted.sent[0].batch.attempt, 0);
    assert_int_equal(figures_of(SINK_TABLE).rows, 7);
    assert_int_equal(figures_of(SINK_TABLE).lag_records, 7); /* not confirmed */
    now_us += 1000000;
    steps(3);
    assert_int_equal(figures_of(SINK_TABLE).lag_records, 0);
    assert_true(pipe_follower_at_end(follower));
    close_all();
}

static void test_batch_is_no_younger(void **state)
{
    (void)state;
    open_log();
    commit_least_ms = 3000;
    open_follower();
    commit_least_ms = 0;
    append_numbers(topics[0], 0, 3);
    steps(1);
    now_us += 2500000; /* beyond the sink's own time */
    steps(3);
    assert_int_equal(scripted.count, 0);
    now_us += 500000;
    steps(3);
    assert_int_equal(scripted.count, 1);
    close_all();
}

static void test_batch_by_size(void **state)
{
    (void)state;
    open_log();
    sinks[SINK_TABLE].commit_bytes = 2000;
    open_follower();
    sinks[SINK_TABLE].commit_bytes = 0;
    append_numbers(topics[0], 0, 1000); /* of 20 bytes each */
    steps(40);                          /* and no time */
    assert_in_range(scripted.count, 5, 15);
    for (uint32_t i = 1; i < scripted.count; i++)
        assert_int_equal(scripted.sent[i].batch.first, scripted.sent[i - 1].batch.last + 1);
    pipe_follower_flush(follower, false);
    steps(20);
    assert_int_equal(figures_of(SINK_TABLE).rows, 1000);
    assert_true(pipe_follower_at_end(follower));
    close_all();
}

/* ---- Attempts ---- */

static void test_again_is_the_same(void **state)
{
    (void)state;
    open_log();
    open_follower();
    scripted.outcome[SINK_TABLE] = PIPE_TABLE_AGAIN;
    append_numbers(topics[0], 0, 3);
    pipe_follower_flush(follower, false);
    steps(5);
    append_numbers(topics[0], 0, 5); /* does not get into it */
    for (unsigned i = 0; i < 5; i++) {
        now_us += 5000000;
        steps(3);
    }
    assert_in_range(scripted.count, 5, 20);
    for (uint32_t i = 0; i < scripted.count; i++) {
        assert_int_equal(scripted.sent[i].batch.attempt, i);
        assert_int_equal(scripted.sent[i].batch.last, 2);
        assert_string_equal(scripted.sent[i].batch.token, scripted.sent[0].batch.token);
    }
    assert_string_equal(figures_of(SINK_TABLE).error, "as told");
    assert_false(figures_of(SINK_TABLE).halted);
    scripted.outcome[SINK_TABLE] = PIPE_TABLE_DONE;
    now_us += 5000000;
    steps(20);
    assert_int_equal(figures_of(SINK_TABLE).rows, 8);
    assert_string_equal(figures_of(SINK_TABLE).error, "");
    close_all();
}

static void test_restart_sends_the_same(void **state)
{
    char token[65];
    (void)state;
    open_log();
    open_follower();
    scripted.outcome[SINK_TABLE] = PIPE_TABLE_PENDING;
    append_numbers(topics[0], 0, 3);
    pipe_follower_flush(follower, false);
    steps(5);
    assert_int_equal(scripted.count, 1);
    memcpy(token, scripted.sent[0].batch.token, sizeof token);
    append_numbers(topics[0], 0, 5);
    pipe_follower_close(follower); /* as a crash, for the log */
    open_follower();
    steps(5);
    assert_int_equal(scripted.count, 2);
    assert_int_equal(scripted.sent[1].batch.attempt, 1); /* with the probe */
    assert_int_equal(scripted.sent[1].batch.first, 0);
    assert_int_equal(scripted.sent[1].batch.last, 2);
    assert_string_equal(scripted.sent[1].batch.token, token);
    close_all();
}

/* A run that is stopped waits for what is under way, not for a server that is away. */
static void test_stop(void **state)
{
    (void)state;
    open_log();
    open_follower();
    scripted.outcome[SINK_TABLE] = PIPE_TABLE_PENDING;
    append_numbers(topics[0], 0, 3);
    now_us += 1000;
    steps(2);
    now_us += 1000000;
    steps(3);
    assert_int_equal(scripted.count, 1);
    append_numbers(topics[0], 0, 3);
    pipe_follower_flush(follower, true);
    steps(3);
    assert_false(pipe_follower_is_quiet(follower));
    scripted.outcome[SINK_TABLE] = PIPE_TABLE_AGAIN;
    steps(2);
    assert_true(pipe_follower_is_quiet(follower));
    now_us += 10000000;
    steps(3);
    assert_int_equal(scripted.count, 1); /* neither again nor the next */
    pipe_follower_flush(follower, false);
    scripted.outcome[SINK_TABLE] = PIPE_TABLE_DONE;
    steps(10);
    assert_int_equal(figures_of(SINK_TABLE).rows, 6);
    close_all();
}

/* ---- Tables that stand still ---- */

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

static void test_broken_table(void **state)
{
    (void)state;
    open_log();
    open_follower();
    scripted.outcome[SINK_TABLE] = PIPE_TABLE_BROKEN;
    append_numbers(topics[0], 0, 3);
    now_us += 1;
    steps(2);
    now_us += 1000000;
    steps(5);
    assert_halted("as told");
    assert_int_equal(figures_of(SINK_TABLE).lag_records, 3);
    scripted.outcome[SINK_TABLE] = PIPE_TABLE_DONE;
    pipe_follower_close(follower);
    open_follower();
    pipe_follower_flush(follower, false);
    steps(10);
    assert_int_equal(figures_of(SINK_TABLE).rows, 3); /* nothing is lost */
    close_all();
}

static void test_table_that_is_not_there(void **state)
{
    (void)state;
    open_log();
    scripted.check[SINK_TABLE] = PIPE_TABLE_AGAIN;
    open_follower();
    append_numbers(topics[0], 0, 3);
    steps(5);
    assert_false(figures_of(SINK_TABLE).halted);
    scripted.check[SINK_TABLE] = PIPE_TABLE_BROKEN;
    now_us += 5000000;
    steps(5);
    assert_halted("as told");
    close_all();
}

static void test_rows_without_a_mark(void **state)
{
    (void)state;
    open_log();
    open_follower();
    scripted.holds = true;
    steps(1);
    scripted.holds = false; /* of the other table */
    append_numbers(topics[0], 0, 3);
    steps(5);
    assert_true(figures_of(SINK_TABLE).halted);
    assert_non_null(strstr(figures_of(SINK_TABLE).error, "no position"));
    assert_int_equal(scripted.count, 0);
    close_all();
}

/* Three rows were confirmed; then the table has a fourth, or not the third. */
static void restart_after_three(void)
{
    open_log();
    open_follower();
    append_numbers(topics[0], 0, 3);
    pipe_follower_flush(follower, false);
    steps(20);
    assert_int_equal(figures_of(SINK_TABLE).rows, 3);
    pipe_follower_close(follower);
}

static void test_table_is_ahead(void **state)
{
    (void)state;
    restart_after_three();
    scripted.holds = true;
    open_follower();
    steps(3);
    assert_true(figures_of(SINK_TABLE).halted);
    assert_non_null(strstr(figures_of(SINK_TABLE).error, "partition 0 behind offset 2"));
    close_all();
}

static void test_table_is_behind(void **state)
{
    (void)state;
    restart_after_three();
    scripted.has = false;
    open_follower();
    steps(5);
    assert_halted("lacks the row of topic numbers, partition 0, offset 2");
    assert_int_equal(scripted.asked, 2);
    pipe_follower_close(follower);
    scripted.has = true;
    open_follower();
    append_numbers(topics[0], 0, 2);
    pipe_follower_flush(follower, false);
    steps(20);
    assert_int_equal(figures_of(SINK_TABLE).rows, 2);
    close_all();
}

static void test_row_that_is_none(void **state)
{
    (void)state;
    open_log();
    open_follower();
    append(topics[0], 1, "{\"n\":\"a word\"}");
    append_numbers(topics[0], 0, 3);
    steps(5);
    assert_halted("partition 1, offset 0 holds no row");
    close_all();
}

/* The journal's range, and its records after somebody has changed them. */
static void test_changed_records(void **state)
{
    struct follower_journal journal = sample();
    struct pipe_buf value = {0};
    char name[200];
    (void)state;
    open_log();
    append_numbers(topics[0], 0, 3);
    journal.mark = journal.first = 0;
    journal.confirmed = -1;
    journal.last = 2;
    journal.rows = 3;
    follower_journal_write(&value, &journal);
    follower_position_name(name, sizeof name, "table", "numbers", 0);
    assert_true(log_of_run->ops->put(log_of_run, name, value.data, value.size));
    assert_int_equal(log_of_run->ops->commit(log_of_run), PIPE_LOG_COMMITTED);
    pipe_buf_free(&value);
    open_follower();
    steps(5);
    assert_halted("are not those that were under way");
    assert_int_equal(scripted.count, 1); /* of the other table */
    close_all();
}

static void test_malformed_journal(void **state)
{
    char name[200];
    (void)state;
    open_log();
    follower_position_name(name, sizeof name, "table", "numbers", 1);
    assert_true(log_of_run->ops->put(log_of_run, name, "?", 1));
    assert_int_equal(log_of_run->ops->commit(log_of_run), PIPE_LOG_COMMITTED);
    open_follower();
    steps(5);
    assert_halted("malformed");
    close_all();
}

/* ---- A log that several share, of which retention has taken the first records ---- */

#define GONE 2 /* of partition 0 of the topic */

static const struct pipe_log_ops *embedded_ops;
static struct pipe_log_ops shared_ops;
static struct pipe_log_partition shares[] = {{0, 0}, {0, 1}, {1, 0}};
static enum pipe_log_event_kind next_event;

static bool shared_join(struct pipe_log *log, const uint32_t *joined, uint32_t count)
{
    (void)log;
    assert_int_equal(count, 2);
    shares[0].topic = shares[1].topic = joined[0];
    shares[2].topic = joined[1];
    next_event = PIPE_LOG_ASSIGNED;
    return true;
}

static bool shared_poll(struct pipe_log *log, int64_t wait_ms, struct pipe_log_event *event)
{
    (void)log, (void)wait_ms;
    *event = (struct pipe_log_event){next_event, shares, 3};
    next_event = PIPE_LOG_NOTHING;
    return true;
}

static bool shared_release(struct pipe_log *log)
{
    (void)log;
    return true;
}

static int64_t shared_begin(struct pipe_log *log, uint32_t topic, int32_t partition)
{
    (void)log;
    return topic == shares[0].topic && partition == 0 ? GONE : 0;
}

static enum pipe_log_state shared_read(struct pipe_log_reader *reader, uint32_t max_records,
                                       int64_t before, struct pipe_record **records,
                                       uint32_t *count)
{
    const struct follower_part *part = &follower->sinks[0].parts[0];
    if (reader == part->reader && embedded_ops->position(reader) < GONE)
        return PIPE_LOG_FAILED;
    return embedded_ops->read(reader, max_records, before, records, count);
}

static void open_shared_follower(bool accept_gap)
{
    struct pipe_follower_config config = {.plan = &plan,
                                          .log = pipe_log_embedded_attach(log_of_run),
                                          .target = &scripted.target,
                                          .accept_gap = accept_gap};
    embedded_ops = config.log->ops;
    shared_ops = *embedded_ops;
    shared_ops.join = shared_join;
    shared_ops.poll = shared_poll;
    shared_ops.release = shared_release;
    shared_ops.begin = shared_begin;
    shared_ops.read = shared_read;
    config.log->ops = &shared_ops;
    config.log->grouped = true;
    follower = pipe_follower_new(&config);
}

static void test_gap_is_refused(void **state)
{
    (void)state;
    open_log();
    append_numbers(topics[0], 0, 5);
    open_shared_follower(false);
    steps(5);
    assert_halted("begins at offset 2, but 0");
    assert_int_equal(figures_of(SINK_TABLE).skipped, 0);
    close_all();
}

static void test_gap_is_accepted(void **state)
{
    (void)state;
    open_log();
    append_numbers(topics[0], 0, 5);
    open_shared_follower(true);
    pipe_follower_flush(follower, false);
    steps(10);
    assert_false(figures_of(SINK_TABLE).halted);
    assert_int_equal(figures_of(SINK_TABLE).rows, 3);
    assert_int_equal(figures_of(SINK_TABLE).skipped, GONE);
    assert_int_equal(scripted.sent[0].batch.first, GONE);
    close_all();
}

/* Partitions are taken away, and come back: what is pending is sent again, with the probe. */
static void test_revoked(void **state)
{
    (void)state;
    open_log();
    append_numbers(topics[0], 1, 5);
    open_shared_follower(true);
    scripted.outcome[SINK_TABLE] = PIPE_TABLE_PENDING;
    pipe_follower_flush(follower, false);
    steps(5);
    assert_int_equal(scripted.count, 1);
    next_event = PIPE_LOG_REVOKED;
    steps(5);
    assert_int_equal(scripted.count, 1);
    assert_int_equal(figures_of(SINK_TABLE).lag_records, 0); /* not ours */
    scripted.outcome[SINK_TABLE] = PIPE_TABLE_DONE;
    next_event = PIPE_LOG_ASSIGNED;
    steps(10);
    assert_int_equal(scripted.count, 2);
    assert_int_equal(scripted.sent[1].batch.attempt, 1);
    assert_string_equal(scripted.sent[1].batch.token, scripted.sent[0].batch.token);
    assert_int_equal(figures_of(SINK_TABLE).rows, 5);
    close_all();
}

#define WITH_DIR(test) cmocka_unit_test_setup_teardown(test, make_dir, remove_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_follows_what),
        WITH_DIR(test_batch_by_time),
        WITH_DIR(test_batch_is_no_younger),
        WITH_DIR(test_batch_by_size),
        WITH_DIR(test_again_is_the_same),
        WITH_DIR(test_restart_sends_the_same),
        WITH_DIR(test_stop),
        WITH_DIR(test_broken_table),
        WITH_DIR(test_table_that_is_not_there),
        WITH_DIR(test_rows_without_a_mark),
        WITH_DIR(test_table_is_ahead),
        WITH_DIR(test_table_is_behind),
        WITH_DIR(test_row_that_is_none),
        WITH_DIR(test_changed_records),
        WITH_DIR(test_malformed_journal),
        WITH_DIR(test_gap_is_refused),
        WITH_DIR(test_gap_is_accepted),
        WITH_DIR(test_revoked),
    };
    pipe_message_level(PIPE_ERROR + 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
