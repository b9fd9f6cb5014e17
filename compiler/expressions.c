/* expressions.c: types expressions: literals, paths, predicates, case, try, conversions. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "resolve.h"

void poison(struct expr *expr)
{
    expr->type = type_simple(TYPE_POISON);
    expr->nullable = expr->fallible = expr->is_literal = false;
}

bool is_poison(const struct expr *expr)
{
    return expr->type->kind == TYPE_POISON;
}

const char *span_text(struct program *program, struct span span)
{
    enum { LIMIT = 60 };
    if (!span.source)
        return "this";
    char *text = arena_alloc(program->arena, LIMIT + 4);
    size_t size = 0;
    for (uint32_t i = span.begin; i < span.end && i < span.source->size; i++) {
        char c = span.source->text[i];
        bool blank = c == ' ' || c == '\n' || c == '\t' || c == '\r';
        if (blank && size > 0 && text[size - 1] == ' ')
            continue;
        if (size == LIMIT) {
            while (size > 0 && ((unsigned char)text[size] & 0xC0) == 0x80)
                size--;
            strcpy(text + size, "…");
            return text;
        }
        text[size++] = blank ? ' ' : c;
    }
    return text;
}

int field_index(const struct record_type *row, const char *name)
{
    for (size_t i = 0; i < row->field_count; i++)
        if (strcmp(row->fields[i].name, name) == 0)
            return (int)i;
    return -1;
}

static const char *nearest_field(struct program *program, const struct record_type *row,
                                 const char *name)
{
    const char **names = arena_alloc(program->arena, (row->field_count + 1) * sizeof *names);
    for (size_t i = 0; i < row->field_count; i++)
        names[i] = row->fields[i].name;
    return nearest_name(name, names, row->field_count);
}

static const char *field_list(struct program *program, const struct record_type *row)
{
    const char *list = "";
    for (size_t i = 0; i < row->field_count && i < 12; i++)
        list = arena_printf(program->arena, "%s%s%s", list, i ? ", " : "", row->fields[i].name);
    return row->field_count > 12 ? arena_printf(program->arena, "%s, …", list) : list;
}

/* As a literal of the language. */
static const char *text_literal(struct program *program, const char *text)
{
    const char *out = "'";
    for (size_t size; *text; text += size) {
        size = strcspn(text, "'");
        out =
            arena_printf(program->arena, "%s%.*s%s", out, (int)size, text, text[size] ? "''" : "");
        size += text[size] != '\0';
    }
    return arena_printf(program->arena, "%s'", out);
}

/* Whether the name was reported already with the same proposal; then its message has this place. */
static bool joins_message(struct program *program, struct name name, const char *meant)
{
    for (size_t i = 0; i < program->unknown_columns.count; i++) {
        const struct unknown_column *known = &program->unknown_columns.items[i];
        bool same_proposal = meant == NULL || known->meant == NULL
                                 ? meant == known->meant
                                 : strcmp(meant, known->meant) == 0;
        if (strcmp(name.text, known->name) != 0 || !same_proposal)
            continue;
        diag_also(known->diag, name.span, "read here too");
        program->unknown_uses++;
        return true;
    }
    return false;
}

static void report_column(struct program *program, struct name name, const struct record_type *row,
                          const char *row_of, bool may_be_text)
{
    const char *meant = nearest_field(program, row, name.text);
    if (!may_be_text && joins_message(program, name, meant))
        return;
    struct diag *diag =
        diag_error(program, PC2006, name.span, "`%s` has no column `%s`", row_of, name.text);
    if (!diag_is_shown(diag))
        return;
    vec_push(program->arena, &program->unknown_columns,
             ((struct unknown_column){name.text, meant, diag}));
    if (meant) {
        diag_help(diag, "did you mean `%s`?", meant);
        return;
    }
    if (!may_be_text) {
        diag_help(diag, "its columns are: %s", field_list(program, row));
        return;
    }
    diag_note(diag, "its columns are: %s", field_list(program, row));
    diag_help(diag, "text stands in single quotes: %s", text_literal(program, name.text));
}

