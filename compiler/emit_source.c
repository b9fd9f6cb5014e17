/* emit_source.c: the functions that take one record into a stage: from a source, or from an
 * exchange. */
#include "emit.h"

#include <string.h>

/* Where a row of the source is refused; needs `task`, `record`. */
static const char *refuse_function(struct emitter *e, const struct stream *stream)
{
    struct stream_names *names = names_of(e, stream);
    static const char *const parameters[] = {"record"};
    const char *name = global_name(e, "refuse_%s", names->ident);
    struct function_text function;
    function_begin(e, &function);
    emit(e, 1, "struct pipe_counters *count = &task->counters[%s];\n", names->index);
    emit_reject(e, 1, stream, "source_rejected", "reason", "detail");
    emit(e, 1, "return false;");
    function_end(
        e, &function,
        arena_printf(
            e->arena,
            "static bool %s(struct pipe_task *task, const struct pipe_record *record, const char "
            "*reason, const char *detail)",
            name),
        parameters, 1);
    return name;
}

/* The claim of the key clause: each record's key is the key text of these columns. */
static void emit_key_check(struct emitter *e, const char *key, const char *refuse)
{
    emit(e, 1, "reason = pipe_judge_key(task, record, %s);", key);
    emit(e, 1, "if (reason != NULL)");
    emit(e, 2, "return %s(task, record, reason, task->detail);\n", refuse);
}

static const char *microseconds(struct emitter *e, const struct type *type, const char *code)
{
    return type->kind == TYPE_TIMESTAMP_US ? code : arena_printf(e->arena, "PIPE_MS(%s)", code);
}

/* The statement that refuses the record, and says whether the event time was null or failed. */
static const char *refuse_time(struct emitter *e, const char *refuse, const struct expr *expr,
                               const char *how)
{
    const char *detail = arena_printf(e->arena, "%s %s", emit_span_text(e, expr->span), how);
    return arena_printf(e->arena, "return %s(task, record, \"event_time_invalid\", %s);", refuse,
                        c_string_z(e, detail));
}

/* Statements that refuse the record if its event time is null or failed; returns the C of the time
 * in its unit. */
static const char *emit_event_time_value(struct emitter *e, const struct stream *stream,
                                         const struct clause_function *function, const char *refuse)
{
    const struct expr *expr = stream->source->event_time;
    struct row_view view = payload_view(e, stream);
    const char *is_null = refuse_time(e, refuse, expr, "is null");
    if (expr->kind == EXPR_PATH && expr->root == ROOT_KAFKA_TIME) {
        emit(e, 1, "if (record->kafka_time_ms == PIPE_TIME_MIN)\n    %s", is_null);
        return "record->kafka_time_ms";
    }
    if (function == NULL) {
        struct value value = inline_value(e, view, expr);
        if (value.null != NULL)
            emit(e, 1, "if (%s)\n    %s", value.null, is_null);
        return value.code;
    }
    if (!function->nullable && !function->fallible) {
        emit(e, 1, "int64_t event_time = %s;", clause_call(e, function, ""));
        return "event_time";
    }
    bool both = function->nullable && function->fallible;
    emit(e, 1, "int64_t event_time = 0;");
    if (both)
        emit(e, 1, "bool event_time_null = false;");
    emit(e, 1, "if (!%s)\n    %s",
         clause_call(e, function, both ? "&event_time, &event_time_null" : "&event_time"),
         function->fallible ? refuse_time(e, refuse, expr, "failed") : is_null);
    if (both)
        emit(e, 1, "if (event_time_null)\n    %s", is_null);
    return "event_time";
}

static void emit_event_time(struct emitter *e, const struct stream *stream,
                            const struct clause_function *function, const char *refuse)
{
    const struct source_def *source = stream->source;
    const struct row_info *info = names_of(e, stream)->leaves.info;
    if (source->event_time == NULL) {
        emit(e, 1, "record->event_time = PIPE_TIME_MIN;");
        return;
    }
    const char *code = emit_event_time_value(e, stream, function, refuse);
    if (source->event_time_added)
        emit(e, 1, "row->%s = %s;", info->members[source->event_time_column].name, code);
    emit(e, 1, "record->event_time = %s;", microseconds(e, source->event_time->type, code));
    emit(e, 1, "reason = pipe_judge_time(task, record, record->event_time);");
    emit(e, 1, "if (reason != NULL)");
    emit(e, 2, "return %s(task, record, reason, task->detail);", refuse);
}

