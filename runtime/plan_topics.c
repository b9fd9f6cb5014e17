/* plan_topics.c: see engine.h. */
#include <stdlib.h>

#include "engine.h"
#include "follower.h"

/* Rows lie where their source's record was, or their task: the greatest number of these. */
static uint32_t most_partitions(const struct pipe_plan *plan)
{
    uint32_t most = 1;
    for (uint32_t i = 0; i < plan->source_count; i++)
        most = plan->sources[i].partitions > most ? plan->sources[i].partitions : most;
    for (uint32_t i = 0; i < plan->exchange_count; i++)
        most = plan->exchanges[i].partitions > most ? plan->exchanges[i].partitions : most;
    return most;
}

void pipe_plan_topic(const struct pipe_plan *plan, enum pipe_topic_kind kind, uint32_t index,
                     struct pipe_plan_topic *out)
{
    out->kind = kind;
    out->index = index;
    out->compacted = kind == PIPE_TOPIC_SINK && plan->sinks[index].upsert;
    switch (kind) {
    case PIPE_TOPIC_SOURCE:
        out->partitions = plan->sources[index].partitions;
        snprintf(out->name, sizeof out->name, "%s", plan->sources[index].target);
        break;
    case PIPE_TOPIC_TIME:
        out->partitions = plan->sources[index].partitions;
        snprintf(out->name, sizeof out->name, "pipec.%s.%s.time", plan->name,
                 plan->sources[index].name);
        break;
    case PIPE_TOPIC_SINK:
        out->partitions = plan->sinks[index].partitions > 0 ? plan->sinks[index].partitions : 1;
        snprintf(out->name, sizeof out->name, "%s", plan->sinks[index].target);
        break;
    case PIPE_TOPIC_ROWS:
        out->partitions = most_partitions(plan);
        snprintf(out->name, sizeof out->name, "pipec.%s.%s.rows", plan->name,
                 plan->sinks[index].name);
        break;
    case PIPE_TOPIC_EXCHANGE:
        out->partitions = plan->exchanges[index].partitions;
        snprintf(out->name, sizeof out->name, "pipec.%s.%s.exchange", plan->name,
                 plan->exchanges[index].name);
        break;
    }
}

struct pipe_plan_topic *pipe_plan_topics(const struct pipe_plan *plan, uint32_t *count)
{
    size_t most = 2 * (size_t)plan->source_count + plan->sink_count + plan->exchange_count;
    struct pipe_plan_topic *topics = pipe_calloc(most + 1, sizeof *topics);
    uint32_t used = 0;
    for (uint32_t i = 0; i < plan->source_count; i++) {
        pipe_plan_topic(plan, PIPE_TOPIC_SOURCE, i, &topics[used++]);
        pipe_plan_topic(plan, PIPE_TOPIC_TIME, i, &topics[used++]);
    }
    for (uint32_t i = 0; i < plan->sink_count; i++) {
        uint32_t topic_sink;
        if (plan->sinks[i].kind == PIPE_SINK_KAFKA)
            pipe_plan_topic(plan, PIPE_TOPIC_SINK, i, &topics[used++]);
        else if (!pipe_plan_followed(plan, i, &topic_sink))
            pipe_plan_topic(plan, PIPE_TOPIC_ROWS, i, &topics[used++]);
    }
    for (uint32_t i = 0; i < plan->exchange_count; i++)
        pipe_plan_topic(plan, PIPE_TOPIC_EXCHANGE, i, &topics[used++]);
    *count = used;
    return topics;
}
