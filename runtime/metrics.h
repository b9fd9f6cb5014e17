/*
 * metrics.h: what an engine tells of itself while it runs: /metrics, /healthz and /readyz.
 *
 *   metrics_tables.c    what the follower tells
 *   metrics_listen.c    --listen ADDRESS:PORT and the socket
 *   metrics.c           the engine's side: adds up with every commit, publishes a few times a
 * second metrics_ages.c      how old records are when they are committed metrics_text.c Prometheus'
 * text format; metrics_render.c: a snapshot in it metrics_server.c    HTTP by libmicrohttpd, in a
 * thread of its own
 *
 * Functions here are the engine thread's. They take no lock but the one of `publish`, which is only
 * tried: a scrape never holds up the engine. Counters begin at 0 with the process, and count what
 * was committed: nothing is taken back, and a partition that moves to another process brings
 * nothing along. All of them do nothing where there is no server (engine->metrics NULL).
 */
#ifndef PIPE_METRICS_H
#define PIPE_METRICS_H

#include "log.h"

struct pipe_engine;
struct engine_task;
struct pipe_metrics;
struct metrics_ages;

#define METRICS_DEFAULT "127.0.0.1:9464" /* of a run on Kafka */

/* An option's taker: --listen. NULL: taken; else what is wrong. */
const char *metrics_take_listen(void *run_options, const char *value);

/* Listens and serves, as the options of the engine say; engine->metrics is NULL if they say
 * nothing. False: engine_fail told why. */
bool metrics_start(struct pipe_engine *engine);
void metrics_stop(struct pipe_engine *engine);

/* What the engine is at, for /healthz. */
enum metrics_phase {
    METRICS_OPENING,
    METRICS_RECOVERING,
    METRICS_RUNNING,
    METRICS_COMMITTING,
    METRICS_SAVING
};
void metrics_phase(struct pipe_engine *engine, enum metrics_phase phase);

/* The task goes on from a commit: what it counts from now on is this process's. */
void metrics_task_began(struct engine_task *task);
/* What was rejected before is not this process's. */
void metrics_opened(struct pipe_engine *engine);
/* Records that were read, without replay. */
void metrics_read(struct engine_task *task, const struct pipe_record *records, uint32_t count);
/* A row to a sink that has an objective (engine_sink.ages). */
void metrics_row(struct metrics_ages *ages, int64_t now_ms, int64_t kafka_time_ms);
/* Before the engine acts on it. */
void metrics_outcome(struct pipe_engine *engine, int64_t from_us, enum pipe_log_outcome outcome);
/* What was read since the last commit is forgotten, to be read again. */
void metrics_aborted(struct pipe_engine *engine);
/* What the follower tells is shown from now on (engine->follower). */
void metrics_follows(struct pipe_engine *engine);
/* Once a turn of the loop, also of that of a replay: publishes. */
void metrics_turn(struct pipe_engine *engine, enum metrics_phase phase);

#endif
