/*
 * runtime_dedup.c: dedup against a list of (key, expiry), with saves and restarts at random points.
 */
#include "runtime_operators.h"

#define KEYS 60

static struct pipe_state_def dedup_def(int64_t ttl)
{
    return (struct pipe_state_def){.kind = PIPE_STATE_DEDUP, .name = "clean", .ttl = ttl};
}

/* Keys of all forms; several that a careless packing would make equal. */
static size_t make_key(uint8_t *to, unsigned i)
{
    static const char uuid[] = "123e4567-e89b-12d3-a456-426614174000";
    memset(to, 0, 80);
    switch (i % 6) {
    case 0: /* exact, lengths 1 to 16, equal but for their length */
        to[0] = (uint8_t)(i / 48);
        return 1 + i / 6 % 16;
    case 1: /* UUID text */
        to[0] = 36;
        memcpy(to + 1, uuid, 36);
        to[36] = "0123456789abcdef"[i / 6 % 16];
        return 37;
    case 2: /* the bytes of such a UUID, as an exact key */
        pipe_uuid_to_bytes(pipe_str_of(uuid, 36), to);
        to[15] = (uint8_t)(i / 6);
        return 16;
    case 3: /* text of 16 bytes */
        to[0] = 16;
        pipe_uuid_to_bytes(pipe_str_of(uuid, 36), to + 1);
        to[16] = (uint8_t)(i / 6);
        return 17;
    case 4: /* hashed */
        memset(to, 'x', 75);
        to[74] = (uint8_t)i;
        return 75;
    default: /* 37 bytes, but upper case: hashed */
        to[0] = 36;
        memcpy(to + 1, "123E4567-E89B-12D3-A456-426614174000", 36);
        to[36] = "0123456789abcdef"[i / 6 % 16];
        return 37;
    }
}

struct model {
    bool known[KEYS];
    int64_t expiry[KEYS];
};

static enum pipe_dedup_verdict model_judge(struct model *model, unsigned key, int64_t time,
                                           int64_t judge, int64_t ttl)
{
    if (judge != PIPE_TIME_MIN && time < judge - ttl)
        return PIPE_TOO_OLD;
    if (model->known[key] && judge <= model->expiry[key])
        return PIPE_DUPLICATE;
    model->known[key] = true;
    model->expiry[key] = (time > judge ? time : judge) + ttl;
    return PIPE_UNIQUE;
}

static uint64_t total_reads;

static void count_reads(const struct bench *bench)
{
    struct pipe_state_spilled spilled;
    bench->ops->spilled(bench->state, &spilled);
    total_reads += spilled.reads;
}

static void run(uint64_t seed, bool behind, bool restarts, bool spills)
{
    struct dice dice = {seed};
    int64_t ttl = 500 + dice_roll(&dice, 3) * 40000, bound = dice_roll(&dice, 3000);
    struct pipe_state_def def = dedup_def(ttl);
    def.judge_by_record = behind;
    def.delay = seed % 3 == 0 ? 700 : 0;
    struct bench bench;
    struct model model = {0};
    int64_t now = 1000000, greatest[2] = {PIPE_TIME_MIN, PIPE_TIME_MIN};
    bench_open(&bench, &def, behind);
    if (spills)
        bench_attach(&bench);
    for (unsigned i = 0; i < 3000; i++) {
        unsigned p = behind ? (unsigned)dice_roll(&dice, 2) : 0;
        unsigned index = (unsigned)dice_roll(&dice, KEYS);
        uint8_t key[80];
        now += dice_roll(&dice, 60);
        int64_t time = now - dice_roll(&dice, dice_roll(&dice, 8) == 0 ? 3 * ttl : 4000);
        struct pipe_record record = {.has_position = true, .event_time = time};
        record.watermark = pipe_time_sub(greatest[p], bound);
        bench_key(&bench, key, make_key(key, index));
        int64_t judge = behind ? record.watermark : bench.task.watermark;
        judge = pipe_time_sub(judge, def.delay);
        int expected = (int)model_judge(&model, index, time, judge, ttl);
        bool is_ahead = bench_ask(&bench, dice_roll(&dice, 2) == 0);
        assert_int_equal((int)pipe_dedup(&bench.task, 0, &record, is_ahead), expected);
        greatest[p] = time > greatest[p] ? time : greatest[p];
        int64_t least = behind && greatest[1] < greatest[0] ? greatest[1] : greatest[0];
        bench_watermark(&bench, pipe_time_sub(least, bound), dice_roll(&dice, 3) > 0);
        if (spills && dice_roll(&dice, 25) == 0)
            bench_spill(&bench, dice_roll(&dice, 3) == 0 ? UINT64_MAX : 500,
                        dice_roll(&dice, 4) == 0);
        if (restarts && dice_roll(&dice, 40) == 0)
            bench_restart(&bench);
        else if (restarts && dice_roll(&dice, 10) == 0)
            bench_save(&bench);
    }
    const struct pipe_counters *c = &bench.counters;
    assert_int_equal(c->dedup_in, 3000);
    assert_int_equal(c->dedup_in, c->unique + c->duplicate + c->too_old);
    assert_true(c->unique > 0 && c->duplicate > 0);
    count_reads(&bench);
    bench_watermark(&bench, PIPE_TIME_MAX, true);
    bench_save(&bench);
    assert_int_equal(bench.ops->entry_count(bench.state), 0);
    assert_int_equal(bench.store.count, 0);
    bench_close(&bench);
}

