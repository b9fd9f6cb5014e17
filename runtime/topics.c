/*
 * topics.c: `NAME topics plan|apply`: the topics that a pipeline needs, as the cluster has them.
 *
 * What is missing is made, and settings on which exactly-once or the timing of rows depends are put
 * right. Partitions are never changed: it would move keys to other tasks.
 */
#include <stdlib.h>

#include "topics.h"
#include "options.h"

struct topics_options {
    struct pipe_run_options run; /* first: --kafka */
    const char *action;          /* the word; NULL: not given */
    bool apply, sources;
    int64_t replication, min_insync; /* -1: as the brokers say */
};

struct topics {
    const struct pipe_plan *plan;
    const struct topics_options *options;
    struct kafka_admin admin;
    char min_insync[24];
    uint32_t drift; /* what is not as planned, and stays so */
};

const char *const topics_kinds[] = {[PIPE_TOPIC_SOURCE] = "source",
                                    [PIPE_TOPIC_TIME] = "time",
                                    [PIPE_TOPIC_SINK] = "sink",
                                    [PIPE_TOPIC_ROWS] = "rows",
                                    [PIPE_TOPIC_EXCHANGE] = "exchange"};

/* ---- Options ---- */

static const char *take_action(void *options, const char *word)
{
    return option_take_action(&((struct topics_options *)options)->action, word);
}

static const char *take_sources(void *options, const char *value)
{
    (void)value;
    ((struct topics_options *)options)->sources = true;
    return NULL;
}

static const char *take_number(const char *value, int64_t *number)
{
    return pipe_parse_count(value, 1, 100, number) ? NULL : "expected a number from 1 to 100";
}

static const char *take_replication(void *options, const char *value)
{
    return take_number(value, &((struct topics_options *)options)->replication);
}

static const char *take_min_insync(void *options, const char *value)
{
    return take_number(value, &((struct topics_options *)options)->min_insync);
}

static const struct option_row rows[] = {
    {"--kafka", "KEY=VALUE",
     "a property of librdkafka; bootstrap.servers, or PIPE_KAFKA_BOOTSTRAP, is needed",
     option_take_kafka},
    {"--sources", option_no_value, "also the topics that the pipeline reads, which others write",
     take_sources},
    {"--replication", "N", "replicas of what is made (default: as the brokers say)",
     take_replication},
    {"--min-insync", "N",
     "min.insync.replicas (default: replicas - 1, at least 1; without --replication as the "
     "brokers say)",
     take_min_insync},
};

static const struct option_command command = {
    .name = "topics",
    .usage = "topics plan|apply [options]",
    .intro =
        "Compares the topics that the pipeline needs with those of the cluster. plan says what\n"
        "differs and changes nothing; apply makes what is missing and puts settings right, never\n"
        "partitions.\n"
        "Exit: 0 all is as planned, 1 something is not, or the configuration, 2 usage.\n",
    .rows = rows,
    .row_count = sizeof rows / sizeof rows[0],
    .take_word = take_action,
};

/* 0 and filled, -1: help was printed, or an exit code after a message. */
static int take_options(const struct pipe_plan *plan, int argc, char **argv,
                        struct topics_options *options)
{
    char error[512];
    int code = option_read(plan, &command, argc, argv, options);
    if (code == 0)
        code = option_need_action(plan, command.name, options->action, &options->apply);
    if (code != 0 || pipe_kafka_environment(&options->run.kafka, error, sizeof error))
        return code;
    fprintf(stderr, "%s topics: %s\n", plan->name, error);
    return PIPE_EXIT_DATA;
}

/* ---- What is wanted ---- */

static void want(struct topics_wanted *wanted, const char *name, const char *value)
{
    wanted->settings[wanted->count++] = (struct kafka_topic_setting){name, value};
}

static void want_at_least(struct topics_wanted *wanted, const char *name, const char *value)
{
    wanted->least[wanted->count] = true;
    want(wanted, name, value);
}

void topics_want(struct topics_wanted *wanted, const struct pipe_plan_topic *topic,
                 const char *min_insync)
{
    enum pipe_topic_kind kind = topic->kind;
    *wanted = (struct topics_wanted){.topic = topic};
    want(wanted, "cleanup.policy", topic->compacted ? "compact" : "delete");
    want(wanted, "message.timestamp.type", "LogAppendTime");
    want(wanted, "unclean.leader.election.enable", "false");
    if (min_insync[0] != '\0')
        want(wanted, "min.insync.replicas", min_insync);
    if (kind != PIPE_TOPIC_SOURCE)
        want_at_least(wanted, "max.message.bytes", KAFKA_TOPIC_MESSAGE_BYTES);
    if (kind == PIPE_TOPIC_TIME || kind == PIPE_TOPIC_EXCHANGE || kind == PIPE_TOPIC_ROWS) {
        want(wanted, "retention.ms", "-1");
        want(wanted, "retention.bytes", "-1");
    }
}

static void compare(void *context, const char *name, const char *value, bool own)
{
    struct topics_wanted *wanted = context;
    (void)own;
    for (uint32_t i = 0; i < wanted->count; i++) {
        if (strcmp(wanted->settings[i].name, name) != 0)
            continue;
        wanted->differs[i] = wanted->least[i] ? atoll(value) < atoll(wanted->settings[i].value)
                                              : strcmp(wanted->settings[i].value, value) != 0;
        snprintf(wanted->found[i], sizeof wanted->found[i], "%s", value);
    }
}

bool topics_compare(struct kafka_admin *admin, struct topics_wanted *wanted)
{
    return kafka_admin_settings(admin, wanted->topic->name, compare, wanted);
}

