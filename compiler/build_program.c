/*
 * build_program.c: the C compiler on generated C.
 *
 * Headers and archive are found beside this program (build/pipec: ../runtime and build/libpipe.a),
 * or under PIPEC_HOME. No shell is involved; the program is put in place by a rename.
 */
#include "command.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { FLAGS_MAX_BYTES = 64 * 1024 };
enum { PROGRAM_BYTES = 64 << 20 }; /* of a program and what the C compiler makes on the way */

typedef VEC(const char *) word_list;

/* The directory of this program; NULL after a message. */
static const char *own_directory(struct arena *arena)
{
    char path[PATH_MAX];
    ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
    if (size <= 0) {
        complain("cannot find my own place: %s", strerror(errno));
        return NULL;
    }
    path[size] = '\0';
    char *slash = strrchr(path, '/');
    return arena_strndup(arena, path, slash == NULL ? 0 : (size_t)(slash - path));
}

/* The directories to look in, one after the other, for a file. */
struct place {
    const char *base, *below;
};

/* NULL: it is in none of them, or after a message: *failed. */
static const char *find_file(struct arena *arena, const struct place *places, size_t count,
                             const char *name, bool *failed)
{
    for (size_t i = 0; i < count; i++) {
        if (places[i].base == NULL)
            continue;
        const char *path = arena_printf(arena, "%s%s/%s", places[i].base, places[i].below, name);
        if (access(path, R_OK) == 0)
            return path;
        *failed = errno != ENOENT && errno != ENOTDIR;
        if (*failed) {
            complain("cannot read `%s`: %s", path, strerror(errno));
            return NULL;
        }
    }
    return NULL;
}

struct surroundings {
    const char *headers, *archive, *flags;
};

static bool find_surroundings(struct arena *arena, struct surroundings *found)
{
    const char *home = getenv("PIPEC_HOME");
    const char *own = own_directory(arena);
    if (home != NULL && home[0] == '\0')
        home = NULL;
    if (own == NULL)
        return false;
    const struct place header_places[] = {
        {home, "/runtime"}, {own, "/../runtime"}, {own, "/../../runtime"}};
    const struct place archive_places[] = {{home, ""}, {own, ""}, {home, "/build"}};
    bool failed = false;
    const char *header = find_file(arena, header_places, home != NULL ? 1 : 3, "pipe.h", &failed);
    if (!failed && header == NULL && home != NULL) {
        complain(
            "PIPEC_HOME names `%s`, where `runtime/pipe.h` is not; set it to the directory that "
            "holds runtime/ and libpipe.a, or unset it",
            home);
        return false;
    }
    if (!failed)
        found->archive = find_file(arena, archive_places, 3, "libpipe.a", &failed);
    if (failed)
        return false;
    if (header == NULL || found->archive == NULL) {
        complain("cannot find `%s`, neither near `%s` nor %s%s%s",
                 header == NULL ? "runtime/pipe.h" : "libpipe.a", own,
                 home != NULL ? "in PIPEC_HOME, `" : "by PIPEC_HOME, which is not set",
                 home != NULL ? home : "", home != NULL ? "`" : "");
        return false;
    }
    found->headers = arena_strndup(arena, header, strlen(header) - strlen("/pipe.h"));
    found->flags =
        arena_printf(arena, "%.*sflags", (int)strlen(found->archive) - 1, found->archive);
    return true;
}

static void add_words(struct arena *arena, word_list *words, const char *text)
{
    static const char blanks[] = " \t\r\n";
    while (text != NULL) {
        text += strspn(text, blanks);
        size_t size = strcspn(text, blanks);
        if (size == 0)
            return;
        vec_push(arena, words, arena_strndup(arena, text, size));
        text += size;
    }
}

/* The libraries to link, written beside the archive when it was made; NULL after a message. */
static const char *read_flags(struct arena *arena, const char *path)
{
    char *text = arena_alloc(arena, FLAGS_MAX_BYTES + 1);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        complain("cannot read `%s`: %s", path, strerror(errno));
        return NULL;
    }
    size_t size = fread(text, 1, FLAGS_MAX_BYTES, file);
    bool failed = ferror(file) != 0;
    fclose(file);
    if (failed) {
        complain("cannot read `%s`: %s", path, strerror(errno));
        return NULL;
    }
    text[size] = '\0';
    return text;
}

