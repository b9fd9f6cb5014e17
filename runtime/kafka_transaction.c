/*
 * kafka_transaction.c: transactions, as the log's thread sees them.
 *
 * Outcomes (semantics.md §5):
 *   retriable                the same call again, until the deadline
 *   the transaction must go  abort, in short calls; ABORTED
 *   fatal, or the deadline   a new producer; ABORTED: the committed positions tell
 *   fenced                   by whom, the group says: a newer instance has our place there too.
 *                            Else the coordinator had aborted a slow transaction, which bumps the
 *                            epoch as well: a new producer, once the group has answered us again
 *   a record is refused      BROKEN: it would be refused again
 */
#include <stdlib.h>

#include "engine.h"
#include "kafka_producer.h"

#define FLUSH_POLL_MS 10     /* of one wait for room in the queue */
#define READY_WAIT_US 100000 /* of one call of ready */
#define OPEN_LIMIT_US (60 * 1000000LL)
#define RETRY_US 500000 /* between producers */
#define FENCED_ANSWERS 3
#define PAUSE_STEP_US 1000
#define PAUSE_MOST_US 12000

/* ---- Producers, one after the other ---- */

/* Lets the producer go; its thread ends it. What it still has on its way is fenced by the next
 * one's epoch. `last`: that long the thread is waited for. */
static void let_go(struct kafka_log *log, int64_t last_us)
{
    struct kafka_writer *writer = &log->writer;
    struct kafka_producer *producer = writer->producer;
    if (producer == NULL)
        return;
    for (uint32_t i = 0; i < writer->topic_count; i++) {
        if (writer->topics[i] != NULL)
            rd_kafka_topic_destroy(writer->topics[i]);
    }
    free(writer->topics);
    writer->topics = NULL;
    writer->topic_count = 0;
    kafka_producer_end(producer, last_us);
    writer->producer = NULL;
    writer->state = KAFKA_PRODUCER_NONE;
    writer->open = writer->replace = false;
}

static bool open_producer(struct kafka_log *log)
{
    char error[512];
    struct kafka_producer *producer = kafka_producer_new(log->common, error, sizeof error);
    if (producer == NULL)
        return kafka_fail(log, "%s", error);
    log->writer.producer = producer;
    log->writer.state = KAFKA_PRODUCER_OPENING;
    kafka_producer_ask(producer, WORK_INIT, OPEN_LIMIT_US);
    return true;
}

/* ---- ready ---- */

static enum pipe_log_state failed(struct kafka_log *log)
{
    struct kafka_writer *writer = &log->writer;
    kafka_fail(log, "kafka: %s", writer->producer->error);
    return PIPE_LOG_FAILED;
}

/* Fenced, by a newer instance or because the coordinator gave up a slow transaction? The group
 * answers a member whose place another one has with an error, and that is the last answer: the
 * first may have been on its way, the second is the error, the third never comes. */
static bool may_reopen(struct kafka_log *log)
{
    struct kafka_writer *writer = &log->writer;
    int answers = atomic_load(&log->common->group_answers);
    if (writer->was_fenced && log->group.joined &&
        answers - writer->fenced_answers < FENCED_ANSWERS)
        return false;
    writer->was_fenced = false;
    return engine_monotonic_us() >= writer->retry_us;
}

static enum pipe_log_state try_open(struct kafka_log *log)
{
    if (log->group.joined && !log->group.assigned)
        return PIPE_LOG_WAIT; /* first the group: it fences an older process of this instance */
    if (!may_reopen(log)) {
        engine_sleep_us(READY_WAIT_US / 10);
        return PIPE_LOG_WAIT;
    }
    return open_producer(log) ? PIPE_LOG_WAIT : PIPE_LOG_FAILED;
}

static void replace_producer(struct kafka_log *log)
{
    let_go(log, 0);
    log->writer.replaced++;
}

/* What init or abort has come to. */
static enum pipe_log_state after_work(struct kafka_log *log)
{
    struct kafka_writer *writer = &log->writer;
    enum kafka_result result = writer->producer->result;
    if (result == RESULT_DONE && atomic_load(&writer->producer->strays) == 0) {
        writer->state = KAFKA_PRODUCER_READY;
        return PIPE_LOG_RECORDS;
    }
    if (result == RESULT_REFUSED && writer->state == KAFKA_PRODUCER_OPENING)
        return failed(log);
    if (result != RESULT_DONE)
        kafka_warn(log->common, "producer", "kafka: %s; a new producer takes over",
                   writer->producer->error);
    if (result == RESULT_FENCED) {
        writer->was_fenced = true;
        writer->fenced_answers = atomic_load(&log->common->group_answers);
    }
    writer->retry_us = engine_monotonic_us() + (result == RESULT_DONE ? 0 : RETRY_US);
    replace_producer(log);
    return PIPE_LOG_WAIT;
}