void report_unknown_column(struct program *program, struct name name, const struct record_type *row,
                           const char *row_of)
{
    report_column(program, name, row, row_of, false);
}

static bool is_unit(const char *name)
{
    static const char *const units[] = {"year", "quarter", "month",  "week",  "day",
                                        "dow",  "hour",    "minute", "second"};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(units[i], name) == 0)
            return true;
    return false;
}

/* As a value. "x" is a name: who wrote it may have meant text, as who wrote date_part(hour, x). */
static void report_unknown_value(struct scope *scope, const name_list *path,
                                 const struct record_type *row)
{
    struct name name = path->items[0];
    bool is_quoted = name.span.source != NULL && name.span.begin < name.span.source->size &&
                     name.span.source->text[name.span.begin] == '"';
    bool is_sql = strncasecmp(name.text, "current_", strlen("current_")) == 0 ||
                  strcasecmp(name.text, "localtime") == 0 || strcasecmp(name.text, "sysdate") == 0;
    if (!is_sql || !report_clock(scope, name))
        report_column(scope->program, name, row, scope->row_of,
                      path->count == 1 && (is_quoted || is_unit(name.text)));
}

bool is_untyped_null(struct scope *scope, struct expr *expr)
{
    if (expr->type->kind != TYPE_NULL)
        return false;
    struct diag *diag = diag_error(scope->program, PC3013, expr->span, "this `null` has no type");
    diag_help(diag, "give it one: `cast(null as string)`");
    poison(expr);
    return true;
}

/* --- conversions --- */

struct expr *expr_convert(struct scope *scope, struct expr *expr, const struct type *type)
{
    struct expr *convert = arena_alloc(scope->program->arena, sizeof *convert);
    convert->kind = EXPR_CONVERT;
    convert->span = expr->span;
    convert->left = expr;
    convert->type = type;
    convert->nullable = expr->nullable;
    convert->fallible = expr->fallible;
    convert->is_constant = expr->is_constant;
    return convert;
}

static unsigned integer_digits(const struct type *type)
{
    if (type->kind == TYPE_INT32)
        return 10;
    return type->kind == TYPE_INT64 ? 19 : (unsigned)(type->precision - type->scale);
}

bool type_widens(const struct type *from, const struct type *to)
{
    if (from->kind == TYPE_INT32 && to->kind == TYPE_INT64)
        return true;
    if ((type_is_integer(from) || from->kind == TYPE_DECIMAL) && to->kind == TYPE_DECIMAL)
        return integer_digits(from) <= integer_digits(to) &&
               (type_is_integer(from) || from->scale <= to->scale);
    return (from->kind == TYPE_FLOAT32 && to->kind == TYPE_FLOAT64) ||
           (from->kind == TYPE_TIMESTAMP_MS && to->kind == TYPE_TIMESTAMP_US) ||
           (from->kind == TYPE_STRING && to->kind == TYPE_STRING) ||
           (from->kind == TYPE_BYTES && to->kind == TYPE_BYTES && to->fixed_bytes == 0);
}

static const struct type *join_decimals(struct program *program, const struct type *a,
                                        const struct type *b)
{
    unsigned scale_a = type_is_integer(a) ? 0 : a->scale;
    unsigned scale_b = type_is_integer(b) ? 0 : b->scale;
    unsigned scale = scale_a > scale_b ? scale_a : scale_b;
    unsigned whole = integer_digits(a) > integer_digits(b) ? integer_digits(a) : integer_digits(b);
    return whole + scale <= 38 ? type_decimal(program, whole + scale, scale) : NULL;
}

