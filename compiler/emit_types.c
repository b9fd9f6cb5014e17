/* emit_types.c: structs of rows, and the descriptors that say the same to the runtime. */
#include "emit.h"

#include <stdlib.h>
#include <string.h>

static bool rows_match(const struct record_type *a, const struct record_type *b, bool avro);

/* Whether two types are one: to C and the language, or (`avro`) also in how Avro writes them. */
static bool types_match(const struct type *a, const struct type *b, bool avro)
{
    if (a == b)
        return true;
    if (a->kind != b->kind || a->precision != b->precision || a->scale != b->scale)
        return false;
    if (avro && (a->fixed_bytes != b->fixed_bytes || a->is_json != b->is_json))
        return false;
    if (a->kind == TYPE_RECORD)
        return rows_match(a->record, b->record, avro);
    if (a->kind == TYPE_ARRAY || a->kind == TYPE_MAP)
        return a->element_nullable == b->element_nullable &&
               (!avro || !a->element_nullable || a->element_null_first == b->element_null_first) &&
               types_match(a->element, b->element, avro);
    if (a->symbol_count != b->symbol_count)
        return false;
    for (size_t i = 0; i < a->symbol_count; i++)
        if (strcmp(a->symbols[i], b->symbols[i]) != 0)
            return false;
    return true;
}

static bool rows_match(const struct record_type *a, const struct record_type *b, bool avro)
{
    if (a == b)
        return true;
    if (a->field_count != b->field_count)
        return false;
    for (size_t i = 0; i < a->field_count; i++) {
        const struct field *f = &a->fields[i], *g = &b->fields[i];
        if (strcmp(f->name, g->name) != 0 || f->nullable != g->nullable ||
            (avro && f->nullable && f->null_first != g->null_first) ||
            !types_match(f->type, g->type, avro))
            return false;
    }
    return true;
}

bool same_type(const struct type *a, const struct type *b)
{
    return types_match(a, b, true);
}

bool same_row(const struct record_type *a, const struct record_type *b)
{
    return rows_match(a, b, true);
}

int32_t column_named(const struct record_type *type, const char *name)
{
    for (size_t i = 0; i < type->field_count; i++)
        if (strcmp(type->fields[i].name, name) == 0)
            return (int32_t)i;
    return -1;
}

const char *c_type(struct emitter *e, const struct type *type)
{
    switch (type->kind) {
    case TYPE_BOOL:
        return "bool";
    case TYPE_INT32:
    case TYPE_DATE:
        return "int32_t";
    case TYPE_INT64:
    case TYPE_TIMESTAMP_MS:
    case TYPE_TIMESTAMP_US:
    case TYPE_DURATION:
        return "int64_t";
    case TYPE_FLOAT32:
        return "float";
    case TYPE_FLOAT64:
        return "double";
    case TYPE_DECIMAL:
        return "pipe_decimal";
    case TYPE_ENUM:
        return "uint32_t";
    case TYPE_RECORD:
        return arena_printf(e->arena, "struct %s",
                            row_info_of(e, type->record, type->record->name)->tag);
    case TYPE_ARRAY:
        return "struct pipe_array";
    case TYPE_MAP:
        return "struct pipe_map";
    case TYPE_STRING:
    case TYPE_UUID:
    case TYPE_BYTES:
    case TYPE_POISON:
    case TYPE_NULL:
        break;
    }
    return "struct pipe_str";
}

const char *c_zero(const struct type *type)
{
    switch (type->kind) {
    case TYPE_BOOL:
        return "false";
    case TYPE_STRING:
    case TYPE_UUID:
    case TYPE_BYTES:
    case TYPE_RECORD:
    case TYPE_ARRAY:
    case TYPE_MAP:
        return "{0}";
    case TYPE_INT32:
    case TYPE_INT64:
    case TYPE_FLOAT32:
    case TYPE_FLOAT64:
    case TYPE_DECIMAL:
    case TYPE_ENUM:
    case TYPE_DATE:
    case TYPE_TIMESTAMP_MS:
    case TYPE_TIMESTAMP_US:
    case TYPE_DURATION:
    case TYPE_POISON:
    case TYPE_NULL:
        break;
    }
    return "0";
}

