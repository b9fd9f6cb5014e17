/* Unit tests of traffic.c, traffic_row.c and traffic_cli.c, with a plan written by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

#include "../../runtime/engine.h"
#include "runtime_files.h"

/* ---- The plan ---- */

struct address {
    struct pipe_str city, zip;
    bool zip_null;
};
struct event {
    struct pipe_str event_id, session_id, event_type, category, country, url, currency, referrer,
        coupon;
    int32_t price_cents;
    int64_t number, occurred_at;
    double weight;
    struct address address;
    pipe_decimal tax;
    bool referrer_null, coupon_null, address_null;
};

static const struct pipe_type t_string = {.kind = PIPE_STRING}, t_int32 = {.kind = PIPE_INT32},
                              t_int64 = {.kind = PIPE_INT64}, t_float64 = {.kind = PIPE_FLOAT64},
                              t_time = {.kind = PIPE_TIMESTAMP_MS},
                              t_tax = {.kind = PIPE_DECIMAL, .precision = 10, .scale = 2};
#define PLAIN(type, member, t)                                                                     \
    {                                                                                              \
#member, t, offsetof(struct type, member), PIPE_NOT_NULL, false, false, NULL               \
    }
#define MAYBE(type, member, t)                                                                     \
    {                                                                                              \
#member, t, offsetof(struct type, member), offsetof(struct type, member##_null), true,     \
            false, NULL                                                                            \
    }
static const struct pipe_column address_columns[] = {PLAIN(address, city, &t_string),
                                                     MAYBE(address, zip, &t_string)};
static const struct pipe_row_type address_type = {"Address", address_columns, 2,
                                                  sizeof(struct address)};
static const struct pipe_type t_address = {.kind = PIPE_RECORD, .record = &address_type};
static const struct pipe_column event_columns[] = {
    PLAIN(event, event_id, &t_string),
    PLAIN(event, session_id, &t_string),
    PLAIN(event, event_type, &t_string),
    PLAIN(event, category, &t_string),
    PLAIN(event, country, &t_string),
    PLAIN(event, url, &t_string),
    {"currency", &t_string, offsetof(struct event, currency), PIPE_NOT_NULL, false, true,
     "\"EUR\""},
    MAYBE(event, referrer, &t_string),
    MAYBE(event, coupon, &t_string),
    PLAIN(event, price_cents, &t_int32),
    PLAIN(event, number, &t_int64),
    PLAIN(event, occurred_at, &t_time),
    PLAIN(event, weight, &t_float64),
    MAYBE(event, address, &t_address),
    PLAIN(event, tax, &t_tax),
};
static const struct pipe_row_type event_type = {"Event", event_columns, 15, sizeof(struct event)};
/* Without the nested column: for CSV. */
static const struct pipe_row_type flat_type = {"Flat", event_columns, 13, sizeof(struct event)};
static const struct pipe_column line_columns[] = {PLAIN(event, event_id, &t_string)};
static const struct pipe_row_type line_type = {"Line", line_columns, 1, sizeof(struct event)};

static bool decode_event(struct pipe_reader *reader, void *row)
{
    return pipe_row_from_avro(&event_type, reader, row);
}

static const char schema_json[] =
    "{\"type\":\"record\",\"name\":\"Event\",\"fields\":["
    "{\"name\":\"event_id\",\"type\":\"string\"},"
    "{\"name\":\"session_id\",\"type\":\"string\"},"
    "{\"name\":\"event_type\",\"type\":\"string\"},"
    "{\"name\":\"category\",\"type\":\"string\"},"
    "{\"name\":\"country\",\"type\":\"string\"},"
    "{\"name\":\"url\",\"type\":\"string\"},"
    "{\"name\":\"currency\",\"type\":\"string\",\"default\":\"EUR\"},"
    "{\"name\":\"referrer\",\"type\":[\"null\",\"string\"]},"
    "{\"name\":\"coupon\",\"type\":[\"null\",\"string\"]},"
    "{\"name\":\"price_cents\",\"type\":\"int\"},"
    "{\"name\":\"number\",\"type\":\"long\"},"
    "{\"name\":\"occurred_at\",\"type\":{\"type\":\"long\",\"logicalType\":\"timestamp-millis\"}},"
    "{\"name\":\"weight\",\"type\":\"double\"},"
    "{\"name\":\"address\",\"type\":[\"null\",{\"type\":\"record\",\"name\":\"Address\",\"fields\":"
    "["
    "{\"name\":\"city\",\"type\":\"string\"},{\"name\":\"zip\",\"type\":[\"null\",\"string\"]}]}]},"
    "{\"name\":\"tax\",\"type\":{\"type\":\"bytes\",\"logicalType\":\"decimal\","
    "\"precision\":10,\"scale\":2}}]}";

