/*
 * options.h: the tables of options.c, and what the options of several commands share
 * (options_commands.c).
 */
#ifndef PIPE_OPTIONS_H
#define PIPE_OPTIONS_H

#include "engine.h"

#define TRAFFIC_START_MS 1767225600000 /* 2026-01-01: counted traffic is the same every time */

#define RATE_PER_HOUR 3600000 /* 1000/s */

struct option_row {
    const char *name, *argument, *help;
    /* NULL: taken; else what is wrong with the value. */
    const char *(*take)(void *options, const char *value);
};

extern const char option_no_value[]; /* as `argument`: none follows */

void option_usage(const struct pipe_plan *plan, const char *command, const char *intro,
                  const struct option_row *rows, size_t count);
/* Ends a message. */
void option_did_you_mean(const char *nearest);
/* Takes `argv[*at]` (and its value, also as --name=value) by the table. 0: taken. `seen`, of one
 * command line and at first 0: the rows that were. */
int option_take(const struct pipe_plan *plan, const char *command, int argc, char **argv, int *at,
                const struct option_row *rows, size_t count, uint64_t *seen, void *options);
/* The exit code, after a message: an option that has one value has two. */
int option_twice(const struct pipe_plan *plan, const char *command, const char *name);
/* Of --path: 0, or the exit code after a message. */
int option_check_paths(const struct pipe_plan *plan, const char *command,
                       const struct pipe_run_options *options);

/* `take` of options that begin with a struct pipe_run_options. */
const char *option_take_count(void *options, const char *value);
const char *option_take_rate(void *options, const char *value);
const char *option_take_seed(void *options, const char *value);
const char *option_take_start(void *options, const char *value);
const char *option_take_replace(void *options, const char *value);
const char *option_take_path(void *options, const char *value);
const char *option_take_max_record(void *options, const char *value);
const char *option_take_schema_ids(void *options, const char *value);
const char *option_take_state_memory(void *options, const char *value);
const char *option_take_progress(void *options, const char *value);
const char *option_take_group(void *options, const char *value);
const char *option_take_kafka(void *options, const char *value);
const char *option_take_commit(void *options, const char *value);

#endif
