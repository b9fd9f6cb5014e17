/*
 * transport_driver.c: a process that uses the log on Kafka as it is told: one command a line on
 * standard input, one line of answer each. transport.py runs several of them against real brokers.
 *
 *   open GROUP INSTANCE TIMEOUT_MS NAME=VALUE…      topic NAME PARTITIONS     join NAME…
 *   poll MS      release      ready MS      get TOPIC PARTITION      put TOPIC PARTITION OFFSET
 * VALUE get-loose TOPIC PARTITION           begin TOPIC PARTITION    wait-end TOPIC PARTITION
 * OFFSET MS append TOPIC PARTITION KEY VALUE    append-many TOPIC PARTITION COUNT PREFIX commit
 * abort        close reader TOPIC PARTITION OFFSET       read TOPIC PARTITION MAX BEFORE MS
 * reader-close TOPIC PARTITION at-end TOPIC PARTITION OFFSET MS    end TOPIC PARTITION
 */
#include <stdio.h>
#include <stdlib.h>

#include "engine.h"

#define WORDS 64
#define READERS 64

static struct pipe_log *theirs;
static struct pipe_log_reader *readers[READERS];
static char *words[WORDS];
static int word_count;

static const char *word(int index)
{
    return index < word_count ? words[index] : "";
}

static int64_t number(int index)
{
    return strtoll(word(index), NULL, 10);
}

static uint32_t topic_at(int index)
{
    for (uint32_t i = 0; i < theirs->topic_count; i++) {
        if (strcmp(theirs->topics[i].name, word(index)) == 0)
            return i;
    }
    printf("unknown topic %s\n", word(index));
    exit(2);
}

static void answer(bool ok)
{
    printf("%s %s\n", ok ? "ok" : "failed", ok ? "" : theirs->error);
}

/* Values hold no spaces: they are written as %20. */
static void unescape(char *text)
{
    for (char *at; (at = strstr(text, "%20")) != NULL; text = at) {
        *at = ' ';
        memmove(at + 1, at + 3, strlen(at + 3) + 1);
    }
}

/* ---- Commands ---- */

static void do_open(void)
{
    struct pipe_kafka_property properties[WORDS];
    char error[512];
    struct pipe_kafka_config config = {.pipeline = "driver",
                                       .plan_hash = getenv("PLAN_HASH"),
                                       .group = word(1),
                                       .instance = word(2),
                                       .transaction_timeout_ms = number(3),
                                       .properties = properties};
    for (int i = 4; i < word_count; i++) {
        char *value = strchr(words[i], '=');
        *value = '\0';
        unescape(value + 1);
        properties[config.property_count++] =
            (struct pipe_kafka_property){words[i], value + 1, "--kafka"};
    }
    theirs = pipe_log_kafka_open(&config, error, sizeof error);
    printf("%s %s\n", theirs != NULL ? "ok" : "failed", theirs != NULL ? "" : error);
}

static void do_topic(void)
{
    uint32_t index;
    answer(theirs->ops->topic(theirs, word(1), (uint32_t)number(2), &index));
}

static void do_join(void)
{
    uint32_t topics[WORDS], count = 0;
    for (int i = 1; i < word_count; i++)
        topics[count++] = topic_at(i);
    answer(theirs->ops->join(theirs, topics, count));
}

static void do_poll(void)
{
    static const char *const kinds[] = {"nothing", "assigned", "revoked", "lost"};
    struct pipe_log_event event;
    int64_t until = engine_monotonic_us() + number(1) * 1000;
    bool ok;
    do {
        ok = theirs->ops->poll(theirs, 20, &event);
    } while (ok && event.kind == PIPE_LOG_NOTHING && engine_monotonic_us() < until);
    if (!ok) {
        answer(false);
        return;
    }
    printf("%s", kinds[event.kind]);
    for (uint32_t i = 0; i < event.count; i++)
        printf(" %s/%d", theirs->topics[event.partitions[i].topic].name,
               event.partitions[i].partition);
    printf("\n");
}

static void do_release(void)
{
    answer(theirs->ops->release(theirs));
}

