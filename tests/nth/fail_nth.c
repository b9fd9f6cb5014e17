/*
 * fail_nth.c: fails the Nth call of a class in the program it is preloaded into (LD_PRELOAD).
 *
 *   NTH_CLASS   alloc      memory, asked for by the program itself
 *               lib_alloc  memory, asked for by a library (libstdc++, RocksDB, jansson, libc …)
 *               file       system and stdio calls of the program
 *               db_file    system calls of librocksdb
 *               db         calls of the program into RocksDB that can give an error
 *               net        system calls of libcurl
 *               http       calls of the program into libcurl (fail_nth_http.c)
 *   NTH_HOW     EIO ENOSPC EINTR ENOMEM ECONNRESET short (half of what was asked for) after (done,
 *               and yet an error: for `db` and `http`)
 *   NTH_AT      which call; 0: none, they are counted
 *   NTH_STICKY  set: all calls behind it fail too
 *   NTH_REPORT  a file of REPORT_BYTES that gets struct report: it survives any end of the program
 *   NTH_SITES   a file that gets a hash of 8 bytes of each call's site (call 1 first): the calls of
 *               the program that lead to it, and the last ones within the library that asks
 *
 * The environment is cleaned before main, so that no child has the library. Only calls that can
 * fail in the way that is asked for are counted, from the begin of main to exit.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <link.h>
#include <pthread.h>
#include <rocksdb/c.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "fail_nth.h"

/* The headers make some names macros of others, and give some of them attributes. */
#pragma GCC diagnostic ignored "-Wnonnull-compare"

enum { REPORT_BYTES = 4096, EARLY_BYTES = 1 << 16, PAGE_BYTES = 4096, SECTOR_BYTES = 512 };
enum { SITES_MAX = 4 << 20, FRAMES_MAX = 64, LIBRARY_FRAMES_MAX = 4, OBJECTS_MAX = 64 };

/* Read by tests/nth/shim.py. */
struct report {
    _Atomic uint64_t calls;
    _Atomic uint64_t failed;
    uint64_t caller; /* of the first that failed: where, in its object */
    char function[40];
    char object[200];
};

struct range {
    uintptr_t from, to, base;
};

static enum class wanted_class;
static int wanted_kinds, wanted_errno;
static bool is_short, is_after, is_sticky, armed;
static uint64_t wanted_at;
static struct report *report, none;
static struct range program, library, curl, loader, own;
static struct range objects[OBJECTS_MAX];
static int object_count;
static uint64_t *sites;      /* of calls 1 … SITES_MAX; NULL: not asked for */
static __thread bool inside; /* of this library: calls of its calls are not the program's */

/* ---- The real functions ---- */

static char early[EARLY_BYTES]; /* for what asks for memory before it can be given */
static size_t early_used;

void *real_symbol(const char *name)
{
    bool before = inside;
    inside = true;
    void *symbol = dlsym(RTLD_NEXT, name);
    inside = before;
    return symbol;
}

/* ---- Whose calls, and which ---- */

static void note_code(struct range *range, const struct dl_phdr_info *info, int i)
{
    range->base = info->dlpi_addr;
    range->from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    range->to = range->from + info->dlpi_phdr[i].p_memsz;
}

static int note_object(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    bool *first = context;
    struct range *range = *first                                  ? &program
                          : strstr(info->dlpi_name, "librocksdb") ? &library
                          : strstr(info->dlpi_name, "libcurl")    ? &curl
                          : strstr(info->dlpi_name, "ld-linux")   ? &loader
                          : strstr(info->dlpi_name, "fail_nth")   ? &own
                                                                  : NULL;
    *first = false;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_LOAD || (info->dlpi_phdr[i].p_flags & PF_X) == 0)
            continue;
        if (range != NULL)
            note_code(range, info, i);
        if (object_count < OBJECTS_MAX)
            note_code(&objects[object_count++], info, i);
    }
    return 0;
}

