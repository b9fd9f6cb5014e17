/* http.c: see http.h; over libcurl's multi interface. */
#include "http.h"
#include "process.h"

#include <curl/curl.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#define CONNECT_MS 5000
#define LONG_BODY (256u << 10)
#define UPLOAD_BYTES (1L << 20) /* a piece that is sent */
#define DOWNLOAD_BYTES (256L << 10)

struct pipe_http {
    CURLM *multi;
    char *user, *password, *token, *ca_file;
};

struct pipe_http_request {
    struct pipe_http *http;
    CURL *easy;
    struct curl_slist *headers;
    size_t answer_bytes;
    bool too_long, not_taken;
    const char *const *wanted;
    uint32_t wanted_count;
    bool (*take)(void *context, struct pipe_str bytes);
    void *context;
    struct pipe_http_answer answer;
};

static pthread_once_t curl_once = PTHREAD_ONCE_INIT;

static void start_curl(void)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        pipe_out_of_memory();
}

static void forget(char *secret)
{
    if (secret != NULL)
        explicit_bzero(secret, strlen(secret));
    free(secret);
}

struct pipe_http *pipe_http_open(const struct pipe_http_config *config)
{
    pthread_once(&curl_once, start_curl);
    struct pipe_http *http = pipe_calloc(1, sizeof *http);
    http->multi = curl_multi_init();
    if (http->multi == NULL)
        pipe_out_of_memory();
    http->user = pipe_text_dup(config->user);
    http->password = pipe_text_dup(config->password);
    http->token = pipe_text_dup(config->token);
    http->ca_file = pipe_text_dup(config->ca_file);
    return http;
}

void pipe_http_close(struct pipe_http *http)
{
    if (http == NULL)
        return;
    curl_multi_cleanup(http->multi);
    forget(http->user);
    forget(http->password);
    forget(http->token);
    free(http->ca_file);
    free(http);
}

bool pipe_http_is_url(const char *url)
{
    CURLU *parts = curl_url();
    if (parts == NULL)
        pipe_out_of_memory();
    bool good = curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK;
    curl_url_cleanup(parts);
    return good;
}

/* ---- Credentials in texts of others ---- */

#define SECRET_LEAST 4u /* shorter ones are in many words */

static void mask_secret(char *text, const char *secret)
{
    size_t size = secret != NULL ? strlen(secret) : 0, length = strlen(text);
    if (size < SECRET_LEAST)
        return;
    for (char *at = strstr(text, secret); at != NULL; at = strstr(at + 3, secret)) {
        memmove(at + 3, at + size, strlen(at + size) + 1);
        memcpy(at, "***", 3);
    }
    length = strlen(text);
    for (size_t part = size - 1; part >= SECRET_LEAST; part--) {
        if (part > length || memcmp(text + length - part, secret, part) != 0)
            continue;
        memcpy(text + length - part, "***", 4);
        return;
    }
}

static char *basic_of(const struct pipe_http *http)
{
    struct pipe_buf plain = {0};
    pipe_buf_printf(&plain, "%s:%s", http->user, http->password != NULL ? http->password : "");
    char *text = pipe_calloc(4 * (plain.size / 3 + 1) + 1, 1);
    EVP_EncodeBlock((unsigned char *)text, plain.data, (int)plain.size);
    explicit_bzero(plain.data, plain.size);
    pipe_buf_free(&plain);
    return text;
}

void pipe_http_mask(const struct pipe_http *http, char *text)
{
    if (http->user != NULL) {
        char *basic = basic_of(http);
        mask_secret(text, basic);
        forget(basic);
    }
    mask_secret(text, http->token);
    mask_secret(text, http->password);
}

/* ---- One request ---- */

/* Sets an option. A request that lacks one must not go out: it may be the body, a credential, or
 * whom to trust. */
#define SET(request, option, value)                                                                \
    note_option(request, curl_easy_setopt((request)->easy, option, value))

static void note_option(struct pipe_http_request *request, CURLcode code)
{
    if (code == CURLE_OUT_OF_MEMORY)
        pipe_out_of_memory();
    if (code == CURLE_OK || request->answer.outcome != PIPE_HTTP_PENDING)
        return;
    request->answer.outcome = PIPE_HTTP_REFUSED;
    snprintf(request->answer.error, sizeof request->answer.error, "the request can't be made: %s",
             curl_easy_strerror(code));
}

