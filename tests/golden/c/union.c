/* union_of_shops.c: pipeline union_of_shops, compiled from union.pipe by pipec. Change that
 * file, not this. */
#include "pipe.h"

#if PIPE_RUNTIME_ABI != 1
#error "this file and libpipe do not fit together: compile the pipeline again"
#endif

/* ----------------------------------------------------------------------------------------------
 * Rows
 * ---------------------------------------------------------------------------------------------- */

struct north {
    struct pipe_str item;
    int32_t price;
    int64_t at;
};

struct south {
    int64_t at;
    struct pipe_str item;
    int32_t price;
    bool price_null;
};

struct both {
    struct pipe_str item;
    int32_t price;
    int64_t at;
    bool price_null;
};

struct reasons {
    struct pipe_str reason;
    struct pipe_str rule;
};

/* ----------------------------------------------------------------------------------------------
 * Indexes in the tables below
 * ---------------------------------------------------------------------------------------------- */

enum {
    STREAM_north,
    STREAM_south,
    STREAM_both,
    STREAM_refused,
    STREAM_reasons,
};

enum {
    STAGE_north,
    STAGE_south,
    STAGE_both,
};

enum {
    EXCHANGE_both,
};

enum {
    SINK_rows,
    SINK_refusals,
};

enum { STATE_both = 0 };

/* ----------------------------------------------------------------------------------------------
 * What the runtime knows of the rows
 * ---------------------------------------------------------------------------------------------- */

static const struct pipe_type type_string = {.kind = PIPE_STRING};
static const struct pipe_type type_int32 = {.kind = PIPE_INT32};
static const struct pipe_type type_timestamp_ms = {.kind = PIPE_TIMESTAMP_MS};

static const struct pipe_column both_columns[] = {
    {"item", &type_string, offsetof(struct both, item), .null_offset = PIPE_NOT_NULL},
    {"price", &type_int32, offsetof(struct both, price),
     .null_offset = offsetof(struct both, price_null), .null_first = false},
    {"at", &type_timestamp_ms, offsetof(struct both, at), .null_offset = PIPE_NOT_NULL},
};
static const struct pipe_row_type both_type = {"both", both_columns, 3, sizeof(struct both)};


static const struct pipe_column reasons_columns[] = {
    {"reason", &type_string, offsetof(struct reasons, reason), .null_offset = PIPE_NOT_NULL},
    {"rule", &type_string, offsetof(struct reasons, rule), .null_offset = PIPE_NOT_NULL},
};
static const struct pipe_row_type reasons_type = {"reasons", reasons_columns, 2,
                                                  sizeof(struct reasons)};


static const struct pipe_column north_columns[] = {
    {"item", &type_string, offsetof(struct north, item), .null_offset = PIPE_NOT_NULL},
    {"price", &type_int32, offsetof(struct north, price), .null_offset = PIPE_NOT_NULL},
    {"at", &type_timestamp_ms, offsetof(struct north, at), .null_offset = PIPE_NOT_NULL},
};
static const struct pipe_row_type north_type = {"north", north_columns, 3, sizeof(struct north)};


static const struct pipe_column south_columns[] = {
    {"at", &type_timestamp_ms, offsetof(struct south, at), .null_offset = PIPE_NOT_NULL},
    {"item", &type_string, offsetof(struct south, item), .null_offset = PIPE_NOT_NULL},
    {"price", &type_int32, offsetof(struct south, price),
     .null_offset = offsetof(struct south, price_null), .null_first = false},
};
static const struct pipe_row_type south_type = {"south", south_columns, 3, sizeof(struct south)};

/* ----------------------------------------------------------------------------------------------
 * Streams, in the order of the data
 * ---------------------------------------------------------------------------------------------- */

static void push_both(struct pipe_task *task, const struct pipe_record *record,
                      const struct both *row);
static void push_refused(struct pipe_task *task, const struct pipe_record *record,
                         const struct pipe_reject *row);
static void reject_refused(struct pipe_task *task, const struct pipe_record *record,
                           const char *reason, const char *rule, const char *detail);
static void push_reasons(struct pipe_task *task, const struct pipe_record *record,
                         const struct pipe_reject *row);

/* ---- source north  (union.pipe:4) ---- */

