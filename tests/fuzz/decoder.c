/*
 * decoder.c: the generated decoders of a contract with every type. The first byte chooses: bit 0
 * the writer's version, bit 1 the reader by descriptor, which must agree with the generated one.
 */
#include "rows.h"

static void decode_both(struct pipe_reader *by_code)
{
    void *other = pipe_calloc(1, EVENT_TYPE->size_bytes);
    void *row = pipe_calloc(1, EVENT_TYPE->size_bytes);
    struct pipe_reader by_type = *by_code;
    bool good = versions_event[0].decode(by_code, row);
    FUZZ_CHECK(pipe_row_from_avro(EVENT_TYPE, &by_type, other) == good);
    if (good)
        FUZZ_CHECK(pipe_row_equal(EVENT_TYPE, row, other) && by_code->at == by_type.at);
    free(other);
    free(row);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *at = data;
    uint8_t choice = fuzz_byte(&at, data + size);
    size_t left = (size_t)(data + size - at);
    uint8_t *bytes = fuzz_copy(at, left);
    struct pipe_arena arena;
    struct pipe_reader reader;
    void *row = pipe_malloc(EVENT_TYPE->size_bytes);
    memset(row, 0xA5, EVENT_TYPE->size_bytes); /* a decoder must set all of it */
    pipe_arena_init(&arena, ROW_ARENA_BYTES);
    pipe_reader_init(&reader, bytes, left, &arena);
    if ((choice & 2) != 0) {
        decode_both(&reader);
    } else if (versions_event[choice & 1].decode(&reader, row)) {
        FUZZ_CHECK(reader.cause == NULL && reader.at >= bytes && reader.at <= bytes + left);
        check_row(EVENT_TYPE, row, &arena);
    } else {
        struct pipe_error error = {0};
        FUZZ_CHECK(reader.cause != NULL);
        pipe_reader_error(&reader, &error);
        check_error(&error);
    }
    pipe_arena_free(&arena);
    free(row);
    free(bytes);
    return 0;
}
