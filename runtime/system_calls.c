/* system_calls.c: see system_calls.h. */
#include "system_calls.h"

#include <errno.h>
#include <sys/file.h>
#include <unistd.h>

#define UNTIL_DONE(call)                                                                           \
    int status;                                                                                    \
    do                                                                                             \
        status = call;                                                                             \
    while (status != 0 && errno == EINTR);                                                         \
    return status

int pipe_flock(int fd, int how)
{
    UNTIL_DONE(flock(fd, how));
}

int pipe_ftruncate(int fd, off_t size_bytes)
{
    UNTIL_DONE(ftruncate(fd, size_bytes));
}

int pipe_fsync(int fd)
{
    UNTIL_DONE(fsync(fd));
}

int pipe_fdatasync(int fd)
{
    UNTIL_DONE(fdatasync(fd));
}

bool pipe_pwrite_all(int fd, const void *bytes, size_t size_bytes, off_t at)
{
    const char *from = bytes;
    while (size_bytes > 0) {
        ssize_t written = pwrite(fd, from, size_bytes, at);
        if (written < 0 && errno == EINTR)
            continue;
        if (written == 0)
            errno = ENOSPC;
        if (written <= 0)
            return false;
        from += written;
        at += written;
        size_bytes -= (size_t)written;
    }
    return true;
}

size_t pipe_pwrite_pages(int fd, const void *bytes, size_t size_bytes, off_t at)
{
    size_t done = 0;
    size_bytes -= size_bytes % PIPE_PAGE_BYTES;
    while (done < size_bytes && done % PIPE_PAGE_BYTES == 0) {
        ssize_t written =
            pwrite(fd, (const char *)bytes + done, size_bytes - done, at + (off_t)done);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            break;
        done += (size_t)written;
    }
    return done;
}
