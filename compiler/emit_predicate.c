/*
 * emit_predicate.c: `between`, `in` and `is null`. A long list of constants is a sorted table; what
 * is only asked whether it is null is not computed.
 */
#include "emit.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- conditions that are constant ---- */

static bool constant_value(const struct expr *expr, long double *value)
{
    if (expr->kind == EXPR_CONVERT)
        return constant_value(expr->left, value);
    if (expr->kind == EXPR_UNARY && expr->op == OP_NEG && constant_value(expr->left, value)) {
        *value = -*value;
        return true;
    }
    if (expr->kind == EXPR_DURATION)
        *value = expr->duration_ms;
    else if (expr->kind == EXPR_SYMBOL)
        *value = expr->enum_index;
    else if (expr->kind == EXPR_INTEGER || expr->kind == EXPR_DECIMAL)
        *value = (long double)expr->number.digits / (long double)power_of_ten(expr->number.scale);
    else
        return false;
    return true;
}

static bool holds(enum op op, long double x, long double y)
{
    switch (op) {
    case OP_EQ:
        return x == y;
    case OP_NE:
        return x != y;
    case OP_LT:
        return x < y;
    case OP_LE:
        return x <= y;
    case OP_GT:
        return x > y;
    default:
        return x >= y;
    }
}

/* `path op constant`, either way round. */
struct bound {
    const struct expr *path;
    enum op op;
    long double value;
};

static bool read_bound(const struct expr *expr, struct bound *bound)
{
    static const enum op turned[] = {[OP_EQ] = OP_EQ, [OP_NE] = OP_NE, [OP_LT] = OP_GT,
                                     [OP_LE] = OP_GE, [OP_GT] = OP_LT, [OP_GE] = OP_LE};
    if (expr->kind != EXPR_BINARY || expr->op < OP_EQ || expr->op > OP_GE)
        return false;
    bool is_left = constant_value(expr->right, &bound->value);
    if (!is_left && !constant_value(expr->left, &bound->value))
        return false;
    bound->path = is_left ? expr->left : expr->right;
    bound->op = is_left ? expr->op : turned[expr->op];
    while (bound->path->kind == EXPR_CONVERT)
        bound->path = bound->path->left;
    return bound->path->kind == EXPR_PATH;
}

static bool same_path(const struct expr *a, const struct expr *b)
{
    return a->root == b->root && a->steps.count == b->steps.count &&
           (a->steps.count == 0 ||
            memcmp(a->steps.items, b->steps.items, a->steps.count * sizeof *a->steps.items) == 0);
}

static bool always(enum op op, struct bound a, struct bound b)
{
    const long double low = a.value < b.value ? a.value : b.value,
                      high = a.value < b.value ? b.value : a.value,
                      middle = type_is_float(a.path->type) ? (low + high) / 2 : low + 1,
                      points[] = {low - 1, low, middle, high, high + 1};
    for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
        bool left = holds(a.op, points[i], a.value), right = holds(b.op, points[i], b.value);
        if ((op == OP_AND && left && right) || (op == OP_OR && !left && !right))
            return false;
    }
    return true;
}

/* The comparison that stands next to the operator in C, where chains have no parentheses. */
static const struct expr *beside(enum op op, const struct expr *expr, bool last)
{
    while (expr->kind == EXPR_BINARY && expr->op == op)
        expr = last ? expr->right : expr->left;
    return expr;
}

bool is_settled(enum op op, const struct expr *left, const struct expr *right)
{
    struct bound a, b;
    return read_bound(beside(op, left, true), &a) && read_bound(beside(op, right, false), &b) &&
           same_path(a.path, b.path) && always(op, a, b);
}

/* ---- between ---- */

/* Whether `left between low and high` is null: left is, or a bound is and the other one does not
 * settle it. */
static const char *between_null(struct body *b, const char *left, struct value above,
                                struct value below, const char *low, const char *high)
{
    struct arena *arena = b->e->arena;
    const char *open = NULL;
    if (low != NULL && high != NULL)
        open = arena_printf(arena, "(%s ? %s || %s : %s && %s)", null_operand(b, low),
                            null_operand(b, high), below.code, null_operand(b, high), above.code);
    else if (low != NULL)
        open = arena_printf(arena, "(%s && %s)", null_operand(b, low), below.code);
    else if (high != NULL)
        open = arena_printf(arena, "(%s && %s)", null_operand(b, high), above.code);
    return both_null(b, left, open);
}

/* Three-valued: one comparison that is definitely false is enough. The value stands only where the
 * whole is not null, so a bound that is null there has been outdone by the other one, which is
 * asked first. */
