/*
 * engine_setup.c: from the plan to sources, sinks, exchanges and tasks.
 */
#include <stdlib.h>

#include "engine.h"
#include "follower.h"
#include "schemas.h"
#include "state_transfer.h"

#define ARENA_RECORDS 16u /* what one record's values may take, in times of --max-record */

static bool make_topic(struct pipe_engine *engine, const char *name, uint32_t partitions,
                       uint32_t *topic)
{
    if (engine->log->ops->topic(engine->log, name, partitions, topic))
        return true;
    if (engine->log->grouped) /* others made it, or nobody has */
        return engine_log_failed(engine);
    return engine_fail(engine, PIPE_EXIT_STATE, "%s", engine->log->error);
}

/* ---- Traffic ---- */

/* What is given must be what the directory has; what is not given is taken from there. */
static bool merge_option(struct pipe_engine *engine, const char *what, bool given, int64_t *value,
                         int64_t stored)
{
    if (given && *value != stored)
        return engine_fail(
            engine, PIPE_EXIT_STATE,
            "--%s %lld: the traffic in %s was begun with %lld; give that, or use another "
            "directory",
            what, (long long)*value, engine->dir, (long long)stored);
    *value = stored;
    return true;
}

static bool merge_rate(struct pipe_engine *engine, struct pipe_feeder_options *options,
                       int64_t stored)
{
    char wanted[PIPE_RATE_TEXT], begun[PIPE_RATE_TEXT];
    pipe_rate_text(options->rate_per_hour, wanted);
    pipe_rate_text(stored, begun);
    if (engine->options->has_rate && options->rate_per_hour != stored)
        return engine_fail(
            engine, PIPE_EXIT_STATE,
            "--rate %s: the traffic in %s was begun with %s; give that, or use another directory",
            wanted, engine->dir, begun);
    options->rate_per_hour = stored;
    return true;
}

/* A count may be raised: the traffic stops where it ended before, and goes on from there. */
static bool merge_count(struct pipe_engine *engine, bool given, struct pipe_feeder_options *options,
                        int64_t stored)
{
    int64_t wanted = options->count;
    options->count = stored;
    if (!given || wanted == stored)
        return true;
    if (stored < 0)
        return engine_fail(engine, PIPE_EXIT_STATE,
                           "--count %lld: the traffic in %s was begun without end; run it without "
                           "--count, or use another directory",
                           (long long)wanted, engine->dir);
    if (wanted < stored)
        return engine_fail(engine, PIPE_EXIT_STATE,
                           "--count %lld: the traffic in %s has %lld; give that or more, or use "
                           "another directory",
                           (long long)wanted, engine->dir, (long long)stored);
    if (options->stop_count == PIPE_FEEDER_STOPS)
        return engine_fail(engine, PIPE_EXIT_STATE,
                           "--count %lld: the traffic in %s was raised %d times already; use "
                           "another directory",
                           (long long)wanted, engine->dir, PIPE_FEEDER_STOPS);
    options->stops[options->stop_count++] = stored;
    options->count = wanted;
    return true;
}

