/*
 * pipe.h: what a compiled pipeline includes. The generated file holds data (static const tables)
 * and what is special to the pipeline: row structs, decoders of contract versions, user
 * expressions, keys, accumulators, JSON encoders. All other logic lives in libpipe.
 *
 * Caveats: - one thread owns a task and all it touches; nothing here locks.
 *          - all times are int64_t microseconds since 1970 unless the name says _ms; PIPE_TIME_MIN
 * is −∞, PIPE_TIME_MAX +∞.
 *          - rows are plain structs on the caller's stack; text in them points into the record or
 * task->arena and lives until the record is done.
 *          - running out of memory ends the program (exit 4): state is a cache of the log, so
 * nothing is lost.
 */
#ifndef PIPE_H
#define PIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "value.h"
#include "row.h"
#include "functions.h"

#define PIPE_RUNTIME_ABI 1

struct pipe_task;
struct pipe_plan;

/* ------------------------------------------------------------------------------------------
 * Records and rejects
 * --------------------------------------------------------------------------------------- */

/* One record (or window row) on its way through a stage, with what accompanies its row. Strings are
 * borrowed. */
struct pipe_record {
    bool has_position; /* false for rows made by a window: then source … payload mean nothing */
    uint32_t source;   /* index in pipe_plan.sources */
    int32_t partition;
    int64_t offset;        /* in files: record number from 0, without the header */
    struct pipe_str topic; /* or path of the file */
    int64_t kafka_time_ms; /* broker time; PIPE_TIME_MIN: none. Of a window row: the greatest its
                              task has seen */
    struct pipe_str key;   /* data NULL: none */
    struct pipe_str
        payload;        /* data NULL: no value. In a stage behind an exchange: the encoded row */
    int64_t event_time; /* set by the source stage */
    int64_t watermark;  /* the one that judges it: of its partition, before it */
};

/* The row of every reject stream. */
struct pipe_reject {
    struct pipe_str reason, rule;
    struct pipe_str detail;
    bool detail_null;
    struct pipe_str topic;
    bool topic_null;
    int32_t partition;
    bool partition_null;
    int64_t offset;
    bool offset_null;
    int64_t kafka_time;
    bool kafka_time_null; /* ms */
    struct pipe_str key;
    bool key_null;
    struct pipe_str payload;
    bool payload_null;
};
extern const struct pipe_row_type pipe_reject_type;

/* Fills `out` from the record (nulls where it has no position). `detail` NULL: null. */
void pipe_reject_fill(struct pipe_reject *out, const struct pipe_record *record, const char *reason,
                      const char *rule, const char *detail);

/* ------------------------------------------------------------------------------------------
 * Counters: one set a stream and task, part of the committed state. The conservation equations over
 * them are in counters.c.
 * --------------------------------------------------------------------------------------- */

#define PIPE_COUNTERS(X)                                                                           \
    X(read)            /* source: records read */                                                  \
    X(accepted)        /* source */                                                                \
    X(source_rejected) /* source: read = accepted + source_rejected + tombstones */                \
    X(tombstones)      /* source: dropped by `drop tombstones` */                                  \
    X(in)       /* stream: rows that enter its filters (also of side streams: rows received) */    \
    X(dropped)  /* where */                                                                        \
    X(rejected) /* require, or a filter that failed */                                             \
    X(diverted) /* in = passed + dropped + rejected + diverted */                                  \
    X(passed)                                                                                      \
    X(unnest_empty)    /* rows with an empty (or null) array: passed = unnest_empty + rows with    \
                          elements */                                                              \
    X(unnested)        /* rows with elements */                                                    \
    X(elements)        /* rows made by unnest */                                                   \
    X(select_rejected) /* select (or an aggregate's argument) that failed: rows in = selected +    \
                          select_rejected */                                                       \
    X(selected)        /* rows that leave the select; only counted where there is one */           \
    X(dedup_in)                                                                                    \
    X(unique)                                                                                      \
    X(duplicate)                                                                                   \
    X(too_old)         /* dedup_in = unique + duplicate + too_old */                               \
    X(window_in)       /* (record, window) pairs that reach the window */                          \
    X(late)            /* pairs sent to the late stream or dropped late */                         \
    X(shipped)         /* pairs sent through an exchange as partials, or rows sent raw */          \
    X(received)        /* pairs (rows) that came out of the exchange */                            \
    X(emitted)         /* pairs in windows whose last row was sent */                              \
    X(window_rejected) /* pairs in windows whose row was rejected */                               \
    X(open)            /* pairs in windows still held; a gauge, computed at commits */             \
    X(out)             /* rows handed to readers and sinks */

