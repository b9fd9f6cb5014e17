/*
 * engine_outputs.c: the files of sinks: which they are, that writing them destroys nothing that
 * somebody may want, and opening them.
 */
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine.h"
#include "new_file.h"

char *engine_output_path(const struct pipe_engine *engine, const struct pipe_sink_def *sink)
{
    const char *path = engine_option_path(engine, sink->name);
    if (path == NULL && sink->kind == PIPE_SINK_FILE)
        path = sink->target;
    if (path != NULL)
        return pipe_text_dup(path);
    size_t size = strlen(engine->dir) + strlen(sink->name) + 32;
    char *table = pipe_malloc(size);
    snprintf(table, size, "%s/tables/%s.jsonl", engine->dir, sink->name);
    return table;
}

/* ---- Which file it is ---- */

struct place {
    char *real; /* without links and dots, also if the file is not there; free */
    bool there;
    int cause; /* errno, if nobody can tell whether it is there */
    struct stat about;
};

static struct place find_place(const char *path)
{
    struct place place = {.real = pipe_real_path(path)};
    place.there = stat(path, &place.about) == 0;
    place.cause = place.there || errno == ENOENT || errno == ENOTDIR ? 0 : errno;
    return place;
}

static bool same_place(const struct place *a, const struct place *b)
{
    if (a->there && b->there)
        return a->about.st_dev == b->about.st_dev && a->about.st_ino == b->about.st_ino;
    return strcmp(a->real, b->real) == 0;
}

static bool same_path(const char *a, const char *b)
{
    struct place one = find_place(a), other = find_place(b);
    bool same = same_place(&one, &other);
    free(one.real);
    free(other.real);
    return same;
}

/* ---- Against inputs, other sinks, the run's own files ---- */

static const char *without_dot(const char *path)
{
    while (path[0] == '.' && path[1] == '/')
        path += 2;
    return path;
}

static bool check_source(struct pipe_engine *engine, const struct engine_sink *sink,
                         const struct place *place, const struct engine_source *source)
{
    const char *given = engine_option_path(engine, source->def->name);
    const char *pattern = given != NULL ? given : source->def->target;
    struct place input = {0};
    if (source->standard_input) {
        input.there = fstat(STDIN_FILENO, &input.about) == 0 && S_ISREG(input.about.st_mode);
        return !input.there || !place->there || !same_place(place, &input) ||
               engine_fail(engine, PIPE_EXIT_DATA,
                           "sink %s would overwrite %s, which source %s reads as standard input; "
                           "give the sink another file with --path %s=FILE",
                           sink->def->name, sink->path, source->def->name, sink->def->name);
    }
    for (uint32_t i = 0; source->paths != NULL && i < source->partitions; i++) {
        input = find_place(source->paths[i]);
        bool same = same_place(place, &input);
        free(input.real);
        if (input.cause != 0)
            return engine_fail(engine, PIPE_EXIT_DATA, "source %s: %s can't be examined: %s",
                               source->def->name, source->paths[i], strerror(input.cause));
        if (same)
            return engine_fail(engine, PIPE_EXIT_DATA,
                               "sink %s would overwrite %s, which source %s reads (as %s); give "
                               "the sink another file with --path %s=FILE",
                               sink->def->name, sink->path, source->def->name, source->paths[i],
                               sink->def->name);
    }
    return !source->files ||
           fnmatch(without_dot(pattern), without_dot(sink->path), FNM_PATHNAME | FNM_PERIOD) != 0 ||
           engine_fail(engine, PIPE_EXIT_DATA,
                       "sink %s: source %s would read %s as well, by its pattern '%s'; give the "
                       "sink another file with --path %s=FILE",
                       sink->def->name, source->def->name, sink->path, pattern, sink->def->name);
}

/* What the run keeps beside tables/. */
static bool is_own(const struct pipe_engine *engine, const struct place *place)
{
    static const char *const names[] = {"log", "state", "lock", "instance"};
    bool own = false;
    for (size_t i = 0; i < 4 && !own; i++) {
        char *path = pipe_join_path(engine->dir, names[i]), *real = pipe_real_path(path);
        size_t size = strlen(real);
        own = strncmp(place->real, real, size) == 0 &&
              (place->real[size] == '\0' || place->real[size] == '/');
        free(real);
        free(path);
    }
    return own;
}