static bool resume_feeder(struct pipe_engine *engine, struct engine_source *source)
{
    struct pipe_feeder_options *options = &source->feeder_options;
    const struct pipe_run_options *given = engine->options;
    struct pipe_buf value = {0};
    struct pipe_reader reader;
    int64_t fed, count, stored, rate, seed, start, own_seed = (int64_t)options->seed;
    char name[128];
    bool found;
    snprintf(name, sizeof name, "feeder/%s", engine->plan->traffics[source->traffic].name);
    bool ok = engine->log->ops->get(engine->log, name, &value, &found) || engine_log_failed(engine);
    if (ok && found) {
        pipe_reader_init(&reader, value.data, value.size, NULL);
        if (!pipe_avro_long(&reader, &fed) || !pipe_avro_long(&reader, &count) ||
            !pipe_avro_long(&reader, &stored) || !pipe_rate_load(stored, &rate) ||
            !pipe_avro_long(&reader, &seed) || !pipe_avro_long(&reader, &start) ||
            !pipe_feeder_get_stops(&reader, options))
            ok = engine_fail(engine, PIPE_EXIT_DATA, "the log is damaged: metadata %s is malformed",
                             name);
        if (ok && !pipe_feeder_is_same(engine->plan, source->traffic, options))
            ok = engine_fail(engine, PIPE_EXIT_STATE,
                             "the traffic in %s was begun with another `traffic %s` statement: run "
                             "it with that one, leave out --traffic, or use another directory",
                             engine->dir, engine->plan->traffics[source->traffic].name);
        ok = ok && merge_count(engine, given->has_count, options, count) &&
             merge_rate(engine, options, rate) &&
             merge_option(engine, "seed", given->has_seed, &own_seed, seed) &&
             merge_option(engine, "start", given->has_start, &options->start_ms, start);
        options->seed = (uint64_t)own_seed;
        source->fed = ok ? (uint64_t)fed : 0;
    }
    options->definition = pipe_feeder_definition(engine->plan, source->traffic);
    pipe_buf_free(&value);
    return ok;
}

static bool open_feeder(struct pipe_engine *engine, uint32_t traffic)
{
    struct engine_source *source = &engine->sources[engine->plan->traffics[traffic].source];
    char error[512];
    if (source->files)
        return engine_fail(engine, PIPE_EXIT_USAGE,
                           source->def->is_kafka ? "--traffic writes to the topic of source %s, "
                                                   "but --path reads it from files; leave "
                                                   "one of them away"
                                                 : "--traffic feeds topics, but source %s reads "
                                                   "files; `traffic --to DIR` writes some, "
                                                   "and a run without --traffic reads them",
                           source->def->name);
    if (source->feeder != NULL)
        return true; /* the first traffic of a source is the one that runs */
    source->traffic = traffic;
    source->feeder_options = engine->options->feeder;
    if (!resume_feeder(engine, source))
        return false;
    source->paced = source->feeder_options.count < 0;
    source->feeder = pipe_feeder_open(engine->plan, traffic, source->partitions,
                                      &source->feeder_options, error, sizeof error);
    if (source->feeder == NULL)
        return engine_fail(engine, PIPE_EXIT_DATA, "%s", error);
    pipe_feeder_skip(source->feeder, source->fed);
    return true;
}

static bool open_feeders(struct pipe_engine *engine)
{
    if (!engine->options->traffic)
        return true;
    if (engine->plan->traffic_count == 0)
        return engine_fail(engine, PIPE_EXIT_USAGE,
                           "--traffic: the pipeline has no `traffic` statement to make events by; "
                           "write one, or run "
                           "it without --traffic");
    for (uint32_t i = 0; i < engine->plan->traffic_count; i++) {
        if (!open_feeder(engine, i))
            return false;
    }
    return true;
}

/* ---- Topics ---- */

static bool make_source_topics(struct pipe_engine *engine)
{
    const struct pipe_plan *plan = engine->plan;
    for (uint32_t i = 0; i < plan->source_count; i++) {
        struct engine_source *source = &engine->sources[i];
        struct pipe_plan_topic time;
        if (!source->files &&
            !make_topic(engine, source->def->target, source->partitions, &source->topic))
            return false;
        pipe_plan_topic(plan, PIPE_TOPIC_TIME, i, &time);
        if (!make_topic(engine, time.name, source->partitions, &source->time_topic))
            return false;
    }
    return true;
}

