/* Unit tests of avro_compatible.c, avro_resolve.c and avro_program.c: what can be read as what, and
 * the rows that come of it. The generated decoders are compared by tests/fuzz/resolve.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../runtime/avro_resolve.h"

/* ---- A row ---- */

struct inner {
    struct pipe_str city;
    int32_t zip;
};
struct outer {
    int64_t id;
    double ratio;
    bool ratio_null;
    struct pipe_str text;
    uint32_t size;
    int64_t at;
    pipe_decimal price;
    struct inner place;
    struct pipe_array tags;
};
struct tag {
    struct pipe_str value;
    bool is_null;
};

static const char *const symbols[] = {"S", "M", "L"};
static const struct pipe_type t_long = {.kind = PIPE_INT64}, t_double = {.kind = PIPE_FLOAT64},
                              t_string = {.kind = PIPE_STRING}, t_int = {.kind = PIPE_INT32},
                              t_at = {.kind = PIPE_TIMESTAMP_MS},
                              t_size = {.kind = PIPE_ENUM, .symbols = symbols, .symbol_count = 3},
                              t_price = {.kind = PIPE_DECIMAL, .precision = 6, .scale = 2},
                              t_tags = {.kind = PIPE_ARRAY,
                                        .element = &t_string,
                                        .element_nullable = true,
                                        .element_bytes = sizeof(struct tag),
                                        .element_null_first = true};

#define INNER(member) offsetof(struct inner, member)
#define OUTER(member) offsetof(struct outer, member)
static const struct pipe_column inner_columns[] = {
    {"city", &t_string, INNER(city), PIPE_NOT_NULL, false, false, NULL},
    {"zip", &t_int, INNER(zip), PIPE_NOT_NULL, false, true, "7"},
};
static const struct pipe_row_type inner_row = {"place", inner_columns, 2, sizeof(struct inner)};
static const struct pipe_type t_place = {.kind = PIPE_RECORD, .record = &inner_row};
static const struct pipe_column outer_columns[] = {
    {"id", &t_long, OUTER(id), PIPE_NOT_NULL, false, false, NULL},
    {"ratio", &t_double, OUTER(ratio), OUTER(ratio_null), true, true, "null"},
    {"text", &t_string, OUTER(text), PIPE_NOT_NULL, false, true, "\"none\""},
    {"size", &t_size, OUTER(size), PIPE_NOT_NULL, false, true, "\"M\""},
    {"at", &t_at, OUTER(at), PIPE_NOT_NULL, false, true, "5"},
    {"price", &t_price, OUTER(price), PIPE_NOT_NULL, false, true, "\"\\u0001\\u0002\""},
    {"place", &t_place, OUTER(place), PIPE_NOT_NULL, false, true, "{\"city\":\"Oslo\",\"zip\":1}"},
    {"tags", &t_tags, OUTER(tags), PIPE_NOT_NULL, false, true, "[null,\"x\"]"},
};
static const struct pipe_row_type outer_row = {"event", outer_columns, 8, sizeof(struct outer)};

#define PLACE                                                                                      \
    "{'type':'record','name':'Place','aliases':['old.Spot'],'fields':["                            \
    "{'name':'city','type':'string','aliases':['town']},"                                          \
    "{'name':'zip','type':'int','default':7}]}"
#define READER                                                                                     \
    "{'type':'record','name':'Event','namespace':'n','fields':["                                   \
    "{'name':'id','type':'long','aliases':['key']},"                                               \
    "{'name':'ratio','type':['null','double'],'default':null},"                                    \
    "{'name':'text','type':'string','default':'none'},"                                            \
    "{'name':'size','type':{'type':'enum','name':'Size','symbols':['S','M','L'],'default':'L'},"   \
    "'default':'M'},"                                                                              \
    "{'name':'at','type':{'type':'long','logicalType':'timestamp-millis'},'default':5},"           \
    "{'name':'price','type':{'type':'bytes','logicalType':'decimal','precision':6,'scale':2},"     \
    "'default':'\\u0001\\u0002'},"                                                                 \
    "{'name':'place','type':" PLACE ",'default':{'city':'Oslo','zip':1}},"                         \
    "{'name':'tags','type':{'type':'array','items':['null','string']},'default':[]}]}"

/* ---- Helpers ---- */

/* With " for '. */
static char *json_of(const char *text)
{
    char *json = strdup(text);
    for (char *at = json; *at != '\0'; at++)
        *at = *at == '\'' ? '"' : *at;
    return json;
}

static struct pipe_resolved *resolve(const char *schema, bool same_form, char error[256])
{
    char *own = json_of(READER), *json = json_of(schema);
    const struct pipe_resolve_reader reader = {&outer_row, own};
    struct pipe_writer_schema *writer = pipe_writer_schema_parse(json, strlen(json), error, 256);
    assert_non_null(writer);
    struct pipe_resolved *resolved = pipe_resolve(&reader, writer, same_form, error, 256);
    free(own);
    free(json);
    return resolved;
}

