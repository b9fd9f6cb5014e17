/* expressions.c: pipeline expressions, compiled from expressions.pipe by pipec. Change that
 * file, not this. */
#include "pipe.h"

#if PIPE_RUNTIME_ABI != 1
#error "this file and libpipe do not fit together: compile the pipeline again"
#endif

/* ----------------------------------------------------------------------------------------------
 * Rows
 * ---------------------------------------------------------------------------------------------- */

struct items {
    struct pipe_str name;
    pipe_decimal price;
    int32_t amount;
    struct pipe_str note;
    bool sold;
    bool price_null;
    bool amount_null;
    bool note_null;
    bool sold_null;
};

struct priced {
    struct pipe_str name;
    pipe_decimal total;
    pipe_decimal raised;
    struct pipe_str size;
    int64_t rest;
    bool big_sale;
    bool any_sale;
    struct pipe_str label;
    struct pipe_str digits;
    int32_t share;
    bool total_null;
    bool size_null;
    bool rest_null;
    bool big_sale_null;
    bool any_sale_null;
    bool digits_null;
    bool share_null;
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
    STREAM_items,
    STREAM_priced,
    STREAM_refused,
    STREAM_reasons,
};

enum {
    STAGE_items,
};

enum {
    SINK_priced_rows,
    SINK_refusals,
};

/* ----------------------------------------------------------------------------------------------
 * What the runtime knows of the rows
 * ---------------------------------------------------------------------------------------------- */

static const struct pipe_type type_string = {.kind = PIPE_STRING};
static const struct pipe_type type_decimal_8_2 = {.kind = PIPE_DECIMAL, .precision = 8, .scale = 2,
                                                  .fixed_bytes = 0};
static const struct pipe_type type_int32 = {.kind = PIPE_INT32};
static const struct pipe_type type_bool = {.kind = PIPE_BOOL};

static const struct pipe_column items_columns[] = {
    {"name", &type_string, offsetof(struct items, name), .null_offset = PIPE_NOT_NULL},
    {"price", &type_decimal_8_2, offsetof(struct items, price),
     .null_offset = offsetof(struct items, price_null), .null_first = false},
    {"amount", &type_int32, offsetof(struct items, amount),
     .null_offset = offsetof(struct items, amount_null), .null_first = false},
    {"note", &type_string, offsetof(struct items, note),
     .null_offset = offsetof(struct items, note_null), .null_first = false},
    {"sold", &type_bool, offsetof(struct items, sold),
     .null_offset = offsetof(struct items, sold_null), .null_first = false},
};
static const struct pipe_row_type items_type = {"items", items_columns, 5, sizeof(struct items)};

static const struct pipe_type type_decimal_18_2 = {.kind = PIPE_DECIMAL, .precision = 18,
                                                   .scale = 2, .fixed_bytes = 0};
static const struct pipe_type type_decimal_9_2 = {.kind = PIPE_DECIMAL, .precision = 9, .scale = 2,
                                                  .fixed_bytes = 0};
static const struct pipe_type type_int64 = {.kind = PIPE_INT64};

static const struct pipe_column priced_columns[] = {
    {"name", &type_string, offsetof(struct priced, name), .null_offset = PIPE_NOT_NULL},
    {"total", &type_decimal_18_2, offsetof(struct priced, total),
     .null_offset = offsetof(struct priced, total_null), .null_first = false},
    {"raised", &type_decimal_9_2, offsetof(struct priced, raised), .null_offset = PIPE_NOT_NULL},
    {"size", &type_string, offsetof(struct priced, size),
     .null_offset = offsetof(struct priced, size_null), .null_first = false},
    {"rest", &type_int64, offsetof(struct priced, rest),
     .null_offset = offsetof(struct priced, rest_null), .null_first = false},
    {"big_sale", &type_bool, offsetof(struct priced, big_sale),
     .null_offset = offsetof(struct priced, big_sale_null), .null_first = false},
    {"any_sale", &type_bool, offsetof(struct priced, any_sale),
     .null_offset = offsetof(struct priced, any_sale_null), .null_first = false},
    {"label", &type_string, offsetof(struct priced, label), .null_offset = PIPE_NOT_NULL},
    {"digits", &type_string, offsetof(struct priced, digits),
     .null_offset = offsetof(struct priced, digits_null), .null_first = false},
    {"share", &type_int32, offsetof(struct priced, share),
     .null_offset = offsetof(struct priced, share_null), .null_first = false},
};
static const struct pipe_row_type priced_type = {"priced", priced_columns, 10,
                                                 sizeof(struct priced)};


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

