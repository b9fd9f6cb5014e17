/*
 * container.c: an Avro container file: of a contract's records, or (bit 0 of the first byte) a
 * topic file. The byte also says how it is read; behind it is the file.
 */
#include "reading.h"

static const struct pipe_contract_version versions[] = {{.label = "v1", .fingerprint = 1}};
static const struct pipe_contract contract = {"c", NULL, versions, 1};
static const struct pipe_source_def file_source = {
    .name = "c", .format = PIPE_FORMAT_AVRO, .contract = &contract};
static const struct pipe_source_def topic_source = {
    .name = "c", .is_kafka = true, .format = PIPE_FORMAT_AVRO, .contract = &contract};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *at = data;
    uint8_t choice = fuzz_byte(&at, data + size);
    size_t left = (size_t)(data + size - at);
    struct pipe_input_config config = {
        .source = (choice & 1) != 0 ? &topic_source : &file_source,
        .path = fuzz_file(0, at, left),
        .length_bytes = (int64_t)left,
        .max_record_bytes = (choice & 2) != 0 ? 16 : 1024,
        .topic = (choice & 1) != 0 ? "t" : NULL,
    };
    check_input(&config, choice);
    return 0;
}
