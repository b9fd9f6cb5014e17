/*
 * environment.h: settings and secrets of the surroundings: NAME holds the value, or NAME_FILE the
 * path of a regular file that does (at most 64 KiB; line ends behind it are cut).
 */
#ifndef PIPE_ENVIRONMENT_H
#define PIPE_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

/* *value: from malloc, NULL if neither is set (or is empty). False: the file can't be read; error
 * names it, never a value. */
bool pipe_environment(const char *name, char **value, char *error, size_t error_bytes);
/* What such a file holds, from malloc; NULL: errno (EFBIG: too long, EILSEQ: holds a
 * NUL, ENOTSUP: not a regular file). */
char *pipe_environment_file(const char *path);
/* Frees a value that may be a secret: its bytes are overwritten first. NULL is allowed. */
void pipe_environment_forget(char *value);

#endif
