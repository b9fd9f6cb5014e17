/* The log on Kafka against librdkafka's mock cluster: errors of brokers, and what the log makes of
 * them. The mock keeps no transactions: that they are atomic is shown by tests/kafka. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include "../../runtime/engine.h"
#include "../../runtime/kafka_internal.h"

enum { FETCH = 1, ADD_OFFSETS = 25, END_TXN = 26, TXN_OFFSET_COMMIT = 28, INIT_PRODUCER = 22 };
enum { PRODUCE = 0, OFFSET_FETCH = 9, ADD_PARTITIONS = 24 };

/* Newer mock clusters have a controller only when told, and asking for topic ids needs one. */
void rd_kafka_mock_set_controller_id(rd_kafka_mock_cluster_t *of, int32_t broker)
    __attribute__((weak));

static rd_kafka_t *host;
static rd_kafka_mock_cluster_t *cluster;
static struct pipe_log *theirs;
static uint32_t source, target;

/* ---- A log on a mock cluster ---- */

static struct pipe_log *open_with(const struct pipe_kafka_property *properties, uint32_t count,
                                  char *error, size_t error_bytes)
{
    struct pipe_kafka_config config = {.pipeline = "p",
                                       .plan_hash = "plan-1",
                                       .instance = "one",
                                       .properties = properties,
                                       .property_count = count,
                                       .transaction_timeout_ms = 5000};
    return pipe_log_kafka_open(&config, error, error_bytes);
}

static int start(void **state)
{
    char error[512];
    (void)state;
    pipe_message_level(PIPE_ERROR);
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "log_level", "0", NULL, 0);
    host = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error, sizeof error);
    cluster = rd_kafka_mock_cluster_new(host, 1);
    if (rd_kafka_mock_set_controller_id != NULL)
        rd_kafka_mock_set_controller_id(cluster, 1);
    rd_kafka_mock_topic_create(cluster, "in", 1, 1);
    rd_kafka_mock_topic_create(cluster, "out", 1, 1);
    struct pipe_kafka_property properties[] = {
        {"bootstrap.servers", rd_kafka_mock_cluster_bootstraps(cluster), "test"},
        {"check.crcs", "false", "test"}}; /* newer mock clusters make none */
    theirs = open_with(properties, 2, error, sizeof error);
    return theirs == NULL;
}

static int stop(void **state)
{
    (void)state;
    theirs->ops->close(theirs);
    rd_kafka_mock_cluster_destroy(cluster);
    rd_kafka_destroy(host);
    return 0;
}

static void make_ready(void)
{
    struct pipe_log_event event = {PIPE_LOG_NOTHING, NULL, 0};
    enum pipe_log_state state;
    do {
        state = theirs->ops->ready(theirs);
        if (state == PIPE_LOG_WAIT)
            assert_true(theirs->ops->poll(theirs, 10, &event));
    } while (state == PIPE_LOG_WAIT);
    assert_string_equal(theirs->error, "");
    assert_int_equal(state, PIPE_LOG_RECORDS);
}

static void get_position(struct pipe_log_committed *committed)
{
    struct pipe_log_position of = {.name = "task", .at = {source, 0}};
    assert_true(theirs->ops->get_position(theirs, &of, committed));
}

static void join(void)
{
    struct pipe_buf value = {0};
    struct pipe_log_committed committed = {.value = &value};
    struct pipe_log_event event = {PIPE_LOG_NOTHING, NULL, 0};
    assert_true(theirs->ops->topic(theirs, "in", 1, &source));
    assert_true(theirs->ops->topic(theirs, "out", 1, &target));
    assert_true(theirs->ops->join(theirs, &source, 1));
    assert_int_equal(theirs->ops->ready(theirs), PIPE_LOG_WAIT); /* not before it is a member */
    while (event.kind == PIPE_LOG_NOTHING)
        assert_true(theirs->ops->poll(theirs, 100, &event));
    assert_int_equal(event.kind, PIPE_LOG_ASSIGNED);
    assert_int_equal(event.count, 1);
    get_position(&committed);
    assert_false(committed.found);
    pipe_buf_free(&value);
    make_ready();
}

static int start_joined(void **state)
{
    if (start(state) != 0)
        return -1;
    join();
    return 0;
}

