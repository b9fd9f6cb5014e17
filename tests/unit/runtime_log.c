/* The embedded log: what is committed is there after any end, what is not is not, damage is told.
 */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <rocksdb/c.h>

#include "../../runtime/log_embedded.h"
#include "../../runtime/log_options.h"
#include "scratch_dir.h"

static struct pipe_log *open_log(void)
{
    char error[512] = "";
    struct pipe_log *log = pipe_log_embedded_open(dir, false, error, sizeof error);
    if (log == NULL)
        fail_msg("%s", error);
    return log;
}

static void append(struct pipe_log *log, uint32_t topic, int32_t partition, int64_t time,
                   const char *key, const char *value)
{
    assert_true(log->ops->append(log, topic, partition, time,
                                 pipe_str_of(key, key != NULL ? strlen(key) : 0),
                                 pipe_str_of(value, value != NULL ? strlen(value) : 0)));
}

static uint32_t topic_of(struct pipe_log *log, const char *name, uint32_t partitions)
{
    uint32_t topic;
    assert_true(log->ops->topic(log, name, partitions, &topic));
    return topic;
}

/* Reads from `from` to the end in steps of `step`; values must be "v<offset>". Returns how many. */
static int64_t read_all(struct pipe_log *log, uint32_t topic, int32_t partition, int64_t from,
                        uint32_t step)
{
    struct pipe_record constant = {.source = 7, .partition = partition}, *records;
    struct pipe_log_reader *reader = log->ops->reader(log, topic, partition, from, &constant);
    uint32_t count;
    int64_t seen = 0;
    enum pipe_log_state state;
    while ((state = log->ops->read(reader, step, INT64_MAX, &records, &count)) ==
           PIPE_LOG_RECORDS) {
        assert_in_range(count, 1, step);
        for (uint32_t i = 0; i < count; i++, seen++) {
            char expected[32];
            snprintf(expected, sizeof expected, "v%lld", (long long)(from + seen));
            assert_int_equal(records[i].offset, from + seen);
            assert_int_equal(records[i].source, 7);
            assert_int_equal(records[i].kafka_time_ms, 1000 - records[i].offset * 3);
            assert_int_equal(records[i].payload.size, strlen(expected));
            assert_memory_equal(records[i].payload.data, expected, strlen(expected));
        }
    }
    assert_int_equal(state, PIPE_LOG_END);
    log->ops->reader_close(reader);
    return seen;
}

static void fill(struct pipe_log *log, uint32_t topic, int32_t partition, int64_t from, int64_t to)
{
    for (int64_t i = from; i < to; i++) {
        char value[32];
        snprintf(value, sizeof value, "v%lld", (long long)i);
        append(log, topic, partition, 1000 - i * 3, i % 2 == 0 ? "k" : NULL, value);
    }
}

static void test_records(void **state)
{
    (void)state;
    struct pipe_log *log = open_log();
    uint32_t topic = topic_of(log, "t", 3);
    fill(log, topic, 1, 0, 100);
    assert_int_equal(log->ops->end(log, topic, 1), 0); /* not committed */
    assert_int_equal(read_all(log, topic, 1, 0, 10), 0);
    assert_int_equal(log->ops->commit(log), PIPE_LOG_COMMITTED);
    fill(log, topic, 1, 100, 150);
    assert_int_equal(log->ops->commit(log), PIPE_LOG_COMMITTED);
    assert_int_equal(log->ops->end(log, topic, 1), 150);
    assert_int_equal(log->ops->end(log, topic, 0), 0);
    for (int64_t from = 0; from <= 150; from += 7)
        assert_int_equal(read_all(log, topic, 1, from, 1 + (uint32_t)from), 150 - from);
    log->ops->close(log);
    log = open_log();
    assert_int_equal(topic_of(log, "t", 3), topic);
    assert_int_equal(read_all(log, topic, 1, 99, 1000), 51);
    fill(log, topic, 1, 150, 151); /* offsets go on */
    assert_int_equal(log->ops->commit(log), PIPE_LOG_COMMITTED);
    assert_int_equal(read_all(log, topic, 1, 149, 1000), 2);
    log->ops->close(log);
}

