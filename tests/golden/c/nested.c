/* nested.c: pipeline nested, compiled from nested.pipe by pipec. Change that file, not this. */
#include "pipe.h"

#if PIPE_RUNTIME_ABI != 1
#error "this file and libpipe do not fit together: compile the pipeline again"
#endif

/* ----------------------------------------------------------------------------------------------
 * Rows
 * ---------------------------------------------------------------------------------------------- */

struct Item {
    struct pipe_str sku;
    int32_t qty;
    pipe_decimal price;
};

struct Address {
    struct pipe_str city;
    struct pipe_str zip;
    bool zip_null;
};

struct string_entry {
    struct pipe_str key;
    struct pipe_str value;
};

struct Order {
    struct pipe_str order_id;
    struct pipe_str customer;
    uint32_t status;
    pipe_decimal total;
    struct pipe_array items;
    struct Address address;
    struct pipe_map tags;
    struct pipe_str note;
    int64_t placed_at;
    bool address_null;
    bool note_null;
};

struct shipped {
    struct pipe_str order_id;
    uint32_t status;
    pipe_decimal total;
    int64_t lines;
    struct Item first;
    struct pipe_str zip;
    bool in_oslo;
    bool first_null;
};

struct lines {
    struct pipe_str order_id;
    struct pipe_str customer;
    uint32_t status;
    pipe_decimal total;
    struct Item item;
    int32_t item_index;
    struct Address address;
    struct pipe_map tags;
    struct pipe_str note;
    int64_t placed_at;
    bool address_null;
    bool note_null;
};

struct lines_2 {
    struct pipe_str order_id;
    int32_t item_index;
    struct pipe_str sku;
    pipe_decimal price;
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
    STREAM_orders,
    STREAM_shipped,
    STREAM_lines,
    STREAM_refused,
    STREAM_reasons,
};

enum {
    STAGE_orders,
};

enum {
    SINK_shipped_rows,
    SINK_line_rows,
    SINK_refusals,
};

/* ----------------------------------------------------------------------------------------------
 * What the runtime knows of the rows
 * ---------------------------------------------------------------------------------------------- */


static const char *const symbols_Status[] = {
    "NEW",
    "PAID",
    "SHIPPED",
};
static const struct pipe_type type_Status = {.kind = PIPE_ENUM, .symbols = symbols_Status,
                                             .symbol_count = 3};
static const struct pipe_type type_string = {.kind = PIPE_STRING};
static const struct pipe_type type_int32 = {.kind = PIPE_INT32};
static const struct pipe_type type_decimal_22_2 = {.kind = PIPE_DECIMAL, .precision = 22,
                                                   .scale = 2, .fixed_bytes = 0};

static const struct pipe_column lines_2_columns[] = {
    {"order_id", &type_string, offsetof(struct lines_2, order_id), .null_offset = PIPE_NOT_NULL},
    {"item_index", &type_int32, offsetof(struct lines_2, item_index), .null_offset = PIPE_NOT_NULL},
    {"sku", &type_string, offsetof(struct lines_2, sku), .null_offset = PIPE_NOT_NULL},
    {"price", &type_decimal_22_2, offsetof(struct lines_2, price), .null_offset = PIPE_NOT_NULL},
};
static const struct pipe_row_type lines_2_type = {"lines", lines_2_columns, 4,
                                                  sizeof(struct lines_2)};

static const struct pipe_type type_decimal_12_2 = {.kind = PIPE_DECIMAL, .precision = 12,
                                                   .scale = 2, .fixed_bytes = 0};

static const struct pipe_column Item_columns[] = {
    {"sku", &type_string, offsetof(struct Item, sku), .null_offset = PIPE_NOT_NULL},
    {"qty", &type_int32, offsetof(struct Item, qty), .null_offset = PIPE_NOT_NULL},
    {"price", &type_decimal_12_2, offsetof(struct Item, price), .null_offset = PIPE_NOT_NULL},
};
static const struct pipe_row_type Item_type = {"Item", Item_columns, 3, sizeof(struct Item)};

static const struct pipe_type type_Item = {.kind = PIPE_RECORD, .record = &Item_type};
static const struct pipe_type type_array_of_Item = {.kind = PIPE_ARRAY, .element = &type_Item,
                                                    .element_nullable = false,
                                                    .element_bytes = sizeof(struct Item),
                                                    .element_null_first = false};

static const struct pipe_column Address_columns[] = {
    {"city", &type_string, offsetof(struct Address, city), .null_offset = PIPE_NOT_NULL},
    {"zip", &type_string, offsetof(struct Address, zip),
     .null_offset = offsetof(struct Address, zip_null), .null_first = true, .has_default = true,
     .default_json = "null"},
};
static const struct pipe_row_type Address_type = {"Address", Address_columns, 2,
                                                  sizeof(struct Address)};

static const struct pipe_type type_Address = {.kind = PIPE_RECORD, .record = &Address_type};
static const struct pipe_type type_map_of_string = {.kind = PIPE_MAP, .element = &type_string,
                                                    .element_nullable = false,
                                                    .element_bytes = sizeof(struct string_entry),
                                                    .element_null_first = false};
static const struct pipe_type type_timestamp_ms = {.kind = PIPE_TIMESTAMP_MS};

static const struct pipe_column Order_columns[] = {
    {"order_id", &type_string, offsetof(struct Order, order_id), .null_offset = PIPE_NOT_NULL},
    {"customer", &type_string, offsetof(struct Order, customer), .null_offset = PIPE_NOT_NULL},
    {"status", &type_Status, offsetof(struct Order, status), .null_offset = PIPE_NOT_NULL},
    {"total", &type_decimal_12_2, offsetof(struct Order, total), .null_offset = PIPE_NOT_NULL},
    {"items", &type_array_of_Item, offsetof(struct Order, items), .null_offset = PIPE_NOT_NULL},
    {"address", &type_Address, offsetof(struct Order, address),
     .null_offset = offsetof(struct Order, address_null), .null_first = true, .has_default = true,
     .default_json = "null"},
    {"tags", &type_map_of_string, offsetof(struct Order, tags), .null_offset = PIPE_NOT_NULL},
    {"note", &type_string, offsetof(struct Order, note),
     .null_offset = offsetof(struct Order, note_null), .null_first = true, .has_default = true,
     .default_json = "null"},
    {"placed_at", &type_timestamp_ms, offsetof(struct Order, placed_at),
     .null_offset = PIPE_NOT_NULL},
};
static const struct pipe_row_type Order_type = {"Order", Order_columns, 9, sizeof(struct Order)};

