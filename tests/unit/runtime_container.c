/* Unit tests of avro_container.c, avro_writer_schema.c, input_avro.c: container files, good,
 * foreign, broken and mutated. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <zlib.h>

#include "../../runtime/avro_container.h"
#include "runtime_files.h"

#define SCHEMA_V1                                                                                  \
    "{\"type\":\"record\",\"name\":\"Click\",\"namespace\":\"shop\",\"fields\":["                  \
    "{\"name\":\"id\",\"type\":\"long\"},{\"name\":\"page\",\"type\":\"string\"}]}"
/* The same in canonical form: attributes that do not count, another order, a full name. */
#define SCHEMA_V1_WRITTEN                                                                          \
    "{\"doc\":\"x\",\"name\":\"shop.Click\",\"fields\":[{\"type\":{\"type\":\"long\","             \
    "\"logicalType\":\"timestamp-millis\"},\"name\":\"id\",\"default\":0},"                        \
    "{\"name\":\"page\",\"type\":{\"type\":\"string\"},\"aliases\":[\"p\"]}],\"type\":\"record\"}"
#define SCHEMA_OTHER                                                                               \
    "{\"type\":\"record\",\"name\":\"Wide\",\"fields\":["                                          \
    "{\"name\":\"u\",\"type\":[\"null\",\"string\",\"Wide\"]},"                                    \
    "{\"name\":\"a\",\"type\":{\"type\":\"array\",\"items\":\"int\"}},"                            \
    "{\"name\":\"m\",\"type\":{\"type\":\"map\",\"values\":\"double\"}},"                          \
    "{\"name\":\"f\",\"type\":{\"type\":\"fixed\",\"name\":\"F\",\"size\":3}},"                    \
    "{\"name\":\"e\",\"type\":{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"A\",\"B\"]}},"      \
    "{\"name\":\"b\",\"type\":\"boolean\"},{\"name\":\"x\",\"type\":\"float\"},"                   \
    "{\"name\":\"n\",\"type\":\"null\"},{\"name\":\"y\",\"type\":\"bytes\"}]}"

static struct pipe_contract_version versions[] = {{.label = "v2", .fingerprint = 1},
                                                  {.label = "v1"}};
static const struct pipe_contract contract = {"click", NULL, versions, 2};
static const struct pipe_source_def file_source = {.name = "c",
                                                   .format = PIPE_FORMAT_AVRO,
                                                   .contract = &contract},
                                    topic_source = {.name = "c",
                                                    .is_kafka = true,
                                                    .format = PIPE_FORMAT_AVRO,
                                                    .contract = &contract};

static struct pipe_input_config config_of(const struct pipe_source_def *source, const char *path)
{
    struct stat status;
    return (struct pipe_input_config){
        .source = source,
        .path = path,
        .length_bytes = stat(path, &status) == 0 ? status.st_size : 0,
        .max_record_bytes = 60,
        .topic = source->is_kafka ? "clicks" : NULL,
    };
}

static const uint8_t sync_marker[] = "0123456789abcdef";

static void add_header(struct pipe_buf *out, const char *codec, const char *schema)
{
    pipe_buf_add(out, "Obj\1", 4);
    pipe_avro_put_long(out, 1 + (codec != NULL) + (schema != NULL));
    pipe_avro_put_bytes(out, PIPE_STR("user.note"));
    pipe_avro_put_bytes(out, PIPE_STR("ignored"));
    if (codec != NULL) {
        pipe_avro_put_bytes(out, PIPE_STR("avro.codec"));
        pipe_avro_put_bytes(out, pipe_str_of(codec, strlen(codec)));
    }
    if (schema != NULL) {
        pipe_avro_put_bytes(out, PIPE_STR("avro.schema"));
        pipe_avro_put_bytes(out, pipe_str_of(schema, strlen(schema)));
    }
    pipe_avro_put_long(out, 0);
    pipe_buf_add(out, sync_marker, 16);
}

