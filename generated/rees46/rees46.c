/* rees46.c: pipeline rees46, compiled from rees46.pipe by pipec. Change that file, not this. */
#include "pipe.h"

#if PIPE_RUNTIME_ABI != 1
#error "this file and libpipe do not fit together: compile the pipeline again"
#endif

/* ----------------------------------------------------------------------------------------------
 * Rows
 * ---------------------------------------------------------------------------------------------- */

struct events {
    struct pipe_str event_time;
    struct pipe_str event_type;
    int64_t product_id;
    int64_t category_id;
    struct pipe_str category_code;
    struct pipe_str brand;
    pipe_decimal price;
    int64_t user_id;
    struct pipe_str user_session;
    int64_t occurred_at;
};

struct clean {
    struct pipe_str event_time;
    struct pipe_str event_type;
    int64_t product_id;
    int64_t category_id;
    struct pipe_str category_code;
    struct pipe_str brand;
    pipe_decimal price;
    int64_t user_id;
    struct pipe_str user_session;
    int64_t occurred_at;
    struct pipe_str category;
};

struct by_category {
    int64_t window_start;
    int64_t window_end;
    struct pipe_str category;
    int64_t events;
    int64_t purchases;
    pipe_decimal amount;
};

struct sessions {
    int64_t window_start;
    int64_t window_end;
    struct pipe_str user_session;
    int64_t user_id;
    int64_t events;
    int64_t products;
    pipe_decimal spent;
    int64_t started_at;
    int64_t ended_at;
};

struct late_events {
    struct pipe_str event_time;
    struct pipe_str event_type;
    int64_t product_id;
    int64_t category_id;
    struct pipe_str category_code;
    struct pipe_str brand;
    pipe_decimal price;
    int64_t user_id;
    struct pipe_str user_session;
    int64_t occurred_at;
    struct pipe_str category;
    struct pipe_str late_for;
    int64_t window_end;
    int64_t watermark;
};

/* ----------------------------------------------------------------------------------------------
 * Indexes in the tables below
 * ---------------------------------------------------------------------------------------------- */

enum {
    STREAM_events,
    STREAM_valid,
    STREAM_clean,
    STREAM_by_category,
    STREAM_sessions,
    STREAM_rejected,
    STREAM_late_events,
};

enum {
    STAGE_events,
    STAGE_by_category,
};

enum {
    EXCHANGE_by_category,
};

