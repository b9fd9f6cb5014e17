/* doctor_kafka.c: brokers and topics. See doctor.h. */
#include <librdkafka/rdkafka.h>
#include <stdlib.h>
#include <strings.h>

#include "doctor.h"
#include "topics.h"

#define AREA "kafka"
#define BROKERS_MOST 64
#define TRANSACTION_MS 10000 /* pipe_kafka_config's default */
#define METADATA_BYTES 4096  /* of offsets: what the program counts on */

/* ---- Brokers ---- */

struct broker {
    int64_t transaction_ms, metadata_bytes; /* -1: not told */
};

static void take_broker(void *context, const char *name, const char *value, bool own)
{
    struct broker *broker = context;
    (void)own;
    if (strcmp(name, "transaction.max.timeout.ms") == 0)
        broker->transaction_ms = atoll(value);
    else if (strcmp(name, "offset.metadata.max.bytes") == 0)
        broker->metadata_bytes = atoll(value);
}

static void check_broker(struct doctor *doctor, struct kafka_admin *admin, int32_t id)
{
    struct broker broker = {-1, -1};
    if (!kafka_admin_broker_settings(admin, id, take_broker, &broker)) {
        doctor_find(doctor, DOCTOR_NOTE, AREA, "allow DESCRIBE_CONFIGS on the cluster to see them",
                    "the settings of broker %d are not told: %s", id, admin->error);
        return;
    }
    if (broker.transaction_ms >= 0 && broker.transaction_ms < TRANSACTION_MS)
        doctor_find(doctor, DOCTOR_PROBLEM, AREA, "raise transaction.max.timeout.ms",
                    "broker %d allows transactions of %lld ms, the pipeline needs %d", id,
                    (long long)broker.transaction_ms, TRANSACTION_MS);
    if (broker.metadata_bytes >= 0 && broker.metadata_bytes < METADATA_BYTES)
        doctor_find(doctor, DOCTOR_PROBLEM, AREA, "raise offset.metadata.max.bytes to 4096 or more",
                    "broker %d takes %lld bytes of metadata with an offset", id,
                    (long long)broker.metadata_bytes);
}

/* False: none answers, and nothing more can be asked. */
static bool check_brokers(struct doctor *doctor, struct kafka_admin *admin, uint32_t *count)
{
    int32_t ids[BROKERS_MOST];
    if (!kafka_admin_brokers(admin, ids, BROKERS_MOST, count)) {
        doctor_find(doctor, DOCTOR_PROBLEM, AREA, NULL, "%s", admin->error);
        return false;
    }
    doctor_find(doctor, DOCTOR_OK, AREA, NULL, "%u broker%s at %s", *count, PIPE_PLURAL(*count),
                pipe_kafka_value(&doctor->run.kafka, "bootstrap.servers"));
    for (uint32_t i = 0; i < *count && i < BROKERS_MOST; i++)
        check_broker(doctor, admin, ids[i]);
    return true;
}

/* ---- Topics ---- */

static void take_min_insync(void *context, const char *name, const char *value, bool own)
{
    (void)own;
    if (strcmp(name, "min.insync.replicas") == 0)
        *(int64_t *)context = atoll(value);
}

static bool check_replicas(struct doctor *doctor, struct kafka_admin *admin, const char *name,
                           uint32_t brokers, uint32_t replicas)
{
    int64_t least = -1;
    if (!kafka_admin_settings(admin, name, take_min_insync, &least))
        return false;
    if (replicas == 1 && brokers > 1)
        doctor_find(doctor, DOCTOR_PROBLEM, AREA,
                    "reassign its partitions to more brokers (kafka-reassign-partitions)",
                    "%s has one replica: what is acknowledged is lost with its broker", name);
    else if (replicas >= 3 && least < 2)
        doctor_find(doctor, DOCTOR_PROBLEM, AREA, "topics apply --min-insync 2",
                    "%s has %u replicas, but min.insync.replicas is %lld: what one broker alone "
                    "has counts as written",
                    name, replicas, (long long)least);
    else if (least > replicas)
        doctor_find(doctor, DOCTOR_PROBLEM, AREA, "lower min.insync.replicas, or add replicas",
                    "%s has %u replicas and min.insync.replicas %lld: it cannot be written", name,
                    replicas, (long long)least);
    return true;
}

static bool check_settings(struct doctor *doctor, struct kafka_admin *admin,
                           const struct pipe_plan_topic *topic, bool *good)
{
    struct topics_wanted wanted;
    char advice[160];
    topics_want(&wanted, topic, "");
    snprintf(advice, sizeof advice, "%.100s topics apply%s", doctor->plan->name,
             topic->kind == PIPE_TOPIC_SOURCE ? " --sources" : "");
    if (!topics_compare(admin, &wanted))
        return false;
    for (uint32_t i = 0; i < wanted.count; i++) {
        bool clock = strcmp(wanted.settings[i].name, "message.timestamp.type") == 0;
        if (!wanted.differs[i])
            continue;
        *good = false;
        doctor_find(doctor, DOCTOR_PROBLEM, AREA, advice, "%s: %s is %s, it must be %s%s",
                    topic->name, wanted.settings[i].name, wanted.found[i], wanted.settings[i].value,
                    clock ? ": a producer's clock would judge event times" : "");
    }
    return true;
}