static void add_click(struct pipe_buf *out, int64_t id, const char *page)
{
    pipe_avro_put_long(out, id);
    pipe_avro_put_bytes(out, pipe_str_of(page, strlen(page)));
}

static void add_deflated(struct pipe_buf *out, int64_t count, const struct pipe_buf *rows)
{
    z_stream stream = {0};
    struct pipe_buf packed = {0};
    assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
    stream.next_in = rows->data;
    stream.avail_in = (uInt)rows->size;
    stream.avail_out = (uInt)rows->size + 1000;
    stream.next_out = pipe_buf_reserve(&packed, stream.avail_out);
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    packed.size = stream.total_out;
    deflateEnd(&stream);
    pipe_container_write_block(out, count, pipe_str_of(packed.data, packed.size), sync_marker);
    pipe_buf_free(&packed);
}

/* Blocks of many sizes, some empty, with some records above the limit. */
static struct pipe_buf make_file(const char *schema, bool deflate, unsigned records)
{
    struct pipe_buf out = {0}, rows = {0};
    char page[200];
    add_header(&out, deflate ? "deflate" : random_below(2) ? "null" : NULL, schema);
    for (unsigned done = 0; done < records;) {
        unsigned count = random_below(5) == 0 ? 0 : random_below(records / 3 + 2);
        rows.size = 0;
        count = count < records - done ? count : records - done;
        for (unsigned i = 0; i < count; i++) {
            size_t size = random_below(random_below(10) == 0 ? 180 : 40);
            memset(page, 'a' + (int)(i % 26), size);
            page[size] = '\0';
            add_click(&rows, (int64_t)(done + i) * 1000003, page);
        }
        if (deflate)
            add_deflated(&out, count, &rows);
        else
            pipe_container_write_block(&out, count, pipe_str_of(rows.data, rows.size), sync_marker);
        done += count;
    }
    pipe_buf_free(&rows);
    return out;
}

static int set_up(void **state)
{
    char error[256];
    struct pipe_writer_schema *schema =
        pipe_writer_schema_parse(SCHEMA_V1, strlen(SCHEMA_V1), error, sizeof error);
    versions[1].fingerprint = pipe_writer_schema_fingerprint(schema);
    pipe_writer_schema_free(schema);
    return make_test_dir(state);
}

static void test_good_files(void **state)
{
    (void)state;
    for (int round = 0; round < 24; round++) {
        unsigned records = random_below(round < 20 ? 60 : 8000);
        struct pipe_buf file = make_file(SCHEMA_V1, round % 2 == 0, records);
        const char *path = in_dir("good.avro");
        write_bytes(path, file.data, file.size);
        struct pipe_input_config config = config_of(&file_source, path);
        struct reading all = check_resume(&config, 12);
        assert_false(all.failed);
        assert_int_equal(all.count, records);
        free_reading(&all);
        pipe_buf_free(&file);
    }
}

static void test_content(void **state)
{
    (void)state;
    struct pipe_buf file = {0}, rows = {0};
    add_header(&file, "null", SCHEMA_V1_WRITTEN);
    add_click(&rows, 1, "p");
    add_click(&rows, 2, "12345678901234567890123456789012345678901234567890123456789");
    pipe_container_write_block(&file, 2, pipe_str_of(rows.data, rows.size), sync_marker);
    const char *path = in_dir("content.avro");
    write_bytes(path, file.data, file.size);
    struct pipe_input_config config = config_of(&file_source, path);
    char error[512];
    struct pipe_input *input = pipe_input_open(&config, error, sizeof error);
    struct pipe_record *records;
    uint32_t count;
    assert_non_null(input);
    assert_int_equal(input->avro_version, 1);
    assert_int_equal(input->ops->next(input, 10, &records, &count), PIPE_INPUT_RECORDS);
    assert_int_equal(count, 2);
    assert_memory_equal(records[0].payload.data, "\x02\x02p", 3);
    assert_int_equal(records[0].payload.size, 3);
    assert_int_equal(records[0].topic.size, strlen(path));
    assert_null(input->faults[0]);
    assert_string_equal(input->faults[1], "the record is longer than 60 bytes");
    assert_int_equal(records[1].payload.size, 60);
    assert_int_equal(input->ops->next(input, 10, &records, &count), PIPE_INPUT_END);
    input->ops->close(input);
    pipe_buf_free(&file);
    pipe_buf_free(&rows);
}

