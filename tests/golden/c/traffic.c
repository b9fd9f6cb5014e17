/* traffic.c: pipeline traffic, compiled from traffic.pipe by pipec. Change that file, not this. */
#include "pipe.h"

#if PIPE_RUNTIME_ABI != 1
#error "this file and libpipe do not fit together: compile the pipeline again"
#endif

/* ----------------------------------------------------------------------------------------------
 * Rows
 * ---------------------------------------------------------------------------------------------- */

struct Event {
    struct pipe_str id;
    struct pipe_str user;
    struct pipe_str kind;
    struct pipe_str country;
    int64_t amount;
    double score;
    int64_t at;
    bool amount_null;
};

struct totals {
    int64_t window_start;
    int64_t window_end;
    struct pipe_str user;
    int64_t events;
    int64_t amount;
    bool amount_null;
};

struct reasons {
    struct pipe_str reason;
    struct pipe_str rule;
};

/* ----------------------------------------------------------------------------------------------
 * Indexes in the tables below
 * ---------------------------------------------------------------------------------------------- */

enum {
    STREAM_events,
    STREAM_totals,
    STREAM_refused,
    STREAM_reasons,
};

enum {
    STAGE_events,
};

enum {
    SINK_total_rows,
    SINK_refusals,
};

enum { STATE_totals = 0 };

/* ----------------------------------------------------------------------------------------------
 * What the runtime knows of the rows
 * ---------------------------------------------------------------------------------------------- */

static const struct pipe_type type_timestamp_ms = {.kind = PIPE_TIMESTAMP_MS};
static const struct pipe_type type_string = {.kind = PIPE_STRING};
static const struct pipe_type type_int64 = {.kind = PIPE_INT64};

static const struct pipe_column totals_columns[] = {
    {"window_start", &type_timestamp_ms, offsetof(struct totals, window_start),
     .null_offset = PIPE_NOT_NULL},
    {"window_end", &type_timestamp_ms, offsetof(struct totals, window_end),
     .null_offset = PIPE_NOT_NULL},
    {"user", &type_string, offsetof(struct totals, user), .null_offset = PIPE_NOT_NULL},
    {"events", &type_int64, offsetof(struct totals, events), .null_offset = PIPE_NOT_NULL},
    {"amount", &type_int64, offsetof(struct totals, amount),
     .null_offset = offsetof(struct totals, amount_null), .null_first = false},
};
static const struct pipe_row_type totals_type = {"totals", totals_columns, 5,
                                                 sizeof(struct totals)};

static const struct pipe_type type_float64 = {.kind = PIPE_FLOAT64};

static const struct pipe_column Event_columns[] = {
    {"id", &type_string, offsetof(struct Event, id), .null_offset = PIPE_NOT_NULL},
    {"user", &type_string, offsetof(struct Event, user), .null_offset = PIPE_NOT_NULL},
    {"kind", &type_string, offsetof(struct Event, kind), .null_offset = PIPE_NOT_NULL},
    {"country", &type_string, offsetof(struct Event, country), .null_offset = PIPE_NOT_NULL},
    {"amount", &type_int64, offsetof(struct Event, amount),
     .null_offset = offsetof(struct Event, amount_null), .null_first = true, .has_default = true,
     .default_json = "null"},
    {"score", &type_float64, offsetof(struct Event, score), .null_offset = PIPE_NOT_NULL},
    {"at", &type_timestamp_ms, offsetof(struct Event, at), .null_offset = PIPE_NOT_NULL},
};
static const struct pipe_row_type Event_type = {"Event", Event_columns, 7, sizeof(struct Event)};


static const struct pipe_column reasons_columns[] = {
    {"reason", &type_string, offsetof(struct reasons, reason), .null_offset = PIPE_NOT_NULL},
    {"rule", &type_string, offsetof(struct reasons, rule), .null_offset = PIPE_NOT_NULL},
};
static const struct pipe_row_type reasons_type = {"reasons", reasons_columns, 2,
                                                  sizeof(struct reasons)};

/* ----------------------------------------------------------------------------------------------
 * Decoders, one a version of a contract
 * ---------------------------------------------------------------------------------------------- */

