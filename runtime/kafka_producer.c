/*
 * kafka_producer.c: a producer and the thread that makes its blocking calls.
 *
 * The blocking calls of librdkafka (init, send offsets, commit, abort) run on a thread of the
 * producer they belong to, one at a time, and the log waits for them with a deadline of its own:
 * rd_kafka_send_offsets_to_transaction is known not to keep its timeout. A call that does not come
 * back is left behind with its producer, which is destroyed when it does; the next producer has the
 * same transactional.id, so its epoch fences whatever the old one still has on its way.
 *
 * Strays: no version of librdkafka has KIP-890, so a request of one transaction that was cut off
 * and sent again may arrive late, in the next one, and commit or spoil it. on_response sees every
 * request that ended without an answer; if there is one, the producer is replaced before its next
 * transaction, also when the commit went well.
 */
#include <stdio.h>
#include <stdlib.h>

#include "engine.h"
#include "kafka_producer.h"

#define REQUEST_MS 4000  /* of one request to a broker */
#define FLUSH_BEGIN_MS 1 /* what lingers begins to go out */
#define PRODUCE 0        /* APIs */
#define ADD_PARTITIONS 24
#define REFUSED_AGAIN_US 18000 /* librdkafka asks again after 20 ms */

/* ---- What librdkafka tells; any thread ---- */

/* A record that is refused now is refused again. */
static bool is_refusal(rd_kafka_resp_err_t code)
{
    switch ((int)code) {
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE:
    case RD_KAFKA_RESP_ERR_INVALID_RECORD:
    case RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP:
    case RD_KAFKA_RESP_ERR_POLICY_VIOLATION:
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_INVALID_TRANSACTION_TIMEOUT:
    case RD_KAFKA_RESP_ERR_OFFSET_METADATA_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_UNSUPPORTED_VERSION:
    case RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE:
    case RD_KAFKA_RESP_ERR_INVALID_REQUIRED_ACKS:
        return true;
    default:
        return false;
    }
}

/* A refused batch takes what was queued behind it along: the refusal counts, and of its records the
 * longest, which is the likeliest cause. */
static bool tells_more(const struct kafka_producer *producer, const rd_kafka_message_t *message)
{
    if (producer->failure == RD_KAFKA_RESP_ERR_NO_ERROR)
        return true;
    return is_refusal(message->err) &&
           (!is_refusal(producer->failure) || message->len > producer->failed_bytes);
}

static void on_delivery(rd_kafka_t *client, const rd_kafka_message_t *message, void *opaque)
{
    struct kafka_producer *producer = message->_private;
    (void)client;
    (void)opaque;
    if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
        atomic_fetch_add(&producer->acknowledged, 1);
        return;
    }
    pthread_mutex_lock(&producer->lock);
    if (tells_more(producer, message)) {
        producer->failure = message->err;
        producer->failed_bytes = message->len;
        snprintf(producer->failed_at, sizeof producer->failed_at, "%s, partition %d, %zu bytes",
                 rd_kafka_topic_name(message->rkt), message->partition, message->len);
    }
    pthread_mutex_unlock(&producer->lock);
    atomic_fetch_add(&producer->failed, 1);
}

/* Produce, AddPartitionsToTxn, AddOffsetsToTxn, EndTxn, TxnOffsetCommit: what acts on whatever
 * transaction is open when it arrives. */
static bool acts_on_transaction(int16_t api)
{
    return api == PRODUCE || (api >= ADD_PARTITIONS && api <= 26) || api == 28;
}

/* A second request that was sent as long after the first one's answer as librdkafka waits when it
 * is refused, and before any record went out, is that first one again; an earlier one adds other
 * partitions. */
static void note_registered(struct kafka_producer *producer, int64_t round_trip_us)
{
    int64_t now = engine_monotonic_us();
    switch (atomic_fetch_add(&producer->registered, 1)) {
    case 0:
        atomic_store(&producer->registered_us, now);
        break;
    case 1:
        if (atomic_load(&producer->written) == 0 &&
            now - round_trip_us - atomic_load(&producer->registered_us) >= REFUSED_AGAIN_US)
            atomic_store(&producer->refused_early, true);
        break;
    default:
        break;
    }
}

