/* emit_window.c: a row on its way into a window, late rows, and the row that a window becomes. */
#include "emit.h"

#include <string.h>

/* µs of the runtime as a value of the stream's event time column type. */
static const char *column_time(const struct type *type)
{
    return type->kind == TYPE_TIMESTAMP_US ? "pipe_column_ts_us" : "pipe_column_ts_ms";
}

/* ---- late rows ---- */

static void emit_late(struct emitter *e, const struct stream *stream, const struct step *step)
{
    struct stream_names *names = names_of(e, stream);
    struct row_view from = names->kept, to = names_of(e, step->late)->in;
    const char *push = row_pusher(e, to, step->late);
    size_t count = to.type->field_count;
    const struct member *last = &to.info->members[count - 3]; /* late_for, window_end, watermark */
    struct function_text function;
    function_begin(e, &function);
    emit(e, 1, "struct %s out = {0};\n", to.info->tag);
    for (size_t i = 0; i + 3 < count; i++) {
        int32_t column = column_named(from.type, to.type->fields[i].name);
        if (column >= 0)
            emit_column_copy(e, 1, from, (uint32_t)column, to, (uint32_t)i);
    }
    emit(e, 1, "out.%s = %s;", last[0].name,
         c_str(e, stream->name.text, strlen(stream->name.text)));
    emit(e, 1, "out.%s = %s(window_end);", last[1].name,
         column_time(to.type->fields[count - 2].type));
    emit(e, 1, "out.%s = %s(record->watermark);", last[2].name,
         column_time(to.type->fields[count - 1].type));
    emit(e, 1, "pipe_new_row(task);");
    emit(e, 1, "%s(task, record, &out);", push);
    static const char *const parameters[] = {"task", "record", "row"};
    function.comment =
        arena_printf(e->arena, "late to %s: a window that the row missed.", step->late->name.text);
    function_end(
        e, &function,
        arena_printf(
            e->arena,
            "static void late_%s(struct pipe_task *task, const struct pipe_record *record, const "
            "struct %s *row, int64_t window_end)",
            names->ident, from.info->tag),
        parameters, 3);
}

/* ---- in ---- */

static void emit_keep(struct emitter *e, const struct stream *stream, const struct step *step,
                      const struct window_functions *functions)
{
    struct stream_names *names = names_of(e, stream);
    bool session = step->window == WINDOW_SESSION;
    const char *state = state_index(e, stream);
    struct function_text function;
    function_begin(e, &function);
    emit_evaluations(e, stream, step, functions);
    emit_key_in_hand(e, stream);
    emit(e, 1, "struct pipe_window_hit hit = %s(task, %s, record, %s);",
         session ? "pipe_session" : "pipe_window", state, is_ahead_argument(e, stream));
    emit(e, 1, "if (hit.acc != NULL)\n    %s", functions->update_call);
    if (step->late != NULL && session) {
        emit(e, 1, "if (hit.late > 0)");
        emit(e, 2, "late_%s(task, record, row, hit.late_end);", names->ident);
    } else if (step->late != NULL) {
        emit(e, 1,
             "for (uint32_t i = 0; i < hit.late && "
             "pipe_may_make(task, record, PIPE_ITEM_BYTES); i++)");
        emit(e, 2, "late_%s(task, record, row, hit.late_end + i * %s);", names->ident,
             c_duration(e, step->window == WINDOW_HOPPING ? step->every_ms : step->size_ms));
    }
    stream_function_end(e, &function, names->keep, names->kept.info->tag);
}

/* ---- out ---- */

