/* updates.c: pipeline updates, compiled from updates.pipe by pipec. Change that file, not this. */
#include "pipe.h"

#if PIPE_RUNTIME_ABI != 1
#error "this file and libpipe do not fit together: compile the pipeline again"
#endif

/* ----------------------------------------------------------------------------------------------
 * Rows
 * ---------------------------------------------------------------------------------------------- */

struct meters {
    int64_t meter;
    float load;
    int64_t at;
};

struct load {
    int64_t window_start;
    int64_t window_end;
    int64_t meter;
    float peak;
    int64_t readings;
    int32_t revision;
};

struct reasons {
    struct pipe_str reason;
    struct pipe_str detail;
    bool detail_null;
};

/* ----------------------------------------------------------------------------------------------
 * Indexes in the tables below
 * ---------------------------------------------------------------------------------------------- */

enum {
    STREAM_meters,
    STREAM_load,
    STREAM_refused,
    STREAM_reasons,
};

enum {
    STAGE_meters,
};

enum {
    SINK_load_rows,
    SINK_refusals,
};

enum { STATE_load = 0 };

/* ----------------------------------------------------------------------------------------------
 * What the runtime knows of the rows
 * ---------------------------------------------------------------------------------------------- */

static const struct pipe_type type_timestamp_ms = {.kind = PIPE_TIMESTAMP_MS};
static const struct pipe_type type_int64 = {.kind = PIPE_INT64};
static const struct pipe_type type_float32 = {.kind = PIPE_FLOAT32};
static const struct pipe_type type_int32 = {.kind = PIPE_INT32};

static const struct pipe_column load_columns[] = {
    {"window_start", &type_timestamp_ms, offsetof(struct load, window_start),
     .null_offset = PIPE_NOT_NULL},
    {"window_end", &type_timestamp_ms, offsetof(struct load, window_end),
     .null_offset = PIPE_NOT_NULL},
    {"meter", &type_int64, offsetof(struct load, meter), .null_offset = PIPE_NOT_NULL},
    {"peak", &type_float32, offsetof(struct load, peak), .null_offset = PIPE_NOT_NULL},
    {"readings", &type_int64, offsetof(struct load, readings), .null_offset = PIPE_NOT_NULL},
    {"revision", &type_int32, offsetof(struct load, revision), .null_offset = PIPE_NOT_NULL},
};
static const struct pipe_row_type load_type = {"load", load_columns, 6, sizeof(struct load)};

static const struct pipe_type type_string = {.kind = PIPE_STRING};

static const struct pipe_column reasons_columns[] = {
    {"reason", &type_string, offsetof(struct reasons, reason), .null_offset = PIPE_NOT_NULL},
    {"detail", &type_string, offsetof(struct reasons, detail),
     .null_offset = offsetof(struct reasons, detail_null), .null_first = false},
};
static const struct pipe_row_type reasons_type = {"reasons", reasons_columns, 2,
                                                  sizeof(struct reasons)};


static const struct pipe_column meters_columns[] = {
    {"meter", &type_int64, offsetof(struct meters, meter), .null_offset = PIPE_NOT_NULL},
    {"load", &type_float32, offsetof(struct meters, load), .null_offset = PIPE_NOT_NULL},
    {"at", &type_timestamp_ms, offsetof(struct meters, at), .null_offset = PIPE_NOT_NULL},
};
static const struct pipe_row_type meters_type = {"meters", meters_columns, 3,
                                                 sizeof(struct meters)};

/* ----------------------------------------------------------------------------------------------
 * Streams, in the order of the data
 * ---------------------------------------------------------------------------------------------- */

static void push_load(struct pipe_task *task, const struct pipe_record *record,
                      const struct meters *row);
static void push_refused(struct pipe_task *task, const struct pipe_record *record,
                         const struct pipe_reject *row);
static void reject_refused(struct pipe_task *task, const struct pipe_record *record,
                           const char *reason, const char *rule, const char *detail);
static void push_reasons(struct pipe_task *task, const struct pipe_record *record,
                         const struct pipe_reject *row);

/* ---- source meters  (updates.pipe:4) ---- */

static void out_meters(struct pipe_task *task, const struct pipe_record *record,
                       const struct meters *row)
{
    task->counters[STREAM_meters].out++;
    push_load(task, record, row);
}

/* ---- stream load from meters  (updates.pipe:12) ---- */

/* sink load_rows from load to file 'out/load.csv' format csv append revisions exactly once
 * (updates.pipe:26) */
static void sink_load_rows(struct pipe_task *task, const struct pipe_record *record,
                           const struct load *row)
{
    if (!pipe_encoded(task, row, load_type.columns))
        pipe_row_to_csv(&load_type, row, &task->value);
    pipe_emit(task, SINK_load_rows, record, pipe_str_of(NULL, 0),
              pipe_str_of(task->value.data, task->value.size - 1 /* the line end */));
}

