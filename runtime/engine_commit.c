/*
 * engine_commit.c: the one commit point, and the state that follows it.
 *
 *   settle, markers → files (flush, fdatasync) → one durable WriteBatch of the log → (now and then)
 * state
 */
#include <inttypes.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "checkpoint.h"
#include "engine.h"
#include "metrics.h"
#include "schemas.h"

#define TASK_VERSION 2
#define SAVE_EVERY_US 10000000
#define SAVE_EVERY_BYTES (256ull << 20)
#define SAVE_EVERY_RECORDS (256u << 10)
#define MARKERS_EVERY_US 1000000

bool engine_has_pending(const struct pipe_engine *engine)
{
    if (engine->log->pending_bytes > 0 || engine->output_bytes > 0)
        return true;
    for (uint32_t t = 0; t < engine->task_count; t++) {
        if (engine->tasks[t].phase == ENGINE_RUNNING && engine->tasks[t].dirty)
            return true;
    }
    return false;
}

/* ---- A task in the metadata of the log ---- */

void engine_task_name(const struct pipe_plan *plan, uint32_t stage, int32_t partition, char *to,
                      size_t to_bytes)
{
    (void)plan;
    snprintf(to, to_bytes, "task/%04u/%06d", stage, partition);
}

struct pipe_log_position engine_task_position(const struct engine_task *task, char *name,
                                              size_t name_bytes)
{
    const struct pipe_engine *engine = task->task.engine;
    int32_t source = task->task.stage->source;
    bool files = source >= 0 && engine->sources[source].files;
    engine_task_name(engine->plan, task->task.stage_index, task->task.partition, name, name_bytes);
    return (struct pipe_log_position){
        .name = name,
        .at = {files ? UINT32_MAX : task->topic, task->task.partition},
        .offset = task->position.offset,
    };
}

void engine_encode_task(struct pipe_engine *engine, const struct engine_task *task,
                        struct pipe_buf *to)
{
    const struct engine_position *at = &task->position;
    to->size = 0;
    pipe_buf_add_byte(to, TASK_VERSION);
    pipe_avro_put_long(to, at->offset);
    pipe_avro_put_long(to, (int64_t)at->seq);
    pipe_avro_put_bytes(to, pipe_str_of(at->input.hint, at->input.hint_bytes));
    pipe_avro_put_long(to, task->task.watermark);
    pipe_avro_put_long(to, task->task.kafka_time_ms);
    pipe_avro_put_long(to, task->raise_time_ms);
    pipe_avro_put_bool(to, task->ended);
    pipe_avro_put_bool(to, task->idle);
    pipe_avro_put_long(to, (int64_t)task->skipped);
    pipe_avro_put_bytes(to,
                        engine->plan->secret_count == 0
                            ? pipe_str_of("", 0)
                            : pipe_str_of(engine->secrets_digest, sizeof engine->secrets_digest));
    counters_encode(task->task.counters, engine->plan->stream_count, to);
}

/* What came with version 2. */
static bool decode_shared(struct pipe_reader *reader, struct engine_committed *out)
{
    int64_t skipped;
    struct pipe_str digest = {0};
    if (!pipe_avro_bool(reader, &out->idle) || !pipe_avro_long(reader, &skipped) ||
        !pipe_avro_bytes(reader, &digest))
        return false;
    out->skipped = (uint64_t)skipped;
    out->has_secrets = digest.size == sizeof out->secrets_digest;
    if (out->has_secrets)
        memcpy(out->secrets_digest, digest.data, digest.size);
    return skipped >= 0 && (out->has_secrets || digest.size == 0);
}

