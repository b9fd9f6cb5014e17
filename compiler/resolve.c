/*
 * resolve.c: from the syntax tree to the checked program: names, then contracts, then streams with
 * their inputs first, then sinks and what hangs on them.
 */
#include <string.h>
#include "resolve.h"

enum { DEFAULT_COMMIT_MS = 100, DEFAULT_COMMIT_BYTES = 16 << 20, MAX_DEPTH = 1000 };

static const char *entity_words(enum entity_kind kind)
{
    static const char *const words[] = {[ENTITY_PIPELINE] = "the pipeline",
                                        [ENTITY_CONTRACT] = "a contract",
                                        [ENTITY_STREAM] = "a stream",
                                        [ENTITY_SINK] = "a sink",
                                        [ENTITY_TRAFFIC] = "traffic"};
    return words[kind];
}

/* --- names --- */

static uint32_t *name_slot(const struct resolver *resolver, const char *name)
{
    size_t mask = resolver->name_slot_count - 1;
    uint64_t hash = (uint64_t)(uintptr_t)name * 0x9e3779b97f4a7c15u;
    size_t i = (size_t)(hash >> 32) & mask;
    while (resolver->name_slots[i] != 0 &&
           resolver->names.items[resolver->name_slots[i] - 1].name != name)
        i = (i + 1) & mask;
    return &resolver->name_slots[i];
}

const struct entity *entity_find(const struct resolver *resolver, const char *name)
{
    uint32_t at = resolver->name_slot_count > 0 ? *name_slot(resolver, name) : 0;
    return at > 0 ? &resolver->names.items[at - 1] : NULL;
}

bool is_name_taken(const struct resolver *resolver, const char *name)
{
    return entity_find(resolver, intern_cstr(resolver->program, name)) != NULL;
}

void entity_add(struct resolver *resolver, struct entity entity)
{
    struct arena *arena = resolver->program->arena;
    if (resolver->names.count * 2 >= resolver->name_slot_count) {
        size_t wanted = resolver->name_slot_count == 0 ? 64 : resolver->name_slot_count * 2;
        resolver->name_slots = arena_alloc(arena, wanted * sizeof *resolver->name_slots);
        resolver->name_slot_count = wanted;
        for (size_t i = 0; i < resolver->names.count; i++)
            *name_slot(resolver, resolver->names.items[i].name) = (uint32_t)i + 1;
    }
    vec_push(arena, &resolver->names, entity);
    *name_slot(resolver, entity.name) = (uint32_t)resolver->names.count;
}

/* The names of streams and sinks become those of directories, and stand in lines of text. (That of
 * the pipeline is judged more strictly.) */
static void check_entity_name(struct program *program, const struct entity *entity)
{
    bool dots = strcmp(entity->name, ".") == 0 || strcmp(entity->name, "..") == 0;
    bool good = !dots && strchr(entity->name, '/') == NULL;
    for (const char *c = entity->name; *c != '\0'; c++)
        good = good && (unsigned char)*c >= ' ' && *c != '\x7f';
    if (good || entity->kind == ENTITY_PIPELINE)
        return;
    struct diag *diag = diag_error(program, PC2038, entity->span, "%s can't name %s",
                                   span_text(program, entity->span), entity_words(entity->kind));
    diag_note(diag, "the name becomes that of a directory");
    diag_help(diag, "use no `/` and no control characters, and not `.` or `..` alone");
}

bool first_time_unknown(struct resolver *resolver, const char *name)
{
    for (size_t i = 0; i < resolver->unknown.count; i++)
        if (resolver->unknown.items[i] == name)
            return false;
    vec_push(resolver->program->arena, &resolver->unknown, name);
    return true;
}

