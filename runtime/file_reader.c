/* file_reader.c: see file_reader.h. */
#include "file_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool open_standard_input(struct pipe_file_reader *reader, char *error, size_t error_bytes)
{
    if (reader->offset > 0) {
        snprintf(error, error_bytes,
                 "-: standard input was read to byte %" PRId64
                 " before and can't be read again; begin in another directory",
                 reader->offset);
        return false;
    }
    int flags = fcntl(STDIN_FILENO, F_GETFL);
    if (flags < 0 || (flags & O_ACCMODE) == O_WRONLY) { /* so process.c leaves a closed one */
        snprintf(error, error_bytes, "-: standard input is closed; give it a file or a pipe");
        return false;
    }
    reader->fd = STDIN_FILENO;
    reader->is_stdin = true;
    reader->length_bytes = -1;
    return true;
}

/* The file is open: is it one that can be read again, and long enough? */
static bool check_file(const struct pipe_file_reader *reader, const char *path, char *error,
                       size_t error_bytes)
{
    struct stat status;
    if (fstat(reader->fd, &status) != 0) {
        snprintf(error, error_bytes, "%.300s: cannot be examined: %s", path, strerror(errno));
        return false;
    }
    if (!S_ISREG(status.st_mode)) {
        snprintf(error, error_bytes,
                 "%.300s: is not a regular file; a source reads files, or - for standard input",
                 path);
        return false;
    }
    if (status.st_size < reader->offset) {
        snprintf(error, error_bytes,
                 "%.300s: is %" PRId64 " bytes long, but was read to byte %" PRId64
                 " before: the file has changed; put the old one back",
                 path, (int64_t)status.st_size, reader->offset);
        return false;
    }
    if (lseek(reader->fd, reader->offset, SEEK_SET) != reader->offset) {
        snprintf(error, error_bytes, "%.300s: cannot go to byte %" PRId64 ": %s", path,
                 reader->offset, strerror(errno));
        return false;
    }
    return true;
}

bool pipe_file_open(struct pipe_file_reader *reader, const struct pipe_input_config *config,
                    int64_t offset, char *error, size_t error_bytes)
{
    *reader =
        (struct pipe_file_reader){.fd = -1, .offset = offset, .length_bytes = config->length_bytes};
    if (strcmp(config->path, "-") == 0)
        return open_standard_input(reader, error, error_bytes);
    /* Not blocking: a named pipe without a writer would hang here instead of being refused. */
    reader->fd = open(config->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (reader->fd < 0) {
        snprintf(error, error_bytes, "%.300s: cannot be opened: %s", config->path, strerror(errno));
        return false;
    }
    if (check_file(reader, config->path, error, error_bytes))
        return true;
    pipe_file_close(reader);
    return false;
}

/* The engine has other tasks to run while a pipe is empty. */
static bool has_bytes(const struct pipe_file_reader *reader)
{
    struct pollfd wanted = {.fd = reader->fd, .events = POLLIN};
    return !reader->is_stdin || poll(&wanted, 1, 0) > 0;
}

bool pipe_file_wait(const struct pipe_file_reader *reader)
{
    struct pollfd wanted = {.fd = reader->fd, .events = POLLIN};
    return poll(&wanted, 1, -1) > 0;
}

enum pipe_read pipe_file_read(struct pipe_file_reader *reader, const char *path, void *to,
                              size_t capacity, size_t *size_bytes, char *error, size_t error_bytes)
{
    if (reader->length_bytes >= 0) {
        int64_t left = reader->length_bytes - reader->offset;
        if (left <= 0)
            return PIPE_READ_END;
        if ((int64_t)capacity > left)
            capacity = (size_t)left;
    }
    if (!has_bytes(reader))
        return PIPE_READ_AGAIN;
    ssize_t got = read(reader->fd, to, capacity);
    if (got < 0) {
        if (errno == EINTR || errno == EAGAIN)
            return PIPE_READ_AGAIN;
        snprintf(error, error_bytes, "%.300s: cannot be read at byte %" PRId64 ": %s", path,
                 reader->offset, strerror(errno));
        return PIPE_READ_FAILED;
    }
    if (got == 0 && reader->length_bytes >= 0) {
        snprintf(error, error_bytes,
                 "%.300s: ends at byte %" PRId64 ", but was %" PRId64
                 " bytes long when the run began: the file was cut while it was read",
                 path, reader->offset, reader->length_bytes);
        return PIPE_READ_FAILED;
    }
    if (got == 0)
        return PIPE_READ_END;
    reader->offset += got;
    *size_bytes = (size_t)got;
    return PIPE_READ_DATA;
}

void pipe_file_close(struct pipe_file_reader *reader)
{
    if (!reader->is_stdin && reader->fd >= 0)
        close(reader->fd);
    reader->fd = -1;
}

void pipe_position_set(struct pipe_input_position *position, int64_t record, const int64_t *numbers,
                       unsigned count)
{
    position->offset = record;
    position->hint_bytes = (uint8_t)(count * sizeof *numbers);
    memcpy(position->hint, numbers, count * sizeof *numbers);
}

bool pipe_position_get(const struct pipe_input_position *position, int64_t *numbers, unsigned count)
{
    memset(numbers, 0, count * sizeof *numbers);
    if (position->hint_bytes == 0 && position->offset == 0)
        return true;
    if (position->hint_bytes != count * sizeof *numbers)
        return false;
    memcpy(numbers, position->hint, count * sizeof *numbers);
    return true;
}