struct pipe_counters {
#define PIPE_COUNTER_FIELD(name) uint64_t name;
    PIPE_COUNTERS(PIPE_COUNTER_FIELD)
#undef PIPE_COUNTER_FIELD
};

/* ------------------------------------------------------------------------------------------
 * Contracts: one decoder a writer version
 * --------------------------------------------------------------------------------------- */

struct pipe_contract_version {
    const char *label;       /* "v1" */
    uint64_t fingerprint;    /* CRC-64-AVRO */
    const char *schema_json; /* compact schema as written, for container files and the registry */
    /* Reads one value of this version into the reader's struct; false: reader->field and ->cause
     * say why. All bytes must be used by the caller's test. */
    bool (*decode)(struct pipe_reader *reader, void *row);
};
struct pipe_contract {
    const char *name;
    const struct pipe_row_type *row;
    const struct pipe_contract_version *versions; /* [0] is the reader's */
    uint32_t version_count;
};

/* ------------------------------------------------------------------------------------------
 * State definitions
 * --------------------------------------------------------------------------------------- */

/* The accumulator of a window or session: a generated struct of fixed size; what varies in size
 * hangs off it (aggregates.h). */
struct pipe_accumulator {
    uint32_t size_bytes;
    bool plain;              /* no pointers inside: drop needs no call, copy is memcpy */
    void (*init)(void *acc); /* acc is zeroed before */
    void (*merge)(void *into, const void *from); /* commutative and associative */
    void (*save)(const void *acc, struct pipe_buf *out);
    bool (*load)(void *acc, struct pipe_reader *in); /* acc was init-ed; false: malformed */
    void (*drop)(void *acc);                         /* frees what hangs off it */
};

/* A window whose row is due. */
struct pipe_window_row {
    const uint8_t *key;
    uint32_t key_bytes; /* pipe_key_* encoding of the group columns */
    int64_t start, end;
    const void *acc;
    int32_t revision;
    int64_t kafka_time_ms;
    int64_t watermark; /* W of the stream when it was made */
};

enum pipe_state_kind {
    PIPE_STATE_DEDUP,
    PIPE_STATE_WINDOW /* tumbling: every == size */,
    PIPE_STATE_SESSION
};
enum pipe_emit { PIPE_EMIT_CLOSE, PIPE_EMIT_FINAL, PIPE_EMIT_UPDATE };
enum pipe_phase {
    PIPE_PHASE_LOCAL,   /* judged and emitted in this task */
    PIPE_PHASE_PARTIAL, /* judged here; partials are shipped to `exchange` */
    PIPE_PHASE_MERGE    /* partials come from `exchange`; emitted here */
};

struct pipe_state_def {
    enum pipe_state_kind kind;
    const char *name;     /* of the stream */
    uint32_t stream;      /* index in pipe_plan.streams: counters */
    int64_t delay;        /* µs: W of the stream's input is the task's less this */
    bool judge_by_record; /* session or dedup behind an exchange: late and too old by
                             record->watermark, less `delay`; else by W */
    int64_t ttl;
    int64_t size, every, offset, gap, max /* 0: none */, lateness;
    enum pipe_emit emit;
    int64_t emit_every;
    bool sends_corrections;
    enum pipe_phase phase;
    uint32_t exchange;                  /* PARTIAL, MERGE: index in pipe_plan.exchanges */
    const struct pipe_accumulator *acc; /* windows, sessions */
    /* LOCAL, MERGE: makes the row and hands it on; false: the row was rejected (a sum out of
     * range). */
    bool (*emit_row)(struct pipe_task *task, const struct pipe_window_row *row);
};

