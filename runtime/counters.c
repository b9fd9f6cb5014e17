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

/* Not a counter: what one side of an exchange is ahead of the other. */
#define IN_FLIGHT COUNTER_COUNT

/* In an equation all kinds of rejects are told apart; `rejected` alone is their sum in the table.
 */
static const char *name_of(int index)
{
    return index == IN_FLIGHT          ? "in_flight"
           : index == COUNTER_rejected ? "rule_rejected"
                                       : counter_names[index];
}

static uint64_t counter(const struct pipe_counters *counters, int index)
{
    return index == IN_FLIGHT ? counters_in_flight(counters) : ((const uint64_t *)counters)[index];
}

uint64_t counters_in_flight(const struct pipe_counters *counters)
{
    return counters->shipped > counters->received ? counters->shipped - counters->received : 0;
}

/* ---- The table ---- */

#define TERMS_MAX 6
#define NO_TERM (-1)

/* Of whom the counters must be. */
enum equation_scope { OF_ANY, OF_ALL, OF_SHARE };

struct equation_rule {
    bool (*holds)(const struct pipe_plan *plan, const struct pipe_stream_def *stream);
    int left[TERMS_MAX], right[TERMS_MAX]; /* counters; the lists end with NO_TERM */
    bool in_flight;                        /* left <= right until the exchanges are drained */
    enum equation_scope scope;
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
    {is_source, LEFT(C(read)), LEFT(C(accepted), C(source_rejected), C(tombstones)), false, OF_ANY},
    {has_rows, LEFT(C(in)), LEFT(C(passed), C(dropped), C(rejected), C(diverted)), false, OF_ANY},
    {has_unnest, LEFT(C(passed)), LEFT(C(unnest_empty), C(unnested)), false, OF_ANY},
    {selects_elements, LEFT(C(elements)), LEFT(C(selected), C(select_rejected)), false, OF_ANY},
    {selects_rows, LEFT(C(passed)), LEFT(C(selected), C(select_rejected)), false, OF_ANY},
    {has_dedup, LEFT(C(dedup_in)), LEFT(C(unique), C(duplicate), C(too_old)), false, OF_ANY},
    {whole_window, LEFT(C(window_in)), LEFT(C(emitted), C(open), C(late), C(window_rejected)),
     false, OF_ANY},
    /* Both phases together: what was received is open or emitted, the rest of what came in was
       shipped. One of several processes receives what others have shipped. */
    {two_phase, LEFT(C(window_in)),
     LEFT(IN_FLIGHT, C(emitted), C(open), C(late), C(window_rejected)), false, OF_ALL},
    {two_phase, LEFT(C(window_in), C(received)),
     LEFT(C(shipped), C(emitted), C(open), C(late), C(window_rejected)), false, OF_SHARE},
    {has_exchange, LEFT(C(received)), LEFT(C(shipped)), true, OF_ALL},
};
#undef LEFT
#undef C

/* Of one side: names, values, and their sum. */
struct side {
    char *text, *terms;
    uint64_t *total;
};

#define SIDE(equation, side)                                                                       \
    {                                                                                              \
        (equation)->side##_text, (equation)->side##_terms, &(equation)->side                       \
    }

/* Where the room ends it says so. */
static void append(char *to, const char *between, const char *text)
{
    static const char more[] = " + …";
    size_t used = strlen(to);
    if (used == 0)
        between = "";
    if (used + strlen(between) + strlen(text) + sizeof more <= EQUATION_TEXT)
        snprintf(to + used, EQUATION_TEXT - used, "%s%s", between, text);
    else if (used < sizeof more || strcmp(to + used + 1 - sizeof more, more) != 0)
        snprintf(to + used, EQUATION_TEXT - used, "%s", more);
}

static void add_value(struct side *side, uint64_t value)
{
    char number[32];
    *side->total += value;
    append(side->terms, " + ", pipe_u64_grouped(number, value));
}

static void add_terms(struct side side, const struct pipe_counters *counters,
                      const int terms[TERMS_MAX])
{
    for (unsigned i = 0; i < TERMS_MAX && terms[i] != NO_TERM; i++) {
        append(side.text, " + ", name_of(terms[i]));
        add_value(&side, counter(counters, terms[i]));
    }
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
    struct side left = SIDE(equation, left), right = SIDE(equation, right);
    struct side arrived = equation->at_most ? right : left;
    struct side sent = equation->at_most ? left : right;
    append(arrived.text, "", "in");
    add_value(&arrived, totals[index].in);
    snprintf(sent.text, EQUATION_TEXT, "%s of", words[stream->kind]);
    for (uint32_t i = 0; i < stream->input_count; i++) {
        uint32_t input = stream->inputs[i];
        append(sent.text, i > 0 ? " + " : " ", plan->streams[input].name);
        add_value(&sent, sent_to(stream, &totals[input]));
    }
    return true;
}

static void add_rule(const struct equation_rule *rule, const struct pipe_stream_def *stream,
                     const struct pipe_counters *counters, bool drained,
                     struct pipe_equation *equation)
{
    struct side left = SIDE(equation, left), right = SIDE(equation, right);
    equation->stream = stream->name;
    add_terms(left, counters, rule->left);
    add_terms(right, counters, rule->right);
    equation->at_most = rule->in_flight && !drained;
}

struct pipe_equation *counters_equations(const struct pipe_plan *plan,
                                         const struct pipe_counters *totals,
                                         enum report_scope scope, uint32_t *count)
{
    size_t rule_count = sizeof rules / sizeof rules[0];
    struct pipe_equation *equations =
        pipe_calloc(plan->stream_count * (rule_count + 1) + 1, sizeof *equations);
    enum equation_scope other = scope == REPORT_SHARE ? OF_ALL : OF_SHARE;
    *count = 0;
    for (uint32_t s = 0; s < plan->stream_count; s++) {
        const struct pipe_stream_def *stream = &plan->streams[s];
        if (link_equation(plan, totals, s, &equations[*count]))
            (*count)++;
        for (size_t r = 0; r < rule_count; r++) {
            if (rules[r].scope == other || !rules[r].holds(plan, stream))
                continue;
            equations[*count] = (struct pipe_equation){0};
            add_rule(&rules[r], stream, &totals[s], scope == REPORT_DRAINED,
                     &equations[(*count)++]);
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
    enum report_scope scope = !all ? REPORT_SHARE : drained ? REPORT_DRAINED : REPORT_UNDER_WAY;
    struct pipe_equation *equations = counters_equations(plan, totals, scope, &count);
    bool ok = true;
    for (uint32_t i = 0; ok && i < count; i++) {
        ok = counters_equal(&equations[i]);
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
