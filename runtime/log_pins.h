/*
 * log_pins.h: chunks of the embedded log that a reader holds because records of other chunks have
 * their values there. One thread.
 */
#ifndef PIPE_LOG_PINS_H
#define PIPE_LOG_PINS_H

#include "log_recent.h"

#define LOG_PINS_MAX 32u   /* of about 256 KiB each */
#define LOG_PINS_HINTS 16u /* where a partition's chunk was last */

struct log_pins {
    struct log_pin {
        uint32_t topic_id;
        int32_t partition;
        int64_t base;
        bool used; /* since log_pins_turn */
        struct log_chunk chunk;
    } items[LOG_PINS_MAX];
    uint32_t count;
    uint8_t hints[LOG_PINS_HINTS];
};

/* The chunk at this place, got if it is not held: it lives until clear, or until turn finds that it
 * was not asked for since the one before. NULL: no such chunk; or *error (the caller frees it); or
 * *full: clear, then ask again. */
const struct log_chunk *log_pins_get(struct log_pins *pins, const struct log_chunk_source *source,
                                     uint32_t topic_id, int32_t partition, int64_t base, bool *full,
                                     char **error);
void log_pins_turn(struct log_pins *pins, const struct log_chunk_source *source);
void log_pins_clear(struct log_pins *pins, const struct log_chunk_source *source);

#endif
