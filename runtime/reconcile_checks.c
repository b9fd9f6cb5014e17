/*
 * reconcile_checks.c: equations. They do not look at rows, so they share nothing with the
 * operators: what the generator sent against what was counted; counted against counted again;
 * counters among themselves.
 */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>

#include "reconcile.h"

static const char *const counter_names[] = {
#define COUNTER_NAME(name) #name,
    PIPE_COUNTERS(COUNTER_NAME)
#undef COUNTER_NAME
};
#define COUNTERS (sizeof counter_names / sizeof counter_names[0])

static struct reconcile_check *add_check(struct reconcile *r, const char *group, int64_t left,
                                         int64_t right, bool at_most)
{
    r->checks = pipe_realloc(r->checks, (r->check_count + 1) * sizeof *r->checks);
    struct reconcile_check *check = &r->checks[r->check_count++];
    *check = (struct reconcile_check){.left = left, .right = right, .at_most = at_most};
    snprintf(check->group, sizeof check->group, "%s", group);
    return check;
}

struct reconcile_check *reconcile_check(struct reconcile *r, const char *group, int64_t left,
                                        const char *left_text, int64_t right,
                                        const char *right_text, bool at_most)
{
    struct reconcile_check *check = add_check(r, group, left, right, at_most);
    snprintf(check->left_text, sizeof check->left_text, "%s", left_text);
    snprintf(check->right_text, sizeof check->right_text, "%s", right_text);
    return check;
}

/* What a side with two terms is the sum of. */
static void sum_text(char to[EQUATION_TEXT], uint64_t one, uint64_t other)
{
    char numbers[2][32];
    snprintf(to, EQUATION_TEXT, "%s + %s", pipe_u64_grouped(numbers[0], one),
             pipe_u64_grouped(numbers[1], other));
}

bool reconcile_check_holds(const struct reconcile_check *check)
{
    return check->at_most ? check->left <= check->right : check->left == check->right;
}

/* ---- Counted against counted again ---- */

/* How many corrections were sent depends on the commits, and with it what is counted of their rows.
 */
static bool depends_on_commits(const struct engine_task *task, const char *counter)
{
    static const char *const sound[] = {"read",      "accepted", "source_rejected", "tombstones",
                                        "dedup_in",  "unique",   "duplicate",       "too_old",
                                        "window_in", "late",     "shipped",         "received",
                                        "open"};
    const struct pipe_stage_def *stage = task->task.stage;
    bool corrections = false;
    for (uint32_t i = 0; i < stage->state_count; i++)
        corrections = corrections || (stage->states[i].sends_corrections &&
                                      stage->states[i].phase != PIPE_PHASE_PARTIAL);
    for (size_t i = 0; i < sizeof sound / sizeof sound[0]; i++) {
        if (strcmp(counter, sound[i]) == 0)
            return false;
    }
    return corrections;
}

/* Only what differs is told. */
static void check_counters(struct reconcile *r, const struct engine_task *task)
{
    const struct pipe_plan *plan = r->plan;
    const struct pipe_counters *committed =
        &r->counters[(size_t)task->index * (plan->stream_count + 1)];
    for (uint32_t s = 0; s < plan->stream_count; s++) {
        for (size_t i = 0; i < COUNTERS; i++) {
            uint64_t was = ((const uint64_t *)&committed[s])[i];
            uint64_t is = ((const uint64_t *)&task->task.counters[s])[i];
            if (was == is || depends_on_commits(task, counter_names[i]))
                continue;
            struct reconcile_check *check =
                add_check(r, "counters", (int64_t)was, (int64_t)is, false);
            snprintf(check->left_text, sizeof check->left_text,
                     "stage %.60s, partition %d: committed counter %s of %.60s",
                     task->task.stage->name, task->task.partition, counter_names[i],
                     plan->streams[s].name);
            snprintf(check->right_text, sizeof check->right_text, "counted again");
        }
    }
}

void reconcile_check_task(struct reconcile *r, struct engine_task *task)
{
    const struct engine_committed *c = &r->committed[task->index];
    char text[200];
    if (task->task.watermark != c->watermark) {
        snprintf(text, sizeof text, "stage %.60s, partition %d: committed watermark",
                 task->task.stage->name, task->task.partition);
        reconcile_check(r, "positions", c->watermark, text, task->task.watermark,
                        "watermark of the re-execution", false);
    }
    counters_open(task);
    check_counters(r, task);
}

/* ---- Rejects by reason ---- */

struct reject_list {
    struct engine_rejects *items;
    uint32_t count;
};

