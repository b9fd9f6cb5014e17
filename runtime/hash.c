/* hash.c: hashes (value.h, functions.h). */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "functions.h"
#include "value.h"

#include <errno.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

uint64_t pipe_hash64(const void *bytes, size_t size_bytes, uint64_t seed)
{
    return XXH64(bytes, size_bytes, seed);
}

void pipe_hash128(const void *bytes, size_t size_bytes, uint64_t seed, uint64_t out[2])
{
    XXH128_hash_t hash = XXH3_128bits_withSeed(bytes, size_bytes, seed);
    out[0] = hash.low64;
    out[1] = hash.high64;
}

static inline uint64_t rotate(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

struct sip {
    uint64_t v0, v1, v2, v3;
};

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

/* SipHash-1-3 with 128 bits of output. */
void pipe_keyed_hash128(const void *bytes, size_t size_bytes, const uint8_t key[16],
                        uint64_t out[2])
{
    uint64_t k[2], word;
    const uint8_t *at = bytes;
    memcpy(k, key, 16);
    struct sip s = {k[0] ^ 0x736f6d6570736575u, k[1] ^ 0x646f72616e646f6du ^ 0xee,
                    k[0] ^ 0x6c7967656e657261u, k[1] ^ 0x7465646279746573u};
    uint64_t last = (uint64_t)size_bytes << 56;
    for (; size_bytes >= 8; at += 8, size_bytes -= 8) {
        memcpy(&word, at, 8);
        s = sip_word(s, word);
    }
    for (size_t i = 0; i < size_bytes; i++)
        last |= (uint64_t)at[i] << 8 * i;
    s = sip_word(s, last);
    s.v2 ^= 0xee;
    s = sip_finish(s);
    out[0] = s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
    s.v1 ^= 0xdd;
    s = sip_finish(s);
    out[1] = s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

static void crypto_failed(const char *what)
{
    fprintf(stderr, "%s failed in libcrypto; is SHA-256 disabled on this machine?\n", what);
    _exit(4);
}

void pipe_sha256(const void *bytes, size_t size_bytes, uint8_t out[32])
{
    unsigned size = 0;
    if (EVP_Digest(bytes, size_bytes, out, &size, EVP_sha256(), NULL) != 1 || size != 32)
        crypto_failed("sha256");
}

void pipe_hmac_sha256(const void *key, size_t key_bytes, const void *bytes, size_t size_bytes,
                      uint8_t out[32])
{
    unsigned size = 0;
    /* A key of no bytes must not be NULL: that would mean the key of the call before. */
    if (HMAC(EVP_sha256(), key_bytes > 0 ? key : "", (int)key_bytes, bytes, size_bytes, out,
             &size) == NULL ||
        size != 32)
        crypto_failed("hmac_sha256");
}

int64_t pipe_fn_hash64(struct pipe_str s)
{
    return (int64_t)XXH64(s.data, s.size, 0);
}

static struct pipe_str hex_text(struct pipe_arena *arena, const uint8_t digest[32])
{
    char *text = pipe_arena_more(arena, 64);
    pipe_hex_write(text, digest, 32);
    return pipe_str_of(text, 64);
}

struct pipe_str pipe_fn_sha256(struct pipe_arena *arena, struct pipe_str s)
{
    uint8_t digest[32];
    pipe_sha256(s.data, s.size, digest);
    return hex_text(arena, digest);
}

struct pipe_str pipe_fn_hmac_sha256(struct pipe_arena *arena, struct pipe_str s,
                                    struct pipe_str secret)
{
    uint8_t digest[32];
    pipe_hmac_sha256(secret.data, secret.size, s.data, s.size, digest);
    return hex_text(arena, digest);
}
