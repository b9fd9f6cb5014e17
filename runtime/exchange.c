/*
 * exchange.c: what travels between stages, and who gets it.
 *
 * A record of an exchange topic is framed: kind(1), then zigzag varints
 *   ROW      source + 1 (0: a row without position), partition, offset, kafka_time, event_time,
 *            watermark; then the encoded row and, if the source's record has a value, 1 and that
 *            value, for rejects. The record's key is that of the source's record.
 *   PARTIAL  kafka_time; then what window.c wrote.
 *   MARKER   stage, partition, W.
 */
#include <stdlib.h>

#include "engine.h"
#include "json.h"

#define ROW_TEXT_BYTES (64u << 20) /* of the parts of one row */

enum { FRAME_ROW = 1, FRAME_PARTIAL = 2, FRAME_MARKER = 3 };

/* Java's murmur2 as in org.apache.kafka.common.utils.Utils: seed 0x9747b28c, little-endian words.
 */
uint32_t pipe_murmur2(const void *bytes, size_t size_bytes)
{
    const uint8_t *at = bytes;
    const uint32_t m = 0x5bd1e995;
    uint32_t hash = 0x9747b28cu ^ (uint32_t)size_bytes;
    size_t words = size_bytes / 4;
    for (size_t i = 0; i < words; i++, at += 4) {
        uint32_t k =
            (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
        k *= m;
        k ^= k >> 24;
        k *= m;
        hash = (hash * m) ^ k;
    }
    size_t rest = size_bytes % 4;
    if (rest >= 3)
        hash ^= (uint32_t)at[2] << 16;
    if (rest >= 2)
        hash ^= (uint32_t)at[1] << 8;
    if (rest >= 1) {
        hash ^= at[0];
        hash *= m;
    }
    hash ^= hash >> 13;
    hash *= m;
    return hash ^ hash >> 15;
}

int32_t pipe_key_partition(struct pipe_str key, uint32_t partitions)
{
    return (int32_t)((pipe_murmur2(key.data, key.size) & 0x7fffffffu) % partitions);
}

static void send(struct engine_task *from, struct engine_exchange *exchange, int32_t partition,
                 struct pipe_str key, const struct pipe_buf *frame)
{
    struct pipe_engine *engine = from->task.engine;
    struct pipe_log *log = engine->log;
    from->dirty = true;
    if (!log->ops->append(log, exchange->topic, partition, engine->wall_ms, key,
                          pipe_str_of(frame->data, frame->size)))
        engine_log_failed(engine);
}

static void count_shipped(struct pipe_task *task, const struct engine_exchange *exchange)
{
    if (exchange->stream >= 0)
        task->counters[exchange->stream].shipped++;
}

void pipe_exchange_row(struct pipe_task *task, uint32_t index, const struct pipe_record *record,
                       const struct pipe_row_type *type, const void *row)
{
    struct engine_exchange *exchange = &task->engine->exchanges[index];
    count_shipped(task, exchange);
    if (task->engine->reconciles)
        exchange->row = type;
    if (task->replaying || task->engine->failed)
        return;
    struct pipe_buf *frame = &task->engine->scratch;
    frame->size = 0;
    pipe_buf_add_byte(frame, FRAME_ROW);
    pipe_avro_put_long(frame, record->has_position ? (int64_t)record->source + 1 : 0);
    pipe_avro_put_long(frame, record->partition);
    pipe_avro_put_long(frame, record->offset);
    pipe_avro_put_long(frame, record->kafka_time_ms);
    pipe_avro_put_long(frame, record->event_time);
    pipe_avro_put_long(frame, record->watermark);
    pipe_row_save(type, row, frame);
    if (record->has_position && record->payload.data != NULL) {
        pipe_buf_add_byte(frame, 1);
        pipe_buf_add(frame, record->payload.data, record->payload.size);
    }
    struct pipe_str key = record->has_position ? record->key : pipe_str_of(NULL, 0);
    if (!pipe_may_make(task, record, frame->size + key.size))
        return;
    send(engine_task_of(task), exchange,
         pipe_key_partition(pipe_str_of(task->key.data, task->key.size), exchange->def->partitions),
         key, frame);
}

void pipe_exchange_partial(struct pipe_task *task, uint32_t index, const uint8_t *key,
                           uint32_t key_bytes, struct pipe_str payload)
{
    struct engine_exchange *exchange = &task->engine->exchanges[index];
    if (task->replaying)
        return;
    struct pipe_buf *frame = &task->engine->scratch;
    frame->size = 0;
    pipe_buf_add_byte(frame, FRAME_PARTIAL);
    pipe_avro_put_long(frame, task->kafka_time_ms);
    pipe_buf_add(frame, payload.data, payload.size);
    send(engine_task_of(task), exchange,
         pipe_key_partition(pipe_str_of(key, key_bytes), exchange->def->partitions),
         pipe_str_of(NULL, 0), frame);
}

/* Whether a time `phase` + k * `period` is behind `from` and not behind `to`. */
static bool passes(int64_t from, int64_t to, int64_t phase, int64_t period)
{
    return pipe_floor_div(pipe_time_sub(from, phase), period) !=
           pipe_floor_div(pipe_time_sub(to, phase), period);
}

/* The merge of a window alone acts when W passes the end of a window, that and the lateness, or
 * (emit on update) a multiple of emit_every. Any other stage may act at any time. */
bool exchange_needs_marker(const struct pipe_plan *plan, uint32_t exchange, int64_t from,
                           int64_t to)
{
    const struct pipe_exchange_def *def = &plan->exchanges[exchange];
    const struct pipe_stage_def *stage = &plan->stages[def->to_stage];
    const struct pipe_state_def *window = stage->states;
    if (from == to)
        return false;
    if (!def->partials || stage->state_count != 1 || stage->exchange_out_count > 0 ||
        from == PIPE_TIME_MIN || to == PIPE_TIME_MAX)
        return true;
    int64_t end = window->offset + window->size;
    from = pipe_time_sub(from, window->delay);
    to = pipe_time_sub(to, window->delay);
    return passes(from, to, end, window->every) ||
           passes(from, to, end + window->lateness, window->every) ||
           (window->emit == PIPE_EMIT_UPDATE && passes(from, to, 0, window->emit_every));
}

static bool needs_markers(const struct engine_task *task, int64_t from)
{
    const struct pipe_task *public = &task->task;
    bool needed = false;
    for (uint32_t i = 0; !needed && i < public->stage->exchange_out_count; i++) {
        int64_t delay = public->stage->exchange_delays[i];
        needed = exchange_needs_marker(public->plan, public->stage->exchanges_out[i],
                                       pipe_time_sub(from, delay),
                                       pipe_time_sub(public->watermark, delay));
    }
    return needed;
}

/* Where nothing waits for them they are not sent in every commit: each would make records,
 * partitions of a transaction and positions of the next stage, for nothing. */
void exchange_send_markers(struct engine_task *task)
{
    struct pipe_engine *engine = task->task.engine;
    const struct pipe_stage_def *stage = task->task.stage;
    int64_t from = task->marked_watermark;
    bool due = engine->markers_due && task->told_watermark != task->task.watermark;
    if (from == task->task.watermark && !due)
        return;
    task->marked_watermark = task->task.watermark;
    task->dirty = true;
    if (!due && !needs_markers(task, from))
        return;
    task->told_watermark = task->task.watermark;
    if (task->task.replaying)
        return;
    for (uint32_t i = 0; i < stage->exchange_out_count; i++) {
        struct engine_exchange *exchange = &engine->exchanges[stage->exchanges_out[i]];
        struct pipe_buf *frame = &engine->scratch;
        frame->size = 0;
        pipe_buf_add_byte(frame, FRAME_MARKER);
        pipe_avro_put_long(frame, task->task.stage_index);
        pipe_avro_put_long(frame, task->task.partition);
        pipe_avro_put_long(frame, pipe_time_sub(task->task.watermark, stage->exchange_delays[i]));
        for (uint32_t p = 0; p < exchange->def->partitions; p++)
            send(task, exchange, (int32_t)p, pipe_str_of(NULL, 0), frame);
    }
}

static bool damaged(struct engine_task *task, int64_t offset)
{
    return engine_fail(task->task.engine, PIPE_EXIT_DATA,
                       "the log is damaged: topic %s, partition %d, offset %lld is no record of an "
                       "exchange",
                       task->name.data, task->task.partition, (long long)offset);
}

/* Fills the record from the frame: whose row it is and what judges it. */
static bool read_row_frame(struct engine_task *task, struct pipe_reader *reader,
                           struct pipe_record *record)
{
    struct pipe_engine *engine = task->task.engine;
    int64_t source, partition, offset, time, event_time, watermark;
    if (!pipe_avro_long(reader, &source) || !pipe_avro_long(reader, &partition) ||
        !pipe_avro_long(reader, &offset) || !pipe_avro_long(reader, &time) ||
        !pipe_avro_long(reader, &event_time) || !pipe_avro_long(reader, &watermark))
        return false;
    record->has_position = source > 0;
    if (source < 0 || source > (int64_t)engine->plan->source_count || partition < 0)
        return false;
    if (source > 0) {
        const struct engine_source *from = &engine->sources[source - 1];
        if (partition >= (int64_t)from->partitions)
            return false;
        record->source = (uint32_t)source - 1;
        record->topic = engine->tasks[from->first_task + (uint32_t)partition].name;
    }
    record->partition = (int32_t)partition;
    record->offset = offset;
    record->kafka_time_ms = time;
    record->event_time = event_time;
    record->watermark = watermark;
    record->payload = pipe_str_of(reader->at, (size_t)(reader->end - reader->at));
    return true;
}

bool exchange_to_json(const struct pipe_engine *engine, uint32_t exchange, struct pipe_str frame,
                      struct pipe_buf *json)
{
    const struct pipe_row_type *type = engine->exchanges[exchange].row;
    struct engine_task nobody = {.task.engine = (struct pipe_engine *)engine};
    struct pipe_arena arena;
    struct pipe_reader reader;
    struct pipe_record record = {0};
    if (type == NULL || frame.size == 0 || frame.data[0] != FRAME_ROW)
        return false;
    pipe_arena_init(&arena, ROW_TEXT_BYTES);
    pipe_reader_init(&reader, frame.data + 1, frame.size - 1, &arena);
    void *row = pipe_calloc(1, type->size_bytes);
    bool ok = read_row_frame(&nobody, &reader, &record) &&
              pipe_row_load(type, &reader.at, reader.end, &arena, row);
    if (ok && record.has_position) {
        pipe_buf_printf(json, "{\"topic\":");
        pipe_json_string(json, record.topic);
        pipe_buf_printf(json, ",\"partition\":%d,\"offset\":%lld,\"row\":", record.partition,
                        (long long)record.offset);
    } else if (ok) {
        pipe_buf_printf(json, "{\"row\":");
    }
    if (ok) {
        pipe_row_to_json(type, row, json);
        pipe_buf_add_byte(json, '}');
    }
    free(row);
    pipe_arena_free(&arena);
    return ok;
}

static bool receive_marker(struct engine_task *task, struct pipe_reader *reader)
{
    struct engine_exchange *exchange = &task->task.engine->exchanges[task->task.stage->exchange];
    int64_t stage, partition, watermark, least = PIPE_TIME_MAX;
    if (!pipe_avro_long(reader, &stage) || !pipe_avro_long(reader, &partition) ||
        !pipe_avro_long(reader, &watermark))
        return false;
    bool known = false;
    for (uint32_t i = 0; i < exchange->upstream_count; i++) {
        const struct pipe_task *from = &exchange->upstream[i]->task;
        if (from->stage_index == stage && from->partition == partition) {
            task->markers[i] = watermark;
            known = true;
        }
        least = task->markers[i] < least ? task->markers[i] : least;
    }
    if (least > task->task.watermark)
        task->task.watermark = least;
    return known;
}

bool exchange_receive(struct engine_task *task, struct pipe_record *record)
{
    struct pipe_task *public = &task->task;
    const struct engine_exchange *exchange = &public->engine->exchanges[public->stage->exchange];
    struct pipe_reader reader;
    int64_t offset = record->offset;
    pipe_reader_init(&reader, record->payload.data, record->payload.size, &public->arena);
    if (record->payload.size == 0)
        return damaged(task, offset);
    switch (*reader.at++) {
    case FRAME_ROW:
        if (public->stage->record == NULL || !read_row_frame(task, &reader, record))
            return damaged(task, offset);
        if (record->kafka_time_ms > public->kafka_time_ms)
        public->kafka_time_ms = record->kafka_time_ms;
        if (exchange->stream >= 0)
        public->counters[exchange->stream].received++;
        public->stage->record(public, record);
        return true;
    case FRAME_PARTIAL: {
        int64_t kafka_time;
        if (task->merge_state < 0 || !pipe_avro_long(&reader, &kafka_time))
            return damaged(task, offset);
        record->has_position = false;
        record->kafka_time_ms = kafka_time;
        record->payload = pipe_str_of(reader.at, (size_t)(reader.end - reader.at));
        if (kafka_time > public->kafka_time_ms)
        public->kafka_time_ms = kafka_time;
        pipe_window_merge(public, (uint32_t)task->merge_state, record, record->payload);
        return true;
    }
    case FRAME_MARKER:
        return receive_marker(task, &reader) || damaged(task, offset);
    default:
        return damaged(task, offset);
    }
}
