/*
 * state.c: what the state store may give back, damaged: entries of dedup, windows and sessions,
 * partials of an exchange, rows, keys, accumulators. The first byte chooses; entries are: size of
 * the key, size of the value (2 bytes), both.
 */
#include "rows.h"
#include "state.h"
#include "window.h"

static bool failed; /* the engine was told to stop */

void __wrap_engine_fail(void *engine, int code, const char *format, ...)
{
    (void)engine;
    (void)code;
    (void)format;
    failed = true;
}

static const struct pipe_accumulator *accumulator;

static bool take_row(struct pipe_task *task, const struct pipe_window_row *row)
{
    struct pipe_buf bytes = {0};
    (void)task;
    accumulator->save(row->acc, &bytes);
    FUZZ_CHECK(row->start < row->end);
    pipe_buf_free(&bytes);
    return (row->end / 1000) % 3 != 0;
}

struct saved {
    const struct pipe_state_ops *ops;
    void *state;
    bool sound;
};

static void reload(void *context, const void *key, size_t key_bytes, const void *value,
                   size_t value_bytes)
{
    struct saved *saved = context;
    saved->sound &= saved->ops->load(saved->state, key, key_bytes, value, value_bytes);
}

static void ignore(void *context, const void *key, size_t key_bytes)
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

static const struct pipe_hash_key hash_key = {1, 2};

/* What it saves it must be able to load. */
static void save_and_load(const struct pipe_state_ops *ops, const struct pipe_state_def *def,
                          void *state)
{
    struct saved saved = {ops, ops->create(def, &hash_key), true};
    struct pipe_state_writer writer = {&saved, reload, ignore, ignore_range};
    ops->save(state, &writer);
    FUZZ_CHECK(saved.sound);
    ops->entry_count(saved.state);
    ops->destroy(saved.state);
}

static void operate(const struct pipe_state_ops *ops, struct pipe_task *task, int64_t watermark)
{
    void *state = task->states[0];
    ops->entry_count(state);
    ops->memory_bytes(state);
    if (((const struct pipe_state *)state)->due <= watermark)
        ops->advance(task, 0, watermark);
    ops->settle(task, 0);
    ops->open_pairs(state);
}

static void load_entries(struct pipe_state_def def, const uint8_t *at, const uint8_t *end)
{
    const struct pipe_state_ops *ops = pipe_state_ops_of(def.kind);
    struct pipe_counters counters = {0};
    void *state = ops->create(&def, &hash_key);
    struct pipe_task task = {.states = &state, .watermark = PIPE_TIME_MIN};
    bool sound = true;
    task.counters = &counters;
    pipe_arena_init(&task.arena, ROW_ARENA_BYTES);
    def.stream = 0;
    def.emit_row = take_row;
    accumulator = def.acc;
    int64_t watermark = (int64_t)fuzz_byte(&at, end) << 24;
    while (sound && at < end) {
        const uint8_t *key, *value;
        size_t key_bytes = fuzz_byte(&at, end), value_bytes = fuzz_byte(&at, end);
        value_bytes |= (size_t)fuzz_byte(&at, end) << 8;
        key_bytes = fuzz_take(&at, end, key_bytes, &key);
        value_bytes = fuzz_take(&at, end, value_bytes, &value);
        uint8_t *key_copy = fuzz_copy(key, key_bytes), *value_copy = fuzz_copy(value, value_bytes);
        sound = ops->load(state, key_copy, key_bytes, value_copy, value_bytes);
        free(key_copy);
        free(value_copy);
    }
    if (sound) {
        operate(ops, &task, watermark);
        save_and_load(ops, &def, state);
    }
    ops->destroy(state);
    pipe_arena_free(&task.arena);
}

static void merge_partials(struct pipe_state_def def, const uint8_t *at, const uint8_t *end)
{
    const struct pipe_state_ops *ops = pipe_state_ops_of(def.kind);
    struct pipe_counters counters = {0};
    void *state;
    def.stream = 0;
    def.phase = PIPE_PHASE_MERGE;
    def.emit_row = take_row;
    accumulator = def.acc;
    state = ops->create(&def, &hash_key);
    struct pipe_task task = {.states = &state, .watermark = PIPE_TIME_MIN};
    task.counters = &counters;
    pipe_arena_init(&task.arena, ROW_ARENA_BYTES);
    failed = false;
    while (!failed && at < end) {
        const uint8_t *payload;
        struct pipe_record record = {.has_position = true};
        int64_t watermark = (int64_t)fuzz_byte(&at, end) << 28;
        size_t size = fuzz_byte(&at, end);
        size = fuzz_take(&at, end, size, &payload);
        uint8_t *copy = fuzz_copy(payload, size);
        task.watermark = watermark > task.watermark ? watermark : task.watermark;
        pipe_window_merge(&task, 0, &record, pipe_str_of(copy, size));
        free(copy);
    }
    if (!failed) {
        operate(ops, &task, task.watermark);
        save_and_load(ops, &def, state);
    }
    ops->destroy(state);
    pipe_arena_free(&task.arena);
}