static void test_against_model(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++)
        run(seed, seed % 2 == 0, seed % 4 < 2, false);
}

/* Wherever the ids are, in memory or in the store, the verdict is the model's. */
/* Rows of a window come after W went past all of them at once, in the order of their ends, and are
 * judged by these: how far W goes at a time must not matter. */
static void run_windows(uint64_t seed, bool spills)
{
    struct dice dice = {seed};
    int64_t ttl = 500 + dice_roll(&dice, 3) * 40000;
    struct pipe_state_def def = dedup_def(ttl);
    def.judge_by_record = seed % 2 == 0;
    def.delay = seed % 3 == 0 ? 700 : 0;
    struct bench bench;
    struct model model = {0};
    bench_open(&bench, &def, def.judge_by_record);
    if (spills)
        bench_attach(&bench);
    int64_t end = 1000000;
    for (unsigned i = 0; i < 300; i++) {
        int64_t last = end + dice_roll(&dice, dice_roll(&dice, 5) == 0 ? 4 * ttl : 2000);
        bench_watermark(&bench, pipe_time_add(last, def.delay), false);
        for (end += 1; end <= last; end += 1 + dice_roll(&dice, 1 + (last - end) / 3)) {
            unsigned index = (unsigned)dice_roll(&dice, KEYS);
            uint8_t key[80];
            struct pipe_record record = {.event_time = end, .watermark = last};
            bench_key(&bench, key, make_key(key, index));
            int expected = (int)model_judge(&model, index, end, end, ttl);
            bool is_ahead = bench_ask(&bench, dice_roll(&dice, 2) == 0);
            assert_int_equal((int)pipe_dedup(&bench.task, 0, &record, is_ahead), expected);
        }
        end = last;
        bench_watermark(&bench, PIPE_TIME_MIN, true);
        if (spills && dice_roll(&dice, 10) == 0)
            bench_spill(&bench, dice_roll(&dice, 3) == 0 ? UINT64_MAX : 500, false);
        if (dice_roll(&dice, 20) == 0)
            bench_restart(&bench);
    }
    assert_int_equal(bench.counters.too_old, 0);
    assert_true(bench.counters.unique > 0 && bench.counters.duplicate > 0);
    bench_close(&bench);
}

static void test_rows_of_windows(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++)
        run_windows(seed, seed % 4 < 2);
}

static void test_spilled(void **state)
{
    (void)state;
    total_reads = 0;
    for (uint64_t seed = 1; seed <= 80; seed++)
        run(seed, seed % 2 == 0, seed % 4 < 2, true);
    assert_true(total_reads > 1000);
}

/* Filters keep new keys from the store; without them each is looked for there. */
static void test_filters(void **state)
{
    (void)state;
    struct pipe_state_def def = dedup_def(PIPE_HOURS(1));
    struct pipe_record record = {.has_position = true};
    struct pipe_state_spilled spilled;
    struct bench bench;
    bench_open(&bench, &def, false);
    bench_attach(&bench);
    for (uint64_t i = 0; i < 40000; i++) {
        bench_key(&bench, &i, sizeof i);
        assert_int_equal((int)pipe_dedup(&bench.task, 0, &record, false), PIPE_UNIQUE);
        if (i % 8000 == 7999 && i < 24000)
            bench_spill(&bench, UINT64_MAX, false);
    }
    bench.ops->spilled(bench.state, &spilled);
    assert_int_equal(spilled.entries, 24000);
    assert_int_equal(bench.ops->entry_count(bench.state), 40000);
    assert_true(spilled.reads < 200); /* of 32000 look-ups */
    uint64_t before = bench.ops->memory_bytes(bench.state);
    bench_spill(&bench, UINT64_MAX, true);
    assert_true(bench.ops->memory_bytes(bench.state) < before);
    for (uint64_t i = 40000; i < 41000; i++) {
        bench_key(&bench, &i, sizeof i);
        assert_int_equal((int)pipe_dedup(&bench.task, 0, &record, false), PIPE_UNIQUE);
    }
    bench.ops->spilled(bench.state, &spilled);
    assert_true(spilled.reads >= 1000);
    bench_restart(&bench);
    for (uint64_t i = 0; i < 41000; i += 7) {
        bench_key(&bench, &i, sizeof i);
        assert_int_equal((int)pipe_dedup(&bench.task, 0, &record, false), PIPE_DUPLICATE);
    }
    bench_close(&bench);
}

