/*
 * runtime_window.c: tumbling and hopping windows against a model that keeps every value of every
 * window in a list; straight, with saves and restarts, with late calls of advance, and in two
 * phases.
 */
#include "runtime_operators.h"

#define KEYS 4
#define RECORDS 260
#define MAX_WINDOWS 4000
#define MAX_ROWS 20000

/* --- Rows that were made --------------------------------------------------------------------- */

struct row {
    int64_t start, end, sum, count, last, distinct;
    int32_t revision, key;
};

static struct row rows[MAX_ROWS];
static size_t row_count;
static const struct bench *watched; /* whose memory is looked at when a row or partial is sent */
static uint64_t most_in_memory;
static int64_t reject_modulus; /* sums divisible by it are rejected; 0: none */

static bool is_rejected(int64_t sum)
{
    return reject_modulus != 0 && sum % reject_modulus == 0;
}

static void watch_memory(void)
{
    if (watched != NULL && bench_in_memory(watched) > most_in_memory)
        most_in_memory = bench_in_memory(watched);
}

static bool record_row(struct pipe_task *task, const struct pipe_window_row *from)
{
    const struct sample *acc = from->acc;
    struct row *row = &rows[row_count++];
    (void)task;
    assert_true(row_count < MAX_ROWS);
    memset(row, 0, sizeof *row);
    row->start = from->start;
    row->end = from->end;
    row->revision = from->revision;
    row->key = from->key[0];
    assert_true(pipe_sum_int_finish(&acc->sum, &row->sum, NULL));
    assert_true(pipe_count_finish(&acc->count, &row->count, NULL));
    row->last = sample_last(acc);
    row->distinct = sample_distinct(acc);
    watch_memory();
    return !is_rejected(row->sum);
}

/* --- Input and model ------------------------------------------------------------------------- */

struct event {
    int64_t time, value, judge; /* judge: watermark of its partition before it */
    int32_t key, partition;
    int64_t offset;
};

struct model_window {
    int64_t start, end, key;
    struct event events[RECORDS];
    size_t count;
};

static struct model_window windows[MAX_WINDOWS];
static size_t window_count;
static uint64_t pairs_in, pairs_late;

static struct model_window *model_window(int64_t end, int64_t size, int64_t key)
{
    for (size_t i = 0; i < window_count; i++) {
        if (windows[i].end == end && windows[i].key == key)
            return &windows[i];
    }
    assert_true(window_count < MAX_WINDOWS);
    struct model_window *made = &windows[window_count++];
    made->start = end - size;
    made->end = end;
    made->key = key;
    made->count = 0;
    return made;
}

static void model_add(const struct pipe_state_def *def, const struct event *event)
{
    /* Far enough below the first window, on the grid. */
    int64_t begin = def->offset;
    while (begin > event->time - def->size)
        begin -= def->every;
    for (; begin <= event->time; begin += def->every) {
        int64_t end = begin + def->size;
        if (event->time < begin || event->time >= end)
            continue;
        pairs_in++;
        if (event->judge != PIPE_TIME_MIN && end + def->lateness <= event->judge) {
            pairs_late++;
            continue;
        }
        struct model_window *window = model_window(end, def->size, event->key);
        window->events[window->count++] = *event;
    }
}

static bool is_after(const struct event *a, const struct event *b)
{
    if (a->time != b->time)
        return a->time > b->time;
    if (a->partition != b->partition)
        return a->partition > b->partition;
    return a->offset > b->offset;
}

static struct row model_row(const struct model_window *window)
{
    struct row row = {.start = window->start, .end = window->end, .key = (int32_t)window->key};
    const struct event *last = &window->events[0];
    for (size_t i = 0; i < window->count; i++) {
        const struct event *event = &window->events[i];
        bool seen = false;
        for (size_t k = 0; k < i; k++)
            seen = seen || window->events[k].value == event->value;
        row.distinct += !seen;
        row.sum += event->value;
        row.count++;
        if (is_after(event, last))
            last = event;
    }
    row.last = last->value;
    return row;
}

