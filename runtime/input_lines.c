/*
 * input_lines.c: jsonl and text: a line is a record. The last line may lack its LF; a CR before the
 * LF belongs to the line end; a byte-order mark at the start of the file is skipped.
 */
#include "file_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct lines {
    struct pipe_input input;
    struct pipe_str topic; /* of every record */
    struct pipe_file_reader reader;
    struct pipe_buf buf; /* bytes read and not yet given; the file's bytes from `base` on */
    size_t given;        /* of buf: they belong to records that were returned */
    int64_t base;        /* file offset of buf.data[0] */
    bool ended;
    bool skipping; /* in a line that was too long, up to its end; part of the position */
    struct pipe_record *records;
    const char **faults;
    uint32_t capacity;
    char too_long[96];
};

static void lines_reserve(struct lines *lines, uint32_t count)
{
    if (count <= lines->capacity)
        return;
    free(lines->records);
    free(lines->faults);
    lines->records = pipe_calloc(count, sizeof *lines->records);
    lines->faults = pipe_calloc(count, sizeof *lines->faults);
    lines->capacity = count;
}

/* Forgets what was given, keeps an unfinished line, reads one chunk behind it. */
static enum pipe_read lines_fill(struct lines *lines)
{
    if (lines->given > 0)
        memmove(lines->buf.data, lines->buf.data + lines->given, lines->buf.size - lines->given);
    lines->buf.size -= lines->given;
    lines->base += (int64_t)lines->given;
    lines->given = 0;
    uint8_t *to = pipe_buf_reserve(&lines->buf, PIPE_CHUNK_BYTES);
    size_t got = 0;
    enum pipe_read read =
        pipe_file_read(&lines->reader, lines->input.config.path, to, PIPE_CHUNK_BYTES, &got,
                       lines->input.error, sizeof lines->input.error);
    if (read == PIPE_READ_DATA)
        lines->buf.size += got;
    if (read == PIPE_READ_END)
        lines->ended = true;
    return read;
}

static void lines_skip_bom(struct lines *lines)
{
    if (lines->base == 0 && lines->given == 0 && lines->buf.size >= 3 &&
        memcmp(lines->buf.data, "\xEF\xBB\xBF", 3) == 0)
        lines->given = 3;
}

static void lines_give(struct lines *lines, uint32_t index, size_t size, const char *fault)
{
    const char *text = (const char *)lines->buf.data + lines->given;
    struct pipe_record *record = &lines->records[index];
    const struct pipe_input_config *config = &lines->input.config;
    *record = (struct pipe_record){
        .has_position = true,
        .source = config->source_index,
        .partition = config->partition,
        .offset = lines->input.position.offset,
        .topic = lines->topic,
        .kafka_time_ms = PIPE_TIME_MIN,
        .payload = {size > 0 ? text : "", size},
    };
    lines->faults[index] = fault;
    lines->input.position.offset++;
}

/* What has been read of the file may be the first bytes of a byte-order mark. */
static bool lines_begin_bom(const struct lines *lines)
{
    return lines->base == 0 && lines->given == 0 && !lines->ended && lines->buf.size < 3 &&
           memcmp(lines->buf.data, "\xEF\xBB\xBF", lines->buf.size) == 0;
}

/* Drops the rest of a line that was too long; false: its end has not been read yet. */
static bool lines_skip(struct lines *lines)
{
    size_t left = lines->buf.size - lines->given;
    uint8_t *end = left > 0 ? memchr(lines->buf.data + lines->given, '\n', left) : NULL;
    if (end == NULL) {
        lines->given = lines->buf.size;
        return lines->ended;
    }
    lines->given = (size_t)(end - lines->buf.data) + 1;
    lines->skipping = false;
    return true;
}

/* One record out of the buffer; false: more must be read (or, at the end, none is left). */
static bool lines_cut(struct lines *lines, uint32_t index, bool *any_fault)
{
    size_t limit = lines->input.config.max_record_bytes;
    if (lines->skipping && (!lines_skip(lines) || lines->skipping))
        return false;
    size_t left = lines->buf.size - lines->given;
    if (left == 0 || lines_begin_bom(lines))
        return false;
    const uint8_t *from = lines->buf.data + lines->given;
    const uint8_t *end = memchr(from, '\n', left);
    size_t whole = end != NULL ? (size_t)(end - from) : left, size = whole;
    bool ends_in_cr = from[size - 1 + (size == 0)] == '\r';
    if (end != NULL && size > 0 && ends_in_cr)
        size--;
    /* A CR just behind the limit may belong to a line end that has not been read. */
    bool undecided = end == NULL && !lines->ended && size == limit + 1 && ends_in_cr;
    if (size > limit && !undecided) {
        lines_give(lines, index, limit, lines->too_long);
        lines->given += limit;
        lines->skipping = true;
        *any_fault = true;
        return true;
    }
    if (end == NULL && !lines->ended)
        return false;
    lines_give(lines, index, size, NULL);
    lines->given += whole + (end != NULL ? 1 : 0);
    return true;
}

static enum pipe_input_state lines_next(struct pipe_input *input, uint32_t max_records,
                                        struct pipe_record **records, uint32_t *count)
{
    struct lines *lines = (struct lines *)input;
    bool any_fault = false;
    uint32_t n = 0;
    max_records = max_records < PIPE_BATCH_RECORDS ? max_records : PIPE_BATCH_RECORDS;
    lines_reserve(lines, max_records);
    for (;;) {
        while (n < max_records && lines_cut(lines, n, &any_fault))
            n++;
        if (n > 0 || (lines->ended && lines->given == lines->buf.size))
            break;
        enum pipe_read read = lines->ended ? PIPE_READ_END : lines_fill(lines);
        if (read == PIPE_READ_FAILED)
            return PIPE_INPUT_FAILED;
        if (read == PIPE_READ_AGAIN)
            return PIPE_INPUT_WAIT;
        lines_skip_bom(lines);
    }
    input->faults = any_fault ? lines->faults : NULL;
    *records = lines->records;
    *count = n;
    int64_t hint[2] = {lines->base + (int64_t)lines->given, lines->skipping};
    pipe_position_set(&input->position, input->position.offset, hint, 2);
    return n > 0 ? PIPE_INPUT_RECORDS : PIPE_INPUT_END;
}

static void lines_close(struct pipe_input *input)
{
    struct lines *lines = (struct lines *)input;
    pipe_file_close(&lines->reader);
    pipe_buf_free(&lines->buf);
    free(lines->records);
    free(lines->faults);
    free(lines);
}

static const struct pipe_input_ops lines_ops = {lines_next, lines_close};

struct pipe_input *pipe_input_lines_open(const struct pipe_input_config *config, char *error,
                                         size_t error_bytes)
{
    int64_t hint[2];
    if (!pipe_position_get(&config->resume, hint, 2)) {
        snprintf(error, error_bytes, "%.300s: the stored position belongs to another kind of file",
                 config->path);
        return NULL;
    }
    struct lines *lines = pipe_calloc(1, sizeof *lines);
    lines->input.ops = &lines_ops;
    lines->input.config = *config;
    const char *topic = config->topic != NULL ? config->topic : config->path;
    lines->topic = pipe_str_of(topic, strlen(topic));
    lines->input.position = config->resume;
    lines->base = hint[0];
    lines->skipping = hint[1] != 0;
    snprintf(lines->too_long, sizeof lines->too_long, "the line is longer than %u bytes",
             config->max_record_bytes);
    if (!pipe_file_open(&lines->reader, config, hint[0], error, error_bytes)) {
        free(lines);
        return NULL;
    }
    return &lines->input;
}
