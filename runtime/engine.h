/*
 * engine.h: the inside of a running pipeline: tasks, time, exchanges, commits, recovery. Generated
 * code sees none of it (pipe.h); operators see state.h.
 *
 *   cli.c → engine_open (log, state, tasks, replay) → engine_run (read, commit, save) →
 * engine_report
 *
 * Where the log is shared by a group of processes (log->grouped), tasks come and go while it runs:
 * engine_group.c.
 *
 * One thread runs all tasks in turn. A function that can fail returns bool; false means
 * engine->error holds one line and engine->exit_code the exit code (grammar.md). Callbacks of
 * generated code and operators (pipe_emit, …) return nothing: they set engine->failed, tested after
 * every batch.
 */
#ifndef PIPE_ENGINE_H
#define PIPE_ENGINE_H

#include <signal.h>
#include <stdio.h>

#include "pipe.h"
#include "state.h"
#include "log.h"
#include "input.h"
#include "output.h"

enum { PIPE_EXIT_OK, PIPE_EXIT_DATA, PIPE_EXIT_USAGE, PIPE_EXIT_STATE, PIPE_EXIT_INTERNAL };

/* ---- Crash points: only in debug builds, where PIPE_CRASH=name:n ends the program by SIGKILL when
 * the point is passed for the n-th time. A simulation sets the hook, which is called instead, and
 * may leave by longjmp. ---- */
#ifdef PIPE_DEBUG
extern _Thread_local void (*pipe_crash_hook)(const char *name);
void pipe_crash_point(const char *name);
#define PIPE_CRASH_POINT(name) pipe_crash_point(name)
#else
#define PIPE_CRASH_POINT(name) ((void)0)
#endif

/* ---- Messages (engine_messages.c): `2026-01-31T10:00:00.123Z level message key=value …` on stderr
 * ---- */
enum pipe_level { PIPE_DEBUG_LEVEL, PIPE_INFO, PIPE_WARNING, PIPE_ERROR };
void pipe_message_level(enum pipe_level least);
/* `fields_format` gives the `key=value …` part, or is NULL. */
void pipe_message(enum pipe_level level, const char *message, const char *fields_format, ...)
    PIPE_PRINTF(3, 4);
/* A text of others, for the inside of `name=\"…\"`: `"` and `\` escaped, control characters blank,
 * cut to the room. Returns `to`. */
const char *pipe_message_quoted(char *to, size_t to_bytes, const char *text);
/* The same, valid until the end of the block. */
#define PIPE_QUOTED(text) pipe_message_quoted((char[640]){0}, 640, text)

/* ---- What a test puts in the place of a run's surroundings (testing.c). Besides, with hooks
 * secrets are 'test' and idle partitions follow at once, not once a second. ---- */
struct pipe_hooks {
    void *context;
    bool (*refuse_commit)(void *context); /* true: this attempt fails before it is written */
    uint32_t (*file_partitions)(void *context, uint32_t source);
    struct pipe_input *(*open_input)(void *context, const struct pipe_input_config *config);
};

/* ---- Where the log of a run is: NULL in the options: embedded, in the run directory. `dir` is
 * that of the state. NULL: error. ---- */
struct pipe_transport {
    void *context;
    struct pipe_log *(*open)(void *context, const char *dir, char *error, size_t error_bytes);
};

/* ---- Kafka, from the command line and the environment (options_kafka.c). Values may be secrets.
 * ---- */
#define KAFKA_TRANSACTION_MS 10000
struct pipe_kafka_options {
    struct pipe_kafka_property *properties; /* owned, with their strings */
    uint32_t property_count;
    const char *group, *instance; /* NULL: the default; that of the state directory */
    uint32_t prefetch_kib;        /* 0: the default */
    struct pipe_kafka_fetch fetch;
};
/* --kafka KEY=VALUE. NULL: taken; else what is wrong, without the value. */
const char *pipe_kafka_take(struct pipe_kafka_options *options, const char *text);
/* Adds PIPE_KAFKA_… of the environment where the command line says nothing. */
bool pipe_kafka_environment(struct pipe_kafka_options *options, char *error, size_t error_bytes);
const char *pipe_kafka_value(const struct pipe_kafka_options *options, const char *name);
/* For pipe_log_kafka_open; the caller frees config->properties (the array). */
bool pipe_kafka_config(const struct pipe_plan *plan, const struct pipe_kafka_options *options,
                       struct pipe_kafka_config *config, char *error, size_t error_bytes);
void pipe_kafka_options_free(struct pipe_kafka_options *options);
struct pipe_kafka_run {
    const struct pipe_plan *plan;
    const struct pipe_kafka_options *options;
    struct pipe_transport transport;
};
/* `run` and what it points to live as long as the transport is used. */
const struct pipe_transport *pipe_kafka_transport(struct pipe_kafka_run *run,
                                                  const struct pipe_plan *plan,
                                                  const struct pipe_kafka_options *options);