/* A word for the type in names: string, decimal_12_2, step, order, strings. */
static const char *type_word(struct emitter *e, const struct type *type)
{
    static const char *const words[] = {
        [TYPE_BOOL] = "bool",
        [TYPE_INT32] = "int32",
        [TYPE_INT64] = "int64",
        [TYPE_FLOAT32] = "float32",
        [TYPE_FLOAT64] = "float64",
        [TYPE_STRING] = "string",
        [TYPE_UUID] = "uuid",
        [TYPE_DATE] = "date",
        [TYPE_TIMESTAMP_MS] = "timestamp_ms",
        [TYPE_DURATION] = "duration",
        [TYPE_BYTES] = "bytes",
        [TYPE_TIMESTAMP_US] = "timestamp_us",
        [TYPE_MAP] = "map",
    };
    switch (type->kind) {
    case TYPE_DECIMAL:
        return arena_printf(e->arena, "decimal_%u_%u", type->precision, type->scale);
    case TYPE_ENUM:
        return mangle(e, type->enum_name != NULL ? type->enum_name : "enum");
    case TYPE_RECORD:
        return mangle(e, type->record->name);
    case TYPE_ARRAY:
        return arena_printf(e->arena, "array_of_%s", type_word(e, type->element));
    case TYPE_MAP:
        return arena_printf(e->arena, "map_of_%s", type_word(e, type->element));
    case TYPE_BYTES:
        return type->fixed_bytes > 0 ? arena_printf(e->arena, "fixed_%u", type->fixed_bytes)
                                     : "bytes";
    case TYPE_STRING:
        return type->is_json ? "json" : "string";
    case TYPE_BOOL:
    case TYPE_INT32:
    case TYPE_INT64:
    case TYPE_FLOAT32:
    case TYPE_FLOAT64:
    case TYPE_UUID:
    case TYPE_DATE:
    case TYPE_TIMESTAMP_MS:
    case TYPE_TIMESTAMP_US:
    case TYPE_DURATION:
        return words[type->kind];
    case TYPE_POISON:
    case TYPE_NULL:
        break;
    }
    return "value";
}

/* ---- structs ---- */

static void write_member(struct emitter *e, const struct field *field, const char *name)
{
    const char *original = strcmp(name, field->name) == 0
                               ? ""
                               : arena_printf(e->arena, " /* %s */", c_string_z(e, field->name));
    if (strstr(field->name, "*/") != NULL || strstr(field->name, "/*") != NULL)
        original = "";
    emit(e, 1, "%s %s;%s", c_type(e, field->type), name, original);
}

static void write_struct(struct emitter *e, const struct row_info *info)
{
    const struct record_type *type = info->type;
    emit(e, 0, "struct %s {", info->tag);
    for (size_t i = 0; i < type->field_count; i++)
        write_member(e, &type->fields[i], info->members[i].name);
    for (size_t i = 0; i < type->field_count; i++)
        if (info->members[i].null != NULL)
            emit(e, 1, "bool %s;", info->members[i].null);
    if (type->field_count == 0)
        emit(e, 1, "char empty;");
    emit(e, 0, "};\n");
}

static void name_members(struct emitter *e, struct row_info *info)
{
    const struct record_type *type = info->type;
    info->members = arena_alloc(e->arena, (type->field_count + 1) * sizeof *info->members);
    ident_list used = {0};
    for (size_t i = 0; i < type->field_count; i++)
        info->members[i].name = unique_in(e, &used, mangle(e, type->fields[i].name));
    for (size_t i = 0; i < type->field_count; i++)
        if (type->fields[i].nullable)
            info->members[i].null =
                unique_in(e, &used, arena_printf(e->arena, "%s_null", info->members[i].name));
}

struct row_info *row_info_of(struct emitter *e, const struct record_type *type, const char *name)
{
    for (size_t i = 0; i < e->rows.count; i++)
        if (rows_match(e->rows.items[i]->type, type, false))
            return e->rows.items[i];
    struct row_info *info = arena_alloc(e->arena, sizeof *info);
    info->type = type;
    for (size_t i = 0; i < type->field_count; i++) { /* nested ones first */
        c_type(e, type->fields[i].type);
        if (type->fields[i].type->kind == TYPE_ARRAY || type->fields[i].type->kind == TYPE_MAP)
            item_type(e, type->fields[i].type);
    }
    name_members(e, info);
    info->tag = unique_in(e, &e->tags, mangle(e, name));
    vec_push(e->arena, &e->rows, info);
    struct text *before = emit_to(e, SECTION_TYPES);
    write_struct(e, info);
    e->out = before;
    return info;
}

