/*
 * kafka_watch.c: a thread that asks the brokers what the log's thread must not wait for: where
 * partitions end that may be idle, and whether the topics are still what they were.
 */
#include <stdio.h>
#include <stdlib.h>

#include "engine.h"
#include "kafka_internal.h"

#define ROUND_US 250000     /* between questions about ends */
#define FRESH_US 1000000    /* how long an answer about an end counts */
#define WANTED_US 3000000   /* how long an end is asked for after it was wanted */
#define TOPICS_US 5000000   /* between looks at the topics */
#define MISSING_US 60000000 /* how long a topic may be missing: brokers are wrong now and then */
#define CALL_MS 2000

/* ---- Ends ---- */

static void collect(struct kafka_log *log, rd_kafka_topic_partition_list_t *list)
{
    int64_t now = engine_monotonic_us();
    for (uint32_t t = 0; t < log->log.topic_count; t++) {
        for (uint32_t p = 0; p < log->topics[t].partitions; p++) {
            const struct kafka_part *part = &log->topics[t].parts[p];
            if (part->wanted_us != 0 && now - part->wanted_us < WANTED_US)
                rd_kafka_topic_partition_list_add(list, log->topics[t].name, (int32_t)p)->offset =
                    RD_KAFKA_OFFSET_END;
        }
    }
}

static void note(struct kafka_log *log, const rd_kafka_topic_partition_list_t *list, int64_t asked)
{
    for (int i = 0; i < list->cnt; i++) {
        const rd_kafka_topic_partition_t *place = &list->elems[i];
        if (place->err != RD_KAFKA_RESP_ERR_NO_ERROR || place->offset < 0)
            continue;
        for (uint32_t t = 0; t < log->log.topic_count; t++) {
            if (strcmp(log->topics[t].name, place->topic) == 0) {
                log->topics[t].parts[place->partition].high = place->offset;
                log->topics[t].parts[place->partition].high_us = asked;
            }
        }
    }
}

/* One request a broker for all that is wanted. */
static void ask_ends(struct kafka_log *log)
{
    struct kafka_watch *watch = &log->watch;
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(16);
    pthread_mutex_lock(&watch->lock);
    collect(log, list);
    pthread_mutex_unlock(&watch->lock);
    int64_t asked = engine_monotonic_us();
    if (list->cnt > 0 &&
        rd_kafka_offsets_for_times(log->observer, list, CALL_MS) == RD_KAFKA_RESP_ERR_NO_ERROR) {
        pthread_mutex_lock(&watch->lock);
        note(log, list, asked);
        pthread_mutex_unlock(&watch->lock);
        kafka_wake(log->common);
    }
    rd_kafka_topic_partition_list_destroy(list);
}

/* The reader has everything below `offset`, and the high watermark is there: so nothing is behind
 * it, and the last stable offset, which lies between the two, is there too. */
bool kafka_at_end(struct pipe_log *public, uint32_t topic, int32_t partition, int64_t offset)
{
    struct kafka_log *log = kafka_of(public);
    struct kafka_watch *watch = &log->watch;
    struct kafka_part *part = &log->topics[topic].parts[partition];
    if (log->failed || !kafka_watch_start(log))
        return false;
    pthread_mutex_lock(&watch->lock);
    int64_t now = engine_monotonic_us();
    bool fresh = part->high_us != 0 && now - part->high_us < FRESH_US;
    /* What was said before our last commit does not know of its rows. */
    bool at_end = fresh && part->high == offset &&
                  !(part->written && part->high_us <= log->writer.committed_us);
    if (part->wanted_us == 0 || now - part->wanted_us > WANTED_US) {
        watch->asked = true;
        pthread_cond_signal(&watch->changed);
    }
    part->wanted_us = now;
    pthread_mutex_unlock(&watch->lock);
    return at_end;
}

