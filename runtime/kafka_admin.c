/* kafka_admin.c: see kafka_admin.h. */
#include <stdio.h>
#include <stdlib.h>

#include "engine.h"
#include "kafka_admin.h"
#include "kafka_internal.h"

#define CALL_MS 1000
#define NAP_US 50000

static bool PIPE_PRINTF(2, 3) fail(struct kafka_admin *admin, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    kafka_redact(admin->common, text, admin->error, sizeof admin->error);
    return false;
}

bool kafka_admin_open(struct kafka_admin *admin, const struct pipe_kafka_config *config)
{
    *admin = (struct kafka_admin){0};
    admin->common = kafka_common_new(config, admin->error, sizeof admin->error);
    if (admin->common != NULL)
        admin->client = kafka_client(admin->common, RD_KAFKA_PRODUCER, NULL, 0, NULL, NULL,
                                     admin->error, sizeof admin->error);
    if (admin->client == NULL)
        kafka_common_drop(admin->common);
    return admin->client != NULL;
}

void kafka_admin_close(struct kafka_admin *admin)
{
    rd_kafka_destroy(admin->client);
    kafka_common_drop(admin->common);
}

const char *kafka_admin_group(const struct kafka_admin *admin)
{
    return admin->common->group;
}

/* ---- Looking ---- */

static rd_kafka_resp_err_t look(struct kafka_admin *admin, rd_kafka_topic_t *topic,
                                uint32_t *partitions, uint32_t *replicas)
{
    const struct rd_kafka_metadata *metadata = NULL;
    rd_kafka_resp_err_t code = rd_kafka_metadata(admin->client, 0, topic, &metadata, CALL_MS);
    rd_kafka_poll(admin->client, 0); /* for what it says of errors */
    *partitions = *replicas = 0;
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        return code;
    if (metadata->topic_cnt == 1) {
        const rd_kafka_metadata_topic_t *found = &metadata->topics[0];
        code = found->err;
        *partitions = (uint32_t)found->partition_cnt;
        *replicas = found->partition_cnt > 0 ? (uint32_t)found->partitions[0].replica_cnt : 0;
    }
    rd_kafka_metadata_destroy(metadata);
    return code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART ? RD_KAFKA_RESP_ERR_NO_ERROR : code;
}

static bool unreachable(struct kafka_admin *admin, rd_kafka_resp_err_t code)
{
    const char *brokers = kafka_setting_of(admin->common, "bootstrap.servers");
    return fail(admin,
                atomic_load(&admin->common->refused)
                    ? "the brokers at %.200s refuse this client (%s): check security.protocol, "
                      "certificates, user name and password"
                    : "no broker at %.200s answers (%s); check the address, and that this machine "
                      "reaches what the brokers advertise",
                brokers != NULL ? brokers : "metadata.broker.list", rd_kafka_err2str(code));
}

bool kafka_admin_topic(struct kafka_admin *admin, const char *name, uint32_t *partitions,
                       uint32_t *replicas)
{
    int64_t began = engine_monotonic_us(), until = began + KAFKA_ADMIN_WAIT_MS * 1000LL;
    rd_kafka_topic_t *topic = rd_kafka_topic_new(admin->client, name, NULL);
    rd_kafka_resp_err_t code;
    if (topic == NULL)
        return fail(admin, "'%.250s' cannot be the name of a topic", name);
    for (;;) {
        code = look(admin, topic, partitions, replicas);
        if (code == RD_KAFKA_RESP_ERR_NO_ERROR ||
            code == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED ||
            atomic_load(&admin->common->refused) || engine_monotonic_us() > until)
            break;
        kafka_tell_wait(admin->common, began);
        engine_sleep_us(NAP_US);
    }
    rd_kafka_topic_destroy(topic);
    if (code == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED)
        return fail(admin, "topic %.250s may not be seen: %s; allow DESCRIBE", name,
                    rd_kafka_err2str(code));
    return code == RD_KAFKA_RESP_ERR_NO_ERROR || unreachable(admin, code);
}