/* C that reads one group column from the key. */
static const char *key_reader(struct emitter *e, const struct type *type, const char *target)
{
    switch (type->kind) {
    case TYPE_BOOL:
        return arena_printf(e->arena, "pipe_key_bool(&at, end, &%s)", target);
    case TYPE_INT32:
    case TYPE_DATE:
        return arena_printf(e->arena, "pipe_key_i32(&at, end, &%s)", target);
    case TYPE_INT64:
    case TYPE_TIMESTAMP_MS:
    case TYPE_TIMESTAMP_US:
    case TYPE_DURATION:
        return arena_printf(e->arena, "pipe_key_i64(&at, end, &%s)", target);
    case TYPE_DECIMAL:
        return arena_printf(e->arena, "pipe_key_decimal(&at, end, &%s)", target);
    case TYPE_UUID:
        return arena_printf(e->arena, "pipe_key_uuid(&at, end, &task->arena, &%s)", target);
    case TYPE_ENUM:
        return arena_printf(e->arena, "pipe_key_enum(&at, end, %zu, &%s)", type->symbol_count,
                            target);
    case TYPE_STRING:
    case TYPE_BYTES:
    case TYPE_FLOAT32:
    case TYPE_FLOAT64:
    case TYPE_RECORD:
    case TYPE_ARRAY:
    case TYPE_MAP:
    case TYPE_POISON:
    case TYPE_NULL:
        break;
    }
    return arena_printf(e->arena, "pipe_key_str(&at, end, &%s)", target);
}

static void emit_group_columns(struct emitter *e, const struct stream *stream,
                               const struct step *step)
{
    struct row_view view = names_of(e, stream)->leaves;
    const char *all = "";
    for (size_t i = 0; i < step->key_count; i++) {
        const struct field *field = &view.type->fields[2 + i];
        const struct member *member = &view.info->members[2 + i];
        const char *read =
            key_reader(e, field->type, arena_printf(e->arena, "out.%s", member->name));
        if (column_null(view, (uint32_t)(2 + i)) != NULL)
            read = arena_printf(e->arena, "pipe_key_null(&at, end, &out.%s) && (out.%s || %s)",
                                member->null, member->null, read);
        all = arena_printf(e->arena, "%s%s%s", all, i > 0 ? " && " : "", read);
    }
    if (step->key_count == 0)
        return;
    emit(e, 1, "if (!(%s)) {", all);
    emit(e, 2, "pipe_fatal(task, \"%%s: a window's key is damaged\", %s);",
         c_string_z(e, stream->name.text));
    emit(e, 2, "return false;");
    emit(e, 1, "}");
}

/* Whether finish writes another C type than the column has. */
static const char *finish_type(struct emitter *e, const struct aggregate *aggregate)
{
    if (aggregate->kind != AGG_MIN && aggregate->kind != AGG_MAX)
        return NULL;
    const char *c = c_type(e, aggregate->type);
    if (strcmp(c, "int32_t") == 0 || strcmp(c, "uint32_t") == 0 || strcmp(c, "bool") == 0)
        return "int64_t";
    return strcmp(c, "float") == 0 ? "double" : NULL;
}

static bool keeps_encoded(const struct aggregate *aggregate)
{
    return aggregate->kind == AGG_FIRST || aggregate->kind == AGG_LAST ||
           aggregate->kind == AGG_MIN_BY || aggregate->kind == AGG_MAX_BY;
}

/* first, last, min_by, max_by: the value is kept in the state's encoding. What a column needs on
 * the way stands in a block: columns have any name, so none of a local is made of theirs. */
static void emit_finish_encoded(struct emitter *e, const struct stream *stream,
                                const struct aggregate *aggregate, const char *member,
                                const char *null)
{
    emit(e, 1, "{");
    emit(e, 2, "struct pipe_str bytes;");
    emit(e, 2, "bool none;");
    emit(e, 2, "pipe_%s_finish(&acc->%s, &bytes, &none);", aggregate_word(aggregate), member);
    emit(e, 2, "const uint8_t *from = (const uint8_t *)bytes.data;");
    emit(e, 2,
         "if (!none && !pipe_value_load(&%s, &from, from + bytes.size, &task->arena, &out.%s)) {",
         type_descriptor(e, aggregate->type), member);
    emit(e, 3, "pipe_fatal(task, \"%%s: the state of a window is damaged\", %s);",
         c_string_z(e, stream->name.text));
    emit(e, 3, "return false;");
    emit(e, 2, "}");
    if (null != NULL)
        emit(e, 2, "out.%s = none;", null);
    emit(e, 1, "}");
}

