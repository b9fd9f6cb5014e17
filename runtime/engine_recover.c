/*
 * engine_recover.c: recovery is replay (semantics.md §5). Every task takes its committed position C
 * from the log and its state as of S <= C from the store, runs [S, C) again with every output
 * discarded, and goes on from C. Without state, S is the beginning. A checkpoint that reaches
 * further than the store (checkpoint.h) is taken over into the store first.
 */
#include <stdlib.h>

#include "checkpoint.h"
#include "engine.h"
#include "metrics.h"
#include "schemas.h"
#include "state_transfer.h"

#define REPLAY_BATCH 1024u
#define POLL_EVERY_US 100000
#define NAP_US 2000
#define WAIT_US 60000000 /* for records that are known to be committed */

static const char choices[] = "either restore the log that the state was made from, or delete the "
                              "state directory, which is made "
                              "again from the log";

/* What to do about a position that can't be right. */
static const char *ways_out(const struct pipe_engine *engine)
{
    return engine->log->grouped ? "either set the group's offsets to where they were, or delete "
                                  "the state directory, "
                                  "which is made again from the log"
                                : choices;
}

/* ---- Identity ---- */

/* The log tells whose plan it is, unless it was begun by an older program. */
static bool refuse_plan(struct pipe_engine *engine, struct pipe_str plan)
{
    const char *ours = engine->plan->name, *hash = engine->plan->hash;
    struct pipe_buf stored = {0};
    bool found;
    if (!engine->log->ops->get(engine->log, "pipeline", &stored, &found))
        return engine_log_failed(engine);
    struct pipe_str theirs = pipe_str_of(stored.data, found ? stored.size : 0);
    if (found && !pipe_str_equal(theirs, pipe_str_of(ours, strlen(ours))))
        engine_fail(engine, PIPE_EXIT_STATE,
                    "%s was written by plan %.*s of pipeline %.*s, but this program is plan %s of "
                    "pipeline %s; run the program of that plan, or use another directory",
                    engine->dir, (int)plan.size, plan.data, (int)theirs.size, theirs.data, hash,
                    ours);
    else
        engine_fail(engine, PIPE_EXIT_STATE,
                    "%s was written by plan %.*s of this pipeline%s, but this program is plan %s; "
                    "run the program of that plan, or use another directory",
                    engine->dir, (int)plan.size, plan.data, found ? "" : " or of another", hash);
    pipe_buf_free(&stored);
    return false;
}

bool engine_check_plan(struct pipe_engine *engine)
{
    struct pipe_log *log = engine->log;
    struct pipe_buf stored = {0};
    bool found;
    const char *hash = engine->plan->hash;
    if (!log->ops->get(log, "plan", &stored, &found))
        return engine_log_failed(engine);
    bool same =
        !found || (stored.size == strlen(hash) && memcmp(stored.data, hash, stored.size) == 0);
    if (!same)
        same = refuse_plan(engine, pipe_str_of(stored.data, stored.size < 64 ? stored.size : 64));
    else if (!found &&
             (!log->ops->put(log, "plan", hash, strlen(hash)) ||
              !log->ops->put(log, "pipeline", engine->plan->name, strlen(engine->plan->name))))
        same = engine_log_failed(engine);
    pipe_buf_free(&stored);
    return same;
}

/* The store belongs to this plan and this log, or is new. */
static bool check_store(struct pipe_engine *engine)
{
    const char *plan = pipe_store_plan(engine->store);
    const char *incarnation = pipe_store_incarnation(engine->store);
    const char *version = pipe_store_version(engine->store);
    if (!pipe_store_can_read(version))
        return engine_fail(
            engine, PIPE_EXIT_STATE,
            "the state in %s/state is of format %s, but this program reads " PIPE_STATE_VERSIONS
            "; run the "
            "program that wrote it, or delete the state directory, which is made again from the "
            "log",
            engine->dir, version);
    if (plan[0] != '\0' && strcmp(plan, engine->plan->hash) != 0)
        return engine_fail(
            engine, PIPE_EXIT_STATE,
            "the state in %s/state is of plan %s, but this program is plan %s; run the "
            "program of that plan, or delete the state directory, which is made again "
            "from the log",
            engine->dir, plan, engine->plan->hash);
    if (incarnation[0] != '\0' && strcmp(incarnation, engine->log->incarnation) != 0)
        return engine_fail(engine, PIPE_EXIT_STATE,
                           "the state in %s/state belongs to log %s, but the log %s is %s; %s",
                           engine->dir, incarnation,
                           engine->log->grouped ? "of this group" : "there",
                           engine->log->incarnation, ways_out(engine));
    pipe_store_identify(engine->store, engine->plan->hash, engine->log->incarnation);
    return true;
}