/* ------------------------------------------------------------------------------------------
 * The plan, as static const tables
 * --------------------------------------------------------------------------------------- */

enum pipe_format {
    PIPE_FORMAT_AVRO,
    PIPE_FORMAT_JSON,
    PIPE_FORMAT_JSONL,
    PIPE_FORMAT_CSV,
    PIPE_FORMAT_TEXT,
    PIPE_FORMAT_BYTES,
    PIPE_FORMAT_PARQUET
};

struct pipe_source_def {
    const char *name;
    uint32_t stream;
    bool is_kafka;
    const char *target;  /* topic, or glob; "-" is standard input */
    uint32_t partitions; /* kafka; of files: 0 */
    enum pipe_format format;
    bool header;
    /* With a header: columns that a version of the contract which is accepted does not have. Files
     * without them give them their default. */
    const uint32_t *later;
    uint32_t later_count;
    const struct pipe_contract *contract; /* NULL: columns, text, bytes */
    const struct pipe_row_type *row;      /* what is decoded */
    uint32_t row_bytes;
    bool has_event_time, has_watermark;
    int64_t watermark, idle, ahead /* µs */;
    bool idle_advance;
    bool drop_tombstones;
    uint32_t stage; /* the stage that reads it */
};

/* A table of ClickHouse as the plan wants it (semantics.md §6); clickhouse.sql is its statements.
 */
enum pipe_table_keeping {
    PIPE_TABLE_ALL,           /* MergeTree: every row */
    PIPE_TABLE_LAST_REVISION, /* ReplacingMergeTree(revision): of rows with one ORDER BY the last */
    PIPE_TABLE_LAST_VERSION   /* the same by another column: an upsert */
};
struct pipe_table_column {
    const char *name; /* not quoted */
    const char *type; /* "LowCardinality(Nullable(String))" */
};
enum pipe_table_object {
    PIPE_TABLE_DATABASE,
    PIPE_TABLE_TABLE,
    PIPE_TABLE_VIEW,
    PIPE_TABLE_MATERIALIZED_VIEW
};
struct pipe_table_statement {
    enum pipe_table_object object;
    const char *name; /* of the object; "db.table" */
    const char *sql;  /* CREATE … IF NOT EXISTS …, without a semicolon */
};
struct pipe_table_rollup {
    const char *table, *view; /* AggregatingMergeTree, and the materialized view that feeds it */
    const char *select;       /* the view's */
    const char *order_by;
    const struct pipe_table_column *columns;
    uint32_t column_count;
};
struct pipe_table_def {
    const char *name; /* the sink's target */
    enum pipe_table_keeping keeping;
    const char *engine;       /* "ReplacingMergeTree(revision)" */
    const char *order_by;     /* as in the statement, without parentheses */
    const char *partition_by; /* the same; NULL: none */
    const char *view;         /* shows what counts, where keeping is not ALL; else NULL */
    const char *view_select;
    bool allow_nullable_key;
    int64_t deduplication_window; /* blocks */
    /* What an insert sends, in this order: the columns of pipe_sink_def.row, _pipe_deleted if
     * has_deleted (UInt8), _pipe_partition, _pipe_offset. */
    const struct pipe_table_column *columns;
    uint32_t column_count;
    bool has_deleted;
    const struct pipe_table_rollup *rollups;
    uint32_t rollup_count;
    /* In the order in which they are run: databases, table, view, roll-ups and their views. */
    const struct pipe_table_statement *statements;
    uint32_t statement_count;
};