enum {
    SINK_clean_file,
    SINK_windows_file,
    SINK_sessions_file,
    SINK_rejects_file,
    SINK_late_file,
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
static const struct pipe_type type_decimal_38_2 = {.kind = PIPE_DECIMAL, .precision = 38,
                                                   .scale = 2, .fixed_bytes = 0};

static const struct pipe_column by_category_columns[] = {
    {"window_start", &type_timestamp_ms, offsetof(struct by_category, window_start),
     .null_offset = PIPE_NOT_NULL},
    {"window_end", &type_timestamp_ms, offsetof(struct by_category, window_end),
     .null_offset = PIPE_NOT_NULL},
    {"category", &type_string, offsetof(struct by_category, category),
     .null_offset = PIPE_NOT_NULL},
    {"events", &type_int64, offsetof(struct by_category, events), .null_offset = PIPE_NOT_NULL},
    {"purchases", &type_int64, offsetof(struct by_category, purchases),
     .null_offset = PIPE_NOT_NULL},
    {"amount", &type_decimal_38_2, offsetof(struct by_category, amount),
     .null_offset = PIPE_NOT_NULL},
};
static const struct pipe_row_type by_category_type = {"by_category", by_category_columns, 6,
                                                      sizeof(struct by_category)};


static const struct pipe_column sessions_columns[] = {
    {"window_start", &type_timestamp_ms, offsetof(struct sessions, window_start),
     .null_offset = PIPE_NOT_NULL},
    {"window_end", &type_timestamp_ms, offsetof(struct sessions, window_end),
     .null_offset = PIPE_NOT_NULL},
    {"user_session", &type_string, offsetof(struct sessions, user_session),
     .null_offset = PIPE_NOT_NULL},
    {"user_id", &type_int64, offsetof(struct sessions, user_id), .null_offset = PIPE_NOT_NULL},
    {"events", &type_int64, offsetof(struct sessions, events), .null_offset = PIPE_NOT_NULL},
    {"products", &type_int64, offsetof(struct sessions, products), .null_offset = PIPE_NOT_NULL},
    {"spent", &type_decimal_38_2, offsetof(struct sessions, spent), .null_offset = PIPE_NOT_NULL},
    {"started_at", &type_timestamp_ms, offsetof(struct sessions, started_at),
     .null_offset = PIPE_NOT_NULL},
    {"ended_at", &type_timestamp_ms, offsetof(struct sessions, ended_at),
     .null_offset = PIPE_NOT_NULL},
};
static const struct pipe_row_type sessions_type = {"sessions", sessions_columns, 9,
                                                   sizeof(struct sessions)};

static const struct pipe_type type_decimal_12_2 = {.kind = PIPE_DECIMAL, .precision = 12,
                                                   .scale = 2, .fixed_bytes = 0};

static const struct pipe_column events_columns[] = {
    {"event_time", &type_string, offsetof(struct events, event_time), .null_offset = PIPE_NOT_NULL},
    {"event_type", &type_string, offsetof(struct events, event_type), .null_offset = PIPE_NOT_NULL},
    {"product_id", &type_int64, offsetof(struct events, product_id), .null_offset = PIPE_NOT_NULL},
    {"category_id", &type_int64, offsetof(struct events, category_id),
     .null_offset = PIPE_NOT_NULL},
    {"category_code", &type_string, offsetof(struct events, category_code),
     .null_offset = PIPE_NOT_NULL},
    {"brand", &type_string, offsetof(struct events, brand), .null_offset = PIPE_NOT_NULL},
    {"price", &type_decimal_12_2, offsetof(struct events, price), .null_offset = PIPE_NOT_NULL},
    {"user_id", &type_int64, offsetof(struct events, user_id), .null_offset = PIPE_NOT_NULL},
    {"user_session", &type_string, offsetof(struct events, user_session),
     .null_offset = PIPE_NOT_NULL},
};
static const struct pipe_row_type events_type = {"events", events_columns, 9,
                                                 sizeof(struct events)};


static const struct pipe_column clean_columns[] = {
    {"event_time", &type_string, offsetof(struct clean, event_time), .null_offset = PIPE_NOT_NULL},
    {"event_type", &type_string, offsetof(struct clean, event_type), .null_offset = PIPE_NOT_NULL},
    {"product_id", &type_int64, offsetof(struct clean, product_id), .null_offset = PIPE_NOT_NULL},
    {"category_id", &type_int64, offsetof(struct clean, category_id), .null_offset = PIPE_NOT_NULL},
    {"category_code", &type_string, offsetof(struct clean, category_code),
     .null_offset = PIPE_NOT_NULL},
    {"brand", &type_string, offsetof(struct clean, brand), .null_offset = PIPE_NOT_NULL},
    {"price", &type_decimal_12_2, offsetof(struct clean, price), .null_offset = PIPE_NOT_NULL},
    {"user_id", &type_int64, offsetof(struct clean, user_id), .null_offset = PIPE_NOT_NULL},
    {"user_session", &type_string, offsetof(struct clean, user_session),
     .null_offset = PIPE_NOT_NULL},
    {"occurred_at", &type_timestamp_ms, offsetof(struct clean, occurred_at),
     .null_offset = PIPE_NOT_NULL},
    {"category", &type_string, offsetof(struct clean, category), .null_offset = PIPE_NOT_NULL},
};
static const struct pipe_row_type clean_type = {"clean", clean_columns, 11, sizeof(struct clean)};


static const struct pipe_column late_events_columns[] = {
    {"event_time", &type_string, offsetof(struct late_events, event_time),
     .null_offset = PIPE_NOT_NULL},
    {"event_type", &type_string, offsetof(struct late_events, event_type),
     .null_offset = PIPE_NOT_NULL},
    {"product_id", &type_int64, offsetof(struct late_events, product_id),
     .null_offset = PIPE_NOT_NULL},
    {"category_id", &type_int64, offsetof(struct late_events, category_id),
     .null_offset = PIPE_NOT_NULL},
    {"category_code", &type_string, offsetof(struct late_events, category_code),
     .null_offset = PIPE_NOT_NULL},
    {"brand", &type_string, offsetof(struct late_events, brand), .null_offset = PIPE_NOT_NULL},
    {"price", &type_decimal_12_2, offsetof(struct late_events, price),
     .null_offset = PIPE_NOT_NULL},
    {"user_id", &type_int64, offsetof(struct late_events, user_id), .null_offset = PIPE_NOT_NULL},
    {"user_session", &type_string, offsetof(struct late_events, user_session),
     .null_offset = PIPE_NOT_NULL},
    {"occurred_at", &type_timestamp_ms, offsetof(struct late_events, occurred_at),
     .null_offset = PIPE_NOT_NULL},
    {"category", &type_string, offsetof(struct late_events, category),
     .null_offset = PIPE_NOT_NULL},
    {"late_for", &type_string, offsetof(struct late_events, late_for),
     .null_offset = PIPE_NOT_NULL},
    {"window_end", &type_timestamp_ms, offsetof(struct late_events, window_end),
     .null_offset = PIPE_NOT_NULL},
    {"watermark", &type_timestamp_ms, offsetof(struct late_events, watermark),
     .null_offset = PIPE_NOT_NULL},
};
static const struct pipe_row_type late_events_type = {"late_events", late_events_columns, 14,
                                                      sizeof(struct late_events)};

/* ----------------------------------------------------------------------------------------------
 * JSON
 * ---------------------------------------------------------------------------------------------- */

static void json_of_clean(struct pipe_buf *buf, const struct clean *row)
{
    PIPE_JSON_RAW(buf, "{\"event_time\":");
    pipe_json_string(buf, row->event_time);
    PIPE_JSON_RAW(buf, ",\"event_type\":");
    pipe_json_string(buf, row->event_type);
    PIPE_JSON_RAW(buf, ",\"product_id\":");
    pipe_json_i64(buf, row->product_id);
    PIPE_JSON_RAW(buf, ",\"category_id\":");
    pipe_json_i64(buf, row->category_id);
    PIPE_JSON_RAW(buf, ",\"category_code\":");
    pipe_json_string(buf, row->category_code);
    PIPE_JSON_RAW(buf, ",\"brand\":");
    pipe_json_string(buf, row->brand);
    PIPE_JSON_RAW(buf, ",\"price\":");
    pipe_json_decimal(buf, row->price, 2);
    PIPE_JSON_RAW(buf, ",\"user_id\":");
    pipe_json_i64(buf, row->user_id);
    PIPE_JSON_RAW(buf, ",\"user_session\":");
    pipe_json_string(buf, row->user_session);
    PIPE_JSON_RAW(buf, ",\"occurred_at\":");
    pipe_json_timestamp_ms(buf, row->occurred_at);
    PIPE_JSON_RAW(buf, ",\"category\":");
    pipe_json_string(buf, row->category);
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

static void json_of_late_events(struct pipe_buf *buf, const struct late_events *row)
{
    PIPE_JSON_RAW(buf, "{\"event_time\":");
    pipe_json_string(buf, row->event_time);
    PIPE_JSON_RAW(buf, ",\"event_type\":");
    pipe_json_string(buf, row->event_type);
    PIPE_JSON_RAW(buf, ",\"product_id\":");
    pipe_json_i64(buf, row->product_id);
    PIPE_JSON_RAW(buf, ",\"category_id\":");
    pipe_json_i64(buf, row->category_id);
    PIPE_JSON_RAW(buf, ",\"category_code\":");
    pipe_json_string(buf, row->category_code);
    PIPE_JSON_RAW(buf, ",\"brand\":");
    pipe_json_string(buf, row->brand);
    PIPE_JSON_RAW(buf, ",\"price\":");
    pipe_json_decimal(buf, row->price, 2);
    PIPE_JSON_RAW(buf, ",\"user_id\":");
    pipe_json_i64(buf, row->user_id);
    PIPE_JSON_RAW(buf, ",\"user_session\":");
    pipe_json_string(buf, row->user_session);
    PIPE_JSON_RAW(buf, ",\"occurred_at\":");
    pipe_json_timestamp_ms(buf, row->occurred_at);
    PIPE_JSON_RAW(buf, ",\"category\":");
    pipe_json_string(buf, row->category);
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
                       const struct events *row);
static void push_clean(struct pipe_task *task, const struct pipe_record *record,
                       const struct events *row);
static void push_by_category(struct pipe_task *task, const struct pipe_record *record,
                             const struct clean *row);
static void push_sessions(struct pipe_task *task, const struct pipe_record *record,
                          const struct clean *row);
static void push_rejected(struct pipe_task *task, const struct pipe_record *record,
                          const struct pipe_reject *row);
static void reject_rejected(struct pipe_task *task, const struct pipe_record *record,
                            const char *reason, const char *rule, const char *detail);
static void push_late_events(struct pipe_task *task, const struct pipe_record *record,
                             const struct late_events *row);

/* ---- source events  (rees46.pipe:5) ---- */

static void out_events(struct pipe_task *task, const struct pipe_record *record,
                       const struct events *row)
{
    task->counters[STREAM_events].out++;
    push_valid(task, record, row);
}

/* ---- stream valid from events  (rees46.pipe:23) ---- */

static void out_valid(struct pipe_task *task, const struct pipe_record *record,
                      const struct events *row)
{
    task->counters[STREAM_valid].out++;
    push_clean(task, record, row);
}

/* require user_session <> '' else 'session_missing' (rees46.pipe:24) */
static bool valid_require_1(const struct events *row)
{
    return row->user_session.size != 0;
}

/* require price > 0 else 'price_not_positive' (rees46.pipe:25) */
static bool valid_require_2(const struct events *row)
{
    return row->price > 0;
}

static void push_valid(struct pipe_task *task, const struct pipe_record *record,
                       const struct events *row)
{
    struct pipe_counters *count = &task->counters[STREAM_valid];

    count->in++;
    if (!valid_require_1(row)) {
        count->rejected++;
        reject_rejected(task, record, "session_missing", "valid", NULL);
        return;
    }
    if (!valid_require_2(row)) {
        count->rejected++;
        reject_rejected(task, record, "price_not_positive", "valid", NULL);
        return;
    }
    count->passed++;
    out_valid(task, record, row);
}

/* ---- stream clean from valid  (rees46.pipe:28) ---- */

/* sink clean_file from clean to file 'run/rees46/clean.jsonl' format jsonl exactly once
 * (rees46.pipe:61) */
static void sink_clean_file(struct pipe_task *task, const struct pipe_record *record,
                            const struct clean *row)
{
    if (!pipe_encoded(task, row, (const void *)json_of_clean))
        json_of_clean(&task->value, row);
    pipe_emit(task, SINK_clean_file, record, pipe_str_of(NULL, 0),
              pipe_str_of(task->value.data, task->value.size));
}

static void out_clean(struct pipe_task *task, const struct pipe_record *record,
                      const struct clean *row)
{
    task->counters[STREAM_clean].out++;
    if (!pipe_discards(task)) {
        sink_clean_file(task, record, row);
    }
    push_by_category(task, record, row);
    push_sessions(task, record, row);
}

/* The key: event_time, event_type, product_id, category_id, category_code, brand, price,
 * user_id, user_session. */
static void key_clean(struct pipe_buf *key, const struct clean *row)
{
    key->size = 0;
    pipe_key_add_str(key, row->event_time);
    pipe_key_add_str(key, row->event_type);
    pipe_key_add_i64(key, row->product_id);
    pipe_key_add_i64(key, row->category_id);
    pipe_key_add_str(key, row->category_code);
    pipe_key_add_str(key, row->brand);
    pipe_key_add_decimal(key, row->price);
    pipe_key_add_i64(key, row->user_id);
    pipe_key_add_str(key, row->user_session);
}

/* dedup by event_time, event_type, product_id, category_id, category_code, brand, price,
 * user_id, user_session within 1h (rees46.pipe:32) */
static void keep_clean(struct pipe_task *task, const struct pipe_record *record,
                       const struct clean *row)
{
    key_clean(&task->key, row);
    switch (pipe_dedup(task, STATE_clean, record, false)) {
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

/* case when category_code = '' then 'none' else split_part(category_code, '.', 1) end
 * (rees46.pipe:31) */
static struct pipe_str clean_category(const struct events *row)
{
    return row->category_code.size == 0 ? PIPE_STR("none")
        : pipe_fn_split_part(row->category_code, PIPE_STR("."), 1);
}

/* select *, case when category_code = '' then 'none' else split_part(category_code, '.', 1) end
 * as category (rees46.pipe:29) */
static void select_clean(struct pipe_task *task, const struct pipe_record *record,
                         const struct events *row)
{
    struct pipe_counters *count = &task->counters[STREAM_clean];
    struct clean out = {0};

    out.event_time = row->event_time;
    out.event_type = row->event_type;
    out.product_id = row->product_id;
    out.category_id = row->category_id;
    out.category_code = row->category_code;
    out.brand = row->brand;
    out.price = row->price;
    out.user_id = row->user_id;
    out.user_session = row->user_session;
    out.occurred_at = row->occurred_at;
    out.category = clean_category(row);
    count->selected++;
    pipe_new_row(task);
    keep_clean(task, record, &out);
}

static void push_clean(struct pipe_task *task, const struct pipe_record *record,
                       const struct events *row)
{
    struct pipe_counters *count = &task->counters[STREAM_clean];

    count->in++;
    count->passed++;
    select_clean(task, record, row);
}

/* ---- stream by_category from clean  (rees46.pipe:36) ---- */

/* sink windows_file from by_category to file 'run/rees46/windows.csv' format csv exactly once
 * (rees46.pipe:62) */
static void sink_windows_file(struct pipe_task *task, const struct pipe_record *record,
                              const struct by_category *row)
{
    if (!pipe_encoded(task, row, by_category_type.columns))
        pipe_row_to_csv(&by_category_type, row, &task->value);
    pipe_emit(task, SINK_windows_file, record, pipe_str_of(NULL, 0),
              pipe_str_of(task->value.data, task->value.size - 1 /* the line end */));
}

static void out_by_category(struct pipe_task *task, const struct pipe_record *record,
                            const struct by_category *row)
{
    task->counters[STREAM_by_category].out++;
    if (!pipe_discards(task)) {
        sink_windows_file(task, record, row);
    }
}

/* The key: category. */
static void key_by_category(struct pipe_buf *key, const struct clean *row)
{
    key->size = 0;
    pipe_key_add_str(key, row->category);
}

/* window tumbling 10m (rees46.pipe:37) */
struct by_category_acc {
    struct pipe_count events;
    struct pipe_count purchases;
    struct pipe_sum_decimal amount;
};

static void by_category_acc_init(void *acc)
{
    struct by_category_acc *of = acc;

    pipe_count_init(&of->events);
    pipe_count_init(&of->purchases);
    pipe_sum_decimal_init(&of->amount);
}

static void by_category_acc_merge(void *into, const void *from)
{
    struct by_category_acc *to = into;
    const struct by_category_acc *other = from;

    pipe_count_merge(&to->events, &other->events);
    pipe_count_merge(&to->purchases, &other->purchases);
    pipe_sum_decimal_merge(&to->amount, &other->amount);
}

static void by_category_acc_save(const void *acc, struct pipe_buf *out)
{
    const struct by_category_acc *of = acc;

    pipe_count_save(&of->events, out);
    pipe_count_save(&of->purchases, out);
    pipe_sum_decimal_save(&of->amount, out);
}

static bool by_category_acc_load(void *acc, struct pipe_reader *in)
{
    struct by_category_acc *to = acc;

    return pipe_count_load(&to->events, in) && pipe_count_load(&to->purchases, in) &&
        pipe_sum_decimal_load(&to->amount, in);
}

static void by_category_acc_drop(void *acc)
{
    struct by_category_acc *of = acc;

    pipe_count_drop(&of->events);
    pipe_count_drop(&of->purchases);
    pipe_sum_decimal_drop(&of->amount);
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

static void update_by_category(struct by_category_acc *acc, const struct clean *row)
{
    pipe_count_update(&acc->events);
    if (pipe_str_equal(row->event_type, PIPE_STR("purchase")))
        pipe_count_update(&acc->purchases);
    pipe_sum_decimal_update(&acc->amount, row->price);
}

/* late to late_events: a window that the row missed. */
static void late_by_category(struct pipe_task *task, const struct pipe_record *record,
                             const struct clean *row, int64_t window_end)
{
    struct late_events out = {0};

    out.event_time = row->event_time;
    out.event_type = row->event_type;
    out.product_id = row->product_id;
    out.category_id = row->category_id;
    out.category_code = row->category_code;
    out.brand = row->brand;
    out.price = row->price;
    out.user_id = row->user_id;
    out.user_session = row->user_session;
    out.occurred_at = row->occurred_at;
    out.category = row->category;
    out.late_for = PIPE_STR("by_category");
    out.window_end = pipe_column_ts_ms(window_end);
    out.watermark = pipe_column_ts_ms(record->watermark);
    pipe_new_row(task);
    push_late_events(task, record, &out);
}

static void keep_by_category(struct pipe_task *task, const struct pipe_record *record,
                             const struct clean *row)
{
    key_by_category(&task->key, row);
    struct pipe_window_hit hit = pipe_window(task, STATE_by_category, record, false);
    if (hit.acc != NULL)
        update_by_category(hit.acc, row);
    for (uint32_t i = 0; i < hit.late && pipe_may_make(task, record, PIPE_ITEM_BYTES); i++)
        late_by_category(task, record, row, hit.late_end + i * PIPE_MINUTES(10));
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
    pipe_key_text(text, &by_category_type, row, (const uint32_t[]){2}, 1);
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
    if (!(pipe_key_str(&at, end, &out.category))) {
        pipe_fatal(task, "%s: a window's key is damaged", "by_category");
        return false;
    }
    pipe_count_finish(&acc->events, &out.events, NULL);
    pipe_count_finish(&acc->purchases, &out.purchases, NULL);
    if (!pipe_sum_decimal_finish(&acc->amount, &out.amount, NULL))
        return overflow_by_category(task, &record, window, &out, "amount");
    pipe_new_row(task);
    out_by_category(task, &record, &out);
    pipe_arena_back_to(&task->arena, mark);
    return true;
}

static void push_by_category(struct pipe_task *task, const struct pipe_record *record,
                             const struct clean *row)
{
    struct pipe_counters *count = &task->counters[STREAM_by_category];

    count->in++;
    count->passed++;
    keep_by_category(task, record, row);
}

/* ---- stream sessions from clean  (rees46.pipe:47) ---- */

/* sink sessions_file from sessions to file 'run/rees46/sessions.csv' format csv exactly once
 * (rees46.pipe:63) */
static void sink_sessions_file(struct pipe_task *task, const struct pipe_record *record,
                               const struct sessions *row)
{
    if (!pipe_encoded(task, row, sessions_type.columns))
        pipe_row_to_csv(&sessions_type, row, &task->value);
    pipe_emit(task, SINK_sessions_file, record, pipe_str_of(NULL, 0),
              pipe_str_of(task->value.data, task->value.size - 1 /* the line end */));
}

static void out_sessions(struct pipe_task *task, const struct pipe_record *record,
                         const struct sessions *row)
{
    task->counters[STREAM_sessions].out++;
    if (!pipe_discards(task)) {
        sink_sessions_file(task, record, row);
    }
}

/* The key: user_session. */
static void key_sessions(struct pipe_buf *key, const struct clean *row)
{
    key->size = 0;
    pipe_key_add_str(key, row->user_session);
}

/* window session gap 30m (rees46.pipe:48) */
struct sessions_acc {
    struct pipe_first user_id;
    struct pipe_count events;
    struct pipe_count_distinct products;
    struct pipe_sum_decimal spent;
    struct pipe_min_int started_at;
    struct pipe_max_int ended_at;
};

static void sessions_acc_init(void *acc)
{
    struct sessions_acc *of = acc;

    pipe_first_init(&of->user_id);
    pipe_count_init(&of->events);
    pipe_count_distinct_init(&of->products);
    pipe_sum_decimal_init(&of->spent);
    pipe_min_int_init(&of->started_at);
    pipe_max_int_init(&of->ended_at);
}

static void sessions_acc_merge(void *into, const void *from)
{
    struct sessions_acc *to = into;
    const struct sessions_acc *other = from;

    pipe_first_merge(&to->user_id, &other->user_id);
    pipe_count_merge(&to->events, &other->events);
    pipe_count_distinct_merge(&to->products, &other->products);
    pipe_sum_decimal_merge(&to->spent, &other->spent);
    pipe_min_int_merge(&to->started_at, &other->started_at);
    pipe_max_int_merge(&to->ended_at, &other->ended_at);
}

static void sessions_acc_save(const void *acc, struct pipe_buf *out)
{
    const struct sessions_acc *of = acc;

    pipe_first_save(&of->user_id, out);
    pipe_count_save(&of->events, out);
    pipe_count_distinct_save(&of->products, out);
    pipe_sum_decimal_save(&of->spent, out);
    pipe_min_int_save(&of->started_at, out);
    pipe_max_int_save(&of->ended_at, out);
}

static bool sessions_acc_load(void *acc, struct pipe_reader *in)
{
    struct sessions_acc *to = acc;

    return pipe_first_load(&to->user_id, in) && pipe_count_load(&to->events, in) &&
        pipe_count_distinct_load(&to->products, in) && pipe_sum_decimal_load(&to->spent, in) &&
        pipe_min_int_load(&to->started_at, in) && pipe_max_int_load(&to->ended_at, in);
}

static void sessions_acc_drop(void *acc)
{
    struct sessions_acc *of = acc;

    pipe_first_drop(&of->user_id);
    pipe_count_drop(&of->events);
    pipe_count_distinct_drop(&of->products);
    pipe_sum_decimal_drop(&of->spent);
    pipe_min_int_drop(&of->started_at);
    pipe_max_int_drop(&of->ended_at);
}

static const struct pipe_accumulator sessions_accumulator = {
    .size_bytes = sizeof(struct sessions_acc),
    .plain = false,
    .init = sessions_acc_init,
    .merge = sessions_acc_merge,
    .save = sessions_acc_save,
    .load = sessions_acc_load,
    .drop = sessions_acc_drop,
};

/* sum(case when event_type = 'purchase' then price else 0 end) as spent (rees46.pipe:54) */
static pipe_decimal sessions_spent(const struct clean *row)
{
    return pipe_str_equal(row->event_type, PIPE_STR("purchase")) ? row->price : 0;
}

static void update_sessions(struct pipe_task *task, struct sessions_acc *acc,
                            const struct pipe_record *record, const struct clean *row)
{
    struct pipe_position position = pipe_position_of(record);

    if (pipe_first_wants(&acc->user_id, &position)) {
        task->text.size = 0;
        pipe_value_save(&type_int64, (int64_t[]){row->user_id}, &task->text);
        pipe_first_update(&acc->user_id, &position, pipe_str_of(task->text.data, task->text.size));
    }
    pipe_count_update(&acc->events);
    task->text.size = 0;
    pipe_value_save(&type_int64, (int64_t[]){row->product_id}, &task->text);
    pipe_count_distinct_update(&acc->products, pipe_str_of(task->text.data, task->text.size));
    pipe_sum_decimal_update(&acc->spent, sessions_spent(row));
    pipe_min_int_update(&acc->started_at, row->occurred_at);
    pipe_max_int_update(&acc->ended_at, row->occurred_at);
}

/* late to late_events: a window that the row missed. */
static void late_sessions(struct pipe_task *task, const struct pipe_record *record,
                          const struct clean *row, int64_t window_end)
{
    struct late_events out = {0};

    out.event_time = row->event_time;
    out.event_type = row->event_type;
    out.product_id = row->product_id;
    out.category_id = row->category_id;
    out.category_code = row->category_code;
    out.brand = row->brand;
    out.price = row->price;
    out.user_id = row->user_id;
    out.user_session = row->user_session;
    out.occurred_at = row->occurred_at;
    out.category = row->category;
    out.late_for = PIPE_STR("sessions");
    out.window_end = pipe_column_ts_ms(window_end);
    out.watermark = pipe_column_ts_ms(record->watermark);
    pipe_new_row(task);
    push_late_events(task, record, &out);
}

static void keep_sessions(struct pipe_task *task, const struct pipe_record *record,
                          const struct clean *row)
{
    key_sessions(&task->key, row);
    struct pipe_window_hit hit = pipe_session(task, STATE_sessions, record, false);
    if (hit.acc != NULL)
        update_sessions(task, hit.acc, record, row);
    if (hit.late > 0)
        late_sessions(task, record, row, hit.late_end);
}

/* The total of a sum does not fit its column. */
static bool overflow_sessions(struct pipe_task *task, const struct pipe_record *record,
                              const struct pipe_window_row *window, const struct sessions *row,
                              const char *column)
{
    struct pipe_buf *text = &task->text;

    text->size = 0;
    pipe_buf_printf(text, "%s: the total is out of range; window [", column);
    pipe_csv_timestamp_ms(text, pipe_column_ts_ms(window->start));
    PIPE_JSON_RAW(text, ", ");
    pipe_csv_timestamp_ms(text, pipe_column_ts_ms(window->end));
    PIPE_JSON_RAW(text, "), group ");
    pipe_key_text(text, &sessions_type, row, (const uint32_t[]){2}, 1);
    pipe_buf_add_byte(text, '\0');
    reject_rejected(task, record, "expression_failed", "sessions", (const char *)text->data);
    return false;
}

/* The row of a window that is due. */
static bool emit_sessions(struct pipe_task *task, const struct pipe_window_row *window)
{
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
    if (!(pipe_key_str(&at, end, &out.user_session))) {
        pipe_fatal(task, "%s: a window's key is damaged", "sessions");
        return false;
    }
    {
        struct pipe_str bytes;
        bool none;
        pipe_first_finish(&acc->user_id, &bytes, &none);
        const uint8_t *from = (const uint8_t *)bytes.data;
        if (!none &&
            !pipe_value_load(&type_int64, &from, from + bytes.size, &task->arena, &out.user_id)) {
            pipe_fatal(task, "%s: the state of a window is damaged", "sessions");
            return false;
        }
    }
    pipe_count_finish(&acc->events, &out.events, NULL);
    pipe_count_distinct_finish(&acc->products, &out.products, NULL);
    if (!pipe_sum_decimal_finish(&acc->spent, &out.spent, NULL))
        return overflow_sessions(task, &record, window, &out, "spent");
    pipe_min_int_finish(&acc->started_at, &out.started_at, NULL);
    pipe_max_int_finish(&acc->ended_at, &out.ended_at, NULL);
    pipe_new_row(task);
    out_sessions(task, &record, &out);
    pipe_arena_back_to(&task->arena, mark);
    return true;
}

static void push_sessions(struct pipe_task *task, const struct pipe_record *record,
                          const struct clean *row)
{
    struct pipe_counters *count = &task->counters[STREAM_sessions];

    count->in++;
    count->passed++;
    keep_sessions(task, record, row);
}

/* ---- reject stream rejected  (rees46.pipe:21) ---- */

/* sink rejects_file from rejected to file 'run/rees46/rejected.jsonl' format jsonl exactly once
 * (rees46.pipe:64) */
static void sink_rejects_file(struct pipe_task *task, const struct pipe_record *record,
                              const struct pipe_reject *row)
{
    if (!pipe_encoded(task, row, (const void *)json_of_pipe_reject))
        json_of_pipe_reject(&task->value, row);
    pipe_emit(task, SINK_rejects_file, record, pipe_str_of(NULL, 0),
              pipe_str_of(task->value.data, task->value.size));
}

static void out_rejected(struct pipe_task *task, const struct pipe_record *record,
                         const struct pipe_reject *row)
{
    task->counters[STREAM_rejected].out++;
    if (!pipe_discards(task)) {
        sink_rejects_file(task, record, row);
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

/* ---- late stream late_events  (rees46.pipe:43) ---- */

/* sink late_file from late_events to file 'run/rees46/late.jsonl' format jsonl exactly once
 * (rees46.pipe:65) */
static void sink_late_file(struct pipe_task *task, const struct pipe_record *record,
                           const struct late_events *row)
{
    if (!pipe_encoded(task, row, (const void *)json_of_late_events))
        json_of_late_events(&task->value, row);
    pipe_emit(task, SINK_late_file, record, pipe_str_of(NULL, 0),
              pipe_str_of(task->value.data, task->value.size));
}

static void out_late_events(struct pipe_task *task, const struct pipe_record *record,
                            const struct late_events *row)
{
    task->counters[STREAM_late_events].out++;
    if (!pipe_discards(task)) {
        sink_late_file(task, record, row);
    }
}

static void push_late_events(struct pipe_task *task, const struct pipe_record *record,
                             const struct late_events *row)
{
    struct pipe_counters *count = &task->counters[STREAM_late_events];

    count->in++;
    count->passed++;
    out_late_events(task, record, row);
}

/* ----------------------------------------------------------------------------------------------
 * Records
 * ---------------------------------------------------------------------------------------------- */

/* ---- a record of source events ---- */

/* parse_timestamp(event_time, '%Y-%m-%d %H:%M:%S UTC') (rees46.pipe:19). False: it failed */
static bool events_event_time(const struct events *row, int64_t *value)
{
    int64_t t1;
    if (!pipe_fn_parse_timestamp_ms(row->event_time, PIPE_STR("%Y-%m-%d %H:%M:%S UTC"), &t1))
        return false;

    *value = t1;
    return true;
}

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

    struct events *row = decoded;

    int64_t event_time = 0;
    if (!events_event_time(row, &event_time))
        return refuse_events(task, record, "event_time_invalid",
                             "parse_timestamp(event_time, '%Y-%m-%d %H:%M:%S UTC') failed");
    row->occurred_at = event_time;
    record->event_time = PIPE_MS(event_time);
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
        .target = "../shared/data/rees46-2019-10-01.csv",
        .partitions = 0,
        .format = PIPE_FORMAT_CSV,
        .header = true,
        .row = &events_type,
        .row_bytes = sizeof(struct events),
        .has_event_time = true,
        .ahead = 0,
        .has_watermark = true,
        .watermark = PIPE_MINUTES(1),
        .idle = 0,
        .stage = STAGE_events,
    },
};

static const struct pipe_stream_def streams[] = {
    [STREAM_events] = {.name = "events", .kind = PIPE_STREAM_SOURCE},
    [STREAM_valid] = {.name = "valid", .kind = PIPE_STREAM_NORMAL,
                      .inputs = (const uint32_t[]){STREAM_events}, .input_count = 1,
                      .has_filters = true},
    [STREAM_clean] = {.name = "clean", .kind = PIPE_STREAM_NORMAL,
                      .inputs = (const uint32_t[]){STREAM_valid}, .input_count = 1,
                      .has_select = true, .has_dedup = true},
    [STREAM_by_category] = {.name = "by_category", .kind = PIPE_STREAM_NORMAL,
                            .inputs = (const uint32_t[]){STREAM_clean}, .input_count = 1,
                            .has_window = true, .has_exchange = true},
    [STREAM_sessions] = {.name = "sessions", .kind = PIPE_STREAM_NORMAL,
                         .inputs = (const uint32_t[]){STREAM_clean}, .input_count = 1,
                         .has_window = true},
    [STREAM_rejected] = {.name = "rejected", .kind = PIPE_STREAM_REJECTS,
                         .inputs = (const uint32_t[]){STREAM_events, STREAM_valid, STREAM_clean,
                                                      STREAM_by_category, STREAM_sessions},
                                                      .input_count = 5},
    [STREAM_late_events] = {.name = "late_events", .kind = PIPE_STREAM_LATE,
                            .inputs = (const uint32_t[]){STREAM_by_category, STREAM_sessions},
                            .input_count = 2},
};

static const struct pipe_state_def states_of_events[] = {
    {
        .kind = PIPE_STATE_DEDUP,
        .name = "clean",
        .stream = STREAM_clean,
        .ttl = PIPE_HOURS(1),
        .phase = PIPE_PHASE_LOCAL,
    },
    {
        .kind = PIPE_STATE_WINDOW,
        .name = "by_category",
        .stream = STREAM_by_category,
        .size = PIPE_MINUTES(10),
        .every = PIPE_MINUTES(10),
        .emit = PIPE_EMIT_CLOSE,
        .phase = PIPE_PHASE_PARTIAL,
        .exchange = EXCHANGE_by_category,
        .acc = &by_category_accumulator,
    },
    {
        .kind = PIPE_STATE_SESSION,
        .name = "sessions",
        .stream = STREAM_sessions,
        .gap = PIPE_MINUTES(30),
        .emit = PIPE_EMIT_CLOSE,
        .phase = PIPE_PHASE_LOCAL,
        .acc = &sessions_accumulator,
        .emit_row = emit_sessions,
    },
};

static const uint32_t exchanges_of_events[] = {EXCHANGE_by_category};
static const int64_t delays_of_events[] = {0};

static const struct pipe_state_def states_of_by_category[] = {
    {
        .kind = PIPE_STATE_WINDOW,
        .name = "by_category",
        .stream = STREAM_by_category,
        .size = PIPE_MINUTES(10),
        .every = PIPE_MINUTES(10),
        .emit = PIPE_EMIT_CLOSE,
        .phase = PIPE_PHASE_MERGE,
        .exchange = EXCHANGE_by_category,
        .acc = &by_category_accumulator,
        .emit_row = emit_by_category,
    },
};

static const struct pipe_stage_def stages[] = {
    [STAGE_events] = {
        .name = "events",
        .source = 0,
        .exchange = -1,
        .record = record_events,
        .states = states_of_events,
        .state_count = 3,
        .exchanges_out = exchanges_of_events,
        .exchange_delays = delays_of_events,
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
    [EXCHANGE_by_category] = {.name = "by_category", .partitions = 1, .partials = true,
                              .to_stage = STAGE_by_category,
                              .reason = "input is partitioned by user_session"},
};

static const struct pipe_sink_def sinks[] = {
    [SINK_clean_file] = {
        .name = "clean_file",
        .stream = STREAM_clean,
        .kind = PIPE_SINK_FILE,
        .target = "run/rees46/clean.jsonl",
        .format = PIPE_FORMAT_JSONL,
        .row = &clean_type,
        .exactly_once = true,
    },
    [SINK_windows_file] = {
        .name = "windows_file",
        .stream = STREAM_by_category,
        .kind = PIPE_SINK_FILE,
        .target = "run/rees46/windows.csv",
        .format = PIPE_FORMAT_CSV,
        .row = &by_category_type,
        .exactly_once = true,
    },
    [SINK_sessions_file] = {
        .name = "sessions_file",
        .stream = STREAM_sessions,
        .kind = PIPE_SINK_FILE,
        .target = "run/rees46/sessions.csv",
        .format = PIPE_FORMAT_CSV,
        .row = &sessions_type,
        .exactly_once = true,
    },
    [SINK_rejects_file] = {
        .name = "rejects_file",
        .stream = STREAM_rejected,
        .kind = PIPE_SINK_FILE,
        .target = "run/rees46/rejected.jsonl",
        .format = PIPE_FORMAT_JSONL,
        .row = &pipe_reject_type,
        .exactly_once = true,
    },
    [SINK_late_file] = {
        .name = "late_file",
        .stream = STREAM_late_events,
        .kind = PIPE_SINK_FILE,
        .target = "run/rees46/late.jsonl",
        .format = PIPE_FORMAT_JSONL,
        .row = &late_events_type,
        .exactly_once = true,
    },
};

static const char explain_text[] =
    "rees46   plan 0353c993\n"
    "  1 file source events                   one partition a file by user_session; csv; "
    "event time occurred_at, watermark 1m\n"
    "  2   stream valid                       from events\n"
    "  3     require                          user_session <> ''  else session_missing\n"
    "  4     require                          price > 0.00  else price_not_positive\n"
    "  5     stream clean                     from valid\n"
    "  6       select                         event_time, event_type, product_id, "
    "category_id, category_code, brand, price, user_id, user_session, occurred_at, case "
    "when category_code = '' then 'none' else split_part(category_code, '.', 1) end as "
    "category\n"
    "  7       dedup clean                    STATE clean  event_time, event_type, "
    "product_id, category_id, category_code, brand, price, user_id, user_session for 1h; "
    "local: key holds user_session; bound: rate x 1h x 40 B\n"
    "  8       file sink clean_file           jsonl; exactly once: cut back to the "
    "length in the last commit\n"
    "  9       stream by_category             from clean\n"
    " 10         exchange by_category         partials by category, 1 partition: input "
    "is partitioned by user_session\n"
    " 11         window by_category           STATE by_category  tumbling 10m by "
    "category, emit on close; merges the partials; late to late_events\n"
    " 12         file sink windows_file       csv; exactly once: cut back to the length "
    "in the last commit\n"
    " 13       stream sessions                from clean\n"
    " 14         window sessions              STATE sessions  session gap 30m by "
    "user_session, emit on close; local: key holds user_session; late to late_events\n"
    " 15         file sink sessions_file      csv; exactly once: cut back to the length "
    "in the last commit\n"
    " 16 rejects rejected                     from events, valid, clean, by_category, "
    "sessions\n"
    " 17   file sink rejects_file             jsonl; exactly once: cut back to the "
    "length in the last commit\n"
    " 18 late rows late_events                from by_category, sessions\n"
    " 19   file sink late_file                jsonl; exactly once: cut back to the "
    "length in the last commit\n"
    "\n"
    "stages\n"
    "  0 reads source events: one task a file; state clean, by_category (partials), "
    "sessions\n"
    "  1 reads exchange by_category: 1 task; state by_category (merge)\n";

static const char plan_json[] =
    "{\n"
    " \"hash\": \"0353c993555d1225\",\n"
    " \"nodes\": [\n"
    "  {\n"
    "   \"ahead_ms\": 0,\n"
    "   \"columns\": [\n"
    "    {\n"
    "     \"name\": \"event_time\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"event_type\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"product_id\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"category_id\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"category_code\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"brand\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"price\",\n"
    "     \"type\": \"decimal(12,2)\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"user_id\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"user_session\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"occurred_at\",\n"
    "     \"type\": \"timestamp_ms\"\n"
    "    }\n"
    "   ],\n"
    "   \"drop_tombstones\": false,\n"
    "   \"event_time\": {\n"
    "    \"args\": [\n"
    "     {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"event_time\"\n"
    "      ],\n"
    "      \"type\": \"string\"\n"
    "     },\n"
    "     {\n"
    "      \"kind\": \"literal\",\n"
    "      \"type\": \"string\",\n"
    "      \"value\": \"%Y-%m-%d %H:%M:%S UTC\"\n"
    "     }\n"
    "    ],\n"
    "    \"function\": \"parse_timestamp\",\n"
    "    \"kind\": \"call\",\n"
    "    \"type\": \"timestamp_ms\"\n"
    "   },\n"
    "   \"event_time_column\": \"occurred_at\",\n"
    "   \"format\": \"csv\",\n"
    "   \"header\": true,\n"
    "   \"idle_advance\": false,\n"
    "   \"idle_ms\": 0,\n"
    "   \"key\": [\n"
    "    \"user_session\"\n"
    "   ],\n"
    "   \"name\": \"events\",\n"
    "   \"node\": \"source\",\n"
    "   \"partitions\": 0,\n"
    "   \"payload\": [\n"
    "    {\n"
    "     \"name\": \"event_time\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"event_type\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"product_id\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"category_id\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"category_code\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"brand\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"price\",\n"
    "     \"type\": \"decimal(12,2)\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"user_id\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"user_session\",\n"
    "     \"type\": \"string\"\n"
    "    }\n"
    "   ],\n"
    "   \"rejects\": \"rejected\",\n"
    "   \"transport\": \"file\",\n"
    "   \"watermark_ms\": 60000\n"
    "  },\n"
    "  {\n"
    "   \"columns\": [\n"
    "    {\n"
    "     \"name\": \"event_time\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"event_type\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"product_id\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"category_id\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"category_code\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"brand\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"price\",\n"
    "     \"type\": \"decimal(12,2)\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"user_id\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"user_session\",\n"
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
    "      \"user_session\"\n"
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
    "   \"reason\": \"session_missing\",\n"
    "   \"stream\": \"valid\",\n"
    "   \"text\": \"user_session <> ''\"\n"
    "  },\n"
    "  {\n"
    "   \"expr\": {\n"
    "    \"kind\": \"binary\",\n"
    "    \"left\": {\n"
    "     \"kind\": \"column\",\n"
    "     \"path\": [\n"
    "      \"price\"\n"
    "     ],\n"
    "     \"type\": \"decimal(12,2)\"\n"
    "    },\n"
    "    \"op\": \">\",\n"
    "    \"right\": {\n"
    "     \"kind\": \"literal\",\n"
    "     \"type\": \"decimal(12,2)\",\n"
    "     \"value\": \"0.00\"\n"
    "    },\n"
    "    \"type\": \"bool\"\n"
    "   },\n"
    "   \"node\": \"require\",\n"
    "   \"reason\": \"price_not_positive\",\n"
    "   \"stream\": \"valid\",\n"
    "   \"text\": \"price > 0.00\"\n"
    "  },\n"
    "  {\n"
    "   \"columns\": [\n"
    "    {\n"
    "     \"name\": \"event_time\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"event_type\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"product_id\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"category_id\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"category_code\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"brand\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"price\",\n"
    "     \"type\": \"decimal(12,2)\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"user_id\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"user_session\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"occurred_at\",\n"
    "     \"type\": \"timestamp_ms\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"category\",\n"
    "     \"type\": \"string\"\n"
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
    "   \"columns\": [\n"
    "    {\n"
    "     \"name\": \"event_time\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"event_type\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"product_id\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"category_id\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"category_code\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"brand\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"price\",\n"
    "     \"type\": \"decimal(12,2)\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"user_id\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"user_session\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"occurred_at\",\n"
    "     \"type\": \"timestamp_ms\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"category\",\n"
    "     \"type\": \"string\"\n"
    "    }\n"
    "   ],\n"
    "   \"items\": [\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"event_time\"\n"
    "      ],\n"
    "      \"type\": \"string\"\n"
    "     },\n"
    "     \"name\": \"event_time\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"event_type\"\n"
    "      ],\n"
    "      \"type\": \"string\"\n"
    "     },\n"
    "     \"name\": \"event_type\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"product_id\"\n"
    "      ],\n"
    "      \"type\": \"int64\"\n"
    "     },\n"
    "     \"name\": \"product_id\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"category_id\"\n"
    "      ],\n"
    "      \"type\": \"int64\"\n"
    "     },\n"
    "     \"name\": \"category_id\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"category_code\"\n"
    "      ],\n"
    "      \"type\": \"string\"\n"
    "     },\n"
    "     \"name\": \"category_code\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"brand\"\n"
    "      ],\n"
    "      \"type\": \"string\"\n"
    "     },\n"
    "     \"name\": \"brand\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"price\"\n"
    "      ],\n"
    "      \"type\": \"decimal(12,2)\"\n"
    "     },\n"
    "     \"name\": \"price\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"user_id\"\n"
    "      ],\n"
    "      \"type\": \"int64\"\n"
    "     },\n"
    "     \"name\": \"user_id\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"user_session\"\n"
    "      ],\n"
    "      \"type\": \"string\"\n"
    "     },\n"
    "     \"name\": \"user_session\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"occurred_at\"\n"
    "      ],\n"
    "      \"type\": \"timestamp_ms\"\n"
    "     },\n"
    "     \"name\": \"occurred_at\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"else\": {\n"
    "       \"args\": [\n"
    "        {\n"
    "         \"kind\": \"column\",\n"
    "         \"path\": [\n"
    "          \"category_code\"\n"
    "         ],\n"
    "         \"type\": \"string\"\n"
    "        },\n"
    "        {\n"
    "         \"kind\": \"literal\",\n"
    "         \"type\": \"string\",\n"
    "         \"value\": \".\"\n"
    "        },\n"
    "        {\n"
    "         \"kind\": \"literal\",\n"
    "         \"type\": \"int64\",\n"
    "         \"value\": \"1\"\n"
    "        }\n"
    "       ],\n"
    "       \"function\": \"split_part\",\n"
    "       \"kind\": \"call\",\n"
    "       \"type\": \"string\"\n"
    "      },\n"
    "      \"kind\": \"case\",\n"
    "      \"type\": \"string\",\n"
    "      \"whens\": [\n"
    "       {\n"
    "        \"then\": {\n"
    "         \"kind\": \"literal\",\n"
    "         \"type\": \"string\",\n"
    "         \"value\": \"none\"\n"
    "        },\n"
    "        \"when\": {\n"
    "         \"kind\": \"binary\",\n"
    "         \"left\": {\n"
    "          \"kind\": \"column\",\n"
    "          \"path\": [\n"
    "           \"category_code\"\n"
    "          ],\n"
    "          \"type\": \"string\"\n"
    "         },\n"
    "         \"op\": \"=\",\n"
    "         \"right\": {\n"
    "          \"kind\": \"literal\",\n"
    "          \"type\": \"string\",\n"
    "          \"value\": \"\"\n"
    "         },\n"
    "         \"type\": \"bool\"\n"
    "        }\n"
    "       }\n"
    "      ]\n"
    "     },\n"
    "     \"name\": \"category\"\n"
    "    }\n"
    "   ],\n"
    "   \"node\": \"select\",\n"
    "   \"stream\": \"clean\"\n"
    "  },\n"
    "  {\n"
    "   \"behind_exchange\": false,\n"
    "   \"key\": [\n"
    "    \"event_time\",\n"
    "    \"event_type\",\n"
    "    \"product_id\",\n"
    "    \"category_id\",\n"
    "    \"category_code\",\n"
    "    \"brand\",\n"
    "    \"price\",\n"
    "    \"user_id\",\n"
    "    \"user_session\"\n"
    "   ],\n"
    "   \"local_because\": \"key holds user_session\",\n"
    "   \"node\": \"dedup\",\n"
    "   \"stream\": \"clean\",\n"
    "   \"within_ms\": 3600000\n"
    "  },\n"
    "  {\n"
    "   \"append_revisions\": false,\n"
    "   \"commit_bytes\": 16777216,\n"
    "   \"commit_ms\": 100,\n"
    "   \"exactly_once\": true,\n"
    "   \"format\": \"jsonl\",\n"
    "   \"from\": \"clean\",\n"
    "   \"guarantee\": \"exactly once: cut back to the length in the last commit\",\n"
    "   \"key\": [],\n"
    "   \"kind\": \"file\",\n"
    "   \"name\": \"clean_file\",\n"
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
    "     \"name\": \"events\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"purchases\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"amount\",\n"
    "     \"type\": \"decimal(38,2)\"\n"
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
    "    \"category\"\n"
    "   ],\n"
    "   \"node\": \"exchange\",\n"
    "   \"partitions\": 1,\n"
    "   \"reason\": \"input is partitioned by user_session\",\n"
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
    "      \"kind\": \"binary\",\n"
    "      \"left\": {\n"
    "       \"kind\": \"column\",\n"
    "       \"path\": [\n"
    "        \"event_type\"\n"
    "       ],\n"
    "       \"type\": \"string\"\n"
    "      },\n"
    "      \"op\": \"=\",\n"
    "      \"right\": {\n"
    "       \"kind\": \"literal\",\n"
    "       \"type\": \"string\",\n"
    "       \"value\": \"purchase\"\n"
    "      },\n"
    "      \"type\": \"bool\"\n"
    "     },\n"
    "     \"function\": \"count_if\",\n"
    "     \"name\": \"purchases\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"arg\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"price\"\n"
    "      ],\n"
    "      \"type\": \"decimal(12,2)\"\n"
    "     },\n"
    "     \"function\": \"sum\",\n"
    "     \"name\": \"amount\",\n"
    "     \"type\": \"decimal(38,2)\"\n"
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
    "     \"name\": \"events\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"purchases\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"amount\",\n"
    "     \"type\": \"decimal(38,2)\"\n"
    "    }\n"
    "   ],\n"
    "   \"corrections\": false,\n"
    "   \"delay_ms\": 0,\n"
    "   \"drop_late\": false,\n"
    "   \"emit\": \"close\",\n"
    "   \"emit_every_ms\": 0,\n"
    "   \"every_ms\": 600000,\n"
    "   \"gap_ms\": 0,\n"
    "   \"group\": [\n"
    "    \"category\"\n"
    "   ],\n"
    "   \"late\": \"late_events\",\n"
    "   \"lateness_ms\": 0,\n"
    "   \"max_ms\": 0,\n"
    "   \"node\": \"window\",\n"
    "   \"offset_ms\": 0,\n"
    "   \"size_ms\": 600000,\n"
    "   \"stream\": \"by_category\",\n"
    "   \"window\": \"tumbling\"\n"
    "  },\n"
    "  {\n"
    "   \"append_revisions\": false,\n"
    "   \"commit_bytes\": 16777216,\n"
    "   \"commit_ms\": 100,\n"
    "   \"exactly_once\": true,\n"
    "   \"format\": \"csv\",\n"
    "   \"from\": \"by_category\",\n"
    "   \"guarantee\": \"exactly once: cut back to the length in the last commit\",\n"
    "   \"key\": [],\n"
    "   \"kind\": \"file\",\n"
    "   \"name\": \"windows_file\",\n"
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
    "     \"name\": \"window_start\",\n"
    "     \"type\": \"timestamp_ms\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"window_end\",\n"
    "     \"type\": \"timestamp_ms\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"user_session\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"user_id\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"events\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"products\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"spent\",\n"
    "     \"type\": \"decimal(38,2)\"\n"
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
    "   \"rejects\": \"rejected\",\n"
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
    "       \"user_id\"\n"
    "      ],\n"
    "      \"type\": \"int64\"\n"
    "     },\n"
    "     \"function\": \"first\",\n"
    "     \"name\": \"user_id\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"function\": \"count\",\n"
    "     \"name\": \"events\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"arg\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"product_id\"\n"
    "      ],\n"
    "      \"type\": \"int64\"\n"
    "     },\n"
    "     \"function\": \"count_distinct\",\n"
    "     \"name\": \"products\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"arg\": {\n"
    "      \"else\": {\n"
    "       \"kind\": \"literal\",\n"
    "       \"type\": \"decimal(12,2)\",\n"
    "       \"value\": \"0.00\"\n"
    "      },\n"
    "      \"kind\": \"case\",\n"
    "      \"type\": \"decimal(12,2)\",\n"
    "      \"whens\": [\n"
    "       {\n"
    "        \"then\": {\n"
    "         \"kind\": \"column\",\n"
    "         \"path\": [\n"
    "          \"price\"\n"
    "         ],\n"
    "         \"type\": \"decimal(12,2)\"\n"
    "        },\n"
    "        \"when\": {\n"
    "         \"kind\": \"binary\",\n"
    "         \"left\": {\n"
    "          \"kind\": \"column\",\n"
    "          \"path\": [\n"
    "           \"event_type\"\n"
    "          ],\n"
    "          \"type\": \"string\"\n"
    "         },\n"
    "         \"op\": \"=\",\n"
    "         \"right\": {\n"
    "          \"kind\": \"literal\",\n"
    "          \"type\": \"string\",\n"
    "          \"value\": \"purchase\"\n"
    "         },\n"
    "         \"type\": \"bool\"\n"
    "        }\n"
    "       }\n"
    "      ]\n"
    "     },\n"
    "     \"function\": \"sum\",\n"
    "     \"name\": \"spent\",\n"
    "     \"type\": \"decimal(38,2)\"\n"
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
    "     \"name\": \"user_session\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"user_id\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"events\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"products\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"spent\",\n"
    "     \"type\": \"decimal(38,2)\"\n"
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
    "   \"gap_ms\": 1800000,\n"
    "   \"group\": [\n"
    "    \"user_session\"\n"
    "   ],\n"
    "   \"late\": \"late_events\",\n"
    "   \"lateness_ms\": 0,\n"
    "   \"local_because\": \"key holds user_session\",\n"
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
    "   \"format\": \"csv\",\n"
    "   \"from\": \"sessions\",\n"
    "   \"guarantee\": \"exactly once: cut back to the length in the last commit\",\n"
    "   \"key\": [],\n"
    "   \"kind\": \"file\",\n"
    "   \"name\": \"sessions_file\",\n"
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
    "    \"valid\",\n"
    "    \"clean\",\n"
    "    \"by_category\",\n"
    "    \"sessions\"\n"
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
    "   \"format\": \"jsonl\",\n"
    "   \"from\": \"rejected\",\n"
    "   \"guarantee\": \"exactly once: cut back to the length in the last commit\",\n"
    "   \"key\": [],\n"
    "   \"kind\": \"file\",\n"
    "   \"name\": \"rejects_file\",\n"
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
    "     \"name\": \"event_time\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"event_type\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"product_id\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"category_id\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"category_code\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"brand\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"price\",\n"
    "     \"type\": \"decimal(12,2)\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"user_id\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"user_session\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"occurred_at\",\n"
    "     \"type\": \"timestamp_ms\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"category\",\n"
    "     \"type\": \"string\"\n"
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
    "   \"name\": \"late_events\",\n"
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
    "   \"from\": \"late_events\",\n"
    "   \"guarantee\": \"exactly once: cut back to the length in the last commit\",\n"
    "   \"key\": [],\n"
    "   \"kind\": \"file\",\n"
    "   \"name\": \"late_file\",\n"
    "   \"node\": \"sink\",\n"
    "   \"order\": [],\n"
    "   \"partition_by\": [],\n"
    "   \"partitions\": 0,\n"
    "   \"rollups\": [],\n"
    "   \"source_key\": false\n"
    "  }\n"
    " ],\n"
    " \"pipeline\": \"rees46\",\n"
    " \"stages\": [\n"
    "  {\n"
    "   \"source\": \"events\",\n"
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
    .name = "rees46",
    .hash = "0353c993555d1225",
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
    .sink_count = 5,
};

int main(int argc, char **argv)
{
    return pipe_main(&plan, argc, argv);
}
