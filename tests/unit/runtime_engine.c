/*
 * The engine with a plan written by hand: a topic of lines `time_ms,key`, dedup by key in the
 * source's stage, then an exchange by key to a second stage with a dedup that judges by the
 * record's watermark. Runs are programs of their own (this one, by execl), some of which die in the
 * middle; what they have committed in the end must be what one run without an end gives.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime_toy_plan.h"
#include "scratch_dir.h"

/* ---- Runs ---- */

#define RECORDS 6000

static uint64_t random_at(uint64_t n)
{
    return pipe_hash64(&n, sizeof n, 42);
}

/* Line n: repeats of keys near and far, times out of order, some that are no lines, some ahead.
 * Returns its partition, 0 or 1 by the key: the order of a key's lines is then the same behind the
 * exchange. */
static int32_t make_line(uint64_t n, char *to, size_t room)
{
    uint64_t r = random_at(n), key = (n / 300) * 100 + r % 200;
    uint64_t time = 1000000 + n * 50 - r % 9000 + (r % 89 == 0 ? 900000 : 0);
    if (r % 97 == 0)
        snprintf(to, room, "no line %llu", (unsigned long long)n);
    else
        snprintf(to, room, "%llu,key%llu", (unsigned long long)time, (unsigned long long)key);
    return key & 1;
}

static void fill_topic(void)
{
    char error[512], line[64];
    uint32_t topic;
    struct pipe_log *log = pipe_log_embedded_open(dir, false, error, sizeof error);
    assert_non_null(log);
    assert_true(log->ops->topic(log, "lines.raw", 3, &topic));
    for (uint64_t n = 0; n < RECORDS; n++) {
        int32_t partition = make_line(n, line, sizeof line);
        assert_true(log->ops->append(log, topic, partition, 1000000 + (int64_t)n * 50,
                                     PIPE_STR("source-key"), pipe_str_of(line, strlen(line))));
        if (n % 500 == 0)
            assert_int_equal(log->ops->commit(log), PIPE_LOG_COMMITTED);
    }
    assert_true(log->ops->append(log, topic, 0, 2000000, PIPE_STR(""), pipe_str_of(NULL, 0)));
    assert_int_equal(log->ops->commit(log), PIPE_LOG_COMMITTED);
    log->ops->close(log);
}

/* The source reads DIR/in-*.txt instead of its topic. */
static void read_files(const char *where)
{
    static char pattern[128];
    snprintf(pattern, sizeof pattern, "%s/in-*.txt", where);
    sources[0].is_kafka = false;
    sources[0].target = pattern;
    sources[0].partitions = 0;
}

static bool waits; /* for more records, until SIGTERM */

static void stop(int signal_number)
{
    (void)signal_number;
    raise(SIGTERM);
}

static void wait_idle(void)
{
    waits = true;
    sources[0].idle = PIPE_MS(100);
    sources[0].idle_advance = true;
    signal(SIGALRM, stop);
    alarm(3);
}

/* What a child does: `run DIR die_at options…`. */
static int child_main(int argc, char **argv)
{
    char *run[16] = {"toy", "run", "--embedded", argv[2], "--progress", "never"};
    int count = 6;
    die_at = (uint64_t)atoll(argv[3]);
    for (int i = 4; i < argc && count < 16; i++) {
        if (strcmp(argv[i], "other-plan") == 0)
            plan.hash = "fedcba9876543210";
        else if (strcmp(argv[i], "lose-row") == 0)
            lose_row = true;
        else if (strcmp(argv[i], "files") == 0)
            read_files(argv[2]);
        else if (strcmp(argv[i], "idle") == 0)
            wait_idle();
        else
            run[count++] = argv[i];
    }
    if (!waits)
        run[count++] = "--until-end";
    if (freopen("/dev/null", "w", stdout) == NULL)
        return 100;
    char path[128];
    snprintf(path, sizeof path, "%s.stderr", argv[2]);
    if (freopen(path, "w", stderr) == NULL)
        return 100;
    return pipe_main(&plan, count, run);
}

static char told[65536]; /* stderr of the last child */

