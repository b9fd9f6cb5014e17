/* resolve_lints.c: service levels, and what nobody reads: side streams, streams, columns. */
#include <string.h>
#include "resolve.h"

/* --- slo --- */

const char *duration_text(struct program *program, int64_t ms)
{
    return ms % 1000 == 0 ? arena_printf(program->arena, "%llds", (long long)(ms / 1000))
                          : arena_printf(program->arena, "%lldms", (long long)ms);
}

void resolve_slo(struct resolver *resolver, const struct statement *statement)
{
    struct program *program = resolver->program;
    struct sink *sink = sink_named(resolver, statement->name);
    if (!sink)
        return;
    for (size_t i = 0; i < program->slos.count; i++)
        if (program->slos.items[i]->sink == sink) {
            struct diag *diag = diag_error(program, PC2025, statement->name.span,
                                           "`%s` already has an objective", sink->name.text);
            diag_also(diag, program->slos.items[i]->name.span, "here");
            return;
        }
    check_duration(program, statement->within_ms, false, statement->span, "`within`");
    check_duration(program, statement->over_ms, false, statement->span, "the period");
    struct literal_number percent = statement->percent;
    __int128 hundred = 100;
    if (percent.is_decimal && !int128_scale(&hundred, percent.scale))
        hundred = 0;
    if (percent.digits <= 0 || percent.digits >= hundred)
        diag_error(program, PC2035, statement->span,
                   "an objective is above 0 and below 100 percent");
    struct slo *slo = arena_alloc(program->arena, sizeof *slo);
    *slo = (struct slo){.name = statement->name,
                        .sink = sink,
                        .within_ms = statement->within_ms,
                        .over_ms = statement->over_ms,
                        .percent = percent,
                        .statement = statement};
    vec_push(program->arena, &program->slos, slo);
    if (!sink->from || !sink->from->row)
        return;
    const struct stream_info *info = sink->from->info;
    int64_t wait_ms = info->waits_watermark ? watermark_bound(program, sink->from) : 0;
    int64_t least_ms = info->delay_ms + wait_ms + sink->commit_ms;
    if (statement->within_ms >= least_ms)
        return;
    struct diag *diag =
        diag_error(program, PC4020, statement->name.span, "`%s` can't be fresher than %s",
                   sink->name.text, duration_text(program, least_ms));
    diag_note(diag, "windows take %s, the watermark %s, the commit %s",
              duration_text(program, info->delay_ms), duration_text(program, wait_ms),
              duration_text(program, sink->commit_ms));
    diag_help(diag, "write `fresh within %s`, or commit more often",
              duration_text(program, least_ms));
}

/* --- unused --- */

static void mark(struct stream *stream, size_t column)
{
    if (stream->info->used && stream->row && column < stream->row->field_count)
        stream->info->used[column] = true;
}

/* A column of the row before step `at` is read: find it in the stream's inputs. */
static void mark_input(const struct stream *stream, const struct record_type *row, size_t column)
{
    const char *name = row->fields[column].name;
    for (size_t i = 0; i < stream->input_count; i++) {
        int index = stream->inputs[i]->row ? field_index(stream->inputs[i]->row, name) : -1;
        if (index >= 0)
            mark(stream->inputs[i], (size_t)index);
    }
}

static void mark_paths(bool *live, const struct expr *expr)
{
    if (!expr)
        return;
    if (expr->kind == EXPR_PATH && expr->root == ROOT_COLUMN && expr->steps.count > 0)
        live[expr->steps.items[0]] = true;
    const struct expr *const direct[] = {expr->left, expr->right,   expr->low,
                                         expr->high, expr->subject, expr->otherwise};
    for (size_t i = 0; i < sizeof direct / sizeof *direct; i++)
        mark_paths(live, direct[i]);
    for (size_t i = 0; i < expr->args.count; i++)
        mark_paths(live, expr->args.items[i]);
    for (size_t i = 0; i < expr->whens.count; i++) {
        mark_paths(live, expr->whens.items[i].when);
        mark_paths(live, expr->whens.items[i].then);
    }
}