bool kafka_bounds(struct kafka_log *log, uint32_t topic, int32_t partition, int64_t wait_ms,
                  int64_t *low, int64_t *high)
{
    int64_t until = engine_monotonic_us() + wait_ms * 1000;
    for (;;) {
        rd_kafka_resp_err_t code = rd_kafka_query_watermark_offsets(
            log->observer, log->topics[topic].name, partition, low, high, 1000);
        if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
            return true;
        kafka_warn(log->common, "bounds", "kafka: waiting for the bounds of %s, partition %d: %s",
                   log->topics[topic].name, partition, rd_kafka_err2str(code));
        if (engine_monotonic_us() >= until)
            return false;
        engine_sleep_us(20000);
    }
}

int64_t kafka_begin(struct pipe_log *public, uint32_t topic, int32_t partition)
{
    struct kafka_log *log = kafka_of(public);
    int64_t low, high;
    if (kafka_bounds(log, topic, partition, KAFKA_WAIT_MS, &low, &high))
        return low;
    kafka_tell(log, "kafka: no broker says where %s, partition %d begins", log->topics[topic].name,
               partition);
    return -1;
}

/* Asked the first time; from then on kept by the reader. */
int64_t kafka_end(const struct pipe_log *public, uint32_t topic, int32_t partition)
{
    struct kafka_log *log = kafka_of((struct pipe_log *)(uintptr_t) public);
    struct kafka_part *part = &log->topics[topic].parts[partition];
    int64_t low, high;
    if (part->end < 0 && kafka_open_fetcher(log) &&
        rd_kafka_query_watermark_offsets(log->fetcher, log->topics[topic].name, partition, &low,
                                         &high, CALL_MS) == RD_KAFKA_RESP_ERR_NO_ERROR)
        part->end = high; /* the fetcher is read_committed: the last stable offset */
    return part->end < 0 ? 0 : part->end;
}

int64_t kafka_high(const struct pipe_log *public, uint32_t topic, int32_t partition)
{
    const struct kafka_log *log = kafka_of((struct pipe_log *)(uintptr_t) public);
    const struct kafka_part *part = &log->topics[topic].parts[partition];
    int64_t low, high;
    if (log->fetcher == NULL ||
        rd_kafka_get_watermark_offsets(log->fetcher, log->topics[topic].name, partition, &low,
                                       &high) != RD_KAFKA_RESP_ERR_NO_ERROR ||
        high < part->end)
        return part->end;
    return high;
}

/* ---- Topics ---- */

static void stop_because(struct kafka_log *log, const char *format, ...) PIPE_PRINTF(2, 3);
static void stop_because(struct kafka_log *log, const char *format, ...)
{
    struct kafka_watch *watch = &log->watch;
    va_list args;
    if (atomic_load(&watch->failed))
        return;
    va_start(args, format);
    vsnprintf(watch->error, sizeof watch->error, format, args);
    va_end(args);
    atomic_store(&watch->failed, true);
    kafka_wake(log->common);
}

static void judge_partitions(struct kafka_log *log, struct kafka_topic *topic,
                             const rd_kafka_metadata_topic_t *found)
{
    int64_t now = engine_monotonic_us();
    if (found->err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) {
        topic->missing_us = topic->missing_us == 0 ? now : topic->missing_us;
        if (now - topic->missing_us > MISSING_US)
            stop_because(log, "kafka: topic %s is gone; a pipeline cannot go on without it",
                         topic->name);
        return;
    }
    if (found->err != RD_KAFKA_RESP_ERR_NO_ERROR)
        return;
    topic->missing_us = 0;
    if ((uint32_t)found->partition_cnt != topic->partitions)
        stop_because(log,
                     "kafka: topic %s grew from %u to %d partitions: keys have moved, and the plan "
                     "is for %u; make a topic of the old number, or a pipeline for the new one",
                     topic->name, topic->partitions, found->partition_cnt, topic->partitions);
}

