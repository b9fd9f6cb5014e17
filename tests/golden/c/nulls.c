/* nulls.c: pipeline nulls, compiled from nulls.pipe by pipec. Change that file, not this. */
#include "pipe.h"

#if PIPE_RUNTIME_ABI != 1
#error "this file and libpipe do not fit together: compile the pipeline again"
#endif

/* Some comparison of the pipeline may be constant to C. That is for the pipeline to say. */
#pragma GCC diagnostic ignored "-Wtautological-compare"
#pragma GCC diagnostic ignored "-Wtype-limits"

/* ----------------------------------------------------------------------------------------------
 * Rows
 * ---------------------------------------------------------------------------------------------- */

struct items {
    struct pipe_str name;
    int64_t low;
    int64_t high;
    struct pipe_str note;
    bool sold;
    int64_t at;
    bool low_null;
    bool high_null;
    bool note_null;
    bool sold_null;
};

struct tested {
    struct pipe_str name;
    bool unsold;
    bool odd;
    bool no_sum;
    int64_t nothing;
    bool unsure;
    bool key;
    bool far;
    bool unkeyed;
    int64_t first_of;
    int64_t parsed;
    bool nothing_null;
    bool key_null;
    bool far_null;
    bool parsed_null;
};

struct within {
    struct pipe_str name;
    bool two;
    bool zero;
    bool fits;
    bool unfit;
    bool under;
    bool doubled;
    bool five;
    bool two_null;
    bool zero_null;
    bool fits_null;
    bool unfit_null;
    bool under_null;
    bool doubled_null;
};

struct counted {
    int64_t window_start;
    int64_t window_end;
    int64_t names;
    int64_t cases;
    int64_t notes;
    int64_t matched;
    int64_t all_rows;
    int64_t known;
    int64_t shares;
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
    STREAM_tested,
    STREAM_within,
    STREAM_counted,
    STREAM_refused,
    STREAM_reasons,
};

enum {
    STAGE_items,
    STAGE_counted,
};

enum {
    EXCHANGE_counted,
};

enum {
    SINK_tested_rows,
    SINK_within_rows,
    SINK_counted_rows,
    SINK_refusals,
};

enum { STATE_counted = 0 };

/* ----------------------------------------------------------------------------------------------
 * What the runtime knows of the rows
 * ---------------------------------------------------------------------------------------------- */

static const struct pipe_type type_string = {.kind = PIPE_STRING};
static const struct pipe_type type_int64 = {.kind = PIPE_INT64};
static const struct pipe_type type_bool = {.kind = PIPE_BOOL};
static const struct pipe_type type_timestamp_us = {.kind = PIPE_TIMESTAMP_US};

static const struct pipe_column items_columns[] = {
    {"name", &type_string, offsetof(struct items, name), .null_offset = PIPE_NOT_NULL},
    {"low", &type_int64, offsetof(struct items, low),
     .null_offset = offsetof(struct items, low_null), .null_first = false},
    {"high", &type_int64, offsetof(struct items, high),
     .null_offset = offsetof(struct items, high_null), .null_first = false},
    {"note", &type_string, offsetof(struct items, note),
     .null_offset = offsetof(struct items, note_null), .null_first = false},
    {"sold", &type_bool, offsetof(struct items, sold),
     .null_offset = offsetof(struct items, sold_null), .null_first = false},
    {"at", &type_timestamp_us, offsetof(struct items, at), .null_offset = PIPE_NOT_NULL},
};
static const struct pipe_row_type items_type = {"items", items_columns, 6, sizeof(struct items)};


static const struct pipe_column tested_columns[] = {
    {"name", &type_string, offsetof(struct tested, name), .null_offset = PIPE_NOT_NULL},
    {"unsold", &type_bool, offsetof(struct tested, unsold), .null_offset = PIPE_NOT_NULL},
    {"odd", &type_bool, offsetof(struct tested, odd), .null_offset = PIPE_NOT_NULL},
    {"no_sum", &type_bool, offsetof(struct tested, no_sum), .null_offset = PIPE_NOT_NULL},
    {"nothing", &type_int64, offsetof(struct tested, nothing),
     .null_offset = offsetof(struct tested, nothing_null), .null_first = false},
    {"unsure", &type_bool, offsetof(struct tested, unsure), .null_offset = PIPE_NOT_NULL},
    {"key", &type_bool, offsetof(struct tested, key),
     .null_offset = offsetof(struct tested, key_null), .null_first = false},
    {"far", &type_bool, offsetof(struct tested, far),
     .null_offset = offsetof(struct tested, far_null), .null_first = false},
    {"unkeyed", &type_bool, offsetof(struct tested, unkeyed), .null_offset = PIPE_NOT_NULL},
    {"first_of", &type_int64, offsetof(struct tested, first_of), .null_offset = PIPE_NOT_NULL},
    {"parsed", &type_int64, offsetof(struct tested, parsed),
     .null_offset = offsetof(struct tested, parsed_null), .null_first = false},
};
static const struct pipe_row_type tested_type = {"tested", tested_columns, 11,
                                                 sizeof(struct tested)};


static const struct pipe_column within_columns[] = {
    {"name", &type_string, offsetof(struct within, name), .null_offset = PIPE_NOT_NULL},
    {"two", &type_bool, offsetof(struct within, two),
     .null_offset = offsetof(struct within, two_null), .null_first = false},
    {"zero", &type_bool, offsetof(struct within, zero),
     .null_offset = offsetof(struct within, zero_null), .null_first = false},
    {"fits", &type_bool, offsetof(struct within, fits),
     .null_offset = offsetof(struct within, fits_null), .null_first = false},
    {"unfit", &type_bool, offsetof(struct within, unfit),
     .null_offset = offsetof(struct within, unfit_null), .null_first = false},
    {"under", &type_bool, offsetof(struct within, under),
     .null_offset = offsetof(struct within, under_null), .null_first = false},
    {"doubled", &type_bool, offsetof(struct within, doubled),
     .null_offset = offsetof(struct within, doubled_null), .null_first = false},
    {"five", &type_bool, offsetof(struct within, five), .null_offset = PIPE_NOT_NULL},
};
static const struct pipe_row_type within_type = {"within", within_columns, 8,
                                                 sizeof(struct within)};


static const struct pipe_column counted_columns[] = {
    {"window_start", &type_timestamp_us, offsetof(struct counted, window_start),
     .null_offset = PIPE_NOT_NULL},
    {"window_end", &type_timestamp_us, offsetof(struct counted, window_end),
     .null_offset = PIPE_NOT_NULL},
    {"names", &type_int64, offsetof(struct counted, names), .null_offset = PIPE_NOT_NULL},
    {"cases", &type_int64, offsetof(struct counted, cases), .null_offset = PIPE_NOT_NULL},
    {"notes", &type_int64, offsetof(struct counted, notes), .null_offset = PIPE_NOT_NULL},
    {"matched", &type_int64, offsetof(struct counted, matched), .null_offset = PIPE_NOT_NULL},
    {"all_rows", &type_int64, offsetof(struct counted, all_rows), .null_offset = PIPE_NOT_NULL},
    {"known", &type_int64, offsetof(struct counted, known), .null_offset = PIPE_NOT_NULL},
    {"shares", &type_int64, offsetof(struct counted, shares), .null_offset = PIPE_NOT_NULL},
};
static const struct pipe_row_type counted_type = {"counted", counted_columns, 9,
                                                  sizeof(struct counted)};


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
 * Constants behind `in`, sorted
 * ---------------------------------------------------------------------------------------------- */

static const struct pipe_str list_1[] = {
    {"", 0}, {"a", 1}, {"d", 1}, {"e", 1}, {"f", 1}, {"g", 1}, {"h", 1}, {"i", 1}, {"o", 1},
    {"p", 1}, {"q", 1}, {"r", 1}, {"s", 1}, {"t", 1}, {"u", 1}, {"w", 1}, {"y", 1},
};

static const int64_t list_2[] = {
    -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
};

/* ----------------------------------------------------------------------------------------------
 * JSON
 * ---------------------------------------------------------------------------------------------- */

static void json_of_tested(struct pipe_buf *buf, const struct tested *row)
{
    PIPE_JSON_RAW(buf, "{\"name\":");
    pipe_json_string(buf, row->name);
    PIPE_JSON_RAW(buf, ",\"unsold\":");
    pipe_json_bool(buf, row->unsold);
    PIPE_JSON_RAW(buf, ",\"odd\":");
    pipe_json_bool(buf, row->odd);
    PIPE_JSON_RAW(buf, ",\"no_sum\":");
    pipe_json_bool(buf, row->no_sum);
    PIPE_JSON_RAW(buf, ",\"nothing\":");
    if (row->nothing_null)
        pipe_json_null(buf);
    else
        pipe_json_i64(buf, row->nothing);
    PIPE_JSON_RAW(buf, ",\"unsure\":");
    pipe_json_bool(buf, row->unsure);
    PIPE_JSON_RAW(buf, ",\"key\":");
    if (row->key_null)
        pipe_json_null(buf);
    else
        pipe_json_bool(buf, row->key);
    PIPE_JSON_RAW(buf, ",\"far\":");
    if (row->far_null)
        pipe_json_null(buf);
    else
        pipe_json_bool(buf, row->far);
    PIPE_JSON_RAW(buf, ",\"unkeyed\":");
    pipe_json_bool(buf, row->unkeyed);
    PIPE_JSON_RAW(buf, ",\"first_of\":");
    pipe_json_i64(buf, row->first_of);
    PIPE_JSON_RAW(buf, ",\"parsed\":");
    if (row->parsed_null)
        pipe_json_null(buf);
    else
        pipe_json_i64(buf, row->parsed);
    PIPE_JSON_RAW(buf, "}");
}

