/*
 * counters.c: the conservation equations (semantics.md §1) over the counters of all tasks, and how
 * counters are kept in the log. The equations are a table: which streams have one, and what stands
 * on either side.
 */
#include <stdio.h>
#include <stdlib.h>

#include "engine.h"

enum {
#define COUNTER_INDEX(name) COUNTER_##name,
    PIPE_COUNTERS(COUNTER_INDEX)
#undef COUNTER_INDEX
        COUNTER_COUNT
};
_Static_assert(sizeof(struct pipe_counters) == COUNTER_COUNT * sizeof(uint64_t), "one array");
_Static_assert(COUNTER_COUNT <= 32, "a bit each in counters_encode");

static const char *const counter_names[] = {
#define COUNTER_NAME(name) #name,
    PIPE_COUNTERS(COUNTER_NAME)
#undef COUNTER_NAME
};

/* In an equation all kinds of rejects are told apart; `rejected` alone is their sum in the table.
 */
static const char *name_of(int index)
{
    return index == COUNTER_rejected ? "rule_rejected" : counter_names[index];
}

static uint64_t counter(const struct pipe_counters *counters, int index)
{
    return ((const uint64_t *)counters)[index];
}

/* ---- The table ---- */

#define TERMS_MAX 6
#define NO_TERM (-1)

struct equation_rule {
    bool (*holds)(const struct pipe_plan *plan, const struct pipe_stream_def *stream);
    int left[TERMS_MAX], right[TERMS_MAX]; /* counters; the lists end with NO_TERM */
    bool in_flight;                        /* left <= right until the exchanges are drained */
};

static const struct pipe_exchange_def *exchange_of(const struct pipe_plan *plan,
                                                   const struct pipe_stream_def *stream)
{
    for (uint32_t i = 0; i < plan->exchange_count; i++) {
        if (strcmp(plan->exchanges[i].name, stream->name) == 0)
            return &plan->exchanges[i];
    }
    return NULL;
}

static bool two_phase(const struct pipe_plan *plan, const struct pipe_stream_def *stream)
{
    const struct pipe_exchange_def *exchange = exchange_of(plan, stream);
    return stream->has_window && exchange != NULL && exchange->partials;
}

static bool is_source(const struct pipe_plan *plan, const struct pipe_stream_def *stream)
{
    (void)plan;
    return stream->kind == PIPE_STREAM_SOURCE;
}
static bool has_rows(const struct pipe_plan *plan, const struct pipe_stream_def *stream)
{
    (void)plan;
    return stream->kind != PIPE_STREAM_SOURCE;
}
static bool has_unnest(const struct pipe_plan *plan, const struct pipe_stream_def *stream)
{
    (void)plan;
    return stream->has_unnest;
}
static bool selects_elements(const struct pipe_plan *plan, const struct pipe_stream_def *stream)
{
    (void)plan;
    return stream->has_select && stream->has_unnest;
}
static bool selects_rows(const struct pipe_plan *plan, const struct pipe_stream_def *stream)
{
    (void)plan;
    return stream->has_select && !stream->has_unnest;
}
static bool has_dedup(const struct pipe_plan *plan, const struct pipe_stream_def *stream)
{
    (void)plan;
    return stream->has_dedup;
}
static bool whole_window(const struct pipe_plan *plan, const struct pipe_stream_def *stream)
{
    return stream->has_window && !two_phase(plan, stream);
}
static bool has_exchange(const struct pipe_plan *plan, const struct pipe_stream_def *stream)
{
    return stream->has_exchange && exchange_of(plan, stream) != NULL;
}

#define LEFT(...)                                                                                  \
    {                                                                                              \
        __VA_ARGS__, NO_TERM                                                                       \
    }
#define C(name) COUNTER_##name
static const struct equation_rule rules[] = {
    {is_source, LEFT(C(read)), LEFT(C(accepted), C(source_rejected), C(tombstones)), false},
    {has_rows, LEFT(C(in)), LEFT(C(passed), C(dropped), C(rejected), C(diverted)), false},
    {has_unnest, LEFT(C(passed)), LEFT(C(unnest_empty), C(unnested)), false},
    {selects_elements, LEFT(C(elements)), LEFT(C(selected), C(select_rejected)), false},
    {selects_rows, LEFT(C(passed)), LEFT(C(selected), C(select_rejected)), false},
    {has_dedup, LEFT(C(dedup_in)), LEFT(C(unique), C(duplicate), C(too_old)), false},
    {whole_window, LEFT(C(window_in)), LEFT(C(emitted), C(open), C(late), C(window_rejected)),
     false},
    /* Both phases together: what was received is open or emitted, the rest of what came in was
       shipped. */
    {two_phase, LEFT(C(window_in), C(received)),
     LEFT(C(shipped), C(emitted), C(open), C(late), C(window_rejected)), false},
    {has_exchange, LEFT(C(received)), LEFT(C(shipped)), true},
};
#undef LEFT
#undef C

