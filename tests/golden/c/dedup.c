/* dedup_first.c: pipeline dedup_first, compiled from dedup.pipe by pipec. Change that file, not
 * this. */
#include "pipe.h"

#if PIPE_RUNTIME_ABI != 1
#error "this file and libpipe do not fit together: compile the pipeline again"
#endif

/* ----------------------------------------------------------------------------------------------
 * Rows
 * ---------------------------------------------------------------------------------------------- */

struct events {
    struct pipe_str id;
    int32_t shop;
    int64_t at;
};

struct reasons {
    struct pipe_str reason;
    struct pipe_str rule;
    int64_t offset;
    bool offset_null;
};

/* ----------------------------------------------------------------------------------------------
 * Indexes in the tables below
 * ---------------------------------------------------------------------------------------------- */

enum {
    STREAM_events,
    STREAM_once,
    STREAM_refused,
    STREAM_reasons,
};

enum {
    STAGE_events,
};

enum {
    SINK_once_rows,
    SINK_refusals,
};

enum { STATE_once = 0 };

/* ----------------------------------------------------------------------------------------------
 * What the runtime knows of the rows
 * ---------------------------------------------------------------------------------------------- */

static const struct pipe_type type_string = {.kind = PIPE_STRING};
static const struct pipe_type type_int32 = {.kind = PIPE_INT32};
static const struct pipe_type type_timestamp_ms = {.kind = PIPE_TIMESTAMP_MS};

static const struct pipe_column events_columns[] = {
    {"id", &type_string, offsetof(struct events, id), .null_offset = PIPE_NOT_NULL},
    {"shop", &type_int32, offsetof(struct events, shop), .null_offset = PIPE_NOT_NULL},
    {"at", &type_timestamp_ms, offsetof(struct events, at), .null_offset = PIPE_NOT_NULL},
};
static const struct pipe_row_type events_type = {"events", events_columns, 3,
                                                 sizeof(struct events)};

static const struct pipe_type type_int64 = {.kind = PIPE_INT64};

static const struct pipe_column reasons_columns[] = {
    {"reason", &type_string, offsetof(struct reasons, reason), .null_offset = PIPE_NOT_NULL},
    {"rule", &type_string, offsetof(struct reasons, rule), .null_offset = PIPE_NOT_NULL},
    {"offset", &type_int64, offsetof(struct reasons, offset),
     .null_offset = offsetof(struct reasons, offset_null), .null_first = false},
};
static const struct pipe_row_type reasons_type = {"reasons", reasons_columns, 3,
                                                  sizeof(struct reasons)};

/* ----------------------------------------------------------------------------------------------
 * Streams, in the order of the data
 * ---------------------------------------------------------------------------------------------- */

static void push_once(struct pipe_task *task, const struct pipe_record *record,
                      const struct events *row);
static void push_refused(struct pipe_task *task, const struct pipe_record *record,
                         const struct pipe_reject *row);
static void reject_refused(struct pipe_task *task, const struct pipe_record *record,
                           const char *reason, const char *rule, const char *detail);
static void push_reasons(struct pipe_task *task, const struct pipe_record *record,
                         const struct pipe_reject *row);

/* ---- source events  (dedup.pipe:4) ---- */

static void out_events(struct pipe_task *task, const struct pipe_record *record,
                       const struct events *row)
{
    task->counters[STREAM_events].out++;
    push_once(task, record, row);
}

/* ---- stream once from events  (dedup.pipe:12) ---- */

/* sink once_rows from once to file 'out/once.csv' format csv exactly once (dedup.pipe:22) */
static void sink_once_rows(struct pipe_task *task, const struct pipe_record *record,
                           const struct events *row)
{
    if (!pipe_encoded(task, row, events_type.columns))
        pipe_row_to_csv(&events_type, row, &task->value);
    pipe_emit(task, SINK_once_rows, record, pipe_str_of(NULL, 0),
              pipe_str_of(task->value.data, task->value.size - 1 /* the line end */));
}

