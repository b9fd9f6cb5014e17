/* Unit tests of clickhouse*.c over an http.h of their own, which answers as a list says: what is
 * sent, and what is made of every answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <lz4frame.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../runtime/clickhouse.h"
#include "../../runtime/pipe.h"

#define HELLO_26 "26.9.2.1\t7\t1700000000\tnode\tdeduplicate_insert,deduplicate_insert_select\n"
#define HELLO_24 "24.8.1.1\t7\t1700000000\tnode\t\n"

/* ---- http.h, as the tests want it ---- */

struct scripted {
    enum pipe_http_outcome outcome;
    int status;
    const char *code, *tag, *body, *error; /* body: `|` ends a piece */
};

struct pipe_http {
    int unused;
};
struct pipe_http_request {
    const struct scripted *script;
    struct pipe_http_call call;
    struct pipe_http_answer answer;
};

static const struct scripted *script; /* of the next requests */
static size_t script_at, script_size;
static char urls[8][8192];
static struct pipe_http_call calls[8];
static struct pipe_http_request *open_requests[8];
static size_t sent;

static void play(const struct scripted *answers, size_t count)
{
    script = answers;
    script_size = count;
    script_at = sent = 0;
    memset(open_requests, 0, sizeof open_requests);
}

struct pipe_http *pipe_http_open(const struct pipe_http_config *config)
{
    (void)config;
    return pipe_calloc(1, sizeof(struct pipe_http));
}

void pipe_http_close(struct pipe_http *http)
{
    free(http);
}

struct pipe_http_request *pipe_http_begin(struct pipe_http *http, const struct pipe_http_call *call)
{
    struct pipe_http_request *request = pipe_calloc(1, sizeof *request);
    (void)http;
    assert_true(script_at < script_size);
    request->script = &script[script_at++];
    request->call = *call;
    snprintf(urls[sent], sizeof urls[sent], "%s", call->url);
    calls[sent] = *call;
    open_requests[sent++] = request;
    return request;
}

static void hand_over(struct pipe_http_request *request, const char *body)
{
    const char *bar;
    bool taking = request->call.take != NULL && request->script->status / 100 == 2;
    for (; body != NULL; body = bar != NULL ? bar + 1 : NULL) {
        bar = strchr(body, '|');
        size_t size = bar != NULL ? (size_t)(bar - body) : strlen(body);
        if (!taking)
            pipe_buf_add(&request->answer.body, body, size);
        else if (!request->call.take(request->call.context, pipe_str_of(body, size)))
            request->answer.outcome = PIPE_HTTP_UNKNOWN;
        if (request->answer.outcome == PIPE_HTTP_UNKNOWN)
            return;
    }
}

