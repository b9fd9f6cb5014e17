/*
 * native.c: rows into blocks of ClickHouse's Native format, and blocks of others into rows. The
 * first byte chooses: 0: a JSON row; else a block, which comes in pieces of that many bytes.
 */
#include "native.h"
#include "rows.h"

#define ROW_BYTES_MAX (64u << 20)

static const struct pipe_sink_def *table_sink(void)
{
    for (uint32_t i = 0; i < plan.sink_count; i++) {
        if (plan.sinks[i].table != NULL)
            return &plan.sinks[i];
    }
    abort();
}

struct taken {
    struct pipe_buf text; /* each with a line end */
    uint32_t count;
    struct pipe_native_writer *again; /* takes them; NULL: nobody does */
};

static bool take_row(void *context, struct pipe_str json, int32_t partition, int64_t offset)
{
    struct taken *rows = context;
    char error[512];
    FUZZ_CHECK(pipe_utf8_check(json.data, json.size) && pipe_json_check(json));
    if (rows->again != NULL) /* names of a map may be given twice by others */
        pipe_native_add(rows->again, json, partition, offset, error, sizeof error);
    rows->count++;
    if (rows->text.size < ROW_BYTES_MAX) {
        pipe_buf_add(&rows->text, json.data, json.size);
        pipe_buf_add_byte(&rows->text, '\n');
    }
    return true;
}

static bool read_block(const uint8_t *bytes, size_t size, size_t cut, struct taken *rows)
{
    const struct pipe_sink_def *sink = table_sink();
    struct pipe_native_reader *reader = pipe_native_reader_new(sink->table, sink->row);
    char error[512];
    bool good = true;
    for (size_t at = 0; good && at < size; at += cut) {
        size_t left = size - at;
        good = pipe_native_take(reader, pipe_str_of(bytes + at, left < cut ? left : cut), take_row,
                                rows, error, sizeof error);
        FUZZ_CHECK(good == (error[0] == '\0') && pipe_utf8_check(error, strlen(error)));
    }
    bool ends = pipe_native_ends(reader);
    pipe_native_reader_free(reader);
    return good && ends;
}

static bool make_block(struct pipe_str json, struct pipe_buf *block)
{
    const struct pipe_sink_def *sink = table_sink();
    struct pipe_native_writer *writer = pipe_native_writer_new(sink->table, sink->row);
    char error[512] = "";
    bool good = pipe_native_add(writer, json, 1, 2, error, sizeof error);
    FUZZ_CHECK(good == (error[0] == '\0') && pipe_utf8_check(error, strlen(error)));
    FUZZ_CHECK(pipe_native_rows(writer) == good);
    FUZZ_CHECK(good || pipe_native_bytes(writer) == 0);
    pipe_native_finish(writer, block);
    pipe_native_writer_free(writer);
    return good;
}

/* What is accepted comes back, and is then the same block; a blank before it changes nothing. */
static void check_table_row(struct pipe_str json)
{
    struct pipe_buf block = {0}, same = {0}, spaced = {0};
    struct taken rows = {0};
    pipe_buf_add_byte(&spaced, ' ');
    pipe_buf_add(&spaced, json.data, json.size);
    bool good = make_block(json, &block);
    FUZZ_CHECK(good == make_block(pipe_str_of(spaced.data, spaced.size), &same));
    FUZZ_CHECK(block.size == same.size && (!good || memcmp(block.data, same.data, same.size) == 0));
    if (good) {
        FUZZ_CHECK(read_block(block.data, block.size, block.size, &rows) && rows.count == 1);
        same.size = 0;
        FUZZ_CHECK(make_block(pipe_str_of(rows.text.data, rows.text.size - 1), &same));
        struct taken back = {0};
        FUZZ_CHECK(read_block(same.data, same.size, same.size, &back));
        FUZZ_CHECK(back.text.size == rows.text.size &&
                   memcmp(back.text.data, rows.text.data, back.text.size) == 0);
        pipe_buf_free(&back.text);
    }
    pipe_buf_free(&block);
    pipe_buf_free(&same);
    pipe_buf_free(&spaced);
    pipe_buf_free(&rows.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *at = data;
    uint8_t cut = fuzz_byte(&at, data + size);
    size_t left = (size_t)(data + size - at);
    uint8_t *bytes = fuzz_copy(at, left);
    if (cut == 0) {
        check_table_row(pipe_str_of(bytes, left));
    } else {
        const struct pipe_sink_def *sink = table_sink();
        struct taken whole = {0};
        struct taken cut_up = {.again = pipe_native_writer_new(sink->table, sink->row)};
        bool good = read_block(bytes, left, left > 0 ? left : 1, &whole);
        FUZZ_CHECK(good == read_block(bytes, left, cut, &cut_up));
        FUZZ_CHECK(whole.count == cut_up.count && whole.text.size == cut_up.text.size);
        pipe_native_writer_free(cut_up.again);
        pipe_buf_free(&whole.text);
        pipe_buf_free(&cut_up.text);
    }
    free(bytes);
    return 0;
}
