/* locals.c: pipeline locals, compiled from locals.pipe by pipec. Change that file, not this. */
#include "pipe.h"

#if PIPE_RUNTIME_ABI != 1
#error "this file and libpipe do not fit together: compile the pipeline again"
#endif

/* ----------------------------------------------------------------------------------------------
 * Rows
 * ---------------------------------------------------------------------------------------------- */

struct record {
    int64_t at;
    int32_t end;
    struct pipe_str task;
    int32_t acc;
    int32_t mark;
    pipe_decimal out;
    bool acc_null;
};

struct row {
    int64_t at;
    int32_t end;
    struct pipe_str task;
    int32_t acc;
    int32_t mark;
    pipe_decimal out;
    int32_t args;
    int32_t position;
    int32_t value;
    int32_t null;
    bool acc_null;
    bool value_null;
};

struct window {
    int64_t window_start;
    int64_t window_end;
    struct pipe_str task;
    int32_t mark;
    int32_t at;
    int32_t end;
    int32_t record;
    int32_t window;
    int32_t value;
    int32_t out;
    pipe_decimal acc;
    int32_t a;
    int32_t a_key;
    int32_t a_null;
    int32_t bytes;
    pipe_decimal text;
    double none;
    int64_t row;
    bool end_null;
    bool value_null;
    bool out_null;
    bool a_key_null;
};

struct key {
    struct pipe_str task;
    int32_t into;
    int32_t function;
};

struct load {
    int64_t window_start;
    int64_t window_end;
    int32_t acc;
    int32_t at;
    int32_t mark;
    bool acc_null;
};

struct reasons {
    struct pipe_str reason;
    struct pipe_str detail;
    bool detail_null;
};

/* ----------------------------------------------------------------------------------------------
 * Indexes in the tables below
 * ---------------------------------------------------------------------------------------------- */

enum {
    STREAM_record,
    STREAM_row,
    STREAM_window,
    STREAM_key,
    STREAM_key_load,
    STREAM_load,
    STREAM_hit,
    STREAM_reasons,
};

enum {
    STAGE_record,
    STAGE_window,
    STAGE_key,
    STAGE_load,
};

enum {
    EXCHANGE_window,
    EXCHANGE_key,
    EXCHANGE_load,
};

enum {
    SINK_out,
    SINK_at,
    SINK_acc,
    SINK_mark,
};

enum { STATE_window = 0 };
enum { STATE_key = 0 };
enum { STATE_load = 0 };

/* ----------------------------------------------------------------------------------------------
 * What the runtime knows of the rows
 * ---------------------------------------------------------------------------------------------- */

static const struct pipe_type type_int32 = {.kind = PIPE_INT32};
static const struct pipe_type type_decimal_9_2 = {.kind = PIPE_DECIMAL, .precision = 9, .scale = 2,
                                                  .fixed_bytes = 0};
static const struct pipe_type type_date = {.kind = PIPE_DATE};
static const struct pipe_type type_timestamp_ms = {.kind = PIPE_TIMESTAMP_MS};
static const struct pipe_type type_string = {.kind = PIPE_STRING};
static const struct pipe_type type_decimal_38_2 = {.kind = PIPE_DECIMAL, .precision = 38,
                                                   .scale = 2, .fixed_bytes = 0};
static const struct pipe_type type_float64 = {.kind = PIPE_FLOAT64};
static const struct pipe_type type_int64 = {.kind = PIPE_INT64};

static const struct pipe_column window_columns[] = {
    {"window_start", &type_timestamp_ms, offsetof(struct window, window_start),
     .null_offset = PIPE_NOT_NULL},
    {"window_end", &type_timestamp_ms, offsetof(struct window, window_end),
     .null_offset = PIPE_NOT_NULL},
    {"task", &type_string, offsetof(struct window, task), .null_offset = PIPE_NOT_NULL},
    {"mark", &type_date, offsetof(struct window, mark), .null_offset = PIPE_NOT_NULL},
    {"at", &type_int32, offsetof(struct window, at), .null_offset = PIPE_NOT_NULL},
    {"end", &type_int32, offsetof(struct window, end),
     .null_offset = offsetof(struct window, end_null), .null_first = false},
    {"record", &type_date, offsetof(struct window, record), .null_offset = PIPE_NOT_NULL},
    {"window", &type_int32, offsetof(struct window, window), .null_offset = PIPE_NOT_NULL},
    {"value", &type_int32, offsetof(struct window, value),
     .null_offset = offsetof(struct window, value_null), .null_first = false},
    {"out", &type_int32, offsetof(struct window, out),
     .null_offset = offsetof(struct window, out_null), .null_first = false},
    {"acc", &type_decimal_9_2, offsetof(struct window, acc), .null_offset = PIPE_NOT_NULL},
    {"a", &type_int32, offsetof(struct window, a), .null_offset = PIPE_NOT_NULL},
    {"a_key", &type_int32, offsetof(struct window, a_key),
     .null_offset = offsetof(struct window, a_key_null), .null_first = false},
    {"a_null", &type_date, offsetof(struct window, a_null), .null_offset = PIPE_NOT_NULL},
    {"bytes", &type_date, offsetof(struct window, bytes), .null_offset = PIPE_NOT_NULL},
    {"text", &type_decimal_38_2, offsetof(struct window, text), .null_offset = PIPE_NOT_NULL},
    {"none", &type_float64, offsetof(struct window, none), .null_offset = PIPE_NOT_NULL},
    {"row", &type_int64, offsetof(struct window, row), .null_offset = PIPE_NOT_NULL},
};
static const struct pipe_row_type window_type = {"window", window_columns, 18,
                                                 sizeof(struct window)};


static const struct pipe_column key_columns[] = {
    {"task", &type_string, offsetof(struct key, task), .null_offset = PIPE_NOT_NULL},
    {"into", &type_int32, offsetof(struct key, into), .null_offset = PIPE_NOT_NULL},
    {"function", &type_date, offsetof(struct key, function), .null_offset = PIPE_NOT_NULL},
};
static const struct pipe_row_type key_type = {"key", key_columns, 3, sizeof(struct key)};


static const struct pipe_column record_columns[] = {
    {"at", &type_timestamp_ms, offsetof(struct record, at), .null_offset = PIPE_NOT_NULL},
    {"end", &type_int32, offsetof(struct record, end), .null_offset = PIPE_NOT_NULL},
    {"task", &type_string, offsetof(struct record, task), .null_offset = PIPE_NOT_NULL},
    {"acc", &type_int32, offsetof(struct record, acc),
     .null_offset = offsetof(struct record, acc_null), .null_first = false},
    {"mark", &type_date, offsetof(struct record, mark), .null_offset = PIPE_NOT_NULL},
    {"out", &type_decimal_9_2, offsetof(struct record, out), .null_offset = PIPE_NOT_NULL},
};
static const struct pipe_row_type record_type = {"record", record_columns, 6,
                                                 sizeof(struct record)};


static const struct pipe_column load_columns[] = {
    {"window_start", &type_timestamp_ms, offsetof(struct load, window_start),
     .null_offset = PIPE_NOT_NULL},
    {"window_end", &type_timestamp_ms, offsetof(struct load, window_end),
     .null_offset = PIPE_NOT_NULL},
    {"acc", &type_int32, offsetof(struct load, acc),
     .null_offset = offsetof(struct load, acc_null), .null_first = false},
    {"at", &type_int32, offsetof(struct load, at), .null_offset = PIPE_NOT_NULL},
    {"mark", &type_date, offsetof(struct load, mark), .null_offset = PIPE_NOT_NULL},
};
static const struct pipe_row_type load_type = {"load", load_columns, 5, sizeof(struct load)};


static const struct pipe_column reasons_columns[] = {
    {"reason", &type_string, offsetof(struct reasons, reason), .null_offset = PIPE_NOT_NULL},
    {"detail", &type_string, offsetof(struct reasons, detail),
     .null_offset = offsetof(struct reasons, detail_null), .null_first = false},
};
static const struct pipe_row_type reasons_type = {"reasons", reasons_columns, 2,
                                                  sizeof(struct reasons)};

/* ----------------------------------------------------------------------------------------------
 * JSON
 * ---------------------------------------------------------------------------------------------- */

static void json_of_window(struct pipe_buf *buf, const struct window *row)
{
    PIPE_JSON_RAW(buf, "{\"window_start\":");
    pipe_json_timestamp_ms(buf, row->window_start);
    PIPE_JSON_RAW(buf, ",\"window_end\":");
    pipe_json_timestamp_ms(buf, row->window_end);
    PIPE_JSON_RAW(buf, ",\"task\":");
    pipe_json_string(buf, row->task);
    PIPE_JSON_RAW(buf, ",\"mark\":");
    pipe_json_date(buf, row->mark);
    PIPE_JSON_RAW(buf, ",\"at\":");
    pipe_json_i64(buf, row->at);
    PIPE_JSON_RAW(buf, ",\"end\":");
    if (row->end_null)
        pipe_json_null(buf);
    else
        pipe_json_i64(buf, row->end);
    PIPE_JSON_RAW(buf, ",\"record\":");
    pipe_json_date(buf, row->record);
    PIPE_JSON_RAW(buf, ",\"window\":");
    pipe_json_i64(buf, row->window);
    PIPE_JSON_RAW(buf, ",\"value\":");
    if (row->value_null)
        pipe_json_null(buf);
    else
        pipe_json_i64(buf, row->value);
    PIPE_JSON_RAW(buf, ",\"out\":");
    if (row->out_null)
        pipe_json_null(buf);
    else
        pipe_json_i64(buf, row->out);
    PIPE_JSON_RAW(buf, ",\"acc\":");
    pipe_json_decimal(buf, row->acc, 2);
    PIPE_JSON_RAW(buf, ",\"a\":");
    pipe_json_i64(buf, row->a);
    PIPE_JSON_RAW(buf, ",\"a_key\":");
    if (row->a_key_null)
        pipe_json_null(buf);
    else
        pipe_json_i64(buf, row->a_key);
    PIPE_JSON_RAW(buf, ",\"a_null\":");
    pipe_json_date(buf, row->a_null);
    PIPE_JSON_RAW(buf, ",\"bytes\":");
    pipe_json_date(buf, row->bytes);
    PIPE_JSON_RAW(buf, ",\"text\":");
    pipe_json_decimal(buf, row->text, 2);
    PIPE_JSON_RAW(buf, ",\"none\":");
    pipe_json_f64(buf, row->none);
    PIPE_JSON_RAW(buf, ",\"row\":");
    pipe_json_i64(buf, row->row);
    PIPE_JSON_RAW(buf, "}");
}

