/* emit_tables.c: the plan as static const tables, and main. */
#include "emit.h"
#include "contracts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *format_name(enum format format)
{
    static const char *const names[] = {
        [FORMAT_NONE] = "PIPE_FORMAT_JSON",   [FORMAT_AVRO] = "PIPE_FORMAT_AVRO",
        [FORMAT_JSON] = "PIPE_FORMAT_JSON",   [FORMAT_JSONL] = "PIPE_FORMAT_JSONL",
        [FORMAT_CSV] = "PIPE_FORMAT_CSV",     [FORMAT_TEXT] = "PIPE_FORMAT_TEXT",
        [FORMAT_BYTES] = "PIPE_FORMAT_BYTES", [FORMAT_PARQUET] = "PIPE_FORMAT_PARQUET",
    };
    return names[format];
}

static size_t stage_of_source(const struct emitter *e, const struct stream *stream)
{
    size_t i = 0;
    while (e->plan->stages.items[i]->source != stream)
        i++;
    return i;
}

/* The index of a source among the sources. */
static int32_t source_index(const struct emitter *e, const struct stream *stream)
{
    int32_t index = 0;
    for (size_t i = 0; e->program->streams.items[i] != stream; i++)
        index += e->program->streams.items[i]->kind == STREAM_SOURCE;
    return index;
}

/* ---- sources ---- */

/* The columns that an accepted version of the contract lacks, which a header may therefore lack. */
static const char *later_columns(struct emitter *e, const struct source_def *source)
{
    const struct record_type *row = source->payload;
    struct text list = {0};
    size_t count = 0;
    for (size_t i = 0; source->header && source->contract != NULL && i < row->field_count; i++) {
        if (!is_later_column(e->program, source->contract, i))
            continue;
        text_printf(&list, "%s%zu", count > 0 ? ", " : "", i);
        count++;
    }
    if (count == 0)
        return "";
    const char *code = arena_printf(
        e->arena, ".later = (const uint32_t[]){%s},\n.later_count = %zu,\n", list.data, count);
    text_free(&list);
    return code;
}

static const char *source_row(struct emitter *e, const struct stream *stream)
{
    const struct source_def *source = stream->source;
    struct row_view view = payload_view(e, stream);
    struct arena *arena = e->arena;
    const char *contract = "";
    if (source->contract != NULL)
        contract =
            arena_printf(arena, ".contract = &%s,\n", contract_table(e, source->contract, view));
    const char *time = "";
    if (stream->has_event_time)
        time = arena_printf(arena, ".has_event_time = true,\n.ahead = %s,\n",
                            c_duration(e, source->ahead_ms));
    if (stream->has_watermark)
        time =
            arena_printf(arena, "%s.has_watermark = true,\n.watermark = %s,\n.idle = %s,\n%s", time,
                         c_duration(e, source->watermark_ms), c_duration(e, source->idle_ms),
                         source->idle_advance ? ".idle_advance = true,\n" : "");
    return arena_printf(
        arena,
        ".name = %s,\n.stream = %s,\n.is_kafka = %s,\n.target = %s,\n.partitions = %u,\n"
        ".format = %s,\n%s%s%s.row = &%s,\n.row_bytes = sizeof(struct %s),\n%s%s.stage = %s,",
        c_string_z(e, stream->name.text), names_of(e, stream)->index, c_bool(source->is_kafka),
        c_string_z(e, source->is_kafka ? source->topic : source->path),
        source->is_kafka ? source->partitions : 0, format_name(source->format),
        source->header ? ".header = true,\n" : "", later_columns(e, source), contract,
        row_descriptor(e, view), view.info->tag, time,
        source->drop_tombstones ? ".drop_tombstones = true,\n" : "",
        e->stages.items[stage_of_source(e, stream)]);
}

static void emit_source_table(struct emitter *e)
{
    VEC(const char *) rows = {0};
    for (size_t i = 0; i < e->program->streams.count; i++)
        if (e->program->streams.items[i]->kind == STREAM_SOURCE)
            vec_push(e->arena, &rows, source_row(e, e->program->streams.items[i]));
    emit(e, 0, "static const struct pipe_source_def sources[] = {");
    for (size_t i = 0; i < rows.count; i++) {
        emit(e, 1, "{");
        emit(e, 2, "%s", rows.items[i]);
        emit(e, 1, "},");
    }
    emit(e, 0, "};\n");
}