static rd_kafka_resp_err_t on_response(rd_kafka_t *client, int socket, const char *broker,
                                       int32_t broker_id, int16_t api, int16_t version,
                                       int32_t correlation, size_t bytes, int64_t round_trip,
                                       rd_kafka_resp_err_t code, void *context)
{
    struct kafka_producer *producer = context;
    (void)client, (void)socket, (void)broker, (void)broker_id, (void)version;
    (void)correlation, (void)bytes;
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR && acts_on_transaction(api))
        atomic_fetch_add(&producer->strays, 1);
    if (api == PRODUCE)
        atomic_fetch_add(&producer->written, 1);
    if (api == ADD_PARTITIONS)
        note_registered(producer, round_trip);
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static rd_kafka_resp_err_t on_new(rd_kafka_t *client, const rd_kafka_conf_t *conf, void *context,
                                  char *error, size_t error_bytes)
{
    (void)conf, (void)error, (void)error_bytes;
    return rd_kafka_interceptor_add_on_response_received(client, "pipec", on_response, context);
}

static void prepare(rd_kafka_conf_t *conf, void *context)
{
    rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
    (void)rd_kafka_conf_interceptor_add_on_new(conf, "pipec", on_new, context);
}

/* ---- The producer's thread ---- */

static bool is_fencing(rd_kafka_resp_err_t code)
{
    return code == RD_KAFKA_RESP_ERR__FENCED || code == RD_KAFKA_RESP_ERR_PRODUCER_FENCED ||
           code == RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH;
}

static enum kafka_result say(struct kafka_producer *producer, enum kafka_result result,
                             const char *doing, const char *cause)
{
    char clean[300];
    kafka_redact(producer->common, cause, clean, sizeof clean);
    snprintf(producer->error, sizeof producer->error, "could not %s: %s", doing, clean);
    return result;
}

/* What an error of a transactional call means; takes it. retry: the same call again. */
static enum kafka_result judge(struct kafka_producer *producer, rd_kafka_error_t *error,
                               const char *doing, bool *retry)
{
    rd_kafka_resp_err_t code = rd_kafka_error_code(error);
    enum kafka_result result = RESULT_FATAL;
    char text[256];
    *retry = rd_kafka_error_is_retriable(error) && !rd_kafka_error_txn_requires_abort(error) &&
             !rd_kafka_error_is_fatal(error);
    if (code == RD_KAFKA_RESP_ERR__FATAL)
        code = rd_kafka_fatal_error(producer->client, text, sizeof text);
    if (is_fencing(code))
        result = RESULT_FENCED;
    else if (is_refusal(code))
        result = RESULT_REFUSED;
    else if (rd_kafka_error_txn_requires_abort(error))
        result = RESULT_DOOMED;
    say(producer, result, doing, rd_kafka_error_string(error));
    rd_kafka_error_destroy(error);
    return result;
}

static int64_t all_left_ms(const struct kafka_producer *producer)
{
    int64_t left = (producer->deadline_us - engine_monotonic_us()) / 1000;
    return left > 0 ? left : 0;
}

static int left_ms(const struct kafka_producer *producer)
{
    int64_t left = all_left_ms(producer);
    return left > KAFKA_CALL_MS ? KAFKA_CALL_MS : (int)left;
}

/* One kind of call until it succeeds, fails for good, or the deadline passes. */
static enum kafka_result repeat(struct kafka_producer *producer, const char *doing,
                                rd_kafka_error_t *(*call)(struct kafka_producer *producer, int ms))
{
    for (;;) {
        int ms = left_ms(producer);
        bool retry;
        if (ms == 0)
            return say(producer, RESULT_LATE, doing, "no answer in time");
        rd_kafka_error_t *error = call(producer, ms);
        if (error == NULL)
            return RESULT_DONE;
        rd_kafka_resp_err_t code = rd_kafka_error_code(error);
        enum kafka_result result = judge(producer, error, doing, &retry);
        if (!retry)
            return result;
        kafka_warn(producer->common, doing, "kafka: waiting: %s", producer->error);
        if (code != RD_KAFKA_RESP_ERR__TIMED_OUT)
            engine_sleep_us(20000);
    }
}

static rd_kafka_error_t *call_init(struct kafka_producer *producer, int ms)
{
    return rd_kafka_init_transactions(producer->client, ms);
}

/* Two requests, one after the other, and a call that is made again makes both: one that has less
 * time than they need would never come to an end. */
static rd_kafka_error_t *call_offsets(struct kafka_producer *producer, int ms)
{
    (void)ms;
    return rd_kafka_send_offsets_to_transaction(producer->client, producer->offsets,
                                                producer->fence, (int)all_left_ms(producer));
}

static rd_kafka_error_t *call_commit(struct kafka_producer *producer, int ms)
{
    return rd_kafka_commit_transaction(producer->client, ms);
}

