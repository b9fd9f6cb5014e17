/*
 * store.c: RocksDB's C interface, as much of it as the runtime uses, over ordered maps in memory
 * that belong to directories and outlive a crash.
 *
 * What a store promises is what RocksDB does. A batch is there whole or not at all. A synced one,
 * and all before it, is durable; one that is only logged is lost by a power cut with all behind it,
 * but not by the death of the process; one that is not even logged is lost by both unless it was
 * flushed. A write that fails may be there or not after the next opening, and the handle is of no
 * use any more. One handle may write to a store at a time.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <rocksdb/c.h>

#include "sim.h"

#define BIG_BYTES (4u << 20) /* what a small batch is told to have, to be flushed */

struct entry {
    uint32_t references;
    size_t key_bytes, value_bytes;
    uint8_t bytes[]; /* key, value */
};

struct map {
    struct entry **entries; /* by key */
    size_t count, capacity;
};

struct rocksdb_writebatch_t {
    struct pipe_buf all; /* if batches are big, BIG_BYTES that nobody looks at; then operations: */
    size_t at;           /* kind(1) key size(8) value size(8) key value */
};

enum op_kind { OP_PUT, OP_DELETE, OP_DELETE_RANGE, OP_ADD };

struct written { /* not durable yet */
    struct pipe_buf ops;
    bool logged;
    bool hidden; /* its write failed: only the next opening can find it */
};

struct store {
    char path[4200];
    struct map durable, live;
    struct written *written;
    size_t written_count, written_capacity;
    const struct sim_instance *writer; /* who has it open */
    bool open;
};

struct rocksdb_t {
    struct store *store;
    bool read_only, broken;
};
struct rocksdb_iterator_t {
    struct store *store;
    const struct map *map;
    size_t at; /* == map->count: not valid */
};
struct rocksdb_pinnableslice_t {
    struct entry *entry;
};
struct rocksdb_options_t {
    bool create;
};
struct rocksdb_writeoptions_t {
    bool sync, unlogged;
};

static struct store *stores[64];
static size_t store_count;

/* ---- Maps ---- */

static void release(struct entry *entry)
{
    if (--entry->references == 0)
        free(entry);
}

static int order(const struct entry *entry, const void *key, size_t key_bytes)
{
    size_t common = entry->key_bytes < key_bytes ? entry->key_bytes : key_bytes;
    int result = common > 0 ? memcmp(entry->bytes, key, common) : 0;
    if (result != 0)
        return result;
    return entry->key_bytes < key_bytes ? -1 : entry->key_bytes > key_bytes;
}