static void test_nulls_and_empty(void **state)
{
    (void)state;
    struct pipe_log *log = open_log();
    struct pipe_record constant = {0}, *records;
    uint32_t topic = topic_of(log, "t", 1), count;
    append(log, topic, 0, INT64_MIN, NULL, NULL);
    append(log, topic, 0, INT64_MAX, "", "");
    assert_int_equal(log->ops->commit(log), PIPE_LOG_COMMITTED);
    struct pipe_log_reader *reader = log->ops->reader(log, topic, 0, 0, &constant);
    assert_int_equal(log->ops->read(reader, 10, INT64_MAX, &records, &count), PIPE_LOG_RECORDS);
    assert_int_equal(count, 2);
    assert_null(records[0].key.data);
    assert_null(records[0].payload.data);
    assert_true(records[0].kafka_time_ms == INT64_MIN && records[1].kafka_time_ms == INT64_MAX);
    assert_non_null(records[1].key.data);
    assert_non_null(records[1].payload.data);
    assert_int_equal(records[1].key.size + records[1].payload.size, 0);
    log->ops->reader_close(reader);
    log->ops->close(log);
}

/* More than one chunk, and a commit that is flushed instead of logged. */
static void test_big(void **state)
{
    (void)state;
    struct pipe_log *log = open_log();
    struct pipe_record constant = {0}, *records;
    uint32_t topic = topic_of(log, "t", 1), count, seen = 0;
    size_t size = 300 << 10;
    char *big = malloc(size);
    assert_non_null(big);
    for (int i = 0; i < 12; i++) {
        memset(big, 'a' + i, size);
        assert_true(
            log->ops->append(log, topic, 0, i, pipe_str_of(NULL, 0), pipe_str_of(big, size)));
    }
    assert_int_equal(log->ops->commit(log), PIPE_LOG_COMMITTED);
    log->ops->close(log);
    log = open_log();
    struct pipe_log_reader *reader = log->ops->reader(log, topic, 0, 0, &constant);
    while (log->ops->read(reader, 100, INT64_MAX, &records, &count) == PIPE_LOG_RECORDS) {
        for (uint32_t i = 0; i < count; i++, seen++) {
            memset(big, 'a' + (int)seen, size);
            assert_int_equal(records[i].payload.size, size);
            assert_memory_equal(records[i].payload.data, big, size);
        }
    }
    assert_int_equal(seen, 12);
    log->ops->reader_close(reader);
    log->ops->close(log);
    free(big);
}

static void test_abort_and_metadata(void **state)
{
    (void)state;
    struct pipe_log *log = open_log();
    struct pipe_buf value = {0};
    bool found;
    uint32_t topic = topic_of(log, "t", 1);
    fill(log, topic, 0, 0, 10);
    assert_true(log->ops->put(log, "name", "one", 3));
    assert_true(log->ops->get(log, "name", &value, &found));
    assert_false(found);
    log->ops->abort(log);
    assert_int_equal(log->ops->commit(log), PIPE_LOG_COMMITTED);
    assert_int_equal(log->ops->end(log, topic, 0), 0);
    assert_true(log->ops->get(log, "name", &value, &found));
    assert_false(found);
    fill(log, topic, 0, 0, 5);
    assert_true(log->ops->put(log, "name", "two", 3));
    assert_true(log->ops->put(log, "empty", NULL, 0));
    assert_int_equal(log->ops->commit(log), PIPE_LOG_COMMITTED);
    log->ops->close(log);
    log = open_log();
    assert_true(log->ops->get(log, "name", &value, &found));
    assert_true(found && value.size == 3 && memcmp(value.data, "two", 3) == 0);
    assert_true(log->ops->get(log, "empty", &value, &found));
    assert_true(found && value.size == 0);
    assert_int_equal(read_all(log, topic_of(log, "t", 1), 0, 0, 3), 5);
    pipe_buf_free(&value);
    log->ops->close(log);
}

