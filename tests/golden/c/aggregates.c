/* aggregates.c: pipeline aggregates, compiled from aggregates.pipe by pipec. Change that file,
 * not this. */
#include "pipe.h"

#if PIPE_RUNTIME_ABI != 1
#error "this file and libpipe do not fit together: compile the pipeline again"
#endif

/* ----------------------------------------------------------------------------------------------
 * Rows
 * ---------------------------------------------------------------------------------------------- */

struct trips {
    struct pipe_str city;
    double km;
    pipe_decimal fare;
    int64_t at;
    bool km_null;
};

struct hourly {
    int64_t window_start;
    int64_t window_end;
    struct pipe_str city;
    int64_t long_ones;
    double km;
    pipe_decimal fares;
    double mean;
    double shortest;
    pipe_decimal dearest;
    struct pipe_str name;
    pipe_decimal opening;
    double closing;
    pipe_decimal nearest;
    int64_t best_at;
    int64_t prices;
    int64_t times;
    double median;
    int64_t rounded;
    bool km_null;
    bool shortest_null;
    bool closing_null;
    bool nearest_null;
    bool median_null;
    bool rounded_null;
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
    STREAM_trips,
    STREAM_hourly,
    STREAM_refused,
    STREAM_reasons,
};

enum {
    STAGE_trips,
    STAGE_hourly,
};

enum {
    EXCHANGE_hourly,
};

enum {
    SINK_hourly_rows,
    SINK_refusals,
};

enum { STATE_hourly = 0 };

/* ----------------------------------------------------------------------------------------------
 * What the runtime knows of the rows
 * ---------------------------------------------------------------------------------------------- */

static const struct pipe_type type_decimal_8_2 = {.kind = PIPE_DECIMAL, .precision = 8, .scale = 2,
                                                  .fixed_bytes = 0};
static const struct pipe_type type_float64 = {.kind = PIPE_FLOAT64};
static const struct pipe_type type_timestamp_us = {.kind = PIPE_TIMESTAMP_US};
static const struct pipe_type type_string = {.kind = PIPE_STRING};
static const struct pipe_type type_int64 = {.kind = PIPE_INT64};
static const struct pipe_type type_decimal_38_2 = {.kind = PIPE_DECIMAL, .precision = 38,
                                                   .scale = 2, .fixed_bytes = 0};

static const struct pipe_column hourly_columns[] = {
    {"window_start", &type_timestamp_us, offsetof(struct hourly, window_start),
     .null_offset = PIPE_NOT_NULL},
    {"window_end", &type_timestamp_us, offsetof(struct hourly, window_end),
     .null_offset = PIPE_NOT_NULL},
    {"city", &type_string, offsetof(struct hourly, city), .null_offset = PIPE_NOT_NULL},
    {"long_ones", &type_int64, offsetof(struct hourly, long_ones), .null_offset = PIPE_NOT_NULL},
    {"km", &type_float64, offsetof(struct hourly, km),
     .null_offset = offsetof(struct hourly, km_null), .null_first = false},
    {"fares", &type_decimal_38_2, offsetof(struct hourly, fares), .null_offset = PIPE_NOT_NULL},
    {"mean", &type_float64, offsetof(struct hourly, mean), .null_offset = PIPE_NOT_NULL},
    {"shortest", &type_float64, offsetof(struct hourly, shortest),
     .null_offset = offsetof(struct hourly, shortest_null), .null_first = false},
    {"dearest", &type_decimal_8_2, offsetof(struct hourly, dearest), .null_offset = PIPE_NOT_NULL},
    {"name", &type_string, offsetof(struct hourly, name), .null_offset = PIPE_NOT_NULL},
    {"opening", &type_decimal_8_2, offsetof(struct hourly, opening), .null_offset = PIPE_NOT_NULL},
    {"closing", &type_float64, offsetof(struct hourly, closing),
     .null_offset = offsetof(struct hourly, closing_null), .null_first = false},
    {"nearest", &type_decimal_8_2, offsetof(struct hourly, nearest),
     .null_offset = offsetof(struct hourly, nearest_null), .null_first = false},
    {"best_at", &type_timestamp_us, offsetof(struct hourly, best_at), .null_offset = PIPE_NOT_NULL},
    {"prices", &type_int64, offsetof(struct hourly, prices), .null_offset = PIPE_NOT_NULL},
    {"times", &type_int64, offsetof(struct hourly, times), .null_offset = PIPE_NOT_NULL},
    {"median", &type_float64, offsetof(struct hourly, median),
     .null_offset = offsetof(struct hourly, median_null), .null_first = false},
    {"rounded", &type_int64, offsetof(struct hourly, rounded),
     .null_offset = offsetof(struct hourly, rounded_null), .null_first = false},
};
static const struct pipe_row_type hourly_type = {"hourly", hourly_columns, 18,
                                                 sizeof(struct hourly)};


static const struct pipe_column trips_columns[] = {
    {"city", &type_string, offsetof(struct trips, city), .null_offset = PIPE_NOT_NULL},
    {"km", &type_float64, offsetof(struct trips, km),
     .null_offset = offsetof(struct trips, km_null), .null_first = false},
    {"fare", &type_decimal_8_2, offsetof(struct trips, fare), .null_offset = PIPE_NOT_NULL},
    {"at", &type_timestamp_us, offsetof(struct trips, at), .null_offset = PIPE_NOT_NULL},
};
static const struct pipe_row_type trips_type = {"trips", trips_columns, 4, sizeof(struct trips)};


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

