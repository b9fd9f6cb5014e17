/*
 * emit_expr.c: user expressions. What can neither fail nor needs memory of what was computed
 * becomes one C expression; the rest becomes statements with temporaries, in the order of
 * evaluation: `and`, `or`, `case`, `coalesce` and `try` evaluate only what they need. A failing
 * expression leaves its function with `false`.
 */
#define _GNU_SOURCE /* vasprintf */
#include "emit.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void body_line(struct body *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *line = NULL;
    if (vasprintf(&line, format, args) < 0)
        out_of_memory();
    va_end(args);
    text_wrapped(&b->code, b->level, line);
    free(line);
}

const char *join(struct body *b, const char *left, const char *op, const char *right)
{
    return arena_printf(b->e->arena, "%s %s %s", left, op, right);
}

const char *operand(struct body *b, struct value value, enum precedence limit)
{
    return value.precedence <= limit ? value.code : arena_printf(b->e->arena, "(%s)", value.code);
}

struct value atom(struct body *b, const char *code, const char *null)
{
    (void)b;
    return (struct value){.code = code, .null = null, .precedence = PREC_ATOM, .atomic = true};
}

struct value loose(const char *code, const char *null, enum precedence precedence)
{
    return (struct value){.code = code, .null = null, .precedence = precedence};
}

/* Null texts are made of `||`; one of them inside another needs no parentheses, inside `&&` or `!`
 * it does. */
bool is_simple_null(const char *null)
{
    return strchr(null, ' ') == NULL;
}

const char *null_operand(struct body *b, const char *null)
{
    return is_simple_null(null) ? null : arena_printf(b->e->arena, "(%s)", null);
}

const char *both_null(struct body *b, const char *a, const char *second)
{
    if (a == NULL || second == NULL)
        return a == NULL ? second : a;
    return strcmp(a, second) == 0 ? a : join(b, a, "||", second);
}

static const char *new_temporary(struct body *b)
{
    return arena_printf(b->e->arena, "t%u", ++b->temporaries);
}

static const char *null_name(struct body *b, const char *temporary)
{
    return arena_printf(b->e->arena, "%s_null", temporary);
}

struct value in_variable(struct body *b, struct value value, const struct type *type)
{
    if (value.atomic)
        return value;
    const char *name = new_temporary(b);
    const char *c = c_type(b->e, type);
    if (value.null == NULL) {
        body_line(b, "%s %s = %s;", c, name, value.code);
        return atom(b, name, NULL);
    }
    const char *null = null_name(b, name);
    body_line(b, "%s %s = %s;", c, name, c_zero(type));
    body_line(b, "bool %s = %s;", null, value.null);
    body_line(b, "if (!%s)", null);
    b->level++;
    body_line(b, "%s = %s;", name, value.code);
    b->level--;
    return atom(b, name, null);
}

struct value checked_call(struct body *b, const struct type *type, const char *null,
                          const char *call)
{
    const char *name = new_temporary(b);
    const char *c = c_type(b->e, type);
    const char *full = arena_printf(b->e->arena, "%s&%s)", call, name);
    const char *null_flag = NULL;
    if (null == NULL) {
        body_line(b, "%s %s;", c, name);
        body_line(b, "if (!%s)", full);
    } else {
        null_flag = null_name(b, name);
        body_line(b, "%s %s = %s;", c, name, c_zero(type));
        body_line(b, "bool %s = %s;", null_flag, null);
        body_line(b, "if (!%s && !%s)", null_flag, full);
    }
    b->level++;
    body_line(b, "return false;");
    b->level--;
    return atom(b, name, null_flag);
}

struct value bounded_text(struct body *b, const char *call, const char *null)
{
    struct value value = in_variable(b, loose(call, null, PREC_ATOM), type_simple(TYPE_STRING));
    body_line(b, "if (pipe_is_too_long(%s))", value.code);
    b->level++;
    body_line(b, "return false;");
    b->level--;
    return value;
}

/* ---- literals ---- */