static enum pipe_log_outcome commit_one(void)
{
    struct pipe_log_position position = {
        .name = "task", .at = {source, 0}, .offset = 1, .value = pipe_str_of("v", 1)};
    assert_true(theirs->ops->append(theirs, target, 0, engine_wall_ms(), pipe_str_of("k", 1),
                                    pipe_str_of("v", 1)));
    assert_true(theirs->ops->put_position(theirs, &position));
    return theirs->ops->commit(theirs);
}

static uint64_t replaced(void)
{
    return kafka_of(theirs)->writer.replaced;
}

/* ---- Outcomes ---- */

static void test_commit(void **state)
{
    (void)state;
    assert_int_equal(commit_one(), PIPE_LOG_COMMITTED);
    assert_int_equal(commit_one(), PIPE_LOG_COMMITTED);
    assert_int_equal(theirs->commits, 2);
    assert_int_equal(replaced(), 0);
    assert_int_equal(theirs->ops->commit(theirs), PIPE_LOG_COMMITTED); /* nothing */
    assert_int_equal(theirs->commits, 2);
}

/* What passes by itself is tried again within the commit, by the same producer. */
static void test_retriable(void **state)
{
    static const int16_t apis[] = {ADD_PARTITIONS, ADD_OFFSETS, TXN_OFFSET_COMMIT, END_TXN};
    uint64_t before = replaced();
    (void)state;
    for (size_t i = 0; i < sizeof apis / sizeof apis[0]; i++) {
        rd_kafka_mock_push_request_errors(cluster, apis[i], 2,
                                          RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS,
                                          RD_KAFKA_RESP_ERR_CONCURRENT_TRANSACTIONS);
        assert_int_equal(commit_one(), PIPE_LOG_COMMITTED);
    }
    assert_int_equal(replaced(), before);
}

/* A connection that breaks: committed, but the request may still be on its way. */
static void test_stray(void **state)
{
    static const int16_t apis[] = {PRODUCE, ADD_OFFSETS, TXN_OFFSET_COMMIT, END_TXN};
    (void)state;
    for (size_t i = 0; i < sizeof apis / sizeof apis[0]; i++) {
        uint64_t before = replaced();
        rd_kafka_mock_push_request_errors(cluster, apis[i], 1, RD_KAFKA_RESP_ERR__TRANSPORT);
        assert_int_equal(commit_one(), PIPE_LOG_COMMITTED);
        assert_true(replaced() > before);
        assert_int_equal(commit_one(), PIPE_LOG_COMMITTED);
    }
}

/* The transaction has to be aborted; the same producer goes on. */
static void test_abortable(void **state)
{
    static const rd_kafka_resp_err_t codes[] = {RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION,
                                                RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID,
                                                RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID};
    uint64_t before = replaced();
    (void)state;
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        rd_kafka_mock_push_request_errors(cluster, TXN_OFFSET_COMMIT, 1, codes[i]);
        assert_int_equal(commit_one(), PIPE_LOG_ABORTED);
        make_ready();
        assert_int_equal(commit_one(), PIPE_LOG_COMMITTED);
    }
    assert_int_equal(replaced(), before);
}

/* The producer is of no use any more: another one. It was fenced, but not by another instance: the
 * group still answers this one. */
static void test_fatal(void **state)
{
    static const rd_kafka_resp_err_t codes[] = {RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH,
                                                RD_KAFKA_RESP_ERR_INVALID_TXN_STATE,
                                                RD_KAFKA_RESP_ERR_PRODUCER_FENCED};
    (void)state;
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        uint64_t before = replaced();
        rd_kafka_mock_push_request_errors(cluster, END_TXN, 1, codes[i]);
        assert_int_equal(commit_one(), PIPE_LOG_ABORTED);
        make_ready();
        assert_true(replaced() > before);
        assert_int_equal(commit_one(), PIPE_LOG_COMMITTED);
    }
}

/* A producer id that the coordinator has forgotten (idle for a week). */
static void test_expired_id(void **state)
{
    (void)state;
    rd_kafka_mock_push_request_errors(cluster, ADD_OFFSETS, 1,
                                      RD_KAFKA_RESP_ERR_INVALID_PRODUCER_ID_MAPPING);
    assert_int_equal(commit_one(), PIPE_LOG_ABORTED);
    make_ready();
    assert_int_equal(commit_one(), PIPE_LOG_COMMITTED);
}

/* What would be refused again stops, and says where. */
static void test_refused(void **state)
{
    (void)state;
    join();
    rd_kafka_mock_push_request_errors(cluster, PRODUCE, 1, RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE);
    assert_int_equal(commit_one(), PIPE_LOG_BROKEN);
    assert_non_null(strstr(theirs->error, "out, partition 0"));
    assert_int_equal(theirs->ops->ready(theirs), PIPE_LOG_FAILED);
}