static void test_partition_counts(void **state)
{
    (void)state;
    struct pipe_log *log = open_log();
    uint32_t topic;
    topic_of(log, "a", 2);
    topic_of(log, "b", 5);
    assert_int_equal(log->ops->commit(log), PIPE_LOG_COMMITTED);
    assert_false(log->ops->topic(log, "a", 3, &topic));
    assert_non_null(strstr(log->error, "topic a has 2 partitions"));
    log->ops->close(log);
    log = open_log();
    assert_int_equal(log->topic_count, 2);
    assert_false(log->ops->topic(log, "b", 1, &topic));
    assert_false(log->ops->topic(log, "c", 0, &topic));
    log->ops->close(log);
}

/* In a process of its own: commits `many` records, appends more, and is killed. */
static int write_and_die(const char *where, int64_t many)
{
    char error[512];
    uint32_t topic;
    struct pipe_log *log = pipe_log_embedded_open(where, false, error, sizeof error);
    if (log == NULL || !log->ops->topic(log, "t", 1, &topic))
        return 1;
    int64_t from = log->ops->end(log, topic, 0);
    fill(log, topic, 0, from, from + many);
    if (log->ops->commit(log) != PIPE_LOG_COMMITTED)
        return 1;
    fill(log, topic, 0, from + many, from + many + 50);
    return raise(SIGKILL);
}

/* A process that is killed: all commits are there, nothing of the open one; also of big ones. The
 * process is a new program, because the threads of RocksDB do not survive a fork. */
static void test_killed(void **state)
{
    (void)state;
    for (int round = 0; round < 4; round++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            execl("/proc/self/exe", "runtime_log", dir, round % 2 == 0 ? "100" : "400000", NULL);
            _exit(127);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
    }
    struct pipe_log *log = open_log();
    assert_int_equal(read_all(log, topic_of(log, "t", 1), 0, 0, 1000), 2 * 100 + 2 * 400000);
    log->ops->close(log);
}

/* Puts a value under a key with RocksDB itself. */
static void overwrite(const char *key, size_t key_bytes, const char *value, size_t value_bytes)
{
    char path[128], *error = NULL;
    snprintf(path, sizeof path, "%s/log", dir);
    rocksdb_options_t *options = rocksdb_options_create();
    rocksdb_options_set_uint64add_merge_operator(options);
    rocksdb_options_set_compaction_style(options, rocksdb_universal_compaction);
    rocksdb_t *db = rocksdb_open(options, path, &error);
    assert_null(error);
    rocksdb_writeoptions_t *write = rocksdb_writeoptions_create();
    rocksdb_put(db, write, key, key_bytes, value, value_bytes, &error);
    assert_null(error);
    rocksdb_writeoptions_destroy(write);
    rocksdb_close(db);
    rocksdb_options_destroy(options);
}

/* ---- Values stored once ---- */

enum { ROWS = 12000, SPREAD = 40 /* partitions: more chunks than a reader holds at once */ };

static struct pipe_str row_text(int64_t row)
{
    static char text[400];
    int size = snprintf(text, sizeof text, "%0*lld", 200 + (int)(row % 150), (long long)row);
    return pipe_str_of(text, (size_t)size);
}

static void append_row(struct pipe_log *log, uint32_t topic, int32_t partition, int64_t row)
{
    struct pipe_str text = row_text(row);
    assert_true(log->ops->append(log, topic, partition, row, pipe_str_of("k", 1), text));
}

