/* resolve_select.c: the items of `select`: names, stars, and what they keep of what was known. */
#include <string.h>
#include "resolve.h"

struct selection {
    struct builder *builder;
    struct record_type *row;
    assign_list assigns;
    bool *from_star;    /* column i came from `*`, a later item may replace it */
    struct span *spans; /* where column i is written */
    size_t capacity;
    bool good;
};

static struct expr *column_path(struct program *program, const struct record_type *row, size_t i,
                                struct span span)
{
    struct expr *expr = arena_alloc(program->arena, sizeof *expr);
    struct name name = {row->fields[i].name, span};
    expr->kind = EXPR_PATH;
    expr->span = span;
    vec_push(program->arena, &expr->path, name);
    vec_push(program->arena, &expr->steps, (uint32_t)i);
    expr->root = ROOT_COLUMN;
    expr->type = row->fields[i].type;
    expr->nullable = row->fields[i].nullable;
    return expr;
}

static void add_column(struct selection *selection, struct field field, struct expr *expr,
                       bool from_star, struct span at)
{
    struct program *program = selection->builder->program;
    int index = field_index(selection->row, field.name);
    struct assign assign = {field.name, expr};
    if (index >= 0 && (from_star || !selection->from_star[index])) {
        struct diag *diag =
            diag_error(program, PC2011, at, "there is already a column `%s`", field.name);
        diag_also(diag, selection->spans[index], "here");
        diag_help(diag, from_star ? "write `* except (%s)`" : "write `as` and another name",
                  field.name);
        selection->good = false;
        return;
    }
    if (index < 0) {
        index = (int)selection->row->field_count;
        row_add(program, selection->row, field);
        vec_push(program->arena, &selection->assigns, assign);
    }
    selection->row->fields[index] = field;
    selection->assigns.items[index] = assign;
    selection->from_star[index] = from_star;
    selection->spans[index] = at;
}

static bool is_excepted(const struct item *item, const char *name)
{
    for (size_t i = 0; i < item->except.count; i++)
        if (strcmp(item->except.items[i].text, name) == 0)
            return true;
    return false;
}

static void add_star(struct selection *selection, const struct item *item)
{
    struct builder *builder = selection->builder;
    const struct record_type *row = builder->scope.row;
    if (!row)
        return;
    for (size_t i = 0; i < item->except.count; i++)
        if (field_index(row, item->except.items[i].text) < 0) {
            report_unknown_column(builder->program, item->except.items[i], row,
                                  builder->scope.row_of);
            selection->good = false;
        }
    for (size_t i = 0; i < row->field_count; i++) {
        if (is_excepted(item, row->fields[i].name))
            continue;
        struct field field = row->fields[i];
        if (!field.span.source)
            field.span = item->span;
        add_column(selection, field, column_path(builder->program, row, i, item->span), true,
                   item->span);
    }
}

static const char *item_name(struct selection *selection, const struct item *item)
{
    const struct expr *expr = item->expr;
    if (item->as.text)
        return item->as.text;
    if (expr->kind == EXPR_PATH)
        return expr->path.items[expr->path.count - 1].text;
    struct program *program = selection->builder->program;
    struct diag *diag = diag_error(program, PC2012, item->span, "this column has no name");
    diag_help(diag, "write `%s as NAME`", span_text(program, item->span));
    selection->good = false;
    return NULL;
}

/* The field of the schema behind a plain path, for messages further down. */
static void keep_origin(const struct record_type *row, const struct expr *expr, struct field *field)
{
    if (expr->kind != EXPR_PATH || expr->root != ROOT_COLUMN || !row)
        return;
    const struct field *origin = NULL;
    for (size_t i = 0; i < expr->steps.count; i++) {
        origin = &row->fields[expr->steps.items[i]];
        row = origin->type->kind == TYPE_RECORD ? origin->type->record : NULL;
    }
    if (!origin)
        return;
    field->written_type = origin->written_type;
    if (origin->span.source)
        field->span = origin->span;
}

static void add_item(struct selection *selection, struct item *item)
{
    struct builder *builder = selection->builder;
    const char *name = item_name(selection, item);
    check_expr(&builder->scope, &item->expr);
    is_untyped_null(&builder->scope, item->expr);
    if (!name)
        return;
    struct expr *expr = item->expr;
    note_fallible(builder, expr);
    struct field field = {.name = name,
                          .type = expr->type,
                          .nullable = expr->nullable,
                          .growth = expr->growth,
                          .span = item->as.text ? item->as.span : item->span};
    keep_origin(builder->scope.row, expr, &field);
    add_column(selection, field, expr, false, item->as.text ? item->as.span : item->span);
}