/* A record of one field besides the id. */
static char *with_field(const char *field)
{
    char *schema = malloc(4096);
    snprintf(schema, 4096,
             "{'type':'record','name':'Event','fields':[{'name':'id','type':'int'}%s%s]}",
             field[0] != '\0' ? "," : "", field);
    return schema;
}

static void expect_break(const char *field, const char *expected)
{
    char error[256], *schema = with_field(field);
    struct pipe_resolved *resolved = resolve(schema, false, error);
    assert_null(resolved);
    assert_string_equal(error, expected);
    free(schema);
}

struct reading {
    struct pipe_arena arena;
    struct pipe_reader reader;
    struct pipe_resolved *resolved;
    struct outer row;
    bool good;
};

static void read_bytes(struct reading *r, const char *schema, const void *bytes, size_t size)
{
    char error[256] = "";
    r->resolved = resolve(schema, false, error);
    assert_string_equal(error, "");
    pipe_arena_init(&r->arena, 1 << 20);
    pipe_reader_init(&r->reader, bytes, size, &r->arena);
    memset(&r->row, 0xA5, sizeof r->row);
    r->good = pipe_resolved_decode(r->resolved, &r->reader, &r->row);
}

static void end_reading(struct reading *r)
{
    pipe_arena_free(&r->arena);
    pipe_resolved_free(r->resolved);
}

#define READ(r, schema, literal) read_bytes(r, schema, literal, sizeof(literal) - 1)
#define EXPECT_TEXT(str, literal)                                                                  \
    assert_true(pipe_str_equal(str, pipe_str_of(literal, sizeof(literal) - 1)))

/* ---- Tests ---- */

static void test_defaults(void **state)
{
    (void)state;
    struct reading r;
    READ(&r, "{'type':'record','name':'Event','fields':[{'name':'key','type':'int'}]}", "\x05");
    assert_true(r.good && pipe_reader_done(&r.reader));
    assert_int_equal(r.row.id, -3);
    assert_true(r.row.ratio_null);
    EXPECT_TEXT(r.row.text, "none");
    assert_int_equal(r.row.size, 1);
    assert_int_equal(r.row.at, 5);
    assert_true(r.row.price == 0x0102);
    EXPECT_TEXT(r.row.place.city, "Oslo");
    assert_int_equal(r.row.place.zip, 1);
    assert_int_equal(r.row.tags.count, 2);
    assert_true(((struct tag *)r.row.tags.items)[0].is_null);
    EXPECT_TEXT(((struct tag *)r.row.tags.items)[1].value, "x");
    end_reading(&r);
}

/* Fields that nobody reads, of every type, also one that contains itself. */
static void test_skips(void **state)
{
    (void)state;
    static const char schema[] =
        "{'type':'record','name':'Event','fields':["
        "{'name':'list','type':{'type':'record','name':'Node','fields':["
        "{'name':'n','type':'int'},{'name':'next','type':['null','Node']}]}},"
        "{'name':'any','type':['int','string',{'type':'fixed','name':'F','size':2}]},"
        "{'name':'map','type':{'type':'map','values':{'type':'array','items':'boolean'}}},"
        "{'name':'nothing','type':'null'},"
        "{'name':'id','type':'long'}]}";
    struct reading r;
    READ(&r, schema,
         "\x02\x02\x04\x00"
         "\x04zz"
         "\x02\x02k\x02\x01\x00\x00"
         "\x0e");
    assert_true(r.good && pipe_reader_done(&r.reader));
    assert_int_equal(r.row.id, 7);
    end_reading(&r);
    READ(&r, schema, "\x02\x02\x04\x00\x06zz");
    assert_false(r.good);
    assert_string_equal(r.reader.field, "any");
    assert_string_equal(r.reader.cause, "union index out of range");
    end_reading(&r);
}

/* Branches are read as what the reader has; null where it may be. */
static void test_unions(void **state)
{
    (void)state;
    static const char schema[] = "{'type':'record','name':'Event','fields':["
                                 "{'name':'id','type':['long','int']},"
                                 "{'name':'ratio','type':['float','null','int','double','long']},"
                                 "{'name':'text','type':['bytes']},"
                                 "{'name':'tags','type':{'type':'array','items':'string'}}]}";
    struct reading r;
    READ(&r, schema,
         "\x02\x0e"
         "\x04\x06"
         "\x00\x04hi"
         "\x02\x02u\x00");
    assert_true(r.good && pipe_reader_done(&r.reader));
    assert_int_equal(r.row.id, 7);
    assert_true(!r.row.ratio_null && r.row.ratio == 3.0);
    EXPECT_TEXT(r.row.text, "hi");
    assert_false(((struct tag *)r.row.tags.items)[0].is_null);
    end_reading(&r);
    READ(&r, schema,
         "\x00\x0e"
         "\x02"
         "\x00\x04hi"
         "\x00");
    assert_true(r.good && r.row.ratio_null);
    end_reading(&r);
    READ(&r, schema,
         "\x00\x0e"
         "\x02"
         "\x00\x02\xff"
         "\x00");
    assert_false(r.good);
    assert_string_equal(r.reader.field, "text");
    end_reading(&r);
}

