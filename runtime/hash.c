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
