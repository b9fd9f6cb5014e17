/*
 * help.h: the texts of `pipec help CODE`, embedded at build time by embed_help.py.
 */
#ifndef HELP_H
#define HELP_H

#include <stddef.h>

struct help_text {
    const char *code, *title;
    const char *explanation, *example, *output; /* "" if the code has none */
};

extern const struct help_text help_texts[]; /* in the order of codes.def; one empty row more */
extern const size_t help_text_count;

#endif
