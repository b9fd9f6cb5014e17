/*
 * native.c: the columns of a table as a tree (native_internal.h), and their text (native.h).
 *
 * The tree is made from the row's types by the rules of the compiler's DDL; that both agree is
 * checked once a table, for a block of another layout would be taken for values.
 */
#include "native_internal.h"
#include "process.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- Types of the row, as rows of topics have them ---- */

static const struct pipe_type *copy_type(struct pipe_arena *arena, const struct pipe_type *type);

/* The copied columns. */
static struct pipe_column *copy_row(struct pipe_arena *arena, const struct pipe_row_type *row,
                                    bool deleted, struct pipe_row_type *to)
{
    uint32_t count = row->column_count;
    struct pipe_column *columns = pipe_arena_alloc(arena, (count + 1) * sizeof *columns);
    *to = *row;
    for (uint32_t i = 0; i < count; i++) {
        columns[i] = row->columns[i];
        columns[i].type = copy_type(arena, row->columns[i].type);
    }
    if (deleted) {
        static const struct pipe_type flag = {.kind = PIPE_BOOL};
        columns[count] = (struct pipe_column){.name = "_pipe_deleted",
                                              .type = &flag,
                                              .offset = row->size_bytes,
                                              .null_offset = PIPE_NOT_NULL};
        to->size_bytes += (uint32_t)sizeof(bool);
        to->column_count++;
    }
    to->columns = columns;
    return columns;
}

static const struct pipe_type *copy_type(struct pipe_arena *arena, const struct pipe_type *type)
{
    struct pipe_type *copy = pipe_arena_alloc(arena, sizeof *copy);
    *copy = *type;
    copy->is_json = false;
    if (type->element != NULL)
        copy->element = copy_type(arena, type->element);
    if (type->record != NULL) {
        struct pipe_row_type *record = pipe_arena_alloc(arena, sizeof *record);
        copy_row(arena, type->record, false, record);
        copy->record = record;
    }
    return copy;
}

/* ---- The tree ---- */

static uint32_t fixed_width(const struct pipe_type *type)
{
    switch (type->kind) {
    case PIPE_BOOL:
        return 1;
    case PIPE_INT32:
    case PIPE_FLOAT32:
    case PIPE_DATE:
        return 4;
    case PIPE_INT64:
    case PIPE_FLOAT64:
    case PIPE_TIMESTAMP_MS:
    case PIPE_TIMESTAMP_US:
    case PIPE_DURATION:
        return 8;
    case PIPE_DECIMAL:
        return type->precision <= 9 ? 4 : type->precision <= 18 ? 8 : 16;
    case PIPE_UUID:
        return 16;
    case PIPE_STRING:
    case PIPE_ENUM:
    case PIPE_BYTES:
    case PIPE_RECORD:
    case PIPE_ARRAY:
    case PIPE_MAP:
        break;
    }
    return 0;
}

static enum native_kind kind_of(const struct pipe_type *type)
{
    if (type->kind == PIPE_STRING || type->kind == PIPE_BYTES)
        return NATIVE_STRING;
    if (type->kind == PIPE_ENUM)
        return NATIVE_LOW;
    if (type->kind == PIPE_ARRAY || type->kind == PIPE_MAP)
        return NATIVE_LIST;
    return type->kind == PIPE_RECORD ? NATIVE_TUPLE : NATIVE_FIXED;
}

static struct pipe_str name_prefix(struct pipe_arena *arena, struct pipe_str name, bool first)
{
    struct pipe_buf text = {0};
    struct pipe_str copy = {0};
    pipe_buf_add_byte(&text, first ? '{' : ',');
    pipe_json_string(&text, name);
    pipe_buf_add_byte(&text, ':');
    pipe_str_copy(arena, pipe_str_of(text.data, text.size), &copy);
    pipe_buf_free(&text);
    return copy;
}

/* `null`: the value may be null in the row; `within_null`: what it is part of may be. */
static void make_column(struct native_table *table, struct native_column *column,
                        const struct pipe_type *type, bool null, bool within_null);

static struct native_column *make_children(struct native_table *table, struct native_column *column,
                                           uint32_t count)
{
    column->children = pipe_arena_zalloc(&table->arena, count * sizeof *column->children);
    column->child_count = count;
    for (uint32_t i = 0; i < count; i++)
        column->children[i].parent = column;
    return column->children;
}