static bool is_in(const struct range *range, const void *caller)
{
    return (uintptr_t)caller >= range->from && (uintptr_t)caller < range->to;
}

static bool is_theirs(enum class class, const void *caller)
{
    switch (class) {
    case ALLOC:
    case FILES:
    case DB:
    case HTTP:
        return is_in(&program, caller);
    case DB_FILES:
        return is_in(&library, caller);
    case NET:
        return is_in(&curl, caller);
    case LIB_ALLOC:
        return !is_in(&program, caller) && !is_in(&loader, caller) && !is_in(&own, caller);
    case NONE:
        break;
    }
    return false;
}

/* An address as it is in its object, wherever that was loaded. */
static uint64_t within_object(uintptr_t address)
{
    for (int i = 0; i < object_count; i++)
        if (address >= objects[i].from && address < objects[i].to)
            return (address - objects[i].base) ^ ((uint64_t)i << 48);
    return 0;
}

/* Of the addresses that a call returns to, each once: recursion does not make another site. */
static uint64_t site_here(void)
{
    void *frames[FRAMES_MAX];
    int count = backtrace(frames, FRAMES_MAX), in_libraries = 0;
    uint64_t hash = 14695981039346656037u;
    for (int i = 0; i < count; i++) {
        if (is_in(&own, frames[i]))
            continue;
        if (!is_in(&program, frames[i]) && in_libraries++ >= LIBRARY_FRAMES_MAX)
            continue;
        bool again = false;
        for (int j = 0; j < i && !again; j++)
            again = frames[j] == frames[i];
        if (!again)
            hash = (hash ^ within_object((uintptr_t)frames[i])) * 1099511628211u;
    }
    return hash;
}

static void note_site(uint64_t number)
{
    if (sites == NULL || number > SITES_MAX)
        return;
    inside = true;
    sites[number - 1] = site_here();
    inside = false;
}

static void note_failure(const char *function, const void *caller)
{
    Dl_info info;
    if (atomic_fetch_add(&report->failed, 1) > 0)
        return;
    snprintf(report->function, sizeof report->function, "%s", function);
    if (dladdr(caller, &info) != 0 && info.dli_fname != NULL) {
        report->caller = (uintptr_t)caller - (uintptr_t)info.dli_fbase;
        snprintf(report->object, sizeof report->object, "%s", info.dli_fname);
    }
}

bool fails(enum class class, int kinds, const char *function, const void *caller)
{
    if (!armed || inside ||
        (class != wanted_class && !(class == ALLOC && wanted_class == LIB_ALLOC) &&
         !(class == FILES && (wanted_class == DB_FILES || wanted_class == NET))))
        return false;
    if ((kinds & wanted_kinds) == 0 || !is_theirs(wanted_class, caller))
        return false;
    uint64_t number = atomic_fetch_add(&report->calls, 1) + 1;
    note_site(number);
    if (wanted_at == 0 || number < wanted_at || (number > wanted_at && !is_sticky))
        return false;
    inside = true;
    note_failure(function, caller);
    inside = false;
    errno = wanted_errno;
    return true;
}

bool fails_after(void)
{
    return is_after;
}

/* ---- Memory ---- */

static void *early_memory(size_t size)
{
    size_t begin = (early_used + 15) & ~(size_t)15;
    if (size > EARLY_BYTES - begin)
        abort();
    early_used = begin + size;
    return early + begin;
}

static bool is_early(const void *memory)
{
    return (const char *)memory >= early && (const char *)memory < early + EARLY_BYTES;
}