static const struct pipe_contract_version version = {"v1", 0x1122334455667788u, schema_json,
                                                     decode_event};
static const struct pipe_contract contract = {"event", &event_type, &version, 1};

#define PATH1(column) .path = (const uint32_t[]){column}, .path_count = 1
static const char *const categories[] = {"\"lamps\"", "\"rugs\"", "\"chairs\""};
static const int64_t category_weights[] = {60, 30, 10};
static const char *const countries[] = {"\"DE\"", "\"FR\""};
static const int64_t country_weights[] = {1, 1};
static const struct pipe_traffic_field event_fields[] = {
    {PATH1(0), .kind = PIPE_GEN_UNIQUE},
    {PATH1(1), .kind = PIPE_GEN_SESSION},
    {PATH1(3), .kind = PIPE_GEN_PICK, .picks = categories, .weights = category_weights,
     .pick_count = 3},
    {PATH1(4), .kind = PIPE_GEN_PICK, .picks = countries, .weights = country_weights,
     .pick_count = 2, .per_session = true},
    {PATH1(5), .kind = PIPE_GEN_TEXT, .low = 10, .high = 30},
    {PATH1(8), .kind = PIPE_GEN_TEXT, .low = 0, .high = 4, .null_ppm = 250000},
    {PATH1(9), .kind = PIPE_GEN_UNIFORM, .low = 500, .high = 90000},
    {PATH1(10), .kind = PIPE_GEN_UNIQUE},
    {PATH1(12), .kind = PIPE_GEN_UNIFORM, .low = -50, .high = 50, .scale = 1},
    {.path = (const uint32_t[]){13, 0},
     .path_count = 2,
     .kind = PIPE_GEN_PICK,
     .picks = countries,
     .weights = country_weights,
     .pick_count = 2},
    {PATH1(14), .kind = PIPE_GEN_UNIFORM, .low = 100, .high = 199},
};

enum { VIEW, PRODUCT, CART, BUY };
static const struct pipe_traffic_target after_view[] = {{PRODUCT, 60}, {VIEW, 30}, {-1, 10}};
static const struct pipe_traffic_target after_product[] = {{CART, 50}, {PRODUCT, 20}, {-1, 30}};
static const struct pipe_traffic_target after_cart[] = {{BUY, 100}};
static const struct pipe_traffic_step event_steps[] = {{"view", after_view, 3},
                                                       {"product", after_product, 3},
                                                       {"cart", after_cart, 1},
                                                       {"buy", NULL, 0}};

enum { DUPLICATE, DISORDER, LATE, AHEAD, VALUE, POISON, FAULTS };
static const struct pipe_traffic_fault event_faults[] = {
    {.kind = PIPE_FAULT_DUPLICATE, .ppm = 20000, .high_ms = 30000},
    {.kind = PIPE_FAULT_OUT_OF_ORDER, .ppm = 50000, .high_ms = 4000},
    {.kind = PIPE_FAULT_LATE, .ppm = 10000, .low_ms = 60000, .high_ms = 600000},
    {.kind = PIPE_FAULT_AHEAD, .ppm = 10000, .low_ms = 3600000, .high_ms = 7200000},
    {.kind = PIPE_FAULT_VALUE, .ppm = 5000, PATH1(4), .value_json = "\"DEU\""},
    {.kind = PIPE_FAULT_POISON, .ppm = 10000},
};

static const uint32_t key_columns[] = {1};
#define TRAFFIC(source_index, faults_or_not, count_of_faults)                                      \
    {                                                                                              \
        .name = "shoppers", .source = source_index, .has_sessions = true, .session_low_ms = 30000, \
        .session_high_ms = 120000, .pause_low_ms = 1000, .pause_high_ms = 20000,                   \
        .steps_column = 2, .steps = event_steps, .step_count = 4, .fields = event_fields,          \
        .field_count = 11, .faults = faults_or_not, .fault_count = count_of_faults,                \
        .event_time_column = 11, .key_columns = key_columns, .key_count = 1                        \
    }
