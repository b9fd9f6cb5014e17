/*
 * huge.c: see huge.h.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "huge.h"
#include "value.h"

#define MAPPED_BYTES ((size_t)32 << 10) /* smaller ones are the heap's */
#define PAGE_BYTES ((size_t)4 << 10)
#define LINE_BYTES ((size_t)64)

static size_t round_up(size_t bytes, size_t to)
{
    return (bytes + to - 1) & ~(to - 1);
}

static void *map(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        pipe_out_of_memory();
    return memory;
}

static void *small_alloc(size_t bytes)
{
    size_t whole = round_up(bytes > 0 ? bytes : 1, LINE_BYTES);
    void *memory = aligned_alloc(LINE_BYTES, whole);
    if (memory == NULL)
        pipe_out_of_memory();
    return memset(memory, 0, whole);
}

void *huge_alloc(size_t bytes)
{
    size_t whole = round_up(bytes, PAGE_BYTES);
    if (bytes < MAPPED_BYTES)
        return small_alloc(bytes);
    if (bytes < HUGE_PAGE_BYTES)
        return map(whole);
    uint8_t *all = map(whole + HUGE_PAGE_BYTES);
    size_t before = -(uintptr_t)all & (HUGE_PAGE_BYTES - 1);
    if (before > 0)
        munmap(all, before);
    munmap(all + before + whole, HUGE_PAGE_BYTES - before);
    madvise(all + before, whole, MADV_HUGEPAGE); /* advice: without it the pages are small */
    return all + before;
}

/* Every page of a table that has grown is used at once: fetching them together saves two faults for
 * each, one for reading it and one for writing. A system that cannot gives them one by one. */
static void fill(void *memory, size_t bytes)
{
#ifdef MADV_POPULATE_WRITE
    madvise(memory, bytes, MADV_POPULATE_WRITE);
#else
    (void)memory;
    (void)bytes;
#endif
}

void *huge_grow(void *memory, size_t old_bytes, size_t bytes)
{
    void *larger = huge_alloc(bytes);
    if (memory == NULL)
        return larger;
    /* Small pages that are moved stay small ones. */
    if (old_bytes < MAPPED_BYTES || (old_bytes < HUGE_PAGE_BYTES && bytes >= HUGE_PAGE_BYTES)) {
        memcpy(larger, memory, old_bytes);
        huge_free(memory, old_bytes);
        return larger;
    }
    size_t whole = round_up(old_bytes, PAGE_BYTES);
    if (mremap(memory, whole, whole, MREMAP_MAYMOVE | MREMAP_FIXED, larger) == MAP_FAILED)
        pipe_out_of_memory();
    fill((uint8_t *)larger + whole, round_up(bytes, PAGE_BYTES) - whole);
    return larger;
}

void *huge_shrink(void *memory, size_t old_bytes, size_t bytes)
{
    if (bytes >= MAPPED_BYTES) {
        size_t old = round_up(old_bytes, PAGE_BYTES), whole = round_up(bytes, PAGE_BYTES);
        if (whole < old)
            munmap((uint8_t *)memory + whole, old - whole);
        return memory;
    }
    void *smaller = huge_alloc(bytes);
    memcpy(smaller, memory, bytes);
    huge_free(memory, old_bytes);
    return smaller;
}

void huge_free(void *memory, size_t bytes)
{
    if (memory == NULL)
        return;
    if (bytes < MAPPED_BYTES)
        free(memory);
    else
        munmap(memory, round_up(bytes, PAGE_BYTES));
}