#define ALLOCATOR(name, params, args, bytes)                                                       \
    void *name params                                                                              \
    {                                                                                              \
        static volatile bool asking; /* dlsym is said not to call back, but does */                \
        static __typeof__(&name) real;                                                             \
        if (FAILS(ALLOC, ASKS, name))                                                              \
            return NULL;                                                                           \
        if (real == NULL && !asking) {                                                             \
            asking = true;                                                                         \
            real = (__typeof__(&name))real_symbol(#name);                                          \
            asking = false;                                                                        \
        }                                                                                          \
        return real == NULL ? early_memory(bytes) : real args;                                     \
    }

ALLOCATOR(malloc, (size_t size), (size), size)
ALLOCATOR(calloc, (size_t count, size_t size), (count, size), count *size)
ALLOCATOR(aligned_alloc, (size_t alignment, size_t size), (alignment, size), size)

void *realloc(void *memory, size_t size)
{
    if (FAILS(ALLOC, ASKS, realloc))
        return NULL;
    if (!is_early(memory))
        return REAL(realloc)(memory, size);
    void *moved = malloc(size);
    if (moved != NULL)
        memcpy(moved, memory, size); /* more than it has, at worst: it is all ours */
    return moved;
}

void free(void *memory)
{
    static __typeof__(&free) real;
    static volatile bool asking;
    if (is_early(memory) || (real == NULL && asking))
        return; /* dlsym frees the text of an error before: that is lost */
    if (real == NULL) {
        asking = true;
        real = (__typeof__(&free))real_symbol("free");
        asking = false;
    }
    real(memory);
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
    return FAILS(ALLOC, ASKS, posix_memalign) ? ENOMEM
                                              : REAL(posix_memalign)(memory, alignment, size);
}

/* One call: of the program, or of a library; the memory behind it is asked for by libc. */
#define COPY(name, params, args)                                                                   \
    char *name params                                                                              \
    {                                                                                              \
        return FAILS(ALLOC, ASKS, name) ? NULL : REAL(name) args;                                  \
    }
#undef strdup
#undef strndup
COPY(strdup, (const char *text), (text))
COPY(__strdup, (const char *text), (text))
COPY(strndup, (const char *text, size_t size), (text, size))

int vasprintf(char **to, const char *format, va_list args)
{
    return FAILS(ALLOC, ASKS, vasprintf) ? -1 : REAL(vasprintf)(to, format, args);
}

int __vasprintf_chk(char **to, int flag, const char *format, va_list args);
int __vasprintf_chk(char **to, int flag, const char *format, va_list args)
{
    return FAILS(ALLOC, ASKS, vasprintf) ? -1 : REAL(__vasprintf_chk)(to, flag, format, args);
}

int asprintf(char **to, const char *format, ...)
{
    if (FAILS(ALLOC, ASKS, asprintf))
        return -1;
    va_list args;
    va_start(args, format);
    int size = REAL(vasprintf)(to, format, args);
    va_end(args);
    return size;
}

int __asprintf_chk(char **to, int flag, const char *format, ...);
int __asprintf_chk(char **to, int flag, const char *format, ...)
{
    if (FAILS(ALLOC, ASKS, asprintf))
        return -1;
    va_list args;
    va_start(args, format);
    int size = REAL(__vasprintf_chk)(to, flag, format, args);
    va_end(args);
    return size;
}

/* Only the program's: RocksDB's and libc's are memory of other kinds. */
void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    return FAILS(ALLOC, ASKS, mmap) ? MAP_FAILED
                                    : REAL(mmap)(at, size, protection, flags, fd, offset);
}

/* ---- System calls ---- */

#define CALL(type, name, kinds, failure, params, args)                                             \
    type name params                                                                               \
    {                                                                                              \
        return FAILS(FILES, kinds, name) ? (type)(failure) : REAL(name) args;                      \
    }

/* Half of a number of bytes; of direct I/O that is pages or sectors, too. */
static size_t part_of(size_t size)
{
    size_t half = size / 2, unit = size % PAGE_BYTES == 0     ? PAGE_BYTES
                                   : size % SECTOR_BYTES == 0 ? SECTOR_BYTES
                                                              : 1;
    return half - half % unit;
}

