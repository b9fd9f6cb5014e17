/* expressions_literals.c: literals that take a type, casts and their folding. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "resolve.h"

unsigned digits_of(__int128 value)
{
    unsigned digits = 1;
    for (value /= 10; value != 0; value /= 10)
        digits++;
    return digits;
}

bool int128_scale(__int128 *value, unsigned digits)
{
    for (; digits > 0 && *value != 0; digits--) {
        if (digits_of(*value) >= 38)
            return false;
        *value *= 10;
    }
    return true;
}

static enum fit report_fit(struct scope *scope, const struct expr *expr, const struct type *type)
{
    struct program *program = scope->program;
    struct diag *diag = diag_error(program, PC3010, expr->span, "%s does not fit %s",
                                   span_text(program, expr->span), type_name(program, type));
    if (type->kind == TYPE_UUID)
        diag_help(diag, "a uuid is 36 characters: '00000000-0000-0000-0000-000000000000'");
    if (type->kind == TYPE_DATE)
        diag_help(diag, "a date is written '2026-01-31'");
    if (type_is_instant(type))
        diag_help(diag, "an instant is written '2026-01-31T10:00:00Z'");
    if (type->kind == TYPE_DECIMAL)
        diag_help(diag, "it has %u digits before the point and %u behind it",
                  type->precision - type->scale, type->scale);
    return FIT_REPORTED;
}

static enum fit number_fit(struct scope *scope, struct expr *expr, const struct type *type)
{
    __int128 n = expr->number.digits;
    unsigned scale = expr->kind == EXPR_DECIMAL ? expr->number.scale : 0;
    if (type_is_float(type)) {
        expr->type = type;
        return FIT_YES;
    }
    if (type_is_integer(type)) {
        if (scale > 0)
            return FIT_NO;
        if (type->kind == TYPE_INT32 ? n != (int32_t)n : n != (int64_t)n)
            return report_fit(scope, expr, type);
        expr->type = type;
        return FIT_YES;
    }
    if (type->kind != TYPE_DECIMAL)
        return FIT_NO;
    if (scale > type->scale || !int128_scale(&n, type->scale - scale) ||
        digits_of(n) > type->precision)
        return report_fit(scope, expr, type);
    expr->kind = EXPR_DECIMAL;
    expr->number = (struct literal_number){.is_decimal = true, .digits = n, .scale = type->scale};
    expr->type = type;
    return FIT_YES;
}

static bool uuid_normal(struct program *program, struct expr *expr)
{
    if (expr->text_bytes != 36)
        return false;
    char *text = arena_strndup(program->arena, expr->text, 36);
    for (size_t i = 0; i < 36; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? text[i] != '-' : !isxdigit((unsigned char)text[i]))
            return false;
        text[i] = (char)tolower((unsigned char)text[i]);
    }
    expr->text = text;
    return true;
}

static enum fit symbol_fit(struct scope *scope, struct expr *expr, const struct type *type)
{
    struct program *program = scope->program;
    for (size_t i = 0; i < type->symbol_count; i++)
        if (strlen(type->symbols[i]) == expr->text_bytes &&
            memcmp(type->symbols[i], expr->text, expr->text_bytes) == 0) {
            expr->kind = EXPR_SYMBOL;
            expr->enum_index = (uint32_t)i;
            expr->type = type;
            expr->is_literal = false;
            return FIT_YES;
        }
    struct diag *diag = diag_error(program, PC3011, expr->span, "%s has no symbol %s",
                                   type_name(program, type), span_text(program, expr->span));
    const char *meant = nearest_name(expr->text, type->symbols, type->symbol_count);
    const char *list = "";
    for (size_t i = 0; i < type->symbol_count && i < 20; i++)
        list = arena_printf(program->arena, "%s%s'%s'", list, i ? ", " : "", type->symbols[i]);
    if (meant)
        diag_help(diag, "did you mean '%s'?", meant);
    else
        diag_help(diag, "its symbols are %s", list);
    return FIT_REPORTED;
}

static enum fit string_fit(struct scope *scope, struct expr *expr, const struct type *type)
{
    int64_t value = 0;
    int32_t days;
    switch ((int)type->kind) {
    case TYPE_STRING:
        expr->type = type;
        return FIT_YES;
    case TYPE_ENUM:
        return symbol_fit(scope, expr, type);
    case TYPE_UUID:
        if (!uuid_normal(scope->program, expr))
            return report_fit(scope, expr, type);
        expr->type = type;
        return FIT_YES;
    case TYPE_DATE:
        if (!text_to_date(expr->text, expr->text_bytes, &days))
            return report_fit(scope, expr, type);
        value = days;
        break;
    case TYPE_TIMESTAMP_MS:
    case TYPE_TIMESTAMP_US:
        if (!text_to_timestamp(expr->text, expr->text_bytes, type->kind == TYPE_TIMESTAMP_US,
                               &value))
            return report_fit(scope, expr, type);
        break;
    default:
        return FIT_NO;
    }
    expr->kind = EXPR_INTEGER;
    expr->number = (struct literal_number){.digits = value};
    expr->type = type;
    expr->is_literal = false;
    return FIT_YES;
}

enum fit literal_fit(struct scope *scope, struct expr *expr, const struct type *type)
{
    if (expr->kind == EXPR_NULL) {
        expr->type = type;
        return FIT_YES;
    }
    return expr->kind == EXPR_STRING ? string_fit(scope, expr, type)
                                     : number_fit(scope, expr, type);
}

/* --- casts of literals --- */

