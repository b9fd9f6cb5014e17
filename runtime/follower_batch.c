/*
 * follower_batch.c: what goes to a table at once: ranges of several partitions under one token, in
 * the journal of each (decision 0018). And batches that were journaled before: they are read again
 * whole, whosever their partitions are now, for under its token a batch is all of it or nothing.
 */
#include <stdlib.h>

#include "follower_internal.h"

#define READ_RECORDS 1024u
#define TURN_READS 8 /* of a sink in a round */
#define KEPT_BYTES (256u << 10)
#define PAGE_BYTES 4096u
/* A broker that has just become leader may not know yet how far records are committed. */
#define SHORT_US 30000000

/* ---- Batches of a sink ---- */

static struct follower_batch *add_batch(struct follower_sink *sink, enum follower_batch_state state)
{
    struct follower_batch *batch = pipe_calloc(1, sizeof *batch), **at = &sink->pending;
    batch->sink = sink;
    batch->state = state;
    while (*at != NULL)
        at = &(*at)->next;
    *at = batch;
    return batch;
}

/* The reader of the part that another batch took away meanwhile comes back. */
static void give_back(struct pipe_follower *follower, struct follower_part *part)
{
    if (part->phase == PART_RUNNING && part->reader == NULL && !part->sink->halted)
        follower_open_reader(follower, part, part->resume);
}

/* Without giving anything back. */
static struct follower_part *stop_reading(struct pipe_follower *follower,
                                          struct follower_sink *sink)
{
    struct follower_reread *again = &sink->reread;
    const struct follower_batch *batch = again->batch;
    if (batch == NULL)
        return NULL;
    if (again->reader != NULL)
        follower->log->ops->reader_close(again->reader);
    again->reader = NULL;
    again->batch = NULL;
    pipe_native_shrink(again->writer);
    return &sink->parts[batch->ranges[again->range].at.partition];
}

void follower_interrupt(struct pipe_follower *follower, struct follower_sink *sink,
                        int32_t partition)
{
    const struct follower_reread *again = &sink->reread;
    if (again->batch != NULL && again->batch->ranges[again->range].at.partition == partition)
        (void)stop_reading(follower, sink);
}

static void drop(struct pipe_follower *follower, struct follower_batch *batch)
{
    struct follower_sink *sink = batch->sink;
    struct follower_batch **at = &sink->pending;
    while (*at != batch)
        at = &(*at)->next;
    *at = batch->next;
    if (sink->reread.batch == batch)
        give_back(follower, stop_reading(follower, sink));
    follower_end_request(follower, batch);
    pipe_buf_free(&batch->block);
    free(batch);
}

static void leave(struct pipe_follower *follower, struct follower_batch **of)
{
    struct follower_batch *batch = *of;
    *of = NULL;
    if (batch != NULL && --batch->members == 0)
        drop(follower, batch);
}

void follower_leave_batch(struct pipe_follower *follower, struct follower_part *part)
{
    leave(follower, &part->batch);
}

void follower_forget_plan(struct pipe_follower *follower, struct follower_part *part)
{
    leave(follower, &part->planned);
}

struct pipe_str follower_block(const struct follower_batch *batch)
{
    return batch->block.size == 0 ? (struct pipe_str){0}
                                  : pipe_str_of(batch->block.data + batch->block_at,
                                                batch->block.size - batch->block_at);
}

uint64_t follower_batch_memory(const struct follower_sink *sink)
{
    uint64_t bytes = sink->reread.batch != NULL ? pipe_native_bytes(sink->reread.writer) : 0;
    for (const struct follower_batch *batch = sink->pending; batch != NULL; batch = batch->next)
        bytes += follower_block(batch).size; /* the gap before it is chance */
    return bytes;
}

/* ---- Planning ---- */

static void make_token(struct pipe_follower *follower, struct follower_batch *batch)
{
    struct follower_sink *sink = batch->sink;
    const struct follower_place place = {follower->log->incarnation, sink->def->name,
                                         sink->plan_topic.name};
    struct follower_token_range ranges[PIPE_TABLE_RANGES_MAX];
    for (uint32_t i = 0; i < batch->range_count; i++) {
        const struct follower_part *part = &sink->parts[batch->ranges[i].at.partition];
        ranges[i] = (struct follower_token_range){&batch->ranges[i], part->journal.incarnation};
    }
    follower_make_token(&place, ranges, batch->range_count, batch->token);
}