/* Of the sources below; [1] is that of [0] without faults. */
static struct pipe_traffic_def traffics[] = {
    TRAFFIC(0, event_faults, FAULTS), TRAFFIC(0, NULL, 0),
    TRAFFIC(1, event_faults, FAULTS), TRAFFIC(2, event_faults, FAULTS),
    TRAFFIC(3, event_faults, FAULTS), TRAFFIC(4, event_faults, FAULTS),
    TRAFFIC(5, event_faults, FAULTS)};
#define KAFKA(n, f)                                                                                \
    {                                                                                              \
        .name = n, .is_kafka = true, .target = n, .partitions = 4, .format = f,                    \
        .contract = &contract, .row = &event_type                                                  \
    }
static const struct pipe_source_def sources[] = {
    KAFKA("clicks", PIPE_FORMAT_AVRO),
    KAFKA("json_clicks", PIPE_FORMAT_JSON),
    {.name = "lines", .format = PIPE_FORMAT_JSONL, .contract = &contract, .row = &event_type},
    {.name = "table", .format = PIPE_FORMAT_CSV, .header = true, .row = &flat_type},
    {.name = "container", .format = PIPE_FORMAT_AVRO, .contract = &contract, .row = &event_type},
    {.name = "texts", .format = PIPE_FORMAT_TEXT, .row = &line_type},
};
static const struct pipe_plan plan = {.abi = PIPE_RUNTIME_ABI,
                                      .name = "shop",
                                      .sources = sources,
                                      .source_count = 6,
                                      .traffics = traffics,
                                      .traffic_count = 7};

static int set_up(void **state)
{
    traffics[4].field_count = 9; /* the columns of the table */
    traffics[6].field_count = 1; /* lines of text: one column, no sessions */
    traffics[6].has_sessions = false;
    traffics[6].step_count = traffics[6].key_count = 0;
    traffics[6].event_time_column = UINT32_MAX;
    static struct pipe_traffic_fault only_poison[1];
    only_poison[0] = event_faults[POISON];
    traffics[6].faults = only_poison;
    traffics[6].fault_count = 1;
    traffics[4].key_count = traffics[3].key_count = traffics[5].key_count = 0;
    return make_test_dir(state);
}

/* ---- Taking records ---- */

#define START 1767225600000
static const struct pipe_feeder_options standard = {
    .count = 20000, .rate_per_hour = 3600000, .seed = 7, .start_ms = START};

static struct pipe_feeder *open_feeder(uint32_t traffic, const struct pipe_feeder_options *options)
{
    char error[512];
    struct pipe_feeder *feeder = pipe_feeder_open(&plan, traffic, 4, options, error, sizeof error);
    if (feeder == NULL)
        fail_msg("%s", error);
    return feeder;
}

struct taken {
    struct pipe_feed_record record; /* texts are copies */
    struct event row;
    bool decodes;
    int64_t due_ms;
};
struct all {
    struct taken *items;
    size_t count;
    struct pipe_arena arena;
};

/* Of kafka sources. */
static bool decode(const struct pipe_source_def *source, struct pipe_str value,
                   struct pipe_arena *arena, struct event *row)
{
    struct pipe_reader reader;
    struct pipe_error error = {0};
    if (source->format == PIPE_FORMAT_JSON || source->format == PIPE_FORMAT_JSONL)
        return pipe_row_from_json(source->row, value, arena, row, &error);
    if (source->format == PIPE_FORMAT_TEXT)
        return pipe_utf8_check(value.data, value.size);
    size_t frame = source->is_kafka ? 10 : 0;
    if (value.size < frame ||
        (frame > 0 && memcmp(value.data, "\xC3\x01\x88\x77\x66\x55\x44\x33\x22\x11", frame) != 0))
        return false;
    pipe_reader_init(&reader, value.data + frame, value.size - frame, arena);
    return pipe_row_from_avro(&event_type, &reader, row) && pipe_reader_done(&reader);
}

