/*
 * log_kafka.c: the log on Apache Kafka: see log.h for what it does, kafka_internal.h for its parts,
 * docs/decisions/0009-librdkafka.md for why it is so.
 */
#include <stdio.h>
#include <stdlib.h>

#include "engine.h"
#include "kafka_internal.h"

#define CALL_MS 1000
#define NO_TOPIC_MS 5000         /* how long a topic may be missing at the start */
#define PREFETCH_KIB (16u << 10) /* of all partitions; as much again may be on its way */
#define FETCH_WAIT_MS 10
#define FETCH_LEAST_BYTES 16384 /* else a request for each record or two */
#define PARTITION_KIB_MIN 64u
#define PARTITION_KIB_MAX 1024u /* in one fetch */
#define METADATA_OVERHEAD 192   /* what surrounds the engine's value (kafka_position.c) */

bool kafka_fail(struct kafka_log *log, const char *format, ...)
{
    va_list args;
    if (!log->failed) {
        va_start(args, format);
        vsnprintf(log->log.error, sizeof log->log.error, format, args);
        va_end(args);
    }
    log->failed = true;
    return false;
}

void kafka_tell(struct kafka_log *log, const char *format, ...)
{
    va_list args;
    if (log->failed)
        return;
    va_start(args, format);
    vsnprintf(log->log.error, sizeof log->log.error, format, args);
    va_end(args);
}

/* ---- Opening ---- */

/* librdkafka's limits of what is fetched ahead are by partition; so they depend on how many are
 * read, which is known when the first reader comes. */
static uint32_t read_partitions(const struct kafka_log *log)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < log->group.topic_count; i++)
        count += log->topics[log->group.topics[i]].partitions;
    for (uint32_t t = 0; count == 0 && t < log->log.topic_count; t++)
        count = log->topics[t].partitions > count ? log->topics[t].partitions : count;
    return count > 0 ? count : 1;
}

bool kafka_open_fetcher(struct kafka_log *log)
{
    char queued[24], fetched[24], wait[24], least[24], error[512];
    uint32_t share_kib = log->prefetch_kib / read_partitions(log);
    share_kib = share_kib < PARTITION_KIB_MIN ? PARTITION_KIB_MIN : share_kib;
    uint32_t fetch_kib = share_kib < PARTITION_KIB_MAX ? share_kib : PARTITION_KIB_MAX;
    snprintf(queued, sizeof queued, "%u", share_kib);
    snprintf(fetched, sizeof fetched, "%u", fetch_kib << 10);
    snprintf(wait, sizeof wait, "%u", log->fetch.wait_ms);
    snprintf(least, sizeof least, "%u", log->fetch.least_bytes);
    const struct kafka_setting settings[] = {
        {"isolation.level", "read_committed"},
        {"enable.partition.eof", "true"},
        {"auto.offset.reset", "error"},
        {"check.crcs", "true"},
        {"fetch.wait.max.ms", wait},
        {"fetch.min.bytes", least},
        {"fetch.error.backoff.ms", "50"},
        {"fetch.queue.backoff.ms", "5"}, /* from 2.2 on; see nudge of kafka_reader.c */
        {"queued.max.messages.kbytes", queued},
        {"fetch.message.max.bytes", fetched},
        {"fetch.max.bytes", "8388608"},
        {"socket.timeout.ms", "6000"},
    };
    if (log->fetcher != NULL)
        return true;
    log->fetcher =
        kafka_client(log->common, RD_KAFKA_CONSUMER, settings, sizeof settings / sizeof settings[0],
                     NULL, NULL, error, sizeof error);
    return log->fetcher != NULL || kafka_fail(log, "%s", error);
}

/* The group is for offsets that need not be stable; it is not joined. */
static rd_kafka_t *open_observer(struct kafka_common *common, char *error, size_t error_bytes)
{
    const struct kafka_setting settings[] = {
        {"group.id", common->group},
        {"isolation.level", "read_uncommitted"},
        {"enable.auto.commit", "false"},
        {"socket.timeout.ms", "6000"},
    };
    return kafka_client(common, RD_KAFKA_CONSUMER, settings, sizeof settings / sizeof settings[0],
                        NULL, NULL, error, error_bytes);
}

