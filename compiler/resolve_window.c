/* resolve_window.c: windows, groups, aggregates, lateness, emission, late rows. */
#include <string.h>
#include "resolve.h"

enum { MAX_DURATION_DAYS = 36500, MAX_WINDOWS_OF_RECORD = 10000 };

bool check_duration(struct program *program, int64_t ms, bool zero_too, struct span at,
                    const char *what)
{
    int64_t limit_ms = (int64_t)MAX_DURATION_DAYS * 86400000;
    if (ms <= limit_ms && (ms > 0 || (ms == 0 && zero_too)))
        return true;
    struct diag *diag =
        diag_error(program, PC4012, at, "%s must be %s%d days", what,
                   zero_too ? "at most " : "above 0 and at most ", MAX_DURATION_DAYS);
    if (ms > limit_ms)
        diag_help(diag, "state of such an age would never be freed");
    return false;
}

/* Finds a clause of this builder's statement. */
static const struct clause *find(const struct builder *builder, enum clause_kind kind)
{
    return clause_find(builder->stream->statement, kind);
}

/* --- a window, or the parts of one --- */

/* False: there is none, or parts that make none, after a diagnostic: then its row is unknown. */
static bool check_parts(struct builder *builder)
{
    static const enum clause_kind parts[] = {CLAUSE_GROUP, CLAUSE_LATENESS, CLAUSE_LATE,
                                             CLAUSE_DROP_LATE, CLAUSE_EMIT};
    struct program *program = builder->program;
    const struct clause *aggregate = find(builder, CLAUSE_AGGREGATE);
    const struct clause *window = find(builder, CLAUSE_WINDOW);
    if (aggregate && !window) {
        struct diag *diag = diag_error(program, PC4001, aggregate->word,
                                       "an aggregate without a window: its state would grow for "
                                       "ever");
        diag_help(diag, "write `window tumbling 1m` before it");
        builder->scope.row = NULL;
        return false;
    }
    if (window && !aggregate) {
        struct diag *diag =
            diag_error(program, PC4002, window->word, "a window without an aggregate");
        diag_help(diag, "write `aggregate count() as events` behind it");
        builder->scope.row = NULL;
        return false;
    }
    for (size_t i = 0; !window && i < sizeof parts / sizeof *parts; i++) {
        const struct clause *part = find(builder, parts[i]);
        if (!part)
            continue;
        struct diag *diag =
            diag_error(program, PC4022, part->word, "`%s` belongs to a window, and `%s` has none",
                       clause_word(part->kind), builder->stream->name.text);
        diag_help(diag, "remove it, or write a `window` and an `aggregate` clause");
        builder->scope.row = NULL;
        return false;
    }
    return window != NULL;
}

static void check_offset(struct builder *builder, const struct clause *clause, int64_t every_ms)
{
    if (!clause->has_offset || clause->offset_ms < every_ms)
        return;
    struct diag *diag = diag_error(builder->program, PC4013, clause->span,
                                   "the offset must be less than the distance of two windows");
    diag_help(diag, "windows repeat: take the rest of the division");
}

static void check_session(struct builder *builder, const struct clause *clause, struct step *step)
{
    struct program *program = builder->program;
    const struct clause *lateness = find(builder, CLAUSE_LATENESS);
    const struct clause *emit = find(builder, CLAUSE_EMIT);
    step->gap_ms = clause->duration_ms;
    step->max_ms = clause->has_second ? clause->second_ms : 0;
    if (clause->has_second && step->max_ms < step->gap_ms) {
        struct diag *diag =
            diag_error(program, PC4021, clause->span, "`max` is shorter than `gap`");
        diag_help(diag, "a session of one record is already as long as the gap");
    }
    if (emit && emit->emit == EMIT_UPDATE) {
        struct diag *diag =
            diag_error(program, PC4008, emit->span, "sessions have no `emit on update`");
        diag_note(diag, "when two sessions merge, the rows of both would have to be taken back");
        diag_help(diag, "write `emit on close`");
    } else if (lateness && lateness->duration_ms > 0 && emit && emit->emit == EMIT_CLOSE) {
        struct diag *diag = diag_error(program, PC4009, lateness->span,
                                       "sessions with `lateness` need `emit on final`");
        diag_also(diag, emit->span, "this sends rows before");
        diag_note(diag, "a late record can merge two sessions whose rows were already sent");
        diag_help(diag, "write `emit on final`, or remove `lateness`");
    }
}

