/*
 * engine.c: the life of a run: open, one loop over all tasks, close.
 */
#define BATCH_RECORDS 1024u
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "checkpoint.h"
#include "engine.h"
#include "metrics.h"
#include "regular_file.h"
#include "schemas.h"
#include "system_calls.h"

/* Of one task in a round: its state stays in the cache for that long. A batch may be small: of a
 * topic file it is a part of one block. */
#define TURN_RECORDS 32768u
#define TURN_BATCHES_SHARED 8 /* of a shared log: its group is served between turns */
#define FEED_RECORDS 4096u    /* a round and source */
#define FEED_AHEAD 65536      /* records in the topic that nobody has read yet */
#define IDLE_CHECK_US 100000
#define NAP_MS 2
#define WAIT_MS 20           /* a shared log wakes up when records come */
#define POLL_EVERY_US 100000 /* also within a round, however long */
#define WORK_MOST_US 1000000 /* between the commits of one that is behind, if they take long */

volatile sig_atomic_t engine_stop_requested;

/* ---- Opening ---- */

/* What is there may be a link to nothing, or no directory. */
static bool make_one(struct pipe_engine *engine, const char *path)
{
    struct stat about;
    if (mkdir(path, 0777) == 0)
        return true;
    const char *cause = errno != EEXIST ? strerror(errno) : NULL;
    if (cause == NULL && stat(path, &about) != 0)
        cause = errno == ENOENT ? "it is a symbolic link to what is not there; make that, or "
                                  "remove the link"
                                : strerror(errno);
    else if (cause == NULL && !S_ISDIR(about.st_mode))
        cause = "a file of that name is there";
    return cause == NULL ||
           engine_fail(engine, PIPE_EXIT_DATA, "directory %s can't be made: %s", path, cause);
}

static bool make_directory(struct pipe_engine *engine, const char *path)
{
    char copy[4096];
    size_t size = strlen(path);
    if (size == 0 || size >= sizeof copy - 16)
        return engine_fail(engine, PIPE_EXIT_USAGE, "the directory '%.100s' is no usable path",
                           path);
    memcpy(copy, path, size + 1);
    for (char *at = copy + 1; *at != '\0'; at++) {
        if (*at != '/')
            continue;
        *at = '\0';
        if (!make_one(engine, copy))
            return false;
        *at = '/';
    }
    return make_one(engine, copy);
}

/* One process a directory: a lock that the kernel drops with the process. */
static bool lock_directory(struct pipe_engine *engine)
{
    char path[4200], owner[32] = "";
    struct stat about;
    snprintf(path, sizeof path, "%s/lock", engine->dir);
    engine->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (engine->lock_fd < 0 || fstat(engine->lock_fd, &about) != 0)
        return engine_fail(engine, PIPE_EXIT_DATA, "%s can't be opened: %s", path, strerror(errno));
    if (!S_ISREG(about.st_mode))
        return engine_fail(engine, PIPE_EXIT_DATA,
                           "%s can't be opened: %s; delete it, while no run uses %s", path,
                           pipe_regular_reason(ENOTSUP), engine->dir);
    if (pipe_flock(engine->lock_fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK)
            return engine_fail(engine, PIPE_EXIT_DATA, "%s can't be locked: %s", path,
                               strerror(errno));
        ssize_t got = read(engine->lock_fd, owner, sizeof owner - 1);
        owner[got > 0 ? got : 0] = '\0';
        owner[strcspn(owner, "\n")] = '\0';
        return engine_fail(engine, PIPE_EXIT_DATA,
                           "%s is in use by another process%s%s; stop that first, or use another "
                           "directory",
                           engine->dir, owner[0] != '\0' ? ", pid " : "", owner);
    }
    int size = snprintf(owner, sizeof owner, "%ld\n", (long)getpid());
    if (pipe_ftruncate(engine->lock_fd, 0) != 0 ||
        !pipe_pwrite_all(engine->lock_fd, owner, (size_t)size, 0))
        return engine_fail(engine, PIPE_EXIT_DATA, "%s can't be written: %s%s", path,
                           strerror(errno), errno == ENOSPC ? "; make room and start again" : "");
    return true;
}

