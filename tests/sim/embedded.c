/*
 * embedded.c: a run in a directory. It is crashed, stopped and refused its writes as the seed says,
 * and started again each time; at last it runs to the end undisturbed. Then `reconcile` must find
 * the directory exact, and the model must agree with it.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "clickhouse.h"
#include "server.h"
#include "sim.h"

#define START_MS INT64_C(1767225600000) /* of the traffic, and of the wall clock: 2026-01-01 */
#define LIVES_MAX 400
#define PATHS_MAX 16

struct life {
    const struct sim_program *program;
    struct pipe_run_options options;
    bool on_server; /* tables are on the server, not in files */
    bool failed;
    int code;
    char error[768];
};

struct run {
    const struct sim_program *program;
    struct life life;
    char dir[300];
    struct pipe_path_option paths[PATHS_MAX];
    char path_texts[PATHS_MAX][400];
    struct pipe_feeder_options feeder;
    uint32_t injections;  /* that may still come */
    uint32_t loses_state; /* before a start, in 100,000 */
    bool paced; /* endless traffic in real time, against a given number of events at once */
};

/* ---- A life ---- */

/* As follower_run.c and follower_thread.c do, in one thread. */
static struct pipe_follower *open_follower(const struct life *life, struct pipe_engine *engine)
{
    static const uint64_t memory[] = {500, 10000, 1u << 20};
    const struct pipe_plan *plan = life->program->plan;
    struct pipe_follower_config config = {
        .plan = plan,
        .log = pipe_log_embedded_attach(engine->log),
        .target = life->on_server ? pipe_target_clickhouse(plan, sim_server_client())
                                  : pipe_target_native(plan, engine->dir),
        .memory_bytes = memory[sim_below(3)],
        .requests = 1 + sim_below(4)};
    if (life->on_server)
        config.target->ranges = 1 + sim_below(4);
    return pipe_follower_new(&config);
}

static bool step_follower(struct pipe_engine *engine, struct pipe_follower *follower)
{
    enum pipe_follower_state state = pipe_follower_step(follower, 20);
    if (state == PIPE_FOLLOWER_FAILED)
        return engine_fail(engine, PIPE_EXIT_DATA, "%s", pipe_follower_error(follower));
    if (state == PIPE_FOLLOWER_IDLE && !pipe_follower_waits(follower))
        engine_sleep_us(5000);
    sim_server_tick();
    sim_server_trouble();
    return true;
}

/* What is committed gets into the tables; of a run that is stopped, what is under way. */
static bool finish_follower(struct pipe_engine *engine, struct pipe_follower *follower)
{
    bool stops = engine_stop_requested;
    pipe_follower_flush(follower, stops);
    int64_t stops_us = sim.now_us + 5000000;
    while (stops ? !pipe_follower_is_quiet(follower) && sim.now_us < stops_us
                 : !pipe_follower_at_end(follower)) {
        if (!step_follower(engine, follower))
            return false;
        if (!stops && engine_stop_requested)
            return finish_follower(engine, follower);
    }
    return true;
}

static bool run_both(struct pipe_engine *engine, struct pipe_follower *follower)
{
    for (;;) {
        enum engine_state state = engine_step(engine, 0);
        if (state == ENGINE_FAILED)
            return false;
        if (state == ENGINE_FINISHED)
            return engine_finish(engine) && finish_follower(engine, follower);
        if (state == ENGINE_IDLE)
            engine_sleep_us(2000);
        if (sim_below(3) == 0 && !step_follower(engine, follower))
            return false;
    }
}

static bool run_engine(const struct life *life, struct pipe_engine *engine)
{
    if (!life->program->tables)
        return engine_run(engine);
    struct pipe_follower *follower = open_follower(life, engine);
    bool ok = run_both(engine, follower);
    pipe_follower_close(follower);
    return ok;
}

/* As `NAME run` does (cli.c). */
static void live(void *argument)
{
    struct life *life = argument;
    struct pipe_engine *engine = engine_new(life->program->plan, &life->options);
    bool opened = engine_open(engine);
    life->failed = !(opened && run_engine(life, engine));
    if (life->failed) {
        if (opened)
            engine_rollback(engine);
        life->code = engine->exit_code;
        snprintf(life->error, sizeof life->error, "%s", engine->error);
    }
    engine_close(engine);
}

static enum sim_end run_life(struct run *run, uint32_t number)
{
    struct life *life = &run->life;
    char name[16];
    uint64_t errors = sim.errors;
    snprintf(name, sizeof name, "life %u", number);
    engine_stop_requested = 0;
    life->failed = false;
    sim_trace("start %s: batches of %u, commit every %lld ms or %lld bytes", name,
              life->options.batch_records, (long long)life->options.commit_ms,
              (long long)life->options.commit_bytes);
    enum sim_end end = sim_instance_run(sim_instance_new(name, live, life));
    if (end == SIM_RETURNED && life->failed) {
        sim_trace("%s ends with code %d: %s", name, life->code, life->error);
        if (life->code != PIPE_EXIT_OK && sim.errors == errors)
            sim_fail("a run fails though nothing was wrong: %s", life->error);
    }
    return end;
}

