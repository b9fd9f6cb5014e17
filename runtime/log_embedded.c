/*
 * log_embedded.c: the log of an embedded run, in one RocksDB database.
 *
 * Keys:  'r' topic(4) partition(4) base offset(8), big-endian → a chunk: many records of one
 *            partition
 *        't' name → topic id(4) partitions(4), little-endian
 *        'm' name → metadata
 *        'w' … → write_count.c
 * A chunk is: version(1) 0(3) count(4) first kafka_time(8), then per record: zigzag varint
 * kafka_time less the previous one's; varint key size + 1 (0: no key); varint value size + 1 (0:
 * none); key; value. Chunks of one partition are gapless, so the next one begins at base + count.
 *
 * A row that goes to several topics is stored once: a value equal to the one appended before it is
 * a reference to that, in a chunk of the same commit. Its size has SHARED added, and in its place
 * are varints: topic id, partition, base of the chunk, position in its bytes.
 *
 * A commit is one WriteBatch, and it is durable before it counts. A small one goes through the
 * write-ahead log, synced. A big one skips that and is flushed at once: a memtable is installed
 * whole or not at all (one MANIFEST record) and a batch is never split over two, so that is as
 * atomic, and its bytes are checksummed and written once instead of twice (measured: 0.65
 * against 2.2 CPU seconds a GB). A failed commit may turn out either way, so the database must not
 * write on its own afterwards: no flush at closing, no resuming after errors. Who opens it next
 * sees what became of it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "log_embedded.h"
#include "log_identity.h"
#include "log_options.h"
#include "regular_file.h"
#include "write_count.h"

/* ---- Encoding ---- */

static uint64_t get_be(const uint8_t *at, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value = value << 8 | at[i];
    return value;
}

bool embedded_fail(struct embedded *log, const char *doing, char *cause)
{
    if (!log->failed)
        snprintf(log->log.error, sizeof log->log.error, "the log could not %s: %.300s%s", doing,
                 log_cause(cause), log_advice(cause, log_damaged));
    log->failed = true;
    rocksdb_free(cause);
    return false;
}

bool embedded_fail_damaged(struct embedded *log, uint32_t topic, int32_t partition, int64_t offset,
                           const char *how)
{
    log->failed = true;
    snprintf(log->log.error, sizeof log->log.error,
             "the log is damaged: topic %s, partition %d, offset %lld: %s; restore the directory "
             "from a copy, or start over in a new one",
             log->log.topics[topic].name, partition, (long long)offset, how);
    return false;
}

/* ---- Writing ---- */

static void close_chunk(struct embedded *log, uint32_t topic, int32_t partition, struct part *part)
{
    uint8_t key[LOG_CHUNK_KEY_BYTES];
    if (part->count == 0)
        return;
    log_chunk_key(key, log->log.topics[topic].id, partition, part->base);
    uint8_t *header = part->chunk.data;
    memset(header, 0, 4);
    header[0] = CHUNK_VERSION;
    memcpy(header + 4, &part->count, 4);
    memcpy(header + 8, &part->first_time_ms, 8);
    rocksdb_writebatch_put(log->batch, (const char *)key, sizeof key, (const char *)header,
                           part->chunk.size);
    if (log->recent != NULL)
        log_chunk_places_add(&log->places, log->batch, key, part->chunk.size);
    part->base += part->count;
    part->count = 0;
    part->chunk.size = 0;
}

/* Whether the value appended last is this one, and its chunk is still being filled. */
static bool is_last(const struct embedded *log, struct pipe_str value)
{
    const struct part *last = log->last;
    return value.size >= SHARED_MIN_BYTES && last != NULL && last->count > 0 &&
           last->base == log->last_place.base && log->last_bytes == value.size &&
           memcmp(last->chunk.data + log->last_place.position, value.data, value.size) == 0;
}

static uint8_t *put_place(uint8_t *at, const struct place *place)
{
    at = pipe_varint_put(at, place->topic_id);
    at = pipe_varint_put(at, (uint64_t)place->partition);
    at = pipe_varint_put(at, (uint64_t)place->base);
    return pipe_varint_put(at, place->position);
}

