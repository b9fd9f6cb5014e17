/*
 * follower_internal.h: between the files of follower.h.
 *
 * A part is one partition of one sink. It has at most one pending range, which is in the journal,
 * and collects the next one meanwhile. What it knows is of the last commit: when one does not
 * happen, all parts are taken back to the beginning (follower_parts.c), and there is no other way
 * to recover.
 */
#ifndef PIPE_FOLLOWER_INTERNAL_H
#define PIPE_FOLLOWER_INTERNAL_H

#include <xxhash.h>

#include "engine.h"
#include "follower.h"

#define FOLLOWER_ROWS_MAX 500000u /* of a range: a server takes them as one block */
#define FOLLOWER_HASH_BYTES 16u
#define FOLLOWER_TOKEN_BYTES 32u

/* ---- follower_journal.c ---- */

/* The value of a position. */
struct follower_journal {
    uint8_t incarnation[16]; /* random, made with the first journal of the partition */
    int64_t mark;            /* everything below is in the table; the position's offset */
    int64_t confirmed;       /* the last row below it that the table took; -1: not known, or none */
    bool pending;            /* a range is under way: */
    int64_t first, last;     /* its offsets, both included */
    uint32_t rows;
    uint8_t hash[FOLLOWER_HASH_BYTES]; /* over its records */
    uint8_t token[FOLLOWER_TOKEN_BYTES];
};
void follower_journal_write(struct pipe_buf *to, const struct follower_journal *journal);
/* False: malformed. */
bool follower_journal_read(struct pipe_str text, struct follower_journal *journal);

/* Under which name a log that keeps positions by name has one. */
void follower_position_name(char *to, size_t to_bytes, const char *sink, const char *topic,
                            int32_t partition);

/* Where a range is, for its token. */
struct follower_place {
    const char *log_incarnation, *sink, *topic;
    int32_t partition;
};
/* Of the journal's range: fills journal->token. */
void follower_make_token(const struct follower_place *place, struct follower_journal *journal);

/* The hash over the records of a range. */
void follower_hash_add(XXH3_state_t *state, const struct pipe_record *record);
void follower_hash_end(const XXH3_state_t *state, uint8_t hash[FOLLOWER_HASH_BYTES]);

/* ---- Parts ---- */

enum follower_phase {
    PART_ABSENT,    /* of another process, or not told yet */
    PART_ASSIGNED,  /* ours; its journal is not read yet */
    PART_ASKING,    /* whether the table has what the journal says, and no more */
    PART_REREADING, /* the pending range, to be sent again */
    PART_RUNNING
};

enum follower_put { PUT_NOTHING, PUT_JOURNAL, PUT_CONFIRM, PUT_GAP };

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
    bool known;  /* its journal was found; with PART_ASKING */
    bool behind; /* the table has no rows but those that the journal knows; likewise */
    /* What is collected: */
    struct pipe_native_writer *writer;
    XXH3_state_t *hash;
    uint32_t rows;
    int64_t first, last, oldest_ms;
    int64_t began_us; /* monotonic: its first row */
    struct metrics_ages *ages;
    /* What is sent; with journal.pending: */
    struct pipe_buf block;              /* behind a gap, so that */
    size_t block_at;                    /* it begins with a page */
    struct pipe_table_request *request; /* NULL: none is under way */
    uint32_t attempt;
    bool done;
    int64_t done_us, retry_us, backoff_us;
    int64_t sent_oldest_ms;
    struct metrics_ages *sent_ages;
};

struct follower_sink {
    uint32_t index; /* in plan->sinks */
    const struct pipe_sink_def *def;
    struct pipe_plan_topic plan_topic;
    uint32_t topic; /* in the log */
    struct follower_part *parts;
    uint32_t part_count;
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
    uint32_t turn; /* of parts, in begin: each comes first once */
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

static inline struct pipe_str follower_block(const struct follower_part *part)
{
    return part->block.size == 0
               ? (struct pipe_str){0}
               : pipe_str_of(part->block.data + part->block_at, part->block.size - part->block_at);
}

/* Its range was sent in vain, and not again yet. */
static inline bool follower_pauses(const struct follower_part *part)
{
    return part->request == NULL && !part->done && part->backoff_us > 0;
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
/* Reads on the pending range. */
bool follower_reread(struct pipe_follower *follower, struct follower_part *part);
void follower_open_reader(struct pipe_follower *follower, struct follower_part *part,
                          int64_t offset);
/* The batch of the part is what is sent from now on; nothing is collected yet. */
void follower_seal(struct follower_part *part);
void follower_clear_batch(struct follower_part *part);

/* follower_send.c */
void follower_check_tables(struct pipe_follower *follower);
void follower_send(struct pipe_follower *follower);
void follower_end_request(struct pipe_follower *follower, struct follower_part *part);
/* The sink stands still from now on; the others go on. */
void follower_halt(struct pipe_follower *follower, struct follower_sink *sink, const char *format,
                   ...) PIPE_PRINTF(3, 4);
/* Its table does not take rows now: said once. */
void follower_waits(struct follower_sink *sink, const char *error);
void follower_goes_on(struct follower_sink *sink);
/* The next pause, from the one before (0: none). */
int64_t follower_backoff(int64_t before_us);

#endif