static void json_of_within(struct pipe_buf *buf, const struct within *row)
{
    PIPE_JSON_RAW(buf, "{\"name\":");
    pipe_json_string(buf, row->name);
    PIPE_JSON_RAW(buf, ",\"two\":");
    if (row->two_null)
        pipe_json_null(buf);
    else
        pipe_json_bool(buf, row->two);
    PIPE_JSON_RAW(buf, ",\"zero\":");
    if (row->zero_null)
        pipe_json_null(buf);
    else
        pipe_json_bool(buf, row->zero);
    PIPE_JSON_RAW(buf, ",\"fits\":");
    if (row->fits_null)
        pipe_json_null(buf);
    else
        pipe_json_bool(buf, row->fits);
    PIPE_JSON_RAW(buf, ",\"unfit\":");
    if (row->unfit_null)
        pipe_json_null(buf);
    else
        pipe_json_bool(buf, row->unfit);
    PIPE_JSON_RAW(buf, ",\"under\":");
    if (row->under_null)
        pipe_json_null(buf);
    else
        pipe_json_bool(buf, row->under);
    PIPE_JSON_RAW(buf, ",\"doubled\":");
    if (row->doubled_null)
        pipe_json_null(buf);
    else
        pipe_json_bool(buf, row->doubled);
    PIPE_JSON_RAW(buf, ",\"five\":");
    pipe_json_bool(buf, row->five);
    PIPE_JSON_RAW(buf, "}");
}

