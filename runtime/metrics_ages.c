/*
 * metrics_ages.c: histograms of Prometheus' kind, and the ages of records at their commit.
 */
#include <stdlib.h>

#include "metrics_internal.h"

/* A commit embedded is one fdatasync, 1 to 10 ms; on Kafka some round trips, 5 to 50 ms. 10 s is
 * when a broker aborts a transaction (KAFKA_TRANSACTION_MS), beyond it something waits. */
const struct metrics_bounds metrics_commit_bounds = {
    14, {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30}};

/* Fine where commits every 50 to 100 ms put a live record, so that a p50 and a p99 can be read to
 * a quarter or better; above a second one sees whether it is seconds, minutes or hours behind. */
const struct metrics_bounds metrics_latency_bounds = {
    21, {0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3,
         0.5,   0.75, 1,    2,    5,    10,   30,    60,  300,  3600}};

void metrics_observe(struct metrics_histogram *histogram, const struct metrics_bounds *bounds,
                     double seconds, uint64_t count)
{
    uint32_t at = 0;
    while (at < bounds->count && seconds > bounds->seconds[at])
        at++;
    histogram->counts[at] += count;
    histogram->sum_seconds += seconds * (double)count;
}

/* ---- Ages ---- */

#define PART (1u << METRICS_AGE_BITS)
#define MOST ((UINT64_C(1) << 40) - 1) /* ms: 34 years */

/* Below PART one millisecond each; above PART slots an octave. */
static uint32_t slot_of(uint64_t ms)
{
    ms = ms < MOST ? ms : MOST;
    if (ms < PART)
        return (uint32_t)ms;
    unsigned octave = 63u - (unsigned)__builtin_clzll(ms) - METRICS_AGE_BITS;
    return (octave + 1) * PART + (uint32_t)(ms >> octave & (PART - 1));
}

static int64_t least_of(uint32_t slot)
{
    if (slot < PART)
        return slot;
    return (int64_t)(PART + slot % PART) << (slot / PART - 1);
}

static int64_t most_of(uint32_t slot)
{
    return least_of(slot) + (slot < PART ? 0 : (INT64_C(1) << (slot / PART - 1)) - 1);
}

void metrics_ages_add(struct metrics_ages *ages, int64_t now_ms, int64_t time_ms, uint64_t count)
{
    if (time_ms == PIPE_TIME_MIN) {
        ages->without += count;
        return;
    }
    if (!ages->any)
        ages->from_ms = now_ms;
    /* Broker times are anybody's: a distance that does not fit is one of centuries. */
    int64_t ago;
    if (__builtin_sub_overflow(ages->from_ms, time_ms, &ago))
        ago = time_ms < 0 ? INT64_MAX : -INT64_MAX;
    uint32_t slot = ago >= 0 ? METRICS_AGE_SLOTS + slot_of((uint64_t)ago)
                             : METRICS_AGE_SLOTS - 1 - slot_of(0 - (uint64_t)ago);
    ages->first = !ages->any || slot < ages->first ? slot : ages->first;
    ages->last = !ages->any || slot > ages->last ? slot : ages->last;
    ages->any = true;
    ages->counts[slot] += count;
}

void metrics_row(struct metrics_ages *ages, int64_t now_ms, int64_t kafka_time_ms)
{
    metrics_ages_add(ages, now_ms, kafka_time_ms, 1);
}

void metrics_ages_clear(struct metrics_ages *ages)
{
    if (ages->any)
        memset(&ages->counts[ages->first], 0,
               (ages->last - ages->first + 1) * sizeof *ages->counts);
    ages->any = false;
    ages->without = 0;
}

uint64_t metrics_ages_fold(struct metrics_ages *ages, int64_t commit_ms, int64_t fresh_ms,
                           const struct metrics_bounds *bounds, struct metrics_histogram *histogram)
{
    uint64_t fresh = ages->without;
    for (uint32_t slot = ages->first; ages->any && slot <= ages->last; slot++) {
        uint64_t count = ages->counts[slot];
        if (count == 0)
            continue;
        int64_t ago = slot >= METRICS_AGE_SLOTS ? most_of(slot - METRICS_AGE_SLOTS)
                                                : -least_of(METRICS_AGE_SLOTS - 1 - slot);
        int64_t age_ms = commit_ms - ages->from_ms + ago;
        age_ms = age_ms > 0 ? age_ms : 0; /* clocks differ */
        fresh += age_ms <= fresh_ms ? count : 0;
        if (histogram != NULL)
            metrics_observe(histogram, bounds, (double)age_ms / 1000, count);
    }
    metrics_ages_clear(ages);
    return fresh;
}
