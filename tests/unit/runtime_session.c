/*
 * runtime_session.c: sessions against a model that keeps lists of values; behind an exchange
 * against sorting and cutting at gaps. Straight, with restarts, with late calls of advance, with
 * sessions that leave memory.
 */
#include "runtime_operators.h"

#define KEYS 5
#define RECORDS 400
#define MAX_ROWS 3000

struct row {
    int64_t start, end, sum, count, last, distinct, key;
};

struct rows {
    struct row items[MAX_ROWS];
    size_t count;
};

static struct rows made, wanted;
static int64_t reject_modulus;
static const struct bench *watched; /* whose memory is looked at when a row is made */
static uint64_t most_in_memory;

static bool record_row(struct pipe_task *task, const struct pipe_window_row *from)
{
    const struct sample *acc = from->acc;
    struct row row = {.start = from->start, .end = from->end, .key = from->key[0]};
    (void)task;
    assert_int_equal(from->revision, 0);
    assert_true(pipe_sum_int_finish(&acc->sum, &row.sum, NULL));
    assert_true(pipe_count_finish(&acc->count, &row.count, NULL));
    row.last = sample_last(acc);
    row.distinct = sample_distinct(acc);
    assert_true(made.count < MAX_ROWS);
    made.items[made.count++] = row;
    if (watched != NULL && bench_in_memory(watched) > most_in_memory)
        most_in_memory = bench_in_memory(watched);
    return reject_modulus == 0 || row.sum % reject_modulus != 0;
}

/* --- The model ------------------------------------------------------------------------------- */

struct event {
    int64_t time, value, offset, judge;
    int key, session; /* session: an id of the model */
};

struct open_session {
    int64_t start, end, key;
    int id;
};

static struct event events[RECORDS];
static size_t event_count;
static struct open_session open[RECORDS];
static size_t open_count;

/* Sums up the events of one model session. */
static struct row sum_up(const struct open_session *session)
{
    struct row row = {.start = session->start, .end = session->end, .key = session->key};
    const struct event *last = NULL;
    for (size_t i = 0; i < event_count; i++) {
        const struct event *event = &events[i];
        bool seen = false;
        if (event->session != session->id)
            continue;
        for (size_t k = 0; k < i; k++)
            seen = seen || (events[k].session == session->id && events[k].value == event->value);
        row.distinct += !seen;
        row.sum += event->value;
        row.count++;
        if (last == NULL || event->time > last->time ||
            (event->time == last->time && event->offset > last->offset))
            last = event;
    }
    row.last = last->value;
    return row;
}

static int compare_rows(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->start > y->start) - (x->start < y->start);
}

static void model_close(int64_t watermark, int64_t lateness)
{
    size_t from = wanted.count;
    for (size_t i = 0; i < open_count;) {
        if (open[i].end + lateness > watermark) {
            i++;
            continue;
        }
        wanted.items[wanted.count++] = sum_up(&open[i]);
        open[i] = open[--open_count];
    }
    qsort(wanted.items + from, wanted.count - from, sizeof(struct row), compare_rows);
}

