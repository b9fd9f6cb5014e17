/*
 * clickhouse.h: statements sent to a ClickHouse server over HTTP(S) (clickhouse*.c, over http.h),
 * and what became of them. What to send, and when again, is the follower's (semantics.md §6).
 *
 *   PIPE_CLICKHOUSE_URL      http(s)://host:port[/database], without credentials; database: of the
 *                            session (default), for users that may see no other
 *   PIPE_CLICKHOUSE_USER, PIPE_CLICKHOUSE_PASSWORD   or PIPE_CLICKHOUSE_TOKEN
 *   PIPE_CLICKHOUSE_CA_FILE  certificates to trust, PEM
 *                            each also …_FILE
 *
 * A request is begun and then asked for until its outcome is known; nothing blocks but a poll that
 * is told to wait. Before its first request, and after any whose connection failed, the client asks
 * the server for its version and settings; a request waits for that by itself, and is REFUSED if
 * nobody answers. Every request sends the settings on which the protocol depends
 * (clickhouse_settings.c).
 *
 * No error text holds a credential; the server's own words may quote a value. One thread uses a
 * client. Requests end before their client is closed.
 */
#ifndef PIPE_CLICKHOUSE_H
#define PIPE_CLICKHOUSE_H

#include "http.h"

struct pipe_table_def; /* pipe.h */
struct pipe_clickhouse;
struct pipe_clickhouse_request;

/* ---- The client ---- */

/* From the environment; connects to nothing. NULL: error if it is not empty, else
 * PIPE_CLICKHOUSE_URL is not set. */
struct pipe_clickhouse *pipe_clickhouse_open(char *error, size_t error_bytes);
void pipe_clickhouse_close(struct pipe_clickhouse *client);
/* Without credentials; valid while the client is. */
const char *pipe_clickhouse_url(const struct pipe_clickhouse *client);
const char *pipe_clickhouse_database(const struct pipe_clickhouse *client);

/* What the server said of itself. */
struct pipe_clickhouse_server {
    char version[32]; /* "25.8.1.5" */
    int major, minor;
    int64_t uptime_s;
    int64_t clock_s;               /* its wall clock, seconds since 1970, when it was asked … */
    int64_t asked_ms, answered_ms; /* … and ours, ms, before and after */
    char host[128];                /* the name of the machine that answered */
    uint32_t known_settings;       /* private: which of the newer settings it takes */
};
/* NULL: it has not answered since the client was opened, or its connection failed since. */
const struct pipe_clickhouse_server *pipe_clickhouse_server(const struct pipe_clickhouse *client);

/* ---- Requests ---- */

enum pipe_clickhouse_outcome {
    PIPE_CLICKHOUSE_PENDING,
    PIPE_CLICKHOUSE_DONE,    /* the server says so, by status, header and body */
    PIPE_CLICKHOUSE_REFUSED, /* surely not acted on (no connection): try again later as it was */
    PIPE_CLICKHOUSE_RETRY, /* an error that passes (too many parts, memory, disk full, a proxy whose
                              server is away, credentials that this client was let in with
                              before): later; some of it may have been acted on */
    PIPE_CLICKHOUSE_UNKNOWN, /* no verdict (deadline, cut, 5xx without an exception, codes 209, 210,
                                319): may have been acted on, or may still be running */
    PIPE_CLICKHOUSE_FATAL    /* never the same again: no such table or column, another type, no
                                privilege, a server too old. Some of it may have been acted on (in
                                a table behind a materialized view) */
};

struct pipe_clickhouse_setting {
    const char *name, *value;
};

