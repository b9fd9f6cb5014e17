/* clickstream.c: pipeline clickstream, compiled from clickstream.pipe by pipec. Change that
 * file, not this. */
#include "pipe.h"

#if PIPE_RUNTIME_ABI != 1
#error "this file and libpipe do not fit together: compile the pipeline again"
#endif

/* ----------------------------------------------------------------------------------------------
 * Rows
 * ---------------------------------------------------------------------------------------------- */

struct click {
    struct pipe_str event_id;
    struct pipe_str session_id;
    struct pipe_str user_id;
    struct pipe_str event_type;
    struct pipe_str product_id;
    struct pipe_str category;
    struct pipe_str country;
    int64_t price_cents;
    struct pipe_str currency;
    struct pipe_str url;
    struct pipe_str referrer;
    struct pipe_str user_agent;
    int64_t occurred_at;
    bool product_id_null;
    bool price_cents_null;
    bool referrer_null;
};

struct by_category {
    int64_t window_start;
    int64_t window_end;
    struct pipe_str category;
    struct pipe_str country;
    int64_t events;
    int64_t revenue_cents;
};

struct sessions {
    int64_t window_start;
    int64_t window_end;
    struct pipe_str session_id;
    int64_t events;
    int64_t started_at;
    int64_t ended_at;
};

struct late_clicks {
    struct pipe_str event_id;
    struct pipe_str session_id;
    struct pipe_str user_id;
    struct pipe_str event_type;
    struct pipe_str product_id;
    struct pipe_str category;
    struct pipe_str country;
    int64_t price_cents;
    struct pipe_str currency;
    struct pipe_str url;
    struct pipe_str referrer;
    struct pipe_str user_agent;
    int64_t occurred_at;
    struct pipe_str late_for;
    int64_t window_end;
    int64_t watermark;
    bool product_id_null;
    bool price_cents_null;
    bool referrer_null;
};

/* ----------------------------------------------------------------------------------------------
 * Indexes in the tables below
 * ---------------------------------------------------------------------------------------------- */

enum {
    STREAM_clicks,
    STREAM_valid,
    STREAM_clean,
    STREAM_by_category,
    STREAM_sessions,
    STREAM_rejected,
    STREAM_late_clicks,
};

enum {
    STAGE_clicks,
    STAGE_by_category,
};

enum {
    EXCHANGE_by_category,
};

enum {
    SINK_valid_topic,
    SINK_clean_topic,
    SINK_windows_topic,
    SINK_sessions_topic,
    SINK_late_topic,
    SINK_dead_letters,
    SINK_clean_olap,
    SINK_windows_olap,
    SINK_sessions_olap,
    SINK_dlq_olap,
    SINK_clean_lake,
};

enum { STATE_clean = 0 };
enum { STATE_by_category = 1 };
enum { STATE_sessions = 2 };

/* ----------------------------------------------------------------------------------------------
 * What the runtime knows of the rows
 * ---------------------------------------------------------------------------------------------- */

static const struct pipe_type type_timestamp_ms = {.kind = PIPE_TIMESTAMP_MS};
static const struct pipe_type type_string = {.kind = PIPE_STRING};
static const struct pipe_type type_int64 = {.kind = PIPE_INT64};

static const struct pipe_column by_category_columns[] = {
    {"window_start", &type_timestamp_ms, offsetof(struct by_category, window_start),
     .null_offset = PIPE_NOT_NULL},
    {"window_end", &type_timestamp_ms, offsetof(struct by_category, window_end),
     .null_offset = PIPE_NOT_NULL},
    {"category", &type_string, offsetof(struct by_category, category),
     .null_offset = PIPE_NOT_NULL},
    {"country", &type_string, offsetof(struct by_category, country), .null_offset = PIPE_NOT_NULL},
    {"events", &type_int64, offsetof(struct by_category, events), .null_offset = PIPE_NOT_NULL},
    {"revenue_cents", &type_int64, offsetof(struct by_category, revenue_cents),
     .null_offset = PIPE_NOT_NULL},
};
static const struct pipe_row_type by_category_type = {"by_category", by_category_columns, 6,
                                                      sizeof(struct by_category)};


static const struct pipe_column click_columns[] = {
    {"event_id", &type_string, offsetof(struct click, event_id), .null_offset = PIPE_NOT_NULL},
    {"session_id", &type_string, offsetof(struct click, session_id), .null_offset = PIPE_NOT_NULL},
    {"user_id", &type_string, offsetof(struct click, user_id), .null_offset = PIPE_NOT_NULL,
     .has_default = true, .default_json = "\"\""},
    {"event_type", &type_string, offsetof(struct click, event_type), .null_offset = PIPE_NOT_NULL},
    {"product_id", &type_string, offsetof(struct click, product_id),
     .null_offset = offsetof(struct click, product_id_null), .null_first = true,
     .has_default = true, .default_json = "null"},
    {"category", &type_string, offsetof(struct click, category), .null_offset = PIPE_NOT_NULL},
    {"country", &type_string, offsetof(struct click, country), .null_offset = PIPE_NOT_NULL},
    {"price_cents", &type_int64, offsetof(struct click, price_cents),
     .null_offset = offsetof(struct click, price_cents_null), .null_first = true,
     .has_default = true, .default_json = "null"},
    {"currency", &type_string, offsetof(struct click, currency), .null_offset = PIPE_NOT_NULL,
     .has_default = true, .default_json = "\"EUR\""},
    {"url", &type_string, offsetof(struct click, url), .null_offset = PIPE_NOT_NULL,
     .has_default = true, .default_json = "\"\""},
    {"referrer", &type_string, offsetof(struct click, referrer),
     .null_offset = offsetof(struct click, referrer_null), .null_first = true, .has_default = true,
     .default_json = "null"},
    {"user_agent", &type_string, offsetof(struct click, user_agent), .null_offset = PIPE_NOT_NULL,
     .has_default = true, .default_json = "\"\""},
    {"occurred_at", &type_timestamp_ms, offsetof(struct click, occurred_at),
     .null_offset = PIPE_NOT_NULL},
};
static const struct pipe_row_type click_type = {"click", click_columns, 13, sizeof(struct click)};


static const struct pipe_column sessions_columns[] = {
    {"window_start", &type_timestamp_ms, offsetof(struct sessions, window_start),
     .null_offset = PIPE_NOT_NULL},
    {"window_end", &type_timestamp_ms, offsetof(struct sessions, window_end),
     .null_offset = PIPE_NOT_NULL},
    {"session_id", &type_string, offsetof(struct sessions, session_id),
     .null_offset = PIPE_NOT_NULL},
    {"events", &type_int64, offsetof(struct sessions, events), .null_offset = PIPE_NOT_NULL},
    {"started_at", &type_timestamp_ms, offsetof(struct sessions, started_at),
     .null_offset = PIPE_NOT_NULL},
    {"ended_at", &type_timestamp_ms, offsetof(struct sessions, ended_at),
     .null_offset = PIPE_NOT_NULL},
};
static const struct pipe_row_type sessions_type = {"sessions", sessions_columns, 6,
                                                   sizeof(struct sessions)};


static const struct pipe_column late_clicks_columns[] = {
    {"event_id", &type_string, offsetof(struct late_clicks, event_id),
     .null_offset = PIPE_NOT_NULL},
    {"session_id", &type_string, offsetof(struct late_clicks, session_id),
     .null_offset = PIPE_NOT_NULL},
    {"user_id", &type_string, offsetof(struct late_clicks, user_id), .null_offset = PIPE_NOT_NULL,
     .has_default = true, .default_json = "\"\""},
    {"event_type", &type_string, offsetof(struct late_clicks, event_type),
     .null_offset = PIPE_NOT_NULL},
    {"product_id", &type_string, offsetof(struct late_clicks, product_id),
     .null_offset = offsetof(struct late_clicks, product_id_null), .null_first = true,
     .has_default = true, .default_json = "null"},
    {"category", &type_string, offsetof(struct late_clicks, category),
     .null_offset = PIPE_NOT_NULL},
    {"country", &type_string, offsetof(struct late_clicks, country), .null_offset = PIPE_NOT_NULL},
    {"price_cents", &type_int64, offsetof(struct late_clicks, price_cents),
     .null_offset = offsetof(struct late_clicks, price_cents_null), .null_first = true,
     .has_default = true, .default_json = "null"},
    {"currency", &type_string, offsetof(struct late_clicks, currency),
     .null_offset = PIPE_NOT_NULL, .has_default = true, .default_json = "\"EUR\""},
    {"url", &type_string, offsetof(struct late_clicks, url), .null_offset = PIPE_NOT_NULL,
     .has_default = true, .default_json = "\"\""},
    {"referrer", &type_string, offsetof(struct late_clicks, referrer),
     .null_offset = offsetof(struct late_clicks, referrer_null), .null_first = true,
     .has_default = true, .default_json = "null"},
    {"user_agent", &type_string, offsetof(struct late_clicks, user_agent),
     .null_offset = PIPE_NOT_NULL, .has_default = true, .default_json = "\"\""},
    {"occurred_at", &type_timestamp_ms, offsetof(struct late_clicks, occurred_at),
     .null_offset = PIPE_NOT_NULL},
    {"late_for", &type_string, offsetof(struct late_clicks, late_for),
     .null_offset = PIPE_NOT_NULL},
    {"window_end", &type_timestamp_ms, offsetof(struct late_clicks, window_end),
     .null_offset = PIPE_NOT_NULL},
    {"watermark", &type_timestamp_ms, offsetof(struct late_clicks, watermark),
     .null_offset = PIPE_NOT_NULL},
};
static const struct pipe_row_type late_clicks_type = {"late_clicks", late_clicks_columns, 16,
                                                      sizeof(struct late_clicks)};

/* ----------------------------------------------------------------------------------------------
 * Decoders, one a version of a contract
 * ---------------------------------------------------------------------------------------------- */

static bool decode_click_v2(struct pipe_reader *r, void *into)
{
    struct click *row = into;

    if (!pipe_avro_string(r, &row->event_id))
        return pipe_reader_at(r, "event_id");
    if (!pipe_avro_string(r, &row->session_id))
        return pipe_reader_at(r, "session_id");
    if (!pipe_avro_string(r, &row->user_id))
        return pipe_reader_at(r, "user_id");
    if (!pipe_avro_string(r, &row->event_type))
        return pipe_reader_at(r, "event_type");
    if (!pipe_avro_nullable(r, true, &row->product_id_null) ||
        (!row->product_id_null && !pipe_avro_string(r, &row->product_id)))
        return pipe_reader_at(r, "product_id");
    if (!pipe_avro_string(r, &row->category))
        return pipe_reader_at(r, "category");
    if (!pipe_avro_string(r, &row->country))
        return pipe_reader_at(r, "country");
    if (!pipe_avro_nullable(r, true, &row->price_cents_null) ||
        (!row->price_cents_null && !pipe_avro_long(r, &row->price_cents)))
        return pipe_reader_at(r, "price_cents");
    if (!pipe_avro_string(r, &row->currency))
        return pipe_reader_at(r, "currency");
    if (!pipe_avro_string(r, &row->url))
        return pipe_reader_at(r, "url");
    if (!pipe_avro_nullable(r, true, &row->referrer_null) ||
        (!row->referrer_null && !pipe_avro_string(r, &row->referrer)))
        return pipe_reader_at(r, "referrer");
    if (!pipe_avro_string(r, &row->user_agent))
        return pipe_reader_at(r, "user_agent");
    if (!pipe_avro_timestamp_ms(r, &row->occurred_at))
        return pipe_reader_at(r, "occurred_at");
    return true;
}

static bool decode_click_v1(struct pipe_reader *r, void *into)
{
    struct click *row = into;

    if (!pipe_avro_string(r, &row->event_id))
        return pipe_reader_at(r, "event_id");
    if (!pipe_avro_string(r, &row->session_id))
        return pipe_reader_at(r, "session_id");
    if (!pipe_avro_string(r, &row->user_id))
        return pipe_reader_at(r, "user_id");
    if (!pipe_avro_string(r, &row->event_type))
        return pipe_reader_at(r, "event_type");
    if (!pipe_avro_nullable(r, true, &row->product_id_null) ||
        (!row->product_id_null && !pipe_avro_string(r, &row->product_id)))
        return pipe_reader_at(r, "product_id");
    if (!pipe_avro_string(r, &row->category))
        return pipe_reader_at(r, "category");
    if (!pipe_avro_string(r, &row->country))
        return pipe_reader_at(r, "country");
    if (!pipe_avro_nullable(r, true, &row->price_cents_null) ||
        (!row->price_cents_null && !pipe_avro_long(r, &row->price_cents)))
        return pipe_reader_at(r, "price_cents");
    if (!pipe_avro_string(r, &row->url))
        return pipe_reader_at(r, "url");
    if (!pipe_avro_string(r, &row->user_agent))
        return pipe_reader_at(r, "user_agent");
    if (!pipe_avro_timestamp_ms(r, &row->occurred_at))
        return pipe_reader_at(r, "occurred_at");
    row->currency = PIPE_STR("EUR");
    row->referrer_null = true;
    return true;
}

/* ----------------------------------------------------------------------------------------------
 * Contracts
 * ---------------------------------------------------------------------------------------------- */