const char *c_int128(struct emitter *e, __int128 value)
{
    if (value >= INT64_MIN && value <= INT64_MAX)
        return c_int64(e, (int64_t)value);
    const int64_t half =
        1000000000000000000; /* two halves of 18 digits, and up to two digits before them */
    __int128 high = value / half;
    int64_t low = (int64_t)(value % half);
    const char *upper = high >= INT64_MIN && high <= INT64_MAX
                            ? arena_printf(e->arena, "(pipe_decimal)%s", c_int64(e, (int64_t)high))
                            : arena_printf(e->arena, "(%s)", c_int128(e, high));
    return arena_printf(e->arena, "%s * INT64_C(1000000000000000000) %c %s", upper,
                        low < 0 ? '-' : '+', c_int64(e, low < 0 ? -low : low));
}

__int128 power_of_ten(unsigned digits)
{
    __int128 power = 1;
    while (digits-- > 0)
        power *= 10;
    return power;
}

/* The literal as text, for strtod, which rounds once. */
static const char *number_text(struct emitter *e, struct literal_number number)
{
    char digits[64];
    size_t at = sizeof digits - 1;
    __int128 left = number.digits < 0 ? -number.digits : number.digits;
    digits[at] = '\0';
    for (; left > 0 || at == sizeof digits - 1; left /= 10)
        digits[--at] = (char)('0' + (int)(left % 10));
    return arena_printf(e->arena, "%s%se-%u", number.digits < 0 ? "-" : "", digits + at,
                        number.scale);
}

static const char *float_literal(struct emitter *e, const struct expr *expr)
{
    const char *text = number_text(e, expr->number);
    bool is_float = expr->type->kind == TYPE_FLOAT32;
    const char *code = is_float ? arena_printf(e->arena, "%.9g", (double)strtof(text, NULL))
                                : arena_printf(e->arena, "%.17g", strtod(text, NULL));
    bool plain = strpbrk(code, ".e") == NULL;
    return arena_printf(e->arena, "%s%s%s", code, plain ? ".0" : "", is_float ? "f" : "");
}

bool literal_integer(const struct expr *expr, __int128 *value)
{
    if (expr->kind == EXPR_UNARY && expr->op == OP_NEG && literal_integer(expr->left, value)) {
        *value = -*value;
        return true;
    }
    if (expr->kind != EXPR_INTEGER)
        return false;
    *value = expr->number.digits;
    return true;
}

static struct value lower_number(struct body *b, const struct expr *expr)
{
    const struct type *type = expr->type;
    if (type_is_float(type)) {
        const char *code = float_literal(b->e, expr);
        struct value value = atom(b, code, NULL);
        value.precedence = code[0] == '-' ? PREC_UNARY : PREC_ATOM;
        return value;
    }
    __int128 digits = expr->number.digits;
    if (type->kind == TYPE_DECIMAL && type->scale > expr->number.scale)
        digits *= power_of_ten(type->scale - expr->number.scale);
    struct value value = atom(b, c_int128(b->e, digits), NULL);
    if (type->kind == TYPE_INT32 && digits == INT32_MIN)
        value.code = "INT32_MIN";
    value.precedence = digits < INT64_MIN || digits > INT64_MAX ? PREC_TERM
                       : digits < 0                             ? PREC_UNARY
                                                                : PREC_ATOM;
    return value;
}

static struct value lower_null(struct body *b, const struct expr *expr)
{
    const char *zero = c_zero(expr->type);
    if (*zero == '{')
        zero = arena_printf(b->e->arena, "(%s){0}", c_type(b->e, expr->type));
    return atom(b, zero, "true");
}

/* ---- paths ---- */

static struct value lower_kafka(struct body *b, const struct expr *expr)
{
    switch (expr->root) {
    case ROOT_KAFKA_TIME:
        return atom(b, "record->kafka_time_ms", NULL);
    case ROOT_KAFKA_PARTITION:
        return atom(b, "record->partition", NULL);
    case ROOT_KAFKA_OFFSET:
        return atom(b, "record->offset", NULL);
    case ROOT_KAFKA_KEY:
    case ROOT_COLUMN:
        break;
    }
    return atom(b, "record->key", expr->nullable ? "!record->key.data" : NULL);
}

static struct value lower_path(struct body *b, const struct expr *expr)
{
    if (expr->root != ROOT_COLUMN)
        return lower_kafka(b, expr);
    struct emitter *e = b->e;
    const struct row_info *info = b->row.info;
    const char *base = "row->", *null = NULL, *code = NULL;
    for (size_t i = 0; i < expr->steps.count; i++) {
        uint32_t column = expr->steps.items[i];
        const struct member *member = &info->members[column];
        code = arena_printf(e->arena, "%s%s", base, member->name);
        if (member->null != NULL && expr->nullable)
            null = both_null(b, null, arena_printf(e->arena, "%s%s", base, member->null));
        if (i + 1 < expr->steps.count) {
            const struct type *type = info->type->fields[column].type;
            info = row_info_of(e, type->record, type->record->name);
        }
        base = arena_printf(e->arena, "%s.", code);
    }
    return atom(b, code, null);
}

