/*
 * kafka_config.c: the settings of the clients, and what they say.
 *
 * Each client has three layers: what the program sets by default, the user's properties over that,
 * and over both what exactly-once depends on, which a user cannot change (`owned`). Values of
 * properties are never printed: librdkafka's own text about a bad value holds it, so it is not
 * passed on; its log lines are searched for secrets.
 */
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "engine.h"
#include "kafka_internal.h"

#define SAY_EVERY_US (60 * 1000000LL)

/* What exactly-once, and the parts the clients play, depend on. */
static const char *const owned[] = {
    "group.id",
    "group.instance.id",
    "group.protocol",
    "group.remote.assignor",
    "transactional.id",
    "transaction.timeout.ms",
    "enable.idempotence",
    "isolation.level",
    "enable.auto.commit",
    "auto.commit.enable",
    "enable.auto.offset.store",
    "auto.offset.reset",
    "enable.partition.eof",
    "partition.assignment.strategy",
    "allow.auto.create.topics",
    "client.id",
    "acks",
    "request.required.acks",
    "retries",
    "message.send.max.retries",
    "enable.gapless.guarantee",
    "enable.random.seed",
    "test.mock.broker.rtt",
    "plugin.library.paths",
};

static const struct kafka_setting common_settings[] = {
    {"allow.auto.create.topics", "false"},
    {"socket.nagle.disable", "true"},
    {"socket.keepalive.enable", "true"},
    {"socket.connection.setup.timeout.ms", "2000"},
    {"topic.metadata.refresh.fast.interval.ms", "50"},
    {"reconnect.backoff.ms", "20"},
    {"reconnect.backoff.max.ms", "200"},
    {"retry.backoff.ms", "10"},
};

/* ---- Secrets ---- */

static bool names_secret(const char *name)
{
    static const char *const words[] = {"password", "secret",   "token", "pem",
                                        "jaas",     "username", "key",   "oauthbearer.config"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcasestr(name, words[i]) != NULL)
            return true;
    }
    return false;
}

void kafka_redact(const struct kafka_common *common, const char *text, char *to, size_t to_bytes)
{
    size_t size = 0;
    while (*text != '\0' && size + 4 < to_bytes) {
        size_t secret = 0;
        for (uint32_t i = 0; i < common->property_count; i++) {
            const struct kafka_property *property = &common->properties[i];
            size_t bytes = strlen(property->value);
            if (property->secret && bytes > secret && strncmp(text, property->value, bytes) == 0)
                secret = bytes;
        }
        if (secret > 0) {
            memcpy(to + size, "***", 3);
            size += 3;
            text += secret;
        } else {
            to[size++] = *text == '\n' ? ' ' : *text;
            text++;
        }
    }
    to[size] = '\0';
}

/* ---- Messages ---- */

/* Whether a message of this kind may be passed on now. */
static bool may_say(struct kafka_common *common, const char *kind)
{
    int64_t now = engine_monotonic_us();
    size_t oldest = 0, slots = sizeof common->said / sizeof common->said[0];
    bool may = true;
    pthread_mutex_lock(&common->lock);
    for (size_t i = 0; i < slots; i++) {
        if (strncmp(common->said[i].name, kind, sizeof common->said[i].name - 1) == 0) {
            oldest = i;
            may = now - common->said[i].said_us >= SAY_EVERY_US;
            break;
        }
        if (common->said[i].said_us < common->said[oldest].said_us)
            oldest = i;
    }
    if (may) {
        snprintf(common->said[oldest].name, sizeof common->said[oldest].name, "%s", kind);
        common->said[oldest].said_us = now;
    }
    pthread_mutex_unlock(&common->lock);
    return may;
}

void kafka_warn(struct kafka_common *common, const char *kind, const char *format, ...)
{
    char text[768], clean[768];
    va_list args;
    if (!may_say(common, kind))
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    kafka_redact(common, text, clean, sizeof clean);
    pipe_message(PIPE_WARNING, clean, NULL);
}

/* Of librdkafka; any of its threads. Most lines tell of what passes by itself, so they are warnings
 * at most, one a minute of a kind. */
static void on_log(const rd_kafka_t *client, int level, const char *kind, const char *text)
{
    struct kafka_common *common = rd_kafka_opaque(client);
    char clean[512];
    if (common == NULL || strcmp(kind, "CONFWARN") == 0)
        return; /* CONFWARN: a property of producers at a consumer; the same go to all clients */
    kafka_redact(common, text, clean, sizeof clean);
    if (level >= 7)
        pipe_message(PIPE_DEBUG_LEVEL, "librdkafka", "what=%s %s", kind, clean);
    else if (may_say(common, kind))
        pipe_message(level <= 4 ? PIPE_WARNING : PIPE_DEBUG_LEVEL, "librdkafka", "what=%s %s", kind,
                     clean);
}

