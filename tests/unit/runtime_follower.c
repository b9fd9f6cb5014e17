/*
 * Followers: how batches are cut, what becomes
 * of attempts, when a table stands still. The log is a real embedded one, the target does what a
 * test tells it. Whole protocols under faults are the simulation's (tests/sim).
 */
#include "toy_follower.h"

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
    assert_int_equal(scripted.count, 1);
    assert_int_equal(scripted.sent[0].batch.rows, 7);
    assert_int_equal(scripted.sent[0].batch.range_count, 2);
    assert_int_equal(scripted.sent[0].batch.ranges[0].rows, 3);
    assert_int_equal(scripted.sent[0].batch.ranges[1].partition, 1);
    assert_int_equal(scripted.sent[0].batch.ranges[1].last, 3);
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
        assert_int_equal(scripted.sent[i].batch.ranges[0].first,
                         scripted.sent[i - 1].batch.ranges[0].last + 1);
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
        assert_int_equal(scripted.sent[i].batch.ranges[0].last, 2);
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
    assert_int_equal(scripted.sent[1].batch.ranges[0].first, 0);
    assert_int_equal(scripted.sent[1].batch.ranges[0].last, 2);
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
    (void)state;
    open_log();
    append_numbers(topics[0], 0, 3);
    put_journal(0, &journal);
    commit();
    open_follower();
    steps(5);
    assert_halted("are not those that were under way");
    assert_int_equal(scripted.count, 1); /* of the other table */
    close_all();
}

static void test_malformed_journal(void **state)
{
    (void)state;
    open_log();
    put_position(1, "?", 1);
    commit();
    open_follower();
    steps(5);
    assert_halted("malformed");
    close_all();
}

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
    };
    pipe_message_level(PIPE_ERROR + 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
