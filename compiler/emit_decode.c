/*
 * emit_decode.c: Avro decoders, one a writer version, that read straight into the reader's struct:
 * fields that nobody reads are skipped, new ones get their default, promotions and enum symbols are
 * settled here, not at run time.
 */
#include "emit.h"
#include "../runtime/schema_json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The decoders of one contract version being written. */
struct decoding {
    struct emitter *e;
    const char *version;
    struct row_view top; /* of the outermost record */
    VEC(struct decoded_record) records;
};

struct decoded_record {
    const struct resolve_record *record;
    const char *name;
};

static const char *read_value(struct decoding *d, const struct type *writer,
                              const struct type *reader, const struct resolve_record *record,
                              const char *target, const char *field);

/* ---- helpers of single values, written when first needed ---- */

static const char *promotion(struct decoding *d, const char *avro, const char *c_from,
                             const struct type *to)
{
    struct emitter *e = d->e;
    const char *name = arena_printf(e->arena, "read_%s_as_%s", avro, type_suffix(to));
    if (is_ident_in(e, &e->globals, name))
        return name;
    name = global_name(e, "%s", name);
    emit(e, 0, "static bool %s(struct pipe_reader *r, %s *out)\n{", name, c_type(e, to));
    emit(e, 1, "%s value = 0;\n", c_from);
    emit(e, 1, "if (!pipe_avro_%s(r, &value))\n    return false;", avro);
    emit(e, 1, "*out = (%s)value;\nreturn true;", c_type(e, to));
    emit(e, 0, "}\n");
    return name;
}

static int32_t symbol_index(const struct type *type, const char *symbol)
{
    for (size_t i = 0; i < type->symbol_count; i++)
        if (strcmp(type->symbols[i], symbol) == 0)
            return (int32_t)i;
    return -1;
}

static bool same_symbols(const struct type *writer, const struct type *reader)
{
    if (writer->symbol_count > reader->symbol_count)
        return false;
    for (size_t i = 0; i < writer->symbol_count; i++)
        if (symbol_index(reader, writer->symbols[i]) != (int32_t)i)
            return false;
    return true;
}

/* Symbols of the writer as indexes of the reader; one that the reader does not know is its default,
 * or refused. */
static const char *enum_reader(struct decoding *d, const struct type *writer,
                               const struct type *reader, const char *field)
{
    struct emitter *e = d->e;
    const char *name = global_name(e, "read_%s_%s", mangle(e, field), d->version);
    emit(e, 0, "static bool %s(struct pipe_reader *r, uint32_t *out)\n{", name);
    emit(e, 1, "static const uint32_t symbols[] = {");
    bool may_fail = false;
    for (size_t i = 0; i < writer->symbol_count; i++) {
        int32_t index = symbol_index(reader, writer->symbols[i]);
        if (index < 0 && reader->enum_default != NULL)
            index = symbol_index(reader, reader->enum_default);
        may_fail = may_fail || index < 0;
        if (index < 0)
            emit(e, 2, "UINT32_MAX, /* %s */", writer->symbols[i]);
        else
            emit(e, 2, "%d, /* %s */", index, writer->symbols[i]);
    }
    emit(e, 1, "};\nuint32_t index = 0;\n");
    emit(e, 1, "if (!pipe_avro_enum(r, %zu, &index))\n    return false;", writer->symbol_count);
    if (may_fail)
        emit(e, 1,
             "if (symbols[index] == UINT32_MAX)\n"
             "    return pipe_reader_fail_number(r, \"enum symbol that the contract does not "
             "have\", index);");
    emit(e, 1, "*out = symbols[index];\nreturn true;");
    emit(e, 0, "}\n");
    return name;
}

/* ---- arrays and maps ---- */

