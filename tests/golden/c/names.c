/* names.c: pipeline names, compiled from names.pipe by pipec. Change that file, not this. */
#include "pipe.h"

#if PIPE_RUNTIME_ABI != 1
#error "this file and libpipe do not fit together: compile the pipeline again"
#endif

/* ----------------------------------------------------------------------------------------------
 * Rows
 * ---------------------------------------------------------------------------------------------- */

struct int_ {
    int32_t double_; /* "double" */
    struct pipe_str gr____e_in_m; /* "größe in m" */
    struct pipe_str linux_; /* "linux" */
    struct pipe_str task;
    struct pipe_str row;
};

struct for_ {
    int32_t double_; /* "double" */
    struct pipe_str gr____e_in_m; /* "größe in m" */
    struct pipe_str linux_; /* "linux" */
    struct pipe_str task;
    struct pipe_str row;
    struct pipe_str record;
    struct pipe_str gr____e_in_m_2; /* "größe_in_m" */
};

struct do_ {
    struct pipe_str reason;
    struct pipe_str detail;
    bool detail_null;
};

/* ----------------------------------------------------------------------------------------------
 * Indexes in the tables below
 * ---------------------------------------------------------------------------------------------- */

enum {
    STREAM_int_,
    STREAM_for_,
    STREAM_c____,
    STREAM_do_,
};

enum {
    STAGE_int_,
};

enum {
    SINK_main,
    SINK_errno_,
};

/* ----------------------------------------------------------------------------------------------
 * What the runtime knows of the rows
 * ---------------------------------------------------------------------------------------------- */

static const struct pipe_type type_int32 = {.kind = PIPE_INT32};
static const struct pipe_type type_string = {.kind = PIPE_STRING};

static const struct pipe_column int__columns[] = {
    {"double", &type_int32, offsetof(struct int_, double_), .null_offset = PIPE_NOT_NULL},
    {"größe in m", &type_string, offsetof(struct int_, gr____e_in_m),
     .null_offset = PIPE_NOT_NULL},
    {"linux", &type_string, offsetof(struct int_, linux_), .null_offset = PIPE_NOT_NULL},
    {"task", &type_string, offsetof(struct int_, task), .null_offset = PIPE_NOT_NULL},
    {"row", &type_string, offsetof(struct int_, row), .null_offset = PIPE_NOT_NULL},
};
static const struct pipe_row_type int__type = {"int", int__columns, 5, sizeof(struct int_)};


static const struct pipe_column for__columns[] = {
    {"double", &type_int32, offsetof(struct for_, double_), .null_offset = PIPE_NOT_NULL},
    {"größe in m", &type_string, offsetof(struct for_, gr____e_in_m),
     .null_offset = PIPE_NOT_NULL},
    {"linux", &type_string, offsetof(struct for_, linux_), .null_offset = PIPE_NOT_NULL},
    {"task", &type_string, offsetof(struct for_, task), .null_offset = PIPE_NOT_NULL},
    {"row", &type_string, offsetof(struct for_, row), .null_offset = PIPE_NOT_NULL},
    {"record", &type_string, offsetof(struct for_, record), .null_offset = PIPE_NOT_NULL},
    {"größe_in_m", &type_string, offsetof(struct for_, gr____e_in_m_2),
     .null_offset = PIPE_NOT_NULL},
};
static const struct pipe_row_type for__type = {"for", for__columns, 7, sizeof(struct for_)};


static const struct pipe_column do__columns[] = {
    {"reason", &type_string, offsetof(struct do_, reason), .null_offset = PIPE_NOT_NULL},
    {"detail", &type_string, offsetof(struct do_, detail),
     .null_offset = offsetof(struct do_, detail_null), .null_first = false},
};
static const struct pipe_row_type do__type = {"do", do__columns, 2, sizeof(struct do_)};

/* ----------------------------------------------------------------------------------------------
 * JSON
 * ---------------------------------------------------------------------------------------------- */