/* ---- streams ---- */

/* What the stream reads, or who feeds it, as an initialiser. */
static const char *stream_inputs(struct emitter *e, const struct stream *stream)
{
    struct stream *const *inputs = stream->inputs;
    size_t count = stream->input_count;
    if (stream->kind != STREAM_NORMAL) {
        inputs = stream->feeders.items;
        count = stream->feeders.count;
    }
    if (count == 0)
        return "";
    struct text list = {0};
    for (size_t i = 0; i < count; i++)
        text_printf(&list, "%s%s", i > 0 ? ", " : "",
                    e->streams[stream_plan_of(e->program, inputs[i])->index].index);
    const char *text = arena_printf(
        e->arena, ", .inputs = (const uint32_t[]){%s}, .input_count = %zu", list.data, count);
    text_free(&list);
    return text;
}

static const char *stream_features(struct emitter *e, const struct stream *stream)
{
    bool filters = false, unnest = false, select = false, dedup = false, window = false;
    for (size_t i = 0; i < stream->step_count; i++) {
        const struct step *step = &stream->steps[i];
        filters = filters || step->kind == STEP_WHERE || step->kind == STEP_REQUIRE ||
                  step->kind == STEP_DIVERT;
        unnest = unnest || step->kind == STEP_UNNEST;
        select = select || step->kind == STEP_SELECT ||
                 (step->kind == STEP_WINDOW && args_may_fail(step));
        dedup = dedup || step->kind == STEP_DEDUP;
        window = window || step->kind == STEP_WINDOW;
    }
    bool exchange = stream_plan_of(e->program, stream)->exchange != NULL;
    return arena_printf(e->arena, "%s%s%s%s%s%s", filters ? ", .has_filters = true" : "",
                        unnest ? ", .has_unnest = true" : "", select ? ", .has_select = true" : "",
                        dedup ? ", .has_dedup = true" : "", window ? ", .has_window = true" : "",
                        exchange ? ", .has_exchange = true" : "");
}

static void emit_stream_table(struct emitter *e)
{
    static const char *const kinds[] = {"SOURCE", "NORMAL", "REJECTS", "LATE", "DIVERTED"};
    emit(e, 0, "static const struct pipe_stream_def streams[] = {");
    for (size_t i = 0; i < e->program->streams.count; i++) {
        const struct stream *stream = e->program->streams.items[i];
        emit(e, 1, "[%s] = {.name = %s, .kind = PIPE_STREAM_%s%s%s},", e->streams[i].index,
             c_string_z(e, stream->name.text), kinds[stream->kind], stream_inputs(e, stream),
             stream_features(e, stream));
    }
    emit(e, 0, "};\n");
}

/* ---- states and stages ---- */

static const char *window_fields(struct emitter *e, const struct step *step)
{
    struct arena *arena = e->arena;
    if (step->window == WINDOW_SESSION)
        return arena_printf(arena, ".gap = %s,\n%s", c_duration(e, step->gap_ms),
                            step->max_ms > 0
                                ? arena_printf(arena, ".max = %s,\n", c_duration(e, step->max_ms))
                                : "");
    int64_t every = step->window == WINDOW_HOPPING ? step->every_ms : step->size_ms;
    return arena_printf(arena, ".size = %s,\n.every = %s,\n%s", c_duration(e, step->size_ms),
                        c_duration(e, every),
                        step->offset_ms != 0
                            ? arena_printf(arena, ".offset = %s,\n", c_duration(e, step->offset_ms))
                            : "");
}

