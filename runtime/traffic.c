/*
 * traffic.c: the generator of a `traffic` statement. The whole sequence is a function of (plan,
 * count, rate, seed, start, stops), so the position is a plain number and a restart regenerates.
 *
 * Event n is due at start + n / rate. It continues the session whose pause ended first, else it
 * opens one. Faults delay its sending or change its bytes; what is to be sent waits in a heap by
 * sending time, without its bytes, which are made when it is taken: so late faults cost 48 bytes a
 * record, however long they last.
 */
#include "traffic_internal.h"

#include <stdio.h>
#include <stdlib.h>

#define MS_PER_SECOND 1000

struct session {
    int64_t next_ms, ends_ms;
    uint64_t number, visits; /* visits: events so far */
    int32_t step;
};

/* ---- binary heaps ---- */

static void *heap_at(const struct heap *heap, size_t index)
{
    return (uint8_t *)heap->items + index * heap->item_bytes;
}

static void heap_push(struct heap *heap, const void *item)
{
    if (heap->count == heap->capacity) {
        heap->capacity = heap->capacity == 0 ? 64 : heap->capacity * 2;
        heap->items = pipe_realloc(heap->items, heap->capacity * heap->item_bytes);
    }
    size_t hole = heap->count++;
    while (hole > 0 && heap->before(item, heap_at(heap, (hole - 1) / 2))) {
        memcpy(heap_at(heap, hole), heap_at(heap, (hole - 1) / 2), heap->item_bytes);
        hole = (hole - 1) / 2;
    }
    memcpy(heap_at(heap, hole), item, heap->item_bytes);
}

/* The last item fills the hole that the first leaves, below all that come before it. */
static void heap_pop(struct heap *heap, void *out)
{
    memcpy(out, heap->items, heap->item_bytes);
    const void *last = heap_at(heap, --heap->count);
    size_t hole = 0;
    for (size_t child = 1; child < heap->count; child = 2 * hole + 1) {
        if (child + 1 < heap->count && heap->before(heap_at(heap, child + 1), heap_at(heap, child)))
            child++;
        if (!heap->before(heap_at(heap, child), last))
            break;
        memcpy(heap_at(heap, hole), heap_at(heap, child), heap->item_bytes);
        hole = child;
    }
    if (hole != heap->count)
        memcpy(heap_at(heap, hole), last, heap->item_bytes);
}

static bool sending_before(const void *a, const void *b)
{
    const struct sending *x = a, *y = b;
    return x->time_ms != y->time_ms ? x->time_ms < y->time_ms : x->serial < y->serial;
}

static bool session_before(const void *a, const void *b)
{
    const struct session *x = a, *y = b;
    return x->next_ms != y->next_ms ? x->next_ms < y->next_ms : x->number < y->number;
}

/* ---- sessions and their steps ---- */

int64_t traffic_due_ms(const struct pipe_feeder *feeder, uint64_t event)
{
    return feeder->options.start_ms + pipe_rate_due_ms(feeder->options.rate_per_hour, event);
}

static struct session open_session(struct pipe_feeder *feeder, int64_t now_ms)
{
    const struct pipe_traffic_def *def = feeder->def;
    struct session session = {.number = feeder->next_session++, .ends_ms = now_ms};
    if (def->has_sessions)
        session.ends_ms += traffic_uniform(traffic_draw(feeder, session.number, DRAW_LIFE),
                                           def->session_low_ms, def->session_high_ms);
    return session;
}

/* The one whose pause ended first, else a new one. Those whose life ended while they waited are
 * gone. */
static struct session take_session(struct pipe_feeder *feeder, int64_t now_ms)
{
    const struct session *first = feeder->sessions.items;
    struct session session;
    while (feeder->sessions.count > 0 && first->next_ms <= now_ms) {
        heap_pop(&feeder->sessions, &session);
        if (session.ends_ms >= now_ms)
            return session;
    }
    return open_session(feeder, now_ms);
}