static bool decode_Event_event(struct pipe_reader *r, void *into)
{
    struct Event *row = into;

    if (!pipe_avro_string(r, &row->id))
        return pipe_reader_at(r, "id");
    if (!pipe_avro_string(r, &row->user))
        return pipe_reader_at(r, "user");
    if (!pipe_avro_string(r, &row->kind))
        return pipe_reader_at(r, "kind");
    if (!pipe_avro_string(r, &row->country))
        return pipe_reader_at(r, "country");
    if (!pipe_avro_nullable(r, true, &row->amount_null) ||
        (!row->amount_null && !pipe_avro_long(r, &row->amount)))
        return pipe_reader_at(r, "amount");
    if (!pipe_avro_double(r, &row->score))
        return pipe_reader_at(r, "score");
    if (!pipe_avro_timestamp_ms(r, &row->at))
        return pipe_reader_at(r, "at");
    return true;
}

static bool decode_Event_event_v1(struct pipe_reader *r, void *into)
{
    struct Event *row = into;

    if (!pipe_avro_string(r, &row->id))
        return pipe_reader_at(r, "id");
    if (!pipe_avro_string(r, &row->user))
        return pipe_reader_at(r, "user");
    if (!pipe_avro_string(r, &row->kind))
        return pipe_reader_at(r, "kind");
    if (!pipe_avro_string(r, &row->country))
        return pipe_reader_at(r, "country");
    if (!pipe_avro_double(r, &row->score))
        return pipe_reader_at(r, "score");
    if (!pipe_avro_timestamp_ms(r, &row->at))
        return pipe_reader_at(r, "at");
    row->amount_null = true;
    return true;
}

/* ----------------------------------------------------------------------------------------------
 * Contracts
 * ---------------------------------------------------------------------------------------------- */

static const struct pipe_contract_version versions_event[] = {
    {
        .label = "event",
        .fingerprint = UINT64_C(0x559387f788f0128a),
        .decode = decode_Event_event,
        .schema_json =
            "{\"type\":\"record\",\"name\":\"Event\",\"namespace\":\"golden\","
            "\"fields\":[{\"name\":\"id\",\"type\":\"string\"},{\"name\":\"user\","
            "\"type\":\"string\"},{\"name\":\"kind\",\"type\":\"string\"},"
            "{\"name\":\"country\",\"type\":\"string\"},{\"name\":\"amount\","
            "\"type\":[\"null\",\"long\"],\"default\":null},{\"name\":\"score\","
            "\"type\":\"double\"},{\"name\":\"at\",\"type\":{\"type\":\"long\","
            "\"logicalType\":\"timestamp-millis\"}}]}",
    },
    {
        .label = "event_v1",
        .fingerprint = UINT64_C(0xa93ed26123e24f47),
        .decode = decode_Event_event_v1,
        .schema_json =
            "{\"type\":\"record\",\"name\":\"Event\",\"namespace\":\"golden\","
            "\"fields\":[{\"name\":\"id\",\"type\":\"string\"},{\"name\":\"user\","
            "\"type\":\"string\"},{\"name\":\"kind\",\"type\":\"string\"},"
            "{\"name\":\"country\",\"type\":\"string\"},{\"name\":\"score\","
            "\"type\":\"double\"},{\"name\":\"at\",\"type\":{\"type\":\"long\","
            "\"logicalType\":\"timestamp-millis\"}}]}",
    },
};

static const struct pipe_contract contract_event = {
    .name = "event",
    .row = &Event_type,
    .versions = versions_event,
    .version_count = 2,
};

/* ----------------------------------------------------------------------------------------------
 * JSON
 * ---------------------------------------------------------------------------------------------- */

static void json_of_totals(struct pipe_buf *buf, const struct totals *row)
{
    PIPE_JSON_RAW(buf, "{\"window_start\":");
    pipe_json_timestamp_ms(buf, row->window_start);
    PIPE_JSON_RAW(buf, ",\"window_end\":");
    pipe_json_timestamp_ms(buf, row->window_end);
    PIPE_JSON_RAW(buf, ",\"user\":");
    pipe_json_string(buf, row->user);
    PIPE_JSON_RAW(buf, ",\"events\":");
    pipe_json_i64(buf, row->events);
    PIPE_JSON_RAW(buf, ",\"amount\":");
    if (row->amount_null)
        pipe_json_null(buf);
    else
        pipe_json_i64(buf, row->amount);
    PIPE_JSON_RAW(buf, "}");
}