static const char *state_row(struct emitter *e, const struct state *state)
{
    static const char *const emits[] = {"PIPE_EMIT_CLOSE", "PIPE_EMIT_FINAL", "PIPE_EMIT_UPDATE"};
    static const char *const phases[] = {"PIPE_PHASE_LOCAL", "PIPE_PHASE_PARTIAL",
                                         "PIPE_PHASE_MERGE"};
    struct arena *arena = e->arena;
    const struct step *step = state->step;
    const struct stream_names *names = names_of(e, state->stream);
    bool dedup = step->kind == STEP_DEDUP;
    const char *kind = dedup                            ? "DEDUP"
                       : step->window == WINDOW_SESSION ? "SESSION"
                                                        : "WINDOW",
               *more = "";
    if (state->delay_ms != 0)
        more = arena_printf(arena, ".delay = %s,\n", c_duration(e, state->delay_ms));
    if (state->judge_by_record)
        more = arena_printf(arena, "%s.judge_by_record = true,\n", more);
    if (dedup) {
        more = arena_printf(arena, "%s.ttl = %s,\n", more, c_duration(e, step->ttl_ms));
    } else {
        more = arena_printf(arena, "%s%s", more, window_fields(e, step));
        if (step->lateness_ms != 0)
            more =
                arena_printf(arena, "%s.lateness = %s,\n", more, c_duration(e, step->lateness_ms));
        more = arena_printf(arena, "%s.emit = %s,\n", more, emits[step->emit]);
        if (step->emit == EMIT_UPDATE)
            more = arena_printf(arena, "%s.emit_every = %s,\n", more,
                                c_duration(e, step->emit_every_ms));
        if (step->sends_corrections)
            more = arena_printf(arena, "%s.sends_corrections = true,\n", more);
    }
    more = arena_printf(arena, "%s.phase = %s,\n", more, phases[state->phase]);
    if (state->phase != PHASE_LOCAL)
        more = arena_printf(arena, "%s.exchange = %s,\n", more,
                            e->exchanges.items[state->exchange->index]);
    if (!dedup && names->accumulator != NULL)
        more = arena_printf(arena, "%s.acc = &%s,\n", more, names->accumulator);
    if (!dedup && names->is_written && state->phase != PHASE_PARTIAL)
        more = arena_printf(arena, "%s.emit_row = %s,\n", more, names->emit_row);
    return arena_printf(arena, ".kind = PIPE_STATE_%s,\n.name = %s,\n.stream = %s,\n%s", kind,
                        c_string_z(e, state->stream->name.text), names->index, more);
}

static void emit_braced(struct emitter *e, const char *head, const char *fields)
{
    size_t size = strlen(fields);
    if (size > 0 && fields[size - 1] == '\n')
        fields = arena_strndup(e->arena, fields, size - 1);
    emit(e, 1, "%s{", head);
    emit(e, 2, "%s", fields);
    emit(e, 1, "},");
}

static void emit_stage_states(struct emitter *e, const struct stage *stage)
{
    const char *stage_name = e->stages.items[stage->index] + strlen("STAGE_");
    if (stage->states.count > 0) {
        emit(e, 0, "static const struct pipe_state_def states_of_%s[] = {", stage_name);
        for (size_t i = 0; i < stage->states.count; i++)
            emit_braced(e, "", state_row(e, stage->states.items[i]));
        emit(e, 0, "};\n");
    }
    if (stage->outputs.count == 0)
        return;
    const char *list = "", *delays = "";
    for (size_t i = 0; i < stage->outputs.count; i++) {
        list = arena_printf(e->arena, "%s%s%s", list, i > 0 ? ", " : "",
                            e->exchanges.items[stage->outputs.items[i]->index]);
        delays = arena_printf(e->arena, "%s%s%s", delays, i > 0 ? ", " : "",
                              c_duration(e, stage->output_delays_ms.items[i]));
    }
    emit(e, 0, "static const uint32_t exchanges_of_%s[] = {%s};", stage_name, list);
    emit(e, 0, "static const int64_t delays_of_%s[] = {%s};\n", stage_name, delays);
}

