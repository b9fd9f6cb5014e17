/* emit_traffic.c: the tables of `traffic` statements. */
#include "emit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const struct clause *clause_of(const struct statement *statement, enum clause_kind kind)
{
    for (size_t i = 0; i < statement->clauses.count; i++)
        if (statement->clauses.items[i].kind == kind)
            return &statement->clauses.items[i];
    return NULL;
}

/* The column and field indexes of a path; *field is the last one. */
static const char *path_indexes(struct emitter *e, const struct record_type *row,
                                const name_list *path, const struct field **field)
{
    const char *list = "";
    for (size_t i = 0; i < path->count; i++) {
        int32_t column = column_named(row, path->items[i].text);
        *field = &row->fields[column];
        list = arena_printf(e->arena, "%s%s%d", list, i > 0 ? ", " : "", column);
        row = (*field)->type->record;
    }
    return arena_printf(e->arena, "(const uint32_t[]){%s}, .path_count = %zu", list, path->count);
}

/* ---- constants as JSON ---- */

static void add_json_string(struct text *out, const char *text, size_t size)
{
    json_t *string = json_stringn(text, size);
    char *json = string == NULL ? NULL : json_dumps(string, JSON_ENCODE_ANY);
    if (json == NULL)
        out_of_memory();
    text_puts(out, json);
    json_decref(string);
    free(json);
}

/* A text that is JSON itself, for columns that hold such; false: it is not. */
static bool add_json_text(struct text *out, const char *text, size_t size)
{
    json_t *json =
        json_loadb(text, size, JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL, NULL);
    if (json != NULL)
        text_add(out, text, size);
    json_decref(json);
    return json != NULL;
}

static void add_number(struct text *out, const struct constant *constant)
{
    char digits[48];
    size_t at = sizeof digits;
    __int128 left = constant->number.digits;
    unsigned scale = constant->number.is_decimal ? constant->number.scale : 0;
    digits[--at] = '\0';
    for (unsigned i = 0; left > 0 || i <= scale; i++, left /= 10) {
        if (i == scale && scale > 0)
            digits[--at] = '.';
        digits[--at] = (char)('0' + (int)(left % 10));
    }
    text_printf(out, "%s%s", constant->negative ? "-" : "", digits + at);
}

void constant_json(struct text *out, const struct constant *constant, const struct type *type)
{
    switch (constant->kind) {
    case CONST_NUMBER:
        add_number(out, constant);
        break;
    case CONST_STRING:
        if (!type->is_json || !add_json_text(out, constant->text, constant->text_bytes))
            add_json_string(out, constant->text, constant->text_bytes);
        break;
    case CONST_DURATION:
        text_printf(out, "%" PRId64,
                    constant->duration_ms * (type->kind == TYPE_TIMESTAMP_US ? 1000 : 1));
        break;
    case CONST_SIZE:
        text_printf(out, "%" PRId64, constant->size_bytes);
        break;
    case CONST_BOOL:
        text_puts(out, c_bool(constant->boolean));
        break;
    case CONST_NULL:
        text_puts(out, "null");
        break;
    case CONST_ROW:
        for (size_t i = 0; i < constant->items.count; i++) {
            const char *name = constant->names.items[i].text;
            int32_t column = type->kind == TYPE_RECORD ? column_named(type->record, name) : -1;
            text_puts(out, i == 0 ? "{" : ",");
            add_json_string(out, name, strlen(name));
            text_puts(out, ":");
            constant_json(out, constant->items.items[i],
                          column >= 0 ? type->record->fields[column].type : type->element);
        }
        text_puts(out, constant->items.count == 0 ? "{}" : "}");
        break;
    case CONST_ARRAY:
        for (size_t i = 0; i < constant->items.count; i++) {
            text_puts(out, i == 0 ? "[" : ",");
            constant_json(out, constant->items.items[i], type->element);
        }
        text_puts(out, constant->items.count == 0 ? "[]" : "]");
        break;
    }
}