static struct all take_all(uint32_t traffic, const struct pipe_feeder_options *options)
{
    struct all all = {0};
    struct pipe_feed_record record;
    struct pipe_feeder *feeder = open_feeder(traffic, options);
    size_t capacity = 0;
    pipe_arena_init(&all.arena, SIZE_MAX / 2);
    while (pipe_feeder_next(feeder, &record)) {
        if (all.count == capacity) {
            capacity = capacity * 2 + 1000;
            all.items = pipe_realloc(all.items, capacity * sizeof *all.items);
        }
        struct taken *taken = &all.items[all.count++];
        *taken = (struct taken){.record = record};
        assert_true(pipe_str_copy(&all.arena, record.key, &taken->record.key));
        assert_true(pipe_str_copy(&all.arena, record.value, &taken->record.value));
        taken->decodes = decode(&sources[traffics[traffic].source], taken->record.value, &all.arena,
                                &taken->row);
        taken->due_ms =
            options->start_ms + (int64_t)record.event * 3600000 / options->rate_per_hour;
    }
    pipe_feeder_close(feeder);
    return all;
}

static void free_all(struct all *all)
{
    pipe_arena_free(&all->arena);
    free(all->items);
}

static bool same_record(const struct pipe_feed_record *a, const struct pipe_feed_record *b)
{
    return a->partition == b->partition && a->kafka_time_ms == b->kafka_time_ms &&
           pipe_str_equal(a->key, b->key) && pipe_str_equal(a->value, b->value) &&
           a->event == b->event && a->fault == b->fault && a->duplicate == b->duplicate;
}

static bool is_text(struct pipe_str text, const char *expected)
{
    return pipe_str_equal(text, pipe_str_of(expected, strlen(expected)));
}

/* ---- Tests of the sequence ---- */

static void test_same_bytes(void **state)
{
    (void)state;
    struct all one = take_all(0, &standard), two = take_all(0, &standard);
    assert_int_equal(one.count, two.count);
    for (size_t i = 0; i < one.count; i++)
        assert_true(same_record(&one.items[i].record, &two.items[i].record));
    struct pipe_feeder_options other = standard;
    other.seed = 8;
    struct all different = take_all(0, &other);
    size_t same = 0;
    for (size_t i = 0; i < one.count && i < different.count; i++)
        same += pipe_str_equal(one.items[i].record.value, different.items[i].record.value);
    assert_true(same < 5);
    /* A longer run begins with the same events. */
    other = standard;
    other.count = -1;
    struct pipe_feeder *endless = open_feeder(0, &other);
    struct pipe_feed_record record;
    for (size_t i = 0; i < 15000; i++) {
        assert_true(pipe_feeder_next(endless, &record));
        assert_true(same_record(&record, &one.items[i].record));
    }
    pipe_feeder_close(endless);
    free_all(&one);
    free_all(&two);
    free_all(&different);
}

static void test_skip(void **state)
{
    (void)state;
    static const uint64_t places[] = {0, 1, 2, 999, 7777, 20000};
    struct all all = take_all(0, &standard);
    struct pipe_feed_record record;
    for (size_t p = 0; p < sizeof places / sizeof places[0]; p++) {
        struct pipe_feeder *feeder = open_feeder(0, &standard);
        pipe_feeder_skip(feeder, places[p] / 2);
        pipe_feeder_skip(feeder, places[p] - places[p] / 2);
        size_t at = places[p];
        for (; pipe_feeder_next(feeder, &record); at++)
            assert_true(same_record(&record, &all.items[at].record));
        assert_int_equal(at, all.count);
        pipe_feeder_close(feeder);
    }
    struct pipe_feeder *feeder = open_feeder(0, &standard);
    pipe_feeder_skip(feeder, 1000000); /* beyond the end */
    assert_false(pipe_feeder_next(feeder, &record));
    pipe_feeder_close(feeder);
    free_all(&all);
}

/* A count that was raised twice: what was sent before is the beginning, every event is sent once,
 * and time does not go back. */
static void test_raised_count(void **state)
{
    (void)state;
    struct pipe_feeder_options raised = standard;
    raised.stops[0] = standard.count;
    raised.stops[1] = standard.count + 100;
    raised.stop_count = 2;
    raised.count = standard.count + 1000;
    struct all before = take_all(0, &standard), after = take_all(0, &raised);
    assert_true(after.count > before.count);
    for (size_t i = 0; i < before.count; i++)
        assert_true(same_record(&before.items[i].record, &after.items[i].record));
    uint8_t *seen = pipe_calloc((size_t)raised.count, 1);
    for (size_t i = 0; i < after.count; i++) {
        const struct pipe_feed_record *record = &after.items[i].record;
        assert_true(i == 0 || record->kafka_time_ms >= after.items[i - 1].record.kafka_time_ms);
        assert_true(record->event < (uint64_t)raised.count);
        if (record->duplicate < 0)
            seen[record->event]++;
    }
    for (int64_t i = 0; i < raised.count; i++)
        assert_int_equal(seen[i], 1);
    free(seen);
    free_all(&before);
    free_all(&after);
}