enum pipe_sink_kind {
    PIPE_SINK_KAFKA,
    PIPE_SINK_CLICKHOUSE,
    PIPE_SINK_ICEBERG,
    PIPE_SINK_FILE,
    PIPE_SINK_PARQUET, /* until it is written: JSON lines in the run directory, like ICEBERG */
    PIPE_SINK_STDOUT
};
struct pipe_sink_def {
    const char *name;
    uint32_t stream;
    enum pipe_sink_kind kind;
    const char *target;  /* topic, table, path */
    uint32_t partitions; /* kafka */
    enum pipe_format
        format; /* of the bytes given to pipe_emit: JSON, JSONL (both: a JSON object without line
                   end), CSV (without line end), AVRO (binary, no frame) */
    const struct pipe_row_type *row;
    const char *avro_schema;
    uint64_t avro_fingerprint; /* AVRO */
    bool exactly_once, source_key;
    bool upsert; /* kafka: the last row of a key counts, a delete is a tombstone */
    int64_t commit_ms, commit_bytes;    /* 0: follow the pipeline */
    int64_t fresh_ms;                   /* of its slo; 0: none */
    const struct pipe_table_def *table; /* CLICKHOUSE; else NULL */
};

struct pipe_exchange_def {
    const char *name;
    uint32_t partitions;
    bool partials; /* partials of a window; else raw rows */
    uint32_t to_stage;
    const char *reason;
};

struct pipe_stage_def {
    const char *name;
    int32_t source, exchange; /* one of them >= 0: what its tasks read */
    /* Source: decodes, judges and pushes one record; true: accepted, record->event_time is set and
     * time moves. Exchange of raw rows: pushes one row. NULL where the exchange carries partials
     * only. */
    bool (*record)(struct pipe_task *task, struct pipe_record *record);
    /* Source: a row as decoded that will be pushed some records from now: gives each key that the
     * stage then takes as known (pipe_is_ahead) to pipe_key_ahead, so that the memory is asked for
     * that it will need. Without any effect on rows or state. NULL: none. Only where decoding needs
     * no arena as a rule, for such rows are decoded before their turn. */
    void (*ahead)(struct pipe_task *task, const void *row);
    const struct pipe_state_def *states;
    uint32_t state_count; /* in dataflow order */
    const uint32_t *exchanges_out;
    const int64_t *exchange_delays;
    uint32_t exchange_out_count; /* markers go there: W less the delay, µs */
};

enum pipe_stream_kind {
    PIPE_STREAM_SOURCE,
    PIPE_STREAM_NORMAL,
    PIPE_STREAM_REJECTS,
    PIPE_STREAM_LATE,
    PIPE_STREAM_DIVERTED
};
struct pipe_stream_def {
    const char *name;
    enum pipe_stream_kind kind;
    bool has_filters, has_unnest, has_select, has_dedup, has_window,
        has_exchange; /* which equations hold */
    /* Indexes in pipe_plan.streams: what it reads; of side streams, who sends rows to it. */
    const uint32_t *inputs;
    uint32_t input_count;
};

/* traffic.c */
enum pipe_generator {
    PIPE_GEN_UNIQUE,
    PIPE_GEN_SESSION,
    PIPE_GEN_UNIFORM,
    PIPE_GEN_PICK,
    PIPE_GEN_TEXT
};
struct pipe_traffic_field {
    const uint32_t *path;
    uint32_t path_count; /* column, then fields of nested records */
    enum pipe_generator kind;
    int64_t low,
        high; /* UNIFORM: in the type's unit (decimal: unscaled; float: see scale); TEXT: lengths */
    uint32_t scale; /* UNIFORM of floats: low and high are divided by 10^scale */
    const char *const *picks;
    const int64_t *weights;
    uint32_t pick_count; /* JSON texts of the column's type */
    uint32_t null_ppm;
    bool per_session;
};
struct pipe_traffic_target {
    int32_t step /* -1: end */;
    int64_t weight;
};
struct pipe_traffic_step {
    const char *value;
    const struct pipe_traffic_target *targets;
    uint32_t target_count;
};
enum pipe_fault_kind {
    PIPE_FAULT_DUPLICATE,
    PIPE_FAULT_OUT_OF_ORDER,
    PIPE_FAULT_LATE,
    PIPE_FAULT_AHEAD,
    PIPE_FAULT_VALUE,
    PIPE_FAULT_POISON
};
struct pipe_traffic_fault {
    enum pipe_fault_kind kind;
    uint32_t ppm;
    int64_t low_ms, high_ms;
    const uint32_t *path;
    uint32_t path_count;
    const char *value_json;
};
struct pipe_traffic_def {
    const char *name;
    uint32_t source;
    bool has_sessions;
    int64_t session_low_ms, session_high_ms, pause_low_ms, pause_high_ms;
    int32_t steps_column;
    const struct pipe_traffic_step *steps;
    uint32_t step_count;
    const struct pipe_traffic_field *fields;
    uint32_t field_count;
    const struct pipe_traffic_fault *faults;
    uint32_t fault_count;
    uint32_t
        event_time_column; /* timestamp_ms or timestamp_us; UINT32_MAX: none, or it is computed */
    const uint32_t *key_columns;
    uint32_t key_count; /* of the source's key clause */
};

