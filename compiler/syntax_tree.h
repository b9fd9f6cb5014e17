/*
 * syntax_tree.h: what the parser makes of a program: statements, clauses, expressions. A section of
 * pipec.h, which includes it behind the types; include that.
 *
 * Clauses are kept as written, in any order and number; resolve.c checks which, how often and in
 * which order.
 */
#ifndef PIPEC_SYNTAX_TREE_H
#define PIPEC_SYNTAX_TREE_H

#ifndef PIPEC_H
#error "include pipec.h"
#endif

struct name {
    const char *text;
    struct span span;
}; /* text interned */
typedef VEC(struct name) name_list;
typedef VEC(struct expr *) expr_list;

struct literal_number {
    bool is_decimal;
    __int128 digits;
    unsigned scale;
}; /* digits / 10^scale, at most 38 digits */

enum expr_kind {
    EXPR_INTEGER,  /* number; typed int32, int64, decimal, float once it has met a type */
    EXPR_DECIMAL,  /* number */
    EXPR_STRING,   /* text, text_bytes */
    EXPR_DURATION, /* duration_ms */
    EXPR_SIZE,     /* size_bytes: an int64 */
    EXPR_BOOL,     /* boolean */
    EXPR_NULL,
    EXPR_PATH,    /* path: names; resolved: column, then field indexes */
    EXPR_CALL,    /* call: function name, args; resolved: function */
    EXPR_UNARY,   /* op (NEG, NOT), left */
    EXPR_BINARY,  /* op, left, right */
    EXPR_IS_NULL, /* left, negated */
    EXPR_BETWEEN, /* left, low, high, negated */
    EXPR_IN,      /* left, list (constants), negated */
    EXPR_LIKE,
    EXPR_MATCHES, /* left, text, text_bytes, negated */
    EXPR_CASE,    /* subject (may be NULL), whens, otherwise (may be NULL) */
    EXPR_CAST,    /* left, cast_type (name), type_args */
    EXPR_TRY,     /* left, right */
    /*
     * After checking: an INTEGER or DECIMAL has its final type, which may be a float, an instant or
     * a date (the number in its unit); one of type decimal(p,s) is DECIMAL with scale s; negated
     * ones have negative digits; SIZE and most casts of literals have become INTEGER, DECIMAL or
     * STRING. Both sides of a BINARY have one type but for arithmetic with durations and decimal ×
     * decimal, where each keeps its own (the result's scale is the sum).
     */
    /* inserted by expressions*.c only: */
    EXPR_CONVERT, /* left; widen to `type`, never fails: int32→int64→decimal, decimal scale up,
                     float32→float64, timestamp_ms→timestamp_us, symbol literal → enum index */
    EXPR_SYMBOL   /* enum_index, of type enum */
};

enum op {
    OP_NEG,
    OP_NOT,
    OP_AND,
    OP_OR,
    OP_EQ,
    OP_NE,
    OP_LT,
    OP_LE,
    OP_GT,
    OP_GE,
    OP_CONCAT,
    OP_ADD,
    OP_SUB,
    OP_MUL,
    OP_DIV,
    OP_MOD
};

struct when {
    struct expr *when, *then;
};

/* Which row an EXPR_PATH reads. */
enum path_root {
    ROOT_COLUMN, /* steps[0] is the column of the row in scope, the rest are field indexes of
                    records */
    ROOT_KAFKA_TIME,
    ROOT_KAFKA_PARTITION,
    ROOT_KAFKA_OFFSET,
    ROOT_KAFKA_KEY
};

struct expr {
    enum expr_kind kind;
    struct span span;
    /* filled by types.c: */
    const struct type *type;
    bool nullable;    /* after narrowing: this value may be null here */
    bool fallible;    /* evaluating this node or what is below it can fail (not: inside a try) */
    bool outgrows;    /* this node makes a text that can be too long */
    bool is_constant; /* only literals below */
    struct growth growth; /* of a text */
    uint32_t height; /* of the tree below, at most 1000 in parsed expressions: bounds recursion */
    bool is_literal; /* a literal that takes the type of what it meets (not: a folded cast) */
    enum op op;
    bool negated;
    bool boolean;
    struct literal_number number;
    const char *text;
    size_t text_bytes;
    int64_t duration_ms, size_bytes;
    uint32_t enum_index;
    name_list path;
    enum path_root root;
    VEC(uint32_t) steps;
    struct name call;
    const struct function *function;
    expr_list args;
    struct expr *left, *right, *low, *high, *subject, *otherwise;
    VEC(struct when) whens;
    struct name cast_type;
    int cast_arg_count;
    unsigned cast_args[2];
};