static enum pipe_log_state step(struct kafka_log *log, int64_t limit_us)
{
    struct kafka_writer *writer = &log->writer;
    switch (writer->state) {
    case KAFKA_PRODUCER_NONE:
        return try_open(log);
    case KAFKA_PRODUCER_READY:
        if (!writer->replace)
            return PIPE_LOG_RECORDS;
        replace_producer(log);
        return PIPE_LOG_WAIT;
    case KAFKA_PRODUCER_DOOMED:
        if (writer->replace) {
            replace_producer(log);
        } else {
            writer->state = KAFKA_PRODUCER_ENDING;
            kafka_producer_ask(writer->producer, WORK_ABORT,
                               log->common->transaction_timeout_ms * 1000);
        }
        return PIPE_LOG_WAIT;
    case KAFKA_PRODUCER_OPENING:
    case KAFKA_PRODUCER_ENDING:
        if (kafka_producer_wait(writer->producer, limit_us))
            return after_work(log);
        if (engine_monotonic_us() > writer->producer->deadline_us + 2 * KAFKA_CALL_MS * 1000)
            replace_producer(log); /* the call hangs */
        return PIPE_LOG_WAIT;
    }
    return PIPE_LOG_WAIT;
}

static enum pipe_log_state ready_within(struct kafka_log *log, int64_t limit_us)
{
    int64_t until = engine_monotonic_us() + limit_us;
    for (;;) {
        enum kafka_standing standing = kafka_member_standing(log);
        if (standing != KAFKA_STANDING_GOOD)
            return standing == KAFKA_STANDING_GONE ? PIPE_LOG_FAILED : PIPE_LOG_WAIT;
        int64_t left = until - engine_monotonic_us();
        enum pipe_log_state state = step(log, left > 0 ? left : 0);
        if (state != PIPE_LOG_WAIT || left <= 0)
            return state;
        if (log->writer.state == KAFKA_PRODUCER_NONE && log->group.joined && !log->group.assigned)
            return state; /* only poll brings that on */
    }
}

enum pipe_log_state kafka_ready(struct pipe_log *public)
{
    struct kafka_log *log = kafka_of(public);
    if (log->failed || !kafka_watch_check(log))
        return PIPE_LOG_FAILED;
    return ready_within(log, READY_WAIT_US);
}

/* ---- The open transaction ---- */

static void doom(struct kafka_log *log, const char *why)
{
    log->writer.state = KAFKA_PRODUCER_DOOMED;
    kafka_warn(log->common, "doomed", "kafka: the open transaction is given up: %s", why);
}

/* A commit is answered before its markers are written, and until they are, nothing can be added to
 * the next transaction: librdkafka asks again after 20 ms, in which no record goes out. So the
 * first one is held back for a little, for as long as that has lately been needed. */
static void let_markers_be_written(struct kafka_writer *writer)
{
    struct kafka_producer *producer = writer->producer;
    if (atomic_load(&producer->refused_early))
        writer->pause_us += PAUSE_STEP_US;
    else
        writer->pause_us -= writer->pause_us / 64;
    if (writer->pause_us > PAUSE_MOST_US)
        writer->pause_us = PAUSE_MOST_US;
    int64_t left_us = writer->committed_us + writer->pause_us - engine_monotonic_us();
    if (writer->committed_us != 0 && left_us > 0)
        engine_sleep_us(left_us);
    atomic_store(&producer->refused_early, false);
    atomic_store(&producer->registered, 0);
    atomic_store(&producer->written, 0);
}

/* Begins a transaction, first waiting for a producer that had to be replaced. false: failed. The
 * transaction may be doomed already: then what is appended goes nowhere, and commit says so. */
