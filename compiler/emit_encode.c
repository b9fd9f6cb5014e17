/* emit_encode.c: JSON of rows, keys, key texts, and the functions that hand rows to sinks. */
#include "emit.h"

#include <stdlib.h>
#include <string.h>

/* ---- JSON ---- */

static const char *json_function(struct emitter *e, struct row_view view);

static bool is_text(const struct type *type)
{
    return type->kind == TYPE_STRING || type->kind == TYPE_UUID;
}

static const char *nested_encoder(struct emitter *e, const struct record_type *record)
{
    return json_function(e, (struct row_view){row_info_of(e, record, record->name), record});
}

/* Functions of nested values come before the function that calls them. */
static void prepare(struct emitter *e, const struct type *type)
{
    if (type->kind == TYPE_RECORD)
        nested_encoder(e, type->record);
    else if (type->kind == TYPE_ARRAY || type->kind == TYPE_MAP)
        type_descriptor(e, type);
}

/* The statement that writes a value that is not null. */
static const char *json_call(struct emitter *e, const struct type *type, const char *value)
{
    struct arena *arena = e->arena;
    switch (type->kind) {
    case TYPE_BOOL:
        return arena_printf(arena, "pipe_json_bool(buf, %s);", value);
    case TYPE_INT32:
    case TYPE_INT64:
    case TYPE_DURATION:
        return arena_printf(arena, "pipe_json_i64(buf, %s);", value);
    case TYPE_FLOAT32:
        return arena_printf(arena, "pipe_json_f32(buf, %s);", value);
    case TYPE_FLOAT64:
        return arena_printf(arena, "pipe_json_f64(buf, %s);", value);
    case TYPE_DECIMAL:
        return arena_printf(arena, "pipe_json_decimal(buf, %s, %u);", value, type->scale);
    case TYPE_STRING:
        if (type->is_json)
            return arena_printf(arena, "pipe_value_to_json(&%s, &%s, buf);",
                                type_descriptor(e, type), value);
        return arena_printf(arena, "pipe_json_string(buf, %s);", value);
    case TYPE_UUID:
        return arena_printf(arena, "pipe_json_clean(buf, %s);", value);
    case TYPE_BYTES:
        return arena_printf(arena, "pipe_json_base64(buf, %s);", value);
    case TYPE_ENUM:
        return arena_printf(arena, "pipe_json_enum(buf, %s.symbols, %s);", type_descriptor(e, type),
                            value);
    case TYPE_DATE:
        return arena_printf(arena, "pipe_json_date(buf, %s);", value);
    case TYPE_TIMESTAMP_MS:
        return arena_printf(arena, "pipe_json_timestamp_ms(buf, %s);", value);
    case TYPE_TIMESTAMP_US:
        return arena_printf(arena, "pipe_json_timestamp_us(buf, %s);", value);
    case TYPE_RECORD:
        return arena_printf(arena, "%s(buf, &%s);", nested_encoder(e, type->record), value);
    case TYPE_ARRAY:
    case TYPE_MAP:
    case TYPE_POISON:
    case TYPE_NULL:
        break;
    }
    return arena_printf(arena, "pipe_value_to_json(&%s, &%s, buf);", type_descriptor(e, type),
                        value);
}

/* A name as it stands in JSON: `{"event_id":`. */
static const char *json_name(struct emitter *e, const char *name, bool first)
{
    json_t *string = json_string(name);
    char *text = string == NULL ? NULL : json_dumps(string, JSON_ENCODE_ANY);
    if (text == NULL)
        out_of_memory();
    const char *copy = arena_printf(e->arena, "%s%s:", first ? "{" : ",", text);
    json_decref(string);
    free(text);
    return copy;
}

