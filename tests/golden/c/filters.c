/* filters.c: pipeline filters, compiled from filters.pipe by pipec. Change that file, not this. */
#include "pipe.h"

#if PIPE_RUNTIME_ABI != 1
#error "this file and libpipe do not fit together: compile the pipeline again"
#endif

/* ----------------------------------------------------------------------------------------------
 * Rows
 * ---------------------------------------------------------------------------------------------- */

struct readings {
    struct pipe_str sensor;
    struct pipe_str kind;
    int64_t value;
    bool value_null;
};

struct reasons {
    struct pipe_str reason;
    struct pipe_str rule;
    struct pipe_str detail;
    int64_t offset;
    bool detail_null;
    bool offset_null;
};

/* ----------------------------------------------------------------------------------------------
 * Indexes in the tables below
 * ---------------------------------------------------------------------------------------------- */

enum {
    STREAM_readings,
    STREAM_good,
    STREAM_refused,
    STREAM_reasons,
    STREAM_high,
};

enum {
    STAGE_readings,
};

enum {
    SINK_good_rows,
    SINK_high_rows,
    SINK_refusals,
};

/* ----------------------------------------------------------------------------------------------
 * What the runtime knows of the rows
 * ---------------------------------------------------------------------------------------------- */

static const struct pipe_type type_string = {.kind = PIPE_STRING};
static const struct pipe_type type_int64 = {.kind = PIPE_INT64};

static const struct pipe_column readings_columns[] = {
    {"sensor", &type_string, offsetof(struct readings, sensor), .null_offset = PIPE_NOT_NULL},
    {"kind", &type_string, offsetof(struct readings, kind), .null_offset = PIPE_NOT_NULL},
    {"value", &type_int64, offsetof(struct readings, value),
     .null_offset = offsetof(struct readings, value_null), .null_first = false},
};
static const struct pipe_row_type readings_type = {"readings", readings_columns, 3,
                                                   sizeof(struct readings)};


static const struct pipe_column reasons_columns[] = {
    {"reason", &type_string, offsetof(struct reasons, reason), .null_offset = PIPE_NOT_NULL},
    {"rule", &type_string, offsetof(struct reasons, rule), .null_offset = PIPE_NOT_NULL},
    {"detail", &type_string, offsetof(struct reasons, detail),
     .null_offset = offsetof(struct reasons, detail_null), .null_first = false},
    {"offset", &type_int64, offsetof(struct reasons, offset),
     .null_offset = offsetof(struct reasons, offset_null), .null_first = false},
};
static const struct pipe_row_type reasons_type = {"reasons", reasons_columns, 4,
                                                  sizeof(struct reasons)};

/* ----------------------------------------------------------------------------------------------
 * JSON
 * ---------------------------------------------------------------------------------------------- */

static void json_of_readings(struct pipe_buf *buf, const struct readings *row)
{
    PIPE_JSON_RAW(buf, "{\"sensor\":");
    pipe_json_string(buf, row->sensor);
    PIPE_JSON_RAW(buf, ",\"kind\":");
    pipe_json_string(buf, row->kind);
    PIPE_JSON_RAW(buf, ",\"value\":");
    if (row->value_null)
        pipe_json_null(buf);
    else
        pipe_json_i64(buf, row->value);
    PIPE_JSON_RAW(buf, "}");
}

static void json_of_reasons(struct pipe_buf *buf, const struct reasons *row)
{
    PIPE_JSON_RAW(buf, "{\"reason\":");
    pipe_json_string(buf, row->reason);
    PIPE_JSON_RAW(buf, ",\"rule\":");
    pipe_json_string(buf, row->rule);
    PIPE_JSON_RAW(buf, ",\"detail\":");
    if (row->detail_null)
        pipe_json_null(buf);
    else
        pipe_json_string(buf, row->detail);
    PIPE_JSON_RAW(buf, ",\"offset\":");
    if (row->offset_null)
        pipe_json_null(buf);
    else
        pipe_json_i64(buf, row->offset);
    PIPE_JSON_RAW(buf, "}");
}

/* ----------------------------------------------------------------------------------------------
 * Streams, in the order of the data
 * ---------------------------------------------------------------------------------------------- */

static void push_good(struct pipe_task *task, const struct pipe_record *record,
                      const struct readings *row);
static void push_refused(struct pipe_task *task, const struct pipe_record *record,
                         const struct pipe_reject *row);
