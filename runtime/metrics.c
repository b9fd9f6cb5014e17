/*
 * metrics.c: the engine's side of metrics.h: what its tasks count is added up with every commit,
 * and copied to where the server's thread reads it a few times a second.
 */
#include <stdlib.h>

#include "metrics_internal.h"

#define PUBLISH_EVERY_US 200000
#define COUNTERS (sizeof(struct pipe_counters) / sizeof(uint64_t))

/* ---- Memory ---- */

static void allocate(const struct pipe_engine *engine, struct metrics_snapshot *to)
{
    const struct pipe_plan *plan = engine->plan;
    uint32_t states = 0;
    for (uint32_t s = 0; s < plan->stage_count; s++)
        states += plan->stages[s].state_count;
    to->streams = pipe_calloc(plan->stream_count + 1, sizeof *to->streams);
    to->stream_bytes = pipe_calloc(plan->stream_count + 1, sizeof *to->stream_bytes);
    to->sinks = pipe_calloc(plan->sink_count + 1, sizeof *to->sinks);
    to->sources = pipe_calloc(plan->source_count + 1, sizeof *to->sources);
    to->partitions = pipe_calloc(engine->task_count + 1, sizeof *to->partitions);
    to->states = pipe_calloc(states + 1, sizeof *to->states);
    to->partition_count = engine->task_count;
    to->state_count = states;
}

static void free_rejects(struct metrics_snapshot *of)
{
    for (uint32_t i = 0; i < of->reject_count; i++) {
        free(of->rejects[i].rule);
        free(of->rejects[i].reason);
    }
    free(of->rejects);
}

static void free_snapshot(struct metrics_snapshot *of)
{
    free(of->streams);
    free(of->stream_bytes);
    free(of->sinks);
    free(of->sources);
    free(of->partitions);
    free(of->states);
    free_rejects(of);
}

/* When the tasks are known. */
static void prepare(struct pipe_engine *engine)
{
    struct pipe_metrics *metrics = engine->metrics;
    const struct pipe_plan *plan = engine->plan;
    if (metrics->bases != NULL)
        return;
    metrics->bases =
        pipe_calloc((size_t)engine->task_count * plan->stream_count + 1, sizeof *metrics->bases);
    metrics->skipped_bases = pipe_calloc(engine->task_count + 1, sizeof *metrics->skipped_bases);
    metrics->pending_bytes = pipe_calloc(plan->stream_count + 1, sizeof *metrics->pending_bytes);
    metrics->ages = pipe_calloc(plan->source_count + 1, sizeof *metrics->ages);
    metrics->sink_ages = pipe_calloc(plan->sink_count + 1, sizeof *metrics->sink_ages);
    for (uint32_t i = 0; i < plan->sink_count; i++) {
        if (plan->sinks[i].fresh_ms > 0)
            engine->sinks[i].ages = &metrics->sink_ages[i];
    }
    allocate(engine, &metrics->mine);
}

/* ---- Signs of life ---- */

void metrics_phase(struct pipe_engine *engine, enum metrics_phase phase)
{
    struct pipe_metrics *metrics = engine->metrics;
    if (metrics == NULL)
        return;
    atomic_store_explicit(&metrics->turned_us, engine_monotonic_us(), memory_order_relaxed);
    atomic_store_explicit(&metrics->phase, (int)phase, memory_order_relaxed);
}

static enum metrics_readiness readiness(const struct pipe_engine *engine)
{
    if (engine->log->grouped && !engine->was_assigned)
        return READINESS_UNASSIGNED;
    if (engine->log->grouped && !engine->ready)
        return READINESS_NO_TRANSACTION;
    for (uint32_t t = 0; t < engine->task_count; t++) {
        if (engine->tasks[t].phase == ENGINE_ASSIGNED)
            return READINESS_RECOVERING;
    }
    return READINESS_READY;
}

/* ---- Adding up ---- */

