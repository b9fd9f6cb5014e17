/*
 * engine_memory.c: the memory of all dedup, window and session states of a run stays within a
 * budget: at a save, states that let go of memory (state.h, spill) do so, the greatest first. What
 * a record's verdict or a row is never depends on it.
 */
#include "engine.h"

/* Of the budget, what is given back in one write, about: what leaves is held twice more while it is
 * written. A save is as many of them as it takes. */
#define SPILL_PART 64
#define SPILL_LEAST (4ull << 20)

/* Of --state-memory a quarter is for writing states and finding them again. */
static uint64_t budget_of(const struct pipe_engine *engine)
{
    uint64_t bytes = engine->options->state_bytes;
    bytes = bytes > 0 ? bytes : PIPE_STATE_BYTES;
    return bytes - bytes / 4;
}

static uint64_t task_bytes(const struct engine_task *task)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < task->task.stage->state_count; i++)
        bytes += task->ops[i]->memory_bytes(task->task.states[i]);
    return bytes;
}

uint64_t engine_state_bytes(const struct pipe_engine *engine)
{
    uint64_t bytes = 0;
    for (uint32_t t = 0; t < engine->task_count; t++)
        bytes += task_bytes(&engine->tasks[t]);
    return bytes;
}

bool engine_memory_is_short(const struct pipe_engine *engine)
{
    uint64_t budget = budget_of(engine), bytes = engine_state_bytes(engine);
    return bytes > budget && bytes > engine->bytes_after_spill + budget / SPILL_PART;
}

struct pipe_state_spilled engine_spilled(const struct pipe_engine *engine)
{
    struct pipe_state_spilled total = {0}, one;
    for (uint32_t t = 0; t < engine->task_count; t++) {
        const struct engine_task *task = &engine->tasks[t];
        for (uint32_t i = 0; i < task->task.stage->state_count; i++) {
            if (task->ops[i]->spilled == NULL)
                continue;
            task->ops[i]->spilled(task->task.states[i], &one);
            total.entries += one.entries;
            total.reads += one.reads;
            total.trace_bytes += one.trace_bytes;
        }
    }
    return total;
}

/* ---- Who lets go ---- */

struct victim {
    struct engine_task *task;
    uint32_t state;
    uint64_t bytes; /* that may leave: of entries, or of traces */
};

static void compare(struct victim *most, struct engine_task *task, bool traces)
{
    struct pipe_state_spilled spilled;
    for (uint32_t i = 0; i < task->task.stage->state_count; i++) {
        const struct pipe_state_ops *ops = task->ops[i];
        if (ops->spill == NULL || (task->dry_states >> (i < 63 ? i : 63) & 1) != 0)
            continue;
        ops->spilled(task->task.states[i], &spilled);
        uint64_t bytes = spilled.trace_bytes;
        if (!traces)
            bytes = ops->memory_bytes(task->task.states[i]) - spilled.trace_bytes;
        if (bytes > most->bytes)
            *most = (struct victim){task, i, bytes};
    }
}

/* Lets the task, or NULL that of the saved ones with the most, let go of about so many bytes, which
 * are added to *gone. One that gave nothing (it is too small for its traces) is passed over for the
 * rest of this save. False: there is none left. */
static bool spill_most(struct pipe_engine *engine, struct engine_task *only, uint64_t bytes,
                       bool traces, uint64_t *gone)
{
    struct victim most = {0};
    for (uint32_t t = 0; t < engine->task_count; t++) {
        if (only == NULL ? engine_may_save(&engine->tasks[t]) : only == &engine->tasks[t])
            compare(&most, &engine->tasks[t], traces);
    }
    if (most.task == NULL)
        return false;
    const struct pipe_task *task = &most.task->task;
    const struct pipe_state_ops *ops = most.task->ops[most.state];
    void *state = task->states[most.state];
    uint64_t before = ops->memory_bytes(state), half = most.bytes / 2;
    pipe_store_spill_state(engine->store, task->stage_index, task->partition, most.state, ops,
                           state, bytes < half ? bytes : half, traces);
    uint64_t after = ops->memory_bytes(state);
    if (after < before)
        *gone += before - after;
    else
        most.task->dry_states |= 1ull << (most.state < 63 ? most.state : 63);
    return true;
}

/* Returns how many of about so many bytes went. */
static uint64_t spill_part(struct pipe_engine *engine, struct engine_task *only, uint64_t bytes,
                           bool traces)
{
    uint64_t gone = 0;
    for (uint32_t t = 0; t < engine->task_count; t++)
        engine->tasks[t].dry_states = 0;
    while (gone < bytes && spill_most(engine, only, bytes - gone, traces, &gone))
        ;
    return gone;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* `bytes` of states, of which `limit` may stay. False: less than was wanted went. */
static bool spill_down(struct pipe_engine *engine, struct engine_task *only, uint64_t bytes,
                       uint64_t limit)
{
    uint64_t part = limit / SPILL_PART > SPILL_LEAST ? limit / SPILL_PART : SPILL_LEAST;
    uint64_t traces = engine_spilled(engine).trace_bytes;
    if (bytes <= limit)
        return true;
    uint64_t wanted = least(bytes - limit + limit / SPILL_PART, part);
    /* A quarter is for entries, whatever it takes to find the others. */
    bool forget = traces > limit / 4 * 3;
    uint64_t gone = spill_part(engine, only, wanted, forget);
    if (gone < wanted && forget) /* windows and sessions keep the traces of what left */
        gone += spill_part(engine, only, wanted - gone, false);
    return gone >= wanted;
}

bool engine_spill(struct pipe_engine *engine)
{
    uint64_t budget = budget_of(engine);
    bool more = spill_down(engine, NULL, engine_state_bytes(engine), budget);
    engine->bytes_after_spill = engine_state_bytes(engine);
    return more && engine->bytes_after_spill > budget;
}

bool engine_relieve(struct pipe_engine *engine, struct engine_task *task)
{
    if (engine->store == NULL)
        return true;
    uint64_t share = budget_of(engine) / engine->task_count;
    for (uint64_t bytes = task_bytes(task), before = UINT64_MAX; bytes > share && bytes < before;) {
        pipe_store_begin(engine->store);
        spill_down(engine, task, bytes, share);
        engine_save_task(engine, task, &task->position);
        if (!pipe_store_end(engine->store))
            return engine_fail(engine, PIPE_EXIT_DATA, "%s", pipe_store_error(engine->store));
        before = bytes;
        bytes = task_bytes(task);
    }
    return true;
}