/* A row as stream both has it. */
static void push_both_from_north(struct pipe_task *task, const struct pipe_record *record,
                                 const struct north *row)
{
    struct both out = {0};

    out.item = row->item;
    out.price = row->price;
    out.price_null = false;
    out.at = row->at;
    pipe_new_row(task);
    push_both(task, record, &out);
}

static void out_north(struct pipe_task *task, const struct pipe_record *record,
                      const struct north *row)
{
    task->counters[STREAM_north].out++;
    push_both_from_north(task, record, row);
}

/* ---- source south  (union.pipe:11) ---- */

/* A row as stream both has it. */
static void push_both_from_south(struct pipe_task *task, const struct pipe_record *record,
                                 const struct south *row)
{
    struct both out = {0};

    out.item = row->item;
    out.price = row->price;
    out.price_null = row->price_null;
    out.at = row->at;
    pipe_new_row(task);
    push_both(task, record, &out);
}

static void out_south(struct pipe_task *task, const struct pipe_record *record,
                      const struct south *row)
{
    task->counters[STREAM_south].out++;
    push_both_from_south(task, record, row);
}

/* ---- stream both from north, south  (union.pipe:18) ---- */

/* sink rows from both to file 'out/both.csv' format csv exactly once (union.pipe:27) */
static void sink_rows(struct pipe_task *task, const struct pipe_record *record,
                      const struct both *row)
{
    if (!pipe_encoded(task, row, both_type.columns))
        pipe_row_to_csv(&both_type, row, &task->value);
    pipe_emit(task, SINK_rows, record, pipe_str_of(NULL, 0),
              pipe_str_of(task->value.data, task->value.size - 1 /* the line end */));
}

static void out_both(struct pipe_task *task, const struct pipe_record *record,
                     const struct both *row)
{
    task->counters[STREAM_both].out++;
    if (!pipe_discards(task)) {
        sink_rows(task, record, row);
    }
}

/* The key: item. */
static void key_both(struct pipe_buf *key, const struct both *row)
{
    key->size = 0;
    pipe_key_add_str(key, row->item);
}

/* dedup by item within 1m (union.pipe:19) */
static void keep_both(struct pipe_task *task, const struct pipe_record *record,
                      const struct both *row)
{
    key_both(&task->key, row);
    switch (pipe_dedup(task, STATE_both, record, false)) {
    case PIPE_UNIQUE:
        out_both(task, record, row);
        break;
    case PIPE_DUPLICATE:
        break;
    case PIPE_TOO_OLD:
        reject_refused(task, record, "too_old_to_dedup", "both", NULL);
        break;
    }
}

/* Through the exchange: both is a union, which has no common partitioning. */
static void ship_both(struct pipe_task *task, const struct pipe_record *record,
                      const struct both *row)
{
    key_both(&task->key, row);
    pipe_exchange_row(task, EXCHANGE_both, record, &both_type, row);
}

static void push_both(struct pipe_task *task, const struct pipe_record *record,
                      const struct both *row)
{
    struct pipe_counters *count = &task->counters[STREAM_both];

    count->in++;
    count->passed++;
    ship_both(task, record, row);
}

/* ---- reject stream refused  (union.pipe:9) ---- */

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

/* ---- stream reasons from refused  (union.pipe:22) ---- */

/* sink refusals from reasons to file 'out/refused.csv' format csv exactly once (union.pipe:28) */
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

