/*
 * regular_file.h: opening a file that somebody else may have put there. Only a regular one is
 * opened: a named pipe would wait for its writer for ever, a device may give bytes without end.
 */
#ifndef PIPE_REGULAR_FILE_H
#define PIPE_REGULAR_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* For reading, close-on-exec. -1: errno, ENOTSUP: it is not a regular file. */
int pipe_open_regular(const char *path);
/* The same as a stream; NULL: errno likewise. */
FILE *pipe_fopen_regular(const char *path);
/* For a directory whose files a library opens by itself: false if an entry, links followed, is
 * neither a regular file nor a directory, or if it can't be listed. Then `error` says so, within a
 * line. One that is not there is the library's to find. */
bool pipe_is_all_regular(const char *directory, char *error, size_t error_bytes);
/* What an errno of these means. */
const char *pipe_regular_reason(int cause);

#endif