/* The step after this one, -1: the session ends. */
static int32_t next_step(const struct pipe_feeder *feeder, const struct session *session)
{
    const struct pipe_traffic_def *def = feeder->def;
    if (def->step_count == 0)
        return 0;
    const struct pipe_traffic_step *step = &def->steps[session->step];
    int64_t total = 0;
    for (uint32_t i = 0; i < step->target_count; i++)
        total += step->targets[i].weight;
    if (total == 0)
        return -1;
    uint64_t hash = traffic_draw(feeder, session->number, DRAW_STEP + (session->visits << 32));
    int64_t at = traffic_uniform(hash, 0, total - 1);
    for (uint32_t i = 0; i < step->target_count; i++) {
        at -= step->targets[i].weight;
        if (at < 0)
            return step->targets[i].step;
    }
    return -1;
}

/* After its event: the session's next one is due after a pause, unless it is over. */
static void continue_session(struct pipe_feeder *feeder, struct session *session, int64_t now_ms)
{
    const struct pipe_traffic_def *def = feeder->def;
    if (!def->has_sessions)
        return;
    int32_t step = next_step(feeder, session);
    uint64_t hash = traffic_draw(feeder, session->number, DRAW_PAUSE + (session->visits << 32));
    session->next_ms = now_ms + traffic_uniform(hash, def->pause_low_ms, def->pause_high_ms);
    session->visits++;
    session->step = step;
    if (step >= 0 && session->next_ms <= session->ends_ms)
        heap_push(&feeder->sessions, session);
}

/* ---- faults ---- */

/* One draw for all, so that a record has one of them at most. */
static int16_t choose_fault(const struct pipe_feeder *feeder, uint64_t event)
{
    const struct pipe_traffic_def *def = feeder->def;
    uint32_t at = traffic_ppm(traffic_draw(feeder, event, DRAW_FAULT));
    for (uint32_t i = 0; i < def->fault_count; i++) {
        if (def->faults[i].kind == PIPE_FAULT_DUPLICATE)
            continue;
        if (at < def->faults[i].ppm)
            return (int16_t)i;
        at -= def->faults[i].ppm;
    }
    return NO_FAULT;
}

static int64_t fault_delay_ms(const struct pipe_feeder *feeder, uint64_t event, int16_t fault)
{
    if (fault == NO_FAULT)
        return 0;
    const struct pipe_traffic_fault *at = &feeder->def->faults[fault];
    uint64_t hash = traffic_draw(feeder, event, DRAW_FAULT_SIZE);
    if (at->kind == PIPE_FAULT_OUT_OF_ORDER)
        return traffic_uniform(hash, at->high_ms > 0 ? 1 : 0, at->high_ms);
    return at->kind == PIPE_FAULT_LATE ? traffic_uniform(hash, at->low_ms, at->high_ms) : 0;
}

static void push_sending(struct pipe_feeder *feeder, struct sending sending)
{
    sending.serial = feeder->next_serial++;
    heap_push(&feeder->sendings, &sending);
}

static void push_duplicates(struct pipe_feeder *feeder, struct sending sending)
{
    const struct pipe_traffic_def *def = feeder->def;
    int64_t first_ms = sending.time_ms;
    for (uint32_t i = 0; i < def->fault_count; i++) {
        uint64_t which = (uint64_t)i << 32;
        if (def->faults[i].kind != PIPE_FAULT_DUPLICATE ||
            traffic_ppm(traffic_draw(feeder, sending.event, DRAW_DUPLICATE + which)) >=
                def->faults[i].ppm)
            continue;
        uint64_t hash = traffic_draw(feeder, sending.event, DRAW_DUPLICATE_SIZE + which);
        sending.duplicate = (int16_t)i;
        sending.time_ms = first_ms + traffic_uniform(hash, 0, def->faults[i].high_ms);
        push_sending(feeder, sending);
    }
}

/* Makes event number next_event and puts what is to be sent of it on the heap. */
static void make_event(struct pipe_feeder *feeder)
{
    uint64_t event = feeder->next_event;
    int64_t now_ms = feeder->next_due_ms;
    struct session session = take_session(feeder, now_ms);
    struct sending sending = {.event = event,
                              .session = session.number,
                              .step = session.step,
                              .fault = choose_fault(feeder, event),
                              .duplicate = NO_FAULT};
    sending.time_ms = now_ms + fault_delay_ms(feeder, event, sending.fault);
    push_sending(feeder, sending);
    push_duplicates(feeder, sending);
    continue_session(feeder, &session, now_ms);
    feeder->next_event = event + 1;
    feeder->next_due_ms = traffic_due_ms(feeder, event + 1);
}

