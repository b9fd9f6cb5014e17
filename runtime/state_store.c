/*
 * state_store.c: the state of all tasks as of one commit, in a RocksDB database beside the log.
 *
 * Keys:  's' stage(4) partition(4) state(4), big-endian, key → an entry of an operator
 *        'p' stage(4) partition(4) → position of a task
 *        'm' name → version, hash_key, plan, incarnation; state_transfer.c: 'm' 'h' 'r'
 *        'w' … → write_count.c
 * One save is one WriteBatch: entries and positions always agree. A small one goes to the
 * write-ahead log; a big one skips that and is flushed at once, which is as atomic: a memtable is
 * installed whole or not at all, and a batch is never split over two. That flush may go on while
 * the run does: nothing is written or loaded before it has ended. Neither is synced: after a
 * power cut the database is as of some earlier save, which replay makes up for; the log it follows
 * is synced.
 */
#include <stdio.h>
#include <stdlib.h>

#include <rocksdb/c.h>

#include "log_options.h"
#include "regular_file.h"
#include "rocksdb_shim.h"
#include "state_store.h"
#include "state_transfer.h"
#include "write_count.h"

#define POSITION_VERSION 1
#define OLDEST_VERSION "1" /* had no version in it */
#define BATCH_BYTES_KEPT (16u << 20)
#define FLUSH_BYTES (1u << 20) /* a save from here on is flushed instead of logged */

static void put_be32(uint8_t *to, uint32_t value)
{
    for (unsigned i = 0; i < 4; i++)
        to[i] = (uint8_t)(value >> (24 - 8 * i));
}

void store_prefix(uint8_t to[ENTRY_PREFIX], char kind, uint32_t stage, int32_t partition,
                  uint32_t index)
{
    to[0] = (uint8_t)kind;
    put_be32(to + 1, stage);
    put_be32(to + 5, (uint32_t)partition);
    put_be32(to + 9, index);
}

bool store_fail(struct pipe_store *store, const char *doing, char *cause)
{
    snprintf(store->error, sizeof store->error, "the state could not %s: %.300s%s", doing,
             log_cause(cause), log_advice(cause, ""));
    rocksdb_free(cause);
    return false;
}

const char *pipe_store_error(const struct pipe_store *store)
{
    return store->error;
}

uint64_t pipe_store_disk_bytes(const struct pipe_store *store)
{
    uint64_t bytes = 0;
    return rocksdb_property_int(store->db, "rocksdb.total-sst-files-size", &bytes) == 0 ? bytes : 0;
}

struct pipe_hash_key pipe_store_hash_key(const struct pipe_store *store)
{
    return store->hash_key;
}

const char *pipe_store_version(const struct pipe_store *store)
{
    return store->version;
}

const char *pipe_store_plan(const struct pipe_store *store)
{
    return store->plan;
}

const char *pipe_store_incarnation(const struct pipe_store *store)
{
    return store->incarnation;
}

void pipe_store_identify(struct pipe_store *store, const char *plan_hash, const char *incarnation)
{
    snprintf(store->plan, sizeof store->plan, "%s", plan_hash);
    snprintf(store->incarnation, sizeof store->incarnation, "%s", incarnation);
}

/* ---- Saving ---- */

static struct pipe_str with_prefix(struct pipe_store *store, const void *key, size_t key_bytes)
{
    store->key.size = 0;
    pipe_buf_add(&store->key, store->prefix, ENTRY_PREFIX);
    pipe_buf_add(&store->key, key, key_bytes);
    return pipe_str_of(store->key.data, store->key.size);
}

static void writer_put(void *context, const void *key, size_t key_bytes, const void *value,
                       size_t value_bytes)
{
    struct pipe_store *store = context;
    struct pipe_str full = with_prefix(store, key, key_bytes);
    rocksdb_writebatch_put(store->batch, full.data, full.size, value_bytes == 0 ? "" : value,
                           value_bytes);
}

static void writer_remove(void *context, const void *key, size_t key_bytes)
{
    struct pipe_store *store = context;
    struct pipe_str full = with_prefix(store, key, key_bytes);
    rocksdb_writebatch_delete(store->batch, full.data, full.size);
}