bool engine_decode_task(const struct pipe_plan *plan, struct pipe_str value,
                        struct engine_committed *out, struct pipe_counters *counters)
{
    struct pipe_reader reader;
    struct pipe_str hint = {0};
    int64_t seq;
    pipe_reader_init(&reader, value.data, value.size, NULL);
    *out = (struct engine_committed){0};
    int version = value.size > 0 ? *reader.at++ : 0;
    if (version != 1 && version != TASK_VERSION)
        return false;
    if (!pipe_avro_long(&reader, &out->position.offset) || !pipe_avro_long(&reader, &seq) ||
        !pipe_avro_bytes(&reader, &hint) || !pipe_avro_long(&reader, &out->watermark) ||
        !pipe_avro_long(&reader, &out->kafka_time_ms) ||
        !pipe_avro_long(&reader, &out->raise_time_ms) || !pipe_avro_bool(&reader, &out->ended))
        return false;
    if (version > 1 && !decode_shared(&reader, out))
        return false;
    if (out->position.offset < 0 || seq < 0 || hint.size > PIPE_INPUT_HINT_MAX)
        return false;
    out->position.seq = (uint64_t)seq;
    out->position.input = (struct pipe_input_position){.offset = out->position.offset,
                                                       .hint_bytes = (uint8_t)hint.size};
    if (hint.size > 0)
        memcpy(out->position.input.hint, hint.data, hint.size);
    return counters == NULL ||
           (counters_decode(&reader.at, reader.end, counters, plan->stream_count) &&
            reader.at == reader.end);
}

/* ---- The commit ---- */

static bool put(struct pipe_engine *engine, const char *kind, const char *name,
                const struct pipe_buf *value)
{
    char full[256];
    snprintf(full, sizeof full, "%s/%s", kind, name);
    return engine->log->ops->put(engine->log, full, value->data, value->size) ||
           engine_log_failed(engine);
}

static bool flush_outputs(struct pipe_engine *engine)
{
    for (uint32_t i = 0; i < engine->plan->sink_count; i++) {
        struct engine_sink *sink = &engine->sinks[i];
        if (sink->output == NULL)
            continue;
        if (!sink->output->ops->flush(sink->output))
            return engine_fail(engine, PIPE_EXIT_DATA, "sink %s: %s", sink->def->name,
                               sink->output->error);
        if (sink->output->length_bytes == sink->output->committed_bytes && engine->commits > 0)
            continue;
        engine_encode_output(engine, sink, sink->output->length_bytes);
        if (!put(engine, "output", sink->def->name, &engine->scratch))
            return false;
    }
    return true;
}

/* What a log keeps of a position is bounded. It grows slowly (counters), so one may be warned. */
static bool check_metadata(struct pipe_engine *engine, const struct engine_task *task, size_t size)
{
    uint32_t most = engine->log->metadata_bytes;
    if (size > most)
        return engine_fail(
            engine, PIPE_EXIT_DATA,
            "stage %s, partition %d: its position and counters take %zu bytes, but the log keeps "
            "at most %u; raise offset.metadata.max.bytes of the brokers, or split the pipeline",
            task->task.stage->name, task->task.partition, size, most);
    if (size > most / 4 * 3 && !engine->told_metadata) {
        engine->told_metadata = true;
        pipe_message(PIPE_WARNING, "a position is near to what the log can keep",
                     "stage=%s partition=%d bytes=%zu most=%u", task->task.stage->name,
                     task->task.partition, size, most);
    }
    return true;
}

static bool put_tasks(struct pipe_engine *engine)
{
    for (uint32_t t = 0; t < engine->task_count; t++) {
        const struct engine_task *task = &engine->tasks[t];
        char name[64];
        if (task->phase != ENGINE_RUNNING || !task->dirty)
            continue;
        engine_encode_task(engine, task, &engine->scratch);
        if (!check_metadata(engine, task, engine->scratch.size))
            return false;
        struct pipe_log_position position = engine_task_position(task, name, sizeof name);
        position.value = pipe_str_of(engine->scratch.data, engine->scratch.size);
        if (!engine->log->ops->put_position(engine->log, &position))
            return engine_log_failed(engine);
    }
    return true;
}

