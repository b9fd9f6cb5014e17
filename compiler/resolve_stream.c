/* resolve_stream.c: the clauses of a stream become steps, each with the row that leaves it. */
#include <string.h>
#include "resolve.h"

/* --- steps --- */

struct step *step_add(struct builder *builder, enum step_kind kind, const struct clause *clause)
{
    struct step step = {.kind = kind,
                        .clause = clause,
                        .input = builder->scope.row,
                        .partition_known = builder->partition_known,
                        .partition_columns = builder->partition_columns,
                        .partition_count = builder->partition_count};
    vec_push(builder->program->arena, &builder->steps, step);
    return &builder->steps.items[builder->steps.count - 1];
}

void step_done(struct builder *builder, struct step *step, const struct record_type *row)
{
    step->row = row;
    builder->scope.row = row;
}

void note_fallible(struct builder *builder, const struct expr *expr)
{
    if (!builder->stream->info->fallible && !is_poison(expr))
        builder->stream->info->fallible = fallible_part(expr);
}

bool columns_named(struct program *program, const struct record_type *row, const char *row_of,
                   const name_list *names, uint32_t **indexes, size_t *count)
{
    bool good = true;
    *count = 0;
    *indexes = arena_alloc(program->arena, (names->count + 1) * sizeof **indexes);
    for (size_t i = 0; i < names->count; i++) {
        int index = field_index(row, names->items[i].text);
        if (index < 0) {
            report_unknown_column(program, names->items[i], row, row_of);
            good = false;
            continue;
        }
        bool again = false;
        for (size_t j = 0; j < *count; j++)
            again |= (*indexes)[j] == (uint32_t)index;
        if (again) {
            diag_error(program, PC2011, names->items[i].span, "`%s` is named twice",
                       names->items[i].text);
            good = false;
            continue;
        }
        (*indexes)[(*count)++] = (uint32_t)index;
    }
    if (!good)
        *count = 0;
    return good;
}

/* --- filters --- */

static void check_reason(struct program *program, const struct clause *clause)
{
    static const char *const taken[] = {
        "undecodable",        "schema_unknown",   "no_value",          "key_mismatch",
        "event_time_invalid", "event_time_ahead", "expression_failed", "too_old_to_dedup"};
    if (clause->text_bytes == 0)
        diag_error(program, PC2020, clause->text_span, "the reason is empty");
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (strcmp(taken[i], clause->text) == 0) {
            struct diag *diag = diag_error(program, PC2020, clause->text_span,
                                           "the reason '%s' is built in", taken[i]);
            diag_help(diag, "choose another, so that one reason has one meaning");
        }
}

static void build_filter(struct builder *builder, struct clause *clause)
{
    struct program *program = builder->program;
    struct scope *scope = &builder->scope;
    enum step_kind kind = clause->kind == CLAUSE_WHERE     ? STEP_WHERE
                          : clause->kind == CLAUSE_REQUIRE ? STEP_REQUIRE
                                                           : STEP_DIVERT;
    struct step *step = step_add(builder, kind, clause);
    check_decision(scope, &clause->expr, clause_word(clause->kind));
    step->expr = clause->expr;
    note_fallible(builder, clause->expr);
    if (clause->expr->is_constant && !is_poison(clause->expr)) {
        struct diag *diag = diag_lint(program, W2006, clause->expr->span,
                                      "this reads no column: it is the same for every row");
        diag_help(diag, "remove it, or compare a column");
    }
    if (kind == STEP_REQUIRE) {
        check_reason(program, clause);
        step->reason = clause->text;
        builder->can_refuse = true;
    }
    if (kind == STEP_DIVERT) {
        const struct entity *entity = entity_find(builder->resolver, clause->name.text);
        if (entity && entity->kind == ENTITY_STREAM && entity->stream->kind == STREAM_DIVERTED)
            step->to = entity->stream;
    }
    if (!scope->row)
        return;
    if (step->to) {
        const struct fact *facts = facts_if(program, clause->expr, true, scope->facts);
        step->to->info->facts = step->to->row ? NULL : facts; /* of several feeders: none */
        feed_side(builder->resolver, step->to, builder->stream,
                  row_narrow(program, scope->row, facts), clause->name.span);
    }
    scope->facts = facts_if(program, clause->expr, kind != STEP_DIVERT, scope->facts);
    step_done(builder, step, row_narrow(program, scope->row, scope->facts));
}

