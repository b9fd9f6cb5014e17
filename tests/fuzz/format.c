/*
 * format.c: the formatter. Of a text that parses the tree stays what it is, and formatting the
 * result changes nothing.
 */
#include "fuzz.h"
#include "tokens.h"
#include "plan.h"
#include "pipec.h"

/* False: it does not parse. */
static bool format(const char *text, size_t size, struct text *out)
{
    struct program *program = program_new(".");
    program->source = source_from_text(program, "fuzz.pipe", text, size);
    bool good = format_program(program, program->source, out);
    FUZZ_CHECK(good == (diag_error_count(program) == 0));
    program_free(program);
    return good;
}

static void tree_of(const char *text, size_t size, struct text *out)
{
    struct program *program = program_new(".");
    parse(program, source_from_text(program, "fuzz.pipe", text, size));
    FUZZ_CHECK(diag_error_count(program) == 0);
    ast_print(program, out);
    program_free(program);
}

static bool same(const struct text *a, const struct text *b)
{
    return a->size == b->size && (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct text once = {0}, twice = {0}, before = {0}, after = {0};
    if (format((const char *)data, size, &once)) {
        const char *text = once.data != NULL ? once.data : "";
        FUZZ_CHECK(format(text, once.size, &twice));
        FUZZ_CHECK(same(&once, &twice));
        tree_of((const char *)data, size, &before);
        tree_of(text, once.size, &after);
        FUZZ_CHECK(same(&before, &after));
    }
    text_free(&once);
    text_free(&twice);
    text_free(&before);
    text_free(&after);
    return 0;
}
