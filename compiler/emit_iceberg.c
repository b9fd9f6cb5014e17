/* emit_iceberg.c: iceberg/TABLE.json: what creates a table: schema with field ids, partition spec,
 * write order. */
#include "emit_artifacts.h"

#include <inttypes.h>
#include <string.h>

enum { FIRST_PARTITION_ID = 1000 };

struct ids {
    struct program *program;
    int next;
};

static json_t *type_json(struct ids *ids, const struct type *type);

/* All fields of one level get their ids first, then what is nested in them, as Iceberg numbers a
 * new table. */
static json_t *struct_json(struct ids *ids, const struct record_type *record)
{
    json_t *fields = json_array();
    int first = ids->next;
    ids->next += (int)record->field_count;
    for (size_t i = 0; i < record->field_count; i++) {
        const struct field *field = &record->fields[i];
        json_array_append_new(fields, json_pack("{s:i, s:s, s:b, s:o}", "id", first + (int)i,
                                                "name", field->name, "required", !field->nullable,
                                                "type", type_json(ids, field->type)));
    }
    return json_pack("{s:s, s:o}", "type", "struct", "fields", fields);
}

static json_t *list_json(struct ids *ids, const struct type *type)
{
    if (type->kind == TYPE_ARRAY) {
        int id = ids->next++;
        return json_pack("{s:s, s:i, s:b, s:o}", "type", "list", "element-id", id,
                         "element-required", !type->element_nullable, "element",
                         type_json(ids, type->element));
    }
    int key = ids->next++, value = ids->next++;
    return json_pack("{s:s, s:i, s:s, s:i, s:b, s:o}", "type", "map", "key-id", key, "key",
                     "string", "value-id", value, "value-required", !type->element_nullable,
                     "value", type_json(ids, type->element));
}

static json_t *type_json(struct ids *ids, const struct type *type)
{
    switch (type->kind) {
    case TYPE_BOOL:
        return json_string("boolean");
    case TYPE_INT32:
        return json_string("int");
    case TYPE_INT64:
    case TYPE_DURATION:
        return json_string("long");
    case TYPE_FLOAT32:
        return json_string("float");
    case TYPE_FLOAT64:
        return json_string("double");
    case TYPE_DECIMAL:
        return json_string(
            arena_printf(ids->program->arena, "decimal(%u, %u)", type->precision, type->scale));
    case TYPE_UUID:
        return json_string("uuid");
    case TYPE_BYTES:
        return json_string("binary");
    case TYPE_DATE:
        return json_string("date");
    case TYPE_TIMESTAMP_MS:
    case TYPE_TIMESTAMP_US:
        return json_string("timestamptz");
    case TYPE_RECORD:
        return struct_json(ids, type->record);
    case TYPE_ARRAY:
    case TYPE_MAP:
        return list_json(ids, type);
    case TYPE_STRING:
    case TYPE_ENUM:
    case TYPE_POISON:
    case TYPE_NULL:
        break;
    }
    return json_string("string");
}

static int column_id(const struct record_type *row, const char *name)
{
    for (size_t i = 0; i < row->field_count; i++)
        if (strcmp(row->fields[i].name, name) == 0)
            return (int)i + 1;
    return 0;
}

static const char *transform_text(struct program *program, const struct transform *transform)
{
    if (transform->function.text == NULL)
        return "identity";
    if (transform->has_argument)
        return arena_printf(program->arena, "%s[%" PRId64 "]", transform->function.text,
                            transform->argument);
    return transform->function.text;
}

/* Named after function or column; a name that is taken, by another or by a column, gets the column
 * before it. */
static const char *partition_name(struct program *program, const struct sink *sink, size_t i)
{
    const struct transform *transform = &sink->partition_by->items[i];
    const char *name = transform->function.text;
    if (name == NULL)
        return transform->column.text;
    bool taken = column_id(sink->from->row, name) > 0;
    for (size_t k = 0; k < sink->partition_by->count; k++)
        taken = taken || (k != i && sink->partition_by->items[k].function.text != NULL &&
                          strcmp(sink->partition_by->items[k].function.text, name) == 0);
    return taken ? arena_printf(program->arena, "%s_%s", transform->column.text, name) : name;
}

static json_t *partition_spec(struct program *program, const struct sink *sink)
{
    json_t *fields = json_array();
    for (size_t i = 0; sink->partition_by != NULL && i < sink->partition_by->count; i++) {
        const struct transform *transform = &sink->partition_by->items[i];
        json_array_append_new(fields, json_pack("{s:i, s:i, s:s, s:s}", "source-id",
                                                column_id(sink->from->row, transform->column.text),
                                                "field-id", FIRST_PARTITION_ID + (int)i, "name",
                                                partition_name(program, sink, i), "transform",
                                                transform_text(program, transform)));
    }
    return json_pack("{s:i, s:o}", "spec-id", 0, "fields", fields);
}

static json_t *write_order(const struct sink *sink)
{
    json_t *fields = json_array();
    for (size_t i = 0; i < sink->sort_count; i++)
        json_array_append_new(fields, json_pack("{s:s, s:i, s:s, s:s}", "transform", "identity",
                                                "source-id", (int)sink->sort_columns[i] + 1,
                                                "direction", "asc", "null-order", "nulls-first"));
    return json_pack("{s:i, s:o}", "order-id", sink->sort_count > 0 ? 1 : 0, "fields", fields);
}

void write_iceberg_table(struct program *program, const struct sink *sink, struct text *out)
{
    struct ids ids = {program, 1};
    json_t *schema = struct_json(&ids, sink->from->row);
    json_object_set_new(schema, "schema-id", json_integer(0));
    json_t *properties =
        json_pack("{s:s, s:s, s:s, s:s}", "format-version", "2", "write.parquet.compression-codec",
                  "zstd", "write.target-file-size-bytes",
                  arena_printf(program->arena, "%" PRId64, sink->target_bytes),
                  "write.metadata.delete-after-commit.enabled", "true");
    text_json(out, json_pack("{s:s, s:o, s:o, s:o, s:o}", "name", sink->target, "schema", schema,
                             "partition-spec", partition_spec(program, sink), "write-order",
                             write_order(sink), "properties", properties));
}