/* Of those that move bytes, `size` may be made smaller. */
#define TRANSFER(name, kinds, params, args)                                                        \
    ssize_t name params                                                                            \
    {                                                                                              \
        int which = is_short && part_of(size) == 0 ? 0 : kinds;                                    \
        if (FAILS(FILES, which, name)) {                                                           \
            if (!is_short)                                                                         \
                return -1;                                                                         \
            size = part_of(size);                                                                  \
        }                                                                                          \
        return REAL(name) args;                                                                    \
    }

TRANSFER(read, ASKS | WAITS | MOVES, (int fd, void *to, size_t size), (fd, to, size))
TRANSFER(pread, ASKS | WAITS | MOVES, (int fd, void *to, size_t size, off_t at), (fd, to, size, at))
TRANSFER(write, MAKES | WAITS | MOVES, (int fd, const void *from, size_t size), (fd, from, size))
TRANSFER(pwrite, MAKES | WAITS | MOVES, (int fd, const void *from, size_t size, off_t at),
         (fd, from, size, at))

ssize_t __read_chk(int fd, void *to, size_t size, size_t room);
TRANSFER(__read_chk, ASKS | WAITS | MOVES, (int fd, void *to, size_t size, size_t room),
         (fd, to, size, room))
ssize_t __pread_chk(int fd, void *to, size_t size, off_t at, size_t room);
TRANSFER(__pread_chk, ASKS | WAITS | MOVES, (int fd, void *to, size_t size, off_t at, size_t room),
         (fd, to, size, at, room))

CALL(ssize_t, getrandom, WAITS, -1, (void *to, size_t size, unsigned flags), (to, size, flags))

#define MODE(last)                                                                                 \
    ({                                                                                             \
        va_list args;                                                                              \
        va_start(args, last);                                                                      \
        mode_t mode =                                                                              \
            (last & O_CREAT) != 0 || (last & O_TMPFILE) == O_TMPFILE ? va_arg(args, mode_t) : 0;   \
        va_end(args);                                                                              \
        mode;                                                                                      \
    })
#define OPENS(flags) (((flags)&O_CREAT) != 0 ? MAKES : ASKS)

int open(const char *path, int flags, ...)
{
    mode_t mode = MODE(flags);
    return FAILS(FILES, OPENS(flags), open) ? -1 : REAL(open)(path, flags, mode);
}

int __open_2(const char *path, int flags);
CALL(int, __open_2, OPENS(flags), -1, (const char *path, int flags), (path, flags))
CALL(int, close, ASKS, (REAL(close)(fd), -1), (int fd), (fd)) /* it is closed, in any case */
CALL(int, fsync, MAKES | WAITS, -1, (int fd), (fd))
CALL(int, fdatasync, MAKES | WAITS, -1, (int fd), (fd))
CALL(int, ftruncate, ASKS | WAITS, -1, (int fd, off_t size), (fd, size))
CALL(int, flock, ASKS | WAITS, -1, (int fd, int how), (fd, how))
CALL(off_t, lseek, ASKS, -1, (int fd, off_t at, int whence), (fd, at, whence))
CALL(int, fstat, ASKS, -1, (int fd, struct stat *to), (fd, to))
CALL(int, stat, ASKS, -1, (const char *path, struct stat *to), (path, to))
CALL(int, lstat, ASKS, -1, (const char *path, struct stat *to), (path, to))
CALL(int, statx, ASKS, -1, (int at, const char *path, int flags, unsigned mask, struct statx *to),
     (at, path, flags, mask, to))
CALL(ssize_t, getxattr, ASKS, -1, (const char *path, const char *name, void *to, size_t size),
     (path, name, to, size))
CALL(int, statvfs, ASKS, -1, (const char *path, struct statvfs *to), (path, to))
CALL(int, access, ASKS, -1, (const char *path, int how), (path, how))
CALL(int, mkdir, MAKES, -1, (const char *path, mode_t mode), (path, mode))
CALL(int, rename, MAKES, -1, (const char *from, const char *to), (from, to))
CALL(int, renameat2, MAKES, -1,
     (int from_at, const char *from, int to_at, const char *to, unsigned flags),
     (from_at, from, to_at, to, flags))
