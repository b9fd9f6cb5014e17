/* inspect_table.c: `NAME inspect DIR table SINK …`: the rows in the files of tables. The log is not
 * looked at: any directory with such files will do, also while they become more. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "inspect.h"
#include "native_files.h"

static const struct pipe_sink_def *find_sink(const struct pipe_plan *plan, const char *name)
{
    const char *names[256] = {0};
    size_t count = 0;
    for (uint32_t i = 0; i < plan->sink_count; i++) {
        if (plan->sinks[i].table == NULL)
            continue;
        if (strcmp(plan->sinks[i].name, name) == 0)
            return &plan->sinks[i];
        if (count < 256)
            names[count++] = plan->sinks[i].name;
    }
    const char *nearest = pipe_nearest(name, names, count);
    fprintf(stderr, "%s inspect: there is no ClickHouse sink %s", plan->name, name);
    if (nearest != NULL)
        fprintf(stderr, "; did you mean %s?", nearest);
    for (size_t i = 0; nearest == NULL && i < count; i++)
        fprintf(stderr, "%s%s", i == 0 ? "; there is " : ", ", names[i]);
    fputc('\n', stderr);
    return NULL;
}

bool inspect_is_run(const struct pipe_plan *plan, const char *dir)
{
    char path[4200];
    snprintf(path, sizeof path, "%.4096s/log", dir);
    if (access(path, F_OK) == 0)
        return true;
    fprintf(stderr, "%s inspect: %s is not the directory of a run: %s: %s\n", plan->name, dir, path,
            strerror(errno));
    return false;
}

/* There are no files: why that is no answer, if so. */
static bool explain_none(const struct pipe_plan *plan, const char *dir, const char *directory,
                         const struct pipe_sink_def *sink)
{
    char error[512] = "";
    struct pipe_buf place = {0};
    bool found;
    if (access(directory, F_OK) == 0)
        return true;
    if (!inspect_is_run(plan, dir))
        return false;
    struct pipe_log *log = pipe_log_embedded_open(dir, true, error, sizeof error);
    bool ok = log != NULL && log->ops->get(log, "tables", &place, &found);
    if (!ok) {
        fprintf(stderr, "%s inspect: %s\n", plan->name, log != NULL ? log->error : error);
    } else if (found && pipe_str_equal(pipe_str_of(place.data, place.size), PIPE_STR("server"))) {
        fprintf(stderr, "%s inspect: the rows of %s are on the ClickHouse server, in %s\n",
                plan->name, sink->name, sink->target);
        ok = false;
    }
    if (log != NULL)
        log->ops->close(log);
    pipe_buf_free(&place);
    return ok;
}

struct printing {
    const char *sink; /* the line names it; NULL: it is the row alone */
    int64_t from, left;
};

static bool print_row(void *context, struct pipe_str json, int32_t partition, int64_t offset)
{
    struct printing *printing = context;
    (void)partition;
    if (offset < printing->from)
        return true;
    if (printing->sink != NULL)
        printf("{\"sink\":\"%s\",\"row\":", printing->sink); /* a name: nothing to escape */
    fwrite(json.data, 1, json.size, stdout);
    fputs(printing->sink != NULL ? "}\n" : "\n", stdout);
    return --printing->left > 0 && !ferror(stdout);
}

static bool print_files(const struct pipe_sink_def *sink, const char *directory,
                        const struct pipe_inspect_options *options, uint32_t *count, char *error,
                        size_t error_bytes)
{
    const char *name = options->name_count > 1 ? sink->name : NULL;
    struct printing printing = {name, options->from, options->limit};
    struct pipe_native_file *files;
    bool ok = pipe_native_list(directory, &files, count, error, error_bytes);
    for (uint32_t i = 0; ok && printing.left > 0 && !ferror(stdout) && i < *count; i++) {
        if ((options->partition >= 0 && options->partition != files[i].partition) ||
            files[i].last < options->from)
            continue;
        struct pipe_native_reader *reader = pipe_native_reader_new(sink->table, sink->row);
        ok = pipe_native_read_file(directory, &files[i], reader, print_row, &printing, error,
                                   error_bytes) ||
             error[0] == '\0';
        pipe_native_reader_free(reader);
    }
    free(files);
    return ok;
}

static bool print_table(const struct pipe_plan *plan, const struct pipe_inspect_options *options,
                        const struct pipe_sink_def *sink)
{
    char error[5000] = "";
    char *directory = pipe_native_directory(options->dir, sink->name);
    uint32_t count = 0;
    bool ok = print_files(sink, directory, options, &count, error, sizeof error);
    if (!ok)
        fprintf(stderr, "%s inspect: %s\n", plan->name, error);
    else if (count == 0)
        ok = explain_none(plan, options->dir, directory, sink);
    free(directory);
    return ok;
}

/* Nothing, if one of the sinks is none. */
bool inspect_table(const struct pipe_plan *plan, const struct pipe_inspect_options *options)
{
    bool ok = true;
    for (uint32_t i = 0; ok && i < options->name_count; i++)
        ok = find_sink(plan, options->names[i]) != NULL;
    for (uint32_t i = 0; ok && i < options->name_count; i++)
        ok = print_table(plan, options, find_sink(plan, options->names[i]));
    return ok;
}
