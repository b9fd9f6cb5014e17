/*
 * clickhouse_judge.c: what became of a request, by the status, the headers and the body of its
 * answer. Servers have answered 200 with an exception in a header, in the body, or behind half of
 * the rows; a proxy in between answers for itself.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "clickhouse_internal.h"

const char *const clickhouse_wanted[CLICKHOUSE_HEADERS] = {
    [CLICKHOUSE_HEADER_CODE] = "X-ClickHouse-Exception-Code",
    [CLICKHOUSE_HEADER_TAG] = "X-ClickHouse-Exception-Tag",
};

static bool is_among(int code, const int *codes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (codes[i] == code)
            return true;
    return false;
}

static enum pipe_clickhouse_outcome outcome_of_code(int code)
{
    /* The server itself does not know, or another attempt of this query runs. */
    static const int unknown[] = {
        209 /* SOCKET_TIMEOUT */,           210 /* NETWORK_ERROR */,
        216 /* QUERY_WITH_SAME_ID */,       286 /* UNSATISFIED_QUORUM_FOR_PREVIOUS_WRITE */,
        319 /* UNKNOWN_STATUS_OF_INSERT */,
    };
    /* Passes: load, a disk or a limit that is full, a replica or Keeper that is away, a body that
     * was cut, a restart, somebody who killed the query; and settings of another version. */
    static const int passing[] = {
        3 /* UNEXPECTED_END_OF_FILE */,
        23 /* CANNOT_READ_FROM_ISTREAM */,
        24 /* CANNOT_WRITE_TO_OSTREAM */,
        74 /* CANNOT_READ_FROM_FILE_DESCRIPTOR */,
        75 /* CANNOT_WRITE_TO_FILE_DESCRIPTOR */,
        76 /* CANNOT_OPEN_FILE */,
        107 /* FILE_DOESNT_EXIST */,
        115 /* UNKNOWN_SETTING */,
        159 /* TIMEOUT_EXCEEDED */,
        173 /* CANNOT_ALLOCATE_MEMORY */,
        201 /* QUOTA_EXCEEDED */,
        202 /* TOO_MANY_SIMULTANEOUS_QUERIES */,
        203 /* NO_FREE_CONNECTION */,
        225 /* NO_ZOOKEEPER */,
        236 /* ABORTED */,
        241 /* MEMORY_LIMIT_EXCEEDED */,
        242 /* TABLE_IS_READ_ONLY */,
        243 /* NOT_ENOUGH_SPACE */,
        244 /* UNEXPECTED_ZOOKEEPER_ERROR */,
        252 /* TOO_MANY_PARTS */,
        254 /* NO_ACTIVE_REPLICAS */,
        279 /* ALL_CONNECTION_TRIES_FAILED */,
        285 /* TOO_FEW_LIVE_REPLICAS */,
        354 /* ZLIB_INFLATE_FAILED */,
        394 /* QUERY_WAS_CANCELLED */,
        425 /* SYSTEM_ERROR */,
        439 /* CANNOT_SCHEDULE_TASK */,
        499 /* S3_ERROR */,
        999 /* KEEPER_EXCEPTION */,
        1000 /* POCO_EXCEPTION */,
        1001 /* STD_EXCEPTION */,
        1002 /* UNKNOWN_EXCEPTION */,
    };
    if (is_among(code, unknown, sizeof unknown / sizeof *unknown))
        return PIPE_CLICKHOUSE_UNKNOWN;
    return is_among(code, passing, sizeof passing / sizeof *passing) ? PIPE_CLICKHOUSE_RETRY
                                                                     : PIPE_CLICKHOUSE_FATAL;
}

/* Of an answer that holds no exception of ClickHouse. */
static enum pipe_clickhouse_outcome outcome_of_status(int status)
{
    if (status >= 200 && status < 300)
        return PIPE_CLICKHOUSE_DONE;
    if (status == 404 || status == 408 || status == 429 || (status >= 300 && status < 400))
        return PIPE_CLICKHOUSE_RETRY; /* of a proxy whose server is away, or moves */
    return status >= 500 ? PIPE_CLICKHOUSE_UNKNOWN : PIPE_CLICKHOUSE_FATAL;
}

/* ---- The text of an exception ---- */

static const char *find(struct pipe_str text, const char *what)
{
    return text.size > 0 ? memmem(text.data, text.size, what, strlen(what)) : NULL;
}

/* The part of the answer that is an exception; empty: none. In an answer that is good by its status
 * it stands where the server's tag says so, or, of servers without tags, where the answer ends like
 * one: rows may hold the words. */
static struct pipe_str exception_in(struct pipe_str body, const char *tag, bool good)
{
    char mark[192];
    if (tag[0] != '\0') {
        snprintf(mark, sizeof mark, "__exception__\r\n%s\r\n", tag);
        const char *at = find(body, mark);
        if (at != NULL)
            return pipe_str_of(at + strlen(mark),
                               (size_t)(body.data + body.size - at) - strlen(mark));
        if (good)
            return pipe_str_of(NULL, 0);
    }
    if (good && (body.size < 2 || body.data[body.size - 1] != '\n' ||
                 body.data[body.size - 2] != ')' || find(body, " (version ") == NULL))
        return pipe_str_of(NULL, 0);
    const char *named = find(body, "DB::Exception: ");
    if (named == NULL)
        return pipe_str_of(NULL, 0);
    const char *at = named;
    while (at > body.data && named - at < 64 && strncmp(at, "Code: ", 6) != 0)
        at--;
    return pipe_str_of(at, (size_t)(body.data + body.size - at));
}