const char *item_type(struct emitter *e, const struct type *container)
{
    const struct type *element = container->element;
    bool is_map = container->kind == TYPE_MAP;
    if (element->kind == TYPE_ARRAY || element->kind == TYPE_MAP)
        item_type(e, element);
    const char *value = c_type(e, element);
    if (!is_map && !container->element_nullable)
        return value;
    for (size_t i = 0; i < e->items.count; i++) {
        const struct item_info *item = &e->items.items[i];
        if (item->is_map == is_map && item->nullable == container->element_nullable &&
            types_match(item->element, element, false))
            return arena_printf(e->arena, "struct %s", item->tag);
    }
    const char *tag =
        arena_printf(e->arena, "%s%s_%s", container->element_nullable ? "nullable_" : "",
                     type_word(e, element), is_map ? "entry" : "item");
    tag = unique_in(e, &e->tags, tag);
    vec_push(e->arena, &e->items,
             ((struct item_info){element, container->element_nullable, is_map, tag}));
    struct text *before = emit_to(e, SECTION_TYPES);
    emit(e, 0, "struct %s {", tag);
    if (is_map)
        emit(e, 1, "struct pipe_str key;");
    emit(e, 1, "%s value;", value);
    if (container->element_nullable)
        emit(e, 1, "bool is_null;");
    emit(e, 0, "};\n");
    e->out = before;
    return arena_printf(e->arena, "struct %s", tag);
}

/* ---- descriptors ---- */

static const char *kind_name(const struct type *type)
{
    static const char *const names[] = {
        [TYPE_POISON] = "PIPE_STRING",
        [TYPE_NULL] = "PIPE_STRING",
        [TYPE_BOOL] = "PIPE_BOOL",
        [TYPE_INT32] = "PIPE_INT32",
        [TYPE_INT64] = "PIPE_INT64",
        [TYPE_FLOAT32] = "PIPE_FLOAT32",
        [TYPE_FLOAT64] = "PIPE_FLOAT64",
        [TYPE_DECIMAL] = "PIPE_DECIMAL",
        [TYPE_STRING] = "PIPE_STRING",
        [TYPE_UUID] = "PIPE_UUID",
        [TYPE_ENUM] = "PIPE_ENUM",
        [TYPE_BYTES] = "PIPE_BYTES",
        [TYPE_DATE] = "PIPE_DATE",
        [TYPE_TIMESTAMP_MS] = "PIPE_TIMESTAMP_MS",
        [TYPE_TIMESTAMP_US] = "PIPE_TIMESTAMP_US",
        [TYPE_DURATION] = "PIPE_DURATION",
        [TYPE_RECORD] = "PIPE_RECORD",
        [TYPE_ARRAY] = "PIPE_ARRAY",
        [TYPE_MAP] = "PIPE_MAP",
    };
    return names[type->kind];
}

static struct row_view nested_view(struct emitter *e, const struct record_type *record)
{
    return (struct row_view){row_info_of(e, record, record->name), record};
}

/* What follows `.kind = …` in the descriptor of this type. */
static const char *type_details(struct emitter *e, const struct type *type)
{
    struct arena *arena = e->arena;
    switch (type->kind) {
    case TYPE_DECIMAL:
        return arena_printf(arena, ", .precision = %u, .scale = %u, .fixed_bytes = %u",
                            type->precision, type->scale, type->fixed_bytes);
    case TYPE_STRING:
        return type->is_json ? ", .is_json = true" : "";
    case TYPE_BYTES:
        return type->fixed_bytes > 0 ? arena_printf(arena, ", .fixed_bytes = %u", type->fixed_bytes)
                                     : "";
    case TYPE_RECORD:
        return arena_printf(arena, ", .record = &%s",
                            row_descriptor(e, nested_view(e, type->record)));
    case TYPE_ARRAY:
    case TYPE_MAP:
        return arena_printf(
            arena,
            ", .element = &%s, .element_nullable = %s, .element_bytes = sizeof(%s), "
            ".element_null_first = %s",
            type_descriptor(e, type->element), c_bool(type->element_nullable), item_type(e, type),
            c_bool(type->element_null_first));
    case TYPE_ENUM: {
        const char *symbols = global_name(e, "symbols_%s", type_word(e, type));
        emit(e, 0, "\nstatic const char *const %s[] = {", symbols);
        for (size_t i = 0; i < type->symbol_count; i++)
            emit(e, 1, "%s,", c_string_z(e, type->symbols[i]));
        emit(e, 0, "};");
        return arena_printf(arena, ", .symbols = %s, .symbol_count = %zu", symbols,
                            type->symbol_count);
    }
    case TYPE_BOOL:
    case TYPE_INT32:
    case TYPE_INT64:
    case TYPE_FLOAT32:
    case TYPE_FLOAT64:
    case TYPE_UUID:
    case TYPE_DATE:
    case TYPE_TIMESTAMP_MS:
    case TYPE_TIMESTAMP_US:
    case TYPE_DURATION:
    case TYPE_POISON:
    case TYPE_NULL:
        break;
    }
    return "";
}

