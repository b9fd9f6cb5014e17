/*
 * follower_run.c: the follower of a run: which log, which target; and `NAME follow`, which has
 * nothing else.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "clickhouse.h"
#include "engine.h"
#include "follower.h"
#include "metrics.h"
#include "options.h"

#define PREFETCH_KIB (8u << 10) /* of Kafka: less than the engine's */
/* Its records come in bursts, with the engine's commits: each is worth an answer, and asking in
 * vain between them would be a tenth of what small brokers have to do. */
#define FETCH_WAIT_MS 50
#define NAP_US 50000
#define FILES_COMMIT_MS 1000       /* each range is a file, and nobody waits for it */
#define FILES_MEMORY (16ull << 20) /* likewise: the memory is the run's */

/* A run without its follower would go on as if tables got their rows. */
static void follower_failed(void)
{
    engine_stop_requested = 1;
}

/* ---- Where rows go ---- */

enum place { PLACE_NONE, PLACE_SERVER, PLACE_FILES };

/* The server of the environment. False: what it says is wrong. *client NULL: it names none. */
static bool find_server(struct pipe_clickhouse **client, char *error, size_t error_bytes)
{
    error[0] = '\0';
    *client = pipe_clickhouse_open(error, error_bytes);
    return *client != NULL || error[0] == '\0';
}

/* Rows of a directory that are in files are not on a server, and the other way round. */
static bool check_place(struct pipe_engine *engine, enum place place)
{
    const char *now = place == PLACE_FILES ? "files" : "server";
    struct pipe_buf stored = {0};
    bool found;
    bool ok = engine->log->ops->get(engine->log, "tables", &stored, &found) &&
              (found || (engine->log->ops->put(engine->log, "tables", now, strlen(now)) &&
                         engine->log->ops->commit(engine->log) == PIPE_LOG_COMMITTED));
    bool same = !found || pipe_str_equal(pipe_str_of(stored.data, stored.size),
                                         pipe_str_of(now, strlen(now)));
    pipe_buf_free(&stored);
    if (!ok)
        return engine_log_failed(engine);
    return same ||
           engine_fail(engine, PIPE_EXIT_STATE,
                       "the tables of %s went to %s so far; run it %s PIPE_CLICKHOUSE_URL, or use "
                       "another directory",
                       engine->dir, place == PLACE_FILES ? "a server" : "files",
                       place == PLACE_FILES ? "with" : "without");
}

/* ---- Which log ---- */

static struct pipe_log *open_group(const struct pipe_plan *plan,
                                   const struct pipe_run_options *options, char *error,
                                   size_t error_bytes)
{
    char group[320];
    struct pipe_kafka_options kafka = options->kafka;
    struct pipe_kafka_run run;
    if (kafka.group != NULL)
        snprintf(group, sizeof group, "%.300s.tables", kafka.group);
    else
        snprintf(group, sizeof group, "pipec.%.255s.tables", plan->name);
    kafka.group = group;
    kafka.prefetch_kib = PREFETCH_KIB;
    kafka.fetch = (struct pipe_kafka_fetch){FETCH_WAIT_MS, 1};
    const struct pipe_transport *transport = pipe_kafka_transport(&run, plan, &kafka);
    return transport->open(transport->context, options->state, error, error_bytes);
}

/* ---- In a run ---- */

/* As make_sinks (engine_setup.c) has it. */
static bool choose_topics(const struct pipe_engine *engine, enum pipe_follow *follows)
{
    bool any = false;
    for (uint32_t i = 0; i < engine->plan->sink_count; i++) {
        const struct engine_sink *sink = &engine->sinks[i];
        follows[i] = sink->def->kind != PIPE_SINK_CLICKHOUSE ? PIPE_FOLLOW_NOTHING
                     : sink->followed                        ? PIPE_FOLLOW_AS_PLANNED
                     : sink->is_topic                        ? PIPE_FOLLOW_OWN_TOPIC
                                                             : PIPE_FOLLOW_NOTHING;
        any = any || follows[i] != PIPE_FOLLOW_NOTHING;
    }
    return any;
}

static bool start(struct pipe_engine *engine, struct pipe_clickhouse *client,
                  const enum pipe_follow *follows)
{
    const struct pipe_plan *plan = engine->plan;
    char error[512];
    struct pipe_follower_config config = {
        .plan = plan, .follows = follows, .accept_gap = engine->options->accept_gap};
    if (client == NULL) {
        config.commit_least_ms = FILES_COMMIT_MS;
        config.memory_bytes = FILES_MEMORY;
    }
    config.log = engine->log->grouped ? open_group(plan, engine->options, error, sizeof error)
                                      : pipe_log_embedded_attach(engine->log);
    if (config.log == NULL) {
        pipe_clickhouse_close(client);
        return engine_fail(engine, PIPE_EXIT_DATA, "%s", error);
    }
    config.target = client != NULL ? pipe_target_clickhouse(plan, client)
                                   : pipe_target_native(plan, engine->dir);
    engine->follower = pipe_follower_start(pipe_follower_new(&config), plan, follower_failed);
    metrics_follows(engine);
    return true;
}

