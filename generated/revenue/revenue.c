/* revenue.c: pipeline revenue, compiled from revenue.pipe by pipec. Change that file, not this. */
#include "pipe.h"

#if PIPE_RUNTIME_ABI != 1
#error "this file and libpipe do not fit together: compile the pipeline again"
#endif

/* ----------------------------------------------------------------------------------------------
 * Rows
 * ---------------------------------------------------------------------------------------------- */

struct funnel_event {
    struct pipe_str event_id;
    struct pipe_str session_id;
    struct pipe_str user_id;
    uint32_t event_type;
    int64_t product_id;
    struct pipe_str product_name;
    struct pipe_str category;
    struct pipe_str country;
    int64_t price_cents;
    struct pipe_str currency;
    struct pipe_str url;
    struct pipe_str referrer;
    struct pipe_str user_agent;
    struct pipe_str campaign;
    struct pipe_str properties;
    int64_t occurred_at;
    bool referrer_null;
    bool campaign_null;
};

struct revenue_by_category {
    int64_t window_start;
    int64_t window_end;
    struct pipe_str category;
    struct pipe_str country;
    int64_t purchases;
    int64_t revenue_cents;
};

struct late_purchases {
    struct pipe_str event_id;
    struct pipe_str session_id;
    struct pipe_str user_id;
    uint32_t event_type;
    int64_t product_id;
    struct pipe_str product_name;
    struct pipe_str category;
    struct pipe_str country;
    int64_t price_cents;
    struct pipe_str currency;
    struct pipe_str url;
    struct pipe_str referrer;
    struct pipe_str user_agent;
    struct pipe_str campaign;
    struct pipe_str properties;
    int64_t occurred_at;
    struct pipe_str late_for;
    int64_t window_end;
    int64_t watermark;
    bool referrer_null;
    bool campaign_null;
};

/* ----------------------------------------------------------------------------------------------
 * Indexes in the tables below
 * ---------------------------------------------------------------------------------------------- */

enum {
    STREAM_events,
    STREAM_purchases,
    STREAM_revenue_by_category,
    STREAM_rejected,
    STREAM_late_purchases,
};

enum {
    STAGE_events,
    STAGE_revenue_by_category,
};

enum {
    EXCHANGE_revenue_by_category,
};

enum {
    SINK_raw_topic,
    SINK_revenue_topic,
    SINK_late_topic,
    SINK_dead_letters,
};

enum { STATE_revenue_by_category = 0 };

/* ----------------------------------------------------------------------------------------------
 * What the runtime knows of the rows
 * ---------------------------------------------------------------------------------------------- */

static const struct pipe_type type_string = {.kind = PIPE_STRING};

static const char *const symbols_step[] = {
    "page_view",
    "product_view",
    "add_to_cart",
    "purchase",
};
static const struct pipe_type type_step = {.kind = PIPE_ENUM, .symbols = symbols_step,
                                           .symbol_count = 4};
static const struct pipe_type type_int64 = {.kind = PIPE_INT64};
static const struct pipe_type type_timestamp_ms = {.kind = PIPE_TIMESTAMP_MS};

static const struct pipe_column funnel_event_columns[] = {
    {"event_id", &type_string, offsetof(struct funnel_event, event_id),
     .null_offset = PIPE_NOT_NULL},
    {"session_id", &type_string, offsetof(struct funnel_event, session_id),
     .null_offset = PIPE_NOT_NULL},
    {"user_id", &type_string, offsetof(struct funnel_event, user_id), .null_offset = PIPE_NOT_NULL,
     .has_default = true, .default_json = "\"\""},
    {"event_type", &type_step, offsetof(struct funnel_event, event_type),
     .null_offset = PIPE_NOT_NULL},
    {"product_id", &type_int64, offsetof(struct funnel_event, product_id),
     .null_offset = PIPE_NOT_NULL},
    {"product_name", &type_string, offsetof(struct funnel_event, product_name),
     .null_offset = PIPE_NOT_NULL, .has_default = true, .default_json = "\"\""},
    {"category", &type_string, offsetof(struct funnel_event, category),
     .null_offset = PIPE_NOT_NULL},
    {"country", &type_string, offsetof(struct funnel_event, country), .null_offset = PIPE_NOT_NULL},
    {"price_cents", &type_int64, offsetof(struct funnel_event, price_cents),
     .null_offset = PIPE_NOT_NULL},
    {"currency", &type_string, offsetof(struct funnel_event, currency),
     .null_offset = PIPE_NOT_NULL, .has_default = true, .default_json = "\"EUR\""},
    {"url", &type_string, offsetof(struct funnel_event, url), .null_offset = PIPE_NOT_NULL,
     .has_default = true, .default_json = "\"\""},
    {"referrer", &type_string, offsetof(struct funnel_event, referrer),
     .null_offset = offsetof(struct funnel_event, referrer_null), .null_first = true,
     .has_default = true, .default_json = "null"},
    {"user_agent", &type_string, offsetof(struct funnel_event, user_agent),
     .null_offset = PIPE_NOT_NULL, .has_default = true, .default_json = "\"\""},
    {"campaign", &type_string, offsetof(struct funnel_event, campaign),
     .null_offset = offsetof(struct funnel_event, campaign_null), .null_first = true,
     .has_default = true, .default_json = "null"},
    {"properties", &type_string, offsetof(struct funnel_event, properties),
     .null_offset = PIPE_NOT_NULL, .has_default = true, .default_json = "\"\""},
    {"occurred_at", &type_timestamp_ms, offsetof(struct funnel_event, occurred_at),
     .null_offset = PIPE_NOT_NULL},
};
static const struct pipe_row_type funnel_event_type = {"funnel_event", funnel_event_columns, 16,
                                                       sizeof(struct funnel_event)};


static const struct pipe_column revenue_by_category_columns[] = {
    {"window_start", &type_timestamp_ms, offsetof(struct revenue_by_category, window_start),
     .null_offset = PIPE_NOT_NULL},
    {"window_end", &type_timestamp_ms, offsetof(struct revenue_by_category, window_end),
     .null_offset = PIPE_NOT_NULL},
    {"category", &type_string, offsetof(struct revenue_by_category, category),
     .null_offset = PIPE_NOT_NULL},
    {"country", &type_string, offsetof(struct revenue_by_category, country),
     .null_offset = PIPE_NOT_NULL},
    {"purchases", &type_int64, offsetof(struct revenue_by_category, purchases),
     .null_offset = PIPE_NOT_NULL},
    {"revenue_cents", &type_int64, offsetof(struct revenue_by_category, revenue_cents),
     .null_offset = PIPE_NOT_NULL},
};
static const struct pipe_row_type revenue_by_category_type = {"revenue_by_category",
                                                              revenue_by_category_columns, 6,
                                                              sizeof(struct revenue_by_category)};


