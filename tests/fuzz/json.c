/*
 * json.c: a JSON object as a row of every type, and as any JSON text. The first byte chooses the
 * row type, or 2: json_value of the text behind the first line, by the path that is the first line.
 */
#include "rows.h"

static void check_path(struct pipe_str text, struct pipe_arena *arena)
{
    const char *line = text.size > 0 ? memchr(text.data, '\n', text.size) : NULL;
    if (line == NULL)
        return;
    struct pipe_str path = pipe_str_of(text.data, (size_t)(line - text.data)), out;
    struct pipe_str rest = pipe_str_of(line + 1, text.size - path.size - 1);
    if (!pipe_json_path_check(path, NULL))
        return;
    if (pipe_fn_json_value(arena, rest, path, &out))
        FUZZ_CHECK(pipe_utf8_check(out.data, out.size));
    if (pipe_json_check(rest) && path.size == 0) {
        struct pipe_str scalar;
        pipe_fn_json_value(arena, rest, path, &scalar);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *at = data;
    uint8_t choice = fuzz_byte(&at, data + size);
    size_t left = (size_t)(data + size - at);
    uint8_t *bytes = fuzz_copy(at, left);
    struct pipe_str text = pipe_str_of(bytes, left);
    const struct pipe_row_type *type = choice == 1 ? ROWS_TYPE : EVENT_TYPE;
    struct pipe_arena arena;
    struct pipe_error error = {0};
    pipe_arena_init(&arena, ROW_ARENA_BYTES);
    void *row = pipe_malloc(type->size_bytes);
    memset(row, 0xA5, type->size_bytes);
    if (choice == 2) {
        if (pipe_utf8_check(bytes, left))
            check_path(text, &arena);
    } else if (pipe_row_from_json(type, text, &arena, row, &error)) {
        FUZZ_CHECK(pipe_utf8_check(bytes, left) && pipe_json_check(text));
        check_row(type, row, &arena);
    } else {
        check_error(&error);
    }
    free(row);
    pipe_arena_free(&arena);
    free(bytes);
    return 0;
}
