/*
 * options_check.c: whether a run with the options given can keep its promise: embedded, on Kafka,
 * or without any directory.
 */
#include <stdlib.h>

#include "engine.h"

#define FETCH_WAIT_LEAST_MS 5
#define FETCH_WAIT_MOST_MS 10

/* ---- Kafka or embedded ---- */

static bool is_read_from_topic(const struct pipe_run_options *options,
                               const struct pipe_source_def *source)
{
    for (uint32_t p = 0; p < options->path_count; p++) {
        if (strcmp(options->paths[p].name, source->name) == 0)
            return false;
    }
    return source->is_kafka;
}

/* What the command line says about Kafka; NULL: nothing. */
static const char *kafka_option(const struct pipe_run_options *options)
{
    return options->kafka.property_count > 0 ? "--kafka"
           : options->state != NULL          ? "--state"
           : options->kafka.instance != NULL ? "--instance"
           : options->kafka.group != NULL    ? "--group"
           : options->accept_gap             ? "--accept-gap"
           : options->checkpoints != NULL    ? "--checkpoints"
                                             : NULL;
}

static int check_interval(const struct pipe_plan *plan, const struct pipe_run_options *options)
{
    struct pipe_kafka_config config;
    char error[256];
    if (!pipe_kafka_config(plan, &options->kafka, &config, error, sizeof error)) {
        fprintf(stderr, "%s run: %s\n", plan->name, error);
        return PIPE_EXIT_USAGE;
    }
    free((void *)config.properties);
    if (options->commit_ms * 3 < config.transaction_timeout_ms)
        return 0;
    fprintf(stderr,
            "%s run: a commit every %lld ms is too seldom: a transaction must not be open for a "
            "third of transaction.timeout.ms, which is %lld; give --commit-interval less, or "
            "--kafka transaction.timeout.ms=%lld\n",
            plan->name, (long long)options->commit_ms, (long long)config.transaction_timeout_ms,
            (long long)options->commit_ms * 3 + 1000);
    return PIPE_EXIT_USAGE;
}

/* An embedded run keeps log and state in one place: state alone, elsewhere, restores nothing. */
static int check_checkpoints(const struct pipe_plan *plan, const struct pipe_run_options *options)
{
    const char *wrong =
        options->checkpoints != NULL && options->embedded != NULL
            ? "--checkpoints is about Kafka; an embedded run has its log beside its state, so copy "
              "the directory of --embedded while no run uses it"
        : options->checkpoints == NULL && options->checkpoint_ms > 0
            ? "--checkpoint-interval is about --checkpoints; add that"
            : NULL;
    if (wrong != NULL)
        fprintf(stderr, "%s run: %s\n", plan->name, wrong);
    return wrong != NULL ? PIPE_EXIT_USAGE : 0;
}

/* Records that wait at a broker are late for their commit: a tenth of its interval at most. */
static uint32_t fetch_wait_ms(int64_t commit_ms)
{
    return commit_ms < 10 * FETCH_WAIT_LEAST_MS  ? FETCH_WAIT_LEAST_MS
           : commit_ms > 10 * FETCH_WAIT_MOST_MS ? FETCH_WAIT_MOST_MS
                                                 : (uint32_t)(commit_ms / 10);
}

static int choose_transport(const struct pipe_plan *plan, struct pipe_run_options *options)
{
    const char *given = kafka_option(options);
    bool topics = false;
    char error[512];
    if (options->embedded != NULL && given != NULL) {
        fprintf(stderr, "%s run: %s is about Kafka, but --embedded keeps the topics in %s\n",
                plan->name, given, options->embedded);
        return PIPE_EXIT_USAGE;
    }
    for (uint32_t i = 0; i < plan->source_count; i++)
        topics = topics || is_read_from_topic(options, &plan->sources[i]);
    if (options->embedded != NULL || (given == NULL && !topics))
        return 0;
    if (!pipe_kafka_environment(&options->kafka, error, sizeof error)) {
        fprintf(stderr, "%s run: %s\n", plan->name, error);
        return PIPE_EXIT_DATA;
    }
    if (pipe_kafka_value(&options->kafka, "bootstrap.servers") == NULL) {
        if (given == NULL)
            return 0;
        fprintf(stderr,
                "%s run: %s is about Kafka, but where is it? give --kafka "
                "bootstrap.servers=host:port, or PIPE_KAFKA_BOOTSTRAP\n",
                plan->name, given);
        return PIPE_EXIT_USAGE;
    }
    if (options->state == NULL) {
        size_t size = strlen(plan->name) + 8;
        options->default_state = pipe_malloc(size);
        snprintf(options->default_state, size, "%s.state", plan->name);
        options->state = options->default_state;
    }
    options->kafka.fetch.wait_ms = fetch_wait_ms(options->commit_ms);
    options->transport = pipe_kafka_transport(&options->kafka_run, plan, &options->kafka);
    return check_interval(plan, options);
}