static void writer_remove_range(void *context, const void *from, size_t from_bytes, const void *to,
                                size_t to_bytes)
{
    struct pipe_store *store = context;
    struct pipe_buf end = {0};
    pipe_buf_add(&end, store->prefix, ENTRY_PREFIX);
    pipe_buf_add(&end, to, to_bytes);
    struct pipe_str full = with_prefix(store, from, from_bytes);
    rocksdb_writebatch_delete_range(store->batch, full.data, full.size, (const char *)end.data,
                                    end.size);
    pipe_buf_free(&end);
}

void pipe_store_begin(struct pipe_store *store)
{
    rocksdb_writebatch_clear(store->batch);
}

bool pipe_store_wait(struct pipe_store *store)
{
    char *error = NULL;
    if (!store->is_flushing)
        return true;
    rocksdb_flush(store->db, store->flush_options, &error);
    store->is_flushing = error != NULL;
    return error == NULL || store_fail(store, "be written", error);
}

void pipe_store_save_state(struct pipe_store *store, uint32_t stage, int32_t partition,
                           uint32_t index, const struct pipe_state_ops *ops, void *state)
{
    struct pipe_state_writer writer = {store, writer_put, writer_remove, writer_remove_range};
    store_prefix(store->prefix, 's', stage, partition, index);
    ops->save(state, &writer);
}

void pipe_store_spill_state(struct pipe_store *store, uint32_t stage, int32_t partition,
                            uint32_t index, const struct pipe_state_ops *ops, void *state,
                            uint64_t bytes, bool traces)
{
    struct pipe_state_writer writer = {store, writer_put, writer_remove, writer_remove_range};
    store_prefix(store->prefix, 's', stage, partition, index);
    store->is_read = true;
    ops->spill(state, bytes, traces, &writer);
}

void pipe_store_save_position(struct pipe_store *store, uint32_t stage, int32_t partition,
                              const struct pipe_store_position *position)
{
    struct pipe_buf *value = &store->value;
    store_prefix(store->prefix, 'p', stage, partition, 0);
    value->size = 0;
    pipe_buf_add_byte(value, POSITION_VERSION);
    pipe_avro_put_long(value, position->offset);
    pipe_avro_put_long(value, (int64_t)position->seq);
    pipe_avro_put_long(value, position->watermark);
    pipe_avro_put_long(value, position->kafka_time_ms);
    pipe_avro_put_bytes(value, pipe_str_of(position->input.hint, position->input.hint_bytes));
    pipe_avro_put_long(value, position->marker_count);
    for (uint32_t i = 0; i < position->marker_count; i++)
        pipe_avro_put_long(value, position->markers[i]);
    if (position->schemas.size > 0)
        pipe_avro_put_bytes(value, position->schemas);
    rocksdb_writebatch_put(store->batch, (const char *)store->prefix, 9, (const char *)value->data,
                           value->size);
}

/* A batch keeps its memory; one that states have spilled into is much greater than the next. */
static void empty_batch(struct pipe_store *store, size_t bytes)
{
    if (bytes < BATCH_BYTES_KEPT) {
        rocksdb_writebatch_clear(store->batch);
        return;
    }
    rocksdb_writebatch_destroy(store->batch);
    store->batch = rocksdb_writebatch_create();
}

/* What is read (spilled states), or taken over, has to be flushed at once. */
static bool end_save(struct pipe_store *store, bool may_wait)
{
    char *error = NULL;
    if (!pipe_store_wait(store))
        return false;
    rocksdb_writebatch_put(store->batch, "mplan", 5, store->plan, strlen(store->plan));
    rocksdb_writebatch_put(store->batch, "mincarnation", 12, store->incarnation,
                           strlen(store->incarnation));
    size_t bytes = 0;
    write_count_add(store->batch, ++store->saves);
    rocksdb_writebatch_data(store->batch, &bytes);
    bool big = bytes >= FLUSH_BYTES || store->is_read || store->is_adopting;
    rocksdb_write(store->db, big ? store->unlogged : store->write_options, store->batch, &error);
    empty_batch(store, bytes);
    store->is_flushing = big && may_wait && !store->is_read && !store->is_adopting;
    if (error == NULL && big)
        rocksdb_flush(store->db, store->is_flushing ? store->flush_later : store->flush_options,
                      &error);
    if (error == NULL && big)
        store->is_adopting = false;
    return error == NULL || store_fail(store, "be written", error);
}

