/* expression_text.c: typed expressions as canonical source text and as JSON trees (for plans and
 * messages). */
#include "plan.h"

#include <inttypes.h>
#include <string.h>

/* How tightly an expression binds, loosest first: what binds looser than its place asks for gets
 * parentheses. */
enum {
    BIND_OR,
    BIND_AND,
    BIND_NOT,
    BIND_PREDICATE,
    BIND_CONCAT,
    BIND_SUM,
    BIND_TERM,
    BIND_NEG,
    BIND_PRIMARY
};

static const char *const op_text[] = {
    [OP_NEG] = "-", [OP_NOT] = "not", [OP_AND] = "and",   [OP_OR] = "or",
    [OP_EQ] = "=",  [OP_NE] = "<>",   [OP_LT] = "<",      [OP_LE] = "<=",
    [OP_GT] = ">",  [OP_GE] = ">=",   [OP_CONCAT] = "||", [OP_ADD] = "+",
    [OP_SUB] = "-", [OP_MUL] = "*",   [OP_DIV] = "/",     [OP_MOD] = "%",
};

static int binding_of_op(enum op op)
{
    switch (op) {
    case OP_OR:
        return BIND_OR;
    case OP_AND:
        return BIND_AND;
    case OP_NOT:
        return BIND_NOT;
    case OP_EQ:
    case OP_NE:
    case OP_LT:
    case OP_LE:
    case OP_GT:
    case OP_GE:
        return BIND_PREDICATE;
    case OP_CONCAT:
        return BIND_CONCAT;
    case OP_ADD:
    case OP_SUB:
        return BIND_SUM;
    case OP_MUL:
    case OP_DIV:
    case OP_MOD:
        return BIND_TERM;
    case OP_NEG:
        return BIND_NEG;
    }
    return BIND_PRIMARY;
}

static int binding(const struct expr *expr)
{
    switch (expr->kind) {
    case EXPR_UNARY:
    case EXPR_BINARY:
        return binding_of_op(expr->op);
    case EXPR_IS_NULL:
    case EXPR_BETWEEN:
    case EXPR_IN:
    case EXPR_LIKE:
    case EXPR_MATCHES:
        return BIND_PREDICATE;
    case EXPR_CONVERT:
        return binding(expr->left);
    default:
        return BIND_PRIMARY;
    }
}

static void add_string(struct text *out, const char *text, size_t size)
{
    text_puts(out, "'");
    for (size_t i = 0; i < size; i++)
        text_add(out, text[i] == '\'' ? "''" : text + i, text[i] == '\'' ? 2 : 1);
    text_puts(out, "'");
}

static void add_number(struct text *out, const struct literal_number *number)
{
    char digits[48];
    size_t n = sizeof digits;
    __int128 rest = number->digits < 0 ? -number->digits : number->digits;
    unsigned place = 0;
    do {
        digits[--n] = (char)('0' + (int)(rest % 10));
        rest /= 10;
        if (++place == number->scale && number->is_decimal && number->scale > 0)
            digits[--n] = '.';
    } while (rest > 0 || place <= number->scale);
    if (number->digits < 0)
        text_puts(out, "-");
    text_add(out, digits + n, sizeof digits - n);
}

static void add_duration(struct text *out, int64_t ms)
{
    static const struct {
        int64_t ms;
        const char *unit;
    } units[] = {{86400000, "d"}, {3600000, "h"}, {60000, "m"}, {1000, "s"}, {1, "ms"}};
    size_t u = 0;
    while (ms % units[u].ms != 0 || (ms == 0 && u < 3))
        u++;
    text_printf(out, "%" PRId64 "%s", ms / units[u].ms, units[u].unit);
}

static void add_name(struct text *out, const char *name)
{
    bool plain =
        name[0] != '\0' && strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                        "0123456789_") == strlen(name);
    text_printf(out, plain ? "%s" : "\"%s\"", name);
}

static void add_expr(struct text *out, const struct expr *expr, int at_least);

static void add_list(struct text *out, const struct expr *const *args, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        text_puts(out, i > 0 ? ", " : "");
        add_expr(out, args[i], BIND_OR);
    }
}