CALL(int, link, MAKES, -1, (const char *from, const char *to), (from, to))
CALL(int, unlink, ASKS, -1, (const char *path), (path))
CALL(int, remove, ASKS, -1, (const char *path), (path))
CALL(int, rmdir, ASKS, -1, (const char *path), (path))
CALL(int, fchown, ASKS, -1, (int fd, uid_t user, gid_t group), (fd, user, group))
CALL(int, fchmod, ASKS, -1, (int fd, mode_t mode), (fd, mode))
CALL(int, fallocate, MAKES | WAITS, -1, (int fd, int mode, off_t at, off_t size),
     (fd, mode, at, size))
CALL(char *, mkdtemp, MAKES, NULL, (char *path), (path))
CALL(int, mkstemp, MAKES, -1, (char *path), (path))
CALL(int, mkostemp, MAKES, -1, (char *path, int flags), (path, flags))
CALL(char *, realpath, ASKS, NULL, (const char *path, char *to), (path, to))
char *__realpath_chk(const char *path, char *to, size_t room);
CALL(char *, __realpath_chk, ASKS, NULL, (const char *path, char *to, size_t room),
     (path, to, room))
CALL(ssize_t, readlink, ASKS, -1, (const char *path, char *to, size_t size), (path, to, size))
ssize_t __readlink_chk(const char *path, char *to, size_t size, size_t room);
CALL(ssize_t, __readlink_chk, ASKS, -1, (const char *path, char *to, size_t size, size_t room),
     (path, to, size, room))
CALL(int, socket, ASKS | TALKS, -1, (int domain, int type, int protocol), (domain, type, protocol))
CALL(int, connect, ASKS | WAITS | TALKS, -1, (int fd, const struct sockaddr *to, socklen_t size),
     (fd, to, size))
CALL(int, bind, ASKS, -1, (int fd, const struct sockaddr *to, socklen_t size), (fd, to, size))
CALL(int, listen, ASKS, -1, (int fd, int backlog), (fd, backlog))
TRANSFER(send, ASKS | WAITS | MOVES | TALKS, (int fd, const void *from, size_t size, int flags),
         (fd, from, size, flags))
TRANSFER(recv, ASKS | WAITS | MOVES | TALKS, (int fd, void *to, size_t size, int flags),
         (fd, to, size, flags))
ssize_t __recv_chk(int fd, void *to, size_t size, size_t room, int flags);
TRANSFER(__recv_chk, ASKS | WAITS | MOVES | TALKS,
         (int fd, void *to, size_t size, size_t room, int flags), (fd, to, size, room, flags))
CALL(DIR *, opendir, ASKS, NULL, (const char *path), (path))
CALL(struct dirent *, readdir, ASKS, NULL, (DIR * dir), (dir))
int glob(const char *pattern, int flags, int (*failed)(const char *, int), glob_t *found)
{
    if (FAILS(ALLOC, ASKS, glob))
        return GLOB_NOSPACE;
    return FAILS(FILES, ASKS, glob) ? GLOB_ABORTED : REAL(glob)(pattern, flags, failed, found);
}

CALL(int, nftw, ASKS, -1, (const char *path, __nftw_func_t each, int fds, int flags),
     (path, each, fds, flags))
CALL(pid_t, waitpid, WAITS, -1, (pid_t child, int *status, int options), (child, status, options))

/* They give the error instead of setting errno. */
#define SPAWN(name)                                                                                \
    int name(pid_t *child, const char *path, const posix_spawn_file_actions_t *actions,            \
             const posix_spawnattr_t *attributes, char *const *argv, char *const *environment)     \
    {                                                                                              \
        return FAILS(FILES, ASKS, name)                                                            \
                   ? errno                                                                         \
                   : REAL(name)(child, path, actions, attributes, argv, environment);              \
    }
