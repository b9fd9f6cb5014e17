/* registry.c: see registry.h. */
#include "registry.h"

#include <ctype.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine.h"
#include "environment.h"

#define ENTRIES_MAX                                                                                \
    131072u        /* more than a batch can need; then the one that was looked at least lately is  \
                      forgotten */
#define AT_ONCE 8u /* requests */
#define DEADLINE_MS 10000
#define ANSWER_BYTES (1u << 20)
#define AGAIN_US 1000000 /* an absent id is asked for again */
#define BACKOFF_LEAST_US 250000
#define BACKOFF_MOST_US 5000000
#define TELL_EVERY_US 60000000
#define NO_SUCH_SCHEMA 40403
#define MEDIA_TYPE "application/vnd.schemaregistry.v1+json"

struct entry {
    uint32_t id;
    enum pipe_registry_state state; /* WAIT: never answered */
    char *text;
    int64_t answered_us;               /* when what it answered was asked */
    int64_t asked_us, looked_us;       /* asked_us INT64_MIN: never */
    struct pipe_http_request *request; /* NULL: none under way */
};

struct pipe_registry {
    struct pipe_http *http;
    char *url;
    struct entry *entries; /* by id */
    uint32_t count, capacity, under_way;
    int64_t backoff_us; /* 0: it answers */
    int64_t next_us;    /* nothing is asked before */
    int64_t down_since_us, told_us, back_us;
};

/* ---- Opening ---- */

static bool check_url(char *url, char *error, size_t error_bytes)
{
    bool known = strncmp(url, "http://", 7) == 0 || strncmp(url, "https://", 8) == 0;
    const char *host = known ? strstr(url, "://") + 3 : url;
    const char *at = strchr(host, '@'), *slash = strchr(host, '/');
    size_t size = strlen(url);
    if (at != NULL && (slash == NULL || at < slash)) {
        snprintf(error, error_bytes,
                 "PIPE_REGISTRY_URL must not hold credentials: set PIPE_REGISTRY_USER and "
                 "PIPE_REGISTRY_PASSWORD (or …_PASSWORD_FILE)");
        return false;
    }
    if (!known || *host == '\0' || strpbrk(url, " \t\r\n?#") != NULL || size > 512) {
        snprintf(error, error_bytes, "PIPE_REGISTRY_URL must be http://host:port or https://…");
        return false;
    }
    while (url[size - 1] == '/')
        url[--size] = '\0';
    return true;
}

static bool read_environment(char **url, char **user, char **password, char **token, char *error,
                             size_t error_bytes)
{
    return pipe_environment("PIPE_REGISTRY_URL", url, error, error_bytes) &&
           pipe_environment("PIPE_REGISTRY_USER", user, error, error_bytes) &&
           pipe_environment("PIPE_REGISTRY_PASSWORD", password, error, error_bytes) &&
           pipe_environment("PIPE_REGISTRY_TOKEN", token, error, error_bytes);
}

struct pipe_registry *pipe_registry_open(char *error, size_t error_bytes)
{
    char *url = NULL, *user = NULL, *password = NULL, *token = NULL;
    struct pipe_registry *registry = NULL;
    error[0] = '\0';
    if (read_environment(&url, &user, &password, &token, error, error_bytes) && url != NULL &&
        check_url(url, error, error_bytes)) {
        const struct pipe_http_config config = {user, password, token,
                                                getenv("PIPE_REGISTRY_CA_FILE")};
        registry = pipe_calloc(1, sizeof *registry);
        registry->http = pipe_http_open(&config);
        registry->next_us = registry->told_us = registry->back_us = INT64_MIN;
        registry->url = url;
        url = NULL;
    }
    free(url);
    pipe_environment_forget(user);
    pipe_environment_forget(password);
    pipe_environment_forget(token);
    return registry;
}

void pipe_registry_close(struct pipe_registry *registry)
{
    if (registry == NULL)
        return;
    for (uint32_t i = 0; i < registry->count; i++) {
        pipe_http_end(registry->entries[i].request);
        free(registry->entries[i].text);
    }
    pipe_http_close(registry->http);
    free(registry->entries);
    free(registry->url);
    free(registry);
}

const char *pipe_registry_url(const struct pipe_registry *registry)
{
    return registry->url;
}

int64_t pipe_registry_back_us(const struct pipe_registry *registry)
{
    return registry->back_us;
}

/* ---- Entries ---- */