/* ---- what needs no statements ---- */

bool is_atomic(const struct expr *expr)
{
    switch (expr->kind) {
    case EXPR_INTEGER:
    case EXPR_DECIMAL:
    case EXPR_STRING:
    case EXPR_DURATION:
    case EXPR_SIZE:
    case EXPR_BOOL:
    case EXPR_NULL:
    case EXPR_PATH:
    case EXPR_SYMBOL:
        return true;
    case EXPR_CONVERT:
        return is_atomic(expr->left);
    case EXPR_CALL:
    case EXPR_UNARY:
    case EXPR_BINARY:
    case EXPR_IS_NULL:
    case EXPR_BETWEEN:
    case EXPR_IN:
    case EXPR_LIKE:
    case EXPR_MATCHES:
    case EXPR_CASE:
    case EXPR_CAST:
    case EXPR_TRY:
        break;
    }
    return false;
}

static bool case_is_inline(const struct expr *expr)
{
    if (expr->nullable ||
        (expr->subject != NULL && (!is_atomic(expr->subject) || expr->subject->nullable)))
        return false;
    for (size_t i = 0; i < expr->whens.count; i++)
        if (!is_inline(expr->whens.items[i].when) || !is_inline(expr->whens.items[i].then) ||
            expr->whens.items[i].when->nullable)
            return false;
    return expr->otherwise != NULL && is_inline(expr->otherwise);
}

bool is_inline(const struct expr *expr)
{
    if (is_atomic(expr))
        return true;
    if (expr->fallible)
        return false;
    switch (expr->kind) {
    case EXPR_UNARY:
    case EXPR_LIKE:
    case EXPR_MATCHES:
    case EXPR_IS_NULL:
    case EXPR_CONVERT:
        return is_inline(expr->left);
    case EXPR_BINARY:
        if ((expr->op == OP_AND || expr->op == OP_OR) && expr->nullable)
            return false;
        return is_inline(expr->left) && is_inline(expr->right);
    case EXPR_BETWEEN:
        if (expr->low->nullable || expr->high->nullable)
            return is_atomic(expr->left) && is_atomic(expr->low) && is_atomic(expr->high);
        return is_atomic(expr->left) && is_inline(expr->low) && is_inline(expr->high);
    case EXPR_IN:
        return is_atomic(expr->left);
    case EXPR_CASE:
        return case_is_inline(expr);
    case EXPR_CALL:
        return call_is_inline(expr);
    case EXPR_CAST:
        return cast_is_inline(expr);
    case EXPR_TRY: /* of what can't fail */
        return !expr->left->fallible && is_inline(expr->left);
    case EXPR_INTEGER:
    case EXPR_DECIMAL:
    case EXPR_STRING:
    case EXPR_DURATION:
    case EXPR_SIZE:
    case EXPR_BOOL:
    case EXPR_NULL:
    case EXPR_PATH:
    case EXPR_SYMBOL:
        break;
    }
    return true;
}

/* ---- comparisons ---- */

static bool is_text(const struct type *type)
{
    return type->kind == TYPE_STRING || type->kind == TYPE_UUID || type->kind == TYPE_BYTES;
}

const char *c_operator(enum op op)
{
    static const char *const texts[] = {
        [OP_NEG] = "-", [OP_NOT] = "!", [OP_AND] = "&&",  [OP_OR] = "||",
        [OP_EQ] = "==", [OP_NE] = "!=", [OP_LT] = "<",    [OP_LE] = "<=",
        [OP_GT] = ">",  [OP_GE] = ">=", [OP_CONCAT] = "", [OP_ADD] = "+",
        [OP_SUB] = "-", [OP_MUL] = "*", [OP_DIV] = "/",   [OP_MOD] = "%",
    };
    return texts[op];
}

