/*
 * checkpoint.c: the engine's side of checkpoints: when one is due, and the worker, to whom all goes
 * that touches the storage. See checkpoint.h.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <openssl/evp.h>

#include "checkpoint_internal.h"
#include "regular_file.h"
#include "state_transfer.h"

#define GRACE_MS 900000
#define FOREIGN_GRACE_MS 86400000
#define EVERY_MS_MAX 86400000
#define CLOSE_SECONDS 5 /* for a call of the storage to come back */
#define SLICE_BYTES (1u << 20)

/* ---- Options ---- */

const char *checkpoints_take_url(void *run_options, const char *value)
{
    ((struct pipe_run_options *)run_options)->checkpoints = value;
    return pipe_objects_check(value);
}

const char *checkpoints_take_interval(void *run_options, const char *value)
{
    int64_t *to = &((struct pipe_run_options *)run_options)->checkpoint_ms;
    return pipe_parse_duration_ms(value, to) && *to >= 100 && *to <= EVERY_MS_MAX
               ? NULL
               : "expected a duration from 100ms to 1d, for example 60s";
}

/* ---- Common ---- */

bool checkpoint_go_on(void *checkpoints, uint64_t bytes)
{
    struct pipe_checkpoints *c = checkpoints;
    (void)bytes;
    atomic_fetch_add(&c->progress, 1);
    return !atomic_load(&c->cancelled);
}

bool checkpoint_failed(struct pipe_checkpoints *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(c->error, sizeof c->error, format, args);
    va_end(args);
    return false;
}

void checkpoint_path(const struct pipe_checkpoints *c, const char *name, char *to, size_t room)
{
    snprintf(to, room, "%.3000s/%s", c->dir, name);
}