static bool has_output(const struct pipe_engine *engine, const struct engine_sink *sink)
{
    return !sink->is_topic && !sink->followed && !engine->options->no_output;
}

static bool is_file_sink(const struct pipe_engine *engine, const struct engine_sink *sink)
{
    return has_output(engine, sink) && sink->def->kind != PIPE_SINK_STDOUT;
}

static bool check_place(struct pipe_engine *engine, const struct engine_sink *sink,
                        const struct place *place)
{
    if (place->cause != 0)
        return engine_fail(engine, PIPE_EXIT_DATA, "sink %s: %s can't be examined: %s",
                           sink->def->name, sink->path, strerror(place->cause));
    for (uint32_t i = 0; i < engine->plan->source_count; i++) {
        if (!check_source(engine, sink, place, &engine->sources[i]))
            return false;
    }
    for (const struct engine_sink *other = engine->sinks; other < sink; other++) {
        if (is_file_sink(engine, other) && same_path(other->path, sink->path))
            return engine_fail(engine, PIPE_EXIT_DATA,
                               "sinks %s and %s write to the same file, %s; give one of them "
                               "another with --path %s=FILE",
                               other->def->name, sink->def->name, sink->path, sink->def->name);
    }
    return !is_own(engine, place) ||
           engine_fail(engine, PIPE_EXIT_DATA,
                       "sink %s: %s belongs to the log or state of this run; give the sink another "
                       "file with --path %s=FILE",
                       sink->def->name, sink->path, sink->def->name);
}

/* ---- Against what is in the file ---- */

/* Length, path and mark as of the last commit. `path` is filled unless there was none. */
static bool read_committed(struct pipe_engine *engine, struct engine_sink *sink, char **path)
{
    struct pipe_buf value = {0};
    struct pipe_reader reader;
    struct pipe_str text = {0};
    char name[256];
    snprintf(name, sizeof name, "output/%s", sink->def->name);
    bool ok = engine->log->ops->get(engine->log, name, &value, &sink->known);
    if (!ok)
        engine_log_failed(engine);
    pipe_reader_init(&reader, value.data, value.size, NULL);
    if (ok && sink->known &&
        (!pipe_avro_long(&reader, &sink->committed_bytes) || sink->committed_bytes < 0))
        ok = engine_fail(engine, PIPE_EXIT_DATA, "the log is damaged: metadata %s is malformed",
                         name);
    if (ok && sink->known && pipe_avro_bytes(&reader, &text) && text.size > 0) {
        *path = pipe_malloc(text.size + 1);
        memcpy(*path, text.data, text.size);
        (*path)[text.size] = '\0';
        sink->marked = pipe_file_get_mark(&reader, &sink->mark);
    }
    pipe_buf_free(&value);
    return ok;
}

/* The new file would stand among what another run keeps. */
static bool check_foreign(struct pipe_engine *engine, const struct engine_sink *sink)
{
    char *run = pipe_run_directory_of(sink->path);
    bool foreign = run != NULL && !same_path(run, engine->dir);
    if (foreign)
        engine_fail(engine, PIPE_EXIT_DATA,
                    "sink %s: %s is in %s, the directory of another run; give the sink another "
                    "file with --path %s=FILE",
                    sink->def->name, sink->path, run, sink->def->name);
    free(run);
    return !foreign;
}

/* A file that this run has not written: somebody's. */
static bool check_new(struct pipe_engine *engine, const struct engine_sink *sink,
                      const struct place *place)
{
    if (!check_foreign(engine, sink))
        return false;
    if (engine->options->replace || !place->there || !S_ISREG(place->about.st_mode) ||
        place->about.st_size == 0)
        return true;
    return engine_fail(
        engine, PIPE_EXIT_DATA,
        "sink %s: %s is there already, with %lld bytes that are not of this run; "
        "remove it, name another with --path %s=FILE, or overwrite it with --replace",
        sink->def->name, sink->path, (long long)place->about.st_size, sink->def->name);
}

static bool is_table(const struct engine_sink *sink, const char *path)
{
    char end[160];
    size_t size = (size_t)snprintf(end, sizeof end, "/tables/%.100s.jsonl", sink->def->name);
    size_t path_size = strlen(path);
    return path_size >= size && strcmp(path + path_size - size, end) == 0;
}