static const char *json_function(struct emitter *e, struct row_view view)
{
    for (size_t i = 0; i < e->encoders.count; i++)
        if (e->encoders.items[i].view.info == view.info &&
            same_row(e->encoders.items[i].view.type, view.type))
            return e->encoders.items[i].name;
    for (size_t i = 0; i < view.type->field_count; i++)
        prepare(e, view.type->fields[i].type);
    const char *name = global_name(e, "json_of_%s", view.info->tag);
    struct text *before = emit_to(e, SECTION_ENCODERS);
    struct function_text function;
    function_begin(e, &function);
    for (size_t i = 0; i < view.type->field_count; i++) {
        const struct field *field = &view.type->fields[i];
        const struct member *member = &view.info->members[i];
        const char *call =
            json_call(e, field->type, arena_printf(e->arena, "row->%s", member->name));
        emit(e, 1, "PIPE_JSON_RAW(buf, %s);", c_string_z(e, json_name(e, field->name, i == 0)));
        if (field->nullable)
            emit(e, 1, "if (row->%s)\n    pipe_json_null(buf);\nelse\n    %s", member->null, call);
        else
            emit(e, 1, "%s", call);
    }
    emit(e, 1,
         view.type->field_count > 0 ? "PIPE_JSON_RAW(buf, \"}\");" : "PIPE_JSON_RAW(buf, \"{}\");");
    static const char *const parameters[] = {"row"};
    function_end(e, &function,
                 arena_printf(e->arena,
                              "static void %s(struct pipe_buf *buf, const struct %s *row)", name,
                              view.info->tag),
                 parameters, 1);
    e->out = before;
    vec_push(e->arena, &e->encoders, ((struct view_descriptor){view, name}));
    return name;
}

const char *json_encoder(struct emitter *e, struct row_view view)
{
    return json_function(e, view);
}

/* ---- keys of states and exchanges ---- */

static const char *key_call(struct emitter *e, const struct type *type, const char *value)
{
    switch (type->kind) {
    case TYPE_BOOL:
        return arena_printf(e->arena, "pipe_key_add_bool(key, %s);", value);
    case TYPE_DECIMAL:
        return arena_printf(e->arena, "pipe_key_add_decimal(key, %s);", value);
    case TYPE_STRING:
    case TYPE_BYTES:
        return arena_printf(e->arena, "pipe_key_add_str(key, %s);", value);
    case TYPE_UUID:
        return arena_printf(e->arena, "pipe_key_add_uuid(key, %s);", value);
    case TYPE_ENUM:
        return arena_printf(e->arena, "pipe_key_add_enum(key, %s);", value);
    case TYPE_INT32:
    case TYPE_INT64:
    case TYPE_DATE:
    case TYPE_TIMESTAMP_MS:
    case TYPE_TIMESTAMP_US:
    case TYPE_DURATION:
    case TYPE_FLOAT32:
    case TYPE_FLOAT64:
    case TYPE_RECORD:
    case TYPE_ARRAY:
    case TYPE_MAP:
    case TYPE_POISON:
    case TYPE_NULL:
        break;
    }
    return arena_printf(e->arena, "pipe_key_add_i64(key, %s);", value);
}

const char *key_function(struct emitter *e, struct row_view view, const uint32_t *columns,
                         size_t count, const char *name)
{
    struct function_text function;
    function_begin(e, &function);
    emit(e, 1, "key->size = 0;");
    const char *list = "";
    for (size_t i = 0; i < count; i++) {
        const struct member *member = &view.info->members[columns[i]];
        const struct field *field = &view.type->fields[columns[i]];
        const char *call =
            key_call(e, field->type, arena_printf(e->arena, "row->%s", member->name));
        list = arena_printf(e->arena, "%s%s%s", list, i > 0 ? ", " : "", field->name);
        if (field->nullable)
            emit(e, 1, "if (!pipe_key_add_null(key, row->%s))\n    %s", member->null, call);
        else
            emit(e, 1, "%s", call);
    }
    static const char *const parameters[] = {"row"};
    function.comment =
        arena_printf(e->arena, "The key: %s.", count > 0 ? list : "one for all rows");
    function_end(e, &function,
                 arena_printf(e->arena,
                              "static void %s(struct pipe_buf *key, const struct %s *row)", name,
                              view.info->tag),
                 parameters, 1);
    return name;
}

/* ---- key texts ---- */

/* The text of one plain column as an expression; NULL: it takes statements. */
static const char *plain_key_text(struct emitter *e, struct row_view view, uint32_t column)
{
    const struct field *field = &view.type->fields[column];
    const char *value = arena_printf(e->arena, "row->%s", view.info->members[column].name);
    if (field->nullable)
        return NULL;
    if (is_text(field->type))
        return value;
    if (field->type->kind == TYPE_ENUM)
        return arena_printf(e->arena, "pipe_cast_enum_string(%s, &%s)", value,
                            type_descriptor(e, field->type));
    return NULL;
}

