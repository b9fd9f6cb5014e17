/*
 * cluster_log.c: runtime/log.h over the brokers of broker.c: what a careful client does, and what
 * may happen to it. The safeguards that a client needs against its own library are not here: they
 * are log_kafka.c's, and tested with it.
 */
#include "broker.h"

#include <stdio.h>
#include <stdlib.h>

#define PREFETCH 64

struct appended { /* not sent yet */
    struct broker_place at;
    int64_t kafka_time_ms;
    struct pipe_str key, value;
};
struct put {
    struct pipe_log_position position; /* its value is owned */
    struct broker_place at;
};

struct cluster_log {
    struct pipe_log log; /* first */
    char instance[32];
    struct broker_place *joined; /* every partition of the topics that are shared */
    size_t joined_count;
    uint32_t group, member, incarnation, generation;
    bool is_member, holds, releases; /* has partitions; has been told to give them back */
    struct pipe_log_partition *held;
    uint32_t held_count;
    uint32_t producer, epoch;
    bool has_producer, fetching_producer;
    int64_t producer_at_us;
    struct appended *appended;
    size_t appended_count, sent_count;
    struct put *puts;
    size_t put_count;
    bool doomed; /* the open commit can only be aborted */
};

struct pipe_log_reader {
    struct cluster_log *log;
    struct broker_place at;
    int64_t offset;      /* of the next record */
    int64_t fetched;     /* records below are here */
    int64_t fetch_at_us; /* when the fetch that is under way arrives; 0: none is */
    struct pipe_record constant, records[PREFETCH];
};

static struct cluster_log *of(struct pipe_log *log)
{
    return (struct cluster_log *)log;
}

static struct broker_place place_of(const struct cluster_log *log, uint32_t topic,
                                    int32_t partition)
{
    return (struct broker_place){log->log.topics[topic].id, partition};
}

static bool fenced(struct cluster_log *log)
{
    log->log.fenced = true;
    snprintf(log->log.error, sizeof log->log.error, "a newer instance %s has taken over",
             log->instance);
    return false;
}

/* ---- Topics and the group ---- */

static bool cluster_topic(struct pipe_log *public, const char *name, uint32_t partitions,
                          uint32_t *topic)
{
    uint32_t id = broker_topic(name, partitions);
    for (*topic = 0; *topic < public->topic_count; (*topic)++)
        if (public->topics[*topic].id == id)
            return true;
    if (broker.topics[id].partitions != partitions)
        sim_fail("topic %s has %u partitions, not %u", name, broker.topics[id].partitions,
                 partitions);
    public->topics =
        pipe_realloc(public->topics, (public->topic_count + 1) * sizeof *public->topics);
    public->topics[public->topic_count++] =
        (struct pipe_log_topic){broker.topics[id].name, id, partitions};
    return true;
}

static bool cluster_join(struct pipe_log *public, const uint32_t *topics, uint32_t count)
{
    struct cluster_log *log = of(public);
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t p = 0; p < public->topics[topics[i]].partitions; p++) {
            log->joined = pipe_realloc(log->joined, (log->joined_count + 1) * sizeof *log->joined);
            log->joined[log->joined_count++] = (struct broker_place){topics[i], (int32_t)p};
        }
    }
    log->held = pipe_calloc(log->joined_count + 1, sizeof *log->held);
    log->member = broker_join(log->group, log->instance, &log->incarnation);
    log->is_member = true;
    snprintf(public->incarnation, sizeof public->incarnation, "simulated");
    return true;
}

/* The partitions of this generation. */
static void take_share(struct cluster_log *log)
{
    const struct broker_group_state *group = &broker.groups[log->group];
    uint32_t share = broker_share_of(log->member);
    log->generation = group->generation;
    log->held_count = 0;
    log->holds = true;
    for (size_t i = 0; i < log->joined_count; i++) {
        const struct broker_place *at = &log->joined[i];
        uint32_t owner =
            ((uint32_t)at->partition + at->topic * (group->generation & 1)) % group->owner_count;
        if (owner == share)
            log->held[log->held_count++] = (struct pipe_log_partition){at->topic, at->partition};
    }
}

static void tell(struct cluster_log *log, struct pipe_log_event *event,
                 enum pipe_log_event_kind kind, const char *what)
{
    *event = (struct pipe_log_event){kind, log->held, log->held_count};
    sim_trace("%s: %u partitions, generation %u", what, log->held_count, log->generation);
}

