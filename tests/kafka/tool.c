// kafka-tool: moves records between Kafka and JSON lines, for tests. Topics, offsets and
// transactions are looked at and changed with admin.py, which needs no client library.
//
//   kafka-tool produce --topic T [--txn ID [--end commit|abort|open]] <LINES
//   kafka-tool dump    --topic T [--isolation LEVEL] [--partition P] [--from N|end]
//   kafka-tool follow  --topic T [as dump]         until SIGTERM
//   kafka-tool join    --topic T --group G         until SIGTERM
//   always: --bootstrap LIST [-X key=value of librdkafka]
//
// A line is {"partition":P,"key":K,"value":V,"headers":[[NAME,V]…],"timestamp":MS}; K and V are
// base64 or null. produce takes lines without partition (the key's hash decides), key, headers and
// timestamp too, and prints {"acked":N} when all are acknowledged. dump and follow print "offset"
// and "seen" (wall clock, microseconds) besides; dump ends at what was the end when it began (for
// read_committed, the default, the last stable offset). Exit: 0 done, 1 failed, 2 usage.

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <librdkafka/rdkafka.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TIMEOUT_MS = 60000, PARTITIONS_MAX = 1024, RETRY_MS = 100 };

#include "calls.h"

struct options {
    const char *topic, *group, *transactional_id, *end;
    int32_t partition; // RD_KAFKA_PARTITION_UA: all
    int64_t from;      // offset, or RD_KAFKA_OFFSET_BEGINNING
    bool follow;
    rd_kafka_conf_t *conf;
};

static volatile sig_atomic_t stopped;
static int64_t acked;

static void on_signal(int number)
{
    (void)number;
    stopped = 1;
}

static void die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("kafka-tool: ", stderr);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(1);
}

// The defaults, which -X overrides.
static rd_kafka_conf_t *default_conf(rd_kafka_type_t type)
{
    static const char *const PRODUCER[][2] = {
        {"enable.idempotence", "true"},      {"linger.ms", "2"}, {"retry.backoff.ms", "20"},
        {"transaction.timeout.ms", "30000"}, {NULL, NULL},
    };
    static const char *const CONSUMER[][2] = {
        {"enable.auto.commit", "false"},
        {"enable.partition.eof", "true"},
        {"isolation.level", "read_committed"},
        {"auto.offset.reset", "error"},
        {"fetch.wait.max.ms", "10"},
        {"fetch.error.backoff.ms", "50"},
        {NULL, NULL},
    };
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    set(conf, "client.id", "kafka-tool");
    set(conf, "reconnect.backoff.max.ms", "500");
    for (const char *const(*pair)[2] = type == RD_KAFKA_PRODUCER ? PRODUCER : CONSUMER; (*pair)[0];
         pair++)
        set(conf, (*pair)[0], (*pair)[1]);
    return conf;
}

static rd_kafka_t *client(rd_kafka_type_t type, struct options *options)
{
    char error[256];
    rd_kafka_t *rk = rd_kafka_new(type, options->conf, error, sizeof(error));
    if (!rk)
        die("%s", error);
    return rk;
}

// base64

static const char ALPHABET[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void print_base64(const uint8_t *data, size_t size)
{
    if (!data) {
        fputs("null", stdout);
        return;
    }
    putchar_unlocked('"');
    for (size_t i = 0; i < size; i += 3) {
        size_t left = size - i;
        uint32_t bits = (uint32_t)data[i] << 16 | (left > 1 ? (uint32_t)data[i + 1] << 8 : 0) |
                        (left > 2 ? data[i + 2] : 0);
        putchar_unlocked(ALPHABET[bits >> 18]);
        putchar_unlocked(ALPHABET[bits >> 12 & 63]);
        putchar_unlocked(left > 1 ? ALPHABET[bits >> 6 & 63] : '=');
        putchar_unlocked(left > 2 ? ALPHABET[bits & 63] : '=');
    }
    putchar_unlocked('"');
}

struct bytes {
    void *data; // owned; NULL: null
    size_t size;
};

// The bytes of a JSON string of base64, or of null. The caller frees.
static struct bytes from_base64(json_t *value, long line)
{
    struct bytes bytes = {NULL, 0};
    if (!value || json_is_null(value))
        return bytes;
    if (!json_is_string(value))
        die("line %ld: a value that is neither base64 nor null", line);
    const char *text = json_string_value(value);
    size_t length = json_string_length(value);
    while (length > 0 && text[length - 1] == '=')
        length--;
    uint8_t *out = malloc(length * 3 / 4 + 1);
    if (!out)
        die("out of memory");
    uint32_t bits = 0;
    for (size_t i = 0; i < length; i++) {
        const char *found = strchr(ALPHABET, text[i]);
        if (!found || !*found)
            die("line %ld: '%c' is not of base64", line, text[i]);
        bits = bits << 6 | (uint32_t)(found - ALPHABET);
        if (i % 4 != 0)
            out[bytes.size++] = (uint8_t)(bits >> (6 - 2 * (i % 4)));
    }
    bytes.data = out;
    return bytes;
}

// produce

static void on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *message, void *opaque)
{
    (void)rk, (void)opaque;
    if (message->err)
        die("a record for partition %" PRId32 " was not delivered: %s", message->partition,
            rd_kafka_err2str(message->err));
    acked++;
}

