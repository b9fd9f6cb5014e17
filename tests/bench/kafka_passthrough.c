// The yardstick of the Kafka figures: the least that a transactional consume → produce loop costs
// on librdkafka. Each batch is one transaction that holds its records, unchanged, and its offsets.
//
//   kafka-passthrough fill    --count N [--size BYTES]       writes N records to --in
//   kafka-passthrough pass    --count N [--commit MS]        moves N records from --in to --out
//   kafka-passthrough latency --rate R --seconds S [--warm S] [--size BYTES] [--commit MS]
//   always: --bootstrap LIST [--in T] [--out T] [--group G] [-X key=value of librdkafka]
//
// Prints one JSON object. pass: CPU is user and system time of the whole process from the first
// record on. latency: three threads write at a rate, pass on, and read the output (read_committed);
// from when a record was due to be written to when it was read, without those of the first --warm
// seconds. A transaction that fails is repeated from the committed offsets, by a new producer if
// the old one is of no more use. Exit: 0 done, 1 failed, 2 usage.

#include <getopt.h>
#include <inttypes.h>
#include <librdkafka/rdkafka.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
    TIMEOUT_MS = 30000,
    BATCH = 1000,          // messages taken from the queue at once
    IN_FLIGHT_MAX = 50000, // messages of one transaction
    PARTITIONS_MAX = 64,
    PROPERTIES_MAX = 32,
    READER_IDLE_MS = 10000,
    RETRY_MS = 100,
};

#include "../kafka/calls.h"

struct options {
    const char *bootstrap, *in, *out, *group;
    const char *properties[PROPERTIES_MAX][2];
    int property_count;
    int64_t count, rate;
    int commit_ms, seconds, warm_seconds;
    size_t size_bytes;
};

static struct options options = {.in = "bench-in",
                                 .out = "bench-out",
                                 .group = "bench",
                                 .count = 1000000,
                                 .rate = 5000,
                                 .commit_ms = 50,
                                 .seconds = 20,
                                 .warm_seconds = 5,
                                 .size_bytes = 300};

static void die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("kafka-passthrough: ", stderr);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    _exit(1);
}

static int64_t now_us(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static double cpu_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

// Clients

static rd_kafka_t *client(rd_kafka_type_t type, rd_kafka_conf_t *conf)
{
    char error[256];
    set(conf, "bootstrap.servers", options.bootstrap);
    set(conf, "socket.nagle.disable", "true");
    set(conf, "reconnect.backoff.ms", "20");
    set(conf, "reconnect.backoff.max.ms", "200");
    set(conf, "topic.metadata.refresh.fast.interval.ms", "50");
    for (int i = 0; i < options.property_count; i++)
        set(conf, options.properties[i][0], options.properties[i][1]);
    rd_kafka_t *rk = rd_kafka_new(type, conf, error, sizeof(error));
    if (!rk)
        die("%s", error);
    return rk;
}

// A failed delivery makes the commit fail, which is where it is handled; the callback is there
// because with one librdkafka ends a transaction without waiting for its timers.
static void on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *message, void *opaque)
{
    (void)rk, (void)message, (void)opaque;
}

static rd_kafka_t *new_producer(const char *transactional_id)
{
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
    set(conf, "enable.idempotence", "true");
    set(conf, "linger.ms", "1");
    set(conf, "retry.backoff.ms", "10");
    set(conf, "queue.buffering.max.messages", "200000");
    if (transactional_id) {
        set(conf, "transactional.id", transactional_id);
        set(conf, "transaction.timeout.ms", "30000");
    }
    rd_kafka_t *rk = client(RD_KAFKA_PRODUCER, conf);
    if (transactional_id)
        check("init_transactions", rd_kafka_init_transactions(rk, TIMEOUT_MS));
    return rk;
}

static rd_kafka_t *new_consumer(const char *group, const char *reset)
{
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    set(conf, "group.id", group);
    set(conf, "enable.auto.commit", "false");
    set(conf, "enable.auto.offset.store", "false");
    set(conf, "isolation.level", "read_committed");
    set(conf, "auto.offset.reset", reset);
    set(conf, "fetch.wait.max.ms", "10");
    set(conf, "fetch.error.backoff.ms", "50");
    rd_kafka_t *rk = client(RD_KAFKA_CONSUMER, conf);
    rd_kafka_poll_set_consumer(rk);
    return rk;
}

