/* traffic_definition.c: a fingerprint of a `traffic` statement (input.h): its events follow from
 * it, but the plan's hash does not cover it. */
#include <string.h>

#include "input.h"

static void put_text(struct pipe_buf *to, const char *text)
{
    size_t size = text != NULL ? strlen(text) : 0;
    pipe_avro_put_long(to, text != NULL ? (int64_t)size : -1);
    pipe_buf_add(to, text != NULL ? text : "", size);
}

static void put_indexes(struct pipe_buf *to, const uint32_t *indexes, uint32_t count)
{
    pipe_avro_put_long(to, count);
    for (uint32_t i = 0; i < count; i++)
        pipe_avro_put_long(to, indexes[i]);
}

static void put_field(struct pipe_buf *to, const struct pipe_traffic_field *field)
{
    put_indexes(to, field->path, field->path_count);
    pipe_avro_put_long(to, field->kind);
    pipe_avro_put_long(to, field->low);
    pipe_avro_put_long(to, field->high);
    pipe_avro_put_long(to, field->scale);
    pipe_avro_put_long(to, field->pick_count);
    for (uint32_t i = 0; i < field->pick_count; i++) {
        put_text(to, field->picks[i]);
        pipe_avro_put_long(to, field->weights != NULL ? field->weights[i] : 1);
    }
    pipe_avro_put_long(to, field->null_ppm);
    pipe_avro_put_long(to, field->per_session);
}

static void put_step(struct pipe_buf *to, const struct pipe_traffic_step *step)
{
    put_text(to, step->value);
    pipe_avro_put_long(to, step->target_count);
    for (uint32_t i = 0; i < step->target_count; i++) {
        pipe_avro_put_long(to, step->targets[i].step);
        pipe_avro_put_long(to, step->targets[i].weight);
    }
}

static void put_fault(struct pipe_buf *to, const struct pipe_traffic_fault *fault)
{
    pipe_avro_put_long(to, fault->kind);
    pipe_avro_put_long(to, fault->ppm);
    pipe_avro_put_long(to, fault->low_ms);
    pipe_avro_put_long(to, fault->high_ms);
    put_indexes(to, fault->path, fault->path_count);
    put_text(to, fault->value_json);
}

uint64_t pipe_feeder_definition(const struct pipe_plan *plan, uint32_t traffic)
{
    const struct pipe_traffic_def *def = &plan->traffics[traffic];
    struct pipe_buf all = {0};
    put_text(&all, plan->sources[def->source].name);
    pipe_avro_put_long(&all, def->has_sessions);
    pipe_avro_put_long(&all, def->session_low_ms);
    pipe_avro_put_long(&all, def->session_high_ms);
    pipe_avro_put_long(&all, def->pause_low_ms);
    pipe_avro_put_long(&all, def->pause_high_ms);
    pipe_avro_put_long(&all, def->steps_column);
    pipe_avro_put_long(&all, def->step_count);
    for (uint32_t i = 0; i < def->step_count; i++)
        put_step(&all, &def->steps[i]);
    pipe_avro_put_long(&all, def->field_count);
    for (uint32_t i = 0; i < def->field_count; i++)
        put_field(&all, &def->fields[i]);
    pipe_avro_put_long(&all, def->fault_count);
    for (uint32_t i = 0; i < def->fault_count; i++)
        put_fault(&all, &def->faults[i]);
    pipe_avro_put_long(&all, def->event_time_column);
    put_indexes(&all, def->key_columns, def->key_count);
    uint64_t hash = pipe_hash64(all.data, all.size, 0);
    pipe_buf_free(&all);
    return hash != 0 ? hash : 1;
}
