/*
 * runtime_toy_plan.h: a plan written by hand, for tests of the engine: a topic of lines
 * `time_ms,key`, dedup by key in the source's stage, then an exchange by key to a second stage with
 * a dedup that judges by the record's watermark. Included after cmocka.h.
 */
#ifndef RUNTIME_TOY_PLAN_H
#define RUNTIME_TOY_PLAN_H

#include <signal.h>

#include "../../runtime/engine.h"

enum { STREAM_LINES, STREAM_CLEAN, STREAM_AGAIN, STREAM_REJECTED, STREAMS };
enum { SINK_CLEAN, SINK_AGAIN, SINK_REJECTED, SINK_FILE, SINKS };

struct line_row {
    struct pipe_str line;
};
static const struct pipe_type text_type = {.kind = PIPE_STRING};
static const struct pipe_column line_columns[] = {
    {"line", &text_type, offsetof(struct line_row, line), PIPE_NOT_NULL, false, false, NULL}};
static const struct pipe_row_type line_type = {"line", line_columns, 1, sizeof(struct line_row)};

static uint64_t die_at; /* record of this process; 0: never */
static bool lose_row;   /* rows that enter a stream and leave it by no way */

static void reject(struct pipe_task *task, const struct pipe_record *record, const char *reason,
                   const char *rule)
{
    struct pipe_reject row;
    pipe_reject_fill(&row, record, reason, rule, task->detail);
    struct pipe_counters *side = &task->counters[STREAM_REJECTED];
    side->in++;
    side->passed++;
    side->out++;
    task->value.size = 0;
    pipe_row_to_json(&pipe_reject_type, &row, &task->value);
    pipe_emit(task, SINK_REJECTED, record, row.reason,
              pipe_str_of(task->value.data, task->value.size));
}

/* Splits `time,key`; false: not such a line. */
static bool parse(struct pipe_str line, int64_t *time_us, struct pipe_str *key)
{
    const char *comma = line.size > 0 ? memchr(line.data, ',', line.size) : NULL;
    int64_t ms;
    if (comma == NULL ||
        !pipe_i64_read(pipe_str_of(line.data, (size_t)(comma - line.data)), false, &ms))
        return false;
    *time_us = ms * 1000;
    *key = pipe_str_of(comma + 1, line.size - (size_t)(comma + 1 - line.data));
    return true;
}

static bool line_record(struct pipe_task *task, struct pipe_record *record)
{
    struct pipe_counters *source = &task->counters[STREAM_LINES];
    struct pipe_counters *clean = &task->counters[STREAM_CLEAN];
    struct pipe_str key;
    if (!task->replaying && die_at > 0 && --die_at == 0)
        raise(SIGKILL);
    source->read++;
    void *decoded;
    const char *reason = pipe_decode(task, record, &decoded);
    const struct line_row *row = decoded;
    if (reason == NULL && !parse(row->line, &record->event_time, &key))
        reason = "undecodable";
    if (reason == NULL)
        reason = pipe_judge_time(task, record, record->event_time);
    if (reason != NULL) {
        source->source_rejected++;
        reject(task, record, reason, "lines");
        return false;
    }
    source->accepted++;
    source->out++;
    clean->in++;
    if (lose_row)
        return true;
    clean->passed++;
    task->key.size = 0;
    pipe_key_add_str(&task->key, key);
    switch (pipe_dedup(task, 0, record, false)) {
    case PIPE_UNIQUE:
        clean->out++;
        pipe_emit(task, SINK_CLEAN, record, key, row->line);
        pipe_emit(task, SINK_FILE, record, key, row->line);
        task->counters[STREAM_AGAIN].in++;
        task->counters[STREAM_AGAIN].passed++;
        pipe_exchange_row(task, 0, record, &line_type, row);
        break;
    case PIPE_DUPLICATE:
        break;
    case PIPE_TOO_OLD:
        reject(task, record, "too_old_to_dedup", "clean");
        break;
    }
    return true;
}

static bool again_record(struct pipe_task *task, struct pipe_record *record)
{
    struct line_row row;
    struct pipe_str key;
    int64_t time;
    const uint8_t *at = (const uint8_t *)record->payload.data;
    assert_true(pipe_row_load(&line_type, &at, at + record->payload.size, &task->arena, &row));
    assert_true(parse(row.line, &time, &key));
    assert_int_equal(time, record->event_time);
    assert_true(record->has_position && record->topic.size > 0);
    task->key.size = 0;
    pipe_key_add_str(&task->key, key);
    switch (pipe_dedup(task, 1, record, false)) {
    case PIPE_UNIQUE:
        task->counters[STREAM_AGAIN].out++;
        pipe_emit(task, SINK_AGAIN, record, key, row.line);
        break;
    case PIPE_DUPLICATE:
        break;
    case PIPE_TOO_OLD:
        reject(task, record, "too_old_to_dedup", "again");
        break;
    }
    return true;
}

