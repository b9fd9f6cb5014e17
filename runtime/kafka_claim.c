/*
 * kafka_claim.c: which process an instance name belongs to.
 *
 * Two processes of one instance fence each other: in the group and as producers, the later call
 * against the earlier. But so does a process itself: a static member whose request to join was cut
 * off asks again, and the coordinator takes it for another one (librdkafka 2.0.2, when the only
 * broker comes back); and a slow transaction is fenced by its coordinator. Who has to go cannot be
 * told from that, and taking the place back would go on for ever. So a process that joins first
 * claims its instance: it commits a random number as metadata of an offset of the group
 * GROUP.INSTANCE, which has no members. A process in doubt reads it: the last one that claimed has
 * the place.
 */
#include <stdio.h>
#include <stdlib.h>

#include "engine.h"
#include "kafka_internal.h"

#define ASK_MS 1000

static void name_group(const struct kafka_log *log, char *to, size_t to_bytes)
{
    snprintf(to, to_bytes, "%s.%s", log->common->group, log->common->instance);
}

/* One partition that there is: brokers take no offsets of others. */
static rd_kafka_topic_partition_list_t *place(const struct kafka_log *log)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, log->topics[log->group.topics[0]].name, 0)->offset = 0;
    return list;
}

static rd_kafka_AdminOptions_t *options_for(struct kafka_log *log, rd_kafka_admin_op_t operation)
{
    char text[256];
    rd_kafka_AdminOptions_t *options = rd_kafka_AdminOptions_new(log->observer, operation);
    (void)rd_kafka_AdminOptions_set_request_timeout(options, ASK_MS, text, sizeof text);
    return options;
}

/* The one partition of a result; *code when there is none. */
static const rd_kafka_topic_partition_t *partition_of(const rd_kafka_group_result_t **groups,
                                                      size_t count, rd_kafka_resp_err_t *code)
{
    *code = RD_KAFKA_RESP_ERR__FAIL;
    if (count != 1)
        return NULL;
    const rd_kafka_topic_partition_list_t *list = rd_kafka_group_result_partitions(groups[0]);
    *code = rd_kafka_error_code(rd_kafka_group_result_error(groups[0]));
    if (*code != RD_KAFKA_RESP_ERR_NO_ERROR || list == NULL || list->cnt != 1)
        return NULL;
    *code = list->elems[0].err;
    return *code == RD_KAFKA_RESP_ERR_NO_ERROR ? &list->elems[0] : NULL;
}

/* ---- Writing ---- */

static rd_kafka_resp_err_t write_claim(struct kafka_log *log)
{
    char group[512];
    size_t count = 0, size = strlen(log->group.claim);
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR__TIMED_OUT;
    name_group(log, group, sizeof group);
    rd_kafka_topic_partition_list_t *list = place(log);
    list->elems[0].metadata = memcpy(pipe_malloc(size), log->group.claim, size);
    list->elems[0].metadata_size = size;
    rd_kafka_queue_t *queue = rd_kafka_queue_new(log->observer);
    rd_kafka_AdminOptions_t *options =
        options_for(log, RD_KAFKA_ADMIN_OP_ALTERCONSUMERGROUPOFFSETS);
    rd_kafka_AlterConsumerGroupOffsets_t *request =
        rd_kafka_AlterConsumerGroupOffsets_new(group, list);
    rd_kafka_AlterConsumerGroupOffsets(log->observer, &request, 1, options, queue);
    rd_kafka_event_t *event = rd_kafka_queue_poll(queue, ASK_MS + 500);
    if (event != NULL) {
        code = rd_kafka_event_error(event);
        const rd_kafka_AlterConsumerGroupOffsets_result_t *result =
            rd_kafka_event_AlterConsumerGroupOffsets_result(event);
        if (code == RD_KAFKA_RESP_ERR_NO_ERROR && result != NULL) {
            const rd_kafka_group_result_t **groups =
                rd_kafka_AlterConsumerGroupOffsets_result_groups(result, &count);
            (void)partition_of(groups, count, &code);
        }
        rd_kafka_event_destroy(event);
    }
    rd_kafka_AlterConsumerGroupOffsets_destroy(request);
    rd_kafka_AdminOptions_destroy(options);
    rd_kafka_queue_destroy(queue);
    rd_kafka_topic_partition_list_destroy(list);
    return code;
}

bool kafka_claim(struct kafka_log *log)
{
    int64_t until = engine_monotonic_us() + KAFKA_WAIT_MS * 1000;
    uint8_t random[16];
    pipe_random_bytes(random, sizeof random);
    kafka_id_text(random, log->group.claim);
    for (;;) {
        rd_kafka_resp_err_t code = write_claim(log);
        if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
            return true;
        if (code == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED)
            return kafka_fail(log, "kafka: group %s.%s may not be used: %s; allow READ of it",
                              log->common->group, log->common->instance, rd_kafka_err2str(code));
        if (engine_monotonic_us() > until)
            return kafka_fail(log, "kafka: instance '%s' of group %s could not be claimed: %s",
                              log->common->instance, log->common->group, rd_kafka_err2str(code));
        kafka_warn(log->common, "claim", "kafka: waiting for the coordinator of group %s.%s: %s",
                   log->common->group, log->common->instance, rd_kafka_err2str(code));
        engine_sleep_us(50000);
    }
}

/* ---- Reading ---- */

static enum kafka_holder judge(const struct kafka_log *log,
                               const rd_kafka_ListConsumerGroupOffsets_result_t *result)
{
    size_t count = 0, size = strlen(log->group.claim);
    rd_kafka_resp_err_t code;
    const rd_kafka_group_result_t **groups =
        rd_kafka_ListConsumerGroupOffsets_result_groups(result, &count);
    const rd_kafka_topic_partition_t *found = partition_of(groups, count, &code);
    if (found == NULL)
        return KAFKA_HOLDER_UNKNOWN;
    if (found->offset < 0)
        return KAFKA_HOLDER_OURS; /* nobody has claimed for so long that ours has expired */
    return found->metadata_size == size && memcmp(found->metadata, log->group.claim, size) == 0
               ? KAFKA_HOLDER_OURS
               : KAFKA_HOLDER_ANOTHER;
}

enum kafka_holder kafka_claim_holder(struct kafka_log *log)
{
    char group[512];
    enum kafka_holder holder = KAFKA_HOLDER_UNKNOWN;
    name_group(log, group, sizeof group);
    rd_kafka_topic_partition_list_t *list = place(log);
    rd_kafka_queue_t *queue = rd_kafka_queue_new(log->observer);
    rd_kafka_AdminOptions_t *options = options_for(log, RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS);
    rd_kafka_ListConsumerGroupOffsets_t *request =
        rd_kafka_ListConsumerGroupOffsets_new(group, list);
    rd_kafka_ListConsumerGroupOffsets(log->observer, &request, 1, options, queue);
    rd_kafka_event_t *event = rd_kafka_queue_poll(queue, ASK_MS + 500);
    if (event != NULL) {
        const rd_kafka_ListConsumerGroupOffsets_result_t *result =
            rd_kafka_event_ListConsumerGroupOffsets_result(event);
        if (result != NULL && rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR_NO_ERROR)
            holder = judge(log, result);
        rd_kafka_event_destroy(event);
    }
    rd_kafka_ListConsumerGroupOffsets_destroy(request);
    rd_kafka_AdminOptions_destroy(options);
    rd_kafka_queue_destroy(queue);
    rd_kafka_topic_partition_list_destroy(list);
    return holder;
}
