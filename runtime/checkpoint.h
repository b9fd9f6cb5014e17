/*
 * checkpoint.h: the state of a group's tasks in a place that its processes share (decision 0013).
 *
 *   checkpoint.c           the engine's side: when a checkpoint is due; the worker thread
 *   checkpoint_restore.c   the engine's side: a task's state from the checkpoint that fits best
 *   checkpoint_upload.c    the worker: files, then the manifest
 *   checkpoint_catalog.c   the worker: what there is, and what is needed no more
 *   checkpoint_manifest.c  what a checkpoint says of itself; objects.h: where it lies
 *
 * Functions here are the engine thread's. They do not wait for the storage but in
 * checkpoints_restore, which serves the group meanwhile, and a few seconds in checkpoints_close.
 * All but checkpoints_open do nothing where there are no checkpoints (engine->checkpoints NULL).
 */
#ifndef PIPE_CHECKPOINT_H
#define PIPE_CHECKPOINT_H

#include "engine.h"
#include "objects.h"

#define CHECKPOINT_EVERY_MS 60000 /* the default of --checkpoint-interval */

/* Options' takers. NULL: taken; else what is wrong. */
const char *checkpoints_take_url(void *run_options, const char *value);
const char *checkpoints_take_interval(void *run_options, const char *value);

/* What a test puts in the place of the storage; then there is no thread: what is due is done at
 * once, by the engine's. */
struct checkpoint_hooks {
    struct pipe_objects *(*open)(void *context);
    void *context;
    int64_t grace_ms, foreign_grace_ms; /* before what nobody needs is deleted */
};

/* As the options of the engine say; the store must be identified. False: engine_fail. */
bool checkpoints_open(struct pipe_engine *engine);
void checkpoints_close(struct pipe_engine *engine);

/* Something was committed that no checkpoint has, and it is time for one: state should be saved. */
bool checkpoints_due(const struct pipe_engine *engine);
/* State was just saved: makes a local checkpoint if one is due, for the worker to upload. */
void checkpoints_saved(struct pipe_engine *engine);
/* Once a round: takes the results of the worker. */
void checkpoints_turn(struct pipe_engine *engine);

struct checkpoint_wish {
    bool has_committed, has_stored;
    struct engine_position committed, stored; /* C, and S of the local state */
};
struct checkpoint_restored {
    bool restored; /* the local store has the task as of `position` now */
    bool ahead;    /* there is one beyond C (or: there is one, but no C): `position`, `from` */
    char from[80]; /* the manifest's digest */
    struct engine_position position;
    uint64_t entries;
};
/* The task's state from a checkpoint if one reaches further than the local state. What can't be
 * used is told, and is no failure. serve: to be called ten times a second; it returns false when
 * the task has gone or the engine failed, and so does this function then. */
bool checkpoints_restore(struct pipe_engine *engine, struct engine_task *task,
                         const struct checkpoint_wish *wish,
                         bool (*serve)(struct engine_task *task), struct checkpoint_restored *out);
/* Tasks that were assigned together are recovered: what was fetched for them is removed. */
void checkpoints_recovered(struct pipe_engine *engine);

struct checkpoint_figures {
    bool any;           /* one was uploaded by this process */
    double age_seconds; /* of the last one, or of the process; 0: it holds all that is committed */
    uint64_t uploaded, failed, uploaded_bytes, restored_tasks;
};
/* All 0 where no checkpoints are made. */
void checkpoints_figures(const struct pipe_engine *engine, struct checkpoint_figures *out);

#endif
