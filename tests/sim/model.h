/*
 * model.h: what the pipelines of pipelines/ mean (semantics.md §2), computed straight from the
 * committed input and time records: no batches, no state, no exchange. model.c makes the rows,
 * model_check.c compares them with what the outputs hold. Times are µs since 1970.
 */
#ifndef SIM_MODEL_H
#define SIM_MODEL_H

#include "sim.h"

#define MODEL_SOURCES 2
#define MODEL_WINDOWS 2

enum model_emit { MODEL_CLOSE, MODEL_FINAL, MODEL_UPDATE };
struct model_window_def {
    const char *stream, *topic; /* NULL: none */
    int64_t size, slide;        /* slide 0: sessions, size is the gap */
    int64_t lateness;
    enum model_emit emit;
    bool corrected; /* rows have a revision */
    bool by_kind;   /* grouped by kind, behind an exchange; else by user, in the task */
};
struct model_source_def {
    const char *topic, *time_topic; /* NULL: none */
    int32_t partitions;
    int64_t bound, ahead;
};
struct sim_model_def {
    struct model_source_def sources[MODEL_SOURCES];
    bool refuses_bad_kind;
    int64_t dedup_ttl; /* 0: none */
    const char *fresh; /* topic of what passed; NULL: none */
    struct model_window_def windows[MODEL_WINDOWS];
};

struct model_event {
    uint32_t source;
    int32_t partition;
    int64_t offset;
    char *id, *user, *kind;
    int64_t n, at, kafka_time;
    int64_t watermark; /* that judges it */
};

struct model_window {
    const char *group;
    int64_t start, end, events, total;
    bool closed, maybe; /* maybe: only just, and what closes it may be on its way */
};

struct model_rows { /* a multiset, as texts */
    char **rows;
    size_t count, capacity;
};

struct model {
    const struct sim_model_def *def;
    const struct sim_reader *reader;
    struct model_event *events; /* accepted ones, by source, partition, offset */
    size_t event_count, event_capacity;
    int64_t watermarks[MODEL_SOURCES][8]; /* at the end */
    struct model_window *windows[MODEL_WINDOWS];
    size_t window_count[MODEL_WINDOWS];
    struct model_rows fresh, refused, behind;
};

void model_add(struct model_rows *rows, const char *format, ...) PIPE_PRINTF(2, 3);
bool model_decode(struct pipe_str value, struct model_event *event); /* false: undecodable */
bool model_time(const char *text, int64_t *us);
void model_run(struct model *model);

#endif
