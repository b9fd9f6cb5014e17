/* emit_arithmetic.c: operators that compute, and conversions between numbers. Integers and decimals
 * are checked. */
#include "emit.h"

#include <string.h>

const char *type_suffix(const struct type *type)
{
    switch (type->kind) {
    case TYPE_BOOL:
        return "bool";
    case TYPE_INT32:
        return "i32";
    case TYPE_DATE:
        return "date";
    case TYPE_INT64:
        return "i64";
    case TYPE_DURATION:
        return "duration";
    case TYPE_FLOAT32:
        return "f32";
    case TYPE_FLOAT64:
        return "f64";
    case TYPE_DECIMAL:
        return "decimal";
    case TYPE_UUID:
        return "uuid";
    case TYPE_ENUM:
        return "enum";
    case TYPE_BYTES:
        return "bytes";
    case TYPE_TIMESTAMP_MS:
        return "ts_ms";
    case TYPE_TIMESTAMP_US:
        return "ts_us";
    case TYPE_STRING:
    case TYPE_RECORD:
    case TYPE_ARRAY:
    case TYPE_MAP:
    case TYPE_POISON:
    case TYPE_NULL:
        break;
    }
    return "string";
}

static const char *arithmetic_word(enum op op)
{
    switch (op) {
    case OP_ADD:
        return "add";
    case OP_SUB:
        return "sub";
    case OP_MUL:
        return "mul";
    case OP_DIV:
        return "div";
    case OP_MOD:
        return "mod";
    case OP_NEG:
    case OP_NOT:
    case OP_AND:
    case OP_OR:
    case OP_EQ:
    case OP_NE:
    case OP_LT:
    case OP_LE:
    case OP_GT:
    case OP_GE:
    case OP_CONCAT:
        break;
    }
    return "add";
}

/* value × 10^digits, as C. */
struct value scaled(struct body *b, struct value value, unsigned digits, bool widen)
{
    struct arena *arena = b->e->arena;
    const char *code = operand(b, value, widen ? PREC_ATOM : PREC_FACTOR);
    if (widen)
        code = arena_printf(arena, "(pipe_decimal)%s", code);
    value.precedence = digits > 0 ? PREC_FACTOR : widen ? PREC_UNARY : value.precedence;
    if (digits > 18)
        code = arena_printf(arena, "%s * pipe_powers_of_ten[%u]", code, digits);
    else if (digits > 0)
        code = arena_printf(arena, "%s * %s", code, c_int128(b->e, power_of_ten(digits)));
    value.code = code;
    return value;
}

static struct value infix(struct body *b, enum op op, struct value left, struct value right,
                          const char *null)
{
    enum precedence own = op == OP_ADD || op == OP_SUB ? PREC_TERM : PREC_FACTOR;
    enum precedence right_limit = own == PREC_TERM ? PREC_FACTOR : PREC_UNARY;
    return loose(join(b, operand(b, left, own), c_operator(op), operand(b, right, right_limit)),
                 null, own);
}

static struct value decimal_arithmetic(struct body *b, const struct expr *expr, struct value left,
                                       struct value right, const char *null)
{
    const struct type *type = expr->type;
    if (expr->op != OP_MUL) {
        left = scaled(b, left, (unsigned)(type->scale - expr->left->type->scale), false);
        right = scaled(b, right, (unsigned)(type->scale - expr->right->type->scale), false);
    }
    if (!expr->fallible)
        return infix(b, expr->op, left, right, null);
    return checked_call(b, type, null,
                        arena_printf(b->e->arena, "pipe_decimal_%s(%s, %s, %u, ",
                                     arithmetic_word(expr->op), left.code, right.code,
                                     type->precision));
}

/* Instants: the two sides may stand either way round for `+`. */
static struct value instant_arithmetic(struct body *b, const struct expr *expr, struct value left,
                                       struct value right, const char *null)
{
    const struct type *instant =
        type_is_instant(expr->left->type) ? expr->left->type : expr->right->type;
    const char *suffix = type_suffix(instant);
    if (type_is_instant(expr->left->type) && type_is_instant(expr->right->type))
        return loose(
            arena_printf(b->e->arena, "pipe_%s_diff(%s, %s)", suffix, left.code, right.code), null,
            PREC_ATOM);
    bool swapped = !type_is_instant(expr->left->type);
    return checked_call(b, expr->type, null,
                        arena_printf(b->e->arena, "pipe_%s_%s(%s, %s, ", suffix,
                                     arithmetic_word(expr->op), swapped ? right.code : left.code,
                                     swapped ? left.code : right.code));
}

