/* Followers: the journal of a position, and the names of ranges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../runtime/follower_internal.h"

/* Of partition 3. */
static struct follower_journal sample(void)
{
    struct follower_journal journal = {
        .mark = 10, .confirmed = 9, .pending = true, .range_count = 1};
    journal.ranges[0].at = (struct pipe_table_range){3, 12, 300, 7};
    memset(journal.incarnation, 1, sizeof journal.incarnation);
    memset(journal.ranges[0].hash, 2, sizeof journal.ranges[0].hash);
    memset(journal.token, 3, sizeof journal.token);
    return journal;
}

static struct follower_journal sample_of_three(void)
{
    struct follower_journal journal = sample();
    journal.range_count = 3;
    journal.own = 1;
    journal.ranges[1] = journal.ranges[0];
    for (unsigned i = 0; i < 3; i += 2) {
        journal.ranges[i].at = (struct pipe_table_range){(int32_t)i * 2, i, 100 + i, 20};
        memset(journal.ranges[i].hash, (int)i + 7, sizeof journal.ranges[i].hash);
    }
    return journal;
}

static bool read_as(const struct follower_journal *journal, int32_t partition,
                    struct follower_journal *out)
{
    struct pipe_buf value = {0};
    follower_journal_write(&value, journal);
    bool ok = follower_journal_read(pipe_str_of(value.data, value.size), partition, 6, out);
    pipe_buf_free(&value);
    return ok;
}

static bool read_back(const struct follower_journal *journal, struct follower_journal *out)
{
    return read_as(journal, 3, out);
}

static void assert_same(const struct follower_journal *a, const struct follower_journal *b)
{
    assert_int_equal(a->mark, b->mark);
    assert_int_equal(a->confirmed, b->confirmed);
    assert_int_equal(a->range_count, b->range_count);
    assert_int_equal(a->own, b->own);
    assert_memory_equal(a->incarnation, b->incarnation, sizeof a->incarnation);
    assert_memory_equal(a->token, b->token, sizeof a->token);
    for (uint32_t i = 0; i < a->range_count; i++) {
        const struct follower_range *x = &a->ranges[i], *y = &b->ranges[i];
        assert_int_equal(x->at.partition, y->at.partition);
        assert_int_equal(x->at.first, y->at.first);
        assert_int_equal(x->at.last, y->at.last);
        assert_int_equal(x->at.rows, y->at.rows);
        assert_memory_equal(x->hash, y->hash, sizeof x->hash);
    }
}

static void test_journal(void **state)
{
    struct follower_journal journal = sample(), back;
    (void)state;
    assert_true(read_back(&journal, &back));
    assert_same(&back, &journal);
    journal.pending = false;
    assert_true(read_back(&journal, &back));
    assert_false(back.pending);
    journal = sample_of_three();
    assert_true(read_back(&journal, &back));
    assert_same(&back, &journal);
}

/* What a program before batches wrote is a batch of one range; and one range is still written so.
 */
static void test_journal_of_one_range(void **state)
{
    const struct follower_journal journal = sample();
    struct follower_journal back;
    struct pipe_buf value = {0}, old = {0};
    (void)state;
    pipe_buf_add_byte(&old, 2);
    pipe_buf_add(&old, journal.incarnation, sizeof journal.incarnation);
    pipe_avro_put_long(&old, 10);
    pipe_avro_put_long(&old, 9);
    pipe_avro_put_bool(&old, true);
    pipe_avro_put_long(&old, 12);
    pipe_avro_put_long(&old, 300);
    pipe_avro_put_long(&old, 7);
    pipe_buf_add(&old, journal.ranges[0].hash, sizeof journal.ranges[0].hash);
    pipe_buf_add(&old, journal.token, sizeof journal.token);
    assert_true(follower_journal_read(pipe_str_of(old.data, old.size), 3, 6, &back));
    assert_same(&back, &journal);
    follower_journal_write(&value, &journal);
    assert_int_equal(value.size, old.size);
    assert_memory_equal(value.data, old.data, old.size);
    old.data[0] = 1; /* without `confirmed`, which is one byte here */
    memmove(old.data + 18, old.data + 19, old.size - 19);
    assert_true(follower_journal_read(pipe_str_of(old.data, old.size - 1), 3, 6, &back));
    assert_int_equal(back.confirmed, -1);
    assert_int_equal(follower_own(&back)->last, 300);
    pipe_buf_free(&value);
    pipe_buf_free(&old);
}

/* With as many ranges as a batch may have, all numbers long, it fits into a broker's metadata. */
static void test_journal_is_bounded(void **state)
{
    struct follower_journal journal = sample();
    struct pipe_buf value = {0};
    (void)state;
    journal.range_count = PIPE_TABLE_RANGES_MAX;
    for (uint32_t i = 0; i < journal.range_count; i++)
        journal.ranges[i].at =
            (struct pipe_table_range){INT32_MAX - (int32_t)i, INT64_MAX - 9, INT64_MAX - 1, 9};
    follower_journal_write(&value, &journal);
    assert_in_range(value.size, 600, 1200);
    pipe_buf_free(&value);
}

static void assert_cut_is_refused(const struct follower_journal *journal)
{
    struct follower_journal back;
    struct pipe_buf value = {0};
    follower_journal_write(&value, journal);
    for (size_t size = 0; size < value.size; size++)
        assert_false(follower_journal_read(pipe_str_of(value.data, size), 3, 6, &back));
    pipe_buf_add_byte(&value, 0);
    assert_false(follower_journal_read(pipe_str_of(value.data, value.size), 3, 6, &back));
    pipe_buf_free(&value);
}