#define PIPE_STATE_BYTES (512ull << 20) /* the default of --state-memory */

/* ---- Options (options.c) ---- */
enum pipe_progress { PIPE_PROGRESS_AUTO, PIPE_PROGRESS_NEVER, PIPE_PROGRESS_ALWAYS };
struct pipe_path_option {
    const char *name, *path; /* of a source or sink */
};
struct pipe_run_options {
    const char *embedded; /* the directory; NULL: none */
    const char *state;    /* with a transport: the directory of the state */
    struct pipe_path_option *paths;
    uint32_t path_count;
    bool traffic, until_end, no_output;
    bool accept_gap; /* goes on behind records that retention has taken */
    bool no_follow;  /* rows of tables stay in their topics */
    struct pipe_kafka_options kafka;
    struct pipe_kafka_run kafka_run;
    char *default_state;
    bool replace; /* files of sinks that are there when a directory begins may be overwritten */
    struct pipe_feeder_options feeder;
    bool has_count, has_rate, has_seed,
        has_start; /* given; else those of the run directory count */
    int64_t commit_ms, commit_bytes;
    uint32_t max_record_bytes;
    uint64_t max_outputs;   /* bytes that one record may make; 0: 256 times max_record_bytes */
    uint64_t state_bytes;   /* memory for the states of all tasks; 0: PIPE_STATE_BYTES */
    uint32_t batch_records; /* of one partition read at a time, at most; 0: 1024 */
    enum pipe_progress progress;
    const char *listen;      /* ADDRESS:PORT of /metrics, or none; NULL: the default */
    const char *schema_ids;  /* file: `ID CONTRACT VERSION` lines, for Confluent frames */
    int64_t schema_wait_ms;  /* for a schema that the registry does not know (yet) */
    const char *checkpoints; /* URL; NULL: none */
    int64_t checkpoint_ms;   /* 0: CHECKPOINT_EVERY_MS */
    const struct checkpoint_hooks *checkpoint_hooks; /* NULL but in tests */
    const struct pipe_transport *transport;
    const struct pipe_hooks *hooks; /* NULL but in tests */
};
struct pipe_inspect_options {
    struct pipe_run_options run;    /* first: --kafka, --group */
    const char *dir, *what;         /* dir NULL: Kafka; what: topics, offsets, watermarks, state,
                                       dump, table */
    const char **words;             /* owned: `names` are some of these */
    const char *const *names;       /* of dump the topics, of table the sink */
    uint32_t name_count;
    int64_t partition, from, limit; /* partition -1: all */
    bool dumps;                     /* one of these was given */
};
struct pipe_traffic_options {
    struct pipe_run_options
        run; /* first; of it feeder and progress: the rows of options are shared */
    const char *to,
        *traffic;       /* the directory; the traffic's name, NULL: the first of each source */
    const char *ledger; /* the file; NULL: none */
    int64_t seconds;    /* to Kafka: so long in real time; 0: not given */
};

/* 0 and filled, or -1: `--help` was printed (exit 0), or the exit code after a message. What is
 * owned is freed by the caller in any case. */
int pipe_options_run(const struct pipe_plan *plan, int argc, char **argv,
                     struct pipe_run_options *options);
int pipe_options_inspect(const struct pipe_plan *plan, int argc, char **argv,
                         struct pipe_inspect_options *options);
int pipe_options_follow(const struct pipe_plan *plan, int argc, char **argv,
                        struct pipe_run_options *options);
int pipe_options_traffic(const struct pipe_plan *plan, int argc, char **argv,
                         struct pipe_traffic_options *options);
void pipe_options_free(struct pipe_run_options *options);
/* options_check.c: whether a run with these can keep its promise, and by which transport. 0, or the
 * exit code after a message. */
int pipe_options_check_run(const struct pipe_plan *plan, struct pipe_run_options *options);
/* The nearest of `count` names, or NULL if none is near. */
const char *pipe_nearest(const char *word, const char *const *names, size_t count);
bool pipe_parse_count(const char *text, int64_t least, int64_t most, int64_t *out);
bool pipe_parse_duration_ms(const char *text, int64_t *out); /* 100ms, 5s, 1m, … */

/* ---- The state store (state_store.c): RocksDB at DIR/state ---- */
struct pipe_store;
struct pipe_store_position { /* of one task: what its state covers */
    int64_t offset;
    uint64_t seq;      /* time records applied */
    int64_t watermark; /* W */
    int64_t kafka_time_ms;
    struct pipe_input_position input;
    struct pipe_str schemas; /* schemas_save; of load: valid until the next call */
    const int64_t *markers;  /* by upstream; of load: valid until the next call */
    uint32_t marker_count;
};
struct pipe_store *pipe_store_open(const char *dir, bool read_only, bool *created, char *error,
                                   size_t error_bytes);