bool checkpoint_remove_directory(const char *path)
{
    char file[4400];
    DIR *dir = opendir(path);
    if (dir == NULL)
        return errno == ENOENT;
    bool ok = true;
    for (struct dirent *entry; ok && (entry = readdir(dir)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        snprintf(file, sizeof file, "%.4000s/%.300s", path, entry->d_name);
        ok = unlink(file) == 0 || errno == ENOENT;
    }
    closedir(dir);
    return ok && (rmdir(path) == 0 || errno == ENOENT);
}

static bool digest_of(struct pipe_checkpoints *c, int fd, EVP_MD_CTX *context, uint8_t *slice,
                      uint64_t *size_bytes)
{
    *size_bytes = 0;
    for (;;) {
        ssize_t got = read(fd, slice, SLICE_BYTES);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got == 0;
        *size_bytes += (uint64_t)got;
        errno = ECANCELED;
        if (EVP_DigestUpdate(context, slice, (size_t)got) != 1 || !checkpoint_go_on(c, *size_bytes))
            return false;
    }
}

bool checkpoint_digest(struct pipe_checkpoints *c, const char *path,
                       char to[CHECKPOINT_DIGEST_CHARS + 1], uint64_t *size_bytes)
{
    uint8_t digest[32], *slice = pipe_malloc(SLICE_BYTES);
    int fd = pipe_open_regular(path);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool ok = fd >= 0 && context != NULL && EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1 &&
              digest_of(c, fd, context, slice, size_bytes) &&
              EVP_DigestFinal_ex(context, digest, NULL) == 1;
    int cause = errno;
    EVP_MD_CTX_free(context);
    free(slice);
    if (fd >= 0)
        close(fd);
    if (ok)
        pipe_hex_write(to, digest, sizeof digest);
    to[ok ? CHECKPOINT_DIGEST_CHARS : 0] = '\0';
    errno = cause;
    return ok;
}

/* ---- The worker ---- */

static void do_job(struct pipe_checkpoints *c, enum checkpoint_job job)
{
    c->error[0] = '\0';
    c->last = job;
    switch (job) {
    case CHECKPOINT_UPLOAD:
        c->ok = checkpoint_upload(c);
        break;
    case CHECKPOINT_LIST:
        c->ok = checkpoint_refresh(c);
        break;
    case CHECKPOINT_FETCH:
        c->ok = checkpoint_fetch(c);
        break;
    case CHECKPOINT_IDLE:
    case CHECKPOINT_END:
        break;
    }
}

static void *work(void *argument)
{
    struct pipe_checkpoints *c = argument;
    pthread_mutex_lock(&c->lock);
    while (c->job != CHECKPOINT_END) {
        enum checkpoint_job job = c->job;
        if (job == CHECKPOINT_IDLE) {
            pthread_cond_wait(&c->changed, &c->lock);
            continue;
        }
        pthread_mutex_unlock(&c->lock);
        do_job(c, job);
        pthread_mutex_lock(&c->lock);
        if (c->job == job)
            c->job = CHECKPOINT_IDLE;
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

void checkpoint_begin(struct pipe_checkpoints *c, enum checkpoint_job job)
{
    atomic_store(&c->cancelled, false);
    if (c->in_turn) {
        do_job(c, job);
        return;
    }
    pthread_mutex_lock(&c->lock);
    c->job = job;
    pthread_cond_signal(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

bool checkpoint_is_idle(struct pipe_checkpoints *c)
{
    pthread_mutex_lock(&c->lock);
    bool idle = c->job == CHECKPOINT_IDLE;
    pthread_mutex_unlock(&c->lock);
    return idle;
}

/* ---- Results ---- */

static void upload_ended(struct pipe_checkpoints *c)
{
    c->figures.uploaded_bytes += c->sent_bytes;
    if (c->ok) {
        pipe_message(c->told_failure || !c->figures.any ? PIPE_INFO : PIPE_DEBUG_LEVEL,
                     "checkpoint written",
                     "files=%" PRIu32 " tasks=%" PRIu32 " sent_bytes=%" PRIu64, c->draft.file_count,
                     c->draft.task_count, c->sent_bytes);
        c->figures.any = true;
        c->figures.uploaded++;
        c->told_failure = false;
        c->covered_commits = c->draft_commits;
        c->last_upload_ms = engine_wall_ms();
    } else if (!atomic_load(&c->cancelled)) {
        c->figures.failed++;
        if (!c->told_failure)
            pipe_message(PIPE_WARNING, "a checkpoint failed: the pipeline goes on without",
                         "reason=\"%s\"", PIPE_QUOTED(c->error));
        c->told_failure = true;
    }
    checkpoint_manifest_free(&c->draft);
}

void checkpoint_take_result(struct pipe_checkpoints *c)
{
    if (c->last == CHECKPOINT_UPLOAD)
        upload_ended(c);
    c->last = CHECKPOINT_IDLE;
    c->abandoned = false;
}

void checkpoints_turn(struct pipe_engine *engine)
{
    struct pipe_checkpoints *c = engine->checkpoints;
    if (c != NULL && checkpoint_is_idle(c))
        checkpoint_take_result(c);
}

void checkpoints_figures(const struct pipe_engine *engine, struct checkpoint_figures *out)
{
    const struct pipe_checkpoints *c = engine->checkpoints;
    *out = c != NULL ? c->figures : (struct checkpoint_figures){0};
    if (c == NULL)
        return;
    int64_t since_ms = c->figures.any ? c->last_upload_ms : c->opened_ms;
    bool covered = engine->commits == c->covered_commits && !engine_has_pending(engine);
    int64_t age_ms = covered ? 0 : engine_wall_ms() - since_ms;
    out->age_seconds = age_ms > 0 ? (double)age_ms / 1000 : 0;
}

/* ---- Making one ---- */

bool checkpoints_due(const struct pipe_engine *engine)
{
    const struct pipe_checkpoints *c = engine->checkpoints;
    return c != NULL && engine->commits != c->covered_commits &&
           engine_monotonic_us() - c->last_begin_us >= c->every_us &&
           checkpoint_is_idle(engine->checkpoints);
}

static void add_task(void *context, uint32_t stage, int32_t partition,
                     const struct pipe_store_position *position)
{
    struct checkpoint_task task = {stage, partition, position->offset, position->seq};
    checkpoint_manifest_add_task(context, &task);
}

/* What fails here counts as an upload that failed. */
static bool make_local(struct pipe_engine *engine, struct pipe_checkpoints *c)
{
    char path[4200];
    checkpoint_path(c, "checkpoint", path, sizeof path);
    checkpoint_manifest_free(&c->draft);
    snprintf(c->draft.plan, sizeof c->draft.plan, "%s", c->plan);
    snprintf(c->draft.incarnation, sizeof c->draft.incarnation, "%s", c->incarnation);
    snprintf(c->draft.secrets, sizeof c->draft.secrets, "%s", c->secrets);
    snprintf(c->draft.format, sizeof c->draft.format, "%s", pipe_store_version(engine->store));
    c->draft_commits = engine->commits;
    if (!checkpoint_remove_directory(path))
        return checkpoint_failed(c, "%s can't be removed: %s", path, strerror(errno));
    return (pipe_store_checkpoint(engine->store, path) &&
            pipe_store_each_position(engine->store, add_task, &c->draft)) ||
           checkpoint_failed(c, "%s", pipe_store_error(engine->store));
}

void checkpoints_saved(struct pipe_engine *engine)
{
    struct pipe_checkpoints *c = engine->checkpoints;
    if (!checkpoints_due(engine))
        return;
    checkpoint_take_result(c);
    c->last_begin_us = engine_monotonic_us();
    c->sent_bytes = 0;
    atomic_store(&c->cancelled, false);
    if (make_local(engine, c)) {
        checkpoint_begin(c, CHECKPOINT_UPLOAD);
        return;
    }
    c->ok = false;
    c->last = CHECKPOINT_UPLOAD;
}

/* ---- Life ---- */

static bool start_worker(struct pipe_engine *engine, struct pipe_checkpoints *c)
{
    sigset_t all, before;
    if (c->in_turn)
        return true;
    sigfillset(&all); /* signals are the engine thread's */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int cause = pthread_create(&c->thread, NULL, work, c);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    c->started = cause == 0;
    return c->started ||
           engine_fail(engine, PIPE_EXIT_INTERNAL,
                       "a thread for checkpoints could not be started: %s", strerror(cause));
}

static bool name_places(struct pipe_engine *engine, struct pipe_checkpoints *c)
{
    uint8_t writer[16];
    char hex[33] = "";
    if (!pipe_store_writer(engine->store, writer))
        return engine_fail(engine, PIPE_EXIT_DATA, "%s", pipe_store_error(engine->store));
    pipe_hex_write(hex, writer, sizeof writer);
    snprintf(c->plan, sizeof c->plan, "%s", engine->plan->hash);
    snprintf(c->incarnation, sizeof c->incarnation, "%s", engine->log->incarnation);
    if (engine->plan->secret_count > 0)
        pipe_hex_write(c->secrets, engine->secrets_digest, sizeof engine->secrets_digest);
    snprintf(c->place, sizeof c->place, "%.100s/%.70s-%.40s", engine->plan->name, c->plan,
             c->incarnation);
    snprintf(c->prefix, sizeof c->prefix, "%s/%s", c->place, hex);
    return true;
}

/* What an earlier process of this directory has left. */
static bool remove_left(struct pipe_engine *engine, struct pipe_checkpoints *c)
{
    static const char *const names[] = {"checkpoint", "checkpoint.tmp", "restore/state", "restore"};
    char path[4200];
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        checkpoint_path(c, names[i], path, sizeof path);
        if (!checkpoint_remove_directory(path))
            return engine_fail(engine, PIPE_EXIT_DATA, "%s can't be removed: %s", path,
                               strerror(errno));
    }
    return true;
}

bool checkpoints_open(struct pipe_engine *engine)
{
    const struct pipe_run_options *options = engine->options;
    const struct checkpoint_hooks *hooks = options->checkpoint_hooks;
    if (options->checkpoints == NULL && hooks == NULL)
        return true;
    struct pipe_checkpoints *c = engine->checkpoints = pipe_calloc(1, sizeof *c);
    c->dir = pipe_text_dup(engine->dir);
    c->every_us =
        (options->checkpoint_ms > 0 ? options->checkpoint_ms : CHECKPOINT_EVERY_MS) * 1000;
    c->grace_ms = hooks != NULL ? hooks->grace_ms : GRACE_MS;
    c->foreign_grace_ms = hooks != NULL ? hooks->foreign_grace_ms : FOREIGN_GRACE_MS;
    c->in_turn = hooks != NULL;
    c->objects =
        hooks != NULL ? hooks->open(hooks->context) : pipe_objects_open(options->checkpoints);
    c->last_begin_us = engine_monotonic_us();
    c->opened_ms = engine_wall_ms();
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->changed, NULL);
    return name_places(engine, c) && remove_left(engine, c) && start_worker(engine, c);
}

/* False: it hangs in a call. What it uses must stay then. */
static bool end_worker(struct pipe_checkpoints *c)
{
    struct timespec until;
    if (!c->started)
        return true;
    atomic_store(&c->cancelled, true);
    pthread_mutex_lock(&c->lock);
    c->job = CHECKPOINT_END;
    pthread_cond_signal(&c->changed);
    pthread_mutex_unlock(&c->lock);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += CLOSE_SECONDS;
    return pthread_timedjoin_np(c->thread, NULL, &until) == 0;
}

void checkpoints_close(struct pipe_engine *engine)
{
    struct pipe_checkpoints *c = engine->checkpoints;
    if (c == NULL)
        return;
    engine->checkpoints = NULL;
    pipe_store_close(c->fetched);
    if (!end_worker(c))
        return;
    static const char *const names[] = {"checkpoint", "restore/state", "restore"};
    char path[4200];
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        checkpoint_path(c, names[i], path, sizeof path);
        checkpoint_remove_directory(path); /* else the next start does */
    }
    checkpoint_forget_catalog(c);
    checkpoint_manifest_free(&c->draft);
    checkpoint_manifest_free(&c->hashed);
    if (c->objects != NULL)
        c->objects->ops->close(c->objects);
    pthread_cond_destroy(&c->changed);
    pthread_mutex_destroy(&c->lock);
    free((char *)c->dir);
    free(c);
}
