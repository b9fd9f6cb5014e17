/* traffic_position.c: see traffic_position.h. */
#include <inttypes.h>
#include <stdlib.h>

#include "engine.h"
#include "kafka_internal.h"
#include "traffic_position.h"

#define ASK_MS 5000
#define TRIES 10

/* ---- One ---- */

static void group_prefix(const struct pipe_plan *plan, const struct pipe_traffic_def *def,
                         char to[TRAFFIC_GROUP_BYTES])
{
    snprintf(to, TRAFFIC_GROUP_BYTES, "pipec.%.200s.traffic.%.200s.", plan->name, def->name);
}

void traffic_group_name(const struct pipe_plan *plan, const struct pipe_traffic_def *def,
                        uint64_t seed, char to[TRAFFIC_GROUP_BYTES])
{
    group_prefix(plan, def, to);
    size_t size = strlen(to);
    snprintf(to + size, TRAFFIC_GROUP_BYTES - size, "%" PRIu64, seed);
}

void traffic_position_write(struct pipe_buf *to, const struct pipe_ledger_head *head)
{
    pipe_avro_put_long(to, (int64_t)head->position);
    pipe_avro_put_long(to, head->options.count);
    pipe_avro_put_long(to, pipe_rate_store(head->options.rate_per_hour));
    pipe_avro_put_long(to, (int64_t)head->options.seed);
    pipe_avro_put_long(to, head->options.start_ms);
    pipe_feeder_put_stops(to, &head->options);
}

bool traffic_position_read(struct pipe_str value, struct pipe_ledger_head *head)
{
    struct pipe_reader reader;
    int64_t position, seed, rate;
    pipe_reader_init(&reader, value.data, value.size, NULL);
    if (!pipe_avro_long(&reader, &position) || !pipe_avro_long(&reader, &head->options.count) ||
        !pipe_avro_long(&reader, &rate) || !pipe_avro_long(&reader, &seed) ||
        !pipe_avro_long(&reader, &head->options.start_ms) ||
        !pipe_feeder_get_stops(&reader, &head->options) || position < 0 || seed < 0 ||
        !pipe_rate_load(rate, &head->options.rate_per_hour))
        return false;
    head->position = (uint64_t)position;
    head->options.seed = (uint64_t)seed;
    return true;
}

/* ---- All ---- */

static rd_kafka_AdminOptions_t *options_for(rd_kafka_t *client, rd_kafka_admin_op_t operation)
{
    char text[256];
    rd_kafka_AdminOptions_t *options = rd_kafka_AdminOptions_new(client, operation);
    (void)rd_kafka_AdminOptions_set_request_timeout(options, ASK_MS, text, sizeof text);
    if (operation == RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS)
        rd_kafka_error_destroy(rd_kafka_AdminOptions_set_require_stable_offsets(options, 1));
    return options;
}

/* Which traffic of the plan the group is one of; UINT32_MAX: none. */
static uint32_t traffic_of(const struct pipe_plan *plan, const char *group)
{
    for (uint32_t i = 0; i < plan->traffic_count; i++) {
        char prefix[TRAFFIC_GROUP_BYTES];
        group_prefix(plan, &plan->traffics[i], prefix);
        const char *seed = group + strlen(prefix);
        if (strncmp(group, prefix, strlen(prefix)) == 0 && *seed != '\0' &&
            seed[strspn(seed, "0123456789")] == '\0')
            return i;
    }
    return UINT32_MAX;
}

/* One listing; RETRY: no whole answer. */
enum answer { ANSWER_WHOLE, ANSWER_RETRY, ANSWER_REFUSED };

static enum answer judge(rd_kafka_resp_err_t code, const char *what, char *error,
                         size_t error_bytes)
{
    snprintf(error, error_bytes, "kafka: %s: %s", what, rd_kafka_err2str(code));
    return code == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED ||
                   code == RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED
               ? ANSWER_REFUSED
               : ANSWER_RETRY;
}

static enum answer take_groups(const struct pipe_plan *plan, rd_kafka_event_t *event,
                               struct traffic_found **found, uint32_t *count, char *error,
                               size_t error_bytes)
{
    size_t groups, errors;
    const rd_kafka_ListConsumerGroups_result_t *result =
        rd_kafka_event_ListConsumerGroups_result(event);
    rd_kafka_resp_err_t code = rd_kafka_event_error(event);
    if (result == NULL || code != RD_KAFKA_RESP_ERR_NO_ERROR)
        return judge(code, "the groups could not be listed", error, error_bytes);
    const rd_kafka_error_t **wrong = rd_kafka_ListConsumerGroups_result_errors(result, &errors);
    if (errors > 0) /* a broker is missing: its groups are, too */
        return judge(rd_kafka_error_code(wrong[0]), "the groups could not be listed", error,
                     error_bytes);
    const rd_kafka_ConsumerGroupListing_t **list =
        rd_kafka_ListConsumerGroups_result_valid(result, &groups);
    *found = pipe_calloc(groups + 1, sizeof **found);
    *count = 0;
    for (size_t i = 0; i < groups; i++) {
        const char *name = rd_kafka_ConsumerGroupListing_group_id(list[i]);
        uint32_t traffic = traffic_of(plan, name);
        if (traffic == UINT32_MAX)
            continue;
        struct traffic_found *one = &(*found)[(*count)++];
        snprintf(one->group, sizeof one->group, "%s", name);
        one->head.traffic = traffic;
        one->head.partitions = plan->sources[plan->traffics[traffic].source].partitions;
    }
    return ANSWER_WHOLE;
}

