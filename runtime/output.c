/*
 * output.c: sinks that are files, tables of an embedded run, or standard output. One
 * implementation: formats differ only in what stands before the first row (header), before and
 * behind a commit's rows (an Avro block's frame) and behind a row (line end).
 */
#include "output.h"
#include "avro_container.h"
#include "new_file.h"
#include "system_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    BLOCK_BYTES = 64 * 1024,
    PAGE_BYTES = PIPE_PAGE_BYTES,
    DIRECT_BYTES = 1024 * 1024,     /* a flush from here on bypasses the page cache */
    EARLY_BYTES = 16 * 1024 * 1024, /* of one commit: more is written before it, and cut off again
                                       if it does not come */
};

struct file_output {
    struct pipe_output output;
    int fd;
    int direct_fd; /* the same file, for whole pages past the page cache; -1: not possible */
    bool is_stdout;
    bool strange;            /* its length is not this output's doing: it is left as it is */
    bool made;               /* it was not there before */
    bool begun;              /* until then it is as it was found */
    bool headed, has_header; /* the format has a header; it is in the file */
    struct pipe_buf ready; /* appended, not flushed; of Avro whole blocks; behind a gap, so that */
    size_t gap;            /* pages of the file are pages of memory */
    bool written;          /* of what is appended, some is in the file, not synced */
    struct pipe_buf block; /* of Avro: rows of the block that is being filled, */
    int64_t block_rows;    /* and how many */
    uint8_t sync[PIPE_SYNC_BYTES];
    uint8_t tail[PIPE_TAIL_BYTES]; /* the last bytes of the file, for its mark, */
    size_t tail_bytes;             /* and how many */
};

static const char *path_of(const struct file_output *file)
{
    return file->is_stdout ? "standard output" : file->output.config.path;
}

static bool refuse(struct file_output *file, const char *format, ...) PIPE_PRINTF(2, 3);
static bool refuse(struct file_output *file, const char *format, ...)
{
    int used = snprintf(file->output.error, sizeof file->output.error, "%.300s: ", path_of(file));
    va_list args;
    va_start(args, format);
    vsnprintf(file->output.error + used, sizeof file->output.error - (size_t)used, format, args);
    va_end(args);
    return false;
}

/* By errno. */
static bool failed(struct file_output *file, const char *doing)
{
    const char *advice = "";
    if (errno == ENOSPC || errno == EDQUOT)
        advice = "; make room and start again";
    if (errno == EFBIG)
        advice =
            "; the limit on the size of a file is reached; raise it (ulimit -f) and start again";
    return refuse(file, "cannot be %s: %s%s", doing, strerror(errno), advice);
}

/* ---- Whether it is still there ---- */

/* Where the open file is now, by /proc; "": nowhere, it has no name any more. */
static void find_rows(const struct file_output *file, char *path, size_t size)
{
    char link[64];
    struct stat ours, there;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file->fd);
    ssize_t used = readlink(link, path, size - 1);
    path[used > 0 ? used : 0] = '\0';
    if (fstat(file->fd, &ours) != 0 || stat(path, &there) != 0 || ours.st_ino != there.st_ino ||
        ours.st_dev != there.st_dev)
        path[0] = '\0';
}

/* `replaced`: another file has its name. */
static bool refuse_moved(struct file_output *file, bool replaced)
{
    char rows[256];
    long long bytes = file->output.committed_bytes;
    find_rows(file, rows, sizeof rows);
    if (rows[0] != '\0')
        return refuse(file,
                      "was moved%s while this run was writing it: its %lld bytes of committed rows "
                      "are in %s; move that back, and start again",
                      replaced ? ", and another file put in its place," : "", bytes, rows);
    return refuse(file,
                  "was %s while this run was writing it: no file holds its %lld bytes of committed "
                  "rows any more; put a copy of it back that has them, and start again, or begin "
                  "again in a new directory",
                  replaced ? "replaced by another file" : "removed", bytes);
}

