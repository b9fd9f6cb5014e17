/*
 * syntax_nodes.c: the makers of clauses, statements and constants that the actions of parser.y
 * call.
 */
#include <string.h>
#include "syntax_nodes.h"

struct clause *clause_new(struct syntax *s, enum clause_kind kind, struct span span,
                          struct span word)
{
    struct clause *clause = arena_alloc(s->program->arena, sizeof *clause);
    clause->kind = kind;
    clause->span = span;
    clause->word = word;
    return clause;
}

struct clause *clause_text(struct syntax *s, enum clause_kind kind, struct span span,
                           struct span word, struct string_value text)
{
    struct clause *clause = clause_new(s, kind, span, word);
    clause->text = text.text;
    clause->text_bytes = text.text_bytes;
    clause->text_span = text.span;
    return clause;
}

struct clause *clause_integer(struct syntax *s, enum clause_kind kind, struct span span,
                              struct span word, int64_t integer)
{
    struct clause *clause = clause_new(s, kind, span, word);
    clause->integer = integer;
    return clause;
}

struct clause *clause_duration(struct syntax *s, enum clause_kind kind, struct span span,
                               struct span word, int64_t duration_ms)
{
    struct clause *clause = clause_new(s, kind, span, word);
    clause->duration_ms = duration_ms;
    return clause;
}

struct clause *clause_name(struct syntax *s, enum clause_kind kind, struct span span,
                           struct span word, struct name name)
{
    struct clause *clause = clause_new(s, kind, span, word);
    clause->name = name;
    return clause;
}

struct clause *clause_names(struct syntax *s, enum clause_kind kind, struct span span,
                            struct span word, const name_list *names)
{
    struct clause *clause = clause_new(s, kind, span, word);
    clause->names = *names;
    return clause;
}

struct clause *clause_expr(struct syntax *s, enum clause_kind kind, struct span span,
                           struct span word, struct expr *expr)
{
    struct clause *clause = clause_new(s, kind, span, word);
    clause->expr = expr;
    return clause;
}

struct clause *clause_items(struct syntax *s, enum clause_kind kind, struct span span,
                            struct span word, const item_list *items)
{
    struct clause *clause = clause_new(s, kind, span, word);
    clause->items = *items;
    return clause;
}

struct clause *clause_format(struct syntax *s, struct span span, struct span word,
                             enum format format)
{
    struct clause *clause = clause_new(s, CLAUSE_FORMAT, span, word);
    clause->format = format;
    return clause;
}

struct clause *clause_commit(struct syntax *s, struct span span, struct commit_value commit)
{
    struct span word = {span.source, span.begin, span.begin + (uint32_t)strlen("commit")};
    struct clause *clause = clause_new(s, CLAUSE_COMMIT, span, word);
    clause->duration_ms = commit.duration_ms;
    clause->size_bytes = commit.size_bytes;
    clause->has_size = commit.has_size;
    return clause;
}

struct clause *clause_window(struct syntax *s, enum window_kind window, int64_t size_ms,
                             int64_t offset_ms)
{
    struct clause *clause = clause_new(s, CLAUSE_WINDOW, (struct span){0}, (struct span){0});
    clause->window = window;
    clause->duration_ms = size_ms;
    clause->has_offset = offset_ms >= 0;
    clause->offset_ms = clause->has_offset ? offset_ms : 0;
    return clause;
}

struct clause *clause_emit(struct syntax *s, struct span span, struct span word,
                           enum emit_kind emit, int64_t every_ms)
{
    struct clause *clause = clause_new(s, CLAUSE_EMIT, span, word);
    clause->emit = emit;
    clause->duration_ms = every_ms;
    return clause;
}

struct column_decl column_value(struct name name, struct type_ref type, bool nullable)
{
    return (struct column_decl){
        name, type.name, type.arg_count, {type.args[0], type.args[1]}, nullable};
}

struct item *item_new(struct syntax *s, enum item_kind kind, struct span span)
{
    struct item *item = arena_alloc(s->program->arena, sizeof *item);
    item->kind = kind;
    item->span = span;
    return item;
}

struct statement *statement_new(struct syntax *s, enum statement_kind kind, struct span span,
                                struct name name, const clause_list *clauses)
{
    struct statement *statement = arena_alloc(s->program->arena, sizeof *statement);
    statement->kind = kind;
    statement->span = span;
    statement->name = name;
    if (clauses)
        vec_assign(&statement->clauses, clauses);
    return statement;
}

struct statement *statement_titled(struct syntax *s, enum statement_kind kind, struct span span,
                                   struct string_value title)
{
    struct statement *statement = statement_new(s, kind, span, (struct name){0}, NULL);
    statement->text = title.text;
    statement->text_bytes = title.text_bytes;
    return statement;
}

struct generator *generator_new(struct syntax *s, enum generator_kind kind, struct span span,
                                struct constant *low, struct constant *high)
{
    struct generator *generator = arena_alloc(s->program->arena, sizeof *generator);
    generator->kind = kind;
    generator->span = span;
    generator->low = low;
    generator->high = high;
    return generator;
}

struct fault *fault_new(struct syntax *s, enum fault_kind kind, struct span span,
                        struct number_value percent, int64_t low_ms, int64_t high_ms)
{
    struct fault *fault = arena_alloc(s->program->arena, sizeof *fault);
    fault->kind = kind;
    fault->span = span;
    fault->percent = percent.number;
    fault->low_ms = low_ms;
    fault->high_ms = high_ms;
    return fault;
}

struct given *given_new(struct syntax *s, enum given_kind kind, struct span span, int64_t at_ms,
                        int64_t partition)
{
    struct given *given = arena_alloc(s->program->arena, sizeof *given);
    given->kind = kind;
    given->span = span;
    given->at_ms = at_ms;
    given->has_partition = partition >= 0;
    given->partition = given->has_partition ? partition : 0;
    return given;
}

struct decision *decision_new(struct syntax *s, enum decision_kind kind, struct span span,
                              struct name name)
{
    struct decision *decision = arena_alloc(s->program->arena, sizeof *decision);
    decision->kind = kind;
    decision->span = span;
    decision->name = name;
    return decision;
}

struct constant *constant_new(struct syntax *s, enum constant_kind kind, struct span span)
{
    struct constant *constant = arena_alloc(s->program->arena, sizeof *constant);
    constant->kind = kind;
    constant->span = span;
    return constant;
}

struct constant *constant_number(struct syntax *s, struct span span, struct number_value number,
                                 bool negative)
{
    struct constant *constant = constant_new(s, CONST_NUMBER, span);
    constant->number = number.number;
    constant->negative = negative;
    return constant;
}

void constant_row_add(struct syntax *s, struct constant *row, struct row_entry entry)
{
    vec_push(s->program->arena, &row->names, entry.name);
    vec_push(s->program->arena, &row->items, entry.value);
}