static void test_not_allowed(void **state)
{
    (void)state;
    join();
    rd_kafka_mock_push_request_errors(cluster, ADD_OFFSETS, 1,
                                      RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED);
    assert_int_equal(commit_one(), PIPE_LOG_BROKEN);
    assert_non_null(strstr(theirs->error, "could not send the positions"));
}

static void test_not_allowed_to_write(void **state)
{
    struct pipe_log_event event;
    enum pipe_log_state ready;
    (void)state;
    assert_true(theirs->ops->topic(theirs, "in", 1, &source));
    assert_true(theirs->ops->join(theirs, &source, 1));
    rd_kafka_mock_push_request_errors(cluster, INIT_PRODUCER, 1,
                                      RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
    do {
        assert_true(theirs->ops->poll(theirs, 10, &event));
        ready = theirs->ops->ready(theirs);
    } while (ready == PIPE_LOG_WAIT);
    assert_int_equal(ready, PIPE_LOG_FAILED);
    assert_non_null(strstr(theirs->error, "could not begin as a producer"));
}

/* The broker goes away in the middle of it all, and comes back. */
static void test_broker_away(void **state)
{
    (void)state;
    assert_true(
        theirs->ops->append(theirs, target, 0, 0, pipe_str_of("k", 1), pipe_str_of("v", 1)));
    rd_kafka_mock_broker_set_down(cluster, 1);
    assert_int_equal(theirs->ops->commit(theirs), PIPE_LOG_ABORTED);
    assert_int_equal(theirs->ops->ready(theirs), PIPE_LOG_WAIT);
    rd_kafka_mock_broker_set_up(cluster, 1);
    make_ready();
    assert_int_equal(commit_one(), PIPE_LOG_COMMITTED);
}

/* ---- Positions ---- */

static void test_unstable(void **state)
{
    struct pipe_buf value = {0};
    struct pipe_log_committed committed = {.value = &value};
    (void)state;
    rd_kafka_mock_push_request_errors(
        cluster, OFFSET_FETCH, 3, RD_KAFKA_RESP_ERR_UNSTABLE_OFFSET_COMMIT,
        RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS, RD_KAFKA_RESP_ERR_UNSTABLE_OFFSET_COMMIT);
    get_position(&committed);
    assert_false(committed.found);
    pipe_buf_free(&value);
}

static void test_metadata(void **state)
{
    uint8_t id[KAFKA_ID_BYTES] = {1, 2, 3};
    struct pipe_buf text = {0}, value = {0};
    struct kafka_metadata read;
    (void)state;
    kafka_metadata_write(&text, "0123abcd", id, 123456789012, pipe_str_of("\0\xff!", 3));
    assert_int_equal(strlen((char *)text.data), text.size - 1);
    assert_true(kafka_metadata_read(pipe_str_of(text.data, text.size - 1), &read, &value));
    assert_string_equal(read.plan_hash, "0123abcd");
    assert_memory_equal(read.id, id, sizeof id);
    assert_int_equal(read.first, 123456789012);
    assert_int_equal(value.size, 3);
    assert_memory_equal(value.data, "\0\xff!", 3);
    for (size_t size = 0; size < text.size - 1 - 4; size++) /* the last block is the value's */
        assert_false(kafka_metadata_read(pipe_str_of(text.data, size), &read, &value));
    pipe_buf_free(&text);
    pipe_buf_free(&value);
}

/* As long as a log allows: it fits into what a broker takes. */
static void test_metadata_size(void **state)
{
    uint8_t id[KAFKA_ID_BYTES] = {0};
    struct pipe_buf text = {0};
    char hash[65];
    (void)state;
    memset(hash, 'f', 64);
    hash[64] = '\0';
    char *value = pipe_calloc(1, theirs->metadata_bytes);
    kafka_metadata_write(&text, hash, id, INT64_MAX, pipe_str_of(value, theirs->metadata_bytes));
    assert_true(text.size - 1 <= KAFKA_METADATA_BYTES);
    free(value);
    pipe_buf_free(&text);
}

/* ---- Reading ---- */

static void test_read(void **state)
{
    struct pipe_record constant = {0}, *records;
    int64_t low, begin, last;
    uint32_t count, seen = 0;
    enum pipe_log_state what = PIPE_LOG_WAIT;
    (void)state;
    assert_true(kafka_bounds(kafka_of(theirs), target, 0, 10000, &low, &begin));
    for (int i = 0; i < 5; i++)
        assert_int_equal(commit_one(), PIPE_LOG_COMMITTED);
    rd_kafka_mock_push_request_errors(cluster, FETCH, 3, RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION,
                                      RD_KAFKA_RESP_ERR__TRANSPORT,
                                      RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
    last = begin;
    struct pipe_log_reader *reader = theirs->ops->reader(theirs, target, 0, begin + 1, &constant);
    while (what != PIPE_LOG_END) {
        what = theirs->ops->read(reader, 2, INT64_MAX, &records, &count);
        assert_true(count <= 2);
        for (uint32_t i = 0; i < count; i++, seen++) {
            assert_true(records[i].offset > last); /* newer mock clusters have markers */
            last = records[i].offset;
        }
        if (what == PIPE_LOG_FAILED)
            fail_msg("%s", theirs->error);
    }
    assert_int_equal(seen, 4);
    assert_true(theirs->ops->position(reader) > last);
    assert_int_equal(theirs->ops->end(theirs, target, 0), theirs->ops->position(reader));
    struct pipe_log_reader *second = theirs->ops->reader(theirs, target, 0, 0, &constant);
    assert_int_equal(theirs->ops->read(second, 2, INT64_MAX, &records, &count), PIPE_LOG_FAILED);
    assert_non_null(strstr(theirs->error, "has a reader already"));
    theirs->ops->reader_close(second);
    theirs->ops->reader_close(reader);
}

/* ---- Properties ---- */

static void refuse(const char *name, const char *value, const char *part)
{
    char error[512] = "";
    struct pipe_kafka_property properties[] = {{"bootstrap.servers", "127.0.0.1:1", "test"},
                                               {name, value, "--kafka"}};
    struct pipe_log *log = open_with(properties, 2, error, sizeof error);
    if (log != NULL) {
        log->ops->close(log);
        fail_msg("%s was taken", name);
    }
    if (strstr(error, part) == NULL)
        fail_msg("%s", error);
    assert_null(strstr(error, value));
}

static void test_properties(void **state)
{
    char error[512] = "";
    (void)state;
    refuse("no.such.property", "hunter2", "no property 'no.such.property'");
    refuse("linger.ms", "hunter2", "the value of 'linger.ms'");
    refuse("isolation.level", "read_uncommitted", "'isolation.level' is set by the program");
    refuse("transactional.id", "mine-own", "'transactional.id' is set by the program");
    assert_null(open_with(NULL, 0, error, sizeof error));
    assert_non_null(strstr(error, "no brokers are given"));
}

static void test_redact(void **state)
{
    char error[512] = "", clean[64];
    struct pipe_kafka_property properties[] = {{"bootstrap.servers", "127.0.0.1:1", "test"},
                                               {"sasl.password", "open sesame", "--kafka"},
                                               {"ssl.key.password", "open", "--kafka"}};
    (void)state;
    struct pipe_log *log = open_with(properties, 3, error, sizeof error);
    assert_non_null(log);
    struct kafka_common *common = kafka_of(log)->common;
    kafka_redact(common, "said 'open sesame',\nopen", clean, sizeof clean);
    assert_string_equal(clean, "said '***', ***");
    kafka_redact(common, "0123456789", clean, 8);
    assert_string_equal(clean, "0123");
    log->ops->close(log);
}

#define ON_CLUSTER(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
    /* These share a log, which goes on after each; test_read ends it. */
    const struct CMUnitTest going[] = {
        cmocka_unit_test(test_commit),      cmocka_unit_test(test_retriable),
        cmocka_unit_test(test_stray),       cmocka_unit_test(test_abortable),
        cmocka_unit_test(test_fatal),       cmocka_unit_test(test_expired_id),
        cmocka_unit_test(test_broker_away), cmocka_unit_test(test_unstable),
        cmocka_unit_test(test_read),
    };
    const struct CMUnitTest ending[] = {
        ON_CLUSTER(test_refused),
        ON_CLUSTER(test_not_allowed),
        ON_CLUSTER(test_not_allowed_to_write),
        ON_CLUSTER(test_metadata_size),
        cmocka_unit_test(test_metadata),
        cmocka_unit_test(test_properties),
        cmocka_unit_test(test_redact),
    };
    int failed = cmocka_run_group_tests(going, start_joined, stop);
    return failed + cmocka_run_group_tests(ending, NULL, NULL);
}