/* Rows were committed to `before`; the file may have been moved, as a whole. */
static bool check_moved(struct pipe_engine *engine, const struct engine_sink *sink,
                        const struct place *place, const char *before)
{
    struct stat about;
    if (strcmp(before, sink->path) == 0 || (is_table(sink, before) && is_table(sink, sink->path)) ||
        same_path(before, sink->path))
        return true;
    if (stat(before, &about) == 0 || !place->there)
        return engine_fail(engine, PIPE_EXIT_STATE,
                           "sink %s: rows of this run are in %s, and now %s is named; give --path "
                           "%s=%s, or use another directory than %s",
                           sink->def->name, before, sink->path, sink->def->name, before,
                           engine->dir);
    return place->about.st_size == sink->committed_bytes ||
           engine_fail(engine, PIPE_EXIT_STATE,
                       "sink %s: %s has %lld bytes, but %lld were committed to %s: it is not that "
                       "file; put that back, or use another directory than %s",
                       sink->def->name, sink->path, (long long)place->about.st_size,
                       (long long)sink->committed_bytes, before, engine->dir);
}

static struct pipe_output_config config_of(const struct pipe_engine *engine,
                                           const struct engine_sink *sink)
{
    struct pipe_output_config config = {.sink = sink->def, .format = PIPE_FORMAT_JSONL};
    if (sink->def->format == PIPE_FORMAT_CSV || sink->def->format == PIPE_FORMAT_AVRO)
        config.format = sink->def->format;
    if (sink->path == NULL)
        return config;
    char *run = pipe_run_directory_of(sink->path);
    config.own = run != NULL && same_path(run, engine->dir); /* it may be copied as a whole */
    free(run);
    config.path = sink->path;
    config.keep = !engine->options->replace;
    config.follow = sink->known;
    config.committed_bytes = sink->known ? sink->committed_bytes : 0;
    config.mark = sink->known && sink->marked ? &sink->mark : NULL;
    return config;
}

/* No row was committed to it, and none is in it: it is as good as new. If it is another file, so
 * that another run may know that one, it gets a new one. */
static bool is_unwritten(const struct engine_sink *sink, const struct place *place)
{
    struct pipe_file_mark now;
    if (sink->committed_bytes != 0)
        return false;
    return !place->there ||
           (S_ISREG(place->about.st_mode) && place->about.st_size == 0 && sink->marked &&
            pipe_file_identify(sink->path, &now) && !pipe_file_is_same(&now, &sink->mark));
}

static bool check_mark(struct pipe_engine *engine, const struct engine_sink *sink)
{
    char error[1024];
    struct pipe_output_config config = config_of(engine, sink);
    return pipe_output_is_known(&config, error, sizeof error) ||
           engine_fail(engine, PIPE_EXIT_STATE, "sink %s: %s", sink->def->name, error);
}

static bool check_known(struct pipe_engine *engine, struct engine_sink *sink,
                        const struct place *place, const char *before)
{
    if (is_unwritten(sink, place)) {
        sink->known = false;
        return check_new(engine, sink, place);
    }
    if (before != NULL && !check_moved(engine, sink, place, before))
        return false;
    if (!place->there)
        return engine_fail(engine, PIPE_EXIT_STATE,
                           "sink %s: %s is gone, but %lld bytes were committed to it; put it back, "
                           "or begin again in another directory than %s",
                           sink->def->name, sink->path, (long long)sink->committed_bytes,
                           engine->dir);
    if (!S_ISREG(place->about.st_mode)) /* refused when it is opened */
        return true;
    if (place->about.st_size >= sink->committed_bytes)
        return check_mark(engine, sink);
    return engine_fail(engine, PIPE_EXIT_STATE,
                       "sink %s: %s is %lld bytes long, but %lld bytes were committed: somebody "
                       "cut it; put it back, or begin again in another directory than %s",
                       sink->def->name, sink->path, (long long)place->about.st_size,
                       (long long)sink->committed_bytes, engine->dir);
}

bool engine_check_outputs(struct pipe_engine *engine)
{
    bool ok = true;
    for (uint32_t i = 0; ok && i < engine->plan->sink_count; i++) {
        struct engine_sink *sink = &engine->sinks[i];
        char *before = NULL;
        if (!is_file_sink(engine, sink))
            continue;
        sink->path = engine_output_path(engine, sink->def);
        struct place place = find_place(sink->path);
        ok = check_place(engine, sink, &place) && read_committed(engine, sink, &before) &&
             (sink->known ? check_known(engine, sink, &place, before)
                          : check_new(engine, sink, &place));
        free(before);
        free(place.real);
    }
    return ok;
}

