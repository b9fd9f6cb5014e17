/* expressions_binary.c: unary and binary operators; folding of literal arithmetic. */
#include <string.h>
#include "resolve.h"

static const char *op_text(enum op op)
{
    static const char *const texts[] = {
        [OP_NEG] = "-", [OP_NOT] = "not", [OP_AND] = "and",   [OP_OR] = "or",
        [OP_EQ] = "=",  [OP_NE] = "<>",   [OP_LT] = "<",      [OP_LE] = "<=",
        [OP_GT] = ">",  [OP_GE] = ">=",   [OP_CONCAT] = "||", [OP_ADD] = "+",
        [OP_SUB] = "-", [OP_MUL] = "*",   [OP_DIV] = "/",     [OP_MOD] = "%"};
    return texts[op];
}

static bool number_literal(const struct expr *expr)
{
    return expr->is_literal && (expr->kind == EXPR_INTEGER || expr->kind == EXPR_DECIMAL);
}

static void merge(struct expr *expr)
{
    expr->nullable = expr->left->nullable || (expr->right && expr->right->nullable);
    expr->fallible = expr->left->fallible || (expr->right && expr->right->fallible);
    expr->is_constant = expr->left->is_constant && (!expr->right || expr->right->is_constant);
}

static void report_operator(struct scope *scope, struct expr *expr, const struct expr *operand,
                            const char *takes)
{
    struct program *program = scope->program;
    struct diag *diag = diag_error(program, PC3002, operand->span, "`%s` takes %s, and this is %s",
                                   op_text(expr->op), takes, type_name(program, operand->type));
    if (expr->op == OP_CONCAT && !type_is_nested(operand->type))
        diag_help(diag, "write `cast(%s as string)`", span_text(program, operand->span));
    if (expr->op == OP_ADD && operand->type->kind == TYPE_STRING)
        diag_help(diag, "text is joined with `||`");
    poison(expr);
}

/* The text that brings two types together, for the help of a message. */
static void help_pair(struct scope *scope, struct diag *diag, const struct expr *expr)
{
    const struct expr *a = expr->left, *b = expr->right;
    bool numbers = type_is_numeric(a->type) && type_is_numeric(b->type);
    const struct expr *change = b, *keep = a;
    if (numbers ? type_is_float(b->type) : a->type->kind == TYPE_STRING)
        change = a, keep = b;
    if (numbers)
        diag_note(diag, "a number becomes a float only by a cast");
    if (!help_date_arithmetic(scope, diag, expr, op_text(expr->op)) &&
        !help_number(scope, diag, op_text(expr->op), a, b))
        help_either_conversion(scope, diag, change, keep);
}

static void report_pair(struct scope *scope, struct expr *expr)
{
    struct program *program = scope->program;
    const struct expr *a = expr->left, *b = expr->right;
    const char *ta = type_name(program, a->type), *tb = type_name(program, b->type);
    struct diag *diag = diag_error(program, PC3001, expr->span, "`%s` can't join %s and %s",
                                   op_text(expr->op), ta, tb);
    diag_also(diag, a->span, "%s", ta);
    diag_also(diag, b->span, "%s", tb);
    help_pair(scope, diag, expr);
    poison(expr);
}

/* --- and, or, not --- */

static bool is_condition(struct scope *scope, struct expr *expr, const struct expr *operand)
{
    if (is_poison(operand)) {
        poison(expr);
        return false;
    }
    if (operand->type->kind == TYPE_BOOL)
        return true;
    report_operator(scope, expr, operand, "conditions");
    return false;
}

static void check_logic(struct scope *scope, struct expr *expr)
{
    const struct fact *outer = scope->facts;
    check_expr(scope, &expr->left);
    scope->facts = facts_if(scope->program, expr->left, expr->op == OP_AND, outer);
    check_expr(scope, &expr->right);
    scope->facts = outer;
    expr->type = type_simple(TYPE_BOOL);
    if (!is_condition(scope, expr, expr->left) || !is_condition(scope, expr, expr->right))
        return;
    merge(expr);
}