static const struct pipe_type type_int64 = {.kind = PIPE_INT64};
static const struct pipe_type type_bool = {.kind = PIPE_BOOL};

static const struct pipe_column shipped_columns[] = {
    {"order_id", &type_string, offsetof(struct shipped, order_id), .null_offset = PIPE_NOT_NULL},
    {"status", &type_Status, offsetof(struct shipped, status), .null_offset = PIPE_NOT_NULL},
    {"total", &type_decimal_12_2, offsetof(struct shipped, total), .null_offset = PIPE_NOT_NULL},
    {"lines", &type_int64, offsetof(struct shipped, lines), .null_offset = PIPE_NOT_NULL},
    {"first", &type_Item, offsetof(struct shipped, first),
     .null_offset = offsetof(struct shipped, first_null), .null_first = false},
    {"zip", &type_string, offsetof(struct shipped, zip), .null_offset = PIPE_NOT_NULL},
    {"in_oslo", &type_bool, offsetof(struct shipped, in_oslo), .null_offset = PIPE_NOT_NULL},
};
static const struct pipe_row_type shipped_type = {"shipped", shipped_columns, 7,
                                                  sizeof(struct shipped)};


static const struct pipe_column reasons_columns[] = {
    {"reason", &type_string, offsetof(struct reasons, reason), .null_offset = PIPE_NOT_NULL},
    {"detail", &type_string, offsetof(struct reasons, detail),
     .null_offset = offsetof(struct reasons, detail_null), .null_first = false},
};
static const struct pipe_row_type reasons_type = {"reasons", reasons_columns, 2,
                                                  sizeof(struct reasons)};

/* ----------------------------------------------------------------------------------------------
 * Decoders, one a version of a contract
 * ---------------------------------------------------------------------------------------------- */

static bool read_Item_order(struct pipe_reader *r, struct Item *row)
{
    if (!pipe_avro_string(r, &row->sku))
        return pipe_reader_at(r, "sku");
    if (!pipe_avro_int(r, &row->qty))
        return pipe_reader_at(r, "qty");
    if (!pipe_avro_decimal(r, 12, &row->price))
        return pipe_reader_at(r, "price");
    return true;
}

static bool read_items_order(struct pipe_reader *r, struct pipe_array *out)
{
    struct pipe_items items = {.slot_bytes = sizeof(struct Item)};
    struct Item *item;

    while ((item = pipe_avro_item(r, &items)) != NULL) {
        if (!(read_Item_order(r, &*item)))
            return pipe_reader_within(r, "items", (int64_t)items.count - 1);
    }
    if (r->cause != NULL)
        return false;
    *out = (struct pipe_array){items.slots, items.count};
    return true;
}

static bool read_Address_order(struct pipe_reader *r, struct Address *row)
{
    if (!pipe_avro_string(r, &row->city))
        return pipe_reader_at(r, "city");
    if (!pipe_avro_nullable(r, true, &row->zip_null) ||
        (!row->zip_null && !pipe_avro_string(r, &row->zip)))
        return pipe_reader_at(r, "zip");
    return true;
}

static bool read_tags_order(struct pipe_reader *r, struct pipe_map *out)
{
    struct pipe_items items = {.slot_bytes = sizeof(struct string_entry)};
    struct string_entry *item;

    while ((item = pipe_avro_item(r, &items)) != NULL) {
        if (!(pipe_avro_map_key(r, &items, &item->key) && pipe_avro_string(r, &item->value)))
            return pipe_reader_within(r, "tags", (int64_t)items.count - 1);
    }
    if (r->cause != NULL)
        return false;
    *out = (struct pipe_map){items.slots, items.count};
    return true;
}

static bool decode_Order_order(struct pipe_reader *r, void *into)
{
    struct Order *row = into;

    if (!pipe_avro_string(r, &row->order_id))
        return pipe_reader_at(r, "order_id");
    if (!pipe_avro_string(r, &row->customer))
        return pipe_reader_at(r, "customer");
    if (!pipe_avro_enum(r, 3, &row->status))
        return pipe_reader_at(r, "status");
    if (!pipe_avro_decimal(r, 12, &row->total))
        return pipe_reader_at(r, "total");
    if (!read_items_order(r, &row->items))
        return pipe_reader_at(r, "items");
    if (!pipe_avro_nullable(r, true, &row->address_null) ||
        (!row->address_null && !read_Address_order(r, &row->address)))
        return pipe_reader_within(r, "address", -1);
    if (!read_tags_order(r, &row->tags))
        return pipe_reader_at(r, "tags");
    if (!pipe_avro_nullable(r, true, &row->note_null) ||
        (!row->note_null && !pipe_avro_string(r, &row->note)))
        return pipe_reader_at(r, "note");
    if (!pipe_avro_timestamp_ms(r, &row->placed_at))
        return pipe_reader_at(r, "placed_at");
    return true;
}

/* ----------------------------------------------------------------------------------------------
 * Contracts
 * ---------------------------------------------------------------------------------------------- */

static const struct pipe_contract_version versions_order[] = {
    {
        .label = "order",
        .fingerprint = UINT64_C(0x47c7dd3389df3134),
        .decode = decode_Order_order,
        .schema_json =
            "{\"type\":\"record\",\"name\":\"Order\",\"namespace\":\"golden\","
            "\"fields\":[{\"name\":\"order_id\",\"type\":\"string\"},"
            "{\"name\":\"customer\",\"type\":\"string\"},{\"name\":\"status\","
            "\"type\":{\"type\":\"enum\",\"name\":\"Status\",\"symbols\":[\"NEW\","
            "\"PAID\",\"SHIPPED\"]}},{\"name\":\"total\",\"type\":{\"type\":\"bytes\","
            "\"logicalType\":\"decimal\",\"precision\":12,\"scale\":2}},"
            "{\"name\":\"items\",\"type\":{\"type\":\"array\","
            "\"items\":{\"type\":\"record\",\"name\":\"Item\","
            "\"fields\":[{\"name\":\"sku\",\"type\":\"string\"},{\"name\":\"qty\","
            "\"type\":\"int\"},{\"name\":\"price\",\"type\":{\"type\":\"bytes\","
            "\"logicalType\":\"decimal\",\"precision\":12,\"scale\":2}}]}}},"
            "{\"name\":\"address\",\"type\":[\"null\",{\"type\":\"record\","
            "\"name\":\"Address\",\"fields\":[{\"name\":\"city\",\"type\":\"string\"},"
            "{\"name\":\"zip\",\"type\":[\"null\",\"string\"],\"default\":null}]}],"
            "\"default\":null},{\"name\":\"tags\",\"type\":{\"type\":\"map\","
            "\"values\":\"string\"}},{\"name\":\"note\",\"type\":[\"null\",\"string\"],"
            "\"default\":null},{\"name\":\"placed_at\",\"type\":{\"type\":\"long\","
            "\"logicalType\":\"timestamp-millis\"}}]}",
    },
};