struct pipe_clickhouse_call {
    struct pipe_str sql;                            /* an INSERT ends in FORMAT …; a SELECT too */
    const struct pipe_clickhouse_setting *settings; /* besides, or in place of, the client's own */
    uint32_t setting_count;
    const char *query_id; /* NULL: the server makes one. Never used twice */
    const char *token;    /* insert_deduplication_token; NULL: none */
    struct pipe_str body; /* data NULL: none; else the rows. Borrowed until the request ends */
    bool body_lz4;        /* it is an LZ4 frame (pipe_clickhouse_compress) */
    int64_t deadline_ms;  /* from now; less than 2 minutes */
    size_t answer_bytes;  /* a longer answer is UNKNOWN; without `take` */
    /* Takes the answer in pieces as they come; false: no more of it is wanted, the outcome will be
     * FATAL unless the server had an error. All of it counts only once the outcome is DONE: before,
     * the end of what came may be the text of an error. */
    bool (*take)(void *context, struct pipe_str bytes);
    void *context;
};

struct pipe_clickhouse_result {
    enum pipe_clickhouse_outcome outcome;
    int status;           /* of HTTP; 0: no answer */
    int code;             /* of the exception; 0: none */
    struct pipe_buf body; /* DONE, without `take` */
    char error[512];      /* of the other outcomes: one printable line, UTF-8 */
};

/* Copies what the call points to, but for the body. Never NULL. */
struct pipe_clickhouse_request *pipe_clickhouse_begin(struct pipe_clickhouse *client,
                                                      const struct pipe_clickhouse_call *call);
/* Goes on with all requests of the client; waits at most wait_ms for one of them to move, and as
 * long if there is none, so that a loop around it rests while a server is away. */
void pipe_clickhouse_poll(struct pipe_clickhouse *client, int64_t wait_ms);
/* As far as it is known; valid until pipe_clickhouse_end. */
const struct pipe_clickhouse_result *
pipe_clickhouse_look(const struct pipe_clickhouse_request *request);
/* Ends it, also if it is pending: its outcome is then unknown, and the server may go on with it. */
void pipe_clickhouse_end(struct pipe_clickhouse_request *request);

/* Begins, waits, and gives the result, whose body the caller frees (pipe_buf_free). */
void pipe_clickhouse_do(struct pipe_clickhouse *client, const struct pipe_clickhouse_call *call,
                        struct pipe_clickhouse_result *result);
/* The same of a SELECT … FORMAT …, its answer given to `take` in pieces, never held. */
void pipe_clickhouse_select(struct pipe_clickhouse *client, const char *sql, int64_t deadline_ms,
                            bool (*take)(void *context, struct pipe_str bytes), void *context,
                            struct pipe_clickhouse_result *result);
/* "done", "refused", … */
const char *pipe_clickhouse_outcome_name(enum pipe_clickhouse_outcome outcome);

/* Adds `body` as one LZ4 frame with a checksum of its content. */
void pipe_clickhouse_compress(struct pipe_buf *out, struct pipe_str body);

/* ---- Text of statements (clickhouse_sql.c) ---- */

/* A name, quoted where it must be; db.table, each part so; a string literal. */
void pipe_clickhouse_identifier(struct pipe_buf *out, const char *name);
void pipe_clickhouse_table(struct pipe_buf *out, const char *target);
void pipe_clickhouse_literal(struct pipe_buf *out, struct pipe_str text);

/* The rows of one partition from first to last; an attempt sends those of one or several. */
struct pipe_clickhouse_range {
    int32_t partition;
    int64_t first, last;
};
/* The insert of these ranges, their rows in `format` ("Native", "RowBinary"): with the condition
 * that adds only what is missing, or plain where §6 says so (pipe_clickhouse_is_plain). The rows
 * hold the table's columns in their order. FATAL if the table's columns are of other types than the
 * plan's. */
void pipe_clickhouse_insert_sql(struct pipe_buf *out, const struct pipe_table_def *table,
                                const struct pipe_clickhouse_range *ranges, uint32_t count,
                                const char *format);
bool pipe_clickhouse_is_plain(const struct pipe_table_def *table);
/* The probe: answers with one line, the number of rows of the ranges that are there. Of tables with
 * positions only. */
void pipe_clickhouse_probe_sql(struct pipe_buf *out, const struct pipe_table_def *table,
                               const struct pipe_clickhouse_range *ranges, uint32_t count);

#endif