static void emit_stage_table(struct emitter *e)
{
    for (size_t i = 0; i < e->plan->stages.count; i++)
        emit_stage_states(e, e->plan->stages.items[i]);
    emit(e, 0, "static const struct pipe_stage_def stages[] = {");
    for (size_t i = 0; i < e->plan->stages.count; i++) {
        const struct stage *stage = e->plan->stages.items[i];
        const char *ident = e->stages.items[i] + strlen("STAGE_");
        const char *fields = arena_printf(
            e->arena, ".name = %s,\n.source = %d,\n.exchange = %d,\n.record = %s,\n",
            c_string_z(e, stage->name), stage->source != NULL ? source_index(e, stage->source) : -1,
            stage->input != NULL ? (int)stage->input->index : -1, record_function(e, stage));
        if (ahead_function(e, stage) != NULL)
            fields = arena_printf(e->arena, "%s.ahead = %s,\n", fields, ahead_function(e, stage));
        if (stage->states.count > 0)
            fields = arena_printf(e->arena, "%s.states = states_of_%s,\n.state_count = %zu,\n",
                                  fields, ident, stage->states.count);
        if (stage->outputs.count > 0)
            fields = arena_printf(
                e->arena,
                "%s.exchanges_out = exchanges_of_%s,\n.exchange_delays = delays_of_%s,\n"
                ".exchange_out_count = %zu,\n",
                fields, ident, ident, stage->outputs.count);
        emit_braced(e, arena_printf(e->arena, "[%s] = ", e->stages.items[i]), fields);
    }
    emit(e, 0, "};\n");
    if (e->plan->exchanges.count == 0)
        return;
    emit(e, 0, "static const struct pipe_exchange_def exchanges[] = {");
    for (size_t i = 0; i < e->plan->exchanges.count; i++) {
        const struct exchange *exchange = e->plan->exchanges.items[i];
        emit(e, 1,
             "[%s] = {.name = %s, .partitions = %u, .partials = %s, .to_stage = %s, .reason = %s},",
             e->exchanges.items[i], c_string_z(e, exchange->name), exchange->partitions,
             c_bool(exchange->kind == EXCHANGE_PARTIALS), e->stages.items[exchange->to->index],
             c_string_z(e, exchange->reason));
    }
    emit(e, 0, "};\n");
}

/* ---- sinks ---- */

/* Parsing Canonical Form of a schema that schema_derive made: what only says how to read a value
 * goes. */
static void add_canonical(struct text *out, const json_t *schema)
{
    static const char *const kept[] = {"name",  "type",   "fields", "symbols",
                                       "items", "values", "size"};
    size_t index;
    json_t *element;
    if (json_is_array(schema)) {
        text_puts(out, "[");
        json_array_foreach(schema, index, element)
        {
            text_puts(out, index > 0 ? "," : "");
            add_canonical(out, element);
        }
        text_puts(out, "]");
        return;
    }
    const json_t *type = json_object_get(schema, "type");
    bool is_primitive =
        json_is_object(schema) && json_is_string(type) && json_object_get(schema, "name") == NULL &&
        json_object_get(schema, "items") == NULL && json_object_get(schema, "values") == NULL;
    if (is_primitive) {
        text_printf(out, "\"%s\"", json_string_value(type));
        return;
    }
    if (!json_is_object(schema)) {
        if (json_is_integer(schema))
            text_printf(out, "%" PRId64, (int64_t)json_integer_value(schema));
        else
            text_printf(out, "\"%s\"", json_string_value(schema));
        return;
    }
    text_puts(out, "{");
    bool any = false;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        const json_t *value = json_object_get(schema, kept[i]);
        if (value == NULL)
            continue;
        text_printf(out, "%s\"%s\":", any ? "," : "", kept[i]);
        any = true;
        add_canonical(out, value);
    }
    text_puts(out, "}");
}

static uint64_t derived_fingerprint(const char *schema)
{
    json_t *json = json_loads(schema, 0, NULL);
    struct text canonical = {0};
    if (json != NULL)
        add_canonical(&canonical, json);
    uint64_t fingerprint =
        avro_fingerprint(canonical.data != NULL ? canonical.data : "", canonical.size);
    text_free(&canonical);
    json_decref(json);
    return fingerprint;
}

