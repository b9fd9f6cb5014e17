/* emit_clause.c: the static function of a clause's expression. */
#include "emit.h"

#include <string.h>

static bool is_word_character(char c)
{
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Behind a literal or comment that begins at `at`, or `at` itself. */
static const char *skip_opaque(const char *at)
{
    if (at[0] == '/' && at[1] == '*') {
        const char *end = strstr(at, "*/");
        return end != NULL ? end + 2 : at + strlen(at);
    }
    if (*at != '"')
        return at;
    for (at++; *at != '\0' && *at != '"'; at++)
        if (*at == '\\' && at[1] != '\0')
            at++;
    return *at == '"' ? at + 1 : at;
}

/* Whether the C text uses the variable; members of that name, literals and comments do not count.
 */
bool mentions_word(const char *code, const char *word)
{
    size_t size = strlen(word);
    char before = ' ';
    for (const char *at = code; at != NULL && *at != '\0';) {
        const char *behind = skip_opaque(at);
        if (behind != at) {
            at = behind;
            before = '"';
            continue;
        }
        if (!is_word_character(before) && before != '.' && before != '>' &&
            strncmp(at, word, size) == 0 && !is_word_character(at[size]))
            return true;
        before = *at++;
    }
    return false;
}

static void note_uses(struct clause_function *function, const char *code)
{
    function->uses_row = mentions_word(code, "row");
    function->uses_record = mentions_word(code, "record");
    function->uses_arena = mentions_word(code, "arena");
}

static const char *parameters(struct emitter *e, const struct clause_function *function,
                              struct row_view row)
{
    const char *list = "";
    if (function->uses_arena)
        list = "struct pipe_arena *arena";
    if (function->uses_record)
        list =
            arena_printf(e->arena, "%s%sconst struct pipe_record *record", list, *list ? ", " : "");
    if (function->uses_row)
        list = arena_printf(e->arena, "%s%sconst struct %s *row", list, *list ? ", " : "",
                            row.info->tag);
    if (function->nullable || function->fallible)
        list = arena_printf(e->arena, "%s%s%s*value", list, *list ? ", " : "",
                            arena_printf(e->arena, "%s ", c_type(e, function->type)));
    if (function->nullable && function->fallible)
        list = arena_printf(e->arena, "%s, bool *null", list);
    return *list ? list : "void";
}

/* The end of the body: hands the value out. */
static void write_result(struct body *b, const struct clause_function *function, struct value value)
{
    if (!function->nullable && !function->fallible) {
        body_line(b, "return %s;", value.code);
        return;
    }
    if (!function->nullable) {
        body_line(b, "*value = %s;", value.code);
        body_line(b, "return true;");
        return;
    }
    const char *null = value.null != NULL ? value.null : "false";
    bool always = strcmp(null, "true") == 0;
    if (function->fallible) {
        body_line(b, "*null = %s;", null);
        if (!always) {
            body_line(b, "if (!*null)");
            b->level++;
            body_line(b, "*value = %s;", value.code);
            b->level--;
        } else {
            body_line(b, "*value = %s;", value.code);
        }
        body_line(b, "return true;");
        return;
    }
    if (always) {
        body_line(b, "*value = %s;", value.code);
        body_line(b, "return false;");
        return;
    }
    if (value.null != NULL) {
        body_line(b, "if (%s)", null);
        b->level++;
        body_line(b, "return false;");
        b->level--;
    }
    body_line(b, "*value = %s;", value.code);
    body_line(b, "return true;");
}

static const char *result_note(const struct clause_function *function)
{
    if (function->fallible)
        return "False: it failed";
    return function->nullable ? "False: null" : NULL;
}

struct clause_function *clause_function(struct emitter *e, struct row_view row,
                                        const struct expr *expr, const char *name,
                                        struct span clause, const char *note)
{
    struct clause_function *function = arena_alloc(e->arena, sizeof *function);
    *function = (struct clause_function){.name = global_name(e, "%s", name),
                                         .nullable = expr->nullable,
                                         .fallible = expr->fallible,
                                         .type = expr->type};
    struct body body = {.e = e, .level = 1, .row = row, .name = function->name};
    struct value value = lower(&body, expr);
    bool has_statements = body.code.size > 0;
    if (has_statements)
        text_puts(&body.code, "\n");
    write_result(&body, function, value);
    note_uses(function, body.code.data);
    emit_comment(e, 0, clause_comment(e, clause, note != NULL ? note : result_note(function)));
    const char *result = function->nullable || function->fallible ? "bool" : c_type(e, expr->type);
    emit(e, 0, "static %s %s(%s)\n{", result, function->name, parameters(e, function, row));
    text_add(e->out, body.code.data, body.code.size);
    emit(e, 0, "}\n");
    text_free(&body.code);
    return function;
}

const char *clause_call(struct emitter *e, const struct clause_function *function, const char *outs)
{
    const char *list = "";
    if (function->uses_arena)
        list = "&task->arena";
    if (function->uses_record)
        list = arena_printf(e->arena, "%s%srecord", list, *list ? ", " : "");
    if (function->uses_row)
        list = arena_printf(e->arena, "%s%srow", list, *list ? ", " : "");
    if (*outs)
        list = arena_printf(e->arena, "%s%s%s", list, *list ? ", " : "", outs);
    return arena_printf(e->arena, "%s(%s)", function->name, list);
}

void function_begin(struct emitter *e, struct function_text *function)
{
    *function = (struct function_text){.before = e->out};
    e->out = &function->body;
}

void function_end(struct emitter *e, struct function_text *function, const char *head,
                  const char *const *parameters, size_t parameter_count)
{
    e->out = function->before;
    if (function->comment != NULL)
        emit_comment(e, 0, function->comment);
    emit(e, 0, "%s\n{", head);
    bool any = false;
    for (size_t i = 0; i < parameter_count; i++) {
        if (mentions_word(function->body.data, parameters[i]))
            continue;
        emit(e, 1, "(void)%s;", parameters[i]);
        any = true;
    }
    if (any && function->body.size > 0)
        emit_blank(e);
    text_add(e->out, function->body.data, function->body.size);
    emit(e, 0, "}\n");
    text_free(&function->body);
}

void stream_function_end(struct emitter *e, struct function_text *function, const char *name,
                         const char *tag)
{
    static const char *const parameters[] = {"task", "record", "row"};
    function_end(
        e, function,
        arena_printf(e->arena,
                     "static void %s(struct pipe_task *task, const struct pipe_record *record, "
                     "const struct %s *row)",
                     name, tag),
        parameters, 3);
}

bool is_trivial(const struct expr *expr)
{
    return is_atomic(expr) && expr->kind != EXPR_NULL;
}

struct value inline_value(struct emitter *e, struct row_view row, const struct expr *expr)
{
    struct body body = {.e = e, .level = 1, .row = row, .name = "value"};
    struct value value = lower(&body, expr);
    text_free(&body.code); /* empty: is_inline was asked */
    return value;
}