const struct type *join_types(struct program *program, const struct type *a, const struct type *b)
{
    if (a->kind == TYPE_POISON || b->kind == TYPE_POISON)
        return type_simple(TYPE_POISON);
    if (type_equal(a, b) || a->kind == TYPE_NULL)
        return b;
    if (b->kind == TYPE_NULL)
        return a;
    if (a->kind == TYPE_STRING && b->kind == TYPE_STRING)
        return type_simple(TYPE_STRING);
    if (a->kind == TYPE_BYTES && b->kind == TYPE_BYTES)
        return type_simple(TYPE_BYTES);
    if (type_widens(a, b))
        return b;
    if (type_widens(b, a))
        return a;
    bool exact = (type_is_integer(a) || a->kind == TYPE_DECIMAL) &&
                 (type_is_integer(b) || b->kind == TYPE_DECIMAL);
    return exact ? join_decimals(program, a, b) : NULL;
}

bool coerce(struct scope *scope, struct expr **slot, const struct type *type)
{
    struct expr *expr = *slot;
    if (is_poison(expr) || type->kind == TYPE_POISON || type_equal(expr->type, type))
        return true;
    if (expr->kind == EXPR_NULL && expr->is_literal) {
        expr->type = type;
        return true;
    }
    if (expr->is_literal) {
        enum fit fit = literal_fit(scope, expr, type);
        if (fit == FIT_REPORTED)
            poison(expr);
        return fit != FIT_NO;
    }
    if (expr->type->kind == TYPE_STRING && type->kind == TYPE_STRING && !type->is_json) {
        expr->type = type;
        return true;
    }
    if (!type_widens(expr->type, type) || (type->kind == TYPE_STRING && type->is_json))
        return false;
    *slot = expr_convert(scope, expr, type);
    return true;
}

void coerce_or_report(struct scope *scope, struct expr **slot, const struct type *type,
                      const char *what)
{
    struct program *program = scope->program;
    if (coerce(scope, slot, type))
        return;
    struct expr *expr = *slot;
    struct diag *diag = diag_error(program, PC3005, expr->span, "%s must be %s, and this is %s",
                                   what, type_name(program, type), type_name(program, expr->type));
    help_conversion(scope, diag, expr, type);
    poison(expr);
}

/* What a number literal makes of the type that its neighbours have. */
static const struct type *literal_joins(struct scope *scope, const struct expr *expr,
                                        const struct type *type)
{
    struct program *program = scope->program;
    __int128 n = expr->number.digits;
    if (expr->kind == EXPR_STRING || expr->kind == EXPR_NULL || type_is_float(type))
        return type;
    if (!type_is_integer(type) && type->kind != TYPE_DECIMAL)
        return type;
    if (expr->kind == EXPR_INTEGER && type->kind == TYPE_INT32)
        return n == (int32_t)n ? type : expr->type;
    if (expr->kind == EXPR_INTEGER && type->kind == TYPE_INT64)
        return n == (int64_t)n ? type : expr->type;
    unsigned digits = digits_of(n), scale = expr->kind == EXPR_DECIMAL ? expr->number.scale : 0;
    const struct type *own =
        type_decimal(program, digits > scale ? digits : scale + (scale == 0), scale);
    return join_types(program, type, own);
}

const struct type *common_type(struct scope *scope, struct expr **const *slots, size_t count)
{
    const struct type *type = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct expr *expr = *slots[i];
        if (expr->is_literal)
            continue;
        type = type ? join_types(scope->program, type, expr->type) : expr->type;
        if (!type)
            return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        const struct expr *expr = *slots[i];
        if (!expr->is_literal)
            continue;
        if (!type || type->kind == TYPE_NULL)
            type = expr->type;
        else if (type->kind != TYPE_POISON && !is_poison(expr))
            type = literal_joins(scope, expr, type);
        if (!type)
            return NULL;
    }
    return type;
}

/* --- paths --- */

static bool comes_from_kafka(const struct scope *scope)
{
    for (size_t i = 0; i < scope->program->streams.count; i++) {
        const struct stream *stream = scope->program->streams.items[i];
        if (stream->kind == STREAM_SOURCE && stream->source && stream->source->is_kafka)
            return true;
    }
    return false;
}