/* ---- Positions ---- */

struct recovering {
    struct engine_committed committed; /* C */
    struct pipe_store_position stored; /* S */
    int64_t first;                     /* where the task begins without state */
    bool has_committed, has_stored, gap;
    struct checkpoint_restored from; /* where the stored state comes from, if not from here */
    uint32_t drops;                  /* of the task's memory, by its own recovery */
    struct pipe_counters *counters;
};

static bool check_secrets(struct pipe_engine *engine, const struct engine_task *task,
                          const struct engine_committed *c)
{
    bool has = engine->plan->secret_count > 0;
    return !engine->log->grouped ||
           (c->has_secrets == has &&
            (!has || memcmp(c->secrets_digest, engine->secrets_digest, 8) == 0)) ||
           engine_fail(engine, PIPE_EXIT_STATE,
                       "stage %s, partition %d was committed with other secrets than those given "
                       "now (PIPE_SECRET_…); set those, or use another group",
                       task->task.stage->name, task->task.partition);
}

static bool read_committed(struct pipe_engine *engine, struct engine_task *task,
                           struct recovering *r)
{
    struct pipe_log *log = engine->log;
    struct pipe_buf value = {0};
    char name[64];
    struct pipe_log_position of = engine_task_position(task, name, sizeof name);
    struct pipe_log_committed found = {.value = &value};
    bool ok = log->ops->get_position(log, &of, &found);
    r->has_committed = found.found;
    r->first = found.first > 0 ? found.first : 0;
    if (!ok) {
        engine_fail(engine,
                    log->fenced    ? PIPE_EXIT_OK
                    : log->grouped ? PIPE_EXIT_STATE
                                   : PIPE_EXIT_DATA,
                    "%s", log->error);
    } else if (r->has_committed) {
        ok = engine_decode_task(engine->plan, pipe_str_of(value.data, value.size), &r->committed,
                                r->counters);
        if (!ok)
            engine_fail(engine, PIPE_EXIT_DATA, "the log is damaged: metadata %s is malformed",
                        name);
        else if (found.offset >= 0 && found.offset != r->committed.position.offset)
            ok = engine_fail(engine, PIPE_EXIT_STATE,
                             "stage %s, partition %d: offset %lld is committed, but %lld is what "
                             "this program committed; somebody else has moved it: %s",
                             task->task.stage->name, task->task.partition, (long long)found.offset,
                             (long long)r->committed.position.offset, ways_out(engine));
        ok = ok && check_secrets(engine, task, &r->committed);
    } else {
        r->committed = (struct engine_committed){
            .position = {.offset = r->first, .input = {.offset = r->first}},
            .watermark = PIPE_TIME_MIN,
            .kafka_time_ms = PIPE_TIME_MIN,
            .raise_time_ms = PIPE_TIME_MIN};
    }
    pipe_buf_free(&value);
    return ok;
}