/* --- what stays known --- */

static bool is_plain_path(const struct expr *expr)
{
    return expr->kind == EXPR_PATH && expr->root == ROOT_COLUMN && !is_poison(expr);
}

/* What was known of a path is known of the column it went to. */
static void carry_facts(struct selection *selection)
{
    struct program *program = selection->builder->program;
    const struct fact *carried = NULL;
    for (size_t i = 0; i < selection->assigns.count; i++) {
        const struct assign *assign = &selection->assigns.items[i];
        const name_list *path = &assign->expr->path;
        if (!is_plain_path(assign->expr))
            continue;
        for (const struct fact *fact = selection->builder->scope.facts; fact; fact = fact->next) {
            size_t same = 0;
            while (same < path->count && same < fact->count &&
                   strcmp(path->items[same].text, fact->names[same]) == 0)
                same++;
            if (same < path->count || fact->count <= path->count)
                continue;
            size_t count = fact->count - path->count + 1;
            const char **names = arena_alloc(program->arena, count * sizeof *names);
            names[0] = assign->name;
            memcpy(names + 1, fact->names + path->count, (count - 1) * sizeof *names);
            carried = fact_add(program, carried, names, count);
        }
    }
    selection->builder->scope.facts = carried;
}

static void carry_partition(struct selection *selection)
{
    struct builder *builder = selection->builder;
    uint32_t *columns =
        arena_alloc(builder->program->arena, (builder->partition_count + 1) * sizeof *columns);
    for (size_t k = 0; k < builder->partition_count; k++) {
        bool found = false;
        for (size_t i = 0; !found && i < selection->assigns.count; i++) {
            const struct expr *expr = selection->assigns.items[i].expr;
            found = is_plain_path(expr) && expr->steps.count == 1 &&
                    expr->steps.items[0] == builder->partition_columns[k];
            if (found)
                columns[k] = (uint32_t)i;
        }
        if (!found)
            builder->partition_known = false;
    }
    builder->partition_columns = columns;
    if (!builder->partition_known)
        builder->partition_count = 0;
}

static void check_kept(struct selection *selection, const struct clause *clause)
{
    const struct stream *stream = selection->builder->stream;
    if (!stream->sends_corrections || !selection->good)
        return;
    for (size_t i = 0; i < stream->info->must_keep.count; i++) {
        const char *name = stream->info->must_keep.items[i];
        int index = field_index(selection->row, name);
        const struct expr *expr = index >= 0 ? selection->assigns.items[index].expr : NULL;
        if (expr && is_plain_path(expr) && expr->steps.count == 1 &&
            strcmp(expr->path.items[0].text, name) == 0)
            continue;
        struct diag *diag = diag_error(selection->builder->program, PC4016, clause->word,
                                       "rows that are corrected must keep `%s`", name);
        diag_note(diag, "it tells which row a later one replaces");
        diag_help(diag, "select window_start, the group columns and revision as they are");
        return;
    }
}

void build_select(struct builder *builder, const struct clause *clause)
{
    struct program *program = builder->program;
    size_t columns = builder->scope.row ? builder->scope.row->field_count : 0;
    size_t capacity = clause->items.count;
    for (size_t i = 0; i < clause->items.count; i++)
        if (clause->items.items[i].kind == ITEM_STAR)
            capacity += columns;
    if (capacity > MAX_COLUMNS) {
        struct diag *diag = diag_error(program, PC2035, clause->word,
                                       "this row would have more than %d columns", MAX_COLUMNS);
        diag_help(diag, "select what is needed, or keep records whole");
        builder->scope.row = NULL;
        return;
    }
    struct selection selection = {.builder = builder, .capacity = capacity, .good = true};
    selection.row = row_new(program, builder->stream->name.text, capacity);
    selection.from_star = arena_alloc(program->arena, (capacity + 1) * sizeof(bool));
    selection.spans = arena_alloc(program->arena, (capacity + 1) * sizeof(struct span));
    struct step *step = step_add(builder, STEP_SELECT, clause);
    for (size_t i = 0; i < clause->items.count; i++) {
        struct item *item = &clause->items.items[i];
        if (item->kind == ITEM_STAR)
            add_star(&selection, item);
        else
            add_item(&selection, item);
    }
    check_kept(&selection, clause);
    carry_facts(&selection);
    carry_partition(&selection);
    step = &builder->steps.items[builder->steps.count - 1];
    memcpy(&step->assigns, &selection.assigns, sizeof step->assigns);
    bool known = selection.good && builder->scope.row;
    step_done(builder, step, known ? selection.row : NULL);
    builder->scope.row_of = builder->stream->name.text;
}