static void test_keys(void **state)
{
    (void)state;
    struct all all = take_all(0, &standard);
    size_t counts[4] = {0};
    for (size_t i = 0; i < all.count; i++) {
        const struct taken *taken = &all.items[i];
        assert_int_equal(taken->record.partition, pipe_key_partition(taken->record.key, 4));
        counts[taken->record.partition]++;
        if (taken->decodes)
            assert_true(pipe_str_equal(taken->record.key, taken->row.session_id));
    }
    for (int p = 0; p < 4; p++)
        assert_in_range(counts[p], all.count / 6, all.count / 3);
    free_all(&all);
}

static void test_values(void **state)
{
    (void)state;
    struct all all = take_all(1, &standard);
    size_t lamps = 0, nulls = 0;
    assert_int_equal(all.count, 20000);
    for (size_t i = 0; i < all.count; i++) {
        const struct event *row = &all.items[i].row;
        assert_true(all.items[i].decodes);
        assert_int_equal(all.items[i].record.event, i);
        assert_int_equal(row->number, (int64_t)i + ((int64_t)(standard.seed - 1) << 40));
        assert_int_equal(row->occurred_at, START + (int64_t)i);
        assert_int_equal(row->event_id.size, 36);
        assert_true(pipe_uuid_is_lower(row->event_id));
        assert_true(is_text(row->currency, "EUR"));
        assert_true(row->referrer_null);
        assert_false(row->address_null);
        assert_true(row->address.zip_null);
        assert_true(is_text(row->address.city, "DE") || is_text(row->address.city, "FR"));
        assert_in_range(row->url.size, 10, 30);
        assert_in_range(row->price_cents, 500, 90000);
        assert_in_range((int64_t)row->tax, 100, 199);
        assert_true(row->weight >= -5.0 && row->weight <= 5.0);
        lamps += is_text(row->category, "lamps");
        nulls += row->coupon_null;
        if (!row->coupon_null)
            assert_in_range(row->coupon.size, 0, 4);
    }
    assert_in_range(lamps, 11500, 12500);
    assert_in_range(nulls, 4700, 5300);
    free_all(&all);
}

static int step_of(struct pipe_str text)
{
    for (int i = 0; i < 4; i++)
        if (is_text(text, event_steps[i].value))
            return i;
    return -1;
}

static int by_session(const void *a, const void *b)
{
    const struct taken *x = a, *y = b;
    int order = pipe_str_compare(x->row.session_id, y->row.session_id);
    return order != 0 ? order : x->record.event < y->record.event ? -1 : 1;
}

static void test_sessions(void **state)
{
    (void)state;
    struct pipe_feeder_options options = standard;
    options.count = 60000;
    options.rate_per_hour = 360000;
    struct all all = take_all(1, &options);
    size_t moves[4][4] = {{0}}, from[4] = {0}, sessions = 0;
    int64_t began_ms = 0;
    qsort(all.items, all.count, sizeof *all.items, by_session);
    for (size_t i = 0; i < all.count; i++) {
        const struct event *row = &all.items[i].row, *before = &all.items[i - (i > 0)].row;
        int step = step_of(row->event_type), last = step_of(before->event_type);
        assert_in_range(step, 0, 3);
        if (i == 0 || !pipe_str_equal(row->session_id, before->session_id)) {
            assert_int_equal(step, VIEW);
            began_ms = row->occurred_at;
            sessions++;
            continue;
        }
        assert_true(pipe_str_equal(row->country, before->country));
        assert_true(row->occurred_at - before->occurred_at >= 1000);
        assert_true(row->occurred_at - before->occurred_at <= 21000);
        assert_true(row->occurred_at - began_ms <= 120000);
        moves[last][step]++;
        from[last]++;
    }
    /* Weights, among moves that did not end: 60 to 30 and 50 to 20. */
    assert_true(sessions > 5000);
    assert_in_range(moves[VIEW][PRODUCT] * 100 / from[VIEW], 64, 69);
    assert_int_equal(moves[VIEW][PRODUCT] + moves[VIEW][VIEW], from[VIEW]);
    assert_in_range(moves[PRODUCT][CART] * 100 / from[PRODUCT], 68, 75);
    assert_int_equal(moves[PRODUCT][CART] + moves[PRODUCT][PRODUCT], from[PRODUCT]);
    assert_int_equal(moves[CART][BUY], from[CART]);
    assert_int_equal(from[BUY], 0);
    free_all(&all);
}