/* A record makes all windows that it is in at once: state of them is bounded only here. */
static void check_hops(struct program *program, const struct clause *clause,
                       const struct step *step)
{
    int64_t windows = (step->size_ms + step->every_ms - 1) / step->every_ms;
    if (windows <= MAX_WINDOWS_OF_RECORD)
        return;
    int64_t least_ms = (step->size_ms + MAX_WINDOWS_OF_RECORD - 1) / MAX_WINDOWS_OF_RECORD;
    struct diag *diag = diag_error(program, PC4012, clause->span,
                                   "`hopping %s every %s`: a record would be in %lld windows",
                                   duration_text(program, step->size_ms),
                                   duration_text(program, step->every_ms), (long long)windows);
    diag_note(diag, "a record makes all its windows at once, so it may be in at most %d",
              MAX_WINDOWS_OF_RECORD);
    diag_help(diag, "write `every %s` or more, or a shorter window",
              duration_text(program, least_ms));
}

static void resolve_window_kind(struct builder *builder, struct step *step)
{
    struct program *program = builder->program;
    const struct clause *clause = step->clause;
    step->window = clause->window;
    bool good = check_duration(program, clause->duration_ms, false, clause->span, "a window");
    if (clause->window == WINDOW_SESSION) {
        check_session(builder, clause, step);
        return;
    }
    step->size_ms = step->every_ms = clause->duration_ms;
    step->offset_ms = clause->has_offset ? clause->offset_ms : 0;
    if (clause->window == WINDOW_HOPPING) {
        step->every_ms = clause->second_ms;
        good &= check_duration(program, step->every_ms, false, clause->span, "`every`");
        if (good && step->every_ms > step->size_ms) {
            struct diag *diag =
                diag_error(program, PC4011, clause->span, "`every` is longer than the window");
            diag_note(diag, "records between two windows would be in none");
            diag_help(diag, "make `every` at most the size of the window");
        } else if (good) {
            check_hops(program, clause, step);
        }
    }
    check_offset(builder, clause, step->every_ms);
}

/* --- groups and aggregates --- */

/* False: a column was reported. */
static bool resolve_groups(struct builder *builder, struct step *step)
{
    struct program *program = builder->program;
    const struct clause *clause = find(builder, CLAUSE_GROUP);
    const struct record_type *row = builder->scope.row;
    if (!clause || !row)
        return true;
    bool known = columns_named(program, row, builder->scope.row_of, &clause->names,
                               &step->key_columns, &step->key_count);
    for (size_t i = 0; i < step->key_count; i++) {
        const struct type *type = row->fields[step->key_columns[i]].type;
        if (type_is_key(type) || type->kind == TYPE_POISON)
            continue;
        struct diag *diag = diag_error(program, PC4017, clause->names.items[i].span,
                                       "`%s` is %s, which can't be grouped by",
                                       clause->names.items[i].text, type_name(program, type));
        if (type_is_float(type))
            diag_help(diag, "equal floats are luck: `select cast(round(%s) as int64) as …` first",
                      clause->names.items[i].text);
    }
    return known;
}

