/*
 * log_embedded.c: the log of an embedded run, in one RocksDB database.
 *
 * Keys:  'r' topic(4) partition(4) base offset(8), big-endian → a chunk: many records of one
 *            partition
 *        't' name → topic id(4) partitions(4), little-endian
 *        'm' name → metadata
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

#include <rocksdb/c.h>

#include "log.h"
#include "log_options.h"
#include "log_pins.h"

#define CHUNK_BYTES (256u << 10) /* a chunk is closed beyond this */
#define CHUNK_HEADER 16u
#define CHUNK_VERSION 1
#define RECORD_HEADER_MAX 30u  /* three varints */
#define SHARED (1ull << 32)    /* no value has as many bytes */
#define SHARED_MIN_BYTES 128u  /* smaller values are stored again */
#define REFERENCE_MAX 40u      /* four varints */
#define FLUSH_BYTES (2u << 20) /* a commit from here on is flushed instead of logged */
#define READ_MAX 1024u         /* records given to a reader's caller at once */

/* One partition of a topic that is written to or asked for its end. */
struct part {
    int64_t end;  /* committed */
    int64_t next; /* with what is pending */
    int64_t base; /* of the chunk being filled */
    uint32_t count;
    int64_t first_time_ms, last_time_ms;
    struct pipe_buf chunk;
};

/* Where the value of a record lies in a chunk. */
struct place {
    uint32_t topic_id;
    int32_t partition;
    int64_t base;
    size_t position;
};

struct embedded {
    struct pipe_log log; /* first */
    struct part *last;   /* NULL, or has (if its base is still the same) the value appended last */
    struct place last_place;
    size_t last_bytes;
    rocksdb_t *db;
    rocksdb_options_t *options;
    rocksdb_block_based_table_options_t *table_options;
    rocksdb_cache_t *cache;
    rocksdb_writeoptions_t *logged, *unlogged;
    rocksdb_flushoptions_t *flush_options;
    rocksdb_readoptions_t *read_options;
    rocksdb_writebatch_t *batch;
    struct part **parts; /* by topic: an array of its partitions */
    uint32_t topic_capacity;
    uint32_t committed_topics; /* topics[0, this) are registered durably */
    bool failed;
};

struct pipe_log_reader {
    struct embedded *log;
    uint32_t topic;
    int32_t partition;
    int64_t offset; /* of the next record */
    struct pipe_record constant;
    rocksdb_pinnableslice_t *pinned; /* the chunk in hand; at … end are inside it */
    const uint8_t *at, *end;
    uint32_t left; /* records of the chunk not given yet */
    bool shared;   /* the value of the record in hand is elsewhere: */
    struct place place;
    struct log_pins pins;
    int64_t time_ms;
    struct pipe_record records[READ_MAX];
};

static struct embedded *of(struct pipe_log *log)
{
    return (struct embedded *)log;
}

/* ---- Encoding ---- */

static uint64_t get_be(const uint8_t *at, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value = value << 8 | at[i];
    return value;
}

static bool fail(struct embedded *log, const char *doing, char *cause)
{
    if (!log->failed)
        snprintf(log->log.error, sizeof log->log.error, "the log could not %s: %.300s%s", doing,
                 cause != NULL ? cause : "unknown cause", log_advice(cause, log_damaged));
    log->failed = true;
    rocksdb_free(cause);
    return false;
}

static bool fail_damaged(struct embedded *log, uint32_t topic, int32_t partition, int64_t offset,
                         const char *how)
{
    log->failed = true;
    snprintf(log->log.error, sizeof log->log.error,
             "the log is damaged: topic %s, partition %d, offset %lld: %s; restore the directory "
             "from a copy, or start over in a new one",
             log->log.topics[topic].name, partition, (long long)offset, how);
    return false;
}

/* Bounds-checked varint; false: cut or over-long. */
static bool get_varint(const uint8_t **at, const uint8_t *end, uint64_t *out)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (*at == end)
            return false;
        uint8_t byte = *(*at)++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *out = value;
            return true;
        }
    }
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

