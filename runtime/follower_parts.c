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
    follower_end_request(follower, part);
    if (part->reader != NULL)
        follower->log->ops->reader_close(part->reader);
    part->reader = NULL;
    part->left_count = 0;
    part->at_end = part->done = false;
    part->put = PUT_NOTHING;
    follower_clear_batch(part);
    metrics_ages_clear(part->sent_ages);
    pipe_buf_free(&part->block);
    part->block = (struct pipe_buf){0};
    part->journal = (struct follower_journal){0};
    part->phase = phase;
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
    part->phase = journal->pending ? PART_REREADING : PART_RUNNING;
    part->put_us = engine_monotonic_us();
    follower_clear_batch(part);
    follower_open_reader(follower, part, journal->pending ? journal->first : journal->mark);
    follower->worked = true;
}

static bool take_journal(struct pipe_follower *follower, struct follower_part *part,
                         const struct pipe_log_committed *committed)
{
    const char *topic = part->sink->plan_topic.name;
    if (!committed->found) {
        pipe_random_bytes(part->journal.incarnation, sizeof part->journal.incarnation);
        part->journal.mark = committed->first;
        part->phase = PART_ASKING;
        return true;
    }
    struct pipe_str value = pipe_str_of(committed->value->data, committed->value->size);
    if (!follower_journal_read(value, &part->journal)) {
        follower_halt(
            follower, part->sink,
            "the position of the table in topic %s, partition %d is malformed (%zu bytes)", topic,
            part->partition, value.size);
    } else if (committed->offset >= 0 && committed->offset != part->journal.mark) {
        follower_halt(follower, part->sink,
                      "topic %s, partition %d: the table's offset is %lld, but its journal says "
                      "%lld: somebody has set it; put it back to go on",
                      topic, part->partition, (long long)committed->offset,
                      (long long)part->journal.mark);
    } else {
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

/* Without a mark, rows in the table are of another life: what is sent would be there twice. */
static void ask_table(struct pipe_follower *follower, struct follower_part *part)
{
    struct follower_sink *sink = part->sink;
    char error[400] = "";
    bool any = false;
    if (engine_monotonic_us() < part->retry_us)
        return;
    switch (follower->target->ops->holds(follower->target, sink->index, part->partition, 0, &any,
                                         error, sizeof error)) {
    case PIPE_TABLE_PENDING:
        return;
    case PIPE_TABLE_DONE:
        part->backoff_us = part->retry_us = 0;
        if (!any)
            run(follower, part);
        else
            follower_halt(follower, sink,
                          "table %s has rows of topic %s, partition %d, but the group has no "
                          "position there: what is sent again could be in it twice; empty the "
                          "table, or run with the --group (or directory) that filled it",
                          sink->def->target, sink->plan_topic.name, part->partition);
        return;
    case PIPE_TABLE_AGAIN:
        follower_waits(sink, error);
        part->backoff_us = follower_backoff(part->backoff_us);
        part->retry_us = engine_monotonic_us() + part->backoff_us;
        return;
    case PIPE_TABLE_BROKEN:
        follower_halt(follower, sink, "%s", error);
        return;
    }
}

static uint32_t rereading(const struct pipe_follower *follower)
{
    struct follower_walk at = {.follower = (struct pipe_follower *)(uintptr_t)follower};
    const struct follower_part *part;
    uint32_t count = 0;
    while ((part = follower_next(&at)) != NULL)
        count += part->phase == PART_REREADING && !part->sink->halted;
    return count;
}

/* For one more range that may have to be read again, however big it is. */
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
        else if (part->phase == PART_REREADING && !follower_reread(follower, part))
            return false;
    }
    return true;
}
