/*
 * operators.c: what an operation of dedup, windows, sessions and aggregates costs, in CPU time of
 * this process (getrusage). Prints a line each; nothing is asserted. Links libpipe.a.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "pipe.h"
#include "state.h"

struct totals {
    struct pipe_sum_int cents;
    struct pipe_count events;
};

static void totals_init(void *acc)
{
    memset(acc, 0, sizeof(struct totals));
}

static void totals_merge(void *into, const void *from)
{
    struct totals *a = into;
    const struct totals *b = from;
    pipe_sum_int_merge(&a->cents, &b->cents);
    pipe_count_merge(&a->events, &b->events);
}

static void totals_save(const void *acc, struct pipe_buf *out)
{
    const struct totals *a = acc;
    pipe_sum_int_save(&a->cents, out);
    pipe_count_save(&a->events, out);
}

static bool totals_load(void *acc, struct pipe_reader *in)
{
    struct totals *a = acc;
    return pipe_sum_int_load(&a->cents, in) && pipe_count_load(&a->events, in);
}

static void totals_drop(void *acc)
{
    (void)acc;
}

static const struct pipe_accumulator totals = {
    sizeof(struct totals), true, totals_init, totals_merge, totals_save, totals_load, totals_drop,
};

static uint64_t rows;

static bool count_row(struct pipe_task *task, const struct pipe_window_row *row)
{
    (void)task;
    rows += ((const struct totals *)row->acc)->events.n > 0;
    return true;
}

static double cpu_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void report(const char *what, double since, uint64_t operations)
{
    double seconds = cpu_seconds() - since;
    printf("%-44s %8.1f ns/op %12.0f op/s\n", what, seconds * 1e9 / (double)operations,
           (double)operations / seconds);
}

static const char *wanted = "";

static bool is_wanted(const char *what)
{
    return strstr(what, wanted) != NULL;
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 31) * 0x9E3779B97F4A7C15u;
    return x ^ x >> 29;
}

struct fixture {
    struct pipe_task task;
    struct pipe_source_def source;
    struct pipe_counters counters;
    void *state;
    const struct pipe_state_ops *ops;
};

static void open_fixture(struct fixture *f, const struct pipe_state_def *def)
{
    static const struct pipe_hash_key key = {1, 2};
    memset(f, 0, sizeof *f);
    f->ops = pipe_state_ops_of(def->kind);
    f->state = f->ops->create(def, &key);
    f->task.states = &f->state;
    f->task.counters = &f->counters;
    f->task.source = &f->source;
    f->task.watermark = PIPE_TIME_MIN;
}

static void close_fixture(struct fixture *f)
{
    f->ops->destroy(f->state);
    pipe_buf_free(&f->task.key);
}

static void move_time(struct fixture *f, int64_t watermark)
{
    f->task.watermark = watermark;
    if (((const struct pipe_state *)f->state)->due <= watermark)
        f->ops->advance(&f->task, 0, watermark);
}

static void ignore_put(void *context, const void *key, size_t key_bytes, const void *value,
                       size_t value_bytes)
{
    (void)key;
    (void)value;
    *(uint64_t *)context += key_bytes + value_bytes;
}

static void ignore_remove(void *context, const void *key, size_t key_bytes)
{
    (void)context;
    (void)key;
    (void)key_bytes;
}

static void ignore_range(void *context, const void *from, size_t from_bytes, const void *to,
                         size_t to_bytes)
{
    (void)context;
    (void)from;
    (void)from_bytes;
    (void)to;
    (void)to_bytes;
}

static void put_hex(struct pipe_buf *key, uint64_t high, uint64_t low)
{
    uint8_t bytes[16];
    char text[36];
    memcpy(bytes, &high, 8);
    memcpy(bytes + 8, &low, 8);
    pipe_uuid_from_bytes(bytes, text);
    pipe_key_add_str(key, pipe_str_of(text, 36));
}

/* A million ids stay remembered; one record in 50 repeats one. `form` 0: 8 bytes, 1: UUID text, 2:
 * two. */