/* Without --embedded: a directory for this run alone, where nothing asks for more. */
static bool make_temporary(struct pipe_engine *engine)
{
    const char *base = getenv("TMPDIR");
    char *path = pipe_malloc(4200);
    snprintf(path, 4200, "%.4000s/%.100s.XXXXXX", base != NULL && base[0] != '\0' ? base : "/tmp",
             engine->plan->name);
    engine->dir = path;
    engine->temporary = mkdtemp(path) != NULL;
    return engine->temporary ||
           engine_fail(engine, PIPE_EXIT_DATA, "%s can't be made: %s", path, strerror(errno));
}

struct pipe_engine *engine_new(const struct pipe_plan *plan, const struct pipe_run_options *options)
{
    struct pipe_engine *engine = pipe_calloc(1, sizeof *engine);
    engine->plan = plan;
    engine->options = options;
    engine->lock_fd = -1;
    engine->dir = options->transport != NULL ? options->state : options->embedded;
    engine->started_us = engine->last_commit_us = engine_monotonic_us();
    engine->commit_began_us = engine->last_save_us = engine->started_us;
    engine->last_report_us = engine->started_us;
    engine->wall_ms = engine->start_wall_ms = engine_wall_ms();
    return engine;
}

static bool check_outputs_mode(struct pipe_engine *engine)
{
    struct pipe_buf stored = {0};
    const char *now = engine->options->no_output ? "discarded" : "kept";
    bool found;
    bool ok = engine->log->ops->get(engine->log, "outputs", &stored, &found) &&
              (found || engine->log->ops->put(engine->log, "outputs", now, strlen(now)));
    bool same =
        !found || (stored.size == strlen(now) && memcmp(stored.data, now, stored.size) == 0);
    pipe_buf_free(&stored);
    if (!ok)
        return engine_log_failed(engine);
    return same ||
           engine_fail(engine, PIPE_EXIT_STATE,
                       "the outputs of the run in %s were %s so far; run it %s --no-output, or "
                       "use another directory",
                       engine->dir, engine->options->no_output ? "kept" : "discarded",
                       engine->options->no_output ? "without" : "with");
}

/* What a record was too long by, for `reconcile`: each --max-record of the directory's runs, in
 * their order. */
static bool remember_record_limit(struct pipe_engine *engine)
{
    struct pipe_buf limits = {0};
    char now[16];
    bool found;
    size_t size =
        (size_t)snprintf(now, sizeof now, "%" PRIu32 " ", engine->options->max_record_bytes);
    if (!engine->log->ops->get(engine->log, RECORD_LIMITS, &limits, &found))
        return engine_log_failed(engine);
    if (!found)
        limits.size = 0;
    bool same = limits.size >= size && memcmp(limits.data + limits.size - size, now, size) == 0 &&
                (limits.size == size || limits.data[limits.size - size - 1] == ' ');
    pipe_buf_add(&limits, now, size);
    bool ok = same || limits.size > RECORD_LIMITS_BYTES ||
              engine->log->ops->put(engine->log, RECORD_LIMITS, limits.data, limits.size);
    pipe_buf_free(&limits);
    return ok || engine_log_failed(engine);
}

/* Where time and rows come from decides when the run ends and whether it may wait for more. */
static void classify_sources(struct pipe_engine *engine)
{
    for (uint32_t i = 0; i < engine->plan->source_count; i++) {
        const struct engine_source *source = &engine->sources[i];
        bool counted = source->feeder != NULL && !source->paced;
        if (!source->files && !counted && (source->paced || !engine->options->until_end))
            engine->endless = true;
        if (source->standard_input || source->paced)
            engine->trickles = true;
    }
}