static void on_error(rd_kafka_t *client, int code, const char *text, void *opaque)
{
    struct kafka_common *common = opaque;
    if (code == RD_KAFKA_RESP_ERR__AUTHENTICATION || code == RD_KAFKA_RESP_ERR__SSL ||
        code == RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED)
        atomic_store(&common->refused, true);
    if (code != RD_KAFKA_RESP_ERR__FATAL) /* told by what fails because of it */
        kafka_warn(common, rd_kafka_err2name(code), "kafka: %s: %s", rd_kafka_name(client), text);
}

#define QUIET_US 3000000 /* a broker that is there has answered by then */

void kafka_tell_wait(struct kafka_common *common, int64_t began_us)
{
    const char *brokers = kafka_setting_of(common, "bootstrap.servers");
    if (engine_monotonic_us() - began_us > QUIET_US)
        kafka_warn(common, "wait",
                   "kafka: no broker at %.200s has answered yet; waiting for up to %d s",
                   brokers != NULL ? brokers : "metadata.broker.list", (int)(KAFKA_WAIT_MS / 1000));
}

void kafka_wake(struct kafka_common *common)
{
    pthread_mutex_lock(&common->lock);
    common->awake = true;
    pthread_cond_signal(&common->woken);
    pthread_mutex_unlock(&common->lock);
}

static struct timespec in_us(int64_t us)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += us / 1000000;
    at.tv_nsec += us % 1000000 * 1000;
    if (at.tv_nsec >= 1000000000) {
        at.tv_sec++;
        at.tv_nsec -= 1000000000;
    }
    return at;
}

void kafka_wait(struct kafka_common *common, int64_t wait_ms)
{
    struct timespec until = in_us(wait_ms * 1000);
    pthread_mutex_lock(&common->lock);
    while (!common->awake) {
        if (pthread_cond_timedwait(&common->woken, &common->lock, &until) != 0)
            break;
    }
    common->awake = false;
    pthread_mutex_unlock(&common->lock);
}

/* ---- Properties ---- */

const char *kafka_setting_of(const struct kafka_common *common, const char *name)
{
    const char *value = NULL;
    for (uint32_t i = 0; i < common->property_count; i++) {
        if (strcmp(common->properties[i].name, name) == 0)
            value = common->properties[i].value;
    }
    return value;
}

static bool is_owned(const char *name)
{
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++) {
        if (strcmp(owned[i], name) == 0)
            return true;
    }
    return false;
}

/* librdkafka names the value in its text, so that is not used. */
static bool set_property(rd_kafka_conf_t *conf, const struct kafka_property *property, char *error,
                         size_t error_bytes)
{
    char text[512];
    rd_kafka_conf_res_t result =
        rd_kafka_conf_set(conf, property->name, property->value, text, sizeof text);
    if (result == RD_KAFKA_CONF_OK)
        return true;
    if (result == RD_KAFKA_CONF_UNKNOWN)
        snprintf(error, error_bytes,
                 "%s: kafka has no property '%.80s' (librdkafka %s); see its CONFIGURATION.md",
                 property->from, property->name, rd_kafka_version_str());
    else
        snprintf(error, error_bytes,
                 "%s: librdkafka refuses the value of '%s'; see its CONFIGURATION.md for the range",
                 property->from, property->name);
    return false;
}

static bool check_property(const struct kafka_property *property, char *error, size_t error_bytes)
{
    if (!is_owned(property->name))
        return true;
    snprintf(error, error_bytes,
             "%s: '%s' is set by the program, exactly-once depends on it; leave it out",
             property->from, property->name);
    return false;
}

static bool check_config(const struct pipe_kafka_config *config, struct kafka_common *common,
                         char *error, size_t error_bytes)
{
    const char *instance = config->instance != NULL ? config->instance : "";
    size_t valid = strspn(instance, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                    "0123456789._-");
    if (valid == 0 || instance[valid] != '\0' || valid > 200) {
        snprintf(error, error_bytes,
                 "the instance name '%.80s' must be 1 to 200 of A-Z a-z 0-9 . _ -", instance);
        return false;
    }
    for (uint32_t i = 0; i < common->property_count; i++) {
        if (!check_property(&common->properties[i], error, error_bytes))
            return false;
    }
    if (kafka_setting_of(common, "bootstrap.servers") == NULL &&
        kafka_setting_of(common, "metadata.broker.list") == NULL &&
        kafka_setting_of(common, "test.mock.num.brokers") == NULL) {
        snprintf(error, error_bytes,
                 "no brokers are given; set PIPE_KAFKA_BOOTSTRAP=host:port, or "
                 "--kafka bootstrap.servers=host:port");
        return false;
    }
    return true;
}

