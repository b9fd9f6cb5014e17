/*
 * emit.h: from the checked program and its plan to C and the files beside it. Private to emit_*.c.
 *
 * The generated file is put together from sections, each a text of its own, so that a function or
 * table can be written when it is first asked for and still stand where a reader looks for it; and
 * nothing is written that nobody uses, for -Wall -Werror must accept the result. All strings live
 * in the program's arena.
 */
#ifndef PIPEC_EMIT_H
#define PIPEC_EMIT_H

#include "plan.h"

#define EMIT_COLUMNS 100 /* longest line of generated C */
#define EMIT_INDENT 4

enum section {
    SECTION_TYPES,       /* structs */
    SECTION_INDEXES,     /* enums that name streams, sinks, … */
    SECTION_DESCRIPTORS, /* row types */
    SECTION_DECODERS,
    SECTION_CONTRACTS,
    SECTION_REGEXES,
    SECTION_LISTS,
    SECTION_ENCODERS,
    SECTION_PROTOTYPES, /* of functions that are called before they are written */
    SECTION_STREAMS,
    SECTION_SOURCES,
    SECTION_TABLES,
    SECTION_COUNT
};

/* How the members of a struct are called: column i is members[i]. */
struct member {
    const char *name;
    const char *null; /* of its flag; NULL: not nullable */
};

/* A struct of the generated file. Row types with equal columns share one. */
struct row_info {
    const char *tag; /* `struct TAG` */
    const struct record_type *type;
    struct member *members;
    bool builtin;           /* struct pipe_reject */
    const char *descriptor; /* name of its struct pipe_row_type; NULL: not asked for yet */
};

/* A row as it stands at some place of a stream: `type` says what the columns are there, `info`
 * where they are kept. They differ in what was narrowed: `require x is not null` makes a column not
 * nullable and moves nothing. */
struct row_view {
    struct row_info *info;
    const struct record_type *type;
};

/* An item struct of arrays with nullable elements, an entry struct of maps. */
struct item_info {
    const struct type *element;
    bool nullable, is_map;
    const char *tag;
};

struct type_descriptor {
    const struct type *type;
    bool null_first;
    const char *name;
};

struct view_descriptor {
    struct row_view view;
    const char *name;
};

struct contract_use {
    const struct contract *contract;
    struct row_info *info;
    const char *name;
};

/* The sorted table of an `in` with many constants. */
struct list_info {
    const struct expr *expr;
    const char *name;
};

struct regex_info {
    const char *pattern;
    size_t pattern_bytes;
    const char *name;
};

/* The functions of a generated clause expression and how to call it. */
struct clause_function {
    const char *name;
    bool uses_arena, uses_record, uses_row;
    bool nullable, fallible;
    const struct type *type;
};

/* The names made from one stream. */
struct stream_names {
    const char *ident;                  /* unique among streams */
    const char *index;                  /* STREAM_x */
    const char *push;                   /* a row arrives */
    const char *keep;                   /* a row reaches the dedup or window */
    const char *out;                    /* a row leaves */
    const char *reject;                 /* reject streams: makes the row and pushes it */
    struct row_view in, kept, leaves;   /* at push, keep, out */
    const char *key;                    /* of a dedup or window: encodes it into task->key */
    const char *state;                  /* of the same: state_index */
    const char *accumulator, *emit_row; /* of a window */
    bool is_called, is_written;
};

/* Names in order. What unique_in() added is also in `slots`: open addressing, at most half full. */
struct ident_slot {
    const char *name; /* interned; NULL: free */
    unsigned next;    /* the number tried next behind this name, to make another one of it */
};
typedef struct {
    const char **items;
    size_t count, capacity;
    struct ident_slot *slots;
    size_t slot_count;
} ident_list;

struct emitter {
    struct program *program;
    struct arena *arena;
    struct plan *plan;
    const char *file; /* name of the .pipe file, without directories */
    struct text sections[SECTION_COUNT];
    struct text *out; /* where emit() writes */
    ident_list globals, tags;
    VEC(uint32_t) line_starts;
    VEC(struct row_info *) rows;
    VEC(struct item_info) items;
    VEC(struct type_descriptor) types;
    VEC(struct view_descriptor) views;
    VEC(struct view_descriptor) encoders; /* of JSON */
    VEC(struct contract_use) contracts;
    VEC(struct regex_info) regexes;
    VEC(struct list_info) lists;
    bool odd_comparisons;                /* some comparison may be constant to C */
    ident_list secrets;                  /* secrets.items[i]: pipe_secret(i) */
    struct stream_names *streams;        /* by index in program->streams */
    ident_list sinks, stages, exchanges; /* SINK_x … by index */
    ident_list sink_functions;
    const char **record_functions; /* by stage */
    const char **ahead_functions;  /* by stage; NULL: none */
};

