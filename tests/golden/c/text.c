/* text.c: pipeline text, compiled from text.pipe by pipec. Change that file, not this. */
#include "pipe.h"

#if PIPE_RUNTIME_ABI != 1
#error "this file and libpipe do not fit together: compile the pipeline again"
#endif

/* ----------------------------------------------------------------------------------------------
 * Rows
 * ---------------------------------------------------------------------------------------------- */

struct lines {
    struct pipe_str line;
    int64_t at;
};

struct requests {
    int64_t at;
    struct pipe_str client;
    struct pipe_str request;
    int32_t status;
    int64_t hour;
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
    STREAM_lines,
    STREAM_requests,
    STREAM_refused,
    STREAM_reasons,
};

enum {
    STAGE_lines,
};

enum {
    SINK_request_rows,
    SINK_refusals,
};

/* ----------------------------------------------------------------------------------------------
 * What the runtime knows of the rows
 * ---------------------------------------------------------------------------------------------- */

static const struct pipe_type type_string = {.kind = PIPE_STRING};

static const struct pipe_column lines_columns[] = {
    {"line", &type_string, offsetof(struct lines, line), .null_offset = PIPE_NOT_NULL},
};
static const struct pipe_row_type lines_type = {"lines", lines_columns, 1, sizeof(struct lines)};

static const struct pipe_type type_timestamp_ms = {.kind = PIPE_TIMESTAMP_MS};
static const struct pipe_type type_int32 = {.kind = PIPE_INT32};

static const struct pipe_column requests_columns[] = {
    {"at", &type_timestamp_ms, offsetof(struct requests, at), .null_offset = PIPE_NOT_NULL},
    {"client", &type_string, offsetof(struct requests, client), .null_offset = PIPE_NOT_NULL},
    {"request", &type_string, offsetof(struct requests, request), .null_offset = PIPE_NOT_NULL},
    {"status", &type_int32, offsetof(struct requests, status), .null_offset = PIPE_NOT_NULL},
    {"hour", &type_timestamp_ms, offsetof(struct requests, hour), .null_offset = PIPE_NOT_NULL},
};
static const struct pipe_row_type requests_type = {"requests", requests_columns, 5,
                                                   sizeof(struct requests)};

static const struct pipe_type type_int64 = {.kind = PIPE_INT64};

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
 * Regular expressions
 * ---------------------------------------------------------------------------------------------- */

static struct pipe_regex *regex_1;
static struct pipe_regex *regex_2;
static struct pipe_regex *regex_3;
static struct pipe_regex *regex_4;

/* Compiled once, before the first record; the patterns were checked when this file was made. */
static void start(void)
{
    regex_1 = pipe_regex_compile_str(PIPE_STR("\\d+"), NULL);
    regex_2 = pipe_regex_compile_str(PIPE_STR("\"(GET|POST) "), NULL);
    regex_3 = pipe_regex_compile_str(PIPE_STR("bot"), NULL);
    regex_4 = pipe_regex_compile_str(PIPE_STR("\\[([^\\]]+)\\]"), NULL);
}

/* ----------------------------------------------------------------------------------------------
 * JSON
 * ---------------------------------------------------------------------------------------------- */