static struct value compare_text(struct body *b, enum op op, struct value left, struct value right,
                                 const char *null)
{
    struct arena *arena = b->e->arena;
    bool empty = strcmp(right.code, "PIPE_STR(\"\")") == 0;
    if (empty && (op == OP_EQ || op == OP_NE))
        return loose(
            arena_printf(arena, "%s.size %s 0", operand(b, left, PREC_ATOM), c_operator(op)), null,
            PREC_COMPARE);
    if (op == OP_EQ || op == OP_NE)
        return loose(arena_printf(arena, "%spipe_str_equal(%s, %s)", op == OP_NE ? "!" : "",
                                  left.code, right.code),
                     null, op == OP_NE ? PREC_COMPARE : PREC_ATOM);
    return loose(
        arena_printf(arena, "pipe_str_compare(%s, %s) %s 0", left.code, right.code, c_operator(op)),
        null, PREC_COMPARE);
}

struct value compare(struct body *b, enum op op, const struct expr *left_expr, struct value left,
                     const struct expr *right_expr, struct value right)
{
    const struct type *type = left_expr->type;
    const char *null = both_null(b, left.null, right.null);
    if (is_text(type))
        return compare_text(b, op, left, right, null);
    if (type->kind == TYPE_DECIMAL && type->scale != right_expr->type->scale)
        return loose(arena_printf(b->e->arena, "pipe_decimal_compare(%s, %u, %s, %u) %s 0",
                                  left.code, type->scale, right.code, right_expr->type->scale,
                                  c_operator(op)),
                     null, PREC_COMPARE);
    if (strcmp(left.code, right.code) == 0 || (left_expr->is_constant && right_expr->is_constant) ||
        left_expr->kind == EXPR_CONVERT || right_expr->kind == EXPR_CONVERT)
        b->e->odd_comparisons = true;
    return loose(join(b, operand(b, left, PREC_TERM), c_operator(op), operand(b, right, PREC_TERM)),
                 null, PREC_COMPARE);
}

struct value lower_not(struct body *b, struct value value)
{
    value.code = arena_printf(b->e->arena, "!%s", operand(b, value, PREC_ATOM));
    value.precedence = PREC_COMPARE;
    value.atomic = false;
    return value;
}

const char *regex_name(struct body *b, const char *pattern, size_t size)
{
    struct emitter *e = b->e;
    for (size_t i = 0; i < e->regexes.count; i++)
        if (e->regexes.items[i].pattern_bytes == size &&
            memcmp(e->regexes.items[i].pattern, pattern, size) == 0)
            return e->regexes.items[i].name;
    const char *name = global_name(e, "regex_%zu", e->regexes.count + 1);
    vec_push(e->arena, &e->regexes, ((struct regex_info){pattern, size, name}));
    return name;
}

static struct value lower_pattern(struct body *b, const struct expr *expr)
{
    struct value left = lower(b, expr->left);
    const char *code = expr->kind == EXPR_LIKE
                           ? arena_printf(b->e->arena, "pipe_fn_like(%s, %s)", left.code,
                                          c_str(b->e, expr->text, expr->text_bytes))
                           : arena_printf(b->e->arena, "pipe_fn_matches(%s, %s)",
                                          regex_name(b, expr->text, expr->text_bytes), left.code);
    struct value value = loose(code, left.null, PREC_ATOM);
    return expr->negated ? lower_not(b, value) : value;
}

/* ---- and, or ---- */

static struct value logic_inline(struct body *b, const struct expr *expr)
{
    enum precedence own = expr->op == OP_AND ? PREC_AND : PREC_OR;
    struct value left = lower(b, expr->left), right = lower(b, expr->right);
    if (is_settled(expr->op, expr->left, expr->right))
        b->e->odd_comparisons = true;
    enum precedence left_limit = left.precedence == own ? own : PREC_COMPARE;
    enum precedence right_limit = right.precedence == own ? own : PREC_COMPARE;
    return loose(
        join(b, operand(b, left, left_limit), c_operator(expr->op), operand(b, right, right_limit)),
        NULL, own);
}

/* Three-valued: what is definitely false makes `and` false, what is definitely true makes `or`
 * true. */
