/*
 * kafka_member.c: membership in the group. The member subscribes to the input topics and takes its
 * assignments, but assigns itself nothing: records are read by the fetcher, which no rebalance
 * touches. So REVOKED can wait until the engine has committed and saved, and no prefetched record
 * of another generation can come through.
 *
 * The fence: what the group was when partitions were assigned (member, instance, generation) is
 * kept and sent with every commit until the next assignment, never a fresher one: the broker
 * compares the generation with its own, not who owns the partition.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "engine.h"
#include "kafka_internal.h"

#define JOIN_GROUP 11
#define HEARTBEAT 12
#define SYNC_GROUP 14

/* ---- Opening ---- */

static rd_kafka_resp_err_t on_response(rd_kafka_t *client, int socket, const char *broker,
                                       int32_t broker_id, int16_t api, int16_t version,
                                       int32_t correlation, size_t bytes, int64_t round_trip,
                                       rd_kafka_resp_err_t code, void *context)
{
    struct kafka_common *common = context;
    (void)client, (void)socket, (void)broker, (void)broker_id, (void)version;
    (void)correlation, (void)bytes, (void)round_trip;
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR &&
        (api == HEARTBEAT || api == JOIN_GROUP || api == SYNC_GROUP))
        atomic_fetch_add(&common->group_answers, 1);
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
    rd_kafka_conf_set_events(conf, RD_KAFKA_EVENT_REBALANCE | RD_KAFKA_EVENT_ERROR);
    (void)rd_kafka_conf_interceptor_add_on_new(conf, "pipec", on_new, context);
}

