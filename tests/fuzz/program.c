/*
 * program.c: a whole .pipe file: parsed, resolved, checked, planned, explained in every format, and
 * compiled to C. The input is the program; schema files it names are read from the tree.
 */
#include "fuzz.h"
#include "tokens.h"
#include <ftw.h>
#include "emit.h"
#include "plan.h"

static char directory[64];

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status;
    (void)kind;
    (void)walk;
    return remove(path);
}

static void remove_directory(void)
{
    nftw(directory, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static void make_output_directory(void)
{
    static bool made;
    if (made)
        return;
    made = true;
    snprintf(directory, sizeof directory, "%s/pipec-fuzz-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (mkdtemp(directory) == NULL)
        abort();
    atexit(remove_directory);
}

static void explain_all(struct program *program)
{
    for (enum explain_stage stage = EXPLAIN_AST; stage <= EXPLAIN_PHYSICAL; stage++) {
        for (enum explain_format format = EXPLAIN_TEXT; format <= EXPLAIN_DOT; format++) {
            struct text out = {0};
            if (stage == EXPLAIN_AST && format != EXPLAIN_TEXT)
                continue;
            explain(program, stage, format, stage == EXPLAIN_PHYSICAL ? 5000 : 0, &out);
            if (format == EXPLAIN_JSON) {
                json_t *json = json_loadb(out.data, out.size, JSON_DECODE_ANY, NULL);
                FUZZ_CHECK(json != NULL);
                json_decref(json);
            }
            text_free(&out);
        }
    }
}

static void emit_into_memory(struct program *program)
{
    char iceberg[128];
    program->name = "fuzz"; /* the command line refuses names that are no file names */
    FUZZ_CHECK(emit_all(program, directory));
    snprintf(iceberg, sizeof iceberg, "%s/fuzz/iceberg", directory);
    if (access(iceberg, F_OK) == 0)
        nftw(iceberg, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

/* The diagnostics, as text and as JSON lines: one object a line. */
static void print_diagnostics(const struct program *program)
{
    char *bytes = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&bytes, &size);
    diag_print(program, file, false);
    fflush(file);
    size_t begin = size;
    diag_print(program, file, true);
    fclose(file);
    for (char *line = bytes + begin; line < bytes + size;) {
        char *end = memchr(line, '\n', (size_t)(bytes + size - line));
        FUZZ_CHECK(end != NULL);
        json_t *json = json_loadb(line, (size_t)(end - line), 0, NULL);
        FUZZ_CHECK(json != NULL);
        json_decref(json);
        line = end + 1;
    }
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    make_output_directory();
    struct program *program = program_new(".");
    program->source = source_from_text(program, "fuzz.pipe", (const char *)data, size);
    parse(program, program->source);
    if (diag_error_count(program) == 0)
        resolve(program);
    if (diag_error_count(program) == 0)
        check_tests(program);
    if (diag_error_count(program) == 0)
        plan_program(program);
    if (diag_error_count(program) == 0) {
        explain_all(program);
        emit_into_memory(program);
    }
    print_diagnostics(program);
    program_free(program);
    return 0;
}
