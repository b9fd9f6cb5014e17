/* resolve_traffic.c: the `traffic` statement: every field filled, steps, faults that can happen. */
#include <string.h>
#include "resolve.h"

enum { MAX_TEXT_LETTERS = 100000 };

/* percent in (0, 100]; false after a diagnostic. */
static bool check_percent(struct program *program, struct literal_number percent, struct span at)
{
    __int128 hundred = 100;
    bool known = !percent.is_decimal || int128_scale(&hundred, percent.scale);
    if (known && percent.digits > 0 && percent.digits <= hundred)
        return true;
    diag_error(program, PC2035, at, "a share is above 0 and at most 100 percent");
    return false;
}

static void check_range(struct program *program, int64_t low_ms, int64_t high_ms, struct span at,
                        const char *what)
{
    if (!check_duration(program, low_ms, true, at, what) ||
        !check_duration(program, high_ms, true, at, what) || low_ms <= high_ms)
        return;
    struct diag *diag =
        diag_error(program, PC2035, at, "%s: the first is longer than the second", what);
    diag_help(diag, "write the shorter one first: `1s..20s`");
}

/* --- steps --- */

static bool same_text(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
    return a_bytes == b_bytes && memcmp(a, b, a_bytes) == 0;
}

static void check_state(struct program *program, const struct field *field, const char *text,
                        size_t text_bytes, struct span span)
{
    struct constant state = {
        .kind = CONST_STRING, .span = span, .text = text, .text_bytes = text_bytes};
    check_constant(program, &state, field->type, false,
                   arena_printf(program->arena, "`%s`", field->name));
}

static void check_targets(struct program *program, const struct traffic_step *step,
                          const struct field *field)
{
    for (size_t i = 0; i < step->targets.count; i++) {
        const struct step_target *target = &step->targets.items[i];
        if (!target->is_end)
            check_state(program, field, target->text, target->text_bytes, target->span);
        if (target->weight < 1 || target->weight > 1000000000)
            diag_error(program, PC2033, target->span, "a weight is at least 1");
        for (size_t j = 0; j < i; j++) {
            const struct step_target *other = &step->targets.items[j];
            if (other->is_end != target->is_end ||
                (!target->is_end &&
                 !same_text(other->text, other->text_bytes, target->text, target->text_bytes)))
                continue;
            struct diag *diag =
                diag_error(program, PC2033, target->span, "this step is listed twice");
            diag_also(diag, other->span, "here");
        }
    }
}

static void check_steps(struct program *program, const struct clause *clause,
                        const struct statement *statement, const struct field *field)
{
    if (!clause_find(statement, CLAUSE_TRAFFIC_SESSION)) {
        struct diag *diag = diag_error(program, PC2033, clause->word,
                                       "`steps` are those of a session, and there is none");
        diag_help(diag, "write `session 30s..10m pause 1s..20s`");
    }
    if (field->type->kind != TYPE_STRING && field->type->kind != TYPE_ENUM) {
        diag_error(program, PC2033, clause->name.span, "steps are texts, and `%s` is %s",
                   field->name, type_name(program, field->type));
        return;
    }
    for (size_t i = 0; i < clause->steps.count; i++) {
        const struct traffic_step *step = &clause->steps.items[i];
        check_state(program, field, step->text, step->text_bytes, step->span);
        check_targets(program, step, field);
        for (size_t j = 0; j < i; j++) {
            const struct traffic_step *other = &clause->steps.items[j];
            if (!same_text(other->text, other->text_bytes, step->text, step->text_bytes))
                continue;
            struct diag *diag = diag_error(program, PC2033, step->span, "this step has two lines");
            diag_also(diag, other->span, "the other");
        }
    }
}

/* --- generators --- */

static void report_generator(struct program *program, const struct generator *generator,
                             const struct field *field, const char *makes)
{
    struct diag *diag =
        diag_error(program, PC2031, generator->span, "`%s` is %s, and this makes %s", field->name,
                   type_name(program, field->type), makes);
    diag_help(diag, "`pick 'a', 'b'` works for every type");
}

static bool makes_names(const struct type *type)
{
    return type->kind == TYPE_STRING || type->kind == TYPE_UUID || type_is_integer(type);
}

