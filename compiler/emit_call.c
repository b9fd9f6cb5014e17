/* emit_call.c: calls of functions and casts, as calls of the runtime's pipe_fn_… and pipe_cast_….
 */
#include "emit.h"

#include <string.h>

/* The functions that need nothing special: their C name, and whether an arena comes first. */
static const struct plain_function {
    const char *name;
    const char *c_name;
    bool takes_arena;
} plain_functions[] = {
    {"octet_length", "pipe_fn_octet_length", false},
    {"lower", "pipe_fn_lower", true},
    {"upper", "pipe_fn_upper", true},
    {"trim", "pipe_fn_trim", false},
    {"ltrim", "pipe_fn_ltrim", false},
    {"rtrim", "pipe_fn_rtrim", false},
    {"substring", "pipe_fn_substring", false},
    {"left", "pipe_fn_left", false},
    {"right", "pipe_fn_right", false},
    {"starts_with", "pipe_fn_starts_with", false},
    {"ends_with", "pipe_fn_ends_with", false},
    {"contains", "pipe_fn_contains", false},
    {"split_part", "pipe_fn_split_part", false},
    {"hash64", "pipe_fn_hash64", false},
    {"sha256", "pipe_fn_sha256", true},
};

static bool is_call_of(const struct expr *expr, const char *name)
{
    return strcmp(expr->function->name, name) == 0;
}

bool call_is_inline(const struct expr *expr)
{
    if (is_call_of(expr, "regexp_extract") || is_call_of(expr, "json_value") ||
        is_call_of(expr, "get"))
        return false;
    if (is_call_of(expr, "nullif") &&
        (!is_atomic(expr->args.items[0]) || !is_atomic(expr->args.items[1])))
        return false;
    for (size_t i = 0; i < expr->args.count; i++)
        if (!is_inline(expr->args.items[i]))
            return false;
    return true;
}

static struct value called(const char *code, const char *null)
{
    return (struct value){.code = code, .null = null, .precedence = PREC_ATOM};
}

/* All arguments, with commas; *null: any of them is. */
static const char *arguments(struct body *b, const struct expr *expr, size_t from,
                             const char **null)
{
    const char *list = "";
    for (size_t i = from; i < expr->args.count; i++) {
        struct value value = lower(b, expr->args.items[i]);
        list = i == from ? value.code : arena_printf(b->e->arena, "%s, %s", list, value.code);
        *null = both_null(b, *null, value.null);
    }
    return list;
}

static const char *unit_of(const struct expr *unit)
{
    static const char *const units[][2] = {
        {"second", "PIPE_UNIT_SECOND"}, {"minute", "PIPE_UNIT_MINUTE"},
        {"hour", "PIPE_UNIT_HOUR"},     {"day", "PIPE_UNIT_DAY"},
        {"week", "PIPE_UNIT_WEEK"},     {"month", "PIPE_UNIT_MONTH"},
        {"year", "PIPE_UNIT_YEAR"},     {"dow", "PIPE_UNIT_DOW"},
    };
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(units[i][0], unit->text) == 0)
            return units[i][1];
    return "PIPE_UNIT_DAY";
}

/* ms, us or date: how the time functions end. */
static const char *time_suffix(const struct type *type)
{
    return type->kind == TYPE_DATE ? "date" : type->kind == TYPE_TIMESTAMP_US ? "us" : "ms";
}

/* ---- calls with a rule of their own ---- */