static int code_in(struct pipe_str exception)
{
    const char *at = find(exception, "Code: ");
    int code = 0;
    for (size_t i = at != NULL ? (size_t)(at - exception.data) + 6 : exception.size;
         i < exception.size && isdigit((unsigned char)exception.data[i]) && code < 100000; i++)
        code = 10 * code + (exception.data[i] - '0');
    return code;
}

/* Of the header; 0: it holds none. */
static int code_of(const char *header)
{
    size_t digits = strspn(header, "0123456789");
    return digits > 0 && digits < 7 && header[digits] == '\0' ? atoi(header) : 0;
}

/* What the server says, behind its "Code: N. DB::Exception: ", as one printable line. */
static void add_message(char *error, size_t error_bytes, struct pipe_str text)
{
    const char *named = find(text, "DB::Exception: ");
    size_t skipped = named != NULL ? (size_t)(named - text.data) + strlen("DB::Exception: ") : 0;
    size_t used = strlen(error), end = used;
    for (size_t i = skipped; i < text.size && used + 5 < error_bytes;) {
        size_t step = pipe_utf8_step(text.data + i, text.data + text.size);
        bool good = step > 0 && i + step <= text.size && pipe_utf8_check(text.data + i, step);
        const unsigned char *at = (const unsigned char *)text.data + i;
        bool control = at[0] < ' ' || at[0] == 127 || (step == 2 && at[0] == 0xC2 && at[1] < 0xA0);
        if (good && !control) {
            memcpy(error + used, text.data + i, step);
            used += step;
            end = used;
        } else if (used > 0 && error[used - 1] != ' ') {
            error[used++] = ' ';
        }
        i += good ? step : 1;
    }
    error[end] = '\0';
}

static void tell(struct pipe_clickhouse_result *result, const char *what, struct pipe_str text)
{
    if (result->code != 0)
        snprintf(result->error, sizeof result->error, "code %d: ", result->code);
    else
        snprintf(result->error, sizeof result->error, "%s (HTTP %d)%s", what, result->status,
                 text.size > 0 ? ": " : "");
    add_message(result->error, sizeof result->error, text);
}

/* ---- The verdict ---- */

static void judge_answer(const struct pipe_http_answer *answer, struct pipe_str body, bool insert,
                         struct pipe_clickhouse_result *result)
{
    const char *header = answer->wanted[CLICKHOUSE_HEADER_CODE];
    bool good = answer->status >= 200 && answer->status < 300;
    struct pipe_str exception = exception_in(body, answer->wanted[CLICKHOUSE_HEADER_TAG], good);
    result->status = answer->status;
    result->code = code_of(header);
    if (exception.size > 0 && result->code == 0)
        result->code = code_in(exception);
    if (result->code != 0 || header[0] != '\0' || exception.size > 0) {
        result->outcome =
            result->code != 0 ? outcome_of_code(result->code) : PIPE_CLICKHOUSE_UNKNOWN;
        tell(result,
             header[0] != '\0' ? "an exception whose code is no number"
                               : "an exception without a code",
             exception.size > 0 ? exception : body);
        return;
    }
    result->outcome = outcome_of_status(answer->status);
    if (result->outcome == PIPE_CLICKHOUSE_DONE && insert && body.size > 0) {
        result->outcome = PIPE_CLICKHOUSE_UNKNOWN;
        tell(result, "an insert was answered with a text", body);
    } else if (result->outcome != PIPE_CLICKHOUSE_DONE) {
        tell(result, "no answer of ClickHouse", body);
    }
}

void clickhouse_judge(const struct pipe_http_answer *answer, struct pipe_str tail, bool insert,
                      struct pipe_clickhouse_result *result)
{
    bool streamed = tail.data != NULL;
    struct pipe_str body = streamed && answer->body.size == 0
                               ? tail
                               : pipe_str_of((const char *)answer->body.data, answer->body.size);
    switch (answer->outcome) {
    case PIPE_HTTP_PENDING:
        return;
    case PIPE_HTTP_ANSWERED:
        judge_answer(answer, body, insert, result);
        return;
    case PIPE_HTTP_REFUSED:
        result->outcome = PIPE_CLICKHOUSE_REFUSED;
        break;
    case PIPE_HTTP_UNKNOWN: /* some versions break off behind the text of an exception */
    case PIPE_HTTP_TIMEOUT:
        result->outcome = PIPE_CLICKHOUSE_UNKNOWN;
        if (exception_in(body, answer->wanted[CLICKHOUSE_HEADER_TAG], true).size == 0)
            break;
        judge_answer(answer, body, insert, result);
        return;
    }
    snprintf(result->error, sizeof result->error, "%s", answer->error);
}