/* Kafka keeps no counters by reason: those of the re-execution. */
static void copy_rejects(const struct pipe_engine *engine, struct reject_list *list)
{
    list->items = pipe_calloc(engine->reject_count + 1, sizeof *list->items);
    for (; list->count < engine->reject_count; list->count++) {
        const struct engine_rejects *from = &engine->rejects[list->count];
        list->items[list->count] = (struct engine_rejects){
            pipe_str_dup(pipe_str_of(from->rule, strlen(from->rule))),
            pipe_str_dup(pipe_str_of(from->reason, strlen(from->reason))), from->count, 0};
    }
}

static bool read_rejects(struct reconcile *r, struct reject_list *list)
{
    struct pipe_log *log = r->engine->log;
    struct pipe_buf value = {0};
    struct pipe_reader reader;
    struct pipe_str rule = {0}, reason = {0};
    int64_t count = 0, number;
    bool found, sound = true;
    if (!log->keeps_values) {
        copy_rejects(r->engine, list);
        return true;
    }
    if (!log->ops->get(log, "rejects", &value, &found)) {
        pipe_buf_free(&value);
        return reconcile_fail(r, PIPE_EXIT_DATA, "%s", log->error);
    }
    pipe_reader_init(&reader, value.data, value.size, NULL);
    if (found)
        sound = pipe_avro_long(&reader, &count);
    for (int64_t i = 0; sound && i < count; i++) {
        sound = pipe_avro_bytes(&reader, &rule) && pipe_avro_bytes(&reader, &reason) &&
                pipe_avro_long(&reader, &number);
        if (!sound)
            break;
        list->items = pipe_realloc(list->items, (list->count + 1) * sizeof *list->items);
        list->items[list->count++] =
            (struct engine_rejects){pipe_str_dup(rule), pipe_str_dup(reason), (uint64_t)number, 0};
    }
    pipe_buf_free(&value);
    return sound ||
           reconcile_fail(r, PIPE_EXIT_DATA, "the log is damaged: metadata rejects is malformed");
}

static uint64_t rejects_of(const struct engine_rejects *items, uint32_t count, const char *rule,
                           const char *reason)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(items[i].rule, rule) == 0 && strcmp(items[i].reason, reason) == 0)
            return items[i].count;
    }
    return 0;
}

static bool any_corrections(const struct reconcile *r)
{
    for (uint32_t s = 0; s < r->plan->stage_count; s++) {
        for (uint32_t i = 0; i < r->plan->stages[s].state_count; i++) {
            if (r->plan->stages[s].states[i].sends_corrections)
                return true;
        }
    }
    return false;
}

static void check_rejects(struct reconcile *r, const struct reject_list *committed)
{
    const struct pipe_engine *engine = r->engine;
    char text[200];
    if (any_corrections(r))
        return; /* a corrected row may be rejected, as often as it was sent */
    for (uint32_t i = 0; i < engine->reject_count; i++) {
        const struct engine_rejects *again = &engine->rejects[i];
        uint64_t was = rejects_of(committed->items, committed->count, again->rule, again->reason);
        snprintf(text, sizeof text, "%.80s rejected as %.80s: committed counter", again->rule,
                 again->reason);
        if (was != again->count)
            reconcile_check(r, "counters", (int64_t)was, text, (int64_t)again->count,
                            "counted again", false);
    }
    for (uint32_t i = 0; i < committed->count; i++) {
        const struct engine_rejects *was = &committed->items[i];
        snprintf(text, sizeof text, "%.80s rejected as %.80s: committed counter", was->rule,
                 was->reason);
        if (was->count > 0 &&
            rejects_of(engine->rejects, engine->reject_count, was->rule, was->reason) == 0)
            reconcile_check(r, "counters", (int64_t)was->count, text, 0, "counted again", false);
    }
}

/* ---- The ledger ---- */

/* Whether a column of the source tells apart the events of all traffics that were sent into it. */
static bool is_unique(const struct reconcile *r, uint32_t source, const char *column)
{
    const struct pipe_row_type *row = r->plan->sources[source].row;
    for (uint32_t i = 0; i < r->ledger_count; i++) {
        const struct pipe_traffic_def *traffic = &r->plan->traffics[r->ledgers[i].head.traffic];
        bool unique = r->ledgers[i].source != source;
        for (uint32_t f = 0; f < traffic->field_count && !unique; f++) {
            const struct pipe_traffic_field *field = &traffic->fields[f];
            unique = field->kind == PIPE_GEN_UNIQUE && field->path_count == 1 &&
                     field->null_ppm == 0 && strcmp(row->columns[field->path[0]].name, column) == 0;
        }
        if (!unique)
            return false;
    }
    return true;
}

