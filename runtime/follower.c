/*
 * follower.c: see follower.h.
 */
#include <stdlib.h>

#include "follower_internal.h"

#define MEMORY_BYTES (64ull << 20)
#define REQUESTS 8u
#define COMMIT_MS 100     /* where the plan says nothing */
#define GAP_US 30000000   /* a mark follows gaps at least so often */
#define REQUEST_WAIT_MS 5 /* while something is under way: records and the group may not wait */
#define WAIT_MOST_MS 100

/* ---- Errors ---- */

bool follower_fail(struct pipe_follower *follower, const char *format, ...)
{
    if (!follower->failed) {
        va_list args;
        va_start(args, format);
        vsnprintf(follower->error, sizeof follower->error, format, args);
        va_end(args);
    }
    follower->failed = true;
    return false;
}

bool follower_log_failed(struct pipe_follower *follower)
{
    follower->fenced = follower->log->fenced;
    return follower_fail(follower, "%s", follower->log->error);
}

const char *pipe_follower_error(const struct pipe_follower *follower)
{
    return follower->error;
}

bool pipe_follower_fenced(const struct pipe_follower *follower)
{
    return follower->fenced;
}

/* ---- Which topic ---- */

/* The same rows as the table's, all of them and nothing else. */
static bool may_follow(const struct pipe_sink_def *topic, const struct pipe_sink_def *table)
{
    return topic->kind == PIPE_SINK_KAFKA && topic->format == PIPE_FORMAT_JSON && !topic->upsert &&
           topic->stream == table->stream && topic->row == table->row && topic->exactly_once &&
           table->table != NULL && !table->table->has_deleted;
}

bool pipe_plan_followed(const struct pipe_plan *plan, uint32_t sink, uint32_t *topic_sink)
{
    const struct pipe_sink_def *sinks = plan->sinks;
    uint32_t before = 0; /* table sinks of the stream that choose before this one */
    if (sinks[sink].kind != PIPE_SINK_CLICKHOUSE)
        return false;
    for (uint32_t i = 0; i < sink; i++)
        before += sinks[i].kind == PIPE_SINK_CLICKHOUSE && sinks[i].stream == sinks[sink].stream;
    for (uint32_t i = 0; i < plan->sink_count; i++) {
        if (!may_follow(&sinks[i], &sinks[sink]))
            continue;
        *topic_sink = i;
        if (before-- == 0)
            return true;
    }
    return false;
}

bool pipe_plan_has_followers(const struct pipe_plan *plan)
{
    for (uint32_t i = 0; i < plan->sink_count; i++) {
        if (plan->sinks[i].kind == PIPE_SINK_CLICKHOUSE)
            return true;
    }
    return false;
}

/* ---- Making and closing ---- */

static void make_part(struct follower_part *part, struct follower_sink *sink, uint32_t partition)
{
    part->sink = sink;
    part->partition = (int32_t)partition;
    part->writer = pipe_native_writer_new(sink->def->table, sink->def->row);
    part->hash = XXH3_createState();
    part->ages = pipe_calloc(1, sizeof *part->ages);
    part->sent_ages = pipe_calloc(1, sizeof *part->sent_ages);
    part->oldest_ms = part->sent_oldest_ms = PIPE_TIME_MIN;
    if (part->hash == NULL)
        pipe_out_of_memory();
    XXH3_128bits_reset(part->hash);
}

static enum pipe_follow follow_of(const struct pipe_follower_config *config, uint32_t sink)
{
    if (config->plan->sinks[sink].kind != PIPE_SINK_CLICKHOUSE)
        return PIPE_FOLLOW_NOTHING;
    return config->follows != NULL ? config->follows[sink] : PIPE_FOLLOW_AS_PLANNED;
}