static void emit_sink_row(struct emitter *e, const struct sink *sink, const char *descriptor,
                          const char *table)
{
    static const char *const kinds[] = {"KAFKA", "CLICKHOUSE", "ICEBERG", "FILE", "STDOUT"};
    const char *format = sink_format(sink);
    const char *kind = sink->format == FORMAT_PARQUET ? "PARQUET" : kinds[sink->kind];
    emit(e, 1, "[%s] = {", e->sinks.items[sink_index(e, sink)]);
    emit(e, 2, ".name = %s,\n.stream = %s,\n.kind = PIPE_SINK_%s,", c_string_z(e, sink->name.text),
         names_of(e, sink->from)->index, kind);
    if (sink->target != NULL)
        emit(e, 2, ".target = %s,", c_string_z(e, sink->target));
    if (sink->kind == SINK_KAFKA)
        emit(e, 2, ".partitions = %u,", sink->partitions);
    emit(e, 2, ".format = %s,\n.row = &%s,", format, descriptor);
    if (strcmp(format, "PIPE_FORMAT_AVRO") == 0) {
        const struct schema *schema = sink->contract != NULL ? sink->contract->versions[0] : NULL;
        const char *text = schema != NULL
                               ? compact_json(e, schema->source->text, schema->source->size)
                           : sink->avro_schema != NULL ? sink->avro_schema
                                                       : "{}";
        emit(e, 2, ".avro_fingerprint = UINT64_C(0x%016" PRIx64 "),",
             schema != NULL ? schema->fingerprint : derived_fingerprint(text));
        emit(e, 2, ".avro_schema =");
        emit_long_string(e, 3, text, ",");
    }
    if (sink->exactly_once)
        emit(e, 2, ".exactly_once = true,");
    if (sink->source_key && sink->kind == SINK_KAFKA)
        emit(e, 2, ".source_key = true,");
    if (sink->upsert_count > 0 && sink->kind == SINK_KAFKA)
        emit(e, 2, ".upsert = true,");
    if (sink->kind == SINK_CLICKHOUSE || sink->kind == SINK_ICEBERG ||
        sink->format == FORMAT_PARQUET)
        emit(e, 2, ".commit_ms = %" PRId64 ",\n.commit_bytes = %" PRId64 ",", sink->commit_ms,
             sink->commit_bytes);
    for (size_t i = 0; i < e->program->slos.count; i++) {
        const struct slo *slo = e->program->slos.items[i];
        if (slo->sink == sink)
            emit(e, 2, ".fresh_ms = %" PRId64 ",", slo->within_ms);
    }
    if (table != NULL)
        emit(e, 2, ".table = &%s,", table);
    emit(e, 1, "},");
}

static void emit_sink_table(struct emitter *e)
{
    size_t count = e->program->sinks.count;
    if (count == 0)
        return;
    const char **descriptors = arena_alloc(e->arena, count * sizeof *descriptors);
    const char **tables = arena_alloc(e->arena, count * sizeof *tables);
    for (size_t i = 0; i < count; i++) {
        const struct sink *sink = e->program->sinks.items[i];
        descriptors[i] = row_descriptor(e, encoded_view(e, sink));
        tables[i] = sink->kind == SINK_CLICKHOUSE ? emit_clickhouse_table(e, sink) : NULL;
    }
    emit(e, 0, "static const struct pipe_sink_def sinks[] = {");
    for (size_t i = 0; i < count; i++)
        emit_sink_row(e, e->program->sinks.items[i], descriptors[i], tables[i]);
    emit(e, 0, "};\n");
}

/* ---- regexes, plan, main ---- */

static void emit_regexes(struct emitter *e)
{
    if (e->regexes.count == 0)
        return;
    struct text *before = emit_to(e, SECTION_REGEXES);
    for (size_t i = 0; i < e->regexes.count; i++)
        emit(e, 0, "static struct pipe_regex *%s;", e->regexes.items[i].name);
    emit_blank(e);
    emit_comment(e, 0,
                 "Compiled once, before the first record; the patterns were checked when this file "
                 "was made.");
    emit(e, 0, "static void start(void)\n{");
    for (size_t i = 0; i < e->regexes.count; i++)
        emit(e, 1, "%s = pipe_regex_compile_str(%s, NULL);", e->regexes.items[i].name,
             c_str(e, e->regexes.items[i].pattern, e->regexes.items[i].pattern_bytes));
    emit(e, 0, "}\n");
    e->out = before;
}

