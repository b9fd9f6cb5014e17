/*
 * follower_send.c: attempts, what became of them, and tables that stand still.
 */
#include "follower_internal.h"

#define BACKOFF_LEAST_US 100000
#define BACKOFF_MOST_US 5000000

/* Exponential, and a random half of it, so that those who were refused together do not come back
 * together. */
int64_t follower_backoff(int64_t before_us)
{
    uint8_t random;
    int64_t us = before_us < BACKOFF_LEAST_US / 2 ? BACKOFF_LEAST_US : 2 * before_us;
    us = us < BACKOFF_MOST_US ? us : BACKOFF_MOST_US;
    pipe_random_bytes(&random, sizeof random);
    return us / 2 + us / 2 * random / 255;
}

/* ---- Tables that stand still ---- */

void follower_end_request(struct pipe_follower *follower, struct follower_part *part)
{
    if (part->request == NULL)
        return;
    follower->target->ops->end(part->request);
    part->request = NULL;
    follower->requests--;
}

static void forget_batches(struct pipe_follower *follower, struct follower_sink *sink)
{
    for (uint32_t i = 0; i < sink->part_count; i++) {
        struct follower_part *part = &sink->parts[i];
        int64_t oldest_ms = part->journal.pending ? part->sent_oldest_ms : part->oldest_ms;
        if (!part->journal.pending && part->rows == 0)
            oldest_ms = PIPE_TIME_MIN;
        int64_t mark = part->journal.mark;
        follower_drop_part(follower, part, part->phase);
        part->journal.mark = mark; /* for what is shown */
        part->oldest_ms = oldest_ms;
    }
}

void follower_halt(struct pipe_follower *follower, struct follower_sink *sink, const char *format,
                   ...)
{
    va_list args;
    if (sink->halted)
        return;
    va_start(args, format);
    vsnprintf(sink->error, sizeof sink->error, format, args);
    va_end(args);
    sink->halted = true;
    forget_batches(follower, sink);
    follower->worked = true;
    pipe_message(PIPE_ERROR, "a table stands still until a restart; its rows are kept in the topic",
                 "sink=%s table=%s reason=\"%s\"", sink->def->name, sink->def->target,
                 PIPE_QUOTED(sink->error));
}

void follower_waits(struct follower_sink *sink, const char *error)
{
    snprintf(sink->error, sizeof sink->error, "%s", error);
    if (!sink->waits)
        pipe_message(PIPE_WARNING, "a table takes no rows now; trying again until it does",
                     "sink=%s table=%s reason=\"%s\"", sink->def->name, sink->def->target,
                     PIPE_QUOTED(error));
    sink->waits = true;
}

void follower_goes_on(struct follower_sink *sink)
{
    sink->error[0] = '\0';
    if (sink->waits)
        pipe_message(PIPE_INFO, "the table takes rows again", "sink=%s table=%s", sink->def->name,
                     sink->def->target);
    sink->waits = false;
}

/* ---- Tables before their first row ---- */

static void check_table(struct pipe_follower *follower, struct follower_sink *sink)
{
    char error[400] = "";
    switch (follower->target->ops->check(follower->target, sink->index, error, sizeof error)) {
    case PIPE_TABLE_PENDING:
        return;
    case PIPE_TABLE_DONE:
        sink->checked = follower->worked = true;
        follower_goes_on(sink);
        return;
    case PIPE_TABLE_AGAIN:
        follower_waits(sink, error);
        sink->check_backoff_us = follower_backoff(sink->check_backoff_us);
        sink->check_us = engine_monotonic_us() + sink->check_backoff_us;
        return;
    case PIPE_TABLE_BROKEN:
        follower_halt(follower, sink, "%s", error);
        return;
    }
}

void follower_check_tables(struct pipe_follower *follower)
{
    for (uint32_t i = 0; i < follower->sink_count; i++) {
        struct follower_sink *sink = &follower->sinks[i];
        if (!sink->checked && !sink->halted && engine_monotonic_us() >= sink->check_us)
            check_table(follower, sink);
    }
}

/* ---- Attempts ---- */

static void begin(struct pipe_follower *follower, struct follower_part *part)
{
    const struct follower_journal *journal = &part->journal;
    struct pipe_table_batch batch = {
        .sink = part->sink->index,
        .partition = part->partition,
        .first = journal->first,
        .last = journal->last,
        .rows = journal->rows,
        .block = follower_block(part),
        .attempt = part->attempt,
    };
    pipe_hex_write(batch.token, journal->token, sizeof journal->token);
    batch.token[2 * sizeof journal->token] = '\0';
    PIPE_CRASH_POINT("follower_before_send");
    part->request = follower->target->ops->begin(follower->target, &batch);
    part->attempt++;
    part->sink->attempts++;
    follower->requests++;
    follower->worked = true;
    PIPE_CRASH_POINT("follower_after_send");
}

static void arrived(struct pipe_follower *follower, struct follower_part *part)
{
    struct follower_sink *sink = part->sink;
    part->done = true;
    part->done_us = engine_monotonic_us();
    part->backoff_us = 0;
    sink->rows += part->journal.rows;
    sink->batches++;
    sink->bytes += follower_block(part).size;
    (void)metrics_ages_fold(part->sent_ages, engine_wall_ms(), 0, &metrics_latency_bounds,
                            &sink->queryable);
    pipe_buf_free(&part->block);
    part->block = (struct pipe_buf){0};
    follower_end_request(follower, part);
    follower_goes_on(sink);
    PIPE_CRASH_POINT("follower_arrived");
}

static void look(struct pipe_follower *follower, struct follower_part *part)
{
    const char *error = "";
    enum pipe_table_outcome outcome = follower->target->ops->look(part->request, &error);
    if (outcome == PIPE_TABLE_PENDING)
        return;
    follower->worked = true;
    if (outcome == PIPE_TABLE_DONE) {
        arrived(follower, part);
    } else if (outcome == PIPE_TABLE_AGAIN) {
        part->sink->unknown++;
        follower_waits(part->sink, error);
        part->backoff_us = follower_backoff(part->backoff_us);
        part->retry_us = engine_monotonic_us() + part->backoff_us;
        follower_end_request(follower, part);
    } else {
        follower_halt(follower, part->sink, "%s", error);
    }
}

static bool may_begin(const struct pipe_follower *follower, const struct follower_part *part)
{
    if (follower->stop && follower_pauses(part))
        return false;
    return follower_runs(part) && part->journal.pending && !part->done && part->request == NULL &&
           follower->requests < follower->config.requests &&
           engine_monotonic_us() >= part->retry_us;
}

/* Who comes first changes, so that those behind are not kept waiting by those before them. */
void follower_send(struct pipe_follower *follower)
{
    struct follower_walk at = {.follower = follower};
    struct follower_part *part;
    uint32_t count = 0;
    while ((part = follower_next(&at)) != NULL) {
        count++;
        if (part->request != NULL)
            look(follower, part);
    }
    uint32_t skip = count > 0 ? follower->turn++ % count : 0;
    for (unsigned lap = 0; lap < 2; lap++) {
        uint32_t i = 0;
        at = (struct follower_walk){.follower = follower};
        for (; (part = follower_next(&at)) != NULL; i++) {
            if ((i >= skip) == (lap == 0) && may_begin(follower, part))
                begin(follower, part);
        }
    }
}
