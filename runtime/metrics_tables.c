/*
 * metrics_tables.c: what the follower of a run tells of its tables.
 */
#include <stdlib.h>

#include "follower.h"
#include "metrics_internal.h"

void metrics_follows(struct pipe_engine *engine)
{
    if (engine->metrics != NULL)
        atomic_store(&engine->metrics->follower, engine->follower);
}

const char *metrics_halted_table(const struct pipe_metrics *metrics)
{
    struct pipe_follower_thread *follower = atomic_load(&metrics->follower);
    struct pipe_follower_figures figures;
    for (uint32_t i = 0; follower != NULL && i < metrics->plan->sink_count; i++) {
        pipe_follower_figures(follower, i, &figures);
        if (figures.halted)
            return metrics->plan->sinks[i].name;
    }
    return NULL;
}

/* One family with a sample for each table. */
static void render_family(struct metrics_text *text, enum metrics_id id,
                          const struct pipe_plan *plan, const struct pipe_follower_figures *of,
                          double (*value)(const struct pipe_follower_figures *of, int64_t now_ms),
                          int64_t now_ms)
{
    metrics_family(text, id);
    for (uint32_t i = 0; of != NULL && i < plan->sink_count; i++) {
        if (of[i].follows)
            metrics_double(text, value(&of[i], now_ms), "sink", plan->sinks[i].name, NULL);
    }
}

#define FIELD(name)                                                                                \
    static double name(const struct pipe_follower_figures *of, int64_t now_ms)                     \
    {                                                                                              \
        (void)now_ms;                                                                              \
        return (double)of->name;                                                                   \
    }
FIELD(rows)
FIELD(batches)
FIELD(bytes)
FIELD(attempts)
FIELD(unknown)
FIELD(skipped)
FIELD(lag_records)
FIELD(halted)

static double lag_seconds(const struct pipe_follower_figures *of, int64_t now_ms)
{
    if (of->oldest_ms == PIPE_TIME_MIN || of->oldest_ms >= now_ms)
        return 0;
    return (double)(now_ms - of->oldest_ms) / 1000;
}

void metrics_render_tables(struct metrics_text *text, const struct pipe_metrics *metrics,
                           int64_t now_ms)
{
    static const struct {
        enum metrics_id id;
        double (*value)(const struct pipe_follower_figures *of, int64_t now_ms);
    } families[] = {
        {METRIC_TABLE_ROWS, rows},       {METRIC_TABLE_BATCHES, batches},
        {METRIC_TABLE_BYTES, bytes},     {METRIC_TABLE_ATTEMPTS, attempts},
        {METRIC_TABLE_UNKNOWN, unknown}, {METRIC_TABLE_SKIPPED, skipped},
        {METRIC_TABLE_LAG, lag_records}, {METRIC_TABLE_LAG_SECONDS, lag_seconds},
        {METRIC_TABLE_HALTED, halted},
    };
    const struct pipe_plan *plan = metrics->plan;
    struct pipe_follower_thread *follower = atomic_load(&metrics->follower);
    struct pipe_follower_figures *all = NULL;
    if (follower != NULL) {
        all = pipe_calloc(plan->sink_count + 1, sizeof *all);
        for (uint32_t i = 0; i < plan->sink_count; i++)
            pipe_follower_figures(follower, i, &all[i]);
    }
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++)
        render_family(text, families[i].id, plan, all, families[i].value, now_ms);
    metrics_family(text, METRIC_TABLE_QUERYABLE);
    for (uint32_t i = 0; all != NULL && i < plan->sink_count; i++) {
        if (all[i].follows)
            metrics_histogram_text(text, &all[i].queryable, &metrics_latency_bounds, "sink",
                                   plan->sinks[i].name);
    }
    free(all);
}
