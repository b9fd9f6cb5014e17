/*
 * watermark.c: floors of time. A raise is an input, so it is logged: a time record in partition p
 * of `pipec.<pipeline>.<source>.time`, in the commit in which it acts. They are numbered by seq
 * from 1, in order; between them are gaps where the log has some. Value: zigzag varints offset,
 * seq, floor (µs, +∞ at the end of a file). A verdict on a schema id is an input too (schemas.h):
 * a time record with floor −∞, which raises nothing, and the verdict behind it.
 */
#include "engine.h"
#include "schemas.h"

#define RAISE_EVERY_US 1000000
#define REMOTE_EVERY_US 1000000
#define REMOTES_AT_ONCE 8u /* positions asked for in one check of idle partitions */
#define SCAN_RECORDS 1024

void watermark_raise(struct engine_task *task, int64_t floor)
{
    if (floor <= task->task.watermark)
        return;
    task->task.watermark = floor;
    task_after(task);
}

static bool log_record(struct engine_task *task, int64_t floor, struct pipe_str schema)
{
    struct pipe_engine *engine = task->task.engine;
    struct pipe_log *log = engine->log;
    struct pipe_buf value = {0};
    task->position.seq++;
    pipe_avro_put_long(&value, task->position.offset);
    pipe_avro_put_long(&value, (int64_t)task->position.seq);
    pipe_avro_put_long(&value, floor);
    pipe_buf_add(&value, schema.data, schema.size);
    bool ok = log->ops->append(log, task->time_topic, task->task.partition, engine->wall_ms,
                               pipe_str_of(NULL, 0), pipe_str_of(value.data, value.size));
    pipe_buf_free(&value);
    if (!ok)
        return engine_log_failed(engine);
    task->dirty = true;
    task->raise_time_ms = log->grouped ? PIPE_TIME_MIN : engine->wall_ms;
    return true;
}

/* Logs the floor at the task's position and lets it act. */
static bool log_floor(struct engine_task *task, int64_t floor)
{
    if (!log_record(task, floor, pipe_str_of("", 0)))
        return false;
    watermark_raise(task, floor);
    return true;
}

bool watermark_log_schema(struct engine_task *task, struct pipe_str verdict)
{
    return log_record(task, PIPE_TIME_MIN, verdict);
}

bool watermark_apply(struct engine_task *task, const struct time_record *record)
{
    const struct pipe_engine *engine = task->task.engine;
    watermark_raise(task, record->floor);
    return record->schema.size == 0 || schemas_load(task, record->schema) ||
           engine_fail(task->task.engine, PIPE_EXIT_DATA,
                       "the log is damaged: time record %llu of topic %s, partition %d holds no "
                       "verdict on a schema id",
                       (unsigned long long)record->seq, engine->log->topics[task->time_topic].name,
                       task->task.partition);
}

bool watermark_end_of_input(struct engine_task *task)
{
    task->ended = true;
    return log_floor(task, PIPE_TIME_MAX);
}

/* ---- Reading them ---- */

void watermark_close(struct engine_task *task)
{
    if (task->times != NULL)
        task->task.engine->log->ops->reader_close(task->times);
    task->times = NULL;
}

static bool parse_record(struct engine_task *task, const struct pipe_record *record,
                         struct time_record *out)
{
    struct pipe_reader bytes;
    int64_t number;
    pipe_reader_init(&bytes, record->payload.data, record->payload.size, &task->task.arena);
    if (!pipe_avro_long(&bytes, &out->offset) || !pipe_avro_long(&bytes, &number) ||
        !pipe_avro_long(&bytes, &out->floor) || number < 1)
        return false;
    out->seq = (uint64_t)number;
    out->kafka_time_ms = record->kafka_time_ms;
    out->schema = pipe_str_of(bytes.at, (size_t)(bytes.end - bytes.at));
    return true;
}

static bool damaged(struct engine_task *task, uint64_t seq)
{
    struct pipe_engine *engine = task->task.engine;
    return engine_fail(engine, PIPE_EXIT_DATA,
                       "the log is damaged: topic %s, partition %d has no time record %llu",
                       engine->log->topics[task->time_topic].name, task->task.partition,
                       (unsigned long long)seq);
}

/* Makes task->times a reader at the offset. */
static void open_times(struct engine_task *task, int64_t offset)
{
    struct pipe_log *log = task->task.engine->log;
    struct pipe_record constant = {0};
    watermark_close(task);
    task->times = log->ops->reader(log, task->time_topic, task->task.partition, offset, &constant);
}

