/*
 * pipec.h: the one internal header of the compiler. Its sections are the passes, in the order in
 * which they run:
 *
 *   source → lexer, parser → AST → contracts → resolve + types → plan (logical, physical) → explain
 * | emit
 *
 * Memory: everything is allocated from the arena of `struct program` and lives as long as the
 * program does; the compiler never frees single objects. Names are interned: two names are equal
 * exactly if their pointers are. No process-wide state: two programs can be compiled in one
 * process. Single threaded. Errors are reported through diag_*; a pass goes on after an error
 * (poison type) and the driver stops between passes when `diag_error_count` is not 0.
 */
#ifndef PIPEC_H
#define PIPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <jansson.h>

struct program;
struct name;
struct expr;
struct stream;
struct record_type;

/* ------------------------------------------------------------------------------------------
 * Memory and text (memory.c)
 * --------------------------------------------------------------------------------------- */

struct arena; /* freed as a whole */
struct arena *arena_new(void);
void arena_free(struct arena *arena);
void *arena_alloc(struct arena *arena,
                  size_t size_bytes); /* zeroed; running out of memory exits with 4 */
char *arena_printf(struct arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
char *arena_strndup(struct arena *arena, const char *text, size_t size_bytes);
/* Has arena_free call release(object) first, last deferred first: for objects of libraries
 * (json_t). */
void arena_defer(struct arena *arena, void (*release)(void *object), void *object);
_Noreturn void out_of_memory(void); /* message on stderr, exit 4 */

/* The interned copy of a name: NUL-terminated, pointer-comparable within one program. */
const char *intern(struct program *program, const char *text, size_t size_bytes);
const char *intern_cstr(struct program *program, const char *text);

/* A growing array in an arena: VEC(struct expr *) exprs; vec_push(arena, &exprs, e);
 * exprs.items[i], exprs.count. */
#define VEC(type)                                                                                  \
    struct {                                                                                       \
        type *items;                                                                               \
        size_t count, capacity;                                                                    \
    }
#define vec_push(arena, vec, item)                                                                 \
    do {                                                                                           \
        (vec)->items =                                                                             \
            vec_room((arena), (vec)->items, sizeof *(vec)->items, (vec)->count, &(vec)->capacity); \
        (vec)->items[(vec)->count++] = (item);                                                     \
    } while (0)
void *vec_room(struct arena *arena, void *items, size_t item_bytes, size_t count, size_t *capacity);

/* Growing text, from malloc: text_free it (or keep the arena copy). */
struct text {
    char *data;
    size_t size, capacity;
}; /* data is NUL-terminated once non-empty */
void text_add(struct text *text, const char *bytes, size_t size_bytes);
void text_puts(struct text *text, const char *cstr);
void text_printf(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_free(struct text *text);

/* ------------------------------------------------------------------------------------------
 * Sources and diagnostics (source.c, diagnostics.c, codes.def)
 * --------------------------------------------------------------------------------------- */

/* One file, read whole. `path` is as written (relative to the root). Line and column are computed
 * when printing. */
struct source {
    const char *path;
    const char *text;
    size_t size;
};

/* NULL after a diagnostic at `where` (which may be empty) if it can't be read, is over
 * `limit_bytes`, … */
struct span {
    const struct source *source;
    uint32_t begin, end;
}; /* source NULL: no place */
/* Standard input to its end, as a file of the name `-`. */
struct source *source_read_input(struct program *program, size_t limit_bytes);
struct source *source_read(struct program *program, const char *path, size_t limit_bytes,
                           struct span where);
struct source *source_from_text(struct program *program, const char *path, const char *text,
                                size_t size_bytes);
void span_position(struct span span, unsigned *line,
                   unsigned *column); /* from 1; columns in code points */
struct span span_join(struct span first, struct span last);
/* The size of the UTF-8 sequence at `at` and its code point; 0: invalid (also: cut, overlong, a
 * surrogate). */
size_t utf8_sequence(const char *at, size_t left_bytes, uint32_t *code_point);

enum code {
#define CODE(code, title) code,
#include "codes.def"
#undef CODE
    CODE_COUNT
};

/* A diagnostic being built; add to it in any order, it is printed at the end, sorted by place.
 * Never NULL: beyond 20 errors it is collected nowhere. The format functions copy. Markdown
 * back-ticks quote code in all texts. */
struct diag;
struct diag *diag_error(struct program *program, enum code code, struct span at, const char *format,
                        ...) __attribute__((format(printf, 4, 5)));
struct diag *diag_lint(struct program *program, enum code code, struct span at, const char *format,
                       ...) __attribute__((format(printf, 4, 5)));
void diag_label(struct diag *diag, const char *format, ...)
    __attribute__((format(printf, 2, 3))); /* at the caret */
void diag_also(struct diag *diag, struct span at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void diag_note(struct diag *diag, const char *format, ...) __attribute__((format(printf, 2, 3)));
void diag_help(struct diag *diag, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Stands for a message that is not shown, since another one has said it. */
struct diag *diag_unshown(struct program *program);
bool diag_is_shown(const struct diag *diag); /* false: beyond the limit, or said before; costly help
                                                can be left out */
/* A message of the same form that is no error of the program (a failed test): `head` stands in the
 * place of `error[CODE]`, and it is printed by diag_print_one only. */
struct diag *diag_detached(struct program *program, const char *head, struct span at,
                           const char *format, ...) __attribute__((format(printf, 4, 5)));
void diag_print_one(const struct diag *diag, FILE *to, bool json);
/* No further error is shown, only counted: what it would say need not be found out. */
bool diag_is_full(const struct program *program);
unsigned diag_error_count(const struct program *program);
void diag_print(const struct program *program, FILE *to, bool json);

/* The candidate nearest to `name` (Damerau-Levenshtein, at most a third of its length), or NULL. */
const char *nearest_name(const char *name, const char *const *candidates, size_t count);
/* What stands here for a word (or a function) of SQL that the language does not have, or NULL. */
const char *foreign_word_help(const char *text, size_t size, bool functions);
const char *code_name(enum code code); /* "PC3104" */
const char *code_title(enum code code);

/* ------------------------------------------------------------------------------------------
 * Types (types.c). Nullability is not part of a type: it stands beside it.
 * --------------------------------------------------------------------------------------- */

enum type_kind {
    TYPE_POISON, /* of a failed expression: compatible with all, never reported again */
    TYPE_NULL,   /* of the literal null before it meets a type */
    TYPE_BOOL,
    TYPE_INT32,
    TYPE_INT64,
    TYPE_FLOAT32,
    TYPE_FLOAT64,
    TYPE_DECIMAL, /* precision, scale */
    TYPE_STRING,  /* is_json: Avro string with logicalType json */
    TYPE_UUID,    /* text of 36 lower-case characters at run time */
    TYPE_ENUM,    /* symbols: an index at run time */
    TYPE_BYTES,   /* fixed_bytes: 0, or the exact length */
    TYPE_DATE,    /* days since 1970-01-01, int32 */
    TYPE_TIMESTAMP_MS,
    TYPE_TIMESTAMP_US,
    TYPE_DURATION /* ms, int64 */,
    TYPE_RECORD, /* record */
    TYPE_ARRAY,
    TYPE_MAP /* element, element_nullable */
};

struct type {
    enum type_kind kind;
    uint8_t precision, scale;
    uint32_t fixed_bytes;
    bool is_json;
    const struct record_type *record;
    const struct type *element;
    bool element_nullable;
    const char *enum_name;
    const char **symbols; /* interned */
    size_t symbol_count;
    /* of types read from a schema only; they say how the type is written in Avro and are no part of
     * what it is to the language (type_equal ignores them). A DECIMAL with fixed_bytes is an Avro
     * fixed of that size, else bytes. */
    const char *full_name; /* of an enum or fixed, with namespace */
    const char **aliases;
    size_t alias_count;       /* of it: full names */
    const char *enum_default; /* the symbol a reader takes for one it does not know, or NULL */
    bool element_null_first;  /* ["null", T] */
};

/* How long a text can be: percent of the longest record, and bytes on top. */
struct growth {
    uint64_t percent, bytes;
};

struct field {
    const char *name;
    const struct type *type;
    bool nullable;
    struct growth growth; /* of a text that the program made; 0, 0: as it was read */
    bool has_default;
    json_t *default_value; /* as in the schema: of the first branch of a union */
    bool null_first;       /* the order of the union ["null", T] or [T, "null"], for encoding */
    const char **aliases;
    size_t alias_count;
    struct span span;         /* in the schema file */
    const char *written_type; /* as the schema wrote it, compact JSON, for messages */
};

struct record_type {
    const char *name;      /* short name */
    const char *full_name; /* with namespace */
    const char **aliases;
    size_t alias_count;
    struct field *fields;
    size_t field_count;
    struct span span; /* of its name, if it comes from a schema file */
};

bool type_equal(const struct type *a, const struct type *b); /* structural; record: by fields */
const char *type_name(struct program *program,
                      const struct type *type); /* "int64", "decimal(12,2)", "array(string)" */
const struct type *
type_simple(enum type_kind kind); /* static; not for decimal, enum, record, array, map */
const struct type *type_decimal(struct program *program, unsigned precision, unsigned scale);
bool type_is_integer(const struct type *type);
bool type_is_float(const struct type *type);
bool type_is_instant(const struct type *type); /* timestamp_ms, timestamp_us */
bool type_is_nested(const struct type *type);  /* record, array, map */
/* RFC 3339 text with any offset → ms or µs since 1970; a date → days. False if it is none, or
 * outside years 0001–9999. */
bool text_to_timestamp(const char *text, size_t size_bytes, bool micros, int64_t *value);
bool text_to_date(const char *text, size_t size_bytes, int32_t *days);
/* The type a `columns (…)` clause or a cast names; NULL after a diagnostic. */
const struct type *type_from_name(struct program *program, struct name name, int arg_count,
                                  const unsigned *args);

#include "syntax_tree.h"

/* ------------------------------------------------------------------------------------------
 * Contracts (contracts.c, avro_schema.c, compatibility.c)
 * --------------------------------------------------------------------------------------- */

struct schema {
    const struct source *source;
    const struct record_type *record;
    const char *canonical; /* Parsing Canonical Form, compact */
    uint64_t fingerprint;  /* CRC-64-AVRO of it */
    const char *label;     /* file name without directory and ".avsc": "v1" */
};

enum compatibility { COMPATIBLE_NONE, COMPATIBLE_BACKWARD, COMPATIBLE_FORWARD, COMPATIBLE_FULL };

struct contract {
    struct name name;
    struct span span;
    enum compatibility compatibility;
    bool transitive;
    struct schema **versions; /* [0] is `from`, the reader; then `accepts`, newest first */
    size_t version_count;
    bool used;
};

/* How one writer version is read into the reader's struct; a tree made at compile time, emitted as
 * a decoder. */
enum resolve_action {
    RESOLVE_READ /* into reader field */,
    RESOLVE_SKIP /* no such reader field */
};
struct resolve_field { /* one per writer field, in writer order */
    enum resolve_action action;
    const struct field *writer;
    const struct field *reader;          /* reader NULL for SKIP */
    const struct resolve_record *record; /* when both sides hold a record (also in arrays, maps) */
};
struct resolve_record {
    const struct record_type *writer, *reader;
    struct resolve_field *fields;
    size_t field_count;
    const struct field **defaulted;
    size_t defaulted_count; /* reader fields the writer lacks */
};

struct schema *schema_load(struct program *program, const char *path,
                           struct span where); /* NULL after a diagnostic */
/* All versions against each other, as declared; and `from` must read every accepted version
 * whatever is declared. Reports every break: the primary span is the field in the newer version's
 * file, then the older one, then `where`. */
bool contract_check(struct program *program, const struct contract *contract, struct span where);
const struct resolve_record *contract_resolve(struct program *program, const struct schema *writer,
                                              const struct schema *reader);
/* Whether an accepted version lacks this column of the newest, which then has its default. */
bool is_later_column(struct program *program, const struct contract *contract, size_t column);
/* The first field that has another name in the newest version; NULL: none. */
const struct resolve_field *renamed_field(const struct resolve_record *record);
/* `pipec contracts check DIR`: every *.avsc below DIR by subject folder; 0 or 1. */
int contracts_check_directory(struct program *program, const char *directory, FILE *out,
                              struct text *summary); /* a last line, for behind the messages */
bool is_avro_name(const char *name);
/* The Avro schema (JSON text) of a row type, for sinks that derive one; NULL if `name` or a column
 * is no Avro name (the caller says so). Follows null_first and, for decimals, fixed_bytes. Names of
 * inner types lose their namespaces. */
const char *schema_derive(struct program *program, const char *name, const struct record_type *row);

/* ------------------------------------------------------------------------------------------
 * The checked program (resolve.c, expressions.c, functions.def): what plan and emission read
 *
 * Every stream, source and side stream is a `struct stream` with its columns. A stream's clauses
 * are `struct step`s in the order in which they act. After a step the row type may change:
 * step->row is the type of what leaves it.
 * --------------------------------------------------------------------------------------- */

struct function { /* functions.def; the C symbol in the runtime is pipe_fn_<name>… see emit_expr.c
                   */
    const char *name;
    unsigned min_args, max_args;
    bool is_aggregate;
    unsigned rule;
    const char *signature; /* expressions_calls.c reads them */
};
const struct function *function_find(const char *name);

enum stream_kind { STREAM_SOURCE, STREAM_NORMAL, STREAM_REJECTS, STREAM_LATE, STREAM_DIVERTED };

enum step_kind {
    STEP_WHERE,
    STEP_REQUIRE,
    STEP_DIVERT,
    STEP_UNNEST,
    STEP_SELECT,
    STEP_DEDUP,
    STEP_WINDOW
};

struct assign {
    const char *name;
    struct expr *expr;
}; /* one output column: its expression on the input row */
typedef VEC(struct assign) assign_list;

enum aggregate_kind {
    AGG_COUNT /* no arg, or counts non-null arg */,
    AGG_COUNT_IF,
    AGG_SUM,
    AGG_AVG,
    AGG_MIN,
    AGG_MAX,
    AGG_FIRST,
    AGG_LAST,
    AGG_MIN_BY,
    AGG_MAX_BY,
    AGG_COUNT_DISTINCT,
    AGG_APPROX_COUNT_DISTINCT,
    AGG_APPROX_QUANTILE
};
struct aggregate {
    const char *name;
    enum aggregate_kind kind;
    struct span span;
    struct expr *arg, *by; /* by: min_by, max_by */
    double quantile;
    const struct type *type;
    bool nullable; /* of the result */
};

struct step {
    enum step_kind kind;
    const struct clause *clause;   /* for spans and the comment in generated C */
    const struct record_type *row; /* of what leaves this step */
    struct expr *expr;             /* WHERE, REQUIRE, DIVERT; UNNEST: the array path */
    const char *reason;            /* REQUIRE */
    struct stream *to;             /* DIVERT: that stream */
    const char *unnest_as;
    assign_list assigns; /* SELECT: one per column of row, in order */
    uint32_t *key_columns;
    size_t key_count;        /* DEDUP, WINDOW group by: indexes in the input row */
    int64_t ttl_ms;          /* DEDUP */
    enum window_kind window; /* WINDOW … */
    int64_t size_ms, every_ms, offset_ms, gap_ms, max_ms; /* max_ms 0: none */
    int64_t lateness_ms;
    enum emit_kind emit;
    int64_t emit_every_ms;
    bool sends_corrections; /* row ends with `revision` */
    bool drop_late;
    struct stream *late; /* both unset: rows can't be late */
    struct aggregate *aggregates;
    size_t aggregate_count;
    const struct record_type *input; /* row type before this step */
    /* What the input is partitioned by, as columns of `input`; count 0 and known: one partition
     * holds everything. */
    bool partition_known;
    uint32_t *partition_columns;
    size_t partition_count;
    bool exchange; /* DEDUP, WINDOW: its keyed state is behind an exchange */
};

struct stream {
    struct name name;
    struct span span;
    enum stream_kind kind;
    const struct statement *statement; /* NULL for side streams */
    const struct record_type *row;     /* columns that readers see */
    bool has_event_time;
    const struct type *event_time_type; /* timestamp_ms or _us */
    bool has_watermark;
    bool sends_corrections,
        is_windowed; /* is_windowed: rows made by a window, here or above: they can't be late */
    struct stream **inputs;
    size_t input_count;                  /* NORMAL */
    const struct record_type *input_row; /* NORMAL: the (united) row before the first step */
    struct step *steps;
    size_t step_count;
    struct stream *rejects;       /* or NULL */
    VEC(struct stream *) readers; /* streams that read this one */
    VEC(struct sink *) sinks;
    VEC(struct stream *) feeders; /* side streams: who sends rows here, in order of statements */
    bool kafka_columns;           /* kafka_time … usable and used */
    struct source_def *source;    /* STREAM_SOURCE */
    bool partition_known;
    uint32_t *partition_columns;
    size_t partition_count; /* as in step, of `row` */
    bool has_source_record; /* each row descends from one Kafka record and met no exchange: its key
                               is known */
    struct stream_info *info; /* resolve*.c only */
    uint32_t index;           /* in program->streams */
};
/* Whether the keyed state of this DEDUP or WINDOW step needs an exchange in front of
 * it. */
bool needs_exchange(const struct step *step);

struct source_def {
    bool is_kafka;
    const char *topic;
    const char *path;    /* path: glob, "-" for standard input */
    uint32_t partitions; /* kafka */
    enum format format;
    bool header;
    struct contract *contract;         /* NULL: csv columns, text, bytes */
    const struct record_type *payload; /* what is decoded: without an added event time column */
    uint32_t *key_columns;
    size_t key_count;
    struct expr *event_time;                         /* on payload; NULL: none */
    bool event_time_is_kafka_time, event_time_added; /* added: last column of the stream's row */
    uint32_t event_time_column;                      /* in the stream's row */
    int64_t watermark_ms, idle_ms, ahead_ms;
    bool idle_advance;
    bool drop_tombstones;
    struct stream *rejects; /* NULL: nothing can be refused */
};

enum sink_kind { SINK_KAFKA, SINK_CLICKHOUSE, SINK_ICEBERG, SINK_FILE, SINK_STDOUT };
struct rollup {
    const char *table;
    const transform_list *transforms;
    struct aggregate *aggregates;
    size_t aggregate_count;
};
struct sink {
    struct name name;
    struct span span;
    const struct statement *statement;
    struct stream *from;
    enum sink_kind kind;
    const char *target;  /* topic, table, path; NULL for stdout */
    uint32_t partitions; /* kafka */
    uint32_t *key_columns;
    size_t key_count;
    bool source_key; /* source_key: key and partition of the source's record */
    enum format format;
    struct contract *contract;
    const char *avro_schema;
    bool exactly_once;
    int64_t commit_ms, commit_bytes;
    uint32_t *order_columns;
    size_t order_count;
    uint32_t *sort_columns;
    size_t sort_count;
    const transform_list *partition_by;
    int64_t target_bytes;
    struct rollup *rollups;
    size_t rollup_count;
    bool append_revisions;
    uint32_t *upsert_columns;
    size_t upsert_count;
    int32_t version_column /* -1: none */;
    struct expr *delete_when;
};

struct slo {
    struct name name;
    struct sink *sink;
    int64_t within_ms, over_ms;
    struct literal_number percent;
    const struct statement *statement;
};
struct traffic {
    struct name name;
    struct stream *source;
    const struct statement *statement;
}; /* clauses checked, read from the statement */

/* A name that some row lacks. What else reads it has the same cause: it joins the message. */
struct unknown_column {
    const char *name;
    const char *meant; /* the column that is proposed, or NULL */
    struct diag *diag;
};

struct program {
    struct arena *arena;
    const char *root; /* paths in the program are relative to it; "." by default */
    const struct source *source;
    struct diags *diags;
    struct interner *interner;
    statement_list statements;
    /* resolve: */
    const char *name;
    int64_t commit_ms, commit_bytes;
    VEC(struct contract *) contracts;
    VEC(struct stream *)
    streams; /* sources, streams and side streams; topological order: inputs first */
    VEC(struct sink *) sinks;
    VEC(struct slo *) slos;
    VEC(struct traffic *) traffics;
    VEC(const struct statement *) tests;
    const struct statement *evolve;
    VEC(struct unknown_column) unknown_columns; /* reported */
    unsigned unknown_uses;                      /* that joined one of their messages */
    /* plan: */
    struct plan *plan;
};
struct program *program_new(const char *root);
void program_free(struct program *program);

void resolve(struct program *program);     /* names, structure, types; fills everything above */
void check_tests(struct program *program); /* rows of `test` and `traffic` against columns */

/* ------------------------------------------------------------------------------------------
 * Plan (logical.c, physical.c, plan_nodes.def, fingerprint.c, explain.c): see plan.h
 * --------------------------------------------------------------------------------------- */

/* ------------------------------------------------------------------------------------------
 * Emission (emit_*.c)
 * --------------------------------------------------------------------------------------- */

/* Writes generated/NAME/… below `directory`; false after a message on stderr. Files that are equal
 * are left alone. */
bool emit_all(struct program *program, const char *directory);

#endif