static void add_range(struct follower_batch *batch, struct follower_part *part)
{
    struct follower_range *range = &batch->ranges[batch->range_count++];
    int64_t due_us = part->began_us + part->sink->commit_us;
    range->at = (struct pipe_table_range){part->partition, part->first, part->last, part->rows};
    follower_hash_end(part->hash, range->hash);
    if (batch->members++ == 0 || due_us < batch->due_us)
        batch->due_us = due_us;
    part->planned = batch;
}

/* As few as may be: a server spends on a small insert what it spends on a bigger one. */
void follower_plan(struct pipe_follower *follower, struct follower_sink *sink)
{
    struct follower_batch *batch = NULL;
    uint64_t bytes = 0, rows = 0;
    for (uint32_t p = 0; p < sink->part_count; p++) {
        struct follower_part *part = &sink->parts[p];
        if (part->put != PUT_JOURNAL)
            continue;
        bytes += pipe_native_bytes(part->writer);
        rows += part->rows;
        if (batch == NULL || batch->range_count == follower->target->ranges ||
            bytes > sink->block_bytes || rows > FOLLOWER_ROWS_MAX) {
            if (batch != NULL)
                make_token(follower, batch);
            batch = add_batch(sink, BATCH_PLANNED);
            bytes = pipe_native_bytes(part->writer);
            rows = part->rows;
        }
        add_range(batch, part);
    }
    if (batch != NULL)
        make_token(follower, batch);
}

/* ---- Sealing ---- */

/* Room for a block at a page of memory. */
static void begin_block(struct follower_batch *batch, size_t most_bytes)
{
    uintptr_t memory = (uintptr_t)pipe_buf_reserve(&batch->block, most_bytes + PAGE_BYTES);
    batch->block_at = batch->block.size = -memory % PAGE_BYTES;
    batch->state = BATCH_READY;
}

static void take_ages(struct follower_part *part)
{
    struct metrics_ages *free_ages = part->sent_ages;
    part->sent_ages = part->ages;
    part->sent_oldest_ms = part->oldest_ms;
    part->ages = free_ages;
}

static void seal(struct follower_batch *batch)
{
    struct pipe_native_writer *writers[PIPE_TABLE_RANGES_MAX];
    size_t most_bytes = 0;
    for (uint32_t i = 0; i < batch->range_count; i++) {
        writers[i] = batch->sink->parts[batch->ranges[i].at.partition].writer;
        most_bytes += pipe_native_block_bytes(writers[i]);
    }
    begin_block(batch, most_bytes);
    pipe_native_finish_all(writers, batch->range_count, &batch->block);
    for (uint32_t i = 0; i < batch->range_count; i++) {
        struct follower_part *part = &batch->sink->parts[batch->ranges[i].at.partition];
        if (follower_block(batch).size > KEPT_BYTES) /* else every part would keep its biggest */
            pipe_native_shrink(part->writer);
        take_ages(part);
        follower_clear_batch(part);
    }
}

void follower_seal(struct follower_sink *sink)
{
    for (struct follower_batch *batch = sink->pending; batch != NULL; batch = batch->next) {
        if (batch->state == BATCH_PLANNED)
            seal(batch);
    }
}

/* ---- Taking up what was journaled before ---- */

static bool same_ranges(const struct follower_batch *batch, const struct follower_journal *journal)
{
    bool same = batch->range_count == journal->range_count;
    for (uint32_t i = 0; same && i < batch->range_count; i++) {
        const struct follower_range *a = &batch->ranges[i], *b = &journal->ranges[i];
        same = a->at.partition == b->at.partition && a->at.first == b->at.first &&
               a->at.last == b->at.last && a->at.rows == b->at.rows &&
               memcmp(a->hash, b->hash, sizeof a->hash) == 0;
    }
    return same;
}

static struct follower_batch *find_batch(struct follower_sink *sink, const uint8_t *token)
{
    struct follower_batch *batch = sink->pending;
    while (batch != NULL && memcmp(batch->token, token, sizeof batch->token) != 0)
        batch = batch->next;
    return batch;
}

bool follower_take_up(struct pipe_follower *follower, struct follower_part *part)
{
    const struct follower_journal *journal = &part->journal;
    struct follower_batch *batch = find_batch(part->sink, journal->token);
    if (batch == NULL) {
        batch = add_batch(part->sink, BATCH_REREADING);
        memcpy(batch->ranges, journal->ranges, sizeof batch->ranges);
        batch->range_count = journal->range_count;
        memcpy(batch->token, journal->token, sizeof batch->token);
    } else if (!same_ranges(batch, journal)) {
        follower_halt(follower, part->sink,
                      "the positions of the table in topic %s do not agree: that of partition %d "
                      "has other ranges under the same token than that of another partition",
                      part->sink->plan_topic.name, part->partition);
        return false;
    }
    part->batch = batch;
    part->sent_oldest_ms = PIPE_TIME_MIN;
    batch->members++;
    if (batch->state == BATCH_DONE)
        follower_count_rows(part);
    return true;
}

