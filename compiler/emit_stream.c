/*
 * emit_stream.c: the functions of a stream, which a row passes in the order of the clauses:
 *
 *     push_x (filters) → unnest_x → select_x → keep_x (dedup, window) → out_x (readers, sinks)
 *
 * What a stream does not have is left out. In front of an exchange keep_x is ship_x, and keep_x is
 * called by the stage that reads the exchange.
 */
#include "emit.h"

#include <string.h>

/* The way of a row inside its stream, as the next function to call. */
struct path {
    const struct step *unnest, *select, *stateful;
    struct row_view filtered, unnested,
        selected; /* in front of unnest, select, the stateful clause */
    const char *after_filters, *after_unnest, *after_select;
};

/* ---- rejects ---- */

void emit_reject(struct emitter *e, int level, const struct stream *stream, const char *counter,
                 const char *reason, const char *detail)
{
    const struct stream *to =
        stream->kind == STREAM_SOURCE ? stream->source->rejects : stream->rejects;
    if (counter != NULL)
        emit(e, level, "count->%s++;", counter);
    if (to == NULL) { /* the checker says that it can't happen */
        emit(e, level, "pipe_fatal(task, \"%%s: %%s: %%s\", %s, %s, %s);",
             c_string_z(e, stream->name.text), reason,
             strcmp(detail, "NULL") == 0 ? "\"\"" : detail);
        return;
    }
    names_of(e, to)->is_called = true;
    emit(e, level, "%s(task, record, %s, %s, %s);", names_of(e, to)->reject, reason,
         c_string_z(e, stream->name.text), detail);
}

void emit_failure(struct emitter *e, int level, const struct stream *stream, const char *counter,
                  const struct expr *expr, const char *leave)
{
    emit_reject(e, level, stream, counter, "\"expression_failed\"",
                c_string_z(e, emit_span_text(e, expr->span)));
    emit(e, level, "%s", leave);
}

static void emit_reject_stream(struct emitter *e, const struct stream *stream)
{
    const struct stream_names *names = names_of(e, stream);
    static const char *const parameters[] = {"task"};
    struct function_text function;
    function_begin(e, &function);
    emit(e, 1, "struct pipe_reject row;\n");
    emit(e, 1, "pipe_reject_fill(&row, record, reason, rule, detail);");
    emit(e, 1, "pipe_new_row(task);");
    emit(e, 1, "%s(task, record, &row);", names->push);
    const char *head =
        arena_printf(e->arena,
                     "static void %s(struct pipe_task *task, const struct pipe_record *record, "
                     "const char *reason, const char *rule, const char *detail)",
                     names->reject);
    function_end(e, &function, head, parameters, 1);
    struct text *before = emit_to(e, SECTION_PROTOTYPES);
    emit(e, 0, "%s;", head);
    e->out = before;
}

/* ---- out ---- */

static void emit_out(struct emitter *e, const struct stream *stream)
{
    struct stream_names *names = names_of(e, stream);
    size_t count = stream->readers.count;
    const char **pushers = arena_alloc(e->arena, (count + 1) * sizeof *pushers);
    for (size_t i = 0; i < count; i++)
        pushers[i] = row_pusher(e, names->leaves, stream->readers.items[i]);
    for (size_t i = 0; i < stream->sinks.count; i++)
        emit_sink(e, stream->sinks.items[i]);
    struct function_text function;
    function_begin(e, &function);
    emit(e, 1, "task->counters[%s].out++;", names->index);
    if (stream->sinks.count > 0)
        emit(e, 1, "if (!pipe_discards(task)) {");
    for (size_t i = 0; i < stream->sinks.count; i++)
        emit(e, 2, "%s(task, record, row);",
             e->sink_functions.items[sink_index(e, stream->sinks.items[i])]);
    if (stream->sinks.count > 0)
        emit(e, 1, "}");
    for (size_t i = 0; i < count; i++)
        emit(e, 1, "%s(task, record, row);", pushers[i]);
    stream_function_end(e, &function, names->out, names->leaves.info->tag);
}

/* ---- filters ---- */

static const char *step_word(const struct step *step)
{
    return step->kind == STEP_WHERE ? "where" : step->kind == STEP_REQUIRE ? "require" : "divert";
}

static bool is_filter(const struct step *step)
{
    return step->kind == STEP_WHERE || step->kind == STEP_REQUIRE || step->kind == STEP_DIVERT;
}

