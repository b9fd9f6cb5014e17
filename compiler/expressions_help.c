/* expressions_help.c: what a message about two types that do not go together proposes: only what
 * compiles. */
#include <string.h>
#include "resolve.h"

static bool reads_as_number(const struct expr *expr)
{
    const char *text = expr->text;
    size_t size = expr->text_bytes, i = size > 0 && text[0] == '-', digits = 0, points = 0;
    for (; i < size; i++) {
        points += text[i] == '.';
        digits += text[i] >= '0' && text[i] <= '9';
        if (text[i] != '.' && (text[i] < '0' || text[i] > '9'))
            return false;
    }
    return digits > 0 && points <= 1 && text[size - 1] != '.' && strcspn(text, "0123456789") < 2;
}

static bool is_number(const struct expr *expr)
{
    return expr->kind == EXPR_INTEGER || expr->kind == EXPR_DECIMAL;
}

static bool is_moment(const struct type *type)
{
    return type_is_instant(type) || type->kind == TYPE_DATE;
}

bool help_conversion(struct scope *scope, struct diag *diag, const struct expr *expr,
                     const struct type *type)
{
    struct program *program = scope->program;
    if (!diag_is_shown(diag) || type_is_nested(type) || type_is_nested(expr->type) ||
        type->kind == TYPE_NULL || expr->type->kind == TYPE_NULL)
        return false;
    const char *text = span_text(program, expr->span);
    if (expr->kind == EXPR_STRING && type_is_numeric(type)) {
        if (!reads_as_number(expr))
            return false;
        diag_help(diag, "write the number without quotes: `%.*s`", (int)expr->text_bytes,
                  expr->text);
        return true;
    }
    if (is_number(expr) && expr->is_literal && type->kind == TYPE_STRING) {
        diag_help(diag, "write `'%s'`", text);
        return true;
    }
    if (expr->is_literal && (is_number(expr) || expr->kind == EXPR_STRING) &&
        (is_moment(type) || type->kind == TYPE_ENUM || type->kind == TYPE_BOOL))
        return false; /* whether this literal can be cast is not known here */
    if (!cast_exists(expr->type, type))
        return false;
    diag_help(diag, "write `cast(%s as %s)`", text, type_name(program, type));
    return true;
}

bool help_number(struct scope *scope, struct diag *diag, const char *op, const struct expr *a,
                 const struct expr *b)
{
    const struct expr *number = a->is_literal ? a : b, *text = a->is_literal ? b : a;
    /* Text has another order than the numbers that it shows. */
    bool is_order =
        strcmp(op, "between") == 0 || (strcmp(op, "<>") != 0 && (*op == '<' || *op == '>'));
    if (!is_order || !number->is_literal || !is_number(number) || text->type->kind != TYPE_STRING ||
        text->is_literal)
        return false;
    const char *of = span_text(scope->program, text->span);
    diag_help(diag, "`%s` is text: write `cast(%s as %s)`", of, of,
              number->kind == EXPR_INTEGER ? "int64" : "float64");
    return true;
}

/* A text that is no number, against numbers: nothing that could be cast makes sense of it. */
static bool help_no_number(struct scope *scope, struct diag *diag, const struct expr *a,
                           const struct expr *b)
{
    const struct expr *text = a->kind == EXPR_STRING && a->is_literal ? a : b,
                      *number = text == a ? b : a;
    if (text->kind != EXPR_STRING || !text->is_literal || number->is_literal ||
        !type_is_numeric(number->type) || reads_as_number(text))
        return false;
    diag_help(diag, "`%s` is a number, and %s is none", span_text(scope->program, number->span),
              span_text(scope->program, text->span));
    return true;
}

void help_either_conversion(struct scope *scope, struct diag *diag, const struct expr *change,
                            const struct expr *keep)
{
    bool literal_first = keep->is_literal && !change->is_literal;
    const struct expr *first = literal_first ? keep : change,
                      *second = literal_first ? change : keep;
    if (help_no_number(scope, diag, change, keep))
        return;
    if (!help_conversion(scope, diag, first, second->type))
        help_conversion(scope, diag, second, first->type);
}

bool help_date_arithmetic(struct scope *scope, struct diag *diag, const struct expr *expr,
                          const char *op)
{
    struct program *program = scope->program;
    const struct expr *a = expr->left, *b = expr->right;
    bool swapped = a->type->kind == TYPE_DURATION && b->type->kind == TYPE_DATE && *op == '+';
    const struct expr *date = swapped ? b : a, *other = swapped ? a : b;
    if (date->type->kind != TYPE_DATE || (*op != '+' && *op != '-'))
        return false;
    const char *text = span_text(program, date->span), *of = span_text(program, other->span);
    if (other->type->kind == TYPE_DURATION)
        diag_help(diag, "write `cast(cast(%s as timestamp_ms) %s %s as date)`", text, op, of);
    else if (other->type->kind == TYPE_DATE && *op == '-')
        diag_help(diag, "write `cast(%s as timestamp_ms) - cast(%s as timestamp_ms)`: a duration",
                  text, of);
    else if (type_is_instant(other->type) && *op == '-')
        diag_help(diag, "write `cast(%s as timestamp_ms) - %s`: a duration", text, of);
    else if (type_is_integer(other->type) && other->is_literal)
        diag_help(diag, "write `cast(cast(%s as timestamp_ms) %s %sd as date)`: days have a unit",
                  text, op, of);
    else
        return false;
    return true;
}