/* One C expression: `!a_null ? a : !b_null ? b : c`. */
static struct value coalesce_inline(struct body *b, const struct expr *expr, struct value value)
{
    struct text code = {0}, null = {0};
    bool nullable = true;
    for (size_t i = 0;; value = lower(b, expr->args.items[i])) {
        nullable = value.null != NULL;
        i++;
        if (nullable)
            text_printf(&null, "%s(%s)", null.size > 0 ? " && " : "", value.null);
        if (!nullable || i == expr->args.count)
            break;
        bool simple = strchr(value.null, ' ') == NULL;
        text_printf(&code, simple ? "!%s ? %s : " : "!(%s) ? %s : ", value.null,
                    operand(b, value, PREC_TERM));
    }
    text_puts(&code, operand(b, value, PREC_TERM));
    struct value all = {.code = arena_strndup(b->e->arena, code.data, code.size),
                        .null = nullable ? arena_printf(b->e->arena, "(%s)", null.data) : NULL,
                        .precedence = PREC_CHOICE};
    text_free(&code);
    text_free(&null);
    return all;
}

static struct value call_coalesce(struct body *b, const struct expr *expr)
{
    bool all_inline = true;
    for (size_t i = 0; i < expr->args.count; i++)
        all_inline = all_inline && is_inline(expr->args.items[i]);
    struct value first = lower(b, expr->args.items[0]);
    if (expr->args.count == 1 || first.null == NULL)
        return first;
    if (all_inline)
        return coalesce_inline(b, expr, first);
    struct value t = in_variable(b, first, expr->type);
    if (strchr(t.code, '>') != NULL || strcmp(t.code, first.code) == 0) { /* a column: copy it */
        first.atomic = false;
        t = in_variable(b, first, expr->type);
    }
    for (size_t i = 1; i < expr->args.count; i++) {
        body_line(b, "if (%s) {", t.null);
        b->level++;
        struct value next = lower(b, expr->args.items[i]);
        if (next.null != NULL) {
            body_line(b, "%s = %s;", t.null, next.null);
            body_line(b, "if (!%s)", t.null);
            b->level++;
        }
        body_line(b, "%s = %s;", t.code, next.code);
        if (next.null != NULL)
            b->level--;
        else
            body_line(b, "%s = false;", t.null);
        b->level--;
        body_line(b, "}");
    }
    return expr->nullable ? t : atom(b, t.code, NULL);
}

static struct value call_nullif(struct body *b, const struct expr *expr)
{
    const struct expr *left = expr->args.items[0], *right = expr->args.items[1];
    struct value a = in_variable(b, lower(b, left), left->type);
    struct value c = in_variable(b, lower(b, right), right->type);
    struct value equal =
        compare(b, OP_EQ, left, a, right, (struct value){c.code, NULL, c.precedence, c.atomic});
    const char *same = operand(b, equal, PREC_COMPARE);
    if (c.null != NULL)
        same =
            arena_printf(b->e->arena, strchr(c.null, ' ') == NULL ? "(!%s && %s)" : "(!(%s) && %s)",
                         c.null, same);
    a.null = both_null(b, a.null, same);
    a.atomic = false;
    return a;
}

static struct value call_extreme(struct body *b, const struct expr *expr)
{
    const char *name = is_call_of(expr, "greatest") ? "greatest" : "least";
    const struct type *type = expr->type;
    const char *suffix = type_suffix(type);
    if (type->kind == TYPE_DATE)
        suffix = "i32";
    else if (type_is_instant(type) || type->kind == TYPE_DURATION)
        suffix = "i64";
    else if (type->kind == TYPE_UUID || type->kind == TYPE_BYTES)
        suffix = "string";
    struct value value = lower(b, expr->args.items[0]);
    for (size_t i = 1; i < expr->args.count; i++) {
        struct value next = lower(b, expr->args.items[i]);
        value = called(
            arena_printf(b->e->arena, "pipe_fn_%s_%s(%s, %s)", name, suffix, value.code, next.code),
            both_null(b, value.null, next.null));
    }
    return value;
}

static struct value call_abs(struct body *b, const struct expr *expr)
{
    struct value value = lower(b, expr->args.items[0]);
    if (type_is_integer(expr->type) || expr->type->kind == TYPE_DURATION)
        return checked_call(b, expr->type, value.null,
                            arena_printf(b->e->arena, "pipe_abs_%s(%s, ",
                                         expr->type->kind == TYPE_INT32 ? "i32" : "i64",
                                         value.code));
    return called(
        arena_printf(b->e->arena, "pipe_fn_abs_%s(%s)", type_suffix(expr->type), value.code),
        value.null);
}