/* Which columns of the step's input are read, given those of its output. */
static bool *live_before(struct program *program, const struct step *step, const bool *after)
{
    const struct record_type *input = step->input;
    bool *live = arena_alloc(program->arena, (input->field_count + 1) * sizeof *live);
    bool passes = step->kind != STEP_SELECT && step->kind != STEP_WINDOW;
    for (size_t i = 0; passes && i < step->row->field_count; i++) {
        int index = field_index(input, step->row->fields[i].name);
        if (after[i] && index >= 0)
            live[index] = true;
    }
    mark_paths(live, step->expr);
    for (size_t i = 0; i < step->assigns.count; i++)
        if (after[i])
            mark_paths(live, step->assigns.items[i].expr);
    for (size_t i = 0; i < step->key_count; i++)
        live[step->key_columns[i]] = true;
    for (size_t i = 0; i < step->aggregate_count; i++) {
        mark_paths(live, step->aggregates[i].arg);
        mark_paths(live, step->aggregates[i].by);
    }
    for (size_t i = 0; (step->to || step->late) && i < input->field_count; i++)
        live[i] = true;
    return live;
}

/* From what is read of the stream to what it reads of its inputs. */
static void mark_stream(struct program *program, struct stream *stream)
{
    const bool *live = stream->info->used;
    const struct record_type *row = stream->row;
    for (size_t i = stream->step_count; i > 0; i--) {
        live = live_before(program, &stream->steps[i - 1], live);
        row = stream->steps[i - 1].input;
    }
    for (size_t i = 0; i < row->field_count; i++)
        if (live[i])
            mark_input(stream, row, i);
}

static void report_columns(struct program *program, const struct stream *stream)
{
    const struct step *last =
        stream->step_count > 0 ? &stream->steps[stream->step_count - 1] : NULL;
    const struct step *select = NULL;
    for (size_t i = 0; i < stream->step_count; i++)
        if (stream->steps[i].kind == STEP_SELECT)
            select = &stream->steps[i];
    const bool *live = stream->info->used;
    for (size_t i = 0; last && last->kind == STEP_WINDOW && i < last->aggregate_count; i++) {
        if (live[2 + last->key_count + i])
            continue;
        struct diag *diag = diag_lint(program, W2002, last->aggregates[i].span, "nobody reads `%s`",
                                      last->aggregates[i].name);
        diag_help(diag, "remove it");
    }
    if (!select)
        return;
    for (const struct step *step = last; step != select; step--)
        live = live_before(program, step, live);
    for (size_t i = 0; i < select->assigns.count; i++) {
        const struct expr *expr = select->assigns.items[i].expr;
        if (live[i] || expr->kind == EXPR_PATH) /* passing a column on is cheap and often meant */
            continue;
        struct diag *diag = diag_lint(program, W2002, expr->span, "nobody reads `%s`",
                                      select->assigns.items[i].name);
        diag_help(diag, "remove it");
    }
}

static void check_columns(struct program *program)
{
    for (size_t i = 0; i < program->streams.count; i++) {
        struct stream *stream = program->streams.items[i];
        stream->info->used = arena_alloc(program->arena, stream->row->field_count + 1);
        bool all = stream->sinks.count > 0 || stream->sends_corrections;
        memset(stream->info->used, all, stream->row->field_count);
    }
    for (size_t i = program->streams.count; i > 0; i--) {
        struct stream *stream = program->streams.items[i - 1];
        if (stream->kind != STREAM_NORMAL)
            continue;
        mark_stream(program, stream);
        if (stream->readers.count > 0 || stream->sinks.count > 0)
            report_columns(program, stream);
    }
}

static bool feeds_any_side(const struct resolver *resolver, const struct stream *stream)
{
    for (size_t i = 0; i < resolver->all.count; i++)
        for (size_t j = 0; j < resolver->all.items[i]->feeders.count; j++)
            if (resolver->all.items[i]->feeders.items[j] == stream)
                return true;
    return false;
}

