/*
 * emit_accumulator.c: the accumulator of a window, a struct of the members of aggregates.h, and how
 * a row is taken into it. Arguments that can fail are evaluated before the window is asked, so that
 * a failing row reaches no window.
 */
#include "emit.h"

#include <string.h>

/* Which member of aggregates.h it is: pipe_<word>. */
const char *aggregate_word(const struct aggregate *aggregate)
{
    const struct type *type = aggregate->arg != NULL ? aggregate->arg->type : NULL;
    const char *number = type == NULL                 ? ""
                         : type_is_float(type)        ? "float"
                         : type->kind == TYPE_DECIMAL ? "decimal"
                                                      : "int";
    bool text = type != NULL &&
                (type->kind == TYPE_STRING || type->kind == TYPE_UUID || type->kind == TYPE_BYTES);
    static const char *const words[][4] = {
        /* int, float, decimal, bytes */
        [AGG_SUM] = {"sum_int", "sum_float", "sum_decimal", ""},
        [AGG_AVG] = {"avg_int", "avg_float", "avg_decimal", ""},
        [AGG_MIN] = {"min_int", "min_float", "min_decimal", "min_bytes"},
        [AGG_MAX] = {"max_int", "max_float", "max_decimal", "max_bytes"},
    };
    size_t column = text                             ? 3
                    : strcmp(number, "float") == 0   ? 1
                    : strcmp(number, "decimal") == 0 ? 2
                                                     : 0;
    switch (aggregate->kind) {
    case AGG_COUNT:
    case AGG_COUNT_IF:
        return "count";
    case AGG_SUM:
    case AGG_AVG:
    case AGG_MIN:
    case AGG_MAX:
        return words[aggregate->kind][column];
    case AGG_FIRST:
        return "first";
    case AGG_LAST:
        return "last";
    case AGG_MIN_BY:
        return "min_by";
    case AGG_MAX_BY:
        return "max_by";
    case AGG_COUNT_DISTINCT:
        return "count_distinct";
    case AGG_APPROX_COUNT_DISTINCT:
        return "approx_count_distinct";
    case AGG_APPROX_QUANTILE:
        break;
    }
    return "approx_quantile";
}

static bool is_plain(const struct aggregate *aggregate)
{
    static const char *const owning[] = {
        "sum_float",      "avg_float", "min_bytes", "max_bytes",      "first",
        "last",           "min_by",    "max_by",    "count_distinct", "approx_count_distinct",
        "approx_quantile"};
    for (size_t i = 0; i < sizeof owning / sizeof *owning; i++)
        if (strcmp(owning[i], aggregate_word(aggregate)) == 0)
            return false;
    return true;
}

/* The members are called as the columns of the window's row: behind start, end and the group
 * columns. */
const char *aggregate_member(struct emitter *e, const struct stream *stream,
                             const struct step *step, size_t i)
{
    return names_of(e, stream)->leaves.info->members[2 + step->key_count + i].name;
}

static bool begins_with(const char *text, const char *word)
{
    size_t size = strlen(word);
    return strncmp(text, word, size) == 0 && (text[size] == '\0' || text[size] == '_');
}

/* What the names of an aggregate's arguments begin with: its member, unless another member could
 * be one of them, as `low_key` of `low`. */
static const char *argument_base(struct emitter *e, const struct stream *stream,
                                 const struct step *step, size_t i)
{
    const char *base = aggregate_member(e, stream, step, i);
    for (size_t number = i;; number += step->aggregate_count) {
        size_t clashes = 0;
        for (size_t j = 0; j < step->aggregate_count; j++)
            clashes += j != i && begins_with(aggregate_member(e, stream, step, j), base);
        if (clashes == 0)
            return base;
        base = arena_printf(e->arena, "argument%zu", number);
    }
}

/* ---- struct, init, merge, save, load, drop ---- */

static void emit_each(struct emitter *e, const struct stream *stream, const struct step *step,
                      const char *before, const char *function, const char *arguments,
                      const char *after)
{
    for (size_t i = 0; i < step->aggregate_count; i++) {
        const char *member = aggregate_member(e, stream, step, i);
        const char *text = arguments;
        for (const char *at; (at = strchr(text, '@')) != NULL;)
            text = arena_printf(e->arena, "%.*s%s%s", (int)(at - text), text, member, at + 1);
        emit(e, 1, "%spipe_%s_%s(%s)%s", before, aggregate_word(&step->aggregates[i]), function,
             text, after);
    }
}

