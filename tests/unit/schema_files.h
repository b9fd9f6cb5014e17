/*
 * schema_files.h: schemas for the unit tests of contracts. They are written with ' for ", into
 * files of a directory that is made for each test program and removed at its end.
 */
#ifndef SCHEMA_FILES_H
#define SCHEMA_FILES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pipec.h"

static char files_directory[] = "/tmp/pipec_unit_XXXXXX";

static inline int files_set_up(void **state)
{
    (void)state;
    return mkdtemp(files_directory) == NULL || chdir(files_directory) != 0;
}

static inline int files_tear_down(void **state)
{
    (void)state;
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", files_directory);
    return chdir("/") != 0 || system(command) != 0;
}

/* With ' written as ". */
static inline void write_schema(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (const char *c = text; *c != '\0'; c++)
        fputc(*c == '\'' ? '"' : *c, file);
    assert_int_equal(fclose(file), 0);
}

static inline char *printed(struct program *program)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    diag_print(program, out, false);
    fclose(out);
    return text;
}

static inline void assert_says(struct program *program, const char *expected)
{
    char *out = printed(program);
    if (strstr(out, expected) == NULL)
        fail_msg("no `%s` in:\n%s", expected, out);
    free(out);
}

/* A schema without an error. */
static inline struct schema *load(struct program *program, const char *path, const char *text)
{
    write_schema(path, text);
    struct schema *schema = schema_load(program, path, (struct span){0});
    if (schema == NULL) {
        char *out = printed(program);
        fail_msg("%s\n%s", text, out);
    }
    return schema;
}

#endif
