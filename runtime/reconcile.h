/*
 * reconcile.h: the inside of `NAME reconcile` (docs/decisions/0005-reconcile.md).
 *
 *   reconcile.c         the command: opens the directory read-only, in order: layers, verdict
 *   reconcile_kafka.c   the same of Kafka: what belongs together while others may write
 *   reconcile_ledgers.c which traffics were sent
 *   reconcile_layers.c  what is compared: one layer an input topic, exchange and sink
 *   reconcile_rerun.c   expected rows: every task again, from its first offset to the committed one
 *   reconcile_partials.c  of those, and of actual ones: partials that are compared added up
 *   reconcile_markers.c   the time that exchanges carry
 *   reconcile_raw.c     the input against the ledger
 *   reconcile_actual.c  actual rows: committed topics, and files up to the committed length
 *   reconcile_tables.c  tables, as files or on a server, against the topics that they follow
 *   reconcile_checks.c  equations: counters, the ledger against the counters
 *   reconcile_end.c     how far the run is
 *   reconcile_report.c  the table, the first differing rows; or one JSON object
 *
 * Rows are compared as multisets of hashes; the bytes of the few that differ are found by a second
 * pass over the same rows, in which every row is looked up among the differences.
 */
#ifndef PIPE_RECONCILE_H
#define PIPE_RECONCILE_H

#include "engine.h"
#include "ledger.h"
#include "multiset.h"

#define RECONCILE_SHOWN 3 /* rows shown of each kind and part */

/* The rows of a layer that have the same label: dead letters by reason, late rows by window. */
struct reconcile_part {
    char label[96]; /* "": the layer has no labels */
    struct pipe_multiset rows;
    struct pipe_comparison *comparison; /* NULL until compared */
    uint32_t shown_missing, shown_unexpected;
};

enum reconcile_kind { RECONCILE_RAW, RECONCILE_EXCHANGE, RECONCILE_SINK, RECONCILE_TABLE };
struct reconcile_table;
struct pipe_clickhouse;
struct reconcile_layer {
    enum reconcile_kind kind;
    uint32_t index;           /* of the source, exchange or sink in the plan */
    const char *name;         /* borrowed from the plan */
    char place[320];          /* "topic events.clean", "file run/x/tables/y.jsonl" */
    int32_t topic;            /* in the log; -1: a file */
    const char *label_column; /* NULL: no labels */
    struct reconcile_part **parts;
    uint32_t part_count;
    /* Of sinks: expected rows that need not be there (rerun). With `merges`: partials. */
    struct pipe_spill corrections;
    struct pipe_spill made,
        found;          /* of windows with corrections: revisions, and where they stand */
    bool merges;        /* partials whose number depends on the commits: compared when merged */
    int32_t disordered; /* raw: a partition whose records are not in the order of sending; -1 */
    uint64_t injected;  /* raw: records that `inject` put there */
    uint64_t beside;    /* of them beside those of the ledger: all, or without one none */
    uint64_t unread;    /* raw, exchange: records behind the committed positions of who reads it */
    bool more_traffic;  /* raw: what feeds it is not at its count */
    uint64_t shipped, received;    /* exchange: rows, by the committed counters of both sides */
    uint64_t behind_bytes;         /* sinks that are files: behind the committed length */
    struct reconcile_table *table; /* NULL: it is none */
    char trouble[600];             /* why it is not equal, beside rows; "": nothing */
};

/* A row that differs, in words. */
struct reconcile_row {
    uint32_t layer, part;
    bool missing;
    char *where, *text; /* owned; text is JSON */
};

struct reconcile_check {
    char group[16]; /* "ledger", "counters", "conservation", "positions" */
    char left_text[EQUATION_TEXT + 80], right_text[EQUATION_TEXT];
    char left_terms[EQUATION_TEXT], right_terms[EQUATION_TEXT]; /* their sums; "": no sum */
    int64_t left, right;
    bool at_most; /* left <= right */
    bool note;    /* told, but no part of the verdict */
};

/* One traffic that was sent into a source; on Kafka there may be several, told apart by seeds. */
struct reconcile_ledger {
    uint32_t source;
    struct pipe_ledger_head head;
    bool given; /* it is that of --ledger */
};

struct reconcile_options {
    struct pipe_run_options run; /* first: --path, --max-record, --schema-ids, --state-memory,
                                    --progress, --kafka, --group */
    const char *dir, *ledger, *ledger_out; /* dir NULL: Kafka */
    bool json, without_tables;
};

