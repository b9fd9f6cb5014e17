/*
 * Followers that share a log with others: what retention has taken, partitions that come and go,
 * batches whose partitions are with different processes.
 */
#include "toy_follower.h"

/* ---- A log that several share, of which retention has taken the first records ---- */

#define GONE 2 /* of partition 0 of the topic */

static const struct pipe_log_ops *embedded_ops;
static struct pipe_log_ops shared_ops;
static struct pipe_log_partition shares[] = {{0, 0}, {0, 1}, {1, 0}};
static enum pipe_log_event_kind next_event;
static uint32_t shared_count = 3;     /* of the shares, that this process has */
static bool gone = true, swap_shares; /* swapped: the second partition is the first share */

static bool shared_join(struct pipe_log *log, const uint32_t *joined, uint32_t count)
{
    (void)log;
    assert_int_equal(count, 2);
    shares[0] = (struct pipe_log_partition){joined[0], swap_shares};
    shares[1] = (struct pipe_log_partition){joined[0], !swap_shares};
    shares[2].topic = joined[1];
    next_event = PIPE_LOG_ASSIGNED;
    return true;
}

static bool shared_poll(struct pipe_log *log, int64_t wait_ms, struct pipe_log_event *event)
{
    (void)log, (void)wait_ms;
    *event = (struct pipe_log_event){next_event, shares, shared_count};
    next_event = PIPE_LOG_NOTHING;
    return true;
}

static bool shared_release(struct pipe_log *log)
{
    (void)log;
    return true;
}

static int64_t shared_begin(struct pipe_log *log, uint32_t topic, int32_t partition)
{
    (void)log;
    return gone && topic == shares[0].topic && partition == 0 ? GONE : 0;
}

static enum pipe_log_state shared_read(struct pipe_log_reader *reader, uint32_t max_records,
                                       int64_t before, struct pipe_record **records,
                                       uint32_t *count)
{
    const struct follower_sink *sink = &follower->sinks[0];
    const struct follower_reread *again = &sink->reread;
    bool first = reader == sink->parts[0].reader ||
                 (reader == again->reader && again->batch->ranges[again->range].at.partition == 0);
    if (gone && first && embedded_ops->position(reader) < GONE)
        return PIPE_LOG_FAILED;
    return embedded_ops->read(reader, max_records, before, records, count);
}

static void open_shared_follower(bool accept_gap)
{
    struct pipe_follower_config config = {.plan = &plan,
                                          .log = pipe_log_embedded_attach(log_of_run),
                                          .target = &scripted.target,
                                          .accept_gap = accept_gap};
    embedded_ops = config.log->ops;
    shared_ops = *embedded_ops;
    shared_ops.join = shared_join;
    shared_ops.poll = shared_poll;
    shared_ops.release = shared_release;
    shared_ops.begin = shared_begin;
    shared_ops.read = shared_read;
    config.log->ops = &shared_ops;
    config.log->grouped = true;
    follower = pipe_follower_new(&config);
}

static void test_gap_is_refused(void **state)
{
    (void)state;
    open_log();
    append_numbers(topics[0], 0, 5);
    open_shared_follower(false);
    steps(5);
    assert_halted("begins at offset 2, but 0");
    assert_int_equal(figures_of(SINK_TABLE).skipped, 0);
    close_all();
}

static void test_gap_is_accepted(void **state)
{
    (void)state;
    open_log();
    append_numbers(topics[0], 0, 5);
    open_shared_follower(true);
    pipe_follower_flush(follower, false);
    steps(10);
    assert_false(figures_of(SINK_TABLE).halted);
    assert_int_equal(figures_of(SINK_TABLE).rows, 3);
    assert_int_equal(figures_of(SINK_TABLE).skipped, GONE);
    assert_int_equal(scripted.sent[0].batch.ranges[0].first, GONE);
    close_all();
}