static void json_of_hourly(struct pipe_buf *buf, const struct hourly *row)
{
    PIPE_JSON_RAW(buf, "{\"window_start\":");
    pipe_json_timestamp_us(buf, row->window_start);
    PIPE_JSON_RAW(buf, ",\"window_end\":");
    pipe_json_timestamp_us(buf, row->window_end);
    PIPE_JSON_RAW(buf, ",\"city\":");
    pipe_json_string(buf, row->city);
    PIPE_JSON_RAW(buf, ",\"long_ones\":");
    pipe_json_i64(buf, row->long_ones);
    PIPE_JSON_RAW(buf, ",\"km\":");
    if (row->km_null)
        pipe_json_null(buf);
    else
        pipe_json_f64(buf, row->km);
    PIPE_JSON_RAW(buf, ",\"fares\":");
    pipe_json_decimal(buf, row->fares, 2);
    PIPE_JSON_RAW(buf, ",\"mean\":");
    pipe_json_f64(buf, row->mean);
    PIPE_JSON_RAW(buf, ",\"shortest\":");
    if (row->shortest_null)
        pipe_json_null(buf);
    else
        pipe_json_f64(buf, row->shortest);
    PIPE_JSON_RAW(buf, ",\"dearest\":");
    pipe_json_decimal(buf, row->dearest, 2);
    PIPE_JSON_RAW(buf, ",\"name\":");
    pipe_json_string(buf, row->name);
    PIPE_JSON_RAW(buf, ",\"opening\":");
    pipe_json_decimal(buf, row->opening, 2);
    PIPE_JSON_RAW(buf, ",\"closing\":");
    if (row->closing_null)
        pipe_json_null(buf);
    else
        pipe_json_f64(buf, row->closing);
    PIPE_JSON_RAW(buf, ",\"nearest\":");
    if (row->nearest_null)
        pipe_json_null(buf);
    else
        pipe_json_decimal(buf, row->nearest, 2);
    PIPE_JSON_RAW(buf, ",\"best_at\":");
    pipe_json_timestamp_us(buf, row->best_at);
    PIPE_JSON_RAW(buf, ",\"prices\":");
    pipe_json_i64(buf, row->prices);
    PIPE_JSON_RAW(buf, ",\"times\":");
    pipe_json_i64(buf, row->times);
    PIPE_JSON_RAW(buf, ",\"median\":");
    if (row->median_null)
        pipe_json_null(buf);
    else
        pipe_json_f64(buf, row->median);
    PIPE_JSON_RAW(buf, ",\"rounded\":");
    if (row->rounded_null)
        pipe_json_null(buf);
    else
        pipe_json_i64(buf, row->rounded);
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

static void push_hourly(struct pipe_task *task, const struct pipe_record *record,
                        const struct trips *row);
static void push_refused(struct pipe_task *task, const struct pipe_record *record,
                         const struct pipe_reject *row);
static void reject_refused(struct pipe_task *task, const struct pipe_record *record,
                           const char *reason, const char *rule, const char *detail);
static void push_reasons(struct pipe_task *task, const struct pipe_record *record,
                         const struct pipe_reject *row);

/* ---- source trips  (aggregates.pipe:4) ---- */

static void out_trips(struct pipe_task *task, const struct pipe_record *record,
                      const struct trips *row)
{
    task->counters[STREAM_trips].out++;
    push_hourly(task, record, row);
}

/* ---- stream hourly from trips  (aggregates.pipe:11) ---- */

/* sink hourly_rows from hourly to file 'out/hourly.jsonl' format jsonl exactly once
 * (aggregates.pipe:41) */
static void sink_hourly_rows(struct pipe_task *task, const struct pipe_record *record,
                             const struct hourly *row)
{
    if (!pipe_encoded(task, row, (const void *)json_of_hourly))
        json_of_hourly(&task->value, row);
    pipe_emit(task, SINK_hourly_rows, record, pipe_str_of(NULL, 0),
              pipe_str_of(task->value.data, task->value.size));
}

static void out_hourly(struct pipe_task *task, const struct pipe_record *record,
                       const struct hourly *row)
{
    task->counters[STREAM_hourly].out++;
    if (!pipe_discards(task)) {
        sink_hourly_rows(task, record, row);
    }
}

/* The key: city. */
static void key_hourly(struct pipe_buf *key, const struct trips *row)
{
    key->size = 0;
    pipe_key_add_str(key, row->city);
}

/* window hopping 1h every 30m (aggregates.pipe:12) */
struct hourly_acc {
    struct pipe_count long_ones;
    struct pipe_sum_float km;
    struct pipe_sum_decimal fares;
    struct pipe_avg_decimal mean;
    struct pipe_min_float shortest;
    struct pipe_max_decimal dearest;
    struct pipe_min_bytes name;
    struct pipe_first opening;
    struct pipe_last closing;
    struct pipe_min_by nearest;
    struct pipe_max_by best_at;
    struct pipe_count_distinct prices;
    struct pipe_approx_count_distinct times;
    struct pipe_approx_quantile median;
    struct pipe_sum_int rounded;
};

static void hourly_acc_init(void *acc)
{
    struct hourly_acc *of = acc;

    pipe_count_init(&of->long_ones);
    pipe_sum_float_init(&of->km);
    pipe_sum_decimal_init(&of->fares);
    pipe_avg_decimal_init(&of->mean);
    pipe_min_float_init(&of->shortest);
    pipe_max_decimal_init(&of->dearest);
    pipe_min_bytes_init(&of->name);
    pipe_first_init(&of->opening);
    pipe_last_init(&of->closing);
    pipe_min_by_init(&of->nearest);
    pipe_max_by_init(&of->best_at);
    pipe_count_distinct_init(&of->prices);
    pipe_approx_count_distinct_init(&of->times);
    pipe_approx_quantile_init(&of->median);
    pipe_sum_int_init(&of->rounded);
}

static void hourly_acc_merge(void *into, const void *from)
{
    struct hourly_acc *to = into;
    const struct hourly_acc *other = from;

    pipe_count_merge(&to->long_ones, &other->long_ones);
    pipe_sum_float_merge(&to->km, &other->km);
    pipe_sum_decimal_merge(&to->fares, &other->fares);
    pipe_avg_decimal_merge(&to->mean, &other->mean);
    pipe_min_float_merge(&to->shortest, &other->shortest);
    pipe_max_decimal_merge(&to->dearest, &other->dearest);
    pipe_min_bytes_merge(&to->name, &other->name);
    pipe_first_merge(&to->opening, &other->opening);
    pipe_last_merge(&to->closing, &other->closing);
    pipe_min_by_merge(&to->nearest, &other->nearest);
    pipe_max_by_merge(&to->best_at, &other->best_at);
    pipe_count_distinct_merge(&to->prices, &other->prices);
    pipe_approx_count_distinct_merge(&to->times, &other->times);
    pipe_approx_quantile_merge(&to->median, &other->median);
    pipe_sum_int_merge(&to->rounded, &other->rounded);
}

static void hourly_acc_save(const void *acc, struct pipe_buf *out)
{
    const struct hourly_acc *of = acc;

    pipe_count_save(&of->long_ones, out);
    pipe_sum_float_save(&of->km, out);
    pipe_sum_decimal_save(&of->fares, out);
    pipe_avg_decimal_save(&of->mean, out);
    pipe_min_float_save(&of->shortest, out);
    pipe_max_decimal_save(&of->dearest, out);
    pipe_min_bytes_save(&of->name, out);
    pipe_first_save(&of->opening, out);
    pipe_last_save(&of->closing, out);
    pipe_min_by_save(&of->nearest, out);
    pipe_max_by_save(&of->best_at, out);
    pipe_count_distinct_save(&of->prices, out);
    pipe_approx_count_distinct_save(&of->times, out);
    pipe_approx_quantile_save(&of->median, out);
    pipe_sum_int_save(&of->rounded, out);
}

static bool hourly_acc_load(void *acc, struct pipe_reader *in)
{
    struct hourly_acc *to = acc;

    return pipe_count_load(&to->long_ones, in) && pipe_sum_float_load(&to->km, in) &&
        pipe_sum_decimal_load(&to->fares, in) && pipe_avg_decimal_load(&to->mean, in) &&
        pipe_min_float_load(&to->shortest, in) && pipe_max_decimal_load(&to->dearest, in) &&
        pipe_min_bytes_load(&to->name, in) && pipe_first_load(&to->opening, in) &&
        pipe_last_load(&to->closing, in) && pipe_min_by_load(&to->nearest, in) &&
        pipe_max_by_load(&to->best_at, in) && pipe_count_distinct_load(&to->prices, in) &&
        pipe_approx_count_distinct_load(&to->times, in) &&
        pipe_approx_quantile_load(&to->median, in) && pipe_sum_int_load(&to->rounded, in);
}

static void hourly_acc_drop(void *acc)
{
    struct hourly_acc *of = acc;

    pipe_count_drop(&of->long_ones);
    pipe_sum_float_drop(&of->km);
    pipe_sum_decimal_drop(&of->fares);
    pipe_avg_decimal_drop(&of->mean);
    pipe_min_float_drop(&of->shortest);
    pipe_max_decimal_drop(&of->dearest);
    pipe_min_bytes_drop(&of->name);
    pipe_first_drop(&of->opening);
    pipe_last_drop(&of->closing);
    pipe_min_by_drop(&of->nearest);
    pipe_max_by_drop(&of->best_at);
    pipe_count_distinct_drop(&of->prices);
    pipe_approx_count_distinct_drop(&of->times);
    pipe_approx_quantile_drop(&of->median);
    pipe_sum_int_drop(&of->rounded);
}

static const struct pipe_accumulator hourly_accumulator = {
    .size_bytes = sizeof(struct hourly_acc),
    .plain = false,
    .init = hourly_acc_init,
    .merge = hourly_acc_merge,
    .save = hourly_acc_save,
    .load = hourly_acc_load,
    .drop = hourly_acc_drop,
};

struct hourly_args {
    int32_t rounded;
    bool rounded_null;
};

/* sum(cast(round(km) as int32)) as rounded (aggregates.pipe:29). False: it failed */
static bool hourly_rounded(const struct trips *row, int32_t *value, bool *null)
{
    int32_t t1 = 0;
    bool t1_null = row->km_null;
    if (!t1_null && !pipe_cast_f64_i32(pipe_fn_round_f64(row->km), &t1))
        return false;

    *null = t1_null;
    if (!*null)
        *value = t1;
    return true;
}

static void update_hourly(struct pipe_task *task, struct hourly_acc *acc,
                          const struct pipe_record *record, const struct trips *row,
                          const struct hourly_args *args)
{
    struct pipe_position position = pipe_position_of(record);

    if (!row->km_null) {
        if (row->km > 2.0)
            pipe_count_update(&acc->long_ones);
    }
    if (!row->km_null)
        pipe_sum_float_update(&acc->km, row->km);
    pipe_sum_decimal_update(&acc->fares, row->fare);
    pipe_avg_decimal_update(&acc->mean, row->fare);
    if (!row->km_null)
        pipe_min_float_update(&acc->shortest, row->km);
    pipe_max_decimal_update(&acc->dearest, row->fare);
    pipe_min_bytes_update(&acc->name, row->city);
    if (pipe_first_wants(&acc->opening, &position)) {
        task->text.size = 0;
        pipe_value_save(&type_decimal_8_2, (pipe_decimal[]){row->fare}, &task->text);
        pipe_first_update(&acc->opening, &position, pipe_str_of(task->text.data, task->text.size));
    }
    if (!row->km_null) {
        if (pipe_last_wants(&acc->closing, &position)) {
            task->text.size = 0;
            pipe_value_save(&type_float64, (double[]){row->km}, &task->text);
            pipe_last_update(&acc->closing, &position, pipe_str_of(task->text.data, task->text.size));
        }
    }
    if (!row->km_null) {
        uint8_t nearest_order[PIPE_ORDER_MAX];
        struct pipe_str nearest_by = pipe_str_of(nearest_order,
                                                 pipe_order_float(nearest_order, row->km));
        if (pipe_min_by_wants(&acc->nearest, nearest_by, &position)) {
            task->text.size = 0;
            pipe_value_save(&type_decimal_8_2, (pipe_decimal[]){row->fare}, &task->text);
            pipe_min_by_update(&acc->nearest, nearest_by, &position,
                               pipe_str_of(task->text.data, task->text.size));
        }
    }
    uint8_t best_at_order[PIPE_ORDER_MAX];
    struct pipe_str best_at_by = pipe_str_of(best_at_order,
                                             pipe_order_decimal(best_at_order, row->fare));
    if (pipe_max_by_wants(&acc->best_at, best_at_by, &position)) {
        task->text.size = 0;
        pipe_value_save(&type_timestamp_us, (int64_t[]){row->at}, &task->text);
        pipe_max_by_update(&acc->best_at, best_at_by, &position,
                           pipe_str_of(task->text.data, task->text.size));
    }
    task->text.size = 0;
    pipe_value_save(&type_decimal_8_2, (pipe_decimal[]){row->fare}, &task->text);
    pipe_count_distinct_update(&acc->prices, pipe_str_of(task->text.data, task->text.size));
    task->text.size = 0;
    pipe_value_save(&type_timestamp_us, (int64_t[]){row->at}, &task->text);
    pipe_approx_count_distinct_update(&acc->times, pipe_str_of(task->text.data, task->text.size));
    if (!row->km_null)
        pipe_approx_quantile_update(&acc->median, row->km);
    if (!args->rounded_null)
        pipe_sum_int_update(&acc->rounded, args->rounded);
}

static void keep_hourly(struct pipe_task *task, const struct pipe_record *record,
                        const struct trips *row)
{
    struct pipe_counters *count = &task->counters[STREAM_hourly];
    struct hourly_args args = {0};

    if (!hourly_rounded(row, &args.rounded, &args.rounded_null)) {
        count->select_rejected++;
        reject_refused(task, record, "expression_failed", "hourly", "cast(round(km) as int32)");
        return;
    }
    count->selected++;
    key_hourly(&task->key, row);
    struct pipe_window_hit hit = pipe_window(task, STATE_hourly, record, false);
    if (hit.acc != NULL)
        update_hourly(task, hit.acc, record, row, &args);
}

/* The total of a sum does not fit its column. */
static bool overflow_hourly(struct pipe_task *task, const struct pipe_record *record,
                            const struct pipe_window_row *window, const struct hourly *row,
                            const char *column)
{
    struct pipe_buf *text = &task->text;

    text->size = 0;
    pipe_buf_printf(text, "%s: the total is out of range; window [", column);
    pipe_csv_timestamp_us(text, pipe_column_ts_us(window->start));
    PIPE_JSON_RAW(text, ", ");
    pipe_csv_timestamp_us(text, pipe_column_ts_us(window->end));
    PIPE_JSON_RAW(text, "), group ");
    pipe_key_text(text, &hourly_type, row, (const uint32_t[]){2}, 1);
    pipe_buf_add_byte(text, '\0');
    reject_refused(task, record, "expression_failed", "hourly", (const char *)text->data);
    return false;
}

/* The row of a window that is due. */
static bool emit_hourly(struct pipe_task *task, const struct pipe_window_row *window)
{
    const struct hourly_acc *acc = window->acc;
    const uint8_t *at = window->key, *end = at + window->key_bytes;
    struct pipe_arena_mark mark = pipe_arena_mark(&task->arena);
    struct hourly out = {0};
    const struct pipe_record record = {
        .kafka_time_ms = window->kafka_time_ms,
        .event_time = window->end - PIPE_US(1),
        .watermark = window->watermark,
    };

    out.window_start = pipe_column_ts_us(window->start);
    out.window_end = pipe_column_ts_us(window->end);
    if (!(pipe_key_str(&at, end, &out.city))) {
        pipe_fatal(task, "%s: a window's key is damaged", "hourly");
        return false;
    }
    pipe_count_finish(&acc->long_ones, &out.long_ones, NULL);
    if (!pipe_sum_float_finish(&acc->km, &out.km, &out.km_null))
        return overflow_hourly(task, &record, window, &out, "km");
    if (!pipe_sum_decimal_finish(&acc->fares, &out.fares, NULL))
        return overflow_hourly(task, &record, window, &out, "fares");
    pipe_avg_decimal_finish(&acc->mean, 2, &out.mean, NULL);
    pipe_min_float_finish(&acc->shortest, &out.shortest, &out.shortest_null);
    pipe_max_decimal_finish(&acc->dearest, &out.dearest, NULL);
    pipe_min_bytes_finish(&acc->name, &out.name, NULL);
    {
        struct pipe_str bytes;
        bool none;
        pipe_first_finish(&acc->opening, &bytes, &none);
        const uint8_t *from = (const uint8_t *)bytes.data;
        if (!none &&
            !pipe_value_load(&type_decimal_8_2, &from, from + bytes.size, &task->arena,
                             &out.opening)) {
            pipe_fatal(task, "%s: the state of a window is damaged", "hourly");
            return false;
        }
    }
    {
        struct pipe_str bytes;
        bool none;
        pipe_last_finish(&acc->closing, &bytes, &none);
        const uint8_t *from = (const uint8_t *)bytes.data;
        if (!none &&
            !pipe_value_load(&type_float64, &from, from + bytes.size, &task->arena, &out.closing)) {
            pipe_fatal(task, "%s: the state of a window is damaged", "hourly");
            return false;
        }
        out.closing_null = none;
    }
    {
        struct pipe_str bytes;
        bool none;
        pipe_min_by_finish(&acc->nearest, &bytes, &none);
        const uint8_t *from = (const uint8_t *)bytes.data;
        if (!none &&
            !pipe_value_load(&type_decimal_8_2, &from, from + bytes.size, &task->arena,
                             &out.nearest)) {
            pipe_fatal(task, "%s: the state of a window is damaged", "hourly");
            return false;
        }
        out.nearest_null = none;
    }
    {
        struct pipe_str bytes;
        bool none;
        pipe_max_by_finish(&acc->best_at, &bytes, &none);
        const uint8_t *from = (const uint8_t *)bytes.data;
        if (!none &&
            !pipe_value_load(&type_timestamp_us, &from, from + bytes.size, &task->arena,
                             &out.best_at)) {
            pipe_fatal(task, "%s: the state of a window is damaged", "hourly");
            return false;
        }
    }
    pipe_count_distinct_finish(&acc->prices, &out.prices, NULL);
    pipe_approx_count_distinct_finish(&acc->times, &out.times, NULL);
    pipe_approx_quantile_finish(&acc->median, 0.5, &out.median, &out.median_null);
    if (!pipe_sum_int_finish(&acc->rounded, &out.rounded, &out.rounded_null))
        return overflow_hourly(task, &record, window, &out, "rounded");
    pipe_new_row(task);
    out_hourly(task, &record, &out);
    pipe_arena_back_to(&task->arena, mark);
    return true;
}

static void push_hourly(struct pipe_task *task, const struct pipe_record *record,
                        const struct trips *row)
{
    struct pipe_counters *count = &task->counters[STREAM_hourly];

    count->in++;
    count->passed++;
    keep_hourly(task, record, row);
}

/* ---- reject stream refused  (aggregates.pipe:9) ---- */

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

/* ---- stream reasons from refused  (aggregates.pipe:34) ---- */

/* sink refusals from reasons to file 'out/refused.jsonl' format jsonl exactly once
 * (aggregates.pipe:42) */
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

/* select reason, rule, detail, offset (aggregates.pipe:35) */
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

/* ---- a record of source trips ---- */

static bool refuse_trips(struct pipe_task *task, const struct pipe_record *record,
                         const char *reason, const char *detail)
{
    struct pipe_counters *count = &task->counters[STREAM_trips];

    count->source_rejected++;
    reject_refused(task, record, reason, "trips", detail);
    return false;
}

static bool record_trips(struct pipe_task *task, struct pipe_record *record)
{
    struct pipe_counters *count = &task->counters[STREAM_trips];
    void *decoded;

    count->read++;
    const char *reason = pipe_decode(task, record, &decoded);
    if (reason != NULL)
        return refuse_trips(task, record, reason, task->detail);

    const struct trips *row = decoded;

    record->event_time = row->at;
    reason = pipe_judge_time(task, record, record->event_time);
    if (reason != NULL)
        return refuse_trips(task, record, reason, task->detail);

    count->accepted++;
    pipe_new_row(task);
    out_trips(task, record, row);
    return true;
}

/* ----------------------------------------------------------------------------------------------
 * The plan
 * ---------------------------------------------------------------------------------------------- */

static const struct pipe_source_def sources[] = {
    {
        .name = "trips",
        .stream = STREAM_trips,
        .is_kafka = false,
        .target = "trips.csv",
        .partitions = 0,
        .format = PIPE_FORMAT_CSV,
        .header = true,
        .row = &trips_type,
        .row_bytes = sizeof(struct trips),
        .has_event_time = true,
        .ahead = 0,
        .has_watermark = true,
        .watermark = 0,
        .idle = 0,
        .stage = STAGE_trips,
    },
};

static const struct pipe_stream_def streams[] = {
    [STREAM_trips] = {.name = "trips", .kind = PIPE_STREAM_SOURCE},
    [STREAM_hourly] = {.name = "hourly", .kind = PIPE_STREAM_NORMAL,
                       .inputs = (const uint32_t[]){STREAM_trips}, .input_count = 1,
                       .has_select = true, .has_window = true, .has_exchange = true},
    [STREAM_refused] = {.name = "refused", .kind = PIPE_STREAM_REJECTS,
                        .inputs = (const uint32_t[]){STREAM_trips, STREAM_hourly},
                        .input_count = 2},
    [STREAM_reasons] = {.name = "reasons", .kind = PIPE_STREAM_NORMAL,
                        .inputs = (const uint32_t[]){STREAM_refused}, .input_count = 1,
                        .has_select = true},
};

static const struct pipe_state_def states_of_trips[] = {
    {
        .kind = PIPE_STATE_WINDOW,
        .name = "hourly",
        .stream = STREAM_hourly,
        .size = PIPE_HOURS(1),
        .every = PIPE_MINUTES(30),
        .emit = PIPE_EMIT_CLOSE,
        .phase = PIPE_PHASE_PARTIAL,
        .exchange = EXCHANGE_hourly,
        .acc = &hourly_accumulator,
    },
};

static const uint32_t exchanges_of_trips[] = {EXCHANGE_hourly};
static const int64_t delays_of_trips[] = {0};

static const struct pipe_state_def states_of_hourly[] = {
    {
        .kind = PIPE_STATE_WINDOW,
        .name = "hourly",
        .stream = STREAM_hourly,
        .size = PIPE_HOURS(1),
        .every = PIPE_MINUTES(30),
        .emit = PIPE_EMIT_CLOSE,
        .phase = PIPE_PHASE_MERGE,
        .exchange = EXCHANGE_hourly,
        .acc = &hourly_accumulator,
        .emit_row = emit_hourly,
    },
};

static const struct pipe_stage_def stages[] = {
    [STAGE_trips] = {
        .name = "trips",
        .source = 0,
        .exchange = -1,
        .record = record_trips,
        .states = states_of_trips,
        .state_count = 1,
        .exchanges_out = exchanges_of_trips,
        .exchange_delays = delays_of_trips,
        .exchange_out_count = 1,
    },
    [STAGE_hourly] = {
        .name = "hourly",
        .source = -1,
        .exchange = 0,
        .record = NULL,
        .states = states_of_hourly,
        .state_count = 1,
    },
};

static const struct pipe_exchange_def exchanges[] = {
    [EXCHANGE_hourly] = {.name = "hourly", .partitions = 1, .partials = true,
                         .to_stage = STAGE_hourly, .reason = "the source declares no key"},
};

static const struct pipe_sink_def sinks[] = {
    [SINK_hourly_rows] = {
        .name = "hourly_rows",
        .stream = STREAM_hourly,
        .kind = PIPE_SINK_FILE,
        .target = "out/hourly.jsonl",
        .format = PIPE_FORMAT_JSONL,
        .row = &hourly_type,
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
    "aggregates   plan 68ec3256\n"
    "  1 file source trips                    one partition a file; csv; event time at, "
    "watermark 0s\n"
    "  2   stream hourly                      from trips\n"
    "  3     exchange hourly                  partials by city, 1 partition: the source "
    "declares no key\n"
    "  4     window hourly                    STATE hourly  hopping 1h every 30m by city,"
    " emit on close; merges the partials; late rows are dropped and counted\n"
    "  5     file sink hourly_rows            jsonl; exactly once: cut back to the "
    "length in the last commit\n"
    "  6 rejects refused                      from trips, hourly\n"
    "  7   stream reasons                     from refused\n"
    "  8     select                           reason, rule, detail, offset\n"
    "  9     file sink refusals               jsonl; exactly once: cut back to the "
    "length in the last commit\n"
    "\n"
    "stages\n"
    "  0 reads source trips: one task a file; state hourly (partials)\n"
    "  1 reads exchange hourly: 1 task; state hourly (merge)\n";

static const char plan_json[] =
    "{\n"
    " \"hash\": \"68ec3256d3c94d09\",\n"
    " \"nodes\": [\n"
    "  {\n"
    "   \"ahead_ms\": 0,\n"
    "   \"columns\": [\n"
    "    {\n"
    "     \"name\": \"city\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"km\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"float64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"fare\",\n"
    "     \"type\": \"decimal(8,2)\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"at\",\n"
    "     \"type\": \"timestamp_us\"\n"
    "    }\n"
    "   ],\n"
    "   \"drop_tombstones\": false,\n"
    "   \"event_time\": {\n"
    "    \"kind\": \"column\",\n"
    "    \"path\": [\n"
    "     \"at\"\n"
    "    ],\n"
    "    \"type\": \"timestamp_us\"\n"
    "   },\n"
    "   \"event_time_column\": \"at\",\n"
    "   \"format\": \"csv\",\n"
    "   \"header\": true,\n"
    "   \"idle_advance\": false,\n"
    "   \"idle_ms\": 0,\n"
    "   \"key\": [],\n"
    "   \"name\": \"trips\",\n"
    "   \"node\": \"source\",\n"
    "   \"partitions\": 0,\n"
    "   \"payload\": [\n"
    "    {\n"
    "     \"name\": \"city\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"km\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"float64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"fare\",\n"
    "     \"type\": \"decimal(8,2)\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"at\",\n"
    "     \"type\": \"timestamp_us\"\n"
    "    }\n"
    "   ],\n"
    "   \"rejects\": \"refused\",\n"
    "   \"transport\": \"file\",\n"
    "   \"watermark_ms\": 0\n"
    "  },\n"
    "  {\n"
    "   \"columns\": [\n"
    "    {\n"
    "     \"name\": \"window_start\",\n"
    "     \"type\": \"timestamp_us\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"window_end\",\n"
    "     \"type\": \"timestamp_us\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"city\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"long_ones\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"km\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"float64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"fares\",\n"
    "     \"type\": \"decimal(38,2)\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"mean\",\n"
    "     \"type\": \"float64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"shortest\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"float64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"dearest\",\n"
    "     \"type\": \"decimal(8,2)\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"name\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"opening\",\n"
    "     \"type\": \"decimal(8,2)\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"closing\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"float64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"nearest\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"decimal(8,2)\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"best_at\",\n"
    "     \"type\": \"timestamp_us\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"prices\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"times\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"median\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"float64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"rounded\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int64\"\n"
    "    }\n"
    "   ],\n"
    "   \"inputs\": [\n"
    "    \"trips\"\n"
    "   ],\n"
    "   \"name\": \"hourly\",\n"
    "   \"node\": \"stream\",\n"
    "   \"rejects\": \"refused\",\n"
    "   \"role\": \"stream\",\n"
    "   \"stages\": [\n"
    "    0\n"
    "   ]\n"
    "  },\n"
    "  {\n"
    "   \"carries\": \"partials\",\n"
    "   \"key\": [\n"
    "    \"city\"\n"
    "   ],\n"
    "   \"node\": \"exchange\",\n"
    "   \"partitions\": 1,\n"
    "   \"reason\": \"the source declares no key\",\n"
    "   \"stream\": \"hourly\"\n"
    "  },\n"
    "  {\n"
    "   \"aggregates\": [\n"
    "    {\n"
    "     \"arg\": {\n"
    "      \"kind\": \"binary\",\n"
    "      \"left\": {\n"
    "       \"kind\": \"column\",\n"
    "       \"nullable\": true,\n"
    "       \"path\": [\n"
    "        \"km\"\n"
    "       ],\n"
    "       \"type\": \"float64\"\n"
    "      },\n"
    "      \"nullable\": true,\n"
    "      \"op\": \">\",\n"
    "      \"right\": {\n"
    "       \"kind\": \"literal\",\n"
    "       \"type\": \"float64\",\n"
    "       \"value\": \"2.0\"\n"
    "      },\n"
    "      \"type\": \"bool\"\n"
    "     },\n"
    "     \"function\": \"count_if\",\n"
    "     \"name\": \"long_ones\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"arg\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"nullable\": true,\n"
    "      \"path\": [\n"
    "       \"km\"\n"
    "      ],\n"
    "      \"type\": \"float64\"\n"
    "     },\n"
    "     \"function\": \"sum\",\n"
    "     \"name\": \"km\",\n"
    "     \"type\": \"float64\"\n"
    "    },\n"
    "    {\n"
    "     \"arg\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"fare\"\n"
    "      ],\n"
    "      \"type\": \"decimal(8,2)\"\n"
    "     },\n"
    "     \"function\": \"sum\",\n"
    "     \"name\": \"fares\",\n"
    "     \"type\": \"decimal(38,2)\"\n"
    "    },\n"
    "    {\n"
    "     \"arg\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"fare\"\n"
    "      ],\n"
    "      \"type\": \"decimal(8,2)\"\n"
    "     },\n"
    "     \"function\": \"avg\",\n"
    "     \"name\": \"mean\",\n"
    "     \"type\": \"float64\"\n"
    "    },\n"
    "    {\n"
    "     \"arg\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"nullable\": true,\n"
    "      \"path\": [\n"
    "       \"km\"\n"
    "      ],\n"
    "      \"type\": \"float64\"\n"
    "     },\n"
    "     \"function\": \"min\",\n"
    "     \"name\": \"shortest\",\n"
    "     \"type\": \"float64\"\n"
    "    },\n"
    "    {\n"
    "     \"arg\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"fare\"\n"
    "      ],\n"
    "      \"type\": \"decimal(8,2)\"\n"
    "     },\n"
    "     \"function\": \"max\",\n"
    "     \"name\": \"dearest\",\n"
    "     \"type\": \"decimal(8,2)\"\n"
    "    },\n"
    "    {\n"
    "     \"arg\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"city\"\n"
    "      ],\n"
    "      \"type\": \"string\"\n"
    "     },\n"
    "     \"function\": \"min\",\n"
    "     \"name\": \"name\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"arg\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"fare\"\n"
    "      ],\n"
    "      \"type\": \"decimal(8,2)\"\n"
    "     },\n"
    "     \"function\": \"first\",\n"
    "     \"name\": \"opening\",\n"
    "     \"type\": \"decimal(8,2)\"\n"
    "    },\n"
    "    {\n"
    "     \"arg\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"nullable\": true,\n"
    "      \"path\": [\n"
    "       \"km\"\n"
    "      ],\n"
    "      \"type\": \"float64\"\n"
    "     },\n"
    "     \"function\": \"last\",\n"
    "     \"name\": \"closing\",\n"
    "     \"type\": \"float64\"\n"
    "    },\n"
    "    {\n"
    "     \"arg\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"fare\"\n"
    "      ],\n"
    "      \"type\": \"decimal(8,2)\"\n"
    "     },\n"
    "     \"by\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"nullable\": true,\n"
    "      \"path\": [\n"
    "       \"km\"\n"
    "      ],\n"
    "      \"type\": \"float64\"\n"
    "     },\n"
    "     \"function\": \"min_by\",\n"
    "     \"name\": \"nearest\",\n"
    "     \"type\": \"decimal(8,2)\"\n"
    "    },\n"
    "    {\n"
    "     \"arg\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"at\"\n"
    "      ],\n"
    "      \"type\": \"timestamp_us\"\n"
    "     },\n"
    "     \"by\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"fare\"\n"
    "      ],\n"
    "      \"type\": \"decimal(8,2)\"\n"
    "     },\n"
    "     \"function\": \"max_by\",\n"
    "     \"name\": \"best_at\",\n"
    "     \"type\": \"timestamp_us\"\n"
    "    },\n"
    "    {\n"
    "     \"arg\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"fare\"\n"
    "      ],\n"
    "      \"type\": \"decimal(8,2)\"\n"
    "     },\n"
    "     \"function\": \"count_distinct\",\n"
    "     \"name\": \"prices\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"arg\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"at\"\n"
    "      ],\n"
    "      \"type\": \"timestamp_us\"\n"
    "     },\n"
    "     \"function\": \"approx_count_distinct\",\n"
    "     \"name\": \"times\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"arg\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"nullable\": true,\n"
    "      \"path\": [\n"
    "       \"km\"\n"
    "      ],\n"
    "      \"type\": \"float64\"\n"
    "     },\n"
    "     \"function\": \"approx_quantile\",\n"
    "     \"name\": \"median\",\n"
    "     \"quantile\": 0.5,\n"
    "     \"type\": \"float64\"\n"
    "    },\n"
    "    {\n"
    "     \"arg\": {\n"
    "      \"kind\": \"cast\",\n"
    "      \"left\": {\n"
    "       \"args\": [\n"
    "        {\n"
    "         \"kind\": \"column\",\n"
    "         \"nullable\": true,\n"
    "         \"path\": [\n"
    "          \"km\"\n"
    "         ],\n"
    "         \"type\": \"float64\"\n"
    "        }\n"
    "       ],\n"
    "       \"function\": \"round\",\n"
    "       \"kind\": \"call\",\n"
    "       \"nullable\": true,\n"
    "       \"type\": \"float64\"\n"
    "      },\n"
    "      \"nullable\": true,\n"
    "      \"type\": \"int32\"\n"
    "     },\n"
    "     \"function\": \"sum\",\n"
    "     \"name\": \"rounded\",\n"
    "     \"type\": \"int64\"\n"
    "    }\n"
    "   ],\n"
    "   \"behind_exchange\": true,\n"
    "   \"columns\": [\n"
    "    {\n"
    "     \"name\": \"window_start\",\n"
    "     \"type\": \"timestamp_us\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"window_end\",\n"
    "     \"type\": \"timestamp_us\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"city\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"long_ones\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"km\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"float64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"fares\",\n"
    "     \"type\": \"decimal(38,2)\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"mean\",\n"
    "     \"type\": \"float64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"shortest\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"float64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"dearest\",\n"
    "     \"type\": \"decimal(8,2)\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"name\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"opening\",\n"
    "     \"type\": \"decimal(8,2)\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"closing\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"float64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"nearest\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"decimal(8,2)\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"best_at\",\n"
    "     \"type\": \"timestamp_us\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"prices\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"times\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"median\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"float64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"rounded\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int64\"\n"
    "    }\n"
    "   ],\n"
    "   \"corrections\": false,\n"
    "   \"delay_ms\": 0,\n"
    "   \"drop_late\": true,\n"
    "   \"emit\": \"close\",\n"
    "   \"emit_every_ms\": 0,\n"
    "   \"every_ms\": 1800000,\n"
    "   \"gap_ms\": 0,\n"
    "   \"group\": [\n"
    "    \"city\"\n"
    "   ],\n"
    "   \"lateness_ms\": 0,\n"
    "   \"max_ms\": 0,\n"
    "   \"node\": \"window\",\n"
    "   \"offset_ms\": 0,\n"
    "   \"size_ms\": 3600000,\n"
    "   \"stream\": \"hourly\",\n"
    "   \"window\": \"hopping\"\n"
    "  },\n"
    "  {\n"
    "   \"append_revisions\": false,\n"
    "   \"commit_bytes\": 16777216,\n"
    "   \"commit_ms\": 100,\n"
    "   \"exactly_once\": true,\n"
    "   \"format\": \"jsonl\",\n"
    "   \"from\": \"hourly\",\n"
    "   \"guarantee\": \"exactly once: cut back to the length in the last commit\",\n"
    "   \"key\": [],\n"
    "   \"kind\": \"file\",\n"
    "   \"name\": \"hourly_rows\",\n"
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
    "    \"trips\",\n"
    "    \"hourly\"\n"
    "   ],\n"
    "   \"name\": \"refused\",\n"
    "   \"node\": \"stream\",\n"
    "   \"role\": \"rejects\",\n"
    "   \"stages\": [\n"
    "    0,\n"
    "    1\n"
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
    "    0,\n"
    "    1\n"
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
    " \"pipeline\": \"aggregates\",\n"
    " \"stages\": [\n"
    "  {\n"
    "   \"source\": \"trips\",\n"
    "   \"stage\": 0,\n"
    "   \"states\": [\n"
    "    {\n"
    "     \"delay_ms\": 0,\n"
    "     \"phase\": \"partial\",\n"
    "     \"stream\": \"hourly\"\n"
    "    }\n"
    "   ]\n"
    "  },\n"
    "  {\n"
    "   \"exchange\": \"hourly\",\n"
    "   \"stage\": 1,\n"
    "   \"states\": [\n"
    "    {\n"
    "     \"delay_ms\": 0,\n"
    "     \"phase\": \"merge\",\n"
    "     \"stream\": \"hourly\"\n"
    "    }\n"
    "   ]\n"
    "  }\n"
    " ]\n"
    "}\n";

static const struct pipe_plan plan = {
    .abi = PIPE_RUNTIME_ABI,
    .name = "aggregates",
    .hash = "68ec3256d3c94d09",
    .commit_ms = 100,
    .commit_bytes = 16777216,
    .explain_text = explain_text,
    .plan_json = plan_json,
    .sources = sources,
    .source_count = 1,
    .streams = streams,
    .stream_count = 4,
    .stages = stages,
    .stage_count = 2,
    .exchanges = exchanges,
    .exchange_count = 1,
    .sinks = sinks,
    .sink_count = 2,
};

int main(int argc, char **argv)
{
    return pipe_main(&plan, argc, argv);
}
