/*
 * new_file.h: files that a command makes because its user named them: that they take the place of
 * nothing that somebody may want, and stand in no directory of a run.
 */
#ifndef PIPE_NEW_FILE_H
#define PIPE_NEW_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* DIRECTORY/NAME. free. */
char *pipe_join_path(const char *directory, const char *name);
/* realpath() of what is there, and behind it the names that are not. free. */
char *pipe_real_path(const char *path);
/* The directory of a run, embedded or on Kafka, that `path` would be in; NULL: none. free. */
char *pipe_run_directory_of(const char *path);

/* Before the work: whether `path` may be made. False: error says why not, beginning with `option`
 * and the path. `replace`: a regular file may be there. */
bool pipe_may_make_file(const char *option, const char *path, bool replace, char *error,
                        size_t error_bytes);
/* At its end: gives the complete file `hidden`, which is on disk, the name `path`; also now only
 * over another file if `replace`. The name outlives a power cut then. False: errno (EEXIST: it has
 * come since). */
bool pipe_show_file(const char *hidden, const char *path, bool replace);
/* What `path` names in its directory outlives a power cut. A directory that may not be read, or of
 * a file system that syncs none, stays as it is. False: errno. */
bool pipe_sync_parent(const char *path);

#endif
