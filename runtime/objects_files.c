/*
 * objects_files.c: objects.h over a directory: an object is a file. It is written beside its name,
 * synced and renamed. The directory itself is never made: where it is a mount that is missing, the
 * disk below must not be filled in its place.
 */
#include "objects.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "system_calls.h"
#include "value.h"

#define SCHEME "file://"
#define SLICE_BYTES (1u << 20)
#define PATH_BYTES 4096
#define DEPTH_MAX 8

struct files {
    struct pipe_objects objects; /* first */
    char root[PATH_BYTES / 2];
    uint64_t serial; /* of names while they are written */
    uint8_t *slice;
};

static struct files *of(struct pipe_objects *objects)
{
    return (struct files *)objects;
}

static bool fail(struct files *files, const char *path, const char *what, int cause)
{
    snprintf(files->objects.error, sizeof files->objects.error, "%.300s %s: %s", path, what,
             strerror(cause));
    return false;
}

const char *pipe_objects_check(const char *url)
{
    if (strncmp(url, "s3://", 5) == 0)
        return "object stores are not supported yet; expected file:///DIR, a directory that all "
               "processes of the group have mounted";
    if (strncmp(url, SCHEME "/", sizeof SCHEME) != 0 || url[sizeof SCHEME] == '\0')
        return "expected file:///DIR, the path being absolute";
    return strlen(url) < PATH_BYTES / 2 ? NULL : "the path is too long";
}

/* ---- Writing ---- */

/* The directories of a name, below the root. */
static bool make_parents(struct files *files, char *path)
{
    for (char *at = path + strlen(files->root) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        int status = mkdir(path, 0777);
        int cause = errno;
        *at = '/';
        if (status != 0 && cause != EEXIST)
            return fail(files, path, "can't be made", cause);
    }
    return true;
}

static bool write_all(int fd, const uint8_t *bytes, size_t size)
{
    while (size > 0) {
        ssize_t done = write(fd, bytes, size);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return false;
        bytes += done;
        size -= (size_t)done;
    }
    return true;
}

/* 0, or errno; ECANCELED: `turn` said so, EFBIG: more than most_bytes. */
static int copy(struct files *files, int from, int to, uint64_t most_bytes,
                const struct pipe_objects_turn *turn)
{
    for (uint64_t total = 0;;) {
        ssize_t got = read(from, files->slice, SLICE_BYTES);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return errno;
        if (got == 0)
            return pipe_fdatasync(to) == 0 ? 0 : errno;
        total += (uint64_t)got;
        if (total > most_bytes)
            return EFBIG;
        if (!write_all(to, files->slice, (size_t)got))
            return errno;
        if (!turn->go_on(turn->context, total))
            return ECANCELED;
    }
}