/* ---- What the seed chooses ---- */

static const struct sim_odds no_odds;

static uint32_t one_of(const uint32_t *values, uint32_t count)
{
    return values[sim_below(count)];
}

static void choose_odds(void)
{
    static const uint32_t crash[] = {30, 100, 300, 1000, 4000}, error[] = {0, 30, 300, 1000},
                          slow[] = {0, 30, 300, 2000}, call_us[] = {400, 20000, 300000},
                          server[] = {0, 500, 3000, 15000};
    sim.odds = (struct sim_odds){.crash = one_of(crash, 5),
                                 .store_error = one_of(error, 4),
                                 .file_error = one_of(error, 4),
                                 .slow = one_of(slow, 4),
                                 .server = one_of(server, 4),
                                 .step = sim_below(4) == 0 ? 300 : 0,
                                 .call_us = one_of(call_us, 3)};
    sim.crashes_left = sim_below(24);
    sim.big_batches = sim_below(4) == 0;
    sim.wall_us = START_MS * 1000 + sim_between(-3600, 3600) * 1000000;
}

static void choose_options(struct run *run)
{
    static const uint32_t batch[] = {1, 2, 7, 30, 200}, commit[] = {1, 1, 5, 50, 2000},
                          bytes[] = {200, 4000, 1u << 20}, memory[] = {0, 1, 30000};
    struct pipe_run_options *options = &run->life.options;
    options->batch_records = one_of(batch, 5);
    options->commit_ms = one_of(commit, 5);
    options->commit_bytes = one_of(bytes, 3);
    options->state_bytes = one_of(memory, 3);
}

static void add_path(struct run *run, const char *name, const char *format, ...) PIPE_PRINTF(3, 4);
static void add_path(struct run *run, const char *name, const char *format, ...)
{
    struct pipe_run_options *options = &run->life.options;
    va_list args;
    va_start(args, format);
    char *text = run->path_texts[options->path_count];
    vsnprintf(text, sizeof run->path_texts[0], format, args);
    va_end(args);
    run->paths[options->path_count++] = (struct pipe_path_option){name, text};
}

/* File sinks write into the scratch directory. */
static void make_paths(struct run *run)
{
    const struct pipe_plan *plan = run->program->plan;
    run->life.options.paths = run->paths;
    for (uint32_t i = 0; i < plan->sink_count; i++)
        if (plan->sinks[i].kind == PIPE_SINK_FILE)
            add_path(run, plan->sinks[i].name, "%s", plan->sinks[i].target);
    if (run->program->files)
        add_path(run, plan->sources[0].name, "input/*.csv");
}

int sim_redirect(const char *path, int to)
{
    fflush(stdout);
    int kept = dup(STDOUT_FILENO);
    int file = path != NULL ? open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : to;
    if (kept < 0 || file < 0 || dup2(file, STDOUT_FILENO) < 0 || dup2(file, STDERR_FILENO) < 0)
        sim_fail("output can't be redirected");
    close(file);
    return kept;
}

static void make_input_files(struct run *run)
{
    char to[] = "input", count[24], seed[24], rate[24];
    snprintf(count, sizeof count, "%lld", (long long)run->feeder.count);
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)run->feeder.seed);
    snprintf(rate, sizeof rate, "%lld", (long long)run->feeder.rate_per_hour / 3600);
    char *argv[] = {"--to",   to,   "--count",    count,   "--seed",  seed,
                    "--rate", rate, "--progress", "never", "--start", "2026-01-01T00:00:00Z"};
    int kept = sim_redirect("traffic.txt", -1);
    int code = pipe_traffic_main(run->program->plan, sizeof argv / sizeof argv[0], argv);
    close(sim_redirect(NULL, kept));
    if (code != PIPE_EXIT_OK)
        sim_fail("the input can't be made");
}