static void json_of_load(struct pipe_buf *buf, const struct load *row)
{
    PIPE_JSON_RAW(buf, "{\"window_start\":");
    pipe_json_timestamp_ms(buf, row->window_start);
    PIPE_JSON_RAW(buf, ",\"window_end\":");
    pipe_json_timestamp_ms(buf, row->window_end);
    PIPE_JSON_RAW(buf, ",\"acc\":");
    if (row->acc_null)
        pipe_json_null(buf);
    else
        pipe_json_i64(buf, row->acc);
    PIPE_JSON_RAW(buf, ",\"at\":");
    pipe_json_i64(buf, row->at);
    PIPE_JSON_RAW(buf, ",\"mark\":");
    pipe_json_date(buf, row->mark);
    PIPE_JSON_RAW(buf, "}");
}

static void json_of_reasons(struct pipe_buf *buf, const struct reasons *row)
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

static void push_row(struct pipe_task *task, const struct pipe_record *record,
                     const struct record *row);
static void push_window(struct pipe_task *task, const struct pipe_record *record,
                        const struct row *row);
static void push_key(struct pipe_task *task, const struct pipe_record *record,
                     const struct record *row);
static void push_key_load(struct pipe_task *task, const struct pipe_record *record,
                          const struct key *row);
static void push_load(struct pipe_task *task, const struct pipe_record *record,
                      const struct record *row);
static void push_hit(struct pipe_task *task, const struct pipe_record *record,
                     const struct pipe_reject *row);
static void reject_hit(struct pipe_task *task, const struct pipe_record *record,
                       const char *reason, const char *rule, const char *detail);
static void push_reasons(struct pipe_task *task, const struct pipe_record *record,
                         const struct pipe_reject *row);

/* ---- source record  (locals.pipe:4) ---- */

static void out_record(struct pipe_task *task, const struct pipe_record *record,
                       const struct record *row)
{
    task->counters[STREAM_record].out++;
    push_row(task, record, row);
    push_key(task, record, row);
    push_load(task, record, row);
}

/* ---- stream row from record  (locals.pipe:11) ---- */

static void out_row(struct pipe_task *task, const struct pipe_record *record, const struct row *row)
{
    task->counters[STREAM_row].out++;
    push_window(task, record, row);
}

/* cast(task as int32) (locals.pipe:15). False: it failed */
static bool row_args(const struct record *row, int32_t *value)
{
    int32_t t1;
    if (!pipe_cast_string_i32(row->task, &t1))
        return false;

    *value = t1;
    return true;
}

/* "end" * 2 (locals.pipe:16). False: it failed */
static bool row_position(const struct record *row, int32_t *value)
{
    int32_t t1;
    if (!pipe_mul_i32(row->end, 2, &t1))
        return false;

    *value = t1;
    return true;
}

/* coalesce(acc, 0) + "end" (locals.pipe:18). False: it failed */
static bool row_null(const struct record *row, int32_t *value)
{
    int32_t t1;
    if (!pipe_add_i32(!row->acc_null ? row->acc : 0, row->end, &t1))
        return false;

    *value = t1;
    return true;
}

/* select *, cast(task as int32) as args, "end" * 2 as position, acc as value, coalesce(acc, 0) +
 * "end" as "null" (locals.pipe:13) */
static void select_row(struct pipe_task *task, const struct pipe_record *record,
                       const struct record *row)
{
    struct pipe_counters *count = &task->counters[STREAM_row];
    struct row out = {0};

    out.at = row->at;
    out.end = row->end;
    out.task = row->task;
    out.acc = row->acc;
    out.acc_null = row->acc_null;
    out.mark = row->mark;
    out.out = row->out;
    if (!row_args(row, &out.args)) {
        count->select_rejected++;
        reject_hit(task, record, "expression_failed", "row", "cast(task as int32)");
        return;
    }
    if (!row_position(row, &out.position)) {
        count->select_rejected++;
        reject_hit(task, record, "expression_failed", "row", "\"end\" * 2");
        return;
    }
    out.value = row->acc;
    out.value_null = row->acc_null;
    if (!row_null(row, &out.null)) {
        count->select_rejected++;
        reject_hit(task, record, "expression_failed", "row", "coalesce(acc, 0) + \"end\"");
        return;
    }
    count->selected++;
    pipe_new_row(task);
    out_row(task, record, &out);
}

/* require "end" > 0 else 'count' (locals.pipe:12) */
static bool row_require_1(const struct record *row)
{
    return row->end > 0;
}

static void push_row(struct pipe_task *task, const struct pipe_record *record,
                     const struct record *row)
{
    struct pipe_counters *count = &task->counters[STREAM_row];

    count->in++;
    if (!row_require_1(row)) {
        count->rejected++;
        reject_hit(task, record, "count", "row", NULL);
        return;
    }
    count->passed++;
    select_row(task, record, row);
}

/* ---- stream window from row  (locals.pipe:21) ---- */

/* sink out from "window" to file 'out/window.jsonl' format jsonl exactly once (locals.pipe:69) */
static void sink_out(struct pipe_task *task, const struct pipe_record *record,
                     const struct window *row)
{
    if (!pipe_encoded(task, row, (const void *)json_of_window))
        json_of_window(&task->value, row);
    pipe_emit(task, SINK_out, record, pipe_str_of(NULL, 0),
              pipe_str_of(task->value.data, task->value.size));
}

static void out_window(struct pipe_task *task, const struct pipe_record *record,
                       const struct window *row)
{
    task->counters[STREAM_window].out++;
    if (!pipe_discards(task)) {
        sink_out(task, record, row);
    }
}

/* The key: task, mark. */
static void key_window(struct pipe_buf *key, const struct row *row)
{
    key->size = 0;
    pipe_key_add_str(key, row->task);
    pipe_key_add_i64(key, row->mark);
}

/* window tumbling 10s (locals.pipe:22) */
struct window_acc {
    struct pipe_min_int at;
    struct pipe_max_int end;
    struct pipe_min_int record;
    struct pipe_max_int window;
    struct pipe_min_int value;
    struct pipe_last out;
    struct pipe_max_by acc;
    struct pipe_min_by a;
    struct pipe_min_by a_key;
    struct pipe_first a_null;
    struct pipe_max_by bytes;
    struct pipe_sum_decimal text;
    struct pipe_avg_int none;
    struct pipe_count row;
};

static void window_acc_init(void *acc)
{
    struct window_acc *of = acc;

    pipe_min_int_init(&of->at);
    pipe_max_int_init(&of->end);
    pipe_min_int_init(&of->record);
    pipe_max_int_init(&of->window);
    pipe_min_int_init(&of->value);
    pipe_last_init(&of->out);
    pipe_max_by_init(&of->acc);
    pipe_min_by_init(&of->a);
    pipe_min_by_init(&of->a_key);
    pipe_first_init(&of->a_null);
    pipe_max_by_init(&of->bytes);
    pipe_sum_decimal_init(&of->text);
    pipe_avg_int_init(&of->none);
    pipe_count_init(&of->row);
}

static void window_acc_merge(void *into, const void *from)
{
    struct window_acc *to = into;
    const struct window_acc *other = from;

    pipe_min_int_merge(&to->at, &other->at);
    pipe_max_int_merge(&to->end, &other->end);
    pipe_min_int_merge(&to->record, &other->record);
    pipe_max_int_merge(&to->window, &other->window);
    pipe_min_int_merge(&to->value, &other->value);
    pipe_last_merge(&to->out, &other->out);
    pipe_max_by_merge(&to->acc, &other->acc);
    pipe_min_by_merge(&to->a, &other->a);
    pipe_min_by_merge(&to->a_key, &other->a_key);
    pipe_first_merge(&to->a_null, &other->a_null);
    pipe_max_by_merge(&to->bytes, &other->bytes);
    pipe_sum_decimal_merge(&to->text, &other->text);
    pipe_avg_int_merge(&to->none, &other->none);
    pipe_count_merge(&to->row, &other->row);
}

static void window_acc_save(const void *acc, struct pipe_buf *out)
{
    const struct window_acc *of = acc;

    pipe_min_int_save(&of->at, out);
    pipe_max_int_save(&of->end, out);
    pipe_min_int_save(&of->record, out);
    pipe_max_int_save(&of->window, out);
    pipe_min_int_save(&of->value, out);
    pipe_last_save(&of->out, out);
    pipe_max_by_save(&of->acc, out);
    pipe_min_by_save(&of->a, out);
    pipe_min_by_save(&of->a_key, out);
    pipe_first_save(&of->a_null, out);
    pipe_max_by_save(&of->bytes, out);
    pipe_sum_decimal_save(&of->text, out);
    pipe_avg_int_save(&of->none, out);
    pipe_count_save(&of->row, out);
}