static bool at_ends(const struct pipe_engine *engine)
{
    for (uint32_t i = 0; i < engine->plan->source_count; i++) {
        const struct engine_source *source = &engine->sources[i];
        for (uint32_t p = 0; source->files && p < source->partitions; p++) {
            if (!engine->tasks[source->first_task + p].ended)
                return false;
        }
        if (!source->files && (source->feeder != NULL || engine->endless))
            return false;
    }
    return engine_drained(engine);
}

/* An earlier process has committed the last row that there will ever be: of a topic nobody knows.
 */
static bool is_over(const struct pipe_engine *engine)
{
    bool files = engine->resumed && !engine->log->grouped;
    for (uint32_t i = 0; i < engine->plan->source_count; i++)
        files = files && engine->sources[i].files;
    return files && at_ends(engine);
}

/* Ids, windows and sessions, on disk too: the store packs several into one of its entries. */
static uint64_t entries_held(const struct pipe_engine *engine)
{
    uint64_t held = 0;
    for (uint32_t t = 0; t < engine->task_count; t++) {
        const struct engine_task *task = &engine->tasks[t];
        for (uint32_t i = 0; i < task->task.stage->state_count; i++)
            held += task->ops[i]->entry_count(task->task.states[i]);
    }
    return held;
}

bool engine_open_log(struct pipe_engine *engine)
{
    char error[512];
    if (engine->dir == NULL ? !make_temporary(engine) : !make_directory(engine, engine->dir))
        return false;
    if (!lock_directory(engine))
        return false;
    const struct pipe_transport *transport = engine->options->transport;
    engine->log = transport != NULL
                      ? transport->open(transport->context, engine->dir, error, sizeof error)
                      : pipe_log_embedded_open(engine->dir, false, error, sizeof error);
    return engine->log != NULL ||
           engine_fail(engine, errno == EMEDIUMTYPE ? PIPE_EXIT_STATE : PIPE_EXIT_DATA, "%s",
                       error);
}

bool engine_open(struct pipe_engine *engine)
{
    char error[512];
    bool created;
    if (!engine_open_log(engine))
        return false;
    engine->store = pipe_store_open(engine->dir, false, &created, error, sizeof error);
    if (engine->store == NULL)
        return engine_fail(engine, PIPE_EXIT_DATA, "%s", error);
    /* Whose the directory is comes first: what else does not fit follows from that. */
    if (!engine_check_plan(engine) || !check_outputs_mode(engine) ||
        !remember_record_limit(engine) || !engine_setup(engine) || !engine_check_outputs(engine) ||
        !engine_load_secrets(engine) || !engine_load_schema_ids(engine) ||
        !engine_open_schemas(engine))
        return false;
    if (engine->plan->start != NULL)
        engine->plan->start();
    classify_sources(engine);
    if (!engine_recover(engine))
        return false;
    engine->begun = true;
    if (!engine_open_outputs(engine, is_over(engine)))
        return false;
    metrics_opened(engine);
    if (engine->log->grouped)
        return true; /* in the group now; its tasks come by and by */
    if (engine->resumed)
        pipe_message(PIPE_INFO, "resumed", "dir=%s state_entries=%llu replayed_records=%llu",
                     engine->dir, (unsigned long long)entries_held(engine),
                     (unsigned long long)engine->replayed);
    if (!engine_commit(engine)) /* identity, inputs, topics, the positions of new tasks */
        return false;
    engine->finished_before = engine->resumed && at_ends(engine);
    return true;
}

/* ---- The loop ---- */

static int64_t backlog(const struct pipe_engine *engine, const struct engine_source *source)
{
    int64_t records = (int64_t)source->fed;
    for (uint32_t p = 0; p < source->partitions; p++)
        records -= engine->tasks[source->first_task + p].position.offset;
    return records;
}

#define MISSED_MOST_MS INT64_C(600000) /* what is sent at once, on a start */

