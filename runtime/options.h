/*
 * options.h: the command line of every command: a table of its options, read by option_read, and
 * what the options of several commands share. Main thread only.
 */
#ifndef PIPE_OPTIONS_H
#define PIPE_OPTIONS_H

#include "engine.h"

#define TRAFFIC_START_MS 1767225600000 /* 2026-01-01: counted traffic is the same every time */

#define RATE_PER_HOUR 3600000 /* 1000/s */

struct option_row {
    const char *name, *argument, *help; /* help NULL: not listed; `take` says what is meant */
    /* NULL: taken; else what is wrong with the value. */
    const char *(*take)(void *options, const char *value);
};

extern const char option_no_value[]; /* as `argument`: none follows */

struct option_command {
    const char *name;  /* the first word of its messages */
    const char *usage; /* behind the program's name in the first line of --help */
    const char *intro; /* --help above the options; ends with a line end */
    const struct option_row *rows;
    size_t row_count; /* at most 64 */
    /* A word that is no option: NULL: taken; else what is wrong. Itself NULL: none is taken. */
    const char *(*take_word)(void *options, const char *word);
};

/* Reads the words behind the command's name. 0: `options` is filled; -1: --help was printed; else
 * the exit code, after a message. Texts in `options` are those of argv. */
int option_read(const struct pipe_plan *plan, const struct option_command *command, int argc,
                char **argv, void *options);
/* Ends a message. */
void option_did_you_mean(const char *nearest);
/* Of commands that take `plan` or `apply`: NULL: taken, into *action; else what is wrong. */
const char *option_take_action(const char **action, const char *word);
/* 0, or the exit code after a message: there is none. */
int option_need_action(const struct pipe_plan *plan, const char *command, const char *action,
                       bool *apply);
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
const char *option_take_embedded(void *options, const char *value);
const char *option_take_state(void *options, const char *value);
const char *option_take_commit(void *options, const char *value);

#endif
