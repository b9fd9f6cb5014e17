/* regular_file.c: see regular_file.h. */
#include "regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
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

const char *pipe_regular_reason(int cause)
{
    return cause == ENOTSUP ? "it is not a regular file" : strerror(cause);
}
