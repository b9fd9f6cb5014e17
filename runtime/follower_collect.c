/*
 * follower_collect.c: records of a topic become rows of a block.
 */
#include "follower_internal.h"

#define READ_RECORDS 1024u
#define KEPT_BYTES (256u << 10)
#define PAGE_BYTES 4096u
#define TURN_READS 8 /* of one part in a round */
/* A broker that has just become leader may not know yet how far records are committed. */
#define SHORT_US 30000000

void follower_clear_batch(struct follower_part *part)
{
    if (part->writer != NULL)
        pipe_native_clear(part->writer);
    part->rows = 0;
    metrics_ages_clear(part->ages);
    XXH3_128bits_reset(part->hash);
}

void follower_open_reader(struct pipe_follower *follower, struct follower_part *part,
                          int64_t offset)
{
    struct pipe_log *log = follower->log;
    const char *topic = log->topics[part->sink->topic].name;
    struct pipe_record constant = {.has_position = true,
                                   .partition = part->partition,
                                   .topic = pipe_str_of(topic, strlen(topic))};
    if (part->reader != NULL)
        log->ops->reader_close(part->reader);
    part->left_count = 0;
    part->at_end = false;
    part->reader = log->ops->reader(log, part->sink->topic, part->partition, offset, &constant);
}

void follower_seal(struct follower_part *part)
{
    struct metrics_ages *free_ages = part->sent_ages;
    part->block.size = 0;
    uintptr_t memory = (uintptr_t)pipe_buf_reserve(
        &part->block, pipe_native_block_bytes(part->writer) + PAGE_BYTES);
    part->block_at = part->block.size = -memory % PAGE_BYTES;
    pipe_native_finish(part->writer, &part->block);
    if (part->block.size > KEPT_BYTES) /* else every part would keep what its biggest block took */
        pipe_native_shrink(part->writer);
    part->sent_ages = part->ages;
    part->sent_oldest_ms = part->oldest_ms;
    part->ages = free_ages;
    follower_clear_batch(part);
}

/* ---- One record ---- */

static bool add_row(struct pipe_follower *follower, struct follower_part *part,
                    const struct pipe_record *record)
{
    char error[400];
    bool ok = record->payload.data != NULL &&
              pipe_native_add(part->writer, record->payload, part->partition, record->offset, error,
                              sizeof error);
    if (ok)
        return true;
    follower_halt(
        follower, part->sink,
        "topic %s, partition %d, offset %lld holds no row of the table: %s; somebody else "
        "wrote it there, or an older program did",
        follower->log->topics[part->sink->topic].name, part->partition, (long long)record->offset,
        record->payload.data == NULL ? "it has no value" : error);
    return false;
}

/* False: the sink was halted. */
static bool take(struct pipe_follower *follower, struct follower_part *part,
                 const struct pipe_record *record, int64_t now_ms)
{
    if (!add_row(follower, part, record))
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

/* The reader has failed: retention may have been faster. False: the log is broken. */
static bool read_failed(struct pipe_follower *follower, struct follower_part *part)
{
    struct pipe_log *log = follower->log;
    char error[sizeof log->error];
    memcpy(error, log->error, sizeof error);
    int64_t begin = log->grouped ? log->ops->begin(log, part->sink->topic, part->partition) : 0;
    int64_t position = log->ops->position(part->reader);
    if (begin <= position) {
        memcpy(log->error, error, sizeof error);
        return follower_log_failed(follower);
    }
    if (!follower->config.accept_gap) {
        follower_halt(follower, part->sink,
                      "topic %s, partition %d begins at offset %lld, but %lld is where the table "
                      "has to go on: retention was faster; go on without these records with "
                      "--accept-gap",
                      log->topics[part->sink->topic].name, part->partition, (long long)begin,
                      (long long)position);
        return true;
    }
    pipe_message(PIPE_WARNING, "going on behind a gap: records were deleted before they were read",
                 "sink=%s topic=%s partition=%d from=%lld to=%lld", part->sink->def->name,
                 log->topics[part->sink->topic].name, part->partition, (long long)position,
                 (long long)begin);
    part->sink->skipped += (uint64_t)(begin - position);
    if (part->phase == PART_REREADING) { /* its rows are not to be had any more */
        part->journal.pending = false;
        follower_clear_batch(part);
        part->phase = PART_RUNNING;
    }
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
        if (!follower_runs(part) || used >= follower->config.memory_bytes)
            continue;
        used -= follower_part_memory(part);
        if (!collect_part(follower, part))
            return false;
        used += follower_part_memory(part);
    }
    return true;
}

/* ---- Reading again ---- */

static void compare(struct pipe_follower *follower, struct follower_part *part)
{
    const struct follower_journal *journal = &part->journal;
    uint8_t hash[FOLLOWER_HASH_BYTES];
    follower_hash_end(part->hash, hash);
    if (part->rows == journal->rows && part->first == journal->first &&
        memcmp(hash, journal->hash, sizeof hash) == 0) {
        follower_seal(part);
        part->phase = PART_RUNNING;
        part->attempt = 1; /* it may have been sent: the probe tells */
        part->done = false;
        part->backoff_us = part->retry_us = 0;
        return;
    }
    follower_halt(follower, part->sink,
                  "topic %s, partition %d: the records from offset %lld to %lld are not those that "
                  "were under way to the table (%u then, %u now, or other bytes): the topic was "
                  "changed; nothing more is sent",
                  follower->log->topics[part->sink->topic].name, part->partition,
                  (long long)journal->first, (long long)journal->last, journal->rows, part->rows);
}

bool follower_reread(struct pipe_follower *follower, struct follower_part *part)
{
    const struct pipe_log_ops *ops = follower->log->ops;
    int64_t before = part->journal.last + 1;
    struct pipe_record *records;
    uint32_t count;
    int64_t now_ms = engine_wall_ms();
    for (unsigned i = 0; i < TURN_READS && part->rows <= part->journal.rows; i++) {
        switch (ops->read(part->reader, READ_RECORDS, before, &records, &count)) {
        case PIPE_LOG_RECORDS:
            for (uint32_t r = 0; r < count; r++) {
                if (!take(follower, part, &records[r], now_ms))
                    return true;
            }
            follower->worked = true;
            break;
        case PIPE_LOG_END:
            if (ops->position(part->reader) >= before ||
                engine_monotonic_us() - part->put_us > SHORT_US)
                compare(follower, part);
            return true;
        case PIPE_LOG_WAIT:
            return true;
        case PIPE_LOG_FAILED:
            return read_failed(follower, part);
        }
    }
    if (part->rows > part->journal.rows)
        compare(follower, part); /* says how many */
    return true;
}
