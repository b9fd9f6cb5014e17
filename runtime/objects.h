/*
 * objects.h: a place where processes share named objects (checkpoints): put, get, list, remove. No
 * more, so that a directory and an object store can both be one. Names are components joined by
 * '/', of [A-Za-z0-9._-], none beginning with a dot. An object is whole or not there.
 *
 *   objects_files.c   file:///DIR, a directory that several machines may have mounted
 *
 * Errors: false, and objects->error holds one line. One thread at a time uses an object; calls may
 * block for as long as the storage does. Source: decision 0013.
 */
#ifndef PIPE_OBJECTS_H
#define PIPE_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pipe_objects;

/* Asked at least once a MiB, with the bytes so far; false: the call is to end with an error. */
struct pipe_objects_turn {
    bool (*go_on)(void *context, uint64_t bytes);
    void *context;
};

struct pipe_object {
    const char *name; /* valid during the call */
    uint64_t size_bytes;
    int64_t modified_ms; /* since 1970, by the clock of the storage */
};

struct pipe_objects_ops {
    /* Makes or replaces the object by the content of a local file; durable when it returns true. */
    bool (*put)(struct pipe_objects *objects, const char *name, const char *path,
                const struct pipe_objects_turn *turn);
    /* Into a local file, which is made or replaced. More than most_bytes are an error. */
    bool (*get)(struct pipe_objects *objects, const char *name, const char *path,
                uint64_t most_bytes, const struct pipe_objects_turn *turn);
    /* Calls `each` for the objects below `prefix` (components, without '/' at the end), in any
     * order, until it returns false. What a put that did not end has left is listed too: names that
     * no put ever had, for `remove`. None there is no error. */
    bool (*list)(struct pipe_objects *objects, const char *prefix,
                 bool (*each)(void *context, const struct pipe_object *object), void *context);
    /* One that is not there is no error. */
    bool (*remove)(struct pipe_objects *objects, const char *name);
    void (*close)(struct pipe_objects *objects);
};

struct pipe_objects {
    const struct pipe_objects_ops *ops;
    char error[512];
};

/* NULL: this URL can name a place; else what is wrong with it. */
const char *pipe_objects_check(const char *url);
/* The place of a URL that was checked. It need not be there: calls tell. */
struct pipe_objects *pipe_objects_open(const char *url);

#endif