static void emit_finish(struct emitter *e, const struct stream *stream, const struct step *step,
                        size_t i)
{
    const struct aggregate *aggregate = &step->aggregates[i];
    struct row_view view = names_of(e, stream)->leaves;
    const struct member *column = &view.info->members[2 + step->key_count + i];
    if (keeps_encoded(aggregate)) {
        emit_finish_encoded(e, stream, aggregate, column->name, column->null);
        return;
    }
    const char *other = finish_type(e, aggregate);
    const char *target = other != NULL ? "value" : arena_printf(e->arena, "out.%s", column->name);
    const char *extra = "";
    if (aggregate->kind == AGG_APPROX_QUANTILE)
        extra = arena_printf(e->arena, "%.17g, ", aggregate->quantile);
    else if (aggregate->kind == AGG_AVG && aggregate->arg->type->kind == TYPE_DECIMAL)
        extra = arena_printf(e->arena, "%u, ", aggregate->arg->type->scale);
    const char *null =
        column->null != NULL ? arena_printf(e->arena, "&out.%s", column->null) : "NULL";
    const char *call = arena_printf(e->arena, "pipe_%s_finish(&acc->%s, %s&%s, %s)",
                                    aggregate_word(aggregate), column->name, extra, target, null);
    if (aggregate->kind == AGG_SUM) {
        emit(e, 1, "if (!%s)", call);
        emit(e, 2, "return overflow_%s(task, &record, window, &out, %s);",
             names_of(e, stream)->ident, c_string_z(e, aggregate->name));
        return;
    }
    if (other == NULL) {
        emit(e, 1, "%s;", call);
        return;
    }
    emit(e, 1, "{");
    emit(e, 2, "%s value;", other);
    emit(e, 2, "%s;", call);
    emit(e, 2, "out.%s = (%s)value;", column->name, c_type(e, aggregate->type));
    emit(e, 1, "}");
}

static bool has_sum(const struct step *step)
{
    for (size_t i = 0; i < step->aggregate_count; i++)
        if (step->aggregates[i].kind == AGG_SUM)
            return true;
    return false;
}

/* A sum beyond its type: rejects the window's row, or stops the program. */
static void emit_overflow(struct emitter *e, const struct stream *stream, const struct step *step)
{
    struct stream_names *names = names_of(e, stream);
    struct row_view view = names->leaves;
    const char *write = view.type->fields[0].type->kind == TYPE_TIMESTAMP_US
                            ? "pipe_csv_timestamp_us"
                            : "pipe_csv_timestamp_ms";
    struct function_text function;
    function_begin(e, &function);
    emit(e, 1, "struct pipe_buf *text = &task->text;\n");
    emit(e, 1, "text->size = 0;");
    emit(e, 1, "pipe_buf_printf(text, \"%%s: the total is out of range; window [\", column);");
    emit(e, 1, "%s(text, %s(window->start));", write, column_time(view.type->fields[0].type));
    emit(e, 1, "PIPE_JSON_RAW(text, \", \");");
    emit(e, 1, "%s(text, %s(window->end));", write, column_time(view.type->fields[1].type));
    if (step->key_count > 0) {
        const char *columns = "";
        for (size_t i = 0; i < step->key_count; i++)
            columns = arena_printf(e->arena, "%s%s%zu", columns, i > 0 ? ", " : "", 2 + i);
        emit(e, 1, "PIPE_JSON_RAW(text, \"), group \");");
        emit(e, 1, "pipe_key_text(text, &%s, row, (const uint32_t[]){%s}, %zu);",
             row_descriptor(e, view), columns, step->key_count);
    } else {
        emit(e, 1, "PIPE_JSON_RAW(text, \")\");");
    }
    emit(e, 1, "pipe_buf_add_byte(text, '\\0');");
    if (stream->rejects != NULL)
        emit_reject(e, 1, stream, NULL, "\"expression_failed\"", "(const char *)text->data");
    else
        emit(e, 1, "pipe_fatal(task, \"%%s: %%s\", %s, (const char *)text->data);",
             c_string_z(e, stream->name.text));
    emit(e, 1, "return false;");
    static const char *const parameters[] = {"record", "row"};
    function.comment = "The total of a sum does not fit its column.";
    function_end(
        e, &function,
        arena_printf(e->arena,
                     "static bool overflow_%s(struct pipe_task *task, const struct pipe_record "
                     "*record, const "
                     "struct pipe_window_row *window, const struct %s *row, const char *column)",
                     names->ident, view.info->tag),
        parameters, 2);
}

