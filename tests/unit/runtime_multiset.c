/* Tests of multiset.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "multiset.h"

static struct pipe_spill_store store;

static int open_store(void **state)
{
    (void)state;
    return pipe_spill_store_open(&store, NULL) ? 0 : -1;
}

static int close_store(void **state)
{
    (void)state;
    pipe_spill_store_close(&store);
    return 0;
}

static struct pipe_hash row(uint64_t number)
{
    return pipe_message_hash(0, pipe_str_of(NULL, 0), pipe_str_of(&number, sizeof number));
}

static void add(struct pipe_multiset *set, enum pipe_multiset_side side, uint64_t number)
{
    struct pipe_hash hash = row(number);
    pipe_multiset_add(set, side, &hash);
}

static void spill_gives_back_what_was_added(void **state)
{
    struct entry {
        struct pipe_hash hash;
        uint64_t number;
    };
    const uint64_t count = 300000; /* more than one block a partition */
    struct pipe_spill spill;
    struct pipe_buf bytes = {0};
    uint64_t total = 0, sum = 0;
    (void)state;
    pipe_spill_init(&spill, &store, sizeof(struct entry));
    for (uint64_t i = 0; i < count; i++) {
        struct entry entry = {row(i), i};
        pipe_spill_add(&spill, &entry);
    }
    assert_int_equal(spill.entries, count);
    for (uint32_t p = 0; p < PIPE_SPILL_PARTITIONS; p++) {
        uint64_t got;
        assert_true(pipe_spill_load(&spill, p, &bytes, &got));
        const struct entry *entries = (const struct entry *)(const void *)bytes.data;
        for (uint64_t i = 0; i < got; i++) {
            struct pipe_hash hash = row(entries[i].number);
            assert_int_equal(pipe_hash_order(&hash, &entries[i].hash), 0);
            assert_int_equal(hash.word[0] >> 56, p);
            assert_true(i == 0 || entries[i - 1].number < entries[i].number);
            sum += entries[i].number;
        }
        total += got;
    }
    assert_int_equal(total, count);
    assert_int_equal(sum, count * (count - 1) / 2);
    pipe_buf_free(&bytes);
    pipe_spill_free(&spill);
}

static void equal_multisets(void **state)
{
    struct pipe_multiset set;
    struct pipe_comparison *c = pipe_calloc(1, sizeof *c);
    (void)state;
    pipe_multiset_init(&set, &store);
    for (uint64_t i = 0; i < 100000; i++)
        add(&set, PIPE_REQUIRED, i / 2);
    for (uint64_t i = 100000; i-- > 0;)
        add(&set, PIPE_ACTUAL, i % 50000);
    assert_true(pipe_multiset_compare(&set, c));
    assert_int_equal(c->expected, 100000);
    assert_int_equal(c->actual, 100000);
    assert_int_equal(c->unique, 50000);
    assert_int_equal(c->missing + c->unexpected + c->difference_count, 0);
    pipe_multiset_free(&set);
    free(c);
}

static void differences_are_told(void **state)
{
    struct pipe_multiset set;
    struct pipe_comparison *c = pipe_calloc(1, sizeof *c);
    struct pipe_hash lost = row(17), more = row(20), never = row(99);
    (void)state;
    pipe_multiset_init(&set, &store);
    for (uint64_t i = 0; i < 1000; i++) {
        add(&set, PIPE_REQUIRED, i);
        if (i != 17)
            add(&set, PIPE_ACTUAL, i);
        if (i == 20)
            add(&set, PIPE_ACTUAL, i);
    }
    assert_true(pipe_multiset_compare(&set, c));
    assert_int_equal(c->missing, 1);
    assert_int_equal(c->unexpected, 1);
    assert_int_equal(c->difference_count, 2);
    struct pipe_difference *one = pipe_difference_of(c, &lost);
    assert_non_null(one);
    assert_int_equal(one->least, 1);
    assert_int_equal(one->actual, 0);
    one = pipe_difference_of(c, &more);
    assert_non_null(one);
    assert_int_equal(one->most, 1);
    assert_int_equal(one->actual, 2);
    assert_null(pipe_difference_of(c, &never));
    pipe_multiset_free(&set);
    free(c);
}

