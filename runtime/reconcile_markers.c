/*
 * reconcile_markers.c: the markers in exchanges. When one is sent depends on the commits, what it
 * says does not: for every upstream task, the same markers are in all partitions, they grow, each
 * is a watermark that the task had between two records, and from the last to its committed one
 * there is nothing to do for the next stage.
 */
#include <stdlib.h>

#include "reconcile.h"

#define FRAME_MARKER 3 /* exchange.c */

/* Of one upstream task of one exchange. */
struct reconcile_markers {
    int64_t *values;
    uint64_t count, capacity;
    uint64_t *seen; /* by partition of the exchange: so many are there */
    uint64_t next;  /* in the re-execution: the first that has not been reached */
};

static struct reconcile_markers *markers_of(struct reconcile *r, uint32_t exchange, uint32_t task)
{
    return &r->markers[(size_t)exchange * r->engine->task_count + task];
}

void reconcile_make_markers(struct reconcile *r)
{
    size_t count = (size_t)r->plan->exchange_count * r->engine->task_count;
    r->markers = pipe_calloc(count + 1, sizeof *r->markers);
    for (uint32_t e = 0; e < r->plan->exchange_count; e++) {
        for (uint32_t t = 0; t < r->engine->task_count; t++)
            markers_of(r, e, t)->seen =
                pipe_calloc(r->plan->exchanges[e].partitions, sizeof(uint64_t));
    }
}

void reconcile_free_markers(struct reconcile *r)
{
    size_t count = r->markers != NULL ? (size_t)r->plan->exchange_count * r->engine->task_count : 0;
    for (size_t i = 0; i < count; i++) {
        free(r->markers[i].values);
        free(r->markers[i].seen);
    }
    free(r->markers);
}

uint64_t reconcile_marker_records(const struct reconcile *r, uint32_t exchange)
{
    uint64_t records = 0;
    for (uint32_t t = 0; t < r->engine->task_count; t++) {
        const struct reconcile_markers *of =
            &r->markers[(size_t)exchange * r->engine->task_count + t];
        for (uint32_t p = 0; p < r->plan->exchanges[exchange].partitions; p++)
            records += of->seen[p];
    }
    return records;
}

static void trouble(struct reconcile_layer *layer, const struct engine_task *from, const char *what,
                    long long value)
{
    if (layer->trouble[0] == '\0')
        snprintf(layer->trouble, sizeof layer->trouble,
                 "markers of stage %.100s, partition %d: %s (%lld)", from->task.stage->name,
                 from->task.partition, what, value);
}

static struct reconcile_layer *layer_of(struct reconcile *r, uint32_t exchange)
{
    return &r->layers[r->layer_of_topic[r->engine->exchanges[exchange].topic]];
}

static const struct engine_task *upstream(const struct reconcile *r, uint32_t exchange,
                                          int64_t stage, int64_t partition)
{
    const struct engine_exchange *def = &r->engine->exchanges[exchange];
    for (uint32_t i = 0; i < def->upstream_count; i++) {
        const struct pipe_task *task = &def->upstream[i]->task;
        if (task->stage_index == stage && task->partition == partition)
            return def->upstream[i];
    }
    return NULL;
}

static void add(struct reconcile *r, struct reconcile_layer *layer, const struct engine_task *from,
                int32_t partition, int64_t value)
{
    struct reconcile_markers *markers = markers_of(r, layer->index, from->index);
    uint64_t at = markers->seen[partition]++;
    if (at < markers->count) {
        if (markers->values[at] != value)
            trouble(layer, from, "not the same in all partitions", value);
        return;
    }
    if (partition > 0 && at >= markers->seen[0]) {
        trouble(layer, from, "not the same in all partitions", value);
        return;
    }
    if (at > 0 && markers->values[at - 1] >= value)
        trouble(layer, from, "they go back", value);
    if (markers->count == markers->capacity) {
        markers->capacity = markers->capacity * 2 + 64;
        markers->values =
            pipe_realloc(markers->values, markers->capacity * sizeof *markers->values);
    }
    markers->values[markers->count++] = value;
}

bool reconcile_take_marker(struct reconcile *r, struct reconcile_layer *layer, int32_t partition,
                           struct pipe_str frame)
{
    struct pipe_reader reader;
    int64_t stage, from_partition, value;
    if (layer->kind != RECONCILE_EXCHANGE || frame.size == 0 || frame.data[0] != FRAME_MARKER)
        return false;
    pipe_reader_init(&reader, frame.data, frame.size, NULL);
    reader.at++;
    if (!pipe_avro_long(&reader, &stage) || !pipe_avro_long(&reader, &from_partition) ||
        !pipe_avro_long(&reader, &value))
        return false;
    const struct engine_task *from = upstream(r, layer->index, stage, from_partition);
    if (from == NULL)
        return false;
    if (!r->finding)
        add(r, layer, from, partition, value);
    return true;
}

void reconcile_reach_markers(struct reconcile *r, struct engine_task *task, bool last)
{
    const struct pipe_stage_def *stage = task->task.stage;
    for (uint32_t i = 0; !r->finding && i < stage->exchange_out_count; i++) {
        uint32_t exchange = stage->exchanges_out[i];
        struct reconcile_markers *markers = markers_of(r, exchange, task->index);
        int64_t now = pipe_time_sub(task->task.watermark, stage->exchange_delays[i]);
        for (; markers->next < markers->count && markers->values[markers->next] < now;
             markers->next++)
            trouble(layer_of(r, exchange), task, "a watermark that it never had",
                    markers->values[markers->next]);
        if (markers->next < markers->count && markers->values[markers->next] == now)
            markers->next++;
        if (!last)
            continue;
        if (markers->next < markers->count)
            trouble(layer_of(r, exchange), task, "a watermark that it never had",
                    markers->values[markers->next]);
        else if (exchange_needs_marker(r->plan, exchange,
                                       markers->count == 0 ? PIPE_TIME_MIN
                                                           : markers->values[markers->count - 1],
                                       now))
            trouble(layer_of(r, exchange), task, "the last is missing", now);
        for (uint32_t p = 0; p < r->plan->exchanges[exchange].partitions; p++) {
            if (markers->seen[p] != markers->count)
                trouble(layer_of(r, exchange), task, "one is missing in partition", p);
        }
    }
}
