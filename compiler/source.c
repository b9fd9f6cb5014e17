/*
 * source.c: files read whole, and the places in them.
 *
 * A source is UTF-8 without a byte-order mark and without NUL bytes, or it is not made: the passes
 * behind may take text for text.
 */
#include "pipec.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The bytes of the UTF-8 sequence at `at`, 0 if it is none (overlong forms and surrogates are
 * none). */
size_t utf8_sequence(const char *at, size_t left, uint32_t *code_point)
{
    const unsigned char *s = (const unsigned char *)at;
    if (left == 0)
        return 0;
    if (s[0] < 0x80) {
        *code_point = s[0];
        return 1;
    }
    size_t size = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc2 || s[0] > 0xf4 || left < size)
        return 0;
    uint32_t value = s[0] & (0x7fu >> size);
    for (size_t i = 1; i < size; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        value = value << 6 | (s[i] & 0x3fu);
    }
    if ((size == 3 && value < 0x800) || (size == 4 && (value < 0x10000 || value > 0x10ffff)) ||
        (value >= 0xd800 && value <= 0xdfff))
        return 0;
    *code_point = value;
    return size;
}

static unsigned line_of(const char *text, size_t offset)
{
    unsigned line = 1;
    for (size_t i = 0; i < offset; i++)
        line += text[i] == '\n';
    return line;
}

/* False after a diagnostic: text that the passes can't take. */
static bool check_text(struct program *program, const char *path, const char *text, size_t size,
                       struct span where)
{
    if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        struct diag *diag =
            diag_error(program, PC5002, where, "`%s` starts with a byte-order mark", path);
        diag_help(diag, "save it as UTF-8 without a byte-order mark (BOM)");
        return false;
    }
    for (size_t i = 0; i < size;) {
        uint32_t code_point = 0;
        size_t step = utf8_sequence(text + i, size - i, &code_point);
        if (step > 0 && code_point != 0) {
            i += step;
            continue;
        }
        struct diag *diag = diag_error(program, PC5002, where, "`%s` is not UTF-8 text", path);
        diag_note(diag, "byte 0x%02x at offset %zu, in line %u, %s", (unsigned char)text[i], i,
                  line_of(text, i),
                  step > 0 ? "is a NUL" : "is not part of a valid UTF-8 sequence");
        diag_help(diag, "is this the right file? If so, save it as UTF-8");
        return false;
    }
    return true;
}

struct source *source_from_text(struct program *program, const char *path, const char *text,
                                size_t size_bytes)
{
    struct source *source = arena_alloc(program->arena, sizeof *source);
    source->path = arena_strndup(program->arena, path, strlen(path));
    source->text = arena_strndup(program->arena, text, size_bytes);
    source->size = size_bytes;
    return source;
}

static struct source *refuse(struct program *program, struct span where, const char *path,
                             const char *why, const char *help)
{
    struct diag *diag = diag_error(program, PC5001, where, "cannot read `%s`: %s", path, why);
    if (help != NULL)
        diag_help(diag, "%s", help);
    else if (path[0] != '/' && strcmp(program->root, ".") != 0)
        diag_help(diag, "paths are relative to `--root %s`", program->root);
    else if (path[0] != '/' && path[0] != '\0' && where.source != NULL)
        diag_help(diag, "paths are relative to the working directory; `--root DIR` names another");
    return NULL;
}

/* Reads at most limit + 1 bytes, so that a file that grows meanwhile is noticed; -1: errno. */
static ssize_t read_up_to(int fd, char *buffer, size_t limit)
{
    size_t size = 0;
    while (size <= limit) {
        ssize_t got = read(fd, buffer + size, limit + 1 - size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        size += (size_t)got;
    }
    return (ssize_t)size;
}

struct source *source_read(struct program *program, const char *path, size_t limit_bytes,
                           struct span where)
{
    if (path[0] == '\0')
        return refuse(program, where, path, "the path is empty", NULL);
    bool as_is = path[0] == '/' || strcmp(program->root, ".") == 0;
    const char *full = as_is ? path : arena_printf(program->arena, "%s/%s", program->root, path);
    int fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return refuse(program, where, path, strerror(errno), NULL);

    struct source *source = NULL;
    struct stat status;
    if (fstat(fd, &status) != 0) {
        refuse(program, where, path, strerror(errno), NULL);
    } else if (S_ISDIR(status.st_mode)) {
        refuse(program, where, path, "it is a directory", "name a file in it");
    } else if (!S_ISREG(status.st_mode)) {
        refuse(program, where, path, "it is not a regular file", "copy its content into a file");
    } else {
        /* st_size is a hint only: 0 in /proc, and the file may grow. */
        size_t room = (size_t)status.st_size < limit_bytes ? (size_t)status.st_size : limit_bytes;
        if (room == 0)
            room = limit_bytes;
        char *text = arena_alloc(program->arena, room + 2);
        ssize_t size = read_up_to(fd, text, room);
        if (size < 0) {
            refuse(program, where, path, strerror(errno), NULL);
        } else if ((size_t)size > limit_bytes) {
            refuse(program, where, path,
                   arena_printf(program->arena, "it is larger than %zu bytes", limit_bytes), NULL);
        } else if ((size_t)size > room) {
            refuse(program, where, path, "it changed while it was read", "try again");
        } else if (check_text(program, path, text, (size_t)size, where)) {
            text[size] = '\0';
            source = arena_alloc(program->arena, sizeof *source);
            source->path = arena_strndup(program->arena, path, strlen(path));
            source->text = text;
            source->size = (size_t)size;
        }
    }
    close(fd);
    return source;
}

struct source *source_read_input(struct program *program, size_t limit_bytes)
{
    static const char path[] = "-";
    char *text = arena_alloc(program->arena, limit_bytes + 2);
    ssize_t size = read_up_to(STDIN_FILENO, text, limit_bytes);
    if (size < 0)
        return refuse(program, (struct span){0}, path, strerror(errno), NULL);
    if ((size_t)size > limit_bytes)
        return refuse(program, (struct span){0}, path,
                      arena_printf(program->arena, "it is larger than %zu bytes", limit_bytes),
                      NULL);
    if (!check_text(program, path, text, (size_t)size, (struct span){0}))
        return NULL;
    return source_from_text(program, path, text, (size_t)size);
}

void span_position(struct span span, unsigned *line, unsigned *column)
{
    *line = 1;
    *column = 1;
    if (span.source == NULL)
        return;
    size_t end = span.begin < span.source->size ? span.begin : span.source->size;
    const char *text = span.source->text;
    for (size_t i = 0; i < end;) {
        uint32_t code_point = 0;
        size_t step = utf8_sequence(text + i, span.source->size - i, &code_point);
        i += step == 0 ? 1 : step;
        if (code_point == '\n') {
            ++*line;
            *column = 1;
        } else {
            ++*column;
        }
    }
}

struct span span_join(struct span first, struct span last)
{
    if (first.source == NULL)
        return last;
    if (last.source != first.source)
        return first;
    struct span joined = first;
    if (last.begin < joined.begin)
        joined.begin = last.begin;
    if (last.end > joined.end)
        joined.end = last.end;
    return joined;
}