static void reject_refused(struct pipe_task *task, const struct pipe_record *record,
                           const char *reason, const char *rule, const char *detail);
static void push_reasons(struct pipe_task *task, const struct pipe_record *record,
                         const struct pipe_reject *row);
static void push_high(struct pipe_task *task, const struct pipe_record *record,
                      const struct readings *row);

/* ---- source readings  (filters.pipe:4) ---- */

static void out_readings(struct pipe_task *task, const struct pipe_record *record,
                         const struct readings *row)
{
    task->counters[STREAM_readings].out++;
    push_good(task, record, row);
}

/* ---- stream good from readings  (filters.pipe:9) ---- */

/* sink good_rows from good to file 'out/good.jsonl' format jsonl exactly once (filters.pipe:24) */
static void sink_good_rows(struct pipe_task *task, const struct pipe_record *record,
                           const struct readings *row)
{
    if (!pipe_encoded(task, row, (const void *)json_of_readings))
        json_of_readings(&task->value, row);
    pipe_emit(task, SINK_good_rows, record, pipe_str_of(NULL, 0),
              pipe_str_of(task->value.data, task->value.size));
}

static void out_good(struct pipe_task *task, const struct pipe_record *record,
                     const struct readings *row)
{
    task->counters[STREAM_good].out++;
    if (!pipe_discards(task)) {
        sink_good_rows(task, record, row);
    }
}

/* where kind <> 'noise' (filters.pipe:10) */
static bool good_where_1(const struct readings *row)
{
    return !pipe_str_equal(row->kind, PIPE_STR("noise"));
}

/* require value is not null else 'value_missing' (filters.pipe:11) */
static bool good_require_2(const struct readings *row)
{
    return !row->value_null;
}

/* divert value > 1_000 or sensor in ('x1', 'x2') to high (filters.pipe:12) */
static bool good_divert_3(const struct readings *row)
{
    return row->value > 1000 || pipe_str_equal(row->sensor, PIPE_STR("x1")) ||
        pipe_str_equal(row->sensor, PIPE_STR("x2"));
}

/* require value between -50 and 500 and not sensor like 'test%' else 'out_of_range'
 * (filters.pipe:13) */
static bool good_require_4(const struct readings *row)
{
    return row->value >= -50 && row->value <= 500 && !pipe_fn_like(row->sensor, PIPE_STR("test%"));
}

/* require 100 / (value - 7) < 90 else 'near_seven' (filters.pipe:14). False: it failed */
static bool good_require_5(const struct readings *row, bool *value)
{
    int64_t t1;
    if (!pipe_sub_i64(row->value, 7, &t1))
        return false;
    int64_t t2;
    if (!pipe_div_i64(100, t1, &t2))
        return false;

    *value = t2 < 90;
    return true;
}

static void push_good(struct pipe_task *task, const struct pipe_record *record,
                      const struct readings *row)
{
    struct pipe_counters *count = &task->counters[STREAM_good];

    count->in++;
    if (!good_where_1(row)) {
        count->dropped++;
        return;
    }
    if (!good_require_2(row)) {
        count->rejected++;
        reject_refused(task, record, "value_missing", "good", NULL);
        return;
    }
    if (good_divert_3(row)) {
        count->diverted++;
        push_high(task, record, row);
        return;
    }
    if (!good_require_4(row)) {
        count->rejected++;
        reject_refused(task, record, "out_of_range", "good", NULL);
        return;
    }
    bool require_5 = false;
    if (!good_require_5(row, &require_5)) {
        count->rejected++;
        reject_refused(task, record, "expression_failed", "good", "100 / (value - 7) < 90");
        return;
    }
    if (!require_5) {
        count->rejected++;
        reject_refused(task, record, "near_seven", "good", NULL);
        return;
    }
    count->passed++;
    out_good(task, record, row);
}

/* ---- reject stream refused  (filters.pipe:7) ---- */

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

/* ---- stream reasons from refused  (filters.pipe:17) ---- */

/* sink refusals from reasons to file 'out/refused.jsonl' format jsonl exactly once
 * (filters.pipe:26) */
static void sink_refusals(struct pipe_task *task, const struct pipe_record *record,
                          const struct reasons *row)
{
    if (!pipe_encoded(task, row, (const void *)json_of_reasons))
        json_of_reasons(&task->value, row);
    pipe_emit(task, SINK_refusals, record, pipe_str_of(NULL, 0),
              pipe_str_of(task->value.data, task->value.size));
}