/* One line of the answer's head; a new head (behind "100 Continue") begins again. */
static size_t take_header(char *bytes, size_t one, size_t count, void *context)
{
    struct pipe_http_request *request = context;
    size_t size = one * count, left = size;
    if (size > 5 && memcmp(bytes, "HTTP/", 5) == 0)
        memset(request->answer.wanted, 0, sizeof request->answer.wanted);
    for (uint32_t i = 0; i < request->wanted_count; i++) {
        size_t name = strlen(request->wanted[i]);
        if (size <= name || bytes[name] != ':' || strncasecmp(bytes, request->wanted[i], name) != 0)
            continue;
        const char *value = bytes + name + 1;
        left = size - name - 1;
        while (left > 0 && (*value == ' ' || *value == '\t'))
            value++, left--;
        while (left > 0 && (value[left - 1] == '\r' || value[left - 1] == '\n'))
            left--;
        snprintf(request->answer.wanted[i], sizeof request->answer.wanted[i], "%.*s", (int)left,
                 value);
    }
    return size;
}

static size_t take_body(char *bytes, size_t one, size_t count, void *context)
{
    struct pipe_http_request *request = context;
    size_t size = one * count;
    long status = 0;
    if (request->take != NULL)
        curl_easy_getinfo(request->easy, CURLINFO_RESPONSE_CODE, &status);
    if (status >= 200 && status < 300) {
        request->not_taken = !request->take(request->context, pipe_str_of(bytes, size));
        return request->not_taken ? CURL_WRITEFUNC_ERROR : size;
    }
    if (size > request->answer_bytes - request->answer.body.size) {
        request->too_long = true;
        return CURL_WRITEFUNC_ERROR;
    }
    pipe_buf_add(&request->answer.body, bytes, size);
    return size;
}

static void add_header(struct pipe_http_request *request, const char *name, const char *value)
{
    char line[256];
    if (value == NULL)
        return;
    snprintf(line, sizeof line, "%s: %s", name, value);
    struct curl_slist *more = curl_slist_append(request->headers, line);
    if (more == NULL)
        pipe_out_of_memory();
    request->headers = more;
}