static rd_kafka_error_t *call_abort(struct kafka_producer *producer, int ms)
{
    return rd_kafka_abort_transaction(producer->client, ms);
}

/* A record that was not taken. */
static enum kafka_result judge_failure(struct kafka_producer *producer)
{
    char text[700], place[300];
    pthread_mutex_lock(&producer->lock);
    rd_kafka_resp_err_t code = producer->failure;
    snprintf(place, sizeof place, "%s", producer->failed_at);
    pthread_mutex_unlock(&producer->lock);
    snprintf(text, sizeof text, "%s (%s)", rd_kafka_err2str(code), place);
    if (code == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE)
        snprintf(
            text, sizeof text,
            "%s: the broker takes no record, or no batch of records, of that size; raise "
            "max.message.bytes of the topic (batches alone: give --kafka batch.size=… below it)",
            place);
    return say(producer, is_refusal(code) ? RESULT_REFUSED : RESULT_DOOMED, "write a record", text);
}

/* Every record that was produced has been acknowledged, as librdkafka counts and as we do. */
static enum kafka_result flush(struct kafka_producer *producer)
{
    for (;;) {
        int ms = left_ms(producer);
        if (atomic_load(&producer->failed) > 0)
            return judge_failure(producer);
        if (atomic_load(&producer->acknowledged) == producer->produced)
            return RESULT_DONE;
        if (ms == 0)
            return say(producer, RESULT_LATE, "write records", "no answer in time");
        if (rd_kafka_flush(producer->client, ms) == RD_KAFKA_RESP_ERR_NO_ERROR &&
            atomic_load(&producer->failed) == 0 &&
            atomic_load(&producer->acknowledged) != producer->produced)
            return say(producer, RESULT_FATAL, "write records",
                       "librdkafka has acknowledged another number than was produced");
        if (rd_kafka_fatal_error(producer->client, NULL, 0) != RD_KAFKA_RESP_ERR_NO_ERROR)
            return RESULT_DONE; /* the commit call tells what */
    }
}

static rd_kafka_resp_err_t first_failure(struct kafka_producer *producer)
{
    pthread_mutex_lock(&producer->lock);
    rd_kafka_resp_err_t code = producer->failure;
    pthread_mutex_unlock(&producer->lock);
    return code;
}

static enum kafka_result do_commit(struct kafka_producer *producer)
{
    enum kafka_result result = RESULT_DONE;
    (void)rd_kafka_flush(producer->client, FLUSH_BEGIN_MS);
    if (producer->offsets != NULL) /* records go out meanwhile */
        result = repeat(producer, "send the positions", call_offsets);
    if (result == RESULT_DONE)
        result = flush(producer);
    PIPE_CRASH_POINT("kafka_before_commit");
    if (result == RESULT_DONE)
        result = repeat(producer, "commit", call_commit);
    PIPE_CRASH_POINT("kafka_after_commit");
    if (result != RESULT_DOOMED && result != RESULT_REFUSED)
        return result;
    rd_kafka_poll(producer->client, 0); /* if for a record, then that is to be told */
    if (atomic_load(&producer->failed) == 0)
        return result;
    if (result == RESULT_REFUSED && !is_refusal(first_failure(producer)))
        return result; /* the records only went down with the transaction */
    return judge_failure(producer);
}

bool kafka_producer_refused(struct kafka_producer *producer)
{
    rd_kafka_poll(producer->client, 0);
    return atomic_load(&producer->failed) > 0 && judge_failure(producer) == RESULT_REFUSED;
}

static enum kafka_result do_work(struct kafka_producer *producer)
{
    switch (producer->work) {
    case WORK_INIT:
        return repeat(producer, "begin as a producer", call_init);
    case WORK_COMMIT:
        return do_commit(producer);
    case WORK_ABORT:
        return repeat(producer, "abort", call_abort);
    case WORK_NONE:
        break;
    }
    return RESULT_DONE;
}

static void forget_work(struct kafka_producer *producer)
{
    if (producer->offsets != NULL)
        rd_kafka_topic_partition_list_destroy(producer->offsets);
    if (producer->fence != NULL)
        rd_kafka_consumer_group_metadata_destroy(producer->fence);
    producer->offsets = NULL;
    producer->fence = NULL;
}

