/* log_pins.c: see log_pins.h. */
#include "log_pins.h"

static void put_be(uint8_t *to, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        to[i] = (uint8_t)(value >> (8 * (bytes - 1 - i)));
}

void log_chunk_key(uint8_t to[LOG_CHUNK_KEY_BYTES], uint32_t topic_id, int32_t partition,
                   int64_t base)
{
    to[0] = 'r';
    put_be(to + 1, topic_id, 4);
    put_be(to + 5, (uint32_t)partition, 4);
    put_be(to + 9, (uint64_t)base, 8);
}

static const uint8_t *bytes_of(const struct log_pin *pin, size_t *size_bytes)
{
    return (const uint8_t *)rocksdb_pinnableslice_value(pin->slice, size_bytes);
}

const uint8_t *log_pins_get(struct log_pins *pins, rocksdb_t *db,
                            const rocksdb_readoptions_t *options,
                            const uint8_t key[LOG_CHUNK_KEY_BYTES], size_t *size_bytes, bool *full,
                            char **error)
{
    *full = false;
    for (uint32_t i = 0; i < pins->count; i++) {
        uint32_t at = (pins->recent + i) % pins->count;
        if (memcmp(pins->items[at].key, key, LOG_CHUNK_KEY_BYTES) == 0) {
            pins->recent = at;
            return bytes_of(&pins->items[at], size_bytes);
        }
    }
    *full = pins->count == LOG_PINS_MAX;
    if (*full)
        return NULL;
    rocksdb_pinnableslice_t *slice =
        rocksdb_get_pinned(db, options, (const char *)key, LOG_CHUNK_KEY_BYTES, error);
    if (slice == NULL || *error != NULL)
        return NULL;
    struct log_pin *pin = &pins->items[pins->recent = pins->count++];
    memcpy(pin->key, key, LOG_CHUNK_KEY_BYTES);
    pin->slice = slice;
    return bytes_of(pin, size_bytes);
}

void log_pins_clear(struct log_pins *pins)
{
    for (uint32_t i = 0; i < pins->count; i++)
        rocksdb_pinnableslice_destroy(pins->items[i].slice);
    pins->count = pins->recent = 0;
}
