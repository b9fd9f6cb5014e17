/*
 * kafka_reader.c: reading one partition.
 *
 * The simple consumer of librdkafka: each partition is started at an offset and stopped alone, in
 * no group. Stopping drops what was prefetched: it raises the partition's version, and every
 * message carries the version it was fetched for; besides, each reader has a queue of its own,
 * which goes with it. So after an abort nothing of before can be read.
 *
 * Records are handed out as they lie in the fetched batches; the messages that hold them are freed
 * at the next call.
 */
#include <stdio.h>
#include <stdlib.h>

#include "engine.h"
#include "kafka_internal.h"

#define BATCH 1024u
#define OUT_OF_RANGE_TRIES 5
#define BOUNDS_WAIT_MS 1000
#define QUEUE_BACKOFF_VERSION 0x02020000 /* fetch.queue.backoff.ms */
#define NUDGE_RECORDS 64                 /* fewer do not fill what is fetched ahead */
#define NUDGE_AFTER_US 12000             /* fetch.wait.max.ms and a little */
#define NUDGE_MS 50

struct pipe_log_reader {
    struct kafka_log *log;
    uint32_t topic;
    int32_t partition;
    int64_t position;
    struct pipe_record constant;
    rd_kafka_queue_t *queue; /* NULL: could not be started */
    rd_kafka_message_t *messages[BATCH];
    uint32_t count, next, given; /* fetched; not looked at from here; given out, from `freed` on */
    uint32_t freed;
    bool at_end; /* a broker said that nothing committed is beyond the position */
    bool failed; /* the position is not in the log any more: the log goes on, this reader not */
    int64_t drained_us; /* since when there is nothing to take; 0: there was just now */
    bool nudged;        /* since then */
    uint32_t out_of_range;
    struct pipe_record *records;
    uint32_t capacity;
};

static void on_records(rd_kafka_t *client, void *context)
{
    (void)client;
    kafka_wake(context);
}

/* ---- Starting and stopping ---- */

static rd_kafka_topic_t *topic_of(struct kafka_log *log, uint32_t topic)
{
    struct kafka_topic *of = &log->topics[topic];
    if (of->fetched == NULL)
        of->fetched = rd_kafka_topic_new(log->fetcher, of->name, NULL);
    return of->fetched;
}

static bool start(struct pipe_log_reader *reader)
{
    struct kafka_log *log = reader->log;
    if (!kafka_open_fetcher(log))
        return false;
    rd_kafka_topic_t *topic = topic_of(log, reader->topic);
    reader->queue = rd_kafka_queue_new(log->fetcher);
    rd_kafka_queue_cb_event_enable(reader->queue, on_records, log->common);
    if (topic != NULL && rd_kafka_consume_start_queue(topic, reader->partition, reader->position,
                                                      reader->queue) == 0)
        return true;
    rd_kafka_resp_err_t code = rd_kafka_last_error();
    rd_kafka_queue_cb_event_enable(reader->queue, NULL, NULL);
    rd_kafka_queue_destroy(reader->queue);
    reader->queue = NULL;
    return kafka_fail(log, "kafka: %s, partition %d could not be read: %s",
                      log->topics[reader->topic].name, reader->partition, rd_kafka_err2str(code));
}

static void free_messages(struct pipe_log_reader *reader, uint32_t until)
{
    for (; reader->freed < until; reader->freed++)
        rd_kafka_message_destroy(reader->messages[reader->freed]);
}

static void stop(struct pipe_log_reader *reader)
{
    free_messages(reader, reader->count);
    reader->count = reader->next = reader->freed = 0;
    if (reader->queue == NULL)
        return;
    (void)rd_kafka_consume_stop(topic_of(reader->log, reader->topic), reader->partition);
    rd_kafka_queue_cb_event_enable(reader->queue, NULL, NULL);
    rd_kafka_queue_destroy(reader->queue);
    reader->queue = NULL;
}

struct pipe_log_reader *kafka_reader(struct pipe_log *public, uint32_t topic, int32_t partition,
                                     int64_t offset, const struct pipe_record *constant)
{
    struct kafka_log *log = kafka_of(public);
    struct pipe_log_reader *reader = pipe_calloc(1, sizeof *reader);
    struct kafka_part *part = &log->topics[topic].parts[partition];
    reader->log = log;
    reader->topic = topic;
    reader->partition = partition;
    reader->position = offset;
    reader->constant = *constant;
    if (part->reader != NULL) {
        kafka_fail(log, "kafka: %s, partition %d has a reader already", log->topics[topic].name,
                   partition);
    } else if (!log->failed && start(reader)) {
        part->reader = reader;
    }
    return reader;
}