static bool put_feeders(struct pipe_engine *engine)
{
    for (uint32_t i = 0; i < engine->plan->source_count; i++) {
        struct engine_source *source = &engine->sources[i];
        if (source->feeder == NULL || !source->feeder_dirty)
            continue;
        engine->scratch.size = 0;
        pipe_avro_put_long(&engine->scratch, (int64_t)source->fed);
        pipe_avro_put_long(&engine->scratch, source->feeder_options.count);
        pipe_avro_put_long(&engine->scratch, pipe_rate_store(source->feeder_options.rate_per_hour));
        pipe_avro_put_long(&engine->scratch, (int64_t)source->feeder_options.seed);
        pipe_avro_put_long(&engine->scratch, source->feeder_options.start_ms);
        pipe_feeder_put_stops(&engine->scratch, &source->feeder_options);
        if (!put(engine, "feeder", engine->plan->traffics[source->traffic].name, &engine->scratch))
            return false;
    }
    return true;
}

static bool put_rejects(struct pipe_engine *engine)
{
    if (!engine->rejects_dirty)
        return true;
    engine->scratch.size = 0;
    pipe_avro_put_long(&engine->scratch, engine->reject_count);
    for (uint32_t i = 0; i < engine->reject_count; i++) {
        const struct engine_rejects *reject = &engine->rejects[i];
        pipe_avro_put_bytes(&engine->scratch, pipe_str_of(reject->rule, strlen(reject->rule)));
        pipe_avro_put_bytes(&engine->scratch, pipe_str_of(reject->reason, strlen(reject->reason)));
        pipe_avro_put_long(&engine->scratch, (int64_t)reject->count);
    }
    return engine->log->ops->put(engine->log, "rejects", engine->scratch.data,
                                 engine->scratch.size) ||
           engine_log_failed(engine);
}

static void committed(struct pipe_engine *engine)
{
    for (uint32_t t = 0; t < engine->task_count; t++) {
        struct engine_task *task = &engine->tasks[t];
        if (task->phase != ENGINE_RUNNING || !task->dirty)
            continue;
        task->dirty = false;
        engine->save_at_once = engine->save_at_once || !task->has_committed;
        task->has_committed = true;
        task->committed = task->position;
    }
    for (uint32_t i = 0; i < engine->reject_count; i++)
        engine->rejects[i].committed = engine->rejects[i].count;
    for (uint32_t i = 0; i < engine->plan->sink_count; i++) {
        engine->sinks[i].committed_rows = engine->sinks[i].rows;
        if (engine->sinks[i].output != NULL)
            engine->sinks[i].output->committed_bytes = engine->sinks[i].output->length_bytes;
    }
    for (uint32_t i = 0; i < engine->plan->source_count; i++)
        engine->sources[i].feeder_dirty = false;
    engine->rejects_dirty = false;
    engine->output_bytes = 0;
    engine->commits++;
    engine->commits_since_save++;
    engine->last_commit_us = engine_monotonic_us();
}

static bool save_is_due(const struct pipe_engine *engine)
{
    /* At once after a task's first commit: a broker forgets the positions in a topic that is made
     * anew, and from then on only the state knows that there were some. */
    return (engine->log->grouped && engine->save_at_once) || checkpoints_due(engine) ||
           engine->last_commit_us - engine->last_save_us >= SAVE_EVERY_US ||
           engine->bytes_since_save >= SAVE_EVERY_BYTES ||
           engine->source_records + engine->replayed - engine->records_at_save >=
               SAVE_EVERY_RECORDS || /* replayed ones too: else one that often dies never saves */
           engine_memory_is_short(engine);
}

static bool is_there(struct pipe_engine *engine, const char *name, struct stat *about)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/%s", engine->dir, name);
    if (stat(path, about) == 0)
        return true;
    if (errno != ENOENT && errno != ENOTDIR)
        engine_fail(engine, PIPE_EXIT_DATA, "%s can't be examined: %s", path, strerror(errno));
    return false;
}

/* Files that are open outlive their names: without this a run whose directory was removed would end
 * as if all were well. */