/* ---- the feeder ---- */

void pipe_feeder_put_stops(struct pipe_buf *to, const struct pipe_feeder_options *options)
{
    pipe_avro_put_long(to, options->stop_count);
    for (uint32_t i = 0; i < options->stop_count; i++)
        pipe_avro_put_long(to, options->stops[i]);
    pipe_avro_put_long(to, (int64_t)options->definition);
}

bool pipe_feeder_get_stops(struct pipe_reader *from, struct pipe_feeder_options *options)
{
    int64_t count = 0, definition = 0;
    options->stop_count = 0;
    options->definition = 0;
    if (from->at == from->end)
        return true;
    if (!pipe_avro_long(from, &count) || count < 0 || count > PIPE_FEEDER_STOPS)
        return false;
    for (int64_t i = 0; i < count; i++) {
        if (!pipe_avro_long(from, &options->stops[i]))
            return false;
    }
    options->stop_count = (uint32_t)count;
    if (from->at != from->end && !pipe_avro_long(from, &definition))
        return false;
    options->definition = (uint64_t)definition;
    return true;
}

static bool next_sending(struct pipe_feeder *feeder, struct sending *out)
{
    for (;;) {
        bool stops = feeder->next_stop < feeder->options.stop_count;
        int64_t limit = stops ? feeder->options.stops[feeder->next_stop] : feeder->options.count;
        bool more = limit < 0 || feeder->next_event < (uint64_t)limit;
        const struct sending *first = feeder->sendings.items;
        if (feeder->sendings.count > 0 && (!more || first->time_ms < feeder->next_due_ms)) {
            heap_pop(&feeder->sendings, out);
            out->time_ms = out->time_ms > feeder->floor_ms ? out->time_ms : feeder->floor_ms;
            if (!more)
                feeder->floor_ms = out->time_ms;
            return true;
        }
        if (!more && !stops)
            return false;
        if (more)
            make_event(feeder);
        else
            feeder->next_stop++;
    }
}

bool pipe_feeder_next(struct pipe_feeder *feeder, struct pipe_feed_record *out)
{
    struct sending sending;
    if (!next_sending(feeder, &sending))
        return false;
    traffic_encode(feeder, &sending, out);
    return true;
}

void pipe_feeder_skip(struct pipe_feeder *feeder, uint64_t records)
{
    struct sending sending;
    while (records-- > 0 && next_sending(feeder, &sending))
        continue;
}

struct pipe_feeder *pipe_feeder_open(const struct pipe_plan *plan, uint32_t traffic,
                                     uint32_t partitions, const struct pipe_feeder_options *options,
                                     char *error, size_t error_bytes)
{
    struct pipe_feeder *feeder = pipe_calloc(1, sizeof *feeder);
    feeder->def = &plan->traffics[traffic];
    feeder->source = &plan->sources[feeder->def->source];
    feeder->options = *options;
    feeder->partitions = partitions;
    feeder->next_due_ms = options->start_ms;
    feeder->floor_ms = INT64_MIN;
    feeder->sessions =
        (struct heap){.item_bytes = sizeof(struct session), .before = session_before};
    feeder->sendings =
        (struct heap){.item_bytes = sizeof(struct sending), .before = sending_before};
    struct pipe_error cause = {0};
    if (traffic_prepare_rows(feeder, &cause))
        return feeder;
    snprintf(error, error_bytes, "traffic %s: %s: %s", feeder->def->name, cause.field,
             cause.detail);
    pipe_feeder_close(feeder);
    return NULL;
}

void pipe_feeder_close(struct pipe_feeder *feeder)
{
    if (feeder == NULL)
        return;
    free(feeder->sessions.items);
    free(feeder->sendings.items);
    traffic_free_rows(feeder);
    free(feeder);
}