static bool kafka_path(struct scope *scope, struct expr *expr)
{
    static const struct {
        const char *name;
        enum path_root root;
        enum type_kind kind;
    } roots[] = {
        {"kafka_time", ROOT_KAFKA_TIME, TYPE_TIMESTAMP_MS},
        {"kafka_partition", ROOT_KAFKA_PARTITION, TYPE_INT32},
        {"kafka_offset", ROOT_KAFKA_OFFSET, TYPE_INT64},
        {"kafka_key", ROOT_KAFKA_KEY, TYPE_BYTES},
    };
    if (expr->path.count != 1)
        return false;
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        if (strcmp(roots[i].name, expr->path.items[0].text) != 0)
            continue;
        if (!scope->allows_kafka) {
            struct diag *diag = diag_error(scope->program, PC3022, expr->span,
                                           "`%s` can't be read here", roots[i].name);
            diag_note(diag, "%s", scope->kafka_refusal);
            if (comes_from_kafka(scope))
                diag_help(diag, "select it into a column of an earlier stream");
            else
                diag_help(diag, "remove it; only records of a topic have it");
            poison(expr);
            return true;
        }
        scope->uses_kafka = true;
        expr->root = roots[i].root;
        expr->type = type_simple(roots[i].kind);
        expr->nullable =
            roots[i].root == ROOT_KAFKA_KEY && !fact_known(scope->facts, &roots[i].name, 1);
        return true;
    }
    return false;
}

static void report_not_record(struct scope *scope, const struct expr *expr, size_t at,
                              const struct type *type)
{
    const struct name *name = &expr->path.items[at];
    struct span before = span_join(expr->path.items[0].span, expr->path.items[at - 1].span);
    const char *text = span_text(scope->program, before);
    struct diag *diag =
        diag_error(scope->program, PC2021, name->span, "`%s` is %s, it has no field `%s`", text,
                   type_name(scope->program, type), name->text);
    if (type->kind == TYPE_MAP)
        diag_help(diag, "write `get(%s, '%s')`", text, name->text);
    else if (type->kind == TYPE_ARRAY)
        diag_help(diag, "`unnest %s as …` makes a row of each element; `get(%s, 0)` is the first",
                  text, text);
    else if (type->kind == TYPE_STRING)
        diag_help(diag, "write `json_value(%s, '%s')` if it holds JSON", text, name->text);
}

static void report_no_field(struct scope *scope, const struct name *name,
                            const struct record_type *record)
{
    struct diag *diag = diag_error(scope->program, PC2021, name->span,
                                   "record `%s` has no field `%s`", record->name, name->text);
    if (!diag_is_shown(diag))
        return;
    const char *meant = nearest_field(scope->program, record, name->text);
    if (meant)
        diag_help(diag, "did you mean `%s`?", meant);
    else
        diag_help(diag, "its fields are: %s", field_list(scope->program, record));
}

static void check_path(struct scope *scope, struct expr *expr)
{
    poison(expr);
    if (!scope->row)
        return;
    const struct record_type *record = scope->row;
    const char **names = arena_alloc(scope->program->arena, expr->path.count * sizeof *names);
    bool nullable = false;
    const struct type *type = NULL;
    expr->steps.count = 0;
    for (size_t i = 0; i < expr->path.count; i++) {
        if (i > 0 && type->kind != TYPE_RECORD) {
            if (type->kind != TYPE_POISON)
                report_not_record(scope, expr, i, type);
            return;
        }
        if (i > 0)
            record = type->record;
        names[i] = expr->path.items[i].text;
        int index = field_index(record, names[i]);
        if (index < 0) {
            if (i > 0)
                report_no_field(scope, &expr->path.items[i], record);
            else if (!kafka_path(scope, expr))
                report_unknown_value(scope, &expr->path, record);
            return;
        }
        const struct field *field = &record->fields[index];
        type = field->type;
        if (field->nullable && !fact_known(scope->facts, names, i + 1))
            nullable = true;
        vec_push(scope->program->arena, &expr->steps, (uint32_t)index);
    }
    expr->root = ROOT_COLUMN;
    expr->type = type;
    expr->nullable = nullable;
}