static void check_fault(const struct taken *taken)
{
    int64_t delay_ms = taken->record.kafka_time_ms - taken->due_ms;
    int64_t ahead_ms = taken->row.occurred_at - taken->due_ms;
    int32_t fault = taken->record.fault;
    assert_int_equal(taken->decodes, fault != POISON);
    if (fault == DISORDER)
        assert_in_range(delay_ms, 1, 4000);
    else if (fault == LATE)
        assert_in_range(delay_ms, 60000, 600000);
    else
        assert_int_equal(delay_ms, 0);
    if (fault == POISON)
        return;
    if (fault == AHEAD)
        assert_in_range(ahead_ms, 3600000, 7200000);
    else
        assert_int_equal(ahead_ms, 0);
    assert_int_equal(is_text(taken->row.country, "DEU"), fault == VALUE);
}

static void check_faults(uint32_t traffic)
{
    struct pipe_feeder_options options = standard;
    options.count = 100000;
    struct all all = take_all(traffic, &options);
    const struct taken **first = pipe_calloc(100000, sizeof *first);
    size_t counts[FAULTS] = {0}, events = 0;
    int64_t time_ms = INT64_MIN;
    for (size_t i = 0; i < all.count; i++) {
        const struct taken *taken = &all.items[i];
        assert_true(taken->record.kafka_time_ms >= time_ms);
        time_ms = taken->record.kafka_time_ms;
        if (taken->record.duplicate < 0) {
            assert_null(first[taken->record.event]);
            first[taken->record.event] = taken;
            check_fault(taken);
            events++;
            if (taken->record.fault >= 0)
                counts[taken->record.fault]++;
            continue;
        }
        const struct taken *original = first[taken->record.event];
        assert_non_null(original);
        counts[taken->record.duplicate]++;
        assert_int_equal(taken->record.duplicate, DUPLICATE);
        assert_true(pipe_str_equal(taken->record.value, original->record.value));
        assert_true(pipe_str_equal(taken->record.key, original->record.key));
        assert_int_equal(taken->record.partition, original->record.partition);
        assert_in_range(taken->record.kafka_time_ms - original->record.kafka_time_ms, 0, 30000);
    }
    assert_int_equal(events, 100000);
    for (int f = 0; f < FAULTS; f++) {
        uint64_t expected = event_faults[f].ppm / 10;
        assert_in_range(counts[f], expected * 85 / 100, expected * 115 / 100);
    }
    free(first);
    free_all(&all);
}

static void test_faults(void **state)
{
    (void)state;
    check_faults(0);
    check_faults(2);
}

static void test_bad_values(void **state)
{
    (void)state;
    static const char *const wrong[] = {"12"};
    struct pipe_traffic_field field = {PATH1(3), .kind = PIPE_GEN_PICK, .picks = wrong,
                                       .weights = country_weights, .pick_count = 1};
    struct pipe_traffic_def def = traffics[1];
    def.fields = &field;
    def.field_count = 1;
    const struct pipe_plan small = {
        .sources = sources, .source_count = 1, .traffics = &def, .traffic_count = 1};
    char error[512] = "";
    assert_null(pipe_feeder_open(&small, 0, 1, &standard, error, sizeof error));
    assert_non_null(strstr(error, "traffic shoppers: "));
}

/* ---- The command ---- */

static char messages[65536];

