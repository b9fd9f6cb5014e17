/*
 * follower_parts.c: partitions come and go with the group, and begin with their journal.
 */
#include <stdlib.h>

#include "follower_internal.h"

/* ---- Opening ---- */

static bool join(struct pipe_follower *follower)
{
    struct pipe_log *log = follower->log;
    uint32_t *topics = pipe_calloc(follower->sink_count + 1, sizeof *topics);
    for (uint32_t i = 0; i < follower->sink_count; i++)
        topics[i] = follower->sinks[i].topic;
    bool ok = log->ops->join(log, topics, follower->sink_count);
    free(topics);
    return ok || follower_log_failed(follower);
}

bool follower_open(struct pipe_follower *follower)
{
    struct pipe_log *log = follower->log;
    for (uint32_t i = 0; i < follower->sink_count; i++) {
        struct follower_sink *sink = &follower->sinks[i];
        if (!log->ops->topic(log, sink->plan_topic.name, sink->plan_topic.partitions, &sink->topic))
            return follower_log_failed(follower);
    }
    follower->opened = true;
    if (log->grouped)
        return join(follower);
    struct follower_walk at = {.follower = follower};
    struct follower_part *part;
    while ((part = follower_next(&at)) != NULL)
        part->phase = PART_ASSIGNED;
    follower->assigned = true;
    return true;
}

/* ---- Dropping ---- */

void follower_drop_part(struct pipe_follower *follower, struct follower_part *part,
                        enum follower_phase phase)
{
    part->phase = phase;
    follower_forget_plan(follower, part);
    follower_leave_batch(follower, part);
    follower_close_reader(follower, part);
    part->known = part->behind = false;
    part->put = PUT_NOTHING;
    follower_clear_batch(part);
    metrics_ages_clear(part->sent_ages);
    part->journal = (struct follower_journal){0};
}

void follower_aborted(struct pipe_follower *follower)
{
    struct follower_walk at = {.follower = follower};
    struct follower_part *part;
    while ((part = follower_next(&at)) != NULL) {
        if (part->phase != PART_ABSENT && !part->sink->halted)
            follower_drop_part(follower, part, PART_ASSIGNED);
    }
    follower->ready = false;
}

/* ---- The group ---- */

static struct follower_part *part_at(struct pipe_follower *follower,
                                     const struct pipe_log_partition *at)
{
    struct follower_walk walk = {.follower = follower};
    struct follower_part *part;
    while ((part = follower_next(&walk)) != NULL) {
        if (part->sink->topic == at->topic && part->partition == at->partition)
            return part;
    }
    return NULL;
}

static void set_phase(struct pipe_follower *follower, const struct pipe_log_event *event,
                      enum follower_phase phase)
{
    for (uint32_t i = 0; i < event->count; i++) {
        struct follower_part *part = part_at(follower, &event->partitions[i]);
        if (part == NULL || (phase == PART_ASSIGNED && part->phase != PART_ABSENT))
            continue;
        follower_drop_part(follower, part, phase);
    }
}

static bool leave(struct pipe_follower *follower, const struct pipe_log_event *event, bool lost)
{
    if (!lost && !follower_commit(follower, true))
        return false;
    if (lost)
        follower->log->ops->abort(follower->log);
    set_phase(follower, event, PART_ABSENT);
    return follower->log->ops->release(follower->log) || follower_log_failed(follower);
}

bool follower_poll(struct pipe_follower *follower, int64_t wait_ms)
{
    struct pipe_log_event event;
    if (!follower->log->ops->poll(follower->log, wait_ms, &event))
        return follower_log_failed(follower);
    switch (event.kind) {
    case PIPE_LOG_NOTHING:
        return true;
    case PIPE_LOG_ASSIGNED:
        set_phase(follower, &event, PART_ASSIGNED);
        follower->assigned = follower->worked = true;
        return true;
    case PIPE_LOG_REVOKED:
        return leave(follower, &event, false);
    case PIPE_LOG_LOST:
        return leave(follower, &event, true);
    }
    return true;
}

/* ---- Beginning ---- */

struct pipe_log_position follower_position(const struct follower_part *part, char *name,
                                           size_t name_bytes)
{
    follower_position_name(name, name_bytes, part->sink->def->name, part->sink->plan_topic.name,
                           part->partition);
    return (struct pipe_log_position){
        .name = name, .at = {part->sink->topic, part->partition}, .offset = part->journal.mark};
}