static void set_credentials(struct pipe_http_request *request)
{
    const struct pipe_http *http = request->http;
    if (http->token != NULL) {
        SET(request, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
        SET(request, CURLOPT_XOAUTH2_BEARER, http->token);
    } else if (http->user != NULL) {
        SET(request, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
        SET(request, CURLOPT_USERNAME, http->user);
        SET(request, CURLOPT_PASSWORD, http->password != NULL ? http->password : "");
    }
}

static void set_body(struct pipe_http_request *request, const struct pipe_http_call *call)
{
    add_header(request, "Content-Type", call->content_type);
    add_header(request, "Content-Encoding", call->content_encoding);
    SET(request, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->body.size);
    SET(request, call->body_borrowed ? CURLOPT_POSTFIELDS : CURLOPT_COPYPOSTFIELDS,
        call->body.data);
    if (call->body.size >= LONG_BODY)
        SET(request, CURLOPT_UPLOAD_BUFFERSIZE, UPLOAD_BYTES);
}

static void set_answer(struct pipe_http_request *request, const struct pipe_http_call *call)
{
    request->answer_bytes = call->answer_bytes;
    request->wanted = call->wanted;
    request->wanted_count = call->wanted_count;
    request->take = call->take;
    request->context = call->context;
    SET(request, CURLOPT_WRITEFUNCTION, take_body);
    SET(request, CURLOPT_WRITEDATA, request);
    SET(request, CURLOPT_HEADERFUNCTION, take_header);
    SET(request, CURLOPT_HEADERDATA, request);
    if (call->take != NULL)
        SET(request, CURLOPT_BUFFERSIZE, DOWNLOAD_BYTES);
}

static void set_call(struct pipe_http_request *request, const struct pipe_http_call *call)
{
    add_header(request, "Accept", call->accept);
    add_header(request, "Expect", ""); /* no pause before the body */
    SET(request, CURLOPT_URL, call->url);
    SET(request, CURLOPT_PROTOCOLS_STR, "http,https");
    SET(request, CURLOPT_PROXY, ""); /* none, whatever http_proxy and its like say */
    SET(request, CURLOPT_NOSIGNAL, 1L);
    SET(request, CURLOPT_TIMEOUT_MS, (long)call->deadline_ms);
    SET(request, CURLOPT_CONNECTTIMEOUT_MS,
        (long)(call->deadline_ms < CONNECT_MS ? call->deadline_ms : CONNECT_MS));
    SET(request, CURLOPT_PRIVATE, request);
    SET(request, CURLOPT_FRESH_CONNECT, (long)call->own_connection);
    SET(request, CURLOPT_FORBID_REUSE, (long)call->own_connection);
    set_answer(request, call);
    if (call->content_type != NULL)
        set_body(request, call);
    SET(request, CURLOPT_HTTPHEADER, request->headers);
    SET(request, CURLOPT_CUSTOMREQUEST, call->method);
    if (request->http->ca_file != NULL)
        SET(request, CURLOPT_CAINFO, request->http->ca_file);
    set_credentials(request);
}

/* Going on after one of these would be waiting for what never comes. */
static void must(CURLMcode code)
{
    if (code == CURLM_OK)
        return;
    if (code == CURLM_OUT_OF_MEMORY)
        pipe_out_of_memory();
    pipe_end_alone();
    fprintf(stderr, "libcurl: %s; nothing that was committed is lost, start again\n",
            curl_multi_strerror(code));
    _exit(4);
}

struct pipe_http_request *pipe_http_begin(struct pipe_http *http, const struct pipe_http_call *call)
{
    struct pipe_http_request *request = pipe_calloc(1, sizeof *request);
    request->http = http;
    request->easy = curl_easy_init();
    if (request->easy == NULL)
        pipe_out_of_memory();
    set_call(request, call);
    if (request->answer.outcome == PIPE_HTTP_PENDING)
        must(curl_multi_add_handle(http->multi, request->easy));
    return request;
}

static enum pipe_http_outcome outcome_of(CURLcode code)
{
    switch (code) {
    case CURLE_OK:
        return PIPE_HTTP_ANSWERED;
    case CURLE_OPERATION_TIMEDOUT:
        return PIPE_HTTP_TIMEOUT;
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_PEER_FAILED_VERIFICATION:
        return PIPE_HTTP_REFUSED;
    default:
        return PIPE_HTTP_UNKNOWN;
    }
}

static void finish(struct pipe_http_request *request, CURLcode code)
{
    struct pipe_http_answer *answer = &request->answer;
    long status = 0, cause = 0;
    answer->outcome = outcome_of(code);
    if (code == CURLE_OK) {
        curl_easy_getinfo(request->easy, CURLINFO_RESPONSE_CODE, &status);
        answer->status = (int)status;
    } else if (request->too_long) {
        snprintf(answer->error, sizeof answer->error, "the answer is longer than %zu bytes",
                 request->answer_bytes);
    } else if (request->not_taken) {
        snprintf(answer->error, sizeof answer->error, "the rest of the answer was not wanted");
    } else {
        if (code == CURLE_COULDNT_CONNECT)
            curl_easy_getinfo(request->easy, CURLINFO_OS_ERRNO, &cause);
        snprintf(answer->error, sizeof answer->error, "%s%s%s", curl_easy_strerror(code),
                 cause != 0 ? ": " : "", cause != 0 ? strerror((int)cause) : "");
    }
}

void pipe_http_poll(struct pipe_http *http, int64_t wait_ms)
{
    CURLMsg *message;
    int left;
    must(curl_multi_perform(http->multi, &left));
    if (wait_ms > 0 && left > 0) {
        CURLMcode code = curl_multi_poll(http->multi, NULL, 0, (int)wait_ms, NULL);
        if (code != CURLM_UNRECOVERABLE_POLL) /* a signal came, for one */
            must(code);
        must(curl_multi_perform(http->multi, &left));
    }
    while ((message = curl_multi_info_read(http->multi, &left)) != NULL) {
        struct pipe_http_request *request = NULL;
        if (message->msg != CURLMSG_DONE)
            continue;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&request);
        finish(request, message->data.result);
    }
}

const struct pipe_http_answer *pipe_http_look(const struct pipe_http_request *request)
{
    return &request->answer;
}

void pipe_http_end(struct pipe_http_request *request)
{
    if (request == NULL)
        return;
    curl_multi_remove_handle(request->http->multi, request->easy);
    curl_easy_cleanup(request->easy);
    curl_slist_free_all(request->headers);
    pipe_buf_free(&request->answer.body);
    free(request);
}

void pipe_http_do(struct pipe_http *http, const struct pipe_http_call *call,
                  struct pipe_http_answer *answer)
{
    struct pipe_http_request *request = pipe_http_begin(http, call);
    while (request->answer.outcome == PIPE_HTTP_PENDING)
        pipe_http_poll(http, 100);
    *answer = request->answer;
    request->answer.body = (struct pipe_buf){0};
    pipe_http_end(request);
}