/* Decimal text without exponent; false if it is none or has over 38 digits. */
static bool text_to_number(const char *text, size_t size, struct literal_number *number)
{
    size_t i = size > 0 && (text[0] == '-' || text[0] == '+');
    bool minus = size > 0 && text[0] == '-', point = false;
    unsigned digits = 0;
    *number = (struct literal_number){0};
    for (; i < size; i++) {
        if (text[i] == '.' && !point) {
            point = number->is_decimal = true;
            continue;
        }
        if (!isdigit((unsigned char)text[i]) || ++digits > 38)
            return false;
        number->digits = number->digits * 10 + (text[i] - '0');
        number->scale += point;
    }
    if (minus)
        number->digits = -number->digits;
    return digits > 0;
}

static enum fit cast_string(struct scope *scope, struct expr *expr, const struct type *type)
{
    if (type->kind == TYPE_BOOL) {
        bool yes = expr->text_bytes == 4 && memcmp(expr->text, "true", 4) == 0;
        bool no = expr->text_bytes == 5 && memcmp(expr->text, "false", 5) == 0;
        if (!yes && !no)
            return report_fit(scope, expr, type);
        expr->kind = EXPR_BOOL;
        expr->boolean = yes;
        expr->type = type;
        return FIT_YES;
    }
    if (!type_is_numeric(type))
        return string_fit(scope, expr, type);
    struct literal_number number;
    if (!text_to_number(expr->text, expr->text_bytes, &number))
        return type_is_float(type) ? FIT_NO : report_fit(scope, expr, type);
    if (type_is_integer(type) && number.is_decimal)
        return report_fit(scope, expr, type);
    expr->kind = number.is_decimal ? EXPR_DECIMAL : EXPR_INTEGER;
    expr->number = number;
    return number_fit(scope, expr, type);
}

static const char *number_text(struct program *program, const struct expr *expr)
{
    __int128 n = expr->number.digits;
    unsigned scale = expr->kind == EXPR_DECIMAL ? expr->number.scale : 0;
    char digits[48];
    size_t at = sizeof digits;
    bool minus = n < 0;
    for (unsigned i = 0; n != 0 || i <= scale; i++) {
        if (i == scale && scale > 0)
            digits[--at] = '.';
        digits[--at] = (char)('0' + (int)(n < 0 ? -(n % 10) : n % 10));
        n /= 10;
    }
    if (minus)
        digits[--at] = '-';
    return arena_strndup(program->arena, digits + at, sizeof digits - at);
}

