/*
 * engine_group.c: a log that several processes share (semantics.md §5): partitions are given to
 * this process and taken away, and with them their tasks.
 *
 *   assigned  → recovered as at a start: committed position, state, replay
 *   revoked   → commit, save the state, release; what is in memory is held for a while, for most
 *               partitions come back at once
 *   lost      → another process has them already: abort, drop, never commit
 *   aborted   → drop everything, and recover
 *
 * A commit covers what was read under one assignment only: it comes before any change of that.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "checkpoint.h"
#include "engine.h"
#include "metrics.h"

#define HELD_US 60000000
#define SAVE_REPLAYED 16384 /* records: save soon after as many */

bool group_join(struct pipe_engine *engine)
{
    struct pipe_log *log = engine->log;
    uint32_t *topics = pipe_calloc(engine->task_count + 1, sizeof *topics);
    uint32_t count = 0;
    for (uint32_t s = 0; s < engine->plan->stage_count; s++) {
        if (engine->stage_partitions[s] > 0)
            topics[count++] = engine->tasks[engine->stage_first[s]].topic;
    }
    engine->joined = log->ops->join(log, topics, count) || engine_log_failed(engine);
    free(topics);
    return engine->joined;
}

bool group_owns_all(const struct pipe_engine *engine)
{
    for (uint32_t t = 0; t < engine->task_count; t++) {
        if (engine->tasks[t].phase != ENGINE_RUNNING)
            return false;
    }
    return true;
}

static struct engine_task *task_at(struct pipe_engine *engine, const struct pipe_log_partition *at)
{
    for (uint32_t t = 0; t < engine->task_count; t++) {
        struct engine_task *task = &engine->tasks[t];
        if (task->topic == at->topic && task->task.partition == at->partition)
            return task;
    }
    engine_fail(engine, PIPE_EXIT_INTERNAL, "internal error: partition %d of topic %s has no task",
                at->partition,
                at->topic < engine->log->topic_count ? engine->log->topics[at->topic].name : "?");
    return NULL;
}

/* ---- Dropping ---- */

/* What was counted since the last commit was not. */
static void forget_counts(struct pipe_engine *engine)
{
    for (uint32_t i = 0; i < engine->reject_count; i++)
        engine->rejects[i].count = engine->rejects[i].committed;
    for (uint32_t i = 0; i < engine->plan->sink_count; i++)
        engine->sinks[i].rows = engine->sinks[i].committed_rows;
}

void group_aborted(struct pipe_engine *engine)
{
    for (uint32_t t = 0; t < engine->task_count; t++) {
        struct engine_task *task = &engine->tasks[t];
        if (task->phase == ENGINE_ABSENT)
            continue;
        engine_drop_task(task);
        task->phase = ENGINE_ASSIGNED;
    }
    forget_counts(engine);
    engine->ready = false;
    engine->aborts++;
    engine->last_commit_us = engine->commit_began_us = engine_monotonic_us();
    metrics_aborted(engine);
}

/* Held tasks are given up when another assignment did not bring them back, or after a while. */
static void drop_held(struct pipe_engine *engine, int64_t before_us)
{
    for (uint32_t t = 0; t < engine->task_count; t++) {
        struct engine_task *task = &engine->tasks[t];
        if (task->phase == ENGINE_ABSENT && task->held && task->held_since_us <= before_us)
            engine_drop_task(task);
    }
}

/* ---- Events ---- */

/* Of a log shared by others, nothing is pending between two assignments. */
static bool commit_pending(struct pipe_engine *engine)
{
    return !engine_has_pending(engine) || engine_commit(engine);
}

static bool assign(struct pipe_engine *engine, const struct pipe_log_event *event)
{
    if (!commit_pending(engine))
        return false;
    for (uint32_t i = 0; i < event->count; i++) {
        struct engine_task *task = task_at(engine, &event->partitions[i]);
        if (task == NULL)
            return false;
        if (task->phase == ENGINE_ABSENT)
            task->phase = ENGINE_ASSIGNED;
    }
    engine->was_assigned = true;
    drop_held(engine, INT64_MAX);
    pipe_message(PIPE_INFO, "assigned", "partitions=%" PRIu32, event->count);
    return true;
}

/* The task has no part in this process from now on. */
static void leave(struct engine_task *task, int64_t now_us)
{
    struct pipe_log *log = task->task.engine->log;
    bool whole = task->phase == ENGINE_RUNNING && task->has_committed && !task->dirty;
    task->phase = ENGINE_ABSENT;
    task->remote.seen_us = INT64_MIN;
    if (!whole) {
        engine_drop_task(task);
        return;
    }
    if (task->reader != NULL)
        log->ops->reader_close(task->reader);
    task->reader = NULL;
    watermark_close(task);
    task->held = true;
    task->held_since_us = now_us;
}

/* With nothing left, another assignment is on its way: this is not the end of the input. */
static bool owns_any(const struct pipe_engine *engine)
{
    for (uint32_t t = 0; t < engine->task_count; t++) {
        if (engine->tasks[t].phase != ENGINE_ABSENT)
            return true;
    }
    return false;
}