static bool window_acc_load(void *acc, struct pipe_reader *in)
{
    struct window_acc *to = acc;

    return pipe_min_int_load(&to->at, in) && pipe_max_int_load(&to->end, in) &&
        pipe_min_int_load(&to->record, in) && pipe_max_int_load(&to->window, in) &&
        pipe_min_int_load(&to->value, in) && pipe_last_load(&to->out, in) &&
        pipe_max_by_load(&to->acc, in) && pipe_min_by_load(&to->a, in) &&
        pipe_min_by_load(&to->a_key, in) && pipe_first_load(&to->a_null, in) &&
        pipe_max_by_load(&to->bytes, in) && pipe_sum_decimal_load(&to->text, in) &&
        pipe_avg_int_load(&to->none, in) && pipe_count_load(&to->row, in);
}

static void window_acc_drop(void *acc)
{
    struct window_acc *of = acc;

    pipe_min_int_drop(&of->at);
    pipe_max_int_drop(&of->end);
    pipe_min_int_drop(&of->record);
    pipe_max_int_drop(&of->window);
    pipe_min_int_drop(&of->value);
    pipe_last_drop(&of->out);
    pipe_max_by_drop(&of->acc);
    pipe_min_by_drop(&of->a);
    pipe_min_by_drop(&of->a_key);
    pipe_first_drop(&of->a_null);
    pipe_max_by_drop(&of->bytes);
    pipe_sum_decimal_drop(&of->text);
    pipe_avg_int_drop(&of->none);
    pipe_count_drop(&of->row);
}

static const struct pipe_accumulator window_accumulator = {
    .size_bytes = sizeof(struct window_acc),
    .plain = false,
    .init = window_acc_init,
    .merge = window_acc_merge,
    .save = window_acc_save,
    .load = window_acc_load,
    .drop = window_acc_drop,
};

struct window_args {
    int32_t argument7;
    int32_t a_key_key;
};

/* min_by(cast(task as int32), "end") as a (locals.pipe:32). False: it failed */
static bool window_a(const struct row *row, int32_t *value)
{
    int32_t t1;
    if (!pipe_cast_string_i32(row->task, &t1))
        return false;

    *value = t1;
    return true;
}

/* min_by(acc, cast(task as int32)) as a_key (locals.pipe:33). False: it failed */
static bool window_a_key_key(const struct row *row, int32_t *value)
{
    int32_t t1;
    if (!pipe_cast_string_i32(row->task, &t1))
        return false;

    *value = t1;
    return true;
}

static void update_window(struct pipe_task *task, struct window_acc *acc,
                          const struct pipe_record *record, const struct row *row,
                          const struct window_args *args)
{
    struct pipe_position position = pipe_position_of(record);

    pipe_min_int_update(&acc->at, row->end);
    if (!row->acc_null)
        pipe_max_int_update(&acc->end, row->acc);
    pipe_min_int_update(&acc->record, row->mark);
    pipe_max_int_update(&acc->window, row->args);
    if (!row->value_null)
        pipe_min_int_update(&acc->value, row->value);
    if (!row->acc_null) {
        if (pipe_last_wants(&acc->out, &position)) {
            task->text.size = 0;
            pipe_value_save(&type_int32, (int32_t[]){row->acc}, &task->text);
            pipe_last_update(&acc->out, &position, pipe_str_of(task->text.data, task->text.size));
        }
    }
    uint8_t acc_order[PIPE_ORDER_MAX];
    struct pipe_str acc_by = pipe_str_of(acc_order, pipe_order_int(acc_order, row->end));
    if (pipe_max_by_wants(&acc->acc, acc_by, &position)) {
        task->text.size = 0;
        pipe_value_save(&type_decimal_9_2, (pipe_decimal[]){row->out}, &task->text);
        pipe_max_by_update(&acc->acc, acc_by, &position,
                           pipe_str_of(task->text.data, task->text.size));
    }
    uint8_t argument7_order[PIPE_ORDER_MAX];
    struct pipe_str argument7_by = pipe_str_of(argument7_order,
                                               pipe_order_int(argument7_order, row->end));
    if (pipe_min_by_wants(&acc->a, argument7_by, &position)) {
        task->text.size = 0;
        pipe_value_save(&type_int32, (int32_t[]){args->argument7}, &task->text);
        pipe_min_by_update(&acc->a, argument7_by, &position,
                           pipe_str_of(task->text.data, task->text.size));
    }
    if (!row->acc_null) {
        uint8_t a_key_order[PIPE_ORDER_MAX];
        struct pipe_str a_key_by = pipe_str_of(a_key_order,
                                               pipe_order_int(a_key_order, args->a_key_key));
        if (pipe_min_by_wants(&acc->a_key, a_key_by, &position)) {
            task->text.size = 0;
            pipe_value_save(&type_int32, (int32_t[]){row->acc}, &task->text);
            pipe_min_by_update(&acc->a_key, a_key_by, &position,
                               pipe_str_of(task->text.data, task->text.size));
        }
    }
    if (pipe_first_wants(&acc->a_null, &position)) {
        task->text.size = 0;
        pipe_value_save(&type_date, (int32_t[]){row->mark}, &task->text);
        pipe_first_update(&acc->a_null, &position, pipe_str_of(task->text.data, task->text.size));
    }
    uint8_t bytes_order[PIPE_ORDER_MAX];
    struct pipe_str bytes_by = pipe_str_of(bytes_order, pipe_order_decimal(bytes_order, row->out));
    if (pipe_max_by_wants(&acc->bytes, bytes_by, &position)) {
        task->text.size = 0;
        pipe_value_save(&type_date, (int32_t[]){row->mark}, &task->text);
        pipe_max_by_update(&acc->bytes, bytes_by, &position,
                           pipe_str_of(task->text.data, task->text.size));
    }
    pipe_sum_decimal_update(&acc->text, row->out);
    pipe_avg_int_update(&acc->none, row->null);
    pipe_count_update(&acc->row);
}

static void keep_window(struct pipe_task *task, const struct pipe_record *record,
                        const struct row *row)
{
    struct pipe_counters *count = &task->counters[STREAM_window];
    struct window_args args = {0};

    if (!window_a(row, &args.argument7)) {
        count->select_rejected++;
        reject_hit(task, record, "expression_failed", "window", "cast(task as int32)");
        return;
    }
    if (!window_a_key_key(row, &args.a_key_key)) {
        count->select_rejected++;
        reject_hit(task, record, "expression_failed", "window", "cast(task as int32)");
        return;
    }
    count->selected++;
    key_window(&task->key, row);
    struct pipe_window_hit hit = pipe_window(task, STATE_window, record, false);
    if (hit.acc != NULL)
        update_window(task, hit.acc, record, row, &args);
}

/* The total of a sum does not fit its column. */
static bool overflow_window(struct pipe_task *task, const struct pipe_record *record,
                            const struct pipe_window_row *window, const struct window *row,
                            const char *column)
{
    struct pipe_buf *text = &task->text;

    text->size = 0;
    pipe_buf_printf(text, "%s: the total is out of range; window [", column);
    pipe_csv_timestamp_ms(text, pipe_column_ts_ms(window->start));
    PIPE_JSON_RAW(text, ", ");
    pipe_csv_timestamp_ms(text, pipe_column_ts_ms(window->end));
    PIPE_JSON_RAW(text, "), group ");
    pipe_key_text(text, &window_type, row, (const uint32_t[]){2, 3}, 2);
    pipe_buf_add_byte(text, '\0');
    reject_hit(task, record, "expression_failed", "window", (const char *)text->data);
    return false;
}