static void declare(struct resolver *resolver, struct entity entity)
{
    check_entity_name(resolver->program, &entity);
    const struct entity *other = entity_find(resolver, entity.name);
    if (other) {
        struct diag *diag =
            diag_error(resolver->program, PC2003, entity.span, "`%s` is already the name of %s",
                       entity.name, entity_words(other->kind));
        diag_also(diag, other->span, "defined here");
        diag_help(diag, "all names of a pipeline share one space: choose another");
        if (other->kind != entity.kind) /* else who uses it would hear that it is the other */
            (void)first_time_unknown(resolver, entity.name);
        return;
    }
    entity_add(resolver, entity);
}

static const struct entity *entity_named(struct resolver *resolver, struct name name,
                                         enum entity_kind kind)
{
    struct program *program = resolver->program;
    const struct entity *entity = entity_find(resolver, name.text);
    if (entity && entity->kind == kind)
        return entity;
    if (!first_time_unknown(resolver, name.text))
        return NULL;
    const char *what = entity_words(kind);
    if (entity) {
        struct diag *diag = diag_error(program, PC2005, name.span, "`%s` is %s, not %s", name.text,
                                       entity_words(entity->kind), what);
        diag_also(diag, entity->span, "defined here");
        return NULL;
    }
    const char *noun = strncmp(what, "a ", 2) == 0 ? what + 2 : what;
    struct diag *diag =
        diag_error(program, PC2004, name.span, "there is no %s `%s`", noun, name.text);
    if (!diag_is_shown(diag))
        return NULL;
    const char **names = arena_alloc(program->arena, (resolver->names.count + 1) * sizeof *names);
    size_t count = 0;
    for (size_t i = 0; i < resolver->names.count; i++)
        if (resolver->names.items[i].kind == kind)
            names[count++] = resolver->names.items[i].name;
    const char *meant = nearest_name(name.text, names, count), *list = "";
    for (size_t i = 0; i < count && i < 12; i++)
        list = arena_printf(program->arena, "%s%s%s", list, i ? ", " : "", names[i]);
    if (meant)
        diag_help(diag, "did you mean `%s`?", meant);
    else if (count > 0)
        diag_help(diag, "there is: %s%s", list, count > 12 ? ", …" : "");
    return NULL;
}

struct stream *stream_named(struct resolver *resolver, struct name name)
{
    const struct entity *entity = entity_named(resolver, name, ENTITY_STREAM);
    return entity ? entity->stream : NULL;
}

struct contract *contract_named(struct resolver *resolver, struct name name)
{
    const struct entity *entity = entity_named(resolver, name, ENTITY_CONTRACT);
    return entity ? entity->contract : NULL;
}

struct sink *sink_named(struct resolver *resolver, struct name name)
{
    const struct entity *entity = entity_named(resolver, name, ENTITY_SINK);
    return entity ? entity->sink : NULL;
}

static struct stream *stream_declare(struct resolver *resolver, const struct statement *statement)
{
    struct program *program = resolver->program;
    struct stream *stream = arena_alloc(program->arena, sizeof *stream);
    stream->info = arena_alloc(program->arena, sizeof *stream->info);
    stream->name = statement->name;
    stream->span = statement->name.span;
    stream->statement = statement;
    stream->kind = statement->kind == STATEMENT_SOURCE ? STREAM_SOURCE : STREAM_NORMAL;
    vec_push(program->arena, &resolver->all, stream);
    return stream;
}

