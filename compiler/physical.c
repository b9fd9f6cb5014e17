/*
 * physical.c: from the checked program to stages, exchanges and states (plan.h). Streams come in
 * dataflow order, so one walk decides for each: where its rows arrive, by what they are partitioned
 * there, whether its stateful clause can stay local, and where its output is made.
 */
#include "plan.h"

#include <string.h>

/* Exchanges behind file sources: a bounded input is read by one process, more partitions would only
 * cost. */
enum { FILE_EXCHANGE_PARTITIONS = 1 };

struct planner {
    struct program *program;
    struct plan *plan;
    struct arena *arena;
};

struct stream_plan *stream_plan_of(const struct program *program, const struct stream *stream)
{
    bool known =
        stream->index < program->streams.count && program->streams.items[stream->index] == stream;
    return known ? &program->plan->streams[stream->index] : NULL;
}

static bool has_stage(struct stage *const *stages, size_t count, const struct stage *stage)
{
    for (size_t i = 0; i < count; i++)
        if (stages[i] == stage)
            return true;
    return false;
}

static void add_head_stage(struct planner *planner, struct stream_plan *at, struct stage *stage)
{
    if (has_stage(at->head_stages.items, at->head_stages.count, stage))
        return;
    vec_push(planner->arena, &at->head_stages, stage);
    vec_push(planner->arena, &stage->heads, at->stream);
}

static void add_tail_stage(struct planner *planner, struct stream_plan *at, struct stage *stage)
{
    if (has_stage(at->tail_stages.items, at->tail_stages.count, stage))
        return;
    vec_push(planner->arena, &at->tail_stages, stage);
    vec_push(planner->arena, &stage->tails, at->stream);
}

static struct stage *new_stage(struct planner *planner, const char *name)
{
    struct stage *stage = arena_alloc(planner->arena, sizeof *stage);
    stage->index = (uint32_t)planner->plan->stages.count;
    stage->name = name;
    vec_push(planner->arena, &planner->plan->stages, stage);
    return stage;
}

const struct step *stateful_step(const struct stream *stream)
{
    for (size_t i = 0; i < stream->step_count; i++)
        if (stream->steps[i].kind == STEP_DEDUP || stream->steps[i].kind == STEP_WINDOW)
            return &stream->steps[i];
    return NULL;
}

static const char **key_names(struct planner *planner, const struct record_type *row,
                              const uint32_t *columns, size_t count)
{
    const char **names = arena_alloc(planner->arena, (count + 1) * sizeof *names);
    for (size_t i = 0; i < count; i++)
        names[i] = row->fields[columns[i]].name;
    return names;
}

static const char *join_names(struct planner *planner, const char **names, size_t count)
{
    struct text joined = {0};
    for (size_t i = 0; i < count; i++)
        text_printf(&joined, "%s%s", i > 0 ? ", " : "", names[i]);
    const char *kept =
        arena_strndup(planner->arena, joined.data != NULL ? joined.data : "", joined.size);
    text_free(&joined);
    return kept;
}

/* ---- streams ---- */

static void plan_source(struct planner *planner, struct stream_plan *at)
{
    const struct source_def *source = at->stream->source;
    struct stage *stage = new_stage(planner, at->stream->name.text);
    stage->source = at->stream;
    add_head_stage(planner, at, stage);
    add_tail_stage(planner, at, stage);
    at->partitions = source->is_kafka ? source->partitions : 0;
}

static bool expr_step_can_reject(const struct step *step)
{
    if (step->kind == STEP_REQUIRE)
        return true;
    if (step->expr != NULL && step->expr->fallible)
        return true;
    for (size_t i = 0; i < step->assigns.count; i++)
        if (step->assigns.items[i].expr->fallible)
            return true;
    for (size_t i = 0; i < step->aggregate_count; i++)
        if ((step->aggregates[i].arg != NULL && step->aggregates[i].arg->fallible) ||
            (step->aggregates[i].by != NULL && step->aggregates[i].by->fallible))
            return true;
    return false;
}

/* Whether `stream` sends rows to the side stream before (head) and after (tail) its exchange. */
static void feeding_ends(const struct stream *stream, const struct stream *side, bool *head,
                         bool *tail)
{
    *head = *tail = false;
    if (stream->kind == STREAM_SOURCE) {
        *head = stream->source->rejects == side;
        return;
    }
    for (size_t i = 0; i < stream->step_count; i++) {
        const struct step *step = &stream->steps[i];
        if (step->kind == STEP_DIVERT && step->to == side)
            *head = true;
        if (stream->rejects == side && expr_step_can_reject(step))
            *head = true;
        if (stream->rejects == side && (step->kind == STEP_DEDUP || step->kind == STEP_WINDOW))
            *tail = true;
        if (step->kind == STEP_WINDOW && step->late == side) {
            *head = *head || step->window != WINDOW_SESSION;
            *tail = *tail || step->window == WINDOW_SESSION;
        }
    }
}