/* The last row of every window is the model's, revisions grow, nothing else was sent. */
static void check_last_rows(bool once)
{
    uint64_t seen = 0;
    for (size_t i = 0; i < window_count; i++) {
        struct row want = model_row(&windows[i]);
        const struct row *last = NULL;
        for (size_t k = 0; k < row_count; k++) {
            if (rows[k].end != want.end || rows[k].key != want.key)
                continue;
            assert_true(last == NULL || (!once && rows[k].revision > last->revision));
            last = &rows[k];
            seen++;
        }
        assert_non_null(last);
        want.revision = last->revision;
        assert_memory_equal(last, &want, sizeof want);
    }
    assert_int_equal(seen, row_count);
}

static uint64_t model_pairs(bool rejected)
{
    uint64_t pairs = 0;
    for (size_t i = 0; i < window_count; i++)
        pairs += is_rejected(model_row(&windows[i]).sum) == rejected ? windows[i].count : 0;
    return pairs;
}

static struct pipe_state_def random_def(struct dice *dice)
{
    static const int64_t shapes[][3] = {{100, 100, 0}, {100, 100, 30},   {100, 20, 0}, {100, 20, 7},
                                        {90, 40, 0},   {100, 10, 3},     {30, 50, 0},  {240, 10, 0},
                                        {70, 30, 11},  {1000, 1000, 999}};
    const int64_t *shape = shapes[dice_roll(dice, 10)];
    struct pipe_state_def def = {.kind = PIPE_STATE_WINDOW, .name = "w"};
    def.size = shape[0];
    def.every = shape[1];
    def.offset = shape[2];
    def.lateness = dice_roll(dice, 3) * 35;
    def.emit = (enum pipe_emit)dice_roll(dice, 3);
    def.emit_every = 1 + dice_roll(dice, 60);
    def.acc = &sample_accumulator;
    def.emit_row = record_row;
    return def;
}

static struct event random_event(struct dice *dice, int64_t *now, int64_t jitter)
{
    struct event event;
    *now += dice_roll(dice, 30) == 0 ? dice_roll(dice, 300) : dice_roll(dice, 12);
    event.time = *now - dice_roll(dice, jitter);
    event.value = dice_roll(dice, 50) - 20;
    event.key = (int32_t)dice_roll(dice, KEYS);
    event.partition = 0;
    event.offset = 0;
    return event;
}

static int64_t push_event(struct bench *bench, const struct event *event)
{
    struct pipe_record record = {.has_position = true,
                                 .partition = event->partition,
                                 .offset = event->offset,
                                 .event_time = event->time,
                                 .watermark = event->judge};
    uint8_t key[3] = {(uint8_t)event->key, 7, 7};
    bench_key(bench, key, sizeof key);
    bool is_ahead = bench_ask(bench, event->offset % 2 == 0);
    struct pipe_window_hit hit = pipe_window(&bench->task, 0, &record, is_ahead);
    if (hit.acc != NULL)
        sample_update(hit.acc, &record, event->value);
    if (hit.late > 0) {
        const struct pipe_state_def *def = bench->def;
        int64_t last = hit.late_end + (int64_t)(hit.late - 1) * def->every;
        assert_true(event->time < hit.late_end && event->time >= last - def->size);
        assert_true(last + def->lateness <= event->judge);
    }
    return hit.late;
}

static void check_balance(const struct bench *bench)
{
    const struct pipe_counters *c = &bench->counters;
    uint64_t open = bench->ops->open_pairs(bench->state);
    if (bench->def->phase == PIPE_PHASE_LOCAL)
        assert_int_equal(c->window_in, c->late + c->emitted + c->window_rejected + open);
    else if (bench->def->phase == PIPE_PHASE_PARTIAL)
        assert_int_equal(c->window_in, c->late + c->shipped + open);
    else
        assert_int_equal(c->received, c->late + c->emitted + c->window_rejected + open);
}

static void forget_run(void)
{
    row_count = window_count = 0;
    pairs_in = pairs_late = 0;
}

/* --- One task -------------------------------------------------------------------------------- */

struct trouble {
    unsigned restart_one_in, settle_one_in; /* 0: never */
    bool lag;                               /* advance is called only now and then */
    uint64_t seed;
    bool spills; /* now and then some windows, or all, leave memory */
};

static uint64_t total_reads;

