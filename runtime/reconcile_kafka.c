/*
 * reconcile_kafka.c: what is compared on Kafka. Processes of the group may be running: what is
 * committed when nothing moves is taken, and later records are not looked at. Nothing moves if the
 * positions before and behind a look at the topics are the same, and no transaction is open in a
 * topic that the pipeline writes: a commit is answered before all of its markers are written, and a
 * read_committed reader that came between would miss rows.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "kafka_internal.h"
#include "reconcile.h"
#include "traffic_position.h"

#define LOOKS 20
#define LOOK_EVERY_US 250000
#define CALL_MS 2000
#define BOUNDS_WAIT_MS 30000

bool reconcile_open_kafka(struct reconcile *r)
{
    struct pipe_kafka_config config;
    char error[512];
    if (!pipe_kafka_config(r->plan, &r->options->run.kafka, &config, error, sizeof error))
        return reconcile_fail(r, PIPE_EXIT_USAGE, "%s", error);
    config.instance = "reconcile";
    config.read_only = true;
    r->engine->log = pipe_log_kafka_open(&config, error, sizeof error);
    free((void *)config.properties);
    if (r->engine->log == NULL)
        return reconcile_fail(r, PIPE_EXIT_USAGE, "%s", error);
    const char *group = kafka_of(r->engine->log)->common->group;
    r->group = pipe_str_dup(pipe_str_of(group, strlen(group)));
    r->place = r->engine->dir = r->group;
    r->engine->log->grouped = true; /* a run's plan: rows of tables in topics, gaps in offsets */
    return true;
}

void reconcile_close_kafka(struct reconcile *r)
{
    for (uint32_t t = 0; r->ends != NULL && t < r->engine->log->topic_count; t++)
        free(r->ends[t]);
    free(r->ends);
    free(r->group);
}

/* ---- What is committed, to be told from what is committed later ---- */

static bool look_at_tasks(struct reconcile *r, struct pipe_buf *look)
{
    struct pipe_engine *engine = r->engine;
    struct pipe_buf value = {0};
    bool ok = true;
    for (uint32_t t = 0; ok && t < engine->task_count; t++) {
        char name[64];
        struct pipe_log_position of = engine_task_position(&engine->tasks[t], name, sizeof name);
        struct pipe_log_committed found = {.value = &value};
        ok = engine->log->ops->get_position(engine->log, &of, &found) ||
             reconcile_fail(r, PIPE_EXIT_STATE, "%s", engine->log->error);
        pipe_buf_printf(look, "%d %" PRId64 " %zu ", ok && found.found, ok ? found.offset : 0,
                        value.size);
        pipe_buf_add(look, value.data, value.size);
    }
    pipe_buf_free(&value);
    return ok;
}

/* Those into topics that were deleted since are none of ours. */
static bool is_of_topic(const struct reconcile *r, const struct traffic_found *found)
{
    static const uint8_t zeros[KAFKA_ID_BYTES];
    const struct kafka_log *log = kafka_of(r->engine->log);
    uint32_t source = r->plan->traffics[found->head.traffic].source;
    const uint8_t *id = log->topics[r->engine->sources[source].topic].id;
    return memcmp(id, zeros, KAFKA_ID_BYTES) == 0 ||
           memcmp(found->topic_id, zeros, KAFKA_ID_BYTES) == 0 ||
           memcmp(id, found->topic_id, KAFKA_ID_BYTES) == 0;
}

/* take: they become ledgers. */
static bool is_same_traffic(struct reconcile *r, const struct traffic_found *found)
{
    const struct pipe_ledger_head *head = &found->head;
    return pipe_feeder_is_same(r->plan, head->traffic, &head->options) ||
           reconcile_fail(r, PIPE_EXIT_STATE,
                          "the traffic of seed %" PRIu64 " was begun with another `traffic %s` "
                          "statement: reconcile with the program that sent it",
                          head->options.seed, r->plan->traffics[head->traffic].name);
}

static bool look_at_traffics(struct reconcile *r, struct pipe_buf *look, bool take)
{
    struct traffic_found *found;
    uint32_t count;
    char error[512];
    bool ok = true;
    if (!traffic_find_all(r->engine->log, r->plan, &found, &count, error, sizeof error))
        return reconcile_fail(r, PIPE_EXIT_DATA, "%s", error);
    for (uint32_t i = 0; i < count; i++) {
        if (!is_of_topic(r, &found[i]))
            continue;
        if (look != NULL)
            pipe_buf_printf(look, "%s %" PRIu64 " ", found[i].group, found[i].head.position);
        if (take && ok)
            ok = is_same_traffic(r, &found[i]);
        if (take && ok)
            reconcile_add_ledger(r, &found[i].head);
    }
    free(found);
    return ok;
}