static bool embedded_append(struct pipe_log *public, uint32_t topic, int32_t partition,
                            int64_t kafka_time_ms, struct pipe_str key, struct pipe_str value)
{
    struct embedded *log = of(public);
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

static bool embedded_put(struct pipe_log *public, const char *name, const void *value, size_t bytes)
{
    struct embedded *log = of(public);
    char key[512];
    size_t size = named_key(key, sizeof key, 'm', name);
    if (size == 0)
        return fail(log, "keep metadata under a name above 511 bytes", NULL);
    rocksdb_writebatch_put(log->batch, key, size, bytes == 0 ? "" : value, bytes);
    log->log.pending_bytes += bytes;
    return true;
}

static bool embedded_get(struct pipe_log *public, const char *name, struct pipe_buf *value,
                         bool *found)
{
    struct embedded *log = of(public);
    char key[512], *error = NULL;
    size_t size = named_key(key, sizeof key, 'm', name), bytes = 0;
    if (size == 0)
        return fail(log, "look for metadata under a name above 511 bytes", NULL);
    char *got = rocksdb_get(log->db, log->read_options, key, size, &bytes, &error);
    if (error != NULL)
        return fail(log, "read its metadata", error);
    *found = got != NULL;
    value->size = 0;
    if (got != NULL)
        pipe_buf_add(value, got, bytes);
    rocksdb_free(got);
    return true;
}

static bool embedded_list(struct pipe_log *public, const char *prefix,
                          bool (*each)(void *context, const char *name, struct pipe_str value),
                          void *context)
{
    struct embedded *log = of(public);
    char key[512], name[512], *error = NULL;
    size_t size = named_key(key, sizeof key, 'm', prefix);
    if (size == 0)
        return fail(log, "list metadata under a name above 511 bytes", NULL);
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
        return fail(log, "list its metadata", error);
    return going;
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

static bool embedded_commit(struct pipe_log *public)
{
    struct embedded *log = of(public);
    char *error = NULL;
    size_t batch_bytes = 0;
    if (log->failed)
        return false;
    put_new_topics(log);
    for (uint32_t t = 0; t < log->log.topic_count; t++) {
        for (uint32_t p = 0; p < log->log.topics[t].partitions; p++)
            close_chunk(log, t, (int32_t)p, &log->parts[t][p]);
    }
    rocksdb_writebatch_data(log->batch, &batch_bytes);
    bool big = batch_bytes >= FLUSH_BYTES;
    rocksdb_write(log->db, big ? log->unlogged : log->logged, log->batch, &error);
    if (error == NULL && big)
        rocksdb_flush(log->db, log->flush_options, &error);
    if (error != NULL)
        return fail(log, "write a commit", error);
    rocksdb_writebatch_clear(log->batch);
    log->committed_topics = log->log.topic_count;
    for (uint32_t t = 0; t < log->log.topic_count; t++) {
        for (uint32_t p = 0; p < log->log.topics[t].partitions; p++)
            log->parts[t][p].end = log->parts[t][p].next;
    }
    log->log.pending_bytes = 0;
    log->log.commits++;
    log->log.written_bytes += batch_bytes;
    return true;
}

static void embedded_abort(struct pipe_log *public)
{
    struct embedded *log = of(public);
    rocksdb_writebatch_clear(log->batch);
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
    struct pipe_log *public = &log->log;
    if (public->topic_count == log->topic_capacity) {
        log->topic_capacity = log->topic_capacity * 2 + 16;
        public->topics = pipe_realloc(public->topics, log->topic_capacity * sizeof *public->topics);
        log->parts = pipe_realloc(log->parts, log->topic_capacity * sizeof *log->parts);
    }
    char *copy = pipe_malloc(name_bytes + 1);
    memcpy(copy, name, name_bytes);
    copy[name_bytes] = '\0';
    public->topics[public->topic_count] = (struct pipe_log_topic){copy, id, partitions};
    log->parts[public->topic_count] = pipe_calloc(partitions, sizeof(struct part));
    return public->topic_count++;
}

/* The chunk that holds `offset` or is the last before it: its base, count and (if wanted) its
 * value, by an iterator the caller destroys. *found false: there is none. */
static bool find_chunk(struct embedded *log, uint32_t topic, int32_t partition, int64_t offset,
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
        return fail(log, "read a topic", error);
    return sound || fail_damaged(log, topic, partition, *base, "not a chunk of records");
}

static bool find_ends(struct embedded *log, uint32_t topic)
{
    for (uint32_t p = 0; p < log->log.topics[topic].partitions; p++) {
        struct part *part = &log->parts[topic][p];
        int64_t base;
        uint32_t count;
        bool found;
        if (!find_chunk(log, topic, (int32_t)p, INT64_MAX, &base, &count, &found))
            return false;
        if (found)
            part->end = part->next = part->base = base + count;
    }
    return true;
}

static bool embedded_topic(struct pipe_log *public, const char *name, uint32_t partitions,
                           uint32_t *topic)
{
    struct embedded *log = of(public);
    uint32_t next_id = 0;
    for (uint32_t i = 0; i < public->topic_count; i++) {
        const struct pipe_log_topic *known = &public->topics[i];
        next_id = known->id >= next_id ? known->id + 1 : next_id;
        if (strcmp(known->name, name) != 0)
            continue;
        *topic = i;
        if (known->partitions == partitions)
            return true;
        snprintf(public->error, sizeof public->error,
                 "topic %s has %u partitions in this directory, but the pipeline says %u; use "
                 "another directory, or the pipeline that made this one",
                 name, known->partitions, partitions);
        return false;
    }
    if (strlen(name) > 500 || partitions == 0 || partitions > 1000000) {
        snprintf(public->error, sizeof public->error,
                 "topic %.100s with %u partitions is not possible", name, partitions);
        return false;
    }
    *topic = add_topic(log, name, strlen(name), next_id, partitions);
    return true;
}

static int64_t embedded_end(const struct pipe_log *public, uint32_t topic, int32_t partition)
{
    return ((const struct embedded *)public)->parts[topic][partition].end;
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
        return fail(log, "list its topics", error);
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

/* ---- Reading ---- */

static struct pipe_log_reader *embedded_reader(struct pipe_log *public, uint32_t topic,
                                               int32_t partition, int64_t offset,
                                               const struct pipe_record *constant)
{
    struct pipe_log_reader *reader = pipe_calloc(1, sizeof *reader);
    reader->log = of(public);
    reader->topic = topic;
    reader->partition = partition;
    reader->offset = offset;
    reader->constant = *constant;
    return reader;
}

static void release_chunk(struct pipe_log_reader *reader)
{
    if (reader->pinned != NULL)
        rocksdb_pinnableslice_destroy(reader->pinned);
    reader->pinned = NULL;
    reader->left = 0;
}

static bool parse_place(struct pipe_log_reader *reader)
{
    uint64_t topic_id, partition, base, position;
    if (!get_varint(&reader->at, reader->end, &topic_id) ||
        !get_varint(&reader->at, reader->end, &partition) ||
        !get_varint(&reader->at, reader->end, &base) ||
        !get_varint(&reader->at, reader->end, &position))
        return false;
    reader->place = (struct place){(uint32_t)topic_id, (int32_t)partition, (int64_t)base, position};
    return topic_id <= UINT32_MAX && partition <= INT32_MAX;
}

/* A value that is elsewhere gets its size only: fetch_value. */
static bool parse_record(struct pipe_log_reader *reader, struct pipe_record *out)
{
    uint64_t delta, key_size, value_size;
    if (!get_varint(&reader->at, reader->end, &delta) ||
        !get_varint(&reader->at, reader->end, &key_size) ||
        !get_varint(&reader->at, reader->end, &value_size))
        return false;
    reader->shared = value_size > SHARED;
    if (reader->shared)
        value_size -= SHARED;
    uint64_t room = (uint64_t)(reader->end - reader->at);
    uint64_t key_bytes = key_size == 0 ? 0 : key_size - 1;
    uint64_t value_bytes = value_size == 0 ? 0 : value_size - 1;
    if (key_bytes > room || (!reader->shared && value_bytes > room - key_bytes))
        return false;
    reader->time_ms =
        (int64_t)((uint64_t)reader->time_ms + ((delta >> 1) ^ (uint64_t) - (int64_t)(delta & 1)));
    out->kafka_time_ms = reader->time_ms;
    out->key = pipe_str_of(key_size == 0 ? NULL : reader->at, key_bytes);
    reader->at += key_bytes;
    out->payload = pipe_str_of(value_size == 0 ? NULL : reader->at, value_bytes);
    if (reader->shared)
        return parse_place(reader);
    reader->at += value_bytes;
    return true;
}

/* The value of a record that refers to another chunk. False: *full, or the log has failed. */
static bool fetch_value(struct pipe_log_reader *reader, struct pipe_record *out, bool *full)
{
    struct embedded *log = reader->log;
    const struct place *place = &reader->place;
    uint8_t key[LOG_CHUNK_KEY_BYTES];
    size_t size = 0;
    char *error = NULL;
    log_chunk_key(key, place->topic_id, place->partition, place->base);
    const uint8_t *chunk =
        log_pins_get(&reader->pins, log->db, log->read_options, key, &size, full, &error);
    if (*full)
        return false;
    if (error != NULL)
        return fail(log, "read a topic", error);
    if (chunk == NULL || place->position > size || out->payload.size > size - place->position)
        return fail_damaged(log, reader->topic, reader->partition, reader->offset,
                            "its value is missing");
    out->payload.data = (const char *)chunk + place->position;
    return true;
}

/* The next record of the chunk in hand. False: *full (nothing has moved), or the log has failed. */
static bool take_record(struct pipe_log_reader *reader, struct pipe_record *out, bool *full)
{
    const uint8_t *at = reader->at;
    int64_t time_ms = reader->time_ms;
    *full = false;
    *out = reader->constant;
    if (!parse_record(reader, out))
        return fail_damaged(reader->log, reader->topic, reader->partition, reader->offset,
                            "the chunk is cut");
    if (reader->shared && !fetch_value(reader, out, full)) {
        reader->at = at;
        reader->time_ms = time_ms;
        return false;
    }
    out->offset = reader->offset++;
    return true;
}

/* Makes the chunk in hand that of reader->offset. */
static bool open_chunk(struct pipe_log_reader *reader)
{
    struct embedded *log = reader->log;
    uint8_t key[LOG_CHUNK_KEY_BYTES];
    char *error = NULL;
    int64_t base = reader->offset;
    uint32_t count;
    bool found;
    log_chunk_key(key, log->log.topics[reader->topic].id, reader->partition, base);
    reader->pinned =
        rocksdb_get_pinned(log->db, log->read_options, (char *)key, sizeof key, &error);
    if (error == NULL && reader->pinned == NULL) { /* the offset is inside of a chunk */
        if (!find_chunk(log, reader->topic, reader->partition, reader->offset, &base, &count,
                        &found))
            return false;
        if (!found || base + count <= reader->offset)
            return fail_damaged(log, reader->topic, reader->partition, reader->offset,
                                "the record is missing");
        log_chunk_key(key, log->log.topics[reader->topic].id, reader->partition, base);
        reader->pinned =
            rocksdb_get_pinned(log->db, log->read_options, (char *)key, sizeof key, &error);
    }
    if (error != NULL || reader->pinned == NULL)
        return fail(log, "read a topic", error);
    size_t size = 0;
    const uint8_t *value = (const uint8_t *)rocksdb_pinnableslice_value(reader->pinned, &size);
    if (size < CHUNK_HEADER || value[0] != CHUNK_VERSION)
        return fail_damaged(log, reader->topic, reader->partition, base, "not a chunk of records");
    memcpy(&reader->left, value + 4, 4);
    memcpy(&reader->time_ms, value + 8, 8);
    reader->at = value + CHUNK_HEADER;
    reader->end = value + size;
    struct pipe_record skipped;
    for (; base < reader->offset && reader->left > 0; base++, reader->left--) {
        if (!parse_record(reader, &skipped))
            return fail_damaged(log, reader->topic, reader->partition, base, "the chunk is cut");
    }
    return reader->left > 0 ||
           fail_damaged(log, reader->topic, reader->partition, base, "an empty chunk");
}

static enum pipe_log_state embedded_read(struct pipe_log_reader *reader, uint32_t max_records,
                                         struct pipe_record **records, uint32_t *count)
{
    struct embedded *log = reader->log;
    *count = 0;
    if (reader->offset >= log->parts[reader->topic][reader->partition].end)
        return PIPE_LOG_END;
    if (reader->left == 0) {
        release_chunk(reader);
        if (!open_chunk(reader)) {
            release_chunk(reader);
            return PIPE_LOG_FAILED;
        }
    }
    uint32_t want = max_records < READ_MAX ? max_records : READ_MAX, given = 0;
    want = want < reader->left ? want : reader->left;
    while (given < want) {
        bool full;
        if (take_record(reader, &reader->records[given], &full))
            given++;
        else if (!full)
            return PIPE_LOG_FAILED;
        else if (given > 0)
            break; /* what was given needs the chunks held */
        else
            log_pins_clear(&reader->pins);
    }
    reader->left -= given;
    *records = reader->records;
    *count = given;
    return PIPE_LOG_RECORDS;
}

static void embedded_reader_close(struct pipe_log_reader *reader)
{
    if (reader == NULL)
        return;
    release_chunk(reader);
    log_pins_clear(&reader->pins);
    free(reader);
}

/* ---- Opening ---- */

static void embedded_close(struct pipe_log *public)
{
    struct embedded *log = of(public);
    for (uint32_t t = 0; t < public->topic_count; t++) {
        for (uint32_t p = 0; p < public->topics[t].partitions; p++)
            pipe_buf_free(&log->parts[t][p].chunk);
        free(log->parts[t]);
        free((char *)public->topics[t].name);
    }
    free(log->parts);
    free(public->topics);
    if (log->db != NULL)
        rocksdb_close(log->db);
    rocksdb_writebatch_destroy(log->batch);
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

static bool make_incarnation(struct embedded *log, bool read_only)
{
    struct pipe_buf value = {0};
    bool found = false, ok = embedded_get(&log->log, "incarnation", &value, &found);
    if (ok && found && value.size == 32) {
        memcpy(log->log.incarnation, value.data, 32);
    } else if (ok && (found || read_only)) {
        ok = false;
        snprintf(log->log.error, sizeof log->log.error, "there is no log of a pipeline here");
    } else if (ok) {
        uint8_t random[16];
        pipe_random_bytes(random, sizeof random);
        pipe_hex_write(log->log.incarnation, random, sizeof random);
        ok = embedded_put(&log->log, "incarnation", log->log.incarnation, 32) &&
             embedded_commit(&log->log);
    }
    pipe_buf_free(&value);
    return ok;
}

static const struct pipe_log_ops embedded_ops = {
    .topic = embedded_topic,
    .end = embedded_end,
    .append = embedded_append,
    .put = embedded_put,
    .get = embedded_get,
    .list = embedded_list,
    .commit = embedded_commit,
    .abort = embedded_abort,
    .reader = embedded_reader,
    .read = embedded_read,
    .reader_close = embedded_reader_close,
    .close = embedded_close,
};

struct pipe_log *pipe_log_embedded_open(const char *dir, bool read_only, char *error,
                                        size_t error_bytes)
{
    char path[4096], *cause = NULL;
    if (snprintf(path, sizeof path, "%s/log", dir) >= (int)sizeof path) {
        snprintf(error, error_bytes, "the path of the run directory is too long");
        return NULL;
    }
    struct embedded *log = pipe_calloc(1, sizeof *log);
    log->log.ops = &embedded_ops;
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
                 cause != NULL ? cause : "unknown cause", log_advice(cause, log_damaged));
    else if (load_topics(log) && make_incarnation(log, read_only))
        return &log->log;
    else
        snprintf(error, error_bytes, "%s (%s)", log->log.error, path);
    rocksdb_free(cause);
    embedded_close(&log->log);
    return NULL;
}
