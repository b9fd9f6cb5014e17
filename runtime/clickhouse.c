/* clickhouse.c: see clickhouse.h; the client and its requests. */
#include <inttypes.h>
#include <lz4frame.h>
#include <stdio.h>
#include <stdlib.h>

#include "clickhouse_internal.h"
#include "engine.h"
#include "environment.h"

#define HELLO_MS 10000
#define HELLO_BYTES 4096
#define ANSWER_BYTES (1u << 20)
#define URL_SHORT_BYTES 8000u /* which everybody takes */

struct pipe_clickhouse {
    struct pipe_http *http;
    char *url, *database; /* the url without the database, without a `/` at its end */
    bool is_known;
    bool was_let_in; /* the server has taken these credentials */
    struct pipe_clickhouse_server server;
    struct pipe_http_request *hello; /* NULL: none under way */
    struct pipe_clickhouse_request *first, *last;
};

struct pipe_clickhouse_request {
    struct pipe_clickhouse *client;
    struct pipe_clickhouse_request *next, *before;
    struct pipe_http_request *request; /* NULL: waits for the hello, or is done */
    struct pipe_clickhouse_call call;  /* what it points to is in `kept`, but for the body */
    struct pipe_arena kept;
    int64_t deadline_us; /* of the monotonic clock */
    size_t url_bytes;
    struct pipe_buf tail;
    bool not_taken;
    struct pipe_clickhouse_result result;
};

/* ---- Opening ---- */

/* Cuts the database off. */
static bool split_url(char *url, char **database, char *error, size_t error_bytes)
{
    bool known = strncmp(url, "http://", 7) == 0 || strncmp(url, "https://", 8) == 0;
    char *host = known ? strstr(url, "://") + 3 : url;
    char *slash = strchr(host, '/');
    size_t host_bytes = slash != NULL ? (size_t)(slash - host) : strlen(host);
    if (strchr(url, '@') != NULL) { /* also behind a `/` in a password */
        snprintf(error, error_bytes,
                 "PIPE_CLICKHOUSE_URL must not hold credentials: set PIPE_CLICKHOUSE_USER and "
                 "PIPE_CLICKHOUSE_PASSWORD (or …_PASSWORD_FILE)");
        return false;
    }
    bool deep = slash != NULL && strchr(slash + 1, '/') != NULL;
    if (!known || host_bytes == 0 || deep || strpbrk(url, " \t\r\n?#") != NULL ||
        strlen(url) > 512 || !pipe_http_is_url(url)) {
        snprintf(error, error_bytes,
                 "PIPE_CLICKHOUSE_URL must be http://host:port or https://host:port, with "
                 "/database behind it if it is not `default`");
        return false;
    }
    *database = pipe_text_dup(slash != NULL && slash[1] != '\0' ? slash + 1 : "default");
    if (slash != NULL)
        *slash = '\0';
    return true;
}

/* They go into lines of a request, the user before a `:`. */
static bool check_credential(const char *name, const char *value, const char *without, char *error,
                             size_t error_bytes)
{
    if (value == NULL || strpbrk(value, without) == NULL)
        return true;
    snprintf(error, error_bytes, "%s must not hold %sline ends", name,
             strchr(without, ':') != NULL ? "`:` or " : "");
    return false;
}

static bool read_environment(char **url, char **user, char **password, char **token, char **ca_file,
                             char *error, size_t error_bytes)
{
    return pipe_environment("PIPE_CLICKHOUSE_URL", url, error, error_bytes) &&
           pipe_environment("PIPE_CLICKHOUSE_USER", user, error, error_bytes) &&
           pipe_environment("PIPE_CLICKHOUSE_PASSWORD", password, error, error_bytes) &&
           pipe_environment("PIPE_CLICKHOUSE_TOKEN", token, error, error_bytes) &&
           pipe_environment("PIPE_CLICKHOUSE_CA_FILE", ca_file, error, error_bytes) &&
           check_credential("PIPE_CLICKHOUSE_USER", *user, ":\r\n", error, error_bytes) &&
           check_credential("PIPE_CLICKHOUSE_PASSWORD", *password, "\r\n", error, error_bytes) &&
           check_credential("PIPE_CLICKHOUSE_TOKEN", *token, "\r\n", error, error_bytes);
}