/* Partitions are taken away, and come back: what is pending is sent again, with the probe. */
static void test_revoked(void **state)
{
    (void)state;
    open_log();
    append_numbers(topics[0], 1, 5);
    open_shared_follower(true);
    scripted.outcome[SINK_TABLE] = PIPE_TABLE_PENDING;
    pipe_follower_flush(follower, false);
    steps(5);
    assert_int_equal(scripted.count, 1);
    next_event = PIPE_LOG_REVOKED;
    steps(5);
    assert_int_equal(scripted.count, 1);
    assert_int_equal(figures_of(SINK_TABLE).lag_records, 0); /* not ours */
    scripted.outcome[SINK_TABLE] = PIPE_TABLE_DONE;
    next_event = PIPE_LOG_ASSIGNED;
    steps(10);
    assert_int_equal(scripted.count, 2);
    assert_int_equal(scripted.sent[1].batch.attempt, 1);
    assert_string_equal(scripted.sent[1].batch.token, scripted.sent[0].batch.token);
    assert_int_equal(figures_of(SINK_TABLE).rows, 5);
    close_all();
}

/* ---- A batch whose partitions are with different processes ---- */

static const struct pipe_table_batch *sent_of(uint32_t index)
{
    assert_true(scripted.count > index);
    return &scripted.sent[index].batch;
}

/* Three and five rows are journaled together and sent; then the process is gone. */
static void send_of_two(void)
{
    open_log();
    gone = false;
    append_numbers(topics[0], 0, 3);
    append_numbers(topics[0], 1, 5);
    open_shared_follower(false);
    scripted.outcome[SINK_TABLE] = PIPE_TABLE_PENDING;
    pipe_follower_flush(follower, false);
    steps(5);
    assert_int_equal(scripted.count, 1);
    assert_int_equal(sent_of(0)->rows, 8);
    append_numbers(topics[0], 0, 4); /* is not in it, nor gets there */
    append_numbers(topics[0], 1, 4);
    pipe_follower_close(follower);
}

/* Who has one of the partitions repeats all of it, byte for byte; and goes on with its own. */
static void test_batch_is_repeated_whole(void **state)
{
    (void)state;
    for (uint32_t had = 0; had < 2; had++) {
        send_of_two();
        scripted.outcome[SINK_TABLE] = PIPE_TABLE_DONE;
        shared_count = 1;
        swap_shares = had == 1;
        open_shared_follower(false);
        pipe_follower_flush(follower, false);
        steps(20);
        assert_int_equal(scripted.count, 3);
        assert_int_equal(sent_of(1)->rows, 8);
        assert_int_equal(sent_of(1)->attempt, 1);
        assert_string_equal(sent_of(1)->token, sent_of(0)->token);
        assert_memory_equal(scripted.sent[1].block, scripted.sent[0].block, 16);
        assert_int_equal(sent_of(2)->range_count, 1);
        assert_int_equal(sent_of(2)->ranges[0].partition, (int32_t)had);
        assert_int_equal(sent_of(2)->rows, 4);
        assert_int_equal(figures_of(SINK_TABLE).rows, (had == 0 ? 3 : 5) + 4);
        assert_true(pipe_follower_at_end(follower));
        shared_count = 3;
        swap_shares = false;
        gone = true;
        close_all();
        remove_dir(state);
        make_dir(state);
    }
}

/* A partition that has gone on elsewhere comes back while another one is still to be repeated. */
static void test_batch_of_before(void **state)
{
    (void)state;
    send_of_two();
    scripted.outcome[SINK_TABLE] = PIPE_TABLE_DONE;
    shared_count = 1;
    open_shared_follower(false);
    pipe_follower_flush(follower, false);
    steps(20);
    assert_int_equal(scripted.count, 3);
    pipe_follower_close(follower);
    shared_count = 3;
    append_numbers(topics[0], 0, 2);
    open_shared_follower(false);
    pipe_follower_flush(follower, false);
    steps(30);
    assert_int_equal(scripted.sent[3].batch.rows, 8); /* for the second partition */
    assert_string_equal(sent_of(3)->token, sent_of(0)->token);
    assert_memory_equal(scripted.sent[3].block, scripted.sent[0].block, 16);
    assert_int_equal(figures_of(SINK_TABLE).rows, 5 + 4 + 2);
    assert_true(pipe_follower_at_end(follower));
    gone = true;
    close_all();
}

