/*
 * memory.c: the arena, interned names, growing text, and the life of a program.
 *
 * Nothing here returns NULL for want of memory: a compiler that ran out of it has nothing useful to
 * go on with, so out_of_memory() says so and exits with 1.
 */
#include "pipec.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    ARENA_BLOCK_BYTES = 64 * 1024,
    ARENA_ALIGNMENT_BYTES = alignof(max_align_t),
    INTERNER_MIN_SLOTS = 256,
};

_Noreturn void out_of_memory(void)
{
    fputs("pipec: out of memory; raise the limit (ulimit -v) or free some\n", stderr);
    _exit(1); /* exit() may wait for a lock of the library that asked for memory */
}

/* Arena: blocks chained newest first; an allocation never moves. */

struct block {
    struct block *older;
    size_t used, capacity;
    alignas(max_align_t) char bytes[];
};

struct deferred {
    struct deferred *older;
    void (*release)(void *object);
    void *object;
};

struct arena {
    struct block *newest;
    struct deferred *deferred;
};

static void *checked_calloc(size_t size_bytes)
{
    void *memory = calloc(1, size_bytes);
    if (memory == NULL)
        out_of_memory();
    return memory;
}

struct arena *arena_new(void)
{
    return checked_calloc(sizeof(struct arena));
}

void arena_free(struct arena *arena)
{
    if (arena == NULL)
        return;
    for (struct deferred *d = arena->deferred; d != NULL; d = d->older)
        d->release(d->object);
    for (struct block *block = arena->newest; block != NULL;) {
        struct block *older = block->older;
        free(block);
        block = older;
    }
    free(arena);
}

static struct block *arena_add_block(struct arena *arena, size_t size_bytes)
{
    if (size_bytes > SIZE_MAX / 2)
        out_of_memory();
    size_t capacity = size_bytes > ARENA_BLOCK_BYTES ? size_bytes : ARENA_BLOCK_BYTES;
    struct block *block = checked_calloc(sizeof *block + capacity);
    block->capacity = capacity;
    /* An outsized block goes behind the newest, whose rest stays in use. */
    if (capacity > ARENA_BLOCK_BYTES && arena->newest != NULL) {
        block->older = arena->newest->older;
        arena->newest->older = block;
    } else {
        block->older = arena->newest;
        arena->newest = block;
    }
    return block;
}

void *arena_alloc(struct arena *arena, size_t size_bytes)
{
    if (size_bytes > SIZE_MAX / 2)
        out_of_memory();
    size_t rounded =
        (size_bytes + ARENA_ALIGNMENT_BYTES - 1) / ARENA_ALIGNMENT_BYTES * ARENA_ALIGNMENT_BYTES;
    if (rounded == 0)
        rounded = ARENA_ALIGNMENT_BYTES;
    struct block *block = arena->newest;
    if (block == NULL || block->capacity - block->used < rounded)
        block = arena_add_block(arena, rounded);
    void *memory = block->bytes + block->used;
    block->used += rounded;
    return memory;
}

void arena_defer(struct arena *arena, void (*release)(void *object), void *object)
{
    struct deferred *d = arena_alloc(arena, sizeof *d);
    *d = (struct deferred){.older = arena->deferred, .release = release, .object = object};
    arena->deferred = d;
}

char *arena_strndup(struct arena *arena, const char *text, size_t size_bytes)
{
    if (size_bytes == SIZE_MAX)
        out_of_memory();
    char *copy = arena_alloc(arena, size_bytes + 1);
    if (size_bytes > 0)
        memcpy(copy, text, size_bytes);
    return copy;
}

/* What the format gives, without the NUL. */
static size_t formatted_size(const char *format, va_list args)
{
    int size = vsnprintf(NULL, 0, format, args);
    if (size < 0)
        out_of_memory();
    return (size_t)size;
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    va_list again;
    va_copy(again, args);
    size_t size = formatted_size(format, args);
    va_end(args);
    char *text = arena_alloc(arena, size + 1);
    vsnprintf(text, size + 1, format, again);
    va_end(again);
    return text;
}

