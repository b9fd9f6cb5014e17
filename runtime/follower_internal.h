/*
 * follower_internal.h: between the files of follower.h.
 *
 * A part is one partition of one sink. It has at most one pending range, which is in the journal,
 * and collects the next one meanwhile. Pending ranges of several parts are sent together: a batch,
 * which every journal of its parts has whole. Parts of other processes may be in it, and parts of
 * ours whose journal has gone on. What a part knows is of the last commit: when one does not
 * happen, all parts are taken back to the beginning (follower_parts.c), and there is no other way
 * to recover.
 */
#ifndef PIPE_FOLLOWER_INTERNAL_H
#define PIPE_FOLLOWER_INTERNAL_H

#include <xxhash.h>

#include "engine.h"
#include "follower.h"

#define FOLLOWER_ROWS_MAX 500000u /* of a batch: a server takes them as one block */
#define FOLLOWER_HASH_BYTES 16u
#define FOLLOWER_TOKEN_BYTES 32u

/* ---- follower_journal.c ---- */

struct follower_range {
    struct pipe_table_range at;
    uint8_t hash[FOLLOWER_HASH_BYTES]; /* over its records */
};

/* The value of a position. */
struct follower_journal {
    uint8_t incarnation[16]; /* random, made with the first journal of the partition */
    int64_t mark;            /* everything below is in the table; the position's offset */
    int64_t confirmed;       /* the last row below it that the table took; -1: not known, or none */
    bool pending;            /* a batch is under way: */
    uint32_t range_count;    /* its ranges, by partition; one of them is this partition's: */
    uint32_t own;
    struct follower_range ranges[PIPE_TABLE_RANGES_MAX];
    uint8_t token[FOLLOWER_TOKEN_BYTES];
};
/* Of a journal with a pending batch. */
static inline const struct pipe_table_range *follower_own(const struct follower_journal *journal)
{
    return &journal->ranges[journal->own].at;
}
void follower_journal_write(struct pipe_buf *to, const struct follower_journal *journal);
/* That of `partition`, of a topic with so many. False: malformed. */
bool follower_journal_read(struct pipe_str text, int32_t partition, uint32_t partitions,
                           struct follower_journal *journal);

/* Under which name a log that keeps positions by name has one. */
void follower_position_name(char *to, size_t to_bytes, const char *sink, const char *topic,
                            int32_t partition);

/* Where ranges are, for their token. */
struct follower_place {
    const char *log_incarnation, *sink, *topic;
};
/* The token of these ranges, each of a partition with that incarnation. */
struct follower_token_range {
    const struct follower_range *range;
    const uint8_t *incarnation;
};
void follower_make_token(const struct follower_place *place,
                         const struct follower_token_range *ranges, uint32_t count,
                         uint8_t token[FOLLOWER_TOKEN_BYTES]);

/* The hash over the records of a range. */
void follower_hash_add(XXH3_state_t *state, const struct pipe_record *record);
void follower_hash_end(const XXH3_state_t *state, uint8_t hash[FOLLOWER_HASH_BYTES]);

/* ---- Parts ---- */

enum follower_phase {
    PART_ABSENT,    /* of another process, or not told yet */
    PART_ASSIGNED,  /* ours; its journal is not read yet */
    PART_ASKING,    /* whether the table has what the journal says, and no more */
    PART_REREADING, /* its batch is read again, to be sent again */
    PART_RUNNING
};

enum follower_put { PUT_NOTHING, PUT_JOURNAL, PUT_CONFIRM, PUT_GAP };

enum follower_batch_state {
    BATCH_PLANNED,   /* its journals are in the commit under way */
    BATCH_REREADING, /* its journals were found; its block is not made again yet */
    BATCH_READY,     /* to be sent, or being sent */
    BATCH_DONE       /* in the table */
};

