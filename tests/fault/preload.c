/*
 * preload.c: faults of the machine, for a program that does not know of them (LD_PRELOAD).
 *
 *   FAULT=CALL,PATTERN,N,ERRNO[,once]
 *       The N-th call (from 1) of a kind on a file whose path matches the pattern (fnmatch; of
 *       unnamed files "/DIR/#INODE (deleted)") and all later ones fail with that error; `once`:
 *       only the N-th. Kinds: read, write, sync, make (opening for writing, mkdir, rename, unlink).
 *       The first write that fails writes half of its bytes before, as a full disk does.
 *   FAULT_HIT=PATH    is made when a call fails, so that one can tell a clean run.
 *   CLOCK_STEPS=READINGS:SECONDS,…
 *       After so many readings of the wall clock it is so many seconds from the true one.
 *   CLOCK_SPEED=N
 *       The monotonic clock goes N times as fast, from the first reading on.
 *
 * No call of libc between here and the kernel may be one of these.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define PATH_BYTES 4096
#define PAGE_BYTES 4096u
#undef fread_unlocked /* a macro, with optimisation */

static struct {
    char kind[8], pattern[PATH_BYTES];
    long from;
    int error;
    bool once, set;
} fault;
static atomic_long matched, readings;
static atomic_flag torn = ATOMIC_FLAG_INIT;

static void *next(const char *name)
{
    void *function = dlsym(RTLD_NEXT, name);
    if (function == NULL)
        abort();
    return function;
}

#define REAL(type, name, ...)                                                                      \
    static type (*real)(__VA_ARGS__);                                                              \
    if (real == NULL)                                                                              \
    real = (type(*)(__VA_ARGS__))next(name)

__attribute__((constructor)) static void configure(void)
{
    const char *text = getenv("FAULT");
    char once[8] = "";
    if (text == NULL || text[0] == '\0')
        return;
    int fields = sscanf(text, "%7[^,],%4095[^,],%ld,%d,%7s", fault.kind, fault.pattern, &fault.from,
                        &fault.error, once);
    fault.once = strcmp(once, "once") == 0;
    fault.set = fields >= 4;
    if (!fault.set)
        abort();
}

static void tell(void)
{
    const char *path = getenv("FAULT_HIT");
    long fd = path != NULL
                  ? syscall(SYS_openat, AT_FDCWD, path, O_CREAT | O_WRONLY | O_CLOEXEC, 0666)
                  : -1;
    if (fd >= 0)
        syscall(SYS_close, fd);
}

/* Counts the call; true: it fails, and errno is set. */
static bool fails(const char *kind, const char *path)
{
    if (!fault.set || strcmp(kind, fault.kind) != 0 || fnmatch(fault.pattern, path, 0) != 0)
        return false;
    long number = atomic_fetch_add(&matched, 1) + 1;
    if (fault.once ? number != fault.from : number < fault.from)
        return false;
    tell();
    errno = fault.error;
    return true;
}

static bool fails_on(const char *kind, int fd)
{
    char link[64], path[PATH_BYTES];
    if (!fault.set)
        return false;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
    if (size < 0)
        return false;
    path[size] = '\0';
    return fails(kind, path);
}

/* A relative path as the kernel would show it. */
static bool fails_at(const char *kind, const char *path)
{
    char whole[2 * PATH_BYTES];
    if (!fault.set)
        return false;
    long size = path[0] == '/' ? 1 : syscall(SYS_getcwd, whole, PATH_BYTES);
    if (size <= 0)
        return false;
    whole[size - 1] = '\0';
    snprintf(whole + size - 1, PATH_BYTES, "%s%s", path[0] == '/' ? "" : "/", path);
    return fails(kind, whole);
}

/* How much of a write that fails is written all the same: whole pages, as past the page cache. */
static size_t part_of(size_t size)
{
    bool full = fault.error == ENOSPC && !atomic_flag_test_and_set(&torn);
    return !full ? 0 : size > PAGE_BYTES ? size / 2 / PAGE_BYTES * PAGE_BYTES : size / 2;
}

/* ---- Reading ---- */

ssize_t read(int fd, void *to, size_t size)
{
    REAL(ssize_t, "read", int, void *, size_t);
    return fails_on("read", fd) ? -1 : real(fd, to, size);
}

ssize_t pread(int fd, void *to, size_t size, off_t at)
{
    REAL(ssize_t, "pread", int, void *, size_t, off_t);
    return fails_on("read", fd) ? -1 : real(fd, to, size, at);
}

ssize_t pread64(int fd, void *to, size_t size, off64_t at)
{
    REAL(ssize_t, "pread64", int, void *, size_t, off64_t);
    return fails_on("read", fd) ? -1 : real(fd, to, size, at);
}