static void run_local(uint64_t seed, const struct pipe_state_def *def,
                      const struct trouble *trouble, bool with_model)
{
    struct dice dice = {seed}, other = {trouble->seed};
    struct bench bench;
    int64_t bound = dice_roll(&dice, 50), now = 5000 + dice_roll(&dice, 1000);
    int64_t jitter = 1 + dice_roll(&dice, 120), greatest = PIPE_TIME_MIN;
    bench_open(&bench, def, false);
    if (trouble->spills)
        bench_attach(&bench);
    for (int64_t i = 0; i < RECORDS; i++) {
        struct event event = random_event(&dice, &now, jitter);
        event.offset = i;
        event.judge = bench.task.watermark;
        bool settle = dice_roll(&dice, 10) == 0;
        if (with_model)
            model_add(def, &event);
        push_event(&bench, &event);
        greatest = event.time > greatest ? event.time : greatest;
        bench_watermark(&bench, greatest - bound, !trouble->lag || dice_roll(&other, 4) == 0);
        if (trouble->settle_one_in != 0 ? dice_roll(&other, trouble->settle_one_in) == 0 : settle)
            bench.ops->settle(&bench.task, 0);
        if (trouble->restart_one_in != 0 && dice_roll(&other, trouble->restart_one_in) == 0)
            bench_restart(&bench);
        else if (trouble->spills)
            bench_spill_some(&bench, &other);
        check_balance(&bench);
    }
    total_reads += bench_spilled_reads(&bench);
    bench_watermark(&bench, PIPE_TIME_MAX, true);
    bench.ops->settle(&bench.task, 0);
    check_balance(&bench);
    assert_int_equal(bench.ops->open_pairs(bench.state), 0);
    assert_int_equal(bench.ops->entry_count(bench.state), 0);
    bench_save(&bench);
    assert_true(bench.store.count <= 1);
    if (with_model) {
        assert_int_equal(bench.counters.window_in, pairs_in);
        assert_int_equal(bench.counters.late, pairs_late);
        assert_int_equal(bench.counters.emitted, model_pairs(false));
        assert_int_equal(bench.counters.window_rejected, model_pairs(true));
    }
    bench_close(&bench);
}

static void test_local(void **state)
{
    (void)state;
    static struct row straight[MAX_ROWS];
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct dice dice = {seed * 77};
        struct pipe_state_def def = random_def(&dice);
        reject_modulus = seed % 3 == 0 ? 5 : 0;
        bool once =
            def.emit == PIPE_EMIT_FINAL || (def.emit == PIPE_EMIT_CLOSE && def.lateness == 0);
        forget_run();
        run_local(seed, &def, &(struct trouble){0}, true);
        check_last_rows(once);
        size_t count = row_count;
        memcpy(straight, rows, count * sizeof *rows);
        /* Restarts change nothing, nor does a lazy engine, if the commits are the same. */
        for (unsigned lag = 0; lag < 4; lag++) {
            row_count = 0;
            run_local(seed, &def, &(struct trouble){9, 0, lag % 2 != 0, seed, lag > 1}, false);
            if (lag % 2 == 0 || once) {
                assert_int_equal(row_count, count);
                assert_memory_equal(rows, straight, count * sizeof *rows);
            }
            check_last_rows(once);
        }
        /* Other commits, other corrections; the last rows are the same, revision and all. */
        row_count = 0;
        run_local(seed, &def, &(struct trouble){7, 3, false, seed + 1, seed % 2 == 0}, false);
        check_last_rows(once);
        for (size_t i = 0; i < count; i++) {
            const struct row *a = NULL, *b = NULL;
            for (size_t k = 0; k < count; k++)
                a = straight[k].end == straight[i].end && straight[k].key == straight[i].key
                        ? &straight[k]
                        : a;
            for (size_t k = 0; k < row_count; k++)
                b = rows[k].end == straight[i].end && rows[k].key == straight[i].key ? &rows[k] : b;
            assert_memory_equal(a, b, sizeof *a);
        }
    }
    reject_modulus = 0;
    assert_true(total_reads > 3 * SEEDS);
}

/* --- Two phases ------------------------------------------------------------------------------ */

#define PARTITIONS 3

struct message {
    bool is_marker;
    int partition;
    int64_t watermark;
    size_t size;
    uint8_t bytes[2000];
};

static struct message exchange[20000];
static size_t sent, taken;
static int sender;

void pipe_exchange_partial(struct pipe_task *task, uint32_t index, const uint8_t *key,
                           uint32_t key_bytes, struct pipe_str payload)
{
    (void)task;
    assert_int_equal(index, 3);
    assert_true(key_bytes == 3 && key[0] < KEYS);
    assert_true(sent < 20000 && payload.size <= sizeof exchange[0].bytes);
    struct message *message = &exchange[sent++];
    message->is_marker = false;
    message->partition = sender;
    message->size = payload.size;
    memcpy(message->bytes, payload.data, payload.size);
    watch_memory();
}

