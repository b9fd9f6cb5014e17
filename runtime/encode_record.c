/*
 * encode_record.c: a row as a record of its source: the opposite of decode.c. Traffic, `inject` and
 * tests write with it.
 */
#include "engine.h"

#define FRAME_BYTES 10 /* C3 01, fingerprint */

/* The frame of Avro's single-object encoding. */
static void add_frame(struct pipe_buf *to, uint64_t fingerprint)
{
    uint8_t *at = pipe_buf_reserve(to, FRAME_BYTES);
    at[0] = 0xC3;
    at[1] = 0x01;
    for (unsigned i = 0; i < 8; i++)
        at[2 + i] = (uint8_t)(fingerprint >> (8 * i));
    to->size += FRAME_BYTES;
}

void pipe_record_encode(const struct pipe_source_def *source, const void *row, struct pipe_buf *to)
{
    to->size = 0;
    switch (source->format) {
    case PIPE_FORMAT_AVRO:
        if (source->is_kafka)
            add_frame(to, source->contract->versions[0].fingerprint);
        pipe_row_to_avro(source->row, row, to);
        break;
    case PIPE_FORMAT_JSON:
    case PIPE_FORMAT_JSONL:
        pipe_row_to_json(source->row, row, to);
        break;
    case PIPE_FORMAT_CSV:
        pipe_row_to_csv(source->row, row, to);
        to->size--; /* the line end */
        break;
    case PIPE_FORMAT_TEXT:
    case PIPE_FORMAT_BYTES:
    case PIPE_FORMAT_PARQUET: {
        const struct pipe_str *text = pipe_column_value(&source->row->columns[0], row);
        pipe_buf_add(to, text->data, text->size);
        break;
    }
    }
}