static bool embedded_append(struct pipe_log *outer, uint32_t topic, int32_t partition,
                            int64_t kafka_time_ms, struct pipe_str key, struct pipe_str value)
{
    struct embedded *log = embedded_of(outer);
    struct part *part = &log->parts[topic][partition];
    if (part->count == 0) {
        pipe_buf_reserve(&part->chunk, CHUNK_HEADER);
        part->chunk.size = CHUNK_HEADER;
        part->first_time_ms = part->last_time_ms = kafka_time_ms;
    }
    uint8_t *begin =
        pipe_buf_reserve(&part->chunk, RECORD_HEADER_MAX + REFERENCE_MAX + key.size + value.size);
    bool shared = is_last(log, value);
    int64_t delta = (int64_t)((uint64_t)kafka_time_ms - (uint64_t)part->last_time_ms);
    uint8_t *at = pipe_varint_put(begin, pipe_zigzag(delta));
    at = pipe_varint_put(at, key.data == NULL ? 0 : key.size + 1);
    at = pipe_varint_put(at, value.data == NULL ? 0 : value.size + 1 + (shared ? SHARED : 0));
    if (key.size > 0) {
        memcpy(at, key.data, key.size);
        at += key.size;
    }
    if (shared) {
        at = put_place(at, &log->last_place);
    } else if (value.size > 0) {
        memcpy(at, value.data, value.size);
        log->last = part;
        log->last_place = (struct place){log->log.topics[topic].id, partition, part->base,
                                         (size_t)(at - part->chunk.data)};
        log->last_bytes = value.size;
        at += value.size;
    }
    part->chunk.size += (size_t)(at - begin);
    part->last_time_ms = kafka_time_ms;
    part->count++;
    part->next++;
    log->log.pending_bytes += (uint64_t)(at - begin);
    if (part->chunk.size >= CHUNK_BYTES)
        close_chunk(log, topic, partition, part);
    return !log->failed;
}

/* 'm' or 't' and the name, in a buffer of the caller; returns its size, 0 if it is too long. */
static size_t named_key(char *to, size_t room, char kind, const char *name)
{
    size_t size = strlen(name);
    if (size + 1 > room)
        return 0;
    to[0] = kind;
    memcpy(to + 1, name, size);
    return size + 1;
}

bool embedded_put(struct pipe_log *outer, const char *name, const void *value, size_t bytes)
{
    struct embedded *log = embedded_of(outer);
    char key[512];
    size_t size = named_key(key, sizeof key, 'm', name);
    if (size == 0)
        return embedded_fail(log, "keep metadata under a name above 511 bytes", NULL);
    rocksdb_writebatch_put(log->batch, key, size, bytes == 0 ? "" : value, bytes);
    log->log.pending_bytes += bytes;
    return true;
}

bool embedded_get(struct pipe_log *outer, const char *name, struct pipe_buf *value, bool *found)
{
    struct embedded *log = embedded_of(outer);
    char key[512], *error = NULL;
    size_t size = named_key(key, sizeof key, 'm', name), bytes = 0;
    if (size == 0)
        return embedded_fail(log, "look for metadata under a name above 511 bytes", NULL);
    char *got = rocksdb_get(log->db, log->read_options, key, size, &bytes, &error);
    if (error != NULL)
        return embedded_fail(log, "read its metadata", error);
    *found = got != NULL;
    value->size = 0;
    if (got != NULL)
        pipe_buf_add(value, got, bytes);
    rocksdb_free(got);
    return true;
}

bool embedded_list(struct pipe_log *outer, const char *prefix,
                   bool (*each)(void *context, const char *name, struct pipe_str value),
                   void *context)
{
    struct embedded *log = embedded_of(outer);
    char key[512], name[512], *error = NULL;
    size_t size = named_key(key, sizeof key, 'm', prefix);
    if (size == 0)
        return embedded_fail(log, "list metadata under a name above 511 bytes", NULL);
    rocksdb_iterator_t *it = rocksdb_create_iterator(log->db, log->read_options);
    bool going = true;
    for (rocksdb_iter_seek(it, key, size); going && rocksdb_iter_valid(it); rocksdb_iter_next(it)) {
        size_t found_size, value_size;
        const char *found = rocksdb_iter_key(it, &found_size);
        const char *value = rocksdb_iter_value(it, &value_size);
        if (found_size < size || found_size > sizeof name || memcmp(found, key, size) != 0)
            break;
        memcpy(name, found + 1, found_size - 1);
        name[found_size - 1] = '\0';
        going = each(context, name, pipe_str_of(value, value_size));
    }
    rocksdb_iter_get_error(it, &error);
    rocksdb_iter_destroy(it);
    if (error != NULL)
        return embedded_fail(log, "list its metadata", error);
    return going;
}

/* Positions are metadata under their names. */
bool embedded_get_position(struct pipe_log *outer, const struct pipe_log_position *of_task,
                           struct pipe_log_committed *committed)
{
    committed->offset = -1;
    committed->first = 0;
    return embedded_get(outer, of_task->name, committed->value, &committed->found);
}

