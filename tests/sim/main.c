/*
 * main.c: runs seeds, each in a process of its own, several at once.
 *
 *   sim [--from N] [--count N] [--jobs N] [--only PIPELINE] [--twice] [--stop] [--trace]
 *
 * --only passes over the seeds of other pipelines. --stop ends with the first seed that fails.
 * --twice runs every seed two times and compares the traces. The last line is `N passed, N failed`;
 * the exit code is 1 if a seed failed. With --trace the calls of one seed are printed.
 */
#define _GNU_SOURCE
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim.h"

#define JOBS_MAX 64
#define OUT_BYTES (1u << 17) /* what a seed says comes out whole, beside others */
#define HANGS_SECONDS 120    /* a seed takes a fraction of a second */

struct result {
    uint64_t trace_hash, crashes, errors, fetches;
    int64_t virtual_us;
};

struct options {
    uint64_t from, count;
    uint32_t jobs;
    bool twice, stop, trace;
    const char *only;
};

struct job {
    pid_t pid;
    uint64_t number;
};

/* ---- One seed ---- */

static void make_scratch(char *to, size_t room, pid_t pid)
{
    const char *base = getenv("SIM_DIR");
    if (base == NULL)
        base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(to, room, "%s/pipec-sim.%ld", base, (long)pid);
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *where)
{
    (void)about;
    (void)kind;
    (void)where;
    return remove(path);
}

static void remove_scratch(pid_t pid)
{
    char path[256];
    make_scratch(path, sizeof path, pid);
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void run_seed(uint64_t seed, bool trace, const char *only, struct result *result)
{
    sim = (struct sim_world){.seed = seed,
                             .random = pipe_hash64(&seed, sizeof seed, 1),
                             .now_us = 1000000,
                             .stop_at_us = INT64_MAX,
                             .trace = trace};
    char scratch[256];
    sim.out = fdopen(dup(STDOUT_FILENO), "w");
    if (sim.out == NULL || setvbuf(sim.out, NULL, _IOFBF, OUT_BYTES) != 0)
        sim_fail("standard output can't be used");
    make_scratch(scratch, sizeof scratch, getpid());
    remove_scratch(getpid()); /* of a former process with this number, which was killed */
    if (mkdir(scratch, 0777) != 0 || chdir(scratch) != 0) /* paths become part of the log */
        sim_fail("%s can't be made", scratch);
    setenv("TMPDIR", ".", 1);
    pipe_message_level(trace ? PIPE_INFO : PIPE_ERROR + 1);
    alarm(HANGS_SECONDS);
    const struct sim_program *program = &sim_programs[sim_below((uint32_t)sim_program_count)];
    if (only != NULL && strcmp(program->name, only) != 0)
        return;
    sim.program = program;
    sim.what = program->name;
    if (program->files || sim_below(2) == 0)
        sim_embedded(program);
    else
        sim_grouped(program);
    *result = (struct result){sim.trace_hash, sim.crashes, sim.errors, sim.fetches, sim.now_us};
}

/* ---- Many ---- */

static pid_t start(const struct options *options, uint64_t number, struct result *results)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        uint64_t seed = options->from + (options->twice ? number / 2 : number);
        run_seed(seed, options->trace, options->only, &results[number]);
        fflush(sim.out);
        _exit(0);
    }
    return pid;
}