static int compare_numbers(const struct constant *a, const struct constant *b)
{
    __int128 x = a->number.digits, y = b->number.digits;
    unsigned xs = a->number.is_decimal ? a->number.scale : 0;
    unsigned ys = b->number.is_decimal ? b->number.scale : 0;
    if (!int128_scale(&x, ys > xs ? ys - xs : 0) || !int128_scale(&y, xs > ys ? xs - ys : 0))
        return 0;
    x = a->negative ? -x : x;
    y = b->negative ? -y : y;
    return (x > y) - (x < y);
}

static void check_bounds(struct program *program, const struct generator *generator,
                         const struct field *field, const char *what)
{
    if (generator->kind == GEN_UNIFORM) {
        const struct type *type = field->type;
        bool drawn = type_is_numeric(type) || type_is_instant(type) || type->kind == TYPE_DATE ||
                     type->kind == TYPE_DURATION;
        if (!drawn) {
            report_generator(program, generator, field, "numbers");
            return;
        }
        if (!check_constant(program, generator->low, type, false, what) ||
            !check_constant(program, generator->high, type, false, what))
            return;
    } else if (field->type->kind != TYPE_STRING) {
        report_generator(program, generator, field, "text");
        return;
    } else if (generator->low->number.digits < 0 ||
               generator->high->number.digits > MAX_TEXT_LETTERS) {
        diag_error(program, PC2031, generator->span, "a text has 0 to %d letters",
                   MAX_TEXT_LETTERS);
    }
    if (compare_numbers(generator->low, generator->high) > 0) {
        struct diag *diag =
            diag_error(program, PC2031, generator->span, "the first bound is above the second");
        diag_help(diag, "write the smaller one first");
    }
}

static void check_generator(struct program *program, const struct generator *generator,
                            const struct field *field, bool sessions)
{
    const char *what = arena_printf(program->arena, "`%s`", field->name);
    bool in_session = generator->kind == GEN_SESSION || generator->per_session;
    switch (generator->kind) {
    case GEN_UNIQUE:
    case GEN_SESSION:
        if (!makes_names(field->type))
            report_generator(program, generator, field, "UUIDs and integers");
        break;
    case GEN_UNIFORM:
    case GEN_TEXT:
        check_bounds(program, generator, field, what);
        break;
    case GEN_PICK:
        for (size_t i = 0; i < generator->picks.count; i++) {
            const struct pick *pick = &generator->picks.items[i];
            check_constant(program, pick->value, field->type, field->nullable, what);
            if (pick->weight < 1 || pick->weight > 1000000000)
                diag_error(program, PC2031, pick->value->span, "a weight is at least 1");
        }
        break;
    }
    if (in_session && !sessions) {
        struct diag *diag =
            diag_error(program, PC2031, generator->span, "this traffic has no sessions");
        diag_help(diag, "write `session 30s..10m pause 1s..20s`");
    }
    if (!generator->has_null)
        return;
    check_percent(program, generator->null_percent, generator->span);
    if (!field->nullable)
        diag_error(program, PC2031, generator->span, "`%s` is never null", field->name);
}

/* --- fields --- */

static bool same_path(const name_list *a, const name_list *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (strcmp(a->items[i].text, b->items[i].text) != 0)
            return false;
    return true;
}

/* False: there is no such field, which was reported. */
static bool check_field(struct program *program, const struct statement *statement, size_t at,
                        const struct stream *source)
{
    const struct clause *clause = &statement->clauses.items[at];
    const struct source_def *def = source->source;
    const struct field *field =
        field_named(program, def->payload, &clause->path, source->name.text);
    if (!field)
        return false;
    const struct clause *steps = clause_find(statement, CLAUSE_STEPS);
    for (size_t i = 0; i < at; i++) {
        const struct clause *other = &statement->clauses.items[i];
        if (other->kind != CLAUSE_FIELD || !same_path(&other->path, &clause->path))
            continue;
        struct diag *diag =
            diag_error(program, PC2007, clause->span, "`%s` is filled twice", field->name);
        diag_also(diag, other->span, "first here");
        return true;
    }
    if (steps && clause->path.count == 1 && steps->name.text == clause->path.items[0].text) {
        struct diag *diag =
            diag_error(program, PC2007, clause->span, "`%s` is filled by `steps`", field->name);
        diag_also(diag, steps->word, "here");
        return true;
    }
    bool is_time = def->event_time && !def->event_time_added && clause->path.count == 1 &&
                   def->event_time_column != UINT32_MAX &&
                   field == &def->payload->fields[def->event_time_column];
    if (is_time) {
        struct diag *diag =
            diag_error(program, PC2007, clause->span,
                       "`%s` is the event time: it gets the time the event is due", field->name);
        diag_help(diag, "remove this line; `fault out of order` and `fault late` vary it");
        return true;
    }
    check_generator(program, clause->generator, field,
                    clause_find(statement, CLAUSE_TRAFFIC_SESSION) != NULL);
    return true;
}

