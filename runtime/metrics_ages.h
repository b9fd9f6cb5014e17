/*
 * metrics_ages.h: histograms, and how old records are when something happens to them: their commit
 * (metrics.c), or their row's arrival in a table (follower_send.c).
 */
#ifndef PIPE_METRICS_AGES_H
#define PIPE_METRICS_AGES_H

#include "value.h"

#define METRICS_BOUNDS_MAX 24
struct metrics_histogram {
    uint64_t counts[METRICS_BOUNDS_MAX + 1]; /* not cumulative; behind the bounds: the rest */
    double sum_seconds;
};
struct metrics_bounds {
    uint32_t count;
    double seconds[METRICS_BOUNDS_MAX];
};
extern const struct metrics_bounds metrics_commit_bounds, metrics_latency_bounds;
void metrics_observe(struct metrics_histogram *histogram, const struct metrics_bounds *bounds,
                     double seconds, uint64_t count);

/* How many records came at which broker time since the last commit. Their age is known at the
 * commit only, and there may be millions: they are counted by distance from a moment, to 1/32 of
 * that distance. Of such a class the oldest is taken. */
#define METRICS_AGE_BITS 5
#define METRICS_AGE_SLOTS ((40u - METRICS_AGE_BITS + 1) << METRICS_AGE_BITS)
struct metrics_ages {
    bool any;
    int64_t from_ms;                        /* the moment */
    uint32_t first, last;                   /* slots in use */
    uint64_t without;                       /* without a broker time */
    uint64_t counts[2 * METRICS_AGE_SLOTS]; /* by growing age */
};
void metrics_ages_add(struct metrics_ages *ages, int64_t now_ms, int64_t time_ms, uint64_t count);
void metrics_ages_clear(struct metrics_ages *ages);
/* Into the histogram (NULL: none) as committed at `commit_ms`, and cleared. Returns how many are
 * at most fresh_ms old, with those without a time. */
uint64_t metrics_ages_fold(struct metrics_ages *ages, int64_t commit_ms, int64_t fresh_ms,
                           const struct metrics_bounds *bounds,
                           struct metrics_histogram *histogram);

#endif