/* --- unnest --- */

static bool check_array(struct builder *builder, struct clause *clause)
{
    struct scope *scope = &builder->scope;
    check_expr(scope, &clause->expr);
    struct expr *expr = clause->expr;
    if (is_poison(expr))
        return false;
    if (expr->type->kind != TYPE_ARRAY) {
        diag_error(builder->program, PC3005, expr->span, "`unnest` takes an array, and `%s` is %s",
                   span_text(builder->program, expr->span),
                   type_name(builder->program, expr->type));
        return false;
    }
    if (!expr->nullable)
        return true;
    const char *text = span_text(builder->program, expr->span);
    struct diag *diag = diag_error(builder->program, PC3105, expr->span,
                                   "`%s` may be null here, and `unnest` needs an array", text);
    diag_help(diag, "write `where %s is not null` before it", text);
    return false;
}

/* Facts and partition columns survive a step that moves columns: `moved[i]` is column i's place. */
static void move_partition(struct builder *builder, const int *moved)
{
    uint32_t *columns =
        arena_alloc(builder->program->arena, (builder->partition_count + 1) * sizeof *columns);
    for (size_t i = 0; i < builder->partition_count; i++) {
        int place = moved[builder->partition_columns[i]];
        if (place < 0)
            builder->partition_known = false;
        else
            columns[i] = (uint32_t)place;
    }
    builder->partition_columns = columns;
    if (!builder->partition_known)
        builder->partition_count = 0;
}

static void drop_facts(struct builder *builder, const char *name)
{
    const struct fact *kept = NULL;
    for (const struct fact *fact = builder->scope.facts; fact; fact = fact->next)
        if (strcmp(fact->names[0], name) != 0)
            kept = fact_add(builder->program, kept, fact->names, fact->count);
    builder->scope.facts = kept;
}

static void build_unnest(struct builder *builder, struct clause *clause)
{
    struct program *program = builder->program;
    if (!check_array(builder, clause)) {
        builder->scope.row = NULL;
        return;
    }
    struct step *step = step_add(builder, STEP_UNNEST, clause);
    const struct expr *expr = clause->expr;
    const struct record_type *input = builder->scope.row;
    const char *name = clause->as.text;
    bool whole = expr->steps.count == 1;
    int *moved = arena_alloc(program->arena, (input->field_count + 1) * sizeof *moved);
    struct field element = {.name = name,
                            .type = expr->type->element,
                            .nullable = expr->type->element_nullable,
                            .span = clause->as.span};
    struct field index = element;
    index.name = intern_cstr(program, arena_printf(program->arena, "%s_index", name));
    index.type = type_simple(TYPE_INT32);
    index.nullable = false;
    struct record_type *row = row_new(program, builder->stream->name.text, input->field_count + 2);
    bool good = true;
    for (size_t i = 0; i < input->field_count; i++) {
        bool taken = whole && i == expr->steps.items[0];
        moved[i] = taken ? -1 : (int)row->field_count;
        good &= row_add(program, row, taken ? element : input->fields[i]);
        if (taken)
            good &= row_add(program, row, index);
    }
    if (!whole)
        good &= row_add(program, row, element) && row_add(program, row, index);
    step->expr = clause->expr;
    step->unnest_as = name;
    move_partition(builder, moved);
    if (whole)
        drop_facts(builder, expr->path.items[0].text);
    drop_facts(builder, name);
    step_done(builder, step, good ? row : NULL);
    builder->scope.row_of = builder->stream->name.text;
}

/* --- dedup --- */

static void check_dedup_column(struct builder *builder, const struct name *name,
                               const struct field *field)
{
    struct program *program = builder->program;
    if (!type_is_key(field->type) && field->type->kind != TYPE_POISON) {
        struct diag *diag = diag_error(program, PC4017, name->span, "`%s` is %s, which is no key",
                                       name->text, type_name(program, field->type));
        diag_help(diag, "keys are single values that are no floats");
    } else if (field->nullable) {
        struct diag *diag =
            diag_error(program, PC4018, name->span,
                       "`%s` may be null, and all nulls would be one key", name->text);
        diag_help(diag, "write `require %s is not null else '%s_missing'` before it", name->text,
                  name->text);
    }
}