bool pipe_store_end(struct pipe_store *store)
{
    return end_save(store, false);
}

bool pipe_store_end_later(struct pipe_store *store)
{
    return end_save(store, true);
}

/* ---- Loading ---- */

static bool decode_position(struct pipe_store *store, const uint8_t *bytes, size_t size,
                            struct pipe_store_position *out)
{
    struct pipe_reader reader;
    struct pipe_str hint = {0};
    int64_t seq, count;
    pipe_reader_init(&reader, bytes, size, NULL);
    if (size == 0 || *reader.at++ != POSITION_VERSION)
        return false;
    if (!pipe_avro_long(&reader, &out->offset) || !pipe_avro_long(&reader, &seq) ||
        !pipe_avro_long(&reader, &out->watermark) ||
        !pipe_avro_long(&reader, &out->kafka_time_ms) || !pipe_avro_bytes(&reader, &hint) ||
        !pipe_avro_long(&reader, &count))
        return false;
    if (out->offset < 0 || seq < 0 || hint.size > PIPE_INPUT_HINT_MAX || count < 0 ||
        count > reader.end - reader.at)
        return false;
    out->seq = (uint64_t)seq;
    out->input =
        (struct pipe_input_position){.offset = out->offset, .hint_bytes = (uint8_t)hint.size};
    if (hint.size > 0)
        memcpy(out->input.hint, hint.data, hint.size);
    if (count > store->marker_capacity) {
        store->markers = pipe_realloc(store->markers, (size_t)count * sizeof *store->markers);
        store->marker_capacity = (uint32_t)count;
    }
    for (int64_t i = 0; i < count; i++) {
        if (!pipe_avro_long(&reader, &store->markers[i]))
            return false;
    }
    out->markers = store->markers;
    out->marker_count = (uint32_t)count;
    store->schemas.size = 0;
    if (reader.at < reader.end) {
        struct pipe_str schemas = {0};
        if (!pipe_avro_bytes(&reader, &schemas))
            return false;
        pipe_buf_add(&store->schemas, schemas.data, schemas.size);
    }
    out->schemas = pipe_str_of(store->schemas.data, store->schemas.size);
    return reader.at == reader.end;
}

bool pipe_store_load_position(struct pipe_store *store, uint32_t stage, int32_t partition,
                              struct pipe_store_position *position, bool *found)
{
    char *error = NULL;
    size_t size = 0;
    uint8_t key[ENTRY_PREFIX];
    if (!pipe_store_wait(store))
        return false;
    store_prefix(key, 'p', stage, partition, 0);
    char *value = rocksdb_get(store->db, store->read_options, (char *)key, 9, &size, &error);
    if (error != NULL)
        return store_fail(store, "be read", error);
    *found = value != NULL;
    bool sound = value == NULL || decode_position(store, (uint8_t *)value, size, position);
    rocksdb_free(value);
    if (value == NULL && !store_clear_unfinished(store, stage, partition))
        return false;
    if (!sound)
        snprintf(store->error, sizeof store->error,
                 "the state is damaged: the position of stage %u, partition %d is malformed", stage,
                 partition);
    return sound;
}