static int partition_count(rd_kafka_t *rk, const char *topic)
{
    rd_kafka_topic_t *handle = rd_kafka_topic_new(rk, topic, NULL);
    const struct rd_kafka_metadata *metadata;
    check_code("metadata", rd_kafka_metadata(rk, 0, handle, &metadata, TIMEOUT_MS));
    check_code(topic, metadata->topics[0].err);
    int count = metadata->topics[0].partition_cnt;
    rd_kafka_metadata_destroy(metadata);
    rd_kafka_topic_destroy(handle);
    if (count < 1 || count > PARTITIONS_MAX)
        die("%s has %d partitions, at most %d", topic, count, PARTITIONS_MAX);
    return count;
}

// Writing

// Writes one record; waits while the queue is full.
static void write_record(rd_kafka_t *rk, rd_kafka_topic_t *topic, int partition, char *payload)
{
    while (rd_kafka_produce(topic, partition, RD_KAFKA_MSG_F_COPY, payload, options.size_bytes,
                            NULL, 0, NULL) != 0) {
        check_code("produce", rd_kafka_last_error() == RD_KAFKA_RESP_ERR__QUEUE_FULL
                                  ? RD_KAFKA_RESP_ERR_NO_ERROR
                                  : rd_kafka_last_error());
        rd_kafka_poll(rk, 10);
    }
}

// A payload begins with the time in microseconds at which it was due; the rest is of 64 symbols.
static char *new_payload(void)
{
    char *payload = malloc(options.size_bytes);
    if (!payload)
        die("out of memory");
    uint32_t seed = 1;
    for (size_t i = 0; i < options.size_bytes; i++) {
        seed = seed * 1664525 + 1013904223;
        payload[i] = (char)(' ' + (seed >> 26));
    }
    return payload;
}

static int fill(void)
{
    rd_kafka_t *rk = new_producer(NULL);
    int partitions = partition_count(rk, options.in);
    rd_kafka_topic_t *topic = rd_kafka_topic_new(rk, options.in, NULL);
    char *payload = new_payload();
    for (int64_t i = 0; i < options.count; i++) {
        memcpy(payload, &i, sizeof(i));
        write_record(rk, topic, (int)(i % partitions), payload);
        if (i % BATCH == 0)
            rd_kafka_poll(rk, 0);
    }
    check_code("flush", rd_kafka_flush(rk, TIMEOUT_MS * 4));
    rd_kafka_topic_destroy(topic);
    rd_kafka_destroy(rk);
    free(payload);
    printf("{\"filled\":%" PRId64 "}\n", options.count);
    return 0;
}

// Passing on

struct passer {
    rd_kafka_t *consumer, *producer;
    rd_kafka_queue_t *queue;
    rd_kafka_topic_t *out;
    rd_kafka_message_t **messages; // of this transaction; payloads are lent to the producer
    int message_count;
    int64_t committed, transactions, repeated; // records, transactions, failed transactions
    int64_t started_us;                        // when the first record came
    double started_cpu_seconds;
    atomic_bool stopping;
};

static void open_producer(struct passer *passer)
{
    passer->producer = new_producer("kafka-passthrough");
    passer->out = rd_kafka_topic_new(passer->producer, options.out, NULL);
}

static void close_producer(struct passer *passer)
{
    rd_kafka_topic_destroy(passer->out);
    rd_kafka_destroy(passer->producer);
}

static void open_passer(struct passer *passer)
{
    passer->consumer = new_consumer(options.group, "earliest");
    passer->queue = rd_kafka_queue_get_consumer(passer->consumer);
    passer->messages = calloc(IN_FLIGHT_MAX, sizeof(passer->messages[0]));
    if (!passer->messages)
        die("out of memory");
    rd_kafka_topic_partition_list_t *topics = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(topics, options.in, RD_KAFKA_PARTITION_UA);
    check_code("subscribe", rd_kafka_subscribe(passer->consumer, topics));
    rd_kafka_topic_partition_list_destroy(topics);
    open_producer(passer);
}

static void drop_messages(struct passer *passer)
{
    for (int i = 0; i < passer->message_count; i++)
        rd_kafka_message_destroy(passer->messages[i]);
    passer->message_count = 0;
}

static void close_passer(struct passer *passer)
{
    drop_messages(passer);
    close_producer(passer);
    rd_kafka_queue_destroy(passer->queue);
    rd_kafka_consumer_close(passer->consumer);
    rd_kafka_destroy(passer->consumer);
    free(passer->messages);
}