static void make_sink(struct pipe_follower *follower, uint32_t index)
{
    const struct pipe_plan *plan = follower->plan;
    const struct pipe_follower_config *config = &follower->config;
    struct follower_sink *sink = &follower->sinks[follower->sink_count++];
    uint32_t topic_sink;
    bool own = follow_of(config, index) == PIPE_FOLLOW_OWN_TOPIC ||
               !pipe_plan_followed(plan, index, &topic_sink);
    int64_t commit_ms = plan->sinks[index].commit_ms;
    int64_t most_bytes = plan->sinks[index].commit_bytes;
    sink->index = index;
    sink->def = &plan->sinks[index];
    pipe_plan_topic(plan, own ? PIPE_TOPIC_ROWS : PIPE_TOPIC_SINK, own ? index : topic_sink,
                    &sink->plan_topic);
    commit_ms = commit_ms > 0 ? commit_ms : plan->commit_ms > 0 ? plan->commit_ms : COMMIT_MS;
    if (commit_ms < config->commit_least_ms)
        commit_ms = config->commit_least_ms;
    sink->commit_us = commit_ms * 1000;
    sink->block_bytes = config->memory_bytes / config->requests;
    if (most_bytes > 0 && (uint64_t)most_bytes < sink->block_bytes)
        sink->block_bytes = (uint64_t)most_bytes;
    sink->part_count = sink->plan_topic.partitions;
    sink->parts = pipe_calloc(sink->part_count, sizeof *sink->parts);
    for (uint32_t p = 0; p < sink->part_count; p++)
        make_part(&sink->parts[p], sink, p);
}

struct pipe_follower *pipe_follower_new(const struct pipe_follower_config *config)
{
    struct pipe_follower *follower = pipe_calloc(1, sizeof *follower);
    follower->config = *config;
    follower->plan = config->plan;
    follower->log = config->log;
    follower->target = config->target;
    if (follower->config.memory_bytes == 0)
        follower->config.memory_bytes = MEMORY_BYTES;
    if (follower->config.requests == 0)
        follower->config.requests = REQUESTS;
    follower->sinks = pipe_calloc(config->plan->sink_count + 1, sizeof *follower->sinks);
    for (uint32_t i = 0; i < config->plan->sink_count; i++) {
        if (follow_of(config, i) != PIPE_FOLLOW_NOTHING)
            make_sink(follower, i);
    }
    follower->config.follows = NULL; /* the caller's */
    return follower;
}

void pipe_follower_close(struct pipe_follower *follower)
{
    struct follower_walk at = {.follower = follower};
    struct follower_part *part;
    while ((part = follower_next(&at)) != NULL) {
        follower_drop_part(follower, part, PART_ABSENT);
        pipe_native_writer_free(part->writer);
        XXH3_freeState(part->hash);
        free(part->ages);
        free(part->sent_ages);
    }
    for (uint32_t i = 0; i < follower->sink_count; i++) {
        struct follower_sink *sink = &follower->sinks[i];
        free(sink->parts);
        pipe_native_writer_free(sink->reread.writer);
        XXH3_freeState(sink->reread.hash);
    }
    free(follower->sinks);
    pipe_buf_free(&follower->scratch);
    follower->target->ops->close(follower->target);
    follower->log->ops->close(follower->log);
    free(follower);
}

uint64_t follower_part_memory(const struct follower_part *part)
{
    return part->rows > 0 ? pipe_native_bytes(part->writer) : 0;
}

uint64_t follower_memory(const struct pipe_follower *follower)
{
    struct follower_walk at = {.follower = (struct pipe_follower *)(uintptr_t)follower};
    const struct follower_part *part;
    uint64_t bytes = 0;
    while ((part = follower_next(&at)) != NULL)
        bytes += follower_part_memory(part);
    for (uint32_t i = 0; i < follower->sink_count; i++)
        bytes += follower_batch_memory(&follower->sinks[i]);
    return bytes;
}

/* ---- Commits ---- */

static bool may_journal(const struct follower_part *part)
{
    return follower_runs(part) && part->rows > 0 &&
           (!part->journal.pending || follower_is_done(part));
}

/* How old a row may get. What is under way brings its parts back: the others wait for them, so that
 * they go on together, but no longer than twice the time. */
static int64_t patience_of(const struct follower_sink *sink)
{
    for (const struct follower_batch *batch = sink->pending; batch != NULL; batch = batch->next) {
        if (batch->state == BATCH_READY)
            return 2 * sink->commit_us;
    }
    return sink->commit_us;
}

