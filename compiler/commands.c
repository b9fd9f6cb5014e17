/*
 * commands.c: the commands. compile_file() is the table of contents of the compiler.
 */
#include "command.h"
#include "help.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

void complain(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("pipec: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}

bool flush_stdout(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return true;
    complain("cannot write to standard output: %s", strerror(errno));
    return false;
}

/* The program of a file whose text is read but not yet parsed; `source` NULL after a diagnostic. */
static struct program *open_program(const struct options *options, const char *path)
{
    struct program *program = program_new(".");
    program->source = source_read(program, path, SOURCE_MAX_BYTES, (struct span){0});
    /* The file itself was named relative to the working directory, what it names is not. */
    program->root = options->root;
    return program;
}

/* Prints what there is to say and releases the program; 1 if it has errors, else `code`. */
static int close_program(const struct options *options, struct program *program, int code)
{
    if (diag_error_count(program) > 0)
        code = 1;
    fflush(stdout);
    diag_print(program, stderr, options->json_diagnostics);
    program_free(program);
    return code;
}

/* The passes up to the plan; false: there are errors. */
static bool check_program(struct program *program)
{
    if (program->source == NULL)
        return false;
    parse(program, program->source);
    if (diag_error_count(program) > 0)
        return false;
    resolve(program);
    if (diag_error_count(program) > 0)
        return false;
    check_tests(program);
    if (diag_error_count(program) > 0)
        return false;
    plan_program(program);
    return diag_error_count(program) == 0;
}

int command_check(const struct options *options)
{
    int code = 0;
    for (size_t i = 0; i < options->file_count; i++) {
        struct program *program = open_program(options, options->files[i]);
        check_program(program);
        code |= close_program(options, program, 0);
    }
    return code;
}

/* Compiles one file to C and, if `build`, to a program. */
static int compile_file(const struct options *options, bool build)
{
    struct program *program = open_program(options, options->files[0]);
    int code = 0;
    if (check_program(program)) {
        const char *name = program->name;
        const char *c_path =
            arena_printf(program->arena, "%s/%s/%s.c", options->generated, name, name);
        const char *made = options->program_path != NULL
                               ? options->program_path
                               : arena_printf(program->arena, "build/%s", name);
        if (!emit_all(program, options->generated))
            code = 1;
        else if (build)
            code = build_program(c_path, made, false);
        if (code == 0)
            printf("%s -> %s\n", name, build ? made : c_path);
        if (!flush_stdout())
            code = 1;
    }
    return close_program(options, program, code);
}

int command_compile(const struct options *options)
{
    return compile_file(options, false);
}

int command_build(const struct options *options)
{
    return compile_file(options, true);
}

int command_explain(const struct options *options)
{
    struct program *program = open_program(options, options->files[0]);
    bool usable = false;
    if (options->stage == EXPLAIN_AST && program->source != NULL) {
        parse(program, program->source);
        usable = diag_error_count(program) == 0;
    } else {
        usable = check_program(program);
    }
    int code = 0;
    if (usable) {
        struct text out = {0};
        explain(program, options->stage, options->format, options->rate_per_second, &out);
        fwrite(out.data, 1, out.size, stdout);
        text_free(&out);
        if (!flush_stdout())
            code = 1;
    }
    return close_program(options, program, code);
}

static bool synced(int fd)
{
    int status;
    do
        status = fsync(fd);
    while (status != 0 && errno == EINTR);
    return status == 0;
}

void tell_file_error(const char *doing, const char *path, int error)
{
    complain("cannot %s `%s`: %s", doing, path, strerror(error));
    if (error == EACCES || error == EROFS)
        fprintf(stderr, "  = help: make it writable\n");
    if (error == ENOSPC || error == EDQUOT)
        fprintf(stderr, "  = help: make room on its disk, or write to another one\n");
}

/* Replaces the content of a file by a rename in its directory; false after a message. */
bool replace_file(struct arena *arena, const char *path, const struct text *text)
{
    char *real = realpath(path, NULL); /* a link stays a link */
    if (real == NULL) {
        tell_file_error("write", path, errno);
        return false;
    }
    const char *unfinished = arena_printf(arena, "%s.%ld.new", real, (long)getpid());
    struct stat status;
    FILE *file = fopen(unfinished, "wxe");
    bool written = file != NULL && fwrite(text->data, 1, text->size, file) == text->size &&
                   fflush(file) == 0 && stat(real, &status) == 0 &&
                   fchmod(fileno(file), status.st_mode & 07777) == 0 && synced(fileno(file));
    int error = errno;
    if (file != NULL && fclose(file) != 0 && written) {
        written = false;
        error = errno;
    }
    if (written && rename(unfinished, real) != 0) {
        written = false;
        error = errno;
    }
    if (!written) {
        tell_file_error("write", path, error);
        if (file != NULL)
            unlink(unfinished);
    }
    free(real);
    return written;
}

/* Standard input in the canonical layout on standard output: for editors. */
static int fmt_input(const struct options *options)
{
    struct program *program = program_new(".");
    struct text out = {0};
    int code = 0;
    program->source = source_read_input(program, SOURCE_MAX_BYTES);
    if (program->source != NULL && format_program(program, program->source, &out)) {
        bool same = out.size == program->source->size &&
                    memcmp(out.data, program->source->text, out.size) == 0;
        if (!options->check_only)
            fwrite(out.data, 1, out.size, stdout);
        else if (!same)
            puts("-");
        code = !same && options->check_only;
    }
    text_free(&out);
    return close_program(options, program, code);
}

static int fmt_file(const struct options *options, const char *path)
{
    struct program *program = open_program(options, path);
    struct text out = {0};
    int code = 0;
    if (program->source != NULL && format_program(program, program->source, &out)) {
        bool same = out.size == program->source->size &&
                    memcmp(out.data, program->source->text, out.size) == 0;
        if (!same && options->check_only)
            code = 1;
        else if (!same && !replace_file(program->arena, path, &out))
            code = 1;
        if (!same && (options->check_only || code == 0))
            printf("%s\n", path);
    }
    text_free(&out);
    return close_program(options, program, code);
}

int command_fmt(const struct options *options)
{
    int code = 0;
    for (size_t i = 0; i < options->file_count; i++)
        code |= strcmp(options->files[i], "-") == 0 ? fmt_input(options)
                                                    : fmt_file(options, options->files[i]);
    return flush_stdout() ? code : 1;
}

int command_test(const struct options *options)
{
    struct program *program = open_program(options, options->files[0]);
    int code = 0;
    if (check_program(program))
        code = test_program(program, options);
    return close_program(options, program, code);
}

int command_contracts(const struct options *options)
{
    struct program *program = program_new(options->root);
    struct text summary = {0};
    int code = contracts_check_directory(program, options->files[0], stdout, &summary);
    bool had_errors = diag_error_count(program) > 0;
    code = close_program(options, program, code);
    if (had_errors && !options->json_diagnostics)
        fflush(stderr);
    fputs(summary.data, stdout);
    text_free(&summary);
    return flush_stdout() ? code : 1;
}

static void print_indented(const char *text)
{
    while (*text != '\0') {
        size_t size = strcspn(text, "\n");
        printf(size > 0 ? "    %.*s\n" : "\n", (int)size, text);
        text += size;
        text += *text == '\n';
    }
}

static void print_help(const struct help_text *help)
{
    printf("%s: %s\n", help->code, help->title);
    if (help->explanation[0] != '\0')
        printf("\n%s", help->explanation);
    if (help->example[0] != '\0') {
        puts("\nFor example,\n");
        print_indented(help->example);
    }
    if (help->output[0] != '\0') {
        puts("\ngives\n");
        print_indented(help->output);
    }
}

/* The codes that share most with what was asked for. */
static int unknown_topic(const char *topic)
{
    const char *shape = topic + strspn(topic, "PCWpcw");
    bool is_code = shape != topic && shape[strspn(shape, "0123456789")] == '\0';
    const char *near = "";
    char list[256] = "";
    size_t least = strncasecmp(topic, "PC", 2) == 0 ? 3 : 1, best = least, used = 0;
    for (size_t i = 0; is_code && i < help_text_count; i++) {
        const char *code = help_texts[i].code;
        size_t same = 0;
        while (code[same] != '\0' && toupper((unsigned char)topic[same]) == code[same])
            same++;
        if (same > best) {
            best = same;
            used = 0;
        }
        if (same == best && best >= least && used < 60)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", used > 0 ? ", " : "",
                                     code);
    }
    if (used > 0)
        near = list;
    if (is_code)
        complain(*near ? "there is no message %s; near it: %s"
                       : "there is no message %s; docs/errors.md lists all%s",
                 topic, near);
    else
        complain("`%s` is neither the code of a message, as PC3104, nor a command, a statement, a "
                 "clause or "
                 "a function",
                 topic);
    return 2;
}

int command_help(const char *topic)
{
    if (topic == NULL) {
        print_overview();
        return flush_stdout() ? 0 : 1;
    }
    bool is_command = print_command_help(topic);
    if (is_command && strcmp(topic, "test") == 0)
        puts("\nThe statement:\n");
    if ((!is_command || strcmp(topic, "test") == 0) && print_word_help(topic))
        is_command = true;
    if (is_command)
        return flush_stdout() ? 0 : 1;
    for (size_t i = 0; i < help_text_count; i++) {
        if (strcasecmp(help_texts[i].code, topic) == 0) {
            print_help(&help_texts[i]);
            return flush_stdout() ? 0 : 1;
        }
    }
    return unknown_topic(topic);
}