static void json_of_reasons(struct pipe_buf *buf, const struct reasons *row)
{
    PIPE_JSON_RAW(buf, "{\"reason\":");
    pipe_json_string(buf, row->reason);
    PIPE_JSON_RAW(buf, ",\"rule\":");
    pipe_json_string(buf, row->rule);
    PIPE_JSON_RAW(buf, "}");
}

/* ----------------------------------------------------------------------------------------------
 * Streams, in the order of the data
 * ---------------------------------------------------------------------------------------------- */

static void push_totals(struct pipe_task *task, const struct pipe_record *record,
                        const struct Event *row);
static void push_refused(struct pipe_task *task, const struct pipe_record *record,
                         const struct pipe_reject *row);
static void reject_refused(struct pipe_task *task, const struct pipe_record *record,
                           const char *reason, const char *rule, const char *detail);
static void push_reasons(struct pipe_task *task, const struct pipe_record *record,
                         const struct pipe_reject *row);

/* ---- source events  (traffic.pipe:8) ---- */

static void out_events(struct pipe_task *task, const struct pipe_record *record,
                       const struct Event *row)
{
    task->counters[STREAM_events].out++;
    push_totals(task, record, row);
}

/* ---- stream totals from events  (traffic.pipe:15) ---- */

/* sink total_rows from totals to file 'out/totals.jsonl' format jsonl exactly once
 * (traffic.pipe:30) */
static void sink_total_rows(struct pipe_task *task, const struct pipe_record *record,
                            const struct totals *row)
{
    if (!pipe_encoded(task, row, (const void *)json_of_totals))
        json_of_totals(&task->value, row);
    pipe_emit(task, SINK_total_rows, record, pipe_str_of(NULL, 0),
              pipe_str_of(task->value.data, task->value.size));
}

static void out_totals(struct pipe_task *task, const struct pipe_record *record,
                       const struct totals *row)
{
    task->counters[STREAM_totals].out++;
    if (!pipe_discards(task)) {
        sink_total_rows(task, record, row);
    }
}

/* The key: user. */
static void key_totals(struct pipe_buf *key, const struct Event *row)
{
    key->size = 0;
    pipe_key_add_str(key, row->user);
}

/* window tumbling 5s (traffic.pipe:16) */
struct totals_acc {
    struct pipe_count events;
    struct pipe_sum_int amount;
};

static void totals_acc_init(void *acc)
{
    struct totals_acc *of = acc;

    pipe_count_init(&of->events);
    pipe_sum_int_init(&of->amount);
}

static void totals_acc_merge(void *into, const void *from)
{
    struct totals_acc *to = into;
    const struct totals_acc *other = from;

    pipe_count_merge(&to->events, &other->events);
    pipe_sum_int_merge(&to->amount, &other->amount);
}

static void totals_acc_save(const void *acc, struct pipe_buf *out)
{
    const struct totals_acc *of = acc;

    pipe_count_save(&of->events, out);
    pipe_sum_int_save(&of->amount, out);
}

static bool totals_acc_load(void *acc, struct pipe_reader *in)
{
    struct totals_acc *to = acc;

    return pipe_count_load(&to->events, in) && pipe_sum_int_load(&to->amount, in);
}

static void totals_acc_drop(void *acc)
{
    struct totals_acc *of = acc;

    pipe_count_drop(&of->events);
    pipe_sum_int_drop(&of->amount);
}

static const struct pipe_accumulator totals_accumulator = {
    .size_bytes = sizeof(struct totals_acc),
    .plain = true,
    .init = totals_acc_init,
    .merge = totals_acc_merge,
    .save = totals_acc_save,
    .load = totals_acc_load,
    .drop = totals_acc_drop,
};

static void update_totals(struct totals_acc *acc, const struct Event *row)
{
    pipe_count_update(&acc->events);
    if (!row->amount_null)
        pipe_sum_int_update(&acc->amount, row->amount);
}