/* What one process alone knows: where its topics end. */
static bool check_ends(struct pipe_engine *engine, struct engine_task *task,
                       const struct engine_committed *c)
{
    const struct pipe_log *log = engine->log;
    bool source = task->task.source != NULL;
    const char *where = task->task.stage->name;
    int partition = task->task.partition;
    int64_t raises = source ? log->ops->end(log, task->time_topic, partition) : 0;
    if (source && raises < (int64_t)c->position.seq)
        return engine_fail(
            engine, PIPE_EXIT_STATE,
            "stage %s, partition %d: %llu time records are committed, but the log holds %lld; "
            "restore the directory from a copy",
            where, partition, (unsigned long long)c->position.seq, (long long)raises);
    if (!(source && engine->sources[task->task.stage->source].files) &&
        log->ops->end(log, task->topic, partition) < c->position.offset)
        return engine_fail(
            engine, PIPE_EXIT_STATE,
            "stage %s, partition %d: committed up to offset %lld, but topic %s ends at %lld; "
            "restore the directory from a copy",
            where, partition, (long long)c->position.offset, task->name.data,
            (long long)log->ops->end(log, task->topic, partition));
    return true;
}

/* ---- A group that has committed nothing ---- */

static bool has_records(struct engine_task *task, uint32_t topic, int32_t partition, bool *any)
{
    struct pipe_engine *engine = task->task.engine;
    struct pipe_log *log = engine->log;
    struct pipe_record constant = {0}, *records;
    enum pipe_log_state state = PIPE_LOG_FAILED;
    uint32_t count;
    int64_t since_us = 0, begin = log->ops->begin(log, topic, partition);
    bool expired = false;
    if (begin < 0)
        return engine_log_failed(engine);
    struct pipe_log_reader *reader = log->ops->reader(log, topic, partition, begin, &constant);
    do
        state = log->ops->read(reader, 1, INT64_MAX, &records, &count);
    while (state == PIPE_LOG_WAIT && engine_wait_on(task, &since_us, &expired));
    log->ops->reader_close(reader);
    *any = state == PIPE_LOG_RECORDS;
    if (state == PIPE_LOG_FAILED)
        engine_log_failed(engine);
    if (expired)
        engine_fail(engine, PIPE_EXIT_DATA, "topic %s, partition %d can't be read: no answer",
                    log->topics[topic].name, partition);
    return *any || state == PIPE_LOG_END;
}

static bool has_any_position(struct pipe_engine *engine, bool *any)
{
    struct pipe_buf value = {0};
    bool ok = true;
    *any = false;
    for (uint32_t t = 0; ok && !*any && t < engine->task_count; t++) {
        struct pipe_log_committed found = {.value = &value, .loose = true};
        char name[64];
        struct pipe_log_position of = engine_task_position(&engine->tasks[t], name, sizeof name);
        ok = engine->log->ops->get_position(engine->log, &of, &found) || engine_log_failed(engine);
        *any = ok && found.found;
    }
    pipe_buf_free(&value);
    return ok;
}

/* A new group would read what another one has sent from stage to stage. Rows and positions are
 * committed together, so where there are rows of this group there is a position. */
static bool check_new_group(struct pipe_engine *engine, struct engine_task *task)
{
    for (uint32_t e = 0; e < engine->plan->exchange_count; e++) {
        const struct engine_exchange *exchange = &engine->exchanges[e];
        for (uint32_t p = 0; p < exchange->def->partitions; p++) {
            bool any, known;
            if (!has_records(task, exchange->topic, (int32_t)p, &any))
                return false;
            if (!any)
                continue;
            if (!has_any_position(engine, &known))
                return false;
            return known ||
                   engine_fail(engine, PIPE_EXIT_STATE,
                               "topic %s has records, but this group has committed nothing: they "
                               "are another group's; run as that group, or delete the topics "
                               "pipec.%s.* and make them again",
                               engine->log->topics[exchange->topic].name, engine->plan->name);
        }
    }
    return true;
}