static void out_once(struct pipe_task *task, const struct pipe_record *record,
                     const struct events *row)
{
    task->counters[STREAM_once].out++;
    if (!pipe_discards(task)) {
        sink_once_rows(task, record, row);
    }
}

/* The key: shop, id. */
static void key_once(struct pipe_buf *key, const struct events *row)
{
    key->size = 0;
    pipe_key_add_i64(key, row->shop);
    pipe_key_add_str(key, row->id);
}

/* dedup by shop, id within 10s (dedup.pipe:13) */
static void keep_once(struct pipe_task *task, const struct pipe_record *record,
                      const struct events *row)
{
    key_once(&task->key, row);
    switch (pipe_dedup(task, STATE_once, record, false)) {
    case PIPE_UNIQUE:
        out_once(task, record, row);
        break;
    case PIPE_DUPLICATE:
        break;
    case PIPE_TOO_OLD:
        reject_refused(task, record, "too_old_to_dedup", "once", NULL);
        break;
    }
}

static void push_once(struct pipe_task *task, const struct pipe_record *record,
                      const struct events *row)
{
    struct pipe_counters *count = &task->counters[STREAM_once];

    count->in++;
    count->passed++;
    keep_once(task, record, row);
}

/* ---- reject stream refused  (dedup.pipe:10) ---- */

static void out_refused(struct pipe_task *task, const struct pipe_record *record,
                        const struct pipe_reject *row)
{
    task->counters[STREAM_refused].out++;
    push_reasons(task, record, row);
}

static void push_refused(struct pipe_task *task, const struct pipe_record *record,
                         const struct pipe_reject *row)
{
    struct pipe_counters *count = &task->counters[STREAM_refused];

    count->in++;
    count->passed++;
    out_refused(task, record, row);
}

static void reject_refused(struct pipe_task *task, const struct pipe_record *record,
                           const char *reason, const char *rule, const char *detail)
{
    struct pipe_reject row;

    pipe_reject_fill(&row, record, reason, rule, detail);
    pipe_new_row(task);
    push_refused(task, record, &row);
}

/* ---- stream reasons from refused  (dedup.pipe:16) ---- */

/* sink refusals from reasons to file 'out/refused.csv' format csv exactly once (dedup.pipe:23) */
static void sink_refusals(struct pipe_task *task, const struct pipe_record *record,
                          const struct reasons *row)
{
    if (!pipe_encoded(task, row, reasons_type.columns))
        pipe_row_to_csv(&reasons_type, row, &task->value);
    pipe_emit(task, SINK_refusals, record, pipe_str_of(NULL, 0),
              pipe_str_of(task->value.data, task->value.size - 1 /* the line end */));
}

static void out_reasons(struct pipe_task *task, const struct pipe_record *record,
                        const struct reasons *row)
{
    task->counters[STREAM_reasons].out++;
    if (!pipe_discards(task)) {
        sink_refusals(task, record, row);
    }
}

/* select reason, rule, offset (dedup.pipe:17) */
static void select_reasons(struct pipe_task *task, const struct pipe_record *record,
                           const struct pipe_reject *row)
{
    struct pipe_counters *count = &task->counters[STREAM_reasons];
    struct reasons out = {0};

    out.reason = row->reason;
    out.rule = row->rule;
    out.offset = row->offset;
    out.offset_null = row->offset_null;
    count->selected++;
    pipe_new_row(task);
    out_reasons(task, record, &out);
}

static void push_reasons(struct pipe_task *task, const struct pipe_record *record,
                         const struct pipe_reject *row)
{
    struct pipe_counters *count = &task->counters[STREAM_reasons];

    count->in++;
    count->passed++;
    select_reasons(task, record, row);
}

/* ----------------------------------------------------------------------------------------------
 * Records
 * ---------------------------------------------------------------------------------------------- */