static const struct pipe_contract contract_order = {
    .name = "order",
    .row = &Order_type,
    .versions = versions_order,
    .version_count = 1,
};

/* ----------------------------------------------------------------------------------------------
 * JSON
 * ---------------------------------------------------------------------------------------------- */

static void json_of_Item(struct pipe_buf *buf, const struct Item *row)
{
    PIPE_JSON_RAW(buf, "{\"sku\":");
    pipe_json_string(buf, row->sku);
    PIPE_JSON_RAW(buf, ",\"qty\":");
    pipe_json_i64(buf, row->qty);
    PIPE_JSON_RAW(buf, ",\"price\":");
    pipe_json_decimal(buf, row->price, 2);
    PIPE_JSON_RAW(buf, "}");
}

static void json_of_shipped(struct pipe_buf *buf, const struct shipped *row)
{
    PIPE_JSON_RAW(buf, "{\"order_id\":");
    pipe_json_string(buf, row->order_id);
    PIPE_JSON_RAW(buf, ",\"status\":");
    pipe_json_enum(buf, type_Status.symbols, row->status);
    PIPE_JSON_RAW(buf, ",\"total\":");
    pipe_json_decimal(buf, row->total, 2);
    PIPE_JSON_RAW(buf, ",\"lines\":");
    pipe_json_i64(buf, row->lines);
    PIPE_JSON_RAW(buf, ",\"first\":");
    if (row->first_null)
        pipe_json_null(buf);
    else
        json_of_Item(buf, &row->first);
    PIPE_JSON_RAW(buf, ",\"zip\":");
    pipe_json_string(buf, row->zip);
    PIPE_JSON_RAW(buf, ",\"in_oslo\":");
    pipe_json_bool(buf, row->in_oslo);
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

static void push_shipped(struct pipe_task *task, const struct pipe_record *record,
                         const struct Order *row);
static void push_lines(struct pipe_task *task, const struct pipe_record *record,
                       const struct Order *row);
static void push_refused(struct pipe_task *task, const struct pipe_record *record,
                         const struct pipe_reject *row);
static void reject_refused(struct pipe_task *task, const struct pipe_record *record,
                           const char *reason, const char *rule, const char *detail);
static void push_reasons(struct pipe_task *task, const struct pipe_record *record,
                         const struct pipe_reject *row);

/* ---- source orders  (nested.pipe:7) ---- */

static void out_orders(struct pipe_task *task, const struct pipe_record *record,
                       const struct Order *row)
{
    task->counters[STREAM_orders].out++;
    push_shipped(task, record, row);
    push_lines(task, record, row);
}

/* ---- stream shipped from orders  (nested.pipe:12) ---- */

/* sink shipped_rows from shipped to file 'out/shipped.jsonl' format jsonl exactly once
 * (nested.pipe:36) */
static void sink_shipped_rows(struct pipe_task *task, const struct pipe_record *record,
                              const struct shipped *row)
{
    if (!pipe_encoded(task, row, (const void *)json_of_shipped))
        json_of_shipped(&task->value, row);
    pipe_emit(task, SINK_shipped_rows, record, pipe_str_of(NULL, 0),
              pipe_str_of(task->value.data, task->value.size));
}

static void out_shipped(struct pipe_task *task, const struct pipe_record *record,
                        const struct shipped *row)
{
    task->counters[STREAM_shipped].out++;
    if (!pipe_discards(task)) {
        sink_shipped_rows(task, record, row);
    }
}

/* length(items) (nested.pipe:18) */
static int64_t shipped_lines(const struct Order *row)
{
    return pipe_fn_length_array(row->items);
}

/* get(items, 0) (nested.pipe:19). False: null */
static bool shipped_first(const struct Order *row, struct Item *value)
{
    const struct Item *t1 = pipe_fn_get_array(row->items, 0, sizeof(struct Item));

    if (!t1)
        return false;
    *value = *t1;
    return true;
}

/* coalesce(address.zip, '-') (nested.pipe:20) */
static struct pipe_str shipped_zip(const struct Order *row)
{
    return !(row->address_null || row->address.zip_null) ? row->address.zip : PIPE_STR("-");
}

/* address is not null and address.city = 'Oslo' (nested.pipe:21) */
static bool shipped_in_oslo(const struct Order *row)
{
    return !row->address_null && pipe_str_equal(row->address.city, PIPE_STR("Oslo"));
}

/* select order_id, status, total, length(items) as lines, get(items, 0) as first,
 * coalesce(address.zip, '-') as zip, address is not null and address.city = 'Oslo' as in_oslo
 * (nested.pipe:14) */
static void select_shipped(struct pipe_task *task, const struct pipe_record *record,
                           const struct Order *row)
{
    struct pipe_counters *count = &task->counters[STREAM_shipped];
    struct shipped out = {0};

    out.order_id = row->order_id;
    out.status = row->status;
    out.total = row->total;
    out.lines = shipped_lines(row);
    out.first_null = !shipped_first(row, &out.first);
    out.zip = shipped_zip(row);
    out.in_oslo = shipped_in_oslo(row);
    count->selected++;
    pipe_new_row(task);
    out_shipped(task, record, &out);
}

/* where status <> 'NEW' (nested.pipe:13) */
static bool shipped_where_1(const struct Order *row)
{
    return row->status != 0 /* NEW */;
}

static void push_shipped(struct pipe_task *task, const struct pipe_record *record,
                         const struct Order *row)
{
    struct pipe_counters *count = &task->counters[STREAM_shipped];

    count->in++;
    if (!shipped_where_1(row)) {
        count->dropped++;
        return;
    }
    count->passed++;
    select_shipped(task, record, row);
}

/* ---- stream lines from orders  (nested.pipe:23) ---- */

/* sink line_rows from lines to file 'out/lines.csv' format csv exactly once (nested.pipe:37) */
static void sink_line_rows(struct pipe_task *task, const struct pipe_record *record,
                           const struct lines_2 *row)
{
    if (!pipe_encoded(task, row, lines_2_type.columns))
        pipe_row_to_csv(&lines_2_type, row, &task->value);
    pipe_emit(task, SINK_line_rows, record, pipe_str_of(NULL, 0),
              pipe_str_of(task->value.data, task->value.size - 1 /* the line end */));
}

static void out_lines(struct pipe_task *task, const struct pipe_record *record,
                      const struct lines_2 *row)
{
    task->counters[STREAM_lines].out++;
    if (!pipe_discards(task)) {
        sink_line_rows(task, record, row);
    }
}

/* item.price * item.qty (nested.pipe:29) */
static pipe_decimal lines_price(const struct lines *row)
{
    return row->item.price * (pipe_decimal)row->item.qty;
}

/* select order_id, item_index, item.sku as sku, item.price * item.qty as price (nested.pipe:25) */
static void select_lines(struct pipe_task *task, const struct pipe_record *record,
                         const struct lines *row)
{
    struct pipe_counters *count = &task->counters[STREAM_lines];
    struct lines_2 out = {0};

    out.order_id = row->order_id;
    out.item_index = row->item_index;
    out.sku = row->item.sku;
    out.price = lines_price(row);
    count->selected++;
    pipe_new_row(task);
    out_lines(task, record, &out);
}

/* unnest items as item (nested.pipe:24) */
static void unnest_lines(struct pipe_task *task, const struct pipe_record *record,
                         const struct Order *row)
{
    struct pipe_counters *count = &task->counters[STREAM_lines];
    const struct Item *items = row->items.items;
    uint32_t item_count = row->items.count;
    struct lines out = {0};

    if (item_count == 0) {
        count->unnest_empty++;
        return;
    }
    count->unnested++;
    out.order_id = row->order_id;
    out.customer = row->customer;
    out.status = row->status;
    out.total = row->total;
    out.address = row->address;
    out.address_null = row->address_null;
    out.tags = row->tags;
    out.note = row->note;
    out.note_null = row->note_null;
    out.placed_at = row->placed_at;
    struct pipe_arena_mark mark = pipe_arena_mark(&task->arena);
    (void)pipe_owned_take_grown();
    for (uint32_t i = 0; i < item_count; i++) {
        if (!pipe_may_make(task, record, PIPE_ITEM_BYTES + pipe_owned_take_grown()))
            return;
        out.item = items[i];
        out.item_index = (int32_t)i;
        count->elements++;
        pipe_new_row(task);
        select_lines(task, record, &out);
        pipe_arena_back_to(&task->arena, mark);
    }
}

static void push_lines(struct pipe_task *task, const struct pipe_record *record,
                       const struct Order *row)
{
    struct pipe_counters *count = &task->counters[STREAM_lines];

    count->in++;
    count->passed++;
    unnest_lines(task, record, row);
}

/* ---- reject stream refused  (nested.pipe:10) ---- */

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

/* ---- stream reasons from refused  (nested.pipe:31) ---- */

/* sink refusals from reasons to file 'out/refused.jsonl' format jsonl exactly once
 * (nested.pipe:38) */
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

/* select reason, detail (nested.pipe:32) */
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

/* ---- a record of source orders ---- */

static bool refuse_orders(struct pipe_task *task, const struct pipe_record *record,
                          const char *reason, const char *detail)
{
    struct pipe_counters *count = &task->counters[STREAM_orders];

    count->source_rejected++;
    reject_refused(task, record, reason, "orders", detail);
    return false;
}

static bool record_orders(struct pipe_task *task, struct pipe_record *record)
{
    struct pipe_counters *count = &task->counters[STREAM_orders];
    void *decoded;

    count->read++;
    const char *reason = pipe_decode(task, record, &decoded);
    if (reason != NULL)
        return refuse_orders(task, record, reason, task->detail);

    const struct Order *row = decoded;

    record->event_time = PIPE_TIME_MIN;

    count->accepted++;
    pipe_new_row(task);
    out_orders(task, record, row);
    return true;
}

/* ----------------------------------------------------------------------------------------------
 * The plan
 * ---------------------------------------------------------------------------------------------- */

static const struct pipe_source_def sources[] = {
    {
        .name = "orders",
        .stream = STREAM_orders,
        .is_kafka = false,
        .target = "orders.jsonl",
        .partitions = 0,
        .format = PIPE_FORMAT_JSONL,
        .contract = &contract_order,
        .row = &Order_type,
        .row_bytes = sizeof(struct Order),
        .stage = STAGE_orders,
    },
};

static const struct pipe_stream_def streams[] = {
    [STREAM_orders] = {.name = "orders", .kind = PIPE_STREAM_SOURCE},
    [STREAM_shipped] = {.name = "shipped", .kind = PIPE_STREAM_NORMAL,
                        .inputs = (const uint32_t[]){STREAM_orders}, .input_count = 1,
                        .has_filters = true, .has_select = true},
    [STREAM_lines] = {.name = "lines", .kind = PIPE_STREAM_NORMAL,
                      .inputs = (const uint32_t[]){STREAM_orders}, .input_count = 1,
                      .has_unnest = true, .has_select = true},
    [STREAM_refused] = {.name = "refused", .kind = PIPE_STREAM_REJECTS,
                        .inputs = (const uint32_t[]){STREAM_orders}, .input_count = 1},
    [STREAM_reasons] = {.name = "reasons", .kind = PIPE_STREAM_NORMAL,
                        .inputs = (const uint32_t[]){STREAM_refused}, .input_count = 1,
                        .has_select = true},
};

static const struct pipe_stage_def stages[] = {
    [STAGE_orders] = {
        .name = "orders",
        .source = 0,
        .exchange = -1,
        .record = record_orders,
    },
};

static const struct pipe_sink_def sinks[] = {
    [SINK_shipped_rows] = {
        .name = "shipped_rows",
        .stream = STREAM_shipped,
        .kind = PIPE_SINK_FILE,
        .target = "out/shipped.jsonl",
        .format = PIPE_FORMAT_JSONL,
        .row = &shipped_type,
        .exactly_once = true,
    },
    [SINK_line_rows] = {
        .name = "line_rows",
        .stream = STREAM_lines,
        .kind = PIPE_SINK_FILE,
        .target = "out/lines.csv",
        .format = PIPE_FORMAT_CSV,
        .row = &lines_2_type,
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
    "nested   plan b59bd6c6\n"
    "  1 file source orders                   one partition a file; jsonl of contract "
    "order\n"
    "  2   stream shipped                     from orders\n"
    "  3     where                            status <> 'NEW'\n"
    "  4     select                           order_id, status, total, length(items) as "
    "lines, get(items, 0) as first, coalesce(address.zip, '-') as zip, address is not "
    "null and address.city = 'Oslo' as in_oslo\n"
    "  5     file sink shipped_rows           jsonl; exactly once: cut back to the "
    "length in the last commit\n"
    "  6   stream lines                       from orders\n"
    "  7     unnest                           items as item\n"
    "  8     select                           order_id, item_index, item.sku as sku, "
    "item.price * item.qty as price\n"
    "  9     file sink line_rows              csv; exactly once: cut back to the length "
    "in the last commit\n"
    " 10 rejects refused                      from orders\n"
    " 11   stream reasons                     from refused\n"
    " 12     select                           reason, detail\n"
    " 13     file sink refusals               jsonl; exactly once: cut back to the "
    "length in the last commit\n"
    "\n"
    "stages\n"
    "  0 reads source orders: one task a file\n";

static const char plan_json[] =
    "{\n"
    " \"hash\": \"b59bd6c61d8c7515\",\n"
    " \"nodes\": [\n"
    "  {\n"
    "   \"compatibility\": \"full\",\n"
    "   \"name\": \"order\",\n"
    "   \"node\": \"contract\",\n"
    "   \"versions\": [\n"
    "    {\n"
    "     \"definition\": {\n"
    "      \"fields\": [\n"
    "       {\n"
    "        \"name\": \"order_id\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"customer\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"status\",\n"
    "        \"type\": {\n"
    "         \"name\": \"Status\",\n"
    "         \"symbols\": [\n"
    "          \"NEW\",\n"
    "          \"PAID\",\n"
    "          \"SHIPPED\"\n"
    "         ],\n"
    "         \"type\": \"enum\"\n"
    "        }\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"total\",\n"
    "        \"type\": {\n"
    "         \"logicalType\": \"decimal\",\n"
    "         \"precision\": 12,\n"
    "         \"scale\": 2,\n"
    "         \"type\": \"bytes\"\n"
    "        }\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"items\",\n"
    "        \"type\": {\n"
    "         \"items\": {\n"
    "          \"fields\": [\n"
    "           {\n"
    "            \"name\": \"sku\",\n"
    "            \"type\": \"string\"\n"
    "           },\n"
    "           {\n"
    "            \"name\": \"qty\",\n"
    "            \"type\": \"int\"\n"
    "           },\n"
    "           {\n"
    "            \"name\": \"price\",\n"
    "            \"type\": {\n"
    "             \"logicalType\": \"decimal\",\n"
    "             \"precision\": 12,\n"
    "             \"scale\": 2,\n"
    "             \"type\": \"bytes\"\n"
    "            }\n"
    "           }\n"
    "          ],\n"
    "          \"name\": \"Item\",\n"
    "          \"type\": \"record\"\n"
    "         },\n"
    "         \"type\": \"array\"\n"
    "        }\n"
    "       },\n"
    "       {\n"
    "        \"default\": null,\n"
    "        \"name\": \"address\",\n"
    "        \"type\": [\n"
    "         \"null\",\n"
    "         {\n"
    "          \"fields\": [\n"
    "           {\n"
    "            \"name\": \"city\",\n"
    "            \"type\": \"string\"\n"
    "           },\n"
    "           {\n"
    "            \"default\": null,\n"
    "            \"name\": \"zip\",\n"
    "            \"type\": [\n"
    "             \"null\",\n"
    "             \"string\"\n"
    "            ]\n"
    "           }\n"
    "          ],\n"
    "          \"name\": \"Address\",\n"
    "          \"type\": \"record\"\n"
    "         }\n"
    "        ]\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"tags\",\n"
    "        \"type\": {\n"
    "         \"type\": \"map\",\n"
    "         \"values\": \"string\"\n"
    "        }\n"
    "       },\n"
    "       {\n"
    "        \"default\": null,\n"
    "        \"name\": \"note\",\n"
    "        \"type\": [\n"
    "         \"null\",\n"
    "         \"string\"\n"
    "        ]\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"placed_at\",\n"
    "        \"type\": {\n"
    "         \"logicalType\": \"timestamp-millis\",\n"
    "         \"type\": \"long\"\n"
    "        }\n"
    "       }\n"
    "      ],\n"
    "      \"name\": \"Order\",\n"
    "      \"namespace\": \"golden\",\n"
    "      \"type\": \"record\"\n"
    "     },\n"
    "     \"fingerprint\": \"47c7dd3389df3134\",\n"
    "     \"label\": \"order\",\n"
    "     \"schema\": {\n"
    "      \"fields\": [\n"
    "       {\n"
    "        \"name\": \"order_id\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"customer\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"status\",\n"
    "        \"type\": {\n"
    "         \"name\": \"golden.Status\",\n"
    "         \"symbols\": [\n"
    "          \"NEW\",\n"
    "          \"PAID\",\n"
    "          \"SHIPPED\"\n"
    "         ],\n"
    "         \"type\": \"enum\"\n"
    "        }\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"total\",\n"
    "        \"type\": \"bytes\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"items\",\n"
    "        \"type\": {\n"
    "         \"items\": {\n"
    "          \"fields\": [\n"
    "           {\n"
    "            \"name\": \"sku\",\n"
    "            \"type\": \"string\"\n"
    "           },\n"
    "           {\n"
    "            \"name\": \"qty\",\n"
    "            \"type\": \"int\"\n"
    "           },\n"
    "           {\n"
    "            \"name\": \"price\",\n"
    "            \"type\": \"bytes\"\n"
    "           }\n"
    "          ],\n"
    "          \"name\": \"golden.Item\",\n"
    "          \"type\": \"record\"\n"
    "         },\n"
    "         \"type\": \"array\"\n"
    "        }\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"address\",\n"
    "        \"type\": [\n"
    "         \"null\",\n"
    "         {\n"
    "          \"fields\": [\n"
    "           {\n"
    "            \"name\": \"city\",\n"
    "            \"type\": \"string\"\n"
    "           },\n"
    "           {\n"
    "            \"name\": \"zip\",\n"
    "            \"type\": [\n"
    "             \"null\",\n"
    "             \"string\"\n"
    "            ]\n"
    "           }\n"
    "          ],\n"
    "          \"name\": \"golden.Address\",\n"
    "          \"type\": \"record\"\n"
    "         }\n"
    "        ]\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"tags\",\n"
    "        \"type\": {\n"
    "         \"type\": \"map\",\n"
    "         \"values\": \"string\"\n"
    "        }\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"note\",\n"
    "        \"type\": [\n"
    "         \"null\",\n"
    "         \"string\"\n"
    "        ]\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"placed_at\",\n"
    "        \"type\": \"long\"\n"
    "       }\n"
    "      ],\n"
    "      \"name\": \"golden.Order\",\n"
    "      \"type\": \"record\"\n"
    "     }\n"
    "    }\n"
    "   ]\n"
    "  },\n"
    "  {\n"
    "   \"ahead_ms\": 0,\n"
    "   \"columns\": [\n"
    "    {\n"
    "     \"name\": \"order_id\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"customer\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"status\",\n"
    "     \"symbols\": [\n"
    "      \"NEW\",\n"
    "      \"PAID\",\n"
    "      \"SHIPPED\"\n"
    "     ],\n"
    "     \"type\": \"enum Status\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"total\",\n"
    "     \"type\": \"decimal(12,2)\"\n"
    "    },\n"
    "    {\n"
    "     \"element\": {\n"
    "      \"fields\": [\n"
    "       {\n"
    "        \"name\": \"sku\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"qty\",\n"
    "        \"type\": \"int32\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"price\",\n"
    "        \"type\": \"decimal(12,2)\"\n"
    "       }\n"
    "      ],\n"
    "      \"type\": \"record Item\"\n"
    "     },\n"
    "     \"name\": \"items\",\n"
    "     \"type\": \"array(record Item)\"\n"
    "    },\n"
    "    {\n"
    "     \"fields\": [\n"
    "      {\n"
    "       \"name\": \"city\",\n"
    "       \"type\": \"string\"\n"
    "      },\n"
    "      {\n"
    "       \"name\": \"zip\",\n"
    "       \"nullable\": true,\n"
    "       \"type\": \"string\"\n"
    "      }\n"
    "     ],\n"
    "     \"name\": \"address\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"record Address\"\n"
    "    },\n"
    "    {\n"
    "     \"element\": {\n"
    "      \"type\": \"string\"\n"
    "     },\n"
    "     \"name\": \"tags\",\n"
    "     \"type\": \"map(string)\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"note\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"placed_at\",\n"
    "     \"type\": \"timestamp_ms\"\n"
    "    }\n"
    "   ],\n"
    "   \"contract\": \"order\",\n"
    "   \"drop_tombstones\": false,\n"
    "   \"format\": \"jsonl\",\n"
    "   \"header\": false,\n"
    "   \"idle_advance\": false,\n"
    "   \"idle_ms\": 0,\n"
    "   \"key\": [],\n"
    "   \"name\": \"orders\",\n"
    "   \"node\": \"source\",\n"
    "   \"partitions\": 0,\n"
    "   \"payload\": [\n"
    "    {\n"
    "     \"name\": \"order_id\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"customer\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"status\",\n"
    "     \"symbols\": [\n"
    "      \"NEW\",\n"
    "      \"PAID\",\n"
    "      \"SHIPPED\"\n"
    "     ],\n"
    "     \"type\": \"enum Status\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"total\",\n"
    "     \"type\": \"decimal(12,2)\"\n"
    "    },\n"
    "    {\n"
    "     \"element\": {\n"
    "      \"fields\": [\n"
    "       {\n"
    "        \"name\": \"sku\",\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"qty\",\n"
    "        \"type\": \"int32\"\n"
    "       },\n"
    "       {\n"
    "        \"name\": \"price\",\n"
    "        \"type\": \"decimal(12,2)\"\n"
    "       }\n"
    "      ],\n"
    "      \"type\": \"record Item\"\n"
    "     },\n"
    "     \"name\": \"items\",\n"
    "     \"type\": \"array(record Item)\"\n"
    "    },\n"
    "    {\n"
    "     \"fields\": [\n"
    "      {\n"
    "       \"name\": \"city\",\n"
    "       \"type\": \"string\"\n"
    "      },\n"
    "      {\n"
    "       \"name\": \"zip\",\n"
    "       \"nullable\": true,\n"
    "       \"type\": \"string\"\n"
    "      }\n"
    "     ],\n"
    "     \"name\": \"address\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"record Address\"\n"
    "    },\n"
    "    {\n"
    "     \"element\": {\n"
    "      \"type\": \"string\"\n"
    "     },\n"
    "     \"name\": \"tags\",\n"
    "     \"type\": \"map(string)\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"note\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"placed_at\",\n"
    "     \"type\": \"timestamp_ms\"\n"
    "    }\n"
    "   ],\n"
    "   \"rejects\": \"refused\",\n"
    "   \"transport\": \"file\",\n"
    "   \"watermark_ms\": -1\n"
    "  },\n"
    "  {\n"
    "   \"columns\": [\n"
    "    {\n"
    "     \"name\": \"order_id\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"status\",\n"
    "     \"symbols\": [\n"
    "      \"NEW\",\n"
    "      \"PAID\",\n"
    "      \"SHIPPED\"\n"
    "     ],\n"
    "     \"type\": \"enum Status\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"total\",\n"
    "     \"type\": \"decimal(12,2)\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"lines\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"fields\": [\n"
    "      {\n"
    "       \"name\": \"sku\",\n"
    "       \"type\": \"string\"\n"
    "      },\n"
    "      {\n"
    "       \"name\": \"qty\",\n"
    "       \"type\": \"int32\"\n"
    "      },\n"
    "      {\n"
    "       \"name\": \"price\",\n"
    "       \"type\": \"decimal(12,2)\"\n"
    "      }\n"
    "     ],\n"
    "     \"name\": \"first\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"record Item\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"zip\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"in_oslo\",\n"
    "     \"type\": \"bool\"\n"
    "    }\n"
    "   ],\n"
    "   \"inputs\": [\n"
    "    \"orders\"\n"
    "   ],\n"
    "   \"name\": \"shipped\",\n"
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
    "      \"status\"\n"
    "     ],\n"
    "     \"type\": \"enum Status\"\n"
    "    },\n"
    "    \"op\": \"<>\",\n"
    "    \"right\": {\n"
    "     \"kind\": \"symbol\",\n"
    "     \"type\": \"enum Status\",\n"
    "     \"value\": \"NEW\"\n"
    "    },\n"
    "    \"type\": \"bool\"\n"
    "   },\n"
    "   \"node\": \"where\",\n"
    "   \"stream\": \"shipped\",\n"
    "   \"text\": \"status <> 'NEW'\"\n"
    "  },\n"
    "  {\n"
    "   \"columns\": [\n"
    "    {\n"
    "     \"name\": \"order_id\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"status\",\n"
    "     \"symbols\": [\n"
    "      \"NEW\",\n"
    "      \"PAID\",\n"
    "      \"SHIPPED\"\n"
    "     ],\n"
    "     \"type\": \"enum Status\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"total\",\n"
    "     \"type\": \"decimal(12,2)\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"lines\",\n"
    "     \"type\": \"int64\"\n"
    "    },\n"
    "    {\n"
    "     \"fields\": [\n"
    "      {\n"
    "       \"name\": \"sku\",\n"
    "       \"type\": \"string\"\n"
    "      },\n"
    "      {\n"
    "       \"name\": \"qty\",\n"
    "       \"type\": \"int32\"\n"
    "      },\n"
    "      {\n"
    "       \"name\": \"price\",\n"
    "       \"type\": \"decimal(12,2)\"\n"
    "      }\n"
    "     ],\n"
    "     \"name\": \"first\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"record Item\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"zip\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"in_oslo\",\n"
    "     \"type\": \"bool\"\n"
    "    }\n"
    "   ],\n"
    "   \"items\": [\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"order_id\"\n"
    "      ],\n"
    "      \"type\": \"string\"\n"
    "     },\n"
    "     \"name\": \"order_id\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"status\"\n"
    "      ],\n"
    "      \"type\": \"enum Status\"\n"
    "     },\n"
    "     \"name\": \"status\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"total\"\n"
    "      ],\n"
    "      \"type\": \"decimal(12,2)\"\n"
    "     },\n"
    "     \"name\": \"total\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"args\": [\n"
    "       {\n"
    "        \"kind\": \"column\",\n"
    "        \"path\": [\n"
    "         \"items\"\n"
    "        ],\n"
    "        \"type\": \"array(record Item)\"\n"
    "       }\n"
    "      ],\n"
    "      \"function\": \"length\",\n"
    "      \"kind\": \"call\",\n"
    "      \"type\": \"int64\"\n"
    "     },\n"
    "     \"name\": \"lines\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"args\": [\n"
    "       {\n"
    "        \"kind\": \"column\",\n"
    "        \"path\": [\n"
    "         \"items\"\n"
    "        ],\n"
    "        \"type\": \"array(record Item)\"\n"
    "       },\n"
    "       {\n"
    "        \"kind\": \"literal\",\n"
    "        \"type\": \"int64\",\n"
    "        \"value\": \"0\"\n"
    "       }\n"
    "      ],\n"
    "      \"function\": \"get\",\n"
    "      \"kind\": \"call\",\n"
    "      \"nullable\": true,\n"
    "      \"type\": \"record Item\"\n"
    "     },\n"
    "     \"name\": \"first\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"args\": [\n"
    "       {\n"
    "        \"kind\": \"column\",\n"
    "        \"nullable\": true,\n"
    "        \"path\": [\n"
    "         \"address\",\n"
    "         \"zip\"\n"
    "        ],\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       {\n"
    "        \"kind\": \"literal\",\n"
    "        \"type\": \"string\",\n"
    "        \"value\": \"-\"\n"
    "       }\n"
    "      ],\n"
    "      \"function\": \"coalesce\",\n"
    "      \"kind\": \"call\",\n"
    "      \"type\": \"string\"\n"
    "     },\n"
    "     \"name\": \"zip\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"kind\": \"binary\",\n"
    "      \"left\": {\n"
    "       \"kind\": \"is_null\",\n"
    "       \"left\": {\n"
    "        \"kind\": \"column\",\n"
    "        \"nullable\": true,\n"
    "        \"path\": [\n"
    "         \"address\"\n"
    "        ],\n"
    "        \"type\": \"record Address\"\n"
    "       },\n"
    "       \"negated\": true,\n"
    "       \"type\": \"bool\"\n"
    "      },\n"
    "      \"op\": \"and\",\n"
    "      \"right\": {\n"
    "       \"kind\": \"binary\",\n"
    "       \"left\": {\n"
    "        \"kind\": \"column\",\n"
    "        \"path\": [\n"
    "         \"address\",\n"
    "         \"city\"\n"
    "        ],\n"
    "        \"type\": \"string\"\n"
    "       },\n"
    "       \"op\": \"=\",\n"
    "       \"right\": {\n"
    "        \"kind\": \"literal\",\n"
    "        \"type\": \"string\",\n"
    "        \"value\": \"Oslo\"\n"
    "       },\n"
    "       \"type\": \"bool\"\n"
    "      },\n"
    "      \"type\": \"bool\"\n"
    "     },\n"
    "     \"name\": \"in_oslo\"\n"
    "    }\n"
    "   ],\n"
    "   \"node\": \"select\",\n"
    "   \"stream\": \"shipped\"\n"
    "  },\n"
    "  {\n"
    "   \"append_revisions\": false,\n"
    "   \"commit_bytes\": 16777216,\n"
    "   \"commit_ms\": 100,\n"
    "   \"exactly_once\": true,\n"
    "   \"format\": \"jsonl\",\n"
    "   \"from\": \"shipped\",\n"
    "   \"guarantee\": \"exactly once: cut back to the length in the last commit\",\n"
    "   \"key\": [],\n"
    "   \"kind\": \"file\",\n"
    "   \"name\": \"shipped_rows\",\n"
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
    "     \"name\": \"order_id\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"item_index\",\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"sku\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"price\",\n"
    "     \"type\": \"decimal(22,2)\"\n"
    "    }\n"
    "   ],\n"
    "   \"inputs\": [\n"
    "    \"orders\"\n"
    "   ],\n"
    "   \"name\": \"lines\",\n"
    "   \"node\": \"stream\",\n"
    "   \"role\": \"stream\",\n"
    "   \"stages\": [\n"
    "    0\n"
    "   ]\n"
    "  },\n"
    "  {\n"
    "   \"as\": \"item\",\n"
    "   \"columns\": [\n"
    "    {\n"
    "     \"name\": \"order_id\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"customer\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"status\",\n"
    "     \"symbols\": [\n"
    "      \"NEW\",\n"
    "      \"PAID\",\n"
    "      \"SHIPPED\"\n"
    "     ],\n"
    "     \"type\": \"enum Status\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"total\",\n"
    "     \"type\": \"decimal(12,2)\"\n"
    "    },\n"
    "    {\n"
    "     \"fields\": [\n"
    "      {\n"
    "       \"name\": \"sku\",\n"
    "       \"type\": \"string\"\n"
    "      },\n"
    "      {\n"
    "       \"name\": \"qty\",\n"
    "       \"type\": \"int32\"\n"
    "      },\n"
    "      {\n"
    "       \"name\": \"price\",\n"
    "       \"type\": \"decimal(12,2)\"\n"
    "      }\n"
    "     ],\n"
    "     \"name\": \"item\",\n"
    "     \"type\": \"record Item\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"item_index\",\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"fields\": [\n"
    "      {\n"
    "       \"name\": \"city\",\n"
    "       \"type\": \"string\"\n"
    "      },\n"
    "      {\n"
    "       \"name\": \"zip\",\n"
    "       \"nullable\": true,\n"
    "       \"type\": \"string\"\n"
    "      }\n"
    "     ],\n"
    "     \"name\": \"address\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"record Address\"\n"
    "    },\n"
    "    {\n"
    "     \"element\": {\n"
    "      \"type\": \"string\"\n"
    "     },\n"
    "     \"name\": \"tags\",\n"
    "     \"type\": \"map(string)\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"note\",\n"
    "     \"nullable\": true,\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"placed_at\",\n"
    "     \"type\": \"timestamp_ms\"\n"
    "    }\n"
    "   ],\n"
    "   \"expr\": {\n"
    "    \"kind\": \"column\",\n"
    "    \"path\": [\n"
    "     \"items\"\n"
    "    ],\n"
    "    \"type\": \"array(record Item)\"\n"
    "   },\n"
    "   \"node\": \"unnest\",\n"
    "   \"stream\": \"lines\",\n"
    "   \"text\": \"items\"\n"
    "  },\n"
    "  {\n"
    "   \"columns\": [\n"
    "    {\n"
    "     \"name\": \"order_id\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"item_index\",\n"
    "     \"type\": \"int32\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"sku\",\n"
    "     \"type\": \"string\"\n"
    "    },\n"
    "    {\n"
    "     \"name\": \"price\",\n"
    "     \"type\": \"decimal(22,2)\"\n"
    "    }\n"
    "   ],\n"
    "   \"items\": [\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"order_id\"\n"
    "      ],\n"
    "      \"type\": \"string\"\n"
    "     },\n"
    "     \"name\": \"order_id\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"item_index\"\n"
    "      ],\n"
    "      \"type\": \"int32\"\n"
    "     },\n"
    "     \"name\": \"item_index\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"kind\": \"column\",\n"
    "      \"path\": [\n"
    "       \"item\",\n"
    "       \"sku\"\n"
    "      ],\n"
    "      \"type\": \"string\"\n"
    "     },\n"
    "     \"name\": \"sku\"\n"
    "    },\n"
    "    {\n"
    "     \"expr\": {\n"
    "      \"kind\": \"binary\",\n"
    "      \"left\": {\n"
    "       \"kind\": \"column\",\n"
    "       \"path\": [\n"
    "        \"item\",\n"
    "        \"price\"\n"
    "       ],\n"
    "       \"type\": \"decimal(12,2)\"\n"
    "      },\n"
    "      \"op\": \"*\",\n"
    "      \"right\": {\n"
    "       \"kind\": \"convert\",\n"
    "       \"left\": {\n"
    "        \"kind\": \"column\",\n"
    "        \"path\": [\n"
    "         \"item\",\n"
    "         \"qty\"\n"
    "        ],\n"
    "        \"type\": \"int32\"\n"
    "       },\n"
    "       \"type\": \"decimal(10,0)\"\n"
    "      },\n"
    "      \"type\": \"decimal(22,2)\"\n"
    "     },\n"
    "     \"name\": \"price\"\n"
    "    }\n"
    "   ],\n"
    "   \"node\": \"select\",\n"
    "   \"stream\": \"lines\"\n"
    "  },\n"
    "  {\n"
    "   \"append_revisions\": false,\n"
    "   \"commit_bytes\": 16777216,\n"
    "   \"commit_ms\": 100,\n"
    "   \"exactly_once\": true,\n"
    "   \"format\": \"csv\",\n"
    "   \"from\": \"lines\",\n"
    "   \"guarantee\": \"exactly once: cut back to the length in the last commit\",\n"
    "   \"key\": [],\n"
    "   \"kind\": \"file\",\n"
    "   \"name\": \"line_rows\",\n"
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
    "    \"orders\"\n"
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
    "   \"name\": \"refusals\",\n"
    "   \"node\": \"sink\",\n"
    "   \"order\": [],\n"
    "   \"partition_by\": [],\n"
    "   \"partitions\": 0,\n"
    "   \"rollups\": [],\n"
    "   \"source_key\": false\n"
    "  }\n"
    " ],\n"
    " \"pipeline\": \"nested\",\n"
    " \"stages\": [\n"
    "  {\n"
    "   \"source\": \"orders\",\n"
    "   \"stage\": 0,\n"
    "   \"states\": []\n"
    "  }\n"
    " ]\n"
    "}\n";

static const struct pipe_plan plan = {
    .abi = PIPE_RUNTIME_ABI,
    .name = "nested",
    .hash = "b59bd6c61d8c7515",
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