static enum fit cast_number(struct scope *scope, struct expr *expr, const struct type *type)
{
    __int128 n = expr->number.digits;
    if (type->kind == TYPE_STRING) {
        expr->text = number_text(scope->program, expr);
        expr->text_bytes = strlen(expr->text);
        expr->kind = EXPR_STRING;
        expr->type = type;
        return FIT_YES;
    }
    if (expr->kind == EXPR_DECIMAL && type_is_integer(type))
        return FIT_NO;
    if (expr->kind == EXPR_DECIMAL && type->kind == TYPE_DECIMAL &&
        expr->number.scale > type->scale)
        return FIT_NO;
    if (type_is_numeric(type))
        return number_fit(scope, expr, type);
    int64_t per_day = type->kind == TYPE_TIMESTAMP_US ? 86400000000 : 86400000;
    if (type->kind == TYPE_DATE)
        per_day = 1;
    if (expr->kind != EXPR_INTEGER || (!type_is_instant(type) && type->kind != TYPE_DATE))
        return FIT_NO;
    if (n < (__int128)-719162 * per_day || n >= (__int128)2932897 * per_day)
        return report_fit(scope, expr, type);
    expr->type = type;
    return FIT_YES;
}

enum fit literal_cast(struct scope *scope, struct expr *expr, const struct type *type)
{
    enum fit fit;
    if (expr->kind == EXPR_NULL) {
        expr->type = type;
        fit = FIT_YES;
    } else if (expr->kind == EXPR_STRING) {
        fit = cast_string(scope, expr, type);
    } else {
        fit = cast_number(scope, expr, type);
    }
    if (fit == FIT_YES)
        expr->is_literal = false;
    return fit;
}

/* --- casts of values --- */

enum cast { CAST_NO, CAST_SURE, CAST_MAY_FAIL };

static enum cast cast_of_integer(const struct type *from, const struct type *to)
{
    bool wide = from->kind == TYPE_INT64;
    switch ((int)to->kind) {
    case TYPE_INT32:
        return wide ? CAST_MAY_FAIL : CAST_SURE;
    case TYPE_INT64:
    case TYPE_FLOAT32:
    case TYPE_FLOAT64:
    case TYPE_STRING:
    case TYPE_DURATION:
        return CAST_SURE;
    case TYPE_DECIMAL:
        return type_widens(from, to) ? CAST_SURE : CAST_MAY_FAIL;
    case TYPE_TIMESTAMP_MS:
    case TYPE_TIMESTAMP_US:
        return wide ? CAST_MAY_FAIL : CAST_SURE;
    case TYPE_DATE:
        return CAST_MAY_FAIL;
    default:
        return CAST_NO;
    }
}

static enum cast cast_of_float(const struct type *from, const struct type *to)
{
    switch ((int)to->kind) {
    case TYPE_INT32:
    case TYPE_INT64:
    case TYPE_DECIMAL:
        return CAST_MAY_FAIL;
    case TYPE_FLOAT32:
        return from->kind == TYPE_FLOAT64 ? CAST_MAY_FAIL : CAST_SURE;
    case TYPE_FLOAT64:
    case TYPE_STRING:
        return CAST_SURE;
    default:
        return CAST_NO;
    }
}

static enum cast cast_of_decimal(const struct type *from, const struct type *to)
{
    unsigned whole = (unsigned)(from->precision - from->scale);
    switch ((int)to->kind) {
    case TYPE_INT32:
        return from->scale == 0 && whole <= 9 ? CAST_SURE : CAST_MAY_FAIL;
    case TYPE_INT64:
        return from->scale == 0 && whole <= 18 ? CAST_SURE : CAST_MAY_FAIL;
    case TYPE_DECIMAL:
        return type_widens(from, to) ? CAST_SURE : CAST_MAY_FAIL;
    case TYPE_FLOAT32:
    case TYPE_FLOAT64:
    case TYPE_STRING:
        return CAST_SURE;
    default:
        return CAST_NO;
    }
}