static struct pipe_counters *bases_of(const struct engine_task *task)
{
    const struct pipe_engine *engine = task->task.engine;
    return &engine->metrics->bases[(size_t)task->index * engine->plan->stream_count];
}

void metrics_task_began(struct engine_task *task)
{
    struct pipe_engine *engine = task->task.engine;
    if (engine->metrics == NULL)
        return;
    prepare(engine);
    memcpy(bases_of(task), task->task.counters,
           engine->plan->stream_count * sizeof *task->task.counters);
    engine->metrics->skipped_bases[task->index] = task->skipped;
}

void metrics_opened(struct pipe_engine *engine)
{
    struct pipe_metrics *metrics = engine->metrics;
    if (metrics == NULL)
        return;
    prepare(engine);
    metrics->reject_base_count = engine->reject_count;
    metrics->reject_bases = pipe_calloc(engine->reject_count + 1, sizeof *metrics->reject_bases);
    for (uint32_t i = 0; i < engine->reject_count; i++)
        metrics->reject_bases[i] = engine->rejects[i].count;
}

void metrics_read(struct engine_task *task, const struct pipe_record *records, uint32_t count)
{
    struct pipe_engine *engine = task->task.engine;
    struct pipe_metrics *metrics = engine->metrics;
    const struct pipe_stage_def *stage = task->task.stage;
    if (metrics == NULL || task->task.replaying)
        return;
    int32_t stream = stage->source >= 0 ? (int32_t)task->task.source->stream
                                        : engine->exchanges[stage->exchange].stream;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < count; i++)
        bytes += (records[i].key.data != NULL ? records[i].key.size : 0) +
                 (records[i].payload.data != NULL ? records[i].payload.size : 0);
    if (stream >= 0)
        metrics->pending_bytes[stream] += bytes;
    if (stage->source < 0)
        return;
    struct metrics_ages *ages = &metrics->ages[stage->source];
    for (uint32_t i = 0, next; i < count; i = next) { /* many have the same time */
        for (next = i + 1; next < count && records[next].kafka_time_ms == records[i].kafka_time_ms;)
            next++;
        metrics_ages_add(ages, engine->wall_ms, records[i].kafka_time_ms, next - i);
    }
}

static void add_task(struct pipe_engine *engine, const struct engine_task *task)
{
    struct pipe_metrics *metrics = engine->metrics;
    uint64_t *base = (uint64_t *)bases_of(task);
    uint64_t *sum = (uint64_t *)metrics->mine.streams;
    const uint64_t *now = (const uint64_t *)task->task.counters;
    for (size_t i = 0; i < engine->plan->stream_count * COUNTERS; i++) {
        sum[i] += now[i] - base[i];
        base[i] = now[i];
    }
    uint64_t *skipped = &metrics->skipped_bases[task->index];
    metrics->mine.partitions[task->index].skipped += task->skipped - *skipped;
    *skipped = task->skipped;
}

static void add_sinks(struct pipe_engine *engine, int64_t now_ms)
{
    struct pipe_metrics *metrics = engine->metrics;
    for (uint32_t i = 0; i < engine->plan->sink_count; i++) {
        const struct engine_sink *sink = &engine->sinks[i];
        struct metrics_sink *to = &metrics->mine.sinks[i];
        to->rows = sink->rows;
        to->bytes = sink->bytes;
        if (sink->ages != NULL)
            to->fresh += metrics_ages_fold(sink->ages, now_ms, sink->def->fresh_ms, NULL, NULL);
    }
}