SPAWN(posix_spawn)
SPAWN(posix_spawnp)

/* ---- stdio: the error is in the stream too, as ferror() asks for it ---- */

static void mark(FILE *stream)
{
    stream->_flags |= 0x20; /* _IO_ERR_SEEN of glibc */
}

#define STREAM(type, name, kinds, failure, params, args)                                           \
    type name params                                                                               \
    {                                                                                              \
        if (!FAILS(FILES, kinds, name))                                                            \
            return REAL(name) args;                                                                \
        mark(stream);                                                                              \
        return failure;                                                                            \
    }

#define PRINTER(name, real, params, last, args)                                                    \
    int name params                                                                                \
    {                                                                                              \
        if (FAILS(FILES, PRINTS, name)) {                                                          \
            mark(stream);                                                                          \
            return -1;                                                                             \
        }                                                                                          \
        va_list list;                                                                              \
        va_start(list, last);                                                                      \
        int size = real args;                                                                      \
        va_end(list);                                                                              \
        return size;                                                                               \
    }

/* What is said on standard error can't be said better elsewhere. */
#define PRINTS (stream == stderr ? 0 : MAKES)
#define CLOSES ((stream->_flags & 8) != 0 ? 0 : MAKES) /* 8: _IO_NO_WRITES of glibc */

CALL(FILE *, fopen, (strchr(mode, 'r') != NULL ? ASKS : MAKES), NULL,
     (const char *path, const char *mode), (path, mode))
CALL(FILE *, fdopen, ASKS, NULL, (int fd, const char *mode), (fd, mode))
STREAM(size_t, fread, ASKS, 0, (void *to, size_t size, size_t count, FILE *stream),
       (to, size, count, stream))
size_t __fread_chk(void *to, size_t room, size_t size, size_t count, FILE *stream);
STREAM(size_t, __fread_chk, ASKS, 0,
       (void *to, size_t room, size_t size, size_t count, FILE *stream),
       (to, room, size, count, stream))
STREAM(size_t, fwrite, PRINTS, 0, (const void *from, size_t size, size_t count, FILE *stream),
       (from, size, count, stream))
STREAM(int, fflush, PRINTS, EOF, (FILE * stream), (stream))
STREAM(int, fputs, PRINTS, EOF, (const char *text, FILE *stream), (text, stream))
STREAM(int, fputc, PRINTS, EOF, (int c, FILE *stream), (c, stream))
STREAM(int, putc, PRINTS, EOF, (int c, FILE *stream), (c, stream))
STREAM(int, getc, ASKS, EOF, (FILE * stream), (stream))
STREAM(int, fgetc, ASKS, EOF, (FILE * stream), (stream))
STREAM(char *, fgets, ASKS, NULL, (char *to, int size, FILE *stream), (to, size, stream))
STREAM(int, __uflow, ASKS, EOF, (FILE * stream), (stream)) /* of getc_unlocked() */
STREAM(ssize_t, getline, ASKS, -1, (char **line, size_t *size, FILE *stream), (line, size, stream))
CALL(int, fclose, CLOSES, (REAL(fclose)(stream), EOF), (FILE * stream), (stream))
CALL(int, fseek, ASKS, -1, (FILE * stream, long at, int whence), (stream, at, whence))
CALL(int, fseeko, ASKS, -1, (FILE * stream, off_t at, int whence), (stream, at, whence))

int puts(const char *text)
{
    FILE *stream = stdout;
    if (!FAILS(FILES, PRINTS, puts))
        return REAL(puts)(text);
    mark(stream);
    return EOF;
}

int putchar(int c)
{
    FILE *stream = stdout;
    if (!FAILS(FILES, PRINTS, putchar))
        return REAL(putchar)(c);
    mark(stream);
    return EOF;
}