static void read_rows(struct pipe_log *log, uint32_t topic, int64_t from, uint32_t step)
{
    struct pipe_record constant = {0}, *records;
    struct pipe_log_reader *reader = log->ops->reader(log, topic, 0, from, &constant);
    uint32_t count;
    int64_t row = from;
    enum pipe_log_state state;
    while ((state = log->ops->read(reader, step, INT64_MAX, &records, &count)) ==
           PIPE_LOG_RECORDS) {
        assert_in_range(count, 1, step);
        for (uint32_t i = 0; i < count; i++, row++) {
            assert_int_equal(records[i].offset, row);
            assert_int_equal(records[i].kafka_time_ms, row);
            assert_true(pipe_str_equal(records[i].key, pipe_str_of("k", 1)));
            assert_true(pipe_str_equal(records[i].payload, row_text(row)));
        }
    }
    assert_int_equal(state, PIPE_LOG_END);
    assert_int_equal(row, ROWS);
    log->ops->reader_close(reader);
}

/* A row that goes to several topics takes little more room than one that goes to one, and is read
 * back from all of them, whatever was aborted or committed in between. */
static void test_shared(void **state)
{
    (void)state;
    struct pipe_log *log = open_log();
    uint32_t spread = topic_of(log, "spread", SPREAD), all = topic_of(log, "all", 1);
    uint32_t copy = topic_of(log, "copy", 1);
    uint64_t bytes = 0;
    for (int64_t row = 0; row < ROWS; row++) {
        if (row % 3000 == 1000) {
            for (int64_t lost = 0; lost < 10; lost++)
                append_row(log, spread, 0, row + lost);
            log->ops->abort(log);
        }
        append_row(log, spread, (int32_t)(row % SPREAD), row);
        append_row(log, all, 0, row);
        append_row(log, copy, 0, row);
        bytes += row_text(row).size;
        if (row % 3000 == 999 || row == ROWS - 1)
            assert_int_equal(log->ops->commit(log), PIPE_LOG_COMMITTED);
    }
    assert_true(log->written_bytes < bytes * 5 / 4);
    for (int again = 0; again < 2; again++) {
        read_rows(log, all, 0, 1000);
        read_rows(log, copy, 0, 7);
        read_rows(log, copy, 5500, 1000);
        log->ops->close(log);
        log = open_log();
        all = topic_of(log, "all", 1);
        copy = topic_of(log, "copy", 1);
    }
    log->ops->close(log);
}

/* ---- What was committed a moment ago ---- */

/* The first chunk of the partition in the database becomes something else. */
static void spoil(struct pipe_log *log, uint32_t topic, int32_t partition)
{
    uint8_t key[LOG_CHUNK_KEY_BYTES];
    char *error = NULL;
    struct embedded *embedded = embedded_of(log);
    log_chunk_key(key, log->topics[topic].id, partition, 0);
    rocksdb_put(embedded->db, embedded->logged, (const char *)key, sizeof key, "spoiled", 7,
                &error);
    assert_null(error);
}

/* A commit that is flushed, not logged. */
static void commit_big(struct pipe_log *log, uint32_t pad)
{
    char *value = pipe_calloc(1, FLUSH_BYTES);
    assert_true(
        log->ops->append(log, pad, 0, 0, pipe_str_of(NULL, 0), pipe_str_of(value, FLUSH_BYTES)));
    free(value);
    assert_int_equal(log->ops->commit(log), PIPE_LOG_COMMITTED);
}

/* The state of a new reader of the attached handle, and the value that it reads first. */
static enum pipe_log_state read_first(struct pipe_log *log, uint32_t topic, char *value)
{
    struct pipe_record constant = {0}, *records;
    uint32_t count;
    struct pipe_log_reader *reader = log->ops->reader(log, topic, 0, 0, &constant);
    enum pipe_log_state state = log->ops->read(reader, 1, INT64_MAX, &records, &count);
    value[0] = '\0';
    if (state == PIPE_LOG_RECORDS) {
        memcpy(value, records[0].payload.data, records[0].payload.size);
        value[records[0].payload.size] = '\0';
    }
    log->ops->reader_close(reader);
    return state;
}

