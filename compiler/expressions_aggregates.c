/* expressions_aggregates.c: one call of an `aggregate` clause, its argument and result. */
#include <string.h>
#include "resolve.h"

static bool report_takes(struct scope *scope, const struct expr *call, const struct expr *arg,
                         const char *takes)
{
    struct program *program = scope->program;
    struct diag *diag = diag_error(program, PC3005, arg->span, "`%s` takes %s, and this is %s",
                                   call->call.text, takes, type_name(program, arg->type));
    const char *text = span_text(program, arg->span);
    if (strcmp(takes, "numbers") != 0)
        return false;
    if (arg->type->kind == TYPE_STRING)
        diag_help(diag,
                  "`count_distinct(%s)` counts its values; numbers that stand as text are "
                  "`try(cast(%s as float64), 0.0)`",
                  text, text);
    else if (arg->type->kind == TYPE_BOOL)
        diag_help(diag, "write `count_if(%s)`", text);
    else if (type_is_instant(arg->type))
        diag_help(diag, "`min(%s)` and `max(%s)` take times", text, text);
    return false;
}

static bool sum_type(struct scope *scope, const struct expr *call, struct aggregate *out)
{
    const struct type *type = out->arg->type;
    out->nullable = out->arg->nullable;
    if (type_is_integer(type))
        out->type = type_simple(TYPE_INT64);
    else if (type->kind == TYPE_DECIMAL)
        out->type = type_decimal(scope->program, 38, type->scale);
    else if (type_is_float(type))
        out->type = type_simple(TYPE_FLOAT64);
    else if (type->kind == TYPE_DURATION)
        out->type = type;
    else
        return report_takes(scope, call, out->arg, "numbers");
    return true;
}

static bool quantile_of(struct scope *scope, const struct expr *call, struct aggregate *out)
{
    const struct expr *q = call->args.items[1];
    bool number = q->kind == EXPR_DECIMAL || q->kind == EXPR_INTEGER;
    double value = -1;
    if (number) {
        value = (double)q->number.digits;
        for (unsigned i = 0; q->kind == EXPR_DECIMAL && i < q->number.scale; i++)
            value /= 10;
    }
    if (!number || !(value > 0 && value < 1)) {
        struct diag *diag = diag_error(scope->program, PC3006, q->span,
                                       "the quantile must be a number between 0 and 1");
        diag_help(diag, "write `%s(%s, 0.99)`", call->call.text,
                  span_text(scope->program, call->args.items[0]->span));
        return false;
    }
    out->quantile = value;
    if (!type_is_numeric(out->arg->type))
        return report_takes(scope, call, out->arg, "numbers");
    out->type = type_simple(TYPE_FLOAT64);
    out->nullable = out->arg->nullable;
    return true;
}

/* A window has a row only for a group that has records, so a result is null only if values can be.
 */
static bool aggregate_type(struct scope *scope, const struct expr *call, struct aggregate *out)
{
    const struct type *type = out->arg ? out->arg->type : NULL;
    out->type = type_simple(TYPE_INT64);
    out->nullable = false;
    switch (out->kind) {
    case AGG_COUNT:
        return true;
    case AGG_COUNT_IF:
        return type->kind == TYPE_BOOL || report_takes(scope, call, out->arg, "a condition");
    case AGG_SUM:
        return sum_type(scope, call, out);
    case AGG_AVG:
        out->type = type_simple(TYPE_FLOAT64);
        out->nullable = out->arg->nullable;
        return type_is_numeric(type) || report_takes(scope, call, out->arg, "numbers");
    case AGG_MIN:
    case AGG_MAX:
        out->type = type;
        out->nullable = out->arg->nullable;
        return type_is_ordered(type) ||
               report_takes(scope, call, out->arg, "values that have an order");
    case AGG_FIRST:
    case AGG_LAST:
        out->type = type;
        out->nullable = out->arg->nullable;
        return !type_is_nested(type) || report_takes(scope, call, out->arg, "single values");
    case AGG_MIN_BY:
    case AGG_MAX_BY:
        out->type = type;
        out->nullable = out->arg->nullable;
        out->nullable |= out->by->nullable;
        if (type_is_nested(type))
            return report_takes(scope, call, out->arg, "single values");
        return type_is_ordered(out->by->type) ||
               report_takes(scope, call, out->by, "a second argument that has an order");
    case AGG_COUNT_DISTINCT:
    case AGG_APPROX_COUNT_DISTINCT:
        return type_is_key(type) ||
               report_takes(scope, call, out->arg, "single values that are no floats");
    case AGG_APPROX_QUANTILE:
        return quantile_of(scope, call, out);
    }
    return false;
}