/* --- comparisons --- */

static void check_comparison(struct scope *scope, struct expr *expr)
{
    struct program *program = scope->program;
    struct expr **slots[] = {&expr->left, &expr->right};
    if (expr->left->kind == EXPR_NULL || expr->right->kind == EXPR_NULL) {
        const struct expr *other = expr->left->kind == EXPR_NULL ? expr->right : expr->left;
        struct diag *diag =
            diag_error(program, PC3012, expr->span, "a comparison with `null` is never true");
        diag_help(diag, "write `%s is %snull`", span_text(program, other->span),
                  expr->op == OP_NE ? "not " : "");
        poison(expr);
        return;
    }
    const struct type *type = common_type(scope, slots, 2);
    if (!type || !coerce(scope, &expr->left, type) || !coerce(scope, &expr->right, type)) {
        report_pair(scope, expr);
        return;
    }
    if (is_poison(expr->left) || is_poison(expr->right)) {
        poison(expr);
        return;
    }
    bool equality = expr->op == OP_EQ || expr->op == OP_NE;
    if (equality ? type_is_nested(type) : !type_is_ordered(type)) {
        report_operator(scope, expr, expr->left,
                        equality ? "single values" : "values that have an order");
        return;
    }
    expr->type = type_simple(TYPE_BOOL);
    merge(expr);
}

/* --- arithmetic --- */

/* left op right of two number literals, exactly; false: leave it to the types. */
static bool fold(struct scope *scope, struct expr *expr)
{
    const struct literal_number a = expr->left->number, b = expr->right->number;
    bool decimal = expr->left->kind == EXPR_DECIMAL || expr->right->kind == EXPR_DECIMAL;
    unsigned scale_a = expr->left->kind == EXPR_DECIMAL ? a.scale : 0;
    unsigned scale_b = expr->right->kind == EXPR_DECIMAL ? b.scale : 0;
    unsigned scale = scale_a > scale_b ? scale_a : scale_b;
    __int128 x = a.digits, y = b.digits, result;
    if (expr->op == OP_MUL) {
        scale = scale_a + scale_b;
        if (scale > 38 || __builtin_mul_overflow(x, y, &result))
            return false;
    } else if (expr->op == OP_ADD || expr->op == OP_SUB) {
        if (!int128_scale(&x, scale - scale_a) || !int128_scale(&y, scale - scale_b))
            return false;
        result = expr->op == OP_ADD ? x + y : x - y;
    } else {
        if (decimal || y == 0)
            return false;
        result = expr->op == OP_DIV ? x / y : x % y;
    }
    if (digits_of(result) > 38)
        return false;
    expr->kind = decimal ? EXPR_DECIMAL : EXPR_INTEGER;
    expr->number = (struct literal_number){decimal, result, scale};
    expr->left = expr->right = NULL;
    expr->type = NULL;
    struct expr *self = expr;
    check_expr(scope, &self);
    return true;
}

static bool nonzero_literal(const struct expr *expr)
{
    if (expr->kind == EXPR_DURATION)
        return expr->duration_ms != 0;
    return expr->kind == EXPR_CONVERT
               ? nonzero_literal(expr->left)
               : (expr->kind == EXPR_INTEGER || expr->kind == EXPR_DECIMAL) &&
                     expr->number.digits != 0;
}

static void report_zero(struct scope *scope, struct expr *expr)
{
    diag_error(scope->program, PC3024, expr->right->span, "this divides by zero");
    poison(expr);
}

static void integer_arithmetic(struct scope *scope, struct expr *expr, const struct type *type)
{
    const struct expr *right = expr->right;
    bool literal = right->kind == EXPR_INTEGER;
    expr->type = type;
    if ((expr->op == OP_DIV || expr->op == OP_MOD) && literal && right->number.digits == 0) {
        report_zero(scope, expr);
        return;
    }
    if (expr->op == OP_MOD && nonzero_literal(right))
        return;
    if (expr->op == OP_DIV && nonzero_literal(right) && right->number.digits != -1)
        return;
    expr->fallible = true;
}