static void emit_window_row(struct emitter *e, const struct stream *stream, const struct step *step,
                            const struct window_functions *functions)
{
    struct stream_names *names = names_of(e, stream);
    struct row_view view = names->leaves;
    const struct type *time = view.type->fields[0].type;
    struct function_text function;
    function_begin(e, &function);
    if (stream->readers.count == 0 && !has_sum(step)) { /* else somebody asks what is in it */
        emit(e, 1, "if (pipe_discards(task)) { /* nobody reads it */");
        emit(e, 2, "task->counters[%s].out++;", names->index);
        emit(e, 2, "return true;");
        emit(e, 1, "}\n");
    }
    if (step->aggregate_count > 0)
        emit(e, 1, "const struct %s *acc = window->acc;", functions->acc_tag);
    if (step->key_count > 0)
        emit(e, 1, "const uint8_t *at = window->key, *end = at + window->key_bytes;");
    emit(e, 1, "struct pipe_arena_mark mark = pipe_arena_mark(&task->arena);");
    emit(e, 1, "struct %s out = {0};", view.info->tag);
    emit(e, 1, "const struct pipe_record record = {");
    emit(e, 2, ".kafka_time_ms = window->kafka_time_ms,");
    emit(e, 2, ".event_time = window->end - %s,",
         time->kind == TYPE_TIMESTAMP_US ? "PIPE_US(1)" : "PIPE_MS(1)");
    emit(e, 2, ".watermark = window->watermark,");
    emit(e, 1, "};\n");
    emit(e, 1, "out.%s = %s(window->start);", view.info->members[0].name, column_time(time));
    emit(e, 1, "out.%s = %s(window->end);", view.info->members[1].name, column_time(time));
    emit_group_columns(e, stream, step);
    for (size_t i = 0; i < step->aggregate_count; i++)
        emit_finish(e, stream, step, i);
    if (step->sends_corrections)
        emit(e, 1, "out.%s = window->revision;",
             view.info->members[view.type->field_count - 1].name);
    emit(e, 1, "pipe_new_row(task);");
    emit(e, 1, "%s(task, &record, &out);", names->out);
    emit(e, 1, "pipe_arena_back_to(&task->arena, mark);");
    emit(e, 1, "return true;");
    function.comment = "The row of a window that is due.";
    function_end(
        e, &function,
        arena_printf(e->arena,
                     "static bool %s(struct pipe_task *task, const struct pipe_window_row *window)",
                     names->emit_row),
        NULL, 0);
}

void emit_window(struct emitter *e, const struct stream *stream, const struct step *step)
{
    struct window_functions functions = {0};
    emit_accumulator(e, stream, step, &functions);
    if (step->late != NULL)
        emit_late(e, stream, step);
    emit_keep(e, stream, step, &functions);
    if (has_sum(step))
        emit_overflow(e, stream, step);
    emit_window_row(e, stream, step, &functions);
}
