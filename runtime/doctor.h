/* doctor.h: what doctor_*.c share: `NAME doctor` asks every server that the environment names
 * whether it is as the pipeline needs it, and says what to change. All of it blocks; one thread. */
#ifndef PIPE_DOCTOR_H
#define PIPE_DOCTOR_H

#include "engine.h"

enum doctor_level {
    DOCTOR_OK,
    DOCTOR_NOTE,    /* worth knowing */
    DOCTOR_PROBLEM, /* must be changed: exit code 1 */
    DOCTOR_SKIPPED  /* not looked at, and why */
};

struct doctor_finding {
    enum doctor_level level;
    const char *area; /* "kafka"; static */
    char *what;       /* one line */
    char *advice;     /* what to do; NULL: nothing */
};

struct doctor {
    struct pipe_run_options run; /* first: --kafka; --state, NULL: not looked at */
    const struct pipe_plan *plan;
    bool json;
    struct doctor_finding *findings;
    size_t count;
};

/* advice NULL: none. */
void doctor_find(struct doctor *doctor, enum doctor_level level, const char *area,
                 const char *advice, const char *format, ...) PIPE_PRINTF(5, 6);

void doctor_kafka(struct doctor *doctor);
void doctor_registry(struct doctor *doctor);
void doctor_clickhouse(struct doctor *doctor);
void doctor_state(struct doctor *doctor);

#endif