/* What no transaction of a shared log can hold. */
static bool check_grouped(struct pipe_engine *engine)
{
    for (uint32_t i = 0; i < engine->plan->source_count; i++) {
        if (engine->sources[i].files)
            return engine_fail(engine, PIPE_EXIT_USAGE,
                               "source %s reads files, which have no place in Kafka's commits: run "
                               "it with --embedded",
                               engine->sources[i].def->name);
    }
    for (uint32_t i = 0; i < engine->plan->sink_count && !engine->options->no_output; i++) {
        const struct pipe_sink_def *sink = &engine->plan->sinks[i];
        if (sink->kind == PIPE_SINK_FILE || sink->kind == PIPE_SINK_STDOUT ||
            engine_option_path(engine, sink->name) != NULL)
            return engine_fail(engine, PIPE_EXIT_USAGE,
                               "sink %s writes a file, which has no place in Kafka's commits: run "
                               "it with --embedded, or give the sink a topic",
                               sink->name);
    }
    return !engine->options->traffic ||
           engine_fail(engine, PIPE_EXIT_USAGE,
                       "--traffic writes to embedded topics, not to Kafka's: run it with "
                       "--embedded");
}

/* Rows for a follower (semantics.md §6), or of a table that has none yet, where no file can be part
 * of the commit. */
static bool make_rows_topic(struct pipe_engine *engine, struct engine_sink *sink, uint32_t index)
{
    struct pipe_plan_topic rows;
    pipe_plan_topic(engine->plan, PIPE_TOPIC_ROWS, index, &rows);
    sink->is_topic = sink->by_record = true;
    sink->partitions = rows.partitions;
    return make_topic(engine, rows.name, rows.partitions, &sink->topic);
}

/* A table's follower reads a topic that there is anyhow, or one of its own. */
static bool make_table(struct pipe_engine *engine, uint32_t index)
{
    struct engine_sink *sink = &engine->sinks[index];
    uint32_t topic_sink;
    sink->followed =
        pipe_plan_followed(engine->plan, index, &topic_sink) && engine->sinks[topic_sink].is_topic;
    return sink->followed || make_rows_topic(engine, sink, index);
}

static bool make_sinks(struct pipe_engine *engine)
{
    const struct pipe_plan *plan = engine->plan;
    engine->sinks = pipe_calloc(plan->sink_count + 1, sizeof *engine->sinks);
    for (uint32_t i = 0; i < plan->sink_count; i++) {
        struct engine_sink *sink = &engine->sinks[i];
        sink->def = &plan->sinks[i];
        sink->is_topic = sink->def->kind == PIPE_SINK_KAFKA && !engine->options->no_output;
        sink->partitions = sink->def->partitions > 0 ? sink->def->partitions : 1;
        if (sink->is_topic && engine_option_path(engine, sink->def->name) != NULL)
            sink->is_topic = false; /* --path: JSON lines instead of the topic */
        if (sink->is_topic &&
            !make_topic(engine, sink->def->target, sink->partitions, &sink->topic))
            return false;
    }
    for (uint32_t i = 0; i < plan->sink_count && !engine->options->no_output; i++) {
        const struct pipe_sink_def *sink = &plan->sinks[i];
        bool rows = engine->log->grouped; /* no file of it is part of a commit */
        if (sink->kind == PIPE_SINK_KAFKA)
            continue;
        if (sink->kind == PIPE_SINK_CLICKHOUSE && engine_option_path(engine, sink->name) == NULL
                ? !make_table(engine, i)
                : rows && !make_rows_topic(engine, &engine->sinks[i], i))
            return false;
    }
    return true;
}

static int32_t stream_named(const struct pipe_plan *plan, const char *name)
{
    for (uint32_t i = 0; i < plan->stream_count; i++) {
        if (strcmp(plan->streams[i].name, name) == 0)
            return (int32_t)i;
    }
    return -1;
}