static unsigned fatal_count;

void pipe_fatal(struct pipe_task *task, const char *format, ...)
{
    (void)task;
    (void)format;
    fatal_count++;
}

static void commit_source(struct bench *source, int partition)
{
    sender = partition;
    source->ops->settle(&source->task, 0);
    exchange[sent++] = (struct message){
        .is_marker = true, .partition = partition, .watermark = source->task.watermark};
}

static void run_merge(struct bench *merge, int64_t markers[PARTITIONS], size_t count,
                      struct dice *dice, bool lag)
{
    for (; count > 0 && taken < sent; count--) {
        const struct message *message = &exchange[taken++];
        if (message->is_marker) {
            int64_t least = PIPE_TIME_MAX;
            markers[message->partition] = message->watermark;
            for (int p = 0; p < PARTITIONS; p++)
                least = markers[p] < least ? markers[p] : least;
            bench_watermark(merge, least, !lag || dice_roll(dice, 3) == 0);
            continue;
        }
        struct pipe_record record = {.offset = (int64_t)taken};
        pipe_window_merge(&merge->task, 0, &record, pipe_str_of(message->bytes, message->size));
        check_balance(merge);
    }
}

static void feed_sources(struct bench *sources, struct bench *merge, struct dice *dice,
                         bool trouble)
{
    int64_t now[PARTITIONS] = {5000, 5300, 5100}, greatest[PARTITIONS], markers[PARTITIONS];
    int64_t left[PARTITIONS], bound = dice_roll(dice, 40), jitter = 1 + dice_roll(dice, 150);
    struct dice other = {dice->state + 5};
    for (int p = 0; p < PARTITIONS; p++) {
        greatest[p] = markers[p] = PIPE_TIME_MIN;
        left[p] = RECORDS / PARTITIONS;
    }
    for (int live = PARTITIONS; live > 0;) {
        int p = (int)dice_roll(dice, PARTITIONS);
        struct bench *source = &sources[p];
        if (left[p] == 0) {
            left[p] = -1;
            live--;
            sender = p;
            bench_watermark(source, PIPE_TIME_MAX, true);
            commit_source(source, p);
        }
        for (int64_t i = dice_roll(dice, 9); i > 0 && left[p] > 0; i--) {
            struct event event = random_event(dice, &now[p], jitter);
            event.partition = p;
            event.offset = left[p]--;
            event.judge = source->task.watermark;
            sender = p;
            model_add(sources[0].def, &event);
            push_event(source, &event);
            greatest[p] = event.time > greatest[p] ? event.time : greatest[p];
            bench_watermark(source, greatest[p] - bound, !trouble || dice_roll(&other, 3) == 0);
            if (trouble && dice_roll(&other, 9) == 0)
                bench_restart(source);
            else if (trouble)
                bench_spill_some(source, &other);
            check_balance(source);
        }
        if (dice_roll(dice, 2) == 0 && left[p] >= 0)
            commit_source(source, p);
        run_merge(merge, markers, (size_t)dice_roll(dice, 20), &other, trouble);
        if (dice_roll(dice, 3) == 0)
            merge->ops->settle(&merge->task, 0);
        if (trouble && dice_roll(&other, 5) == 0)
            bench_restart(merge);
        else if (trouble)
            bench_spill_some(merge, &other);
    }
    run_merge(merge, markers, SIZE_MAX, &other, false);
    merge->ops->settle(&merge->task, 0);
}