static struct value logic_statements(struct body *b, const struct expr *expr)
{
    struct value left = lower(b, expr->left);
    const char *t = new_temporary(b), *null = expr->nullable ? null_name(b, t) : NULL;
    bool is_and = expr->op == OP_AND;
    if (left.null != NULL)
        body_line(b, "bool %s = !%s && %s;", t, null_operand(b, left.null),
                  operand(b, left, PREC_COMPARE));
    else
        body_line(b, "bool %s = %s;", t, left.code);
    if (null != NULL)
        body_line(b, "bool %s = %s;", null, left.null != NULL ? left.null : "false");
    if (is_and && null != NULL)
        body_line(b, "if (%s || %s) {", t, null);
    else
        body_line(b, "if (%s%s) {", is_and ? "" : "!", t);
    b->level++;
    struct value right = lower(b, expr->right);
    if (null == NULL) {
        body_line(b, "%s = %s;", t, right.code);
    } else {
        if (right.null != NULL)
            body_line(b, "if (%s) {", right.null);
        else
            body_line(b, "if (%s%s) {", is_and ? "!" : "",
                      operand(b, right, is_and ? PREC_ATOM : PREC_CHOICE));
        b->level++;
        if (right.null != NULL) {
            body_line(b, "%s = true;", null);
            b->level--;
            body_line(b, "} else if (%s%s) {", is_and ? "!" : "",
                      operand(b, right, is_and ? PREC_ATOM : PREC_CHOICE));
            b->level++;
        }
        body_line(b, "%s = %s;", t, c_bool(!is_and));
        body_line(b, "%s = false;", null);
        b->level--;
        body_line(b, "}");
    }
    b->level--;
    body_line(b, "}");
    return atom(b, t, null);
}

/* ---- case, try ---- */

static struct value when_condition(struct body *b, const struct expr *expr, size_t i,
                                   struct value subject)
{
    const struct expr *when = expr->whens.items[i].when;
    struct value value = lower(b, when);
    if (expr->subject == NULL)
        return value;
    struct value equal = compare(b, OP_EQ, expr->subject, subject, when, value);
    if (equal.null == NULL)
        return equal;
    return loose(arena_printf(b->e->arena, "!%s && %s", null_operand(b, equal.null),
                              operand(b, equal, PREC_COMPARE)),
                 NULL, PREC_AND);
}

static struct value case_inline(struct body *b, const struct expr *expr)
{
    struct value subject = {0};
    if (expr->subject != NULL)
        subject = lower(b, expr->subject);
    struct text text = {0};
    for (size_t i = 0; i < expr->whens.count; i++) {
        struct value condition = when_condition(b, expr, i, subject);
        struct value then = lower(b, expr->whens.items[i].then);
        text_printf(&text, "%s ? %s : ", operand(b, condition, PREC_COMPARE),
                    operand(b, then, PREC_TERM));
    }
    text_puts(&text, operand(b, lower(b, expr->otherwise), PREC_TERM));
    const char *code = arena_strndup(b->e->arena, text.data, text.size);
    text_free(&text);
    return loose(code, NULL, PREC_CHOICE);
}

/* t = value, t_null = its null; only what can change. */
static void assign(struct body *b, const char *t, const char *null, struct value value)
{
    if (null == NULL || value.null == NULL) {
        body_line(b, "%s = %s;", t, value.code);
        if (null != NULL)
            body_line(b, "%s = false;", null);
    } else if (strcmp(value.null, "true") == 0) {
        body_line(b, "%s = true;", null);
    } else {
        body_line(b, "%s = %s;", null, value.null);
        body_line(b, "if (!%s)", null);
        b->level++;
        body_line(b, "%s = %s;", t, value.code);
        b->level--;
    }
}

static struct value case_statements(struct body *b, const struct expr *expr)
{
    struct value subject = {0};
    if (expr->subject != NULL)
        subject = in_variable(b, lower(b, expr->subject), expr->subject->type);
    const char *t = new_temporary(b), *null = expr->nullable ? null_name(b, t) : NULL;
    body_line(b, "%s %s = %s;", c_type(b->e, expr->type), t, c_zero(expr->type));
    if (null != NULL)
        body_line(b, "bool %s = true;", null);
    unsigned opened = 0;
    for (size_t i = 0; i < expr->whens.count; i++) {
        bool chained = i > 0 && is_inline(expr->whens.items[i].when);
        if (i > 0 && !chained) {
            body_line(b, "} else {");
            b->level++;
            opened++;
        }
        struct value condition = when_condition(b, expr, i, subject);
        body_line(b, "%sif (%s) {", chained ? "} else " : "", condition.code);
        b->level++;
        assign(b, t, null, lower(b, expr->whens.items[i].then));
        b->level--;
    }
    if (expr->otherwise != NULL) {
        body_line(b, "} else {");
        b->level++;
        assign(b, t, null, lower(b, expr->otherwise));
        b->level--;
    }
    for (; opened > 0; opened--) {
        body_line(b, "}");
        b->level--;
    }
    body_line(b, "}");
    return atom(b, t, null);
}