static void emit_filter_end(struct emitter *e, const struct stream *stream, const struct step *step,
                            const char *diverted)
{
    if (step->kind == STEP_WHERE) {
        emit(e, 2, "count->dropped++;");
    } else if (step->kind == STEP_REQUIRE) {
        emit_reject(e, 2, stream, "rejected", c_string_z(e, step->reason), "NULL");
    } else {
        emit(e, 2, "count->diverted++;");
        emit(e, 2, "%s(task, record, row);", diverted);
    }
    emit(e, 2, "return;");
    emit(e, 1, "}");
}

/* One filter in the body of push_x; `function` NULL: the condition is trivial. */
static void emit_filter(struct emitter *e, const struct stream *stream, const struct step *step,
                        struct row_view view, const struct clause_function *function,
                        const char *diverted, unsigned number)
{
    const char *not = step->kind == STEP_DIVERT ? "" : "!";
    if (function == NULL) {
        emit(e, 1, "if (%s%s) {", not, inline_value(e, view, step->expr).code);
        emit_filter_end(e, stream, step, diverted);
        return;
    }
    if (!function->fallible) {
        emit(e, 1, "if (%s%s) {", not, clause_call(e, function, ""));
        emit_filter_end(e, stream, step, diverted);
        return;
    }
    const char *passes = arena_printf(e->arena, "%s_%u", step_word(step), number);
    emit(e, 1, "bool %s = false;", passes);
    emit(e, 1, "if (!%s) {", clause_call(e, function, arena_printf(e->arena, "&%s", passes)));
    emit_failure(e, 2, stream, "rejected", step->expr, "return;");
    emit(e, 1, "}");
    emit(e, 1, "if (%s%s) {", not, passes);
    emit_filter_end(e, stream, step, diverted);
}

static void emit_push(struct emitter *e, const struct stream *stream, const char *next)
{
    struct stream_names *names = names_of(e, stream);
    size_t count = stream->step_count;
    struct clause_function **functions = arena_alloc(e->arena, (count + 1) * sizeof *functions);
    const char **diverted = arena_alloc(e->arena, (count + 1) * sizeof *diverted);
    for (size_t i = 0; i < count && is_filter(&stream->steps[i]); i++) {
        const struct step *step = &stream->steps[i];
        const char *name =
            arena_printf(e->arena, "%s_%s_%zu", names->ident, step_word(step), i + 1);
        if (!is_trivial(step->expr))
            functions[i] =
                clause_function(e, names->in, step->expr, name, step->clause->span, NULL);
        if (step->kind == STEP_DIVERT)
            diverted[i] = row_pusher(e, names->in, step->to);
    }
    struct function_text function;
    function_begin(e, &function);
    emit(e, 1, "struct pipe_counters *count = &task->counters[%s];\n", names->index);
    emit(e, 1, "count->in++;");
    for (size_t i = 0; i < count && is_filter(&stream->steps[i]); i++)
        emit_filter(e, stream, &stream->steps[i], names->in, functions[i], diverted[i],
                    (unsigned)i + 1);
    emit(e, 1, "count->passed++;");
    emit(e, 1, "%s(task, record, row);", next);
    stream_function_end(e, &function, names->push, names->in.info->tag);
    struct text *before = emit_to(e, SECTION_PROTOTYPES);
    emit(e, 0,
         "static void %s(struct pipe_task *task, const struct pipe_record *record, const struct %s "
         "*row);",
         names->push, names->in.info->tag);
    e->out = before;
}

/* ---- unnest ---- */

static void emit_element(struct emitter *e, const struct step *step, struct row_view to,
                         const struct type *array)
{
    int32_t value = column_named(to.type, step->unnest_as);
    int32_t index = column_named(to.type, arena_printf(e->arena, "%s_index", step->unnest_as));
    const struct member *member = &to.info->members[value];
    emit(e, 2, "out.%s = items[i]%s;", member->name, array->element_nullable ? ".value" : "");
    if (member->null != NULL)
        emit(e, 2, "out.%s = %s;", member->null,
             array->element_nullable ? "items[i].is_null" : "false");
    emit(e, 2, "out.%s = (int32_t)i;", to.info->members[index].name);
}