static void allowed_rows_may_be_there_or_not(void **state)
{
    struct pipe_multiset set;
    struct pipe_comparison *c = pipe_calloc(1, sizeof *c);
    (void)state;
    pipe_multiset_init(&set, &store);
    add(&set, PIPE_ALLOWED, 1); /* is there */
    add(&set, PIPE_ACTUAL, 1);
    add(&set, PIPE_ALLOWED, 2);  /* is not */
    add(&set, PIPE_REQUIRED, 3); /* once and twice more, there three times */
    add(&set, PIPE_ALLOWED, 3);
    add(&set, PIPE_ALLOWED, 3);
    for (int i = 0; i < 3; i++)
        add(&set, PIPE_ACTUAL, 3);
    add(&set, PIPE_ALLOWED, 4); /* once too often */
    add(&set, PIPE_ACTUAL, 4);
    add(&set, PIPE_ACTUAL, 4);
    assert_true(pipe_multiset_compare(&set, c));
    assert_int_equal(c->expected, 5);
    assert_int_equal(c->actual, 6);
    assert_int_equal(c->missing, 0);
    assert_int_equal(c->unexpected, 1);
    pipe_multiset_free(&set);
    free(c);
}

static void more_differences_than_are_kept(void **state)
{
    struct pipe_multiset set;
    struct pipe_comparison *c = pipe_calloc(1, sizeof *c);
    (void)state;
    pipe_multiset_init(&set, &store);
    for (uint64_t i = 0; i < 5000; i++)
        add(&set, PIPE_REQUIRED, i);
    assert_true(pipe_multiset_compare(&set, c));
    assert_int_equal(c->missing, 5000);
    assert_int_equal(c->difference_count, PIPE_DIFFERENCES_MAX);
    for (uint32_t i = 1; i < c->difference_count; i++)
        assert_true(pipe_hash_order(&c->differences[i - 1].row, &c->differences[i].row) < 0);
    pipe_multiset_free(&set);
    free(c);
}

static void content_tells_rows_apart(void **state)
{
    struct pipe_str none = {0}, empty = PIPE_STR(""), a = PIPE_STR("a"), ab = PIPE_STR("ab"),
                    b = PIPE_STR("b");
    struct pipe_hash hashes[] = {
        pipe_message_hash(0, none, a),  pipe_message_hash(0, empty, a),
        pipe_message_hash(0, a, none),  pipe_message_hash(0, a, empty),
        pipe_message_hash(0, a, b),     pipe_message_hash(0, b, a),
        pipe_message_hash(0, ab, none), pipe_message_hash(1, a, b),
    };
    (void)state;
    for (size_t i = 0; i < sizeof hashes / sizeof hashes[0]; i++) {
        for (size_t j = 0; j < i; j++)
            assert_int_not_equal(pipe_hash_order(&hashes[i], &hashes[j]), 0);
    }
}

static void a_directory_that_is_not_there(void **state)
{
    struct pipe_spill_store other;
    (void)state;
    assert_false(pipe_spill_store_open(&other, "/no/such/directory"));
    assert_non_null(strstr(other.error, "/no/such/directory"));
    assert_non_null(strstr(other.error, "TMPDIR"));
    pipe_spill_store_close(&other);
}

/* After a failure nothing is added, and comparing says so. */
static void a_store_that_has_failed(void **state)
{
    struct pipe_spill_store other;
    struct pipe_multiset set;
    struct pipe_comparison *c = pipe_calloc(1, sizeof *c);
    (void)state;
    assert_true(pipe_spill_store_open(&other, NULL));
    pipe_spill_store_close(&other); /* so that writing fails */
    pipe_multiset_init(&set, &other);
    for (uint64_t i = 0; i < 100000; i++)
        add(&set, PIPE_REQUIRED, i);
    assert_true(other.failed);
    assert_non_null(strstr(other.error, "written"));
    assert_false(pipe_multiset_compare(&set, c));
    pipe_multiset_free(&set);
    free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spill_gives_back_what_was_added),
        cmocka_unit_test(equal_multisets),
        cmocka_unit_test(differences_are_told),
        cmocka_unit_test(allowed_rows_may_be_there_or_not),
        cmocka_unit_test(more_differences_than_are_kept),
        cmocka_unit_test(content_tells_rows_apart),
        cmocka_unit_test(a_directory_that_is_not_there),
        cmocka_unit_test(a_store_that_has_failed),
    };
    return cmocka_run_group_tests(tests, open_store, close_store);
}