static void emit_load(struct emitter *e, const struct stream *stream, const struct step *step,
                      const char *tag)
{
    static const char *const parameters[] = {"acc", "in"};
    struct function_text function;
    function_begin(e, &function);
    if (step->aggregate_count > 0) {
        struct text all = {0};
        for (size_t i = 0; i < step->aggregate_count; i++)
            text_printf(&all, "%spipe_%s_load(&to->%s, in)", i > 0 ? " && " : "",
                        aggregate_word(&step->aggregates[i]), aggregate_member(e, stream, step, i));
        emit(e, 1, "struct %s *to = acc;\n", tag);
        emit(e, 1, "return %s;", all.data);
        text_free(&all);
    } else {
        emit(e, 1, "return true;");
    }
    function_end(
        e, &function,
        arena_printf(e->arena, "static bool %s_load(void *acc, struct pipe_reader *in)", tag),
        parameters, 2);
}

static void emit_state_functions(struct emitter *e, const struct stream *stream,
                                 const struct step *step, const char *tag)
{
    static const char *const acc[] = {"acc", "out"}, *const both[] = {"into", "from"};
    struct function_text function;
    bool any = step->aggregate_count > 0;

    function_begin(e, &function);
    if (any)
        emit(e, 1, "struct %s *of = acc;\n", tag);
    emit_each(e, stream, step, "", "init", "&of->@", ";");
    function_end(e, &function, arena_printf(e->arena, "static void %s_init(void *acc)", tag), acc,
                 1);

    function_begin(e, &function);
    if (any)
        emit(e, 1, "struct %s *to = into;\nconst struct %s *other = from;\n", tag, tag);
    emit_each(e, stream, step, "", "merge", "&to->@, &other->@", ";");
    function_end(e, &function,
                 arena_printf(e->arena, "static void %s_merge(void *into, const void *from)", tag),
                 both, 2);

    function_begin(e, &function);
    if (any)
        emit(e, 1, "const struct %s *of = acc;\n", tag);
    emit_each(e, stream, step, "", "save", "&of->@, out", ";");
    function_end(
        e, &function,
        arena_printf(e->arena, "static void %s_save(const void *acc, struct pipe_buf *out)", tag),
        acc, 2);

    emit_load(e, stream, step, tag);

    function_begin(e, &function);
    if (any)
        emit(e, 1, "struct %s *of = acc;\n", tag);
    emit_each(e, stream, step, "", "drop", "&of->@", ";");
    function_end(e, &function, arena_printf(e->arena, "static void %s_drop(void *acc)", tag), acc,
                 1);
}

/* ---- update ---- */

/* A value as the text that an aggregate keeps: texts as they are, the rest in state encoding. */
static const char *encoded(struct emitter *e, const struct type *type, const char *code)
{
    if (type->kind == TYPE_STRING || type->kind == TYPE_UUID || type->kind == TYPE_BYTES)
        return code;
    if (type_is_float(type)) /* -0 and 0 are one value */
        code = arena_printf(e->arena, "(%s) + 0", code);
    emit(e, 1, "task->text.size = 0;");
    emit(e, 1, "pipe_value_save(&%s, (%s[]){%s}, &task->text);", type_descriptor(e, type),
         c_type(e, type), code);
    return "pipe_str_of(task->text.data, task->text.size)";
}

/* Leaves braces open if it wrote a condition; returns how many. */
static void emit_first_last(struct emitter *e, const char *word, const char *member,
                            const struct type *type, const char *code)
{
    emit(e, 1, "if (pipe_%s_wants(&acc->%s, &position)) {", word, member);
    emit(e, 2, "task->text.size = 0;");
    emit(e, 2, "pipe_value_save(&%s, (%s[]){%s}, &task->text);", type_descriptor(e, type),
         c_type(e, type), code);
    emit(e, 2,
         "pipe_%s_update(&acc->%s, &position, pipe_str_of(task->text.data, task->text.size));",
         word, member);
    emit(e, 1, "}");
}

