/*
 * input_avro.c: Avro container files: of the contract's records (input_avro), and topic files,
 * whose records are envelopes of time, key and value (input_topic_file). A batch is a part of one
 * block; both resume at (block, record).
 */
#include "avro_container.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct avro {
    struct pipe_input input;
    struct pipe_container container;
    bool is_topic;
    bool any_fault;
    size_t batch_bytes;
    struct pipe_record constant; /* what all records have: where they are from; topic or path */
    char too_long[96];
    struct pipe_record *records; /* each begins as `constant` */
    const char **faults;
    uint32_t capacity;
};

static void avro_reserve(struct avro *avro, uint32_t count)
{
    if (count <= avro->capacity)
        return;
    free(avro->records);
    free(avro->faults);
    avro->records = pipe_calloc(count, sizeof *avro->records);
    avro->faults = pipe_calloc(count, sizeof *avro->faults);
    avro->capacity = count;
    for (uint32_t i = 0; i < count; i++)
        avro->records[i] = avro->constant;
}

/* The fields of an envelope, in one go: its schema is fixed. */
static bool read_envelope(struct pipe_reader *reader, struct pipe_record *record)
{
    bool no_key = true, no_value = true;
    if (!pipe_avro_timestamp_ms(reader, &record->kafka_time_ms) ||
        !pipe_avro_nullable(reader, true, &no_key) ||
        (!no_key && !pipe_avro_bytes(reader, &record->key)) ||
        !pipe_avro_nullable(reader, true, &no_value) ||
        (!no_value && !pipe_avro_bytes(reader, &record->payload)))
        return false;
    if (!no_value && record->payload.data == NULL)
        record->payload.data = "";
    if (!no_key && record->key.data == NULL)
        record->key.data = "";
    return true;
}

/* The envelope's fields into the record. False: input.error. */
static bool open_envelope(struct avro *avro, struct pipe_str bytes, struct pipe_record *record)
{
    struct pipe_reader reader;
    pipe_reader_init(&reader, bytes.data, bytes.size, NULL);
    if (read_envelope(&reader, record))
        return true;
    snprintf(avro->input.error, sizeof avro->input.error,
             "%.300s: block at byte %" PRId64 ": record %" PRId64 ": %s", avro->input.config.path,
             avro->container.block_offset, avro->input.position.offset, reader.cause);
    return false;
}

static void clip(struct pipe_str *text, size_t limit)
{
    text->size = text->size < limit ? text->size : limit;
}

static inline void avro_begin(const struct avro *avro, struct pipe_record *record)
{
    *record = avro->constant;
    record->offset = avro->input.position.offset;
}

static void avro_clip(struct avro *avro, uint32_t index)
{
    size_t most = avro->input.config.max_record_bytes;
    clip(&avro->records[index].payload, most);
    clip(&avro->records[index].key, most);
    avro->faults[index] = avro->too_long;
    avro->any_fault = true;
}

static inline void avro_add(struct avro *avro, uint32_t index, size_t bytes)
{
    const struct pipe_record *record = &avro->records[index];
    size_t most = avro->input.config.max_record_bytes;
    avro->faults[index] = NULL;
    avro->batch_bytes += bytes;
    if (PIPE_UNLIKELY(record->payload.size > most || record->key.size > most))
        avro_clip(avro, index);
    avro->input.position.offset++;
}

static bool avro_give(struct avro *avro, uint32_t index, struct pipe_str bytes)
{
    struct pipe_record *record = &avro->records[index];
    avro_begin(avro, record);
    if (avro->is_topic) {
        if (!open_envelope(avro, bytes, record))
            return false;
    } else {
        record->payload = (struct pipe_str){bytes.size > 0 ? bytes.data : "", bytes.size};
    }
    avro_add(avro, index, bytes.size);
    return true;
}

#define AHEAD_BYTES 1024 /* about three records */

/* Only a line of each record is touched here, in steps that the hardware does not foresee: asks for
 * what lies as far behind these bytes as it takes to come. */
PIPE_FETCHES fetch_behind(const uint8_t *begin, const uint8_t *end)
{
    for (; begin < end; begin += 64)
        __builtin_prefetch(begin + AHEAD_BYTES);
}

/* An envelope with a short key and a value of less than 8 KiB, as nearly all are, in registers.
 * False: it is another one, or none. */
