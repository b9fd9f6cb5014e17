/*
 * grouped.c: two or three instances of a pipeline share the partitions of the cluster. They are
 * crashed, paused, stopped and started again; the cluster loses answers and delays requests; input
 * comes meanwhile. Then all goes well for a while, until everything is read, and the model must
 * agree with what is committed.
 */
#include "broker.h"
#include "clickhouse.h"
#include "server.h"

#include <stdio.h>
#include <stdlib.h>

#define START_MS                                                                                   \
    INT64_C(1767225600000) /* of the traffic, and of the brokers' clock: 2026-01-01                \
                            */
#define INSTANCES_MAX 3
#define FOLLOWERS_MAX 2
#define PROCESSES_MAX (INSTANCES_MAX + 1 + FOLLOWERS_MAX + 1)
#define STOPS_US 5000000    /* what a follower has for what is under way */
#define SETTLES_US 30000000 /* without faults and input: then all is done */
#define DRAINS_US 600000000

struct process { /* one place where an instance runs: a name, and a state directory */
    const struct sim_program *program;
    char name[8], dir[16];
    bool follows; /* a follower of tables, else an engine */
    struct pipe_run_options options;
    struct pipe_transport transport;
    struct sim_instance *instance; /* NULL: it does not run */
    int64_t starts_us;             /* then, again; INT64_MAX: never */
    bool once;
    bool stops; /* it was asked to */
    bool failed;
    int code;
    char error[768];
};

struct input { /* what one source gets */
    struct pipe_feeder *feeder;
    struct pipe_feed_record next;
    bool has_next;
    uint32_t topic;
};

struct group {
    const struct sim_program *program;
    struct process processes[PROCESSES_MAX];
    uint32_t process_count, serial;
    bool checkpoints; /* are made */
    struct input inputs[4];
    uint32_t input_count;
    int64_t begin_us, ends_us;       /* of the input */
    uint32_t foreign, foreign_epoch; /* a producer whose records nobody must see */
    uint64_t appended;
};

/* ---- An instance ---- */

static struct pipe_log *open_log(void *context, const char *dir, char *error, size_t error_bytes)
{
    const struct process *process = context;
    (void)dir;
    (void)error;
    (void)error_bytes;
    return sim_cluster_open(process->name, 0);
}

static bool step(struct process *process, struct pipe_engine *engine)
{
    for (;;) {
        if (process->stops)
            engine->stop = true;
        switch (engine_step(engine, 20)) {
        case ENGINE_WORKED:
        case ENGINE_IDLE:
            break;
        case ENGINE_FINISHED:
            return engine_finish(engine);
        case ENGINE_FAILED:
            return false;
        }
        sim_sleep(0);
    }
}

static void live(void *argument)
{
    struct process *process = argument;
    struct pipe_engine *engine = engine_new(process->program->plan, &process->options);
    process->failed = !(engine_open(engine) && step(process, engine));
    if (process->failed) {
        process->code = engine->exit_code;
        snprintf(process->error, sizeof process->error, "%s", engine->error);
    }
    engine_close(engine);
}

static void follow(void *argument)
{
    static const uint64_t memory[] = {500, 10000, 1u << 20};
    struct process *process = argument;
    struct pipe_follower_config config = {
        .plan = process->program->plan,
        .log = sim_cluster_open(process->name, 1),
        .target = pipe_target_clickhouse(process->program->plan, sim_server_client()),
        .memory_bytes = memory[sim_below(3)],
        .requests = 1 + sim_below(4)};
    config.target->ranges = 1 + sim_below(4);
    struct pipe_follower *follower = pipe_follower_new(&config);
    int64_t stops_us = INT64_MAX;
    while (!process->failed) {
        if (process->stops && stops_us == INT64_MAX) {
            pipe_follower_flush(follower, true);
            stops_us = sim.now_us + STOPS_US;
        }
        process->failed = pipe_follower_step(follower, 20) == PIPE_FOLLOWER_FAILED;
        if (process->stops && (pipe_follower_is_quiet(follower) || sim.now_us > stops_us))
            break;
        sim_sleep(0);
    }
    if (process->failed) {
        process->code = pipe_follower_fenced(follower) ? PIPE_EXIT_OK : PIPE_EXIT_DATA;
        snprintf(process->error, sizeof process->error, "%s", pipe_follower_error(follower));
    }
    pipe_follower_close(follower);
}