static void bench_dedup(const char *what, int form)
{
    enum { IDS = 1000000, OPERATIONS = 3000000 };
    struct pipe_state_def def = {.kind = PIPE_STATE_DEDUP, .name = "d", .ttl = IDS};
    struct fixture f;
    if (!is_wanted(what))
        return;
    uint64_t written = 0;
    struct pipe_state_writer writer = {&written, ignore_put, ignore_remove, ignore_range};
    open_fixture(&f, &def);
    for (int round = 0; round < 2; round++) {
        double since = cpu_seconds();
        uint64_t count = round == 0 ? IDS : OPERATIONS;
        for (uint64_t i = 0; i < count; i++) {
            uint64_t serial = (uint64_t)round * IDS + i;
            uint64_t id = mix(serial % 50 == 49 ? serial - 40000 : serial);
            struct pipe_record record = {.has_position = true, .event_time = (int64_t)serial};
            f.task.key.size = 0;
            if (form == 2)
                put_hex(&f.task.key, id / 8, 1);
            if (form >= 1)
                put_hex(&f.task.key, id, ~id);
            else
                pipe_buf_add(&f.task.key, &id, 8);
            pipe_dedup(&f.task, 0, &record, false);
            move_time(&f, (int64_t)serial);
            if (i % 50000 == 0)
                f.ops->save(f.state, &writer);
        }
        if (round == 1)
            report(what, since, count);
    }
    printf("    %.1f bytes an id, %.1f bytes stored\n",
           (double)f.ops->memory_bytes(f.state) / (double)f.ops->entry_count(f.state),
           (double)written / (double)(IDS + OPERATIONS));
    close_fixture(&f);
}

static void bench_window(const char *what, int64_t size, int64_t every, uint64_t keys,
                         enum pipe_emit emit)
{
    enum { OPERATIONS = 10000000 };
    struct pipe_state_def def = {.kind = PIPE_STATE_WINDOW,
                                 .name = "w",
                                 .size = size,
                                 .every = every,
                                 .emit = emit,
                                 .emit_every = PIPE_SECONDS(1),
                                 .acc = &totals,
                                 .emit_row = count_row};
    struct fixture f;
    if (!is_wanted(what))
        return;
    open_fixture(&f, &def);
    rows = 0;
    double since = cpu_seconds();
    for (uint64_t i = 0; i < OPERATIONS; i++) {
        uint64_t draw = mix(i + 1);
        int64_t now = (int64_t)i * 20; /* 50,000 a second */
        struct pipe_record record = {.has_position = true,
                                     .event_time = now - (int64_t)(draw >> 40) % 2000000};
        f.task.key.size = 0;
        pipe_key_add_i64(&f.task.key, (int64_t)(draw % keys));
        pipe_key_add_i64(&f.task.key, 77);
        struct pipe_window_hit hit = pipe_window(&f.task, 0, &record, false);
        if (hit.acc != NULL) {
            struct totals *acc = hit.acc;
            pipe_count_update(&acc->events);
            pipe_sum_int_update(&acc->cents, (int64_t)(draw & 0xFFFF));
        }
        move_time(&f, now - 2000000);
    }
    report(what, since, OPERATIONS);
    printf("    %llu rows, %llu late, %.1f MB\n", (unsigned long long)rows,
           (unsigned long long)f.counters.late, (double)f.ops->memory_bytes(f.state) / 1e6);
    close_fixture(&f);
}