static void emit_by(struct emitter *e, const struct aggregate *aggregate, const char *member,
                    const char *base, const char *code, const char *by)
{
    const char *word = aggregate_word(aggregate);
    const struct type *type = aggregate->by->type;
    const char *key = by;
    bool text = type->kind == TYPE_STRING || type->kind == TYPE_UUID || type->kind == TYPE_BYTES;
    if (!text) {
        const char *order = type_is_float(type)          ? "float"
                            : type->kind == TYPE_DECIMAL ? "decimal"
                                                         : "int";
        emit(e, 1, "uint8_t %s_order[PIPE_ORDER_MAX];", base);
        emit(e, 1, "struct pipe_str %s_by = pipe_str_of(%s_order, pipe_order_%s(%s_order, %s));",
             base, base, order, base, by);
        key = arena_printf(e->arena, "%s_by", base);
    }
    emit(e, 1, "if (pipe_%s_wants(&acc->%s, %s, &position)) {", word, member, key);
    emit(e, 2, "task->text.size = 0;");
    emit(e, 2, "pipe_value_save(&%s, (%s[]){%s}, &task->text);",
         type_descriptor(e, aggregate->arg->type), c_type(e, aggregate->arg->type), code);
    emit(e, 2,
         "pipe_%s_update(&acc->%s, %s, &position, pipe_str_of(task->text.data, task->text.size));",
         word, member, key);
    emit(e, 1, "}");
}

/* The call that takes `code` in. */
static void emit_update_call(struct emitter *e, const struct aggregate *aggregate,
                             const char *member, const char *base, const char *code, const char *by)
{
    const char *word = aggregate_word(aggregate);
    switch (aggregate->kind) {
    case AGG_COUNT:
        if (aggregate->arg == NULL || aggregate->arg->fallible || !aggregate->arg->nullable) {
            emit(e, 1, "pipe_count_update(&acc->%s);", member);
            return;
        } /* code: whether it is not null */
        __attribute__((fallthrough));
    case AGG_COUNT_IF:
        emit(e, 1, "if (%s)\n    pipe_count_update(&acc->%s);", code, member);
        return;
    case AGG_FIRST:
    case AGG_LAST:
        emit_first_last(e, word, member, aggregate->arg->type, code);
        return;
    case AGG_MIN_BY:
    case AGG_MAX_BY:
        emit_by(e, aggregate, member, base, code, by);
        return;
    case AGG_COUNT_DISTINCT:
    case AGG_APPROX_COUNT_DISTINCT:
        code = encoded(e, aggregate->arg->type, code);
        break;
    case AGG_APPROX_QUANTILE:
        if (aggregate->arg->type->kind == TYPE_DECIMAL)
            code = arena_printf(e->arena, "pipe_decimal_to_f64(%s, %u)", code,
                                aggregate->arg->type->scale);
        else if (type_is_integer(aggregate->arg->type))
            code = arena_printf(e->arena, "(double)(%s)", code);
        break;
    case AGG_SUM:
    case AGG_AVG:
    case AGG_MIN:
    case AGG_MAX:
        break;
    }
    emit(e, 1, "pipe_%s_update(&acc->%s, %s);", word, member, code);
}

/* The value of an argument inside update_x: inline, from a function of its own, or from the
 * arguments evaluated before. */
static struct value argument_value(struct emitter *e, const struct stream *stream,
                                   const struct expr *arg, const struct clause_function *function,
                                   const char *member)
{
    struct value value = {.code = arena_printf(e->arena, "args->%s", member)};
    if (arg->fallible) {
        if (arg->nullable)
            value.null = arena_printf(e->arena, "args->%s_null", member);
        return value;
    }
    if (function == NULL)
        return inline_value(e, names_of(e, stream)->kept, arg);
    if (!function->nullable) {
        value.code = clause_call(e, function, "");
        return value;
    }
    emit(e, 1, "%s %s_value = %s;", c_type(e, arg->type), member, c_zero(arg->type));
    emit(e, 1, "bool %s_null = !%s;", member,
         clause_call(e, function, arena_printf(e->arena, "&%s_value", member)));
    value.code = arena_printf(e->arena, "%s_value", member);
    value.null = arena_printf(e->arena, "%s_null", member);
    return value;
}

/* The argument as it is computed: of `count(x)`, which asks no more of x, whether it is not null.
 * NULL: nothing is computed. */
static const struct expr *argument_of(struct emitter *e, const struct aggregate *aggregate)
{
    struct expr *arg = aggregate->arg;
    if (aggregate->kind != AGG_COUNT || arg == NULL || arg->fallible)
        return arg;
    if (!arg->nullable)
        return NULL;
    struct expr *test = arena_alloc(e->arena, sizeof *test);
    *test = (struct expr){.kind = EXPR_IS_NULL,
                          .span = arg->span,
                          .type = type_simple(TYPE_BOOL),
                          .left = arg,
                          .negated = true};
    return test;
}