struct pipe_clickhouse *pipe_clickhouse_open(char *error, size_t error_bytes)
{
    char *url = NULL, *user = NULL, *password = NULL, *token = NULL, *ca_file = NULL;
    char *database = NULL;
    struct pipe_clickhouse *client = NULL;
    error[0] = '\0';
    if (read_environment(&url, &user, &password, &token, &ca_file, error, error_bytes) &&
        url != NULL && split_url(url, &database, error, error_bytes)) {
        const struct pipe_http_config config = {user, password, token, ca_file};
        client = pipe_calloc(1, sizeof *client);
        client->http = pipe_http_open(&config);
        client->url = url;
        client->database = database;
        url = NULL;
    }
    free(url);
    free(ca_file);
    pipe_environment_forget(user);
    pipe_environment_forget(password);
    pipe_environment_forget(token);
    return client;
}

void pipe_clickhouse_close(struct pipe_clickhouse *client)
{
    if (client == NULL)
        return;
    pipe_http_end(client->hello);
    pipe_http_close(client->http);
    free(client->url);
    free(client->database);
    free(client);
}

const char *pipe_clickhouse_url(const struct pipe_clickhouse *client)
{
    return client->url;
}

const char *pipe_clickhouse_database(const struct pipe_clickhouse *client)
{
    return client->database;
}

const struct pipe_clickhouse_server *pipe_clickhouse_server(const struct pipe_clickhouse *client)
{
    return client->is_known ? &client->server : NULL;
}

/* ---- Sending ---- */

static char *url_with(const struct pipe_clickhouse *client, const struct pipe_buf *parameters)
{
    struct pipe_buf url = {0};
    pipe_buf_printf(&url, "%s/?%.*s", client->url, (int)parameters->size, parameters->data);
    pipe_buf_add_byte(&url, '\0');
    return (char *)url.data;
}

static bool take_piece(void *context, struct pipe_str bytes)
{
    struct pipe_clickhouse_request *request = context;
    struct pipe_buf *tail = &request->tail;
    struct pipe_str end = bytes;
    if (end.size > CLICKHOUSE_TAIL)
        end = pipe_str_of(bytes.data + bytes.size - CLICKHOUSE_TAIL, CLICKHOUSE_TAIL);
    if (tail->size + end.size > 2 * CLICKHOUSE_TAIL) {
        size_t kept = CLICKHOUSE_TAIL - end.size;
        memmove(tail->data, tail->data + tail->size - kept, kept);
        tail->size = kept;
    }
    pipe_buf_add(tail, end.data, end.size);
    if (!request->not_taken)
        request->not_taken = !request->call.take(request->call.context, bytes);
    return !request->not_taken || tail->size < CLICKHOUSE_TAIL;
}

static void send_call(struct pipe_clickhouse_request *request)
{
    struct pipe_clickhouse *client = request->client;
    const struct pipe_clickhouse_call *call = &request->call;
    struct pipe_buf parameters = {0};
    bool insert = call->body.data != NULL;
    int64_t left_ms = (request->deadline_us - engine_monotonic_us()) / 1000;
    clickhouse_parameters(&parameters, call, client->database, client->server.known_settings);
    char *url = url_with(client, &parameters);
    request->url_bytes = strlen(url);
    const struct pipe_http_call http = {
        .method = "POST",
        .url = url,
        .content_type = insert ? "application/octet-stream" : "text/plain; charset=utf-8",
        .content_encoding = insert && call->body_lz4 ? "lz4" : NULL,
        .body = insert ? call->body : call->sql,
        .body_borrowed = true,
        .own_connection = insert,
        .deadline_ms = left_ms > 1 ? left_ms : 1,
        .answer_bytes = call->answer_bytes > 0 ? call->answer_bytes : ANSWER_BYTES,
        .wanted = clickhouse_wanted,
        .wanted_count = CLICKHOUSE_HEADERS,
        .take = call->take != NULL ? take_piece : NULL,
        .context = request,
    };
    request->request = pipe_http_begin(client->http, &http);
    free(url);
    pipe_buf_free(&parameters);
}