/* ---- a record of source events ---- */

static bool refuse_events(struct pipe_task *task, const struct pipe_record *record,
                          const char *reason, const char *detail)
{
    struct pipe_counters *count = &task->counters[STREAM_events];

    count->source_rejected++;
    reject_refused(task, record, reason, "events", detail);
    return false;
}

static bool record_events(struct pipe_task *task, struct pipe_record *record)
{
    struct pipe_counters *count = &task->counters[STREAM_events];
    void *decoded;

    count->read++;
    const char *reason = pipe_decode(task, record, &decoded);
    if (reason != NULL)
        return refuse_events(task, record, reason, task->detail);

    const struct events *row = decoded;

    record->event_time = PIPE_MS(row->at);
    reason = pipe_judge_time(task, record, record->event_time);
    if (reason != NULL)
        return refuse_events(task, record, reason, task->detail);

    count->accepted++;
    pipe_new_row(task);
    out_events(task, record, row);
    return true;
}

/* ----------------------------------------------------------------------------------------------
 * The plan
 * ---------------------------------------------------------------------------------------------- */

static const struct pipe_source_def sources[] = {
    {
        .name = "events",
        .stream = STREAM_events,
        .is_kafka = false,
        .target = "events.csv",
        .partitions = 0,
        .format = PIPE_FORMAT_CSV,
        .header = true,
        .row = &events_type,
        .row_bytes = sizeof(struct events),
        .has_event_time = true,
        .ahead = 0,
        .has_watermark = true,
        .watermark = PIPE_SECONDS(2),
        .idle = 0,
        .stage = STAGE_events,
    },
};

static const struct pipe_stream_def streams[] = {
    [STREAM_events] = {.name = "events", .kind = PIPE_STREAM_SOURCE},
    [STREAM_once] = {.name = "once", .kind = PIPE_STREAM_NORMAL,
                     .inputs = (const uint32_t[]){STREAM_events}, .input_count = 1,
                     .has_dedup = true},
    [STREAM_refused] = {.name = "refused", .kind = PIPE_STREAM_REJECTS,
                        .inputs = (const uint32_t[]){STREAM_events, STREAM_once}, .input_count = 2},
    [STREAM_reasons] = {.name = "reasons", .kind = PIPE_STREAM_NORMAL,
                        .inputs = (const uint32_t[]){STREAM_refused}, .input_count = 1,
                        .has_select = true},
};

static const struct pipe_state_def states_of_events[] = {
    {
        .kind = PIPE_STATE_DEDUP,
        .name = "once",
        .stream = STREAM_once,
        .ttl = PIPE_SECONDS(10),
        .phase = PIPE_PHASE_LOCAL,
    },
};

static const struct pipe_stage_def stages[] = {
    [STAGE_events] = {
        .name = "events",
        .source = 0,
        .exchange = -1,
        .record = record_events,
        .states = states_of_events,
        .state_count = 1,
    },
};

static const struct pipe_sink_def sinks[] = {
    [SINK_once_rows] = {
        .name = "once_rows",
        .stream = STREAM_once,
        .kind = PIPE_SINK_FILE,
        .target = "out/once.csv",
        .format = PIPE_FORMAT_CSV,
        .row = &events_type,
        .exactly_once = true,
    },
    [SINK_refusals] = {
        .name = "refusals",
        .stream = STREAM_reasons,
        .kind = PIPE_SINK_FILE,
        .target = "out/refused.csv",
        .format = PIPE_FORMAT_CSV,
        .row = &reasons_type,
        .exactly_once = true,
    },
};