void engine_begin_pace(struct engine_source *source, int64_t now_us, int64_t wall_ms)
{
    int64_t behind_ms = wall_ms - source->ahead.kafka_time_ms;
    bool goes_on = behind_ms > 0 && behind_ms < MISSED_MOST_MS;
    source->has_pace = true;
    source->pace_from_ms = source->ahead.kafka_time_ms;
    source->pace_from_us = now_us - (goes_on ? behind_ms * 1000 : 0);
}

bool engine_is_due(const struct engine_source *source, int64_t now_us)
{
    return (source->ahead.kafka_time_ms - source->pace_from_ms) * 1000 <=
           now_us - source->pace_from_us;
}

/* Whether the record in hand is due. */
static bool is_due(struct engine_source *source, int64_t now_us)
{
    if (!source->paced)
        return true;
    if (!source->has_pace)
        engine_begin_pace(source, now_us, engine_wall_ms());
    return engine_is_due(source, now_us);
}

/* Takes records of a traffic generator into the topic of its source. */
static bool feed(struct pipe_engine *engine, struct engine_source *source, bool *worked)
{
    struct pipe_log *log = engine->log;
    int64_t room = FEED_AHEAD - backlog(engine, source), now_us = engine_monotonic_us();
    for (uint32_t i = 0; i < FEED_RECORDS && i < room && !source->feeder_ended; i++) {
        if (!source->has_ahead) {
            source->has_ahead = pipe_feeder_next(source->feeder, &source->ahead);
            source->feeder_ended = !source->has_ahead;
        }
        if (!source->has_ahead || !is_due(source, now_us))
            break;
        const struct pipe_feed_record *record = &source->ahead;
        if (record->partition < 0 || (uint32_t)record->partition >= source->partitions)
            return engine_fail(engine, PIPE_EXIT_INTERNAL,
                               "internal error: traffic for partition %d of %u", record->partition,
                               source->partitions);
        if (!log->ops->append(log, source->topic, record->partition, record->kafka_time_ms,
                              record->key, record->value))
            return engine_log_failed(engine);
        source->has_ahead = false;
        source->fed++;
        source->feeder_dirty = true;
        *worked = true;
    }
    return true;
}

/* Whether every partition that is ours has been read to its end, as a broker says. */
static bool group_at_ends(const struct pipe_engine *engine)
{
    struct pipe_log *log = engine->log;
    bool all = engine->was_assigned && engine->ready && !engine->waits;
    for (uint32_t t = 0; all && t < engine->task_count; t++)
        all = engine->tasks[t].phase != ENGINE_ASSIGNED;
    bool asks = all; /* of all of them: the answers come later, and count for a second */
    for (uint32_t t = 0; asks && t < engine->task_count; t++) {
        const struct engine_task *task = &engine->tasks[t];
        if (task->phase == ENGINE_RUNNING &&
            !log->ops->at_end(log, task->topic, task->task.partition, task->position.offset))
            all = false;
    }
    return all;
}

bool engine_drained(const struct pipe_engine *engine)
{
    const struct pipe_log *log = engine->log;
    for (uint32_t t = 0; t < engine->task_count; t++) {
        const struct engine_task *task = &engine->tasks[t];
        bool files =
            task->task.stage->source >= 0 && engine->sources[task->task.stage->source].files;
        if (task->phase != ENGINE_RUNNING)
            continue;
        if (files ? !task->ended
                  : task->position.offset < log->ops->end(log, task->topic, task->task.partition))
            return false;
    }
    return !log->grouped || group_at_ends(engine);
}

bool engine_is_finished(const struct pipe_engine *engine)
{
    if (engine->endless)
        return false;
    for (uint32_t i = 0; i < engine->plan->source_count; i++) {
        if (engine->sources[i].feeder != NULL && !engine->sources[i].feeder_ended)
            return false;
    }
    return !engine_has_pending(engine) && engine_drained(engine);
}

static uint64_t pending_bytes(const struct pipe_engine *engine)
{
    return engine->log->pending_bytes + engine->output_bytes;
}

