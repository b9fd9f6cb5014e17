/*
 * decode.c: from a source's bytes to its row, the judgement of event times, and the row of reject
 * streams.
 */
#include <endian.h>
#include <inttypes.h>
#include <stdio.h>

#include "engine.h"
#include "schemas.h"
#include "avro_schema_tree.h"

#define CONFLUENT_FRAME 5      /* 00, id (big-endian) */
#define SINGLE_OBJECT_FRAME 10 /* C3 01, fingerprint (little-endian) */

/* Out of the way of what is mostly taken. */
#define RARE __attribute__((noinline, cold))

/* Each record passes here: a call for each step would cost as much as the step. */
#define INSIDE static inline __attribute__((always_inline))

RARE static const char *refuse(struct pipe_task *task, const char *reason, const char *format, ...)
    PIPE_PRINTF(3, 4);
static const char *refuse(struct pipe_task *task, const char *reason, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(task->detail, sizeof task->detail, format, args);
    va_end(args);
    return reason;
}

static const char *refuse_error(struct pipe_task *task, const struct pipe_error *error)
{
    if (error->field[0] == '\0')
        return refuse(task, "undecodable", "%s", error->detail);
    return refuse(task, "undecodable", "%s: %s", error->field, error->detail);
}

RARE static const char *refuse_value(struct pipe_task *task, const struct pipe_reader *reader)
{
    struct pipe_error error = {0};
    pipe_reader_error(reader, &error);
    return refuse_error(task, &error);
}

INSIDE const char *decode_version(struct pipe_task *task, uint32_t version, const uint8_t *bytes,
                                  size_t size_bytes, void *row)
{
    struct pipe_reader reader;
    pipe_reader_init(&reader, bytes, size_bytes, &task->arena);
    if (PIPE_LIKELY(task->source->contract->versions[version].decode(&reader, row) &&
                    pipe_reader_done(&reader)))
        return NULL;
    return refuse_value(task, &reader);
}

INSIDE const char *decode_single_object(struct pipe_task *task, const uint8_t *bytes, size_t size,
                                        void *row)
{
    const struct pipe_contract *contract = task->source->contract;
    uint64_t fingerprint;
    if (size < SINGLE_OBJECT_FRAME)
        return refuse(task, "undecodable", "the frame ends after %zu of %d bytes", size,
                      SINGLE_OBJECT_FRAME);
    memcpy(&fingerprint, bytes + 2, sizeof fingerprint);
    fingerprint = le64toh(fingerprint);
    for (uint32_t v = 0; v < contract->version_count; v++) {
        if (contract->versions[v].fingerprint == fingerprint)
            return decode_version(task, v, bytes + SINGLE_OBJECT_FRAME, size - SINGLE_OBJECT_FRAME,
                                  row);
    }
    return refuse(task, "schema_unknown",
                  "fingerprint %016" PRIx64 " is none of the %u versions of contract %s",
                  fingerprint, contract->version_count, contract->name);
}

static const char *decode_resolved(struct pipe_task *task, const struct pipe_resolved *program,
                                   const uint8_t *bytes, size_t size_bytes, void *row)
{
    struct pipe_reader reader;
    struct pipe_error error = {0};
    pipe_reader_init(&reader, bytes, size_bytes, &task->arena);
    if (PIPE_LIKELY(pipe_resolved_decode(program, &reader, row) && pipe_reader_done(&reader)))
        return NULL;
    pipe_reader_error(&reader, &error);
    const char *reason = refuse_error(task, &error);
    pipe_schema_clean(task->detail); /* it may name fields of the writer */
    return reason;
}

/* What the schema registry said of the id. */
static const char *decode_registered(struct pipe_task *task, uint32_t id, const uint8_t *bytes,
                                     size_t size, void *row)
{
    const struct schema_verdict *verdict = schemas_find(engine_task_of(task), id);
    if (verdict == NULL)
        return refuse(task, "schema_unknown", "schema id %u is not in the table of ids", id);
    switch (verdict->kind) {
    case SCHEMA_VERSION:
        return decode_version(task, verdict->version, bytes, size, row);
    case SCHEMA_RESOLVED:
        return decode_resolved(task, verdict->program, bytes, size, row);
    case SCHEMA_UNUSABLE:
        return refuse(task, "schema_unknown", "schema id %u is not read as contract %.40s: %s", id,
                      task->source->contract->name, verdict->text);
    case SCHEMA_ABSENT:
        break;
    }
    return refuse(task, "schema_unknown", "schema id %u is not in the schema registry", id);
}