struct value lower_arithmetic(struct body *b, const struct expr *expr)
{
    struct value left = lower(b, expr->left), right = lower(b, expr->right);
    const char *null = both_null(b, left.null, right.null);
    if (type_is_instant(expr->left->type) || type_is_instant(expr->right->type))
        return instant_arithmetic(b, expr, left, right, null);
    if (expr->type->kind == TYPE_DECIMAL)
        return decimal_arithmetic(b, expr, left, right, null);
    if (expr->fallible) {
        const char *suffix = expr->type->kind == TYPE_DURATION ? "i64" : type_suffix(expr->type);
        return checked_call(b, expr->type, null,
                            arena_printf(b->e->arena, "pipe_%s_%s(%s, %s, ",
                                         arithmetic_word(expr->op), suffix, left.code, right.code));
    }
    __int128 divisor;
    if (expr->op == OP_MOD && literal_integer(expr->right, &divisor) && divisor == -1) {
        drop_value(b, left);
        return atom(b, "0", null); /* C has no INT_MIN % -1 */
    }
    return infix(b, expr->op, left, right, null);
}

static void flatten_concat(struct body *b, const struct expr *expr, const char **parts,
                           size_t *count, const char **null)
{
    if (expr->kind == EXPR_BINARY && expr->op == OP_CONCAT) {
        flatten_concat(b, expr->left, parts, count, null);
        flatten_concat(b, expr->right, parts, count, null);
        return;
    }
    struct value value = lower(b, expr);
    *parts = *count == 0 ? value.code : arena_printf(b->e->arena, "%s, %s", *parts, value.code);
    *null = both_null(b, *null, value.null);
    (*count)++;
}

struct value lower_concat(struct body *b, const struct expr *expr)
{
    const char *parts = "", *null = NULL;
    size_t count = 0;
    flatten_concat(b, expr, &parts, &count, &null);
    if (expr->outgrows)
        return bounded_text(
            b,
            arena_printf(b->e->arena, "pipe_fn_concat_within(arena, (struct pipe_str[]){%s}, %zu)",
                         parts, count),
            null);
    if (count == 2)
        return loose(arena_printf(b->e->arena, "pipe_fn_concat2(arena, %s)", parts), null,
                     PREC_ATOM);
    return loose(arena_printf(b->e->arena, "pipe_fn_concat(arena, (struct pipe_str[]){%s}, %zu)",
                              parts, count),
                 null, PREC_ATOM);
}

struct value lower_unary(struct body *b, const struct expr *expr)
{
    struct value left = lower(b, expr->left);
    if (expr->op == OP_NOT)
        return lower_not(b, left);
    if (type_is_integer(expr->type) || expr->type->kind == TYPE_DURATION)
        return checked_call(b, expr->type, left.null,
                            arena_printf(b->e->arena, "pipe_neg_%s(%s, ",
                                         expr->type->kind == TYPE_INT32 ? "i32" : "i64",
                                         left.code));
    return loose(arena_printf(b->e->arena, "-%s", operand(b, left, PREC_ATOM)), left.null,
                 PREC_UNARY);
}

struct value lower_convert(struct body *b, const struct expr *expr)
{
    struct value value = lower(b, expr->left);
    const struct type *from = expr->left->type, *to = expr->type;
    struct arena *arena = b->e->arena;
    if (to->kind == TYPE_DECIMAL)
        return scaled(b, value,
                      (unsigned)(to->scale - (from->kind == TYPE_DECIMAL ? from->scale : 0)),
                      from->kind != TYPE_DECIMAL);
    if (to->kind == TYPE_INT64 || to->kind == TYPE_FLOAT64) {
        value.code = arena_printf(arena, "(%s)%s", c_type(b->e, to), operand(b, value, PREC_ATOM));
        value.precedence = PREC_UNARY;
    } else if (to->kind == TYPE_TIMESTAMP_US) {
        value.code = arena_printf(arena, "pipe_cast_ts_ms_ts_us(%s)", value.code);
        value.precedence = PREC_ATOM;
    }
    return value;
}