static const char *container_reader(struct decoding *d, const struct type *writer,
                                    const struct type *reader, const struct resolve_record *record,
                                    const char *field)
{
    struct emitter *e = d->e;
    bool is_map = reader->kind == TYPE_MAP, nullable = reader->element_nullable;
    bool has_value = is_map || nullable;
    const char *item = item_type(e, reader), *target = has_value ? "item->value" : "*item";
    const char *read = read_value(d, writer->element, reader->element, record, target, "item");
    const char *name = global_name(e, "read_%s_%s", mangle(e, field), d->version);
    if (writer->element_nullable)
        read = arena_printf(e->arena,
                            "pipe_avro_nullable(r, %s, &item->is_null) && (item->is_null || %s)",
                            c_bool(writer->element_null_first), read);
    if (is_map)
        read = arena_printf(e->arena, "pipe_avro_map_key(r, &items, &item->key) && %s%s%s",
                            writer->element_nullable ? "(" : "", read,
                            writer->element_nullable ? ")" : "");
    emit(e, 0, "static bool %s(struct pipe_reader *r, struct %s *out)\n{", name,
         is_map ? "pipe_map" : "pipe_array");
    emit(e, 1, "struct pipe_items items = {.slot_bytes = sizeof(%s)};", item);
    emit(e, 1, "%s *item;\n", item);
    emit(e, 1, "while ((item = pipe_avro_item(r, &items)) != NULL) {");
    emit(e, 2, "if (!(%s))", read);
    emit(e, 3, "return pipe_reader_within(r, %s, (int64_t)items.count - 1);", c_string_z(e, field));
    if (nullable && !writer->element_nullable)
        emit(e, 2, "item->is_null = false;");
    emit(e, 1, "}");
    emit(e, 1, "if (r->cause != NULL)\n    return false;");
    emit(e, 1, "*out = (struct %s){items.slots, items.count};\nreturn true;",
         is_map ? "pipe_map" : "pipe_array");
    emit(e, 0, "}\n");
    return name;
}

/* ---- values ---- */

static const char *float_read(struct decoding *d, const struct type *writer,
                              const struct type *reader)
{
    bool to_float = reader->kind == TYPE_FLOAT32;
    switch (writer->kind) {
    case TYPE_FLOAT32:
        return to_float ? "pipe_avro_float" : promotion(d, "float", "float", reader);
    case TYPE_FLOAT64:
        return "pipe_avro_double";
    case TYPE_INT32:
        return promotion(d, "int", "int32_t", reader);
    default:
        return promotion(d, "long", "int64_t", reader);
    }
}

static const char *decimal_read(struct decoding *d, const struct type *writer,
                                const struct type *reader, const char *target)
{
    if (writer->fixed_bytes > 0)
        return arena_printf(d->e->arena, "pipe_avro_decimal_fixed(r, %u, %u, &%s)",
                            writer->fixed_bytes, reader->precision, target);
    return arena_printf(d->e->arena, "pipe_avro_decimal(r, %u, &%s)", reader->precision, target);
}

/* The C condition that reads a value that is not null into `target`; functions it calls are written
 * before. */
static const char *read_value(struct decoding *d, const struct type *writer,
                              const struct type *reader, const struct resolve_record *record,
                              const char *target, const char *field);

static const char *decode_record(struct decoding *d, const struct resolve_record *record,
                                 struct row_view view);

static const char *read_nested(struct decoding *d, const struct type *writer,
                               const struct type *reader, const struct resolve_record *record,
                               const char *target, const char *field)
{
    struct emitter *e = d->e;
    const char *name;
    if (reader->kind == TYPE_RECORD) {
        struct row_view view = {row_info_of(e, reader->record, reader->record->name),
                                reader->record};
        name = decode_record(d, record, view);
    } else {
        name = container_reader(d, writer, reader, record, field);
    }
    return arena_printf(e->arena, "%s(r, &%s)", name, target);
}