const char *type_descriptor(struct emitter *e, const struct type *type)
{
    for (size_t i = 0; i < e->types.count; i++)
        if (same_type(e->types.items[i].type, type))
            return e->types.items[i].name;
    struct text *before = emit_to(e, SECTION_DESCRIPTORS);
    const char *details = type_details(e, type);
    const char *name = global_name(e, "type_%s", type_word(e, type));
    emit(e, 0, "static const struct pipe_type %s = {.kind = %s%s};", name, kind_name(type),
         details);
    vec_push(e->arena, &e->types, ((struct type_descriptor){type, false, name}));
    e->out = before;
    return name;
}

static void write_column(struct emitter *e, struct row_view view, size_t i, const char *type)
{
    const struct field *field = &view.type->fields[i];
    const struct member *member = &view.info->members[i];
    const char *more = "PIPE_NOT_NULL";
    if (field->nullable)
        more = arena_printf(e->arena, "offsetof(struct %s, %s), .null_first = %s", view.info->tag,
                            member->null, c_bool(field->null_first));
    if (field->has_default) {
        char *json = json_dumps(field->default_value, JSON_ENCODE_ANY | JSON_COMPACT);
        if (json == NULL)
            out_of_memory();
        more = arena_printf(e->arena, "%s, .has_default = true, .default_json = %s", more,
                            c_string_z(e, json));
        free(json);
    }
    emit(e, 1, "{%s, &%s, offsetof(struct %s, %s), .null_offset = %s},", c_string_z(e, field->name),
         type, view.info->tag, member->name, more);
}

static bool same_view(struct row_view a, struct row_view b)
{
    if (a.info != b.info || !same_row(a.type, b.type))
        return false;
    for (size_t i = 0; i < a.type->field_count; i++) {
        const struct field *f = &a.type->fields[i], *g = &b.type->fields[i];
        if (f->has_default != g->has_default ||
            (f->has_default && !json_equal(f->default_value, g->default_value)))
            return false;
    }
    return true;
}

const char *row_descriptor(struct emitter *e, struct row_view view)
{
    if (view.info->builtin && same_row(view.info->type, view.type))
        return view.info->descriptor;
    for (size_t i = 0; i < e->views.count; i++)
        if (same_view(e->views.items[i].view, view))
            return e->views.items[i].name;
    struct text *before = emit_to(e, SECTION_DESCRIPTORS);
    const char **types = arena_alloc(e->arena, (view.type->field_count + 1) * sizeof *types);
    for (size_t i = 0; i < view.type->field_count; i++)
        types[i] = type_descriptor(e, view.type->fields[i].type);
    const char *name = global_name(e, "%s_type", view.info->tag);
    const char *columns = "NULL";
    if (view.type->field_count > 0) {
        columns = global_name(e, "%s_columns", view.info->tag);
        emit(e, 0, "\nstatic const struct pipe_column %s[] = {", columns);
        for (size_t i = 0; i < view.type->field_count; i++)
            write_column(e, view, i, types[i]);
        emit(e, 0, "};");
    }
    emit(e, 0, "static const struct pipe_row_type %s = {%s, %s, %zu, sizeof(struct %s)};\n", name,
         c_string_z(e, view.type->name != NULL ? view.type->name : view.info->tag), columns,
         view.type->field_count, view.info->tag);
    vec_push(e->arena, &e->views, ((struct view_descriptor){view, name}));
    e->out = before;
    return name;
}

/* ---- columns ---- */

const char *column_null(struct row_view view, uint32_t column)
{
    return view.type->fields[column].nullable ? view.info->members[column].null : NULL;
}

void emit_column_copy(struct emitter *e, int level, struct row_view from, uint32_t from_column,
                      struct row_view to, uint32_t to_column)
{
    const struct member *source = &from.info->members[from_column];
    const struct member *target = &to.info->members[to_column];
    const char *flag = column_null(from, from_column);
    emit(e, level, "out.%s = row->%s;", target->name, source->name);
    if (target->null == NULL)
        return;
    if (flag != NULL)
        emit(e, level, "out.%s = row->%s;", target->null, flag);
    else
        emit(e, level, "out.%s = false;", target->null);
}