static void run(struct pipe_follower *follower, struct follower_part *part)
{
    const struct follower_journal *journal = &part->journal;
    int64_t from = journal->mark;
    part->put_us = engine_monotonic_us();
    follower->worked = true;
    follower_clear_batch(part);
    if (journal->pending) {
        if (!follower_take_up(follower, part))
            return;
        if (part->batch->state == BATCH_REREADING) { /* the reader comes with its end */
            part->phase = PART_REREADING;
            return;
        }
        from = follower_own(journal)->last + 1;
    }
    part->phase = PART_RUNNING;
    follower_open_reader(follower, part, from);
}

/* What the journal calls confirmed must not have been taken away: it is never sent again. */
static bool keeps(struct pipe_follower *follower, struct follower_part *part)
{
    const struct pipe_table_ops *ops = follower->target->ops;
    char error[5000] = "";
    if (ops->keeps == NULL || ops->keeps(follower->target, part->sink->index, part->partition,
                                         part->journal.mark, error, sizeof error))
        return true;
    follower_halt(follower, part->sink, "%s", error);
    return false;
}

static bool take_journal(struct pipe_follower *follower, struct follower_part *part,
                         const struct pipe_log_committed *committed)
{
    const char *topic = part->sink->plan_topic.name;
    if (!committed->found) {
        pipe_random_bytes(part->journal.incarnation, sizeof part->journal.incarnation);
        part->journal.mark = committed->first;
        part->journal.confirmed = -1;
        part->phase = PART_ASKING;
        return true;
    }
    struct pipe_str value = pipe_str_of(committed->value->data, committed->value->size);
    if (!follower_journal_read(value, part->partition, part->sink->part_count, &part->journal)) {
        follower_halt(
            follower, part->sink,
            "the position of the table in topic %s, partition %d is malformed, or of a newer "
            "program (%zu bytes, version %d)",
            topic, part->partition, value.size, value.size > 0 ? (uint8_t)value.data[0] : -1);
    } else if (committed->offset >= 0 && committed->offset != part->journal.mark) {
        follower_halt(follower, part->sink,
                      "topic %s, partition %d: the table's offset is %lld, but its journal says "
                      "%lld: somebody has set it; put it back to go on",
                      topic, part->partition, (long long)committed->offset,
                      (long long)part->journal.mark);
    } else if (keeps(follower, part)) {
        part->known = true;
        if (follower->target->ops->has != NULL)
            part->phase = PART_ASKING;
        else
            run(follower, part);
    }
    return true;
}

static bool read_journal(struct pipe_follower *follower, struct follower_part *part)
{
    char name[400];
    struct pipe_log_position position = follower_position(part, name, sizeof name);
    follower->scratch.size = 0;
    struct pipe_log_committed committed = {.value = &follower->scratch};
    return (follower->log->ops->get_position(follower->log, &position, &committed) ||
            follower_log_failed(follower)) &&
           take_journal(follower, part, &committed);
}

/* A row that was confirmed is gone: so are those before it, for all that is known. */
static void miss_last(struct pipe_follower *follower, struct follower_part *part)
{
    const struct follower_sink *sink = part->sink;
    const char *topic = sink->plan_topic.name;
    if (follower->config.accept_gap) {
        pipe_message(PIPE_WARNING, "the table lacks rows that it had taken (--accept-gap)",
                     "sink=%s table=%s topic=%s partition=%d offset=%lld", sink->def->name,
                     sink->def->target, topic, part->partition, (long long)part->journal.confirmed);
        run(follower, part);
        return;
    }
    follower_halt(follower, part->sink,
                  "table %s lacks the row of topic %s, partition %d, offset %lld, which it had "
                  "taken: it was emptied or made again, or this is another server. Put the rows "
                  "back; or empty the table, and run with another --group (or directory), or "
                  "without the offsets of this one; --accept-gap goes on without them",
                  sink->def->target, topic, part->partition, (long long)part->journal.confirmed);
}

/* Behind all that the journal knows. */
static int64_t behind_of(const struct follower_journal *journal)
{
    return journal->pending ? follower_own(journal)->last + 1 : journal->mark;
}