static rd_kafka_headers_t *headers_of(json_t *list, long line)
{
    if (json_array_size(list) == 0)
        return NULL;
    rd_kafka_headers_t *headers = rd_kafka_headers_new(json_array_size(list));
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *pair = json_array_get(list, i);
        const char *name = json_string_value(json_array_get(pair, 0));
        if (!name || json_array_size(pair) != 2)
            die("line %ld: a header that is no pair of name and value", line);
        struct bytes value = from_base64(json_array_get(pair, 1), line);
        check_code("header", rd_kafka_header_add(headers, name, -1, value.data,
                                                 value.data ? (ssize_t)value.size : 0));
        free(value.data);
    }
    return headers;
}

static void produce_line(rd_kafka_t *rk, const struct options *options, json_t *record, long line)
{
    struct bytes key = from_base64(json_object_get(record, "key"), line);
    struct bytes value = from_base64(json_object_get(record, "value"), line);
    json_t *given = json_object_get(record, "partition");
    int32_t partition = given ? (int32_t)json_integer_value(given) : RD_KAFKA_PARTITION_UA;
    int64_t timestamp = json_integer_value(json_object_get(record, "timestamp"));
    for (;;) {
        rd_kafka_headers_t *headers = headers_of(json_object_get(record, "headers"), line);
        rd_kafka_resp_err_t code = rd_kafka_producev(
            rk, RD_KAFKA_V_TOPIC(options->topic), RD_KAFKA_V_PARTITION(partition),
            RD_KAFKA_V_KEY(key.data, key.size), RD_KAFKA_V_VALUE(value.data, value.size),
            RD_KAFKA_V_TIMESTAMP(timestamp), RD_KAFKA_V_HEADERS(headers),
            RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END);
        if (!code)
            break;
        if (headers)
            rd_kafka_headers_destroy(headers);
        if (code != RD_KAFKA_RESP_ERR__QUEUE_FULL)
            die("line %ld: %s", line, rd_kafka_err2str(code));
        rd_kafka_poll(rk, RETRY_MS);
    }
    rd_kafka_poll(rk, 0);
    free(key.data);
    free(value.data);
}

// The transaction's outcome. "open" leaves it to its timeout, as a producer that vanished does.
static void end_transaction(rd_kafka_t *rk, const char *end)
{
    if (strcmp(end, "commit") == 0) {
        check("commit", rd_kafka_commit_transaction(rk, TIMEOUT_MS));
    } else if (strcmp(end, "abort") == 0) {
        check("abort", rd_kafka_abort_transaction(rk, TIMEOUT_MS));
    } else if (strcmp(end, "open") == 0) {
        printf("{\"acked\":%" PRId64 "}\n", acked);
        fflush(stdout);
        _exit(0); // closing the producer would abort
    } else {
        die("--end is commit, abort or open");
    }
}

static int produce(struct options *options)
{
    rd_kafka_conf_set_dr_msg_cb(options->conf, on_delivery);
    if (options->transactional_id)
        set(options->conf, "transactional.id", options->transactional_id);
    rd_kafka_t *rk = client(RD_KAFKA_PRODUCER, options);
    if (options->transactional_id) {
        check("init_transactions", rd_kafka_init_transactions(rk, TIMEOUT_MS));
        check("begin_transaction", rd_kafka_begin_transaction(rk));
    }
    char *text = NULL;
    size_t capacity = 0;
    long line = 0;
    for (ssize_t length; (length = getline(&text, &capacity, stdin)) > 0;) {
        line++;
        json_error_t error;
        json_t *record = json_loadb(text, (size_t)length, 0, &error);
        if (!json_is_object(record))
            die("line %ld: no JSON object: %s", line, error.text);
        produce_line(rk, options, record, line);
        json_decref(record);
    }
    free(text);
    check_code("flush", rd_kafka_flush(rk, TIMEOUT_MS));
    if (options->transactional_id)
        end_transaction(rk, options->end);
    if (acked != line)
        die("%ld lines, %" PRId64 " acknowledged", line, acked);
    printf("{\"acked\":%" PRId64 "}\n", acked);
    rd_kafka_destroy(rk);
    return 0;
}

// dump and follow