/* A constant in rows of tests, `pick`, `fault value`. */
enum constant_kind {
    CONST_NUMBER,
    CONST_STRING,
    CONST_DURATION,
    CONST_SIZE,
    CONST_BOOL,
    CONST_NULL,
    CONST_ROW,
    CONST_ARRAY
};
struct constant {
    enum constant_kind kind;
    struct span span;
    bool negative;
    struct literal_number number;
    const char *text;
    size_t text_bytes;
    int64_t duration_ms, size_bytes;
    bool boolean;
    VEC(struct name) names;       /* ROW: names.items[i]: items.items[i] */
    VEC(struct constant *) items; /* ROW, ARRAY */
};

enum item_kind { ITEM_EXPR, ITEM_STAR };
struct item {
    enum item_kind kind;
    struct span span;
    struct expr *expr;
    struct name as;   /* text NULL: none written */
    name_list except; /* ITEM_STAR */
};
typedef VEC(struct item) item_list;

enum format {
    FORMAT_NONE,
    FORMAT_AVRO,
    FORMAT_JSON,
    FORMAT_JSONL,
    FORMAT_CSV,
    FORMAT_TEXT,
    FORMAT_BYTES,
    FORMAT_PARQUET
};

struct transform {
    struct name function /* text NULL: the column itself */;
    bool has_argument;
    int64_t argument;
    struct name column;
    struct span span;
};
typedef VEC(struct transform) transform_list;

struct column_decl {
    struct name name;
    struct name type;
    int arg_count;
    unsigned args[2];
    bool nullable;
};

enum clause_kind {
    /* pipeline, sink */ CLAUSE_COMMIT, /* duration_ms, has_size, size_bytes */
    /* contract */ CLAUSE_CONTRACT_FROM /* text */,
    CLAUSE_ACCEPTS /* strings */,
    CLAUSE_COMPATIBLE /* name (none backward forward full), flag = transitive */,
    /* source */ CLAUSE_FROM_KAFKA /* text */,
    CLAUSE_FROM_FILE /* text */,
    CLAUSE_PARTITIONS /* integer */,
    CLAUSE_KEY /* names */,
    CLAUSE_FORMAT /* format */,
    CLAUSE_HEADER,
    CLAUSE_COLUMNS /* columns */,
    CLAUSE_CONTRACT /* name */,
    CLAUSE_EVENT_TIME /* expr, as */,
    CLAUSE_WATERMARK /* duration_ms */,
    CLAUSE_IDLE /* duration_ms, flag = advance */,
    CLAUSE_AHEAD /* duration_ms */,
    CLAUSE_DROP_TOMBSTONES,
    CLAUSE_REJECTS /* name */,
    /* stream */ CLAUSE_WHERE /* expr */,
    CLAUSE_REQUIRE /* expr, text */,
    CLAUSE_DIVERT /* expr, name */,
    CLAUSE_UNNEST /* expr (path), as */,
    CLAUSE_SELECT /* items */,
    CLAUSE_DEDUP /* names, duration_ms */,
    CLAUSE_WINDOW /* window, duration_ms, second_ms, offset_ms, has_second, has_offset */,
    CLAUSE_GROUP /* names */,
    CLAUSE_AGGREGATE /* items */,
    CLAUSE_LATENESS /* duration_ms */,
    CLAUSE_LATE /* name */,
    CLAUSE_DROP_LATE,
    CLAUSE_EMIT /* emit, duration_ms */,
    /* sink */ CLAUSE_TO_KAFKA /* text */,
    CLAUSE_TO_CLICKHOUSE /* text */,
    CLAUSE_TO_ICEBERG /* text */,
    CLAUSE_TO_FILE /* text */,
    CLAUSE_TO_STDOUT,
    CLAUSE_ORDER /* names */,
    CLAUSE_SORT /* names */,
    CLAUSE_PARTITION_BY /* transforms */,
    CLAUSE_TARGET /* size_bytes */,
    CLAUSE_UPSERT /* names, as = version, expr = delete when */,
    CLAUSE_APPEND_REVISIONS,
    CLAUSE_ROLLUP /* text, transforms, items */,
    CLAUSE_EXACTLY_ONCE,
    CLAUSE_AT_LEAST_ONCE,
    /* traffic */ CLAUSE_TRAFFIC_SESSION /* low..high, pause_low..pause_high, ms */,
    CLAUSE_STEPS /* name, steps */,
    CLAUSE_FIELD /* path, generator */,
    CLAUSE_FAULT /* fault */
};