/* The wall clock, but never further on than time has passed since the start: one that is put
 * forward while the program runs must not make records late (`idle advance`, semantics.md §4). One
 * that is put back only delays. */
static int64_t append_ms(const struct pipe_engine *engine)
{
    int64_t wall_ms = engine_wall_ms();
    int64_t most_ms = engine->start_wall_ms + (engine_monotonic_us() - engine->started_us) / 1000;
    return wall_ms < most_ms ? wall_ms : most_ms;
}

int64_t engine_next_commit_us(const struct pipe_engine *engine)
{
    int64_t interval_us = engine->options->commit_ms * 1000;
    int64_t at_us = engine->commit_began_us + interval_us;
    int64_t took_us = engine->last_commit_us - engine->commit_began_us;
    int64_t most_us = engine->log->open_most_us;
    int64_t work_us = engine->caught_up ? interval_us / 4 : interval_us;
    if (most_us == 0 || most_us > WORK_MOST_US)
        most_us = WORK_MOST_US;
    if (took_us > most_us)
        took_us = most_us;
    if (!engine->caught_up && took_us > work_us)
        work_us = took_us;
    int64_t least_us = engine->last_commit_us + work_us;
    return at_us > least_us ? at_us : least_us;
}

static bool commit_is_due(const struct pipe_engine *engine, int64_t now_us)
{
    return now_us >= engine_next_commit_us(engine) ||
           pending_bytes(engine) >= (uint64_t)engine->options->commit_bytes;
}

/* A turn of one task. */
static bool run_turn(struct pipe_engine *engine, struct engine_task *task, bool *worked)
{
    uint64_t limit = (uint64_t)engine->options->commit_bytes;
    uint32_t batch = engine->options->batch_records;
    unsigned batches = batch > 0 ? 1 : engine->log->grouped ? TURN_BATCHES_SHARED : UINT_MAX;
    uint64_t end = task->records + TURN_RECORDS;
    enum task_result result = TASK_WORKED;
    for (unsigned i = 0; i < batches && task->records < end && result == TASK_WORKED; i++) {
        if (pending_bytes(engine) >= limit && !engine_commit(engine))
            return false;
        if (task->phase != ENGINE_RUNNING) /* that commit was aborted */
            return true;
        result = task_run(task, batch > 0 ? batch : BATCH_RECORDS, INT64_MAX);
        *worked = *worked || result == TASK_WORKED;
    }
    engine->waits = engine->waits || result == TASK_WAITS;
    return result != TASK_FAILED;
}

/* Among others: a round of many tasks may take longer than they may wait. */
static bool between_turns(struct pipe_engine *engine)
{
    if (!engine->log->grouped)
        return true;
    int64_t now_us = engine_monotonic_us();
    if (commit_is_due(engine, now_us) && engine_has_pending(engine) && !engine_commit(engine))
        return false;
    return now_us - engine->last_poll_us < POLL_EVERY_US || group_poll(engine, 0);
}

/* One round: feeds and runs everything once. */
static bool run_round(struct pipe_engine *engine, bool *worked)
{
    engine->waits = false;
    engine->wall_ms = append_ms(engine);
    for (uint32_t i = 0; i < engine->plan->source_count; i++) {
        if (engine->sources[i].feeder != NULL && !feed(engine, &engine->sources[i], worked))
            return false;
    }
    for (uint32_t t = 0; t < engine->task_count; t++) {
        if (engine->tasks[t].phase == ENGINE_RUNNING &&
            (!run_turn(engine, &engine->tasks[t], worked) || !between_turns(engine)))
            return false;
    }
    return !engine->failed;
}

/* After a round: time of idle partitions, and a commit when it is due or nothing else can happen.
 */
static bool after_round(struct pipe_engine *engine, bool *worked)
{
    int64_t now_us = engine_monotonic_us();
    bool raised = false;
    if (now_us - engine->last_idle_us >= IDLE_CHECK_US) {
        engine->last_idle_us = now_us;
        if (!watermark_idle(engine, now_us, &raised))
            return false;
    }
    bool hurry = !*worked && !engine->trickles && !engine->endless && !engine->waits;
    if ((!commit_is_due(engine, now_us) && !hurry) || !engine_has_pending(engine))
        return true;
    *worked = true;
    return engine_commit(engine);
}