void pipe_store_close(struct pipe_store *store);
const char *pipe_store_error(const struct pipe_store *store);
struct pipe_hash_key pipe_store_hash_key(const struct pipe_store *store);
/* Of keys and values, all operators' too; another one can't be read. */
#define PIPE_STATE_VERSION "8"
const char *pipe_store_version(const struct pipe_store *store);
/* What the state belongs to; "" in a new one. It is written by the first save. */
const char *pipe_store_plan(const struct pipe_store *store);
const char *pipe_store_incarnation(const struct pipe_store *store);
void pipe_store_identify(struct pipe_store *store, const char *plan_hash, const char *incarnation);
/* false: malformed (error). *found false: the task has no state. */
bool pipe_store_load_position(struct pipe_store *store, uint32_t stage, int32_t partition,
                              struct pipe_store_position *position, bool *found);
/* Calls load for every entry of one state. */
bool pipe_store_load_state(struct pipe_store *store, uint32_t stage, int32_t partition,
                           uint32_t index, const struct pipe_state_ops *ops, void *state,
                           uint64_t *entries);
/* One save: begin, for each task save_state … save_position, then end: one write. */
void pipe_store_begin(struct pipe_store *store);
void pipe_store_save_state(struct pipe_store *store, uint32_t stage, int32_t partition,
                           uint32_t index, const struct pipe_state_ops *ops, void *state);
/* Before save_state, where memory is short: lets go of about `bytes` of it (state.h, spill). */
void pipe_store_spill_state(struct pipe_store *store, uint32_t stage, int32_t partition,
                            uint32_t index, const struct pipe_state_ops *ops, void *state,
                            uint64_t bytes, bool traces);
/* Reads what `spill` has written, as of the last save. */
struct pipe_state_reader pipe_store_reader(struct pipe_store *store, uint32_t stage,
                                           int32_t partition, uint32_t index);
void pipe_store_save_position(struct pipe_store *store, uint32_t stage, int32_t partition,
                              const struct pipe_store_position *position);
bool pipe_store_end(struct pipe_store *store);
/* As pipe_store_end, but what it writes may still be on its way; an error of that comes with the
 * next save, or with pipe_store_wait. A crash meanwhile leaves the save before. */
bool pipe_store_end_later(struct pipe_store *store);
bool pipe_store_wait(struct pipe_store *store); /* until it is written */
struct pipe_store_usage {
    uint64_t entries, bytes;
};
bool pipe_store_usage(struct pipe_store *store, uint32_t stage, int32_t partition, uint32_t index,
                      struct pipe_store_usage *usage);
uint64_t pipe_store_disk_bytes(const struct pipe_store *store); /* of its files, about */

/* ---- Tasks ---- */

/* A position C as committed with its outputs. */
struct engine_position {
    int64_t offset;
    uint64_t seq;
    struct pipe_input_position input; /* of files: input.offset == offset */
};

/* Embedded, all tasks run from the start to the end. */
enum engine_phase {
    ENGINE_ABSENT,   /* another process has it, or none */
    ENGINE_ASSIGNED, /* ours, not recovered yet */
    ENGINE_RUNNING   /* the only ones that read, settle, commit and count */
};

/* What another process has committed of its partition: for the idle rule. */
struct engine_remote {
    int64_t watermark;
    bool idle;
    int64_t seen_us; /* monotonic; INT64_MIN: never */
};

