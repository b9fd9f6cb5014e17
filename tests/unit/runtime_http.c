/* Unit tests of http.c and environment.c: what becomes of a request, by a server that does as it is
 * told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../runtime/environment.h"
#include "../../runtime/http.h"

/* Takes one connection, reads its request up to `until`, and answers with `answer`; NULL: never. */
struct server {
    int listener;
    const char *answer, *until;
    char url[64];
    char request[4096];
    size_t request_bytes;
    pthread_t thread;
};

static void *serve(void *context)
{
    struct server *server = context;
    int peer = accept(server->listener, NULL, NULL);
    while (strstr(server->request, server->until) == NULL) {
        ssize_t got = read(peer, server->request + server->request_bytes,
                           sizeof server->request - 1 - server->request_bytes);
        if (got <= 0)
            break;
        server->request_bytes += (size_t)got;
    }
    size_t size = server->answer != NULL ? strlen(server->answer) : 0;
    if (size > 0)
        assert_int_equal(send(peer, server->answer, size, MSG_NOSIGNAL), size);
    char rest;
    if (server->answer == NULL) /* until the client gives up */
        while (read(peer, &rest, 1) > 0)
            continue;
    close(peer);
    return NULL;
}

static void listen_on(struct server *server)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(server->listener, (struct sockaddr *)&at, size), 0);
    assert_int_equal(getsockname(server->listener, (struct sockaddr *)&at, &size), 0);
    snprintf(server->url, sizeof server->url, "http://127.0.0.1:%d/x", ntohs(at.sin_port));
}

static void start(struct server *server, const char *answer)
{
    *server = (struct server){.answer = answer, .until = "\r\n\r\n"};
    listen_on(server);
    assert_int_equal(listen(server->listener, 1), 0);
    assert_int_equal(pthread_create(&server->thread, NULL, serve, server), 0);
}

static void stop(struct server *server)
{
    pthread_join(server->thread, NULL);
    close(server->listener);
}

static void get(const char *url, int64_t deadline_ms, struct pipe_http_answer *answer)
{
    struct pipe_http *http = pipe_http_open(&(struct pipe_http_config){0});
    const struct pipe_http_call call = {
        .method = "GET", .url = url, .deadline_ms = deadline_ms, .answer_bytes = 64};
    pipe_http_do(http, &call, answer);
    pipe_http_close(http);
}

static void test_answers(void **state)
{
    (void)state;
    struct server server;
    struct pipe_http_answer answer;
    start(&server, "HTTP/1.1 404 No\r\nContent-Length: 5\r\n\r\nhello");
    get(server.url, 60000, &answer);
    stop(&server);
    assert_int_equal(answer.outcome, PIPE_HTTP_ANSWERED);
    assert_int_equal(answer.status, 404);
    assert_int_equal(answer.body.size, 5);
    assert_memory_equal(answer.body.data, "hello", 5);
    pipe_buf_free(&answer.body);
    /* Credentials must not go along to where it says. */
    start(&server, "HTTP/1.1 302 There\r\nLocation: http://127.0.0.1:1/\r\n"
                   "Content-Length: 0\r\n\r\n");
    get(server.url, 60000, &answer);
    stop(&server);
    assert_int_equal(answer.outcome, PIPE_HTTP_ANSWERED);
    assert_int_equal(answer.status, 302);
    pipe_buf_free(&answer.body);
}

static void test_no_answer(void **state)
{
    (void)state;
    struct server server = {0};
    struct pipe_http_answer answer;
    listen_on(&server); /* bound, but nobody listens */
    get(server.url, 60000, &answer);
    close(server.listener);
    assert_int_equal(answer.outcome, PIPE_HTTP_REFUSED);
    assert_non_null(strstr(answer.error, ": Connection refused"));
    get("ftp://127.0.0.1/x", 60000, &answer);
    assert_int_equal(answer.outcome, PIPE_HTTP_REFUSED);
    start(&server, NULL);
    get(server.url, 50, &answer);
    stop(&server);
    assert_int_equal(answer.outcome, PIPE_HTTP_TIMEOUT);
    start(&server, "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhalf");
    get(server.url, 60000, &answer);
    stop(&server);
    assert_int_equal(answer.outcome, PIPE_HTTP_UNKNOWN);
    pipe_buf_free(&answer.body);
    start(&server, "HTTP/1.1 200 OK\r\nContent-Length: 65\r\n\r\n"
                   "01234567890123456789012345678901234567890123456789012345678901234");
    get(server.url, 60000, &answer);
    stop(&server);
    assert_int_equal(answer.outcome, PIPE_HTTP_UNKNOWN);
    assert_string_equal(answer.error, "the answer is longer than 64 bytes");
    pipe_buf_free(&answer.body);
}