static int compare_open(const void *a, const void *b)
{
    const struct open_session *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

/* Returns whether the event is on time; events[] holds it. */
static bool model_add(const struct pipe_state_def *def, struct event *event, int64_t watermark)
{
    int64_t start = event->time, end = event->time + def->gap;
    bool joined[RECORDS] = {false};
    qsort(open, open_count, sizeof open[0], compare_open);
    for (size_t i = 0; i < open_count; i++) {
        const struct open_session *s = &open[i];
        if (s->key != event->key || s->start >= event->time + def->gap || event->time >= s->end)
            continue;
        int64_t low = s->start < start ? s->start : start, high = s->end > end ? s->end : end;
        if (def->max != 0 && high - low > def->max)
            continue;
        joined[i] = true;
        start = low;
        end = high;
    }
    if (watermark != PIPE_TIME_MIN && end + def->lateness <= watermark)
        return false;
    event->session = (int)event_count;
    size_t kept = 0;
    for (size_t i = 0; i < open_count; i++) {
        if (!joined[i]) {
            open[kept++] = open[i];
            continue;
        }
        for (size_t k = 0; k + 1 < event_count; k++) {
            if (events[k].session == open[i].id)
                events[k].session = event->session;
        }
    }
    open_count = kept;
    open[open_count++] = (struct open_session){start, end, event->key, event->session};
    return true;
}

/* --- One task -------------------------------------------------------------------------------- */

static struct event random_event(struct dice *dice, int64_t *now, int64_t jitter)
{
    struct event event = {0};
    *now += dice_roll(dice, 25) == 0 ? dice_roll(dice, 200) : dice_roll(dice, 10);
    event.time = *now - dice_roll(dice, jitter);
    event.value = dice_roll(dice, 40) - 15;
    event.key = (int)dice_roll(dice, KEYS);
    event.session = -1;
    return event;
}

static bool push_event(struct bench *bench, const struct event *event)
{
    struct pipe_record record = {.has_position = true,
                                 .offset = event->offset,
                                 .event_time = event->time,
                                 .watermark = event->judge};
    uint8_t key[2] = {(uint8_t)event->key, 9};
    bench_key(bench, key, sizeof key);
    bool is_ahead = bench_ask(bench, event->offset % 2 == 0);
    struct pipe_window_hit hit = pipe_session(&bench->task, 0, &record, is_ahead);
    assert_int_equal(hit.late, hit.acc == NULL);
    if (hit.acc != NULL)
        sample_update(hit.acc, &record, event->value);
    else
        assert_int_equal(hit.late_end, event->time + bench->def->gap);
    return hit.acc != NULL;
}

static void check_balance(const struct bench *bench)
{
    const struct pipe_counters *c = &bench->counters;
    assert_int_equal(c->window_in, c->late + c->emitted + c->window_rejected +
                                       bench->ops->open_pairs(bench->state));
}

static struct pipe_state_def random_def(struct dice *dice)
{
    struct pipe_state_def def = {.kind = PIPE_STATE_SESSION, .name = "s"};
    def.gap = 5 + dice_roll(dice, 40);
    def.max = dice_roll(dice, 2) == 0 ? 0 : def.gap + dice_roll(dice, 60);
    def.emit = dice_roll(dice, 2) == 0 ? PIPE_EMIT_CLOSE : PIPE_EMIT_FINAL;
    def.lateness = def.emit == PIPE_EMIT_FINAL ? dice_roll(dice, 40) : 0;
    def.delay = dice_roll(dice, 3) == 0 ? 13 : 0;
    def.acc = &sample_accumulator;
    def.emit_row = record_row;
    return def;
}

static uint64_t total_reads;

static void run_local(uint64_t seed, const struct pipe_state_def *def, bool trouble, bool spills)
{
    struct dice dice = {seed}, other = {seed + 1};
    struct bench bench;
    int64_t bound = dice_roll(&dice, 40), now = 1000, greatest = PIPE_TIME_MIN;
    int64_t jitter = 1 + dice_roll(&dice, 150);
    made.count = wanted.count = event_count = open_count = 0;
    bench_open(&bench, def, false);
    if (spills)
        bench_attach(&bench);
    for (int64_t i = 0; i < RECORDS; i++) {
        struct event event = random_event(&dice, &now, jitter);
        event.offset = i;
        event.judge = bench.task.watermark;
        int64_t watermark = pipe_time_sub(bench.task.watermark, def->delay);
        model_close(watermark, def->lateness);
        events[event_count++] = event;
        bool want = model_add(def, &events[event_count - 1], watermark);
        assert_int_equal(push_event(&bench, &event), want);
        greatest = event.time > greatest ? event.time : greatest;
        bench_watermark(&bench, greatest - bound, !trouble || dice_roll(&other, 3) == 0);
        if (trouble && dice_roll(&other, 8) == 0)
            bench_restart(&bench);
        else if (trouble && dice_roll(&other, 5) == 0)
            bench_save(&bench);
        if (spills)
            bench_spill_some(&bench, &other);
        check_balance(&bench);
    }
    total_reads += bench_spilled_reads(&bench);
    bench_watermark(&bench, PIPE_TIME_MAX, true);
    model_close(PIPE_TIME_MAX, def->lateness);
    check_balance(&bench);
    assert_int_equal(bench.ops->open_pairs(bench.state), 0);
    assert_int_equal(bench.ops->entry_count(bench.state), 0);
    bench_save(&bench);
    assert_true(bench.store.count <= 1);
    assert_int_equal(made.count, wanted.count);
    assert_memory_equal(made.items, wanted.items, made.count * sizeof made.items[0]);
    bench_close(&bench);
}

static void test_local(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct dice dice = {seed * 31};
        struct pipe_state_def def = random_def(&dice);
        reject_modulus = seed % 4 == 0 ? 3 : 0;
        run_local(seed, &def, false, false);
        run_local(seed, &def, true, false);
        run_local(seed, &def, seed % 3 != 0, true);
    }
    reject_modulus = 0;
    assert_true(total_reads > 1000);
}