static void declare_statement(struct resolver *resolver, struct statement *statement)
{
    struct program *program = resolver->program;
    struct entity entity = {.name = statement->name.text, .span = statement->name.span};
    switch (statement->kind) {
    case STATEMENT_PIPELINE:
        entity.kind = ENTITY_PIPELINE;
        break;
    case STATEMENT_CONTRACT:
        entity.kind = ENTITY_CONTRACT;
        entity.contract = arena_alloc(program->arena, sizeof *entity.contract);
        entity.contract->name = statement->name;
        entity.contract->span = statement->name.span;
        vec_push(program->arena, &program->contracts, entity.contract);
        break;
    case STATEMENT_SOURCE:
    case STATEMENT_STREAM:
        entity.kind = ENTITY_STREAM;
        entity.stream = stream_declare(resolver, statement);
        break;
    case STATEMENT_SINK:
        entity.kind = ENTITY_SINK;
        entity.sink = arena_alloc(program->arena, sizeof *entity.sink);
        entity.sink->name = statement->name;
        entity.sink->span = statement->name.span;
        entity.sink->statement = statement;
        vec_push(program->arena, &program->sinks, entity.sink);
        break;
    case STATEMENT_TRAFFIC:
        entity.kind = ENTITY_TRAFFIC;
        break;
    case STATEMENT_SLO: /* named after its sink */
    case STATEMENT_TEST:
    case STATEMENT_EVOLVE:
        return;
    }
    declare(resolver, entity);
}

/* --- pipeline --- */

/* It becomes the name of files and of the run's topics. */
static void check_pipeline_name(struct program *program, const struct name *name)
{
    const char *text = name->text;
    size_t size = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");
    if (size > 0 && text[size] == '\0' && text[0] != '-')
        return;
    struct diag *diag = diag_error(program, PC2036, name->span, "`%s` can't name a pipeline", text);
    diag_note(diag, "the name becomes that of files");
    diag_help(diag, "use letters, digits, `_` and `-`, not `-` first");
}

static void check_pipeline(struct resolver *resolver)
{
    struct program *program = resolver->program;
    program->commit_ms = DEFAULT_COMMIT_MS;
    program->commit_bytes = DEFAULT_COMMIT_BYTES;
    for (size_t i = 0; i < program->statements.count; i++) {
        const struct statement *statement = program->statements.items[i];
        if (statement->kind != STATEMENT_PIPELINE)
            continue;
        if (resolver->pipeline) {
            struct diag *diag =
                diag_error(program, PC2002, statement->name.span, "a file describes one pipeline");
            diag_also(diag, resolver->pipeline->name.span, "this one");
            continue;
        }
        resolver->pipeline = statement;
        program->name = statement->name.text;
        if (i > 0) {
            struct diag *diag = diag_error(program, PC2002, statement->name.span,
                                           "`pipeline` is the first statement");
            diag_help(diag, "move `pipeline %s;` to the top", statement->name.text);
        }
        check_pipeline_name(program, &statement->name);
        check_once(program, statement);
        const struct clause *commit = clause_find(statement, CLAUSE_COMMIT);
        if (commit && check_duration(program, commit->duration_ms, false, commit->span, "commit"))
            program->commit_ms = commit->duration_ms;
        if (commit && commit->has_size && check_commit_size(program, commit))
            program->commit_bytes = commit->size_bytes;
    }
    if (resolver->pipeline || diag_error_count(program) > 0)
        return;
    struct diag *diag = diag_error(program, PC2001, (struct span){program->source, 0, 0},
                                   "the file does not name its pipeline");
    diag_help(diag, "begin with `pipeline NAME;`");
}

/* --- the order of streams --- */

static void visit(struct resolver *resolver, struct stream *stream, stream_list *path);

static void report_cycle(struct resolver *resolver, const struct stream *stream,
                         const stream_list *path)
{
    struct program *program = resolver->program;
    const char *text = stream->name.text;
    size_t from = 0;
    while (path->items[from] != stream)
        from++;
    for (size_t i = from + 1; i < path->count; i++)
        text = arena_printf(program->arena, "%s → %s", text, path->items[i]->name.text);
    struct diag *diag =
        diag_error(program, PC2010, stream->span, "`%s` is made of itself", stream->name.text);
    diag_note(diag, "each needs the next: %s → %s", text, stream->name.text);
    diag_help(diag, "records flow one way: let one of them read something else");
    for (size_t i = from; i < path->count; i++)
        path->items[i]->info->in_cycle = true;
}

