/* expressions_calls.c: function calls; a rule of functions.def is one function here. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "resolve.h"

static const char *argument(struct scope *scope, const struct expr *expr, size_t i)
{
    static const char *const places[] = {"first", "second", "third"};
    if (expr->args.count == 1)
        return arena_printf(scope->program->arena, "the argument of `%s`", expr->call.text);
    if (i < 3)
        return arena_printf(scope->program->arena, "the %s argument of `%s`", places[i],
                            expr->call.text);
    return arena_printf(scope->program->arena, "argument %zu of `%s`", i + 1, expr->call.text);
}

/* Reports what argument i must be; false always. */
static bool report_argument(struct scope *scope, struct expr *expr, size_t i, const char *must)
{
    struct program *program = scope->program;
    const struct expr *arg = expr->args.items[i];
    struct diag *diag = diag_error(program, PC3005, arg->span, "%s must be %s, and this is %s",
                                   argument(scope, expr, i), must, type_name(program, arg->type));
    bool text = strncmp(must, "string", 6) == 0;
    if (text && !type_is_nested(arg->type) && arg->type->kind != TYPE_NULL &&
        arg->type->kind != TYPE_DURATION)
        diag_help(diag, "write `cast(%s as string)`", span_text(program, arg->span));
    poison(expr);
    return false;
}

static bool is_text_literal(const struct expr *expr)
{
    return expr->kind == EXPR_STRING && expr->is_constant;
}

static bool need_literal(struct scope *scope, struct expr *expr, size_t i, const char *what)
{
    const struct expr *arg = expr->args.items[i];
    if (is_text_literal(arg))
        return true;
    struct diag *diag =
        diag_error(scope->program, PC3006, arg->span, "%s must be %s, written as a literal",
                   argument(scope, expr, i), what);
    diag_note(diag, "it is compiled once, so it can't come from data");
    poison(expr);
    return false;
}

/* Argument i as the letter of a signature says. */
static bool take_letter(struct scope *scope, struct expr *expr, size_t i, char letter)
{
    struct expr **slot = &expr->args.items[i];
    const struct type *type = (*slot)->type;
    switch (letter) {
    case 's':
        return coerce(scope, slot, type_simple(TYPE_STRING)) ||
               report_argument(scope, expr, i, "string");
    case 'i':
        return coerce(scope, slot, type_simple(TYPE_INT64)) ||
               report_argument(scope, expr, i, "int64");
    case 'x':
        if (type->kind == TYPE_BYTES || type->kind == TYPE_UUID)
            return true;
        return coerce(scope, slot, type_simple(TYPE_STRING)) ||
               report_argument(scope, expr, i, "string or bytes");
    case 't':
        if (type->kind == TYPE_NULL || is_text_literal(*slot))
            return coerce(scope, slot, type_simple(TYPE_TIMESTAMP_MS));
        return type_is_instant(type) ||
               report_argument(scope, expr, i, "timestamp_ms or timestamp_us");
    case 'd':
        if (type->kind == TYPE_NULL || is_text_literal(*slot))
            return coerce(scope, slot, type_simple(TYPE_TIMESTAMP_MS));
        return type_is_instant(type) || type->kind == TYPE_DATE ||
               report_argument(scope, expr, i, "a timestamp or a date");
    }
    return false;
}

static bool check_plain(struct scope *scope, struct expr *expr)
{
    const char *letters = expr->function->signature;
    const char *result = strchr(letters, ':') + 1;
    for (size_t i = 0; i < expr->args.count; i++) {
        char letter = letters[1] == '*' ? letters[0] : letters[i];
        if (!take_letter(scope, expr, i, letter))
            return false;
    }
    switch (*result) {
    case 's':
        expr->type = type_simple(TYPE_STRING);
        break;
    case 'i':
        expr->type = type_simple(TYPE_INT64);
        break;
    case 'b':
        expr->type = type_simple(TYPE_BOOL);
        break;
    }
    return true;
}

static bool check_length(struct scope *scope, struct expr *expr)
{
    enum type_kind kind = expr->args.items[0]->type->kind;
    if (kind != TYPE_ARRAY && !coerce(scope, &expr->args.items[0], type_simple(TYPE_STRING)))
        return report_argument(scope, expr, 0, "string or array");
    expr->type = type_simple(TYPE_INT64);
    return true;
}

