/*
 * resolve.h: what the files of the checking pass (resolve*.c, expressions*.c) share with each
 * other. Nothing outside of that pass includes it. Ownership and errors are as in pipec.h.
 */
#ifndef RESOLVE_H
#define RESOLVE_H

#include "pipec.h"

/* --- functions.def --- */

enum function_rule {
    RULE_PLAIN,
    RULE_LENGTH,
    RULE_REGEXP_EXTRACT,
    RULE_REGEXP_REPLACE,
    RULE_COALESCE,
    RULE_NULLIF,
    RULE_ABS,
    RULE_ROUND,
    RULE_GREATEST,
    RULE_DATE_TRUNC,
    RULE_DATE_PART,
    RULE_PARSE_TIMESTAMP,
    RULE_FORMAT_TIMESTAMP,
    RULE_GET,
    RULE_JSON_VALUE,
    RULE_HMAC
};

/* The names of all functions (or aggregates), for "did you mean". */
const char *const *function_names(bool aggregates, size_t *count);

/* --- expressions --- */

/* A path known not to be null, by its names; a list that only grows at its head. */
struct fact {
    const struct fact *next;
    const char **names;
    size_t count;
};

/* Where an expression stands. */
struct scope {
    struct program *program;
    const struct record_type *row; /* NULL: of a failed stream, every path is poison */
    const char *row_of;            /* the stream's name, for messages */
    const struct fact *facts;
    bool allows_kafka;         /* kafka_time … can be read */
    const char *kafka_refusal; /* why not */
    bool uses_kafka;           /* set when one was */
};

/* Types the expression and everything below it, in place. Afterwards e->type is never NULL and
 * never TYPE_NULL; it is poison after a diagnostic. `*slot` may be replaced (conversions, folding).
 */
void check_expr(struct scope *scope, struct expr **slot);
/* The same, and it must be a bool that is never null. `word`: "where", for messages. */
void check_decision(struct scope *scope, struct expr **slot, const char *word);
/* Makes *slot of `type`: types a literal, inserts EXPR_CONVERT. False, unreported, if that can't
 * be. A literal of the right kind that does not fit is reported and becomes poison (true). */
bool coerce(struct scope *scope, struct expr **slot, const struct type *type);
/* As coerce; a failure is reported as "… must be TYPE". */
void coerce_or_report(struct scope *scope, struct expr **slot, const struct type *type,
                      const char *what);
/* The one type that all take after coercion, or NULL. */
const struct type *common_type(struct scope *scope, struct expr **const *slots, size_t count);
const struct type *join_types(struct program *program, const struct type *a, const struct type *b);
/* Brings the slots to one type, for operator `op`; false (reported) if there is none. */
bool unify(struct scope *scope, const struct expr *at, struct expr **const *slots, size_t count,
           const char *op);
/* Reports a null that met no type and makes it poison. */
bool is_untyped_null(struct scope *scope, struct expr *expr);
bool type_widens(const struct type *from, const struct type *to);
bool type_is_ordered(const struct type *type);
bool type_is_numeric(const struct type *type);
bool type_is_key(const struct type *type); /* can be grouped and deduplicated by */

/* The facts that hold where `expr` is not false (outcome true) or not true (false), before `base`.
 */
const struct fact *facts_if(struct program *program, const struct expr *expr, bool outcome,
                            const struct fact *base);
bool fact_known(const struct fact *facts, const char *const *names, size_t count);
const struct fact *fact_add(struct program *program, const struct fact *base,
                            const char *const *names, size_t count);

/* Reports that `expr` may be null where it must not; `need` ends the sentence. */
void report_nullable(struct scope *scope, enum code code, struct expr *expr, const char *need);
/* The first node that can fail by itself, or NULL. */
const struct expr *fallible_part(const struct expr *expr);

/* expressions_growth.c: a text's greatest length; one that can be too long becomes fallible. */
void note_growth(const struct scope *scope, struct expr *expr);
struct growth growth_max(struct growth a, struct growth b);
struct growth field_growth(const struct field *field);

void check_call(struct scope *scope, struct expr **slot);
void check_cast(struct scope *scope, struct expr **slot);
void check_binary(struct scope *scope, struct expr **slot);
/* Fills `out` from an item of an `aggregate` clause; false after a diagnostic. */
bool check_aggregate(struct scope *scope, const struct item *item, struct aggregate *out);

void poison(struct expr *expr);
bool is_poison(const struct expr *expr);
struct expr *expr_convert(struct scope *scope, struct expr *expr, const struct type *type);
/* A literal's type is `type` if it is of that kind; as coerce. */
enum fit { FIT_NO, FIT_YES, FIT_REPORTED };
enum fit literal_fit(struct scope *scope, struct expr *expr, const struct type *type);
/* Folds a cast of a literal; FIT_NO leaves it to run time. */
enum fit literal_cast(struct scope *scope, struct expr *expr, const struct type *type);
bool cast_exists(const struct type *from, const struct type *to);
unsigned digits_of(__int128 value);
bool int128_scale(__int128 *value, unsigned digits); /* × 10^digits; false beyond 38 digits */