static bool check_positions(struct pipe_engine *engine, struct engine_task *task,
                            const struct recovering *r)
{
    const char *where = task->task.stage->name;
    int partition = task->task.partition;
    const struct engine_position *c = &r->committed.position;
    bool raised = false;
    if (engine->log->grouped && !engine->is_known && !r->has_committed &&
        !check_new_group(engine, task))
        return false;
    engine->is_known = true;
    if (!r->has_committed && task->task.source != NULL && !watermark_has_records(task, &raised))
        return false;
    if (!r->has_committed && (r->has_stored || raised))
        return engine_fail(
            engine, PIPE_EXIT_STATE,
            "stage %s, partition %d: the log has no committed position, but there is %s; %s", where,
            partition, r->has_stored ? "state" : "a time record", ways_out(engine));
    if (r->has_stored && (r->stored.offset > c->offset || r->stored.seq > c->seq))
        return engine_fail(
            engine, PIPE_EXIT_STATE,
            "stage %s, partition %d: the state is as of offset %lld (time record %llu), newer "
            "than the log, which is committed up to offset %lld (time record %llu); %s",
            where, partition, (long long)r->stored.offset, (unsigned long long)r->stored.seq,
            (long long)c->offset, (unsigned long long)c->seq, ways_out(engine));
    if (r->has_stored && r->stored.marker_count != task->marker_count)
        return engine_fail(
            engine, PIPE_EXIT_STATE,
            "stage %s, partition %d: the state knows %u upstream tasks, the plan has %u; %s", where,
            partition, r->stored.marker_count, task->marker_count, ways_out(engine));
    return engine->log->grouped || check_ends(engine, task, &r->committed);
}

bool engine_skip_gap(struct engine_task *task, int64_t begin, int64_t committed)
{
    struct pipe_engine *engine = task->task.engine;
    long long lost = begin > committed ? (long long)(begin - committed) : 0;
    if (task->task.source == NULL)
        return engine_fail(engine, PIPE_EXIT_STATE,
                           "topic %s, partition %d begins at offset %lld, but %lld is where it has "
                           "to be read on: records between two stages are gone; exchanges must "
                           "have no retention",
                           task->name.data, task->task.partition, (long long)begin,
                           (long long)task->position.offset);
    if (!engine->options->accept_gap)
        return engine_fail(
            engine, PIPE_EXIT_STATE,
            "topic %s, partition %d begins at offset %lld, but %lld is where it has to be read on "
            "(committed: %lld): retention was faster; restore the state from a copy that is newer, "
            "or go on without these records with --accept-gap",
            task->name.data, task->task.partition, (long long)begin,
            (long long)task->position.offset, (long long)committed);
    pipe_message(PIPE_WARNING, "going on behind a gap: records were deleted before they were read",
                 "topic=%s partition=%d from=%lld to=%lld never_read=%lld", task->name.data,
                 task->task.partition, (long long)task->position.offset, (long long)begin, lost);
    struct engine_position at = task->position;
    at.offset = begin;
    task->skipped += (uint64_t)lost;
    task->dirty = true;
    return task_open_position(task, &at);
}

/* Puts the task at S, or where the log begins now. */
static bool load_state(struct pipe_engine *engine, struct engine_task *task, struct recovering *r)
{
    struct engine_position at = {.offset = r->first, .input = {.offset = r->first}};
    if (r->has_stored) {
        at = (struct engine_position){r->stored.offset, r->stored.seq, r->stored.input};
        task->task.watermark = r->stored.watermark;
        task->task.kafka_time_ms = r->stored.kafka_time_ms;
        schemas_forget(task);
        if (!schemas_load(task, r->stored.schemas))
            return engine_fail(engine, PIPE_EXIT_DATA,
                               "the state is damaged: the schemas of %s, partition %d are "
                               "malformed; delete %s/state, which is made again from the log",
                               task->task.stage->name, task->task.partition, engine->dir);
        for (uint32_t i = 0; i < task->marker_count; i++)
            task->markers[i] = r->stored.markers[i];
        for (uint32_t i = 0; i < task->task.stage->state_count; i++) {
            uint64_t loaded;
            if (!pipe_store_load_state(engine->store, task->task.stage_index, task->task.partition,
                                       i, task->ops[i], task->task.states[i], &loaded))
                return engine_fail(engine, PIPE_EXIT_DATA,
                                   "%s; delete %s/state, which is made again from the log",
                                   pipe_store_error(engine->store), engine->dir);
            engine->restored_entries += loaded;
        }
    }
    if (!task_open_position(task, &at))
        return false;
    if (!engine->log->grouped)
        return !r->has_committed || engine_relieve(engine, task);
    int64_t begin = engine->log->ops->begin(engine->log, task->topic, task->task.partition);
    if (begin < 0)
        return engine_log_failed(engine);
    r->gap = begin > at.offset;
    return !r->gap || engine_skip_gap(task, begin, r->committed.position.offset);
}

