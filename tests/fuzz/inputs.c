/*
 * inputs.c: files of lines and of CSV. The first byte chooses (bits 0 and 1: jsonl, text, csv, csv
 * with a header), the second says how it is read, the third limits a record (0: 1024); behind them
 * is the file.
 */
#include "reading.h"

static const struct pipe_type text_type = {.kind = PIPE_STRING};
static const struct pipe_column columns[] = {
    {.name = "a", .type = &text_type, .offset = 0, .null_offset = PIPE_NOT_NULL},
    {.name = "b", .type = &text_type, .offset = 16, .null_offset = PIPE_NOT_NULL},
};
static const struct pipe_row_type row_type = {"r", columns, 2, 32};
static const struct pipe_source_def sources[] = {
    {.name = "r", .format = PIPE_FORMAT_JSONL, .row = &row_type},
    {.name = "r", .format = PIPE_FORMAT_TEXT, .row = &row_type},
    {.name = "r", .format = PIPE_FORMAT_CSV, .row = &row_type},
    {.name = "r", .format = PIPE_FORMAT_CSV, .header = true, .row = &row_type},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *at = data, *end = data + size;
    uint8_t kind = fuzz_byte(&at, end), choice = fuzz_byte(&at, end);
    uint8_t limit = fuzz_byte(&at, end);
    size_t left = (size_t)(end - at);
    struct pipe_input_config config = {
        .source = &sources[kind & 3],
        .path = fuzz_file(0, at, left),
        .length_bytes = (int64_t)left,
        .max_record_bytes = limit == 0 ? 1024 : limit,
    };
    check_input(&config, choice);
    return 0;
}