static void choose_options(const struct group *group, struct process *process)
{
    static const uint32_t batch[] = {1, 3, 10, 50}, commit[] = {1, 10, 50, 500},
                          bytes[] = {300, 5000, 1u << 20}, memory[] = {0, 1, 30000};
    process->options = (struct pipe_run_options){.state = process->dir,
                                                 .transport = &process->transport,
                                                 .batch_records = batch[sim_below(4)],
                                                 .commit_ms = commit[sim_below(4)],
                                                 .commit_bytes = bytes[sim_below(3)],
                                                 .state_bytes = memory[sim_below(3)],
                                                 .max_record_bytes = 1u << 20,
                                                 .progress = PIPE_PROGRESS_NEVER};
    if (group->checkpoints) {
        process->options.checkpoint_hooks = &sim_checkpoint_hooks;
        process->options.checkpoint_ms = sim_between(100, 8000);
    }
}

static void start(struct group *group, struct process *process)
{
    char name[16];
    snprintf(name, sizeof name, "%s.%u", process->name, ++group->serial);
    choose_options(group, process);
    if (group->checkpoints && sim_below(4) == 0) { /* the disk, or the machine, is another */
        char path[32];
        snprintf(path, sizeof path, "%s/state", process->dir);
        sim_store_remove(path);
    }
    process->stops = process->failed = false;
    process->instance = sim_instance_new(name, process->follows ? follow : live, process);
    sim_trace("start %s: batches of %u, commit every %lld ms or %lld bytes", name,
              process->options.batch_records, (long long)process->options.commit_ms,
              (long long)process->options.commit_bytes);
}

/* One turn of an instance. */
static void run(struct process *process)
{
    uint64_t errors = sim.errors;
    enum sim_end end = sim_instance_run(process->instance);
    if (end == SIM_YIELDED)
        return;
    process->instance = NULL;
    process->starts_us = process->once ? INT64_MAX : sim.now_us + sim_between(0, 12000000);
    if (end != SIM_RETURNED)
        return;
    sim_trace("%s ends%s%s", process->name, process->failed ? ": " : "",
              process->failed ? process->error : "");
    if (process->failed && process->code != PIPE_EXIT_OK && sim.errors == errors && errors == 0)
        sim_fail("%s fails though nothing was wrong: %s", process->name, process->error);
}

/* ---- Input ---- */

static void open_input(struct group *group, uint32_t traffic)
{
    const struct pipe_plan *plan = group->program->plan;
    const struct pipe_source_def *source = &plan->sources[plan->traffics[traffic].source];
    struct input *input = &group->inputs[group->input_count++];
    struct pipe_feeder_options options = {.count = -1,
                                          .rate_per_hour = 3600 * (int64_t)sim_between(2, 10),
                                          .seed = sim_random() >> 1,
                                          .start_ms = START_MS};
    char error[512];
    input->feeder =
        pipe_feeder_open(plan, traffic, source->partitions, &options, error, sizeof error);
    if (input->feeder == NULL)
        sim_fail("%s", error);
    input->topic = broker_topic(source->target, source->partitions);
    input->has_next = pipe_feeder_next(input->feeder, &input->next);
}

/* Records that are aborted, or about to be: for a while nothing behind them is stable. */
static void append_foreign(struct group *group, struct broker_place at)
{
    struct pipe_str text = pipe_str_of("not to be read", 14);
    if (!broker_append_to(group->foreign, group->foreign_epoch, at, START_MS, text, text))
        group->foreign_epoch = broker_init_producer("foreign", &group->foreign);
    else
        broker_end_later(group->foreign, group->foreign_epoch, false,
                         sim_below(3) == 0 ? sim_between(0, 3000000) : 0);
}

static void feed(struct group *group)
{
    for (uint32_t i = 0; i < group->input_count && sim.now_us < group->ends_us; i++) {
        struct input *input = &group->inputs[i];
        while (input->has_next &&
               (input->next.kafka_time_ms - START_MS) * 1000 <= sim.now_us - group->begin_us) {
            struct broker_place at = {input->topic, input->next.partition};
            if (sim_below(30) == 0)
                append_foreign(group, at);
            broker_append(at, input->next.kafka_time_ms, input->next.key, input->next.value);
            group->appended++;
            input->has_next = pipe_feeder_next(input->feeder, &input->next);
        }
    }
}

/* ---- The schedule ---- */

static void see_members(const struct group *group)
{
    for (uint32_t i = 0; i < group->process_count; i++) {
        const struct process *process = &group->processes[i];
        if (process->instance == NULL || sim_instance_paused(process->instance))
            continue;
        for (uint32_t m = 0; m < BROKER_MEMBERS; m++)
            if (strcmp(broker.members[m].instance, process->name) == 0)
                broker.members[m].seen_us = sim.now_us; /* the client's own thread */
    }
}

