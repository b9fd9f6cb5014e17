/*
 * syntax.c: parse(), the values of tokens, and the makers of nodes that the actions of parser.y
 * call.
 */
#include <string.h>
#include "syntax_nodes.h"
#include "parser.h"

const struct keyword keywords[] = {
#define KEYWORD(word, token, status, role) {#word, KW_##token, status, role},
#include "keywords.def"
#undef KEYWORD
};
const size_t keyword_count = sizeof keywords / sizeof keywords[0];

const struct keyword *keyword_find(const char *text, size_t size_bytes)
{
    size_t low = 0, high = keyword_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strncmp(keywords[middle].word, text, size_bytes);
        if (order == 0 && keywords[middle].word[size_bytes] == '\0')
            return &keywords[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* ---- Values of tokens ---- */

/* Digits up to `end`; false if there are more than SYNTAX_MAX_DIGITS that count. */
static bool read_digits(const char **at, const char *end, __int128 *value, unsigned *digit_count)
{
    for (; *at < end && ((**at >= '0' && **at <= '9') || **at == '_'); ++*at) {
        if (**at == '_')
            continue;
        if (*digit_count > 0 || **at != '0')
            ++*digit_count;
        if (*digit_count > SYNTAX_MAX_DIGITS)
            return false;
        *value = *value * 10 + (**at - '0');
    }
    return true;
}

struct literal_number number_value(struct syntax *s, struct span span)
{
    const char *at = s->source->text + span.begin, *end = s->source->text + span.end;
    struct literal_number number = {0};
    unsigned digit_count = 0;
    bool fits = read_digits(&at, end, &number.digits, &digit_count);
    if (fits && at < end && *at == '.') {
        number.is_decimal = true;
        const char *fraction = ++at;
        fits = read_digits(&at, end, &number.digits, &digit_count);
        for (; fraction < at; fraction++)
            number.scale += *fraction != '_';
        fits = fits && number.scale <= SYNTAX_MAX_DIGITS;
    }
    if (!fits) {
        lexical_error(s, PC1008, span, "this number has more than %d digits", SYNTAX_MAX_DIGITS);
        return (struct literal_number){.is_decimal = number.is_decimal};
    }
    return number;
}

/* The integer before the unit times `factor`, or -1 beyond `max`. */
static int64_t scaled_value(struct syntax *s, struct span span, __int128 factor, int64_t max)
{
    const char *at = s->source->text + span.begin, *end = s->source->text + span.end;
    __int128 value = 0;
    unsigned digit_count = 0;
    if (!read_digits(&at, end, &value, &digit_count) || value > max || value * factor > max)
        return -1;
    return (int64_t)(value * factor);
}

int64_t duration_value(struct syntax *s, struct span span)
{
    const char *end = s->source->text + span.end;
    int64_t factor = end[-1] == 'd'   ? 86400000
                     : end[-1] == 'h' ? 3600000
                     : end[-1] == 'm' ? 60000
                     : end[-2] == 'm' ? 1
                                      : 1000;
    int64_t value = scaled_value(s, span, factor, SYNTAX_MAX_DURATION_MS);
    if (value >= 0)
        return value;
    struct diag *diag = lexical_error(s, PC1008, span, "this duration is too long");
    if (diag)
        diag_help(diag, "the longest duration is `36_500d`");
    return 0;
}

int64_t size_value(struct syntax *s, struct span span)
{
    const char *end = s->source->text + span.end;
    int64_t factor = end[-2] != 'i'   ? 1
                     : end[-3] == 'K' ? 1024
                     : end[-3] == 'M' ? 1024 * 1024
                                      : 1024 * 1024 * 1024;
    int64_t value = scaled_value(s, span, factor, INT64_MAX);
    if (value >= 0)
        return value;
    lexical_error(s, PC1008, span, "this size does not fit into 64 bits");
    return 0;
}

int64_t integer_value(struct syntax *s, struct number_value number, int64_t max)
{
    if (number.number.digits <= max)
        return (int64_t)number.number.digits;
    lexical_error(s, PC1008, number.span, "this number is too large here");
    return 0;
}

struct string_value string_value(struct syntax *s, struct span span)
{
    const char *from = s->source->text + span.begin + 1;
    size_t size = span.end - span.begin - 2, kept = 0;
    char *text = arena_strndup(s->program->arena, from, size);
    for (size_t i = 0; i < size; i++) {
        text[kept++] = text[i];
        i += text[i] == '\'';
    }
    text[kept] = '\0';
    return (struct string_value){text, kept, span};
}

struct name name_value(struct syntax *s, struct span span, bool quoted)
{
    uint32_t begin = span.begin + quoted, end = span.end - quoted;
    if (begin == end)
        lexical_error(s, PC1007, span, "a name has at least one character");
    if (end - begin > SYNTAX_MAX_NAME_BYTES)
        lexical_error(s, PC1007, span, "this name has %u bytes; the longest has %d", end - begin,
                      SYNTAX_MAX_NAME_BYTES);
    return (struct name){intern(s->program, s->source->text + begin, end - begin), span};
}

struct name string_name(struct syntax *s, struct string_value string)
{
    return (struct name){intern(s->program, string.text, string.text_bytes), string.span};
}

/* ---- Expressions ---- */

static void grow_height(struct syntax *s, struct expr *expr, const struct expr *child)
{
    if (!child || child->height < expr->height)
        return;
    expr->height = child->height + 1;
    if (expr->height <= SYNTAX_MAX_HEIGHT)
        return;
    /* The root is cut loose from what is below it, so that no tree in memory is higher than the
     * limit. */
    expr->kind = EXPR_NULL;
    expr->height = 0;
    expr->left = expr->right = NULL;
    if (s->too_high)
        return;
    s->too_high = true;
    struct diag *diag = diag_error(s->program, PC1009, expr->span,
                                   "this expression joins more than %d parts", SYNTAX_MAX_HEIGHT);
    diag_help(
        diag,
        "write a list as `x in (…)`, or name parts by a `select` in a stream before this one");
}

struct expr *expr_new(struct syntax *s, enum expr_kind kind, struct span span)
{
    struct expr *expr = arena_alloc(s->program->arena, sizeof *expr);
    expr->kind = kind;
    expr->span = span;
    return expr;
}

struct expr *expr_number(struct syntax *s, enum expr_kind kind, struct number_value number)
{
    struct expr *expr = expr_new(s, kind, number.span);
    expr->number = number.number;
    return expr;
}

struct expr *expr_negative(struct syntax *s, enum expr_kind kind, struct span span,
                           struct number_value number)
{
    struct expr *expr = expr_number(s, kind, number);
    expr->span = span;
    expr->number.digits = -expr->number.digits;
    return expr;
}

struct expr *expr_string(struct syntax *s, struct string_value string)
{
    struct expr *expr = expr_new(s, EXPR_STRING, string.span);
    expr->text = string.text;
    expr->text_bytes = string.text_bytes;
    return expr;
}

struct expr *expr_path(struct syntax *s, struct span span, name_list *path)
{
    struct expr *expr = expr_new(s, EXPR_PATH, span);
    expr->path = *path;
    return expr;
}

struct expr *expr_unary(struct syntax *s, struct span span, enum op op, struct expr *operand)
{
    struct expr *expr = expr_new(s, EXPR_UNARY, span);
    expr->op = op;
    expr->left = operand;
    grow_height(s, expr, operand);
    return expr;
}

struct expr *expr_binary(struct syntax *s, enum op op, struct expr *left, struct expr *right)
{
    struct expr *expr = expr_new(s, EXPR_BINARY, span_join(left->span, right->span));
    expr->op = op;
    expr->left = left;
    expr->right = right;
    grow_height(s, expr, left);
    grow_height(s, expr, right);
    return expr;
}

struct expr *expr_is_null(struct syntax *s, struct span span, struct expr *left, bool negated)
{
    struct expr *expr = expr_new(s, EXPR_IS_NULL, span);
    expr->left = left;
    expr->negated = negated;
    grow_height(s, expr, left);
    return expr;
}

struct expr *expr_between(struct syntax *s, struct span span, struct expr *left, bool negated,
                          struct expr *low, struct expr *high)
{
    struct expr *expr = expr_new(s, EXPR_BETWEEN, span);
    expr->left = left;
    expr->negated = negated;
    expr->low = low;
    expr->high = high;
    grow_height(s, expr, left);
    grow_height(s, expr, low);
    grow_height(s, expr, high);
    return expr;
}

struct expr *expr_in(struct syntax *s, struct span span, struct expr *left, bool negated,
                     expr_list *list)
{
    struct expr *expr = expr_new(s, EXPR_IN, span);
    expr->left = left;
    expr->negated = negated;
    expr->args = *list;
    grow_height(s, expr, left);
    return expr;
}

struct expr *expr_like(struct syntax *s, enum expr_kind kind, struct span span, struct expr *left,
                       bool negated, struct string_value pattern)
{
    struct expr *expr = expr_new(s, kind, span);
    expr->left = left;
    expr->negated = negated;
    expr->text = pattern.text;
    expr->text_bytes = pattern.text_bytes;
    grow_height(s, expr, left);
    return expr;
}

struct expr *expr_call(struct syntax *s, struct span span, struct name name, expr_list *args)
{
    struct expr *expr = expr_new(s, EXPR_CALL, span);
    expr->call = name;
    if (args)
        expr->args = *args;
    for (size_t i = 0; i < expr->args.count; i++)
        grow_height(s, expr, expr->args.items[i]);
    return expr;
}

struct expr *expr_cast(struct syntax *s, struct span span, struct expr *left, struct type_ref type)
{
    struct expr *expr = expr_new(s, EXPR_CAST, span);
    expr->left = left;
    expr->cast_type = type.name;
    expr->cast_arg_count = type.arg_count;
    memcpy(expr->cast_args, type.args, sizeof expr->cast_args);
    grow_height(s, expr, left);
    return expr;
}

struct expr *expr_try(struct syntax *s, struct span span, struct expr *left, struct expr *right)
{
    struct expr *expr = expr_new(s, EXPR_TRY, span);
    expr->left = left;
    expr->right = right;
    grow_height(s, expr, left);
    grow_height(s, expr, right);
    return expr;
}

struct expr *expr_case(struct syntax *s, struct span span, struct expr *subject, when_list *whens,
                       struct expr *otherwise)
{
    struct expr *expr = expr_new(s, EXPR_CASE, span);
    expr->subject = subject;
    vec_assign(&expr->whens, whens);
    expr->otherwise = otherwise;
    grow_height(s, expr, subject);
    grow_height(s, expr, otherwise);
    for (size_t i = 0; i < whens->count; i++) {
        grow_height(s, expr, whens->items[i].when);
        grow_height(s, expr, whens->items[i].then);
    }
    return expr;
}

/* ---- The file ---- */

/* Whether the file is a text that the lexer may see; else one error. */
static bool check_text(struct program *program, const struct source *source)
{
    struct span start = {source, 0, 0};
    if (source->size > SYNTAX_MAX_FILE_BYTES) {
        struct diag *diag =
            diag_error(program, PC5001, start, "the file has %zu bytes", source->size);
        diag_help(diag, "a pipeline has at most 1 MiB; is this the right file?");
        return false;
    }
    if (source->size >= 3 && memcmp(source->text, "\xef\xbb\xbf", 3) == 0) {
        struct diag *diag =
            diag_error(program, PC5002, start, "the file begins with a UTF-8 byte-order mark");
        diag_help(diag, "save it as UTF-8 without BOM");
        return false;
    }
    for (size_t i = 0, length; i < source->size; i += length) {
        uint32_t code_point = 0;
        length = utf8_sequence(source->text + i, source->size - i, &code_point);
        if (length == 0 || code_point == 0) {
            struct span byte = {source, (uint32_t)i, (uint32_t)i};
            struct diag *diag =
                diag_error(program, PC5002, byte, "byte 0x%02x at offset %zu is not UTF-8 text",
                           (unsigned char)source->text[i], i);
            diag_help(diag, "a pipeline is UTF-8 text; is this the right file?");
            return false;
        }
    }
    return true;
}

void parse(struct program *program, const struct source *source)
{
    if (!program->source)
        program->source = source;
    if (!check_text(program, source))
        return;
    struct syntax s;
    syntax_open(&s, program, source);
    yyparse(&s);
    syntax_close(&s);
}