static void emit_unnest(struct emitter *e, const struct stream *stream, const struct path *path)
{
    struct stream_names *names = names_of(e, stream);
    const struct step *step = path->unnest;
    const struct type *array = step->expr->type;
    struct row_view from = path->filtered, to = path->unnested;
    struct value value = inline_value(e, from, step->expr);
    struct function_text function;
    function_begin(e, &function);
    emit(e, 1, "struct pipe_counters *count = &task->counters[%s];", names->index);
    emit(e, 1, "const %s *items = %s.items;", item_type(e, array), value.code);
    if (value.null != NULL)
        emit(e, 1, "uint32_t item_count = %s ? 0 : %s.count;", value.null, value.code);
    else
        emit(e, 1, "uint32_t item_count = %s.count;", value.code);
    emit(e, 1, "struct %s out = {0};\n", to.info->tag);
    emit(e, 1, "if (item_count == 0) {");
    emit(e, 2, "count->unnest_empty++;\nreturn;");
    emit(e, 1, "}");
    emit(e, 1, "count->unnested++;");
    for (size_t i = 0; i < to.type->field_count; i++) {
        const char *name = to.type->fields[i].name;
        int32_t column = column_named(from.type, name);
        bool made = strcmp(name, step->unnest_as) == 0 ||
                    strcmp(name, arena_printf(e->arena, "%s_index", step->unnest_as)) == 0;
        if (column >= 0 && !made)
            emit_column_copy(e, 1, from, (uint32_t)column, to, (uint32_t)i);
    }
    /* What a row's expressions take of the arena is free for the next row. */
    emit(e, 1, "struct pipe_arena_mark mark = pipe_arena_mark(&task->arena);");
    emit(e, 1, "(void)pipe_owned_take_grown();");
    emit(e, 1, "for (uint32_t i = 0; i < item_count; i++) {");
    emit(e, 2, "if (!pipe_may_make(task, record, PIPE_ITEM_BYTES + pipe_owned_take_grown()))");
    emit(e, 3, "return;");
    emit_element(e, step, to, array);
    emit(e, 2, "count->elements++;");
    emit(e, 2, "pipe_new_row(task);");
    emit(e, 2, "%s(task, record, &out);", path->after_unnest);
    emit(e, 2, "pipe_arena_back_to(&task->arena, mark);");
    emit(e, 1, "}");
    function.comment = clause_comment(e, step->clause->span, NULL);
    stream_function_end(e, &function, arena_printf(e->arena, "unnest_%s", names->ident),
                        from.info->tag);
}

/* ---- select ---- */

/* One output column. */
static void emit_assign(struct emitter *e, const struct stream *stream, const struct assign *assign,
                        const struct path *path, size_t column,
                        const struct clause_function *function)
{
    const struct member *member = &path->selected.info->members[column];
    const char *value = arena_printf(e->arena, "&out.%s", member->name);
    const char *null =
        arena_printf(e->arena, "&out.%s", member->null != NULL ? member->null : member->name);
    if (function == NULL) {
        struct value inline_code = inline_value(e, path->unnested, assign->expr);
        emit(e, 1, "out.%s = %s;", member->name, inline_code.code);
        if (inline_code.null != NULL && member->null != NULL)
            emit(e, 1, "out.%s = %s;", member->null, inline_code.null);
        return;
    }
    if (function->fallible) {
        const char *outs =
            function->nullable ? arena_printf(e->arena, "%s, %s", value, null) : value;
        emit(e, 1, "if (!%s) {", clause_call(e, function, outs));
        emit_failure(e, 2, stream, "select_rejected", assign->expr, "return;");
        emit(e, 1, "}");
    } else if (function->nullable) {
        emit(e, 1, "out.%s = !%s;", member->null, clause_call(e, function, value));
    } else {
        emit(e, 1, "out.%s = %s;", member->name, clause_call(e, function, ""));
    }
}