struct pipe_plan {
    uint32_t abi;
    const char *name, *hash; /* hash: hex of the plan fingerprint */
    int64_t commit_ms, commit_bytes;
    const char *explain_text; /* what `NAME explain` prints */
    const char *plan_json;    /* canonical */
    const struct pipe_source_def *sources;
    uint32_t source_count;
    const struct pipe_stream_def *streams;
    uint32_t stream_count;
    const struct pipe_stage_def *stages;
    uint32_t stage_count;
    const struct pipe_exchange_def *exchanges;
    uint32_t exchange_count;
    const struct pipe_sink_def *sinks;
    uint32_t sink_count;
    const struct pipe_traffic_def *traffics;
    uint32_t traffic_count;
    void (*start)(void); /* compiles regexes and such, once; may be NULL */
    const char *const *secrets;
    uint32_t secret_count; /* names used by hmac_sha256 */
};

/* The whole command line of a compiled pipeline (cli.c). Returns the exit code. */
int pipe_main(const struct pipe_plan *plan, int argc, char **argv);

/* The value of a secret (PIPE_SECRET_<NAME>, or …_FILE), read before the first record; index in
 * pipe_plan.secrets. */
struct pipe_str pipe_secret(uint32_t index);

/* ------------------------------------------------------------------------------------------
 * Tasks: what generated functions call
 * --------------------------------------------------------------------------------------- */

struct pipe_task {
    const struct pipe_plan *plan;
    const struct pipe_stage_def *stage;
    const struct pipe_source_def *source; /* NULL behind an exchange */
    uint32_t stage_index;
    int32_t partition;
    int64_t watermark;       /* W: source: watermark[p]; behind an exchange: the least marker */
    int64_t kafka_time_ms;   /* the greatest seen */
    struct pipe_arena arena; /* reset before every record */
    struct pipe_counters *counters; /* by stream index */
    void **states; /* by index in stage->states: struct pipe_dedup, pipe_window, pipe_session */
    struct pipe_buf key, value, text; /* scratch of generated code: keys, row encodings, details */
    const void *ahead_row; /* the row in hand, if its keys were asked for ahead (pipe_is_ahead) */
    uint32_t ahead_index;  /* of it, or of the row that stage->ahead is given */
    uint64_t row_serial;   /* grows whenever a row struct is filled: see pipe_encoded */
    const void *encoded_row;
    const void *encoded_by;
    uint64_t encoded_serial;
    char detail[256];    /* of the last failure */
    bool replaying;      /* outputs are discarded */
    uint64_t made_bytes; /* of the record in hand: see pipe_may_make */
    uint64_t made_most;  /* 0: no limit; 1: it was exceeded, and the program stops */
    bool discards;       /* they go nowhere in this run (--no-output) */
    struct pipe_engine *engine;
    /* NULL but in reconcile: told of every window row before it is made, and of NULL when it has
     * gone where it goes. */
    void (*watch_window)(struct pipe_task *task, const struct pipe_state_def *def,
                         const struct pipe_window_row *row);
};

/* Decodes record->payload by the task's source (frame, contract version, JSON, CSV, …). NULL: done,
 * and *row, which is the task's, lives until the next record; else the built-in reason
 * ("undecodable", "schema_unknown", "no_value", "expression_failed" never), with task->detail
 * filled. */