static bool make_exchanges(struct pipe_engine *engine)
{
    const struct pipe_plan *plan = engine->plan;
    engine->exchanges = pipe_calloc(plan->exchange_count + 1, sizeof *engine->exchanges);
    for (uint32_t i = 0; i < plan->exchange_count; i++) {
        struct engine_exchange *exchange = &engine->exchanges[i];
        exchange->def = &plan->exchanges[i];
        exchange->stream = stream_named(plan, exchange->def->name);
        struct pipe_plan_topic topic;
        pipe_plan_topic(plan, PIPE_TOPIC_EXCHANGE, i, &topic);
        if (!make_topic(engine, topic.name, topic.partitions, &exchange->topic))
            return false;
    }
    return true;
}

/* ---- Tasks ---- */

static struct pipe_hash_key hash_key_of(const struct engine_task *task)
{
    struct pipe_engine *engine = task->task.engine;
    struct pipe_hash_key key = {0};
    if (engine->store != NULL &&
        !pipe_store_task_key(engine->store, task->task.stage_index, task->task.partition, &key))
        engine_fail(engine, PIPE_EXIT_DATA, "%s", pipe_store_error(engine->store));
    return key;
}

/* What leaves memory goes to the store, where there is one. */
static void attach(struct engine_task *task, uint32_t state)
{
    struct pipe_store *store = task->task.engine->store;
    if (store == NULL || task->ops[state]->attach == NULL)
        return;
    struct pipe_state_reader reader =
        pipe_store_reader(store, task->task.stage_index, task->task.partition, state);
    task->ops[state]->attach(task->task.states[state], &reader);
}

static void make_states(struct engine_task *task, struct pipe_hash_key hash_key)
{
    const struct pipe_stage_def *stage = task->task.stage;
    task->task.states = pipe_calloc(stage->state_count + 1, sizeof *task->task.states);
    task->ops = pipe_calloc(stage->state_count + 1, sizeof *task->ops);
    task->merge_state = -1;
    for (uint32_t i = 0; i < stage->state_count; i++) {
        task->ops[i] = pipe_state_ops_of(stage->states[i].kind);
        task->task.states[i] = task->ops[i]->create(&stage->states[i], &hash_key);
        attach(task, i);
        if (stage->states[i].phase == PIPE_PHASE_MERGE &&
            stage->states[i].exchange == (uint32_t)stage->exchange)
            task->merge_state = (int32_t)i;
    }
}

static void make_task(struct pipe_engine *engine, struct engine_task *task, uint32_t stage_index,
                      uint32_t partition)
{
    const struct pipe_stage_def *stage = &engine->plan->stages[stage_index];
    struct pipe_log *log = engine->log;
    task->index = (uint32_t)(task - engine->tasks);
    task->task.plan = engine->plan;
    task->task.stage = stage;
    task->task.stage_index = stage_index;
    task->task.discards = engine->options->no_output;
    task->task.partition = (int32_t)partition;
    task->task.watermark = task->task.kafka_time_ms = PIPE_TIME_MIN;
    task->marked_watermark = task->told_watermark = task->raise_time_ms = PIPE_TIME_MIN;
    task->at_end_since_us = -1;
    task->last_raise_us = INT64_MIN / 2;
    task->phase = log->grouped ? ENGINE_ABSENT : ENGINE_RUNNING;
    task->remote = (struct engine_remote){PIPE_TIME_MIN, false, INT64_MIN};
    task->task.engine = engine;
    task->task.made_most = engine_made_most(engine);
    task->task.counters = pipe_calloc(engine->plan->stream_count + 1, sizeof *task->task.counters);
    pipe_arena_init(&task->task.arena,
                    (size_t)ARENA_RECORDS * engine->options->max_record_bytes + (1u << 20));
    if (stage->source >= 0) {
        struct engine_source *source = &engine->sources[stage->source];
        task->task.source = source->def;
        task->topic = source->topic;
        task->time_topic = source->time_topic;
        const char *name = source->standard_input                    ? "-"
                           : source->files && !source->def->is_kafka ? source->names[partition]
                                                                     : source->def->target;
        task->name = pipe_str_of(name, strlen(name));
    } else {
        task->topic = engine->exchanges[stage->exchange].topic;
        const char *name = log->topics[task->topic].name;
        task->name = pipe_str_of(name, strlen(name));
    }
    make_states(task, hash_key_of(task));
}

