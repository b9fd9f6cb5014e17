/*
 * json_read.h: a scanner of JSON text (json_read.c), inside libpipe only. The text must be UTF-8
 * that was checked. On failure a function sets scan->cause, leaves scan->at where the fault is, and
 * returns false.
 */
#ifndef PIPE_JSON_READ_H
#define PIPE_JSON_READ_H

#include "value.h"

struct json_scan {
    const char *at, *end;
    const char *cause; /* NULL: good */
    unsigned depth;
};

/* The inside of a string, as written: quotes and escapes are checked, escapes are not resolved. */
struct json_text {
    struct pipe_str raw;
    bool escaped;
};

bool json_fail(struct json_scan *scan, const char *cause);
void json_skip_space(struct json_scan *scan);
/* The next character that is not white space, or 0 at the end; it is not taken. */
char json_peek(struct json_scan *scan);
bool json_take(struct json_scan *scan,
               char c); /* the next one if it is c; else false, no failure */
bool json_scan_string(struct json_scan *scan, struct json_text *out);
bool json_scan_number(struct json_scan *scan, struct pipe_str *out); /* the grammar only */
bool json_scan_word(struct json_scan *scan, struct pipe_str word);   /* true false null */
bool json_scan_value(struct json_scan *scan, struct pipe_str *out);  /* any; its text */
/* Between the elements of an array or object: true: another one follows. Failure: check cause. */
bool json_another(struct json_scan *scan, char close, bool *first);

size_t json_unescape(struct pipe_str raw, char *to); /* at most raw.size bytes */
/* The value of a string: raw itself, or a copy in the arena; false beyond its limit. */
bool json_text_value(struct json_text text, struct pipe_arena *arena, struct pipe_str *out);

/* A set of names, to find those given twice. Names must live as long as the set. */
struct json_names {
    struct pipe_str *slots;
    uint32_t count, capacity;
};
enum json_name_verdict { JSON_NAME_NEW, JSON_NAME_TWICE, JSON_NAME_NO_MEMORY };
enum json_name_verdict json_name_add(struct json_names *names, struct pipe_arena *arena,
                                     struct pipe_str name);

#endif