static void plan_side_stream(struct planner *planner, struct stream_plan *at)
{
    for (size_t f = 0; f < at->stream->feeders.count; f++) {
        struct stream_plan *feeder = stream_plan_of(planner->program, at->stream->feeders.items[f]);
        bool head, tail;
        feeding_ends(feeder->stream, at->stream, &head, &tail);
        for (size_t i = 0; head && i < feeder->head_stages.count; i++)
            add_head_stage(planner, at, feeder->head_stages.items[i]);
        for (size_t i = 0; tail && i < feeder->tail_stages.count; i++)
            add_head_stage(planner, at, feeder->tail_stages.items[i]);
        if (feeder->delay_ms > at->delay_ms)
            at->delay_ms = feeder->delay_ms;
        if (feeder->partitions > at->partitions)
            at->partitions = feeder->partitions;
    }
    for (size_t i = 0; i < at->head_stages.count; i++)
        add_tail_stage(planner, at, at->head_stages.items[i]);
    if (at->stream->feeders.count != 1)
        at->lost_partitioning = arena_printf(planner->arena, "%s gathers rows of several streams",
                                             at->stream->name.text);
}

static void enter_inputs(struct planner *planner, struct stream_plan *at)
{
    const struct stream *stream = at->stream;
    for (size_t i = 0; i < stream->input_count; i++) {
        const struct stream_plan *input = stream_plan_of(planner->program, stream->inputs[i]);
        for (size_t s = 0; s < input->tail_stages.count; s++)
            add_head_stage(planner, at, input->tail_stages.items[s]);
        if (input->delay_ms > at->delay_ms)
            at->delay_ms = input->delay_ms;
        if (input->partitions > at->partitions)
            at->partitions = input->partitions;
        if (stream->input_count == 1)
            at->lost_partitioning = input->lost_partitioning;
    }
    if (stream->input_count > 1)
        at->lost_partitioning = arena_printf(
            planner->arena, "%s is a union, which has no common partitioning", stream->name.text);
}

static bool any_key_above(const struct stream *stream)
{
    while (stream->kind == STREAM_NORMAL && stream->input_count == 1 &&
           stateful_step(stream) == NULL)
        stream = stream->inputs[0];
    return stream->kind == STREAM_SOURCE ? stream->source->key_count > 0
                                         : stateful_step(stream) != NULL;
}

/* Names of the columns by which the rows in front of the step are partitioned. */
static const char *partition_names(struct planner *planner, const struct step *step)
{
    return join_names(
        planner, key_names(planner, step->input, step->partition_columns, step->partition_count),
        step->partition_count);
}

static const char *exchange_reason(struct planner *planner, const struct stream_plan *at,
                                   const struct step *step)
{
    if (at->lost_partitioning != NULL)
        return at->lost_partitioning;
    if (!step->partition_known)
        return any_key_above(at->stream->inputs[0])
                   ? "the partition key is not kept by a select above"
                   : "the source declares no key";
    const char *key = partition_names(planner, step);
    if (step->kind != STEP_DEDUP)
        return arena_printf(planner->arena, "input is partitioned by %s", key);
    const char **dedup = key_names(planner, step->input, step->key_columns, step->key_count);
    return arena_printf(planner->arena,
                        "input is partitioned by %s; `dedup by %s, %s` would be local", key, key,
                        join_names(planner, dedup, step->key_count));
}

static struct state *new_state(struct planner *planner, struct stream_plan *at, struct stage *stage,
                               const struct step *step, enum phase phase)
{
    struct state *state = arena_alloc(planner->arena, sizeof *state);
    state->index = (uint32_t)stage->states.count;
    state->stage = stage;
    state->stream = at->stream;
    state->step = step;
    state->phase = phase;
    state->exchange = at->exchange;
    vec_push(planner->arena, &stage->states, state);
    return state;
}