/* The field lines for `prefix` or for something inside of it. */
static bool is_filled(const struct statement *statement, const name_list *prefix, bool inside)
{
    for (size_t i = 0; i < statement->clauses.count; i++) {
        const struct clause *clause = &statement->clauses.items[i];
        if (clause->kind == CLAUSE_STEPS && prefix->count == 1 &&
            strcmp(clause->name.text, prefix->items[0].text) == 0)
            return true;
        if (clause->kind != CLAUSE_FIELD || clause->path.count < prefix->count ||
            (clause->path.count > prefix->count) != inside)
            continue;
        bool same = true;
        for (size_t j = 0; j < prefix->count; j++)
            same &= strcmp(clause->path.items[j].text, prefix->items[j].text) == 0;
        if (same)
            return true;
    }
    return false;
}

static void check_filled(struct program *program, const struct statement *statement,
                         const struct record_type *record, const name_list *prefix,
                         const struct field *event_time)
{
    for (size_t i = 0; i < record->field_count; i++) {
        const struct field *field = &record->fields[i];
        name_list path = {0};
        for (size_t j = 0; j < prefix->count; j++)
            vec_push(program->arena, &path, prefix->items[j]);
        vec_push(program->arena, &path, ((struct name){field->name, statement->name.span}));
        if (field == event_time || is_filled(statement, &path, false))
            continue;
        bool inside = is_filled(statement, &path, true);
        if (!inside && (field->nullable || field->has_default))
            continue;
        if (field->type->kind == TYPE_RECORD) {
            check_filled(program, statement, field->type->record, &path, NULL);
            continue;
        }
        const char *text = path.items[0].text;
        for (size_t j = 1; j < path.count; j++)
            text = arena_printf(program->arena, "%s.%s", text, path.items[j].text);
        struct diag *diag = diag_error(program, PC2030, statement->name.span,
                                       "traffic `%s` does not fill `%s`, which is %s",
                                       statement->name.text, text, type_name(program, field->type));
        diag_help(diag, "write a line `field %s …`", text);
    }
}

/* --- faults --- */

/* The most that a window behind this stream waits; made once a stream. */
static int64_t lateness_behind(const struct stream *stream)
{
    struct stream_info *info = stream->info;
    if (info->lateness_known)
        return info->lateness_behind_ms;
    info->lateness_known = true;
    for (size_t i = 0; i < stream->readers.count; i++) {
        const struct stream *reader = stream->readers.items[i];
        int64_t most_ms = lateness_behind(reader);
        for (size_t j = 0; j < reader->step_count; j++)
            if (reader->steps[j].kind == STEP_WINDOW && reader->steps[j].lateness_ms > most_ms)
                most_ms = reader->steps[j].lateness_ms;
        if (most_ms > info->lateness_behind_ms)
            info->lateness_behind_ms = most_ms;
    }
    return info->lateness_behind_ms;
}

static void check_fault_effect(struct program *program, const struct fault *fault,
                               const struct stream *source)
{
    const struct source_def *def = source->source;
    int64_t grace_ms = def->watermark_ms;
    if (fault->kind == FAULT_OUT_OF_ORDER && fault->high_ms > grace_ms) {
        struct diag *diag = diag_lint(program, W2005, fault->span,
                                      "some of these will be late: the watermark waits %s",
                                      duration_text(program, grace_ms));
        diag_help(diag, "keep it within the watermark; `fault late` makes late records");
    }
    grace_ms += lateness_behind(source);
    if (fault->kind == FAULT_LATE && fault->low_ms <= grace_ms) {
        struct diag *diag = diag_lint(program, W2005, fault->span,
                                      "some of these will not be late: windows wait %s",
                                      duration_text(program, grace_ms));
        diag_help(diag, "begin beyond watermark and lateness");
    }
    if (fault->kind == FAULT_AHEAD && def->is_kafka && fault->low_ms <= def->ahead_ms) {
        struct diag *diag = diag_lint(program, W2005, fault->span,
                                      "some of these will be taken: up to %s ahead is allowed",
                                      duration_text(program, def->ahead_ms));
        diag_help(diag, "begin beyond `ahead`");
    }
}