static void run_two_phase(uint64_t seed)
{
    struct dice dice = {seed};
    struct pipe_state_def from = random_def(&dice), to;
    struct bench sources[PARTITIONS], merge;
    struct pipe_counters sum = {0};
    from.phase = PIPE_PHASE_PARTIAL;
    from.exchange = 3;
    from.emit_row = NULL;
    to = from;
    to.phase = PIPE_PHASE_MERGE;
    to.emit_row = record_row;
    forget_run();
    sent = taken = 0;
    for (int p = 0; p < PARTITIONS; p++)
        bench_open(&sources[p], &from, false);
    bench_open(&merge, &to, true);
    bench_attach(&merge);
    for (int p = 0; p < PARTITIONS; p++)
        bench_attach(&sources[p]);
    feed_sources(sources, &merge, &dice, seed % 2 == 0);
    check_last_rows(to.emit == PIPE_EMIT_FINAL || (to.emit == PIPE_EMIT_CLOSE && to.lateness == 0));
    for (int p = 0; p < PARTITIONS; p++) {
        sum.window_in += sources[p].counters.window_in;
        sum.late += sources[p].counters.late;
        sum.shipped += sources[p].counters.shipped;
        assert_int_equal(sources[p].ops->open_pairs(sources[p].state), 0);
        assert_int_equal(sources[p].ops->entry_count(sources[p].state), 0);
        bench_close(&sources[p]);
    }
    assert_int_equal(sum.window_in, pairs_in);
    assert_int_equal(sum.late, pairs_late);
    assert_int_equal(sum.shipped, merge.counters.received);
    assert_int_equal(merge.counters.late, 0);
    assert_int_equal(merge.counters.emitted, model_pairs(false));
    assert_int_equal(merge.counters.window_rejected, model_pairs(true));
    assert_int_equal(merge.ops->open_pairs(merge.state), 0);
    assert_int_equal(merge.ops->entry_count(merge.state), 0);
    bench_close(&merge);
}

static void test_two_phases(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        reject_modulus = seed % 5 == 0 ? 3 : 0;
        run_two_phase(seed);
    }
    reject_modulus = 0;
}

static void ship_all(uint64_t seed, bool spills)
{
    struct dice dice = {seed}, other = {seed + 3};
    struct pipe_state_def def = random_def(&dice);
    struct bench bench;
    int64_t now = 5000, jitter = 1 + dice_roll(&dice, 150), greatest = PIPE_TIME_MIN;
    def.phase = PIPE_PHASE_PARTIAL;
    def.exchange = 3;
    def.emit_row = NULL;
    def.emit_every *= 4;
    bench_open(&bench, &def, false);
    if (spills)
        bench_attach(&bench);
    for (int64_t i = 0; i < RECORDS; i++) {
        struct event event = random_event(&dice, &now, jitter);
        event.offset = i;
        event.judge = bench.task.watermark;
        push_event(&bench, &event);
        greatest = event.time > greatest ? event.time : greatest;
        bench_watermark(&bench, greatest - 20, true);
        if (dice_roll(&dice, 20) == 0)
            commit_source(&bench, 0);
        if (spills)
            bench_spill_some(&bench, &other);
        if (spills && dice_roll(&other, 30) == 0)
            bench_restart(&bench);
        check_balance(&bench);
    }
    total_reads += bench_spilled_reads(&bench);
    bench_watermark(&bench, PIPE_TIME_MAX, true);
    commit_source(&bench, 0);
    assert_int_equal(bench.ops->entry_count(bench.state), 0);
    bench_save(&bench);
    assert_true(bench.store.count <= 1);
    bench_close(&bench);
}

/* Partials are the same, in the same order, whether or not their keys left memory. */
static void test_partials_in_order(void **state)
{
    (void)state;
    total_reads = 0;
    for (uint64_t seed = 1; seed <= SEEDS * 2 / 3; seed++) {
        sent = 0;
        ship_all(seed, false);
        size_t count = sent;
        ship_all(seed, true);
        assert_int_equal(sent, 2 * count);
        for (size_t i = 0; i < count; i++) {
            const struct message *a = &exchange[i], *b = &exchange[count + i];
            assert_int_equal(a->is_marker, b->is_marker);
            assert_int_equal(a->size, b->size);
            assert_memory_equal(a->bytes, b->bytes, a->size);
        }
    }
    assert_true(total_reads > 3 * SEEDS);
}

/* --- Single cases ---------------------------------------------------------------------------- */

static struct pipe_state_def plain_def(enum pipe_emit emit, int64_t lateness)
{
    return (struct pipe_state_def){.kind = PIPE_STATE_WINDOW,
                                   .name = "w",
                                   .size = 100,
                                   .every = 100,
                                   .lateness = lateness,
                                   .emit = emit,
                                   .emit_every = 10,
                                   .acc = &sample_accumulator,
                                   .emit_row = record_row};
}

static void put_one(struct bench *bench, int64_t time, int key)
{
    struct event event = {.time = time, .value = 1, .key = key, .judge = bench->task.watermark};
    push_event(bench, &event);
}