static void emit_source_record(struct emitter *e, const struct stream *stream, const char *name)
{
    struct stream_names *names = names_of(e, stream);
    const struct source_def *source = stream->source;
    struct row_view view = payload_view(e, stream);
    struct clause_function *time = NULL;
    emit_comment(e, 0,
                 arena_printf(e->arena, "---- a record of source %s ----", stream->name.text));
    emit_blank(e);
    if (source->event_time != NULL && !is_trivial(source->event_time))
        time = clause_function(e, view, source->event_time,
                               arena_printf(e->arena, "%s_event_time", names->ident),
                               source->event_time->span, NULL);
    const char *key = NULL;
    if (source->is_kafka && source->key_count > 0)
        key = key_text_expression(e, view, source->key_columns, source->key_count, names->ident);
    const char *refuse = refuse_function(e, stream);
    emit(e, 0, "static bool %s(struct pipe_task *task, struct pipe_record *record)\n{", name);
    emit(e, 1, "struct pipe_counters *count = &task->counters[%s];", names->index);
    emit(e, 1, "void *decoded;\n");
    emit(e, 1, "count->read++;");
    if (source->drop_tombstones) {
        emit(e, 1, "if (record->payload.data == NULL) {");
        emit(e, 2, "count->tombstones++;\nreturn false;");
        emit(e, 1, "}");
    }
    emit(e, 1, "const char *reason = pipe_decode(task, record, &decoded);");
    emit(e, 1, "if (reason != NULL)");
    emit(e, 2, "return %s(task, record, reason, task->detail);\n", refuse);
    emit(e, 1, "%sstruct %s *row = decoded;\n", source->event_time_added ? "" : "const ",
         view.info->tag);
    if (key != NULL)
        emit_key_check(e, key, refuse);
    emit_event_time(e, stream, time, refuse);
    emit(e, 1, "\ncount->accepted++;");
    emit(e, 1, "pipe_new_row(task);");
    emit(e, 1, "%s(task, record, row);", names->out);
    emit(e, 1, "return true;");
    emit(e, 0, "}\n");
}

/* Whether rows of this type are decoded without memory of their own, as a rule. */
static bool is_flat(const struct record_type *type)
{
    for (size_t i = 0; i < type->field_count; i++) {
        enum type_kind kind = type->fields[i].type->kind;
        if (kind == TYPE_ARRAY || kind == TYPE_MAP || kind == TYPE_RECORD)
            return false;
    }
    return true;
}

/* Whether the key of the stream's state is in a row as the source decodes it. */
static bool key_is_decoded(const struct stream *source, const struct step *step)
{
    for (size_t i = 0; source->source->event_time_added && i < step->key_count; i++)
        if (step->key_columns[i] == source->source->event_time_column)
            return false;
    return true;
}

/* Whether rows of the source reach the state as they were decoded. */
static bool takes_decoded(struct emitter *e, const struct stage *stage, const struct stream *stream)
{
    if (stage->source == NULL || stage->source->source->contract == NULL)
        return false;
    struct row_view view = payload_view(e, stage->source);
    return is_flat(view.type) && names_of(e, stream)->kept.info == view.info;
}

static bool has_state(const struct stage *stage, const struct stream *stream)
{
    for (size_t i = 0; i < stage->states.count; i++)
        if (stage->states.items[i]->stream == stream)
            return true;
    return false;
}

bool is_asked_ahead(struct emitter *e, const struct stream *stream)
{
    const struct step *step = stateful_step(stream);
    bool any = false;
    if (step == NULL || step->key_count == 0)
        return false;
    for (size_t i = 0; i < e->plan->stages.count; i++) {
        const struct stage *stage = e->plan->stages.items[i];
        if (!has_state(stage, stream) || !takes_decoded(e, stage, stream))
            continue;
        if (!key_is_decoded(stage->source, step))
            return false; /* rows of all of them go through one function */
        any = true;
    }
    return any;
}