void pipe_http_poll(struct pipe_http *http, int64_t wait_ms)
{
    (void)http;
    (void)wait_ms;
    for (size_t i = 0; i < sent; i++) {
        struct pipe_http_request *request = open_requests[i];
        if (request == NULL || request->answer.outcome != PIPE_HTTP_PENDING)
            continue;
        const struct scripted *says = request->script;
        hand_over(request, says->body);
        if (request->answer.outcome == PIPE_HTTP_PENDING)
            request->answer.outcome = says->outcome;
        request->answer.status = says->status;
        snprintf(request->answer.error, sizeof request->answer.error, "%s",
                 says->error != NULL ? says->error : "");
        for (uint32_t w = 0; w < request->call.wanted_count; w++) {
            bool code = strcmp(request->call.wanted[w], "X-ClickHouse-Exception-Code") == 0;
            const char *value = code ? says->code : says->tag;
            snprintf(request->answer.wanted[w], sizeof request->answer.wanted[w], "%s",
                     value != NULL ? value : "");
        }
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
    for (size_t i = 0; i < sent; i++)
        if (open_requests[i] == request)
            open_requests[i] = NULL;
    pipe_buf_free(&request->answer.body);
    free(request);
}

bool pipe_http_is_url(const char *url)
{
    return strstr(url, "://") != NULL;
}

void pipe_http_mask(const struct pipe_http *http, char *text)
{
    (void)http, (void)text;
}

void pipe_http_do(struct pipe_http *http, const struct pipe_http_call *call,
                  struct pipe_http_answer *answer)
{
    (void)http, (void)call, (void)answer;
    fail_msg("the client never blocks in http.h");
}

/* ---- Help ---- */

static struct pipe_clickhouse *open_client(void)
{
    char error[512];
    setenv("PIPE_CLICKHOUSE_URL", "http://host:8123/shop", 1);
    struct pipe_clickhouse *client = pipe_clickhouse_open(error, sizeof error);
    assert_non_null(client);
    return client;
}

static const struct scripted hello = {PIPE_HTTP_ANSWERED, 200, NULL, NULL, HELLO_26, NULL};

static struct pipe_clickhouse_call an_insert(void)
{
    return (struct pipe_clickhouse_call){.sql = pipe_str_of("INSERT INTO t FORMAT Native", 27),
                                         .body = pipe_str_of("rows", 4),
                                         .token = "tok/1",
                                         .deadline_ms = 1000};
}

static struct pipe_clickhouse_result run(const struct pipe_clickhouse_call *call,
                                         const struct scripted *answer)
{
    struct scripted answers[] = {hello, *answer};
    struct pipe_clickhouse *client = open_client();
    struct pipe_clickhouse_result result;
    play(answers, 2);
    pipe_clickhouse_do(client, call, &result);
    assert_int_equal(sent, 2);
    pipe_clickhouse_close(client);
    return result;
}

static bool url_has(size_t at, const char *part)
{
    return strstr(urls[at], part) != NULL;
}

/* ---- What is sent ---- */

static void test_settings_are_sent(void **state)
{
    (void)state;
    const struct pipe_clickhouse_call call = an_insert();
    struct pipe_clickhouse_result result =
        run(&call, &(struct scripted){PIPE_HTTP_ANSWERED, 200, NULL, NULL, NULL, NULL});
    assert_int_equal(result.outcome, PIPE_CLICKHOUSE_DONE);
    static const char *const parts[] = {
        "http://host:8123/?database=shop",
        "&wait_end_of_query=1",
        "&async_insert=0",
        "&insert_deduplicate=1",
        "&deduplicate_insert=enable",
        "&deduplicate_insert_select=enable_even_for_bad_queries",
        "&deduplicate_blocks_in_dependent_materialized_views=1",
        "&max_insert_threads=1",
        "&input_format_parallel_parsing=0",
        "&min_insert_block_size_bytes=0",
        "&max_execution_time=60",
        "&send_progress_in_http_headers=0",
        "&insert_deduplication_token=tok%2F1",
        "&query=INSERT%20INTO%20t%20FORMAT%20Native",
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!url_has(1, parts[i]))
            fail_msg("%s is not in %s", parts[i], urls[1]);
    assert_true(calls[1].own_connection && calls[1].body_borrowed);
    assert_int_equal(calls[1].body.size, 4);
    assert_false(url_has(0, "deduplicate_insert"));
}

static void test_older_servers_hear_what_they_know(void **state)
{
    (void)state;
    const struct scripted answers[] = {{PIPE_HTTP_ANSWERED, 200, NULL, NULL, HELLO_24, NULL},
                                       {PIPE_HTTP_ANSWERED, 200, NULL, NULL, NULL, NULL}};
    const struct pipe_clickhouse_setting settings[] = {{"max_execution_time", "5"}};
    struct pipe_clickhouse *client = open_client();
    struct pipe_clickhouse_call call = an_insert();
    struct pipe_clickhouse_result result;
    call.settings = settings;
    call.setting_count = 1;
    play(answers, 2);
    pipe_clickhouse_do(client, &call, &result);
    assert_int_equal(result.outcome, PIPE_CLICKHOUSE_DONE);
    assert_false(url_has(1, "deduplicate_insert="));
    assert_false(url_has(1, "deduplicate_insert_select="));
    assert_true(url_has(1, "&insert_deduplicate=1"));
    assert_true(url_has(1, "&max_execution_time=5"));
    assert_false(url_has(1, "&max_execution_time=60"));
    const struct pipe_clickhouse_server *server = pipe_clickhouse_server(client);
    assert_string_equal(server->version, "24.8.1.1");
    assert_string_equal(server->host, "node");
    assert_int_equal(server->major, 24);
    assert_int_equal(server->minor, 8);
    assert_int_equal(server->uptime_s, 7);
    assert_int_equal(server->clock_s, 1700000000);
    pipe_clickhouse_close(client);
}

static void test_statements_without_rows(void **state)
{
    (void)state;
    const struct pipe_clickhouse_call call = {.sql = pipe_str_of("SELECT 1", 8),
                                              .deadline_ms = 5000};
    struct pipe_clickhouse_result result =
        run(&call, &(struct scripted){PIPE_HTTP_ANSWERED, 200, NULL, NULL, "1\n", NULL});
    assert_int_equal(result.outcome, PIPE_CLICKHOUSE_DONE);
    assert_memory_equal(result.body.data, "1\n", 2);
    assert_false(url_has(1, "insert_deduplicate"));
    assert_true(url_has(1, "&max_execution_time=6"));
    assert_false(calls[1].own_connection);
    pipe_buf_free(&result.body);
}

/* ---- What is made of answers ---- */

#define EXCEPTION(code) "Code: " code ". DB::Exception: It is so. (NAME) (version 26.9.2.1)\n"

/* What an answer to an insert comes to. */
static const struct {
    struct scripted answer;
    enum pipe_clickhouse_outcome outcome;
    int code;
    const char *error;
} verdicts[] = {
    {{PIPE_HTTP_REFUSED, 0, NULL, NULL, NULL, "no connection"},
     PIPE_CLICKHOUSE_REFUSED,
     0,
     "no connection"},
    {{PIPE_HTTP_TIMEOUT, 0, NULL, NULL, NULL, "late"}, PIPE_CLICKHOUSE_UNKNOWN, 0, "late"},
    {{PIPE_HTTP_UNKNOWN, 0, NULL, NULL, NULL, "cut"}, PIPE_CLICKHOUSE_UNKNOWN, 0, "cut"},
    {{PIPE_HTTP_ANSWERED, 500, "252", NULL, EXCEPTION("252"), NULL},
     PIPE_CLICKHOUSE_RETRY,
     252,
     "code 252: It is so. (NAME) (version 26.9.2.1)"},
    {{PIPE_HTTP_ANSWERED, 200, "241", NULL, NULL, NULL}, PIPE_CLICKHOUSE_RETRY, 241, "code 241: "},
    {{PIPE_HTTP_ANSWERED, 200, NULL, NULL, EXCEPTION("60"), NULL},
     PIPE_CLICKHOUSE_FATAL,
     60,
     "code 60: It is so. (NAME) (version 26.9.2.1)"},
    {{PIPE_HTTP_ANSWERED, 200, NULL, "tag", "__exception__\r\ntag\r\n" EXCEPTION("243"), NULL},
     PIPE_CLICKHOUSE_RETRY,
     243,
     "code 243: It is so. (NAME) (version 26.9.2.1)"},
    {{PIPE_HTTP_ANSWERED, 500, "319", NULL, EXCEPTION("319"), NULL},
     PIPE_CLICKHOUSE_UNKNOWN,
     319,
     "code 319: It is so. (NAME) (version 26.9.2.1)"},
    {{PIPE_HTTP_ANSWERED, 403, "497", NULL, EXCEPTION("497"), NULL},
     PIPE_CLICKHOUSE_FATAL,
     497,
     "code 497: It is so. (NAME) (version 26.9.2.1)"},
    {{PIPE_HTTP_ANSWERED, 500, "x", NULL, "odd", NULL},
     PIPE_CLICKHOUSE_UNKNOWN,
     0,
     "an exception whose code is no number (HTTP 500): odd"},
    {{PIPE_HTTP_ANSWERED, 500, NULL, NULL, NULL, NULL},
     PIPE_CLICKHOUSE_UNKNOWN,
     0,
     "no answer of ClickHouse (HTTP 500)"},
    {{PIPE_HTTP_ANSWERED, 502, NULL, NULL,
      "<p>\n\x01\xff"
      "bad\n",
      NULL},
     PIPE_CLICKHOUSE_UNKNOWN,
     0,
     "no answer of ClickHouse (HTTP 502): <p> bad"},
    {{PIPE_HTTP_ANSWERED, 429, NULL, NULL, NULL, NULL},
     PIPE_CLICKHOUSE_RETRY,
     0,
     "no answer of ClickHouse (HTTP 429)"},
    {{PIPE_HTTP_ANSWERED, 404, NULL, NULL, NULL, NULL},
     PIPE_CLICKHOUSE_RETRY,
     0,
     "no answer of ClickHouse (HTTP 404)"},
    {{PIPE_HTTP_ANSWERED, 302, NULL, NULL, NULL, NULL},
     PIPE_CLICKHOUSE_RETRY,
     0,
     "no answer of ClickHouse (HTTP 302)"},
    {{PIPE_HTTP_ANSWERED, 200, NULL, NULL, "Ok.", NULL},
     PIPE_CLICKHOUSE_UNKNOWN,
     0,
     "an insert was answered with a text (HTTP 200): Ok."},
};

static void test_verdicts(void **state)
{
    (void)state;
    const struct pipe_clickhouse_call call = an_insert();
    for (size_t i = 0; i < sizeof verdicts / sizeof *verdicts; i++) {
        struct pipe_clickhouse_result result = run(&call, &verdicts[i].answer);
        assert_string_equal(result.error, verdicts[i].error);
        assert_int_equal(result.outcome, verdicts[i].outcome);
        assert_int_equal(result.code, verdicts[i].code);
        assert_int_equal(result.status, verdicts[i].answer.status);
        assert_null(result.body.data);
    }
}

static void test_long_errors_are_cut(void **state)
{
    (void)state;
    char body[4096] = "Code: 60. DB::Exception: ";
    for (size_t at = strlen(body); at + 3 < sizeof body; at += 2)
        memcpy(body + at, "\xc3\xa9", 3);
    const struct pipe_clickhouse_call call = an_insert();
    struct pipe_clickhouse_result result =
        run(&call, &(struct scripted){PIPE_HTTP_ANSWERED, 404, "60", NULL, body, NULL});
    size_t size = strlen(result.error);
    assert_in_range(size, sizeof result.error - 8, sizeof result.error - 1);
    assert_true(pipe_utf8_check(result.error, size));
}

/* ---- Answers in pieces ---- */

struct taken {
    struct pipe_buf bytes;
    size_t wanted; /* no more than this */
};

static bool take(void *context, struct pipe_str bytes)
{
    struct taken *taken = context;
    pipe_buf_add(&taken->bytes, bytes.data, bytes.size);
    return taken->bytes.size <= taken->wanted;
}

static struct pipe_clickhouse_result stream(const struct scripted *answer, size_t wanted,
                                            const char *expected)
{
    struct taken taken = {.wanted = wanted};
    const struct pipe_clickhouse_call call = {
        .sql = pipe_str_of("SELECT 1", 8), .deadline_ms = 5000, .take = take, .context = &taken};
    struct pipe_clickhouse_result result = run(&call, answer);
    assert_true(url_has(1, "&wait_end_of_query=0"));
    if (expected != NULL)
        assert_int_equal(taken.bytes.size, strlen(expected));
    if (expected != NULL && expected[0] != '\0')
        assert_memory_equal(taken.bytes.data, expected, taken.bytes.size);
    pipe_buf_free(&taken.bytes);
    return result;
}

static void test_pieces(void **state)
{
    (void)state;
    const struct scripted rows = {PIPE_HTTP_ANSWERED, 200, NULL, "tag", "ab|cd|e", NULL};
    assert_int_equal(stream(&rows, 100, "abcde").outcome, PIPE_CLICKHOUSE_DONE);
    const struct scripted none = {PIPE_HTTP_ANSWERED, 200, NULL, "tag", NULL, NULL};
    assert_int_equal(stream(&none, 100, "").outcome, PIPE_CLICKHOUSE_DONE);
    const struct scripted fails = {PIPE_HTTP_ANSWERED,
                                   200,
                                   NULL,
                                   "tag",
                                   "ab|\r\n__exc|eption__\r\ntag\r\n" EXCEPTION("241"),
                                   NULL};
    assert_int_equal(stream(&fails, 1000, NULL).outcome, PIPE_CLICKHOUSE_RETRY);
    const struct scripted old = {PIPE_HTTP_ANSWERED, 200, NULL, NULL, "ab|" EXCEPTION("60"), NULL};
    assert_int_equal(stream(&old, 1000, NULL).code, 60);
    const struct scripted row = {PIPE_HTTP_ANSWERED, 200, NULL, "tag", "ab|" EXCEPTION("60"), NULL};
    assert_int_equal(stream(&row, 1000, NULL).outcome, PIPE_CLICKHOUSE_DONE);
    const struct scripted text = {
        PIPE_HTTP_ANSWERED, 200, NULL, NULL, "DB::Exception: a row|of rows", NULL};
    assert_int_equal(stream(&text, 1000, NULL).outcome, PIPE_CLICKHOUSE_DONE);
    const struct scripted cut = {PIPE_HTTP_UNKNOWN, 200, NULL, NULL, "ab|" EXCEPTION("60"), "cut"};
    assert_int_equal(stream(&cut, 1000, NULL).code, 60);
    const struct scripted broken = {PIPE_HTTP_UNKNOWN, 200, NULL, "tag", "ab|cd", "cut"};
    assert_int_equal(stream(&broken, 1000, "abcd").outcome, PIPE_CLICKHOUSE_UNKNOWN);
}

/* What is not wanted ends it, unless the server had an error that explains why. */
static void test_pieces_refused(void **state)
{
    (void)state;
    const struct scripted rows = {PIPE_HTTP_ANSWERED, 200, NULL, "tag", "abc|def", NULL};
    struct pipe_clickhouse_result result = stream(&rows, 2, "abc");
    assert_int_equal(result.outcome, PIPE_CLICKHOUSE_FATAL);
    assert_string_equal(result.error, "the rest of the answer was not wanted");
    const struct scripted fails = {PIPE_HTTP_ANSWERED,      200, NULL, NULL,
                                   "abc|" EXCEPTION("241"), NULL};
    assert_int_equal(stream(&fails, 2, "abc").outcome, PIPE_CLICKHOUSE_RETRY);
}

/* ---- The question what the server is ---- */

static void test_hello_decides(void **state)
{
    (void)state;
    static const struct {
        struct scripted answer;
        enum pipe_clickhouse_outcome outcome;
        const char *error;
    } cases[] = {
        {{PIPE_HTTP_REFUSED, 0, NULL, NULL, NULL, "no connection"},
         PIPE_CLICKHOUSE_REFUSED,
         "no connection"},
        {{PIPE_HTTP_UNKNOWN, 0, NULL, NULL, NULL, "cut"}, PIPE_CLICKHOUSE_REFUSED, "cut"},
        {{PIPE_HTTP_ANSWERED, 500, "241", NULL, EXCEPTION("241"), NULL},
         PIPE_CLICKHOUSE_REFUSED,
         "code 241: It is so. (NAME) (version 26.9.2.1)"},
        {{PIPE_HTTP_ANSWERED, 403, "516", NULL, EXCEPTION("516"), NULL},
         PIPE_CLICKHOUSE_FATAL,
         "code 516: It is so. (NAME) (version 26.9.2.1)"},
        {{PIPE_HTTP_ANSWERED, 200, NULL, NULL, "24.7.9\t1\t1\tn\t\n", NULL},
         PIPE_CLICKHOUSE_FATAL,
         "ClickHouse 24.7.9 at http://host:8123 is too old: 24.8 or later is needed"},
        {{PIPE_HTTP_ANSWERED, 200, NULL, NULL, "23.12.1\t1\t1\tn\t\n", NULL},
         PIPE_CLICKHOUSE_FATAL,
         "ClickHouse 23.12.1 at http://host:8123 is too old: 24.8 or later is needed"},
        {{PIPE_HTTP_ANSWERED, 200, NULL, NULL, "<html>", NULL},
         PIPE_CLICKHOUSE_REFUSED,
         "http://host:8123 does not answer as ClickHouse does"},
        {{PIPE_HTTP_ANSWERED, 200, NULL, NULL, "26.1\tx\t1\tn\t\n", NULL},
         PIPE_CLICKHOUSE_REFUSED,
         "http://host:8123 does not answer as ClickHouse does"},
    };
    const struct pipe_clickhouse_call call = an_insert();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pipe_clickhouse *client = open_client();
        struct pipe_clickhouse_result result;
        play(&cases[i].answer, 1);
        pipe_clickhouse_do(client, &call, &result);
        assert_string_equal(result.error, cases[i].error);
        assert_int_equal(result.outcome, cases[i].outcome);
        assert_int_equal(sent, 1); /* the rows were not */
        assert_null(pipe_clickhouse_server(client));
        pipe_clickhouse_close(client);
    }
}