static void emit_select(struct emitter *e, const struct stream *stream, const struct path *path)
{
    struct stream_names *names = names_of(e, stream);
    const struct step *step = path->select;
    size_t count = step->assigns.count;
    /* Where aggregates may fail, the window counts. */
    bool selected = path->stateful == NULL || !args_may_fail(path->stateful), counts = selected;
    struct clause_function **functions = arena_alloc(e->arena, (count + 1) * sizeof *functions);
    for (size_t i = 0; i < count; i++) {
        const struct assign *assign = &step->assigns.items[i];
        const char *name =
            arena_printf(e->arena, "%s_%s", names->ident, path->selected.info->members[i].name);
        if (!is_trivial(assign->expr))
            functions[i] =
                clause_function(e, path->unnested, assign->expr, name, assign->expr->span, NULL);
        counts |= functions[i] != NULL && functions[i]->fallible;
    }
    struct function_text function;
    function_begin(e, &function);
    if (counts)
        emit(e, 1, "struct pipe_counters *count = &task->counters[%s];", names->index);
    emit(e, 1, "struct %s out = {0};\n", path->selected.info->tag);
    for (size_t i = 0; i < count; i++)
        emit_assign(e, stream, &step->assigns.items[i], path, i, functions[i]);
    if (selected)
        emit(e, 1, "count->selected++;");
    emit(e, 1, "pipe_new_row(task);");
    emit(e, 1, "%s(task, record, &out);", path->after_select);
    function.comment = clause_comment(e, step->clause->span, NULL);
    stream_function_end(e, &function, arena_printf(e->arena, "select_%s", names->ident),
                        path->unnested.info->tag);
}

/* ---- dedup, exchange ---- */

/* Index in stage->states. One stream may have states in several stages, at different places. */
const char *state_index(struct emitter *e, const struct stream *stream)
{
    struct stream_names *names = names_of(e, stream);
    const char *first = NULL, *table = "";
    bool same = true;
    if (names->state != NULL)
        return names->state;
    for (size_t s = 0; s < e->plan->stages.count; s++) {
        const struct stage *stage = e->plan->stages.items[s];
        for (size_t i = 0; i < stage->states.count; i++) {
            const struct state *state = stage->states.items[i];
            if (state->stream != stream || state->phase == PHASE_MERGE)
                continue;
            const char *index = arena_printf(e->arena, "%zu", i);
            same = same && (first == NULL || strcmp(first, index) == 0);
            first = first == NULL ? index : first;
            table = arena_printf(e->arena, "%s%s[%s] = %zu", table, *table ? ", " : "",
                                 e->stages.items[s], i);
        }
    }
    const char *name = global_name(e, "STATE_%s", names->ident);
    if (same) {
        struct text *before = emit_to(e, SECTION_INDEXES);
        emit(e, 0, "enum { %s = %s };", name, first == NULL ? "0" : first);
        e->out = before;
        return names->state = name;
    }
    name = global_name(e, "state_of_%s", names->ident);
    emit_comment(e, 0, "Where its state is, by stage.");
    emit(e, 0, "static const uint32_t %s[] = {%s};\n", name, table);
    return names->state = arena_printf(e->arena, "%s[task->stage_index]", name);
}

void emit_dedup(struct emitter *e, const struct stream *stream, const struct step *step)
{
    struct stream_names *names = names_of(e, stream);
    const char *state = state_index(e, stream);
    struct function_text function;
    function_begin(e, &function);
    emit_key_in_hand(e, stream);
    emit(e, 1, "switch (pipe_dedup(task, %s, record, %s)) {", state, is_ahead_argument(e, stream));
    emit(e, 1, "case PIPE_UNIQUE:");
    emit(e, 2, "%s(task, record, row);", names->out);
    emit(e, 2, "break;");
    emit(e, 1, "case PIPE_DUPLICATE:");
    emit(e, 2, "break;");
    emit(e, 1, "case PIPE_TOO_OLD:");
    emit_reject(e, 2, stream, NULL, "\"too_old_to_dedup\"", "NULL");
    emit(e, 2, "break;");
    emit(e, 1, "}");
    function.comment = clause_comment(e, step->clause->span, NULL);
    stream_function_end(e, &function, names->keep, names->kept.info->tag);
}

static void emit_ship(struct emitter *e, const struct stream *stream,
                      const struct exchange *exchange)
{
    struct stream_names *names = names_of(e, stream);
    struct function_text function;
    function_begin(e, &function);
    emit(e, 1, "%s(&task->key, row);", names->key);
    emit(e, 1, "pipe_exchange_row(task, %s, record, &%s, row);",
         e->exchanges.items[exchange->index], row_descriptor(e, whole_view(names->kept)));
    function.comment = arena_printf(e->arena, "Through the exchange: %s.", exchange->reason);
    stream_function_end(e, &function, arena_printf(e->arena, "ship_%s", names->ident),
                        names->kept.info->tag);
}

/* ---- the stream ---- */

