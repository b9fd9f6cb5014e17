/*
 * follower.h: brings committed records of topics into tables, each once (semantics.md §6, decision
 * 0012). Sinks that are no topics and no files of the engine have one: ClickHouse now.
 *
 * A follower reads the topic of its sink's stream (or the sink's internal rows topic) by a log of
 * its own: on Kafka as a member of its own group, embedded by a second handle on the same log. For
 * every partition it goes round:
 *
 *   COLLECT  records → rows of a block, until it is full or commit_ms old
 *   JOURNAL  all partitions of a sink that have rows become a batch; the position of each = end of
 *            what is confirmed, its value = the ranges of the whole batch, counts, hashes, and the
 *            token: one commit
 *   SEND     the table takes the block; an attempt but the first begins with the probe
 *   CONFIRM  with the next commit, which may journal the next batch as well
 *
 * While a batch is sent, the next one is collected. After a start, an assignment or an aborted
 * commit the journal is read first: a pending batch is read again from the log, whosever partitions
 * it is of (decision 0018), its hashes compared, and sent under the token of the journal.
 *
 * Follower and targets are driven by steps and never block but in the log's calls and the target's
 * poll, so that a simulation can drive them; follower_thread.c gives them a thread. One thread uses
 * a follower.
 *
 *   follower.c          steps, commits, what is shown
 *   follower_parts.c    partitions that come and go; journals read back
 *   follower_collect.c  records → rows
 *   follower_batch.c    ranges become a batch; batches that are read again
 *   follower_send.c     attempts and their outcomes; tables that stand still
 *   follower_journal.c  the value of a position; hash and token
 *   follower_thread.c   a thread for it; follower_run.c: in a run, and `NAME follow`
 */
#ifndef PIPE_FOLLOWER_H
#define PIPE_FOLLOWER_H

#include <signal.h>
#include "log.h"
#include "metrics_ages.h"
#include "native.h"
#include "pipe.h"

/* ---- Where rows go ---- */

#define PIPE_TABLE_RANGES_MAX PIPE_NATIVE_WRITERS_MAX /* of a batch */

/* Rows of one partition. */
struct pipe_table_range {
    int32_t partition;
    int64_t first, last; /* offsets, both included */
    uint32_t rows;
};

/* What goes to a table as one block: ranges of different partitions, in their order. */
struct pipe_table_batch {
    uint32_t sink; /* in plan->sinks */
    struct pipe_table_range ranges[PIPE_TABLE_RANGES_MAX];
    uint32_t range_count;
    uint32_t rows;         /* of all ranges */
    struct pipe_str block; /* Native, uncompressed; lives until the attempt has ended. That of a
                              follower begins with a page of memory */
    char token[65];        /* hex */
    uint32_t attempt;      /* from 0: whether it is the first that was ever made */
};

enum pipe_table_outcome {
    PIPE_TABLE_PENDING,
    PIPE_TABLE_DONE,  /* all rows of the batch are in the table, durably */
    PIPE_TABLE_AGAIN, /* they may be or not: the same again, later (error: one line) */
    PIPE_TABLE_BROKEN /* trying again does not help: no such table, no right, other columns */
};

struct pipe_table_target;  /* a kind of table and how it is reached */
struct pipe_table_request; /* one attempt that was begun */

struct pipe_table_ops {
    /* Whether the table of the sink is there and as it must be (columns, dedup window). PENDING
     * while it is being asked; AGAIN: it cannot be asked now. Called until it says DONE. */
    enum pipe_table_outcome (*check)(struct pipe_table_target *target, uint32_t sink, char *error,
                                     size_t error_bytes);
    /* Whether the table has rows of this partition at or behind `offset`; the same outcomes, DONE
     * with *any. Asked before anything is sent: rows that no journal tells of are refused. */
    enum pipe_table_outcome (*holds)(struct pipe_table_target *target, uint32_t sink,
                                     int32_t partition, int64_t offset, bool *any, char *error,
                                     size_t error_bytes);
    /* Whether the row at `offset` is in the table, or, where rows replace others, any row; as
     * `holds`. Asked of the last row that was confirmed. NULL: it is not (see `keeps`). */
    enum pipe_table_outcome (*has)(struct pipe_table_target *target, uint32_t sink,
                                   int32_t partition, int64_t offset, bool *any, char *error,
                                   size_t error_bytes);
    /* Begins an attempt; never NULL. */
    struct pipe_table_request *(*begin)(struct pipe_table_target *target,
                                        const struct pipe_table_batch *batch);
    enum pipe_table_outcome (*look)(struct pipe_table_request *request, const char **error);
    void (*end)(struct pipe_table_request *request); /* also of one that is pending */
    /* Whether what was confirmed, all before `mark`, is still there; else `error` is what is gone
     * and what to do. NULL: it is not looked at (a table of a server is others' to change). Only
     * after `check` said DONE. */
    bool (*keeps)(struct pipe_table_target *target, uint32_t sink, int32_t partition, int64_t mark,
                  char *error, size_t error_bytes);
    /* Goes on with all that was begun; waits at most wait_ms for one of them to move. */
    void (*poll)(struct pipe_table_target *target, int64_t wait_ms);
    void (*close)(struct pipe_table_target *target);
};
struct pipe_table_target {
    const struct pipe_table_ops *ops;
    uint32_t ranges; /* of a batch, at most: 1 … PIPE_TABLE_RANGES_MAX */
};

/* target_clickhouse.c: a server, by HTTP. target_native.c: files DIR/tables/SINK/…native. */
struct pipe_clickhouse;
struct pipe_table_target *pipe_target_clickhouse(const struct pipe_plan *plan,
                                                 struct pipe_clickhouse *client);