struct engine_task {
    struct pipe_task task; /* first: pipe_task * ↔ engine_task * */
    uint32_t index;        /* in engine->tasks */
    struct engine_position position;
    struct engine_position committed; /* of the last commit; state is saved as of it */
    bool has_committed;
    enum engine_phase phase;
    bool held;             /* absent; what is in memory is as of `committed` */
    int64_t held_since_us; /* monotonic */
    uint32_t drops;        /* how often its memory was dropped: a replay that sees it change ends */
    struct engine_remote remote;
    uint64_t skipped;         /* records that retention took before they were read; committed */
    bool idle;                /* at its end for long enough; committed for the others */
    bool dirty;               /* something happened since the last commit */
    bool ended;               /* a file at its end, whose +∞ is logged (or pending) */
    int64_t marked_watermark; /* W up to which markers are sent where they are needed */
    int64_t told_watermark;   /* W that the last markers told; after recovery at most */
    int64_t *markers;         /* behind an exchange: the last, by upstream task */
    uint32_t marker_count;
    int32_t merge_state;               /* behind an exchange of partials: index in stage->states */
    const struct pipe_state_ops **ops; /* by index in stage->states */
    struct pipe_input *input;          /* of files */
    struct pipe_log_reader *reader;    /* of topics and exchanges */
    struct pipe_log_reader *times;     /* of its time records; NULL: none in use */
    uint64_t times_seq;                /* the one that comes next there */
    uint32_t topic;                    /* the topic it reads; of files unused */
    uint32_t time_topic;               /* of a source: its time records */
    struct pipe_str name;              /* topic or path */
    struct task_schemas *schemas;      /* what schema ids it was given (schemas.h); NULL: none */
    const char *fault;                 /* of the record in hand */
    const struct pipe_record *batch;   /* in hand: index of a record for faults and CSV fields */
    uint8_t *rows;           /* decoded, some before their turn: by index modulo PIPE_AHEAD */
    uint32_t ahead_ready;    /* bit by the same: the row is there */
    uint64_t dry_states;     /* engine_memory.c: bit by state (63: that and later) */
    int64_t at_end_since_us; /* monotonic; -1: not at the end */
    int64_t last_raise_us;   /* monotonic */
    int64_t raise_time_ms;   /* kafka_time of its last time record; PIPE_TIME_MIN: none */
    uint64_t records;        /* read by this process, replay included */
};

struct engine_source {
    const struct pipe_source_def *def;
    bool files; /* read from paths, also a kafka source with topic files */
    bool standard_input;
    char **paths; /* by partition */
    char **names; /* the same as text: for pipe_record.topic */
    int64_t *lengths;
    int64_t *modified_ns; /* since 1970, as the file system has it */
    bool *changed;        /* it had another time when the run began; NULL: nobody has compared */
    uint32_t partitions;
    uint32_t topic, time_topic; /* in the log */
    uint32_t first_task;        /* its tasks are first_task … + partitions */
    struct pipe_feeder *feeder;
    uint32_t traffic; /* index in plan->traffics */
    struct pipe_feeder_options feeder_options;
    uint64_t fed; /* records taken from the feeder */
    bool paced;   /* endless traffic goes on in real time */
    bool has_pace;
    int64_t pace_from_us, pace_from_ms; /* monotonic; the kafka_time that is due then */
    bool feeder_ended, feeder_dirty;
    bool has_ahead; /* a record is waiting for its time */
    struct pipe_feed_record ahead;
};

struct engine_sink {
    const struct pipe_sink_def *def;
    bool is_topic;
    bool by_record; /* partition that of the source's record, whatever the key: an internal topic */
    bool followed;  /* a table whose rows are those of another sink's topic: nothing is written */
    uint32_t topic, partitions;
    struct pipe_output *output; /* NULL with --no-output, and of topics */
    char *path;                 /* of the output; NULL: standard output */
    bool known;                 /* the log has a length of it: */
    int64_t committed_bytes;
    struct pipe_file_mark mark;    /* with it, */
    bool marked;                   /* unless a program put it that knew none */
    struct pipe_buf frame;         /* scratch: Avro single-object frame */
    uint64_t rows, committed_rows; /* by this process */
    uint64_t bytes;                /* of their keys and values */
    struct metrics_ages *ages;     /* of an objective; NULL: nobody counts them */
};

struct engine_exchange {
    const struct pipe_exchange_def *def;
    uint32_t topic;
    int32_t stream;                /* by name in plan->streams; -1: none */
    struct engine_task **upstream; /* who sends markers, in order of (stage, partition) */
    uint32_t upstream_count;
    const struct pipe_row_type *row; /* of raw rows, once reconcile has seen one; else NULL */
};

struct engine_schema_id {
    uint32_t id;
    const char *contract; /* NULL: end of the list is by count */
    uint32_t version;
};

struct engine_rejects { /* rejects by (rule, reason), of this process's life, from the commits */
    char *rule, *reason;
    uint64_t count, committed;
};

