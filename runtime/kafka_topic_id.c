/*
 * kafka_topic_id.c: the id of a topic, by which one that was deleted and made anew is told from
 * what it was.
 *
 * librdkafka 2.3 and later asks for it (DescribeTopics). Older ones cannot: there a Metadata
 * request of version 12 is sent over a connection of our own, which speaks neither TLS nor SASL;
 * over such a connection the id stays unknown, which is said once, and a topic that was made anew
 * is found out by its offsets only.
 */
#include "engine.h"
#include "kafka_internal.h"

void kafka_id_text(const uint8_t id[KAFKA_ID_BYTES], char to[33])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < KAFKA_ID_BYTES; i++) {
        to[2 * i] = digits[id[i] >> 4];
        to[2 * i + 1] = digits[id[i] & 15];
    }
    to[32] = '\0';
}

#if RD_KAFKA_VERSION >= 0x020300ff

static void put_be(uint8_t *to, int64_t value)
{
    for (int i = 0; i < 8; i++)
        to[i] = (uint8_t)((uint64_t)value >> (56 - 8 * i));
}

static enum kafka_id_state take(rd_kafka_event_t *event, uint8_t id[KAFKA_ID_BYTES])
{
    size_t count = 0;
    const rd_kafka_DescribeTopics_result_t *result = rd_kafka_event_DescribeTopics_result(event);
    if (result == NULL || rd_kafka_event_error(event) != RD_KAFKA_RESP_ERR_NO_ERROR)
        return KAFKA_ID_FAILED;
    const rd_kafka_TopicDescription_t **topics =
        rd_kafka_DescribeTopics_result_topics(result, &count);
    if (count != 1 || rd_kafka_error_code(rd_kafka_TopicDescription_error(topics[0])) !=
                          RD_KAFKA_RESP_ERR_NO_ERROR)
        return KAFKA_ID_FAILED;
    const rd_kafka_Uuid_t *uuid = rd_kafka_TopicDescription_topic_id(topics[0]);
    put_be(id, rd_kafka_Uuid_most_significant_bits(uuid));
    put_be(id + 8, rd_kafka_Uuid_least_significant_bits(uuid));
    return KAFKA_ID_KNOWN;
}

enum kafka_id_state kafka_topic_id(struct kafka_common *common, rd_kafka_t *observer,
                                   const char *topic, int timeout_ms, uint8_t id[KAFKA_ID_BYTES])
{
    enum kafka_id_state state = KAFKA_ID_FAILED;
    const char *names[] = {topic};
    char text[256];
    (void)common;
    rd_kafka_queue_t *queue = rd_kafka_queue_new(observer);
    rd_kafka_TopicCollection_t *topics = rd_kafka_TopicCollection_of_topic_names(names, 1);
    rd_kafka_AdminOptions_t *options =
        rd_kafka_AdminOptions_new(observer, RD_KAFKA_ADMIN_OP_DESCRIBETOPICS);
    (void)rd_kafka_AdminOptions_set_request_timeout(options, timeout_ms, text, sizeof text);
    rd_kafka_DescribeTopics(observer, topics, options, queue);
    rd_kafka_event_t *event = rd_kafka_queue_poll(queue, timeout_ms + 1000);
    if (event != NULL) {
        state = take(event, id);
        rd_kafka_event_destroy(event);
    }
    rd_kafka_AdminOptions_destroy(options);
    rd_kafka_TopicCollection_destroy(topics);
    rd_kafka_queue_destroy(queue);
    return state;
}

#else

#include <netdb.h>
#include <stdio.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define API_VERSIONS 18
#define METADATA 3
#define METADATA_VERSION 12
#define CORRELATION 1
#define ANSWER_MAX (1 << 20)

/* ---- Reading the answer, which is not trusted ---- */

struct answer {
    const uint8_t *at, *end;
    bool cut;
};

static uint32_t get_int(struct answer *in, unsigned bytes)
{
    uint32_t value = 0;
    if ((size_t)(in->end - in->at) < bytes) {
        in->cut = true;
        return 0;
    }
    for (unsigned i = 0; i < bytes; i++)
        value = value << 8 | *in->at++;
    return value;
}

