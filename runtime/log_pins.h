/*
 * log_pins.h: the keys of chunks in the embedded log (log_embedded.c), and chunks that a reader
 * holds because records of other chunks have their values there. One thread.
 */
#ifndef PIPE_LOG_PINS_H
#define PIPE_LOG_PINS_H

#include <rocksdb/c.h>

#include "value.h"

#define LOG_PINS_MAX 32u /* of about 256 KiB each */
#define LOG_CHUNK_KEY_BYTES 17u

/* 'r' topic id(4) partition(4) base offset(8), big-endian. */
void log_chunk_key(uint8_t to[LOG_CHUNK_KEY_BYTES], uint32_t topic_id, int32_t partition,
                   int64_t base);

struct log_pins {
    struct log_pin {
        uint8_t key[LOG_CHUNK_KEY_BYTES];
        rocksdb_pinnableslice_t *slice;
    } items[LOG_PINS_MAX];
    uint32_t count, recent;
};

/* The bytes under the key, from the database if they are not held: they live until clear. NULL: no
 * such key; or *error (the caller frees it); or *full: clear, then ask again. */
const uint8_t *log_pins_get(struct log_pins *pins, rocksdb_t *db,
                            const rocksdb_readoptions_t *options,
                            const uint8_t key[LOG_CHUNK_KEY_BYTES], size_t *size_bytes, bool *full,
                            char **error);
void log_pins_clear(struct log_pins *pins);

#endif
