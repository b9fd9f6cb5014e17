/* process.c: see process.h. */
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#define STACK_BYTES (1u << 20)

void pipe_hold_descriptors(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)!open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY); /* the lowest free one: fd */
    }
}

/* ---- The stack ---- */

/* Threads have what the limit was at the start. */
static void give_threads(size_t wanted)
{
    pthread_attr_t threads;
    size_t bytes = 0;
    if (pthread_getattr_default_np(&threads) != 0)
        return;
    if (pthread_attr_getstacksize(&threads, &bytes) == 0 && bytes < wanted &&
        pthread_attr_setstacksize(&threads, wanted) == 0)
        pthread_setattr_default_np(&threads);
    pthread_attr_destroy(&threads);
}

/* A stack that is too small is a signal, sooner or later: the constructors of libraries take more
 * than 32 KiB, so this comes before them. What the limit (ulimit -s) may be raised to is used. */
static void check_stack(int argc, char **argv, char **variables)
{
    struct rlimit limit;
    char line[400];
    (void)variables;
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= STACK_BYTES)
        return;
    limit.rlim_cur = STACK_BYTES;
    if (limit.rlim_max >= STACK_BYTES && setrlimit(RLIMIT_STACK, &limit) == 0) {
        give_threads(STACK_BYTES);
        return;
    }
    int size = snprintf(line, sizeof line,
                        "%.200s: the stack may take %llu KiB, but %u are needed; raise the limit "
                        "(ulimit -s) and start again\n",
                        argc > 0 ? argv[0] : "pipec", (unsigned long long)limit.rlim_max >> 10,
                        STACK_BYTES >> 10);
    (void)!write(STDERR_FILENO, line, (size_t)size);
    _exit(1); /* PIPE_EXIT_DATA */
}

__attribute__((section(".preinit_array"),
               used)) static void (*const before_libraries)(int, char **, char **) = check_stack;

/* ---- The end ---- */

void pipe_end_alone(void)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    while (atomic_flag_test_and_set(&told))
        pause();
}

double pipe_process_cpu_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}
