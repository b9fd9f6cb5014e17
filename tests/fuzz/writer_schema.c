/*
 * writer_schema.c: the schema of an unknown writer, up to a NUL, then a value that it may have
 * written.
 */
#include "fuzz.h"
#include "avro_writer_schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char error[256] = "";
    const uint8_t *mark = size > 0 ? memchr(data, 0, size) : NULL;
    size_t first = mark != NULL ? (size_t)(mark - data) : size;
    uint8_t *json = fuzz_copy(data, first);
    struct pipe_writer_schema *schema =
        pipe_writer_schema_parse((const char *)json, first, error, sizeof error);
    free(json);
    FUZZ_CHECK((schema == NULL) == (error[0] != '\0'));
    if (schema != NULL) {
        pipe_writer_schema_fingerprint(schema);
        FUZZ_CHECK(pipe_writer_schema_name(schema) != NULL);
    }
    if (schema != NULL && mark != NULL) {
        size_t left = size - first - 1;
        uint8_t *bytes = fuzz_copy(mark + 1, left);
        struct pipe_reader reader;
        pipe_reader_init(&reader, bytes, left, NULL);
        if (pipe_writer_schema_skip(schema, &reader))
            FUZZ_CHECK(reader.at >= bytes && reader.at <= bytes + left);
        else
            FUZZ_CHECK(reader.cause != NULL);
        free(bytes);
    }
    pipe_writer_schema_free(schema);
    return 0;
}
