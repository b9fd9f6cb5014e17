/*
 * metrics_internal.h: between the files of metrics.h.
 */
#ifndef PIPE_METRICS_INTERNAL_H
#define PIPE_METRICS_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "checkpoint.h"
#include "engine.h"
#include "metrics.h"
#include "metrics_ages.h"

/* ---- What is shown ---- */

struct metrics_partition {
    uint32_t stage;
    int32_t partition;
    bool here;    /* this process works on it */
    bool has_lag; /* of a topic of a source */
    int64_t lag_records;
    int64_t kafka_time_ms; /* of the newest record read; PIPE_TIME_MIN: none */
    int64_t watermark;     /* µs */
    uint64_t skipped;
};
struct metrics_state {
    uint32_t stage, state;
    uint64_t entries, on_disk, memory_bytes;
};
struct metrics_reject {
    char *rule, *reason; /* owned */
    uint64_t count;
};
struct metrics_sink {
    uint64_t rows, bytes, fresh;
};
enum metrics_outcome_kind { OUTCOME_COMMITTED, OUTCOME_ABORTED, OUTCOME_FENCED, OUTCOME_FAILED };
#define METRICS_OUTCOMES 4

/* Arrays by index in the plan; NULL until there is something to show. */
struct metrics_snapshot {
    struct pipe_counters *streams;
    uint64_t *stream_bytes;
    struct metrics_sink *sinks;
    struct metrics_histogram *sources;
    struct metrics_partition *partitions; /* of all stages */
    uint32_t partition_count;
    struct metrics_state *states;
    uint32_t state_count;
    struct metrics_reject *rejects;
    uint32_t reject_count;
    struct metrics_histogram commits;
    uint64_t outcomes[METRICS_OUTCOMES];
    int64_t last_commit_ms;
    uint64_t log_bytes, replayed, restored, state_limit, state_disk;
    struct checkpoint_figures checkpoints;
};

/* ---- The state of a server ---- */

enum metrics_readiness {
    READINESS_OPENING,
    READINESS_UNASSIGNED,
    READINESS_RECOVERING,
    READINESS_NO_TRANSACTION,
    READINESS_READY
};

struct pipe_metrics {
    const struct pipe_plan *plan;
    /* Read by the server's thread: */
    _Atomic int64_t turned_us; /* monotonic: the last sign of life */
    _Atomic int phase, readiness;
    int64_t started_ms;                            /* wall; constant */
    struct pipe_follower_thread *_Atomic follower; /* NULL: there is none (yet) */
    pthread_mutex_t lock;
    struct metrics_snapshot shown; /* with the lock */
    /* The engine thread's: */
    struct metrics_snapshot mine;
    struct pipe_counters *bases; /* by task and stream: up to where they are in `mine` */
    uint64_t *skipped_bases;     /* by task */
    uint64_t *reject_bases;      /* by index in engine->rejects */
    uint32_t reject_base_count;
    uint64_t *pending_bytes;        /* by stream */
    struct metrics_ages *ages;      /* by source */
    struct metrics_ages *sink_ages; /* by sink with an objective */
    int64_t published_us;
    struct MHD_Daemon *daemon;
};

/* ---- Text (metrics_text.c) ---- */

enum metrics_id {
#define METRIC(id, name, type, help) METRIC_##id,
#include "metrics.def"
#undef METRIC
    METRIC_COUNT
};
struct metrics_text {
    struct pipe_buf *to;
    const char *name;     /* of the family under way */
    const char *pipeline; /* the label of all its samples; NULL: none */
};
/* # HELP and # TYPE; samples follow. */
void metrics_family(struct metrics_text *text, enum metrics_id id);
/* A sample: integer, or double, with pairs (label, value) up to NULL. */
void metrics_u64(struct metrics_text *text, uint64_t value, ...) __attribute__((sentinel));
void metrics_double(struct metrics_text *text, double value, ...) __attribute__((sentinel));
/* A histogram with one label, or none (NULL). */
void metrics_histogram_text(struct metrics_text *text, const struct metrics_histogram *histogram,
                            const struct metrics_bounds *bounds, const char *label,
                            const char *value);
/* The whole page, with the lock (metrics_render.c). */
void metrics_render(const struct pipe_metrics *metrics, int64_t now_ms, struct pipe_buf *to);
/* Those of the follower (metrics_tables.c). */
void metrics_render_tables(struct metrics_text *text, const struct pipe_metrics *metrics,
                           int64_t now_ms);
/* The sink of a table that stands still; NULL: none does. */
const char *metrics_halted_table(const struct pipe_metrics *metrics);
/* process_… (metrics_process.c) */
void metrics_render_process(struct metrics_text *text);

/* ---- The server ---- */

struct metrics_health {
    unsigned status; /* of HTTP */
    char text[256];
};
struct metrics_health metrics_health(const struct pipe_metrics *metrics, int64_t now_us);
struct metrics_health metrics_ready(const struct pipe_metrics *metrics, int64_t now_us);
/* A socket that listens at ADDRESS:PORT; -1: error. `bound` is what it got. */
int metrics_listen(const char *where, char *bound, size_t bound_bytes, char *error,
                   size_t error_bytes);
/* Serves at the socket, which it takes over. */
bool metrics_serve(struct pipe_metrics *metrics, int socket);
void metrics_serve_stop(struct pipe_metrics *metrics);

#endif