/* One question for all that wait; asked again when a connection broke or a setting went away. */
static void test_hello_is_asked_again(void **state)
{
    (void)state;
    const struct scripted good = {PIPE_HTTP_ANSWERED, 200, NULL, NULL, NULL, NULL};
    const struct scripted answers[] = {
        hello, good, {PIPE_HTTP_UNKNOWN, 0, NULL, NULL, NULL, "cut"}, hello, good};
    struct pipe_clickhouse *client = open_client();
    const struct pipe_clickhouse_call call = an_insert();
    struct pipe_clickhouse_result result;
    play(answers, 5);
    struct pipe_clickhouse_request *a = pipe_clickhouse_begin(client, &call);
    struct pipe_clickhouse_request *b = pipe_clickhouse_begin(client, &call);
    assert_int_equal(sent, 1);
    pipe_clickhouse_poll(client, 0);
    assert_int_equal(sent, 3);
    assert_non_null(pipe_clickhouse_server(client));
    pipe_clickhouse_poll(client, 0);
    assert_int_equal(pipe_clickhouse_look(a)->outcome, PIPE_CLICKHOUSE_DONE);
    assert_int_equal(pipe_clickhouse_look(b)->outcome, PIPE_CLICKHOUSE_UNKNOWN);
    assert_null(pipe_clickhouse_server(client));
    pipe_clickhouse_end(a);
    pipe_clickhouse_end(b);
    pipe_clickhouse_do(client, &call, &result);
    assert_int_equal(result.outcome, PIPE_CLICKHOUSE_DONE);
    assert_int_equal(sent, 5);
    pipe_clickhouse_close(client);
}