bool check_regex(struct scope *scope, struct span at, const char *pattern, size_t size_bytes,
                 int *groups)
{
    char *error;
    if (!regex_check(pattern, size_bytes, groups, &error)) {
        struct diag *diag =
            diag_error(scope->program, PC3014, at, "this is not a regular expression: %s", error);
        diag_help(diag, "patterns are RE2's: no look-around, no back-references");
        free(error);
        return false;
    }
    int size = regex_size(pattern, size_bytes);
    if (size <= MAX_REGEX_INSTRUCTIONS)
        return true;
    struct diag *diag =
        diag_error(scope->program, PC3014, at,
                   "this regular expression is too large: %d instructions, of at most %d", size,
                   MAX_REGEX_INSTRUCTIONS);
    diag_note(diag, "a long text could take seconds; `x{n,m}` counts as m times x");
    diag_help(diag,
              "write `*` or `+` for a great number, or split it: `x matches … or x matches …`");
    return false;
}

static bool pattern_groups(struct scope *scope, struct expr *expr, int *groups)
{
    const struct expr *pattern = expr->args.items[1];
    if (!take_letter(scope, expr, 0, 's') || !need_literal(scope, expr, 1, "a pattern"))
        return false;
    return check_regex(scope, pattern->span, pattern->text, pattern->text_bytes, groups);
}

static bool check_regexp_extract(struct scope *scope, struct expr *expr)
{
    int groups;
    const struct expr *group = expr->args.items[2];
    if (!pattern_groups(scope, expr, &groups))
        return false;
    if (group->kind != EXPR_INTEGER || !group->is_literal || group->number.digits < 0 ||
        group->number.digits > groups) {
        struct diag *diag = diag_error(scope->program, PC3006, group->span,
                                       "the group must be a number from 0 to %d", groups);
        diag_note(diag, "0 is the whole match; the pattern has %d group%s", groups,
                  groups == 1 ? "" : "s");
        return false;
    }
    coerce(scope, &expr->args.items[2], type_simple(TYPE_INT64));
    expr->type = type_simple(TYPE_STRING);
    expr->nullable = true;
    return true;
}

static bool check_regexp_replace(struct scope *scope, struct expr *expr)
{
    int groups;
    char *error;
    const struct expr *pattern = expr->args.items[1], *text = expr->args.items[2];
    if (!pattern_groups(scope, expr, &groups) || !need_literal(scope, expr, 2, "the replacement"))
        return false;
    if (!regex_check_rewrite(pattern->text, pattern->text_bytes, text->text, text->text_bytes,
                             &error)) {
        struct diag *diag = diag_error(scope->program, PC3014, text->span,
                                       "the replacement does not fit the pattern: %s", error);
        diag_help(diag, "`\\1` to `\\9` stand for groups of the pattern, `\\\\` for a backslash");
        free(error);
        return false;
    }
    expr->type = type_simple(TYPE_STRING);
    return true;
}

/* All arguments get one type. */
static bool unify_arguments(struct scope *scope, struct expr *expr)
{
    struct expr ***slots = arena_alloc(scope->program->arena, expr->args.count * sizeof *slots);
    for (size_t i = 0; i < expr->args.count; i++)
        slots[i] = &expr->args.items[i];
    if (expr->args.count > 1 && !unify(scope, expr, slots, expr->args.count, expr->call.text))
        return false;
    return !is_untyped_null(scope, expr->args.items[0]);
}

static bool check_coalesce(struct scope *scope, struct expr *expr)
{
    if (!unify_arguments(scope, expr))
        return false;
    expr->nullable = true;
    for (size_t i = 0; i < expr->args.count; i++)
        expr->nullable &= expr->args.items[i]->nullable;
    expr->type = expr->args.items[0]->type;
    return true;
}

static bool check_nullif(struct scope *scope, struct expr *expr)
{
    if (!unify_arguments(scope, expr))
        return false;
    if (type_is_nested(expr->args.items[0]->type))
        return report_argument(scope, expr, 0, "a single value");
    expr->type = expr->args.items[0]->type;
    expr->nullable = true;
    return true;
}

static bool check_greatest(struct scope *scope, struct expr *expr)
{
    if (!unify_arguments(scope, expr))
        return false;
    if (!type_is_ordered(expr->args.items[0]->type))
        return report_argument(scope, expr, 0, "of a type that has an order");
    expr->type = expr->args.items[0]->type;
    return true;
}