static const struct pipe_contract_version versions_click[] = {
    {
        .label = "v2",
        .fingerprint = UINT64_C(0x1b98a7d6a062f5a2),
        .decode = decode_click_v2,
        .schema_json =
            "{\"type\":\"record\",\"name\":\"click\","
            "\"namespace\":\"com.lumenandloom.events\",\"doc\":\"One event of the Lumen "
            "& Loom storefront. Adds currency and referrer.\","
            "\"fields\":[{\"name\":\"event_id\",\"type\":\"string\",\"doc\":\"UUID text "
            "made by the browser; the same for every retry of one event\"},"
            "{\"name\":\"session_id\",\"type\":\"string\",\"doc\":\"UUID text of the "
            "visit; producers partition by it\"},{\"name\":\"user_id\","
            "\"type\":\"string\",\"default\":\"\",\"doc\":\"account, or empty before "
            "sign-in\"},{\"name\":\"event_type\",\"type\":\"string\",\"doc\":\"page_view,"
            " product_view, add_to_cart, checkout or purchase\"},"
            "{\"name\":\"product_id\",\"type\":[\"null\",\"string\"],\"default\":null,"
            "\"doc\":\"the product shown or bought; null on pages without one\"},"
            "{\"name\":\"category\",\"type\":\"string\",\"doc\":\"department of the "
            "page\"},{\"name\":\"country\",\"type\":\"string\",\"doc\":\"ISO 3166-1 "
            "alpha-2\"},{\"name\":\"price_cents\",\"type\":[\"null\",\"long\"],"
            "\"default\":null,\"doc\":\"price in the currency's smallest unit; null "
            "where no price is shown\"},{\"name\":\"currency\",\"type\":\"string\","
            "\"default\":\"EUR\",\"doc\":\"ISO 4217; all prices were in euro before "
            "version 2\"},{\"name\":\"url\",\"type\":\"string\",\"default\":\"\","
            "\"doc\":\"address of the page, without fragment\"},{\"name\":\"referrer\","
            "\"type\":[\"null\",\"string\"],\"default\":null,\"doc\":\"the page before, "
            "null if there was none\"},{\"name\":\"user_agent\",\"type\":\"string\","
            "\"default\":\"\",\"doc\":\"as the browser sent it\"},"
            "{\"name\":\"occurred_at\",\"type\":{\"type\":\"long\","
            "\"logicalType\":\"timestamp-millis\"},\"doc\":\"when it happened, by the "
            "browser's clock corrected by the edge\"}]}",
    },
    {
        .label = "v1",
        .fingerprint = UINT64_C(0x96013df69e9871c5),
        .decode = decode_click_v1,
        .schema_json =
            "{\"type\":\"record\",\"name\":\"click\","
            "\"namespace\":\"com.lumenandloom.events\",\"doc\":\"One event of the Lumen "
            "& Loom storefront.\",\"fields\":[{\"name\":\"event_id\",\"type\":\"string\","
            "\"doc\":\"UUID text made by the browser; the same for every retry of one "
            "event\"},{\"name\":\"session_id\",\"type\":\"string\",\"doc\":\"UUID text "
            "of the visit; producers partition by it\"},{\"name\":\"user_id\","
            "\"type\":\"string\",\"default\":\"\",\"doc\":\"account, or empty before "
            "sign-in\"},{\"name\":\"event_type\",\"type\":\"string\",\"doc\":\"page_view,"
            " product_view, add_to_cart, checkout or purchase\"},"
            "{\"name\":\"product_id\",\"type\":[\"null\",\"string\"],\"default\":null,"
            "\"doc\":\"the product shown or bought; null on pages without one\"},"
            "{\"name\":\"category\",\"type\":\"string\",\"doc\":\"department of the "
            "page\"},{\"name\":\"country\",\"type\":\"string\",\"doc\":\"ISO 3166-1 "
            "alpha-2\"},{\"name\":\"price_cents\",\"type\":[\"null\",\"long\"],"
            "\"default\":null,\"doc\":\"price in the currency's smallest unit; null "
            "where no price is shown\"},{\"name\":\"url\",\"type\":\"string\","
            "\"default\":\"\",\"doc\":\"address of the page, without fragment\"},"
            "{\"name\":\"user_agent\",\"type\":\"string\",\"default\":\"\",\"doc\":\"as "
            "the browser sent it\"},{\"name\":\"occurred_at\","
            "\"type\":{\"type\":\"long\",\"logicalType\":\"timestamp-millis\"},"
            "\"doc\":\"when it happened, by the browser's clock corrected by the "
            "edge\"}]}",
    },
};

static const struct pipe_contract contract_click = {
    .name = "click",
    .row = &click_type,
    .versions = versions_click,
    .version_count = 2,
};

/* ----------------------------------------------------------------------------------------------
 * JSON
 * ---------------------------------------------------------------------------------------------- */

static void json_of_click(struct pipe_buf *buf, const struct click *row)
{
    PIPE_JSON_RAW(buf, "{\"event_id\":");
    pipe_json_string(buf, row->event_id);
    PIPE_JSON_RAW(buf, ",\"session_id\":");
    pipe_json_string(buf, row->session_id);
    PIPE_JSON_RAW(buf, ",\"user_id\":");
    pipe_json_string(buf, row->user_id);
    PIPE_JSON_RAW(buf, ",\"event_type\":");
    pipe_json_string(buf, row->event_type);
    PIPE_JSON_RAW(buf, ",\"product_id\":");
    if (row->product_id_null)
        pipe_json_null(buf);
    else
        pipe_json_string(buf, row->product_id);
    PIPE_JSON_RAW(buf, ",\"category\":");
    pipe_json_string(buf, row->category);
    PIPE_JSON_RAW(buf, ",\"country\":");
    pipe_json_string(buf, row->country);
    PIPE_JSON_RAW(buf, ",\"price_cents\":");
    if (row->price_cents_null)
        pipe_json_null(buf);
    else
        pipe_json_i64(buf, row->price_cents);
    PIPE_JSON_RAW(buf, ",\"currency\":");
    pipe_json_string(buf, row->currency);
    PIPE_JSON_RAW(buf, ",\"url\":");
    pipe_json_string(buf, row->url);
    PIPE_JSON_RAW(buf, ",\"referrer\":");
    if (row->referrer_null)
        pipe_json_null(buf);
    else
        pipe_json_string(buf, row->referrer);
    PIPE_JSON_RAW(buf, ",\"user_agent\":");
    pipe_json_string(buf, row->user_agent);
    PIPE_JSON_RAW(buf, ",\"occurred_at\":");
    pipe_json_timestamp_ms(buf, row->occurred_at);
    PIPE_JSON_RAW(buf, "}");
}

static void json_of_by_category(struct pipe_buf *buf, const struct by_category *row)
{
    PIPE_JSON_RAW(buf, "{\"window_start\":");
    pipe_json_timestamp_ms(buf, row->window_start);
    PIPE_JSON_RAW(buf, ",\"window_end\":");
    pipe_json_timestamp_ms(buf, row->window_end);
    PIPE_JSON_RAW(buf, ",\"category\":");
    pipe_json_string(buf, row->category);
    PIPE_JSON_RAW(buf, ",\"country\":");
    pipe_json_string(buf, row->country);
    PIPE_JSON_RAW(buf, ",\"events\":");
    pipe_json_i64(buf, row->events);
    PIPE_JSON_RAW(buf, ",\"revenue_cents\":");
    pipe_json_i64(buf, row->revenue_cents);
    PIPE_JSON_RAW(buf, "}");
}

static void json_of_sessions(struct pipe_buf *buf, const struct sessions *row)
{
    PIPE_JSON_RAW(buf, "{\"window_start\":");
    pipe_json_timestamp_ms(buf, row->window_start);
    PIPE_JSON_RAW(buf, ",\"window_end\":");
    pipe_json_timestamp_ms(buf, row->window_end);
    PIPE_JSON_RAW(buf, ",\"session_id\":");
    pipe_json_string(buf, row->session_id);
    PIPE_JSON_RAW(buf, ",\"events\":");
    pipe_json_i64(buf, row->events);
    PIPE_JSON_RAW(buf, ",\"started_at\":");
    pipe_json_timestamp_ms(buf, row->started_at);
    PIPE_JSON_RAW(buf, ",\"ended_at\":");
    pipe_json_timestamp_ms(buf, row->ended_at);
    PIPE_JSON_RAW(buf, "}");
}

static void json_of_pipe_reject(struct pipe_buf *buf, const struct pipe_reject *row)
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
    PIPE_JSON_RAW(buf, ",\"topic\":");
    if (row->topic_null)
        pipe_json_null(buf);
    else
        pipe_json_string(buf, row->topic);
    PIPE_JSON_RAW(buf, ",\"partition\":");
    if (row->partition_null)
        pipe_json_null(buf);
    else
        pipe_json_i64(buf, row->partition);
    PIPE_JSON_RAW(buf, ",\"offset\":");
    if (row->offset_null)
        pipe_json_null(buf);
    else
        pipe_json_i64(buf, row->offset);
    PIPE_JSON_RAW(buf, ",\"kafka_time\":");
    if (row->kafka_time_null)
        pipe_json_null(buf);
    else
        pipe_json_timestamp_ms(buf, row->kafka_time);
    PIPE_JSON_RAW(buf, ",\"key\":");
    if (row->key_null)
        pipe_json_null(buf);
    else
        pipe_json_base64(buf, row->key);
    PIPE_JSON_RAW(buf, ",\"payload\":");
    if (row->payload_null)
        pipe_json_null(buf);
    else
        pipe_json_base64(buf, row->payload);
    PIPE_JSON_RAW(buf, "}");
}

static void json_of_late_clicks(struct pipe_buf *buf, const struct late_clicks *row)
{
    PIPE_JSON_RAW(buf, "{\"event_id\":");
    pipe_json_string(buf, row->event_id);
    PIPE_JSON_RAW(buf, ",\"session_id\":");
    pipe_json_string(buf, row->session_id);
    PIPE_JSON_RAW(buf, ",\"user_id\":");
    pipe_json_string(buf, row->user_id);
    PIPE_JSON_RAW(buf, ",\"event_type\":");
    pipe_json_string(buf, row->event_type);
    PIPE_JSON_RAW(buf, ",\"product_id\":");
    if (row->product_id_null)
        pipe_json_null(buf);
    else
        pipe_json_string(buf, row->product_id);
    PIPE_JSON_RAW(buf, ",\"category\":");
    pipe_json_string(buf, row->category);
    PIPE_JSON_RAW(buf, ",\"country\":");
    pipe_json_string(buf, row->country);
    PIPE_JSON_RAW(buf, ",\"price_cents\":");
    if (row->price_cents_null)
        pipe_json_null(buf);
    else
        pipe_json_i64(buf, row->price_cents);
    PIPE_JSON_RAW(buf, ",\"currency\":");
    pipe_json_string(buf, row->currency);
    PIPE_JSON_RAW(buf, ",\"url\":");
    pipe_json_string(buf, row->url);
    PIPE_JSON_RAW(buf, ",\"referrer\":");
    if (row->referrer_null)
        pipe_json_null(buf);
    else
        pipe_json_string(buf, row->referrer);
    PIPE_JSON_RAW(buf, ",\"user_agent\":");
    pipe_json_string(buf, row->user_agent);
    PIPE_JSON_RAW(buf, ",\"occurred_at\":");
    pipe_json_timestamp_ms(buf, row->occurred_at);
    PIPE_JSON_RAW(buf, ",\"late_for\":");
    pipe_json_string(buf, row->late_for);
    PIPE_JSON_RAW(buf, ",\"window_end\":");
    pipe_json_timestamp_ms(buf, row->window_end);
    PIPE_JSON_RAW(buf, ",\"watermark\":");
    pipe_json_timestamp_ms(buf, row->watermark);
    PIPE_JSON_RAW(buf, "}");
}

/* ----------------------------------------------------------------------------------------------
 * Streams, in the order of the data
 * ---------------------------------------------------------------------------------------------- */

static void push_valid(struct pipe_task *task, const struct pipe_record *record,
                       const struct click *row);
static void push_clean(struct pipe_task *task, const struct pipe_record *record,
                       const struct click *row);
static void push_by_category(struct pipe_task *task, const struct pipe_record *record,
                             const struct click *row);
static void push_sessions(struct pipe_task *task, const struct pipe_record *record,
                          const struct click *row);
static void push_rejected(struct pipe_task *task, const struct pipe_record *record,
                          const struct pipe_reject *row);
static void reject_rejected(struct pipe_task *task, const struct pipe_record *record,
                            const char *reason, const char *rule, const char *detail);
static void push_late_clicks(struct pipe_task *task, const struct pipe_record *record,
                             const struct late_clicks *row);

/* ---- source clicks  (clickstream.pipe:10) ---- */

static void out_clicks(struct pipe_task *task, const struct pipe_record *record,
                       const struct click *row)
{
    task->counters[STREAM_clicks].out++;
    push_valid(task, record, row);
}

/* ---- stream valid from clicks  (clickstream.pipe:17) ---- */

/* sink valid_topic from valid to kafka topic 'events.valid' key event_id exactly once
 * (clickstream.pipe:48) */
static void sink_valid_topic(struct pipe_task *task, const struct pipe_record *record,
                             const struct click *row)
{
    struct pipe_str key = row->event_id;

    if (!pipe_encoded(task, row, (const void *)json_of_click))
        json_of_click(&task->value, row);
    pipe_emit(task, SINK_valid_topic, record, key, pipe_str_of(task->value.data, task->value.size));
}

static void out_valid(struct pipe_task *task, const struct pipe_record *record,
                      const struct click *row)
{
    task->counters[STREAM_valid].out++;
    if (!pipe_discards(task)) {
        sink_valid_topic(task, record, row);
    }
    push_clean(task, record, row);
}

/* require event_id <> '' else 'event_id_missing' (clickstream.pipe:18) */
static bool valid_require_1(const struct click *row)
{
    return row->event_id.size != 0;
}

/* require length(country) = 2 else 'country_not_iso2' (clickstream.pipe:19) */
static bool valid_require_2(const struct click *row)
{
    return pipe_fn_length(row->country) == 2;
}

/* require price_cents is null or price_cents between 0 and 10_000_000 else 'price_out_of_range'
 * (clickstream.pipe:20) */
static bool valid_require_3(const struct click *row)
{
    return row->price_cents_null || (row->price_cents >= 0 && row->price_cents <= 10000000);
}

/* require event_type <> 'purchase' or price_cents is not null else 'purchase_without_price'
 * (clickstream.pipe:21) */
static bool valid_require_4(const struct click *row)
{
    return !pipe_str_equal(row->event_type, PIPE_STR("purchase")) || !row->price_cents_null;
}

