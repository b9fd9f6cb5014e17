/*
 * engine_recover.c: recovery is replay (semantics.md §5). Every task takes its committed position C
 * from the log and its state as of S <= C from the store, runs [S, C) again with every output
 * discarded, and goes on from C. Without state, S is the beginning.
 */
#include <stdlib.h>

#include "engine.h"

#define REPLAY_BATCH 1024u

static const char choices[] = "either restore the log that the state was made from, or delete the "
                              "state directory, which is made "
                              "again from the log";

/* ---- Identity ---- */

bool engine_check_plan(struct pipe_engine *engine)
{
    struct pipe_log *log = engine->log;
    struct pipe_buf stored = {0};
    bool found;
    const char *hash = engine->plan->hash;
    if (!log->ops->get(log, "plan", &stored, &found))
        return engine_fail(engine, PIPE_EXIT_DATA, "%s", log->error);
    bool same =
        !found || (stored.size == strlen(hash) && memcmp(stored.data, hash, stored.size) == 0);
    if (!same)
        engine_fail(
            engine, PIPE_EXIT_STATE,
            "%s was written by plan %.*s of this pipeline, but this program is plan %s; run the "
            "program of that plan, or use another directory",
            engine->dir, (int)(stored.size < 64 ? stored.size : 64), (char *)stored.data, hash);
    else if (!found && !log->ops->put(log, "plan", hash, strlen(hash)))
        same = engine_fail(engine, PIPE_EXIT_DATA, "%s", log->error);
    pipe_buf_free(&stored);
    return same;
}

/* The store belongs to this plan and this log, or is new. */
static bool check_store(struct pipe_engine *engine)
{
    const char *plan = pipe_store_plan(engine->store);
    const char *incarnation = pipe_store_incarnation(engine->store);
    if (plan[0] != '\0' && strcmp(plan, engine->plan->hash) != 0)
        return engine_fail(
            engine, PIPE_EXIT_STATE,
            "the state in %s/state is of plan %s, but this program is plan %s; run the "
            "program of that plan, or delete the state directory, which is made again "
            "from the log",
            engine->dir, plan, engine->plan->hash);
    if (incarnation[0] != '\0' && strcmp(incarnation, engine->log->incarnation) != 0)
        return engine_fail(engine, PIPE_EXIT_STATE,
                           "the state in %s/state belongs to log %s, but the log there is %s; %s",
                           engine->dir, incarnation, engine->log->incarnation, choices);
    pipe_store_identify(engine->store, engine->plan->hash, engine->log->incarnation);
    return true;
}

/* ---- Positions ---- */

struct recovering {
    struct engine_committed committed; /* C */
    struct pipe_store_position stored; /* S */
    bool has_committed, has_stored;
    struct pipe_counters *counters;
};

static bool read_committed(struct pipe_engine *engine, struct engine_task *task,
                           struct recovering *r)
{
    struct pipe_log *log = engine->log;
    struct pipe_buf value = {0};
    char name[64];
    engine_task_name(engine->plan, task->task.stage_index, task->task.partition, name, sizeof name);
    bool ok = log->ops->get(log, name, &value, &r->has_committed);
    if (!ok) {
        engine_fail(engine, PIPE_EXIT_DATA, "%s", log->error);
    } else if (r->has_committed) {
        ok = engine_decode_task(engine->plan, pipe_str_of(value.data, value.size), &r->committed,
                                r->counters);
        if (!ok)
            engine_fail(engine, PIPE_EXIT_DATA, "the log is damaged: metadata %s is malformed",
                        name);
    } else {
        r->committed = (struct engine_committed){.watermark = PIPE_TIME_MIN,
                                                 .kafka_time_ms = PIPE_TIME_MIN,
                                                 .raise_time_ms = PIPE_TIME_MIN};
    }
    pipe_buf_free(&value);
    return ok;
}