static uint32_t get_varint(struct answer *in)
{
    uint32_t value = 0;
    for (unsigned shift = 0; shift < 35; shift += 7) {
        uint32_t byte = get_int(in, 1);
        value |= (byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
    in->cut = true;
    return 0;
}

static void skip(struct answer *in, size_t bytes)
{
    if ((size_t)(in->end - in->at) < bytes) {
        in->cut = true;
        in->at = in->end;
        return;
    }
    in->at += bytes;
}

static void skip_text(struct answer *in) /* compact: size + 1; 0: null */
{
    uint32_t size = get_varint(in);
    skip(in, size > 0 ? size - 1 : 0);
}

static void skip_tags(struct answer *in)
{
    for (uint32_t tags = get_varint(in); tags > 0 && !in->cut; tags--) {
        (void)get_varint(in);
        skip(in, get_varint(in));
    }
}

static enum kafka_id_state read_answer(const uint8_t *bytes, size_t size,
                                       uint8_t id[KAFKA_ID_BYTES])
{
    struct answer in = {bytes, bytes + size, false};
    bool ours = get_int(&in, 4) == CORRELATION;
    skip_tags(&in);
    skip(&in, 4); /* throttle time */
    for (uint32_t brokers = get_varint(&in); brokers > 1 && !in.cut; brokers--) {
        skip(&in, 4); /* id */
        skip_text(&in);
        skip(&in, 4); /* port */
        skip_text(&in);
        skip_tags(&in);
    }
    skip_text(&in); /* cluster id */
    skip(&in, 4);   /* controller */
    if (!ours || get_varint(&in) != 2 || get_int(&in, 2) != 0)
        return KAFKA_ID_FAILED; /* one topic, without an error */
    skip_text(&in);
    if (in.cut || in.end - in.at < KAFKA_ID_BYTES)
        return KAFKA_ID_FAILED;
    memcpy(id, in.at, KAFKA_ID_BYTES);
    return KAFKA_ID_KNOWN;
}

/* ---- Asking ---- */

static void put_int(struct pipe_buf *to, uint32_t value, unsigned bytes)
{
    for (unsigned i = bytes; i > 0; i--)
        pipe_buf_add_byte(to, (uint8_t)(value >> (8 * (i - 1))));
}

static void put_head(struct pipe_buf *to, uint32_t api, uint32_t version)
{
    put_int(to, 0, 4); /* size: put_size */
    put_int(to, api, 2);
    put_int(to, version, 2);
    put_int(to, CORRELATION, 4);
    put_int(to, 5, 2);
    pipe_buf_add(to, "pipec", 5);
}

static void put_size(struct pipe_buf *to)
{
    for (unsigned i = 0; i < 4; i++)
        to->data[i] = (uint8_t)((to->size - 4) >> (24 - 8 * i));
}

static void put_question(struct pipe_buf *to, const char *topic)
{
    static const uint8_t no_id[KAFKA_ID_BYTES];
    uint32_t size = (uint32_t)strlen(topic);
    put_head(to, METADATA, METADATA_VERSION);
    put_int(to, 0, 1); /* tags */
    put_int(to, 2, 1); /* one topic */
    pipe_buf_add(to, no_id, sizeof no_id);
    to->size = (size_t)(pipe_varint_put(pipe_buf_reserve(to, 10), size + 1) - to->data);
    pipe_buf_add(to, topic, size);
    put_int(to, 0, 1); /* tags */
    put_int(to, 0, 1); /* topics are not made by asking */
    put_int(to, 0, 1); /* authorized operations are not asked for */
    put_int(to, 0, 1); /* tags */
    put_size(to);
}

static bool receive(int socket, uint8_t *to, size_t bytes)
{
    size_t got = 0;
    while (got < bytes) {
        ssize_t now = recv(socket, to + got, bytes - got, 0);
        if (now <= 0)
            return false;
        got += (size_t)now;
    }
    return true;
}

/* Sends what is in `buf`, and takes the answer into it. */
static bool exchange(int socket, struct pipe_buf *buf)
{
    uint8_t head[4];
    if (send(socket, buf->data, buf->size, MSG_NOSIGNAL) != (ssize_t)buf->size ||
        !receive(socket, head, sizeof head))
        return false;
    size_t size = (size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3];
    buf->size = 0;
    if (size > ANSWER_MAX || !receive(socket, pipe_buf_reserve(buf, size), size))
        return false;
    buf->size = size;
    return true;
}

/* The broker knows Metadata of our version. */
static bool knows_ids(const struct pipe_buf *answer)
{
    struct answer in = {answer->data, answer->data + answer->size, false};
    skip(&in, 6); /* correlation, error */
    for (uint32_t apis = get_int(&in, 4); apis > 0 && !in.cut; apis--) {
        uint32_t api = get_int(&in, 2);
        skip(&in, 2);
        uint32_t greatest = get_int(&in, 2);
        if (api == METADATA && !in.cut)
            return greatest >= METADATA_VERSION;
    }
    return false;
}

static enum kafka_id_state converse(int socket, const char *topic, uint8_t id[KAFKA_ID_BYTES])
{
    struct pipe_buf buf = {0};
    enum kafka_id_state state = KAFKA_ID_FAILED;
    put_head(&buf, API_VERSIONS, 0);
    put_size(&buf);
    if (exchange(socket, &buf)) {
        if (!knows_ids(&buf)) {
            state = KAFKA_ID_UNKNOWN;
        } else {
            buf.size = 0;
            put_question(&buf, topic);
            if (exchange(socket, &buf))
                state = read_answer(buf.data, buf.size, id);
        }
    }
    pipe_buf_free(&buf);
    return state;
}

static int connect_to(const char *host, int port, int timeout_ms)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    struct timeval timeout = {timeout_ms / 1000, timeout_ms % 1000 * 1000};
    char service[12];
    int fd = -1;
    snprintf(service, sizeof service, "%d", port);
    if (getaddrinfo(host, service, &hints, &found) != 0)
        return -1;
    for (const struct addrinfo *at = found; at != NULL && fd < 0; at = at->ai_next) {
        fd = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol);
        if (fd < 0)
            continue;
        (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout); /* connect too */
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
        if (connect(fd, at->ai_addr, at->ai_addrlen) != 0) {
            close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(found);
    return fd;
}

/* Any broker will do; librdkafka knows them. */
static enum kafka_id_state ask(rd_kafka_t *observer, const char *topic, int timeout_ms,
                               uint8_t id[KAFKA_ID_BYTES])
{
    const struct rd_kafka_metadata *metadata = NULL;
    enum kafka_id_state state = KAFKA_ID_FAILED;
    if (rd_kafka_metadata(observer, 0, NULL, &metadata, timeout_ms) != RD_KAFKA_RESP_ERR_NO_ERROR)
        return state;
    for (int i = 0; i < metadata->broker_cnt && state == KAFKA_ID_FAILED; i++) {
        int fd = connect_to(metadata->brokers[i].host, metadata->brokers[i].port, timeout_ms);
        if (fd < 0)
            continue;
        state = converse(fd, topic, id);
        close(fd);
    }
    rd_kafka_metadata_destroy(metadata);
    return state;
}

static enum kafka_id_state unknown(struct kafka_common *common, const char *why)
{
    kafka_warn(common, "topic-id",
               "kafka: the ids of topics cannot be told (%s): one that is deleted and made anew is "
               "noticed by its offsets only",
               why);
    return KAFKA_ID_UNKNOWN;
}

enum kafka_id_state kafka_topic_id(struct kafka_common *common, rd_kafka_t *observer,
                                   const char *topic, int timeout_ms, uint8_t id[KAFKA_ID_BYTES])
{
    const char *protocol = kafka_setting_of(common, "security.protocol");
    if (protocol != NULL && strcasecmp(protocol, "plaintext") != 0)
        return unknown(common, "librdkafka before 2.3 with TLS or SASL");
    enum kafka_id_state state = ask(observer, topic, timeout_ms, id);
    return state == KAFKA_ID_UNKNOWN ? unknown(common, "brokers before 3.1") : state;
}

#endif