static void push_valid(struct pipe_task *task, const struct pipe_record *record,
                       const struct click *row)
{
    struct pipe_counters *count = &task->counters[STREAM_valid];

    count->in++;
    if (!valid_require_1(row)) {
        count->rejected++;
        reject_rejected(task, record, "event_id_missing", "valid", NULL);
        return;
    }
    if (!valid_require_2(row)) {
        count->rejected++;
        reject_rejected(task, record, "country_not_iso2", "valid", NULL);
        return;
    }
    if (!valid_require_3(row)) {
        count->rejected++;
        reject_rejected(task, record, "price_out_of_range", "valid", NULL);
        return;
    }
    if (!valid_require_4(row)) {
        count->rejected++;
        reject_rejected(task, record, "purchase_without_price", "valid", NULL);
        return;
    }
    count->passed++;
    out_valid(task, record, row);
}

/* ---- stream clean from valid  (clickstream.pipe:24) ---- */

/* sink clean_topic from clean to kafka topic 'events.clean' key session_id exactly once
 * (clickstream.pipe:49) */
static void sink_clean_topic(struct pipe_task *task, const struct pipe_record *record,
                             const struct click *row)
{
    struct pipe_str key = row->session_id;

    if (!pipe_encoded(task, row, (const void *)json_of_click))
        json_of_click(&task->value, row);
    pipe_emit(task, SINK_clean_topic, record, key, pipe_str_of(task->value.data, task->value.size));
}

/* sink clean_olap from clean to clickhouse table 'lumen.events' order by occurred_at, event_id
 * rollup 'lumen.by_minute' by minute(occurred_at), category, country aggregate count() as
 * events, sum(price_cents) as revenue_cents commit every 200ms exactly once
 * (clickstream.pipe:55) */
static void sink_clean_olap(struct pipe_task *task, const struct pipe_record *record,
                            const struct click *row)
{
    if (!pipe_encoded(task, row, (const void *)json_of_click))
        json_of_click(&task->value, row);
    pipe_emit(task, SINK_clean_olap, record, pipe_str_of(NULL, 0),
              pipe_str_of(task->value.data, task->value.size));
}

/* sink clean_lake from clean to iceberg table 'lumen.events' partition by day(occurred_at)
 * commit every 10s or 128MiB exactly once (clickstream.pipe:66) */
static void sink_clean_lake(struct pipe_task *task, const struct pipe_record *record,
                            const struct click *row)
{
    if (!pipe_encoded(task, row, (const void *)json_of_click))
        json_of_click(&task->value, row);
    pipe_emit(task, SINK_clean_lake, record, pipe_str_of(NULL, 0),
              pipe_str_of(task->value.data, task->value.size));
}

static void out_clean(struct pipe_task *task, const struct pipe_record *record,
                      const struct click *row)
{
    task->counters[STREAM_clean].out++;
    if (!pipe_discards(task)) {
        sink_clean_topic(task, record, row);
        sink_clean_olap(task, record, row);
        sink_clean_lake(task, record, row);
    }
    push_by_category(task, record, row);
    push_sessions(task, record, row);
}

/* The key: session_id, event_id. */
static void key_clean(struct pipe_buf *key, const struct click *row)
{
    key->size = 0;
    pipe_key_add_str(key, row->session_id);
    pipe_key_add_str(key, row->event_id);
}

/* dedup by session_id, event_id within 24h (clickstream.pipe:25) */
static void keep_clean(struct pipe_task *task, const struct pipe_record *record,
                       const struct click *row)
{
    bool is_ahead = pipe_is_ahead(task, row);

    if (!is_ahead)
        key_clean(&task->key, row);
    switch (pipe_dedup(task, STATE_clean, record, is_ahead)) {
    case PIPE_UNIQUE:
        out_clean(task, record, row);
        break;
    case PIPE_DUPLICATE:
        break;
    case PIPE_TOO_OLD:
        reject_rejected(task, record, "too_old_to_dedup", "clean", NULL);
        break;
    }
}

static void push_clean(struct pipe_task *task, const struct pipe_record *record,
                       const struct click *row)
{
    struct pipe_counters *count = &task->counters[STREAM_clean];

    count->in++;
    count->passed++;
    keep_clean(task, record, row);
}

/* ---- stream by_category from clean  (clickstream.pipe:28) ---- */

static struct pipe_str key_text_of_windows_topic(struct pipe_buf *text,
                                                 const struct by_category *row)
{
    text->size = 0;
    PIPE_JSON_RAW(text, "[");
    pipe_json_string(text, row->category);
    PIPE_JSON_RAW(text, ",");
    pipe_json_string(text, row->country);
    PIPE_JSON_RAW(text, "]");
    return pipe_str_of(text->data, text->size);
}

/* sink windows_topic from by_category to kafka topic 'agg.windows' key category, country exactly
 * once (clickstream.pipe:50) */
static void sink_windows_topic(struct pipe_task *task, const struct pipe_record *record,
                               const struct by_category *row)
{
    struct pipe_str key = key_text_of_windows_topic(&task->key, row);

    if (!pipe_encoded(task, row, (const void *)json_of_by_category))
        json_of_by_category(&task->value, row);
    pipe_emit(task, SINK_windows_topic, record, key,
              pipe_str_of(task->value.data, task->value.size));
}

/* sink windows_olap from by_category to clickhouse table 'lumen.windows' exactly once
 * (clickstream.pipe:62) */
static void sink_windows_olap(struct pipe_task *task, const struct pipe_record *record,
                              const struct by_category *row)
{
    if (!pipe_encoded(task, row, (const void *)json_of_by_category))
        json_of_by_category(&task->value, row);
    pipe_emit(task, SINK_windows_olap, record, pipe_str_of(NULL, 0),
              pipe_str_of(task->value.data, task->value.size));
}

static void out_by_category(struct pipe_task *task, const struct pipe_record *record,
                            const struct by_category *row)
{
    task->counters[STREAM_by_category].out++;
    if (!pipe_discards(task)) {
        sink_windows_topic(task, record, row);
        sink_windows_olap(task, record, row);
    }
}

/* The key: category, country. */
static void key_by_category(struct pipe_buf *key, const struct click *row)
{
    key->size = 0;
    pipe_key_add_str(key, row->category);
    pipe_key_add_str(key, row->country);
}

/* window tumbling 10s (clickstream.pipe:29) */
struct by_category_acc {
    struct pipe_count events;
    struct pipe_sum_int revenue_cents;
};

static void by_category_acc_init(void *acc)
{
    struct by_category_acc *of = acc;

    pipe_count_init(&of->events);
    pipe_sum_int_init(&of->revenue_cents);
}

static void by_category_acc_merge(void *into, const void *from)
{
    struct by_category_acc *to = into;
    const struct by_category_acc *other = from;

    pipe_count_merge(&to->events, &other->events);
    pipe_sum_int_merge(&to->revenue_cents, &other->revenue_cents);
}

static void by_category_acc_save(const void *acc, struct pipe_buf *out)
{
    const struct by_category_acc *of = acc;

    pipe_count_save(&of->events, out);
    pipe_sum_int_save(&of->revenue_cents, out);
}

static bool by_category_acc_load(void *acc, struct pipe_reader *in)
{
    struct by_category_acc *to = acc;

    return pipe_count_load(&to->events, in) && pipe_sum_int_load(&to->revenue_cents, in);
}

static void by_category_acc_drop(void *acc)
{
    struct by_category_acc *of = acc;

    pipe_count_drop(&of->events);
    pipe_sum_int_drop(&of->revenue_cents);
}

static const struct pipe_accumulator by_category_accumulator = {
    .size_bytes = sizeof(struct by_category_acc),
    .plain = true,
    .init = by_category_acc_init,
    .merge = by_category_acc_merge,
    .save = by_category_acc_save,
    .load = by_category_acc_load,
    .drop = by_category_acc_drop,
};

static void update_by_category(struct by_category_acc *acc, const struct click *row)
{
    pipe_count_update(&acc->events);
    pipe_sum_int_update(&acc->revenue_cents, !row->price_cents_null ? row->price_cents : 0);
}

/* late to late_clicks: a window that the row missed. */
static void late_by_category(struct pipe_task *task, const struct pipe_record *record,
                             const struct click *row, int64_t window_end)
{
    struct late_clicks out = {0};

    out.event_id = row->event_id;
    out.session_id = row->session_id;
    out.user_id = row->user_id;
    out.event_type = row->event_type;
    out.product_id = row->product_id;
    out.product_id_null = row->product_id_null;
    out.category = row->category;
    out.country = row->country;
    out.price_cents = row->price_cents;
    out.price_cents_null = row->price_cents_null;
    out.currency = row->currency;
    out.url = row->url;
    out.referrer = row->referrer;
    out.referrer_null = row->referrer_null;
    out.user_agent = row->user_agent;
    out.occurred_at = row->occurred_at;
    out.late_for = PIPE_STR("by_category");
    out.window_end = pipe_column_ts_ms(window_end);
    out.watermark = pipe_column_ts_ms(record->watermark);
    pipe_new_row(task);
    push_late_clicks(task, record, &out);
}

static void keep_by_category(struct pipe_task *task, const struct pipe_record *record,
                             const struct click *row)
{
    bool is_ahead = pipe_is_ahead(task, row);

    if (!is_ahead)
        key_by_category(&task->key, row);
    struct pipe_window_hit hit = pipe_window(task, STATE_by_category, record, is_ahead);
    if (hit.acc != NULL)
        update_by_category(hit.acc, row);
    for (uint32_t i = 0; i < hit.late && pipe_may_make(task, record, PIPE_ITEM_BYTES); i++)
        late_by_category(task, record, row, hit.late_end + i * PIPE_SECONDS(10));
}

/* The total of a sum does not fit its column. */
static bool overflow_by_category(struct pipe_task *task, const struct pipe_record *record,
                                 const struct pipe_window_row *window,
                                 const struct by_category *row, const char *column)
{
    struct pipe_buf *text = &task->text;

    text->size = 0;
    pipe_buf_printf(text, "%s: the total is out of range; window [", column);
    pipe_csv_timestamp_ms(text, pipe_column_ts_ms(window->start));
    PIPE_JSON_RAW(text, ", ");
    pipe_csv_timestamp_ms(text, pipe_column_ts_ms(window->end));
    PIPE_JSON_RAW(text, "), group ");
    pipe_key_text(text, &by_category_type, row, (const uint32_t[]){2, 3}, 2);
    pipe_buf_add_byte(text, '\0');
    reject_rejected(task, record, "expression_failed", "by_category", (const char *)text->data);
    return false;
}

/* The row of a window that is due. */
static bool emit_by_category(struct pipe_task *task, const struct pipe_window_row *window)
{
    const struct by_category_acc *acc = window->acc;
    const uint8_t *at = window->key, *end = at + window->key_bytes;
    struct pipe_arena_mark mark = pipe_arena_mark(&task->arena);
    struct by_category out = {0};
    const struct pipe_record record = {
        .kafka_time_ms = window->kafka_time_ms,
        .event_time = window->end - PIPE_MS(1),
        .watermark = window->watermark,
    };

    out.window_start = pipe_column_ts_ms(window->start);
    out.window_end = pipe_column_ts_ms(window->end);
    if (!(pipe_key_str(&at, end, &out.category) && pipe_key_str(&at, end, &out.country))) {
        pipe_fatal(task, "%s: a window's key is damaged", "by_category");
        return false;
    }
    pipe_count_finish(&acc->events, &out.events, NULL);
    if (!pipe_sum_int_finish(&acc->revenue_cents, &out.revenue_cents, NULL))
        return overflow_by_category(task, &record, window, &out, "revenue_cents");
    pipe_new_row(task);
    out_by_category(task, &record, &out);
    pipe_arena_back_to(&task->arena, mark);
    return true;
}

static void push_by_category(struct pipe_task *task, const struct pipe_record *record,
                             const struct click *row)
{
    struct pipe_counters *count = &task->counters[STREAM_by_category];

    count->in++;
    count->passed++;
    keep_by_category(task, record, row);
}

/* ---- stream sessions from clean  (clickstream.pipe:38) ---- */

/* sink sessions_topic from sessions to kafka topic 'agg.sessions' key session_id exactly once
 * (clickstream.pipe:51) */
static void sink_sessions_topic(struct pipe_task *task, const struct pipe_record *record,
                                const struct sessions *row)
{
    struct pipe_str key = row->session_id;

    if (!pipe_encoded(task, row, (const void *)json_of_sessions))
        json_of_sessions(&task->value, row);
    pipe_emit(task, SINK_sessions_topic, record, key,
              pipe_str_of(task->value.data, task->value.size));
}

/* sink sessions_olap from sessions to clickhouse table 'lumen.sessions' commit every 2s exactly
 * once (clickstream.pipe:63) */
static void sink_sessions_olap(struct pipe_task *task, const struct pipe_record *record,
                               const struct sessions *row)
{
    if (!pipe_encoded(task, row, (const void *)json_of_sessions))
        json_of_sessions(&task->value, row);
    pipe_emit(task, SINK_sessions_olap, record, pipe_str_of(NULL, 0),
              pipe_str_of(task->value.data, task->value.size));
}

static void out_sessions(struct pipe_task *task, const struct pipe_record *record,
                         const struct sessions *row)
{
    task->counters[STREAM_sessions].out++;
    if (!pipe_discards(task)) {
        sink_sessions_topic(task, record, row);
        sink_sessions_olap(task, record, row);
    }
}

/* The key: session_id. */
static void key_sessions(struct pipe_buf *key, const struct click *row)
{
    key->size = 0;
    pipe_key_add_str(key, row->session_id);
}

/* window session gap 30s (clickstream.pipe:39) */
struct sessions_acc {
    struct pipe_count events;
    struct pipe_min_int started_at;
    struct pipe_max_int ended_at;
};

static void sessions_acc_init(void *acc)
{
    struct sessions_acc *of = acc;

    pipe_count_init(&of->events);
    pipe_min_int_init(&of->started_at);
    pipe_max_int_init(&of->ended_at);
}