static void do_ready(void)
{
    int64_t until = engine_monotonic_us() + number(1) * 1000;
    enum pipe_log_state state;
    struct pipe_log_event event;
    do {
        state = theirs->ops->ready(theirs);
        if (state == PIPE_LOG_WAIT && theirs->ops->poll(theirs, 0, &event) &&
            (event.kind == PIPE_LOG_REVOKED || event.kind == PIPE_LOG_LOST))
            (void)theirs->ops->release(theirs);
    } while (state == PIPE_LOG_WAIT && engine_monotonic_us() < until);
    if (state == PIPE_LOG_FAILED)
        answer(false);
    else
        printf("%s\n", state == PIPE_LOG_RECORDS ? "ready" : "wait");
}

static struct pipe_log_position position_at(int index)
{
    return (struct pipe_log_position){.name = "task",
                                      .at = {topic_at(index), (int32_t)number(index + 1)}};
}

static void do_get(void)
{
    struct pipe_buf value = {0};
    struct pipe_log_committed committed = {.value = &value,
                                           .loose = strcmp(word(0), "get-loose") == 0};
    struct pipe_log_position of = position_at(1);
    if (theirs->ops->get_position(theirs, &of, &committed))
        printf("%s %lld %lld %.*s\n", committed.found ? "found" : "new",
               (long long)committed.offset, (long long)committed.first, (int)value.size,
               value.data != NULL ? (char *)value.data : "");
    else
        answer(false);
    pipe_buf_free(&value);
}

static void do_begin(void)
{
    printf("%lld\n", (long long)theirs->ops->begin(theirs, topic_at(1), (int32_t)number(2)));
}

static void do_put(void)
{
    struct pipe_log_position position = position_at(1);
    position.offset = number(3);
    position.value = pipe_str_of(word(4), strlen(word(4)));
    answer(theirs->ops->put_position(theirs, &position));
}

static void do_append(void)
{
    struct pipe_str key = pipe_str_of(word(3), strlen(word(3)));
    struct pipe_str value = pipe_str_of(word(4), strlen(word(4)));
    if (strcmp(word(3), "-") == 0)
        key.data = NULL, key.size = 0;
    if (strcmp(word(4), "-") == 0)
        value.data = NULL, value.size = 0;
    answer(
        theirs->ops->append(theirs, topic_at(1), (int32_t)number(2), engine_wall_ms(), key, value));
}

static void do_append_many(void)
{
    bool ok = true;
    uint32_t topic = topic_at(1);
    char value[512];
    for (int64_t i = 0; i < number(3) && ok; i++) {
        int size = snprintf(value, sizeof value, "%.200s%lld", word(4), (long long)i);
        ok = theirs->ops->append(theirs, topic, (int32_t)number(2), engine_wall_ms(),
                                 pipe_str_of(NULL, 0), pipe_str_of(value, (size_t)size));
    }
    answer(ok);
}

static void do_commit(void)
{
    static const char *const outcomes[] = {"committed", "aborted", "fenced", "broken"};
    enum pipe_log_outcome outcome = theirs->ops->commit(theirs);
    printf("%s %s\n", outcomes[outcome], outcome >= PIPE_LOG_FENCED ? theirs->error : "");
}

static void do_abort(void)
{
    theirs->ops->abort(theirs);
    answer(true);
}

static struct pipe_log_reader **reader_at(int index)
{
    return &readers[(topic_at(index) * 8 + (uint32_t)number(index + 1)) % READERS];
}

static void do_reader(void)
{
    struct pipe_record constant = {0};
    *reader_at(1) =
        theirs->ops->reader(theirs, topic_at(1), (int32_t)number(2), number(3), &constant);
    answer(true);
}

static void do_reader_close(void)
{
    theirs->ops->reader_close(*reader_at(1));
    *reader_at(1) = NULL;
    answer(true);
}

static void print_text(struct pipe_str text)
{
    if (text.data == NULL)
        printf("-");
    else
        printf("'%.*s'", (int)text.size, (const char *)text.data);
}