/* --- Behind an exchange ---------------------------------------------------------------------- */

static int compare_events(const void *a, const void *b)
{
    const struct event *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->time > y->time) - (x->time < y->time);
}

/* All sessions of the events that are on time, whatever the order in which they came. */
static void cut_at_gaps(int64_t gap)
{
    wanted.count = 0;
    qsort(events, event_count, sizeof events[0], compare_events);
    for (size_t i = 0; i < event_count;) {
        struct open_session session = {events[i].time, events[i].time + gap, events[i].key, (int)i};
        for (size_t begin = i; i < event_count && events[i].key == events[begin].key &&
                               (i == begin || events[i].time < session.end);
             i++) {
            session.end = events[i].time + gap;
            events[i].session = session.id;
        }
        wanted.items[wanted.count++] = sum_up(&session);
    }
    qsort(wanted.items, wanted.count, sizeof(struct row), compare_rows);
}

static void run_behind(uint64_t seed, bool spills)
{
    struct dice dice = {seed}, other = {seed + 9};
    struct pipe_state_def def = random_def(&dice);
    struct bench bench;
    int64_t bound = dice_roll(&dice, 40), now[2] = {1000, 1200}, jitter = 1 + dice_roll(&dice, 100);
    int64_t greatest[2] = {PIPE_TIME_MIN, PIPE_TIME_MIN},
            markers[2] = {PIPE_TIME_MIN, PIPE_TIME_MIN};
    def.max = 0;
    def.judge_by_record = true;
    made.count = event_count = 0;
    bench_open(&bench, &def, true);
    if (spills)
        bench_attach(&bench);
    for (int64_t i = 0; i < RECORDS; i++) {
        int p = (int)dice_roll(&dice, 2);
        struct event event = random_event(&dice, &now[p], jitter);
        event.offset = i;
        event.judge = pipe_time_sub(greatest[p], bound);
        int64_t judge = pipe_time_sub(event.judge, def.delay);
        bool late = judge != PIPE_TIME_MIN && event.time + def.lateness < judge;
        if (!late)
            events[event_count++] = event;
        assert_int_equal(push_event(&bench, &event), !late);
        greatest[p] = event.time > greatest[p] ? event.time : greatest[p];
        if (dice_roll(&dice, 4) == 0)
            markers[p] = pipe_time_sub(greatest[p], bound);
        bench_watermark(&bench, markers[0] < markers[1] ? markers[0] : markers[1],
                        dice_roll(&other, 2) == 0);
        if (dice_roll(&other, 20) == 0)
            bench_restart(&bench);
        else if (spills)
            bench_spill_some(&bench, &other);
        check_balance(&bench);
    }
    bench_watermark(&bench, PIPE_TIME_MAX, true);
    cut_at_gaps(def.gap);
    qsort(made.items, made.count, sizeof(struct row), compare_rows);
    assert_int_equal(made.count, wanted.count);
    assert_memory_equal(made.items, wanted.items, made.count * sizeof made.items[0]);
    bench_close(&bench);
}

static void test_behind_exchange(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        run_behind(seed, false);
        run_behind(seed, true);
    }
}

/* --- Single cases ---------------------------------------------------------------------------- */