static void add_rejects(struct pipe_engine *engine)
{
    struct pipe_metrics *metrics = engine->metrics;
    struct metrics_snapshot *mine = &metrics->mine;
    if (engine->reject_count > mine->reject_count) {
        mine->rejects = pipe_realloc(mine->rejects, engine->reject_count * sizeof *mine->rejects);
        for (uint32_t i = mine->reject_count; i < engine->reject_count; i++) {
            const struct engine_rejects *from = &engine->rejects[i];
            mine->rejects[i] = (struct metrics_reject){
                pipe_str_dup(pipe_str_of(from->rule, strlen(from->rule))),
                pipe_str_dup(pipe_str_of(from->reason, strlen(from->reason))), 0};
        }
        mine->reject_count = engine->reject_count;
    }
    for (uint32_t i = 0; i < engine->reject_count; i++)
        mine->rejects[i].count = engine->rejects[i].count -
                                 (i < metrics->reject_base_count ? metrics->reject_bases[i] : 0);
}

static void add_commit(struct pipe_engine *engine)
{
    struct pipe_metrics *metrics = engine->metrics;
    struct metrics_snapshot *mine = &metrics->mine;
    int64_t now_ms = engine_wall_ms();
    for (uint32_t t = 0; t < engine->task_count; t++) {
        if (engine->tasks[t].phase == ENGINE_RUNNING && engine->tasks[t].dirty)
            add_task(engine, &engine->tasks[t]);
    }
    for (uint32_t s = 0; s < engine->plan->stream_count; s++) {
        mine->stream_bytes[s] += metrics->pending_bytes[s];
        metrics->pending_bytes[s] = 0;
    }
    for (uint32_t i = 0; i < engine->plan->source_count; i++)
        metrics_ages_fold(&metrics->ages[i], now_ms, 0, &metrics_latency_bounds, &mine->sources[i]);
    add_sinks(engine, now_ms);
    add_rejects(engine);
    mine->last_commit_ms = now_ms;
}

void metrics_outcome(struct pipe_engine *engine, int64_t from_us, enum pipe_log_outcome outcome)
{
    static const enum metrics_outcome_kind kinds[] = {
        [PIPE_LOG_COMMITTED] = OUTCOME_COMMITTED,
        [PIPE_LOG_ABORTED] = OUTCOME_ABORTED,
        [PIPE_LOG_FENCED] = OUTCOME_FENCED,
        [PIPE_LOG_BROKEN] = OUTCOME_FAILED,
    };
    struct pipe_metrics *metrics = engine->metrics;
    if (metrics == NULL)
        return;
    metrics_observe(&metrics->mine.commits, &metrics_commit_bounds,
                    (double)(engine_monotonic_us() - from_us) / 1e6, 1);
    if (outcome != PIPE_LOG_ABORTED) /* metrics_aborted counts those */
        metrics->mine.outcomes[kinds[outcome]]++;
    if (outcome == PIPE_LOG_COMMITTED)
        add_commit(engine);
    metrics_phase(engine, METRICS_RUNNING);
}

void metrics_aborted(struct pipe_engine *engine)
{
    struct pipe_metrics *metrics = engine->metrics;
    if (metrics == NULL)
        return;
    prepare(engine);
    metrics->mine.outcomes[OUTCOME_ABORTED]++;
    memset(metrics->pending_bytes, 0, engine->plan->stream_count * sizeof *metrics->pending_bytes);
    for (uint32_t i = 0; i < engine->plan->source_count; i++)
        metrics_ages_clear(&metrics->ages[i]);
    for (uint32_t i = 0; i < engine->plan->sink_count; i++) {
        engine->sinks[i].bytes = metrics->mine.sinks[i].bytes;
        metrics_ages_clear(&metrics->sink_ages[i]);
    }
}

/* ---- What is as it is now ---- */

static void look_at_partition(const struct pipe_engine *engine, const struct engine_task *task,
                              struct metrics_partition *to)
{
    struct pipe_log *log = engine->log;
    int32_t partition = task->task.partition, source = task->task.stage->source;
    to->stage = task->task.stage_index;
    to->partition = partition;
    to->here = task->phase == ENGINE_RUNNING;
    to->has_lag = to->here && source >= 0 && !engine->sources[source].files;
    to->watermark = task->task.watermark;
    to->kafka_time_ms = task->task.kafka_time_ms;
    if (!to->has_lag)
        return;
    int64_t end = log->ops->high != NULL ? log->ops->high(log, task->topic, partition)
                                         : log->ops->end(log, task->topic, partition);
    to->lag_records = end > task->position.offset ? end - task->position.offset : 0;
}

