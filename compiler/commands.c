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

/* The pipeline's name becomes the name of files: false, after a message, if it could leave its
 * place. */
static bool is_file_name(const char *name)
{
    size_t size = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");
    if (size > 0 && name[size] == '\0' && name[0] != '-')
        return true;
    complain("the pipeline's name is used for files and must be letters, digits, `_` and `-`, not "
             "`%s`",
             name);
    return false;
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
        if (!is_file_name(name) || !emit_all(program, options->generated))
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

/* Replaces the content of a file by a rename in its directory; false after a message. */
bool replace_file(struct arena *arena, const char *path, const struct text *text)
{
    char *real = realpath(path, NULL); /* a link stays a link */
    if (real == NULL) {
        complain("cannot write `%s`: %s", path, strerror(errno));
        return false;
    }
    const char *unfinished = arena_printf(arena, "%s.%ld.new", real, (long)getpid());
    struct stat status;
    FILE *file = fopen(unfinished, "wxe");
    bool written = file != NULL && fwrite(text->data, 1, text->size, file) == text->size &&
                   fflush(file) == 0 && stat(real, &status) == 0 &&
                   fchmod(fileno(file), status.st_mode & 07777) == 0 && fsync(fileno(file)) == 0;
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
        complain("cannot write `%s`: %s", path, strerror(error));
        if (file != NULL)
            unlink(unfinished);
    }
    free(real);
    return written;
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
        code |= fmt_file(options, options->files[i]);
    return flush_stdout() ? code : 1;
}

int command_test(const struct options *options)
{
    struct program *program = open_program(options, options->files[0]);
    int code = 0;
    if (check_program(program))
        code = is_file_name(program->name) ? test_program(program, options) : 1;
    return close_program(options, program, code);
}

int command_contracts(const struct options *options)
{
    struct program *program = program_new(options->root);
    int code = contracts_check_directory(program, options->files[0], stdout);
    if (!flush_stdout())
        code = 1;
    return close_program(options, program, code);
}

static void print_overview(void)
{
    static const char *const lines[] = {
        "pipec compiles a pipeline (a .pipe file) to C, and that C to a native program.",
        "",
        "  pipec check shop.pipe             is it right? Prints every error, or nothing",
        "  pipec --explain shop.pipe         the plan: stages, state and its bounds, guarantees",
        "  pipec shop.pipe                   write generated/shop/shop.c",
        "  pipec build shop.pipe             also run the C compiler: build/shop",
        "  pipec test shop.pipe              run its `test` statements: rows in, rows out",
        "  pipec fmt shop.pipe               rewrite in the canonical layout, comments kept",
        "  pipec contracts check contracts   are all schema versions compatible?",
        "  pipec help PC3104                 what an error means, with an example",
        "",
        "Options",
        "  --root DIR              paths in the file are relative to DIR (default: here)",
        "  --diagnostics=json      errors as one JSON object a line, on standard error",
        "  -o DIR, --out DIR       where the C goes (default: generated)",
        "  build: -o FILE          the program (default: build/NAME); --out DIR as above",
        "  fmt: --check            change nothing; name the files that would change, exit 1",
        "  test: --only TITLE      only this test",
        "        --update          write the rows that came out into the file; exit 1 if it "
        "changed",
        "        -v                name the tests that passed, too",
        "  --explain: --format text|json|mermaid|dot    --stage ast|logical|physical",
        "             --rate 5000/s                     size the state for that many records",
        "  --version, --help",
        "",
        "A first pipeline, hello.pipe: rows of a file, the long words kept",
        "",
        "  pipeline hello;",
        "",
        "  source lines",
        "    from file 'words.csv' format csv",
        "    columns (word string, size int32)",
        "    rejects to bad;",
        "",
        "  stream long from lines",
        "    where size > 3;",
        "",
        "  sink out from long to file 'long.jsonl' format jsonl at least once;",
        "  sink refused from bad to file 'bad.jsonl' format jsonl at least once;",
        "",
        "  pipec build hello.pipe && build/hello run",
        "",
        "A test runs three ways: straight; stopped and restored after every row; with every commit",
        "refused once. The language is in docs/language.md.",
        "",
        "Environment: CC and CFLAGS for build and test; PIPEC_HOME, where runtime/ and libpipe.a "
        "are.",
        "Exit codes: 0 ok, 1 errors in the program, 2 usage, 4 a fault of pipec.",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        puts(lines[i]);
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

int command_help(const char *topic)
{
    if (topic == NULL) {
        print_overview();
        return flush_stdout() ? 0 : 1;
    }
    for (size_t i = 0; i < help_text_count; i++) {
        if (strcasecmp(help_texts[i].code, topic) == 0) {
            print_help(&help_texts[i]);
            return flush_stdout() ? 0 : 1;
        }
    }
    complain("`%s` is not the code of a message; one looks like PC3104 and stands in [ ] behind "
             "`error` or `warning`",
             topic);
    return 2;
}