bool embedded_put_position(struct pipe_log *outer, const struct pipe_log_position *position)
{
    return embedded_put(outer, position->name, position->value.data, position->value.size);
}

static void put_new_topics(struct embedded *log)
{
    for (uint32_t i = log->committed_topics; i < log->log.topic_count; i++) {
        const struct pipe_log_topic *topic = &log->log.topics[i];
        char key[512];
        uint32_t value[2] = {topic->id, topic->partitions};
        size_t size = named_key(key, sizeof key, 't', topic->name);
        rocksdb_writebatch_put(log->batch, key, size, (const char *)value, sizeof value);
    }
}

static bool write_commit(struct pipe_log *outer)
{
    struct embedded *log = embedded_of(outer);
    char *error = NULL;
    size_t batch_bytes = 0;
    if (log->failed)
        return false;
    put_new_topics(log);
    for (uint32_t t = 0; t < log->log.topic_count; t++) {
        for (uint32_t p = 0; p < log->log.topics[t].partitions; p++)
            close_chunk(log, t, (int32_t)p, &log->parts[t][p]);
    }
    write_count_add(log->batch, log->batches + 1);
    rocksdb_writebatch_data(log->batch, &batch_bytes);
    bool big = batch_bytes >= FLUSH_BYTES;
    rocksdb_write(log->db, big ? log->unlogged : log->logged, log->batch, &error);
    if (error == NULL && big)
        rocksdb_flush(log->db, log->flush_options, &error);
    if (error != NULL)
        return embedded_fail(log, "write a commit", error);
    log->batches++;
    if (log->recent != NULL && big) /* what was logged is in the memtable */
        log->batch = log_recent_give(log->recent, log->batch, &log->places);
    log->places.count = 0;
    rocksdb_writebatch_clear(log->batch);
    log->committed_topics = log->log.topic_count;
    for (uint32_t t = 0; t < log->log.topic_count; t++) {
        for (uint32_t p = 0; p < log->log.topics[t].partitions; p++)
            __atomic_store_n(&log->parts[t][p].end, log->parts[t][p].next, __ATOMIC_RELEASE);
    }
    log->log.pending_bytes = 0;
    log->log.commits++;
    log->log.written_bytes += batch_bytes;
    return true;
}

static enum pipe_log_outcome embedded_commit(struct pipe_log *outer)
{
    return write_commit(outer) ? PIPE_LOG_COMMITTED : PIPE_LOG_BROKEN;
}

static void embedded_abort(struct pipe_log *outer)
{
    struct embedded *log = embedded_of(outer);
    rocksdb_writebatch_clear(log->batch);
    log->places.count = 0;
    log->last = NULL;
    for (uint32_t t = 0; t < log->log.topic_count; t++) {
        for (uint32_t p = 0; p < log->log.topics[t].partitions; p++) {
            struct part *part = &log->parts[t][p];
            part->next = part->base = part->end;
            part->count = 0;
            part->chunk.size = 0;
        }
    }
    log->log.pending_bytes = 0;
}

/* ---- Topics ---- */

static uint32_t add_topic(struct embedded *log, const char *name, size_t name_bytes, uint32_t id,
                          uint32_t partitions)
{
    struct pipe_log *outer = &log->log;
    if (outer->topic_count == log->topic_capacity) {
        log->topic_capacity = log->topic_capacity * 2 + 16;
        outer->topics = pipe_realloc(outer->topics, log->topic_capacity * sizeof *outer->topics);
        log->parts = pipe_realloc(log->parts, log->topic_capacity * sizeof *log->parts);
    }
    char *copy = pipe_malloc(name_bytes + 1);
    memcpy(copy, name, name_bytes);
    copy[name_bytes] = '\0';
    outer->topics[outer->topic_count] = (struct pipe_log_topic){copy, id, partitions};
    log->parts[outer->topic_count] = pipe_calloc(partitions, sizeof(struct part));
    return outer->topic_count++;
}

/* The chunk that holds `offset` or is the last before it: its base, count and (if wanted) its
 * value, by an iterator the caller destroys. *found false: there is none. */