/* Statements that leave the key text in `text`, a struct pipe_buf *. */
static void emit_key_parts(struct emitter *e, struct row_view view, const uint32_t *columns,
                           size_t count)
{
    const struct field *only = count == 1 ? &view.type->fields[columns[0]] : NULL;
    if (only != NULL && !only->nullable && type_is_integer(only->type)) {
        emit(e, 1, "pipe_json_i64(text, row->%s);", view.info->members[columns[0]].name);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const struct field *field = &view.type->fields[columns[i]];
        const struct member *member = &view.info->members[columns[i]];
        const char *call =
            json_call(e, field->type, arena_printf(e->arena, "row->%s", member->name));
        const char *in_text = call;
        for (const char *at; (at = strstr(in_text, "(buf,")) != NULL;)
            in_text = arena_printf(e->arena, "%.*s(text,%s", (int)(at - in_text), in_text,
                                   at + strlen("(buf,"));
        for (const char *at; (at = strstr(in_text, ", buf)")) != NULL;)
            in_text = arena_printf(e->arena, "%.*s, text)%s", (int)(at - in_text), in_text,
                                   at + strlen(", buf)"));
        emit(e, 1, "PIPE_JSON_RAW(text, \"%s\");", i == 0 ? "[" : ",");
        if (field->nullable)
            emit(e, 1, "if (row->%s)\n    pipe_json_null(text);\nelse\n    %s", member->null,
                 in_text);
        else
            emit(e, 1, "%s", in_text);
    }
    emit(e, 1, "PIPE_JSON_RAW(text, \"]\");");
}

/* A C expression for the key text of `row`; statements go into a function of its own where it takes
 * some. */
const char *key_text_expression(struct emitter *e, struct row_view view, const uint32_t *columns,
                                size_t count, const char *name)
{
    const char *plain = count == 1 ? plain_key_text(e, view, columns[0]) : NULL;
    if (plain != NULL)
        return plain;
    const char *function_name = global_name(e, "key_text_of_%s", name);
    struct function_text function;
    function_begin(e, &function);
    emit(e, 1, "text->size = 0;");
    emit_key_parts(e, view, columns, count);
    emit(e, 1, "return pipe_str_of(text->data, text->size);");
    function_end(
        e, &function,
        arena_printf(e->arena,
                     "static struct pipe_str %s(struct pipe_buf *text, const struct %s *row)",
                     function_name, view.info->tag),
        NULL, 0);
    return arena_printf(e->arena, "%s(&task->key, row)", function_name);
}

/* ---- sinks ---- */

static bool writes_avro(const struct sink *sink)
{
    return (sink->kind == SINK_KAFKA || sink->kind == SINK_FILE) && sink->format == FORMAT_AVRO;
}

static bool writes_csv(const struct sink *sink)
{
    return (sink->kind == SINK_FILE || sink->kind == SINK_STDOUT) && sink->format == FORMAT_CSV;
}

const char *sink_format(const struct sink *sink)
{
    if (writes_avro(sink))
        return "PIPE_FORMAT_AVRO";
    if (writes_csv(sink))
        return "PIPE_FORMAT_CSV";
    return sink->kind == SINK_KAFKA ? "PIPE_FORMAT_JSON" : "PIPE_FORMAT_JSONL";
}

/* The row as the sink's contract has it: its fields in their order, which may be another than the
 * stream's. */
struct row_view sink_view(struct emitter *e, const struct sink *sink)
{
    struct row_view from = names_of(e, sink->from)->leaves;
    if (sink->contract == NULL || from.info->builtin)
        return from;
    const struct record_type *record = sink->contract->versions[0]->record;
    return view_near(e, from.info, record, record->name);
}

/* What the bytes of a sink are made from. Only Avro tells a column that can't be null from one that
 * is not: for the rest the flag, false wherever a null was ruled out, says enough, and streams that
 * narrow differently share. */
struct row_view encoded_view(struct emitter *e, const struct sink *sink)
{
    struct row_view view = sink_view(e, sink);
    return writes_avro(sink) ? view : whole_view(view);
}

