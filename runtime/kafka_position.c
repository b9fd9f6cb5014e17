/*
 * kafka_position.c: the committed positions of tasks: the group's offsets, with metadata.
 *
 * Metadata is text, so it is base64 of: version(1) size of the plan hash(1) plan hash, topic
 * id(16), first offset(8, big-endian), the engine's value. It tells whose the offset is: another
 * plan's, or one of a topic of the same name that is no more, is refused.
 */
#include <stdlib.h>

#include "engine.h"
#include "kafka_internal.h"

#define VERSION 1
#define CALL_MS 1000

static bool is_zero(const uint8_t id[KAFKA_ID_BYTES])
{
    static const uint8_t zeros[KAFKA_ID_BYTES];
    return memcmp(id, zeros, KAFKA_ID_BYTES) == 0;
}

void kafka_metadata_write(struct pipe_buf *to, const char *plan_hash,
                          const uint8_t id[KAFKA_ID_BYTES], int64_t first, struct pipe_str value)
{
    struct pipe_buf raw = {0};
    size_t hash_bytes = strlen(plan_hash);
    pipe_buf_add_byte(&raw, VERSION);
    pipe_buf_add_byte(&raw, (uint8_t)hash_bytes);
    pipe_buf_add(&raw, plan_hash, hash_bytes);
    pipe_buf_add(&raw, id, KAFKA_ID_BYTES);
    for (int shift = 56; shift >= 0; shift -= 8)
        pipe_buf_add_byte(&raw, (uint8_t)((uint64_t)first >> shift));
    pipe_buf_add(&raw, value.data, value.size);
    pipe_base64_add(to, raw.data, raw.size);
    pipe_buf_add_byte(to, '\0');
    pipe_buf_free(&raw);
}

bool kafka_metadata_read(struct pipe_str text, struct kafka_metadata *out, struct pipe_buf *value)
{
    uint8_t raw[KAFKA_METADATA_BYTES];
    size_t size = 0, at = 2;
    if (text.size > KAFKA_METADATA_BYTES || !pipe_base64_read(text, raw, &size) || size < 2 ||
        raw[0] != VERSION || raw[1] >= sizeof out->plan_hash ||
        size < 2u + raw[1] + KAFKA_ID_BYTES + 8u)
        return false;
    memcpy(out->plan_hash, raw + at, raw[1]);
    out->plan_hash[raw[1]] = '\0';
    at += raw[1];
    memcpy(out->id, raw + at, KAFKA_ID_BYTES);
    at += KAFKA_ID_BYTES;
    uint64_t first = 0;
    for (int i = 0; i < 8; i++)
        first = first << 8 | raw[at++];
    out->first = (int64_t)first;
    value->size = 0;
    pipe_buf_add(value, raw + at, size - at);
    return out->first >= 0;
}

/* ---- Reading ---- */

static bool judge_metadata(struct kafka_log *log, const struct kafka_topic *topic,
                           int32_t partition, const struct kafka_metadata *metadata)
{
    const struct kafka_common *common = log->common;
    char had[33], has[33];
    if (strcmp(metadata->plan_hash, common->plan_hash) != 0)
        return kafka_fail(log,
                          "kafka: group %s was committed by plan %s, but this program is plan %s "
                          "(topic %s, partition %d); run that program, or give another --group to "
                          "begin anew",
                          common->group, metadata->plan_hash, common->plan_hash, topic->name,
                          partition);
    if (is_zero(metadata->id) || is_zero(topic->id) ||
        memcmp(metadata->id, topic->id, KAFKA_ID_BYTES) == 0)
        return true; /* zeros: a client that could not learn it */
    kafka_id_text(metadata->id, had);
    kafka_id_text(topic->id, has);
    return kafka_fail(log,
                      "kafka: group %s was committed for topic %s with id %s, but the topic has id "
                      "%s: it was deleted and made anew; give another --group to begin anew",
                      common->group, topic->name, had, has);
}

/* One call; *again: not to be had yet. The observer is read_uncommitted: it waits for no open
 * transaction. */
static bool fetch_committed(struct kafka_log *log, bool loose,
                            rd_kafka_topic_partition_list_t *list, bool *again)
{
    rd_kafka_topic_partition_t *place = &list->elems[0];
    rd_kafka_resp_err_t code =
        rd_kafka_committed(loose ? log->observer : log->member, list, CALL_MS);
    *again = false;
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
        code = place->err;
    switch ((int)code) {
    case RD_KAFKA_RESP_ERR_NO_ERROR:
        return true;
    case RD_KAFKA_RESP_ERR_GROUP_ID_NOT_FOUND:
        place->offset = RD_KAFKA_OFFSET_INVALID; /* a new group */
        return true;
    case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
        return kafka_fail(log,
                          "kafka: the positions of group %s may not be read: %s; allow READ "
                          "of the group and its topics",
                          log->common->group, rd_kafka_err2str(code));
    default:
        *again = true;
        kafka_warn(log->common, "committed",
                   "kafka: waiting for the position of %s, partition %d: %s", place->topic,
                   place->partition, rd_kafka_err2str(code));
        return true;
    }
}