bool embedded_find_chunk(struct embedded *log, uint32_t topic, int32_t partition, int64_t offset,
                         int64_t *base, uint32_t *count, bool *found)
{
    uint8_t key[LOG_CHUNK_KEY_BYTES];
    char *error = NULL;
    rocksdb_iterator_t *it = rocksdb_create_iterator(log->db, log->read_options);
    log_chunk_key(key, log->log.topics[topic].id, partition, offset);
    rocksdb_iter_seek_for_prev(it, (const char *)key, sizeof key);
    *found = false;
    bool sound = true;
    if (rocksdb_iter_valid(it)) {
        size_t key_size, value_size;
        const char *at = rocksdb_iter_key(it, &key_size);
        if (key_size == sizeof key && memcmp(at, key, 9) == 0) {
            const char *value = rocksdb_iter_value(it, &value_size);
            *base = (int64_t)get_be((const uint8_t *)at + 9, 8);
            sound = value_size >= CHUNK_HEADER && value[0] == CHUNK_VERSION;
            if (sound) {
                memcpy(count, value + 4, 4);
                sound = *base <= INT64_MAX - *count;
            }
            *found = sound;
        }
    }
    rocksdb_iter_get_error(it, &error);
    rocksdb_iter_destroy(it);
    if (error != NULL)
        return embedded_fail(log, "read a topic", error);
    return sound || embedded_fail_damaged(log, topic, partition, *base, "not a chunk of records");
}

static bool find_ends(struct embedded *log, uint32_t topic)
{
    for (uint32_t p = 0; p < log->log.topics[topic].partitions; p++) {
        struct part *part = &log->parts[topic][p];
        int64_t base;
        uint32_t count;
        bool found;
        if (!embedded_find_chunk(log, topic, (int32_t)p, INT64_MAX, &base, &count, &found))
            return false;
        if (found)
            part->end = part->next = part->base = base + count;
    }
    return true;
}

static bool embedded_topic(struct pipe_log *outer, const char *name, uint32_t partitions,
                           uint32_t *topic)
{
    struct embedded *log = embedded_of(outer);
    uint32_t next_id = 0;
    for (uint32_t i = 0; i < outer->topic_count; i++) {
        const struct pipe_log_topic *known = &outer->topics[i];
        next_id = known->id >= next_id ? known->id + 1 : next_id;
        if (strcmp(known->name, name) != 0)
            continue;
        *topic = i;
        if (known->partitions == partitions)
            return true;
        snprintf(outer->error, sizeof outer->error,
                 "topic %s has %u partitions in this directory, but the pipeline says %u; use "
                 "another directory, or the pipeline that made this one",
                 name, known->partitions, partitions);
        return false;
    }
    if (strlen(name) > 500 || partitions == 0 || partitions > 1000000) {
        snprintf(outer->error, sizeof outer->error,
                 "topic %.100s with %u partitions is not possible", name, partitions);
        return false;
    }
    *topic = add_topic(log, name, strlen(name), next_id, partitions);
    return true;
}

int64_t embedded_end(const struct pipe_log *outer, uint32_t topic, int32_t partition)
{
    return embedded_end_of(&((const struct embedded *)outer)->parts[topic][partition]);
}

int64_t embedded_begin(struct pipe_log *outer, uint32_t topic, int32_t partition)
{
    (void)outer;
    (void)topic;
    (void)partition;
    return 0; /* nothing is ever deleted */
}

/* This process alone writes: what it has committed is all there is. */
bool embedded_at_end(struct pipe_log *outer, uint32_t topic, int32_t partition, int64_t offset)
{
    return offset >= embedded_end(outer, topic, partition);
}

static bool load_topics(struct embedded *log)
{
    char *error = NULL;
    rocksdb_iterator_t *it = rocksdb_create_iterator(log->db, log->read_options);
    bool sound = true;
    for (rocksdb_iter_seek(it, "t", 1); sound && rocksdb_iter_valid(it); rocksdb_iter_next(it)) {
        size_t key_size, value_size;
        uint32_t fields[2];
        const char *key = rocksdb_iter_key(it, &key_size);
        const char *value = rocksdb_iter_value(it, &value_size);
        if (key[0] != 't')
            break;
        sound = value_size == sizeof fields && key_size > 1;
        if (!sound)
            break;
        memcpy(fields, value, sizeof fields);
        sound = fields[1] > 0 && fields[1] <= 1000000;
        if (sound)
            add_topic(log, key + 1, key_size - 1, fields[0], fields[1]);
    }
    rocksdb_iter_get_error(it, &error);
    rocksdb_iter_destroy(it);
    if (error != NULL)
        return embedded_fail(log, "list its topics", error);
    if (!sound) {
        snprintf(log->log.error, sizeof log->log.error,
                 "the log is damaged: its list of topics has a malformed entry; restore the "
                 "directory from a copy, or start over in a new one");
        return false;
    }
    log->committed_topics = log->log.topic_count;
    for (uint32_t t = 0; t < log->log.topic_count; t++) {
        if (!find_ends(log, t))
            return false;
    }
    return true;
}