/* --- predicates --- */

static void report_mismatch(struct scope *scope, const struct expr *at, const struct expr *a,
                            const struct expr *b, const char *op)
{
    struct program *program = scope->program;
    struct diag *diag = diag_error(program, PC3001, at->span, "`%s` can't join %s and %s", op,
                                   type_name(program, a->type), type_name(program, b->type));
    diag_also(diag, a->span, "%s", type_name(program, a->type));
    diag_also(diag, b->span, "%s", type_name(program, b->type));
    if (help_number(scope, diag, op, a, b))
        return;
    if (type_is_integer(a->type) && type_is_float(b->type))
        help_either_conversion(scope, diag, a, b);
    else
        help_either_conversion(scope, diag, b, a);
}

/* Brings the slots to one type; false (all reported) if there is none. */
bool unify(struct scope *scope, const struct expr *at, struct expr **const *slots, size_t count,
           const char *op)
{
    for (size_t i = 0; i < count; i++)
        if (is_poison(*slots[i]))
            return false;
    const struct type *type = common_type(scope, slots, count);
    for (size_t i = 0; type && i < count; i++) {
        if (coerce(scope, slots[i], type))
            continue;
        size_t other = i == 0 ? 1 : 0;
        report_mismatch(scope, at, *slots[other], *slots[i], op);
        return false;
    }
    if (type)
        return !is_poison(*slots[0]) && !is_poison(*slots[count - 1]);
    for (size_t i = 1; i < count; i++)
        if (!join_types(scope->program, (*slots[0])->type, (*slots[i])->type)) {
            report_mismatch(scope, at, *slots[0], *slots[i], op);
            return false;
        }
    report_mismatch(scope, at, *slots[0], *slots[1], op);
    return false;
}

static void report_never_null(struct scope *scope, const struct expr *expr)
{
    struct program *program = scope->program;
    const char *text = span_text(program, expr->left->span);
    struct diag *diag = diag_lint(program, W2006, expr->span, "`%s` is always %s",
                                  span_text(program, expr->span), expr->negated ? "true" : "false");
    diag_note(diag, "`%s` is never null here", text);
    diag_help(diag, "remove it");
}

static void check_between(struct scope *scope, struct expr *expr)
{
    check_expr(scope, &expr->left);
    check_expr(scope, &expr->low);
    check_expr(scope, &expr->high);
    struct expr **slots[] = {&expr->left, &expr->low, &expr->high};
    poison(expr);
    if (!unify(scope, expr, slots, 3, "between"))
        return;
    if (!type_is_ordered(expr->left->type)) {
        diag_error(scope->program, PC3002, expr->left->span, "`between` has no order for %s",
                   type_name(scope->program, expr->left->type));
        return;
    }
    expr->type = type_simple(TYPE_BOOL);
    expr->nullable = expr->left->nullable || expr->low->nullable || expr->high->nullable;
    expr->fallible = expr->left->fallible || expr->low->fallible || expr->high->fallible;
}

static void check_in(struct scope *scope, struct expr *expr)
{
    check_expr(scope, &expr->left);
    poison(expr);
    bool ok = !is_poison(expr->left);
    for (size_t i = 0; i < expr->args.count; i++)
        check_expr(scope, &expr->args.items[i]);
    size_t count = expr->args.count + 1;
    struct expr ***slots = arena_alloc(scope->program->arena, count * sizeof *slots);
    slots[0] = &expr->left;
    for (size_t i = 1; i < count; i++)
        slots[i] = &expr->args.items[i - 1];
    if (!ok || !unify(scope, expr, slots, count, "in"))
        return;
    if (type_is_nested(expr->left->type)) {
        diag_error(scope->program, PC3002, expr->left->span, "`in` can't compare %s",
                   type_name(scope->program, expr->left->type));
        return;
    }
    expr->type = type_simple(TYPE_BOOL);
    expr->nullable = expr->left->nullable;
    expr->fallible = expr->left->fallible;
}