static void test_pending_requests_end(void **state)
{
    (void)state;
    const struct scripted never = {.outcome = PIPE_HTTP_PENDING};
    const struct scripted answers[] = {hello, never, never};
    struct pipe_clickhouse *client = open_client();
    const struct pipe_clickhouse_call call = an_insert();
    play(answers, 3);
    struct pipe_clickhouse_request *a = pipe_clickhouse_begin(client, &call);
    struct pipe_clickhouse_request *b = pipe_clickhouse_begin(client, &call);
    pipe_clickhouse_poll(client, 0);
    pipe_clickhouse_end(a);
    assert_int_equal(pipe_clickhouse_look(b)->outcome, PIPE_CLICKHOUSE_PENDING);
    pipe_clickhouse_end(b);
    pipe_clickhouse_close(client);
    play(&never, 1); /* the question is not answered: the request ends at its own time */
    client = open_client();
    struct pipe_clickhouse_call short_call = call;
    struct pipe_clickhouse_result result;
    short_call.deadline_ms = 1;
    pipe_clickhouse_do(client, &short_call, &result);
    assert_int_equal(result.outcome, PIPE_CLICKHOUSE_REFUSED);
    pipe_clickhouse_close(client);
}

/* ---- Text ---- */

static const struct pipe_table_column columns[] = {{"id", "String"},
                                                   {"a b", "DateTime64(3, 'UTC')"},
                                                   {"_pipe_partition", "Int32"},
                                                   {"_pipe_offset", "Int64"}};

