/* Unit tests of row.h: JSON, Avro, state and keys of any row by its descriptor, and hostile bytes.
 */
#include "../../runtime/functions.h"
#include "runtime_sample_row.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static struct pipe_arena arena;
static struct pipe_error error;

static struct pipe_str str(const char *text)
{
    return pipe_str_of(text, strlen(text));
}

static void read_sample(struct sample *row)
{
    if (!pipe_row_from_json(&sample_type, str(sample_json), &arena, row, &error))
        fail_msg("%s: %s", error.field, error.detail);
}

static void check_buf(struct pipe_buf *buf, const char *expected)
{
    pipe_buf_add_byte(buf, 0);
    assert_string_equal((char *)buf->data, expected);
    buf->size = 0;
}

/* --- Round trips --------------------------------------------------------------------------------
 */

static void test_json_round_trip(void **state)
{
    (void)state;
    struct sample row;
    struct pipe_buf buf = {NULL, 0, 0};
    read_sample(&row);
    assert_int_equal(row.small, INT32_MIN);
    assert_true(row.big_maybe_null);
    assert_false(row.note_null);
    assert_int_equal(row.note.size, 0);
    assert_int_equal(row.color, 2);
    assert_int_equal(row.raw.size, 3);
    assert_int_equal(row.points.count, 3);
    assert_true(((struct maybe_point *)row.points.items)[1].is_null);
    pipe_row_to_json(&sample_type, &row, &buf);
    check_buf(&buf, sample_json);
    pipe_buf_free(&buf);
}

static void test_avro_round_trip(void **state)
{
    (void)state;
    struct sample row, back;
    struct pipe_buf buf = {NULL, 0, 0}, again = {NULL, 0, 0};
    struct pipe_reader reader;
    read_sample(&row);
    pipe_row_to_avro(&sample_type, &row, &buf);
    pipe_reader_init(&reader, buf.data, buf.size, &arena);
    assert_true(pipe_row_from_avro(&sample_type, &reader, &back));
    assert_true(pipe_reader_done(&reader));
    assert_int_equal(reader.depth, 0);
    assert_true(pipe_row_equal(&sample_type, &row, &back));
    pipe_row_to_avro(&sample_type, &back, &again);
    assert_int_equal(buf.size, again.size);
    assert_memory_equal(buf.data, again.data, buf.size);
    const struct pipe_type whole = {.kind = PIPE_RECORD, .record = &sample_type};
    pipe_reader_init(&reader, buf.data, buf.size, &arena);
    assert_true(pipe_avro_skip_value(&whole, &reader));
    assert_true(pipe_reader_done(&reader));
    pipe_reader_init(&reader, buf.data, buf.size - 1, &arena);
    assert_false(pipe_row_from_avro(&sample_type, &reader, &back));
    assert_string_equal(reader.field, "names");
    pipe_buf_free(&buf);
    pipe_buf_free(&again);
}

static void test_state_round_trip(void **state)
{
    (void)state;
    struct sample row, back, copy;
    struct pipe_buf buf = {NULL, 0, 0}, again = {NULL, 0, 0};
    read_sample(&row);
    pipe_row_save(&sample_type, &row, &buf);
    const uint8_t *at = buf.data, *end = at + buf.size;
    assert_true(pipe_row_load(&sample_type, &at, end, &arena, &back));
    assert_ptr_equal(at, end);
    assert_true(pipe_row_equal(&sample_type, &row, &back));
    assert_true(pipe_row_hash(&sample_type, &row) == pipe_row_hash(&sample_type, &back));
    assert_true(pipe_row_copy(&sample_type, &back, &arena, &copy));
    memset(buf.data, 0xAA, buf.size); /* the copy no longer points there */
    assert_true(pipe_row_equal(&sample_type, &row, &copy));
    pipe_row_save(&sample_type, &copy, &again);
    assert_int_equal(buf.size, again.size);
    for (size_t size = 0; size < again.size; size++) {
        at = again.data;
        assert_false(pipe_row_load(&sample_type, &at, at + size, &arena, &back));
    }
    copy.f64 = -0.0;
    row.f64 = 0.0;
    assert_true(pipe_row_compare(&sample_type, &copy, &row) < 0);
    assert_true(pipe_row_hash(&sample_type, &row) != pipe_row_hash(&sample_type, &copy));
    copy.f64 = row.f64;
    row.big_maybe_null = false;
    row.big_maybe = INT64_MIN;
    assert_true(pipe_row_compare(&sample_type, &copy, &row) < 0); /* null first */
    pipe_buf_free(&buf);
    pipe_buf_free(&again);
}