static struct pipe_source_def sources[] = {{.name = "lines",
                                            .stream = STREAM_LINES,
                                            .is_kafka = true,
                                            .target = "lines.raw",
                                            .partitions = 3,
                                            .format = PIPE_FORMAT_TEXT,
                                            .row = &line_type,
                                            .row_bytes = sizeof(struct line_row),
                                            .has_event_time = true,
                                            .has_watermark = true,
                                            .watermark = PIPE_SECONDS(5),
                                            .idle = PIPE_SECONDS(3600),
                                            .ahead = PIPE_MINUTES(5),
                                            .stage = 0}};
static const struct pipe_state_def lines_states[] = {
    {.kind = PIPE_STATE_DEDUP, .name = "clean", .stream = STREAM_CLEAN, .ttl = PIPE_SECONDS(60)}};
/* Index 0 is another dedup that is not used, so that the index of a state is seen to matter. */
static const struct pipe_state_def again_states[] = {
    {.kind = PIPE_STATE_DEDUP, .name = "unused", .stream = STREAM_AGAIN, .ttl = PIPE_SECONDS(60)},
    {.kind = PIPE_STATE_DEDUP,
     .name = "again",
     .stream = STREAM_AGAIN,
     .ttl = PIPE_SECONDS(3000),
     .judge_by_record = true}};
static const struct pipe_exchange_def exchanges[] = {
    {.name = "again", .partitions = 2, .to_stage = 1, .reason = "by key"}};
static const uint32_t lines_exchanges[] = {0};
static const int64_t lines_delays[] = {0};
static const struct pipe_stage_def stages[] = {{.name = "lines",
                                                .source = 0,
                                                .exchange = -1,
                                                .record = line_record,
                                                .states = lines_states,
                                                .state_count = 1,
                                                .exchanges_out = lines_exchanges,
                                                .exchange_delays = lines_delays,
                                                .exchange_out_count = 1},
                                               {.name = "again",
                                                .source = -1,
                                                .exchange = 0,
                                                .record = again_record,
                                                .states = again_states,
                                                .state_count = 2}};
static const struct pipe_stream_def streams[] = {{.name = "lines", .kind = PIPE_STREAM_SOURCE},
                                                 {.name = "clean",
                                                  .kind = PIPE_STREAM_NORMAL,
                                                  .has_dedup = true,
                                                  .inputs = (const uint32_t[]){0},
                                                  .input_count = 1},
                                                 {.name = "again",
                                                  .kind = PIPE_STREAM_NORMAL,
                                                  .has_dedup = true,
                                                  .has_exchange = true,
                                                  .inputs = (const uint32_t[]){1},
                                                  .input_count = 1},
                                                 {.name = "rejected",
                                                  .kind = PIPE_STREAM_REJECTS,
                                                  .inputs = (const uint32_t[]){0, 1, 2},
                                                  .input_count = 3}};
static struct pipe_sink_def sinks[] = {{.name = "clean_topic",
                                        .stream = STREAM_CLEAN,
                                        .kind = PIPE_SINK_KAFKA,
                                        .target = "clean",
                                        .partitions = 3,
                                        .format = PIPE_FORMAT_JSON,
                                        .exactly_once = true,
                                        .source_key = true},
                                       {.name = "again_topic",
                                        .stream = STREAM_AGAIN,
                                        .kind = PIPE_SINK_KAFKA,
                                        .target = "again",
                                        .partitions = 4,
                                        .format = PIPE_FORMAT_JSON,
                                        .exactly_once = true},
                                       {.name = "rejects_topic",
                                        .stream = STREAM_REJECTED,
                                        .kind = PIPE_SINK_KAFKA,
                                        .target = "rejects",
                                        .partitions = 1,
                                        .format = PIPE_FORMAT_JSON,
                                        .exactly_once = true},
                                       {.name = "clean_table",
                                        .stream = STREAM_CLEAN,
                                        .kind = PIPE_SINK_ICEBERG,
                                        .target = "t.clean",
                                        .format = PIPE_FORMAT_JSON,
                                        .exactly_once = true}};
static struct pipe_plan plan = {.abi = PIPE_RUNTIME_ABI,
                                .name = "toy",
                                .hash = "0123456789abcdef",
                                .commit_ms = 1,
                                .commit_bytes = 4000,
                                .explain_text = "toy",
                                .plan_json = "{}",
                                .sources = sources,
                                .source_count = 1,
                                .streams = streams,
                                .stream_count = STREAMS,
                                .stages = stages,
                                .stage_count = 2,
                                .exchanges = exchanges,
                                .exchange_count = 1,
                                .sinks = sinks,
                                .sink_count = SINKS};

#endif