/* ---- Replay ---- */

static bool serve(struct engine_task *task)
{
    struct pipe_engine *engine = task->task.engine;
    uint32_t drops = task->drops;
    metrics_turn(engine, METRICS_RECOVERING);
    if (engine_stops(engine))
        return engine_fail(engine, PIPE_EXIT_OK, "stopped while replaying; nothing is lost");
    if (!engine->log->grouped || engine_monotonic_us() - engine->last_poll_us < POLL_EVERY_US)
        return true;
    return group_poll(engine, 0) && task->drops == drops;
}

bool engine_wait_on(struct engine_task *task, int64_t *since_us, bool *expired)
{
    int64_t now_us = engine_monotonic_us();
    if (*since_us == 0)
        *since_us = now_us;
    *expired = !task->task.engine->log->grouped || now_us - *since_us > WAIT_US;
    if (*expired)
        return false;
    engine_sleep_us(NAP_US);
    return serve(task);
}

/* False: failed, or the task has gone. gap: its watermark is not yet what it will be. */
static bool replay_to(struct engine_task *task, int64_t offset, bool gap)
{
    int64_t since_us = 0;
    bool expired = false;
    while (task->position.offset < offset) {
        if (!serve(task))
            return false;
        switch (task_run(task, REPLAY_BATCH, offset)) {
        case TASK_WORKED:
            since_us = 0;
            if (!gap && !engine_relieve(task->task.engine, task))
                return false;
            break;
        case TASK_IDLE:
        case TASK_WAITS:
            if (task->position.offset < offset && !engine_wait_on(task, &since_us, &expired))
                return expired ? engine_fail(task->task.engine, PIPE_EXIT_STATE,
                                             "%s, partition %d ends at record %lld, but %lld were "
                                             "read before; restore it, or use another directory",
                                             task->name.data, task->task.partition,
                                             (long long)task->position.offset, (long long)offset)
                               : false;
            break;
        case TASK_FAILED:
            return false;
        }
    }
    return true;
}

static bool replay(struct engine_task *task, const struct recovering *r)
{
    const struct engine_committed *c = &r->committed;
    uint64_t before = task->records;
    while (task->position.seq < c->position.seq) {
        struct time_record raise;
        if (!watermark_read_record(task, task->position.seq + 1, &raise) ||
            !replay_to(task, raise.offset, r->gap))
            return false;
        task->position.seq++;
        if (!watermark_apply(task, &raise))
            return false;
    }
    if (!replay_to(task, c->position.offset, r->gap))
        return false;
    if (r->gap) /* the greatest event time may be in it */
        watermark_raise(task, c->watermark);
    task_settle(task); /* what was pending is sent already */
    task->task.engine->replayed += task->records - before;
    return !task->task.engine->failed;
}

/* A task that was released comes back as it was: nobody has read on meanwhile. */
static bool take_back(struct engine_task *task, const struct recovering *r)
{
    const struct engine_position *c = &r->committed.position;
    if (!task->held || !r->has_committed || c->offset != task->committed.offset ||
        c->seq != task->committed.seq)
        return false;
    task->held = false;
    task->at_end_since_us = -1;
    return task_open_position(task, c);
}

/* ---- From a checkpoint ---- */

static bool load_stored(struct pipe_engine *engine, struct engine_task *task, struct recovering *r)
{
    return pipe_store_load_position(engine->store, task->task.stage_index, task->task.partition,
                                    &r->stored, &r->has_stored) ||
           engine_fail(engine, PIPE_EXIT_DATA,
                       "%s; delete %s/state, which is made again from the log",
                       pipe_store_error(engine->store), engine->dir);
}

/* There is a checkpoint beyond C, or one of a task without C. As with local state that is so, this
 * is not the log it was made from; unless another process has gone on since C was read, whom the
 * fence protects. */
