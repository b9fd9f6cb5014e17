/* fatal.c: data that no clause of the pipeline covers, as generated code finds it (a sum out of
 * range without `rejects to`): the program stops, and nothing of the open batch is committed. */
#include <stdarg.h>
#include <stdio.h>

#include "engine.h"

void pipe_fatal(struct pipe_task *task, const char *format, ...)
{
    char message[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    engine_fail(task->engine, PIPE_EXIT_DATA, "%s", message);
}
