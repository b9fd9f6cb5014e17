/* tables_shape.c: engines and keys, as servers write them. See tables.h. */
#include <ctype.h>
#include <stdlib.h>

#include "tables.h"

/* The key without what a server may write otherwise: blanks outside of quotes, quotes of names, and
 * parentheses around all of it. */
static char *bare_key(const char *key)
{
    char *bare = pipe_calloc(strlen(key) + 1, 1);
    size_t size = 0, depth = 0;
    char quote = '\0';
    for (const char *at = key; *at != '\0'; at++) {
        if (quote == '\0' && isspace((unsigned char)*at))
            continue;
        if (*at == '`') {
            quote = quote == '`' ? '\0' : '`';
            continue;
        }
        if (*at == '\'' && quote != '`')
            quote = quote == '\0' ? '\'' : '\0';
        bare[size++] = *at;
    }
    while (size >= 2 && bare[0] == '(' && bare[size - 1] == ')') {
        size_t closed = 0;
        for (size_t i = 0; i < size && closed == 0; i++) {
            depth += bare[i] == '(';
            depth -= bare[i] == ')';
            closed = depth == 0 ? i : 0;
        }
        if (closed != size - 1)
            break;
        memmove(bare, bare + 1, size - 2);
        size -= 2;
    }
    bare[size] = '\0';
    return bare;
}

bool tables_same_key(const char *found, const char *wanted)
{
    char *a = bare_key(wanted), *b = bare_key(found);
    bool same = strcmp(a, b) == 0;
    free(a);
    free(b);
    return same;
}

/* MergeTree of ReplicatedMergeTree and SharedMergeTree. */
static const char *engine_base(const char *engine)
{
    if (strncmp(engine, "Replicated", 10) == 0)
        return engine + 10;
    return strncmp(engine, "Shared", 6) == 0 ? engine + 6 : engine;
}

bool tables_is_replicated(const char *engine)
{
    return engine_base(engine) != engine;
}

bool tables_same_engine(const char *engine, const char *engine_full, const char *wanted)
{
    size_t name = strcspn(wanted, "(");
    const char *base = engine_base(engine);
    if (strncmp(base, wanted, name) != 0 || base[name] != '\0')
        return false;
    const char *open = strchr(engine_full, '(');
    const char *order = strstr(engine_full, " ORDER BY");
    const char *partition = strstr(engine_full, " PARTITION BY");
    const char *end = partition != NULL && (order == NULL || partition < order) ? partition : order;
    size_t arguments = open != NULL && end != NULL && open < end ? (size_t)(end - open) : 0;
    size_t ours = strlen(wanted) - name;
    if (ours == 0)
        return arguments == 0 || tables_is_replicated(engine);
    if (arguments < ours)
        return false;
    const char *last = open + arguments - (ours - 1); /* behind the `(` */
    return strncmp(last, wanted + name + 1, ours - 1) == 0 && (last[-1] == '(' || last[-1] == ' ');
}