static bool check_length(struct file_output *file)
{
    struct stat ours;
    if (fstat(file->fd, &ours) != 0)
        return failed(file, "examined");
    long long size = ours.st_size, length = file->output.length_bytes;
    file->strange = size != length;
    if (size > length)
        return refuse(file,
                      "is %lld bytes long, but this run has written %lld: somebody else writes "
                      "into it; stop that, and start again, which cuts it back to its committed "
                      "rows, %lld bytes",
                      size, length, (long long)file->output.committed_bytes);
    return size == length ||
           refuse(file,
                  "is %lld bytes long, but this run has written %lld: somebody cut it while it was "
                  "written; put a copy of it back that has its committed rows, %lld bytes, and "
                  "start again, or begin again in a new directory",
                  size, length, (long long)file->output.committed_bytes);
}

static bool file_check(struct pipe_output *output)
{
    struct file_output *file = (struct file_output *)output;
    struct stat ours, there;
    if (file->is_stdout)
        return true;
    if (fstat(file->fd, &ours) != 0)
        return failed(file, "examined");
    bool named = stat(output->config.path, &there) == 0;
    if (!named && errno != ENOENT && errno != ENOTDIR)
        return failed(file, "examined");
    if (!named || ours.st_ino != there.st_ino || ours.st_dev != there.st_dev)
        return refuse_moved(file, named);
    return check_length(file);
}

/* ---- Rows ---- */

/* Before rows go into `ready`. */
static void begin_ready(struct file_output *file)
{
    if (file->ready.size > 0 || file->direct_fd < 0)
        return;
    uintptr_t memory = (uintptr_t)pipe_buf_reserve(&file->ready, PAGE_BYTES);
    file->gap = ((uintptr_t)file->output.length_bytes - memory) % PAGE_BYTES;
    file->ready.size = file->gap;
}

static void end_block(struct file_output *file)
{
    if (file->block_rows == 0)
        return;
    begin_ready(file);
    pipe_container_write_block(&file->ready, file->block_rows,
                               pipe_str_of(file->block.data, file->block.size), file->sync);
    file->block.size = 0;
    file->block_rows = 0;
}

static void forget_rows(struct file_output *file)
{
    file->ready.size = file->block.size = file->gap = 0;
    file->block_rows = 0;
    file->written = false;
    file->output.pending_bytes = 0;
}

static bool write_appended(struct file_output *file);

static bool file_append(struct pipe_output *output, struct pipe_str row)
{
    struct file_output *file = (struct file_output *)output;
    if (output->config.format == PIPE_FORMAT_AVRO) {
        pipe_buf_add(&file->block, row.data, row.size);
        file->block_rows++;
        if (file->block.size >= BLOCK_BYTES)
            end_block(file);
    } else {
        begin_ready(file);
        pipe_buf_add(&file->ready, row.data, row.size);
        pipe_buf_add_byte(&file->ready, '\n');
    }
    output->pending_bytes = file->ready.size - file->gap + file->block.size;
    /* What is behind the commit is cut off again if there is none; not of standard output. */
    return file->is_stdout || file->ready.size - file->gap < EARLY_BYTES || write_appended(file);
}

/* A terminal or pipe that somebody else has set to non-blocking. */
static void wait_for_room(int fd)
{
    struct pollfd wanted = {.fd = fd, .events = POLLOUT};
    poll(&wanted, 1, -1);
}

/* Of what was written. */
static void note_tail(struct file_output *file, const uint8_t *bytes, size_t size)
{
    size_t kept = PIPE_TAIL_BYTES - (size < PIPE_TAIL_BYTES ? size : PIPE_TAIL_BYTES);
    if (kept > file->tail_bytes)
        kept = file->tail_bytes;
    if (size > PIPE_TAIL_BYTES) {
        bytes += size - PIPE_TAIL_BYTES;
        size = PIPE_TAIL_BYTES;
    }
    memmove(file->tail, file->tail + file->tail_bytes - kept, kept);
    if (size > 0)
        memcpy(file->tail + kept, bytes, size);
    file->tail_bytes = kept + size;
}

