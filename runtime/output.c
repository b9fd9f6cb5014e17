/*
 * output.c: sinks that are files, tables of an embedded run, or standard output. One implementation: formats differ only
 * in what stands before the first row (header), before and behind a commit's rows (an Avro block's frame) and behind a
 * row (line end).
 */
#include "output.h"
#include "avro_container.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct file_output {
    struct pipe_output output;
    int fd;
    bool is_stdout, has_header;         /* has_header: it is in the file */
    struct pipe_buf rows;               /* appended, not flushed */
    int64_t row_count;
    uint8_t sync[PIPE_SYNC_BYTES];
};

static const char *path_of(const struct file_output *file)
{
    return file->is_stdout ? "standard output" : file->output.config.path;
}

static bool failed(struct file_output *file, const char *doing)
{
    const char *hint = errno == ENOSPC || errno == EDQUOT ? "; make room and start again" : "";
    snprintf(file->output.error, sizeof file->output.error, "%s: cannot be %s: %s%s", path_of(file),
             doing, strerror(errno), hint);
    return false;
}

static bool file_append(struct pipe_output *output, struct pipe_str row)
{
    struct file_output *file = (struct file_output *)output;
    pipe_buf_add(&file->rows, row.data, row.size);
    if (output->config.format != PIPE_FORMAT_AVRO)
        pipe_buf_add(&file->rows, "\n", 1);
    file->row_count++;
    output->pending_bytes = file->rows.size;
    return true;
}

static bool write_all(struct file_output *file, const void *bytes, size_t size)
{
    const char *at = bytes;
    while (size > 0) {
        ssize_t written = write(file->fd, at, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return failed(file, "written");
        at += written;
        size -= (size_t)written;
        file->output.length_bytes += written;
    }
    return true;
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
    pipe_buf_free(&header);
    file->has_header = ok;
    return ok;
}

static bool write_rows(struct file_output *file)
{
    if (file->output.config.format != PIPE_FORMAT_AVRO)
        return write_all(file, file->rows.data, file->rows.size);
    struct pipe_buf block = {0};
    pipe_container_write_block(&block, file->row_count, pipe_str_of(file->rows.data, file->rows.size),
                               file->sync);
    bool ok = write_all(file, block.data, block.size);
    pipe_buf_free(&block);
    return ok;
}

static bool file_flush(struct pipe_output *output)
{
    struct file_output *file = (struct file_output *)output;
    if (file->has_header && file->row_count == 0)
        return true;
    if (!file->has_header && !write_header(file))
        return false;
    if (file->row_count > 0 && !write_rows(file))
        return false;
    if (!file->is_stdout && fdatasync(file->fd) != 0)
        return failed(file, "written to disk");
    file->rows.size = 0;
    file->row_count = 0;
    output->pending_bytes = 0;
    return true;
}

static void file_rollback(struct pipe_output *output)
{
    struct file_output *file = (struct file_output *)output;
    file->rows.size = 0;
    file->row_count = 0;
    output->pending_bytes = 0;
    if (file->is_stdout)
        return;
    if (ftruncate(file->fd, output->committed_bytes) == 0)
        output->length_bytes = output->committed_bytes;
}

static void file_close(struct pipe_output *output)
{
    struct file_output *file = (struct file_output *)output;
    if (!file->is_stdout && file->fd >= 0)
        close(file->fd);
    pipe_buf_free(&file->rows);
    free(file);
}

static const struct pipe_output_ops file_ops = {file_append, file_flush, file_rollback, file_close};

/* Makes the directories above `path`. */
static bool make_parents(const char *path)
{
    char *copy = strdup(path);
    if (copy == NULL)
        pipe_out_of_memory();
    bool ok = true;
    for (char *slash = strchr(copy + 1, '/'); ok && slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        ok = mkdir(copy, 0777) == 0 || errno == EEXIST;
        *slash = '/';
    }
    free(copy);
    return ok;
}

/* A new file must outlive a power cut together with the commit that names its length. */
static void sync_directory(const char *path)
{
    char *copy = strdup(path);
    if (copy == NULL)
        pipe_out_of_memory();
    int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    free(copy);
}

/* Opens the file and cuts it back to what was committed. */
static bool open_file(struct file_output *file)
{
    const struct pipe_output_config *config = &file->output.config;
    if (!make_parents(config->path))
        return failed(file, "created, nor can its directory be");
    int flags = O_WRONLY | O_CLOEXEC | (config->follow ? 0 : O_CREAT);
    file->fd = open(config->path, flags, 0666);
    if (file->fd < 0)
        return failed(file, config->follow ? "opened, though rows were committed to it" : "opened");
    struct stat status;
    if (fstat(file->fd, &status) != 0)
        return failed(file, "examined");
    if (!S_ISREG(status.st_mode)) {
        snprintf(file->output.error, sizeof file->output.error,
                 "%s: is not a regular file; a file sink must be able to cut it back", config->path);
        return false;
    }
    if (config->follow && status.st_size < config->committed_bytes) {
        snprintf(file->output.error, sizeof file->output.error,
                 "%s: is %" PRId64 " bytes long, but %" PRId64
                 " bytes were committed: somebody cut it; put it back, or begin in another "
                 "directory",
                 config->path, (int64_t)status.st_size, config->committed_bytes);
        return false;
    }
    if (ftruncate(file->fd, config->committed_bytes) != 0 ||
        lseek(file->fd, config->committed_bytes, SEEK_SET) < 0)
        return failed(file, "cut back to what was committed");
    sync_directory(config->path);
    return true;
}

struct pipe_output *pipe_output_open(const struct pipe_output_config *config, char *error,
                                     size_t error_bytes)
{
    struct file_output *file = pipe_calloc(1, sizeof *file);
    file->output.ops = &file_ops;
    file->output.config = *config;
    file->output.committed_bytes = file->output.length_bytes = config->committed_bytes;
    file->fd = -1;
    file->is_stdout = config->path == NULL;
    bool headed = config->format == PIPE_FORMAT_CSV || config->format == PIPE_FORMAT_AVRO;
    file->has_header = !headed || config->committed_bytes > 0;
    if (config->format == PIPE_FORMAT_AVRO)
        pipe_container_sync(config->sink->avro_schema, file->sync);
    if (file->is_stdout)
        file->fd = STDOUT_FILENO;
    if (file->is_stdout || open_file(file))
        return &file->output;
    snprintf(error, error_bytes, "%s", file->output.error);
    file_close(&file->output);
    return NULL;
}