static void make_tasks(struct pipe_engine *engine)
{
    const struct pipe_plan *plan = engine->plan;
    engine->stage_first = pipe_calloc(plan->stage_count + 1, sizeof *engine->stage_first);
    engine->stage_partitions = pipe_calloc(plan->stage_count + 1, sizeof *engine->stage_partitions);
    for (uint32_t s = 0; s < plan->stage_count; s++) {
        const struct pipe_stage_def *stage = &plan->stages[s];
        engine->stage_first[s] = engine->task_count;
        engine->stage_partitions[s] = stage->source >= 0
                                          ? engine->sources[stage->source].partitions
                                          : plan->exchanges[stage->exchange].partitions;
        engine->task_count += engine->stage_partitions[s];
        if (stage->source >= 0)
            engine->sources[stage->source].first_task = engine->stage_first[s];
    }
    engine->tasks = pipe_calloc(engine->task_count + 1, sizeof *engine->tasks);
    for (uint32_t s = 0; s < plan->stage_count; s++) {
        for (uint32_t p = 0; p < engine->stage_partitions[s]; p++)
            make_task(engine, &engine->tasks[engine->stage_first[s] + p], s, p);
    }
}

static bool writes_to(const struct pipe_stage_def *stage, uint32_t exchange)
{
    for (uint32_t i = 0; i < stage->exchange_out_count; i++) {
        if (stage->exchanges_out[i] == exchange)
            return true;
    }
    return false;
}

/* Who sends markers to whom. */
static void connect(struct pipe_engine *engine)
{
    for (uint32_t e = 0; e < engine->plan->exchange_count; e++) {
        struct engine_exchange *exchange = &engine->exchanges[e];
        exchange->upstream = pipe_calloc(engine->task_count + 1, sizeof *exchange->upstream);
        for (uint32_t t = 0; t < engine->task_count; t++) {
            if (writes_to(engine->tasks[t].task.stage, e))
                exchange->upstream[exchange->upstream_count++] = &engine->tasks[t];
        }
    }
    for (uint32_t t = 0; t < engine->task_count; t++) {
        struct engine_task *task = &engine->tasks[t];
        if (task->task.stage->exchange < 0)
            continue;
        task->marker_count = engine->exchanges[task->task.stage->exchange].upstream_count;
        task->markers = pipe_calloc(task->marker_count + 1, sizeof *task->markers);
        for (uint32_t i = 0; i < task->marker_count; i++)
            task->markers[i] = PIPE_TIME_MIN;
    }
}

/* The position in a partition is that of one task. */
static bool check_readers(struct pipe_engine *engine)
{
    for (uint32_t t = 0; t < engine->task_count; t++) {
        for (uint32_t o = 0; o < t; o++) {
            const struct engine_task *task = &engine->tasks[t], *other = &engine->tasks[o];
            if (task->topic == other->topic && task->task.partition == other->task.partition)
                return engine_fail(engine, PIPE_EXIT_USAGE,
                                   "sources %s and %s read the same topic, %s, which Kafka keeps "
                                   "one position of: make them one source, or run with --embedded",
                                   other->task.stage->name, task->task.stage->name,
                                   task->name.data);
        }
    }
    return true;
}

bool engine_setup(struct pipe_engine *engine)
{
    engine->sources = pipe_calloc(engine->plan->source_count + 1, sizeof *engine->sources);
    for (uint32_t i = 0; i < engine->plan->source_count; i++)
        engine->sources[i].def = &engine->plan->sources[i];
    if (!engine_find_inputs(engine) || (engine->log->grouped && !check_grouped(engine)) ||
        !engine_check_inputs(engine) || !make_source_topics(engine) || !make_sinks(engine) ||
        !make_exchanges(engine) || !open_feeders(engine))
        return false;
    make_tasks(engine);
    connect(engine);
    return !engine->failed && (!engine->log->grouped || check_readers(engine));
}

