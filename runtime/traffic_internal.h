/*
 * traffic_internal.h: shared by traffic.c (which event is sent when) and traffic_row.c (its bytes).
 *
 * Every draw is a hash of (seed, event or session, purpose), so that bytes can be made at any time,
 * and again.
 */
#ifndef PIPE_TRAFFIC_INTERNAL_H
#define PIPE_TRAFFIC_INTERNAL_H

#include "pipe.h"
#include "input.h"

#define PPM 1000000u

/* What a draw is for; those of fields come behind. A number in the upper half tells apart draws of
 * one purpose. */
enum purpose {
    DRAW_LIFE,
    DRAW_PAUSE,
    DRAW_STEP,
    DRAW_SESSION,
    DRAW_FAULT,
    DRAW_FAULT_SIZE,
    DRAW_DUPLICATE,
    DRAW_DUPLICATE_SIZE,
    DRAW_POISON,
    DRAW_POISON_SIZE,
    DRAW_POISON_BYTE,
    DRAW_FIELD = 1000,
    DRAW_FIELD_NULL = 1000000,
    DRAW_FIELD_TEXT = 2000000
};

enum { NO_FAULT = -1 };

/* One record that is to be sent. */
struct sending {
    int64_t time_ms;
    uint64_t serial; /* of sends: ties go out in this order */
    uint64_t event, session;
    int32_t step;
    int16_t fault, duplicate; /* in def->faults, or NO_FAULT */
};

struct heap {
    void *items;
    size_t count, capacity, item_bytes;
    bool (*before)(const void *a, const void *b);
};

/* A column that is filled, also one inside of nested records: where it lies in the row. */
struct target {
    const struct pipe_column *column;
    uint32_t offset, null_offset;
    uint32_t *opened; /* null flags of the nullable records around it */
    uint32_t opened_count;
    size_t value_bytes;
    /* Of `pick`, steps and `value`: the values, whether each is null, and the sums of the weights
     * so far. */
    uint8_t *values;
    bool *value_nulls;
    int64_t *weights;
    uint32_t value_count;
    double divisor; /* of `uniform` */
};

struct pipe_feeder {
    const struct pipe_traffic_def *def;
    const struct pipe_source_def *source;
    struct pipe_feeder_options options;
    uint32_t partitions;
    uint64_t next_event, next_session, next_serial;
    int64_t next_due_ms; /* of next_event */
    uint32_t next_stop;  /* in options.stops */
    int64_t floor_ms;    /* sent last at a stop: sending times never decrease */
    struct heap sessions, sendings;
    struct target *fields;       /* by field */
    struct target *fault_values; /* by fault; column NULL where it is not a `value` fault */
    struct target steps;
    struct target poisoned; /* of container files; column NULL: no column can be undecodable */
    uint8_t *template_row, *row;
    struct pipe_arena setup, scratch;
    struct pipe_buf key, value;
    int64_t event_time_ms; /* of the row in hand */
    const char *poison;    /* what was done to it */
};

static inline uint64_t traffic_draw(const struct pipe_feeder *feeder, uint64_t of, uint64_t purpose)
{
    uint64_t words[2] = {of, purpose};
    return pipe_hash64(words, sizeof words, feeder->options.seed);
}

/* Uniform in low..high, both included. */
static inline int64_t traffic_uniform(uint64_t hash, int64_t low, int64_t high)
{
    unsigned __int128 range = (unsigned __int128)((__int128)high - low + 1);
    return (int64_t)(low + (__int128)(range * hash >> 64));
}

static inline uint32_t traffic_ppm(uint64_t hash)
{
    return (uint32_t)traffic_uniform(hash, 0, PPM - 1);
}

int64_t traffic_due_ms(const struct pipe_feeder *feeder, uint64_t event);

/* The tables behind rows. False: error. What was made is freed by traffic_free_rows in any case. */
bool traffic_prepare_rows(struct pipe_feeder *feeder, struct pipe_error *error);
void traffic_free_rows(struct pipe_feeder *feeder);
/* The record's bytes, key and partition; they live until the next call. */
void traffic_encode(struct pipe_feeder *feeder, const struct sending *sending,
                    struct pipe_feed_record *out);

#endif
