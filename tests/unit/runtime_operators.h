/*
 * runtime_operators.h: what the tests of dedup, windows and sessions share: a seeded generator, a
 * store in memory, a task without an engine, and an accumulator with parts of every kind (plain,
 * owning, set).
 */
#ifndef RUNTIME_OPERATORS_H
#define RUNTIME_OPERATORS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Random cases of a test: with a sanitizer each takes five times as long, and memory is touched in
 * few ways. */
#ifdef __SANITIZE_ADDRESS__
#define SEEDS 100u
#else
#define SEEDS 300u
#endif

#include <cmocka.h>

#include "pipe.h"
#include "state.h"

/* --- Numbers --------------------------------------------------------------------------------- */

struct dice {
    uint64_t state;
};

static inline uint64_t dice_next(struct dice *dice)
{
    uint64_t z = dice->state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static inline int64_t dice_roll(struct dice *dice, int64_t below)
{
    return (int64_t)(dice_next(dice) % (uint64_t)below);
}

/* --- Store ----------------------------------------------------------------------------------- */

struct store_entry {
    uint8_t *key, *value;
    size_t key_bytes, value_bytes;
};

struct store {
    struct store_entry *entries;
    size_t count, capacity;
};

static inline int store_compare(const struct store_entry *entry, const void *key, size_t bytes)
{
    return pipe_str_compare(pipe_str_of(entry->key, entry->key_bytes), pipe_str_of(key, bytes));
}

static inline void store_take_out(struct store *store, size_t i)
{
    free(store->entries[i].key);
    free(store->entries[i].value);
    store->entries[i] = store->entries[--store->count];
}

static inline void store_remove(void *context, const void *key, size_t key_bytes)
{
    struct store *store = context;
    for (size_t i = 0; i < store->count; i++) {
        if (store_compare(&store->entries[i], key, key_bytes) == 0) {
            store_take_out(store, i);
            return;
        }
    }
}

static inline void *store_copy(const void *bytes, size_t size)
{
    void *copy = malloc(size + 1); /* exact sizes, so that reading beyond shows */
    assert_non_null(copy);
    copy = realloc(copy, size > 0 ? size : 1);
    if (size > 0)
        memcpy(copy, bytes, size);
    return copy;
}

static inline void store_put(void *context, const void *key, size_t key_bytes, const void *value,
                             size_t value_bytes)
{
    struct store *store = context;
    store_remove(store, key, key_bytes);
    if (store->count == store->capacity) {
        store->capacity = store->capacity * 2 + 16;
        store->entries = realloc(store->entries, store->capacity * sizeof *store->entries);
        assert_non_null(store->entries);
    }
    store->entries[store->count++] = (struct store_entry){
        store_copy(key, key_bytes), store_copy(value, value_bytes), key_bytes, value_bytes};
}

static inline void store_remove_range(void *context, const void *from, size_t from_bytes,
                                      const void *to, size_t to_bytes)
{
    struct store *store = context;
    for (size_t i = 0; i < store->count;) {
        const struct store_entry *entry = &store->entries[i];
        if (store_compare(entry, from, from_bytes) >= 0 && store_compare(entry, to, to_bytes) < 0)
            store_take_out(store, i);
        else
            i++;
    }
}

static inline void store_free(struct store *store)
{
    while (store->count > 0)
        store_take_out(store, store->count - 1);
    free(store->entries);
    memset(store, 0, sizeof *store);
}

/* --- Task ------------------------------------------------------------------------------------ */

struct bench {
    struct pipe_task task;
    struct pipe_source_def source;
    struct pipe_counters counters;
    void *state;
    const struct pipe_state_def *def;
    const struct pipe_state_ops *ops;
    struct store store;
    bool attached;
};

static const struct pipe_hash_key bench_hash_key = {0x0123456789ABCDEF, 0xFEDCBA9876543210};

static inline void bench_open(struct bench *bench, const struct pipe_state_def *def,
                              bool behind_exchange)
{
    memset(bench, 0, sizeof *bench);
    bench->def = def;
    bench->ops = pipe_state_ops_of(def->kind);
    bench->state = bench->ops->create(def, &bench_hash_key);
    bench->task.states = &bench->state;
    bench->task.counters = &bench->counters;
    bench->task.watermark = PIPE_TIME_MIN;
    bench->task.source = behind_exchange ? NULL : &bench->source;
}

static inline void bench_close(struct bench *bench)
{
    bench->ops->destroy(bench->state);
    store_free(&bench->store);
    pipe_buf_free(&bench->task.key);
    pipe_buf_free(&bench->task.value);
}

static inline void bench_save(struct bench *bench)
{
    struct pipe_state_writer writer = {&bench->store, store_put, store_remove, store_remove_range};
    bench->ops->save(bench->state, &writer);
}

static inline bool store_get(const struct pipe_state_reader *reader, const void *key,
                             size_t key_bytes, struct pipe_buf *value, bool *found)
{
    const struct store *store = reader->context;
    *found = false;
    for (size_t i = 0; i < store->count && !*found; i++) {
        const struct store_entry *entry = &store->entries[i];
        *found = store_compare(entry, key, key_bytes) == 0;
        value->size = 0;
        if (*found)
            pipe_buf_add(value, entry->value, entry->value_bytes);
    }
    return true;
}

static inline bool store_scan(const struct pipe_state_reader *reader, const void *from,
                              size_t from_bytes, pipe_state_each *each, void *context)
{
    const struct store *store = reader->context;
    const struct store_entry *last = NULL;
    for (;;) {
        const struct store_entry *next = NULL;
        for (size_t i = 0; i < store->count; i++) {
            const struct store_entry *entry = &store->entries[i];
            if (store_compare(entry, from, from_bytes) >= 0 &&
                (last == NULL || store_compare(entry, last->key, last->key_bytes) > 0) &&
                (next == NULL || store_compare(entry, next->key, next->key_bytes) < 0))
                next = entry;
        }
        if (next == NULL || next->key[0] != *(const uint8_t *)from ||
            !each(context, pipe_str_of(next->key, next->key_bytes),
                  pipe_str_of(next->value, next->value_bytes)))
            return true;
        last = next;
    }
}

static inline const char *store_fault(const struct pipe_state_reader *reader)
{
    (void)reader;
    return "none";
}

/* From now on the state may spill. */
static inline void bench_attach(struct bench *bench)
{
    struct pipe_state_reader reader = {
        .context = &bench->store, .get = store_get, .scan = store_scan, .fault = store_fault};
    bench->attached = bench->ops->attach != NULL;
    if (bench->attached)
        bench->ops->attach(bench->state, &reader);
}

/* Saves, and lets the state go of about so many bytes in the same save. */
static inline void bench_spill(struct bench *bench, uint64_t bytes, bool traces)
{
    struct pipe_state_writer writer = {&bench->store, store_put, store_remove, store_remove_range};
    bench->ops->spill(bench->state, bytes, traces, &writer);
    bench->ops->save(bench->state, &writer);
}

/* Now and then some of it leaves memory, or all. */
static inline void bench_spill_some(struct bench *bench, struct dice *dice)
{
    if (dice_roll(dice, 6) == 0)
        bench_spill(bench, dice_roll(dice, 3) == 0 ? UINT64_MAX : 2000, false);
}

static inline uint64_t bench_spilled_reads(const struct bench *bench)
{
    struct pipe_state_spilled spilled;
    bench->ops->spilled(bench->state, &spilled);
    return spilled.reads;
}

/* Windows or sessions that are in memory. */
static inline uint64_t bench_in_memory(const struct bench *bench)
{
    struct pipe_state_spilled spilled;
    bench->ops->spilled(bench->state, &spilled);
    return bench->ops->entry_count(bench->state) - spilled.entries;
}

static inline int store_compare_entries(const void *a, const void *b)
{
    const struct store_entry *x = a, *y = b;
    return store_compare(x, y->key, y->key_bytes);
}

/* Saves, destroys and loads, the entries in the order of their keys. */
static inline void bench_restart(struct bench *bench)
{
    bench_save(bench);
    bench->ops->destroy(bench->state);
    bench->state = bench->ops->create(bench->def, &bench_hash_key);
    if (bench->attached)
        bench_attach(bench);
    if (bench->store.count > 1)
        qsort(bench->store.entries, bench->store.count, sizeof *bench->store.entries,
              store_compare_entries);
    for (size_t i = 0; i < bench->store.count; i++) {
        const struct store_entry *entry = &bench->store.entries[i];
        assert_true(bench->ops->load(bench->state, entry->key, entry->key_bytes, entry->value,
                                     entry->value_bytes));
    }
}

static inline void bench_key(struct bench *bench, const void *key, size_t key_bytes)
{
    bench->task.key.size = 0;
    pipe_buf_add(&bench->task.key, key, key_bytes);
}

/* Gives the key in task->key to the state some records before its turn, or not: then it is in
 * task->key still. Returns what the operator is to be told. */
static inline bool bench_ask(struct bench *bench, bool ahead)
{
    if (!ahead)
        return false;
    bench->task.ahead_index = (bench->task.ahead_index + 1) % PIPE_AHEAD;
    struct pipe_buf *key = pipe_key_ahead(&bench->task, 0);
    key->size = 0;
    pipe_buf_add(key, bench->task.key.data, bench->task.key.size);
    bench->ops->ask(bench->state, 1u << bench->task.ahead_index);
    bench->task.key.size = 0;
    return true;
}

/* W moves on; the engine calls advance only when something is due, or here: sometimes not at once.
 */
static inline void bench_watermark(struct bench *bench, int64_t watermark, bool advance)
{
    if (watermark > bench->task.watermark)
        bench->task.watermark = watermark;
    int64_t input = pipe_time_sub(bench->task.watermark, bench->def->delay);
    if (advance && ((const struct pipe_state *)bench->state)->due <= input)
        bench->ops->advance(&bench->task, 0, input);
}

/* --- Accumulator ----------------------------------------------------------------------------- */

struct sample {
    struct pipe_sum_int sum;
    struct pipe_count count;
    struct pipe_last last;
    struct pipe_count_distinct distinct;
    struct pipe_max_bytes longest;
};

static inline void sample_init(void *acc)
{
    memset(acc, 0, sizeof(struct sample));
}

static inline void sample_merge(void *into, const void *from)
{
    struct sample *a = into;
    const struct sample *b = from;
    pipe_sum_int_merge(&a->sum, &b->sum);
    pipe_count_merge(&a->count, &b->count);
    pipe_last_merge(&a->last, &b->last);
    pipe_count_distinct_merge(&a->distinct, &b->distinct);
    pipe_max_bytes_merge(&a->longest, &b->longest);
}

static inline void sample_save(const void *acc, struct pipe_buf *out)
{
    const struct sample *a = acc;
    pipe_sum_int_save(&a->sum, out);
    pipe_count_save(&a->count, out);
    pipe_last_save(&a->last, out);
    pipe_count_distinct_save(&a->distinct, out);
    pipe_max_bytes_save(&a->longest, out);
}

static inline bool sample_load(void *acc, struct pipe_reader *in)
{
    struct sample *a = acc;
    return pipe_sum_int_load(&a->sum, in) && pipe_count_load(&a->count, in) &&
           pipe_last_load(&a->last, in) && pipe_count_distinct_load(&a->distinct, in) &&
           pipe_max_bytes_load(&a->longest, in);
}

static inline void sample_drop(void *acc)
{
    struct sample *a = acc;
    pipe_last_drop(&a->last);
    pipe_count_distinct_drop(&a->distinct);
    pipe_max_bytes_drop(&a->longest);
}

static const struct pipe_accumulator sample_accumulator = {
    sizeof(struct sample), false, sample_init, sample_merge, sample_save, sample_load, sample_drop,
};

static inline void sample_update(struct sample *acc, const struct pipe_record *record,
                                 int64_t value)
{
    char text[48];
    int size = snprintf(text, sizeof text, "a value that is not short: %lld", (long long)value);
    struct pipe_position at = pipe_position_of(record);
    pipe_sum_int_update(&acc->sum, value);
    pipe_count_update(&acc->count);
    pipe_last_update(&acc->last, &at, pipe_str_of(&value, sizeof value));
    pipe_count_distinct_update(&acc->distinct, pipe_str_of(&value, sizeof value));
    pipe_max_bytes_update(&acc->longest, pipe_str_of(text, (size_t)size));
}

static inline int64_t sample_last(const struct sample *acc)
{
    struct pipe_str bytes;
    int64_t value = -1;
    if (pipe_last_finish(&acc->last, &bytes, NULL) && bytes.size == sizeof value)
        memcpy(&value, bytes.data, sizeof value);
    return value;
}

static inline int64_t sample_distinct(const struct sample *acc)
{
    int64_t value = 0;
    pipe_count_distinct_finish(&acc->distinct, &value, NULL);
    return value;
}

#endif