/* Before anything is known of time, a key has a session, and then one that is over earlier. */
static void test_before_time(void **state)
{
    struct pipe_state_def def = {.kind = PIPE_STATE_SESSION, .name = "s", .gap = 10};
    struct bench bench;
    (void)state;
    def.acc = &sample_accumulator;
    def.emit_row = record_row;
    made.count = 0;
    bench_open(&bench, &def, false);
    static const int64_t times[] = {INT64_C(1767225600000000), INT64_C(1767225500000000)};
    for (int64_t i = 0; i < 2; i++) {
        struct event event = {.time = times[i], .value = 1, .offset = i, .key = 1};
        event.judge = PIPE_TIME_MIN;
        assert_true(push_event(&bench, &event));
    }
    assert_true(((const struct pipe_state *)bench.state)->due <= times[1] + def.gap);
    bench_watermark(&bench, times[1] + def.gap, true);
    assert_int_equal(made.count, 1);
    assert_true(((const struct pipe_state *)bench.state)->due > times[1] + def.gap);
    bench_watermark(&bench, times[0] + def.gap, true);
    assert_int_equal(made.count, 2);
    bench_close(&bench);
}

/* A record that overlaps two sessions makes one of them, unless `max` forbids. */
static void test_bridge(void **state)
{
    (void)state;
    for (int64_t max = 0; max <= 30; max += 15) {
        struct pipe_state_def def = {.kind = PIPE_STATE_SESSION, .name = "s", .gap = 10};
        struct bench bench;
        def.max = max;
        def.acc = &sample_accumulator;
        def.emit_row = record_row;
        made.count = 0;
        bench_open(&bench, &def, false);
        static const int64_t times[] = {100, 112, 105};
        for (int64_t i = 0; i < 3; i++) {
            struct event event = {.time = times[i], .value = 1, .offset = i, .key = 1};
            event.judge = PIPE_TIME_MIN;
            assert_true(push_event(&bench, &event));
        }
        bench_watermark(&bench, 200, true);
        assert_int_equal(made.count, max == 15 ? 2 : 1);
        assert_int_equal(made.items[0].start, 100);
        assert_int_equal(made.items[0].end, max == 15 ? 115 : 122);
        assert_int_equal(made.items[0].count, max == 15 ? 2 : 3);
        bench_close(&bench);
    }
}

#define MANY 200
#define FEW 10 /* have a base even where tests make it small */

static size_t count_kind(const struct bench *bench, char kind)
{
    size_t count = 0;
    for (size_t i = 0; i < bench->store.count; i++)
        count += bench->store.entries[i].key[0] == (uint8_t)kind;
    return count;
}

static void push_many(struct bench *bench, int64_t time, int from, int until)
{
    for (int key = from; key < until; key++) {
        struct event event = {.time = time, .value = key, .offset = time, .key = key};
        event.judge = PIPE_TIME_MIN;
        assert_true(push_event(bench, &event));
    }
}

/* Sessions whose rows are in `made`. */
static void open_recording(struct bench *bench, struct pipe_state_def *def)
{
    def->acc = &sample_accumulator;
    def->emit_row = record_row;
    made.count = 0;
    bench_open(bench, def, false);
}

/* Many sessions of which few change: a base, entries and removals behind it, and when these are as
 * many, another base. Each step survives a restart. */
static void test_base(void **state)
{
    (void)state;
    struct pipe_state_def def = {.kind = PIPE_STATE_SESSION, .name = "s", .gap = 10};
    struct bench bench;
    open_recording(&bench, &def);
    push_many(&bench, 100, 0, MANY);
    bench_restart(&bench);
    size_t parts = count_kind(&bench, 'b'), single = count_kind(&bench, 'p');
    push_many(&bench, 105, 40, MANY);
    bench_restart(&bench);
    size_t changed = count_kind(&bench, 'p');
    bench_watermark(&bench, 111, true); /* those that did not go on are over */
    assert_int_equal(made.count, 40);
    bench_restart(&bench);
#ifdef PIPE_DEBUG /* so many sessions are too many for a base */
    assert_int_equal(parts, 0);
    assert_int_equal(single, MANY);
    assert_int_equal(changed, MANY);
    assert_int_equal(count_kind(&bench, 'p'), MANY - 40);
#else
    assert_int_equal(parts, 1);
    assert_int_equal(single, 0);
    assert_int_equal(changed, MANY - 40);
    assert_int_equal(count_kind(&bench, 'p'), 0); /* 160 + 40: another base */
    assert_int_equal(count_kind(&bench, 'b'), 1);
#endif
    assert_int_equal(bench.ops->entry_count(bench.state), MANY - 40);
    push_many(&bench, 110, 190, MANY);
    bench_watermark(&bench, 116, true);
    bench_restart(&bench);
    assert_int_equal(bench.ops->entry_count(bench.state), 10);
    assert_int_equal(made.count, MANY - 10);
    bench_watermark(&bench, 500, true);
    bench_restart(&bench);
    assert_int_equal(made.count, MANY);
    for (int i = 0; i < MANY; i++) {
        bool last = i >= 190, first = i < 40;
        assert_int_equal(made.items[i].end, first ? 110 : last ? 120 : 115);
        assert_int_equal(made.items[i].count, first ? 1 : last ? 3 : 2);
    }
    assert_int_equal(count_kind(&bench, 'b') + count_kind(&bench, 'p'), 0);
    bench_close(&bench);
}

