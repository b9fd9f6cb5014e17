/*
 * input_csv.c: RFC 4180 files. Cutting into fields is the splitter's work (csv.c); here: the
 * header, batches whose records stay valid together, and positions.
 */
#include "file_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct csv {
    struct pipe_input input;
    struct pipe_str topic; /* of every record */
    struct pipe_file_reader reader;
    struct pipe_csv_splitter splitter;
    uint8_t *chunk;
    bool ended;              /* the splitter was told */
    int64_t base;            /* file offset of the splitter's offset 0 */
    struct pipe_arena arena; /* copies of one batch */
    struct pipe_record *records;
    const char **faults;
    struct pipe_input_csv_row *rows;
    uint32_t capacity;
    uint32_t *positions;
};

static void csv_reserve(struct csv *csv, uint32_t count)
{
    if (count <= csv->capacity)
        return;
    free(csv->records);
    free(csv->faults);
    free(csv->rows);
    csv->records = pipe_calloc(count, sizeof *csv->records);
    csv->faults = pipe_calloc(count, sizeof *csv->faults);
    csv->rows = pipe_calloc(count, sizeof *csv->rows);
    csv->capacity = count;
}

static struct pipe_str csv_keep(struct csv *csv, struct pipe_str text)
{
    struct pipe_str kept;
    if (!pipe_str_copy(&csv->arena, text, &kept))
        pipe_out_of_memory();
    return kept;
}

/* Fields mostly lie in the record's text: then they move with its copy. */
static void csv_keep_fields(struct csv *csv, const struct pipe_csv_record *from,
                            struct pipe_str text, struct pipe_input_csv_row *row)
{
    struct pipe_csv_field *fields =
        pipe_arena_alloc(&csv->arena, (from->field_count + 1) * sizeof *fields);
    if (fields == NULL)
        pipe_out_of_memory();
    for (size_t i = 0; i < from->field_count; i++) {
        const struct pipe_csv_field *field = &from->fields[i];
        const char *begin = from->text.data, *end = begin + from->text.size;
        fields[i].quoted = field->quoted;
        if (field->text.size > 0 && field->text.data >= begin &&
            field->text.data + field->text.size <= end)
            fields[i].text =
                (struct pipe_str){text.data + (field->text.data - begin), field->text.size};
        else
            fields[i].text = csv_keep(csv, field->text);
    }
    row->fields = fields;
    row->count = (uint32_t)from->field_count;
}

static void csv_give(struct csv *csv, uint32_t index, const struct pipe_csv_record *from)
{
    const struct pipe_input_config *config = &csv->input.config;
    struct pipe_str text = csv_keep(csv, from->text);
    csv->records[index] = (struct pipe_record){
        .has_position = true,
        .source = config->source_index,
        .partition = config->partition,
        .offset = csv->input.position.offset++,
        .topic = csv->topic,
        .kafka_time_ms = PIPE_TIME_MIN,
        .payload = {text.size > 0 ? text.data : "", text.size},
    };
    csv->faults[index] = from->cause;
    csv->rows[index] = (struct pipe_input_csv_row){NULL, 0};
    if (from->cause == NULL)
        csv_keep_fields(csv, from, text, &csv->rows[index]);
    int64_t hint[1] = {csv->base + (int64_t)from->end};
    pipe_position_set(&csv->input.position, csv->input.position.offset, hint, 1);
}

static enum pipe_read csv_feed(struct csv *csv)
{
    size_t got = 0;
    enum pipe_read read =
        pipe_file_read(&csv->reader, csv->input.config.path, csv->chunk, PIPE_CHUNK_BYTES, &got,
                       csv->input.error, sizeof csv->input.error);
    if (read == PIPE_READ_DATA)
        pipe_csv_feed(&csv->splitter, csv->chunk, got);
    if (read == PIPE_READ_END) {
        pipe_csv_finish(&csv->splitter);
        csv->ended = true;
    }
    return read;
}

static enum pipe_input_state csv_next(struct pipe_input *input, uint32_t max_records,
                                      struct pipe_record **records, uint32_t *count)
{
    struct csv *csv = (struct csv *)input;
    struct pipe_csv_record record;
    bool any_fault = false;
    uint32_t n = 0;
    max_records = max_records < PIPE_BATCH_RECORDS ? max_records : PIPE_BATCH_RECORDS;
    csv_reserve(csv, max_records);
    pipe_arena_reset(&csv->arena);
    for (;;) {
        while (n < max_records && pipe_csv_next(&csv->splitter, &record)) {
            csv_give(csv, n, &record);
            any_fault |= record.cause != NULL;
            n++;
        }
        if (n > 0 || csv->ended)
            break;
        enum pipe_read read = csv_feed(csv);
        if (read == PIPE_READ_FAILED)
            return PIPE_INPUT_FAILED;
        if (read == PIPE_READ_AGAIN)
            return PIPE_INPUT_WAIT;
    }
    input->faults = any_fault ? csv->faults : NULL;
    input->csv_rows = csv->rows;
    *records = csv->records;
    *count = n;
    return n > 0 ? PIPE_INPUT_RECORDS : PIPE_INPUT_END;
}

