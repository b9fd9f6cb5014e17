/*
 * task.c: one stage of one partition, batch by batch. The loop over records is the hot path: reset
 * the arena, let generated code do the stage, move time, advance what is due.
 */
#include "engine.h"

/* Advances the states that have something to do at the task's W, in dataflow order: what an earlier
 * one emits may make a later one due. */
void task_after(struct engine_task *task)
{
    struct pipe_task *public = &task->task;
    const struct pipe_state_def *defs = public->stage->states;
    for (uint32_t i = 0; i < public->stage->state_count; i++) {
        int64_t watermark = pipe_time_sub(public->watermark, defs[i].delay);
        int64_t due = task->ops[i]->next_due(public->states[i]);
        if (watermark < due || due == PIPE_TIME_MAX)
            continue;
        pipe_arena_reset(&public->arena);
        task->ops[i]->advance(public, i, watermark);
        task->dirty = true;
    }
}

static void run_source_record(struct engine_task *task, struct pipe_record *record)
{
    struct pipe_task *public = &task->task;
    record->watermark = public->watermark;
    if (record->kafka_time_ms > public->kafka_time_ms)
    public->kafka_time_ms = record->kafka_time_ms;
    if (public->stage->record(public, record) && public->source->has_watermark) {
        int64_t watermark = pipe_time_sub(record->event_time, public->source->watermark);
        if (watermark > public->watermark)
        public->watermark = watermark;
    }
}

/* The first records of a batch, or the one that comes ENGINE_AHEAD after record i. */
static void look_ahead(struct engine_task *task, const struct pipe_record *records, uint32_t count,
                       uint32_t i)
{
    const char *const *faults = task->input != NULL ? task->input->faults : NULL;
    uint32_t next = i == 0 ? 0 : i + ENGINE_AHEAD - 1;
    if (task->ahead_rows == NULL)
        task->ahead_rows = pipe_calloc(ENGINE_AHEAD, task->task.source->row_bytes);
    task->fault = NULL;
    for (; next < count && next < i + ENGINE_AHEAD; next++) {
        task->ahead_ready &= ~(1u << next % ENGINE_AHEAD);
        if (faults == NULL || faults[next] == NULL)
            engine_decode_ahead(task, &records[next]);
    }
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
    task->dirty = true;
    for (uint32_t i = 0; i < count; i++) {
        int64_t offset = records[i].offset;
        if (ahead)
            look_ahead(task, records, count, i);
        pipe_arena_reset(&task->task.arena);
        task->fault = faults != NULL ? faults[i] : NULL;
        if (!exchange)
            run_source_record(task, &records[i]);
        else if (!exchange_receive(task, &records[i]))
            return false;
        task_after(task);
        task->position.offset = offset + 1;
    }
    task->records += count;
    if (!exchange && !task->task.replaying)
        engine->source_records += count;
    return !engine->failed;
}

static enum task_result run_file(struct engine_task *task, uint32_t max_records)
{
    struct pipe_engine *engine = task->task.engine;
    struct pipe_record *records;
    uint32_t count;
    if (task->ended)
        return TASK_IDLE;
    switch (task->input->ops->next(task->input, max_records, &records, &count)) {
    case PIPE_INPUT_RECORDS:
        if (!run_records(task, records, count))
            return TASK_FAILED;
        task->position.input = task->input->position;
        return TASK_WORKED;
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

enum task_result task_run(struct engine_task *task, uint32_t max_records)
{
    struct pipe_engine *engine = task->task.engine;
    struct pipe_record *records;
    uint32_t count;
    if (task->input != NULL)
        return run_file(task, max_records);
    switch (engine->log->ops->read(task->reader, max_records, &records, &count)) {
    case PIPE_LOG_RECORDS:
        return run_records(task, records, count) ? TASK_WORKED : TASK_FAILED;
    case PIPE_LOG_END:
        return TASK_IDLE;
    case PIPE_LOG_FAILED:
        break;
    }
    engine_fail(engine, PIPE_EXIT_DATA, "%s", engine->log->error);
    return TASK_FAILED;
}

void task_settle(struct engine_task *task)
{
    struct pipe_task *public = &task->task;
    for (uint32_t i = 0; i < public->stage->state_count; i++) {
        pipe_arena_reset(&public->arena);
        task->ops[i]->settle(public, i);
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
                 task->input->schema_detail, contract->name, known);
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
        .topic = source->def->is_kafka ? source->def->target : NULL,
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
