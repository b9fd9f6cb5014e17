/*
 * system.c: what the runtime asks the C library for, answered by the simulation. The linker directs
 * these calls here (--wrap); the real function is __real_NAME. Files are real ones in a scratch
 * directory; of each it is known how much of it is synced, and a power cut takes of the rest what
 * it likes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sim.h"

#define DESCRIPTORS 1024

struct file {
    char *path;
    int64_t synced_bytes;
};

static struct file *files;
static size_t file_count;
static struct {
    const struct sim_instance *owner; /* NULL: not of an instance */
    int32_t file;                     /* index in files + 1; 0: not written to */
} descriptors[DESCRIPTORS];

char *__real_realpath(const char *path, char *to);
char *__wrap_realpath(const char *path, char *to);
int __real_statx(int at, const char *path, int flags, unsigned mask, struct statx *to);
int __wrap_statx(int at, const char *path, int flags, unsigned mask, struct statx *to);
int __real_stat(const char *path, struct stat *to);
int __wrap_stat(const char *path, struct stat *to);
int __real_open(const char *path, int flags, ...);
int __real_close(int fd);
ssize_t __real_write(int fd, const void *bytes, size_t size);
int __real_fdatasync(int fd);
int __real_ftruncate(int fd, off_t size);
int __wrap_open(const char *path, int flags, ...);
int __wrap_close(int fd);
ssize_t __wrap_write(int fd, const void *bytes, size_t size);
int __wrap_fdatasync(int fd);
int __wrap_fsync(int fd);
int __wrap_ftruncate(int fd, off_t size);
int __wrap_clock_gettime(clockid_t clock, struct timespec *to);
int __wrap_nanosleep(const struct timespec *time, struct timespec *left);
ssize_t __wrap_getrandom(void *to, size_t size, unsigned flags);
void __wrap_pipe_crash_point(const char *name);

/* ---- Clock, random bytes, crash points ---- */

int __wrap_clock_gettime(clockid_t clock, struct timespec *to)
{
    sim_pass(1);
    int64_t us = sim.now_us + (clock == CLOCK_REALTIME ? sim.wall_us : 0);
    *to = (struct timespec){us / 1000000, us % 1000000 * 1000};
    return 0;
}

int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
    (void)left;
    sim_sleep(time->tv_sec * 1000000 + time->tv_nsec / 1000 + sim_below(30000));
    if (sim_chance(sim.odds.step)) {
        sim.wall_us += sim_between(-7200, 7200) * 1000000;
        sim_trace("the wall clock steps");
    }
    sim_point("sleep");
    return 0;
}

ssize_t __wrap_getrandom(void *to, size_t size, unsigned flags)
{
    (void)flags;
    for (size_t i = 0; i < size; i++)
        ((uint8_t *)to)[i] = (uint8_t)sim_random();
    return (ssize_t)size;
}

void __wrap_pipe_crash_point(const char *name)
{
    sim_point(name);
}

/* ---- Files ---- */

/* The scratch directory has another name in every process, and paths become part of the log. */
char *__wrap_realpath(const char *path, char *to)
{
    char here[4096];
    char *real = __real_realpath(path, to);
    if (real == NULL || getcwd(here, sizeof here) == NULL)
        return real;
    size_t size = strlen(here);
    if (strncmp(real, here, size) == 0)
        memmove(real, real + size, strlen(real) + 1 - size);
    return real;
}

/* When a file was modified goes into the log, with the files that a run reads. */
int __wrap_stat(const char *path, struct stat *to)
{
    int result = __real_stat(path, to);
    to->st_mtim = (struct timespec){0};
    return result;
}

/* Inodes and births, which become part of the log too, are numbers in the order of their first
 * look. A file once seen stays open: no other one gets its inode. */
int __wrap_statx(int at, const char *path, int flags, unsigned mask, struct statx *to)
{
    static struct {
        uint64_t inode;
        int fd;
    } * seen;
    static size_t count;
    size_t i = 0;
    if (__real_statx(at, path, flags, mask, to) != 0)
        return -1;
    while (i < count && seen[i].inode != to->stx_ino)
        i++;
    if (i == count) {
        seen = pipe_realloc(seen, (count + 1) * sizeof *seen);
        seen[count].inode = to->stx_ino;
        seen[count].fd = __real_open(path, O_PATH | O_CLOEXEC);
        if (seen[count++].fd < 0)
            sim_fail("%s can't be opened: %s", path, strerror(errno));
    }
    to->stx_ino = i + 1;
    to->stx_btime.tv_sec = (int64_t)i + 1;
    to->stx_btime.tv_nsec = 0;
    to->stx_dev_major = to->stx_dev_minor = 0;
    to->stx_mask |= STATX_BTIME;
    return 0;
}

