/* log_pins.c: see log_pins.h. */
#include "log_pins.h"

static bool is_at(const struct log_pin *pin, uint32_t topic_id, int32_t partition, int64_t base)
{
    return pin->base == base && pin->partition == partition && pin->topic_id == topic_id;
}

const struct log_chunk *log_pins_get(struct log_pins *pins, const struct log_chunk_source *source,
                                     uint32_t topic_id, int32_t partition, int64_t base, bool *full,
                                     char **error)
{
    uint8_t *hint = &pins->hints[(uint32_t)partition % LOG_PINS_HINTS];
    uint32_t at = *hint;
    *full = false;
    if (at >= pins->count || !is_at(&pins->items[at], topic_id, partition, base)) {
        for (at = 0; at < pins->count && !is_at(&pins->items[at], topic_id, partition, base);)
            at++;
    }
    struct log_pin *pin = &pins->items[at];
    if (at == pins->count) {
        uint8_t key[LOG_CHUNK_KEY_BYTES];
        *full = at == LOG_PINS_MAX;
        if (*full)
            return NULL;
        log_chunk_key(key, topic_id, partition, base);
        if (!log_chunk_get(source, key, &pin->chunk, error))
            return NULL;
        pin->topic_id = topic_id;
        pin->partition = partition;
        pin->base = base;
        pins->count++;
    }
    *hint = (uint8_t)at;
    pin->used = true;
    return &pin->chunk;
}

void log_pins_turn(struct log_pins *pins, const struct log_chunk_source *source)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < pins->count; i++) {
        struct log_pin *pin = &pins->items[i];
        if (!pin->used) {
            log_chunk_release(source, &pin->chunk);
            continue;
        }
        pin->used = false;
        pins->items[kept++] = *pin;
    }
    pins->count = kept;
}

void log_pins_clear(struct log_pins *pins, const struct log_chunk_source *source)
{
    for (uint32_t i = 0; i < pins->count; i++)
        log_chunk_release(source, &pins->items[i].chunk);
    pins->count = 0;
}
