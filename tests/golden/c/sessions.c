/* sessions.c: pipeline sessions, compiled from sessions.pipe by pipec. Change that file, not
 * this. */
#include "pipe.h"

#if PIPE_RUNTIME_ABI != 1
#error "this file and libpipe do not fit together: compile the pipeline again"
#endif

/* ----------------------------------------------------------------------------------------------
 * Rows
 * ---------------------------------------------------------------------------------------------- */

struct clicks {
    struct pipe_str visitor;
    struct pipe_str page;
    int64_t at;
};

struct visits {
    int64_t window_start;
    int64_t window_end;
    struct pipe_str visitor;
    int64_t pages;
    struct pipe_str entry;
    struct pipe_str leave;
    int64_t began;
};

struct reasons {
    struct pipe_str reason;
    struct pipe_str rule;
    int64_t offset;
    bool offset_null;
};

struct late_clicks {
    struct pipe_str visitor;
    struct pipe_str page;
    int64_t at;
    struct pipe_str late_for;
    int64_t window_end;
    int64_t watermark;
};

/* ----------------------------------------------------------------------------------------------
 * Indexes in the tables below
 * ---------------------------------------------------------------------------------------------- */

enum {
    STREAM_clicks,
    STREAM_visits,
    STREAM_refused,
    STREAM_reasons,
    STREAM_late_clicks,
};

enum {
    STAGE_clicks,
};

enum {
    SINK_visit_rows,
    SINK_late_rows,
    SINK_refusals,
};

enum { STATE_visits = 0 };

/* ----------------------------------------------------------------------------------------------
 * What the runtime knows of the rows
 * ---------------------------------------------------------------------------------------------- */

static const struct pipe_type type_string = {.kind = PIPE_STRING};
static const struct pipe_type type_timestamp_ms = {.kind = PIPE_TIMESTAMP_MS};

static const struct pipe_column clicks_columns[] = {
    {"visitor", &type_string, offsetof(struct clicks, visitor), .null_offset = PIPE_NOT_NULL},
    {"page", &type_string, offsetof(struct clicks, page), .null_offset = PIPE_NOT_NULL},
    {"at", &type_timestamp_ms, offsetof(struct clicks, at), .null_offset = PIPE_NOT_NULL},
};
static const struct pipe_row_type clicks_type = {"clicks", clicks_columns, 3,
                                                 sizeof(struct clicks)};

static const struct pipe_type type_int64 = {.kind = PIPE_INT64};

static const struct pipe_column visits_columns[] = {
    {"window_start", &type_timestamp_ms, offsetof(struct visits, window_start),
     .null_offset = PIPE_NOT_NULL},
    {"window_end", &type_timestamp_ms, offsetof(struct visits, window_end),
     .null_offset = PIPE_NOT_NULL},
    {"visitor", &type_string, offsetof(struct visits, visitor), .null_offset = PIPE_NOT_NULL},
    {"pages", &type_int64, offsetof(struct visits, pages), .null_offset = PIPE_NOT_NULL},
    {"entry", &type_string, offsetof(struct visits, entry), .null_offset = PIPE_NOT_NULL},
    {"leave", &type_string, offsetof(struct visits, leave), .null_offset = PIPE_NOT_NULL},
    {"began", &type_timestamp_ms, offsetof(struct visits, began), .null_offset = PIPE_NOT_NULL},
};
static const struct pipe_row_type visits_type = {"visits", visits_columns, 7,
                                                 sizeof(struct visits)};