static void look_at_states(const struct pipe_engine *engine, struct metrics_snapshot *mine)
{
    uint32_t at = 0;
    for (uint32_t s = 0; s < engine->plan->stage_count; s++) {
        for (uint32_t i = 0; i < engine->plan->stages[s].state_count; i++) {
            struct metrics_state *to = &mine->states[at++];
            *to = (struct metrics_state){.stage = s, .state = i};
            for (uint32_t p = 0; p < engine->stage_partitions[s]; p++) {
                const struct engine_task *task = &engine->tasks[engine->stage_first[s] + p];
                const void *state = task->task.states[i];
                struct pipe_state_spilled spilled = {0};
                if (task->ops[i]->spilled != NULL)
                    task->ops[i]->spilled(state, &spilled);
                to->entries += task->ops[i]->entry_count(state);
                to->on_disk += spilled.entries;
                to->memory_bytes += task->ops[i]->memory_bytes(state);
            }
        }
    }
}

static void look(const struct pipe_engine *engine, struct metrics_snapshot *mine)
{
    for (uint32_t s = 0; s < engine->plan->stream_count; s++) {
        mine->streams[s].open = 0;
        for (uint32_t t = 0; t < engine->task_count; t++) {
            if (engine->tasks[t].phase == ENGINE_RUNNING)
                mine->streams[s].open += engine->tasks[t].task.counters[s].open;
        }
    }
    for (uint32_t t = 0; t < engine->task_count; t++)
        look_at_partition(engine, &engine->tasks[t], &mine->partitions[t]);
    look_at_states(engine, mine);
    mine->log_bytes = engine->log->written_bytes;
    mine->replayed = engine->replayed;
    mine->restored = engine->restored_entries;
    mine->state_limit =
        engine->options->state_bytes > 0 ? engine->options->state_bytes : PIPE_STATE_BYTES;
    mine->state_disk = engine->store != NULL ? pipe_store_disk_bytes(engine->store) : 0;
    checkpoints_figures(engine, &mine->checkpoints);
}

/* ---- Publishing ---- */

static void copy_rejects(struct metrics_snapshot *to, const struct metrics_snapshot *from)
{
    if (to->reject_count < from->reject_count)
        to->rejects = pipe_realloc(to->rejects, from->reject_count * sizeof *to->rejects);
    for (uint32_t i = 0; i < from->reject_count; i++) {
        const struct metrics_reject *reject = &from->rejects[i];
        if (i >= to->reject_count)
            to->rejects[i] = (struct metrics_reject){
                pipe_str_dup(pipe_str_of(reject->rule, strlen(reject->rule))),
                pipe_str_dup(pipe_str_of(reject->reason, strlen(reject->reason))), 0};
        to->rejects[i].count = reject->count;
    }
    to->reject_count = from->reject_count;
}

static void copy(const struct pipe_plan *plan, struct metrics_snapshot *to,
                 const struct metrics_snapshot *from)
{
    struct metrics_snapshot before = *to;
    memcpy(to->streams, from->streams, plan->stream_count * sizeof *to->streams);
    memcpy(to->stream_bytes, from->stream_bytes, plan->stream_count * sizeof *to->stream_bytes);
    memcpy(to->sinks, from->sinks, plan->sink_count * sizeof *to->sinks);
    memcpy(to->sources, from->sources, plan->source_count * sizeof *to->sources);
    memcpy(to->partitions, from->partitions, from->partition_count * sizeof *to->partitions);
    memcpy(to->states, from->states, from->state_count * sizeof *to->states);
    *to = *from; /* the numbers; the arrays stay its own */
    to->streams = before.streams;
    to->stream_bytes = before.stream_bytes;
    to->sinks = before.sinks;
    to->sources = before.sources;
    to->partitions = before.partitions;
    to->states = before.states;
    to->rejects = before.rejects;
    to->reject_count = before.reject_count;
    copy_rejects(to, from);
}