struct kafka_common *kafka_common_new(const struct pipe_kafka_config *config, char *error,
                                      size_t error_bytes)
{
    struct kafka_common *common = pipe_calloc(1, sizeof *common);
    pthread_condattr_t monotonic;
    char group[256];
    snprintf(group, sizeof group, "pipec.%s", config->pipeline);
    atomic_store(&common->references, 1);
    common->pipeline = pipe_text_dup(config->pipeline);
    common->plan_hash = pipe_text_dup(config->plan_hash);
    common->group = pipe_text_dup(config->group != NULL ? config->group : group);
    common->instance = pipe_text_dup(config->instance != NULL ? config->instance : "");
    common->transaction_timeout_ms =
        config->transaction_timeout_ms > 0 ? config->transaction_timeout_ms : 10000;
    common->properties = pipe_calloc(config->property_count + 1, sizeof *common->properties);
    for (uint32_t i = 0; i < config->property_count; i++) {
        const struct pipe_kafka_property *given = &config->properties[i];
        common->properties[common->property_count++] = (struct kafka_property){
            pipe_text_dup(given->name), pipe_text_dup(given->value), pipe_text_dup(given->from),
            names_secret(given->name) && given->value[0] != '\0'};
    }
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&common->lock, NULL);
    pthread_cond_init(&common->woken, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (check_config(config, common, error, error_bytes))
        return common;
    kafka_common_drop(common);
    return NULL;
}

void kafka_common_keep(struct kafka_common *common)
{
    atomic_fetch_add(&common->references, 1);
}

void kafka_common_drop(struct kafka_common *common)
{
    if (common == NULL || atomic_fetch_sub(&common->references, 1) != 1)
        return;
    for (uint32_t i = 0; i < common->property_count; i++) {
        free(common->properties[i].name);
        free(common->properties[i].value);
        free(common->properties[i].from);
    }
    free(common->properties);
    free(common->pipeline);
    free(common->plan_hash);
    free(common->group);
    free(common->instance);
    pthread_mutex_destroy(&common->lock);
    pthread_cond_destroy(&common->woken);
    free(common);
}

/* ---- Clients ---- */

/* Defaults are ours; a name that this version does not know is left at its own default. */
static void set_defaults(rd_kafka_conf_t *conf, const struct kafka_setting *settings, size_t count)
{
    char text[256];
    for (size_t i = 0; i < count; i++)
        (void)rd_kafka_conf_set(conf, settings[i].name, settings[i].value, text, sizeof text);
}

static bool build(struct kafka_common *common, rd_kafka_conf_t *conf,
                  const struct kafka_setting *settings, size_t count, char *error,
                  size_t error_bytes)
{
    char text[256], name[256];
    snprintf(name, sizeof name, "pipec-%s-%s", common->pipeline, common->instance);
    (void)rd_kafka_conf_set(conf, "client.id", name, text, sizeof text);
    set_defaults(conf, common_settings, sizeof common_settings / sizeof common_settings[0]);
    set_defaults(conf, settings, count);
    for (uint32_t i = 0; i < common->property_count; i++) {
        if (!set_property(conf, &common->properties[i], error, error_bytes))
            return false;
    }
    return true;
}

rd_kafka_t *kafka_client(struct kafka_common *common, rd_kafka_type_t type,
                         const struct kafka_setting *settings, size_t count,
                         void (*prepare)(rd_kafka_conf_t *conf, void *context), void *context,
                         char *error, size_t error_bytes)
{
    char text[512], clean[512];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    if (!build(common, conf, settings, count, error, error_bytes)) {
        rd_kafka_conf_destroy(conf);
        return NULL;
    }
    rd_kafka_conf_set_opaque(conf, common);
    rd_kafka_conf_set_log_cb(conf, on_log);
    rd_kafka_conf_set_error_cb(conf, on_error);
    if (prepare != NULL)
        prepare(conf, context);
    rd_kafka_t *client = rd_kafka_new(type, conf, text, sizeof text);
    if (client == NULL) {
        kafka_redact(common, text, clean, sizeof clean);
        snprintf(error, error_bytes, "kafka: librdkafka refuses its settings: %.400s", clean);
        rd_kafka_conf_destroy(conf);
    }
    return client;
}
