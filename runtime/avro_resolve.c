/*
 * avro_resolve.c: builds the program that reads a writer's schema, once avro_compatible.c has found
 * no break. Schemas are untrusted: what they may make is bounded.
 */
#include "avro_program.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_PARTS 65536u /* of each kind */
#define CONSTANT_BYTES (16u << 20)

struct resolver {
    struct pipe_resolved *program;
    char *error;
    size_t error_bytes;
    uint32_t value_room, step_room, number_room;
};

static bool too_large(struct resolver *r)
{
    snprintf(r->error, r->error_bytes, "its schema is too large for a program");
    return false;
}

/* ---- Parts of the program ---- */

static bool grow(struct resolver *r, void **items, uint32_t *room, uint32_t needed, size_t bytes)
{
    if (needed > MAX_PARTS)
        return too_large(r);
    if (needed <= *room)
        return true;
    while (*room < needed)
        *room = *room == 0 ? 16 : *room * 2;
    *items = pipe_realloc(*items, *room * bytes);
    return true;
}

static bool add_value(struct resolver *r, struct program_value value, uint32_t *index)
{
    struct pipe_resolved *program = r->program;
    if (!grow(r, (void **)&program->values, &r->value_room, program->value_count + 1,
              sizeof *program->values))
        return false;
    *index = program->value_count;
    program->values[program->value_count++] = value;
    return true;
}

static bool add_steps(struct resolver *r, uint32_t count, uint32_t *first)
{
    struct pipe_resolved *program = r->program;
    if (!grow(r, (void **)&program->steps, &r->step_room, program->step_count + count,
              sizeof *program->steps))
        return false;
    *first = program->step_count;
    program->step_count += count;
    return true;
}

static bool add_numbers(struct resolver *r, uint32_t count, uint32_t *first)
{
    struct pipe_resolved *program = r->program;
    if (!grow(r, (void **)&program->numbers, &r->number_room, program->number_count + count,
              sizeof *program->numbers))
        return false;
    *first = program->number_count;
    program->number_count += count;
    return true;
}

/* ---- Values ---- */

/* What two schemas that were compared come to. */
static enum program_op scalar_op(const struct schema_node *writer, const struct pipe_type *type)
{
    bool from_int = writer->kind == NODE_INT;
    switch (type->kind) {
    case PIPE_BOOL:
        return OP_BOOL;
    case PIPE_INT32:
        return OP_INT;
    case PIPE_INT64:
    case PIPE_DURATION:
        return from_int ? OP_INT_AS_LONG : OP_LONG;
    case PIPE_FLOAT32:
        return from_int ? OP_INT_AS_FLOAT : writer->kind == NODE_LONG ? OP_LONG_AS_FLOAT : OP_FLOAT;
    case PIPE_FLOAT64:
        return from_int                     ? OP_INT_AS_DOUBLE
               : writer->kind == NODE_LONG  ? OP_LONG_AS_DOUBLE
               : writer->kind == NODE_FLOAT ? OP_FLOAT_AS_DOUBLE
                                            : OP_DOUBLE;
    case PIPE_DECIMAL:
        return writer->kind == NODE_FIXED ? OP_DECIMAL_FIXED : OP_DECIMAL;
    case PIPE_STRING:
        return type->is_json ? OP_JSON : OP_STRING;
    case PIPE_UUID:
        return OP_UUID;
    case PIPE_BYTES:
        return writer->kind == NODE_FIXED ? OP_FIXED : OP_BYTES;
    case PIPE_DATE:
        return OP_DATE;
    case PIPE_TIMESTAMP_MS:
        return OP_TIMESTAMP_MS;
    case PIPE_TIMESTAMP_US:
        return OP_TIMESTAMP_US;
    case PIPE_ENUM:
    case PIPE_RECORD:
    case PIPE_ARRAY:
    case PIPE_MAP:
        break;
    }
    return OP_NULL;
}

static bool build_value(struct resolver *r, const struct schema_node *writer,
                        const struct schema_node *reader, const struct pipe_type *type,
                        uint32_t *index);