static const char *read_value(struct decoding *d, const struct type *writer,
                              const struct type *reader, const struct resolve_record *record,
                              const char *target, const char *field)
{
    struct arena *arena = d->e->arena;
    const char *function = "pipe_avro_long";
    switch (reader->kind) {
    case TYPE_BOOL:
        function = "pipe_avro_bool";
        break;
    case TYPE_INT32:
        function = "pipe_avro_int";
        break;
    case TYPE_INT64:
    case TYPE_DURATION:
        if (writer->kind == TYPE_INT32)
            function = promotion(d, "int", "int32_t", reader);
        break;
    case TYPE_DATE:
        function = "pipe_avro_date";
        break;
    case TYPE_TIMESTAMP_MS:
        function = "pipe_avro_timestamp_ms";
        break;
    case TYPE_TIMESTAMP_US:
        function = "pipe_avro_timestamp_us";
        break;
    case TYPE_FLOAT32:
    case TYPE_FLOAT64:
        function = float_read(d, writer, reader);
        break;
    case TYPE_STRING:
        function = reader->is_json ? "pipe_avro_json" : "pipe_avro_string";
        break;
    case TYPE_UUID:
        function = "pipe_avro_uuid";
        break;
    case TYPE_BYTES:
        if (writer->fixed_bytes > 0)
            return arena_printf(arena, "pipe_avro_fixed(r, %u, &%s)", writer->fixed_bytes, target);
        function = "pipe_avro_bytes";
        break;
    case TYPE_DECIMAL:
        return decimal_read(d, writer, reader, target);
    case TYPE_ENUM:
        if (same_symbols(writer, reader))
            return arena_printf(arena, "pipe_avro_enum(r, %zu, &%s)", writer->symbol_count, target);
        function = enum_reader(d, writer, reader, field);
        break;
    case TYPE_RECORD:
    case TYPE_ARRAY:
    case TYPE_MAP:
        return read_nested(d, writer, reader, record, target, field);
    case TYPE_POISON:
    case TYPE_NULL:
        break;
    }
    return arena_printf(arena, "%s(r, &%s)", function, target);
}

static const char *skip_value(struct decoding *d, const struct type *writer)
{
    struct emitter *e = d->e;
    switch (writer->kind) {
    case TYPE_BOOL:
        return "pipe_avro_skip_fixed(r, 1)";
    case TYPE_FLOAT32:
        return "pipe_avro_skip_fixed(r, 4)";
    case TYPE_FLOAT64:
        return "pipe_avro_skip_fixed(r, 8)";
    case TYPE_INT32:
    case TYPE_INT64:
    case TYPE_DURATION:
    case TYPE_DATE:
    case TYPE_TIMESTAMP_MS:
    case TYPE_TIMESTAMP_US:
    case TYPE_ENUM:
        return "pipe_avro_skip_long(r)";
    case TYPE_STRING:
    case TYPE_UUID:
        return "pipe_avro_skip_bytes(r)";
    case TYPE_BYTES:
    case TYPE_DECIMAL:
        if (writer->fixed_bytes > 0)
            return arena_printf(e->arena, "pipe_avro_skip_fixed(r, %u)", writer->fixed_bytes);
        return "pipe_avro_skip_bytes(r)";
    case TYPE_RECORD:
    case TYPE_ARRAY:
    case TYPE_MAP:
    case TYPE_POISON:
    case TYPE_NULL:
        break;
    }
    return arena_printf(e->arena, "pipe_avro_skip_value(&%s, r)", type_descriptor(e, writer));
}

/* ---- defaults ---- */