static void json_of_counted(struct pipe_buf *buf, const struct counted *row)
{
    PIPE_JSON_RAW(buf, "{\"window_start\":");
    pipe_json_timestamp_us(buf, row->window_start);
    PIPE_JSON_RAW(buf, ",\"window_end\":");
    pipe_json_timestamp_us(buf, row->window_end);
    PIPE_JSON_RAW(buf, ",\"names\":");
    pipe_json_i64(buf, row->names);
    PIPE_JSON_RAW(buf, ",\"cases\":");
    pipe_json_i64(buf, row->cases);
    PIPE_JSON_RAW(buf, ",\"notes\":");
    pipe_json_i64(buf, row->notes);
    PIPE_JSON_RAW(buf, ",\"matched\":");
    pipe_json_i64(buf, row->matched);
    PIPE_JSON_RAW(buf, ",\"all_rows\":");
    pipe_json_i64(buf, row->all_rows);
    PIPE_JSON_RAW(buf, ",\"known\":");
    pipe_json_i64(buf, row->known);
    PIPE_JSON_RAW(buf, ",\"shares\":");
    pipe_json_i64(buf, row->shares);
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

static void push_tested(struct pipe_task *task, const struct pipe_record *record,
                        const struct items *row);
static void push_within(struct pipe_task *task, const struct pipe_record *record,
                        const struct items *row);
static void push_counted(struct pipe_task *task, const struct pipe_record *record,
                         const struct items *row);
static void push_refused(struct pipe_task *task, const struct pipe_record *record,
                         const struct pipe_reject *row);
static void reject_refused(struct pipe_task *task, const struct pipe_record *record,
                           const char *reason, const char *rule, const char *detail);
static void push_reasons(struct pipe_task *task, const struct pipe_record *record,
                         const struct pipe_reject *row);

/* ---- source items  (nulls.pipe:5) ---- */

static void out_items(struct pipe_task *task, const struct pipe_record *record,
                      const struct items *row)
{
    task->counters[STREAM_items].out++;
    push_tested(task, record, row);
    push_within(task, record, row);
    push_counted(task, record, row);
}

/* ---- stream tested from items  (nulls.pipe:19) ---- */

/* sink tested_rows from tested to file 'out/tested.jsonl' format jsonl exactly once
 * (nulls.pipe:69) */
static void sink_tested_rows(struct pipe_task *task, const struct pipe_record *record,
                             const struct tested *row)
{
    if (!pipe_encoded(task, row, (const void *)json_of_tested))
        json_of_tested(&task->value, row);
    pipe_emit(task, SINK_tested_rows, record, pipe_str_of(NULL, 0),
              pipe_str_of(task->value.data, task->value.size));
}

static void out_tested(struct pipe_task *task, const struct pipe_record *record,
                       const struct tested *row)
{
    task->counters[STREAM_tested].out++;
    if (!pipe_discards(task)) {
        sink_tested_rows(task, record, row);
    }
}

/* case when sold is not null and sold then note end is null (nulls.pipe:22) */
static bool tested_unsold(const struct items *row)
{
    struct pipe_str t1 = {0};
    bool t1_null = true;
    if (!row->sold_null && row->sold) {
        t1_null = row->note_null;
        if (!t1_null)
            t1 = row->note;
    }
    (void)t1;

    return t1_null;
}

/* case when length(name) > 3 then cast(note as int64) end is null (nulls.pipe:23). False: it
 * failed */
static bool tested_odd_try_1(const struct items *row, bool *value)
{
    int64_t t1 = 0;
    bool t1_null = true;
    if (pipe_fn_length(row->name) > 3) {
        int64_t t2 = 0;
        bool t2_null = row->note_null;
        if (!t2_null && !pipe_cast_string_i64(row->note, &t2))
            return false;
        t1_null = t2_null;
        if (!t1_null)
            t1 = t2;
    }
    (void)t1;

    *value = t1_null;
    return true;
}

/* try(case when length(name) > 3 then cast(note as int64) end is null, false) (nulls.pipe:23) */
static bool tested_odd(const struct items *row)
{
    bool t1 = false;
    if (!tested_odd_try_1(row, &t1)) {
        t1 = false;
    }

    return t1;
}

/* (case when sold is null then low end + 1) is null (nulls.pipe:24). False: it failed */
static bool tested_no_sum(const struct items *row, bool *value)
{
    int64_t t1 = 0;
    bool t1_null = true;
    if (row->sold_null) {
        t1_null = row->low_null;
        if (!t1_null)
            t1 = row->low;
    }
    int64_t t2 = 0;
    bool t2_null = t1_null;
    if (!t2_null && !pipe_add_i64(t1, 1, &t2))
        return false;
    (void)t2;

    *value = t2_null;
    return true;
}

/* (case when sold is null then low end) % -1 (nulls.pipe:25). False: null */
static bool tested_nothing(const struct items *row, int64_t *value)
{
    int64_t t1 = 0;
    bool t1_null = true;
    if (row->sold_null) {
        t1_null = row->low_null;
        if (!t1_null)
            t1 = row->low;
    }
    (void)t1;

    if (t1_null)
        return false;
    *value = 0;
    return true;
}

/* (note in ('a', 'b') or sold) is null (nulls.pipe:26) */
static bool tested_unsure(const struct items *row)
{
    bool t1 = !row->note_null &&
        (pipe_str_equal(row->note, PIPE_STR("a")) || pipe_str_equal(row->note, PIPE_STR("b")));
    bool t1_null = row->note_null;
    if (!t1) {
        if (row->sold_null) {
            t1_null = true;
        } else if (row->sold) {
            t1 = true;
            t1_null = false;
        }
    }
    (void)t1;

    return t1_null;
}

/* note in ('q', 'w', 'e', 'r', 't', 'y', 'u', 'i', 'o', 'p', 'a', 's', 'd', 'f', 'g', 'h', '')
 * (nulls.pipe:27). False: null */
static bool tested_key(const struct items *row, bool *value)
{
    if (row->note_null)
        return false;
    *value = pipe_fn_in_string(row->note, list_1, 17);
    return true;
}

/* low not in (9, 8, 7, 6, 5, 4, 3, 2, 1, 0, -1, -2, -3, -4, -5, -6, -7) (nulls.pipe:29). False:
 * null */
static bool tested_far(const struct items *row, bool *value)
{
    if (row->low_null)
        return false;
    *value = !pipe_fn_in_i64(row->low, list_2, 17);
    return true;
}

/* (note in ('q', 'w', 'e', 'r', 't', 'y', 'u', 'i', 'o', 'p', 'a', 's', 'd', 'f', 'g', 'h')) is
 * null (nulls.pipe:30) */
static bool tested_unkeyed(const struct items *row)
{
    return row->note_null;
}

/* coalesce(coalesce(coalesce(low, high), length(note)), 0) (nulls.pipe:32) */
static int64_t tested_first_of(const struct items *row)
{
    return !(((((row->low_null) && (row->high_null))) && (row->note_null)))
        ? (!(((row->low_null) && (row->high_null))) ? (!row->low_null ? row->low : row->high)
           : pipe_fn_length(row->note)) : 0;
}

/* coalesce(coalesce(low, cast(note as int64)), high) (nulls.pipe:33). False: it failed */
static bool tested_parsed(const struct items *row, int64_t *value, bool *null)
{
    int64_t t1 = 0;
    bool t1_null = row->low_null;
    if (!t1_null)
        t1 = row->low;
    if (t1_null) {
        int64_t t2 = 0;
        bool t2_null = row->note_null;
        if (!t2_null && !pipe_cast_string_i64(row->note, &t2))
            return false;
        t1_null = t2_null;
        if (!t1_null)
            t1 = t2;
    }
    int64_t t3 = 0;
    bool t3_null = t1_null;
    if (!t3_null)
        t3 = t1;
    if (t3_null) {
        t3_null = row->high_null;
        if (!t3_null)
            t3 = row->high;
    }

    *null = t3_null;
    if (!*null)
        *value = t3;
    return true;
}

/* select name, case when sold is not null and sold then note end is null as unsold, try(case
 * when length(name) > 3 then cast(note as int64) end is null, false) as odd, (case when sold is
 * null then low end + 1) is null as no_sum, (case when sold is null then low end) % -1 as
 * nothing, (note in ('a', 'b') or sold) is null as unsure, note in ('q', 'w', 'e', 'r', 't',
 * 'y', 'u', 'i', 'o', 'p', 'a', 's', 'd', 'f', 'g', 'h', '') as key, low not in (9, 8, 7, 6, 5,
 * 4, 3, 2, 1, 0, -1, -2, -3, -4, -5, -6, -7) as far, (note in ('q', 'w', 'e', 'r', 't', 'y',
 * 'u', 'i', 'o', 'p', 'a', 's', 'd', 'f', 'g', 'h')) is null as unkeyed,
 * coalesce(coalesce(coalesce(low, high), length(note)), 0) as first_of, coalesce(coalesce(low,
 * cast(note as int64)), high) as parsed (nulls.pipe:20) */
static void select_tested(struct pipe_task *task, const struct pipe_record *record,
                          const struct items *row)
{
    struct pipe_counters *count = &task->counters[STREAM_tested];
    struct tested out = {0};

    out.name = row->name;
    out.unsold = tested_unsold(row);
    out.odd = tested_odd(row);
    if (!tested_no_sum(row, &out.no_sum)) {
        count->select_rejected++;
        reject_refused(task, record, "expression_failed", "tested",
                       "(case when sold is null then low end + 1) is null");
        return;
    }
    out.nothing_null = !tested_nothing(row, &out.nothing);
    out.unsure = tested_unsure(row);
    out.key_null = !tested_key(row, &out.key);
    out.far_null = !tested_far(row, &out.far);
    out.unkeyed = tested_unkeyed(row);
    out.first_of = tested_first_of(row);
    if (!tested_parsed(row, &out.parsed, &out.parsed_null)) {
        count->select_rejected++;
        reject_refused(task, record, "expression_failed", "tested",
                       "coalesce(coalesce(low, cast(note as int64)), high)");
        return;
    }
    count->selected++;
    pipe_new_row(task);
    out_tested(task, record, &out);
}

static void push_tested(struct pipe_task *task, const struct pipe_record *record,
                        const struct items *row)
{
    struct pipe_counters *count = &task->counters[STREAM_tested];

    count->in++;
    count->passed++;
    select_tested(task, record, row);
}

/* ---- stream within from items  (nulls.pipe:36) ---- */

/* sink within_rows from within to file 'out/within.jsonl' format jsonl exactly once
 * (nulls.pipe:70) */
static void sink_within_rows(struct pipe_task *task, const struct pipe_record *record,
                             const struct within *row)
{
    if (!pipe_encoded(task, row, (const void *)json_of_within))
        json_of_within(&task->value, row);
    pipe_emit(task, SINK_within_rows, record, pipe_str_of(NULL, 0),
              pipe_str_of(task->value.data, task->value.size));
}

static void out_within(struct pipe_task *task, const struct pipe_record *record,
                       const struct within *row)
{
    task->counters[STREAM_within].out++;
    if (!pipe_discards(task)) {
        sink_within_rows(task, record, row);
    }
}

/* 2 between low and 1 (nulls.pipe:39). False: null */
static bool within_two(const struct items *row, bool *value)
{
    if ((row->low_null && 2 <= 1))
        return false;
    *value = 2 <= 1 && 2 >= row->low;
    return true;
}

/* 0 not between low and -1 (nulls.pipe:40). False: null */
static bool within_zero(const struct items *row, bool *value)
{
    if ((row->low_null && 0 <= -1))
        return false;
    *value = !(0 <= -1 && 0 >= row->low);
    return true;
}

/* length(name) between low and high (nulls.pipe:41). False: null */
static bool within_fits(const struct items *row, bool *value)
{
    int64_t t1 = pipe_fn_length(row->name);

    if ((row->low_null ? row->high_null || t1 <= row->high : row->high_null && t1 >= row->low))
        return false;
    *value = !row->low_null && t1 >= row->low && t1 <= row->high;
    return true;
}

/* length(name) not between low and high (nulls.pipe:42). False: null */
static bool within_unfit(const struct items *row, bool *value)
{
    int64_t t1 = pipe_fn_length(row->name);

    if ((row->low_null ? row->high_null || t1 <= row->high : row->high_null && t1 >= row->low))
        return false;
    *value = !(!row->low_null && t1 >= row->low && t1 <= row->high);
    return true;
}

/* low between 1 and high (nulls.pipe:43). False: null */
static bool within_under(const struct items *row, bool *value)
{
    if (row->low_null || (row->high_null && row->low >= 1))
        return false;
    *value = row->low >= 1 && row->low <= row->high;
    return true;
}

/* low between high and high * 2 (nulls.pipe:44). False: it failed */
static bool within_doubled(const struct items *row, bool *value, bool *null)
{
    int64_t t1 = 0;
    bool t1_null = row->high_null;
    if (!t1_null && !pipe_mul_i64(row->high, 2, &t1))
        return false;

    *null = row->low_null ||
        (row->high_null ? t1_null || row->low <= t1 : t1_null && row->low >= row->high);
    if (!*null)
        *value = !row->high_null && row->low >= row->high && row->low <= t1;
    return true;
}

/* coalesce(5 between low and high, false) (nulls.pipe:45) */
static bool within_five(const struct items *row)
{
    return !((row->low_null ? row->high_null || 5 <= row->high : row->high_null && 5 >= row->low))
        ? (!row->low_null && 5 >= row->low && 5 <= row->high) : false;
}

/* select name, 2 between low and 1 as two, 0 not between low and -1 as zero, length(name)
 * between low and high as fits, length(name) not between low and high as unfit, low between 1
 * and high as under, low between high and high * 2 as doubled, coalesce(5 between low and high,
 * false) as five (nulls.pipe:37) */
static void select_within(struct pipe_task *task, const struct pipe_record *record,
                          const struct items *row)
{
    struct pipe_counters *count = &task->counters[STREAM_within];
    struct within out = {0};

    out.name = row->name;
    out.two_null = !within_two(row, &out.two);
    out.zero_null = !within_zero(row, &out.zero);
    out.fits_null = !within_fits(row, &out.fits);
    out.unfit_null = !within_unfit(row, &out.unfit);
    out.under_null = !within_under(row, &out.under);
    if (!within_doubled(row, &out.doubled, &out.doubled_null)) {
        count->select_rejected++;
        reject_refused(task, record, "expression_failed", "within",
                       "low between high and high * 2");
        return;
    }
    out.five = within_five(row);
    count->selected++;
    pipe_new_row(task);
    out_within(task, record, &out);
}

static void push_within(struct pipe_task *task, const struct pipe_record *record,
                        const struct items *row)
{
    struct pipe_counters *count = &task->counters[STREAM_within];

    count->in++;
    count->passed++;
    select_within(task, record, row);
}

/* ---- stream counted from items  (nulls.pipe:48) ---- */

/* sink counted_rows from counted to file 'out/counted.jsonl' format jsonl exactly once
 * (nulls.pipe:71) */
static void sink_counted_rows(struct pipe_task *task, const struct pipe_record *record,
                              const struct counted *row)
{
    if (!pipe_encoded(task, row, (const void *)json_of_counted))
        json_of_counted(&task->value, row);
    pipe_emit(task, SINK_counted_rows, record, pipe_str_of(NULL, 0),
              pipe_str_of(task->value.data, task->value.size));
}

static void out_counted(struct pipe_task *task, const struct pipe_record *record,
                        const struct counted *row)
{
    task->counters[STREAM_counted].out++;
    if (!pipe_discards(task)) {
        sink_counted_rows(task, record, row);
    }
}

/* The key: one for all rows. */
static void key_counted(struct pipe_buf *key, const struct items *row)
{
    (void)row;

    key->size = 0;
}

/* window tumbling 1h (nulls.pipe:49) */
struct counted_acc {
    struct pipe_count names;
    struct pipe_count cases;
    struct pipe_count notes;
    struct pipe_count matched;
    struct pipe_count all_rows;
    struct pipe_count known;
    struct pipe_count shares;
};

static void counted_acc_init(void *acc)
{
    struct counted_acc *of = acc;

    pipe_count_init(&of->names);
    pipe_count_init(&of->cases);
    pipe_count_init(&of->notes);
    pipe_count_init(&of->matched);
    pipe_count_init(&of->all_rows);
    pipe_count_init(&of->known);
    pipe_count_init(&of->shares);
}

static void counted_acc_merge(void *into, const void *from)
{
    struct counted_acc *to = into;
    const struct counted_acc *other = from;

    pipe_count_merge(&to->names, &other->names);
    pipe_count_merge(&to->cases, &other->cases);
    pipe_count_merge(&to->notes, &other->notes);
    pipe_count_merge(&to->matched, &other->matched);
    pipe_count_merge(&to->all_rows, &other->all_rows);
    pipe_count_merge(&to->known, &other->known);
    pipe_count_merge(&to->shares, &other->shares);
}

static void counted_acc_save(const void *acc, struct pipe_buf *out)
{
    const struct counted_acc *of = acc;

    pipe_count_save(&of->names, out);
    pipe_count_save(&of->cases, out);
    pipe_count_save(&of->notes, out);
    pipe_count_save(&of->matched, out);
    pipe_count_save(&of->all_rows, out);
    pipe_count_save(&of->known, out);
    pipe_count_save(&of->shares, out);
}

static bool counted_acc_load(void *acc, struct pipe_reader *in)
{
    struct counted_acc *to = acc;

    return pipe_count_load(&to->names, in) && pipe_count_load(&to->cases, in) &&
        pipe_count_load(&to->notes, in) && pipe_count_load(&to->matched, in) &&
        pipe_count_load(&to->all_rows, in) && pipe_count_load(&to->known, in) &&
        pipe_count_load(&to->shares, in);
}

static void counted_acc_drop(void *acc)
{
    struct counted_acc *of = acc;

    pipe_count_drop(&of->names);
    pipe_count_drop(&of->cases);
    pipe_count_drop(&of->notes);
    pipe_count_drop(&of->matched);
    pipe_count_drop(&of->all_rows);
    pipe_count_drop(&of->known);
    pipe_count_drop(&of->shares);
}

static const struct pipe_accumulator counted_accumulator = {
    .size_bytes = sizeof(struct counted_acc),
    .plain = true,
    .init = counted_acc_init,
    .merge = counted_acc_merge,
    .save = counted_acc_save,
    .load = counted_acc_load,
    .drop = counted_acc_drop,
};

struct counted_args {
    int64_t shares;
    bool shares_null;
};

/* count(case when sold is null then note end) as notes (nulls.pipe:53) */
static bool counted_notes(const struct items *row)
{
    struct pipe_str t1 = {0};
    bool t1_null = true;
    if (row->sold_null) {
        t1_null = row->note_null;
        if (!t1_null)
            t1 = row->note;
    }
    (void)t1;

    return !t1_null;
}

/* count(10 / low) as shares (nulls.pipe:57). False: it failed */
static bool counted_shares(const struct items *row, int64_t *value, bool *null)
{
    int64_t t1 = 0;
    bool t1_null = row->low_null;
    if (!t1_null && !pipe_div_i64(10, row->low, &t1))
        return false;

    *null = t1_null;
    if (!*null)
        *value = t1;
    return true;
}

static void update_counted(struct counted_acc *acc, const struct items *row,
                           const struct counted_args *args)
{
    pipe_count_update(&acc->names);
    pipe_count_update(&acc->cases);
    if (counted_notes(row))
        pipe_count_update(&acc->notes);
    if (!row->note_null)
        pipe_count_update(&acc->matched);
    pipe_count_update(&acc->all_rows);
    if (!(row->low_null || (row->high_null && row->low >= 1)))
        pipe_count_update(&acc->known);
    if (!args->shares_null)
        pipe_count_update(&acc->shares);
}

static void keep_counted(struct pipe_task *task, const struct pipe_record *record,
                         const struct items *row)
{
    struct pipe_counters *count = &task->counters[STREAM_counted];
    struct counted_args args = {0};

    if (!counted_shares(row, &args.shares, &args.shares_null)) {
        count->select_rejected++;
        reject_refused(task, record, "expression_failed", "counted", "10 / low");
        return;
    }
    count->selected++;
    key_counted(&task->key, row);
    struct pipe_window_hit hit = pipe_window(task, STATE_counted, record, false);
    if (hit.acc != NULL)
        update_counted(hit.acc, row, &args);
}

/* The row of a window that is due. */
static bool emit_counted(struct pipe_task *task, const struct pipe_window_row *window)
{
    if (pipe_discards(task)) { /* nobody reads it */
        task->counters[STREAM_counted].out++;
        return true;
    }

    const struct counted_acc *acc = window->acc;
    struct pipe_arena_mark mark = pipe_arena_mark(&task->arena);
    struct counted out = {0};
    const struct pipe_record record = {
        .kafka_time_ms = window->kafka_time_ms,
        .event_time = window->end - PIPE_US(1),
        .watermark = window->watermark,
    };

    out.window_start = pipe_column_ts_us(window->start);
    out.window_end = pipe_column_ts_us(window->end);
    pipe_count_finish(&acc->names, &out.names, NULL);
    pipe_count_finish(&acc->cases, &out.cases, NULL);
    pipe_count_finish(&acc->notes, &out.notes, NULL);
    pipe_count_finish(&acc->matched, &out.matched, NULL);
    pipe_count_finish(&acc->all_rows, &out.all_rows, NULL);
    pipe_count_finish(&acc->known, &out.known, NULL);
    pipe_count_finish(&acc->shares, &out.shares, NULL);
    pipe_new_row(task);
    out_counted(task, &record, &out);
    pipe_arena_back_to(&task->arena, mark);
    return true;
}

static void push_counted(struct pipe_task *task, const struct pipe_record *record,
                         const struct items *row)
{
    struct pipe_counters *count = &task->counters[STREAM_counted];

    count->in++;
    count->passed++;
    keep_counted(task, record, row);
}

/* ---- reject stream refused  (nulls.pipe:17) ---- */

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

/* ---- stream reasons from refused  (nulls.pipe:62) ---- */

/* sink refusals from reasons to file 'out/refused.jsonl' format jsonl exactly once
 * (nulls.pipe:72) */
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

/* select reason, rule, detail, offset (nulls.pipe:63) */
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

    record->event_time = row->at;
    reason = pipe_judge_time(task, record, record->event_time);
    if (reason != NULL)
        return refuse_items(task, record, reason, task->detail);

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
        .has_event_time = true,
        .ahead = 0,
        .has_watermark = true,
        .watermark = 0,
        .idle = 0,
        .stage = STAGE_items,
    },
};

