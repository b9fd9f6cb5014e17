/* environment.c: see environment.h. */
#include "environment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "regular_file.h"
#include "value.h"

#define VALUE_MAX (64u << 10)

char *pipe_environment_file(const char *path)
{
    int fd = pipe_open_regular(path);
    if (fd < 0)
        return NULL;
    char *text = pipe_malloc(VALUE_MAX + 1);
    size_t size = 0;
    ssize_t got = 1;
    while (size < VALUE_MAX && got != 0) {
        got = read(fd, text + size, VALUE_MAX - size);
        if (got < 0 && errno != EINTR)
            break;
        size += got > 0 ? (size_t)got : 0;
    }
    int error = got < 0 ? errno : size == VALUE_MAX ? EFBIG : 0;
    close(fd);
    while (size > 0 && (text[size - 1] == '\n' || text[size - 1] == '\r'))
        size--;
    text[size] = '\0';
    if (error == 0 && strlen(text) == size)
        return text;
    pipe_environment_forget(text);
    errno = error != 0 ? error : EILSEQ;
    return NULL;
}

bool pipe_environment(const char *name, char **value, char *error, size_t error_bytes)
{
    char file[128];
    const char *given = getenv(name);
    snprintf(file, sizeof file, "%s_FILE", name);
    const char *path = getenv(file);
    *value = NULL;
    if (given != NULL && given[0] != '\0') {
        size_t size = strlen(given) + 1;
        *value = memcpy(pipe_malloc(size), given, size);
    } else if (path != NULL && path[0] != '\0') {
        *value = pipe_environment_file(path);
        if (*value == NULL) {
            snprintf(error, error_bytes, "%s names a file that can't be read: %s", file,
                     pipe_regular_reason(errno));
            return false;
        }
        if ((*value)[0] == '\0') {
            free(*value);
            *value = NULL;
        }
    }
    return true;
}

void pipe_environment_forget(char *value)
{
    if (value != NULL)
        explicit_bzero(value, strlen(value));
    free(value);
}
