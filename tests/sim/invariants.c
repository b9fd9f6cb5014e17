/*
 * invariants.c: what must hold at every moment, looked at from outside of the engine: applied <=
 * committed, whenever state is written; a partition whose time is raised is idle; what a follower
 * confirms is in the table.
 */
#include <stdio.h>
#include <stdlib.h>

#include "broker.h"
#include "follower_internal.h"
#include "server.h"

/* As of where the state of a task is about to be. */
struct applied {
    uint32_t stage;
    int32_t partition;
    int64_t offset, seq;
};

static bool decode(const uint8_t *key, size_t key_bytes, const void *value, size_t value_bytes,
                   struct applied *out)
{
    struct pipe_reader reader;
    if (key_bytes != 9 || key[0] != 'p')
        return false;
    for (unsigned i = 1; i < 5; i++)
        out->stage = out->stage << 8 | key[i];
    for (unsigned i = 5; i < 9; i++)
        out->partition = (int32_t)((uint32_t)out->partition << 8 | key[i]);
    pipe_reader_init(&reader, (const uint8_t *)value + 1, value_bytes - 1, NULL); /* version */
    if (!pipe_avro_long(&reader, &out->offset) || !pipe_avro_long(&reader, &out->seq))
        sim_fail("a saved position is malformed");
    return true;
}

/* What the log of the run holds durably. */
static bool embedded_value(const char *state_path, const struct applied *applied,
                           struct pipe_str *value)
{
    char log_path[4200], name[64] = "m";
    size_t size = 0;
    snprintf(log_path, sizeof log_path, "%.*slog", (int)(strlen(state_path) - strlen("state")),
             state_path);
    engine_task_name(sim.program->plan, applied->stage, applied->partition, name + 1,
                     sizeof name - 1);
    value->data = sim_store_durable(log_path, name, strlen(name), &size);
    value->size = size;
    return value->data != NULL;
}

static bool grouped_value(const struct applied *applied, struct pipe_str *value)
{
    const struct pipe_plan *plan = sim.program->plan;
    const struct pipe_stage_def *stage = &plan->stages[applied->stage];
    char name[256];
    if (stage->source >= 0)
        snprintf(name, sizeof name, "%s", plan->sources[stage->source].target);
    else
        snprintf(name, sizeof name, "pipec.%s.%s.exchange", plan->name,
                 plan->exchanges[stage->exchange].name);
    struct broker_place at = {broker_topic(name, 0), applied->partition};
    const struct broker_partition *part = broker_part(at);
    *value = pipe_str_of((const char *)part->metadata.data, part->metadata.size);
    return part->has_position;
}

static void check_applied(const char *path, const void *key, size_t key_bytes, const void *value,
                          size_t value_bytes)
{
    struct applied applied = {0};
    struct engine_committed committed;
    struct pipe_str stored;
    if (!decode(key, key_bytes, value, value_bytes, &applied))
        return;
    if (!(sim.grouped ? grouped_value(&applied, &stored) : embedded_value(path, &applied, &stored)))
        sim_fail("state of stage %u, partition %d is saved, but no position is committed",
                 applied.stage, applied.partition);
    if (!engine_decode_task(sim.program->plan, stored, &committed, NULL))
        sim_fail("a committed position is malformed");
    if (applied.offset > committed.position.offset || applied.seq > (int64_t)committed.position.seq)
        sim_fail("state of stage %u, partition %d is as of (%lld, %lld), but (%lld, %lld) is "
                 "committed",
                 applied.stage, applied.partition, (long long)applied.offset,
                 (long long)applied.seq, (long long)committed.position.offset,
                 (long long)committed.position.seq);
}

/* ---- Idle partitions ---- */

static const struct pipe_source_def *source_of_time(const char *topic)
{
    const struct pipe_plan *plan = sim.program->plan;
    char name[256];
    for (uint32_t i = 0; i < plan->source_count; i++) {
        snprintf(name, sizeof name, "pipec.%s.%s.time", plan->name, plan->sources[i].name);
        if (strcmp(name, topic) == 0)
            return &plan->sources[i];
    }
    return NULL;
}

