/* input.c: which input reads a source. */
#include "input.h"

#include <stdio.h>

struct pipe_input *pipe_input_open(const struct pipe_input_config *config, char *error,
                                   size_t error_bytes)
{
    if (config->source->is_kafka)
        return pipe_input_topic_file_open(config, error, error_bytes);
    switch (config->source->format) {
    case PIPE_FORMAT_CSV:
        return pipe_input_csv_open(config, error, error_bytes);
    case PIPE_FORMAT_JSON:
    case PIPE_FORMAT_JSONL:
    case PIPE_FORMAT_TEXT:
        return pipe_input_lines_open(config, error, error_bytes);
    case PIPE_FORMAT_AVRO:
        return pipe_input_avro_open(config, error, error_bytes);
    case PIPE_FORMAT_BYTES:
    case PIPE_FORMAT_PARQUET:
        break;
    }
    snprintf(error, error_bytes, "%.300s: a file cannot be read in this format", config->path);
    return NULL;
}
