/*
 * format.h: what format.c (tokens in, text out) and format_marks.c (which tokens start a line)
 * share.
 *
 * The layout depends on the tokens and the tree only, never on how the input was laid out (but for
 * blank lines between statements), so formatting twice changes nothing.
 */
#ifndef PIPEC_FORMAT_H
#define PIPEC_FORMAT_H

#include "syntax.h"

#define FORMAT_MAX_COLUMNS 100
#define FORMAT_CLAUSE_INDENT 2
#define FORMAT_ITEM_INDENT 4
#define FORMAT_CONTINUATION 4 /* more than the line that is continued */

/* SOFT: starts a line only if what it starts does not fit on the line before. */
enum mark { MARK_NONE, MARK_SOFT, MARK_HARD };

struct comment {
    const char *text;
    size_t size;
    bool blank_before;
};

struct piece { /* a token with its comments and its layout */
    const char *text;
    size_t size;
    unsigned columns;           /* code points */
    uint32_t begin;             /* offset in the source */
    VEC(struct comment) before; /* on lines of their own */
    struct comment after;       /* on the same line; text NULL: none */
    bool blank_before;          /* a blank line before it, or before its first comment */
    bool blank_after_comments;  /* a blank line between its last comment and it */
    unsigned depth;             /* open ( [ case before it, in its statement */
    bool is_unary;              /* a '-' that takes one operand */
    bool spaced;                /* a '(' that stands apart from the word before */
    enum mark mark;
    unsigned indent;
    unsigned pad; /* more spaces before it, to align */
};

struct layout {
    struct program *program;
    struct piece *pieces; /* the last one is the end of the file */
    size_t count;         /* without the end of the file */
};

bool piece_is(const struct piece *piece, const char *text);
/* The first piece at or behind an offset in the source. */
size_t layout_find(const struct layout *layout, uint32_t offset);
/* Columns of [from, to) on one line, without indent, or any number above FORMAT_MAX_COLUMNS: too
 * many, or a comment forbids one line. */
unsigned layout_columns(const struct layout *layout, size_t from, size_t to);
/* Sets mark, indent, pad and spaced in the pieces [from, to) of a statement. */
void layout_mark(struct layout *layout, const struct statement *statement, size_t from, size_t to);

#endif