static void out_reasons(struct pipe_task *task, const struct pipe_record *record,
                        const struct reasons *row)
{
    task->counters[STREAM_reasons].out++;
    if (!pipe_discards(task)) {
        sink_refusals(task, record, row);
    }
}

/* select reason, rule, detail, offset (filters.pipe:18) */
static void select_reasons(struct pipe_task *task, const struct pipe_record *record,
                           const struct pipe_reject *row)
{
    struct pipe_counters *count = &task->counters[STREAM_reasons];
    struct reasons out = {0};

    out.reason = row->reason;
    out.rule = row->rule;
    out.detail = row->detail;
    out.detail_null = row->detail_null;
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

/* ---- diverted stream high  (filters.pipe:12) ---- */

/* sink high_rows from high to file 'out/high.jsonl' format jsonl exactly once (filters.pipe:25) */
static void sink_high_rows(struct pipe_task *task, const struct pipe_record *record,
                           const struct readings *row)
{
    if (!pipe_encoded(task, row, (const void *)json_of_readings))
        json_of_readings(&task->value, row);
    pipe_emit(task, SINK_high_rows, record, pipe_str_of(NULL, 0),
              pipe_str_of(task->value.data, task->value.size));
}

static void out_high(struct pipe_task *task, const struct pipe_record *record,
                     const struct readings *row)
{
    task->counters[STREAM_high].out++;
    if (!pipe_discards(task)) {
        sink_high_rows(task, record, row);
    }
}

static void push_high(struct pipe_task *task, const struct pipe_record *record,
                      const struct readings *row)
{
    struct pipe_counters *count = &task->counters[STREAM_high];

    count->in++;
    count->passed++;
    out_high(task, record, row);
}

/* ----------------------------------------------------------------------------------------------
 * Records
 * ---------------------------------------------------------------------------------------------- */

/* ---- a record of source readings ---- */

static bool refuse_readings(struct pipe_task *task, const struct pipe_record *record,
                            const char *reason, const char *detail)
{
    struct pipe_counters *count = &task->counters[STREAM_readings];

    count->source_rejected++;
    reject_refused(task, record, reason, "readings", detail);
    return false;
}

static bool record_readings(struct pipe_task *task, struct pipe_record *record)
{
    struct pipe_counters *count = &task->counters[STREAM_readings];
    void *decoded;

    count->read++;
    const char *reason = pipe_decode(task, record, &decoded);
    if (reason != NULL)
        return refuse_readings(task, record, reason, task->detail);

    const struct readings *row = decoded;

    record->event_time = PIPE_TIME_MIN;

    count->accepted++;
    pipe_new_row(task);
    out_readings(task, record, row);
    return true;
}

/* ----------------------------------------------------------------------------------------------
 * The plan
 * ---------------------------------------------------------------------------------------------- */

static const struct pipe_source_def sources[] = {
    {
        .name = "readings",
        .stream = STREAM_readings,
        .is_kafka = false,
        .target = "readings.csv",
        .partitions = 0,
        .format = PIPE_FORMAT_CSV,
        .header = true,
        .row = &readings_type,
        .row_bytes = sizeof(struct readings),
        .stage = STAGE_readings,
    },
};

static const struct pipe_stream_def streams[] = {
    [STREAM_readings] = {.name = "readings", .kind = PIPE_STREAM_SOURCE},
    [STREAM_good] = {.name = "good", .kind = PIPE_STREAM_NORMAL,
                     .inputs = (const uint32_t[]){STREAM_readings}, .input_count = 1,
                     .has_filters = true},
    [STREAM_refused] = {.name = "refused", .kind = PIPE_STREAM_REJECTS,
                        .inputs = (const uint32_t[]){STREAM_readings, STREAM_good},
                        .input_count = 2},
    [STREAM_reasons] = {.name = "reasons", .kind = PIPE_STREAM_NORMAL,
                        .inputs = (const uint32_t[]){STREAM_refused}, .input_count = 1,
                        .has_select = true},
    [STREAM_high] = {.name = "high", .kind = PIPE_STREAM_DIVERTED,
                     .inputs = (const uint32_t[]){STREAM_good}, .input_count = 1},
};

static const struct pipe_stage_def stages[] = {
    [STAGE_readings] = {
        .name = "readings",
        .source = 0,
        .exchange = -1,
        .record = record_readings,
    },
};

static const struct pipe_sink_def sinks[] = {
    [SINK_good_rows] = {
        .name = "good_rows",
        .stream = STREAM_good,
        .kind = PIPE_SINK_FILE,
        .target = "out/good.jsonl",
        .format = PIPE_FORMAT_JSONL,
        .row = &readings_type,
        .exactly_once = true,
    },
    [SINK_high_rows] = {
        .name = "high_rows",
        .stream = STREAM_high,
        .kind = PIPE_SINK_FILE,
        .target = "out/high.jsonl",
        .format = PIPE_FORMAT_JSONL,
        .row = &readings_type,
        .exactly_once = true,
    },
    [SINK_refusals] = {
        .name = "refusals",
        .stream = STREAM_reasons,
        .kind = PIPE_SINK_FILE,
        .target = "out/refused.jsonl",
        .format = PIPE_FORMAT_JSONL,
        .row = &reasons_type,
        .exactly_once = true,
    },
};

static const char explain_text[] =
    "filters   plan 9e019d15\n"
    "  1 file source readings                 one partition a file; csv\n"
    "  2   stream good                        from readings\n"
    "  3     where                            kind <> 'noise'\n"
    "  4     require                          value is not null  else value_missing\n"
    "  5     divert                           value > 1000 or sensor in ('x1', 'x2')  to "
    "high\n"
    "  6     require                          value between -50 and 500 and not sensor "
    "like 'test%'  else out_of_range\n"
    "  7     require                          100 / (value - 7) < 90  else near_seven\n"
    "  8     file sink good_rows              jsonl; exactly once: cut back to the "
    "length in the last commit\n"
    "  9 rejects refused                      from readings, good\n"
    " 10   stream reasons                     from refused\n"
    " 11     select                           reason, rule, detail, offset\n"
    " 12     file sink refusals               jsonl; exactly once: cut back to the "
    "length in the last commit\n"
    " 13 diverted high                        from good\n"
    " 14   file sink high_rows                jsonl; exactly once: cut back to the "
    "length in the last commit\n"
    "\n"
    "stages\n"
    "  0 reads source readings: one task a file\n";

static const char plan_json[] =
    "{\n"
    " \"hash\": \"9e019d15dbbbcba4\",\n"
    " \"nodes\": [\n"
    "  {\n"
    "   \"ahead_ms\": 0,\n"
    "   \"columns\": [\n"
    "    {\n"
    "     \"name\": \"sensor\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"kind\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"value\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int64\"\n"
    "    }\n"
    "   ],\n"
    "   \"drop_tombstones\": false,\n"
    "   \"format\": \"csv\",\n"
    "   \"header\": true,\n"
    "   \"idle_advance\": false,\n"
    "   \"idle_ms\": 0,\n"
    "   \"key\": [],\n"
    "   \"name\": \"readings\",\n"
    "   \"node\": \"source\",\n"
    "   \"partitions\": 0,\n"
    "   \"payload\": [\n"
    "    {\n"
    "     \"name\": \"sensor\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"kind\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"value\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int64\"\n"
    "    }\n"
    "   ],\n"
    "   \"rejects\": \"refused\",\n"
    "   \"transport\": \"file\",\n"
    "   \"watermark_ms\": -1\n"
    "  },\n"
    "  {\n"
    "   \"columns\": [\n"
    "    {\n"
    "     \"name\": \"sensor\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"kind\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"value\",\n"
    "     \"type\": \"int64\"\n"
    "    }\n"
    "   ],\n"
    "   \"inputs\": [\n"
    "    \"readings\"\n"
    "   ],\n"
    "   \"name\": \"good\",\n"
    "   \"node\": \"stream\",\n"
    "   \"rejects\": \"refused\",\n"
    "   \"role\": \"stream\",\n"
    "   \"stages\": [\n"
    "    0\n"
    "   ]\n"
    "  },\n"
    "  {\n"
    "   \"expr\": {\n"
    "    \"kind\": \"binary\",\n"
    "    \"left\": {\n"
    "     \"kind\": \"column\",\n"
    "     \"path\": [\n"
    "      \"kind\"\n"
    "     ],\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    \"op\": \"<>\",\n"
    "    \"right\": {\n"
    "     \"kind\": \"literal\",\n"
    "     \"type\": \"string\",\n"
    "     \"value\": \"noise\"\n"
    "    },\n"
    "    \"type\": \"bool\"\n"
    "   },\n"
    "   \"node\": \"where\",\n"
    "   \"stream\": \"good\",\n"
    "   \"text\": \"kind <> 'noise'\"\n"
    "  },\n"
    "  {\n"
    "   \"expr\": {\n"
    "    \"kind\": \"is_null\",\n"
    "    \"left\": {\n"
    "     \"kind\": \"column\",\n"
    "     \"nullable\": true,\n"
    "     \"path\": [\n"
    "      \"value\"\n"
    "     ],\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    \"negated\": true,\n"
    "    \"type\": \"bool\"\n"
    "   },\n"
    "   \"node\": \"require\",\n"
    "   \"reason\": \"value_missing\",\n"
    "   \"stream\": \"good\",\n"
    "   \"text\": \"value is not null\"\n"
    "  },\n"
    "  {\n"
    "   \"expr\": {\n"
    "    \"kind\": \"binary\",\n"
    "    \"left\": {\n"
    "     \"kind\": \"binary\",\n"
    "     \"left\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"value\"\n"
    "      ],\n"
    "      \"type\": \"int64\"\n"
    "     },\n"
    "     \"op\": \">\",\n"
    "     \"right\": {\n"
    "      \"kind\": \"literal\",\n"
    "      \"type\": \"int64\",\n"
    "      \"value\": \"1000\"\n"
    "     },\n"
    "     \"type\": \"bool\"\n"
    "    },\n"
    "    \"op\": \"or\",\n"
    "    \"right\": {\n"
    "     \"args\": [\n"
    "      {\n"
    "       \"kind\": \"literal\",\n"
    "       \"type\": \"string\",\n"
    "       \"value\": \"x1\"\n"
    "      },\n"
    "      {\n"
    "       \"kind\": \"literal\",\n"
    "       \"type\": \"string\",\n"
    "       \"value\": \"x2\"\n"
    "      }\n"
    "     ],\n"
    "     \"kind\": \"in\",\n"
    "     \"left\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"sensor\"\n"
    "      ],\n"
    "      \"type\": \"string\"\n"
    "     },\n"
    "     \"type\": \"bool\"\n"
    "    },\n"
    "    \"type\": \"bool\"\n"
    "   },\n"
    "   \"node\": \"divert\",\n"
    "   \"stream\": \"good\",\n"
    "   \"text\": \"value > 1000 or sensor in ('x1', 'x2')\",\n"
    "   \"to\": \"high\"\n"
    "  },\n"
    "  {\n"
    "   \"expr\": {\n"
    "    \"kind\": \"binary\",\n"
    "    \"left\": {\n"
    "     \"high\": {\n"
    "      \"kind\": \"literal\",\n"
    "      \"type\": \"int64\",\n"
    "      \"value\": \"500\"\n"
    "     },\n"
    "     \"kind\": \"between\",\n"
    "     \"left\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"value\"\n"
    "      ],\n"
    "      \"type\": \"int64\"\n"
    "     },\n"
    "     \"low\": {\n"
    "      \"kind\": \"literal\",\n"
    "      \"type\": \"int64\",\n"
    "      \"value\": \"-50\"\n"
    "     },\n"
    "     \"type\": \"bool\"\n"
    "    },\n"
    "    \"op\": \"and\",\n"
    "    \"right\": {\n"
    "     \"kind\": \"unary\",\n"
    "     \"left\": {\n"
    "      \"kind\": \"like\",\n"
    "      \"left\": {\n"
    "       \"kind\": \"column\",\n"
    "       \"path\": [\n"
    "        \"sensor\"\n"
    "       ],\n"
    "       \"type\": \"string\"\n"
    "      },\n"
    "      \"pattern\": \"test%\",\n"
    "      \"type\": \"bool\"\n"
    "     },\n"
    "     \"op\": \"not\",\n"
    "     \"type\": \"bool\"\n"
    "    },\n"
    "    \"type\": \"bool\"\n"
    "   },\n"
    "   \"node\": \"require\",\n"
    "   \"reason\": \"out_of_range\",\n"
    "   \"stream\": \"good\",\n"
    "   \"text\": \"value between -50 and 500 and not sensor like 'test%'\"\n"
    "  },\n"
    "  {\n"
    "   \"expr\": {\n"
    "    \"kind\": \"binary\",\n"
    "    \"left\": {\n"
    "     \"kind\": \"binary\",\n"
    "     \"left\": {\n"
    "      \"kind\": \"literal\",\n"
    "      \"type\": \"int64\",\n"
    "      \"value\": \"100\"\n"
    "     },\n"
    "     \"op\": \"/\",\n"
    "     \"right\": {\n"
    "      \"kind\": \"binary\",\n"
    "      \"left\": {\n"
    "       \"kind\": \"column\",\n"
    "       \"path\": [\n"
    "        \"value\"\n"
    "       ],\n"
    "       \"type\": \"int64\"\n"
    "      },\n"
    "      \"op\": \"-\",\n"
    "      \"right\": {\n"
    "       \"kind\": \"literal\",\n"
    "       \"type\": \"int64\",\n"
    "       \"value\": \"7\"\n"
    "      },\n"
    "      \"type\": \"int64\"\n"
    "     },\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    \"op\": \"<\",\n"
    "    \"right\": {\n"
    "     \"kind\": \"literal\",\n"
    "     \"type\": \"int64\",\n"
    "     \"value\": \"90\"\n"
    "    },\n"
    "    \"type\": \"bool\"\n"
    "   },\n"
    "   \"node\": \"require\",\n"
    "   \"reason\": \"near_seven\",\n"
    "   \"stream\": \"good\",\n"
    "   \"text\": \"100 / (value - 7) < 90\"\n"
    "  },\n"
    "  {\n"
    "   \"append_revisions\": false,\n"
    "   \"commit_bytes\": 16777216,\n"
    "   \"commit_ms\": 100,\n"
    "   \"exactly_once\": true,\n"
    "   \"format\": \"jsonl\",\n"
    "   \"from\": \"good\",\n"
    "   \"guarantee\": \"exactly once: cut back to the length in the last commit\",\n"
    "   \"key\": [],\n"
    "   \"kind\": \"file\",\n"
    "   \"name\": \"good_rows\",\n"
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
    "    \"readings\",\n"
    "    \"good\"\n"
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
    "     \"name\": \"detail\",\n"
    "     \"nullable\": true,\n"
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
    "     \"name\": \"detail\",\n"
    "     \"nullable\": true,\n"
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
    "       \"detail\"\n"
    "      ],\n"
    "      \"type\": \"string\"\n"
    "     },\n"
    "     \"name\": \"detail\"\n"
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
    "   \"format\": \"jsonl\",\n"
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
    "  },\n"
    "  {\n"
    "   \"columns\": [\n"
    "    {\n"
    "     \"name\": \"sensor\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"kind\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"value\",\n"
    "     \"type\": \"int64\"\n"
    "    }\n"
    "   ],\n"
    "   \"inputs\": [\n"
    "    \"good\"\n"
    "   ],\n"
    "   \"name\": \"high\",\n"
    "   \"node\": \"stream\",\n"
    "   \"role\": \"diverted\",\n"
    "   \"stages\": [\n"
    "    0\n"
    "   ]\n"
    "  },\n"
    "  {\n"
    "   \"append_revisions\": false,\n"
    "   \"commit_bytes\": 16777216,\n"
    "   \"commit_ms\": 100,\n"
    "   \"exactly_once\": true,\n"
    "   \"format\": \"jsonl\",\n"
    "   \"from\": \"high\",\n"
    "   \"guarantee\": \"exactly once: cut back to the length in the last commit\",\n"
    "   \"key\": [],\n"
    "   \"kind\": \"file\",\n"
    "   \"name\": \"high_rows\",\n"
    "   \"node\": \"sink\",\n"
    "   \"order\": [],\n"
    "   \"partition_by\": [],\n"
    "   \"partitions\": 0,\n"
    "   \"rollups\": [],\n"
    "   \"source_key\": false\n"
    "  }\n"
    " ],\n"
    " \"pipeline\": \"filters\",\n"
    " \"stages\": [\n"
    "  {\n"
    "   \"source\": \"readings\",\n"
    "   \"stage\": 0,\n"
    "   \"states\": []\n"
    "  }\n"
    " ]\n"
    "}\n";

static const struct pipe_plan plan = {
    .abi = PIPE_RUNTIME_ABI,
    .name = "filters",
    .hash = "9e019d15dbbbcba4",
    .commit_ms = 100,
    .commit_bytes = 16777216,
    .explain_text = explain_text,
    .plan_json = plan_json,
    .sources = sources,
    .source_count = 1,
    .streams = streams,
    .stream_count = 5,
    .stages = stages,
    .stage_count = 1,
    .sinks = sinks,
    .sink_count = 3,
};

int main(int argc, char **argv)
{
    return pipe_main(&plan, argc, argv);
}