static void check_fault(struct program *program, const struct clause *clause,
                        const struct stream *source)
{
    const struct fault *fault = clause->fault;
    const struct source_def *def = source->source;
    bool timed = fault->kind == FAULT_OUT_OF_ORDER || fault->kind == FAULT_LATE ||
                 fault->kind == FAULT_AHEAD;
    check_percent(program, fault->percent, fault->span);
    if (fault->kind == FAULT_VALUE) {
        const struct field *field =
            field_named(program, def->payload, &fault->path, source->name.text);
        if (field)
            check_constant(program, fault->value, field->type, field->nullable,
                           arena_printf(program->arena, "`%s`", field->name));
        return;
    }
    check_range(program, fault->low_ms, fault->high_ms, fault->span, "a fault");
    bool plain = def->event_time_column != UINT32_MAX && !def->event_time_added;
    if (fault->kind == FAULT_AHEAD && def->event_time && !plain) {
        diag_error(program, PC2032, fault->span,
                   "the event time of `%s` is computed, so it can't be set ahead",
                   source->name.text);
        return;
    }
    if (timed && !def->event_time) {
        struct diag *diag = diag_error(program, PC2032, fault->span,
                                       "`%s` has no event time to be wrong", source->name.text);
        diag_help(diag, "write `event time COLUMN` in the source");
        return;
    }
    check_fault_effect(program, fault, source);
}

/* --- entry --- */

void resolve_traffic(struct resolver *resolver, const struct statement *statement)
{
    struct program *program = resolver->program;
    check_once(program, statement);
    struct stream *source = stream_named(resolver, statement->from.items[0]);
    if (!source)
        return;
    if (source->kind != STREAM_SOURCE) {
        struct diag *diag =
            diag_error(program, PC2026, statement->from.items[0].span,
                       "traffic goes into a source, and `%s` is none", source->name.text);
        diag_also(diag, source->span, "defined here");
        return;
    }
    if (source->source && source->source->event_time && source->source->event_time_added) {
        struct diag *diag =
            diag_error(program, PC2037, statement->from.items[0].span,
                       "the event time of `%s` is computed, so traffic can't make records for it",
                       source->name.text);
        diag_also(diag, source->source->event_time->span, "from this");
        diag_note(diag, "a record that is due at a time must have that time");
        diag_help(diag, "read a column as it is: `event time COLUMN`, or `event time kafka_time`");
        return;
    }
    struct traffic *traffic = arena_alloc(program->arena, sizeof *traffic);
    *traffic = (struct traffic){statement->name, source, statement};
    vec_push(program->arena, &program->traffics, traffic);
    const struct clause *session = clause_find(statement, CLAUSE_TRAFFIC_SESSION);
    if (session) {
        check_range(program, session->low_ms, session->high_ms, session->span, "a session");
        check_range(program, session->pause_low_ms, session->pause_high_ms, session->span,
                    "a pause");
    }
    const struct source_def *def = source->source;
    if (!def || !def->payload)
        return;
    const struct clause *steps = clause_find(statement, CLAUSE_STEPS);
    bool all_known = true;
    if (steps) {
        name_list path = {0};
        vec_push(program->arena, &path, steps->name);
        const struct field *field = field_named(program, def->payload, &path, source->name.text);
        all_known = field != NULL;
        if (field)
            check_steps(program, steps, statement, field);
    }
    for (size_t i = 0; i < statement->clauses.count; i++) {
        if (statement->clauses.items[i].kind == CLAUSE_FIELD)
            all_known &= check_field(program, statement, i, source);
        if (statement->clauses.items[i].kind == CLAUSE_FAULT)
            check_fault(program, &statement->clauses.items[i], source);
    }
    if (!all_known)
        return; /* a name misspelt leaves a field unfilled */
    bool plain = def->event_time && !def->event_time_added && def->event_time_column != UINT32_MAX;
    check_filled(program, statement, def->payload, &(name_list){0},
                 plain ? &def->payload->fields[def->event_time_column] : NULL);
}