static void assert_text(struct pipe_buf *buf, const char *expected)
{
    pipe_buf_add_byte(buf, '\0');
    assert_string_equal((char *)buf->data, expected);
    pipe_buf_free(buf);
}

static void test_statements(void **state)
{
    (void)state;
    struct pipe_table_def table = {.name = "shop.t-1", .columns = columns, .column_count = 4};
    const struct pipe_clickhouse_range ranges[] = {{3, 10, 19}, {5, 0, 7}};
    const struct pipe_table_rollup rollup = {.table = "shop.r"};
    struct pipe_buf sql = {0};
    const char *plain = "INSERT INTO shop.`t-1` (id, `a b`, _pipe_partition, _pipe_offset) "
                        "FORMAT Native";
    pipe_clickhouse_insert_sql(&sql, &table, ranges, 2, "Native");
    assert_text(
        &sql,
        "INSERT INTO shop.`t-1` (id, `a b`, _pipe_partition, _pipe_offset) SELECT "
        "id, `a b`, _pipe_partition, _pipe_offset FROM input('id String, `a b` "
        "DateTime64(3, \\'UTC\\'), _pipe_partition Int32, _pipe_offset Int64') WHERE "
        "(_pipe_partition, _pipe_offset) NOT IN (SELECT _pipe_partition, _pipe_offset FROM "
        "shop.`t-1` WHERE (_pipe_partition = 3 AND _pipe_offset BETWEEN 10 AND 19) OR "
        "(_pipe_partition = 5 AND _pipe_offset BETWEEN 0 AND 7)) AND throwIf((SELECT count() FROM "
        "system.columns WHERE database = 'shop' AND table = 't-1' AND (name, type) "
        "IN (('id', 'String'), ('a b', 'DateTime64(3, \\'UTC\\')'), "
        "('_pipe_partition', 'Int32'), ('_pipe_offset', 'Int64'))) != 4, 'a column "
        "of the table was altered') = 0 FORMAT Native");
    pipe_clickhouse_probe_sql(&sql, &table, ranges, 1);
    assert_text(&sql, "SELECT count() FROM shop.`t-1` WHERE (_pipe_partition = 3 AND _pipe_offset "
                      "BETWEEN 10 AND 19) FORMAT TabSeparated");
    pipe_clickhouse_probe_sql(&sql, &table, ranges, 2);
    assert_text(&sql, "SELECT count() FROM shop.`t-1` WHERE (_pipe_partition = 3 AND _pipe_offset "
                      "BETWEEN 10 AND 19) OR (_pipe_partition = 5 AND _pipe_offset BETWEEN 0 AND "
                      "7) FORMAT TabSeparated");
    table.keeping = PIPE_TABLE_LAST_REVISION;
    assert_true(pipe_clickhouse_is_plain(&table));
    pipe_clickhouse_insert_sql(&sql, &table, ranges, 1, "Native");
    assert_text(&sql, plain);
    table.keeping = PIPE_TABLE_ALL;
    table.rollups = &rollup;
    table.rollup_count = 1;
    pipe_clickhouse_insert_sql(&sql, &table, ranges, 1, "Native");
    assert_text(&sql, plain);
    pipe_clickhouse_identifier(&sql, "a`b\\c");
    assert_text(&sql, "`a\\`b\\\\c`");
    pipe_clickhouse_literal(&sql, pipe_str_of("it's \\ \0", 8));
    assert_text(&sql, "'it\\'s \\\\ \\0'");
}

