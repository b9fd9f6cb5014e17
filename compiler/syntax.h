/*
 * syntax.h: what lexer.l, parser.y, syntax.c, syntax_error.c, syntax_slips.c and format.c share,
 * and nobody else includes.
 *
 * Memory: everything that is built here lives in the arena of the program.
 */
#ifndef PIPEC_SYNTAX_H
#define PIPEC_SYNTAX_H

#include "pipec.h"

#define SYNTAX_MAX_FILE_BYTES (1024 * 1024)
#define SYNTAX_MAX_NESTING 200 /* open ( [ case, and prefix operators in a row */
#define SYNTAX_MAX_HEIGHT                                                                          \
    1000 /* of an expression tree: bounds the recursion of all later passes                        \
          */
#define SYNTAX_MAX_NAME_BYTES 63
#define SYNTAX_MAX_DIGITS 38
#define SYNTAX_MAX_DURATION_MS (INT64_C(36500) * 24 * 3600 * 1000)

/* Text of a string literal: without its quotes, '' made one quote, NUL-terminated. */
struct string_value {
    const char *text;
    size_t text_bytes;
    struct span span;
};
struct type_ref {
    struct name name;
    int arg_count;
    unsigned args[2];
};
struct number_value {
    struct literal_number number;
    struct span span;
};
struct commit_value {
    int64_t duration_ms, size_bytes;
    bool has_size;
};
struct row_entry {
    struct name name;
    struct constant *value;
};

typedef VEC(struct clause) clause_list;
typedef VEC(struct name) string_list;
typedef VEC(struct when) when_list;
typedef VEC(struct constant *) constant_list;
typedef VEC(struct column_decl) column_list;
typedef VEC(struct step_target) target_list;
typedef VEC(struct traffic_step) step_list;
typedef VEC(struct pick) pick_list;
typedef VEC(struct given) given_list;

/* An array of one type into an array of another type with the same items. */
#define vec_assign(to, from)                                                                       \
    ((to)->items = (from)->items, (to)->count = (from)->count, (to)->capacity = (from)->capacity)

enum keyword_status { FREE, RESERVED };
enum keyword_role { OTHER = 0, CLAUSE = 1, STATEMENT = 2, BOTH = CLAUSE | STATEMENT };
struct keyword {
    const char *word;
    int token;
    enum keyword_status status;
    enum keyword_role role;
};
const struct keyword *keyword_find(const char *text, size_t size_bytes); /* NULL: none */
extern const struct keyword keywords[];
extern const size_t keyword_count;

/* One run of the lexer, and of the parser above it. */
struct syntax {
    struct program *program;
    const struct source *source;
    void *scanner;
    uint32_t offset;       /* of the next byte */
    bool keep_comments;    /* return TOKEN_COMMENT */
    bool quiet;            /* an error was reported: silent until the next ';' */
    bool too_high;         /* reported for this statement */
    bool rescan_semicolon; /* a ';' at the end of an unclosed quote comes next */
    uint32_t semicolon_at;
    struct {
        char kind /* ( [ c */;
        struct span span;
    } open[SYNTAX_MAX_NESTING];
    unsigned open_count, prefix_count;
    struct span last, before_last; /* the two latest tokens */
    int last_token, before_last_token;
};
#define TOKEN_COMMENT 1000

/* A token of the source, for the formatter. */
struct token {
    struct span span;
    bool is_comment;
};
typedef VEC(struct token) token_list;
void lex_tokens(struct program *program, const struct source *source, token_list *tokens);

void syntax_open(struct syntax *s, struct program *program, const struct source *source);
void syntax_close(struct syntax *s);
int yyparse(struct syntax *s);

/* Values of tokens; what is out of range is reported and replaced by 0. */
struct literal_number number_value(struct syntax *s, struct span span);
int64_t duration_value(struct syntax *s, struct span span);
int64_t size_value(struct syntax *s, struct span span);
int64_t integer_value(struct syntax *s, struct number_value number, int64_t max);
struct string_value string_value(struct syntax *s, struct span span);
struct name name_value(struct syntax *s, struct span span, bool quoted);
struct name string_name(struct syntax *s, struct string_value string);

/* Reports what was found and what could stand there. `expected`: names of symbols as in parser.y.
 */
void syntax_error(struct syntax *s, const char *found, struct span at, const char *const *expected,
                  size_t expected_count);
/* The help for what is written so in other languages, where it was found; NULL: none is known. */
const char *slip_help(const struct syntax *s, const char *found, struct span at,
                      const char *const *expected, size_t expected_count);
/* Reports a lexical error once a statement. NULL if it is not to be reported. */
struct diag *lexical_error(struct syntax *s, enum code code, struct span at, const char *format,
                           ...) __attribute__((format(printf, 4, 5)));

#endif
