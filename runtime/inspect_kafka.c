/* inspect_kafka.c: see inspect.h. */
#include <inttypes.h>
#include <stdlib.h>

#include "inspect.h"
#include "kafka_internal.h"

#define WAIT_MS 10000

struct inspect_kafka *inspect_kafka_open(const struct pipe_plan *plan,
                                         const struct pipe_kafka_options *options, char *error,
                                         size_t error_bytes)
{
    struct pipe_kafka_config config;
    if (!pipe_kafka_config(plan, options, &config, error, error_bytes))
        return NULL;
    config.instance = "inspect";
    config.read_only = true;
    struct pipe_log *log = pipe_log_kafka_open(&config, error, error_bytes);
    free((void *)config.properties);
    if (log == NULL)
        return NULL;
    struct inspect_kafka *kafka = pipe_calloc(1, sizeof *kafka);
    *kafka = (struct inspect_kafka){.plan = plan, .log = log};
    kafka->topics = pipe_plan_topics(plan, &kafka->topic_count);
    for (uint32_t i = 0; i < kafka->topic_count; i++) {
        uint32_t index;
        if (log->ops->topic(log, kafka->topics[i].name, kafka->topics[i].partitions, &index))
            continue;
        snprintf(error, error_bytes, "%s", log->error);
        log->ops->close(log);
        inspect_kafka_free(kafka);
        return NULL;
    }
    return kafka;
}

void inspect_kafka_free(struct inspect_kafka *kafka)
{
    if (kafka != NULL)
        free(kafka->topics);
    free(kafka);
}

static bool find_bounds(struct inspect_kafka *kafka, uint32_t topic, int32_t partition,
                        int64_t *low, int64_t *high)
{
    return kafka_bounds(kafka_of(kafka->log), topic, partition, WAIT_MS, low, high) ||
           kafka_fail(kafka_of(kafka->log), "kafka: no broker says where %s, partition %d ends",
                      kafka->log->topics[topic].name, partition);
}

bool inspect_kafka_topics(struct inspect_kafka *kafka)
{
    const struct pipe_log *log = kafka->log;
    printf("%-56s %9s %14s %14s\n", "topic", "partition", "from", "end");
    for (uint32_t t = 0; t < log->topic_count; t++) {
        for (uint32_t p = 0; p < log->topics[t].partitions; p++) {
            int64_t low, high;
            if (!find_bounds(kafka, t, (int32_t)p, &low, &high))
                return false;
            printf("%-56s %9u %14" PRId64 " %14" PRId64 "\n", log->topics[t].name, p, low, high);
        }
    }
    return true;
}

/* What a stage reads: in log->topics. */
static uint32_t topic_of(const struct inspect_kafka *kafka, const struct pipe_stage_def *stage)
{
    struct pipe_plan_topic topic;
    if (stage->source >= 0)
        pipe_plan_topic(kafka->plan, PIPE_TOPIC_SOURCE, (uint32_t)stage->source, &topic);
    else
        pipe_plan_topic(kafka->plan, PIPE_TOPIC_EXCHANGE, (uint32_t)stage->exchange, &topic);
    for (uint32_t t = 0; t < kafka->log->topic_count; t++) {
        if (strcmp(kafka->log->topics[t].name, topic.name) == 0)
            return t;
    }
    return 0; /* all of the plan are there */
}

bool inspect_kafka_tasks(struct inspect_kafka *kafka,
                         bool (*each)(void *context, const char *name, struct pipe_str value,
                                      int64_t end),
                         void *context)
{
    struct pipe_log *log = kafka->log;
    struct pipe_buf value = {0};
    bool ok = true;
    for (uint32_t s = 0; ok && s < kafka->plan->stage_count; s++) {
        uint32_t topic = topic_of(kafka, &kafka->plan->stages[s]);
        for (uint32_t p = 0; ok && p < log->topics[topic].partitions; p++) {
            struct pipe_log_committed found = {.value = &value, .loose = true};
            int64_t low, high;
            char name[64];
            engine_task_name(kafka->plan, s, (int32_t)p, name, sizeof name);
            struct pipe_log_position of = {.name = name, .at = {topic, (int32_t)p}};
            ok = log->ops->get_position(log, &of, &found) &&
                 find_bounds(kafka, topic, (int32_t)p, &low, &high);
            if (ok && found.found)
                ok = each(context, name, pipe_str_of(value.data, value.size), high);
        }
    }
    pipe_buf_free(&value);
    return ok;
}