static void add_wide(struct pipe_buf *rows, int depth)
{
    int branch = depth > 5 ? 0 : (int)random_below(3);
    pipe_avro_put_long(rows, branch);
    if (branch == 1)
        pipe_avro_put_bytes(rows, PIPE_STR("text"));
    if (branch == 2)
        add_wide(rows, depth + 1);
    pipe_avro_put_long(rows, -2); /* a block with its size */
    pipe_avro_put_long(rows, 3);
    pipe_avro_put_long(rows, 1);
    pipe_avro_put_long(rows, 100);
    pipe_avro_put_long(rows, 1);
    pipe_avro_put_long(rows, 7);
    pipe_avro_put_end(rows);
    pipe_avro_put_count(rows, 1);
    pipe_avro_put_bytes(rows, PIPE_STR("k"));
    pipe_avro_put_double(rows, 1.5);
    pipe_avro_put_end(rows);
    pipe_buf_add(rows, "abc", 3);
    pipe_avro_put_long(rows, 1);
    pipe_avro_put_bool(rows, true);
    pipe_avro_put_float(rows, 2.5f);
    pipe_avro_put_bytes(rows, PIPE_STR("\x00\x01"));
}

/* A schema that is none of the contract's: its records are cut all the same. */
static void test_unknown_schema(void **state)
{
    (void)state;
    struct pipe_buf file = {0}, rows = {0};
    add_header(&file, "null", SCHEMA_OTHER);
    for (int i = 0; i < 50; i++)
        add_wide(&rows, 0);
    pipe_container_write_block(&file, 50, pipe_str_of(rows.data, rows.size), sync_marker);
    const char *path = in_dir("unknown.avro");
    write_bytes(path, file.data, file.size);
    struct pipe_input_config config = config_of(&file_source, path);
    struct reading all = check_resume(&config, 50);
    assert_false(all.failed);
    assert_int_equal(all.count, 50);
    free_reading(&all);
    char error[512];
    struct pipe_input *input = pipe_input_open(&config, error, sizeof error);
    assert_int_equal(input->avro_version, -1);
    assert_non_null(strstr(input->schema_detail, "writer schema Wide, fingerprint "));
    input->ops->close(input);
    pipe_buf_free(&file);
    pipe_buf_free(&rows);
}

/* ---- Topic files ---- */

static void add_envelope(struct pipe_buf *rows, int64_t time, const char *key, const char *value)
{
    pipe_avro_put_long(rows, time);
    pipe_avro_put_nullable(rows, true, key == NULL);
    if (key != NULL)
        pipe_avro_put_bytes(rows, pipe_str_of(key, strlen(key)));
    pipe_avro_put_nullable(rows, true, value == NULL);
    if (value != NULL)
        pipe_avro_put_bytes(rows, pipe_str_of(value, strlen(value)));
}