static void send_hello(struct pipe_clickhouse *client)
{
    struct pipe_buf parameters = {0}, sql = {0};
    clickhouse_hello_parameters(&parameters, client->database);
    clickhouse_hello_sql(&sql);
    char *url = url_with(client, &parameters);
    const struct pipe_http_call http = {
        .method = "POST",
        .url = url,
        .content_type = "text/plain; charset=utf-8",
        .body = pipe_str_of((char *)sql.data, sql.size),
        .deadline_ms = HELLO_MS,
        .answer_bytes = HELLO_BYTES,
        .wanted = clickhouse_wanted,
        .wanted_count = CLICKHOUSE_HEADERS,
    };
    client->server = (struct pipe_clickhouse_server){.asked_ms = engine_wall_ms()};
    client->hello = pipe_http_begin(client->http, &http);
    free(url);
    pipe_buf_free(&parameters);
    pipe_buf_free(&sql);
}

/* ---- Requests ---- */

static const char *keep_text(struct pipe_arena *arena, const char *text)
{
    size_t size = text != NULL ? strlen(text) + 1 : 0;
    return size > 0 ? memcpy(pipe_arena_alloc(arena, size), text, size) : NULL;
}

static void keep_call(struct pipe_clickhouse_request *request,
                      const struct pipe_clickhouse_call *call)
{
    struct pipe_clickhouse_call *kept = &request->call;
    *kept = *call;
    char *sql = pipe_arena_alloc(&request->kept, call->sql.size);
    if (call->sql.size > 0)
        memcpy(sql, call->sql.data, call->sql.size);
    kept->sql = pipe_str_of(sql, call->sql.size);
    struct pipe_clickhouse_setting *settings =
        pipe_arena_alloc(&request->kept, call->setting_count * sizeof *settings);
    for (uint32_t i = 0; i < call->setting_count; i++) {
        settings[i].name = keep_text(&request->kept, call->settings[i].name);
        settings[i].value = keep_text(&request->kept, call->settings[i].value);
    }
    kept->settings = settings;
    kept->query_id = keep_text(&request->kept, call->query_id);
    kept->token = keep_text(&request->kept, call->token);
}

struct pipe_clickhouse_request *pipe_clickhouse_begin(struct pipe_clickhouse *client,
                                                      const struct pipe_clickhouse_call *call)
{
    struct pipe_clickhouse_request *request = pipe_calloc(1, sizeof *request);
    request->client = client;
    pipe_arena_init(&request->kept, SIZE_MAX);
    keep_call(request, call);
    request->deadline_us = engine_monotonic_us() + call->deadline_ms * 1000;
    request->before = client->last;
    *(client->last != NULL ? &client->last->next : &client->first) = request;
    client->last = request;
    if (client->is_known)
        send_call(request);
    else if (client->hello == NULL)
        send_hello(client);
    return request;
}

void pipe_clickhouse_end(struct pipe_clickhouse_request *request)
{
    if (request == NULL)
        return;
    struct pipe_clickhouse *client = request->client;
    *(request->before != NULL ? &request->before->next : &client->first) = request->next;
    *(request->next != NULL ? &request->next->before : &client->last) = request->before;
    pipe_http_end(request->request);
    pipe_arena_free(&request->kept);
    pipe_buf_free(&request->tail);
    pipe_buf_free(&request->result.body);
    free(request);
}

/* ---- What became of them ---- */

static bool is_pending(const struct pipe_clickhouse_request *request)
{
    return request->result.outcome == PIPE_CLICKHOUSE_PENDING;
}

/* The hello failed, or the server is too old: so do those that wait for it. What it says is no
 * verdict on them, for they were not sent. */
static void fail_waiting(struct pipe_clickhouse *client, const struct pipe_clickhouse_result *why)
{
    for (struct pipe_clickhouse_request *at = client->first; at != NULL; at = at->next) {
        if (!is_pending(at) || at->request != NULL)
            continue;
        bool fatal = why->outcome == PIPE_CLICKHOUSE_FATAL;
        at->result.outcome = fatal ? PIPE_CLICKHOUSE_FATAL : PIPE_CLICKHOUSE_REFUSED;
        at->result.status = why->status;
        at->result.code = why->code;
        memcpy(at->result.error, why->error, sizeof why->error);
    }
}