/* --- emit.c, emit_text.c: text
 * ------------------------------------------------------------------------------- */

struct text *emit_to(struct emitter *e,
                     enum section section); /* returns what was written to before */
/* One line (or a part of it up to '\n's) of code, indented by `level`; wrapped where it is too
 * long. */
void emit(struct emitter *e, int level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void emit_blank(struct emitter *e);
void emit_comment(struct emitter *e, int level, const char *text);
/* The comment of a clause: its text on one line, where it stands. */
const char *clause_comment(struct emitter *e, struct span span, const char *note);
const char *emit_span_text(struct emitter *e, struct span span); /* blanks and comments folded */
const char *emit_place(struct emitter *e, struct span span);     /* clickstream.pipe:20 */
void text_wrapped(struct text *out, int level, const char *line);
/* A C string literal with its quotes. */
const char *c_string(struct emitter *e, const char *bytes, size_t size_bytes);
const char *c_string_z(struct emitter *e, const char *cstr);
/* `PIPE_STR("…")`. */
const char *c_str(struct emitter *e, const char *bytes, size_t size_bytes);
/* A long literal over several lines, as an initialiser behind `level` indents. */
void emit_long_string(struct emitter *e, int level, const char *text, const char *tail);
const char *c_int64(struct emitter *e, int64_t value);
/* PIPE_SECONDS(5): microseconds from milliseconds, in the largest unit that divides it. */
const char *c_duration(struct emitter *e, int64_t ms);
const char *c_bool(bool value);
const char *percent_ppm(struct emitter *e,
                        struct literal_number percent); /* millionths, decimal text */

/* --- emit_names.c: identifiers
 * -------------------------------------------------------------------------------- */

const char *mangle(struct emitter *e,
                   const char *name); /* a C identifier that is no keyword or macro */
/* `wanted`, or `wanted_2`, … if that is in the list: then it is in the list. */
const char *unique_in(struct emitter *e, ident_list *used, const char *wanted);
bool is_ident_in(struct emitter *e, const ident_list *used, const char *name);
const char *global_name(struct emitter *e, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void name_everything(struct emitter *e);
struct stream_names *names_of(struct emitter *e, const struct stream *stream);
uint32_t stream_index(const struct emitter *e, const struct stream *stream);
uint32_t sink_index(const struct emitter *e, const struct sink *sink);

/* --- emit_types.c: structs and descriptors
 * ---------------------------------------------------------------------- */

const char *c_type(struct emitter *e, const struct type *type); /* "struct pipe_str", "int64_t" */
const char *c_zero(const struct type *type);                    /* an initialiser */
struct row_info *row_info_of(struct emitter *e, const struct record_type *type, const char *name);
bool same_row(const struct record_type *a, const struct record_type *b);
bool same_type(const struct type *a, const struct type *b);
/* C type of an item of an array or an entry of a map. */
const char *item_type(struct emitter *e, const struct type *container);
const char *type_descriptor(struct emitter *e, const struct type *type); /* `type_string` */
const char *row_descriptor(struct emitter *e, struct row_view view);     /* `click_type` */
const char *column_null(struct row_view view, uint32_t column); /* member of the flag, or NULL */
/* Statements that fill `to` columns from `from` (by name), with `row` and `out` as variables. */
void emit_column_copy(struct emitter *e, int level, struct row_view from, uint32_t from_column,
                      struct row_view to, uint32_t to_column);
int32_t column_named(const struct record_type *type, const char *name);

/* --- emit_expr.c, emit_call.c: expressions
 * ----------------------------------------------------------------------- */

enum precedence {
    PREC_ATOM,
    PREC_UNARY,
    PREC_FACTOR,
    PREC_TERM,
    PREC_COMPARE,
    PREC_AND,
    PREC_OR,
    PREC_CHOICE
};

/* The C expression of a value. `code` may be evaluated only where `null` is false. Neither has side
 * effects. */
struct value {
    const char *code;
    const char *null; /* C expression; NULL: never null */
    enum precedence precedence;
    bool atomic; /* cheap enough to be written twice */
};

/* A function body in the making. */
struct body {
    struct emitter *e;
    struct text code;
    int level;
    unsigned temporaries;
    bool uses_arena, uses_record, uses_row;
    struct row_view row;
    const char *name; /* of the function, for the functions of its `try`s */
    unsigned tries;
};

struct value lower(struct body *b, const struct expr *expr);
struct value lower_call(struct body *b, const struct expr *expr);
struct value lower_cast(struct body *b, const struct expr *expr);
bool call_is_inline(const struct expr *expr);
bool cast_is_inline(const struct expr *expr);
bool is_inline(const struct expr *expr); /* no statements needed */
bool is_atomic(const struct expr *expr);
void body_line(struct body *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *operand(struct body *b, struct value value,
                    enum precedence limit); /* in parentheses if looser */
struct value atom(struct body *b, const char *code, const char *null);
struct value loose(const char *code, const char *null, enum precedence precedence);
const char *join(struct body *b, const char *left, const char *op, const char *right);
bool is_simple_null(const char *null);
const char *null_operand(struct body *b, const char *null); /* for `&&` and `!` */
/* Into a variable unless it is atomic already. */
struct value in_variable(struct body *b, struct value value, const struct type *type);
/* A text that is too long fails, as an expression does. */
struct value bounded_text(struct body *b, const char *call, const char *null);
/* A value that a call may fail to give: statements that call `call` (a format with one %s for
 * `&temporary`). */
struct value checked_call(struct body *b, const struct type *type, const char *null,
                          const char *call);
const char *both_null(struct body *b, const char *a, const char *second);
/* Says to C that variables the value stands in are not needed, where the value is dropped. */
void drop_value(struct body *b, struct value value);
/* Whether two comparisons of one column with constants are always false behind `and`, always
 * true behind `or`: C compilers warn of that. */
bool is_settled(enum op op, const struct expr *left, const struct expr *right);
struct value lower_between(struct body *b, const struct expr *expr); /* emit_predicate.c */
struct value lower_in(struct body *b, const struct expr *expr);
struct value lower_is_null(struct body *b, const struct expr *expr);
struct value lower_arithmetic(struct body *b, const struct expr *expr); /* emit_arithmetic.c */
struct value lower_concat(struct body *b, const struct expr *expr);
struct value lower_unary(struct body *b, const struct expr *expr);
struct value lower_convert(struct body *b, const struct expr *expr);
struct value scaled(struct body *b, struct value value, unsigned digits,
                    bool widen); /* × 10^digits */
struct value compare(struct body *b, enum op op, const struct expr *left_expr, struct value left,
                     const struct expr *right_expr, struct value right);
struct value lower_not(struct body *b, struct value value);
const char *c_operator(enum op op);
const char *regex_name(struct body *b, const char *pattern, size_t size_bytes);
__int128 power_of_ten(unsigned digits);
bool literal_integer(const struct expr *expr, __int128 *value); /* also a negated one */
const char *c_int128(struct emitter *e, __int128 value);
const char *type_suffix(const struct type *type); /* i32 i64 f32 f64 decimal string … */

/* Writes the static function of an expression, with its clause as the comment. */
struct clause_function *clause_function(struct emitter *e, struct row_view row,
                                        const struct expr *expr, const char *name,
                                        struct span clause, const char *note);
/* `name(arena, record, row` + `, &x` … + `)` */
const char *clause_call(struct emitter *e, const struct clause_function *function,
                        const char *outs);

bool mentions_word(const char *code, const char *word);
bool is_trivial(const struct expr *expr); /* a column or literal: not worth a function */
struct value inline_value(struct emitter *e, struct row_view row, const struct expr *expr);

/* A function whose body is written first, so that parameters it does not use can be named. */
struct function_text {
    struct text body;
    struct text *before;
    const char *comment; /* NULL: none */
};
void function_begin(struct emitter *e, struct function_text *function);
void function_end(struct emitter *e, struct function_text *function, const char *head,
                  const char *const *parameters, size_t parameter_count);
/* static void NAME(task, record, const struct TAG *row) */
void stream_function_end(struct emitter *e, struct function_text *function, const char *name,
                         const char *tag);

/* --- the parts
 * ------------------------------------------------------------------------------------------------
 */

/* The struct pipe_contract that decodes into rows of this view; writes it and its decoders when
 * first asked. */
const char *contract_table(struct emitter *e, const struct contract *contract,
                           struct row_view view); /* emit_decode.c */
const char *compact_json(struct emitter *e, const char *text, size_t size_bytes);
const char *json_encoder(struct emitter *e, struct row_view view); /* emit_encode.c */
/* A C expression, with `task` and `row` in it, for the key text of `row`. */
const char *key_text_expression(struct emitter *e, struct row_view view, const uint32_t *columns,
                                size_t count, const char *name);
const char *sink_format(const struct sink *sink);
struct row_view sink_view(struct emitter *e, const struct sink *sink);
struct row_view encoded_view(struct emitter *e, const struct sink *sink);
struct row_view whole_view(struct row_view view); /* emit_views.c */
void emit_sink(struct emitter *e, const struct sink *sink);
const char *key_function(struct emitter *e, struct row_view view, const uint32_t *columns,
                         size_t count, const char *name);
struct row_view payload_view(struct emitter *e,
                             const struct stream *stream); /* what a source decodes */
void view_streams(struct emitter *e);                      /* emit_views.c */
/* Rows of `type`, kept in the struct `near` (may be NULL) if that can hold them. */
struct row_view view_near(struct emitter *e, const struct row_info *near,
                          const struct record_type *type, const char *name);
const char *row_pusher(struct emitter *e, struct row_view from,
                       const struct stream *to); /* writes a conversion */
void emit_streams(struct emitter *e);            /* emit_stream.c */
/* Statements: counts in `counter` (may be NULL), sends the record to the rejects; the caller
 * returns. */
void emit_reject(struct emitter *e, int level, const struct stream *stream, const char *counter,
                 const char *reason, const char *detail);
void emit_failure(struct emitter *e, int level, const struct stream *stream, const char *counter,
                  const struct expr *expr, const char *leave);
const char *state_index(struct emitter *e,
                        const struct stream *stream); /* a C expression; needs `task` */
void emit_dedup(struct emitter *e, const struct stream *stream, const struct step *step);
void emit_window(struct emitter *e, const struct stream *stream,
                 const struct step *step); /* emit_window.c */
/* What the accumulator of a window is called and how a row gets into it. */
struct window_functions {
    const char *acc_tag, *args_tag; /* args: NULL where no argument can fail */
    const char *update_call;
    struct clause_function **arguments; /* two an aggregate: arg, by; NULL: written inline */
};
void emit_accumulator(struct emitter *e, const struct stream *stream, const struct step *step,
                      struct window_functions *functions); /* emit_accumulator.c */
void emit_evaluations(struct emitter *e, const struct stream *stream, const struct step *step,
                      const struct window_functions *functions);
const char *aggregate_word(const struct aggregate *aggregate);
const char *aggregate_member(struct emitter *e, const struct stream *stream,
                             const struct step *step, size_t i);
bool args_may_fail(const struct step *step);
void emit_sources(struct emitter *e);                                      /* emit_source.c */
const char *record_function(struct emitter *e, const struct stage *stage); /* its name, or "NULL" */
const char *ahead_function(struct emitter *e, const struct stage *stage);  /* its name, or NULL */
/* Whether some source asks for the memory of the stream's state before a row's turn. */
bool is_asked_ahead(struct emitter *e, const struct stream *stream);
/* Statements that put the key of `row` into task->key, unless the operator knows it; then what
 * tells the operator which. */
void emit_key_in_hand(struct emitter *e, const struct stream *stream);
const char *is_ahead_argument(struct emitter *e, const struct stream *stream);
void emit_indexes(struct emitter *e); /* emit_tables.c */
void emit_tables(struct emitter *e);
/* A written constant as JSON of its type (emit_traffic.c). */
void constant_json(struct text *out, const struct constant *constant, const struct type *type);
uint32_t emit_traffics(struct emitter *e); /* emit_traffic.c; their number */
/* The description of a ClickHouse sink's table; its name. emit_clickhouse.c */
const char *emit_clickhouse_table(struct emitter *e, const struct sink *sink);
bool emit_artifacts(struct emitter *e, const char *directory); /* emit_artifacts.c */
bool write_file(const char *directory, const char *name, const struct text *text);
bool make_directory(const char *path);

#endif