static bool check_ahead(struct pipe_engine *engine, struct engine_task *task,
                        const struct recovering *r)
{
    struct recovering again = {0};
    const struct engine_position *c = &r->committed.position, *now = &again.committed.position;
    const struct checkpoint_restored *from = &r->from;
    again.counters = pipe_calloc(engine->plan->stream_count + 1, sizeof *again.counters);
    bool ok = read_committed(engine, task, &again);
    free(again.counters);
    if (!ok || again.has_committed != r->has_committed || now->offset != c->offset ||
        now->seq != c->seq)
        return ok;
    if (!r->has_committed)
        return engine_fail(engine, PIPE_EXIT_STATE,
                           "stage %s, partition %d: the log has no committed position, but there "
                           "is checkpoint %s as of offset %lld; either set the group's offsets to "
                           "where they were, or delete the checkpoints of this group",
                           task->task.stage->name, task->task.partition, from->from,
                           (long long)from->position.offset);
    return engine_fail(engine, PIPE_EXIT_STATE,
                       "stage %s, partition %d: checkpoint %s is as of offset %lld (time record "
                       "%llu), newer than the log, which is committed up to offset %lld (time "
                       "record %llu); either set the group's offsets to where they were, or delete "
                       "the checkpoints of this group",
                       task->task.stage->name, task->task.partition, from->from,
                       (long long)from->position.offset, (unsigned long long)from->position.seq,
                       (long long)c->offset, (unsigned long long)c->seq);
}

static bool restore(struct pipe_engine *engine, struct engine_task *task, struct recovering *r)
{
    struct checkpoint_wish wish = {
        r->has_committed, r->has_stored, r->committed.position, {.offset = 0}};
    if (r->has_stored)
        wish.stored = (struct engine_position){.offset = r->stored.offset, .seq = r->stored.seq};
    if (!checkpoints_restore(engine, task, &wish, serve, &r->from))
        return false;
    if (r->from.ahead)
        return check_ahead(engine, task, r);
    if (!r->from.restored)
        return true;
    engine_drop_task(task); /* its operators are made with the key that came with it */
    r->drops++;
    return load_stored(engine, task, r);
}

static void tell_restored(const struct engine_task *task, const struct recovering *r,
                          uint64_t replayed)
{
    const struct checkpoint_restored *from = &r->from;
    if (from->restored)
        pipe_message(PIPE_INFO, "restored",
                     "stage=%s partition=%d checkpoint=%.12s offset=%lld time_records=%llu "
                     "entries=%llu replayed_records=%llu",
                     task->task.stage->name, task->task.partition, from->from,
                     (long long)from->position.offset, (unsigned long long)from->position.seq,
                     (unsigned long long)from->entries, (unsigned long long)replayed);
}

static const char *watermark_text(char to[40], int64_t watermark)
{
    return watermark == PIPE_TIME_MIN ? "none" : engine_time_text(to, watermark);
}

/* The same records give the same time: these are others. Files and the topics of a broker are
 * outside, where somebody may have changed them; topics of the embedded log are not. */
static bool refuse_watermark(struct pipe_engine *engine, const struct engine_task *task,
                             int64_t committed)
{
    char is[40], was[40];
    long long offset = (long long)task->position.offset;
    const char *now = watermark_text(is, task->task.watermark);
    const char *before = watermark_text(was, committed);
    if (task->input != NULL)
        return engine_fail(engine, PIPE_EXIT_STATE,
                           "source %s: %s, read again up to record %lld, gives watermark %s, "
                           "but gave %s before: it was changed since; restore what was there, or "
                           "use another directory than %s",
                           task->task.source->name, task->name.data, offset, now, before,
                           engine->dir);
    if (engine->log->grouped)
        return engine_fail(engine, PIPE_EXIT_STATE,
                           "topic %s, partition %d, read again up to offset %lld, gives "
                           "watermark %s, but gave %s before: its records are not those that "
                           "were read; restore the topic, or use another group",
                           task->name.data, task->task.partition, offset, now, before);
    return engine_fail(engine, PIPE_EXIT_INTERNAL,
                       "internal error: stage %s: topic %s, partition %d, read again up to offset "
                       "%lld, gives watermark %s, but %s is committed",
                       task->task.stage->name, task->name.data, task->task.partition, offset, now,
                       before);
}