static int run(const char *arguments)
{
    char line[1024], *argv[32], *save = NULL;
    int argc = 0, kept_error = dup(STDERR_FILENO), kept_out = dup(STDOUT_FILENO);
    const char *path = in_dir("messages");
    int to = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    snprintf(line, sizeof line, "%s", arguments);
    for (char *word = strtok_r(line, " ", &save); word != NULL; word = strtok_r(NULL, " ", &save))
        argv[argc++] = word;
    fflush(stdout);
    dup2(to, STDERR_FILENO);
    dup2(to, STDOUT_FILENO);
    int code = pipe_traffic_main(&plan, argc, argv);
    fflush(stdout);
    dup2(kept_error, STDERR_FILENO);
    dup2(kept_out, STDOUT_FILENO);
    close(kept_error);
    close(kept_out);
    close(to);
    struct pipe_buf bytes = read_bytes(path);
    snprintf(messages, sizeof messages, "%.*s", (int)bytes.size, (const char *)bytes.data);
    pipe_buf_free(&bytes);
    return code;
}

static void check_said(const char *words)
{
    if (strstr(messages, words) == NULL)
        fail_msg("'%s' should say '%s'", messages, words);
}

static void test_usage(void **state)
{
    (void)state;
    assert_int_equal(run("--help"), 0);
    check_said("usage: shop traffic [--to DIR]");
    check_said("--seed");
    assert_int_equal(run(""), 2);
    check_said("--to DIR");
    assert_int_equal(run("--to x --cuont 5"), 2);
    check_said("did you mean --count?");
    assert_int_equal(run("--to x --count many"), 2);
    check_said("--count 'many'");
    assert_int_equal(run("--to x --rate 0/s"), 2);
    assert_int_equal(run("--to x --start yesterday"), 2);
    assert_int_equal(run("--to x --traffic shopers"), 2);
    check_said("there is no traffic 'shopers'; did you mean shoppers?");
    assert_int_equal(run("stray"), 2);
    assert_int_not_equal(access("x", F_OK), 0);
}

static size_t files_in(const char *dir, bool hidden)
{
    DIR *list = opendir(dir);
    size_t count = 0;
    assert_non_null(list);
    for (struct dirent *entry = readdir(list); entry != NULL; entry = readdir(list))
        count += entry->d_name[0] != '.' || (hidden && strlen(entry->d_name) > 2);
    closedir(list);
    return count;
}

/* The records of a file are those of the feeder, and readable exactly where they are not poison. */
static size_t check_file(uint32_t source, const char *path, size_t *poison)
{
    struct pipe_input_config config = {.source = &sources[source],
                                       .path = path,
                                       .length_bytes = -1,
                                       .max_record_bytes = 1 << 20,
                                       .topic = "t"};
    char error[512];
    struct pipe_input *input = pipe_input_open(&config, error, sizeof error);
    if (input == NULL)
        fail_msg("%s", error);
    struct pipe_record *records;
    struct pipe_arena arena;
    size_t total = 0;
    enum pipe_input_state state;
    pipe_arena_init(&arena, 1 << 20);
    uint32_t count;
    while ((state = input->ops->next(input, 1000, &records, &count)) == PIPE_INPUT_RECORDS) {
        total += count;
        for (uint32_t i = 0; i < count; i++) {
            struct event row;
            struct pipe_error cause;
            pipe_arena_reset(&arena);
            bool sound = input->faults == NULL || input->faults[i] == NULL;
            if (sound && sources[source].format == PIPE_FORMAT_CSV)
                sound = pipe_row_from_csv(&flat_type, input->csv_rows[i].fields,
                                          input->csv_rows[i].count, input->csv_expected,
                                          input->csv_positions, &arena, &row, &cause);
            else if (sound)
                sound = decode(&sources[source], records[i].payload, &arena, &row);
            *poison += !sound;
        }
    }
    assert_int_equal(state, PIPE_INPUT_END);
    input->ops->close(input);
    pipe_arena_free(&arena);
    return total;
}

static void check_source(uint32_t source, const char *const *files, size_t file_count)
{
    struct all all = {0};
    struct pipe_feeder_options options = standard;
    size_t expected_poison = 0, poison = 0, records = 0;
    uint32_t traffic = source == 0 ? 0 : source + 1;
    all = take_all(traffic, &options);
    for (size_t i = 0; i < all.count; i++)
        expected_poison += all.items[i].record.fault == (traffic == 6 ? 0 : POISON);
    for (size_t i = 0; i < file_count; i++)
        records += check_file(source, in_dir(files[i]), &poison);
    assert_int_equal(records, all.count);
    assert_int_equal(poison, expected_poison);
    assert_true(poison > 100);
    free_all(&all);
}