struct follower_batch {
    struct follower_batch *next; /* of the sink */
    struct follower_sink *sink;
    enum follower_batch_state state;
    struct follower_range ranges[PIPE_TABLE_RANGES_MAX];
    uint32_t range_count;
    uint8_t token[FOLLOWER_TOKEN_BYTES];
    uint32_t
        members;    /* our parts that have it in their journals; it lives as long as there is one */
    int64_t due_us; /* monotonic: the sooner, the sooner it is sent */
    /* With READY: */
    struct pipe_buf block;              /* behind a gap, so that */
    size_t block_at;                    /* it begins with a page */
    struct pipe_table_request *request; /* NULL: none is under way */
    uint32_t attempt;
    int64_t done_us, retry_us, backoff_us;
};

struct follower_part {
    struct follower_sink *sink;
    int32_t partition;
    enum follower_phase phase;
    struct follower_journal journal; /* as committed; with PART_RUNNING */
    struct follower_journal next;    /* in the commit under way, by `put` */
    enum follower_put put;
    int64_t put_us; /* monotonic: when its position was committed last */
    /* Reading: */
    struct pipe_log_reader *reader;
    struct pipe_record *left; /* read, and not collected: the batch was full */
    uint32_t left_count;
    bool at_end; /* as of the last read */
    int64_t
        resume;  /* RUNNING without a reader: another batch reads the partition, then from here */
    bool known;  /* its journal was found; with PART_ASKING */
    bool behind; /* the table has no rows but those that the journal knows; likewise */
    int64_t retry_us, backoff_us; /* likewise */
    /* What is collected: */
    struct pipe_native_writer *writer;
    XXH3_state_t *hash;
    uint32_t rows;
    int64_t first, last, oldest_ms;
    int64_t began_us; /* monotonic: its first row */
    struct metrics_ages *ages;
    /* What is sent: */
    struct follower_batch *batch;   /* with journal.pending */
    struct follower_batch *planned; /* with PUT_JOURNAL */
    int64_t sent_oldest_ms;
    struct metrics_ages *sent_ages;
};

/* The batch of a sink that is read again, range by range, into one block. */
struct follower_reread {
    struct follower_batch *batch; /* NULL: none */
    uint32_t range;               /* which one */
    struct pipe_log_reader *reader;
    int64_t since_us;
    uint32_t rows;                     /* of it, so far */
    int64_t first;                     /* of them */
    struct pipe_native_writer *writer; /* NULL: there was none yet */
    XXH3_state_t *hash;
};

struct follower_sink {
    uint32_t index; /* in plan->sinks */
    const struct pipe_sink_def *def;
    struct pipe_plan_topic plan_topic;
    uint32_t topic; /* in the log */
    struct follower_part *parts;
    uint32_t part_count;
    struct follower_batch *pending; /* all batches, the oldest first */
    struct follower_reread reread;
    int64_t commit_us;
    uint64_t block_bytes; /* a batch is full beyond this */
    bool checked;         /* the table is there, and as it must be */
    int64_t check_us, check_backoff_us;
    bool waits; /* its table does not take rows now: said once */
    bool halted;
    char error[512];
    uint64_t rows, batches, bytes, attempts, unknown, skipped;
    struct metrics_histogram queryable;
};

struct pipe_follower {
    struct pipe_follower_config config;
    const struct pipe_plan *plan;
    struct pipe_log *log;
    struct pipe_table_target *target;
    struct follower_sink *sinks;
    uint32_t sink_count;
    bool opened; /* topics are found, the group is joined */
    bool assigned, ready;
    bool flush, stop;
    bool worked; /* in this round */
    uint32_t requests;
    bool failed, fenced;
    struct pipe_buf scratch;
    char error[768];
};

/* All parts, one after the other. */
struct follower_walk {
    struct pipe_follower *follower;
    uint32_t sink, part;
};
static inline struct follower_part *follower_next(struct follower_walk *at)
{
    for (; at->sink < at->follower->sink_count; at->sink++, at->part = 0) {
        if (at->part < at->follower->sinks[at->sink].part_count)
            return &at->follower->sinks[at->sink].parts[at->part++];
    }
    return NULL;
}

static inline bool follower_runs(const struct follower_part *part)
{
    return part->phase == PART_RUNNING && !part->sink->halted;
}

