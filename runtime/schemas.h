/*
 * schemas.h: what a task takes the schema ids of its records for (Confluent's frame). An id that is
 * not in --schema-ids is looked up in the schema registry, and what comes of it is a *verdict*: a
 * version of the contract, another schema that its reader can read, one that it can't, or none at
 * all. A verdict depends on when it was asked for, so it is an input like a raise of time: it is
 * logged as a time record (watermark.c) in the commit in which it is used first, and replay takes
 * it from there. It is kept with the state, for time records before it are not read again.
 *
 * Verdicts change between batches only. A task has 131,072 of them at most; the one given first is
 * forgotten, in replay as then, and asked for again when it is needed.
 */
#ifndef PIPE_SCHEMAS_H
#define PIPE_SCHEMAS_H

#include "avro_resolve.h"
#include "engine.h"

enum schema_kind {
    SCHEMA_ABSENT,   /* the registry has no such schema */
    SCHEMA_VERSION,  /* a version of the contract, compiled in */
    SCHEMA_RESOLVED, /* another schema that the contract's reader can read */
    SCHEMA_UNUSABLE  /* one that it can't */
};

struct schema_verdict {
    uint32_t id;
    enum schema_kind kind;
    uint32_t version;                    /* VERSION: index in the contract */
    const struct pipe_resolved *program; /* RESOLVED */
    char *text;                          /* RESOLVED: the schema; UNUSABLE: why */
    uint64_t serial;                     /* of the task's verdicts */
    int64_t checked_us;                  /* ABSENT: asked last, monotonic */
};

/* From PIPE_REGISTRY_URL …; without it there is no registry. False: engine->error. */
bool engine_open_schemas(struct pipe_engine *engine);
void engine_close_schemas(struct pipe_engine *engine); /* after its tasks are gone */

enum schemas_state {
    SCHEMAS_READY, /* the batch can be decoded */
    SCHEMAS_WAIT,  /* not yet: see schemas_waiting */
    SCHEMAS_FAILED /* engine->error */
};
/* Before a batch is run (not in replay): logs verdicts that are new. */
enum schemas_state schemas_prepare(struct engine_task *task, const struct pipe_record *records,
                                   uint32_t count);
/* Goes on with the lookups after WAIT; true: nothing is to be read yet. */
bool schemas_waiting(struct engine_task *task);

/* NULL: there is none. Valid until the next batch. */
const struct schema_verdict *schemas_find(struct engine_task *task, uint32_t id);

/* For the state: all of them, "" without any; valid until the next call for the task. */
struct pipe_str schemas_save(const struct engine_task *task);
/* Adds those of a state, or the one of a time record in replay. False: malformed. */
bool schemas_load(struct engine_task *task, struct pipe_str bytes);
void schemas_forget(struct engine_task *task); /* as of nothing; frees */

#endif