static int copy_to(struct files *files, const char *from_path, const char *to_path,
                   uint64_t most_bytes, const struct pipe_objects_turn *turn)
{
    int from = open(from_path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (from < 0)
        return errno;
    int to = open(to_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    int cause = to < 0 ? errno : copy(files, from, to, most_bytes, turn);
    close(from);
    if (to >= 0 && close(to) != 0 && cause == 0)
        cause = errno;
    if (cause != 0 && to >= 0)
        unlink(to_path);
    return cause;
}

/* The name is durable as the bytes are. */
static int sync_directory(char *path)
{
    char *slash = strrchr(path, '/');
    *slash = '\0';
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *slash = '/';
    if (fd < 0)
        return errno;
    int cause = pipe_fsync(fd) == 0 ? 0 : errno;
    close(fd);
    return cause;
}

static bool files_put(struct pipe_objects *objects, const char *name, const char *path,
                      const struct pipe_objects_turn *turn)
{
    struct files *files = of(objects);
    char to[PATH_BYTES], temporary[PATH_BYTES + 64];
    snprintf(to, sizeof to, "%s/%.1900s", files->root, name);
    const char *base = strrchr(to, '/') + 1;
    snprintf(temporary, sizeof temporary, "%.*s.%ld-%llu.partial", (int)(base - to), to,
             (long)getpid(), (unsigned long long)++files->serial);
    struct stat about;
    if (stat(files->root, &about) != 0)
        return fail(files, files->root, "can't be used", errno);
    if (!make_parents(files, to))
        return false;
    int cause = copy_to(files, path, temporary, UINT64_MAX, turn);
    if (cause != 0)
        return fail(files, to, "can't be written", cause);
    if (rename(temporary, to) != 0) {
        cause = errno;
        unlink(temporary);
        return fail(files, to, "can't be written", cause);
    }
    cause = sync_directory(to);
    return cause == 0 || fail(files, to, "can't be synced", cause);
}

/* ---- Reading ---- */

static bool files_get(struct pipe_objects *objects, const char *name, const char *path,
                      uint64_t most_bytes, const struct pipe_objects_turn *turn)
{
    struct files *files = of(objects);
    char from[PATH_BYTES];
    snprintf(from, sizeof from, "%s/%.1900s", files->root, name);
    int cause = copy_to(files, from, path, most_bytes, turn);
    return cause == 0 || fail(files, from, "can't be copied", cause);
}

struct walk {
    struct files *files;
    bool (*each)(void *context, const struct pipe_object *object);
    void *context;
    bool ended; /* `each` said so */
};

static bool walk(struct walk *walk, char *path, unsigned depth);

static bool visit(struct walk *in, char *path, const char *base, unsigned depth)
{
    struct stat about;
    size_t size = strlen(path);
    if (size + strlen(base) + 2 > PATH_BYTES)
        return fail(in->files, path, "can't be listed", ENAMETOOLONG);
    snprintf(path + size, PATH_BYTES - size, "/%s", base);
    bool ok = lstat(path, &about) == 0 || errno == ENOENT; /* deleted meanwhile */
    if (!ok) {
        fail(in->files, path, "can't be examined", errno);
    } else if (S_ISDIR(about.st_mode) && depth < DEPTH_MAX) {
        ok = walk(in, path, depth + 1);
    } else if (S_ISREG(about.st_mode)) {
        struct pipe_object object = {.name = path + strlen(in->files->root) + 1,
                                     .size_bytes = (uint64_t)about.st_size,
                                     .modified_ms = (int64_t)about.st_mtim.tv_sec * 1000 +
                                                    about.st_mtim.tv_nsec / 1000000};
        in->ended = !in->each(in->context, &object);
    }
    path[size] = '\0';
    return ok;
}

static bool walk(struct walk *in, char *path, unsigned depth)
{
    DIR *dir = opendir(path);
    if (dir == NULL)
        return (errno == ENOENT && depth > 0) || fail(in->files, path, "can't be listed", errno);
    bool ok = true;
    struct dirent *entry;
    for (errno = 0; ok && !in->ended && (entry = readdir(dir)) != NULL; errno = 0) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            ok = visit(in, path, entry->d_name, depth);
    }
    if (ok && !in->ended && errno != 0)
        ok = fail(in->files, path, "can't be listed", errno);
    closedir(dir);
    return ok;
}

static bool files_list(struct pipe_objects *objects, const char *prefix,
                       bool (*each)(void *context, const struct pipe_object *object), void *context)
{
    struct walk in = {of(objects), each, context, false};
    char path[PATH_BYTES];
    struct stat about;
    if (stat(in.files->root, &about) != 0)
        return fail(in.files, in.files->root, "can't be used", errno);
    snprintf(path, sizeof path, "%s/%.1900s", in.files->root, prefix);
    return walk(&in, path, 1);
}

static bool files_remove(struct pipe_objects *objects, const char *name)
{
    struct files *files = of(objects);
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%.1900s", files->root, name);
    return unlink(path) == 0 || errno == ENOENT || fail(files, path, "can't be deleted", errno);
}

static void files_close(struct pipe_objects *objects)
{
    free(of(objects)->slice);
    free(objects);
}

struct pipe_objects *pipe_objects_open(const char *url)
{
    static const struct pipe_objects_ops ops = {files_put, files_get, files_list, files_remove,
                                                files_close};
    struct files *files = pipe_calloc(1, sizeof *files);
    files->objects.ops = &ops;
    files->slice = pipe_malloc(SLICE_BYTES);
    snprintf(files->root, sizeof files->root, "%s", url + strlen(SCHEME));
    for (size_t size = strlen(files->root); size > 1 && files->root[size - 1] == '/'; size--)
        files->root[size - 1] = '\0';
    return &files->objects;
}