struct value lower_between(struct body *b, const struct expr *expr)
{
    struct value left = in_variable(b, lower(b, expr->left), expr->left->type);
    struct value low = lower(b, expr->low), high;
    bool nullable = expr->low->nullable || expr->high->nullable;
    if (nullable)
        low = in_variable(b, low, expr->low->type);
    high = lower(b, expr->high);
    if (nullable)
        high = in_variable(b, high, expr->high->type);
    long double from, to;
    if (constant_value(expr->low, &from) && constant_value(expr->high, &to) && from > to)
        b->e->odd_comparisons = true;
    const char *null[] = {left.null, low.null, high.null};
    left.null = low.null = high.null = NULL;
    struct value above = compare(b, OP_GE, expr->left, left, expr->low, low);
    struct value below = compare(b, OP_LE, expr->left, left, expr->high, high);
    const char *code = join(b, above.code, "&&", below.code);
    if (null[1] != NULL && null[2] != NULL)
        code = join(b, arena_printf(b->e->arena, "!%s", null_operand(b, null[1])), "&&", code);
    else if (null[1] != NULL)
        code = join(b, below.code, "&&", above.code);
    struct value both =
        loose(code, between_null(b, null[0], above, below, null[1], null[2]), PREC_AND);
    return expr->negated ? lower_not(b, both) : both;
}

/* ---- in ---- */

enum { LONG_LIST = 16 }; /* constants; more are looked up in a table */

struct list_item {
    __int128 number;
    const struct expr *expr;
};

static int compare_numbers(const void *a, const void *b)
{
    __int128 x = ((const struct list_item *)a)->number, y = ((const struct list_item *)b)->number;
    return (x > y) - (x < y);
}

static int compare_texts(const void *a, const void *b)
{
    const struct expr *x = ((const struct list_item *)a)->expr,
                      *y = ((const struct list_item *)b)->expr;
    size_t common = x->text_bytes < y->text_bytes ? x->text_bytes : y->text_bytes;
    int order = common == 0 ? 0 : memcmp(x->text, y->text, common);
    return order != 0 ? order : (x->text_bytes > y->text_bytes) - (x->text_bytes < y->text_bytes);
}

/* The integer that C keeps for a constant. */
static bool constant_number(const struct expr *expr, __int128 *number)
{
    switch (expr->kind) {
    case EXPR_DURATION:
        *number = expr->duration_ms;
        return true;
    case EXPR_SYMBOL:
        *number = expr->enum_index;
        return true;
    case EXPR_INTEGER:
    case EXPR_DECIMAL:
        *number = expr->number.digits;
        if (expr->type->kind == TYPE_DECIMAL && expr->type->scale > expr->number.scale)
            *number *= power_of_ten(expr->type->scale - expr->number.scale);
        return true;
    case EXPR_UNARY:
        if (expr->op != OP_NEG || !constant_number(expr->left, number))
            return false;
        *number = -*number;
        return true;
    default:
        return false;
    }
}

/* What the type's lookup function and table are called; NULL: it has none. */
static const char *list_suffix(struct emitter *e, const struct type *type)
{
    static const char *const suffixes[][2] = {{"int32_t", "i32"},
                                              {"uint32_t", "u32"},
                                              {"int64_t", "i64"},
                                              {"pipe_decimal", "decimal"},
                                              {"struct pipe_str", "string"}};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (strcmp(c_type(e, type), suffixes[i][0]) == 0)
            return suffixes[i][1];
    return NULL;
}

static bool read_list(const struct expr *expr, bool text, struct list_item *items)
{
    const struct type *type = expr->left->type;
    for (size_t i = 0; i < expr->args.count; i++) {
        items[i].expr = expr->args.items[i];
        if (text ? items[i].expr->kind != EXPR_STRING
                 : items[i].expr->type->kind != type->kind ||
                       items[i].expr->type->scale != type->scale ||
                       !constant_number(items[i].expr, &items[i].number))
            return false;
    }
    qsort(items, expr->args.count, sizeof *items, text ? compare_texts : compare_numbers);
    return true;
}

static const char *write_list(struct emitter *e, const struct expr *expr, bool text,
                              const struct list_item *items)
{
    const char *name = global_name(e, "list_%zu", e->lists.count + 1);
    struct text *before = emit_to(e, SECTION_LISTS);
    emit(e, 0, "static const %s %s[] = {", c_type(e, expr->left->type), name);
    struct text line = {0};
    for (size_t i = 0; i < expr->args.count; i++) {
        const char *item =
            text ? arena_printf(e->arena, "{%s, %zu},",
                                c_string(e, items[i].expr->text, items[i].expr->text_bytes),
                                items[i].expr->text_bytes)
                 : arena_printf(e->arena, "%s,", c_int128(e, items[i].number));
        if (line.size > 0 && line.size + strlen(item) > EMIT_COLUMNS - EMIT_INDENT - 1) {
            emit(e, 1, "%s", line.data);
            line.size = 0;
        }
        text_printf(&line, "%s%s", line.size > 0 ? " " : "", item);
    }
    emit(e, 1, "%s", line.data);
    emit(e, 0, "};\n");
    text_free(&line);
    e->out = before;
    vec_push(e->arena, &e->lists, ((struct list_info){expr, name}));
    return name;
}