static void test_topic_files(void **state)
{
    (void)state;
    struct pipe_buf file = {0}, rows = {0};
    uint8_t sync[PIPE_SYNC_BYTES];
    pipe_container_sync(PIPE_TOPIC_FILE_SCHEMA, sync);
    pipe_container_write_header(&file, PIPE_TOPIC_FILE_SCHEMA, sync);
    add_envelope(&rows, 1000, "k", "v");
    add_envelope(&rows, 1000, NULL, NULL);
    add_envelope(&rows, -1, "", "");
    pipe_container_write_block(&file, 3, pipe_str_of(rows.data, rows.size), sync);
    const char *path = in_dir("topic.avro");
    write_bytes(path, file.data, file.size);
    struct pipe_input_config config = config_of(&topic_source, path);
    struct reading all = check_resume(&config, 10);
    assert_int_equal(all.count, 3);
    assert_string_equal(all.records[0], "0||1000|k|v");
    assert_string_equal(all.records[1], "1||1000|-|-");
    assert_string_equal(all.records[2], "2||-1||");
    free_reading(&all);
    rows.size = 0;
    add_envelope(&rows, 5, "k", "v");
    add_envelope(&rows, INT64_MAX, "k", "v"); /* no instant */
    pipe_container_write_block(&file, 2, pipe_str_of(rows.data, rows.size), sync);
    write_bytes(path, file.data, file.size);
    config = config_of(&topic_source, path);
    all = check_resume(&config, 10);
    assert_true(all.failed);
    assert_int_equal(all.count, 4);
    assert_non_null(strstr(all.error, "record 4: instant outside the years"));
    free_reading(&all);
    pipe_buf_free(&rows);
    pipe_buf_free(&file);
    file = make_file(SCHEMA_V1, false, 3);
    write_bytes(path, file.data, file.size);
    check_input_refused(&config, "is no topic file: its schema is shop.Click");
    pipe_buf_free(&file);
}

/* Lengths on both sides of where an envelope is no common one any more, and the same at the end of
 * a block, where the bytes behind it are few. */
static void test_lengths_of_envelopes(void **state)
{
    (void)state;
    static const size_t keys[] = {0, 1, 63, 64, 65, 200}, values[] = {0, 63, 64, 300, 8191, 8192};
    struct pipe_buf file = {0}, rows = {0};
    uint8_t sync[PIPE_SYNC_BYTES];
    char key[201], *value = pipe_calloc(1, 8193);
    const char *path = in_dir("lengths.avro");
    int64_t count = 0;
    pipe_container_sync(PIPE_TOPIC_FILE_SCHEMA, sync);
    pipe_container_write_header(&file, PIPE_TOPIC_FILE_SCHEMA, sync);
    for (size_t k = 0; k < 6; k++) {
        for (size_t v = 0; v < 6; v++, count++) {
            memset(key, 'k', keys[k]);
            key[keys[k]] = '\0';
            memset(value, 'v', values[v]);
            value[values[v]] = '\0';
            add_envelope(&rows, 1767225600000 + count, key, value);
            if (count % 5 != 4)
                continue;
            pipe_container_write_block(&file, 5, pipe_str_of(rows.data, rows.size), sync);
            rows.size = 0;
        }
    }
    pipe_container_write_block(&file, count % 5, pipe_str_of(rows.data, rows.size), sync);
    write_bytes(path, file.data, file.size);
    struct pipe_input_config config = config_of(&topic_source, path);
    config.max_record_bytes = 1 << 20;
    char error[512];
    struct pipe_input *input = pipe_input_open(&config, error, sizeof error);
    struct pipe_record *records;
    uint32_t given;
    for (int64_t i = 0; i < count; i++) {
        assert_int_equal(input->ops->next(input, 1, &records, &given), PIPE_INPUT_RECORDS);
        assert_int_equal(records->kafka_time_ms, 1767225600000 + i);
        assert_int_equal(records->key.size, keys[i / 6]);
        assert_int_equal(records->payload.size, values[i % 6]);
        assert_true(records->key.size == 0 || records->key.data[keys[i / 6] - 1] == 'k');
        assert_true(records->payload.size == 0 || records->payload.data[values[i % 6] - 1] == 'v');
    }
    assert_int_equal(input->ops->next(input, 1, &records, &given), PIPE_INPUT_END);
    input->ops->close(input);
    free(value);
    pipe_buf_free(&rows);
    pipe_buf_free(&file);
}

/* ---- Broken files ---- */