static void test_journal_is_untrusted(void **state)
{
    struct follower_journal journal = sample(), back;
    struct pipe_table_range *range = &journal.ranges[0].at;
    (void)state;
    assert_cut_is_refused(&journal);
    range->first = 9; /* below the mark */
    assert_false(read_back(&journal, &back));
    journal = sample();
    range->last = 11;
    assert_false(read_back(&journal, &back));
    journal = sample();
    range->rows = 290; /* more than offsets */
    assert_false(read_back(&journal, &back));
    range->rows = 0;
    assert_false(read_back(&journal, &back));
    journal = sample();
    range->last = INT64_MAX - 1;
    range->rows = FOLLOWER_ROWS_MAX + 1;
    assert_false(read_back(&journal, &back));
    journal = sample();
    journal.mark = -1;
    assert_false(read_back(&journal, &back));
}

static void test_ranges_are_untrusted(void **state)
{
    struct follower_journal journal = sample_of_three(), back;
    (void)state;
    assert_cut_is_refused(&journal);
    assert_false(read_as(&journal, 5, &back)); /* its own is not among them */
    assert_false(read_as(&journal, 0, &back)); /* below the mark */
    journal.ranges[2].at.partition = 3;        /* twice */
    assert_false(read_back(&journal, &back));
    journal.ranges[2].at.partition = 6; /* no such partition */
    assert_false(read_back(&journal, &back));
    journal.ranges[2].at.partition = 2; /* not in their order */
    assert_false(read_back(&journal, &back));
    journal = sample_of_three();
    for (unsigned i = 0; i < 3; i++) { /* each may, together they are too many */
        journal.ranges[i].at.last = 1000000;
        journal.ranges[i].at.rows = FOLLOWER_ROWS_MAX / 2;
    }
    assert_false(read_back(&journal, &back));
    journal = sample_of_three();
    journal.ranges[0].at.first = -1;
    assert_false(read_back(&journal, &back));
}

static void make_token(const struct follower_place *place, const struct follower_journal *journal,
                       uint8_t token[FOLLOWER_TOKEN_BYTES])
{
    struct follower_token_range ranges[PIPE_TABLE_RANGES_MAX];
    for (uint32_t i = 0; i < journal->range_count; i++)
        ranges[i] = (struct follower_token_range){&journal->ranges[i], journal->incarnation};
    follower_make_token(place, ranges, journal->range_count, token);
}

static void test_token_names_everything(void **state)
{
    const struct follower_place place = {"log", "sink", "topic"};
    struct follower_place places[] = {
        {"other", "sink", "topic"},
        {"log", "other", "topic"},
        {"log", "sink", "other"},
        {"logs", "ink", "topic"},
    };
    struct follower_journal journal = sample_of_three(), other;
    uint8_t token[FOLLOWER_TOKEN_BYTES], another[FOLLOWER_TOKEN_BYTES];
    (void)state;
    make_token(&place, &journal, token);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        make_token(&places[i], &journal, another);
        assert_memory_not_equal(another, token, sizeof token);
    }
    for (unsigned i = 0; i < 7; i++) {
        other = sample_of_three();
        other.ranges[2].at.partition += i == 0;
        other.ranges[2].at.first += i == 1;
        other.ranges[2].at.last += i == 2;
        other.ranges[2].at.rows += i == 3;
        other.ranges[2].hash[15] ^= i == 4;
        other.incarnation[0] ^= i == 5;
        other.range_count -= i == 6;
        make_token(&place, &other, another);
        assert_memory_not_equal(another, token, sizeof token);
    }
    other = sample_of_three();
    make_token(&place, &other, another);
    assert_memory_equal(another, token, sizeof token);
}

static void test_hash_knows_where_bytes_are(void **state)
{
    const struct pipe_record records[] = {
        {.offset = 1, .key = {"ab", 2}, .payload = {"c", 1}},
        {.offset = 1, .key = {"a", 1}, .payload = {"bc", 2}},
        {.offset = 2, .key = {"ab", 2}, .payload = {"c", 1}},
        {.offset = 1, .key = {NULL, 0}, .payload = {"abc", 3}},
        {.offset = 1, .key = {"", 0}, .payload = {"abc", 3}},
    };
    uint8_t hashes[5][FOLLOWER_HASH_BYTES];
    XXH3_state_t *hash = XXH3_createState();
    (void)state;
    for (size_t i = 0; i < 5; i++) {
        XXH3_128bits_reset(hash);
        follower_hash_add(hash, &records[i]);
        follower_hash_end(hash, hashes[i]);
        for (size_t k = 0; k < i; k++)
            assert_memory_not_equal(hashes[i], hashes[k], FOLLOWER_HASH_BYTES);
    }
    XXH3_freeState(hash);
}

static void test_backoff(void **state)
{
    int64_t us = 0;
    (void)state;
    for (unsigned i = 0; i < 200; i++) {
        int64_t next = follower_backoff(us);
        assert_in_range(next, 50000, 5000000);
        assert_true(next <= 2 * us || us < 100000);
        us = next;
    }
    assert_true(us >= 2500000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_journal),
        cmocka_unit_test(test_journal_of_one_range),
        cmocka_unit_test(test_journal_is_bounded),
        cmocka_unit_test(test_journal_is_untrusted),
        cmocka_unit_test(test_ranges_are_untrusted),
        cmocka_unit_test(test_token_names_everything),
        cmocka_unit_test(test_hash_knows_where_bytes_are),
        cmocka_unit_test(test_backoff),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