static void sessions_acc_merge(void *into, const void *from)
{
    struct sessions_acc *to = into;
    const struct sessions_acc *other = from;

    pipe_count_merge(&to->events, &other->events);
    pipe_min_int_merge(&to->started_at, &other->started_at);
    pipe_max_int_merge(&to->ended_at, &other->ended_at);
}

static void sessions_acc_save(const void *acc, struct pipe_buf *out)
{
    const struct sessions_acc *of = acc;

    pipe_count_save(&of->events, out);
    pipe_min_int_save(&of->started_at, out);
    pipe_max_int_save(&of->ended_at, out);
}

static bool sessions_acc_load(void *acc, struct pipe_reader *in)
{
    struct sessions_acc *to = acc;

    return pipe_count_load(&to->events, in) && pipe_min_int_load(&to->started_at, in) &&
        pipe_max_int_load(&to->ended_at, in);
}

static void sessions_acc_drop(void *acc)
{
    struct sessions_acc *of = acc;

    pipe_count_drop(&of->events);
    pipe_min_int_drop(&of->started_at);
    pipe_max_int_drop(&of->ended_at);
}

static const struct pipe_accumulator sessions_accumulator = {
    .size_bytes = sizeof(struct sessions_acc),
    .plain = true,
    .init = sessions_acc_init,
    .merge = sessions_acc_merge,
    .save = sessions_acc_save,
    .load = sessions_acc_load,
    .drop = sessions_acc_drop,
};

static void update_sessions(struct sessions_acc *acc, const struct click *row)
{
    pipe_count_update(&acc->events);
    pipe_min_int_update(&acc->started_at, row->occurred_at);
    pipe_max_int_update(&acc->ended_at, row->occurred_at);
}

/* late to late_clicks: a window that the row missed. */
static void late_sessions(struct pipe_task *task, const struct pipe_record *record,
                          const struct click *row, int64_t window_end)
{
    struct late_clicks out = {0};

    out.event_id = row->event_id;
    out.session_id = row->session_id;
    out.user_id = row->user_id;
    out.event_type = row->event_type;
    out.product_id = row->product_id;
    out.product_id_null = row->product_id_null;
    out.category = row->category;
    out.country = row->country;
    out.price_cents = row->price_cents;
    out.price_cents_null = row->price_cents_null;
    out.currency = row->currency;
    out.url = row->url;
    out.referrer = row->referrer;
    out.referrer_null = row->referrer_null;
    out.user_agent = row->user_agent;
    out.occurred_at = row->occurred_at;
    out.late_for = PIPE_STR("sessions");
    out.window_end = pipe_column_ts_ms(window_end);
    out.watermark = pipe_column_ts_ms(record->watermark);
    pipe_new_row(task);
    push_late_clicks(task, record, &out);
}

static void keep_sessions(struct pipe_task *task, const struct pipe_record *record,
                          const struct click *row)
{
    bool is_ahead = pipe_is_ahead(task, row);

    if (!is_ahead)
        key_sessions(&task->key, row);
    struct pipe_window_hit hit = pipe_session(task, STATE_sessions, record, is_ahead);
    if (hit.acc != NULL)
        update_sessions(hit.acc, row);
    if (hit.late > 0)
        late_sessions(task, record, row, hit.late_end);
}

/* The row of a window that is due. */
static bool emit_sessions(struct pipe_task *task, const struct pipe_window_row *window)
{
    if (pipe_discards(task)) { /* nobody reads it */
        task->counters[STREAM_sessions].out++;
        return true;
    }

    const struct sessions_acc *acc = window->acc;
    const uint8_t *at = window->key, *end = at + window->key_bytes;
    struct pipe_arena_mark mark = pipe_arena_mark(&task->arena);
    struct sessions out = {0};
    const struct pipe_record record = {
        .kafka_time_ms = window->kafka_time_ms,
        .event_time = window->end - PIPE_MS(1),
        .watermark = window->watermark,
    };

    out.window_start = pipe_column_ts_ms(window->start);
    out.window_end = pipe_column_ts_ms(window->end);
    if (!(pipe_key_str(&at, end, &out.session_id))) {
        pipe_fatal(task, "%s: a window's key is damaged", "sessions");
        return false;
    }
    pipe_count_finish(&acc->events, &out.events, NULL);
    pipe_min_int_finish(&acc->started_at, &out.started_at, NULL);
    pipe_max_int_finish(&acc->ended_at, &out.ended_at, NULL);
    pipe_new_row(task);
    out_sessions(task, &record, &out);
    pipe_arena_back_to(&task->arena, mark);
    return true;
}

static void push_sessions(struct pipe_task *task, const struct pipe_record *record,
                          const struct click *row)
{
    struct pipe_counters *count = &task->counters[STREAM_sessions];

    count->in++;
    count->passed++;
    keep_sessions(task, record, row);
}

/* ---- reject stream rejected  (clickstream.pipe:15) ---- */

/* sink dead_letters from rejected to kafka topic 'events.dlq' key reason exactly once
 * (clickstream.pipe:53) */
static void sink_dead_letters(struct pipe_task *task, const struct pipe_record *record,
                              const struct pipe_reject *row)
{
    struct pipe_str key = row->reason;

    if (!pipe_encoded(task, row, (const void *)json_of_pipe_reject))
        json_of_pipe_reject(&task->value, row);
    pipe_emit(task, SINK_dead_letters, record, key,
              pipe_str_of(task->value.data, task->value.size));
}

/* sink dlq_olap from rejected to clickhouse table 'lumen.dlq' commit every 2s exactly once
 * (clickstream.pipe:64) */
static void sink_dlq_olap(struct pipe_task *task, const struct pipe_record *record,
                          const struct pipe_reject *row)
{
    if (!pipe_encoded(task, row, (const void *)json_of_pipe_reject))
        json_of_pipe_reject(&task->value, row);
    pipe_emit(task, SINK_dlq_olap, record, pipe_str_of(NULL, 0),
              pipe_str_of(task->value.data, task->value.size));
}

static void out_rejected(struct pipe_task *task, const struct pipe_record *record,
                         const struct pipe_reject *row)
{
    task->counters[STREAM_rejected].out++;
    if (!pipe_discards(task)) {
        sink_dead_letters(task, record, row);
        sink_dlq_olap(task, record, row);
    }
}

static void push_rejected(struct pipe_task *task, const struct pipe_record *record,
                          const struct pipe_reject *row)
{
    struct pipe_counters *count = &task->counters[STREAM_rejected];

    count->in++;
    count->passed++;
    out_rejected(task, record, row);
}

static void reject_rejected(struct pipe_task *task, const struct pipe_record *record,
                            const char *reason, const char *rule, const char *detail)
{
    struct pipe_reject row;

    pipe_reject_fill(&row, record, reason, rule, detail);
    pipe_new_row(task);
    push_rejected(task, record, &row);
}

/* ---- late stream late_clicks  (clickstream.pipe:34) ---- */

/* sink late_topic from late_clicks to kafka topic 'events.late' key session_id exactly once
 * (clickstream.pipe:52) */
static void sink_late_topic(struct pipe_task *task, const struct pipe_record *record,
                            const struct late_clicks *row)
{
    struct pipe_str key = row->session_id;

    if (!pipe_encoded(task, row, (const void *)json_of_late_clicks))
        json_of_late_clicks(&task->value, row);
    pipe_emit(task, SINK_late_topic, record, key, pipe_str_of(task->value.data, task->value.size));
}