// Hands the messages from `first` on to the producer, whose queue has room for a transaction. False
// if it does not take all of them: the transaction has failed.
static bool forward(struct passer *passer, int first)
{
    rd_kafka_message_t out[BATCH];
    int count = passer->message_count - first;
    memset(out, 0, sizeof(out[0]) * (size_t)count);
    for (int i = 0; i < count; i++) {
        const rd_kafka_message_t *in = passer->messages[first + i];
        out[i].partition = in->partition;
        out[i].payload = in->payload;
        out[i].len = in->len;
        out[i].key = in->key;
        out[i].key_len = in->key_len;
    }
    return rd_kafka_produce_batch(passer->out, 0, RD_KAFKA_MSG_F_PARTITION, out, count) == count;
}

// Takes what is there, or waits up to timeout_ms for one message. Events of the group are served
// on the way; an error of the consumer that is none of its own to mend ends the program.
static bool receive(struct passer *passer, int timeout_ms)
{
    rd_kafka_message_t *got[BATCH];
    ssize_t count = rd_kafka_consume_batch_queue(passer->queue, 0, got, BATCH);
    if (count <= 0 && timeout_ms > 0)
        count = rd_kafka_consume_batch_queue(passer->queue, timeout_ms, got, 1);
    int first = passer->message_count;
    for (ssize_t i = 0; i < count; i++) {
        if (!got[i]->err) {
            passer->messages[passer->message_count++] = got[i];
            continue;
        }
        if (got[i]->err == RD_KAFKA_RESP_ERR__FATAL ||
            got[i]->err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART)
            die("consumer: %s", rd_kafka_message_errstr(got[i]));
        rd_kafka_message_destroy(got[i]);
    }
    return passer->message_count == first || forward(passer, first);
}

static rd_kafka_error_t *send_offsets(struct passer *passer)
{
    rd_kafka_topic_partition_list_t *offsets = rd_kafka_topic_partition_list_new(PARTITIONS_MAX);
    for (int i = 0; i < passer->message_count; i++) {
        const rd_kafka_message_t *message = passer->messages[i];
        rd_kafka_topic_partition_t *found =
            rd_kafka_topic_partition_list_find(offsets, options.in, message->partition);
        if (!found)
            found = rd_kafka_topic_partition_list_add(offsets, options.in, message->partition);
        found->offset = message->offset + 1;
    }
    rd_kafka_consumer_group_metadata_t *group = rd_kafka_consumer_group_metadata(passer->consumer);
    rd_kafka_error_t *error =
        rd_kafka_send_offsets_to_transaction(passer->producer, offsets, group, TIMEOUT_MS);
    rd_kafka_consumer_group_metadata_destroy(group);
    rd_kafka_topic_partition_list_destroy(offsets);
    return error;
}

// Sets the consumer back to what the group has committed and drops what was fetched ahead.
static void rewind_consumer(struct passer *passer)
{
    rd_kafka_topic_partition_list_t *assigned;
    check_code("assignment", rd_kafka_assignment(passer->consumer, &assigned));
    if (assigned->cnt > 0) {
        check_code("committed", rd_kafka_committed(passer->consumer, assigned, TIMEOUT_MS));
        for (int i = 0; i < assigned->cnt; i++)
            if (assigned->elems[i].offset < 0)
                assigned->elems[i].offset = RD_KAFKA_OFFSET_BEGINNING;
        check("seek", rd_kafka_seek_partitions(passer->consumer, assigned, TIMEOUT_MS));
    }
    rd_kafka_topic_partition_list_destroy(assigned);
}

// After a transaction that failed: abort it, by a new producer if this one cannot.
static void recover(struct passer *passer, rd_kafka_error_t *error)
{
    fprintf(stderr, "transaction repeated: %s\n",
            error ? rd_kafka_error_string(error) : "not all records were taken");
    bool usable = !error || rd_kafka_error_txn_requires_abort(error);
    rd_kafka_error_destroy(error);
    if (usable) {
        error = rd_kafka_abort_transaction(passer->producer, TIMEOUT_MS);
        usable = !error;
        rd_kafka_error_destroy(error);
    }
    if (!usable) {
        close_producer(passer);
        open_producer(passer);
    }
    drop_messages(passer);
    rewind_consumer(passer);
    passer->repeated++;
}

// Ends the transaction; what can be asked again is, until TIMEOUT_MS.
static void finish(struct passer *passer, bool taken)
{
    int64_t deadline_us = now_us(CLOCK_MONOTONIC) + TIMEOUT_MS * 1000;
    rd_kafka_error_t *error = NULL;
    bool sent = false;
    while (taken) {
        error =
            sent ? rd_kafka_commit_transaction(passer->producer, TIMEOUT_MS) : send_offsets(passer);
        if (error) {
            if (!rd_kafka_error_is_retriable(error) || now_us(CLOCK_MONOTONIC) > deadline_us)
                break;
            rd_kafka_error_destroy(error);
            error = NULL;
        } else if (sent) {
            passer->committed += passer->message_count;
            passer->transactions++;
            drop_messages(passer);
            return;
        } else {
            sent = true;
        }
    }
    recover(passer, error);
}