/* A batch of the sink is due: then all of its parts go. */
static bool is_due(const struct pipe_follower *follower, const struct follower_sink *sink,
                   bool memory_is_full, int64_t now_us)
{
    int64_t patience_us = patience_of(sink);
    uint64_t bytes = 0, rows = 0;
    for (uint32_t i = 0; i < sink->part_count; i++) {
        const struct follower_part *part = &sink->parts[i];
        if (!may_journal(part))
            continue;
        if (follower->flush || memory_is_full || now_us - part->began_us >= patience_us)
            return true;
        bytes += pipe_native_bytes(part->writer);
        rows += part->rows;
    }
    return rows >= FOLLOWER_ROWS_MAX || (rows > 0 && bytes >= sink->block_bytes);
}

/* Whether the mark could follow gaps behind it (aborted records, markers). */
static bool is_behind_gap(const struct pipe_follower *follower, const struct follower_part *part)
{
    return part->at_end && part->reader != NULL && part->rows == 0 && part->left_count == 0 &&
           !part->journal.pending &&
           follower->log->ops->position(part->reader) > part->journal.mark;
}

/* What the part has for the next commit; true: it is reason enough for one. */
static bool choose_put(struct pipe_follower *follower, struct follower_part *part, bool journals,
                       bool leaving, int64_t now_us)
{
    part->put = PUT_NOTHING;
    if (!follower_runs(part))
        return false;
    if (journals && may_journal(part)) {
        part->put = PUT_JOURNAL;
        return true;
    }
    if (follower_is_done(part)) {
        part->put = PUT_CONFIRM;
        return leaving || follower->flush || now_us - part->batch->done_us >= part->sink->commit_us;
    }
    if (is_behind_gap(follower, part)) {
        part->put = PUT_GAP;
        return now_us - part->put_us >= GAP_US;
    }
    return false;
}

static void make_next(struct pipe_follower *follower, struct follower_part *part)
{
    struct follower_journal *next = &part->next;
    const struct follower_batch *batch = part->planned;
    *next = part->journal;
    if (next->pending) {
        next->confirmed = follower_own(&part->journal)->last;
        next->mark = next->confirmed + 1;
    }
    next->pending = false;
    if (part->put == PUT_GAP)
        next->mark = follower->log->ops->position(part->reader);
    if (part->put != PUT_JOURNAL)
        return;
    next->pending = true;
    memcpy(next->ranges, batch->ranges, sizeof next->ranges);
    next->range_count = batch->range_count;
    memcpy(next->token, batch->token, sizeof next->token);
    for (next->own = 0; follower_own(next)->partition != part->partition;)
        next->own++;
}

static bool put(struct pipe_follower *follower, struct follower_part *part)
{
    char name[400];
    make_next(follower, part);
    struct pipe_log_position position = follower_position(part, name, sizeof name);
    follower->scratch.size = 0;
    follower_journal_write(&follower->scratch, &part->next);
    position.offset = part->next.mark;
    position.value = pipe_str_of(follower->scratch.data, follower->scratch.size);
    return follower->log->ops->put_position(follower->log, &position) ||
           follower_log_failed(follower);
}

static void committed(struct pipe_follower *follower)
{
    struct follower_walk at = {.follower = follower};
    struct follower_part *part;
    int64_t now_us = engine_monotonic_us();
    while ((part = follower_next(&at)) != NULL) {
        if (part->put == PUT_NOTHING)
            continue;
        part->journal = part->next;
        part->put = PUT_NOTHING;
        part->put_us = now_us;
        follower_leave_batch(follower, part);
        part->batch = part->planned;
        part->planned = NULL;
    }
    for (uint32_t i = 0; i < follower->sink_count; i++)
        follower_seal(&follower->sinks[i]);
    follower->worked = true;
}

static bool take_outcome(struct pipe_follower *follower, enum pipe_log_outcome outcome)
{
    switch (outcome) {
    case PIPE_LOG_COMMITTED:
        PIPE_CRASH_POINT("follower_committed");
        committed(follower);
        return true;
    case PIPE_LOG_ABORTED:
        pipe_message(PIPE_WARNING, "a commit of the tables' positions did not happen",
                     "reason=\"%s\"", PIPE_QUOTED(follower->log->error));
        follower_aborted(follower);
        return true;
    case PIPE_LOG_FENCED:
        follower->log->fenced = true;
        return follower_log_failed(follower);
    case PIPE_LOG_BROKEN:
        break;
    }
    return follower_log_failed(follower);
}

