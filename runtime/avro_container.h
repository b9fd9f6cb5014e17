/*
 * avro_container.h: Avro object container files (codecs null and deflate): reading block by block,
 * and writing. Bounds: a header of at most 2 MiB, a block of at most 64 MiB as stored and inflated,
 * and of at most as many records as it has bytes.
 */
#ifndef PIPE_AVRO_CONTAINER_H
#define PIPE_AVRO_CONTAINER_H

#include "avro_writer_schema.h"
#include "file_reader.h"

#define PIPE_BLOCK_MAX_BYTES (64u * 1024 * 1024)
#define PIPE_SYNC_BYTES 16

struct pipe_container {
    struct pipe_file_reader reader;
    const char *path;
    struct pipe_buf buf; /* bytes read, the first `used` of them done */
    size_t used;
    size_t frame_bytes; /* of the last block that was looked at, with its length and marker */
    int64_t base;       /* file offset of buf.data[0] */
    struct pipe_writer_schema *schema;
    uint8_t sync[PIPE_SYNC_BYTES];
    bool deflate;
    /* The current block: */
    int64_t block_offset; /* in the file */
    int64_t count, given; /* records in it, and how many of them were given */
    struct pipe_buf inflated;
    const uint8_t *at, *end;
    char error[512];
};

/* Reads the header. False: container->error (a whole line). Close it in any case. */
bool pipe_container_open(struct pipe_container *container, const struct pipe_input_config *config);
/* Goes to a block that an earlier run saw at this offset. */
bool pipe_container_seek(struct pipe_container *container, const struct pipe_input_config *config,
                         int64_t offset);
/* Makes the next block current. READ_DATA: there is one (count may be 0). */
enum pipe_read pipe_container_block(struct pipe_container *container);
/* The next record's bytes out of the current block (given < count). False: error; the block can't
 * be split; nothing has moved, so that another call fails in the same way. */
bool pipe_container_record(struct pipe_container *container, struct pipe_str *record);
/* The same for a caller that knows the records' fields and has read one from container->at up to
 * `end`. False: not taken, for bytes are left over behind the last; pipe_container_record says so.
 */
static inline bool pipe_container_took(struct pipe_container *container, const uint8_t *end)
{
    if (container->given + 1 == container->count && end != container->end)
        return false;
    container->at = end;
    container->given++;
    return true;
}
void pipe_container_close(struct pipe_container *container);

/* Writing: the header (codec null), then blocks. `sync` must be the same for all blocks of a file:
 * it is made from the schema's text, so that the same rows make the same file. */
void pipe_container_sync(const char *schema_json, uint8_t sync[PIPE_SYNC_BYTES]);
void pipe_container_write_header(struct pipe_buf *out, const char *schema_json,
                                 const uint8_t sync[PIPE_SYNC_BYTES]);
void pipe_container_write_block(struct pipe_buf *out, int64_t count, struct pipe_str records,
                                const uint8_t sync[PIPE_SYNC_BYTES]);

#endif
