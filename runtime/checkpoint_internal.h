/*
 * checkpoint_internal.h: between the files of checkpoint.h.
 *
 * The engine thread gives the worker one job at a time. While there is none the engine owns the
 * whole struct; while there is one the worker does, but for what is atomic or with the lock.
 */
#ifndef PIPE_CHECKPOINT_INTERNAL_H
#define PIPE_CHECKPOINT_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "checkpoint.h"
#include "checkpoint_manifest.h"

enum checkpoint_job {
    CHECKPOINT_IDLE,
    CHECKPOINT_UPLOAD, /* the local checkpoint, as `draft` says */
    CHECKPOINT_LIST,   /* renews `known` */
    CHECKPOINT_FETCH,  /* the files of known[fetch] */
    CHECKPOINT_END     /* the thread ends */
};

struct checkpoint_object { /* a file, or what is left of one */
    char *name;            /* owned */
    uint64_t size_bytes;
    int64_t modified_ms;
};

struct pipe_checkpoints {
    /* Constant. */
    int64_t every_us, grace_ms, foreign_grace_ms;
    const char *dir;  /* the state directory */
    char place[256];  /* of this plan and log; ours in it: */
    char prefix[300]; /* place/writer */
    char plan[80], incarnation[40], secrets[17];
    bool in_turn; /* no thread */

    /* A job. */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    enum checkpoint_job job;   /* with the lock */
    _Atomic bool cancelled;    /* it should end early */
    _Atomic uint64_t progress; /* bytes moved, objects seen */
    bool ok;                   /* how it went; else `error`, and whether it was cancelled */
    char error[640];
    bool started, abandoned;  /* abandoned: it hangs; nobody waits for it any more */
    enum checkpoint_job last; /* the job whose result is to be taken */

    struct pipe_objects *objects;
    struct checkpoint_manifest draft;
    uint64_t draft_commits;            /* engine->commits as of it */
    struct checkpoint_manifest hashed; /* files whose digests are known: tables never change */
    struct checkpoint_known *known;
    size_t known_count;
    struct checkpoint_object *files; /* all objects below `place` that are no manifests */
    size_t file_count, file_capacity;
    bool incomplete; /* some manifest could not be read this time: nothing may be deleted */
    size_t fetch;
    uint64_t sent_bytes; /* by the last upload */

    /* The engine's. */
    int64_t last_begin_us, last_upload_ms, opened_ms;
    uint64_t covered_commits; /* engine->commits as of the last upload */
    bool told_failure;
    bool listed;                /* `known` is of this recovery */
    struct pipe_store *fetched; /* what the last fetch brought */
    char fetched_digest[CHECKPOINT_DIGEST_CHARS + 1];
    struct checkpoint_figures figures;
};

/* checkpoint.c */
bool checkpoint_go_on(void *checkpoints, uint64_t bytes); /* struct pipe_objects_turn */
bool checkpoint_failed(struct pipe_checkpoints *c, const char *format, ...) PIPE_PRINTF(2, 3);
/* Begins a job; with a thread it is under way when this returns. */
void checkpoint_begin(struct pipe_checkpoints *c, enum checkpoint_job job);
bool checkpoint_is_idle(struct pipe_checkpoints *c);
/* After a job: messages and figures. */
void checkpoint_take_result(struct pipe_checkpoints *c);
/* A directory without directories in it; false: errno. One that is not there is no error. */
bool checkpoint_remove_directory(const char *path);
/* DIR/name */
void checkpoint_path(const struct pipe_checkpoints *c, const char *name, char *to, size_t room);
/* SHA-256 of a file's content in hex. False: errno, ECANCELED among them. */
bool checkpoint_digest(struct pipe_checkpoints *c, const char *path,
                       char to[CHECKPOINT_DIGEST_CHARS + 1], uint64_t *size_bytes);

/* The worker's jobs. False: `error`. */
bool checkpoint_upload(struct pipe_checkpoints *c);  /* checkpoint_upload.c */
bool checkpoint_refresh(struct pipe_checkpoints *c); /* checkpoint_catalog.c: known, files */
/* Deletes what is needed no more, as of now_ms by the clock of the storage. `last` stays. */
bool checkpoint_collect(struct pipe_checkpoints *c, const char *last, int64_t now_ms);
bool checkpoint_fetch(struct pipe_checkpoints *c);
void checkpoint_forget_catalog(struct pipe_checkpoints *c);

#endif