static inline bool read_common_envelope(const uint8_t *at, const uint8_t *end,
                                        struct pipe_record *record, const uint8_t **behind)
{
    struct pipe_reader time = {.at = at, .end = end};
    const uint8_t some = 2; /* the second branch of a union, as a zigzag varint */
    int64_t time_ms;
    if (!pipe_avro_long_of_word(&time, &time_ms) || !pipe_ts_ms_ok(time_ms))
        return false;
    at = time.at;
    if (end - at < 2 + 64 + 3 || at[0] != some || (at[1] & 0x81) != 0)
        return false;
    size_t key_bytes = at[1] >> 1, value_bytes;
    const uint8_t *key = at + 2;
    at = key + key_bytes;
    if (at[0] != some || (at[1] & 0x81) != 0x80 || at[2] >= 0x80)
        return false;
    value_bytes = (at[1] & 0x7Fu) >> 1 | (size_t)at[2] << 6;
    at += 3;
    if (value_bytes > (size_t)(end - at))
        return false;
    record->kafka_time_ms = time_ms;
    record->key = pipe_str_of(key, key_bytes);
    record->payload = pipe_str_of(at, value_bytes);
    *behind = at + value_bytes;
    return true;
}

/* A sound envelope, found and opened at once. False: nothing was taken, avro_take tells why. */
static bool avro_take_envelope(struct avro *avro, uint32_t index)
{
    struct pipe_container *container = &avro->container;
    struct pipe_record *record = &avro->records[index];
    const uint8_t *begin = container->at, *behind;
    if (PIPE_LIKELY(read_common_envelope(begin, container->end, record, &behind))) {
        record->offset = avro->input.position.offset; /* the rest is as in every record */
        record->event_time = 0;
    } else {
        struct pipe_reader reader;
        avro_begin(avro, record);
        pipe_reader_init(&reader, begin, (size_t)(container->end - begin), NULL);
        if (!read_envelope(&reader, record))
            return false;
        behind = reader.at;
    }
    if (!pipe_container_took(container, behind))
        return false;
    fetch_behind(begin, behind);
    avro_add(avro, index, (size_t)(behind - begin));
    return true;
}

static void avro_mark(struct avro *avro)
{
    int64_t hint[2] = {avro->container.block_offset, avro->container.given};
    if (avro->container.given == avro->container.count) {
        hint[0] = avro->container.base + (int64_t)avro->container.used;
        hint[1] = 0;
    }
    pipe_position_set(&avro->input.position, avro->input.position.offset, hint, 2);
}

static enum pipe_input_state avro_failed(struct avro *avro)
{
    if (avro->input.error[0] == '\0')
        snprintf(avro->input.error, sizeof avro->input.error, "%s", avro->container.error);
    return PIPE_INPUT_FAILED;
}

/* The next record of the block. False: error; asked again, it fails in the same way. */
static bool avro_take(struct avro *avro, uint32_t index)
{
    struct pipe_container *container = &avro->container;
    const uint8_t *at = container->at;
    struct pipe_str bytes;
    if (avro->is_topic && PIPE_LIKELY(avro_take_envelope(avro, index)))
        return true;
    if (!pipe_container_record(container, &bytes))
        return false;
    if (avro_give(avro, index, bytes))
        return true;
    container->at = at;
    container->given--;
    return false;
}

static enum pipe_input_state avro_next(struct pipe_input *input, uint32_t max_records,
                                       struct pipe_record **records, uint32_t *count)
{
    struct avro *avro = (struct avro *)input;
    struct pipe_container *container = &avro->container;
    uint32_t n = 0;
    max_records = max_records < PIPE_BATCH_RECORDS ? max_records : PIPE_BATCH_RECORDS;
    avro_reserve(avro, max_records);
    avro->any_fault = false;
    avro->batch_bytes = 0;
    while (container->given == container->count) {
        enum pipe_read read = pipe_container_block(container);
        if (read == PIPE_READ_FAILED)
            return avro_failed(avro);
        if (read == PIPE_READ_AGAIN)
            return PIPE_INPUT_WAIT;
        if (read == PIPE_READ_END)
            return PIPE_INPUT_END;
    }
    while (n < max_records && container->given < container->count &&
           avro->batch_bytes < PIPE_CHUNK_BYTES) {
        if (!avro_take(avro, n)) {
            if (n == 0)
                return avro_failed(avro);
            break; /* the sound ones before it go first */
        }
        n++;
    }
    avro_mark(avro);
    input->faults = avro->any_fault ? avro->faults : NULL;
    *records = avro->records;
    *count = n;
    return PIPE_INPUT_RECORDS;
}

static void avro_close(struct pipe_input *input)
{
    struct avro *avro = (struct avro *)input;
    pipe_container_close(&avro->container);
    free(avro->records);
    free(avro->faults);
    free(avro);
}

