/*
 * resolve_evolve.c: the decisions of `evolve`. What they say of the old plan can only be judged
 * beside that plan; what they say of this one is judged here: names must be of its states and
 * sinks, and each is decided once.
 */
#include "plan.h"
#include "resolve.h"

#include <string.h>

enum { HASH_DIGITS_MIN = 8, HASH_DIGITS_MAX = 16 };

static const struct stream *state_named(const struct program *program, const char *name)
{
    for (size_t i = 0; i < program->streams.count; i++)
        if (program->streams.items[i]->name.text == name &&
            stateful_step(program->streams.items[i]))
            return program->streams.items[i];
    return NULL;
}

static void help_near(struct program *program, struct diag *diag, const char *name)
{
    VEC(const char *) names = {0};
    for (size_t i = 0; i < program->streams.count; i++)
        if (stateful_step(program->streams.items[i]) != NULL)
            vec_push(program->arena, &names, program->streams.items[i]->name.text);
    const char *near = nearest_name(name, names.items, names.count);
    if (near != NULL)
        diag_help(diag, "did you mean `%s`?", near);
}

static void need_state(struct program *program, struct name name)
{
    if (state_named(program, name.text) != NULL)
        return;
    struct diag *diag =
        diag_error(program, PC6001, name.span, "`%s` is no stream with state", name.text);
    diag_note(diag, "state is kept by a stream with `dedup` or `window`, under the stream's name");
    help_near(program, diag, name.text);
}

/* A name of the old plan that this one must not use any more. */
static void need_gone(struct program *program, struct name name, const char *word)
{
    const struct stream *stream = state_named(program, name.text);
    if (stream == NULL)
        return;
    struct diag *diag =
        diag_error(program, PC6001, name.span,
                   "`%s` cannot be %s: this program still keeps state under it", name.text, word);
    diag_also(diag, stream->name.span, "kept here");
}

static void check_decision_names(struct resolver *resolver, const struct decision *decision)
{
    struct program *program = resolver->program;
    switch (decision->kind) {
    case DECIDE_FORWARD:
    case DECIDE_REBUILD:
    case DECIDE_RESET:
        need_state(program, decision->name);
        break;
    case DECIDE_DROP:
        need_gone(program, decision->name, "dropped");
        break;
    case DECIDE_RENAMED:
        need_gone(program, decision->name, "renamed");
        need_state(program, decision->to);
        break;
    case DECIDE_FROM_NOW:
        sink_named(resolver, decision->name);
        break;
    }
}

static void warn_not_executed(struct program *program, const struct statement *statement)
{
    struct diag *diag =
        diag_lint(program, W6001, statement->span, "`evolve` is checked, but not executed yet");
    diag_note(diag, "a run refuses the directory, or the group, of any other plan");
    diag_help(diag, "until then embedded runs take another directory; on Kafka give the pipeline "
                    "another name, and its sinks other topics and tables");
}

void resolve_evolve(struct resolver *resolver, const struct statement *statement)
{
    struct program *program = resolver->program;
    unsigned errors = diag_error_count(program);
    size_t digits = strspn(statement->text, "0123456789abcdef");
    if (digits != statement->text_bytes || digits < HASH_DIGITS_MIN || digits > HASH_DIGITS_MAX) {
        struct diag *diag = diag_error(program, PC6002, statement->span,
                                       "'%s' is no hash of a plan", statement->text);
        diag_help(diag, "write the 8 or 16 digits that `pipec --explain` or `inspect` showed for "
                        "the old program");
    }
    const struct decision *decisions = statement->decisions.items;
    for (size_t i = 0; i < statement->decisions.count; i++) {
        check_decision_names(resolver, &decisions[i]);
        bool renamed = decisions[i].kind == DECIDE_RENAMED;
        for (size_t k = 0; k < i; k++) {
            if (decisions[k].name.text != decisions[i].name.text ||
                (decisions[k].kind == DECIDE_RENAMED) != renamed)
                continue;
            struct diag *diag = diag_error(program, PC6003, decisions[i].name.span,
                                           "`%s` is decided twice", decisions[i].name.text);
            diag_also(diag, decisions[k].name.span, "first here");
            break;
        }
    }
    if (errors == diag_error_count(program))
        warn_not_executed(program, statement);
}