/* The stream that removes duplicates of this source's events, if the traffic's unique field tells
 * them apart and nothing but `require` is on the way. -1: none. Found in the plan's JSON. */
static int32_t dedup_stream(const struct reconcile *r, uint32_t source)
{
    json_t *plan = json_loads(r->plan->plan_json, JSON_ALLOW_NUL, NULL), *node, *key;
    int32_t found = -1;
    size_t i, k;
    json_array_foreach(json_object_get(plan, "nodes"), i, node)
    {
        const char *kind = json_string_value(json_object_get(node, "node"));
        const char *stream = json_string_value(json_object_get(node, "stream"));
        if (kind == NULL || stream == NULL || strcmp(kind, "dedup") != 0)
            continue;
        bool unique = false;
        json_array_foreach(json_object_get(node, "key"), k, key)
        {
            unique =
                unique || (json_is_string(key) && is_unique(r, source, json_string_value(key)));
        }
        for (uint32_t s = 0; unique && s < r->plan->stream_count; s++) {
            if (strcmp(r->plan->streams[s].name, stream) == 0)
                found = found == -1 ? (int32_t)s : -2;
        }
    }
    json_decref(plan);
    return found;
}

static void check_dedup(struct reconcile *r, uint32_t source, const struct pipe_counters *totals)
{
    const struct pipe_ledger_totals *sent = &r->ledger_totals[source];
    const struct pipe_counters *from = &totals[r->plan->sources[source].stream];
    int32_t stream = dedup_stream(r, source);
    char text[200];
    if (stream < 0)
        return;
    const struct pipe_counters *c = &totals[stream];
    /* Only where all that was not sound was rejected before, and nothing else. */
    if (c->too_old > 0 || c->dedup_in != sent->records - sent->poison - sent->value - sent->ahead ||
        from->read != sent->records)
        return;
    snprintf(text, sizeof text, "%.80s: unique", r->plan->streams[stream].name);
    reconcile_check(r, "ledger", (int64_t)c->unique, text, (int64_t)sent->sound,
                    "events sent without poison, wrong values and wrong times", false);
    snprintf(text, sizeof text, "%.80s: duplicates", r->plan->streams[stream].name);
    reconcile_check(r, "ledger", (int64_t)c->duplicate, text, (int64_t)(c->dedup_in - sent->sound),
                    "second records of these; those of other events were rejected", false);
}

static void check_values(struct reconcile *r, uint32_t source, const struct reject_list *rejects)
{
    const char *name = r->plan->sources[source].name;
    uint64_t by_rules = 0;
    bool any = false;
    char text[200];
    for (uint32_t i = 0; i < r->ledger_count; i++) {
        const struct pipe_traffic_def *traffic = &r->plan->traffics[r->ledgers[i].head.traffic];
        for (uint32_t f = 0; r->ledgers[i].source == source && f < traffic->fault_count; f++)
            any = any || traffic->faults[f].kind == PIPE_FAULT_VALUE;
    }
    for (uint32_t i = 0; i < rejects->count; i++) {
        const char *reason = rejects->items[i].reason;
        bool rule = strcmp(rejects->items[i].rule, name) != 0 && strncmp(reason, "too_old", 7) != 0;
        by_rules += rule ? rejects->items[i].count : 0;
    }
    if (!any || by_rules == 0)
        return; /* nobody rejects them: they may be meant to pass */
    snprintf(text, sizeof text, "%.80s: events with a wrong value", name);
    struct reconcile_check *check = reconcile_check(
        r, "ledger", (int64_t)r->ledger_totals[source].value_events, text, (int64_t)by_rules,
        "rejected by rules, also the second records of these events", true);
    /* A filter may drop some before a rule sees them: so this is told, and decides nothing. */
    check->note = true;
}

/* On Kafka: to the end of its topic. */
static bool is_read(const struct reconcile *r, uint32_t source)
{
    const struct engine_source *from = &r->engine->sources[source];
    for (uint32_t p = 0; p < from->partitions; p++) {
        uint32_t task = from->first_task + p;
        if (r->undrained[task])
            return false;
    }
    return true;
}