static void check_pattern(struct scope *scope, struct expr *expr)
{
    const char *word =
        expr->kind == EXPR_LIKE ? "the left side of `like`" : "the left side of `matches`";
    check_expr(scope, &expr->left);
    coerce_or_report(scope, &expr->left, type_simple(TYPE_STRING), word);
    poison(expr);
    if (is_poison(expr->left))
        return;
    if (expr->kind == EXPR_MATCHES) {
        int groups;
        if (!check_regex(scope, expr->span, expr->text, expr->text_bytes, &groups))
            return;
    }
    expr->type = type_simple(TYPE_BOOL);
    expr->nullable = expr->left->nullable;
    expr->fallible = expr->left->fallible;
}

/* --- case, try --- */

static void check_case_conditions(struct scope *scope, struct expr *expr)
{
    struct program *program = scope->program;
    const struct fact *outer = scope->facts;
    if (expr->subject) {
        size_t count = expr->whens.count + 1;
        struct expr ***slots = arena_alloc(program->arena, count * sizeof *slots);
        check_expr(scope, &expr->subject);
        slots[0] = &expr->subject;
        for (size_t i = 0; i < expr->whens.count; i++) {
            check_expr(scope, &expr->whens.items[i].when);
            slots[i + 1] = &expr->whens.items[i].when;
        }
        if (unify(scope, expr, slots, count, "case") && type_is_nested(expr->subject->type))
            diag_error(program, PC3002, expr->subject->span, "`case` can't compare %s",
                       type_name(program, expr->subject->type));
    }
    for (size_t i = 0; i < expr->whens.count; i++) {
        struct when *when = &expr->whens.items[i];
        if (!expr->subject)
            check_decision(scope, &when->when, "when");
        const struct fact *here = scope->facts;
        if (!expr->subject)
            scope->facts = facts_if(program, when->when, true, here);
        check_expr(scope, &when->then);
        scope->facts = expr->subject ? here : facts_if(program, when->when, false, here);
    }
    if (expr->otherwise)
        check_expr(scope, &expr->otherwise);
    scope->facts = outer;
}

static void check_case(struct scope *scope, struct expr *expr)
{
    check_case_conditions(scope, expr);
    size_t count = expr->whens.count + (expr->otherwise ? 1 : 0);
    struct expr ***slots = arena_alloc(scope->program->arena, count * sizeof *slots);
    bool nullable = !expr->otherwise, fallible = expr->subject && expr->subject->fallible;
    for (size_t i = 0; i < expr->whens.count; i++) {
        slots[i] = &expr->whens.items[i].then;
        fallible |= expr->whens.items[i].when->fallible;
    }
    if (expr->otherwise)
        slots[count - 1] = &expr->otherwise;
    poison(expr);
    if (count == 1 ? is_poison(*slots[0]) : !unify(scope, expr, slots, count, "case"))
        return;
    for (size_t i = 0; i < count; i++) {
        nullable |= (*slots[i])->nullable;
        fallible |= (*slots[i])->fallible;
        if (is_poison(*slots[i]))
            return;
    }
    if (is_untyped_null(scope, *slots[0]))
        return;
    expr->type = (*slots[0])->type;
    expr->nullable = nullable;
    expr->fallible = fallible;
}

static void check_try(struct scope *scope, struct expr *expr)
{
    check_expr(scope, &expr->left);
    check_expr(scope, &expr->right);
    struct expr **slots[] = {&expr->left, &expr->right};
    poison(expr);
    if (!unify(scope, expr, slots, 2, "try") || is_untyped_null(scope, expr->left))
        return;
    expr->type = expr->left->type;
    expr->nullable = expr->left->nullable || expr->right->nullable;
    expr->fallible = expr->right->fallible;
}

