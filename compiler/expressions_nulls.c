/* expressions_nulls.c: what is known not to be null where, and the messages about what is not. */
#include <string.h>
#include "resolve.h"

const struct fact *fact_add(struct program *program, const struct fact *base,
                            const char *const *names, size_t count)
{
    struct fact *fact = arena_alloc(program->arena, sizeof *fact);
    fact->next = base;
    fact->count = count;
    fact->names = arena_alloc(program->arena, count * sizeof *fact->names);
    memcpy(fact->names, names, count * sizeof *names);
    return fact;
}

/* A path that is not null has no null before it, so a longer fact covers its beginnings. */
bool fact_known(const struct fact *facts, const char *const *names, size_t count)
{
    for (; facts; facts = facts->next) {
        size_t same = 0;
        while (same < count && same < facts->count && strcmp(facts->names[same], names[same]) == 0)
            same++;
        if (same == count)
            return true;
    }
    return false;
}

static const struct fact *fact_of_path(struct program *program, const struct expr *path,
                                       const struct fact *base)
{
    const char **names = arena_alloc(program->arena, path->path.count * sizeof *names);
    for (size_t i = 0; i < path->path.count; i++)
        names[i] = path->path.items[i].text;
    return fact_add(program, base, names, path->path.count);
}

/* What two branches both say. */
static const struct fact *facts_both(struct program *program, const struct fact *a,
                                     const struct fact *b, const struct fact *base)
{
    const struct fact *both = base;
    for (const struct fact *fact = a; fact && fact != base; fact = fact->next)
        if (fact_known(b, fact->names, fact->count))
            both = fact_add(program, both, fact->names, fact->count);
    for (const struct fact *fact = b; fact && fact != base; fact = fact->next)
        if (fact_known(a, fact->names, fact->count))
            both = fact_add(program, both, fact->names, fact->count);
    return both;
}

const struct fact *facts_if(struct program *program, const struct expr *expr, bool outcome,
                            const struct fact *base)
{
    if (is_poison(expr))
        return base;
    if (expr->kind == EXPR_IS_NULL && expr->left->kind == EXPR_PATH && expr->negated == outcome)
        return fact_of_path(program, expr->left, base);
    if (expr->kind == EXPR_UNARY && expr->op == OP_NOT)
        return facts_if(program, expr->left, !outcome, base);
    bool is_and = expr->kind == EXPR_BINARY && expr->op == OP_AND;
    bool is_or = expr->kind == EXPR_BINARY && expr->op == OP_OR;
    if (!is_and && !is_or)
        return base;
    if (is_and == outcome)
        return facts_if(program, expr->right, outcome,
                        facts_if(program, expr->left, outcome, base));
    return facts_both(program, facts_if(program, expr->left, outcome, base),
                      facts_if(program, expr->right, outcome, base), base);
}

static const struct expr *search_children(const struct expr *expr,
                                          const struct expr *(*search)(const struct expr *))
{
    struct expr *const direct[] = {expr->subject, expr->left, expr->low, expr->high, expr->right};
    const struct expr *found = NULL;
    for (size_t i = 0; !found && i < sizeof direct / sizeof *direct; i++)
        if (direct[i])
            found = search(direct[i]);
    for (size_t i = 0; !found && i < expr->args.count; i++)
        found = search(expr->args.items[i]);
    for (size_t i = 0; !found && i < expr->whens.count; i++) {
        found = search(expr->whens.items[i].when);
        if (!found)
            found = search(expr->whens.items[i].then);
    }
    return !found && expr->otherwise ? search(expr->otherwise) : found;
}

/* The leftmost thing that brings the null in: a path, a call or a case that has none below. */
static const struct expr *nullable_part(const struct expr *expr)
{
    if (!expr->type || !expr->nullable)
        return NULL;
    const struct expr *below = search_children(expr, nullable_part);
    return below ? below : expr;
}

static bool holds(const struct expr *expr, const struct expr *part)
{
    return expr && expr->span.begin <= part->span.begin && part->span.end <= expr->span.end;
}

/* The child of `expr` in which `part` stands, or NULL. */
static const struct expr *child_with(const struct expr *expr, const struct expr *part)
{
    struct expr *const direct[] = {expr->subject, expr->left,  expr->low,
                                   expr->high,    expr->right, expr->otherwise};
    for (size_t i = 0; i < sizeof direct / sizeof *direct; i++)
        if (holds(direct[i], part))
            return direct[i];
    for (size_t i = 0; i < expr->args.count; i++)
        if (holds(expr->args.items[i], part))
            return expr->args.items[i];
    for (size_t i = 0; i < expr->whens.count; i++) {
        if (holds(expr->whens.items[i].when, part))
            return expr->whens.items[i].when;
        if (holds(expr->whens.items[i].then, part))
            return expr->whens.items[i].then;
    }
    return NULL;
}

/* The smallest condition around `part`, or `part` itself. */
static const struct expr *condition_around(const struct expr *expr, const struct expr *part)
{
    const struct expr *condition = part;
    for (; expr && expr != part; expr = child_with(expr, part))
        if (expr->type && expr->type->kind == TYPE_BOOL)
            condition = expr;
    return condition;
}

static const struct field *field_of_path(struct scope *scope, const struct expr *path)
{
    const struct field *field = NULL;
    const struct record_type *record = scope->row;
    for (size_t i = 0; i < path->steps.count && record; i++) {
        field = &record->fields[path->steps.items[i]];
        if (field->nullable)
            return field;
        record = field->type->kind == TYPE_RECORD ? field->type->record : NULL;
    }
    return field;
}

static void label_nullable(struct scope *scope, struct diag *diag, const struct expr *part)
{
    const struct field *field = part->kind == EXPR_PATH ? field_of_path(scope, part) : NULL;
    if (!field || !field->span.source) {
        diag_label(diag, "nullable");
        return;
    }
    unsigned line, column;
    span_position(field->span, &line, &column);
    if (field->written_type)
        diag_label(diag, "nullable: %s in %s:%u", field->written_type, field->span.source->path,
                   line);
    else
        diag_label(diag, "nullable: from %s:%u", field->span.source->path, line);
}

static const char *example_of(const struct type *type)
{
    if (type_is_numeric(type))
        return "0";
    if (type->kind == TYPE_BOOL)
        return "false";
    return type->kind == TYPE_STRING ? "''" : "…";
}

void report_nullable(struct scope *scope, enum code code, struct expr *expr, const char *need)
{
    struct program *program = scope->program;
    const struct expr *part = nullable_part(expr);
    if (!part)
        part = expr;
    const char *text = span_text(program, part->span);
    struct diag *diag =
        diag_error(program, code, part->span, "`%s` may be null here, and %s", text, need);
    label_nullable(scope, diag, part);
    const struct expr *condition = condition_around(expr, part);
    if (part->kind == EXPR_PATH && code == PC3104 && condition != part)
        diag_help(diag, "write `%s is not null and %s`", text, span_text(program, condition->span));
    else
        diag_help(diag, "write `coalesce(%s, %s)`", text, example_of(part->type));
}

const struct expr *fallible_part(const struct expr *expr)
{
    if (!expr->type || !expr->fallible)
        return NULL;
    const struct expr *below =
        expr->kind == EXPR_TRY ? fallible_part(expr->right) : search_children(expr, fallible_part);
    return below ? below : expr;
}