/* How RocksDB reads a file from its beginning. */
size_t fread_unlocked(void *to, size_t size, size_t count, FILE *file)
{
    REAL(size_t, "fread_unlocked", void *, size_t, size_t, FILE *);
    if (!fails_on("read", fileno(file)))
        return real(to, size, count, file);
    file->_flags |= 0x20; /* what ferror() looks at */
    return 0;
}

/* ---- Writing ---- */

ssize_t write(int fd, const void *from, size_t size)
{
    REAL(ssize_t, "write", int, const void *, size_t);
    if (!fails_on("write", fd))
        return real(fd, from, size);
    size_t part = part_of(size);
    return part > 0 ? real(fd, from, part) : -1;
}

ssize_t pwrite(int fd, const void *from, size_t size, off_t at)
{
    REAL(ssize_t, "pwrite", int, const void *, size_t, off_t);
    if (!fails_on("write", fd))
        return real(fd, from, size, at);
    size_t part = part_of(size);
    return part > 0 ? real(fd, from, part, at) : -1;
}

ssize_t pwrite64(int fd, const void *from, size_t size, off64_t at)
{
    REAL(ssize_t, "pwrite64", int, const void *, size_t, off64_t);
    if (!fails_on("write", fd))
        return real(fd, from, size, at);
    size_t part = part_of(size);
    return part > 0 ? real(fd, from, part, at) : -1;
}

int fsync(int fd)
{
    REAL(int, "fsync", int);
    return fails_on("sync", fd) ? -1 : real(fd);
}

int fdatasync(int fd)
{
    REAL(int, "fdatasync", int);
    return fails_on("sync", fd) ? -1 : real(fd);
}

/* ---- Directories ---- */

static bool makes(int flags)
{
    return (flags & O_ACCMODE) != O_RDONLY || (flags & O_CREAT) != 0;
}

static mode_t mode_of(int flags, va_list args)
{
    return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(args, mode_t) : 0;
}

#define DEFINE_OPEN(name)                                                                          \
    int name(const char *path, int flags, ...)                                                     \
    {                                                                                              \
        REAL(int, #name, const char *, int, ...);                                                  \
        va_list args;                                                                              \
        va_start(args, flags);                                                                     \
        mode_t mode = mode_of(flags, args);                                                        \
        va_end(args);                                                                              \
        return makes(flags) && fails_at("make", path) ? -1 : real(path, flags, mode);              \
    }
DEFINE_OPEN(open)
DEFINE_OPEN(open64)

int mkdir(const char *path, mode_t mode)
{
    REAL(int, "mkdir", const char *, mode_t);
    return fails_at("make", path) ? -1 : real(path, mode);
}

int rename(const char *from, const char *to)
{
    REAL(int, "rename", const char *, const char *);
    return fails_at("make", to) ? -1 : real(from, to);
}

int renameat2(int from_at, const char *from, int to_at, const char *to, unsigned flags)
{
    REAL(int, "renameat2", int, const char *, int, const char *, unsigned);
    return fails_at("make", to) ? -1 : real(from_at, from, to_at, to, flags);
}

int unlink(const char *path)
{
    REAL(int, "unlink", const char *);
    return fails_at("make", path) ? -1 : real(path);
}

/* ---- The wall clock ---- */

static long offset_s(void)
{
    const char *at = getenv("CLOCK_STEPS");
    long number = atomic_fetch_add(&readings, 1), offset = 0, after, seconds;
    int used = 0;
    for (; at != NULL && sscanf(at, "%ld:%ld%n", &after, &seconds, &used) == 2; at += used) {
        if (number >= after)
            offset = seconds;
        used += at[used] == ',';
    }
    return offset;
}

static void hasten(struct timespec *now)
{
    static _Atomic int64_t first_ns;
    const char *speed = getenv("CLOCK_SPEED");
    int64_t ns = (int64_t)now->tv_sec * 1000000000 + now->tv_nsec, none = 0;
    if (speed == NULL)
        return;
    atomic_compare_exchange_strong(&first_ns, &none, ns);
    ns = first_ns + (ns - first_ns) * atol(speed);
    *now = (struct timespec){ns / 1000000000, ns % 1000000000};
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    REAL(int, "clock_gettime", clockid_t, struct timespec *);
    int status = real(clock, now);
    if (status == 0 && clock == CLOCK_REALTIME)
        now->tv_sec += offset_s();
    if (status == 0 && clock == CLOCK_MONOTONIC)
        hasten(now);
    return status;
}

int gettimeofday(struct timeval *now, void *zone)
{
    struct timespec precise;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &precise);
    *now = (struct timeval){precise.tv_sec, precise.tv_nsec / 1000};
    return 0;
}

time_t time(time_t *to)
{
    struct timespec precise;
    clock_gettime(CLOCK_REALTIME, &precise);
    if (to != NULL)
        *to = precise.tv_sec;
    return precise.tv_sec;
}