/* More sessions than a base may hold: each becomes an entry, and what the base had is gone. */
static void test_base_given_up(void **state)
{
    (void)state;
    struct pipe_state_def def = {.kind = PIPE_STATE_SESSION, .name = "s", .gap = 10};
    struct bench bench;
    open_recording(&bench, &def);
    push_many(&bench, 100, 0, FEW);
    bench_restart(&bench);
    assert_int_equal(count_kind(&bench, 'b'), 1);
    push_many(&bench, 101, 0, 1);
    bench_restart(&bench);
    assert_int_equal(count_kind(&bench, 'b'), 1);
    assert_int_equal(count_kind(&bench, 'p'), 1);
    push_many(&bench, 109, FEW, MANY);
    bench_restart(&bench);
#ifdef PIPE_DEBUG
    assert_int_equal(count_kind(&bench, 'b'), 0);
    assert_int_equal(count_kind(&bench, 'p'), MANY);
#endif
    bench_watermark(&bench, 111, true);
    bench_restart(&bench);
    assert_int_equal(made.count, FEW);
    assert_int_equal(bench.ops->entry_count(bench.state), MANY - FEW);
    bench_watermark(&bench, 500, true);
    bench_restart(&bench);
    assert_int_equal(made.count, MANY);
    assert_int_equal(count_kind(&bench, 'b') + count_kind(&bench, 'p'), 0);
    bench_close(&bench);
}

/* --- Beyond memory --------------------------------------------------------------------------- */

static bool push_at(struct bench *bench, int64_t time, int64_t offset, int key)
{
    struct event event = {.time = time, .value = offset, .offset = offset, .key = key};
    event.judge = bench->task.watermark;
    return push_event(bench, &event);
}

static void open_spilling(struct bench *bench, struct pipe_state_def *def)
{
    *def = (struct pipe_state_def){.kind = PIPE_STATE_SESSION, .name = "s", .gap = 10};
    open_recording(bench, def);
    bench_attach(bench);
}

/* Two sessions of a key that left memory, and a record that makes one of them. */
static void test_spilled_bridge(void **state)
{
    (void)state;
    for (int restart = 0; restart < 2; restart++) {
        struct pipe_state_def def;
        struct bench bench;
        open_spilling(&bench, &def);
        assert_true(push_at(&bench, 100, 1, 1));
        assert_true(push_at(&bench, 112, 2, 1));
        assert_true(push_at(&bench, 300, 3, 2));
        bench_spill(&bench, UINT64_MAX, false);
        assert_int_equal(bench_in_memory(&bench), 0);
        assert_int_equal(bench.ops->entry_count(bench.state), 3);
        assert_int_equal(count_kind(&bench, 'e'), 2);
        if (restart)
            bench_restart(&bench);
        assert_true(push_at(&bench, 105, 4, 1));
        assert_int_equal(bench_in_memory(&bench), 1);
        bench_spill(&bench, UINT64_MAX, false);
        if (restart)
            bench_restart(&bench);
        assert_int_equal(bench.ops->entry_count(bench.state), 2);
        bench_watermark(&bench, 500, true);
        assert_int_equal(made.count, 2);
        assert_int_equal(made.items[0].start, 100);
        assert_int_equal(made.items[0].end, 122);
        assert_int_equal(made.items[0].sum, 7);
        assert_int_equal(made.items[1].start, 300);
        bench_save(&bench);
        assert_int_equal(count_kind(&bench, 'e'), 0);
        bench_close(&bench);
    }
}

