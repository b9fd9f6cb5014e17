/* The table of ids against a plain array: what was put in is found as it was, whatever was made
 * room for meanwhile, also where places crowd together, around the end too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../runtime/id_table.h"

enum { IDS = 60000 };

static uint64_t seed = 1;

static uint64_t random_word(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return seed ^ seed >> 29;
}

static struct id ids[IDS];
static bool held[IDS];

/* Crowded: nearly all in a few buckets, a part of these the last ones. */
static struct id random_id(unsigned tag, bool crowded)
{
    struct id id = {random_word() << 20 ^ random_word(), random_word() << 20 ^ random_word(),
                    id_meta((int64_t)(random_word() % 1000), tag)};
    if (crowded) {
        id.low >>= 50;
        id.high &= 0xFF00000000000F00u; /* marks are all the same */
        id.high |= random_word() << 24 >> 12;
    }
    if (crowded && random_word() % 2 == 0)
        id.low = ~id.low;
    return id;
}

static void check(const struct id_table *table, int count, int64_t least)
{
    uint64_t there = 0, living = 0, at = 0;
    for (int i = 0; i < count; i++) {
        const struct id *found = id_table_find(table, &ids[i]);
        if (id_expiry(&ids[i]) >= least && held[i]) {
            assert_non_null(found);
            assert_int_equal(found->meta, ids[i].meta);
            living++;
        }
    }
    while (id_table_each(table, &at) != NULL)
        there++;
    assert_int_equal(there, table->used);
    assert_true(there >= living);
}

static void fill(struct id_table *table, int from, int to, bool crowded)
{
    for (int i = from; i < to; i++) {
        ids[i] = random_id(random_word() % 2 == 0 ? ID_TAG_HASHED : ID_TAG_UUID, crowded);
        held[i] = id_table_find(table, &ids[i]) == NULL;
        if (!held[i])
            continue;
        if (id_table_is_full(table)) {
            uint64_t before = id_table_bytes(table);
            id_table_rebuild(table, INT64_MIN, table->used);
            assert_true(id_table_bytes(table) > before);
        }
        id_table_add(table, &ids[i]);
    }
}

static void run(int count, bool crowded)
{
    struct id_table table = {0};
    assert_null(id_table_find(&table, &(struct id){1, 2, ID_TAG_HASHED}));
    for (int from = 0; from < count; from = 2 * from + 7) {
        int to = 2 * from + 7 < count ? 2 * from + 7 : count;
        fill(&table, from, to, crowded);
        check(&table, to, INT64_MIN);
    }
    for (int64_t least = 100; least <= 1000; least += 300) {
        id_table_fit(&table, least);
        assert_false(id_table_is_full(&table));
        check(&table, count, least);
        assert_true(table.used < (uint64_t)count);
    }
    assert_int_equal(table.used, 0);
    assert_true(id_table_bytes(&table) < 1024);
    id_table_rebuild(&table, INT64_MIN, 0);
    id_table_add(&table, &ids[0]);
    assert_non_null(id_table_find(&table, &ids[0]));
    id_table_free(&table);
    assert_int_equal(id_table_bytes(&table), 0);
}

static void test_against_array(void **state)
{
    (void)state;
    run(IDS, false);
    run(97, false);
}

static void test_crowded(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++)
        run(40 + 37 * i, true);
}

/* Two ids that differ in their tags alone are two. */
static void test_tags(void **state)
{
    struct id_table table = {0};
    struct id hashed = {3, 4, id_meta(5, ID_TAG_HASHED)}, exact = {3, 4, id_meta(6, 16)};
    (void)state;
    id_table_rebuild(&table, INT64_MIN, 0);
    id_table_add(&table, &hashed);
    assert_null(id_table_find(&table, &exact));
    id_table_add(&table, &exact);
    assert_int_equal(id_expiry(id_table_find(&table, &exact)), 6);
    assert_int_equal(id_expiry(id_table_find(&table, &hashed)), 5);
    id_table_free(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_array),
        cmocka_unit_test(test_crowded),
        cmocka_unit_test(test_tags),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