/* ---- Reading again ---- */

/* Of all members: their journals are as committed, but nothing of it is sent. */
static void give_up(struct pipe_follower *follower, struct follower_batch *batch)
{
    struct follower_sink *sink = batch->sink;
    uint32_t left = batch->members;
    for (uint32_t p = 0; left > 0; p++) {
        struct follower_part *part = &sink->parts[p];
        if (part->batch != batch)
            continue;
        left--;
        part->journal.pending = false;
        part->phase = PART_RUNNING;
        part->resume = part->journal.mark;
        metrics_ages_clear(part->sent_ages);
        follower_leave_batch(follower, part); /* the last one ends it, and reading */
        give_back(follower, part);
    }
}

/* Whether another process may have the batch too, or get it: then it may be sent at any moment. */
static bool is_shared(const struct follower_batch *batch)
{
    for (uint32_t i = 0; i < batch->range_count; i++) {
        if (batch->sink->parts[batch->ranges[i].at.partition].phase == PART_ABSENT)
            return true;
    }
    return false;
}

/* With --accept-gap the ranges are collected anew: what the table has of them, its condition leaves
 * out. Not what is inserted at the same moment under the token of the batch, so nobody else may
 * have it; and a roll-up has no condition. False: the log is broken. */
static bool miss_records(struct pipe_follower *follower, struct follower_sink *sink)
{
    struct follower_reread *again = &sink->reread;
    struct follower_batch *batch = again->batch;
    int32_t partition = batch->ranges[again->range].at.partition;
    int64_t position = follower->log->ops->position(again->reader), begin;
    if (!follower_find_gap(follower, sink, partition, position, &begin))
        return false;
    if (begin < 0)
        return true;
    if (batch->range_count > 1 && sink->def->table->rollup_count > 0)
        follower_halt(follower, sink,
                      "topic %s, partition %d begins at offset %lld: rows that were under way to "
                      "the table with those of other partitions are gone, and whether its roll-up "
                      "has them can't be told; empty table and roll-up, and run with another "
                      "--group",
                      sink->plan_topic.name, partition, (long long)begin);
    else if (is_shared(batch))
        follower_halt(follower, sink,
                      "topic %s, partition %d begins at offset %lld: rows that were under way to "
                      "the table with those of other partitions are gone, and another process may "
                      "still send them; stop all processes of the group but one, and start that "
                      "one again with --accept-gap",
                      sink->plan_topic.name, partition, (long long)begin);
    else
        give_up(follower, batch);
    return true;
}

static void start_range(struct pipe_follower *follower, struct follower_sink *sink)
{
    struct follower_reread *again = &sink->reread;
    struct pipe_log *log = follower->log;
    const struct follower_batch *batch = again->batch;
    const struct pipe_table_range *at = &batch->ranges[again->range].at;
    struct follower_part *part = &sink->parts[at->partition];
    const char *topic = log->topics[sink->topic].name;
    const struct pipe_record constant = {.has_position = true,
                                         .partition = at->partition,
                                         .topic = pipe_str_of(topic, strlen(topic))};
    if (part->reader != NULL) { /* a log has one reader of a partition */
        part->resume = part->left_count > 0 ? part->left->offset : log->ops->position(part->reader);
        follower_close_reader(follower, part);
    }
    again->reader = log->ops->reader(log, sink->topic, at->partition, at->first, &constant);
    again->since_us = engine_monotonic_us();
    again->rows = 0;
    XXH3_128bits_reset(again->hash);
    if (part->batch == batch) {
        metrics_ages_clear(part->sent_ages);
        part->sent_oldest_ms = PIPE_TIME_MIN;
    }
    follower->worked = true;
}

static void start_batch(struct pipe_follower *follower, struct follower_sink *sink,
                        struct follower_batch *batch)
{
    struct follower_reread *again = &sink->reread;
    if (again->writer == NULL) {
        again->writer = pipe_native_writer_new(sink->def->table, sink->def->row);
        again->hash = XXH3_createState();
        if (again->hash == NULL)
            pipe_out_of_memory();
    }
    again->batch = batch;
    again->range = 0;
    start_range(follower, sink);
}

