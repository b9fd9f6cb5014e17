/*
 * checkpoint_manifest.h: what a checkpoint is made of (decision 0013): JSON, named by its SHA-256.
 *
 *   {"version": 1, "plan": "…", "incarnation": "…", "format": "2", "secrets": "…",
 *    "files": [{"name": "000012.sst", "size": 4096, "sha256": "…"}, …],
 *    "tasks": [{"stage": 0, "partition": 2, "offset": 1234, "seq": 5}, …]}
 *
 * Pure functions of their arguments; any thread.
 */
#ifndef PIPE_CHECKPOINT_MANIFEST_H
#define PIPE_CHECKPOINT_MANIFEST_H

#include "value.h"

#define CHECKPOINT_MANIFEST_BYTES (4u << 20) /* at most: some 30,000 files */
#define CHECKPOINT_DIGEST_CHARS 64u          /* SHA-256, lower-case hex */
#define CHECKPOINT_NAME_BYTES 400u

struct checkpoint_file {
    char name[64]; /* within the database */
    uint64_t size_bytes;
    char digest[CHECKPOINT_DIGEST_CHARS + 1];
};

/* Where the state of a task is: see struct engine_position. */
struct checkpoint_task {
    uint32_t stage;
    int32_t partition;
    int64_t offset;
    uint64_t seq;
};

struct checkpoint_manifest {
    char plan[80], incarnation[40], format[16];
    char secrets[17]; /* hex; "": the plan has none */
    struct checkpoint_file *files;
    struct checkpoint_task *tasks;
    uint32_t file_count, task_count;
};

void checkpoint_manifest_add_file(struct checkpoint_manifest *manifest,
                                  const struct checkpoint_file *file);
void checkpoint_manifest_add_task(struct checkpoint_manifest *manifest,
                                  const struct checkpoint_task *task);
/* Frees what it owns, and clears it. */
void checkpoint_manifest_free(struct checkpoint_manifest *manifest);

/* False: longer than may be read. */
bool checkpoint_manifest_encode(const struct checkpoint_manifest *manifest, struct pipe_buf *to);
/* Of untrusted bytes. False: *error says why in a few words; there is nothing to free. */
bool checkpoint_manifest_decode(struct pipe_str bytes, struct checkpoint_manifest *out,
                                const char **error);
const struct checkpoint_task *checkpoint_manifest_task(const struct checkpoint_manifest *manifest,
                                                       uint32_t stage, int32_t partition);

/* Whether a is less far than b: <0, 0, >0. */
int checkpoint_compare(int64_t a_offset, uint64_t a_seq, int64_t b_offset, uint64_t b_seq);
/* Lower-case hex of that many characters. */
bool checkpoint_is_digest(const char *text);

/* ---- All that there are ---- */

struct checkpoint_known {
    char name[CHECKPOINT_NAME_BYTES]; /* of the object: …/WRITER/manifests/DIGEST */
    int64_t modified_ms;              /* by the clock of the storage */
    bool ours;                        /* of this writer */
    bool was_read, usable;            /* and is sound; else `manifest` is empty */
    bool ruled_out;                   /* could not be restored from in this recovery */
    bool seen;                        /* by the last listing */
    struct checkpoint_manifest manifest;
};

/* What a task may be restored from: the one that reaches furthest, of those beyond `after` (NULL:
 * none is too old) and not beyond `before`. -1: none. *newer: one beyond `before`, or -1. */
int64_t checkpoint_choose(const struct checkpoint_known *known, size_t count, uint32_t stage,
                          int32_t partition, const struct checkpoint_task *after,
                          const struct checkpoint_task *before, int64_t *newer);
/* Whether it is, for one of its tasks, among the two that reach furthest. */
bool checkpoint_is_needed(const struct checkpoint_known *known, size_t count, size_t index);

#endif
