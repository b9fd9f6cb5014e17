/*
 * ast.c: the syntax tree as text (`--explain --stage ast`): an s-expression a statement, a line a
 * clause. Everything that the parser keeps is printed but places, so two programs that print alike
 * mean the same.
 */
#include <inttypes.h>
#include <string.h>
#include "pipec.h"

static void print_expr(struct text *out, const struct expr *expr);
static void print_constant(struct text *out, const struct constant *constant);

/* A name as it is written: bare if it can be. */
static void print_name(struct text *out, struct name name)
{
    size_t bare =
        strspn(name.text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
    bool is_bare =
        bare > 0 && name.text[bare] == '\0' && (name.text[0] < '0' || name.text[0] > '9');
    text_printf(out, is_bare ? " %s" : " \"%s\"", name.text);
}

static void print_optional(struct text *out, const char *word, struct name name)
{
    if (!name.text)
        return;
    text_printf(out, " %s", word);
    print_name(out, name);
}

static void print_names(struct text *out, const name_list *names)
{
    text_puts(out, " (");
    for (size_t i = 0; i < names->count; i++)
        print_name(out, names->items[i]);
    text_puts(out, " )");
}

static void print_string(struct text *out, const char *text, size_t size)
{
    text_puts(out, " '");
    for (size_t i = 0; i < size; i++)
        text_add(out, text[i] == '\'' ? "''" : text + i, text[i] == '\'' ? 2 : 1);
    text_puts(out, "'");
}

static void print_path(struct text *out, const name_list *path)
{
    for (size_t i = 0; i < path->count; i++) {
        if (i)
            text_puts(out, " .");
        print_name(out, path->items[i]);
    }
}

static void print_number(struct text *out, struct literal_number number)
{
    char digits[64];
    size_t at = sizeof digits;
    bool negative = number.digits < 0;
    unsigned __int128 rest =
        negative ? -(unsigned __int128)number.digits : (unsigned __int128)number.digits;
    digits[--at] = '\0';
    for (unsigned i = 0; rest > 0 || i <= number.scale; i++) {
        if (number.is_decimal && i == number.scale)
            digits[--at] = '.';
        digits[--at] = (char)('0' + (int)(rest % 10));
        rest /= 10;
    }
    text_printf(out, " %s%s", negative ? "-" : "", digits + at);
}

static const char *const OPS[] = {
    [OP_NEG] = "-", [OP_NOT] = "not", [OP_AND] = "and",   [OP_OR] = "or",
    [OP_EQ] = "=",  [OP_NE] = "<>",   [OP_LT] = "<",      [OP_LE] = "<=",
    [OP_GT] = ">",  [OP_GE] = ">=",   [OP_CONCAT] = "||", [OP_ADD] = "+",
    [OP_SUB] = "-", [OP_MUL] = "*",   [OP_DIV] = "/",     [OP_MOD] = "%",
};

static void print_case(struct text *out, const struct expr *expr)
{
    text_puts(out, " (case");
    if (expr->subject)
        print_expr(out, expr->subject);
    for (size_t i = 0; i < expr->whens.count; i++) {
        text_puts(out, " (when");
        print_expr(out, expr->whens.items[i].when);
        print_expr(out, expr->whens.items[i].then);
        text_puts(out, ")");
    }
    if (expr->otherwise) {
        text_puts(out, " else");
        print_expr(out, expr->otherwise);
    }
    text_puts(out, ")");
}

static void print_call(struct text *out, const struct expr *expr)
{
    text_puts(out, " (call");
    print_name(out, expr->call);
    for (size_t i = 0; i < expr->args.count; i++)
        print_expr(out, expr->args.items[i]);
    text_puts(out, ")");
}

static void print_cast(struct text *out, const struct expr *expr)
{
    text_puts(out, " (cast");
    print_expr(out, expr->left);
    print_name(out, expr->cast_type);
    for (int i = 0; i < expr->cast_arg_count; i++)
        text_printf(out, " %u", expr->cast_args[i]);
    text_puts(out, ")");
}

/* "(word left …": the operands of a predicate follow, then a parenthesis. */
static void open_predicate(struct text *out, const struct expr *expr, const char *word)
{
    text_printf(out, " (%s%s", expr->negated ? "not " : "", word);
    print_expr(out, expr->left);
}

static void print_predicate(struct text *out, const struct expr *expr)
{
    if (expr->kind == EXPR_IS_NULL) {
        open_predicate(out, expr, "is_null");
    } else if (expr->kind == EXPR_BETWEEN) {
        open_predicate(out, expr, "between");
        print_expr(out, expr->low);
        print_expr(out, expr->high);
    } else if (expr->kind == EXPR_IN) {
        open_predicate(out, expr, "in");
        for (size_t i = 0; i < expr->args.count; i++)
            print_expr(out, expr->args.items[i]);
    } else {
        open_predicate(out, expr, expr->kind == EXPR_LIKE ? "like" : "matches");
        print_string(out, expr->text, expr->text_bytes);
    }
    text_puts(out, ")");
}

static void print_operands(struct text *out, const char *word, const struct expr *expr)
{
    text_printf(out, " (%s", word);
    print_expr(out, expr->left);
    if (expr->right)
        print_expr(out, expr->right);
    text_puts(out, ")");
}

static void print_expr(struct text *out, const struct expr *expr)
{
    switch (expr->kind) {
    case EXPR_INTEGER:
    case EXPR_DECIMAL:
        print_number(out, expr->number);
        break;
    case EXPR_STRING:
        print_string(out, expr->text, expr->text_bytes);
        break;
    case EXPR_DURATION:
        text_printf(out, " %" PRId64 "ms", expr->duration_ms);
        break;
    case EXPR_SIZE:
        text_printf(out, " %" PRId64 "B", expr->size_bytes);
        break;
    case EXPR_BOOL:
        text_puts(out, expr->boolean ? " true" : " false");
        break;
    case EXPR_NULL:
        text_puts(out, " null");
        break;
    case EXPR_PATH:
        print_path(out, &expr->path);
        break;
    case EXPR_CALL:
        print_call(out, expr);
        break;
    case EXPR_UNARY:
    case EXPR_BINARY:
        print_operands(out, OPS[expr->op], expr);
        break;
    case EXPR_IS_NULL:
    case EXPR_BETWEEN:
    case EXPR_IN:
    case EXPR_LIKE:
    case EXPR_MATCHES:
        print_predicate(out, expr);
        break;
    case EXPR_CASE:
        print_case(out, expr);
        break;
    case EXPR_CAST:
        print_cast(out, expr);
        break;
    case EXPR_TRY:
        print_operands(out, "try", expr);
        break;
    case EXPR_CONVERT:
        print_operands(out, "convert", expr);
        break;
    case EXPR_SYMBOL:
        text_printf(out, " (symbol %" PRIu32 ")", expr->enum_index);
        break;
    }
}

static void print_constant(struct text *out, const struct constant *constant)
{
    switch (constant->kind) {
    case CONST_NUMBER:
        if (constant->negative)
            text_puts(out, " -");
        print_number(out, constant->number);
        break;
    case CONST_STRING:
        print_string(out, constant->text, constant->text_bytes);
        break;
    case CONST_DURATION:
        text_printf(out, " %" PRId64 "ms", constant->duration_ms);
        break;
    case CONST_SIZE:
        text_printf(out, " %" PRId64 "B", constant->size_bytes);
        break;
    case CONST_BOOL:
        text_puts(out, constant->boolean ? " true" : " false");
        break;
    case CONST_NULL:
        text_puts(out, " null");
        break;
    case CONST_ROW:
    case CONST_ARRAY:
        text_puts(out, constant->kind == CONST_ROW ? " (row" : " (array");
        for (size_t i = 0; i < constant->items.count; i++) {
            if (constant->kind == CONST_ROW)
                print_name(out, constant->names.items[i]);
            print_constant(out, constant->items.items[i]);
        }
        text_puts(out, ")");
        break;
    }
}

static void print_items(struct text *out, const item_list *items)
{
    for (size_t i = 0; i < items->count; i++) {
        const struct item *item = &items->items[i];
        text_puts(out, " (item");
        if (item->kind == ITEM_STAR) {
            text_puts(out, " *");
            if (item->except.count)
                print_names(out, &item->except);
        } else {
            print_expr(out, item->expr);
            print_optional(out, "as", item->as);
        }
        text_puts(out, ")");
    }
}

static void print_transforms(struct text *out, const transform_list *transforms)
{
    for (size_t i = 0; i < transforms->count; i++) {
        const struct transform *transform = &transforms->items[i];
        text_puts(out, " (by");
        if (transform->function.text)
            print_name(out, transform->function);
        if (transform->has_argument)
            text_printf(out, " %" PRId64, transform->argument);
        print_name(out, transform->column);
        text_puts(out, ")");
    }
}

static void print_columns(struct text *out, const struct clause *clause)
{
    for (size_t i = 0; i < clause->columns.count; i++) {
        const struct column_decl *column = &clause->columns.items[i];
        text_puts(out, " (column");
        print_name(out, column->name);
        print_name(out, column->type);
        for (int arg = 0; arg < column->arg_count; arg++)
            text_printf(out, " %u", column->args[arg]);
        text_puts(out, column->nullable ? " null)" : ")");
    }
}

static void print_steps(struct text *out, const struct clause *clause)
{
    for (size_t i = 0; i < clause->steps.count; i++) {
        const struct traffic_step *step = &clause->steps.items[i];
        text_puts(out, " (step");
        print_string(out, step->text, step->text_bytes);
        for (size_t k = 0; k < step->targets.count; k++) {
            const struct step_target *target = &step->targets.items[k];
            if (target->is_end)
                text_puts(out, " end");
            else
                print_string(out, target->text, target->text_bytes);
            text_printf(out, " %" PRId64, target->weight);
        }
        text_puts(out, ")");
    }
}

static void print_generator(struct text *out, const struct generator *generator)
{
    static const char *const words[] = {
        [GEN_UNIQUE] = "unique", [GEN_SESSION] = "session", [GEN_UNIFORM] = "uniform",
        [GEN_PICK] = "pick",     [GEN_TEXT] = "text",
    };
    text_printf(out, " (%s", words[generator->kind]);
    if (generator->low) {
        print_constant(out, generator->low);
        print_constant(out, generator->high);
    }
    for (size_t i = 0; i < generator->picks.count; i++) {
        print_constant(out, generator->picks.items[i].value);
        text_printf(out, " %" PRId64, generator->picks.items[i].weight);
    }
    if (generator->has_null) {
        text_puts(out, " null");
        print_number(out, generator->null_percent);
    }
    text_puts(out, generator->per_session ? " per_session)" : ")");
}

static void print_fault(struct text *out, const struct fault *fault)
{
    static const char *const words[] = {
        [FAULT_DUPLICATE] = "duplicate", [FAULT_OUT_OF_ORDER] = "out_of_order",
        [FAULT_LATE] = "late",           [FAULT_AHEAD] = "ahead",
        [FAULT_VALUE] = "value",         [FAULT_POISON] = "poison",
    };
    text_printf(out, " (%s", words[fault->kind]);
    print_number(out, fault->percent);
    if (fault->high_ms)
        text_printf(out, " %" PRId64 "ms..%" PRId64 "ms", fault->low_ms, fault->high_ms);
    if (fault->value) {
        print_path(out, &fault->path);
        print_constant(out, fault->value);
    }
    text_puts(out, ")");
}

static const char *clause_word(enum clause_kind kind)
{
    static const char *const words[] = {
        [CLAUSE_COMMIT] = "commit",
        [CLAUSE_CONTRACT_FROM] = "from",
        [CLAUSE_ACCEPTS] = "accepts",
        [CLAUSE_COMPATIBLE] = "compatible",
        [CLAUSE_FROM_KAFKA] = "from_kafka",
        [CLAUSE_FROM_FILE] = "from_file",
        [CLAUSE_PARTITIONS] = "partitions",
        [CLAUSE_KEY] = "key",
        [CLAUSE_FORMAT] = "format",
        [CLAUSE_HEADER] = "header",
        [CLAUSE_COLUMNS] = "columns",
        [CLAUSE_CONTRACT] = "contract",
        [CLAUSE_EVENT_TIME] = "event_time",
        [CLAUSE_WATERMARK] = "watermark",
        [CLAUSE_IDLE] = "idle",
        [CLAUSE_AHEAD] = "ahead",
        [CLAUSE_DROP_TOMBSTONES] = "drop_tombstones",
        [CLAUSE_REJECTS] = "rejects_to",
        [CLAUSE_WHERE] = "where",
        [CLAUSE_REQUIRE] = "require",
        [CLAUSE_DIVERT] = "divert",
        [CLAUSE_UNNEST] = "unnest",
        [CLAUSE_SELECT] = "select",
        [CLAUSE_DEDUP] = "dedup",
        [CLAUSE_WINDOW] = "window",
        [CLAUSE_GROUP] = "group_by",
        [CLAUSE_AGGREGATE] = "aggregate",
        [CLAUSE_LATENESS] = "lateness",
        [CLAUSE_LATE] = "late_to",
        [CLAUSE_DROP_LATE] = "drop_late",
        [CLAUSE_EMIT] = "emit",
        [CLAUSE_TO_KAFKA] = "to_kafka",
        [CLAUSE_TO_CLICKHOUSE] = "to_clickhouse",
        [CLAUSE_TO_ICEBERG] = "to_iceberg",
        [CLAUSE_TO_FILE] = "to_file",
        [CLAUSE_TO_STDOUT] = "to_stdout",
        [CLAUSE_ORDER] = "order_by",
        [CLAUSE_SORT] = "sort_by",
        [CLAUSE_PARTITION_BY] = "partition_by",
        [CLAUSE_TARGET] = "target",
        [CLAUSE_UPSERT] = "upsert_by",
        [CLAUSE_APPEND_REVISIONS] = "append_revisions",
        [CLAUSE_ROLLUP] = "rollup",
        [CLAUSE_EXACTLY_ONCE] = "exactly_once",
        [CLAUSE_AT_LEAST_ONCE] = "at_least_once",
        [CLAUSE_TRAFFIC_SESSION] = "session",
        [CLAUSE_STEPS] = "steps",
        [CLAUSE_FIELD] = "field",
        [CLAUSE_FAULT] = "fault",
    };
    return words[kind];
}

/* Members that only some kinds use are unset in the others, so one order serves all kinds. */
static void print_clause_values(struct text *out, const struct clause *clause)
{
    static const char *const formats[] = {"",    "avro", "json",  "jsonl",
                                          "csv", "text", "bytes", "parquet"};
    if (clause->text)
        print_string(out, clause->text, clause->text_bytes);
    if (clause->name.text)
        print_name(out, clause->name);
    if (clause->names.count)
        print_names(out, &clause->names);
    for (size_t i = 0; i < clause->strings.count; i++)
        print_string(out, clause->strings.items[i].text, strlen(clause->strings.items[i].text));
    if (clause->expr)
        print_expr(out, clause->expr);
    print_optional(out, clause->kind == CLAUSE_UPSERT ? "version" : "as", clause->as);
    print_transforms(out, &clause->transforms);
    print_items(out, &clause->items);
    print_columns(out, clause);
    if (clause->format)
        text_printf(out, " %s", formats[clause->format]);
    if (clause->kind == CLAUSE_PARTITIONS)
        text_printf(out, " %" PRId64, clause->integer);
    if (clause->flag)
        text_puts(out, clause->kind == CLAUSE_IDLE ? " advance" : " transitive");
}

static void print_clause_times(struct text *out, const struct clause *clause)
{
    static const char *const windows[] = {"tumbling", "hopping", "session"};
    static const char *const emits[] = {"close", "final", "update"};
    if (clause->kind == CLAUSE_WINDOW)
        text_printf(out, " %s", windows[clause->window]);
    if (clause->kind == CLAUSE_EMIT)
        text_printf(out, " %s", emits[clause->emit]);
    bool has_duration = clause->kind == CLAUSE_COMMIT || clause->kind == CLAUSE_WATERMARK ||
                        clause->kind == CLAUSE_IDLE || clause->kind == CLAUSE_AHEAD ||
                        clause->kind == CLAUSE_DEDUP || clause->kind == CLAUSE_WINDOW ||
                        clause->kind == CLAUSE_LATENESS ||
                        (clause->kind == CLAUSE_EMIT && clause->emit == EMIT_UPDATE);
    if (has_duration)
        text_printf(out, " %" PRId64 "ms", clause->duration_ms);
    if (clause->has_second)
        text_printf(out, " second %" PRId64 "ms", clause->second_ms);
    if (clause->has_offset)
        text_printf(out, " offset %" PRId64 "ms", clause->offset_ms);
    if (clause->has_size || clause->kind == CLAUSE_TARGET)
        text_printf(out, " %" PRId64 "B", clause->size_bytes);
    if (clause->kind == CLAUSE_TRAFFIC_SESSION)
        text_printf(out, " %" PRId64 "ms..%" PRId64 "ms pause %" PRId64 "ms..%" PRId64 "ms",
                    clause->low_ms, clause->high_ms, clause->pause_low_ms, clause->pause_high_ms);
}

static void print_clause(struct text *out, const struct clause *clause)
{
    text_printf(out, "\n  (%s", clause_word(clause->kind));
    print_clause_values(out, clause);
    print_clause_times(out, clause);
    print_steps(out, clause);
    print_path(out, &clause->path);
    if (clause->generator)
        print_generator(out, clause->generator);
    if (clause->fault)
        print_fault(out, clause->fault);
    text_puts(out, ")");
}

static void print_given(struct text *out, const struct given *given)
{
    text_printf(out, "\n    (at %" PRId64 "ms", given->at_ms);
    if (given->has_partition)
        text_printf(out, " partition %" PRId64, given->partition);
    if (given->kind == GIVEN_ROW)
        print_constant(out, given->row);
    else if (given->kind == GIVEN_TEXT)
        print_string(out, given->text, given->text_bytes);
    else
        text_puts(out, " nothing");
    text_puts(out, ")");
}

static void print_test(struct text *out, const struct statement *statement)
{
    for (size_t i = 0; i < statement->givens.count; i++) {
        text_puts(out, "\n  (given");
        print_name(out, statement->givens.items[i].source);
        for (size_t k = 0; k < statement->givens.items[i].rows.count; k++)
            print_given(out, &statement->givens.items[i].rows.items[k]);
        text_puts(out, ")");
    }
    for (size_t i = 0; i < statement->expects.count; i++) {
        const struct expectation *expectation = &statement->expects.items[i];
        text_puts(out, "\n  (expect");
        print_name(out, expectation->stream);
        if (expectation->nothing)
            text_puts(out, " nothing");
        for (size_t k = 0; k < expectation->rows.count; k++) {
            text_puts(out, "\n   ");
            print_constant(out, expectation->rows.items[k]);
        }
        text_puts(out, ")");
    }
}

static void print_decisions(struct text *out, const struct statement *statement)
{
    static const char *const words[] = {"forward", "rebuild",  "reset",
                                        "drop",    "from_now", "renamed"};
    for (size_t i = 0; i < statement->decisions.count; i++) {
        const struct decision *decision = &statement->decisions.items[i];
        text_printf(out, "\n  (%s", words[decision->kind]);
        print_name(out, decision->name);
        print_optional(out, "to", decision->to);
        if (decision->because)
            print_string(out, decision->because, strlen(decision->because));
        text_puts(out, ")");
    }
}

static void print_statement(struct text *out, const struct statement *statement)
{
    static const char *const words[] = {"pipeline", "contract", "source", "stream", "sink",
                                        "slo",      "traffic",  "test",   "evolve"};
    text_printf(out, "(%s", words[statement->kind]);
    if (statement->name.text)
        print_name(out, statement->name);
    if (statement->text)
        print_string(out, statement->text, statement->text_bytes);
    if (statement->from.count)
        print_names(out, &statement->from);
    if (statement->kind == STATEMENT_SLO) {
        text_printf(out, " %" PRId64 "ms", statement->within_ms);
        print_number(out, statement->percent);
        text_printf(out, " %" PRId64 "ms", statement->over_ms);
    }
    for (size_t i = 0; i < statement->clauses.count; i++)
        print_clause(out, &statement->clauses.items[i]);
    print_test(out, statement);
    print_decisions(out, statement);
    text_puts(out, ")\n");
}

void ast_print(const struct program *program, struct text *out)
{
    for (size_t i = 0; i < program->statements.count; i++)
        print_statement(out, program->statements.items[i]);
}