/* `total = sum(x)`, as others write it. */
static bool is_assignment(const struct expr *expr)
{
    if (!expr || expr->kind != EXPR_BINARY || expr->op != OP_EQ || expr->left->kind != EXPR_PATH ||
        expr->right->kind != EXPR_CALL)
        return false;
    const struct function *function = function_find(expr->right->call.text);
    return function && function->is_aggregate;
}

static bool report_no_aggregate(struct scope *scope, const struct item *item)
{
    struct program *program = scope->program;
    const struct expr *expr = item->expr;
    size_t count;
    if (item->kind != ITEM_STAR && expr->kind == EXPR_CALL && !function_find(expr->call.text)) {
        const char *const *names = function_names(true, &count);
        const char *meant = nearest_name(expr->call.text, names, count);
        struct diag *diag = diag_error(program, PC3003, expr->call.span,
                                       "there is no aggregate `%s`", expr->call.text);
        const char *instead = foreign_word_help(expr->call.text, strlen(expr->call.text), true);
        if (instead)
            diag_help(diag, "%s", instead);
        else if (meant)
            diag_help(diag, "did you mean `%s`?", meant);
        return false;
    }
    struct diag *diag = diag_error(program, PC3017, item->span,
                                   "an item of `aggregate` is one call of an aggregate");
    if (is_assignment(item->expr))
        diag_help(diag, "write `%s as %s`", span_text(program, item->expr->right->span),
                  span_text(program, item->expr->left->span));
    else
        diag_help(diag, "group by what is the same in the group, and compute on results in a next "
                        "stream");
    return false;
}

bool check_aggregate(struct scope *scope, const struct item *item, struct aggregate *out)
{
    struct program *program = scope->program;
    struct expr *call = item->expr;
    *out = (struct aggregate){.span = item->span};
    const struct function *function =
        item->kind == ITEM_EXPR && call->kind == EXPR_CALL ? function_find(call->call.text) : NULL;
    if (!function || !function->is_aggregate)
        return report_no_aggregate(scope, item);
    if (!item->as.text) {
        struct diag *diag = diag_error(program, PC2012, item->span, "this aggregate has no name");
        diag_help(diag, "write `%s as %s_…`", span_text(program, item->span), function->name);
        return false;
    }
    out->name = item->as.text;
    out->kind = (enum aggregate_kind)function->rule;
    call->function = function;
    if (call->args.count < function->min_args || call->args.count > function->max_args) {
        diag_error(program, PC3004, call->span, "`%s` takes %u argument%s, and here %s %zu",
                   function->name, function->max_args, function->max_args == 1 ? "" : "s",
                   call->args.count == 1 ? "is" : "are", call->args.count);
        return false;
    }
    bool ok = true;
    for (size_t i = 0; i < call->args.count; i++) {
        check_expr(scope, &call->args.items[i]);
        ok &= !is_poison(call->args.items[i]) && !is_untyped_null(scope, call->args.items[i]);
    }
    if (!ok)
        return false;
    out->arg = call->args.count > 0 ? call->args.items[0] : NULL;
    bool by = out->kind == AGG_MIN_BY || out->kind == AGG_MAX_BY;
    out->by = by ? call->args.items[1] : NULL;
    return aggregate_type(scope, call, out);
}
