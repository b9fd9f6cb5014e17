/* native_files.c: see native_files.h. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "native_files.h"
#include "regular_file.h"

#define READ_BYTES (256u << 10)
#define ENDING ".native"

char *pipe_native_directory(const char *dir, const char *sink)
{
    size_t size = strlen(dir) + strlen(sink) + sizeof "/tables/";
    char *path = pipe_malloc(size);
    snprintf(path, size, "%s/tables/%s", dir, sink);
    return path;
}

/* ---- Names ---- */

void pipe_native_file_name(struct pipe_native_file *file)
{
    snprintf(file->name, sizeof file->name, "%05d-%019" PRId64 "-%019" PRId64 ENDING,
             file->partition, file->first, file->last);
}

static bool parse_name(const char *name, struct pipe_native_file *file)
{
    const char *dash = strchr(name, '-'), *second = dash != NULL ? strchr(dash + 1, '-') : NULL;
    const char *dot = second != NULL ? strchr(second, '.') : NULL;
    char canonical[sizeof file->name];
    if (dot == NULL || strlen(name) >= sizeof file->name ||
        !pipe_i32_read(pipe_str_of(name, (size_t)(dash - name)), false, &file->partition) ||
        !pipe_i64_read(pipe_str_of(dash + 1, (size_t)(second - dash - 1)), false, &file->first) ||
        !pipe_i64_read(pipe_str_of(second + 1, (size_t)(dot - second - 1)), false, &file->last) ||
        file->partition < 0 || file->first < 0 || file->last < file->first)
        return false;
    pipe_native_file_name(file);
    snprintf(canonical, sizeof canonical, "%s", name);
    return strcmp(canonical, file->name) == 0;
}

static int by_range(const void *a, const void *b)
{
    const struct pipe_native_file *x = a, *y = b;
    if (x->partition != y->partition)
        return x->partition < y->partition ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

static bool check_overlaps(const char *directory, const struct pipe_native_file *files,
                           uint32_t count, char *error, size_t error_bytes)
{
    for (uint32_t i = 1; i < count; i++) {
        if (files[i].partition != files[i - 1].partition || files[i].first > files[i - 1].last)
            continue;
        return pipe_refuse(
            error, error_bytes,
            "%s: %s and %s have rows of the same positions; one of them is not of this run",
            directory, files[i - 1].name, files[i].name);
    }
    return true;
}

static bool add_names(DIR *listing, const char *directory, struct pipe_native_file **files,
                      uint32_t *count, char *error, size_t error_bytes)
{
    struct pipe_native_file file;
    struct dirent *entry;
    uint32_t capacity = 0;
    while (errno = 0, (entry = readdir(listing)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        if (!parse_name(entry->d_name, &file)) {
            pipe_refuse(error, error_bytes,
                        "%s/%.200s is no file of a table; move it to another directory", directory,
                        entry->d_name);
            errno = 0;
            return false;
        }
        if (*count == capacity) {
            capacity = capacity == 0 ? 64 : capacity * 2;
            *files = pipe_realloc(*files, capacity * sizeof file);
        }
        (*files)[(*count)++] = file;
    }
    if (errno != 0)
        pipe_refuse(error, error_bytes, "%s can't be listed: %s", directory, strerror(errno));
    return errno == 0;
}

bool pipe_native_list(const char *directory, struct pipe_native_file **files, uint32_t *count,
                      char *error, size_t error_bytes)
{
    *files = NULL;
    *count = 0;
    DIR *listing = opendir(directory);
    if (listing == NULL && errno == ENOENT)
        return true;
    if (listing == NULL)
        return pipe_refuse(error, error_bytes, "%s can't be listed: %s", directory,
                           strerror(errno));
    bool ok = add_names(listing, directory, files, count, error, error_bytes);
    int cause = errno;
    closedir(listing);
    if (*count > 0)
        qsort(*files, *count, sizeof **files, by_range);
    if (ok && check_overlaps(directory, *files, *count, error, error_bytes))
        return true;
    free(*files);
    *files = NULL;
    *count = 0;
    errno = ok ? 0 : cause;
    return false;
}

/* ---- Rows ---- */

struct ranged {
    const struct pipe_native_file *file;
    bool (*each)(void *context, struct pipe_str json, int32_t partition, int64_t offset);
    void *context;
    int64_t next; /* offset; rows ascend */
    bool beyond;
};

static bool take_row(void *context, struct pipe_str json, int32_t partition, int64_t offset)
{
    struct ranged *ranged = context;
    const struct pipe_native_file *file = ranged->file;
    ranged->beyond = partition != file->partition || offset < ranged->next || offset > file->last;
    ranged->next = offset + !ranged->beyond;
    return !ranged->beyond && ranged->each(ranged->context, json, partition, offset);
}

static bool read_pieces(FILE *from, struct pipe_native_reader *reader, struct ranged *ranged,
                        int *cause, char *error, size_t error_bytes)
{
    char *piece = pipe_malloc(READ_BYTES);
    size_t got;
    bool ok = true;
    error[0] = '\0';
    while (ok && (got = fread(piece, 1, READ_BYTES, from)) > 0)
        ok =
            pipe_native_take(reader, pipe_str_of(piece, got), take_row, ranged, error, error_bytes);
    free(piece);
    if (ok && ferror(from)) {
        *cause = errno;
        pipe_refuse(error, error_bytes, "can't be read: %s", strerror(*cause));
        ok = false;
    } else if (ok && !pipe_native_ends(reader)) {
        pipe_refuse(error, error_bytes, "ends within a block");
        ok = false;
    } else if (!ok && ranged->beyond) {
        pipe_refuse(error, error_bytes, "has a row at %" PRId64 ", which its name does not say",
                    ranged->next);
    }
    return ok;
}

bool pipe_native_read_file(const char *directory, const struct pipe_native_file *file,
                           struct pipe_native_reader *reader,
                           bool (*each)(void *context, struct pipe_str json, int32_t partition,
                                        int64_t offset),
                           void *context, char *error, size_t error_bytes)
{
    struct ranged ranged = {.file = file, .each = each, .context = context, .next = file->first};
    char path[4400], text[400];
    int cause = 0;
    snprintf(path, sizeof path, "%s/%s", directory, file->name);
    FILE *from = pipe_fopen_regular(path);
    if (from == NULL)
        return pipe_refuse(error, error_bytes, "%s can't be opened: %s", path,
                           pipe_regular_reason(errno));
    bool ok = read_pieces(from, reader, &ranged, &cause, text, sizeof text);
    fclose(from);
    if (!ok && text[0] != '\0')
        pipe_refuse(error, error_bytes, "%s: %s", path, text);
    else if (!ok)
        error[0] = '\0'; /* `each` said so */
    errno = cause;
    return ok;
}
