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
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "ledger.h"
#include "log_options.h"
#include "new_file.h"
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
    struct pipe_feeder *feeder;          /* NULL: to be made, at `committed` */
    uint64_t committed, sent, attempted; /* records; attempted: of the last commit, or committed */
    bool known;                          /* a position was read: what it is from now on is known */
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
    log_advise(traffic->error, sizeof traffic->error);
    traffic->exit_code = code;
    return false;
}

static bool log_failed(struct kafka_traffic *traffic)
{
    return fail(traffic, PIPE_EXIT_DATA, "%s", traffic->log->error);
}

/* ---- Counting ---- */

static void count(struct kafka_traffic *traffic, const struct pipe_feed_record *record)
{
    struct counts *to = &traffic->pending;
    to->records++;
    to->bytes += record->key.size + record->value.size;
    if (record->duplicate >= 0)
        to->faults[record->duplicate]++;
    else
        to->events++;
    if (record->duplicate < 0 && record->fault >= 0)
        to->faults[record->fault]++;
}

/* Of the open transaction: it was committed, or not. */
static void close_counts(struct kafka_traffic *traffic, bool committed)
{
    struct counts *from = &traffic->pending, *to = &traffic->all;
    to->events += committed ? from->events : 0;
    to->records += committed ? from->records : 0;
    to->bytes += committed ? from->bytes : 0;
    for (uint32_t i = 0; i < traffic->def->fault_count; i++) {
        to->faults[i] += committed ? from->faults[i] : 0;
        from->faults[i] = 0;
    }
    from->events = from->records = from->bytes = 0;
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

static bool same_rate(struct kafka_traffic *traffic, bool given, int64_t stored)
{
    int64_t *rate = &traffic->feeder_options.rate_per_hour;
    char wanted[PIPE_RATE_TEXT], begun[PIPE_RATE_TEXT];
    pipe_rate_text(*rate, wanted);
    pipe_rate_text(stored, begun);
    if (given && *rate != stored)
        return fail(traffic, PIPE_EXIT_STATE,
                    "--rate %s: the traffic of seed %" PRIu64 " was begun with %s; give that, or "
                    "another --seed",
                    wanted, traffic->feeder_options.seed, begun);
    *rate = stored;
    return true;
}

/* A count may be raised: the traffic stops where it ended before, and goes on from there. */
static bool raise_count(struct kafka_traffic *traffic, const struct pipe_feeder_options *stored)
{
    struct pipe_feeder_options *options = &traffic->feeder_options;
    const struct pipe_traffic_options *given = traffic->options;
    int64_t wanted = given->seconds > 0 ? pipe_rate_events(options->rate_per_hour, given->seconds)
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
    uint32_t index = (uint32_t)(traffic->def - traffic->plan->traffics);
    if (!pipe_feeder_is_same(traffic->plan, index, &stored->options))
        return fail(traffic, PIPE_EXIT_STATE,
                    "the traffic of seed %" PRIu64 " was begun with another `traffic %s` "
                    "statement: send it with that one, or give another --seed",
                    options->seed, traffic->def->name);
    return same_rate(traffic, given->has_rate, stored->options.rate_per_hour) &&
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
    bool ok =
        traffic->log->ops->get_position(traffic->log, &of, &found) ||
        fail(traffic, PIPE_EXIT_STATE, "%s (of traffic: another --seed)", traffic->log->error);
    if (ok && found.found && !traffic_position_read(pipe_str_of(value.data, value.size), &head))
        ok = fail(traffic, PIPE_EXIT_DATA, "the position of group %s is malformed", traffic->group);
    pipe_buf_free(&value);
    if (!ok)
        return false;
    if (traffic->known && head.position != traffic->committed &&
        head.position != traffic->attempted)
        return fail(traffic, PIPE_EXIT_STATE,
                    "another process sends the traffic of seed %" PRIu64
                    " (it is at record %" PRIu64 "); give each a --seed of its own",
                    traffic->feeder_options.seed, head.position);
    if (!traffic->known && found.found && !take_options(traffic, &head))
        return false;
    traffic->feeder_options.definition =
        pipe_feeder_definition(traffic->plan, (uint32_t)(traffic->def - traffic->plan->traffics));
    close_counts(traffic, traffic->known && head.position != traffic->committed);
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

/* ---- Opening ---- */

static bool open_traffic(struct kafka_traffic *traffic)
{
    const struct pipe_kafka_options *kafka = &traffic->options->run.kafka;
    struct pipe_kafka_config config;
    char error[512];
    traffic->all.faults = pipe_calloc(traffic->def->fault_count + 1, sizeof(uint64_t));
    traffic->pending.faults = pipe_calloc(traffic->def->fault_count + 1, sizeof(uint64_t));
    if (!traffic->source->is_kafka)
        return fail(traffic, PIPE_EXIT_USAGE, "source %s reads files: give --to DIR",
                    traffic->source->name);
    traffic_group_name(traffic->plan, traffic->def, traffic->feeder_options.seed, traffic->group);
    if (!pipe_kafka_config(traffic->plan, kafka, &config, error, sizeof error))
        return fail(traffic, PIPE_EXIT_USAGE, "%s", error);
    config.group = traffic->group;
    config.instance = "traffic";
    config.solo = true;
    traffic->log = pipe_log_kafka_open(&config, error, sizeof error);
    free((void *)config.properties);
    if (traffic->log == NULL)
        return fail(traffic, PIPE_EXIT_USAGE, "%s", error);
    return traffic->log->ops->topic(traffic->log, traffic->source->target,
                                    traffic->source->partitions, &traffic->topic) ||
           log_failed(traffic);
}

static void close_traffic(struct kafka_traffic *traffic)
{
    pipe_feeder_close(traffic->feeder);
    if (traffic->log != NULL)
        traffic->log->ops->close(traffic->log);
    free(traffic->all.faults);
    free(traffic->pending.faults);
}

/* The producer is there and older ones of this seed are fenced: so the position stands still. */
static bool begin_at_position(struct kafka_traffic *traffic)
{
    char error[512];
    if (!read_position(traffic))
        return false;
    traffic->feeder = pipe_feeder_open(
        traffic->plan, (uint32_t)(traffic->def - traffic->plan->traffics),
        traffic->source->partitions, &traffic->feeder_options, error, sizeof error);
    if (traffic->feeder == NULL)
        return fail(traffic, PIPE_EXIT_DATA, "%s", error);
    pipe_feeder_skip(traffic->feeder, traffic->committed);
    traffic->has_ahead = traffic->ended = false;
    return true;
}

/* After a transaction that may not have been committed. */
static void drop_feeder(struct kafka_traffic *traffic)
{
    pipe_feeder_close(traffic->feeder);
    traffic->feeder = NULL;
    traffic->has_ahead = false;
}

/* ---- Sending ---- */

/* In real time; what is delayed beyond the last event is not waited for. */
static bool is_due(struct kafka_traffic *traffic, int64_t now_us)
{
    const struct pipe_feeder_options *options = &traffic->feeder_options;
    int64_t time_ms = traffic->ahead.kafka_time_ms;
    if (!traffic->paced)
        return true;
    if (options->count >= 0 &&
        time_ms - options->start_ms >
            pipe_rate_due_ms(options->rate_per_hour, (uint64_t)options->count) + 1000)
        return true;
    if (!traffic->pace_begun) {
        traffic->pace_from_us = now_us;
        traffic->pace_from_ms = time_ms;
        traffic->pace_begun = true;
    }
    return now_us - traffic->pace_from_us >= (time_ms - traffic->pace_from_ms) * 1000;
}

/* What is due, some of it. */
static bool send_due(struct kafka_traffic *traffic, bool *worked)
{
    struct pipe_log *log = traffic->log;
    const struct pipe_feed_record *record = &traffic->ahead;
    int64_t now_us = engine_monotonic_us();
    for (unsigned i = 0; i < RECORDS_A_ROUND && !traffic->ended; i++) {
        if (!traffic->has_ahead && !pipe_feeder_next(traffic->feeder, &traffic->ahead)) {
            traffic->ended = true;
            break;
        }
        traffic->has_ahead = true;
        if (!is_due(traffic, now_us))
            break;
        if (!traffic->open)
            traffic->opened_us = now_us;
        traffic->open = true;
        if (!log->ops->append(log, traffic->topic, record->partition, record->kafka_time_ms,
                              record->key, record->value))
            return log_failed(traffic);
        count(traffic, record);
        traffic->sent++;
        traffic->has_ahead = false;
        *worked = true;
    }
    return true;
}

static bool commit(struct kafka_traffic *traffic)
{
    if (!put_position(traffic))
        return false;
    traffic->attempted = traffic->sent;
    traffic->open = false;
    switch (traffic->log->ops->commit(traffic->log)) {
    case PIPE_LOG_COMMITTED:
        close_counts(traffic, true);
        traffic->committed = traffic->sent;
        return true;
    case PIPE_LOG_ABORTED:
        traffic->aborts++;
        drop_feeder(traffic);
        return true;
    case PIPE_LOG_FENCED:
    case PIPE_LOG_BROKEN:
        break;
    }
    return log_failed(traffic);
}

/* One round. *worked: there may be more to do at once. *done: everything is sent and committed. */
static bool step(struct kafka_traffic *traffic, bool *worked, bool *done)
{
    int64_t every_us =
        (traffic->options->run.commit_ms > 0 ? traffic->options->run.commit_ms : COMMIT_MS) * 1000;
    if (traffic->feeder == NULL) {
        enum pipe_log_state state = traffic->log->ops->ready(traffic->log);
        if (state == PIPE_LOG_FAILED)
            return log_failed(traffic);
        if (state == PIPE_LOG_WAIT) {
            *done = traffic_stops();
            return true;
        }
        if (!begin_at_position(traffic))
            return false;
    }
    bool stops = traffic_stops();
    if (!stops && !send_due(traffic, worked))
        return false;
    stops = stops || traffic->ended;
    if (traffic->open && (stops || traffic->log->pending_bytes >= COMMIT_BYTES ||
                          engine_monotonic_us() - traffic->opened_us >= every_us))
        return commit(traffic);
    *done = stops && !traffic->open;
    return true;
}

/* ---- The end ---- */

/* Made again, from the first record on. */
static bool write_lines(const struct kafka_traffic *traffic, FILE *file)
{
    struct pipe_ledger_head head = {.traffic = (uint32_t)(traffic->def - traffic->plan->traffics),
                                    .partitions = traffic->source->partitions,
                                    .options = traffic->feeder_options,
                                    .position = traffic->committed};
    struct pipe_feed_record record;
    struct pipe_buf line = {0};
    char error[512];
    struct pipe_feeder *feeder = pipe_feeder_open(traffic->plan, head.traffic, head.partitions,
                                                  &head.options, error, sizeof error);
    pipe_ledger_put_head(&line, traffic->plan, &head);
    bool ok = feeder != NULL && fwrite(line.data, 1, line.size, file) == line.size;
    for (uint64_t n = 0; ok && n < head.position && pipe_feeder_next(feeder, &record); n++) {
        line.size = 0;
        pipe_ledger_put_record(&line, traffic->def, traffic->source, n, &record);
        ok = fwrite(line.data, 1, line.size, file) == line.size;
    }
    pipe_feeder_close(feeder);
    pipe_buf_free(&line);
    return ok;
}

/* `several`: each source has a file. */
static void name_ledger(const struct kafka_traffic *traffic, bool several, char *path, size_t size)
{
    snprintf(path, size, "%.4000s%s%s", traffic->options->ledger, several ? "." : "",
             several ? traffic->source->name : "");
}

/* Before anything is sent. */
static bool may_write_ledger(struct kafka_traffic *traffic, bool several)
{
    char path[4200], error[600];
    if (traffic->options->ledger == NULL)
        return true;
    name_ledger(traffic, several, path, sizeof path);
    return pipe_may_make_file("--ledger", path, traffic->options->run.replace, error,
                              sizeof error) ||
           fail(traffic, PIPE_EXIT_DATA, "%s", error);
}

static bool write_ledger(struct kafka_traffic *traffic, bool several)
{
    char path[4200], hidden[4240];
    name_ledger(traffic, several, path, sizeof path);
    snprintf(hidden, sizeof hidden, "%s.%ld.partial", path, (long)getpid());
    FILE *file = fopen(hidden, "we");
    bool ok = file != NULL && write_lines(traffic, file) && fflush(file) == 0 &&
              pipe_fsync(fileno(file)) == 0;
    ok = (file == NULL || fclose(file) == 0) && ok &&
         pipe_show_file(hidden, path, traffic->options->run.replace);
    if (ok)
        return true;
    fail(traffic, PIPE_EXIT_DATA, "%s: cannot be written: %s", path, strerror(errno));
    unlink(hidden);
    return false;
}

static void print_summary(const struct kafka_traffic *traffic, int64_t begun_us)
{
    double seconds = (double)(engine_monotonic_us() - begun_us) / 1e6;
    fprintf(stderr,
            "traffic %s into %s: %" PRIu64 " event%s, %" PRIu64 " record%s, %" PRIu64
            " bytes, in %.1f s (%.0f records/s)\n",
            traffic->def->name, traffic->source->name, traffic->all.events,
            PIPE_PLURAL(traffic->all.events), traffic->all.records,
            PIPE_PLURAL(traffic->all.records), traffic->all.bytes, seconds,
            (double)traffic->all.records / seconds);
    traffic_print_faults(traffic->plan, traffic->def, traffic->all.faults);
    if (traffic->aborts > 0)
        fprintf(stderr, "  %" PRIu64 " transaction%s aborted and sent again\n", traffic->aborts,
                PIPE_PLURAL(traffic->aborts));
    fprintf(stderr, "  topic %s, seed %" PRIu64 ", at record %" PRIu64 "%s\n",
            traffic->source->target, traffic->feeder_options.seed, traffic->committed,
            traffic->ended ? ", the last" : "");
}

static void report(const struct kafka_traffic *traffics, uint32_t used, int64_t *last_us)
{
    int64_t now_us = engine_monotonic_us();
    if (traffics[0].options->run.progress == PIPE_PROGRESS_NEVER ||
        now_us - *last_us < SAY_EVERY_US)
        return;
    *last_us = now_us;
    for (uint32_t i = 0; i < used; i++)
        pipe_message(PIPE_INFO, "progress", "traffic=%s seed=%" PRIu64 " position=%" PRIu64,
                     traffics[i].def->name, traffics[i].feeder_options.seed, traffics[i].committed);
}

/* Until all have ended; the one that failed, or NULL. */
static struct kafka_traffic *send_all(struct kafka_traffic *traffics, uint32_t used)
{
    int64_t last_us = engine_monotonic_us();
    for (bool going = true; going;) {
        bool worked = false;
        going = false;
        for (uint32_t i = 0; i < used; i++) {
            bool done = false;
            if (!step(&traffics[i], &worked, &done))
                return &traffics[i];
            going = going || !done;
        }
        if (going && !worked)
            engine_sleep_us(NAP_US);
        report(traffics, used, &last_us);
    }
    return NULL;
}

static void set_up(struct kafka_traffic *traffic, const struct pipe_plan *plan,
                   const struct pipe_traffic_options *options, uint32_t index)
{
    *traffic = (struct kafka_traffic){.plan = plan,
                                      .options = options,
                                      .def = &plan->traffics[index],
                                      .source = &plan->sources[plan->traffics[index].source],
                                      .feeder_options = options->run.feeder,
                                      .paced = !options->run.has_count};
}

int pipe_traffic_to_kafka(const struct pipe_plan *plan, const struct pipe_traffic_options *options)
{
    struct kafka_traffic *traffics = pipe_calloc(plan->traffic_count + 1, sizeof *traffics);
    struct kafka_traffic *failed = NULL;
    int64_t begun_us = engine_monotonic_us();
    uint32_t used = 0;
    for (uint32_t i = 0; i < plan->traffic_count; i++) {
        if (traffic_is_wanted(plan, options, i))
            set_up(&traffics[used++], plan, options, i);
    }
    for (uint32_t i = 0; failed == NULL && i < used; i++)
        failed = may_write_ledger(&traffics[i], used > 1) ? NULL : &traffics[i];
    for (uint32_t i = 0; failed == NULL && i < used; i++)
        failed = open_traffic(&traffics[i]) ? NULL : &traffics[i];
    if (failed == NULL)
        failed = send_all(traffics, used);
    for (uint32_t i = 0; failed == NULL && i < used; i++) {
        print_summary(&traffics[i], begun_us);
        if (options->ledger != NULL && !write_ledger(&traffics[i], used > 1))
            failed = &traffics[i];
    }
    if (failed != NULL)
        fprintf(stderr, "%s traffic: %s\n", plan->name, failed->error);
    int code = failed != NULL ? failed->exit_code : PIPE_EXIT_OK;
    for (uint32_t i = 0; i < used; i++)
        close_traffic(&traffics[i]);
    free(traffics);
    return code;
}