static enum cast cast_of_string(const struct type *to)
{
    if (to->kind == TYPE_STRING)
        return CAST_SURE;
    if (to->kind == TYPE_BYTES)
        return to->fixed_bytes ? CAST_NO : CAST_SURE;
    bool no = type_is_nested(to) || to->kind == TYPE_ENUM || to->kind == TYPE_DURATION;
    return no ? CAST_NO : CAST_MAY_FAIL;
}

static enum cast cast_of_time(const struct type *from, const struct type *to)
{
    if (to->kind == TYPE_STRING)
        return from->kind == TYPE_DURATION ? CAST_NO : CAST_SURE;
    if (from->kind == TYPE_DURATION)
        return to->kind == TYPE_INT64 ? CAST_SURE : CAST_NO;
    if (from->kind == TYPE_DATE && (to->kind == TYPE_INT32 || to->kind == TYPE_INT64))
        return CAST_SURE;
    if (type_is_instant(from) && to->kind == TYPE_INT64)
        return CAST_SURE;
    return type_is_instant(to) || to->kind == TYPE_DATE ? CAST_SURE : CAST_NO;
}

static enum cast cast_kind(const struct type *from, const struct type *to)
{
    if (type_equal(from, to))
        return CAST_SURE;
    switch (from->kind) {
    case TYPE_INT32:
    case TYPE_INT64:
        return cast_of_integer(from, to);
    case TYPE_FLOAT32:
    case TYPE_FLOAT64:
        return cast_of_float(from, to);
    case TYPE_DECIMAL:
        return cast_of_decimal(from, to);
    case TYPE_STRING:
        return cast_of_string(to);
    case TYPE_UUID:
    case TYPE_ENUM:
    case TYPE_BOOL:
        return to->kind == TYPE_STRING ? CAST_SURE : CAST_NO;
    case TYPE_BYTES:
        if (to->kind == TYPE_BYTES)
            return CAST_SURE;
        return to->kind == TYPE_STRING ? CAST_MAY_FAIL : CAST_NO;
    case TYPE_DATE:
    case TYPE_TIMESTAMP_MS:
    case TYPE_TIMESTAMP_US:
    case TYPE_DURATION:
        return cast_of_time(from, to);
    case TYPE_RECORD:
    case TYPE_ARRAY:
    case TYPE_MAP:
    case TYPE_NULL:
    case TYPE_POISON:
        return CAST_NO;
    }
    return CAST_NO;
}

bool cast_exists(const struct type *from, const struct type *to)
{
    return cast_kind(from, to) != CAST_NO;
}

/* cast('1e5' as float64): folded by nobody, but judged now. */
static bool float_text_is_good(const struct expr *expr)
{
    char *end;
    double value = strtod(expr->text, &end);
    return end != expr->text && *end == '\0' && isfinite(value);
}

void check_cast(struct scope *scope, struct expr **slot)
{
    struct expr *expr = *slot;
    struct program *program = scope->program;
    const struct type *type =
        type_from_name(program, expr->cast_type, expr->cast_arg_count, expr->cast_args);
    check_expr(scope, &expr->left);
    struct expr *value = expr->left;
    poison(expr);
    if (!type || is_poison(value))
        return;
    if (value->is_literal) {
        enum fit fit = literal_cast(scope, value, type);
        if (fit == FIT_YES) {
            value->span = expr->span;
            *slot = value;
        }
        if (fit != FIT_NO)
            return;
    }
    enum cast cast = cast_kind(value->type, type);
    if (cast == CAST_NO) {
        struct diag *diag = diag_error(program, PC3009, expr->span, "%s can't be cast to %s",
                                       type_name(program, value->type), type_name(program, type));
        diag_also(diag, value->span, "%s", type_name(program, value->type));
        return;
    }
    bool sure = cast == CAST_SURE;
    if (value->is_literal && value->kind == EXPR_STRING && type_is_float(type)) {
        sure = float_text_is_good(value);
        if (!sure) {
            report_fit(scope, value, type);
            return;
        }
    }
    expr->type = type;
    expr->nullable = value->nullable;
    expr->is_constant = value->is_constant;
    expr->fallible = value->fallible || !sure;
}