static void test_request(void **state)
{
    (void)state;
    struct server server;
    struct pipe_http_answer answer;
    struct pipe_http *http = pipe_http_open(&(struct pipe_http_config){.token = "hush"});
    start(&server, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    server.until = "{\"a\":1}";
    const struct pipe_http_call call = {.method = "PUT",
                                        .url = server.url,
                                        .content_type = "application/json",
                                        .body = pipe_str_of("{\"a\":1}", 7),
                                        .deadline_ms = 60000,
                                        .answer_bytes = 64};
    pipe_http_do(http, &call, &answer);
    stop(&server);
    pipe_http_close(http);
    assert_int_equal(answer.outcome, PIPE_HTTP_ANSWERED);
    assert_non_null(strstr(server.request, "PUT /x HTTP/1.1\r\n"));
    assert_non_null(strstr(server.request, "Authorization: Bearer hush\r\n"));
    assert_non_null(strstr(server.request, "Content-Type: application/json\r\n"));
    assert_null(strstr(server.request, "Expect"));
    pipe_buf_free(&answer.body);
}

/* Headers that were asked for, of the last head; also of an answer that breaks off. */
static void test_wanted_headers(void **state)
{
    (void)state;
    static const char *const wanted[] = {"X-Code", "X-Tag", "X-None"};
    static const char *const answers[] = {
        "HTTP/1.1 100 Continue\r\nX-Code: 1\r\nX-Tag: old\r\n\r\n"
        "HTTP/1.1 200 OK\r\nx-code: \t60\r\nX-Codes: 7\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX-Code:60\r\nContent-Length: 9\r\n\r\nhalf"};
    for (size_t i = 0; i < 2; i++) {
        struct server server;
        struct pipe_http_answer answer;
        struct pipe_http *http = pipe_http_open(&(struct pipe_http_config){0});
        start(&server, answers[i]);
        const struct pipe_http_call call = {.method = "GET",
                                            .url = server.url,
                                            .deadline_ms = 60000,
                                            .answer_bytes = 64,
                                            .wanted = wanted,
                                            .wanted_count = 3};
        pipe_http_do(http, &call, &answer);
        stop(&server);
        pipe_http_close(http);
        assert_int_equal(answer.outcome, i == 0 ? PIPE_HTTP_ANSWERED : PIPE_HTTP_UNKNOWN);
        assert_string_equal(answer.wanted[0], "60");
        assert_string_equal(answer.wanted[1], "");
        assert_string_equal(answer.wanted[2], "");
        pipe_buf_free(&answer.body);
    }
}

static bool take_some(void *context, struct pipe_str bytes)
{
    struct pipe_buf *taken = context;
    pipe_buf_add(taken, bytes.data, bytes.size);
    return taken->size < 6;
}

/* A good answer goes to who takes it, as long as it is wanted; another is kept as ever. */
static void test_taken(void **state)
{
    (void)state;
    static const struct {
        const char *answer, *taken, *kept, *error;
        enum pipe_http_outcome outcome;
    } cases[] = {
        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "hello", "", "", PIPE_HTTP_ANSWERED},
        {"HTTP/1.1 500 No\r\nContent-Length: 5\r\n\r\nhello", "", "hello", "", PIPE_HTTP_ANSWERED},
        {"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello!", "hello!", "",
         "the rest of the answer was not wanted", PIPE_HTTP_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct server server;
        struct pipe_http_answer answer;
        struct pipe_buf taken = {0};
        struct pipe_http *http = pipe_http_open(&(struct pipe_http_config){0});
        start(&server, cases[i].answer);
        const struct pipe_http_call call = {.method = "GET",
                                            .url = server.url,
                                            .deadline_ms = 60000,
                                            .answer_bytes = 64,
                                            .take = take_some,
                                            .context = &taken};
        pipe_http_do(http, &call, &answer);
        stop(&server);
        pipe_http_close(http);
        assert_int_equal(answer.outcome, cases[i].outcome);
        assert_string_equal(answer.error, cases[i].error);
        assert_int_equal(taken.size, strlen(cases[i].taken));
        assert_int_equal(answer.body.size, strlen(cases[i].kept));
        pipe_buf_free(&taken);
        pipe_buf_free(&answer.body);
    }
}

/* A request that asks for a connection of its own is not sent again when it breaks. */
static void test_own_connection(void **state)
{
    (void)state;
    struct server server;
    struct pipe_http_answer answer;
    struct pipe_http *http = pipe_http_open(&(struct pipe_http_config){0});
    char body[] = "rows";
    for (int i = 0; i < 2; i++) { /* the second time nobody answers, and nobody listens any more */
        start(&server, i == 0 ? "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" : "");
        server.until = "rows";
        const struct pipe_http_call call = {.method = "POST",
                                            .url = server.url,
                                            .content_type = "application/octet-stream",
                                            .content_encoding = "lz4",
                                            .body = pipe_str_of(body, 4),
                                            .body_borrowed = true,
                                            .own_connection = true,
                                            .deadline_ms = 60000,
                                            .answer_bytes = 64};
        pipe_http_do(http, &call, &answer);
        stop(&server);
        assert_int_equal(answer.outcome, i == 0 ? PIPE_HTTP_ANSWERED : PIPE_HTTP_UNKNOWN);
        assert_non_null(strstr(server.request, "Content-Encoding: lz4\r\n"));
        pipe_buf_free(&answer.body);
    }
    pipe_http_close(http);
}

/* What is begun and given up is not waited for. */
static void test_given_up(void **state)
{
    (void)state;
    struct server server;
    struct pipe_http *http = pipe_http_open(&(struct pipe_http_config){0});
    start(&server, NULL);
    const struct pipe_http_call call = {
        .method = "GET", .url = server.url, .deadline_ms = 3600000, .answer_bytes = 64};
    struct pipe_http_request *request = pipe_http_begin(http, &call);
    pipe_http_poll(http, 10);
    assert_int_equal(pipe_http_look(request)->outcome, PIPE_HTTP_PENDING);
    pipe_http_end(request);
    pipe_http_close(http);
    shutdown(server.listener, SHUT_RDWR);
    stop(&server);
}

static void test_environment(void **state)
{
    (void)state;
    char error[256] = "", path[] = "/tmp/runtime_http_XXXXXX", *value;
    int fd = mkstemp(path);
    assert_int_equal(write(fd, "from file\r\n", 11), 11);
    close(fd);
    unsetenv("PIPE_TEST_X");
    unsetenv("PIPE_TEST_X_FILE");
    assert_true(pipe_environment("PIPE_TEST_X", &value, error, sizeof error));
    assert_null(value);
    setenv("PIPE_TEST_X_FILE", path, 1);
    assert_true(pipe_environment("PIPE_TEST_X", &value, error, sizeof error));
    assert_string_equal(value, "from file");
    pipe_environment_forget(value);
    setenv("PIPE_TEST_X", "given", 1);
    assert_true(pipe_environment("PIPE_TEST_X", &value, error, sizeof error));
    assert_string_equal(value, "given");
    pipe_environment_forget(value);
    unsetenv("PIPE_TEST_X");
    unlink(path);
    assert_false(pipe_environment("PIPE_TEST_X", &value, error, sizeof error));
    assert_non_null(strstr(error, "PIPE_TEST_X_FILE names a file that can't be read"));
    unsetenv("PIPE_TEST_X_FILE");
}

int main(void)
{
    setenv("no_proxy", "*", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),  cmocka_unit_test(test_no_answer),
        cmocka_unit_test(test_request),  cmocka_unit_test(test_wanted_headers),
        cmocka_unit_test(test_taken),    cmocka_unit_test(test_own_connection),
        cmocka_unit_test(test_given_up), cmocka_unit_test(test_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