static bool build_record(struct resolver *r, const struct schema_node *writer,
                         const struct schema_node *reader, const struct pipe_row_type *row,
                         uint32_t *index);

static int64_t symbol_index(const struct pipe_type *type, const char *symbol)
{
    for (uint32_t i = 0; symbol != NULL && i < type->symbol_count; i++) {
        if (strcmp(type->symbols[i], symbol) == 0)
            return i;
    }
    return -1;
}

/* A symbol that the reader does not know is its default. */
static bool build_enum(struct resolver *r, const struct schema_node *writer,
                       const struct schema_node *reader, const struct pipe_type *type,
                       uint32_t *index)
{
    const json_t *symbols = json_object_get(writer->json, "symbols");
    uint32_t first, count = (uint32_t)json_array_size(symbols);
    int64_t other = symbol_index(type, pipe_schema_text(reader, "default"));
    if (!add_numbers(r, count, &first))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        int64_t known = symbol_index(type, json_string_value(json_array_get(symbols, i)));
        r->program->numbers[first + i] = (uint32_t)(known >= 0 ? known : other);
    }
    return add_value(r, (struct program_value){OP_ENUM, first, count, type}, index);
}

static bool build_union(struct resolver *r, const struct schema_node *writer,
                        const struct schema_node *reader, const struct pipe_type *type,
                        uint32_t *index)
{
    uint32_t first, branch;
    if (!add_numbers(r, writer->child_count, &first))
        return false;
    for (uint32_t i = 0; i < writer->child_count; i++) {
        if (!build_value(r, writer->children[i], reader, type, &branch))
            return false;
        r->program->numbers[first + i] = branch;
    }
    return add_value(r, (struct program_value){OP_UNION, first, writer->child_count, type}, index);
}

static bool build_value(struct resolver *r, const struct schema_node *writer,
                        const struct schema_node *reader, const struct pipe_type *type,
                        uint32_t *index)
{
    uint32_t element;
    reader = pipe_schema_value(reader);
    switch (writer->kind) {
    case NODE_NULL:
        return add_value(r, (struct program_value){OP_NULL, 0, 0, type}, index);
    case NODE_UNION:
        return build_union(r, writer, reader, type, index);
    case NODE_ENUM:
        return build_enum(r, writer, reader, type, index);
    case NODE_RECORD:
        return build_record(r, writer, reader, type->record, index);
    case NODE_ARRAY:
    case NODE_MAP:
        return build_value(r, writer->children[0], reader->children[0], type->element, &element) &&
               add_value(r,
                         (struct program_value){writer->kind == NODE_MAP ? OP_MAP : OP_ARRAY,
                                                element, 0, type},
                         index);
    default:
        return add_value(
            r, (struct program_value){scalar_op(writer, type), writer->size, type->precision, type},
            index);
    }
}

/* ---- Records ---- */

static bool make_default(struct resolver *r, const struct pipe_row_type *row, uint32_t index,
                         struct program_step *step)
{
    const struct pipe_column *column = &row->columns[index];
    struct pipe_error error = {0};
    size_t bytes = pipe_type_size(column->type);
    void *whole = pipe_calloc(1, row->size_bytes + 1);
    bool ok = pipe_row_default(row, index, &r->program->constants, whole, &error);
    if (ok && !pipe_column_is_null(column, whole)) {
        void *constant = pipe_arena_alloc(&r->program->constants, bytes);
        ok = constant != NULL;
        if (ok)
            memcpy(constant, pipe_column_value(column, whole), bytes);
        step->constant = constant;
        step->constant_bytes = (uint32_t)bytes;
    }
    free(whole);
    return ok || too_large(r);
}