static void make_tuple(struct native_table *table, struct native_column *column, bool within_null)
{
    const struct pipe_row_type *record = column->type->record;
    struct native_column *children = make_children(table, column, record->column_count);
    bool null = column->may_be_null || within_null;
    for (uint32_t i = 0; i < record->column_count; i++) {
        const struct pipe_column *from = &record->columns[i];
        bool own_null = from->null_offset != PIPE_NOT_NULL;
        children[i].name = pipe_str_of(from->name, strlen(from->name));
        children[i].prefix = name_prefix(&table->arena, children[i].name, i == 0);
        make_column(table, &children[i], from->type, own_null, null);
        const struct native_column *mark =
            children[i].kind == NATIVE_TUPLE ? children[i].mark : &children[i];
        if (!own_null && mark != NULL && children[i].kind != NATIVE_LIST && column->mark == NULL)
            column->mark = mark;
    }
}

static void make_column(struct native_table *table, struct native_column *column,
                        const struct pipe_type *type, bool null, bool within_null)
{
    column->kind = kind_of(type);
    column->type = type;
    column->may_be_null = null;
    switch (column->kind) {
    case NATIVE_FIXED:
        column->width = fixed_width(type);
        column->nullable = null || within_null;
        break;
    case NATIVE_STRING:
        column->nullable = null || within_null;
        break;
    case NATIVE_LOW:
        column->nullable = null || within_null;
        column->width = type->symbol_count + 2 <= 1u << 8    ? 1
                        : type->symbol_count + 2 <= 1u << 16 ? 2
                                                             : 4;
        break;
    case NATIVE_LIST: {
        bool map = type->kind == PIPE_MAP;
        struct native_column *children = make_children(table, column, map ? 2 : 1);
        if (map)
            children[0].kind = NATIVE_STRING;
        make_column(table, &children[map], type->element, type->element_nullable, false);
        table->lossy = table->lossy || null;
        break;
    }
    case NATIVE_TUPLE:
        column->width = 1; /* of a record without columns */
        make_tuple(table, column, within_null);
        table->lossy = table->lossy || (null && column->mark == NULL);
        break;
    }
}

static void list_columns(struct native_table *table, struct native_column *columns, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        table->all =
            pipe_realloc(table->all, (table->all_count + 1) * sizeof(struct native_column *));
        table->all[table->all_count++] = &columns[i];
        list_columns(table, columns[i].children, columns[i].child_count);
    }
}

/* ---- Text of types ---- */

static void put_identifier(struct pipe_buf *to, struct pipe_str name)
{
    bool plain = name.size > 0 && !(name.data[0] >= '0' && name.data[0] <= '9');
    for (size_t i = 0; i < name.size; i++) {
        char c = name.data[i], letter = (char)(c | 0x20);
        plain = plain && (c == '_' || (c >= '0' && c <= '9') || (letter >= 'a' && letter <= 'z'));
    }
    if (plain) {
        pipe_buf_add(to, name.data, name.size);
        return;
    }
    pipe_buf_add_byte(to, '`');
    for (size_t i = 0; i < name.size; i++) {
        if (name.data[i] == '`' || name.data[i] == '\\')
            pipe_buf_add_byte(to, '\\');
        pipe_buf_add_byte(to, (uint8_t)name.data[i]);
    }
    pipe_buf_add_byte(to, '`');
}

static void put_scalar_type(struct pipe_buf *to, const struct native_column *column)
{
    static const char *const names[] = {
        [PIPE_BOOL] = "Bool",
        [PIPE_INT32] = "Int32",
        [PIPE_INT64] = "Int64",
        [PIPE_FLOAT32] = "Float32",
        [PIPE_FLOAT64] = "Float64",
        [PIPE_STRING] = "String",
        [PIPE_UUID] = "UUID",
        [PIPE_ENUM] = "String",
        [PIPE_BYTES] = "String",
        [PIPE_DATE] = "Date32",
        [PIPE_TIMESTAMP_MS] = "DateTime64(3, 'UTC')",
        [PIPE_TIMESTAMP_US] = "DateTime64(6, 'UTC')",
        [PIPE_DURATION] = "Int64",
        [PIPE_MAP] = NULL,
    };
    if (column->type == NULL)
        pipe_buf_printf(to, column->kind == NATIVE_STRING ? "String" : "Int%u", column->width * 8);
    else if (column->type->kind == PIPE_DECIMAL)
        pipe_buf_printf(to, "Decimal(%u, %u)", column->type->precision, column->type->scale);
    else
        pipe_buf_printf(to, "%s", names[column->type->kind]);
}

