/* avro_container.c: see avro_container.h. */
#include "avro_container.h"

#include <inttypes.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <zlib.h>

enum { HEADER_MAX_BYTES = 2 * 1024 * 1024, METADATA_MAX = 256 };

static bool refuse(struct pipe_container *container, const char *what)
{
    if (container->error[0] == '\0')
        snprintf(container->error, sizeof container->error, "%.200s: at byte %" PRId64 ": %.270s",
                 container->path, container->base + (int64_t)container->used, what);
    return false;
}

static struct pipe_reader unread(struct pipe_container *container)
{
    struct pipe_reader reader;
    const uint8_t *from =
        container->buf.data != NULL ? container->buf.data + container->used : NULL;
    pipe_reader_init(&reader, from, container->buf.size - container->used, NULL);
    return reader;
}

#define FRAME_VARIES_BYTES 1024u /* about as much: some records more or less */

/* Up to the end of a block, for what is read of the next one has to be moved: the blocks of a file
 * are mostly about as large as the last one. */
static size_t next_read_bytes(const struct pipe_container *container)
{
    size_t held = container->buf.size, frame = container->frame_bytes;
    if (frame <= held || frame - held >= PIPE_CHUNK_BYTES)
        return PIPE_CHUNK_BYTES;
    size_t rest = frame - held, more = frame + FRAME_VARIES_BYTES;
    return rest + (PIPE_CHUNK_BYTES - rest) / more * more;
}

/* One more chunk behind what is there. */
static enum pipe_read more(struct pipe_container *container)
{
    if (container->used > 0)
        memmove(container->buf.data, container->buf.data + container->used,
                container->buf.size - container->used);
    container->buf.size -= container->used;
    container->base += (int64_t)container->used;
    container->used = 0;
    size_t got = 0, wanted = next_read_bytes(container);
    uint8_t *to = pipe_buf_reserve(&container->buf, PIPE_CHUNK_BYTES);
    enum pipe_read read = pipe_file_read(&container->reader, container->path, to, wanted, &got,
                                         container->error, sizeof container->error);
    if (read == PIPE_READ_DATA)
        container->buf.size += got;
    return read;
}

static bool read_codec(struct pipe_container *container, struct pipe_str value)
{
    container->deflate = pipe_str_equal(value, pipe_str_of("deflate", 7));
    if (container->deflate || pipe_str_equal(value, pipe_str_of("null", 4)))
        return true;
    struct pipe_quoted quoted = pipe_quote(value.data, value.size);
    char what[320];
    snprintf(what, sizeof what,
             "the codec %s is not supported; write the file with null or deflate", quoted.text);
    return refuse(container, what);
}

static bool read_schema(struct pipe_container *container, struct pipe_str value)
{
    char why[300], what[360];
    if (container->schema != NULL)
        return refuse(container, "the header has two schemas");
    container->schema = pipe_writer_schema_parse(value.data, value.size, why, sizeof why);
    if (container->schema != NULL)
        return true;
    snprintf(what, sizeof what, "the header cannot be used: %s", why);
    return refuse(container, what);
}

/* The bytes end early: more must be read. True, unless no file could go on like that. */
static bool incomplete(struct pipe_container *container, const struct pipe_reader *reader)
{
    bool beyond = reader->has_number && reader->number <= HEADER_MAX_BYTES && reader->number >= 0;
    if (beyond || reader->at == reader->end || reader->end - reader->at < 10)
        return true;
    return refuse(container, "the header has a negative or too great length");
}

static bool read_entry(struct pipe_container *container, struct pipe_reader *reader, bool *whole)
{
    struct pipe_str key = {0}, value = {0};
    *whole = pipe_avro_bytes(reader, &key) && pipe_avro_bytes(reader, &value);
    if (!*whole)
        return incomplete(container, reader);
    if (pipe_str_equal(key, pipe_str_of("avro.codec", 10)))
        return read_codec(container, value);
    return !pipe_str_equal(key, pipe_str_of("avro.schema", 11)) || read_schema(container, value);
}

/* The metadata map. *whole is false if the bytes end early: read more and try again. */
static bool read_metadata(struct pipe_container *container, struct pipe_reader *reader, bool *whole)
{
    int64_t count, unused, total = 0;
    *whole = false;
    while (pipe_avro_long(reader, &count)) {
        if (count == 0) {
            *whole = reader->end - reader->at >= PIPE_SYNC_BYTES;
            return true;
        }
        if (count < -METADATA_MAX || count > METADATA_MAX)
            return refuse(container, "the header has too many entries");
        if (count < 0 && !pipe_avro_long(reader, &unused)) /* the size of the map's block */
            return incomplete(container, reader);
        count = count < 0 ? -count : count;
        if ((total += count) > METADATA_MAX)
            return refuse(container, "the header has too many entries");
        for (int64_t i = 0; i < count; i++) {
            bool entry;
            if (!read_entry(container, reader, &entry))
                return false;
            if (!entry)
                return true;
        }
    }
    return incomplete(container, reader);
}