static bool check_abs(struct scope *scope, struct expr *expr)
{
    const struct type *type = expr->args.items[0]->type;
    if (!type_is_numeric(type) && type->kind != TYPE_DURATION)
        return report_argument(scope, expr, 0, "a number");
    expr->type = type;
    expr->fallible |= type_is_integer(type) || type->kind == TYPE_DURATION;
    return true;
}

static bool check_round(struct scope *scope, struct expr *expr)
{
    const struct type *type = expr->args.items[0]->type;
    if (!type_is_numeric(type))
        return report_argument(scope, expr, 0, "a number");
    expr->type = type;
    if (type->kind == TYPE_DECIMAL && type->scale > 0)
        expr->type = type_decimal(scope->program, (unsigned)(type->precision - type->scale + 1), 0);
    return true;
}

/* --- time --- */

static bool check_unit(struct scope *scope, struct expr *expr, const char *const *units,
                       size_t count)
{
    if (!need_literal(scope, expr, 0, "a unit"))
        return false;
    const struct expr *unit = expr->args.items[0];
    const char *list = "";
    for (size_t i = 0; i < count; i++) {
        if (strcmp(units[i], unit->text) == 0)
            return true;
        list = arena_printf(scope->program->arena, "%s%s'%s'", list, i ? ", " : "", units[i]);
    }
    struct diag *diag = diag_error(scope->program, PC3015, unit->span, "`%s` knows no unit %s",
                                   expr->call.text, span_text(scope->program, unit->span));
    diag_help(diag, "units are %s", list);
    return false;
}

static bool refuse_clock_of_date(struct scope *scope, struct expr *expr)
{
    const char *unit = expr->args.items[0]->text;
    bool clock =
        strcmp(unit, "hour") == 0 || strcmp(unit, "minute") == 0 || strcmp(unit, "second") == 0;
    if (!clock || expr->args.items[1]->type->kind != TYPE_DATE)
        return false;
    diag_error(scope->program, PC3015, expr->args.items[0]->span, "a date has no %s", unit);
    return true;
}

static bool check_date_trunc(struct scope *scope, struct expr *expr)
{
    static const char *const units[] = {"year", "month", "week", "day", "hour", "minute", "second"};
    if (!check_unit(scope, expr, units, 7) || !take_letter(scope, expr, 1, 'd') ||
        refuse_clock_of_date(scope, expr))
        return false;
    expr->type = expr->args.items[1]->type;
    return true;
}

static bool check_date_part(struct scope *scope, struct expr *expr)
{
    static const char *const units[] = {"year", "month", "day", "hour", "minute", "second", "dow"};
    if (!check_unit(scope, expr, units, 7) || !take_letter(scope, expr, 1, 'd') ||
        refuse_clock_of_date(scope, expr))
        return false;
    expr->type = type_simple(TYPE_INT32);
    return true;
}

/* Only known letters stand behind %; *micros: it has %f. */
static bool check_format(struct scope *scope, struct expr *expr, bool *micros)
{
    if (!need_literal(scope, expr, 1, "a format"))
        return false;
    const struct expr *format = expr->args.items[1];
    *micros = false;
    for (size_t i = 0; i < format->text_bytes; i++) {
        if (format->text[i] != '%')
            continue;
        char letter = ++i < format->text_bytes ? format->text[i] : '\0';
        *micros |= letter == 'f';
        if (letter != '\0' && strchr("YmdHMSfbz%", letter))
            continue;
        struct diag *diag = letter ? diag_error(scope->program, PC3015, format->span,
                                                "`%%%c` is not a part of a time format", letter)
                                   : diag_error(scope->program, PC3015, format->span,
                                                "the format ends behind its `%%`");
        diag_help(diag, "parts are %%Y %%m %%d %%H %%M %%S %%f %%b %%z, and %%%% for a %%");
        return false;
    }
    return true;
}

/* A date must be in the format, else every row would fail. */
static bool has_date(const char *format, size_t size)
{
    bool year = false, month = false, day = false;
    for (size_t i = 0; i + 1 < size; i++) {
        if (format[i] != '%')
            continue;
        i++;
        year |= format[i] == 'Y';
        month |= format[i] == 'm' || format[i] == 'b';
        day |= format[i] == 'd';
    }
    return year && month && day;
}

