/*
 * csv.c: the splitter and rows from fields. The first byte is the size of the chunks in which the
 * text is fed a second time: the same records must come out. The second one limits the size of a
 * record (0: 64 KiB).
 */
#include "rows.h"

static void print_record(struct pipe_buf *out, const struct pipe_csv_record *record)
{
    pipe_buf_printf(out, "%lu-%lu %s\n", (unsigned long)record->begin, (unsigned long)record->end,
                    record->cause != NULL ? record->cause : "");
    pipe_buf_add(out, record->text.data, record->text.size);
    for (size_t i = 0; i < record->field_count; i++) {
        pipe_buf_printf(out, "\n%d ", record->fields[i].quoted);
        pipe_buf_add(out, record->fields[i].text.data, record->fields[i].text.size);
    }
}

/* A row as CSV reads back as the same row. */
static void check_written(const void *row, struct pipe_arena *arena)
{
    struct pipe_error error = {0};
    void *again = pipe_calloc(1, ROWS_TYPE->size_bytes);
    struct pipe_buf line = {0};
    struct pipe_csv_splitter splitter;
    struct pipe_csv_record read;
    pipe_row_to_csv(ROWS_TYPE, row, &line);
    pipe_csv_init(&splitter, SIZE_MAX / 2);
    pipe_csv_feed(&splitter, line.data, line.size);
    pipe_csv_finish(&splitter);
    FUZZ_CHECK(pipe_csv_next(&splitter, &read) && read.cause == NULL);
    FUZZ_CHECK(pipe_row_from_csv(ROWS_TYPE, read.fields, read.field_count, ROWS_TYPE->column_count,
                                 NULL, arena, again, &error));
    FUZZ_CHECK(pipe_row_equal(ROWS_TYPE, row, again));
    pipe_csv_free(&splitter);
    pipe_buf_free(&line);
    free(again);
}

static void check_fields(const struct pipe_csv_record *record, struct pipe_arena *arena)
{
    struct pipe_error error = {0};
    if (record->cause != NULL)
        return;
    void *row = pipe_malloc(ROWS_TYPE->size_bytes);
    memset(row, 0xA5, ROWS_TYPE->size_bytes);
    pipe_arena_reset(arena);
    if (pipe_row_from_csv(ROWS_TYPE, record->fields, record->field_count, ROWS_TYPE->column_count,
                          NULL, arena, row, &error)) {
        check_row(ROWS_TYPE, row, arena);
        check_written(row, arena);
    } else {
        check_error(&error);
    }
    free(row);
}
/* Everything the splitter says, fed in chunks of `step` bytes. */
static struct pipe_buf split(const uint8_t *bytes, size_t size, size_t step, size_t most,
                             struct pipe_arena *arena)
{
    struct pipe_csv_splitter splitter;
    struct pipe_csv_record record;
    struct pipe_buf out = {0};
    uint64_t behind = 0;
    pipe_csv_init(&splitter, most);
    for (size_t at = 0; at <= size; at += step) {
        size_t piece = size - at < step ? size - at : step;
        uint8_t *chunk = fuzz_copy(bytes + at, piece);
        pipe_csv_feed(&splitter, chunk, piece);
        if (size - at <= step)
            pipe_csv_finish(&splitter);
        while (pipe_csv_next(&splitter, &record)) {
            FUZZ_CHECK(record.begin >= behind && record.end > record.begin && record.end <= size);
            FUZZ_CHECK(record.text.size <= most);
            behind = record.end;
            print_record(&out, &record);
            if (arena != NULL)
                check_fields(&record, arena);
        }
        free(chunk);
        if (size - at <= step)
            break;
    }
    pipe_csv_free(&splitter);
    return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *at = data, *end = data + size;
    size_t step = fuzz_byte(&at, end), most = fuzz_byte(&at, end);
    struct pipe_arena arena;
    most = most == 0 ? 65536 : most;
    pipe_arena_init(&arena, ROW_ARENA_BYTES);
    struct pipe_buf whole = split(at, (size_t)(end - at), size + 1, most, &arena);
    struct pipe_buf pieces = split(at, (size_t)(end - at), step + 1, most, NULL);
    FUZZ_CHECK(whole.size == pieces.size &&
               (whole.size == 0 || memcmp(whole.data, pieces.data, whole.size) == 0));
    pipe_buf_free(&whole);
    pipe_buf_free(&pieces);
    pipe_arena_free(&arena);
    return 0;
}