/* A clause `key` that a topic of the side stream's rows needs; "": none, NULL: there is no key. */
static const char *key_clause(struct program *program, const struct stream *side)
{
    if (side->kind == STREAM_REJECTS)
        return "key reason ";
    if (side->has_source_record)
        return "";
    for (size_t i = 0; side->row && i < side->row->field_count; i++) {
        const char *name = side->row->fields[i].name;
        bool bare = name[strspn(name, "abcdefghijklmnopqrstuvwxyz_0123456789")] == '\0';
        if (type_is_key(side->row->fields[i].type))
            return arena_printf(program->arena, bare ? "key %s " : "key \"%s\" ", name);
    }
    return NULL;
}

static void report_side(const struct resolver *resolver, const struct stream *side)
{
    struct program *program = resolver->program;
    struct diag *diag =
        diag_error(program, PC2015, side->span, "nobody reads `%s`", side->name.text);
    diag_note(diag, "its rows would be lost in silence");
    if (!diag_is_shown(diag))
        return;
    bool any_topic = false, any_stdin = false;
    for (size_t i = 0; i < resolver->all.count; i++) {
        const struct source_def *source = resolver->all.items[i]->source;
        any_topic |= source && source->is_kafka;
        any_stdin |= source && source->path && strcmp(source->path, "-") == 0;
    }
    const char *key = key_clause(program, side), *name = side->name.text;
    bool topic = any_topic && key && topic_name_is_good(name, strlen(name));
    const char *file =
        name[strspn(name, "/.")] && !strchr(name, '/') && !strchr(name, '\'') ? name : "side_rows";
    const char *sink = arena_printf(program->arena, topic ? "%s_topic" : "%s_rows", name);
    while (is_name_taken(resolver, sink))
        sink = arena_printf(program->arena, "%s_2", sink);
    bool quoted = span_text(program, side->span)[0] == '"';
    sink = arena_printf(program->arena, quoted ? "\"%s\"" : "%s", sink);
    if (topic)
        diag_help(diag, "write `sink %s from %s to kafka topic '%s' %sexactly once;`", sink,
                  span_text(program, side->span), name, key);
    else
        diag_help(diag, "write `sink %s from %s to file '%s.jsonl' format jsonl %s once;`", sink,
                  span_text(program, side->span), file, any_stdin ? "at least" : "exactly");
}

static void check_stream_use(const struct resolver *resolver, const struct stream *stream)
{
    struct program *program = resolver->program;
    if (stream->readers.count > 0 || stream->sinks.count > 0)
        return;
    if (stream->kind > STREAM_NORMAL) {
        report_side(resolver, stream);
        return;
    }
    bool diverts =
        stream->kind == STREAM_NORMAL && clause_find(stream->statement, CLAUSE_DIVERT) != NULL;
    if (diverts && feeds_any_side(resolver, stream))
        return;
    struct diag *diag =
        diag_lint(program, W2001, stream->span, "nobody reads `%s`", stream->name.text);
    diag_help(diag, "read it in a stream or a sink, or remove it");
}

/* With a name misspelt or a statement refused, what seems unused may only be unreachable. */
void check_unused(struct resolver *resolver)
{
    struct program *program = resolver->program;
    bool sound = diag_error_count(program) == 0;
    for (size_t i = 0; i < resolver->all.count; i++)
        if (sound || (resolver->all.items[i]->kind > STREAM_NORMAL && resolver->unknown.count == 0))
            check_stream_use(resolver, resolver->all.items[i]);
    if (!sound)
        return;
    for (size_t i = 0; i < program->contracts.count; i++) {
        const struct contract *contract = program->contracts.items[i];
        if (contract->used)
            continue;
        struct diag *diag = diag_lint(program, W2003, contract->span, "nobody uses contract `%s`",
                                      contract->name.text);
        diag_help(diag, "name it in a source or a sink: `contract %s`", contract->name.text);
    }
    if (diag_error_count(program) == 0)
        check_columns(program);
}