static void emit_update_one(struct emitter *e, const struct stream *stream, const struct step *step,
                            size_t i, struct clause_function *const functions[2])
{
    const struct aggregate *aggregate = &step->aggregates[i];
    const char *member = aggregate_member(e, stream, step, i),
               *base = argument_base(e, stream, step, i);
    const struct expr *arg = argument_of(e, aggregate);
    struct value value = {.code = ""}, by = {.code = ""};
    if (arg != NULL)
        value = argument_value(e, stream, arg, functions[0], base);
    if (aggregate->by != NULL)
        by = argument_value(e, stream, aggregate->by, functions[1],
                            arena_printf(e->arena, "%s_key", base));
    const char *null = value.null;
    if (by.null != NULL)
        null = null == NULL ? by.null : arena_printf(e->arena, "%s || %s", null, by.null);
    if (null == NULL) {
        emit_update_call(e, aggregate, member, base, value.code, by.code);
        return;
    }
    bool simple = strchr(null, ' ') == NULL;
    struct text call = {0}, *before = e->out;
    e->out = &call;
    emit_update_call(e, aggregate, member, base, value.code, by.code);
    e->out = before;
    bool one = strchr(call.data, '\n') == call.data + call.size - 1;
    emit(e, 1, simple ? "if (!%s)%s" : "if (!(%s))%s", null, one ? "" : " {");
    for (char *line = call.data, *end; *line != '\0'; line = end + 1) {
        end = strchr(line, '\n');
        text_printf(e->out, "    %.*s\n", (int)(end - line), line);
    }
    if (!one)
        emit(e, 1, "}");
    text_free(&call);
}

static bool needs_position(const struct step *step)
{
    for (size_t i = 0; i < step->aggregate_count; i++) {
        enum aggregate_kind kind = step->aggregates[i].kind;
        if (kind == AGG_FIRST || kind == AGG_LAST || kind == AGG_MIN_BY || kind == AGG_MAX_BY)
            return true;
    }
    return false;
}

bool args_may_fail(const struct step *step)
{
    for (size_t i = 0; i < step->aggregate_count; i++) {
        const struct aggregate *aggregate = &step->aggregates[i];
        if ((aggregate->arg != NULL && aggregate->arg->fallible) ||
            (aggregate->by != NULL && aggregate->by->fallible))
            return true;
    }
    return false;
}

static void emit_args_member(struct emitter *e, const struct expr *expr, const char *name)
{
    if (expr == NULL || !expr->fallible)
        return;
    emit(e, 1, "%s %s;", c_type(e, expr->type), name);
    if (expr->nullable)
        emit(e, 1, "bool %s_null;", name);
}

/* The struct of arguments that can fail. */
static void emit_args_struct(struct emitter *e, const struct stream *stream,
                             const struct step *step, const char *tag)
{
    emit(e, 0, "struct %s {", tag);
    for (size_t i = 0; i < step->aggregate_count; i++) {
        const char *base = argument_base(e, stream, step, i);
        emit_args_member(e, step->aggregates[i].arg, base);
        emit_args_member(e, step->aggregates[i].by, arena_printf(e->arena, "%s_key", base));
    }
    emit(e, 0, "};\n");
}

static struct clause_function *argument_function(struct emitter *e, const struct stream *stream,
                                                 const struct expr *expr, const char *name,
                                                 struct span span)
{
    if (expr == NULL)
        return NULL;
    bool is_short = expr->kind != EXPR_CASE && !(expr->kind == EXPR_CALL && expr->args.count > 3);
    if (!expr->fallible && is_inline(expr) && is_short &&
        !mentions_word(inline_value(e, names_of(e, stream)->kept, expr).code, "arena"))
        return NULL;
    return clause_function(e, names_of(e, stream)->kept, expr, name, span, NULL);
}

/* One evaluation in keep_x, before the window is asked. */
static void emit_evaluate(struct emitter *e, const struct stream *stream, const struct expr *expr,
                          const struct clause_function *function, const char *member)
{
    if (expr == NULL || !expr->fallible)
        return;
    const char *outs =
        arena_printf(e->arena, "&args.%s%s%s%s", member, expr->nullable ? ", &args." : "",
                     expr->nullable ? member : "", expr->nullable ? "_null" : "");
    emit(e, 1, "if (!%s) {", clause_call(e, function, outs));
    emit_failure(e, 2, stream, "select_rejected", expr, "return;");
    emit(e, 1, "}");
}

void emit_evaluations(struct emitter *e, const struct stream *stream, const struct step *step,
                      const struct window_functions *functions)
{
    if (!args_may_fail(step))
        return;
    emit(e, 1, "struct pipe_counters *count = &task->counters[%s];", names_of(e, stream)->index);
    emit(e, 1, "struct %s args = {0};\n", functions->args_tag);
    for (size_t i = 0; i < step->aggregate_count; i++) {
        const char *base = argument_base(e, stream, step, i);
        emit_evaluate(e, stream, step->aggregates[i].arg, functions->arguments[2 * i], base);
        emit_evaluate(e, stream, step->aggregates[i].by, functions->arguments[2 * i + 1],
                      arena_printf(e->arena, "%s_key", base));
    }
    emit(e, 1, "count->selected++;");
}