static struct value call_round(struct body *b, const struct expr *expr)
{
    const struct type *type = expr->args.items[0]->type;
    struct value value = lower(b, expr->args.items[0]);
    if (type_is_integer(type) || (type->kind == TYPE_DECIMAL && type->scale == 0))
        return value;
    const char *scale =
        type->kind == TYPE_DECIMAL ? arena_printf(b->e->arena, ", %u", type->scale) : "";
    return called(arena_printf(b->e->arena, "pipe_fn_%s_%s(%s%s)", expr->function->name,
                               type_suffix(type), value.code, scale),
                  value.null);
}

/* PRESENT functions: t = the result, t_null = there is none. */
static struct value call_present(struct body *b, const struct type *type, const char *null,
                                 const char *call)
{
    struct value t = (struct value){.code = c_zero(type), .null = "true"};
    const char *name = arena_printf(b->e->arena, "t%u", ++b->temporaries);
    const char *flag = arena_printf(b->e->arena, "%s_null", name);
    body_line(b, "%s %s = %s;", c_type(b->e, type), name, t.code);
    body_line(b, "bool %s = %s%s!%s&%s);", flag, null != NULL ? null : "",
              null != NULL ? " || " : "", call, name);
    return atom(b, name, flag);
}

static struct value call_regexp_extract(struct body *b, const struct expr *expr)
{
    const struct expr *pattern = expr->args.items[1];
    struct value text = lower(b, expr->args.items[0]), group = lower(b, expr->args.items[2]);
    return call_present(b, expr->type, text.null,
                        arena_printf(b->e->arena, "pipe_fn_regexp_extract(%s, %s, %s, ",
                                     regex_name(b, pattern->text, pattern->text_bytes), text.code,
                                     group.code));
}

static struct value call_regexp_replace(struct body *b, const struct expr *expr)
{
    const struct expr *pattern = expr->args.items[1];
    struct value text = lower(b, expr->args.items[0]), by = lower(b, expr->args.items[2]);
    const char *call = arena_printf(
        b->e->arena, "pipe_fn_regexp_replace%s(arena, %s, %s, %s)", expr->outgrows ? "_within" : "",
        regex_name(b, pattern->text, pattern->text_bytes), text.code, by.code);
    return expr->outgrows ? bounded_text(b, call, text.null) : called(call, text.null);
}

static struct value call_replace(struct body *b, const struct expr *expr)
{
    const char *null = NULL, *list = arguments(b, expr, 0, &null);
    const char *call = arena_printf(b->e->arena, "pipe_fn_replace%s(arena, %s)",
                                    expr->outgrows ? "_within" : "", list);
    return expr->outgrows ? bounded_text(b, call, null) : called(call, null);
}

static struct value call_json_value(struct body *b, const struct expr *expr)
{
    const char *null = NULL, *list = arguments(b, expr, 0, &null);
    return call_present(b, expr->type, null,
                        arena_printf(b->e->arena, "pipe_fn_json_value(arena, %s, ", list));
}

