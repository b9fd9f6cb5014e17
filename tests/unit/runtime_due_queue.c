/* The queue of due times against a plain array: what is due comes, once, and nothing else for good.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../runtime/due_queue.h"

enum { ITEMS = 400, ROUNDS = 4000 };

static uint64_t seed = 1;

static int64_t random_below(int64_t bound)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((seed >> 33) % (uint64_t)bound);
}

/* Of 256 bytes, which the queue asks for. */
struct entry {
    struct due_item item;
    int64_t due; /* the true one, not before that of the item */
    bool held;
    uint8_t rest[232];
};

static struct entry entries[ITEMS];

static int64_t least_due(void)
{
    int64_t least = PIPE_TIME_MAX;
    for (int i = 0; i < ITEMS; i++)
        least = entries[i].held && entries[i].due < least ? entries[i].due : least;
    return least;
}

/* Returns how many items were taken too early and put in again. */
static int take_due(struct due_queue *queue, int64_t now)
{
    struct due_item *item;
    int again = 0;
    while ((item = due_queue_take(queue, now)) != NULL) {
        struct entry *entry = (struct entry *)(void *)item;
        assert_true(entry->held);
        assert_int_equal(item->due, PIPE_TIME_MAX);
        if (entry->due <= now) {
            entry->held = false;
            continue;
        }
        due_queue_add(queue, item, entry->due);
        assert_true(item->due <= entry->due);
        again++;
    }
    assert_true(least_due() > now || now == PIPE_TIME_MAX);
    assert_true(due_queue_bound(queue) <= least_due());
    return again;
}

static void add(struct due_queue *queue, struct entry *entry, int64_t due)
{
    entry->due = due;
    entry->held = true;
    due_queue_add(queue, &entry->item, due);
}

/* An item that is due later than it is queued for, or earlier, or not any more. */
static void change(struct due_queue *queue, struct entry *entry, int64_t ahead)
{
    switch (random_below(3)) {
    case 0:
        entry->due += random_below(ahead);
        break;
    case 1:
        due_queue_remove(queue, &entry->item);
        add(queue, entry, entry->due - random_below(ahead));
        break;
    default:
        due_queue_remove(queue, &entry->item);
        entry->held = false;
    }
}

static int run(int64_t start, int64_t step, int64_t span, int64_t ahead)
{
    struct due_queue queue = {0};
    int64_t now = start;
    int again = 0;
    due_queue_init(&queue, span);
    if (start % 2 == 0)
        due_queue_begin(&queue, start);
    for (int i = 0; i < ITEMS; i++)
        entries[i] = (struct entry){.item.due = PIPE_TIME_MAX};
    for (int round = 0; round < ROUNDS; round++) {
        struct entry *entry = &entries[random_below(ITEMS)];
        int64_t away = random_below(8) == 0 ? -random_below(ahead) : random_below(ahead) + 1;
        if (entry->held)
            change(&queue, entry, ahead);
        else
            add(&queue, entry, now + away);
        if (random_below(3) == 0) {
            now += random_below(100) == 0 ? random_below(step * 1000) : random_below(step);
            again += take_due(&queue, now);
        }
    }
    take_due(&queue, PIPE_TIME_MAX);
    for (int i = 0; i < ITEMS; i++)
        assert_false(entries[i].held);
    assert_int_equal(due_queue_bound(&queue), PIPE_TIME_MAX);
    due_queue_free(&queue);
    return again;
}

static void test_against_array(void **state)
{
    (void)state;
    run(0, 10, 1000, 1000);
    run(-5000, 100, 3000, 3000);
    run(1767225600000000, 5000000, 30000000, 30000000);
    run(1767225600000001, 5000000, 30000000, 35000000);          /* nothing was said of the start */
    run(-86400000000, 7200000000, 2592000000000, 2592000000000); /* days */
    run(PIPE_TIME_MIN + 1000000, 3, 100, 100);
    assert_true(run(0, 100000, 1000000, 20000000) > 100); /* beyond the wheel */
}

/* All are put in again and again, and none is lost, where time goes by whole turns of the wheel. */
static void test_turns(void **state)
{
    struct due_queue queue = {0};
    int64_t year = INT64_C(365) * 86400 * 1000000;
    (void)state;
    due_queue_init(&queue, 1000000);
    for (int i = 0; i < ITEMS; i++) {
        entries[i] = (struct entry){.item.due = PIPE_TIME_MAX};
        add(&queue, &entries[i], year + i);
    }
    for (int64_t now = -year; now < year; now += year / 10)
        take_due(&queue, now);
    assert_int_equal(least_due(), year);
    take_due(&queue, year + ITEMS / 2 - 1);
    assert_int_equal(least_due(), year + ITEMS / 2);
    take_due(&queue, year + ITEMS);
    assert_int_equal(least_due(), PIPE_TIME_MAX);
    due_queue_free(&queue);
}

static void test_empty(void **state)
{
    struct due_queue queue = {0};
    (void)state;
    due_queue_init(&queue, INT64_MAX);
    assert_int_equal(due_queue_bound(&queue), PIPE_TIME_MAX);
    assert_null(due_queue_take(&queue, PIPE_TIME_MAX));
    due_queue_free(&queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_array),
        cmocka_unit_test(test_turns),
        cmocka_unit_test(test_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
