/* clickhouse_internal.h: what clickhouse*.c share. */
#ifndef PIPE_CLICKHOUSE_INTERNAL_H
#define PIPE_CLICKHOUSE_INTERNAL_H

#include "clickhouse.h"

#define CLICKHOUSE_LEAST_MAJOR 24
#define CLICKHOUSE_LEAST_MINOR 8

/* ---- clickhouse_settings.c ---- */

/* The parameters behind `?` of a request: those of the interface, the client's settings, then the
 * call's. `known`: see pipe_clickhouse_server. The query is in it if the call has a body. */
void clickhouse_parameters(struct pipe_buf *out, const struct pipe_clickhouse_call *call,
                           const char *database, uint32_t known);
/* The statement that asks a server what it is; with what parameters is clickhouse_hello_parameters.
 */
void clickhouse_hello_sql(struct pipe_buf *out);
void clickhouse_hello_parameters(struct pipe_buf *out, const char *database);
/* Of the answer to it; false: it is not one. */
bool clickhouse_hello_read(struct pipe_str answer, struct pipe_clickhouse_server *server);

/* ---- clickhouse_judge.c ---- */

/* What an answer of HTTP means; the headers that pipe_clickhouse_call wants, in the order of
 * clickhouse_wanted. `tail`: the end of an answer that went to `take`, with that of before.
 * `insert`: nothing but an empty body is a success. Fills outcome, status, code and error. */
enum { CLICKHOUSE_HEADER_CODE, CLICKHOUSE_HEADER_TAG, CLICKHOUSE_HEADERS };
extern const char *const clickhouse_wanted[CLICKHOUSE_HEADERS];
void clickhouse_judge(const struct pipe_http_answer *answer, struct pipe_str tail, bool insert,
                      struct pipe_clickhouse_result *result);
/* The bytes of a streamed answer that are kept for it. */
#define CLICKHOUSE_TAIL 16384

#endif