/* The default as C, or NULL if only the runtime can make it. */
static const char *default_code(struct emitter *e, const struct type *type, const json_t *value)
{
    switch (type->kind) {
    case TYPE_BOOL:
        return c_bool(json_is_true(value));
    case TYPE_INT32:
    case TYPE_INT64:
    case TYPE_DATE:
    case TYPE_TIMESTAMP_MS:
    case TYPE_TIMESTAMP_US:
    case TYPE_DURATION:
        return json_is_integer(value) ? c_int64(e, json_integer_value(value)) : NULL;
    case TYPE_STRING:
        return json_is_string(value) ? c_str(e, json_string_value(value), json_string_length(value))
                                     : NULL;
    case TYPE_ENUM: {
        int32_t index = json_is_string(value) ? symbol_index(type, json_string_value(value)) : -1;
        return index < 0 ? NULL
                         : arena_printf(e->arena, "%d /* %s */", index, json_string_value(value));
    }
    case TYPE_FLOAT32:
    case TYPE_FLOAT64:
    case TYPE_DECIMAL:
    case TYPE_UUID:
    case TYPE_BYTES:
    case TYPE_RECORD:
    case TYPE_ARRAY:
    case TYPE_MAP:
    case TYPE_POISON:
    case TYPE_NULL:
        break;
    }
    return NULL;
}

static void emit_default(struct emitter *e, const struct field *field, struct row_view view)
{
    uint32_t column = (uint32_t)(field - view.type->fields);
    const struct member *member = &view.info->members[column];
    bool is_null = field->nullable && (!field->has_default || json_is_null(field->default_value));
    if (is_null) {
        emit(e, 1, "row->%s = true;", member->null);
        return;
    }
    const char *code = default_code(e, field->type, field->default_value);
    if (code != NULL) {
        emit(e, 1, "row->%s = %s;", member->name, code);
        if (field->nullable)
            emit(e, 1, "row->%s = false;", member->null);
        return;
    }
    emit(e, 1, "if (!pipe_row_default(&%s, %u, r->arena, row, NULL))", row_descriptor(e, view),
         column);
    emit(e, 2, "return pipe_reader_fail(r, \"no memory for a default\") || pipe_reader_at(r, %s);",
         c_string_z(e, field->name));
}

/* ---- records ---- */

static void emit_field(struct emitter *e, const struct resolve_field *field, const char *read,
                       const struct member *member)
{
    const struct field *writer = field->writer;
    const char *null = NULL;
    if (writer->nullable)
        null = member != NULL ? arena_printf(e->arena, "row->%s", member->null)
                              : arena_printf(e->arena, "%s_skipped", mangle(e, writer->name));
    if (writer->nullable && member == NULL)
        emit(e, 1, "bool %s = false;", null);
    if (writer->nullable)
        emit(e, 1, "if (!pipe_avro_nullable(r, %s, &%s) || (!%s && !%s))",
             c_bool(writer->null_first), null, null, read);
    else
        emit(e, 1, "if (!%s)", read);
    const char *name = c_string_z(e, writer->name);
    bool nested = writer->type->kind == TYPE_RECORD && member != NULL;
    if (nested)
        emit(e, 2, "return pipe_reader_within(r, %s, -1);", name);
    else
        emit(e, 2, "return pipe_reader_at(r, %s);", name);
    if (member != NULL && member->null != NULL && !writer->nullable)
        emit(e, 1, "row->%s = false;", member->null);
}