STREAM(int, vfprintf, PRINTS, -1, (FILE * stream, const char *format, va_list args),
       (stream, format, args))
int __vfprintf_chk(FILE *stream, int flag, const char *format, va_list args);
STREAM(int, __vfprintf_chk, PRINTS, -1, (FILE * stream, int flag, const char *format, va_list args),
       (stream, flag, format, args))
PRINTER(fprintf, vfprintf, (FILE * stream, const char *format, ...), format, (stream, format, list))
int __fprintf_chk(FILE *stream, int flag, const char *format, ...);
PRINTER(__fprintf_chk, vfprintf, (FILE * stream, int flag, const char *format, ...), format,
        (((void)flag, stream), format, list))

int printf(const char *format, ...)
{
    FILE *stream = stdout;
    if (FAILS(FILES, PRINTS, printf)) {
        mark(stream);
        return -1;
    }
    va_list args;
    va_start(args, format);
    int size = vfprintf(stdout, format, args);
    va_end(args);
    return size;
}

int __printf_chk(int flag, const char *format, ...);
int __printf_chk(int flag, const char *format, ...)
{
    FILE *stream = stdout;
    (void)flag;
    if (FAILS(FILES, PRINTS, printf)) {
        mark(stream);
        return -1;
    }
    va_list args;
    va_start(args, format);
    int size = vfprintf(stdout, format, args);
    va_end(args);
    return size;
}

/* ---- RocksDB ---- */

static void set_error(char **error)
{
    *error = REAL(strdup)("IO error: a call was made to fail: Input/output error");
}

/* `after`: it is done, but the caller is told that it is not. */
#define DB_CALL(name, params, args)                                                                \
    void name params                                                                               \
    {                                                                                              \
        bool failing = FAILS(DB, MAKES | TELLS, name);                                             \
        if (!failing || fails_after())                                                             \
            REAL(name) args;                                                                       \
        if (failing && *error == NULL)                                                             \
            set_error(error);                                                                      \
    }

#define DB_GETTER(type, name, params, args)                                                        \
    type name params                                                                               \
    {                                                                                              \
        if (!FAILS(DB, ASKS, name))                                                                \
            return REAL(name) args;                                                                \
        set_error(error);                                                                          \
        return NULL;                                                                               \
    }

DB_GETTER(rocksdb_t *, rocksdb_open, (const rocksdb_options_t *o, const char *path, char **error),
          (o, path, error))
DB_GETTER(rocksdb_t *, rocksdb_open_for_read_only,
          (const rocksdb_options_t *o, const char *path, unsigned char strict, char **error),
          (o, path, strict, error))
DB_GETTER(rocksdb_checkpoint_t *, rocksdb_checkpoint_object_create, (rocksdb_t * db, char **error),
          (db, error))
DB_GETTER(char *, rocksdb_get,
          (rocksdb_t * db, const rocksdb_readoptions_t *o, const char *key, size_t key_size,
           size_t *size, char **error),
          (db, o, key, key_size, size, error))
DB_GETTER(rocksdb_pinnableslice_t *, rocksdb_get_pinned,
          (rocksdb_t * db, const rocksdb_readoptions_t *o, const char *key, size_t key_size,
           char **error),
          (db, o, key, key_size, error))
DB_CALL(rocksdb_put,
        (rocksdb_t * db, const rocksdb_writeoptions_t *o, const char *key, size_t key_size,
         const char *value, size_t size, char **error),
        (db, o, key, key_size, value, size, error))
DB_CALL(rocksdb_write,
        (rocksdb_t * db, const rocksdb_writeoptions_t *o, rocksdb_writebatch_t *batch,
         char **error),
        (db, o, batch, error))
DB_CALL(rocksdb_flush, (rocksdb_t * db, const rocksdb_flushoptions_t *o, char **error),
        (db, o, error))
DB_CALL(rocksdb_checkpoint_create,
        (rocksdb_checkpoint_t * checkpoint, const char *path, uint64_t log_bytes, char **error),
        (checkpoint, path, log_bytes, error))