static void add_case(struct text *out, const struct expr *expr)
{
    text_puts(out, "case ");
    if (expr->subject != NULL) {
        add_expr(out, expr->subject, BIND_CONCAT);
        text_puts(out, " ");
    }
    for (size_t i = 0; i < expr->whens.count; i++) {
        text_puts(out, "when ");
        add_expr(out, expr->whens.items[i].when, BIND_OR);
        text_puts(out, " then ");
        add_expr(out, expr->whens.items[i].then, BIND_OR);
        text_puts(out, " ");
    }
    if (expr->otherwise != NULL) {
        text_puts(out, "else ");
        add_expr(out, expr->otherwise, BIND_OR);
        text_puts(out, " ");
    }
    text_puts(out, "end");
}

static void add_predicate(struct text *out, const struct expr *expr)
{
    add_expr(out, expr->left, BIND_CONCAT);
    const char *negated = expr->negated ? " not" : "";
    switch (expr->kind) {
    case EXPR_IS_NULL:
        text_puts(out, expr->negated ? " is not null" : " is null");
        break;
    case EXPR_BETWEEN:
        text_printf(out, "%s between ", negated);
        add_expr(out, expr->low, BIND_CONCAT);
        text_puts(out, " and ");
        add_expr(out, expr->high, BIND_CONCAT);
        break;
    case EXPR_IN:
        text_printf(out, "%s in (", negated);
        add_list(out, (const struct expr *const *)expr->args.items, expr->args.count);
        text_puts(out, ")");
        break;
    default:
        text_printf(out, "%s %s ", negated, expr->kind == EXPR_LIKE ? "like" : "matches");
        add_string(out, expr->text, expr->text_bytes);
        break;
    }
}

static void add_path(struct text *out, const struct expr *expr)
{
    for (size_t i = 0; i < expr->path.count; i++) {
        text_puts(out, i > 0 ? "." : "");
        add_name(out, expr->path.items[i].text);
    }
}

static void add_operator(struct text *out, const struct expr *expr)
{
    int own = binding_of_op(expr->op);
    if (expr->kind == EXPR_UNARY) {
        text_puts(out, expr->op == OP_NOT ? "not " : "-");
        add_expr(out, expr->left, own);
        return;
    }
    bool chains = own != BIND_PREDICATE;
    add_expr(out, expr->left, chains ? own : own + 1);
    text_printf(out, " %s ", op_text[expr->op]);
    add_expr(out, expr->right, own + 1);
}

static void add_cast(struct text *out, const struct expr *expr)
{
    text_puts(out, "cast(");
    add_expr(out, expr->left, BIND_OR);
    text_printf(out, " as %s", expr->cast_type.text);
    for (int i = 0; i < expr->cast_arg_count; i++)
        text_printf(out, "%s%u", i == 0 ? "(" : ", ", expr->cast_args[i]);
    text_puts(out, expr->cast_arg_count > 0 ? "))" : ")");
}

static void add_node(struct text *out, const struct expr *expr)
{
    switch (expr->kind) {
    case EXPR_INTEGER:
    case EXPR_DECIMAL:
        add_number(out, &expr->number);
        break;
    case EXPR_STRING:
        add_string(out, expr->text, expr->text_bytes);
        break;
    case EXPR_DURATION:
        add_duration(out, expr->duration_ms);
        break;
    case EXPR_SIZE:
        text_printf(out, "%" PRId64 "B", expr->size_bytes);
        break;
    case EXPR_BOOL:
        text_puts(out, expr->boolean ? "true" : "false");
        break;
    case EXPR_NULL:
        text_puts(out, "null");
        break;
    case EXPR_PATH:
        add_path(out, expr);
        break;
    case EXPR_CALL:
        text_printf(out, "%s(", expr->call.text);
        add_list(out, (const struct expr *const *)expr->args.items, expr->args.count);
        text_puts(out, ")");
        break;
    case EXPR_UNARY:
    case EXPR_BINARY:
        add_operator(out, expr);
        break;
    case EXPR_IS_NULL:
    case EXPR_BETWEEN:
    case EXPR_IN:
    case EXPR_LIKE:
    case EXPR_MATCHES:
        add_predicate(out, expr);
        break;
    case EXPR_CASE:
        add_case(out, expr);
        break;
    case EXPR_CAST:
        add_cast(out, expr);
        break;
    case EXPR_TRY:
        text_puts(out, "try(");
        add_expr(out, expr->left, BIND_OR);
        text_puts(out, ", ");
        add_expr(out, expr->right, BIND_OR);
        text_puts(out, ")");
        break;
    case EXPR_CONVERT:
        add_node(out, expr->left);
        break;
    case EXPR_SYMBOL:
        add_string(out, expr->type->symbols[expr->enum_index],
                   strlen(expr->type->symbols[expr->enum_index]));
        break;
    }
}

