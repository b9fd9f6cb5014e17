/* runtime_files.h: what the tests of inputs, outputs and traffic share: files in a temporary
 * directory, and reading an input to its end, every record as one text. */
#ifndef RUNTIME_FILES_H
#define RUNTIME_FILES_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../runtime/input.h"

static char test_dir[64];

static inline int make_test_dir(void **state)
{
    (void)state;
    snprintf(test_dir, sizeof test_dir, "/tmp/pipe_test_XXXXXX");
    return mkdtemp(test_dir) == NULL ? -1 : 0;
}

static inline int remove_test_dir(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", test_dir);
    return system(command) == 0 ? 0 : -1;
}

/* A path in the directory; valid until the eighth call after it. */
static inline const char *in_dir(const char *name)
{
    static char paths[8][256];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", test_dir, name);
    return path;
}

static inline void write_bytes(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static inline void write_text(const char *path, const char *text)
{
    write_bytes(path, text, strlen(text));
}

static inline struct pipe_buf read_bytes(const char *path)
{
    struct pipe_buf out = {0};
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t got;
    do {
        got = fread(pipe_buf_reserve(&out, 65536), 1, 65536, file);
        out.size += got;
    } while (got > 0);
    fclose(file);
    return out;
}

/* The same numbers in every run. */
static uint64_t random_state = 1;
static inline uint32_t random_below(uint32_t limit)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((random_state >> 33) % limit);
}

struct reading {
    char **records; /* "offset|fault|time|key|payload" and, of CSV, "|[field][field]" with q where
                       it was quoted */
    size_t *sizes;
    struct pipe_input_position *positions; /* after each, where the batch ended there */
    size_t count, room;
    bool opened, failed;
    char error[512];
};

static inline void describe_record(struct pipe_buf *text, const struct pipe_input *input,
                                   const struct pipe_record *record, uint32_t i)
{
    const char *fault = input->faults != NULL && input->faults[i] != NULL ? input->faults[i] : "";
    pipe_buf_printf(text, "%" PRId64 "|%s|", record->offset, fault);
    if (record->kafka_time_ms != PIPE_TIME_MIN)
        pipe_buf_printf(text, "%" PRId64, record->kafka_time_ms);
    pipe_buf_add_byte(text, '|');
    if (record->key.data != NULL)
        pipe_buf_printf(text, "%.*s", (int)record->key.size, record->key.data);
    else
        pipe_buf_printf(text, "-");
    pipe_buf_add_byte(text, '|');
    if (record->payload.data != NULL)
        pipe_buf_add(text, record->payload.data, record->payload.size);
    else
        pipe_buf_printf(text, "-");
    if (input->csv_rows == NULL)
        return;
    pipe_buf_add_byte(text, '|');
    for (uint32_t f = 0; f < input->csv_rows[i].count; f++) {
        const struct pipe_csv_field *field = &input->csv_rows[i].fields[f];
        pipe_buf_printf(text, "%s[", field->quoted ? "q" : "");
        pipe_buf_add(text, field->text.data, field->text.size);
        pipe_buf_add_byte(text, ']');
    }
}

/* Half as much again, so that thousands of small batches don't copy all each time. */
static inline void make_room(struct reading *out, size_t more)
{
    if (out->count + more <= out->room)
        return;
    out->room = (out->count + more) * 3 / 2;
    out->records = pipe_realloc(out->records, out->room * sizeof *out->records);
    out->sizes = pipe_realloc(out->sizes, out->room * sizeof *out->sizes);
    out->positions = pipe_realloc(out->positions, out->room * sizeof *out->positions);
}

/* To the end; batch 0: of random sizes. */
static inline struct reading read_input(const struct pipe_input_config *config, uint32_t batch)
{
    struct reading out = {0};
    struct pipe_input *input = pipe_input_open(config, out.error, sizeof out.error);
    struct pipe_record *records;
    uint32_t count;
    out.opened = input != NULL;
    while (input != NULL) {
        uint32_t most = batch > 0 ? batch : 1 + random_below(random_below(4) == 0 ? 5000 : 7);
        enum pipe_input_state state = input->ops->next(input, most, &records, &count);
        assert_int_not_equal(state, PIPE_INPUT_WAIT);
        if (state == PIPE_INPUT_FAILED) {
            out.failed = true;
            snprintf(out.error, sizeof out.error, "%s", input->error);
            assert_int_equal(input->ops->next(input, 3, &records, &count), PIPE_INPUT_FAILED);
        }
        if (state != PIPE_INPUT_RECORDS)
            break;
        assert_in_range(count, 1, most);
        make_room(&out, count);
        for (uint32_t i = 0; i < count; i++) {
            struct pipe_buf text = {0};
            describe_record(&text, input, &records[i], i);
            out.sizes[out.count] = text.size;
            pipe_buf_add_byte(&text, 0);
            out.positions[out.count] = input->position;
            out.records[out.count++] = (char *)text.data;
        }
        assert_int_equal(input->position.offset, records[count - 1].offset + 1);
        assert_true(input->position.hint_bytes <= PIPE_INPUT_HINT_MAX);
    }
    if (input != NULL)
        input->ops->close(input);
    assert_null(strchr(out.error, '\n'));
    return out;
}

static inline void free_reading(struct reading *reading)
{
    for (size_t i = 0; i < reading->count; i++)
        free(reading->records[i]);
    free(reading->records);
    free(reading->sizes);
    free(reading->positions);
    *reading = (struct reading){0};
}

/* Reads with batches of many sizes, then goes on from (some of) the positions: always the same
 * records. */
static inline struct reading check_resume(const struct pipe_input_config *config,
                                          size_t most_positions)
{
    struct reading all = read_input(config, 1);
    assert_true(all.opened);
    struct reading random = read_input(config, 0), large = read_input(config, 1u << 30);
    assert_int_equal(random.count, all.count);
    assert_int_equal(large.count, all.count);
    assert_int_equal(random.failed, all.failed);
    for (size_t i = 0; i < all.count; i++) {
        assert_memory_equal(random.records[i], all.records[i], all.sizes[i] + 1);
        assert_memory_equal(large.records[i], all.records[i], all.sizes[i] + 1);
    }
    size_t tries = all.count < most_positions ? all.count : most_positions;
    for (size_t t = 0; t < tries; t++) {
        size_t from = all.count <= most_positions ? t : random_below((uint32_t)all.count);
        struct pipe_input_config later = *config;
        later.resume = all.positions[from];
        struct reading rest = read_input(&later, 0);
        assert_true(rest.opened);
        assert_string_equal(rest.error, all.error);
        assert_int_equal(rest.count, all.count - from - 1);
        for (size_t i = 0; i < rest.count; i++) {
            assert_int_equal(rest.sizes[i], all.sizes[from + 1 + i]);
            assert_memory_equal(rest.records[i], all.records[from + 1 + i], rest.sizes[i]);
        }
        free_reading(&rest);
    }
    free_reading(&random);
    free_reading(&large);
    return all;
}

/* Opening fails, in one line that names the file and has the words. */
static inline __attribute__((unused)) void
check_input_refused(const struct pipe_input_config *config, const char *words)
{
    char error[512] = "";
    struct pipe_input *input = pipe_input_open(config, error, sizeof error);
    if (input != NULL)
        fail_msg("%s was opened, but should be refused: %s", config->path, words);
    if (strstr(error, words) == NULL || strstr(error, config->path) == NULL ||
        strchr(error, '\n') != NULL)
        fail_msg("'%s' should name %s and say '%s'", error, config->path, words);
}

#endif