/* A pointer to the element, NULL: absent. */
static struct value call_get(struct body *b, const struct expr *expr)
{
    struct emitter *e = b->e;
    const struct type *container = expr->args.items[0]->type;
    struct type items = {.kind = TYPE_ARRAY,
                         .element = container->element,
                         .element_nullable = container->element_nullable};
    const char *item = item_type(e, &items);
    const char *null = NULL, *list = arguments(b, expr, 0, &null);
    const char *t = arena_printf(e->arena, "t%u", ++b->temporaries);
    const char *function = container->kind == TYPE_MAP ? "pipe_fn_get_map" : "pipe_fn_get_array";
    const char *call =
        arena_printf(e->arena, "%s(%s, sizeof(%s))", function, list, item_type(e, container));
    if (null != NULL)
        body_line(b, "const %s *%s = %s ? NULL : %s;", item, t,
                  strchr(null, ' ') == NULL ? null : arena_printf(e->arena, "(%s)", null), call);
    else
        body_line(b, "const %s *%s = %s;", item, t, call);
    if (!container->element_nullable)
        return (struct value){arena_printf(e->arena, "*%s", t), arena_printf(e->arena, "!%s", t),
                              PREC_UNARY, true};
    return atom(b, arena_printf(e->arena, "%s->value", t),
                arena_printf(e->arena, "!%s || %s->is_null", t, t));
}

static uint32_t secret_index(struct emitter *e, const char *name)
{
    for (size_t i = 0; i < e->secrets.count; i++)
        if (strcmp(e->secrets.items[i], name) == 0)
            return (uint32_t)i;
    vec_push(e->arena, &e->secrets, name);
    return (uint32_t)(e->secrets.count - 1);
}

static struct value call_hmac(struct body *b, const struct expr *expr)
{
    struct value text = lower(b, expr->args.items[0]);
    return called(arena_printf(b->e->arena, "pipe_fn_hmac_sha256(arena, %s, pipe_secret(%u))",
                               text.code, secret_index(b->e, expr->args.items[1]->text)),
                  text.null);
}

static struct value call_time(struct body *b, const struct expr *expr)
{
    struct arena *arena = b->e->arena;
    const struct expr *first = expr->args.items[0], *second = expr->args.items[1];
    if (is_call_of(expr, "date_trunc") || is_call_of(expr, "date_part")) {
        struct value time = lower(b, second);
        return called(arena_printf(arena, "pipe_fn_%s_%s(%s, %s)", expr->function->name,
                                   time_suffix(second->type), unit_of(first), time.code),
                      time.null);
    }
    struct value value = lower(b, first), format = lower(b, second);
    if (is_call_of(expr, "parse_timestamp"))
        return checked_call(b, expr->type, value.null,
                            arena_printf(arena, "pipe_fn_parse_timestamp_%s(%s, %s, ",
                                         time_suffix(expr->type), value.code, format.code));
    return called(arena_printf(arena, "pipe_fn_format_timestamp_%s(arena, %s, %s)",
                               time_suffix(first->type), value.code, format.code),
                  value.null);
}

static struct value call_concat(struct body *b, const struct expr *expr)
{
    if (expr->args.count == 1)
        return lower(b, expr->args.items[0]);
    const char *null = NULL, *list = arguments(b, expr, 0, &null);
    const char *call =
        arena_printf(b->e->arena, "pipe_fn_concat%s(arena, (struct pipe_str[]){%s}, %zu)",
                     expr->outgrows ? "_within" : "", list, expr->args.count);
    return expr->outgrows ? bounded_text(b, call, null) : called(call, null);
}

static struct value call_length(struct body *b, const struct expr *expr)
{
    bool is_array = expr->args.items[0]->type->kind == TYPE_ARRAY;
    struct value value = lower(b, expr->args.items[0]);
    return called(
        arena_printf(b->e->arena, "pipe_fn_length%s(%s)", is_array ? "_array" : "", value.code),
        value.null);
}

static struct value call_plain(struct body *b, const struct expr *expr)
{
    const char *null = NULL, *list = arguments(b, expr, 0, &null);
    if (is_call_of(expr, "substring") && expr->args.count == 2)
        return called(arena_printf(b->e->arena, "pipe_fn_substring_from(%s)", list), null);
    for (size_t i = 0; i < sizeof plain_functions / sizeof *plain_functions; i++) {
        const struct plain_function *function = &plain_functions[i];
        if (is_call_of(expr, function->name))
            return called(arena_printf(b->e->arena, "%s(%s%s)", function->c_name,
                                       function->takes_arena ? "arena, " : "", list),
                          null);
    }
    return called(arena_printf(b->e->arena, "pipe_fn_%s(%s)", expr->function->name, list), null);
}