static void out_load(struct pipe_task *task, const struct pipe_record *record,
                     const struct load *row)
{
    task->counters[STREAM_load].out++;
    if (!pipe_discards(task)) {
        sink_load_rows(task, record, row);
    }
}

/* The key: meter. */
static void key_load(struct pipe_buf *key, const struct meters *row)
{
    key->size = 0;
    pipe_key_add_i64(key, row->meter);
}

/* window tumbling 1m offset 10s (updates.pipe:13) */
struct load_acc {
    struct pipe_max_float peak;
    struct pipe_count readings;
};

static void load_acc_init(void *acc)
{
    struct load_acc *of = acc;

    pipe_max_float_init(&of->peak);
    pipe_count_init(&of->readings);
}

static void load_acc_merge(void *into, const void *from)
{
    struct load_acc *to = into;
    const struct load_acc *other = from;

    pipe_max_float_merge(&to->peak, &other->peak);
    pipe_count_merge(&to->readings, &other->readings);
}

static void load_acc_save(const void *acc, struct pipe_buf *out)
{
    const struct load_acc *of = acc;

    pipe_max_float_save(&of->peak, out);
    pipe_count_save(&of->readings, out);
}

static bool load_acc_load(void *acc, struct pipe_reader *in)
{
    struct load_acc *to = acc;

    return pipe_max_float_load(&to->peak, in) && pipe_count_load(&to->readings, in);
}

static void load_acc_drop(void *acc)
{
    struct load_acc *of = acc;

    pipe_max_float_drop(&of->peak);
    pipe_count_drop(&of->readings);
}

static const struct pipe_accumulator load_accumulator = {
    .size_bytes = sizeof(struct load_acc),
    .plain = true,
    .init = load_acc_init,
    .merge = load_acc_merge,
    .save = load_acc_save,
    .load = load_acc_load,
    .drop = load_acc_drop,
};

static void update_load(struct load_acc *acc, const struct meters *row)
{
    pipe_max_float_update(&acc->peak, row->load);
    pipe_count_update(&acc->readings);
}

static void keep_load(struct pipe_task *task, const struct pipe_record *record,
                      const struct meters *row)
{
    key_load(&task->key, row);
    struct pipe_window_hit hit = pipe_window(task, STATE_load, record, false);
    if (hit.acc != NULL)
        update_load(hit.acc, row);
}

/* The row of a window that is due. */
static bool emit_load(struct pipe_task *task, const struct pipe_window_row *window)
{
    if (pipe_discards(task)) { /* nobody reads it */
        task->counters[STREAM_load].out++;
        return true;
    }

    const struct load_acc *acc = window->acc;
    const uint8_t *at = window->key, *end = at + window->key_bytes;
    struct pipe_arena_mark mark = pipe_arena_mark(&task->arena);
    struct load out = {0};
    const struct pipe_record record = {
        .kafka_time_ms = window->kafka_time_ms,
        .event_time = window->end - PIPE_MS(1),
        .watermark = window->watermark,
    };

    out.window_start = pipe_column_ts_ms(window->start);
    out.window_end = pipe_column_ts_ms(window->end);
    if (!(pipe_key_i64(&at, end, &out.meter))) {
        pipe_fatal(task, "%s: a window's key is damaged", "load");
        return false;
    }
    {
        double value;
        pipe_max_float_finish(&acc->peak, &value, NULL);
        out.peak = (float)value;
    }
    pipe_count_finish(&acc->readings, &out.readings, NULL);
    out.revision = window->revision;
    pipe_new_row(task);
    out_load(task, &record, &out);
    pipe_arena_back_to(&task->arena, mark);
    return true;
}

static void push_load(struct pipe_task *task, const struct pipe_record *record,
                      const struct meters *row)
{
    struct pipe_counters *count = &task->counters[STREAM_load];

    count->in++;
    count->passed++;
    keep_load(task, record, row);
}

/* ---- reject stream refused  (updates.pipe:10) ---- */

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

/* ---- stream reasons from refused  (updates.pipe:21) ---- */

/* sink refusals from reasons to file 'out/refused.csv' format csv exactly once (updates.pipe:27) */
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

