/*
 * options_kafka.c: what the command line and the environment say about Kafka, and the transport of
 * a run that comes from it. Values may be secrets: no message holds one.
 *
 *   --kafka KEY=VALUE          a property of librdkafka; VALUE @FILE: what the file holds
 *   PIPE_KAFKA_BOOTSTRAP       bootstrap.servers
 *   PIPE_KAFKA_SASL_PASSWORD   sasl.password, and so on: lower case, a dot for each underscore
 *   PIPE_KAFKA_…_FILE          the same, from a file
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine.h"
#include "environment.h"
#include "new_file.h"
#include "regular_file.h"

#define PREFIX "PIPE_KAFKA_"

extern char **environ;

/* ---- Properties ---- */

static char *copy(const char *text, size_t size)
{
    return pipe_str_dup(pipe_str_of(text, size));
}

static struct pipe_kafka_property *find(const struct pipe_kafka_options *options, const char *name)
{
    for (uint32_t i = 0; i < options->property_count; i++) {
        if (strcmp(options->properties[i].name, name) == 0)
            return &options->properties[i];
    }
    return NULL;
}

const char *pipe_kafka_value(const struct pipe_kafka_options *options, const char *name)
{
    const struct pipe_kafka_property *property = find(options, name);
    return property != NULL ? property->value : NULL;
}

/* Takes the strings. */
static void add(struct pipe_kafka_options *options, char *name, char *value, char *from)
{
    options->properties = pipe_realloc(options->properties,
                                       (options->property_count + 1) * sizeof *options->properties);
    options->properties[options->property_count++] =
        (struct pipe_kafka_property){name, value, from};
}

const char *pipe_kafka_take(struct pipe_kafka_options *options, const char *text)
{
    static char wrong[256];
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text)
        return "expected KEY=VALUE, KEY being a property of librdkafka";
    char *name = copy(text, (size_t)(equals - text));
    if (find(options, name) != NULL) {
        free(name);
        return "is given twice; which one counts?";
    }
    char *value = equals[1] == '@' ? pipe_environment_file(equals + 2) : pipe_text_dup(equals + 1);
    if (value == NULL) {
        free(name);
        snprintf(wrong, sizeof wrong, "the file can't be read: %s", pipe_regular_reason(errno));
        return wrong;
    }
    add(options, name, value, pipe_text_dup("--kafka"));
    return NULL;
}

/* sasl.password of SASL_PASSWORD. */
static char *property_name(const char *variable, size_t size)
{
    if (size == 9 && memcmp(variable, "BOOTSTRAP", 9) == 0)
        return pipe_text_dup("bootstrap.servers");
    char *name = copy(variable, size);
    for (size_t i = 0; i < size; i++)
        name[i] = name[i] == '_' ? '.' : (char)tolower((unsigned char)name[i]);
    return name;
}

bool pipe_kafka_environment(struct pipe_kafka_options *options, char *error, size_t error_bytes)
{
    for (char **at = environ; *at != NULL; at++) {
        const char *equals = strchr(*at, '=');
        if (strncmp(*at, PREFIX, strlen(PREFIX)) != 0 || equals == NULL || equals[1] == '\0')
            continue;
        const char *variable = *at + strlen(PREFIX);
        size_t size = (size_t)(equals - variable);
        bool file = size > 5 && memcmp(equals - 5, "_FILE", 5) == 0;
        char *name = property_name(variable, file ? size - 5 : size);
        if (find(options, name) != NULL) { /* the command line comes first */
            free(name);
            continue;
        }
        char *value = file ? pipe_environment_file(equals + 1) : pipe_text_dup(equals + 1);
        char *from = copy(*at, (size_t)(equals - *at));
        if (value == NULL) {
            snprintf(error, error_bytes, "%s names a file that can't be read: %s", from,
                     pipe_regular_reason(errno));
            free(name);
            free(from);
            return false;
        }
        add(options, name, value, from);
    }
    return true;
}

void pipe_kafka_options_free(struct pipe_kafka_options *options)
{
    for (uint32_t i = 0; i < options->property_count; i++) {
        memset((char *)options->properties[i].value, 0, strlen(options->properties[i].value));
        free((char *)options->properties[i].name);
        free((char *)options->properties[i].value);
        free((char *)options->properties[i].from);
    }
    free(options->properties);
    options->properties = NULL;
    options->property_count = 0;
}