static void check_state_number(const struct pipe_type *type, const void *value, size_t size)
{
    struct pipe_buf buf = {NULL, 0, 0};
    pipe_decimal back = 0;
    pipe_value_save(type, value, &buf);
    const uint8_t *at = buf.data;
    assert_true(pipe_value_load(type, &at, at + buf.size, &arena, &back));
    assert_ptr_equal(at, buf.data + buf.size);
    assert_memory_equal(&back, value, size);
    pipe_buf_free(&buf);
}

static void test_state_extremes(void **state)
{
    (void)state;
    static const int64_t longs[] = {0, -1, 63, 64, -64, -65, INT64_MAX, INT64_MIN};
    const struct pipe_type wide = {.kind = PIPE_DECIMAL, .precision = 38};
    for (size_t i = 0; i < sizeof longs / sizeof *longs; i++) {
        pipe_decimal value = longs[i];
        check_state_number(&t_int64, &longs[i], 8);
        check_state_number(&wide, &value, 16);
    }
    pipe_decimal most = pipe_powers_of_ten[38] - 1, least = -most;
    check_state_number(&wide, &most, 16);
    check_state_number(&wide, &least, 16);
    const uint8_t overlong[] = {0x80, 0x00};
    const uint8_t *at = overlong;
    int64_t value;
    assert_false(pipe_value_load(&t_int64, &at, overlong + 2, &arena, &value));
}

/* --- JSON input ---------------------------------------------------------------------------------
 */

struct small {
    int32_t n;
    struct pipe_str s;
    bool s_null;
    pipe_decimal d;
    struct pipe_str j;
    struct pipe_str b;
};
static const struct pipe_type t_json = {.kind = PIPE_STRING, .is_json = true};
static const struct pipe_column small_columns[] = {
    COLUMN(small, n, &t_int32),
    NULLABLE(small, s, &t_string, true),
    {"d", &t_price, offsetof(struct small, d), PIPE_NOT_NULL, false, true, "\"\\u0001\\u00ff\""},
    {"j", &t_json, offsetof(struct small, j), PIPE_NOT_NULL, false, true, "{}"},
    {"b", &t_bytes, offsetof(struct small, b), PIPE_NOT_NULL, false, true, "\"\\u0000\\u00e9A\""},
};
static const struct pipe_row_type small_type = {"small", small_columns, 5, sizeof(struct small)};

static void test_json_defaults(void **state)
{
    (void)state;
    struct small row;
    struct pipe_buf buf = {NULL, 0, 0};
    assert_true(pipe_row_from_json(&small_type, str(" { \"n\" : 5 , \"other\": [{\"n\":[]}] }\n"),
                                   &arena, &row, &error));
    assert_true(row.s_null);
    assert_true(row.d == 0x1FF);
    pipe_row_to_json(&small_type, &row, &buf);
    check_buf(&buf, "{\"n\":5,\"s\":null,\"d\":\"5.11\",\"j\":\"{}\",\"b\":\"AOlB\"}");
    assert_true(pipe_row_from_json(
        &small_type, str("{\"j\":[1, \"x\"],\"d\":-1.5,\"\\u006e\":-0,\"s\":\"\\/\"}"), &arena,
        &row, &error));
    pipe_row_to_json(&small_type, &row, &buf);
    check_buf(&buf,
              "{\"n\":0,\"s\":\"/\",\"d\":\"-1.50\",\"j\":\"[1, \\\"x\\\"]\",\"b\":\"AOlB\"}");
    row.d = 0;
    assert_true(pipe_row_default(&small_type, 2, &arena, &row, &error));
    assert_true(row.d == 0x1FF);
    assert_true(pipe_row_default(&small_type, 1, &arena, &row, &error) && row.s_null);
    assert_false(pipe_row_default(&small_type, 0, &arena, &row, &error));
    assert_string_equal(error.field, "n");
    pipe_buf_free(&buf);
}

