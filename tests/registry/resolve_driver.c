/*
 * resolve_driver.c: for every version of every contract of a generated program (PROGRAM), random
 * values and damaged ones: what is made at run time must read them as the generated decoder does.
 *
 *   resolve-driver SEED VALUES     prints how many of both kinds were compared; exit 1: they differ
 */
#include <stdio.h>
#include <stdlib.h>

#include PROGRAM

#include "avro_resolve.h"
#include "avro_schema_tree.h"

#define ARENA_BYTES (16u << 20)

static uint64_t random_state;

static uint64_t draw(uint64_t below)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % below;
}

/* ---- Values of a schema ---- */

static void put_value(const struct schema_node *node, struct pipe_buf *to);

static void put_text(const struct schema_node *node, struct pipe_buf *to)
{
    static const char *const texts[] = {"", "a", "Zürich", "0123456789012345678901234567890123456"};
    const char *logical = pipe_schema_text(node, "logicalType");
    const char *text = texts[draw(4)];
    if (logical != NULL && strcmp(logical, "uuid") == 0)
        text = draw(2) ? "0123ABCD-0000-4000-8000-00123456789a"
                       : "0123abcd-0000-4000-8000-00123456789a";
    else if (logical != NULL && strcmp(logical, "json") == 0)
        text = "{\"a\":[1]}";
    pipe_avro_put_bytes(to, pipe_str_of(text, strlen(text)));
}

static void put_number(const struct schema_node *node, struct pipe_buf *to)
{
    static const int64_t most[] = {2, 100, 30000, 1 << 30};
    int64_t value = (int64_t)draw((uint64_t)most[draw(4)]);
    bool plain = pipe_schema_text(node, "logicalType") == NULL;
    if (node->kind == NODE_LONG && plain && draw(4) == 0)
        value = (int64_t)(draw(UINT64_MAX));
    pipe_avro_put_long(to, draw(2) ? value : -(value / 2));
}

static void put_real(const struct schema_node *node, struct pipe_buf *to)
{
    double value = (double)(int64_t)draw(1u << 31) / 1024;
    if (node->kind == NODE_FLOAT)
        pipe_avro_put_float(to, (float)value);
    else
        pipe_avro_put_double(to, value);
}

/* Of two bytes at most, so that any decimal has room; fixed ones are zero before them. */
static void put_bytes(const struct schema_node *node, struct pipe_buf *to)
{
    uint32_t size = node->kind == NODE_FIXED ? node->size : 1 + (uint32_t)draw(2);
    if (node->kind == NODE_BYTES)
        pipe_avro_put_long(to, size);
    for (uint32_t i = 0; i < size; i++)
        pipe_buf_add_byte(to, size - i > 2 ? 0 : (uint8_t)draw(i + 2 == size ? 4 : 100));
}

static void put_items(const struct schema_node *node, struct pipe_buf *to)
{
    uint32_t count = (uint32_t)draw(4);
    struct pipe_buf items = {0};
    for (uint32_t i = 0; i < count; i++) {
        char key[2] = {(char)('a' + i), 0};
        if (node->kind == NODE_MAP)
            pipe_avro_put_bytes(&items, pipe_str_of(key, 1));
        put_value(node->children[0], &items);
    }
    bool sized = draw(2) != 0; /* a block may say how long it is */
    if (count > 0)
        pipe_avro_put_long(to, sized ? -(int64_t)count : count);
    if (count > 0 && sized)
        pipe_avro_put_long(to, (int64_t)items.size);
    pipe_buf_add(to, items.data, items.size);
    pipe_avro_put_end(to);
    pipe_buf_free(&items);
}

static void put_value(const struct schema_node *node, struct pipe_buf *to)
{
    uint64_t branch;
    switch (node->kind) {
    case NODE_NULL:
        return;
    case NODE_BOOL:
        return pipe_avro_put_bool(to, draw(2) != 0);
    case NODE_INT:
    case NODE_LONG:
        return put_number(node, to);
    case NODE_FLOAT:
    case NODE_DOUBLE:
        return put_real(node, to);
    case NODE_BYTES:
    case NODE_FIXED:
        return put_bytes(node, to);
    case NODE_STRING:
        return put_text(node, to);
    case NODE_ENUM:
        branch = draw(json_array_size(json_object_get(node->json, "symbols")));
        return pipe_avro_put_long(to, (int64_t)branch);
    case NODE_RECORD:
        for (uint32_t i = 0; i < node->child_count; i++)
            put_value(node->children[i], to);
        return;
    case NODE_UNION:
        branch = draw(node->child_count);
        pipe_avro_put_long(to, (int64_t)branch);
        return put_value(node->children[branch], to);
    case NODE_ARRAY:
    case NODE_MAP:
        return put_items(node, to);
    }
}