static bool check_positions(struct pipe_engine *engine, struct engine_task *task,
                            const struct recovering *r)
{
    const struct pipe_log *log = engine->log;
    bool source = task->task.source != NULL;
    const char *where = task->task.stage->name;
    int partition = task->task.partition;
    int64_t raises = source ? log->ops->end(log, task->time_topic, partition) : 0;
    const struct engine_position *c = &r->committed.position;
    if (!r->has_committed && (r->has_stored || raises > 0))
        return engine_fail(
            engine, PIPE_EXIT_STATE,
            "stage %s, partition %d: the log has no committed position, but there is %s; %s", where,
            partition, r->has_stored ? "state" : "a time record", choices);
    if (r->has_stored && (r->stored.offset > c->offset || r->stored.seq > c->seq))
        return engine_fail(
            engine, PIPE_EXIT_STATE,
            "stage %s, partition %d: the state is as of offset %lld (time record %llu), newer "
            "than the log, which is committed up to offset %lld (time record %llu); %s",
            where, partition, (long long)r->stored.offset, (unsigned long long)r->stored.seq,
            (long long)c->offset, (unsigned long long)c->seq, choices);
    if (r->has_stored && r->stored.marker_count != task->marker_count)
        return engine_fail(
            engine, PIPE_EXIT_STATE,
            "stage %s, partition %d: the state knows %u upstream tasks, the plan has %u; %s", where,
            partition, r->stored.marker_count, task->marker_count, choices);
    if (source && raises < (int64_t)c->seq)
        return engine_fail(
            engine, PIPE_EXIT_STATE,
            "stage %s, partition %d: %llu time records are committed, but the log holds %lld; "
            "restore the directory from a copy",
            where, partition, (unsigned long long)c->seq, (long long)raises);
    if (!(source && engine->sources[task->task.stage->source].files) &&
        log->ops->end(log, task->topic, partition) < c->offset)
        return engine_fail(
            engine, PIPE_EXIT_STATE,
            "stage %s, partition %d: committed up to offset %lld, but topic %s ends at %lld; "
            "restore the directory from a copy",
            where, partition, (long long)c->offset, task->name.data,
            (long long)log->ops->end(log, task->topic, partition));
    return true;
}

/* Puts the task at S. */
static bool load_state(struct pipe_engine *engine, struct engine_task *task, struct recovering *r,
                       uint64_t *entries)
{
    struct engine_position at = {0};
    if (r->has_stored) {
        at = (struct engine_position){r->stored.offset, r->stored.seq, r->stored.input};
        task->task.watermark = r->stored.watermark;
        task->task.kafka_time_ms = r->stored.kafka_time_ms;
        for (uint32_t i = 0; i < task->marker_count; i++)
            task->markers[i] = r->stored.markers[i];
        for (uint32_t i = 0; i < task->task.stage->state_count; i++) {
            uint64_t loaded;
            if (!pipe_store_load_state(engine->store, task->task.stage_index, task->task.partition,
                                       i, task->ops[i], task->task.states[i], &loaded))
                return engine_fail(engine, PIPE_EXIT_DATA,
                                   "%s; delete %s/state, which is made again from the log",
                                   pipe_store_error(engine->store), engine->dir);
            *entries += loaded;
        }
    }
    return task_open_position(task, &at);
}

/* ---- Replay ---- */

static bool replay_to(struct engine_task *task, int64_t offset)
{
    struct pipe_engine *engine = task->task.engine;
    while (task->position.offset < offset) {
        int64_t left = offset - task->position.offset;
        if (engine_stop_requested)
            return engine_fail(engine, PIPE_EXIT_OK, "stopped while replaying; nothing is lost");
        switch (task_run(task, left < REPLAY_BATCH ? (uint32_t)left : REPLAY_BATCH)) {
        case TASK_WORKED:
            break;
        case TASK_IDLE:
            return engine_fail(
                engine, PIPE_EXIT_STATE,
                "%s, partition %d ends at record %lld, but %lld were read before; restore "
                "it, or use another directory",
                task->name.data, task->task.partition, (long long)task->position.offset,
                (long long)offset);
        case TASK_FAILED:
            return false;
        }
    }
    return true;
}