static bool cluster_poll(struct pipe_log *public, int64_t wait_ms, struct pipe_log_event *event)
{
    struct cluster_log *log = of(public);
    *event = (struct pipe_log_event){PIPE_LOG_NOTHING, NULL, 0};
    sim_point("poll");
    sim_sleep(wait_ms > 0 ? wait_ms * 1000 : 0);
    if (!log->is_member) {
        log->member = broker_join(log->group, log->instance, &log->incarnation);
        log->is_member = true;
    }
    if (log->releases)
        return true;
    switch (broker_heartbeat(log->member, log->incarnation)) {
    case BROKER_STEADY:
        if (!log->holds && broker_share_of(log->member) != UINT32_MAX) {
            take_share(log);
            tell(log, event, PIPE_LOG_ASSIGNED, "assigned");
        }
        return true;
    case BROKER_REBALANCE:
        if (!log->holds) {
            broker_rejoin(log->member, log->incarnation);
        } else if (sim_below(3) > 0) {
            log->releases = true;
            tell(log, event, PIPE_LOG_REVOKED, "revoked");
        }
        return true;
    case BROKER_UNKNOWN_MEMBER:
        log->is_member = false;
        if (log->holds) {
            log->releases = true;
            tell(log, event, PIPE_LOG_LOST, "lost");
        }
        return true;
    case BROKER_FENCED_MEMBER:
        break;
    }
    return fenced(log);
}

static bool cluster_release(struct pipe_log *public)
{
    struct cluster_log *log = of(public);
    sim_point("release");
    sim_trace("released");
    log->releases = log->holds = false;
    log->held_count = 0;
    if (log->is_member)
        broker_rejoin(log->member, log->incarnation);
    sim_hold_up(sim.odds.pause * 30);
    return true;
}

/* ---- Positions ---- */

static bool cluster_get_position(struct pipe_log *public, const struct pipe_log_position *of_task,
                                 struct pipe_log_committed *committed)
{
    struct cluster_log *log = of(public);
    struct broker_place at = place_of(log, of_task->at.topic, of_task->at.partition);
    sim_take_time();
    sim_point("fetch of a position");
    while (!committed->loose && broker_is_unstable(at))
        sim_sleep(sim_between(10000, 200000));
    const struct broker_partition *part = broker_part(at);
    committed->found = part->has_position;
    committed->offset = part->position;
    committed->first = 0;
    committed->value->size = 0;
    pipe_buf_add(committed->value, part->metadata.data, part->metadata.size);
    if (!committed->loose)
        sim_trace("position of %s/%d: %lld", broker.topics[at.topic].name, at.partition,
                  (long long)(part->has_position ? part->position : -1));
    return true;
}

static bool cluster_put_position(struct pipe_log *public, const struct pipe_log_position *position)
{
    struct cluster_log *log = of(public);
    if (position->value.size > public->metadata_bytes)
        sim_fail("%zu bytes of metadata", position->value.size);
    if (log->group == 1)
        sim_check_confirmed(position->name, position->value);
    log->puts = pipe_realloc(log->puts, (log->put_count + 1) * sizeof *log->puts);
    struct put *put = &log->puts[log->put_count++];
    *put = (struct put){*position, place_of(log, position->at.topic, position->at.partition)};
    put->position.value = pipe_str_of(pipe_str_dup(position->value), position->value.size);
    return true;
}

/* ---- What there is ---- */

static int64_t cluster_begin(struct pipe_log *public, uint32_t topic, int32_t partition)
{
    (void)public;
    (void)topic;
    (void)partition;
    return 0;
}

static int64_t cluster_end(const struct pipe_log *public, uint32_t topic, int32_t partition)
{
    return broker_stable(place_of((const struct cluster_log *)public, topic, partition));
}

static bool cluster_at_end(struct pipe_log *public, uint32_t topic, int32_t partition,
                           int64_t offset)
{
    const struct broker_partition *part = broker_part(place_of(of(public), topic, partition));
    if (sim_below(4) == 0)
        return false; /* the answer is not here yet */
    for (int64_t i = offset; i < part->count; i++)
        if (part->records[i].fate == BROKER_PENDING || part->records[i].fate == BROKER_COMMITTED)
            return false;
    return true;
}

/* ---- Writing ---- */

static void forget_pending(struct cluster_log *log)
{
    for (size_t i = 0; i < log->appended_count; i++) {
        free((char *)(uintptr_t)log->appended[i].key.data);
        free((char *)(uintptr_t)log->appended[i].value.data);
    }
    for (size_t i = 0; i < log->put_count; i++)
        free((char *)(uintptr_t)log->puts[i].position.value.data);
    log->appended_count = log->sent_count = log->put_count = 0;
    log->log.pending_bytes = 0;
    log->doomed = false;
}

