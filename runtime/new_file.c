/* new_file.c: see new_file.h. */
#include "new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "system_calls.h"
#include "value.h"

/* ---- Where it is ---- */

char *pipe_join_path(const char *directory, const char *name)
{
    size_t size = strlen(directory) + strlen(name) + 2;
    char *path = pipe_malloc(size);
    bool root = strcmp(directory, "/") == 0;
    snprintf(path, size, "%s%s%s", directory, root ? "" : "/", name);
    return path;
}

char *pipe_real_path(const char *path)
{
    char *real = realpath(path, NULL);
    const char *slash = strrchr(path, '/');
    if (real != NULL)
        return real;
    if (slash == path || strcmp(path, ".") == 0)
        return pipe_text_dup(path);
    char *parent = slash == NULL ? pipe_text_dup(".") : pipe_text_dup(path);
    if (slash != NULL)
        parent[slash - path] = '\0';
    char *above = pipe_real_path(parent);
    real = pipe_join_path(above, slash == NULL ? path : slash + 1);
    free(above);
    free(parent);
    return real;
}

static bool has(const char *directory, const char *name)
{
    struct stat about;
    char *path = pipe_join_path(directory, name);
    bool there = stat(path, &about) == 0;
    free(path);
    return there;
}

/* As engine.c, log_embedded.c and state_store.c make it. */
static bool is_run_directory(const char *path)
{
    return has(path, "lock") && (has(path, "log/CURRENT") || has(path, "state/CURRENT"));
}

char *pipe_run_directory_of(const char *path)
{
    char *directory = pipe_real_path(path);
    for (char *slash = strrchr(directory, '/'); slash != NULL && slash > directory;
         slash = strrchr(directory, '/')) {
        *slash = '\0';
        if (is_run_directory(directory))
            return directory;
    }
    free(directory);
    return NULL;
}

/* ---- Making it ---- */

bool pipe_may_make_file(const char *option, const char *path, bool replace, char *error,
                        size_t error_bytes)
{
    struct stat there;
    char *run = pipe_run_directory_of(path);
    if (run != NULL) {
        pipe_refuse(error, error_bytes,
                    "%s %.200s: %.150s is the directory of a run, which a file of another kind may "
                    "damage; name a place outside of it",
                    option, path, run);
        free(run);
        return false;
    }
    if (lstat(path, &there) != 0)
        return errno == ENOENT || errno == ENOTDIR ||
               pipe_refuse(error, error_bytes, "%s %.300s: can't be examined: %s", option, path,
                           strerror(errno));
    if (!S_ISREG(there.st_mode)) /* one that is renamed there would take its place */
        return pipe_refuse(error, error_bytes,
                           "%s %.300s: is not a regular file, and would be replaced by one; name "
                           "another",
                           option, path);
    return replace || pipe_refuse(error, error_bytes,
                                  "%s %.300s: is there already, with %lld bytes; remove it, name "
                                  "another, or overwrite it with --replace",
                                  option, path, (long long)there.st_size);
}

static bool show(const char *hidden, const char *path, bool replace)
{
    struct stat there;
    if (replace)
        return rename(hidden, path) == 0;
    if (renameat2(AT_FDCWD, hidden, AT_FDCWD, path, RENAME_NOREPLACE) == 0)
        return true;
    if (errno != EINVAL && errno != ENOSYS)
        return false;
    if (lstat(path, &there) == 0) { /* a file system that can't do both at once */
        errno = EEXIST;
        return false;
    }
    return rename(hidden, path) == 0;
}

bool pipe_sync_parent(const char *path)
{
    char *parent = pipe_text_dup(path), *slash = strrchr(parent, '/');
    if (slash != NULL)
        slash[slash == parent] = '\0';
    int fd = open(slash != NULL ? parent : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool ok = fd < 0 ? errno == EACCES : pipe_fsync(fd) == 0 || errno == EINVAL;
    int cause = errno;
    if (fd >= 0)
        close(fd);
    free(parent);
    errno = cause;
    return ok;
}

bool pipe_show_file(const char *hidden, const char *path, bool replace)
{
    return show(hidden, path, replace) && pipe_sync_parent(path);
}
