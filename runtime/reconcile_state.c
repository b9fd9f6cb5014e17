/*
 * reconcile_state.c: what the state of the re-execution does not keep in memory. Where the ids and
 * windows of the greatest task could take more than the budget, there is a state store as a run has
 * one, in a temporary directory, and a task lets go of memory into it. Nothing is ever loaded from
 * it: a task begins with nothing.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <ftw.h>
#include <stdlib.h>

#include "reconcile.h"

#define STATE_BYTES (128ull << 20) /* without --state-memory */
#define ENTRY_BYTES 64             /* of a record, at most on average: an id, a session */
#define RELIEVE_EVERY 4096u        /* records */

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *where)
{
    (void)about;
    (void)kind;
    (void)where;
    return remove(path);
}

static bool may_be_short(const struct reconcile *r, uint64_t budget)
{
    uint64_t most = 0;
    for (uint32_t t = 0; t < r->engine->task_count; t++) {
        uint64_t records = (uint64_t)r->committed[t].position.offset;
        if (r->has_committed[t] && records > most)
            most = records;
    }
    return most > budget / ENTRY_BYTES;
}

bool reconcile_open_state(struct reconcile *r)
{
    uint64_t given = r->options->run.state_bytes, budget = given > 0 ? given : STATE_BYTES;
    char error[512];
    bool created;
    if (!may_be_short(r, budget))
        return true;
    /* One task has state at a time: its share (engine_relieve) is all of the budget. */
    r->run.state_bytes = budget * r->engine->task_count;
    r->state_dir = pipe_malloc(sizeof r->spills.dir + 32);
    sprintf(r->state_dir, "%s/pipe-state.XXXXXX", r->spills.dir);
    if (mkdtemp(r->state_dir) == NULL) {
        reconcile_fail(r, PIPE_EXIT_DATA, "temporary files in %s can't be made: %s", r->spills.dir,
                       strerror(errno));
        free(r->state_dir);
        r->state_dir = NULL;
        return false;
    }
    r->engine->store = pipe_store_open(r->state_dir, false, &created, error, sizeof error);
    return r->engine->store != NULL ||
           reconcile_fail(r, PIPE_EXIT_DATA, "%s; name another directory with TMPDIR", error);
}

void reconcile_close_state(struct reconcile *r)
{
    if (r->state_dir == NULL)
        return;
    pipe_store_close(r->engine->store);
    r->engine->store = NULL;
    nftw(r->state_dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(r->state_dir);
    r->state_dir = NULL;
}

void reconcile_attach_state(struct reconcile *r, struct engine_task *task, uint32_t state)
{
    if (r->engine->store == NULL || task->ops[state]->attach == NULL)
        return;
    struct pipe_state_reader reader =
        pipe_store_reader(r->engine->store, task->task.stage_index, task->task.partition, state);
    task->ops[state]->attach(task->task.states[state], &reader);
}

bool reconcile_relieve(struct reconcile *r, struct engine_task *task, uint32_t records)
{
    r->unrelieved += records;
    if (r->unrelieved < RELIEVE_EVERY)
        return true;
    r->unrelieved = 0;
    return engine_relieve(r->engine, task);
}