/* Calls `each` for the entries of one state; false: an I/O error, or `each` said so. */
static bool for_entries(struct pipe_store *store, uint32_t stage, int32_t partition, uint32_t index,
                        pipe_state_each *each, void *context)
{
    uint8_t prefix[ENTRY_PREFIX];
    char *error = NULL;
    bool sound = true;
    store_prefix(prefix, 's', stage, partition, index);
    rocksdb_iterator_t *it = rocksdb_create_iterator(store->db, store->read_options);
    rocksdb_iter_seek(it, (char *)prefix, ENTRY_PREFIX);
    for (; sound && rocksdb_iter_valid(it); rocksdb_iter_next(it)) {
        size_t key_size, value_size;
        const char *key = rocksdb_iter_key(it, &key_size);
        const char *value = rocksdb_iter_value(it, &value_size);
        if (key_size < ENTRY_PREFIX || memcmp(key, prefix, ENTRY_PREFIX) != 0)
            break;
        sound = each(context, pipe_str_of(key + ENTRY_PREFIX, key_size - ENTRY_PREFIX),
                     pipe_str_of(value, value_size));
    }
    rocksdb_iter_get_error(it, &error);
    rocksdb_iter_destroy(it);
    if (error != NULL)
        return store_fail(store, "be read", error);
    if (!sound)
        snprintf(store->error, sizeof store->error,
                 "the state is damaged: stage %u, partition %d, state %u has a malformed entry",
                 stage, partition, index);
    return sound;
}

/* ---- Reading what was spilled ---- */

static struct pipe_str key_of(const struct pipe_state_reader *reader, const void *key,
                              size_t key_bytes)
{
    struct pipe_store *store = reader->context;
    store_prefix(store->prefix, 's', reader->stage, reader->partition, reader->index);
    store->is_read = true;
    return with_prefix(store, key, key_bytes);
}

static bool reader_get(const struct pipe_state_reader *reader, const void *key, size_t key_bytes,
                       struct pipe_buf *value, bool *found)
{
    struct pipe_store *store = reader->context;
    struct pipe_str full = key_of(reader, key, key_bytes);
    char *error = NULL;
    rocksdb_pinnableslice_t *slice =
        rocksdb_get_pinned(store->db, store->read_options, full.data, full.size, &error);
    size_t size = 0;
    const char *bytes = rocksdb_pinnableslice_value(slice, &size);
    *found = error == NULL && bytes != NULL;
    value->size = 0;
    if (*found)
        pipe_buf_add(value, bytes, size);
    rocksdb_pinnableslice_destroy(slice);
    return error == NULL || store_fail(store, "be read", error);
}

static bool reader_scan(const struct pipe_state_reader *reader, const void *from, size_t from_bytes,
                        pipe_state_each *each, void *context)
{
    struct pipe_store *store = reader->context;
    struct pipe_str full = key_of(reader, from, from_bytes);
    uint8_t prefix[ENTRY_PREFIX + 1]; /* a copy: `each` may read */
    char *error = NULL;
    bool more = true;
    memcpy(prefix, full.data, sizeof prefix);
    rocksdb_iterator_t *it = rocksdb_create_iterator(store->db, store->read_options);
    rocksdb_iter_seek(it, full.data, full.size);
    for (; more && rocksdb_iter_valid(it); rocksdb_iter_next(it)) {
        size_t size, value_size;
        const char *key = rocksdb_iter_key(it, &size);
        const char *value = rocksdb_iter_value(it, &value_size);
        if (size < sizeof prefix || memcmp(key, prefix, sizeof prefix) != 0)
            break;
        more = each(context, pipe_str_of(key + ENTRY_PREFIX, size - ENTRY_PREFIX),
                    pipe_str_of(value, value_size));
    }
    rocksdb_iter_get_error(it, &error);
    rocksdb_iter_destroy(it);
    return error == NULL || store_fail(store, "be read", error);
}

static const char *reader_fault(const struct pipe_state_reader *reader)
{
    return pipe_store_error(reader->context);
}

struct pipe_state_reader pipe_store_reader(struct pipe_store *store, uint32_t stage,
                                           int32_t partition, uint32_t index)
{
    return (struct pipe_state_reader){store,      stage,       partition,   index,
                                      reader_get, reader_scan, reader_fault};
}

struct loading {
    const struct pipe_state_ops *ops;
    void *state;
    uint64_t entries;
};

static bool load_entry(void *context, struct pipe_str key, struct pipe_str value)
{
    struct loading *loading = context;
    loading->entries++;
    return loading->ops->load(loading->state, key.data, key.size, value.data, value.size);
}