/* The row of a window that is due. */
static bool emit_window(struct pipe_task *task, const struct pipe_window_row *window)
{
    const struct window_acc *acc = window->acc;
    const uint8_t *at = window->key, *end = at + window->key_bytes;
    struct pipe_arena_mark mark = pipe_arena_mark(&task->arena);
    struct window out = {0};
    const struct pipe_record record = {
        .kafka_time_ms = window->kafka_time_ms,
        .event_time = window->end - PIPE_MS(1),
        .watermark = window->watermark,
    };

    out.window_start = pipe_column_ts_ms(window->start);
    out.window_end = pipe_column_ts_ms(window->end);
    if (!(pipe_key_str(&at, end, &out.task) && pipe_key_i32(&at, end, &out.mark))) {
        pipe_fatal(task, "%s: a window's key is damaged", "window");
        return false;
    }
    {
        int64_t value;
        pipe_min_int_finish(&acc->at, &value, NULL);
        out.at = (int32_t)value;
    }
    {
        int64_t value;
        pipe_max_int_finish(&acc->end, &value, &out.end_null);
        out.end = (int32_t)value;
    }
    {
        int64_t value;
        pipe_min_int_finish(&acc->record, &value, NULL);
        out.record = (int32_t)value;
    }
    {
        int64_t value;
        pipe_max_int_finish(&acc->window, &value, NULL);
        out.window = (int32_t)value;
    }
    {
        int64_t value;
        pipe_min_int_finish(&acc->value, &value, &out.value_null);
        out.value = (int32_t)value;
    }
    {
        struct pipe_str bytes;
        bool none;
        pipe_last_finish(&acc->out, &bytes, &none);
        const uint8_t *from = (const uint8_t *)bytes.data;
        if (!none &&
            !pipe_value_load(&type_int32, &from, from + bytes.size, &task->arena, &out.out)) {
            pipe_fatal(task, "%s: the state of a window is damaged", "window");
            return false;
        }
        out.out_null = none;
    }
    {
        struct pipe_str bytes;
        bool none;
        pipe_max_by_finish(&acc->acc, &bytes, &none);
        const uint8_t *from = (const uint8_t *)bytes.data;
        if (!none &&
            !pipe_value_load(&type_decimal_9_2, &from, from + bytes.size, &task->arena, &out.acc)) {
            pipe_fatal(task, "%s: the state of a window is damaged", "window");
            return false;
        }
    }
    {
        struct pipe_str bytes;
        bool none;
        pipe_min_by_finish(&acc->a, &bytes, &none);
        const uint8_t *from = (const uint8_t *)bytes.data;
        if (!none &&
            !pipe_value_load(&type_int32, &from, from + bytes.size, &task->arena, &out.a)) {
            pipe_fatal(task, "%s: the state of a window is damaged", "window");
            return false;
        }
    }
    {
        struct pipe_str bytes;
        bool none;
        pipe_min_by_finish(&acc->a_key, &bytes, &none);
        const uint8_t *from = (const uint8_t *)bytes.data;
        if (!none &&
            !pipe_value_load(&type_int32, &from, from + bytes.size, &task->arena, &out.a_key)) {
            pipe_fatal(task, "%s: the state of a window is damaged", "window");
            return false;
        }
        out.a_key_null = none;
    }
    {
        struct pipe_str bytes;
        bool none;
        pipe_first_finish(&acc->a_null, &bytes, &none);
        const uint8_t *from = (const uint8_t *)bytes.data;
        if (!none &&
            !pipe_value_load(&type_date, &from, from + bytes.size, &task->arena, &out.a_null)) {
            pipe_fatal(task, "%s: the state of a window is damaged", "window");
            return false;
        }
    }
    {
        struct pipe_str bytes;
        bool none;
        pipe_max_by_finish(&acc->bytes, &bytes, &none);
        const uint8_t *from = (const uint8_t *)bytes.data;
        if (!none &&
            !pipe_value_load(&type_date, &from, from + bytes.size, &task->arena, &out.bytes)) {
            pipe_fatal(task, "%s: the state of a window is damaged", "window");
            return false;
        }
    }
    if (!pipe_sum_decimal_finish(&acc->text, &out.text, NULL))
        return overflow_window(task, &record, window, &out, "text");
    pipe_avg_int_finish(&acc->none, &out.none, NULL);
    pipe_count_finish(&acc->row, &out.row, NULL);
    pipe_new_row(task);
    out_window(task, &record, &out);
    pipe_arena_back_to(&task->arena, mark);
    return true;
}

static void push_window(struct pipe_task *task, const struct pipe_record *record,
                        const struct row *row)
{
    struct pipe_counters *count = &task->counters[STREAM_window];

    count->in++;
    count->passed++;
    keep_window(task, record, row);
}

/* ---- stream key from record  (locals.pipe:43) ---- */

static void out_key(struct pipe_task *task, const struct pipe_record *record, const struct key *row)
{
    task->counters[STREAM_key].out++;
    push_key_load(task, record, row);
}

/* The key: task, function. */
static void key_key(struct pipe_buf *key, const struct key *row)
{
    key->size = 0;
    pipe_key_add_str(key, row->task);
    pipe_key_add_i64(key, row->function);
}

/* dedup by task, function within 1h (locals.pipe:48) */
static void keep_key(struct pipe_task *task, const struct pipe_record *record,
                     const struct key *row)
{
    key_key(&task->key, row);
    switch (pipe_dedup(task, STATE_key, record, false)) {
    case PIPE_UNIQUE:
        out_key(task, record, row);
        break;
    case PIPE_DUPLICATE:
        break;
    case PIPE_TOO_OLD:
        reject_hit(task, record, "too_old_to_dedup", "key", NULL);
        break;
    }
}

/* Through the exchange: the source declares no key. */
static void ship_key(struct pipe_task *task, const struct pipe_record *record,
                     const struct key *row)
{
    key_key(&task->key, row);
    pipe_exchange_row(task, EXCHANGE_key, record, &key_type, row);
}

/* select task, "end" as into, mark as function (locals.pipe:44) */
static void select_key(struct pipe_task *task, const struct pipe_record *record,
                       const struct record *row)
{
    struct pipe_counters *count = &task->counters[STREAM_key];
    struct key out = {0};

    out.task = row->task;
    out.into = row->end;
    out.function = row->mark;
    count->selected++;
    pipe_new_row(task);
    ship_key(task, record, &out);
}

static void push_key(struct pipe_task *task, const struct pipe_record *record,
                     const struct record *row)
{
    struct pipe_counters *count = &task->counters[STREAM_key];

    count->in++;
    count->passed++;
    select_key(task, record, row);
}

/* ---- stream key_load from key  (locals.pipe:51) ---- */

/* sink at from key_load to file 'out/key.csv' format csv exactly once (locals.pipe:70) */
static void sink_at(struct pipe_task *task, const struct pipe_record *record, const struct key *row)
{
    if (!pipe_encoded(task, row, key_type.columns))
        pipe_row_to_csv(&key_type, row, &task->value);
    pipe_emit(task, SINK_at, record, pipe_str_of(NULL, 0),
              pipe_str_of(task->value.data, task->value.size - 1 /* the line end */));
}

static void out_key_load(struct pipe_task *task, const struct pipe_record *record,
                         const struct key *row)
{
    task->counters[STREAM_key_load].out++;
    if (!pipe_discards(task)) {
        sink_at(task, record, row);
    }
}

/* where into > 1 (locals.pipe:52) */
static bool key_load_where_1(const struct key *row)
{
    return row->into > 1;
}

static void push_key_load(struct pipe_task *task, const struct pipe_record *record,
                          const struct key *row)
{
    struct pipe_counters *count = &task->counters[STREAM_key_load];

    count->in++;
    if (!key_load_where_1(row)) {
        count->dropped++;
        return;
    }
    count->passed++;
    out_key_load(task, record, row);
}

/* ---- stream load from record  (locals.pipe:54) ---- */

/* sink acc from load to file 'out/load.jsonl' format jsonl exactly once (locals.pipe:71) */
static void sink_acc(struct pipe_task *task, const struct pipe_record *record,
                     const struct load *row)
{
    if (!pipe_encoded(task, row, (const void *)json_of_load))
        json_of_load(&task->value, row);
    pipe_emit(task, SINK_acc, record, pipe_str_of(NULL, 0),
              pipe_str_of(task->value.data, task->value.size));
}

static void out_load(struct pipe_task *task, const struct pipe_record *record,
                     const struct load *row)
{
    task->counters[STREAM_load].out++;
    if (!pipe_discards(task)) {
        sink_acc(task, record, row);
    }
}

/* The key: acc. */
static void key_load(struct pipe_buf *key, const struct record *row)
{
    key->size = 0;
    if (!pipe_key_add_null(key, row->acc_null))
        pipe_key_add_i64(key, row->acc);
}

/* window session gap 10s (locals.pipe:56) */
struct load_acc {
    struct pipe_max_int at;
    struct pipe_min_int mark;
};

static void load_acc_init(void *acc)
{
    struct load_acc *of = acc;

    pipe_max_int_init(&of->at);
    pipe_min_int_init(&of->mark);
}

static void load_acc_merge(void *into, const void *from)
{
    struct load_acc *to = into;
    const struct load_acc *other = from;

    pipe_max_int_merge(&to->at, &other->at);
    pipe_min_int_merge(&to->mark, &other->mark);
}

static void load_acc_save(const void *acc, struct pipe_buf *out)
{
    const struct load_acc *of = acc;

    pipe_max_int_save(&of->at, out);
    pipe_min_int_save(&of->mark, out);
}

static bool load_acc_load(void *acc, struct pipe_reader *in)
{
    struct load_acc *to = acc;

    return pipe_max_int_load(&to->at, in) && pipe_min_int_load(&to->mark, in);
}

static void load_acc_drop(void *acc)
{
    struct load_acc *of = acc;

    pipe_max_int_drop(&of->at);
    pipe_min_int_drop(&of->mark);
}

static const struct pipe_accumulator load_accumulator = {
    .size_bytes = sizeof(struct load_acc),
    .plain = true,
    .init = load_acc_init,
    .merge = load_acc_merge,
    .save = load_acc_save,
    .load = load_acc_load,
    .drop = load_acc_drop,
};

static void update_load(struct load_acc *acc, const struct record *row)
{
    pipe_max_int_update(&acc->at, row->end);
    pipe_min_int_update(&acc->mark, row->mark);
}

static void keep_load(struct pipe_task *task, const struct pipe_record *record,
                      const struct record *row)
{
    key_load(&task->key, row);
    struct pipe_window_hit hit = pipe_session(task, STATE_load, record, false);
    if (hit.acc != NULL)
        update_load(hit.acc, row);
}

