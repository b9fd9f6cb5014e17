/*
 * metrics_server.c: /metrics, /healthz and /readyz by libmicrohttpd, in one thread of its own.
 * Whoever connects can cost a bounded number of descriptors and bytes, and no time of the engine.
 */
#include <inttypes.h>
#include <microhttpd.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "metrics_internal.h"

#define CONNECTIONS 32u          /* a scraper or two, probes, and some that linger */
#define IDLE_SECONDS 5u          /* a connection that says nothing for so long is closed */
#define CONNECTION_BYTES 16384ul /* of a request and the head of its answer */
/* A broker that is away makes a commit wait, which is no fault of this process: less than a minute
 * would restart it in vain. Loading state has no end that is known. */
#define STUCK_US 60000000
#define STUCK_RECOVERING_US 600000000

/* ---- Health ---- */

static const char *const phases[] = {
    [METRICS_OPENING] = "opening the run", [METRICS_RECOVERING] = "recovering state",
    [METRICS_RUNNING] = "reading",         [METRICS_COMMITTING] = "committing",
    [METRICS_SAVING] = "saving state",
};

struct metrics_health metrics_health(const struct pipe_metrics *metrics, int64_t now_us)
{
    struct metrics_health health = {.status = 200, .text = "ok\n"};
    int phase = atomic_load_explicit(&metrics->phase, memory_order_relaxed);
    int64_t quiet_us = now_us - atomic_load_explicit(&metrics->turned_us, memory_order_relaxed);
    bool recovers = phase == METRICS_OPENING || phase == METRICS_RECOVERING;
    if (quiet_us <= (recovers ? STUCK_RECOVERING_US : STUCK_US))
        return health;
    health.status = 503;
    snprintf(health.text, sizeof health.text,
             "stuck: the loop has not turned for %" PRId64 " s; it was %s\n", quiet_us / 1000000,
             phases[phase]);
    return health;
}

struct metrics_health metrics_ready(const struct pipe_metrics *metrics, int64_t now_us)
{
    static const char *const reasons[] = {
        [READINESS_OPENING] = "not ready: opening the run, replaying what its state lacks\n",
        [READINESS_UNASSIGNED] = "not ready: no partition is assigned to this process\n",
        [READINESS_RECOVERING] = "not ready: partitions that were assigned are replayed\n",
        [READINESS_NO_TRANSACTION] = "not ready: no transaction can be begun yet\n",
        [READINESS_READY] = "ready\n",
    };
    struct metrics_health health = metrics_health(metrics, now_us);
    int readiness = atomic_load_explicit(&metrics->readiness, memory_order_relaxed);
    if (health.status != 200)
        return health;
    health.status = readiness == READINESS_READY ? 200 : 503;
    snprintf(health.text, sizeof health.text, "%s", reasons[readiness]);
    const char *table = health.status == 200 ? metrics_halted_table(metrics) : NULL;
    if (table == NULL)
        return health;
    health.status = 503;
    snprintf(health.text, sizeof health.text,
             "not ready: the table of sink %.100s stands still until a restart\n", table);
    return health;
}

/* ---- HTTP ---- */

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned status, const char *type,
                              const char *allow, struct pipe_buf *body)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(body->size, body->data, MHD_RESPMEM_MUST_FREE);
    if (response == NULL) {
        pipe_buf_free(body);
        return MHD_NO;
    }
    bool ok = MHD_add_response_header(response, "Content-Type", type) == MHD_YES &&
              MHD_add_response_header(response, "Cache-Control", "no-store") == MHD_YES &&
              MHD_add_response_header(response, "X-Content-Type-Options", "nosniff") == MHD_YES &&
              MHD_add_response_header(response, "Content-Security-Policy",
                                      "default-src 'none'; frame-ancestors 'none'") == MHD_YES &&
              MHD_add_response_header(response, "Cross-Origin-Resource-Policy", "same-origin") ==
                  MHD_YES &&
              (allow == NULL || MHD_add_response_header(response, "Allow", allow) == MHD_YES);
    enum MHD_Result result = ok ? MHD_queue_response(connection, status, response) : MHD_NO;
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result answer_text(struct MHD_Connection *connection, unsigned status,
                                   const char *allow, const char *text)
{
    struct pipe_buf body = {0};
    pipe_buf_add(&body, text, strlen(text));
    return answer(connection, status, "text/plain; charset=utf-8", allow, &body);
}

static enum MHD_Result answer_metrics(struct MHD_Connection *connection,
                                      struct pipe_metrics *metrics)
{
    struct pipe_buf body = {0};
    pthread_mutex_lock(&metrics->lock);
    metrics_render(metrics, engine_wall_ms(), &body);
    pthread_mutex_unlock(&metrics->lock);
    return answer(connection, 200, "text/plain; version=0.0.4; charset=utf-8", NULL, &body);
}

static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_bytes, void **state)
{
    struct pipe_metrics *metrics = context;
    struct metrics_health health;
    (void)version;
    (void)upload;
    (void)upload_bytes;
    (void)state;
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        return answer_text(connection, 405, "GET, HEAD", "only GET and HEAD\n");
    if (strcmp(url, "/metrics") == 0)
        return answer_metrics(connection, metrics);
    if (strcmp(url, "/healthz") == 0)
        health = metrics_health(metrics, engine_monotonic_us());
    else if (strcmp(url, "/readyz") == 0)
        health = metrics_ready(metrics, engine_monotonic_us());
    else
        return answer_text(connection, 404, NULL, "there are /metrics, /healthz and /readyz\n");
    return answer_text(connection, health.status, NULL, health.text);
}

bool metrics_serve(struct pipe_metrics *metrics, int socket)
{
    /* Signals are the engine's. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    metrics->daemon = MHD_start_daemon(
        MHD_USE_AUTO | MHD_USE_INTERNAL_POLLING_THREAD, 0, NULL, NULL, handle, metrics,
        MHD_OPTION_LISTEN_SOCKET, socket, MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS,
        MHD_OPTION_CONNECTION_TIMEOUT, IDLE_SECONDS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)CONNECTION_BYTES, MHD_OPTION_END);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (metrics->daemon == NULL)
        close(socket);
    return metrics->daemon != NULL;
}

void metrics_serve_stop(struct pipe_metrics *metrics)
{
    if (metrics->daemon != NULL)
        MHD_stop_daemon(metrics->daemon); /* closes the socket too */
    metrics->daemon = NULL;
}