static void test_json_refused(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"", ""},
        {"null", ""},
        {"[]", ""},
        {"{\"n\":1", ""},
        {"{\"n\":1}}", ""},
        {"{\"n\":1,}", ""},
        {"{\"n\":1 \"s\":null}", ""},
        {"{n:1}", ""},
        {"{\"n\" 1}", ""},
        {"{}", "n"},
        {"{\"n\":null}", "n"},
        {"{\"n\":1.0}", "n"},
        {"{\"n\":1e2}", "n"},
        {"{\"n\":2147483648}", "n"},
        {"{\"n\":\"1\"}", "n"},
        {"{\"n\":01}", "n"},
        {"{\"n\":+1}", "n"},
        {"{\"n\":1,\"n\":1}", ""},
        {"{\"n\":1,\"\\u006e\":1}", ""},
        {"{\"n\":1,\"x\":1,\"x\":2}", ""},
        {"{\"n\":1,\"s\":{\"string\":\"a\"}}", "s"},
        {"{\"n\":1,\"s\":\"\\ud800\"}", "s"},
        {"{\"n\":1,\"s\":\"\\udc00\\ud800\"}", "s"},
        {"{\"n\":1,\"s\":\"\\x\"}", "s"},
        {"{\"n\":1,\"s\":\"\t\"}", "s"},
        {"{\"n\":1,\"s\":\"\xff\"}", ""},
        {"{\"n\":1,\"s\":nul}", "s"},
        {"{\"n\":1,\"d\":1.555}", "d"},
        {"{\"n\":1,\"d\":\"1e2\"}", "d"},
        {"{\"n\":1,\"d\":123456789}", "d"},
        {"{\"n\":1,\"j\":tru}", "j"},
        {"{\"n\":1,\"b\":\"AAA\"}", "b"},
        {"{\"n\":1,\"b\":5}", "b"},
        {"{\"n\":1,\"x\":[1,2}", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct small row;
        strcpy(error.detail, "");
        if (pipe_row_from_json(&small_type, str(cases[i][0]), &arena, &row, &error))
            fail_msg("taken: %s", cases[i][0]);
        assert_string_equal(error.field, cases[i][1]);
        assert_true(strlen(error.detail) > 0);
    }
    struct small row;
    assert_false(pipe_row_from_json(&small_type, str("{\"n\":\"é'\"}"), &arena, &row, &error));
    assert_string_equal(error.detail, "'\"é\\'\"' is no int32 (an integer in range)");
    assert_false(pipe_row_from_json(&small_type, str("{\"n\":1,\"n\":1}"), &arena, &row, NULL));
}

static void test_json_depth_and_paths(void **state)
{
    (void)state;
    struct sample row;
    char deep[2000], *at = deep;
    at += strlen(strcpy(at, "{\"n\":1,\"x\":"));
    for (int i = 0; i < 64; i++)
        *at++ = '[';
    for (int i = 0; i < 64; i++)
        *at++ = ']';
    strcpy(at, "}");
    struct small small;
    assert_false(pipe_row_from_json(&small_type, str(deep), &arena, &small, &error));
    assert_non_null(strstr(error.detail, "too deep"));
    at = strstr(deep, "[[");
    memmove(at, at + 1, strlen(at));
    at = strstr(deep, "]]");
    memmove(at, at + 1, strlen(at));
    assert_true(pipe_row_from_json(&small_type, str(deep), &arena, &small, &error));

    char *text = strdup(sample_json);
    memcpy(strstr(text, "-3,"), "tt", 2);
    assert_false(pipe_row_from_json(&sample_type, str(text), &arena, &row, &error));
    assert_string_equal(error.field, "points[2].x");
    free(text);
    text = strdup(sample_json);
    memcpy(strstr(text, ":2}"), ":x}", 3);
    assert_false(pipe_row_from_json(&sample_type, str(text), &arena, &row, &error));
    assert_string_equal(error.field, "counts.");
    free(text);
    text = strdup(sample_json);
    memcpy(strstr(text, "\"l\":"), "\"k\":", 4);
    assert_false(pipe_row_from_json(&sample_type, str(text), &arena, &row, &error));
    assert_string_equal(error.field, "names");
    free(text);
}