static const struct pipe_input_ops avro_ops = {avro_next, avro_close};

/* The name of the file's schema for messages: it comes from the file, so only plain characters. */
static void name_schema(const struct avro *avro, char to[81])
{
    snprintf(to, 81, "%s", pipe_writer_schema_name(avro->container.schema));
    for (char *at = to; *at != '\0'; at++)
        if (*at < ' ' || *at > '~')
            *at = '?';
    if (to[0] == '\0')
        snprintf(to, 81, "without a name");
}

/* Which version of the contract wrote the file; none: its records are `schema_unknown`. */
static void match_version(struct avro *avro)
{
    const struct pipe_contract *contract = avro->input.config.source->contract;
    uint64_t fingerprint = pipe_writer_schema_fingerprint(avro->container.schema);
    char name[81];
    name_schema(avro, name);
    avro->input.avro_version = -1;
    for (uint32_t i = 0; contract != NULL && i < contract->version_count; i++)
        if (contract->versions[i].fingerprint == fingerprint)
            avro->input.avro_version = (int32_t)i;
    snprintf(avro->input.schema_detail, sizeof avro->input.schema_detail,
             "writer schema %s, fingerprint %016" PRIx64, name, fingerprint);
}

static bool is_envelope(struct avro *avro)
{
    char why[256], name[81];
    struct pipe_writer_schema *envelope = pipe_writer_schema_parse(
        PIPE_TOPIC_FILE_SCHEMA, sizeof PIPE_TOPIC_FILE_SCHEMA - 1, why, sizeof why);
    bool same = envelope != NULL && pipe_writer_schema_fingerprint(envelope) ==
                                        pipe_writer_schema_fingerprint(avro->container.schema);
    pipe_writer_schema_free(envelope);
    name_schema(avro, name);
    if (!same)
        snprintf(avro->container.error, sizeof avro->container.error,
                 "%.300s: is no topic file: its schema is %s, not pipec.record; `traffic --to DIR` "
                 "writes such files",
                 avro->container.path, name);
    return same;
}

/* Back to (block, records given). The block must still be there. */
static bool avro_resume(struct avro *avro, const int64_t hint[2])
{
    struct pipe_container *container = &avro->container;
    if (!pipe_container_seek(container, &avro->input.config, hint[0]))
        return false;
    if (hint[1] == 0)
        return true;
    enum pipe_read read = pipe_container_block(container);
    if (read == PIPE_READ_FAILED)
        return false;
    if (read != PIPE_READ_DATA || hint[1] < 0 || container->count < hint[1]) {
        snprintf(container->error, sizeof container->error,
                 "%.300s: has no block at byte %" PRId64
                 ", where it was left: the file has changed",
                 container->path, hint[0]);
        return false;
    }
    struct pipe_str bytes;
    for (int64_t i = 0; i < hint[1]; i++)
        if (!pipe_container_record(container, &bytes))
            return false;
    return true;
}

static struct pipe_input *avro_open(const struct pipe_input_config *config, bool is_topic,
                                    char *error, size_t error_bytes)
{
    int64_t hint[2];
    if (!pipe_position_get(&config->resume, hint, 2)) {
        snprintf(error, error_bytes, "%.300s: the stored position belongs to another kind of file",
                 config->path);
        return NULL;
    }
    struct avro *avro = pipe_calloc(1, sizeof *avro);
    avro->input.ops = &avro_ops;
    avro->input.config = *config;
    avro->input.position = config->resume;
    avro->is_topic = is_topic;
    const char *topic = config->topic != NULL ? config->topic : config->path;
    avro->constant = (struct pipe_record){
        .has_position = true,
        .source = config->source_index,
        .partition = config->partition,
        .topic = pipe_str_of(topic, strlen(topic)),
        .kafka_time_ms = PIPE_TIME_MIN,
    };
    snprintf(avro->too_long, sizeof avro->too_long, "the record is longer than %u bytes",
             config->max_record_bytes);
    if (!pipe_container_open(&avro->container, config) || (is_topic && !is_envelope(avro)) ||
        !avro_resume(avro, hint)) {
        snprintf(error, error_bytes, "%s", avro->container.error);
        avro_close(&avro->input);
        return NULL;
    }
    match_version(avro);
    return &avro->input;
}

struct pipe_input *pipe_input_avro_open(const struct pipe_input_config *config, char *error,
                                        size_t error_bytes)
{
    return avro_open(config, false, error, error_bytes);
}

struct pipe_input *pipe_input_topic_file_open(const struct pipe_input_config *config, char *error,
                                              size_t error_bytes)
{
    return avro_open(config, true, error, error_bytes);
}