/* Records of another process's partition are gone: all stop. With --accept-gap own rows go anew,
 * but not while that process may send the batch as well. */
static void test_batch_with_a_gap(void **state)
{
    (void)state;
    send_of_two();
    scripted.outcome[SINK_TABLE] = PIPE_TABLE_DONE;
    gone = swap_shares = true;
    shared_count = 1;
    open_shared_follower(false);
    steps(10);
    assert_true(figures_of(SINK_TABLE).halted);
    assert_non_null(strstr(figures_of(SINK_TABLE).error, "partition 0 begins at offset 2, but 0"));
    pipe_follower_close(follower);
    open_shared_follower(true);
    steps(10);
    assert_true(figures_of(SINK_TABLE).halted);
    assert_non_null(strstr(figures_of(SINK_TABLE).error, "another process may still send them"));
    assert_int_equal(scripted.count, 1);
    pipe_follower_close(follower);
    shared_count = 3;
    open_shared_follower(true);
    pipe_follower_flush(follower, false);
    steps(20);
    assert_int_equal(scripted.count, 3); /* the gap is found behind the first one */
    for (uint32_t i = 1; i < 3; i++) {
        const struct pipe_table_range *range = &sent_of(i)->ranges[0];
        assert_string_not_equal(sent_of(i)->token, sent_of(0)->token);
        assert_int_equal(sent_of(i)->range_count, 1);
        assert_int_equal(range->partition, 2 - i);
        assert_int_equal(range->first, i == 1 ? 0 : GONE);
        assert_int_equal(range->rows, i == 1 ? 5 + 4 : 3 + 4 - GONE);
    }
    assert_int_equal(figures_of(SINK_TABLE).skipped, GONE);
    assert_true(pipe_follower_at_end(follower));
    swap_shares = false;
    close_all();
}

/* A position that another range stands in under the same token. */
static void test_positions_that_disagree(void **state)
{
    struct follower_journal journal = sample();
    (void)state;
    open_log();
    append_numbers(topics[0], 0, 3);
    append_numbers(topics[0], 1, 3);
    for (int32_t p = 0; p < 2; p++) {
        journal.ranges[0].at.partition = p;
        put_journal(p, &journal);
    }
    commit();
    open_follower();
    steps(5);
    assert_halted("do not agree");
    close_all();
}

/* More partitions than a batch takes, and more bytes than a block: several batches, one commit. */
static void test_several_batches(void **state)
{
    (void)state;
    open_log();
    scripted.target.ranges = 1;
    open_follower();
    append_numbers(topics[0], 0, 3);
    append_numbers(topics[0], 1, 2);
    uint64_t commits = follower->log->commits;
    pipe_follower_flush(follower, false);
    steps(1);
    assert_int_equal(scripted.count, 2);
    assert_int_equal(follower->log->commits, commits + 1);
    assert_string_not_equal(sent_of(0)->token, sent_of(1)->token);
    steps(5);
    assert_true(pipe_follower_at_end(follower));
    close_all();
}

/* ---- Positions of an older program ---- */

/* As it was written before batches: the range [mark, mark + rows) of records as append_numbers
 * makes them is under way; no rows: nothing is. */