/* From S to C. False: failed, or the task has gone. */
static bool rebuild(struct pipe_engine *engine, struct engine_task *task, struct recovering *r)
{
    uint64_t replayed = engine->replayed;
    if (engine->log->grouped)
        engine_drop_task(task);
    if (!load_stored(engine, task, r) || !restore(engine, task, r))
        return false;
    task->skipped = r->committed.skipped;
    if (!check_positions(engine, task, r) || !load_state(engine, task, r))
        return false;
    engine_count_rejects_in(NULL);
    task->task.replaying = true;
    task->task.made_most = UINT64_MAX; /* what was committed passed */
    bool ok = replay(task, r);
    task->task.made_most = engine_made_most(engine);
    task->task.replaying = false;
    engine_count_rejects_in(engine);
    if (!ok)
        return false;
    if (r->has_committed && task->task.watermark != r->committed.watermark)
        return refuse_watermark(engine, task, r->committed.watermark);
    task->marked_watermark = task->told_watermark = task->task.watermark;
    task->dirty = !r->has_committed || r->gap; /* a position is committed before any state */
    tell_restored(task, r, engine->replayed - replayed);
    return true;
}

bool engine_recover_task(struct pipe_engine *engine, struct engine_task *task)
{
    struct recovering r = {0};
    uint32_t drops = task->drops;
    size_t counters_bytes = engine->plan->stream_count * sizeof *r.counters;
    r.counters = pipe_calloc(engine->plan->stream_count + 1, sizeof *r.counters);
    bool ok = read_committed(engine, task, &r);
    if (ok && task->held && take_back(task, &r)) {
        drops = task->drops;
    } else if (ok) {
        drops = task->drops + (engine->log->grouped ? 1 : 0);
        ok = rebuild(engine, task, &r);
    }
    if (ok) {
        task->raise_time_ms = r.committed.raise_time_ms;
        task->ended = r.committed.ended;
        task->idle = r.committed.idle;
        task->has_committed = r.has_committed;
        task->committed = r.committed.position;
        /* How many corrections were sent depends on the commits: what was counted then counts. */
        memcpy(task->task.counters, r.counters, counters_bytes);
        task->phase = ENGINE_RUNNING;
        watermark_close(task);
        metrics_task_began(task);
    }
    free(r.counters);
    return ok || (!engine->failed && task->drops != drops + r.drops);
}

static bool load_rejects(struct pipe_engine *engine)
{
    struct pipe_buf value = {0};
    struct pipe_reader reader;
    struct pipe_str rule, reason;
    int64_t count, number;
    bool found;
    if (!engine->log->ops->get(engine->log, "rejects", &value, &found))
        return engine_log_failed(engine);
    pipe_reader_init(&reader, value.data, value.size, NULL);
    bool sound = !found || pipe_avro_long(&reader, &count);
    for (int64_t i = 0; found && sound && i < count; i++) {
        sound = pipe_avro_bytes(&reader, &rule) && pipe_avro_bytes(&reader, &reason) &&
                pipe_avro_long(&reader, &number);
        if (sound)
            engine_count_reject(engine, rule, reason, (uint64_t)number);
    }
    engine->rejects_dirty = false;
    pipe_buf_free(&value);
    return sound ||
           engine_fail(engine, PIPE_EXIT_DATA, "the log is damaged: metadata rejects is malformed");
}

bool engine_recover(struct pipe_engine *engine)
{
    if ((engine->log->grouped && !group_join(engine)) ||
        !check_store(engine) || /* what the log is is known when its topics are */
        (engine->log->grouped && !checkpoints_open(engine)))
        return false;
    engine_enter(engine);
    for (uint32_t t = 0; !engine->log->grouped && t < engine->task_count; t++) {
        if (!engine_recover_task(engine, &engine->tasks[t]))
            return false;
        engine->resumed = engine->resumed || engine->tasks[t].position.offset > 0 ||
                          engine->tasks[t].position.seq > 0;
    }
    return load_rejects(engine);
}
