/* logical.c: the plan as a list of nodes (plan_nodes.def), and that list as JSON. */
#include "plan_nodes.h"
#include "../runtime/schema_json.h"

#include <inttypes.h>
#include <string.h>

#define FIELD(node, type, name, class)                                                             \
    {#name, FIELD_##type, CLASS_##class, offsetof(struct node_##node, name)},
#define NODE(kind, fields) static const struct node_field kind##_fields[] = {fields};
#include "plan_nodes.def"
#undef NODE
#undef FIELD

const struct node_shape node_shapes[NODE_KIND_COUNT] = {
#define FIELD(node, type, name, class)
#define NODE(kind, fields)                                                                         \
    [NODE_##kind] = {#kind, kind##_fields, sizeof kind##_fields / sizeof kind##_fields[0]},
#include "plan_nodes.def"
#undef NODE
#undef FIELD
};

struct builder {
    struct program *program;
    node_list nodes;
};

static const char *const format_names[] = {
    [FORMAT_NONE] = NULL,     [FORMAT_AVRO] = "avro",       [FORMAT_JSON] = "json",
    [FORMAT_JSONL] = "jsonl", [FORMAT_CSV] = "csv",         [FORMAT_TEXT] = "text",
    [FORMAT_BYTES] = "bytes", [FORMAT_PARQUET] = "parquet",
};

/* A new node of the kind, its fields zeroed. */
static void *add_node(struct builder *builder, enum node_kind kind, size_t size,
                      const struct stream *stream, const struct stage *stage)
{
    struct node node = {.kind = kind, .stream = stream, .stage = stage};
    node.fields = arena_alloc(builder->program->arena, size);
    vec_push(builder->program->arena, &builder->nodes, node);
    return node.fields;
}
#define ADD(builder, kind, stream, stage)                                                          \
    add_node((builder), NODE_##kind, sizeof(struct node_##kind), (stream), (stage))

static struct node *last_node(struct builder *builder)
{
    return &builder->nodes.items[builder->nodes.count - 1];
}

static json_t *names_json(const struct record_type *row, const uint32_t *columns, size_t count)
{
    json_t *names = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(names, json_string(row->fields[columns[i]].name));
    return names;
}

static const char *stream_name(const struct stream *stream)
{
    return stream != NULL ? stream->name.text : NULL;
}

static void drop_docs(json_t *schema)
{
    size_t index;
    const char *key;
    json_t *value;
    json_object_del(schema, "doc");
    json_object_foreach(schema, key, value) if (strcmp(key, "default") != 0) drop_docs(value);
    json_array_foreach(schema, index, value) drop_docs(value);
}

/* A schema as its file has it: what the canonical form leaves out (defaults, aliases, logical
 * types) decides what rows come out too. */
static json_t *definition_json(const struct schema *schema)
{
    json_error_t error;
    json_t *definition =
        pipe_schema_json(schema->source->text, schema->source->size, JSON_DECODE_ANY, &error);
    drop_docs(definition);
    return definition;
}

static void add_contract(struct builder *builder, const struct contract *contract)
{
    static const char *const names[] = {"none", "backward", "forward", "full"};
    struct node_contract *node = ADD(builder, contract, NULL, NULL);
    node->name = contract->name.text;
    node->compatibility =
        arena_printf(builder->program->arena, "%s%s", names[contract->compatibility],
                     contract->transitive ? " transitive" : "");
    node->versions = json_array();
    for (size_t i = 0; i < contract->version_count; i++) {
        const struct schema *schema = contract->versions[i];
        json_t *version = json_object();
        json_object_set_new(version, "label", json_string(schema->label));
        json_object_set_new(version, "definition", definition_json(schema));
        json_object_set_new(version, "schema",
                            json_loads(schema->canonical, JSON_DECODE_ANY, NULL));
        json_object_set_new(
            version, "fingerprint",
            json_string(arena_printf(builder->program->arena, "%016" PRIx64, schema->fingerprint)));
        json_array_append_new(node->versions, version);
    }
}

static void add_source(struct builder *builder, const struct stream *stream)
{
    const struct source_def *source = stream->source;
    struct node_source *node = ADD(builder, source, stream,
                                   stream_plan_of(builder->program, stream)->head_stages.items[0]);
    node->name = stream->name.text;
    node->transport = source->is_kafka ? "kafka" : "file";
    node->topic = source->topic;
    node->partitions = source->is_kafka ? source->partitions : 0;
    node->key = names_json(stream->row, source->key_columns, source->key_count);
    node->format = format_names[source->format];
    node->header = source->header;
    node->contract = source->contract != NULL ? source->contract->name.text : NULL;
    node->payload = columns_json(builder->program, source->payload);
    node->columns = columns_json(builder->program, stream->row);
    if (source->event_time_is_kafka_time)
        node->event_time = json_string("kafka_time");
    else if (source->event_time != NULL)
        node->event_time = expression_json(builder->program, source->payload, source->event_time);
    if (stream->has_event_time && !source->event_time_is_kafka_time)
        node->event_time_column = stream->row->fields[source->event_time_column].name;
    node->watermark_ms = stream->has_watermark ? source->watermark_ms : -1;
    node->idle_ms = source->idle_ms;
    node->idle_advance = source->idle_advance;
    node->ahead_ms = source->ahead_ms;
    node->drop_tombstones = source->drop_tombstones;
    node->rejects = stream_name(source->rejects);
}

static void add_stream(struct builder *builder, const struct stream *stream)
{
    static const char *const roles[] = {"source", "stream", "rejects", "late", "diverted"};
    const struct stream_plan *at = stream_plan_of(builder->program, stream);
    struct node_stream *node =
        ADD(builder, stream, stream, at->tail_stages.count == 1 ? at->tail_stages.items[0] : NULL);
    node->name = stream->name.text;
    node->role = roles[stream->kind];
    node->inputs = json_array();
    for (size_t i = 0; i < stream->input_count; i++)
        json_array_append_new(node->inputs, json_string(stream->inputs[i]->name.text));
    for (size_t i = 0; i < stream->feeders.count; i++)
        json_array_append_new(node->inputs, json_string(stream->feeders.items[i]->name.text));
    node->columns = columns_json(builder->program, stream->row);
    node->rejects = stream_name(stream->rejects);
    node->stages = json_array();
    for (size_t i = 0; i < at->head_stages.count; i++)
        json_array_append_new(node->stages, json_integer(at->head_stages.items[i]->index));
}

static void add_filter(struct builder *builder, const struct stream *stream,
                       const struct step *step)
{
    struct program *program = builder->program;
    json_t *expr = expression_json(program, step->input, step->expr);
    const char *text = expression_text(program, step->expr);
    const char *name = stream->name.text;
    if (step->kind == STEP_WHERE)
        *(struct node_where *)ADD(builder, where, stream, NULL) =
            (struct node_where){name, expr, text};
    else if (step->kind == STEP_REQUIRE)
        *(struct node_require *)ADD(builder, require, stream, NULL) =
            (struct node_require){name, expr, step->reason, text};
    else
        *(struct node_divert *)ADD(builder, divert, stream, NULL) =
            (struct node_divert){name, expr, stream_name(step->to), text};
}

static void add_select(struct builder *builder, const struct stream *stream,
                       const struct step *step)
{
    struct node_select *node = ADD(builder, select, stream, NULL);
    node->stream = stream->name.text;
    node->items = json_array();
    for (size_t i = 0; i < step->assigns.count; i++) {
        json_t *item = json_object();
        json_object_set_new(item, "name", json_string(step->assigns.items[i].name));
        json_object_set_new(
            item, "expr",
            expression_json(builder->program, step->input, step->assigns.items[i].expr));
        json_array_append_new(node->items, item);
    }
    node->columns = columns_json(builder->program, step->row);
}

static json_t *aggregates_json(struct builder *builder, const struct record_type *input,
                               const struct aggregate *aggregates, size_t count)
{
    static const char *const names[] = {
        [AGG_COUNT] = "count",
        [AGG_COUNT_IF] = "count_if",
        [AGG_SUM] = "sum",
        [AGG_AVG] = "avg",
        [AGG_MIN] = "min",
        [AGG_MAX] = "max",
        [AGG_FIRST] = "first",
        [AGG_LAST] = "last",
        [AGG_MIN_BY] = "min_by",
        [AGG_MAX_BY] = "max_by",
        [AGG_COUNT_DISTINCT] = "count_distinct",
        [AGG_APPROX_COUNT_DISTINCT] = "approx_count_distinct",
        [AGG_APPROX_QUANTILE] = "approx_quantile",
    };
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        const struct aggregate *aggregate = &aggregates[i];
        json_t *item = json_object();
        json_object_set_new(item, "name", json_string(aggregate->name));
        json_object_set_new(item, "function", json_string(names[aggregate->kind]));
        if (aggregate->arg != NULL)
            json_object_set_new(item, "arg",
                                expression_json(builder->program, input, aggregate->arg));
        if (aggregate->by != NULL)
            json_object_set_new(item, "by",
                                expression_json(builder->program, input, aggregate->by));
        if (aggregate->kind == AGG_APPROX_QUANTILE)
            json_object_set_new(item, "quantile", json_real(aggregate->quantile));
        if (aggregate->type != NULL)
            json_object_set_new(item, "type",
                                json_string(type_name(builder->program, aggregate->type)));
        json_array_append_new(list, item);
    }
    return list;
}

static void add_window(struct builder *builder, const struct stream *stream,
                       const struct step *step, const struct state *state)
{
    static const char *const windows[] = {"tumbling", "hopping", "session"};
    static const char *const emits[] = {"close", "final", "update"};
    struct node_window *node = ADD(builder, window, stream, state->stage);
    node->stream = stream->name.text;
    node->window = windows[step->window];
    node->size_ms = step->size_ms;
    node->every_ms = step->every_ms;
    node->offset_ms = step->offset_ms;
    node->gap_ms = step->gap_ms;
    node->max_ms = step->max_ms;
    node->group = names_json(step->input, step->key_columns, step->key_count);
    node->aggregates =
        aggregates_json(builder, step->input, step->aggregates, step->aggregate_count);
    node->lateness_ms = step->lateness_ms;
    node->late = stream_name(step->late);
    node->drop_late = step->drop_late;
    node->emit = emits[step->emit];
    node->emit_every_ms = step->emit_every_ms;
    node->corrections = step->sends_corrections;
    node->behind_exchange = state->exchange != NULL;
    node->delay_ms = state->delay_ms;
    node->columns = columns_json(builder->program, step->row);
    node->local_because = state->why_local;
}

static void add_exchange(struct builder *builder, const struct stream *stream,
                         const struct exchange *exchange)
{
    struct node_exchange *node = ADD(builder, exchange, stream, exchange->to);
    node->stream = stream->name.text;
    node->carries = exchange->kind == EXCHANGE_PARTIALS ? "partials" : "rows";
    node->key =
        names_json(exchange->step->input, exchange->step->key_columns, exchange->step->key_count);
    node->partitions = exchange->partitions;
    node->reason = exchange->reason;
    last_node(builder)->exchange = exchange;
}

static void add_stateful(struct builder *builder, const struct stream *stream,
                         const struct step *step)
{
    const struct stream_plan *at = stream_plan_of(builder->program, stream);
    if (at->exchange != NULL)
        add_exchange(builder, stream, at->exchange);
    if (step->kind == STEP_WINDOW) {
        add_window(builder, stream, step, at->state);
        return;
    }
    struct node_dedup *node = ADD(builder, dedup, stream, at->state->stage);
    node->stream = stream->name.text;
    node->key = names_json(step->input, step->key_columns, step->key_count);
    node->within_ms = step->ttl_ms;
    node->behind_exchange = at->exchange != NULL;
    node->local_because = at->state->why_local;
}

static void add_step(struct builder *builder, const struct stream *stream, const struct step *step)
{
    switch (step->kind) {
    case STEP_WHERE:
    case STEP_REQUIRE:
    case STEP_DIVERT:
        add_filter(builder, stream, step);
        break;
    case STEP_UNNEST: {
        struct node_unnest *node = ADD(builder, unnest, stream, NULL);
        node->stream = stream->name.text;
        node->expr = expression_json(builder->program, step->input, step->expr);
        node->as = step->unnest_as;
        node->columns = columns_json(builder->program, step->row);
        node->text = expression_text(builder->program, step->expr);
        break;
    }
    case STEP_SELECT:
        add_select(builder, stream, step);
        break;
    case STEP_DEDUP:
    case STEP_WINDOW:
        add_stateful(builder, stream, step);
        break;
    }
    last_node(builder)->step = step;
}

static json_t *transforms_json(const transform_list *transforms)
{
    json_t *list = json_array();
    for (size_t i = 0; transforms != NULL && i < transforms->count; i++) {
        const struct transform *transform = &transforms->items[i];
        json_t *item = json_object();
        json_object_set_new(item, "column", json_string(transform->column.text));
        if (transform->function.text != NULL)
            json_object_set_new(item, "function", json_string(transform->function.text));
        if (transform->has_argument)
            json_object_set_new(item, "argument", json_integer(transform->argument));
        json_array_append_new(list, item);
    }
    return list;
}

static json_t *upsert_json(struct builder *builder, const struct sink *sink)
{
    json_t *upsert = json_object();
    json_object_set_new(upsert, "by",
                        names_json(sink->from->row, sink->upsert_columns, sink->upsert_count));
    if (sink->version_column >= 0)
        json_object_set_new(upsert, "version",
                            json_string(sink->from->row->fields[sink->version_column].name));
    if (sink->delete_when != NULL)
        json_object_set_new(upsert, "delete_when",
                            expression_json(builder->program, sink->from->row, sink->delete_when));
    return upsert;
}

static void add_sink(struct builder *builder, const struct sink *sink, const char *guarantee)
{
    static const char *const kinds[] = {"kafka", "clickhouse", "iceberg", "file", "stdout"};
    struct node_sink *node = ADD(builder, sink, sink->from, NULL);
    node->name = sink->name.text;
    node->from = sink->from->name.text;
    node->kind = kinds[sink->kind];
    node->target = sink->kind == SINK_FILE ? NULL : sink->target;
    node->partitions = sink->partitions;
    node->key = names_json(sink->from->row, sink->key_columns, sink->key_count);
    node->source_key = sink->source_key;
    node->format = format_names[sink->format];
    if (sink->format == FORMAT_AVRO && sink->avro_schema != NULL)
        node->schema = json_loads(sink->avro_schema, JSON_DECODE_ANY, NULL);
    else if (sink->format == FORMAT_AVRO && sink->contract != NULL)
        node->schema = definition_json(sink->contract->versions[0]);
    node->exactly_once = sink->exactly_once;
    node->append_revisions = sink->append_revisions;
    node->upsert = sink->upsert_count > 0 ? upsert_json(builder, sink) : NULL;
    node->order = names_json(sink->from->row, sink->order_columns, sink->order_count);
    node->partition_by = transforms_json(sink->partition_by);
    node->rollups = json_array();
    for (size_t i = 0; i < sink->rollup_count; i++) {
        const struct rollup *rollup = &sink->rollups[i];
        json_t *item = json_object();
        json_object_set_new(item, "table", json_string(rollup->table));
        json_object_set_new(item, "by", transforms_json(rollup->transforms));
        json_object_set_new(
            item, "aggregates",
            aggregates_json(builder, sink->from->row, rollup->aggregates, rollup->aggregate_count));
        json_array_append_new(node->rollups, item);
    }
    node->commit_ms = sink->commit_ms;
    node->commit_bytes = sink->commit_bytes;
    node->guarantee = guarantee;
    last_node(builder)->sink = sink;
}

static void add_slo(struct builder *builder, const struct slo *slo)
{
    struct node_slo *node = ADD(builder, slo, slo->sink->from, NULL);
    node->sink = slo->sink->name.text;
    node->within_ms = slo->within_ms;
    struct expr percent = {.kind = EXPR_DECIMAL, .number = slo->percent};
    node->percent = expression_text(builder->program, &percent);
    node->over_ms = slo->over_ms;
}

node_list plan_nodes(const struct program *program)
{
    struct builder builder = {.program = (struct program *)program};
    for (size_t i = 0; i < program->contracts.count; i++)
        add_contract(&builder, program->contracts.items[i]);
    for (size_t i = 0; i < program->streams.count; i++) {
        const struct stream *stream = program->streams.items[i];
        if (stream->kind == STREAM_SOURCE)
            add_source(&builder, stream);
        else
            add_stream(&builder, stream);
        for (size_t s = 0; s < stream->step_count; s++)
            add_step(&builder, stream, &stream->steps[s]);
        for (size_t s = 0; s < program->sinks.count; s++)
            if (program->sinks.items[s]->from == stream)
                add_sink(&builder, program->sinks.items[s], program->plan->sinks[s].guarantee);
    }
    for (size_t i = 0; i < program->slos.count; i++)
        add_slo(&builder, program->slos.items[i]);
    return builder.nodes;
}

static json_t *field_json(const void *fields, const struct node_field *field)
{
    const char *at = (const char *)fields + field->offset;
    switch (field->type) {
    case FIELD_TEXT: {
        const char *text = *(node_TEXT const *)(const void *)at;
        return text != NULL ? json_string(text) : NULL;
    }
    case FIELD_INT:
        return json_integer(*(const node_INT *)(const void *)at);
    case FIELD_FLAG:
        return json_boolean(*(const node_FLAG *)(const void *)at);
    case FIELD_JSON: {
        json_t *json = *(node_JSON const *)(const void *)at;
        return json != NULL ? json_incref(json) : NULL;
    }
    }
    return NULL;
}

json_t *node_json(const struct node *node, bool fingerprint_only)
{
    const struct node_shape *shape = &node_shapes[node->kind];
    json_t *object = json_object();
    json_object_set_new(object, "node", json_string(shape->kind));
    for (size_t i = 0; i < shape->field_count; i++) {
        const struct node_field *field = &shape->fields[i];
        json_t *value = fingerprint_only && field->class == CLASS_COSMETIC
                            ? NULL
                            : field_json(node->fields, field);
        if (value != NULL)
            json_object_set_new(object, field->name, value);
    }
    return object;
}

void plan_nodes_release(node_list *nodes)
{
    for (size_t n = 0; n < nodes->count; n++) {
        const struct node_shape *shape = &node_shapes[nodes->items[n].kind];
        for (size_t i = 0; i < shape->field_count; i++)
            if (shape->fields[i].type == FIELD_JSON)
                json_decref(
                    *(node_JSON *)((char *)nodes->items[n].fields + shape->fields[i].offset));
    }
}

json_t *plan_json(const struct program *program, bool fingerprint_only)
{
    node_list nodes = plan_nodes(program);
    json_t *list = json_array();
    for (size_t i = 0; i < nodes.count; i++)
        if (!fingerprint_only || nodes.items[i].kind != NODE_slo)
            json_array_append_new(list, node_json(&nodes.items[i], fingerprint_only));
    plan_nodes_release(&nodes);
    json_t *plan = json_object();
    json_object_set_new(plan, "pipeline", json_string(program->name));
    json_object_set_new(plan, "nodes", list);
    if (!fingerprint_only) {
        char hash[17];
        snprintf(hash, sizeof hash, "%016" PRIx64, program->plan->hash);
        json_object_set_new(plan, "hash", json_string(hash));
    }
    return plan;
}
