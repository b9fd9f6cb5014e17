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

void follower_end_request(struct pipe_follower *follower, struct follower_batch *batch)
{
    if (batch->request == NULL)
        return;
    follower->target->ops->end(batch->request);
    batch->request = NULL;
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

static void begin(struct pipe_follower *follower, struct follower_batch *pending)
{
    struct pipe_table_batch batch = {
        .sink = pending->sink->index,
        .range_count = pending->range_count,
        .block = follower_block(pending),
        .attempt = pending->attempt,
    };
    for (uint32_t i = 0; i < pending->range_count; i++) {
        batch.ranges[i] = pending->ranges[i].at;
        batch.rows += batch.ranges[i].rows;
    }
    pipe_hex_write(batch.token, pending->token, sizeof pending->token);
    batch.token[2 * sizeof pending->token] = '\0';
    PIPE_CRASH_POINT("follower_before_send");
    pending->request = follower->target->ops->begin(follower->target, &batch);
    pending->attempt++;
    pending->sink->attempts++;
    follower->requests++;
    follower->worked = true;
    PIPE_CRASH_POINT("follower_after_send");
}

void follower_count_rows(struct follower_part *part)
{
    part->sink->rows += follower_own(&part->journal)->rows;
    (void)metrics_ages_fold(part->sent_ages, engine_wall_ms(), 0, &metrics_latency_bounds,
                            &part->sink->queryable);
}

static void arrived(struct pipe_follower *follower, struct follower_batch *batch)
{
    struct follower_sink *sink = batch->sink;
    batch->state = BATCH_DONE;
    batch->done_us = engine_monotonic_us();
    batch->backoff_us = 0;
    sink->batches++;
    sink->bytes += follower_block(batch).size;
    for (uint32_t p = 0; p < sink->part_count; p++) {
        if (sink->parts[p].batch == batch)
            follower_count_rows(&sink->parts[p]);
    }
    pipe_buf_free(&batch->block);
    batch->block = (struct pipe_buf){0};
    follower_end_request(follower, batch);
    follower_goes_on(sink);
    PIPE_CRASH_POINT("follower_arrived");
}

/* False: the sink was halted, and its batches are gone. */
static bool look(struct pipe_follower *follower, struct follower_batch *batch)
{
    const char *error = "";
    enum pipe_table_outcome outcome = follower->target->ops->look(batch->request, &error);
    if (outcome == PIPE_TABLE_PENDING)
        return true;
    follower->worked = true;
    if (outcome == PIPE_TABLE_DONE) {
        arrived(follower, batch);
    } else if (outcome == PIPE_TABLE_AGAIN) {
        batch->sink->unknown++;
        follower_waits(batch->sink, error);
        batch->backoff_us = follower_backoff(batch->backoff_us);
        batch->retry_us = engine_monotonic_us() + batch->backoff_us;
        follower_end_request(follower, batch);
    } else {
        follower_halt(follower, batch->sink, "%s", error);
        return false;
    }
    return true;
}

static void look_at_sink(struct pipe_follower *follower, struct follower_sink *sink)
{
    for (struct follower_batch *batch = sink->pending; batch != NULL; batch = batch->next) {
        if (batch->request != NULL && !look(follower, batch))
            return;
    }
}

static bool may_begin(const struct pipe_follower *follower, const struct follower_batch *batch,
                      int64_t now_us)
{
    if (follower->stop && follower_pauses(batch))
        return false;
    return batch->state == BATCH_READY && batch->request == NULL && now_us >= batch->retry_us;
}

/* Who is due first comes first; one that was sent in vain is due anew when it may go again, so that
 * a table that takes nothing keeps no other one waiting. */
static struct follower_batch *next_to_send(const struct pipe_follower *follower)
{
    struct follower_batch *first = NULL;
    int64_t first_us = 0, now_us = engine_monotonic_us();
    for (uint32_t i = 0; i < follower->sink_count; i++) {
        struct follower_batch *batch = follower->sinks[i].pending;
        for (; batch != NULL; batch = batch->next) {
            int64_t due_us = batch->retry_us > 0 ? batch->retry_us : batch->due_us;
            if (!may_begin(follower, batch, now_us) || (first != NULL && due_us >= first_us))
                continue;
            first = batch;
            first_us = due_us;
        }
    }
    return first;
}

void follower_send(struct pipe_follower *follower)
{
    struct follower_batch *batch;
    for (uint32_t i = 0; i < follower->sink_count; i++)
        look_at_sink(follower, &follower->sinks[i]);
    while (follower->requests < follower->config.requests &&
           (batch = next_to_send(follower)) != NULL)
        begin(follower, batch);
}
