/*
 * sim.h: a deterministic simulation of the real runtime (docs/testing.md). One process, one thread,
 * one seed: everything that the compiled pipelines and libpipe ask of their surroundings is
 * answered by these files instead, and every answer is a function of the seed.
 *
 *   world.c      random numbers, virtual time, the trace, instances and their crashes
 *   system.c     clock, random bytes, files: functions of the C library, by --wrap of the linker
 *   store.c      RocksDB's C interface: ordered maps that outlive a crash as a write-ahead log does
 *   broker.c     a cluster of brokers; cluster_log.c: runtime/log.h over it
 *   embedded.c   a run in a directory, crashed and started again until it is done
 *   server.c     a server of tables, and the client to it
 *   objects.c    where checkpoints are shared
 *   grouped.c    several instances that share the partitions of the cluster
 *   invariants.c what must hold at every moment
 *   injection.c  rows that are put into its topic by hand
 *   model.c      what the pipelines must compute, without any code of the runtime's operators
 *   main.c       seeds, processes, results
 *
 * An instance is a run of the engine on a stack of its own. A crash leaves that stack for ever:
 * none of its calls has an effect any more, and its memory is lost (it goes with the process: one a
 * seed). Whatever goes wrong in the simulation itself, or a check that fails, ends the process.
 */
#ifndef SIM_H
#define SIM_H

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>
#include <stdio.h>

#include "checkpoint.h"
#include "engine.h"

/* ---- world.c ---- */

struct sim_odds {   /* in 100,000 */
    uint32_t crash; /* at every call that has an effect outside, and every named crash point */
    uint32_t store_error; /* of a write to a store */
    uint32_t file_error;
    uint32_t server; /* of a request to the server of tables: slow, cut, refused */
    uint32_t object_error; /* of a call of the place that checkpoints are in */
    uint32_t slow;    /* a call that takes seconds */
    uint32_t pause;   /* of an instance, for many seconds, whenever it sleeps */
    uint32_t step;    /* of the wall clock, by up to some hours, at every nap */
    uint32_t call_us; /* what others take, at most */
};

struct sim_instance;
struct sim_program;

struct sim_world {
    uint64_t seed;
    uint64_t random;          /* state */
    int64_t now_us;           /* CLOCK_MONOTONIC */
    int64_t wall_us;          /* CLOCK_REALTIME is now_us + this */
    int64_t stop_at_us;       /* then the instances get SIGTERM; INT64_MAX: never */
    struct sim_odds odds;     /* all 0: nothing goes wrong any more */
    uint32_t crashes_left;    /* no more than these, so that every seed comes to its end */
    bool big_batches;         /* every batch is told to be big, so that it is flushed, not logged */
    bool grouped;             /* several instances: who sleeps lets others run */
    bool trace;               /* print it */
    FILE *out;                /* there, whatever commands print elsewhere */
    uint64_t trace_hash;      /* of all lines */
    uint64_t crashes, errors, fetches; /* so far, for the statistics; of files of checkpoints */
    const struct sim_program *program;
    const char *what; /* the pipeline and scenario, for messages */
    struct sim_instance *running;
};
extern struct sim_world sim;

uint64_t sim_random(void);
uint32_t sim_below(uint32_t n); /* 0 … n - 1; n >= 1 */
bool sim_chance(uint32_t in_100000);
int64_t sim_between(int64_t least, int64_t most);

/* A line of the trace: hashed, and printed with TRACE=1. */
void sim_trace(const char *format, ...) PIPE_PRINTF(1, 2);
/* A check has failed: prints seed, message and how to replay it, and ends the process. */
_Noreturn void sim_fail(const char *format, ...) PIPE_PRINTF(1, 2);
/* Time passes. */
void sim_pass(int64_t us);
/* A call takes its time: microseconds, or now and then seconds. */
void sim_take_time(void);

enum sim_end { SIM_YIELDED, SIM_RETURNED, SIM_CRASHED };
struct sim_instance *sim_instance_new(const char *name, void (*body)(void *), void *argument);
/* Runs it until it yields, returns or crashes; then it is gone and freed but for its memory. */
enum sim_end sim_instance_run(struct sim_instance *instance);
/* From the running instance: others run until that time has passed; or it is held up. */
void sim_sleep(int64_t us);
/* Perhaps it is held up for many seconds here, as by SIGSTOP. */
void sim_hold_up(uint32_t in_100000);
/* When it wants to run again; INT64_MAX: it has ended. */
int64_t sim_instance_wakes(const struct sim_instance *instance);
bool sim_instance_paused(const struct sim_instance *instance);
/* Maybe the end of the running instance: does not return then. Outside of an instance nothing. */
void sim_point(const char *name);
_Noreturn void sim_crash(const char *where);

/* ---- system.c ---- */
void sim_files_crash(const struct sim_instance *owner, bool power);

/* ---- store.c ---- */
void sim_stores_crash(const struct sim_instance *owner, bool power);
/* As if somebody had deleted the directory. */
void sim_store_remove(const char *path);
/* The durable value of a key in the store at `path`; NULL: none. Valid until the store changes. */
const char *sim_store_durable(const char *path, const void *key, size_t key_bytes, size_t *bytes);

/* ---- objects.c ---- */
extern struct checkpoint_hooks sim_checkpoint_hooks; /* their times are the scenario's */
void sim_objects_lose(void);

/* ---- invariants.c ---- */
/* Is about to be written to the store at `path`: state must not be ahead of its log, and what a
 * position of a table calls confirmed must be there. */
void sim_check_write(const char *path, const void *key, size_t key_bytes, const void *value,
                     size_t value_bytes);
/* The same of a position in a cluster. */
void sim_check_confirmed(const char *name, struct pipe_str value);

/* A record for topic `topic` of a cluster: if it is a time record, its partition must be idle. */
void sim_check_floor(const char *topic, int32_t partition, struct pipe_str value);

/* What is printed goes to a file meanwhile: sim_redirect(path, -1) returns what gives it back:
 * close(sim_redirect(NULL, that)). */
int sim_redirect(const char *path, int to);

/* ---- injection.c ---- */
void sim_inject(const struct sim_program *program, const char *dir, int64_t start_ms);

/* ---- Scenarios: one seed from begin to end ---- */
struct sim_program {
    const char *name;
    const struct pipe_plan *plan;
    const struct sim_model_def *model;
    bool files;    /* the source reads files */
    bool advances; /* its time goes on though nothing comes */
    bool tables;   /* it has some, with a follower */
};
extern struct sim_program sim_programs[];
extern const size_t sim_program_count;
void sim_register_programs(void); /* programs.c */
void sim_embedded(const struct sim_program *program);
void sim_grouped(const struct sim_program *program);

/* cluster_log.c: the log of an instance, by its name; group 0: of the pipeline, 1: of followers. */
struct pipe_log *sim_cluster_open(const char *instance, uint32_t group);

/* ---- model.c ---- */
struct sim_record {
    int32_t partition;
    int64_t offset, kafka_time_ms;
    struct pipe_str key, value; /* data NULL: none */
};
/* What the model reads: the committed records of a topic's partition, in order. */
struct sim_reader {
    void *context;
    bool (*read)(void *context, const char *topic, int32_t partition,
                 bool (*each)(void *to, const struct sim_record *record), void *to);
};
const struct sim_model_def *sim_model_of(const char *program);
void sim_check_outputs(const struct sim_program *program, const struct sim_reader *reader);

#endif