/* "regex" is RE2 syntax; *groups its capturing groups. False: *error is a malloc'ed reason. */
bool regex_check(const char *pattern, size_t size_bytes, int *groups, char **error);
/* Instructions of its program, to each of which a byte of a text may lead. */
int regex_size(const char *pattern, size_t size_bytes);
/* Whether it is one, and not too large; reports what it is not. */
bool check_regex(struct scope *scope, struct span at, const char *pattern, size_t size_bytes,
                 int *groups);
/* The replacement text refers only to groups that exist. */
bool regex_check_rewrite(const char *pattern, size_t size_bytes, const char *text,
                         size_t text_bytes, char **error);

/* The source text of a span on one line, at most 60 bytes of it. */
const char *span_text(struct program *program, struct span span);
int field_index(const struct record_type *row, const char *name); /* -1: none */
/* Reports the name of a clock or of chance, which no row has; false: it is none. */
bool report_clock(struct scope *scope, struct name name);
/* Reports an unknown column with the nearest one; a name that was reported gets one place more. */
void report_unknown_column(struct program *program, struct name name, const struct record_type *row,
                           const char *row_of);

/* expressions_help.c: proposals that compile. False: there is none. */
bool help_conversion(struct scope *scope, struct diag *diag, const struct expr *expr,
                     const struct type *type);
/* A literal number met a text column, and `op` is about their order. */
bool help_number(struct scope *scope, struct diag *diag, const char *op, const struct expr *a,
                 const struct expr *b);
/* `change` to the type of `keep`, or else the other way round. */
void help_either_conversion(struct scope *scope, struct diag *diag, const struct expr *change,
                            const struct expr *keep);
bool help_date_arithmetic(struct scope *scope, struct diag *diag, const struct expr *expr,
                          const char *op);

/* --- statements --- */

enum { MAX_COLUMNS = 2000 }; /* of a row that the program makes */
/* Of a regex. A byte takes 10 ns an instruction at worst, so a record of 1 MiB about a second. */
enum { MAX_REGEX_INSTRUCTIONS = 128 };

enum entity_kind { ENTITY_PIPELINE, ENTITY_CONTRACT, ENTITY_STREAM, ENTITY_SINK, ENTITY_TRAFFIC };

struct entity {
    const char *name;
    struct span span;
    enum entity_kind kind;
    struct contract *contract;
    struct stream *stream;
    struct sink *sink;
};

struct resolver {
    struct program *program;
    VEC(struct entity) names;
    uint32_t
        *name_slots; /* 1 + index in names, by the name's pointer; 0: free; at most half full */
    size_t name_slot_count;
    VEC(const char *) unknown; /* names already reported */
    VEC(struct stream *) all;  /* in order of statements; side streams after */
    const struct statement *pipeline;
    bool too_deep; /* already reported */
    struct span commit_span;
};

/* What only this pass knows of a stream. */
/* In the order of source->index. */
struct stream_ways {
    struct ways {
        const struct stream *source;
        uint64_t count;
    } * items;
    size_t count, capacity;
};

struct stream_info {
    enum { VISIT_NEW, VISIT_OPEN, VISIT_DONE } visit;
    const struct fact *facts;    /* on nested paths of its row */
    bool is_restricted;          /* a reject or late stream, or made of one */
    const char *restricted_kind; /* "reject", "late" */
    bool allows_kafka;
    const char *kafka_refusal;
    const struct stream *row_from; /* side stream: the feeder whose row it has */
    const struct expr *fallible;   /* the first that can fail in this statement */
    bool *used;                    /* columns of the row that somebody reads; lints */
    VEC(const char *) must_keep;   /* columns a select over corrections must keep */
    int64_t delay_ms;              /* least age of the oldest record of a row, without watermark */
    bool waits_watermark;
    bool failed; /* already reported: nothing else is said of it */
    bool in_cycle;
    unsigned depth;          /* streams between this one and its sources */
    struct stream_ways ways; /* on which a record of each source comes here */
    bool too_many_ways;      /* already reported, here or above */
    bool roots_known;
    VEC(const struct stream *) roots; /* the sources it comes from */
    const void *seen_by;              /* mark of a walk that meets each stream once */
    bool lateness_known;
    int64_t lateness_behind_ms; /* source: the most that a window behind it waits */
};

/* resolve_clauses.c: once, required, in order. */
const struct clause *clause_find(const struct statement *statement, enum clause_kind kind);
void check_once(struct program *program, const struct statement *statement);
void check_order(struct program *program, const struct statement *statement);
const char *clause_word(enum clause_kind kind);