/* Runs a child to its end; its exit code, or -signal. */
static int run_child(uint64_t die, const char *crash, const char *option, const char *value)
{
    char number[32], path[128];
    int status;
    snprintf(number, sizeof number, "%llu", (unsigned long long)die);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (crash != NULL)
            setenv("PIPE_CRASH", crash, 1);
        execl("/proc/self/exe", "runtime_engine", "run", dir, number, option, value, NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    snprintf(path, sizeof path, "%s.stderr", dir);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    told[fread(told, 1, sizeof told - 1, file)] = '\0';
    fclose(file);
    unlink(path);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static void assert_exit(int got, int wanted)
{
    if (got != wanted)
        fail_msg("exit %d instead of %d: %s", got, wanted, told);
}

struct rows {
    char **items;
    size_t count;
};

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_row(struct rows *rows, char *text)
{
    if ((rows->count & (rows->count - 1)) == 0) { /* full: it holds a power of two, or nothing */
        size_t room = rows->count == 0 ? 1 : 2 * rows->count;
        rows->items = realloc(rows->items, room * sizeof *rows->items);
        assert_non_null(rows->items);
    }
    rows->items[rows->count++] = text;
}

/* All rows of all output topics and of the table, sorted: `topic/partition key value`. */
static struct rows read_outputs(void)
{
    static const char *const names[] = {"clean", "again", "rejects"};
    char error[512], path[128], line[256];
    struct rows rows = {0};
    struct pipe_log *log = pipe_log_embedded_open(dir, true, error, sizeof error);
    assert_non_null(log);
    for (uint32_t t = 0; t < log->topic_count; t++) {
        for (int k = 0; k < 3; k++) {
            if (strcmp(log->topics[t].name, names[k]) != 0)
                continue;
            for (uint32_t p = 0; p < log->topics[t].partitions; p++) {
                struct pipe_record constant = {0}, *records;
                uint32_t count;
                struct pipe_log_reader *reader = log->ops->reader(log, t, (int32_t)p, 0, &constant);
                while (log->ops->read(reader, 1000, INT64_MAX, &records, &count) ==
                       PIPE_LOG_RECORDS) {
                    for (uint32_t i = 0; i < count; i++) {
                        char *text = NULL;
                        assert_true(asprintf(&text, "%s/%u %.*s %.*s", names[k], p,
                                             (int)records[i].key.size, records[i].key.data,
                                             (int)records[i].payload.size,
                                             records[i].payload.data) > 0);
                        add_row(&rows, text);
                    }
                }
                log->ops->reader_close(reader);
            }
        }
    }
    log->ops->close(log);
    snprintf(path, sizeof path, "%s/tables/clean_table.jsonl", dir);
    FILE *table = fopen(path, "r");
    assert_non_null(table);
    while (fgets(line, sizeof line, table) != NULL)
        add_row(&rows, strdup(line));
    fclose(table);
    qsort(rows.items, rows.count, sizeof *rows.items, by_text);
    return rows;
}

static void free_rows(struct rows *rows)
{
    for (size_t i = 0; i < rows->count; i++)
        free(rows->items[i]);
    free(rows->items);
}

static struct rows expected;

static void compare_outputs(void)
{
    struct rows rows = read_outputs();
    assert_int_equal(rows.count, expected.count);
    for (size_t i = 0; i < rows.count; i++)
        assert_string_equal(rows.items[i], expected.items[i]);
    free_rows(&rows);
}

static void delete_state(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s/state", dir);
    assert_int_equal(system(command), 0);
}

/* What one run without an end gives; also the first test of all. */
static int expect_outputs(void **state)
{
    assert_int_equal(make_dir(state), 0);
    fill_topic();
    if (run_child(0, NULL, NULL, NULL) != 0)
        return 1;
    expected = read_outputs();
    return remove_dir(state);
}

static int forget_outputs(void **state)
{
    (void)state;
    free_rows(&expected);
    return 0;
}

/* ---- Tests ---- */

static void test_straight(void **state)
{
    (void)state;
    fill_topic();
    assert_exit(run_child(0, NULL, NULL, NULL), 0);
    assert_true(expected.count > 5000);
    compare_outputs();
    assert_non_null(
        strstr(told, "equal      lines: read = accepted + source_rejected + tombstones"));
    assert_non_null(strstr(told, "equal      again: received = shipped"));
    assert_non_null(strstr(told, "lines  event_time_ahead"));
    assert_non_null(strstr(told, "lines  no_value"));
    assert_non_null(strstr(told, "lines  undecodable"));
    assert_null(strstr(told, "NOT EQUAL"));
    assert_exit(run_child(0, NULL, NULL, NULL), 0); /* again: nothing */
    assert_non_null(strstr(told, "nothing to do"));
    compare_outputs();
}

static void test_killed_anywhere(void **state)
{
    (void)state;
    fill_topic();
    int kills = 0;
    for (int round = 0; round < 40; round++) {
        int result = run_child(1 + random_at((uint64_t)round + 7) % 1500, NULL, NULL, NULL);
        if (result == 0)
            break;
        assert_int_equal(result, -SIGKILL);
        kills++;
        if (round % 5 == 4)
            delete_state(); /* it is a cache: all is replayed */
    }
    assert_exit(run_child(0, NULL, NULL, NULL), 0);
    assert_true(kills >= 3);
    compare_outputs();
}

static void test_state_deleted(void **state)
{
    (void)state;
    fill_topic();
    assert_exit(run_child(3000, NULL, NULL, NULL), -SIGKILL);
    delete_state();
    assert_exit(run_child(0, NULL, NULL, NULL), 0);
    assert_non_null(strstr(told, "replayed_records="));
    assert_null(strstr(told, "replayed_records=0"));
    compare_outputs();
}

#ifdef PIPE_DEBUG
static void test_crash_points(void **state)
{
    static const char *const points[] = {"before_files", "after_files",  "before_commit",
                                         "after_commit", "before_state", "after_state"};
    char crash[64];
    (void)state;
    for (int p = 0; p < 6; p++) {
        for (int n = 1; n <= 5; n += 2) {
            assert_int_equal(make_dir(state), 0);
            fill_topic();
            snprintf(crash, sizeof crash, "%s:%d", points[p], n);
            int result = run_child(0, crash, NULL, NULL);
            assert_true(result == -SIGKILL || (n > 1 && result == 0));
            assert_exit(run_child(0, NULL, NULL, NULL), 0);
            compare_outputs();
            assert_int_equal(remove_dir(state), 0);
        }
    }
}
#endif

static void test_refusals(void **state)
{
    char command[256];
    (void)state;
    fill_topic();
    assert_exit(run_child(2000, NULL, NULL, NULL), -SIGKILL);
    assert_exit(run_child(0, NULL, "other-plan", NULL), PIPE_EXIT_STATE);
    assert_non_null(strstr(told, "plan 0123456789abcdef"));
    assert_non_null(strstr(told, "plan fedcba9876543210"));
    assert_exit(run_child(0, NULL, "--no-output", NULL), PIPE_EXIT_STATE);
    assert_exit(run_child(0, NULL, "--no-outptu", NULL), PIPE_EXIT_USAGE);
    assert_non_null(strstr(told, "did you mean --no-output?"));
    /* A state that is newer than the log: of a copy that went on. */
    snprintf(command, sizeof command, "cp -r %s/log %s/log.old", dir, dir);
    assert_int_equal(system(command), 0);
    assert_exit(run_child(0, NULL, NULL, NULL), 0);
    snprintf(command, sizeof command, "rm -rf %s/log; mv %s/log.old %s/log", dir, dir, dir);
    assert_int_equal(system(command), 0);
    assert_exit(run_child(0, NULL, NULL, NULL), PIPE_EXIT_STATE);
    assert_non_null(strstr(told, "newer than the log"));
    assert_non_null(strstr(told, "delete the state directory"));
}

static void write_files(void)
{
    char path[128], line[64];
    FILE *files[2];
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/in-%d.txt", dir, i);
        files[i] = fopen(path, "w");
        assert_non_null(files[i]);
    }
    for (uint64_t n = 0; n < 4000; n++) {
        int32_t partition = make_line(n, line, sizeof line);
        fprintf(files[partition], "%s\n", line);
    }
    for (int i = 0; i < 2; i++)
        assert_int_equal(fclose(files[i]), 0);
}

#define shell(format) run_shell(format, dir, dir)
__attribute__((format(printf, 1, 0))) static void run_shell(const char *format, ...)
{
    char command[256];
    va_list args;
    va_start(args, format);
    vsnprintf(command, sizeof command, format, args);
    va_end(args);
    assert_int_equal(system(command), 0);
}

static void test_files(void **state)
{
    (void)state;
    write_files();
    assert_exit(run_child(0, NULL, "files", NULL), 0);
    struct rows once = read_outputs();
    assert_true(once.count > 3000);
    shell("rm -rf %s/log %s/tables");
    delete_state();
    for (int i = 0; i < 4; i++)
        assert_exit(run_child(700 + 150 * (uint64_t)i, NULL, "files", NULL), -SIGKILL);
    delete_state();
    /* As long as before, but with other times: seen when it is read again. */
    shell("cp %s/in-0.txt %s/saved");
    shell("tr 1-9 0-8 <%s/saved >%s/in-0.txt");
    assert_exit(run_child(0, NULL, "files", NULL), PIPE_EXIT_STATE);
    assert_non_null(strstr(told, "source lines: "));
    assert_non_null(strstr(told, "in-0.txt, read again up to record "));
    assert_non_null(strstr(told, "it was changed since; restore what was there"));
    shell("cp %s/saved %s/in-0.txt");
    delete_state();
    assert_exit(run_child(0, NULL, "files", NULL), 0);
    struct rows rows = read_outputs();
    assert_int_equal(rows.count, once.count);
    for (size_t i = 0; i < rows.count; i++)
        assert_string_equal(rows.items[i], once.items[i]);
    free_rows(&rows);
    free_rows(&once);
    assert_exit(run_child(0, NULL, "files", NULL), 0);
    assert_non_null(strstr(told, "nothing to do"));
    /* Another input than the run began with: told before the first record. */
    shell("cp %s/in-1.txt %s/saved");
    shell("echo more >> %s/in-1.txt");
    assert_exit(run_child(0, NULL, "files", NULL), PIPE_EXIT_STATE);
    assert_non_null(strstr(told, "in-1.txt has "));
    shell("rm %s/in-1.txt");
    assert_exit(run_child(0, NULL, "files", NULL), PIPE_EXIT_STATE);
    assert_non_null(strstr(told, "in-1.txt is gone since"));
    shell("cp %s/saved %s/in-1.txt");
    shell("cp %s/saved %s/in-0b.txt");
    assert_exit(run_child(0, NULL, "files", NULL), PIPE_EXIT_STATE);
    assert_non_null(strstr(told, "in-0b.txt is new since"));
    shell("rm %s/in-0b.txt");
    assert_exit(run_child(0, NULL, "files", NULL), 0);
    assert_exit(run_child(0, NULL, NULL, NULL), PIPE_EXIT_STATE); /* the topic instead */
    shell("rm %s/in-*.txt");
    assert_exit(run_child(0, NULL, "files", NULL), PIPE_EXIT_STATE);
    assert_non_null(strstr(told, "no file matches"));
}

/* Idle partitions: their time goes on by time records, and a replay of them gives the same time. */
/* The least that a partition has of them. */
static int64_t count_time_records(void)
{
    char error[512];
    uint32_t topic;
    int64_t least = INT64_MAX;
    struct pipe_log *log = pipe_log_embedded_open(dir, true, error, sizeof error);
    assert_non_null(log);
    assert_true(log->ops->topic(log, "pipec.toy.lines.time", 3, &topic));
    for (int32_t p = 0; p < 3; p++) {
        int64_t end = log->ops->end(log, topic, p);
        least = end < least ? end : least;
    }
    log->ops->close(log);
    return least;
}

static void test_idle(void **state)
{
    (void)state;
    fill_topic();
    /* The first tells the time, the second goes by it. On a busy machine one run may be too short.
     */
    int runs = 0;
    do
        assert_exit(run_child(0, NULL, "idle", NULL), 0);
    while (count_time_records() < 2 && ++runs < 20);
    assert_in_range(count_time_records(), 2, 4 + runs);
    delete_state();
    assert_exit(run_child(0, NULL, NULL, NULL), 0);
    assert_null(strstr(told, "internal error"));
    compare_outputs();
}

static void test_conservation(void **state)
{
    (void)state;
    fill_topic();
    assert_exit(run_child(0, NULL, "lose-row", NULL), PIPE_EXIT_INTERNAL);
    assert_non_null(strstr(told, "rows are not accounted for in stream clean: in = "));
    assert_non_null(strstr(told, "but passed + dropped + rule_rejected + diverted = 0"));
}

static void test_locked(void **state)
{
    (void)state;
    fill_topic();
    struct pipe_run_options options = {.embedded = dir,
                                       .until_end = true,
                                       .commit_ms = 100,
                                       .commit_bytes = 1000,
                                       .max_record_bytes = 1000};
    struct pipe_engine *engine = engine_new(&plan, &options);
    assert_true(engine_open(engine));
    assert_exit(run_child(0, NULL, NULL, NULL), PIPE_EXIT_DATA);
    assert_non_null(strstr(told, "is in use by another process, pid "));
    engine_close(engine);
}

static void test_equations(void **state)
{
    (void)state;
    uint32_t count;
    struct pipe_counters totals[STREAMS] = {[STREAM_LINES] = {.read = 5, .accepted = 5, .out = 5},
                                            [STREAM_REJECTED] = {.in = 1, .passed = 1, .out = 1}};
    totals[STREAM_CLEAN] = (struct pipe_counters){.in = 5,
                                                  .passed = 3,
                                                  .dropped = 1,
                                                  .rejected = 1,
                                                  .dedup_in = 3,
                                                  .unique = 1,
                                                  .duplicate = 1};
    struct pipe_equation *equations = counters_equations(&plan, totals, true, &count);
    int unequal = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (counters_equal(&equations[i]))
            continue;
        unequal++;
        assert_string_equal(equations[i].stream, "clean");
        assert_string_equal(equations[i].left_text, "dedup_in");
        assert_string_equal(equations[i].right_text, "unique + duplicate + too_old");
        assert_int_equal(equations[i].left, 3);
        assert_int_equal(equations[i].right, 2);
    }
    assert_int_equal(unequal, 1);
    free(equations);
}

