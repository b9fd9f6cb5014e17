/* avro_program.c: runs what avro_resolve.c has built; see avro_program.h. */
#include "avro_program.h"

#include <stdlib.h>

struct run {
    const struct pipe_resolved *program;
    struct pipe_reader *reader;
};

/* A value into `to`; is_null NULL: the place is never null. `field` names it in paths. */
static bool read_value(const struct run *run, const struct program_value *value, void *to,
                       bool *is_null, const char *field);

static bool read_record(const struct run *run, const struct program_value *value, char *row);

static bool read_promoted(struct pipe_reader *r, enum program_op op, void *to)
{
    int32_t small = 0;
    int64_t big = 0;
    float real = 0;
    switch (op) {
    case OP_INT_AS_LONG:
        return pipe_avro_int(r, &small) && (*(int64_t *)to = small, true);
    case OP_INT_AS_FLOAT:
        return pipe_avro_int(r, &small) && (*(float *)to = (float)small, true);
    case OP_INT_AS_DOUBLE:
        return pipe_avro_int(r, &small) && (*(double *)to = (double)small, true);
    case OP_LONG_AS_FLOAT:
        return pipe_avro_long(r, &big) && (*(float *)to = (float)big, true);
    case OP_LONG_AS_DOUBLE:
        return pipe_avro_long(r, &big) && (*(double *)to = (double)big, true);
    default:
        return pipe_avro_float(r, &real) && (*(double *)to = (double)real, true);
    }
}

static bool read_enum(const struct run *run, const struct program_value *value, uint32_t *to)
{
    uint32_t index = 0;
    if (!pipe_avro_enum(run->reader, value->b, &index))
        return false;
    *to = run->program->numbers[value->a + index];
    return true;
}

static bool read_union(const struct run *run, const struct program_value *value, void *to,
                       bool *is_null, const char *field)
{
    int64_t branch = 0;
    if (!pipe_avro_long(run->reader, &branch))
        return false;
    if (branch < 0 || branch >= value->b)
        return pipe_reader_fail_number(run->reader, "union index out of range", branch);
    uint32_t index = run->program->numbers[value->a + branch];
    return read_value(run, &run->program->values[index], to, is_null, field);
}

static bool read_items(const struct run *run, const struct program_value *value, void *to,
                       const char *field)
{
    struct pipe_reader *r = run->reader;
    const struct pipe_type *type = value->type;
    const struct program_value *element = &run->program->values[value->a];
    size_t value_at = type->kind == PIPE_MAP ? PIPE_MAP_VALUE_OFFSET : 0;
    size_t null_at = value_at + pipe_type_size(type->element);
    struct pipe_items items = {.slot_bytes = type->element_bytes};
    char *item;
    while ((item = pipe_avro_item(r, &items)) != NULL) {
        bool *is_null = type->element_nullable ? (bool *)(item + null_at) : NULL;
        if ((type->kind == PIPE_MAP && !pipe_avro_map_key(r, &items, (struct pipe_str *)item)) ||
            !read_value(run, element, item + value_at, is_null, "item"))
            return pipe_reader_within(r, field, (int64_t)items.count - 1);
    }
    if (r->cause != NULL)
        return false;
    if (type->kind == PIPE_MAP)
        *(struct pipe_map *)to = (struct pipe_map){items.slots, items.count};
    else
        *(struct pipe_array *)to = (struct pipe_array){items.slots, items.count};
    return true;
}

static bool read_scalar(const struct run *run, const struct program_value *value, void *to)
{
    struct pipe_reader *r = run->reader;
    switch (value->op) {
    case OP_BOOL:
        return pipe_avro_bool(r, to);
    case OP_INT:
        return pipe_avro_int(r, to);
    case OP_LONG:
        return pipe_avro_long(r, to);
    case OP_FLOAT:
        return pipe_avro_float(r, to);
    case OP_DOUBLE:
        return pipe_avro_double(r, to);
    case OP_BYTES:
        return pipe_avro_bytes(r, to);
    case OP_STRING:
        return pipe_avro_string(r, to);
    case OP_JSON:
        return pipe_avro_json(r, to);
    case OP_UUID:
        return pipe_avro_uuid(r, to);
    case OP_FIXED:
        return pipe_avro_fixed(r, value->a, to);
    case OP_DECIMAL:
        return pipe_avro_decimal(r, value->b, to);
    case OP_DECIMAL_FIXED:
        return pipe_avro_decimal_fixed(r, value->a, value->b, to);
    case OP_DATE:
        return pipe_avro_date(r, to);
    case OP_TIMESTAMP_MS:
        return pipe_avro_timestamp_ms(r, to);
    case OP_TIMESTAMP_US:
        return pipe_avro_timestamp_us(r, to);
    default:
        return read_promoted(r, value->op, to);
    }
}

static bool read_value(const struct run *run, const struct program_value *value, void *to,
                       bool *is_null, const char *field)
{
    if (value->op == OP_UNION)
        return read_union(run, value, to, is_null, field);
    if (is_null != NULL)
        *is_null = value->op == OP_NULL;
    switch (value->op) {
    case OP_NULL:
        return true;
    case OP_ENUM:
        return read_enum(run, value, to);
    case OP_RECORD:
        return read_record(run, value, to);
    case OP_ARRAY:
    case OP_MAP:
        return read_items(run, value, to, field);
    default:
        return read_scalar(run, value, to);
    }
}

static void set_default(const struct program_step *step, char *row)
{
    if (step->null_offset != PIPE_NOT_NULL)
        *(bool *)(row + step->null_offset) = step->constant == NULL;
    if (step->constant != NULL)
        memcpy(row + step->offset, step->constant, step->constant_bytes);
}

static bool read_record(const struct run *run, const struct program_value *value, char *row)
{
    const struct program_step *step = &run->program->steps[value->a];
    for (const struct program_step *end = step + value->b; step < end; step++) {
        bool *is_null =
            step->null_offset != PIPE_NOT_NULL ? (bool *)(row + step->null_offset) : NULL;
        switch (step->kind) {
        case STEP_READ:
            if (read_value(run, &run->program->values[step->value], row + step->offset, is_null,
                           step->name))
                break;
            return step->nested ? pipe_reader_within(run->reader, step->name, -1)
                                : pipe_reader_at(run->reader, step->name);
        case STEP_SKIP:
            if (!pipe_schema_node_skip(step->node, run->reader))
                return pipe_reader_at(run->reader, step->name);
            break;
        case STEP_DEFAULT:
            set_default(step, row);
            break;
        }
    }
    return true;
}

bool pipe_resolved_decode(const struct pipe_resolved *resolved, struct pipe_reader *reader,
                          void *row)
{
    const struct run run = {resolved, reader};
    return read_record(&run, &resolved->values[resolved->root], row);
}

void pipe_resolved_free(struct pipe_resolved *resolved)
{
    if (resolved == NULL)
        return;
    pipe_writer_schema_free(resolved->writer);
    pipe_arena_free(&resolved->constants);
    free(resolved->values);
    free(resolved->steps);
    free(resolved->numbers);
    free(resolved);
}