static void add_expr(struct text *out, const struct expr *expr, int at_least)
{
    bool parentheses = binding(expr) < at_least;
    text_puts(out, parentheses ? "(" : "");
    add_node(out, expr);
    text_puts(out, parentheses ? ")" : "");
}

const char *expression_text(struct program *program, const struct expr *expr)
{
    struct text out = {0};
    add_node(&out, expr);
    const char *kept = arena_strndup(program->arena, out.data, out.size);
    text_free(&out);
    return kept;
}

/* ---- JSON ---- */

static const char *const kind_names[] = {
    [EXPR_INTEGER] = "literal",  [EXPR_DECIMAL] = "literal", [EXPR_STRING] = "literal",
    [EXPR_DURATION] = "literal", [EXPR_SIZE] = "literal",    [EXPR_BOOL] = "literal",
    [EXPR_NULL] = "literal",     [EXPR_PATH] = "column",     [EXPR_CALL] = "call",
    [EXPR_UNARY] = "unary",      [EXPR_BINARY] = "binary",   [EXPR_IS_NULL] = "is_null",
    [EXPR_BETWEEN] = "between",  [EXPR_IN] = "in",           [EXPR_LIKE] = "like",
    [EXPR_MATCHES] = "matches",  [EXPR_CASE] = "case",       [EXPR_CAST] = "cast",
    [EXPR_TRY] = "try",          [EXPR_CONVERT] = "convert", [EXPR_SYMBOL] = "symbol",
};

static void set_text(json_t *node, const char *key, const char *text, size_t size)
{
    json_t *value = json_stringn(text, size);
    json_object_set_new(node, key, value != NULL ? value : json_null());
}

static void set_child(struct program *program, const struct record_type *row, json_t *node,
                      const char *key, const struct expr *child)
{
    if (child != NULL)
        json_object_set_new(node, key, expression_json(program, row, child));
}

static void set_literal(json_t *node, const struct expr *expr)
{
    struct text out = {0};
    switch (expr->kind) {
    case EXPR_INTEGER:
    case EXPR_DECIMAL:
        add_number(&out, &expr->number);
        set_text(node, "value", out.data, out.size);
        break;
    case EXPR_STRING:
        set_text(node, "value", expr->text, expr->text_bytes);
        break;
    case EXPR_DURATION:
        json_object_set_new(node, "value", json_integer(expr->duration_ms));
        break;
    case EXPR_SIZE:
        json_object_set_new(node, "value", json_integer(expr->size_bytes));
        break;
    case EXPR_BOOL:
        json_object_set_new(node, "value", json_boolean(expr->boolean));
        break;
    default:
        json_object_set_new(node, "value", json_null());
        break;
    }
    text_free(&out);
}

/* The names of a path: of the column in `row` and the record fields below it; kafka_time and its
 * kind by name. */
static void set_path(const struct record_type *row, json_t *node, const struct expr *expr)
{
    json_t *path = json_array();
    if (expr->root != ROOT_COLUMN || row == NULL || expr->steps.count == 0) {
        for (size_t i = 0; i < expr->path.count; i++)
            json_array_append_new(path, json_string(expr->path.items[i].text));
        json_object_set_new(node, "kind",
                            json_string(expr->root == ROOT_COLUMN ? "column" : "kafka"));
    } else {
        for (size_t i = 0; i < expr->steps.count; i++) {
            const struct field *field = &row->fields[expr->steps.items[i]];
            json_array_append_new(path, json_string(field->name));
            row = field->type->record;
        }
    }
    json_object_set_new(node, "path", path);
}

