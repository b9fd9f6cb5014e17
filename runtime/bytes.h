/*
 * bytes.h: copying and comparing bytes that are mostly few. Texts and keys of records have 2 to 40
 * bytes, of which a call of memcpy or memcmp costs more than the work; so up to
 * PIPE_BYTES_INLINE_MOST are taken here, by loads from both ends that may overlap. For all threads.
 */
#ifndef PIPE_BYTES_H
#define PIPE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PIPE_BYTES_INLINE_MOST 64u

typedef uint64_t pipe_bytes_16 __attribute__((vector_size(16)));

/* Up to 15 bytes. */
static inline void pipe_bytes_copy_few(uint8_t *to, const uint8_t *from, size_t size)
{
    if (size >= 8) {
        uint64_t first, last;
        memcpy(&first, from, 8);
        memcpy(&last, from + size - 8, 8);
        memcpy(to, &first, 8);
        memcpy(to + size - 8, &last, 8);
    } else if (size >= 4) {
        uint32_t first, last;
        memcpy(&first, from, 4);
        memcpy(&last, from + size - 4, 4);
        memcpy(to, &first, 4);
        memcpy(to + size - 4, &last, 4);
    } else if (size > 0) {
        uint8_t middle = from[size / 2], last = from[size - 1];
        to[0] = from[0];
        to[size / 2] = middle;
        to[size - 1] = last;
    }
}

/* memcpy; both may be NULL if size is 0. */
static inline void pipe_bytes_copy(void *to_bytes, const void *from_bytes, size_t size)
{
    uint8_t *to = (uint8_t *)to_bytes;
    const uint8_t *from = (const uint8_t *)from_bytes;
    pipe_bytes_16 first, second, third, last;
    if (size < 16) {
        pipe_bytes_copy_few(to, from, size);
    } else if (size <= 32) {
        memcpy(&first, from, 16);
        memcpy(&last, from + size - 16, 16);
        memcpy(to, &first, 16);
        memcpy(to + size - 16, &last, 16);
    } else if (size <= PIPE_BYTES_INLINE_MOST) {
        memcpy(&first, from, 16);
        memcpy(&second, from + 16, 16);
        memcpy(&third, from + size - 32, 16);
        memcpy(&last, from + size - 16, 16);
        memcpy(to, &first, 16);
        memcpy(to + 16, &second, 16);
        memcpy(to + size - 32, &third, 16);
        memcpy(to + size - 16, &last, 16);
    } else {
        memcpy(to, from, size);
    }
}

static inline pipe_bytes_16 pipe_bytes_differ_at(const uint8_t *a, const uint8_t *b)
{
    pipe_bytes_16 x, y;
    memcpy(&x, a, 16);
    memcpy(&y, b, 16);
    return x ^ y;
}

/* Up to 15 bytes. */
static inline bool pipe_bytes_equal_few(const uint8_t *a, const uint8_t *b, size_t size)
{
    if (size >= 8) {
        uint64_t x[2], y[2];
        memcpy(&x[0], a, 8);
        memcpy(&x[1], a + size - 8, 8);
        memcpy(&y[0], b, 8);
        memcpy(&y[1], b + size - 8, 8);
        return ((x[0] ^ y[0]) | (x[1] ^ y[1])) == 0;
    }
    if (size >= 4) {
        uint32_t x[2], y[2];
        memcpy(&x[0], a, 4);
        memcpy(&x[1], a + size - 4, 4);
        memcpy(&y[0], b, 4);
        memcpy(&y[1], b + size - 4, 4);
        return ((x[0] ^ y[0]) | (x[1] ^ y[1])) == 0;
    }
    return size == 0 || (a[0] == b[0] && a[size / 2] == b[size / 2] && a[size - 1] == b[size - 1]);
}

/* memcmp() == 0; both may be NULL if size is 0. */
static inline bool pipe_bytes_equal(const void *a_bytes, const void *b_bytes, size_t size)
{
    const uint8_t *a = (const uint8_t *)a_bytes, *b = (const uint8_t *)b_bytes;
    pipe_bytes_16 differ;
    if (size < 16)
        return pipe_bytes_equal_few(a, b, size);
    if (size > PIPE_BYTES_INLINE_MOST)
        return memcmp(a, b, size) == 0;
    differ = pipe_bytes_differ_at(a, b) | pipe_bytes_differ_at(a + size - 16, b + size - 16);
    if (size > 32)
        differ |= pipe_bytes_differ_at(a + 16, b + 16) |
                  pipe_bytes_differ_at(a + size - 32, b + size - 32);
    return (differ[0] | differ[1]) == 0;
}

#ifdef __cplusplus
}
#endif

#endif