/* ---- Each topic ---- */

static bool make(struct topics *topics, const struct topics_wanted *wanted)
{
    const struct pipe_plan_topic *topic = wanted->topic;
    bool others = topic->kind == PIPE_TOPIC_SOURCE && !topics->options->sources;
    if (others || !topics->options->apply) {
        printf("%s: missing: %s, %u partition%s%s\n", topic->name, topics_kinds[topic->kind],
               topic->partitions, PIPE_PLURAL(topic->partitions),
               others ? "; its producers make it, or --sources" : "");
        topics->drift++;
        return true;
    }
    if (!kafka_admin_create(&topics->admin, topic->name, topic->partitions,
                            (int32_t)topics->options->replication, wanted->settings, wanted->count))
        return false;
    printf("%s: made, with %u partition%s\n", topic->name, topic->partitions,
           PIPE_PLURAL(topic->partitions));
    return kafka_admin_wait(&topics->admin, topic->name);
}

static bool put_right(struct topics *topics, struct topics_wanted *wanted)
{
    struct kafka_topic_setting changes[TOPICS_SETTINGS_MAX];
    const char *name = wanted->topic->name;
    bool others = wanted->topic->kind == PIPE_TOPIC_SOURCE && !topics->options->sources;
    bool change = topics->options->apply && !others;
    uint32_t count = 0;
    if (!topics_compare(&topics->admin, wanted))
        return false;
    for (uint32_t i = 0; i < wanted->count; i++) {
        if (wanted->differs[i])
            changes[count++] = wanted->settings[i];
    }
    if (change && count > 0 && !kafka_admin_set(&topics->admin, name, changes, count))
        return false;
    for (uint32_t i = 0; i < wanted->count; i++) {
        if (!wanted->differs[i])
            continue;
        printf("%s: %s %s %s, %s %s%s\n", name, wanted->settings[i].name, change ? "was" : "is",
               wanted->found[i], change ? "now" : "should be", wanted->settings[i].value,
               others ? "; it belongs to its producers, or --sources" : "");
    }
    topics->drift += change ? 0 : count;
    return true;
}

static bool look_at(struct topics *topics, const struct pipe_plan_topic *topic)
{
    struct topics_wanted wanted;
    uint32_t partitions, replicas;
    topics_want(&wanted, topic, topics->min_insync);
    if (!kafka_admin_topic(&topics->admin, topic->name, &partitions, &replicas))
        return false;
    if (partitions == 0)
        return make(topics, &wanted);
    if (partitions != topic->partitions) {
        printf(
            "%s: has %u partition%s, the plan says %u; they are not changed, for keys would move: "
            "make another topic, or compile for %u\n",
            topic->name, partitions, PIPE_PLURAL(partitions), topic->partitions, partitions);
        topics->drift++;
    }
    if (topics->options->replication > 0 && replicas != topics->options->replication) {
        printf("%s: has %u replicas, not %lld; reassign its partitions to change that\n",
               topic->name, replicas, (long long)topics->options->replication);
        topics->drift++;
    }
    return put_right(topics, &wanted);
}

/* ---- All of them ---- */

static void plan_min_insync(struct topics *topics)
{
    int64_t least = topics->options->min_insync;
    if (least < 0 && topics->options->replication > 0)
        least = topics->options->replication > 1 ? topics->options->replication - 1 : 1;
    if (least > 0)
        snprintf(topics->min_insync, sizeof topics->min_insync, "%lld", (long long)least);
}

static int go_through(struct topics *topics)
{
    uint32_t count = 0;
    bool ok = true;
    struct pipe_plan_topic *all = pipe_plan_topics(topics->plan, &count);
    plan_min_insync(topics);
    for (uint32_t i = 0; i < count && ok; i++) {
        bool seen = false; /* two streams may go to one topic */
        for (uint32_t j = 0; j < i; j++)
            seen = seen || strcmp(all[j].name, all[i].name) == 0;
        bool files =
            all[i].kind <= PIPE_TOPIC_TIME && !topics->plan->sources[all[i].index].is_kafka;
        if (!seen && !files)
            ok = look_at(topics, &all[i]);
    }
    free(all);
    if (!ok) {
        fprintf(stderr, "%s topics: %s\n", topics->plan->name, topics->admin.error);
        return PIPE_EXIT_DATA;
    }
    if (topics->drift == 0)
        printf("all topics are as planned\n");
    return topics->drift > 0 ? PIPE_EXIT_DATA : PIPE_EXIT_OK;
}

int pipe_topics_main(const struct pipe_plan *plan, int argc, char **argv)
{
    struct topics_options options = {.replication = -1, .min_insync = -1};
    struct topics topics = {.plan = plan, .options = &options};
    struct pipe_kafka_config config = {0};
    char error[512] = "";
    int code = take_options(plan, argc, argv, &options);
    if (code == 0) {
        options.run.kafka.instance =
            options.run.kafka.instance != NULL ? options.run.kafka.instance : "topics";
        bool ok = pipe_kafka_config(plan, &options.run.kafka, &config, error, sizeof error);
        if (!ok || !kafka_admin_open(&topics.admin, &config)) {
            fprintf(stderr, "%s topics: %s\n", plan->name, ok ? topics.admin.error : error);
            code = PIPE_EXIT_USAGE;
        } else {
            code = go_through(&topics);
            kafka_admin_close(&topics.admin);
        }
    }
    free((void *)(uintptr_t)config.properties);
    pipe_options_free(&options.run);
    return code < 0 ? PIPE_EXIT_OK : code;
}
