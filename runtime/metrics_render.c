/*
 * metrics_render.c: the page of /metrics, from the snapshot. Ages are as of the scrape: they go on
 * if the engine does not.
 */
#include "metrics_internal.h"

static const char *const counter_names[] = {
#define COUNTER_NAME(name) #name,
    PIPE_COUNTERS(COUNTER_NAME)
#undef COUNTER_NAME
};
#define COUNTERS (sizeof counter_names / sizeof counter_names[0])
enum {
#define COUNTER_INDEX(name) WAY_##name,
    PIPE_COUNTERS(COUNTER_INDEX)
#undef COUNTER_INDEX
};
#define BIT(name) (1u << WAY_##name)

/* The ways that a stream of its kind has, so that they are there before the first record. */
static uint32_t ways_of(const struct pipe_stream_def *stream)
{
    uint32_t ways = BIT(out);
    if (stream->kind == PIPE_STREAM_SOURCE)
        ways |= BIT(read) | BIT(accepted) | BIT(source_rejected) | BIT(tombstones);
    else
        ways |= BIT(in) | BIT(dropped) | BIT(rejected) | BIT(diverted) | BIT(passed);
    if (stream->has_unnest)
        ways |= BIT(unnest_empty) | BIT(unnested) | BIT(elements);
    if (stream->has_select)
        ways |= BIT(selected) | BIT(select_rejected);
    if (stream->has_dedup)
        ways |= BIT(dedup_in) | BIT(unique) | BIT(duplicate) | BIT(too_old);
    if (stream->has_window)
        ways |= BIT(window_in) | BIT(late) | BIT(emitted) | BIT(window_rejected);
    if (stream->has_exchange)
        ways |= BIT(shipped) | BIT(received);
    return ways;
}

static void render_streams(struct metrics_text *text, const struct pipe_plan *plan,
                           const struct metrics_snapshot *of)
{
    metrics_family(text, METRIC_RECORDS);
    for (uint32_t s = 0; of->streams != NULL && s < plan->stream_count; s++) {
        const uint64_t *counters = (const uint64_t *)&of->streams[s];
        uint32_t ways = ways_of(&plan->streams[s]);
        for (uint32_t i = 0; i < COUNTERS; i++) {
            if (i != WAY_open && ((ways >> i & 1) != 0 || counters[i] > 0))
                metrics_u64(text, counters[i], "stream", plan->streams[s].name, "way",
                            counter_names[i], NULL);
        }
    }
    metrics_family(text, METRIC_BYTES);
    for (uint32_t s = 0; of->streams != NULL && s < plan->stream_count; s++) {
        bool source = plan->streams[s].kind == PIPE_STREAM_SOURCE;
        if (source || of->stream_bytes[s] > 0)
            metrics_u64(text, of->stream_bytes[s], "stream", plan->streams[s].name, "way",
                        source ? "read" : "received", NULL);
    }
    metrics_family(text, METRIC_REJECTS);
    for (uint32_t i = 0; i < of->reject_count; i++)
        metrics_u64(text, of->rejects[i].count, "rule", of->rejects[i].rule, "reason",
                    of->rejects[i].reason, NULL);
    metrics_family(text, METRIC_OPEN);
    for (uint32_t s = 0; of->streams != NULL && s < plan->stream_count; s++) {
        if (plan->streams[s].has_window)
            metrics_u64(text, of->streams[s].open, "stream", plan->streams[s].name, NULL);
    }
}

/* ---- By partition ---- */

struct partition_text {
    struct metrics_text *text;
    const struct pipe_metrics *metrics;
    int64_t now_ms;
};

/* One family with a sample for each partition that `value` has one of. */
static void render_partitions(const struct partition_text *in, enum metrics_id id,
                              const char *label,
                              bool (*value)(const struct partition_text *in,
                                            const struct metrics_partition *of, double *out))
{
    const struct metrics_snapshot *shown = &in->metrics->shown;
    metrics_family(in->text, id);
    for (uint32_t i = 0; i < shown->partition_count; i++) {
        const struct metrics_partition *of = &shown->partitions[i];
        char partition[16];
        double number;
        if (!value(in, of, &number))
            continue;
        snprintf(partition, sizeof partition, "%d", of->partition);
        metrics_double(in->text, number, label, in->metrics->plan->stages[of->stage].name,
                       "partition", partition, NULL);
    }
}