static void csv_close(struct pipe_input *input)
{
    struct csv *csv = (struct csv *)input;
    pipe_file_close(&csv->reader);
    pipe_csv_free(&csv->splitter);
    pipe_arena_free(&csv->arena);
    free(csv->chunk);
    free(csv->records);
    free(csv->faults);
    free(csv->rows);
    free(csv->positions);
    free(csv);
}

static const struct pipe_input_ops csv_ops = {csv_next, csv_close};

/* The header record. False: error has the line. */
static bool csv_next_header(struct csv *csv, struct pipe_csv_record *header, char *error,
                            size_t error_bytes)
{
    const char *path = csv->input.config.path;
    while (!pipe_csv_next(&csv->splitter, header)) {
        if (csv->ended) {
            snprintf(
                error, error_bytes,
                "%.300s: is empty, but the source says `header`: a first line with column names "
                "is needed",
                path);
            return false;
        }
        enum pipe_read read = csv_feed(csv);
        if (read == PIPE_READ_FAILED) {
            snprintf(error, error_bytes, "%s", csv->input.error);
            return false;
        }
        if (read == PIPE_READ_AGAIN && !pipe_file_wait(&csv->reader)) {
            snprintf(error, error_bytes, "%.300s: interrupted before its header came", path);
            return false;
        }
    }
    return true;
}

/* By the first bytes of gzip, Zstandard, xz, ZIP. */
static bool is_packed(struct pipe_str text)
{
    static const char *const begins[] = {"\x1f\x8b", "\x28\xb5\x2f\xfd", "\xfd\x37zXZ",
                                         "PK\x03\x04"};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (text.size >= strlen(begins[i]) && memcmp(text.data, begins[i], strlen(begins[i])) == 0)
            return true;
    return false;
}

/* Reads the header record: column positions and where the first row begins. */
static bool csv_read_header(struct csv *csv, char *error, size_t error_bytes)
{
    const struct pipe_source_def *source = csv->input.config.source;
    const struct pipe_row_type *row = source->row;
    const char *path = csv->input.config.path;
    struct pipe_csv_record header;
    struct pipe_error cause = {0};
    if (!csv_next_header(csv, &header, error, error_bytes))
        return false;
    if (is_packed(header.text)) {
        snprintf(error, error_bytes,
                 "%.300s: is compressed, not CSV text; unpack it first, or name `-` as its path "
                 "and unpack into standard input",
                 path);
        return false;
    }
    if (header.cause != NULL) {
        snprintf(error, error_bytes, "%.300s: line 1: the header cannot be read: %s", path,
                 header.cause);
        return false;
    }
    csv->positions = pipe_calloc(row->column_count + 1, sizeof *csv->positions);
    if (!pipe_csv_positions(row, source->later, source->later_count, header.fields,
                            header.field_count, csv->positions, &cause)) {
        snprintf(error, error_bytes, "%.300s: line 1: column %s: %s", path, cause.field,
                 cause.detail);
        return false;
    }
    csv->input.csv_positions = csv->positions;
    csv->input.csv_expected = (uint32_t)header.field_count;
    int64_t hint[1] = {(int64_t)header.end};
    pipe_position_set(&csv->input.position, 0, hint, 1);
    return true;
}

/* Goes on at a byte offset, with a splitter that begins there. */
static bool csv_seek(struct csv *csv, int64_t offset, char *error, size_t error_bytes)
{
    pipe_file_close(&csv->reader);
    pipe_csv_free(&csv->splitter);
    pipe_csv_init(&csv->splitter, csv->input.config.max_record_bytes);
    csv->splitter.bom_bytes = 3; /* past the beginning: none is looked for */
    csv->base = offset;
    csv->ended = false;
    csv->input.position = csv->input.config.resume;
    return pipe_file_open(&csv->reader, &csv->input.config, offset, error, error_bytes);
}

struct pipe_input *pipe_input_csv_open(const struct pipe_input_config *config, char *error,
                                       size_t error_bytes)
{
    int64_t hint[1];
    if (!pipe_position_get(&config->resume, hint, 1)) {
        snprintf(error, error_bytes, "%.300s: the stored position belongs to another kind of file",
                 config->path);
        return NULL;
    }
    struct csv *csv = pipe_calloc(1, sizeof *csv);
    csv->chunk = pipe_malloc(PIPE_CHUNK_BYTES);
    csv->input.ops = &csv_ops;
    csv->input.config = *config;
    const char *topic = config->topic != NULL ? config->topic : config->path;
    csv->topic = pipe_str_of(topic, strlen(topic));
    csv->input.csv_expected = config->source->row->column_count;
    csv->reader.fd = -1;
    pipe_arena_init(&csv->arena, SIZE_MAX / 2);
    pipe_csv_init(&csv->splitter, config->max_record_bytes);
    if (!pipe_file_open(&csv->reader, config, 0, error, error_bytes) ||
        (config->source->header && !csv_read_header(csv, error, error_bytes)) ||
        (config->resume.offset > 0 && !csv_seek(csv, hint[0], error, error_bytes))) {
        csv_close(&csv->input);
        return NULL;
    }
    return &csv->input;
}