/* The step of one field of the writer; `column` NULL: nobody reads it. */
static bool field_step(struct resolver *r, const struct schema_node *writer, uint32_t field,
                       const struct schema_node *reader, const struct pipe_column *column,
                       struct program_step *step)
{
    *step = (struct program_step){.kind = STEP_SKIP,
                                  .null_offset = PIPE_NOT_NULL,
                                  .name = pipe_schema_field_name(writer, field),
                                  .node = writer->children[field]};
    if (column == NULL)
        return true;
    step->kind = STEP_READ;
    step->offset = column->offset;
    step->null_offset = column->null_offset;
    step->nested = column->type->kind == PIPE_RECORD;
    return build_value(r, step->node, reader, column->type, &step->value);
}

/* The steps of a record stand together: their room is taken before that of the records inside.
 * columns: by field of the writer, the column it is read into, or -1. */
static bool make_steps(struct resolver *r, const struct schema_node *writer,
                       const struct schema_node *reader, const struct pipe_row_type *row,
                       const int64_t *columns, uint32_t at)
{
    bool *filled = pipe_calloc(row->column_count + 1, sizeof *filled);
    struct program_step step;
    bool ok = true;
    for (uint32_t i = 0; ok && i < writer->child_count; i++) {
        int64_t column = columns[i];
        if (column >= 0)
            filled[column] = true;
        ok = field_step(r, writer, i, column >= 0 ? reader->children[column] : NULL,
                        column >= 0 ? &row->columns[column] : NULL, &step);
        r->program->steps[at++] = step;
    }
    for (uint32_t i = 0; ok && i < row->column_count; i++) {
        if (filled[i])
            continue;
        step = (struct program_step){.kind = STEP_DEFAULT,
                                     .offset = row->columns[i].offset,
                                     .null_offset = row->columns[i].null_offset};
        ok = make_default(r, row, i, &step);
        r->program->steps[at++] = step;
    }
    free(filled);
    return ok;
}

static bool build_record(struct resolver *r, const struct schema_node *writer,
                         const struct schema_node *reader, const struct pipe_row_type *row,
                         uint32_t *index)
{
    uint32_t first, count = writer->child_count;
    int64_t *columns = pipe_calloc(writer->child_count + 1, sizeof *columns);
    for (uint32_t i = 0; i < writer->child_count; i++)
        columns[i] = -1;
    for (uint32_t i = 0; i < row->column_count; i++) {
        int64_t from = pipe_schema_match(writer, reader, i);
        if (from >= 0)
            columns[from] = i;
        else
            count++;
    }
    bool ok = add_steps(r, count, &first) && make_steps(r, writer, reader, row, columns, first) &&
              add_value(r, (struct program_value){OP_RECORD, first, count, NULL}, index);
    free(columns);
    return ok;
}

/* ---- The whole ---- */

static bool resolve(struct resolver *r, const struct schema_node *writer,
                    const struct pipe_resolve_reader *reader, bool same_form)
{
    struct pipe_writer_schema *own = pipe_writer_schema_parse(
        reader->schema_json, strlen(reader->schema_json), r->error, r->error_bytes);
    if (own == NULL)
        return false;
    const struct schema_node *root = pipe_writer_schema_root(own);
    bool ok = pipe_schema_compatible(root, writer, same_form, r->error, r->error_bytes);
    if (ok && writer->kind != NODE_RECORD) { /* a union, each branch of which would do */
        snprintf(r->error, r->error_bytes, "its schema is not that of a record");
        ok = false;
    }
    ok = ok && build_record(r, writer, root, reader->row, &r->program->root);
    pipe_writer_schema_free(own);
    return ok;
}

struct pipe_resolved *pipe_resolve(const struct pipe_resolve_reader *reader,
                                   struct pipe_writer_schema *writer, bool same_form, char *error,
                                   size_t error_bytes)
{
    struct pipe_resolved *program = pipe_calloc(1, sizeof *program);
    struct resolver r = {.program = program, .error = error, .error_bytes = error_bytes};
    error[0] = '\0';
    program->writer = writer;
    pipe_arena_init(&program->constants, CONSTANT_BYTES);
    if (resolve(&r, pipe_writer_schema_root(writer), reader, same_form))
        return program;
    pipe_resolved_free(program);
    return NULL;
}
