/*
 * The engine over a log that several processes share: tasks come and go with their partitions.
 * Processes are engines here, each with its log (struct member) over one cluster in memory, and the
 * test says who gets which partition, and what becomes of commits. Time is the test's.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime_toy_plan.h"
#include "runtime_member_log.h"
#include "scratch_dir.h"

#define LINES 400

/* ---- Processes ---- */

struct process {
    struct pipe_engine *engine;
    struct member *member;
    struct pipe_transport transport;
    struct pipe_run_options options;
    char state[100];
};

static void start(struct process *process, const char *name)
{
    bool accept = process->options.accept_gap;
    *process = (struct process){.options = {.commit_ms = 20,
                                            .commit_bytes = 1 << 20,
                                            .max_record_bytes = 1 << 16,
                                            .batch_records = 8,
                                            .progress = PIPE_PROGRESS_NEVER,
                                            .accept_gap = accept}};
    process->transport = (struct pipe_transport){&process->member, open_member};
    process->options.transport = &process->transport;
    snprintf(process->state, sizeof process->state, "%s/%s", dir, name);
    process->options.state = process->state;
    process->engine = engine_new(&plan, &process->options);
    if (!engine_open(process->engine))
        fail_msg("%s", process->engine->error);
}

static void stop(struct process *process)
{
    engine_close(process->engine);
    process->engine = NULL;
}

/* As kill -9 does, as far as the cluster and the directory see it. */
static void crash(struct process *process)
{
    stop(process);
}

/* Partitions of the source (bits 0 to 2) and of the exchange (bits 3, 4). */
static void tell(struct process *process, enum pipe_log_event_kind kind, unsigned mask)
{
    struct member *member = process->member;
    const struct pipe_engine *engine = process->engine;
    member->event = (struct pipe_log_event){.kind = kind};
    for (unsigned i = 0; i < 5; i++) {
        if ((mask >> i & 1) != 0)
            member->partitions[member->event.count++] = (struct pipe_log_partition){
                engine->tasks[i].topic, engine->tasks[i].task.partition};
    }
}
#define ALL 31u

static enum engine_state step(struct process *process)
{
    now_us += 500;
    return engine_step(process->engine, 1);
}

static void steps(struct process *process, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (step(process) == ENGINE_FAILED)
            fail_msg("%s", process->engine->error);
    }
}

/* Until it has read everything. */
static void finish(struct process *process)
{
    process->engine->endless = false; /* as --until-end */
    for (unsigned i = 0; i < 20000; i++) {
        switch (step(process)) {
        case ENGINE_FINISHED:
            if (!engine_finish(process->engine))
                fail_msg("%s", process->engine->error);
            return;
        case ENGINE_FAILED:
            fail_msg("%s", process->engine->error);
            return;
        case ENGINE_WORKED:
        case ENGINE_IDLE:
            break;
        }
    }
    fail_msg("no end");
}

/* Until it fails: the message. */
static const char *fails(struct process *process, int exit_code)
{
    for (unsigned i = 0; i < 200000; i++) {
        if (step(process) == ENGINE_FAILED) {
            assert_int_equal(process->engine->exit_code, exit_code);
            return process->engine->error;
        }
    }
    fail_msg("no failure");
    return "";
}

static struct engine_task *task(struct process *process, unsigned index)
{
    return &process->engine->tasks[index];
}

/* ---- Input and output ---- */

static uint32_t find_topic(const char *name)
{
    uint32_t topic;
    for (topic = 0; topic < cluster.topic_count; topic++) {
        if (strcmp(cluster.topics[topic].name, name) == 0)
            return topic;
    }
    fail_msg("no topic %s", name);
    return 0;
}