static void forget_header(struct pipe_container *container)
{
    pipe_writer_schema_free(container->schema);
    container->schema = NULL;
    container->deflate = false;
}

/* The header out of what has been read, if it is all there. */
static bool cut_header(struct pipe_container *container, bool *whole)
{
    struct pipe_reader reader = unread(container);
    *whole = false;
    if (container->buf.size < 4)
        return true;
    if (memcmp(container->buf.data, "Obj\1", 4) != 0)
        return refuse(container, "is no Avro container file: it does not begin with Obj");
    reader.at += 4;
    forget_header(container);
    if (!read_metadata(container, &reader, whole))
        return false;
    if (!*whole)
        return true;
    if (container->schema == NULL)
        return refuse(container, "the header has no avro.schema");
    memcpy(container->sync, reader.at, PIPE_SYNC_BYTES);
    container->used = (size_t)(reader.at - container->buf.data) + PIPE_SYNC_BYTES;
    return true;
}

static bool read_header(struct pipe_container *container)
{
    for (;;) {
        bool whole;
        if (!cut_header(container, &whole))
            return false;
        if (whole)
            return true;
        if (container->buf.size > HEADER_MAX_BYTES)
            return refuse(container, "the header is longer than 2 MiB");
        enum pipe_read read = more(container);
        if (read == PIPE_READ_FAILED)
            return false;
        if (read == PIPE_READ_END)
            return refuse(container, container->buf.size == 0
                                         ? "is empty, and so no Avro container file"
                                         : "is no Avro container file: its header ends early");
        if (read == PIPE_READ_AGAIN && !pipe_file_wait(&container->reader))
            return refuse(container, "interrupted before its header came");
    }
}

bool pipe_container_open(struct pipe_container *container, const struct pipe_input_config *config)
{
    *container = (struct pipe_container){.path = config->path, .reader.fd = -1};
    return pipe_file_open(&container->reader, config, 0, container->error,
                          sizeof container->error) &&
           read_header(container);
}

bool pipe_container_seek(struct pipe_container *container, const struct pipe_input_config *config,
                         int64_t offset)
{
    if (offset <= 0)
        return true;
    pipe_file_close(&container->reader);
    container->buf.size = container->used = 0;
    container->base = offset;
    return pipe_file_open(&container->reader, config, offset, container->error,
                          sizeof container->error);
}

static bool inflate_block(struct pipe_container *container, struct pipe_str stored)
{
    z_stream stream = {0};
    if (inflateInit2(&stream, -15) != Z_OK)
        pipe_out_of_memory();
    stream.next_in = (Bytef *)(uintptr_t)stored.data;
    stream.avail_in = (uInt)stored.size;
    container->inflated.size = 0;
    int status = Z_OK;
    while (status == Z_OK && container->inflated.size <= PIPE_BLOCK_MAX_BYTES) {
        stream.next_out = pipe_buf_reserve(&container->inflated, PIPE_CHUNK_BYTES);
        stream.avail_out = PIPE_CHUNK_BYTES;
        status = inflate(&stream, Z_NO_FLUSH);
        container->inflated.size += PIPE_CHUNK_BYTES - stream.avail_out;
        if (status == Z_OK && stream.avail_in == 0 && stream.avail_out > 0)
            break;
    }
    inflateEnd(&stream);
    if (container->inflated.size > PIPE_BLOCK_MAX_BYTES)
        return refuse(container, "a block is larger than 64 MiB");
    if (status != Z_STREAM_END)
        return refuse(container, "a block cannot be inflated");
    return true;
}

/* Whether the block's records can lie in its bytes: a record takes a byte at least. */
static bool judge_count(struct pipe_container *container, int64_t count)
{
    int64_t bytes = container->end - container->at;
    char what[160];
    if (count <= bytes && (count > 0 || bytes == 0))
        return true;
    snprintf(what, sizeof what, "a block says that it has %" PRId64 " records in %" PRId64 " bytes",
             count, bytes);
    return refuse(container, what);
}