static const struct pipe_column late_purchases_columns[] = {
    {"event_id", &type_string, offsetof(struct late_purchases, event_id),
     .null_offset = PIPE_NOT_NULL},
    {"session_id", &type_string, offsetof(struct late_purchases, session_id),
     .null_offset = PIPE_NOT_NULL},
    {"user_id", &type_string, offsetof(struct late_purchases, user_id),
     .null_offset = PIPE_NOT_NULL, .has_default = true, .default_json = "\"\""},
    {"event_type", &type_step, offsetof(struct late_purchases, event_type),
     .null_offset = PIPE_NOT_NULL},
    {"product_id", &type_int64, offsetof(struct late_purchases, product_id),
     .null_offset = PIPE_NOT_NULL},
    {"product_name", &type_string, offsetof(struct late_purchases, product_name),
     .null_offset = PIPE_NOT_NULL, .has_default = true, .default_json = "\"\""},
    {"category", &type_string, offsetof(struct late_purchases, category),
     .null_offset = PIPE_NOT_NULL},
    {"country", &type_string, offsetof(struct late_purchases, country),
     .null_offset = PIPE_NOT_NULL},
    {"price_cents", &type_int64, offsetof(struct late_purchases, price_cents),
     .null_offset = PIPE_NOT_NULL},
    {"currency", &type_string, offsetof(struct late_purchases, currency),
     .null_offset = PIPE_NOT_NULL, .has_default = true, .default_json = "\"EUR\""},
    {"url", &type_string, offsetof(struct late_purchases, url), .null_offset = PIPE_NOT_NULL,
     .has_default = true, .default_json = "\"\""},
    {"referrer", &type_string, offsetof(struct late_purchases, referrer),
     .null_offset = offsetof(struct late_purchases, referrer_null), .null_first = true,
     .has_default = true, .default_json = "null"},
    {"user_agent", &type_string, offsetof(struct late_purchases, user_agent),
     .null_offset = PIPE_NOT_NULL, .has_default = true, .default_json = "\"\""},
    {"campaign", &type_string, offsetof(struct late_purchases, campaign),
     .null_offset = offsetof(struct late_purchases, campaign_null), .null_first = true,
     .has_default = true, .default_json = "null"},
    {"properties", &type_string, offsetof(struct late_purchases, properties),
     .null_offset = PIPE_NOT_NULL, .has_default = true, .default_json = "\"\""},
    {"occurred_at", &type_timestamp_ms, offsetof(struct late_purchases, occurred_at),
     .null_offset = PIPE_NOT_NULL},
    {"late_for", &type_string, offsetof(struct late_purchases, late_for),
     .null_offset = PIPE_NOT_NULL},
    {"window_end", &type_timestamp_ms, offsetof(struct late_purchases, window_end),
     .null_offset = PIPE_NOT_NULL},
    {"watermark", &type_timestamp_ms, offsetof(struct late_purchases, watermark),
     .null_offset = PIPE_NOT_NULL},
};
static const struct pipe_row_type late_purchases_type = {"late_purchases", late_purchases_columns,
                                                         19, sizeof(struct late_purchases)};

/* ----------------------------------------------------------------------------------------------
 * Decoders, one a version of a contract
 * ---------------------------------------------------------------------------------------------- */

static bool decode_funnel_event_v1(struct pipe_reader *r, void *into)
{
    struct funnel_event *row = into;

    if (!pipe_avro_string(r, &row->event_id))
        return pipe_reader_at(r, "event_id");
    if (!pipe_avro_string(r, &row->session_id))
        return pipe_reader_at(r, "session_id");
    if (!pipe_avro_string(r, &row->user_id))
        return pipe_reader_at(r, "user_id");
    if (!pipe_avro_enum(r, 4, &row->event_type))
        return pipe_reader_at(r, "event_type");
    if (!pipe_avro_long(r, &row->product_id))
        return pipe_reader_at(r, "product_id");
    if (!pipe_avro_string(r, &row->product_name))
        return pipe_reader_at(r, "product_name");
    if (!pipe_avro_string(r, &row->category))
        return pipe_reader_at(r, "category");
    if (!pipe_avro_string(r, &row->country))
        return pipe_reader_at(r, "country");
    if (!pipe_avro_long(r, &row->price_cents))
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
    if (!pipe_avro_nullable(r, true, &row->campaign_null) ||
        (!row->campaign_null && !pipe_avro_string(r, &row->campaign)))
        return pipe_reader_at(r, "campaign");
    if (!pipe_avro_string(r, &row->properties))
        return pipe_reader_at(r, "properties");
    if (!pipe_avro_timestamp_ms(r, &row->occurred_at))
        return pipe_reader_at(r, "occurred_at");
    return true;
}

/* ----------------------------------------------------------------------------------------------
 * Contracts
 * ---------------------------------------------------------------------------------------------- */

static const struct pipe_contract_version versions_funnel_event[] = {
    {
        .label = "v1",
        .fingerprint = UINT64_C(0x630dd0dd2feb5649),
        .decode = decode_funnel_event_v1,
        .schema_json =
            "{\"type\":\"record\",\"name\":\"funnel_event\","
            "\"namespace\":\"com.lumenandloom.events\",\"doc\":\"One step of a visitor "
            "through the shop, with the whole context of the page.\","
            "\"fields\":[{\"name\":\"event_id\",\"type\":\"string\",\"doc\":\"UUID "
            "text\"},{\"name\":\"session_id\",\"type\":\"string\",\"doc\":\"UUID text of "
            "the visit; producers partition by it\"},{\"name\":\"user_id\","
            "\"type\":\"string\",\"default\":\"\",\"doc\":\"account, or empty before "
            "sign-in\"},{\"name\":\"event_type\",\"type\":{\"type\":\"enum\","
            "\"name\":\"step\",\"symbols\":[\"page_view\",\"product_view\","
            "\"add_to_cart\",\"purchase\"]},\"doc\":\"the step of the funnel\"},"
            "{\"name\":\"product_id\",\"type\":\"long\",\"doc\":\"stock-keeping "
            "number\"},{\"name\":\"product_name\",\"type\":\"string\",\"default\":\"\","
            "\"doc\":\"as shown\"},{\"name\":\"category\",\"type\":\"string\","
            "\"doc\":\"department of the shop\"},{\"name\":\"country\","
            "\"type\":\"string\",\"doc\":\"ISO 3166-1 alpha-2\"},"
            "{\"name\":\"price_cents\",\"type\":\"long\",\"doc\":\"price of what is seen "
            "or bought, in the smallest unit of the currency\"},{\"name\":\"currency\","
            "\"type\":\"string\",\"default\":\"EUR\",\"doc\":\"ISO 4217\"},"
            "{\"name\":\"url\",\"type\":\"string\",\"default\":\"\",\"doc\":\"address of "
            "the page\"},{\"name\":\"referrer\",\"type\":[\"null\",\"string\"],"
            "\"default\":null,\"doc\":\"the page before\"},{\"name\":\"user_agent\","
            "\"type\":\"string\",\"default\":\"\",\"doc\":\"as the browser sent it\"},"
            "{\"name\":\"campaign\",\"type\":[\"null\",\"string\"],\"default\":null,"
            "\"doc\":\"the advertisement that led here\"},{\"name\":\"properties\","
            "\"type\":\"string\",\"default\":\"\",\"doc\":\"what the page adds, opaque "
            "to the pipeline\"},{\"name\":\"occurred_at\",\"type\":{\"type\":\"long\","
            "\"logicalType\":\"timestamp-millis\"},\"doc\":\"when it happened\"}]}",
    },
};

static const struct pipe_contract contract_funnel_event = {
    .name = "funnel_event",
    .row = &funnel_event_type,
    .versions = versions_funnel_event,
    .version_count = 1,
};

/* ----------------------------------------------------------------------------------------------
 * JSON
 * ---------------------------------------------------------------------------------------------- */

