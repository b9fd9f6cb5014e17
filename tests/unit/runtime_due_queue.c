/* The queue of due times against a plain array: what is due comes, once, and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../runtime/due_queue.h"

enum { ITEMS = 400, ROUNDS = 4000, ENTRY_BYTES = 256 };

static uint64_t seed = 1;

static int64_t random_below(int64_t bound)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((seed >> 33) % (uint64_t)bound);
}

static uint8_t entries[ITEMS][ENTRY_BYTES];
static int64_t dues[ITEMS];
static bool held[ITEMS];

static int64_t least_due(void)
{
    int64_t least = PIPE_TIME_MAX;
    for (int i = 0; i < ITEMS; i++)
        least = held[i] && dues[i] < least ? dues[i] : least;
    return least;
}

static void take_due(struct due_queue *queue, int64_t now)
{
    struct due_item item;
    while (due_queue_take(queue, now, &item)) {
        long i = ((uint8_t *)item.entry - entries[0]) / ENTRY_BYTES;
        assert_true(held[i]);
        assert_int_equal(item.due, dues[i]);
        assert_true(item.due <= now && item.due != PIPE_TIME_MAX);
        held[i] = false;
    }
    int64_t least = least_due();
    assert_true(least > now || least == PIPE_TIME_MAX);
    assert_true(due_queue_bound(queue) <= least);
}

static void run(int64_t start, int64_t step, int64_t ahead)
{
    struct due_queue queue = {0};
    int64_t now = start;
    memset(held, 0, sizeof held);
    for (int round = 0; round < ROUNDS; round++) {
        int i = (int)random_below(ITEMS);
        if (!held[i]) {
            int64_t away = random_below(8) == 0 ? -random_below(ahead) : random_below(ahead) + 1;
            dues[i] = random_below(100) == 0 ? PIPE_TIME_MAX : now + away;
            held[i] = true;
            due_queue_add(&queue, dues[i], entries[i]);
        }
        if (random_below(3) == 0) {
            now += random_below(step);
            take_due(&queue, now);
        }
    }
    take_due(&queue, PIPE_TIME_MAX);
    for (int i = 0; i < ITEMS; i++)
        assert_true(!held[i] || dues[i] == PIPE_TIME_MAX);
    due_queue_free(&queue);
}

static void test_against_array(void **state)
{
    (void)state;
    run(0, 10, 1000);
    run(-5000, 100, 3000);
    run(1767225600000000, 5000000, 30000000);
    run(-86400000000, 7200000000, 2592000000000); /* days: upper levels */
    run(PIPE_TIME_MIN + 1000, 3, 100);
}

static void test_empty(void **state)
{
    struct due_queue queue = {0};
    struct due_item item;
    (void)state;
    assert_int_equal(due_queue_bound(&queue), PIPE_TIME_MAX);
    assert_false(due_queue_take(&queue, PIPE_TIME_MAX, &item));
    due_queue_free(&queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_array),
        cmocka_unit_test(test_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