bool kafka_admin_brokers(struct kafka_admin *admin, int32_t *ids, uint32_t most, uint32_t *count)
{
    int64_t began = engine_monotonic_us(), until = began + KAFKA_ADMIN_WAIT_MS * 1000LL;
    const struct rd_kafka_metadata *metadata = NULL;
    rd_kafka_resp_err_t code;
    while ((code = rd_kafka_metadata(admin->client, 0, NULL, &metadata, CALL_MS)) !=
               RD_KAFKA_RESP_ERR_NO_ERROR &&
           !atomic_load(&admin->common->refused) && engine_monotonic_us() <= until) {
        rd_kafka_poll(admin->client, 0); /* for what it says of errors */
        kafka_tell_wait(admin->common, began);
        engine_sleep_us(NAP_US);
    }
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        return unreachable(admin, code);
    *count = (uint32_t)metadata->broker_cnt;
    for (uint32_t i = 0; i < *count && i < most; i++)
        ids[i] = metadata->brokers[i].id;
    rd_kafka_metadata_destroy(metadata);
    return true;
}

bool kafka_admin_wait(struct kafka_admin *admin, const char *name)
{
    int64_t until = engine_monotonic_us() + KAFKA_ADMIN_WAIT_MS * 1000LL;
    uint32_t partitions = 0, replicas;
    while (kafka_admin_topic(admin, name, &partitions, &replicas)) {
        if (partitions > 0)
            return true;
        if (engine_monotonic_us() > until)
            return fail(admin, "topic %.250s was made, but no broker shows it", name);
        engine_sleep_us(NAP_US);
    }
    return false;
}

/* ---- Admin calls ---- */

struct call {
    struct kafka_admin *admin;
    rd_kafka_queue_t *queue;
    rd_kafka_AdminOptions_t *options;
    rd_kafka_event_t *event;
};

static void begin(struct call *call, struct kafka_admin *admin, rd_kafka_admin_op_t operation)
{
    char text[256];
    call->admin = admin;
    call->event = NULL;
    call->queue = rd_kafka_queue_new(admin->client);
    call->options = rd_kafka_AdminOptions_new(admin->client, operation);
    (void)rd_kafka_AdminOptions_set_request_timeout(call->options, KAFKA_ADMIN_WAIT_MS, text,
                                                    sizeof text);
}

/* The answer, which lives until `end`. NULL: admin->error. */
static rd_kafka_event_t *wait_for(struct call *call, const char *doing, const char *name)
{
    call->event = rd_kafka_queue_poll(call->queue, KAFKA_ADMIN_WAIT_MS + 5000);
    if (call->event == NULL || rd_kafka_event_error(call->event) != RD_KAFKA_RESP_ERR_NO_ERROR) {
        fail(call->admin, "could not %s %.250s: %s", doing, name,
             call->event != NULL ? rd_kafka_event_error_string(call->event) : "no answer");
        return NULL;
    }
    return call->event;
}

static void end(struct call *call)
{
    rd_kafka_event_destroy(call->event);
    rd_kafka_AdminOptions_destroy(call->options);
    rd_kafka_queue_destroy(call->queue);
}

static bool created(struct kafka_admin *admin, rd_kafka_event_t *event, const char *name)
{
    size_t count = 0;
    const rd_kafka_topic_result_t **topics =
        rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event), &count);
    for (size_t i = 0; i < count; i++) {
        if (rd_kafka_topic_result_error(topics[i]) != RD_KAFKA_RESP_ERR_NO_ERROR)
            return fail(admin, "could not create topic %.250s: %s", name,
                        rd_kafka_topic_result_error_string(topics[i]) != NULL
                            ? rd_kafka_topic_result_error_string(topics[i])
                            : rd_kafka_err2str(rd_kafka_topic_result_error(topics[i])));
    }
    return true;
}

bool kafka_admin_create(struct kafka_admin *admin, const char *name, uint32_t partitions,
                        int32_t replication, const struct kafka_topic_setting *settings,
                        uint32_t count)
{
    struct call call;
    char text[256];
    rd_kafka_NewTopic_t *topic =
        rd_kafka_NewTopic_new(name, (int)partitions, replication, text, sizeof text);
    if (topic == NULL)
        return fail(admin, "topic %.250s: %s", name, text);
    for (uint32_t i = 0; i < count; i++)
        (void)rd_kafka_NewTopic_set_config(topic, settings[i].name, settings[i].value);
    begin(&call, admin, RD_KAFKA_ADMIN_OP_CREATETOPICS);
    rd_kafka_CreateTopics(admin->client, &topic, 1, call.options, call.queue);
    rd_kafka_event_t *event = wait_for(&call, "create topic", name);
    bool ok = event != NULL && created(admin, event, name);
    end(&call);
    rd_kafka_NewTopic_destroy(topic);
    return ok;
}

