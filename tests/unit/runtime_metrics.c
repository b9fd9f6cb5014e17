/* Text format, histograms, ages, health: metrics.h without an engine. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include "metrics_internal.h"

#include <cmocka.h>

static void expect_text(struct pipe_buf *buf, const char *wanted)
{
    pipe_buf_add_byte(buf, 0);
    assert_string_equal((const char *)buf->data, wanted);
    pipe_buf_free(buf);
}

static void writes_samples(void **state)
{
    struct pipe_buf buf = {0};
    struct metrics_text text = {.to = &buf, .pipeline = "p"};
    (void)state;
    metrics_family(&text, METRIC_READY);
    metrics_u64(&text, UINT64_MAX, NULL);
    metrics_double(&text, INFINITY, "a", "1", "b", "2", NULL);
    metrics_double(&text, -INFINITY, NULL);
    metrics_double(&text, NAN, NULL);
    text.pipeline = NULL;
    metrics_double(&text, 1798761600.123, NULL);
    expect_text(&buf, "# HELP pipec_ready 1 if /readyz answers 200, else 0.\n"
                      "# TYPE pipec_ready gauge\n"
                      "pipec_ready{pipeline=\"p\"} 18446744073709551615\n"
                      "pipec_ready{pipeline=\"p\",a=\"1\",b=\"2\"} +Inf\n"
                      "pipec_ready{pipeline=\"p\"} -Inf\n"
                      "pipec_ready{pipeline=\"p\"} NaN\n"
                      "pipec_ready 1798761600.123\n");
}

static void escapes_labels(void **state)
{
    struct pipe_buf buf = {0};
    struct metrics_text text = {.to = &buf, .name = "m"};
    (void)state;
    metrics_u64(&text, 1, "reason", "a\"b\\c\nd é", NULL);
    expect_text(&buf, "m{reason=\"a\\\"b\\\\c\\nd é\"} 1\n");
}

static void writes_histograms(void **state)
{
    static const struct metrics_bounds bounds = {2, {0.005, 1}};
    struct metrics_histogram histogram = {0};
    struct pipe_buf buf = {0};
    struct metrics_text text = {.to = &buf, .name = "m"};
    (void)state;
    metrics_observe(&histogram, &bounds, 0.005, 2); /* a bound belongs to its bucket */
    metrics_observe(&histogram, &bounds, 0.5, 3);
    metrics_observe(&histogram, &bounds, 2, 4);
    metrics_histogram_text(&text, &histogram, &bounds, "source", "s");
    metrics_histogram_text(&text, &histogram, &bounds, NULL, NULL);
    expect_text(&buf, "m_bucket{source=\"s\",le=\"0.005\"} 2\n"
                      "m_bucket{source=\"s\",le=\"1\"} 5\n"
                      "m_bucket{source=\"s\",le=\"+Inf\"} 9\n"
                      "m_sum{source=\"s\"} 9.51\n"
                      "m_count{source=\"s\"} 9\n"
                      "m_bucket{le=\"0.005\"} 2\n"
                      "m_bucket{le=\"1\"} 5\n"
                      "m_bucket{le=\"+Inf\"} 9\n"
                      "m_sum 9.51\n"
                      "m_count 9\n");
}

static void bounds_grow(void **state)
{
    const struct metrics_bounds *const all[] = {&metrics_commit_bounds, &metrics_latency_bounds};
    (void)state;
    for (size_t b = 0; b < 2; b++) {
        assert_true(all[b]->count <= METRICS_BOUNDS_MAX);
        for (uint32_t i = 1; i < all[b]->count; i++)
            assert_true(all[b]->seconds[i] > all[b]->seconds[i - 1]);
    }
}

