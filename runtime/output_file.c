/* output_file.c: see output_file.h. */
#include "output_file.h"
#include "system_calls.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

/* ---- Marks ---- */

bool pipe_file_identify(const char *path, struct pipe_file_mark *mark)
{
    struct statx about;
    struct stat less;
    if (statx(AT_FDCWD, path, 0, STATX_INO | STATX_BTIME, &about) == 0) {
        mark->device = makedev(about.stx_dev_major, about.stx_dev_minor);
        mark->inode = about.stx_ino;
        mark->born_ns = 0;
        if ((about.stx_mask & STATX_BTIME) != 0)
            mark->born_ns = about.stx_btime.tv_sec * 1000000000 + about.stx_btime.tv_nsec;
        return true;
    }
    if (errno != ENOSYS && errno != EPERM) /* a container may forbid it */
        return false;
    if (stat(path, &less) != 0)
        return false;
    mark->device = less.st_dev;
    mark->inode = less.st_ino;
    mark->born_ns = 0;
    return true;
}

bool pipe_file_is_same(const struct pipe_file_mark *a, const struct pipe_file_mark *b)
{
    if (a->born_ns != 0 && b->born_ns != 0)
        return a->inode == b->inode && a->born_ns == b->born_ns;
    return a->inode == b->inode && a->device == b->device;
}

ssize_t pipe_file_read_tail(int fd, int64_t length_bytes, uint8_t *to)
{
    size_t wanted = length_bytes < PIPE_TAIL_BYTES ? (size_t)length_bytes : PIPE_TAIL_BYTES;
    size_t done = 0;
    while (done < wanted) {
        ssize_t got = pread(fd, to + done, wanted - done, length_bytes - (off_t)(wanted - done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

/* Of one size whatever the file: how much a commit holds must not depend on it. */
void pipe_file_put_mark(struct pipe_buf *to, const struct pipe_file_mark *mark)
{
    uint64_t words[] = {htole64(mark->device), htole64(mark->inode),
                        htole64((uint64_t)mark->born_ns), htole64(mark->tail_hash),
                        htole64(mark->tail_bytes)};
    pipe_avro_put_bytes(to, pipe_str_of(words, sizeof words));
}

bool pipe_file_get_mark(struct pipe_reader *reader, struct pipe_file_mark *mark)
{
    struct pipe_str bytes = {0};
    uint64_t words[5];
    if (!pipe_avro_bytes(reader, &bytes) || bytes.size < sizeof words)
        return false;
    memcpy(words, bytes.data, sizeof words);
    *mark = (struct pipe_file_mark){.device = le64toh(words[0]),
                                    .inode = le64toh(words[1]),
                                    .born_ns = (int64_t)le64toh(words[2]),
                                    .tail_hash = le64toh(words[3]),
                                    .tail_bytes = (uint32_t)le64toh(words[4])};
    return true;
}

/* ---- Holding ---- */

/* Not blocking: a named pipe without a reader would hang here instead of being refused. At its end:
 * behind what somebody has cut off, zeros would stand where rows were. */
static int open_or_make(const char *path, bool make, bool *made)
{
    int flags = O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_APPEND;
    int fd = open(path, flags);
    *made = false;
    if (fd >= 0 || errno != ENOENT || !make)
        return fd;
    fd = open(path, flags | O_CREAT | O_EXCL, 0666);
    *made = fd >= 0;
    /* A link to nothing; or it has come since. */
    return fd >= 0 || errno != EEXIST ? fd : open(path, flags | O_CREAT, 0666);
}

static bool lock(int fd)
{
    return pipe_flock(fd, LOCK_EX | LOCK_NB) == 0 || errno == ENOLCK || errno == EOPNOTSUPP ||
           errno == ENOSYS;
}

enum hold { HELD, MOVED, FAILED };

static enum hold hold(int fd, const char *path)
{
    struct stat ours, there;
    if (fstat(fd, &ours) != 0)
        return FAILED;
    if (!S_ISREG(ours.st_mode))
        return HELD;
    if (!lock(fd))
        return FAILED;
    if (stat(path, &there) != 0)
        return errno == ENOENT ? MOVED : FAILED;
    return ours.st_ino == there.st_ino && ours.st_dev == there.st_dev ? HELD : MOVED;
}

int pipe_file_hold(const char *path, bool make, bool *made)
{
    /* Whoever held it may have put a new one in its place before the lock was free. */
    for (int tries = 0; tries < 10; tries++) {
        int fd = open_or_make(path, make, made);
        enum hold outcome = fd < 0 ? FAILED : hold(fd, path);
        if (outcome == HELD)
            return fd;
        int cause = errno;
        if (fd >= 0)
            close(fd);
        errno = cause;
        if (outcome == FAILED)
            return -1;
    }
    errno = EWOULDBLOCK;
    return -1;
}

/* ---- Renewing ---- */

/* The path without a link at its end; NULL: it has none, as an open file's below /proc. free. */
static char *without_link(const char *path)
{
    struct stat about;
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_MAGICLINKS};
    if (lstat(path, &about) != 0)
        return NULL;
    if (!S_ISLNK(about.st_mode))
        return pipe_text_dup(path);
    long fd = syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
    if (fd < 0)
        return NULL;
    close((int)fd);
    return realpath(path, NULL);
}

/* All that the old file was to others, or nothing is done. */
static bool take_after(int fd, const char *old)
{
    struct stat about, now;
    if (stat(old, &about) != 0 || fstat(fd, &now) != 0 || !S_ISREG(about.st_mode))
        return false;
    if (getxattr(old, "system.posix_acl_access", NULL, 0) >= 0 ||
        (errno != ENODATA && errno != EOPNOTSUPP))
        return false;
    if ((about.st_uid != now.st_uid || about.st_gid != now.st_gid) &&
        fchown(fd, about.st_uid, about.st_gid) != 0)
        return false;
    return fchmod(fd, about.st_mode & 07777) == 0;
}

/* What a kill between making a new file and renaming it leaves has a name of its own for each file,
 * so that the next attempt finds it. */
static void name_new(char *made, size_t room, const char *old)
{
    const char *slash = strrchr(old, '/'), *base = slash == NULL ? old : slash + 1;
    snprintf(made, room, "%.*s.pipe-new.%016" PRIx64, (int)(base - old), old,
             pipe_hash64(base, strlen(base), 0));
}

/* Exclusively; what was left is empty, and anything else of that name is somebody's. -1: errno. */
static int make_new(const char *made)
{
    struct stat about;
    int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
    int fd = open(made, flags, 0600);
    if (fd >= 0 || errno != EEXIST)
        return fd;
    if (lstat(made, &about) != 0 || !S_ISREG(about.st_mode) || about.st_size != 0 ||
        unlink(made) != 0)
        return -1;
    return open(made, flags, 0600);
}

char *pipe_file_renew(const char *path)
{
    char *old = without_link(path);
    if (old == NULL)
        return NULL;
    size_t room = strlen(old) + sizeof ".pipe-new." + 16;
    char *made = pipe_malloc(room);
    name_new(made, room, old);
    int fd = make_new(made);
    bool ok = fd >= 0 && take_after(fd, old) && rename(made, old) == 0;
    if (fd >= 0)
        close(fd);
    if (fd >= 0 && !ok)
        unlink(made);
    free(old);
    if (!ok) {
        free(made);
        return NULL;
    }
    char *slash = strrchr(made, '/');
    memcpy(slash == NULL ? made : slash + 1, ".", 2);
    return made;
}
