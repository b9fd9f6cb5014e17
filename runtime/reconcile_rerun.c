/*
 * reconcile_rerun.c: expected rows. Every task runs again over its committed log and time records,
 * from its first offset to its committed position, with empty state: what it appends or emits goes
 * into the layers instead of the log and files. Of the real run it takes nothing but its input:
 * neither batches nor state nor where it crashed.
 *
 * Corrected rows of windows are the exception (semantics.md §2): a correction is sent per commit,
 * so which ones there are depends on the commits. So a task with such windows settles after every
 * record, which makes every correction that any commits could have made. A row that comes out of
 * settling is allowed; it is required if no later row of its window came out.
 */
#include <stdlib.h>

#include "reconcile.h"
#include "schemas.h"

#define NAP_US 2000
#define BATCH_RECORDS 1024u
#define FRAME_MARKER 3 /* exchange.c */

struct reconcile_window {
    struct pipe_hash id;
    uint64_t revision;
    uint64_t corrected; /* it may have more rows */
};

/* A row that came out of settling. */
struct correction {
    struct pipe_hash window;
    uint64_t revision;
    struct pipe_hash row;
    uint64_t part;
};

/* ---- Where rows go ---- */

static void describe_input(const struct reconcile *r, char *to, size_t room)
{
    const struct engine_task *task = r->task;
    snprintf(to, room, "made from %.*s, partition %d, offset %lld",
             (int)(task->name.size < 300 ? task->name.size : 300), task->name.data,
             task->task.partition, (long long)task->position.offset);
}

static void add_correction(struct reconcile *r, struct reconcile_layer *layer, int64_t place,
                           struct pipe_str key, struct pipe_str value)
{
    const struct reconcile_window *window = &r->windows[r->window_depth - 1];
    struct reconcile_part *part = reconcile_part_of(r, layer, value);
    struct correction entry = {window->id, window->revision, pipe_message_hash(place, key, value),
                               0};
    while (layer->parts[entry.part] != part)
        entry.part++;
    if (layer->corrections.entry_bytes == 0)
        pipe_spill_init(&layer->corrections, &r->spills, sizeof entry);
    pipe_spill_add(&layer->corrections, &entry);
}

static void collect(struct reconcile *r, int32_t layer_index, int64_t place, struct pipe_str key,
                    struct pipe_str value)
{
    struct reconcile_layer *layer = layer_index >= 0 ? &r->layers[layer_index] : NULL;
    char where[512];
    if (layer == NULL ||
        (layer->merges && reconcile_add_partial(r, layer, PIPE_REQUIRED, (int32_t)place, value)))
        return;
    if (!r->finding && r->window_depth > 0 && r->windows[r->window_depth - 1].corrected) {
        const struct reconcile_window *window = &r->windows[r->window_depth - 1];
        struct pipe_hash row = pipe_message_hash(place, key, value);
        reconcile_made(r, layer, &window->id, window->revision, &row);
    }
    if (r->finding) {
        describe_input(r, where, sizeof where);
        reconcile_wants(r, layer, true, place, key, value, where);
    } else if (r->settling && r->window_depth > 0) {
        add_correction(r, layer, place, key, value);
    } else {
        reconcile_add(r, layer, PIPE_REQUIRED, place, key, value);
    }
}

static struct reconcile *running; /* the one of this process */

static bool collect_append(struct pipe_log *log, uint32_t topic, int32_t partition,
                           int64_t kafka_time_ms, struct pipe_str key, struct pipe_str value)
{
    (void)log;
    (void)kafka_time_ms;
    int32_t layer = running->layer_of_topic[topic];
    bool exchange = layer >= 0 && running->layers[layer].kind == RECONCILE_EXCHANGE;
    if (!exchange || value.size == 0 || value.data[0] != FRAME_MARKER)
        collect(running, layer, partition, key, value);
    return true;
}

/* Nobody takes partitions away from what only reads. */
static bool poll_nothing(struct pipe_log *log, int64_t wait_ms, struct pipe_log_event *event)
{
    (void)log, (void)wait_ms;
    event->kind = PIPE_LOG_NOTHING;
    return true;
}

struct collecting_output {
    struct pipe_output output; /* first */
    int32_t layer;
};

static bool collect_row(struct pipe_output *output, struct pipe_str row)
{
    const struct collecting_output *collecting = (const struct collecting_output *)output;
    collect(running, collecting->layer, 0, pipe_str_of(NULL, 0), row);
    return true;
}
static bool collect_check(struct pipe_output *output)
{
    (void)output;
    return true;
}

static bool collect_flush(struct pipe_output *output)
{
    (void)output;
    return true;
}
static void collect_rollback(struct pipe_output *output)
{
    (void)output;
}
static void collect_close(struct pipe_output *output)
{
    free(output);
}