const char *pipe_decode(struct pipe_task *task, const struct pipe_record *record, void **row);

/* Whether the row is the one in hand, as it was decoded, and was given to stage->ahead: then the
 * operators know its keys. */
static inline bool pipe_is_ahead(const struct pipe_task *task, const void *row)
{
    return task->ahead_row == row;
}

/* Whether an event time is valid (years 0001–9999) and, on Kafka, not more than `ahead` after
 * kafka_time. NULL, or the reason with task->detail. */
const char *pipe_judge_time_slow(struct pipe_task *task, const struct pipe_record *record,
                                 int64_t event_time);
static inline const char *pipe_judge_time(struct pipe_task *task, const struct pipe_record *record,
                                          int64_t event_time)
{
    /* Mostly it is not after kafka_time at all, and so neither after the year 9999. */
    if (PIPE_LIKELY(pipe_ts_ms_ok(record->kafka_time_ms) && event_time >= PIPE_TS_US_MIN &&
                    event_time <= PIPE_MS(record->kafka_time_ms)))
        return NULL;
    return pipe_judge_time_slow(task, record, event_time);
}

/* Rows for sinks are wanted by nobody now: not worth encoding. */
static inline bool pipe_discards(const struct pipe_task *task)
{
    return task->replaying || task->discards;
}

/* Whether the record's key is what the columns of its source's key clause say. NULL, or the reason
 * with task->detail. */
const char *pipe_key_mismatch(struct pipe_task *task, const struct pipe_record *record,
                              struct pipe_str key);
static inline const char *pipe_judge_key(struct pipe_task *task, const struct pipe_record *record,
                                         struct pipe_str key)
{
    if (PIPE_LIKELY(record->key.data != NULL && pipe_str_equal(key, record->key)))
        return NULL;
    return pipe_key_mismatch(task, record, key);
}

/* Every function that fills a row struct calls this after filling it, so that an encoding of
 * another row at the same address is not reused. */
static inline void pipe_new_row(struct pipe_task *task)
{
    task->row_serial++;
}
/* True if task->value holds this row's encoding by `encoder` already; else the caller encodes into
 * task->value (emptied here). */
static inline bool pipe_encoded(struct pipe_task *task, const void *row, const void *encoder)
{
    if (task->encoded_row == row && task->encoded_by == encoder &&
        task->encoded_serial == task->row_serial)
        return true;
    task->encoded_row = row;
    task->encoded_by = encoder;
    task->encoded_serial = task->row_serial;
    task->value.size = 0;
    return false;
}

/* What an element of an array or a missed window counts, besides the rows made of it. */
#define PIPE_ITEM_BYTES 16
/* Counts what the record in hand makes, before it is made, so that one record cannot take all
 * memory: rows for sinks and exchanges, and what states keep of its elements. False: it is more
 * than --max-outputs; the program stops with exit code 1, and the caller makes nothing more. */
bool pipe_made_too_much(struct pipe_task *task, const struct pipe_record *record);
static inline bool pipe_may_make(struct pipe_task *task, const struct pipe_record *record,
                                 uint64_t bytes)
{
    task->made_bytes += bytes;
    return PIPE_LIKELY(task->made_bytes <= task->made_most) || pipe_made_too_much(task, record);
}

/* Hands one row to a sink. key.data NULL: no key; with sink.source_key: key and partition of the
 * source's record. Copies. */
void pipe_emit(struct pipe_task *task, uint32_t sink, const struct pipe_record *record,
               struct pipe_str key, struct pipe_str value);
/* The same to a table that has_deleted: a JSON object, which says so in a last member. */
void pipe_emit_deletable(struct pipe_task *task, uint32_t sink, const struct pipe_record *record,
                         struct pipe_str value, bool deleted);

/* Sends a row to an exchange, by the encoded key in task->key. Copies. Counts `shipped` of the
 * exchange's stream; the engine counts `received` when the row comes out, before it calls
 * stage->record. (All other counters of sources and streams are counted by generated code, those of
 * operators by them.) */