static void keep_totals(struct pipe_task *task, const struct pipe_record *record,
                        const struct Event *row)
{
    bool is_ahead = pipe_is_ahead(task, row);

    if (!is_ahead)
        key_totals(&task->key, row);
    struct pipe_window_hit hit = pipe_window(task, STATE_totals, record, is_ahead);
    if (hit.acc != NULL)
        update_totals(hit.acc, row);
}

/* The total of a sum does not fit its column. */
static bool overflow_totals(struct pipe_task *task, const struct pipe_record *record,
                            const struct pipe_window_row *window, const struct totals *row,
                            const char *column)
{
    struct pipe_buf *text = &task->text;

    text->size = 0;
    pipe_buf_printf(text, "%s: the total is out of range; window [", column);
    pipe_csv_timestamp_ms(text, pipe_column_ts_ms(window->start));
    PIPE_JSON_RAW(text, ", ");
    pipe_csv_timestamp_ms(text, pipe_column_ts_ms(window->end));
    PIPE_JSON_RAW(text, "), group ");
    pipe_key_text(text, &totals_type, row, (const uint32_t[]){2}, 1);
    pipe_buf_add_byte(text, '\0');
    reject_refused(task, record, "expression_failed", "totals", (const char *)text->data);
    return false;
}

/* The row of a window that is due. */
static bool emit_totals(struct pipe_task *task, const struct pipe_window_row *window)
{
    const struct totals_acc *acc = window->acc;
    const uint8_t *at = window->key, *end = at + window->key_bytes;
    struct pipe_arena_mark mark = pipe_arena_mark(&task->arena);
    struct totals out = {0};
    const struct pipe_record record = {
        .kafka_time_ms = window->kafka_time_ms,
        .event_time = window->end - PIPE_MS(1),
        .watermark = window->watermark,
    };

    out.window_start = pipe_column_ts_ms(window->start);
    out.window_end = pipe_column_ts_ms(window->end);
    if (!(pipe_key_str(&at, end, &out.user))) {
        pipe_fatal(task, "%s: a window's key is damaged", "totals");
        return false;
    }
    pipe_count_finish(&acc->events, &out.events, NULL);
    if (!pipe_sum_int_finish(&acc->amount, &out.amount, &out.amount_null))
        return overflow_totals(task, &record, window, &out, "amount");
    pipe_new_row(task);
    out_totals(task, &record, &out);
    pipe_arena_back_to(&task->arena, mark);
    return true;
}

static void push_totals(struct pipe_task *task, const struct pipe_record *record,
                        const struct Event *row)
{
    struct pipe_counters *count = &task->counters[STREAM_totals];

    count->in++;
    count->passed++;
    keep_totals(task, record, row);
}

/* ---- reject stream refused  (traffic.pipe:13) ---- */

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

/* ---- stream reasons from refused  (traffic.pipe:25) ---- */

/* sink refusals from reasons to file 'out/refused.jsonl' format jsonl exactly once
 * (traffic.pipe:31) */
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

/* select reason, rule (traffic.pipe:26) */
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

/* A row that comes soon: its keys, so that the memory is asked for that they will need. */
static void ahead_events(struct pipe_task *task, const void *decoded)
{
    const struct Event *row = decoded;

    key_totals(pipe_key_ahead(task, STATE_totals), row);
}

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

    const struct Event *row = decoded;

    reason = pipe_judge_key(task, record, row->user);
    if (reason != NULL)
        return refuse_events(task, record, reason, task->detail);

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
        .is_kafka = true,
        .target = "events",
        .partitions = 2,
        .format = PIPE_FORMAT_AVRO,
        .contract = &contract_event,
        .row = &Event_type,
        .row_bytes = sizeof(struct Event),
        .has_event_time = true,
        .ahead = PIPE_MINUTES(1),
        .has_watermark = true,
        .watermark = PIPE_SECONDS(2),
        .idle = PIPE_SECONDS(30),
        .stage = STAGE_events,
    },
};

static const struct pipe_stream_def streams[] = {
    [STREAM_events] = {.name = "events", .kind = PIPE_STREAM_SOURCE},
    [STREAM_totals] = {.name = "totals", .kind = PIPE_STREAM_NORMAL,
                       .inputs = (const uint32_t[]){STREAM_events}, .input_count = 1,
                       .has_window = true},
    [STREAM_refused] = {.name = "refused", .kind = PIPE_STREAM_REJECTS,
                        .inputs = (const uint32_t[]){STREAM_events, STREAM_totals},
                        .input_count = 2},
    [STREAM_reasons] = {.name = "reasons", .kind = PIPE_STREAM_NORMAL,
                        .inputs = (const uint32_t[]){STREAM_refused}, .input_count = 1,
                        .has_select = true},
};

