/* regular_file.c: see regular_file.h. */
#include "regular_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WAYS (O_RDONLY | O_CLOEXEC | O_NOCTTY)

/* Never waits for a writer; on a regular file that another process holds a lease of (a file server
 * may), until that has given it back. */
static int open_at_once(const char *path)
{
    struct stat about;
    int fd = open(path, WAYS | O_NONBLOCK);
    if (fd >= 0 || errno != EWOULDBLOCK)
        return fd;
    bool waits = stat(path, &about) == 0 && S_ISREG(about.st_mode);
    errno = EWOULDBLOCK;
    return waits ? open(path, WAYS) : -1;
}

int pipe_open_regular(const char *path)
{
    struct stat about;
    int fd = open_at_once(path);
    if (fd < 0) {
        errno = errno == ENXIO ? ENOTSUP : errno; /* a socket */
        return -1;
    }
    int cause = fstat(fd, &about) != 0      ? errno
                : S_ISDIR(about.st_mode)    ? EISDIR
                : !S_ISREG(about.st_mode)   ? ENOTSUP
                : fcntl(fd, F_SETFL, 0) < 0 ? errno
                                            : 0;
    if (cause == 0)
        return fd;
    close(fd);
    errno = cause;
    return -1;
}

FILE *pipe_fopen_regular(const char *path)
{
    int fd = pipe_open_regular(path);
    FILE *file = fd >= 0 ? fdopen(fd, "re") : NULL;
    if (fd >= 0 && file == NULL) {
        int cause = errno;
        close(fd);
        errno = cause;
    }
    return file;
}

/* An entry that has gone meanwhile, or that can't be asked, is the library's to meet. */
static bool is_openable(const char *directory, const char *name)
{
    char path[PATH_MAX];
    struct stat about;
    return snprintf(path, sizeof path, "%s/%s", directory, name) >= (int)sizeof path ||
           stat(path, &about) != 0 || S_ISREG(about.st_mode) || S_ISDIR(about.st_mode);
}

bool pipe_is_all_regular(const char *directory, char *error, size_t error_bytes)
{
    struct dirent *entry = NULL;
    DIR *listing = opendir(directory);
    if (listing == NULL && (errno == ENOENT || errno == ENOTDIR))
        return true;
    bool ok = listing != NULL;
    while (ok && (errno = 0, (entry = readdir(listing)) != NULL))
        ok = is_openable(directory, entry->d_name);
    if (entry != NULL) {
        snprintf(error, error_bytes, "%s is not a regular file", entry->d_name);
    } else if (errno != 0) {
        snprintf(error, error_bytes, "it can't be listed: %s", strerror(errno));
        ok = false;
    }
    if (listing != NULL)
        closedir(listing);
    return ok;
}

const char *pipe_regular_reason(int cause)
{
    return cause == ENOTSUP ? "it is not a regular file" : strerror(cause);
}
