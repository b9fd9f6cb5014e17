/* tumbling.c: pipeline tumbling, compiled from tumbling.pipe by pipec. Change that file, not
 * this. */
#include "pipe.h"

#if PIPE_RUNTIME_ABI != 1
#error "this file and libpipe do not fit together: compile the pipeline again"
#endif

/* ----------------------------------------------------------------------------------------------
 * Rows
 * ---------------------------------------------------------------------------------------------- */

struct sales {
    struct pipe_str shop;
    int64_t cents;
    int64_t at;
    bool shop_null;
    bool cents_null;
};

struct by_shop {
    int64_t window_start;
    int64_t window_end;
    struct pipe_str shop;
    int64_t sales;
    int64_t priced;
    int64_t cents;
    double mean;
    int32_t revision;
    bool shop_null;
    bool cents_null;
    bool mean_null;
};

struct reasons {
    struct pipe_str reason;
    struct pipe_str rule;
    struct pipe_str detail;
    bool detail_null;
};

struct late_sales {
    struct pipe_str shop;
    int64_t cents;
    int64_t at;
    struct pipe_str late_for;
    int64_t window_end;
    int64_t watermark;
    bool shop_null;
    bool cents_null;
};

/* ----------------------------------------------------------------------------------------------
 * Indexes in the tables below
 * ---------------------------------------------------------------------------------------------- */

enum {
    STREAM_sales,
    STREAM_by_shop,
    STREAM_refused,
    STREAM_reasons,
    STREAM_late_sales,
};

enum {
    STAGE_sales,
};

enum {
    SINK_by_shop_rows,
    SINK_late_rows,
    SINK_refusals,
};

enum { STATE_by_shop = 0 };

/* ----------------------------------------------------------------------------------------------
 * What the runtime knows of the rows
 * ---------------------------------------------------------------------------------------------- */

static const struct pipe_type type_timestamp_ms = {.kind = PIPE_TIMESTAMP_MS};
static const struct pipe_type type_string = {.kind = PIPE_STRING};
static const struct pipe_type type_int64 = {.kind = PIPE_INT64};
static const struct pipe_type type_float64 = {.kind = PIPE_FLOAT64};
static const struct pipe_type type_int32 = {.kind = PIPE_INT32};

static const struct pipe_column by_shop_columns[] = {
    {"window_start", &type_timestamp_ms, offsetof(struct by_shop, window_start),
     .null_offset = PIPE_NOT_NULL},
    {"window_end", &type_timestamp_ms, offsetof(struct by_shop, window_end),
     .null_offset = PIPE_NOT_NULL},
    {"shop", &type_string, offsetof(struct by_shop, shop),
     .null_offset = offsetof(struct by_shop, shop_null), .null_first = false},
    {"sales", &type_int64, offsetof(struct by_shop, sales), .null_offset = PIPE_NOT_NULL},
    {"priced", &type_int64, offsetof(struct by_shop, priced), .null_offset = PIPE_NOT_NULL},
    {"cents", &type_int64, offsetof(struct by_shop, cents),
     .null_offset = offsetof(struct by_shop, cents_null), .null_first = false},
    {"mean", &type_float64, offsetof(struct by_shop, mean),
     .null_offset = offsetof(struct by_shop, mean_null), .null_first = false},
    {"revision", &type_int32, offsetof(struct by_shop, revision), .null_offset = PIPE_NOT_NULL},
};
static const struct pipe_row_type by_shop_type = {"by_shop", by_shop_columns, 8,
                                                  sizeof(struct by_shop)};


static const struct pipe_column sales_columns[] = {
    {"shop", &type_string, offsetof(struct sales, shop),
     .null_offset = offsetof(struct sales, shop_null), .null_first = false},
    {"cents", &type_int64, offsetof(struct sales, cents),
     .null_offset = offsetof(struct sales, cents_null), .null_first = false},
    {"at", &type_timestamp_ms, offsetof(struct sales, at), .null_offset = PIPE_NOT_NULL},
};
static const struct pipe_row_type sales_type = {"sales", sales_columns, 3, sizeof(struct sales)};