static bool take_back(struct pipe_engine *engine, const struct pipe_log_event *event)
{
    int64_t now_us = engine_monotonic_us();
    if (!commit_pending(engine))
        return false;
    PIPE_CRASH_POINT("before_release");
    if (!engine_save_state(engine))
        return false;
    for (uint32_t i = 0; i < event->count; i++) {
        struct engine_task *task = task_at(engine, &event->partitions[i]);
        if (task == NULL)
            return false;
        if (task->phase != ENGINE_ABSENT)
            leave(task, now_us);
    }
    engine->was_assigned = owns_any(engine);
    pipe_message(PIPE_INFO, "released", "partitions=%" PRIu32, event->count);
    return engine->log->ops->release(engine->log) || engine_log_failed(engine);
}

/* All tasks were in the transaction that can't be committed any more. */
static bool lose(struct pipe_engine *engine, const struct pipe_log_event *event)
{
    engine->log->ops->abort(engine->log);
    group_aborted(engine);
    for (uint32_t i = 0; i < event->count; i++) {
        struct engine_task *task = task_at(engine, &event->partitions[i]);
        if (task == NULL)
            return false;
        task->phase = ENGINE_ABSENT;
        task->remote.seen_us = INT64_MIN;
    }
    engine->was_assigned = owns_any(engine);
    pipe_message(PIPE_WARNING, "lost: another process has them, or no broker was reached in time",
                 "partitions=%" PRIu32, event->count);
    return engine->log->ops->release(engine->log) || engine_log_failed(engine);
}

bool group_poll(struct pipe_engine *engine, int64_t wait_ms)
{
    struct pipe_log_event event = {.kind = PIPE_LOG_NOTHING};
    if (!engine->log->ops->poll(engine->log, wait_ms, &event))
        return engine_log_failed(engine);
    engine->last_poll_us = engine_monotonic_us();
    switch (event.kind) {
    case PIPE_LOG_NOTHING:
        return true;
    case PIPE_LOG_ASSIGNED:
        return assign(engine, &event);
    case PIPE_LOG_REVOKED:
        return take_back(engine, &event);
    case PIPE_LOG_LOST:
        return lose(engine, &event);
    }
    return true;
}

/* ---- A round's part ---- */

/* Tasks that were assigned begin where they were committed. Nothing is pending meanwhile. */
static bool recover_assigned(struct pipe_engine *engine)
{
    int64_t from_us = engine_monotonic_us();
    uint64_t replayed = engine->replayed;
    uint32_t count = 0;
    for (uint32_t t = 0; t < engine->task_count && engine->ready; t++) {
        struct engine_task *task = &engine->tasks[t];
        if (task->phase != ENGINE_ASSIGNED)
            continue;
        /* Replay runs outside of any transaction; positions of new tasks open none yet. */
        if (engine->log->pending_bytes > 0 && !engine_commit(engine))
            return false;
        if (engine->ready && !engine_recover_task(engine, task))
            return false;
        engine->resumed = engine->resumed || task->has_committed;
        count += task->phase == ENGINE_RUNNING;
    }
    if (count == 0)
        return true;
    checkpoints_recovered(engine);
    pipe_message(PIPE_INFO, "recovered",
                 "tasks=%" PRIu32 " replayed_records=%" PRIu64 " milliseconds=%" PRId64, count,
                 engine->replayed - replayed, (engine_monotonic_us() - from_us) / 1000);
    if (!commit_pending(engine) || !engine_save_if_due(engine))
        return false;
    /* Behind the first commit, which others wait for: who dies often must not replay ever more. */
    bool saved = engine->records_at_save == engine->source_records + engine->replayed;
    if (engine->replayed - replayed >= SAVE_REPLAYED && !saved)
        engine->save_at_once = true;
    return true;
}

/* Where nothing is read any more no commit comes that state would be saved behind. */
static bool checkpoint_at_rest(struct pipe_engine *engine)
{
    checkpoints_turn(engine);
    return !checkpoints_due(engine) || engine_has_pending(engine) || engine_save_state(engine);
}

bool group_serve(struct pipe_engine *engine, int64_t wait_ms, bool *can_run)
{
    *can_run = false;
    if (!group_poll(engine, wait_ms))
        return false;
    if (!engine->ready && engine->log->ops->ready != NULL) {
        switch (engine->log->ops->ready(engine->log)) {
        case PIPE_LOG_FAILED:
            return engine_log_failed(engine);
        case PIPE_LOG_RECORDS:
            break;
        case PIPE_LOG_WAIT:
        case PIPE_LOG_END:
            return true;
        }
    }
    engine->ready = true;
    drop_held(engine, engine_monotonic_us() - HELD_US);
    if (!recover_assigned(engine) || !checkpoint_at_rest(engine))
        return false;
    *can_run = engine->ready;
    return true;
}