static void destroy(struct kafka_producer *producer)
{
    /* Records still in the queue belong to no transaction that could commit. */
    (void)rd_kafka_purge(producer->client, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT |
                                               RD_KAFKA_PURGE_F_NON_BLOCKING);
    rd_kafka_destroy(producer->client);
    forget_work(producer);
    kafka_common_drop(producer->common);
    pthread_mutex_destroy(&producer->lock);
    pthread_cond_destroy(&producer->changed);
    free(producer);
}

static void *work(void *context)
{
    struct kafka_producer *producer = context;
    pthread_mutex_lock(&producer->lock);
    while (!producer->left) {
        if (producer->work == WORK_NONE) {
            pthread_cond_wait(&producer->changed, &producer->lock);
            continue;
        }
        pthread_mutex_unlock(&producer->lock);
        enum kafka_result result = do_work(producer);
        pthread_mutex_lock(&producer->lock);
        producer->result = result;
        forget_work(producer);
        producer->work = WORK_NONE;
        pthread_cond_broadcast(&producer->changed);
    }
    pthread_mutex_unlock(&producer->lock);
    if (producer->forget)
        pthread_detach(pthread_self());
    destroy(producer);
    return NULL;
}

/* ---- The log's thread: work and waiting for it ---- */

void kafka_producer_ask(struct kafka_producer *producer, enum kafka_work what, int64_t limit_us)
{
    pthread_mutex_lock(&producer->lock);
    producer->work = what;
    producer->deadline_us = engine_monotonic_us() + limit_us;
    pthread_cond_broadcast(&producer->changed);
    pthread_mutex_unlock(&producer->lock);
}

bool kafka_producer_wait(struct kafka_producer *producer, int64_t limit_us)
{
    struct timespec until;
    int64_t at = engine_monotonic_us() + limit_us;
    until.tv_sec = at / 1000000;
    until.tv_nsec = at % 1000000 * 1000;
    pthread_mutex_lock(&producer->lock);
    while (producer->work != WORK_NONE) {
        if (pthread_cond_timedwait(&producer->changed, &producer->lock, &until) != 0)
            break;
    }
    bool done = producer->work == WORK_NONE;
    pthread_mutex_unlock(&producer->lock);
    return done;
}

void kafka_producer_end(struct kafka_producer *producer, int64_t wait_us)
{
    bool join = wait_us > 0 && kafka_producer_wait(producer, wait_us);
    pthread_t thread = producer->thread;
    pthread_mutex_lock(&producer->lock);
    producer->left = true;
    producer->forget = !join; /* it may take long, or never end */
    pthread_cond_broadcast(&producer->changed);
    pthread_mutex_unlock(&producer->lock);
    if (join)
        pthread_join(thread, NULL);
}

static void set_conf(char *to, size_t to_bytes, int64_t value)
{
    snprintf(to, to_bytes, "%lld", (long long)value);
}

struct kafka_producer *kafka_producer_new(struct kafka_common *common, char *error,
                                          size_t error_bytes)
{
    char id[512], timeout[24], request_timeout[24];
    pthread_condattr_t monotonic;
    struct kafka_producer *producer = pipe_calloc(1, sizeof *producer);
    snprintf(id, sizeof id, "pipec.%s.%s", common->group, common->instance);
    set_conf(timeout, sizeof timeout, common->transaction_timeout_ms);
    set_conf(request_timeout, sizeof request_timeout,
             common->transaction_timeout_ms < REQUEST_MS ? common->transaction_timeout_ms
                                                         : REQUEST_MS);
    const struct kafka_setting settings[] = {
        {"enable.idempotence", "true"},
        {"transactional.id", id},
        {"transaction.timeout.ms", timeout},
        {"linger.ms", "20"}, /* a commit does not wait for it; batches are greater */
        {"socket.timeout.ms", request_timeout},
        {"message.max.bytes", "8000000"}, /* see KAFKA_TOPIC_MESSAGE_BYTES */
        {"queue.buffering.max.kbytes", "65536"},
        {"queue.buffering.max.messages", "1000000"},
    };
    producer->common = common;
    producer->client =
        kafka_client(common, RD_KAFKA_PRODUCER, settings, sizeof settings / sizeof settings[0],
                     prepare, producer, error, error_bytes);
    if (producer->client == NULL) {
        free(producer);
        return NULL;
    }
    kafka_common_keep(common);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&producer->lock, NULL);
    pthread_cond_init(&producer->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (pthread_create(&producer->thread, NULL, work, producer) == 0)
        return producer;
    snprintf(error, error_bytes, "kafka: no thread could be started; raise the limit of processes");
    destroy(producer);
    return NULL;
}
