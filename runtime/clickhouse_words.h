/*
 * clickhouse_words.h: words that ClickHouse reads as something else than a name in a place where we
 * write one: as a value (`true`), an operator, or what begins another clause. The DDL of the
 * compiler and the statements of the runtime quote them alike. In any case of letters.
 */
#ifndef PIPE_CLICKHOUSE_WORDS_H
#define PIPE_CLICKHOUSE_WORDS_H

#include <stdbool.h>
#include <string.h>
#include <strings.h>

static inline bool clickhouse_is_taken(const char *name, size_t size)
{
    static const char *const words[] = {
        "all",      "and",        "between", "case",    "cast", "check", "constraint", "cube",
        "distinct", "exists",     "false",   "foreign", "from", "in",    "index",      "inf",
        "infinity", "interval",   "is",      "like",    "nan",  "not",   "null",       "or",
        "primary",  "projection", "rollup",  "select",  "top",  "true",  "where",      "with"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strlen(words[i]) == size && strncasecmp(name, words[i], size) == 0)
            return true;
    }
    return false;
}

#endif