/* The row of a window that is due. */
static bool emit_load(struct pipe_task *task, const struct pipe_window_row *window)
{
    if (pipe_discards(task)) { /* nobody reads it */
        task->counters[STREAM_load].out++;
        return true;
    }

    const struct load_acc *acc = window->acc;
    const uint8_t *at = window->key, *end = at + window->key_bytes;
    struct pipe_arena_mark mark = pipe_arena_mark(&task->arena);
    struct load out = {0};
    const struct pipe_record record = {
        .kafka_time_ms = window->kafka_time_ms,
        .event_time = window->end - PIPE_MS(1),
        .watermark = window->watermark,
    };

    out.window_start = pipe_column_ts_ms(window->start);
    out.window_end = pipe_column_ts_ms(window->end);
    if (!(pipe_key_null(&at, end, &out.acc_null) &&
          (out.acc_null || pipe_key_i32(&at, end, &out.acc)))) {
        pipe_fatal(task, "%s: a window's key is damaged", "load");
        return false;
    }
    {
        int64_t value;
        pipe_max_int_finish(&acc->at, &value, NULL);
        out.at = (int32_t)value;
    }
    {
        int64_t value;
        pipe_min_int_finish(&acc->mark, &value, NULL);
        out.mark = (int32_t)value;
    }
    pipe_new_row(task);
    out_load(task, &record, &out);
    pipe_arena_back_to(&task->arena, mark);
    return true;
}

/* Through the exchange: the source declares no key. */
static void ship_load(struct pipe_task *task, const struct pipe_record *record,
                      const struct record *row)
{
    key_load(&task->key, row);
    pipe_exchange_row(task, EXCHANGE_load, record, &record_type, row);
}

/* where "end" > 0 (locals.pipe:55) */
static bool load_where_1(const struct record *row)
{
    return row->end > 0;
}

static void push_load(struct pipe_task *task, const struct pipe_record *record,
                      const struct record *row)
{
    struct pipe_counters *count = &task->counters[STREAM_load];

    count->in++;
    if (!load_where_1(row)) {
        count->dropped++;
        return;
    }
    count->passed++;
    ship_load(task, record, row);
}

/* ---- reject stream hit  (locals.pipe:9) ---- */

static void out_hit(struct pipe_task *task, const struct pipe_record *record,
                    const struct pipe_reject *row)
{
    task->counters[STREAM_hit].out++;
    push_reasons(task, record, row);
}

static void push_hit(struct pipe_task *task, const struct pipe_record *record,
                     const struct pipe_reject *row)
{
    struct pipe_counters *count = &task->counters[STREAM_hit];

    count->in++;
    count->passed++;
    out_hit(task, record, row);
}

static void reject_hit(struct pipe_task *task, const struct pipe_record *record,
                       const char *reason, const char *rule, const char *detail)
{
    struct pipe_reject row;

    pipe_reject_fill(&row, record, reason, rule, detail);
    pipe_new_row(task);
    push_hit(task, record, &row);
}

/* ---- stream reasons from hit  (locals.pipe:64) ---- */

/* sink mark from reasons to file 'out/hit.jsonl' format jsonl exactly once (locals.pipe:72) */
static void sink_mark(struct pipe_task *task, const struct pipe_record *record,
                      const struct reasons *row)
{
    if (!pipe_encoded(task, row, (const void *)json_of_reasons))
        json_of_reasons(&task->value, row);
    pipe_emit(task, SINK_mark, record, pipe_str_of(NULL, 0),
              pipe_str_of(task->value.data, task->value.size));
}

static void out_reasons(struct pipe_task *task, const struct pipe_record *record,
                        const struct reasons *row)
{
    task->counters[STREAM_reasons].out++;
    if (!pipe_discards(task)) {
        sink_mark(task, record, row);
    }
}

