/*
 * registry.h: a schema registry with Confluent's REST interface, as a cache of what it said of
 * schema ids, and for `contracts push` what it is asked to register.
 *
 *   PIPE_REGISTRY_URL        http(s)://host:port[/path], without credentials
 *   PIPE_REGISTRY_USER, PIPE_REGISTRY_PASSWORD   or PIPE_REGISTRY_TOKEN; each also …_FILE
 *   PIPE_REGISTRY_CA_FILE    certificates to trust, PEM
 *
 * Ids are looked up without blocking. A registry that does not answer, or answers anything but a
 * schema or "no such schema" (404 with error code 40403), is down: it is asked again, less and less
 * often, and the first failure and one a minute is told on stderr.
 *
 * One thread uses a registry. Times are µs of the monotonic clock, given by the caller.
 */
#ifndef PIPE_REGISTRY_H
#define PIPE_REGISTRY_H

#include "http.h"

#define PIPE_REGISTRY_SCHEMA_BYTES (256u << 10) /* longer ones are not read */

struct pipe_registry;

/* NULL: error if it is not empty, else PIPE_REGISTRY_URL is not set. */
struct pipe_registry *pipe_registry_open(char *error, size_t error_bytes);
void pipe_registry_close(struct pipe_registry *registry);
const char *pipe_registry_url(const struct pipe_registry *registry);

/* ---- Schema ids ---- */

enum pipe_registry_state {
    PIPE_REGISTRY_WAIT,     /* asked, or to be asked: poll and look again */
    PIPE_REGISTRY_SCHEMA,   /* text: an Avro schema, as registered */
    PIPE_REGISTRY_UNUSABLE, /* text: why the schema can't be read ("is a PROTOBUF schema") */
    PIPE_REGISTRY_ABSENT    /* it said that there is no such schema */
};
struct pipe_registry_entry {
    enum pipe_registry_state state;
    const char *text; /* valid until the next look */
    int64_t asked_us; /* for that answer */
    bool absent;      /* WAIT: it said that there is none, but before absent_us */
};
/* What is known of the id. ABSENT only if it was asked at or after absent_us; else it is asked
 * again, about once a second until then. */
struct pipe_registry_entry pipe_registry_look(struct pipe_registry *registry, uint32_t id,
                                              int64_t absent_us, int64_t now_us);
/* Goes on with what was asked. */
void pipe_registry_poll(struct pipe_registry *registry, int64_t now_us);
/* When it answered again after it was down: then it may not know yet what it knew before.
 * INT64_MIN: it was never down. */
int64_t pipe_registry_back_us(const struct pipe_registry *registry);

/* ---- Subjects; these block ---- */

/* One request; `path` as "/subjects/x/versions", with x escaped by pipe_registry_subject. False:
 * error. The answer's body is the caller's to free in any case. */
bool pipe_registry_call(struct pipe_registry *registry, const char *method, const char *path,
                        struct pipe_str body, struct pipe_http_answer *answer, char *error,
                        size_t error_bytes);
/* A subject as part of a path; false: too long. */
bool pipe_registry_subject(const char *subject, char *out, size_t out_bytes);

#endif
