/*
 * metadata.c: small things that are read back or given by hand: heads of ledgers, rows for
 * `inject`, and metadata of the log (positions of tasks with counters, of tables, stops of
 * traffic). The first byte chooses.
 */
#include "fuzz.h"
#include "traffic/traffic.c"
#include "../../runtime/follower_internal.h"
#include "../../runtime/inject.c"
#include "ledger.h"

static void ledger_heads(const uint8_t *at, size_t size)
{
    struct pipe_ledger_head head, again;
    struct pipe_buf line = {0}, second = {0};
    char error[512] = "";
    if (!pipe_ledger_read_head(&plan, pipe_str_of(at, size), &head, error, sizeof error)) {
        FUZZ_CHECK(error[0] != '\0');
        return;
    }
    FUZZ_CHECK(head.traffic < plan.traffic_count && head.partitions > 0);
    pipe_ledger_put_head(&line, &plan, &head);
    FUZZ_CHECK(pipe_ledger_read_head(&plan, pipe_str_of(line.data, line.size), &again, error,
                                     sizeof error));
    pipe_ledger_put_head(&second, &plan, &again);
    FUZZ_CHECK(line.size == second.size && memcmp(line.data, second.data, line.size) == 0);
    pipe_buf_free(&line);
    pipe_buf_free(&second);
}

static void positions(const uint8_t *at, size_t size)
{
    struct engine_committed committed;
    struct pipe_counters *counters = calloc(plan.stream_count + 1, sizeof *counters);
    if (engine_decode_task(&plan, pipe_str_of(at, size), &committed, counters))
        FUZZ_CHECK(committed.position.offset >= 0 &&
                   committed.position.input.hint_bytes <= PIPE_INPUT_HINT_MAX);
    free(counters);
}

static void stops(const uint8_t *at, size_t size)
{
    struct pipe_feeder_options options = {0}, same = {0};
    struct pipe_reader reader;
    struct pipe_buf bytes = {0};
    pipe_reader_init(&reader, at, size, NULL);
    if (!pipe_feeder_get_stops(&reader, &options))
        return;
    FUZZ_CHECK(options.stop_count <= PIPE_FEEDER_STOPS);
    pipe_feeder_put_stops(&bytes, &options);
    pipe_reader_init(&reader, bytes.data, bytes.size, NULL);
    FUZZ_CHECK(pipe_feeder_get_stops(&reader, &same));
    FUZZ_CHECK(memcmp(&options, &same, sizeof options) == 0);
    pipe_buf_free(&bytes);
}

static bool take_record(struct pipe_log *log, uint32_t topic, int32_t partition,
                        int64_t kafka_time_ms, struct pipe_str key, struct pipe_str value)
{
    uint64_t sum = 0;
    (void)log;
    (void)topic;
    FUZZ_CHECK(partition >= 0 && (uint32_t)partition < plan.sources[0].partitions);
    FUZZ_CHECK(pipe_ts_ms_ok(kafka_time_ms));
    for (size_t i = 0; i < key.size; i++)
        sum += (uint8_t)key.data[i];
    for (size_t i = 0; i < value.size; i++)
        sum += (uint8_t)value.data[i];
    return sum <= UINT64_MAX;
}

static void injected_rows(const uint8_t *at, size_t size)
{
    static const struct pipe_log_ops ops = {.append = take_record};
    struct pipe_log log = {.ops = &ops};
    struct pipe_engine *engine = calloc(1, sizeof *engine);
    struct injection in = {.engine = engine, .source = &plan.sources[0], .path = "rows.jsonl"};
    engine->plan = &plan;
    engine->log = &log;
    pipe_arena_init(&in.arena, ROW_MAX_BYTES);
    if (size > 0)
        pipe_buf_add(&in.line, at, size);
    in.number = 1;
    FUZZ_CHECK(append_line(&in) != engine->failed);
    FUZZ_CHECK(!engine->failed || engine->error[0] != '\0');
    pipe_arena_free(&in.arena);
    pipe_buf_free(&in.line);
    pipe_buf_free(&in.value);
    free(engine);
}

/* Of partition 3 of 6. */
static void positions_of_tables(const uint8_t *at, size_t size)
{
    struct follower_journal journal, again;
    struct pipe_buf written = {0}, second = {0};
    if (!follower_journal_read(pipe_str_of(at, size), 3, 6, &journal))
        return;
    FUZZ_CHECK(journal.mark >= 0 && journal.confirmed < journal.mark);
    if (journal.pending)
        FUZZ_CHECK(journal.range_count > 0 && journal.range_count <= 6 &&
                   follower_own(&journal)->partition == 3 &&
                   follower_own(&journal)->first >= journal.mark);
    follower_journal_write(&written, &journal);
    FUZZ_CHECK(follower_journal_read(pipe_str_of(written.data, written.size), 3, 6, &again));
    follower_journal_write(&second, &again);
    FUZZ_CHECK(written.size == second.size && memcmp(written.data, second.data, written.size) == 0);
    pipe_buf_free(&written);
    pipe_buf_free(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const readers[])(const uint8_t *, size_t) = {ledger_heads, positions, stops,
                                                               injected_rows, positions_of_tables};
    const uint8_t *at = data, *end = data + size;
    uint8_t choice = fuzz_byte(&at, end);
    uint8_t *copy = fuzz_copy(at, (size_t)(end - at));
    if (choice < sizeof readers / sizeof *readers)
        readers[choice](copy, (size_t)(end - at));
    free(copy);
    return 0;
}