/* The text and the keys of maps in it are not checked again: writing them must be safe, not more.
 */
static void write_row(const struct pipe_row_type *type, const void *row, struct pipe_arena *arena)
{
    struct pipe_buf text = {0};
    void *other = pipe_calloc(1, type->size_bytes);
    pipe_row_to_json(type, row, &text);
    pipe_row_to_csv(type, row, &text);
    pipe_row_to_avro(type, row, &text);
    FUZZ_CHECK(pipe_row_copy(type, row, arena, other) && pipe_row_equal(type, row, other));
    pipe_buf_free(&text);
    free(other);
}

static void load_row(const struct pipe_row_type *type, const uint8_t *bytes, size_t size)
{
    struct pipe_arena arena;
    struct pipe_buf again = {0};
    uint8_t *copy = fuzz_copy(bytes, size);
    const uint8_t *at = copy;
    void *row = pipe_malloc(type->size_bytes);
    memset(row, 0xA5, type->size_bytes);
    pipe_arena_init(&arena, ROW_ARENA_BYTES);
    if (pipe_row_load(type, &at, copy + size, &arena, row)) {
        pipe_row_save(type, row, &again);
        FUZZ_CHECK(again.size == (size_t)(at - copy) && memcmp(again.data, copy, again.size) == 0);
        write_row(type, row, &arena);
    }
    pipe_buf_free(&again);
    pipe_arena_free(&arena);
    free(row);
    free(copy);
}

static void load_key(const uint8_t *bytes, size_t size)
{
    static const uint32_t columns[] = {0, 1, 2, 5, 6, 7, 8, 9, 10, 11, 12};
    enum { COUNT = sizeof columns / sizeof *columns };
    struct pipe_arena arena;
    struct pipe_buf again = {0};
    void *row = pipe_calloc(1, ROWS_TYPE->size_bytes);
    uint8_t *copy = fuzz_copy(bytes, size);
    const uint8_t *at = copy;
    pipe_arena_init(&arena, ROW_ARENA_BYTES);
    if (pipe_key_read_columns(&at, copy + size, &arena, ROWS_TYPE, row, columns, COUNT)) {
        pipe_key_add_columns(&again, ROWS_TYPE, row, columns, COUNT);
        FUZZ_CHECK(again.size == (size_t)(at - copy) && memcmp(again.data, copy, again.size) == 0);
    }
    pipe_buf_free(&again);
    pipe_arena_free(&arena);
    free(row);
    free(copy);
}

static void load_accumulator(const struct pipe_accumulator *acc, const uint8_t *bytes, size_t size)
{
    struct pipe_buf again = {0}, merged = {0};
    uint8_t *copy = fuzz_copy(bytes, size);
    void *a = pipe_calloc(1, acc->size_bytes), *b = pipe_calloc(1, acc->size_bytes);
    struct pipe_reader reader;
    acc->init(a);
    acc->init(b);
    pipe_reader_init(&reader, copy, size, NULL);
    if (acc->load(a, &reader)) {
        acc->save(a, &again);
        FUZZ_CHECK(again.size == (size_t)(reader.at - copy) &&
                   memcmp(again.data, copy, again.size) == 0);
        acc->merge(b, a);
        acc->save(b, &merged);
        FUZZ_CHECK(merged.size == again.size && memcmp(merged.data, again.data, again.size) == 0);
        acc->merge(b, a);
    }
    acc->drop(a);
    acc->drop(b);
    free(a);
    free(b);
    free(copy);
    pipe_buf_free(&again);
    pipe_buf_free(&merged);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *at = data, *end = data + size;
    uint8_t choice = fuzz_byte(&at, end);
    switch (choice) {
    case 0:
    case 1:
    case 2:
        load_entries(states_of_rows[choice], at, end);
        break;
    case 3:
        merge_partials(states_of_rows[STATE_hourly], at, end);
        break;
    case 4:
        load_row(EVENT_TYPE, at, (size_t)(end - at));
        break;
    case 5:
        load_row(ROWS_TYPE, at, (size_t)(end - at));
        break;
    case 6:
        load_key(at, (size_t)(end - at));
        break;
    case 7:
        load_accumulator(&hourly_accumulator, at, (size_t)(end - at));
        break;
    case 8:
        load_accumulator(&visits_accumulator, at, (size_t)(end - at));
        break;
    }
    return 0;
}