static void check_broken_header(const void *bytes, size_t size, const char *words)
{
    const char *path = in_dir("header.avro");
    write_bytes(path, bytes, size);
    struct pipe_input_config config = config_of(&file_source, path);
    check_input_refused(&config, words);
}

static void check_schema(const char *schema, const char *words)
{
    struct pipe_buf file = {0};
    add_header(&file, "null", schema);
    check_broken_header(file.data, file.size, words);
    pipe_buf_free(&file);
}

static void test_broken_headers(void **state)
{
    (void)state;
    check_broken_header("", 0, "is empty");
    check_broken_header("Ob", 2, "its header ends early");
    check_broken_header("PAR1xxxx", 8, "does not begin with Obj");
    check_broken_header("Obj\1\x02", 5, "its header ends early");
    check_broken_header("Obj\1\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 16,
                        "negative or too great length");
    check_broken_header("Obj\1\x02\x01xxxxxxxxxxxxxxxxxxx", 25, "negative or too great length");
    check_broken_header("Obj\1\xF0\xF0\xF0\x01xxxxxxxxxxxxxxxxx", 25, "too many entries");
    struct pipe_buf file = {0};
    add_header(&file, "snappy", SCHEMA_V1);
    check_broken_header(file.data, file.size, "the codec 'snappy' is not supported");
    file.size = 0;
    add_header(&file, "null", NULL);
    check_broken_header(file.data, file.size, "has no avro.schema");
    file.size = 0;
    add_header(&file, "null", SCHEMA_V1);
    for (size_t size = 0; size < file.size; size++)
        check_broken_header(file.data, size, size == 0 ? "is empty" : "its header ends early");
    file.size = 0;
    pipe_buf_add(&file, "Obj\1\2\2k", 7);
    pipe_avro_put_long(&file, 3 << 20);
    memset(pipe_buf_reserve(&file, 3 << 20), 'x', 3 << 20);
    file.size += 3 << 20;
    check_broken_header(file.data, file.size, "negative or too great length");
    pipe_buf_free(&file);
}

static void test_broken_schemas(void **state)
{
    (void)state;
#define FIELDS "{\"type\":\"record\",\"name\":\"R\",\"fields\":"
    check_schema("{", "is not JSON");
    check_schema("3", "a type of the schema is missing or no type");
    check_schema("\"Nowhere\"", "names the type Nowhere, which it does not define");
    check_schema("{\"type\":\"record\",\"name\":\"R\"}",
                 "the record R of the schema has no fields");
    check_schema("{\"type\":\"record\",\"fields\":[]}", "a record of the schema has no name");
    check_schema(FIELDS "[{\"name\":\"a\"}]}", "a field of the schema has no type");
    check_schema(FIELDS "[{\"type\":\"int\"}]}", "a field of the schema has no name");
    check_schema(FIELDS "[{\"name\":\"a\\\"b\",\"type\":\"int\"}]}", "has a quote");
    check_schema(FIELDS "[{\"name\":\"a\",\"type\":" FIELDS "[]}}]}", "defines R twice");
    check_schema("{\"type\":\"fixed\",\"name\":\"F\",\"size\":-1}", "has no valid size");
    check_schema("{\"type\":\"fixed\",\"name\":\"F\"}", "has no valid size");
    check_schema("{\"type\":\"enum\",\"name\":\"E\"}", "has no symbols");
    check_schema("{\"type\":\"array\"}", "missing or no type");
    struct pipe_buf deep = {0};
    for (int i = 0; i < 1500; i++)
        pipe_buf_printf(&deep, "{\"type\":\"array\",\"items\":");
    pipe_buf_printf(&deep, "\"int\"");
    for (int i = 0; i < 1500; i++)
        pipe_buf_add_byte(&deep, '}');
    pipe_buf_add_byte(&deep, 0);
    check_schema((const char *)deep.data, "nested too deep");
    deep.size = 0;
    pipe_buf_add_byte(&deep, '[');
    for (int i = 0; i < 70000; i++)
        pipe_buf_printf(&deep, "\"int\",");
    pipe_buf_printf(&deep, "\"int\"]");
    pipe_buf_add_byte(&deep, 0);
    check_schema((const char *)deep.data, "too many types");
    pipe_buf_free(&deep);
}