void metrics_turn(struct pipe_engine *engine, enum metrics_phase phase)
{
    struct pipe_metrics *metrics = engine->metrics;
    if (metrics == NULL)
        return;
    prepare(engine);
    metrics_phase(engine, phase);
    bool opened = phase == METRICS_RUNNING || atomic_load(&metrics->readiness) != READINESS_OPENING;
    if (opened)
        atomic_store_explicit(&metrics->readiness, (int)readiness(engine), memory_order_relaxed);
    int64_t now_us = engine_monotonic_us();
    /* The server holds the lock while it writes a page: then the next turn will do. */
    if (now_us - metrics->published_us < PUBLISH_EVERY_US ||
        pthread_mutex_trylock(&metrics->lock) != 0)
        return;
    metrics->published_us = now_us;
    look(engine, &metrics->mine);
    if (metrics->shown.streams == NULL)
        allocate(engine, &metrics->shown);
    copy(engine->plan, &metrics->shown, &metrics->mine);
    pthread_mutex_unlock(&metrics->lock);
}

/* ---- Begin and end ---- */

bool metrics_start(struct pipe_engine *engine)
{
    const struct pipe_run_options *options = engine->options;
    const char *where = options->listen != NULL      ? options->listen
                        : options->transport != NULL ? METRICS_DEFAULT
                                                     : "none";
    char bound[80], error[256];
    if (strcmp(where, "none") == 0)
        return true;
    int socket = metrics_listen(where, bound, sizeof bound, error, sizeof error);
    if (socket < 0 && options->listen == NULL) { /* nobody asked for that very port */
        pipe_message(PIPE_WARNING, "metrics are at another port, as the usual one can't be had",
                     "reason=\"%s\"", PIPE_QUOTED(error));
        socket = metrics_listen("127.0.0.1:0", bound, sizeof bound, error, sizeof error);
    }
    if (socket < 0)
        return engine_fail(engine, PIPE_EXIT_DATA, "--listen %s: %s", where, error);
    struct pipe_metrics *metrics = pipe_calloc(1, sizeof *metrics);
    metrics->plan = engine->plan;
    metrics->started_ms = engine_wall_ms();
    atomic_init(&metrics->turned_us, engine_monotonic_us());
    atomic_init(&metrics->phase, METRICS_OPENING);
    atomic_init(&metrics->readiness, READINESS_OPENING);
    pthread_mutex_init(&metrics->lock, NULL);
    engine->metrics = metrics;
    if (!metrics_serve(metrics, socket)) {
        metrics_stop(engine);
        return engine_fail(engine, PIPE_EXIT_DATA, "--listen %s: the server can't be started",
                           where);
    }
    pipe_message(PIPE_INFO, "listening", "address=http://%s/metrics", bound);
    return true;
}

void metrics_stop(struct pipe_engine *engine)
{
    struct pipe_metrics *metrics = engine->metrics;
    if (metrics == NULL)
        return;
    metrics_serve_stop(metrics);
    for (uint32_t i = 0; engine->sinks != NULL && i < engine->plan->sink_count; i++)
        engine->sinks[i].ages = NULL;
    engine->metrics = NULL;
    free_snapshot(&metrics->shown);
    free_snapshot(&metrics->mine);
    free(metrics->bases);
    free(metrics->skipped_bases);
    free(metrics->reject_bases);
    free(metrics->pending_bytes);
    free(metrics->ages);
    free(metrics->sink_ages);
    pthread_mutex_destroy(&metrics->lock);
    free(metrics);
}