static const struct pipe_column late_sales_columns[] = {
    {"shop", &type_string, offsetof(struct late_sales, shop),
     .null_offset = offsetof(struct late_sales, shop_null), .null_first = false},
    {"cents", &type_int64, offsetof(struct late_sales, cents),
     .null_offset = offsetof(struct late_sales, cents_null), .null_first = false},
    {"at", &type_timestamp_ms, offsetof(struct late_sales, at), .null_offset = PIPE_NOT_NULL},
    {"late_for", &type_string, offsetof(struct late_sales, late_for), .null_offset = PIPE_NOT_NULL},
    {"window_end", &type_timestamp_ms, offsetof(struct late_sales, window_end),
     .null_offset = PIPE_NOT_NULL},
    {"watermark", &type_timestamp_ms, offsetof(struct late_sales, watermark),
     .null_offset = PIPE_NOT_NULL},
};
static const struct pipe_row_type late_sales_type = {"late_sales", late_sales_columns, 6,
                                                     sizeof(struct late_sales)};


static const struct pipe_column reasons_columns[] = {
    {"reason", &type_string, offsetof(struct reasons, reason), .null_offset = PIPE_NOT_NULL},
    {"rule", &type_string, offsetof(struct reasons, rule), .null_offset = PIPE_NOT_NULL},
    {"detail", &type_string, offsetof(struct reasons, detail),
     .null_offset = offsetof(struct reasons, detail_null), .null_first = false},
};
static const struct pipe_row_type reasons_type = {"reasons", reasons_columns, 3,
                                                  sizeof(struct reasons)};

/* ----------------------------------------------------------------------------------------------
 * JSON
 * ---------------------------------------------------------------------------------------------- */

static void json_of_by_shop(struct pipe_buf *buf, const struct by_shop *row)
{
    PIPE_JSON_RAW(buf, "{\"window_start\":");
    pipe_json_timestamp_ms(buf, row->window_start);
    PIPE_JSON_RAW(buf, ",\"window_end\":");
    pipe_json_timestamp_ms(buf, row->window_end);
    PIPE_JSON_RAW(buf, ",\"shop\":");
    if (row->shop_null)
        pipe_json_null(buf);
    else
        pipe_json_string(buf, row->shop);
    PIPE_JSON_RAW(buf, ",\"sales\":");
    pipe_json_i64(buf, row->sales);
    PIPE_JSON_RAW(buf, ",\"priced\":");
    pipe_json_i64(buf, row->priced);
    PIPE_JSON_RAW(buf, ",\"cents\":");
    if (row->cents_null)
        pipe_json_null(buf);
    else
        pipe_json_i64(buf, row->cents);
    PIPE_JSON_RAW(buf, ",\"mean\":");
    if (row->mean_null)
        pipe_json_null(buf);
    else
        pipe_json_f64(buf, row->mean);
    PIPE_JSON_RAW(buf, ",\"revision\":");
    pipe_json_i64(buf, row->revision);
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
    PIPE_JSON_RAW(buf, "}");
}