bool engine_check_directory(struct pipe_engine *engine)
{
    struct stat ours, there, about;
    if (fstat(engine->lock_fd, &ours) != 0)
        return engine_fail(engine, PIPE_EXIT_DATA, "%s/lock can't be examined: %s", engine->dir,
                           strerror(errno));
    bool same = is_there(engine, "lock", &there) && ours.st_ino == there.st_ino &&
                ours.st_dev == there.st_dev &&
                (engine->log->grouped || is_there(engine, "log/CURRENT", &about)) &&
                is_there(engine, "state/CURRENT", &about);
    return same ||
           engine_fail(engine, PIPE_EXIT_DATA,
                       "%s was removed or replaced, or files in it, while the run was using "
                       "it; put it back, or begin again in a new directory",
                       engine->dir);
}

/* What became of the commit. */
static bool take_outcome(struct pipe_engine *engine, enum pipe_log_outcome outcome)
{
    switch (outcome) {
    case PIPE_LOG_COMMITTED:
        PIPE_CRASH_POINT("after_commit");
        committed(engine);
        return engine_save_if_due(engine);
    case PIPE_LOG_ABORTED:
        /* Why, the log has told. */
        pipe_message(PIPE_WARNING, "a commit did not happen: going back to the last one",
                     "commits_before=%" PRIu64, engine->log->commits);
        group_aborted(engine);
        return true;
    case PIPE_LOG_FENCED:
        return engine_fail(engine, PIPE_EXIT_OK, "%s", engine->log->error);
    case PIPE_LOG_BROKEN:
        break;
    }
    engine->commit_unknown = true;
    return engine_log_failed(engine);
}

/* Now and then all markers are sent, so that how far the next stages are is known. */
static void settle(struct pipe_engine *engine, int64_t now_us)
{
    engine->markers_due =
        engine->last_markers_us == 0 || now_us - engine->last_markers_us >= MARKERS_EVERY_US;
    if (engine->markers_due)
        engine->last_markers_us = now_us;
    for (uint32_t t = 0; t < engine->task_count; t++) {
        if (engine->tasks[t].phase == ENGINE_RUNNING)
            task_settle(&engine->tasks[t]);
    }
    engine->markers_due = false;
}

bool engine_commit(struct pipe_engine *engine)
{
    int64_t from_us = engine_monotonic_us();
    engine->commit_began_us = from_us;
    engine->caught_up = false;
    metrics_phase(engine, METRICS_COMMITTING);
    if (!engine_check_directory(engine))
        return false;
    settle(engine, from_us);
    if (engine->failed)
        return false;
    counters_gauges(engine);
#ifdef PIPE_DEBUG
    if (!counters_check(engine))
        return false;
#endif
    PIPE_CRASH_POINT("before_files");
    if (!flush_outputs(engine))
        return false;
    PIPE_CRASH_POINT("after_files");
    if (!put_tasks(engine) || !put_feeders(engine) || !put_rejects(engine))
        return false;
    engine->bytes_since_save += engine->log->pending_bytes + engine->output_bytes;
    const struct pipe_hooks *hooks = engine->options->hooks;
    if (hooks != NULL && hooks->refuse_commit(hooks->context))
        return engine_fail(engine, PIPE_EXIT_DATA, "the commit was refused");
    PIPE_CRASH_POINT("before_commit");
    enum pipe_log_outcome outcome = engine->log->ops->commit(engine->log);
    metrics_outcome(engine, from_us, outcome);
    return take_outcome(engine, outcome);
}

bool engine_save_if_due(struct pipe_engine *engine)
{
    return !save_is_due(engine) || engine_save_state(engine);
}

/* As of what is committed: a task that is not dirty may be behind gaps, where no position is. */
bool engine_may_save(const struct engine_task *task)
{
    return task->phase == ENGINE_RUNNING && task->has_committed && !task->dirty;
}

