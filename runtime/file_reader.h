/*
 * file_reader.h: reading one input file (or standard input) in order, in chunks, up to the length
 * it had when the run began. Shared by input_*.c. A file that has become shorter since is an error;
 * one that grew is read to the old length.
 */
#ifndef PIPE_FILE_READER_H
#define PIPE_FILE_READER_H

#include "input.h"

enum {
    PIPE_CHUNK_BYTES = 256 * 1024,
    PIPE_BATCH_RECORDS = 16384 /* the most a call of next() gives, whatever it is asked for */
};

enum pipe_read { PIPE_READ_DATA, PIPE_READ_END, PIPE_READ_AGAIN, PIPE_READ_FAILED };

struct pipe_file_reader {
    int fd;
    bool is_stdin;
    int64_t offset;       /* of the next byte to be read */
    int64_t length_bytes; /* read up to here; -1: to the end */
};

/* Opens at `offset`. False: error has the line. */
bool pipe_file_open(struct pipe_file_reader *reader, const struct pipe_input_config *config,
                    int64_t offset, char *error, size_t error_bytes);
/* Up to `capacity` bytes. READ_AGAIN: standard input has none now, or a signal interrupted. FAILED:
 * error has the line. Standard input never blocks here. */
enum pipe_read pipe_file_read(struct pipe_file_reader *reader, const char *path, void *to,
                              size_t capacity, size_t *size_bytes, char *error, size_t error_bytes);
/* After READ_AGAIN: waits for more bytes; false: a signal came. For openers, which need the header
 * to go on. */
bool pipe_file_wait(const struct pipe_file_reader *reader);
void pipe_file_close(struct pipe_file_reader *reader);

/* The hint of inputs that resume at a byte offset. */
void pipe_position_set(struct pipe_input_position *position, int64_t record, const int64_t *numbers,
                       unsigned count);
/* The numbers set above; false if the hint has another size. A position at record 0 without hint
 * gives zeros. */
bool pipe_position_get(const struct pipe_input_position *position, int64_t *numbers,
                       unsigned count);

#endif