/* Waits for one; returns whether it went well. */
static bool finish(const struct options *options, struct job *jobs, uint32_t *running)
{
    int status;
    pid_t pid = wait(&status);
    uint32_t i = 0;
    while (i < *running && jobs[i].pid != pid)
        i++;
    if (pid < 0 || i == *running)
        return false;
    uint64_t seed = options->from + (options->twice ? jobs[i].number / 2 : jobs[i].number);
    jobs[i] = jobs[--*running];
    remove_scratch(pid);
    if (WIFSIGNALED(status))
        printf("seed %llu: %s\n  replay: make sim SEED=%llu TRACE=1\n", (unsigned long long)seed,
               WTERMSIG(status) == SIGALRM ? "hangs" : strsignal(WTERMSIG(status)),
               (unsigned long long)seed);
    else if (WEXITSTATUS(status) > 1) /* not sim_fail, which tells why */
        printf("seed %llu: ends with exit code %d\n  replay: make sim SEED=%llu TRACE=1\n",
               (unsigned long long)seed, WEXITSTATUS(status), (unsigned long long)seed);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static uint64_t run_all(const struct options *options, struct result *results, uint64_t total)
{
    struct job jobs[JOBS_MAX];
    uint32_t running = 0;
    uint64_t failed = 0;
    for (uint64_t number = 0; number < total || running > 0;) {
        if (failed > 0 && options->stop)
            total = number; /* those that run come to their end */
        if (number < total && running < options->jobs) {
            jobs[running].pid = start(options, number, results);
            jobs[running++].number = number;
            number++;
        } else if (!finish(options, jobs, &running)) {
            failed++;
        }
    }
    return failed;
}

static uint64_t compare_twins(const struct options *options, const struct result *results)
{
    uint64_t failed = 0;
    for (uint64_t i = 0; i < options->count; i++) {
        if (results[2 * i].trace_hash == results[2 * i + 1].trace_hash)
            continue;
        printf("seed %llu: two runs of it differ: traces %016llx and %016llx\n",
               (unsigned long long)(options->from + i),
               (unsigned long long)results[2 * i].trace_hash,
               (unsigned long long)results[2 * i + 1].trace_hash);
        failed++;
    }
    return failed;
}

static bool read_options(int argc, char **argv, struct options *options)
{
    *options = (struct options){.from = 1, .count = 1, .jobs = 2};
    for (int i = 1; i < argc; i++) {
        int64_t value = 0;
        bool has = i + 1 < argc && pipe_parse_count(argv[i + 1], 1, INT64_MAX, &value);
        if (strcmp(argv[i], "--twice") == 0)
            options->twice = true;
        else if (strcmp(argv[i], "--stop") == 0)
            options->stop = true;
        else if (strcmp(argv[i], "--trace") == 0)
            options->trace = true;
        else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
            options->only = argv[++i], has = false;
        else if (strcmp(argv[i], "--from") == 0 && has)
            options->from = (uint64_t)value;
        else if (strcmp(argv[i], "--count") == 0 && has)
            options->count = (uint64_t)value;
        else if (strcmp(argv[i], "--jobs") == 0 && has && value <= JOBS_MAX)
            options->jobs = (uint32_t)value;
        else
            return false;
        i += has ? 1 : 0;
    }
    return true;
}

int main(int argc, char **argv)
{
    struct options options;
    if (!read_options(argc, argv, &options)) {
        fprintf(stderr,
                "usage: %s [--from N] [--count N] [--jobs N] [--only PIPELINE] [--twice] [--stop] "
                "[--trace]\n",
                argv[0]);
        return 2;
    }
    sim_register_programs();
    uint64_t total = options.count * (options.twice ? 2 : 1);
    struct result *results = mmap(NULL, (total + 1) * sizeof *results, PROT_READ | PROT_WRITE,
                                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (results == MAP_FAILED)
        return 1;
    uint64_t failed = run_all(&options, results, total), crashes = 0, errors = 0, fetches = 0;
    int64_t virtual_us = 0;
    for (uint64_t i = 0; i < total; i++) {
        crashes += results[i].crashes;
        errors += results[i].errors;
        fetches += results[i].fetches;
        virtual_us += results[i].virtual_us;
    }
    if (options.twice && failed == 0)
        failed = compare_twins(&options, results);
    printf("%llu crashes, %llu failed calls, %llu files of checkpoints fetched, %.1f hours of "
           "virtual time\n",
           (unsigned long long)crashes, (unsigned long long)errors, (unsigned long long)fetches,
           (double)virtual_us / 3.6e9);
    printf("%llu passed, %llu failed\n", (unsigned long long)(total - failed),
           (unsigned long long)failed);
    return failed == 0 ? 0 : 1;
}