static int32_t file_at(const char *path)
{
    struct stat about;
    for (size_t i = 0; i < file_count; i++)
        if (strcmp(files[i].path, path) == 0)
            return (int32_t)i + 1;
    files = pipe_realloc(files, (file_count + 1) * sizeof *files);
    files[file_count++] = (struct file){pipe_str_dup(pipe_str_of(path, strlen(path))),
                                        stat(path, &about) == 0 ? about.st_size : 0};
    return (int32_t)file_count;
}

int __wrap_open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = (flags & O_CREAT) != 0 ? va_arg(args, mode_t) : 0;
    va_end(args);
    int fd = __real_open(path, flags, mode);
    if (fd < 0 || fd >= DESCRIPTORS || sim.running == NULL)
        return fd;
    descriptors[fd].owner = sim.running;
    descriptors[fd].file = (flags & O_ACCMODE) == O_WRONLY ? file_at(path) : 0;
    return fd;
}

int __wrap_close(int fd)
{
    if (fd >= 0 && fd < DESCRIPTORS)
        descriptors[fd].owner = NULL;
    return __real_close(fd);
}

static struct file *written_file(int fd)
{
    if (fd < 0 || fd >= DESCRIPTORS || descriptors[fd].owner == NULL || descriptors[fd].file == 0)
        return NULL;
    return &files[descriptors[fd].file - 1];
}

ssize_t __wrap_write(int fd, const void *bytes, size_t size)
{
    struct file *file = written_file(fd);
    if (file == NULL)
        return __real_write(fd, bytes, size);
    sim_take_time();
    sim_point("write of a file");
    bool fails = sim_chance(sim.odds.file_error);
    size_t part = fails || sim_below(8) == 0 ? sim_below((uint32_t)size + 1) : size;
    sim_trace("write %s %zu of %zu%s", strrchr(file->path, '/'), part, size,
              fails ? ", fails" : "");
    if (part > 0 && __real_write(fd, bytes, part) != (ssize_t)part)
        sim_fail("%s can't be written: %s", file->path, strerror(errno));
    sim_point("written file");
    if (!fails)
        return (ssize_t)part;
    sim.errors++;
    errno = sim_below(2) == 0 ? ENOSPC : EIO;
    return -1;
}

int __wrap_fdatasync(int fd)
{
    struct file *file = written_file(fd);
    struct stat about;
    if (file == NULL)
        return __real_fdatasync(fd);
    sim_take_time();
    sim_point("sync of a file");
    if (sim_chance(sim.odds.file_error)) {
        sim_trace("fdatasync %s fails", strrchr(file->path, '/'));
        sim.errors++;
        errno = EIO;
        return -1;
    }
    if (fstat(fd, &about) != 0)
        sim_fail("%s can't be examined: %s", file->path, strerror(errno));
    file->synced_bytes = about.st_size;
    sim_trace("fdatasync %s at %lld", strrchr(file->path, '/'), (long long)about.st_size);
    return 0;
}

/* Of directories: a name that is made is there, also after a power cut. */
int __wrap_fsync(int fd)
{
    (void)fd;
    sim_take_time();
    return 0;
}

int __wrap_ftruncate(int fd, off_t size)
{
    struct file *file = written_file(fd);
    if (file != NULL) {
        sim_point("truncation of a file");
        file->synced_bytes = file->synced_bytes < size ? file->synced_bytes : size;
    }
    return __real_ftruncate(fd, size);
}

/* Of what is not synced the disk has a beginning, in which blocks may be zeros. */
static void cut_power(struct file *file)
{
    struct stat about;
    if (stat(file->path, &about) != 0 || about.st_size <= file->synced_bytes)
        return;
    int64_t left = sim_between(file->synced_bytes, about.st_size);
    sim_trace("lost of %s: %lld of %lld bytes", strrchr(file->path, '/'),
              (long long)(about.st_size - left), (long long)about.st_size);
    if (truncate(file->path, left) != 0)
        sim_fail("%s can't be cut: %s", file->path, strerror(errno));
    if (left > file->synced_bytes && sim_below(3) == 0) {
        int fd = __real_open(file->path, O_WRONLY | O_CLOEXEC, 0);
        int64_t from = sim_between(file->synced_bytes, left - 1);
        if (fd < 0 || __real_ftruncate(fd, from) != 0 || __real_ftruncate(fd, left) != 0)
            sim_fail("%s can't be cut: %s", file->path, strerror(errno));
        __real_close(fd);
    }
}

void sim_files_crash(const struct sim_instance *owner, bool power)
{
    for (int fd = 0; fd < DESCRIPTORS; fd++) {
        if (descriptors[fd].owner == owner) {
            descriptors[fd].owner = NULL;
            __real_close(fd);
        }
    }
    for (size_t i = 0; power && i < file_count; i++)
        cut_power(&files[i]);
}