static bool lag_records(const struct partition_text *in, const struct metrics_partition *of,
                        double *out)
{
    (void)in;
    *out = (double)of->lag_records;
    return of->has_lag;
}

/* Nothing read yet: at least as long as this process runs. */
static bool lag_seconds(const struct partition_text *in, const struct metrics_partition *of,
                        double *out)
{
    int64_t since_ms =
        of->kafka_time_ms != PIPE_TIME_MIN ? of->kafka_time_ms : in->metrics->started_ms;
    double seconds = ((double)in->now_ms - (double)since_ms) / 1000;
    *out = of->lag_records > 0 && seconds > 0 ? seconds : 0;
    return of->has_lag;
}

static bool skipped(const struct partition_text *in, const struct metrics_partition *of,
                    double *out)
{
    (void)in;
    *out = (double)of->skipped;
    return of->has_lag || of->skipped > 0;
}

static bool watermark(const struct partition_text *in, const struct metrics_partition *of,
                      double *out)
{
    (void)in;
    *out = of->watermark == PIPE_TIME_MAX ? INFINITY : (double)of->watermark / 1e6;
    return of->here && of->watermark != PIPE_TIME_MIN;
}

static bool watermark_lag(const struct partition_text *in, const struct metrics_partition *of,
                          double *out)
{
    *out = of->watermark == PIPE_TIME_MAX ? 0
                                          : (double)in->now_ms / 1000 - (double)of->watermark / 1e6;
    return of->here && of->watermark != PIPE_TIME_MIN;
}

static void render_assigned(struct metrics_text *text, const struct pipe_plan *plan,
                            const struct metrics_snapshot *of)
{
    metrics_family(text, METRIC_ASSIGNED);
    for (uint32_t s = 0; of->partitions != NULL && s < plan->stage_count; s++) {
        uint64_t count = 0;
        for (uint32_t i = 0; i < of->partition_count; i++)
            count += of->partitions[i].stage == s && of->partitions[i].here;
        metrics_u64(text, count, "stage", plan->stages[s].name, NULL);
    }
}

/* ---- Sinks, commits, state ---- */

static void render_sinks(struct metrics_text *text, const struct pipe_plan *plan,
                         const struct metrics_snapshot *of)
{
    uint32_t count = of->sinks != NULL ? plan->sink_count : 0;
    metrics_family(text, METRIC_SINK_ROWS);
    for (uint32_t i = 0; i < count; i++)
        metrics_u64(text, of->sinks[i].rows, "sink", plan->sinks[i].name, NULL);
    metrics_family(text, METRIC_SINK_BYTES);
    for (uint32_t i = 0; i < count; i++)
        metrics_u64(text, of->sinks[i].bytes, "sink", plan->sinks[i].name, NULL);
    metrics_family(text, METRIC_SINK_FRESH);
    for (uint32_t i = 0; i < count; i++) {
        if (plan->sinks[i].fresh_ms > 0)
            metrics_u64(text, of->sinks[i].fresh, "sink", plan->sinks[i].name, NULL);
    }
}

static void render_commits(struct metrics_text *text, const struct metrics_snapshot *of)
{
    static const char *const outcomes[METRICS_OUTCOMES] = {"committed", "aborted", "fenced",
                                                           "failed"};
    metrics_family(text, METRIC_COMMIT_SECONDS);
    metrics_histogram_text(text, &of->commits, &metrics_commit_bounds, NULL, NULL);
    metrics_family(text, METRIC_TRANSACTIONS);
    for (uint32_t i = 0; i < METRICS_OUTCOMES; i++)
        metrics_u64(text, of->outcomes[i], "outcome", outcomes[i], NULL);
    metrics_family(text, METRIC_LAST_COMMIT);
    metrics_double(text, (double)of->last_commit_ms / 1000, NULL);
    metrics_family(text, METRIC_LOG_BYTES);
    metrics_u64(text, of->log_bytes, NULL);
    metrics_family(text, METRIC_REPLAYED);
    metrics_u64(text, of->replayed, NULL);
    metrics_family(text, METRIC_RESTORED);
    metrics_u64(text, of->restored, NULL);
}