/* --- entry --- */

static void check_literal(struct scope *scope, struct expr *expr)
{
    __int128 n = expr->number.digits;
    expr->is_constant = expr->is_literal = true;
    switch ((int)expr->kind) {
    case EXPR_SIZE:
        expr->kind = EXPR_INTEGER;
        expr->number = (struct literal_number){.digits = expr->size_bytes};
        n = expr->size_bytes;
        __attribute__((fallthrough));
    case EXPR_INTEGER:
        expr->type = n == (int64_t)n ? type_simple(TYPE_INT64)
                                     : type_decimal(scope->program, digits_of(n), 0);
        break;
    case EXPR_DECIMAL: {
        unsigned digits = digits_of(n), scale = expr->number.scale;
        if (digits < scale)
            digits = scale;
        expr->type = type_decimal(scope->program, digits ? digits : 1, scale);
        break;
    }
    case EXPR_STRING:
        expr->type = type_simple(TYPE_STRING);
        break;
    case EXPR_NULL:
        expr->type = type_simple(TYPE_NULL);
        expr->nullable = true;
        break;
    case EXPR_BOOL:
        expr->type = type_simple(TYPE_BOOL);
        expr->is_literal = false;
        break;
    case EXPR_DURATION:
        expr->type = type_simple(TYPE_DURATION);
        expr->is_literal = false;
        break;
    }
}

void check_expr(struct scope *scope, struct expr **slot)
{
    struct expr *expr = *slot;
    if (expr->type) /* a node that folding has put in twice */
        return;
    switch (expr->kind) {
    case EXPR_INTEGER:
    case EXPR_DECIMAL:
    case EXPR_STRING:
    case EXPR_DURATION:
    case EXPR_SIZE:
    case EXPR_BOOL:
    case EXPR_NULL:
        check_literal(scope, expr);
        break;
    case EXPR_PATH:
        check_path(scope, expr);
        break;
    case EXPR_CALL:
        check_call(scope, slot);
        break;
    case EXPR_UNARY:
    case EXPR_BINARY:
        check_binary(scope, slot);
        break;
    case EXPR_IS_NULL:
        check_expr(scope, &expr->left);
        is_untyped_null(scope, expr->left);
        expr->type = type_simple(is_poison(expr->left) ? TYPE_POISON : TYPE_BOOL);
        expr->fallible = expr->left->fallible;
        if (!is_poison(expr->left) && !expr->left->nullable)
            report_never_null(scope, expr);
        break;
    case EXPR_BETWEEN:
        check_between(scope, expr);
        break;
    case EXPR_IN:
        check_in(scope, expr);
        break;
    case EXPR_LIKE:
    case EXPR_MATCHES:
        check_pattern(scope, expr);
        break;
    case EXPR_CASE:
        check_case(scope, expr);
        break;
    case EXPR_CAST:
        check_cast(scope, slot);
        break;
    case EXPR_TRY:
        check_try(scope, expr);
        break;
    case EXPR_CONVERT:
    case EXPR_SYMBOL:
        break;
    }
    note_growth(scope, *slot);
}

void check_decision(struct scope *scope, struct expr **slot, const char *word)
{
    check_expr(scope, slot);
    struct expr *expr = *slot;
    if (is_poison(expr))
        return;
    if (expr->type->kind != TYPE_BOOL) {
        struct diag *diag =
            diag_error(scope->program, PC3019, expr->span, "`%s` needs a condition, and this is %s",
                       word, type_name(scope->program, expr->type));
        diag_help(diag, "compare it: `%s = …`", span_text(scope->program, expr->span));
        poison(expr);
        return;
    }
    if (expr->nullable) {
        report_nullable(scope, PC3104, expr,
                        arena_printf(scope->program->arena, "`%s` needs a definite answer", word));
        poison(expr);
    }
}
