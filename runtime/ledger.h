/*
 * ledger.h: what a `traffic` statement sent, and every fault it injected (docs/ledger.md). A ledger
 * is a function of (plan, traffic, options, position), so none need be kept: the position is part
 * of the commit, and the text is made again from it, byte for byte.
 */
#ifndef PIPE_LEDGER_H
#define PIPE_LEDGER_H

#include <stdio.h>

#include "pipe.h"
#include "input.h"

struct pipe_ledger_head {
    uint32_t traffic;    /* index in plan->traffics */
    uint32_t partitions; /* of the topic; 1 for a file */
    struct pipe_feeder_options options;
    uint64_t position; /* records sent */
};

/* Lines with their line end, into an empty buffer. The head's is as long for every position, so
 * that it can be written again. */
void pipe_ledger_put_head(struct pipe_buf *line, const struct pipe_plan *plan,
                          const struct pipe_ledger_head *head);
void pipe_ledger_put_record(struct pipe_buf *line, const struct pipe_traffic_def *traffic,
                            const struct pipe_source_def *source, uint64_t number,
                            const struct pipe_feed_record *record);

/* Reads the first line of a ledger. False: error says what is wrong with it. */
bool pipe_ledger_read_head(const struct pipe_plan *plan, struct pipe_str line,
                           struct pipe_ledger_head *head, char *error, size_t error_bytes);

/* Sums over records; those of a traffic add up. */
struct pipe_ledger_totals {
    uint64_t records, events, duplicates;
    uint64_t poison, ahead; /* records, second ones too; ahead: by more than the source takes */
    uint64_t value;         /* with a `value` fault, second ones too */
    uint64_t value_events;  /* only first ones */
    uint64_t sound;         /* first records of events, without poison, `value` and ahead */
};
void pipe_ledger_count(struct pipe_ledger_totals *totals, const struct pipe_traffic_def *traffic,
                       const struct pipe_source_def *source, const struct pipe_feed_record *record);

#endif
