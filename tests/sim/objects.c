/*
 * objects.c: where the instances share their checkpoints (runtime/objects.h), in memory. A put ends
 * at any byte and leaves what it has; calls fail; now and then what was stored is damaged,
 * silently, or somebody deletes it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "sim.h"

#define DAMAGE 10000 /* of an object that was put, in 100,000, where anything goes wrong */
#define NAME_BYTES 512

struct object {
    char name[NAME_BYTES];
    struct pipe_buf bytes;
    int64_t modified_ms;
};

static struct object *objects;
static size_t object_count;
static struct pipe_objects handle; /* of all instances */

static int64_t now_ms(void)
{
    return (sim.now_us + sim.wall_us) / 1000;
}

static bool fails(struct pipe_objects *of, const char *what, const char *name)
{
    sim_take_time();
    sim_point("call of the storage");
    if (!sim_chance(sim.odds.object_error))
        return false;
    sim_trace("%s %s fails", what, name);
    snprintf(of->error, sizeof of->error, "%.300s: no answer", name);
    return true;
}

static struct object *find(const char *name)
{
    for (size_t i = 0; i < object_count; i++)
        if (strcmp(objects[i].name, name) == 0)
            return &objects[i];
    return NULL;
}

static struct object *make(const char *name)
{
    struct object *object = find(name);
    if (object == NULL) {
        objects = pipe_realloc(objects, (object_count + 1) * sizeof *objects);
        object = &objects[object_count++];
        *object = (struct object){.modified_ms = 0};
        snprintf(object->name, sizeof object->name, "%s", name);
    }
    object->bytes.size = 0;
    object->modified_ms = now_ms();
    return object;
}

static void forget(size_t index)
{
    pipe_buf_free(&objects[index].bytes);
    objects[index] = objects[--object_count];
}

static void read_file(const char *path, struct pipe_buf *to)
{
    uint8_t bytes[4096];
    FILE *file = fopen(path, "re");
    to->size = 0;
    for (size_t got; file != NULL && (got = fread(bytes, 1, sizeof bytes, file)) > 0;)
        pipe_buf_add(to, bytes, got);
    if (file == NULL || fclose(file) != 0)
        sim_fail("%s can't be read", path);
}

/* A bit, or the end of it. */
static void damage(struct object *object)
{
    sim_trace("%s is damaged", object->name);
    if (sim_below(2) == 0)
        object->bytes.size = sim_below((uint32_t)object->bytes.size);
    else
        object->bytes.data[sim_below((uint32_t)object->bytes.size)] ^= (uint8_t)(1 << sim_below(8));
}

static bool put(struct pipe_objects *of, const char *name, const char *path,
                const struct pipe_objects_turn *turn)
{
    struct pipe_buf bytes = {0};
    char partial[NAME_BYTES];
    read_file(path, &bytes);
    if (fails(of, "put", name)) {
        snprintf(partial, sizeof partial, "%.480s.partial", name);
        struct object *left = make(partial);
        pipe_buf_add(&left->bytes, bytes.data, sim_below((uint32_t)bytes.size + 1));
        pipe_buf_free(&bytes);
        return false;
    }
    struct object *object = make(name);
    pipe_buf_add(&object->bytes, bytes.data, bytes.size);
    pipe_buf_free(&bytes);
    sim_trace("put %s, %zu bytes", name, object->bytes.size);
    if (sim.odds.object_error > 0 && object->bytes.size > 0 && sim_chance(DAMAGE))
        damage(object);
    sim_point("object put");
    return turn->go_on(turn->context, object->bytes.size);
}

static bool get(struct pipe_objects *of, const char *name, const char *path, uint64_t most_bytes,
                const struct pipe_objects_turn *turn)
{
    if (fails(of, "get", name))
        return false;
    const struct object *object = find(name);
    if (object == NULL || object->bytes.size > most_bytes) {
        snprintf(of->error, sizeof of->error, "%.300s: %s", name,
                 object == NULL ? "not there" : "too long");
        return false;
    }
    FILE *file = fopen(path, "we");
    if (file == NULL ||
        fwrite(object->bytes.data, 1, object->bytes.size, file) != object->bytes.size ||
        fclose(file) != 0)
        sim_fail("%s can't be written", path);
    sim_trace("get %s", name);
    sim.fetches += strstr(name, "/files/") != NULL;
    return turn->go_on(turn->context, object->bytes.size);
}

static bool list(struct pipe_objects *of, const char *prefix,
                 bool (*each)(void *context, const struct pipe_object *object), void *context)
{
    size_t size = strlen(prefix);
    if (fails(of, "list", prefix))
        return false;
    for (size_t i = 0; i < object_count; i++) {
        struct pipe_object object = {objects[i].name, objects[i].bytes.size,
                                     objects[i].modified_ms};
        if (strncmp(object.name, prefix, size) == 0 && object.name[size] == '/' &&
            !each(context, &object))
            break;
    }
    return true;
}

static bool delete_one(struct pipe_objects *of, const char *name)
{
    if (fails(of, "remove", name))
        return false;
    for (size_t i = 0; i < object_count; i++) {
        if (strcmp(objects[i].name, name) == 0) {
            sim_trace("remove %s", name);
            forget(i);
            break;
        }
    }
    sim_point("object removed");
    return true;
}

static void close_handle(struct pipe_objects *of)
{
    (void)of;
}

void sim_objects_lose(void)
{
    sim_trace("somebody deletes some checkpoints");
    for (size_t i = object_count; i-- > 0;)
        if (sim_below(3) == 0)
            forget(i);
}

static struct pipe_objects *open_handle(void *context)
{
    static const struct pipe_objects_ops ops = {put, get, list, delete_one, close_handle};
    (void)context;
    handle.ops = &ops;
    return &handle;
}

struct checkpoint_hooks sim_checkpoint_hooks = {.open = open_handle};