/* An attached handle reads commits of a moment ago from memory, older ones from the database, and
 * what was aborted not at all. What a reader holds stays as it is, however many commits follow. */
static void test_recent(void **state)
{
    (void)state;
    struct pipe_log *log = open_log();
    uint32_t topic = topic_of(log, "t", 1), other = topic_of(log, "other", 1), count;
    uint32_t pad = topic_of(log, "pad", 1);
    struct pipe_log *attached = pipe_log_embedded_attach(log);
    char value[100];
    append(log, topic, 0, 1000, "k", "aborted");
    log->ops->abort(log);
    fill(log, topic, 0, 0, 100);
    assert_int_equal(read_first(attached, topic, value), PIPE_LOG_END);
    commit_big(log, pad);
    spoil(log, topic, 0);
    assert_int_equal(read_first(attached, topic, value), PIPE_LOG_RECORDS);
    assert_string_equal(value, "v0");
    struct pipe_record constant = {.source = 7}, *records;
    struct pipe_log_reader *holding = attached->ops->reader(attached, topic, 0, 0, &constant);
    assert_int_equal(attached->ops->read(holding, 10, INT64_MAX, &records, &count),
                     PIPE_LOG_RECORDS);
    for (int64_t i = 0; i < 30; i++) {
        fill(log, other, 0, i * 10, i * 10 + 10);
        if (i % 3 == 0)
            commit_big(log, pad);
        else
            assert_int_equal(log->ops->commit(log), PIPE_LOG_COMMITTED);
    }
    assert_int_equal(count, 10);
    for (uint32_t i = 0; i < 100; i++) {
        char expected[32];
        snprintf(expected, sizeof expected, "v%u", i);
        if (i % 10 == 0 && i > 0)
            assert_int_equal(attached->ops->read(holding, 10, INT64_MAX, &records, &count),
                             PIPE_LOG_RECORDS);
        assert_true(
            pipe_str_equal(records[i % 10].payload, pipe_str_of(expected, strlen(expected))));
    }
    attached->ops->reader_close(holding);
    assert_int_equal(read_all(attached, other, 0, 0, 7), 300);
    assert_int_equal(read_first(attached, topic, value), PIPE_LOG_FAILED);
    assert_non_null(strstr(attached->error, "topic t, partition 0, offset 0: not a chunk"));
    attached->ops->close(attached);
    log->ops->close(log);
}

/* Rows that are stored once, in commits of all sizes, read by an attached handle at once, and by
 * one that is behind. */
static void test_recent_shared(void **state)
{
    (void)state;
    struct pipe_log *log = open_log();
    uint32_t spread = topic_of(log, "spread", SPREAD), all = topic_of(log, "all", 1);
    uint32_t pad = topic_of(log, "pad", 1);
    struct pipe_log *attached = pipe_log_embedded_attach(log);
    struct pipe_record constant = {0}, *records;
    struct pipe_log_reader *reader = attached->ops->reader(attached, all, 0, 0, &constant);
    uint32_t count;
    int64_t read = 0;
    for (int64_t row = 0; row < ROWS; row++) {
        append_row(log, spread, (int32_t)(row % SPREAD), row);
        append_row(log, all, 0, row);
        if (row % 1000 != 10 && row != 9500 && row != ROWS - 1)
            continue;
        if (row % 2000 == 10)
            commit_big(log, pad);
        assert_int_equal(log->ops->commit(log), PIPE_LOG_COMMITTED);
        while (attached->ops->read(reader, 100, INT64_MAX, &records, &count) == PIPE_LOG_RECORDS) {
            for (uint32_t i = 0; i < count; i++, read++) {
                assert_int_equal(records[i].offset, read);
                assert_true(pipe_str_equal(records[i].payload, row_text(read)));
            }
        }
        assert_int_equal(read, row + 1);
    }
    attached->ops->reader_close(reader);
    read_rows(attached, all, 0, 1000);
    read_rows(attached, all, 5500, 7);
    attached->ops->close(attached);
    log->ops->close(log);
}

