/*
 * runtime_exchange.c: which markers an exchange needs: those at which the stage behind it does
 * something, and with windows alone that is at few times.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>

#include <cmocka.h>

#include "engine.h"

#define SECOND INT64_C(1000000)

static struct pipe_state_def window;
static struct pipe_exchange_def exchange;
static struct pipe_stage_def stages[2];
static const struct pipe_plan plan = {
    .stages = stages, .stage_count = 2, .exchanges = &exchange, .exchange_count = 1};

/* Windows of 10 s that begin at 3 s past a multiple of 10, with 4 s of lateness. */
static int begin(void **state)
{
    (void)state;
    window = (struct pipe_state_def){.kind = PIPE_STATE_WINDOW,
                                     .size = 10 * SECOND,
                                     .every = 10 * SECOND,
                                     .offset = 3 * SECOND,
                                     .lateness = 4 * SECOND,
                                     .emit = PIPE_EMIT_CLOSE,
                                     .phase = PIPE_PHASE_MERGE};
    exchange = (struct pipe_exchange_def){.partials = true, .to_stage = 1};
    stages[1] = (struct pipe_stage_def){.exchange = 0, .states = &window, .state_count = 1};
    return 0;
}

static bool needs(int64_t from_s, int64_t to_s)
{
    return exchange_needs_marker(&plan, 0, from_s * SECOND, to_s * SECOND);
}

static void ends_of_windows(void **state)
{
    (void)state;
    assert_false(needs(104, 106));
    assert_true(needs(106, 107)); /* 4 s behind the end at 103 */
    assert_false(needs(107, 112));
    assert_true(needs(112, 113)); /* the end of the next one */
    assert_false(needs(113, 116));
    assert_true(needs(108, 999));
    assert_false(needs(108, 108));
    assert_true(exchange_needs_marker(&plan, 0, 113 * SECOND - 1, 113 * SECOND));
    assert_false(exchange_needs_marker(&plan, 0, 113 * SECOND, 113 * SECOND + 1));
    assert_true(needs(-8, -7)); /* before 1970 likewise */
}

static void updates(void **state)
{
    (void)state;
    assert_false(needs(109, 111));
    window.emit = PIPE_EMIT_UPDATE;
    window.emit_every = 2 * SECOND;
    assert_true(needs(109, 110));
    assert_false(needs(110, 111));
}

static void delayed_and_hopping(void **state)
{
    (void)state;
    window.delay = SECOND; /* what the window calls 113 s is 114 s of the stage */
    assert_false(needs(112, 113));
    assert_true(needs(113, 114));
    window.delay = 0;
    window.size = 12 * SECOND;
    window.every = 5 * SECOND;
    window.lateness = 0; /* ends at 3 + 12 + k * 5 */
    assert_true(needs(104, 105));
    assert_false(needs(105, 109));
    assert_true(needs(109, 110));
}

static void beginning_and_end_of_time(void **state)
{
    (void)state;
    assert_true(exchange_needs_marker(&plan, 0, PIPE_TIME_MIN, 108 * SECOND));
    assert_true(exchange_needs_marker(&plan, 0, 108 * SECOND, PIPE_TIME_MAX));
    assert_false(exchange_needs_marker(&plan, 0, PIPE_TIME_MAX, PIPE_TIME_MAX));
}

static void other_stages_need_all(void **state)
{
    (void)state;
    struct pipe_state_def two[2] = {window, {.kind = PIPE_STATE_DEDUP}};
    exchange.partials = false;
    assert_true(needs(108, 109));
    exchange.partials = true;
    stages[1].exchange_out_count = 1;
    assert_true(needs(108, 109));
    stages[1].exchange_out_count = 0;
    stages[1].states = two;
    stages[1].state_count = 2;
    assert_true(needs(108, 109));
    assert_false(needs(108, 108));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(ends_of_windows, begin),
        cmocka_unit_test_setup(updates, begin),
        cmocka_unit_test_setup(delayed_and_hopping, begin),
        cmocka_unit_test_setup(beginning_and_end_of_time, begin),
        cmocka_unit_test_setup(other_stages_need_all, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
