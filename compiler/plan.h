/*
 * plan.h: the physical plan. Made by plan_program() from the checked program; read by explain.c,
 * fingerprint.c and emit_*.c.
 *
 * A stage is everything fused between two exchanges. A stream's clauses before its stateful one
 * (its head: filters, unnest, select) run in every stage that delivers its inputs; its stateful
 * clause and all that follows (its tail) run there too, or, behind an exchange, in the stage that
 * reads the exchange. Objects live in the program's arena.
 */
#ifndef PIPEC_PLAN_H
#define PIPEC_PLAN_H

#include "pipec.h"

struct stage;

enum exchange_kind { EXCHANGE_ROWS, EXCHANGE_PARTIALS };

struct exchange {
    uint32_t index;
    const char *name; /* the stream's */
    enum exchange_kind kind;
    struct stream *stream;   /* whose tail is behind it */
    const struct step *step; /* the stateful clause */
    uint32_t partitions;
    const char *reason; /* "input is partitioned by session_id" */
    struct stage *to;
    VEC(struct stage *) from;
};

/* Where the state of a stateful clause lives: one a task of `stage`. A two-phase window has two:
 * the partial and the merge one. */
enum phase { PHASE_LOCAL, PHASE_PARTIAL, PHASE_MERGE };
struct state {
    uint32_t index; /* in stage->states */
    struct stage *stage;
    struct stream *stream;
    const struct step *step;
    enum phase phase;
    struct exchange
        *exchange;         /* PARTIAL: out, MERGE: in, LOCAL behind an exchange: in; else NULL */
    bool judge_by_record;  /* dedup, session behind an exchange of rows */
    int64_t delay_ms;      /* lateness of windows above it in this stage */
    const char *why_local; /* "key holds session_id"; NULL behind an exchange */
};

struct stage {
    uint32_t index;
    const char *name;       /* source name, or "<stream>" of its exchange */
    struct stream *source;  /* NULL behind an exchange */
    struct exchange *input; /* NULL at a source */
    VEC(struct stream *)
    heads; /* streams whose head runs here, dataflow order (side streams too) */
    VEC(struct stream *) tails; /* streams whose tail runs here */
    VEC(struct state *) states; /* in dataflow order */
    VEC(struct exchange *) outputs;
    VEC(int64_t) output_delays_ms; /* W of the exchange's input stream is the task's less this */
};

/* What the plan knows of one stream, by its index in program->streams. */
struct stream_plan {
    struct stream *stream;
    uint32_t index;
    VEC(struct stage *) head_stages; /* where its rows arrive */
    VEC(struct stage *)
    tail_stages; /* where its output rows are made: its heads' stages, or the one behind its
                    exchange */
    struct exchange *exchange;     /* or NULL */
    struct state *state;           /* LOCAL or MERGE; NULL if stateless */
    struct state *partial;         /* PARTIAL; or NULL */
    const char *lost_partitioning; /* why its rows are partitioned by nothing known; or NULL */
    uint32_t partitions;           /* of the log it comes from; 0: one a file */
    int64_t delay_ms;              /* its W is that of the task less this */
};

struct sink_plan {
    struct sink *sink;
    uint32_t index;
    const char *guarantee;
}; /* sentence for --explain */

struct plan {
    uint64_t hash; /* of the canonical JSON's STATE and SEMANTIC fields and the runtime's semantics
                      version */
    VEC(struct stage *) stages;
    VEC(struct exchange *) exchanges;
    struct stream_plan *streams; /* by index in program->streams */
    struct sink_plan *sinks;     /* by index in program->sinks */
};

/* Builds program->plan. Errors of the plan are reported as diagnostics. */
void plan_program(struct program *program);
struct stream_plan *stream_plan_of(const struct program *program, const struct stream *stream);
/* The dedup or window step of a stream, or NULL: there is at most one. */
const struct step *stateful_step(const struct stream *stream);

/* The canonical JSON of the plan: sorted keys, no paths, no dates; with `fingerprint_only`, without
 * COSMETIC fields. A new reference. (logical.c, from plan_nodes.def) */
json_t *plan_json(const struct program *program, bool fingerprint_only);
/* Sets plan->hash: the first 64 bits of SHA-256 over that and PIPE_SEMANTICS_VERSION.
 * (fingerprint.c) */
void plan_fingerprint(struct program *program);

/* A typed expression as a JSON tree (new reference), and as source text in canonical form.
 * (expression_text.c) */
json_t *expression_json(struct program *program, const struct record_type *row,
                        const struct expr *expr);
const char *expression_text(struct program *program, const struct expr *expr);
json_t *columns_json(struct program *program, const struct record_type *row);

enum explain_stage { EXPLAIN_AST, EXPLAIN_LOGICAL, EXPLAIN_PHYSICAL };
enum explain_format { EXPLAIN_TEXT, EXPLAIN_JSON, EXPLAIN_MERMAID, EXPLAIN_DOT };
/* `rate_per_second` 0: unknown. JSON of the physical stage is canonical: sorted keys, no paths, no
 * dates. */
void explain(struct program *program, enum explain_stage stage, enum explain_format format,
             double rate_per_second, struct text *out);

#endif