static void damage(struct pipe_buf *bytes)
{
    if (bytes->size > 0 && draw(2))
        bytes->size = draw(bytes->size);
    else if (bytes->size > 0)
        bytes->data[draw(bytes->size)] = (uint8_t)draw(256);
}

/* ---- Comparing ---- */

struct outcome {
    struct pipe_reader reader;
    struct pipe_error error;
    struct pipe_buf state; /* the row in canonical bytes */
    bool good;
};

static void take(struct outcome *outcome, const struct pipe_contract *contract, bool good,
                 const void *row)
{
    outcome->good = good && pipe_reader_done(&outcome->reader);
    if (outcome->good)
        pipe_row_save(contract->row, row, &outcome->state);
    else
        pipe_reader_error(&outcome->reader, &outcome->error);
}

static bool compare(const struct pipe_contract *contract, uint32_t version,
                    const struct pipe_resolved *resolved, const struct pipe_buf *bytes, bool *good)
{
    struct pipe_arena arena;
    struct outcome code = {0}, program = {0};
    void *row = pipe_malloc(contract->row->size_bytes + 1);
    pipe_arena_init(&arena, ARENA_BYTES);
    pipe_reader_init(&code.reader, bytes->data, bytes->size, &arena);
    program.reader = code.reader;
    memset(row, 0xA5, contract->row->size_bytes);
    take(&code, contract, contract->versions[version].decode(&code.reader, row), row);
    memset(row, 0x5A, contract->row->size_bytes);
    take(&program, contract, pipe_resolved_decode(resolved, &program.reader, row), row);
    bool same = code.good == program.good && code.state.size == program.state.size &&
                (code.state.size == 0 ||
                 memcmp(code.state.data, program.state.data, code.state.size) == 0) &&
                strcmp(code.error.field, program.error.field) == 0 &&
                strcmp(code.error.detail, program.error.detail) == 0;
    if (!same)
        printf("%s %s: generated %s %s: %s; at run time %s %s: %s\n", contract->name,
               contract->versions[version].label, code.good ? "good" : "bad", code.error.field,
               code.error.detail, program.good ? "good" : "bad", program.error.field,
               program.error.detail);
    *good = code.good;
    pipe_buf_free(&code.state);
    pipe_buf_free(&program.state);
    pipe_arena_free(&arena);
    free(row);
    return same;
}

static bool compare_version(const struct pipe_contract *contract, uint32_t version, long values,
                            long counts[2])
{
    char error[256];
    const char *json = contract->versions[version].schema_json;
    const struct pipe_resolve_reader reader = {contract->row, contract->versions[0].schema_json};
    struct pipe_writer_schema *writer =
        pipe_writer_schema_parse(json, strlen(json), error, sizeof error);
    const struct schema_node *root = pipe_writer_schema_root(writer);
    struct pipe_resolved *resolved = pipe_resolve(&reader, writer, false, error, sizeof error);
    struct pipe_buf bytes = {0};
    if (resolved == NULL) {
        printf("%s %s: %s\n", contract->name, contract->versions[version].label, error);
        return false;
    }
    bool same = true;
    for (long i = 0; same && i < values; i++) {
        bool good;
        bytes.size = 0;
        put_value(root, &bytes);
        if (i % 2 == 1)
            damage(&bytes);
        same = compare(contract, version, resolved, &bytes, &good);
        counts[good ? 0 : 1]++;
    }
    pipe_buf_free(&bytes);
    pipe_resolved_free(resolved);
    return same;
}

int main(int argc, char **argv)
{
    long counts[2] = {0, 0};
    long values = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
    bool same = values > 0;
    random_state = argc > 1 ? strtoull(argv[1], NULL, 10) * 2 + 1 : 1;
    for (size_t s = 0; s < sizeof sources / sizeof sources[0]; s++) {
        const struct pipe_contract *contract = sources[s].contract;
        for (uint32_t v = 0; v < contract->version_count; v++)
            same = compare_version(contract, v, values, counts) && same;
    }
    printf("good %ld bad %ld\n", counts[0], counts[1]);
    return same ? 0 : 1;
}