/* ---- What is promised ---- */

/* Whether Kafka could take the place of a directory: files have none in its commits. */
static const char *other_way(const struct pipe_plan *plan, const struct pipe_run_options *options)
{
    bool files = false, named = false;
    for (uint32_t i = 0; i < plan->source_count; i++) {
        files = files || !plan->sources[i].is_kafka;
        named = named || !is_read_from_topic(options, &plan->sources[i]);
    }
    for (uint32_t i = 0; i < plan->sink_count; i++)
        files = files || plan->sinks[i].kind == PIPE_SINK_FILE ||
                plan->sinks[i].kind == PIPE_SINK_STDOUT;
    return files   ? " (a pipeline with files as sources or sinks does not run on Kafka)"
           : named ? "; or leave out --path, and run it on Kafka, with "
                     "PIPE_KAFKA_BOOTSTRAP=host:port"
                   : "; or run it on Kafka, with PIPE_KAFKA_BOOTSTRAP=host:port";
}

/* Whether a run without a directory can keep its promise: files in, at least once out. */
static int check_directory(const struct pipe_plan *plan, const struct pipe_run_options *options)
{
    const char *why = NULL, *name = "";
    if (options->embedded != NULL || options->transport != NULL)
        return 0;
    for (uint32_t i = 0; i < plan->source_count; i++) {
        if (plan->sources[i].is_kafka)
            why = "source", name = plan->sources[i].name;
    }
    for (uint32_t i = 0; why == NULL && i < plan->sink_count; i++) {
        const struct pipe_sink_def *sink = &plan->sinks[i];
        if (sink->kind != PIPE_SINK_FILE && sink->kind != PIPE_SINK_STDOUT)
            why = "sink", name = sink->name;
        else if (sink->exactly_once)
            why = "`exactly once` sink", name = sink->name;
    }
    if (why == NULL)
        return 0;
    fprintf(stderr,
            "%s run: %s %s needs a directory: give --embedded DIR, where every topic and table "
            "lives then%s\n",
            plan->name, why, name, other_way(plan, options));
    return PIPE_EXIT_USAGE;
}

static int check_inputs(const struct pipe_plan *plan, const struct pipe_run_options *options)
{
    for (uint32_t i = 0; i < plan->source_count; i++) {
        const char *path = plan->sources[i].is_kafka ? NULL : plan->sources[i].target;
        for (uint32_t p = 0; p < options->path_count; p++) {
            if (strcmp(options->paths[p].name, plan->sources[i].name) == 0)
                path = options->paths[p].path;
        }
        if (path == NULL || strcmp(path, "-") != 0)
            continue;
        for (uint32_t s = 0; s < plan->sink_count; s++) {
            if (!plan->sinks[s].exactly_once)
                continue;
            fprintf(stderr,
                    "%s run: source %s is standard input, which can't be read again after a "
                    "failure, but "
                    "sink %s promises `exactly once`; give a file with --path %s=FILE\n",
                    plan->name, plan->sources[i].name, plan->sinks[s].name, plan->sources[i].name);
            return PIPE_EXIT_USAGE;
        }
    }
    bool dependent =
        options->has_count || options->has_rate || options->has_seed || options->has_start;
    if (dependent && !options->traffic) {
        fprintf(stderr, "%s run: --count, --rate, --seed and --start are about --traffic; add it\n",
                plan->name);
        return PIPE_EXIT_USAGE;
    }
    return 0;
}

int pipe_options_check_run(const struct pipe_plan *plan, struct pipe_run_options *options)
{
    int code = check_checkpoints(plan, options);
    code = code != 0 ? code : choose_transport(plan, options);
    code = code != 0 ? code : check_directory(plan, options);
    return code != 0 ? code : check_inputs(plan, options);
}