static void judge_server(struct pipe_clickhouse *client, struct pipe_str answer,
                         struct pipe_clickhouse_result *result)
{
    struct pipe_clickhouse_server *server = &client->server;
    if (!clickhouse_hello_read(answer, server)) {
        result->outcome = PIPE_CLICKHOUSE_UNKNOWN;
        snprintf(result->error, sizeof result->error, "%s does not answer as ClickHouse does",
                 client->url);
    } else if (server->major < CLICKHOUSE_LEAST_MAJOR || (server->major == CLICKHOUSE_LEAST_MAJOR &&
                                                          server->minor < CLICKHOUSE_LEAST_MINOR)) {
        result->outcome = PIPE_CLICKHOUSE_FATAL;
        snprintf(result->error, sizeof result->error,
                 "ClickHouse %s at %s is too old: %d.%d or later is needed", server->version,
                 client->url, CLICKHOUSE_LEAST_MAJOR, CLICKHOUSE_LEAST_MINOR);
    }
}

/* Of an answer, as the client knows the server. */
static void judge(struct pipe_clickhouse *client, const struct pipe_http_answer *answer,
                  struct pipe_str tail, bool insert, struct pipe_clickhouse_result *result)
{
    static const int refused[] = {193 /* WRONG_PASSWORD */, 194 /* REQUIRED_PASSWORD */,
                                  516 /* AUTHENTICATION_FAILED */};
    clickhouse_judge(answer, tail, insert, result);
    client->was_let_in = client->was_let_in || result->outcome == PIPE_CLICKHOUSE_DONE;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (result->code == refused[i] && client->was_let_in)
            result->outcome = PIPE_CLICKHOUSE_RETRY; /* its users are away, or change */
    pipe_http_mask(client->http, result->error);
}

/* A statement of many columns, which is in the URL: whoever refuses it for that says no more than a
 * status. */
static void tell_of_url(struct pipe_clickhouse_request *request)
{
    struct pipe_clickhouse_result *result = &request->result;
    size_t used = strlen(result->error);
    bool of_size = result->status == 400 || result->status == 413 || result->status == 414 ||
                   result->status == 431;
    if (result->outcome == PIPE_CLICKHOUSE_FATAL && result->code == 0 && of_size &&
        request->url_bytes > URL_SHORT_BYTES)
        snprintf(result->error + used, sizeof result->error - used,
                 "; the request's URL has %zu bytes, for it holds the statement: raise what the "
                 "server (http_max_uri_size, 1 MiB by default) and a proxy before it (often 8 KiB) "
                 "allow, or give the table fewer columns",
                 request->url_bytes);
}

static void look_at_hello(struct pipe_clickhouse *client)
{
    const struct pipe_http_answer *answer =
        client->hello != NULL ? pipe_http_look(client->hello) : NULL;
    struct pipe_clickhouse_result result = {0};
    if (answer == NULL || answer->outcome == PIPE_HTTP_PENDING)
        return;
    client->server.answered_ms = engine_wall_ms();
    judge(client, answer, pipe_str_of(NULL, 0), false, &result);
    if (result.outcome == PIPE_CLICKHOUSE_DONE)
        judge_server(client, pipe_str_of((const char *)answer->body.data, answer->body.size),
                     &result);
    pipe_http_end(client->hello);
    client->hello = NULL;
    client->is_known = result.outcome == PIPE_CLICKHOUSE_DONE;
    if (!client->is_known) {
        fail_waiting(client, &result);
        return;
    }
    for (struct pipe_clickhouse_request *at = client->first; at != NULL; at = at->next)
        if (is_pending(at) && at->request == NULL)
            send_call(at);
}