void engine_drop_task(struct engine_task *task)
{
    struct pipe_engine *engine = task->task.engine;
    const struct pipe_stage_def *stage = task->task.stage;
    const struct pipe_hash_key hash_key = hash_key_of(task);
    for (uint32_t i = 0; i < stage->state_count; i++) {
        task->ops[i]->destroy(task->task.states[i]);
        task->task.states[i] = task->ops[i]->create(&stage->states[i], &hash_key);
        attach(task, i);
    }
    if (task->reader != NULL)
        engine->log->ops->reader_close(task->reader);
    task->reader = NULL;
    watermark_close(task);
    schemas_forget(task);
    for (uint32_t i = 0; i < task->marker_count; i++)
        task->markers[i] = PIPE_TIME_MIN;
    memset(task->task.counters, 0, engine->plan->stream_count * sizeof *task->task.counters);
    task->task.watermark = task->task.kafka_time_ms = PIPE_TIME_MIN;
    task->marked_watermark = task->told_watermark = task->raise_time_ms = PIPE_TIME_MIN;
    task->position = task->committed = (struct engine_position){0};
    task->has_committed = task->held = task->idle = task->dirty = task->ended = false;
    task->at_end_since_us = -1;
    task->skipped = 0;
    task->drops++;
}

/* ---- The end ---- */

static void free_task(struct engine_task *task)
{
    for (uint32_t i = 0; i < task->task.stage->state_count; i++)
        task->ops[i]->destroy(task->task.states[i]);
    if (task->input != NULL)
        task->input->ops->close(task->input);
    if (task->reader != NULL)
        task->task.engine->log->ops->reader_close(task->reader);
    watermark_close(task);
    schemas_forget(task);
    pipe_arena_free(&task->task.arena);
    free(task->rows);
    pipe_buf_free(&task->task.key);
    pipe_buf_free(&task->task.value);
    pipe_buf_free(&task->task.text);
    free(task->task.counters);
    free(task->task.states);
    free(task->ops);
    free(task->markers);
}

static void free_source(struct engine_source *source)
{
    for (uint32_t i = 0; source->paths != NULL && i < source->partitions; i++) {
        free(source->paths[i]);
        if (source->names != NULL)
            free(source->names[i]);
    }
    free(source->paths);
    free(source->names);
    free(source->lengths);
    free(source->modified_ns);
    free(source->changed);
    if (source->feeder != NULL)
        pipe_feeder_close(source->feeder);
}

void engine_free_parts(struct pipe_engine *engine)
{
    for (uint32_t t = 0; engine->tasks != NULL && t < engine->task_count; t++)
        free_task(&engine->tasks[t]);
    for (uint32_t i = 0; engine->sources != NULL && i < engine->plan->source_count; i++)
        free_source(&engine->sources[i]);
    for (uint32_t i = 0; engine->sinks != NULL && i < engine->plan->sink_count; i++) {
        if (engine->sinks[i].output != NULL)
            engine->sinks[i].output->ops->close(engine->sinks[i].output);
        pipe_buf_free(&engine->sinks[i].frame);
        free(engine->sinks[i].path);
    }
    for (uint32_t e = 0; engine->exchanges != NULL && e < engine->plan->exchange_count; e++)
        free(engine->exchanges[e].upstream);
    for (uint32_t i = 0; i < engine->reject_count; i++) {
        free(engine->rejects[i].rule);
        free(engine->rejects[i].reason);
    }
    free(engine->tasks);
    free(engine->sources);
    free(engine->sinks);
    free(engine->exchanges);
    free(engine->stage_first);
    free(engine->stage_partitions);
    free(engine->schema_ids);
    free(engine->rejects);
    pipe_buf_free(&engine->scratch);
    engine_close_schemas(engine);
}