struct value lower_call(struct body *b, const struct expr *expr)
{
    static const struct {
        const char *name;
        struct value (*lower)(struct body *b, const struct expr *expr);
    } rules[] = {
        {"coalesce", call_coalesce},
        {"nullif", call_nullif},
        {"greatest", call_extreme},
        {"least", call_extreme},
        {"abs", call_abs},
        {"round", call_round},
        {"floor", call_round},
        {"ceil", call_round},
        {"regexp_extract", call_regexp_extract},
        {"regexp_replace", call_regexp_replace},
        {"json_value", call_json_value},
        {"get", call_get},
        {"hmac_sha256", call_hmac},
        {"date_trunc", call_time},
        {"date_part", call_time},
        {"parse_timestamp", call_time},
        {"format_timestamp", call_time},
        {"concat", call_concat},
        {"replace", call_replace},
        {"length", call_length},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (is_call_of(expr, rules[i].name))
            return rules[i].lower(b, expr);
    return call_plain(b, expr);
}

/* ---- casts ---- */

/* The value is the same in C, or a plain C conversion does it. */
static bool is_plain_cast(const struct type *from, const struct type *to)
{
    bool from_int = type_is_integer(from) || from->kind == TYPE_DATE || type_is_instant(from) ||
                    from->kind == TYPE_DURATION;
    switch (to->kind) {
    case TYPE_INT32:
        return from->kind == TYPE_DATE || from->kind == TYPE_INT32;
    case TYPE_INT64:
        return from_int;
    case TYPE_DURATION:
        return from_int;
    case TYPE_FLOAT32:
        return type_is_integer(from) || from->kind == TYPE_FLOAT32;
    case TYPE_FLOAT64:
        return type_is_integer(from) || type_is_float(from);
    case TYPE_TIMESTAMP_MS:
    case TYPE_TIMESTAMP_US:
        return from->kind == TYPE_INT32 || from->kind == to->kind;
    case TYPE_STRING:
        return from->kind == TYPE_STRING || from->kind == TYPE_UUID;
    case TYPE_BYTES:
        return true;
    case TYPE_BOOL:
    case TYPE_DATE:
    case TYPE_UUID:
    case TYPE_ENUM:
        return from->kind == to->kind;
    case TYPE_RECORD:
    case TYPE_ARRAY:
    case TYPE_MAP:
        return true;
    case TYPE_DECIMAL:
    case TYPE_POISON:
    case TYPE_NULL:
        break;
    }
    return false;
}

static struct value cast_to_string(struct body *b, const struct type *from, struct value value)
{
    struct arena *arena = b->e->arena;
    const char *suffix = type_suffix(from);
    if (from->kind == TYPE_BOOL)
        return called(arena_printf(arena, "pipe_cast_bool_string(%s)", value.code), value.null);
    if (from->kind == TYPE_ENUM)
        return called(arena_printf(arena, "pipe_cast_enum_string(%s, &%s)", value.code,
                                   type_descriptor(b->e, from)),
                      value.null);
    if (type_is_integer(from) || from->kind == TYPE_DURATION)
        suffix = "i64";
    const char *scale = from->kind == TYPE_DECIMAL ? arena_printf(arena, ", %u", from->scale) : "";
    return called(
        arena_printf(arena, "pipe_cast_%s_string(arena, %s%s)", suffix, value.code, scale),
        value.null);
}

static struct value cast_to_decimal(struct body *b, const struct expr *expr, struct value value)
{
    struct arena *arena = b->e->arena;
    const struct type *from = expr->left->type, *to = expr->type;
    unsigned whole =
        type_is_integer(from) ? from->kind == TYPE_INT32 ? 10 : 19 : from->precision - from->scale;
    bool exact = type_is_integer(from) || (from->kind == TYPE_DECIMAL && from->scale <= to->scale);
    bool sure = exact && whole <= (unsigned)(to->precision - to->scale);
    if (from->kind == TYPE_DECIMAL)
        return sure ? scaled(b, value, (unsigned)(to->scale - from->scale), false)
                    : checked_call(b, to, value.null,
                                   arena_printf(arena, "pipe_decimal_rescale(%s, %u, %u, %u, ",
                                                value.code, from->scale, to->scale, to->precision));
    if (sure && type_is_integer(from))
        return scaled(b, value, to->scale, true);
    const char *suffix = type_is_integer(from) ? "i64" : type_is_float(from) ? "f64" : "string";
    return checked_call(b, to, value.null,
                        arena_printf(arena, "pipe_cast_%s_decimal(%s, %u, %u, ", suffix, value.code,
                                     to->precision, to->scale));
}

static struct value cast_decimal(struct body *b, const struct expr *expr, struct value value)
{
    struct arena *arena = b->e->arena;
    const struct type *from = expr->left->type, *to = expr->type;
    if (to->kind == TYPE_FLOAT64)
        return called(arena_printf(arena, "pipe_decimal_to_f64(%s, %u)", value.code, from->scale),
                      value.null);
    if (to->kind == TYPE_FLOAT32)
        return called(arena_printf(arena, "pipe_cast_decimal_f32(%s, %u)", value.code, from->scale),
                      value.null);
    if (!expr->fallible) {
        value.code = arena_printf(arena, "(%s)%s", c_type(b->e, to), operand(b, value, PREC_ATOM));
        value.precedence = PREC_UNARY;
        return value;
    }
    return checked_call(b, to, value.null,
                        arena_printf(arena, "pipe_cast_decimal_%s(%s, %u, ", type_suffix(to),
                                     value.code, from->scale));
}

/* Between date and the two timestamps: never fails. */
static bool is_time_cast(const struct type *from, const struct type *to)
{
    bool times = (from->kind == TYPE_DATE || type_is_instant(from)) &&
                 (to->kind == TYPE_DATE || type_is_instant(to));
    return times && from->kind != to->kind;
}

bool cast_is_inline(const struct expr *expr)
{
    return !expr->fallible && is_inline(expr->left);
}

struct value lower_cast(struct body *b, const struct expr *expr)
{
    struct arena *arena = b->e->arena;
    const struct type *from = expr->left->type, *to = expr->type;
    struct value value = lower(b, expr->left);
    if (to->kind == TYPE_DECIMAL)
        return cast_to_decimal(b, expr, value);
    if (is_plain_cast(from, to)) {
        if (strcmp(c_type(b->e, from), c_type(b->e, to)) == 0)
            return value;
        value.code = arena_printf(arena, "(%s)%s", c_type(b->e, to), operand(b, value, PREC_ATOM));
        value.precedence = PREC_UNARY;
        return value;
    }
    if (to->kind == TYPE_STRING && from->kind == TYPE_BYTES)
        return checked_call(b, to, value.null,
                            arena_printf(arena, "pipe_cast_bytes_string(%s, ", value.code));
    if (to->kind == TYPE_STRING)
        return cast_to_string(b, from, value);
    if (from->kind == TYPE_DECIMAL)
        return cast_decimal(b, expr, value);
    if (is_time_cast(from, to))
        return called(arena_printf(arena, "pipe_cast_%s_%s(%s)", type_suffix(from), type_suffix(to),
                                   value.code),
                      value.null);
    const char *suffix = type_is_integer(from) ? "i64"
                         : type_is_float(from) ? "f64"
                                               : type_suffix(from);
    const char *memory = to->kind == TYPE_UUID ? "arena, " : "";
    return checked_call(
        b, to, value.null,
        arena_printf(arena, "pipe_cast_%s_%s(%s%s, ", suffix, type_suffix(to), memory, value.code));
}
