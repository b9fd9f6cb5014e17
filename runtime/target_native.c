/*
 * target_native.c: tables without a server (follower.h, decision 0014): each range becomes one file
 * in DIR/tables/SINK (native_files.h). It gets its name when all of it is on disk, so a name that
 * is there is a range that is done; what a crash left without a name is removed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "follower.h"
#include "native_files.h"
#include "system_calls.h"

#define DIRECT_BYTES (256u << 10) /* a file from here on bypasses the page cache */

struct greatest {
    int32_t partition;
    int64_t last;
    int64_t gap; /* the first offset that no file has, with files behind it; -1: none */
};

/* The directory of one sink. */
struct place {
    char *directory;
    bool ready;
    struct greatest *greatest; /* offset of each partition that has files */
    uint32_t partition_count;
};

struct native_target {
    struct pipe_table_target target; /* first */
    const struct pipe_plan *plan;
    char *dir;
    struct place *places; /* by sink */
};

struct pipe_table_request {
    enum pipe_table_outcome outcome;
    char error[700];
};

static struct native_target *target_of(struct pipe_table_target *target)
{
    return (struct native_target *)target;
}

static struct greatest *part_of(struct place *place, int32_t partition)
{
    for (uint32_t i = 0; i < place->partition_count; i++) {
        if (place->greatest[i].partition == partition)
            return &place->greatest[i];
    }
    place->greatest =
        pipe_realloc(place->greatest, (place->partition_count + 1) * sizeof *place->greatest);
    place->greatest[place->partition_count] = (struct greatest){partition, -1, -1};
    return &place->greatest[place->partition_count++];
}

static int64_t *greatest_of(struct place *place, int32_t partition)
{
    return &part_of(place, partition)->last;
}

/* ---- The directory ---- */

static bool sync_directory(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool ok = fd >= 0 && (pipe_fsync(fd) == 0 || errno == EINVAL);
    int cause = errno;
    if (fd >= 0)
        close(fd);
    errno = cause;
    return ok;
}

static bool make_directories(struct native_target *target, const struct place *place)
{
    char tables[4200];
    snprintf(tables, sizeof tables, "%s/tables", target->dir);
    return (mkdir(tables, 0777) == 0 ? sync_directory(target->dir) : errno == EEXIST) &&
           (mkdir(place->directory, 0777) == 0 ? sync_directory(tables) : errno == EEXIST);
}

/* What was being written when a process ended. */
static bool remove_unfinished(const struct place *place)
{
    struct dirent *entry;
    char path[4500];
    DIR *listing = opendir(place->directory);
    bool ok = listing != NULL;
    while (ok && (entry = readdir(listing)) != NULL) {
        size_t size = strlen(entry->d_name);
        if (entry->d_name[0] != '.' || size < 6 || strcmp(entry->d_name + size - 5, ".part") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", place->directory, entry->d_name);
        ok = unlink(path) == 0;
    }
    int cause = errno;
    if (listing != NULL)
        closedir(listing);
    errno = cause;
    return ok;
}

/* A disk that is full or broken is nothing to wait for: the run's own log is on it. */
static enum pipe_table_outcome tell(int cause, const char *path, char *error, size_t error_bytes)
{
    bool full = cause == ENOSPC || cause == EDQUOT || cause == EFBIG;
    bool passes = cause == EMFILE || cause == ENFILE || cause == ENOMEM || cause == EINTR;
    if (path != NULL)
        snprintf(error, error_bytes, "%s: %s%s", path, strerror(cause),
                 full ? "; make room and start again" : "");
    return passes ? PIPE_TABLE_AGAIN : PIPE_TABLE_BROKEN;
}

static enum pipe_table_outcome check(struct pipe_table_target *base, uint32_t sink, char *error,
                                     size_t error_bytes)
{
    struct native_target *target = target_of(base);
    struct place *place = &target->places[sink];
    struct pipe_native_file *files;
    uint32_t count;
    if (place->ready)
        return PIPE_TABLE_DONE;
    if (place->directory == NULL)
        place->directory = pipe_native_directory(target->dir, target->plan->sinks[sink].name);
    if (!make_directories(target, place) || !remove_unfinished(place))
        return tell(errno, place->directory, error, error_bytes);
    if (!pipe_native_list(place->directory, &files, &count, error, error_bytes))
        return tell(errno, NULL, error, error_bytes);
    place->partition_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct greatest *part = part_of(place, files[i].partition);
        if (part->gap < 0 && files[i].first > part->last + 1)
            part->gap = part->last + 1;
        part->last = files[i].last;
    }
    free(files);
    place->ready = true;
    return PIPE_TABLE_DONE;
}