/* Where the id is, or would stand. */
static uint32_t place_of(const struct pipe_registry *registry, uint32_t id)
{
    uint32_t low = 0, high = registry->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (registry->entries[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void forget_oldest(struct pipe_registry *registry)
{
    uint32_t oldest = UINT32_MAX;
    for (uint32_t i = 0; i < registry->count; i++) {
        const struct entry *entry = &registry->entries[i];
        if (entry->request == NULL &&
            (oldest == UINT32_MAX || entry->looked_us < registry->entries[oldest].looked_us))
            oldest = i;
    }
    free(registry->entries[oldest].text); /* AT_ONCE at most have a request */
    registry->count--;
    memmove(&registry->entries[oldest], &registry->entries[oldest + 1],
            (registry->count - oldest) * sizeof *registry->entries);
}

static struct entry *entry_of(struct pipe_registry *registry, uint32_t id)
{
    uint32_t at = place_of(registry, id);
    if (at < registry->count && registry->entries[at].id == id)
        return &registry->entries[at];
    if (registry->count == ENTRIES_MAX) {
        forget_oldest(registry);
        at = place_of(registry, id);
    }
    if (registry->count == registry->capacity) {
        registry->capacity = registry->capacity == 0 ? 16 : registry->capacity * 2;
        registry->entries =
            pipe_realloc(registry->entries, registry->capacity * sizeof *registry->entries);
    }
    memmove(&registry->entries[at + 1], &registry->entries[at],
            (registry->count - at) * sizeof *registry->entries);
    registry->count++;
    registry->entries[at] = (struct entry){.id = id, .asked_us = INT64_MIN};
    return &registry->entries[at];
}

/* ---- Asking ---- */

static void ask(struct pipe_registry *registry, struct entry *entry, int64_t now_us)
{
    char url[640];
    uint32_t most = registry->backoff_us > 0 ? 1 : AT_ONCE; /* one, to see whether it is back */
    if (entry->request != NULL || now_us < registry->next_us || registry->under_way >= most)
        return;
    snprintf(url, sizeof url, "%s/schemas/ids/%" PRIu32, registry->url, entry->id);
    const struct pipe_http_call call = {.method = "GET",
                                        .url = url,
                                        .accept = MEDIA_TYPE ", application/json",
                                        .deadline_ms = DEADLINE_MS,
                                        .answer_bytes = ANSWER_BYTES};
    entry->request = pipe_http_begin(registry->http, &call);
    entry->asked_us = now_us;
    registry->under_way++;
}

static void set_text(struct entry *entry, enum pipe_registry_state state, const char *text)
{
    entry->state = state;
    free(entry->text);
    entry->text = pipe_text_dup(text);
}

/* The body of a 200. False: it is none that a registry gives. */
static bool take_schema(struct entry *entry, const json_t *answer)
{
    char reason[128];
    const json_t *schema = json_object_get(answer, "schema");
    const char *type = json_string_value(json_object_get(answer, "schemaType"));
    if (!json_is_string(schema))
        return false;
    if (type != NULL && strcmp(type, "AVRO") != 0) {
        snprintf(reason, sizeof reason, "is a %.40s schema, not an Avro schema", type);
        for (char *at = reason; *at != '\0'; at++)
            *at = *at >= ' ' && *at <= '~' ? *at : '?';
        set_text(entry, PIPE_REGISTRY_UNUSABLE, reason);
    } else if (json_array_size(json_object_get(answer, "references")) > 0) {
        set_text(entry, PIPE_REGISTRY_UNUSABLE,
                 "refers to other schemas of the registry, which are not read");
    } else if (json_string_length(schema) > PIPE_REGISTRY_SCHEMA_BYTES) {
        snprintf(reason, sizeof reason, "is a schema of %zu bytes, more than %u",
                 json_string_length(schema), PIPE_REGISTRY_SCHEMA_BYTES);
        set_text(entry, PIPE_REGISTRY_UNUSABLE, reason);
    } else {
        set_text(entry, PIPE_REGISTRY_SCHEMA, json_string_value(schema));
    }
    return true;
}

/* What the answer says of the id. False: the registry is down, or is none; cause tells why. */
static bool take_answer(struct entry *entry, const struct pipe_http_answer *answer, char *cause,
                        size_t cause_bytes)
{
    if (answer->outcome != PIPE_HTTP_ANSWERED) {
        snprintf(cause, cause_bytes, "%s", answer->error);
        return false;
    }
    json_t *json = json_loadb((const char *)answer->body.data, answer->body.size, 0, NULL);
    json_int_t code = json_integer_value(json_object_get(json, "error_code"));
    bool understood = answer->status == 200 && json_is_object(json) && take_schema(entry, json);
    if (!understood && answer->status == 404 && code == NO_SUCH_SCHEMA) {
        entry->state = PIPE_REGISTRY_ABSENT;
        understood = true;
    }
    json_decref(json);
    if (!understood)
        snprintf(cause, cause_bytes, "it answers with status %d%s", answer->status,
                 answer->status == 401 || answer->status == 403
                     ? ": see PIPE_REGISTRY_USER, PIPE_REGISTRY_PASSWORD, PIPE_REGISTRY_TOKEN"
                 : answer->status == 404 || answer->status == 200
                     ? ", but not as a schema registry does: see PIPE_REGISTRY_URL"
                     : "");
    return understood;
}

static void went_down(struct pipe_registry *registry, const char *cause, int64_t now_us)
{
    if (registry->backoff_us == 0)
        registry->down_since_us = now_us;
    registry->backoff_us = registry->backoff_us == 0 ? BACKOFF_LEAST_US : registry->backoff_us * 2;
    if (registry->backoff_us > BACKOFF_MOST_US)
        registry->backoff_us = BACKOFF_MOST_US;
    registry->next_us = now_us + registry->backoff_us;
    if (registry->told_us != INT64_MIN && now_us - registry->told_us < TELL_EVERY_US)
        return;
    registry->told_us = now_us;
    pipe_message(PIPE_WARNING,
                 "the schema registry is down: partitions with records of an unknown schema wait "
                 "for it",
                 "url=%s cause=\"%s\" seconds=%" PRId64, registry->url, PIPE_QUOTED(cause),
                 (now_us - registry->down_since_us) / 1000000);
}

static void came_back(struct pipe_registry *registry, int64_t now_us)
{
    if (registry->backoff_us > 0) {
        pipe_message(PIPE_INFO, "the schema registry answers again", "url=%s seconds=%" PRId64,
                     registry->url, (now_us - registry->down_since_us) / 1000000);
        registry->back_us = now_us;
    }
    registry->backoff_us = 0;
    registry->next_us = registry->told_us = INT64_MIN;
}

void pipe_registry_poll(struct pipe_registry *registry, int64_t now_us)
{
    char cause[320];
    if (registry->under_way == 0)
        return;
    pipe_http_poll(registry->http, 0);
    for (uint32_t i = 0; i < registry->count; i++) {
        struct entry *entry = &registry->entries[i];
        if (entry->request == NULL || pipe_http_look(entry->request)->outcome == PIPE_HTTP_PENDING)
            continue;
        if (take_answer(entry, pipe_http_look(entry->request), cause, sizeof cause)) {
            entry->answered_us = entry->asked_us;
            came_back(registry, now_us);
        } else {
            went_down(registry, cause, now_us);
        }
        pipe_http_end(entry->request);
        entry->request = NULL;
        registry->under_way--;
    }
}

struct pipe_registry_entry pipe_registry_look(struct pipe_registry *registry, uint32_t id,
                                              int64_t absent_us, int64_t now_us)
{
    struct entry *entry = entry_of(registry, id);
    entry->looked_us = now_us;
    bool counts = entry->state == PIPE_REGISTRY_SCHEMA || entry->state == PIPE_REGISTRY_UNUSABLE ||
                  (entry->state == PIPE_REGISTRY_ABSENT && entry->answered_us >= absent_us);
    if (counts)
        return (struct pipe_registry_entry){entry->state, entry->text, entry->answered_us, false};
    if (entry->state != PIPE_REGISTRY_ABSENT || now_us - entry->asked_us >= AGAIN_US ||
        (now_us >= absent_us && entry->asked_us < absent_us))
        ask(registry, entry, now_us);
    return (struct pipe_registry_entry){.state = PIPE_REGISTRY_WAIT,
                                        .absent = entry->state == PIPE_REGISTRY_ABSENT};
}

/* ---- Subjects ---- */

bool pipe_registry_subject(const char *subject, char *out, size_t out_bytes)
{
    size_t used = 0;
    for (; *subject != '\0'; subject++) {
        unsigned char byte = (unsigned char)*subject;
        if (used + 4 > out_bytes)
            return false;
        if (isalnum(byte) || strchr("-._~", byte) != NULL)
            out[used++] = (char)byte;
        else
            used += (size_t)snprintf(out + used, out_bytes - used, "%%%02X", byte);
    }
    out[used] = '\0';
    return true;
}

bool pipe_registry_call(struct pipe_registry *registry, const char *method, const char *path,
                        struct pipe_str body, struct pipe_http_answer *answer, char *error,
                        size_t error_bytes)
{
    char url[2048];
    snprintf(url, sizeof url, "%s%s", registry->url, path);
    const struct pipe_http_call call = {.method = method,
                                        .url = url,
                                        .content_type = body.data != NULL ? MEDIA_TYPE : NULL,
                                        .accept = MEDIA_TYPE ", application/json",
                                        .body = body,
                                        .deadline_ms = DEADLINE_MS,
                                        .answer_bytes = ANSWER_BYTES};
    pipe_http_do(registry->http, &call, answer);
    if (answer->outcome == PIPE_HTTP_ANSWERED)
        return true;
    snprintf(error, error_bytes, "the schema registry at %s does not answer: %s", registry->url,
             answer->error);
    return false;
}