void build_dedup(struct builder *builder, const struct clause *clause)
{
    struct program *program = builder->program;
    struct step *step = step_add(builder, STEP_DEDUP, clause);
    builder->can_refuse = true;
    step->ttl_ms = clause->duration_ms;
    check_duration(program, clause->duration_ms, false, clause->span, "`within`");
    if (!builder->scope.row)
        return;
    columns_named(program, builder->scope.row, builder->scope.row_of, &clause->names,
                  &step->key_columns, &step->key_count);
    for (size_t i = 0; i < step->key_count; i++)
        check_dedup_column(builder, &clause->names.items[i],
                           &builder->scope.row->fields[step->key_columns[i]]);
    step->exchange = needs_exchange(step);
    if (step->exchange) {
        builder->partition_known = true;
        builder->partition_columns = step->key_columns;
        builder->partition_count = step->key_count;
        builder->stream->has_source_record = false;
    }
    step_done(builder, step, builder->scope.row);
}

/* --- what a stream may be made of --- */

/* Reject and late streams, and what is made of them: filtered, selected, sunk. */
static bool check_restricted(struct builder *builder)
{
    const struct statement *statement = builder->stream->statement;
    const char *kind = NULL, *of = "";
    for (size_t i = 0; i < builder->stream->input_count; i++)
        if (builder->stream->inputs[i]->info->is_restricted) {
            kind = builder->stream->inputs[i]->info->restricted_kind;
            of = builder->stream->inputs[i]->name.text;
        }
    if (!kind)
        return true;
    builder->stream->info->is_restricted = true;
    builder->stream->info->restricted_kind = kind;
    for (size_t i = 0; i < statement->clauses.count; i++) {
        const struct clause *clause = &statement->clauses.items[i];
        if (clause->kind == CLAUSE_WHERE || clause->kind == CLAUSE_DIVERT ||
            clause->kind == CLAUSE_SELECT)
            continue;
        struct diag *diag = diag_error(builder->program, PC2017, clause->word,
                                       "`%s` can't act on `%s`, which holds %s rows",
                                       clause_word(clause->kind), of, kind);
        diag_help(diag, "such rows can be filtered with `where` and `divert`, selected, and sunk");
        return false;
    }
    return true;
}

/* Behind a filter or a window a revision could leave its predecessor standing. */
static bool check_corrections(struct builder *builder)
{
    const struct stream *stream = builder->stream;
    const struct stream *sender = NULL;
    for (size_t i = 0; i < stream->input_count; i++)
        if (stream->inputs[i]->sends_corrections)
            sender = stream->inputs[i];
    if (!sender)
        return true;
    const struct clause *wrong = NULL;
    for (size_t i = 0; !wrong && i < stream->statement->clauses.count; i++)
        if (stream->statement->clauses.items[i].kind != CLAUSE_SELECT)
            wrong = &stream->statement->clauses.items[i];
    builder->stream->sends_corrections = true;
    builder->stream->info->must_keep.items = sender->info->must_keep.items;
    builder->stream->info->must_keep.count = sender->info->must_keep.count;
    if (!wrong && stream->input_count == 1)
        return true;
    struct diag *diag = wrong ? diag_error(builder->program, PC4015, wrong->word,
                                           "`%s` can't act on `%s`, which sends corrections",
                                           clause_word(wrong->kind), sender->name.text)
                              : diag_error(builder->program, PC4015, stream->span,
                                           "`%s` sends corrections and can't be united with others",
                                           sender->name.text);
    diag_note(diag, "a corrected row could leave the one before it standing");
    diag_help(diag, "write `emit on final` in `%s`, or filter before its window",
              sender->name.text);
    return false;
}

