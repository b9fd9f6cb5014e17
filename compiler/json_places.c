/*
 * json_places.c: where the values of a JSON text stand.
 *
 * The text has been accepted by jansson, so this scan checks no syntax, but it stays in the text.
 * It keeps its own stack (the parent links): nesting costs no C stack.
 */
#include "contracts.h"

#include <string.h>

struct scan {
    struct program *program;
    struct json_place *container;
    bool is_object_key; /* the next string is a key of the container */
    uint32_t key_begin, key_end;
};

static struct json_place *add_place(struct scan *scan, uint32_t begin, uint32_t end)
{
    struct json_place *place = arena_alloc(scan->program->arena, sizeof *place);
    *place = (struct json_place){.begin = begin,
                                 .end = end,
                                 .key_begin = scan->key_begin,
                                 .key_end = scan->key_end,
                                 .parent = scan->container};
    if (scan->container != NULL) {
        if (scan->container->last == NULL)
            scan->container->first = place;
        else
            scan->container->last->next = place;
        scan->container->last = place;
    }
    scan->key_begin = scan->key_end = 0;
    return place;
}

static uint32_t string_end(const struct source *source, uint32_t at)
{
    for (at++; at < source->size && source->text[at] != '"'; at++)
        if (source->text[at] == '\\')
            at++;
    return at < source->size ? at + 1 : (uint32_t)source->size;
}

static uint32_t scalar_end(const struct source *source, uint32_t at)
{
    while (at < source->size && strchr(" \t\r\n,:]}", source->text[at]) == NULL)
        at++;
    return at;
}

const struct json_place *json_places(struct program *program, const struct source *source)
{
    struct scan scan = {.program = program};
    struct json_place *root = NULL;
    for (uint32_t at = 0; at < source->size;) {
        char c = source->text[at];
        struct json_place *added = NULL;
        uint32_t end = at + 1;
        if (c == '{' || c == '[') {
            added = add_place(&scan, at, (uint32_t)source->size);
            scan.container = added;
            scan.is_object_key = c == '{';
        } else if ((c == '}' || c == ']') && scan.container != NULL) {
            scan.container->end = end;
            scan.container = scan.container->parent;
        } else if (c == ',') {
            scan.is_object_key =
                scan.container != NULL && source->text[scan.container->begin] == '{';
        } else if (c == '"' && scan.is_object_key) {
            end = string_end(source, at);
            scan.key_begin = at + 1;
            scan.key_end = end - 1;
            scan.is_object_key = false;
        } else if (strchr(" \t\r\n:", c) == NULL) {
            end = c == '"' ? string_end(source, at) : scalar_end(source, at);
            if (end == at)
                end = at + 1;
            added = add_place(&scan, at, end);
        }
        if (root == NULL)
            root = added;
        at = end;
    }
    if (root == NULL)
        root = add_place(&scan, 0, (uint32_t)source->size);
    return root;
}

const struct json_place *place_member(const struct source *source, const struct json_place *object,
                                      const char *key)
{
    size_t size = strlen(key);
    for (const struct json_place *m = object->first; m != NULL; m = m->next)
        if (m->key_end - m->key_begin == size &&
            memcmp(source->text + m->key_begin, key, size) == 0)
            return m;
    return object;
}

const struct json_place *place_element(const struct json_place *array, size_t index)
{
    const struct json_place *element = array->first;
    for (; element != NULL && index > 0; index--)
        element = element->next;
    return element == NULL ? array : element;
}