static const struct pipe_stream_def streams[] = {
    [STREAM_items] = {.name = "items", .kind = PIPE_STREAM_SOURCE},
    [STREAM_tested] = {.name = "tested", .kind = PIPE_STREAM_NORMAL,
                       .inputs = (const uint32_t[]){STREAM_items}, .input_count = 1,
                       .has_select = true},
    [STREAM_within] = {.name = "within", .kind = PIPE_STREAM_NORMAL,
                       .inputs = (const uint32_t[]){STREAM_items}, .input_count = 1,
                       .has_select = true},
    [STREAM_counted] = {.name = "counted", .kind = PIPE_STREAM_NORMAL,
                        .inputs = (const uint32_t[]){STREAM_items}, .input_count = 1,
                        .has_select = true, .has_window = true, .has_exchange = true},
    [STREAM_refused] = {.name = "refused", .kind = PIPE_STREAM_REJECTS,
                        .inputs = (const uint32_t[]){STREAM_items, STREAM_tested, STREAM_within,
                                                     STREAM_counted}, .input_count = 4},
    [STREAM_reasons] = {.name = "reasons", .kind = PIPE_STREAM_NORMAL,
                        .inputs = (const uint32_t[]){STREAM_refused}, .input_count = 1,
                        .has_select = true},
};

static const struct pipe_state_def states_of_items[] = {
    {
        .kind = PIPE_STATE_WINDOW,
        .name = "counted",
        .stream = STREAM_counted,
        .size = PIPE_HOURS(1),
        .every = PIPE_HOURS(1),
        .emit = PIPE_EMIT_CLOSE,
        .phase = PIPE_PHASE_PARTIAL,
        .exchange = EXCHANGE_counted,
        .acc = &counted_accumulator,
    },
};

static const uint32_t exchanges_of_items[] = {EXCHANGE_counted};
static const int64_t delays_of_items[] = {0};

static const struct pipe_state_def states_of_counted[] = {
    {
        .kind = PIPE_STATE_WINDOW,
        .name = "counted",
        .stream = STREAM_counted,
        .size = PIPE_HOURS(1),
        .every = PIPE_HOURS(1),
        .emit = PIPE_EMIT_CLOSE,
        .phase = PIPE_PHASE_MERGE,
        .exchange = EXCHANGE_counted,
        .acc = &counted_accumulator,
        .emit_row = emit_counted,
    },
};

static const struct pipe_stage_def stages[] = {
    [STAGE_items] = {
        .name = "items",
        .source = 0,
        .exchange = -1,
        .record = record_items,
        .states = states_of_items,
        .state_count = 1,
        .exchanges_out = exchanges_of_items,
        .exchange_delays = delays_of_items,
        .exchange_out_count = 1,
    },
    [STAGE_counted] = {
        .name = "counted",
        .source = -1,
        .exchange = 0,
        .record = NULL,
        .states = states_of_counted,
        .state_count = 1,
    },
};

static const struct pipe_exchange_def exchanges[] = {
    [EXCHANGE_counted] = {.name = "counted", .partitions = 1, .partials = true,
                          .to_stage = STAGE_counted, .reason = "the source declares no key"},
};