void kafka_reader_close(struct pipe_log_reader *reader)
{
    struct kafka_part *part;
    if (reader == NULL)
        return;
    part = &reader->log->topics[reader->topic].parts[reader->partition];
    if (part->reader == reader)
        part->reader = NULL;
    stop(reader);
    free(reader->records);
    free(reader);
}

int64_t kafka_reader_position(const struct pipe_log_reader *reader)
{
    return reader->position;
}

/* ---- Errors ---- */

/* What auto.offset.reset=error says: the position is not there. A leader that is just taking over
 * may say so without reason: what a broker says of the bounds decides. */
static bool out_of_range(struct pipe_log_reader *reader)
{
    struct kafka_log *log = reader->log;
    const char *topic = log->topics[reader->topic].name;
    int64_t low = 0, high = INT64_MAX;
    bool known = kafka_bounds(log, reader->topic, reader->partition, BOUNDS_WAIT_MS, &low, &high);
    if (known && reader->position < low) {
        kafka_tell(log,
                   "kafka: %s, partition %d starts at offset %lld, but the position is %lld: "
                   "retention has deleted what was not read yet, at most %lld records",
                   topic, reader->partition, (long long)low, (long long)reader->position,
                   (long long)(low - reader->position));
        reader->failed = true;
        return false;
    }
    if (known && reader->position > high && ++reader->out_of_range >= OUT_OF_RANGE_TRIES)
        return kafka_fail(log,
                          "kafka: %s, partition %d ends at offset %lld, but the position is %lld: "
                          "the topic was made anew, or has lost records",
                          topic, reader->partition, (long long)high, (long long)reader->position);
    stop(reader);
    return start(reader);
}

/* A message that is no record. false: failed. */
static bool take_error(struct pipe_log_reader *reader, const rd_kafka_message_t *message)
{
    struct kafka_log *log = reader->log;
    const char *topic = log->topics[reader->topic].name;
    char clean[300];
    kafka_redact(log->common, rd_kafka_message_errstr(message), clean, sizeof clean);
    switch ((int)message->err) {
    case RD_KAFKA_RESP_ERR__PARTITION_EOF:
        if (message->offset >= reader->position) {
            reader->position = message->offset;
            reader->at_end = true;
        }
        return true;
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
        return kafka_fail(log, "kafka: topic %s may not be read: %s; allow READ", topic, clean);
    case RD_KAFKA_RESP_ERR__BAD_MSG:
    case RD_KAFKA_RESP_ERR__BAD_COMPRESSION:
    case RD_KAFKA_RESP_ERR_INVALID_MSG:
        return kafka_fail(log, "kafka: %s, partition %d, at offset %lld is damaged: %s", topic,
                          reader->partition, (long long)reader->position, clean);
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
        return kafka_fail(log,
                          "kafka: %s, partition %d, at offset %lld: a record is above "
                          "receive.message.max.bytes of the client; raise it",
                          topic, reader->partition, (long long)reader->position);
    default:
        kafka_warn(log->common, rd_kafka_err2name(message->err),
                   "kafka: waiting for %s, partition %d: %s", topic, reader->partition, clean);
        return true;
    }
}

static bool is_out_of_range(const rd_kafka_message_t *message)
{
    return message->err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET ||
           message->err == RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE;
}

/* ---- Reading ---- */

static void make_room(struct pipe_log_reader *reader, uint32_t wanted)
{
    if (reader->capacity >= wanted)
        return;
    reader->capacity = wanted;
    free(reader->records);
    reader->records = pipe_malloc(wanted * sizeof *reader->records);
}

static void fill(const struct pipe_log_reader *reader, const rd_kafka_message_t *message,
                 struct pipe_record *record)
{
    rd_kafka_timestamp_type_t type;
    int64_t time_ms = rd_kafka_message_timestamp(message, &type);
    *record = reader->constant;
    record->has_position = true;
    record->partition = reader->partition;
    record->offset = message->offset;
    record->kafka_time_ms = type == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE ? PIPE_TIME_MIN : time_ms;
    record->key = pipe_str_of(message->key, message->key_len);
    record->payload = pipe_str_of(message->payload, message->len);
}