/* A reference beyond its chunk, and one to a chunk that is not there. */
static void test_malformed_references(void **state)
{
    (void)state;
    static const char key[] = "r\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    /* count 1; (delta 0, no key, shared value of 200 bytes: topic 0, partition, base 0, position)
     */
    char chunk[] = "\1\0\0\0\1\0\0\0\xe8\3\0\0\0\0\0\0\0\0\xc9\x81\x80\x80\x10\0\0\0\x10";
    struct pipe_log *log = open_log();
    topic_of(log, "t", 2);
    assert_int_equal(log->ops->commit(log), PIPE_LOG_COMMITTED);
    log->ops->close(log);
    for (int partition = 0; partition < 2; partition++) {
        chunk[sizeof chunk - 1 - 3] = (char)partition;
        overwrite(key, 17, chunk, sizeof chunk - 1);
        log = open_log();
        struct pipe_record constant = {0}, *records;
        uint32_t count;
        struct pipe_log_reader *reader = log->ops->reader(log, 0, 0, 0, &constant);
        assert_int_equal(log->ops->read(reader, 10, INT64_MAX, &records, &count), PIPE_LOG_FAILED);
        assert_non_null(strstr(log->error, "its value is missing"));
        log->ops->reader_close(reader);
        log->ops->close(log);
    }
}

/* Every prefix of a chunk, and a chunk with each byte changed, is read or refused, never a crash.
 */
static void test_malformed_chunks(void **state)
{
    (void)state;
    static const char key[] = "r\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    char good[64], error[512];
    struct pipe_log *log = open_log();
    topic_of(log, "t", 1);
    assert_int_equal(log->ops->commit(log), PIPE_LOG_COMMITTED);
    log->ops->close(log);
    /* version, count 2, time 1000; (delta 0, no key, "v0"), (delta -3, key k, "v1") */
    static const char whole[] = "\1\0\0\0\2\0\0\0\xe8\3\0\0\0\0\0\0\0\0\3v0\5\2\3kv1";
    size_t size = sizeof whole - 1;
    for (size_t cut = 0; cut <= size; cut++) {
        overwrite(key, 17, whole, cut);
        log = pipe_log_embedded_open(dir, false, error, sizeof error);
        if (cut < 16) {
            assert_null(log);
            assert_non_null(strstr(error, "damaged: topic t, partition 0"));
            continue;
        }
        assert_non_null(log);
        struct pipe_record constant = {0}, *records;
        uint32_t count;
        struct pipe_log_reader *reader = log->ops->reader(log, 0, 0, 0, &constant);
        enum pipe_log_state got = log->ops->read(reader, 10, INT64_MAX, &records, &count);
        assert_int_equal(got, cut == size ? PIPE_LOG_RECORDS : PIPE_LOG_FAILED);
        if (got == PIPE_LOG_FAILED)
            assert_non_null(strstr(log->error, "the chunk is cut"));
        log->ops->reader_close(reader);
        log->ops->close(log);
    }
    for (size_t i = 16; i < size; i++) {
        memcpy(good, whole, size);
        good[i] = (char)(good[i] ^ 0xff);
        overwrite(key, 17, good, size);
        log = open_log();
        struct pipe_record constant = {0}, *records;
        uint32_t count;
        struct pipe_log_reader *reader = log->ops->reader(log, 0, 0, 0, &constant);
        (void)log->ops->read(reader, 10, INT64_MAX, &records, &count);
        log->ops->reader_close(reader);
        log->ops->close(log);
    }
}

