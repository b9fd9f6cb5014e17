/*
 * resolve.c: records read by a program made at run time. The first byte chooses: 0 and 1, a version
 * of the contract, whose generated decoder must agree in row, field and cause; else the schema of
 * an unknown writer, up to a NUL, then a value that it may have written.
 */
#include "rows.h"

#include "avro_resolve.h"

static const struct pipe_resolve_reader *event_reader(void)
{
    static struct pipe_resolve_reader reader;
    reader = (struct pipe_resolve_reader){EVENT_TYPE, versions_event[0].schema_json};
    return &reader;
}

static struct pipe_resolved *resolve(const void *json, size_t size, bool same_form)
{
    char error[256] = "";
    struct pipe_writer_schema *writer = pipe_writer_schema_parse(json, size, error, sizeof error);
    struct pipe_resolved *resolved =
        writer != NULL ? pipe_resolve(event_reader(), writer, same_form, error, sizeof error)
                       : NULL;
    FUZZ_CHECK((resolved == NULL) == (error[0] != '\0'));
    FUZZ_CHECK(pipe_utf8_check(error, strlen(error)));
    return resolved;
}

static bool read_row(struct pipe_reader *reader, const struct pipe_resolved *resolved, void *row,
                     struct pipe_error *error)
{
    if (pipe_resolved_decode(resolved, reader, row))
        return true;
    FUZZ_CHECK(reader->cause != NULL);
    pipe_reader_error(reader, error);
    check_error(error);
    return false;
}

static void read_known(unsigned version, const uint8_t *bytes, size_t size)
{
    static struct pipe_resolved *programs[2];
    const char *json = versions_event[version].schema_json;
    if (programs[version] == NULL)
        programs[version] = resolve(json, strlen(json), true);
    FUZZ_CHECK(programs[version] != NULL);
    struct pipe_arena arena;
    struct pipe_reader by_code, by_program;
    struct pipe_error code_error = {0}, program_error = {0};
    void *row = pipe_malloc(EVENT_TYPE->size_bytes), *other = pipe_malloc(EVENT_TYPE->size_bytes);
    memset(row, 0xA5, EVENT_TYPE->size_bytes); /* all of it must be set */
    memset(other, 0x5A, EVENT_TYPE->size_bytes);
    pipe_arena_init(&arena, ROW_ARENA_BYTES);
    pipe_reader_init(&by_code, bytes, size, &arena);
    by_program = by_code;
    bool good = versions_event[version].decode(&by_code, row);
    FUZZ_CHECK(read_row(&by_program, programs[version], other, &program_error) == good);
    if (good) {
        FUZZ_CHECK(pipe_row_equal(EVENT_TYPE, row, other) && by_code.at == by_program.at);
    } else {
        pipe_reader_error(&by_code, &code_error);
        FUZZ_CHECK(strcmp(code_error.field, program_error.field) == 0);
        FUZZ_CHECK(strcmp(code_error.detail, program_error.detail) == 0);
    }
    pipe_arena_free(&arena);
    free(row);
    free(other);
}

static void read_unknown(const uint8_t *data, size_t size)
{
    const uint8_t *mark = size > 0 ? memchr(data, 0, size) : NULL;
    size_t first = mark != NULL ? (size_t)(mark - data) : size;
    size_t left = mark != NULL ? size - first - 1 : 0;
    uint8_t *json = fuzz_copy(data, first);
    uint8_t *bytes = fuzz_copy(left > 0 ? mark + 1 : data, left);
    struct pipe_resolved *resolved = resolve(json, first, false);
    free(json);
    if (resolved != NULL) {
        struct pipe_arena arena;
        struct pipe_reader reader;
        struct pipe_error error = {0};
        void *row = pipe_malloc(EVENT_TYPE->size_bytes);
        memset(row, 0xA5, EVENT_TYPE->size_bytes);
        pipe_arena_init(&arena, ROW_ARENA_BYTES);
        pipe_reader_init(&reader, bytes, left, &arena);
        if (read_row(&reader, resolved, row, &error)) {
            FUZZ_CHECK(reader.at >= bytes && reader.at <= bytes + left);
            check_row(EVENT_TYPE, row, &arena);
        }
        pipe_arena_free(&arena);
        free(row);
    }
    pipe_resolved_free(resolved);
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *at = data;
    uint8_t choice = fuzz_byte(&at, data + size);
    size_t left = (size_t)(data + size - at);
    if (choice > 1) {
        read_unknown(at, left);
        return 0;
    }
    uint8_t *bytes = fuzz_copy(at, left);
    read_known(choice, bytes, left);
    free(bytes);
    return 0;
}