struct reconcile {
    const struct pipe_plan *plan;
    const struct reconcile_options *options;
    struct pipe_run_options run; /* the engine's: options->run and what is committed */
    struct pipe_engine *engine;
    struct pipe_log_ops ops; /* of the log, with append replaced */
    struct pipe_spill_store spills;
    char *state_dir; /* of engine->store; NULL: none */
    uint32_t unrelieved;
    struct reconcile_markers *markers; /* by exchange and task */
    FILE *frames;                      /* partials that are to be added up; NULL: none */
    uint64_t frame_bytes;
    struct pipe_spill emissions; /* of windows with corrections: (window, revision) */
    struct reconcile_layer *layers;
    uint32_t layer_count;
    int32_t *layer_of_topic, *layer_of_sink; /* by topic, by sink; -1: none */
    struct reconcile_check *checks;
    uint32_t check_count;
    struct reconcile_row *rows;
    uint32_t row_count;
    struct engine_committed *committed; /* by task */
    bool *has_committed;
    struct pipe_counters *counters; /* committed, by task and stream */
    struct reconcile_ledger *ledgers;
    uint32_t ledger_count;
    struct pipe_ledger_totals *ledger_totals; /* by source: of the records that were read */
    bool *has_ledger;                         /* by source: any */
    int64_t *first;                           /* by task: the offset at which it began */
    bool *undrained;   /* by task, on Kafka: there is more behind the committed position */
    const char *place; /* the directory, or the group of Kafka */
    bool kafka;
    bool on_server;                     /* tables are; else in files */
    struct pipe_clickhouse *clickhouse; /* NULL: nobody says where that is, or none is wanted */
    bool *left_out;                     /* by sink: its table has rows, and nobody says where */
    char *group;                        /* of Kafka; owned */
    int64_t **ends; /* on Kafka by topic and partition: nothing from there on is looked at */
    bool outputs_discarded;
    bool finding;                     /* the second pass */
    bool settling;                    /* rows that come out now are corrections */
    struct engine_task *task;         /* that runs */
    struct reconcile_window *windows; /* stack of windows whose rows are being made */
    uint32_t window_depth, window_capacity;
    uint64_t work_done, work_told; /* records, for progress; told: by 4096 */
    int64_t last_report_us;
    const char *doing;
    bool told;     /* a line is on the terminal */
    bool compared; /* there are results */
};

/* options.c */
int reconcile_read_options(const struct pipe_plan *plan, int argc, char **argv,
                           struct reconcile_options *options);

/* reconcile.c */
bool reconcile_fail(struct reconcile *r, int exit_code, const char *format, ...) PIPE_PRINTF(3, 4);
void reconcile_progress(struct reconcile *r, uint64_t records);

/* reconcile.c. Records below the end that is looked at, waiting for them; RECORDS, END or FAILED.
 */
enum pipe_log_state reconcile_read(struct reconcile *r, struct pipe_log_reader *reader,
                                   uint32_t topic, int32_t partition, uint32_t max_records,
                                   struct pipe_record **records, uint32_t *count);

/* reconcile_kafka.c */
bool reconcile_open_kafka(struct reconcile *r);
/* After the topics are known: positions, traffics and ends of topics, as of one instant. */
bool reconcile_freeze(struct reconcile *r);
/* Where to read from: `from`, or behind what retention has deleted, which is the layer's trouble.
 */
int64_t reconcile_begin(struct reconcile *r, struct reconcile_layer *layer, int32_t partition,
                        int64_t from);
void reconcile_close_kafka(struct reconcile *r);

/* reconcile_ledgers.c */
bool reconcile_find_ledgers(struct reconcile *r);
struct reconcile_ledger *reconcile_add_ledger(struct reconcile *r,
                                              const struct pipe_ledger_head *head);

/* reconcile_layers.c */
bool reconcile_make_layers(struct reconcile *r);
void reconcile_free_layers(struct reconcile *r);
struct reconcile_part *reconcile_part_of(struct reconcile *r, struct reconcile_layer *layer,
                                         struct pipe_str value);
void reconcile_add(struct reconcile *r, struct reconcile_layer *layer, enum pipe_multiset_side side,
                   int64_t place, struct pipe_str key, struct pipe_str value);
bool reconcile_compare(struct reconcile *r);
bool reconcile_layer_equal(const struct reconcile_layer *layer);
/* In the second pass: keeps the row if it is one that is looked for. Returns whether `where` (made
 * by the caller) was taken. */