struct pipe_engine {
    const struct pipe_plan *plan;
    const struct pipe_run_options *options;
    struct pipe_log *log;
    struct pipe_store *store;
    int lock_fd;
    struct engine_task *tasks;
    uint32_t task_count;
    uint32_t *stage_first, *stage_partitions; /* tasks by stage */
    struct engine_source *sources;
    struct engine_sink *sinks;
    struct engine_exchange *exchanges;
    struct engine_schema_id *schema_ids;
    uint32_t schema_id_count;
    struct engine_schemas *schemas;        /* schemas.c */
    struct pipe_metrics *metrics;          /* metrics.h; NULL: nobody asks */
    struct pipe_follower_thread *follower; /* follower.h; NULL: no table is followed */
    struct pipe_checkpoints *checkpoints;  /* checkpoint.h; NULL: none are made */
    struct engine_rejects *rejects;
    uint32_t reject_count;
    bool rejects_dirty;
    struct pipe_buf scratch; /* of commits and exchange frames */
    struct pipe_str *secrets;
    uint8_t secrets_digest[8]; /* of all of them; in every position */
    int64_t wall_ms;           /* append time of records written now; refreshed once a round */
    int64_t start_wall_ms;     /* as started_us */
    int64_t last_commit_us, commit_began_us; /* monotonic; when the last one ended, and began */
    bool caught_up;                          /* since the last commit a round found nothing to do */
    int64_t last_save_us;
    bool save_at_once; /* a task has committed for the first time */
    uint64_t commits_since_save, bytes_since_save, commits;
    uint64_t output_bytes;               /* to files and tables in the open commit */
    uint64_t source_records;             /* read by source tasks in this run, without replay */
    uint64_t replayed, restored_entries; /* at the start */
    uint64_t records_at_save;
    uint64_t bytes_after_spill; /* of all states: what could not leave, or need not */
    /* Of a log that is shared: */
    bool joined, ready; /* in the group; appends are possible */
    bool is_known;      /* the group has committed something, or its topics are empty */
    bool was_assigned;  /* an assignment has come, though it may be empty */
    bool waits;         /* in the last round a reader did not know yet whether there is more */
    int64_t last_poll_us;
    uint64_t aborts;      /* commits that did not happen, and partitions lost */
    bool told_metadata;   /* that a position comes near its limit */
    bool begun;           /* what fails from here on is a failure, also behind a signal */
    bool stop;            /* ends the run in order, as a signal does */
    bool resumed;         /* an earlier run of this directory had committed something */
    bool finished_before; /* all inputs were at their ends at the start */
    bool commit_unknown;  /* a commit failed: it may have happened or not */
    const char *dir;      /* the run directory */
    bool reconciles;      /* reads what was committed, and commits nothing */
    bool temporary;       /* made for this run: removed at the end */
    bool endless;         /* a source without end: only a signal stops the run */
    bool trickles;        /* a source that delivers in its own time: commits wait for their turn */
    int64_t last_idle_us, last_report_us, started_us;
    int64_t last_markers_us; /* when markers were last sent that nothing needed; 0: never */
    bool markers_due;        /* in this commit they are */
    uint64_t records_at_report;
    bool failed;
    int exit_code;
    char error[1024];
};

static inline struct engine_task *engine_task_of(struct pipe_task *task)
{
    return (struct engine_task *)task;
}

/* Sets failed, exit_code and error (the first call wins); returns false. */
bool engine_fail(struct pipe_engine *engine, int exit_code, const char *format, ...)
    PIPE_PRINTF(3, 4);

/* engine.c */
struct pipe_engine *engine_new(const struct pipe_plan *plan,
                               const struct pipe_run_options *options);
bool engine_open(struct pipe_engine *engine); /* lock, log, inputs, tasks, state, replay, outputs */
bool engine_open_log(struct pipe_engine *engine); /* its first part: directory, lock, log */
bool engine_run(struct pipe_engine *engine);
/* One round of it: the group, one turn of every task, idle time, a commit if it is due. Does not
 * sleep but in the log's poll, wait_ms at most. */
enum engine_state { ENGINE_WORKED, ENGINE_IDLE, ENGINE_FINISHED, ENGINE_FAILED };
enum engine_state engine_step(struct pipe_engine *engine, int64_t wait_ms);
bool engine_finish(struct pipe_engine *engine); /* after FINISHED: commits, saves, checks */
/* Of this thread: secrets and rejects are those of `engine` from now on. */
void engine_enter(struct pipe_engine *engine);
bool engine_stops(const struct pipe_engine *engine);       /* a signal, or engine->stop */
bool engine_is_finished(const struct pipe_engine *engine); /* all of its input is read, committed */
void engine_close(struct pipe_engine *engine);
extern volatile sig_atomic_t engine_stop_requested;    /* by SIGTERM, SIGINT */
bool engine_drained(const struct pipe_engine *engine); /* no task has anything to read */
/* When the next commit is due, monotonic. Of one that keeps up, the interval runs from the
 * beginning of a commit to the beginning of the next, so that what a commit takes does not come on
 * top; but a quarter of it passes in between. One that is behind makes its transactions greater: it
 * works for the interval, and for no less than its last commit took (a second at most, and what the
 * log allows), else slow commits would leave it no time to catch up. */
int64_t engine_next_commit_us(const struct pipe_engine *engine);
/* Ties the times of endless traffic to the clock, by the first record in hand. One of the last ten
 * minutes is due at its own time, so what fell due while no process ran is sent at once; older and
 * later ones (--start) go on from now, at their rate. */