static void put_type(struct pipe_buf *to, const struct native_column *column)
{
    if (column->kind == NATIVE_TUPLE || column->kind == NATIVE_LIST) {
        bool tuple = column->kind == NATIVE_TUPLE;
        pipe_buf_printf(to, tuple ? "Tuple(" : column->child_count == 2 ? "Map(" : "Array(");
        for (uint32_t i = 0; i < column->child_count; i++) {
            pipe_buf_printf(to, i > 0 ? ", " : "");
            if (tuple) {
                put_identifier(to, column->children[i].name);
                pipe_buf_add_byte(to, ' ');
            }
            put_type(to, &column->children[i]);
        }
        pipe_buf_add_byte(to, ')');
        return;
    }
    pipe_buf_printf(to, column->kind == NATIVE_LOW ? "LowCardinality(" : "");
    pipe_buf_printf(to, column->nullable ? "Nullable(" : "");
    put_scalar_type(to, column);
    pipe_buf_printf(to, column->nullable ? ")" : "");
    pipe_buf_printf(to, column->kind == NATIVE_LOW ? ")" : "");
}

static bool is_type(const struct native_column *column, const char *type)
{
    struct pipe_buf text = {0};
    if (column->is_flag)
        pipe_buf_printf(&text, "UInt8");
    else
        put_type(&text, column);
    bool same = pipe_str_equal(pipe_str_of(text.data, text.size), pipe_str_of(type, strlen(type)));
    pipe_buf_free(&text);
    return same;
}

static void refuse_definition(const struct native_table *table, uint32_t index)
{
    pipe_end_alone();
    fprintf(stderr, "internal error: table %s: column %u is not what its rows make\n",
            table->def->name, index + 1);
    _exit(4);
}

/* ---- Tables ---- */

/* The row may say that a column can be null where the plan has ruled that out: then the table's
 * column can't, and a row that has a null there is none. */
static void make_table_column(struct native_table *table, struct pipe_column *from, uint32_t index)
{
    struct native_column *column = &table->columns[index];
    const char *type = table->def->columns[index].type;
    bool lossy = table->lossy;
    column->name = pipe_str_of(from->name, strlen(from->name));
    column->prefix = name_prefix(&table->arena, column->name, index == 0);
    column->is_flag = table->def->has_deleted && index + 1 == table->row.column_count;
    const struct native_column bare = *column;
    make_column(table, column, from->type, from->null_offset != PIPE_NOT_NULL, false);
    if (from->null_offset == PIPE_NOT_NULL || is_type(column, type))
        return;
    from->null_offset = PIPE_NOT_NULL;
    *column = bare;
    table->lossy = lossy;
    make_column(table, column, from->type, false, false);
}

void native_table_init(struct native_table *table, const struct pipe_table_def *def,
                       const struct pipe_row_type *row)
{
    static const char *const positions[] = {"_pipe_partition", "_pipe_offset"};
    *table = (struct native_table){.def = def};
    pipe_arena_init(&table->arena, SIZE_MAX);
    struct pipe_column *columns = copy_row(&table->arena, row, def->has_deleted, &table->row);
    uint32_t count = table->row.column_count;
    table->column_count = count + 2;
    if (def->column_count != table->column_count)
        refuse_definition(table, def->column_count);
    table->columns = pipe_arena_zalloc(&table->arena, table->column_count * sizeof *table->columns);
    for (uint32_t i = 0; i < count; i++)
        make_table_column(table, &columns[i], i);
    for (uint32_t i = 0; i < 2; i++) {
        struct native_column *column = &table->columns[count + i];
        column->kind = NATIVE_FIXED;
        column->width = i == 0 ? 4 : 8;
        column->name = pipe_str_of(positions[i], strlen(positions[i]));
    }
    list_columns(table, table->columns, table->column_count);
    for (uint32_t i = 0; i < table->column_count; i++) {
        const char *name = def->columns[i].name;
        if (!pipe_str_equal(table->columns[i].name, pipe_str_of(name, strlen(name))) ||
            !is_type(&table->columns[i], def->columns[i].type))
            refuse_definition(table, i);
    }
}

void native_table_clear(struct native_table *table)
{
    for (uint32_t i = 0; i < table->all_count; i++) {
        struct native_column *column = table->all[i];
        column->rows = 0;
        column->nulls.size = column->data.size = column->ends.size = column->keys.size = 0;
    }
}

void native_table_free(struct native_table *table)
{
    for (uint32_t i = 0; i < table->all_count; i++) {
        struct native_column *column = table->all[i];
        pipe_buf_free(&column->nulls);
        pipe_buf_free(&column->data);
        pipe_buf_free(&column->ends);
        pipe_buf_free(&column->keys);
    }
    free(table->all);
    pipe_arena_free(&table->arena);
}