static enum pipe_table_outcome holds(struct pipe_table_target *base, uint32_t sink,
                                     int32_t partition, int64_t offset, bool *any, char *error,
                                     size_t error_bytes)
{
    enum pipe_table_outcome outcome = check(base, sink, error, error_bytes);
    if (outcome == PIPE_TABLE_DONE)
        *any = *greatest_of(&target_of(base)->places[sink], partition) >= offset;
    return outcome;
}

/* Every record of the log is a row, and the log begins with offset 0: files leave no offset out. */
static bool keeps(struct pipe_table_target *base, uint32_t sink, int32_t partition, int64_t mark,
                  char *error, size_t error_bytes)
{
    struct place *place = &target_of(base)->places[sink];
    if (check(base, sink, error, error_bytes) != PIPE_TABLE_DONE)
        return true; /* attempts will tell */
    const struct greatest *part = part_of(place, partition);
    int64_t from = part->gap >= 0 ? part->gap : part->last + 1;
    if (from >= mark)
        return true;
    snprintf(error, error_bytes,
             "%s: files of partition %d are gone: the rows from offset %" PRId64
             " on, of those before %" PRId64 " that this run has brought there; put them back, or "
             "run in another directory",
             place->directory, partition, from, mark);
    return false;
}

/* ---- Writing ---- */

/* The pages of the block that were written past the page cache: all, or what the file system takes
 * that way. */
static size_t write_direct(const char *path, struct pipe_str block)
{
    if (block.size < DIRECT_BYTES || (uintptr_t)block.data % PIPE_PAGE_BYTES != 0)
        return 0;
    int fd = open(path, O_WRONLY | O_DIRECT | O_CLOEXEC);
    if (fd < 0)
        return 0;
    size_t done = pipe_pwrite_pages(fd, block.data, block.size, 0);
    close(fd);
    return done;
}