void engine_begin_pace(struct engine_source *source, int64_t now_us, int64_t wall_ms);
bool engine_is_due(const struct engine_source *source, int64_t now_us); /* the record in hand */

/* clock.c */
int64_t engine_monotonic_us(void);
int64_t engine_wall_ms(void);
void engine_sleep_us(int64_t us);

/* engine_setup.c: sources, sinks, exchanges and tasks from the plan; engine_inputs.c: files;
 * engine_outside.c: secrets, schema ids */
bool engine_setup(struct pipe_engine *engine);
/* engine_outputs.c. check: which files the sinks write, and that nothing is lost by it; nothing is
 * opened yet. open: cuts them back to what was committed; the log knows new ones before their first
 * byte. is_over: there is nothing to cut but what is somebody else's, and that is refused. */
bool engine_check_outputs(struct pipe_engine *engine);
bool engine_open_outputs(struct pipe_engine *engine, bool is_over);
/* Into engine->scratch: what the log keeps of a file at a length. */
void engine_encode_output(struct pipe_engine *engine, const struct engine_sink *sink,
                          int64_t length_bytes);
/* Where a sink that is no topic writes; free. */
char *engine_output_path(const struct pipe_engine *engine, const struct pipe_sink_def *sink);
bool engine_find_inputs(struct pipe_engine *engine);
bool engine_check_inputs(struct pipe_engine *engine);
bool engine_load_secrets(struct pipe_engine *engine);
void engine_use_secrets(const struct pipe_engine *engine); /* pipe_secret gives them */
void engine_forget_secrets(struct pipe_engine *engine);
bool engine_load_schema_ids(struct pipe_engine *engine);
const char *engine_option_path(const struct pipe_engine *engine, const char *name);
void engine_free_parts(struct pipe_engine *engine);

/* engine_recover.c */
bool engine_recover(struct pipe_engine *engine);
/* One task: from its committed position and its state to RUNNING, by replay. True also if the
 * partition has gone meanwhile, to another process: see its phase. */
bool engine_recover_task(struct pipe_engine *engine, struct engine_task *task);
/* Where reading on needs what the log does not give yet: serves the group, sleeps, and gives up
 * when *since_us (0 at first) is long ago. False: failed (a task that does not wait any longer
 * without a message: see *expired), or the task has gone. */
bool engine_wait_on(struct engine_task *task, int64_t *since_us, bool *expired);
/* The records of a topic are gone before they were read: tells it and moves the task, or fails. */
bool engine_skip_gap(struct engine_task *task, int64_t begin, int64_t committed);

/* engine_group.c: tasks that come and go with their partitions. */
bool group_join(struct pipe_engine *engine);
/* Serves the group and acts on what it says. */
bool group_poll(struct pipe_engine *engine, int64_t wait_ms);
/* group_poll, then tasks that were assigned are recovered. *can_run false: not yet. */
bool group_serve(struct pipe_engine *engine, int64_t wait_ms, bool *can_run);
/* After a commit that did not happen: everything in memory is dropped, as at a restart. */
void group_aborted(struct pipe_engine *engine);
bool group_owns_all(const struct pipe_engine *engine);
void engine_drop_task(struct engine_task *task); /* what it has in memory */
/* engine_fail with the error of the log. */
bool engine_log_failed(struct pipe_engine *engine);
bool engine_check_plan(struct pipe_engine *engine); /* the log is new or of this plan */
/* Metadata of an embedded log: "1048576 2097152 ". */
#define RECORD_LIMITS "max_record"
#define RECORD_LIMITS_BYTES 512u

/* engine_memory.c: the budget of all states (--state-memory) */
uint64_t engine_state_bytes(const struct pipe_engine *engine);
/* So far beyond the budget that saving, which lets states spill, should not wait. */
bool engine_memory_is_short(const struct pipe_engine *engine);
/* Between begin and the first state of a write: makes states spill until the rest fits, or a part
 * of that. True: more may go in another write. */
bool engine_spill(struct pipe_engine *engine);
/* In recovery: saves and spills a task alone, as of its position, while it takes more than its
 * share. */
bool engine_relieve(struct pipe_engine *engine, struct engine_task *task);
struct pipe_state_spilled engine_spilled(const struct pipe_engine *engine);

/* engine_commit.c */
bool engine_may_save(const struct engine_task *task); /* all of its state is committed */
/* Into the save that has begun, as of a position that the state is at. */
void engine_save_task(struct pipe_engine *engine, const struct engine_task *task,
                      const struct engine_position *at);
