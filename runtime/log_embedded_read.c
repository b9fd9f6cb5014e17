/*
 * log_embedded_read.c: readers of the embedded log: chunk by chunk, values that stand elsewhere
 * fetched from there. Layout: log_embedded.c.
 */
#include <stdlib.h>

#include "log_embedded.h"
#include "log_options.h"
#include "log_pins.h"

#define READ_MAX 1024u /* records given to a reader's caller at once */

struct pipe_log_reader {
    struct embedded *log;
    uint32_t topic;
    int32_t partition;
    int64_t offset; /* of the next record */
    struct pipe_record constant;
    struct log_chunk_source source;
    struct log_chunk chunk; /* in hand; at … end are inside it */
    const uint8_t *at, *end;
    uint32_t left; /* records of the chunk not given yet */
    bool shared;   /* the value of the record in hand is elsewhere: */
    struct place place;
    struct log_pins pins;
    int64_t time_ms;
    struct pipe_record records[READ_MAX];
};

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

struct pipe_log_reader *embedded_reader(struct pipe_log *outer, uint32_t topic, int32_t partition,
                                        int64_t offset, const struct pipe_record *constant)
{
    struct pipe_log_reader *reader = pipe_calloc(1, sizeof *reader);
    reader->log = embedded_of(outer);
    reader->source = embedded_source(reader->log);
    reader->topic = topic;
    reader->partition = partition;
    reader->offset = offset;
    reader->constant = *constant;
    return reader;
}

static void release_chunk(struct pipe_log_reader *reader)
{
    log_chunk_release(&reader->source, &reader->chunk);
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
    char *error = NULL;
    const struct log_chunk *chunk = log_pins_get(&reader->pins, &reader->source, place->topic_id,
                                                 place->partition, place->base, full, &error);
    if (*full)
        return false;
    if (error != NULL)
        return embedded_fail(log, "read a topic", error);
    if (chunk == NULL || place->position > chunk->size_bytes ||
        out->payload.size > chunk->size_bytes - place->position)
        return embedded_fail_damaged(log, reader->topic, reader->partition, reader->offset,
                                     "its value is missing");
    out->payload.data = (const char *)chunk->data + place->position;
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
        return embedded_fail_damaged(reader->log, reader->topic, reader->partition, reader->offset,
                                     "the chunk is cut");
    if (reader->shared && !fetch_value(reader, out, full)) {
        reader->at = at;
        reader->time_ms = time_ms;
        return false;
    }
    out->offset = reader->offset++;
    return true;
}

static bool get_chunk(struct pipe_log_reader *reader, int64_t base, char **error)
{
    uint8_t key[LOG_CHUNK_KEY_BYTES];
    log_chunk_key(key, reader->log->log.topics[reader->topic].id, reader->partition, base);
    return log_chunk_get(&reader->source, key, &reader->chunk, error);
}

/* Makes the chunk in hand that of reader->offset. */
static bool open_chunk(struct pipe_log_reader *reader)
{
    struct embedded *log = reader->log;
    char *error = NULL;
    int64_t base = reader->offset;
    uint32_t count;
    bool found = get_chunk(reader, base, &error);
    if (error == NULL && !found) { /* the offset is inside of a chunk */
        if (!embedded_find_chunk(log, reader->topic, reader->partition, reader->offset, &base,
                                 &count, &found))
            return false;
        if (!found || base + count <= reader->offset)
            return embedded_fail_damaged(log, reader->topic, reader->partition, reader->offset,
                                         "the record is missing");
        found = get_chunk(reader, base, &error);
    }
    if (error != NULL || !found)
        return embedded_fail(log, "read a topic", error);
    const uint8_t *value = reader->chunk.data;
    if (reader->chunk.size_bytes < CHUNK_HEADER || value[0] != CHUNK_VERSION)
        return embedded_fail_damaged(log, reader->topic, reader->partition, base,
                                     "not a chunk of records");
    memcpy(&reader->left, value + 4, 4);
    memcpy(&reader->time_ms, value + 8, 8);
    reader->at = value + CHUNK_HEADER;
    reader->end = value + reader->chunk.size_bytes;
    struct pipe_record skipped;
    for (; base < reader->offset && reader->left > 0; base++, reader->left--) {
        if (!parse_record(reader, &skipped))
            return embedded_fail_damaged(log, reader->topic, reader->partition, base,
                                         "the chunk is cut");
    }
    return reader->left > 0 ||
           embedded_fail_damaged(log, reader->topic, reader->partition, base, "an empty chunk");
}

enum pipe_log_state embedded_read(struct pipe_log_reader *reader, uint32_t max_records,
                                  int64_t before, struct pipe_record **records, uint32_t *count)
{
    struct embedded *log = reader->log;
    *count = 0;
    log_pins_turn(&reader->pins, &reader->source);
    if (reader->left == 0)
        release_chunk(reader);
    if (reader->offset >= before ||
        reader->offset >= embedded_end_of(&log->parts[reader->topic][reader->partition]))
        return PIPE_LOG_END;
    if (reader->left == 0) {
        if (!open_chunk(reader)) {
            release_chunk(reader);
            return PIPE_LOG_FAILED;
        }
    }
    uint32_t want = max_records < READ_MAX ? max_records : READ_MAX, given = 0;
    want = want < reader->left ? want : reader->left;
    want = want < before - reader->offset ? want : (uint32_t)(before - reader->offset);
    while (given < want) {
        bool full;
        if (take_record(reader, &reader->records[given], &full))
            given++;
        else if (!full)
            return PIPE_LOG_FAILED;
        else if (given > 0)
            break; /* what was given needs the chunks held */
        else
            log_pins_clear(&reader->pins, &reader->source);
    }
    reader->left -= given;
    *records = reader->records;
    *count = given;
    return PIPE_LOG_RECORDS;
}

int64_t embedded_position(const struct pipe_log_reader *reader)
{
    return reader->offset;
}

void embedded_reader_close(struct pipe_log_reader *reader)
{
    if (reader == NULL)
        return;
    release_chunk(reader);
    log_pins_clear(&reader->pins, &reader->source);
    free(reader);
}
