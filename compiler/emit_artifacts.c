/* emit_artifacts.c: the files beside the C, from the same plan: topics, tables, alerts, dashboard.
 * A file is written only if it has content; all are deterministic. */
#include "emit.h"
#include "emit_artifacts.h"

#include <stdlib.h>
#include <string.h>

void text_json(struct text *out, json_t *json)
{
    char *dump = json == NULL ? NULL : json_dumps(json, JSON_INDENT(2));
    if (dump == NULL)
        out_of_memory();
    text_printf(out, "%s\n", dump);
    free(dump);
    json_decref(json);
}

/* ---- topics.json ---- */

static json_t *column_names(const struct record_type *row, const uint32_t *columns, size_t count)
{
    json_t *names = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(names, json_string(row->fields[columns[i]].name));
    return names;
}

static void add_topic(json_t *topics, const char *name, const char *role, uint32_t partitions,
                      json_t *key, const char *cleanup, bool forever)
{
    json_t *config = json_pack("{s:s}", "cleanup.policy", cleanup);
    if (strcmp(cleanup, "delete") == 0 && forever)
        json_object_set_new(config, "retention.ms", json_string("-1"));
    if (strcmp(role, "source") == 0) /* the pipeline judges clocks by the broker's */
        json_object_set_new(config, "message.timestamp.type", json_string("LogAppendTime"));
    json_object_set_new(config, "unclean.leader.election.enable", json_string("false"));
    json_t *topic =
        json_pack("{s:s, s:s, s:i}", "name", name, "role", role, "partitions", (int)partitions);
    if (key != NULL)
        json_object_set_new(topic, "key", key);
    json_object_set_new(topic, "config", config);
    json_array_append_new(topics, topic);
}

static void add_sources(struct program *program, json_t *topics)
{
    for (size_t i = 0; i < program->streams.count; i++) {
        const struct stream *stream = program->streams.items[i];
        const struct source_def *source = stream->source;
        if (stream->kind != STREAM_SOURCE || !source->is_kafka)
            continue;
        json_t *key = source->key_count > 0
                          ? column_names(source->payload, source->key_columns, source->key_count)
                          : NULL;
        add_topic(topics, source->topic, "source", source->partitions, key, "delete", false);
        if (stream->has_watermark)
            add_topic(
                topics,
                arena_printf(program->arena, "pipec.%s.%s.time", program->name, stream->name.text),
                "time", source->partitions, NULL, "delete", true);
    }
}

static void write_topics(struct program *program, struct text *out)
{
    json_t *topics = json_array();
    add_sources(program, topics);
    for (size_t i = 0; i < program->plan->exchanges.count; i++) {
        const struct exchange *exchange = program->plan->exchanges.items[i];
        const struct step *step = exchange->step;
        add_topic(
            topics,
            arena_printf(program->arena, "pipec.%s.%s.exchange", program->name, exchange->name),
            "exchange", exchange->partitions,
            column_names(step->input, step->key_columns, step->key_count), "delete", true);
    }
    for (size_t i = 0; i < program->sinks.count; i++) {
        const struct sink *sink = program->sinks.items[i];
        if (sink->kind != SINK_KAFKA)
            continue;
        bool upsert = sink->upsert_count > 0;
        json_t *key = NULL;
        if (upsert || sink->key_count > 0)
            key = column_names(sink->from->row, upsert ? sink->upsert_columns : sink->key_columns,
                               upsert ? sink->upsert_count : sink->key_count);
        add_topic(topics, sink->target, "sink", sink->partitions, key,
                  upsert ? "compact" : "delete", false);
    }
    if (json_array_size(topics) > 0)
        text_json(out, json_pack("{s:s, s:o}", "pipeline", program->name, "topics", topics));
    else
        json_decref(topics);
}

/* ---- writing ---- */

/* A file without content is not written; what an earlier run left there goes. Not if one before it
 * failed: *good. */
static void write_artifact(bool *good, const char *directory, const char *name, struct text *text)
{
    if (*good)
        *good = text->size > 0 ? write_file(directory, name, text) : remove_file(directory, name);
    text_free(text);
}

static bool write_iceberg(struct emitter *e, const char *directory)
{
    struct program *program = e->program;
    bool good = true;
    const char *folder = arena_printf(program->arena, "%s/iceberg", directory);
    for (size_t i = 0; good && i < program->sinks.count; i++) {
        const struct sink *sink = program->sinks.items[i];
        if (sink->kind != SINK_ICEBERG)
            continue;
        struct text text = {0};
        write_iceberg_table(program, sink, &text);
        char *name = arena_printf(program->arena, "%s.json", sink->target);
        for (char *c = name; *c != '\0'; c++)
            if (*c == '/')
                *c = '_';
        good = make_directory(folder);
        write_artifact(&good, folder, name, &text);
    }
    return good;
}

bool emit_artifacts(struct emitter *e, const char *directory)
{
    struct program *program = e->program;
    struct text topics = {0}, clickhouse = {0}, alerts = {0}, dashboard = {0}, text = {0};
    write_topics(program, &topics);
    write_clickhouse(program, &clickhouse);
    write_alerts(program, &alerts);
    write_dashboard(program, &dashboard);
    explain(program, EXPLAIN_PHYSICAL, EXPLAIN_TEXT, 0, &text);
    bool good = true;
    write_artifact(&good, directory, "topics.json", &topics);
    write_artifact(&good, directory, "clickhouse.sql", &clickhouse);
    write_artifact(&good, directory, "alerts.rules.yml", &alerts);
    write_artifact(&good, directory, "dashboard.json", &dashboard);
    write_artifact(&good, directory, "explain.txt", &text);
    return good && write_iceberg(e, directory);
}