static enum pipe_log_state cluster_ready(struct pipe_log *public)
{
    struct cluster_log *log = of(public);
    if (log->has_producer)
        return PIPE_LOG_RECORDS;
    if (log->joined_count > 0 && !log->holds)
        return PIPE_LOG_WAIT; /* an older copy is fenced in the group first */
    if (!log->fetching_producer) {
        log->fetching_producer = true;
        log->producer_at_us = sim.now_us + sim_between(0, sim_below(4) == 0 ? 4000000 : 50000);
    }
    if (sim.now_us < log->producer_at_us)
        return PIPE_LOG_WAIT;
    log->fetching_producer = false;
    if (broker_heartbeat(log->member, log->incarnation) == BROKER_FENCED_MEMBER) {
        fenced(log);
        return PIPE_LOG_FAILED;
    }
    sim_point("init of the producer");
    log->epoch = broker_init_producer(log->instance, &log->producer);
    log->has_producer = true;
    sim_trace("producer epoch %u", log->epoch);
    return PIPE_LOG_RECORDS;
}

static void send(struct cluster_log *log)
{
    while (!log->doomed && log->sent_count < log->appended_count) {
        const struct appended *record = &log->appended[log->sent_count++];
        log->doomed = !log->has_producer ||
                      !broker_append_to(log->producer, log->epoch, record->at,
                                        record->kafka_time_ms, record->key, record->value);
    }
}

static struct pipe_str keep(struct pipe_str text)
{
    return text.data == NULL ? text : pipe_str_of(pipe_str_dup(text), text.size);
}

static bool cluster_append(struct pipe_log *public, uint32_t topic, int32_t partition,
                           int64_t kafka_time_ms, struct pipe_str key, struct pipe_str value)
{
    struct cluster_log *log = of(public);
    sim_check_floor(public->topics[topic].name, partition, value);
    log->appended = pipe_realloc(log->appended, (log->appended_count + 1) * sizeof *log->appended);
    log->appended[log->appended_count++] =
        (struct appended){place_of(log, topic, partition), kafka_time_ms, keep(key), keep(value)};
    public->pending_bytes += key.size + value.size + 16;
    if (sim_below(20) == 0)
        send(log);
    return true;
}

/* Nothing of it is known to have happened; a new epoch is needed. */
static enum pipe_log_outcome unknown(struct cluster_log *log, const char *how)
{
    sim_trace("commit: %s", how);
    forget_pending(log);
    log->has_producer = false;
    sim.errors++;
    return PIPE_LOG_ABORTED;
}

static void cluster_abort(struct pipe_log *public)
{
    struct cluster_log *log = of(public);
    if (log->has_producer && !broker_end(log->producer, log->epoch, false))
        log->has_producer = false;
    forget_pending(log);
}

static enum pipe_log_outcome send_positions(struct cluster_log *log)
{
    for (size_t i = 0; i < log->put_count; i++) {
        switch (broker_add_position(log->producer, log->epoch, log->generation, log->member,
                                    log->incarnation, &log->puts[i].position, log->puts[i].at)) {
        case BROKER_DONE:
            break;
        case BROKER_FENCED:
            return unknown(log, "the epoch is over");
        case BROKER_OLD_GENERATION:
            sim_trace("commit: the generation is over");
            cluster_abort(&log->log);
            return PIPE_LOG_ABORTED;
        }
    }
    return PIPE_LOG_COMMITTED;
}

static enum pipe_log_outcome cluster_commit(struct pipe_log *public)
{
    struct cluster_log *log = of(public);
    sim_point("begin of a commit");
    send(log);
    sim_sleep(sim_between(0, 3000));
    if (log->doomed || !log->has_producer)
        return unknown(log, "the epoch was over before");
    sim_point("records are sent");
    enum pipe_log_outcome outcome = send_positions(log);
    if (outcome != PIPE_LOG_COMMITTED)
        return outcome;
    sim_point("positions are sent");
    sim_sleep(sim_between(0, 3000));
    sim_hold_up(sim.odds.pause); /* where it hurts most */
    if (sim_chance(sim.odds.store_error)) {
        switch (sim_below(3)) {
        case 0:
            broker_end(log->producer, log->epoch, true);
            return unknown(log, "done, but the answer is lost");
        case 1:
            broker_end_later(log->producer, log->epoch, true, sim_between(0, 6000000));
            return unknown(log, "under way for long");
        default:
            return unknown(log, "lost");
        }
    }
    if (!broker_end(log->producer, log->epoch, true))
        return unknown(log, "the epoch is over");
    sim_trace("commit: %zu records, %zu positions", log->appended_count, log->put_count);
    forget_pending(log);
    public->commits++;
    sim_point("committed");
    return PIPE_LOG_COMMITTED;
}

/* ---- Values: none ---- */

static bool cluster_put(struct pipe_log *public, const char *name, const void *value, size_t bytes)
{
    (void)public;
    (void)name;
    (void)value;
    (void)bytes;
    return true;
}

