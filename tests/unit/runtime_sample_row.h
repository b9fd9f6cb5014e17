/* runtime_sample_row.h: a row type with a column of every kind, as generated code would declare it.
 */
#ifndef RUNTIME_SAMPLE_ROW_H
#define RUNTIME_SAMPLE_ROW_H

#include "../../runtime/row.h"

struct point {
    int32_t x;
    struct pipe_str label;
    bool label_null;
};
struct maybe_point {
    struct point value;
    bool is_null;
};
struct count_entry {
    struct pipe_str key;
    int64_t value;
};
struct maybe_name_entry {
    struct pipe_str key;
    struct pipe_str value;
    bool is_null;
};

struct sample {
    bool flag;
    int32_t small;
    int64_t big;
    int64_t big_maybe;
    bool big_maybe_null;
    float f32;
    double f64;
    pipe_decimal price;
    pipe_decimal exact;
    struct pipe_str text;
    struct pipe_str note;
    bool note_null;
    struct pipe_str id;
    uint32_t color;
    struct pipe_str raw;
    struct pipe_str mac;
    int32_t day;
    int64_t at_ms;
    int64_t at_us;
    int64_t pause;
    struct point origin;
    struct pipe_array points;
    struct pipe_array numbers;
    struct pipe_map counts;
    struct pipe_map names;
};

#define COLUMN(struct_name, member, type_pointer)                                                  \
    {                                                                                              \
#member, type_pointer, offsetof(struct struct_name, member), PIPE_NOT_NULL, false, false,  \
            NULL                                                                                   \
    }
#define NULLABLE(struct_name, member, type_pointer, first)                                         \
    {                                                                                              \
#member, type_pointer, offsetof(struct struct_name, member),                               \
            offsetof(struct struct_name, member##_null), first, false, NULL                        \
    }

static const char *const color_symbols[] = {"RED", "GREEN", "BLUE"};
static const struct pipe_type
    t_bool = {.kind = PIPE_BOOL},
    t_int32 = {.kind = PIPE_INT32}, t_int64 = {.kind = PIPE_INT64},
    t_float32 = {.kind = PIPE_FLOAT32}, t_float64 = {.kind = PIPE_FLOAT64},
    t_price = {.kind = PIPE_DECIMAL, .precision = 10, .scale = 2},
    t_exact = {.kind = PIPE_DECIMAL, .precision = 38, .scale = 6, .fixed_bytes = 16},
    t_string = {.kind = PIPE_STRING}, t_uuid = {.kind = PIPE_UUID},
    t_color = {.kind = PIPE_ENUM, .symbols = color_symbols, .symbol_count = 3},
    t_bytes = {.kind = PIPE_BYTES}, t_mac = {.kind = PIPE_BYTES, .fixed_bytes = 6},
    t_date = {.kind = PIPE_DATE}, t_ms = {.kind = PIPE_TIMESTAMP_MS},
    t_us = {.kind = PIPE_TIMESTAMP_US}, t_duration = {.kind = PIPE_DURATION};

static const struct pipe_column point_columns[] = {
    COLUMN(point, x, &t_int32),
    NULLABLE(point, label, &t_string, true),
};
static const struct pipe_row_type point_type = {"point", point_columns, 2, sizeof(struct point)};
static const struct pipe_type t_point = {.kind = PIPE_RECORD, .record = &point_type},
                              t_points = {.kind = PIPE_ARRAY,
                                          .element = &t_point,
                                          .element_nullable = true,
                                          .element_bytes = sizeof(struct maybe_point),
                                          .element_null_first = true},
                              t_numbers = {.kind = PIPE_ARRAY,
                                           .element = &t_int64,
                                           .element_bytes = sizeof(int64_t)},
                              t_counts = {.kind = PIPE_MAP,
                                          .element = &t_int64,
                                          .element_bytes = sizeof(struct count_entry)},
                              t_names = {.kind = PIPE_MAP,
                                         .element = &t_string,
                                         .element_nullable = true,
                                         .element_bytes = sizeof(struct maybe_name_entry)};

static const struct pipe_column sample_columns[] = {
    COLUMN(sample, flag, &t_bool),       COLUMN(sample, small, &t_int32),
    COLUMN(sample, big, &t_int64),       NULLABLE(sample, big_maybe, &t_int64, false),
    COLUMN(sample, f32, &t_float32),     COLUMN(sample, f64, &t_float64),
    COLUMN(sample, price, &t_price),     COLUMN(sample, exact, &t_exact),
    COLUMN(sample, text, &t_string),     NULLABLE(sample, note, &t_string, true),
    COLUMN(sample, id, &t_uuid),         COLUMN(sample, color, &t_color),
    COLUMN(sample, raw, &t_bytes),       COLUMN(sample, mac, &t_mac),
    COLUMN(sample, day, &t_date),        COLUMN(sample, at_ms, &t_ms),
    COLUMN(sample, at_us, &t_us),        COLUMN(sample, pause, &t_duration),
    COLUMN(sample, origin, &t_point),    COLUMN(sample, points, &t_points),
    COLUMN(sample, numbers, &t_numbers), COLUMN(sample, counts, &t_counts),
    COLUMN(sample, names, &t_names),
};
static const struct pipe_row_type sample_type = {"sample", sample_columns,
                                                 sizeof sample_columns / sizeof *sample_columns,
                                                 sizeof(struct sample)};

/* One row of it, in the exact format of JSON output. */
static const char sample_json[] =
    "{\"flag\":true,\"small\":-2147483648,\"big\":9223372036854775807,\"big_maybe\":null,"
    "\"f32\":0.1,\"f64\":1e-7,\"price\":\"-0.05\",\"exact\":\"12345678901234567890123456789012."
    "345678\","
    "\"text\":\"a\\\"b\\\\c\\n\\u0001/"
    "é😀\",\"note\":\"\",\"id\":\"0f8fad5b-d9cb-469f-a165-70867728950e\","
    "\"color\":\"BLUE\",\"raw\":\"AP8Q\",\"mac\":\"AAECAwQF\",\"day\":\"2024-02-29\","
    "\"at_ms\":\"2026-01-31T10:00:00.123Z\",\"at_us\":\"0001-01-01T00:00:00.000001Z\",\"pause\":-5,"
    "\"origin\":{\"x\":1,\"label\":null},"
    "\"points\":[{\"x\":2,\"label\":\"p\"},null,{\"x\":-3,\"label\":null}],\"numbers\":[1,-2,300],"
    "\"counts\":{\"a\":1,\"\":2},\"names\":{\"k\":null,\"l\":\"v\"}}";

#endif