static void link_inputs(struct resolver *resolver, struct stream *stream)
{
    struct program *program = resolver->program;
    const name_list *from = &stream->statement->from;
    stream->inputs = arena_alloc(program->arena, (from->count + 1) * sizeof *stream->inputs);
    for (size_t i = 0; i < from->count; i++) {
        struct stream *input = stream_named(resolver, from->items[i]);
        if (!input) {
            stream->info->failed = true;
            continue;
        }
        bool again = false;
        for (size_t j = 0; j < stream->input_count; j++)
            again |= stream->inputs[j] == input;
        if (again) {
            diag_error(program, PC2014, from->items[i].span, "`%s` is already an input",
                       input->name.text);
            continue;
        }
        stream->inputs[stream->input_count++] = input;
        vec_push(program->arena, &input->readers, stream);
    }
}

static void visit_all(struct resolver *resolver, struct stream *const *streams, size_t count,
                      stream_list *path)
{
    for (size_t i = 0; i < count; i++)
        visit(resolver, streams[i], path);
}

/* A bound on the recursion of this pass and of those that follow. `depth`: how many streams stand
 * before this one, or behind it; a source is not counted with those behind it. */
static bool is_too_deep(struct resolver *resolver, struct stream *stream, size_t depth)
{
    if (depth <= MAX_DEPTH)
        return false;
    stream->info->in_cycle = true;
    if (resolver->too_deep)
        return true;
    resolver->too_deep = true;
    struct diag *diag = diag_error(resolver->program, PC2035, stream->span,
                                   "more than %d streams stand behind each other", MAX_DEPTH);
    diag_help(diag, "let one stream do more than one thing");
    return true;
}

static bool inputs_too_deep(struct resolver *resolver, struct stream *stream)
{
    for (size_t i = 0; i < stream->input_count; i++)
        if (stream->inputs[i]->info->depth >= stream->info->depth)
            stream->info->depth = stream->inputs[i]->info->depth + 1;
    for (size_t i = 0; i < stream->feeders.count; i++)
        if (stream->feeders.items[i]->info->depth >= stream->info->depth)
            stream->info->depth = stream->feeders.items[i]->info->depth + 1;
    return is_too_deep(resolver, stream, stream->info->depth);
}

static void visit(struct resolver *resolver, struct stream *stream, stream_list *path)
{
    struct program *program = resolver->program;
    struct stream_info *info = stream->info;
    if (info->visit == VISIT_DONE || info->in_cycle)
        return;
    if (info->visit == VISIT_OPEN) {
        report_cycle(resolver, stream, path);
        return;
    }
    if (is_too_deep(resolver, stream, path->count))
        return;
    info->visit = VISIT_OPEN;
    vec_push(program->arena, path, (const struct stream *)stream);
    switch (stream->kind) {
    case STREAM_SOURCE:
        resolve_source(resolver, stream);
        break;
    case STREAM_NORMAL:
        visit_all(resolver, stream->inputs, stream->input_count, path);
        if (!info->in_cycle && !inputs_too_deep(resolver, stream))
            resolve_stream(resolver, stream);
        break;
    case STREAM_REJECTS:
    case STREAM_LATE:
    case STREAM_DIVERTED:
        visit_all(resolver, stream->feeders.items, stream->feeders.count, path);
        if (!info->in_cycle && !inputs_too_deep(resolver, stream))
            finish_side(resolver, stream);
        break;
    }
    path->count--;
    info->visit = VISIT_DONE;
    stream->index = (uint32_t)program->streams.count;
    vec_push(program->arena, &program->streams, stream);
    if (!info->in_cycle)
        resolve_ways(program, stream);
}

static void resolve_streams(struct resolver *resolver)
{
    stream_list path = {0};
    for (size_t i = 0; i < resolver->all.count; i++)
        if (resolver->all.items[i]->kind == STREAM_NORMAL)
            link_inputs(resolver, resolver->all.items[i]);
    for (size_t i = 0; i < resolver->all.count; i++) {
        path.count = 0;
        visit(resolver, resolver->all.items[i], &path);
    }
}