/* A transaction that could move the position ends within its timeout; brokers may take longer. */
static bool wait_committed(struct kafka_log *log, bool loose, rd_kafka_topic_partition_list_t *list)
{
    int64_t until = engine_monotonic_us() + log->common->transaction_timeout_ms * 3000 + 30000000;
    for (;;) {
        bool again;
        if (!fetch_committed(log, loose, list, &again))
            return false;
        if (!again)
            return true;
        if (kafka_member_standing(log) == KAFKA_STANDING_GONE)
            return false;
        if (engine_monotonic_us() > until)
            return kafka_fail(log,
                              "kafka: the position of group %s in %s, partition %d is not to be "
                              "had: a transaction stays open, or no coordinator answers",
                              log->common->group, list->elems[0].topic, list->elems[0].partition);
        engine_sleep_us(20000);
    }
}

static bool take_committed(struct kafka_log *log, const struct pipe_log_position *of,
                           const rd_kafka_topic_partition_t *place,
                           struct pipe_log_committed *committed)
{
    struct kafka_topic *topic = &log->topics[of->at.topic];
    struct kafka_part *part = &topic->parts[of->at.partition];
    struct kafka_metadata metadata;
    int64_t low, high;
    committed->found = place->offset >= 0;
    if (!committed->found) {
        if (!kafka_bounds(log, of->at.topic, of->at.partition, KAFKA_WAIT_MS, &low, &high))
            return kafka_fail(log, "kafka: no broker says where %s, partition %d begins",
                              topic->name, of->at.partition);
        committed->value->size = 0;
        committed->offset = committed->first = part->first = low;
        return true;
    }
    if (!kafka_metadata_read(pipe_str_of(place->metadata, place->metadata_size), &metadata,
                             committed->value))
        return kafka_fail(
            log,
            "kafka: the offset %lld of group %s in %s, partition %d was not committed "
            "by a pipeline; give a --group of its own",
            (long long)place->offset, log->common->group, topic->name, of->at.partition);
    if (!judge_metadata(log, topic, of->at.partition, &metadata))
        return false;
    committed->offset = place->offset;
    committed->first = part->first = metadata.first;
    if (part->end < place->offset)
        part->end = place->offset;
    return true;
}

static bool check_place(struct kafka_log *log, const struct pipe_log_position *of)
{
    if (of->at.topic < log->log.topic_count && of->at.partition >= 0 &&
        (uint32_t)of->at.partition < log->topics[of->at.topic].partitions)
        return true;
    return kafka_fail(log, "kafka: %s reads no topic; files are read in embedded runs only",
                      of->name);
}

bool kafka_get_position(struct pipe_log *public, const struct pipe_log_position *of,
                        struct pipe_log_committed *committed)
{
    struct kafka_log *log = kafka_of(public);
    if (log->failed || !check_place(log, of))
        return false;
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, log->topics[of->at.topic].name, of->at.partition);
    bool ok = wait_committed(log, committed->loose, list) &&
              take_committed(log, of, &list->elems[0], committed);
    rd_kafka_topic_partition_list_destroy(list);
    return ok;
}

/* ---- Writing ---- */

bool kafka_put_position(struct pipe_log *public, const struct pipe_log_position *position)
{
    struct kafka_log *log = kafka_of(public);
    struct kafka_writer *writer = &log->writer;
    struct pipe_buf text = {0};
    if (log->failed || !check_place(log, position))
        return false;
    const struct kafka_topic *topic = &log->topics[position->at.topic];
    const struct kafka_part *part = &topic->parts[position->at.partition];
    if (part->first < 0)
        return kafka_fail(log, "kafka: %s: a position is put that was never asked for",
                          position->name);
    if (position->value.size > log->log.metadata_bytes)
        return kafka_fail(log,
                          "kafka: the position of %s takes %zu bytes, a broker allows %u; reduce "
                          "the number of streams, or file this as a bug",
                          position->name, position->value.size, log->log.metadata_bytes);
    if (writer->offsets == NULL)
        writer->offsets = rd_kafka_topic_partition_list_new(16);
    rd_kafka_topic_partition_t *place =
        rd_kafka_topic_partition_list_find(writer->offsets, topic->name, position->at.partition);
    if (place == NULL)
        place =
            rd_kafka_topic_partition_list_add(writer->offsets, topic->name, position->at.partition);
    kafka_metadata_write(&text, log->common->plan_hash, topic->id, part->first, position->value);
    free(place->metadata); /* librdkafka frees the new one with free() too */
    place->offset = position->offset;
    place->metadata = text.data;
    place->metadata_size = text.size - 1;
    log->log.pending_bytes += text.size;
    return true;
}