static void out_late_clicks(struct pipe_task *task, const struct pipe_record *record,
                            const struct late_clicks *row)
{
    task->counters[STREAM_late_clicks].out++;
    if (!pipe_discards(task)) {
        sink_late_topic(task, record, row);
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

/* ----------------------------------------------------------------------------------------------
 * Records
 * ---------------------------------------------------------------------------------------------- */

/* A row that comes soon: its keys, so that the memory is asked for that they will need. */
static void ahead_clicks(struct pipe_task *task, const void *decoded)
{
    const struct click *row = decoded;

    key_clean(pipe_key_ahead(task, STATE_clean), row);
    key_by_category(pipe_key_ahead(task, STATE_by_category), row);
    key_sessions(pipe_key_ahead(task, STATE_sessions), row);
}

/* ---- a record of source clicks ---- */

static bool refuse_clicks(struct pipe_task *task, const struct pipe_record *record,
                          const char *reason, const char *detail)
{
    struct pipe_counters *count = &task->counters[STREAM_clicks];

    count->source_rejected++;
    reject_rejected(task, record, reason, "clicks", detail);
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

    const struct click *row = decoded;

    reason = pipe_judge_key(task, record, row->session_id);
    if (reason != NULL)
        return refuse_clicks(task, record, reason, task->detail);

    record->event_time = PIPE_MS(row->occurred_at);
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
        .is_kafka = true,
        .target = "clickstream.raw",
        .partitions = 6,
        .format = PIPE_FORMAT_AVRO,
        .contract = &contract_click,
        .row = &click_type,
        .row_bytes = sizeof(struct click),
        .has_event_time = true,
        .ahead = PIPE_MINUTES(5),
        .has_watermark = true,
        .watermark = PIPE_SECONDS(5),
        .idle = PIPE_SECONDS(30),
        .stage = STAGE_clicks,
    },
};

static const struct pipe_stream_def streams[] = {
    [STREAM_clicks] = {.name = "clicks", .kind = PIPE_STREAM_SOURCE},
    [STREAM_valid] = {.name = "valid", .kind = PIPE_STREAM_NORMAL,
                      .inputs = (const uint32_t[]){STREAM_clicks}, .input_count = 1,
                      .has_filters = true},
    [STREAM_clean] = {.name = "clean", .kind = PIPE_STREAM_NORMAL,
                      .inputs = (const uint32_t[]){STREAM_valid}, .input_count = 1,
                      .has_dedup = true},
    [STREAM_by_category] = {.name = "by_category", .kind = PIPE_STREAM_NORMAL,
                            .inputs = (const uint32_t[]){STREAM_clean}, .input_count = 1,
                            .has_window = true, .has_exchange = true},
    [STREAM_sessions] = {.name = "sessions", .kind = PIPE_STREAM_NORMAL,
                         .inputs = (const uint32_t[]){STREAM_clean}, .input_count = 1,
                         .has_window = true},
    [STREAM_rejected] = {.name = "rejected", .kind = PIPE_STREAM_REJECTS,
                         .inputs = (const uint32_t[]){STREAM_clicks, STREAM_valid, STREAM_clean,
                                                      STREAM_by_category}, .input_count = 4},
    [STREAM_late_clicks] = {.name = "late_clicks", .kind = PIPE_STREAM_LATE,
                            .inputs = (const uint32_t[]){STREAM_by_category, STREAM_sessions},
                            .input_count = 2},
};

static const struct pipe_state_def states_of_clicks[] = {
    {
        .kind = PIPE_STATE_DEDUP,
        .name = "clean",
        .stream = STREAM_clean,
        .ttl = PIPE_DAYS(1),
        .phase = PIPE_PHASE_LOCAL,
    },
    {
        .kind = PIPE_STATE_WINDOW,
        .name = "by_category",
        .stream = STREAM_by_category,
        .size = PIPE_SECONDS(10),
        .every = PIPE_SECONDS(10),
        .emit = PIPE_EMIT_CLOSE,
        .phase = PIPE_PHASE_PARTIAL,
        .exchange = EXCHANGE_by_category,
        .acc = &by_category_accumulator,
    },
    {
        .kind = PIPE_STATE_SESSION,
        .name = "sessions",
        .stream = STREAM_sessions,
        .gap = PIPE_SECONDS(30),
        .emit = PIPE_EMIT_CLOSE,
        .phase = PIPE_PHASE_LOCAL,
        .acc = &sessions_accumulator,
        .emit_row = emit_sessions,
    },
};

static const uint32_t exchanges_of_clicks[] = {EXCHANGE_by_category};
static const int64_t delays_of_clicks[] = {0};

static const struct pipe_state_def states_of_by_category[] = {
    {
        .kind = PIPE_STATE_WINDOW,
        .name = "by_category",
        .stream = STREAM_by_category,
        .size = PIPE_SECONDS(10),
        .every = PIPE_SECONDS(10),
        .emit = PIPE_EMIT_CLOSE,
        .phase = PIPE_PHASE_MERGE,
        .exchange = EXCHANGE_by_category,
        .acc = &by_category_accumulator,
        .emit_row = emit_by_category,
    },
};

static const struct pipe_stage_def stages[] = {
    [STAGE_clicks] = {
        .name = "clicks",
        .source = 0,
        .exchange = -1,
        .record = record_clicks,
        .ahead = ahead_clicks,
        .states = states_of_clicks,
        .state_count = 3,
        .exchanges_out = exchanges_of_clicks,
        .exchange_delays = delays_of_clicks,
        .exchange_out_count = 1,
    },
    [STAGE_by_category] = {
        .name = "by_category",
        .source = -1,
        .exchange = 0,
        .record = NULL,
        .states = states_of_by_category,
        .state_count = 1,
    },
};

static const struct pipe_exchange_def exchanges[] = {
    [EXCHANGE_by_category] = {.name = "by_category", .partitions = 6, .partials = true,
                              .to_stage = STAGE_by_category,
                              .reason = "input is partitioned by session_id"},
};

static const struct pipe_table_column clean_olap_columns[] = {
    {"event_id", "String"},
    {"session_id", "String"},
    {"user_id", "String"},
    {"event_type", "String"},
    {"product_id", "Nullable(String)"},
    {"category", "String"},
    {"country", "String"},
    {"price_cents", "Nullable(Int64)"},
    {"currency", "String"},
    {"url", "String"},
    {"referrer", "Nullable(String)"},
    {"user_agent", "String"},
    {"occurred_at", "DateTime64(3, 'UTC')"},
    {"_pipe_partition", "Int32"},
    {"_pipe_offset", "Int64"},
};
static const struct pipe_table_column clean_olap_rollup[] = {
    {"minute", "DateTime64(0, 'UTC')"},
    {"category", "String"},
    {"country", "String"},
    {"events", "SimpleAggregateFunction(sum, Int64)"},
    {"revenue_cents", "SimpleAggregateFunction(sum, Nullable(Int128))"},
};
static const struct pipe_table_rollup clean_olap_rollups[] = {
    {
        .table = "lumen.by_minute",
        .view = "lumen.by_minute_view",
        .order_by = "minute, category, country",
        .columns = clean_olap_rollup,
        .column_count = 5,
        .select =
            "SELECT\n"
            "    _pipe_key_0 AS minute,\n"
            "    _pipe_key_1 AS category,\n"
            "    _pipe_key_2 AS country,\n"
            "    toInt64(count()) AS events,\n"
            "    sum(_pipe_value_1) AS revenue_cents\n"
            "FROM\n"
            "(\n"
            "    SELECT\n"
            "        addSeconds(toDateTime64(0, 0, 'UTC'), "
            "intDiv(toUnixTimestamp64Milli(occurred_at) - "
            "positiveModulo(toUnixTimestamp64Milli(occurred_at), 60000), 1000)) AS "
            "_pipe_key_0,\n"
            "        category AS _pipe_key_1,\n"
            "        country AS _pipe_key_2,\n"
            "        toInt128(price_cents) AS _pipe_value_1\n"
            "    FROM lumen.events\n"
            ")\n"
            "GROUP BY _pipe_key_0, _pipe_key_1, _pipe_key_2",
    },
};
static const struct pipe_table_statement clean_olap_statements[] = {
    {PIPE_TABLE_DATABASE, "lumen",
        "CREATE DATABASE IF NOT EXISTS lumen"},
    {PIPE_TABLE_TABLE, "lumen.events",
        "CREATE TABLE IF NOT EXISTS lumen.events\n"
        "(\n"
        "    event_id String,\n"
        "    session_id String,\n"
        "    user_id String,\n"
        "    event_type String,\n"
        "    product_id Nullable(String),\n"
        "    category String,\n"
        "    country String,\n"
        "    price_cents Nullable(Int64),\n"
        "    currency String,\n"
        "    url String,\n"
        "    referrer Nullable(String),\n"
        "    user_agent String,\n"
        "    occurred_at DateTime64(3, 'UTC'),\n"
        "    _pipe_partition Int32,\n"
        "    _pipe_offset Int64,\n"
        "    INDEX _pipe_position _pipe_offset TYPE minmax GRANULARITY 1\n"
        ")\n"
        "ENGINE = MergeTree\n"
        "ORDER BY (occurred_at, event_id)\n"
        "SETTINGS non_replicated_deduplication_window = 10000, fsync_after_insert = 1, "
        "fsync_part_directory = 1"},
    {PIPE_TABLE_TABLE, "lumen.by_minute",
        "CREATE TABLE IF NOT EXISTS lumen.by_minute\n"
        "(\n"
        "    minute DateTime64(0, 'UTC'),\n"
        "    category String,\n"
        "    country String,\n"
        "    events SimpleAggregateFunction(sum, Int64),\n"
        "    revenue_cents SimpleAggregateFunction(sum, Nullable(Int128))\n"
        ")\n"
        "ENGINE = AggregatingMergeTree\n"
        "ORDER BY (minute, category, country)\n"
        "SETTINGS non_replicated_deduplication_window = 10000, allow_nullable_key = 1"},
    {PIPE_TABLE_MATERIALIZED_VIEW, "lumen.by_minute_view",
        "CREATE MATERIALIZED VIEW IF NOT EXISTS lumen.by_minute_view TO lumen.by_minute "
        "AS\n"
        "SELECT\n"
        "    _pipe_key_0 AS minute,\n"
        "    _pipe_key_1 AS category,\n"
        "    _pipe_key_2 AS country,\n"
        "    toInt64(count()) AS events,\n"
        "    sum(_pipe_value_1) AS revenue_cents\n"
        "FROM\n"
        "(\n"
        "    SELECT\n"
        "        addSeconds(toDateTime64(0, 0, 'UTC'), "
        "intDiv(toUnixTimestamp64Milli(occurred_at) - "
        "positiveModulo(toUnixTimestamp64Milli(occurred_at), 60000), 1000)) AS "
        "_pipe_key_0,\n"
        "        category AS _pipe_key_1,\n"
        "        country AS _pipe_key_2,\n"
        "        toInt128(price_cents) AS _pipe_value_1\n"
        "    FROM lumen.events\n"
        ")\n"
        "GROUP BY _pipe_key_0, _pipe_key_1, _pipe_key_2"},
};
static const struct pipe_table_def clean_olap_table = {
    .name = "lumen.events",
    .keeping = PIPE_TABLE_ALL,
    .engine = "MergeTree",
    .order_by = "occurred_at, event_id",
    .deduplication_window = 10000,
    .columns = clean_olap_columns,
    .column_count = 15,
    .rollups = clean_olap_rollups,
    .rollup_count = 1,
    .statements = clean_olap_statements,
    .statement_count = 4,
};

static const struct pipe_table_column windows_olap_columns[] = {
    {"window_start", "DateTime64(3, 'UTC')"},
    {"window_end", "DateTime64(3, 'UTC')"},
    {"category", "String"},
    {"country", "String"},
    {"events", "Int64"},
    {"revenue_cents", "Int64"},
    {"_pipe_partition", "Int32"},
    {"_pipe_offset", "Int64"},
};
static const struct pipe_table_statement windows_olap_statements[] = {
    {PIPE_TABLE_DATABASE, "lumen",
        "CREATE DATABASE IF NOT EXISTS lumen"},
    {PIPE_TABLE_TABLE, "lumen.windows",
        "CREATE TABLE IF NOT EXISTS lumen.windows\n"
        "(\n"
        "    window_start DateTime64(3, 'UTC'),\n"
        "    window_end DateTime64(3, 'UTC'),\n"
        "    category String,\n"
        "    country String,\n"
        "    events Int64,\n"
        "    revenue_cents Int64,\n"
        "    _pipe_partition Int32,\n"
        "    _pipe_offset Int64,\n"
        "    INDEX _pipe_position _pipe_offset TYPE minmax GRANULARITY 1\n"
        ")\n"
        "ENGINE = MergeTree\n"
        "ORDER BY (category, country, window_start)\n"
        "SETTINGS non_replicated_deduplication_window = 10000, fsync_after_insert = 1, "
        "fsync_part_directory = 1"},
};
static const struct pipe_table_def windows_olap_table = {
    .name = "lumen.windows",
    .keeping = PIPE_TABLE_ALL,
    .engine = "MergeTree",
    .order_by = "category, country, window_start",
    .deduplication_window = 10000,
    .columns = windows_olap_columns,
    .column_count = 8,
    .statements = windows_olap_statements,
    .statement_count = 2,
};

static const struct pipe_table_column sessions_olap_columns[] = {
    {"window_start", "DateTime64(3, 'UTC')"},
    {"window_end", "DateTime64(3, 'UTC')"},
    {"session_id", "String"},
    {"events", "Int64"},
    {"started_at", "DateTime64(3, 'UTC')"},
    {"ended_at", "DateTime64(3, 'UTC')"},
    {"_pipe_partition", "Int32"},
    {"_pipe_offset", "Int64"},
};
static const struct pipe_table_statement sessions_olap_statements[] = {
    {PIPE_TABLE_DATABASE, "lumen",
        "CREATE DATABASE IF NOT EXISTS lumen"},
    {PIPE_TABLE_TABLE, "lumen.sessions",
        "CREATE TABLE IF NOT EXISTS lumen.sessions\n"
        "(\n"
        "    window_start DateTime64(3, 'UTC'),\n"
        "    window_end DateTime64(3, 'UTC'),\n"
        "    session_id String,\n"
        "    events Int64,\n"
        "    started_at DateTime64(3, 'UTC'),\n"
        "    ended_at DateTime64(3, 'UTC'),\n"
        "    _pipe_partition Int32,\n"
        "    _pipe_offset Int64,\n"
        "    INDEX _pipe_position _pipe_offset TYPE minmax GRANULARITY 1\n"
        ")\n"
        "ENGINE = MergeTree\n"
        "ORDER BY (session_id, window_start)\n"
        "SETTINGS non_replicated_deduplication_window = 10000, fsync_after_insert = 1, "
        "fsync_part_directory = 1"},
};
static const struct pipe_table_def sessions_olap_table = {
    .name = "lumen.sessions",
    .keeping = PIPE_TABLE_ALL,
    .engine = "MergeTree",
    .order_by = "session_id, window_start",
    .deduplication_window = 10000,
    .columns = sessions_olap_columns,
    .column_count = 8,
    .statements = sessions_olap_statements,
    .statement_count = 2,
};

static const struct pipe_table_column dlq_olap_columns[] = {
    {"reason", "String"},
    {"rule", "String"},
    {"detail", "Nullable(String)"},
    {"topic", "Nullable(String)"},
    {"partition", "Nullable(Int32)"},
    {"offset", "Nullable(Int64)"},
    {"kafka_time", "Nullable(DateTime64(3, 'UTC'))"},
    {"key", "Nullable(String)"},
    {"payload", "Nullable(String)"},
    {"_pipe_partition", "Int32"},
    {"_pipe_offset", "Int64"},
};
static const struct pipe_table_statement dlq_olap_statements[] = {
    {PIPE_TABLE_DATABASE, "lumen",
        "CREATE DATABASE IF NOT EXISTS lumen"},
    {PIPE_TABLE_TABLE, "lumen.dlq",
        "CREATE TABLE IF NOT EXISTS lumen.dlq\n"
        "(\n"
        "    reason String,\n"
        "    rule String,\n"
        "    detail Nullable(String),\n"
        "    topic Nullable(String),\n"
        "    partition Nullable(Int32),\n"
        "    offset Nullable(Int64),\n"
        "    kafka_time Nullable(DateTime64(3, 'UTC')),\n"
        "    key Nullable(String),\n"
        "    payload Nullable(String),\n"
        "    _pipe_partition Int32,\n"
        "    _pipe_offset Int64,\n"
        "    INDEX _pipe_position _pipe_offset TYPE minmax GRANULARITY 1\n"
        ")\n"
        "ENGINE = MergeTree\n"
        "ORDER BY (_pipe_partition, _pipe_offset)\n"
        "SETTINGS non_replicated_deduplication_window = 10000, fsync_after_insert = 1, "
        "fsync_part_directory = 1"},
};
static const struct pipe_table_def dlq_olap_table = {
    .name = "lumen.dlq",
    .keeping = PIPE_TABLE_ALL,
    .engine = "MergeTree",
    .order_by = "_pipe_partition, _pipe_offset",
    .deduplication_window = 10000,
    .columns = dlq_olap_columns,
    .column_count = 11,
    .statements = dlq_olap_statements,
    .statement_count = 2,
};

static const struct pipe_sink_def sinks[] = {
    [SINK_valid_topic] = {
        .name = "valid_topic",
        .stream = STREAM_valid,
        .kind = PIPE_SINK_KAFKA,
        .target = "events.valid",
        .partitions = 6,
        .format = PIPE_FORMAT_JSON,
        .row = &click_type,
        .exactly_once = true,
    },
    [SINK_clean_topic] = {
        .name = "clean_topic",
        .stream = STREAM_clean,
        .kind = PIPE_SINK_KAFKA,
        .target = "events.clean",
        .partitions = 6,
        .format = PIPE_FORMAT_JSON,
        .row = &click_type,
        .exactly_once = true,
    },
    [SINK_windows_topic] = {
        .name = "windows_topic",
        .stream = STREAM_by_category,
        .kind = PIPE_SINK_KAFKA,
        .target = "agg.windows",
        .partitions = 6,
        .format = PIPE_FORMAT_JSON,
        .row = &by_category_type,
        .exactly_once = true,
    },
    [SINK_sessions_topic] = {
        .name = "sessions_topic",
        .stream = STREAM_sessions,
        .kind = PIPE_SINK_KAFKA,
        .target = "agg.sessions",
        .partitions = 6,
        .format = PIPE_FORMAT_JSON,
        .row = &sessions_type,
        .exactly_once = true,
    },
    [SINK_late_topic] = {
        .name = "late_topic",
        .stream = STREAM_late_clicks,
        .kind = PIPE_SINK_KAFKA,
        .target = "events.late",
        .partitions = 6,
        .format = PIPE_FORMAT_JSON,
        .row = &late_clicks_type,
        .exactly_once = true,
    },
    [SINK_dead_letters] = {
        .name = "dead_letters",
        .stream = STREAM_rejected,
        .kind = PIPE_SINK_KAFKA,
        .target = "events.dlq",
        .partitions = 6,
        .format = PIPE_FORMAT_JSON,
        .row = &pipe_reject_type,
        .exactly_once = true,
    },
    [SINK_clean_olap] = {
        .name = "clean_olap",
        .stream = STREAM_clean,
        .kind = PIPE_SINK_CLICKHOUSE,
        .target = "lumen.events",
        .format = PIPE_FORMAT_JSONL,
        .row = &click_type,
        .exactly_once = true,
        .commit_ms = 200,
        .commit_bytes = 16777216,
        .fresh_ms = 1000,
        .table = &clean_olap_table,
    },
    [SINK_windows_olap] = {
        .name = "windows_olap",
        .stream = STREAM_by_category,
        .kind = PIPE_SINK_CLICKHOUSE,
        .target = "lumen.windows",
        .format = PIPE_FORMAT_JSONL,
        .row = &by_category_type,
        .exactly_once = true,
        .commit_ms = 1000,
        .commit_bytes = 16777216,
        .table = &windows_olap_table,
    },
    [SINK_sessions_olap] = {
        .name = "sessions_olap",
        .stream = STREAM_sessions,
        .kind = PIPE_SINK_CLICKHOUSE,
        .target = "lumen.sessions",
        .format = PIPE_FORMAT_JSONL,
        .row = &sessions_type,
        .exactly_once = true,
        .commit_ms = 2000,
        .commit_bytes = 16777216,
        .table = &sessions_olap_table,
    },
    [SINK_dlq_olap] = {
        .name = "dlq_olap",
        .stream = STREAM_rejected,
        .kind = PIPE_SINK_CLICKHOUSE,
        .target = "lumen.dlq",
        .format = PIPE_FORMAT_JSONL,
        .row = &pipe_reject_type,
        .exactly_once = true,
        .commit_ms = 2000,
        .commit_bytes = 16777216,
        .table = &dlq_olap_table,
    },
    [SINK_clean_lake] = {
        .name = "clean_lake",
        .stream = STREAM_clean,
        .kind = PIPE_SINK_ICEBERG,
        .target = "lumen.events",
        .format = PIPE_FORMAT_JSONL,
        .row = &click_type,
        .exactly_once = true,
        .commit_ms = 10000,
        .commit_bytes = 134217728,
    },
};

/* ---- traffic shoppers into clicks ---- */

static const char *const traffic_shoppers_category_values[] = {
    "\"lamps\"",
    "\"rugs\"",
    "\"chairs\"",
    "\"vases\"",
    "\"throws\"",
};
static const int64_t traffic_shoppers_category_weights[] = {30, 25, 20, 15, 10};
static const char *const traffic_shoppers_country_values[] = {
    "\"DE\"",
    "\"FR\"",
    "\"GB\"",
    "\"US\"",
    "\"JP\"",
};
static const int64_t traffic_shoppers_country_weights[] = {30, 25, 20, 15, 10};
static const char *const traffic_shoppers_currency_values[] = {
    "\"EUR\"",
    "\"GBP\"",
    "\"USD\"",
    "\"JPY\"",
};
static const int64_t traffic_shoppers_currency_weights[] = {55, 20, 15, 10};
static const char *const traffic_shoppers_url_values[] = {
    "\"https://www.lumenandloom.example/\"",
    "\"https://www.lumenandloom.example/search?view=grid&page=1\"",
    "\"https://www.lumenandloom.example/new-arrivals?sort=price\"",
    "\"https://www.lumenandloom.example/gifts/under-50\"",
};
static const int64_t traffic_shoppers_url_weights[] = {1, 1, 1, 1};
static const char *const traffic_shoppers_referrer_values[] = {
    "\"https://www.lumenandloom.example/\"",
    "\"https://search.example/?q=linen+throw\"",
    "\"https://mail.example/newsletter/2026-01\"",
};
static const int64_t traffic_shoppers_referrer_weights[] = {1, 1, 1};
static const char *const traffic_shoppers_user_agent_values[] = {
    "\"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML) Chrome/131.0\"",
    "\"Mozilla/5.0 (iPhone; CPU OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML)\"",
    "\"Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0\"",
};
static const int64_t traffic_shoppers_user_agent_weights[] = {60, 30, 10};
static const struct pipe_traffic_field traffic_shoppers_fields[] = {
    {.kind = PIPE_GEN_UNIQUE, .path = (const uint32_t[]){0}, .path_count = 1}, /* event_id */
    {.kind = PIPE_GEN_SESSION, .path = (const uint32_t[]){1}, .path_count = 1}, /* session_id */
    {.kind = PIPE_GEN_TEXT, .path = (const uint32_t[]){2}, .path_count = 1, .low = 12, .high = 12,
     .scale = 0, .per_session = true}, /* user_id */
    {.kind = PIPE_GEN_TEXT, .path = (const uint32_t[]){4}, .path_count = 1, .low = 8, .high = 8,
     .scale = 0, .null_ppm = 200000}, /* product_id */
    {.kind = PIPE_GEN_PICK, .path = (const uint32_t[]){5}, .path_count = 1,
     .picks = traffic_shoppers_category_values, .weights = traffic_shoppers_category_weights,
     .pick_count = 5}, /* category */
    {.kind = PIPE_GEN_PICK, .path = (const uint32_t[]){6}, .path_count = 1,
     .picks = traffic_shoppers_country_values, .weights = traffic_shoppers_country_weights,
     .pick_count = 5, .per_session = true}, /* country */
    {.kind = PIPE_GEN_UNIFORM, .path = (const uint32_t[]){7}, .path_count = 1, .low = 500,
     .high = 90000, .scale = 0}, /* price_cents */
    {.kind = PIPE_GEN_PICK, .path = (const uint32_t[]){8}, .path_count = 1,
     .picks = traffic_shoppers_currency_values, .weights = traffic_shoppers_currency_weights,
     .pick_count = 4, .per_session = true}, /* currency */
    {.kind = PIPE_GEN_PICK, .path = (const uint32_t[]){9}, .path_count = 1,
     .picks = traffic_shoppers_url_values, .weights = traffic_shoppers_url_weights,
     .pick_count = 4}, /* url */
    {.kind = PIPE_GEN_PICK, .path = (const uint32_t[]){10}, .path_count = 1,
     .picks = traffic_shoppers_referrer_values, .weights = traffic_shoppers_referrer_weights,
     .pick_count = 3, .null_ppm = 350000}, /* referrer */
    {.kind = PIPE_GEN_PICK, .path = (const uint32_t[]){11}, .path_count = 1,
     .picks = traffic_shoppers_user_agent_values, .weights = traffic_shoppers_user_agent_weights,
     .pick_count = 3, .per_session = true}, /* user_agent */
};

static const struct pipe_traffic_step traffic_shoppers_steps[] = {
    {"page_view", (const struct pipe_traffic_target[]){{1, 60}, {0, 30}, {-1, 10}}, 3},
    {"product_view", (const struct pipe_traffic_target[]){{2, 25}, {1, 45}, {-1, 30}}, 3},
    {"add_to_cart", (const struct pipe_traffic_target[]){{3, 50}, {1, 20}, {-1, 30}}, 3},
    {"checkout", (const struct pipe_traffic_target[]){{4, 70}, {-1, 30}}, 2},
    {"purchase", NULL, 0},
};

static const struct pipe_traffic_fault traffic_shoppers_faults[] = {
    {.kind = PIPE_FAULT_DUPLICATE, .ppm = 20000, .low_ms = 0, .high_ms = 30000},
    {.kind = PIPE_FAULT_OUT_OF_ORDER, .ppm = 50000, .low_ms = 0, .high_ms = 4000},
    {.kind = PIPE_FAULT_LATE, .ppm = 10000, .low_ms = 60000, .high_ms = 600000},
    {.kind = PIPE_FAULT_VALUE, .ppm = 500, .path = (const uint32_t[]){6}, .path_count = 1,
     .value_json = "\"DEU\""},
    {.kind = PIPE_FAULT_POISON, .ppm = 1000},
};

static const struct pipe_traffic_def traffics[] = {
    {
        .name = "shoppers",
        .source = 0,
        .has_sessions = true,
        .session_low_ms = 30000,
        .session_high_ms = 600000,
        .pause_low_ms = 1000,
        .pause_high_ms = 20000,
        .steps_column = 3,
        .steps = traffic_shoppers_steps,
        .step_count = 5,
        .fields = traffic_shoppers_fields,
        .field_count = 11,
        .faults = traffic_shoppers_faults,
        .fault_count = 5,
        .key_columns = (const uint32_t[]){1},
        .key_count = 1,
        .event_time_column = 12,
    },
};

static const char explain_text[] =
    "clickstream   plan 42121075\n"
    "  1 kafka source clicks                  clickstream.raw, 6 partitions by "
    "session_id; avro of contract click; event time occurred_at, watermark 5s, idle 30s, "
    "ahead 5m\n"
    "  2   stream valid                       from clicks\n"
    "  3     require                          event_id <> ''  else event_id_missing\n"
    "  4     require                          length(country) = 2  else country_not_iso2\n"
    "  5     require                          price_cents is null or price_cents between "
    "0 and 10000000  else price_out_of_range\n"
    "  6     require                          event_type <> 'purchase' or price_cents is "
    "not null  else purchase_without_price\n"
    "  7     kafka sink valid_topic           events.valid, key event_id, json; exactly "
    "once: in the commit that holds the input offsets\n"
    "  8     stream clean                     from valid\n"
    "  9       dedup clean                    STATE clean  session_id, event_id for 1d; "
    "local: key holds session_id; bound: rate x 1d x 40 B\n"
    " 10       kafka sink clean_topic         events.clean, key session_id, json; "
    "exactly once: in the commit that holds the input offsets\n"
    " 11       clickhouse sink clean_olap     lumen.events; exactly once: from a topic "
    "to the server, or embedded to Native files\n"
    " 12       iceberg sink clean_lake        lumen.events; exactly once: JSON lines in "
    "the run directory, cut back to the last commit\n"
    " 13       stream by_category             from clean\n"
    " 14         exchange by_category         partials by category, country, 6 "
    "partitions: input is partitioned by session_id\n"
    " 15         window by_category           STATE by_category  tumbling 10s by "
    "category, country, emit on close; merges the partials; late to late_clicks\n"
    " 16         kafka sink windows_topic     agg.windows, key category, country, json; "
    "exactly once: in the commit that holds the input offsets\n"
    " 17         clickhouse sink windows_olap lumen.windows; exactly once: from a topic "
    "to the server, or embedded to Native files\n"
    " 18       stream sessions                from clean\n"
    " 19         window sessions              STATE sessions  session gap 30s by "
    "session_id, emit on close; local: key holds session_id; late to late_clicks\n"
    " 20         kafka sink sessions_topic    agg.sessions, key session_id, json; "
    "exactly once: in the commit that holds the input offsets\n"
    " 21         clickhouse sink sessions_olap lumen.sessions; exactly once: from a "
    "topic to the server, or embedded to Native files\n"
    " 22 rejects rejected                     from clicks, valid, clean, by_category\n"
    " 23   kafka sink dead_letters            events.dlq, key reason, json; exactly "
    "once: in the commit that holds the input offsets\n"
    " 24   clickhouse sink dlq_olap           lumen.dlq; exactly once: from a topic to "
    "the server, or embedded to Native files\n"
    " 25 late rows late_clicks                from by_category, sessions\n"
    " 26   kafka sink late_topic              events.late, key session_id, json; exactly "
    "once: in the commit that holds the input offsets\n"
    "\n"
    "stages\n"
    "  0 reads source clicks: 6 tasks; state clean, by_category (partials), sessions\n"
    "  1 reads exchange by_category: 6 tasks; state by_category (merge)\n";

static const char plan_json[] =
    "{\n"
    " \"hash\": \"421210753b2ebda4\",\n"
    " \"nodes\": [\n"
    "  {\n"
    "   \"compatibility\": \"full transitive\",\n"
    "   \"name\": \"click\",\n"
    "   \"node\": \"contract\",\n"
    "   \"versions\": [\n"
    "    {\n"
    "     \"definition\": {\n"
    "      \"fields\": [\n"
    "       {\n"
    "        \"name\": \"event_id\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"session_id\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"default\": \"\",\n"
    "        \"name\": \"user_id\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"event_type\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"default\": null,\n"
    "        \"name\": \"product_id\",\n"
    "        \"type\": [\n"
    "         \"null\",\n"
    "         \"string\"\n"
    "        ]\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"category\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"country\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"default\": null,\n"
    "        \"name\": \"price_cents\",\n"
    "        \"type\": [\n"
    "         \"null\",\n"
    "         \"long\"\n"
    "        ]\n"
    "       },\n"
    "       {\n"
    "        \"default\": \"EUR\",\n"
    "        \"name\": \"currency\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"default\": \"\",\n"
    "        \"name\": \"url\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"default\": null,\n"
    "        \"name\": \"referrer\",\n"
    "        \"type\": [\n"
    "         \"null\",\n"
    "         \"string\"\n"
    "        ]\n"
    "       },\n"
    "       {\n"
    "        \"default\": \"\",\n"
    "        \"name\": \"user_agent\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"occurred_at\",\n"
    "        \"type\": {\n"
    "         \"logicalType\": \"timestamp-millis\",\n"
    "         \"type\": \"long\"\n"
    "        }\n"
    "       }\n"
    "      ],\n"
    "      \"name\": \"click\",\n"
    "      \"namespace\": \"com.lumenandloom.events\",\n"
    "      \"type\": \"record\"\n"
    "     },\n"
    "     \"fingerprint\": \"1b98a7d6a062f5a2\",\n"
    "     \"label\": \"v2\",\n"
    "     \"schema\": {\n"
    "      \"fields\": [\n"
    "       {\n"
    "        \"name\": \"event_id\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"session_id\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"user_id\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"event_type\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"product_id\",\n"
    "        \"type\": [\n"
    "         \"null\",\n"
    "         \"string\"\n"
    "        ]\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"category\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"country\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"price_cents\",\n"
    "        \"type\": [\n"
    "         \"null\",\n"
    "         \"long\"\n"
    "        ]\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"currency\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"url\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"referrer\",\n"
    "        \"type\": [\n"
    "         \"null\",\n"
    "         \"string\"\n"
    "        ]\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"user_agent\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"occurred_at\",\n"
    "        \"type\": \"long\"\n"
    "       }\n"
    "      ],\n"
    "      \"name\": \"com.lumenandloom.events.click\",\n"
    "      \"type\": \"record\"\n"
    "     }\n"
    "    },\n"
    "    {\n"
    "     \"definition\": {\n"
    "      \"fields\": [\n"
    "       {\n"
    "        \"name\": \"event_id\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"session_id\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"default\": \"\",\n"
    "        \"name\": \"user_id\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"event_type\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"default\": null,\n"
    "        \"name\": \"product_id\",\n"
    "        \"type\": [\n"
    "         \"null\",\n"
    "         \"string\"\n"
    "        ]\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"category\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"country\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"default\": null,\n"
    "        \"name\": \"price_cents\",\n"
    "        \"type\": [\n"
    "         \"null\",\n"
    "         \"long\"\n"
    "        ]\n"
    "       },\n"
    "       {\n"
    "        \"default\": \"\",\n"
    "        \"name\": \"url\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"default\": \"\",\n"
    "        \"name\": \"user_agent\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"occurred_at\",\n"
    "        \"type\": {\n"
    "         \"logicalType\": \"timestamp-millis\",\n"
    "         \"type\": \"long\"\n"
    "        }\n"
    "       }\n"
    "      ],\n"
    "      \"name\": \"click\",\n"
    "      \"namespace\": \"com.lumenandloom.events\",\n"
    "      \"type\": \"record\"\n"
    "     },\n"
    "     \"fingerprint\": \"96013df69e9871c5\",\n"
    "     \"label\": \"v1\",\n"
    "     \"schema\": {\n"
    "      \"fields\": [\n"
    "       {\n"
    "        \"name\": \"event_id\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"session_id\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"user_id\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"event_type\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"product_id\",\n"
    "        \"type\": [\n"
    "         \"null\",\n"
    "         \"string\"\n"
    "        ]\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"category\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"country\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"price_cents\",\n"
    "        \"type\": [\n"
    "         \"null\",\n"
    "         \"long\"\n"
    "        ]\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"url\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"user_agent\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"occurred_at\",\n"
    "        \"type\": \"long\"\n"
    "       }\n"
    "      ],\n"
    "      \"name\": \"com.lumenandloom.events.click\",\n"
    "      \"type\": \"record\"\n"
    "     }\n"
    "    }\n"
    "   ]\n"
    "  },\n"
    "  {\n"
    "   \"ahead_ms\": 300000,\n"
    "   \"columns\": [\n"
    "    {\n"
    "     \"name\": \"event_id\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"session_id\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"user_id\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"event_type\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"product_id\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"category\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"country\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"price_cents\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"currency\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"url\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"referrer\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"user_agent\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"occurred_at\",\n"
    "     \"type\": \"timestamp_ms\"\n"
    "    }\n"
    "   ],\n"
    "   \"contract\": \"click\",\n"
    "   \"drop_tombstones\": false,\n"
    "   \"event_time\": {\n"
    "    \"kind\": \"column\",\n"
    "    \"path\": [\n"
    "     \"occurred_at\"\n"
    "    ],\n"
    "    \"type\": \"timestamp_ms\"\n"
    "   },\n"
    "   \"event_time_column\": \"occurred_at\",\n"
    "   \"format\": \"avro\",\n"
    "   \"header\": false,\n"
    "   \"idle_advance\": false,\n"
    "   \"idle_ms\": 30000,\n"
    "   \"key\": [\n"
    "    \"session_id\"\n"
    "   ],\n"
    "   \"name\": \"clicks\",\n"
    "   \"node\": \"source\",\n"
    "   \"partitions\": 6,\n"
    "   \"payload\": [\n"
    "    {\n"
    "     \"name\": \"event_id\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"session_id\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"user_id\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"event_type\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"product_id\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"category\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"country\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"price_cents\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"currency\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"url\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"referrer\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"user_agent\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"occurred_at\",\n"
    "     \"type\": \"timestamp_ms\"\n"
    "    }\n"
    "   ],\n"
    "   \"rejects\": \"rejected\",\n"
    "   \"topic\": \"clickstream.raw\",\n"
    "   \"transport\": \"kafka\",\n"
    "   \"watermark_ms\": 5000\n"
    "  },\n"
    "  {\n"
    "   \"columns\": [\n"
    "    {\n"
    "     \"name\": \"event_id\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"session_id\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"user_id\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"event_type\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"product_id\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"category\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"country\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"price_cents\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"currency\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"url\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"referrer\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"user_agent\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"occurred_at\",\n"
    "     \"type\": \"timestamp_ms\"\n"
    "    }\n"
    "   ],\n"
    "   \"inputs\": [\n"
    "    \"clicks\"\n"
    "   ],\n"
    "   \"name\": \"valid\",\n"
    "   \"node\": \"stream\",\n"
    "   \"rejects\": \"rejected\",\n"
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
    "      \"event_id\"\n"
    "     ],\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    \"op\": \"<>\",\n"
    "    \"right\": {\n"
    "     \"kind\": \"literal\",\n"
    "     \"type\": \"string\",\n"
    "     \"value\": \"\"\n"
    "    },\n"
    "    \"type\": \"bool\"\n"
    "   },\n"
    "   \"node\": \"require\",\n"
    "   \"reason\": \"event_id_missing\",\n"
    "   \"stream\": \"valid\",\n"
    "   \"text\": \"event_id <> ''\"\n"
    "  },\n"
    "  {\n"
    "   \"expr\": {\n"
    "    \"kind\": \"binary\",\n"
    "    \"left\": {\n"
    "     \"args\": [\n"
    "      {\n"
    "       \"kind\": \"column\",\n"
    "       \"path\": [\n"
    "        \"country\"\n"
    "       ],\n"
    "       \"type\": \"string\"\n"
    "      }\n"
    "     ],\n"
    "     \"function\": \"length\",\n"
    "     \"kind\": \"call\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    \"op\": \"=\",\n"
    "    \"right\": {\n"
    "     \"kind\": \"literal\",\n"
    "     \"type\": \"int64\",\n"
    "     \"value\": \"2\"\n"
    "    },\n"
    "    \"type\": \"bool\"\n"
    "   },\n"
    "   \"node\": \"require\",\n"
    "   \"reason\": \"country_not_iso2\",\n"
    "   \"stream\": \"valid\",\n"
    "   \"text\": \"length(country) = 2\"\n"
    "  },\n"
    "  {\n"
    "   \"expr\": {\n"
    "    \"kind\": \"binary\",\n"
    "    \"left\": {\n"
    "     \"kind\": \"is_null\",\n"
    "     \"left\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"nullable\": true,\n"
    "      \"path\": [\n"
    "       \"price_cents\"\n"
    "      ],\n"
    "      \"type\": \"int64\"\n"
    "     },\n"
    "     \"type\": \"bool\"\n"
    "    },\n"
    "    \"op\": \"or\",\n"
    "    \"right\": {\n"
    "     \"high\": {\n"
    "      \"kind\": \"literal\",\n"
    "      \"type\": \"int64\",\n"
    "      \"value\": \"10000000\"\n"
    "     },\n"
    "     \"kind\": \"between\",\n"
    "     \"left\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"price_cents\"\n"
    "      ],\n"
    "      \"type\": \"int64\"\n"
    "     },\n"
    "     \"low\": {\n"
    "      \"kind\": \"literal\",\n"
    "      \"type\": \"int64\",\n"
    "      \"value\": \"0\"\n"
    "     },\n"
    "     \"type\": \"bool\"\n"
    "    },\n"
    "    \"type\": \"bool\"\n"
    "   },\n"
    "   \"node\": \"require\",\n"
    "   \"reason\": \"price_out_of_range\",\n"
    "   \"stream\": \"valid\",\n"
    "   \"text\": \"price_cents is null or price_cents between 0 and 10000000\"\n"
    "  },\n"
    "  {\n"
    "   \"expr\": {\n"
    "    \"kind\": \"binary\",\n"
    "    \"left\": {\n"
    "     \"kind\": \"binary\",\n"
    "     \"left\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"event_type\"\n"
    "      ],\n"
    "      \"type\": \"string\"\n"
    "     },\n"
    "     \"op\": \"<>\",\n"
    "     \"right\": {\n"
    "      \"kind\": \"literal\",\n"
    "      \"type\": \"string\",\n"
    "      \"value\": \"purchase\"\n"
    "     },\n"
    "     \"type\": \"bool\"\n"
    "    },\n"
    "    \"op\": \"or\",\n"
    "    \"right\": {\n"
    "     \"kind\": \"is_null\",\n"
    "     \"left\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"nullable\": true,\n"
    "      \"path\": [\n"
    "       \"price_cents\"\n"
    "      ],\n"
    "      \"type\": \"int64\"\n"
    "     },\n"
    "     \"negated\": true,\n"
    "     \"type\": \"bool\"\n"
    "    },\n"
    "    \"type\": \"bool\"\n"
    "   },\n"
    "   \"node\": \"require\",\n"
    "   \"reason\": \"purchase_without_price\",\n"
    "   \"stream\": \"valid\",\n"
    "   \"text\": \"event_type <> 'purchase' or price_cents is not null\"\n"
    "  },\n"
    "  {\n"
    "   \"append_revisions\": false,\n"
    "   \"commit_bytes\": 16777216,\n"
    "   \"commit_ms\": 100,\n"
    "   \"exactly_once\": true,\n"
    "   \"format\": \"json\",\n"
    "   \"from\": \"valid\",\n"
    "   \"guarantee\": \"exactly once: in the commit that holds the input offsets\",\n"
    "   \"key\": [\n"
    "    \"event_id\"\n"
    "   ],\n"
    "   \"kind\": \"kafka\",\n"
    "   \"name\": \"valid_topic\",\n"
    "   \"node\": \"sink\",\n"
    "   \"order\": [],\n"
    "   \"partition_by\": [],\n"
    "   \"partitions\": 6,\n"
    "   \"rollups\": [],\n"
    "   \"source_key\": false,\n"
    "   \"target\": \"events.valid\"\n"
    "  },\n"
    "  {\n"
    "   \"columns\": [\n"
    "    {\n"
    "     \"name\": \"event_id\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"session_id\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"user_id\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"event_type\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"product_id\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"category\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"country\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"price_cents\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"currency\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"url\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"referrer\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"user_agent\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"occurred_at\",\n"
    "     \"type\": \"timestamp_ms\"\n"
    "    }\n"
    "   ],\n"
    "   \"inputs\": [\n"
    "    \"valid\"\n"
    "   ],\n"
    "   \"name\": \"clean\",\n"
    "   \"node\": \"stream\",\n"
    "   \"rejects\": \"rejected\",\n"
    "   \"role\": \"stream\",\n"
    "   \"stages\": [\n"
    "    0\n"
    "   ]\n"
    "  },\n"
    "  {\n"
    "   \"behind_exchange\": false,\n"
    "   \"key\": [\n"
    "    \"session_id\",\n"
    "    \"event_id\"\n"
    "   ],\n"
    "   \"local_because\": \"key holds session_id\",\n"
    "   \"node\": \"dedup\",\n"
    "   \"stream\": \"clean\",\n"
    "   \"within_ms\": 86400000\n"
    "  },\n"
    "  {\n"
    "   \"append_revisions\": false,\n"
    "   \"commit_bytes\": 16777216,\n"
    "   \"commit_ms\": 100,\n"
    "   \"exactly_once\": true,\n"
    "   \"format\": \"json\",\n"
    "   \"from\": \"clean\",\n"
    "   \"guarantee\": \"exactly once: in the commit that holds the input offsets\",\n"
    "   \"key\": [\n"
    "    \"session_id\"\n"
    "   ],\n"
    "   \"kind\": \"kafka\",\n"
    "   \"name\": \"clean_topic\",\n"
    "   \"node\": \"sink\",\n"
    "   \"order\": [],\n"
    "   \"partition_by\": [],\n"
    "   \"partitions\": 6,\n"
    "   \"rollups\": [],\n"
    "   \"source_key\": false,\n"
    "   \"target\": \"events.clean\"\n"
    "  },\n"
    "  {\n"
    "   \"append_revisions\": false,\n"
    "   \"commit_bytes\": 16777216,\n"
    "   \"commit_ms\": 200,\n"
    "   \"exactly_once\": true,\n"
    "   \"from\": \"clean\",\n"
    "   \"guarantee\": \"exactly once: from a topic to the server, or embedded to Native "
    "files\",\n"
    "   \"key\": [],\n"
    "   \"kind\": \"clickhouse\",\n"
    "   \"name\": \"clean_olap\",\n"
    "   \"node\": \"sink\",\n"
    "   \"order\": [\n"
    "    \"occurred_at\",\n"
    "    \"event_id\"\n"
    "   ],\n"
    "   \"partition_by\": [],\n"
    "   \"partitions\": 0,\n"
    "   \"rollups\": [\n"
    "    {\n"
    "     \"aggregates\": [\n"
    "      {\n"
    "       \"function\": \"count\",\n"
    "       \"name\": \"events\",\n"
    "       \"type\": \"int64\"\n"
    "      },\n"
    "      {\n"
    "       \"arg\": {\n"
    "        \"kind\": \"column\",\n"
    "        \"nullable\": true,\n"
    "        \"path\": [\n"
    "         \"price_cents\"\n"
    "        ],\n"
    "        \"type\": \"int64\"\n"
    "       },\n"
    "       \"function\": \"sum\",\n"
    "       \"name\": \"revenue_cents\",\n"
    "       \"type\": \"int64\"\n"
    "      }\n"
    "     ],\n"
    "     \"by\": [\n"
    "      {\n"
    "       \"column\": \"occurred_at\",\n"
    "       \"function\": \"minute\"\n"
    "      },\n"
    "      {\n"
    "       \"column\": \"category\"\n"
    "      },\n"
    "      {\n"
    "       \"column\": \"country\"\n"
    "      }\n"
    "     ],\n"
    "     \"table\": \"lumen.by_minute\"\n"
    "    }\n"
    "   ],\n"
    "   \"source_key\": false,\n"
    "   \"target\": \"lumen.events\"\n"
    "  },\n"
    "  {\n"
    "   \"append_revisions\": false,\n"
    "   \"commit_bytes\": 134217728,\n"
    "   \"commit_ms\": 10000,\n"
    "   \"exactly_once\": true,\n"
    "   \"from\": \"clean\",\n"
    "   \"guarantee\": \"exactly once: JSON lines in the run directory, cut back to the "
    "last commit\",\n"
    "   \"key\": [],\n"
    "   \"kind\": \"iceberg\",\n"
    "   \"name\": \"clean_lake\",\n"
    "   \"node\": \"sink\",\n"
    "   \"order\": [],\n"
    "   \"partition_by\": [\n"
    "    {\n"
    "     \"column\": \"occurred_at\",\n"
    "     \"function\": \"day\"\n"
    "    }\n"
    "   ],\n"
    "   \"partitions\": 0,\n"
    "   \"rollups\": [],\n"
    "   \"source_key\": false,\n"
    "   \"target\": \"lumen.events\"\n"
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
    "     \"name\": \"category\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"country\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"events\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"revenue_cents\",\n"
    "     \"type\": \"int64\"\n"
    "    }\n"
    "   ],\n"
    "   \"inputs\": [\n"
    "    \"clean\"\n"
    "   ],\n"
    "   \"name\": \"by_category\",\n"
    "   \"node\": \"stream\",\n"
    "   \"rejects\": \"rejected\",\n"
    "   \"role\": \"stream\",\n"
    "   \"stages\": [\n"
    "    0\n"
    "   ]\n"
    "  },\n"
    "  {\n"
    "   \"carries\": \"partials\",\n"
    "   \"key\": [\n"
    "    \"category\",\n"
    "    \"country\"\n"
    "   ],\n"
    "   \"node\": \"exchange\",\n"
    "   \"partitions\": 6,\n"
    "   \"reason\": \"input is partitioned by session_id\",\n"
    "   \"stream\": \"by_category\"\n"
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
    "      \"args\": [\n"
    "       {\n"
    "        \"kind\": \"column\",\n"
    "        \"nullable\": true,\n"
    "        \"path\": [\n"
    "         \"price_cents\"\n"
    "        ],\n"
    "        \"type\": \"int64\"\n"
    "       },\n"
    "       {\n"
    "        \"kind\": \"literal\",\n"
    "        \"type\": \"int64\",\n"
    "        \"value\": \"0\"\n"
    "       }\n"
    "      ],\n"
    "      \"function\": \"coalesce\",\n"
    "      \"kind\": \"call\",\n"
    "      \"type\": \"int64\"\n"
    "     },\n"
    "     \"function\": \"sum\",\n"
    "     \"name\": \"revenue_cents\",\n"
    "     \"type\": \"int64\"\n"
    "    }\n"
    "   ],\n"
    "   \"behind_exchange\": true,\n"
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
    "     \"name\": \"category\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"country\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"events\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"revenue_cents\",\n"
    "     \"type\": \"int64\"\n"
    "    }\n"
    "   ],\n"
    "   \"corrections\": false,\n"
    "   \"delay_ms\": 0,\n"
    "   \"drop_late\": false,\n"
    "   \"emit\": \"close\",\n"
    "   \"emit_every_ms\": 0,\n"
    "   \"every_ms\": 10000,\n"
    "   \"gap_ms\": 0,\n"
    "   \"group\": [\n"
    "    \"category\",\n"
    "    \"country\"\n"
    "   ],\n"
    "   \"late\": \"late_clicks\",\n"
    "   \"lateness_ms\": 0,\n"
    "   \"max_ms\": 0,\n"
    "   \"node\": \"window\",\n"
    "   \"offset_ms\": 0,\n"
    "   \"size_ms\": 10000,\n"
    "   \"stream\": \"by_category\",\n"
    "   \"window\": \"tumbling\"\n"
    "  },\n"
    "  {\n"
    "   \"append_revisions\": false,\n"
    "   \"commit_bytes\": 16777216,\n"
    "   \"commit_ms\": 100,\n"
    "   \"exactly_once\": true,\n"
    "   \"format\": \"json\",\n"
    "   \"from\": \"by_category\",\n"
    "   \"guarantee\": \"exactly once: in the commit that holds the input offsets\",\n"
    "   \"key\": [\n"
    "    \"category\",\n"
    "    \"country\"\n"
    "   ],\n"
    "   \"kind\": \"kafka\",\n"
    "   \"name\": \"windows_topic\",\n"
    "   \"node\": \"sink\",\n"
    "   \"order\": [],\n"
    "   \"partition_by\": [],\n"
    "   \"partitions\": 6,\n"
    "   \"rollups\": [],\n"
    "   \"source_key\": false,\n"
    "   \"target\": \"agg.windows\"\n"
    "  },\n"
    "  {\n"
    "   \"append_revisions\": false,\n"
    "   \"commit_bytes\": 16777216,\n"
    "   \"commit_ms\": 1000,\n"
    "   \"exactly_once\": true,\n"
    "   \"from\": \"by_category\",\n"
    "   \"guarantee\": \"exactly once: from a topic to the server, or embedded to Native "
    "files\",\n"
    "   \"key\": [],\n"
    "   \"kind\": \"clickhouse\",\n"
    "   \"name\": \"windows_olap\",\n"
    "   \"node\": \"sink\",\n"
    "   \"order\": [\n"
    "    \"category\",\n"
    "    \"country\",\n"
    "    \"window_start\"\n"
    "   ],\n"
    "   \"partition_by\": [],\n"
    "   \"partitions\": 0,\n"
    "   \"rollups\": [],\n"
    "   \"source_key\": false,\n"
    "   \"target\": \"lumen.windows\"\n"
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
    "     \"name\": \"session_id\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"events\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"started_at\",\n"
    "     \"type\": \"timestamp_ms\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"ended_at\",\n"
    "     \"type\": \"timestamp_ms\"\n"
    "    }\n"
    "   ],\n"
    "   \"inputs\": [\n"
    "    \"clean\"\n"
    "   ],\n"
    "   \"name\": \"sessions\",\n"
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
    "     \"name\": \"events\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"arg\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"occurred_at\"\n"
    "      ],\n"
    "      \"type\": \"timestamp_ms\"\n"
    "     },\n"
    "     \"function\": \"min\",\n"
    "     \"name\": \"started_at\",\n"
    "     \"type\": \"timestamp_ms\"\n"
    "    },\n"
    "    {\n"
    "     \"arg\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"occurred_at\"\n"
    "      ],\n"
    "      \"type\": \"timestamp_ms\"\n"
    "     },\n"
    "     \"function\": \"max\",\n"
    "     \"name\": \"ended_at\",\n"
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
    "     \"name\": \"session_id\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"events\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"started_at\",\n"
    "     \"type\": \"timestamp_ms\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"ended_at\",\n"
    "     \"type\": \"timestamp_ms\"\n"
    "    }\n"
    "   ],\n"
    "   \"corrections\": false,\n"
    "   \"delay_ms\": 0,\n"
    "   \"drop_late\": false,\n"
    "   \"emit\": \"close\",\n"
    "   \"emit_every_ms\": 0,\n"
    "   \"every_ms\": 0,\n"
    "   \"gap_ms\": 30000,\n"
    "   \"group\": [\n"
    "    \"session_id\"\n"
    "   ],\n"
    "   \"late\": \"late_clicks\",\n"
    "   \"lateness_ms\": 0,\n"
    "   \"local_because\": \"key holds session_id\",\n"
    "   \"max_ms\": 0,\n"
    "   \"node\": \"window\",\n"
    "   \"offset_ms\": 0,\n"
    "   \"size_ms\": 0,\n"
    "   \"stream\": \"sessions\",\n"
    "   \"window\": \"session\"\n"
    "  },\n"
    "  {\n"
    "   \"append_revisions\": false,\n"
    "   \"commit_bytes\": 16777216,\n"
    "   \"commit_ms\": 100,\n"
    "   \"exactly_once\": true,\n"
    "   \"format\": \"json\",\n"
    "   \"from\": \"sessions\",\n"
    "   \"guarantee\": \"exactly once: in the commit that holds the input offsets\",\n"
    "   \"key\": [\n"
    "    \"session_id\"\n"
    "   ],\n"
    "   \"kind\": \"kafka\",\n"
    "   \"name\": \"sessions_topic\",\n"
    "   \"node\": \"sink\",\n"
    "   \"order\": [],\n"
    "   \"partition_by\": [],\n"
    "   \"partitions\": 6,\n"
    "   \"rollups\": [],\n"
    "   \"source_key\": false,\n"
    "   \"target\": \"agg.sessions\"\n"
    "  },\n"
    "  {\n"
    "   \"append_revisions\": false,\n"
    "   \"commit_bytes\": 16777216,\n"
    "   \"commit_ms\": 2000,\n"
    "   \"exactly_once\": true,\n"
    "   \"from\": \"sessions\",\n"
    "   \"guarantee\": \"exactly once: from a topic to the server, or embedded to Native "
    "files\",\n"
    "   \"key\": [],\n"
    "   \"kind\": \"clickhouse\",\n"
    "   \"name\": \"sessions_olap\",\n"
    "   \"node\": \"sink\",\n"
    "   \"order\": [\n"
    "    \"session_id\",\n"
    "    \"window_start\"\n"
    "   ],\n"
    "   \"partition_by\": [],\n"
    "   \"partitions\": 0,\n"
    "   \"rollups\": [],\n"
    "   \"source_key\": false,\n"
    "   \"target\": \"lumen.sessions\"\n"
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
    "    \"clicks\",\n"
    "    \"valid\",\n"
    "    \"clean\",\n"
    "    \"by_category\"\n"
    "   ],\n"
    "   \"name\": \"rejected\",\n"
    "   \"node\": \"stream\",\n"
    "   \"role\": \"rejects\",\n"
    "   \"stages\": [\n"
    "    0,\n"
    "    1\n"
    "   ]\n"
    "  },\n"
    "  {\n"
    "   \"append_revisions\": false,\n"
    "   \"commit_bytes\": 16777216,\n"
    "   \"commit_ms\": 100,\n"
    "   \"exactly_once\": true,\n"
    "   \"format\": \"json\",\n"
    "   \"from\": \"rejected\",\n"
    "   \"guarantee\": \"exactly once: in the commit that holds the input offsets\",\n"
    "   \"key\": [\n"
    "    \"reason\"\n"
    "   ],\n"
    "   \"kind\": \"kafka\",\n"
    "   \"name\": \"dead_letters\",\n"
    "   \"node\": \"sink\",\n"
    "   \"order\": [],\n"
    "   \"partition_by\": [],\n"
    "   \"partitions\": 6,\n"
    "   \"rollups\": [],\n"
    "   \"source_key\": false,\n"
    "   \"target\": \"events.dlq\"\n"
    "  },\n"
    "  {\n"
    "   \"append_revisions\": false,\n"
    "   \"commit_bytes\": 16777216,\n"
    "   \"commit_ms\": 2000,\n"
    "   \"exactly_once\": true,\n"
    "   \"from\": \"rejected\",\n"
    "   \"guarantee\": \"exactly once: from a topic to the server, or embedded to Native "
    "files\",\n"
    "   \"key\": [],\n"
    "   \"kind\": \"clickhouse\",\n"
    "   \"name\": \"dlq_olap\",\n"
    "   \"node\": \"sink\",\n"
    "   \"order\": [],\n"
    "   \"partition_by\": [],\n"
    "   \"partitions\": 0,\n"
    "   \"rollups\": [],\n"
    "   \"source_key\": false,\n"
    "   \"target\": \"lumen.dlq\"\n"
    "  },\n"
    "  {\n"
    "   \"columns\": [\n"
    "    {\n"
    "     \"name\": \"event_id\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"session_id\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"user_id\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"event_type\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"product_id\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"category\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"country\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"price_cents\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"currency\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"url\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"referrer\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"user_agent\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"occurred_at\",\n"
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
    "    \"by_category\",\n"
    "    \"sessions\"\n"
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
    "   \"format\": \"json\",\n"
    "   \"from\": \"late_clicks\",\n"
    "   \"guarantee\": \"exactly once: in the commit that holds the input offsets\",\n"
    "   \"key\": [\n"
    "    \"session_id\"\n"
    "   ],\n"
    "   \"kind\": \"kafka\",\n"
    "   \"name\": \"late_topic\",\n"
    "   \"node\": \"sink\",\n"
    "   \"order\": [],\n"
    "   \"partition_by\": [],\n"
    "   \"partitions\": 6,\n"
    "   \"rollups\": [],\n"
    "   \"source_key\": false,\n"
    "   \"target\": \"events.late\"\n"
    "  },\n"
    "  {\n"
    "   \"node\": \"slo\",\n"
    "   \"over_ms\": 2592000000,\n"
    "   \"percent\": \"99\",\n"
    "   \"sink\": \"clean_olap\",\n"
    "   \"within_ms\": 1000\n"
    "  }\n"
    " ],\n"
    " \"pipeline\": \"clickstream\",\n"
    " \"stages\": [\n"
    "  {\n"
    "   \"source\": \"clicks\",\n"
    "   \"stage\": 0,\n"
    "   \"states\": [\n"
    "    {\n"
    "     \"delay_ms\": 0,\n"
    "     \"phase\": \"local\",\n"
    "     \"stream\": \"clean\"\n"
    "    },\n"
    "    {\n"
    "     \"delay_ms\": 0,\n"
    "     \"phase\": \"partial\",\n"
    "     \"stream\": \"by_category\"\n"
    "    },\n"
    "    {\n"
    "     \"delay_ms\": 0,\n"
    "     \"phase\": \"local\",\n"
    "     \"stream\": \"sessions\"\n"
    "    }\n"
    "   ]\n"
    "  },\n"
    "  {\n"
    "   \"exchange\": \"by_category\",\n"
    "   \"stage\": 1,\n"
    "   \"states\": [\n"
    "    {\n"
    "     \"delay_ms\": 0,\n"
    "     \"phase\": \"merge\",\n"
    "     \"stream\": \"by_category\"\n"
    "    }\n"
    "   ]\n"
    "  }\n"
    " ]\n"
    "}\n";

static const struct pipe_plan plan = {
    .abi = PIPE_RUNTIME_ABI,
    .name = "clickstream",
    .hash = "421210753b2ebda4",
    .commit_ms = 100,
    .commit_bytes = 16777216,
    .explain_text = explain_text,
    .plan_json = plan_json,
    .sources = sources,
    .source_count = 1,
    .streams = streams,
    .stream_count = 7,
    .stages = stages,
    .stage_count = 2,
    .exchanges = exchanges,
    .exchange_count = 1,
    .sinks = sinks,
    .sink_count = 11,
    .traffics = traffics,
    .traffic_count = 1,
};

int main(int argc, char **argv)
{
    return pipe_main(&plan, argc, argv);
}