static bool begin(struct kafka_log *log)
{
    struct kafka_writer *writer = &log->writer;
    int64_t limit_us = log->common->transaction_timeout_ms * 1000;
    if (writer->open)
        return true;
    enum pipe_log_state state = ready_within(log, limit_us);
    if (state == PIPE_LOG_FAILED)
        return false;
    writer->open = true;
    writer->opened_us = engine_monotonic_us();
    if (state != PIPE_LOG_RECORDS) {
        kafka_warn(log->common, "doomed", "kafka: no producer could be had in time");
        return true;
    }
    struct kafka_producer *producer = writer->producer;
    let_markers_be_written(writer);
    producer->produced = 0;
    producer->failure = RD_KAFKA_RESP_ERR_NO_ERROR;
    atomic_store(&producer->acknowledged, 0);
    atomic_store(&producer->failed, 0);
    rd_kafka_error_t *error = rd_kafka_begin_transaction(producer->client);
    if (error != NULL) {
        doom(log, rd_kafka_error_string(error));
        writer->replace = true;
        rd_kafka_error_destroy(error);
    }
    return true;
}

static rd_kafka_topic_t *topic_of(struct kafka_log *log, uint32_t topic)
{
    struct kafka_writer *writer = &log->writer;
    if (topic >= writer->topic_count) {
        uint32_t count = log->log.topic_count;
        writer->topics = pipe_realloc(writer->topics, count * sizeof(rd_kafka_topic_t *));
        memset(writer->topics + writer->topic_count, 0,
               (count - writer->topic_count) * sizeof(rd_kafka_topic_t *));
        writer->topic_count = count;
    }
    if (writer->topics[topic] == NULL)
        writer->topics[topic] =
            rd_kafka_topic_new(writer->producer->client, log->topics[topic].name, NULL);
    return writer->topics[topic];
}

static rd_kafka_resp_err_t produce(struct kafka_producer *producer, rd_kafka_topic_t *topic,
                                   int32_t partition, int64_t time_ms, struct pipe_str key,
                                   struct pipe_str value)
{
    return rd_kafka_producev(producer->client, RD_KAFKA_V_RKT(topic),
                             RD_KAFKA_V_PARTITION(partition),
                             RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
                             RD_KAFKA_V_VALUE((void *)(uintptr_t)value.data, value.size),
                             RD_KAFKA_V_KEY((void *)(uintptr_t)key.data, key.size),
                             RD_KAFKA_V_TIMESTAMP(time_ms > 0 ? time_ms : 0),
                             RD_KAFKA_V_OPAQUE(producer), RD_KAFKA_V_END);
}

static bool too_large(struct kafka_log *log, uint32_t topic, size_t bytes)
{
    return kafka_fail(log,
                      "kafka: a record of %zu bytes for topic %s is above message.max.bytes of the "
                      "client; raise it (--kafka message.max.bytes=…) and max.message.bytes of the "
                      "topic",
                      bytes, log->topics[topic].name);
}

bool kafka_append(struct pipe_log *public, uint32_t topic, int32_t partition, int64_t kafka_time_ms,
                  struct pipe_str key, struct pipe_str value)
{
    struct kafka_log *log = kafka_of(public);
    struct kafka_writer *writer = &log->writer;
    if (log->failed || !begin(log))
        return false;
    log->log.pending_bytes += key.size + value.size;
    int64_t until = 0;
    while (writer->state == KAFKA_PRODUCER_READY) {
        rd_kafka_resp_err_t code =
            produce(writer->producer, topic_of(log, topic), partition, kafka_time_ms, key, value);
        if (code == RD_KAFKA_RESP_ERR_NO_ERROR) {
            log->topics[topic].parts[partition].written = true;
            if ((++writer->producer->produced & 1023) == 0)
                rd_kafka_poll(writer->producer->client, 0);
            return true;
        }
        if (code == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE)
            return too_large(log, topic, key.size + value.size);
        int64_t now = engine_monotonic_us();
        until = until == 0 ? now + log->common->transaction_timeout_ms * 1000 : until;
        if (code != RD_KAFKA_RESP_ERR__QUEUE_FULL || now > until)
            doom(log, rd_kafka_err2str(code));
        else
            rd_kafka_poll(writer->producer->client, FLUSH_POLL_MS);
    }
    return true; /* doomed: commit says so */
}

/* ---- The end of a transaction ---- */

static void close_commit(struct kafka_log *log)
{
    struct kafka_writer *writer = &log->writer;
    if (writer->offsets != NULL)
        rd_kafka_topic_partition_list_destroy(writer->offsets);
    writer->offsets = NULL;
    writer->open = false;
    log->log.pending_bytes = 0;
}