/* + and - keep the larger scale and need a digit more; × adds precisions and scales. */
static void decimal_arithmetic(struct scope *scope, struct expr *expr, const struct type *type)
{
    struct program *program = scope->program;
    if (expr->op == OP_DIV || expr->op == OP_MOD) {
        struct diag *diag =
            diag_error(program, PC3020, expr->span, "decimals have no `%s`", op_text(expr->op));
        diag_note(diag, "the quotient of two decimals has no fixed number of digits");
        diag_help(diag, "write `cast(%s as float64) %s cast(%s as float64)`",
                  span_text(program, expr->left->span), op_text(expr->op),
                  span_text(program, expr->right->span));
        poison(expr);
        return;
    }
    unsigned precision, scale;
    if (expr->op == OP_MUL) {
        const struct type *a = expr->left->type, *b = expr->right->type;
        precision = (unsigned)(a->precision + b->precision);
        scale = (unsigned)(a->scale + b->scale);
    } else {
        precision = type->precision + 1u;
        scale = type->scale;
    }
    if (scale > 38) {
        struct diag *diag = diag_error(program, PC3008, expr->span,
                                       "the product would have %u digits behind the point", scale);
        diag_help(diag, "a decimal has at most 38 digits: cast one side to a smaller scale");
        poison(expr);
        return;
    }
    expr->fallible |= precision > 38;
    expr->type = type_decimal(program, precision > 38 ? 38 : precision, scale);
}

/* For ×, each side keeps its scale: an integer becomes a decimal of scale 0. */
static bool decimal_factors(struct scope *scope, struct expr *expr)
{
    struct expr **slots[] = {&expr->left, &expr->right};
    for (size_t i = 0; i < 2; i++) {
        struct expr *side = *slots[i];
        unsigned digits = side->type->kind == TYPE_INT32 ? 10 : 19;
        if (side->type->kind == TYPE_DECIMAL)
            continue;
        if (number_literal(side))
            digits = digits_of(side->number.digits);
        if (!coerce(scope, slots[i], type_decimal(scope->program, digits, 0)))
            return false;
    }
    return true;
}

/* duration ± duration, instant ± duration, instant - instant, duration × / int, / and % duration.
 */
static bool time_arithmetic(struct scope *scope, struct expr *expr)
{
    const struct type *a = expr->left->type, *b = expr->right->type;
    const struct type *duration = type_simple(TYPE_DURATION);
    bool ad = a->kind == TYPE_DURATION, bd = b->kind == TYPE_DURATION;
    bool ai = type_is_instant(a), bi = type_is_instant(b);
    if (!ad && !bd && !ai && !bi)
        return false;
    merge(expr);
    expr->type = NULL;
    if (expr->op == OP_SUB && ai && bi) {
        const struct type *type = join_types(scope->program, a, b);
        coerce(scope, &expr->left, type);
        coerce(scope, &expr->right, type);
        expr->type = duration;
    } else if ((expr->op == OP_ADD || expr->op == OP_SUB) && ai && bd) {
        expr->type = a;
        expr->fallible = true;
    } else if (expr->op == OP_ADD && ad && bi) {
        expr->type = b;
        expr->fallible = true;
    } else if ((expr->op == OP_ADD || expr->op == OP_SUB) && ad && bd) {
        expr->type = duration;
        expr->fallible = true;
    } else if ((expr->op == OP_MUL || expr->op == OP_DIV) && ad && type_is_integer(b) &&
               coerce(scope, &expr->right, type_simple(TYPE_INT64))) {
        integer_arithmetic(scope, expr, duration);
    } else if (expr->op == OP_MUL && bd && type_is_integer(a) &&
               coerce(scope, &expr->left, type_simple(TYPE_INT64))) {
        integer_arithmetic(scope, expr, duration);
    } else if ((expr->op == OP_DIV || expr->op == OP_MOD) && ad && bd) {
        expr->type = expr->op == OP_DIV ? type_simple(TYPE_INT64) : duration;
        if (expr->right->kind == EXPR_DURATION && expr->right->duration_ms == 0)
            report_zero(scope, expr);
        else
            expr->fallible |= !nonzero_literal(expr->right);
    }
    if (!expr->type)
        report_pair(scope, expr);
    return true;
}