static __attribute__((noinline)) const char *
decode_confluent(struct pipe_task *task, const uint8_t *bytes, size_t size, void *row)
{
    const struct pipe_engine *engine = task->engine;
    const struct pipe_contract *contract = task->source->contract;
    if (size < CONFLUENT_FRAME)
        return refuse(task, "undecodable", "the frame ends after %zu of %d bytes", size,
                      CONFLUENT_FRAME);
    uint32_t id =
        (uint32_t)bytes[1] << 24 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 8 | bytes[4];
    for (uint32_t i = 0; i < engine->schema_id_count; i++) {
        const struct engine_schema_id *known = &engine->schema_ids[i];
        if (known->id != id)
            continue;
        if (strcmp(known->contract, contract->name) != 0)
            return refuse(task, "schema_unknown", "schema id %u is of contract %s, not %s", id,
                          known->contract, contract->name);
        return decode_version(task, known->version, bytes + CONFLUENT_FRAME, size - CONFLUENT_FRAME,
                              row);
    }
    return decode_registered(task, id, bytes + CONFLUENT_FRAME, size - CONFLUENT_FRAME, row);
}

INSIDE const char *decode_avro(struct pipe_task *task, struct pipe_str payload, void *row)
{
    const uint8_t *bytes = (const uint8_t *)payload.data;
    const struct pipe_input *input = engine_task_of(task)->input;
    if (!task->source->is_kafka) { /* a container names its schema once */
        if (input->avro_version < 0)
            return refuse(task, "schema_unknown", "%s", input->schema_detail);
        return decode_version(task, (uint32_t)input->avro_version, bytes, payload.size, row);
    }
    if (payload.size >= 2 && bytes[0] == 0xC3 && bytes[1] == 0x01)
        return decode_single_object(task, bytes, payload.size, row);
    if (payload.size >= 1 && bytes[0] == 0x00)
        return decode_confluent(task, bytes, payload.size, row);
    if (payload.size == 0)
        return refuse(task, "undecodable", "the value is empty");
    if (payload.size == 1)
        return refuse(task, "undecodable", "the value is the single byte %02x", bytes[0]);
    return refuse(
        task, "undecodable",
        "begins with the bytes %02x %02x: neither C3 01 (single object) nor 00 (schema id)",
        bytes[0], bytes[1]);
}

static const char *decode_json(struct pipe_task *task, struct pipe_str payload, void *row)
{
    struct pipe_error error = {0};
    if (PIPE_UNLIKELY(payload.size == 0))
        return refuse(task, "undecodable", "the %s is empty",
                      task->source->is_kafka ? "value" : "line");
    if (PIPE_LIKELY(pipe_row_from_json(task->source->row, payload, &task->arena, row, &error)))
        return NULL;
    return refuse_error(task, &error);
}

static const char *decode_csv(struct pipe_task *task, const struct pipe_record *record, void *row)
{
    struct engine_task *inner = engine_task_of(task);
    const struct pipe_input *input = inner->input;
    const struct pipe_input_csv_row *fields = &input->csv_rows[record - inner->batch];
    struct pipe_error error = {0};
    if (PIPE_LIKELY(pipe_row_from_csv(task->source->row, fields->fields, fields->count,
                                      input->csv_expected, input->csv_positions, &task->arena, row,
                                      &error)))
        return NULL;
    return refuse_error(task, &error);
}

/* The row of `format text` (its text was checked) and `format bytes` has one column. */
static const char *decode_whole(struct pipe_task *task, struct pipe_str payload, bool text,
                                void *row)
{
    if (text && !pipe_utf8_check(payload.data, payload.size))
        return refuse(task, "undecodable", "line: not valid UTF-8");
    struct pipe_str *column =
        (struct pipe_str *)((char *)row + task->source->row->columns[0].offset);
    *column = payload;
    return NULL;
}

/* A record that is not even looked into. */
RARE static const char *refuse_record(struct pipe_task *task, const struct pipe_record *record)
{
    const char *fault = engine_task_of(task)->fault;
    if (fault != NULL)
        return refuse(task, "undecodable", "%s", fault);
    if (record->payload.data == NULL)
        return refuse(task, "no_value", "the record has no value");
    return refuse(task, "undecodable", "%zu bytes: longer than --max-record %u",
                  record->payload.size, task->engine->options->max_record_bytes);
}