static bool cluster_get(struct pipe_log *public, const char *name, struct pipe_buf *value,
                        bool *found)
{
    (void)public;
    (void)name;
    value->size = 0;
    *found = false;
    return true;
}

static bool cluster_list(struct pipe_log *public, const char *prefix,
                         bool (*each)(void *context, const char *name, struct pipe_str value),
                         void *context)
{
    (void)public;
    (void)prefix;
    (void)each;
    (void)context;
    return true;
}

/* ---- Reading ---- */

static struct pipe_log_reader *cluster_reader(struct pipe_log *public, uint32_t topic,
                                              int32_t partition, int64_t offset,
                                              const struct pipe_record *constant)
{
    struct pipe_log_reader *reader = pipe_calloc(1, sizeof *reader);
    reader->log = of(public);
    reader->at = place_of(reader->log, topic, partition);
    reader->offset = reader->fetched = offset;
    reader->constant = *constant;
    return reader;
}

/* A fetch arrives: everything that is stable then, up to a limit. */
static bool fetch(struct pipe_log_reader *reader)
{
    if (reader->fetch_at_us == 0 && sim_below(3) == 0)
        reader->fetch_at_us = sim.now_us + (sim_chance(sim.odds.slow) ? sim_between(100000, 5000000)
                                                                      : sim_between(100, 30000));
    if (reader->fetch_at_us > sim.now_us)
        return false;
    int64_t stable = broker_stable(reader->at), most = reader->offset + 1 + sim_below(PREFETCH);
    reader->fetch_at_us = 0;
    reader->fetched = stable < most ? stable : most;
    return true;
}

static void skip_gaps(struct pipe_log_reader *reader, int64_t before)
{
    const struct broker_partition *part = broker_part(reader->at);
    while (reader->offset < reader->fetched && reader->offset < before &&
           part->records[reader->offset].fate != BROKER_COMMITTED)
        reader->offset++;
}

static enum pipe_log_state cluster_read(struct pipe_log_reader *reader, uint32_t max_records,
                                        int64_t before, struct pipe_record **records,
                                        uint32_t *count)
{
    const struct broker_partition *part = broker_part(reader->at);
    *count = 0;
    skip_gaps(reader, before);
    while (reader->offset < before && reader->offset >= reader->fetched) {
        if (!fetch(reader))
            return PIPE_LOG_WAIT;
        if (reader->offset >= reader->fetched)
            return PIPE_LOG_END;
        skip_gaps(reader, before);
    }
    for (; reader->offset < reader->fetched && reader->offset < before && *count < max_records &&
           *count < PREFETCH;
         skip_gaps(reader, before)) {
        const struct broker_record *from = &part->records[reader->offset];
        struct pipe_record *record = &reader->records[(*count)++];
        *record = reader->constant;
        record->offset = reader->offset++;
        record->kafka_time_ms = from->kafka_time_ms;
        record->key = from->key;
        record->payload = from->value;
    }
    *records = reader->records;
    return *count > 0 ? PIPE_LOG_RECORDS : PIPE_LOG_END;
}

static int64_t cluster_position(const struct pipe_log_reader *reader)
{
    return reader->offset;
}

static void cluster_reader_close(struct pipe_log_reader *reader)
{
    free(reader);
}

static void cluster_close(struct pipe_log *public)
{
    struct cluster_log *log = of(public);
    cluster_abort(public);
    if (log->is_member && sim_below(2) == 0) /* else its session ends by time */
        broker_leave(log->member, log->incarnation);
    free(log->joined);
    free(log->held);
    free(log->appended);
    free(log->puts);
    free(public->topics);
    free(log);
}

static const struct pipe_log_ops cluster_ops = {
    .topic = cluster_topic,
    .join = cluster_join,
    .poll = cluster_poll,
    .release = cluster_release,
    .get_position = cluster_get_position,
    .put_position = cluster_put_position,
    .begin = cluster_begin,
    .end = cluster_end,
    .at_end = cluster_at_end,
    .ready = cluster_ready,
    .append = cluster_append,
    .commit = cluster_commit,
    .abort = cluster_abort,
    .put = cluster_put,
    .get = cluster_get,
    .list = cluster_list,
    .reader = cluster_reader,
    .read = cluster_read,
    .position = cluster_position,
    .reader_close = cluster_reader_close,
    .close = cluster_close,
};

struct pipe_log *sim_cluster_open(const char *instance, uint32_t group)
{
    struct cluster_log *log = pipe_calloc(1, sizeof *log);
    log->log.ops = &cluster_ops;
    log->log.grouped = true;
    log->log.metadata_bytes = 4096;
    log->group = group;
    snprintf(log->instance, sizeof log->instance, "%s", instance);
    return &log->log;
}