static const char *constant_code(struct emitter *e, const struct constant *constant,
                                 const struct type *type)
{
    struct text text = {0};
    constant_json(&text, constant, type);
    const char *code = c_string(e, text.data, text.size);
    text_free(&text);
    return code;
}

/* ---- fields ---- */

static int64_t at_scale(const struct constant *constant, unsigned scale)
{
    unsigned own = constant->number.is_decimal ? constant->number.scale : 0;
    __int128 value = constant->number.digits * power_of_ten(scale > own ? scale - own : 0);
    return (int64_t)(constant->negative ? -value : value);
}

static const char *range(struct emitter *e, const struct generator *generator,
                         const struct type *type)
{
    unsigned scale = type->kind == TYPE_DECIMAL ? type->scale : 0, float_scale = 0;
    if (type_is_float(type)) {
        unsigned low = generator->low->number.is_decimal ? generator->low->number.scale : 0;
        unsigned high = generator->high->number.is_decimal ? generator->high->number.scale : 0;
        scale = float_scale = low > high ? low : high;
    }
    int64_t low = at_scale(generator->low, scale), high = at_scale(generator->high, scale);
    return arena_printf(e->arena, ", .low = %s, .high = %s, .scale = %u", c_int64(e, low),
                        c_int64(e, high), float_scale);
}

static const char *picks(struct emitter *e, const struct generator *generator,
                         const struct type *type, const char *name)
{
    const char *values = global_name(e, "%s_values", name),
               *weights = global_name(e, "%s_weights", name);
    const char *list = "";
    emit(e, 0, "static const char *const %s[] = {", values);
    for (size_t i = 0; i < generator->picks.count; i++) {
        emit(e, 1, "%s,", constant_code(e, generator->picks.items[i].value, type));
        list = arena_printf(e->arena, "%s%s%s", list, i > 0 ? ", " : "",
                            c_int64(e, generator->picks.items[i].weight));
    }
    emit(e, 0, "};");
    emit(e, 0, "static const int64_t %s[] = {%s};", weights, list);
    return arena_printf(e->arena, ", .picks = %s, .weights = %s, .pick_count = %zu", values,
                        weights, generator->picks.count);
}

static const char *field_row(struct emitter *e, const struct clause *clause,
                             const struct record_type *row, const char *ident)
{
    static const char *const kinds[] = {"UNIQUE", "SESSION", "UNIFORM", "PICK", "TEXT"};
    const struct generator *generator = clause->generator;
    const struct field *field = NULL;
    const char *path = path_indexes(e, row, &clause->path, &field), *more = "";
    if (generator->kind == GEN_UNIFORM || generator->kind == GEN_TEXT)
        more = range(e, generator,
                     generator->kind == GEN_TEXT ? type_simple(TYPE_INT64) : field->type);
    else if (generator->kind == GEN_PICK)
        more = picks(e, generator, field->type,
                     arena_printf(e->arena, "%s_%s", ident, mangle(e, field->name)));
    if (generator->has_null)
        more = arena_printf(e->arena, "%s, .null_ppm = %s", more,
                            percent_ppm(e, generator->null_percent));
    if (generator->per_session)
        more = arena_printf(e->arena, "%s, .per_session = true", more);
    return arena_printf(e->arena, "{.kind = PIPE_GEN_%s, .path = %s%s}, /* %s */",
                        kinds[generator->kind], path, more,
                        emit_span_text(e, clause->path.items[0].span));
}

/* Rows of a table are made first: making one may write tables that it refers to. */
static size_t emit_fields(struct emitter *e, const struct statement *statement,
                          const struct record_type *row, const char *ident)
{
    VEC(const char *) rows = {0};
    for (size_t i = 0; i < statement->clauses.count; i++)
        if (statement->clauses.items[i].kind == CLAUSE_FIELD)
            vec_push(e->arena, &rows, field_row(e, &statement->clauses.items[i], row, ident));
    if (rows.count > 0) {
        emit(e, 0, "static const struct pipe_traffic_field %s_fields[] = {", ident);
        for (size_t i = 0; i < rows.count; i++)
            emit(e, 1, "%s", rows.items[i]);
        emit(e, 0, "};\n");
    }
    return rows.count;
}