static void do_read(void)
{
    struct pipe_log_reader *reader = *reader_at(1);
    int64_t before = strcmp(word(4), "-") == 0 ? INT64_MAX : number(4);
    int64_t until = engine_monotonic_us() + number(5) * 1000;
    struct pipe_record *records;
    enum pipe_log_state state;
    uint32_t count;
    struct pipe_log_event event;
    do {
        state = theirs->ops->read(reader, (uint32_t)number(3), before, &records, &count);
        if (state == PIPE_LOG_WAIT)
            (void)theirs->ops->poll(theirs, 20, &event);
    } while (state == PIPE_LOG_WAIT && engine_monotonic_us() < until);
    if (state == PIPE_LOG_FAILED) {
        answer(false);
        return;
    }
    printf("%s %lld",
           state == PIPE_LOG_END    ? "end"
           : state == PIPE_LOG_WAIT ? "wait"
                                    : "records",
           (long long)theirs->ops->position(reader));
    for (uint32_t i = 0; i < count; i++) {
        printf(" %lld:", (long long)records[i].offset);
        print_text(records[i].key);
        printf("=");
        print_text(records[i].payload);
    }
    printf("\n");
}

/* Reads until the position is there, without a record on the way. */
static void do_wait_end(void)
{
    struct pipe_log_reader *reader = *reader_at(1);
    int64_t until = engine_monotonic_us() + number(4) * 1000;
    struct pipe_record *records;
    struct pipe_log_event event;
    uint32_t count = 0;
    while (theirs->ops->position(reader) < number(3) && count == 0 &&
           engine_monotonic_us() < until) {
        if (theirs->ops->read(reader, 1, INT64_MAX, &records, &count) == PIPE_LOG_FAILED) {
            answer(false);
            return;
        }
        (void)theirs->ops->poll(theirs, 20, &event);
    }
    printf("%lld %u\n", (long long)theirs->ops->position(reader), count);
}

/* Asks until the answer is yes, or (not-at-end) no. */
static void do_at_end(void)
{
    bool wanted = strcmp(word(0), "at-end") == 0;
    int64_t until = engine_monotonic_us() + number(4) * 1000;
    bool at_end;
    do {
        at_end = theirs->ops->at_end(theirs, topic_at(1), (int32_t)number(2), number(3));
        if (at_end != wanted)
            engine_sleep_us(10000);
    } while (at_end != wanted && engine_monotonic_us() < until);
    printf("%s\n", at_end ? "yes" : "no");
}

static void do_end(void)
{
    printf("%lld\n", (long long)theirs->ops->end(theirs, topic_at(1), (int32_t)number(2)));
}

static void do_close(void)
{
    theirs->ops->close(theirs);
    theirs = NULL;
    memset(readers, 0, sizeof readers);
    printf("ok\n");
}

static const struct {
    const char *name;
    void (*run)(void);
} commands[] = {{"open", do_open},         {"topic", do_topic},
                {"join", do_join},         {"poll", do_poll},
                {"begin", do_begin},       {"get-loose", do_get},
                {"wait-end", do_wait_end}, {"not-at-end", do_at_end},
                {"release", do_release},   {"ready", do_ready},
                {"get", do_get},           {"put", do_put},
                {"append", do_append},     {"append-many", do_append_many},
                {"commit", do_commit},     {"abort", do_abort},
                {"reader", do_reader},     {"reader-close", do_reader_close},
                {"read", do_read},         {"at-end", do_at_end},
                {"end", do_end},           {"close", do_close}};

int main(void)
{
    static char line[65536];
    if (getenv("DRIVER_DEBUG") != NULL)
        pipe_message_level(PIPE_DEBUG_LEVEL);
    while (fgets(line, sizeof line, stdin) != NULL) {
        size_t i;
        word_count = 0;
        for (char *at = strtok(line, " \n"); at != NULL && word_count < WORDS;
             at = strtok(NULL, " \n"))
            words[word_count++] = at;
        for (i = 0; i < sizeof commands / sizeof commands[0]; i++) {
            if (strcmp(commands[i].name, word(0)) == 0)
                break;
        }
        if (i == sizeof commands / sizeof commands[0]) {
            printf("unknown command %s\n", word(0));
            return 2;
        }
        commands[i].run();
        fflush(stdout);
    }
    if (theirs != NULL)
        theirs->ops->close(theirs);
    return 0;
}