static bool check_parse_timestamp(struct scope *scope, struct expr *expr)
{
    bool micros;
    if (!take_letter(scope, expr, 0, 's') || !check_format(scope, expr, &micros))
        return false;
    const struct expr *format = expr->args.items[1];
    if (!has_date(format->text, format->text_bytes)) {
        struct diag *diag = diag_error(scope->program, PC3015, format->span,
                                       "the format does not say year, month and day");
        diag_help(diag, "write for example '%%Y-%%m-%%d %%H:%%M:%%S'");
        return false;
    }
    expr->type = type_simple(micros ? TYPE_TIMESTAMP_US : TYPE_TIMESTAMP_MS);
    expr->fallible = true;
    return true;
}

static bool check_format_timestamp(struct scope *scope, struct expr *expr)
{
    bool micros;
    if (!take_letter(scope, expr, 0, 't') || !check_format(scope, expr, &micros))
        return false;
    expr->type = type_simple(TYPE_STRING);
    return true;
}

/* --- get, json_value, hmac --- */

static bool check_get(struct scope *scope, struct expr *expr)
{
    const struct type *type = expr->args.items[0]->type;
    if (type->kind != TYPE_MAP && type->kind != TYPE_ARRAY)
        return report_argument(scope, expr, 0, "a map or an array");
    if (!take_letter(scope, expr, 1, type->kind == TYPE_MAP ? 's' : 'i'))
        return false;
    expr->type = type->element;
    expr->nullable = true;
    return true;
}

/* a.b[0].c: names without the three characters of the syntax, indexes of up to 9 digits. */
static bool json_path_is_good(const char *path, size_t size)
{
    size_t i = 0;
    bool first = true;
    while (i < size) {
        if (path[i] == '[') {
            size_t digits = 0;
            for (i++; i < size && isdigit((unsigned char)path[i]); i++)
                digits++;
            if (digits == 0 || digits > 9 || i >= size || path[i++] != ']')
                return false;
        } else {
            if (!first && path[i++] != '.')
                return false;
            size_t begin = i;
            while (i < size && !strchr(".[]", path[i]))
                i++;
            if (i == begin)
                return false;
        }
        first = false;
    }
    return !first;
}

static bool check_json_value(struct scope *scope, struct expr *expr)
{
    if (!take_letter(scope, expr, 0, 's') || !need_literal(scope, expr, 1, "a path"))
        return false;
    const struct expr *path = expr->args.items[1];
    if (!json_path_is_good(path->text, path->text_bytes)) {
        struct diag *diag = diag_error(scope->program, PC3015, path->span, "%s is not a path",
                                       span_text(scope->program, path->span));
        diag_help(diag, "write names with dots and indexes in brackets: 'a.b[0]'");
        return false;
    }
    expr->type = type_simple(TYPE_STRING);
    expr->nullable = true;
    return true;
}

static bool check_hmac(struct scope *scope, struct expr *expr)
{
    if (!take_letter(scope, expr, 0, 'x') || !need_literal(scope, expr, 1, "a secret's name"))
        return false;
    const struct expr *name = expr->args.items[1];
    bool good = name->text_bytes > 0 && name->text_bytes <= 63;
    for (size_t i = 0; i < name->text_bytes; i++)
        good &= isalnum((unsigned char)name->text[i]) || name->text[i] == '_';
    if (!good) {
        struct diag *diag = diag_error(scope->program, PC3015, name->span, "%s can't name a secret",
                                       span_text(scope->program, name->span));
        diag_help(diag, "use letters, digits and _: 'email' is read from PIPE_SECRET_EMAIL");
        return false;
    }
    expr->type = type_simple(TYPE_STRING);
    return true;
}

/* --- entry --- */

static bool check_rule(struct scope *scope, struct expr *expr)
{
    switch ((enum function_rule)expr->function->rule) {
    case RULE_PLAIN:
        return check_plain(scope, expr);
    case RULE_LENGTH:
        return check_length(scope, expr);
    case RULE_REGEXP_EXTRACT:
        return check_regexp_extract(scope, expr);
    case RULE_REGEXP_REPLACE:
        return check_regexp_replace(scope, expr);
    case RULE_COALESCE:
        return check_coalesce(scope, expr);
    case RULE_NULLIF:
        return check_nullif(scope, expr);
    case RULE_ABS:
        return check_abs(scope, expr);
    case RULE_ROUND:
        return check_round(scope, expr);
    case RULE_GREATEST:
        return check_greatest(scope, expr);
    case RULE_DATE_TRUNC:
        return check_date_trunc(scope, expr);
    case RULE_DATE_PART:
        return check_date_part(scope, expr);
    case RULE_PARSE_TIMESTAMP:
        return check_parse_timestamp(scope, expr);
    case RULE_FORMAT_TIMESTAMP:
        return check_format_timestamp(scope, expr);
    case RULE_GET:
        return check_get(scope, expr);
    case RULE_JSON_VALUE:
        return check_json_value(scope, expr);
    case RULE_HMAC:
        return check_hmac(scope, expr);
    }
    return false;
}