/* select reason, rule (union.pipe:23) */
static void select_reasons(struct pipe_task *task, const struct pipe_record *record,
                           const struct pipe_reject *row)
{
    struct pipe_counters *count = &task->counters[STREAM_reasons];
    struct reasons out = {0};

    out.reason = row->reason;
    out.rule = row->rule;
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

/* ---- a record of source north ---- */

static bool refuse_north(struct pipe_task *task, const struct pipe_record *record,
                         const char *reason, const char *detail)
{
    struct pipe_counters *count = &task->counters[STREAM_north];

    count->source_rejected++;
    reject_refused(task, record, reason, "north", detail);
    return false;
}

static bool record_north(struct pipe_task *task, struct pipe_record *record)
{
    struct pipe_counters *count = &task->counters[STREAM_north];
    void *decoded;

    count->read++;
    const char *reason = pipe_decode(task, record, &decoded);
    if (reason != NULL)
        return refuse_north(task, record, reason, task->detail);

    const struct north *row = decoded;

    record->event_time = PIPE_MS(row->at);
    reason = pipe_judge_time(task, record, record->event_time);
    if (reason != NULL)
        return refuse_north(task, record, reason, task->detail);

    count->accepted++;
    pipe_new_row(task);
    out_north(task, record, row);
    return true;
}

/* ---- a record of source south ---- */

static bool refuse_south(struct pipe_task *task, const struct pipe_record *record,
                         const char *reason, const char *detail)
{
    struct pipe_counters *count = &task->counters[STREAM_south];

    count->source_rejected++;
    reject_refused(task, record, reason, "south", detail);
    return false;
}

static bool record_south(struct pipe_task *task, struct pipe_record *record)
{
    struct pipe_counters *count = &task->counters[STREAM_south];
    void *decoded;

    count->read++;
    const char *reason = pipe_decode(task, record, &decoded);
    if (reason != NULL)
        return refuse_south(task, record, reason, task->detail);

    const struct south *row = decoded;

    record->event_time = PIPE_MS(row->at);
    reason = pipe_judge_time(task, record, record->event_time);
    if (reason != NULL)
        return refuse_south(task, record, reason, task->detail);

    count->accepted++;
    pipe_new_row(task);
    out_south(task, record, row);
    return true;
}

/* ---- a row out of the exchange in front of both ---- */

static bool record_both(struct pipe_task *task, struct pipe_record *record)
{
    const uint8_t *at = (const uint8_t *)record->payload.data, *end = at + record->payload.size;
    struct both row;

    if (!pipe_row_load(&both_type, &at, end, &task->arena, &row)) {
        pipe_fatal(task, "%s: a row of the exchange is damaged", "both");
        return false;
    }
    record->payload = pipe_exchange_payload(at, end);
    pipe_new_row(task);
    keep_both(task, record, &row);
    return true;
}

/* ----------------------------------------------------------------------------------------------
 * The plan
 * ---------------------------------------------------------------------------------------------- */

static const struct pipe_source_def sources[] = {
    {
        .name = "north",
        .stream = STREAM_north,
        .is_kafka = false,
        .target = "north.csv",
        .partitions = 0,
        .format = PIPE_FORMAT_CSV,
        .header = true,
        .row = &north_type,
        .row_bytes = sizeof(struct north),
        .has_event_time = true,
        .ahead = 0,
        .has_watermark = true,
        .watermark = PIPE_SECONDS(1),
        .idle = 0,
        .stage = STAGE_north,
    },
    {
        .name = "south",
        .stream = STREAM_south,
        .is_kafka = false,
        .target = "south.csv",
        .partitions = 0,
        .format = PIPE_FORMAT_CSV,
        .header = true,
        .row = &south_type,
        .row_bytes = sizeof(struct south),
        .has_event_time = true,
        .ahead = 0,
        .has_watermark = true,
        .watermark = PIPE_SECONDS(1),
        .idle = 0,
        .stage = STAGE_south,
    },
};

static const struct pipe_stream_def streams[] = {
    [STREAM_north] = {.name = "north", .kind = PIPE_STREAM_SOURCE},
    [STREAM_south] = {.name = "south", .kind = PIPE_STREAM_SOURCE},
    [STREAM_both] = {.name = "both", .kind = PIPE_STREAM_NORMAL,
                     .inputs = (const uint32_t[]){STREAM_north, STREAM_south}, .input_count = 2,
                     .has_dedup = true, .has_exchange = true},
    [STREAM_refused] = {.name = "refused", .kind = PIPE_STREAM_REJECTS,
                        .inputs = (const uint32_t[]){STREAM_north, STREAM_south, STREAM_both},
                        .input_count = 3},
    [STREAM_reasons] = {.name = "reasons", .kind = PIPE_STREAM_NORMAL,
                        .inputs = (const uint32_t[]){STREAM_refused}, .input_count = 1,
                        .has_select = true},
};

static const uint32_t exchanges_of_north[] = {EXCHANGE_both};
static const int64_t delays_of_north[] = {0};

static const uint32_t exchanges_of_south[] = {EXCHANGE_both};
static const int64_t delays_of_south[] = {0};

static const struct pipe_state_def states_of_both[] = {
    {
        .kind = PIPE_STATE_DEDUP,
        .name = "both",
        .stream = STREAM_both,
        .judge_by_record = true,
        .ttl = PIPE_MINUTES(1),
        .phase = PIPE_PHASE_LOCAL,
    },
};

static const struct pipe_stage_def stages[] = {
    [STAGE_north] = {
        .name = "north",
        .source = 0,
        .exchange = -1,
        .record = record_north,
        .exchanges_out = exchanges_of_north,
        .exchange_delays = delays_of_north,
        .exchange_out_count = 1,
    },
    [STAGE_south] = {
        .name = "south",
        .source = 1,
        .exchange = -1,
        .record = record_south,
        .exchanges_out = exchanges_of_south,
        .exchange_delays = delays_of_south,
        .exchange_out_count = 1,
    },
    [STAGE_both] = {
        .name = "both",
        .source = -1,
        .exchange = 0,
        .record = record_both,
        .states = states_of_both,
        .state_count = 1,
    },
};

static const struct pipe_exchange_def exchanges[] = {
    [EXCHANGE_both] = {.name = "both", .partitions = 1, .partials = false, .to_stage = STAGE_both,
                       .reason = "both is a union, which has no common partitioning"},
};

static const struct pipe_sink_def sinks[] = {
    [SINK_rows] = {
        .name = "rows",
        .stream = STREAM_both,
        .kind = PIPE_SINK_FILE,
        .target = "out/both.csv",
        .format = PIPE_FORMAT_CSV,
        .row = &both_type,
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
    "union_of_shops   plan 32fc4816\n"
    "  1 file source north                    one partition a file; csv; event time at, "
    "watermark 1s\n"
    "  2   stream both                        from north, south\n"
    "  3     exchange both                    rows by item, 1 partition: both is a union,"
    " which has no common partitioning\n"
    "  4     dedup both                       STATE both  item for 1m; bound: rate x 1m "
    "x 40 B\n"
    "  5     file sink rows                   csv; exactly once: cut back to the length "
    "in the last commit\n"
    "  6 file source south                    one partition a file; csv; event time at, "
    "watermark 1s\n"
    "  7 rejects refused                      from north, south, both\n"
    "  8   stream reasons                     from refused\n"
    "  9     select                           reason, rule\n"
    " 10     file sink refusals               csv; exactly once: cut back to the length "
    "in the last commit\n"
    "\n"
    "stages\n"
    "  0 reads source north: one task a file\n"
    "  1 reads source south: one task a file\n"
    "  2 reads exchange both: 1 task; state both\n";

static const char plan_json[] =
    "{\n"
    " \"hash\": \"32fc48166de66bcd\",\n"
    " \"nodes\": [\n"
    "  {\n"
    "   \"ahead_ms\": 0,\n"
    "   \"columns\": [\n"
    "    {\n"
    "     \"name\": \"item\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"price\",\n"
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
    "   \"key\": [],\n"
    "   \"name\": \"north\",\n"
    "   \"node\": \"source\",\n"
    "   \"partitions\": 0,\n"
    "   \"payload\": [\n"
    "    {\n"
    "     \"name\": \"item\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"price\",\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"at\",\n"
    "     \"type\": \"timestamp_ms\"\n"
    "    }\n"
    "   ],\n"
    "   \"rejects\": \"refused\",\n"
    "   \"transport\": \"file\",\n"
    "   \"watermark_ms\": 1000\n"
    "  },\n"
    "  {\n"
    "   \"ahead_ms\": 0,\n"
    "   \"columns\": [\n"
    "    {\n"
    "     \"name\": \"at\",\n"
    "     \"type\": \"timestamp_ms\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"item\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"price\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int32\"\n"
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
    "   \"key\": [],\n"
    "   \"name\": \"south\",\n"
    "   \"node\": \"source\",\n"
    "   \"partitions\": 0,\n"
    "   \"payload\": [\n"
    "    {\n"
    "     \"name\": \"at\",\n"
    "     \"type\": \"timestamp_ms\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"item\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"price\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int32\"\n"
    "    }\n"
    "   ],\n"
    "   \"rejects\": \"refused\",\n"
    "   \"transport\": \"file\",\n"
    "   \"watermark_ms\": 1000\n"
    "  },\n"
    "  {\n"
    "   \"columns\": [\n"
    "    {\n"
    "     \"name\": \"item\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"price\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"at\",\n"
    "     \"type\": \"timestamp_ms\"\n"
    "    }\n"
    "   ],\n"
    "   \"inputs\": [\n"
    "    \"north\",\n"
    "    \"south\"\n"
    "   ],\n"
    "   \"name\": \"both\",\n"
    "   \"node\": \"stream\",\n"
    "   \"rejects\": \"refused\",\n"
    "   \"role\": \"stream\",\n"
    "   \"stages\": [\n"
    "    0,\n"
    "    1\n"
    "   ]\n"
    "  },\n"
    "  {\n"
    "   \"carries\": \"rows\",\n"
    "   \"key\": [\n"
    "    \"item\"\n"
    "   ],\n"
    "   \"node\": \"exchange\",\n"
    "   \"partitions\": 1,\n"
    "   \"reason\": \"both is a union, which has no common partitioning\",\n"
    "   \"stream\": \"both\"\n"
    "  },\n"
    "  {\n"
    "   \"behind_exchange\": true,\n"
    "   \"key\": [\n"
    "    \"item\"\n"
    "   ],\n"
    "   \"node\": \"dedup\",\n"
    "   \"stream\": \"both\",\n"
    "   \"within_ms\": 60000\n"
    "  },\n"
    "  {\n"
    "   \"append_revisions\": false,\n"
    "   \"commit_bytes\": 16777216,\n"
    "   \"commit_ms\": 100,\n"
    "   \"exactly_once\": true,\n"
    "   \"format\": \"csv\",\n"
    "   \"from\": \"both\",\n"
    "   \"guarantee\": \"exactly once: cut back to the length in the last commit\",\n"
    "   \"key\": [],\n"
    "   \"kind\": \"file\",\n"
    "   \"name\": \"rows\",\n"
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
    "    \"north\",\n"
    "    \"south\",\n"
    "    \"both\"\n"
    "   ],\n"
    "   \"name\": \"refused\",\n"
    "   \"node\": \"stream\",\n"
    "   \"role\": \"rejects\",\n"
    "   \"stages\": [\n"
    "    0,\n"
    "    1,\n"
    "    2\n"
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
    "    }\n"
    "   ],\n"
    "   \"inputs\": [\n"
    "    \"refused\"\n"
    "   ],\n"
    "   \"name\": \"reasons\",\n"
    "   \"node\": \"stream\",\n"
    "   \"role\": \"stream\",\n"
    "   \"stages\": [\n"
    "    0,\n"
    "    1,\n"
    "    2\n"
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
    " \"pipeline\": \"union_of_shops\",\n"
    " \"stages\": [\n"
    "  {\n"
    "   \"source\": \"north\",\n"
    "   \"stage\": 0,\n"
    "   \"states\": []\n"
    "  },\n"
    "  {\n"
    "   \"source\": \"south\",\n"
    "   \"stage\": 1,\n"
    "   \"states\": []\n"
    "  },\n"
    "  {\n"
    "   \"exchange\": \"both\",\n"
    "   \"stage\": 2,\n"
    "   \"states\": [\n"
    "    {\n"
    "     \"delay_ms\": 0,\n"
    "     \"phase\": \"local\",\n"
    "     \"stream\": \"both\"\n"
    "    }\n"
    "   ]\n"
    "  }\n"
    " ]\n"
    "}\n";

static const struct pipe_plan plan = {
    .abi = PIPE_RUNTIME_ABI,
    .name = "union_of_shops",
    .hash = "32fc48166de66bcd",
    .commit_ms = 100,
    .commit_bytes = 16777216,
    .explain_text = explain_text,
    .plan_json = plan_json,
    .sources = sources,
    .source_count = 2,
    .streams = streams,
    .stream_count = 5,
    .stages = stages,
    .stage_count = 3,
    .exchanges = exchanges,
    .exchange_count = 1,
    .sinks = sinks,
    .sink_count = 2,
};

int main(int argc, char **argv)
{
    return pipe_main(&plan, argc, argv);
}
