/*
 * follower_collect.c: records of a topic become rows of a block.
 */
#include "follower_internal.h"

#define READ_RECORDS 1024u
#define TURN_READS 8 /* of one part in a round */

void follower_clear_batch(struct follower_part *part)
{
    if (part->writer != NULL)
        pipe_native_clear(part->writer);
    part->rows = 0;
    metrics_ages_clear(part->ages);
    XXH3_128bits_reset(part->hash);
}

void follower_close_reader(struct pipe_follower *follower, struct follower_part *part)
{
    if (part->reader != NULL)
        follower->log->ops->reader_close(part->reader);
    part->reader = NULL;
    part->left_count = 0;
    part->at_end = false;
}

void follower_open_reader(struct pipe_follower *follower, struct follower_part *part,
                          int64_t offset)
{
    struct pipe_log *log = follower->log;
    const char *topic = log->topics[part->sink->topic].name;
    struct pipe_record constant = {.has_position = true,
                                   .partition = part->partition,
                                   .topic = pipe_str_of(topic, strlen(topic))};
    follower_interrupt(follower, part->sink, part->partition);
    follower_close_reader(follower, part);
    part->reader = log->ops->reader(log, part->sink->topic, part->partition, offset, &constant);
}

/* ---- One record ---- */

bool follower_add_row(struct pipe_follower *follower, struct follower_sink *sink,
                      struct pipe_native_writer *writer, int32_t partition,
                      const struct pipe_record *record)
{
    char error[400];
    bool ok = record->payload.data != NULL && pipe_native_add(writer, record->payload, partition,
                                                              record->offset, error, sizeof error);
    if (ok)
        return true;
    follower_halt(
        follower, sink,
        "topic %s, partition %d, offset %lld holds no row of the table: %s; somebody else "
        "wrote it there, or an older program did",
        follower->log->topics[sink->topic].name, partition, (long long)record->offset,
        record->payload.data == NULL ? "it has no value" : error);
    return false;
}

/* False: the sink was halted. */
static bool take(struct pipe_follower *follower, struct follower_part *part,
                 const struct pipe_record *record, int64_t now_ms)
{
    if (!follower_add_row(follower, part->sink, part->writer, part->partition, record))
        return false;
    if (part->rows == 0) {
        part->first = record->offset;
        part->began_us = engine_monotonic_us();
        part->oldest_ms = PIPE_TIME_MIN;
    }
    part->last = record->offset;
    part->rows++;
    if (record->kafka_time_ms != PIPE_TIME_MIN &&
        (part->oldest_ms == PIPE_TIME_MIN || record->kafka_time_ms < part->oldest_ms))
        part->oldest_ms = record->kafka_time_ms;
    follower_hash_add(part->hash, record);
    metrics_ages_add(part->ages, now_ms, record->kafka_time_ms, 1);
    return true;
}

/* ---- What is gone ---- */

bool follower_find_gap(struct pipe_follower *follower, struct follower_sink *sink,
                       int32_t partition, int64_t position, int64_t *begin)
{
    struct pipe_log *log = follower->log;
    char error[sizeof log->error];
    memcpy(error, log->error, sizeof error);
    int64_t first = log->grouped ? log->ops->begin(log, sink->topic, partition) : 0;
    *begin = -1;
    if (first <= position) {
        memcpy(log->error, error, sizeof error);
        return follower_log_failed(follower);
    }
    if (!follower->config.accept_gap) {
        follower_halt(follower, sink,
                      "topic %s, partition %d begins at offset %lld, but %lld is where the table "
                      "has to go on: retention was faster; go on without these records with "
                      "--accept-gap",
                      log->topics[sink->topic].name, partition, (long long)first,
                      (long long)position);
        return true;
    }
    *begin = first;
    return true;
}

/* False: the log is broken. */
static bool read_failed(struct pipe_follower *follower, struct follower_part *part)
{
    struct follower_sink *sink = part->sink;
    int64_t position = follower->log->ops->position(part->reader), begin;
    if (!follower_find_gap(follower, sink, part->partition, position, &begin))
        return false;
    if (begin < 0)
        return true;
    pipe_message(PIPE_WARNING, "going on behind a gap: records were deleted before they were read",
                 "sink=%s topic=%s partition=%d from=%lld to=%lld", sink->def->name,
                 follower->log->topics[sink->topic].name, part->partition, (long long)position,
                 (long long)begin);
    sink->skipped += (uint64_t)(begin - position);
    follower_open_reader(follower, part, begin);
    return true;
}

/* ---- Reading on ---- */

static bool is_full(const struct follower_part *part)
{
    return part->rows >= FOLLOWER_ROWS_MAX ||
           pipe_native_bytes(part->writer) >= part->sink->block_bytes;
}

/* What was read, until the batch is full. False: the sink was halted. */
static bool take_left(struct pipe_follower *follower, struct follower_part *part)
{
    int64_t now_ms = engine_wall_ms();
    while (part->left_count > 0 && !is_full(part)) {
        if (!take(follower, part, part->left, now_ms))
            return false;
        part->left++;
        part->left_count--;
        follower->worked = true;
    }
    return true;
}

static bool collect_part(struct pipe_follower *follower, struct follower_part *part)
{
    const struct pipe_log_ops *ops = follower->log->ops;
    if (!take_left(follower, part))
        return true;
    for (unsigned i = 0; i < TURN_READS && !is_full(part); i++) {
        switch (ops->read(part->reader, READ_RECORDS, INT64_MAX, &part->left, &part->left_count)) {
        case PIPE_LOG_RECORDS:
            part->at_end = false;
            if (!take_left(follower, part))
                return true;
            break;
        case PIPE_LOG_END:
            part->left_count = 0;
            part->at_end = true;
            return true;
        case PIPE_LOG_WAIT:
            part->left_count = 0;
            part->at_end = false;
            return true;
        case PIPE_LOG_FAILED:
            part->left_count = 0;
            return read_failed(follower, part);
        }
    }
    return true;
}

bool follower_collect(struct pipe_follower *follower)
{
    struct follower_walk at = {.follower = follower};
    struct follower_part *part;
    uint64_t used = follower_memory(follower);
    while (!follower->stop && (part = follower_next(&at)) != NULL) {
        if (!follower_runs(part) || part->reader == NULL || used >= follower->config.memory_bytes)
            continue;
        used -= follower_part_memory(part);
        if (!collect_part(follower, part))
            return false;
        used += follower_part_memory(part);
    }
    return true;
}