static void resolve_aggregates(struct builder *builder, struct step *step)
{
    struct program *program = builder->program;
    const struct clause *clause = find(builder, CLAUSE_AGGREGATE);
    size_t count = clause->items.count;
    if (count + step->key_count + 3 > MAX_COLUMNS) {
        diag_error(program, PC2035, clause->word, "this row would have more than %d columns",
                   MAX_COLUMNS);
        builder->stream->info->failed = true;
        return;
    }
    step->aggregates = arena_alloc(program->arena, (count + 1) * sizeof *step->aggregates);
    for (size_t i = 0; i < count; i++) {
        struct aggregate *aggregate = &step->aggregates[step->aggregate_count];
        if (!check_aggregate(&builder->scope, &clause->items.items[i], aggregate)) {
            builder->stream->info->failed = true;
            continue;
        }
        step->aggregate_count++;
        if (aggregate->arg)
            note_fallible(builder, aggregate->arg);
        if (aggregate->by)
            note_fallible(builder, aggregate->by);
        if (aggregate->kind == AGG_SUM && !builder->sum_overflows) {
            builder->sum_overflows = true;
            builder->sum_span = aggregate->span;
        }
    }
}

/* --- lateness and emission --- */

static void resolve_emission(struct builder *builder, struct step *step)
{
    struct program *program = builder->program;
    const struct clause *clause = find(builder, CLAUSE_EMIT);
    const struct clause *lateness = find(builder, CLAUSE_LATENESS);
    if (lateness &&
        check_duration(program, lateness->duration_ms, true, lateness->span, "`lateness`"))
        step->lateness_ms = lateness->duration_ms;
    if (!clause) {
        struct diag *diag = diag_error(program, PC4007, step->clause->word,
                                       "the window does not say when its rows come");
        diag_help(diag, "write `emit on close` behind it: a row when the window's time is over");
        return;
    }
    step->emit = clause->emit;
    if (clause->emit == EMIT_UPDATE &&
        check_duration(program, clause->duration_ms, false, clause->span, "`emit on update every`"))
        step->emit_every_ms = clause->duration_ms;
    step->sends_corrections =
        step->window != WINDOW_SESSION &&
        (clause->emit == EMIT_UPDATE || (clause->emit == EMIT_CLOSE && step->lateness_ms > 0));
}

static void check_late_clauses(struct builder *builder, struct step *step)
{
    static const enum clause_kind none[] = {CLAUSE_LATE, CLAUSE_DROP_LATE, CLAUSE_LATENESS};
    struct program *program = builder->program;
    const struct clause *late = find(builder, CLAUSE_LATE);
    step->drop_late = find(builder, CLAUSE_DROP_LATE) != NULL;
    if (builder->stream->is_windowed) {
        for (size_t i = 0; i < 3; i++) {
            const struct clause *clause = find(builder, none[i]);
            if (!clause)
                continue;
            struct diag *diag = diag_error(program, PC4006, clause->span,
                                           "rows of a window are never late, so `%s` has no use",
                                           clause_word(clause->kind));
            diag_help(diag, "remove it");
        }
        return;
    }
    if (!late && !step->drop_late) {
        struct diag *diag = diag_error(program, PC4005, step->clause->word,
                                       "records can come too late for this window, and nothing "
                                       "takes them");
        diag_help(diag, "write `late to late_rows`, or `drop late`");
    }
    if (!late)
        return;
    const struct entity *entity = entity_find(builder->resolver, late->name.text);
    if (entity && entity->kind == ENTITY_STREAM && entity->stream->kind == STREAM_LATE)
        step->late = entity->stream;
}

/* --- rows --- */

static struct field made(struct program *program, const char *name, const struct type *type,
                         bool nullable, struct span span)
{
    return (struct field){
        .name = intern_cstr(program, name), .type = type, .nullable = nullable, .span = span};
}