static void test_compress(void **state)
{
    (void)state;
    char body[20000], back[20000];
    struct pipe_buf packed = {0};
    LZ4F_dctx *unpacker;
    for (size_t i = 0; i < sizeof body; i++)
        body[i] = (char)(i * i / 97);
    pipe_clickhouse_compress(&packed, pipe_str_of(body, sizeof body));
    assert_false(LZ4F_isError(LZ4F_createDecompressionContext(&unpacker, LZ4F_VERSION)));
    size_t back_size = sizeof back, packed_size = packed.size;
    assert_int_equal(LZ4F_decompress(unpacker, back, &back_size, packed.data, &packed_size, NULL),
                     0);
    assert_int_equal(back_size, sizeof body);
    assert_int_equal(packed_size, packed.size);
    assert_memory_equal(back, body, sizeof body);
    LZ4F_freeDecompressionContext(unpacker);
    pipe_buf_free(&packed);
}

static void test_urls(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "http://u:p@host:1", "http://u@host/x",     "tcp://host:9000", "http://",
        "http://host/a/b",   "http://host:1/x?a=b", "http://host :1",  "https:///x"};
    char error[512];
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        setenv("PIPE_CLICKHOUSE_URL", wrong[i], 1);
        assert_null(pipe_clickhouse_open(error, sizeof error));
        assert_non_null(strstr(error, "PIPE_CLICKHOUSE_URL must"));
        assert_null(strstr(error, "u:p"));
    }
    setenv("PIPE_CLICKHOUSE_URL", "https://host:8443/", 1);
    struct pipe_clickhouse *client = pipe_clickhouse_open(error, sizeof error);
    assert_string_equal(pipe_clickhouse_url(client), "https://host:8443");
    assert_string_equal(pipe_clickhouse_database(client), "default");
    pipe_clickhouse_close(client);
    unsetenv("PIPE_CLICKHOUSE_URL");
    assert_null(pipe_clickhouse_open(error, sizeof error));
    assert_string_equal(error, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_settings_are_sent),
        cmocka_unit_test(test_older_servers_hear_what_they_know),
        cmocka_unit_test(test_statements_without_rows),
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_long_errors_are_cut),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_pieces_refused),
        cmocka_unit_test(test_hello_decides),
        cmocka_unit_test(test_hello_is_asked_again),
        cmocka_unit_test(test_pending_requests_end),
        cmocka_unit_test(test_statements),
        cmocka_unit_test(test_compress),
        cmocka_unit_test(test_urls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