static const char *decode_record(struct decoding *d, const struct resolve_record *record,
                                 struct row_view view)
{
    struct emitter *e = d->e;
    bool is_top = d->records.count == 0 && view.info == d->top.info;
    for (size_t i = 0; i < d->records.count; i++)
        if (d->records.items[i].record == record)
            return d->records.items[i].name;
    const char *name =
        global_name(e, "%s_%s_%s", is_top ? "decode" : "read", view.info->tag, d->version);
    vec_push(e->arena, &d->records, ((struct decoded_record){record, name}));
    const char **reads = arena_alloc(e->arena, (record->field_count + 1) * sizeof *reads);
    for (size_t i = 0; i < record->field_count; i++) {
        const struct resolve_field *field = &record->fields[i];
        if (field->action == RESOLVE_SKIP) {
            reads[i] = skip_value(d, field->writer->type);
            continue;
        }
        const struct member *member = &view.info->members[field->reader - record->reader->fields];
        reads[i] = read_value(d, field->writer->type, field->reader->type, field->record,
                              arena_printf(e->arena, "row->%s", member->name), field->writer->name);
    }
    struct function_text function;
    function_begin(e, &function);
    if (is_top && record->reader->field_count > 0)
        emit(e, 1, "struct %s *row = into;\n", view.info->tag);
    for (size_t i = 0; i < record->field_count; i++) {
        const struct resolve_field *field = &record->fields[i];
        const struct member *member = NULL;
        if (field->action == RESOLVE_READ)
            member = &view.info->members[field->reader - record->reader->fields];
        emit_field(e, field, reads[i], member);
    }
    for (size_t i = 0; i < record->defaulted_count; i++)
        emit_default(e, record->defaulted[i], view);
    emit(e, 1, "return true;");
    static const char *const parameters[] = {"r", "into"}, *const nested[] = {"r", "row"};
    function_end(
        e, &function,
        is_top ? arena_printf(e->arena, "static bool %s(struct pipe_reader *r, void *into)", name)
               : arena_printf(e->arena, "static bool %s(struct pipe_reader *r, struct %s *row)",
                              name, view.info->tag),
        is_top ? parameters : nested, 2);
    return name;
}

/* ---- contracts ---- */

const char *compact_json(struct emitter *e, const char *text, size_t size_bytes)
{
    json_error_t error;
    json_t *json = pipe_schema_json(text, size_bytes, JSON_DECODE_ANY, &error);
    char *compact = json == NULL ? NULL : json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY);
    const char *copy = compact == NULL ? arena_strndup(e->arena, text, size_bytes)
                                       : arena_strndup(e->arena, compact, strlen(compact));
    free(compact);
    json_decref(json);
    return copy;
}

static void emit_version(struct emitter *e, const struct schema *schema, const char *decoder)
{
    emit(e, 1, "{");
    emit(e, 2, ".label = %s,", c_string_z(e, schema->label));
    emit(e, 2, ".fingerprint = UINT64_C(0x%016" PRIx64 "),", schema->fingerprint);
    emit(e, 2, ".decode = %s,", decoder);
    emit(e, 2, ".schema_json =");
    emit_long_string(e, 3, compact_json(e, schema->source->text, schema->source->size), ",");
    emit(e, 1, "},");
}

const char *contract_table(struct emitter *e, const struct contract *contract, struct row_view view)
{
    for (size_t i = 0; i < e->contracts.count; i++)
        if (e->contracts.items[i].contract == contract && e->contracts.items[i].info == view.info)
            return e->contracts.items[i].name;
    struct text *before = emit_to(e, SECTION_DECODERS);
    const char **decoders = arena_alloc(e->arena, (contract->version_count + 1) * sizeof *decoders);
    for (size_t i = 0; i < contract->version_count; i++) {
        const struct schema *schema = contract->versions[i];
        struct decoding decoding = {.e = e, .version = mangle(e, schema->label), .top = view};
        decoders[i] = decode_record(
            &decoding, contract_resolve(e->program, schema, contract->versions[0]), view);
    }
    const char *ident = mangle(e, contract->name.text);
    const char *name = global_name(e, "contract_%s", ident),
               *versions = global_name(e, "versions_%s", ident);
    const char *descriptor = row_descriptor(e, view);
    emit_to(e, SECTION_CONTRACTS);
    emit(e, 0, "static const struct pipe_contract_version %s[] = {", versions);
    for (size_t i = 0; i < contract->version_count; i++)
        emit_version(e, contract->versions[i], decoders[i]);
    emit(e, 0, "};\n");
    emit(e, 0, "static const struct pipe_contract %s = {", name);
    emit(e, 1, ".name = %s,\n.row = &%s,\n.versions = %s,\n.version_count = %zu,",
         c_string_z(e, contract->name.text), descriptor, versions, contract->version_count);
    emit(e, 0, "};\n");
    vec_push(e->arena, &e->contracts, ((struct contract_use){contract, view.info, name}));
    e->out = before;
    return name;
}