/* emit on close: revision 0 when the window closes, then what came since; a window that ended
 * without a record begins at its first one. */
static void test_revisions(void **state)
{
    (void)state;
    struct pipe_state_def def = plain_def(PIPE_EMIT_CLOSE, 50);
    struct bench bench;
    forget_run();
    bench_open(&bench, &def, false);
    put_one(&bench, 10, 1);
    put_one(&bench, 20, 1);
    bench_watermark(&bench, 110, true);
    assert_int_equal(row_count, 1);
    assert_int_equal(rows[0].revision, 0);
    put_one(&bench, 30, 1);
    put_one(&bench, 40, 1);
    put_one(&bench, 50, 2);
    put_one(&bench, 60, 2);
    assert_int_equal(row_count, 1);
    bench.ops->settle(&bench.task, 0);
    assert_int_equal(row_count, 3);
    assert_int_equal(rows[1].key, 1);
    assert_int_equal(rows[1].revision, 2);
    assert_int_equal(rows[1].count, 4);
    assert_int_equal(rows[2].key, 2);
    assert_int_equal(rows[2].revision, 1);
    bench.ops->settle(&bench.task, 0);
    assert_int_equal(row_count, 3);
    put_one(&bench, 70, 2);
    bench_watermark(&bench, 150, true); /* forgotten: the correction goes out first */
    assert_int_equal(row_count, 4);
    assert_int_equal(rows[3].revision, 2);
    put_one(&bench, 80, 2);
    assert_int_equal(bench.counters.late, 1);
    assert_int_equal(bench.counters.emitted, 7);
    bench_close(&bench);
}

/* Rows closed together go by (end, key); rows made by a window are never late. */
static void test_order(void **state)
{
    (void)state;
    struct pipe_state_def def = plain_def(PIPE_EMIT_CLOSE, 0);
    struct bench bench;
    forget_run();
    bench_open(&bench, &def, false);
    for (int key = KEYS - 1; key >= 0; key--) {
        put_one(&bench, 150, key);
        put_one(&bench, 50, key);
    }
    bench.task.watermark = 1000; /* advance of this state is yet to come */
    struct pipe_record record = {.event_time = 99, .watermark = 1000};
    bench_key(&bench, "\2\7\7", 3);
    struct pipe_window_hit hit = pipe_window(&bench.task, 0, &record, false);
    assert_non_null(hit.acc);
    sample_update(hit.acc, &record, 1);
    bench_watermark(&bench, 1000, true);
    assert_int_equal(row_count, 2 * KEYS);
    for (int i = 0; i < 2 * KEYS; i++) {
        assert_int_equal(rows[i].end, i < KEYS ? 100 : 200);
        assert_int_equal(rows[i].key, i % KEYS);
        assert_int_equal(rows[i].count, i == 2 ? 2 : 1);
    }
    assert_int_equal(bench.counters.late, 0);
    bench_close(&bench);
}

/* An early row when W passes a multiple of d, if something is new. */
static void test_updates(void **state)
{
    (void)state;
    struct pipe_state_def def = plain_def(PIPE_EMIT_UPDATE, 0);
    struct bench bench;
    forget_run();
    bench_open(&bench, &def, false);
    bench_watermark(&bench, 1, true);
    put_one(&bench, 10, 1);
    bench_watermark(&bench, 9, true);
    assert_int_equal(row_count, 0);
    bench_watermark(&bench, 12, true);
    assert_int_equal(row_count, 1);
    bench_watermark(&bench, 31, true);
    assert_int_equal(row_count, 1);
    put_one(&bench, 35, 1);
    put_one(&bench, 36, 1);
    bench_watermark(&bench, 100, true);
    assert_int_equal(row_count, 2);
    assert_int_equal(rows[0].revision, 1);
    assert_int_equal(rows[1].revision, 3);
    bench_close(&bench);
}