static void look_at_request(struct pipe_clickhouse_request *request)
{
    const struct pipe_http_answer *answer = pipe_http_look(request->request);
    struct pipe_clickhouse_result *result = &request->result;
    if (answer->outcome == PIPE_HTTP_PENDING)
        return;
    bool streamed = request->call.take != NULL;
    struct pipe_str tail = pipe_str_of(
        streamed ? (request->tail.size > 0 ? (const char *)request->tail.data : "") : NULL,
        request->tail.size);
    judge(request->client, answer, tail, request->call.body.data != NULL, result);
    tell_of_url(request);
    if (request->not_taken && result->code == 0) {
        result->outcome = PIPE_CLICKHOUSE_FATAL;
        snprintf(result->error, sizeof result->error, "the rest of the answer was not wanted");
    }
    if (result->outcome == PIPE_CLICKHOUSE_DONE)
        pipe_buf_add(&result->body, answer->body.data, answer->body.size);
    if (answer->outcome != PIPE_HTTP_ANSWERED || result->code == 115 /* UNKNOWN_SETTING */)
        request->client->is_known = false; /* another may answer next */
    pipe_http_end(request->request);
    request->request = NULL;
}

/* The hello takes its time; a request has its own. */
static void end_late(struct pipe_clickhouse *client)
{
    int64_t now_us = engine_monotonic_us();
    for (struct pipe_clickhouse_request *at = client->first; at != NULL; at = at->next) {
        if (!is_pending(at) || at->request != NULL || at->deadline_us > now_us)
            continue;
        at->result.outcome = PIPE_CLICKHOUSE_REFUSED;
        snprintf(at->result.error, sizeof at->result.error, "%s has not answered in time",
                 client->url);
    }
}

static bool is_under_way(const struct pipe_clickhouse *client)
{
    for (const struct pipe_clickhouse_request *at = client->first; at != NULL; at = at->next)
        if (at->request != NULL)
            return true;
    return client->hello != NULL;
}

void pipe_clickhouse_poll(struct pipe_clickhouse *client, int64_t wait_ms)
{
    if (client->hello == NULL && !client->is_known)
        for (struct pipe_clickhouse_request *at = client->first; at != NULL; at = at->next)
            if (is_pending(at) && at->request == NULL && client->hello == NULL)
                send_hello(client);
    if (wait_ms > 0 && !is_under_way(client))
        engine_sleep_us(wait_ms * 1000);
    pipe_http_poll(client->http, wait_ms);
    look_at_hello(client);
    end_late(client);
    for (struct pipe_clickhouse_request *at = client->first; at != NULL; at = at->next)
        if (is_pending(at) && at->request != NULL)
            look_at_request(at);
}

const struct pipe_clickhouse_result *
pipe_clickhouse_look(const struct pipe_clickhouse_request *request)
{
    return &request->result;
}

void pipe_clickhouse_do(struct pipe_clickhouse *client, const struct pipe_clickhouse_call *call,
                        struct pipe_clickhouse_result *result)
{
    struct pipe_clickhouse_request *request = pipe_clickhouse_begin(client, call);
    while (is_pending(request))
        pipe_clickhouse_poll(client, 100);
    *result = request->result;
    request->result.body = (struct pipe_buf){0};
    pipe_clickhouse_end(request);
}

void pipe_clickhouse_select(struct pipe_clickhouse *client, const char *sql, int64_t deadline_ms,
                            bool (*take)(void *context, struct pipe_str bytes), void *context,
                            struct pipe_clickhouse_result *result)
{
    const struct pipe_clickhouse_call call = {.sql = pipe_str_of(sql, strlen(sql)),
                                              .deadline_ms = deadline_ms,
                                              .take = take,
                                              .context = context};
    pipe_clickhouse_do(client, &call, result);
}

const char *pipe_clickhouse_outcome_name(enum pipe_clickhouse_outcome outcome)
{
    static const char *const names[] = {"pending", "done", "refused", "retry", "unknown", "fatal"};
    return names[outcome];
}

/* ---- Bodies ---- */

void pipe_clickhouse_compress(struct pipe_buf *out, struct pipe_str body)
{
    const LZ4F_preferences_t preferences = {
        .frameInfo = {.blockSizeID = LZ4F_max4MB,
                      .blockMode = LZ4F_blockIndependent,
                      .contentChecksumFlag = LZ4F_contentChecksumEnabled,
                      .contentSize = body.size}};
    size_t room = LZ4F_compressFrameBound(body.size, &preferences);
    size_t size =
        LZ4F_compressFrame(pipe_buf_reserve(out, room), room, body.data, body.size, &preferences);
    if (LZ4F_isError(size)) /* only for want of memory: the room is enough */
        pipe_out_of_memory();
    out->size += size;
}