bool pipe_followers_start(struct pipe_engine *engine)
{
    const struct pipe_run_options *options = engine->options;
    struct pipe_clickhouse *client;
    char error[512];
    if (options->no_output || options->no_follow || !pipe_plan_has_followers(engine->plan))
        return true;
    if (!find_server(&client, error, sizeof error))
        return engine_fail(engine, PIPE_EXIT_USAGE, "%s", error);
    enum pipe_follow *follows = pipe_calloc(engine->plan->sink_count + 1, sizeof *follows);
    bool any = choose_topics(engine, follows), ok = true;
    if (any && client == NULL && engine->log->grouped)
        pipe_message(PIPE_INFO,
                     "rows of tables stay in their topics: PIPE_CLICKHOUSE_URL names no "
                     "server",
                     NULL);
    else if (any)
        ok = (engine->log->grouped ||
              check_place(engine, client != NULL ? PLACE_SERVER : PLACE_FILES)) &&
             start(engine, client, follows);
    else if (client != NULL)
        pipe_clickhouse_close(client);
    free(follows);
    return ok;
}

bool pipe_followers_end(struct pipe_engine *engine, bool finished)
{
    char error[768];
    if (engine->follower == NULL ||
        pipe_follower_finish(engine->follower, finished && !engine_stops(engine),
                             &engine_stop_requested, error, sizeof error))
        return true;
    return engine_fail(engine,
                       pipe_follower_was_fenced(engine->follower) ? PIPE_EXIT_OK : PIPE_EXIT_DATA,
                       "%s", error);
}

/* ---- Without an engine ---- */

static void print_figures(const struct pipe_plan *plan, struct pipe_follower_thread *thread)
{
    char text[32];
    for (uint32_t i = 0; i < plan->sink_count; i++) {
        struct pipe_follower_figures figures;
        pipe_follower_figures(thread, i, &figures);
        if (figures.follows)
            fprintf(stderr, "  %12s  %s  table %s\n", pipe_u64_grouped(text, figures.rows),
                    plan->sinks[i].name, plan->sinks[i].target);
    }
}

static int follow(const struct pipe_plan *plan, const struct pipe_run_options *options)
{
    struct pipe_follower_config config = {.plan = plan, .accept_gap = options->accept_gap};
    struct pipe_clickhouse *client;
    char error[768];
    if (!find_server(&client, error, sizeof error) || client == NULL) {
        fprintf(stderr, "%s follow: %s\n", plan->name,
                error[0] != '\0' ? error : "PIPE_CLICKHOUSE_URL names no server");
        return PIPE_EXIT_USAGE;
    }
    config.log = open_group(plan, options, error, sizeof error);
    if (config.log == NULL) {
        pipe_clickhouse_close(client);
        fprintf(stderr, "%s: %s\n", plan->name, error);
        return PIPE_EXIT_DATA;
    }
    config.target = pipe_target_clickhouse(plan, client);
    struct pipe_follower_thread *thread =
        pipe_follower_start(pipe_follower_new(&config), plan, follower_failed);
    while (!engine_stop_requested && !options->until_end)
        engine_sleep_us(NAP_US);
    bool ok = pipe_follower_finish(thread, options->until_end, &engine_stop_requested, error,
                                   sizeof error);
    print_figures(plan, thread);
    if (!ok)
        fprintf(stderr, "%s: %s\n", plan->name, error);
    int code = ok || pipe_follower_was_fenced(thread) ? PIPE_EXIT_OK : PIPE_EXIT_DATA;
    pipe_follower_free(thread);
    return code;
}

static bool make_state(const struct pipe_plan *plan, const char *path)
{
    if (mkdir(path, 0777) == 0 || errno == EEXIST)
        return true;
    fprintf(stderr, "%s follow: directory %s can't be made: %s\n", plan->name, path,
            strerror(errno));
    return false;
}

int pipe_follow_main(const struct pipe_plan *plan, int argc, char **argv)
{
    struct pipe_run_options options;
    int code = pipe_options_follow(plan, argc, argv, &options);
    if (code == 0 && !pipe_plan_has_followers(plan)) {
        fprintf(stderr, "%s follow: the pipeline has no sink to a table of ClickHouse\n",
                plan->name);
        code = PIPE_EXIT_USAGE;
    }
    if (code == 0)
        code = options.kafka.instance != NULL || make_state(plan, options.state)
                   ? follow(plan, &options)
                   : PIPE_EXIT_DATA;
    pipe_options_free(&options);
    return code < 0 ? PIPE_EXIT_OK : code;
}