static uint64_t sum(const struct pipe_counters *counters, const int terms[TERMS_MAX], char *text,
                    size_t room)
{
    uint64_t total = 0;
    size_t used = 0;
    text[0] = '\0';
    for (unsigned i = 0; i < TERMS_MAX && terms[i] != NO_TERM; i++) {
        total += counter(counters, terms[i]);
        int more =
            snprintf(text + used, room - used, "%s%s", i > 0 ? " + " : "", name_of(terms[i]));
        used += more > 0 && (size_t)more < room - used ? (size_t)more : 0;
    }
    return total;
}

/* ---- Between streams: what leaves one arrives at its readers ---- */

/* Rows that a stream sends to what it feeds, and what the sum is called. */
static uint64_t sent_to(const struct pipe_stream_def *stream, const struct pipe_counters *from)
{
    switch (stream->kind) {
    case PIPE_STREAM_LATE:
        return from->late;
    case PIPE_STREAM_REJECTS:
        return from->source_rejected + from->rejected + from->select_rejected + from->too_old;
    default:
        return from->out;
    }
}

static bool rejects_windows(const struct pipe_plan *plan, const struct pipe_stream_def *stream)
{
    for (uint32_t i = 0; stream->kind == PIPE_STREAM_REJECTS && i < stream->input_count; i++) {
        if (plan->streams[stream->inputs[i]].has_window)
            return true;
    }
    return false;
}

/* `in` = what its inputs sent. Not for diverted rows, which are counted for all targets together.
 * Rejected rows of windows are not among what is counted here: a window that is corrected may have
 * many while it is open, and what it counts when it is over are (record, window) pairs. So a stream
 * that takes them gets at least the others. */
static bool link_equation(const struct pipe_plan *plan, const struct pipe_counters *totals,
                          uint32_t index, struct pipe_equation *equation)
{
    static const char *const words[] = {"", "out", "rejected rows", "late", ""};
    const struct pipe_stream_def *stream = &plan->streams[index];
    if (stream->kind == PIPE_STREAM_SOURCE || stream->kind == PIPE_STREAM_DIVERTED)
        return false;
    *equation =
        (struct pipe_equation){.stream = stream->name, .at_most = rejects_windows(plan, stream)};
    char sent_text[sizeof equation->left_text];
    uint64_t sent = 0;
    size_t used = (size_t)snprintf(sent_text, sizeof sent_text, "%s of", words[stream->kind]);
    for (uint32_t i = 0; i < stream->input_count; i++) {
        uint32_t input = stream->inputs[i];
        sent += sent_to(stream, &totals[input]);
        if (used < sizeof sent_text)
            used += (size_t)snprintf(sent_text + used, sizeof sent_text - used, "%s %s",
                                     i > 0 ? " +" : "", plan->streams[input].name);
    }
    bool turned = equation->at_most;
    equation->left = turned ? sent : totals[index].in;
    equation->right = turned ? totals[index].in : sent;
    snprintf(equation->left_text, sizeof equation->left_text, "%s", turned ? sent_text : "in");
    snprintf(equation->right_text, sizeof equation->right_text, "%s", turned ? "in" : sent_text);
    return true;
}

struct pipe_equation *counters_equations(const struct pipe_plan *plan,
                                         const struct pipe_counters *totals, bool drained,
                                         uint32_t *count)
{
    size_t rule_count = sizeof rules / sizeof rules[0];
    struct pipe_equation *equations =
        pipe_calloc(plan->stream_count * (rule_count + 1) + 1, sizeof *equations);
    *count = 0;
    for (uint32_t s = 0; s < plan->stream_count; s++) {
        const struct pipe_stream_def *stream = &plan->streams[s];
        if (link_equation(plan, totals, s, &equations[*count]))
            (*count)++;
        for (size_t r = 0; r < rule_count; r++) {
            if (!rules[r].holds(plan, stream))
                continue;
            struct pipe_equation *equation = &equations[(*count)++];
            equation->stream = stream->name;
            equation->left =
                sum(&totals[s], rules[r].left, equation->left_text, sizeof equation->left_text);
            equation->right =
                sum(&totals[s], rules[r].right, equation->right_text, sizeof equation->right_text);
            equation->at_most = rules[r].in_flight && !drained;
        }
    }
    return equations;
}