static void json_of_for_(struct pipe_buf *buf, const struct for_ *row)
{
    PIPE_JSON_RAW(buf, "{\"double\":");
    pipe_json_i64(buf, row->double_);
    PIPE_JSON_RAW(buf, ",\"größe in m\":");
    pipe_json_string(buf, row->gr____e_in_m);
    PIPE_JSON_RAW(buf, ",\"linux\":");
    pipe_json_string(buf, row->linux_);
    PIPE_JSON_RAW(buf, ",\"task\":");
    pipe_json_string(buf, row->task);
    PIPE_JSON_RAW(buf, ",\"row\":");
    pipe_json_string(buf, row->row);
    PIPE_JSON_RAW(buf, ",\"record\":");
    pipe_json_string(buf, row->record);
    PIPE_JSON_RAW(buf, ",\"größe_in_m\":");
    pipe_json_string(buf, row->gr____e_in_m_2);
    PIPE_JSON_RAW(buf, "}");
}

static void json_of_do_(struct pipe_buf *buf, const struct do_ *row)
{
    PIPE_JSON_RAW(buf, "{\"reason\":");
    pipe_json_string(buf, row->reason);
    PIPE_JSON_RAW(buf, ",\"detail\":");
    if (row->detail_null)
        pipe_json_null(buf);
    else
        pipe_json_string(buf, row->detail);
    PIPE_JSON_RAW(buf, "}");
}

/* ----------------------------------------------------------------------------------------------
 * Streams, in the order of the data
 * ---------------------------------------------------------------------------------------------- */

static void push_for_(struct pipe_task *task, const struct pipe_record *record,
                      const struct int_ *row);
static void push_c____(struct pipe_task *task, const struct pipe_record *record,
                       const struct pipe_reject *row);
static void reject_c____(struct pipe_task *task, const struct pipe_record *record,
                         const char *reason, const char *rule, const char *detail);
static void push_do_(struct pipe_task *task, const struct pipe_record *record,
                     const struct pipe_reject *row);

/* ---- source int  (names.pipe:4) ---- */

static void out_int_(struct pipe_task *task, const struct pipe_record *record,
                     const struct int_ *row)
{
    task->counters[STREAM_int_].out++;
    push_for_(task, record, row);
}

/* ---- stream for from int  (names.pipe:9) ---- */

/* sink main from for to file 'out/for.jsonl' format jsonl exactly once (names.pipe:22) */
static void sink_main(struct pipe_task *task, const struct pipe_record *record,
                      const struct for_ *row)
{
    if (!pipe_encoded(task, row, (const void *)json_of_for_))
        json_of_for_(&task->value, row);
    pipe_emit(task, SINK_main, record, pipe_str_of(NULL, 0),
              pipe_str_of(task->value.data, task->value.size));
}

static void out_for_(struct pipe_task *task, const struct pipe_record *record,
                     const struct for_ *row)
{
    task->counters[STREAM_for_].out++;
    if (!pipe_discards(task)) {
        sink_main(task, record, row);
    }
}

/* "größe in m" || task (names.pipe:13) */
static struct pipe_str for__record(struct pipe_arena *arena, const struct int_ *row)
{
    return pipe_fn_concat2(arena, row->gr____e_in_m, row->task);
}

/* select *, "größe in m" || task as record, row as "größe_in_m" (names.pipe:11) */
static void select_for_(struct pipe_task *task, const struct pipe_record *record,
                        const struct int_ *row)
{
    struct pipe_counters *count = &task->counters[STREAM_for_];
    struct for_ out = {0};

    out.double_ = row->double_;
    out.gr____e_in_m = row->gr____e_in_m;
    out.linux_ = row->linux_;
    out.task = row->task;
    out.row = row->row;
    out.record = for__record(&task->arena, row);
    out.gr____e_in_m_2 = row->row;
    count->selected++;
    pipe_new_row(task);
    out_for_(task, record, &out);
}

/* require "double" > 0 else '* / / * ? ?/ "' (names.pipe:10) */
static bool for__require_1(const struct int_ *row)
{
    return row->double_ > 0;
}

static void push_for_(struct pipe_task *task, const struct pipe_record *record,
                      const struct int_ *row)
{
    struct pipe_counters *count = &task->counters[STREAM_for_];

    count->in++;
    if (!for__require_1(row)) {
        count->rejected++;
        reject_c____(task, record, "*/ /* ?\?/ \"", "for", NULL);
        return;
    }
    count->passed++;
    select_for_(task, record, row);
}

