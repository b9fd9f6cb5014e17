/*
 * state_transfer.c: see state_transfer.h. Keys, besides those of state_store.c:
 *
 *   'h' stage(4) partition(4) → the key of the task's hashes, where it is not the store's
 *   'r' stage(4) partition(4) → the task is being taken over: its entries are not whole
 *   'm' writer
 */
#include <stdlib.h>

#include "state_store.h"
#include "state_transfer.h"
#include "write_count.h"

#ifdef PIPE_DEBUG
#define BATCH_BYTES 2048u /* a copy has many steps in tests */
#else
#define BATCH_BYTES (4u << 20)
#endif

bool pipe_store_can_read(const char *version)
{
    return strcmp(version, PIPE_STATE_VERSION) == 0 ||
           strcmp(version, PIPE_STATE_VERSION_ADOPTED) == 0;
}

/* ---- Small values ---- */

static bool get(struct pipe_store *store, const void *key, size_t key_bytes, void *to, size_t room,
                bool *found)
{
    char *error = NULL;
    size_t size = 0;
    char *value = rocksdb_get(store->db, store->read_options, key, key_bytes, &size, &error);
    if (error != NULL)
        return store_fail(store, "be read", error);
    *found = value != NULL && size == room;
    if (*found && room > 0)
        memcpy(to, value, room);
    rocksdb_free(value);
    return true;
}

bool pipe_store_task_key(struct pipe_store *store, uint32_t stage, int32_t partition,
                         struct pipe_hash_key *key)
{
    uint8_t prefix[ENTRY_PREFIX];
    bool found;
    *key = store->hash_key;
    store_prefix(prefix, 'h', stage, partition, 0);
    return get(store, prefix, TASK_PREFIX, key, sizeof *key, &found);
}

bool pipe_store_writer(struct pipe_store *store, uint8_t writer[16])
{
    bool found;
    if (!get(store, "mwriter", 7, writer, 16, &found))
        return false;
    if (found)
        return true;
    pipe_random_bytes(writer, 16);
    pipe_store_begin(store);
    rocksdb_writebatch_put(store->batch, "mwriter", 7, (const char *)writer, 16);
    return pipe_store_end(store);
}

/* ---- Leaving ---- */

bool pipe_store_checkpoint(struct pipe_store *store, const char *path)
{
    char *error = NULL;
    rocksdb_checkpoint_t *checkpoint = rocksdb_checkpoint_object_create(store->db, &error);
    if (error == NULL) {
        rocksdb_checkpoint_create(checkpoint, path, 0, &error);
        rocksdb_checkpoint_object_destroy(checkpoint);
    }
    return error == NULL || store_fail(store, "be linked for a checkpoint", error);
}

