/* Tests of ledger.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "ledger.h"

static const struct pipe_type string_type = {.kind = PIPE_STRING};
static const struct pipe_column columns[] = {
    {"country", &string_type, 0, PIPE_NOT_NULL, false, false, NULL}};
static const struct pipe_row_type row = {"click", columns, 1, sizeof(struct pipe_str)};
static const struct pipe_source_def sources[] = {
    {.name = "clicks", .is_kafka = true, .row = &row, .ahead = 300000000}};
static const uint32_t path[] = {0};
static const struct pipe_traffic_fault faults[] = {
    {.kind = PIPE_FAULT_DUPLICATE},
    {.kind = PIPE_FAULT_LATE},
    {.kind = PIPE_FAULT_AHEAD},
    {.kind = PIPE_FAULT_VALUE, .path = path, .path_count = 1, .value_json = "\"DEU\""},
    {.kind = PIPE_FAULT_POISON},
};
enum { DUPLICATE, LATE, AHEAD, VALUE, POISON };
static const struct pipe_traffic_def traffics[] = {
    {.name = "shoppers", .faults = faults, .fault_count = 5}};
static const struct pipe_plan plan = {.name = "clickstream",
                                      .hash = "0123456789abcdef",
                                      .sources = sources,
                                      .source_count = 1,
                                      .traffics = traffics,
                                      .traffic_count = 1};
static const struct pipe_ledger_head head = {
    .partitions = 6,
    .options = {.count = 20000, .rate_per_hour = 1800000, .seed = 3, .start_ms = 1767225600000},
    .position = 20391};

static const char *text_of(struct pipe_buf *line)
{
    pipe_buf_add_byte(line, 0);
    return (const char *)line->data;
}

static void head_is_a_line(void **state)
{
    struct pipe_buf line = {0};
    (void)state;
    pipe_ledger_put_head(&line, &plan, &head);
    assert_string_equal(text_of(&line),
                        "{\"ledger\":1,\"pipeline\":\"clickstream\",\"plan\":\"0123456789abcdef\","
                        "\"traffic\":\"shoppers\",\"source\":\"clicks\",\"partitions\":6,"
                        "\"seed\":3,\"start\":\"2026-01-01T00:00:00.000Z\",\"rate\":500,"
                        "\"count\":20000,\"position\":20391               }\n");
    pipe_buf_free(&line);
}

/* It is written before its position is known. */
static void heads_are_equally_long(void **state)
{
    struct pipe_ledger_head other = head;
    struct pipe_buf line = {0}, longer = {0};
    (void)state;
    pipe_ledger_put_head(&line, &plan, &head);
    other.position = UINT64_MAX;
    pipe_ledger_put_head(&longer, &plan, &other);
    assert_int_equal(line.size, longer.size);
    pipe_buf_free(&line);
    pipe_buf_free(&longer);
}

static void head_is_read_back(void **state)
{
    const int64_t counts[] = {20000, -1, 0};
    char error[512];
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct pipe_ledger_head other = head, again;
        struct pipe_buf line = {0};
        other.options.count = counts[i];
        other.options.rate_per_hour = i == 1 ? 90 : 1800000;
        pipe_ledger_put_head(&line, &plan, &other);
        assert_true(pipe_ledger_read_head(&plan, pipe_str_of(line.data, line.size), &again, error,
                                          sizeof error));
        assert_int_equal(again.options.count, counts[i]);
        assert_int_equal(again.options.seed, 3);
        assert_int_equal(again.options.rate_per_hour, other.options.rate_per_hour);
        assert_int_equal(again.options.start_ms, head.options.start_ms);
        assert_int_equal(again.position, 20391);
        assert_int_equal(again.partitions, 6);
        assert_int_equal(again.traffic, 0);
        pipe_buf_free(&line);
    }
}

static void raised_counts(void **state)
{
    struct pipe_ledger_head raised = head, again;
    struct pipe_buf line = {0};
    char error[512];
    (void)state;
    raised.options.stops[0] = 5;
    raised.options.stops[1] = 700;
    raised.options.stop_count = 2;
    pipe_ledger_put_head(&line, &plan, &raised);
    assert_true(pipe_ledger_read_head(&plan, pipe_str_of(line.data, line.size), &again, error,
                                      sizeof error));
    assert_int_equal(again.options.stop_count, 2);
    assert_int_equal(again.options.stops[0], 5);
    assert_int_equal(again.options.stops[1], 700);
    assert_non_null(strstr(text_of(&line), "\"count\":20000,\"stops\":[5,700],\"position\":"));
    pipe_buf_free(&line);
}