/* A record that is late by itself is on time where the session that it joins left memory. */
static void test_spilled_late(void **state)
{
    (void)state;
    struct pipe_state_def def;
    struct bench bench;
    open_spilling(&bench, &def);
    assert_true(push_at(&bench, 100, 1, 1));
    assert_true(push_at(&bench, 109, 2, 1));
    assert_true(push_at(&bench, 108, 3, 2));
    bench_spill(&bench, UINT64_MAX, false);
    bench_watermark(&bench, 107, true);
    assert_true(push_at(&bench, 96, 4, 1));  /* [96, 106) touches [100, 119) */
    assert_false(push_at(&bench, 96, 5, 2)); /* but not [108, 118) */
    assert_false(push_at(&bench, 96, 6, 3));
    bench_restart(&bench);
    bench_watermark(&bench, 118, true); /* what its end was before must not count, nor be lost */
    assert_int_equal(made.count, 1);
    assert_int_equal(made.items[0].key, 2);
    bench_watermark(&bench, 119, true);
    assert_int_equal(made.count, 2);
    assert_int_equal(made.items[1].start, 96);
    assert_int_equal(made.items[1].end, 119);
    assert_int_equal(made.items[1].count, 3);
    check_balance(&bench);
    bench_close(&bench);
}

/* W passes the ends of many: they come back in parts, and the store is rid of them by one range. */
static void test_spilled_dues(void **state)
{
    (void)state;
    struct pipe_state_def def;
    struct bench bench;
    open_spilling(&bench, &def);
    for (int key = 0; key < MANY; key++)
        assert_true(push_at(&bench, 100 + key / 2, key, key));
    bench_spill(&bench, UINT64_MAX, false);
    uint64_t sessions = bench.ops->entry_count(bench.state);
    assert_int_equal(bench_in_memory(&bench), 0);
    watched = &bench;
    most_in_memory = 0;
    bench_watermark(&bench, 5000, true);
    watched = NULL;
    assert_int_equal(made.count, sessions);
    for (size_t i = 1; i < made.count; i++)
        assert_true(compare_rows(&made.items[i - 1], &made.items[i]) < 0);
    assert_true(most_in_memory > 0);
#ifdef PIPE_DEBUG /* comes back in smaller parts */
    assert_true(most_in_memory < 10);
#endif
    bench_save(&bench);
    assert_int_equal(count_kind(&bench, 'e'), 0);
    bench_close(&bench);
}

/* What has left memory is neither in a base nor behind it, and outlives both. */
static void test_spilled_base(void **state)
{
    (void)state;
    struct pipe_state_def def;
    struct bench bench;
    open_spilling(&bench, &def);
    push_many(&bench, 100, 0, FEW);
    bench_restart(&bench);
    assert_int_equal(count_kind(&bench, 'b'), 1);
    push_many(&bench, 105, 0, 1);
    bench_spill(&bench, 1, false); /* the first that has not changed */
    struct pipe_state_spilled spilled;
    bench.ops->spilled(bench.state, &spilled);
    assert_int_equal(spilled.entries, 1);
    assert_int_equal(count_kind(&bench, 'b'), 1);
    assert_int_equal(count_kind(&bench, 'p'), 2); /* one is over for the base */
    bench_restart(&bench);
    assert_int_equal(bench.ops->entry_count(bench.state), FEW);
    bench.ops->spilled(bench.state, &spilled);
    assert_int_equal(spilled.entries, 1);
    push_many(&bench, 106, 0, FEW); /* a new base, of all again */
    bench_restart(&bench);
    assert_int_equal(count_kind(&bench, 'e') + count_kind(&bench, 'p'), 0);
    bench_spill(&bench, UINT64_MAX, false);
    assert_int_equal(count_kind(&bench, 'e'), FEW);
    assert_int_equal(count_kind(&bench, 'b') + count_kind(&bench, 'p'), 0);
    bench_restart(&bench);
    bench_watermark(&bench, 500, true);
    assert_int_equal(made.count, FEW);
    assert_int_equal(made.items[0].count, 3);
    assert_int_equal(made.items[FEW - 1].count, 2);
    bench_close(&bench);
}

