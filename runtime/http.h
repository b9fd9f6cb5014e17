/*
 * http.h: requests over HTTP(S), the runtime's only way to speak it (libcurl; http.c). Another
 * implementation can be linked in its place.
 *
 * A request is begun and then asked for until its outcome is known; nothing blocks but a poll that
 * is told to wait. Every request ends: at its deadline as TIMEOUT. Redirects are not followed, for
 * credentials would go along. No error text holds a credential or a body.
 *
 * One thread uses a client. Requests end before their client is closed.
 */
#ifndef PIPE_HTTP_H
#define PIPE_HTTP_H

#include "value.h"

enum pipe_http_outcome {
    PIPE_HTTP_PENDING,
    PIPE_HTTP_ANSWERED, /* status and body */
    PIPE_HTTP_REFUSED,  /* surely not acted on: no connection, no such host, no trust */
    PIPE_HTTP_TIMEOUT,  /* the deadline has passed: may have been acted on */
    PIPE_HTTP_UNKNOWN   /* it broke in between: may have been acted on */
};

struct pipe_http_config {
    const char *user, *password; /* basic authentication; NULL: none */
    const char *token;           /* a bearer token; NULL: none */
    const char *ca_file;         /* certificates to trust, PEM; NULL: those of the system */
};

#define PIPE_HTTP_WANTED 4 /* headers of an answer */

struct pipe_http_call {
    const char *method; /* "GET" */
    const char *url;
    const char *content_type;     /* of the body; NULL: no body */
    const char *content_encoding; /* the body is packed so: "lz4"; NULL: it is not */
    const char *accept;           /* NULL: anything */
    struct pipe_str body;
    bool body_borrowed;  /* the body stays as it is until the request ends; else it is copied */
    bool own_connection; /* made for this request: what was lost on one that was kept would be
                            sent again silently */
    int64_t deadline_ms; /* from now */
    size_t answer_bytes; /* a longer answer is UNKNOWN */
    const char *const *wanted; /* names of headers that the answer shall hold; static */
    uint32_t wanted_count;     /* at most PIPE_HTTP_WANTED */
    /* Takes the body of an answer with a status of 200 to 299 in pieces as they come (answer_bytes
     * does not limit it, answer.body stays empty); false: it is enough, the outcome is UNKNOWN. */
    bool (*take)(void *context, struct pipe_str bytes);
    void *context;
};

struct pipe_http_answer {
    enum pipe_http_outcome outcome;
    int status;                         /* ANSWERED */
    struct pipe_buf body;               /* ANSWERED */
    char wanted[PIPE_HTTP_WANTED][128]; /* values of those headers, cut; "": not there. Also of an
                                           answer that broke off */
    char error[256];                    /* of the other outcomes: what went wrong, ASCII */
};

struct pipe_http;         /* a client: connections that are kept */
struct pipe_http_request; /* one that was begun */

/* Copies the configuration. */
struct pipe_http *pipe_http_open(const struct pipe_http_config *config);
void pipe_http_close(struct pipe_http *http);

/* Whether a request could go there. */
bool pipe_http_is_url(const char *url);
/* Puts *** for the client's password, token, and what it sends of them, and for the beginning of
 * one at the end of a text that was cut. */
void pipe_http_mask(const struct pipe_http *http, char *text);

/* Copies what the call points to, but for a borrowed body. Never NULL: what is wrong is the
 * answer's. */
struct pipe_http_request *pipe_http_begin(struct pipe_http *http,
                                          const struct pipe_http_call *call);
/* Goes on with all requests of the client; waits at most wait_ms for one of them to move. */
void pipe_http_poll(struct pipe_http *http, int64_t wait_ms);
/* The answer as far as it is known; valid until pipe_http_end. */
const struct pipe_http_answer *pipe_http_look(const struct pipe_http_request *request);
/* Ends it, also if it is pending: its outcome is then unknown. */
void pipe_http_end(struct pipe_http_request *request);

/* Begins, waits, and gives the answer, whose body the caller frees (pipe_buf_free). */
void pipe_http_do(struct pipe_http *http, const struct pipe_http_call *call,
                  struct pipe_http_answer *answer);

#endif
