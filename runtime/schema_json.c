/* schema_json.c: see schema_json.h. */
#include "schema_json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "value.h"

/* Behind the string that begins at `at`. */
static const char *string_end(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        if (*at == '\\')
            at++;
    return at < end ? at + 1 : end;
}

static bool is_number_character(char c)
{
    return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

/* Whether it is an integer that 64 bits do not hold. */
static bool is_big_integer(const char *at, size_t size)
{
    enum { DIGITS_OF_INT64 = 18 };
    if (size <= DIGITS_OF_INT64 || memchr(at, '.', size) != NULL || memchr(at, 'e', size) != NULL ||
        memchr(at, 'E', size) != NULL)
        return false;
    char *copy = pipe_str_dup(pipe_str_of(at, size));
    errno = 0;
    strtoll(copy, NULL, 10);
    free(copy);
    return errno == ERANGE;
}

static const char mark[] = "e0"; /* makes a real of an integer */

/* Marks integers that are too big; with `until`, as far as that: how many there are. */
static size_t mark_big_integers(const char *text, size_t size, size_t until, struct pipe_buf *out)
{
    const char *end = text + size;
    size_t count = 0;
    for (const char *at = text, *next; at < end && out->size < until; at = next) {
        next = at + 1;
        if (*at == '"') {
            next = string_end(at, end);
        } else if (is_number_character(*at)) {
            while (next < end && is_number_character(*next))
                next++;
        }
        pipe_buf_add(out, at, (size_t)(next - at));
        if (*at == '"' || !is_big_integer(at, (size_t)(next - at)))
            continue;
        pipe_buf_add(out, mark, sizeof mark - 1);
        count++;
    }
    return count;
}

/* Whether U+0000 stands only where any text may: the value of a default, a doc. */
static bool names_are_texts(const json_t *json)
{
    const char *key;
    json_t *value;
    size_t i;
    if (json_is_string(json))
        return strlen(json_string_value(json)) == json_string_length(json);
    json_object_foreach((json_t *)json, key, value)
    {
        bool is_free = strcmp(key, "default") == 0 || strcmp(key, "doc") == 0;
        if (!is_free && !names_are_texts(value))
            return false;
    }
    json_array_foreach(json, i, value)
    {
        if (!names_are_texts(value))
            return false;
    }
    return true;
}

static json_t *load(const char *text, size_t size, size_t flags, json_error_t *error)
{
    json_t *json = json_loadb(text, size, flags, error);
    if (json != NULL || json_error_code(error) != json_error_null_character)
        return json;
    json_error_t other;
    json = json_loadb(text, size, flags | JSON_ALLOW_NUL, &other);
    if (json == NULL) {
        *error = other;
    } else if (!names_are_texts(json)) {
        json_decref(json);
        json = NULL;
    }
    return json;
}

json_t *pipe_schema_json(const char *text, size_t size_bytes, size_t flags, json_error_t *error)
{
    json_t *json = load(text, size_bytes, flags, error);
    if (json != NULL || json_error_code(error) != json_error_numeric_overflow)
        return json;
    struct pipe_buf marked = {0};
    if (mark_big_integers(text, size_bytes, SIZE_MAX, &marked) > 0) {
        json = load((const char *)marked.data, marked.size, flags, error);
        if (json == NULL && error->position > 0) {
            size_t at = (size_t)error->position;
            marked.size = 0;
            size_t before = mark_big_integers(text, size_bytes, at, &marked);
            error->position -= (int)(before * (sizeof mark - 1));
        }
    }
    pipe_buf_free(&marked);
    return json;
}