static struct path path_of(struct emitter *e, const struct stream *stream)
{
    struct stream_names *names = names_of(e, stream);
    struct path path = {.filtered = names->in, .unnested = names->in, .selected = names->in};
    for (size_t i = 0; i < stream->step_count; i++) {
        const struct step *step = &stream->steps[i];
        if (step->kind == STEP_DEDUP || step->kind == STEP_WINDOW) {
            path.stateful = step;
            continue;
        }
        struct row_view here = view_near(e, path.selected.info, step->row, names->ident);
        if (step->kind == STEP_UNNEST)
            path.unnest = step;
        if (step->kind == STEP_SELECT)
            path.select = step;
        if (path.unnest == NULL && path.select == NULL)
            path.filtered = here;
        if (path.select == NULL)
            path.unnested = here;
        path.selected = here;
    }
    return path;
}

static void name_path(struct emitter *e, const struct stream *stream, struct path *path, bool ships)
{
    struct stream_names *names = names_of(e, stream);
    path->after_select = path->stateful == NULL ? names->out
                         : ships                ? arena_printf(e->arena, "ship_%s", names->ident)
                                                : names->keep;
    path->after_unnest = path->select != NULL ? arena_printf(e->arena, "select_%s", names->ident)
                                              : path->after_select;
    path->after_filters = path->unnest != NULL ? arena_printf(e->arena, "unnest_%s", names->ident)
                                               : path->after_unnest;
}

static void emit_stateful(struct emitter *e, const struct stream *stream, const struct step *step,
                          const struct stream_plan *plan)
{
    struct stream_names *names = names_of(e, stream);
    bool ships = plan->exchange != NULL && plan->exchange->kind == EXCHANGE_ROWS;
    names->key = key_function(e, names->kept, step->key_columns, step->key_count,
                              arena_printf(e->arena, "key_%s", names->ident));
    if (step->kind == STEP_WINDOW)
        emit_window(e, stream, step);
    else
        emit_dedup(e, stream, step);
    if (ships)
        emit_ship(e, stream, plan->exchange);
}

static void emit_banner(struct emitter *e, const struct stream *stream)
{
    const char *place = emit_place(e, stream->span);
    static const char *const kinds[] = {"source", "stream", "reject stream", "late stream",
                                        "diverted stream"};
    const char *from = "";
    for (size_t i = 0; i < stream->input_count; i++)
        from = arena_printf(e->arena, "%s%s%s", from, i > 0 ? ", " : " from ",
                            stream->inputs[i]->name.text);
    emit_comment(e, 0,
                 arena_printf(e->arena, "---- %s %s%s%s%s%s ----", kinds[stream->kind],
                              stream->name.text, from, *place ? "  (" : "", place,
                              *place ? ")" : ""));
    emit_blank(e);
}

static void emit_stream(struct emitter *e, const struct stream *stream)
{
    struct stream_names *names = names_of(e, stream);
    const struct stream_plan *plan = stream_plan_of(e->program, stream);
    struct path path = path_of(e, stream);
    names->is_written = true;
    emit_banner(e, stream);
    emit_out(e, stream);
    if (stream->kind == STREAM_SOURCE)
        return;
    name_path(e, stream, &path, plan->exchange != NULL && plan->exchange->kind == EXCHANGE_ROWS);
    if (path.stateful != NULL)
        emit_stateful(e, stream, path.stateful, plan);
    if (path.select != NULL)
        emit_select(e, stream, &path);
    if (path.unnest != NULL)
        emit_unnest(e, stream, &path);
    emit_push(e, stream, path.after_filters);
    if (stream->kind == STREAM_REJECTS)
        emit_reject_stream(e, stream);
}

/* Streams that no row can reach (a reject stream where nothing fails) are left out, with all that
 * reads them. */
void emit_streams(struct emitter *e)
{
    struct program *program = e->program;
    struct text *before = emit_to(e, SECTION_STREAMS);
    for (bool again = true; again;) {
        again = false;
        for (size_t i = 0; i < program->streams.count; i++) {
            const struct stream *stream = program->streams.items[i];
            struct stream_names *names = &e->streams[i];
            bool wanted = names->is_called || stream->kind == STREAM_SOURCE;
            if (!wanted || names->is_written)
                continue;
            emit_stream(e, stream);
            again = true;
        }
    }
    e->out = before;
}
