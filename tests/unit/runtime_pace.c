/*
 * runtime_pace.c: when a commit is due, by how long the last one took and whether the run keeps up;
 * when endless traffic sends a record.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>

#include <cmocka.h>

#include "engine.h"

#define MS 1000
#define BEGAN (INT64_C(5000) * MS) /* the last commit */

/* How long after the end of a commit that took so long the next one is due, ms. */
static int64_t work_ms(int64_t took_ms, bool caught_up, int64_t open_most_ms)
{
    struct pipe_log log = {.open_most_us = open_most_ms * MS};
    struct pipe_run_options options = {.commit_ms = 100};
    struct pipe_engine engine = {.log = &log,
                                 .options = &options,
                                 .caught_up = caught_up,
                                 .commit_began_us = BEGAN,
                                 .last_commit_us = BEGAN + took_ms * MS};
    return (engine_next_commit_us(&engine) - engine.last_commit_us) / MS;
}

/* What a commit takes does not come on top of the interval. */
static void keeps_up(void **state)
{
    (void)state;
    assert_int_equal(work_ms(0, true, 0), 100);
    assert_int_equal(work_ms(30, true, 0), 70);
    assert_int_equal(work_ms(75, true, 0), 25);
    assert_int_equal(work_ms(700, true, 0), 25);
}

/* Commits that take seven times the interval: seven times the work goes into each. */
static void is_behind(void **state)
{
    (void)state;
    assert_int_equal(work_ms(0, false, 0), 100);
    assert_int_equal(work_ms(30, false, 0), 100);
    assert_int_equal(work_ms(700, false, 0), 700);
}

/* A transaction that is open for too long is aborted, and readers wait for it. */
static void is_bounded(void **state)
{
    (void)state;
    assert_int_equal(work_ms(4000, false, 0), 1000);
    assert_int_equal(work_ms(4000, false, 3333), 1000);
    assert_int_equal(work_ms(4000, false, 400), 400);
    assert_int_equal(work_ms(300, false, 400), 300);
    assert_int_equal(work_ms(4000, false, 50), 100);
}

/* Whether a record of `time_ms` is sent at `now_us`, if the first one was of `first_ms` when the
 * clocks were at BEGAN and `wall_ms`. */
static bool is_sent(int64_t first_ms, int64_t wall_ms, int64_t time_ms, int64_t now_us)
{
    struct engine_source source = {.ahead = {.kafka_time_ms = first_ms}};
    engine_begin_pace(&source, BEGAN, wall_ms);
    source.ahead.kafka_time_ms = time_ms;
    return engine_is_due(&source, now_us);
}

#define WALL INT64_C(1790000000000)
#define MISSED_MS INT64_C(600000)

/* Also after a restart: a record that was due while nobody ran does not wait, nor do those behind
 * it, so that the traffic is back in time at once. */
static void traffic_is_in_time(void **state)
{
    (void)state;
    for (int64_t behind = 0; behind < MISSED_MS; behind = behind * 10 + 300) {
        assert_true(is_sent(WALL - behind, WALL, WALL - behind, BEGAN));
        assert_true(is_sent(WALL - behind, WALL, WALL, BEGAN));
        assert_false(is_sent(WALL - behind, WALL, WALL + 1, BEGAN));
        assert_true(is_sent(WALL - behind, WALL, WALL + 250, BEGAN + 250 * MS));
        assert_false(is_sent(WALL - behind, WALL, WALL + 251, BEGAN + 250 * MS));
    }
}

/* Traffic of another time goes on at its rate. */
static void traffic_has_its_rate(void **state)
{
    const int64_t firsts[] = {0, WALL - MISSED_MS, WALL + 1, WALL + 3 * MISSED_MS};
    (void)state;
    for (size_t i = 0; i < sizeof firsts / sizeof *firsts; i++) {
        assert_true(is_sent(firsts[i], WALL, firsts[i], BEGAN));
        assert_false(is_sent(firsts[i], WALL, firsts[i] + 1, BEGAN));
        assert_true(is_sent(firsts[i], WALL, firsts[i] + 40, BEGAN + 40 * MS));
        assert_false(is_sent(firsts[i], WALL, firsts[i] + 41, BEGAN + 40 * MS));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_up),
        cmocka_unit_test(is_behind),
        cmocka_unit_test(is_bounded),
        cmocka_unit_test(traffic_is_in_time),
        cmocka_unit_test(traffic_has_its_rate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
