/* resolve_side.c: row types, unions, and the side streams that exist by being named. */
#include <string.h>
#include "resolve.h"

struct record_type *row_new(struct program *program, const char *name, size_t capacity)
{
    struct record_type *row = arena_alloc(program->arena, sizeof *row);
    row->name = row->full_name = name;
    row->fields = arena_alloc(program->arena, (capacity + 1) * sizeof *row->fields);
    return row;
}

bool row_add(struct program *program, struct record_type *row, struct field field)
{
    int index = field_index(row, field.name);
    if (index >= 0) {
        struct diag *diag =
            diag_error(program, PC2011, field.span, "there is already a column `%s`", field.name);
        const struct field *other = &row->fields[index];
        if (other->span.source && other->span.source == field.span.source)
            diag_also(diag, other->span, "here");
        diag_help(diag, "write `as` and another name");
        return false;
    }
    row->fields[row->field_count++] = field;
    return true;
}

const struct record_type *row_narrow(struct program *program, const struct record_type *row,
                                     const struct fact *facts)
{
    struct record_type *copy = NULL;
    for (size_t i = 0; i < row->field_count; i++) {
        if (!row->fields[i].nullable || !fact_known(facts, &row->fields[i].name, 1))
            continue;
        if (!copy) {
            copy = row_new(program, row->name, row->field_count);
            copy->full_name = row->full_name;
            copy->field_count = row->field_count;
            memcpy(copy->fields, row->fields, row->field_count * sizeof *copy->fields);
        }
        copy->fields[i].nullable = false;
    }
    return copy ? copy : row;
}

/* --- unions --- */

/* The second's columns against the first's: one of other name or type, or NULL. */
static const struct field *odd_column(const struct record_type *a, const struct record_type *b,
                                      const struct field **twin)
{
    *twin = NULL;
    for (size_t i = 0; i < b->field_count; i++) {
        int index = field_index(a, b->fields[i].name);
        if (index < 0)
            return &b->fields[i];
        if (!type_equal(a->fields[index].type, b->fields[i].type)) {
            *twin = &a->fields[index];
            return &b->fields[i];
        }
    }
    return NULL;
}

static bool rows_agree(struct program *program, const struct record_type *a, const char *name_a,
                       const struct record_type *b, const char *name_b, enum code code,
                       struct span at)
{
    const struct field *twin, *odd = odd_column(a, b, &twin);
    const char *missing_in = name_a;
    if (!odd) {
        odd = odd_column(b, a, &twin);
        missing_in = name_b;
    }
    if (!odd)
        return true;
    struct diag *diag =
        diag_error(program, code, at, "`%s` and `%s` have different columns", name_a, name_b);
    if (twin)
        diag_note(diag, "`%s` is %s in `%s` and %s in `%s`", odd->name,
                  type_name(program, twin->type), name_a, type_name(program, odd->type), name_b);
    else
        diag_note(diag, "`%s` has no column `%s`", missing_in, odd->name);
    diag_help(diag, "bring both to the same columns with `select`");
    return false;
}

/* Nullable absorbs not null; the first's order stays. */
static const struct record_type *unite(struct program *program, const struct record_type *a,
                                       const struct record_type *b, const char *name)
{
    struct record_type *row = row_new(program, name, a->field_count);
    row->field_count = a->field_count;
    memcpy(row->fields, a->fields, a->field_count * sizeof *row->fields);
    for (size_t i = 0; i < row->field_count; i++) {
        const struct field *twin = &b->fields[field_index(b, row->fields[i].name)];
        row->fields[i].nullable |= twin->nullable;
        row->fields[i].growth = growth_max(field_growth(&a->fields[i]), field_growth(twin));
    }
    return row;
}

const struct record_type *unite_rows(struct resolver *resolver, struct stream *stream)
{
    struct program *program = resolver->program;
    if (stream->input_count == 0)
        return NULL;
    const struct stream *first = stream->inputs[0];
    const struct record_type *row = first->row;
    for (size_t i = 1; row && i < stream->input_count; i++) {
        const struct stream *other = stream->inputs[i];
        if (!other->row ||
            !rows_agree(program, first->row, first->name.text, other->row, other->name.text, PC2014,
                        stream->statement->from.items[i].span))
            return NULL;
        row = unite(program, row, other->row, stream->name.text);
    }
    return row;
}