DB_CALL(rocksdb_iter_get_error, (const rocksdb_iterator_t *it, char **error), (it, error))
DB_CALL(rocksdb_get_options_from_string,
        (const rocksdb_options_t *base, const char *text, rocksdb_options_t *to, char **error),
        (base, text, to, error))

/* ---- The begin ---- */

static const struct {
    const char *name;
    int number, kinds;
} ways[] = {
    {"EIO", EIO, ASKS | MAKES},        {"ENOSPC", ENOSPC, MAKES}, {"EINTR", EINTR, WAITS},
    {"ENOMEM", ENOMEM, ASKS},          {"short", 0, MOVES},       {"after", 0, TELLS},
    {"ECONNRESET", ECONNRESET, TALKS},
};

/* NULL: there is none, or it can't be made. */
static void *map_file(const char *path, size_t size)
{
    int fd = path != NULL ? REAL(open)(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666) : -1;
    if (fd < 0)
        return NULL;
    void *memory = MAP_FAILED;
    if (REAL(ftruncate)(fd, (off_t)size) == 0)
        memory = REAL(mmap)(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    REAL(close)(fd);
    return memory == MAP_FAILED ? NULL : memory;
}

static void read_wishes(void)
{
    static const char *const classes[] = {"",        "alloc", "lib_alloc", "file",
                                          "db_file", "db",    "net",       "http"};
    const char *class = getenv("NTH_CLASS"), *how = getenv("NTH_HOW"), *at = getenv("NTH_AT");
    for (int i = 1; class != NULL && i <= HTTP; i++)
        if (strcmp(class, classes[i]) == 0)
            wanted_class = (enum class)i;
    for (size_t i = 0; how != NULL && i < sizeof ways / sizeof *ways; i++) {
        if (strcmp(how, ways[i].name) != 0)
            continue;
        wanted_errno = ways[i].number;
        wanted_kinds = ways[i].kinds;
        is_short = strcmp(how, "short") == 0;
        is_after = strcmp(how, "after") == 0;
    }
    wanted_at = at != NULL ? strtoull(at, NULL, 10) : 0;
    is_sticky = getenv("NTH_STICKY") != NULL;
    report = map_file(getenv("NTH_REPORT"), REPORT_BYTES);
    if (wanted_class == NONE || wanted_kinds == 0 || report == NULL) {
        fputs("fail_nth: NTH_CLASS, NTH_HOW or NTH_REPORT is not usable\n", stderr);
        _exit(99);
    }
    sites = map_file(getenv("NTH_SITES"), (size_t)SITES_MAX * sizeof *sites);
}

__attribute__((constructor)) static void begin(void)
{
    bool first = true;
    static const char *const names[] = {"LD_PRELOAD", "NTH_CLASS",  "NTH_HOW",  "NTH_AT",
                                        "NTH_STICKY", "NTH_REPORT", "NTH_SITES"};
    void *frame;
    inside = true;
    report = &none;
    read_wishes();
    if (sites != NULL)
        (void)backtrace(&frame, 1); /* it loads a library, the first time */
    dl_iterate_phdr(note_object, &first);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
    inside = false;
}

static int (*real_main)(int, char **, char **);

static int armed_main(int argc, char **argv, char **environment)
{
    armed = true;
    int status = real_main(argc, argv, environment);
    armed = false;
    return status;
}

void exit(int status)
{
    armed = false;
    REAL(exit)(status);
    __builtin_unreachable();
}

typedef int main_function(int, char **, char **);
int __libc_start_main(main_function *main, int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*rtld_fini)(void), void *stack_end);
int __libc_start_main(main_function *main, int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*rtld_fini)(void), void *stack_end)
{
    real_main = main;
    return REAL(__libc_start_main)(armed_main, argc, argv, init, fini, rtld_fini, stack_end);
}