/* The process that is due next, started if it must be; time goes on to then. */
static struct process *next_process(struct group *group)
{
    struct process *next = NULL;
    int64_t due_us = INT64_MAX;
    uint32_t equal = 1;
    for (uint32_t i = 0; i < group->process_count; i++) {
        struct process *process = &group->processes[i];
        int64_t at_us =
            process->instance != NULL ? sim_instance_wakes(process->instance) : process->starts_us;
        at_us = at_us < sim.now_us ? sim.now_us : at_us;
        if (at_us > due_us || (at_us == due_us && sim_below(++equal) > 0))
            continue;
        equal = at_us < due_us ? 1 : equal;
        next = process;
        due_us = at_us;
    }
    if (due_us > sim.now_us + 20000) { /* input and timeouts come in between */
        sim_pass(20000);
        return NULL;
    }
    sim_pass(due_us - sim.now_us);
    return next;
}

static void turn(struct group *group)
{
    struct process *process = next_process(group);
    see_members(group);
    broker_tick();
    sim_server_tick();
    feed(group);
    if (process == NULL)
        return;
    if (group->checkpoints && sim_chance(sim.odds.object_error / 100))
        sim_objects_lose();
    if (group->program->tables)
        sim_server_trouble();
    if (process->instance == NULL) {
        start(group, process);
    } else if (!process->stops && sim_chance(sim.odds.pause / 4)) {
        sim_trace("%s is asked to stop", process->name);
        process->stops = true;
    }
    run(process);
}

static bool is_input(const struct group *group, uint32_t topic)
{
    for (uint32_t i = 0; i < group->input_count; i++)
        if (group->inputs[i].topic == topic)
            return true;
    return false;
}

static bool is_exchange(uint32_t topic)
{
    return strstr(broker.topics[topic].name, ".exchange") != NULL;
}

/* Whether a follower reads it. */
static bool is_followed(const struct group *group, uint32_t topic)
{
    const struct pipe_plan *plan = group->program->plan;
    for (uint32_t i = 0; i < plan->sink_count; i++) {
        struct pipe_plan_topic followed;
        if (plan->sinks[i].table == NULL)
            continue;
        sim_followed_topic(plan, i, &followed);
        if (strcmp(followed.name, broker.topics[topic].name) == 0)
            return true;
    }
    return false;
}

static bool is_awake(const struct group *group)
{
    for (uint32_t i = 0; i < group->process_count; i++)
        if (group->processes[i].instance == NULL
                ? group->processes[i].starts_us != INT64_MAX
                : sim_instance_paused(group->processes[i].instance))
            return false;
    return true;
}

static bool is_unread(const struct broker_topic *topic)
{
    for (uint32_t p = 0; p < topic->partitions; p++) {
        const struct broker_partition *part = &topic->parts[p];
        for (int64_t i = part->position; i < part->count; i++)
            if (part->records[i].fate == BROKER_PENDING ||
                part->records[i].fate == BROKER_COMMITTED)
                return true;
    }
    return false;
}

/* All is read; of a source whose time goes on by itself, markers may be on their way. */
static bool is_drained(const struct group *group)
{
    for (uint32_t t = 0; t < broker.topic_count; t++)
        if (is_unread(&broker.topics[t]) &&
            (is_input(group, t) || (!group->program->advances && is_exchange(t)) ||
             is_followed(group, t)))
            return false;
    return sim_server_is_quiet();
}

/* Until nothing comes any more, for as long as idle rules take. */
static void drain(struct group *group)
{
    int64_t until_us = sim.now_us + DRAINS_US, quiet_us = sim.now_us;
    uint64_t before = 0;
    while (sim.now_us < quiet_us + SETTLES_US) {
        turn(group);
        uint64_t count = broker.committed;
        if (sim.now_us > until_us)
            sim_fail("after %.0f s without a fault there is still something to do",
                     (double)DRAINS_US / 1e6);
        if (!is_awake(group) || !is_drained(group) ||
            (count != before && !group->program->advances))
            quiet_us = sim.now_us;
        before = count;
    }
}

/* ---- The end ---- */

/* What all tasks have counted, as committed with their positions. */
static void check_counters(const struct group *group)
{
    const struct pipe_plan *plan = group->program->plan;
    struct pipe_counters *totals = pipe_calloc(plan->stream_count + 1, sizeof *totals);
    struct engine_committed committed;
    uint32_t count;
    for (uint32_t t = 0; t < broker.topic_count; t++) {
        bool read = is_input(group, t) || is_exchange(t);
        for (uint32_t p = 0; read && p < broker.topics[t].partitions; p++) {
            const struct pipe_buf *value = &broker.topics[t].parts[p].metadata;
            if (!engine_decode_task(plan, pipe_str_of(value->data, value->size), &committed,
                                    totals))
                sim_fail("the position of %s/%u is malformed", broker.topics[t].name, p);
        }
    }
    struct pipe_equation *equations =
        counters_equations(plan, totals, !group->program->advances, &count);
    for (uint32_t i = 0; i < count; i++)
        if (!counters_equal(&equations[i]))
            sim_fail("rows are not accounted for in stream %s: %s = %llu, but %s = %llu",
                     equations[i].stream, equations[i].left_text,
                     (unsigned long long)equations[i].left, equations[i].right_text,
                     (unsigned long long)equations[i].right);
    free(equations);
    free(totals);
}