/* --- side streams --- */

static const char *side_words(enum stream_kind kind)
{
    if (kind == STREAM_REJECTS)
        return "reject rows";
    return kind == STREAM_LATE ? "late rows" : "diverted rows";
}

static struct stream *side_declare(struct resolver *resolver, struct name name,
                                   enum stream_kind kind)
{
    struct program *program = resolver->program;
    const struct entity *entity = entity_find(resolver, name.text);
    if (entity && entity->kind == ENTITY_STREAM && entity->stream->kind == kind)
        return entity->stream;
    if (entity) {
        bool side = entity->kind == ENTITY_STREAM && entity->stream->kind > STREAM_NORMAL;
        struct diag *diag =
            side ? diag_error(program, PC2016, name.span, "`%s` gets %s here and %s there",
                              name.text, side_words(kind), side_words(entity->stream->kind))
                 : diag_error(program, PC2003, name.span, "`%s` is already defined", name.text);
        diag_also(diag, entity->span, side ? "there" : "here");
        diag_help(diag, "a side stream exists by being named: give it a name of its own");
        return NULL;
    }
    struct stream *stream = arena_alloc(program->arena, sizeof *stream);
    stream->info = arena_alloc(program->arena, sizeof *stream->info);
    stream->name = name;
    stream->span = name.span;
    stream->kind = kind;
    vec_push(program->arena, &resolver->all, stream);
    struct entity made = {name.text, name.span, ENTITY_STREAM, NULL, stream, NULL};
    entity_add(resolver, made);
    return stream;
}

void declare_side_streams(struct resolver *resolver, struct stream *feeder)
{
    const struct statement *statement = feeder->statement;
    for (size_t i = 0; i < statement->clauses.count; i++) {
        const struct clause *clause = &statement->clauses.items[i];
        enum stream_kind kind;
        if (clause->kind == CLAUSE_REJECTS)
            kind = STREAM_REJECTS;
        else if (clause->kind == CLAUSE_LATE)
            kind = STREAM_LATE;
        else if (clause->kind == CLAUSE_DIVERT)
            kind = STREAM_DIVERTED;
        else
            continue;
        struct stream *side = side_declare(resolver, clause->name, kind);
        if (!side)
            continue;
        bool known = false;
        for (size_t j = 0; j < side->feeders.count; j++)
            known |= side->feeders.items[j] == feeder;
        if (!known)
            vec_push(resolver->program->arena, &side->feeders, feeder);
        if (kind == STREAM_REJECTS)
            feeder->rejects = side;
    }
}

const struct record_type *reject_row(struct program *program)
{
    static const struct {
        const char *name;
        enum type_kind kind;
        bool nullable;
    } columns[] = {
        {"reason", TYPE_STRING, false},          {"rule", TYPE_STRING, false},
        {"detail", TYPE_STRING, true},           {"topic", TYPE_STRING, true},
        {"partition", TYPE_INT32, true},         {"offset", TYPE_INT64, true},
        {"kafka_time", TYPE_TIMESTAMP_MS, true}, {"key", TYPE_BYTES, true},
        {"payload", TYPE_BYTES, true},
    };
    enum { COUNT = sizeof columns / sizeof *columns };
    struct record_type *row = row_new(program, "rejects", COUNT);
    for (size_t i = 0; i < COUNT; i++)
        row->fields[row->field_count++] =
            (struct field){.name = intern_cstr(program, columns[i].name),
                           .type = type_simple(columns[i].kind),
                           .nullable = columns[i].nullable};
    return row;
}

void feed_side(struct resolver *resolver, struct stream *side, const struct stream *feeder,
               const struct record_type *row, struct span at)
{
    struct program *program = resolver->program;
    if (!side || !row || side->info->failed)
        return;
    if (!side->row) {
        side->row = row;
        side->info->row_from = feeder;
        return;
    }
    if (rows_agree(program, side->row, side->info->row_from->name.text, row, feeder->name.text,
                   PC2016, at))
        side->row = unite(program, side->row, row, side->name.text);
    else
        side->info->failed = true;
}