static void json_of_late_sales(struct pipe_buf *buf, const struct late_sales *row)
{
    PIPE_JSON_RAW(buf, "{\"shop\":");
    if (row->shop_null)
        pipe_json_null(buf);
    else
        pipe_json_string(buf, row->shop);
    PIPE_JSON_RAW(buf, ",\"cents\":");
    if (row->cents_null)
        pipe_json_null(buf);
    else
        pipe_json_i64(buf, row->cents);
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

/* ----------------------------------------------------------------------------------------------
 * Streams, in the order of the data
 * ---------------------------------------------------------------------------------------------- */

static void push_by_shop(struct pipe_task *task, const struct pipe_record *record,
                         const struct sales *row);
static void push_refused(struct pipe_task *task, const struct pipe_record *record,
                         const struct pipe_reject *row);
static void reject_refused(struct pipe_task *task, const struct pipe_record *record,
                           const char *reason, const char *rule, const char *detail);
static void push_reasons(struct pipe_task *task, const struct pipe_record *record,
                         const struct pipe_reject *row);
static void push_late_sales(struct pipe_task *task, const struct pipe_record *record,
                            const struct late_sales *row);

/* ---- source sales  (tumbling.pipe:4) ---- */

static void out_sales(struct pipe_task *task, const struct pipe_record *record,
                      const struct sales *row)
{
    task->counters[STREAM_sales].out++;
    push_by_shop(task, record, row);
}

/* ---- stream by_shop from sales  (tumbling.pipe:12) ---- */

/* sink by_shop_rows from by_shop to file 'out/by_shop.jsonl' format jsonl append revisions
 * exactly once (tumbling.pipe:31) */
static void sink_by_shop_rows(struct pipe_task *task, const struct pipe_record *record,
                              const struct by_shop *row)
{
    if (!pipe_encoded(task, row, (const void *)json_of_by_shop))
        json_of_by_shop(&task->value, row);
    pipe_emit(task, SINK_by_shop_rows, record, pipe_str_of(NULL, 0),
              pipe_str_of(task->value.data, task->value.size));
}

static void out_by_shop(struct pipe_task *task, const struct pipe_record *record,
                        const struct by_shop *row)
{
    task->counters[STREAM_by_shop].out++;
    if (!pipe_discards(task)) {
        sink_by_shop_rows(task, record, row);
    }
}

/* The key: shop. */
static void key_by_shop(struct pipe_buf *key, const struct sales *row)
{
    key->size = 0;
    if (!pipe_key_add_null(key, row->shop_null))
        pipe_key_add_str(key, row->shop);
}

/* window tumbling 10s (tumbling.pipe:13) */
struct by_shop_acc {
    struct pipe_count sales;
    struct pipe_count priced;
    struct pipe_sum_int cents;
    struct pipe_avg_int mean;
};

static void by_shop_acc_init(void *acc)
{
    struct by_shop_acc *of = acc;

    pipe_count_init(&of->sales);
    pipe_count_init(&of->priced);
    pipe_sum_int_init(&of->cents);
    pipe_avg_int_init(&of->mean);
}

static void by_shop_acc_merge(void *into, const void *from)
{
    struct by_shop_acc *to = into;
    const struct by_shop_acc *other = from;

    pipe_count_merge(&to->sales, &other->sales);
    pipe_count_merge(&to->priced, &other->priced);
    pipe_sum_int_merge(&to->cents, &other->cents);
    pipe_avg_int_merge(&to->mean, &other->mean);
}

static void by_shop_acc_save(const void *acc, struct pipe_buf *out)
{
    const struct by_shop_acc *of = acc;

    pipe_count_save(&of->sales, out);
    pipe_count_save(&of->priced, out);
    pipe_sum_int_save(&of->cents, out);
    pipe_avg_int_save(&of->mean, out);
}

static bool by_shop_acc_load(void *acc, struct pipe_reader *in)
{
    struct by_shop_acc *to = acc;

    return pipe_count_load(&to->sales, in) && pipe_count_load(&to->priced, in) &&
        pipe_sum_int_load(&to->cents, in) && pipe_avg_int_load(&to->mean, in);
}

static void by_shop_acc_drop(void *acc)
{
    struct by_shop_acc *of = acc;

    pipe_count_drop(&of->sales);
    pipe_count_drop(&of->priced);
    pipe_sum_int_drop(&of->cents);
    pipe_avg_int_drop(&of->mean);
}

static const struct pipe_accumulator by_shop_accumulator = {
    .size_bytes = sizeof(struct by_shop_acc),
    .plain = true,
    .init = by_shop_acc_init,
    .merge = by_shop_acc_merge,
    .save = by_shop_acc_save,
    .load = by_shop_acc_load,
    .drop = by_shop_acc_drop,
};

static void update_by_shop(struct by_shop_acc *acc, const struct sales *row)
{
    pipe_count_update(&acc->sales);
    if (!row->cents_null)
        pipe_count_update(&acc->priced);
    if (!row->cents_null)
        pipe_sum_int_update(&acc->cents, row->cents);
    if (!row->cents_null)
        pipe_avg_int_update(&acc->mean, row->cents);
}

/* late to late_sales: a window that the row missed. */
static void late_by_shop(struct pipe_task *task, const struct pipe_record *record,
                         const struct sales *row, int64_t window_end)
{
    struct late_sales out = {0};

    out.shop = row->shop;
    out.shop_null = row->shop_null;
    out.cents = row->cents;
    out.cents_null = row->cents_null;
    out.at = row->at;
    out.late_for = PIPE_STR("by_shop");
    out.window_end = pipe_column_ts_ms(window_end);
    out.watermark = pipe_column_ts_ms(record->watermark);
    pipe_new_row(task);
    push_late_sales(task, record, &out);
}

static void keep_by_shop(struct pipe_task *task, const struct pipe_record *record,
                         const struct sales *row)
{
    key_by_shop(&task->key, row);
    struct pipe_window_hit hit = pipe_window(task, STATE_by_shop, record, false);
    if (hit.acc != NULL)
        update_by_shop(hit.acc, row);
    for (uint32_t i = 0; i < hit.late && pipe_may_make(task, record, PIPE_ITEM_BYTES); i++)
        late_by_shop(task, record, row, hit.late_end + i * PIPE_SECONDS(10));
}

/* The total of a sum does not fit its column. */
static bool overflow_by_shop(struct pipe_task *task, const struct pipe_record *record,
                             const struct pipe_window_row *window, const struct by_shop *row,
                             const char *column)
{
    struct pipe_buf *text = &task->text;

    text->size = 0;
    pipe_buf_printf(text, "%s: the total is out of range; window [", column);
    pipe_csv_timestamp_ms(text, pipe_column_ts_ms(window->start));
    PIPE_JSON_RAW(text, ", ");
    pipe_csv_timestamp_ms(text, pipe_column_ts_ms(window->end));
    PIPE_JSON_RAW(text, "), group ");
    pipe_key_text(text, &by_shop_type, row, (const uint32_t[]){2}, 1);
    pipe_buf_add_byte(text, '\0');
    reject_refused(task, record, "expression_failed", "by_shop", (const char *)text->data);
    return false;
}

/* The row of a window that is due. */
static bool emit_by_shop(struct pipe_task *task, const struct pipe_window_row *window)
{
    const struct by_shop_acc *acc = window->acc;
    const uint8_t *at = window->key, *end = at + window->key_bytes;
    struct pipe_arena_mark mark = pipe_arena_mark(&task->arena);
    struct by_shop out = {0};
    const struct pipe_record record = {
        .kafka_time_ms = window->kafka_time_ms,
        .event_time = window->end - PIPE_MS(1),
        .watermark = window->watermark,
    };

    out.window_start = pipe_column_ts_ms(window->start);
    out.window_end = pipe_column_ts_ms(window->end);
    if (!(pipe_key_null(&at, end, &out.shop_null) &&
          (out.shop_null || pipe_key_str(&at, end, &out.shop)))) {
        pipe_fatal(task, "%s: a window's key is damaged", "by_shop");
        return false;
    }
    pipe_count_finish(&acc->sales, &out.sales, NULL);
    pipe_count_finish(&acc->priced, &out.priced, NULL);
    if (!pipe_sum_int_finish(&acc->cents, &out.cents, &out.cents_null))
        return overflow_by_shop(task, &record, window, &out, "cents");
    pipe_avg_int_finish(&acc->mean, &out.mean, &out.mean_null);
    out.revision = window->revision;
    pipe_new_row(task);
    out_by_shop(task, &record, &out);
    pipe_arena_back_to(&task->arena, mark);
    return true;
}

static void push_by_shop(struct pipe_task *task, const struct pipe_record *record,
                         const struct sales *row)
{
    struct pipe_counters *count = &task->counters[STREAM_by_shop];

    count->in++;
    count->passed++;
    keep_by_shop(task, record, row);
}

/* ---- reject stream refused  (tumbling.pipe:10) ---- */

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

/* ---- stream reasons from refused  (tumbling.pipe:25) ---- */

/* sink refusals from reasons to file 'out/refused.jsonl' format jsonl exactly once
 * (tumbling.pipe:37) */
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

/* select reason, rule, detail (tumbling.pipe:26) */
static void select_reasons(struct pipe_task *task, const struct pipe_record *record,
                           const struct pipe_reject *row)
{
    struct pipe_counters *count = &task->counters[STREAM_reasons];
    struct reasons out = {0};

    out.reason = row->reason;
    out.rule = row->rule;
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

/* ---- late stream late_sales  (tumbling.pipe:21) ---- */

/* sink late_rows from late_sales to file 'out/late.jsonl' format jsonl exactly once
 * (tumbling.pipe:36) */
static void sink_late_rows(struct pipe_task *task, const struct pipe_record *record,
                           const struct late_sales *row)
{
    if (!pipe_encoded(task, row, (const void *)json_of_late_sales))
        json_of_late_sales(&task->value, row);
    pipe_emit(task, SINK_late_rows, record, pipe_str_of(NULL, 0),
              pipe_str_of(task->value.data, task->value.size));
}

static void out_late_sales(struct pipe_task *task, const struct pipe_record *record,
                           const struct late_sales *row)
{
    task->counters[STREAM_late_sales].out++;
    if (!pipe_discards(task)) {
        sink_late_rows(task, record, row);
    }
}

static void push_late_sales(struct pipe_task *task, const struct pipe_record *record,
                            const struct late_sales *row)
{
    struct pipe_counters *count = &task->counters[STREAM_late_sales];

    count->in++;
    count->passed++;
    out_late_sales(task, record, row);
}

/* ----------------------------------------------------------------------------------------------
 * Records
 * ---------------------------------------------------------------------------------------------- */

/* ---- a record of source sales ---- */

static bool refuse_sales(struct pipe_task *task, const struct pipe_record *record,
                         const char *reason, const char *detail)
{
    struct pipe_counters *count = &task->counters[STREAM_sales];

    count->source_rejected++;
    reject_refused(task, record, reason, "sales", detail);
    return false;
}

static bool record_sales(struct pipe_task *task, struct pipe_record *record)
{
    struct pipe_counters *count = &task->counters[STREAM_sales];
    void *decoded;

    count->read++;
    const char *reason = pipe_decode(task, record, &decoded);
    if (reason != NULL)
        return refuse_sales(task, record, reason, task->detail);

    const struct sales *row = decoded;

    record->event_time = PIPE_MS(row->at);
    reason = pipe_judge_time(task, record, record->event_time);
    if (reason != NULL)
        return refuse_sales(task, record, reason, task->detail);

    count->accepted++;
    pipe_new_row(task);
    out_sales(task, record, row);
    return true;
}

/* ----------------------------------------------------------------------------------------------
 * The plan
 * ---------------------------------------------------------------------------------------------- */

static const struct pipe_source_def sources[] = {
    {
        .name = "sales",
        .stream = STREAM_sales,
        .is_kafka = false,
        .target = "sales.csv",
        .partitions = 0,
        .format = PIPE_FORMAT_CSV,
        .header = true,
        .row = &sales_type,
        .row_bytes = sizeof(struct sales),
        .has_event_time = true,
        .ahead = 0,
        .has_watermark = true,
        .watermark = PIPE_SECONDS(1),
        .idle = 0,
        .stage = STAGE_sales,
    },
};

static const struct pipe_stream_def streams[] = {
    [STREAM_sales] = {.name = "sales", .kind = PIPE_STREAM_SOURCE},
    [STREAM_by_shop] = {.name = "by_shop", .kind = PIPE_STREAM_NORMAL,
                        .inputs = (const uint32_t[]){STREAM_sales}, .input_count = 1,
                        .has_window = true},
    [STREAM_refused] = {.name = "refused", .kind = PIPE_STREAM_REJECTS,
                        .inputs = (const uint32_t[]){STREAM_sales, STREAM_by_shop},
                        .input_count = 2},
    [STREAM_reasons] = {.name = "reasons", .kind = PIPE_STREAM_NORMAL,
                        .inputs = (const uint32_t[]){STREAM_refused}, .input_count = 1,
                        .has_select = true},
    [STREAM_late_sales] = {.name = "late_sales", .kind = PIPE_STREAM_LATE,
                           .inputs = (const uint32_t[]){STREAM_by_shop}, .input_count = 1},
};

static const struct pipe_state_def states_of_sales[] = {
    {
        .kind = PIPE_STATE_WINDOW,
        .name = "by_shop",
        .stream = STREAM_by_shop,
        .size = PIPE_SECONDS(10),
        .every = PIPE_SECONDS(10),
        .lateness = PIPE_SECONDS(5),
        .emit = PIPE_EMIT_CLOSE,
        .sends_corrections = true,
        .phase = PIPE_PHASE_LOCAL,
        .acc = &by_shop_accumulator,
        .emit_row = emit_by_shop,
    },
};

static const struct pipe_stage_def stages[] = {
    [STAGE_sales] = {
        .name = "sales",
        .source = 0,
        .exchange = -1,
        .record = record_sales,
        .states = states_of_sales,
        .state_count = 1,
    },
};

static const struct pipe_sink_def sinks[] = {
    [SINK_by_shop_rows] = {
        .name = "by_shop_rows",
        .stream = STREAM_by_shop,
        .kind = PIPE_SINK_FILE,
        .target = "out/by_shop.jsonl",
        .format = PIPE_FORMAT_JSONL,
        .row = &by_shop_type,
        .exactly_once = true,
    },
    [SINK_late_rows] = {
        .name = "late_rows",
        .stream = STREAM_late_sales,
        .kind = PIPE_SINK_FILE,
        .target = "out/late.jsonl",
        .format = PIPE_FORMAT_JSONL,
        .row = &late_sales_type,
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
    "tumbling   plan ec88a93d\n"
    "  1 file source sales                    one partition a file by shop; csv; event "
    "time at, watermark 1s\n"
    "  2   stream by_shop                     from sales\n"
    "  3     window by_shop                   STATE by_shop  tumbling 10s by shop, "
    "lateness 5s, emit on close; local: key holds shop; late to late_sales\n"
    "  4     file sink by_shop_rows           jsonl; exactly once: cut back to the "
    "length in the last commit\n"
    "  5 rejects refused                      from sales, by_shop\n"
    "  6   stream reasons                     from refused\n"
    "  7     select                           reason, rule, detail\n"
    "  8     file sink refusals               jsonl; exactly once: cut back to the "
    "length in the last commit\n"
    "  9 late rows late_sales                 from by_shop\n"
    " 10   file sink late_rows                jsonl; exactly once: cut back to the "
    "length in the last commit\n"
    "\n"
    "stages\n"
    "  0 reads source sales: one task a file; state by_shop\n";

static const char plan_json[] =
    "{\n"
    " \"hash\": \"ec88a93d35293720\",\n"
    " \"nodes\": [\n"
    "  {\n"
    "   \"ahead_ms\": 0,\n"
    "   \"columns\": [\n"
    "    {\n"
    "     \"name\": \"shop\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"cents\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int64\"\n"
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
    "    \"shop\"\n"
    "   ],\n"
    "   \"name\": \"sales\",\n"
    "   \"node\": \"source\",\n"
    "   \"partitions\": 0,\n"
    "   \"payload\": [\n"
    "    {\n"
    "     \"name\": \"shop\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"cents\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int64\"\n"
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
    "     \"name\": \"shop\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"sales\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"priced\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"cents\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"mean\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"float64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"revision\",\n"
    "     \"type\": \"int32\"\n"
    "    }\n"
    "   ],\n"
    "   \"inputs\": [\n"
    "    \"sales\"\n"
    "   ],\n"
    "   \"name\": \"by_shop\",\n"
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
    "     \"name\": \"sales\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"arg\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"nullable\": true,\n"
    "      \"path\": [\n"
    "       \"cents\"\n"
    "      ],\n"
    "      \"type\": \"int64\"\n"
    "     },\n"
    "     \"function\": \"count\",\n"
    "     \"name\": \"priced\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"arg\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"nullable\": true,\n"
    "      \"path\": [\n"
    "       \"cents\"\n"
    "      ],\n"
    "      \"type\": \"int64\"\n"
    "     },\n"
    "     \"function\": \"sum\",\n"
    "     \"name\": \"cents\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"arg\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"nullable\": true,\n"
    "      \"path\": [\n"
    "       \"cents\"\n"
    "      ],\n"
    "      \"type\": \"int64\"\n"
    "     },\n"
    "     \"function\": \"avg\",\n"
    "     \"name\": \"mean\",\n"
    "     \"type\": \"float64\"\n"
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
    "     \"name\": \"shop\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"sales\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"priced\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"cents\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"mean\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"float64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"revision\",\n"
    "     \"type\": \"int32\"\n"
    "    }\n"
    "   ],\n"
    "   \"corrections\": true,\n"
    "   \"delay_ms\": 0,\n"
    "   \"drop_late\": false,\n"
    "   \"emit\": \"close\",\n"
    "   \"emit_every_ms\": 0,\n"
    "   \"every_ms\": 10000,\n"
    "   \"gap_ms\": 0,\n"
    "   \"group\": [\n"
    "    \"shop\"\n"
    "   ],\n"
    "   \"late\": \"late_sales\",\n"
    "   \"lateness_ms\": 5000,\n"
    "   \"local_because\": \"key holds shop\",\n"
    "   \"max_ms\": 0,\n"
    "   \"node\": \"window\",\n"
    "   \"offset_ms\": 0,\n"
    "   \"size_ms\": 10000,\n"
    "   \"stream\": \"by_shop\",\n"
    "   \"window\": \"tumbling\"\n"
    "  },\n"
    "  {\n"
    "   \"append_revisions\": true,\n"
    "   \"commit_bytes\": 16777216,\n"
    "   \"commit_ms\": 100,\n"
    "   \"exactly_once\": true,\n"
    "   \"format\": \"jsonl\",\n"
    "   \"from\": \"by_shop\",\n"
    "   \"guarantee\": \"exactly once: cut back to the length in the last commit\",\n"
    "   \"key\": [],\n"
    "   \"kind\": \"file\",\n"
    "   \"name\": \"by_shop_rows\",\n"
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
    "    \"sales\",\n"
    "    \"by_shop\"\n"
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
    "     \"name\": \"shop\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"cents\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int64\"\n"
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
    "    \"by_shop\"\n"
    "   ],\n"
    "   \"name\": \"late_sales\",\n"
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
    "   \"from\": \"late_sales\",\n"
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
    " \"pipeline\": \"tumbling\",\n"
    " \"stages\": [\n"
    "  {\n"
    "   \"source\": \"sales\",\n"
    "   \"stage\": 0,\n"
    "   \"states\": [\n"
    "    {\n"
    "     \"delay_ms\": 0,\n"
    "     \"phase\": \"local\",\n"
    "     \"stream\": \"by_shop\"\n"
    "    }\n"
    "   ]\n"
    "  }\n"
    " ]\n"
    "}\n";

static const struct pipe_plan plan = {
    .abi = PIPE_RUNTIME_ABI,
    .name = "tumbling",
    .hash = "ec88a93d35293720",
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
