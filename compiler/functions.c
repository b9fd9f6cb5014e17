/* functions.c: the table of functions and aggregates, from functions.def. */
#include <string.h>
#include "resolve.h"

static const struct function functions[] = {
#define FUNCTION(name, min, max, rule, signature) {#name, min, max, false, rule, signature},
#define AGGREGATE(name, min, max, kind) {#name, min, max, true, kind, ""},
#include "functions.def"
};

enum { FUNCTION_COUNT = sizeof functions / sizeof *functions };

const struct function *function_find(const char *name)
{
    for (size_t i = 0; i < FUNCTION_COUNT; i++)
        if (strcmp(functions[i].name, name) == 0)
            return &functions[i];
    return NULL;
}

const char *const *function_names(bool aggregates, size_t *count)
{
    static const char *const plain[] = {
#define FUNCTION(name, min, max, rule, signature) #name,
#include "functions.def"
    };
    static const char *const folding[] = {
#define AGGREGATE(name, min, max, kind) #name,
#include "functions.def"
    };
    *count = aggregates ? sizeof folding / sizeof *folding : sizeof plain / sizeof *plain;
    return aggregates ? folding : plain;
}