static void test_counter_encoding(void **state)
{
    (void)state;
    struct pipe_counters in[2] = {{.read = 1, .out = UINT64_MAX}, {.late = 300}}, out[2] = {0};
    struct pipe_buf bytes = {0};
    counters_encode(in, 2, &bytes);
    for (size_t size = 0; size <= bytes.size; size++) {
        const uint8_t *at = bytes.data;
        memset(out, 0, sizeof out);
        assert_int_equal(counters_decode(&at, bytes.data + size, out, 2), size == bytes.size);
    }
    assert_memory_equal(in, out, sizeof in);
    pipe_buf_free(&bytes);
}

static void test_murmur2(void **state)
{
    (void)state;
    /* As in the tests of Kafka's Utils.murmur2. */
    static const struct {
        const char *text;
        int32_t hash;
    } known[] = {{"21", -973932308},
                 {"foobar", -790332482},
                 {"a-little-bit-long-string", -985981536},
                 {"a-little-bit-longer-string", -1486304829},
                 {"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971},
                 {"abc", 479470107}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        assert_int_equal((int32_t)pipe_murmur2(known[i].text, strlen(known[i].text)),
                         known[i].hash);
}

static void test_options(void **state)
{
    (void)state;
    int64_t value;
    assert_true(pipe_parse_duration_ms("1_500ms", &value) && value == 1500);
    assert_true(pipe_parse_duration_ms("2m", &value) && value == 120000);
    assert_false(pipe_parse_duration_ms("2min", &value) || pipe_parse_duration_ms("-1s", &value) ||
                 pipe_parse_duration_ms("", &value) || pipe_parse_duration_ms("5", &value) ||
                 pipe_parse_duration_ms("99999999999999999999s", &value) ||
                 pipe_parse_duration_ms("9223372036854775807d", &value));
    assert_true(pipe_parse_count("1_000_000", 0, INT64_MAX, &value) && value == 1000000);
    assert_false(pipe_parse_count("1e6", 0, INT64_MAX, &value));
    static const char *const words[] = {"run", "explain", "inspect"};
    assert_string_equal(pipe_nearest("explian", words, 3), "explain");
    assert_null(pipe_nearest("bicycle", words, 3));
}

int main(int argc, char **argv)
{
    if (argc > 3 && strcmp(argv[1], "run") == 0)
        return child_main(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_murmur2),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_equations),
        cmocka_unit_test(test_counter_encoding),
        cmocka_unit_test_setup_teardown(test_straight, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_killed_anywhere, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_state_deleted, make_dir, remove_dir),
#ifdef PIPE_DEBUG
        cmocka_unit_test(test_crash_points),
#endif
        cmocka_unit_test_setup_teardown(test_refusals, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_files, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_idle, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_conservation, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_locked, make_dir, remove_dir),
    };
    return cmocka_run_group_tests(tests, expect_outputs, forget_outputs);
}