static const char explain_text[] =
    "dedup_first   plan 2eaf1e86\n"
    "  1 file source events                   one partition a file by id; csv; event "
    "time at, watermark 2s\n"
    "  2   stream once                        from events\n"
    "  3     dedup once                       STATE once  shop, id for 10s; local: key "
    "holds id; bound: rate x 10s x 40 B\n"
    "  4     file sink once_rows              csv; exactly once: cut back to the length "
    "in the last commit\n"
    "  5 rejects refused                      from events, once\n"
    "  6   stream reasons                     from refused\n"
    "  7     select                           reason, rule, offset\n"
    "  8     file sink refusals               csv; exactly once: cut back to the length "
    "in the last commit\n"
    "\n"
    "stages\n"
    "  0 reads source events: one task a file; state once\n";

static const char plan_json[] =
    "{\n"
    " \"hash\": \"2eaf1e863080779d\",\n"
    " \"nodes\": [\n"
    "  {\n"
    "   \"ahead_ms\": 0,\n"
    "   \"columns\": [\n"
    "    {\n"
    "     \"name\": \"id\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"shop\",\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"at\",\n"
    "     \"type\": \"timestamp_ms\"\n"
    "    }\n"
    "   ],\n"
    "   \"drop_tombstones\": false,\n"
    "   \"event_time\": {\n"
    "    \"kind\": \"column\",\n"
    "    \"path\": [\n"
    "     \"at\"\n"
    "    ],\n"
    "    \"type\": \"timestamp_ms\"\n"
    "   },\n"
    "   \"event_time_column\": \"at\",\n"
    "   \"format\": \"csv\",\n"
    "   \"header\": true,\n"
    "   \"idle_advance\": false,\n"
    "   \"idle_ms\": 0,\n"
    "   \"key\": [\n"
    "    \"id\"\n"
    "   ],\n"
    "   \"name\": \"events\",\n"
    "   \"node\": \"source\",\n"
    "   \"partitions\": 0,\n"
    "   \"payload\": [\n"
    "    {\n"
    "     \"name\": \"id\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"shop\",\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"at\",\n"
    "     \"type\": \"timestamp_ms\"\n"
    "    }\n"
    "   ],\n"
    "   \"rejects\": \"refused\",\n"
    "   \"transport\": \"file\",\n"
    "   \"watermark_ms\": 2000\n"
    "  },\n"
    "  {\n"
    "   \"columns\": [\n"
    "    {\n"
    "     \"name\": \"id\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"shop\",\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"at\",\n"
    "     \"type\": \"timestamp_ms\"\n"
    "    }\n"
    "   ],\n"
    "   \"inputs\": [\n"
    "    \"events\"\n"
    "   ],\n"
    "   \"name\": \"once\",\n"
    "   \"node\": \"stream\",\n"
    "   \"rejects\": \"refused\",\n"
    "   \"role\": \"stream\",\n"
    "   \"stages\": [\n"
    "    0\n"
    "   ]\n"
    "  },\n"
    "  {\n"
    "   \"behind_exchange\": false,\n"
    "   \"key\": [\n"
    "    \"shop\",\n"
    "    \"id\"\n"
    "   ],\n"
    "   \"local_because\": \"key holds id\",\n"
    "   \"node\": \"dedup\",\n"
    "   \"stream\": \"once\",\n"
    "   \"within_ms\": 10000\n"
    "  },\n"
    "  {\n"
    "   \"append_revisions\": false,\n"
    "   \"commit_bytes\": 16777216,\n"
    "   \"commit_ms\": 100,\n"
    "   \"exactly_once\": true,\n"
    "   \"format\": \"csv\",\n"
    "   \"from\": \"once\",\n"
    "   \"guarantee\": \"exactly once: cut back to the length in the last commit\",\n"
    "   \"key\": [],\n"
    "   \"kind\": \"file\",\n"
    "   \"name\": \"once_rows\",\n"
    "   \"node\": \"sink\",\n"
    "   \"order\": [],\n"
    "   \"partition_by\": [],\n"
    "   \"partitions\": 0,\n"
    "   \"rollups\": [],\n"
    "   \"source_key\": false\n"
    "  },\n"
    "  {\n"
    "   \"columns\": [\n"
    "    {\n"
    "     \"name\": \"reason\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"rule\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"detail\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"topic\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"partition\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"offset\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"kafka_time\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"timestamp_ms\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"key\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"bytes\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"payload\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"bytes\"\n"
    "    }\n"
    "   ],\n"
    "   \"inputs\": [\n"
    "    \"events\",\n"
    "    \"once\"\n"
    "   ],\n"
    "   \"name\": \"refused\",\n"
    "   \"node\": \"stream\",\n"
    "   \"role\": \"rejects\",\n"
    "   \"stages\": [\n"
    "    0\n"
    "   ]\n"
    "  },\n"
    "  {\n"
    "   \"columns\": [\n"
    "    {\n"
    "     \"name\": \"reason\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"rule\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"offset\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int64\"\n"
    "    }\n"
    "   ],\n"
    "   \"inputs\": [\n"
    "    \"refused\"\n"
    "   ],\n"
    "   \"name\": \"reasons\",\n"
    "   \"node\": \"stream\",\n"
    "   \"role\": \"stream\",\n"
    "   \"stages\": [\n"
    "    0\n"
    "   ]\n"
    "  },\n"
    "  {\n"
    "   \"columns\": [\n"
    "    {\n"
    "     \"name\": \"reason\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"rule\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"offset\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int64\"\n"
    "    }\n"
    "   ],\n"
    "   \"items\": [\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"reason\"\n"
    "      ],\n"
    "      \"type\": \"string\"\n"
    "     },\n"
    "     \"name\": \"reason\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"rule\"\n"
    "      ],\n"
    "      \"type\": \"string\"\n"
    "     },\n"
    "     \"name\": \"rule\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"nullable\": true,\n"
    "      \"path\": [\n"
    "       \"offset\"\n"
    "      ],\n"
    "      \"type\": \"int64\"\n"
    "     },\n"
    "     \"name\": \"offset\"\n"
    "    }\n"
    "   ],\n"
    "   \"node\": \"select\",\n"
    "   \"stream\": \"reasons\"\n"
    "  },\n"
    "  {\n"
    "   \"append_revisions\": false,\n"
    "   \"commit_bytes\": 16777216,\n"
    "   \"commit_ms\": 100,\n"
    "   \"exactly_once\": true,\n"
    "   \"format\": \"csv\",\n"
    "   \"from\": \"reasons\",\n"
    "   \"guarantee\": \"exactly once: cut back to the length in the last commit\",\n"
    "   \"key\": [],\n"
    "   \"kind\": \"file\",\n"
    "   \"name\": \"refusals\",\n"
    "   \"node\": \"sink\",\n"
    "   \"order\": [],\n"
    "   \"partition_by\": [],\n"
    "   \"partitions\": 0,\n"
    "   \"rollups\": [],\n"
    "   \"source_key\": false\n"
    "  }\n"
    " ],\n"
    " \"pipeline\": \"dedup_first\",\n"
    " \"stages\": [\n"
    "  {\n"
    "   \"source\": \"events\",\n"
    "   \"stage\": 0,\n"
    "   \"states\": [\n"
    "    {\n"
    "     \"delay_ms\": 0,\n"
    "     \"phase\": \"local\",\n"
    "     \"stream\": \"once\"\n"
    "    }\n"
    "   ]\n"
    "  }\n"
    " ]\n"
    "}\n";

static const struct pipe_plan plan = {
    .abi = PIPE_RUNTIME_ABI,
    .name = "dedup_first",
    .hash = "2eaf1e863080779d",
    .commit_ms = 100,
    .commit_bytes = 16777216,
    .explain_text = explain_text,
    .plan_json = plan_json,
    .sources = sources,
    .source_count = 1,
    .streams = streams,
    .stream_count = 4,
    .stages = stages,
    .stage_count = 1,
    .sinks = sinks,
    .sink_count = 2,
};

int main(int argc, char **argv)
{
    return pipe_main(&plan, argc, argv);
}
