/* The state store: what was saved comes back, nothing of other tasks, malformed bytes are told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <rocksdb/c.h>

#include "../../runtime/engine.h"
#include "scratch_dir.h"

/* An operator that is a list of texts: "+k=v" puts, "-k" removes, "~a,b" removes a range. */
struct toy {
    const char *changes;
    char loaded[200];
};

static void toy_save(void *state, const struct pipe_state_writer *writer)
{
    struct toy *toy = state;
    char word[64];
    int used;
    for (const char *at = toy->changes; sscanf(at, "%63s%n", word, &used) == 1; at += used) {
        char *split = strpbrk(word, "=,");
        size_t size = split != NULL ? (size_t)(split - word - 1) : strlen(word + 1);
        if (word[0] == '+')
            writer->put(writer->context, word + 1, size, split + 1, strlen(split + 1));
        else if (word[0] == '-')
            writer->remove(writer->context, word + 1, size);
        else
            writer->remove_range(writer->context, word + 1, size, split + 1, strlen(split + 1));
    }
}

static bool toy_load(void *state, const void *key, size_t key_bytes, const void *value,
                     size_t value_bytes)
{
    struct toy *toy = state;
    size_t used = strlen(toy->loaded);
    snprintf(toy->loaded + used, sizeof toy->loaded - used, "%.*s=%.*s ", (int)key_bytes,
             (const char *)key, (int)value_bytes, (const char *)value);
    return value_bytes == 0 || *(const char *)value != '!';
}

static const struct pipe_state_ops toy_ops = {.save = toy_save, .load = toy_load};

static struct pipe_store *open_store(bool *created)
{
    char error[512] = "";
    struct pipe_store *store = pipe_store_open(dir, false, created, error, sizeof error);
    if (store == NULL)
        fail_msg("%s", error);
    return store;
}

static void save(struct pipe_store *store, uint32_t stage, int32_t partition, uint32_t index,
                 const char *changes)
{
    struct toy toy = {.changes = changes};
    pipe_store_begin(store);
    pipe_store_save_state(store, stage, partition, index, &toy_ops, &toy);
    assert_true(pipe_store_end(store));
}

static void expect(struct pipe_store *store, uint32_t stage, int32_t partition, uint32_t index,
                   const char *expected)
{
    struct toy toy = {0};
    uint64_t entries;
    assert_true(pipe_store_load_state(store, stage, partition, index, &toy_ops, &toy, &entries));
    assert_string_equal(toy.loaded, expected);
}

static void test_entries(void **state)
{
    (void)state;
    bool created;
    struct pipe_store *store = open_store(&created);
    struct pipe_hash_key key = pipe_store_hash_key(store);
    struct pipe_store_usage usage;
    assert_true(created);
    save(store, 1, 2, 0, "+a=1 +b=2 +c=3 +d=4");
    save(store, 1, 2, 1, "+x=9");
    save(store, 1, 3, 0, "+y=8");
    save(store, 1, 2, 0, "-a ~c,d +b=5");
    pipe_store_close(store);
    store = open_store(&created);
    assert_false(created);
    struct pipe_hash_key again = pipe_store_hash_key(store);
    assert_memory_equal(&key, &again, sizeof key);
    expect(store, 1, 2, 0, "b=5 d=4 ");
    expect(store, 1, 2, 1, "x=9 ");
    expect(store, 1, 3, 0, "y=8 ");
    expect(store, 0, 0, 0, "");
    assert_true(pipe_store_usage(store, 1, 2, 0, &usage));
    assert_int_equal(usage.entries, 2);
    assert_int_equal(usage.bytes, 4);
    pipe_store_close(store);
}

static void test_positions(void **state)
{
    (void)state;
    bool created, found;
    int64_t markers[] = {PIPE_TIME_MIN, 5, PIPE_TIME_MAX};
    struct pipe_store_position in = {.offset = 12345678901,
                                     .seq = 7,
                                     .watermark = PIPE_TIME_MIN,
                                     .kafka_time_ms = -1,
                                     .markers = markers,
                                     .marker_count = 3};
    struct pipe_store_position out;
    in.input.hint_bytes = 48;
    memset(in.input.hint, 0xab, 48);
    struct pipe_store *store = open_store(&created);
    assert_string_equal(pipe_store_plan(store), "");
    pipe_store_identify(store, "abc", "log1");
    pipe_store_begin(store);
    pipe_store_save_position(store, 3, 4, &in);
    assert_true(pipe_store_end(store));
    pipe_store_close(store);
    store = open_store(&created);
    assert_string_equal(pipe_store_plan(store), "abc");
    assert_string_equal(pipe_store_incarnation(store), "log1");
    assert_true(pipe_store_load_position(store, 3, 5, &out, &found));
    assert_false(found);
    assert_true(pipe_store_load_position(store, 3, 4, &out, &found));
    assert_true(found);
    assert_int_equal(out.offset, in.offset);
    assert_int_equal(out.input.offset, in.offset);
    assert_int_equal(out.seq, 7);
    assert_true(out.watermark == PIPE_TIME_MIN && out.kafka_time_ms == -1);
    assert_int_equal(out.input.hint_bytes, 48);
    assert_memory_equal(out.input.hint, in.input.hint, 48);
    assert_int_equal(out.marker_count, 3);
    assert_memory_equal(out.markers, markers, sizeof markers);
    pipe_store_close(store);
}

