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

static void make_room(struct engine_source *source)
{
    source->paths = pipe_calloc(source->partitions, sizeof *source->paths);
    source->lengths = pipe_calloc(source->partitions, sizeof *source->lengths);
    source->modified_ns = pipe_calloc(source->partitions, sizeof *source->modified_ns);
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
    source->modified_ns[index] = about.st_mtim.tv_sec * 1000000000 + about.st_mtim.tv_nsec;
    return true;
}

/* ---- What is committed of an input: how many files (0: its topic, -1: standard input), path and
 * length of each; then what --path said (nothing: empty) and when each was modified, unless an
 * older program has put it. ---- */

struct stored_input {
    struct pipe_buf value;
    struct pipe_reader files; /* the first of `count` */
    int64_t count;
    struct pipe_str given;       /* into value; data NULL: not known */
    struct pipe_reader modified; /* a time for each, */
    bool has_modified;           /* if there are any */
};

/* False: failed; *found false: nothing is committed. Free input->value in any case. */
static bool read_stored(struct pipe_engine *engine, const struct engine_source *source,
                        struct stored_input *input, bool *found)
{
    struct pipe_str path = {0};
    int64_t length;
    char name[128];
    *input = (struct stored_input){0};
    snprintf(name, sizeof name, "inputs/%s", source->def->name);
    if (!engine->log->ops->get(engine->log, name, &input->value, found))
        return engine_log_failed(engine);
    if (!*found)
        return true;
    struct pipe_reader reader;
    pipe_reader_init(&reader, input->value.data, input->value.size, NULL);
    bool ok = pipe_avro_long(&reader, &input->count) && input->count <= (int64_t)input->value.size;
    input->files = reader;
    for (int64_t i = 0; ok && i < input->count; i++)
        ok = pipe_avro_bytes(&reader, &path) && pipe_avro_long(&reader, &length);
    if (ok && reader.at < reader.end) {
        ok = pipe_avro_bytes(&reader, &input->given);
        input->has_modified = ok;
    }
    input->modified = reader;
    return ok || engine_fail(engine, PIPE_EXIT_DATA, "the log is damaged: metadata %s is malformed",
                             name);
}

/* What to do where the run began with another --path; else `otherwise`. */
static void put_advice(char *to, size_t room, const struct pipe_engine *engine,
                       const struct engine_source *source, const struct stored_input *input,
                       const char *otherwise)
{
    const char *now = engine_option_path(engine, source->def->name);
    struct pipe_str then = input->given;
    bool same =
        then.data == NULL ||
        pipe_str_equal(then, pipe_str_of(now != NULL ? now : "", now != NULL ? strlen(now) : 0));
    if (same)
        snprintf(to, room, "%s", otherwise);
    else if (then.size == 0)
        snprintf(to, room, "this run began without --path %s=…: leave it away", source->def->name);
    else
        snprintf(to, room, "this run began with --path %s=%.*s: give that", source->def->name,
                 (int)(then.size < 300 ? then.size : 300), then.data);
}

/* Of a run that has read files before, others are another input. */
static bool refuse_unmatched(struct pipe_engine *engine, const struct engine_source *source,
                             const char *pattern)
{
    struct stored_input input;
    char advice[512], otherwise[256];
    bool found;
    if (read_stored(engine, source, &input, &found)) {
        snprintf(otherwise, sizeof otherwise,
                 "check the pattern, or give another with --path %s=PATTERN", source->def->name);
        put_advice(advice, sizeof advice, engine, source, &input, otherwise);
        engine_fail(engine, found ? PIPE_EXIT_STATE : PIPE_EXIT_DATA,
                    "source %s: no file matches '%s'%s; %s", source->def->name, pattern,
                    pattern[0] == '/' ? "" : " in the working directory", advice);
    }
    pipe_buf_free(&input.value);
    return false;
}

static bool find_files(struct pipe_engine *engine, struct engine_source *source,
                       const char *pattern)
{
    glob_t found = {0};
    int result = glob(pattern, GLOB_NOSORT | GLOB_ERR, NULL, &found);
    if (result == GLOB_NOSPACE)
        pipe_out_of_memory();
    if (result == GLOB_NOMATCH || (result == 0 && found.gl_pathc == 0))
        refuse_unmatched(engine, source, pattern);
    else if (result != 0)
        engine_fail(engine, PIPE_EXIT_DATA, "source %s: '%s' can't be searched: %s",
                    source->def->name, pattern, strerror(errno));
    if (engine->failed) {
        globfree(&found);
        return false;
    }
    source->partitions = (uint32_t)found.gl_pathc;
    make_room(source);
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
    make_room(source);
    for (uint32_t i = 0; i < source->partitions; i++)
        source->paths[i] = memcpy(pipe_malloc(size), source->def->target, size);
}