bool reconcile_wants(struct reconcile *r, struct reconcile_layer *layer, bool missing,
                     int64_t place, struct pipe_str key, struct pipe_str value, const char *where);

/* reconcile_rerun.c */
bool reconcile_rerun(struct reconcile *r);

/* reconcile_state.c: a pass of the re-execution; open: false: error, close in any case. */
bool reconcile_open_state(struct reconcile *r);
void reconcile_close_state(struct reconcile *r);
void reconcile_attach_state(struct reconcile *r, struct engine_task *task, uint32_t state);
/* After so many records of the task: keeps it within the budget. False: the engine has failed. */
bool reconcile_relieve(struct reconcile *r, struct engine_task *task, uint32_t records);

/* reconcile_actual.c, reconcile_raw.c */
bool reconcile_scan(struct reconcile *r, struct reconcile_layer *layer);
bool reconcile_raw(struct reconcile *r, struct reconcile_layer *layer);

/* reconcile_tables.c: a ClickHouse sink whose rows a follower takes further. The marks are read
 * before it is known where topics end. */
void reconcile_make_table(struct reconcile *r, struct reconcile_layer *layer);
void reconcile_free_table(struct reconcile_table *table);
bool reconcile_read_marks(struct reconcile *r);
bool reconcile_scan_table(struct reconcile *r, struct reconcile_layer *layer);
/* Rows that are in the topic, and in the table not yet. */
uint64_t reconcile_not_yet(const struct reconcile_layer *layer);
/* reconcile_server.c: roll-ups against the tables that feed them. */
bool reconcile_check_rollups(struct reconcile *r);

/* reconcile_partials.c: layers with `merges`. False: the frame is no partial. */
bool reconcile_add_partial(struct reconcile *r, struct reconcile_layer *layer,
                           enum pipe_multiset_side side, int32_t partition, struct pipe_str frame);
/* Makes rows of what was added; in the second pass looks them up. */
bool reconcile_merge_partials(struct reconcile *r, struct reconcile_layer *layer);

/* reconcile_revisions.c: in which order the rows of a corrected window stand. Expected rows must be
 * made before actual ones are found. */
void reconcile_made(struct reconcile *r, struct reconcile_layer *layer,
                    const struct pipe_hash *window, uint64_t revision, const struct pipe_hash *row);
void reconcile_found(struct reconcile_layer *layer, const struct pipe_hash *row, uint64_t position);
bool reconcile_check_revisions(struct reconcile *r, struct reconcile_layer *layer);

/* reconcile_markers.c */
void reconcile_make_markers(struct reconcile *r);
void reconcile_free_markers(struct reconcile *r);
/* How many of the records of an exchange are markers: no rows. */
uint64_t reconcile_marker_records(const struct reconcile *r, uint32_t exchange);
/* Whether the actual frame is a marker of the exchange; it is remembered then. */
bool reconcile_take_marker(struct reconcile *r, struct reconcile_layer *layer, int32_t partition,
                           struct pipe_str frame);
/* The task that runs again is between two records; last: it is at its committed position. */
void reconcile_reach_markers(struct reconcile *r, struct engine_task *task, bool last);

/* reconcile_checks.c */
struct reconcile_check *reconcile_check(struct reconcile *r, const char *group, int64_t left,
                                        const char *left_text, int64_t right,
                                        const char *right_text, bool at_most);
bool reconcile_check_holds(const struct reconcile_check *check);
void reconcile_check_task(struct reconcile *r, struct engine_task *task);
bool reconcile_check_totals(struct reconcile *r);

/* reconcile_end.c */
/* The committed position of the task is at the end of what it reads; known of Kafka when it has
 * run again. */
bool reconcile_task_drained(const struct reconcile *r, uint32_t task);
/* The same of all that read this input or exchange; of others true. */
bool reconcile_layer_at_end(const struct reconcile *r, const struct reconcile_layer *layer);
bool reconcile_at_end(const struct reconcile *r); /* of all */
/* The run will never write another row: its inputs are files, and it is at their ends. */
bool reconcile_is_over(const struct reconcile *r);
/* A record of an input or exchange is there: counts it if nobody has read it. */
void reconcile_note_unread(struct reconcile *r, struct reconcile_layer *layer, int32_t partition,
                           int64_t offset);
/* Nothing at the end. */
void reconcile_print_end(const struct reconcile *r, FILE *to);

/* reconcile_report.c */
struct pipe_comparison reconcile_sum(const struct reconcile_layer *layer); /* of its parts */
bool reconcile_report(struct reconcile *r, FILE *to);                      /* the verdict */

#endif