static void feed_late(struct builder *builder, const struct step *step)
{
    struct program *program = builder->program;
    const struct record_type *input = builder->scope.row;
    const struct type *time = builder->stream->event_time_type;
    struct span at = find(builder, CLAUSE_LATE)->name.span;
    struct record_type *row = row_new(program, step->late->name.text, input->field_count + 3);
    memcpy(row->fields, input->fields, input->field_count * sizeof *row->fields);
    row->field_count = input->field_count;
    bool good =
        row_add(program, row, made(program, "late_for", type_simple(TYPE_STRING), false, at)) &&
        row_add(program, row, made(program, "window_end", time, false, at)) &&
        row_add(program, row, made(program, "watermark", time, false, at));
    feed_side(builder->resolver, step->late, builder->stream, good ? row : NULL, at);
}

static bool is_named_before(const name_list *names, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (strcmp(names->items[i].text, names->items[at].text) == 0)
            return true;
    return false;
}

/* A name that the input lacks was reported: it is a column all the same, of a type unknown. */
static bool add_groups(struct builder *builder, struct record_type *row)
{
    struct program *program = builder->program;
    const struct record_type *input = builder->scope.row;
    const struct clause *group = find(builder, CLAUSE_GROUP);
    bool good = true;
    for (size_t i = 0; group && i < group->names.count; i++) {
        const struct name *name = &group->names.items[i];
        int index = field_index(input, name->text);
        if (is_named_before(&group->names, i))
            continue;
        struct field field = made(program, name->text, type_simple(TYPE_POISON), false, name->span);
        if (index >= 0)
            field = input->fields[index];
        if (!field.span.source || strcmp(field.name, "window_start") == 0 ||
            strcmp(field.name, "window_end") == 0)
            field.span = name->span;
        good &= row_add(program, row, field);
    }
    return good;
}

static const struct record_type *window_row(struct builder *builder, const struct step *step)
{
    struct program *program = builder->program;
    const struct type *time = builder->stream->event_time_type;
    const struct clause *group = find(builder, CLAUSE_GROUP);
    size_t group_count = group ? group->names.count : 0;
    struct span at = step->clause->word;
    struct record_type *row =
        row_new(program, builder->stream->name.text, group_count + step->aggregate_count + 3);
    bool good = row_add(program, row, made(program, "window_start", time, false, at)) &&
                row_add(program, row, made(program, "window_end", time, false, at));
    good &= add_groups(builder, row);
    for (size_t i = 0; i < step->aggregate_count; i++) {
        const struct aggregate *aggregate = &step->aggregates[i];
        struct field field =
            made(program, aggregate->name, aggregate->type, aggregate->nullable, aggregate->span);
        if (aggregate->arg) /* a text is one of its argument's */
            field.growth = aggregate->arg->growth;
        good &= row_add(program, row, field);
    }
    if (step->sends_corrections)
        good &=
            row_add(program, row, made(program, "revision", type_simple(TYPE_INT32), false, at));
    return good ? row : NULL;
}

/* After the exchange, or before without one: where the columns of the partitioning are now. */
static void repartition(struct builder *builder, const struct step *step)
{
    struct program *program = builder->program;
    uint32_t *columns = arena_alloc(program->arena, (step->key_count + 1) * sizeof *columns);
    size_t count = 0;
    for (size_t k = 0; k < step->key_count; k++) {
        bool wanted = step->exchange;
        for (size_t p = 0; p < step->partition_count; p++)
            wanted |= step->partition_columns[p] == step->key_columns[k];
        if (wanted)
            columns[count++] = (uint32_t)(2 + k);
    }
    builder->partition_known = true;
    builder->partition_columns = columns;
    builder->partition_count = count;
}