static void emit_secrets(struct emitter *e)
{
    if (e->secrets.count == 0)
        return;
    emit(e, 0, "static const char *const secrets[] = {");
    for (size_t i = 0; i < e->secrets.count; i++)
        emit(e, 1, "%s,", c_string_z(e, e->secrets.items[i]));
    emit(e, 0, "};\n");
}

static void emit_text_constant(struct emitter *e, const char *name, const struct text *text)
{
    emit(e, 0, "static const char %s[] =", name);
    emit_long_string(e, 1, text->data != NULL ? text->data : "", ";");
    emit_blank(e);
}

static void emit_plan_row(struct emitter *e, const char *table, size_t count)
{
    if (count > 0)
        emit(e, 1, ".%ss = %ss,\n.%s_count = %zu,", table, table, table, count);
}

static void emit_plan(struct emitter *e, uint32_t traffic_count)
{
    struct program *program = e->program;
    struct text text = {0}, json = {0};
    size_t sources = 0;
    for (size_t i = 0; i < program->streams.count; i++)
        sources += program->streams.items[i]->kind == STREAM_SOURCE;
    explain(program, EXPLAIN_PHYSICAL, EXPLAIN_TEXT, 0, &text);
    explain(program, EXPLAIN_PHYSICAL, EXPLAIN_JSON, 0, &json);
    emit_text_constant(e, "explain_text", &text);
    emit_text_constant(e, "plan_json", &json);
    text_free(&text);
    text_free(&json);
    emit(e, 0, "static const struct pipe_plan plan = {");
    emit(e, 1, ".abi = PIPE_RUNTIME_ABI,\n.name = %s,\n.hash = \"%016" PRIx64 "\",",
         c_string_z(e, program->name), e->plan->hash);
    emit(e, 1, ".commit_ms = %" PRId64 ",\n.commit_bytes = %" PRId64 ",", program->commit_ms,
         program->commit_bytes);
    emit(e, 1, ".explain_text = explain_text,\n.plan_json = plan_json,");
    emit_plan_row(e, "source", sources);
    emit_plan_row(e, "stream", program->streams.count);
    emit_plan_row(e, "stage", e->plan->stages.count);
    emit_plan_row(e, "exchange", e->plan->exchanges.count);
    emit_plan_row(e, "sink", program->sinks.count);
    emit_plan_row(e, "traffic", traffic_count);
    if (e->regexes.count > 0)
        emit(e, 1, ".start = start,");
    emit_plan_row(e, "secret", e->secrets.count);
    emit(e, 0, "};\n");
    emit(e, 0, "int main(int argc, char **argv)\n{\n    return pipe_main(&plan, argc, argv);\n}");
}

static void emit_index_enum(struct emitter *e, const ident_list *names)
{
    if (names->count == 0)
        return;
    emit(e, 0, "enum {");
    for (size_t i = 0; i < names->count; i++)
        emit(e, 1, "%s,", names->items[i]);
    emit(e, 0, "};\n");
}

void emit_indexes(struct emitter *e)
{
    struct text *before = emit_to(e, SECTION_INDEXES);
    ident_list streams = {0};
    for (size_t i = 0; i < e->program->streams.count; i++)
        vec_push(e->arena, &streams, e->streams[i].index);
    emit_index_enum(e, &streams);
    emit_index_enum(e, &e->stages);
    emit_index_enum(e, &e->exchanges);
    emit_index_enum(e, &e->sinks);
    e->out = before;
}

void emit_tables(struct emitter *e)
{
    struct text *before = emit_to(e, SECTION_TABLES);
    emit_source_table(e);
    emit_stream_table(e);
    emit_stage_table(e);
    emit_sink_table(e);
    uint32_t traffic_count = emit_traffics(e);
    emit_secrets(e);
    emit_regexes(e);
    emit_plan(e, traffic_count);
    e->out = before;
}
