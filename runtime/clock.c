/*
 * clock.c: time and chance, which the runtime takes from nowhere else: a simulation links its own
 * of these four in the place of this file.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "engine.h"

int64_t engine_monotonic_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t engine_wall_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void engine_sleep_us(int64_t us)
{
    struct timespec time = {us / 1000000, us % 1000000 * 1000};
    nanosleep(&time, NULL); /* a signal ends it, which is wanted */
}

void pipe_random_bytes(void *to, size_t size_bytes)
{
    uint8_t *at = to;
    while (size_bytes > 0) {
        ssize_t got = getrandom(at, size_bytes, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            perror("getrandom");
            _exit(4);
        }
        at += got;
        size_bytes -= (size_t)got;
    }
}
