/*
 * engine_inputs.c: which files a source reads, and whether they are those of the run so far;
 * secrets and the table of schema ids, which come from outside as well.
 */
#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "engine.h"

const char *engine_option_path(const struct pipe_engine *engine, const char *name)
{
    const char *path = NULL;
    for (uint32_t i = 0; i < engine->options->path_count; i++) {
        if (strcmp(engine->options->paths[i].name, name) == 0)
            path = engine->options->paths[i].path;
    }
    return path;
}

/* ---- Finding ---- */

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool stat_file(struct pipe_engine *engine, struct engine_source *source, uint32_t index)
{
    struct stat about;
    const char *path = source->paths[index];
    if (stat(path, &about) != 0)
        return engine_fail(engine, PIPE_EXIT_DATA, "source %s: %s can't be opened: %s",
                           source->def->name, path, strerror(errno));
    if (S_ISDIR(about.st_mode))
        return engine_fail(engine, PIPE_EXIT_DATA,
                           "source %s: %s is a directory; give a pattern of files, e.g. '%s/*'",
                           source->def->name, path, path);
    if (!S_ISREG(about.st_mode))
        return engine_fail(engine, PIPE_EXIT_DATA,
                           "source %s: %s is not a regular file, so it can't be read again after a "
                           "failure; use '-' and standard input",
                           source->def->name, path);
    source->lengths[index] = about.st_size;
    return true;
}

/* Of a run that has read files before, others are another input. */
static int missing_code(struct pipe_engine *engine, const struct engine_source *source)
{
    struct pipe_buf value = {0};
    char name[128];
    bool found = false;
    snprintf(name, sizeof name, "inputs/%s", source->def->name);
    if (!engine->log->ops->get(engine->log, name, &value, &found))
        found = false;
    pipe_buf_free(&value);
    return found ? PIPE_EXIT_STATE : PIPE_EXIT_DATA;
}

static bool find_files(struct pipe_engine *engine, struct engine_source *source,
                       const char *pattern)
{
    glob_t found = {0};
    int result = glob(pattern, GLOB_NOSORT | GLOB_ERR, NULL, &found);
    if (result == GLOB_NOSPACE)
        pipe_out_of_memory();
    if (result == GLOB_NOMATCH || (result == 0 && found.gl_pathc == 0))
        engine_fail(
            engine, missing_code(engine, source),
            "source %s: no file matches '%s'; check the pattern, or give another with --path "
            "%s=PATTERN",
            source->def->name, pattern, source->def->name);
    else if (result != 0)
        engine_fail(engine, PIPE_EXIT_DATA, "source %s: '%s' can't be searched: %s",
                    source->def->name, pattern, strerror(errno));
    if (engine->failed) {
        globfree(&found);
        return false;
    }
    source->partitions = (uint32_t)found.gl_pathc;
    source->paths = pipe_calloc(found.gl_pathc, sizeof *source->paths);
    source->lengths = pipe_calloc(found.gl_pathc, sizeof *source->lengths);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        size_t size = strlen(found.gl_pathv[i]) + 1;
        source->paths[i] = memcpy(pipe_malloc(size), found.gl_pathv[i], size);
    }
    globfree(&found);
    qsort(source->paths, source->partitions, sizeof *source->paths, by_bytes);
    for (uint32_t i = 0; i < source->partitions; i++) {
        if (!stat_file(engine, source, i))
            return false;
    }
    return true;
}

/* In a test all partitions bear the name of the pattern; see open_input in task.c. */
static void make_up_files(const struct pipe_engine *engine, struct engine_source *source)
{
    const struct pipe_hooks *hooks = engine->options->hooks;
    size_t size = strlen(source->def->target) + 1;
    source->partitions =
        hooks->file_partitions(hooks->context, (uint32_t)(source - engine->sources));
    source->paths = pipe_calloc(source->partitions, sizeof *source->paths);
    source->lengths = pipe_calloc(source->partitions, sizeof *source->lengths);
    for (uint32_t i = 0; i < source->partitions; i++)
        source->paths[i] = memcpy(pipe_malloc(size), source->def->target, size);
}