static void begin_run(struct run *run)
{
    choose_odds();
    snprintf(run->dir, sizeof run->dir, "run");
    run->paced = !run->program->files && sim_below(2) == 0;
    run->feeder = (struct pipe_feeder_options){.count = sim_between(20, 500),
                                               .rate_per_hour = 3600 * (int64_t)sim_between(2, 10),
                                               .seed = sim_random() >> 1,
                                               .start_ms = START_MS};
    run->injections = run->program->files ? 0 : sim_below(4);
    run->loses_state = sim_below(4) == 0 ? 30000 : 0;
    if (run->program->files)
        make_input_files(run);
    if (run->paced)
        run->feeder.count = -1;
    run->life = (struct life){.program = run->program};
    run->life.options = (struct pipe_run_options){.embedded = run->dir,
                                                  .traffic = !run->program->files,
                                                  .feeder = run->feeder,
                                                  .has_count = !run->program->files,
                                                  .has_rate = true,
                                                  .has_seed = true,
                                                  .has_start = true,
                                                  .max_record_bytes = 1u << 20,
                                                  .progress = PIPE_PROGRESS_NEVER};
    run->life.on_server = run->program->tables && sim_below(2) == 0;
    make_paths(run);
}

/* ---- The end ---- */

static bool read_topic(void *context, const char *name, int32_t partition,
                       bool (*each)(void *to, const struct sim_record *record), void *to)
{
    struct pipe_log *log = context;
    uint32_t topic = 0;
    while (topic < log->topic_count && strcmp(log->topics[topic].name, name) != 0)
        topic++;
    if (topic == log->topic_count || partition >= (int32_t)log->topics[topic].partitions)
        return false;
    struct pipe_record constant = {0}, *records;
    uint32_t count;
    struct pipe_log_reader *reader = log->ops->reader(log, topic, partition, 0, &constant);
    bool going = true;
    while (going && log->ops->read(reader, 64, INT64_MAX, &records, &count) == PIPE_LOG_RECORDS) {
        for (uint32_t i = 0; going && i < count; i++) {
            struct sim_record record = {partition, records[i].offset, records[i].kafka_time_ms,
                                        records[i].key, records[i].payload};
            going = each(to, &record);
        }
    }
    log->ops->reader_close(reader);
    return true;
}

static void check_model(struct run *run)
{
    char error[512];
    struct pipe_log *log = pipe_log_embedded_open(run->dir, true, error, sizeof error);
    if (log == NULL)
        sim_fail("the log can't be read: %s", error);
    struct sim_reader reader = {log, read_topic};
    sim_check_outputs(run->program, &reader);
    if (run->life.on_server)
        sim_check_tables(&reader);
    log->ops->close(log);
}

static void show_file(const char *path)
{
    char line[1024];
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        fputs(line, sim.out);
    if (file != NULL)
        fclose(file);
}

/* The command itself. */
static void check_reconcile(struct run *run)
{
    static const char path[] = "reconcile.txt";
    char *argv[2 + 2 * PATHS_MAX] = {run->dir}, texts[PATHS_MAX][500];
    int argc = 1;
    for (uint32_t i = 0; i < run->life.options.path_count; i++) {
        if (strcmp(run->paths[i].name, run->program->plan->sources[0].name) == 0)
            continue;
        snprintf(texts[i], sizeof texts[i], "%s=%s", run->paths[i].name, run->paths[i].path);
        argv[argc++] = "--path";
        argv[argc++] = texts[i];
    }
    int kept = sim_redirect(path, -1);
    int code = pipe_reconcile_main(run->program->plan, argc, argv);
    close(sim_redirect(NULL, kept));
    if (code == PIPE_EXIT_OK)
        return;
    show_file(path);
    sim_fail("reconcile: code %d", code);
}

void sim_embedded(const struct sim_program *program)
{
    struct run run = {.program = program};
    uint32_t lives = 0;
    begin_run(&run);
    int64_t end_us = sim.now_us + sim_between(5, 60) * 1000000;
    bool done = false;
    while (!done && lives < LIVES_MAX) {
        choose_options(&run);
        if (run.injections > 0 && sim_below(2) == 0) {
            sim_inject(program, run.dir, START_MS);
            run.injections--;
        }
        if (sim_chance(run.loses_state))
            sim_store_remove("run/state");
        sim.stop_at_us = sim_below(3) == 0 ? sim.now_us + sim_between(0, 20000000) : INT64_MAX;
        if (run.paced && sim.stop_at_us > end_us)
            sim.stop_at_us = end_us;
        enum sim_end end = run_life(&run, ++lives);
        done = run.paced ? sim.now_us >= end_us
                         : end == SIM_RETURNED && !run.life.failed && !engine_stop_requested;
        if (sim.crashes_left == 0 && lives > 40)
            sim.odds = no_odds;
    }
    sim.odds = no_odds;
    sim_server_calm();
    sim.stop_at_us = INT64_MAX;
    run.life.options.traffic = run.life.options.traffic && !run.paced;
    run.life.options.until_end = true;
    if (run_life(&run, ++lives) != SIM_RETURNED || run.life.failed)
        sim_fail("the last run does not end well: %s", run.life.error);
    if (!run.life.on_server) /* its tables are not in the directory */
        check_reconcile(&run);
    check_model(&run);
}