static void end_batch(struct pipe_follower *follower, struct follower_sink *sink)
{
    struct follower_reread *again = &sink->reread;
    struct follower_batch *batch = again->batch;
    begin_block(batch, pipe_native_block_bytes(again->writer));
    pipe_native_finish(again->writer, &batch->block);
    batch->attempt = 1; /* it may have been sent: the probe tells */
    (void)stop_reading(follower, sink);
    for (uint32_t p = 0; p < sink->part_count; p++) {
        struct follower_part *part = &sink->parts[p];
        if (part->batch == batch) {
            part->phase = PART_RUNNING;
            part->resume = follower_own(&part->journal)->last + 1;
        }
        give_back(follower, part);
    }
    PIPE_CRASH_POINT("follower_reread");
}

/* The records of a range are all there: they must be those of the journal. */
static void end_range(struct pipe_follower *follower, struct follower_sink *sink)
{
    struct follower_reread *again = &sink->reread;
    const struct follower_range *range = &again->batch->ranges[again->range];
    uint8_t hash[FOLLOWER_HASH_BYTES];
    follower_hash_end(again->hash, hash);
    if (again->rows != range->at.rows || again->first != range->at.first ||
        memcmp(hash, range->hash, sizeof hash) != 0) {
        follower_halt(follower, sink,
                      "topic %s, partition %d: the records from offset %lld to %lld are not those "
                      "that were under way to the table (%u then, %u now, or other bytes): the "
                      "topic was changed; nothing more is sent",
                      follower->log->topics[sink->topic].name, range->at.partition,
                      (long long)range->at.first, (long long)range->at.last, range->at.rows,
                      again->rows);
        return;
    }
    follower->log->ops->reader_close(again->reader);
    again->reader = NULL;
    if (again->range + 1 == again->batch->range_count) {
        end_batch(follower, sink);
        return;
    }
    again->range++;
    give_back(follower, &sink->parts[range->at.partition]);
    start_range(follower, sink);
}

/* False: the sink was halted. */
static bool take_again(struct pipe_follower *follower, struct follower_sink *sink,
                       const struct pipe_record *record, int64_t now_ms)
{
    struct follower_reread *again = &sink->reread;
    struct follower_part *part = &sink->parts[record->partition];
    if (!follower_add_row(follower, sink, again->writer, record->partition, record))
        return false;
    if (again->rows++ == 0)
        again->first = record->offset;
    follower_hash_add(again->hash, record);
    if (part->batch != again->batch) /* another process counts it */
        return true;
    if (record->kafka_time_ms != PIPE_TIME_MIN &&
        (part->sent_oldest_ms == PIPE_TIME_MIN || record->kafka_time_ms < part->sent_oldest_ms))
        part->sent_oldest_ms = record->kafka_time_ms;
    metrics_ages_add(part->sent_ages, now_ms, record->kafka_time_ms, 1);
    return true;
}

/* One read. False: the log is broken. *on: there is more to do at once. */
static bool read_on(struct pipe_follower *follower, struct follower_sink *sink, bool *on)
{
    const struct pipe_log_ops *ops = follower->log->ops;
    struct follower_reread *again = &sink->reread;
    const struct pipe_table_range *at = &again->batch->ranges[again->range].at;
    struct pipe_record *records;
    uint32_t count;
    int64_t now_ms = engine_wall_ms();
    *on = false;
    switch (ops->read(again->reader, READ_RECORDS, at->last + 1, &records, &count)) {
    case PIPE_LOG_RECORDS:
        for (uint32_t r = 0; r < count; r++) {
            if (!take_again(follower, sink, &records[r], now_ms))
                return true;
        }
        follower->worked = *on = true;
        if (again->rows > at->rows)
            end_range(follower, sink); /* says how many */
        return true;
    case PIPE_LOG_END:
        *on = ops->position(again->reader) > at->last;
        if (*on || engine_monotonic_us() - again->since_us > SHORT_US)
            end_range(follower, sink);
        return true;
    case PIPE_LOG_WAIT:
        return true;
    case PIPE_LOG_FAILED:
        return miss_records(follower, sink);
    }
    return true;
}

bool follower_reread(struct pipe_follower *follower, struct follower_sink *sink)
{
    bool on = true;
    for (unsigned i = 0; on && i < TURN_READS; i++) {
        if (sink->reread.batch == NULL) {
            struct follower_batch *batch = sink->pending;
            while (batch != NULL && batch->state != BATCH_REREADING)
                batch = batch->next;
            if (batch == NULL || sink->halted)
                return true;
            start_batch(follower, sink, batch);
        }
        if (!read_on(follower, sink, &on))
            return false;
    }
    return true;
}
