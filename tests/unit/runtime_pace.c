/*
 * runtime_pace.c: when a commit is due, by how long the last one took and whether the run keeps up.
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_up),
        cmocka_unit_test(is_behind),
        cmocka_unit_test(is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