static void absorb(struct stream *side, const struct stream *row_of)
{
    struct stream_info *info = side->info;
    side->has_event_time &= row_of->has_event_time;
    side->has_watermark &= row_of->has_watermark;
    side->is_windowed &= row_of->is_windowed;
    side->has_source_record &= row_of->has_source_record;
    info->allows_kafka &= row_of->info->allows_kafka;
    if (!row_of->info->allows_kafka)
        info->kafka_refusal = row_of->info->kafka_refusal;
    if (row_of->event_time_type &&
        (!side->event_time_type || row_of->event_time_type->kind == TYPE_TIMESTAMP_US))
        side->event_time_type = row_of->event_time_type;
    if (row_of->info->delay_ms > info->delay_ms)
        info->delay_ms = row_of->info->delay_ms;
    info->waits_watermark |= row_of->info->waits_watermark;
    if (row_of->info->is_restricted) {
        info->is_restricted = true;
        info->restricted_kind = row_of->info->restricted_kind;
    }
}

static void finish_rejects(struct program *program, struct stream *side)
{
    side->row = reject_row(program);
    side->has_event_time = side->has_watermark = side->is_windowed = false;
    side->event_time_type = NULL;
    side->info->allows_kafka = false;
    side->info->kafka_refusal =
        "a reject row has the columns topic, partition, offset, kafka_time and key instead";
    for (size_t i = 0; i < side->feeders.count; i++)
        side->has_source_record &= side->feeders.items[i]->has_source_record;
}

/* All feeders are done: what holds for each of them holds for the side stream. */
void finish_side(struct resolver *resolver, struct stream *side)
{
    side->has_event_time = side->has_watermark = side->is_windowed = true;
    side->has_source_record = side->info->allows_kafka = true;
    for (size_t i = 0; i < side->feeders.count; i++) {
        const struct stream *feeder = side->feeders.items[i];
        if (feeder->kind == STREAM_SOURCE)
            absorb(side, feeder);
        for (size_t j = 0; j < feeder->input_count; j++)
            absorb(side, feeder->inputs[j]);
    }
    const struct stream *only = side->feeders.items[0];
    if (side->kind == STREAM_DIVERTED && side->feeders.count == 1 && only->input_count == 1) {
        side->partition_known = only->inputs[0]->partition_known;
        side->partition_columns = only->inputs[0]->partition_columns;
        side->partition_count = only->inputs[0]->partition_count;
    }
    if (side->kind == STREAM_DIVERTED)
        return;
    side->info->is_restricted = true;
    side->info->restricted_kind = side->kind == STREAM_LATE ? "late" : "reject";
    if (side->kind == STREAM_REJECTS)
        finish_rejects(resolver->program, side);
}

/* The first sink of a stream that nobody makes, unless its name looks like that of another; NULL:
 * there is none. It was meant for the rows that nothing takes, so that no more is wrong with it. */
static const struct statement *awaiting_sink(struct resolver *resolver)
{
    struct program *program = resolver->program;
    const char **names = arena_alloc(program->arena, (resolver->names.count + 1) * sizeof *names);
    size_t count = 0;
    for (size_t i = 0; i < resolver->names.count; i++)
        if (resolver->names.items[i].kind == ENTITY_STREAM)
            names[count++] = resolver->names.items[i].name;
    for (size_t i = 0; i < program->statements.count; i++) {
        const struct statement *statement = program->statements.items[i];
        if (statement->kind != STATEMENT_SINK || statement->from.count != 1)
            continue;
        const struct name *from = &statement->from.items[0];
        if (entity_find(resolver, from->text) || nearest_name(from->text, names, count))
            continue;
        (void)first_time_unknown(resolver, from->text);
        return statement;
    }
    return NULL;
}

struct rejects_proposal propose_rejects(struct resolver *resolver)
{
    struct program *program = resolver->program;
    for (size_t i = 0; i < resolver->all.count; i++) {
        const struct stream *side = resolver->all.items[i];
        if (side->kind == STREAM_REJECTS)
            return (struct rejects_proposal){span_text(program, side->span), ""};
    }
    const struct statement *sink = awaiting_sink(resolver);
    if (sink)
        return (struct rejects_proposal){
            span_text(program, sink->from.items[0].span),
            arena_printf(program->arena, ", which sink `%s` reads", sink->name.text)};
    const char *name = "rejected";
    while (is_name_taken(resolver, name))
        name = arena_printf(program->arena, "%s_rows", name);
    return (struct rejects_proposal){name,
                                     arena_printf(program->arena, ", and a sink for `%s`", name)};
}