bool engine_has_pending(const struct pipe_engine *engine);
/* The run directory is still there, and still this run's. */
bool engine_check_directory(struct pipe_engine *engine);
bool engine_commit(struct pipe_engine *engine);
bool engine_save_state(struct pipe_engine *engine);
bool engine_save_if_due(struct pipe_engine *engine);
void engine_rollback(struct pipe_engine *engine);
void engine_encode_task(struct pipe_engine *engine, const struct engine_task *task,
                        struct pipe_buf *to);
/* Where the task is, for the log, without its value; its name is written to `name`. */
struct pipe_log_position engine_task_position(const struct engine_task *task, char *name,
                                              size_t name_bytes);
/* Committed fields of a task as inspect and recovery need them; counters are added into `counters`
 * (plan->stream_count of them) unless NULL. */
struct engine_committed {
    struct engine_position position;
    int64_t watermark, kafka_time_ms, raise_time_ms;
    bool ended, idle;
    uint64_t skipped;
    bool has_secrets;
    uint8_t secrets_digest[8];
};
bool engine_decode_task(const struct pipe_plan *plan, struct pipe_str value,
                        struct engine_committed *out, struct pipe_counters *counters);
void engine_task_name(const struct pipe_plan *plan, uint32_t stage, int32_t partition, char *to,
                      size_t to_bytes); /* of its metadata in the log */

/* decode.c: decodes records of task->batch before their turn, each into the row of its index modulo
 * PIPE_AHEAD. Returns a bit by the same of those that are there; the others must be decoded in
 * their turn. Makes the keys of a row that was decoded so. */
uint32_t engine_decode_ahead(struct engine_task *task, const struct pipe_record *records,
                             uint32_t from, uint32_t to);
void engine_keys_ahead(struct engine_task *task, uint32_t index);

/* task.c */
enum task_result { TASK_IDLE, TASK_WORKED, TASK_FAILED, TASK_WAITS };
/* Reads one batch, at most max_records, none at `before` or behind it. IDLE: there are none, and
 * the position is behind the gaps that follow. WAITS: none yet. */
enum task_result task_run(struct engine_task *task, uint32_t max_records, int64_t before);
void task_settle(struct engine_task *task); /* before a commit: corrections, then markers */
bool task_open_position(struct engine_task *task, const struct engine_position *at);
void task_after(struct engine_task *task); /* advances the states that are due at the task's W */

/* watermark.c */
void watermark_raise(struct engine_task *task, int64_t floor); /* to at least floor */
bool watermark_end_of_input(struct engine_task *task);         /* logs floor +∞ and applies it */
bool watermark_idle(struct pipe_engine *engine, int64_t now_us, bool *raised);
struct time_record {
    int64_t offset;
    uint64_t seq;
    int64_t floor, kafka_time_ms;
    struct pipe_str schema; /* a verdict on a schema id (schemas.h), of a record without a floor;
                               else empty. Valid until the next one is read */
};
/* Time record number seq (from 1) of a source's partition. One after the other, they are read once.
 * False: failed, or the task has gone. */
bool watermark_read_record(struct engine_task *task, uint64_t seq, struct time_record *out);
/* In replay: what it says acts now. False: failed. */
bool watermark_apply(struct engine_task *task, const struct time_record *record);
/* Logs a verdict on a schema id, for the records from the task's position on. */
bool watermark_log_schema(struct engine_task *task, struct pipe_str verdict);
void watermark_close(struct engine_task *task); /* its reader of time records */
/* Whether the partition has any time record. */
bool watermark_has_records(struct engine_task *task, bool *any);

/* exchange.c */
uint32_t pipe_murmur2(const void *bytes, size_t size_bytes); /* Java's, as Kafka's partitioner */
int32_t pipe_key_partition(struct pipe_str key, uint32_t partitions);
void exchange_send_markers(struct engine_task *task);
/* Whether the stage behind an exchange does anything when its W passes from one to the other. */
bool exchange_needs_marker(const struct pipe_plan *plan, uint32_t exchange, int64_t from,
                           int64_t to);
/* A record of an exchange that holds a row, as a JSON object with its source's position and its
 * columns. False: it is another, or its columns are not known (engine_exchange.row). */
bool exchange_to_json(const struct pipe_engine *engine, uint32_t exchange, struct pipe_str frame,
                      struct pipe_buf *json);
/* One record of an exchange topic. */
bool exchange_receive(struct engine_task *task, struct pipe_record *record);