static bool replay(struct engine_task *task, const struct engine_committed *c)
{
    uint64_t before = task->records;
    while (task->position.seq < c->position.seq) {
        struct time_record raise;
        if (!watermark_read_record(task, task->position.seq + 1, &raise) ||
            !replay_to(task, raise.offset))
            return false;
        task->position.seq++;
        watermark_raise(task, raise.floor);
    }
    if (!replay_to(task, c->position.offset))
        return false;
    task_settle(task); /* what was pending is sent already */
    task->task.engine->replayed += task->records - before;
    return !task->task.engine->failed;
}

static bool recover_task(struct pipe_engine *engine, struct engine_task *task, uint64_t *entries)
{
    struct recovering r = {0};
    size_t counters_bytes = engine->plan->stream_count * sizeof *r.counters;
    r.counters = pipe_calloc(engine->plan->stream_count + 1, sizeof *r.counters);
    bool ok = read_committed(engine, task, &r);
    if (ok && !pipe_store_load_position(engine->store, task->task.stage_index, task->task.partition,
                                        &r.stored, &r.has_stored))
        ok = engine_fail(engine, PIPE_EXIT_DATA,
                         "%s; delete %s/state, which is made again from the log",
                         pipe_store_error(engine->store), engine->dir);
    ok = ok && check_positions(engine, task, &r) && load_state(engine, task, &r, entries);
    if (ok) {
        task->task.replaying = true;
        ok = replay(task, &r.committed);
        task->task.replaying = false;
    }
    if (ok && r.has_committed && task->task.watermark != r.committed.watermark)
        ok = engine_fail(
            engine, PIPE_EXIT_INTERNAL,
            "internal error: stage %s, partition %d: replay up to offset %lld gives watermark "
            "%lld, but %lld is committed",
            task->task.stage->name, task->task.partition, (long long)task->position.offset,
            (long long)task->task.watermark, (long long)r.committed.watermark);
    task->marked_watermark = task->task.watermark;
    task->raise_time_ms = r.committed.raise_time_ms;
    task->ended = r.committed.ended;
    task->dirty = !r.has_committed; /* a position is committed before any state is saved */
    /* How many corrections were sent depends on the commits: what was counted then counts. */
    memcpy(task->task.counters, r.counters, counters_bytes);
    free(r.counters);
    return ok;
}

static bool load_rejects(struct pipe_engine *engine)
{
    struct pipe_buf value = {0};
    struct pipe_reader reader;
    struct pipe_str rule, reason;
    int64_t count, number;
    bool found;
    if (!engine->log->ops->get(engine->log, "rejects", &value, &found))
        return engine_fail(engine, PIPE_EXIT_DATA, "%s", engine->log->error);
    pipe_reader_init(&reader, value.data, value.size, NULL);
    bool sound = !found || pipe_avro_long(&reader, &count);
    for (int64_t i = 0; found && sound && i < count; i++) {
        sound = pipe_avro_bytes(&reader, &rule) && pipe_avro_bytes(&reader, &reason) &&
                pipe_avro_long(&reader, &number);
        if (sound)
            engine_count_reject(engine, rule, reason, (uint64_t)number);
    }
    engine->rejects_dirty = false;
    pipe_buf_free(&value);
    return sound ||
           engine_fail(engine, PIPE_EXIT_DATA, "the log is damaged: metadata rejects is malformed");
}

bool engine_recover(struct pipe_engine *engine)
{
    uint64_t entries = 0;
    if (!engine_check_plan(engine) || !check_store(engine))
        return false;
    engine_count_rejects_in(NULL);
    for (uint32_t t = 0; t < engine->task_count; t++) {
        if (!recover_task(engine, &engine->tasks[t], &entries))
            return false;
    }
    if (!load_rejects(engine))
        return false;
    engine_count_rejects_in(engine);
    bool any = false;
    for (uint32_t t = 0; t < engine->task_count; t++)
        any = any || engine->tasks[t].position.offset > 0 || engine->tasks[t].position.seq > 0;
    engine->resumed = any;
    engine->restored_entries = entries;
    return true;
}
