/*
 * fuzz.h: what the fuzz targets share. A target is one LLVMFuzzerTestOneInput; it must leave
 * nothing allocated and say what is wrong by FUZZ_CHECK. Inputs that choose something begin with
 * the choice, as a byte or a few.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_CHECK(condition)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);         \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* Takes one byte off the input; 0 at its end. */
static inline uint8_t fuzz_byte(const uint8_t **at, const uint8_t *end)
{
    return *at < end ? *(*at)++ : 0;
}

/* Up to `most` bytes off the input. */
static inline size_t fuzz_take(const uint8_t **at, const uint8_t *end, size_t most,
                               const uint8_t **out)
{
    size_t size = (size_t)(end - *at) < most ? (size_t)(end - *at) : most;
    *out = *at;
    *at += size;
    return size;
}

/* A heap copy of exactly that size, so that the sanitizer sees a byte read beyond it. */
static inline uint8_t *fuzz_copy(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size > 0 ? size : 1);
    if (copy == NULL)
        abort();
    if (size > 0)
        memcpy(copy, data, size);
    return copy;
}

/* A path by which the bytes can be opened as a regular file, one at a time for each `slot` (0, 1).
 */
static inline const char *fuzz_file(unsigned slot, const uint8_t *data, size_t size)
{
    static int files[2];
    static char paths[2][32];
    if (files[slot] == 0) {
        files[slot] = memfd_create("fuzz", 0);
        snprintf(paths[slot], sizeof paths[slot], "/proc/self/fd/%d", files[slot]);
    }
    if (files[slot] < 0 || ftruncate(files[slot], 0) != 0 ||
        pwrite(files[slot], data, size, 0) != (ssize_t)size)
        abort();
    return paths[slot];
}

#endif