static void emit_update(struct emitter *e, const struct stream *stream, const struct step *step,
                        struct window_functions *functions)
{
    struct stream_names *names = names_of(e, stream);
    struct function_text function;
    function_begin(e, &function);
    if (needs_position(step))
        emit(e, 1, "struct pipe_position position = pipe_position_of(record);\n");
    for (size_t i = 0; i < step->aggregate_count; i++)
        emit_update_one(e, stream, step, i, &functions->arguments[2 * i]);
    const char *body = function.body.data == NULL ? "" : function.body.data;
    const char *list = arena_printf(e->arena, "struct %s *acc", functions->acc_tag),
               *call = "hit.acc";
    if (mentions_word(body, "task")) {
        list = arena_printf(e->arena, "struct pipe_task *task, %s", list);
        call = arena_printf(e->arena, "task, %s", call);
    }
    if (mentions_word(body, "record")) {
        list = arena_printf(e->arena, "%s, const struct pipe_record *record", list);
        call = arena_printf(e->arena, "%s, record", call);
    }
    if (mentions_word(body, "row")) {
        list = arena_printf(e->arena, "%s, const struct %s *row", list, names->kept.info->tag);
        call = arena_printf(e->arena, "%s, row", call);
    }
    if (mentions_word(body, "args")) {
        list = arena_printf(e->arena, "%s, const struct %s *args", list, functions->args_tag);
        call = arena_printf(e->arena, "%s, &args", call);
    }
    functions->update_call = arena_printf(e->arena, "update_%s(%s);", names->ident, call);
    static const char *const parameters[] = {"acc"};
    function_end(e, &function,
                 arena_printf(e->arena, "static void update_%s(%s)", names->ident, list),
                 parameters, 1);
}

void emit_accumulator(struct emitter *e, const struct stream *stream, const struct step *step,
                      struct window_functions *functions)
{
    struct stream_names *names = names_of(e, stream);
    const char *tag = unique_in(e, &e->tags, arena_printf(e->arena, "%s_acc", names->ident));
    functions->acc_tag = tag;
    functions->arguments =
        arena_alloc(e->arena, (2 * step->aggregate_count + 2) * sizeof *functions->arguments);
    emit_comment(e, 0, clause_comment(e, step->clause->span, NULL));
    emit(e, 0, "struct %s {", tag);
    bool plain = true;
    for (size_t i = 0; i < step->aggregate_count; i++) {
        const struct aggregate *aggregate = &step->aggregates[i];
        emit(e, 1, "struct pipe_%s %s;", aggregate_word(aggregate),
             aggregate_member(e, stream, step, i));
        plain = plain && is_plain(aggregate);
    }
    if (step->aggregate_count == 0)
        emit(e, 1, "char empty;");
    emit(e, 0, "};\n");
    emit_state_functions(e, stream, step, tag);
    names->accumulator = global_name(e, "%s_accumulator", names->ident);
    emit(e, 0, "static const struct pipe_accumulator %s = {", names->accumulator);
    emit(e, 1,
         ".size_bytes = sizeof(struct %s),\n.plain = %s,\n.init = %s_init,\n.merge = %s_merge,\n"
         ".save = %s_save,\n.load = %s_load,\n.drop = %s_drop,",
         tag, c_bool(plain), tag, tag, tag, tag, tag);
    emit(e, 0, "};\n");
    if (args_may_fail(step)) {
        functions->args_tag =
            unique_in(e, &e->tags, arena_printf(e->arena, "%s_args", names->ident));
        emit_args_struct(e, stream, step, functions->args_tag);
    }
    for (size_t i = 0; i < step->aggregate_count; i++) {
        const struct aggregate *aggregate = &step->aggregates[i];
        const char *member = aggregate_member(e, stream, step, i);
        functions->arguments[2 * i] = argument_function(
            e, stream, argument_of(e, aggregate),
            arena_printf(e->arena, "%s_%s", names->ident, member), aggregate->span);
        functions->arguments[2 * i + 1] = argument_function(
            e, stream, aggregate->by, arena_printf(e->arena, "%s_%s_key", names->ident, member),
            aggregate->span);
    }
    emit_update(e, stream, step, functions);
}