static void become_windowed(struct builder *builder, const struct step *step)
{
    struct program *program = builder->program;
    struct stream *stream = builder->stream;
    struct stream_info *info = stream->info;
    stream->is_windowed = true;
    stream->sends_corrections = step->sends_corrections;
    stream->has_source_record = info->allows_kafka = false;
    info->kafka_refusal = "a row of a window comes from many records";
    int64_t wait_ms = step->window == WINDOW_SESSION ? step->gap_ms : step->size_ms;
    if (step->emit == EMIT_UPDATE && step->emit_every_ms < wait_ms)
        wait_ms = step->emit_every_ms;
    info->delay_ms += wait_ms + (step->emit == EMIT_FINAL ? step->lateness_ms : 0);
    info->waits_watermark = true;
    builder->scope.facts = NULL;
    if (!step->sends_corrections)
        return;
    vec_push(program->arena, &info->must_keep, intern_cstr(program, "window_start"));
    for (size_t i = 0; i < step->key_count; i++)
        vec_push(program->arena, &info->must_keep, step->input->fields[step->key_columns[i]].name);
    vec_push(program->arena, &info->must_keep, intern_cstr(program, "revision"));
}

void build_window(struct builder *builder)
{
    if (!check_parts(builder))
        return;
    const struct clause *clause = find(builder, CLAUSE_WINDOW);
    struct step *step = step_add(builder, STEP_WINDOW, clause);
    resolve_window_kind(builder, step);
    bool groups_known = resolve_groups(builder, step);
    resolve_aggregates(builder, step);
    resolve_emission(builder, step);
    check_late_clauses(builder, step);
    step->exchange = needs_exchange(step);
    if (step->max_ms > 0 && step->exchange && builder->scope.row && groups_known) {
        struct diag *diag = diag_error(builder->program, PC4010, clause->span,
                                       "`max` is not possible behind an exchange");
        diag_note(diag, "the input is not partitioned by what is grouped by, so which sessions "
                        "are open would depend on how partitions interleave");
        diag_help(diag, "group by the source's `key`, or leave `max` out");
    }
    bool known =
        builder->scope.row && builder->stream->event_time_type && !builder->stream->info->failed;
    if (known && step->late)
        feed_late(builder, step);
    const struct record_type *row = known ? window_row(builder, step) : NULL;
    repartition(builder, step);
    become_windowed(builder, step);
    step_done(builder, step, row);
}

/* --- dedup against the windows behind it --- */

static void check_ttl(struct program *program, const struct stream *window,
                      const struct step *window_step, const struct stream *above)
{
    if (above->info->seen_by == window_step)
        return;
    above->info->seen_by = window_step;
    for (size_t i = 0; i < above->step_count; i++) {
        const struct step *step = &above->steps[i];
        int64_t needed_ms = watermark_bound(program, above) + window_step->lateness_ms;
        if (step->kind == STEP_WINDOW)
            return;
        if (step->kind != STEP_DEDUP || step->ttl_ms >= needed_ms)
            continue;
        struct diag *diag =
            diag_error(program, PC4014, step->clause->span, "`%s` forgets before `%s` is done",
                       above->name.text, window->name.text);
        diag_also(diag, window_step->clause->span, "takes records up to %s old",
                  duration_text(program, needed_ms));
        diag_help(diag, "remember for at least watermark + lateness: `within %s`",
                  duration_text(program, needed_ms));
        return;
    }
    for (size_t i = 0; i < above->input_count; i++)
        check_ttl(program, window, window_step, above->inputs[i]);
    for (size_t i = 0; above->kind == STREAM_DIVERTED && i < above->feeders.count; i++)
        for (size_t j = 0; j < above->feeders.items[i]->input_count; j++)
            check_ttl(program, window, window_step, above->feeders.items[i]->inputs[j]);
}

void check_dedup_ttls(struct resolver *resolver)
{
    struct program *program = resolver->program;
    if (diag_error_count(program) > 0) /* cycles would not end */
        return;
    for (size_t i = 0; i < program->streams.count; i++) {
        const struct stream *stream = program->streams.items[i];
        for (size_t j = 0; j < stream->step_count; j++)
            if (stream->steps[j].kind == STEP_WINDOW)
                for (size_t k = 0; k < stream->input_count; k++)
                    check_ttl(program, stream, &stream->steps[j], stream->inputs[k]);
    }
}