bool pipe_store_load_state(struct pipe_store *store, uint32_t stage, int32_t partition,
                           uint32_t index, const struct pipe_state_ops *ops, void *state,
                           uint64_t *entries)
{
    struct loading loading = {ops, state, 0};
    bool ok = for_entries(store, stage, partition, index, load_entry, &loading);
    *entries = loading.entries;
    return ok;
}

static bool measure_entry(void *context, struct pipe_str key, struct pipe_str value)
{
    struct pipe_store_usage *usage = context;
    usage->entries++;
    usage->bytes += key.size + value.size;
    return true;
}

bool pipe_store_usage(struct pipe_store *store, uint32_t stage, int32_t partition, uint32_t index,
                      struct pipe_store_usage *usage)
{
    *usage = (struct pipe_store_usage){0};
    return for_entries(store, stage, partition, index, measure_entry, usage);
}

/* ---- Opening ---- */

void pipe_store_close(struct pipe_store *store)
{
    if (store == NULL)
        return;
    if (store->db != NULL)
        rocksdb_close(store->db);
    rocksdb_writebatch_destroy(store->batch);
    rocksdb_writeoptions_destroy(store->write_options);
    rocksdb_writeoptions_destroy(store->unlogged);
    rocksdb_flushoptions_destroy(store->flush_options);
    rocksdb_flushoptions_destroy(store->flush_later);
    rocksdb_readoptions_destroy(store->read_options);
    rocksdb_options_destroy(store->options);
    rocksdb_block_based_options_destroy(store->table_options);
    rocksdb_cache_destroy(store->cache);
    pipe_buf_free(&store->key);
    pipe_buf_free(&store->value);
    pipe_buf_free(&store->schemas);
    free(store->markers);
    free(store);
}

static void tune(struct pipe_store *store)
{
    rocksdb_options_set_write_buffer_size(store->options, 8u << 20);
    rocksdb_options_set_max_write_buffer_number(store->options, 2);
    rocksdb_options_set_allow_concurrent_memtable_write(store->options, 0);
    rocksdb_options_set_compression(store->options, rocksdb_no_compression);
    rocksdb_options_set_max_open_files(store->options, 128);
    rocksdb_options_set_max_file_opening_threads(store->options, 1);
    write_count_options(store->options);
    /* Any prefix of the saves is a valid state. */
    rocksdb_options_set_wal_recovery_mode(store->options, 2);
    store->cache = rocksdb_cache_create_lru(4u << 20);
    store->table_options = rocksdb_block_based_options_create();
    rocksdb_block_based_options_set_filter_policy(store->table_options,
                                                  rocksdb_filterpolicy_create_bloom_full(10));
    rocksdb_block_based_options_set_block_cache(store->table_options, store->cache);
    rocksdb_options_set_block_based_table_factory(store->options, store->table_options);
}

static bool get_text(struct pipe_store *store, const char *key, char *to, size_t room, bool *found)
{
    char *error = NULL;
    size_t size = 0;
    char *value = rocksdb_get(store->db, store->read_options, key, strlen(key), &size, &error);
    if (error != NULL)
        return store_fail(store, "be read", error);
    *found = value != NULL;
    size = size < room ? size : room - 1;
    if (value != NULL)
        memcpy(to, value, size);
    to[value != NULL ? size : 0] = '\0';
    rocksdb_free(value);
    return true;
}

static bool load_identity(struct pipe_store *store, bool read_only, bool *created)
{
    char key[sizeof store->hash_key + 1], *error = NULL;
    bool found, has_version, ignored;
    if (!get_text(store, "mhash_key", key, sizeof key, &found) ||
        !get_text(store, "mversion", store->version, sizeof store->version, &has_version) ||
        !get_text(store, "mplan", store->plan, sizeof store->plan, &ignored) ||
        !get_text(store, "mincarnation", store->incarnation, sizeof store->incarnation, &ignored))
        return false;
    *created = !found;
    if (!found)
        snprintf(store->version, sizeof store->version, "%s", PIPE_STATE_VERSION);
    else if (!has_version)
        snprintf(store->version, sizeof store->version, "%s", OLDEST_VERSION);
    if (!found && !read_only) {
        pipe_random_bytes(key, sizeof store->hash_key);
        rocksdb_writebatch_put(store->batch, "mversion", 8, PIPE_STATE_VERSION,
                               strlen(PIPE_STATE_VERSION));
        rocksdb_writebatch_put(store->batch, "mhash_key", 9, key, sizeof store->hash_key);
        rocksdb_write(store->db, store->write_options, store->batch, &error);
        rocksdb_writebatch_clear(store->batch);
        if (error != NULL)
            return store_fail(store, "be written", error);
    }
    memcpy(&store->hash_key, key, sizeof store->hash_key);
    return true;
}

