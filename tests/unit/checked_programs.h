/* checked_programs.h: programs from text, parsed and checked; shared by tests of the checking pass.
 */
#ifndef CHECKED_PROGRAMS_H
#define CHECKED_PROGRAMS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "resolve.h"

/* A file source and the sink of its rejects: most cases add one stream and its sink. */
#define SOURCE                                                                                     \
    "pipeline p;\n"                                                                                \
    "source s from file 's.csv' format csv columns (k string, n int64 null, i int32, x float64, "  \
    "d decimal(10,2), t string null, u uuid, at timestamp_ms, us timestamp_us, day date, "         \
    "b bool null, w duration) key k event time at watermark 5s rejects to bad;\n"                  \
    "sink bad_rows from bad to stdout at least once;\n"
#define SUNK "sink rows from a to stdout at least once;\n"
#define EVENTS                                                                                     \
    "pipeline p; contract event from 'tests/golden/contracts/event.avsc';\n"                       \
    "source s from kafka topic 'e' partitions 4 key user contract event event time at watermark "  \
    "5s rejects to bad; sink bad_rows from bad to kafka topic 'bad' key reason exactly once;\n"
#define CHANGES                                                                                    \
    "pipeline p; contract change from 'tests/golden/contracts/change.avsc';\n"                     \
    "source s from kafka topic 'c' partitions 4 key key contract change event time at watermark "  \
    "5s rejects to bad; sink bad_rows from bad to kafka topic 'bad' key reason exactly once;\n"
#define ORDERS                                                                                     \
    "pipeline p; contract placed from 'tests/golden/contracts/order.avsc';\n"                      \
    "source s from kafka topic 'o' partitions 4 key customer contract placed event time "          \
    "placed_at watermark 5s rejects to bad; sink bad_rows from bad to stdout at least once;\n"

static struct program *checked(const char *text, const char *path)
{
    struct program *program = program_new(".");
    program->source = path ? source_read(program, path, 1 << 20, (struct span){0})
                           : source_from_text(program, "case.pipe", text, strlen(text));
    assert_non_null(program->source);
    parse(program, program->source);
    if (diag_error_count(program) == 0)
        resolve(program);
    if (diag_error_count(program) == 0)
        check_tests(program);
    return program;
}

#endif