static enum pipe_log_outcome committed(struct kafka_log *log)
{
    struct kafka_writer *writer = &log->writer;
    log->log.commits++;
    log->log.written_bytes += log->log.pending_bytes;
    close_commit(log);
    if (atomic_load(&writer->producer->strays) > 0) {
        kafka_warn(log->common, "strays",
                   "kafka: committed, but a request went unanswered; a new producer takes over");
        replace_producer(log);
        (void)try_open(log); /* begins; the next transaction waits for it */
    }
    return PIPE_LOG_COMMITTED;
}

/* The commit was not tried. Why may have been a record that would be refused again and again. */
static enum pipe_log_outcome doomed(struct kafka_log *log)
{
    struct kafka_producer *producer = log->writer.producer;
    close_commit(log);
    if (log->writer.state != KAFKA_PRODUCER_DOOMED || !kafka_producer_refused(producer))
        return PIPE_LOG_ABORTED;
    kafka_fail(log, "kafka: %s", producer->error);
    return PIPE_LOG_BROKEN;
}

/* The commit has failed or is unknown. */
static enum pipe_log_outcome not_committed(struct kafka_log *log, bool came_back)
{
    struct kafka_writer *writer = &log->writer;
    enum kafka_result result = came_back ? writer->producer->result : RESULT_LATE;
    close_commit(log);
    writer->state = KAFKA_PRODUCER_DOOMED;
    if (result == RESULT_REFUSED) {
        kafka_fail(log, "kafka: %s", writer->producer->error);
        return PIPE_LOG_BROKEN;
    }
    kafka_warn(log->common, "aborted", "kafka: a transaction is aborted or unknown: %s",
               came_back ? writer->producer->error : "a call of librdkafka does not come back");
    writer->replace = result != RESULT_DOOMED || atomic_load(&writer->producer->strays) > 0;
    if (result != RESULT_FENCED)
        return PIPE_LOG_ABORTED;
    writer->was_fenced = true;
    writer->fenced_answers = atomic_load(&log->common->group_answers);
    return kafka_member_standing(log) == KAFKA_STANDING_GONE ? PIPE_LOG_FENCED : PIPE_LOG_ABORTED;
}

enum pipe_log_outcome kafka_commit(struct pipe_log *public)
{
    struct kafka_log *log = kafka_of(public);
    struct kafka_writer *writer = &log->writer;
    int64_t limit_us = log->common->transaction_timeout_ms * 1500;
    if (log->failed || !kafka_watch_check(log))
        return PIPE_LOG_BROKEN;
    if (!writer->open && writer->offsets == NULL)
        return PIPE_LOG_COMMITTED; /* nothing is pending */
    if (!begin(log))
        return log->log.fenced ? PIPE_LOG_FENCED : PIPE_LOG_BROKEN;
    struct kafka_producer *producer = writer->producer;
    rd_kafka_consumer_group_metadata_t *fence = kafka_fence_copy(log);
    if (writer->offsets != NULL && fence == NULL && writer->state == KAFKA_PRODUCER_READY)
        doom(log, "its partitions belong to others now");
    if (writer->state != KAFKA_PRODUCER_READY) {
        if (fence != NULL)
            rd_kafka_consumer_group_metadata_destroy(fence);
        return doomed(log);
    }
    producer->offsets = writer->offsets;
    producer->fence = fence;
    writer->offsets = NULL;
    kafka_producer_ask(producer, WORK_COMMIT, limit_us);
    bool back = kafka_producer_wait(producer, limit_us + log->common->transaction_timeout_ms * 500);
    writer->committed_us = engine_monotonic_us();
    return back && producer->result == RESULT_DONE ? committed(log) : not_committed(log, back);
}

void kafka_abort(struct pipe_log *public)
{
    struct kafka_log *log = kafka_of(public);
    struct kafka_writer *writer = &log->writer;
    if (writer->open && writer->state == KAFKA_PRODUCER_READY)
        writer->state = KAFKA_PRODUCER_DOOMED;
    close_commit(log);
}

/* The open transaction is aborted, so that nobody has to wait for its timeout. */
void kafka_writer_close(struct kafka_log *log)
{
    struct kafka_writer *writer = &log->writer;
    kafka_abort(&log->log);
    if (writer->state == KAFKA_PRODUCER_DOOMED && !writer->replace) {
        writer->state = KAFKA_PRODUCER_ENDING;
        kafka_producer_ask(writer->producer, WORK_ABORT, 2 * KAFKA_CALL_MS * 1000);
    }
    let_go(log, 3 * KAFKA_CALL_MS * 1000);
}