static void put_older_position(int32_t partition, int64_t mark, uint32_t rows)
{
    struct pipe_buf value = {0};
    char text[32];
    uint8_t bytes[FOLLOWER_TOKEN_BYTES];
    XXH3_state_t *hash = XXH3_createState();
    XXH3_128bits_reset(hash);
    for (uint32_t i = 0; i < rows; i++) {
        int size = snprintf(text, sizeof text, "{\"n\":%u}", (unsigned)mark + i);
        follower_hash_add(hash, &(struct pipe_record){.offset = mark + i,
                                                      .key = pipe_str_of("k", 1),
                                                      .payload = pipe_str_of(text, (size_t)size)});
    }
    pipe_buf_add_byte(&value, 2);
    memset(bytes, 7, sizeof bytes);
    pipe_buf_add(&value, bytes, 16); /* incarnation */
    pipe_avro_put_long(&value, mark);
    pipe_avro_put_long(&value, mark - 1); /* confirmed */
    pipe_avro_put_bool(&value, rows > 0);
    if (rows > 0) {
        pipe_avro_put_long(&value, mark);
        pipe_avro_put_long(&value, mark + rows - 1);
        pipe_avro_put_long(&value, rows);
        follower_hash_end(hash, bytes);
        pipe_buf_add(&value, bytes, FOLLOWER_HASH_BYTES);
        memset(bytes, 0xab, sizeof bytes);
        pipe_buf_add(&value, bytes, sizeof bytes); /* token */
    }
    put_position(partition, value.data, value.size);
    commit();
    XXH3_freeState(hash);
    pipe_buf_free(&value);
}

static uint8_t version_of_position(int32_t partition)
{
    struct pipe_buf value = {0};
    char name[200];
    bool found;
    follower_position_name(name, sizeof name, "table", "numbers", partition);
    assert_true(log_of_run->ops->get(log_of_run, name, &value, &found));
    assert_true(found && value.size > 0);
    uint8_t version = value.data[0];
    pipe_buf_free(&value);
    return version;
}

/* What was under way is sent again as it was, alone and under its token; then all goes on where it
 * stood, together. What one partition has in a position stays readable for the older program; what
 * several have together it must not take for something else. */
static void test_older_positions(void **state)
{
    (void)state;
    open_log();
    append_numbers(topics[0], 0, 7);
    append_numbers(topics[0], 1, 5);
    put_older_position(0, 1, 3);
    put_older_position(1, 2, 0);
    open_follower();
    scripted.outcome[SINK_TABLE] = PIPE_TABLE_PENDING;
    steps(10);
    assert_int_equal(scripted.count, 1);
    assert_int_equal(sent_of(0)->range_count, 1);
    assert_int_equal(sent_of(0)->ranges[0].partition, 0);
    assert_int_equal(sent_of(0)->ranges[0].first, 1);
    assert_int_equal(sent_of(0)->ranges[0].last, 3);
    assert_int_equal(sent_of(0)->attempt, 1);
    for (uint32_t i = 0; i < 2 * FOLLOWER_TOKEN_BYTES; i++)
        assert_int_equal(sent_of(0)->token[i], "ab"[i % 2]);
    scripted.outcome[SINK_TABLE] = PIPE_TABLE_DONE;
    steps(3);
    scripted.outcome[SINK_TABLE] = PIPE_TABLE_PENDING;
    pipe_follower_flush(follower, false);
    steps(3);
    assert_int_equal(scripted.count, 2);
    assert_int_equal(sent_of(1)->range_count, 2);
    assert_int_equal(sent_of(1)->ranges[0].first, 4);
    assert_int_equal(sent_of(1)->ranges[0].last, 6);
    assert_int_equal(sent_of(1)->ranges[1].first, 2);
    assert_int_equal(sent_of(1)->ranges[1].last, 4);
    for (int32_t p = 0; p < 2; p++)
        assert_int_equal(version_of_position(p), 3);
    scripted.outcome[SINK_TABLE] = PIPE_TABLE_DONE;
    steps(10);
    assert_int_equal(figures_of(SINK_TABLE).rows, 3 + 3 + 3);
    assert_true(pipe_follower_at_end(follower));
    for (int32_t p = 0; p < 2; p++)
        assert_int_equal(version_of_position(p), 2);
    close_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_DIR(test_gap_is_refused),
        WITH_DIR(test_gap_is_accepted),
        WITH_DIR(test_revoked),
        WITH_DIR(test_batch_is_repeated_whole),
        WITH_DIR(test_batch_of_before),
        WITH_DIR(test_batch_with_a_gap),
        WITH_DIR(test_positions_that_disagree),
        WITH_DIR(test_several_batches),
        WITH_DIR(test_older_positions),
    };
    pipe_message_level(PIPE_ERROR + 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