static enum answer list_groups(struct kafka_log *log, const struct pipe_plan *plan,
                               struct traffic_found **found, uint32_t *count, char *error,
                               size_t error_bytes)
{
    enum answer answer = ANSWER_RETRY;
    rd_kafka_queue_t *queue = rd_kafka_queue_new(log->observer);
    rd_kafka_AdminOptions_t *options =
        options_for(log->observer, RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPS);
    rd_kafka_ListConsumerGroups(log->observer, options, queue);
    rd_kafka_event_t *event = rd_kafka_queue_poll(queue, 2 * ASK_MS);
    if (event != NULL) {
        answer = take_groups(plan, event, found, count, error, error_bytes);
        rd_kafka_event_destroy(event);
    } else {
        snprintf(error, error_bytes, "kafka: the groups could not be listed: no answer");
    }
    rd_kafka_AdminOptions_destroy(options);
    rd_kafka_queue_destroy(queue);
    return answer;
}

/* *found false: of another plan, or nothing is committed. */
static enum answer take_offset(const struct pipe_plan *plan, rd_kafka_event_t *event,
                               struct traffic_found *one, bool *found, char *error,
                               size_t error_bytes)
{
    size_t groups = 0;
    struct pipe_buf value = {0};
    struct kafka_metadata metadata;
    const rd_kafka_ListConsumerGroupOffsets_result_t *result =
        rd_kafka_event_ListConsumerGroupOffsets_result(event);
    rd_kafka_resp_err_t code = rd_kafka_event_error(event);
    const rd_kafka_topic_partition_list_t *list = NULL;
    *found = false;
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR && result != NULL) {
        const rd_kafka_group_result_t **all =
            rd_kafka_ListConsumerGroupOffsets_result_groups(result, &groups);
        code = groups == 1 ? rd_kafka_error_code(rd_kafka_group_result_error(all[0])) : code;
        list = groups == 1 ? rd_kafka_group_result_partitions(all[0]) : NULL;
    }
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR && (list == NULL || list->cnt != 1))
        code = RD_KAFKA_RESP_ERR__FAIL;
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
        code = list->elems[0].err;
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        return judge(code, one->group, error, error_bytes);
    const rd_kafka_topic_partition_t *place = &list->elems[0];
    if (place->offset < 0)
        return ANSWER_WHOLE;
    bool read = kafka_metadata_read(pipe_str_of(place->metadata, place->metadata_size), &metadata,
                                    &value) &&
                traffic_position_read(pipe_str_of(value.data, value.size), &one->head);
    pipe_buf_free(&value);
    if (!read) {
        snprintf(error, error_bytes, "kafka: the position of group %s is malformed", one->group);
        return ANSWER_REFUSED;
    }
    memcpy(one->topic_id, metadata.id, sizeof one->topic_id);
    *found = strcmp(metadata.plan_hash, plan->hash) == 0;
    return ANSWER_WHOLE;
}

static enum answer ask_offset(struct kafka_log *log, const struct pipe_plan *plan,
                              struct traffic_found *one, bool *found, char *error,
                              size_t error_bytes)
{
    enum answer answer = ANSWER_RETRY;
    const struct pipe_traffic_def *def = &plan->traffics[one->head.traffic];
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, plan->sources[def->source].target, 0);
    rd_kafka_queue_t *queue = rd_kafka_queue_new(log->observer);
    rd_kafka_AdminOptions_t *options =
        options_for(log->observer, RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS);
    rd_kafka_ListConsumerGroupOffsets_t *request =
        rd_kafka_ListConsumerGroupOffsets_new(one->group, list);
    rd_kafka_ListConsumerGroupOffsets(log->observer, &request, 1, options, queue);
    rd_kafka_event_t *event = rd_kafka_queue_poll(queue, 2 * ASK_MS);
    if (event != NULL) {
        answer = take_offset(plan, event, one, found, error, error_bytes);
        rd_kafka_event_destroy(event);
    } else {
        snprintf(error, error_bytes, "kafka: no answer about group %s", one->group);
    }
    rd_kafka_ListConsumerGroupOffsets_destroy(request);
    rd_kafka_AdminOptions_destroy(options);
    rd_kafka_queue_destroy(queue);
    rd_kafka_topic_partition_list_destroy(list);
    return answer;
}

static int by_group(const void *a, const void *b)
{
    const struct traffic_found *x = a, *y = b;
    return strcmp(x->group, y->group);
}

/* Leaves out those that are not of this plan. */
static enum answer ask_offsets(struct kafka_log *log, const struct pipe_plan *plan,
                               struct traffic_found *found, uint32_t *count, char *error,
                               size_t error_bytes)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < *count; i++) {
        bool ours = false;
        enum answer answer = ask_offset(log, plan, &found[i], &ours, error, error_bytes);
        if (answer != ANSWER_WHOLE)
            return answer;
        if (ours)
            found[kept++] = found[i];
    }
    *count = kept;
    if (kept > 0)
        qsort(found, kept, sizeof *found, by_group);
    return ANSWER_WHOLE;
}

bool traffic_find_all(struct pipe_log *public, const struct pipe_plan *plan,
                      struct traffic_found **found, uint32_t *count, char *error,
                      size_t error_bytes)
{
    struct kafka_log *log = kafka_of(public);
    enum answer answer = ANSWER_RETRY;
    *found = NULL;
    *count = 0;
    for (int i = 0; plan->traffic_count > 0 && i < TRIES; i++) {
        answer = list_groups(log, plan, found, count, error, error_bytes);
        if (answer == ANSWER_WHOLE)
            answer = ask_offsets(log, plan, *found, count, error, error_bytes);
        if (answer != ANSWER_RETRY)
            break;
        free(*found);
        *found = NULL;
        *count = 0;
        engine_sleep_us(500000);
    }
    return plan->traffic_count == 0 || answer == ANSWER_WHOLE;
}