static void bad_heads_are_refused(void **state)
{
    static const struct {
        const char *line, *wanted;
    } cases[] = {
        {"", "not JSON"},
        {"{\"ledger\":1", "not JSON"},
        {"[]", "not the head"},
        {"{}", "not the head"},
        {"{\"ledger\":2,\"plan\":\"0123456789abcdef\"}", "version 1"},
        {"{\"ledger\":1,\"plan\":\"ff\"}", "plan ff"},
        {"{\"ledger\":1,\"plan\":\"0123456789abcdef\",\"traffic\":\"x\"}", "a traffic"},
        {"{\"ledger\":1,\"plan\":\"0123456789abcdef\",\"traffic\":\"shoppers\"}", "lacks"},
        {"{\"ledger\":1,\"plan\":\"0123456789abcdef\",\"traffic\":\"shoppers\",\"partitions\":0,"
         "\"seed\":3,\"start\":\"2026-01-01T00:00:00Z\",\"rate\":5,\"count\":1,\"position\":0}",
         "lacks"},
        {"{\"ledger\":1,\"plan\":\"0123456789abcdef\",\"traffic\":\"shoppers\",\"partitions\":6,"
         "\"seed\":3,\"start\":\"noon\",\"rate\":5,\"count\":1,\"position\":0}",
         "lacks"},
        {"{\"ledger\":1,\"plan\":\"0123456789abcdef\",\"traffic\":\"shoppers\",\"partitions\":6,"
         "\"seed\":3,\"start\":\"2026-01-01T00:00:00Z\",\"rate\":0,\"count\":1,\"position\":0}",
         "lacks"},
        {"{\"ledger\":1,\"plan\":\"0123456789abcdef\",\"traffic\":\"shoppers\",\"partitions\":6,"
         "\"seed\":3,\"start\":\"2026-01-01T00:00:00Z\",\"rate\":5,\"count\":1,\"position\":-1}",
         "lacks"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pipe_ledger_head out;
        char error[512] = "";
        struct pipe_str line = pipe_str_of(cases[i].line, strlen(cases[i].line));
        assert_false(pipe_ledger_read_head(&plan, line, &out, error, sizeof error));
        assert_non_null(strstr(error, cases[i].wanted));
    }
}

static struct pipe_feed_record record_of(int32_t fault, int32_t duplicate)
{
    return (struct pipe_feed_record){.partition = 2,
                                     .kafka_time_ms = 1767225660000,
                                     .event = 7,
                                     .fault = fault,
                                     .duplicate = duplicate,
                                     .event_time_ms = 1767225600000,
                                     .poison = fault == POISON ? "cut" : NULL};
}

static void records_are_lines(void **state)
{
    static const struct {
        int32_t fault, duplicate;
        const char *ends;
    } cases[] = {
        {-1, -1, "\"duplicate\":false,\"fault\":null}\n"},
        {-1, DUPLICATE, "\"duplicate\":true,\"fault\":null}\n"},
        {LATE, -1, "\"duplicate\":false,\"fault\":{\"kind\":\"late\",\"by_ms\":60000}}\n"},
        {LATE, DUPLICATE, "\"duplicate\":true,\"fault\":{\"kind\":\"late\"}}\n"},
        {AHEAD, -1, "\"duplicate\":false,\"fault\":{\"kind\":\"ahead\",\"by_ms\":-60000}}\n"},
        {VALUE, -1, "\"fault\":{\"kind\":\"value\",\"column\":\"country\",\"value\":\"DEU\"}}\n"},
        {POISON, -1, "\"fault\":{\"kind\":\"poison\",\"how\":\"cut\"}}\n"},
    };
    static const char begins[] =
        "{\"record\":9,\"event\":7,\"partition\":2,\"sent\":\"2026-01-01T00:01:00.000Z\","
        "\"event_time\":\"2026-01-01T00:00:00.000Z\",";
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pipe_feed_record record = record_of(cases[i].fault, cases[i].duplicate);
        struct pipe_buf line = {0};
        pipe_ledger_put_record(&line, traffics, sources, 9, &record);
        const char *text = text_of(&line);
        assert_memory_equal(text, begins, sizeof begins - 1);
        assert_string_equal(text + strlen(text) - strlen(cases[i].ends), cases[i].ends);
        pipe_buf_free(&line);
    }
}

static void a_record_without_event_time(void **state)
{
    struct pipe_feed_record record = record_of(LATE, -1);
    struct pipe_buf line = {0};
    (void)state;
    record.event_time_ms = PIPE_TIME_MIN;
    pipe_ledger_put_record(&line, traffics, sources, 0, &record);
    const char *text = text_of(&line);
    assert_non_null(strstr(text, "\"event_time\":null,"));
    assert_non_null(strstr(text, "{\"kind\":\"late\"}"));
    pipe_buf_free(&line);
}

static void sums(void **state)
{
    struct pipe_ledger_totals totals = {0};
    (void)state;
    for (int32_t fault = -1; fault <= POISON; fault++) {
        for (int32_t duplicate = -1; duplicate <= 0 && fault != DUPLICATE; duplicate++) {
            struct pipe_feed_record record = record_of(fault, duplicate);
            if (fault == AHEAD)
                record.event_time_ms = record.kafka_time_ms + 300001;
            pipe_ledger_count(&totals, traffics, sources, &record);
        }
    }
    assert_int_equal(totals.records, 10);
    assert_int_equal(totals.events, 5);
    assert_int_equal(totals.duplicates, 5);
    assert_int_equal(totals.poison, 2);
    assert_int_equal(totals.value, 2);
    assert_int_equal(totals.value_events, 1);
    assert_int_equal(totals.ahead, 2);
    assert_int_equal(totals.sound, 2); /* the plain and the late one */
}

/* A time as far ahead as the source takes is sound. */
static void ahead_at_the_bound(void **state)
{
    struct pipe_ledger_totals totals = {0};
    struct pipe_feed_record record = record_of(AHEAD, -1);
    (void)state;
    record.event_time_ms = record.kafka_time_ms + 300000;
    pipe_ledger_count(&totals, traffics, sources, &record);
    assert_int_equal(totals.ahead, 0);
    assert_int_equal(totals.sound, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(head_is_a_line),
        cmocka_unit_test(heads_are_equally_long),
        cmocka_unit_test(head_is_read_back),
        cmocka_unit_test(raised_counts),
        cmocka_unit_test(bad_heads_are_refused),
        cmocka_unit_test(records_are_lines),
        cmocka_unit_test(a_record_without_event_time),
        cmocka_unit_test(sums),
        cmocka_unit_test(ahead_at_the_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