/* ---- reject stream * /  (names.pipe:7) ---- */

static void out_c____(struct pipe_task *task, const struct pipe_record *record,
                      const struct pipe_reject *row)
{
    task->counters[STREAM_c____].out++;
    push_do_(task, record, row);
}

static void push_c____(struct pipe_task *task, const struct pipe_record *record,
                       const struct pipe_reject *row)
{
    struct pipe_counters *count = &task->counters[STREAM_c____];

    count->in++;
    count->passed++;
    out_c____(task, record, row);
}

static void reject_c____(struct pipe_task *task, const struct pipe_record *record,
                         const char *reason, const char *rule, const char *detail)
{
    struct pipe_reject row;

    pipe_reject_fill(&row, record, reason, rule, detail);
    pipe_new_row(task);
    push_c____(task, record, &row);
}

/* ---- stream do from * /  (names.pipe:17) ---- */

/* sink errno from do to file 'out/while.jsonl' format jsonl exactly once (names.pipe:23) */
static void sink_errno_(struct pipe_task *task, const struct pipe_record *record,
                        const struct do_ *row)
{
    if (!pipe_encoded(task, row, (const void *)json_of_do_))
        json_of_do_(&task->value, row);
    pipe_emit(task, SINK_errno_, record, pipe_str_of(NULL, 0),
              pipe_str_of(task->value.data, task->value.size));
}

static void out_do_(struct pipe_task *task, const struct pipe_record *record, const struct do_ *row)
{
    task->counters[STREAM_do_].out++;
    if (!pipe_discards(task)) {
        sink_errno_(task, record, row);
    }
}

/* select reason, detail (names.pipe:18) */
static void select_do_(struct pipe_task *task, const struct pipe_record *record,
                       const struct pipe_reject *row)
{
    struct pipe_counters *count = &task->counters[STREAM_do_];
    struct do_ out = {0};

    out.reason = row->reason;
    out.detail = row->detail;
    out.detail_null = row->detail_null;
    count->selected++;
    pipe_new_row(task);
    out_do_(task, record, &out);
}

static void push_do_(struct pipe_task *task, const struct pipe_record *record,
                     const struct pipe_reject *row)
{
    struct pipe_counters *count = &task->counters[STREAM_do_];

    count->in++;
    count->passed++;
    select_do_(task, record, row);
}

/* ----------------------------------------------------------------------------------------------
 * Records
 * ---------------------------------------------------------------------------------------------- */

/* ---- a record of source int ---- */

static bool refuse_int_(struct pipe_task *task, const struct pipe_record *record,
                        const char *reason, const char *detail)
{
    struct pipe_counters *count = &task->counters[STREAM_int_];

    count->source_rejected++;
    reject_c____(task, record, reason, "int", detail);
    return false;
}

static bool record_int_(struct pipe_task *task, struct pipe_record *record)
{
    struct pipe_counters *count = &task->counters[STREAM_int_];
    void *decoded;

    count->read++;
    const char *reason = pipe_decode(task, record, &decoded);
    if (reason != NULL)
        return refuse_int_(task, record, reason, task->detail);

    const struct int_ *row = decoded;

    record->event_time = PIPE_TIME_MIN;

    count->accepted++;
    pipe_new_row(task);
    out_int_(task, record, row);
    return true;
}

/* ----------------------------------------------------------------------------------------------
 * The plan
 * ---------------------------------------------------------------------------------------------- */

static const struct pipe_source_def sources[] = {
    {
        .name = "int",
        .stream = STREAM_int_,
        .is_kafka = false,
        .target = "int.csv",
        .partitions = 0,
        .format = PIPE_FORMAT_CSV,
        .header = true,
        .row = &int__type,
        .row_bytes = sizeof(struct int_),
        .stage = STAGE_int_,
    },
};

