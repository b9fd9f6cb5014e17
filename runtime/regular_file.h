/*
 * regular_file.h: opening a file that somebody else may have put there. Only a regular one is
 * opened: a named pipe would wait for its writer for ever, a device may give bytes without end.
 */
#ifndef PIPE_REGULAR_FILE_H
#define PIPE_REGULAR_FILE_H

#include <stdio.h>

/* For reading, close-on-exec. -1: errno, ENOTSUP: it is not a regular file. */
int pipe_open_regular(const char *path);
/* The same as a stream; NULL: errno likewise. */
FILE *pipe_fopen_regular(const char *path);
/* What an errno of these means. */
const char *pipe_regular_reason(int cause);

#endif