static void set_children(struct program *program, const struct record_type *row, json_t *node,
                         const struct expr *expr)
{
    set_child(program, row, node, "left", expr->left);
    set_child(program, row, node, "right", expr->right);
    set_child(program, row, node, "low", expr->low);
    set_child(program, row, node, "high", expr->high);
    set_child(program, row, node, "subject", expr->subject);
    set_child(program, row, node, "else", expr->otherwise);
    if (expr->args.count > 0) {
        json_t *args = json_array();
        for (size_t i = 0; i < expr->args.count; i++)
            json_array_append_new(args, expression_json(program, row, expr->args.items[i]));
        json_object_set_new(node, "args", args);
    }
    if (expr->whens.count > 0) {
        json_t *whens = json_array();
        for (size_t i = 0; i < expr->whens.count; i++) {
            json_t *when = json_object();
            set_child(program, row, when, "when", expr->whens.items[i].when);
            set_child(program, row, when, "then", expr->whens.items[i].then);
            json_array_append_new(whens, when);
        }
        json_object_set_new(node, "whens", whens);
    }
}

json_t *expression_json(struct program *program, const struct record_type *row,
                        const struct expr *expr)
{
    json_t *node = json_object();
    json_object_set_new(node, "kind", json_string(kind_names[expr->kind]));
    if (expr->type != NULL)
        json_object_set_new(node, "type", json_string(type_name(program, expr->type)));
    if (expr->nullable)
        json_object_set_new(node, "nullable", json_true());
    if (expr->negated)
        json_object_set_new(node, "negated", json_true());
    switch (expr->kind) {
    case EXPR_INTEGER:
    case EXPR_DECIMAL:
    case EXPR_STRING:
    case EXPR_DURATION:
    case EXPR_SIZE:
    case EXPR_BOOL:
    case EXPR_NULL:
        set_literal(node, expr);
        return node;
    case EXPR_PATH:
        set_path(row, node, expr);
        return node;
    case EXPR_SYMBOL:
        json_object_set_new(node, "value", json_string(expr->type->symbols[expr->enum_index]));
        return node;
    case EXPR_UNARY:
    case EXPR_BINARY:
        json_object_set_new(node, "op", json_string(op_text[expr->op]));
        break;
    case EXPR_CALL:
        json_object_set_new(node, "function", json_string(expr->call.text));
        break;
    case EXPR_LIKE:
    case EXPR_MATCHES:
        set_text(node, "pattern", expr->text, expr->text_bytes);
        break;
    default:
        break;
    }
    set_children(program, row, node, expr);
    return node;
}

static json_t *type_json(struct program *program, const struct type *type)
{
    json_t *node = json_object();
    json_object_set_new(node, "type", json_string(type_name(program, type)));
    if (type->kind == TYPE_RECORD)
        json_object_set_new(node, "fields", columns_json(program, type->record));
    if (type->kind == TYPE_ARRAY || type->kind == TYPE_MAP) {
        json_t *element = type_json(program, type->element);
        if (type->element_nullable)
            json_object_set_new(element, "nullable", json_true());
        json_object_set_new(node, "element", element);
    }
    if (type->kind == TYPE_ENUM) {
        json_t *symbols = json_array();
        for (size_t i = 0; i < type->symbol_count; i++)
            json_array_append_new(symbols, json_string(type->symbols[i]));
        json_object_set_new(node, "symbols", symbols);
    }
    return node;
}

json_t *columns_json(struct program *program, const struct record_type *row)
{
    json_t *columns = json_array();
    for (size_t i = 0; row != NULL && i < row->field_count; i++) {
        json_t *column = type_json(program, row->fields[i].type);
        json_object_set_new(column, "name", json_string(row->fields[i].name));
        if (row->fields[i].nullable)
            json_object_set_new(column, "nullable", json_true());
        json_array_append_new(columns, column);
    }
    return columns;
}