static void check_one_state(struct builder *builder)
{
    const struct statement *statement = builder->stream->statement;
    const struct clause *dedup = clause_find(statement, CLAUSE_DEDUP);
    const struct clause *window = clause_find(statement, CLAUSE_WINDOW);
    if (!window)
        window = clause_find(statement, CLAUSE_AGGREGATE);
    if (!dedup || !window)
        return;
    struct diag *diag = diag_error(builder->program, PC2019, window->word,
                                   "`%s` holds two kinds of state", builder->stream->name.text);
    diag_also(diag, dedup->word, "one");
    diag_help(diag, "put the window into a stream that reads this one: a stream's name is the "
                    "name of its state");
    builder->stream->info->failed = true;
}

/* Keyed state needs to know which time it is. */
static void check_time(struct builder *builder, const struct clause *clause)
{
    struct program *program = builder->program;
    stream_list roots = {0};
    root_sources(program, builder->stream, &roots);
    for (size_t i = 0; i < roots.count; i++) {
        const struct stream *source = roots.items[i];
        bool time = clause_find(source->statement, CLAUSE_EVENT_TIME) != NULL;
        if ((time && source->has_watermark) || source->info->failed)
            continue;
        source->info->failed = true; /* said once, however many need it */
        struct diag *diag = diag_error(
            program, PC4004, source->span, "source `%s` has no %s, and `%s` needs it",
            source->name.text, time ? "watermark" : "event time", builder->stream->name.text);
        diag_also(diag, clause->word, "needs it");
        diag_help(diag, time ? "write `watermark 5s`: how long records may come out of order"
                             : "write `event time COLUMN` and `watermark 5s`");
    }
}

/* --- the whole statement --- */

static void begin(struct builder *builder)
{
    struct stream *stream = builder->stream;
    struct stream_info *info = stream->info;
    bool all = stream->input_count > 0;
    stream->input_row = unite_rows(builder->resolver, stream);
    stream->has_event_time = stream->has_watermark = stream->is_windowed = all;
    stream->has_source_record = info->allows_kafka = all;
    for (size_t i = 0; i < stream->input_count; i++) {
        const struct stream *input = stream->inputs[i];
        stream->has_event_time &= input->has_event_time;
        stream->has_watermark &= input->has_watermark;
        stream->is_windowed &= input->is_windowed;
        stream->has_source_record &= input->has_source_record;
        info->allows_kafka &= input->info->allows_kafka;
        if (!input->info->allows_kafka)
            info->kafka_refusal = input->info->kafka_refusal;
        if (input->event_time_type &&
            (!stream->event_time_type || input->event_time_type->kind == TYPE_TIMESTAMP_US))
            stream->event_time_type = input->event_time_type;
        if (input->info->delay_ms > info->delay_ms)
            info->delay_ms = input->info->delay_ms;
        info->waits_watermark |= input->info->waits_watermark;
    }
    builder->scope = (struct scope){.program = builder->program,
                                    .row = stream->input_row,
                                    .row_of = stream->name.text,
                                    .allows_kafka = info->allows_kafka,
                                    .kafka_refusal = info->kafka_refusal};
    if (stream->input_count != 1)
        return;
    const struct stream *input = stream->inputs[0];
    builder->scope.row_of = input->name.text;
    builder->scope.facts = input->info->facts;
    builder->partition_known = input->partition_known;
    builder->partition_columns = input->partition_columns;
    builder->partition_count = input->partition_count;
    if (input->kind == STREAM_DIVERTED && input->feeders.count > 1)
        builder->partition_known = false;
}

static void build_steps(struct builder *builder)
{
    static const enum clause_kind order[][3] = {
        {CLAUSE_WHERE, CLAUSE_REQUIRE, CLAUSE_DIVERT},
        {CLAUSE_UNNEST, CLAUSE_UNNEST, CLAUSE_UNNEST},
        {CLAUSE_SELECT, CLAUSE_SELECT, CLAUSE_SELECT},
        {CLAUSE_DEDUP, CLAUSE_DEDUP, CLAUSE_DEDUP},
    };
    const struct statement *statement = builder->stream->statement;
    for (size_t rank = 0; rank < 4; rank++)
        for (size_t i = 0; i < statement->clauses.count; i++) {
            struct clause *clause = &statement->clauses.items[i];
            if (clause->kind != order[rank][0] && clause->kind != order[rank][1] &&
                clause->kind != order[rank][2])
                continue;
            if (clause->kind == CLAUSE_UNNEST)
                build_unnest(builder, clause);
            else if (clause->kind == CLAUSE_SELECT)
                build_select(builder, clause);
            else if (clause->kind == CLAUSE_DEDUP)
                build_dedup(builder, clause);
            else
                build_filter(builder, clause);
            if (clause->kind == CLAUSE_DEDUP)
                check_time(builder, clause);
        }
    const struct clause *window = clause_find(statement, CLAUSE_WINDOW);
    build_window(builder);
    if (window)
        check_time(builder, window);
}