static bool look(struct reconcile *r, struct pipe_buf *to)
{
    to->size = 0;
    return look_at_tasks(r, to) && look_at_traffics(r, to, false);
}

/* ---- Ends ---- */

/* Into what others write as well, a transaction may be open at any time. */
static bool is_others(const struct reconcile *r, uint32_t topic)
{
    for (uint32_t i = 0; i < r->plan->source_count; i++) {
        if (r->engine->sources[i].topic == topic)
            return true;
    }
    return false;
}

static bool find_end(struct reconcile *r, uint32_t topic, uint32_t partition, bool *open)
{
    struct kafka_log *log = kafka_of(r->engine->log);
    int64_t low, high, stable_low, stable;
    rd_kafka_resp_err_t code = rd_kafka_query_watermark_offsets(
        log->fetcher, log->topics[topic].name, (int32_t)partition, &stable_low, &stable, CALL_MS);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
        *open = true; /* not known: again */
        return true;
    }
    if (!kafka_bounds(log, topic, (int32_t)partition, BOUNDS_WAIT_MS, &low, &high))
        return reconcile_fail(r, PIPE_EXIT_DATA, "no broker says where %s, partition %u ends",
                              log->topics[topic].name, partition);
    *open = *open || (stable < high && !is_others(r, topic));
    r->ends[topic][partition] = stable;
    return true;
}

static bool find_ends(struct reconcile *r, bool *open)
{
    const struct pipe_log *log = r->engine->log;
    *open = false;
    for (uint32_t t = 0; t < log->topic_count; t++) {
        for (uint32_t p = 0; p < log->topics[t].partitions && !*open; p++) {
            if (!find_end(r, t, p, open))
                return false;
        }
    }
    return true;
}

/* ---- Both ---- */

static bool has_any(struct reconcile *r)
{
    struct pipe_buf value = {0};
    bool any = false, ok = true;
    for (uint32_t t = 0; ok && !any && t < r->engine->task_count; t++) {
        char name[64];
        struct pipe_log_position of = engine_task_position(&r->engine->tasks[t], name, sizeof name);
        struct pipe_log_committed found = {.value = &value, .loose = true};
        ok = r->engine->log->ops->get_position(r->engine->log, &of, &found);
        any = ok && found.found;
    }
    pipe_buf_free(&value);
    return any;
}

static bool freeze(struct reconcile *r, struct pipe_buf *before, struct pipe_buf *after)
{
    bool open = true;
    for (int i = 0; i < LOOKS; i++) {
        if (!look(r, before) || !find_ends(r, &open) || (!open && !look(r, after)))
            return false;
        if (!open && before->size == after->size &&
            memcmp(before->data, after->data, before->size) == 0)
            return look_at_traffics(r, NULL, true);
        engine_sleep_us(LOOK_EVERY_US);
    }
    return reconcile_fail(r, PIPE_EXIT_DATA,
                          open ? "a transaction stays open in a topic that group %s writes; wait "
                                 "until it has ended (transaction.timeout.ms)"
                               : "group %s, or traffic, commits while it is looked at: stop its "
                                 "processes, or wait until they have nothing to do",
                          r->group);
}

int64_t reconcile_begin(struct reconcile *r, struct reconcile_layer *layer, int32_t partition,
                        int64_t from)
{
    struct pipe_log *log = r->engine->log;
    if (!r->kafka)
        return from;
    int64_t begin = log->ops->begin(log, (uint32_t)layer->topic, partition);
    if (begin <= from) /* or not known: reading tells */
        return from;
    if (layer->trouble[0] == '\0')
        snprintf(layer->trouble, sizeof layer->trouble,
                 "%.250s, partition %d begins at offset %" PRId64 ": retention has deleted the "
                 "records before",
                 log->topics[layer->topic].name, partition, begin);
    return begin;
}

bool reconcile_freeze(struct reconcile *r)
{
    struct pipe_log *log = r->engine->log;
    struct pipe_buf before = {0}, after = {0};
    r->ends = pipe_calloc(log->topic_count + 1, sizeof *r->ends);
    for (uint32_t t = 0; t < log->topic_count; t++)
        r->ends[t] = pipe_calloc(log->topics[t].partitions + 1, sizeof **r->ends);
    bool ok =
        kafka_open_fetcher(kafka_of(log)) || reconcile_fail(r, PIPE_EXIT_DATA, "%s", log->error);
    ok = ok && freeze(r, &before, &after);
    if (ok && !has_any(r))
        ok = reconcile_fail(r, PIPE_EXIT_DATA, "nothing was ever committed by group %s", r->group);
    pipe_buf_free(&before);
    pipe_buf_free(&after);
    return ok;
}