/* ---- The configuration of the log ---- */

bool pipe_kafka_config(const struct pipe_plan *plan, const struct pipe_kafka_options *options,
                       struct pipe_kafka_config *config, char *error, size_t error_bytes)
{
    const char *timeout = pipe_kafka_value(options, "transaction.timeout.ms");
    *config = (struct pipe_kafka_config){.pipeline = plan->name,
                                         .plan_hash = plan->hash,
                                         .group = options->group,
                                         .instance = options->instance,
                                         .prefetch_kib = options->prefetch_kib,
                                         .fetch = options->fetch,
                                         .transaction_timeout_ms = KAFKA_TRANSACTION_MS};
    if (timeout != NULL &&
        !pipe_parse_count(timeout, 1000, 900000, &config->transaction_timeout_ms)) {
        snprintf(error, error_bytes,
                 "transaction.timeout.ms: expected a number of milliseconds, from 1000 to "
                 "900000");
        return false;
    }
    struct pipe_kafka_property *others = pipe_calloc(options->property_count + 1, sizeof *others);
    for (uint32_t i = 0; i < options->property_count; i++) {
        if (strcmp(options->properties[i].name, "transaction.timeout.ms") != 0)
            others[config->property_count++] = options->properties[i];
    }
    config->properties = others;
    return true;
}

/* ---- The name of the instance ---- */

static bool is_name(const char *text)
{
    size_t size = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");
    return size > 0 && size <= 200 && text[size] == '\0';
}

/* Made once, and then that of the directory: what was done under it is found under it. */
static char *make_instance(const char *path, char *error, size_t error_bytes)
{
    uint8_t random[8];
    char temporary[4300], *name = pipe_calloc(1, 2 * sizeof random + 1);
    pipe_random_bytes(random, sizeof random);
    pipe_hex_write(name, random, sizeof random);
    snprintf(temporary, sizeof temporary, "%s.new", path);
    int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    ssize_t size = (ssize_t)strlen(name);
    bool ok = fd >= 0 && write(fd, name, (size_t)size) == size && write(fd, "\n", 1) == 1 &&
              fsync(fd) == 0;
    int cause = errno;
    if (fd >= 0)
        close(fd);
    if (ok && rename(temporary, path) == 0 && pipe_sync_parent(path))
        return name;
    snprintf(error, error_bytes, "%s can't be written: %s", path, strerror(ok ? errno : cause));
    free(name);
    return NULL;
}

static char *find_instance(const char *dir, char *error, size_t error_bytes)
{
    char path[4200];
    snprintf(path, sizeof path, "%.4000s/instance", dir);
    char *name = pipe_environment_file(path);
    if (name == NULL && errno == ENOENT)
        return make_instance(path, error, error_bytes);
    if (name != NULL && is_name(name))
        return name;
    snprintf(error, error_bytes, "%s %s; name the instance with --instance, or delete the file",
             path, name == NULL ? pipe_regular_reason(errno) : "holds no name of an instance");
    free(name);
    return NULL;
}

/* ---- The transport ---- */

static struct pipe_log *open_kafka(void *context, const char *dir, char *error, size_t error_bytes)
{
    struct pipe_kafka_run *run = context;
    struct pipe_kafka_config config;
    char *made = NULL;
    struct pipe_log *log = NULL;
    if (run->options->instance == NULL)
        made = find_instance(dir, error, error_bytes);
    if (run->options->instance == NULL && made == NULL)
        return NULL;
    if (pipe_kafka_config(run->plan, run->options, &config, error, error_bytes)) {
        config.instance = made != NULL ? made : run->options->instance;
        log = pipe_log_kafka_open(&config, error, error_bytes);
        free((void *)config.properties);
    }
    free(made);
    return log;
}

const struct pipe_transport *pipe_kafka_transport(struct pipe_kafka_run *run,
                                                  const struct pipe_plan *plan,
                                                  const struct pipe_kafka_options *options)
{
    *run = (struct pipe_kafka_run){.plan = plan, .options = options};
    run->transport = (struct pipe_transport){run, open_kafka};
    return &run->transport;
}