/* select reason, detail (locals.pipe:65) */
static void select_reasons(struct pipe_task *task, const struct pipe_record *record,
                           const struct pipe_reject *row)
{
    struct pipe_counters *count = &task->counters[STREAM_reasons];
    struct reasons out = {0};

    out.reason = row->reason;
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

/* ----------------------------------------------------------------------------------------------
 * Records
 * ---------------------------------------------------------------------------------------------- */

/* ---- a record of source record ---- */

static bool refuse_record(struct pipe_task *task, const struct pipe_record *record,
                          const char *reason, const char *detail)
{
    struct pipe_counters *count = &task->counters[STREAM_record];

    count->source_rejected++;
    reject_hit(task, record, reason, "record", detail);
    return false;
}

static bool record_record(struct pipe_task *task, struct pipe_record *record)
{
    struct pipe_counters *count = &task->counters[STREAM_record];
    void *decoded;

    count->read++;
    const char *reason = pipe_decode(task, record, &decoded);
    if (reason != NULL)
        return refuse_record(task, record, reason, task->detail);

    const struct record *row = decoded;

    record->event_time = PIPE_MS(row->at);
    reason = pipe_judge_time(task, record, record->event_time);
    if (reason != NULL)
        return refuse_record(task, record, reason, task->detail);

    count->accepted++;
    pipe_new_row(task);
    out_record(task, record, row);
    return true;
}

/* ---- a row out of the exchange in front of key ---- */

static bool record_key(struct pipe_task *task, struct pipe_record *record)
{
    const uint8_t *at = (const uint8_t *)record->payload.data, *end = at + record->payload.size;
    struct key row;

    if (!pipe_row_load(&key_type, &at, end, &task->arena, &row)) {
        pipe_fatal(task, "%s: a row of the exchange is damaged", "key");
        return false;
    }
    record->payload = pipe_exchange_payload(at, end);
    pipe_new_row(task);
    keep_key(task, record, &row);
    return true;
}

/* ---- a row out of the exchange in front of load ---- */

static bool record_load(struct pipe_task *task, struct pipe_record *record)
{
    const uint8_t *at = (const uint8_t *)record->payload.data, *end = at + record->payload.size;
    struct record row;

    if (!pipe_row_load(&record_type, &at, end, &task->arena, &row)) {
        pipe_fatal(task, "%s: a row of the exchange is damaged", "load");
        return false;
    }
    record->payload = pipe_exchange_payload(at, end);
    pipe_new_row(task);
    keep_load(task, record, &row);
    return true;
}

/* ----------------------------------------------------------------------------------------------
 * The plan
 * ---------------------------------------------------------------------------------------------- */

static const struct pipe_source_def sources[] = {
    {
        .name = "record",
        .stream = STREAM_record,
        .is_kafka = false,
        .target = "record.csv",
        .partitions = 0,
        .format = PIPE_FORMAT_CSV,
        .header = true,
        .row = &record_type,
        .row_bytes = sizeof(struct record),
        .has_event_time = true,
        .ahead = 0,
        .has_watermark = true,
        .watermark = PIPE_SECONDS(1),
        .idle = 0,
        .stage = STAGE_record,
    },
};

static const struct pipe_stream_def streams[] = {
    [STREAM_record] = {.name = "record", .kind = PIPE_STREAM_SOURCE},
    [STREAM_row] = {.name = "row", .kind = PIPE_STREAM_NORMAL,
                    .inputs = (const uint32_t[]){STREAM_record}, .input_count = 1,
                    .has_filters = true, .has_select = true},
    [STREAM_window] = {.name = "window", .kind = PIPE_STREAM_NORMAL,
                       .inputs = (const uint32_t[]){STREAM_row}, .input_count = 1,
                       .has_select = true, .has_window = true, .has_exchange = true},
    [STREAM_key] = {.name = "key", .kind = PIPE_STREAM_NORMAL,
                    .inputs = (const uint32_t[]){STREAM_record}, .input_count = 1,
                    .has_select = true, .has_dedup = true, .has_exchange = true},
    [STREAM_key_load] = {.name = "key_load", .kind = PIPE_STREAM_NORMAL,
                         .inputs = (const uint32_t[]){STREAM_key}, .input_count = 1,
                         .has_filters = true},
    [STREAM_load] = {.name = "load", .kind = PIPE_STREAM_NORMAL,
                     .inputs = (const uint32_t[]){STREAM_record}, .input_count = 1,
                     .has_filters = true, .has_window = true, .has_exchange = true},
    [STREAM_hit] = {.name = "hit", .kind = PIPE_STREAM_REJECTS,
                    .inputs = (const uint32_t[]){STREAM_record, STREAM_row, STREAM_window,
                                                 STREAM_key}, .input_count = 4},
    [STREAM_reasons] = {.name = "reasons", .kind = PIPE_STREAM_NORMAL,
                        .inputs = (const uint32_t[]){STREAM_hit}, .input_count = 1,
                        .has_select = true},
};

static const struct pipe_state_def states_of_record[] = {
    {
        .kind = PIPE_STATE_WINDOW,
        .name = "window",
        .stream = STREAM_window,
        .size = PIPE_SECONDS(10),
        .every = PIPE_SECONDS(10),
        .emit = PIPE_EMIT_CLOSE,
        .phase = PIPE_PHASE_PARTIAL,
        .exchange = EXCHANGE_window,
        .acc = &window_accumulator,
    },
};

static const uint32_t exchanges_of_record[] = {EXCHANGE_window, EXCHANGE_key, EXCHANGE_load};
static const int64_t delays_of_record[] = {0, 0, 0};

static const struct pipe_state_def states_of_window[] = {
    {
        .kind = PIPE_STATE_WINDOW,
        .name = "window",
        .stream = STREAM_window,
        .size = PIPE_SECONDS(10),
        .every = PIPE_SECONDS(10),
        .emit = PIPE_EMIT_CLOSE,
        .phase = PIPE_PHASE_MERGE,
        .exchange = EXCHANGE_window,
        .acc = &window_accumulator,
        .emit_row = emit_window,
    },
};

static const struct pipe_state_def states_of_key[] = {
    {
        .kind = PIPE_STATE_DEDUP,
        .name = "key",
        .stream = STREAM_key,
        .judge_by_record = true,
        .ttl = PIPE_HOURS(1),
        .phase = PIPE_PHASE_LOCAL,
    },
};

static const struct pipe_state_def states_of_load[] = {
    {
        .kind = PIPE_STATE_SESSION,
        .name = "load",
        .stream = STREAM_load,
        .judge_by_record = true,
        .gap = PIPE_SECONDS(10),
        .emit = PIPE_EMIT_CLOSE,
        .phase = PIPE_PHASE_LOCAL,
        .acc = &load_accumulator,
        .emit_row = emit_load,
    },
};

static const struct pipe_stage_def stages[] = {
    [STAGE_record] = {
        .name = "record",
        .source = 0,
        .exchange = -1,
        .record = record_record,
        .states = states_of_record,
        .state_count = 1,
        .exchanges_out = exchanges_of_record,
        .exchange_delays = delays_of_record,
        .exchange_out_count = 3,
    },
    [STAGE_window] = {
        .name = "window",
        .source = -1,
        .exchange = 0,
        .record = NULL,
        .states = states_of_window,
        .state_count = 1,
    },
    [STAGE_key] = {
        .name = "key",
        .source = -1,
        .exchange = 1,
        .record = record_key,
        .states = states_of_key,
        .state_count = 1,
    },
    [STAGE_load] = {
        .name = "load",
        .source = -1,
        .exchange = 2,
        .record = record_load,
        .states = states_of_load,
        .state_count = 1,
    },
};

static const struct pipe_exchange_def exchanges[] = {
    [EXCHANGE_window] = {.name = "window", .partitions = 1, .partials = true,
                         .to_stage = STAGE_window, .reason = "the source declares no key"},
    [EXCHANGE_key] = {.name = "key", .partitions = 1, .partials = false, .to_stage = STAGE_key,
                      .reason = "the source declares no key"},
    [EXCHANGE_load] = {.name = "load", .partitions = 1, .partials = false, .to_stage = STAGE_load,
                       .reason = "the source declares no key"},
};

static const struct pipe_sink_def sinks[] = {
    [SINK_out] = {
        .name = "out",
        .stream = STREAM_window,
        .kind = PIPE_SINK_FILE,
        .target = "out/window.jsonl",
        .format = PIPE_FORMAT_JSONL,
        .row = &window_type,
        .exactly_once = true,
    },
    [SINK_at] = {
        .name = "at",
        .stream = STREAM_key_load,
        .kind = PIPE_SINK_FILE,
        .target = "out/key.csv",
        .format = PIPE_FORMAT_CSV,
        .row = &key_type,
        .exactly_once = true,
    },
    [SINK_acc] = {
        .name = "acc",
        .stream = STREAM_load,
        .kind = PIPE_SINK_FILE,
        .target = "out/load.jsonl",
        .format = PIPE_FORMAT_JSONL,
        .row = &load_type,
        .exactly_once = true,
    },
    [SINK_mark] = {
        .name = "mark",
        .stream = STREAM_reasons,
        .kind = PIPE_SINK_FILE,
        .target = "out/hit.jsonl",
        .format = PIPE_FORMAT_JSONL,
        .row = &reasons_type,
        .exactly_once = true,
    },
};

static const char explain_text[] =
    "locals   plan 4ce38a09\n"
    "  1 file source record                   one partition a file; csv; event time at, "
    "watermark 1s\n"
    "  2   stream row                         from record\n"
    "  3     require                          end > 0  else count\n"
    "  4     select                           at, end, task, acc, mark, out, cast(task "
    "as int32) as args, end * 2 as position, acc as value, coalesce(acc, 0) + end as null\n"
    "  5     stream window                    from row\n"
    "  6       exchange window                partials by task, mark, 1 partition: the "
    "source declares no key\n"
    "  7       window window                  STATE window  tumbling 10s by task, mark, "
    "emit on close; merges the partials; late rows are dropped and counted\n"
    "  8       file sink out                  jsonl; exactly once: cut back to the "
    "length in the last commit\n"
    "  9   stream key                         from record\n"
    " 10     select                           task, end as into, mark as function\n"
    " 11     exchange key                     rows by task, function, 1 partition: the "
    "source declares no key\n"
    " 12     dedup key                        STATE key  task, function for 1h; bound: "
    "rate x 1h x 40 B\n"
    " 13     stream key_load                  from key\n"
    " 14       where                          into > 1\n"
    " 15       file sink at                   csv; exactly once: cut back to the length "
    "in the last commit\n"
    " 16   stream load                        from record\n"
    " 17     where                            end > 0\n"
    " 18     exchange load                    rows by acc, 1 partition: the source "
    "declares no key\n"
    " 19     window load                      STATE load  session gap 10s by acc, emit "
    "on close; late rows are dropped and counted\n"
    " 20     file sink acc                    jsonl; exactly once: cut back to the "
    "length in the last commit\n"
    " 21 rejects hit                          from record, row, window, key\n"
    " 22   stream reasons                     from hit\n"
    " 23     select                           reason, detail\n"
    " 24     file sink mark                   jsonl; exactly once: cut back to the "
    "length in the last commit\n"
    "\n"
    "stages\n"
    "  0 reads source record: one task a file; state window (partials)\n"
    "  1 reads exchange window: 1 task; state window (merge)\n"
    "  2 reads exchange key: 1 task; state key\n"
    "  3 reads exchange load: 1 task; state load\n";

static const char plan_json[] =
    "{\n"
    " \"hash\": \"4ce38a0948925d86\",\n"
    " \"nodes\": [\n"
    "  {\n"
    "   \"ahead_ms\": 0,\n"
    "   \"columns\": [\n"
    "    {\n"
    "     \"name\": \"at\",\n"
    "     \"type\": \"timestamp_ms\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"end\",\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"task\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"acc\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"mark\",\n"
    "     \"type\": \"date\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"out\",\n"
    "     \"type\": \"decimal(9,2)\"\n"
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
    "   \"key\": [],\n"
    "   \"name\": \"record\",\n"
    "   \"node\": \"source\",\n"
    "   \"partitions\": 0,\n"
    "   \"payload\": [\n"
    "    {\n"
    "     \"name\": \"at\",\n"
    "     \"type\": \"timestamp_ms\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"end\",\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"task\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"acc\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"mark\",\n"
    "     \"type\": \"date\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"out\",\n"
    "     \"type\": \"decimal(9,2)\"\n"
    "    }\n"
    "   ],\n"
    "   \"rejects\": \"hit\",\n"
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
    "     \"name\": \"end\",\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"task\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"acc\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"mark\",\n"
    "     \"type\": \"date\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"out\",\n"
    "     \"type\": \"decimal(9,2)\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"args\",\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"position\",\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"value\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"null\",\n"
    "     \"type\": \"int32\"\n"
    "    }\n"
    "   ],\n"
    "   \"inputs\": [\n"
    "    \"record\"\n"
    "   ],\n"
    "   \"name\": \"row\",\n"
    "   \"node\": \"stream\",\n"
    "   \"rejects\": \"hit\",\n"
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
    "      \"end\"\n"
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
    "   \"reason\": \"count\",\n"
    "   \"stream\": \"row\",\n"
    "   \"text\": \"end > 0\"\n"
    "  },\n"
    "  {\n"
    "   \"columns\": [\n"
    "    {\n"
    "     \"name\": \"at\",\n"
    "     \"type\": \"timestamp_ms\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"end\",\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"task\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"acc\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"mark\",\n"
    "     \"type\": \"date\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"out\",\n"
    "     \"type\": \"decimal(9,2)\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"args\",\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"position\",\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"value\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"null\",\n"
    "     \"type\": \"int32\"\n"
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
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"end\"\n"
    "      ],\n"
    "      \"type\": \"int32\"\n"
    "     },\n"
    "     \"name\": \"end\"\n"
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
    "      \"nullable\": true,\n"
    "      \"path\": [\n"
    "       \"acc\"\n"
    "      ],\n"
    "      \"type\": \"int32\"\n"
    "     },\n"
    "     \"name\": \"acc\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"mark\"\n"
    "      ],\n"
    "      \"type\": \"date\"\n"
    "     },\n"
    "     \"name\": \"mark\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"out\"\n"
    "      ],\n"
    "      \"type\": \"decimal(9,2)\"\n"
    "     },\n"
    "     \"name\": \"out\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"kind\": \"cast\",\n"
    "      \"left\": {\n"
    "       \"kind\": \"column\",\n"
    "       \"path\": [\n"
    "        \"task\"\n"
    "       ],\n"
    "       \"type\": \"string\"\n"
    "      },\n"
    "      \"type\": \"int32\"\n"
    "     },\n"
    "     \"name\": \"args\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"kind\": \"binary\",\n"
    "      \"left\": {\n"
    "       \"kind\": \"column\",\n"
    "       \"path\": [\n"
    "        \"end\"\n"
    "       ],\n"
    "       \"type\": \"int32\"\n"
    "      },\n"
    "      \"op\": \"*\",\n"
    "      \"right\": {\n"
    "       \"kind\": \"literal\",\n"
    "       \"type\": \"int32\",\n"
    "       \"value\": \"2\"\n"
    "      },\n"
    "      \"type\": \"int32\"\n"
    "     },\n"
    "     \"name\": \"position\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"nullable\": true,\n"
    "      \"path\": [\n"
    "       \"acc\"\n"
    "      ],\n"
    "      \"type\": \"int32\"\n"
    "     },\n"
    "     \"name\": \"value\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"kind\": \"binary\",\n"
    "      \"left\": {\n"
    "       \"args\": [\n"
    "        {\n"
    "         \"kind\": \"column\",\n"
    "         \"nullable\": true,\n"
    "         \"path\": [\n"
    "          \"acc\"\n"
    "         ],\n"
    "         \"type\": \"int32\"\n"
    "        },\n"
    "        {\n"
    "         \"kind\": \"literal\",\n"
    "         \"type\": \"int32\",\n"
    "         \"value\": \"0\"\n"
    "        }\n"
    "       ],\n"
    "       \"function\": \"coalesce\",\n"
    "       \"kind\": \"call\",\n"
    "       \"type\": \"int32\"\n"
    "      },\n"
    "      \"op\": \"+\",\n"
    "      \"right\": {\n"
    "       \"kind\": \"column\",\n"
    "       \"path\": [\n"
    "        \"end\"\n"
    "       ],\n"
    "       \"type\": \"int32\"\n"
    "      },\n"
    "      \"type\": \"int32\"\n"
    "     },\n"
    "     \"name\": \"null\"\n"
    "    }\n"
    "   ],\n"
    "   \"node\": \"select\",\n"
    "   \"stream\": \"row\"\n"
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
    "     \"name\": \"task\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"mark\",\n"
    "     \"type\": \"date\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"at\",\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"end\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"record\",\n"
    "     \"type\": \"date\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"window\",\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"value\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"out\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"acc\",\n"
    "     \"type\": \"decimal(9,2)\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"a\",\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"a_key\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"a_null\",\n"
    "     \"type\": \"date\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"bytes\",\n"
    "     \"type\": \"date\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"text\",\n"
    "     \"type\": \"decimal(38,2)\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"none\",\n"
    "     \"type\": \"float64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"row\",\n"
    "     \"type\": \"int64\"\n"
    "    }\n"
    "   ],\n"
    "   \"inputs\": [\n"
    "    \"row\"\n"
    "   ],\n"
    "   \"name\": \"window\",\n"
    "   \"node\": \"stream\",\n"
    "   \"rejects\": \"hit\",\n"
    "   \"role\": \"stream\",\n"
    "   \"stages\": [\n"
    "    0\n"
    "   ]\n"
    "  },\n"
    "  {\n"
    "   \"carries\": \"partials\",\n"
    "   \"key\": [\n"
    "    \"task\",\n"
    "    \"mark\"\n"
    "   ],\n"
    "   \"node\": \"exchange\",\n"
    "   \"partitions\": 1,\n"
    "   \"reason\": \"the source declares no key\",\n"
    "   \"stream\": \"window\"\n"
    "  },\n"
    "  {\n"
    "   \"aggregates\": [\n"
    "    {\n"
    "     \"arg\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"end\"\n"
    "      ],\n"
    "      \"type\": \"int32\"\n"
    "     },\n"
    "     \"function\": \"min\",\n"
    "     \"name\": \"at\",\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"arg\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"nullable\": true,\n"
    "      \"path\": [\n"
    "       \"acc\"\n"
    "      ],\n"
    "      \"type\": \"int32\"\n"
    "     },\n"
    "     \"function\": \"max\",\n"
    "     \"name\": \"end\",\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"arg\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"mark\"\n"
    "      ],\n"
    "      \"type\": \"date\"\n"
    "     },\n"
    "     \"function\": \"min\",\n"
    "     \"name\": \"record\",\n"
    "     \"type\": \"date\"\n"
    "    },\n"
    "    {\n"
    "     \"arg\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"args\"\n"
    "      ],\n"
    "      \"type\": \"int32\"\n"
    "     },\n"
    "     \"function\": \"max\",\n"
    "     \"name\": \"window\",\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"arg\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"nullable\": true,\n"
    "      \"path\": [\n"
    "       \"value\"\n"
    "      ],\n"
    "      \"type\": \"int32\"\n"
    "     },\n"
    "     \"function\": \"min\",\n"
    "     \"name\": \"value\",\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"arg\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"nullable\": true,\n"
    "      \"path\": [\n"
    "       \"acc\"\n"
    "      ],\n"
    "      \"type\": \"int32\"\n"
    "     },\n"
    "     \"function\": \"last\",\n"
    "     \"name\": \"out\",\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"arg\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"out\"\n"
    "      ],\n"
    "      \"type\": \"decimal(9,2)\"\n"
    "     },\n"
    "     \"by\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"end\"\n"
    "      ],\n"
    "      \"type\": \"int32\"\n"
    "     },\n"
    "     \"function\": \"max_by\",\n"
    "     \"name\": \"acc\",\n"
    "     \"type\": \"decimal(9,2)\"\n"
    "    },\n"
    "    {\n"
    "     \"arg\": {\n"
    "      \"kind\": \"cast\",\n"
    "      \"left\": {\n"
    "       \"kind\": \"column\",\n"
    "       \"path\": [\n"
    "        \"task\"\n"
    "       ],\n"
    "       \"type\": \"string\"\n"
    "      },\n"
    "      \"type\": \"int32\"\n"
    "     },\n"
    "     \"by\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"end\"\n"
    "      ],\n"
    "      \"type\": \"int32\"\n"
    "     },\n"
    "     \"function\": \"min_by\",\n"
    "     \"name\": \"a\",\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"arg\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"nullable\": true,\n"
    "      \"path\": [\n"
    "       \"acc\"\n"
    "      ],\n"
    "      \"type\": \"int32\"\n"
    "     },\n"
    "     \"by\": {\n"
    "      \"kind\": \"cast\",\n"
    "      \"left\": {\n"
    "       \"kind\": \"column\",\n"
    "       \"path\": [\n"
    "        \"task\"\n"
    "       ],\n"
    "       \"type\": \"string\"\n"
    "      },\n"
    "      \"type\": \"int32\"\n"
    "     },\n"
    "     \"function\": \"min_by\",\n"
    "     \"name\": \"a_key\",\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"arg\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"mark\"\n"
    "      ],\n"
    "      \"type\": \"date\"\n"
    "     },\n"
    "     \"function\": \"first\",\n"
    "     \"name\": \"a_null\",\n"
    "     \"type\": \"date\"\n"
    "    },\n"
    "    {\n"
    "     \"arg\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"mark\"\n"
    "      ],\n"
    "      \"type\": \"date\"\n"
    "     },\n"
    "     \"by\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"out\"\n"
    "      ],\n"
    "      \"type\": \"decimal(9,2)\"\n"
    "     },\n"
    "     \"function\": \"max_by\",\n"
    "     \"name\": \"bytes\",\n"
    "     \"type\": \"date\"\n"
    "    },\n"
    "    {\n"
    "     \"arg\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"out\"\n"
    "      ],\n"
    "      \"type\": \"decimal(9,2)\"\n"
    "     },\n"
    "     \"function\": \"sum\",\n"
    "     \"name\": \"text\",\n"
    "     \"type\": \"decimal(38,2)\"\n"
    "    },\n"
    "    {\n"
    "     \"arg\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"null\"\n"
    "      ],\n"
    "      \"type\": \"int32\"\n"
    "     },\n"
    "     \"function\": \"avg\",\n"
    "     \"name\": \"none\",\n"
    "     \"type\": \"float64\"\n"
    "    },\n"
    "    {\n"
    "     \"function\": \"count\",\n"
    "     \"name\": \"row\",\n"
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
    "     \"name\": \"task\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"mark\",\n"
    "     \"type\": \"date\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"at\",\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"end\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"record\",\n"
    "     \"type\": \"date\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"window\",\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"value\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"out\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"acc\",\n"
    "     \"type\": \"decimal(9,2)\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"a\",\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"a_key\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"a_null\",\n"
    "     \"type\": \"date\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"bytes\",\n"
    "     \"type\": \"date\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"text\",\n"
    "     \"type\": \"decimal(38,2)\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"none\",\n"
    "     \"type\": \"float64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"row\",\n"
    "     \"type\": \"int64\"\n"
    "    }\n"
    "   ],\n"
    "   \"corrections\": false,\n"
    "   \"delay_ms\": 0,\n"
    "   \"drop_late\": true,\n"
    "   \"emit\": \"close\",\n"
    "   \"emit_every_ms\": 0,\n"
    "   \"every_ms\": 10000,\n"
    "   \"gap_ms\": 0,\n"
    "   \"group\": [\n"
    "    \"task\",\n"
    "    \"mark\"\n"
    "   ],\n"
    "   \"lateness_ms\": 0,\n"
    "   \"max_ms\": 0,\n"
    "   \"node\": \"window\",\n"
    "   \"offset_ms\": 0,\n"
    "   \"size_ms\": 10000,\n"
    "   \"stream\": \"window\",\n"
    "   \"window\": \"tumbling\"\n"
    "  },\n"
    "  {\n"
    "   \"append_revisions\": false,\n"
    "   \"commit_bytes\": 16777216,\n"
    "   \"commit_ms\": 100,\n"
    "   \"exactly_once\": true,\n"
    "   \"format\": \"jsonl\",\n"
    "   \"from\": \"window\",\n"
    "   \"guarantee\": \"exactly once: cut back to the length in the last commit\",\n"
    "   \"key\": [],\n"
    "   \"kind\": \"file\",\n"
    "   \"name\": \"out\",\n"
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
    "     \"name\": \"task\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"into\",\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"function\",\n"
    "     \"type\": \"date\"\n"
    "    }\n"
    "   ],\n"
    "   \"inputs\": [\n"
    "    \"record\"\n"
    "   ],\n"
    "   \"name\": \"key\",\n"
    "   \"node\": \"stream\",\n"
    "   \"rejects\": \"hit\",\n"
    "   \"role\": \"stream\",\n"
    "   \"stages\": [\n"
    "    0\n"
    "   ]\n"
    "  },\n"
    "  {\n"
    "   \"columns\": [\n"
    "    {\n"
    "     \"name\": \"task\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"into\",\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"function\",\n"
    "     \"type\": \"date\"\n"
    "    }\n"
    "   ],\n"
    "   \"items\": [\n"
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
    "       \"end\"\n"
    "      ],\n"
    "      \"type\": \"int32\"\n"
    "     },\n"
    "     \"name\": \"into\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"mark\"\n"
    "      ],\n"
    "      \"type\": \"date\"\n"
    "     },\n"
    "     \"name\": \"function\"\n"
    "    }\n"
    "   ],\n"
    "   \"node\": \"select\",\n"
    "   \"stream\": \"key\"\n"
    "  },\n"
    "  {\n"
    "   \"carries\": \"rows\",\n"
    "   \"key\": [\n"
    "    \"task\",\n"
    "    \"function\"\n"
    "   ],\n"
    "   \"node\": \"exchange\",\n"
    "   \"partitions\": 1,\n"
    "   \"reason\": \"the source declares no key\",\n"
    "   \"stream\": \"key\"\n"
    "  },\n"
    "  {\n"
    "   \"behind_exchange\": true,\n"
    "   \"key\": [\n"
    "    \"task\",\n"
    "    \"function\"\n"
    "   ],\n"
    "   \"node\": \"dedup\",\n"
    "   \"stream\": \"key\",\n"
    "   \"within_ms\": 3600000\n"
    "  },\n"
    "  {\n"
    "   \"columns\": [\n"
    "    {\n"
    "     \"name\": \"task\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"into\",\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"function\",\n"
    "     \"type\": \"date\"\n"
    "    }\n"
    "   ],\n"
    "   \"inputs\": [\n"
    "    \"key\"\n"
    "   ],\n"
    "   \"name\": \"key_load\",\n"
    "   \"node\": \"stream\",\n"
    "   \"role\": \"stream\",\n"
    "   \"stages\": [\n"
    "    2\n"
    "   ]\n"
    "  },\n"
    "  {\n"
    "   \"expr\": {\n"
    "    \"kind\": \"binary\",\n"
    "    \"left\": {\n"
    "     \"kind\": \"column\",\n"
    "     \"path\": [\n"
    "      \"into\"\n"
    "     ],\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    \"op\": \">\",\n"
    "    \"right\": {\n"
    "     \"kind\": \"literal\",\n"
    "     \"type\": \"int32\",\n"
    "     \"value\": \"1\"\n"
    "    },\n"
    "    \"type\": \"bool\"\n"
    "   },\n"
    "   \"node\": \"where\",\n"
    "   \"stream\": \"key_load\",\n"
    "   \"text\": \"into > 1\"\n"
    "  },\n"
    "  {\n"
    "   \"append_revisions\": false,\n"
    "   \"commit_bytes\": 16777216,\n"
    "   \"commit_ms\": 100,\n"
    "   \"exactly_once\": true,\n"
    "   \"format\": \"csv\",\n"
    "   \"from\": \"key_load\",\n"
    "   \"guarantee\": \"exactly once: cut back to the length in the last commit\",\n"
    "   \"key\": [],\n"
    "   \"kind\": \"file\",\n"
    "   \"name\": \"at\",\n"
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
    "     \"name\": \"acc\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"at\",\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"mark\",\n"
    "     \"type\": \"date\"\n"
    "    }\n"
    "   ],\n"
    "   \"inputs\": [\n"
    "    \"record\"\n"
    "   ],\n"
    "   \"name\": \"load\",\n"
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
    "     \"kind\": \"column\",\n"
    "     \"path\": [\n"
    "      \"end\"\n"
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
    "   \"node\": \"where\",\n"
    "   \"stream\": \"load\",\n"
    "   \"text\": \"end > 0\"\n"
    "  },\n"
    "  {\n"
    "   \"carries\": \"rows\",\n"
    "   \"key\": [\n"
    "    \"acc\"\n"
    "   ],\n"
    "   \"node\": \"exchange\",\n"
    "   \"partitions\": 1,\n"
    "   \"reason\": \"the source declares no key\",\n"
    "   \"stream\": \"load\"\n"
    "  },\n"
    "  {\n"
    "   \"aggregates\": [\n"
    "    {\n"
    "     \"arg\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"end\"\n"
    "      ],\n"
    "      \"type\": \"int32\"\n"
    "     },\n"
    "     \"function\": \"max\",\n"
    "     \"name\": \"at\",\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"arg\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"mark\"\n"
    "      ],\n"
    "      \"type\": \"date\"\n"
    "     },\n"
    "     \"function\": \"min\",\n"
    "     \"name\": \"mark\",\n"
    "     \"type\": \"date\"\n"
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
    "     \"name\": \"acc\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"at\",\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"mark\",\n"
    "     \"type\": \"date\"\n"
    "    }\n"
    "   ],\n"
    "   \"corrections\": false,\n"
    "   \"delay_ms\": 0,\n"
    "   \"drop_late\": true,\n"
    "   \"emit\": \"close\",\n"
    "   \"emit_every_ms\": 0,\n"
    "   \"every_ms\": 0,\n"
    "   \"gap_ms\": 10000,\n"
    "   \"group\": [\n"
    "    \"acc\"\n"
    "   ],\n"
    "   \"lateness_ms\": 0,\n"
    "   \"max_ms\": 0,\n"
    "   \"node\": \"window\",\n"
    "   \"offset_ms\": 0,\n"
    "   \"size_ms\": 0,\n"
    "   \"stream\": \"load\",\n"
    "   \"window\": \"session\"\n"
    "  },\n"
    "  {\n"
    "   \"append_revisions\": false,\n"
    "   \"commit_bytes\": 16777216,\n"
    "   \"commit_ms\": 100,\n"
    "   \"exactly_once\": true,\n"
    "   \"format\": \"jsonl\",\n"
    "   \"from\": \"load\",\n"
    "   \"guarantee\": \"exactly once: cut back to the length in the last commit\",\n"
    "   \"key\": [],\n"
    "   \"kind\": \"file\",\n"
    "   \"name\": \"acc\",\n"
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
    "    \"record\",\n"
    "    \"row\",\n"
    "    \"window\",\n"
    "    \"key\"\n"
    "   ],\n"
    "   \"name\": \"hit\",\n"
    "   \"node\": \"stream\",\n"
    "   \"role\": \"rejects\",\n"
    "   \"stages\": [\n"
    "    0,\n"
    "    1,\n"
    "    2\n"
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
    "    \"hit\"\n"
    "   ],\n"
    "   \"name\": \"reasons\",\n"
    "   \"node\": \"stream\",\n"
    "   \"role\": \"stream\",\n"
    "   \"stages\": [\n"
    "    0,\n"
    "    1,\n"
    "    2\n"
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
    "   \"name\": \"mark\",\n"
    "   \"node\": \"sink\",\n"
    "   \"order\": [],\n"
    "   \"partition_by\": [],\n"
    "   \"partitions\": 0,\n"
    "   \"rollups\": [],\n"
    "   \"source_key\": false\n"
    "  }\n"
    " ],\n"
    " \"pipeline\": \"locals\",\n"
    " \"stages\": [\n"
    "  {\n"
    "   \"source\": \"record\",\n"
    "   \"stage\": 0,\n"
    "   \"states\": [\n"
    "    {\n"
    "     \"delay_ms\": 0,\n"
    "     \"phase\": \"partial\",\n"
    "     \"stream\": \"window\"\n"
    "    }\n"
    "   ]\n"
    "  },\n"
    "  {\n"
    "   \"exchange\": \"window\",\n"
    "   \"stage\": 1,\n"
    "   \"states\": [\n"
    "    {\n"
    "     \"delay_ms\": 0,\n"
    "     \"phase\": \"merge\",\n"
    "     \"stream\": \"window\"\n"
    "    }\n"
    "   ]\n"
    "  },\n"
    "  {\n"
    "   \"exchange\": \"key\",\n"
    "   \"stage\": 2,\n"
    "   \"states\": [\n"
    "    {\n"
    "     \"delay_ms\": 0,\n"
    "     \"phase\": \"local\",\n"
    "     \"stream\": \"key\"\n"
    "    }\n"
    "   ]\n"
    "  },\n"
    "  {\n"
    "   \"exchange\": \"load\",\n"
    "   \"stage\": 3,\n"
    "   \"states\": [\n"
    "    {\n"
    "     \"delay_ms\": 0,\n"
    "     \"phase\": \"local\",\n"
    "     \"stream\": \"load\"\n"
    "    }\n"
    "   ]\n"
    "  }\n"
    " ]\n"
    "}\n";

static const struct pipe_plan plan = {
    .abi = PIPE_RUNTIME_ABI,
    .name = "locals",
    .hash = "4ce38a0948925d86",
    .commit_ms = 100,
    .commit_bytes = 16777216,
    .explain_text = explain_text,
    .plan_json = plan_json,
    .sources = sources,
    .source_count = 1,
    .streams = streams,
    .stream_count = 8,
    .stages = stages,
    .stage_count = 4,
    .exchanges = exchanges,
    .exchange_count = 3,
    .sinks = sinks,
    .sink_count = 4,
};

int main(int argc, char **argv)
{
    return pipe_main(&plan, argc, argv);
}