static const struct pipe_state_def states_of_events[] = {
    {
        .kind = PIPE_STATE_WINDOW,
        .name = "totals",
        .stream = STREAM_totals,
        .size = PIPE_SECONDS(5),
        .every = PIPE_SECONDS(5),
        .emit = PIPE_EMIT_CLOSE,
        .phase = PIPE_PHASE_LOCAL,
        .acc = &totals_accumulator,
        .emit_row = emit_totals,
    },
};

static const struct pipe_stage_def stages[] = {
    [STAGE_events] = {
        .name = "events",
        .source = 0,
        .exchange = -1,
        .record = record_events,
        .ahead = ahead_events,
        .states = states_of_events,
        .state_count = 1,
    },
};

static const struct pipe_sink_def sinks[] = {
    [SINK_total_rows] = {
        .name = "total_rows",
        .stream = STREAM_totals,
        .kind = PIPE_SINK_FILE,
        .target = "out/totals.jsonl",
        .format = PIPE_FORMAT_JSONL,
        .row = &totals_type,
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

/* ---- traffic shoppers into events ---- */

static const char *const traffic_shoppers_country_values[] = {
    "\"NO\"",
    "\"CH\"",
};
static const int64_t traffic_shoppers_country_weights[] = {2, 1};
static const struct pipe_traffic_field traffic_shoppers_fields[] = {
    {.kind = PIPE_GEN_UNIQUE, .path = (const uint32_t[]){0}, .path_count = 1}, /* id */
    {.kind = PIPE_GEN_SESSION, .path = (const uint32_t[]){1}, .path_count = 1}, /* user */
    {.kind = PIPE_GEN_PICK, .path = (const uint32_t[]){3}, .path_count = 1,
     .picks = traffic_shoppers_country_values, .weights = traffic_shoppers_country_weights,
     .pick_count = 2}, /* country */
    {.kind = PIPE_GEN_UNIFORM, .path = (const uint32_t[]){4}, .path_count = 1, .low = 1,
     .high = 500, .scale = 0, .null_ppm = 200000}, /* amount */
    {.kind = PIPE_GEN_UNIFORM, .path = (const uint32_t[]){5}, .path_count = 1, .low = 0,
     .high = 10, .scale = 1}, /* score */
};

static const struct pipe_traffic_step traffic_shoppers_steps[] = {
    {"view", (const struct pipe_traffic_target[]){{0, 50}, {1, 30}, {-1, 20}}, 3},
    {"buy", NULL, 0},
};

static const struct pipe_traffic_fault traffic_shoppers_faults[] = {
    {.kind = PIPE_FAULT_LATE, .ppm = 100000, .low_ms = 10000, .high_ms = 20000},
    {.kind = PIPE_FAULT_POISON, .ppm = 50000},
    {.kind = PIPE_FAULT_AHEAD, .ppm = 50000, .low_ms = 120000, .high_ms = 180000},
};

static const struct pipe_traffic_def traffics[] = {
    {
        .name = "shoppers",
        .source = 0,
        .has_sessions = true,
        .session_low_ms = 5000,
        .session_high_ms = 20000,
        .pause_low_ms = 1000,
        .pause_high_ms = 3000,
        .steps_column = 2,
        .steps = traffic_shoppers_steps,
        .step_count = 2,
        .fields = traffic_shoppers_fields,
        .field_count = 5,
        .faults = traffic_shoppers_faults,
        .fault_count = 3,
        .key_columns = (const uint32_t[]){1},
        .key_count = 1,
        .event_time_column = 6,
    },
};

static const char explain_text[] =
    "traffic   plan f80c113f\n"
    "  1 kafka source events                  events, 2 partitions by user; avro of "
    "contract event; event time at, watermark 2s, idle 30s, ahead 1m\n"
    "  2   stream totals                      from events\n"
    "  3     window totals                    STATE totals  tumbling 5s by user, emit on "
    "close; local: key holds user; late rows are dropped and counted\n"
    "  4     file sink total_rows             jsonl; exactly once: cut back to the "
    "length in the last commit\n"
    "  5 rejects refused                      from events, totals\n"
    "  6   stream reasons                     from refused\n"
    "  7     select                           reason, rule\n"
    "  8     file sink refusals               jsonl; exactly once: cut back to the "
    "length in the last commit\n"
    "\n"
    "stages\n"
    "  0 reads source events: 2 tasks; state totals\n";

static const char plan_json[] =
    "{\n"
    " \"hash\": \"f80c113fe0d71809\",\n"
    " \"nodes\": [\n"
    "  {\n"
    "   \"compatibility\": \"full\",\n"
    "   \"name\": \"event\",\n"
    "   \"node\": \"contract\",\n"
    "   \"versions\": [\n"
    "    {\n"
    "     \"definition\": {\n"
    "      \"fields\": [\n"
    "       {\n"
    "        \"name\": \"id\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"user\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"kind\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"country\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"default\": null,\n"
    "        \"name\": \"amount\",\n"
    "        \"type\": [\n"
    "         \"null\",\n"
    "         \"long\"\n"
    "        ]\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"score\",\n"
    "        \"type\": \"double\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"at\",\n"
    "        \"type\": {\n"
    "         \"logicalType\": \"timestamp-millis\",\n"
    "         \"type\": \"long\"\n"
    "        }\n"
    "       }\n"
    "      ],\n"
    "      \"name\": \"Event\",\n"
    "      \"namespace\": \"golden\",\n"
    "      \"type\": \"record\"\n"
    "     },\n"
    "     \"fingerprint\": \"559387f788f0128a\",\n"
    "     \"label\": \"event\",\n"
    "     \"schema\": {\n"
    "      \"fields\": [\n"
    "       {\n"
    "        \"name\": \"id\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"user\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"kind\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"country\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"amount\",\n"
    "        \"type\": [\n"
    "         \"null\",\n"
    "         \"long\"\n"
    "        ]\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"score\",\n"
    "        \"type\": \"double\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"at\",\n"
    "        \"type\": \"long\"\n"
    "       }\n"
    "      ],\n"
    "      \"name\": \"golden.Event\",\n"
    "      \"type\": \"record\"\n"
    "     }\n"
    "    },\n"
    "    {\n"
    "     \"definition\": {\n"
    "      \"fields\": [\n"
    "       {\n"
    "        \"name\": \"id\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"user\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"kind\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"country\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"score\",\n"
    "        \"type\": \"double\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"at\",\n"
    "        \"type\": {\n"
    "         \"logicalType\": \"timestamp-millis\",\n"
    "         \"type\": \"long\"\n"
    "        }\n"
    "       }\n"
    "      ],\n"
    "      \"name\": \"Event\",\n"
    "      \"namespace\": \"golden\",\n"
    "      \"type\": \"record\"\n"
    "     },\n"
    "     \"fingerprint\": \"a93ed26123e24f47\",\n"
    "     \"label\": \"event_v1\",\n"
    "     \"schema\": {\n"
    "      \"fields\": [\n"
    "       {\n"
    "        \"name\": \"id\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"user\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"kind\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"country\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"score\",\n"
    "        \"type\": \"double\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"at\",\n"
    "        \"type\": \"long\"\n"
    "       }\n"
    "      ],\n"
    "      \"name\": \"golden.Event\",\n"
    "      \"type\": \"record\"\n"
    "     }\n"
    "    }\n"
    "   ]\n"
    "  },\n"
    "  {\n"
    "   \"ahead_ms\": 60000,\n"
    "   \"columns\": [\n"
    "    {\n"
    "     \"name\": \"id\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"user\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"kind\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"country\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"amount\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"score\",\n"
    "     \"type\": \"float64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"at\",\n"
    "     \"type\": \"timestamp_ms\"\n"
    "    }\n"
    "   ],\n"
    "   \"contract\": \"event\",\n"
    "   \"drop_tombstones\": false,\n"
    "   \"event_time\": {\n"
    "    \"kind\": \"column\",\n"
    "    \"path\": [\n"
    "     \"at\"\n"
    "    ],\n"
    "    \"type\": \"timestamp_ms\"\n"
    "   },\n"
    "   \"event_time_column\": \"at\",\n"
    "   \"format\": \"avro\",\n"
    "   \"header\": false,\n"
    "   \"idle_advance\": false,\n"
    "   \"idle_ms\": 30000,\n"
    "   \"key\": [\n"
    "    \"user\"\n"
    "   ],\n"
    "   \"name\": \"events\",\n"
    "   \"node\": \"source\",\n"
    "   \"partitions\": 2,\n"
    "   \"payload\": [\n"
    "    {\n"
    "     \"name\": \"id\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"user\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"kind\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"country\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"amount\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"score\",\n"
    "     \"type\": \"float64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"at\",\n"
    "     \"type\": \"timestamp_ms\"\n"
    "    }\n"
    "   ],\n"
    "   \"rejects\": \"refused\",\n"
    "   \"topic\": \"events\",\n"
    "   \"transport\": \"kafka\",\n"
    "   \"watermark_ms\": 2000\n"
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
    "     \"name\": \"user\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"events\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"amount\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int64\"\n"
    "    }\n"
    "   ],\n"
    "   \"inputs\": [\n"
    "    \"events\"\n"
    "   ],\n"
    "   \"name\": \"totals\",\n"
    "   \"node\": \"stream\",\n"
    "   \"rejects\": \"refused\",\n"
    "   \"role\": \"stream\",\n"
    "   \"stages\": [\n"
    "    0\n"
    "   ]\n"
    "  },\n"
    "  {\n"
    "   \"aggregates\": [\n"
    "    {\n"
    "     \"function\": \"count\",\n"
    "     \"name\": \"events\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"arg\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"nullable\": true,\n"
    "      \"path\": [\n"
    "       \"amount\"\n"
    "      ],\n"
    "      \"type\": \"int64\"\n"
    "     },\n"
    "     \"function\": \"sum\",\n"
    "     \"name\": \"amount\",\n"
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
    "     \"name\": \"user\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"events\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"amount\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int64\"\n"
    "    }\n"
    "   ],\n"
    "   \"corrections\": false,\n"
    "   \"delay_ms\": 0,\n"
    "   \"drop_late\": true,\n"
    "   \"emit\": \"close\",\n"
    "   \"emit_every_ms\": 0,\n"
    "   \"every_ms\": 5000,\n"
    "   \"gap_ms\": 0,\n"
    "   \"group\": [\n"
    "    \"user\"\n"
    "   ],\n"
    "   \"lateness_ms\": 0,\n"
    "   \"local_because\": \"key holds user\",\n"
    "   \"max_ms\": 0,\n"
    "   \"node\": \"window\",\n"
    "   \"offset_ms\": 0,\n"
    "   \"size_ms\": 5000,\n"
    "   \"stream\": \"totals\",\n"
    "   \"window\": \"tumbling\"\n"
    "  },\n"
    "  {\n"
    "   \"append_revisions\": false,\n"
    "   \"commit_bytes\": 16777216,\n"
    "   \"commit_ms\": 100,\n"
    "   \"exactly_once\": true,\n"
    "   \"format\": \"jsonl\",\n"
    "   \"from\": \"totals\",\n"
    "   \"guarantee\": \"exactly once: cut back to the length in the last commit\",\n"
    "   \"key\": [],\n"
    "   \"kind\": \"file\",\n"
    "   \"name\": \"total_rows\",\n"
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
    "    \"totals\"\n"
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
    " \"pipeline\": \"traffic\",\n"
    " \"stages\": [\n"
    "  {\n"
    "   \"source\": \"events\",\n"
    "   \"stage\": 0,\n"
    "   \"states\": [\n"
    "    {\n"
    "     \"delay_ms\": 0,\n"
    "     \"phase\": \"local\",\n"
    "     \"stream\": \"totals\"\n"
    "    }\n"
    "   ]\n"
    "  }\n"
    " ]\n"
    "}\n";

static const struct pipe_plan plan = {
    .abi = PIPE_RUNTIME_ABI,
    .name = "traffic",
    .hash = "f80c113fe0d71809",
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
    .traffics = traffics,
    .traffic_count = 1,
};

int main(int argc, char **argv)
{
    return pipe_main(&plan, argc, argv);
}