/* Rows that no journal tells of are of another life: what is sent would be there twice, or what
 * is in the table is not what the topic has now. */
static void find_more(struct pipe_follower *follower, struct follower_part *part)
{
    const struct follower_sink *sink = part->sink;
    const char *topic = sink->plan_topic.name;
    if (part->known)
        follower_halt(follower, part->sink,
                      "table %s has rows of topic %s, partition %d behind offset %lld, where the "
                      "group's position ends: it is ahead, as with a restored copy of a directory "
                      "or of offsets; restore the table to the same moment, or run with the "
                      "--group (or directory) that filled it",
                      sink->def->target, topic, part->partition,
                      (long long)behind_of(&part->journal) - 1);
    else
        follower_halt(follower, part->sink,
                      "table %s has rows of topic %s, partition %d, but the group has no "
                      "position there: what is sent again could be in it twice; empty the "
                      "table, or run with the --group (or directory) that filled it",
                      sink->def->target, topic, part->partition);
}

static enum pipe_table_outcome ask(struct pipe_follower *follower, const struct follower_part *part,
                                   bool *any, char *error, size_t error_bytes)
{
    const struct pipe_table_ops *ops = follower->target->ops;
    const struct follower_journal *journal = &part->journal;
    uint32_t sink = part->sink->index;
    if (part->behind)
        return ops->has(follower->target, sink, part->partition, journal->confirmed, any, error,
                        error_bytes);
    int64_t from = part->known ? behind_of(journal) : 0;
    return ops->holds(follower->target, sink, part->partition, from, any, error, error_bytes);
}

static void take_answer(struct pipe_follower *follower, struct follower_part *part, bool any)
{
    part->backoff_us = part->retry_us = 0;
    if (part->behind && !any) {
        miss_last(follower, part);
    } else if (!part->behind && any) {
        find_more(follower, part);
    } else if (!part->behind && part->known && part->journal.confirmed >= 0) {
        part->behind = true; /* the other question is next */
        follower->worked = true;
    } else {
        run(follower, part);
    }
}

static void ask_table(struct pipe_follower *follower, struct follower_part *part)
{
    char error[400] = "";
    bool any = false;
    if (engine_monotonic_us() < part->retry_us)
        return;
    switch (ask(follower, part, &any, error, sizeof error)) {
    case PIPE_TABLE_PENDING:
        return;
    case PIPE_TABLE_DONE:
        take_answer(follower, part, any);
        return;
    case PIPE_TABLE_AGAIN:
        follower_waits(part->sink, error);
        part->backoff_us = follower_backoff(part->backoff_us);
        part->retry_us = engine_monotonic_us() + part->backoff_us;
        return;
    case PIPE_TABLE_BROKEN:
        follower_halt(follower, part->sink, "%s", error);
        return;
    }
}

/* What has to be read again, or may have to. */
static uint32_t rereading(const struct pipe_follower *follower)
{
    struct follower_walk at = {.follower = (struct pipe_follower *)(uintptr_t)follower};
    const struct follower_part *part;
    uint32_t count = 0;
    while ((part = follower_next(&at)) != NULL)
        count += part->phase == PART_ASKING && part->journal.pending && !part->sink->halted;
    for (uint32_t i = 0; i < follower->sink_count; i++) {
        const struct follower_batch *batch = follower->sinks[i].pending;
        for (; batch != NULL; batch = batch->next)
            count += batch->state == BATCH_REREADING;
    }
    return count;
}

/* For one more batch that may have to be read again, however big it is. */
static bool has_room(const struct pipe_follower *follower)
{
    return rereading(follower) < follower->config.requests &&
           follower_memory(follower) < follower->config.memory_bytes;
}

bool follower_recover(struct pipe_follower *follower)
{
    struct follower_walk at = {.follower = follower};
    struct follower_part *part;
    while ((part = follower_next(&at)) != NULL) {
        if (part->sink->halted || !part->sink->checked)
            continue;
        if (part->phase == PART_ASSIGNED && has_room(follower) && !read_journal(follower, part))
            return false;
        if (part->phase == PART_ASKING)
            ask_table(follower, part);
    }
    for (uint32_t i = 0; i < follower->sink_count; i++) {
        if (!follower_reread(follower, &follower->sinks[i]))
            return false;
    }
    return true;
}