static const struct pipe_stream_def streams[] = {
    [STREAM_int_] = {.name = "int", .kind = PIPE_STREAM_SOURCE},
    [STREAM_for_] = {.name = "for", .kind = PIPE_STREAM_NORMAL,
                     .inputs = (const uint32_t[]){STREAM_int_}, .input_count = 1,
                     .has_filters = true, .has_select = true},
    [STREAM_c____] = {.name = "*/", .kind = PIPE_STREAM_REJECTS,
                      .inputs = (const uint32_t[]){STREAM_int_, STREAM_for_}, .input_count = 2},
    [STREAM_do_] = {.name = "do", .kind = PIPE_STREAM_NORMAL,
                    .inputs = (const uint32_t[]){STREAM_c____}, .input_count = 1,
                    .has_select = true},
};

static const struct pipe_stage_def stages[] = {
    [STAGE_int_] = {
        .name = "int",
        .source = 0,
        .exchange = -1,
        .record = record_int_,
    },
};

static const struct pipe_sink_def sinks[] = {
    [SINK_main] = {
        .name = "main",
        .stream = STREAM_for_,
        .kind = PIPE_SINK_FILE,
        .target = "out/for.jsonl",
        .format = PIPE_FORMAT_JSONL,
        .row = &for__type,
        .exactly_once = true,
    },
    [SINK_errno_] = {
        .name = "errno",
        .stream = STREAM_do_,
        .kind = PIPE_SINK_FILE,
        .target = "out/while.jsonl",
        .format = PIPE_FORMAT_JSONL,
        .row = &do__type,
        .exactly_once = true,
    },
};

static const char explain_text[] =
    "names   plan 5902df41\n"
    "  1 file source int                      one partition a file; csv\n"
    "  2   stream for                         from int\n"
    "  3     require                          double > 0  else */ /* ?\?/ \"\n"
    "  4     select                           double, \"größe in m\" as größe in m, "
    "linux, task, row, \"größe in m\" || task as record, row as größe_in_m\n"
    "  5     file sink main                   jsonl; exactly once: cut back to the "
    "length in the last commit\n"
    "  6 rejects */                           from int, for\n"
    "  7   stream do                          from */\n"
    "  8     select                           reason, detail\n"
    "  9     file sink errno                  jsonl; exactly once: cut back to the "
    "length in the last commit\n"
    "\n"
    "stages\n"
    "  0 reads source int: one task a file\n";

