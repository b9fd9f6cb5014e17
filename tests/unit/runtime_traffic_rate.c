/* Unit tests of traffic_rate.c: rates as text, in metadata, and over time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "../../runtime/input.h"

static void check_rate(const char *text, int64_t per_hour, const char *written)
{
    int64_t read = 0, loaded = 0;
    char again[PIPE_RATE_TEXT];
    if (pipe_rate_read(text, &read) != (per_hour > 0) || (per_hour > 0 && read != per_hour))
        fail_msg("%s: %lld an hour", text, (long long)read);
    if (per_hour == 0)
        return;
    pipe_rate_text(read, again);
    assert_string_equal(again, written);
    assert_true(pipe_rate_load(pipe_rate_store(read), &loaded));
    assert_int_equal(loaded, read);
}

static void test_rates(void **state)
{
    (void)state;
    check_rate("5000", 5000 * 3600, "5000/s");
    check_rate("5_000/s", 5000 * 3600, "5000/s");
    check_rate("0.5/s", 1800, "1800/h");
    check_rate("1.5/m", 90, "90/h");
    check_rate("1.5/min", 90, "90/h");
    check_rate("60/min", 3600, "1/s");
    check_rate("1/h", 1, "1/h");
    check_rate("3600/h", 3600, "1/s");
    check_rate("1000000000/s", PIPE_RATE_MOST, "1000000000/s");
    check_rate("1000.000000/s", 3600000, "1000/s");
    static const char *const bad[] = {"",       "/s",       "0/s",  "0.5/h",   "1000000001/s",
                                      "-1/s",   "1/d",      "1 /s", "1.2.3/s", ".5/s",
                                      "1/hour", "s",        "1e3",  "0.001",   "0/h",
                                      "1/h ",   "0.0001/s", "+1/s", "1/s/s"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        check_rate(bad[i], 0, NULL);
    /* An hour of one event each; a second as it always was. */
    assert_int_equal(pipe_rate_due_ms(1, 3), 3 * 3600000);
    assert_int_equal(pipe_rate_due_ms(3600 * 7, 10), 10 * 1000 / 7);
    assert_int_equal(pipe_rate_due_ms(PIPE_RATE_MOST, 2999999), 2);
    assert_int_equal(pipe_rate_events(90, 7200), 180);
    assert_int_equal(pipe_rate_events(1, 3599), 0);
    assert_int_equal(pipe_rate_events(PIPE_RATE_MOST, 1000000000), 1000000000000000000);
    int64_t loaded;
    assert_false(pipe_rate_load(0, &loaded));
    assert_false(pipe_rate_load(1000000001, &loaded));
    assert_false(pipe_rate_load(-PIPE_RATE_MOST - 1, &loaded));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rates)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