/* The files that a run in this directory has read, whatever --path told it. *found false: none. */
static bool committed_files(struct pipe_engine *engine, struct engine_source *source, bool *found)
{
    struct pipe_buf value = {0};
    struct pipe_reader reader;
    struct pipe_str path = {0};
    int64_t count = 0, length;
    char name[128];
    snprintf(name, sizeof name, "inputs/%s", source->def->name);
    bool ok = engine->log->ops->get(engine->log, name, &value, found);
    pipe_reader_init(&reader, value.data, value.size, NULL);
    *found = ok && *found && pipe_avro_long(&reader, &count) && count > 0 &&
             (uint64_t)count <= value.size;
    if (*found) {
        source->partitions = (uint32_t)count;
        source->paths = pipe_calloc((size_t)count, sizeof *source->paths);
        source->lengths = pipe_calloc((size_t)count, sizeof *source->lengths);
        source->files = true;
    }
    for (uint32_t i = 0; ok && *found && i < source->partitions; i++) {
        if (!pipe_avro_bytes(&reader, &path) || !pipe_avro_long(&reader, &length)) {
            ok = engine_fail(engine, PIPE_EXIT_DATA, "the log is damaged: metadata %s is malformed",
                             name);
            break;
        }
        source->paths[i] = pipe_str_dup(path);
        ok = stat_file(engine, source, i);
    }
    pipe_buf_free(&value);
    return ok || engine_log_failed(engine);
}

static void name_input(struct engine_source *source)
{
    if (source->paths == NULL)
        return;
    source->names = pipe_calloc(source->partitions, sizeof *source->names);
    for (uint32_t i = 0; i < source->partitions; i++)
        source->names[i] = pipe_utf8_escaped(source->paths[i]);
}

static bool find_input(struct pipe_engine *engine, struct engine_source *source)
{
    const char *path = engine_option_path(engine, source->def->name);
    bool found = false;
    if (path == NULL && engine->reconciles && !committed_files(engine, source, &found))
        return false;
    if (found)
        return true;
    if (path == NULL && source->def->is_kafka) {
        source->partitions = source->def->partitions;
        return true;
    }
    path = path != NULL ? path : source->def->target;
    source->files = true;
    if (engine->options->hooks != NULL) {
        make_up_files(engine, source);
        return true;
    }
    if (strcmp(path, "-") == 0) {
        source->standard_input = true;
        source->partitions = 1;
        return !source->def->is_kafka ||
               engine_fail(
                   engine, PIPE_EXIT_USAGE,
                   "source %s is a topic: give it one Avro file a partition, not standard input",
                   source->def->name);
    }
    if (!find_files(engine, source, path))
        return false;
    if (source->def->is_kafka && source->partitions != source->def->partitions)
        return engine_fail(engine, PIPE_EXIT_DATA,
                           "source %s has %u partitions, but '%s' matches %u files: one file a "
                           "partition is needed",
                           source->def->name, source->def->partitions, path, source->partitions);
    return true;
}

bool engine_find_inputs(struct pipe_engine *engine)
{
    for (uint32_t i = 0; i < engine->plan->source_count; i++) {
        if (!find_input(engine, &engine->sources[i]))
            return false;
        name_input(&engine->sources[i]);
    }
    return true;
}

/* ---- Comparing with the run so far ---- */

static void encode_inputs(const struct engine_source *source, struct pipe_buf *to)
{
    to->size = 0;
    pipe_avro_put_long(to, source->standard_input ? -1
                           : source->files        ? (int64_t)source->partitions
                                                  : 0);
    for (uint32_t i = 0; source->paths != NULL && i < source->partitions; i++) {
        pipe_avro_put_bytes(to, pipe_str_of(source->paths[i], strlen(source->paths[i])));
        pipe_avro_put_long(to, source->lengths[i]);
    }
}

