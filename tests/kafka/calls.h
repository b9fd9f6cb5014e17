// calls.h: what kafka-tool and kafka-passthrough do alike: a call of librdkafka that fails ends the
// program. Who includes it defines `die` and the enumerators TIMEOUT_MS and RETRY_MS.
#ifndef CALLS_H
#define CALLS_H

#include <librdkafka/rdkafka.h>
#include <unistd.h>

__attribute__((format(printf, 1, 2), noreturn)) static void die(const char *format, ...);

static void set(rd_kafka_conf_t *conf, const char *key, const char *value)
{
    char error[256];
    if (rd_kafka_conf_set(conf, key, value, error, sizeof(error)) != RD_KAFKA_CONF_OK)
        die("%s", error);
}

// `what` names the call.
static void check(const char *what, rd_kafka_error_t *error)
{
    if (error)
        die("%s: %s", what, rd_kafka_error_string(error));
}

static void check_code(const char *what, rd_kafka_resp_err_t code)
{
    if (code)
        die("%s: %s", what, rd_kafka_err2str(code));
}

// First offset and end of a partition (read_committed: the last stable offset). A leader that has
// just been elected may not serve yet, so it is asked for TIMEOUT_MS.
static void query_offsets(rd_kafka_t *rk, const char *topic, int32_t partition, int64_t *low,
                          int64_t *high)
{
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;
    for (int waited_ms = 0; waited_ms < TIMEOUT_MS; waited_ms += RETRY_MS) {
        code = rd_kafka_query_watermark_offsets(rk, topic, partition, low, high, TIMEOUT_MS);
        if (code != RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION &&
            code != RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE)
            break;
        usleep(RETRY_MS * 1000);
    }
    check_code("offsets", code);
}

#endif