static void test_malformed_entries(void **state)
{
    (void)state;
    struct pipe_state_def def = plain_def(PIPE_EMIT_CLOSE, 50);
    struct dice dice = {3};
    struct bench bench;
    forget_run();
    bench_open(&bench, &def, false);
    for (int key = 0; key < KEYS; key++)
        put_one(&bench, 50, key);
    bench_watermark(&bench, 110, true);
    bench_save(&bench);
    for (unsigned i = 0; i < 3000; i++) {
        const struct store_entry *entry =
            &bench.store.entries[dice_roll(&dice, (int64_t)bench.store.count)];
        void *fresh = bench.ops->create(&def, &bench_hash_key);
        uint8_t *key = store_copy(entry->key, entry->key_bytes);
        uint8_t *value = store_copy(entry->value, entry->value_bytes);
        size_t key_bytes = entry->key_bytes, value_bytes = entry->value_bytes;
        if (i % 3 == 0)
            value_bytes = (size_t)dice_roll(&dice, (int64_t)value_bytes);
        else if (i % 3 == 1)
            value[dice_roll(&dice, (int64_t)value_bytes)] = (uint8_t)dice_next(&dice);
        else
            key[dice_roll(&dice, (int64_t)key_bytes)] ^= (uint8_t)(1 + dice_roll(&dice, 255));
        bool loaded = bench.ops->load(fresh, key, key_bytes, value, value_bytes);
        assert_true(i % 3 != 0 || !loaded); /* cut short: refused */
        bench.ops->destroy(fresh);
        free(key);
        free(value);
    }
    bench_close(&bench);
}

/* A partial that is cut short or changed stops the program, or reads as another one; nothing else.
 */
static void test_malformed_partials(void **state)
{
    (void)state;
    struct pipe_state_def from = plain_def(PIPE_EMIT_CLOSE, 0), to;
    struct dice dice = {4};
    struct bench source, merge;
    from.every = 20;
    from.exchange = 3;
    from.phase = PIPE_PHASE_PARTIAL;
    to = from;
    to.phase = PIPE_PHASE_MERGE;
    forget_run();
    sent = taken = 0;
    fatal_count = 0;
    bench_open(&source, &from, false);
    put_one(&source, 50, 1);
    put_one(&source, 51, 1);
    bench_watermark(&source, PIPE_TIME_MAX, true);
    assert_int_equal(sent, 1);
    for (unsigned i = 0; i < 4000; i++) {
        size_t size = i < exchange[0].size ? i : exchange[0].size;
        uint8_t *bytes = store_copy(exchange[0].bytes, size);
        struct pipe_record record = {.offset = 0};
        if (i >= exchange[0].size)
            bytes[dice_roll(&dice, (int64_t)size)] = (uint8_t)dice_next(&dice);
        bench_open(&merge, &to, true);
        pipe_window_merge(&merge.task, 0, &record, pipe_str_of(bytes, size));
        assert_true(i >= exchange[0].size || fatal_count == i + 1);
        check_balance(&merge);
        bench_close(&merge);
        free(bytes);
    }
    bench_close(&source);
}

/* Many keys of one window that left memory: one after the other comes back, gives its row or
 * partial, and is gone. */
static void test_one_at_a_time(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        struct pipe_state_def def = plain_def(PIPE_EMIT_FINAL, 0);
        struct bench bench;
        if (kind > 0) {
            def.phase = PIPE_PHASE_PARTIAL;
            def.exchange = 3;
            def.emit = kind == 1 ? PIPE_EMIT_CLOSE : PIPE_EMIT_UPDATE;
            def.emit_every = 40; /* a multiple is passed before the window is over */
        }
        row_count = sent = 0;
        bench_open(&bench, &def, false);
        bench_attach(&bench);
        for (int32_t i = 0; i < KEYS; i++) {
            struct event event = {.time = 110, .value = 1, .key = i, .offset = i};
            event.judge = PIPE_TIME_MIN;
            push_event(&bench, &event);
            bench_spill(&bench, UINT64_MAX, false);
        }
        assert_int_equal(bench_in_memory(&bench), 0);
        watched = &bench;
        most_in_memory = 0;
        bench_watermark(&bench, kind == 2 ? 130 : 200, true);
        watched = NULL;
        assert_int_equal(kind == 0 ? row_count : sent, KEYS);
        assert_int_equal(most_in_memory, 1);
        assert_int_equal(bench.ops->entry_count(bench.state), 0);
        bench_save(&bench);
        assert_true(bench.store.count <= 1);
        bench_close(&bench);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_local),
        cmocka_unit_test(test_two_phases),
        cmocka_unit_test(test_partials_in_order),
        cmocka_unit_test(test_one_at_a_time),
        cmocka_unit_test(test_revisions),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_updates),
        cmocka_unit_test(test_malformed_entries),
        cmocka_unit_test(test_malformed_partials),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