static struct value lower_try(struct body *b, const struct expr *expr)
{
    if (!expr->left->fallible)
        return lower(b, expr->left);
    struct emitter *e = b->e;
    const char *name = arena_printf(e->arena, "%s_try_%u", b->name, ++b->tries);
    struct clause_function *attempt =
        clause_function(e, b->row, expr->left, name, expr->left->span, NULL);
    const char *t = new_temporary(b), *null = expr->nullable ? null_name(b, t) : NULL;
    body_line(b, "%s %s = %s;", c_type(e, expr->type), t, c_zero(expr->type));
    if (null != NULL)
        body_line(b, "bool %s = false;", null);
    const char *outs = arena_printf(e->arena, "&%s%s%s", t, attempt->nullable ? ", &" : "",
                                    attempt->nullable ? null : "");
    b->uses_arena |= attempt->uses_arena;
    const char *call = clause_call(e, attempt, outs);
    /* Here the arena is a parameter. */
    const char *task_arena = strstr(call, "&task->arena");
    if (task_arena != NULL)
        call = arena_printf(e->arena, "%.*sarena%s", (int)(task_arena - call), call,
                            task_arena + strlen("&task->arena"));
    body_line(b, "if (!%s) {", call);
    b->level++;
    assign(b, t, null, lower(b, expr->right));
    b->level--;
    body_line(b, "}");
    return atom(b, t, null);
}

static struct value lower_binary(struct body *b, const struct expr *expr)
{
    switch (expr->op) {
    case OP_AND:
    case OP_OR:
        return !expr->nullable && is_inline(expr->right) ? logic_inline(b, expr)
                                                         : logic_statements(b, expr);
    case OP_EQ:
    case OP_NE:
    case OP_LT:
    case OP_LE:
    case OP_GT:
    case OP_GE: {
        struct value left = lower(b, expr->left), right = lower(b, expr->right);
        return compare(b, expr->op, expr->left, left, expr->right, right);
    }
    case OP_CONCAT:
        return lower_concat(b, expr);
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_DIV:
    case OP_MOD:
    case OP_NEG:
    case OP_NOT:
        break;
    }
    return lower_arithmetic(b, expr);
}

struct value lower(struct body *b, const struct expr *expr)
{
    switch (expr->kind) {
    case EXPR_INTEGER:
    case EXPR_DECIMAL:
        return lower_number(b, expr);
    case EXPR_STRING:
        return atom(b, c_str(b->e, expr->text, expr->text_bytes), NULL);
    case EXPR_DURATION:
        return atom(b, c_int64(b->e, expr->duration_ms), NULL);
    case EXPR_SIZE:
        return atom(b, c_int64(b->e, expr->size_bytes), NULL);
    case EXPR_BOOL:
        return atom(b, c_bool(expr->boolean), NULL);
    case EXPR_NULL:
        return lower_null(b, expr);
    case EXPR_SYMBOL:
        return atom(b,
                    arena_printf(b->e->arena, "%u /* %s */", expr->enum_index,
                                 expr->type->symbols[expr->enum_index]),
                    NULL);
    case EXPR_PATH:
        return lower_path(b, expr);
    case EXPR_CALL:
        return lower_call(b, expr);
    case EXPR_UNARY:
        return lower_unary(b, expr);
    case EXPR_BINARY:
        return lower_binary(b, expr);
    case EXPR_IS_NULL:
        return lower_is_null(b, expr);
    case EXPR_BETWEEN:
        return lower_between(b, expr);
    case EXPR_IN:
        return lower_in(b, expr);
    case EXPR_LIKE:
    case EXPR_MATCHES:
        return lower_pattern(b, expr);
    case EXPR_CASE:
        return case_is_inline(expr) ? case_inline(b, expr) : case_statements(b, expr);
    case EXPR_CAST:
        return lower_cast(b, expr);
    case EXPR_TRY:
        return lower_try(b, expr);
    case EXPR_CONVERT:
        return lower_convert(b, expr);
    }
    return (struct value){.code = "0", .precedence = PREC_ATOM};
}