/* ---- Topics ---- */

static void name_part(struct pipe_buf *to, const void *bytes, size_t size)
{
    pipe_buf_add(to, &size, sizeof size);
    pipe_buf_add(to, bytes, size);
}

/* The cluster, the group, and what is read: state that was made from anything else does not fit. */
void kafka_name_incarnation(struct kafka_log *log, const uint32_t *topics, uint32_t count)
{
    struct pipe_buf text = {0};
    uint64_t hash[2];
    name_part(&text, log->cluster, strlen(log->cluster));
    name_part(&text, log->common->group, strlen(log->common->group));
    for (uint32_t i = 0; i < count; i++) {
        const struct kafka_topic *topic = &log->topics[topics[i]];
        name_part(&text, topic->name, strlen(topic->name));
        name_part(&text, topic->id, KAFKA_ID_BYTES);
    }
    pipe_hash128(text.data, text.size, 0, hash);
    kafka_id_text((const uint8_t *)hash, log->log.incarnation);
    pipe_buf_free(&text);
}

static bool no_broker(struct kafka_log *log, rd_kafka_resp_err_t code)
{
    const char *brokers = kafka_setting_of(log->common, "bootstrap.servers");
    if (engine_stop_requested)
        return kafka_fail(log, "kafka: stopped before a broker at %.200s answered",
                          brokers != NULL ? brokers : "metadata.broker.list");
    if (atomic_load(&log->common->refused))
        return kafka_fail(log,
                          "kafka: the brokers at %.200s refuse this client: check "
                          "security.protocol, certificates, user name and password",
                          brokers != NULL ? brokers : "metadata.broker.list");
    return kafka_fail(log,
                      "kafka: no broker at %.200s answers (%s); check the address, and that this "
                      "machine reaches what the brokers advertise",
                      brokers != NULL ? brokers : "metadata.broker.list", rd_kafka_err2str(code));
}

/* The metadata of one topic. *partitions 0: there is no such topic. */
static rd_kafka_resp_err_t ask_topic(struct kafka_log *log, rd_kafka_topic_t *topic,
                                     int *partitions)
{
    const struct rd_kafka_metadata *metadata = NULL;
    rd_kafka_resp_err_t code = rd_kafka_metadata(log->observer, 0, topic, &metadata, CALL_MS);
    rd_kafka_poll(log->observer, 0); /* for what it says of errors */
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        return code;
    *partitions = 0;
    if (metadata->topic_cnt == 1) {
        code = metadata->topics[0].err;
        *partitions = metadata->topics[0].partition_cnt;
    }
    rd_kafka_metadata_destroy(metadata);
    if (code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) {
        *partitions = 0;
        code = RD_KAFKA_RESP_ERR_NO_ERROR;
    }
    return code;
}

static bool find_partitions(struct kafka_log *log, const char *name, rd_kafka_topic_t *topic,
                            int *partitions)
{
    int64_t began = engine_monotonic_us();
    for (;;) {
        rd_kafka_resp_err_t code = ask_topic(log, topic, partitions);
        int64_t waited_ms = (engine_monotonic_us() - began) / 1000;
        if (code == RD_KAFKA_RESP_ERR_NO_ERROR && *partitions > 0)
            return true;
        if (code == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED)
            return kafka_fail(log, "kafka: topic %s may not be seen: %s; allow DESCRIBE", name,
                              rd_kafka_err2str(code));
        if (code == RD_KAFKA_RESP_ERR_NO_ERROR && waited_ms > NO_TOPIC_MS)
            return kafka_fail(
                log, "kafka: there is no topic %s; `%s topics apply` makes what is missing", name,
                log->common->pipeline);
        if (code != RD_KAFKA_RESP_ERR_NO_ERROR &&
            (waited_ms > KAFKA_WAIT_MS || atomic_load(&log->common->refused) ||
             engine_stop_requested))
            return no_broker(log, code);
        if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
            kafka_tell_wait(log->common, began);
        engine_sleep_us(50000);
    }
}