/* plan_topics.c: the topics of a plan, in the order in which a run asks for them. */
enum pipe_topic_kind {
    PIPE_TOPIC_SOURCE,   /* read; its producers are others */
    PIPE_TOPIC_TIME,     /* pipec.<pipeline>.<source>.time */
    PIPE_TOPIC_SINK,     /* of a sink that is a topic */
    PIPE_TOPIC_ROWS,     /* pipec.<pipeline>.<sink>.rows, of one that is none: for its follower */
    PIPE_TOPIC_EXCHANGE, /* pipec.<pipeline>.<stream>.exchange */
};
struct pipe_plan_topic {
    enum pipe_topic_kind kind;
    uint32_t index; /* in plan->sources, sinks or exchanges */
    uint32_t partitions;
    bool compacted; /* of a sink with `upsert` */
    char name[512];
};
struct pipe_plan_topic *pipe_plan_topics(const struct pipe_plan *plan, uint32_t *count); /* free */
/* One of them. */
void pipe_plan_topic(const struct pipe_plan *plan, enum pipe_topic_kind kind, uint32_t index,
                     struct pipe_plan_topic *out);

/* Of whom counters are: of all tasks, with nothing on its way between them or something; of
 * some tasks only. */
enum report_scope { REPORT_DRAINED, REPORT_UNDER_WAY, REPORT_SHARE };

/* counters.c */
#define EQUATION_TEXT 512
struct pipe_equation {
    char left_text[EQUATION_TEXT], right_text[EQUATION_TEXT];   /* "in", "passed + dropped + …" */
    char left_terms[EQUATION_TEXT], right_terms[EQUATION_TEXT]; /* "12", "10 + 2 + …" */
    const char *stream;
    uint64_t left, right;
    bool at_most; /* left <= right is enough: rows are on their way */
};
void counters_total(const struct pipe_engine *engine, struct pipe_counters *totals);
void counters_open(struct engine_task *task);     /* computes `open` */
void counters_gauges(struct pipe_engine *engine); /* that of every dirty task */
/* Rows, or pairs, sent to the next stage and not received there. */
uint64_t counters_in_flight(const struct pipe_counters *counters);
/* The equations of a plan over totals by stream; free. */
struct pipe_equation *counters_equations(const struct pipe_plan *plan,
                                         const struct pipe_counters *totals,
                                         enum report_scope scope, uint32_t *count);
bool counters_equal(const struct pipe_equation *equation);
bool counters_check(struct pipe_engine *engine); /* engine_fail(4) names the first that fails */
void counters_encode(const struct pipe_counters *counters, uint32_t count, struct pipe_buf *to);
bool counters_decode(const uint8_t **at, const uint8_t *end, struct pipe_counters *counters,
                     uint32_t count); /* adds */

/* engine_emit.c: pipe_emit; the bytes that one record may make (pipe_may_make). */
uint64_t engine_made_most(const struct pipe_engine *engine);
/* Rejects by reason. `engine` NULL: that of engine_count_rejects_in (of this thread), which is NULL
 * while nothing is to be counted (replay). */
void engine_count_rejects_in(struct pipe_engine *engine);
void engine_count_reject(struct pipe_engine *engine, struct pipe_str rule, struct pipe_str reason,
                         uint64_t count);

/* engine_report.c */
/* An instant in microseconds as text, perhaps in `to`; "-": none yet, or "the end". */
const char *engine_time_text(char to[40], int64_t time_us);
void report_progress(struct pipe_engine *engine, bool last);
void report_final(struct pipe_engine *engine, FILE *to);
void report_counters(const struct pipe_plan *plan, const struct pipe_counters *totals,
                     enum report_scope scope, FILE *to);

/* encode_record.c: the value of a record of `source` that holds `row`: framed, without line end. */
void pipe_record_encode(const struct pipe_source_def *source, const void *row, struct pipe_buf *to);

/* testing.c: `NAME run-tests tests.json DIR`, what `pipec test` calls; inject.c */
int pipe_testing_main(const struct pipe_plan *plan, int argc, char **argv);
int pipe_inject_main(const struct pipe_plan *plan, int argc, char **argv);

/* reconcile.c; inspect.c, cli.c; traffic.c */
int pipe_reconcile_main(const struct pipe_plan *plan, int argc, char **argv);
int pipe_inspect_main(const struct pipe_plan *plan, int argc, char **argv);
int pipe_traffic_main(const struct pipe_plan *plan, int argc, char **argv);
/* traffic_kafka.c: to the topics of Kafka. The exit code, after a message. */
int pipe_traffic_to_kafka(const struct pipe_plan *plan, const struct pipe_traffic_options *options);
int pipe_topics_main(const struct pipe_plan *plan, int argc, char **argv);    /* topics.c */
int pipe_tables_main(const struct pipe_plan *plan, int argc, char **argv);    /* tables.c */
int pipe_doctor_main(const struct pipe_plan *plan, int argc, char **argv);    /* doctor.c */
int pipe_contracts_main(const struct pipe_plan *plan, int argc, char **argv); /* contracts_push.c */

#endif