/* Compiled once, before the first record; the patterns were checked when this file was made. */
static void start(void)
{
    regex_1 = pipe_regex_compile_str(PIPE_STR("([a-z]+)(\\d*)"), NULL);
}

/* ----------------------------------------------------------------------------------------------
 * JSON
 * ---------------------------------------------------------------------------------------------- */

static void json_of_priced(struct pipe_buf *buf, const struct priced *row)
{
    PIPE_JSON_RAW(buf, "{\"name\":");
    pipe_json_string(buf, row->name);
    PIPE_JSON_RAW(buf, ",\"total\":");
    if (row->total_null)
        pipe_json_null(buf);
    else
        pipe_json_decimal(buf, row->total, 2);
    PIPE_JSON_RAW(buf, ",\"raised\":");
    pipe_json_decimal(buf, row->raised, 2);
    PIPE_JSON_RAW(buf, ",\"size\":");
    if (row->size_null)
        pipe_json_null(buf);
    else
        pipe_json_string(buf, row->size);
    PIPE_JSON_RAW(buf, ",\"rest\":");
    if (row->rest_null)
        pipe_json_null(buf);
    else
        pipe_json_i64(buf, row->rest);
    PIPE_JSON_RAW(buf, ",\"big_sale\":");
    if (row->big_sale_null)
        pipe_json_null(buf);
    else
        pipe_json_bool(buf, row->big_sale);
    PIPE_JSON_RAW(buf, ",\"any_sale\":");
    if (row->any_sale_null)
        pipe_json_null(buf);
    else
        pipe_json_bool(buf, row->any_sale);
    PIPE_JSON_RAW(buf, ",\"label\":");
    pipe_json_string(buf, row->label);
    PIPE_JSON_RAW(buf, ",\"digits\":");
    if (row->digits_null)
        pipe_json_null(buf);
    else
        pipe_json_string(buf, row->digits);
    PIPE_JSON_RAW(buf, ",\"share\":");
    if (row->share_null)
        pipe_json_null(buf);
    else
        pipe_json_i64(buf, row->share);
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

static void push_priced(struct pipe_task *task, const struct pipe_record *record,
                        const struct items *row);
static void push_refused(struct pipe_task *task, const struct pipe_record *record,
                         const struct pipe_reject *row);
static void reject_refused(struct pipe_task *task, const struct pipe_record *record,
                           const char *reason, const char *rule, const char *detail);
static void push_reasons(struct pipe_task *task, const struct pipe_record *record,
                         const struct pipe_reject *row);

/* ---- source items  (expressions.pipe:4) ---- */

static void out_items(struct pipe_task *task, const struct pipe_record *record,
                      const struct items *row)
{
    task->counters[STREAM_items].out++;
    push_priced(task, record, row);
}

/* ---- stream priced from items  (expressions.pipe:15) ---- */

/* sink priced_rows from priced to file 'out/priced.jsonl' format jsonl exactly once
 * (expressions.pipe:36) */
static void sink_priced_rows(struct pipe_task *task, const struct pipe_record *record,
                             const struct priced *row)
{
    if (!pipe_encoded(task, row, (const void *)json_of_priced))
        json_of_priced(&task->value, row);
    pipe_emit(task, SINK_priced_rows, record, pipe_str_of(NULL, 0),
              pipe_str_of(task->value.data, task->value.size));
}

static void out_priced(struct pipe_task *task, const struct pipe_record *record,
                       const struct priced *row)
{
    task->counters[STREAM_priced].out++;
    if (!pipe_discards(task)) {
        sink_priced_rows(task, record, row);
    }
}

/* price * amount (expressions.pipe:18). False: null */
static bool priced_total(const struct items *row, pipe_decimal *value)
{
    if (row->price_null || row->amount_null)
        return false;
    *value = row->price * (pipe_decimal)row->amount;
    return true;
}

/* coalesce(price, 1.5) + 0.25 (expressions.pipe:19) */
static pipe_decimal priced_raised(const struct items *row)
{
    return ((!row->price_null ? row->price : 150)) + 25;
}

/* case when amount is null then 'none' when amount > 9 then 'many' else left(note, 3) end
 * (expressions.pipe:20). False: null */
static bool priced_size(const struct items *row, struct pipe_str *value)
{
    struct pipe_str t1 = {0};
    bool t1_null = true;
    if (row->amount_null) {
        t1 = PIPE_STR("none");
        t1_null = false;
    } else if (row->amount > 9) {
        t1 = PIPE_STR("many");
        t1_null = false;
    } else {
        t1_null = row->note_null;
        if (!t1_null)
            t1 = pipe_fn_left(row->note, 3);
    }

    if (t1_null)
        return false;
    *value = t1;
    return true;
}

/* cast(note as int64) % 7 (expressions.pipe:21). False: it failed */
static bool priced_rest_try_1(const struct items *row, int64_t *value, bool *null)
{
    int64_t t1 = 0;
    bool t1_null = row->note_null;
    if (!t1_null && !pipe_cast_string_i64(row->note, &t1))
        return false;
    int64_t t2 = 0;
    bool t2_null = t1_null;
    if (!t2_null && !pipe_mod_i64(t1, 7, &t2))
        return false;

    *null = t2_null;
    if (!*null)
        *value = t2;
    return true;
}

/* try(cast(note as int64) % 7, -1) (expressions.pipe:21). False: null */
static bool priced_rest(const struct items *row, int64_t *value)
{
    int64_t t1 = 0;
    bool t1_null = false;
    if (!priced_rest_try_1(row, &t1, &t1_null)) {
        t1 = -1;
        t1_null = false;
    }

    if (t1_null)
        return false;
    *value = t1;
    return true;
}

/* sold and amount > 5 (expressions.pipe:22). False: null */
static bool priced_big_sale(const struct items *row, bool *value)
{
    bool t1 = !row->sold_null && row->sold;
    bool t1_null = row->sold_null;
    if (t1 || t1_null) {
        if (row->amount_null) {
            t1_null = true;
        } else if (!(row->amount > 5)) {
            t1 = false;
            t1_null = false;
        }
    }

    if (t1_null)
        return false;
    *value = t1;
    return true;
}

/* sold or amount > 5 (expressions.pipe:23). False: null */
static bool priced_any_sale(const struct items *row, bool *value)
{
    bool t1 = !row->sold_null && row->sold;
    bool t1_null = row->sold_null;
    if (!t1) {
        if (row->amount_null) {
            t1_null = true;
        } else if (row->amount > 5) {
            t1 = true;
            t1_null = false;
        }
    }

    if (t1_null)
        return false;
    *value = t1;
    return true;
}

/* upper(substring(name, 2, 3)) || '-' || coalesce(note, '?') (expressions.pipe:24) */
static struct pipe_str priced_label(struct pipe_arena *arena, const struct items *row)
{
    return pipe_fn_concat(arena,
                          (struct pipe_str[]){pipe_fn_upper(arena,
                                                            pipe_fn_substring(row->name, 2, 3)),
                                                            PIPE_STR("-"), !row->note_null
                                                            ? row->note : PIPE_STR("?")}, 3);
}

/* regexp_extract(name, '([a-z]+)(\d*)', 2) (expressions.pipe:25). False: null */
static bool priced_digits(const struct items *row, struct pipe_str *value)
{
    struct pipe_str t1 = {0};
    bool t1_null = !pipe_fn_regexp_extract(regex_1, row->name, 2, &t1);

    if (t1_null)
        return false;
    *value = t1;
    return true;
}

/* 10 / amount (expressions.pipe:26). False: it failed */
static bool priced_share(const struct items *row, int32_t *value, bool *null)
{
    int32_t t1 = 0;
    bool t1_null = row->amount_null;
    if (!t1_null && !pipe_div_i32(10, row->amount, &t1))
        return false;

    *null = t1_null;
    if (!*null)
        *value = t1;
    return true;
}

/* select name, price * amount as total, coalesce(price, 1.5) + 0.25 as raised, case when amount
 * is null then 'none' when amount > 9 then 'many' else left(note, 3) end as size, try(cast(note
 * as int64) % 7, -1) as rest, sold and amount > 5 as big_sale, sold or amount > 5 as any_sale,
 * upper(substring(name, 2, 3)) || '-' || coalesce(note, '?') as label, regexp_extract(name,
 * '([a-z]+)(\d*)', 2) as digits, 10 / amount as share (expressions.pipe:16) */
static void select_priced(struct pipe_task *task, const struct pipe_record *record,
                          const struct items *row)
{
    struct pipe_counters *count = &task->counters[STREAM_priced];
    struct priced out = {0};

    out.name = row->name;
    out.total_null = !priced_total(row, &out.total);
    out.raised = priced_raised(row);
    out.size_null = !priced_size(row, &out.size);
    out.rest_null = !priced_rest(row, &out.rest);
    out.big_sale_null = !priced_big_sale(row, &out.big_sale);
    out.any_sale_null = !priced_any_sale(row, &out.any_sale);
    out.label = priced_label(&task->arena, row);
    out.digits_null = !priced_digits(row, &out.digits);
    if (!priced_share(row, &out.share, &out.share_null)) {
        count->select_rejected++;
        reject_refused(task, record, "expression_failed", "priced", "10 / amount");
        return;
    }
    count->selected++;
    pipe_new_row(task);
    out_priced(task, record, &out);
}

static void push_priced(struct pipe_task *task, const struct pipe_record *record,
                        const struct items *row)
{
    struct pipe_counters *count = &task->counters[STREAM_priced];

    count->in++;
    count->passed++;
    select_priced(task, record, row);
}

/* ---- reject stream refused  (expressions.pipe:13) ---- */

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

/* ---- stream reasons from refused  (expressions.pipe:29) ---- */

/* sink refusals from reasons to file 'out/refused.jsonl' format jsonl exactly once
 * (expressions.pipe:37) */
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

/* select reason, rule, detail, offset (expressions.pipe:30) */
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

/* ---- a record of source items ---- */

static bool refuse_items(struct pipe_task *task, const struct pipe_record *record,
                         const char *reason, const char *detail)
{
    struct pipe_counters *count = &task->counters[STREAM_items];

    count->source_rejected++;
    reject_refused(task, record, reason, "items", detail);
    return false;
}

static bool record_items(struct pipe_task *task, struct pipe_record *record)
{
    struct pipe_counters *count = &task->counters[STREAM_items];
    void *decoded;

    count->read++;
    const char *reason = pipe_decode(task, record, &decoded);
    if (reason != NULL)
        return refuse_items(task, record, reason, task->detail);

    const struct items *row = decoded;

    record->event_time = PIPE_TIME_MIN;

    count->accepted++;
    pipe_new_row(task);
    out_items(task, record, row);
    return true;
}

/* ----------------------------------------------------------------------------------------------
 * The plan
 * ---------------------------------------------------------------------------------------------- */

static const struct pipe_source_def sources[] = {
    {
        .name = "items",
        .stream = STREAM_items,
        .is_kafka = false,
        .target = "items.csv",
        .partitions = 0,
        .format = PIPE_FORMAT_CSV,
        .header = true,
        .row = &items_type,
        .row_bytes = sizeof(struct items),
        .stage = STAGE_items,
    },
};

static const struct pipe_stream_def streams[] = {
    [STREAM_items] = {.name = "items", .kind = PIPE_STREAM_SOURCE},
    [STREAM_priced] = {.name = "priced", .kind = PIPE_STREAM_NORMAL,
                       .inputs = (const uint32_t[]){STREAM_items}, .input_count = 1,
                       .has_select = true},
    [STREAM_refused] = {.name = "refused", .kind = PIPE_STREAM_REJECTS,
                        .inputs = (const uint32_t[]){STREAM_items, STREAM_priced},
                        .input_count = 2},
    [STREAM_reasons] = {.name = "reasons", .kind = PIPE_STREAM_NORMAL,
                        .inputs = (const uint32_t[]){STREAM_refused}, .input_count = 1,
                        .has_select = true},
};

static const struct pipe_stage_def stages[] = {
    [STAGE_items] = {
        .name = "items",
        .source = 0,
        .exchange = -1,
        .record = record_items,
    },
};

static const struct pipe_sink_def sinks[] = {
    [SINK_priced_rows] = {
        .name = "priced_rows",
        .stream = STREAM_priced,
        .kind = PIPE_SINK_FILE,
        .target = "out/priced.jsonl",
        .format = PIPE_FORMAT_JSONL,
        .row = &priced_type,
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
    "expressions   plan 6f9a099a\n"
    "  1 file source items                    one partition a file; csv\n"
    "  2   stream priced                      from items\n"
    "  3     select                           name, price * amount as total, "
    "coalesce(price, 1.50) + 0.25 as raised, case when amount is null then 'none' when "
    "amount > 9 then 'many' else left(note, 3) end as size, try(cast(note as int64) % 7, "
    "-1) as rest, sold and amount > 5 as big_sale, sold or amount > 5 as any_sale, "
    "upper(substring(name, 2, 3)) || '-' || coalesce(note, '?') as label, "
    "regexp_extract(name, '([a-z]+)(\\d*)', 2) as digits, 10 / amount as share\n"
    "  4     file sink priced_rows            jsonl; exactly once: cut back to the "
    "length in the last commit\n"
    "  5 rejects refused                      from items, priced\n"
    "  6   stream reasons                     from refused\n"
    "  7     select                           reason, rule, detail, offset\n"
    "  8     file sink refusals               jsonl; exactly once: cut back to the "
    "length in the last commit\n"
    "\n"
    "stages\n"
    "  0 reads source items: one task a file\n";

static const char plan_json[] =
    "{\n"
    " \"hash\": \"6f9a099a07f3f86c\",\n"
    " \"nodes\": [\n"
    "  {\n"
    "   \"ahead_ms\": 0,\n"
    "   \"columns\": [\n"
    "    {\n"
    "     \"name\": \"name\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"price\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"decimal(8,2)\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"amount\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"note\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"sold\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"bool\"\n"
    "    }\n"
    "   ],\n"
    "   \"drop_tombstones\": false,\n"
    "   \"format\": \"csv\",\n"
    "   \"header\": true,\n"
    "   \"idle_advance\": false,\n"
    "   \"idle_ms\": 0,\n"
    "   \"key\": [],\n"
    "   \"name\": \"items\",\n"
    "   \"node\": \"source\",\n"
    "   \"partitions\": 0,\n"
    "   \"payload\": [\n"
    "    {\n"
    "     \"name\": \"name\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"price\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"decimal(8,2)\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"amount\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"note\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"sold\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"bool\"\n"
    "    }\n"
    "   ],\n"
    "   \"rejects\": \"refused\",\n"
    "   \"transport\": \"file\",\n"
    "   \"watermark_ms\": -1\n"
    "  },\n"
    "  {\n"
    "   \"columns\": [\n"
    "    {\n"
    "     \"name\": \"name\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"total\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"decimal(18,2)\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"raised\",\n"
    "     \"type\": \"decimal(9,2)\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"size\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"rest\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"big_sale\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"bool\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"any_sale\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"bool\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"label\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"digits\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"share\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int32\"\n"
    "    }\n"
    "   ],\n"
    "   \"inputs\": [\n"
    "    \"items\"\n"
    "   ],\n"
    "   \"name\": \"priced\",\n"
    "   \"node\": \"stream\",\n"
    "   \"rejects\": \"refused\",\n"
    "   \"role\": \"stream\",\n"
    "   \"stages\": [\n"
    "    0\n"
    "   ]\n"
    "  },\n"
    "  {\n"
    "   \"columns\": [\n"
    "    {\n"
    "     \"name\": \"name\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"total\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"decimal(18,2)\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"raised\",\n"
    "     \"type\": \"decimal(9,2)\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"size\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"rest\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"big_sale\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"bool\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"any_sale\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"bool\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"label\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"digits\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"share\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int32\"\n"
    "    }\n"
    "   ],\n"
    "   \"items\": [\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"name\"\n"
    "      ],\n"
    "      \"type\": \"string\"\n"
    "     },\n"
    "     \"name\": \"name\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"kind\": \"binary\",\n"
    "      \"left\": {\n"
    "       \"kind\": \"column\",\n"
    "       \"nullable\": true,\n"
    "       \"path\": [\n"
    "        \"price\"\n"
    "       ],\n"
    "       \"type\": \"decimal(8,2)\"\n"
    "      },\n"
    "      \"nullable\": true,\n"
    "      \"op\": \"*\",\n"
    "      \"right\": {\n"
    "       \"kind\": \"convert\",\n"
    "       \"left\": {\n"
    "        \"kind\": \"column\",\n"
    "        \"nullable\": true,\n"
    "        \"path\": [\n"
    "         \"amount\"\n"
    "        ],\n"
    "        \"type\": \"int32\"\n"
    "       },\n"
    "       \"nullable\": true,\n"
    "       \"type\": \"decimal(10,0)\"\n"
    "      },\n"
    "      \"type\": \"decimal(18,2)\"\n"
    "     },\n"
    "     \"name\": \"total\"\n"
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
    "          \"price\"\n"
    "         ],\n"
    "         \"type\": \"decimal(8,2)\"\n"
    "        },\n"
    "        {\n"
    "         \"kind\": \"literal\",\n"
    "         \"type\": \"decimal(8,2)\",\n"
    "         \"value\": \"1.50\"\n"
    "        }\n"
    "       ],\n"
    "       \"function\": \"coalesce\",\n"
    "       \"kind\": \"call\",\n"
    "       \"type\": \"decimal(8,2)\"\n"
    "      },\n"
    "      \"op\": \"+\",\n"
    "      \"right\": {\n"
    "       \"kind\": \"literal\",\n"
    "       \"type\": \"decimal(8,2)\",\n"
    "       \"value\": \"0.25\"\n"
    "      },\n"
    "      \"type\": \"decimal(9,2)\"\n"
    "     },\n"
    "     \"name\": \"raised\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"else\": {\n"
    "       \"args\": [\n"
    "        {\n"
    "         \"kind\": \"column\",\n"
    "         \"nullable\": true,\n"
    "         \"path\": [\n"
    "          \"note\"\n"
    "         ],\n"
    "         \"type\": \"string\"\n"
    "        },\n"
    "        {\n"
    "         \"kind\": \"literal\",\n"
    "         \"type\": \"int64\",\n"
    "         \"value\": \"3\"\n"
    "        }\n"
    "       ],\n"
    "       \"function\": \"left\",\n"
    "       \"kind\": \"call\",\n"
    "       \"nullable\": true,\n"
    "       \"type\": \"string\"\n"
    "      },\n"
    "      \"kind\": \"case\",\n"
    "      \"nullable\": true,\n"
    "      \"type\": \"string\",\n"
    "      \"whens\": [\n"
    "       {\n"
    "        \"then\": {\n"
    "         \"kind\": \"literal\",\n"
    "         \"type\": \"string\",\n"
    "         \"value\": \"none\"\n"
    "        },\n"
    "        \"when\": {\n"
    "         \"kind\": \"is_null\",\n"
    "         \"left\": {\n"
    "          \"kind\": \"column\",\n"
    "          \"nullable\": true,\n"
    "          \"path\": [\n"
    "           \"amount\"\n"
    "          ],\n"
    "          \"type\": \"int32\"\n"
    "         },\n"
    "         \"type\": \"bool\"\n"
    "        }\n"
    "       },\n"
    "       {\n"
    "        \"then\": {\n"
    "         \"kind\": \"literal\",\n"
    "         \"type\": \"string\",\n"
    "         \"value\": \"many\"\n"
    "        },\n"
    "        \"when\": {\n"
    "         \"kind\": \"binary\",\n"
    "         \"left\": {\n"
    "          \"kind\": \"column\",\n"
    "          \"path\": [\n"
    "           \"amount\"\n"
    "          ],\n"
    "          \"type\": \"int32\"\n"
    "         },\n"
    "         \"op\": \">\",\n"
    "         \"right\": {\n"
    "          \"kind\": \"literal\",\n"
    "          \"type\": \"int32\",\n"
    "          \"value\": \"9\"\n"
    "         },\n"
    "         \"type\": \"bool\"\n"
    "        }\n"
    "       }\n"
    "      ]\n"
    "     },\n"
    "     \"name\": \"size\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"kind\": \"try\",\n"
    "      \"left\": {\n"
    "       \"kind\": \"binary\",\n"
    "       \"left\": {\n"
    "        \"kind\": \"cast\",\n"
    "        \"left\": {\n"
    "         \"kind\": \"column\",\n"
    "         \"nullable\": true,\n"
    "         \"path\": [\n"
    "          \"note\"\n"
    "         ],\n"
    "         \"type\": \"string\"\n"
    "        },\n"
    "        \"nullable\": true,\n"
    "        \"type\": \"int64\"\n"
    "       },\n"
    "       \"nullable\": true,\n"
    "       \"op\": \"%\",\n"
    "       \"right\": {\n"
    "        \"kind\": \"literal\",\n"
    "        \"type\": \"int64\",\n"
    "        \"value\": \"7\"\n"
    "       },\n"
    "       \"type\": \"int64\"\n"
    "      },\n"
    "      \"nullable\": true,\n"
    "      \"right\": {\n"
    "       \"kind\": \"literal\",\n"
    "       \"type\": \"int64\",\n"
    "       \"value\": \"-1\"\n"
    "      },\n"
    "      \"type\": \"int64\"\n"
    "     },\n"
    "     \"name\": \"rest\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"kind\": \"binary\",\n"
    "      \"left\": {\n"
    "       \"kind\": \"column\",\n"
    "       \"nullable\": true,\n"
    "       \"path\": [\n"
    "        \"sold\"\n"
    "       ],\n"
    "       \"type\": \"bool\"\n"
    "      },\n"
    "      \"nullable\": true,\n"
    "      \"op\": \"and\",\n"
    "      \"right\": {\n"
    "       \"kind\": \"binary\",\n"
    "       \"left\": {\n"
    "        \"kind\": \"column\",\n"
    "        \"nullable\": true,\n"
    "        \"path\": [\n"
    "         \"amount\"\n"
    "        ],\n"
    "        \"type\": \"int32\"\n"
    "       },\n"
    "       \"nullable\": true,\n"
    "       \"op\": \">\",\n"
    "       \"right\": {\n"
    "        \"kind\": \"literal\",\n"
    "        \"type\": \"int32\",\n"
    "        \"value\": \"5\"\n"
    "       },\n"
    "       \"type\": \"bool\"\n"
    "      },\n"
    "      \"type\": \"bool\"\n"
    "     },\n"
    "     \"name\": \"big_sale\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"kind\": \"binary\",\n"
    "      \"left\": {\n"
    "       \"kind\": \"column\",\n"
    "       \"nullable\": true,\n"
    "       \"path\": [\n"
    "        \"sold\"\n"
    "       ],\n"
    "       \"type\": \"bool\"\n"
    "      },\n"
    "      \"nullable\": true,\n"
    "      \"op\": \"or\",\n"
    "      \"right\": {\n"
    "       \"kind\": \"binary\",\n"
    "       \"left\": {\n"
    "        \"kind\": \"column\",\n"
    "        \"nullable\": true,\n"
    "        \"path\": [\n"
    "         \"amount\"\n"
    "        ],\n"
    "        \"type\": \"int32\"\n"
    "       },\n"
    "       \"nullable\": true,\n"
    "       \"op\": \">\",\n"
    "       \"right\": {\n"
    "        \"kind\": \"literal\",\n"
    "        \"type\": \"int32\",\n"
    "        \"value\": \"5\"\n"
    "       },\n"
    "       \"type\": \"bool\"\n"
    "      },\n"
    "      \"type\": \"bool\"\n"
    "     },\n"
    "     \"name\": \"any_sale\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"kind\": \"binary\",\n"
    "      \"left\": {\n"
    "       \"kind\": \"binary\",\n"
    "       \"left\": {\n"
    "        \"args\": [\n"
    "         {\n"
    "          \"args\": [\n"
    "           {\n"
    "            \"kind\": \"column\",\n"
    "            \"path\": [\n"
    "             \"name\"\n"
    "            ],\n"
    "            \"type\": \"string\"\n"
    "           },\n"
    "           {\n"
    "            \"kind\": \"literal\",\n"
    "            \"type\": \"int64\",\n"
    "            \"value\": \"2\"\n"
    "           },\n"
    "           {\n"
    "            \"kind\": \"literal\",\n"
    "            \"type\": \"int64\",\n"
    "            \"value\": \"3\"\n"
    "           }\n"
    "          ],\n"
    "          \"function\": \"substring\",\n"
    "          \"kind\": \"call\",\n"
    "          \"type\": \"string\"\n"
    "         }\n"
    "        ],\n"
    "        \"function\": \"upper\",\n"
    "        \"kind\": \"call\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       \"op\": \"||\",\n"
    "       \"right\": {\n"
    "        \"kind\": \"literal\",\n"
    "        \"type\": \"string\",\n"
    "        \"value\": \"-\"\n"
    "       },\n"
    "       \"type\": \"string\"\n"
    "      },\n"
    "      \"op\": \"||\",\n"
    "      \"right\": {\n"
    "       \"args\": [\n"
    "        {\n"
    "         \"kind\": \"column\",\n"
    "         \"nullable\": true,\n"
    "         \"path\": [\n"
    "          \"note\"\n"
    "         ],\n"
    "         \"type\": \"string\"\n"
    "        },\n"
    "        {\n"
    "         \"kind\": \"literal\",\n"
    "         \"type\": \"string\",\n"
    "         \"value\": \"?\"\n"
    "        }\n"
    "       ],\n"
    "       \"function\": \"coalesce\",\n"
    "       \"kind\": \"call\",\n"
    "       \"type\": \"string\"\n"
    "      },\n"
    "      \"type\": \"string\"\n"
    "     },\n"
    "     \"name\": \"label\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"args\": [\n"
    "       {\n"
    "        \"kind\": \"column\",\n"
    "        \"path\": [\n"
    "         \"name\"\n"
    "        ],\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"kind\": \"literal\",\n"
    "        \"type\": \"string\",\n"
    "        \"value\": \"([a-z]+)(\\\\d*)\"\n"
    "       },\n"
    "       {\n"
    "        \"kind\": \"literal\",\n"
    "        \"type\": \"int64\",\n"
    "        \"value\": \"2\"\n"
    "       }\n"
    "      ],\n"
    "      \"function\": \"regexp_extract\",\n"
    "      \"kind\": \"call\",\n"
    "      \"nullable\": true,\n"
    "      \"type\": \"string\"\n"
    "     },\n"
    "     \"name\": \"digits\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"kind\": \"binary\",\n"
    "      \"left\": {\n"
    "       \"kind\": \"literal\",\n"
    "       \"type\": \"int32\",\n"
    "       \"value\": \"10\"\n"
    "      },\n"
    "      \"nullable\": true,\n"
    "      \"op\": \"/\",\n"
    "      \"right\": {\n"
    "       \"kind\": \"column\",\n"
    "       \"nullable\": true,\n"
    "       \"path\": [\n"
    "        \"amount\"\n"
    "       ],\n"
    "       \"type\": \"int32\"\n"
    "      },\n"
    "      \"type\": \"int32\"\n"
    "     },\n"
    "     \"name\": \"share\"\n"
    "    }\n"
    "   ],\n"
    "   \"node\": \"select\",\n"
    "   \"stream\": \"priced\"\n"
    "  },\n"
    "  {\n"
    "   \"append_revisions\": false,\n"
    "   \"commit_bytes\": 16777216,\n"
    "   \"commit_ms\": 100,\n"
    "   \"exactly_once\": true,\n"
    "   \"format\": \"jsonl\",\n"
    "   \"from\": \"priced\",\n"
    "   \"guarantee\": \"exactly once: cut back to the length in the last commit\",\n"
    "   \"key\": [],\n"
    "   \"kind\": \"file\",\n"
    "   \"name\": \"priced_rows\",\n"
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
    "    \"items\",\n"
    "    \"priced\"\n"
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
    " \"pipeline\": \"expressions\",\n"
    " \"stages\": [\n"
    "  {\n"
    "   \"source\": \"items\",\n"
    "   \"stage\": 0,\n"
    "   \"states\": []\n"
    "  }\n"
    " ]\n"
    "}\n";

static const struct pipe_plan plan = {
    .abi = PIPE_RUNTIME_ABI,
    .name = "expressions",
    .hash = "6f9a099a07f3f86c",
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