bool counters_equal(const struct pipe_equation *equation)
{
    return equation->at_most ? equation->left <= equation->right
                             : equation->left == equation->right;
}

bool counters_check(struct pipe_engine *engine)
{
    const struct pipe_plan *plan = engine->plan;
    struct pipe_counters *totals = pipe_calloc(plan->stream_count + 1, sizeof *totals);
    uint32_t count;
    counters_total(engine, totals);
    /* Before a commit the rows it ships are beyond the log's end, and not drained. What another
     * process has shipped or received is not counted here: all else is within a task. */
    bool all = group_owns_all(engine);
    bool drained = all && !engine_has_pending(engine) && engine_drained(engine);
    struct pipe_equation *equations = counters_equations(plan, totals, drained, &count);
    bool ok = true;
    for (uint32_t i = 0; ok && i < count; i++) {
        ok = counters_equal(&equations[i]) || (!all && equations[i].at_most);
        if (!ok)
            engine_fail(engine, PIPE_EXIT_INTERNAL,
                        "internal error: rows are not accounted for in stream %s: %s = %llu, but "
                        "%s = %llu",
                        equations[i].stream, equations[i].left_text,
                        (unsigned long long)equations[i].left, equations[i].right_text,
                        (unsigned long long)equations[i].right);
    }
    free(equations);
    free(totals);
    return ok;
}

/* ---- Sums, gauges ---- */

static void add(struct pipe_counters *to, const struct pipe_counters *from)
{
    uint64_t *sums = (uint64_t *)to;
    for (int i = 0; i < COUNTER_COUNT; i++)
        sums[i] += counter(from, i);
}

void counters_total(const struct pipe_engine *engine, struct pipe_counters *totals)
{
    memset(totals, 0, engine->plan->stream_count * sizeof *totals);
    for (uint32_t t = 0; t < engine->task_count; t++) {
        if (engine->tasks[t].phase != ENGINE_RUNNING)
            continue;
        for (uint32_t s = 0; s < engine->plan->stream_count; s++)
            add(&totals[s], &engine->tasks[t].task.counters[s]);
    }
}

void counters_open(struct engine_task *task)
{
    const struct pipe_stage_def *stage = task->task.stage;
    for (uint32_t i = 0; i < stage->state_count; i++)
        task->task.counters[stage->states[i].stream].open = 0;
    for (uint32_t i = 0; i < stage->state_count; i++) {
        if (stage->states[i].kind != PIPE_STATE_DEDUP)
            task->task.counters[stage->states[i].stream].open +=
                task->ops[i]->open_pairs(task->task.states[i]);
    }
}

void counters_gauges(struct pipe_engine *engine)
{
    for (uint32_t t = 0; t < engine->task_count; t++) {
        if (engine->tasks[t].phase == ENGINE_RUNNING && engine->tasks[t].dirty)
            counters_open(&engine->tasks[t]);
    }
}

/* ---- In the log: per stream a varint of bits, which counters are not 0, then these as varints
 * ---- */

static void put_varint(struct pipe_buf *to, uint64_t value)
{
    uint8_t *at = pipe_buf_reserve(to, 10);
    to->size += (size_t)(pipe_varint_put(at, value) - at);
}

void counters_encode(const struct pipe_counters *counters, uint32_t count, struct pipe_buf *to)
{
    for (uint32_t s = 0; s < count; s++) {
        uint64_t bits = 0;
        for (int i = 0; i < COUNTER_COUNT; i++)
            bits |= (uint64_t)(counter(&counters[s], i) != 0) << i;
        put_varint(to, bits);
        for (int i = 0; i < COUNTER_COUNT; i++) {
            if (counter(&counters[s], i) != 0)
                put_varint(to, counter(&counters[s], i));
        }
    }
}

bool counters_decode(const uint8_t **at, const uint8_t *end, struct pipe_counters *counters,
                     uint32_t count)
{
    for (uint32_t s = 0; s < count; s++) {
        uint64_t bits, value;
        if (!pipe_varint_get(at, end, &bits) || bits >> COUNTER_COUNT != 0)
            return false;
        for (int i = 0; i < COUNTER_COUNT; i++) {
            if ((bits >> i & 1) == 0)
                continue;
            if (!pipe_varint_get(at, end, &value))
                return false;
            ((uint64_t *)&counters[s])[i] += value;
        }
    }
    return true;
}