/* Every made key is a key of its own. */
static void test_identity(void **state)
{
    (void)state;
    struct pipe_state_def def = dedup_def(PIPE_HOURS(24));
    struct bench bench;
    struct pipe_record record = {.has_position = true, .watermark = PIPE_TIME_MIN};
    uint8_t key[80];
    bench_open(&bench, &def, false);
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < KEYS; i++) {
            bench_key(&bench, key, make_key(key, i));
            assert_int_equal((int)pipe_dedup(&bench.task, 0, &record, false),
                             round == 0 ? PIPE_UNIQUE : PIPE_DUPLICATE);
        }
    }
    assert_int_equal(bench.ops->entry_count(bench.state), KEYS);
    bench_close(&bench);
}

/* Memory and store follow ttl × rate, not the length of the log. */
static void test_bounded(void **state)
{
    (void)state;
    struct pipe_state_def def = dedup_def(PIPE_SECONDS(10));
    struct bench bench;
    uint64_t most = 0;
    bench_open(&bench, &def, false);
    for (uint64_t i = 0; i < 1000000; i++) {
        struct pipe_record record = {.has_position = true, .event_time = (int64_t)i * 1000};
        bench_key(&bench, &i, sizeof i);
        assert_int_equal((int)pipe_dedup(&bench.task, 0, &record, false), PIPE_UNIQUE);
        bench_watermark(&bench, record.event_time - PIPE_SECONDS(1), true);
        if (i % 1000 == 0) {
            bench_save(&bench);
            uint64_t bytes = bench.ops->memory_bytes(bench.state);
            most = bytes > most ? bytes : most;
        }
    }
    assert_true(bench.ops->entry_count(bench.state) < 13000);
    assert_true(bench.store.count < 320); /* 256 cells a ttl */
    assert_true(most < 13000 * 80 + 250000);
    bench_watermark(&bench, PIPE_TIME_MAX, true);
    bench_save(&bench);
    assert_int_equal(bench.ops->entry_count(bench.state), 0);
    assert_int_equal(bench.store.count, 0);
    bench_close(&bench);
}

static void test_bytes_an_id(void **state)
{
    (void)state;
    struct pipe_state_def def = dedup_def(PIPE_HOURS(24));
    struct bench bench;
    bench_open(&bench, &def, false);
    for (uint64_t i = 0; i < 400000; i++) {
        struct pipe_record record = {.has_position = true, .event_time = (int64_t)i};
        bench_key(&bench, &i, sizeof i);
        pipe_dedup(&bench.task, 0, &record, false);
        if (i % 1000 == 999) {
            struct store none = {0};
            struct pipe_state_writer writer = {&none, store_put, store_remove, store_remove_range};
            bench.ops->save(bench.state, &writer);
            store_free(&none);
        }
        if (i >= 100000 && i % 50000 == 0)
            assert_true(bench.ops->memory_bytes(bench.state) < i * 47 + (3 << 20));
    }
    bench_close(&bench);
}

static void test_malformed_entries(void **state)
{
    (void)state;
    struct pipe_state_def def = dedup_def(PIPE_HOURS(1));
    struct bench bench;
    struct dice dice = {7};
    bench_open(&bench, &def, false);
    for (unsigned i = 0; i < 20; i++) {
        struct pipe_record record = {.has_position = true, .event_time = i};
        bench_key(&bench, &i, sizeof i);
        pipe_dedup(&bench.task, 0, &record, false);
    }
    bench_save(&bench);
    const struct store_entry *entry = &bench.store.entries[0];
    assert_int_equal(entry->key_bytes, 17);
    assert_false(bench.ops->load(bench.state, entry->key, 16, entry->value, entry->value_bytes));
    assert_false(bench.ops->load(bench.state, entry->key, 17, entry->value, 23));
    for (unsigned i = 0; i < 2000; i++) {
        uint8_t bytes[48];
        for (unsigned k = 0; k < sizeof bytes; k++)
            bytes[k] = (uint8_t)dice_next(&dice);
        assert_false(bench.ops->load(bench.state, entry->key, 17, bytes, 24));
    }
    bench_close(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_model),     cmocka_unit_test(test_identity),
        cmocka_unit_test(test_spilled),           cmocka_unit_test(test_filters),
        cmocka_unit_test(test_bounded),           cmocka_unit_test(test_bytes_an_id),
        cmocka_unit_test(test_malformed_entries), cmocka_unit_test(test_rows_of_windows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