static void mark_tail(struct file_output *file)
{
    file->output.mark.tail_bytes = (uint32_t)file->tail_bytes;
    file->output.mark.tail_hash = pipe_hash64(file->tail, file->tail_bytes, 0);
}

static bool write_all(struct file_output *file, const void *bytes, size_t size)
{
    const char *at = bytes;
    while (size > 0) {
        ssize_t written = write(file->fd, at, size);
        if (written < 0 && errno == EAGAIN)
            wait_for_room(file->fd);
        if (written < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (written < 0)
            return failed(file, "written");
        at += written;
        size -= (size_t)written;
        file->output.length_bytes += written;
    }
    return true;
}

/* The pages at both ends, which two flushes share, are written through the page cache. */
static size_t write_pages(struct file_output *file, const uint8_t *bytes, size_t size)
{
    size_t done = pipe_pwrite_pages(file->direct_fd, bytes, size, file->output.length_bytes);
    file->output.length_bytes += (int64_t)done;
    if (done < size - size % PAGE_BYTES) { /* the caller writes the rest, and finds the cause */
        close(file->direct_fd);
        file->direct_fd = -1;
    }
    return done;
}

static bool write_ready(struct file_output *file)
{
    const uint8_t *at = file->ready.data + file->gap;
    size_t size = file->ready.size - file->gap;
    size_t head = (size_t)(-file->output.length_bytes & (PAGE_BYTES - 1));
    if (file->direct_fd >= 0 && size >= DIRECT_BYTES && (uintptr_t)(at + head) % PAGE_BYTES == 0) {
        if (!write_all(file, at, head))
            return false;
        head += write_pages(file, at + head, size - head);
        at += head;
        size -= head;
    }
    return write_all(file, at, size);
}

static bool write_header(struct file_output *file)
{
    const struct pipe_sink_def *sink = file->output.config.sink;
    struct pipe_buf header = {0};
    if (file->output.config.format == PIPE_FORMAT_CSV)
        pipe_csv_header(sink->row, &header);
    if (file->output.config.format == PIPE_FORMAT_AVRO)
        pipe_container_write_header(&header, sink->avro_schema, file->sync);
    bool ok = write_all(file, header.data, header.size);
    note_tail(file, header.data, header.size);
    pipe_buf_free(&header);
    file->has_header = ok;
    return ok;
}

/* What `ready` has, behind a header; not synced. */
static bool write_appended(struct file_output *file)
{
    if (!file->has_header && !write_header(file))
        return false;
    if (!write_ready(file))
        return false;
    note_tail(file, file->ready.data + file->gap, file->ready.size - file->gap);
    file->ready.size = file->gap = 0;
    file->output.pending_bytes = file->block.size;
    file->written = true;
    return true;
}

static bool file_flush(struct pipe_output *output)
{
    struct file_output *file = (struct file_output *)output;
    if (!file_check(output))
        return false;
    end_block(file);
    if (file->has_header && file->ready.size == 0 && !file->written)
        return true;
    if (!write_appended(file) || (!file->is_stdout && !check_length(file)))
        return false;
    if (!file->is_stdout && !output->config.unsynced && pipe_fdatasync(file->fd) != 0)
        return failed(file, "written to disk");
    mark_tail(file);
    forget_rows(file);
    return true;
}

/* The end of the file as it is at a length, from the file; one that may not be read has none. */
static bool read_tail(struct file_output *file, int64_t length)
{
    file->tail_bytes = 0;
    mark_tail(file);
    if (length > 0) {
        int fd = open(file->output.config.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0)
            return errno == EACCES;
        ssize_t got = pipe_file_read_tail(fd, length, file->tail);
        int cause = errno;
        close(fd);
        errno = cause;
        if (got < 0)
            return false;
        file->tail_bytes = (size_t)got;
    }
    mark_tail(file);
    return true;
}

static void file_rollback(struct pipe_output *output)
{
    struct file_output *file = (struct file_output *)output;
    struct stat ours;
    forget_rows(file);
    if (!file->begun)
        return;
    /* One that was cut shorter must not be made longer: zeros would stand for its rows. */
    if (file->is_stdout || file->strange || fstat(file->fd, &ours) != 0 ||
        ours.st_size < output->committed_bytes)
        return;
    if (pipe_ftruncate(file->fd, output->committed_bytes) != 0)
        return;
    output->length_bytes = output->committed_bytes;
    file->has_header = !file->headed || output->committed_bytes > 0;
    (void)read_tail(file, output->committed_bytes); /* without one a mark tells less */
}

static void file_close(struct pipe_output *output)
{
    struct file_output *file = (struct file_output *)output;
    if (!file->is_stdout && file->fd >= 0)
        close(file->fd);
    if (file->direct_fd >= 0)
        close(file->direct_fd);
    pipe_buf_free(&file->ready);
    pipe_buf_free(&file->block);
    free(file);
}

static const struct pipe_output_ops file_ops = {file_append, file_flush, file_check, file_rollback,
                                                file_close};

/* Makes the directories above `path`. */
static bool make_parents(const char *path)
{
    char *copy = strdup(path);
    if (copy == NULL)
        pipe_out_of_memory();
    bool ok = true;
    for (char *slash = strchr(copy + 1, '/'); ok && slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        bool made = mkdir(copy, 0777) == 0;
        ok = made || errno == EEXIST;
        if (made)
            ok = pipe_sync_parent(copy);
        *slash = '/';
    }
    int cause = errno;
    free(copy);
    errno = cause;
    return ok;
}

/* ---- Known again ---- */

/* The file's end up to the committed length against the mark's. */
static bool has_tail(int fd, const struct pipe_output_config *config, char *error,
                     size_t error_bytes)
{
    uint8_t tail[PIPE_TAIL_BYTES];
    uint32_t wanted = config->mark->tail_bytes;
    ssize_t got = pipe_file_read_tail(fd, config->committed_bytes, tail);
    if (got < 0)
        return pipe_refuse(error, error_bytes, "%.300s: cannot be read: %s", config->path,
                           strerror(errno));
    return (wanted <= (size_t)got &&
            pipe_hash64(tail + (size_t)got - wanted, wanted, 0) == config->mark->tail_hash) ||
           pipe_refuse(
               error, error_bytes,
               "%.300s: the bytes before byte %" PRId64 " are not those that were committed: "
               "somebody wrote over it, or put another file in its place; put the one of this "
               "run back, or begin again in another directory",
               config->path, config->committed_bytes);
}

bool pipe_output_is_known(const struct pipe_output_config *config, char *error, size_t error_bytes)
{
    struct pipe_file_mark now;
    struct stat about;
    if (config->mark == NULL)
        return true;
    if (!pipe_file_identify(config->path, &now) || stat(config->path, &about) != 0)
        return pipe_refuse(error, error_bytes, "%.300s: cannot be examined: %s", config->path,
                           strerror(errno));
    if (config->mark->tail_bytes > 0) {
        int fd = open(config->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0 && errno != EACCES) /* one that may only be written is known by the rest */
            return pipe_refuse(error, error_bytes, "%.300s: cannot be read: %s", config->path,
                               strerror(errno));
        bool ok = fd < 0 || has_tail(fd, config, error, error_bytes);
        if (fd >= 0)
            close(fd);
        if (!ok)
            return false;
    }
    return about.st_size <= config->committed_bytes || config->own ||
           pipe_file_is_same(&now, config->mark) ||
           pipe_refuse(
               error, error_bytes,
               "%.300s: is %" PRId64 " bytes long and not the file that %" PRId64
               " bytes were committed to: the rest may be rows of another run; put the file of "
               "this run back, or begin again in another directory; if this is a copy of it, "
               "cut that first: truncate -s %" PRId64 " %.300s",
               config->path, (int64_t)about.st_size, config->committed_bytes,
               config->committed_bytes, config->path);
}

/* ---- Opening ---- */

static bool hold_file(struct file_output *file)
{
    const struct pipe_output_config *config = &file->output.config;
    file->fd = pipe_file_hold(config->path, !config->follow, &file->made);
    if (file->fd >= 0)
        return true;
    if (errno == EWOULDBLOCK)
        return refuse(file, "another process is writing it; stop that first, or wait for its end, "
                            "or name another file");
    return failed(file, config->follow ? "opened, though rows were committed to it (put it back, "
                                         "or begin again in another directory)"
                                       : "opened");
}

static bool open_file(struct file_output *file)
{
    const struct pipe_output_config *config = &file->output.config;
    struct stat status;
    if (!config->follow && !make_parents(config->path))
        return failed(file, "created, nor can its directory");
    if (!hold_file(file))
        return false;
    if (fstat(file->fd, &status) != 0)
        return failed(file, "examined");
    if (!S_ISREG(status.st_mode))
        return refuse(file, "is not a regular file; a file sink must be able to cut it back");
    if (!config->follow)
        return status.st_size == 0 || !config->keep ||
               refuse(file,
                      "is there already, with %" PRId64 " bytes that are not of this run; remove "
                      "it, name another, or overwrite it with --replace",
                      (int64_t)status.st_size);
    if (status.st_size < config->committed_bytes)
        return refuse(file,
                      "is %" PRId64 " bytes long, but %" PRId64
                      " bytes were committed: somebody cut it; put it back, or begin in another "
                      "directory",
                      (int64_t)status.st_size, config->committed_bytes);
    return pipe_output_is_known(config, file->output.error, sizeof file->output.error);
}

/* The old file stays held until the new one is: nobody comes in between. */
static bool renew_file(struct file_output *file)
{
    int old = file->fd;
    char *directory = pipe_file_renew(file->output.config.path);
    if (directory == NULL)
        return true;
    bool ok = hold_file(file) &&
              (pipe_sync_parent(directory) || failed(file, "written to disk with its directory"));
    close(old);
    free(directory);
    return ok;
}

bool pipe_output_begin(struct pipe_output *output)
{
    struct file_output *file = (struct file_output *)output;
    const struct pipe_output_config *config = &output->config;
    if (file->is_stdout)
        return true;
    if (!config->follow && !file->made && !renew_file(file))
        return false;
    file->begun = true;
    if (pipe_ftruncate(file->fd, config->committed_bytes) != 0)
        return failed(file, "cut back to what was committed");
    if (!config->unsynced) /* -1 where the file system has no direct I/O (tmpfs) */
        file->direct_fd =
            open(config->path, O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_APPEND | O_DIRECT);
    if (!pipe_file_identify(config->path, &output->mark))
        return failed(file, "examined");
    if (!read_tail(file, config->committed_bytes))
        return failed(file, "read");
    return pipe_sync_parent(config->path) || failed(file, "written to disk with its directory");
}

/* Closed by whoever started the program, it is open for reading: process.c. */
static bool use_stdout(struct file_output *file)
{
    int flags = fcntl(STDOUT_FILENO, F_GETFL);
    file->fd = STDOUT_FILENO;
    return (flags >= 0 && (flags & O_ACCMODE) != O_RDONLY) ||
           refuse(file, "is closed; direct it to a file, or /dev/null if its rows are not wanted");
}

struct pipe_output *pipe_output_open(const struct pipe_output_config *config, char *error,
                                     size_t error_bytes)
{
    struct file_output *file = pipe_calloc(1, sizeof *file);
    file->output.ops = &file_ops;
    file->output.config = *config;
    file->output.committed_bytes = file->output.length_bytes = config->committed_bytes;
    file->fd = file->direct_fd = -1;
    file->is_stdout = config->path == NULL;
    file->headed = config->format == PIPE_FORMAT_CSV || config->format == PIPE_FORMAT_AVRO;
    file->has_header = !file->headed || config->committed_bytes > 0;
    if (config->format == PIPE_FORMAT_AVRO)
        pipe_container_sync(config->sink->avro_schema, file->sync);
    if (file->is_stdout ? use_stdout(file) : open_file(file))
        return &file->output;
    snprintf(error, error_bytes, "%s", file->output.error);
    file_close(&file->output);
    return NULL;
}