void *vec_room(struct arena *arena, void *items, size_t item_bytes, size_t count, size_t *capacity)
{
    if (count < *capacity)
        return items;
    size_t wanted = *capacity == 0 ? 8 : *capacity * 2;
    if (wanted > SIZE_MAX / 2 / item_bytes)
        out_of_memory();
    void *larger = arena_alloc(arena, wanted * item_bytes);
    if (count > 0)
        memcpy(larger, items, count * item_bytes);
    *capacity = wanted;
    return larger;
}

/* Interned names: open addressing with linear probing, at most half full. */

struct interned {
    const char *text;
    size_t size_bytes;
    uint64_t hash;
};

struct interner {
    struct interned *slots;
    size_t slot_count, used;
};

static uint64_t hash_bytes(const char *bytes, size_t size)
{
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * 0x100000001b3u;
    return hash ^ hash >> 32;
}

static struct interned *interner_slot(const struct interner *interner, const char *text,
                                      size_t size_bytes, uint64_t hash)
{
    size_t mask = interner->slot_count - 1;
    size_t i = hash & mask;
    for (;; i = (i + 1) & mask) {
        struct interned *slot = &interner->slots[i];
        if (slot->text == NULL)
            return slot;
        if (slot->hash == hash && slot->size_bytes == size_bytes &&
            memcmp(slot->text, text, size_bytes) == 0)
            return slot;
    }
}

static void interner_grow(struct program *program)
{
    struct interner *interner = program->interner;
    struct interner old = *interner;
    interner->slot_count = old.slot_count == 0 ? INTERNER_MIN_SLOTS : old.slot_count * 2;
    interner->slots = arena_alloc(program->arena, interner->slot_count * sizeof *interner->slots);
    for (size_t i = 0; i < old.slot_count; i++) {
        const struct interned *from = &old.slots[i];
        if (from->text != NULL)
            *interner_slot(interner, from->text, from->size_bytes, from->hash) = *from;
    }
}

const char *intern(struct program *program, const char *text, size_t size_bytes)
{
    struct interner *interner = program->interner;
    if (interner->used * 2 >= interner->slot_count)
        interner_grow(program);
    uint64_t hash = hash_bytes(text, size_bytes);
    struct interned *slot = interner_slot(interner, text, size_bytes, hash);
    if (slot->text == NULL) {
        *slot =
            (struct interned){arena_strndup(program->arena, text, size_bytes), size_bytes, hash};
        interner->used++;
    }
    return slot->text;
}

const char *intern_cstr(struct program *program, const char *text)
{
    return intern(program, text, strlen(text));
}

/* Growing text. */

static void text_reserve(struct text *text, size_t more_bytes)
{
    if (more_bytes > SIZE_MAX / 4 || text->size > SIZE_MAX / 4)
        out_of_memory();
    size_t wanted = text->size + more_bytes + 1;
    if (wanted <= text->capacity)
        return;
    size_t capacity = text->capacity == 0 ? 256 : text->capacity;
    while (capacity < wanted)
        capacity *= 2;
    char *data = realloc(text->data, capacity);
    if (data == NULL)
        out_of_memory();
    text->data = data;
    text->capacity = capacity;
}

void text_add(struct text *text, const char *bytes, size_t size_bytes)
{
    text_reserve(text, size_bytes);
    if (size_bytes > 0)
        memcpy(text->data + text->size, bytes, size_bytes);
    text->size += size_bytes;
    text->data[text->size] = '\0';
}

void text_puts(struct text *text, const char *cstr)
{
    text_add(text, cstr, strlen(cstr));
}

void text_printf(struct text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    va_list again;
    va_copy(again, args);
    size_t size = formatted_size(format, args);
    va_end(args);
    text_reserve(text, size);
    vsnprintf(text->data + text->size, size + 1, format, again);
    text->size += size;
    va_end(again);
}

void text_free(struct text *text)
{
    free(text->data);
    *text = (struct text){0};
}

/* Program. */

struct program *program_new(const char *root)
{
    struct arena *arena = arena_new();
    struct program *program = arena_alloc(arena, sizeof *program);
    program->arena = arena;
    program->root = root == NULL ? "." : arena_strndup(arena, root, strlen(root));
    program->interner = arena_alloc(arena, sizeof *program->interner);
    return program;
}

void program_free(struct program *program)
{
    if (program != NULL)
        arena_free(program->arena);
}