static void check_source(struct reconcile *r, uint32_t source, const struct pipe_counters *totals,
                         const struct reject_list *rejects)
{
    const struct pipe_ledger_totals *sent = &r->ledger_totals[source];
    const struct pipe_source_def *def = &r->plan->sources[source];
    const struct pipe_counters *c = &totals[def->stream];
    struct reconcile_check *check;
    char text[200];
    snprintf(text, sizeof text, "%.80s: read", def->name);
    if (r->kafka && !is_read(r, source)) { /* several writers: whose were read is not known */
        reconcile_check(r, "ledger", (int64_t)c->read, text, (int64_t)sent->records,
                        "sent, of which more is to be read", true);
        return;
    }
    reconcile_check(r, "ledger", (int64_t)c->read, text, (int64_t)sent->records,
                    "sent, up to the committed positions", false);
    check =
        reconcile_check(r, "ledger", (int64_t)sent->records, "sent",
                        (int64_t)(sent->events + sent->duplicates), "events + duplicates", false);
    sum_text(check->right_terms, sent->events, sent->duplicates);
    if (def->format != PIPE_FORMAT_BYTES) { /* of bytes nothing is undecodable */
        snprintf(text, sizeof text, "%.80s: undecodable + schema_unknown", def->name);
        uint64_t undecodable = rejects_of(rejects->items, rejects->count, def->name, "undecodable");
        uint64_t unknown = rejects_of(rejects->items, rejects->count, def->name, "schema_unknown");
        check = reconcile_check(r, "ledger", (int64_t)(undecodable + unknown), text,
                                (int64_t)sent->poison, "poison", false);
        sum_text(check->left_terms, undecodable, unknown);
    }
    if (def->is_kafka && def->has_event_time && !r->kafka) { /* Kafka's kafka_time is its own */
        snprintf(text, sizeof text, "%.80s: event_time_ahead", def->name);
        reconcile_check(
            r, "ledger",
            (int64_t)rejects_of(rejects->items, rejects->count, def->name, "event_time_ahead"),
            text, (int64_t)sent->ahead, "sent with a time too far ahead", false);
    }
    check_values(r, source, rejects);
    check_dedup(r, source, totals);
}

/* ---- All ---- */

static bool is_drained(const struct reconcile *r)
{
    for (uint32_t t = 0; t < r->engine->task_count; t++) {
        if (!reconcile_task_drained(r, t))
            return false;
    }
    return true;
}

static void note_flight(struct reconcile *r, const struct pipe_counters *totals)
{
    for (uint32_t i = 0; i < r->layer_count; i++) {
        struct reconcile_layer *layer = &r->layers[i];
        int32_t stream =
            layer->kind == RECONCILE_EXCHANGE ? r->engine->exchanges[layer->index].stream : -1;
        if (stream < 0)
            continue;
        layer->shipped = totals[stream].shipped;
        layer->received = totals[stream].received;
    }
}

static void check_conservation(struct reconcile *r, const struct pipe_counters *totals)
{
    uint32_t count;
    struct pipe_equation *equations = counters_equations(
        r->plan, totals, is_drained(r) ? REPORT_DRAINED : REPORT_UNDER_WAY, &count);
    for (uint32_t i = 0; i < count; i++) {
        const struct pipe_equation *e = &equations[i];
        struct reconcile_check *check = reconcile_check(
            r, "conservation", (int64_t)e->left, "", (int64_t)e->right, e->right_text, e->at_most);
        snprintf(check->left_text, sizeof check->left_text, "%.70s: %s", e->stream, e->left_text);
        snprintf(check->left_terms, sizeof check->left_terms, "%s", e->left_terms);
        snprintf(check->right_terms, sizeof check->right_terms, "%s", e->right_terms);
    }
    free(equations);
}

bool reconcile_check_totals(struct reconcile *r)
{
    const struct pipe_plan *plan = r->plan;
    struct pipe_counters *totals = pipe_calloc(plan->stream_count + 1, sizeof *totals);
    struct reject_list rejects = {0};
    for (uint32_t t = 0; t < r->engine->task_count; t++) {
        const struct pipe_counters *counters = &r->counters[(size_t)t * (plan->stream_count + 1)];
        for (uint32_t s = 0; s < plan->stream_count; s++) {
            for (size_t i = 0; i < COUNTERS; i++)
                ((uint64_t *)&totals[s])[i] += ((const uint64_t *)&counters[s])[i];
        }
    }
    bool ok = read_rejects(r, &rejects);
    if (ok && r->engine->log->keeps_values)
        check_rejects(r, &rejects);
    for (uint32_t i = 0; ok && i < plan->source_count; i++) {
        bool injected = false;
        for (uint32_t k = 0; k < r->layer_count; k++)
            injected = injected || (r->layers[k].kind == RECONCILE_RAW && r->layers[k].index == i &&
                                    r->layers[k].injected > 0);
        if (r->has_ledger[i] && !injected)
            check_source(r, i, totals, &rejects);
    }
    if (ok)
        check_conservation(r, totals);
    note_flight(r, totals);
    for (uint32_t i = 0; i < rejects.count; i++) {
        free(rejects.items[i].rule);
        free(rejects.items[i].reason);
    }
    free(rejects.items);
    free(totals);
    return ok;
}