/* All that is there was read, and nothing has come for as long as the source says. */
void sim_check_floor(const char *topic, int32_t partition, struct pipe_str value)
{
    const struct pipe_source_def *source = source_of_time(topic);
    struct pipe_reader reader;
    int64_t offset;
    if (source == NULL)
        return;
    pipe_reader_init(&reader, (const uint8_t *)value.data, value.size, NULL);
    if (!pipe_avro_long(&reader, &offset))
        sim_fail("a time record is malformed");
    struct broker_place at = {broker_topic(source->target, 0), partition};
    const struct broker_partition *part = broker_part(at);
    int64_t last = part->count - 1;
    while (last >= 0 && part->records[last].fate != BROKER_COMMITTED &&
           part->records[last].fate != BROKER_PENDING)
        last--;
    if (last >= offset)
        sim_fail("the time of %s/%d is raised at offset %lld, but record %lld is there",
                 source->target, partition, (long long)offset, (long long)last);
    if (last >= 0 && sim.now_us - part->records[last].arrived_us < source->idle)
        sim_fail("the time of %s/%d is raised though its last record came %.3f s ago, not %.3f",
                 source->target, partition,
                 (double)(sim.now_us - part->records[last].arrived_us) / 1e6,
                 (double)source->idle / 1e6);
}

/* ---- What is confirmed ---- */

/* Embedded every offset has a row. */
static bool has_row(const char *topic, int32_t partition, int64_t offset)
{
    if (!sim.grouped)
        return true;
    struct broker_place at = {broker_topic(topic, 0), partition};
    return broker_part(at)->records[offset].fate == BROKER_COMMITTED;
}

/* The table sink that follower_position_name wrote into `name`. */
static const struct pipe_sink_def *sink_of_position(const char *name)
{
    static const char begin[] = "follower/";
    const struct pipe_plan *plan = sim.program->plan;
    if (strncmp(name, begin, strlen(begin)) != 0)
        return NULL;
    for (uint32_t i = 0; i < plan->sink_count; i++) {
        size_t size = strlen(plan->sinks[i].name);
        const char *at = name + strlen(begin);
        if (plan->sinks[i].table != NULL && strncmp(at, plan->sinks[i].name, size) == 0 &&
            at[size] == '/')
            return &plan->sinks[i];
    }
    sim_fail("a position of no table: %s", name);
}

void sim_check_confirmed(const char *name, struct pipe_str value)
{
    const struct pipe_sink_def *sink = sink_of_position(name);
    struct pipe_plan_topic topic;
    struct follower_journal journal;
    if (sink == NULL)
        return;
    int32_t partition = (int32_t)strtol(strrchr(name, '/') + 1, NULL, 10);
    sim_followed_topic(sim.program->plan, (uint32_t)(sink - sim.program->plan->sinks), &topic);
    if (!follower_journal_read(value, partition, topic.partitions, &journal))
        sim_fail("the position %s is malformed", name);
    int64_t *checked = sim_server_checked(sink, partition);
    for (; checked != NULL && *checked < journal.mark; (*checked)++)
        if (has_row(topic.name, partition, *checked) && !sim_server_has(sink, partition, *checked))
            sim_fail("all below %lld of partition %d is confirmed, but table %s has no row of "
                     "offset %lld",
                     (long long)journal.mark, partition, sink->name, (long long)*checked);
}

void sim_check_write(const char *path, const void *key, size_t key_bytes, const void *value,
                     size_t value_bytes)
{
    const char *base = strrchr(path, '/');
    const char *text = key;
    if (base != NULL && strcmp(base, "/state") == 0)
        check_applied(path, key, key_bytes, value, value_bytes);
    if (base == NULL || strcmp(base, "/log") != 0 || key_bytes == 0 || text[0] != 'm')
        return;
    char *name = pipe_str_dup(pipe_str_of(text + 1, key_bytes - 1));
    sim_check_confirmed(name, pipe_str_of(value, value_bytes));
    free(name);
}