/* The next record of the reader. *end: there is none, or, unless `waits`, none yet. False: failed,
 * or the task has gone while it waited. */
static bool next_time(struct engine_task *task, bool waits, struct time_record *out,
                      int64_t *offset, bool *end)
{
    struct pipe_engine *engine = task->task.engine;
    struct pipe_log *log = engine->log;
    struct pipe_record *records;
    uint32_t count;
    int64_t since_us = 0;
    bool expired = false;
    for (;;) {
        switch (log->ops->read(task->times, 1, INT64_MAX, &records, &count)) {
        case PIPE_LOG_RECORDS:
            *end = false;
            *offset = records->offset;
            return parse_record(task, records, out) || damaged(task, task->times_seq);
        case PIPE_LOG_END:
            return *end = true;
        case PIPE_LOG_WAIT:
            if (!waits)
                return *end = true;
            if (!engine_wait_on(task, &since_us, &expired))
                return expired ? damaged(task, task->times_seq) : false;
            break;
        case PIPE_LOG_FAILED:
            return engine_log_failed(engine);
        }
    }
}

/* Puts the reader before record `seq`. Every record before it has an offset of its own, so it is at
 * seq - 1 or later: how much later, for gaps, is found by halving. */
static bool find_record(struct engine_task *task, uint64_t seq)
{
    struct pipe_log *log = task->task.engine->log;
    int64_t low = log->ops->begin(log, task->time_topic, task->task.partition);
    if (low < 0)
        return engine_log_failed(task->task.engine);
    low = low > (int64_t)seq - 1 ? low : (int64_t)seq - 1;
    int64_t high = log->ops->end(log, task->time_topic, task->task.partition);
    task->times_seq = seq;
    while (log->grouped && high - low > SCAN_RECORDS) {
        struct time_record record;
        int64_t middle = low + (high - low) / 2, offset;
        bool end;
        open_times(task, middle);
        if (!next_time(task, true, &record, &offset, &end))
            return false;
        if (!end && record.seq < seq)
            low = offset + 1;
        else
            high = middle;
    }
    open_times(task, low);
    return true;
}

bool watermark_read_record(struct engine_task *task, uint64_t seq, struct time_record *out)
{
    int64_t offset, since_us = 0;
    bool end, expired = false;
    if ((task->times == NULL || task->times_seq != seq) && !find_record(task, seq))
        return false;
    for (;;) {
        if (!next_time(task, true, out, &offset, &end))
            return false;
        if (end && !engine_wait_on(task, &since_us, &expired)) /* it may come later */
            return expired ? damaged(task, seq) : false;
        if (end || out->seq < seq)
            continue;
        task->times_seq = seq + 1;
        return out->seq == seq || damaged(task, seq);
    }
}

bool watermark_has_records(struct engine_task *task, bool *any)
{
    struct time_record record;
    int64_t offset;
    bool end = true;
    bool ok = find_record(task, 1) && next_time(task, true, &record, &offset, &end);
    watermark_close(task);
    *any = !end;
    return ok;
}

/* ---- The idle rule, for topics of the log ---- */

/* Keeps track of how long the task has been at the end of its partition; true: idle. A log that
 * others write to is asked in the end whether that is all there is. */
static bool is_idle(struct engine_task *task, int64_t now_us)
{
    struct pipe_log *log = task->task.engine->log;
    if (task->position.offset < log->ops->end(log, task->topic, task->task.partition)) {
        task->at_end_since_us = -1;
        return false;
    }
    if (task->at_end_since_us < 0)
        task->at_end_since_us = now_us;
    if (now_us - task->at_end_since_us < task->task.source->idle)
        return false;
    return !log->grouped ||
           log->ops->at_end(log, task->topic, task->task.partition, task->position.offset);
}

/* The others of the group go by what is committed. */
static void tell_idle(struct engine_task *task, bool idle)
{
    if (task->idle == idle)
        return;
    task->idle = idle;
    task->dirty = task->dirty || task->task.engine->log->grouped;
}

