/*
 * native_files.h: the tables of a run directory: DIR/tables/SINK/PARTITION-FIRST-LAST.native, one
 * file a range of positions, numbers with leading zeros so that names sort. A file is there whole
 * or not at all; names that begin with a dot are of writes that did not come to their end.
 *
 * Errors: false and one line with the file in `error`; errno is that of a system call that failed,
 * or 0: what is there is wrong. What is listed and read is untrusted.
 */
#ifndef PIPE_NATIVE_FILES_H
#define PIPE_NATIVE_FILES_H

#include "native.h"

struct pipe_native_file {
    int32_t partition;
    int64_t first, last; /* offsets, both included */
    char name[64];
};

/* "DIR/tables/SINK"; free it. */
char *pipe_native_directory(const char *dir, const char *sink);
/* Fills in file->name. */
void pipe_native_file_name(struct pipe_native_file *file);
/* The files by partition and offset; free *files. A directory that is not there has none; a name
 * that is no range, or ranges that overlap, are errors. */
bool pipe_native_list(const char *directory, struct pipe_native_file **files, uint32_t *count,
                      char *error, size_t error_bytes);
/* Gives the rows of a file to `each`; each row must be of the range that the name says. The reader
 * is new, or has read whole files. */
bool pipe_native_read_file(const char *directory, const struct pipe_native_file *file,
                           struct pipe_native_reader *reader,
                           bool (*each)(void *context, struct pipe_str json, int32_t partition,
                                        int64_t offset),
                           void *context, char *error, size_t error_bytes);

#endif