// Moves records until `count` are committed or the passer is told to stop.
static void pass_on(struct passer *passer, int64_t count)
{
    while (passer->committed < count && !atomic_load(&passer->stopping)) {
        rd_kafka_error_t *error = rd_kafka_begin_transaction(passer->producer);
        if (error) {
            recover(passer, error);
            continue;
        }
        bool taken = receive(passer, 100);
        while (taken && passer->message_count == 0 && !atomic_load(&passer->stopping))
            taken = receive(passer, 100);
        if (passer->started_us == 0) {
            passer->started_us = now_us(CLOCK_MONOTONIC);
            passer->started_cpu_seconds = cpu_seconds();
        }
        int64_t until_us = now_us(CLOCK_MONOTONIC) + options.commit_ms * 1000;
        while (taken && passer->message_count <= IN_FLIGHT_MAX - BATCH) {
            int left_ms = (int)((until_us - now_us(CLOCK_MONOTONIC)) / 1000);
            if (left_ms <= 0 || passer->committed + passer->message_count >= count)
                break;
            taken = receive(passer, left_ms);
            rd_kafka_poll(passer->producer, 0);
        }
        if (passer->message_count > 0 || !taken)
            finish(passer, taken);
        else
            check("abort", rd_kafka_abort_transaction(passer->producer, TIMEOUT_MS));
    }
}

static int pass(void)
{
    struct passer passer = {0};
    open_passer(&passer);
    pass_on(&passer, options.count);
    double seconds = (double)(now_us(CLOCK_MONOTONIC) - passer.started_us) / 1e6;
    double cpu = cpu_seconds() - passer.started_cpu_seconds;
    printf("{\"events\":%" PRId64 ",\"seconds\":%.3f,\"events_per_second\":%.0f,"
           "\"cpu_seconds\":%.3f,\"events_per_cpu_second\":%.0f,\"transactions\":%" PRId64
           ",\"repeated\":%" PRId64 "}\n",
           passer.committed, seconds, (double)passer.committed / seconds, cpu,
           (double)passer.committed / cpu, passer.transactions, passer.repeated);
    close_passer(&passer);
    return 0;
}

// Latency

static void *generate(void *argument)
{
    (void)argument;
    rd_kafka_t *rk = new_producer(NULL);
    int partitions = partition_count(rk, options.in);
    rd_kafka_topic_t *topic = rd_kafka_topic_new(rk, options.in, NULL);
    char *payload = new_payload();
    int64_t start_us = now_us(CLOCK_MONOTONIC);
    for (int64_t i = 0; i < options.rate * options.seconds; i++) {
        int64_t due_us = start_us + i * 1000000 / options.rate;
        while (now_us(CLOCK_MONOTONIC) < due_us) {
            rd_kafka_poll(rk, 0);
            usleep(500);
        }
        memcpy(payload, &due_us, sizeof(due_us));
        write_record(rk, topic, (int)(i % partitions), payload);
    }
    check_code("flush", rd_kafka_flush(rk, TIMEOUT_MS));
    rd_kafka_topic_destroy(topic);
    rd_kafka_destroy(rk);
    free(payload);
    return NULL;
}

static void *pass_until_stopped(void *argument)
{
    struct passer *passer = argument;
    pass_on(passer, INT64_MAX);
    return NULL;
}

// A consumer of the output that starts at its end.
static rd_kafka_t *open_reader(void)
{
    rd_kafka_t *rk = new_consumer("kafka-passthrough-reader", "error");
    int count = partition_count(rk, options.out);
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(count);
    for (int p = 0; p < count; p++) {
        int64_t low, high;
        query_offsets(rk, options.out, p, &low, &high);
        rd_kafka_topic_partition_list_add(list, options.out, p)->offset = high;
    }
    check_code("assign", rd_kafka_assign(rk, list));
    rd_kafka_topic_partition_list_destroy(list);
    return rk;
}