static void report_no_rejects(struct builder *builder)
{
    struct program *program = builder->program;
    struct rejects_proposal rejects = propose_rejects(builder->resolver);
    struct stream *stream = builder->stream;
    const struct expr *failing = stream->info->fallible;
    bool possible = !stream->info->is_restricted && !stream->sends_corrections;
    if (failing) {
        const char *text = span_text(program, failing->span);
        struct diag *diag = diag_error(program, PC3101, failing->span,
                                       "`%s` can fail, and nothing takes the row then", text);
        if (failing->outgrows)
            diag_note(diag, "data says how long this text is: it can be longer than a text may be, "
                            "16 times --max-record and 1 MiB");
        if (possible)
            diag_help(diag, "write `try(%s, …)`, or `rejects to %s` in this stream%s", text,
                      rejects.name, rejects.sink);
        else
            diag_help(diag, "write `try(%s, …)`", text);
        return;
    }
    const struct clause *clause = clause_find(stream->statement, CLAUSE_REQUIRE);
    if (!clause)
        clause = clause_find(stream->statement, CLAUSE_DEDUP);
    struct diag *diag =
        diag_error(program, PC2034, clause->word, "`%s` refuses rows, and nothing takes them",
                   clause_word(clause->kind));
    diag_help(diag, "write `rejects to %s` in this stream%s", rejects.name, rejects.sink);
}

/* What a warning says of a stream with errors may only follow from them. */
static void check_rejects(struct builder *builder, bool is_sound)
{
    struct stream *stream = builder->stream;
    const struct clause *clause = clause_find(stream->statement, CLAUSE_REJECTS);
    bool needed = builder->can_refuse || stream->info->fallible;
    if (!clause && needed)
        report_no_rejects(builder);
    if (!is_sound || !stream->row)
        return;
    if (clause && !needed && !builder->sum_overflows) {
        struct diag *diag = diag_lint(builder->program, W2004, clause->span,
                                      "nothing in `%s` can be refused", stream->name.text);
        diag_help(diag, "remove `rejects to`");
    }
    if (!clause && !needed && builder->sum_overflows) {
        struct diag *diag = diag_lint(builder->program, W4001, builder->sum_span,
                                      "if this sum overflows, the program stops");
        struct rejects_proposal rejects = propose_rejects(builder->resolver);
        diag_help(diag, "write `rejects to %s` to put that row aside instead%s", rejects.name,
                  rejects.sink);
    }
}

void resolve_stream(struct resolver *resolver, struct stream *stream)
{
    struct program *program = resolver->program;
    struct builder builder = {.resolver = resolver, .program = program, .stream = stream};
    unsigned errors = diag_error_count(program), uses = program->unknown_uses;
    check_once(program, stream->statement);
    check_order(program, stream->statement);
    begin(&builder);
    check_one_state(&builder);
    bool allowed = check_restricted(&builder) && check_corrections(&builder);
    if (!allowed)
        builder.scope.row = NULL;
    if (allowed)
        build_steps(&builder);
    stream->steps = builder.steps.items;
    stream->step_count = builder.steps.count;
    stream->row = builder.scope.row;
    stream->info->facts = builder.scope.facts;
    stream->partition_known = builder.partition_known;
    stream->partition_columns = builder.partition_columns;
    stream->partition_count = builder.partition_count;
    stream->kafka_columns = builder.scope.uses_kafka;
    bool is_sound = errors == diag_error_count(program) && uses == program->unknown_uses;
    if (allowed)
        check_rejects(&builder, is_sound);
}