static const struct pipe_sink_def sinks[] = {
    [SINK_tested_rows] = {
        .name = "tested_rows",
        .stream = STREAM_tested,
        .kind = PIPE_SINK_FILE,
        .target = "out/tested.jsonl",
        .format = PIPE_FORMAT_JSONL,
        .row = &tested_type,
        .exactly_once = true,
    },
    [SINK_within_rows] = {
        .name = "within_rows",
        .stream = STREAM_within,
        .kind = PIPE_SINK_FILE,
        .target = "out/within.jsonl",
        .format = PIPE_FORMAT_JSONL,
        .row = &within_type,
        .exactly_once = true,
    },
    [SINK_counted_rows] = {
        .name = "counted_rows",
        .stream = STREAM_counted,
        .kind = PIPE_SINK_FILE,
        .target = "out/counted.jsonl",
        .format = PIPE_FORMAT_JSONL,
        .row = &counted_type,
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
    "nulls   plan 20af89d1\n"
    "  1 file source items                    one partition a file; csv; event time at, "
    "watermark 0s\n"
    "  2   stream tested                      from items\n"
    "  3     select                           name, case when sold is not null and sold "
    "then note end is null as unsold, try(case when length(name) > 3 then cast(note as "
    "int64) end is null, false) as odd, case when sold is null then low end + 1 is null "
    "as no_sum, case when sold is null then low end % -1 as nothing, (note in ('a', 'b') "
    "or sold) is null as unsure, note in ('q', 'w', 'e', 'r', 't', 'y', 'u', 'i', 'o', "
    "'p', 'a', 's', 'd', 'f', 'g', 'h', '') as key, low not in (9, 8, 7, 6, 5, 4, 3, 2, "
    "1, 0, -1, -2, -3, -4, -5, -6, -7) as far, (note in ('q', 'w', 'e', 'r', 't', 'y', "
    "'u', 'i', 'o', 'p', 'a', 's', 'd', 'f', 'g', 'h')) is null as unkeyed, "
    "coalesce(coalesce(coalesce(low, high), length(note)), 0) as first_of, "
    "coalesce(coalesce(low, cast(note as int64)), high) as parsed\n"
    "  4     file sink tested_rows            jsonl; exactly once: cut back to the "
    "length in the last commit\n"
    "  5   stream within                      from items\n"
    "  6     select                           name, 2 between low and 1 as two, 0 not "
    "between low and -1 as zero, length(name) between low and high as fits, length(name) "
    "not between low and high as unfit, low between 1 and high as under, low between "
    "high and high * 2 as doubled, coalesce(5 between low and high, false) as five\n"
    "  7     file sink within_rows            jsonl; exactly once: cut back to the "
    "length in the last commit\n"
    "  8   stream counted                     from items\n"
    "  9     exchange counted                 partials by one group, 1 partition: the "
    "source declares no key\n"
    " 10     window counted                   STATE counted  tumbling 1h, emit on close; "
    "merges the partials; late rows are dropped and counted\n"
    " 11     file sink counted_rows           jsonl; exactly once: cut back to the "
    "length in the last commit\n"
    " 12 rejects refused                      from items, tested, within, counted\n"
    " 13   stream reasons                     from refused\n"
    " 14     select                           reason, rule, detail, offset\n"
    " 15     file sink refusals               jsonl; exactly once: cut back to the "
    "length in the last commit\n"
    "\n"
    "stages\n"
    "  0 reads source items: one task a file; state counted (partials)\n"
    "  1 reads exchange counted: 1 task; state counted (merge)\n";

static const char plan_json[] =
    "{\n"
    " \"hash\": \"20af89d134a1dbad\",\n"
    " \"nodes\": [\n"
    "  {\n"
    "   \"ahead_ms\": 0,\n"
    "   \"columns\": [\n"
    "    {\n"
    "     \"name\": \"name\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"low\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"high\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int64\"\n"
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
    "   \"name\": \"items\",\n"
    "   \"node\": \"source\",\n"
    "   \"partitions\": 0,\n"
    "   \"payload\": [\n"
    "    {\n"
    "     \"name\": \"name\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"low\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"high\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int64\"\n"
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
    "     \"name\": \"name\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"unsold\",\n"
    "     \"type\": \"bool\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"odd\",\n"
    "     \"type\": \"bool\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"no_sum\",\n"
    "     \"type\": \"bool\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"nothing\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"unsure\",\n"
    "     \"type\": \"bool\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"key\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"bool\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"far\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"bool\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"unkeyed\",\n"
    "     \"type\": \"bool\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"first_of\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"parsed\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int64\"\n"
    "    }\n"
    "   ],\n"
    "   \"inputs\": [\n"
    "    \"items\"\n"
    "   ],\n"
    "   \"name\": \"tested\",\n"
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
    "     \"name\": \"unsold\",\n"
    "     \"type\": \"bool\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"odd\",\n"
    "     \"type\": \"bool\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"no_sum\",\n"
    "     \"type\": \"bool\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"nothing\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"unsure\",\n"
    "     \"type\": \"bool\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"key\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"bool\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"far\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"bool\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"unkeyed\",\n"
    "     \"type\": \"bool\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"first_of\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"parsed\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"int64\"\n"
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
    "      \"kind\": \"is_null\",\n"
    "      \"left\": {\n"
    "       \"kind\": \"case\",\n"
    "       \"nullable\": true,\n"
    "       \"type\": \"string\",\n"
    "       \"whens\": [\n"
    "        {\n"
    "         \"then\": {\n"
    "          \"kind\": \"column\",\n"
    "          \"nullable\": true,\n"
    "          \"path\": [\n"
    "           \"note\"\n"
    "          ],\n"
    "          \"type\": \"string\"\n"
    "         },\n"
    "         \"when\": {\n"
    "          \"kind\": \"binary\",\n"
    "          \"left\": {\n"
    "           \"kind\": \"is_null\",\n"
    "           \"left\": {\n"
    "            \"kind\": \"column\",\n"
    "            \"nullable\": true,\n"
    "            \"path\": [\n"
    "             \"sold\"\n"
    "            ],\n"
    "            \"type\": \"bool\"\n"
    "           },\n"
    "           \"negated\": true,\n"
    "           \"type\": \"bool\"\n"
    "          },\n"
    "          \"op\": \"and\",\n"
    "          \"right\": {\n"
    "           \"kind\": \"column\",\n"
    "           \"path\": [\n"
    "            \"sold\"\n"
    "           ],\n"
    "           \"type\": \"bool\"\n"
    "          },\n"
    "          \"type\": \"bool\"\n"
    "         }\n"
    "        }\n"
    "       ]\n"
    "      },\n"
    "      \"type\": \"bool\"\n"
    "     },\n"
    "     \"name\": \"unsold\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"kind\": \"try\",\n"
    "      \"left\": {\n"
    "       \"kind\": \"is_null\",\n"
    "       \"left\": {\n"
    "        \"kind\": \"case\",\n"
    "        \"nullable\": true,\n"
    "        \"type\": \"int64\",\n"
    "        \"whens\": [\n"
    "         {\n"
    "          \"then\": {\n"
    "           \"kind\": \"cast\",\n"
    "           \"left\": {\n"
    "            \"kind\": \"column\",\n"
    "            \"nullable\": true,\n"
    "            \"path\": [\n"
    "             \"note\"\n"
    "            ],\n"
    "            \"type\": \"string\"\n"
    "           },\n"
    "           \"nullable\": true,\n"
    "           \"type\": \"int64\"\n"
    "          },\n"
    "          \"when\": {\n"
    "           \"kind\": \"binary\",\n"
    "           \"left\": {\n"
    "            \"args\": [\n"
    "             {\n"
    "              \"kind\": \"column\",\n"
    "              \"path\": [\n"
    "               \"name\"\n"
    "              ],\n"
    "              \"type\": \"string\"\n"
    "             }\n"
    "            ],\n"
    "            \"function\": \"length\",\n"
    "            \"kind\": \"call\",\n"
    "            \"type\": \"int64\"\n"
    "           },\n"
    "           \"op\": \">\",\n"
    "           \"right\": {\n"
    "            \"kind\": \"literal\",\n"
    "            \"type\": \"int64\",\n"
    "            \"value\": \"3\"\n"
    "           },\n"
    "           \"type\": \"bool\"\n"
    "          }\n"
    "         }\n"
    "        ]\n"
    "       },\n"
    "       \"type\": \"bool\"\n"
    "      },\n"
    "      \"right\": {\n"
    "       \"kind\": \"literal\",\n"
    "       \"type\": \"bool\",\n"
    "       \"value\": false\n"
    "      },\n"
    "      \"type\": \"bool\"\n"
    "     },\n"
    "     \"name\": \"odd\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"kind\": \"is_null\",\n"
    "      \"left\": {\n"
    "       \"kind\": \"binary\",\n"
    "       \"left\": {\n"
    "        \"kind\": \"case\",\n"
    "        \"nullable\": true,\n"
    "        \"type\": \"int64\",\n"
    "        \"whens\": [\n"
    "         {\n"
    "          \"then\": {\n"
    "           \"kind\": \"column\",\n"
    "           \"nullable\": true,\n"
    "           \"path\": [\n"
    "            \"low\"\n"
    "           ],\n"
    "           \"type\": \"int64\"\n"
    "          },\n"
    "          \"when\": {\n"
    "           \"kind\": \"is_null\",\n"
    "           \"left\": {\n"
    "            \"kind\": \"column\",\n"
    "            \"nullable\": true,\n"
    "            \"path\": [\n"
    "             \"sold\"\n"
    "            ],\n"
    "            \"type\": \"bool\"\n"
    "           },\n"
    "           \"type\": \"bool\"\n"
    "          }\n"
    "         }\n"
    "        ]\n"
    "       },\n"
    "       \"nullable\": true,\n"
    "       \"op\": \"+\",\n"
    "       \"right\": {\n"
    "        \"kind\": \"literal\",\n"
    "        \"type\": \"int64\",\n"
    "        \"value\": \"1\"\n"
    "       },\n"
    "       \"type\": \"int64\"\n"
    "      },\n"
    "      \"type\": \"bool\"\n"
    "     },\n"
    "     \"name\": \"no_sum\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"kind\": \"binary\",\n"
    "      \"left\": {\n"
    "       \"kind\": \"case\",\n"
    "       \"nullable\": true,\n"
    "       \"type\": \"int64\",\n"
    "       \"whens\": [\n"
    "        {\n"
    "         \"then\": {\n"
    "          \"kind\": \"column\",\n"
    "          \"nullable\": true,\n"
    "          \"path\": [\n"
    "           \"low\"\n"
    "          ],\n"
    "          \"type\": \"int64\"\n"
    "         },\n"
    "         \"when\": {\n"
    "          \"kind\": \"is_null\",\n"
    "          \"left\": {\n"
    "           \"kind\": \"column\",\n"
    "           \"nullable\": true,\n"
    "           \"path\": [\n"
    "            \"sold\"\n"
    "           ],\n"
    "           \"type\": \"bool\"\n"
    "          },\n"
    "          \"type\": \"bool\"\n"
    "         }\n"
    "        }\n"
    "       ]\n"
    "      },\n"
    "      \"nullable\": true,\n"
    "      \"op\": \"%\",\n"
    "      \"right\": {\n"
    "       \"kind\": \"literal\",\n"
    "       \"type\": \"int64\",\n"
    "       \"value\": \"-1\"\n"
    "      },\n"
    "      \"type\": \"int64\"\n"
    "     },\n"
    "     \"name\": \"nothing\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"kind\": \"is_null\",\n"
    "      \"left\": {\n"
    "       \"kind\": \"binary\",\n"
    "       \"left\": {\n"
    "        \"args\": [\n"
    "         {\n"
    "          \"kind\": \"literal\",\n"
    "          \"type\": \"string\",\n"
    "          \"value\": \"a\"\n"
    "         },\n"
    "         {\n"
    "          \"kind\": \"literal\",\n"
    "          \"type\": \"string\",\n"
    "          \"value\": \"b\"\n"
    "         }\n"
    "        ],\n"
    "        \"kind\": \"in\",\n"
    "        \"left\": {\n"
    "         \"kind\": \"column\",\n"
    "         \"nullable\": true,\n"
    "         \"path\": [\n"
    "          \"note\"\n"
    "         ],\n"
    "         \"type\": \"string\"\n"
    "        },\n"
    "        \"nullable\": true,\n"
    "        \"type\": \"bool\"\n"
    "       },\n"
    "       \"nullable\": true,\n"
    "       \"op\": \"or\",\n"
    "       \"right\": {\n"
    "        \"kind\": \"column\",\n"
    "        \"nullable\": true,\n"
    "        \"path\": [\n"
    "         \"sold\"\n"
    "        ],\n"
    "        \"type\": \"bool\"\n"
    "       },\n"
    "       \"type\": \"bool\"\n"
    "      },\n"
    "      \"type\": \"bool\"\n"
    "     },\n"
    "     \"name\": \"unsure\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"args\": [\n"
    "       {\n"
    "        \"kind\": \"literal\",\n"
    "        \"type\": \"string\",\n"
    "        \"value\": \"q\"\n"
    "       },\n"
    "       {\n"
    "        \"kind\": \"literal\",\n"
    "        \"type\": \"string\",\n"
    "        \"value\": \"w\"\n"
    "       },\n"
    "       {\n"
    "        \"kind\": \"literal\",\n"
    "        \"type\": \"string\",\n"
    "        \"value\": \"e\"\n"
    "       },\n"
    "       {\n"
    "        \"kind\": \"literal\",\n"
    "        \"type\": \"string\",\n"
    "        \"value\": \"r\"\n"
    "       },\n"
    "       {\n"
    "        \"kind\": \"literal\",\n"
    "        \"type\": \"string\",\n"
    "        \"value\": \"t\"\n"
    "       },\n"
    "       {\n"
    "        \"kind\": \"literal\",\n"
    "        \"type\": \"string\",\n"
    "        \"value\": \"y\"\n"
    "       },\n"
    "       {\n"
    "        \"kind\": \"literal\",\n"
    "        \"type\": \"string\",\n"
    "        \"value\": \"u\"\n"
    "       },\n"
    "       {\n"
    "        \"kind\": \"literal\",\n"
    "        \"type\": \"string\",\n"
    "        \"value\": \"i\"\n"
    "       },\n"
    "       {\n"
    "        \"kind\": \"literal\",\n"
    "        \"type\": \"string\",\n"
    "        \"value\": \"o\"\n"
    "       },\n"
    "       {\n"
    "        \"kind\": \"literal\",\n"
    "        \"type\": \"string\",\n"
    "        \"value\": \"p\"\n"
    "       },\n"
    "       {\n"
    "        \"kind\": \"literal\",\n"
    "        \"type\": \"string\",\n"
    "        \"value\": \"a\"\n"
    "       },\n"
    "       {\n"
    "        \"kind\": \"literal\",\n"
    "        \"type\": \"string\",\n"
    "        \"value\": \"s\"\n"
    "       },\n"
    "       {\n"
    "        \"kind\": \"literal\",\n"
    "        \"type\": \"string\",\n"
    "        \"value\": \"d\"\n"
    "       },\n"
    "       {\n"
    "        \"kind\": \"literal\",\n"
    "        \"type\": \"string\",\n"
    "        \"value\": \"f\"\n"
    "       },\n"
    "       {\n"
    "        \"kind\": \"literal\",\n"
    "        \"type\": \"string\",\n"
    "        \"value\": \"g\"\n"
    "       },\n"
    "       {\n"
    "        \"kind\": \"literal\",\n"
    "        \"type\": \"string\",\n"
    "        \"value\": \"h\"\n"
    "       },\n"
    "       {\n"
    "        \"kind\": \"literal\",\n"
    "        \"type\": \"string\",\n"
    "        \"value\": \"\"\n"
    "       }\n"
    "      ],\n"
    "      \"kind\": \"in\",\n"
    "      \"left\": {\n"
    "       \"kind\": \"column\",\n"
    "       \"nullable\": true,\n"
    "       \"path\": [\n"
    "        \"note\"\n"
    "       ],\n"
    "       \"type\": \"string\"\n"
    "      },\n"
    "      \"nullable\": true,\n"
    "      \"type\": \"bool\"\n"
    "     },\n"
    "     \"name\": \"key\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"args\": [\n"
    "       {\n"
    "        \"kind\": \"literal\",\n"
    "        \"type\": \"int64\",\n"
    "        \"value\": \"9\"\n"
    "       },\n"
    "       {\n"
    "        \"kind\": \"literal\",\n"
    "        \"type\": \"int64\",\n"
    "        \"value\": \"8\"\n"
    "       },\n"
    "       {\n"
    "        \"kind\": \"literal\",\n"
    "        \"type\": \"int64\",\n"
    "        \"value\": \"7\"\n"
    "       },\n"
    "       {\n"
    "        \"kind\": \"literal\",\n"
    "        \"type\": \"int64\",\n"
    "        \"value\": \"6\"\n"
    "       },\n"
    "       {\n"
    "        \"kind\": \"literal\",\n"
    "        \"type\": \"int64\",\n"
    "        \"value\": \"5\"\n"
    "       },\n"
    "       {\n"
    "        \"kind\": \"literal\",\n"
    "        \"type\": \"int64\",\n"
    "        \"value\": \"4\"\n"
    "       },\n"
    "       {\n"
    "        \"kind\": \"literal\",\n"
    "        \"type\": \"int64\",\n"
    "        \"value\": \"3\"\n"
    "       },\n"
    "       {\n"
    "        \"kind\": \"literal\",\n"
    "        \"type\": \"int64\",\n"
    "        \"value\": \"2\"\n"
    "       },\n"
    "       {\n"
    "        \"kind\": \"literal\",\n"
    "        \"type\": \"int64\",\n"
    "        \"value\": \"1\"\n"
    "       },\n"
    "       {\n"
    "        \"kind\": \"literal\",\n"
    "        \"type\": \"int64\",\n"
    "        \"value\": \"0\"\n"
    "       },\n"
    "       {\n"
    "        \"kind\": \"literal\",\n"
    "        \"type\": \"int64\",\n"
    "        \"value\": \"-1\"\n"
    "       },\n"
    "       {\n"
    "        \"kind\": \"literal\",\n"
    "        \"type\": \"int64\",\n"
    "        \"value\": \"-2\"\n"
    "       },\n"
    "       {\n"
    "        \"kind\": \"literal\",\n"
    "        \"type\": \"int64\",\n"
    "        \"value\": \"-3\"\n"
    "       },\n"
    "       {\n"
    "        \"kind\": \"literal\",\n"
    "        \"type\": \"int64\",\n"
    "        \"value\": \"-4\"\n"
    "       },\n"
    "       {\n"
    "        \"kind\": \"literal\",\n"
    "        \"type\": \"int64\",\n"
    "        \"value\": \"-5\"\n"
    "       },\n"
    "       {\n"
    "        \"kind\": \"literal\",\n"
    "        \"type\": \"int64\",\n"
    "        \"value\": \"-6\"\n"
    "       },\n"
    "       {\n"
    "        \"kind\": \"literal\",\n"
    "        \"type\": \"int64\",\n"
    "        \"value\": \"-7\"\n"
    "       }\n"
    "      ],\n"
    "      \"kind\": \"in\",\n"
    "      \"left\": {\n"
    "       \"kind\": \"column\",\n"
    "       \"nullable\": true,\n"
    "       \"path\": [\n"
    "        \"low\"\n"
    "       ],\n"
    "       \"type\": \"int64\"\n"
    "      },\n"
    "      \"negated\": true,\n"
    "      \"nullable\": true,\n"
    "      \"type\": \"bool\"\n"
    "     },\n"
    "     \"name\": \"far\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"kind\": \"is_null\",\n"
    "      \"left\": {\n"
    "       \"args\": [\n"
    "        {\n"
    "         \"kind\": \"literal\",\n"
    "         \"type\": \"string\",\n"
    "         \"value\": \"q\"\n"
    "        },\n"
    "        {\n"
    "         \"kind\": \"literal\",\n"
    "         \"type\": \"string\",\n"
    "         \"value\": \"w\"\n"
    "        },\n"
    "        {\n"
    "         \"kind\": \"literal\",\n"
    "         \"type\": \"string\",\n"
    "         \"value\": \"e\"\n"
    "        },\n"
    "        {\n"
    "         \"kind\": \"literal\",\n"
    "         \"type\": \"string\",\n"
    "         \"value\": \"r\"\n"
    "        },\n"
    "        {\n"
    "         \"kind\": \"literal\",\n"
    "         \"type\": \"string\",\n"
    "         \"value\": \"t\"\n"
    "        },\n"
    "        {\n"
    "         \"kind\": \"literal\",\n"
    "         \"type\": \"string\",\n"
    "         \"value\": \"y\"\n"
    "        },\n"
    "        {\n"
    "         \"kind\": \"literal\",\n"
    "         \"type\": \"string\",\n"
    "         \"value\": \"u\"\n"
    "        },\n"
    "        {\n"
    "         \"kind\": \"literal\",\n"
    "         \"type\": \"string\",\n"
    "         \"value\": \"i\"\n"
    "        },\n"
    "        {\n"
    "         \"kind\": \"literal\",\n"
    "         \"type\": \"string\",\n"
    "         \"value\": \"o\"\n"
    "        },\n"
    "        {\n"
    "         \"kind\": \"literal\",\n"
    "         \"type\": \"string\",\n"
    "         \"value\": \"p\"\n"
    "        },\n"
    "        {\n"
    "         \"kind\": \"literal\",\n"
    "         \"type\": \"string\",\n"
    "         \"value\": \"a\"\n"
    "        },\n"
    "        {\n"
    "         \"kind\": \"literal\",\n"
    "         \"type\": \"string\",\n"
    "         \"value\": \"s\"\n"
    "        },\n"
    "        {\n"
    "         \"kind\": \"literal\",\n"
    "         \"type\": \"string\",\n"
    "         \"value\": \"d\"\n"
    "        },\n"
    "        {\n"
    "         \"kind\": \"literal\",\n"
    "         \"type\": \"string\",\n"
    "         \"value\": \"f\"\n"
    "        },\n"
    "        {\n"
    "         \"kind\": \"literal\",\n"
    "         \"type\": \"string\",\n"
    "         \"value\": \"g\"\n"
    "        },\n"
    "        {\n"
    "         \"kind\": \"literal\",\n"
    "         \"type\": \"string\",\n"
    "         \"value\": \"h\"\n"
    "        }\n"
    "       ],\n"
    "       \"kind\": \"in\",\n"
    "       \"left\": {\n"
    "        \"kind\": \"column\",\n"
    "        \"nullable\": true,\n"
    "        \"path\": [\n"
    "         \"note\"\n"
    "        ],\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       \"nullable\": true,\n"
    "       \"type\": \"bool\"\n"
    "      },\n"
    "      \"type\": \"bool\"\n"
    "     },\n"
    "     \"name\": \"unkeyed\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"args\": [\n"
    "       {\n"
    "        \"args\": [\n"
    "         {\n"
    "          \"args\": [\n"
    "           {\n"
    "            \"kind\": \"column\",\n"
    "            \"nullable\": true,\n"
    "            \"path\": [\n"
    "             \"low\"\n"
    "            ],\n"
    "            \"type\": \"int64\"\n"
    "           },\n"
    "           {\n"
    "            \"kind\": \"column\",\n"
    "            \"nullable\": true,\n"
    "            \"path\": [\n"
    "             \"high\"\n"
    "            ],\n"
    "            \"type\": \"int64\"\n"
    "           }\n"
    "          ],\n"
    "          \"function\": \"coalesce\",\n"
    "          \"kind\": \"call\",\n"
    "          \"nullable\": true,\n"
    "          \"type\": \"int64\"\n"
    "         },\n"
    "         {\n"
    "          \"args\": [\n"
    "           {\n"
    "            \"kind\": \"column\",\n"
    "            \"nullable\": true,\n"
    "            \"path\": [\n"
    "             \"note\"\n"
    "            ],\n"
    "            \"type\": \"string\"\n"
    "           }\n"
    "          ],\n"
    "          \"function\": \"length\",\n"
    "          \"kind\": \"call\",\n"
    "          \"nullable\": true,\n"
    "          \"type\": \"int64\"\n"
    "         }\n"
    "        ],\n"
    "        \"function\": \"coalesce\",\n"
    "        \"kind\": \"call\",\n"
    "        \"nullable\": true,\n"
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
    "     \"name\": \"first_of\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"args\": [\n"
    "       {\n"
    "        \"args\": [\n"
    "         {\n"
    "          \"kind\": \"column\",\n"
    "          \"nullable\": true,\n"
    "          \"path\": [\n"
    "           \"low\"\n"
    "          ],\n"
    "          \"type\": \"int64\"\n"
    "         },\n"
    "         {\n"
    "          \"kind\": \"cast\",\n"
    "          \"left\": {\n"
    "           \"kind\": \"column\",\n"
    "           \"nullable\": true,\n"
    "           \"path\": [\n"
    "            \"note\"\n"
    "           ],\n"
    "           \"type\": \"string\"\n"
    "          },\n"
    "          \"nullable\": true,\n"
    "          \"type\": \"int64\"\n"
    "         }\n"
    "        ],\n"
    "        \"function\": \"coalesce\",\n"
    "        \"kind\": \"call\",\n"
    "        \"nullable\": true,\n"
    "        \"type\": \"int64\"\n"
    "       },\n"
    "       {\n"
    "        \"kind\": \"column\",\n"
    "        \"nullable\": true,\n"
    "        \"path\": [\n"
    "         \"high\"\n"
    "        ],\n"
    "        \"type\": \"int64\"\n"
    "       }\n"
    "      ],\n"
    "      \"function\": \"coalesce\",\n"
    "      \"kind\": \"call\",\n"
    "      \"nullable\": true,\n"
    "      \"type\": \"int64\"\n"
    "     },\n"
    "     \"name\": \"parsed\"\n"
    "    }\n"
    "   ],\n"
    "   \"node\": \"select\",\n"
    "   \"stream\": \"tested\"\n"
    "  },\n"
    "  {\n"
    "   \"append_revisions\": false,\n"
    "   \"commit_bytes\": 16777216,\n"
    "   \"commit_ms\": 100,\n"
    "   \"exactly_once\": true,\n"
    "   \"format\": \"jsonl\",\n"
    "   \"from\": \"tested\",\n"
    "   \"guarantee\": \"exactly once: cut back to the length in the last commit\",\n"
    "   \"key\": [],\n"
    "   \"kind\": \"file\",\n"
    "   \"name\": \"tested_rows\",\n"
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
    "     \"name\": \"name\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"two\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"bool\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"zero\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"bool\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"fits\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"bool\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"unfit\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"bool\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"under\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"bool\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"doubled\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"bool\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"five\",\n"
    "     \"type\": \"bool\"\n"
    "    }\n"
    "   ],\n"
    "   \"inputs\": [\n"
    "    \"items\"\n"
    "   ],\n"
    "   \"name\": \"within\",\n"
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
    "     \"name\": \"two\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"bool\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"zero\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"bool\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"fits\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"bool\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"unfit\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"bool\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"under\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"bool\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"doubled\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"bool\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"five\",\n"
    "     \"type\": \"bool\"\n"
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
    "      \"high\": {\n"
    "       \"kind\": \"literal\",\n"
    "       \"type\": \"int64\",\n"
    "       \"value\": \"1\"\n"
    "      },\n"
    "      \"kind\": \"between\",\n"
    "      \"left\": {\n"
    "       \"kind\": \"literal\",\n"
    "       \"type\": \"int64\",\n"
    "       \"value\": \"2\"\n"
    "      },\n"
    "      \"low\": {\n"
    "       \"kind\": \"column\",\n"
    "       \"nullable\": true,\n"
    "       \"path\": [\n"
    "        \"low\"\n"
    "       ],\n"
    "       \"type\": \"int64\"\n"
    "      },\n"
    "      \"nullable\": true,\n"
    "      \"type\": \"bool\"\n"
    "     },\n"
    "     \"name\": \"two\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"high\": {\n"
    "       \"kind\": \"literal\",\n"
    "       \"type\": \"int64\",\n"
    "       \"value\": \"-1\"\n"
    "      },\n"
    "      \"kind\": \"between\",\n"
    "      \"left\": {\n"
    "       \"kind\": \"literal\",\n"
    "       \"type\": \"int64\",\n"
    "       \"value\": \"0\"\n"
    "      },\n"
    "      \"low\": {\n"
    "       \"kind\": \"column\",\n"
    "       \"nullable\": true,\n"
    "       \"path\": [\n"
    "        \"low\"\n"
    "       ],\n"
    "       \"type\": \"int64\"\n"
    "      },\n"
    "      \"negated\": true,\n"
    "      \"nullable\": true,\n"
    "      \"type\": \"bool\"\n"
    "     },\n"
    "     \"name\": \"zero\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"high\": {\n"
    "       \"kind\": \"column\",\n"
    "       \"nullable\": true,\n"
    "       \"path\": [\n"
    "        \"high\"\n"
    "       ],\n"
    "       \"type\": \"int64\"\n"
    "      },\n"
    "      \"kind\": \"between\",\n"
    "      \"left\": {\n"
    "       \"args\": [\n"
    "        {\n"
    "         \"kind\": \"column\",\n"
    "         \"path\": [\n"
    "          \"name\"\n"
    "         ],\n"
    "         \"type\": \"string\"\n"
    "        }\n"
    "       ],\n"
    "       \"function\": \"length\",\n"
    "       \"kind\": \"call\",\n"
    "       \"type\": \"int64\"\n"
    "      },\n"
    "      \"low\": {\n"
    "       \"kind\": \"column\",\n"
    "       \"nullable\": true,\n"
    "       \"path\": [\n"
    "        \"low\"\n"
    "       ],\n"
    "       \"type\": \"int64\"\n"
    "      },\n"
    "      \"nullable\": true,\n"
    "      \"type\": \"bool\"\n"
    "     },\n"
    "     \"name\": \"fits\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"high\": {\n"
    "       \"kind\": \"column\",\n"
    "       \"nullable\": true,\n"
    "       \"path\": [\n"
    "        \"high\"\n"
    "       ],\n"
    "       \"type\": \"int64\"\n"
    "      },\n"
    "      \"kind\": \"between\",\n"
    "      \"left\": {\n"
    "       \"args\": [\n"
    "        {\n"
    "         \"kind\": \"column\",\n"
    "         \"path\": [\n"
    "          \"name\"\n"
    "         ],\n"
    "         \"type\": \"string\"\n"
    "        }\n"
    "       ],\n"
    "       \"function\": \"length\",\n"
    "       \"kind\": \"call\",\n"
    "       \"type\": \"int64\"\n"
    "      },\n"
    "      \"low\": {\n"
    "       \"kind\": \"column\",\n"
    "       \"nullable\": true,\n"
    "       \"path\": [\n"
    "        \"low\"\n"
    "       ],\n"
    "       \"type\": \"int64\"\n"
    "      },\n"
    "      \"negated\": true,\n"
    "      \"nullable\": true,\n"
    "      \"type\": \"bool\"\n"
    "     },\n"
    "     \"name\": \"unfit\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"high\": {\n"
    "       \"kind\": \"column\",\n"
    "       \"nullable\": true,\n"
    "       \"path\": [\n"
    "        \"high\"\n"
    "       ],\n"
    "       \"type\": \"int64\"\n"
    "      },\n"
    "      \"kind\": \"between\",\n"
    "      \"left\": {\n"
    "       \"kind\": \"column\",\n"
    "       \"nullable\": true,\n"
    "       \"path\": [\n"
    "        \"low\"\n"
    "       ],\n"
    "       \"type\": \"int64\"\n"
    "      },\n"
    "      \"low\": {\n"
    "       \"kind\": \"literal\",\n"
    "       \"type\": \"int64\",\n"
    "       \"value\": \"1\"\n"
    "      },\n"
    "      \"nullable\": true,\n"
    "      \"type\": \"bool\"\n"
    "     },\n"
    "     \"name\": \"under\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"high\": {\n"
    "       \"kind\": \"binary\",\n"
    "       \"left\": {\n"
    "        \"kind\": \"column\",\n"
    "        \"nullable\": true,\n"
    "        \"path\": [\n"
    "         \"high\"\n"
    "        ],\n"
    "        \"type\": \"int64\"\n"
    "       },\n"
    "       \"nullable\": true,\n"
    "       \"op\": \"*\",\n"
    "       \"right\": {\n"
    "        \"kind\": \"literal\",\n"
    "        \"type\": \"int64\",\n"
    "        \"value\": \"2\"\n"
    "       },\n"
    "       \"type\": \"int64\"\n"
    "      },\n"
    "      \"kind\": \"between\",\n"
    "      \"left\": {\n"
    "       \"kind\": \"column\",\n"
    "       \"nullable\": true,\n"
    "       \"path\": [\n"
    "        \"low\"\n"
    "       ],\n"
    "       \"type\": \"int64\"\n"
    "      },\n"
    "      \"low\": {\n"
    "       \"kind\": \"column\",\n"
    "       \"nullable\": true,\n"
    "       \"path\": [\n"
    "        \"high\"\n"
    "       ],\n"
    "       \"type\": \"int64\"\n"
    "      },\n"
    "      \"nullable\": true,\n"
    "      \"type\": \"bool\"\n"
    "     },\n"
    "     \"name\": \"doubled\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"args\": [\n"
    "       {\n"
    "        \"high\": {\n"
    "         \"kind\": \"column\",\n"
    "         \"nullable\": true,\n"
    "         \"path\": [\n"
    "          \"high\"\n"
    "         ],\n"
    "         \"type\": \"int64\"\n"
    "        },\n"
    "        \"kind\": \"between\",\n"
    "        \"left\": {\n"
    "         \"kind\": \"literal\",\n"
    "         \"type\": \"int64\",\n"
    "         \"value\": \"5\"\n"
    "        },\n"
    "        \"low\": {\n"
    "         \"kind\": \"column\",\n"
    "         \"nullable\": true,\n"
    "         \"path\": [\n"
    "          \"low\"\n"
    "         ],\n"
    "         \"type\": \"int64\"\n"
    "        },\n"
    "        \"nullable\": true,\n"
    "        \"type\": \"bool\"\n"
    "       },\n"
    "       {\n"
    "        \"kind\": \"literal\",\n"
    "        \"type\": \"bool\",\n"
    "        \"value\": false\n"
    "       }\n"
    "      ],\n"
    "      \"function\": \"coalesce\",\n"
    "      \"kind\": \"call\",\n"
    "      \"type\": \"bool\"\n"
    "     },\n"
    "     \"name\": \"five\"\n"
    "    }\n"
    "   ],\n"
    "   \"node\": \"select\",\n"
    "   \"stream\": \"within\"\n"
    "  },\n"
    "  {\n"
    "   \"append_revisions\": false,\n"
    "   \"commit_bytes\": 16777216,\n"
    "   \"commit_ms\": 100,\n"
    "   \"exactly_once\": true,\n"
    "   \"format\": \"jsonl\",\n"
    "   \"from\": \"within\",\n"
    "   \"guarantee\": \"exactly once: cut back to the length in the last commit\",\n"
    "   \"key\": [],\n"
    "   \"kind\": \"file\",\n"
    "   \"name\": \"within_rows\",\n"
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
    "     \"type\": \"timestamp_us\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"window_end\",\n"
    "     \"type\": \"timestamp_us\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"names\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"cases\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"notes\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"matched\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"all_rows\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"known\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"shares\",\n"
    "     \"type\": \"int64\"\n"
    "    }\n"
    "   ],\n"
    "   \"inputs\": [\n"
    "    \"items\"\n"
    "   ],\n"
    "   \"name\": \"counted\",\n"
    "   \"node\": \"stream\",\n"
    "   \"rejects\": \"refused\",\n"
    "   \"role\": \"stream\",\n"
    "   \"stages\": [\n"
    "    0\n"
    "   ]\n"
    "  },\n"
    "  {\n"
    "   \"carries\": \"partials\",\n"
    "   \"key\": [],\n"
    "   \"node\": \"exchange\",\n"
    "   \"partitions\": 1,\n"
    "   \"reason\": \"the source declares no key\",\n"
    "   \"stream\": \"counted\"\n"
    "  },\n"
    "  {\n"
    "   \"aggregates\": [\n"
    "    {\n"
    "     \"arg\": {\n"
    "      \"args\": [\n"
    "       {\n"
    "        \"kind\": \"column\",\n"
    "        \"path\": [\n"
    "         \"name\"\n"
    "        ],\n"
    "        \"type\": \"string\"\n"
    "       }\n"
    "      ],\n"
    "      \"function\": \"upper\",\n"
    "      \"kind\": \"call\",\n"
    "      \"type\": \"string\"\n"
    "     },\n"
    "     \"function\": \"count\",\n"
    "     \"name\": \"names\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"arg\": {\n"
    "      \"else\": {\n"
    "       \"kind\": \"literal\",\n"
    "       \"type\": \"string\",\n"
    "       \"value\": \"x\"\n"
    "      },\n"
    "      \"kind\": \"case\",\n"
    "      \"type\": \"string\",\n"
    "      \"whens\": [\n"
    "       {\n"
    "        \"then\": {\n"
    "         \"kind\": \"column\",\n"
    "         \"path\": [\n"
    "          \"name\"\n"
    "         ],\n"
    "         \"type\": \"string\"\n"
    "        },\n"
    "        \"when\": {\n"
    "         \"kind\": \"is_null\",\n"
    "         \"left\": {\n"
    "          \"kind\": \"column\",\n"
    "          \"nullable\": true,\n"
    "          \"path\": [\n"
    "           \"sold\"\n"
    "          ],\n"
    "          \"type\": \"bool\"\n"
    "         },\n"
    "         \"type\": \"bool\"\n"
    "        }\n"
    "       }\n"
    "      ]\n"
    "     },\n"
    "     \"function\": \"count\",\n"
    "     \"name\": \"cases\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"arg\": {\n"
    "      \"kind\": \"case\",\n"
    "      \"nullable\": true,\n"
    "      \"type\": \"string\",\n"
    "      \"whens\": [\n"
    "       {\n"
    "        \"then\": {\n"
    "         \"kind\": \"column\",\n"
    "         \"nullable\": true,\n"
    "         \"path\": [\n"
    "          \"note\"\n"
    "         ],\n"
    "         \"type\": \"string\"\n"
    "        },\n"
    "        \"when\": {\n"
    "         \"kind\": \"is_null\",\n"
    "         \"left\": {\n"
    "          \"kind\": \"column\",\n"
    "          \"nullable\": true,\n"
    "          \"path\": [\n"
    "           \"sold\"\n"
    "          ],\n"
    "          \"type\": \"bool\"\n"
    "         },\n"
    "         \"type\": \"bool\"\n"
    "        }\n"
    "       }\n"
    "      ]\n"
    "     },\n"
    "     \"function\": \"count\",\n"
    "     \"name\": \"notes\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"arg\": {\n"
    "      \"kind\": \"matches\",\n"
    "      \"left\": {\n"
    "       \"kind\": \"column\",\n"
    "       \"nullable\": true,\n"
    "       \"path\": [\n"
    "        \"note\"\n"
    "       ],\n"
    "       \"type\": \"string\"\n"
    "      },\n"
    "      \"nullable\": true,\n"
    "      \"pattern\": \"a+\",\n"
    "      \"type\": \"bool\"\n"
    "     },\n"
    "     \"function\": \"count\",\n"
    "     \"name\": \"matched\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"arg\": {\n"
    "      \"kind\": \"is_null\",\n"
    "      \"left\": {\n"
    "       \"kind\": \"column\",\n"
    "       \"nullable\": true,\n"
    "       \"path\": [\n"
    "        \"low\"\n"
    "       ],\n"
    "       \"type\": \"int64\"\n"
    "      },\n"
    "      \"type\": \"bool\"\n"
    "     },\n"
    "     \"function\": \"count\",\n"
    "     \"name\": \"all_rows\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"arg\": {\n"
    "      \"high\": {\n"
    "       \"kind\": \"column\",\n"
    "       \"nullable\": true,\n"
    "       \"path\": [\n"
    "        \"high\"\n"
    "       ],\n"
    "       \"type\": \"int64\"\n"
    "      },\n"
    "      \"kind\": \"between\",\n"
    "      \"left\": {\n"
    "       \"kind\": \"column\",\n"
    "       \"nullable\": true,\n"
    "       \"path\": [\n"
    "        \"low\"\n"
    "       ],\n"
    "       \"type\": \"int64\"\n"
    "      },\n"
    "      \"low\": {\n"
    "       \"kind\": \"literal\",\n"
    "       \"type\": \"int64\",\n"
    "       \"value\": \"1\"\n"
    "      },\n"
    "      \"nullable\": true,\n"
    "      \"type\": \"bool\"\n"
    "     },\n"
    "     \"function\": \"count\",\n"
    "     \"name\": \"known\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"arg\": {\n"
    "      \"kind\": \"binary\",\n"
    "      \"left\": {\n"
    "       \"kind\": \"literal\",\n"
    "       \"type\": \"int64\",\n"
    "       \"value\": \"10\"\n"
    "      },\n"
    "      \"nullable\": true,\n"
    "      \"op\": \"/\",\n"
    "      \"right\": {\n"
    "       \"kind\": \"column\",\n"
    "       \"nullable\": true,\n"
    "       \"path\": [\n"
    "        \"low\"\n"
    "       ],\n"
    "       \"type\": \"int64\"\n"
    "      },\n"
    "      \"type\": \"int64\"\n"
    "     },\n"
    "     \"function\": \"count\",\n"
    "     \"name\": \"shares\",\n"
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
    "     \"name\": \"names\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"cases\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"notes\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"matched\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"all_rows\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"known\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"shares\",\n"
    "     \"type\": \"int64\"\n"
    "    }\n"
    "   ],\n"
    "   \"corrections\": false,\n"
    "   \"delay_ms\": 0,\n"
    "   \"drop_late\": true,\n"
    "   \"emit\": \"close\",\n"
    "   \"emit_every_ms\": 0,\n"
    "   \"every_ms\": 3600000,\n"
    "   \"gap_ms\": 0,\n"
    "   \"group\": [],\n"
    "   \"lateness_ms\": 0,\n"
    "   \"max_ms\": 0,\n"
    "   \"node\": \"window\",\n"
    "   \"offset_ms\": 0,\n"
    "   \"size_ms\": 3600000,\n"
    "   \"stream\": \"counted\",\n"
    "   \"window\": \"tumbling\"\n"
    "  },\n"
    "  {\n"
    "   \"append_revisions\": false,\n"
    "   \"commit_bytes\": 16777216,\n"
    "   \"commit_ms\": 100,\n"
    "   \"exactly_once\": true,\n"
    "   \"format\": \"jsonl\",\n"
    "   \"from\": \"counted\",\n"
    "   \"guarantee\": \"exactly once: cut back to the length in the last commit\",\n"
    "   \"key\": [],\n"
    "   \"kind\": \"file\",\n"
    "   \"name\": \"counted_rows\",\n"
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
    "    \"tested\",\n"
    "    \"within\",\n"
    "    \"counted\"\n"
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
    " \"pipeline\": \"nulls\",\n"
    " \"stages\": [\n"
    "  {\n"
    "   \"source\": \"items\",\n"
    "   \"stage\": 0,\n"
    "   \"states\": [\n"
    "    {\n"
    "     \"delay_ms\": 0,\n"
    "     \"phase\": \"partial\",\n"
    "     \"stream\": \"counted\"\n"
    "    }\n"
    "   ]\n"
    "  },\n"
    "  {\n"
    "   \"exchange\": \"counted\",\n"
    "   \"stage\": 1,\n"
    "   \"states\": [\n"
    "    {\n"
    "     \"delay_ms\": 0,\n"
    "     \"phase\": \"merge\",\n"
    "     \"stream\": \"counted\"\n"
    "    }\n"
    "   ]\n"
    "  }\n"
    " ]\n"
    "}\n";

static const struct pipe_plan plan = {
    .abi = PIPE_RUNTIME_ABI,
    .name = "nulls",
    .hash = "20af89d134a1dbad",
    .commit_ms = 100,
    .commit_bytes = 16777216,
    .explain_text = explain_text,
    .plan_json = plan_json,
    .sources = sources,
    .source_count = 1,
    .streams = streams,
    .stream_count = 6,
    .stages = stages,
    .stage_count = 2,
    .exchanges = exchanges,
    .exchange_count = 1,
    .sinks = sinks,
    .sink_count = 4,
};

int main(int argc, char **argv)
{
    return pipe_main(&plan, argc, argv);
}
