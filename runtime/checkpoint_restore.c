/*
 * checkpoint_restore.c: a task's state from the checkpoint that reaches furthest. The worker
 * fetches, while the engine serves the group; the entries are copied in small batches.
 */
#include <inttypes.h>

#include "checkpoint_internal.h"
#include "state_transfer.h"

#define NAP_US 2000
#define HANGS_US 60000000 /* without any progress */

struct restoring {
    struct pipe_engine *engine;
    struct pipe_checkpoints *c;
    struct engine_task *task;
    bool (*serve)(struct engine_task *task);
    bool gone; /* serve said so */
};

enum outcome { DONE, NOT_DONE, GONE };

/* Until the worker has nothing to do. NOT_DONE: it hangs. */
static enum outcome wait_idle(struct restoring *in)
{
    uint64_t before = atomic_load(&in->c->progress);
    int64_t since_us = engine_monotonic_us();
    while (!checkpoint_is_idle(in->c)) {
        if (!in->serve(in->task)) {
            in->gone = true;
            atomic_store(&in->c->cancelled, true);
            return GONE;
        }
        uint64_t now = atomic_load(&in->c->progress);
        if (now != before)
            since_us = engine_monotonic_us();
        before = now;
        if (engine_monotonic_us() - since_us > HANGS_US) {
            if (!in->c->abandoned)
                pipe_message(PIPE_WARNING, "checkpoints can't be reached: the storage hangs", NULL);
            in->c->abandoned = true;
            atomic_store(&in->c->cancelled, true);
            return NOT_DONE;
        }
        engine_sleep_us(NAP_US);
    }
    return DONE;
}

/* NOT_DONE: c->error, or it hangs. */
static enum outcome do_job(struct restoring *in, enum checkpoint_job job)
{
    if (in->c->abandoned && !checkpoint_is_idle(in->c))
        return NOT_DONE;
    if (!checkpoint_is_idle(in->c))
        atomic_store(&in->c->cancelled, true); /* an upload: later */
    enum outcome outcome = wait_idle(in);
    if (outcome != DONE)
        return outcome;
    checkpoint_take_result(in->c);
    checkpoint_begin(in->c, job);
    outcome = wait_idle(in);
    if (outcome != DONE)
        return outcome;
    bool ok = in->c->ok;
    checkpoint_take_result(in->c);
    return ok ? DONE : NOT_DONE;
}

static bool serve_copy(void *context)
{
    struct restoring *in = context;
    in->gone = in->gone || !in->serve(in->task);
    return !in->gone;
}

/* ---- One checkpoint ---- */

static void close_fetched(struct pipe_checkpoints *c)
{
    pipe_store_close(c->fetched);
    c->fetched = NULL;
    c->fetched_digest[0] = '\0';
}

static void rule_out(struct pipe_checkpoints *c, struct checkpoint_known *known)
{
    pipe_message(PIPE_WARNING, "a checkpoint can't be used", "name=%s reason=\"%s\"", known->name,
                 PIPE_QUOTED(c->error));
    known->ruled_out = true;
}

/* The identity of the store itself, as of one on this machine. */
static bool check_fetched(struct pipe_checkpoints *c, const struct checkpoint_manifest *manifest)
{
    const struct pipe_store *store = c->fetched;
    if (!pipe_store_can_read(pipe_store_version(store)) ||
        strcmp(pipe_store_version(store), manifest->format) != 0)
        return checkpoint_failed(c,
                                 "it is of format %s, but this program reads " PIPE_STATE_VERSIONS,
                                 pipe_store_version(store));
    return (strcmp(pipe_store_plan(store), c->plan) == 0 &&
            strcmp(pipe_store_incarnation(store), c->incarnation) == 0) ||
           checkpoint_failed(c, "it is of another plan or log");
}

static enum outcome open_known(struct restoring *in, size_t index)
{
    struct pipe_checkpoints *c = in->c;
    const char *digest = strrchr(c->known[index].name, '/') + 1;
    char path[4200];
    bool created;
    if (c->fetched != NULL && strcmp(c->fetched_digest, digest) == 0)
        return DONE;
    close_fetched(c);
    c->fetch = index;
    enum outcome outcome = do_job(in, CHECKPOINT_FETCH);
    if (outcome != DONE)
        return outcome;
    checkpoint_path(c, "restore", path, sizeof path);
    c->fetched = pipe_store_open(path, true, &created, c->error, sizeof c->error);
    if (c->fetched == NULL || !check_fetched(c, &c->known[index].manifest)) {
        close_fetched(c);
        return NOT_DONE;
    }
    snprintf(c->fetched_digest, sizeof c->fetched_digest, "%s", digest);
    return DONE;
}