INSIDE const char *decode_now(struct pipe_task *task, const struct pipe_record *record, void *row)
{
    struct pipe_str payload = record->payload;
    const char *reason = NULL;
    task->detail[0] = '\0';
    if (PIPE_UNLIKELY(engine_task_of(task)->fault != NULL || payload.data == NULL ||
                      payload.size > task->engine->options->max_record_bytes))
        return refuse_record(task, record);
    switch (__builtin_expect(task->source->format, PIPE_FORMAT_AVRO)) {
    case PIPE_FORMAT_AVRO:
        reason = decode_avro(task, payload, row);
        break;
    case PIPE_FORMAT_JSON:
    case PIPE_FORMAT_JSONL:
        reason = decode_json(task, payload, row);
        break;
    case PIPE_FORMAT_CSV:
        reason = decode_csv(task, record, row);
        break;
    case PIPE_FORMAT_TEXT:
    case PIPE_FORMAT_BYTES:
        reason = decode_whole(task, payload, task->source->format == PIPE_FORMAT_TEXT, row);
        break;
    case PIPE_FORMAT_PARQUET:
        reason = refuse(task, "undecodable", "Parquet is not a format of sources");
        break;
    }
    pipe_new_row(task);
    return reason;
}

static __attribute__((noinline)) const char *
decode_in_turn(struct pipe_task *task, const struct pipe_record *record, void *row)
{
    return decode_now(task, record, row);
}

static void *row_at(const struct engine_task *task, uint32_t index)
{
    return task->rows + (size_t)index * task->task.source->row_bytes;
}

const char *pipe_decode(struct pipe_task *task, const struct pipe_record *record, void **row)
{
    struct engine_task *inner = engine_task_of(task);
    uint32_t index = (uint32_t)(record - inner->batch) % PIPE_AHEAD;
    *row = row_at(inner, index);
    if (PIPE_UNLIKELY((inner->ahead_ready >> index & 1) == 0)) {
        task->ahead_row = NULL;
        return decode_in_turn(task, record, *row);
    }
    inner->ahead_ready &= ~(1u << index);
    task->ahead_row = *row;
    task->ahead_index = index;
    task->detail[0] = '\0';
    pipe_new_row(task);
    return NULL;
}

/* The version that wrote a payload, and the bytes of the frame that says so. NULL: that takes more
 * than a look. */
INSIDE const struct pipe_contract_version *version_at_sight(const struct engine_task *task,
                                                            struct pipe_str payload, size_t *frame)
{
    const struct pipe_contract *contract = task->task.source->contract;
    uint64_t fingerprint;
    *frame = 0;
    if (!task->task.source->is_kafka)
        return task->input->avro_version < 0 ? NULL
                                             : &contract->versions[task->input->avro_version];
    if (payload.size < SINGLE_OBJECT_FRAME || memcmp(payload.data, "\xC3\x01", 2) != 0)
        return NULL;
    memcpy(&fingerprint, payload.data + 2, sizeof fingerprint);
    fingerprint = le64toh(fingerprint);
    *frame = SINGLE_OBJECT_FRAME;
    for (uint32_t v = 0; v < contract->version_count; v++)
        if (contract->versions[v].fingerprint == fingerprint)
            return &contract->versions[v];
    return NULL;
}

/* What is refused, or needs the arena, which is reset between records, is decoded again in its
 * turn: as if it had never been looked at. */
uint32_t engine_decode_ahead(struct engine_task *task, const struct pipe_record *records,
                             uint32_t from, uint32_t to)
{
    struct pipe_task *outer = &task->task;
    const char *const *faults = task->input != NULL ? task->input->faults : NULL;
    bool avro = outer->source->format == PIPE_FORMAT_AVRO;
    size_t most = task->task.engine->options->max_record_bytes, frame;
    struct pipe_reader reader;
    uint32_t ready = 0;
    task->fault = NULL;
    pipe_arena_reset(&outer->arena);
    pipe_reader_init(&reader, NULL, 0, &outer->arena);
    for (uint32_t i = from; i < to; i++) {
        struct pipe_str payload = records[i].payload;
        const struct pipe_contract_version *version = NULL;
        void *row = row_at(task, i % PIPE_AHEAD);
        bool done;
        if (faults != NULL && faults[i] != NULL)
            continue;
        if (PIPE_LIKELY(avro && payload.data != NULL && payload.size <= most))
            version = version_at_sight(task, payload, &frame);
        if (PIPE_LIKELY(version != NULL)) {
            reader.at = (const uint8_t *)payload.data + frame;
            reader.end = (const uint8_t *)payload.data + payload.size;
            done = version->decode(&reader, row) && reader.at == reader.end;
        } else {
            done = decode_now(outer, &records[i], row) == NULL;
        }
        if (PIPE_LIKELY(done && pipe_arena_is_fresh(&outer->arena))) {
            ready |= 1u << i % PIPE_AHEAD;
            continue;
        }
        pipe_arena_reset(&outer->arena);
        pipe_reader_init(&reader, NULL, 0, &outer->arena);
    }
    return ready;
}

void engine_keys_ahead(struct engine_task *task, uint32_t index)
{
    task->task.ahead_index = index;
    task->task.stage->ahead(&task->task, row_at(task, index));
}