/* 0, or errno; what was begun is removed. */
static int write_file(const struct place *place, const struct pipe_native_file *file,
                      struct pipe_str block)
{
    char hidden[4400], path[4400];
    snprintf(hidden, sizeof hidden, "%s/.%s.part", place->directory, file->name);
    snprintf(path, sizeof path, "%s/%s", place->directory, file->name);
    int fd = open(hidden, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return errno;
    size_t done = write_direct(hidden, block);
    int cause = pipe_pwrite_all(fd, block.data + done, block.size - done, (off_t)done) &&
                        pipe_fsync(fd) == 0
                    ? 0
                    : errno;
    if (close(fd) != 0 && cause == 0)
        cause = errno;
    if (cause == 0 && rename(hidden, path) != 0)
        cause = errno;
    if (cause != 0)
        unlink(hidden);
    else if (!sync_directory(place->directory))
        cause = errno;
    return cause;
}

/* Also of a part of a batch. */
static void add_file(struct place *place, int32_t partition, int64_t first, int64_t last,
                     struct pipe_str block, struct pipe_table_request *request)
{
    struct pipe_native_file file = {partition, first, last, ""};
    char path[4400];
    pipe_native_file_name(&file);
    int cause = write_file(place, &file, block);
    if (cause == 0) {
        *greatest_of(place, partition) = last;
        return;
    }
    place->ready = false; /* what is there is looked at again: it may have got its name */
    place->partition_count = 0;
    snprintf(path, sizeof path, "%s/%s", place->directory, file.name);
    request->outcome = tell(cause, path, request->error, sizeof request->error);
}

/* ---- Rows that are there already ---- */

/* Rows in their order, in one number. */
struct content {
    uint64_t hash[2];
    uint64_t rows;
    int64_t first, last; /* offsets that count; those behind are added to `rest` */
    struct pipe_native_writer *rest;
    char *error;
    size_t error_bytes;
};

static bool add_content(void *context, struct pipe_str json, int32_t partition, int64_t offset)
{
    struct content *content = context;
    uint64_t parts[6] = {content->hash[0], content->hash[1], (uint64_t)partition, (uint64_t)offset};
    if (offset > content->last && content->rest != NULL)
        return pipe_native_add(content->rest, json, partition, offset, content->error,
                               content->error_bytes);
    if (offset < content->first || offset > content->last)
        return true;
    pipe_hash128(json.data, json.size, 0, parts + 4);
    pipe_hash128(parts, sizeof parts, 0, content->hash);
    content->rows++;
    return true;
}

/* The rows of files from content->first to content->last. */
static bool add_files(const struct native_target *target, const struct pipe_table_batch *batch,
                      struct content *content)
{
    const struct pipe_sink_def *sink = &target->plan->sinks[batch->sink];
    const char *directory = target->places[batch->sink].directory;
    struct pipe_native_file *files;
    uint32_t count;
    bool ok = pipe_native_list(directory, &files, &count, content->error, content->error_bytes);
    struct pipe_native_reader *reader = pipe_native_reader_new(sink->table, sink->row);
    for (uint32_t i = 0; ok && i < count; i++) {
        if (files[i].partition == batch->ranges[0].partition && files[i].last >= content->first &&
            files[i].first <= content->last)
            ok = pipe_native_read_file(directory, &files[i], reader, add_content, content,
                                       content->error, content->error_bytes);
    }
    int cause = errno;
    pipe_native_reader_free(reader);
    free(files);
    errno = cause;
    return ok;
}

/* Some or all rows of the batch may be in files, cut in the same way or otherwise; the same rows,
 * however they are encoded. Adds the rest. */
static void add_missing(struct native_target *target, const struct pipe_table_batch *batch,
                        struct pipe_table_request *request)
{
    const struct pipe_sink_def *sink = &target->plan->sinks[batch->sink];
    struct place *place = &target->places[batch->sink];
    const struct pipe_table_range *range = &batch->ranges[0];
    int64_t end = *greatest_of(place, range->partition);
    struct content there = {.first = range->first,
                            .last = end < range->last ? end : range->last,
                            .error = request->error,
                            .error_bytes = sizeof request->error};
    struct content ours = there;
    struct pipe_native_reader *reader = pipe_native_reader_new(sink->table, sink->row);
    ours.rest = pipe_native_writer_new(sink->table, sink->row);
    bool ok = add_files(target, batch, &there);
    int cause = ok ? 0 : errno;
    ok = ok && pipe_native_take(reader, batch->block, add_content, &ours, request->error,
                                sizeof request->error);
    if (ok && (there.rows != ours.rows || memcmp(there.hash, ours.hash, sizeof ours.hash) != 0)) {
        snprintf(request->error, sizeof request->error,
                 "%s: the files of partition %d have other rows from %" PRId64 " to %" PRId64
                 " (%" PRIu64 ") than the topic (%" PRIu64 "): they are not of this run, or some "
                 "were moved",
                 place->directory, range->partition, there.first, there.last, there.rows,
                 ours.rows);
        ok = false;
    }
    struct pipe_buf block = {0};
    if (!ok) {
        request->outcome = tell(cause, NULL, request->error, sizeof request->error);
    } else if (pipe_native_rows(ours.rest) == 0) { /* its name may not be on disk yet */
        cause = sync_directory(place->directory) ? 0 : errno;
        if (cause != 0)
            request->outcome = tell(cause, place->directory, request->error, sizeof request->error);
    } else {
        pipe_native_finish(ours.rest, &block);
        add_file(place, range->partition, end + 1, range->last, pipe_str_of(block.data, block.size),
                 request);
    }
    pipe_buf_free(&block);
    pipe_native_writer_free(ours.rest);
    pipe_native_reader_free(reader);
}

/* ---- The target ---- */

static struct pipe_table_request *begin(struct pipe_table_target *base,
                                        const struct pipe_table_batch *batch)
{
    struct native_target *target = target_of(base);
    struct pipe_table_request *request = pipe_calloc(1, sizeof *request);
    struct place *place = &target->places[batch->sink];
    const struct pipe_table_range *range = &batch->ranges[0];
    request->outcome = check(base, batch->sink, request->error, sizeof request->error);
    if (request->outcome == PIPE_TABLE_DONE &&
        range->first <= *greatest_of(place, range->partition))
        add_missing(target, batch, request);
    else if (request->outcome == PIPE_TABLE_DONE)
        add_file(place, range->partition, range->first, range->last, batch->block, request);
    return request;
}

static enum pipe_table_outcome look(struct pipe_table_request *request, const char **error)
{
    *error = request->error;
    return request->outcome;
}

static void end(struct pipe_table_request *request)
{
    free(request);
}

static void poll(struct pipe_table_target *target, int64_t wait_ms)
{
    (void)target, (void)wait_ms; /* whatever is begun is done */
}

static void close_target(struct pipe_table_target *base)
{
    struct native_target *target = target_of(base);
    for (uint32_t i = 0; i < target->plan->sink_count; i++) {
        free(target->places[i].directory);
        free(target->places[i].greatest);
    }
    free(target->places);
    free(target->dir);
    free(target);
}

struct pipe_table_target *pipe_target_native(const struct pipe_plan *plan, const char *dir)
{
    static const struct pipe_table_ops ops = {.check = check,
                                              .holds = holds,
                                              .keeps = keeps,
                                              .begin = begin,
                                              .look = look,
                                              .end = end,
                                              .poll = poll,
                                              .close = close_target};
    struct native_target *target = pipe_calloc(1, sizeof *target);
    target->target.ops = &ops;
    target->target.ranges = 1; /* a file each: a name is one range, and nothing is saved by more */
    target->plan = plan;
    target->dir = pipe_text_dup(dir);
    target->places = pipe_calloc(plan->sink_count + 1, sizeof *target->places);
    return &target->target;
}