static void json_of_revenue_by_category(struct pipe_buf *buf, const struct revenue_by_category *row)
{
    PIPE_JSON_RAW(buf, "{\"window_start\":");
    pipe_json_timestamp_ms(buf, row->window_start);
    PIPE_JSON_RAW(buf, ",\"window_end\":");
    pipe_json_timestamp_ms(buf, row->window_end);
    PIPE_JSON_RAW(buf, ",\"category\":");
    pipe_json_string(buf, row->category);
    PIPE_JSON_RAW(buf, ",\"country\":");
    pipe_json_string(buf, row->country);
    PIPE_JSON_RAW(buf, ",\"purchases\":");
    pipe_json_i64(buf, row->purchases);
    PIPE_JSON_RAW(buf, ",\"revenue_cents\":");
    pipe_json_i64(buf, row->revenue_cents);
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

static void json_of_late_purchases(struct pipe_buf *buf, const struct late_purchases *row)
{
    PIPE_JSON_RAW(buf, "{\"event_id\":");
    pipe_json_string(buf, row->event_id);
    PIPE_JSON_RAW(buf, ",\"session_id\":");
    pipe_json_string(buf, row->session_id);
    PIPE_JSON_RAW(buf, ",\"user_id\":");
    pipe_json_string(buf, row->user_id);
    PIPE_JSON_RAW(buf, ",\"event_type\":");
    pipe_json_enum(buf, type_step.symbols, row->event_type);
    PIPE_JSON_RAW(buf, ",\"product_id\":");
    pipe_json_i64(buf, row->product_id);
    PIPE_JSON_RAW(buf, ",\"product_name\":");
    pipe_json_string(buf, row->product_name);
    PIPE_JSON_RAW(buf, ",\"category\":");
    pipe_json_string(buf, row->category);
    PIPE_JSON_RAW(buf, ",\"country\":");
    pipe_json_string(buf, row->country);
    PIPE_JSON_RAW(buf, ",\"price_cents\":");
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
    PIPE_JSON_RAW(buf, ",\"campaign\":");
    if (row->campaign_null)
        pipe_json_null(buf);
    else
        pipe_json_string(buf, row->campaign);
    PIPE_JSON_RAW(buf, ",\"properties\":");
    pipe_json_string(buf, row->properties);
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

static void push_purchases(struct pipe_task *task, const struct pipe_record *record,
                           const struct funnel_event *row);
static void push_revenue_by_category(struct pipe_task *task, const struct pipe_record *record,
                                     const struct funnel_event *row);
static void push_rejected(struct pipe_task *task, const struct pipe_record *record,
                          const struct pipe_reject *row);
static void reject_rejected(struct pipe_task *task, const struct pipe_record *record,
                            const char *reason, const char *rule, const char *detail);
static void push_late_purchases(struct pipe_task *task, const struct pipe_record *record,
                                const struct late_purchases *row);

/* ---- source events  (revenue.pipe:8) ---- */

/* sink raw_topic from events to kafka topic 'funnel.events' key session_id format avro contract
 * funnel_event exactly once (revenue.pipe:31) */
static void sink_raw_topic(struct pipe_task *task, const struct pipe_record *record,
                           const struct funnel_event *row)
{
    struct pipe_str key = row->session_id;

    if (!pipe_encoded(task, row, &funnel_event_type))
        pipe_row_to_avro(&funnel_event_type, row, &task->value);
    pipe_emit(task, SINK_raw_topic, record, key, pipe_str_of(task->value.data, task->value.size));
}

static void out_events(struct pipe_task *task, const struct pipe_record *record,
                       const struct funnel_event *row)
{
    task->counters[STREAM_events].out++;
    if (!pipe_discards(task)) {
        sink_raw_topic(task, record, row);
    }
    push_purchases(task, record, row);
}

/* ---- stream purchases from events  (revenue.pipe:15) ---- */

static void out_purchases(struct pipe_task *task, const struct pipe_record *record,
                          const struct funnel_event *row)
{
    task->counters[STREAM_purchases].out++;
    push_revenue_by_category(task, record, row);
}

/* where event_type = 'purchase' (revenue.pipe:16) */
static bool purchases_where_1(const struct funnel_event *row)
{
    return row->event_type == 3 /* purchase */;
}

/* require price_cents between 0 and 100_000_000 else 'price_out_of_range' (revenue.pipe:17) */
static bool purchases_require_2(const struct funnel_event *row)
{
    return row->price_cents >= 0 && row->price_cents <= 100000000;
}

/* require length(country) = 2 else 'country_not_iso2' (revenue.pipe:18) */
static bool purchases_require_3(const struct funnel_event *row)
{
    return pipe_fn_length(row->country) == 2;
}

static void push_purchases(struct pipe_task *task, const struct pipe_record *record,
                           const struct funnel_event *row)
{
    struct pipe_counters *count = &task->counters[STREAM_purchases];

    count->in++;
    if (!purchases_where_1(row)) {
        count->dropped++;
        return;
    }
    if (!purchases_require_2(row)) {
        count->rejected++;
        reject_rejected(task, record, "price_out_of_range", "purchases", NULL);
        return;
    }
    if (!purchases_require_3(row)) {
        count->rejected++;
        reject_rejected(task, record, "country_not_iso2", "purchases", NULL);
        return;
    }
    count->passed++;
    out_purchases(task, record, row);
}

/* ---- stream revenue_by_category from purchases  (revenue.pipe:21) ---- */

static struct pipe_str key_text_of_revenue_topic(struct pipe_buf *text,
                                                 const struct revenue_by_category *row)
{
    text->size = 0;
    PIPE_JSON_RAW(text, "[");
    pipe_json_string(text, row->category);
    PIPE_JSON_RAW(text, ",");
    pipe_json_string(text, row->country);
    PIPE_JSON_RAW(text, "]");
    return pipe_str_of(text->data, text->size);
}

/* sink revenue_topic from revenue_by_category to kafka topic 'revenue.windows' key category,
 * country exactly once (revenue.pipe:37) */
static void sink_revenue_topic(struct pipe_task *task, const struct pipe_record *record,
                               const struct revenue_by_category *row)
{
    struct pipe_str key = key_text_of_revenue_topic(&task->key, row);

    if (!pipe_encoded(task, row, (const void *)json_of_revenue_by_category))
        json_of_revenue_by_category(&task->value, row);
    pipe_emit(task, SINK_revenue_topic, record, key,
              pipe_str_of(task->value.data, task->value.size));
}

static void out_revenue_by_category(struct pipe_task *task, const struct pipe_record *record,
                                    const struct revenue_by_category *row)
{
    task->counters[STREAM_revenue_by_category].out++;
    if (!pipe_discards(task)) {
        sink_revenue_topic(task, record, row);
    }
}

/* The key: category, country. */
static void key_revenue_by_category(struct pipe_buf *key, const struct funnel_event *row)
{
    key->size = 0;
    pipe_key_add_str(key, row->category);
    pipe_key_add_str(key, row->country);
}

/* window tumbling 10s (revenue.pipe:22) */
struct revenue_by_category_acc {
    struct pipe_count purchases;
    struct pipe_sum_int revenue_cents;
};

static void revenue_by_category_acc_init(void *acc)
{
    struct revenue_by_category_acc *of = acc;

    pipe_count_init(&of->purchases);
    pipe_sum_int_init(&of->revenue_cents);
}

static void revenue_by_category_acc_merge(void *into, const void *from)
{
    struct revenue_by_category_acc *to = into;
    const struct revenue_by_category_acc *other = from;

    pipe_count_merge(&to->purchases, &other->purchases);
    pipe_sum_int_merge(&to->revenue_cents, &other->revenue_cents);
}

static void revenue_by_category_acc_save(const void *acc, struct pipe_buf *out)
{
    const struct revenue_by_category_acc *of = acc;

    pipe_count_save(&of->purchases, out);
    pipe_sum_int_save(&of->revenue_cents, out);
}

static bool revenue_by_category_acc_load(void *acc, struct pipe_reader *in)
{
    struct revenue_by_category_acc *to = acc;

    return pipe_count_load(&to->purchases, in) && pipe_sum_int_load(&to->revenue_cents, in);
}

static void revenue_by_category_acc_drop(void *acc)
{
    struct revenue_by_category_acc *of = acc;

    pipe_count_drop(&of->purchases);
    pipe_sum_int_drop(&of->revenue_cents);
}

static const struct pipe_accumulator revenue_by_category_accumulator = {
    .size_bytes = sizeof(struct revenue_by_category_acc),
    .plain = true,
    .init = revenue_by_category_acc_init,
    .merge = revenue_by_category_acc_merge,
    .save = revenue_by_category_acc_save,
    .load = revenue_by_category_acc_load,
    .drop = revenue_by_category_acc_drop,
};

static void update_revenue_by_category(struct revenue_by_category_acc *acc,
                                       const struct funnel_event *row)
{
    pipe_count_update(&acc->purchases);
    pipe_sum_int_update(&acc->revenue_cents, row->price_cents);
}

/* late to late_purchases: a window that the row missed. */
static void late_revenue_by_category(struct pipe_task *task, const struct pipe_record *record,
                                     const struct funnel_event *row, int64_t window_end)
{
    struct late_purchases out = {0};

    out.event_id = row->event_id;
    out.session_id = row->session_id;
    out.user_id = row->user_id;
    out.event_type = row->event_type;
    out.product_id = row->product_id;
    out.product_name = row->product_name;
    out.category = row->category;
    out.country = row->country;
    out.price_cents = row->price_cents;
    out.currency = row->currency;
    out.url = row->url;
    out.referrer = row->referrer;
    out.referrer_null = row->referrer_null;
    out.user_agent = row->user_agent;
    out.campaign = row->campaign;
    out.campaign_null = row->campaign_null;
    out.properties = row->properties;
    out.occurred_at = row->occurred_at;
    out.late_for = PIPE_STR("revenue_by_category");
    out.window_end = pipe_column_ts_ms(window_end);
    out.watermark = pipe_column_ts_ms(record->watermark);
    pipe_new_row(task);
    push_late_purchases(task, record, &out);
}

static void keep_revenue_by_category(struct pipe_task *task, const struct pipe_record *record,
                                     const struct funnel_event *row)
{
    bool is_ahead = pipe_is_ahead(task, row);

    if (!is_ahead)
        key_revenue_by_category(&task->key, row);
    struct pipe_window_hit hit = pipe_window(task, STATE_revenue_by_category, record, is_ahead);
    if (hit.acc != NULL)
        update_revenue_by_category(hit.acc, row);
    for (uint32_t i = 0; i < hit.late && pipe_may_make(task, record, PIPE_ITEM_BYTES); i++)
        late_revenue_by_category(task, record, row, hit.late_end + i * PIPE_SECONDS(10));
}

/* The total of a sum does not fit its column. */
static bool overflow_revenue_by_category(struct pipe_task *task, const struct pipe_record *record,
                                         const struct pipe_window_row *window,
                                         const struct revenue_by_category *row, const char *column)
{
    struct pipe_buf *text = &task->text;

    text->size = 0;
    pipe_buf_printf(text, "%s: the total is out of range; window [", column);
    pipe_csv_timestamp_ms(text, pipe_column_ts_ms(window->start));
    PIPE_JSON_RAW(text, ", ");
    pipe_csv_timestamp_ms(text, pipe_column_ts_ms(window->end));
    PIPE_JSON_RAW(text, "), group ");
    pipe_key_text(text, &revenue_by_category_type, row, (const uint32_t[]){2, 3}, 2);
    pipe_buf_add_byte(text, '\0');
    reject_rejected(task, record, "expression_failed", "revenue_by_category",
                    (const char *)text->data);
    return false;
}

/* The row of a window that is due. */
static bool emit_revenue_by_category(struct pipe_task *task, const struct pipe_window_row *window)
{
    const struct revenue_by_category_acc *acc = window->acc;
    const uint8_t *at = window->key, *end = at + window->key_bytes;
    struct pipe_arena_mark mark = pipe_arena_mark(&task->arena);
    struct revenue_by_category out = {0};
    const struct pipe_record record = {
        .kafka_time_ms = window->kafka_time_ms,
        .event_time = window->end - PIPE_MS(1),
        .watermark = window->watermark,
    };

    out.window_start = pipe_column_ts_ms(window->start);
    out.window_end = pipe_column_ts_ms(window->end);
    if (!(pipe_key_str(&at, end, &out.category) && pipe_key_str(&at, end, &out.country))) {
        pipe_fatal(task, "%s: a window's key is damaged", "revenue_by_category");
        return false;
    }
    pipe_count_finish(&acc->purchases, &out.purchases, NULL);
    if (!pipe_sum_int_finish(&acc->revenue_cents, &out.revenue_cents, NULL))
        return overflow_revenue_by_category(task, &record, window, &out, "revenue_cents");
    pipe_new_row(task);
    out_revenue_by_category(task, &record, &out);
    pipe_arena_back_to(&task->arena, mark);
    return true;
}

static void push_revenue_by_category(struct pipe_task *task, const struct pipe_record *record,
                                     const struct funnel_event *row)
{
    struct pipe_counters *count = &task->counters[STREAM_revenue_by_category];

    count->in++;
    count->passed++;
    keep_revenue_by_category(task, record, row);
}

/* ---- reject stream rejected  (revenue.pipe:13) ---- */

/* sink dead_letters from rejected to kafka topic 'revenue.dlq' key reason exactly once
 * (revenue.pipe:42) */
static void sink_dead_letters(struct pipe_task *task, const struct pipe_record *record,
                              const struct pipe_reject *row)
{
    struct pipe_str key = row->reason;

    if (!pipe_encoded(task, row, (const void *)json_of_pipe_reject))
        json_of_pipe_reject(&task->value, row);
    pipe_emit(task, SINK_dead_letters, record, key,
              pipe_str_of(task->value.data, task->value.size));
}

static void out_rejected(struct pipe_task *task, const struct pipe_record *record,
                         const struct pipe_reject *row)
{
    task->counters[STREAM_rejected].out++;
    if (!pipe_discards(task)) {
        sink_dead_letters(task, record, row);
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

/* ---- late stream late_purchases  (revenue.pipe:27) ---- */

/* sink late_topic from late_purchases to kafka topic 'revenue.late' key session_id exactly once
 * (revenue.pipe:41) */
static void sink_late_topic(struct pipe_task *task, const struct pipe_record *record,
                            const struct late_purchases *row)
{
    struct pipe_str key = row->session_id;

    if (!pipe_encoded(task, row, (const void *)json_of_late_purchases))
        json_of_late_purchases(&task->value, row);
    pipe_emit(task, SINK_late_topic, record, key, pipe_str_of(task->value.data, task->value.size));
}

static void out_late_purchases(struct pipe_task *task, const struct pipe_record *record,
                               const struct late_purchases *row)
{
    task->counters[STREAM_late_purchases].out++;
    if (!pipe_discards(task)) {
        sink_late_topic(task, record, row);
    }
}

static void push_late_purchases(struct pipe_task *task, const struct pipe_record *record,
                                const struct late_purchases *row)
{
    struct pipe_counters *count = &task->counters[STREAM_late_purchases];

    count->in++;
    count->passed++;
    out_late_purchases(task, record, row);
}

/* ----------------------------------------------------------------------------------------------
 * Records
 * ---------------------------------------------------------------------------------------------- */

/* A row that comes soon: its keys, so that the memory is asked for that they will need. */
static void ahead_events(struct pipe_task *task, const void *decoded)
{
    const struct funnel_event *row = decoded;

    key_revenue_by_category(pipe_key_ahead(task, STATE_revenue_by_category), row);
}

/* ---- a record of source events ---- */

static bool refuse_events(struct pipe_task *task, const struct pipe_record *record,
                          const char *reason, const char *detail)
{
    struct pipe_counters *count = &task->counters[STREAM_events];

    count->source_rejected++;
    reject_rejected(task, record, reason, "events", detail);
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

    const struct funnel_event *row = decoded;

    reason = pipe_judge_key(task, record, row->session_id);
    if (reason != NULL)
        return refuse_events(task, record, reason, task->detail);

    record->event_time = PIPE_MS(row->occurred_at);
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
        .target = "funnel.raw",
        .partitions = 4,
        .format = PIPE_FORMAT_AVRO,
        .contract = &contract_funnel_event,
        .row = &funnel_event_type,
        .row_bytes = sizeof(struct funnel_event),
        .has_event_time = true,
        .ahead = PIPE_MINUTES(5),
        .has_watermark = true,
        .watermark = PIPE_SECONDS(5),
        .idle = PIPE_SECONDS(30),
        .stage = STAGE_events,
    },
};

static const struct pipe_stream_def streams[] = {
    [STREAM_events] = {.name = "events", .kind = PIPE_STREAM_SOURCE},
    [STREAM_purchases] = {.name = "purchases", .kind = PIPE_STREAM_NORMAL,
                          .inputs = (const uint32_t[]){STREAM_events}, .input_count = 1,
                          .has_filters = true},
    [STREAM_revenue_by_category] = {.name = "revenue_by_category", .kind = PIPE_STREAM_NORMAL,
                                    .inputs = (const uint32_t[]){STREAM_purchases},
                                    .input_count = 1, .has_window = true, .has_exchange = true},
    [STREAM_rejected] = {.name = "rejected", .kind = PIPE_STREAM_REJECTS,
                         .inputs = (const uint32_t[]){STREAM_events, STREAM_purchases,
                                                      STREAM_revenue_by_category},
                                                      .input_count = 3},
    [STREAM_late_purchases] = {.name = "late_purchases", .kind = PIPE_STREAM_LATE,
                               .inputs = (const uint32_t[]){STREAM_revenue_by_category},
                               .input_count = 1},
};

static const struct pipe_state_def states_of_events[] = {
    {
        .kind = PIPE_STATE_WINDOW,
        .name = "revenue_by_category",
        .stream = STREAM_revenue_by_category,
        .size = PIPE_SECONDS(10),
        .every = PIPE_SECONDS(10),
        .emit = PIPE_EMIT_CLOSE,
        .phase = PIPE_PHASE_PARTIAL,
        .exchange = EXCHANGE_revenue_by_category,
        .acc = &revenue_by_category_accumulator,
    },
};

static const uint32_t exchanges_of_events[] = {EXCHANGE_revenue_by_category};
static const int64_t delays_of_events[] = {0};

static const struct pipe_state_def states_of_revenue_by_category[] = {
    {
        .kind = PIPE_STATE_WINDOW,
        .name = "revenue_by_category",
        .stream = STREAM_revenue_by_category,
        .size = PIPE_SECONDS(10),
        .every = PIPE_SECONDS(10),
        .emit = PIPE_EMIT_CLOSE,
        .phase = PIPE_PHASE_MERGE,
        .exchange = EXCHANGE_revenue_by_category,
        .acc = &revenue_by_category_accumulator,
        .emit_row = emit_revenue_by_category,
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
        .exchanges_out = exchanges_of_events,
        .exchange_delays = delays_of_events,
        .exchange_out_count = 1,
    },
    [STAGE_revenue_by_category] = {
        .name = "revenue_by_category",
        .source = -1,
        .exchange = 0,
        .record = NULL,
        .states = states_of_revenue_by_category,
        .state_count = 1,
    },
};

static const struct pipe_exchange_def exchanges[] = {
    [EXCHANGE_revenue_by_category] = {.name = "revenue_by_category", .partitions = 4,
                                      .partials = true, .to_stage = STAGE_revenue_by_category,
                                      .reason = "input is partitioned by session_id"},
};

static const struct pipe_sink_def sinks[] = {
    [SINK_raw_topic] = {
        .name = "raw_topic",
        .stream = STREAM_events,
        .kind = PIPE_SINK_KAFKA,
        .target = "funnel.events",
        .partitions = 4,
        .format = PIPE_FORMAT_AVRO,
        .row = &funnel_event_type,
        .avro_fingerprint = UINT64_C(0x630dd0dd2feb5649),
        .avro_schema =
            "{\"type\":\"record\",\"name\":\"funnel_event\","
            "\"namespace\":\"com.lumenandloom.events\",\"doc\":\"One step of a visitor "
            "through the shop, with the whole context of the page.\","
            "\"fields\":[{\"name\":\"event_id\",\"type\":\"string\",\"doc\":\"UUID "
            "text\"},{\"name\":\"session_id\",\"type\":\"string\",\"doc\":\"UUID text of "
            "the visit; producers partition by it\"},{\"name\":\"user_id\","
            "\"type\":\"string\",\"default\":\"\",\"doc\":\"account, or empty before "
            "sign-in\"},{\"name\":\"event_type\",\"type\":{\"type\":\"enum\","
            "\"name\":\"step\",\"symbols\":[\"page_view\",\"product_view\","
            "\"add_to_cart\",\"purchase\"]},\"doc\":\"the step of the funnel\"},"
            "{\"name\":\"product_id\",\"type\":\"long\",\"doc\":\"stock-keeping "
            "number\"},{\"name\":\"product_name\",\"type\":\"string\",\"default\":\"\","
            "\"doc\":\"as shown\"},{\"name\":\"category\",\"type\":\"string\","
            "\"doc\":\"department of the shop\"},{\"name\":\"country\","
            "\"type\":\"string\",\"doc\":\"ISO 3166-1 alpha-2\"},"
            "{\"name\":\"price_cents\",\"type\":\"long\",\"doc\":\"price of what is seen "
            "or bought, in the smallest unit of the currency\"},{\"name\":\"currency\","
            "\"type\":\"string\",\"default\":\"EUR\",\"doc\":\"ISO 4217\"},"
            "{\"name\":\"url\",\"type\":\"string\",\"default\":\"\",\"doc\":\"address of "
            "the page\"},{\"name\":\"referrer\",\"type\":[\"null\",\"string\"],"
            "\"default\":null,\"doc\":\"the page before\"},{\"name\":\"user_agent\","
            "\"type\":\"string\",\"default\":\"\",\"doc\":\"as the browser sent it\"},"
            "{\"name\":\"campaign\",\"type\":[\"null\",\"string\"],\"default\":null,"
            "\"doc\":\"the advertisement that led here\"},{\"name\":\"properties\","
            "\"type\":\"string\",\"default\":\"\",\"doc\":\"what the page adds, opaque "
            "to the pipeline\"},{\"name\":\"occurred_at\",\"type\":{\"type\":\"long\","
            "\"logicalType\":\"timestamp-millis\"},\"doc\":\"when it happened\"}]}",
        .exactly_once = true,
    },
    [SINK_revenue_topic] = {
        .name = "revenue_topic",
        .stream = STREAM_revenue_by_category,
        .kind = PIPE_SINK_KAFKA,
        .target = "revenue.windows",
        .partitions = 4,
        .format = PIPE_FORMAT_JSON,
        .row = &revenue_by_category_type,
        .exactly_once = true,
    },
    [SINK_late_topic] = {
        .name = "late_topic",
        .stream = STREAM_late_purchases,
        .kind = PIPE_SINK_KAFKA,
        .target = "revenue.late",
        .partitions = 4,
        .format = PIPE_FORMAT_JSON,
        .row = &late_purchases_type,
        .exactly_once = true,
    },
    [SINK_dead_letters] = {
        .name = "dead_letters",
        .stream = STREAM_rejected,
        .kind = PIPE_SINK_KAFKA,
        .target = "revenue.dlq",
        .partitions = 4,
        .format = PIPE_FORMAT_JSON,
        .row = &pipe_reject_type,
        .exactly_once = true,
    },
};

/* ---- traffic shoppers into events ---- */

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
static const char *const traffic_shoppers_url_values[] = {
    "\"https://www.lumenandloom.example/\"",
    "\"https://www.lumenandloom.example/search?view=grid&page=1\"",
    "\"https://www.lumenandloom.example/new-arrivals?sort=price\"",
};
static const int64_t traffic_shoppers_url_weights[] = {1, 1, 1};
static const char *const traffic_shoppers_referrer_values[] = {
    "\"https://www.lumenandloom.example/\"",
    "\"https://search.example/?q=linen+throw\"",
};
static const int64_t traffic_shoppers_referrer_weights[] = {1, 1};
static const char *const traffic_shoppers_user_agent_values[] = {
    "\"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML) Chrome/131.0\"",
    "\"Mozilla/5.0 (iPhone; CPU OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML)\"",
};
static const int64_t traffic_shoppers_user_agent_weights[] = {60, 40};
static const char *const traffic_shoppers_campaign_values[] = {
    "\"spring-linen\"",
    "\"lamp-week\"",
    "\"newsletter\"",
};
static const int64_t traffic_shoppers_campaign_weights[] = {1, 1, 1};
static const struct pipe_traffic_field traffic_shoppers_fields[] = {
    {.kind = PIPE_GEN_UNIQUE, .path = (const uint32_t[]){0}, .path_count = 1}, /* event_id */
    {.kind = PIPE_GEN_SESSION, .path = (const uint32_t[]){1}, .path_count = 1}, /* session_id */
    {.kind = PIPE_GEN_TEXT, .path = (const uint32_t[]){2}, .path_count = 1, .low = 12, .high = 12,
     .scale = 0, .per_session = true}, /* user_id */
    {.kind = PIPE_GEN_UNIFORM, .path = (const uint32_t[]){4}, .path_count = 1, .low = 1000000,
     .high = 1004999, .scale = 0}, /* product_id */
    {.kind = PIPE_GEN_TEXT, .path = (const uint32_t[]){5}, .path_count = 1, .low = 20, .high = 50,
     .scale = 0}, /* product_name */
    {.kind = PIPE_GEN_PICK, .path = (const uint32_t[]){6}, .path_count = 1,
     .picks = traffic_shoppers_category_values, .weights = traffic_shoppers_category_weights,
     .pick_count = 5}, /* category */
    {.kind = PIPE_GEN_PICK, .path = (const uint32_t[]){7}, .path_count = 1,
     .picks = traffic_shoppers_country_values, .weights = traffic_shoppers_country_weights,
     .pick_count = 5, .per_session = true}, /* country */
    {.kind = PIPE_GEN_UNIFORM, .path = (const uint32_t[]){8}, .path_count = 1, .low = 500,
     .high = 90000, .scale = 0}, /* price_cents */
    {.kind = PIPE_GEN_PICK, .path = (const uint32_t[]){10}, .path_count = 1,
     .picks = traffic_shoppers_url_values, .weights = traffic_shoppers_url_weights,
     .pick_count = 3}, /* url */
    {.kind = PIPE_GEN_PICK, .path = (const uint32_t[]){11}, .path_count = 1,
     .picks = traffic_shoppers_referrer_values, .weights = traffic_shoppers_referrer_weights,
     .pick_count = 2, .null_ppm = 350000}, /* referrer */
    {.kind = PIPE_GEN_PICK, .path = (const uint32_t[]){12}, .path_count = 1,
     .picks = traffic_shoppers_user_agent_values, .weights = traffic_shoppers_user_agent_weights,
     .pick_count = 2, .per_session = true}, /* user_agent */
    {.kind = PIPE_GEN_PICK, .path = (const uint32_t[]){13}, .path_count = 1,
     .picks = traffic_shoppers_campaign_values, .weights = traffic_shoppers_campaign_weights,
     .pick_count = 3, .null_ppm = 700000, .per_session = true}, /* campaign */
    {.kind = PIPE_GEN_TEXT, .path = (const uint32_t[]){14}, .path_count = 1, .low = 620,
     .high = 740, .scale = 0}, /* properties */
};

static const struct pipe_traffic_step traffic_shoppers_steps[] = {
    {"page_view", (const struct pipe_traffic_target[]){{1, 60}, {0, 30}, {-1, 10}}, 3},
    {"product_view", (const struct pipe_traffic_target[]){{2, 30}, {1, 45}, {-1, 25}}, 3},
    {"add_to_cart", (const struct pipe_traffic_target[]){{3, 45}, {1, 25}, {-1, 30}}, 3},
    {"purchase", NULL, 0},
};

static const struct pipe_traffic_fault traffic_shoppers_faults[] = {
    {.kind = PIPE_FAULT_DUPLICATE, .ppm = 10000, .low_ms = 0, .high_ms = 10000},
    {.kind = PIPE_FAULT_OUT_OF_ORDER, .ppm = 50000, .low_ms = 0, .high_ms = 4000},
    {.kind = PIPE_FAULT_LATE, .ppm = 5000, .low_ms = 60000, .high_ms = 300000},
    {.kind = PIPE_FAULT_POISON, .ppm = 500},
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
        .step_count = 4,
        .fields = traffic_shoppers_fields,
        .field_count = 13,
        .faults = traffic_shoppers_faults,
        .fault_count = 4,
        .key_columns = (const uint32_t[]){1},
        .key_count = 1,
        .event_time_column = 15,
    },
};

static const char explain_text[] =
    "revenue   plan 8d5e1dc5\n"
    "  1 kafka source events                  funnel.raw, 4 partitions by session_id; "
    "avro of contract funnel_event; event time occurred_at, watermark 5s, idle 30s, "
    "ahead 5m\n"
    "  2   kafka sink raw_topic               funnel.events, key session_id, avro; "
    "exactly once: in the commit that holds the input offsets\n"
    "  3   stream purchases                   from events\n"
    "  4     where                            event_type = 'purchase'\n"
    "  5     require                          price_cents between 0 and 100000000  else "
    "price_out_of_range\n"
    "  6     require                          length(country) = 2  else country_not_iso2\n"
    "  7     stream revenue_by_category       from purchases\n"
    "  8       exchange revenue_by_category   partials by category, country, 4 "
    "partitions: input is partitioned by session_id\n"
    "  9       window revenue_by_category     STATE revenue_by_category  tumbling 10s by "
    "category, country, emit on close; merges the partials; late to late_purchases\n"
    " 10       kafka sink revenue_topic       revenue.windows, key category, country, "
    "json; exactly once: in the commit that holds the input offsets\n"
    " 11 rejects rejected                     from events, purchases, revenue_by_category\n"
    " 12   kafka sink dead_letters            revenue.dlq, key reason, json; exactly "
    "once: in the commit that holds the input offsets\n"
    " 13 late rows late_purchases             from revenue_by_category\n"
    " 14   kafka sink late_topic              revenue.late, key session_id, json; "
    "exactly once: in the commit that holds the input offsets\n"
    "\n"
    "stages\n"
    "  0 reads source events: 4 tasks; state revenue_by_category (partials)\n"
    "  1 reads exchange revenue_by_category: 4 tasks; state revenue_by_category (merge)\n";

static const char plan_json[] =
    "{\n"
    " \"hash\": \"8d5e1dc5cda81fb0\",\n"
    " \"nodes\": [\n"
    "  {\n"
    "   \"compatibility\": \"full\",\n"
    "   \"name\": \"funnel_event\",\n"
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
    "        \"type\": {\n"
    "         \"name\": \"step\",\n"
    "         \"symbols\": [\n"
    "          \"page_view\",\n"
    "          \"product_view\",\n"
    "          \"add_to_cart\",\n"
    "          \"purchase\"\n"
    "         ],\n"
    "         \"type\": \"enum\"\n"
    "        }\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"product_id\",\n"
    "        \"type\": \"long\"\n"
    "       },\n"
    "       {\n"
    "        \"default\": \"\",\n"
    "        \"name\": \"product_name\",\n"
    "        \"type\": \"string\"\n"
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
    "        \"type\": \"long\"\n"
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
    "        \"default\": null,\n"
    "        \"name\": \"campaign\",\n"
    "        \"type\": [\n"
    "         \"null\",\n"
    "         \"string\"\n"
    "        ]\n"
    "       },\n"
    "       {\n"
    "        \"default\": \"\",\n"
    "        \"name\": \"properties\",\n"
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
    "      \"name\": \"funnel_event\",\n"
    "      \"namespace\": \"com.lumenandloom.events\",\n"
    "      \"type\": \"record\"\n"
    "     },\n"
    "     \"fingerprint\": \"630dd0dd2feb5649\",\n"
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
    "        \"type\": {\n"
    "         \"name\": \"com.lumenandloom.events.step\",\n"
    "         \"symbols\": [\n"
    "          \"page_view\",\n"
    "          \"product_view\",\n"
    "          \"add_to_cart\",\n"
    "          \"purchase\"\n"
    "         ],\n"
    "         \"type\": \"enum\"\n"
    "        }\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"product_id\",\n"
    "        \"type\": \"long\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"product_name\",\n"
    "        \"type\": \"string\"\n"
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
    "        \"type\": \"long\"\n"
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
    "        \"name\": \"campaign\",\n"
    "        \"type\": [\n"
    "         \"null\",\n"
    "         \"string\"\n"
    "        ]\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"properties\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"occurred_at\",\n"
    "        \"type\": \"long\"\n"
    "       }\n"
    "      ],\n"
    "      \"name\": \"com.lumenandloom.events.funnel_event\",\n"
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
    "     \"symbols\": [\n"
    "      \"page_view\",\n"
    "      \"product_view\",\n"
    "      \"add_to_cart\",\n"
    "      \"purchase\"\n"
    "     ],\n"
    "     \"type\": \"enum step\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"product_id\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"product_name\",\n"
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
    "     \"name\": \"campaign\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"properties\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"occurred_at\",\n"
    "     \"type\": \"timestamp_ms\"\n"
    "    }\n"
    "   ],\n"
    "   \"contract\": \"funnel_event\",\n"
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
    "   \"name\": \"events\",\n"
    "   \"node\": \"source\",\n"
    "   \"partitions\": 4,\n"
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
    "     \"symbols\": [\n"
    "      \"page_view\",\n"
    "      \"product_view\",\n"
    "      \"add_to_cart\",\n"
    "      \"purchase\"\n"
    "     ],\n"
    "     \"type\": \"enum step\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"product_id\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"product_name\",\n"
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
    "     \"name\": \"campaign\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"properties\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"occurred_at\",\n"
    "     \"type\": \"timestamp_ms\"\n"
    "    }\n"
    "   ],\n"
    "   \"rejects\": \"rejected\",\n"
    "   \"topic\": \"funnel.raw\",\n"
    "   \"transport\": \"kafka\",\n"
    "   \"watermark_ms\": 5000\n"
    "  },\n"
    "  {\n"
    "   \"append_revisions\": false,\n"
    "   \"commit_bytes\": 16777216,\n"
    "   \"commit_ms\": 100,\n"
    "   \"exactly_once\": true,\n"
    "   \"format\": \"avro\",\n"
    "   \"from\": \"events\",\n"
    "   \"guarantee\": \"exactly once: in the commit that holds the input offsets\",\n"
    "   \"key\": [\n"
    "    \"session_id\"\n"
    "   ],\n"
    "   \"kind\": \"kafka\",\n"
    "   \"name\": \"raw_topic\",\n"
    "   \"node\": \"sink\",\n"
    "   \"order\": [],\n"
    "   \"partition_by\": [],\n"
    "   \"partitions\": 4,\n"
    "   \"rollups\": [],\n"
    "   \"schema\": {\n"
    "    \"fields\": [\n"
    "     {\n"
    "      \"name\": \"event_id\",\n"
    "      \"type\": \"string\"\n"
    "     },\n"
    "     {\n"
    "      \"name\": \"session_id\",\n"
    "      \"type\": \"string\"\n"
    "     },\n"
    "     {\n"
    "      \"default\": \"\",\n"
    "      \"name\": \"user_id\",\n"
    "      \"type\": \"string\"\n"
    "     },\n"
    "     {\n"
    "      \"name\": \"event_type\",\n"
    "      \"type\": {\n"
    "       \"name\": \"step\",\n"
    "       \"symbols\": [\n"
    "        \"page_view\",\n"
    "        \"product_view\",\n"
    "        \"add_to_cart\",\n"
    "        \"purchase\"\n"
    "       ],\n"
    "       \"type\": \"enum\"\n"
    "      }\n"
    "     },\n"
    "     {\n"
    "      \"name\": \"product_id\",\n"
    "      \"type\": \"long\"\n"
    "     },\n"
    "     {\n"
    "      \"default\": \"\",\n"
    "      \"name\": \"product_name\",\n"
    "      \"type\": \"string\"\n"
    "     },\n"
    "     {\n"
    "      \"name\": \"category\",\n"
    "      \"type\": \"string\"\n"
    "     },\n"
    "     {\n"
    "      \"name\": \"country\",\n"
    "      \"type\": \"string\"\n"
    "     },\n"
    "     {\n"
    "      \"name\": \"price_cents\",\n"
    "      \"type\": \"long\"\n"
    "     },\n"
    "     {\n"
    "      \"default\": \"EUR\",\n"
    "      \"name\": \"currency\",\n"
    "      \"type\": \"string\"\n"
    "     },\n"
    "     {\n"
    "      \"default\": \"\",\n"
    "      \"name\": \"url\",\n"
    "      \"type\": \"string\"\n"
    "     },\n"
    "     {\n"
    "      \"default\": null,\n"
    "      \"name\": \"referrer\",\n"
    "      \"type\": [\n"
    "       \"null\",\n"
    "       \"string\"\n"
    "      ]\n"
    "     },\n"
    "     {\n"
    "      \"default\": \"\",\n"
    "      \"name\": \"user_agent\",\n"
    "      \"type\": \"string\"\n"
    "     },\n"
    "     {\n"
    "      \"default\": null,\n"
    "      \"name\": \"campaign\",\n"
    "      \"type\": [\n"
    "       \"null\",\n"
    "       \"string\"\n"
    "      ]\n"
    "     },\n"
    "     {\n"
    "      \"default\": \"\",\n"
    "      \"name\": \"properties\",\n"
    "      \"type\": \"string\"\n"
    "     },\n"
    "     {\n"
    "      \"name\": \"occurred_at\",\n"
    "      \"type\": {\n"
    "       \"logicalType\": \"timestamp-millis\",\n"
    "       \"type\": \"long\"\n"
    "      }\n"
    "     }\n"
    "    ],\n"
    "    \"name\": \"funnel_event\",\n"
    "    \"namespace\": \"com.lumenandloom.events\",\n"
    "    \"type\": \"record\"\n"
    "   },\n"
    "   \"source_key\": false,\n"
    "   \"target\": \"funnel.events\"\n"
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
    "     \"symbols\": [\n"
    "      \"page_view\",\n"
    "      \"product_view\",\n"
    "      \"add_to_cart\",\n"
    "      \"purchase\"\n"
    "     ],\n"
    "     \"type\": \"enum step\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"product_id\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"product_name\",\n"
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
    "     \"name\": \"campaign\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"properties\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"occurred_at\",\n"
    "     \"type\": \"timestamp_ms\"\n"
    "    }\n"
    "   ],\n"
    "   \"inputs\": [\n"
    "    \"events\"\n"
    "   ],\n"
    "   \"name\": \"purchases\",\n"
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
    "      \"event_type\"\n"
    "     ],\n"
    "     \"type\": \"enum step\"\n"
    "    },\n"
    "    \"op\": \"=\",\n"
    "    \"right\": {\n"
    "     \"kind\": \"symbol\",\n"
    "     \"type\": \"enum step\",\n"
    "     \"value\": \"purchase\"\n"
    "    },\n"
    "    \"type\": \"bool\"\n"
    "   },\n"
    "   \"node\": \"where\",\n"
    "   \"stream\": \"purchases\",\n"
    "   \"text\": \"event_type = 'purchase'\"\n"
    "  },\n"
    "  {\n"
    "   \"expr\": {\n"
    "    \"high\": {\n"
    "     \"kind\": \"literal\",\n"
    "     \"type\": \"int64\",\n"
    "     \"value\": \"100000000\"\n"
    "    },\n"
    "    \"kind\": \"between\",\n"
    "    \"left\": {\n"
    "     \"kind\": \"column\",\n"
    "     \"path\": [\n"
    "      \"price_cents\"\n"
    "     ],\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    \"low\": {\n"
    "     \"kind\": \"literal\",\n"
    "     \"type\": \"int64\",\n"
    "     \"value\": \"0\"\n"
    "    },\n"
    "    \"type\": \"bool\"\n"
    "   },\n"
    "   \"node\": \"require\",\n"
    "   \"reason\": \"price_out_of_range\",\n"
    "   \"stream\": \"purchases\",\n"
    "   \"text\": \"price_cents between 0 and 100000000\"\n"
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
    "   \"stream\": \"purchases\",\n"
    "   \"text\": \"length(country) = 2\"\n"
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
    "     \"name\": \"purchases\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"revenue_cents\",\n"
    "     \"type\": \"int64\"\n"
    "    }\n"
    "   ],\n"
    "   \"inputs\": [\n"
    "    \"purchases\"\n"
    "   ],\n"
    "   \"name\": \"revenue_by_category\",\n"
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
    "   \"partitions\": 4,\n"
    "   \"reason\": \"input is partitioned by session_id\",\n"
    "   \"stream\": \"revenue_by_category\"\n"
    "  },\n"
    "  {\n"
    "   \"aggregates\": [\n"
    "    {\n"
    "     \"function\": \"count\",\n"
    "     \"name\": \"purchases\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"arg\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"price_cents\"\n"
    "      ],\n"
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
    "     \"name\": \"purchases\",\n"
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
    "   \"late\": \"late_purchases\",\n"
    "   \"lateness_ms\": 0,\n"
    "   \"max_ms\": 0,\n"
    "   \"node\": \"window\",\n"
    "   \"offset_ms\": 0,\n"
    "   \"size_ms\": 10000,\n"
    "   \"stream\": \"revenue_by_category\",\n"
    "   \"window\": \"tumbling\"\n"
    "  },\n"
    "  {\n"
    "   \"append_revisions\": false,\n"
    "   \"commit_bytes\": 16777216,\n"
    "   \"commit_ms\": 100,\n"
    "   \"exactly_once\": true,\n"
    "   \"format\": \"json\",\n"
    "   \"from\": \"revenue_by_category\",\n"
    "   \"guarantee\": \"exactly once: in the commit that holds the input offsets\",\n"
    "   \"key\": [\n"
    "    \"category\",\n"
    "    \"country\"\n"
    "   ],\n"
    "   \"kind\": \"kafka\",\n"
    "   \"name\": \"revenue_topic\",\n"
    "   \"node\": \"sink\",\n"
    "   \"order\": [],\n"
    "   \"partition_by\": [],\n"
    "   \"partitions\": 4,\n"
    "   \"rollups\": [],\n"
    "   \"source_key\": false,\n"
    "   \"target\": \"revenue.windows\"\n"
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
    "    \"purchases\",\n"
    "    \"revenue_by_category\"\n"
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
    "   \"partitions\": 4,\n"
    "   \"rollups\": [],\n"
    "   \"source_key\": false,\n"
    "   \"target\": \"revenue.dlq\"\n"
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
    "     \"symbols\": [\n"
    "      \"page_view\",\n"
    "      \"product_view\",\n"
    "      \"add_to_cart\",\n"
    "      \"purchase\"\n"
    "     ],\n"
    "     \"type\": \"enum step\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"product_id\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"product_name\",\n"
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
    "     \"name\": \"campaign\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"properties\",\n"
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
    "    \"revenue_by_category\"\n"
    "   ],\n"
    "   \"name\": \"late_purchases\",\n"
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
    "   \"from\": \"late_purchases\",\n"
    "   \"guarantee\": \"exactly once: in the commit that holds the input offsets\",\n"
    "   \"key\": [\n"
    "    \"session_id\"\n"
    "   ],\n"
    "   \"kind\": \"kafka\",\n"
    "   \"name\": \"late_topic\",\n"
    "   \"node\": \"sink\",\n"
    "   \"order\": [],\n"
    "   \"partition_by\": [],\n"
    "   \"partitions\": 4,\n"
    "   \"rollups\": [],\n"
    "   \"source_key\": false,\n"
    "   \"target\": \"revenue.late\"\n"
    "  }\n"
    " ],\n"
    " \"pipeline\": \"revenue\",\n"
    " \"stages\": [\n"
    "  {\n"
    "   \"source\": \"events\",\n"
    "   \"stage\": 0,\n"
    "   \"states\": [\n"
    "    {\n"
    "     \"delay_ms\": 0,\n"
    "     \"phase\": \"partial\",\n"
    "     \"stream\": \"revenue_by_category\"\n"
    "    }\n"
    "   ]\n"
    "  },\n"
    "  {\n"
    "   \"exchange\": \"revenue_by_category\",\n"
    "   \"stage\": 1,\n"
    "   \"states\": [\n"
    "    {\n"
    "     \"delay_ms\": 0,\n"
    "     \"phase\": \"merge\",\n"
    "     \"stream\": \"revenue_by_category\"\n"
    "    }\n"
    "   ]\n"
    "  }\n"
    " ]\n"
    "}\n";

static const struct pipe_plan plan = {
    .abi = PIPE_RUNTIME_ABI,
    .name = "revenue",
    .hash = "8d5e1dc5cda81fb0",
    .commit_ms = 100,
    .commit_bytes = 16777216,
    .explain_text = explain_text,
    .plan_json = plan_json,
    .sources = sources,
    .source_count = 1,
    .streams = streams,
    .stream_count = 5,
    .stages = stages,
    .stage_count = 2,
    .exchanges = exchanges,
    .exchange_count = 1,
    .sinks = sinks,
    .sink_count = 4,
    .traffics = traffics,
    .traffic_count = 1,
};

int main(int argc, char **argv)
{
    return pipe_main(&plan, argc, argv);
}