static void json_of_requests(struct pipe_buf *buf, const struct requests *row)
{
    PIPE_JSON_RAW(buf, "{\"at\":");
    pipe_json_timestamp_ms(buf, row->at);
    PIPE_JSON_RAW(buf, ",\"client\":");
    pipe_json_string(buf, row->client);
    PIPE_JSON_RAW(buf, ",\"request\":");
    pipe_json_string(buf, row->request);
    PIPE_JSON_RAW(buf, ",\"status\":");
    pipe_json_i64(buf, row->status);
    PIPE_JSON_RAW(buf, ",\"hour\":");
    pipe_json_timestamp_ms(buf, row->hour);
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

static void push_requests(struct pipe_task *task, const struct pipe_record *record,
                          const struct lines *row);
static void push_refused(struct pipe_task *task, const struct pipe_record *record,
                         const struct pipe_reject *row);
static void reject_refused(struct pipe_task *task, const struct pipe_record *record,
                           const char *reason, const char *rule, const char *detail);
static void push_reasons(struct pipe_task *task, const struct pipe_record *record,
                         const struct pipe_reject *row);

/* ---- source lines  (text.pipe:4) ---- */

static void out_lines(struct pipe_task *task, const struct pipe_record *record,
                      const struct lines *row)
{
    task->counters[STREAM_lines].out++;
    push_requests(task, record, row);
}

/* ---- stream requests from lines  (text.pipe:10) ---- */

/* sink request_rows from requests to file 'out/requests.jsonl' format jsonl exactly once
 * (text.pipe:26) */
static void sink_request_rows(struct pipe_task *task, const struct pipe_record *record,
                              const struct requests *row)
{
    if (!pipe_encoded(task, row, (const void *)json_of_requests))
        json_of_requests(&task->value, row);
    pipe_emit(task, SINK_request_rows, record, pipe_str_of(NULL, 0),
              pipe_str_of(task->value.data, task->value.size));
}

static void out_requests(struct pipe_task *task, const struct pipe_record *record,
                         const struct requests *row)
{
    task->counters[STREAM_requests].out++;
    if (!pipe_discards(task)) {
        sink_request_rows(task, record, row);
    }
}

/* split_part(line, ' ', 1) (text.pipe:14) */
static struct pipe_str requests_client(const struct lines *row)
{
    return pipe_fn_split_part(row->line, PIPE_STR(" "), 1);
}

/* regexp_replace(split_part(line, '"', 2), '\d+', '#') (text.pipe:15) */
static struct pipe_str requests_request(struct pipe_arena *arena, const struct lines *row)
{
    return pipe_fn_regexp_replace(arena, regex_1, pipe_fn_split_part(row->line, PIPE_STR("\""), 2),
                                  PIPE_STR("#"));
}

/* cast(split_part(line, ' ', 9) as int32) (text.pipe:16). False: it failed */
static bool requests_status_try_1(const struct lines *row, int32_t *value)
{
    int32_t t1;
    if (!pipe_cast_string_i32(pipe_fn_split_part(row->line, PIPE_STR(" "), 9), &t1))
        return false;

    *value = t1;
    return true;
}

/* try(cast(split_part(line, ' ', 9) as int32), 0) (text.pipe:16) */
static int32_t requests_status(const struct lines *row)
{
    int32_t t1 = 0;
    if (!requests_status_try_1(row, &t1)) {
        t1 = 0;
    }

    return t1;
}

/* date_trunc('hour', at) (text.pipe:17) */
static int64_t requests_hour(const struct lines *row)
{
    return pipe_fn_date_trunc_ms(PIPE_UNIT_HOUR, row->at);
}

/* select at, split_part(line, ' ', 1) as client, regexp_replace(split_part(line, '"', 2), '\d+',
 * '#') as request, try(cast(split_part(line, ' ', 9) as int32), 0) as status, date_trunc('hour',
 * at) as hour (text.pipe:12) */
static void select_requests(struct pipe_task *task, const struct pipe_record *record,
                            const struct lines *row)
{
    struct pipe_counters *count = &task->counters[STREAM_requests];
    struct requests out = {0};

    out.at = row->at;
    out.client = requests_client(row);
    out.request = requests_request(&task->arena, row);
    out.status = requests_status(row);
    out.hour = requests_hour(row);
    count->selected++;
    pipe_new_row(task);
    out_requests(task, record, &out);
}

/* where line matches '"(GET|POST) ' and not line matches 'bot' (text.pipe:11) */
static bool requests_where_1(const struct lines *row)
{
    return pipe_fn_matches(regex_2, row->line) && !pipe_fn_matches(regex_3, row->line);
}

static void push_requests(struct pipe_task *task, const struct pipe_record *record,
                          const struct lines *row)
{
    struct pipe_counters *count = &task->counters[STREAM_requests];

    count->in++;
    if (!requests_where_1(row)) {
        count->dropped++;
        return;
    }
    count->passed++;
    select_requests(task, record, row);
}

/* ---- reject stream refused  (text.pipe:8) ---- */

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

/* ---- stream reasons from refused  (text.pipe:19) ---- */

/* sink refusals from reasons to file 'out/refused.jsonl' format jsonl exactly once
 * (text.pipe:27) */
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

/* select reason, rule, detail, offset (text.pipe:20) */
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

/* ----------------------------------------------------------------------------------------------
 * Records
 * ---------------------------------------------------------------------------------------------- */

/* ---- a record of source lines ---- */

/* parse_timestamp(regexp_extract(line, '\[([^\]]+)\]', 1), '%d/%b/%Y:%H:%M:%S %z')
 * (text.pipe:6). False: it failed */
static bool lines_event_time(const struct lines *row, int64_t *value, bool *null)
{
    struct pipe_str t1 = {0};
    bool t1_null = !pipe_fn_regexp_extract(regex_4, row->line, 1, &t1);
    int64_t t2 = 0;
    bool t2_null = t1_null;
    if (!t2_null && !pipe_fn_parse_timestamp_ms(t1, PIPE_STR("%d/%b/%Y:%H:%M:%S %z"), &t2))
        return false;

    *null = t2_null;
    if (!*null)
        *value = t2;
    return true;
}

static bool refuse_lines(struct pipe_task *task, const struct pipe_record *record,
                         const char *reason, const char *detail)
{
    struct pipe_counters *count = &task->counters[STREAM_lines];

    count->source_rejected++;
    reject_refused(task, record, reason, "lines", detail);
    return false;
}

static bool record_lines(struct pipe_task *task, struct pipe_record *record)
{
    struct pipe_counters *count = &task->counters[STREAM_lines];
    void *decoded;

    count->read++;
    const char *reason = pipe_decode(task, record, &decoded);
    if (reason != NULL)
        return refuse_lines(task, record, reason, task->detail);

    struct lines *row = decoded;

    int64_t event_time = 0;
    bool event_time_null = false;
    if (!lines_event_time(row, &event_time, &event_time_null))
        return refuse_lines(task, record, "event_time_invalid",
                            "parse_timestamp(regexp_extract(line, '\\[([^\\]]+)\\]', 1), '%d/%b/%Y:%H:%M:%S %z') failed");
    if (event_time_null)
        return refuse_lines(task, record, "event_time_invalid",
                            "parse_timestamp(regexp_extract(line, '\\[([^\\]]+)\\]', 1), '%d/%b/%Y:%H:%M:%S %z') is null");
    row->at = event_time;
    record->event_time = PIPE_MS(event_time);
    reason = pipe_judge_time(task, record, record->event_time);
    if (reason != NULL)
        return refuse_lines(task, record, reason, task->detail);

    count->accepted++;
    pipe_new_row(task);
    out_lines(task, record, row);
    return true;
}

/* ----------------------------------------------------------------------------------------------
 * The plan
 * ---------------------------------------------------------------------------------------------- */

static const struct pipe_source_def sources[] = {
    {
        .name = "lines",
        .stream = STREAM_lines,
        .is_kafka = false,
        .target = "access.log",
        .partitions = 0,
        .format = PIPE_FORMAT_TEXT,
        .row = &lines_type,
        .row_bytes = sizeof(struct lines),
        .has_event_time = true,
        .ahead = 0,
        .has_watermark = true,
        .watermark = PIPE_SECONDS(1),
        .idle = 0,
        .stage = STAGE_lines,
    },
};

static const struct pipe_stream_def streams[] = {
    [STREAM_lines] = {.name = "lines", .kind = PIPE_STREAM_SOURCE},
    [STREAM_requests] = {.name = "requests", .kind = PIPE_STREAM_NORMAL,
                         .inputs = (const uint32_t[]){STREAM_lines}, .input_count = 1,
                         .has_filters = true, .has_select = true},
    [STREAM_refused] = {.name = "refused", .kind = PIPE_STREAM_REJECTS,
                        .inputs = (const uint32_t[]){STREAM_lines}, .input_count = 1},
    [STREAM_reasons] = {.name = "reasons", .kind = PIPE_STREAM_NORMAL,
                        .inputs = (const uint32_t[]){STREAM_refused}, .input_count = 1,
                        .has_select = true},
};

static const struct pipe_stage_def stages[] = {
    [STAGE_lines] = {
        .name = "lines",
        .source = 0,
        .exchange = -1,
        .record = record_lines,
    },
};

static const struct pipe_sink_def sinks[] = {
    [SINK_request_rows] = {
        .name = "request_rows",
        .stream = STREAM_requests,
        .kind = PIPE_SINK_FILE,
        .target = "out/requests.jsonl",
        .format = PIPE_FORMAT_JSONL,
        .row = &requests_type,
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
    "text   plan 386bad3a\n"
    "  1 file source lines                    one partition a file; text; event time at, "
    "watermark 1s\n"
    "  2   stream requests                    from lines\n"
    "  3     where                            line matches '\"(GET|POST) ' and not line "
    "matches 'bot'\n"
    "  4     select                           at, split_part(line, ' ', 1) as client, "
    "regexp_replace(split_part(line, '\"', 2), '\\d+', '#') as request, "
    "try(cast(split_part(line, ' ', 9) as int32), 0) as status, date_trunc('hour', at) "
    "as hour\n"
    "  5     file sink request_rows           jsonl; exactly once: cut back to the "
    "length in the last commit\n"
    "  6 rejects refused                      from lines\n"
    "  7   stream reasons                     from refused\n"
    "  8     select                           reason, rule, detail, offset\n"
    "  9     file sink refusals               jsonl; exactly once: cut back to the "
    "length in the last commit\n"
    "\n"
    "stages\n"
    "  0 reads source lines: one task a file\n";

static const char plan_json[] =
    "{\n"
    " \"hash\": \"386bad3acab7fb65\",\n"
    " \"nodes\": [\n"
    "  {\n"
    "   \"ahead_ms\": 0,\n"
    "   \"columns\": [\n"
    "    {\n"
    "     \"name\": \"line\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"at\",\n"
    "     \"type\": \"timestamp_ms\"\n"
    "    }\n"
    "   ],\n"
    "   \"drop_tombstones\": false,\n"
    "   \"event_time\": {\n"
    "    \"args\": [\n"
    "     {\n"
    "      \"args\": [\n"
    "       {\n"
    "        \"kind\": \"column\",\n"
    "        \"path\": [\n"
    "         \"line\"\n"
    "        ],\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"kind\": \"literal\",\n"
    "        \"type\": \"string\",\n"
    "        \"value\": \"\\\\[([^\\\\]]+)\\\\]\"\n"
    "       },\n"
    "       {\n"
    "        \"kind\": \"literal\",\n"
    "        \"type\": \"int64\",\n"
    "        \"value\": \"1\"\n"
    "       }\n"
    "      ],\n"
    "      \"function\": \"regexp_extract\",\n"
    "      \"kind\": \"call\",\n"
    "      \"nullable\": true,\n"
    "      \"type\": \"string\"\n"
    "     },\n"
    "     {\n"
    "      \"kind\": \"literal\",\n"
    "      \"type\": \"string\",\n"
    "      \"value\": \"%d/%b/%Y:%H:%M:%S %z\"\n"
    "     }\n"
    "    ],\n"
    "    \"function\": \"parse_timestamp\",\n"
    "    \"kind\": \"call\",\n"
    "    \"nullable\": true,\n"
    "    \"type\": \"timestamp_ms\"\n"
    "   },\n"
    "   \"event_time_column\": \"at\",\n"
    "   \"format\": \"text\",\n"
    "   \"header\": false,\n"
    "   \"idle_advance\": false,\n"
    "   \"idle_ms\": 0,\n"
    "   \"key\": [],\n"
    "   \"name\": \"lines\",\n"
    "   \"node\": \"source\",\n"
    "   \"partitions\": 0,\n"
    "   \"payload\": [\n"
    "    {\n"
    "     \"name\": \"line\",\n"
    "     \"type\": \"string\"\n"
    "    }\n"
    "   ],\n"
    "   \"rejects\": \"refused\",\n"
    "   \"transport\": \"file\",\n"
    "   \"watermark_ms\": 1000\n"
    "  },\n"
    "  {\n"
    "   \"columns\": [\n"
    "    {\n"
    "     \"name\": \"at\",\n"
    "     \"type\": \"timestamp_ms\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"client\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"request\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"status\",\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"hour\",\n"
    "     \"type\": \"timestamp_ms\"\n"
    "    }\n"
    "   ],\n"
    "   \"inputs\": [\n"
    "    \"lines\"\n"
    "   ],\n"
    "   \"name\": \"requests\",\n"
    "   \"node\": \"stream\",\n"
    "   \"role\": \"stream\",\n"
    "   \"stages\": [\n"
    "    0\n"
    "   ]\n"
    "  },\n"
    "  {\n"
    "   \"expr\": {\n"
    "    \"kind\": \"binary\",\n"
    "    \"left\": {\n"
    "     \"kind\": \"matches\",\n"
    "     \"left\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"line\"\n"
    "      ],\n"
    "      \"type\": \"string\"\n"
    "     },\n"
    "     \"pattern\": \"\\\"(GET|POST) \",\n"
    "     \"type\": \"bool\"\n"
    "    },\n"
    "    \"op\": \"and\",\n"
    "    \"right\": {\n"
    "     \"kind\": \"unary\",\n"
    "     \"left\": {\n"
    "      \"kind\": \"matches\",\n"
    "      \"left\": {\n"
    "       \"kind\": \"column\",\n"
    "       \"path\": [\n"
    "        \"line\"\n"
    "       ],\n"
    "       \"type\": \"string\"\n"
    "      },\n"
    "      \"pattern\": \"bot\",\n"
    "      \"type\": \"bool\"\n"
    "     },\n"
    "     \"op\": \"not\",\n"
    "     \"type\": \"bool\"\n"
    "    },\n"
    "    \"type\": \"bool\"\n"
    "   },\n"
    "   \"node\": \"where\",\n"
    "   \"stream\": \"requests\",\n"
    "   \"text\": \"line matches '\\\"(GET|POST) ' and not line matches 'bot'\"\n"
    "  },\n"
    "  {\n"
    "   \"columns\": [\n"
    "    {\n"
    "     \"name\": \"at\",\n"
    "     \"type\": \"timestamp_ms\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"client\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"request\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"status\",\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"hour\",\n"
    "     \"type\": \"timestamp_ms\"\n"
    "    }\n"
    "   ],\n"
    "   \"items\": [\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"at\"\n"
    "      ],\n"
    "      \"type\": \"timestamp_ms\"\n"
    "     },\n"
    "     \"name\": \"at\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"args\": [\n"
    "       {\n"
    "        \"kind\": \"column\",\n"
    "        \"path\": [\n"
    "         \"line\"\n"
    "        ],\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"kind\": \"literal\",\n"
    "        \"type\": \"string\",\n"
    "        \"value\": \" \"\n"
    "       },\n"
    "       {\n"
    "        \"kind\": \"literal\",\n"
    "        \"type\": \"int64\",\n"
    "        \"value\": \"1\"\n"
    "       }\n"
    "      ],\n"
    "      \"function\": \"split_part\",\n"
    "      \"kind\": \"call\",\n"
    "      \"type\": \"string\"\n"
    "     },\n"
    "     \"name\": \"client\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"args\": [\n"
    "       {\n"
    "        \"args\": [\n"
    "         {\n"
    "          \"kind\": \"column\",\n"
    "          \"path\": [\n"
    "           \"line\"\n"
    "          ],\n"
    "          \"type\": \"string\"\n"
    "         },\n"
    "         {\n"
    "          \"kind\": \"literal\",\n"
    "          \"type\": \"string\",\n"
    "          \"value\": \"\\\"\"\n"
    "         },\n"
    "         {\n"
    "          \"kind\": \"literal\",\n"
    "          \"type\": \"int64\",\n"
    "          \"value\": \"2\"\n"
    "         }\n"
    "        ],\n"
    "        \"function\": \"split_part\",\n"
    "        \"kind\": \"call\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"kind\": \"literal\",\n"
    "        \"type\": \"string\",\n"
    "        \"value\": \"\\\\d+\"\n"
    "       },\n"
    "       {\n"
    "        \"kind\": \"literal\",\n"
    "        \"type\": \"string\",\n"
    "        \"value\": \"#\"\n"
    "       }\n"
    "      ],\n"
    "      \"function\": \"regexp_replace\",\n"
    "      \"kind\": \"call\",\n"
    "      \"type\": \"string\"\n"
    "     },\n"
    "     \"name\": \"request\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"kind\": \"try\",\n"
    "      \"left\": {\n"
    "       \"kind\": \"cast\",\n"
    "       \"left\": {\n"
    "        \"args\": [\n"
    "         {\n"
    "          \"kind\": \"column\",\n"
    "          \"path\": [\n"
    "           \"line\"\n"
    "          ],\n"
    "          \"type\": \"string\"\n"
    "         },\n"
    "         {\n"
    "          \"kind\": \"literal\",\n"
    "          \"type\": \"string\",\n"
    "          \"value\": \" \"\n"
    "         },\n"
    "         {\n"
    "          \"kind\": \"literal\",\n"
    "          \"type\": \"int64\",\n"
    "          \"value\": \"9\"\n"
    "         }\n"
    "        ],\n"
    "        \"function\": \"split_part\",\n"
    "        \"kind\": \"call\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       \"type\": \"int32\"\n"
    "      },\n"
    "      \"right\": {\n"
    "       \"kind\": \"literal\",\n"
    "       \"type\": \"int32\",\n"
    "       \"value\": \"0\"\n"
    "      },\n"
    "      \"type\": \"int32\"\n"
    "     },\n"
    "     \"name\": \"status\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"args\": [\n"
    "       {\n"
    "        \"kind\": \"literal\",\n"
    "        \"type\": \"string\",\n"
    "        \"value\": \"hour\"\n"
    "       },\n"
    "       {\n"
    "        \"kind\": \"column\",\n"
    "        \"path\": [\n"
    "         \"at\"\n"
    "        ],\n"
    "        \"type\": \"timestamp_ms\"\n"
    "       }\n"
    "      ],\n"
    "      \"function\": \"date_trunc\",\n"
    "      \"kind\": \"call\",\n"
    "      \"type\": \"timestamp_ms\"\n"
    "     },\n"
    "     \"name\": \"hour\"\n"
    "    }\n"
    "   ],\n"
    "   \"node\": \"select\",\n"
    "   \"stream\": \"requests\"\n"
    "  },\n"
    "  {\n"
    "   \"append_revisions\": false,\n"
    "   \"commit_bytes\": 16777216,\n"
    "   \"commit_ms\": 100,\n"
    "   \"exactly_once\": true,\n"
    "   \"format\": \"jsonl\",\n"
    "   \"from\": \"requests\",\n"
    "   \"guarantee\": \"exactly once: cut back to the length in the last commit\",\n"
    "   \"key\": [],\n"
    "   \"kind\": \"file\",\n"
    "   \"name\": \"request_rows\",\n"
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
    "    \"lines\"\n"
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
    "  }\n"
    " ],\n"
    " \"pipeline\": \"text\",\n"
    " \"stages\": [\n"
    "  {\n"
    "   \"source\": \"lines\",\n"
    "   \"stage\": 0,\n"
    "   \"states\": []\n"
    "  }\n"
    " ]\n"
    "}\n";

static const struct pipe_plan plan = {
    .abi = PIPE_RUNTIME_ABI,
    .name = "text",
    .hash = "386bad3acab7fb65",
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
    .start = start,
};

int main(int argc, char **argv)
{
    return pipe_main(&plan, argc, argv);
}
