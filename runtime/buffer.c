/* buffer.c: memory that grows (value.h): buffers, arenas, and the errors about a value. */
#include "value.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "process.h"

void pipe_out_of_memory(void)
{
    pipe_end_alone();
    static const char line[] = "out of memory; raise the limit (ulimit -v) or free some; nothing "
                               "that was committed is lost, start again\n";
    ssize_t unused = write(STDERR_FILENO, line, sizeof line - 1);
    (void)unused;
    _exit(1); /* PIPE_EXIT_DATA: of the machine, not of this program */
}

void *pipe_malloc(size_t size_bytes)
{
    void *memory = malloc(size_bytes);
    if (memory == NULL && size_bytes > 0)
        pipe_out_of_memory();
    return memory;
}

void *pipe_calloc(size_t count, size_t size_bytes)
{
    void *memory = calloc(count, size_bytes);
    if (memory == NULL && count > 0 && size_bytes > 0)
        pipe_out_of_memory();
    return memory;
}

void *pipe_realloc(void *memory, size_t size_bytes)
{
    if (size_bytes == 0) {
        free(memory);
        return NULL;
    }
    void *grown = realloc(memory, size_bytes);
    if (grown == NULL)
        pipe_out_of_memory();
    return grown;
}

void pipe_buf_grow(struct pipe_buf *buf, size_t more_bytes)
{
    size_t needed, capacity = buf->capacity < 64 ? 64 : buf->capacity;
    if (__builtin_add_overflow(buf->size, more_bytes, &needed) || needed >= PTRDIFF_MAX)
        pipe_out_of_memory();
    while (capacity <= needed) /* a byte is left, so that reserve never has to touch NULL */
        capacity = capacity > PTRDIFF_MAX / 2 ? PTRDIFF_MAX : capacity * 2;
    buf->data = pipe_realloc(buf->data, capacity);
    buf->capacity = capacity;
}

void pipe_buf_free(struct pipe_buf *buf)
{
    free(buf->data);
    *buf = (struct pipe_buf){NULL, 0, 0};
}

void pipe_buf_vprintf(struct pipe_buf *buf, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int size = vsnprintf(NULL, 0, format, args);
    if (size > 0) {
        vsnprintf((char *)pipe_buf_reserve(buf, (size_t)size + 1), (size_t)size + 1, format, again);
        buf->size += (size_t)size;
    }
    va_end(again);
}

void pipe_buf_printf(struct pipe_buf *buf, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    pipe_buf_vprintf(buf, format, args);
    va_end(args);
}

/* --- Arenas ------------------------------------------------------------------------------------
 */

#define FIRST_CHUNK_BYTES ((size_t)16 << 10)
#define KEPT_CHUNK_BYTES ((size_t)1 << 20) /* bigger ones go back at reset */

struct pipe_arena_chunk {
    struct pipe_arena_chunk *next;
    size_t size_bytes;
    _Alignas(16) uint8_t data[];
};

void pipe_arena_init(struct pipe_arena *arena, size_t limit_bytes)
{
    *arena = (struct pipe_arena){.limit_bytes = limit_bytes};
}