static bool choose(struct pipe_follower *follower, bool leaving)
{
    int64_t now_us = engine_monotonic_us();
    bool full = follower_memory(follower) >= follower->config.memory_bytes, wanted = false;
    for (uint32_t i = 0; i < follower->sink_count; i++) {
        struct follower_sink *sink = &follower->sinks[i];
        bool journals = !leaving && !follower->stop && is_due(follower, sink, full, now_us);
        for (uint32_t p = 0; p < sink->part_count; p++)
            wanted |= choose_put(follower, &sink->parts[p], journals, leaving, now_us);
    }
    return wanted;
}

bool follower_commit(struct pipe_follower *follower, bool leaving)
{
    if (!follower->ready || !choose(follower, leaving))
        return true;
    for (uint32_t i = 0; i < follower->sink_count; i++)
        follower_plan(follower, &follower->sinks[i]);
    struct follower_walk at = {.follower = follower};
    struct follower_part *part;
    while ((part = follower_next(&at)) != NULL) {
        if (part->put != PUT_NOTHING && !put(follower, part))
            return false;
    }
    PIPE_CRASH_POINT("follower_before_commit");
    return take_outcome(follower, follower->log->ops->commit(follower->log));
}

/* ---- A round ---- */

static bool is_asking(const struct pipe_follower *follower)
{
    for (uint32_t i = 0; i < follower->sink_count; i++) {
        const struct follower_sink *sink = &follower->sinks[i];
        for (uint32_t p = 0; p < sink->part_count && !sink->halted; p++) {
            if (!sink->checked || sink->parts[p].phase == PART_ASKING)
                return true;
        }
    }
    return false;
}

/* When something is due; INT64_MAX: nothing that time brings. */
static int64_t due_of_sink(const struct pipe_follower *follower, const struct follower_sink *sink)
{
    int64_t due_us = INT64_MAX, patience_us = patience_of(sink);
    for (uint32_t p = 0; p < sink->part_count && !follower->stop; p++) {
        const struct follower_part *part = &sink->parts[p];
        if (may_journal(part) && part->began_us + patience_us < due_us)
            due_us = part->began_us + patience_us;
    }
    for (const struct follower_batch *batch = sink->pending; batch != NULL; batch = batch->next) {
        int64_t at_us = INT64_MAX;
        if (batch->state == BATCH_DONE)
            at_us = batch->done_us + sink->commit_us;
        else if (batch->state == BATCH_READY && batch->request == NULL &&
                 follower->requests < follower->config.requests)
            at_us = batch->retry_us;
        due_us = at_us < due_us ? at_us : due_us;
    }
    return due_us;
}

/* Not beyond the moment in which something is due. */
static int64_t wait_of(const struct pipe_follower *follower, int64_t wait_ms)
{
    int64_t now_us = engine_monotonic_us(), most_us = wait_ms * 1000;
    for (uint32_t i = 0; i < follower->sink_count; i++) {
        int64_t due_us = due_of_sink(follower, &follower->sinks[i]);
        if (due_us - now_us < most_us)
            most_us = due_us > now_us ? due_us - now_us : 0;
    }
    return (most_us + 999) / 1000;
}

static bool get_ready(struct pipe_follower *follower)
{
    struct pipe_log *log = follower->log;
    if (follower->ready)
        return true;
    enum pipe_log_state state = log->ops->ready == NULL ? PIPE_LOG_RECORDS : log->ops->ready(log);
    if (state == PIPE_LOG_FAILED)
        return follower_log_failed(follower);
    follower->ready = state == PIPE_LOG_RECORDS;
    return true;
}

static bool run_round(struct pipe_follower *follower, int64_t wait_ms)
{
    wait_ms = wait_ms < WAIT_MOST_MS ? wait_ms : WAIT_MOST_MS;
    wait_ms = wait_of(follower, wait_ms);
    bool busy = follower->requests > 0 || is_asking(follower);
    int64_t target_ms = wait_ms < REQUEST_WAIT_MS ? wait_ms : REQUEST_WAIT_MS;
    if (follower->log->grouped && !follower_poll(follower, busy ? 0 : wait_ms))
        return false;
    if (busy)
        follower->target->ops->poll(follower->target, target_ms);
    follower_check_tables(follower);
    if (!get_ready(follower))
        return false;
    if (!follower->ready)
        return true;
    if (!follower_recover(follower) || !follower_collect(follower))
        return false;
    follower_send(follower);
    if (!follower_commit(follower, false))
        return false;
    follower_send(follower); /* what was journaled goes at once */
    return true;
}