void engine_enter(struct pipe_engine *engine)
{
    engine_use_secrets(engine);
    engine_count_rejects_in(engine);
}

bool engine_stops(const struct pipe_engine *engine)
{
    return engine_stop_requested || engine->stop;
}

enum engine_state engine_step(struct pipe_engine *engine, int64_t wait_ms)
{
    bool worked = false, can_run = true;
    engine_enter(engine);
    if (engine_stops(engine) || engine_is_finished(engine))
        return ENGINE_FINISHED;
    if (engine->log->grouped && !group_serve(engine, wait_ms, &can_run))
        return ENGINE_FAILED;
    if (can_run && (!run_round(engine, &worked) || !after_round(engine, &worked)))
        return ENGINE_FAILED;
    engine->caught_up = engine->caught_up || !worked;
    if (!worked && engine_is_finished(engine))
        return ENGINE_FINISHED;
    return worked ? ENGINE_WORKED : ENGINE_IDLE;
}

/* Files of sinks, after the last commit. */
static bool check_outputs(struct pipe_engine *engine)
{
    for (uint32_t i = 0; i < engine->plan->sink_count; i++) {
        struct engine_sink *sink = &engine->sinks[i];
        if (sink->output != NULL && !sink->output->ops->check(sink->output))
            return engine_fail(engine, PIPE_EXIT_DATA, "sink %s: %s", sink->def->name,
                               sink->output->error);
    }
    return true;
}

bool engine_finish(struct pipe_engine *engine)
{
    engine_enter(engine);
    if (engine_has_pending(engine) && !engine_commit(engine))
        return false;
    report_progress(engine, true);
    if (!engine_save_state(engine))
        return false;
    if (!pipe_store_wait(engine->store))
        return engine_fail(engine, PIPE_EXIT_DATA, "%s", pipe_store_error(engine->store));
    return engine_check_directory(engine) && check_outputs(engine) && counters_check(engine);
}

/* How long a round without work may be followed by none: not beyond the next commit. */
static int64_t idle_ms(const struct pipe_engine *engine)
{
    if (!engine->log->grouped)
        return NAP_MS;
    int64_t left_us = engine_next_commit_us(engine) - engine_monotonic_us();
    if (!engine_has_pending(engine) || left_us > WAIT_MS * 1000)
        return WAIT_MS;
    return left_us > 1000 ? left_us / 1000 : 1;
}

bool engine_run(struct pipe_engine *engine)
{
    enum engine_state state;
    engine->last_commit_us = engine->commit_began_us = engine_monotonic_us();
    for (int64_t wait_ms = 0;; wait_ms = state == ENGINE_IDLE ? idle_ms(engine) : 0) {
        if (wait_ms > 0 && !engine->log->grouped)
            engine_sleep_us(wait_ms * 1000);
        state = engine_step(engine, wait_ms);
        if (state == ENGINE_FAILED)
            return false;
        if (state == ENGINE_FINISHED)
            return engine_finish(engine);
        report_progress(engine, false);
        metrics_turn(engine, METRICS_RUNNING);
    }
}

/* ---- Closing ---- */

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *where)
{
    (void)about;
    (void)kind;
    (void)where;
    return remove(path);
}

void engine_close(struct pipe_engine *engine)
{
    engine_count_rejects_in(NULL);
    engine_free_parts(engine);
    engine_forget_secrets(engine);
    checkpoints_close(engine);
    pipe_store_close(engine->store);
    if (engine->log != NULL)
        engine->log->ops->close(engine->log);
    if (engine->temporary) {
        nftw(engine->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
        free((char *)engine->dir);
    }
    if (engine->lock_fd >= 0)
        close(engine->lock_fd);
    free(engine);
}