static void test_nested(void **state)
{
    (void)state;
    static const char schema[] =
        "{'type':'record','name':'x.y.Event','fields':[{'name':'id','type':'long'},"
        "{'name':'place','type':{'type':'record','name':'other.Spot','fields':["
        "{'name':'town','type':'string'},{'name':'more','type':'double'}]}},"
        "{'name':'size','type':{'type':'enum','name':'Size','symbols':['XL','S','M']}}]}";
    struct reading r;
    READ(&r, schema,
         "\x02"
         "\x06Rom\0\0\0\0\0\0\0\0"
         "\x00");
    assert_true(r.good && pipe_reader_done(&r.reader));
    EXPECT_TEXT(r.row.place.city, "Rom");
    assert_int_equal(r.row.place.zip, 7);
    assert_int_equal(r.row.size, 2); /* XL is none of the reader's: its default */
    end_reading(&r);
    READ(&r, schema,
         "\x02"
         "\x06Ro");
    assert_false(r.good);
    assert_string_equal(r.reader.field, "place.town");
    end_reading(&r);
}

static void test_breaks(void **state)
{
    (void)state;
    expect_break("{'name':'text','type':'long'}",
                 "field `text` is long, which is not read as string");
    expect_break("{'name':'text','type':['null','string']}",
                 "field `text` may be null, which the reader does not take");
    expect_break("{'name':'ratio','type':['null','string']}",
                 "field `ratio` is string, which is not read as double");
    expect_break("{'name':'at','type':'long'}",
                 "field `at` is long, which is not read as long: timestamp-millis");
    expect_break("{'name':'at','type':{'type':'long','logicalType':'timestamp-micros'}}",
                 "field `at` is long: timestamp-micros, which is not read as long: "
                 "timestamp-millis");
    expect_break("{'name':'price','type':{'type':'bytes','logicalType':'decimal','precision':6,"
                 "'scale':3}}",
                 "field `price` is decimal(6,3), which is not read as decimal(6,2)");
    expect_break("{'name':'place','type':{'type':'record','name':'Place','fields':[]}}",
                 "field `place.city` (string) is not written and has no default");
    expect_break("{'name':'place','type':{'type':'record','name':'Way','fields':[]}}",
                 "field `place` is of the type Way, which is not read as n.Place");
    expect_break("{'name':'key','type':'long'},{'name':'tags','type':{'type':'array','items':"
                 "['null','int']}}",
                 "field `tags[]` is int, which is not read as string");
}

static void test_whole(void **state)
{
    (void)state;
    char error[256];
    assert_null(resolve("{'type':'record','name':'Event','fields':[]}", false, error));
    assert_string_equal(error, "field `id` (long) is not written and has no default");
    assert_null(resolve("'long'", false, error));
    assert_string_equal(error, "the record is long, which is not read as record");
    assert_null(resolve("{'type':'record','name':'Click','fields':[{'name':'id','type':'int'}]}",
                        false, error));
    assert_string_equal(error, "the record is of the type Click, which is not read as n.Event");
}

/* A canonical form says nothing of logical types: none is no contradiction, another one is. */
static void test_same_form(void **state)
{
    (void)state;
    char error[256];
    char *none = with_field("{'name':'at','type':'long'}");
    char *other = with_field("{'name':'at','type':{'type':'long','logicalType':"
                             "'timestamp-micros'}}");
    struct pipe_resolved *resolved = resolve(none, true, error);
    assert_non_null(resolved);
    pipe_resolved_free(resolved);
    assert_null(resolve(other, true, error));
    free(none);
    free(other);
}

/* Unions of records within each other: 2^n ways, of which few are looked at. */
static void test_large(void **state)
{
    (void)state;
    struct pipe_buf schema = {0};
    char error[256];
    pipe_buf_printf(&schema, "{'type':'record','name':'Event','fields':["
                             "{'name':'id','type':'int'},{'name':'tags','type':[");
    for (int i = 0; i < 3000; i++)
        pipe_buf_printf(&schema, "%s{'type':'array','items':['null','string','bytes']}",
                        i > 0 ? "," : "");
    pipe_buf_printf(&schema, "]}]}");
    pipe_buf_add_byte(&schema, 0);
    struct pipe_resolved *resolved = resolve((char *)schema.data, false, error);
    assert_non_null(resolved);
    pipe_resolved_free(resolved);
    pipe_buf_free(&schema);
    pipe_buf_printf(&schema,
                    "{'type':'record','name':'Event','fields':[{'name':'id','type':'int'}");
    for (int i = 0; i < 5000; i++)
        pipe_buf_printf(&schema, ",{'name':'f%d','type':'int'}", i);
    pipe_buf_printf(&schema, "]}");
    pipe_buf_add_byte(&schema, 0);
    assert_null(resolve((char *)schema.data, false, error));
    assert_string_equal(error, "the record has more than 4096 fields");
    pipe_buf_free(&schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),  cmocka_unit_test(test_skips),
        cmocka_unit_test(test_unions),    cmocka_unit_test(test_nested),
        cmocka_unit_test(test_breaks),    cmocka_unit_test(test_whole),
        cmocka_unit_test(test_same_form), cmocka_unit_test(test_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