static void test_json_scalars(void **state)
{
    (void)state;
    int64_t us;
    int32_t days;
    float f;
    bool null;
    assert_true(pipe_value_from_json(&t_us, false, str(" -1 "), &arena, &us, &null, &error) &&
                us == -1);
    assert_false(pipe_value_from_json(&t_us, false, str("\"-1\""), &arena, &us, &null, &error));
    assert_true(pipe_value_from_json(&t_us, true, str("null"), &arena, &us, &null, &error) && null);
    assert_false(pipe_value_from_json(&t_us, false, str("null"), &arena, &us, &null, &error));
    assert_true(pipe_value_from_json(&t_date, false, str("2932896"), &arena, &days, &null, &error));
    assert_false(
        pipe_value_from_json(&t_date, false, str("2932897"), &arena, &days, &null, &error));
    assert_true(pipe_value_from_json(&t_float32, false, str("1e38"), &arena, &f, &null, &error));
    assert_false(pipe_value_from_json(&t_float32, false, str("1e39"), &arena, &f, &null, &error));
    assert_true(pipe_json_check(str("[1,{\"a\":null}]")));
    assert_false(pipe_json_check(str("[1] 2")));
}

static void test_json_memory_is_bounded(void **state)
{
    (void)state;
    struct pipe_arena small;
    struct pipe_buf buf = {NULL, 0, 0};
    const struct pipe_type points = t_points;
    struct pipe_array array;
    bool null;
    pipe_arena_init(&small, 100000);
    pipe_buf_add_byte(&buf, '[');
    for (int i = 0; i < 50000; i++)
        pipe_buf_add(&buf, "null,", 5);
    pipe_buf_add(&buf, "null]", 5);
    assert_false(pipe_value_from_json(&points, false, pipe_str_of(buf.data, buf.size), &small,
                                      &array, &null, &error));
    pipe_buf_free(&buf);
    pipe_arena_free(&small);
}

/* --- JSON output --------------------------------------------------------------------------------
 */

/* What pipe_json_string has to add, byte for byte. */
static void add_plainly(struct pipe_buf *buf, const uint8_t *text, size_t size)
{
    static const char letters[] = "btn?fr"; /* of 0x08 to 0x0d; vertical tab has none */
    char escape[8];
    pipe_buf_add_byte(buf, '"');
    for (size_t i = 0; i < size; i++) {
        uint8_t c = text[i];
        if (c == '"' || c == '\\')
            snprintf(escape, sizeof escape, "\\%c", c);
        else if (c >= 0x08 && c <= 0x0d && c != 0x0b)
            snprintf(escape, sizeof escape, "\\%c", letters[c - 0x08]);
        else if (c < 0x20)
            snprintf(escape, sizeof escape, "\\u%04x", c);
        else
            snprintf(escape, sizeof escape, "%c", c);
        pipe_buf_add(buf, escape, strlen(escape));
    }
    pipe_buf_add_byte(buf, '"');
}

static void check_json_string(const uint8_t *text, size_t size)
{
    struct pipe_buf buf = {NULL, 0, 0}, expected = {NULL, 0, 0};
    pipe_buf_add_byte(&buf, '>'); /* it adds to what is there */
    pipe_buf_add_byte(&expected, '>');
    pipe_json_string(&buf, pipe_str_of(text, size));
    add_plainly(&expected, text, size);
    assert_int_equal(buf.size, expected.size);
    assert_memory_equal(buf.data, expected.data, expected.size);
    pipe_buf_free(&buf);
    pipe_buf_free(&expected);
}

/* Of every length around words and vectors, each byte at each place, in a block of just that size;
 * alone, with others behind it that are escaped, and among bytes above 0x7f. */