/* A write-ahead log that ends in the middle of a commit loses that commit only. */
static void test_torn_tail(void **state)
{
    (void)state;
    char path[512], newest[300] = "";
    struct pipe_log *log = open_log();
    uint32_t topic = topic_of(log, "t", 1);
    fill(log, topic, 0, 0, 10);
    assert_int_equal(log->ops->commit(log), PIPE_LOG_COMMITTED);
    fill(log, topic, 0, 10, 20);
    assert_int_equal(log->ops->commit(log), PIPE_LOG_COMMITTED);
    log->ops->close(log);
    snprintf(path, sizeof path, "%s/log", dir);
    DIR *files = opendir(path);
    assert_non_null(files);
    for (struct dirent *file = readdir(files); file != NULL; file = readdir(files)) {
        if (strstr(file->d_name, ".log") != NULL && strcmp(file->d_name, newest) > 0)
            snprintf(newest, sizeof newest, "%s", file->d_name);
    }
    closedir(files);
    snprintf(path, sizeof path, "%s/log/%s", dir, newest);
    struct stat about;
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(truncate(path, about.st_size - 5), 0);
    log = open_log();
    assert_int_equal(log->ops->end(log, topic_of(log, "t", 1), 0), 10);
    assert_int_equal(read_all(log, 0, 0, 0, 1000), 10);
    log->ops->close(log);
}

static bool collect(void *context, const char *name, struct pipe_str value)
{
    char *text = context;
    snprintf(text + strlen(text), 200 - strlen(text), "%s=%.*s ", name, (int)value.size,
             value.data);
    return true;
}

static void test_list_and_read_only(void **state)
{
    (void)state;
    char text[200] = "", error[512];
    assert_null(pipe_log_embedded_open(dir, true, error, sizeof error));
    struct pipe_log *log = open_log();
    assert_true(log->ops->put(log, "task/2", "b", 1) && log->ops->put(log, "task/1", "a", 1) &&
                log->ops->put(log, "taskx", "c", 1));
    assert_int_equal(log->ops->commit(log), PIPE_LOG_COMMITTED);
    struct pipe_log *other = pipe_log_embedded_open(dir, true, error, sizeof error);
    assert_non_null(other); /* while it is open for writing */
    assert_string_equal(other->incarnation, log->incarnation);
    assert_true(other->ops->list(other, "task/", collect, text));
    assert_string_equal(text, "task/1=a task/2=b ");
    other->ops->close(other);
    log->ops->close(log);
}

/* RocksDB's own messages: one that a full disk does not take would end the program. */
static void test_no_messages(void **state)
{
    char path[128];
    (void)state;
    struct pipe_log *log = open_log();
    fill(log, topic_of(log, "t", 1), 0, 0, 10);
    assert_int_equal(log->ops->commit(log), PIPE_LOG_COMMITTED);
    log->ops->close(log);
    snprintf(path, sizeof path, "%s/log/CURRENT", dir);
    assert_int_equal(access(path, F_OK), 0);
    snprintf(path, sizeof path, "%s/log/LOG", dir);
    assert_int_not_equal(access(path, F_OK), 0);
}

static void test_advice(void **state)
{
    (void)state;
    assert_string_equal(log_advice(NULL, "; d"), "");
    assert_string_equal(log_advice("IO error: lock", "; d"), "");
    assert_string_equal(log_advice("Corruption: CURRENT file corrupted", "; d"), "; d");
    assert_string_equal(log_advice("No such file or directory: l/MANIFEST-000005", "; d"), "; d");
    assert_non_null(strstr(log_advice("No space left on device: x", ""), "make room"));
    assert_non_null(strstr(log_advice("pwrite x: File too large", ""), "ulimit -f"));
    assert_non_null(strstr(log_advice("x: Too many open files", ""), "ulimit -n"));
}

int main(int argc, char **argv)
{
    if (argc == 3)
        return write_and_die(argv[1], atoll(argv[2]));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_records, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_nulls_and_empty, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_big, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_abort_and_metadata, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_partition_counts, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_killed, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_shared, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_recent, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_recent_shared, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_malformed_references, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_malformed_chunks, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_torn_tail, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_list_and_read_only, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_no_messages, make_dir, remove_dir),
        cmocka_unit_test(test_advice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