/* Writes the row into task->value, once for all sinks that want the same bytes of it. */
static void emit_encoding(struct emitter *e, const struct sink *sink, struct row_view view,
                          const char *row)
{
    if (!writes_avro(sink) && !writes_csv(sink)) {
        const char *encoder = json_encoder(e, view);
        emit(e, 1, "if (!pipe_encoded(task, %s, (const void *)%s))", row, encoder);
        emit(e, 2, "%s(&task->value, %s);", encoder, row);
        return;
    }
    const char *descriptor = row_descriptor(e, view);
    const char *mark = writes_avro(sink) ? arena_printf(e->arena, "&%s", descriptor)
                                         : arena_printf(e->arena, "%s.columns", descriptor);
    emit(e, 1, "if (!pipe_encoded(task, %s, %s))", row, mark);
    emit(e, 2, "%s(&%s, %s, &task->value);",
         writes_avro(sink) ? "pipe_row_to_avro" : "pipe_row_to_csv", descriptor, row);
}

/* out = the row as the sink's contract has it: by name, types widened. */
static void emit_contract_row(struct emitter *e, struct row_view from, struct row_view to)
{
    emit(e, 1, "struct %s out = {0};\n", to.info->tag);
    for (size_t i = 0; i < to.type->field_count; i++) {
        const struct field *field = &to.type->fields[i];
        int32_t column = column_named(from.type, field->name);
        if (column < 0)
            continue;
        uint32_t steps[] = {(uint32_t)column};
        const struct field *source = &from.type->fields[column];
        struct expr path = {.kind = EXPR_PATH, .type = source->type, .nullable = source->nullable};
        path.steps.items = steps;
        path.steps.count = 1;
        struct expr convert = {.kind = EXPR_CONVERT, .type = field->type, .left = &path};
        struct value value =
            inline_value(e, from, type_equal(source->type, field->type) ? &path : &convert);
        emit(e, 1, "out.%s = %s;", to.info->members[i].name, value.code);
        if (value.null != NULL)
            emit(e, 1, "out.%s = %s;", to.info->members[i].null, value.null);
    }
    emit(e, 1, "pipe_new_row(task);\n");
}

static void emit_sink_body(struct emitter *e, const struct sink *sink, const char *key,
                           const struct clause_function *deleted)
{
    struct row_view from = names_of(e, sink->from)->leaves, view = sink_view(e, sink);
    const char *index = e->sinks.items[sink_index(e, sink)];
    if (key != NULL)
        emit(e, 1, "struct pipe_str key = %s;\n", key);
    const char *key_code = key != NULL ? "key" : "pipe_str_of(NULL, 0)";
    if (deleted != NULL && sink->kind == SINK_KAFKA) { /* a tombstone */
        emit(e, 1, "if (%s) {", clause_call(e, deleted, ""));
        emit(e, 2, "pipe_emit(task, %s, record, %s, pipe_str_of(NULL, 0));", index, key_code);
        emit(e, 2, "return;");
        emit(e, 1, "}");
    }
    bool converts = view.info != from.info;
    if (converts)
        emit_contract_row(e, from, view);
    emit_encoding(e, sink, encoded_view(e, sink), converts ? "&out" : "row");
    if (deleted != NULL && sink->kind == SINK_CLICKHOUSE) {
        emit(e, 1,
             "pipe_emit_deletable(task, %s, record, pipe_str_of(task->value.data, "
             "task->value.size), %s);",
             index, clause_call(e, deleted, ""));
        return;
    }
    emit(e, 1,
         "pipe_emit(task, %s, record, %s, pipe_str_of(task->value.data, task->value.size%s));",
         index, key_code, writes_csv(sink) ? " - 1 /* the line end */" : "");
}

void emit_sink(struct emitter *e, const struct sink *sink)
{
    struct row_view from = names_of(e, sink->from)->leaves;
    const char *name = e->sink_functions.items[sink_index(e, sink)], *key = NULL;
    const struct clause_function *deleted = NULL;
    bool upsert = sink->upsert_count > 0;
    size_t count = upsert ? sink->upsert_count : sink->key_count;
    if (sink->kind == SINK_KAFKA && count > 0)
        key = key_text_expression(e, from, upsert ? sink->upsert_columns : sink->key_columns, count,
                                  name + strlen("sink_"));
    if (sink->delete_when != NULL)
        deleted =
            clause_function(e, from, sink->delete_when, arena_printf(e->arena, "%s_delete", name),
                            sink->delete_when->span, NULL);
    struct function_text function;
    function_begin(e, &function);
    emit_sink_body(e, sink, key, deleted);
    function.comment =
        clause_comment(e, sink->statement != NULL ? sink->statement->span : sink->span, NULL);
    stream_function_end(e, &function, name, from.info->tag);
}
