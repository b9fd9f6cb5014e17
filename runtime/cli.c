/*
 * cli.c: the command line of a compiled pipeline.
 */
#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>

#include "engine.h"
#include "metrics.h"
#include "follower.h"
#include "options.h"
#include "process.h"
#include "rocksdb_shim.h"

static const char *const commands[] = {"run",     "follow", "explain",   "inspect",
                                       "traffic", "inject", "reconcile", "topics",
                                       "tables",  "doctor", "contracts"};
#define COMMANDS (sizeof commands / sizeof commands[0])

static void print_help(const struct pipe_plan *plan)
{
    printf("usage: %s COMMAND [options]\n\n"
           "commands:\n"
           "  run       run the pipeline; with --embedded DIR everything is kept in DIR\n"
           "  explain   print the plan: stages, state, exchanges, guarantees\n"
           "  inspect   show what a run directory holds, or a group on Kafka\n"
           "  traffic   write generated events to files or to Kafka\n"
           "  follow    bring rows from Kafka into tables, beside runs with --no-follow\n"
           "  inject    append given rows to the embedded topic of a source\n"
           "  reconcile prove that a directory, or a group on Kafka, holds what it should\n"
           "  topics    compare the topics of a Kafka cluster with the plan, make them\n"
           "  tables    compare the tables of ClickHouse with the plan, make them\n"
           "  doctor    ask the servers whether they are as they must be\n"
           "  contracts register the contracts in a schema registry\n"
           "\n%s COMMAND --help tells more about each.\n"
           "\nfor example:\n",
           plan->name, plan->name);
    if (plan->traffic_count > 0)
        printf("  %s run --embedded run/%s --traffic --count 100000\n", plan->name, plan->name);
    else
        printf("  %s run --embedded run/%s\n", plan->name, plan->name);
    printf("  %s inspect run/%s topics\n", plan->name, plan->name);
}

/* What docs/language.md announces, and a run can't do yet. */
static bool is_to_come(const char *word)
{
    return strcmp(word, "probe") == 0 || strcmp(word, "maintain") == 0;
}

static int unknown_command(const struct pipe_plan *plan, const char *word)
{
    if (is_to_come(word)) {
        fprintf(stderr, "%s: `%s %s` is not there yet in this version\n", plan->name, plan->name,
                word);
        return PIPE_EXIT_USAGE;
    }
    const char *nearest = pipe_nearest(word, commands, COMMANDS);
    fprintf(stderr, "%s: unknown command '%s'", plan->name, word);
    if (nearest != NULL)
        fprintf(stderr, "; did you mean `%s %s`?", plan->name, nearest);
    fprintf(stderr, "\n%s --help lists the commands\n", plan->name);
    return PIPE_EXIT_USAGE;
}

static const char *take_format(void *json, const char *value)
{
    *(bool *)json = strcmp(value, "json") == 0;
    return *(bool *)json || strcmp(value, "text") == 0 ? NULL : "expected text or json";
}

static const struct option_row explain_rows[] = {
    {"--format", "FORMAT", "text (default), or json, which is canonical: equal plans, equal bytes",
     take_format},
};

static const struct option_command explain_command = {
    .name = "explain",
    .usage = "explain [--format text|json]",
    .intro = "Prints the plan that this program was compiled from.\n",
    .rows = explain_rows,
    .row_count = sizeof explain_rows / sizeof explain_rows[0],
};

static int explain(const struct pipe_plan *plan, int argc, char **argv)
{
    bool json = false;
    int code = option_read(plan, &explain_command, argc, argv, &json);
    if (code != 0)
        return code < 0 ? PIPE_EXIT_OK : code;
    const char *text = json ? plan->plan_json : plan->explain_text;
    size_t size = strlen(text);
    bool ends = size > 0 && text[size - 1] == '\n';
    fputs(text, stdout);
    if (!ends)
        putchar('\n');
    return PIPE_EXIT_OK; /* pipe_main tells if it can't be written */
}

static void request_stop(int signal_number)
{
    (void)signal_number;
    engine_stop_requested = 1;
}

static void handle_signals(void)
{
    struct sigaction action = {.sa_handler = request_stop};
    sigemptyset(&action.sa_mask);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is an error of write() */
}

