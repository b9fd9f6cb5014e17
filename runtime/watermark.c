/*
 * watermark.c: floors of time. A raise is an input, so it is logged: a time record in partition p
 * of `pipec.<pipeline>.<source>.time`, in the commit in which it acts. Number seq of a partition is
 * the record at offset seq - 1. Value: zigzag varints offset, seq, floor (µs, +∞ at the end of a
 * file).
 */
#include "engine.h"

#define RAISE_EVERY_US 1000000

void watermark_raise(struct engine_task *task, int64_t floor)
{
    if (floor <= task->task.watermark)
        return;
    task->task.watermark = floor;
    task_after(task);
}

/* Logs the floor at the task's position and lets it act. */
static bool log_floor(struct engine_task *task, int64_t floor)
{
    struct pipe_engine *engine = task->task.engine;
    struct pipe_log *log = engine->log;
    struct pipe_buf value = {0};
    task->position.seq++;
    pipe_avro_put_long(&value, task->position.offset);
    pipe_avro_put_long(&value, (int64_t)task->position.seq);
    pipe_avro_put_long(&value, floor);
    bool ok = log->ops->append(log, task->time_topic, task->task.partition, engine->wall_ms,
                               pipe_str_of(NULL, 0), pipe_str_of(value.data, value.size));
    pipe_buf_free(&value);
    if (!ok)
        return engine_fail(engine, PIPE_EXIT_DATA, "%s", log->error);
    task->dirty = true;
    task->raise_time_ms = engine->wall_ms;
    watermark_raise(task, floor);
    return true;
}

bool watermark_end_of_input(struct engine_task *task)
{
    task->ended = true;
    return log_floor(task, PIPE_TIME_MAX);
}

bool watermark_read_record(struct engine_task *task, uint64_t seq, struct time_record *out)
{
    struct pipe_engine *engine = task->task.engine;
    struct pipe_log *log = engine->log;
    struct pipe_record constant = {0}, *records;
    uint32_t count;
    int64_t number;
    struct pipe_log_reader *reader =
        log->ops->reader(log, task->time_topic, task->task.partition, (int64_t)seq - 1, &constant);
    enum pipe_log_state state = log->ops->read(reader, 1, &records, &count);
    bool sound = false;
    if (state == PIPE_LOG_RECORDS) {
        struct pipe_reader bytes;
        pipe_reader_init(&bytes, records->payload.data, records->payload.size, &task->task.arena);
        sound = pipe_avro_long(&bytes, &out->offset) && pipe_avro_long(&bytes, &number) &&
                pipe_avro_long(&bytes, &out->floor) && number == (int64_t)seq;
        out->seq = seq;
        out->kafka_time_ms = records->kafka_time_ms;
    }
    log->ops->reader_close(reader);
    if (state == PIPE_LOG_FAILED)
        return engine_fail(engine, PIPE_EXIT_DATA, "%s", log->error);
    return sound ||
           engine_fail(engine, PIPE_EXIT_DATA,
                       "the log is damaged: topic %s, partition %d has no time record %llu",
                       log->topics[task->time_topic].name, task->task.partition,
                       (unsigned long long)seq);
}

/* ---- The idle rule, for topics of the log ---- */

/* Keeps track of how long the task has been at the end of its partition; true: idle. */
static bool is_idle(struct engine_task *task, int64_t now_us)
{
    const struct pipe_log *log = task->task.engine->log;
    if (task->position.offset < log->ops->end(log, task->topic, task->task.partition)) {
        task->at_end_since_us = -1;
        return false;
    }
    if (task->at_end_since_us < 0)
        task->at_end_since_us = now_us;
    return now_us - task->at_end_since_us >= task->task.source->idle;
}

static bool may_raise(const struct engine_task *task, int64_t now_us)
{
    return task->task.engine->options->hooks != NULL ||
           now_us - task->last_raise_us >= RAISE_EVERY_US;
}

/* All partitions are idle: time goes on by the broker's clock, which is the append time of the last
 * time record; the first one only tells the time. */
static bool advance_idle(struct engine_task *task, int64_t now_us, bool *raised)
{
    int64_t floor = task->task.watermark;
    if (!may_raise(task, now_us))
        return true;
    if (task->raise_time_ms != PIPE_TIME_MIN) {
        int64_t by_clock = pipe_time_sub(task->raise_time_ms * 1000, task->task.source->watermark);
        floor = by_clock > floor ? by_clock : floor;
    }
    if (floor == task->task.watermark && task->raise_time_ms == task->task.engine->wall_ms)
        return true; /* it would say nothing new */
    task->last_raise_us = now_us;
    *raised = true;
    return log_floor(task, floor);
}

static bool follow(struct engine_task *task, int64_t floor, int64_t now_us, bool *raised)
{
    if (floor <= task->task.watermark || !may_raise(task, now_us))
        return true;
    task->last_raise_us = now_us;
    *raised = true;
    return log_floor(task, floor);
}

static bool idle_of_source(struct pipe_engine *engine, const struct engine_source *source,
                           int64_t now_us, bool *raised)
{
    struct engine_task *tasks = &engine->tasks[source->first_task];
    int64_t least = PIPE_TIME_MAX;
    uint32_t idle = 0;
    for (uint32_t p = 0; p < source->partitions; p++) {
        if (is_idle(&tasks[p], now_us))
            idle++;
        else if (tasks[p].task.watermark < least)
            least = tasks[p].task.watermark;
    }
    if (idle == 0)
        return true;
    bool all = idle == source->partitions;
    for (uint32_t p = 0; p < source->partitions; p++) {
        if (tasks[p].at_end_since_us < 0 || now_us - tasks[p].at_end_since_us < source->def->idle)
            continue;
        if (all && source->def->idle_advance && !advance_idle(&tasks[p], now_us, raised))
            return false;
        if (!all && !follow(&tasks[p], least, now_us, raised))
            return false;
    }
    return true;
}

bool watermark_idle(struct pipe_engine *engine, int64_t now_us, bool *raised)
{
    *raised = false;
    for (uint32_t i = 0; i < engine->plan->source_count; i++) {
        const struct engine_source *source = &engine->sources[i];
        if (!source->files && source->def->has_watermark && source->def->idle > 0 &&
            !idle_of_source(engine, source, now_us, raised))
            return false;
    }
    return true;
}