static bool find_id(struct kafka_log *log, const char *name, uint8_t id[KAFKA_ID_BYTES])
{
    int64_t began = engine_monotonic_us();
    memset(id, 0, KAFKA_ID_BYTES);
    for (;;) {
        enum kafka_id_state state = kafka_topic_id(log->common, log->observer, name, CALL_MS, id);
        if (state != KAFKA_ID_FAILED)
            return true;
        if (engine_monotonic_us() - began > KAFKA_WAIT_MS * 1000 || engine_stop_requested)
            return kafka_fail(log, "kafka: no broker tells the id of topic %s", name);
        engine_sleep_us(50000);
    }
}

static bool find_cluster(struct kafka_log *log)
{
    if (log->cluster != NULL)
        return true;
    char *cluster = rd_kafka_clusterid(log->observer, CALL_MS * 10);
    if (cluster == NULL)
        return kafka_fail(log, "kafka: no broker tells the id of the cluster");
    size_t size = strlen(cluster) + 1;
    log->cluster = memcpy(pipe_malloc(size), cluster, size);
    rd_kafka_mem_free(log->observer, cluster);
    return true;
}

static void add_topic(struct kafka_log *log, const char *name, uint32_t partitions,
                      rd_kafka_topic_t *observed, const uint8_t id[KAFKA_ID_BYTES])
{
    uint32_t index = log->log.topic_count;
    if (index == log->topic_capacity) {
        log->topic_capacity = 2 * log->topic_capacity + 8;
        log->topics = pipe_realloc(log->topics, log->topic_capacity * sizeof *log->topics);
        log->log.topics =
            pipe_realloc(log->log.topics, log->topic_capacity * sizeof *log->log.topics);
    }
    struct kafka_topic *topic = &log->topics[index];
    size_t size = strlen(name) + 1;
    *topic = (struct kafka_topic){.partitions = partitions, .observed = observed};
    topic->name = memcpy(pipe_malloc(size), name, size);
    memcpy(topic->id, id, KAFKA_ID_BYTES);
    topic->parts = pipe_calloc(partitions, sizeof *topic->parts);
    for (uint32_t p = 0; p < partitions; p++)
        topic->parts[p].first = topic->parts[p].end = -1;
    log->log.topics[index] = (struct pipe_log_topic){topic->name, index, partitions};
    log->log.topic_count++;
}

static bool topic(struct pipe_log *public, const char *name, uint32_t partitions, uint32_t *index)
{
    struct kafka_log *log = kafka_of(public);
    uint8_t id[KAFKA_ID_BYTES];
    int found = 0;
    for (*index = 0; *index < log->log.topic_count; (*index)++) {
        if (strcmp(log->topics[*index].name, name) == 0)
            return log->topics[*index].partitions == partitions ||
                   kafka_fail(log, "kafka: topic %s is used with %u and with %u partitions", name,
                              log->topics[*index].partitions, partitions);
    }
    if (log->failed)
        return false;
    if (log->watch.started)
        return kafka_fail(log, "kafka: topic %s is asked for too late", name);
    rd_kafka_topic_t *observed = rd_kafka_topic_new(log->observer, name, NULL);
    if (observed == NULL)
        return kafka_fail(log, "kafka: '%s' cannot be the name of a topic", name);
    bool ok =
        find_partitions(log, name, observed, &found) && find_id(log, name, id) && find_cluster(log);
    if (ok && (uint32_t)found != partitions)
        ok = kafka_fail(log,
                        "kafka: topic %s has %d partitions, but the plan says %u; compile the "
                        "pipeline for %d, or make a topic of %u",
                        name, found, partitions, found, partitions);
    if (!ok) {
        rd_kafka_topic_destroy(observed);
        return false;
    }
    add_topic(log, name, partitions, observed, id);
    if (log->read_only) {
        uint32_t all[1] = {*index};
        kafka_name_incarnation(log, all, 1);
    }
    return true;
}