/* The one resource of a result; NULL: admin->error. */
static const rd_kafka_ConfigResource_t *one(struct kafka_admin *admin, const char *name,
                                            const rd_kafka_ConfigResource_t **resources,
                                            size_t count)
{
    if (count == 1 && rd_kafka_ConfigResource_error(resources[0]) == RD_KAFKA_RESP_ERR_NO_ERROR)
        return resources[0];
    fail(admin, "the settings of %.250s: %s", name,
         count == 1 ? rd_kafka_ConfigResource_error_string(resources[0]) : "no answer");
    return NULL;
}

typedef void (*each_setting)(void *context, const char *name, const char *value, bool own);

static bool describe(struct kafka_admin *admin, rd_kafka_ResourceType_t type, const char *name,
                     each_setting each, void *context)
{
    struct call call;
    size_t count = 0;
    rd_kafka_ConfigResource_t *asked = rd_kafka_ConfigResource_new(type, name);
    const rd_kafka_ConfigResource_t *found = NULL;
    begin(&call, admin, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS);
    rd_kafka_DescribeConfigs(admin->client, &asked, 1, call.options, call.queue);
    rd_kafka_event_t *event = wait_for(
        &call, type == RD_KAFKA_RESOURCE_TOPIC ? "describe topic" : "describe broker", name);
    if (event != NULL) {
        const rd_kafka_ConfigResource_t **resources = rd_kafka_DescribeConfigs_result_resources(
            rd_kafka_event_DescribeConfigs_result(event), &count);
        found = one(admin, name, resources, count);
    }
    if (found != NULL) {
        const rd_kafka_ConfigEntry_t **entries = rd_kafka_ConfigResource_configs(found, &count);
        for (size_t i = 0; i < count; i++) {
            const char *value = rd_kafka_ConfigEntry_value(entries[i]);
            each(context, rd_kafka_ConfigEntry_name(entries[i]), value != NULL ? value : "",
                 rd_kafka_ConfigEntry_source(entries[i]) ==
                     RD_KAFKA_CONFIG_SOURCE_DYNAMIC_TOPIC_CONFIG);
        }
    }
    end(&call);
    rd_kafka_ConfigResource_destroy(asked);
    return found != NULL;
}

bool kafka_admin_settings(struct kafka_admin *admin, const char *name, each_setting each,
                          void *context)
{
    return describe(admin, RD_KAFKA_RESOURCE_TOPIC, name, each, context);
}

bool kafka_admin_broker_settings(struct kafka_admin *admin, int32_t id, each_setting each,
                                 void *context)
{
    char name[16];
    snprintf(name, sizeof name, "%d", id);
    return describe(admin, RD_KAFKA_RESOURCE_BROKER, name, each, context);
}

#if RD_KAFKA_VERSION >= 0x020300ff

const bool kafka_admin_asks_rights = true;

static bool take_rights(struct kafka_admin *admin, const char *name, rd_kafka_event_t *event,
                        struct kafka_rights *rights)
{
    size_t count = 0;
    const rd_kafka_TopicDescription_t **topics =
        rd_kafka_DescribeTopics_result_topics(rd_kafka_event_DescribeTopics_result(event), &count);
    const rd_kafka_error_t *error = count == 1 ? rd_kafka_TopicDescription_error(topics[0]) : NULL;
    if (count != 1 || rd_kafka_error_code(error) != RD_KAFKA_RESP_ERR_NO_ERROR)
        return fail(admin, "the rights to %.250s: %s", name,
                    count == 1 ? rd_kafka_error_string(error) : "no answer");
    const rd_kafka_AclOperation_t *operations =
        rd_kafka_TopicDescription_authorized_operations(topics[0], &count);
    rights->told = operations != NULL;
    for (size_t i = 0; i < count; i++) {
        rights->read = rights->read || operations[i] == RD_KAFKA_ACL_OPERATION_READ;
        rights->write = rights->write || operations[i] == RD_KAFKA_ACL_OPERATION_WRITE;
    }
    return true;
}