enum window_kind { WINDOW_TUMBLING, WINDOW_HOPPING, WINDOW_SESSION };
enum emit_kind { EMIT_CLOSE, EMIT_FINAL, EMIT_UPDATE };

struct step_target {
    struct span span;
    const char *text;
    size_t text_bytes;
    bool is_end;
    int64_t weight;
};
struct traffic_step {
    struct span span;
    const char *text;
    size_t text_bytes;
    VEC(struct step_target) targets;
};

enum generator_kind { GEN_UNIQUE, GEN_SESSION, GEN_UNIFORM, GEN_PICK, GEN_TEXT };
struct pick {
    struct constant *value;
    int64_t weight;
}; /* weight 1 when none is written */
struct generator {
    enum generator_kind kind;
    struct span span;
    struct constant *low, *high; /* UNIFORM, TEXT */
    VEC(struct pick) picks;
    bool has_null;
    struct literal_number null_percent;
    bool per_session;
};

enum fault_kind {
    FAULT_DUPLICATE,
    FAULT_OUT_OF_ORDER,
    FAULT_LATE,
    FAULT_AHEAD,
    FAULT_VALUE,
    FAULT_POISON
};
struct fault {
    enum fault_kind kind;
    struct span span;
    struct literal_number percent;
    int64_t low_ms, high_ms; /* DUPLICATE, OUT_OF_ORDER: high only */
    name_list path;
    struct constant *value; /* VALUE */
};

struct clause {
    enum clause_kind kind;
    struct span span; /* the whole clause */
    struct span word; /* its first keyword(s), for carets */
    struct name name, as;
    name_list names;
    VEC(struct name) strings; /* text of string literals with their spans (NUL-free) */
    const char *text;
    size_t text_bytes;
    struct span text_span;
    struct expr *expr;
    item_list items;
    transform_list transforms;
    VEC(struct column_decl) columns;
    enum format format;
    bool flag;
    int64_t integer;
    int64_t duration_ms, second_ms, offset_ms, size_bytes;
    bool has_second, has_offset, has_size;
    enum window_kind window;
    enum emit_kind emit;
    int64_t low_ms, high_ms, pause_low_ms, pause_high_ms;
    VEC(struct traffic_step) steps;
    struct generator *generator;
    struct fault *fault;
    name_list path;
};

enum statement_kind {
    STATEMENT_PIPELINE,
    STATEMENT_CONTRACT,
    STATEMENT_SOURCE,
    STATEMENT_STREAM,
    STATEMENT_SINK,
    STATEMENT_SLO,
    STATEMENT_TRAFFIC,
    STATEMENT_TEST,
    STATEMENT_EVOLVE
};

enum given_kind { GIVEN_ROW, GIVEN_TEXT, GIVEN_NOTHING };
struct given {
    enum given_kind kind;
    struct span span;
    int64_t at_ms;
    bool has_partition;
    int64_t partition;
    struct constant *row;
    const char *text;
    size_t text_bytes;
};
struct expectation {
    struct name stream;
    bool nothing;
    VEC(struct constant *) rows;
    struct span span;
};
struct test_given {
    struct name source;
    VEC(struct given) rows;
};

enum decision_kind {
    DECIDE_FORWARD,
    DECIDE_REBUILD,
    DECIDE_RESET,
    DECIDE_DROP,
    DECIDE_FROM_NOW,
    DECIDE_RENAMED
};
struct decision {
    enum decision_kind kind;
    struct span span;
    struct name name, to;
    const char *because;
};

struct statement {
    enum statement_kind kind;
    struct span span; /* up to its ';' */
    struct name name; /* all but TEST (its title is text) and EVOLVE */
    name_list from;   /* STREAM: inputs; SINK: one; TRAFFIC: its source */
    VEC(struct clause) clauses;
    const char *text;
    size_t text_bytes; /* TEST title, EVOLVE plan hash */
    /* SLO */ int64_t within_ms;
    struct literal_number percent;
    int64_t over_ms;
    /* TEST */ VEC(struct test_given) givens;
    VEC(struct expectation) expects;
    /* EVOLVE */ VEC(struct decision) decisions;
};
typedef VEC(struct statement *) statement_list;

/* Parses; syntax errors are reported, statements that parsed are kept. */
void parse(struct program *program, const struct source *source);

/* The program text in canonical layout, comments kept; false if it does not parse. Idempotent.
 * (format.c) */
bool format_program(struct program *program, const struct source *source, struct text *out);
void ast_print(const struct program *program, struct text *out); /* --stage ast */

#endif