enum pipe_follower_state pipe_follower_step(struct pipe_follower *follower, int64_t wait_ms)
{
    follower->worked = false;
    if (follower->failed || (!follower->opened && !follower_open(follower)) ||
        !run_round(follower, wait_ms))
        return PIPE_FOLLOWER_FAILED;
    return follower->worked ? PIPE_FOLLOWER_WORKED : PIPE_FOLLOWER_IDLE;
}

bool pipe_follower_waits(const struct pipe_follower *follower)
{
    return follower->log->grouped || follower->requests > 0 || is_asking(follower);
}

/* ---- The end ---- */

void pipe_follower_flush(struct pipe_follower *follower, bool stop)
{
    follower->flush = true;
    follower->stop = stop;
}

bool pipe_follower_is_quiet(const struct pipe_follower *follower)
{
    struct follower_walk at = {.follower = (struct pipe_follower *)(uintptr_t)follower};
    const struct follower_part *part;
    while ((part = follower_next(&at)) != NULL) {
        if (follower_runs(part) && part->batch != NULL && !follower_pauses(part->batch))
            return false;
    }
    return true;
}

static bool part_at_end(struct pipe_follower *follower, struct follower_part *part)
{
    struct pipe_log *log = follower->log;
    if (part->phase == PART_ABSENT || part->sink->halted)
        return true;
    return part->phase == PART_RUNNING && part->at_end && part->rows == 0 &&
           part->left_count == 0 && !part->journal.pending &&
           log->ops->at_end(log, part->sink->topic, part->partition,
                            log->ops->position(part->reader));
}

bool pipe_follower_at_end(struct pipe_follower *follower)
{
    struct follower_walk at = {.follower = follower};
    struct follower_part *part;
    bool all = follower->assigned && follower->ready;
    while (all && (part = follower_next(&at)) != NULL)
        all = part_at_end(follower, part);
    return all;
}

/* ---- What is shown ---- */

static void add_lag(const struct pipe_follower *follower, const struct follower_part *part,
                    struct pipe_follower_figures *figures)
{
    struct pipe_log *log = follower->log;
    if (part->phase == PART_ABSENT || !follower->opened)
        return;
    int64_t end = log->ops->high != NULL ? log->ops->high(log, part->sink->topic, part->partition)
                                         : log->ops->end(log, part->sink->topic, part->partition);
    int64_t from = part->journal.mark;
    if (part->reader != NULL && is_behind_gap(follower, part))
        from = log->ops->position(part->reader);
    if (end > from)
        figures->lag_records += (uint64_t)(end - from);
    int64_t oldest_ms = part->journal.pending && !follower_is_done(part) ? part->sent_oldest_ms
                        : part->rows > 0 || part->sink->halted           ? part->oldest_ms
                                                                         : PIPE_TIME_MIN;
    if (oldest_ms != PIPE_TIME_MIN &&
        (figures->oldest_ms == PIPE_TIME_MIN || oldest_ms < figures->oldest_ms))
        figures->oldest_ms = oldest_ms;
}

void pipe_follower_look(const struct pipe_follower *follower, uint32_t index,
                        struct pipe_follower_figures *figures)
{
    *figures = (struct pipe_follower_figures){.oldest_ms = PIPE_TIME_MIN};
    for (uint32_t i = 0; i < follower->sink_count; i++) {
        const struct follower_sink *sink = &follower->sinks[i];
        if (sink->index != index)
            continue;
        figures->follows = true;
        figures->halted = sink->halted;
        figures->rows = sink->rows;
        figures->batches = sink->batches;
        figures->bytes = sink->bytes;
        figures->attempts = sink->attempts;
        figures->unknown = sink->unknown;
        figures->skipped = sink->skipped;
        figures->queryable = sink->queryable;
        memcpy(figures->error, sink->error, sizeof figures->error);
        for (uint32_t p = 0; p < sink->part_count; p++)
            add_lag(follower, &sink->parts[p], figures);
    }
}