static void attach(struct reconcile *r)
{
    static const struct pipe_output_ops ops = {collect_row, collect_flush, collect_check,
                                               collect_rollback, collect_close};
    struct pipe_engine *engine = r->engine;
    running = r;
    r->ops = *engine->log->ops;
    r->ops.append = collect_append;
    r->ops.poll = poll_nothing;
    engine->log->ops = &r->ops;
    for (uint32_t i = 0; i < r->plan->sink_count; i++) {
        if (engine->sinks[i].is_topic || engine->sinks[i].output != NULL)
            continue;
        struct collecting_output *output = pipe_calloc(1, sizeof *output);
        output->output.ops = &ops;
        output->layer = r->layer_of_sink[i];
        engine->sinks[i].output = &output->output;
    }
}

/* ---- Windows with corrections ---- */

static void watch_window(struct pipe_task *task, const struct pipe_state_def *def,
                         const struct pipe_window_row *row)
{
    struct reconcile *r = running;
    if (row == NULL) {
        r->window_depth--;
        return;
    }
    if (r->window_depth == r->window_capacity) {
        r->window_capacity = r->window_capacity * 2 + 4;
        r->windows = pipe_realloc(r->windows, r->window_capacity * sizeof *r->windows);
    }
    struct reconcile_window *window = &r->windows[r->window_depth++];
    window->id = pipe_message_hash(row->end ^ (int64_t)def->stream << 56,
                                   pipe_str_of(row->key, row->key_bytes),
                                   pipe_str_of(&task->partition, sizeof task->partition));
    window->revision = (uint64_t)row->revision;
    window->corrected = def->sends_corrections;
    if (def->sends_corrections && !r->finding)
        pipe_spill_add(&r->emissions, window);
}

