/*
 * task.c: one stage of one partition, batch by batch. The loop over records is the hot path: reset
 * the arena, let generated code do the stage, move time, advance what is due.
 */
#include "engine.h"
#include "metrics.h"
#include "schemas.h"

/* Advances the states that have something to do at the task's W, in dataflow order: what an earlier
 * one emits may make a later one due. */
void task_after(struct engine_task *task)
{
    struct pipe_task *outer = &task->task;
    const struct pipe_state_def *defs = outer->stage->states;
    for (uint32_t i = 0; i < outer->stage->state_count; i++) {
        const struct pipe_state *state = outer->states[i];
        if (PIPE_LIKELY(outer->watermark < state->due))
            continue;
        int64_t watermark = pipe_time_sub(outer->watermark, defs[i].delay);
        if (watermark < state->due || state->due == PIPE_TIME_MAX)
            continue;
        pipe_arena_reset(&outer->arena);
        task->ops[i]->advance(outer, i, watermark);
        task->dirty = true;
    }
}

/* Whether task_after has something to do: mostly it has not. */
static inline bool is_after_due(const struct pipe_task *task)
{
    for (uint32_t i = 0; i < task->stage->state_count; i++) {
        if (PIPE_UNLIKELY(task->watermark >= ((const struct pipe_state *)task->states[i])->due))
            return true; /* a delay only makes W less */
    }
    return false;
}

static inline void run_source_record(struct engine_task *task, struct pipe_record *record)
{
    struct pipe_task *outer = &task->task;
    record->watermark = outer->watermark;
    if (record->kafka_time_ms > outer->kafka_time_ms)
        outer->kafka_time_ms = record->kafka_time_ms;
    if (outer->stage->record(outer, record) && outer->source->has_watermark) {
        int64_t watermark = pipe_time_sub(record->event_time, outer->source->watermark);
        if (watermark > outer->watermark)
            outer->watermark = watermark;
    }
}

/* Decodes the records from `from` to `to` before their turn, then makes the keys of all of them,
 * then lets the states ask for the memory of these: so several hashes are computed at the same
 * time, and not of bytes that are still on their way into the cache. */
static void look_ahead(struct engine_task *task, const struct pipe_record *records, uint32_t from,
                       uint32_t to)
{
    uint32_t seen = ((1u << (to - from)) - 1) << from % PIPE_AHEAD; /* bits as in ahead_ready */
    uint32_t ready = engine_decode_ahead(task, records, from, to);
    task->ahead_ready = (task->ahead_ready & ~seen) | ready;
    for (uint32_t left = ready; left != 0; left &= left - 1)
        engine_keys_ahead(task, (uint32_t)__builtin_ctz(left));
    for (uint32_t s = 0; s < task->task.stage->state_count; s++) {
        const struct pipe_state *state = task->task.states[s];
        if (state->keys != NULL && ready != 0)
            task->ops[s]->ask(task->task.states[s], ready);
    }
}

#define GROUP (PIPE_AHEAD / 2)

/* Before record i: the first records of a batch, then a group each time the one before is done. */
static inline void look_ahead_if_due(struct engine_task *task, const struct pipe_record *records,
                                     uint32_t count, uint32_t i)
{
    if (i % GROUP != 0)
        return;
    uint32_t from = i == 0 ? 0 : i + GROUP, to = i + PIPE_AHEAD;
    if (from < count)
        look_ahead(task, records, from, to < count ? to : count);
}

/* false: the engine has failed. */
static bool run_records(struct engine_task *task, struct pipe_record *records, uint32_t count)
{
    struct pipe_engine *engine = task->task.engine;
    bool exchange = task->task.source == NULL;
    const char *const *faults = task->input != NULL ? task->input->faults : NULL;
    bool ahead = task->task.stage->ahead != NULL;
    task->batch = records;
    task->ahead_ready = 0;
    if (task->rows == NULL && !exchange)
        task->rows = pipe_calloc(PIPE_AHEAD, task->task.source->row_bytes);
    task->dirty = true;
    task->idle = false;
    task->at_end_since_us = -1; /* idle begins anew, however soon all is read again */
    for (uint32_t i = 0; i < count; i++) {
        int64_t offset = records[i].offset;
        if (ahead)
            look_ahead_if_due(task, records, count, i);
        pipe_arena_reset(&task->task.arena);
        task->task.made_bytes = 0;
        task->fault = faults != NULL ? faults[i] : NULL;
        if (!exchange)
            run_source_record(task, &records[i]);
        else if (!exchange_receive(task, &records[i]))
            return false;
        if (is_after_due(&task->task))
            task_after(task);
        task->position.offset = offset + 1;
    }
    task->records += count;
    metrics_read(task, records, count);
    if (!exchange && !task->task.replaying)
        engine->source_records += count;
    return !engine->failed;
}

/* A batch, once all schema ids in it are known. Until then it is put back, and read again. */
static enum task_result run_batch(struct engine_task *task, struct pipe_record *records,
                                  uint32_t count)
{
    enum schemas_state schemas =
        task->task.replaying ? SCHEMAS_READY : schemas_prepare(task, records, count);
    if (schemas == SCHEMAS_READY)
        return run_records(task, records, count) ? TASK_WORKED : TASK_FAILED;
    return schemas == SCHEMAS_WAIT && task_open_position(task, &task->position) ? TASK_WAITS
                                                                                : TASK_FAILED;
}