static int32_t be32(const char *at)
{
    const uint8_t *bytes = (const uint8_t *)at;
    return (int32_t)((uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 |
                     bytes[3]);
}

bool pipe_store_each_position(struct pipe_store *store,
                              void (*each)(void *context, uint32_t stage, int32_t partition,
                                           const struct pipe_store_position *position),
                              void *context)
{
    char *error = NULL;
    bool ok = true;
    rocksdb_iterator_t *it = rocksdb_create_iterator(store->db, store->read_options);
    for (rocksdb_iter_seek(it, "p", 1); ok && rocksdb_iter_valid(it); rocksdb_iter_next(it)) {
        size_t size;
        const char *key = rocksdb_iter_key(it, &size);
        if (size != TASK_PREFIX || key[0] != 'p')
            break;
        struct pipe_store_position position;
        uint32_t stage = (uint32_t)be32(key + 1);
        int32_t partition = be32(key + 5);
        bool found;
        ok = pipe_store_load_position(store, stage, partition, &position, &found);
        if (ok && found)
            each(context, stage, partition, &position);
    }
    if (ok)
        rocksdb_iter_get_error(it, &error);
    rocksdb_iter_destroy(it);
    return error == NULL ? ok : store_fail(store, "be read", error);
}

/* ---- Coming ---- */

/* One counted batch that is not logged: what is written next, by whomever, is flushed with it. */
static bool write_unlogged(struct pipe_store *store, rocksdb_writebatch_t *batch)
{
    char *error = NULL;
    store->is_adopting = true;
    write_count_add(batch, ++store->saves);
    rocksdb_write(store->db, store->unlogged, batch, &error);
    rocksdb_writebatch_clear(batch);
    return error == NULL || store_fail(store, "be written", error);
}

static bool flush(struct pipe_store *store)
{
    char *error = NULL;
    rocksdb_flush(store->db, store->flush_options, &error);
    store->is_adopting = error != NULL;
    return error == NULL || store_fail(store, "be written", error);
}

/* No position, no entries; the mark that says so stays, or goes. */
static void put_cleared(rocksdb_writebatch_t *batch, uint32_t stage, int32_t partition, bool marked)
{
    uint8_t from[ENTRY_PREFIX], to[ENTRY_PREFIX], key[ENTRY_PREFIX];
    store_prefix(key, 'p', stage, partition, 0);
    rocksdb_writebatch_delete(batch, (char *)key, TASK_PREFIX);
    store_prefix(from, 's', stage, partition, 0);
    store_prefix(to, 's', stage, partition + 1, 0);
    rocksdb_writebatch_delete_range(batch, (char *)from, TASK_PREFIX, (char *)to, TASK_PREFIX);
    store_prefix(key, 'r', stage, partition, 0);
    if (marked)
        rocksdb_writebatch_put(batch, (char *)key, TASK_PREFIX, "", 0);
    else
        rocksdb_writebatch_delete(batch, (char *)key, TASK_PREFIX);
}

bool store_clear_unfinished(struct pipe_store *store, uint32_t stage, int32_t partition)
{
    uint8_t key[ENTRY_PREFIX];
    bool found;
    store_prefix(key, 'r', stage, partition, 0);
    if (!get(store, key, TASK_PREFIX, NULL, 0, &found))
        return false;
    if (!found || store->read_only)
        return true;
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    put_cleared(batch, stage, partition, false);
    bool ok = write_unlogged(store, batch) && flush(store);
    rocksdb_writebatch_destroy(batch);
    return ok;
}

struct adoption {
    struct pipe_store *to, *from;
    uint32_t stage;
    int32_t partition;
    rocksdb_writebatch_t *batch;
    bool (*turn)(void *context);
    void *context;
    uint64_t entries;
    bool ended;
};

static bool adopt_begin(struct adoption *in)
{
    put_cleared(in->batch, in->stage, in->partition, true);
    /* From here on there is something that an older program must not read. */
    rocksdb_writebatch_put(in->batch, "mversion", 8, PIPE_STATE_VERSION_ADOPTED,
                           strlen(PIPE_STATE_VERSION_ADOPTED));
    snprintf(in->to->version, sizeof in->to->version, "%s", PIPE_STATE_VERSION_ADOPTED);
    return write_unlogged(in->to, in->batch);
}

static bool adopt_entries(struct adoption *in)
{
    uint8_t prefix[ENTRY_PREFIX];
    char *error = NULL;
    size_t bytes = 0;
    bool ok = true;
    store_prefix(prefix, 's', in->stage, in->partition, 0);
    rocksdb_iterator_t *it = rocksdb_create_iterator(in->from->db, in->from->read_options);
    rocksdb_iter_seek(it, (char *)prefix, TASK_PREFIX);
    for (; ok && !in->ended && rocksdb_iter_valid(it); rocksdb_iter_next(it)) {
        size_t key_size, value_size;
        const char *key = rocksdb_iter_key(it, &key_size);
        const char *value = rocksdb_iter_value(it, &value_size);
        if (key_size < ENTRY_PREFIX || memcmp(key, prefix, TASK_PREFIX) != 0)
            break;
        rocksdb_writebatch_put(in->batch, key, key_size, value, value_size);
        in->entries++;
        bytes += key_size + value_size;
        if (bytes >= BATCH_BYTES) {
            bytes = 0;
            ok = write_unlogged(in->to, in->batch);
            in->ended = ok && !in->turn(in->context);
        }
    }
    if (ok)
        rocksdb_iter_get_error(it, &error);
    rocksdb_iter_destroy(it);
    if (error != NULL) {
        store_fail(in->from, "be read", error);
        snprintf(in->to->error, sizeof in->to->error, "%s", in->from->error);
    }
    return ok && error == NULL;
}

/* The position comes last, with the key, and is there when this returns. */
static bool adopt_end(struct adoption *in)
{
    uint8_t key[ENTRY_PREFIX];
    struct pipe_hash_key hash_key;
    char *error = NULL;
    size_t size = 0;
    store_prefix(key, 'p', in->stage, in->partition, 0);
    char *position =
        rocksdb_get(in->from->db, in->from->read_options, (char *)key, TASK_PREFIX, &size, &error);
    if (error != NULL || position == NULL ||
        !pipe_store_task_key(in->from, in->stage, in->partition, &hash_key)) {
        snprintf(in->to->error, sizeof in->to->error, "a checkpoint can't be read: %.300s",
                 error != NULL ? error : in->from->error);
        rocksdb_free(error);
        rocksdb_free(position);
        return false;
    }
    rocksdb_writebatch_put(in->batch, (char *)key, TASK_PREFIX, position, size);
    rocksdb_free(position);
    store_prefix(key, 'h', in->stage, in->partition, 0);
    rocksdb_writebatch_put(in->batch, (char *)key, TASK_PREFIX, (char *)&hash_key, sizeof hash_key);
    store_prefix(key, 'r', in->stage, in->partition, 0);
    rocksdb_writebatch_delete(in->batch, (char *)key, TASK_PREFIX);
    return write_unlogged(in->to, in->batch) && flush(in->to);
}

bool pipe_store_adopt(struct pipe_store *to, struct pipe_store *from, uint32_t stage,
                      int32_t partition, bool (*turn)(void *context), void *context, bool *ended,
                      uint64_t *entries)
{
    struct adoption in = {to,   from,    stage, partition, rocksdb_writebatch_create(),
                          turn, context, 0,     false};
    bool ok = adopt_begin(&in) && adopt_entries(&in) && (in.ended || adopt_end(&in));
    rocksdb_writebatch_destroy(in.batch);
    *ended = in.ended;
    *entries = in.entries;
    return ok;
}