/* ---- Opening ---- */

static void embedded_close(struct pipe_log *outer)
{
    struct embedded *log = embedded_of(outer);
    for (uint32_t t = 0; t < outer->topic_count; t++) {
        for (uint32_t p = 0; p < outer->topics[t].partitions; p++)
            pipe_buf_free(&log->parts[t][p].chunk);
        free(log->parts[t]);
        free((char *)outer->topics[t].name);
    }
    free(log->parts);
    free(outer->topics);
    if (log->db != NULL)
        rocksdb_close(log->db);
    rocksdb_writebatch_destroy(log->batch);
    log_recent_free(log->recent);
    free(log->places.items);
    rocksdb_writeoptions_destroy(log->logged);
    rocksdb_writeoptions_destroy(log->unlogged);
    rocksdb_flushoptions_destroy(log->flush_options);
    rocksdb_readoptions_destroy(log->read_options);
    rocksdb_options_destroy(log->options);
    rocksdb_block_based_options_destroy(log->table_options);
    rocksdb_cache_destroy(log->cache);
    free(log);
}

/* Opens the database, without direct I/O where the file system has none (tmpfs). */
static bool open_database(struct embedded *log, const char *path, bool read_only, char **cause)
{
    log->table_options = log_table_options(&log->cache);
    for (int direct = 1; direct >= 0 && log->db == NULL; direct--) {
        rocksdb_free(*cause);
        *cause = NULL;
        if (log->options != NULL)
            rocksdb_options_destroy(log->options);
        log->options = log_options(log->table_options, !read_only, direct == 1);
        log->db = read_only ? rocksdb_open_for_read_only(log->options, path, 0, cause)
                            : rocksdb_open(log->options, path, cause);
        if (*cause != NULL && strstr(*cause, "irect I/O") == NULL)
            break;
    }
    return log->db != NULL;
}

static const struct pipe_log_ops embedded_ops = {
    .topic = embedded_topic,
    .get_position = embedded_get_position,
    .put_position = embedded_put_position,
    .begin = embedded_begin,
    .end = embedded_end,
    .at_end = embedded_at_end,
    .append = embedded_append,
    .put = embedded_put,
    .get = embedded_get,
    .list = embedded_list,
    .commit = embedded_commit,
    .abort = embedded_abort,
    .reader = embedded_reader,
    .read = embedded_read,
    .position = embedded_position,
    .reader_close = embedded_reader_close,
    .close = embedded_close,
};

struct pipe_log *pipe_log_embedded_open(const char *dir, bool read_only, char *error,
                                        size_t error_bytes)
{
    char path[4096], irregular[512], *cause = NULL;
    bool foreign = false;
    if (snprintf(path, sizeof path, "%s/log", dir) >= (int)sizeof path) {
        snprintf(error, error_bytes, "the path of the run directory is too long");
        return NULL;
    }
    if (!pipe_is_all_regular(path, irregular, sizeof irregular)) {
        snprintf(error, error_bytes, "the log in %s can't be opened: %s%s", path, irregular,
                 log_advice(irregular, log_damaged));
        errno = EIO;
        return NULL;
    }
    struct embedded *log = pipe_calloc(1, sizeof *log);
    log->log.ops = &embedded_ops;
    log->log.keeps_values = true;
    log->log.metadata_bytes = UINT32_MAX;
    log->logged = rocksdb_writeoptions_create();
    rocksdb_writeoptions_set_sync(log->logged, 1);
    log->unlogged = rocksdb_writeoptions_create();
    rocksdb_writeoptions_disable_WAL(log->unlogged, 1);
    log->flush_options = rocksdb_flushoptions_create();
    rocksdb_flushoptions_set_wait(log->flush_options, 1);
    log->read_options = rocksdb_readoptions_create();
    rocksdb_readoptions_set_fill_cache(log->read_options, 0);
    log->batch = rocksdb_writebatch_create();
    if (!open_database(log, path, read_only, &cause))
        snprintf(error, error_bytes, "the log in %s can't be opened: %.300s%s", path,
                 log_cause(cause), log_advice(cause, log_damaged));
    else if (log_identify(&log->log, log->db, log->read_options, path, read_only, &log->batches,
                          &foreign) &&
             load_topics(log))
        return &log->log;
    else
        snprintf(error, error_bytes, foreign ? "%s" : "%s (%s)", log->log.error, path);
    rocksdb_free(cause);
    embedded_close(&log->log);
    errno = foreign ? EMEDIUMTYPE : EIO;
    return NULL;
}
