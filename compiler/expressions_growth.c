/*
 * expressions_growth.c: how long a text can become. A text may have 16 times as many bytes as a
 * record (--max-record), and 1 MiB more: what the program says shows whether an expression stays
 * below that; one that need not is fallible.
 */
#include <string.h>
#include "resolve.h"

enum { RECORD_PERCENT = 100, LIMIT_PERCENT = 16 * RECORD_PERCENT };
enum { LIMIT_BYTES = 1 << 20, SHORT_TEXT_BYTES = 64 /* of numbers, instants, hashes, uuids */ };

static const struct growth one_record = {RECORD_PERCENT, 0},
                           the_limit = {LIMIT_PERCENT, LIMIT_BYTES};
static const struct growth beyond = {LIMIT_PERCENT + 1, 0};

struct growth growth_max(struct growth a, struct growth b)
{
    return (struct growth){a.percent > b.percent ? a.percent : b.percent,
                           a.bytes > b.bytes ? a.bytes : b.bytes};
}

static bool is_within(struct growth growth)
{
    return growth.percent <= LIMIT_PERCENT && growth.bytes <= LIMIT_BYTES;
}

/* Both are below the limit, so that nothing here can overflow. */
static struct growth growth_sum(struct growth a, struct growth b)
{
    return (struct growth){a.percent + b.percent, a.bytes + b.bytes};
}

static struct growth growth_times(struct growth growth, uint64_t times, uint64_t of)
{
    return (struct growth){(growth.percent * times + of - 1) / of,
                           (growth.bytes * times + of - 1) / of};
}

struct growth field_growth(const struct field *field)
{
    bool is_made = field->growth.percent > 0 || field->growth.bytes > 0;
    return is_made ? field->growth : one_record;
}

static struct growth growth_of_path(const struct scope *scope, const struct expr *expr)
{
    if (expr->root != ROOT_COLUMN || expr->steps.count != 1 || !scope->row)
        return one_record;
    return field_growth(&scope->row->fields[expr->steps.items[0]]);
}

static struct growth growth_of_all(const expr_list *args, bool sum)
{
    struct growth growth = {0, 0};
    for (size_t i = 0; i < args->count; i++)
        growth = sum ? growth_sum(growth, args->items[i]->growth)
                     : growth_max(growth, args->items[i]->growth);
    return growth;
}

static bool is_text_literal(const struct expr *expr)
{
    return expr->kind == EXPR_STRING;
}

/* A replacement that comes from data can be put in at every byte of the text. */
static struct growth growth_of_replace(const struct expr *expr)
{
    const struct expr *from = expr->args.items[1], *to = expr->args.items[2];
    struct growth text = expr->args.items[0]->growth;
    if (is_text_literal(to) && to->text_bytes <= 1)
        return text;
    if (!is_text_literal(from) || !is_text_literal(to))
        return beyond;
    if (from->text_bytes == 0 || to->text_bytes <= from->text_bytes)
        return text;
    return growth_times(text, to->text_bytes, from->text_bytes);
}

/* A match may be empty: one in front of each byte and one at the end, each replaced by the literal
 * bytes and by groups that are together no longer than the text, as often as they are named. */
static struct growth growth_of_regexp_replace(const struct expr *expr)
{
    const struct expr *text = expr->args.items[2];
    uint64_t literal_bytes = 0, groups = 0;
    for (size_t i = 0; i < text->text_bytes; i++) {
        bool escaped = text->text[i] == '\\' && i + 1 < text->text_bytes;
        if (escaped && text->text[++i] != '\\')
            groups++;
        else
            literal_bytes++;
    }
    struct growth growth = growth_times(expr->args.items[0]->growth, 1 + literal_bytes + groups, 1);
    growth.bytes += literal_bytes;
    return growth;
}

static struct growth growth_of_call(const struct expr *expr)
{
    const char *name = expr->function->name;
    const struct growth first = expr->args.items[0]->growth;
    if (strcmp(name, "concat") == 0)
        return growth_of_all(&expr->args, true);
    if (strcmp(name, "replace") == 0)
        return growth_of_replace(expr);
    if (strcmp(name, "regexp_replace") == 0)
        return growth_of_regexp_replace(expr);
    if (strcmp(name, "lower") == 0 || strcmp(name, "upper") == 0)
        return growth_times(first, 3, 2); /* U+0250, 2 bytes, becomes U+2C6F, 3 bytes */
    if (strcmp(name, "sha256") == 0 || strcmp(name, "hmac_sha256") == 0)
        return (struct growth){0, SHORT_TEXT_BYTES};
    if (strcmp(name, "format_timestamp") == 0) /* %f becomes 6 digits */
        return (struct growth){0, 3 * (uint64_t)expr->args.items[1]->text_bytes};
    if (strcmp(name, "get") == 0)
        return one_record;
    if (strcmp(name, "coalesce") == 0 || strcmp(name, "greatest") == 0 ||
        strcmp(name, "least") == 0)
        return growth_of_all(&expr->args, false);
    return first; /* a part of it */
}

static struct growth growth_of_case(const struct expr *expr)
{
    struct growth growth = {0, 0};
    for (size_t i = 0; i < expr->whens.count; i++)
        growth = growth_max(growth, expr->whens.items[i].then->growth);
    return expr->otherwise ? growth_max(growth, expr->otherwise->growth) : growth;
}

static uint64_t longest_symbol(const struct type *type)
{
    uint64_t longest = 0;
    for (size_t i = 0; i < type->symbol_count; i++)
        if (strlen(type->symbols[i]) > longest)
            longest = strlen(type->symbols[i]);
    return longest;
}

static struct growth growth_of_cast(const struct expr *expr)
{
    enum type_kind from = expr->left->type->kind;
    if (from == TYPE_STRING || from == TYPE_BYTES)
        return expr->left->growth;
    if (from == TYPE_ENUM)
        return (struct growth){0, longest_symbol(expr->left->type)};
    return (struct growth){0, SHORT_TEXT_BYTES};
}

static bool is_long_chain(const struct expr *expr)
{
    return expr->kind == EXPR_BINARY && expr->outgrows;
}

static struct growth growth_of(const struct scope *scope, const struct expr *expr)
{
    switch ((int)expr->kind) {
    case EXPR_STRING:
        return (struct growth){0, expr->text_bytes};
    case EXPR_PATH:
        return growth_of_path(scope, expr);
    case EXPR_CALL:
        return growth_of_call(expr);
    case EXPR_BINARY: /* `||`: a chain of it is one call, which is checked at its end */
        if (is_long_chain(expr->left) || is_long_chain(expr->right))
            return beyond;
        return growth_sum(expr->left->growth, expr->right->growth);
    case EXPR_CASE:
        return growth_of_case(expr);
    case EXPR_CAST:
        return growth_of_cast(expr);
    case EXPR_TRY:
        return growth_max(expr->left->growth, expr->right->growth);
    case EXPR_CONVERT:
        return expr->left->growth;
    }
    return (struct growth){0, 0};
}

void note_growth(const struct scope *scope, struct expr *expr)
{
    if (expr->type->kind != TYPE_STRING && expr->type->kind != TYPE_BYTES)
        return;
    expr->growth = growth_of(scope, expr);
    if (is_within(expr->growth))
        return;
    expr->outgrows = expr->fallible = true;
    expr->growth = the_limit;
}