/* It was sent in vain, and not again yet. */
static inline bool follower_pauses(const struct follower_batch *batch)
{
    return batch->state == BATCH_READY && batch->request == NULL && batch->backoff_us > 0;
}

static inline bool follower_is_done(const struct follower_part *part)
{
    return part->batch != NULL && part->batch->state == BATCH_DONE;
}

/* follower.c */
bool follower_fail(struct pipe_follower *follower, const char *format, ...) PIPE_PRINTF(2, 3);
bool follower_log_failed(struct pipe_follower *follower);
uint64_t follower_memory(const struct pipe_follower *follower); /* of all blocks */
uint64_t follower_part_memory(const struct follower_part *part);
/* Journals and confirms what is due; leaving: confirms what is done, and journals nothing. */
bool follower_commit(struct pipe_follower *follower, bool leaving);

/* follower_parts.c */
bool follower_open(struct pipe_follower *follower);
/* Serves the group and acts on what it says. */
bool follower_poll(struct pipe_follower *follower, int64_t wait_ms);
/* After a commit that did not happen. */
void follower_aborted(struct pipe_follower *follower);
/* Brings assigned parts to RUNNING, as far as it goes now. */
bool follower_recover(struct pipe_follower *follower);
/* Forgets all that is in memory. */
void follower_drop_part(struct pipe_follower *follower, struct follower_part *part,
                        enum follower_phase phase);
struct pipe_log_position follower_position(const struct follower_part *part, char *name,
                                           size_t name_bytes);

/* follower_collect.c */
bool follower_collect(struct pipe_follower *follower);
void follower_open_reader(struct pipe_follower *follower, struct follower_part *part,
                          int64_t offset);
void follower_close_reader(struct pipe_follower *follower, struct follower_part *part);
/* A record that is no row of the table halts the sink. */
bool follower_add_row(struct pipe_follower *follower, struct follower_sink *sink,
                      struct pipe_native_writer *writer, int32_t partition,
                      const struct pipe_record *record);
void follower_clear_batch(struct follower_part *part);
/* The reader of a partition has failed at this position: retention may have been faster. False: the
 * log is broken. *begin: where the partition begins, if the gap is accepted; else -1, and the sink
 * was halted. */
bool follower_find_gap(struct pipe_follower *follower, struct follower_sink *sink,
                       int32_t partition, int64_t position, int64_t *begin);

/* follower_batch.c */
/* Batches of the parts of the sink that are to be journaled. */
void follower_plan(struct pipe_follower *follower, struct follower_sink *sink);
/* Their journals are committed: what was collected is what is sent from now on. */
void follower_seal(struct follower_sink *sink);
/* The batch of the part's journal, which is pending. False: the sink was halted. */
bool follower_take_up(struct pipe_follower *follower, struct follower_part *part);
/* The part has none, or another one, from now on. */
void follower_leave_batch(struct pipe_follower *follower, struct follower_part *part);
void follower_forget_plan(struct pipe_follower *follower, struct follower_part *part);
/* Reads on what is to be sent again. */
bool follower_reread(struct pipe_follower *follower, struct follower_sink *sink);
/* Whatever reads this partition again stops, and begins again later. */
void follower_interrupt(struct pipe_follower *follower, struct follower_sink *sink,
                        int32_t partition);
uint64_t follower_batch_memory(const struct follower_sink *sink);
struct pipe_str follower_block(const struct follower_batch *batch);

/* follower_send.c */
void follower_check_tables(struct pipe_follower *follower);
void follower_send(struct pipe_follower *follower);
void follower_end_request(struct pipe_follower *follower, struct follower_batch *batch);
/* Rows of the part's own range are in the table. */
void follower_count_rows(struct follower_part *part);
/* The sink stands still from now on; the others go on. */
void follower_halt(struct pipe_follower *follower, struct follower_sink *sink, const char *format,
                   ...) PIPE_PRINTF(3, 4);
/* Its table does not take rows now: said once. */
void follower_waits(struct follower_sink *sink, const char *error);
void follower_goes_on(struct follower_sink *sink);
/* The next pause, from the one before (0: none). */
int64_t follower_backoff(int64_t before_us);

#endif