static bool read_topic(void *context, const char *name, int32_t partition,
                       bool (*each)(void *to, const struct sim_record *record), void *to)
{
    (void)context;
    uint32_t topic = 0;
    while (topic < broker.topic_count && strcmp(broker.topics[topic].name, name) != 0)
        topic++;
    if (topic == broker.topic_count || partition >= (int32_t)broker.topics[topic].partitions)
        return false;
    const struct broker_partition *part = &broker.topics[topic].parts[partition];
    for (int64_t i = 0; i < part->count; i++) {
        const struct broker_record *from = &part->records[i];
        struct sim_record record = {partition, i, from->kafka_time_ms, from->key, from->value};
        if (from->fate == BROKER_COMMITTED && !each(to, &record))
            break;
    }
    return true;
}

static struct process *place_process(struct group *group, uint32_t place, uint32_t name,
                                     int64_t starts_us)
{
    struct process *process = &group->processes[place];
    *process = (struct process){.program = group->program, .starts_us = starts_us};
    snprintf(process->name, sizeof process->name, "%c", 'a' + (char)name);
    snprintf(process->dir, sizeof process->dir, "state-%u", place);
    process->transport = (struct pipe_transport){process, open_log};
    return process;
}

/* Followers, and somebody who starts the first one again while it is still there. */
static void place_followers(struct group *group)
{
    static const uint32_t server[] = {0, 500, 3000, 15000};
    uint32_t count = 1 + sim_below(FOLLOWERS_MAX);
    sim.odds.server = server[sim_below(4)];
    for (uint32_t i = 0; i < count; i++) {
        struct process *process = place_process(group, group->process_count++, 'm' - 'a' + i,
                                                sim.now_us + sim_between(0, 30000000));
        process->follows = true;
    }
    if (sim_below(3) == 0) {
        struct process *twin = place_process(group, group->process_count++, 'm' - 'a',
                                             sim.now_us + sim_between(5, 60) * 1000000);
        twin->follows = twin->once = true;
    }
}

static void begin_group(struct group *group)
{
    static const uint32_t crash[] = {0, 10, 30, 100, 400}, error[] = {0, 500, 3000, 10000},
                          slow[] = {0, 300, 3000}, pause[] = {0, 20, 100, 300},
                          object[] = {0, 500, 5000};
    const struct pipe_plan *plan = group->program->plan;
    sim.grouped = true;
    sim.odds = (struct sim_odds){.crash = crash[sim_below(5)],
                                 .store_error = error[sim_below(4)],
                                 .slow = slow[sim_below(3)],
                                 .pause = pause[sim_below(4)],
                                 .object_error = object[sim_below(3)]};
    group->checkpoints = sim_below(3) > 0;
    sim_checkpoint_hooks.grace_ms = sim_between(0, 10000);
    sim_checkpoint_hooks.foreign_grace_ms = sim_between(0, 30000);
    sim.crashes_left = sim_below(12);
    sim.wall_us = START_MS * 1000;
    group->process_count = 1 + sim_below(INSTANCES_MAX);
    group->begin_us = sim.now_us;
    group->ends_us = sim.now_us + sim_between(5, 60) * 1000000;
    group->foreign_epoch = broker_init_producer("foreign", &group->foreign);
    for (uint32_t i = 0; i < plan->traffic_count; i++)
        open_input(group, i);
    for (uint32_t i = 0; i < group->process_count; i++)
        place_process(group, i, i, sim.now_us + sim_between(0, 10000000));
    if (sim_below(3) == 0) { /* somebody starts the first one again, while it is still there */
        struct process *twin = place_process(group, group->process_count++, 0,
                                             sim.now_us + sim_between(5, 40) * 1000000);
        twin->once = true;
    }
    if (group->program->tables)
        place_followers(group);
}

/* Tables that stand still do so until a restart. */
static void restart_followers(struct group *group)
{
    sim_server_calm();
    for (uint32_t i = 0; i < group->process_count; i++)
        group->processes[i].stops |= group->processes[i].follows;
}

void sim_grouped(const struct sim_program *program)
{
    struct group group = {.program = program};
    begin_group(&group);
    while (sim.now_us < group.ends_us)
        turn(&group);
    sim_trace("no faults from now on");
    sim.odds = (struct sim_odds){0};
    restart_followers(&group);
    drain(&group);
    check_counters(&group);
    struct sim_reader reader = {NULL, read_topic};
    sim_check_outputs(program, &reader);
    sim_check_tables(&reader);
}