void emit_key_in_hand(struct emitter *e, const struct stream *stream)
{
    const char *key = names_of(e, stream)->key;
    if (!is_asked_ahead(e, stream)) {
        emit(e, 1, "%s(&task->key, row);", key);
        return;
    }
    emit(e, 1, "bool is_ahead = pipe_is_ahead(task, row);\n");
    emit(e, 1, "if (!is_ahead)");
    emit(e, 2, "%s(&task->key, row);", key);
}

const char *is_ahead_argument(struct emitter *e, const struct stream *stream)
{
    return is_asked_ahead(e, stream) ? "is_ahead" : "false";
}

/* Memory is slow: what dedups and windows will look up is asked for some records before. */
static const char *emit_ahead(struct emitter *e, const struct stage *stage)
{
    const struct stream *source = stage->source;
    struct row_view view = payload_view(e, source);
    const char *name = NULL;
    for (size_t i = 0; i < stage->states.count; i++) {
        const struct stream *stream = stage->states.items[i]->stream;
        if (!names_of(e, stream)->is_written || !takes_decoded(e, stage, stream) ||
            !is_asked_ahead(e, stream))
            continue;
        if (name == NULL) {
            name = global_name(e, "ahead_%s", names_of(e, source)->ident);
            emit_comment(e, 0,
                         "A row that comes soon: its keys, so that the memory is asked for that "
                         "they will need.");
            emit(e, 0, "static void %s(struct pipe_task *task, const void *decoded)\n{", name);
            emit(e, 1, "const struct %s *row = decoded;\n", view.info->tag);
        }
        emit(e, 1, "%s(pipe_key_ahead(task, %s), row);", names_of(e, stream)->key,
             state_index(e, stream));
    }
    if (name != NULL)
        emit(e, 0, "}\n");
    return name;
}

static void emit_exchange_record(struct emitter *e, const struct exchange *exchange,
                                 const char *name)
{
    struct stream_names *names = names_of(e, exchange->stream);
    emit_comment(e, 0,
                 arena_printf(e->arena, "---- a row out of the exchange in front of %s ----",
                              exchange->name));
    emit_blank(e);
    emit(e, 0, "static bool %s(struct pipe_task *task, struct pipe_record *record)\n{", name);
    emit(e, 1,
         "const uint8_t *at = (const uint8_t *)record->payload.data, *end = at + "
         "record->payload.size;");
    emit(e, 1, "struct %s row;\n", names->kept.info->tag);
    emit(e, 1, "if (!pipe_row_load(&%s, &at, end, &task->arena, &row)) {",
         row_descriptor(e, whole_view(names->kept)));
    emit(e, 2, "pipe_fatal(task, \"%%s: a row of the exchange is damaged\", %s);",
         c_string_z(e, exchange->name));
    emit(e, 2, "return false;");
    emit(e, 1, "}");
    emit(e, 1, "record->payload = pipe_exchange_payload(at, end);");
    emit(e, 1, "pipe_new_row(task);");
    emit(e, 1, "%s(task, record, &row);", names->keep);
    emit(e, 1, "return true;");
    emit(e, 0, "}\n");
}

const char *ahead_function(struct emitter *e, const struct stage *stage)
{
    return e->ahead_functions[stage->index];
}

const char *record_function(struct emitter *e, const struct stage *stage)
{
    return e->record_functions[stage->index];
}

void emit_sources(struct emitter *e)
{
    struct text *before = emit_to(e, SECTION_SOURCES);
    e->record_functions =
        arena_alloc(e->arena, (e->plan->stages.count + 1) * sizeof *e->record_functions);
    e->ahead_functions =
        arena_alloc(e->arena, (e->plan->stages.count + 1) * sizeof *e->ahead_functions);
    for (size_t i = 0; i < e->plan->stages.count; i++) {
        const struct stage *stage = e->plan->stages.items[i];
        const char *name = global_name(e, "record_%s", mangle(e, stage->name));
        e->record_functions[i] = "NULL";
        e->ahead_functions[i] = NULL;
        if (stage->source != NULL)
            e->ahead_functions[i] = emit_ahead(e, stage);
        if (stage->source != NULL)
            emit_source_record(e, stage->source, name);
        else if (stage->input->kind == EXCHANGE_ROWS &&
                 names_of(e, stage->input->stream)->is_written)
            emit_exchange_record(e, stage->input, name);
        else
            continue;
        e->record_functions[i] = name;
    }
    e->out = before;
}