void pipe_exchange_row(struct pipe_task *task, uint32_t exchange, const struct pipe_record *record,
                       const struct pipe_row_type *type, const void *row);

/* The value of the source's record, behind a row that was sent so: what is left at `at`. data NULL:
 * it has none. */
static inline struct pipe_str pipe_exchange_payload(const uint8_t *at, const uint8_t *end)
{
    return at < end ? pipe_str_of(at + 1, (size_t)(end - at - 1)) : pipe_str_of(NULL, 0);
}

/* ------------------------------------------------------------------------------------------
 * Operators (dedup.c, window.c, session.c). `state` is the index in stage->states. The key is the
 * encoding in task->key, or with is_ahead (pipe_is_ahead) the one in pipe_key_ahead for this row.
 * They count; the caller counts nothing of theirs.
 * --------------------------------------------------------------------------------------- */

enum pipe_dedup_verdict { PIPE_UNIQUE, PIPE_DUPLICATE, PIPE_TOO_OLD };
enum pipe_dedup_verdict pipe_dedup(struct pipe_task *task, uint32_t state,
                                   const struct pipe_record *record, bool is_ahead);
/* How many records before their turn rows are decoded and their keys asked for, where the stage has
 * a use for it: long enough for memory to come, few enough to stay in the first-level cache. A
 * power of two, at most 32. */
#define PIPE_AHEAD 16u

/* What every state begins with (state.h). */
struct pipe_state {
    /* `advance` has nothing to do while the watermark of its input is less; it may be too low,
     * never too high. PIPE_TIME_MAX: never. */
    int64_t due;
    /* Keys of rows that come next, of PIPE_AHEAD by pipe_task.ahead_index (pipe_key_ahead); NULL:
     * nobody asked. */
    struct pipe_buf *keys;
};

#define PIPE_KEY_KEPT_BYTES 4096u /* of a key ahead that was longer no memory is kept */
struct pipe_buf *pipe_key_ahead_slow(struct pipe_task *task, uint32_t state);

/* Where stage->ahead puts the key that a row will be asked by, in place of the one that is there.
 * Of the task. */
static inline struct pipe_buf *pipe_key_ahead(struct pipe_task *task, uint32_t state)
{
    const struct pipe_state *of = (const struct pipe_state *)task->states[state];
    if (PIPE_UNLIKELY(of->keys == NULL) ||
        PIPE_UNLIKELY(of->keys[task->ahead_index].capacity > PIPE_KEY_KEPT_BYTES))
        return pipe_key_ahead_slow(task, state);
    return &of->keys[task->ahead_index];
}

/* Where a record goes: `acc` to be updated (NULL: to none), and `late` windows it missed, ending at
 * late_end, late_end + every, … */
struct pipe_window_hit {
    void *acc;
    uint32_t late;
    int64_t late_end;
};
struct pipe_window_hit pipe_window(struct pipe_task *task, uint32_t state,
                                   const struct pipe_record *record, bool is_ahead);
/* Sessions merge what the record joins; acc is that of the merged session. late is 0 or 1, late_end
 * the end of the merged session. */
struct pipe_window_hit pipe_session(struct pipe_task *task, uint32_t state,
                                    const struct pipe_record *record, bool is_ahead);

/* Stops the program with exit code 1: data that no clause covers. Comes back; the caller gives up
 * its row, and nothing of it is committed. */
void pipe_fatal(struct pipe_task *task, const char *format, ...) PIPE_PRINTF(2, 3);

/* Microseconds as the value of a timestamp column, kept within the years 0001 to 9999 (window ends,
 * −∞). */
static inline int64_t pipe_column_ts_us(int64_t time_us)
{
    return time_us < PIPE_TS_US_MIN   ? PIPE_TS_US_MIN
           : time_us > PIPE_TS_US_MAX ? PIPE_TS_US_MAX
                                      : time_us;
}
static inline int64_t pipe_column_ts_ms(int64_t time_us)
{
    return pipe_floor_div(pipe_column_ts_us(time_us), 1000);
}

#include "aggregates.h"

#endif