// Reads `expected` records; fills in those after the warm-up. Returns their number.
static int64_t read_latencies(rd_kafka_t *reader, int64_t expected, int64_t *latencies_us)
{
    int64_t kept = 0, first_due_us = 0, heard_us = now_us(CLOCK_MONOTONIC);
    for (int64_t seen = 0; seen < expected;) {
        rd_kafka_message_t *message = rd_kafka_consumer_poll(reader, 100);
        int64_t now = now_us(CLOCK_MONOTONIC), due_us;
        if (message && !message->err) {
            memcpy(&due_us, message->payload, sizeof(due_us));
            if (seen++ == 0)
                first_due_us = due_us;
            if (due_us - first_due_us >= options.warm_seconds * 1000000LL)
                latencies_us[kept++] = now - due_us;
            heard_us = now;
        } else if (now - heard_us > READER_IDLE_MS * 1000) {
            die("only %" PRId64 " of %" PRId64 " records came out", seen, expected);
        }
        if (message)
            rd_kafka_message_destroy(message);
    }
    return kept;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int latency(void)
{
    int64_t expected = options.rate * options.seconds;
    int64_t *latencies_us = malloc((size_t)expected * sizeof(*latencies_us));
    if (!latencies_us)
        die("out of memory");
    struct passer passer = {0};
    pthread_t generator, passing;
    open_passer(&passer);
    rd_kafka_t *reader = open_reader();
    if (pthread_create(&passing, NULL, pass_until_stopped, &passer) != 0 ||
        pthread_create(&generator, NULL, generate, NULL) != 0)
        die("no thread");
    int64_t kept = read_latencies(reader, expected, latencies_us);
    pthread_join(generator, NULL);
    atomic_store(&passer.stopping, true);
    pthread_join(passing, NULL);
    if (kept == 0)
        die("all of %d s are warm-up", options.seconds);
    qsort(latencies_us, (size_t)kept, sizeof(*latencies_us), by_value);
    printf("{\"events\":%" PRId64 ",\"p50_ms\":%.1f,\"p99_ms\":%.1f,\"max_ms\":%.1f,"
           "\"transactions\":%" PRId64 ",\"repeated\":%" PRId64 "}\n",
           kept, (double)latencies_us[kept / 2] / 1e3, (double)latencies_us[kept * 99 / 100] / 1e3,
           (double)latencies_us[kept - 1] / 1e3, passer.transactions, passer.repeated);
    rd_kafka_consumer_close(reader);
    rd_kafka_destroy(reader);
    close_passer(&passer);
    free(latencies_us);
    return 0;
}

static void property(char *argument)
{
    char *equals = strchr(argument, '=');
    if (!equals || options.property_count == PROPERTIES_MAX)
        die("-X takes key=value, at most %d times, not %s", PROPERTIES_MAX, argument);
    *equals = 0;
    options.properties[options.property_count][0] = argument;
    options.properties[options.property_count++][1] = equals + 1;
}

static bool parse(int argc, char **argv)
{
    static const struct option NAMES[] = {
        {"bootstrap", 1, NULL, 'b'}, {"in", 1, NULL, 'i'},    {"out", 1, NULL, 'o'},
        {"group", 1, NULL, 'g'},     {"count", 1, NULL, 'n'}, {"rate", 1, NULL, 'r'},
        {"commit", 1, NULL, 'c'},    {"size", 1, NULL, 'z'},  {"seconds", 1, NULL, 's'},
        {"warm", 1, NULL, 'w'},      {NULL, 0, NULL, 0},
    };
    for (int found; (found = getopt_long(argc, argv, "X:", NAMES, NULL)) != -1;) {
        switch (found) {
        case 'b':
            options.bootstrap = optarg;
            break;
        case 'i':
            options.in = optarg;
            break;
        case 'o':
            options.out = optarg;
            break;
        case 'g':
            options.group = optarg;
            break;
        case 'n':
            options.count = atoll(optarg);
            break;
        case 'r':
            options.rate = atoll(optarg);
            break;
        case 'c':
            options.commit_ms = atoi(optarg);
            break;
        case 'z':
            options.size_bytes = (size_t)atoll(optarg);
            break;
        case 's':
            options.seconds = atoi(optarg);
            break;
        case 'w':
            options.warm_seconds = atoi(optarg);
            break;
        case 'X':
            property(optarg);
            break;
        default:
            return false;
        }
    }
    return options.bootstrap && optind == argc && options.count > 0 && options.rate > 0 &&
           options.commit_ms > 0 && options.seconds > 0 && options.warm_seconds >= 0 &&
           options.size_bytes >= sizeof(int64_t);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } COMMANDS[] = {{"fill", fill}, {"pass", pass}, {"latency", latency}};
    for (size_t i = 0; argc > 1 && i < sizeof(COMMANDS) / sizeof(COMMANDS[0]); i++)
        if (strcmp(argv[1], COMMANDS[i].name) == 0 && parse(argc - 1, argv + 1))
            return COMMANDS[i].run();
    fputs("usage: kafka-passthrough fill|pass|latency --bootstrap LIST [OPTION …]\n", stderr);
    return 2;
}