/* ---- steps ---- */

struct state_name {
    const char *text;
    size_t size;
    const struct traffic_step *step; /* NULL: the last of a walk */
};
typedef VEC(struct state_name) state_names;

static size_t state_of(struct emitter *e, state_names *states, const char *text, size_t size)
{
    for (size_t i = 0; i < states->count; i++)
        if (states->items[i].size == size && memcmp(states->items[i].text, text, size) == 0)
            return i;
    vec_push(e->arena, states, ((struct state_name){text, size, NULL}));
    return states->count - 1;
}

static size_t emit_steps(struct emitter *e, const struct clause *clause, const char *ident)
{
    state_names states = {0};
    if (clause == NULL)
        return 0;
    for (size_t i = 0; i < clause->steps.count; i++) {
        const struct traffic_step *step = &clause->steps.items[i];
        vec_push(e->arena, &states, ((struct state_name){step->text, step->text_bytes, step}));
    }
    VEC(const char *) lists = {0};
    for (size_t i = 0; i < clause->steps.count; i++) {
        const struct traffic_step *step = &clause->steps.items[i];
        const char *list = "";
        for (size_t t = 0; t < step->targets.count; t++) {
            const struct step_target *target = &step->targets.items[t];
            int32_t to = target->is_end
                             ? -1
                             : (int32_t)state_of(e, &states, target->text, target->text_bytes);
            list = arena_printf(e->arena, "%s%s{%d, %s}", list, t > 0 ? ", " : "", to,
                                c_int64(e, target->weight));
        }
        vec_push(e->arena, &lists, list);
    }
    emit(e, 0, "static const struct pipe_traffic_step %s_steps[] = {", ident);
    for (size_t i = 0; i < states.count; i++) {
        const char *value = c_string(e, states.items[i].text, states.items[i].size);
        if (states.items[i].step == NULL || states.items[i].step->targets.count == 0)
            emit(e, 1, "{%s, NULL, 0},", value);
        else
            emit(e, 1, "{%s, (const struct pipe_traffic_target[]){%s}, %zu},", value,
                 lists.items[i], states.items[i].step->targets.count);
    }
    emit(e, 0, "};\n");
    return states.count;
}

/* ---- faults ---- */

static size_t emit_faults(struct emitter *e, const struct statement *statement,
                          const struct record_type *row, const char *ident)
{
    static const char *const kinds[] = {"DUPLICATE", "OUT_OF_ORDER", "LATE",
                                        "AHEAD",     "VALUE",        "POISON"};
    size_t count = 0;
    for (size_t i = 0; i < statement->clauses.count; i++) {
        const struct clause *clause = &statement->clauses.items[i];
        if (clause->kind != CLAUSE_FAULT)
            continue;
        if (count++ == 0)
            emit(e, 0, "static const struct pipe_traffic_fault %s_faults[] = {", ident);
        const struct fault *fault = clause->fault;
        const char *more = "";
        if (fault->low_ms != 0 || fault->high_ms != 0)
            more = arena_printf(e->arena, ", .low_ms = %s, .high_ms = %s",
                                c_int64(e, fault->low_ms), c_int64(e, fault->high_ms));
        if (fault->kind == FAULT_VALUE) {
            const struct field *field = NULL;
            const char *path = path_indexes(e, row, &fault->path, &field);
            more = arena_printf(e->arena, ", .path = %s, .value_json = %s", path,
                                constant_code(e, fault->value, field->type));
        }
        emit(e, 1, "{.kind = PIPE_FAULT_%s, .ppm = %s%s},", kinds[fault->kind],
             percent_ppm(e, fault->percent), more);
    }
    if (count > 0)
        emit(e, 0, "};\n");
    return count;
}

