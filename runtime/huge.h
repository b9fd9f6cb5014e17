/*
 * huge.h: zeroed memory for tables that are read at random. The part of it that fills huge pages
 * (2 MiB) lies in them where the system has them ("madvise" in
 * /sys/kernel/mm/transparent_hugepage/enabled is enough): else every look-up misses the TLB as well
 * as the cache. It is mapped, so that nothing of a table that was left behind stays in the heap.
 */
#ifndef PIPE_HUGE_H
#define PIPE_HUGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HUGE_PAGE_BYTES ((size_t)2 << 20)

/* Zeroed; ends the program when there is none. huge_free it with the same size. */
void *huge_alloc(size_t bytes);
/* The same contents in more memory, the rest zeroed; the old pointer is void. Nothing is copied of
 * what is mapped. */
void *huge_grow(void *memory, size_t old_bytes, size_t bytes);
/* Gives the end back; it may stay where it is. */
void *huge_shrink(void *memory, size_t old_bytes, size_t bytes);
void huge_free(void *memory, size_t bytes);

#endif