/* `rows` is a block behind a good one of one record. */
static void check_broken_block(int64_t count, int64_t size, const void *rows, size_t bytes,
                               const char *words)
{
    struct pipe_buf file = {0}, good = {0};
    char place[32];
    add_header(&file, "null", SCHEMA_V1);
    add_click(&good, 1, "p");
    pipe_container_write_block(&file, 1, pipe_str_of(good.data, good.size), sync_marker);
    snprintf(place, sizeof place, "at byte %zu: ", file.size);
    pipe_avro_put_long(&file, count);
    pipe_avro_put_long(&file, size);
    pipe_buf_add(&file, rows, bytes);
    pipe_buf_add(&file, sync_marker, 16);
    const char *path = in_dir("block.avro");
    write_bytes(path, file.data, file.size);
    struct pipe_input_config config = config_of(&file_source, path);
    struct reading all = check_resume(&config, 10);
    assert_true(all.failed);
    assert_true(all.count >= 1);
    if (strstr(all.error, words) == NULL || strstr(all.error, path) == NULL ||
        strstr(all.error, place) == NULL)
        fail_msg("'%s' should say '%s' %s", all.error, words, place);
    free_reading(&all);
    pipe_buf_free(&file);
    pipe_buf_free(&good);
}

static void test_broken_blocks(void **state)
{
    (void)state;
    check_broken_block(-1, 3, "\2\2p", 3, "negative length");
    check_broken_block(1, -3, "\2\2p", 3, "negative length");
    check_broken_block(INT64_MIN, 3, "\2\2p", 3, "negative length");
    check_broken_block(INT64_MAX, 3, "\2\2p", 3, "larger than 64 MiB");
    check_broken_block(1, INT64_MAX, "\2\2p", 3, "larger than 64 MiB");
    check_broken_block(1, 1000, "\2\2p", 3, "ends inside a block");
    check_broken_block(1, 2, "\2\2p", 3, "sync marker");
    check_broken_block(4, 3, "\2\2p", 3, "says that it has 4 records in 3 bytes");
    check_broken_block(0, 3, "\2\2p", 3, "says that it has 0 records in 3 bytes");
    check_broken_block(1, 4, "\2\2pz", 4, "record 1 of 1: it is the last, but bytes are left over");
    check_broken_block(2, 6, "\2\2p\2\6p", 6, "record 2 of 2: length beyond the record: 3");
    check_broken_block(2, 5, "\2\2p\2\5", 5, "record 2 of 2: negative length: -3");
    check_broken_block(3, 6, "\2\2p\2\2p", 6, "record 3 of 3: the record ends early");
}

static void test_cut_files(void **state)
{
    (void)state;
    for (int deflate = 0; deflate < 2; deflate++) {
        struct pipe_buf file = make_file(SCHEMA_V1, deflate == 1, 20);
        const char *path = in_dir("cut.avro");
        struct pipe_buf empty = {0};
        add_header(&empty, deflate == 1 ? "deflate" : "null", SCHEMA_V1);
        for (size_t size = empty.size; size < file.size; size++) {
            write_bytes(path, file.data, size);
            struct pipe_input_config config = config_of(&file_source, path);
            struct reading all = read_input(&config, 0);
            assert_true(all.opened);
            if (all.failed)
                assert_non_null(strstr(all.error, "the file ends inside a block"));
            config.length_bytes = (int64_t)file.size; /* as when it is cut while it is read */
            struct reading cut = read_input(&config, 0);
            assert_true(cut.failed);
            assert_non_null(strstr(cut.error, "cut while it was read"));
            assert_int_equal(cut.count, all.count);
            free_reading(&cut);
            free_reading(&all);
        }
        pipe_buf_free(&empty);
        pipe_buf_free(&file);
    }
}