static const struct pipe_column late_clicks_columns[] = {
    {"visitor", &type_string, offsetof(struct late_clicks, visitor), .null_offset = PIPE_NOT_NULL},
    {"page", &type_string, offsetof(struct late_clicks, page), .null_offset = PIPE_NOT_NULL},
    {"at", &type_timestamp_ms, offsetof(struct late_clicks, at), .null_offset = PIPE_NOT_NULL},
    {"late_for", &type_string, offsetof(struct late_clicks, late_for),
     .null_offset = PIPE_NOT_NULL},
    {"window_end", &type_timestamp_ms, offsetof(struct late_clicks, window_end),
     .null_offset = PIPE_NOT_NULL},
    {"watermark", &type_timestamp_ms, offsetof(struct late_clicks, watermark),
     .null_offset = PIPE_NOT_NULL},
};
static const struct pipe_row_type late_clicks_type = {"late_clicks", late_clicks_columns, 6,
                                                      sizeof(struct late_clicks)};


static const struct pipe_column reasons_columns[] = {
    {"reason", &type_string, offsetof(struct reasons, reason), .null_offset = PIPE_NOT_NULL},
    {"rule", &type_string, offsetof(struct reasons, rule), .null_offset = PIPE_NOT_NULL},
    {"offset", &type_int64, offsetof(struct reasons, offset),
     .null_offset = offsetof(struct reasons, offset_null), .null_first = false},
};
static const struct pipe_row_type reasons_type = {"reasons", reasons_columns, 3,
                                                  sizeof(struct reasons)};

/* ----------------------------------------------------------------------------------------------
 * JSON
 * ---------------------------------------------------------------------------------------------- */

static void json_of_visits(struct pipe_buf *buf, const struct visits *row)
{
    PIPE_JSON_RAW(buf, "{\"window_start\":");
    pipe_json_timestamp_ms(buf, row->window_start);
    PIPE_JSON_RAW(buf, ",\"window_end\":");
    pipe_json_timestamp_ms(buf, row->window_end);
    PIPE_JSON_RAW(buf, ",\"visitor\":");
    pipe_json_string(buf, row->visitor);
    PIPE_JSON_RAW(buf, ",\"pages\":");
    pipe_json_i64(buf, row->pages);
    PIPE_JSON_RAW(buf, ",\"entry\":");
    pipe_json_string(buf, row->entry);
    PIPE_JSON_RAW(buf, ",\"leave\":");
    pipe_json_string(buf, row->leave);
    PIPE_JSON_RAW(buf, ",\"began\":");
    pipe_json_timestamp_ms(buf, row->began);
    PIPE_JSON_RAW(buf, "}");
}

static void json_of_late_clicks(struct pipe_buf *buf, const struct late_clicks *row)
{
    PIPE_JSON_RAW(buf, "{\"visitor\":");
    pipe_json_string(buf, row->visitor);
    PIPE_JSON_RAW(buf, ",\"page\":");
    pipe_json_string(buf, row->page);
    PIPE_JSON_RAW(buf, ",\"at\":");
    pipe_json_timestamp_ms(buf, row->at);
    PIPE_JSON_RAW(buf, ",\"late_for\":");
    pipe_json_string(buf, row->late_for);
    PIPE_JSON_RAW(buf, ",\"window_end\":");
    pipe_json_timestamp_ms(buf, row->window_end);
    PIPE_JSON_RAW(buf, ",\"watermark\":");
    pipe_json_timestamp_ms(buf, row->watermark);
    PIPE_JSON_RAW(buf, "}");
}