/* --- what streams stand on --- */

/* Inputs are done before those that read them, so each list is made once, from finished ones. */
void root_sources(struct program *program, const struct stream *stream, stream_list *out)
{
    struct stream_info *info = stream->info;
    if (info->in_cycle)
        return;
    if (!info->roots_known) {
        stream_list roots = {0};
        info->roots_known = true;
        if (stream->kind == STREAM_SOURCE)
            vec_push(program->arena, &roots, stream);
        for (size_t i = 0; i < stream->input_count; i++)
            root_sources(program, stream->inputs[i], &roots);
        for (size_t i = 0; i < stream->feeders.count; i++)
            root_sources(program, stream->feeders.items[i], &roots);
        info->roots.items = roots.items;
        info->roots.count = roots.count;
    }
    for (size_t i = 0; i < info->roots.count; i++) {
        bool known = false;
        for (size_t j = 0; j < out->count; j++)
            known |= out->items[j] == info->roots.items[i];
        if (!known)
            vec_push(program->arena, out, info->roots.items[i]);
    }
}

int64_t watermark_bound(struct program *program, const struct stream *stream)
{
    stream_list roots = {0};
    int64_t bound_ms = 0;
    root_sources(program, stream, &roots);
    for (size_t i = 0; i < roots.count; i++) {
        const struct source_def *source = roots.items[i]->source;
        if (source && source->watermark_ms > bound_ms)
            bound_ms = source->watermark_ms;
    }
    return bound_ms;
}

bool needs_exchange(const struct step *step)
{
    if (!step->partition_known)
        return true;
    for (size_t i = 0; i < step->partition_count; i++) {
        bool held = false;
        for (size_t k = 0; k < step->key_count; k++)
            held |= step->key_columns[k] == step->partition_columns[i];
        if (!held)
            return true;
    }
    return false;
}

/* --- entry --- */

static void resolve_others(struct resolver *resolver)
{
    struct program *program = resolver->program;
    for (size_t i = 0; i < program->sinks.count; i++)
        resolve_sink(resolver, program->sinks.items[i]);
    for (size_t i = 0; i < program->statements.count; i++) {
        const struct statement *statement = program->statements.items[i];
        if (statement->kind == STATEMENT_SLO)
            resolve_slo(resolver, statement);
        if (statement->kind == STATEMENT_TRAFFIC)
            resolve_traffic(resolver, statement);
        if (statement->kind == STATEMENT_TEST)
            vec_push(program->arena, &program->tests, statement);
        if (statement->kind != STATEMENT_EVOLVE)
            continue;
        if (program->evolve) {
            struct diag *diag =
                diag_error(program, PC2007, statement->span, "`evolve` is given twice");
            diag_also(diag, program->evolve->span, "first here");
            continue;
        }
        program->evolve = statement;
        resolve_evolve(resolver, statement);
    }
}

void resolve(struct program *program)
{
    struct resolver resolver = {.program = program};
    check_pipeline(&resolver);
    for (size_t i = 0; i < program->statements.count; i++)
        declare_statement(&resolver, program->statements.items[i]);
    size_t statements = resolver.all.count;
    for (size_t i = 0; i < statements; i++)
        declare_side_streams(&resolver, resolver.all.items[i]);
    size_t next = 0;
    for (size_t i = 0; i < program->statements.count; i++)
        if (program->statements.items[i]->kind == STATEMENT_CONTRACT)
            resolve_contract(&resolver, program->contracts.items[next++],
                             program->statements.items[i]);
    resolve_streams(&resolver);
    resolve_others(&resolver);
    check_sinks_together(&resolver);
    check_dedup_ttls(&resolver);
    check_unused(&resolver);
}