static void test_json_strings_of_each_length(void **state)
{
    (void)state;
    for (size_t size = 0; size <= 70; size++) {
        uint8_t *text = malloc(size > 0 ? size : 1);
        assert_non_null(text);
        for (size_t at = 0; at < size; at++) {
            for (unsigned c = 0; c < 0x100; c++) {
                memset(text, c & 1 ? 'x' : 0xe9, size);
                text[at] = (uint8_t)c;
                check_json_string(text, size);
            }
            text[at] = 0x20; /* what a borrow could make a hit of */
            for (size_t i = at + 1; i < size; i++)
                text[i] = (uint8_t) "\x1f\"\\!#[]"[i % 7];
            check_json_string(text, size);
        }
        memset(text, 0x7f, size);
        check_json_string(text, size);
        free(text);
    }
}

static void test_json_strings(void **state)
{
    (void)state;
    struct pipe_buf buf = {NULL, 0, 0};
    for (unsigned c = 1; c < 0x80; c++) { /* each character at each place of a word */
        for (unsigned at = 0; at < 10; at++) {
            char text[11] = "éabcdefgh", *back;
            text[at] = (char)c;
            struct pipe_str value = str(text), out;
            if (!pipe_utf8_check(text, value.size))
                continue;
            pipe_json_string(&buf, value);
            assert_true(pipe_fn_json_value(&arena, pipe_str_of(buf.data, buf.size), str(""), &out));
            back = (char *)out.data;
            assert_int_equal(out.size, value.size);
            assert_memory_equal(back, text, out.size);
            buf.size = 0;
        }
    }
    pipe_json_string(&buf, str("\b\f\n\r\t\x1f\x7f/\"\\<é>\xe2\x80\xa8"));
    check_buf(&buf, "\"\\b\\f\\n\\r\\t\\u001f\x7f/\\\"\\\\<é>\xe2\x80\xa8\"");
    pipe_json_string(&buf, pipe_str_of(NULL, 0));
    check_buf(&buf, "\"\"");
    pipe_buf_free(&buf);
}

/* --- Keys ---------------------------------------------------------------------------------------
 */

static void test_keys(void **state)
{
    (void)state;
    static const uint32_t columns[] = {1, 3, 6, 8, 9, 10, 11, 15, 0, 12};
    enum { COUNT = sizeof columns / sizeof *columns };
    struct sample row, back = {0};
    struct pipe_buf key = {NULL, 0, 0}, again = {NULL, 0, 0};
    read_sample(&row);
    pipe_key_add_columns(&key, &sample_type, &row, columns, COUNT);
    pipe_key_add_i64(&again, row.small); /* what generated code does */
    if (!pipe_key_add_null(&again, row.big_maybe_null))
        pipe_key_add_i64(&again, row.big_maybe);
    pipe_key_add_decimal(&again, row.price);
    pipe_key_add_str(&again, row.text);
    if (!pipe_key_add_null(&again, row.note_null))
        pipe_key_add_str(&again, row.note);
    pipe_key_add_uuid(&again, row.id);
    pipe_key_add_enum(&again, row.color);
    pipe_key_add_i64(&again, row.at_ms);
    pipe_key_add_bool(&again, row.flag);
    pipe_key_add_str(&again, row.raw);
    assert_int_equal(key.size, again.size);
    assert_memory_equal(key.data, again.data, key.size);
    const uint8_t *at = key.data;
    assert_true(
        pipe_key_read_columns(&at, at + key.size, &arena, &sample_type, &back, columns, COUNT));
    assert_ptr_equal(at, key.data + key.size);
    for (size_t i = 0; i < COUNT; i++) {
        const struct pipe_column *column = &sample_columns[columns[i]];
        assert_int_equal(pipe_column_is_null(column, &row), pipe_column_is_null(column, &back));
        assert_int_equal(pipe_value_compare(column->type, pipe_column_value(column, &row),
                                            pipe_column_value(column, &back)),
                         0);
    }
    for (size_t size = 0; size < key.size; size++) {
        at = key.data;
        assert_false(
            pipe_key_read_columns(&at, at + size, &arena, &sample_type, &back, columns, COUNT));
    }
    pipe_buf_free(&key);
    pipe_buf_free(&again);
}

