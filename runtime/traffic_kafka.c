/*
 * traffic_kafka.c: `NAME traffic` to Kafka. Records go out in transactions, and the position (how
 * many were sent) is committed with them: as the offset of a group without members, whose name ends
 * with the seed. So a writer that is killed goes on where its last transaction ended, and what it
 * sent behind that is aborted. Its options lie beside the position: they are what the ledger is
 * made of.
 *
 * A transaction whose outcome is unknown is decided by the committed position. If that is neither
 * the one before nor the one behind it, another process sends the same traffic.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "ledger.h"
#include "system_calls.h"
#include "traffic_cli.h"
#include "traffic_position.h"

#define COMMIT_MS 100
#define COMMIT_BYTES (4u << 20)
#define RECORDS_A_ROUND 4096
#define NAP_US 1000
#define SAY_EVERY_US 5000000

struct counts {
    uint64_t events, records, bytes;
    uint64_t *faults;
};

/* One traffic into one topic. */
struct kafka_traffic {
    const struct pipe_plan *plan;
    const struct pipe_traffic_options *options;
    const struct pipe_traffic_def *def;
    const struct pipe_source_def *source;
    char group[TRAFFIC_GROUP_BYTES];
    struct pipe_log *log;
    uint32_t topic;
    struct pipe_feeder_options feeder_options;
    struct pipe_feeder *feeder; /* NULL: to be made, at `committed` */
    uint64_t committed, sent, attempted; /* records; attempted: of the last commit, or committed */
    bool known;                 /* a position was read: what it is from now on is known */
    struct pipe_feed_record ahead;
    bool has_ahead, ended;
    bool paced, pace_begun;
    int64_t pace_from_us, pace_from_ms; /* of the first record of this process */
    bool open;                          /* a transaction is */
    int64_t opened_us;
    struct counts all, pending; /* of this process: committed, of the open transaction */
    uint64_t aborts;
    int exit_code;
    char error[768];
};

static bool fail(struct kafka_traffic *traffic, int code, const char *format, ...)
    PIPE_PRINTF(3, 4);
static bool fail(struct kafka_traffic *traffic, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(traffic->error, sizeof traffic->error, format, args);
    va_end(args);
    traffic->exit_code = code;
    return false;
}

static bool log_failed(struct kafka_traffic *traffic)
{
    return fail(traffic, PIPE_EXIT_DATA, "%s", traffic->log->error);
}

/* ---- The position ---- */

static bool same_option(struct kafka_traffic *traffic, const char *what, bool given, int64_t *value,
                        int64_t stored)
{
    if (given && *value != stored)
        return fail(traffic, PIPE_EXIT_STATE,
                    "--%s %" PRId64 ": the traffic of seed %" PRIu64 " was begun with %" PRId64
                    "; give that, or another --seed",
                    what, *value, traffic->feeder_options.seed, stored);
    *value = stored;
    return true;
}

/* A count may be raised: the traffic stops where it ended before, and goes on from there. */
static bool raise_count(struct kafka_traffic *traffic, const struct pipe_feeder_options *stored)
{
    struct pipe_feeder_options *options = &traffic->feeder_options;
    const struct pipe_traffic_options *given = traffic->options;
    int64_t wanted = given->seconds > 0 ? given->seconds * options->rate_per_second
                     : given->run.has_count ? given->run.feeder.count
                                            : stored->count;
    memcpy(options->stops, stored->stops, sizeof options->stops);
    options->stop_count = stored->stop_count;
    options->count = wanted;
    if (wanted == stored->count)
        return true;
    if (stored->count < 0 || wanted < stored->count)
        return fail(traffic, PIPE_EXIT_STATE,
                    "%" PRId64 " events: the traffic of seed %" PRIu64 " was begun %s; give "
                    "another --seed",
                    wanted, options->seed,
                    stored->count < 0 ? "without end" : "with more than that");
    if (options->stop_count == PIPE_FEEDER_STOPS)
        return fail(traffic, PIPE_EXIT_STATE,
                    "the traffic of seed %" PRIu64 " was raised %d times already; give another "
                    "--seed",
                    options->seed, PIPE_FEEDER_STOPS);
    options->stops[options->stop_count++] = stored->count;
    return true;
}

static bool take_options(struct kafka_traffic *traffic, const struct pipe_ledger_head *stored)
{
    const struct pipe_run_options *given = &traffic->options->run;
    struct pipe_feeder_options *options = &traffic->feeder_options;
    return same_option(traffic, "rate", given->has_rate, &options->rate_per_second,
                       stored->options.rate_per_second) &&
           same_option(traffic, "start", given->has_start, &options->start_ms,
                       stored->options.start_ms) &&
           raise_count(traffic, &stored->options);
}

/* The first time also with whose options. */
static bool read_position(struct kafka_traffic *traffic)
{
    struct pipe_buf value = {0};
    struct pipe_log_committed found = {.value = &value};
    struct pipe_log_position of = {.name = traffic->group, .at = {traffic->topic, 0}};
    struct pipe_ledger_head head = {0};
    bool ok = traffic->log->ops->get_position(traffic->log, &of, &found) || log_failed(traffic);
    if (ok && found.found && !traffic_position_read(pipe_str_of(value.data, value.size), &head))
        ok = fail(traffic, PIPE_EXIT_DATA, "the position of group %s is malformed",
                  traffic->group);
    pipe_buf_free(&value);
    if (!ok)
        return false;
    if (traffic->known && head.position != traffic->committed &&
        head.position != traffic->attempted)
        return fail(traffic, PIPE_EXIT_STATE,
                    "another process sends the traffic of seed %" PRIu64 " (it is at record %" PRIu64
                    "); give each a --seed of its own",
                    traffic->feeder_options.seed, head.position);
    if (!traffic->known && found.found && !take_options(traffic, &head))
        return false;
    if (traffic->known && head.position != traffic->committed)
        ; /* the commit of unknown outcome took place: see count_commit */
    traffic->committed = traffic->sent = traffic->attempted = head.position;
    traffic->known = true;
    return true;
}

static bool put_position(struct kafka_traffic *traffic)
{
    struct pipe_buf value = {0};
    struct pipe_ledger_head head = {.traffic = (uint32_t)(traffic->def - traffic->plan->traffics),
                                    .options = traffic->feeder_options,
                                    .position = traffic->sent};
    traffic_position_write(&value, &head);
    struct pipe_log_position position = {.name = traffic->group,
                                         .at = {traffic->topic, 0},
                                         .offset = (int64_t)traffic->sent,
                                         .value = pipe_str_of(value.data, value.size)};
    bool ok = traffic->log->ops->put_position(traffic->log, &position) || log_failed(traffic);
    pipe_buf_free(&value);
    return ok;
}