/* ---- Values of the run: there are none ---- */

static bool put(struct pipe_log *log, const char *name, const void *value, size_t value_bytes)
{
    (void)log, (void)name, (void)value, (void)value_bytes;
    return true;
}

static bool get(struct pipe_log *log, const char *name, struct pipe_buf *value, bool *found)
{
    (void)log, (void)name;
    value->size = 0;
    *found = false;
    return true;
}

static bool list(struct pipe_log *log, const char *prefix,
                 bool (*each)(void *context, const char *name, struct pipe_str value),
                 void *context)
{
    (void)log, (void)prefix, (void)each, (void)context;
    return true;
}

/* ---- Closing ---- */

static void close_topics(struct kafka_log *log)
{
    for (uint32_t t = 0; t < log->log.topic_count; t++) {
        struct kafka_topic *topic = &log->topics[t];
        for (uint32_t p = 0; p < topic->partitions; p++)
            kafka_reader_close(topic->parts[p].reader);
        if (topic->fetched != NULL)
            rd_kafka_topic_destroy(topic->fetched);
        if (topic->observed != NULL)
            rd_kafka_topic_destroy(topic->observed);
        free(topic->parts);
        free(topic->name);
    }
    free(log->topics);
    free(log->log.topics);
}

static void close_log(struct pipe_log *public)
{
    struct kafka_log *log = kafka_of(public);
    kafka_writer_close(log);
    kafka_watch_stop(log);
    if (log->observer != NULL)
        close_topics(log);
    kafka_member_close(log);
    if (log->fetcher != NULL)
        rd_kafka_destroy(log->fetcher);
    if (log->observer != NULL)
        rd_kafka_destroy_flags(log->observer, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
    kafka_common_drop(log->common);
    free(log->cluster);
    free(log);
}

static const struct pipe_log_ops kafka_ops = {
    .topic = topic,
    .join = kafka_join,
    .poll = kafka_poll,
    .release = kafka_release,
    .get_position = kafka_get_position,
    .put_position = kafka_put_position,
    .begin = kafka_begin,
    .end = kafka_end,
    .high = kafka_high,
    .at_end = kafka_at_end,
    .ready = kafka_ready,
    .append = kafka_append,
    .commit = kafka_commit,
    .abort = kafka_abort,
    .put = put,
    .get = get,
    .list = list,
    .reader = kafka_reader,
    .read = kafka_read,
    .position = kafka_reader_position,
    .reader_close = kafka_reader_close,
    .close = close_log,
};

struct pipe_log *pipe_log_kafka_open(const struct pipe_kafka_config *config, char *error,
                                     size_t error_bytes)
{
    struct kafka_log *log = pipe_calloc(1, sizeof *log);
    log->log.ops = &kafka_ops;
    log->log.grouped = !config->read_only;
    log->log.metadata_bytes = KAFKA_METADATA_BYTES / 4 * 3 - METADATA_OVERHEAD;
    log->read_only = config->read_only;
    log->solo = config->solo;
    log->prefetch_kib = config->prefetch_kib > 0 ? config->prefetch_kib : PREFETCH_KIB;
    log->fetch.wait_ms = config->fetch.wait_ms > 0 ? config->fetch.wait_ms : FETCH_WAIT_MS;
    log->fetch.least_bytes =
        config->fetch.least_bytes > 0 ? config->fetch.least_bytes : FETCH_LEAST_BYTES;
    log->common = kafka_common_new(config, error, error_bytes);
    if (log->common != NULL && kafka_member_open(log, error, error_bytes)) {
        log->log.open_most_us = log->common->transaction_timeout_ms * 1000 / 3;
        log->observer = open_observer(log->common, error, error_bytes);
    }
    if (log->observer != NULL)
        return &log->log;
    close_log(&log->log);
    return NULL;
}