static void print_header(const char *name, const void *value, size_t size, bool first)
{
    json_t *text = json_string(name);
    char *quoted = text ? json_dumps(text, JSON_ENCODE_ANY) : NULL;
    if (!quoted)
        die("a header's name is not UTF-8");
    printf("%s[%s,", first ? "" : ",", quoted);
    print_base64(value, size);
    putchar_unlocked(']');
    free(quoted);
    json_decref(text);
}

static void print_record(const rd_kafka_message_t *message)
{
    rd_kafka_timestamp_type_t type;
    int64_t timestamp = rd_kafka_message_timestamp(message, &type);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    printf("{\"partition\":%" PRId32 ",\"offset\":%" PRId64 ",\"key\":", message->partition,
           message->offset);
    print_base64(message->key, message->key_len);
    fputs(",\"value\":", stdout);
    print_base64(message->payload, message->len);
    fputs(",\"headers\":[", stdout);
    rd_kafka_headers_t *headers;
    if (!rd_kafka_message_headers(message, &headers)) {
        const char *name;
        const void *value;
        size_t size;
        for (size_t i = 0; !rd_kafka_header_get_all(headers, i, &name, &value, &size); i++)
            print_header(name, value, size, i == 0);
    }
    printf("],\"timestamp\":%" PRId64 ",\"timestamp_type\":\"%s\",\"seen\":%" PRId64 "}\n",
           timestamp, type == RD_KAFKA_TIMESTAMP_LOG_APPEND_TIME ? "append" : "create",
           (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000);
}

// Number of partitions; ends if the topic does not exist.
static int32_t partition_count(rd_kafka_t *rk, const char *topic)
{
    rd_kafka_topic_t *handle = rd_kafka_topic_new(rk, topic, NULL);
    const struct rd_kafka_metadata *metadata;
    check_code("metadata", rd_kafka_metadata(rk, 0, handle, &metadata, TIMEOUT_MS));
    check_code(topic, metadata->topics[0].err);
    int32_t count = metadata->topics[0].partition_cnt;
    rd_kafka_metadata_destroy(metadata);
    rd_kafka_topic_destroy(handle);
    if (count > PARTITIONS_MAX)
        die("%s has %" PRId32 " partitions, at most %d", topic, count, PARTITIONS_MAX);
    return count;
}

// Assigns the wanted partitions. ends[p]: the offset at which p is done, -1 if not read.
// Returns how many there are to be read.
static int assign(rd_kafka_t *rk, const struct options *options, int64_t *ends)
{
    int32_t count = partition_count(rk, options->topic);
    if (options->partition >= count)
        die("%s has %" PRId32 " partitions, not %" PRId32, options->topic, count,
            options->partition + 1);
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(count);
    for (int32_t p = 0; p < count; p++) {
        int64_t low;
        ends[p] = -1;
        if (options->partition != RD_KAFKA_PARTITION_UA && options->partition != p)
            continue;
        query_offsets(rk, options->topic, p, &low, &ends[p]);
        int64_t from = options->from >= 0                     ? options->from
                       : options->from == RD_KAFKA_OFFSET_END ? ends[p]
                                                              : low;
        if (!options->follow && from >= ends[p]) {
            ends[p] = -1;
            continue;
        }
        rd_kafka_topic_partition_list_add(list, options->topic, p)->offset = from;
    }
    int assigned = list->cnt;
    check_code("assign", rd_kafka_assign(rk, list));
    rd_kafka_topic_partition_list_destroy(list);
    return assigned;
}

// One message or event; returns whether its partition is done: an end-of-partition event tells the
// position, which has passed transaction markers and aborted records.
static bool take(const rd_kafka_message_t *message, int64_t *ends)
{
    int64_t position = message->offset;
    if (message->err && message->err != RD_KAFKA_RESP_ERR__PARTITION_EOF)
        die("partition %" PRId32 ": %s", message->partition, rd_kafka_message_errstr(message));
    if (!message->err)
        position++;
    int64_t *end = &ends[message->partition];
    if (*end < 0) // read to its end before: this is later than it
        return false;
    if (!message->err)
        print_record(message);
    if (position < *end)
        return false;
    *end = -1;
    return true;
}

static int dump(struct options *options)
{
    set(options->conf, "group.id", "kafka-tool");
    rd_kafka_t *rk = client(RD_KAFKA_CONSUMER, options);
    rd_kafka_poll_set_consumer(rk);
    int64_t ends[PARTITIONS_MAX];
    int left = assign(rk, options, ends);
    if (options->follow)
        for (size_t p = 0; p < PARTITIONS_MAX; p++)
            ends[p] = INT64_MAX;
    while (left > 0 && !stopped) {
        rd_kafka_message_t *message = rd_kafka_consumer_poll(rk, 100);
        if (!message)
            continue;
        left -= take(message, ends);
        if (options->follow && message->err)
            fflush(stdout);
        rd_kafka_message_destroy(message);
    }
    rd_kafka_consumer_close(rk);
    rd_kafka_destroy(rk);
    if (fflush(stdout) != 0 || ferror(stdout))
        die("standard output: %s", strerror(errno));
    return 0;
}

// join: a member that takes its share of a group's partitions and commits nothing.

static void on_rebalance(rd_kafka_t *rk, rd_kafka_resp_err_t code,
                         rd_kafka_topic_partition_list_t *list, void *opaque)
{
    (void)opaque;
    bool gives = code == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS;
    bool cooperative = strcmp(rd_kafka_rebalance_protocol(rk), "COOPERATIVE") == 0;
    printf("{\"%s\":[", gives ? "assigned" : "revoked");
    for (int i = 0; i < list->cnt; i++)
        printf("%s%" PRId32, i ? "," : "", list->elems[i].partition);
    puts("]}");
    fflush(stdout);
    if (cooperative)
        check("assign", gives ? rd_kafka_incremental_assign(rk, list)
                              : rd_kafka_incremental_unassign(rk, list));
    else
        check_code("assign", rd_kafka_assign(rk, gives ? list : NULL));
    rd_kafka_pause_partitions(rk, list);
}

static int join(struct options *options)
{
    if (!options->group)
        die("join needs --group");
    set(options->conf, "group.id", options->group);
    rd_kafka_conf_set_rebalance_cb(options->conf, on_rebalance);
    rd_kafka_t *rk = client(RD_KAFKA_CONSUMER, options);
    rd_kafka_poll_set_consumer(rk);
    rd_kafka_topic_partition_list_t *topics = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(topics, options->topic, RD_KAFKA_PARTITION_UA);
    check_code("subscribe", rd_kafka_subscribe(rk, topics));
    rd_kafka_topic_partition_list_destroy(topics);
    while (!stopped) {
        rd_kafka_message_t *message = rd_kafka_consumer_poll(rk, 100);
        if (message)
            rd_kafka_message_destroy(message);
    }
    rd_kafka_consumer_close(rk);
    rd_kafka_destroy(rk);
    return 0;
}

static int usage(void)
{
    fputs("usage: kafka-tool produce|dump|follow|join --bootstrap LIST --topic T [OPTION …]\n",
          stderr);
    return 2;
}

static void property(struct options *options, char *argument)
{
    char *equals = strchr(argument, '=');
    if (!equals)
        die("-X takes key=value, not %s", argument);
    *equals = 0;
    set(options->conf, argument, equals + 1);
}

static bool parse(struct options *options, int argc, char **argv)
{
    static const struct option NAMES[] = {
        {"bootstrap", 1, NULL, 'b'}, {"topic", 1, NULL, 't'},     {"partition", 1, NULL, 'p'},
        {"from", 1, NULL, 'f'},      {"isolation", 1, NULL, 'i'}, {"group", 1, NULL, 'g'},
        {"txn", 1, NULL, 'x'},       {"end", 1, NULL, 'e'},       {NULL, 0, NULL, 0},
    };
    for (int found; (found = getopt_long(argc, argv, "X:", NAMES, NULL)) != -1;) {
        switch (found) {
        case 'b':
            set(options->conf, "bootstrap.servers", optarg);
            break;
        case 'i':
            set(options->conf, "isolation.level", optarg);
            break;
        case 't':
            options->topic = optarg;
            break;
        case 'g':
            options->group = optarg;
            break;
        case 'x':
            options->transactional_id = optarg;
            break;
        case 'e':
            options->end = optarg;
            break;
        case 'p':
            options->partition = atoi(optarg);
            break;
        case 'f':
            options->from = strcmp(optarg, "end") == 0 ? RD_KAFKA_OFFSET_END : atoll(optarg);
            break;
        case 'X':
            property(options, optarg);
            break;
        default:
            return false;
        }
    }
    return options->topic && optind == argc;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        rd_kafka_type_t type;
        int (*run)(struct options *options);
    } COMMANDS[] = {
        {"produce", RD_KAFKA_PRODUCER, produce},
        {"dump", RD_KAFKA_CONSUMER, dump},
        {"follow", RD_KAFKA_CONSUMER, dump},
        {"join", RD_KAFKA_CONSUMER, join},
    };
    struct options options = {
        .partition = RD_KAFKA_PARTITION_UA, .from = RD_KAFKA_OFFSET_BEGINNING, .end = "commit"};
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    for (size_t i = 0; argc > 1 && i < sizeof(COMMANDS) / sizeof(COMMANDS[0]); i++) {
        if (strcmp(argv[1], COMMANDS[i].name) != 0)
            continue;
        options.conf = default_conf(COMMANDS[i].type);
        options.follow = strcmp(argv[1], "follow") == 0;
        return parse(&options, argc - 1, argv + 1) ? COMMANDS[i].run(&options) : usage();
    }
    return usage();
}