/* One record at every distance from 1 ms to centuries, before and after the moment. */
static void ages_are_right_to_a_part(void **state)
{
    static const struct metrics_bounds none = {0, {0}};
    struct metrics_ages *ages = calloc(1, sizeof *ages);
    const int64_t now = INT64_C(1800000000000);
    (void)state;
    for (int64_t distance = 1; distance < INT64_C(1) << 40; distance = distance * 9 / 8 + 1) {
        for (int sign = -1; sign <= 1; sign += 2) {
            struct metrics_histogram histogram = {0};
            int64_t commit = now + distance, age = commit - (now - sign * distance);
            metrics_ages_add(ages, now, now - sign * distance, 3);
            metrics_ages_fold(ages, commit, 0, &none, &histogram);
            double told = histogram.sum_seconds * 1000 / 3;
            assert_int_equal(histogram.counts[0], 3);
            assert_true(told >= (double)age - 0.001);
            assert_true(told <= (double)age + (double)distance / 32 + 0.001);
        }
    }
    free(ages);
}

static void ages_count_fresh_rows(void **state)
{
    struct metrics_ages *ages = calloc(1, sizeof *ages);
    (void)state;
    metrics_ages_add(ages, 10000, 9990, 5);           /* 20 ms at the commit */
    metrics_ages_add(ages, 10005, 10005, 7);          /* 5 ms */
    metrics_ages_add(ages, 10005, 10050, 1);          /* after the commit: 0 */
    metrics_ages_add(ages, 10005, PIPE_TIME_MIN, 11); /* no time */
    metrics_ages_add(ages, 10005, INT64_MAX, 1);
    metrics_ages_add(ages, 10005, -INT64_MAX, 1);
    assert_int_equal(metrics_ages_fold(ages, 10010, 5, NULL, NULL), 7 + 1 + 11 + 1);
    assert_int_equal(metrics_ages_fold(ages, 10010, 5, NULL, NULL), 0); /* they are taken out */
    metrics_ages_add(ages, 10000, 9990, 5);
    metrics_ages_clear(ages);
    assert_int_equal(metrics_ages_fold(ages, 10010, 1000, NULL, NULL), 0);
    free(ages);
}

static void health_tells_what_is_stuck(void **state)
{
    struct pipe_metrics metrics = {0};
    (void)state;
    atomic_init(&metrics.turned_us, 1000000);
    atomic_init(&metrics.phase, METRICS_COMMITTING);
    atomic_init(&metrics.readiness, READINESS_READY);
    assert_int_equal(metrics_health(&metrics, 61000000).status, 200);
    assert_int_equal(metrics_ready(&metrics, 61000000).status, 200);
    struct metrics_health stuck = metrics_health(&metrics, 62000001);
    assert_int_equal(stuck.status, 503);
    assert_string_equal(stuck.text, "stuck: the loop has not turned for 61 s; it was committing\n");
    assert_int_equal(metrics_ready(&metrics, 62000001).status, 503);
    atomic_store(&metrics.phase, METRICS_RECOVERING); /* that may take long */
    assert_int_equal(metrics_health(&metrics, 62000001).status, 200);
    assert_int_equal(metrics_health(&metrics, 602000001).status, 503);
    for (int r = READINESS_OPENING; r < READINESS_READY; r++) {
        atomic_store(&metrics.readiness, r);
        struct metrics_health ready = metrics_ready(&metrics, 1000000);
        assert_int_equal(ready.status, 503);
        assert_int_equal(strncmp(ready.text, "not ready: ", 11), 0);
    }
}

static void takes_addresses(void **state)
{
    static const char *const good[] = {"127.0.0.1:9464", "0.0.0.0:0", "[::1]:65535", "none"};
    static const char *const bad[] = {
        "",           "9464",          ":9464",  "localhost:9464", "127.0.0.1",
        "127.0.0.1:", "1.2.3.4:65536", "::1:80", "127.0.0.1:-1",   "[127.0.0.1]:80",
        "[::1:80",    "127.0.0.1:80x", "[]:80"};
    struct pipe_run_options options = {0};
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_null(metrics_take_listen(&options, good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_non_null(metrics_take_listen(&options, bad[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_samples),
        cmocka_unit_test(escapes_labels),
        cmocka_unit_test(writes_histograms),
        cmocka_unit_test(bounds_grow),
        cmocka_unit_test(ages_are_right_to_a_part),
        cmocka_unit_test(ages_count_fresh_rows),
        cmocka_unit_test(health_tells_what_is_stuck),
        cmocka_unit_test(takes_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