static void json_of_reasons(struct pipe_buf *buf, const struct reasons *row)
{
    PIPE_JSON_RAW(buf, "{\"reason\":");
    pipe_json_string(buf, row->reason);
    PIPE_JSON_RAW(buf, ",\"rule\":");
    pipe_json_string(buf, row->rule);
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

static void push_visits(struct pipe_task *task, const struct pipe_record *record,
                        const struct clicks *row);
static void push_late_clicks(struct pipe_task *task, const struct pipe_record *record,
                             const struct late_clicks *row);
static void push_refused(struct pipe_task *task, const struct pipe_record *record,
                         const struct pipe_reject *row);
static void reject_refused(struct pipe_task *task, const struct pipe_record *record,
                           const char *reason, const char *rule, const char *detail);
static void push_reasons(struct pipe_task *task, const struct pipe_record *record,
                         const struct pipe_reject *row);

/* ---- source clicks  (sessions.pipe:4) ---- */

static void out_clicks(struct pipe_task *task, const struct pipe_record *record,
                       const struct clicks *row)
{
    task->counters[STREAM_clicks].out++;
    push_visits(task, record, row);
}

/* ---- stream visits from clicks  (sessions.pipe:12) ---- */

/* sink visit_rows from visits to file 'out/visits.jsonl' format jsonl exactly once
 * (sessions.pipe:29) */
static void sink_visit_rows(struct pipe_task *task, const struct pipe_record *record,
                            const struct visits *row)
{
    if (!pipe_encoded(task, row, (const void *)json_of_visits))
        json_of_visits(&task->value, row);
    pipe_emit(task, SINK_visit_rows, record, pipe_str_of(NULL, 0),
              pipe_str_of(task->value.data, task->value.size));
}

static void out_visits(struct pipe_task *task, const struct pipe_record *record,
                       const struct visits *row)
{
    task->counters[STREAM_visits].out++;
    if (!pipe_discards(task)) {
        sink_visit_rows(task, record, row);
    }
}

/* The key: visitor. */
static void key_visits(struct pipe_buf *key, const struct clicks *row)
{
    key->size = 0;
    pipe_key_add_str(key, row->visitor);
}

/* window session gap 10s max 25s (sessions.pipe:13) */
struct visits_acc {
    struct pipe_count pages;
    struct pipe_first entry;
    struct pipe_last leave;
    struct pipe_min_int began;
};

static void visits_acc_init(void *acc)
{
    struct visits_acc *of = acc;

    pipe_count_init(&of->pages);
    pipe_first_init(&of->entry);
    pipe_last_init(&of->leave);
    pipe_min_int_init(&of->began);
}

static void visits_acc_merge(void *into, const void *from)
{
    struct visits_acc *to = into;
    const struct visits_acc *other = from;

    pipe_count_merge(&to->pages, &other->pages);
    pipe_first_merge(&to->entry, &other->entry);
    pipe_last_merge(&to->leave, &other->leave);
    pipe_min_int_merge(&to->began, &other->began);
}

static void visits_acc_save(const void *acc, struct pipe_buf *out)
{
    const struct visits_acc *of = acc;

    pipe_count_save(&of->pages, out);
    pipe_first_save(&of->entry, out);
    pipe_last_save(&of->leave, out);
    pipe_min_int_save(&of->began, out);
}

static bool visits_acc_load(void *acc, struct pipe_reader *in)
{
    struct visits_acc *to = acc;

    return pipe_count_load(&to->pages, in) && pipe_first_load(&to->entry, in) &&
        pipe_last_load(&to->leave, in) && pipe_min_int_load(&to->began, in);
}

static void visits_acc_drop(void *acc)
{
    struct visits_acc *of = acc;

    pipe_count_drop(&of->pages);
    pipe_first_drop(&of->entry);
    pipe_last_drop(&of->leave);
    pipe_min_int_drop(&of->began);
}

static const struct pipe_accumulator visits_accumulator = {
    .size_bytes = sizeof(struct visits_acc),
    .plain = false,
    .init = visits_acc_init,
    .merge = visits_acc_merge,
    .save = visits_acc_save,
    .load = visits_acc_load,
    .drop = visits_acc_drop,
};

static void update_visits(struct pipe_task *task, struct visits_acc *acc,
                          const struct pipe_record *record, const struct clicks *row)
{
    struct pipe_position position = pipe_position_of(record);

    pipe_count_update(&acc->pages);
    if (pipe_first_wants(&acc->entry, &position)) {
        task->text.size = 0;
        pipe_value_save(&type_string, (struct pipe_str[]){row->page}, &task->text);
        pipe_first_update(&acc->entry, &position, pipe_str_of(task->text.data, task->text.size));
    }
    if (pipe_last_wants(&acc->leave, &position)) {
        task->text.size = 0;
        pipe_value_save(&type_string, (struct pipe_str[]){row->page}, &task->text);
        pipe_last_update(&acc->leave, &position, pipe_str_of(task->text.data, task->text.size));
    }
    pipe_min_int_update(&acc->began, row->at);
}

/* late to late_clicks: a window that the row missed. */
static void late_visits(struct pipe_task *task, const struct pipe_record *record,
                        const struct clicks *row, int64_t window_end)
{
    struct late_clicks out = {0};

    out.visitor = row->visitor;
    out.page = row->page;
    out.at = row->at;
    out.late_for = PIPE_STR("visits");
    out.window_end = pipe_column_ts_ms(window_end);
    out.watermark = pipe_column_ts_ms(record->watermark);
    pipe_new_row(task);
    push_late_clicks(task, record, &out);
}

static void keep_visits(struct pipe_task *task, const struct pipe_record *record,
                        const struct clicks *row)
{
    key_visits(&task->key, row);
    struct pipe_window_hit hit = pipe_session(task, STATE_visits, record, false);
    if (hit.acc != NULL)
        update_visits(task, hit.acc, record, row);
    if (hit.late > 0)
        late_visits(task, record, row, hit.late_end);
}

/* The row of a window that is due. */
static bool emit_visits(struct pipe_task *task, const struct pipe_window_row *window)
{
    if (pipe_discards(task)) { /* nobody reads it */
        task->counters[STREAM_visits].out++;
        return true;
    }

    const struct visits_acc *acc = window->acc;
    const uint8_t *at = window->key, *end = at + window->key_bytes;
    struct pipe_arena_mark mark = pipe_arena_mark(&task->arena);
    struct visits out = {0};
    const struct pipe_record record = {
        .kafka_time_ms = window->kafka_time_ms,
        .event_time = window->end - PIPE_MS(1),
        .watermark = window->watermark,
    };

    out.window_start = pipe_column_ts_ms(window->start);
    out.window_end = pipe_column_ts_ms(window->end);
    if (!(pipe_key_str(&at, end, &out.visitor))) {
        pipe_fatal(task, "%s: a window's key is damaged", "visits");
        return false;
    }
    pipe_count_finish(&acc->pages, &out.pages, NULL);
    {
        struct pipe_str bytes;
        bool none;
        pipe_first_finish(&acc->entry, &bytes, &none);
        const uint8_t *from = (const uint8_t *)bytes.data;
        if (!none &&
            !pipe_value_load(&type_string, &from, from + bytes.size, &task->arena, &out.entry)) {
            pipe_fatal(task, "%s: the state of a window is damaged", "visits");
            return false;
        }
    }
    {
        struct pipe_str bytes;
        bool none;
        pipe_last_finish(&acc->leave, &bytes, &none);
        const uint8_t *from = (const uint8_t *)bytes.data;
        if (!none &&
            !pipe_value_load(&type_string, &from, from + bytes.size, &task->arena, &out.leave)) {
            pipe_fatal(task, "%s: the state of a window is damaged", "visits");
            return false;
        }
    }
    pipe_min_int_finish(&acc->began, &out.began, NULL);
    pipe_new_row(task);
    out_visits(task, &record, &out);
    pipe_arena_back_to(&task->arena, mark);
    return true;
}

static void push_visits(struct pipe_task *task, const struct pipe_record *record,
                        const struct clicks *row)
{
    struct pipe_counters *count = &task->counters[STREAM_visits];

    count->in++;
    count->passed++;
    keep_visits(task, record, row);
}

/* ---- late stream late_clicks  (sessions.pipe:20) ---- */

/* sink late_rows from late_clicks to file 'out/late.jsonl' format jsonl exactly once
 * (sessions.pipe:30) */
static void sink_late_rows(struct pipe_task *task, const struct pipe_record *record,
                           const struct late_clicks *row)
{
    if (!pipe_encoded(task, row, (const void *)json_of_late_clicks))
        json_of_late_clicks(&task->value, row);
    pipe_emit(task, SINK_late_rows, record, pipe_str_of(NULL, 0),
              pipe_str_of(task->value.data, task->value.size));
}

static void out_late_clicks(struct pipe_task *task, const struct pipe_record *record,
                            const struct late_clicks *row)
{
    task->counters[STREAM_late_clicks].out++;
    if (!pipe_discards(task)) {
        sink_late_rows(task, record, row);
    }
}

static void push_late_clicks(struct pipe_task *task, const struct pipe_record *record,
                             const struct late_clicks *row)
{
    struct pipe_counters *count = &task->counters[STREAM_late_clicks];

    count->in++;
    count->passed++;
    out_late_clicks(task, record, row);
}

/* ---- reject stream refused  (sessions.pipe:10) ---- */

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

/* ---- stream reasons from refused  (sessions.pipe:23) ---- */

/* sink refusals from reasons to file 'out/refused.jsonl' format jsonl exactly once
 * (sessions.pipe:31) */
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

/* select reason, rule, offset (sessions.pipe:24) */
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

/* ---- a record of source clicks ---- */

static bool refuse_clicks(struct pipe_task *task, const struct pipe_record *record,
                          const char *reason, const char *detail)
{
    struct pipe_counters *count = &task->counters[STREAM_clicks];

    count->source_rejected++;
    reject_refused(task, record, reason, "clicks", detail);
    return false;
}

static bool record_clicks(struct pipe_task *task, struct pipe_record *record)
{
    struct pipe_counters *count = &task->counters[STREAM_clicks];
    void *decoded;

    count->read++;
    const char *reason = pipe_decode(task, record, &decoded);
    if (reason != NULL)
        return refuse_clicks(task, record, reason, task->detail);

    const struct clicks *row = decoded;

    record->event_time = PIPE_MS(row->at);
    reason = pipe_judge_time(task, record, record->event_time);
    if (reason != NULL)
        return refuse_clicks(task, record, reason, task->detail);

    count->accepted++;
    pipe_new_row(task);
    out_clicks(task, record, row);
    return true;
}

/* ----------------------------------------------------------------------------------------------
 * The plan
 * ---------------------------------------------------------------------------------------------- */

static const struct pipe_source_def sources[] = {
    {
        .name = "clicks",
        .stream = STREAM_clicks,
        .is_kafka = false,
        .target = "clicks.csv",
        .partitions = 0,
        .format = PIPE_FORMAT_CSV,
        .header = true,
        .row = &clicks_type,
        .row_bytes = sizeof(struct clicks),
        .has_event_time = true,
        .ahead = 0,
        .has_watermark = true,
        .watermark = PIPE_SECONDS(30),
        .idle = 0,
        .stage = STAGE_clicks,
    },
};

static const struct pipe_stream_def streams[] = {
    [STREAM_clicks] = {.name = "clicks", .kind = PIPE_STREAM_SOURCE},
    [STREAM_visits] = {.name = "visits", .kind = PIPE_STREAM_NORMAL,
                       .inputs = (const uint32_t[]){STREAM_clicks}, .input_count = 1,
                       .has_window = true},
    [STREAM_refused] = {.name = "refused", .kind = PIPE_STREAM_REJECTS,
                        .inputs = (const uint32_t[]){STREAM_clicks}, .input_count = 1},
    [STREAM_reasons] = {.name = "reasons", .kind = PIPE_STREAM_NORMAL,
                        .inputs = (const uint32_t[]){STREAM_refused}, .input_count = 1,
                        .has_select = true},
    [STREAM_late_clicks] = {.name = "late_clicks", .kind = PIPE_STREAM_LATE,
                            .inputs = (const uint32_t[]){STREAM_visits}, .input_count = 1},
};

static const struct pipe_state_def states_of_clicks[] = {
    {
        .kind = PIPE_STATE_SESSION,
        .name = "visits",
        .stream = STREAM_visits,
        .gap = PIPE_SECONDS(10),
        .max = PIPE_SECONDS(25),
        .emit = PIPE_EMIT_CLOSE,
        .phase = PIPE_PHASE_LOCAL,
        .acc = &visits_accumulator,
        .emit_row = emit_visits,
    },
};

static const struct pipe_stage_def stages[] = {
    [STAGE_clicks] = {
        .name = "clicks",
        .source = 0,
        .exchange = -1,
        .record = record_clicks,
        .states = states_of_clicks,
        .state_count = 1,
    },
};

static const struct pipe_sink_def sinks[] = {
    [SINK_visit_rows] = {
        .name = "visit_rows",
        .stream = STREAM_visits,
        .kind = PIPE_SINK_FILE,
        .target = "out/visits.jsonl",
        .format = PIPE_FORMAT_JSONL,
        .row = &visits_type,
        .exactly_once = true,
    },
    [SINK_late_rows] = {
        .name = "late_rows",
        .stream = STREAM_late_clicks,
        .kind = PIPE_SINK_FILE,
        .target = "out/late.jsonl",
        .format = PIPE_FORMAT_JSONL,
        .row = &late_clicks_type,
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
    "sessions   plan 4932c2c8\n"
    "  1 file source clicks                   one partition a file by visitor; csv; "
    "event time at, watermark 30s\n"
    "  2   stream visits                      from clicks\n"
    "  3     window visits                    STATE visits  session gap 10s max 25s by "
    "visitor, emit on close; local: key holds visitor; late to late_clicks\n"
    "  4     file sink visit_rows             jsonl; exactly once: cut back to the "
    "length in the last commit\n"
    "  5 rejects refused                      from clicks\n"
    "  6   stream reasons                     from refused\n"
    "  7     select                           reason, rule, offset\n"
    "  8     file sink refusals               jsonl; exactly once: cut back to the "
    "length in the last commit\n"
    "  9 late rows late_clicks                from visits\n"
    " 10   file sink late_rows                jsonl; exactly once: cut back to the "
    "length in the last commit\n"
    "\n"
    "stages\n"
    "  0 reads source clicks: one task a file; state visits\n";

static const char plan_json[] =
    "{\n"
    " \"hash\": \"4932c2c8559b8e7e\",\n"
    " \"nodes\": [\n"
    "  {\n"
    "   \"ahead_ms\": 0,\n"
    "   \"columns\": [\n"
    "    {\n"
    "     \"name\": \"visitor\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"page\",\n"
    "     \"type\": \"string\"\n"
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
    "    \"visitor\"\n"
    "   ],\n"
    "   \"name\": \"clicks\",\n"
    "   \"node\": \"source\",\n"
    "   \"partitions\": 0,\n"
    "   \"payload\": [\n"
    "    {\n"
    "     \"name\": \"visitor\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"page\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"at\",\n"
    "     \"type\": \"timestamp_ms\"\n"
    "    }\n"
    "   ],\n"
    "   \"rejects\": \"refused\",\n"
    "   \"transport\": \"file\",\n"
    "   \"watermark_ms\": 30000\n"
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
    "     \"name\": \"visitor\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"pages\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"entry\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"leave\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"began\",\n"
    "     \"type\": \"timestamp_ms\"\n"
    "    }\n"
    "   ],\n"
    "   \"inputs\": [\n"
    "    \"clicks\"\n"
    "   ],\n"
    "   \"name\": \"visits\",\n"
    "   \"node\": \"stream\",\n"
    "   \"role\": \"stream\",\n"
    "   \"stages\": [\n"
    "    0\n"
    "   ]\n"
    "  },\n"
    "  {\n"
    "   \"aggregates\": [\n"
    "    {\n"
    "     \"function\": \"count\",\n"
    "     \"name\": \"pages\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"arg\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"page\"\n"
    "      ],\n"
    "      \"type\": \"string\"\n"
    "     },\n"
    "     \"function\": \"first\",\n"
    "     \"name\": \"entry\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"arg\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"page\"\n"
    "      ],\n"
    "      \"type\": \"string\"\n"
    "     },\n"
    "     \"function\": \"last\",\n"
    "     \"name\": \"leave\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"arg\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"at\"\n"
    "      ],\n"
    "      \"type\": \"timestamp_ms\"\n"
    "     },\n"
    "     \"function\": \"min\",\n"
    "     \"name\": \"began\",\n"
    "     \"type\": \"timestamp_ms\"\n"
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
    "     \"name\": \"visitor\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"pages\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"entry\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"leave\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"began\",\n"
    "     \"type\": \"timestamp_ms\"\n"
    "    }\n"
    "   ],\n"
    "   \"corrections\": false,\n"
    "   \"delay_ms\": 0,\n"
    "   \"drop_late\": false,\n"
    "   \"emit\": \"close\",\n"
    "   \"emit_every_ms\": 0,\n"
    "   \"every_ms\": 0,\n"
    "   \"gap_ms\": 10000,\n"
    "   \"group\": [\n"
    "    \"visitor\"\n"
    "   ],\n"
    "   \"late\": \"late_clicks\",\n"
    "   \"lateness_ms\": 0,\n"
    "   \"local_because\": \"key holds visitor\",\n"
    "   \"max_ms\": 25000,\n"
    "   \"node\": \"window\",\n"
    "   \"offset_ms\": 0,\n"
    "   \"size_ms\": 0,\n"
    "   \"stream\": \"visits\",\n"
    "   \"window\": \"session\"\n"
    "  },\n"
    "  {\n"
    "   \"append_revisions\": false,\n"
    "   \"commit_bytes\": 16777216,\n"
    "   \"commit_ms\": 100,\n"
    "   \"exactly_once\": true,\n"
    "   \"format\": \"jsonl\",\n"
    "   \"from\": \"visits\",\n"
    "   \"guarantee\": \"exactly once: cut back to the length in the last commit\",\n"
    "   \"key\": [],\n"
    "   \"kind\": \"file\",\n"
    "   \"name\": \"visit_rows\",\n"
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
    "    \"clicks\"\n"
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
    "     \"name\": \"visitor\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"page\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"at\",\n"
    "     \"type\": \"timestamp_ms\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"late_for\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"window_end\",\n"
    "     \"type\": \"timestamp_ms\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"watermark\",\n"
    "     \"type\": \"timestamp_ms\"\n"
    "    }\n"
    "   ],\n"
    "   \"inputs\": [\n"
    "    \"visits\"\n"
    "   ],\n"
    "   \"name\": \"late_clicks\",\n"
    "   \"node\": \"stream\",\n"
    "   \"role\": \"late\",\n"
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
    "   \"from\": \"late_clicks\",\n"
    "   \"guarantee\": \"exactly once: cut back to the length in the last commit\",\n"
    "   \"key\": [],\n"
    "   \"kind\": \"file\",\n"
    "   \"name\": \"late_rows\",\n"
    "   \"node\": \"sink\",\n"
    "   \"order\": [],\n"
    "   \"partition_by\": [],\n"
    "   \"partitions\": 0,\n"
    "   \"rollups\": [],\n"
    "   \"source_key\": false\n"
    "  }\n"
    " ],\n"
    " \"pipeline\": \"sessions\",\n"
    " \"stages\": [\n"
    "  {\n"
    "   \"source\": \"clicks\",\n"
    "   \"stage\": 0,\n"
    "   \"states\": [\n"
    "    {\n"
    "     \"delay_ms\": 0,\n"
    "     \"phase\": \"local\",\n"
    "     \"stream\": \"visits\"\n"
    "    }\n"
    "   ]\n"
    "  }\n"
    " ]\n"
    "}\n";

static const struct pipe_plan plan = {
    .abi = PIPE_RUNTIME_ABI,
    .name = "sessions",
    .hash = "4932c2c8559b8e7e",
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