/* What this user may not do with a topic as the plan wants to. */
static bool check_rights(struct doctor *doctor, struct kafka_admin *admin,
                         const struct pipe_plan_topic *topic)
{
    struct kafka_rights rights;
    bool reads = topic->kind != PIPE_TOPIC_SINK, writes = topic->kind != PIPE_TOPIC_SOURCE;
    if (!kafka_admin_rights(admin, topic->name, &rights))
        return false;
    if (rights.told && reads && !rights.read)
        doctor_find(doctor, DOCTOR_PROBLEM, AREA, "allow this user READ on it",
                    "%s is read, and this user may not", topic->name);
    if (rights.told && writes && !rights.write)
        doctor_find(doctor, DOCTOR_PROBLEM, AREA, "allow this user WRITE on it",
                    "%s is written, and this user may not", topic->name);
    return true;
}

static bool check_topic(struct doctor *doctor, struct kafka_admin *admin,
                        const struct pipe_plan_topic *topic, uint32_t brokers)
{
    char advice[160];
    uint32_t partitions, replicas;
    bool good = true;
    snprintf(advice, sizeof advice, "%.100s topics apply%s", doctor->plan->name,
             topic->kind == PIPE_TOPIC_SOURCE ? " --sources" : "");
    if (!kafka_admin_topic(admin, topic->name, &partitions, &replicas))
        return false;
    if (partitions == 0) {
        doctor_find(doctor, DOCTOR_PROBLEM, AREA, advice, "%s (%s) is missing", topic->name,
                    topics_kinds[topic->kind]);
        return true;
    }
    if (partitions != topic->partitions) {
        good = false;
        doctor_find(doctor, DOCTOR_PROBLEM, AREA,
                    "make another topic, or compile for the number it has: keys would move",
                    "%s has %u partition%s, the plan says %u", topic->name, partitions,
                    PIPE_PLURAL(partitions), topic->partitions);
    }
    size_t before = doctor->count;
    if (!check_replicas(doctor, admin, topic->name, brokers, replicas) ||
        !check_settings(doctor, admin, topic, &good) || !check_rights(doctor, admin, topic))
        return false;
    if (good && doctor->count == before)
        doctor_find(doctor, DOCTOR_OK, AREA, NULL, "%s: %u partition%s, %u replica%s", topic->name,
                    partitions, PIPE_PLURAL(partitions), replicas, PIPE_PLURAL(replicas));
    return true;
}

static bool is_seen(const struct pipe_plan_topic *topics, uint32_t at)
{
    for (uint32_t i = 0; i < at; i++)
        if (strcmp(topics[i].name, topics[at].name) == 0)
            return true;
    return false;
}

static void check_topics(struct doctor *doctor, struct kafka_admin *admin, uint32_t brokers)
{
    const struct pipe_plan *plan = doctor->plan;
    uint32_t count = 0;
    struct pipe_plan_topic *topics = pipe_plan_topics(plan, &count);
    for (uint32_t i = 0; i < count; i++) {
        bool files = topics[i].kind <= PIPE_TOPIC_TIME && !plan->sources[topics[i].index].is_kafka;
        if (files || is_seen(topics, i) || check_topic(doctor, admin, &topics[i], brokers))
            continue;
        doctor_find(doctor, DOCTOR_PROBLEM, AREA,
                    "allow this user DESCRIBE and DESCRIBE_CONFIGS, with READ or WRITE", "%s: %s",
                    topics[i].name, admin->error);
    }
    free(topics);
}

/* With users there are rights, which an older librdkafka cannot ask for. */
static void tell_of_rights(struct doctor *doctor, const struct kafka_admin *admin)
{
    const char *protocol = pipe_kafka_value(&doctor->run.kafka, "security.protocol");
    const char *group = kafka_admin_group(admin);
    char advice[512];
    if (kafka_admin_asks_rights || protocol == NULL || strcasecmp(protocol, "plaintext") == 0)
        return;
    snprintf(advice, sizeof advice,
             "see that it has READ and WRITE on these topics, READ on the groups %.150s*, DESCRIBE "
             "and WRITE on the transactional ids pipec.%.150s.*",
             group, group);
    doctor_find(doctor, DOCTOR_NOTE, AREA, advice,
                "librdkafka %s cannot ask what this user may read and write (2.3 can)",
                rd_kafka_version_str());
}

static bool has_topic(const struct pipe_plan *plan)
{
    bool has = false;
    for (uint32_t i = 0; i < plan->source_count; i++)
        has = has || plan->sources[i].is_kafka;
    for (uint32_t i = 0; i < plan->sink_count; i++)
        has = has || plan->sinks[i].kind == PIPE_SINK_KAFKA;
    return has;
}

void doctor_kafka(struct doctor *doctor)
{
    struct pipe_kafka_config config = {0};
    struct kafka_admin admin;
    char error[512] = "";
    uint32_t brokers = 0;
    if (!has_topic(doctor->plan)) {
        doctor_find(doctor, DOCTOR_SKIPPED, AREA, NULL,
                    "no source or sink of the pipeline is a topic");
        return;
    }
    if (pipe_kafka_value(&doctor->run.kafka, "bootstrap.servers") == NULL) {
        doctor_find(doctor, DOCTOR_SKIPPED, AREA, NULL, "PIPE_KAFKA_BOOTSTRAP is not set");
        return;
    }
    doctor->run.kafka.instance =
        doctor->run.kafka.instance != NULL ? doctor->run.kafka.instance : "doctor";
    bool ok = pipe_kafka_config(doctor->plan, &doctor->run.kafka, &config, error, sizeof error);
    if (!ok || !kafka_admin_open(&admin, &config)) {
        doctor_find(doctor, DOCTOR_PROBLEM, AREA, NULL, "%s", ok ? admin.error : error);
    } else {
        if (check_brokers(doctor, &admin, &brokers)) {
            check_topics(doctor, &admin, brokers);
            tell_of_rights(doctor, &admin);
        }
        kafka_admin_close(&admin);
    }
    free((void *)(uintptr_t)config.properties);
}