static bool make_directories(struct arena *arena, const char *file_path)
{
    for (const char *slash = strchr(file_path, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        if (slash == file_path)
            continue;
        const char *directory = arena_strndup(arena, file_path, (size_t)(slash - file_path));
        struct stat status;
        if (mkdir(directory, 0777) == 0)
            continue;
        if (errno == EEXIST && stat(directory, &status) == 0 && !S_ISDIR(status.st_mode))
            errno = ENOTDIR;
        if (errno != EEXIST) {
            complain("cannot make the directory `%s`: %s", directory, strerror(errno));
            return false;
        }
    }
    return true;
}

/* The exit status of the command; -1 after a message. */
static int run(const word_list *words)
{
    char *const *argv = (char *const *)(const void *)words->items; /* not written to */
    pid_t child;
    int error = posix_spawnp(&child, argv[0], NULL, NULL, argv, environ);
    if (error != 0) {
        complain("cannot run the C compiler `%s`: %s; name one in CC", argv[0], strerror(error));
        return -1;
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) {
            complain("lost the C compiler: %s", strerror(errno));
            return -1;
        }
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* The directory of a file; "." if it has none. */
static const char *directory_of(struct arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL)
        return ".";
    return arena_strndup(arena, path, slash == path ? 1 : (size_t)(slash - path));
}

/* Whether a file system on which the C compiler writes is full, or nearly: told if so. */
static bool tell_full_disk(struct arena *arena, const char *program_path)
{
    const char *temporary = getenv("TMPDIR");
    if (temporary == NULL || temporary[0] == '\0')
        temporary = "/tmp";
    const char *places[] = {directory_of(arena, program_path), temporary};
    for (size_t i = 0; i < 2; i++) {
        struct statvfs disk;
        if (statvfs(places[i], &disk) != 0)
            continue;
        uint64_t free_bytes = (uint64_t)disk.f_bavail * disk.f_frsize;
        if (free_bytes >= PROGRAM_BYTES && (disk.f_files == 0 || disk.f_favail > 0))
            continue;
        complain("the C compiler could not write `%s`: %s; the file system of `%s` has %" PRIu64
                 " KiB free. Make room there%s",
                 program_path, strerror(ENOSPC), places[i], free_bytes / 1024,
                 i == 0 ? ", or name another place with -o" : ", or set TMPDIR to another place");
        return true;
    }
    return false;
}

static int compile(struct arena *arena, const struct surroundings *found, const char *c_path,
                   const char *program_path, bool quick)
{
    static const char quick_flags[] = "-std=gnu11 -O0 -w -fPIE -pie -Wl,-z,relro,-z,now";
    static const char base_flags[] =
        "-std=gnu11 -O2 -Wall -Wextra -Werror -fstack-protector-strong -D_FORTIFY_SOURCE=2 -fPIE "
        "-pie -Wl,-z,relro,-z,now";
    const char *compiler = getenv("CC");
    const char *libraries = read_flags(arena, found->flags);
    struct stat there;
    if (libraries == NULL || !make_directories(arena, program_path))
        return 1;
    bool exists = stat(program_path, &there) == 0;
    if (exists && !S_ISREG(there.st_mode)) { /* a device, say */
        complain("cannot write `%s`: it is not a regular file, which a program replaces",
                 program_path);
        return 1;
    }
    if (exists && there.st_size > 0 && (there.st_mode & 0111) == 0) { /* a source, a run's file */
        complain("cannot write `%s`: it is no program, and would be replaced by one; remove it, or "
                 "name another with -o",
                 program_path);
        return 1;
    }
    const char *unfinished = arena_printf(arena, "%s.%ld.new", program_path, (long)getpid());
    word_list words = {0};
    add_words(arena, &words, compiler);
    if (words.count == 0)
        vec_push(arena, &words, "cc");
    add_words(arena, &words, quick ? quick_flags : base_flags);
    add_words(arena, &words, getenv("CFLAGS"));
    vec_push(arena, &words, "-I");
    vec_push(arena, &words, found->headers);
    vec_push(arena, &words, "-o");
    vec_push(arena, &words, unfinished);
    vec_push(arena, &words, c_path);
    vec_push(arena, &words, found->archive);
    add_words(arena, &words, libraries);
    vec_push(arena, &words, NULL);

    int status = run(&words);
    if (status == 0 && rename(unfinished, program_path) != 0) {
        tell_file_error("write", program_path, errno);
        status = -1;
    } else if (status > 0 && tell_full_disk(arena, program_path)) {
        status = -1;
    } else if (status > 0) {
        complain(
            "the C compiler stopped with %d on `%s`; its messages are above. Unless CC, CFLAGS "
            "or a missing library caused it, this is a fault of pipec",
            status, c_path);
    }
    if (status != 0)
        unlink(unfinished);
    return status == 0 ? 0 : status < 0 ? 1 : 4;
}

int build_program(const char *c_path, const char *program_path, bool quick)
{
    struct arena *arena = arena_new();
    struct surroundings found;
    int code = 1;
    if (find_surroundings(arena, &found))
        code = compile(arena, &found, c_path, program_path, quick);
    arena_free(arena);
    return code;
}