static void bench_session(const char *what)
{
    enum { OPERATIONS = 5000000, OPEN = 100000 };
    struct pipe_state_def def = {.kind = PIPE_STATE_SESSION,
                                 .name = "s",
                                 .gap = OPEN * 3,
                                 .emit = PIPE_EMIT_CLOSE,
                                 .acc = &totals,
                                 .emit_row = count_row};
    struct fixture f;
    if (!is_wanted(what))
        return;
    open_fixture(&f, &def);
    rows = 0;
    double since = cpu_seconds();
    for (uint64_t i = 0; i < OPERATIONS; i++) {
        uint64_t draw = mix(i + 1), session = i / 20 + draw % OPEN;
        int64_t now = (int64_t)i;
        struct pipe_record record = {.has_position = true,
                                     .event_time = now - (int64_t)(draw >> 40) % 1000};
        f.task.key.size = 0;
        put_hex(&f.task.key, mix(session), session);
        struct pipe_window_hit hit = pipe_session(&f.task, 0, &record, false);
        if (hit.acc != NULL)
            pipe_count_update(&((struct totals *)hit.acc)->events);
        move_time(&f, now - 1000);
    }
    report(what, since, OPERATIONS);
    printf("    %llu rows, %llu open, %.1f MB\n", (unsigned long long)rows,
           (unsigned long long)f.ops->entry_count(f.state),
           (double)f.ops->memory_bytes(f.state) / 1e6);
    close_fixture(&f);
}

static void bench_aggregates(void)
{
    enum { OPERATIONS = 20000000 };
    struct pipe_sum_float sum;
    struct pipe_approx_quantile quantile;
    struct pipe_approx_count_distinct approx;
    struct pipe_count_distinct exact;
    double since = cpu_seconds(), out;
    int64_t n;
    pipe_sum_float_init(&sum);
    for (uint64_t i = 0; i < OPERATIONS; i++)
        pipe_sum_float_update(&sum, (double)(int64_t)mix(i) * 1e-9);
    report("sum(float64)", since, OPERATIONS);
    pipe_sum_float_finish(&sum, &out, NULL);
    pipe_sum_float_drop(&sum);
    since = cpu_seconds();
    pipe_approx_quantile_init(&quantile);
    for (uint64_t i = 0; i < OPERATIONS; i++)
        pipe_approx_quantile_update(&quantile, (double)(mix(i) % 100000));
    report("approx_quantile", since, OPERATIONS);
    pipe_approx_quantile_drop(&quantile);
    since = cpu_seconds();
    pipe_approx_count_distinct_init(&approx);
    for (uint64_t i = 0; i < OPERATIONS; i++)
        pipe_approx_count_distinct_update(&approx, pipe_str_of(&i, sizeof i));
    report("approx_count_distinct", since, OPERATIONS);
    pipe_approx_count_distinct_drop(&approx);
    since = cpu_seconds();
    pipe_count_distinct_init(&exact);
    for (uint64_t i = 0; i < OPERATIONS; i++) {
        uint64_t value = mix(i) % 100000;
        pipe_count_distinct_update(&exact, pipe_str_of(&value, sizeof value));
    }
    report("count_distinct, 100,000 values", since, OPERATIONS);
    pipe_count_distinct_finish(&exact, &n, NULL);
    pipe_count_distinct_drop(&exact);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        wanted = argv[1];
    bench_dedup("dedup, 8 byte key, 1 M remembered", 0);
    bench_dedup("dedup, UUID text, 1 M remembered", 1);
    bench_dedup("dedup, two UUID texts, 1 M remembered", 2);
    bench_window("tumbling 10s, 50 keys", PIPE_SECONDS(10), PIPE_SECONDS(10), 50, PIPE_EMIT_CLOSE);
    bench_window("tumbling 10s, 100,000 keys", PIPE_SECONDS(10), PIPE_SECONDS(10), 100000,
                 PIPE_EMIT_CLOSE);
    bench_window("hopping 10s every 1s, 50 keys", PIPE_SECONDS(10), PIPE_SECONDS(1), 50,
                 PIPE_EMIT_CLOSE);
    bench_window("hopping 100s every 100ms, 50 keys", PIPE_SECONDS(100), PIPE_MS(100), 50,
                 PIPE_EMIT_CLOSE);
    bench_window("tumbling 10s, update every 1s, 50 keys", PIPE_SECONDS(10), PIPE_SECONDS(10), 50,
                 PIPE_EMIT_UPDATE);
    bench_session("session, 100,000 open");
    if (is_wanted("aggregates"))
        bench_aggregates();
    return 0;
}