static void close_member(struct kafka_log *log)
{
    struct kafka_group *group = &log->group;
    if (group->queue != NULL) {
        rd_kafka_queue_cb_event_enable(group->queue, NULL, NULL);
        rd_kafka_queue_destroy(group->queue);
    }
    group->queue = NULL;
    if (log->member != NULL)
        rd_kafka_destroy_flags(log->member, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
    log->member = NULL;
}

bool kafka_member_open(struct kafka_log *log, char *error, size_t error_bytes)
{
    /* A commit that has no answer takes twice the transaction's timeout, in which nothing polls. */
    int64_t commit_ms = 3 * log->common->transaction_timeout_ms;
    char poll_ms[24];
    snprintf(poll_ms, sizeof poll_ms, "%" PRId64, commit_ms > 60000 ? commit_ms : 60000);
    const struct kafka_setting settings[] = {
        {"group.id", log->common->group},
        {"group.instance.id", log->common->instance},
        {"partition.assignment.strategy", "range"},
        {"session.timeout.ms", "6000"},
        {"heartbeat.interval.ms", "500"},
        {"max.poll.interval.ms", poll_ms},
        {"enable.auto.commit", "false"},
        {"enable.auto.offset.store", "false"},
        {"auto.offset.reset", "error"},
        {"isolation.level", "read_committed"}, /* of committed offsets: require-stable */
    };
    log->member =
        kafka_client(log->common, RD_KAFKA_CONSUMER, settings, sizeof settings / sizeof settings[0],
                     prepare, log->common, error, error_bytes);
    if (log->member == NULL)
        return false;
    (void)rd_kafka_poll_set_consumer(log->member);
    log->group.queue = rd_kafka_queue_get_consumer(log->member);
    return true;
}

static void on_event(rd_kafka_t *client, void *context)
{
    (void)client;
    kafka_wake(context);
}

static bool subscribe(struct kafka_log *log)
{
    struct kafka_group *group = &log->group;
    rd_kafka_topic_partition_list_t *list =
        rd_kafka_topic_partition_list_new((int)group->topic_count);
    for (uint32_t i = 0; i < group->topic_count; i++)
        rd_kafka_topic_partition_list_add(list, log->topics[group->topics[i]].name,
                                          RD_KAFKA_PARTITION_UA);
    rd_kafka_queue_cb_event_enable(group->queue, on_event, log->common);
    rd_kafka_resp_err_t code = rd_kafka_subscribe(log->member, list);
    rd_kafka_topic_partition_list_destroy(list);
    return code == RD_KAFKA_RESP_ERR_NO_ERROR ||
           kafka_fail(log, "kafka: could not join group %s: %s", log->common->group,
                      rd_kafka_err2str(code));
}

bool kafka_join(struct pipe_log *public, const uint32_t *topics, uint32_t count)
{
    struct kafka_log *log = kafka_of(public);
    struct kafka_group *group = &log->group;
    group->topics = pipe_malloc((count + 1) * sizeof *topics);
    memcpy(group->topics, topics, count * sizeof *topics);
    group->topic_count = count;
    group->joined = true;
    kafka_name_incarnation(log, topics, count);
    return kafka_claim(log) && subscribe(log) && kafka_watch_start(log);
}

/* ---- The fence ---- */

/* What is sent must name a member and a generation: a broker takes an offset without either from
 * anybody. The written form begins so since it exists; an unknown one is not judged. */
static bool binds(const rd_kafka_consumer_group_metadata_t *fence)
{
    void *bytes = NULL;
    size_t size = 0;
    int32_t generation = 0;
    rd_kafka_error_t *error = rd_kafka_consumer_group_metadata_write(fence, &bytes, &size);
    if (error != NULL) {
        rd_kafka_error_destroy(error);
        return false;
    }
    if (size >= 11 && memcmp(bytes, "CGMDv2:", 7) == 0)
        memcpy(&generation, (char *)bytes + 7, 4);
    free(bytes);
    return generation >= 0;
}

static void drop_fence(struct kafka_group *group)
{
    if (group->fence != NULL)
        rd_kafka_consumer_group_metadata_destroy(group->fence);
    group->fence = NULL;
}

static void take_fence(struct kafka_log *log)
{
    struct kafka_group *group = &log->group;
    char *member = rd_kafka_memberid(log->member);
    drop_fence(group);
    group->fence = rd_kafka_consumer_group_metadata(log->member);
    if (group->fence != NULL && (member == NULL || member[0] == '\0' || !binds(group->fence)))
        drop_fence(group); /* lost since: commits are refused until the next assignment */
    rd_kafka_mem_free(log->member, member);
}

rd_kafka_consumer_group_metadata_t *kafka_fence_copy(struct kafka_log *log)
{
    rd_kafka_consumer_group_metadata_t *copy = NULL;
    void *bytes = NULL;
    size_t size = 0;
    if (log->solo) /* nobody else writes these offsets: the producer's epoch is the fence */
        return rd_kafka_consumer_group_metadata_new(log->common->group);
    if (log->group.fence == NULL)
        return NULL;
    rd_kafka_error_t *error =
        rd_kafka_consumer_group_metadata_write(log->group.fence, &bytes, &size);
    if (error == NULL)
        error = rd_kafka_consumer_group_metadata_read(&copy, bytes, size);
    free(bytes);
    if (error != NULL)
        rd_kafka_error_destroy(error);
    return copy;
}

/* ---- Whose place it is: an error alone is no proof (kafka_claim.c) ---- */

enum kafka_standing kafka_member_standing(struct kafka_log *log)
{
    struct kafka_group *group = &log->group;
    if (log->log.fenced)
        return KAFKA_STANDING_GONE;
    if (!group->joined)
        return KAFKA_STANDING_GOOD;
    if (!group->doubt &&
        rd_kafka_fatal_error(log->member, NULL, 0) == RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID) {
        group->doubt = true;
        drop_fence(group);
    }
    if (!group->doubt)
        return KAFKA_STANDING_GOOD;
    if (group->rejoin)
        return KAFKA_STANDING_DOUBT;
    enum kafka_holder holder = kafka_claim_holder(log);
    if (holder == KAFKA_HOLDER_ANOTHER) {
        kafka_fail(log,
                   "kafka: another process runs as instance '%s' of group %s and has taken over; "
                   "give each process an instance name of its own",
                   log->common->instance, log->common->group);
        log->log.fenced = true;
        return KAFKA_STANDING_GONE;
    }
    group->rejoin = holder != KAFKA_HOLDER_UNKNOWN;
    return KAFKA_STANDING_DOUBT;
}

/* ---- Events ---- */

static bool fatal(struct kafka_log *log)
{
    char text[300] = "", clean[300];
    enum kafka_standing standing = kafka_member_standing(log);
    if (standing != KAFKA_STANDING_GOOD)
        return standing == KAFKA_STANDING_DOUBT;
    if (rd_kafka_fatal_error(log->member, text, sizeof text) == RD_KAFKA_RESP_ERR_NO_ERROR)
        return true;
    kafka_redact(log->common, text, clean, sizeof clean);
    return kafka_fail(log, "kafka: group %s is lost to this process: %s; start it again",
                      log->common->group, clean);
}

static bool take_error(struct kafka_log *log, rd_kafka_event_t *event)
{
    rd_kafka_resp_err_t code = rd_kafka_event_error(event);
    char clean[300];
    kafka_redact(log->common, rd_kafka_event_error_string(event), clean, sizeof clean);
    if (code == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED ||
        code == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED ||
        code == RD_KAFKA_RESP_ERR_INCONSISTENT_GROUP_PROTOCOL ||
        code == RD_KAFKA_RESP_ERR_INVALID_SESSION_TIMEOUT)
        return kafka_fail(log, "kafka: could not join group %s: %s", log->common->group, clean);
    if (code == RD_KAFKA_RESP_ERR__AUTHENTICATION || code == RD_KAFKA_RESP_ERR__SSL)
        atomic_store(&log->common->refused, true);
    if (code != RD_KAFKA_RESP_ERR__FATAL)
        kafka_warn(log->common, rd_kafka_err2name(code), "kafka: group %s: %s", log->common->group,
                   clean);
    return fatal(log);
}

/* Which of the log's topics it is; UINT32_MAX: none. */
static uint32_t find_topic(const struct kafka_log *log, const char *name)
{
    for (uint32_t i = 0; i < log->log.topic_count; i++) {
        if (strcmp(log->topics[i].name, name) == 0)
            return i;
    }
    return UINT32_MAX;
}

static bool take_assignment(struct kafka_log *log, const rd_kafka_topic_partition_list_t *list,
                            struct pipe_log_event *out)
{
    struct kafka_group *group = &log->group;
    rd_kafka_topic_partition_list_t *nothing = rd_kafka_topic_partition_list_new(1);
    take_fence(log); /* before assign: until then the member cannot join the next generation */
    rd_kafka_resp_err_t code = rd_kafka_assign(log->member, nothing);
    rd_kafka_topic_partition_list_destroy(nothing);
    group->count = 0;
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        return kafka_fail(log, "kafka: group %s: %s", log->common->group, rd_kafka_err2str(code));
    if ((uint32_t)list->cnt > group->capacity) {
        group->capacity = (uint32_t)list->cnt;
        group->partitions =
            pipe_realloc(group->partitions, group->capacity * sizeof *group->partitions);
    }
    for (int i = 0; i < list->cnt; i++) {
        uint32_t topic = find_topic(log, list->elems[i].topic);
        int32_t partition = list->elems[i].partition;
        if (topic == UINT32_MAX || partition >= (int32_t)log->topics[topic].partitions)
            return kafka_fail(log,
                              "kafka: group %s assigns topic %s, partition %d, which the plan does "
                              "not read; all processes of a group must be of the same plan",
                              log->common->group, list->elems[i].topic, partition);
        group->partitions[group->count++] = (struct pipe_log_partition){topic, partition};
    }
    group->assigned = true;
    if (group->count > 0)
        *out = (struct pipe_log_event){PIPE_LOG_ASSIGNED, group->partitions, group->count};
    return true;
}

static bool leave_partitions(struct kafka_log *log)
{
    struct kafka_group *group = &log->group;
    drop_fence(group);
    group->leaving = false;
    group->count = 0;
    if (group->rejoin)
        return true; /* this member is done with */
    rd_kafka_resp_err_t code = rd_kafka_assign(log->member, NULL);
    return code == RD_KAFKA_RESP_ERR_NO_ERROR || fatal(log);
}

static bool take_rebalance(struct kafka_log *log, rd_kafka_event_t *event,
                           struct pipe_log_event *out)
{
    struct kafka_group *group = &log->group;
    if (rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS)
        return take_assignment(log, rd_kafka_event_topic_partition_list(event), out);
    bool lost = rd_kafka_assignment_lost(log->member) != 0;
    if (group->count == 0)
        return leave_partitions(log);
    if (lost)
        drop_fence(group);
    group->leaving = true;
    *out = (struct pipe_log_event){lost ? PIPE_LOG_LOST : PIPE_LOG_REVOKED, group->partitions,
                                   group->count};
    return true;
}

/* A new member takes the place that is ours, once the partitions of the old one are released. */
static bool join_again(struct kafka_log *log, struct pipe_log_event *out)
{
    struct kafka_group *group = &log->group;
    char error[512];
    if (group->leaving)
        return true;
    if (group->count > 0) {
        group->leaving = true;
        *out = (struct pipe_log_event){PIPE_LOG_LOST, group->partitions, group->count};
        return true;
    }
    kafka_warn(log->common, "rejoin", "kafka: joining group %s anew", log->common->group);
    close_member(log);
    group->doubt = group->rejoin = false;
    group->assigned = false;
    return (kafka_member_open(log, error, sizeof error) || kafka_fail(log, "%s", error)) &&
           subscribe(log);
}

/* Takes what is there. */
static bool serve(struct kafka_log *log, struct pipe_log_event *out)
{
    bool ok = true;
    while (ok && out->kind == PIPE_LOG_NOTHING && !log->group.leaving && !log->group.doubt) {
        rd_kafka_event_t *event = rd_kafka_queue_poll(log->group.queue, 0);
        if (event == NULL)
            break;
        if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_REBALANCE)
            ok = take_rebalance(log, event, out);
        else if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_ERROR)
            ok = take_error(log, event);
        rd_kafka_event_destroy(event);
    }
    if (log->fetcher != NULL)
        rd_kafka_poll(log->fetcher, 0);
    rd_kafka_poll(log->observer, 0);
    ok = ok && fatal(log);
    if (ok && log->group.rejoin && out->kind == PIPE_LOG_NOTHING)
        ok = join_again(log, out);
    return ok;
}

bool kafka_poll(struct pipe_log *public, int64_t wait_ms, struct pipe_log_event *event)
{
    struct kafka_log *log = kafka_of(public);
    *event = (struct pipe_log_event){PIPE_LOG_NOTHING, NULL, 0};
    if (log->failed || !kafka_watch_check(log) || !serve(log, event))
        return false;
    if (event->kind != PIPE_LOG_NOTHING || wait_ms <= 0)
        return true;
    kafka_wait(log->common, wait_ms);
    return kafka_watch_check(log) && serve(log, event);
}

bool kafka_release(struct pipe_log *public)
{
    struct kafka_log *log = kafka_of(public);
    if (!log->group.leaving)
        return true;
    return leave_partitions(log);
}

/* A static member does not leave: if it is back within its session timeout, nothing moves. */
void kafka_member_close(struct kafka_log *log)
{
    struct kafka_group *group = &log->group;
    drop_fence(group);
    free(group->partitions);
    free(group->topics);
    close_member(log);
}