struct pipe_table_target *pipe_target_native(const struct pipe_plan *plan, const char *dir);

/* ---- The follower ---- */

enum pipe_follow {
    PIPE_FOLLOW_AS_PLANNED, /* pipe_plan_followed */
    PIPE_FOLLOW_OWN_TOPIC,  /* its rows topic: the sink of the other one writes files in this run */
    PIPE_FOLLOW_NOTHING     /* it has none in this run */
};
struct pipe_follower_config {
    const struct pipe_plan *plan;
    struct pipe_log *log;             /* its own; the follower closes it */
    struct pipe_table_target *target; /* likewise */
    const enum pipe_follow *follows;  /* by sink; NULL: all as planned. Read by `new` only */
    uint64_t memory_bytes;            /* of all blocks that are collected or under way; 0: 64 MiB */
    uint32_t requests;                /* at a time; 0: 8 */
    int64_t commit_least_ms;          /* a sink's `commit` time is no shorter; 0: as planned */
    bool accept_gap;                  /* goes on behind records that retention has taken */
};
struct pipe_follower;

enum pipe_follower_state { PIPE_FOLLOWER_WORKED, PIPE_FOLLOWER_IDLE, PIPE_FOLLOWER_FAILED };

/* Whether the plan has a sink that a follower serves. */
bool pipe_plan_has_followers(const struct pipe_plan *plan);
/* The topic that a table sink follows: true and the index of a JSON topic sink of the same stream
 * that keeps every record and has no other follower; else its own rows topic (PIPE_TOPIC_ROWS). */
bool pipe_plan_followed(const struct pipe_plan *plan, uint32_t sink, uint32_t *topic_sink);

struct pipe_follower *pipe_follower_new(const struct pipe_follower_config *config);
/* One round; waits at most wait_ms, where log or target can wait. FAILED: see the error; the log is
 * broken or fenced. A sink whose table is BROKEN is halted: it alone stands still, until a restart,
 * and the follower goes on with the others. */
enum pipe_follower_state pipe_follower_step(struct pipe_follower *follower, int64_t wait_ms);
/* Whether a step that finds nothing to do waits; else (embedded) its caller should. */
bool pipe_follower_waits(const struct pipe_follower *follower);
/* No block waits to be full or old from now on; `stop`: nothing new is collected either. */
void pipe_follower_flush(struct pipe_follower *follower, bool stop);
/* Whether everything committed in its topics is confirmed (of the partitions that it has), or its
 * sink halted. */
bool pipe_follower_at_end(struct pipe_follower *follower);
/* Whether nothing is under way: no batch that was journaled waits for its first attempt, or was
 * sent and waits for its end. */
bool pipe_follower_is_quiet(const struct pipe_follower *follower);
const char *pipe_follower_error(const struct pipe_follower *follower);
bool pipe_follower_fenced(const struct pipe_follower *follower); /* FAILED: by a newer instance */
void pipe_follower_close(struct pipe_follower *follower);

/* What /metrics and reports show, of one sink. */
struct pipe_follower_figures {
    uint64_t rows, batches, bytes; /* in the table since the start; bytes of blocks */
    uint64_t attempts, unknown;    /* made; that ended without a verdict or must be repeated */
    uint64_t skipped;              /* offsets that retention took (--accept-gap) */
    uint64_t lag_records;          /* committed, not confirmed */
    int64_t oldest_ms;             /* kafka_time of the oldest that waits; PIPE_TIME_MIN: none */
    struct metrics_histogram queryable; /* kafka_time of a record → its row is in the table */
    bool follows;                       /* it has a follower */
    bool halted;
    char error[512]; /* why it waits or is halted; empty: neither */
};
void pipe_follower_look(const struct pipe_follower *follower, uint32_t sink,
                        struct pipe_follower_figures *figures);

/* ---- A thread for it (follower_thread.c) ---- */

struct pipe_follower_thread;

/* Takes the follower. `failed` is called once, in the thread, if it fails. Never NULL. */
struct pipe_follower_thread *pipe_follower_start(struct pipe_follower *follower,
                                                 const struct pipe_plan *plan,
                                                 void (*failed)(void));
/* Ends it, waits for the thread, and closes the follower. `until_end`: first all that is committed
 * gets into the tables, however long that takes, unless *stop becomes set; else what is under way
 * has a few seconds. False: it has failed, or a sink of it is halted at its end; `error` holds one
 * line. */
bool pipe_follower_finish(struct pipe_follower_thread *thread, bool until_end,
                          const volatile sig_atomic_t *stop, char *error, size_t error_bytes);
bool pipe_follower_is_over(struct pipe_follower_thread *thread);          /* the thread has ended */
bool pipe_follower_was_fenced(const struct pipe_follower_thread *thread); /* after finish */
/* The figures as of a moment ago; any thread. */
void pipe_follower_figures(struct pipe_follower_thread *thread, uint32_t sink,
                           struct pipe_follower_figures *figures);
void pipe_follower_free(struct pipe_follower_thread *thread); /* after finish */

/* ---- In a run (follower_run.c) ---- */

struct pipe_engine;
struct pipe_run_options;
/* Starts what follows the run's topics: engine->follower, NULL if nothing does. False: engine_fail
 * told why. */
bool pipe_followers_start(struct pipe_engine *engine);
/* Ends it; `finished`: the run has come to its end by itself, so tables come to theirs. False:
 * engine_fail told why. */
bool pipe_followers_end(struct pipe_engine *engine, bool finished);
/* `NAME follow`: tables only, beside the runs of a group. */
int pipe_follow_main(const struct pipe_plan *plan, int argc, char **argv);

#endif