static void give(unsigned from, unsigned to)
{
    struct member member = {.log = {.topic_count = cluster.topic_count}};
    uint32_t topic;
    log_topic(&member.log, "lines.raw", 3, &topic);
    for (unsigned n = from; n < to; n++) {
        char line[64];
        unsigned key = n * 7919u % 97u;
        snprintf(line, sizeof line, "%u,key%u", 1000000 + n * 40 - n % 13 * 300, key);
        struct kept record =
            make_kept(1000000 + n * 40, PIPE_STR("k"), pipe_str_of(line, strlen(line)));
        keep(topic, (int32_t)(key % 3), &record);
        if (n % 10 == 0)
            keep(topic, (int32_t)(key % 3), &(struct kept){.gap = true});
    }
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* All committed rows, in an order of their own; free. */
static char *committed_rows(void)
{
    static const char *const names[] = {"clean", "again", "rejects", "pipec.toy.clean_table.rows"};
    char *rows[4 * LINES * 2];
    size_t count = 0, size = 0;
    char *all = NULL;
    FILE *file = open_memstream(&all, &size);
    for (unsigned i = 0; i < 4; i++) {
        uint32_t topic = find_topic(names[i]);
        for (int32_t p = 0; p < (int32_t)cluster.topics[topic].partitions; p++) {
            const struct kept_part *part = &cluster.parts[topic][p];
            for (int64_t o = 0; o < part->count; o++) {
                if (!part->records[o].gap)
                    assert_true(asprintf(&rows[count++], "%s %d %.*s\n", names[i], p,
                                         (int)part->records[o].value_size,
                                         part->records[o].value) > 0);
                assert_true(count < sizeof rows / sizeof rows[0]);
            }
        }
    }
    qsort(rows, count, sizeof rows[0], by_text);
    for (size_t i = 0; i < count; i++) {
        fputs(rows[i], file);
        free(rows[i]);
    }
    fclose(file);
    return all;
}

static char *expected; /* what one process makes of all lines, alone */

static void expect_exact(void)
{
    char *rows = committed_rows();
    assert_string_equal(rows, expected);
    free(rows);
}

static void empty_cluster(void)
{
    for (uint32_t t = 0; t < TOPICS; t++) {
        for (unsigned p = 0; p < PARTITIONS; p++) {
            struct kept_part *part = &cluster.parts[t][p];
            for (int64_t i = 0; i < part->count; i++)
                forget_kept(&part->records[i]);
            free(part->records);
            pipe_buf_free(&part->value);
        }
        free((char *)cluster.topics[t].name);
    }
    memset(&cluster, 0, sizeof cluster);
}

static int remove_all(void **state)
{
    empty_cluster();
    sources[0].idle = PIPE_SECONDS(3600);
    return remove_dir(state);
}

/* Of process a, which is not running. */
static void remove_state(void)
{
    char command[160];
    snprintf(command, sizeof command, "rm -rf %s/a/state", dir);
    assert_int_equal(system(command), 0);
}

static int expect_rows(void **state)
{
    struct process alone = {0};
    pipe_message_level(PIPE_ERROR);
    if (make_dir(state) != 0)
        return 1;
    give(0, LINES);
    start(&alone, "alone");
    tell(&alone, PIPE_LOG_ASSIGNED, ALL);
    finish(&alone);
    stop(&alone);
    expected = committed_rows();
    return remove_all(state);
}

static int forget_rows(void **state)
{
    (void)state;
    free(expected);
    return 0;
}

/* ---- Tests ---- */

static unsigned count_lines(const char *rows, const char *prefix)
{
    unsigned count = 0;
    for (const char *at = rows; (at = strstr(at, prefix)) != NULL; at++)
        count++;
    return count;
}

static void test_alone(void **state)
{
    (void)state;
    assert_int_equal(count_lines(expected, "clean 0") + count_lines(expected, "clean 1") +
                         count_lines(expected, "clean 2"),
                     97);
    assert_int_equal(count_lines(expected, "again "), 97);
    assert_int_equal(count_lines(expected, "pipec.toy.clean_table.rows "), 97);
}

/* The same partitions come back: nothing is loaded or replayed. */
static void test_held(void **state)
{
    struct process a = {0};
    (void)state;
    give(0, LINES / 2);
    start(&a, "a");
    tell(&a, PIPE_LOG_ASSIGNED, ALL);
    steps(&a, 30);
    assert_true(engine_has_pending(a.engine) || a.engine->commits > 0);
    tell(&a, PIPE_LOG_REVOKED, ALL);
    steps(&a, 1);
    assert_true(task(&a, 0)->held && task(&a, 0)->phase == ENGINE_ABSENT);
    assert_false(engine_has_pending(a.engine));
    give(LINES / 2, LINES);
    steps(&a, 5);
    assert_int_equal(task(&a, 0)->phase, ENGINE_ABSENT);
    tell(&a, PIPE_LOG_ASSIGNED, ALL);
    finish(&a);
    assert_int_equal(a.engine->replayed, 0);
    assert_int_equal(a.engine->restored_entries, 0);
    stop(&a);
    expect_exact();
}

/* Partitions go to another process and come back when that has read on: what is held is old. */
static void test_moves(void **state)
{
    struct process a = {0}, b = {0};
    (void)state;
    give(0, LINES / 3);
    start(&a, "a");
    start(&b, "b");
    tell(&a, PIPE_LOG_ASSIGNED, ALL);
    steps(&a, 40);
    tell(&a, PIPE_LOG_REVOKED, ALL);
    steps(&a, 1);
    tell(&a, PIPE_LOG_ASSIGNED, 1 | 8);
    tell(&b, PIPE_LOG_ASSIGNED, 2 | 4 | 16);
    give(LINES / 3, LINES * 2 / 3);
    for (unsigned i = 0; i < 100; i++) {
        steps(&a, 1);
        steps(&b, 1);
    }
    assert_false(task(&a, 1)->held); /* it was not in the next assignment */
    tell(&b, PIPE_LOG_REVOKED, 2 | 4 | 16);
    steps(&b, 1);
    tell(&a, PIPE_LOG_REVOKED, 1 | 8);
    steps(&a, 1);
    stop(&b);
    tell(&a, PIPE_LOG_ASSIGNED, ALL);
    give(LINES * 2 / 3, LINES);
    finish(&a);
    assert_true(a.engine->replayed > 0);
    stop(&a);
    expect_exact();
}

/* What was read of partitions that are lost is never committed, nor what was read beside it. */
static void test_lost(void **state)
{
    struct process a = {0}, b = {0};
    (void)state;
    give(0, LINES);
    start(&a, "a");
    a.options.commit_ms = 100000;
    tell(&a, PIPE_LOG_ASSIGNED, ALL);
    steps(&a, 10);
    assert_true(a.member->appended_count > 0);
    unsigned commits = a.member->commits;
    tell(&a, PIPE_LOG_LOST, 2 | 16);
    steps(&a, 1);
    assert_int_equal(a.member->commits, commits);
    assert_int_equal(task(&a, 1)->phase, ENGINE_ABSENT);
    a.options.commit_ms = 20;
    start(&b, "b");
    tell(&b, PIPE_LOG_ASSIGNED, 2 | 16);
    for (unsigned i = 0; i < 200; i++) {
        steps(&a, 1);
        steps(&b, 1);
    }
    finish(&a);
    finish(&b);
    stop(&a);
    stop(&b);
    expect_exact();
}

static void test_aborted(void **state)
{
    struct process a = {0};
    (void)state;
    give(0, LINES);
    start(&a, "a");
    a.options.commit_ms = 2;
    a.member->abort_every = 3;
    tell(&a, PIPE_LOG_ASSIGNED, ALL);
    steps(&a, 400);
    a.member->abort_every = 0;
    finish(&a);
    assert_true(a.engine->aborts > 2);
    stop(&a);
    expect_exact();
}

static void test_fenced(void **state)
{
    struct process a = {0};
    (void)state;
    give(0, LINES);
    start(&a, "a");
    tell(&a, PIPE_LOG_ASSIGNED, ALL);
    steps(&a, 5);
    a.member->next = PIPE_LOG_FENCED;
    assert_string_equal(fails(&a, PIPE_EXIT_OK), "as the test says");
    stop(&a);
}

/* Killed, and started again from the state of before, or none. */
static void test_restarts(void **state)
{
    struct process a = {0};
    (void)state;
    for (unsigned run = 0; run < 4; run++) {
        give(run * LINES / 4, (run + 1) * LINES / 4);
        start(&a, "a");
        tell(&a, PIPE_LOG_ASSIGNED, ALL);
        if (run < 3)
            steps(&a, 60);
        else
            finish(&a);
        if (run == 1)
            assert_true(engine_save_state(a.engine) || a.engine->failed);
        crash(&a);
        if (run == 2)
            remove_state();
    }
    expect_exact();
}

/* However long a replay takes, the group hears of it every second. */
static void test_polls(void **state)
{
    struct process a = {0};
    (void)state;
    give(0, LINES);
    start(&a, "a");
    tell(&a, PIPE_LOG_ASSIGNED, ALL);
    finish(&a);
    crash(&a);
    remove_state();
    start(&a, "a");
    a.member->read_us = 400000;
    tell(&a, PIPE_LOG_ASSIGNED, ALL);
    finish(&a);
    assert_true(a.engine->replayed >= LINES);
    assert_true(a.member->longest_us < 1000000);
    stop(&a);
    expect_exact();
}

/* Taken away in the middle of a replay, and given back. */
static void test_revoked_while_replaying(void **state)
{
    struct process a = {0};
    (void)state;
    give(0, LINES);
    start(&a, "a");
    tell(&a, PIPE_LOG_ASSIGNED, ALL);
    finish(&a);
    crash(&a);
    remove_state();
    start(&a, "a");
    a.member->read_us = 200000;
    tell(&a, PIPE_LOG_ASSIGNED, ALL);
    steps(&a, 1); /* the log is not ready yet */
    tell(&a, PIPE_LOG_REVOKED, ALL);
    a.member->event_at = a.member->polls + 4;
    steps(&a, 1);
    assert_true(a.engine->last_poll_us > 0 && a.member->event.kind == PIPE_LOG_NOTHING);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(task(&a, i)->phase, ENGINE_ABSENT);
    tell(&a, PIPE_LOG_ASSIGNED, ALL);
    finish(&a);
    stop(&a);
    expect_exact();
}

static void test_gap(void **state)
{
    struct process a = {0};
    char value[200];
    (void)state;
    give(0, LINES / 2);
    start(&a, "a");
    tell(&a, PIPE_LOG_ASSIGNED, ALL);
    finish(&a);
    int64_t position = task(&a, 1)->position.offset;
    stop(&a);
    give(LINES / 2, LINES);
    cluster.parts[find_topic("lines.raw")][1].begin = position + 20;
    start(&a, "a");
    tell(&a, PIPE_LOG_ASSIGNED, ALL);
    snprintf(value, sizeof value, "begins at offset %lld, but %lld is where",
             (long long)position + 20, (long long)cluster.parts[find_topic("lines.raw")][1].offset);
    assert_non_null(strstr(fails(&a, PIPE_EXIT_STATE), value));
    assert_non_null(strstr(a.engine->error, "--accept-gap"));
    stop(&a);
    a.options.accept_gap = true;
    start(&a, "a");
    tell(&a, PIPE_LOG_ASSIGNED, ALL);
    finish(&a);
    assert_true(task(&a, 1)->skipped >= 20);
    uint64_t skipped = task(&a, 1)->skipped;
    stop(&a);
    a.options.accept_gap = false;
    start(&a, "a"); /* the gap is behind it, and not forgotten */
    tell(&a, PIPE_LOG_ASSIGNED, ALL);
    finish(&a);
    assert_int_equal(task(&a, 1)->skipped, skipped);
    stop(&a);
}

/* Retention overtakes a reader that runs. */
static void test_gap_while_running(void **state)
{
    struct process a = {0};
    (void)state;
    give(0, LINES);
    start(&a, "a");
    tell(&a, PIPE_LOG_ASSIGNED, ALL);
    steps(&a, 6);
    cluster.parts[find_topic("lines.raw")][0].begin = task(&a, 0)->position.offset + 16;
    assert_non_null(strstr(fails(&a, PIPE_EXIT_STATE), "retention was faster"));
    stop(&a);
}

/* Positions that can't be right are refused, with both values. */
static void refuse(const char *what)
{
    struct process a = {0};
    start(&a, "a");
    tell(&a, PIPE_LOG_ASSIGNED, ALL);
    assert_non_null(strstr(fails(&a, PIPE_EXIT_STATE), what));
    stop(&a);
}

/* What one group has sent from stage to stage is no input of another. */
static void test_other_group(void **state)
{
    struct process a = {0};
    (void)state;
    give(0, LINES / 4);
    start(&a, "a");
    tell(&a, PIPE_LOG_ASSIGNED, ALL);
    finish(&a);
    stop(&a);
    for (uint32_t t = 0; t < TOPICS; t++)
        for (unsigned p = 0; p < PARTITIONS; p++)
            cluster.parts[t][p].has_position = false;
    start(&a, "b");
    tell(&a, PIPE_LOG_ASSIGNED, ALL);
    assert_non_null(strstr(fails(&a, PIPE_EXIT_STATE), "this group has committed nothing"));
    stop(&a);
}

static void test_refusals(void **state)
{
    struct process a = {0};
    struct pipe_buf old = {0}, now = {0};
    (void)state;
    give(0, LINES / 4);
    start(&a, "a");
    tell(&a, PIPE_LOG_ASSIGNED, ALL);
    steps(&a, 100);
    struct kept_part *part = &cluster.parts[find_topic("lines.raw")][0];
    assert_true(part->has_position);
    int64_t old_offset = part->offset;
    pipe_buf_add(&old, part->value.data, part->value.size);
    give(LINES / 4, LINES / 2);
    finish(&a);
    assert_true(part->offset > old_offset);
    stop(&a);
    int64_t offset = part->offset;
    pipe_buf_add(&now, part->value.data, part->value.size);
    part->offset--;
    refuse("somebody else has moved it");
    part->offset = old_offset;
    part->value.size = 0;
    pipe_buf_add(&part->value, old.data, old.size);
    refuse("newer than the log");
    part->has_position = false;
    refuse("no committed position, but there is state");
    part->has_position = true;
    part->offset = offset;
    part->value.size = 0;
    pipe_buf_add(&part->value, now.data, now.size);
    start(&a, "a");
    tell(&a, PIPE_LOG_ASSIGNED, ALL);
    give(LINES / 2, LINES);
    finish(&a);
    stop(&a);
    expect_exact();
    pipe_buf_free(&old);
    pipe_buf_free(&now);
}

/* The time of an idle partition follows that of one that another process has, and is replayed. */
static void test_idle(void **state)
{
    struct process a = {0}, b = {0};
    (void)state;
    sources[0].idle = PIPE_MS(300);
    give(0, LINES / 2);
    struct kept_part *part = &cluster.parts[1][0];
    start(&a, "a");
    start(&b, "b");
    part = &cluster.parts[find_topic("lines.raw")][0];
    tell(&a, PIPE_LOG_ASSIGNED, 1);
    tell(&b, PIPE_LOG_ASSIGNED, 2 | 4 | 8 | 16);
    int64_t stands = part->count;
    for (unsigned n = LINES / 2; n < LINES; n++) { /* partition 0 gets nothing more */
        give(n, n + 1);
        for (; part->count > stands; part->count--)
            forget_kept(&part->records[part->count - 1]);
        for (unsigned i = 0; i < 20; i++) {
            steps(&a, 1);
            steps(&b, 1);
        }
    }
    int64_t own = 0;
    for (int64_t o = 0; o < part->count; o++) {
        int64_t time;
        struct pipe_str key;
        if (!part->records[o].gap &&
            parse(pipe_str_of(part->records[o].value, part->records[o].value_size), &time, &key))
            own = time > own ? time : own;
    }
    assert_true(task(&a, 0)->task.watermark > own); /* even without the bound */
    assert_true(task(&a, 0)->task.watermark <= task(&b, 1)->task.watermark);
    assert_true(task(&a, 0)->position.seq > 0);
    assert_true(task(&a, 0)->idle);
    int64_t watermark = task(&a, 0)->task.watermark;
    uint64_t seq = task(&a, 0)->position.seq;
    a.engine->stop = true;
    finish(&a);
    stop(&a);
    remove_state();
    /* The last time record becomes visible late: recovery waits for it. */
    struct kept_part *times = &cluster.parts[find_topic("pipec.toy.lines.time")][0];
    for (int64_t o = times->count - 2; o < times->count; o++)
        times->records[o].visible_us = now_us + 5000000;
    int64_t from_us = now_us;
    start(&a, "a");
    tell(&a, PIPE_LOG_ASSIGNED, 1);
    steps(&a, 3);
    assert_true(now_us - from_us >= 4000000);
    assert_int_equal(task(&a, 0)->phase, ENGINE_RUNNING);
    assert_true(task(&a, 0)->task.watermark >= watermark);
    assert_true(task(&a, 0)->position.seq >= seq);
    stop(&a);
    /* It never comes: refused, not waited for without end. */
    times->records[times->count - 2].visible_us = INT64_MAX;
    remove_state();
    start(&a, "a");
    tell(&a, PIPE_LOG_ASSIGNED, 1);
    assert_non_null(strstr(fails(&a, PIPE_EXIT_DATA), "has no time record"));
    stop(&a);
    stop(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alone),
        cmocka_unit_test_setup_teardown(test_held, make_dir, remove_all),
        cmocka_unit_test_setup_teardown(test_moves, make_dir, remove_all),
        cmocka_unit_test_setup_teardown(test_lost, make_dir, remove_all),
        cmocka_unit_test_setup_teardown(test_aborted, make_dir, remove_all),
        cmocka_unit_test_setup_teardown(test_fenced, make_dir, remove_all),
        cmocka_unit_test_setup_teardown(test_restarts, make_dir, remove_all),
        cmocka_unit_test_setup_teardown(test_polls, make_dir, remove_all),
        cmocka_unit_test_setup_teardown(test_revoked_while_replaying, make_dir, remove_all),
        cmocka_unit_test_setup_teardown(test_gap, make_dir, remove_all),
        cmocka_unit_test_setup_teardown(test_gap_while_running, make_dir, remove_all),
        cmocka_unit_test_setup_teardown(test_other_group, make_dir, remove_all),
        cmocka_unit_test_setup_teardown(test_refusals, make_dir, remove_all),
        cmocka_unit_test_setup_teardown(test_idle, make_dir, remove_all),
    };
    return cmocka_run_group_tests(tests, expect_rows, forget_rows);
}
