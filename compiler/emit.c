/* emit.c: generated/NAME/NAME.c, put together from its sections, and the writing of files. */
#define _GNU_SOURCE /* asprintf */
#include "emit.h"
#include "command.h"
#include "emit_artifacts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- files ---- */

/* False; says what errno means. */
static bool file_error(const char *doing, const char *path)
{
    tell_file_error(doing, path, errno);
    return false;
}

bool make_directory(const char *path)
{
    char *partial = strdup(path);
    if (partial == NULL)
        out_of_memory();
    bool good = true;
    for (char *at = partial + 1; good; at++) {
        if (*at != '/' && *at != '\0')
            continue;
        bool last = *at == '\0';
        *at = '\0';
        good = mkdir(partial, 0777) == 0 || errno == EEXIST ||
               file_error("make the directory", partial);
        if (last)
            break;
        *at = '/';
    }
    free(partial);
    struct stat status;
    if (good && stat(path, &status) != 0)
        return file_error("write into", path);
    if (good && !S_ISDIR(status.st_mode)) {
        errno = ENOTDIR;
        return file_error("write into", path);
    }
    return good;
}

static bool is_unchanged(const char *path, const struct text *text)
{
    struct stat about; /* to open a named pipe would wait for its writer */
    FILE *file = stat(path, &about) == 0 && S_ISREG(about.st_mode) ? fopen(path, "rb") : NULL;
    if (file == NULL)
        return false;
    char *have = malloc(text->size + 1);
    if (have == NULL)
        out_of_memory();
    size_t size = fread(have, 1, text->size + 1, file);
    bool same = ferror(file) == 0 && size == text->size &&
                (size == 0 || memcmp(have, text->data, size) == 0);
    fclose(file);
    free(have);
    return same;
}

static bool write_all(int fd, const struct text *text)
{
    for (size_t done = 0; done < text->size;) {
        ssize_t wrote = write(fd, text->data + done, text->size - done);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote < 0)
            return false;
        done += (size_t)wrote;
    }
    return true;
}

/* By a temporary file and rename, so that nobody ever reads half of it; equal content is left
 * alone. */
bool write_file(const char *directory, const char *name, const struct text *text)
{
    char *path = NULL, *temporary = NULL;
    if (asprintf(&path, "%s/%s", directory, name) < 0 ||
        asprintf(&temporary, "%s/.%s.XXXXXX", directory, name) < 0)
        out_of_memory();
    bool good = true;
    if (!is_unchanged(path, text)) {
        int fd = mkstemp(temporary);
        if (fd < 0) {
            good = file_error("write into", directory);
        } else {
            mode_t mask = umask(0);
            umask(mask);
            good = write_all(fd, text) && fchmod(fd, 0666 & ~mask) == 0;
            good = close(fd) == 0 && good;
            good = (good && rename(temporary, path) == 0) || file_error("write", path);
            if (!good)
                unlink(temporary);
        }
    }
    free(path);
    free(temporary);
    return good;
}

bool remove_file(const char *directory, const char *name)
{
    char *path = NULL;
    if (asprintf(&path, "%s/%s", directory, name) < 0)
        out_of_memory();
    bool good = unlink(path) == 0 || errno == ENOENT || file_error("remove", path);
    free(path);
    return good;
}

/* ---- the C file ---- */

static void emit_head(struct emitter *e)
{
    const char *name = e->program->name;
    emit_comment(
        e, 0,
        arena_printf(e->arena,
                     "%s.c: pipeline %s, compiled from %s by pipec. Change that file, not this.",
                     name, name, e->file));
    emit(e, 0, "#include \"pipe.h\"\n");
    emit(e, 0, "#if PIPE_RUNTIME_ABI != 1");
    emit(e, 0, "#error \"this file and libpipe do not fit together: compile the pipeline again\"");
    emit(e, 0, "#endif\n");
    if (!e->odd_comparisons)
        return;
    emit_comment(
        e, 0,
        "Some comparison of the pipeline may be constant to C. That is for the pipeline to say.");
    emit(e, 0, "#pragma GCC diagnostic ignored \"-Wtautological-compare\"");
    emit(e, 0, "#pragma GCC diagnostic ignored \"-Wtype-limits\"\n");
}

static void emit_section(struct emitter *e, struct text *out, enum section section)
{
    static const char *const titles[SECTION_COUNT] = {
        [SECTION_TYPES] = "Rows",
        [SECTION_INDEXES] = "Indexes in the tables below",
        [SECTION_DESCRIPTORS] = "What the runtime knows of the rows",
        [SECTION_DECODERS] = "Decoders, one a version of a contract",
        [SECTION_CONTRACTS] = "Contracts",
        [SECTION_REGEXES] = "Regular expressions",
        [SECTION_LISTS] = "Constants behind `in`, sorted",
        [SECTION_ENCODERS] = "JSON",
        [SECTION_PROTOTYPES] = "Streams, in the order of the data",
        [SECTION_STREAMS] = NULL,
        [SECTION_SOURCES] = "Records",
        [SECTION_TABLES] = "The plan",
    };
    struct text *text = &e->sections[section];
    if (text->size == 0)
        return;
    while (text->size > 1 && text->data[text->size - 1] == '\n' &&
           text->data[text->size - 2] == '\n')
        text->data[--text->size] = '\0';
    text_puts(out, "\n");
    if (titles[section] != NULL) {
        text_printf(out, "/* ");
        for (size_t i = 0; i < EMIT_COLUMNS - 6; i++)
            text_puts(out, "-");
        text_printf(out, "\n * %s\n * ", titles[section]);
        for (size_t i = 0; i < EMIT_COLUMNS - 6; i++)
            text_puts(out, "-");
        text_puts(out, " */\n\n");
    }
    text_add(out, text->data, text->size);
}

static void emit_c(struct emitter *e, struct text *out)
{
    emit_indexes(e);
    emit_streams(e);
    emit_sources(e);
    emit_streams(e); /* reject streams that only sources feed */
    emit_tables(e);
    e->out = out;
    emit_head(e);
    while (out->size > 1 && out->data[out->size - 2] == '\n')
        out->data[--out->size] = '\0';
    for (enum section section = 0; section < SECTION_COUNT; section++)
        emit_section(e, out, section);
}

static void find_lines(struct emitter *e)
{
    const struct source *source = e->program->source;
    vec_push(e->arena, &e->line_starts, 0);
    for (size_t i = 0; source != NULL && i < source->size; i++)
        if (source->text[i] == '\n')
            vec_push(e->arena, &e->line_starts, (uint32_t)i + 1);
}

bool emit_all(struct program *program, const char *directory)
{
    const char *path = program->source != NULL ? program->source->path : program->name;
    const char *slash = strrchr(path, '/');
    struct emitter e = {.program = program,
                        .arena = program->arena,
                        .plan = program->plan,
                        .file = slash != NULL ? slash + 1 : path};
    find_lines(&e);
    name_everything(&e);
    view_streams(&e);
    struct text out = {0};
    emit_c(&e, &out);
    const char *folder = arena_printf(program->arena, "%s/%s", directory, program->name);
    bool good = make_directory(folder) &&
                write_file(folder, arena_printf(program->arena, "%s.c", program->name), &out) &&
                emit_artifacts(&e, folder);
    text_free(&out);
    for (size_t i = 0; i < SECTION_COUNT; i++)
        text_free(&e.sections[i]);
    return good;
}