static void render_states(struct metrics_text *text, const struct pipe_plan *plan,
                          const struct metrics_snapshot *of)
{
    static const char *const kinds[] = {"dedup", "window", "session"};
    metrics_family(text, METRIC_STATE_ENTRIES);
    for (uint32_t i = 0; i < of->state_count; i++) {
        const struct metrics_state *state = &of->states[i];
        const struct pipe_stage_def *stage = &plan->stages[state->stage];
        const struct pipe_state_def *def = &stage->states[state->state];
        metrics_u64(text, state->entries - state->on_disk, "stage", stage->name, "stream",
                    def->name, "kind", kinds[def->kind], "place", "memory", NULL);
        metrics_u64(text, state->on_disk, "stage", stage->name, "stream", def->name, "kind",
                    kinds[def->kind], "place", "disk", NULL);
    }
    metrics_family(text, METRIC_STATE_MEMORY);
    for (uint32_t i = 0; i < of->state_count; i++) {
        const struct metrics_state *state = &of->states[i];
        const struct pipe_stage_def *stage = &plan->stages[state->stage];
        const struct pipe_state_def *def = &stage->states[state->state];
        metrics_u64(text, state->memory_bytes, "stage", stage->name, "stream", def->name, "kind",
                    kinds[def->kind], NULL);
    }
    metrics_family(text, METRIC_STATE_LIMIT);
    metrics_u64(text, of->state_limit, NULL);
    metrics_family(text, METRIC_STATE_DISK);
    metrics_u64(text, of->state_disk, NULL);
}

static void render_checkpoints(struct metrics_text *text, const struct checkpoint_figures *of)
{
    metrics_family(text, METRIC_CHECKPOINT_AGE);
    metrics_double(text, of->age_seconds, NULL);
    metrics_family(text, METRIC_CHECKPOINTS);
    metrics_u64(text, of->uploaded, "outcome", "uploaded", NULL);
    metrics_u64(text, of->failed, "outcome", "failed", NULL);
    metrics_family(text, METRIC_CHECKPOINT_BYTES);
    metrics_u64(text, of->uploaded_bytes, NULL);
    metrics_family(text, METRIC_CHECKPOINT_RESTORED);
    metrics_u64(text, of->restored_tasks, NULL);
}

void metrics_render(const struct pipe_metrics *metrics, int64_t now_ms, struct pipe_buf *to)
{
    const struct pipe_plan *plan = metrics->plan;
    const struct metrics_snapshot *shown = &metrics->shown;
    struct metrics_text text = {.to = to, .pipeline = plan->name};
    struct partition_text partitions = {&text, metrics, now_ms};
    char abi[16];
    snprintf(abi, sizeof abi, "%u", plan->abi);
    metrics_family(&text, METRIC_BUILD_INFO);
    metrics_u64(&text, 1, "plan", plan->hash, "runtime", abi, NULL);
    metrics_family(&text, METRIC_READY);
    metrics_u64(&text, metrics_ready(metrics, engine_monotonic_us()).status == 200, NULL);
    render_streams(&text, plan, shown);
    render_assigned(&text, plan, shown);
    render_partitions(&partitions, METRIC_LAG_RECORDS, "source", lag_records);
    render_partitions(&partitions, METRIC_LAG_SECONDS, "source", lag_seconds);
    render_partitions(&partitions, METRIC_SKIPPED, "source", skipped);
    render_partitions(&partitions, METRIC_WATERMARK, "stage", watermark);
    render_partitions(&partitions, METRIC_WATERMARK_LAG, "stage", watermark_lag);
    metrics_family(&text, METRIC_LATENCY);
    for (uint32_t i = 0; shown->sources != NULL && i < plan->source_count; i++)
        metrics_histogram_text(&text, &shown->sources[i], &metrics_latency_bounds, "source",
                               plan->sources[i].name);
    render_sinks(&text, plan, shown);
    metrics_render_tables(&text, metrics, now_ms);
    render_commits(&text, shown);
    render_states(&text, plan, shown);
    render_checkpoints(&text, &shown->checkpoints);
    metrics_render_process(&text);
}