/* The files that a run in this directory has read, whatever --path told it. *found false: none. */
static bool committed_files(struct pipe_engine *engine, struct engine_source *source, bool *found)
{
    struct stored_input input;
    struct pipe_str path = {0};
    bool ok = read_stored(engine, source, &input, found);
    *found = ok && *found && input.count > 0;
    if (*found) {
        source->partitions = (uint32_t)input.count;
        source->files = true;
        make_room(source);
    }
    for (uint32_t i = 0; ok && *found && i < source->partitions; i++) {
        int64_t length;
        ok = pipe_avro_bytes(&input.files, &path) && pipe_avro_long(&input.files, &length);
        source->paths[i] = pipe_str_dup(path);
        ok = ok && stat_file(engine, source, i);
    }
    pipe_buf_free(&input.value);
    return ok;
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

static void encode_inputs(const struct pipe_engine *engine, const struct engine_source *source,
                          struct pipe_buf *to)
{
    const char *given = engine_option_path(engine, source->def->name);
    to->size = 0;
    pipe_avro_put_long(to, source->standard_input ? -1
                           : source->files        ? (int64_t)source->partitions
                                                  : 0);
    for (uint32_t i = 0; source->paths != NULL && i < source->partitions; i++) {
        pipe_avro_put_bytes(to, pipe_str_of(source->paths[i], strlen(source->paths[i])));
        pipe_avro_put_long(to, source->lengths[i]);
    }
    pipe_avro_put_bytes(to,
                        pipe_str_of(given != NULL ? given : "", given != NULL ? strlen(given) : 0));
    for (uint32_t i = 0; source->paths != NULL && i < source->partitions; i++)
        pipe_avro_put_long(to, source->modified_ns[i]);
}

struct comparing {
    struct pipe_engine *engine;
    struct engine_source *source;
    struct stored_input stored;
};

static bool other_file(const struct comparing *c, struct pipe_str path, const char *how)
{
    char advice[512];
    put_advice(advice, sizeof advice, c->engine, c->source, &c->stored, "restore what was there");
    return engine_fail(c->engine, PIPE_EXIT_STATE,
                       "source %s: the file %.*s %s; %s, or use another directory than %s",
                       c->source->def->name, (int)(path.size < 400 ? path.size : 400), path.data,
                       how, advice, c->engine->dir);
}

/* Both lists are in byte order of the paths: the first difference is told. */
static bool compare_files(struct comparing *c)
{
    const struct engine_source *source = c->source;
    struct pipe_str path = {0};
    int64_t length = 0;
    uint32_t at = 0;
    for (int64_t i = 0; i < c->stored.count; i++, at++) {
        char how[128];
        if (!pipe_avro_bytes(&c->stored.files, &path) || !pipe_avro_long(&c->stored.files, &length))
            return false; /* read_stored has read them */
        struct pipe_str now = at < source->partitions
                                  ? pipe_str_of(source->paths[at], strlen(source->paths[at]))
                                  : pipe_str_of("", 0);
        int order = at < source->partitions ? pipe_str_compare(now, path) : 1;
        if (order < 0)
            return other_file(c, now, "is new since this run began");
        if (order > 0)
            return other_file(c, path, "is gone since this run began");
        if (length == source->lengths[at])
            continue;
        snprintf(how, sizeof how, "has %lld bytes, but had %lld when this run began",
                 (long long)source->lengths[at], (long long)length);
        return other_file(c, path, how);
    }
    if (at < source->partitions)
        return other_file(c, pipe_str_of(source->paths[at], strlen(source->paths[at])),
                          "is new since this run began");
    return true;
}

/* Bytes may have changed in a file as long as it was: `run` can't know, but its time may say it. */
static void compare_times(struct comparing *c)
{
    struct engine_source *source = c->source;
    int64_t then;
    source->changed = pipe_calloc(source->partitions + 1, sizeof *source->changed);
    for (uint32_t i = 0; c->stored.has_modified && i < source->partitions; i++) {
        if (!pipe_avro_long(&c->stored.modified, &then))
            return;
        source->changed[i] = then != source->modified_ns[i];
        if (source->changed[i])
            pipe_message(PIPE_WARNING, "a file of the input was modified since this run began",
                         "source=%s file=\"%s\"", source->def->name, PIPE_QUOTED(source->paths[i]));
    }
}

static bool compare_inputs(struct comparing *c)
{
    struct pipe_engine *engine = c->engine;
    struct engine_source *source = c->source;
    int64_t count = c->stored.count;
    char advice[512];
    if (count < 0)
        return engine_fail(
            engine, PIPE_EXIT_STATE,
            "%s holds a run that read standard input, which can't be read again; use "
            "another directory",
            engine->dir);
    put_advice(advice, sizeof advice, engine, source, &c->stored, "use the same");
    if (source->standard_input || (count > 0) != source->files)
        return engine_fail(engine, PIPE_EXIT_STATE,
                           "source %s was read from %s before, and now from %s; %s, or use another "
                           "directory than %s",
                           source->def->name, count > 0 ? "files" : "its topic",
                           source->standard_input ? "standard input"
                           : source->files        ? "files"
                                                  : "its topic",
                           advice, engine->dir);
    if (count > 0 && !compare_files(c))
        return false;
    compare_times(c);
    return true;
}

bool engine_check_inputs(struct pipe_engine *engine)
{
    struct pipe_log *log = engine->log;
    bool ok = true;
    for (uint32_t i = 0; ok && i < engine->plan->source_count; i++) {
        struct comparing c = {.engine = engine, .source = &engine->sources[i]};
        char name[128];
        bool found;
        ok = read_stored(engine, c.source, &c.stored, &found);
        if (ok && found) {
            ok = compare_inputs(&c);
        } else if (ok) {
            snprintf(name, sizeof name, "inputs/%s", c.source->def->name);
            encode_inputs(engine, c.source, &c.stored.value);
            ok = log->ops->put(log, name, c.stored.value.data, c.stored.value.size) ||
                 engine_log_failed(engine);
        }
        pipe_buf_free(&c.stored.value);
    }
    return ok;
}