static void test_bad_deflate(void **state)
{
    (void)state;
    const char *path = in_dir("deflate.avro");
    struct pipe_buf file = {0}, rows = {0};
    add_header(&file, "deflate", SCHEMA_V1);
    pipe_container_write_block(&file, 1, PIPE_STR("not deflated"), sync_marker);
    write_bytes(path, file.data, file.size);
    struct pipe_input_config config = config_of(&file_source, path);
    struct reading all = read_input(&config, 0);
    assert_non_null(strstr(all.error, "a block cannot be inflated"));
    free_reading(&all);
    file.size = 0;
    add_header(&file, "deflate", SCHEMA_V1);
    size_t bomb = 65u << 20; /* 64 KiB of file */
    memset(pipe_buf_reserve(&rows, bomb), 0, bomb);
    rows.size = bomb;
    add_deflated(&file, 1000, &rows);
    write_bytes(path, file.data, file.size);
    config = config_of(&file_source, path);
    all = read_input(&config, 0);
    assert_non_null(strstr(all.error, "a block is larger than 64 MiB"));
    free_reading(&all);
    pipe_buf_free(&rows);
    pipe_buf_free(&file);
}

/* Schemas whose values have no bytes must not make endless work. */
static void test_values_without_bytes(void **state)
{
    (void)state;
    struct pipe_buf schema = {0}, file = {0};
    pipe_buf_printf(&schema, FIELDS "[{\"name\":\"a\",\"type\":");
    for (int i = 0; i < 50; i++)
        pipe_buf_printf(
            &schema,
            "{\"type\":\"record\",\"name\":\"R%d\",\"fields\":[{\"name\":\"a\",\"type\":", i);
    pipe_buf_printf(&schema, "\"null\"}");
    for (int i = 50; i-- > 0;)
        pipe_buf_printf(&schema, "%s]},\"x\":0},{\"name\":\"b\",\"type\":\"R%d\"}",
                        i == 49 ? ",{\"name\":\"b\",\"type\":\"null\"}" : "", i);
    pipe_buf_printf(&schema, ",{\"name\":\"z\",\"type\":\"int\"}]}");
    pipe_buf_add_byte(&schema, 0);
    add_header(&file, "null", (const char *)schema.data);
    pipe_container_write_block(&file, 1, PIPE_STR("\2"), sync_marker);
    const char *path = in_dir("exponential.avro");
    write_bytes(path, file.data, file.size);
    struct pipe_input_config config = config_of(&file_source, path);
    struct reading all = read_input(&config, 0);
    assert_true(all.failed);
    assert_non_null(strstr(all.error, "too many values without bytes"));
    free_reading(&all);
    file.size = 0;
    add_header(&file, "null", FIELDS "[]}");
    pipe_container_write_block(&file, 1 << 25, PIPE_STR(""), sync_marker);
    write_bytes(path, file.data, file.size);
    config = config_of(&file_source, path);
    all = read_input(&config, 0);
    assert_non_null(strstr(all.error, "records in 0 bytes"));
    free_reading(&all);
    pipe_buf_free(&schema);
    pipe_buf_free(&file);
}

static void test_changed_file(void **state)
{
    (void)state;
    const char *path = in_dir("changed.avro");
    struct pipe_buf file = make_file(SCHEMA_V1, false, 40);
    write_bytes(path, file.data, file.size);
    struct pipe_input_config config = config_of(&file_source, path);
    struct reading all = read_input(&config, 1);
    for (size_t i = 0; i < all.count; i++) {
        config.resume = all.positions[i];
        write_bytes(path, file.data, file.size / 3);
        char error[512] = "";
        struct pipe_input *input = pipe_input_open(&config, error, sizeof error);
        if (input != NULL)
            input->ops->close(input);
        else
            assert_non_null(strstr(error, path));
    }
    free_reading(&all);
    pipe_buf_free(&file);
}