/* ---- the statement ---- */

static uint32_t source_number(const struct emitter *e, const struct stream *source)
{
    uint32_t number = 0;
    for (size_t i = 0; e->program->streams.items[i] != source; i++)
        number += e->program->streams.items[i]->kind == STREAM_SOURCE;
    return number;
}

static const char *traffic_row(struct emitter *e, const struct traffic *traffic)
{
    struct arena *arena = e->arena;
    const struct statement *statement = traffic->statement;
    const struct source_def *source = traffic->source->source;
    const struct record_type *row = source->payload;
    const char *ident = global_name(e, "traffic_%s", mangle(e, traffic->name.text)), *text = "";
    emit_comment(e, 0,
                 arena_printf(arena, "---- traffic %s into %s ----", traffic->name.text,
                              traffic->source->name.text));
    emit_blank(e);
    const struct clause *session = clause_of(statement, CLAUSE_TRAFFIC_SESSION);
    const struct clause *steps = clause_of(statement, CLAUSE_STEPS);
    size_t fields = emit_fields(e, statement, row, ident), step_count = emit_steps(e, steps, ident);
    size_t faults = emit_faults(e, statement, row, ident);
    if (session != NULL)
        text = arena_printf(
            arena,
            ".has_sessions = true,\n.session_low_ms = %s,\n.session_high_ms = %s,\n.pause_low_ms = "
            "%s,\n.pause_high_ms = %s,\n",
            c_int64(e, session->low_ms), c_int64(e, session->high_ms),
            c_int64(e, session->pause_low_ms), c_int64(e, session->pause_high_ms));
    text = arena_printf(arena, "%s.steps_column = %d,\n", text,
                        steps != NULL ? column_named(row, steps->name.text) : -1);
    if (step_count > 0)
        text = arena_printf(arena, "%s.steps = %s_steps,\n.step_count = %zu,\n", text, ident,
                            step_count);
    if (fields > 0)
        text = arena_printf(arena, "%s.fields = %s_fields,\n.field_count = %zu,\n", text, ident,
                            fields);
    if (faults > 0)
        text = arena_printf(arena, "%s.faults = %s_faults,\n.fault_count = %zu,\n", text, ident,
                            faults);
    if (source->key_count > 0) {
        const char *keys = "";
        for (size_t i = 0; i < source->key_count; i++)
            keys = arena_printf(arena, "%s%s%u", keys, i > 0 ? ", " : "", source->key_columns[i]);
        text = arena_printf(arena, "%s.key_columns = (const uint32_t[]){%s},\n.key_count = %zu,\n",
                            text, keys, source->key_count);
    }
    uint32_t time = source->event_time != NULL && !source->event_time_added
                        ? source->event_time_column
                        : UINT32_MAX;
    return arena_printf(arena, ".name = %s,\n.source = %u,\n%s.event_time_column = %s,",
                        c_string_z(e, traffic->name.text), source_number(e, traffic->source), text,
                        time == UINT32_MAX ? "UINT32_MAX" : arena_printf(arena, "%u", time));
}

uint32_t emit_traffics(struct emitter *e)
{
    const struct program *program = e->program;
    VEC(const char *) rows = {0};
    for (size_t i = 0; i < program->traffics.count; i++)
        vec_push(e->arena, &rows, traffic_row(e, program->traffics.items[i]));
    if (rows.count == 0)
        return 0;
    emit(e, 0, "static const struct pipe_traffic_def traffics[] = {");
    for (size_t i = 0; i < rows.count; i++) {
        emit(e, 1, "{");
        emit(e, 2, "%s", rows.items[i]);
        emit(e, 1, "},");
    }
    emit(e, 0, "};\n");
    return (uint32_t)rows.count;
}