static void test_files(void **state)
{
    (void)state;
    char arguments[256];
    snprintf(arguments, sizeof arguments, "--to %s --count 20_000 --seed 7", in_dir("out/a"));
    assert_int_equal(run(arguments), 0);
    check_said("traffic shoppers into clicks: 20000 events, ");
    check_said("fault duplicate");
    check_said("fault value country");
    assert_int_equal(files_in(in_dir("out/a"), true), 12);
    check_source(0,
                 (const char *[]){"out/a/clicks-0.avro", "out/a/clicks-1.avro",
                                  "out/a/clicks-2.avro", "out/a/clicks-3.avro"},
                 4);
    check_source(1,
                 (const char *[]){"out/a/json_clicks-0.avro", "out/a/json_clicks-1.avro",
                                  "out/a/json_clicks-2.avro", "out/a/json_clicks-3.avro"},
                 4);
    check_source(2, (const char *[]){"out/a/lines.jsonl"}, 1);
    check_source(3, (const char *[]){"out/a/table.csv"}, 1);
    check_source(4, (const char *[]){"out/a/container.avro"}, 1);
    check_source(5, (const char *[]){"out/a/texts.txt"}, 1);
    snprintf(arguments, sizeof arguments, "--to=%s --count=20000 --seed=7", in_dir("out/b"));
    assert_int_equal(run(arguments), 0);
    snprintf(arguments, sizeof arguments, "diff -r %s %s", in_dir("out/a"), in_dir("out/b"));
    assert_int_equal(system(arguments), 0);
}

static void test_no_events(void **state)
{
    (void)state;
    char arguments[256];
    size_t poison = 0;
    snprintf(arguments, sizeof arguments, "--to %s --count 0", in_dir("none"));
    assert_int_equal(run(arguments), 0);
    assert_int_equal(check_file(0, in_dir("none/clicks-3.avro"), &poison), 0);
    assert_int_equal(check_file(3, in_dir("none/table.csv"), &poison), 0);
}

static void test_refused_disk(void **state)
{
    (void)state;
    char arguments[256];
    struct rlimit kept, small;
    write_text(in_dir("file"), "");
    snprintf(arguments, sizeof arguments, "--to %s/x", in_dir("file"));
    assert_int_equal(run(arguments), 1);
    check_said("Not a directory");
    getrlimit(RLIMIT_FSIZE, &kept);
    small = kept;
    small.rlim_cur = 300000;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    snprintf(arguments, sizeof arguments, "--to %s --count 100000", in_dir("full"));
    int code = run(arguments);
    setrlimit(RLIMIT_FSIZE, &kept);
    assert_int_equal(code, 1);
    check_said("cannot be written: File too large");
    assert_int_equal(files_in(in_dir("full"), true), 0);
}

static void test_many_partitions(void **state)
{
    (void)state;
    struct pipe_source_def wide = sources[0];
    wide.partitions = 12;
    const struct pipe_plan wide_plan = {.name = "wide",
                                        .sources = &wide,
                                        .source_count = 1,
                                        .traffics = traffics,
                                        .traffic_count = 1};
    char *argv[] = {(char *)(uintptr_t) "--to", (char *)(uintptr_t)in_dir("wide"),
                    (char *)(uintptr_t) "--count=100", (char *)(uintptr_t) "--progress=never"};
    int kept = dup(STDERR_FILENO), null = open("/dev/null", O_WRONLY);
    dup2(null, STDERR_FILENO);
    int code = pipe_traffic_main(&wide_plan, 4, argv);
    dup2(kept, STDERR_FILENO);
    close(kept);
    close(null);
    assert_int_equal(code, 0);
    assert_int_equal(access(in_dir("wide/clicks-02.avro"), F_OK), 0);
    assert_int_equal(access(in_dir("wide/clicks-11.avro"), F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bytes),      cmocka_unit_test(test_skip),
        cmocka_unit_test(test_raised_count),    cmocka_unit_test(test_keys),
        cmocka_unit_test(test_values),          cmocka_unit_test(test_sessions),
        cmocka_unit_test(test_faults),          cmocka_unit_test(test_bad_values),
        cmocka_unit_test(test_usage),           cmocka_unit_test(test_files),
        cmocka_unit_test(test_no_events),       cmocka_unit_test(test_refused_disk),
        cmocka_unit_test(test_many_partitions),
    };
    return cmocka_run_group_tests(tests, set_up, remove_test_dir);
}