/* The index of the first entry that is not before the key. */
static size_t lower_bound(const struct map *map, const void *key, size_t key_bytes)
{
    size_t low = 0, high = map->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (order(map->entries[middle], key, key_bytes) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct entry *find(const struct map *map, const void *key, size_t key_bytes)
{
    size_t at = lower_bound(map, key, key_bytes);
    return at < map->count && order(map->entries[at], key, key_bytes) == 0 ? map->entries[at]
                                                                           : NULL;
}

static void remove_entries(struct map *map, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        release(map->entries[i]);
    if (from == to)
        return;
    memmove(map->entries + from, map->entries + to, (map->count - to) * sizeof *map->entries);
    map->count -= to - from;
}

static void put(struct map *map, const uint8_t *key, size_t key_bytes, size_t value_bytes)
{
    size_t at = lower_bound(map, key, key_bytes);
    struct entry *entry = pipe_malloc(sizeof *entry + key_bytes + value_bytes);
    *entry = (struct entry){1, key_bytes, value_bytes};
    memcpy(entry->bytes, key, key_bytes + value_bytes); /* the value follows the key in ops too */
    if (at < map->count && order(map->entries[at], key, key_bytes) == 0) {
        release(map->entries[at]);
        map->entries[at] = entry;
        return;
    }
    if (map->count == map->capacity) {
        map->capacity = map->capacity * 2 + 64;
        map->entries = pipe_realloc(map->entries, map->capacity * sizeof *map->entries);
    }
    memmove(map->entries + at + 1, map->entries + at, (map->count - at) * sizeof *map->entries);
    map->entries[at] = entry;
    map->count++;
}

/* The merge operator `uint64add`. */
static void add(struct map *map, const uint8_t *key, size_t key_bytes)
{
    const struct entry *entry = find(map, key, key_bytes);
    uint8_t pair[64 + sizeof(uint64_t)];
    uint64_t sum = 0, by;
    if (key_bytes > 64)
        sim_fail("a key of %zu bytes is merged", key_bytes);
    if (entry != NULL && entry->value_bytes == sizeof sum)
        memcpy(&sum, entry->bytes + key_bytes, sizeof sum);
    memcpy(&by, key + key_bytes, sizeof by);
    sum += by;
    memcpy(pair, key, key_bytes);
    memcpy(pair + key_bytes, &sum, sizeof sum);
    put(map, pair, key_bytes, sizeof sum);
}

static void apply(struct map *map, const struct pipe_buf *ops)
{
    for (size_t at = 0; at < ops->size;) {
        uint8_t kind = ops->data[at];
        size_t sizes[2];
        memcpy(sizes, ops->data + at + 1, sizeof sizes);
        const uint8_t *key = ops->data + at + 1 + sizeof sizes;
        at += 1 + sizeof sizes + sizes[0] + sizes[1];
        size_t from = lower_bound(map, key, sizes[0]);
        if (kind == OP_PUT)
            put(map, key, sizes[0], sizes[1]);
        else if (kind == OP_ADD)
            add(map, key, sizes[0]);
        else if (kind == OP_DELETE_RANGE)
            remove_entries(map, from, lower_bound(map, key + sizes[0], sizes[1]));
        else if (from < map->count && order(map->entries[from], key, sizes[0]) == 0)
            remove_entries(map, from, from + 1);
    }
}

static void copy_map(struct map *to, const struct map *from)
{
    remove_entries(to, 0, to->count);
    to->entries = pipe_realloc(to->entries, (from->count + 64) * sizeof *to->entries);
    to->capacity = from->count + 64;
    to->count = from->count;
    for (size_t i = 0; i < from->count; i++) {
        to->entries[i] = from->entries[i];
        to->entries[i]->references++;
    }
}

/* ---- Durability ---- */

static void make_durable(struct store *store)
{
    for (size_t i = 0; i < store->written_count; i++) {
        if (!store->written[i].hidden)
            apply(&store->durable, &store->written[i].ops);
        pipe_buf_free(&store->written[i].ops);
    }
    store->written_count = 0;
}

/* What an opening finds after this. */
static void settle(struct store *store, bool power)
{
    size_t kept = power ? sim_below((uint32_t)store->written_count + 1) : store->written_count;
    for (size_t i = 0; i < store->written_count; i++) {
        struct written *written = &store->written[i];
        bool there = i < kept && written->logged && (!written->hidden || sim_below(2) == 0);
        sim_trace("of %s a batch of %zu bytes is %s", strrchr(store->path, '/'), written->ops.size,
                  there ? "kept" : "lost");
        if (there)
            apply(&store->durable, &written->ops);
        pipe_buf_free(&written->ops);
    }
    store->written_count = 0;
    copy_map(&store->live, &store->durable);
}

void sim_stores_crash(const struct sim_instance *owner, bool power)
{
    for (size_t i = 0; i < store_count; i++) {
        if (stores[i]->open && stores[i]->writer == owner) {
            settle(stores[i], power);
            stores[i]->open = false;
        }
    }
}

static struct store *store_at(const char *path, bool create)
{
    char current[4300];
    for (size_t i = 0; i < store_count; i++)
        if (strcmp(stores[i]->path, path) == 0)
            return stores[i];
    if (!create)
        return NULL;
    if (store_count == sizeof stores / sizeof stores[0])
        sim_fail("too many stores");
    struct store *store = stores[store_count++] = pipe_calloc(1, sizeof *store);
    snprintf(store->path, sizeof store->path, "%s", path);
    snprintf(current, sizeof current, "%s/CURRENT",
             path); /* the engine looks whether it is there */
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        sim_fail("%s can't be made: %s", path, strerror(errno));
    FILE *file = fopen(current, "we");
    if (file == NULL || fclose(file) != 0)
        sim_fail("%s can't be made: %s", current, strerror(errno));
    return store;
}

void sim_store_remove(const char *path)
{
    struct store *store = store_at(path, false);
    if (store == NULL)
        return;
    sim_trace("%s is removed", path);
    remove_entries(&store->durable, 0, store->durable.count);
    remove_entries(&store->live, 0, store->live.count);
}

const char *sim_store_durable(const char *path, const void *key, size_t key_bytes, size_t *bytes)
{
    struct store *store = store_at(path, false);
    struct entry *entry = store != NULL ? find(&store->durable, key, key_bytes) : NULL;
    if (entry == NULL)
        return NULL;
    *bytes = entry->value_bytes;
    return (const char *)entry->bytes + entry->key_bytes;
}

/* ---- Checkpoints: real files, whose names say what is in them, as RocksDB's do ---- */

#define TABLE_ENTRIES 40
#define MANIFEST_NAME "MANIFEST-000001" /* of a checkpoint; other stores have no files */

struct rocksdb_checkpoint_t {
    rocksdb_t *db;
};

rocksdb_checkpoint_t *rocksdb_checkpoint_object_create(rocksdb_t *db, char **error)
{
    (void)error;
    rocksdb_checkpoint_t *checkpoint = pipe_malloc(sizeof *checkpoint);
    checkpoint->db = db;
    return checkpoint;
}

void rocksdb_checkpoint_object_destroy(rocksdb_checkpoint_t *checkpoint)
{
    free(checkpoint);
}

static void write_table(const char *dir, const char *name, const struct pipe_buf *ops)
{
    char path[4400];
    uint64_t hash = pipe_hash64(ops->data, ops->size, 0);
    if (name != NULL)
        snprintf(path, sizeof path, "%s/%s", dir, name);
    else
        snprintf(path, sizeof path, "%s/%016llx.sst", dir, (unsigned long long)hash);
    FILE *file = fopen(path, "we");
    if (file == NULL || fwrite(ops->data, 1, ops->size, file) != ops->size || fclose(file) != 0)
        sim_fail("%s can't be made: %s", path, strerror(errno));
}

/* The manifest holds how many entries there are: a table that is missing is found. */
void rocksdb_checkpoint_create(rocksdb_checkpoint_t *checkpoint, const char *dir,
                               uint64_t log_bytes_for_flush, char **error)
{
    const struct map *map = &checkpoint->db->store->live;
    struct pipe_buf ops = {0};
    (void)log_bytes_for_flush;
    rocksdb_flush(checkpoint->db, NULL, error);
    if (*error != NULL)
        return;
    if (mkdir(dir, 0777) != 0)
        sim_fail("%s can't be made: %s", dir, strerror(errno));
    for (size_t i = 0; i < map->count; i++) {
        const struct entry *entry = map->entries[i];
        pipe_buf_add_byte(&ops, OP_PUT);
        pipe_buf_add(&ops, &entry->key_bytes, sizeof entry->key_bytes);
        pipe_buf_add(&ops, &entry->value_bytes, sizeof entry->value_bytes);
        pipe_buf_add(&ops, entry->bytes, entry->key_bytes + entry->value_bytes);
        if (i % TABLE_ENTRIES == TABLE_ENTRIES - 1 || i == map->count - 1) {
            write_table(dir, NULL, &ops);
            ops.size = 0;
        }
    }
    pipe_buf_add(&ops, &map->count, sizeof map->count);
    write_table(dir, MANIFEST_NAME, &ops);
    pipe_buf_free(&ops);
    sim_trace("checkpoint of %s, %zu entries", checkpoint->db->store->path, map->count);
    sim_point("checkpoint of a store");
}

static void read_whole(const char *path, struct pipe_buf *to)
{
    uint8_t bytes[4096];
    FILE *file = fopen(path, "re");
    to->size = 0;
    for (size_t got; file != NULL && (got = fread(bytes, 1, sizeof bytes, file)) > 0;)
        pipe_buf_add(to, bytes, got);
    if (file == NULL || fclose(file) != 0)
        sim_fail("%s can't be read: %s", path, strerror(errno));
}

/* What is there is what was written: content is compared with names before anybody opens it. */
static bool load_checkpoint(struct store *store, const char *dir)
{
    char path[4600];
    struct pipe_buf bytes = {0};
    size_t count;
    DIR *entries = opendir(dir);
    remove_entries(&store->durable, 0, store->durable.count);
    for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
        snprintf(path, sizeof path, "%s/%s", dir, entry->d_name);
        if (strstr(entry->d_name, ".sst") == NULL)
            continue;
        read_whole(path, &bytes);
        apply(&store->durable, &bytes);
    }
    if (entries != NULL)
        closedir(entries);
    copy_map(&store->live, &store->durable);
    snprintf(path, sizeof path, "%s/" MANIFEST_NAME, dir);
    read_whole(path, &bytes);
    memcpy(&count, bytes.data, sizeof count);
    pipe_buf_free(&bytes);
    return count == store->live.count;
}

static bool is_checkpoint(const char *dir)
{
    char path[4400];
    struct stat about;
    snprintf(path, sizeof path, "%s/" MANIFEST_NAME, dir);
    return stat(path, &about) == 0;
}

/* ---- Opening and closing ---- */

static rocksdb_t *open_store(const rocksdb_options_t *options, const char *path, bool read_only,
                             char **error)
{
    sim_take_time();
    sim_point("opening of a store");
    bool checkpoint = read_only && is_checkpoint(path);
    struct store *store = store_at(path, (options->create && !read_only) || checkpoint);
    if (checkpoint && !load_checkpoint(store, path)) {
        *error = strdup("Corruption: a table of the checkpoint is missing");
        return NULL;
    }
    if (store == NULL || (!read_only && store->open)) {
        *error = strdup(store == NULL ? "Invalid argument: does not exist (create_if_missing is "
                                        "false)"
                                      : "IO error: lock: already held by process");
        return NULL;
    }
    rocksdb_t *db = pipe_calloc(1, sizeof *db);
    db->store = store;
    db->read_only = read_only;
    if (!read_only) {
        settle(store, false);
        make_durable(store);
        store->open = true;
        store->writer = sim.running;
    }
    return db;
}

rocksdb_t *rocksdb_open(const rocksdb_options_t *options, const char *path, char **error)
{
    return open_store(options, path, false, error);
}

rocksdb_t *rocksdb_open_for_read_only(const rocksdb_options_t *options, const char *path,
                                      unsigned char error_if_log, char **error)
{
    (void)error_if_log;
    return open_store(options, path, true, error);
}

void rocksdb_close(rocksdb_t *db)
{
    if (!db->read_only) {
        db->store->open = false;
        if (!db->broken)
            sim_trace("%s closed", strrchr(db->store->path, '/'));
        /* What was written without a log is flushed at closing only where that is not avoided; the
         * runtime flushes itself. */
        settle(db->store, false);
    }
    free(db);
}

/* ---- Writing ---- */

rocksdb_writebatch_t *rocksdb_writebatch_create(void)
{
    rocksdb_writebatch_t *batch = pipe_calloc(1, sizeof *batch);
    rocksdb_writebatch_clear(batch);
    return batch;
}

void rocksdb_writebatch_destroy(rocksdb_writebatch_t *batch)
{
    pipe_buf_free(&batch->all);
    free(batch);
}

void rocksdb_writebatch_clear(rocksdb_writebatch_t *batch)
{
    batch->at = sim.big_batches ? BIG_BYTES : 0;
    batch->all.size = 0;
    pipe_buf_reserve(&batch->all, batch->at);
    batch->all.size = batch->at;
}

const char *rocksdb_writebatch_data(rocksdb_writebatch_t *batch, size_t *bytes)
{
    *bytes = batch->all.size;
    return (const char *)batch->all.data;
}

static void add_op(rocksdb_writebatch_t *batch, enum op_kind kind, const char *key,
                   size_t key_bytes, const char *value, size_t value_bytes)
{
    pipe_buf_add_byte(&batch->all, (uint8_t)kind);
    pipe_buf_add(&batch->all, &key_bytes, sizeof key_bytes);
    pipe_buf_add(&batch->all, &value_bytes, sizeof value_bytes);
    pipe_buf_add(&batch->all, key, key_bytes);
    pipe_buf_add(&batch->all, value, value_bytes);
}

void rocksdb_writebatch_put(rocksdb_writebatch_t *batch, const char *key, size_t key_bytes,
                            const char *value, size_t value_bytes)
{
    add_op(batch, OP_PUT, key, key_bytes, value, value_bytes);
}

void rocksdb_writebatch_merge(rocksdb_writebatch_t *batch, const char *key, size_t key_bytes,
                              const char *value, size_t value_bytes)
{
    if (value_bytes != sizeof(uint64_t))
        sim_fail("a value of %zu bytes is merged", value_bytes);
    add_op(batch, OP_ADD, key, key_bytes, value, value_bytes);
}

void rocksdb_writebatch_delete(rocksdb_writebatch_t *batch, const char *key, size_t key_bytes)
{
    add_op(batch, OP_DELETE, key, key_bytes, "", 0);
}

void rocksdb_writebatch_delete_range(rocksdb_writebatch_t *batch, const char *from,
                                     size_t from_bytes, const char *to, size_t to_bytes)
{
    add_op(batch, OP_DELETE_RANGE, from, from_bytes, to, to_bytes);
}

static void check_batch(const struct store *store, const struct pipe_buf *ops)
{
    for (size_t at = 0; at < ops->size;) {
        size_t sizes[2];
        memcpy(sizes, ops->data + at + 1, sizeof sizes);
        const uint8_t *key = ops->data + at + 1 + sizeof sizes;
        if (ops->data[at] == OP_PUT)
            sim_check_write(store->path, key, sizes[0], key + sizes[0], sizes[1]);
        at += 1 + sizeof sizes + sizes[0] + sizes[1];
    }
}

static void remember(struct store *store, const struct pipe_buf *ops, bool logged, bool hidden)
{
    if (store->written_count == store->written_capacity) {
        store->written_capacity = store->written_capacity * 2 + 16;
        store->written =
            pipe_realloc(store->written, store->written_capacity * sizeof *store->written);
    }
    struct written *written = &store->written[store->written_count++];
    *written = (struct written){.logged = logged, .hidden = hidden};
    pipe_buf_add(&written->ops, ops->data, ops->size);
    if (!hidden)
        apply(&store->live, ops);
}

static bool broken(rocksdb_t *db, char **error)
{
    if (db->broken || db->read_only)
        *error = strdup("IO error: a write failed before this one");
    return *error != NULL;
}

/* Now and then a write fails, and nobody knows how far it got. */
static bool fails(rocksdb_t *db, char **error)
{
    if (!sim_chance(sim.odds.store_error))
        return false;
    *error = strdup(sim_below(2) == 0 ? "IO error: No space left on device: while appending"
                                      : "IO error: Input/output error: while syncing");
    db->broken = true;
    sim.errors++;
    return true;
}

void rocksdb_write(rocksdb_t *db, const rocksdb_writeoptions_t *options,
                   rocksdb_writebatch_t *batch, char **error)
{
    struct store *store = db->store;
    const struct pipe_buf ops = {.data = batch->all.data + batch->at,
                                 .size = batch->all.size - batch->at};
    if (broken(db, error))
        return;
    check_batch(store, &ops);
    sim_take_time();
    sim_point("write of a store");
    bool fail = fails(db, error);
    sim_trace("write %s %zu bytes %016llx%s%s%s", strrchr(store->path, '/'), ops.size,
              (unsigned long long)pipe_hash64(ops.data, ops.size, 0),
              options->sync ? " synced" : "", options->unlogged ? " unlogged" : "",
              fail ? ", fails" : "");
    remember(store, &ops, !options->unlogged, fail);
    sim_point("batch in memory");
    if (!fail && options->sync)
        make_durable(store);
    sim_point("written store");
}

void rocksdb_put(rocksdb_t *db, const rocksdb_writeoptions_t *options, const char *key,
                 size_t key_bytes, const char *value, size_t value_bytes, char **error)
{
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    rocksdb_writebatch_put(batch, key, key_bytes, value, value_bytes);
    rocksdb_write(db, options, batch, error);
    rocksdb_writebatch_destroy(batch);
}

struct rocksdb_flushoptions_t {
    bool wait;
};

rocksdb_flushoptions_t *rocksdb_flushoptions_create(void)
{
    return calloc(1, sizeof(rocksdb_flushoptions_t));
}

void rocksdb_flushoptions_destroy(rocksdb_flushoptions_t *options)
{
    free(options);
}

void rocksdb_flushoptions_set_wait(rocksdb_flushoptions_t *options, unsigned char wait)
{
    options->wait = wait;
}

void rocksdb_flush(rocksdb_t *db, const rocksdb_flushoptions_t *options, char **error)
{
    if (broken(db, error))
        return;
    if (options != NULL && !options->wait && sim_below(2) == 0) {
        sim_trace("flush %s begins", strrchr(db->store->path, '/'));
        return; /* and ends with one that is waited for, if there is another */
    }
    sim_take_time();
    sim_point("flush of a store");
    bool fail = fails(db, error);
    sim_trace("flush %s%s", strrchr(db->store->path, '/'), fail ? ", fails" : "");
    if (!fail || sim_below(2) == 0) /* the table is installed, or is not */
        make_durable(db->store);
    sim_point("flushed store");
}

/* ---- Reading ---- */

static struct entry *look_up(rocksdb_t *db, const char *key, size_t key_bytes)
{
    return find(&db->store->live, key, key_bytes);
}

char *rocksdb_get(rocksdb_t *db, const rocksdb_readoptions_t *options, const char *key,
                  size_t key_bytes, size_t *value_bytes, char **error)
{
    (void)options;
    (void)error;
    const struct entry *entry = look_up(db, key, key_bytes);
    if (entry == NULL)
        return NULL;
    *value_bytes = entry->value_bytes;
    char *value = pipe_malloc(entry->value_bytes + 1);
    memcpy(value, entry->bytes + entry->key_bytes, entry->value_bytes);
    return value;
}

rocksdb_pinnableslice_t *rocksdb_get_pinned(rocksdb_t *db, const rocksdb_readoptions_t *options,
                                            const char *key, size_t key_bytes, char **error)
{
    (void)options;
    (void)error;
    struct entry *entry = look_up(db, key, key_bytes);
    if (entry == NULL)
        return NULL;
    rocksdb_pinnableslice_t *slice = pipe_malloc(sizeof *slice);
    slice->entry = entry;
    entry->references++;
    return slice;
}

const char *rocksdb_pinnableslice_value(const rocksdb_pinnableslice_t *slice, size_t *bytes)
{
    *bytes = slice->entry->value_bytes;
    return (const char *)slice->entry->bytes + slice->entry->key_bytes;
}

void rocksdb_pinnableslice_destroy(rocksdb_pinnableslice_t *slice)
{
    release(slice->entry);
    free(slice);
}

rocksdb_iterator_t *rocksdb_create_iterator(rocksdb_t *db, const rocksdb_readoptions_t *options)
{
    (void)options;
    rocksdb_iterator_t *it = pipe_calloc(1, sizeof *it);
    it->map = &db->store->live;
    it->at = it->map->count;
    return it;
}

void rocksdb_iter_destroy(rocksdb_iterator_t *it)
{
    free(it);
}

unsigned char rocksdb_iter_valid(const rocksdb_iterator_t *it)
{
    return it->at < it->map->count;
}

void rocksdb_iter_seek(rocksdb_iterator_t *it, const char *key, size_t key_bytes)
{
    it->at = lower_bound(it->map, key, key_bytes);
}

/* The last entry that is not behind the key. */
void rocksdb_iter_seek_for_prev(rocksdb_iterator_t *it, const char *key, size_t key_bytes)
{
    size_t at = lower_bound(it->map, key, key_bytes);
    if (at < it->map->count && order(it->map->entries[at], key, key_bytes) == 0)
        it->at = at;
    else
        it->at = at > 0 ? at - 1 : it->map->count;
}

void rocksdb_iter_next(rocksdb_iterator_t *it)
{
    it->at++;
}

const char *rocksdb_iter_key(const rocksdb_iterator_t *it, size_t *bytes)
{
    *bytes = it->map->entries[it->at]->key_bytes;
    return (const char *)it->map->entries[it->at]->bytes;
}

const char *rocksdb_iter_value(const rocksdb_iterator_t *it, size_t *bytes)
{
    const struct entry *entry = it->map->entries[it->at];
    *bytes = entry->value_bytes;
    return (const char *)entry->bytes + entry->key_bytes;
}

void rocksdb_iter_get_error(const rocksdb_iterator_t *it, char **error)
{
    (void)it;
    (void)error;
}

void rocksdb_free(void *memory)
{
    free(memory);
}

/* ---- Options: two kinds matter ---- */

rocksdb_options_t *rocksdb_options_create(void)
{
    return pipe_calloc(1, sizeof(rocksdb_options_t));
}
void rocksdb_options_destroy(rocksdb_options_t *options)
{
    free(options);
}
void rocksdb_options_set_create_if_missing(rocksdb_options_t *options, unsigned char create)
{
    options->create = create != 0;
}
rocksdb_writeoptions_t *rocksdb_writeoptions_create(void)
{
    return pipe_calloc(1, sizeof(rocksdb_writeoptions_t));
}
void rocksdb_writeoptions_destroy(rocksdb_writeoptions_t *options)
{
    free(options);
}
void rocksdb_writeoptions_set_sync(rocksdb_writeoptions_t *options, unsigned char sync)
{
    options->sync = sync != 0;
}
void rocksdb_writeoptions_disable_WAL(rocksdb_writeoptions_t *options, int unlogged)
{
    options->unlogged = unlogged != 0;
}