static bool other_input(struct pipe_engine *engine, const struct engine_source *source,
                        const char *what, struct pipe_str path, const char *how)
{
    return engine_fail(
        engine, PIPE_EXIT_STATE,
        "source %s: %s %.*s %s; restore what was there, or use another directory than %s",
        source->def->name, what, (int)(path.size < 400 ? path.size : 400), path.data, how,
        engine->dir);
}

/* Both lists are in byte order of the paths: the first difference is told. */
static bool compare_files(struct pipe_engine *engine, const struct engine_source *source,
                          struct pipe_reader *stored, int64_t count)
{
    struct pipe_str path = {0};
    int64_t length = 0;
    uint32_t at = 0;
    for (int64_t i = 0; i < count; i++, at++) {
        char how[128];
        if (!pipe_avro_bytes(stored, &path) || !pipe_avro_long(stored, &length))
            return engine_fail(engine, PIPE_EXIT_DATA,
                               "the log is damaged: metadata inputs/%s is malformed",
                               source->def->name);
        struct pipe_str now = at < source->partitions
                                  ? pipe_str_of(source->paths[at], strlen(source->paths[at]))
                                  : pipe_str_of("", 0);
        int order = at < source->partitions ? pipe_str_compare(now, path) : 1;
        if (order < 0)
            return other_input(engine, source, "the file", now, "is new since this run began");
        if (order > 0)
            return other_input(engine, source, "the file", path, "is gone since this run began");
        if (length == source->lengths[at])
            continue;
        snprintf(how, sizeof how, "has %lld bytes, but had %lld when this run began",
                 (long long)source->lengths[at], (long long)length);
        return other_input(engine, source, "the file", path, how);
    }
    if (at < source->partitions)
        return other_input(engine, source, "the file",
                           pipe_str_of(source->paths[at], strlen(source->paths[at])),
                           "is new since this run began");
    return true;
}

static bool compare_inputs(struct pipe_engine *engine, const struct engine_source *source,
                           const struct pipe_buf *value)
{
    struct pipe_reader stored;
    int64_t count;
    pipe_reader_init(&stored, value->data, value->size, NULL);
    if (!pipe_avro_long(&stored, &count))
        return engine_fail(engine, PIPE_EXIT_DATA,
                           "the log is damaged: metadata inputs/%s is malformed",
                           source->def->name);
    if (count < 0)
        return engine_fail(
            engine, PIPE_EXIT_STATE,
            "%s holds a run that read standard input, which can't be read again; use "
            "another directory",
            engine->dir);
    if (source->standard_input || (count > 0) != source->files)
        return engine_fail(
            engine, PIPE_EXIT_STATE,
            "source %s was read from %s before, and now from %s; use the same, or another "
            "directory than %s",
            source->def->name, count > 0 ? "files" : "its topic",
            source->standard_input ? "standard input"
            : source->files        ? "files"
                                   : "its topic",
            engine->dir);
    return count == 0 || compare_files(engine, source, &stored, count);
}

bool engine_check_inputs(struct pipe_engine *engine)
{
    struct pipe_log *log = engine->log;
    struct pipe_buf value = {0};
    bool ok = true;
    for (uint32_t i = 0; ok && i < engine->plan->source_count; i++) {
        const struct engine_source *source = &engine->sources[i];
        char name[128];
        bool found;
        snprintf(name, sizeof name, "inputs/%s", source->def->name);
        ok = log->ops->get(log, name, &value, &found);
        if (ok && found) {
            ok = compare_inputs(engine, source, &value);
        } else if (ok) {
            encode_inputs(source, &value);
            ok = log->ops->put(log, name, value.data, value.size);
        }
    }
    pipe_buf_free(&value);
    return ok || engine_log_failed(engine);
}
