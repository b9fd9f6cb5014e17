/* inspect_table.c: `NAME inspect DIR table SINK`: the rows in the files of a table. The log is not
 * looked at: any directory with such files will do, also while they become more. */
#include <stdlib.h>

#include "inspect.h"
#include "native_files.h"

static const struct pipe_sink_def *find_sink(const struct pipe_plan *plan, const char *name)
{
    const char *names[256];
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
    fputc('\n', stderr);
    return NULL;
}

struct printing {
    int64_t from, left;
};

static bool print_row(void *context, struct pipe_str json, int32_t partition, int64_t offset)
{
    struct printing *printing = context;
    (void)partition;
    if (offset < printing->from)
        return true;
    fwrite(json.data, 1, json.size, stdout);
    fputc('\n', stdout);
    return --printing->left > 0;
}

static bool print_files(const struct pipe_sink_def *sink, const char *directory,
                        const struct pipe_inspect_options *options, char *error, size_t error_bytes)
{
    struct printing printing = {options->from, options->limit};
    struct pipe_native_file *files;
    uint32_t count;
    bool ok = pipe_native_list(directory, &files, &count, error, error_bytes);
    for (uint32_t i = 0; ok && printing.left > 0 && i < count; i++) {
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

bool inspect_table(const struct pipe_plan *plan, const struct pipe_inspect_options *options)
{
    const struct pipe_sink_def *sink = find_sink(plan, options->topic);
    char error[5000] = "";
    if (sink == NULL)
        return false;
    char *directory = pipe_native_directory(options->dir, sink->name);
    bool ok = print_files(sink, directory, options, error, sizeof error);
    if (!ok)
        fprintf(stderr, "%s inspect: %s\n", plan->name, error);
    free(directory);
    return ok;
}