/* resolve.c */
const struct entity *entity_find(const struct resolver *resolver, const char *name);
bool is_name_taken(const struct resolver *resolver, const char *name);
/* False from the second time on: what is unknown is said once a name, however often it is used. */
bool first_time_unknown(struct resolver *resolver, const char *name);
void entity_add(struct resolver *resolver, struct entity entity); /* its name must be new */
/* The stream of that name or NULL after a diagnostic (once a name). */
struct stream *stream_named(struct resolver *resolver, struct name name);
struct contract *contract_named(struct resolver *resolver, struct name name);
struct sink *sink_named(struct resolver *resolver, struct name name);
/* The sources a stream's rows come from, each once. */
typedef VEC(const struct stream *) stream_list;
void root_sources(struct program *program, const struct stream *stream, stream_list *out);
int64_t watermark_bound(struct program *program, const struct stream *stream);

/* resolve_ways.c: fills info->ways; those of what it is made of are known, and so is the index of
 * every source in them. */
void resolve_ways(struct program *program, struct stream *stream);

/* resolve_side.c */
struct record_type *row_new(struct program *program, const char *name, size_t capacity);
bool row_add(struct program *program, struct record_type *row, struct field field);
const struct record_type *row_narrow(struct program *program, const struct record_type *row,
                                     const struct fact *facts);
void declare_side_streams(struct resolver *resolver, struct stream *feeder);
const struct record_type *reject_row(struct program *program);
/* `row`s of feeder go to `side`: sets its columns or compares them. */
void feed_side(struct resolver *resolver, struct stream *side, const struct stream *feeder,
               const struct record_type *row, struct span at);
void finish_side(struct resolver *resolver, struct stream *side);
/* What a help says of `rejects to`: the program's first reject stream, or a new one. */
struct rejects_proposal {
    const char *name;
    const char *sink; /* how the sentence goes on: what a new one needs; "": nothing */
};
struct rejects_proposal propose_rejects(struct resolver *resolver);
const struct record_type *unite_rows(struct resolver *resolver, struct stream *stream);

/* resolve_source.c, resolve_stream.c, resolve_window.c, resolve_sink.c, … */
void resolve_contract(struct resolver *resolver, struct contract *contract,
                      const struct statement *statement);
void resolve_source(struct resolver *resolver, struct stream *stream);
/* Of a clause that names a topic, or says a number of partitions. */
bool check_topic(struct program *program, const struct clause *clause);
uint32_t check_partitions(struct program *program, const struct clause *clause);
/* A commit's size is at least 1KiB; false after a diagnostic. */
bool check_commit_size(struct program *program, const struct clause *clause);
bool topic_name_is_good(const char *name, size_t size);
void resolve_stream(struct resolver *resolver, struct stream *stream);
void resolve_sink(struct resolver *resolver, struct sink *sink);
void check_sinks_together(struct resolver *resolver);
void resolve_slo(struct resolver *resolver, const struct statement *statement);
void resolve_evolve(struct resolver *resolver, const struct statement *statement);
void resolve_traffic(struct resolver *resolver, const struct statement *statement);
void check_dedup_ttls(struct resolver *resolver);
void check_unused(struct resolver *resolver);

/* A stream's statement while its steps are made. */
struct builder {
    struct resolver *resolver;
    struct program *program;
    struct stream *stream;
    struct scope scope; /* row and facts of what reaches the next step */
    VEC(struct step) steps;
    bool partition_known;
    uint32_t *partition_columns;
    size_t partition_count;
    bool can_refuse; /* a require, a dedup, a sum: `rejects to` has a use */
    bool sum_overflows;
    struct span sum_span;
};
struct step *step_add(struct builder *builder, enum step_kind kind, const struct clause *clause);
/* Called when the step's row is final: it becomes the scope of the next. */
void step_done(struct builder *builder, struct step *step, const struct record_type *row);
void note_fallible(struct builder *builder, const struct expr *expr);
/* Columns of the scope's row by name → indexes; false after a diagnostic. */
bool columns_named(struct program *program, const struct record_type *row, const char *row_of,
                   const name_list *names, uint32_t **indexes, size_t *count);
void build_window(struct builder *builder);
void build_dedup(struct builder *builder, const struct clause *clause);
void build_select(struct builder *builder, const struct clause *clause);

/* resolve_constants.c: a written constant against a type; false after a diagnostic. */
bool check_constant(struct program *program, const struct constant *constant,
                    const struct type *type, bool nullable, const char *what);
/* A path of field names from `row`; NULL after a diagnostic. */
const struct field *field_named(struct program *program, const struct record_type *row,
                                const name_list *path, const char *row_of);
/* "10s", "15100ms" */
const char *duration_text(struct program *program, int64_t ms);
/* A span of time is in (0, 36,500 days], or may be 0; false after a diagnostic. */
bool check_duration(struct program *program, int64_t ms, bool zero_too, struct span at,
                    const char *what);

#endif