/* ---- Mutations: never a crash, a leak or a loop; the same records and error, however they are
 * asked for ---- */

static void mutate(struct pipe_buf *file)
{
    unsigned changes = 1 + random_below(4);
    for (unsigned i = 0; i < changes; i++) {
        size_t at = random_below((uint32_t)file->size);
        switch (random_below(4)) {
        case 0:
            file->data[at] = (uint8_t)random_below(256);
            break;
        case 1:
            file->data[at] ^= (uint8_t)(1u << random_below(8));
            break;
        case 2:
            file->size = at + 1;
            break;
        default:
            memmove(file->data + at, file->data + at + 1, file->size - at - 1);
            file->size -= file->size > 1;
        }
    }
}

static void test_mutations(void **state)
{
    (void)state;
    static const char *const schemas[] = {SCHEMA_V1, SCHEMA_OTHER, PIPE_TOPIC_FILE_SCHEMA};
    for (int round = 0; round < 1500; round++) {
        int kind = round % 3;
        struct pipe_buf file = {0}, rows = {0};
        if (kind == 0) {
            file = make_file(SCHEMA_V1, round % 2 == 0, 12);
        } else {
            add_header(&file, "null", schemas[kind]);
            for (int i = 0; i < 5; i++) {
                rows.size = 0;
                if (kind == 1)
                    add_wide(&rows, 0);
                else
                    add_envelope(&rows, i, "key", "value");
                pipe_container_write_block(&file, 1, pipe_str_of(rows.data, rows.size),
                                           sync_marker);
            }
        }
        mutate(&file);
        const char *path = in_dir("mutated.avro");
        write_bytes(path, file.data, file.size);
        struct pipe_input_config config = config_of(kind == 2 ? &topic_source : &file_source, path);
        struct reading one = read_input(&config, 1), many = read_input(&config, 100);
        assert_int_equal(one.count, many.count);
        assert_string_equal(one.error, many.error);
        if (!one.opened || one.failed)
            assert_non_null(strstr(one.error, path));
        free_reading(&one);
        free_reading(&many);
        pipe_buf_free(&file);
        pipe_buf_free(&rows);
    }
}

static void check_fingerprint(const char *schema, uint64_t expected)
{
    char error[256];
    struct pipe_writer_schema *parsed =
        pipe_writer_schema_parse(schema, strlen(schema), error, sizeof error);
    assert_non_null(parsed);
    if (pipe_writer_schema_fingerprint(parsed) != expected)
        fail_msg("%s: %016" PRIx64, schema, pipe_writer_schema_fingerprint(parsed));
    pipe_writer_schema_free(parsed);
}

/* Values of the Avro specification's algorithm, computed by other implementations. */
static void test_fingerprints(void **state)
{
    (void)state;
    check_fingerprint("\"null\"", 0x63dd24e7cc258f8au);
    check_fingerprint("{\"type\":\"int\"}", 0x7275d51a3f395c8fu);
    check_fingerprint(SCHEMA_V1_WRITTEN, versions[1].fingerprint);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_files),
        cmocka_unit_test(test_content),
        cmocka_unit_test(test_unknown_schema),
        cmocka_unit_test(test_topic_files),
        cmocka_unit_test(test_lengths_of_envelopes),
        cmocka_unit_test(test_broken_headers),
        cmocka_unit_test(test_broken_schemas),
        cmocka_unit_test(test_broken_blocks),
        cmocka_unit_test(test_cut_files),
        cmocka_unit_test(test_bad_deflate),
        cmocka_unit_test(test_values_without_bytes),
        cmocka_unit_test(test_changed_file),
        cmocka_unit_test(test_mutations),
        cmocka_unit_test(test_fingerprints),
    };
    return cmocka_run_group_tests(tests, set_up, remove_test_dir);
}