static const char again[] = "; it can be made again from the log: delete it";

static bool check_whole(struct pipe_store *store)
{
    uint64_t lost;
    char *error = NULL;
    if (write_count_check(store->db, store->read_options, &store->saves, &lost, &error))
        return true;
    if (error != NULL)
        return store_fail(store, "count its saves", error);
    snprintf(store->error, sizeof store->error,
             "the state has lost saves: %llu of %llu are missing before the last%s",
             (unsigned long long)lost, (unsigned long long)store->saves, again);
    return false;
}

/* RocksDB tries first whether its way of opening files works here. Where that failed once and then
 * did not, it blames direct I/O, which nobody asked for, and hides the cause: then once more. */
static rocksdb_t *open_database(struct pipe_store *store, const char *path, bool read_only,
                                char **cause)
{
    for (int attempt = 1;; attempt++) {
        rocksdb_t *db = read_only ? rocksdb_open_for_read_only(store->options, path, 0, cause)
                                  : rocksdb_open(store->options, path, cause);
        if (db != NULL || *cause == NULL || attempt == 2 || strstr(*cause, "irect I/O") == NULL)
            return db;
        rocksdb_free(*cause);
        *cause = NULL;
    }
}

static struct pipe_store *refuse_open(const char *path, const char *cause, char *error,
                                      size_t error_bytes)
{
    const char *advice = log_advice(cause, again);
    snprintf(error, error_bytes, "the state in %s can't be opened: %.300s%s", path, cause,
             advice[0] != '\0' ? advice : again);
    return NULL;
}

struct pipe_store *pipe_store_open(const char *dir, bool read_only, bool *created, char *error,
                                   size_t error_bytes)
{
    char path[4096], irregular[512], *cause = NULL;
    if (snprintf(path, sizeof path, "%s/state", dir) >= (int)sizeof path) {
        snprintf(error, error_bytes, "the path of the run directory is too long");
        return NULL;
    }
    if (!pipe_is_all_regular(path, irregular, sizeof irregular))
        return refuse_open(path, irregular, error, error_bytes);
    struct pipe_store *store = pipe_calloc(1, sizeof *store);
    store->read_only = read_only;
    /* Nothing is read before it is flushed (is_read): sorting once is cheaper than keeping order.
     */
    store->options = rocksdb_shim_options("memtable_factory=" ROCKSDB_SHIM_VECTOR);
    rocksdb_options_set_create_if_missing(store->options, !read_only);
    tune(store);
    store->write_options = rocksdb_writeoptions_create();
    store->unlogged = rocksdb_writeoptions_create();
    rocksdb_writeoptions_disable_WAL(store->unlogged, 1);
    store->flush_options = rocksdb_flushoptions_create();
    rocksdb_flushoptions_set_wait(store->flush_options, 1);
    store->flush_later = rocksdb_flushoptions_create();
    rocksdb_flushoptions_set_wait(store->flush_later, 0);
    store->read_options = rocksdb_readoptions_create();
    store->batch = rocksdb_writebatch_create();
    store->db = open_database(store, path, read_only, &cause);
    if (store->db != NULL && check_whole(store) && load_identity(store, read_only, created))
        return store;
    if (store->db == NULL)
        refuse_open(path, log_cause(cause), error, error_bytes);
    else
        snprintf(error, error_bytes, "%s%s", store->error,
                 strstr(store->error, "Corruption") != NULL ? again : "");
    rocksdb_free(cause);
    pipe_store_close(store);
    return NULL;
}