/* Before 2.2 librdkafka waits for up to a second when all that it may fetch ahead of a partition is
 * there, unless something wakes the thread of the broker: the answer to another partition's fetch,
 * or any other request. A partition that is read alone, as in replay, needs one; not one
 * whose reader was told that nothing committed comes next. */
static void nudge(struct pipe_log_reader *reader)
{
    struct kafka_log *log = reader->log;
    const char *topic = log->topics[reader->topic].name;
    int64_t low, high, now = engine_monotonic_us();
    if (reader->drained_us == 0)
        reader->drained_us = now;
    if (reader->at_end || reader->nudged || now - reader->drained_us < NUDGE_AFTER_US ||
        rd_kafka_version() >= QUEUE_BACKOFF_VERSION ||
        rd_kafka_get_watermark_offsets(log->fetcher, topic, reader->partition, &low, &high) !=
            RD_KAFKA_RESP_ERR_NO_ERROR ||
        high - reader->position < NUDGE_RECORDS)
        return;
    reader->nudged = true; /* the outcome does not matter */
    (void)rd_kafka_query_watermark_offsets(log->fetcher, topic, reader->partition, &low, &high,
                                           NUDGE_MS);
}

static bool fetch(struct pipe_log_reader *reader)
{
    free_messages(reader, reader->count);
    reader->count = reader->next = reader->freed = 0;
    ssize_t got = rd_kafka_consume_batch_queue(reader->queue, 0, reader->messages, BATCH);
    reader->count = got > 0 ? (uint32_t)got : 0;
    if (reader->count == 0) {
        nudge(reader);
    } else {
        reader->drained_us = 0;
        reader->nudged = false;
    }
    return reader->count > 0;
}

/* Looks at messages until `max` records are given, or one is to wait for another call. false:
 * failed. *stopped: the position is at `before`. */
static bool take(struct pipe_log_reader *reader, uint32_t max, int64_t before, uint32_t *given,
                 bool *stopped)
{
    while (reader->next < reader->count && *given < max) {
        const rd_kafka_message_t *message = reader->messages[reader->next];
        if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
            if (*given > 0)
                return true; /* first what came before it */
            if (is_out_of_range(message))
                return out_of_range(reader);
            reader->next++;
            if (!take_error(reader, message))
                return false;
            continue;
        }
        if (message->offset >= before) {
            reader->position = before;
            *stopped = true;
            return true;
        }
        reader->next++;
        if (message->offset < reader->position) {
            reader->log->stale_records++;
            kafka_warn(
                reader->log->common, "stale",
                "kafka: librdkafka gave a record again, at offset %lld before position %lld; "
                "it was dropped",
                (long long)message->offset, (long long)reader->position);
            continue;
        }
        fill(reader, message, &reader->records[(*given)++]);
        reader->position = message->offset + 1;
        reader->at_end = false;
        reader->out_of_range = 0;
    }
    return true;
}

static enum pipe_log_state state_of(struct pipe_log_reader *reader, int64_t before, bool stopped)
{
    return stopped || reader->position >= before || reader->at_end ? PIPE_LOG_END : PIPE_LOG_WAIT;
}

enum pipe_log_state kafka_read(struct pipe_log_reader *reader, uint32_t max_records, int64_t before,
                               struct pipe_record **records, uint32_t *count)
{
    struct kafka_log *log = reader->log;
    struct kafka_part *part = &log->topics[reader->topic].parts[reader->partition];
    uint32_t max = max_records < BATCH ? max_records : BATCH, given = 0;
    bool stopped = false;
    *count = 0;
    if (log->failed || reader->failed || reader->queue == NULL || !kafka_watch_check(log))
        return PIPE_LOG_FAILED;
    make_room(reader, max);
    free_messages(reader, reader->next);
    while (given == 0 && !stopped && reader->position < before) {
        if (reader->next == reader->count && !fetch(reader))
            break;
        if (!take(reader, max, before, &given, &stopped))
            return PIPE_LOG_FAILED;
    }
    if (part->end < reader->position)
        part->end = reader->position;
    *records = reader->records;
    *count = given;
    return given > 0 ? PIPE_LOG_RECORDS : state_of(reader, before, stopped);
}