/* DONE: the local store has it. */
static enum outcome adopt(struct restoring *in, const struct checkpoint_task *from,
                          uint64_t *entries)
{
    struct pipe_checkpoints *c = in->c;
    struct pipe_store_position position;
    bool found, ended;
    if (!pipe_store_load_position(c->fetched, from->stage, from->partition, &position, &found)) {
        checkpoint_failed(c, "%s", pipe_store_error(c->fetched));
        return NOT_DONE;
    }
    if (!found || position.offset != from->offset || position.seq != from->seq ||
        position.marker_count != in->task->marker_count) {
        checkpoint_failed(c, "its state is not as of what its manifest says");
        return NOT_DONE;
    }
    if (!pipe_store_adopt(in->engine->store, c->fetched, from->stage, from->partition, serve_copy,
                          in, &ended, entries)) {
        engine_fail(in->engine, PIPE_EXIT_DATA, "%s", pipe_store_error(in->engine->store));
        return GONE;
    }
    return ended ? GONE : DONE;
}

/* ---- A task ---- */

/* The manifests of this recovery; DONE also if there are none. */
static enum outcome list(struct restoring *in)
{
    struct pipe_checkpoints *c = in->c;
    if (c->listed)
        return DONE;
    enum outcome outcome = do_job(in, CHECKPOINT_LIST);
    if (outcome == NOT_DONE && !c->abandoned)
        pipe_message(PIPE_WARNING, "checkpoints can't be listed", "reason=\"%s\"",
                     PIPE_QUOTED(c->error));
    c->listed = outcome != GONE; /* else every task would tell it */
    return outcome;
}

static struct checkpoint_task task_at(const struct engine_task *task,
                                      const struct engine_position *at)
{
    return (struct checkpoint_task){task->task.stage_index, task->task.partition, at->offset,
                                    at->seq};
}

static void tell(const struct checkpoint_known *known, const struct checkpoint_task *task,
                 struct checkpoint_restored *out)
{
    snprintf(out->from, sizeof out->from, "%.79s", strrchr(known->name, '/') + 1);
    out->position = (struct engine_position){.offset = task->offset, .seq = task->seq};
}

bool checkpoints_restore(struct pipe_engine *engine, struct engine_task *task,
                         const struct checkpoint_wish *wish,
                         bool (*serve)(struct engine_task *task), struct checkpoint_restored *out)
{
    struct pipe_checkpoints *c = engine->checkpoints;
    struct restoring in = {engine, c, task, serve, false};
    *out = (struct checkpoint_restored){0};
    if (c == NULL)
        return true;
    enum outcome outcome = list(&in);
    if (outcome != DONE)
        return outcome == NOT_DONE;
    struct checkpoint_task after = task_at(task, &wish->stored),
                           before = task_at(task, &wish->committed);
    for (;;) {
        int64_t newer, index = checkpoint_choose(c->known, c->known_count, after.stage,
                                                 after.partition, wish->has_stored ? &after : NULL,
                                                 wish->has_committed ? &before : NULL, &newer);
        if (newer >= 0) {
            struct checkpoint_known *known = &c->known[newer];
            out->ahead = true;
            tell(known, checkpoint_manifest_task(&known->manifest, after.stage, after.partition),
                 out);
            return true;
        }
        if (index < 0)
            return true;
        struct checkpoint_known *known = &c->known[index];
        const struct checkpoint_task from =
            *checkpoint_manifest_task(&known->manifest, after.stage, after.partition);
        outcome = open_known(&in, (size_t)index);
        if (outcome == DONE)
            outcome = adopt(&in, &from, &out->entries);
        if (outcome == DONE) {
            c->figures.restored_tasks++;
            out->restored = true;
            tell(known, &from, out);
        }
        if (outcome != NOT_DONE)
            return outcome == DONE;
        if (c->abandoned)
            return true;
        rule_out(c, known);
    }
}

void checkpoints_recovered(struct pipe_engine *engine)
{
    struct pipe_checkpoints *c = engine->checkpoints;
    char path[4200];
    if (c == NULL)
        return;
    c->listed = false;
    for (size_t i = 0; checkpoint_is_idle(c) && i < c->known_count; i++)
        c->known[i].ruled_out = false; /* it may have been this machine's fault */
    if (c->fetched == NULL)
        return;
    close_fetched(c);
    checkpoint_path(c, "restore/state", path, sizeof path);
    checkpoint_remove_directory(path);
    checkpoint_path(c, "restore", path, sizeof path);
    checkpoint_remove_directory(path); /* else the next start does */
}
