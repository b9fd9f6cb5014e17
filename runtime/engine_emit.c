/*
 * engine_emit.c: rows on their way to sinks, and the count of rejects by reason.
 */
#include <stdlib.h>

#include "engine.h"
#include "metrics.h"

#define MADE_RECORDS 256u /* what one record may make, in times of --max-record */

/* The first byte pair of Avro's single-object encoding, then the fingerprint, little-endian. */
static struct pipe_str frame_avro(struct engine_sink *sink, struct pipe_str value)
{
    uint8_t *to = pipe_buf_reserve(&sink->frame, 10 + value.size);
    to[0] = 0xC3;
    to[1] = 0x01;
    for (unsigned i = 0; i < 8; i++)
        to[2 + i] = (uint8_t)(sink->def->avro_fingerprint >> (8 * i));
    if (value.size > 0)
        memcpy(to + 10, value.data, value.size);
    return pipe_str_of(to, 10 + value.size);
}

static void emit_to_topic(struct engine_task *task, struct engine_sink *sink,
                          const struct pipe_record *record, struct pipe_str key,
                          struct pipe_str value)
{
    struct pipe_engine *engine = task->task.engine;
    bool placed = record != NULL && record->has_position;
    int32_t partition = placed ? record->partition : task->task.partition;
    if (sink->def->source_key)
        key = placed ? record->key : pipe_str_of(NULL, 0);
    if (key.data != NULL && !sink->def->source_key && !sink->by_record)
        partition = pipe_key_partition(key, sink->partitions);
    else
        partition = (int32_t)((uint32_t)partition % sink->partitions);
    if (sink->def->format == PIPE_FORMAT_AVRO && value.data != NULL &&
        !sink->by_record) /* a tombstone stays one */
        value = frame_avro(sink, value);
    if (!pipe_may_make(&task->task, record, key.size + value.size))
        return;
    if (!engine->log->ops->append(engine->log, sink->topic, partition, engine->wall_ms, key, value))
        engine_log_failed(engine);
}

uint64_t engine_made_most(const struct pipe_engine *engine)
{
    const struct pipe_run_options *options = engine->options;
    if (engine->reconciles) /* what was committed passed */
        return UINT64_MAX;
    return options->max_outputs > 0 ? options->max_outputs
                                    : (uint64_t)MADE_RECORDS * options->max_record_bytes;
}

void pipe_emit(struct pipe_task *task, uint32_t index, const struct pipe_record *record,
               struct pipe_str key, struct pipe_str value)
{
    struct pipe_engine *engine = task->engine;
    struct engine_sink *sink = &engine->sinks[index];
    if (task->replaying)
        return;
    sink->rows++;
    sink->bytes += (key.data != NULL ? key.size : 0) + (value.data != NULL ? value.size : 0);
    if (sink->ages != NULL)
        metrics_row(sink->ages, engine->wall_ms,
                    record != NULL ? record->kafka_time_ms : PIPE_TIME_MIN);
    engine_task_of(task)->dirty = true;
    if (engine->options->no_output || engine->failed || sink->followed)
        return; /* followed: the row is in the topic that its table follows */
    if (sink->is_topic) {
        emit_to_topic(engine_task_of(task), sink, record, key, value);
    } else if (pipe_may_make(task, record, value.size)) {
        engine->output_bytes += value.size;
        if (!sink->output->ops->append(sink->output, value))
            engine_fail(engine, PIPE_EXIT_DATA, "sink %s: %s", sink->def->name,
                        sink->output->error);
    }
}

void pipe_emit_deletable(struct pipe_task *task, uint32_t index, const struct pipe_record *record,
                         struct pipe_str value, bool deleted)
{
    struct pipe_buf *row = &task->engine->sinks[index].frame;
    row->size = 0;
    pipe_buf_add(row, value.data, value.size - 1); /* but for its last brace */
    if (value.size > 2)
        pipe_buf_add_byte(row, ',');
    PIPE_JSON_RAW(row, "\"_pipe_deleted\":");
    pipe_json_bool(row, deleted);
    pipe_buf_add_byte(row, '}');
    pipe_emit(task, index, record, pipe_str_of(NULL, 0), pipe_str_of(row->data, row->size));
}

/* pipe_reject_fill knows no task: the engine that counts is the one that runs now in this thread.
 */
static _Thread_local struct pipe_engine *counting;

void engine_count_rejects_in(struct pipe_engine *engine)
{
    counting = engine;
}

static bool is_text(const char *have, struct pipe_str text)
{
    return strncmp(have, text.data, text.size) == 0 && have[text.size] == '\0';
}

void engine_count_reject(struct pipe_engine *engine, struct pipe_str rule, struct pipe_str reason,
                         uint64_t count)
{
    engine = engine != NULL ? engine : counting;
    if (engine == NULL)
        return;
    engine->rejects_dirty = true;
    for (uint32_t i = 0; i < engine->reject_count; i++) {
        struct engine_rejects *known = &engine->rejects[i];
        if (is_text(known->rule, rule) && is_text(known->reason, reason)) {
            known->count += count;
            return;
        }
    }
    engine->rejects =
        pipe_realloc(engine->rejects, (engine->reject_count + 1) * sizeof *engine->rejects);
    engine->rejects[engine->reject_count++] =
        (struct engine_rejects){pipe_str_dup(rule), pipe_str_dup(reason), count, 0};
}