/* ---- Opening ---- */

static long long uncommitted_bytes(const struct engine_sink *sink)
{
    struct stat about;
    bool more = sink->known && sink->path != NULL && stat(sink->path, &about) == 0 &&
                S_ISREG(about.st_mode) && about.st_size > sink->committed_bytes;
    return more ? (long long)about.st_size - sink->committed_bytes : 0;
}

/* What an earlier process wrote behind its last commit is about to be cut off. */
static void tell_uncommitted(const struct engine_sink *sink)
{
    long long bytes = uncommitted_bytes(sink);
    if (bytes > 0)
        pipe_message(PIPE_INFO, "cut back to the last commit", "sink=%s bytes=%lld",
                     sink->def->name, bytes);
}

/* Of a run that had committed its last row before no process of it wrote behind that. */
static bool check_uncommitted(struct pipe_engine *engine, const struct engine_sink *sink)
{
    long long bytes = uncommitted_bytes(sink);
    return bytes == 0 ||
           engine_fail(engine, PIPE_EXIT_STATE,
                       "sink %s: %s has %lld bytes behind the %lld that were committed, and this "
                       "run is at its end, so they are somebody else's; take them out of it "
                       "(truncate -s %lld %s), or begin again in another directory than %s",
                       sink->def->name, sink->path, bytes, (long long)sink->committed_bytes,
                       (long long)sink->committed_bytes, sink->path, engine->dir);
}

void engine_encode_output(struct pipe_engine *engine, const struct engine_sink *sink,
                          int64_t length_bytes)
{
    engine->scratch.size = 0;
    pipe_avro_put_long(&engine->scratch, length_bytes);
    if (sink->path == NULL)
        return;
    /* For reconcile, which is not told of --path. */
    pipe_avro_put_bytes(&engine->scratch, pipe_str_of(sink->path, strlen(sink->path)));
    pipe_file_put_mark(&engine->scratch, &sink->output->mark);
}

/* A new file is in the log, with no byte, before it has one: so that a run killed in its first
 * commit knows its own file. So is a copy that has taken the file's place. */
static bool claim_output(struct pipe_engine *engine, const struct engine_sink *sink, bool *claimed)
{
    char name[256];
    if (sink->path == NULL ||
        (sink->known && (!sink->marked || pipe_file_is_same(&sink->mark, &sink->output->mark))))
        return true;
    snprintf(name, sizeof name, "output/%s", sink->def->name);
    engine_encode_output(engine, sink, sink->output->committed_bytes);
    *claimed = true;
    return engine->log->ops->put(engine->log, name, engine->scratch.data, engine->scratch.size) ||
           engine_log_failed(engine);
}

static bool open_output(struct pipe_engine *engine, struct engine_sink *sink)
{
    struct pipe_output_config config = config_of(engine, sink);
    char error[1024];
    sink->output = pipe_output_open(&config, error, sizeof error);
    return sink->output != NULL ||
           engine_fail(engine, PIPE_EXIT_DATA, "sink %s: %s", sink->def->name, error);
}

static bool begin_output(struct pipe_engine *engine, struct engine_sink *sink, bool *claimed)
{
    tell_uncommitted(sink);
    if (!pipe_output_begin(sink->output))
        return engine_fail(engine, PIPE_EXIT_DATA, "sink %s: %s", sink->def->name,
                           sink->output->error);
    return claim_output(engine, sink, claimed);
}

/* All are held before one is cut or replaced: a run that is refused has changed none. */
bool engine_open_outputs(struct pipe_engine *engine, bool is_over)
{
    bool claimed = false;
    for (uint32_t i = 0; i < engine->plan->sink_count; i++) {
        struct engine_sink *sink = &engine->sinks[i];
        if (has_output(engine, sink) && !open_output(engine, sink))
            return false;
        if (is_over && !check_uncommitted(engine, sink))
            return false;
    }
    for (uint32_t i = 0; i < engine->plan->sink_count; i++) {
        struct engine_sink *sink = &engine->sinks[i];
        if (has_output(engine, sink) && !begin_output(engine, sink, &claimed))
            return false;
    }
    return !claimed || engine->log->ops->commit(engine->log) == PIPE_LOG_COMMITTED ||
           engine_log_failed(engine);
}