void pipe_arena_free(struct pipe_arena *arena)
{
    for (struct pipe_arena_chunk *chunk = arena->chunks, *next; chunk != NULL; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    pipe_arena_init(arena, arena->limit_bytes);
}

/* To `at` in the chunk, with as much behind it as the limit leaves: what is refused must not hang
 * on the chunks that earlier records have left. */
static void enter_chunk(struct pipe_arena *arena, struct pipe_arena_chunk *chunk, uint8_t *at,
                        size_t closed_bytes)
{
    arena->chunk = chunk;
    arena->closed_bytes = closed_bytes;
    arena->at = arena->begin = arena->end = NULL;
    if (chunk == NULL)
        return;
    size_t left = arena->limit_bytes > closed_bytes ? arena->limit_bytes - closed_bytes : 0;
    arena->begin = chunk->data;
    arena->at = at;
    arena->end = chunk->data + (left < chunk->size_bytes ? left & ~(size_t)15 : chunk->size_bytes);
    if (arena->end < at)
        arena->end = at;
}

static void enter_first_chunk(struct pipe_arena *arena)
{
    struct pipe_arena_chunk *first = arena->chunks;
    enter_chunk(arena, first, first != NULL ? first->data : NULL, 0);
}

void pipe_arena_reset_slow(struct pipe_arena *arena)
{
    if (arena->chunk != arena->chunks ||
        (arena->chunks != NULL && arena->chunks->size_bytes > KEPT_CHUNK_BYTES)) {
        struct pipe_arena_chunk **link = &arena->chunks;
        while (*link != NULL) {
            struct pipe_arena_chunk *chunk = *link;
            if (chunk->size_bytes > KEPT_CHUNK_BYTES) {
                *link = chunk->next;
                free(chunk);
            } else {
                link = &chunk->next;
            }
        }
    }
    arena->overflow = false;
    enter_first_chunk(arena);
}

struct pipe_arena_mark pipe_arena_mark(const struct pipe_arena *arena)
{
    return (struct pipe_arena_mark){arena->chunk, arena->at, arena->closed_bytes};
}

void pipe_arena_back_to(struct pipe_arena *arena, struct pipe_arena_mark mark)
{
    if (mark.chunk == NULL) { /* marked before the first chunk was there */
        enter_first_chunk(arena);
        return;
    }
    enter_chunk(arena, mark.chunk, mark.at, mark.closed_bytes);
}

static size_t used_bytes(const struct pipe_arena *arena)
{
    const struct pipe_arena_chunk *current = arena->chunk;
    return arena->closed_bytes + (current != NULL ? (size_t)(arena->at - current->data) : 0);
}

/* `left`: what the new chunk should have at most, unless the bytes asked for need more. */
static void *take_from_next(struct pipe_arena *arena, size_t size_bytes, size_t left)
{
    struct pipe_arena_chunk *current = arena->chunk;
    size_t used = used_bytes(arena);
    size_bytes = (size_bytes + 15 + (size_bytes == 0)) & ~(size_t)15;
    struct pipe_arena_chunk **link = current != NULL ? &current->next : &arena->chunks;
    /* What is behind the current one is free: after pipe_arena_back_to there may be big ones. */
    while (*link != NULL && (*link)->size_bytes < size_bytes &&
           (*link)->size_bytes > KEPT_CHUNK_BYTES) {
        struct pipe_arena_chunk *small = *link;
        *link = small->next;
        free(small);
    }
    struct pipe_arena_chunk *next = *link;
    if (next == NULL || next->size_bytes < size_bytes) {
        size_t wanted = current == NULL ? FIRST_CHUNK_BYTES : current->size_bytes * 2;
        if (wanted > KEPT_CHUNK_BYTES)
            wanted = KEPT_CHUNK_BYTES;
        if (wanted > left)
            wanted = left & ~(size_t)15;
        if (wanted < size_bytes)
            wanted = size_bytes;
        struct pipe_arena_chunk *fresh = pipe_malloc(sizeof *fresh + wanted);
        fresh->size_bytes = wanted;
        fresh->next = next;
        next = *link = fresh;
    }
    enter_chunk(arena, next, next->data + size_bytes, used);
    return next->data;
}

void *pipe_arena_slow(struct pipe_arena *arena, size_t size_bytes)
{
    size_t used = used_bytes(arena);
    if (size_bytes > arena->limit_bytes || used > arena->limit_bytes - size_bytes) {
        arena->overflow = true;
        return NULL;
    }
    return take_from_next(arena, size_bytes, arena->limit_bytes - used);
}

void *pipe_arena_more_slow(struct pipe_arena *arena, size_t size_bytes)
{
    const struct pipe_arena_chunk *chunk = arena->chunk;
    size_t rounded = (size_bytes + 15 + (size_bytes == 0)) & ~(size_t)15;
    if (chunk != NULL && rounded <= (size_t)(chunk->data + chunk->size_bytes - arena->at)) {
        uint8_t *memory = arena->at; /* behind the limit */
        arena->at += rounded;
        if (arena->end < arena->at)
            arena->end = arena->at;
        return memory;
    }
    return take_from_next(arena, size_bytes, KEPT_CHUNK_BYTES);
}

/* --- Errors ------------------------------------------------------------------------------------
 */

bool pipe_fail(struct pipe_error *error, const char *field, const char *detail_format, ...)
{
    if (error == NULL)
        return false;
    va_list args;
    va_start(args, detail_format);
    snprintf(error->field, sizeof error->field, "%s", field != NULL ? field : "");
    vsnprintf(error->detail, sizeof error->detail, detail_format, args);
    va_end(args);
    pipe_utf8_trim(error->field, strlen(error->field));
    pipe_utf8_trim(error->detail, strlen(error->detail));
    return false;
}

struct pipe_quoted pipe_quote(const void *bytes, size_t size_bytes)
{
    enum { SHOWN_BYTES = 60 };
    struct pipe_quoted quoted;
    const uint8_t *at = bytes, *end = at + (size_bytes < SHOWN_BYTES ? size_bytes : SHOWN_BYTES);
    const uint8_t *all = (const uint8_t *)bytes + size_bytes;
    char *to = quoted.text;
    *to++ = '\'';
    while (at < end) {
        size_t step = pipe_utf8_step((const char *)at, (const char *)all);
        if (*at >= 0x80 && pipe_utf8_check(at, step)) {
            memcpy(to, at, step);
            to += step;
            at += step;
        } else if (*at < 0x20 || *at >= 0x7F) {
            to += sprintf(to, "\\x%02x", *at++);
        } else {
            if (*at == '\'' || *at == '\\')
                *to++ = '\\';
            *to++ = (char)*at++;
        }
    }
    *to++ = '\'';
    strcpy(to, size_bytes > SHOWN_BYTES ? "…" : "");
    return quoted;
}