static void overwrite(const char *key, size_t key_bytes, const char *value, size_t value_bytes)
{
    char path[128], *error = NULL;
    snprintf(path, sizeof path, "%s/state", dir);
    rocksdb_options_t *options = rocksdb_options_create();
    rocksdb_options_set_uint64add_merge_operator(options);
    rocksdb_t *db = rocksdb_open(options, path, &error);
    assert_null(error);
    rocksdb_writeoptions_t *write = rocksdb_writeoptions_create();
    rocksdb_put(db, write, key, key_bytes, value, value_bytes, &error);
    assert_null(error);
    rocksdb_writeoptions_destroy(write);
    rocksdb_close(db);
    rocksdb_options_destroy(options);
}

static void test_malformed(void **state)
{
    (void)state;
    bool created, found;
    struct pipe_store_position out;
    struct toy toy = {0};
    uint64_t entries;
    /* version, offset 1, seq 1, watermark 0, kafka_time 0, hint "ab", 1 marker: 3 */
    static const char whole[] = "\1\2\2\0\0\4ab\2\6";
    pipe_store_close(open_store(&created));
    for (size_t cut = 0; cut < sizeof whole; cut++) {
        overwrite("p\0\0\0\0\0\0\0\0", 9, whole, cut);
        struct pipe_store *store = open_store(&created);
        assert_int_equal(pipe_store_load_position(store, 0, 0, &out, &found),
                         cut == sizeof whole - 1);
        if (cut < sizeof whole - 1)
            assert_non_null(strstr(pipe_store_error(store), "damaged"));
        pipe_store_close(store);
    }
    overwrite("p\0\0\0\0\0\0\0\0", 9, "\1\2\2\0\0\0\xfe\xff\xff\xff\xff\xff\xff\xff\xff\1", 16);
    struct pipe_store *store = open_store(&created);
    assert_false(pipe_store_load_position(store, 0, 0, &out, &found)); /* 2^63 - 1 markers */
    save(store, 0, 0, 0, "+a=!");
    assert_false(pipe_store_load_state(store, 0, 0, 0, &toy_ops, &toy, &entries));
    assert_non_null(strstr(pipe_store_error(store), "state 0 has a malformed entry"));
    pipe_store_close(store);
}

/* Another format is told from ours, and so is the first, which had no number. */
static void test_version(void **state)
{
    (void)state;
    bool created;
    struct pipe_store *store = open_store(&created);
    assert_true(created);
    assert_string_equal(pipe_store_version(store), PIPE_STATE_VERSION);
    pipe_store_close(store);
    overwrite("mversion", 8, "91", 2);
    store = open_store(&created);
    assert_false(created);
    assert_string_equal(pipe_store_version(store), "91");
    pipe_store_close(store);
}

static char scanned[64];
static int scans_left;

static bool add_scanned(void *context, struct pipe_str key, struct pipe_str value)
{
    struct pipe_buf again = {0};
    const struct pipe_state_reader *reader = context;
    bool found = false;
    /* The store may be read meanwhile. */
    assert_true(reader->get(reader, key.data, key.size, &again, &found) && found);
    assert_int_equal(again.size, value.size);
    pipe_buf_free(&again);
    snprintf(scanned + strlen(scanned), sizeof scanned - strlen(scanned), "%.*s=%.*s ",
             (int)key.size, (const char *)key.data, (int)value.size, (const char *)value.data);
    return --scans_left > 0;
}

/* At most so many entries from a key on. */
static const char *scan(struct pipe_state_reader *reader, const char *from, int most)
{
    scanned[0] = '\0';
    scans_left = most;
    assert_true(reader->scan(reader, from, strlen(from), add_scanned, reader));
    return scanned;
}

/* What was saved is read back by key and in order, of the own state alone. */
static void test_reading(void **state)
{
    (void)state;
    bool created, found;
    struct pipe_buf value = {0};
    struct pipe_store *store = open_store(&created);
    save(store, 0, 1, 2, "+ab=1 +ac=2 +b=3");
    save(store, 0, 1, 3, "+aa=4");
    struct pipe_state_reader reader = pipe_store_reader(store, 0, 1, 2);
    assert_true(reader.get(&reader, "ac", 2, &value, &found));
    assert_true(found && value.size == 1 && value.data[0] == '2');
    assert_true(reader.get(&reader, "aa", 2, &value, &found));
    assert_false(found);
    assert_string_equal(scan(&reader, "a", 9), "ab=1 ac=2 ");
    assert_string_equal(scan(&reader, "ab2", 9), "ac=2 ");
    assert_string_equal(scan(&reader, "a", 1), "ab=1 ");
    assert_string_equal(scan(&reader, "c", 9), "");
    save(store, 0, 1, 2, "+ac=5 -ab");
    assert_true(reader.get(&reader, "ac", 2, &value, &found));
    assert_true(found && value.data[0] == '5');
    assert_string_equal(scan(&reader, "a", 9), "ac=5 ");
    pipe_store_close(store);
    pipe_buf_free(&value);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_version, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_reading, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_entries, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_positions, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_malformed, make_dir, remove_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