static enum task_result run_file(struct engine_task *task, uint32_t max_records)
{
    struct pipe_engine *engine = task->task.engine;
    struct pipe_record *records;
    uint32_t count;
    enum task_result result;
    if (task->ended)
        return TASK_IDLE;
    switch (task->input->ops->next(task->input, max_records, &records, &count)) {
    case PIPE_INPUT_RECORDS:
        result = run_batch(task, records, count);
        if (result == TASK_WORKED)
            task->position.input = task->input->position;
        return result;
    case PIPE_INPUT_WAIT:
        return TASK_IDLE;
    case PIPE_INPUT_END:
        if (task->task.replaying || engine->reconciles)
            return TASK_IDLE;
        return watermark_end_of_input(task) && !engine->failed ? TASK_WORKED : TASK_FAILED;
    case PIPE_INPUT_FAILED:
        /* What stands before the fault is sound: it is committed before the program stops. */
        if (!task->task.replaying && !engine->reconciles && engine_has_pending(engine) &&
            !engine_commit(engine))
            return TASK_FAILED;
        break;
    }
    engine_fail(engine, PIPE_EXIT_DATA, "%s", task->input->error);
    return TASK_FAILED;
}

/* The records between the position and what is left of the topic may be gone. */
static enum task_result read_failed(struct engine_task *task)
{
    struct pipe_engine *engine = task->task.engine;
    struct pipe_log *log = engine->log;
    char error[sizeof log->error];
    memcpy(error, log->error, sizeof error);
    int64_t begin = log->grouped ? log->ops->begin(log, task->topic, task->task.partition) : 0;
    if (begin > task->position.offset && !task->task.replaying)
        return engine_skip_gap(task, begin, task->position.offset) ? TASK_WORKED : TASK_FAILED;
    memcpy(log->error, error, sizeof error);
    engine_log_failed(engine);
    return TASK_FAILED;
}

enum task_result task_run(struct engine_task *task, uint32_t max_records, int64_t before)
{
    struct pipe_engine *engine = task->task.engine;
    struct pipe_record *records;
    uint32_t count;
    if (schemas_waiting(task))
        return TASK_WAITS;
    if (task->input != NULL) {
        int64_t left = before - task->position.offset;
        return run_file(task, left < max_records ? (uint32_t)left : max_records);
    }
    switch (engine->log->ops->read(task->reader, max_records, before, &records, &count)) {
    case PIPE_LOG_RECORDS:
        return run_batch(task, records, count);
    case PIPE_LOG_END: {
        int64_t position = engine->log->ops->position(task->reader);
        position = position < before ? position : before;
        if (position > task->position.offset) /* behind gaps */
            task->position.offset = position;
        return TASK_IDLE;
    }
    case PIPE_LOG_WAIT:
        return TASK_WAITS;
    case PIPE_LOG_FAILED:
        break;
    }
    return read_failed(task);
}

void task_settle(struct engine_task *task)
{
    struct pipe_task *outer = &task->task;
    for (uint32_t i = 0; i < outer->stage->state_count; i++) {
        pipe_arena_reset(&outer->arena);
        task->ops[i]->settle(outer, i);
    }
    exchange_send_markers(task);
}

/* Nothing of such a file passes: that is said before its rejects pile up. */
static void warn_schema(const struct engine_task *task, const char *path)
{
    const struct pipe_source_def *source = task->task.source;
    const struct pipe_contract *contract = source->contract;
    char known[400] = "";
    size_t used = 0;
    if (source->is_kafka || source->format != PIPE_FORMAT_AVRO || contract == NULL ||
        task->input->avro_version >= 0)
        return;
    for (uint32_t i = 0; i < contract->version_count && used < sizeof known; i++)
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s:%016llx",
                                 i > 0 ? "," : "", contract->versions[i].label,
                                 (unsigned long long)contract->versions[i].fingerprint);
    pipe_message(PIPE_WARNING, "every record will be rejected: the file is of no known version",
                 "reason=schema_unknown file=%.300s found=\"%s\" contract=%s known=%s", path,
                 PIPE_QUOTED(task->input->schema_detail), contract->name, known);
}

static bool open_input(struct engine_task *task, const struct engine_position *at)
{
    struct pipe_engine *engine = task->task.engine;
    const struct engine_source *source = &engine->sources[task->task.stage->source];
    uint32_t p = (uint32_t)task->task.partition;
    char error[512];
    struct pipe_input_config config = {
        .source = source->def,
        .source_index = (uint32_t)task->task.stage->source,
        .partition = task->task.partition,
        .path = source->standard_input ? "-" : source->paths[p],
        .length_bytes = source->standard_input ? -1 : source->lengths[p],
        .resume = at->input,
        .max_record_bytes = engine->options->max_record_bytes,
        .topic = task->name.data,
    };
    if (task->input != NULL)
        task->input->ops->close(task->input);
    const struct pipe_hooks *hooks = engine->options->hooks;
    task->input = hooks != NULL ? hooks->open_input(hooks->context, &config)
                                : pipe_input_open(&config, error, sizeof error);
    if (task->input == NULL)
        return engine_fail(engine, PIPE_EXIT_DATA, "%s", error);
    if (hooks == NULL && !engine->reconciles)
        warn_schema(task, config.path);
    return true;
}

bool task_open_position(struct engine_task *task, const struct engine_position *at)
{
    struct pipe_engine *engine = task->task.engine;
    task->position = *at;
    if (task->task.stage->source >= 0 && engine->sources[task->task.stage->source].files)
        return open_input(task, at);
    struct pipe_record constant = {
        .has_position = task->task.source != NULL,
        .source = task->task.stage->source >= 0 ? (uint32_t)task->task.stage->source : 0,
        .partition = task->task.partition,
        .topic = task->name,
    };
    if (task->reader != NULL)
        engine->log->ops->reader_close(task->reader);
    task->reader = engine->log->ops->reader(engine->log, task->topic, task->task.partition,
                                            at->offset, &constant);
    return true;
}