/* What another process has committed of the partition, at most a second old. */
static bool look_at_remote(struct engine_task *task, int64_t now_us, unsigned *left)
{
    struct pipe_engine *engine = task->task.engine;
    struct engine_committed c;
    struct pipe_buf value = {0};
    struct pipe_log_committed found = {.value = &value, .loose = true};
    char name[64];
    if (task->remote.seen_us != INT64_MIN && now_us - task->remote.seen_us < REMOTE_EVERY_US)
        return true;
    if (*left == 0)
        return true;
    (*left)--;
    struct pipe_log_position of = engine_task_position(task, name, sizeof name);
    bool ok = engine->log->ops->get_position(engine->log, &of, &found) || engine_log_failed(engine);
    task->remote = (struct engine_remote){PIPE_TIME_MIN, false, now_us};
    if (ok && found.found) {
        ok =
            engine_decode_task(engine->plan, pipe_str_of(value.data, value.size), &c, NULL) ||
            engine_fail(engine, PIPE_EXIT_DATA, "the position of %s in the log is malformed", name);
        task->remote = (struct engine_remote){c.watermark, c.idle, now_us};
    }
    pipe_buf_free(&value);
    return ok;
}

static bool may_raise(const struct engine_task *task, int64_t now_us)
{
    return task->task.engine->options->hooks != NULL ||
           now_us - task->last_raise_us >= RAISE_EVERY_US;
}

/* The append time of the last time record, as the broker says. Embedded, that is the clock of this
 * process; else the record is read back, once it is committed. *known false: not yet. */
static bool last_append_time(struct engine_task *task, bool *known)
{
    struct pipe_log *log = task->task.engine->log;
    struct time_record record;
    int64_t offset;
    bool end;
    *known = true;
    if (!log->grouped || task->position.seq == 0 || task->raise_time_ms != PIPE_TIME_MIN)
        return true;
    if (task->times == NULL) {
        int64_t begin = log->ops->begin(log, task->time_topic, task->task.partition);
        int64_t least = (int64_t)task->position.seq - 1;
        if (begin < 0)
            return engine_log_failed(task->task.engine);
        open_times(task, begin > least ? begin : least);
    }
    task->times_seq = 0; /* it is not where recovery would take it up */
    do {
        if (!next_time(task, false, &record, &offset, &end))
            return false;
    } while (!end && record.seq < task->position.seq);
    *known = !end;
    if (!end)
        task->raise_time_ms = record.kafka_time_ms;
    return true;
}

/* All partitions are idle: time goes on by the broker's clock, which is the append time of the last
 * time record; the first one only tells the time. */
static bool advance_idle(struct engine_task *task, int64_t now_us, bool *raised)
{
    int64_t floor = task->task.watermark;
    bool known;
    if (!may_raise(task, now_us))
        return true;
    if (!last_append_time(task, &known))
        return false;
    if (!known)
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

/* Its own partitions that are idle now; *least: the watermark of those that are not. */
static uint32_t count_idle(struct engine_task *tasks, uint32_t partitions, int64_t now_us,
                           int64_t *least)
{
    uint32_t idle = 0;
    for (uint32_t p = 0; p < partitions; p++) {
        if (tasks[p].phase != ENGINE_RUNNING)
            continue;
        bool is = is_idle(&tasks[p], now_us);
        tell_idle(&tasks[p], is);
        idle += is;
        if (!is && tasks[p].task.watermark < *least)
            *least = tasks[p].task.watermark;
    }
    return idle;
}

/* The same of the partitions that other processes have. */
static bool count_remotes(struct engine_task *tasks, uint32_t partitions, int64_t now_us,
                          uint32_t *idle, int64_t *least)
{
    unsigned left = REMOTES_AT_ONCE;
    for (uint32_t p = 0; p < partitions; p++) {
        if (tasks[p].phase == ENGINE_RUNNING)
            continue;
        if (!look_at_remote(&tasks[p], now_us, &left))
            return false;
        *idle += tasks[p].remote.idle;
        if (!tasks[p].remote.idle && tasks[p].remote.watermark < *least)
            *least = tasks[p].remote.watermark;
    }
    return true;
}

static bool idle_of_source(struct pipe_engine *engine, const struct engine_source *source,
                           int64_t now_us, bool *raised)
{
    struct engine_task *tasks = &engine->tasks[source->first_task];
    int64_t least = PIPE_TIME_MAX;
    uint32_t idle = count_idle(tasks, source->partitions, now_us, &least);
    if (idle == 0)
        return true;
    if (!count_remotes(tasks, source->partitions, now_us, &idle, &least))
        return false;
    bool all = idle == source->partitions;
    for (uint32_t p = 0; p < source->partitions; p++) {
        if (tasks[p].phase != ENGINE_RUNNING || !tasks[p].idle)
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