/* Keys that leave and come back again and again leave nothing behind. */
static void test_spilled_again(void **state)
{
    (void)state;
    struct pipe_state_def def;
    struct bench bench;
    open_spilling(&bench, &def);
    def.gap = 1000;
    uint64_t bytes = 0;
    for (int64_t round = 0; round < 200; round++) {
        push_many(&bench, 100 + round, 0, MANY);
        bench_spill(&bench, UINT64_MAX, false);
        assert_int_equal(bench_in_memory(&bench), 0);
        assert_int_equal(bench.store.count, MANY);
        if (round == 10)
            bytes = bench.ops->memory_bytes(bench.state);
    }
    assert_true(bench.ops->memory_bytes(bench.state) < bytes + (128 << 10));
    bench_watermark(&bench, 5000, true);
    assert_int_equal(made.count, MANY);
    bench_close(&bench);
}

static unsigned fatal_count;

void pipe_fatal(struct pipe_task *task, const char *format, ...)
{
    (void)task;
    (void)format;
    fatal_count++;
}

/* What is missing or cut short stops the task, whether a record asks for it or its end has come. */
static void test_spilled_damaged(void **state)
{
    (void)state;
    for (int kind = 0; kind < 6; kind++) {
        struct pipe_state_def def;
        struct bench bench;
        open_spilling(&bench, &def);
        push_many(&bench, 100, 0, 3);
        bench_spill(&bench, UINT64_MAX, false);
        struct store_entry *entry = &bench.store.entries[0];
        if (kind < 2)
            entry->value_bytes--;
        else if (kind < 4)
            entry->value[1]++; /* more sessions than it has */
        else
            store_take_out(&bench.store, 0);
        fatal_count = 0;
        if (kind % 2 != 0)
            bench_watermark(&bench, 500, true);
        else
            push_many(&bench, 101, 0, 3);
        /* Where a record asks, what is missing may as well be of another key. */
        assert_true(kind == 4 ? fatal_count == 0 : fatal_count > 0);
        bench_close(&bench);
    }
}

static void test_malformed_entries(void **state)
{
    (void)state;
    struct dice dice = {5};
    struct pipe_state_def def = random_def(&dice);
    struct bench bench;
    bench_open(&bench, &def, false);
    bench_attach(&bench);
    for (int64_t i = 0; i < KEYS; i++) {
        if (i == 2)
            bench_spill(&bench, UINT64_MAX, false);
        struct event event = {.time = 100 + i, .value = i, .offset = i, .key = (int)i};
        push_event(&bench, &event);
    }
    bench_save(&bench);
    for (unsigned i = 0; i < 2000; i++) {
        const struct store_entry *entry =
            &bench.store.entries[dice_roll(&dice, (int64_t)bench.store.count)];
        void *fresh = bench.ops->create(&def, &bench_hash_key);
        uint8_t *value = store_copy(entry->value, entry->value_bytes);
        size_t value_bytes = entry->value_bytes;
        if (i % 2 == 0)
            value_bytes = (size_t)dice_roll(&dice, (int64_t)value_bytes);
        else
            value[dice_roll(&dice, (int64_t)value_bytes)] = (uint8_t)dice_next(&dice);
        bool loaded = bench.ops->load(fresh, entry->key, entry->key_bytes, value, value_bytes);
        /* What left memory is judged when it comes back: test_spilled_damaged. */
        assert_true(i % 2 != 0 || !loaded || entry->key[0] == 'e');
        bench.ops->destroy(fresh);
        free(value);
    }
    bench_close(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_local),
        cmocka_unit_test(test_behind_exchange),
        cmocka_unit_test(test_before_time),
        cmocka_unit_test(test_bridge),
        cmocka_unit_test(test_base),
        cmocka_unit_test(test_base_given_up),
        cmocka_unit_test(test_malformed_entries),
        cmocka_unit_test(test_spilled_bridge),
        cmocka_unit_test(test_spilled_late),
        cmocka_unit_test(test_spilled_dues),
        cmocka_unit_test(test_spilled_base),
        cmocka_unit_test(test_spilled_again),
        cmocka_unit_test(test_spilled_damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