bool kafka_admin_rights(struct kafka_admin *admin, const char *name, struct kafka_rights *rights)
{
    struct call call;
    const char *names[] = {name};
    rd_kafka_TopicCollection_t *topics = rd_kafka_TopicCollection_of_topic_names(names, 1);
    *rights = (struct kafka_rights){0};
    begin(&call, admin, RD_KAFKA_ADMIN_OP_DESCRIBETOPICS);
    rd_kafka_error_destroy(
        rd_kafka_AdminOptions_set_include_authorized_operations(call.options, 1));
    rd_kafka_DescribeTopics(admin->client, topics, call.options, call.queue);
    rd_kafka_event_t *event = wait_for(&call, "describe topic", name);
    bool ok = event != NULL && take_rights(admin, name, event, rights);
    end(&call);
    rd_kafka_TopicCollection_destroy(topics);
    return ok;
}

#else

const bool kafka_admin_asks_rights = false;

bool kafka_admin_rights(struct kafka_admin *admin, const char *name, struct kafka_rights *rights)
{
    (void)admin;
    (void)name;
    *rights = (struct kafka_rights){0};
    return true;
}

#endif

#if RD_KAFKA_VERSION >= 0x020400ff

bool kafka_admin_set(struct kafka_admin *admin, const char *name,
                     const struct kafka_topic_setting *settings, uint32_t count)
{
    struct call call;
    size_t resource_count = 0;
    const rd_kafka_ConfigResource_t *done = NULL;
    rd_kafka_ConfigResource_t *topic = rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, name);
    for (uint32_t i = 0; i < count; i++)
        rd_kafka_error_destroy(rd_kafka_ConfigResource_add_incremental_config(
            topic, settings[i].name, RD_KAFKA_ALTER_CONFIG_OP_TYPE_SET, settings[i].value));
    begin(&call, admin, RD_KAFKA_ADMIN_OP_INCREMENTALALTERCONFIGS);
    rd_kafka_IncrementalAlterConfigs(admin->client, &topic, 1, call.options, call.queue);
    rd_kafka_event_t *event = wait_for(&call, "change topic", name);
    if (event != NULL) {
        const rd_kafka_ConfigResource_t **resources =
            rd_kafka_IncrementalAlterConfigs_result_resources(
                rd_kafka_event_IncrementalAlterConfigs_result(event), &resource_count);
        done = one(admin, name, resources, resource_count);
    }
    end(&call);
    rd_kafka_ConfigResource_destroy(topic);
    return done != NULL;
}

#else

/* Older versions can only replace all settings of a topic: so those it has are sent again. */
struct change {
    rd_kafka_ConfigResource_t *topic;
    const struct kafka_topic_setting *settings;
    uint32_t count;
};

static void keep(void *context, const char *name, const char *value, bool own)
{
    struct change *change = context;
    for (uint32_t i = 0; i < change->count; i++)
        own = own && strcmp(change->settings[i].name, name) != 0;
    if (own)
        (void)rd_kafka_ConfigResource_set_config(change->topic, name, value);
}

bool kafka_admin_set(struct kafka_admin *admin, const char *name,
                     const struct kafka_topic_setting *settings, uint32_t count)
{
    struct call call;
    size_t resource_count = 0;
    const rd_kafka_ConfigResource_t *done = NULL;
    rd_kafka_ConfigResource_t *topic = rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, name);
    struct change change = {topic, settings, count};
    if (!kafka_admin_settings(admin, name, keep, &change)) {
        rd_kafka_ConfigResource_destroy(topic);
        return false;
    }
    for (uint32_t i = 0; i < count; i++)
        (void)rd_kafka_ConfigResource_set_config(topic, settings[i].name, settings[i].value);
    begin(&call, admin, RD_KAFKA_ADMIN_OP_ALTERCONFIGS);
    rd_kafka_AlterConfigs(admin->client, &topic, 1, call.options, call.queue);
    rd_kafka_event_t *event = wait_for(&call, "change topic", name);
    if (event != NULL) {
        const rd_kafka_ConfigResource_t **resources = rd_kafka_AlterConfigs_result_resources(
            rd_kafka_event_AlterConfigs_result(event), &resource_count);
        done = one(admin, name, resources, resource_count);
    }
    end(&call);
    rd_kafka_ConfigResource_destroy(topic);
    return done != NULL;
}

#endif