static void test_key_text(void **state)
{
    (void)state;
    struct sample row;
    struct pipe_buf buf = {NULL, 0, 0};
    read_sample(&row);
    static const struct {
        uint32_t columns[3];
        size_t count;
        const char *text;
    } cases[] = {
        {{1}, 1, "-2147483648"},
        {{2}, 1, "9223372036854775807"},
        {{10}, 1, "0f8fad5b-d9cb-469f-a165-70867728950e"},
        {{11}, 1, "BLUE"},
        {{9}, 1, "[\"\"]"}, /* nullable */
        {{6}, 1, "[\"-0.05\"]"},
        {{14}, 1, "[\"2024-02-29\"]"},
        {{1, 3, 11}, 3, "[-2147483648,null,\"BLUE\"]"},
        {{0}, 0, "[]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pipe_key_text(&buf, &sample_type, &row, cases[i].columns, cases[i].count);
        check_buf(&buf, cases[i].text);
    }
    row.text = str("a\"b");
    pipe_key_text(&buf, &sample_type, &row, (uint32_t[]){8}, 1);
    check_buf(&buf, "a\"b");
    pipe_buf_free(&buf);
}

/* --- Hostile bytes ------------------------------------------------------------------------------
 */

static uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* A damaged copy, of exactly its size in its own memory, so that the sanitizer sees any step
 * outside. */
static uint8_t *damage(const uint8_t *bytes, size_t *size_bytes, uint64_t *seed)
{
    size_t size = *size_bytes;
    uint8_t *copy = malloc(size + 1);
    memcpy(copy, bytes, size);
    for (uint64_t n = next_random(seed) % 4 + 1; n > 0; n--) {
        size_t at = next_random(seed) % size;
        static const uint8_t nasty[] = {0x00, 0x01, 0x02, 0x7F, 0x80, 0xFF,
                                        0xFE, '"',  '{',  '[',  '\\', ','};
        switch (next_random(seed) % 4) {
        case 0:
            copy[at] ^= (uint8_t)(1 << next_random(seed) % 8);
            break;
        case 1:
            copy[at] = nasty[next_random(seed) % sizeof nasty];
            break;
        case 2:
            size = at + 1;
            break;
        default:
            memmove(copy + at, copy + at / 2, size - at);
        }
    }
    *size_bytes = size;
    return realloc(copy, size);
}

static void use_row(const struct sample *row)
{
    struct pipe_buf buf = {NULL, 0, 0};
    pipe_row_to_json(&sample_type, row, &buf);
    pipe_row_to_avro(&sample_type, row, &buf);
    pipe_row_save(&sample_type, row, &buf);
    pipe_row_to_csv(&sample_type, row, &buf);
    pipe_buf_free(&buf);
}

static void test_mutations(void **state)
{
    (void)state;
    struct sample row, back;
    struct pipe_buf avro = {NULL, 0, 0}, saved = {NULL, 0, 0};
    struct pipe_reader reader;
    uint64_t seed = 20260131;
    const struct pipe_type whole = {.kind = PIPE_RECORD, .record = &sample_type};
    read_sample(&row);
    pipe_row_to_avro(&sample_type, &row, &avro);
    pipe_row_save(&sample_type, &row, &saved);
    for (int i = 0; i < 20000; i++) {
        struct pipe_arena_mark mark = pipe_arena_mark(&arena);
        size_t size = avro.size;
        uint8_t *bytes = damage(avro.data, &size, &seed);
        pipe_reader_init(&reader, bytes, size, &arena);
        if (pipe_row_from_avro(&sample_type, &reader, &back)) {
            use_row(&back);
        } else {
            assert_non_null(reader.cause);
            assert_non_null(reader.field);
            pipe_reader_error(&reader, &error);
        }
        pipe_reader_init(&reader, bytes, size, &arena);
        pipe_avro_skip_value(&whole, &reader);
        free(bytes);
        size = saved.size;
        bytes = damage(saved.data, &size, &seed);
        const uint8_t *at = bytes;
        if (pipe_row_load(&sample_type, &at, bytes + size, &arena, &back))
            use_row(&back);
        free(bytes);
        size = strlen(sample_json);
        bytes = damage((const uint8_t *)sample_json, &size, &seed);
        if (pipe_row_from_json(&sample_type, pipe_str_of(bytes, size), &arena, &back, &error))
            use_row(&back);
        else
            assert_true(pipe_utf8_check(error.detail, strlen(error.detail)));
        free(bytes);
        pipe_arena_back_to(&arena, mark);
    }
    pipe_buf_free(&avro);
    pipe_buf_free(&saved);
}

/* --- Avro input ---------------------------------------------------------------------------------
 */

static bool read_bytes(const struct pipe_type *type, const void *bytes, size_t size, void *value)
{
    /* A row of one column, because values are read through rows. */
    const struct pipe_column column = {"c", type, 0, PIPE_NOT_NULL, false, false, NULL};
    const struct pipe_row_type row = {"r", &column, 1, (uint32_t)pipe_type_size(type)};
    struct pipe_reader reader;
    pipe_reader_init(&reader, bytes, size, &arena);
    bool good = pipe_row_from_avro(&row, &reader, value) && pipe_reader_done(&reader);
    if (!good)
        pipe_reader_error(&reader, &error);
    return good;
}

#define READ(type, text, value) read_bytes(type, text, sizeof(text) - 1, value)

static void test_avro_numbers(void **state)
{
    (void)state;
    union {
        bool b;
        int32_t i;
        int64_t l;
        float f;
        double d;
        pipe_decimal x;
        struct pipe_str s;
        uint32_t e;
    } v;
    assert_true(READ(&t_int64, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", &v) && v.l == INT64_MIN);
    assert_false(READ(&t_int64, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", &v));
    assert_false(READ(&t_int64, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", &v));
    assert_false(READ(&t_int64, "\x80", &v));
    assert_false(READ(&t_int64, "", &v));
    assert_true(READ(&t_int64, "\x01", &v) && v.l == -1);
    assert_true(READ(&t_int32, "\xff\xff\xff\xff\x0f", &v) && v.i == INT32_MIN);
    assert_false(READ(&t_int32, "\x80\x80\x80\x80\x10", &v));
    assert_string_equal(error.detail, "out of range for int: 2147483648");
    assert_false(READ(&t_int32, "\x00\x00", &v)); /* left over */
    assert_false(READ(&t_bool, "\x02", &v));
    assert_false(READ(&t_float32, "\x00\x00\x80\x7f", &v)); /* infinity */
    assert_false(READ(&t_float64, "\x00\x00\x00\x00\x00\x00\xf8\x7f", &v));
    assert_false(READ(&t_float64, "\x00\x00\x00", &v));
    assert_false(READ(&t_color, "\x06", &v));
    assert_false(READ(&t_color, "\x01", &v));
    assert_false(READ(&t_string, "\x02\xff", &v));
    assert_false(READ(&t_string,
                      "\x03"
                      "aa",
                      &v));
    assert_string_equal(error.detail, "negative length: -2");
    assert_false(READ(&t_string,
                      "\xfe\xff\xff\xff\x0f"
                      "a",
                      &v));
    assert_true(READ(&t_price, "\x04\xff\x7f", &v) && v.x == -129);
    assert_true(READ(&t_price,
                     "\x24\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xfb",
                     &v) &&
                v.x == -5);
    assert_false(
        READ(&t_price,
             "\x24\x7f\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xfb", &v));
    assert_false(READ(&t_price, "\x00", &v));
    assert_false(READ(&t_price, "\x0a\x02\x54\x0b\xe4\x00", &v)); /* 10^10: 11 digits */
    assert_true(READ(&t_price, "\x0a\x02\x54\x0b\xe3\xff", &v));
    assert_false(READ(&t_date, "\x80\x80\x80\x80\x08", &v));
    assert_false(READ(&t_ms, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", &v));
    assert_true(READ(&t_uuid,
                     "\x48"
                     "0F8FAD5B-D9CB-469F-A165-70867728950E",
                     &v));
    assert_memory_equal(v.s.data, "0f8f", 4);
    assert_false(READ(&t_uuid,
                      "\x48"
                      "0F8FAD5B-D9CB-469F-A165_70867728950E",
                      &v));
}

static void test_avro_blocks(void **state)
{
    (void)state;
    struct pipe_array a;
    struct pipe_map m;
    static const struct pipe_row_type nothing = {"nothing", NULL, 0, 0};
    const struct pipe_type t_nothing = {.kind = PIPE_RECORD, .record = &nothing};
    const struct pipe_type nothings = {.kind = PIPE_ARRAY, .element = &t_nothing};
    assert_true(READ(&t_numbers, "\x04\x02\x04\x01\x02\x06\x00", &a) && a.count == 3);
    assert_int_equal(((int64_t *)a.items)[2], 3);
    assert_true(READ(&t_numbers, "\x00", &a) && a.count == 0);
    assert_false(READ(&t_numbers, "\x04\x02\x04", &a));
    assert_false(
        READ(&t_numbers, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00", &a)); /* INT64_MIN */
    assert_false(READ(&t_numbers, "\x01\x7f\x02\x00", &a));                    /* block size */
    assert_false(READ(&t_numbers, "\xfe\xff\xff\xff\x0f\x02", &a));            /* 2^31 - 1 */
    assert_true(READ(&nothings, "\x80\x80\x80\x01\x00", &a) && a.count == 1 << 20);
    assert_false(READ(&nothings, "\x82\x80\x80\x01\x00", &a));
    assert_false(READ(&nothings, "\x80\x80\x80\x01\x02\x00", &a));
    assert_true(READ(&t_counts,
                     "\x02\x02"
                     "a\x02\x00",
                     &m) &&
                m.count == 1);
    assert_false(READ(&t_counts,
                      "\x04\x02"
                      "a\x02\x02"
                      "a\x04\x00",
                      &m));
    assert_string_equal(error.detail, "a key is given twice");
    struct pipe_buf buf = {NULL, 0, 0};
    for (int twice = 0; twice < 2; twice++) { /* many keys: by the table */
        buf.size = 0;
        pipe_avro_put_count(&buf, 1000);
        for (int i = 0; i < 1000; i++) {
            char key[16];
            size_t size = pipe_i64_write(key, i == 999 && twice ? 500 : i);
            pipe_avro_put_bytes(&buf, pipe_str_of(key, size));
            pipe_avro_put_long(&buf, i);
        }
        pipe_avro_put_end(&buf);
        assert_int_equal(read_bytes(&t_counts, buf.data, buf.size, &m), !twice);
    }
    const struct pipe_type deepest = {.kind = PIPE_ARRAY, .element = &t_int64, .element_bytes = 8};
    struct pipe_type levels[70];
    levels[0] = deepest;
    for (int i = 1; i < 70; i++)
        levels[i] = (struct pipe_type){.kind = PIPE_ARRAY,
                                       .element = &levels[i - 1],
                                       .element_bytes = sizeof(struct pipe_array)};
    buf.size = 0;
    for (int i = 0; i < 70; i++)
        pipe_avro_put_count(&buf, 1);
    assert_false(read_bytes(&levels[69], buf.data, buf.size, &a));
    assert_string_equal(error.detail, "nested too deep");
    pipe_buf_free(&buf);
}

static int reset(void **state)
{
    (void)state;
    pipe_arena_free(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_json_round_trip, reset),
        cmocka_unit_test_teardown(test_avro_round_trip, reset),
        cmocka_unit_test_teardown(test_state_round_trip, reset),
        cmocka_unit_test_teardown(test_state_extremes, reset),
        cmocka_unit_test_teardown(test_json_defaults, reset),
        cmocka_unit_test_teardown(test_json_refused, reset),
        cmocka_unit_test_teardown(test_json_depth_and_paths, reset),
        cmocka_unit_test_teardown(test_json_scalars, reset),
        cmocka_unit_test_teardown(test_json_memory_is_bounded, reset),
        cmocka_unit_test(test_json_strings_of_each_length),
        cmocka_unit_test_teardown(test_json_strings, reset),
        cmocka_unit_test_teardown(test_keys, reset),
        cmocka_unit_test_teardown(test_key_text, reset),
        cmocka_unit_test_teardown(test_mutations, reset),
        cmocka_unit_test_teardown(test_avro_numbers, reset),
        cmocka_unit_test_teardown(test_avro_blocks, reset),
    };
    pipe_arena_init(&arena, (size_t)64 << 20);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