static uint64_t last_revision(const struct reconcile_window *emissions, uint64_t count,
                              const struct pipe_hash *window)
{
    uint64_t low = 0, high = count; /* the last of those of the window */
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (pipe_hash_order(&emissions[middle].id, window) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? emissions[low - 1].revision : 0;
}

static int by_window(const void *a, const void *b)
{
    const struct reconcile_window *x = a, *y = b;
    int order = pipe_hash_order(&x->id, &y->id);
    return order != 0 ? order : (x->revision > y->revision) - (x->revision < y->revision);
}

/* Whether each correction is required or allowed is known when all windows have been seen. */
static bool judge_corrections(struct reconcile *r, struct reconcile_layer *layer)
{
    struct pipe_buf rows = {0}, windows = {0};
    uint64_t row_count, window_count;
    bool ok = true;
    for (uint32_t p = 0; ok && p < PIPE_SPILL_PARTITIONS; p++) {
        ok = pipe_spill_load(&layer->corrections, p, &rows, &row_count) &&
             pipe_spill_load(&r->emissions, p, &windows, &window_count);
        if (!ok)
            break;
        const struct correction *entries = (const struct correction *)(const void *)rows.data;
        if (window_count > 0)
            qsort(windows.data, window_count, sizeof(struct reconcile_window), by_window);
        for (uint64_t i = 0; i < row_count; i++) {
            bool last = last_revision((const struct reconcile_window *)(const void *)windows.data,
                                      window_count, &entries[i].window) == entries[i].revision;
            pipe_multiset_add(&layer->parts[entries[i].part]->rows,
                              last ? PIPE_REQUIRED : PIPE_ALLOWED, &entries[i].row);
        }
    }
    pipe_buf_free(&rows);
    pipe_buf_free(&windows);
    return ok || reconcile_fail(r, PIPE_EXIT_DATA, "%s", r->spills.error);
}

static bool has_corrections(const struct engine_task *task)
{
    const struct pipe_stage_def *stage = task->task.stage;
    for (uint32_t i = 0; i < stage->state_count; i++) {
        if (stage->states[i].sends_corrections && stage->states[i].phase != PIPE_PHASE_PARTIAL)
            return true;
    }
    return false;
}

/* ---- Running ---- */

static void settle(struct reconcile *r, struct engine_task *task)
{
    r->settling = true;
    task_settle(task);
    r->settling = false;
}

/* false: the engine has failed, or the input ends before `offset` (*ends_early). */
static bool run_to(struct reconcile *r, struct engine_task *task, int64_t offset, bool *ends_early)
{
    bool stepwise = has_corrections(task), marks = task->task.stage->exchange_out_count > 0;
    while (task->position.offset < offset) {
        int64_t left = offset - task->position.offset, before = task->position.offset;
        uint32_t batch = stepwise || marks || r->finding ? 1
                         : left < BATCH_RECORDS          ? (uint32_t)left
                                                         : BATCH_RECORDS;
        enum task_result result = task_run(task, batch, offset);
        if (result == TASK_FAILED)
            return false;
        *ends_early = result == TASK_IDLE && task->position.offset < offset;
        if (*ends_early)
            return false;
        if (result == TASK_WAITS)
            engine_sleep_us(NAP_US);
        if (stepwise)
            settle(r, task);
        reconcile_reach_markers(r, task, false);
        reconcile_progress(r, (uint64_t)(task->position.offset - before));
        if (!reconcile_relieve(r, task, (uint32_t)(task->position.offset - before)))
            return false;
    }
    return !r->engine->failed;
}

static bool run_task(struct reconcile *r, struct engine_task *task, bool *ends_early)
{
    const struct engine_committed *c = &r->committed[task->index];
    const struct engine_position start = {.offset = r->first[task->index]};
    *ends_early = false;
    if (!task_open_position(task, &start))
        return false;
    while (task->position.seq < c->position.seq) {
        struct time_record raise;
        if (!watermark_read_record(task, task->position.seq + 1, &raise) ||
            !run_to(r, task, raise.offset, ends_early))
            return false;
        task->position.seq++;
        if (!watermark_apply(task, &raise))
            return false;
        if (has_corrections(task))
            settle(r, task);
        reconcile_reach_markers(r, task, false);
    }
    if (!run_to(r, task, c->position.offset, ends_early))
        return false;
    settle(r, task);
    reconcile_reach_markers(r, task, true);
    return !r->engine->failed;
}

/* A task starts with nothing, and leaves nothing: only one has state at a time. */
static void renew(struct reconcile *r, struct engine_task *task, bool counters)
{
    const struct pipe_hash_key key = {0};
    const struct pipe_stage_def *stage = task->task.stage;
    for (uint32_t i = 0; i < stage->state_count; i++) {
        task->ops[i]->destroy(task->task.states[i]);
        task->task.states[i] = task->ops[i]->create(&stage->states[i], &key);
        reconcile_attach_state(r, task, i);
    }
    for (uint32_t i = 0; i < task->marker_count; i++)
        task->markers[i] = PIPE_TIME_MIN;
    task->task.watermark = task->task.kafka_time_ms = PIPE_TIME_MIN;
    task->marked_watermark = task->told_watermark = PIPE_TIME_MIN;
    task->ended = false;
    schemas_forget(task);
    if (counters)
        memset(task->task.counters, 0, task->task.plan->stream_count * sizeof *task->task.counters);
}

/* An input that ends before its committed position is told as such, and the rest goes on. */
static void tell_short_input(struct reconcile *r, struct engine_task *task)
{
    char text[200];
    snprintf(text, sizeof text, "%.150s partition %d: end of its input", task->name.data,
             task->task.partition);
    reconcile_check(r, "positions", r->committed[task->index].position.offset, "committed offset",
                    task->position.offset, text, true);
}

/* A damaged record of the log ends its task, and the rest goes on. False: it is something else. */
static bool tell_damage(struct reconcile *r, struct engine_task *task)
{
    struct pipe_engine *engine = r->engine;
    bool gap = r->kafka && engine->exit_code == PIPE_EXIT_STATE; /* retention was there */
    if (!engine->failed || (engine->exit_code != PIPE_EXIT_DATA && !gap) || r->spills.failed)
        return false;
    if (!r->finding)
        reconcile_check(r, "positions", r->committed[task->index].position.offset,
                        "committed offset", task->position.offset, engine->error, true);
    if (!r->finding && r->committed[task->index].position.offset <= task->position.offset)
        r->checks[r->check_count - 1].right = -1; /* at the last record */
    engine->failed = false;
    engine->error[0] = '\0';
    return true;
}

/* Whether the topic has more than the task has read. */
static void look_behind(struct reconcile *r, struct engine_task *task)
{
    struct pipe_record *records;
    uint32_t count;
    r->undrained[task->index] = reconcile_read(r, task->reader, task->topic, task->task.partition,
                                               1, &records, &count) != PIPE_LOG_END;
}

/* A partition has one reader at a time. */
static void close_readers(struct engine_task *task)
{
    if (task->reader != NULL)
        task->task.engine->log->ops->reader_close(task->reader);
    task->reader = NULL;
    watermark_close(task);
}

static bool run_tasks(struct reconcile *r)
{
    struct pipe_engine *engine = r->engine;
    for (uint32_t t = 0; t < engine->task_count; t++) {
        struct engine_task *task = &engine->tasks[t];
        bool ends_early;
        if (!r->has_committed[t])
            continue;
        renew(r, task, true);
        r->task = task;
        task->task.watch_window = has_corrections(task) ? watch_window : NULL;
        bool ok = run_task(r, task, &ends_early);
        if (!ok && !ends_early && !tell_damage(r, task))
            return false;
        if (ends_early && !r->finding)
            tell_short_input(r, task);
        else if (ok && !r->finding)
            reconcile_check_task(r, task);
        if (ok && r->kafka && !r->finding)
            look_behind(r, task);
        close_readers(task);
        renew(r, task, false);
    }
    return true;
}

bool reconcile_rerun(struct reconcile *r)
{
    struct pipe_engine *engine = r->engine;
    attach(r);
    if (!r->finding)
        pipe_spill_init(&r->emissions, &r->spills, sizeof(struct reconcile_window));
    engine_count_rejects_in(r->finding ? NULL : engine);
    bool ok = reconcile_open_state(r) && run_tasks(r);
    reconcile_close_state(r);
    engine_count_rejects_in(NULL);
    if (!ok)
        return false;
    for (uint32_t i = 0; !r->finding && i < r->layer_count; i++) {
        if (!r->layers[i].merges && r->layers[i].corrections.entries > 0 &&
            !judge_corrections(r, &r->layers[i]))
            return false;
    }
    pipe_spill_free(&r->emissions);
    return true;
}
