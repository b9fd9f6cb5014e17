/*
 * keyed_hash.c: SipHash-1-3 with 128 bits of output (value.h), of one text or of four at a time.
 *
 * Its rounds wait for each other, so four texts side by side in the lanes of wide registers take
 * little longer than one, where the machine has such registers; the hashes are the same.
 */
#include "value.h"

struct sip {
    uint64_t v0, v1, v2, v3;
};

static inline uint64_t rotate(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

static inline struct sip sip_round(struct sip s)
{
    s.v0 += s.v1;
    s.v2 += s.v3;
    s.v1 = rotate(s.v1, 13) ^ s.v0;
    s.v3 = rotate(s.v3, 16) ^ s.v2;
    s.v0 = rotate(s.v0, 32);
    s.v2 += s.v1;
    s.v0 += s.v3;
    s.v1 = rotate(s.v1, 17) ^ s.v2;
    s.v3 = rotate(s.v3, 21) ^ s.v0;
    s.v2 = rotate(s.v2, 32);
    return s;
}

static inline struct sip sip_word(struct sip s, uint64_t word)
{
    s.v3 ^= word;
    s = sip_round(s);
    s.v0 ^= word;
    return s;
}

static inline struct sip sip_finish(struct sip s)
{
    return sip_round(sip_round(sip_round(s)));
}

static inline struct sip sip_begin(const uint8_t key[16])
{
    uint64_t k[2];
    memcpy(k, key, 16);
    return (struct sip){k[0] ^ 0x736f6d6570736575u, k[1] ^ 0x646f72616e646f6du ^ 0xee,
                        k[0] ^ 0x6c7967656e657261u, k[1] ^ 0x7465646279746573u};
}

/* What is left behind the whole words, and the size. */
static inline uint64_t sip_last(const uint8_t *bytes, size_t size)
{
    uint64_t last = 0;
    size_t rest = size % 8;
    if (rest > 0 && size >= 8) {
        memcpy(&last, bytes + size - 8, 8);
        last >>= 64 - 8 * rest;
    } else {
        for (size_t i = 0; i < rest; i++)
            last |= (uint64_t)bytes[i] << 8 * i;
    }
    return last | (uint64_t)size << 56;
}

void pipe_keyed_hash128(const void *bytes, size_t size_bytes, const uint8_t key[16],
                        uint64_t out[2])
{
    const uint8_t *at = bytes, *end = at + size_bytes / 8 * 8;
    struct sip s = sip_begin(key);
    for (; at < end; at += 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        s = sip_word(s, word);
    }
    s = sip_word(s, sip_last(bytes, size_bytes));
    s.v2 ^= 0xee;
    s = sip_finish(s);
    out[0] = s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
    s.v1 ^= 0xdd;
    s = sip_finish(s);
    out[1] = s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

/* --- Four at a time -------------------------------------------------------------------------- */

#ifdef __x86_64__

#define LANES PIPE_KEYED_HASHES

typedef uint64_t lanes __attribute__((vector_size(8 * LANES)));

/* By pointer: how vectors are passed depends on the registers that a function may use. */
struct sip_lanes {
    lanes v0, v1, v2, v3;
};

#define INSIDE static inline __attribute__((always_inline))

INSIDE void lanes_round(struct sip_lanes *s)
{
    s->v0 += s->v1;
    s->v2 += s->v3;
    s->v1 = (s->v1 << 13 | s->v1 >> 51) ^ s->v0;
    s->v3 = (s->v3 << 16 | s->v3 >> 48) ^ s->v2;
    s->v0 = s->v0 << 32 | s->v0 >> 32;
    s->v2 += s->v1;
    s->v0 += s->v3;
    s->v1 = (s->v1 << 17 | s->v1 >> 47) ^ s->v2;
    s->v3 = (s->v3 << 21 | s->v3 >> 43) ^ s->v0;
    s->v2 = s->v2 << 32 | s->v2 >> 32;
}

INSIDE uint64_t word_at(const uint8_t *bytes, size_t at)
{
    uint64_t word;
    memcpy(&word, bytes + at, 8);
    return word;
}

INSIDE void lanes_word(struct sip_lanes *s, const lanes *word)
{
    s->v3 ^= *word;
    lanes_round(s);
    s->v0 ^= *word;
}

INSIDE void lanes_finish(struct sip_lanes *s, uint64_t (*out)[2], unsigned half)
{
    for (unsigned i = 0; i < 3; i++)
        lanes_round(s);
    lanes all = s->v0 ^ s->v1 ^ s->v2 ^ s->v3;
    for (unsigned lane = 0; lane < LANES; lane++)
        out[lane][half] = all[lane];
}

/* Of texts that all have the same number of whole words. */
INSIDE void hash_lanes(const uint8_t *const bytes[LANES], const size_t sizes[LANES],
                       const uint8_t key[16], uint64_t (*out)[2])
{
    const struct sip one = sip_begin(key);
    struct sip_lanes s = {one.v0 - (lanes){0}, one.v1 - (lanes){0}, one.v2 - (lanes){0},
                          one.v3 - (lanes){0}};
    lanes word;
    for (size_t at = 0; at + 8 <= sizes[0]; at += 8) {
        word = (lanes){word_at(bytes[0], at), word_at(bytes[1], at), word_at(bytes[2], at),
                       word_at(bytes[3], at)};
        lanes_word(&s, &word);
    }
    word = (lanes){sip_last(bytes[0], sizes[0]), sip_last(bytes[1], sizes[1]),
                   sip_last(bytes[2], sizes[2]), sip_last(bytes[3], sizes[3])};
    lanes_word(&s, &word);
    s.v2 ^= 0xee - (lanes){0};
    lanes_finish(&s, out, 0);
    s.v1 ^= 0xdd - (lanes){0};
    lanes_finish(&s, out, 1);
}

/* Both have registers of 256 bits; AVX-512 rotates their lanes. */
__attribute__((target("avx512f,avx512vl"))) static void
hash_avx512(const uint8_t *const bytes[LANES], const size_t sizes[LANES], const uint8_t key[16],
            uint64_t (*out)[2])
{
    hash_lanes(bytes, sizes, key, out);
}

__attribute__((target("avx2"))) static void hash_avx2(const uint8_t *const bytes[LANES],
                                                      const size_t sizes[LANES],
                                                      const uint8_t key[16], uint64_t (*out)[2])
{
    hash_lanes(bytes, sizes, key, out);
}

bool pipe_keyed_hashes_wide(bool rotates, const uint8_t *const bytes[PIPE_KEYED_HASHES],
                            const size_t size_bytes[PIPE_KEYED_HASHES], const uint8_t key[16],
                            uint64_t (*out)[2])
{
    for (unsigned lane = 1; lane < LANES; lane++) {
        if (size_bytes[lane] / 8 != size_bytes[0] / 8)
            return false;
    }
    if (rotates && __builtin_cpu_supports("avx512vl"))
        hash_avx512(bytes, size_bytes, key, out);
    else if (!rotates && __builtin_cpu_supports("avx2"))
        hash_avx2(bytes, size_bytes, key, out);
    else
        return false;
    return true;
}

#else

bool pipe_keyed_hashes_wide(bool rotates, const uint8_t *const bytes[PIPE_KEYED_HASHES],
                            const size_t size_bytes[PIPE_KEYED_HASHES], const uint8_t key[16],
                            uint64_t (*out)[2])
{
    (void)rotates, (void)bytes, (void)size_bytes, (void)key, (void)out;
    return false;
}

#endif

void pipe_keyed_hashes128(const uint8_t *const bytes[PIPE_KEYED_HASHES],
                          const size_t size_bytes[PIPE_KEYED_HASHES], unsigned count,
                          const uint8_t key[16], uint64_t (*out)[2])
{
    if (count == PIPE_KEYED_HASHES && (pipe_keyed_hashes_wide(true, bytes, size_bytes, key, out) ||
                                       pipe_keyed_hashes_wide(false, bytes, size_bytes, key, out)))
        return;
    for (unsigned i = 0; i < count; i++)
        pipe_keyed_hash128(bytes[i], size_bytes[i], key, out[i]);
}
