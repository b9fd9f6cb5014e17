/* Followers: the journal of a position, and the names of ranges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../runtime/follower_internal.h"

static struct follower_journal sample(void)
{
    struct follower_journal journal = {
        .mark = 10, .confirmed = 9, .pending = true, .first = 12, .last = 300, .rows = 7};
    memset(journal.incarnation, 1, sizeof journal.incarnation);
    memset(journal.hash, 2, sizeof journal.hash);
    memset(journal.token, 3, sizeof journal.token);
    return journal;
}

static bool read_back(const struct follower_journal *journal, struct follower_journal *out)
{
    struct pipe_buf value = {0};
    follower_journal_write(&value, journal);
    bool ok = follower_journal_read(pipe_str_of(value.data, value.size), out);
    pipe_buf_free(&value);
    return ok;
}

static void test_journal(void **state)
{
    struct follower_journal journal = sample(), back;
    (void)state;
    assert_true(read_back(&journal, &back));
    assert_int_equal(back.mark, 10);
    assert_int_equal(back.confirmed, 9);
    assert_int_equal(back.first, 12);
    assert_int_equal(back.last, 300);
    assert_int_equal(back.rows, 7);
    assert_memory_equal(back.incarnation, journal.incarnation, sizeof back.incarnation);
    assert_memory_equal(back.hash, journal.hash, sizeof back.hash);
    assert_memory_equal(back.token, journal.token, sizeof back.token);
    journal.pending = false;
    assert_true(read_back(&journal, &back));
    assert_false(back.pending);
}

static void test_journal_is_untrusted(void **state)
{
    struct follower_journal journal = sample(), back;
    struct pipe_buf value = {0};
    (void)state;
    follower_journal_write(&value, &journal);
    for (size_t size = 0; size < value.size; size++)
        assert_false(follower_journal_read(pipe_str_of(value.data, size), &back));
    pipe_buf_add_byte(&value, 0);
    assert_false(follower_journal_read(pipe_str_of(value.data, value.size), &back));
    pipe_buf_free(&value);
    journal.first = 9; /* below the mark */
    assert_false(read_back(&journal, &back));
    journal = sample();
    journal.last = 11;
    assert_false(read_back(&journal, &back));
    journal = sample();
    journal.rows = 290; /* more than offsets */
    assert_false(read_back(&journal, &back));
    journal.rows = 0;
    assert_false(read_back(&journal, &back));
    journal = sample();
    journal.last = INT64_MAX - 1;
    journal.rows = FOLLOWER_ROWS_MAX + 1;
    assert_false(read_back(&journal, &back));
    journal = sample();
    journal.mark = -1;
    assert_false(read_back(&journal, &back));
}

static void test_token_names_everything(void **state)
{
    const struct follower_place place = {"log", "sink", "topic", 3};
    struct follower_place places[] = {
        {"other", "sink", "topic", 3}, {"log", "other", "topic", 3}, {"log", "sink", "other", 3},
        {"log", "sink", "topic", 4},   {"logs", "ink", "topic", 3},
    };
    struct follower_journal journal = sample(), other;
    (void)state;
    follower_make_token(&place, &journal);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        other = sample();
        follower_make_token(&places[i], &other);
        assert_memory_not_equal(other.token, journal.token, sizeof other.token);
    }
    for (unsigned i = 0; i < 5; i++) {
        other = sample();
        other.first += i == 0;
        other.last += i == 1;
        other.rows += i == 2;
        other.hash[15] ^= i == 3;
        other.incarnation[0] ^= i == 4;
        follower_make_token(&place, &other);
        assert_memory_not_equal(other.token, journal.token, sizeof other.token);
    }
    other = sample();
    follower_make_token(&place, &other);
    assert_memory_equal(other.token, journal.token, sizeof other.token);
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
        cmocka_unit_test(test_journal_is_untrusted),
        cmocka_unit_test(test_token_names_everything),
        cmocka_unit_test(test_hash_knows_where_bytes_are),
        cmocka_unit_test(test_backoff),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