static int run(const struct pipe_plan *plan, int argc, char **argv)
{
    struct pipe_run_options options;
    handle_signals(); /* first: a signal at any time stops the run in order */
    int code = pipe_options_run(plan, argc, argv, &options);
    if (code != 0) {
        pipe_options_free(&options);
        return code < 0 ? PIPE_EXIT_OK : code;
    }
    /* Blocks come and go with every commit: without this each would be mapped and zeroed anew.
     * Those of whole commits are used again; in the heap they would leave holes: measured, another
     * fifth of the peak. */
    mallopt(M_MMAP_THRESHOLD, 8 << 20);
    mallopt(M_TRIM_THRESHOLD, 128 << 20);
    /* Arenas of its background threads keep what RocksDB frees: measured, a fifth of the peak. */
    mallopt(M_ARENA_MAX, 2);
    struct pipe_engine *engine = engine_new(plan, &options);
    bool opened = metrics_start(engine) && engine_open(engine);
    bool ok = opened && pipe_followers_start(engine) && engine_run(engine);
    bool followed = pipe_followers_end(engine, ok); /* before the log that it reads is closed */
    if (ok)
        report_final(engine, stderr);
    else if (opened)
        engine_rollback(engine);
    if (!ok || !followed) {
        fprintf(stderr, "%s: %s\n", plan->name, engine->error);
        /* A signal before it began: nothing was done, and nothing is wrong with that. */
        code = !engine->begun && engine_stop_requested ? PIPE_EXIT_OK : engine->exit_code;
    }
    metrics_stop(engine);
    pipe_follower_free(engine->follower);
    engine_close(engine);
    pipe_options_free(&options);
    return code;
}

static int dispatch(const struct pipe_plan *plan, int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "--help";
    if (plan->abi != PIPE_RUNTIME_ABI) {
        fprintf(stderr, "%s: compiled for runtime %u, linked with %u\n", plan->name, plan->abi,
                PIPE_RUNTIME_ABI);
        return PIPE_EXIT_INTERNAL;
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
        print_help(plan);
        return argc > 1 ? PIPE_EXIT_OK : PIPE_EXIT_USAGE;
    }
    if (strcmp(word, "--version") == 0) {
        printf("%s, plan %s, runtime %d\n", plan->name, plan->hash, PIPE_RUNTIME_ABI);
        return PIPE_EXIT_OK;
    }
    if (strcmp(word, "run") == 0)
        return run(plan, argc - 2, argv + 2);
    if (strcmp(word, "follow") == 0) {
        handle_signals();
        return pipe_follow_main(plan, argc - 2, argv + 2);
    }
    if (strcmp(word, "explain") == 0)
        return explain(plan, argc - 2, argv + 2);
    if (strcmp(word, "inspect") == 0)
        return pipe_inspect_main(plan, argc - 2, argv + 2);
    if (strcmp(word, "traffic") == 0)
        return pipe_traffic_main(plan, argc - 2, argv + 2);
    if (strcmp(word, "contracts") == 0)
        return pipe_contracts_main(plan, argc - 2, argv + 2);
    if (strcmp(word, "topics") == 0)
        return pipe_topics_main(plan, argc - 2, argv + 2);
    if (strcmp(word, "tables") == 0)
        return pipe_tables_main(plan, argc - 2, argv + 2);
    if (strcmp(word, "doctor") == 0)
        return pipe_doctor_main(plan, argc - 2, argv + 2);
    if (strcmp(word, "inject") == 0)
        return pipe_inject_main(plan, argc - 2, argv + 2);
    if (strcmp(word, "reconcile") == 0)
        return pipe_reconcile_main(plan, argc - 2, argv + 2);
    if (strcmp(word, "run-tests") == 0) /* for `pipec test`; not in the help */
        return pipe_testing_main(plan, argc - 2, argv + 2);
    return unknown_command(plan, word);
}

/* Standard output is a pipe whose reader has ended, as in `… | head`: it has all that it wanted. */
static bool is_unread(void)
{
    struct pollfd output = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

int pipe_main(const struct pipe_plan *plan, int argc, char **argv)
{
    pipe_hold_descriptors();
    pipe_watch_memory(pipe_out_of_memory);
    rocksdb_shim_catch();
    signal(SIGXFSZ, SIG_IGN); /* the limit of file size is an error of write(), in any command */
    const char *word = argc > 1 ? argv[1] : "";
    bool runs = strcmp(word, "run") == 0 || strcmp(word, "follow") == 0;
    int code = dispatch(plan, argc, argv);
    /* What a command prints is its work: on a full disk it has failed. */
    errno = 0; /* the error of an earlier write is known no more: it may be that of this one */
    if ((fflush(stdout) != 0 || ferror(stdout)) && (runs || !is_unread())) {
        fprintf(stderr, "%s: standard output can't be written%s%s\n", plan->name,
                errno != 0 ? ": " : "", errno != 0 ? strerror(errno) : "");
        code = code == PIPE_EXIT_OK ? PIPE_EXIT_DATA : code;
    }
    return code;
}
