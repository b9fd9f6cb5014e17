/* Unit tests of traffic_definition.c, and of how a position keeps it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../../runtime/engine.h"

static const uint32_t path[] = {3}, keys[] = {0};
static const char *const picks[] = {"\"a\"", "\"b\""};
static const int64_t weights[] = {3, 1, 1};
static const struct pipe_traffic_target targets[] = {{1, 2}, {-1, 1}};
static const struct pipe_source_def source = {.name = "clicks"};

/* A statement with a part of every kind, each of which a test may change. */
struct statement {
    struct pipe_traffic_step steps[2];
    struct pipe_traffic_field fields[2];
    struct pipe_traffic_fault faults[2];
    struct pipe_traffic_def def;
    struct pipe_plan plan;
};

static void make(struct statement *to)
{
    *to = (struct statement){
        .steps = {{"\"view\"", targets, 2}, {"\"buy\"", NULL, 0}},
        .fields = {{.path = path, .path_count = 1, .kind = PIPE_GEN_UNIFORM, .low = 1, .high = 9},
                   {.path = path,
                    .path_count = 1,
                    .kind = PIPE_GEN_PICK,
                    .picks = picks,
                    .weights = weights,
                    .pick_count = 2}},
        .faults = {{.kind = PIPE_FAULT_LATE, .ppm = 100, .low_ms = 1, .high_ms = 2},
                   {.kind = PIPE_FAULT_VALUE, .path = path, .path_count = 1, .value_json = "7"}}};
    to->def = (struct pipe_traffic_def){.name = "visitors",
                                        .has_sessions = true,
                                        .session_high_ms = 1000,
                                        .steps = to->steps,
                                        .step_count = 2,
                                        .fields = to->fields,
                                        .field_count = 2,
                                        .faults = to->faults,
                                        .fault_count = 2,
                                        .key_columns = keys,
                                        .key_count = 1};
    to->plan = (struct pipe_plan){
        .sources = &source, .source_count = 1, .traffics = &to->def, .traffic_count = 1};
}

/* Whatever is changed is another statement; where it stands in memory does not count. */
static void test_every_part_counts(void **state)
{
    (void)state;
    struct statement first, other;
    make(&first);
    make(&other);
    struct pipe_feeder_options options = {.definition = pipe_feeder_definition(&first.plan, 0)};
    assert_true(pipe_feeder_is_same(&other.plan, 0, &options));
#define DIFFERS(change)                                                                            \
    do {                                                                                           \
        make(&other);                                                                              \
        change;                                                                                    \
        assert_false(pipe_feeder_is_same(&other.plan, 0, &options));                               \
    } while (0)
    DIFFERS(other.faults[0].ppm++);
    DIFFERS(other.faults[0].high_ms++);
    DIFFERS(other.faults[1].value_json = "8");
    DIFFERS(other.def.fault_count--);
    DIFFERS(other.fields[0].high++);
    DIFFERS(other.fields[0].null_ppm++);
    DIFFERS(other.fields[1].per_session = true);
    DIFFERS(other.fields[1].weights = weights + 1);
    DIFFERS(other.def.field_count--);
    DIFFERS(other.steps[0].target_count--);
    DIFFERS(other.steps[1].value = "\"leave\"");
    DIFFERS(other.def.session_high_ms++);
#undef DIFFERS
}

/* With a position goes which statement it is of; what older programs wrote has none, and goes on.
 */
static void test_position(void **state)
{
    (void)state;
    struct pipe_feeder_options options = {.stops = {7}, .stop_count = 1}, read = {0};
    struct statement one;
    struct pipe_buf bytes = {0};
    struct pipe_reader reader;
    make(&one);
    options.definition = pipe_feeder_definition(&one.plan, 0);
    pipe_feeder_put_stops(&bytes, &options);
    pipe_reader_init(&reader, (const char *)bytes.data, bytes.size, NULL);
    assert_true(pipe_feeder_get_stops(&reader, &read));
    assert_true(read.stop_count == 1 && read.stops[0] == 7);
    assert_true(read.definition == options.definition);
    for (size_t old = 0; old <= 2; old += 2) { /* nothing; the stops alone */
        pipe_reader_init(&reader, (const char *)bytes.data, old, NULL);
        assert_true(pipe_feeder_get_stops(&reader, &read));
        assert_true(read.stop_count == old / 2 && read.definition == 0);
        assert_true(pipe_feeder_is_same(&one.plan, 0, &read));
    }
    pipe_buf_free(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_part_counts),
                                       cmocka_unit_test(test_position)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