static void judge_id(struct kafka_log *log, struct kafka_topic *topic)
{
    static const uint8_t zeros[KAFKA_ID_BYTES];
    uint8_t id[KAFKA_ID_BYTES];
    char had[33], has[33];
    if (memcmp(topic->id, zeros, KAFKA_ID_BYTES) == 0 ||
        kafka_topic_id(log->common, log->observer, topic->name, CALL_MS, id) != KAFKA_ID_KNOWN ||
        memcmp(topic->id, id, KAFKA_ID_BYTES) == 0)
        return;
    kafka_id_text(topic->id, had);
    kafka_id_text(id, has);
    stop_because(log,
                 "kafka: topic %s was deleted and made anew: its id was %s and is %s; what was "
                 "committed does not fit it",
                 topic->name, had, has);
}

static void look_at_topics(struct kafka_log *log)
{
    const struct rd_kafka_metadata *metadata = NULL;
    if (rd_kafka_metadata(log->observer, 0, NULL, &metadata, CALL_MS) != RD_KAFKA_RESP_ERR_NO_ERROR)
        return; /* brokers that are away change no topics */
    for (uint32_t t = 0; t < log->log.topic_count; t++) {
        for (int i = 0; i < metadata->topic_cnt; i++) {
            if (strcmp(metadata->topics[i].topic, log->topics[t].name) == 0)
                judge_partitions(log, &log->topics[t], &metadata->topics[i]);
        }
    }
    rd_kafka_metadata_destroy(metadata);
    for (uint32_t t = 0; t < log->log.topic_count; t++)
        judge_id(log, &log->topics[t]);
}

/* ---- The thread ---- */

static void rest(struct kafka_watch *watch)
{
    struct timespec until;
    int64_t at = engine_monotonic_us() + ROUND_US;
    until.tv_sec = at / 1000000;
    until.tv_nsec = at % 1000000 * 1000;
    while (!watch->stop && !watch->asked) {
        if (pthread_cond_timedwait(&watch->changed, &watch->lock, &until) != 0)
            break;
    }
    watch->asked = false;
}

static void *run(void *context)
{
    struct kafka_log *log = context;
    struct kafka_watch *watch = &log->watch;
    int64_t looked_us = engine_monotonic_us();
    pthread_mutex_lock(&watch->lock);
    while (!watch->stop) {
        rest(watch);
        if (watch->stop)
            break;
        pthread_mutex_unlock(&watch->lock);
        ask_ends(log);
        if (engine_monotonic_us() - looked_us >= TOPICS_US) {
            look_at_topics(log);
            looked_us = engine_monotonic_us();
        }
        pthread_mutex_lock(&watch->lock);
    }
    pthread_mutex_unlock(&watch->lock);
    return NULL;
}

/* From then on the log finds no more topics: the thread goes through them. */
bool kafka_watch_start(struct kafka_log *log)
{
    struct kafka_watch *watch = &log->watch;
    pthread_condattr_t monotonic;
    if (watch->started)
        return true;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&watch->lock, NULL);
    pthread_cond_init(&watch->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (pthread_create(&watch->thread, NULL, run, log) != 0)
        return kafka_fail(log, "kafka: no thread could be started; raise the limit of processes");
    watch->started = true;
    return true;
}

void kafka_watch_stop(struct kafka_log *log)
{
    struct kafka_watch *watch = &log->watch;
    if (!watch->started)
        return;
    pthread_mutex_lock(&watch->lock);
    watch->stop = true;
    pthread_cond_signal(&watch->changed);
    pthread_mutex_unlock(&watch->lock);
    pthread_join(watch->thread, NULL);
    pthread_mutex_destroy(&watch->lock);
    pthread_cond_destroy(&watch->changed);
    watch->started = false;
}

bool kafka_watch_check(struct kafka_log *log)
{
    return !atomic_load(&log->watch.failed) || kafka_fail(log, "%s", log->watch.error);
}