static void describe_time(char *to, size_t room, int64_t time_us)
{
    char text[PIPE_TS_US_TEXT + 1] = {0};
    if (time_us >= PIPE_TS_US_MIN && time_us <= PIPE_TS_US_MAX) {
        pipe_ts_us_write(text, time_us);
        snprintf(to, room, "%s", text);
    } else {
        snprintf(to, room, "%" PRId64 " µs since 1970", time_us);
    }
}

const char *pipe_key_mismatch(struct pipe_task *task, const struct pipe_record *record,
                              struct pipe_str key)
{
    struct pipe_quoted have = pipe_quote(record->key.data, record->key.size);
    struct pipe_quoted want = pipe_quote(key.data, key.size);
    snprintf(task->detail, sizeof task->detail, "the record's key is %s, its columns say %s",
             record->key.data == NULL ? "absent" : have.text, want.text);
    return "key_mismatch";
}

const char *pipe_judge_time_slow(struct pipe_task *task, const struct pipe_record *record,
                                 int64_t event_time)
{
    char time[64], broker[64];
    if (PIPE_UNLIKELY(event_time < PIPE_TS_US_MIN || event_time > PIPE_TS_US_MAX)) {
        describe_time(time, sizeof time, event_time);
        return refuse(task, "event_time_invalid", "%s is outside of the years 0001 to 9999", time);
    }
    if (!task->source->is_kafka || record->kafka_time_ms < PIPE_TS_MS_MIN ||
        record->kafka_time_ms > PIPE_TS_MS_MAX)
        return NULL;
    int64_t limit = pipe_time_add(record->kafka_time_ms * 1000, task->source->ahead);
    if (PIPE_LIKELY(event_time <= limit))
        return NULL;
    describe_time(time, sizeof time, event_time);
    describe_time(broker, sizeof broker, record->kafka_time_ms * 1000);
    return refuse(task, "event_time_ahead", "%s is more than %" PRId64 " ms after kafka_time %s",
                  time, task->source->ahead / 1000, broker);
}

/* ---- Rejects ---- */

static const struct pipe_type string_type = {.kind = PIPE_STRING};
static const struct pipe_type int32_type = {.kind = PIPE_INT32};
static const struct pipe_type int64_type = {.kind = PIPE_INT64};
static const struct pipe_type time_type = {.kind = PIPE_TIMESTAMP_MS};
static const struct pipe_type bytes_type = {.kind = PIPE_BYTES};

#define REJECT(column) offsetof(struct pipe_reject, column)
static const struct pipe_column reject_columns[] = {
    {"reason", &string_type, REJECT(reason), PIPE_NOT_NULL, false, false, NULL},
    {"rule", &string_type, REJECT(rule), PIPE_NOT_NULL, false, false, NULL},
    {"detail", &string_type, REJECT(detail), REJECT(detail_null), false, false, NULL},
    {"topic", &string_type, REJECT(topic), REJECT(topic_null), false, false, NULL},
    {"partition", &int32_type, REJECT(partition), REJECT(partition_null), false, false, NULL},
    {"offset", &int64_type, REJECT(offset), REJECT(offset_null), false, false, NULL},
    {"kafka_time", &time_type, REJECT(kafka_time), REJECT(kafka_time_null), false, false, NULL},
    {"key", &bytes_type, REJECT(key), REJECT(key_null), false, false, NULL},
    {"payload", &bytes_type, REJECT(payload), REJECT(payload_null), false, false, NULL},
};
const struct pipe_row_type pipe_reject_type = {"reject", reject_columns,
                                               sizeof reject_columns / sizeof reject_columns[0],
                                               sizeof(struct pipe_reject)};

void pipe_reject_fill(struct pipe_reject *out, const struct pipe_record *record, const char *reason,
                      const char *rule, const char *detail)
{
    memset(out, 0, sizeof *out);
    out->reason = pipe_str_of(reason, strlen(reason));
    out->rule = pipe_str_of(rule, strlen(rule));
    out->detail_null = detail == NULL;
    if (detail != NULL)
        out->detail = pipe_str_of(detail, strlen(detail));
    bool placed = record != NULL && record->has_position;
    out->topic_null = out->partition_null = out->offset_null = !placed;
    out->kafka_time_null = !placed || record->kafka_time_ms == PIPE_TIME_MIN;
    out->key_null = !placed || record->key.data == NULL;
    out->payload_null = !placed || record->payload.data == NULL;
    if (placed) {
        out->topic = record->topic;
        out->partition = record->partition;
        out->offset = record->offset;
        out->key = record->key;
        out->payload = record->payload;
    }
    if (!out->kafka_time_null)
        out->kafka_time = record->kafka_time_ms;
    engine_count_reject(NULL, out->rule, out->reason, 1);
}