/* The block's frame, if all of it has been read: *whole. */
static bool cut_block(struct pipe_container *container, bool *whole)
{
    struct pipe_reader reader = unread(container);
    int64_t count, size;
    *whole = false;
    if (!pipe_avro_long(&reader, &count) || !pipe_avro_long(&reader, &size))
        return container->buf.size - container->used < 20 ||
               refuse(container, "a block begins with no valid length");
    if (count < 0 || size < 0)
        return refuse(container, "a block has a negative length");
    if (count > PIPE_BLOCK_MAX_BYTES || size > PIPE_BLOCK_MAX_BYTES)
        return refuse(container, "a block is larger than 64 MiB");
    container->frame_bytes = (size_t)(reader.at - container->buf.data) - container->used +
                             (size_t)size + PIPE_SYNC_BYTES;
    if (reader.end - reader.at < size + PIPE_SYNC_BYTES)
        return true;
    struct pipe_str stored = pipe_str_of(reader.at, (size_t)size);
    if (memcmp(reader.at + size, container->sync, PIPE_SYNC_BYTES) != 0)
        return refuse(container, "a block does not end with the file's sync marker");
    if (container->deflate && !inflate_block(container, stored))
        return false;
    container->at = container->deflate ? container->inflated.data : reader.at;
    container->end = container->at + (container->deflate ? container->inflated.size : stored.size);
    if (!judge_count(container, count))
        return false;
    container->block_offset = container->base + (int64_t)container->used;
    container->count = count;
    container->given = 0;
    container->used = (size_t)(reader.at - container->buf.data) + stored.size + PIPE_SYNC_BYTES;
    *whole = true;
    return true;
}

enum pipe_read pipe_container_block(struct pipe_container *container)
{
    for (;;) {
        bool whole = false;
        if (container->buf.size > container->used && !cut_block(container, &whole))
            return PIPE_READ_FAILED;
        if (whole)
            return PIPE_READ_DATA;
        enum pipe_read read = more(container);
        if (read == PIPE_READ_END && container->buf.size > container->used) {
            refuse(container, "the file ends inside a block");
            return PIPE_READ_FAILED;
        }
        if (read != PIPE_READ_DATA)
            return read;
    }
}

bool pipe_container_record(struct pipe_container *container, struct pipe_str *record)
{
    struct pipe_reader reader;
    pipe_reader_init(&reader, container->at, (size_t)(container->end - container->at), NULL);
    bool ok = pipe_writer_schema_skip(container->schema, &reader);
    if (ok && container->given + 1 == container->count && reader.at != container->end)
        ok = pipe_reader_fail_number(&reader, "it is the last, but bytes are left over behind it",
                                     container->end - reader.at);
    if (!ok) {
        struct pipe_error cause = {0};
        pipe_reader_error(&reader, &cause);
        snprintf(container->error, sizeof container->error,
                 "%.160s: block at byte %" PRId64 ": record %" PRId64 " of %" PRId64 ": %.200s",
                 container->path, container->block_offset, container->given + 1, container->count,
                 cause.detail);
        return false;
    }
    *record = pipe_str_of(container->at, (size_t)(reader.at - container->at));
    container->at = reader.at;
    container->given++;
    return true;
}

void pipe_container_close(struct pipe_container *container)
{
    pipe_file_close(&container->reader);
    pipe_buf_free(&container->buf);
    pipe_buf_free(&container->inflated);
    pipe_writer_schema_free(container->schema);
    container->schema = NULL;
}

void pipe_container_sync(const char *schema_json, uint8_t sync[PIPE_SYNC_BYTES])
{
    uint8_t digest[SHA256_DIGEST_LENGTH];
    SHA256((const uint8_t *)schema_json, strlen(schema_json), digest);
    memcpy(sync, digest, PIPE_SYNC_BYTES);
}

void pipe_container_write_header(struct pipe_buf *out, const char *schema_json,
                                 const uint8_t sync[PIPE_SYNC_BYTES])
{
    pipe_buf_add(out, "Obj\1", 4);
    pipe_avro_put_long(out, 2);
    pipe_avro_put_bytes(out, pipe_str_of("avro.codec", 10));
    pipe_avro_put_bytes(out, pipe_str_of("null", 4));
    pipe_avro_put_bytes(out, pipe_str_of("avro.schema", 11));
    pipe_avro_put_bytes(out, pipe_str_of(schema_json, strlen(schema_json)));
    pipe_avro_put_long(out, 0);
    pipe_buf_add(out, sync, PIPE_SYNC_BYTES);
}

void pipe_container_write_block(struct pipe_buf *out, int64_t count, struct pipe_str records,
                                const uint8_t sync[PIPE_SYNC_BYTES])
{
    pipe_avro_put_long(out, count);
    pipe_avro_put_long(out, (int64_t)records.size);
    pipe_buf_add(out, records.data, records.size);
    pipe_buf_add(out, sync, PIPE_SYNC_BYTES);
}