static struct exchange *new_exchange(struct planner *planner, struct stream_plan *at,
                                     const struct step *step)
{
    struct exchange *exchange = arena_alloc(planner->arena, sizeof *exchange);
    exchange->index = (uint32_t)planner->plan->exchanges.count;
    exchange->name = at->stream->name.text;
    exchange->stream = at->stream;
    exchange->step = step;
    bool two_phase = step->kind == STEP_WINDOW && step->window != WINDOW_SESSION;
    exchange->kind = two_phase ? EXCHANGE_PARTIALS : EXCHANGE_ROWS;
    exchange->partitions = at->partitions > 0 ? at->partitions : FILE_EXCHANGE_PARTITIONS;
    if (step->key_count == 0)
        exchange->partitions = 1;
    exchange->reason = exchange_reason(planner, at, step);
    vec_push(planner->arena, &planner->plan->exchanges, exchange);
    for (size_t i = 0; i < at->head_stages.count; i++) {
        struct stage *from = at->head_stages.items[i];
        vec_push(planner->arena, &exchange->from, from);
        vec_push(planner->arena, &from->outputs, exchange);
        vec_push(planner->arena, &from->output_delays_ms, at->delay_ms);
    }
    exchange->to = new_stage(planner, exchange->name);
    exchange->to->input = exchange;
    return exchange;
}

static void plan_behind_exchange(struct planner *planner, struct stream_plan *at,
                                 const struct step *step)
{
    at->exchange = new_exchange(planner, at, step);
    bool partials = at->exchange->kind == EXCHANGE_PARTIALS;
    for (size_t i = 0; partials && i < at->head_stages.count; i++) {
        struct state *partial =
            new_state(planner, at, at->head_stages.items[i], step, PHASE_PARTIAL);
        partial->delay_ms = at->delay_ms;
        if (at->partial == NULL)
            at->partial = partial;
    }
    at->state =
        new_state(planner, at, at->exchange->to, step, partials ? PHASE_MERGE : PHASE_LOCAL);
    at->state->judge_by_record = !partials;
    at->delay_ms = 0;
    at->lost_partitioning = NULL;
    at->partitions = at->exchange->partitions;
    add_tail_stage(planner, at, at->exchange->to);
}

static void plan_stateful(struct planner *planner, struct stream_plan *at, const struct step *step)
{
    if (!step->exchange) {
        at->state = new_state(planner, at, at->head_stages.items[0], step, PHASE_LOCAL);
        at->state->delay_ms = at->delay_ms;
        at->state->why_local =
            step->partition_count == 0
                ? "there is one partition"
                : arena_printf(planner->arena, "key holds %s", partition_names(planner, step));
        add_tail_stage(planner, at, at->head_stages.items[0]);
    } else {
        plan_behind_exchange(planner, at, step);
    }
    if (step->kind == STEP_WINDOW)
        at->delay_ms += step->lateness_ms;
}

static void plan_stream(struct planner *planner, struct stream_plan *at)
{
    enter_inputs(planner, at);
    const struct step *step = stateful_step(at->stream);
    if (step != NULL) {
        plan_stateful(planner, at, step);
        return;
    }
    for (size_t i = 0; i < at->head_stages.count; i++)
        add_tail_stage(planner, at, at->head_stages.items[i]);
}

#define KEPT_AS_LINES "exactly once: JSON lines in the run directory, cut back to the last commit"

static const char *sink_guarantee(const struct sink *sink)
{
    if (!sink->exactly_once)
        return "at least once";
    if (sink->format == FORMAT_PARQUET)
        return KEPT_AS_LINES;
    switch (sink->kind) {
    case SINK_KAFKA:
        return "exactly once: in the commit that holds the input offsets";
    case SINK_FILE:
        return "exactly once: cut back to the length in the last commit";
    case SINK_CLICKHOUSE:
        return "exactly once: from a topic to the server, or embedded to Native files";
    case SINK_ICEBERG:
        return KEPT_AS_LINES;
    case SINK_STDOUT:
        break;
    }
    return "at least once";
}

void plan_program(struct program *program)
{
    struct plan *plan = arena_alloc(program->arena, sizeof *plan);
    struct planner planner = {program, plan, program->arena};
    program->plan = plan;
    plan->streams =
        arena_alloc(program->arena, (program->streams.count + 1) * sizeof *plan->streams);
    for (size_t i = 0; i < program->streams.count; i++) {
        plan->streams[i].stream = program->streams.items[i];
        plan->streams[i].index = (uint32_t)i;
    }
    for (size_t i = 0; i < program->streams.count; i++) {
        struct stream_plan *at = &plan->streams[i];
        switch (at->stream->kind) {
        case STREAM_SOURCE:
            plan_source(&planner, at);
            break;
        case STREAM_NORMAL:
            plan_stream(&planner, at);
            break;
        case STREAM_REJECTS:
        case STREAM_LATE:
        case STREAM_DIVERTED:
            plan_side_stream(&planner, at);
            break;
        }
    }
    plan->sinks = arena_alloc(program->arena, (program->sinks.count + 1) * sizeof *plan->sinks);
    for (size_t i = 0; i < program->sinks.count; i++)
        plan->sinks[i] = (struct sink_plan){program->sinks.items[i], (uint32_t)i,
                                            sink_guarantee(program->sinks.items[i])};
    plan_fingerprint(program);
}
