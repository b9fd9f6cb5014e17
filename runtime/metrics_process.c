/*
 * metrics_process.c: process_…, from /proc, under the names that all exporters give them.
 */
#include <dirent.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "metrics_internal.h"
#include "process.h"

/* The first bytes of a file of /proc; "" if it can't be read. */
static void read_file(const char *path, char *to, size_t to_bytes)
{
    FILE *file = fopen(path, "re");
    size_t size = file != NULL ? fread(to, 1, to_bytes - 1, file) : 0;
    to[size] = '\0';
    if (file != NULL)
        fclose(file);
}

/* Seconds since 1970: the machine's start and the process's after it. */
static double start_seconds(void)
{
    char text[8192];
    unsigned long long ticks = 0, boot = 0;
    read_file("/proc/self/stat", text, sizeof text);
    const char *at = strrchr(text, ')'); /* the name may hold anything */
    for (int field = 2; at != NULL && field < 22; field++)
        at = strchr(at + 1, ' ');
    if (at != NULL)
        ticks = strtoull(at, NULL, 10);
    FILE *file = fopen("/proc/stat", "re");
    while (file != NULL && boot == 0 && fgets(text, sizeof text, file) != NULL)
        sscanf(text, "btime %llu", &boot);
    if (file != NULL)
        fclose(file);
    return (double)boot + (double)ticks / (double)sysconf(_SC_CLK_TCK);
}

static uint64_t open_descriptors(void)
{
    uint64_t count = 0;
    DIR *directory = opendir("/proc/self/fd");
    for (const struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;)
        count += entry->d_name[0] != '.';
    if (directory != NULL)
        closedir(directory);
    return count > 0 ? count - 1 : 0; /* without that of the directory */
}

void metrics_render_process(struct metrics_text *text)
{
    char statm[128];
    unsigned long long size = 0, resident = 0, page = (unsigned long long)sysconf(_SC_PAGESIZE);
    struct rlimit limit = {0};
    read_file("/proc/self/statm", statm, sizeof statm);
    sscanf(statm, "%llu %llu", &size, &resident);
    getrlimit(RLIMIT_NOFILE, &limit);
    text->pipeline = NULL;
    metrics_family(text, METRIC_CPU);
    metrics_double(text, pipe_process_cpu_seconds(), NULL);
    metrics_family(text, METRIC_RESIDENT);
    metrics_u64(text, resident * page, NULL);
    metrics_family(text, METRIC_VIRTUAL);
    metrics_u64(text, size * page, NULL);
    metrics_family(text, METRIC_OPEN_FDS);
    metrics_u64(text, open_descriptors(), NULL);
    metrics_family(text, METRIC_MAX_FDS);
    metrics_u64(text, limit.rlim_cur, NULL);
    metrics_family(text, METRIC_START_TIME);
    metrics_double(text, start_seconds(), NULL);
}