static void check_arithmetic(struct scope *scope, struct expr *expr)
{
    struct expr **slots[] = {&expr->left, &expr->right};
    if (number_literal(expr->left) && number_literal(expr->right) && fold(scope, expr))
        return;
    if (time_arithmetic(scope, expr))
        return;
    for (size_t i = 0; i < 2; i++)
        if (!type_is_numeric((*slots[i])->type) && (*slots[i])->kind != EXPR_NULL) {
            report_operator(scope, expr, *slots[i], "numbers");
            return;
        }
    const struct type *type = common_type(scope, slots, 2);
    bool product = type && type->kind == TYPE_DECIMAL && expr->op == OP_MUL;
    if (!type || type->kind == TYPE_NULL ||
        (product ? !decimal_factors(scope, expr)
                 : !coerce(scope, &expr->left, type) || !coerce(scope, &expr->right, type))) {
        report_pair(scope, expr);
        return;
    }
    if (is_poison(expr->left) || is_poison(expr->right)) {
        poison(expr);
        return;
    }
    merge(expr);
    if (type_is_integer(type)) {
        integer_arithmetic(scope, expr, type);
    } else if (type->kind == TYPE_DECIMAL) {
        decimal_arithmetic(scope, expr, type);
    } else {
        expr->type = type;
        expr->fallible = true;
    }
}

static void check_concat(struct scope *scope, struct expr *expr)
{
    struct expr **slots[] = {&expr->left, &expr->right};
    for (size_t i = 0; i < 2; i++)
        if (!coerce(scope, slots[i], type_simple(TYPE_STRING))) {
            report_operator(scope, expr, *slots[i], "strings");
            return;
        }
    expr->type = type_simple(TYPE_STRING);
    merge(expr);
}

static void check_unary(struct scope *scope, struct expr *expr)
{
    check_expr(scope, &expr->left);
    struct expr *left = expr->left;
    if (is_poison(left)) {
        poison(expr);
        return;
    }
    if (expr->op == OP_NOT) {
        expr->type = type_simple(TYPE_BOOL);
        if (is_condition(scope, expr, left))
            merge(expr);
        return;
    }
    if (number_literal(left)) {
        expr->kind = left->kind;
        expr->number = left->number;
        expr->number.digits = -left->number.digits;
        expr->left = NULL;
        struct expr *self = expr;
        check_expr(scope, &self);
        return;
    }
    if (!type_is_numeric(left->type) && left->type->kind != TYPE_DURATION) {
        report_operator(scope, expr, left, "numbers");
        return;
    }
    merge(expr);
    expr->type = left->type;
    expr->fallible |= type_is_integer(left->type) || left->type->kind == TYPE_DURATION;
}

void check_binary(struct scope *scope, struct expr **slot)
{
    struct expr *expr = *slot;
    if (expr->kind == EXPR_UNARY) {
        check_unary(scope, expr);
        return;
    }
    if (expr->op == OP_AND || expr->op == OP_OR) {
        check_logic(scope, expr);
        return;
    }
    check_expr(scope, &expr->left);
    check_expr(scope, &expr->right);
    if (is_poison(expr->left) || is_poison(expr->right)) {
        poison(expr);
        return;
    }
    if (expr->op == OP_CONCAT)
        check_concat(scope, expr);
    else if (expr->op >= OP_EQ && expr->op <= OP_GE)
        check_comparison(scope, expr);
    else
        check_arithmetic(scope, expr);
}