static const char plan_json[] =
    "{\n"
    " \"hash\": \"5902df41d52ad992\",\n"
    " \"nodes\": [\n"
    "  {\n"
    "   \"ahead_ms\": 0,\n"
    "   \"columns\": [\n"
    "    {\n"
    "     \"name\": \"double\",\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"größe in m\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"linux\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"task\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"row\",\n"
    "     \"type\": \"string\"\n"
    "    }\n"
    "   ],\n"
    "   \"drop_tombstones\": false,\n"
    "   \"format\": \"csv\",\n"
    "   \"header\": true,\n"
    "   \"idle_advance\": false,\n"
    "   \"idle_ms\": 0,\n"
    "   \"key\": [],\n"
    "   \"name\": \"int\",\n"
    "   \"node\": \"source\",\n"
    "   \"partitions\": 0,\n"
    "   \"payload\": [\n"
    "    {\n"
    "     \"name\": \"double\",\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"größe in m\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"linux\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"task\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"row\",\n"
    "     \"type\": \"string\"\n"
    "    }\n"
    "   ],\n"
    "   \"rejects\": \"*/\",\n"
    "   \"transport\": \"file\",\n"
    "   \"watermark_ms\": -1\n"
    "  },\n"
    "  {\n"
    "   \"columns\": [\n"
    "    {\n"
    "     \"name\": \"double\",\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"größe in m\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"linux\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"task\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"row\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"record\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"größe_in_m\",\n"
    "     \"type\": \"string\"\n"
    "    }\n"
    "   ],\n"
    "   \"inputs\": [\n"
    "    \"int\"\n"
    "   ],\n"
    "   \"name\": \"for\",\n"
    "   \"node\": \"stream\",\n"
    "   \"rejects\": \"*/\",\n"
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
    "      \"double\"\n"
    "     ],\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    \"op\": \">\",\n"
    "    \"right\": {\n"
    "     \"kind\": \"literal\",\n"
    "     \"type\": \"int32\",\n"
    "     \"value\": \"0\"\n"
    "    },\n"
    "    \"type\": \"bool\"\n"
    "   },\n"
    "   \"node\": \"require\",\n"
    "   \"reason\": \"*/ /* ?\?/ \\\"\",\n"
    "   \"stream\": \"for\",\n"
    "   \"text\": \"double > 0\"\n"
    "  },\n"
    "  {\n"
    "   \"columns\": [\n"
    "    {\n"
    "     \"name\": \"double\",\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"größe in m\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"linux\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"task\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"row\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"record\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"größe_in_m\",\n"
    "     \"type\": \"string\"\n"
    "    }\n"
    "   ],\n"
    "   \"items\": [\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"double\"\n"
    "      ],\n"
    "      \"type\": \"int32\"\n"
    "     },\n"
    "     \"name\": \"double\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"größe in m\"\n"
    "      ],\n"
    "      \"type\": \"string\"\n"
    "     },\n"
    "     \"name\": \"größe in m\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"linux\"\n"
    "      ],\n"
    "      \"type\": \"string\"\n"
    "     },\n"
    "     \"name\": \"linux\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"task\"\n"
    "      ],\n"
    "      \"type\": \"string\"\n"
    "     },\n"
    "     \"name\": \"task\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"row\"\n"
    "      ],\n"
    "      \"type\": \"string\"\n"
    "     },\n"
    "     \"name\": \"row\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"kind\": \"binary\",\n"
    "      \"left\": {\n"
    "       \"kind\": \"column\",\n"
    "       \"path\": [\n"
    "        \"größe in m\"\n"
    "       ],\n"
    "       \"type\": \"string\"\n"
    "      },\n"
    "      \"op\": \"||\",\n"
    "      \"right\": {\n"
    "       \"kind\": \"column\",\n"
    "       \"path\": [\n"
    "        \"task\"\n"
    "       ],\n"
    "       \"type\": \"string\"\n"
    "      },\n"
    "      \"type\": \"string\"\n"
    "     },\n"
    "     \"name\": \"record\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"row\"\n"
    "      ],\n"
    "      \"type\": \"string\"\n"
    "     },\n"
    "     \"name\": \"größe_in_m\"\n"
    "    }\n"
    "   ],\n"
    "   \"node\": \"select\",\n"
    "   \"stream\": \"for\"\n"
    "  },\n"
    "  {\n"
    "   \"append_revisions\": false,\n"
    "   \"commit_bytes\": 16777216,\n"
    "   \"commit_ms\": 100,\n"
    "   \"exactly_once\": true,\n"
    "   \"format\": \"jsonl\",\n"
    "   \"from\": \"for\",\n"
    "   \"guarantee\": \"exactly once: cut back to the length in the last commit\",\n"
    "   \"key\": [],\n"
    "   \"kind\": \"file\",\n"
    "   \"name\": \"main\",\n"
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
    "    \"int\",\n"
    "    \"for\"\n"
    "   ],\n"
    "   \"name\": \"*/\",\n"
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
    "    \"*/\"\n"
    "   ],\n"
    "   \"name\": \"do\",\n"
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
    "   \"stream\": \"do\"\n"
    "  },\n"
    "  {\n"
    "   \"append_revisions\": false,\n"
    "   \"commit_bytes\": 16777216,\n"
    "   \"commit_ms\": 100,\n"
    "   \"exactly_once\": true,\n"
    "   \"format\": \"jsonl\",\n"
    "   \"from\": \"do\",\n"
    "   \"guarantee\": \"exactly once: cut back to the length in the last commit\",\n"
    "   \"key\": [],\n"
    "   \"kind\": \"file\",\n"
    "   \"name\": \"errno\",\n"
    "   \"node\": \"sink\",\n"
    "   \"order\": [],\n"
    "   \"partition_by\": [],\n"
    "   \"partitions\": 0,\n"
    "   \"rollups\": [],\n"
    "   \"source_key\": false\n"
    "  }\n"
    " ],\n"
    " \"pipeline\": \"names\",\n"
    " \"stages\": [\n"
    "  {\n"
    "   \"source\": \"int\",\n"
    "   \"stage\": 0,\n"
    "   \"states\": []\n"
    "  }\n"
    " ]\n"
    "}\n";

static const struct pipe_plan plan = {
    .abi = PIPE_RUNTIME_ABI,
    .name = "names",
    .hash = "5902df41d52ad992",
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
