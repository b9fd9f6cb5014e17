/* reading.h: an input file read to its end in batches of a given size, as text; and from a
 * position, the rest of that text. */
#ifndef FUZZ_READING_H
#define FUZZ_READING_H

#include "fuzz.h"
#include <inttypes.h>
#include "input.h"

/* The linker sends every read() of the runtime here: the fuzzer says how much comes at once. */
static size_t read_at_once = SIZE_MAX;
ssize_t __real_read(int fd, void *to, size_t size);
ssize_t __wrap_read(int fd, void *to, size_t size)
{
    return __real_read(fd, to, size < read_at_once ? size : read_at_once);
}

static inline void print_input_record(struct pipe_buf *out, const struct pipe_input *input,
                                      const struct pipe_record *record, uint32_t i)
{
    const char *fault = input->faults != NULL && input->faults[i] != NULL ? input->faults[i] : "";
    pipe_buf_printf(out, "\n%" PRId64 " %s %" PRId64 " ", record->offset, fault,
                    record->kafka_time_ms);
    pipe_buf_printf(out, record->key.data != NULL ? "k" : "-");
    pipe_buf_add(out, record->key.data, record->key.size);
    pipe_buf_printf(out, record->payload.data != NULL ? " v" : " -");
    pipe_buf_add(out, record->payload.data, record->payload.size);
    for (uint32_t f = 0; input->csv_rows != NULL && f < input->csv_rows[i].count; f++) {
        const struct pipe_csv_field *field = &input->csv_rows[i].fields[f];
        pipe_buf_printf(out, " %d[", field->quoted);
        pipe_buf_add(out, field->text.data, field->text.size);
    }
}

struct reading {
    bool opened;
    struct pipe_buf text;
    struct pipe_input_position position; /* behind record `stop` */
    size_t position_at;                  /* the text before it */
    bool has_position;
    int64_t count;
};

/* The position and text where at least `stop` records were given are kept. */
static inline struct reading read_to_end(const struct pipe_input_config *config, uint32_t batch,
                                         int64_t stop)
{
    struct reading out = {0};
    char error[512] = "";
    struct pipe_input *input = pipe_input_open(config, error, sizeof error);
    struct pipe_record *records;
    uint32_t count;
    out.opened = input != NULL;
    FUZZ_CHECK(input != NULL || error[0] != '\0');
    while (input != NULL) {
        enum pipe_input_state state = input->ops->next(input, batch, &records, &count);
        FUZZ_CHECK(state != PIPE_INPUT_WAIT);
        if (state == PIPE_INPUT_FAILED) {
            FUZZ_CHECK(input->error[0] != '\0' && strchr(input->error, '\n') == NULL);
            pipe_buf_printf(&out.text, "\n%s", input->error);
        }
        if (state != PIPE_INPUT_RECORDS)
            break;
        FUZZ_CHECK(count >= 1 && count <= batch);
        for (uint32_t i = 0; i < count; i++)
            print_input_record(&out.text, input, &records[i], i);
        out.count += count;
        if (!out.has_position && out.count >= stop) {
            out.has_position = true;
            out.position = input->position;
            out.position_at = out.text.size;
        }
    }
    if (input != NULL)
        input->ops->close(input);
    return out;
}

static inline void check_same(const struct pipe_buf *all, size_t from, const struct pipe_buf *rest)
{
    FUZZ_CHECK(all->size - from == rest->size &&
               (rest->size == 0 || memcmp(all->data + from, rest->data, rest->size) == 0));
}

/* One by one, in batches of any size and pieces of any size, and from where it was left: always the
 * same. */
static inline void check_input(const struct pipe_input_config *config, uint8_t choice)
{
    read_at_once = SIZE_MAX;
    struct reading all = read_to_end(config, 1, 1 + (choice & 7));
    read_at_once = choice >= 0x80 ? 1u + (choice >> 3) % 16 : SIZE_MAX;
    struct reading again = read_to_end(config, 2u + choice % 5, 1);
    FUZZ_CHECK(all.opened == again.opened);
    check_same(&all.text, 0, &again.text);
    if (all.has_position) {
        struct pipe_input_config later = *config;
        later.resume = all.position;
        struct reading rest = read_to_end(&later, 1u << 30, 1);
        FUZZ_CHECK(rest.opened);
        check_same(&all.text, all.position_at, &rest.text);
        pipe_buf_free(&rest.text);
    }
    read_at_once = SIZE_MAX;
    pipe_buf_free(&all.text);
    pipe_buf_free(&again.text);
}

#endif
