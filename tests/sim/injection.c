/*
 * injection.c: `NAME inject` between two lives of an embedded run, crashed and repeated until it is
 * done. Its rows have what the traffic has not: keys that come again with another event time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "sim.h"

#define ROWS_MAX 40
#define SPAN_MS 60000 /* event times are in the first minute of the traffic, out of order */
#define TRIES 100

struct injecting {
    const struct pipe_plan *plan;
    const char *dir, *path;
    int code;
};

static void inject(void *argument)
{
    struct injecting *injecting = argument;
    char *argv[] = {"--embedded", (char *)(uintptr_t)injecting->dir, "--source",
                    (char *)(uintptr_t)injecting->plan->sources[0].name,
                    (char *)(uintptr_t)injecting->path};
    injecting->code = pipe_inject_main(injecting->plan, 5, argv);
}

static void put_time(char *to, size_t room, int64_t ms)
{
    time_t seconds = ms / 1000;
    struct tm tm;
    size_t size = strftime(to, room, "%Y-%m-%dT%H:%M:%S", gmtime_r(&seconds, &tm));
    snprintf(to + size, room - size, ".%03dZ", (int)(ms % 1000));
}

static void write_rows(const char *path, int64_t start_ms)
{
    FILE *file = fopen(path, "we");
    if (file == NULL)
        sim_fail("%s can't be made", path);
    for (uint32_t i = 1 + sim_below(ROWS_MAX); i > 0; i--) {
        unsigned user = sim_below(5), serial = sim_below(4), kind = sim_below(3);
        int64_t at_ms = start_ms + sim_between(0, SPAN_MS), sent_ms = at_ms + sim_between(0, 9000);
        char at[40], sent[40];
        put_time(at, sizeof at, at_ms);
        put_time(sent, sizeof sent, sent_ms);
        fprintf(file,
                "{\"key\":\"u%u\",\"kafka_time\":\"%s\",\"value\":{\"id\":\"u%u-%u\",\"user\":"
                "\"u%u\",\"kind\":\"%c\",\"n\":%u,\"at\":\"%s\"}}\n",
                user, sent, user, serial, user, 'a' + (char)kind, sim_below(1000), at);
    }
    if (fclose(file) != 0)
        sim_fail("%s can't be written", path);
}

void sim_inject(const struct sim_program *program, const char *dir, int64_t start_ms)
{
    static uint32_t serial;
    char path[32];
    struct injecting injecting = {.plan = program->plan, .dir = dir, .path = path, .code = -1};
    snprintf(path, sizeof path, "rows-%u.jsonl", ++serial);
    write_rows(path, start_ms);
    for (uint32_t i = 0; i < TRIES && injecting.code != PIPE_EXIT_OK; i++) {
        uint64_t errors = sim.errors;
        injecting.code = -1;
        sim_trace("inject %s", path);
        int kept = sim_redirect("inject.txt", -1);
        enum sim_end end = sim_instance_run(sim_instance_new("inject", inject, &injecting));
        close(sim_redirect(NULL, kept));
        if (end == SIM_RETURNED && injecting.code != PIPE_EXIT_OK && sim.errors == errors)
            sim_fail("inject ends with %d though nothing was wrong", injecting.code);
    }
    if (injecting.code != PIPE_EXIT_OK)
        sim_fail("inject does not come to an end");
}
