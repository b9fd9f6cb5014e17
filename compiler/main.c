/*
 * main.c: pipec. The command line is read in command_line.c, so that tests can call it.
 *
 * It runs on a thread for its stack: how deep a program may nest does not hang on `ulimit -s`.
 */
#include "command.h"
#include "../runtime/process.h"

#include <pthread.h>
#include <string.h>

/* The deepest tree takes a tenth of it: SYNTAX_MAX_HEIGHT, SYNTAX_MAX_NESTING, streams in a row. */
enum { STACK_BYTES = 16 << 20 };

struct line {
    int argc;
    char **argv;
    int code;
};

static void *run(void *argument)
{
    struct line *line = argument;
    line->code = command_line(line->argc, line->argv);
    return NULL;
}

int main(int argc, char **argv)
{
    pipe_hold_descriptors();
    pipe_watch_memory(out_of_memory);
    struct line line = {argc, argv, 4};
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    int error = pthread_attr_setstacksize(&attributes, STACK_BYTES);
    if (error == 0)
        error = pthread_create(&thread, &attributes, run, &line);
    pthread_attr_destroy(&attributes);
    if (error != 0) {
        complain("out of memory or threads: no thread with %d MiB of stack: %s; raise the limit "
                 "(ulimit -v, ulimit -u) or free some",
                 STACK_BYTES >> 20, strerror(error));
        return 1;
    }
    pthread_join(thread, NULL);
    return line.code;
}