/* select reason, detail (updates.pipe:22) */
static void select_reasons(struct pipe_task *task, const struct pipe_record *record,
                           const struct pipe_reject *row)
{
    struct pipe_counters *count = &task->counters[STREAM_reasons];
    struct reasons out = {0};

    out.reason = row->reason;
    out.detail = row->detail;
    out.detail_null = row->detail_null;
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

/* ---- a record of source meters ---- */

static bool refuse_meters(struct pipe_task *task, const struct pipe_record *record,
                          const char *reason, const char *detail)
{
    struct pipe_counters *count = &task->counters[STREAM_meters];

    count->source_rejected++;
    reject_refused(task, record, reason, "meters", detail);
    return false;
}

static bool record_meters(struct pipe_task *task, struct pipe_record *record)
{
    struct pipe_counters *count = &task->counters[STREAM_meters];
    void *decoded;

    count->read++;
    const char *reason = pipe_decode(task, record, &decoded);
    if (reason != NULL)
        return refuse_meters(task, record, reason, task->detail);

    const struct meters *row = decoded;

    record->event_time = PIPE_MS(row->at);
    reason = pipe_judge_time(task, record, record->event_time);
    if (reason != NULL)
        return refuse_meters(task, record, reason, task->detail);

    count->accepted++;
    pipe_new_row(task);
    out_meters(task, record, row);
    return true;
}

/* ----------------------------------------------------------------------------------------------
 * The plan
 * ---------------------------------------------------------------------------------------------- */

static const struct pipe_source_def sources[] = {
    {
        .name = "meters",
        .stream = STREAM_meters,
        .is_kafka = false,
        .target = "meters.csv",
        .partitions = 0,
        .format = PIPE_FORMAT_CSV,
        .header = true,
        .row = &meters_type,
        .row_bytes = sizeof(struct meters),
        .has_event_time = true,
        .ahead = 0,
        .has_watermark = true,
        .watermark = 0,
        .idle = 0,
        .stage = STAGE_meters,
    },
};

static const struct pipe_stream_def streams[] = {
    [STREAM_meters] = {.name = "meters", .kind = PIPE_STREAM_SOURCE},
    [STREAM_load] = {.name = "load", .kind = PIPE_STREAM_NORMAL,
                     .inputs = (const uint32_t[]){STREAM_meters}, .input_count = 1,
                     .has_window = true},
    [STREAM_refused] = {.name = "refused", .kind = PIPE_STREAM_REJECTS,
                        .inputs = (const uint32_t[]){STREAM_meters}, .input_count = 1},
    [STREAM_reasons] = {.name = "reasons", .kind = PIPE_STREAM_NORMAL,
                        .inputs = (const uint32_t[]){STREAM_refused}, .input_count = 1,
                        .has_select = true},
};

static const struct pipe_state_def states_of_meters[] = {
    {
        .kind = PIPE_STATE_WINDOW,
        .name = "load",
        .stream = STREAM_load,
        .size = PIPE_MINUTES(1),
        .every = PIPE_MINUTES(1),
        .offset = PIPE_SECONDS(10),
        .emit = PIPE_EMIT_UPDATE,
        .emit_every = PIPE_SECONDS(20),
        .sends_corrections = true,
        .phase = PIPE_PHASE_LOCAL,
        .acc = &load_accumulator,
        .emit_row = emit_load,
    },
};

static const struct pipe_stage_def stages[] = {
    [STAGE_meters] = {
        .name = "meters",
        .source = 0,
        .exchange = -1,
        .record = record_meters,
        .states = states_of_meters,
        .state_count = 1,
    },
};

static const struct pipe_sink_def sinks[] = {
    [SINK_load_rows] = {
        .name = "load_rows",
        .stream = STREAM_load,
        .kind = PIPE_SINK_FILE,
        .target = "out/load.csv",
        .format = PIPE_FORMAT_CSV,
        .row = &load_type,
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
    "updates   plan 26374782\n"
    "  1 file source meters                   one partition a file by meter; csv; event "
    "time at, watermark 0s\n"
    "  2   stream load                        from meters\n"
    "  3     window load                      STATE load  tumbling 1m offset 10s by "
    "meter, emit on update every 20s; in memory: what changes in that time; local: key "
    "holds meter; late rows are dropped and counted\n"
    "  4     file sink load_rows              csv; exactly once: cut back to the length "
    "in the last commit\n"
    "  5 rejects refused                      from meters\n"
    "  6   stream reasons                     from refused\n"
    "  7     select                           reason, detail\n"
    "  8     file sink refusals               csv; exactly once: cut back to the length "
    "in the last commit\n"
    "\n"
    "stages\n"
    "  0 reads source meters: one task a file; state load\n";

static const char plan_json[] =
    "{\n"
    " \"hash\": \"26374782f010750e\",\n"
    " \"nodes\": [\n"
    "  {\n"
    "   \"ahead_ms\": 0,\n"
    "   \"columns\": [\n"
    "    {\n"
    "     \"name\": \"meter\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"load\",\n"
    "     \"type\": \"float32\"\n"
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
    "    \"meter\"\n"
    "   ],\n"
    "   \"name\": \"meters\",\n"
    "   \"node\": \"source\",\n"
    "   \"partitions\": 0,\n"
    "   \"payload\": [\n"
    "    {\n"
    "     \"name\": \"meter\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"load\",\n"
    "     \"type\": \"float32\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"at\",\n"
    "     \"type\": \"timestamp_ms\"\n"
    "    }\n"
    "   ],\n"
    "   \"rejects\": \"refused\",\n"
    "   \"transport\": \"file\",\n"
    "   \"watermark_ms\": 0\n"
    "  },\n"
    "  {\n"
    "   \"columns\": [\n"
    "    {\n"
    "     \"name\": \"window_start\",\n"
    "     \"type\": \"timestamp_ms\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"window_end\",\n"
    "     \"type\": \"timestamp_ms\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"meter\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"peak\",\n"
    "     \"type\": \"float32\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"readings\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"revision\",\n"
    "     \"type\": \"int32\"\n"
    "    }\n"
    "   ],\n"
    "   \"inputs\": [\n"
    "    \"meters\"\n"
    "   ],\n"
    "   \"name\": \"load\",\n"
    "   \"node\": \"stream\",\n"
    "   \"role\": \"stream\",\n"
    "   \"stages\": [\n"
    "    0\n"
    "   ]\n"
    "  },\n"
    "  {\n"
    "   \"aggregates\": [\n"
    "    {\n"
    "     \"arg\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"load\"\n"
    "      ],\n"
    "      \"type\": \"float32\"\n"
    "     },\n"
    "     \"function\": \"max\",\n"
    "     \"name\": \"peak\",\n"
    "     \"type\": \"float32\"\n"
    "    },\n"
    "    {\n"
    "     \"function\": \"count\",\n"
    "     \"name\": \"readings\",\n"
    "     \"type\": \"int64\"\n"
    "    }\n"
    "   ],\n"
    "   \"behind_exchange\": false,\n"
    "   \"columns\": [\n"
    "    {\n"
    "     \"name\": \"window_start\",\n"
    "     \"type\": \"timestamp_ms\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"window_end\",\n"
    "     \"type\": \"timestamp_ms\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"meter\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"peak\",\n"
    "     \"type\": \"float32\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"readings\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"revision\",\n"
    "     \"type\": \"int32\"\n"
    "    }\n"
    "   ],\n"
    "   \"corrections\": true,\n"
    "   \"delay_ms\": 0,\n"
    "   \"drop_late\": true,\n"
    "   \"emit\": \"update\",\n"
    "   \"emit_every_ms\": 20000,\n"
    "   \"every_ms\": 60000,\n"
    "   \"gap_ms\": 0,\n"
    "   \"group\": [\n"
    "    \"meter\"\n"
    "   ],\n"
    "   \"lateness_ms\": 0,\n"
    "   \"local_because\": \"key holds meter\",\n"
    "   \"max_ms\": 0,\n"
    "   \"node\": \"window\",\n"
    "   \"offset_ms\": 10000,\n"
    "   \"size_ms\": 60000,\n"
    "   \"stream\": \"load\",\n"
    "   \"window\": \"tumbling\"\n"
    "  },\n"
    "  {\n"
    "   \"append_revisions\": true,\n"
    "   \"commit_bytes\": 16777216,\n"
    "   \"commit_ms\": 100,\n"
    "   \"exactly_once\": true,\n"
    "   \"format\": \"csv\",\n"
    "   \"from\": \"load\",\n"
    "   \"guarantee\": \"exactly once: cut back to the length in the last commit\",\n"
    "   \"key\": [],\n"
    "   \"kind\": \"file\",\n"
    "   \"name\": \"load_rows\",\n"
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
    "    \"meters\"\n"
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
    "     \"name\": \"detail\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"string\"\n"
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
    "     \"name\": \"detail\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"string\"\n"
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
    "      \"nullable\": true,\n"
    "      \"path\": [\n"
    "       \"detail\"\n"
    "      ],\n"
    "      \"type\": \"string\"\n"
    "     },\n"
    "     \"name\": \"detail\"\n"
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
    " \"pipeline\": \"updates\",\n"
    " \"stages\": [\n"
    "  {\n"
    "   \"source\": \"meters\",\n"
    "   \"stage\": 0,\n"
    "   \"states\": [\n"
    "    {\n"
    "     \"delay_ms\": 0,\n"
    "     \"phase\": \"local\",\n"
    "     \"stream\": \"load\"\n"
    "    }\n"
    "   ]\n"
    "  }\n"
    " ]\n"
    "}\n";

static const struct pipe_plan plan = {
    .abi = PIPE_RUNTIME_ABI,
    .name = "updates",
    .hash = "26374782f010750e",
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