/* The call that looks `left` up in the table of a long list; NULL: short, or of a type without. */
static const char *in_list(struct body *b, const struct expr *expr, const char *left)
{
    struct emitter *e = b->e;
    size_t count = expr->args.count;
    const char *suffix = list_suffix(e, expr->left->type), *name = NULL;
    if (count <= LONG_LIST || suffix == NULL)
        return NULL;
    for (size_t i = e->lists.count; i-- > 0 && name == NULL;)
        if (e->lists.items[i].expr == expr)
            name = e->lists.items[i].name;
    if (name == NULL) {
        struct list_item *items = malloc(count * sizeof *items);
        if (items == NULL)
            out_of_memory();
        bool text = strcmp(suffix, "string") == 0;
        if (read_list(expr, text, items))
            name = write_list(e, expr, text, items);
        free(items);
    }
    return name == NULL
               ? NULL
               : arena_printf(e->arena, "pipe_fn_in_%s(%s, %s, %zu)", suffix, left, name, count);
}

struct value lower_in(struct body *b, const struct expr *expr)
{
    struct value left = in_variable(b, lower(b, expr->left), expr->left->type);
    const char *found = in_list(b, expr, left.code);
    if (found != NULL) {
        struct value value = loose(found, left.null, PREC_ATOM);
        return expr->negated ? lower_not(b, value) : value;
    }
    struct text text = {0};
    struct value one = left;
    for (size_t i = 0; i < expr->args.count; i++) {
        const struct expr *item = expr->args.items[i];
        one = compare(b, OP_EQ, expr->left, left, item, lower(b, item));
        text_printf(&text, "%s%s", i > 0 ? " || " : "", one.code);
    }
    const char *code = arena_strndup(b->e->arena, text.data, text.size);
    text_free(&text);
    struct value any = loose(code, left.null, expr->args.count > 1 ? PREC_OR : one.precedence);
    return expr->negated ? lower_not(b, any) : any;
}

/* ---- is null ---- */

void drop_value(struct body *b, struct value value)
{
    char before = ' ';
    for (const char *at = value.code; *at != '\0'; before = *at++) {
        if (*at == '"')
            for (at++; *at != '"'; at++)
                at += *at == '\\';
        size_t digits = *at == 't' ? strspn(at + 1, "0123456789") : 0;
        if (digits == 0 || before == '_' || before == '.' || before == '>' ||
            isalnum((unsigned char)before) || at[1 + digits] == '_' ||
            isalnum((unsigned char)at[1 + digits]))
            continue;
        const char *name = arena_strndup(b->e->arena, at, 1 + digits);
        if ((value.null == NULL || !mentions_word(value.null, name)) &&
            !mentions_word(at + 1 + digits, name))
            body_line(b, "(void)%s;", name);
    }
}

/* Null if and only if one of `args` is, and none of it fails by itself. */
static bool is_strict(const struct expr *expr)
{
    switch (expr->kind) {
    case EXPR_IN:
    case EXPR_LIKE:
    case EXPR_MATCHES:
    case EXPR_CONVERT:
        return true;
    case EXPR_CAST:
    case EXPR_UNARY:
        return !expr->fallible;
    case EXPR_BINARY:
        return expr->op != OP_AND && expr->op != OP_OR && !expr->outgrows &&
               (expr->op == OP_CONCAT || expr->type->kind == TYPE_BOOL || !expr->fallible);
    default:
        return false;
    }
}

static bool is_inline_coalesce(const struct expr *expr)
{
    return expr->kind == EXPR_CALL && strcmp(expr->function->name, "coalesce") == 0 &&
           is_inline(expr);
}

/* Whether the expression is null, as C; NULL: never. What only its value needs is not written. */
static const char *lower_nullness(struct body *b, const struct expr *expr)
{
    if (!expr->nullable && !expr->fallible)
        return NULL;
    if (is_inline_coalesce(expr)) {
        const char *all = lower_nullness(b, expr->args.items[0]);
        for (size_t i = 1; i < expr->args.count && all != NULL; i++) {
            const char *null = lower_nullness(b, expr->args.items[i]);
            all = null == NULL ? NULL : join(b, null_operand(b, all), "&&", null_operand(b, null));
        }
        return all == NULL ? NULL : null_operand(b, all);
    }
    if (is_strict(expr)) {
        const char *null = lower_nullness(b, expr->left);
        return expr->kind != EXPR_BINARY ? null
                                         : both_null(b, null, lower_nullness(b, expr->right));
    }
    struct value value = lower(b, expr);
    drop_value(b, value);
    return value.null;
}

struct value lower_is_null(struct body *b, const struct expr *expr)
{
    const char *null = lower_nullness(b, expr->left);
    if (null == NULL)
        return atom(b, c_bool(expr->negated), NULL);
    if (expr->negated)
        return loose(arena_printf(b->e->arena, "!%s", null_operand(b, null)), NULL, PREC_COMPARE);
    return loose(null, NULL, is_simple_null(null) ? PREC_ATOM : PREC_CHOICE);
}