/* Clocks and dice: a pipeline is a function of its log. */
static bool is_not_a_function_of_the_log(const char *name)
{
    static const char *const names[] = {
        "now",       "random",  "uuid",  "rand",         "current_time",  "current_timestamp",
        "localtime", "sysdate", "today", "current_date", "generate_uuid", "gen_random_uuid"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasecmp(names[i], name) == 0)
            return true;
    return false;
}

bool report_clock(struct scope *scope, struct name name)
{
    if (!is_not_a_function_of_the_log(name.text))
        return false;
    struct diag *diag =
        diag_error(scope->program, PC3018, name.span,
                   "`%s` does not exist: a replay would give another answer", name.text);
    diag_help(diag, scope->allows_kafka
                        ? "`kafka_time` is the time at which the broker took the record"
                        : "read a time from the record, as its event time");
    return true;
}

static void report_unknown_function(struct scope *scope, const struct expr *expr)
{
    struct program *program = scope->program;
    const char *name = expr->call.text;
    size_t count;
    if (report_clock(scope, expr->call))
        return;
    struct diag *diag =
        diag_error(program, PC3003, expr->call.span, "there is no function `%s`", name);
    const char *const *names = function_names(false, &count);
    const char *meant = nearest_name(name, names, count);
    const char *instead = foreign_word_help(name, strlen(name), true);
    if (strncmp(name, "kafka_", 6) == 0)
        diag_help(diag, "`%s` is written without parentheses", name);
    else if (instead)
        diag_help(diag, "%s", instead);
    else if (meant)
        diag_help(diag, "did you mean `%s`?", meant);
}

static void report_aggregate_here(struct scope *scope, const struct expr *expr)
{
    struct diag *diag =
        diag_error(scope->program, PC3016, expr->span,
                   "`%s` is an aggregate, and this is no `aggregate` clause", expr->call.text);
    diag_help(diag, "compute it in a stream with a `window` and an `aggregate` clause; use its "
                    "result in a stream that reads that one");
}

static bool check_count(struct scope *scope, const struct expr *expr)
{
    const struct function *function = expr->function;
    if (expr->args.count >= function->min_args && expr->args.count <= function->max_args)
        return true;
    const char *takes = function->min_args == function->max_args
                            ? arena_printf(scope->program->arena, "%u argument%s",
                                           function->min_args, function->min_args == 1 ? "" : "s")
                            : arena_printf(scope->program->arena, "%u to %u arguments",
                                           function->min_args, function->max_args);
    diag_error(scope->program, PC3004, expr->span, "`%s` takes %s, and here %s %zu",
               expr->call.text, takes, expr->args.count == 1 ? "is" : "are", expr->args.count);
    return false;
}

void check_call(struct scope *scope, struct expr **slot)
{
    struct expr *expr = *slot;
    poison(expr);
    expr->function = function_find(expr->call.text);
    if (!expr->function) {
        report_unknown_function(scope, expr);
        return;
    }
    if (expr->function->is_aggregate) {
        report_aggregate_here(scope, expr);
        return;
    }
    bool failed = false;
    expr->is_constant = true;
    for (size_t i = 0; i < expr->args.count; i++) {
        check_expr(scope, &expr->args.items[i]);
        const struct expr *arg = expr->args.items[i];
        failed |= is_poison(arg);
        expr->is_constant &= arg->is_constant;
        expr->nullable |= arg->nullable;
        expr->fallible |= arg->fallible;
    }
    if (failed || !check_count(scope, expr) || !check_rule(scope, expr))
        poison(expr);
    for (size_t i = 0; i < expr->args.count; i++)
        if (is_poison(expr->args.items[i]))
            poison(expr);
}