void engine_save_task(struct pipe_engine *engine, const struct engine_task *task,
                      const struct engine_position *at)
{
    struct pipe_store_position position = {
        .offset = at->offset,
        .seq = at->seq,
        .watermark = task->task.watermark,
        .kafka_time_ms = task->task.kafka_time_ms,
        .input = at->input,
        .schemas = schemas_save(task),
        .markers = task->markers,
        .marker_count = task->marker_count,
    };
    for (uint32_t i = 0; i < task->task.stage->state_count; i++)
        pipe_store_save_state(engine->store, task->task.stage_index, task->task.partition, i,
                              task->ops[i], task->task.states[i]);
    pipe_store_save_position(engine->store, task->task.stage_index, task->task.partition,
                             &position);
}

/* One write of the state of all tasks; *more: what should leave memory is too much for one. */
static bool write_state(struct pipe_engine *engine, bool *more)
{
    pipe_store_begin(engine->store);
    *more = engine_spill(engine);
    for (uint32_t t = 0; t < engine->task_count; t++) {
        if (engine_may_save(&engine->tasks[t]))
            engine_save_task(engine, &engine->tasks[t], &engine->tasks[t].committed);
    }
    bool written =
        engine->log->grouped ? pipe_store_end_later(engine->store) : pipe_store_end(engine->store);
    if (!written)
        return engine_fail(engine, PIPE_EXIT_DATA, "%s", pipe_store_error(engine->store));
    PIPE_CRASH_POINT("after_state");
    return true;
}

bool engine_save_state(struct pipe_engine *engine)
{
    bool more = true;
    if (engine->commits_since_save == 0 &&
        engine->source_records + engine->replayed == engine->records_at_save) {
        checkpoints_saved(engine); /* one that failed is made again, also where nothing comes */
        return true;
    }
    metrics_phase(engine, METRICS_SAVING);
    PIPE_CRASH_POINT("before_state");
    while (more) {
        if (!write_state(engine, &more))
            return false;
    }
    engine->save_at_once = false;
    engine->commits_since_save = 0;
    engine->bytes_since_save = 0;
    engine->records_at_save = engine->source_records + engine->replayed;
    engine->last_save_us = engine_monotonic_us();
    checkpoints_saved(engine);
    return true;
}

/* ---- After an error ---- */

/* The committed length of a sink's file, from the log as it is on disk now. */
static bool committed_length(struct pipe_log *log, const char *sink, int64_t *length)
{
    struct pipe_buf value = {0};
    struct pipe_reader reader;
    char name[256];
    bool found;
    snprintf(name, sizeof name, "output/%s", sink);
    bool ok = log->ops->get(log, name, &value, &found);
    *length = 0;
    if (ok && found) {
        pipe_reader_init(&reader, value.data, value.size, NULL);
        ok = pipe_avro_long(&reader, length);
    }
    pipe_buf_free(&value);
    return ok;
}

/* The outcome of a commit that failed is unknown: the log itself, opened anew, tells what was
 * committed. */
static bool probe_commit(struct pipe_engine *engine)
{
    char error[512];
    engine->log->ops->close(engine->log);
    engine->log = pipe_log_embedded_open(engine->dir, true, error, sizeof error);
    if (engine->log == NULL)
        return false;
    for (uint32_t i = 0; i < engine->plan->sink_count; i++) {
        struct pipe_output *output = engine->sinks[i].output;
        if (output != NULL &&
            !committed_length(engine->log, engine->sinks[i].def->name, &output->committed_bytes))
            return false;
    }
    return true;
}

void engine_rollback(struct pipe_engine *engine)
{
    if (engine->log == NULL)
        return;
    for (uint32_t t = 0; t < engine->task_count; t++) {
        if (engine->tasks[t].reader != NULL)
            engine->log->ops->reader_close(engine->tasks[t].reader);
        engine->tasks[t].reader = NULL;
    }
    engine->log->ops->abort(engine->log);
    if (engine->commit_unknown && !engine->log->grouped && !probe_commit(engine)) {
        pipe_message(PIPE_WARNING,
                     "files may show rows that were not committed until the next start", NULL);
        return;
    }
    for (uint32_t i = 0; i < engine->plan->sink_count; i++) {
        struct pipe_output *output = engine->sinks[i].output;
        if (output != NULL)
            output->ops->rollback(output);
    }
}
