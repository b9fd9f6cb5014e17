/*
 * runtime_member_log.h: runtime/log.h over one cluster in memory, for tests of the engine: struct
 * member is the log of one process. The test says who gets which partition, and what becomes of
 * commits; time is the test's, too. Each commit leaves a gap behind what it wrote, and each new
 * reader says WAIT first. Included after cmocka.h.
 */
#ifndef RUNTIME_MEMBER_LOG_H
#define RUNTIME_MEMBER_LOG_H

#include "../../runtime/engine.h"

/* ---- Time and chance (in the place of runtime/clock.c) ---- */

static int64_t now_us = 1000000;

int64_t engine_monotonic_us(void)
{
    return now_us;
}
int64_t engine_wall_ms(void)
{
    return 1700000000000 + now_us / 1000;
}
void engine_sleep_us(int64_t us)
{
    now_us += us;
}
void pipe_random_bytes(void *to, size_t size_bytes)
{
    memset(to, 7, size_bytes);
}

/* ---- The cluster ---- */

#define TOPICS 8
#define PARTITIONS 4

struct kept {
    bool gap; /* a marker */
    int64_t time_ms, visible_us;
    char *key, *value;
    size_t key_size, value_size;
};
struct kept_part {
    struct kept *records; /* by offset */
    int64_t count, begin;
    bool has_position;
    int64_t offset;
    struct pipe_buf value;
};
static struct {
    struct pipe_log_topic topics[TOPICS];
    struct kept_part parts[TOPICS][PARTITIONS];
    uint32_t topic_count;
} cluster;

static void keep(uint32_t topic, int32_t partition, const struct kept *record)
{
    struct kept_part *part = &cluster.parts[topic][partition];
    part->records = pipe_realloc(part->records, (size_t)(part->count + 1) * sizeof *record);
    part->records[part->count++] = *record;
}

static char *keep_bytes(struct pipe_str bytes)
{
    return bytes.data == NULL ? NULL : memcpy(pipe_malloc(bytes.size + 1), bytes.data, bytes.size);
}

static struct kept make_kept(int64_t time_ms, struct pipe_str key, struct pipe_str value)
{
    return (struct kept){.time_ms = time_ms,
                         .key = keep_bytes(key),
                         .key_size = key.size,
                         .value = keep_bytes(value),
                         .value_size = value.size};
}

static void forget_kept(struct kept *record)
{
    free(record->key);
    free(record->value);
}

/* ---- A member's log ---- */

struct pending {
    uint32_t topic;
    int32_t partition;
    struct kept record;
};
struct member {
    struct pipe_log log; /* first */
    struct pipe_log_event event;
    unsigned event_at; /* comes with this poll or later */
    struct pipe_log_partition partitions[16];
    bool must_release;
    struct pending *appended;
    size_t appended_count;
    struct pipe_log_position puts[16];
    size_t put_count;
    enum pipe_log_outcome next; /* of commits to come */
    unsigned abort_every, commits, polls, readies;
    int64_t polled_us, longest_us; /* between two polls, while something is read */
    int64_t read_us;               /* what reading takes */
};

struct pipe_log_reader {
    struct member *member;
    uint32_t topic;
    int32_t partition;
    int64_t offset;
    bool fetched; /* the first read says WAIT */
    struct pipe_record constant, records[8];
};

static struct member *of(struct pipe_log *log)
{
    return (struct member *)log;
}

static bool log_topic(struct pipe_log *log, const char *name, uint32_t partitions, uint32_t *topic)
{
    for (*topic = 0; *topic < cluster.topic_count; (*topic)++) {
        if (strcmp(cluster.topics[*topic].name, name) == 0)
            return true;
    }
    assert_true(cluster.topic_count < TOPICS && partitions <= PARTITIONS);
    cluster.topics[cluster.topic_count] =
        (struct pipe_log_topic){strdup(name), cluster.topic_count, partitions};
    log->topic_count = ++cluster.topic_count;
    return true;
}

static bool log_join(struct pipe_log *log, const uint32_t *topics, uint32_t count)
{
    assert_int_equal(count, 2); /* the source and the exchange */
    assert_string_equal(log->topics[topics[0]].name, "lines.raw");
    return true;
}

static bool log_poll(struct pipe_log *log, int64_t wait_ms, struct pipe_log_event *event)
{
    struct member *member = of(log);
    assert_false(member->must_release);
    member->polls++;
    member->polled_us = now_us;
    *event = (struct pipe_log_event){.kind = PIPE_LOG_NOTHING};
    if (member->polls >= member->event_at) {
        *event = member->event;
        member->event.kind = PIPE_LOG_NOTHING;
    }
    event->partitions = member->partitions;
    member->must_release = event->kind == PIPE_LOG_REVOKED || event->kind == PIPE_LOG_LOST;
    if (event->kind == PIPE_LOG_NOTHING)
        now_us += wait_ms * 1000;
    return true;
}

static bool log_release(struct pipe_log *log)
{
    assert_true(of(log)->must_release);
    assert_int_equal(of(log)->appended_count, 0); /* nothing of them is pending */
    of(log)->must_release = false;
    return true;
}

static bool log_get_position(struct pipe_log *log, const struct pipe_log_position *of_task,
                             struct pipe_log_committed *committed)
{
    const struct kept_part *part = &cluster.parts[of_task->at.topic][of_task->at.partition];
    (void)log;
    committed->found = part->has_position;
    committed->offset = part->offset;
    committed->first = 0;
    committed->value->size = 0;
    pipe_buf_add(committed->value, part->value.data, part->value.size);
    return true;
}

static bool log_put_position(struct pipe_log *log, const struct pipe_log_position *position)
{
    struct member *member = of(log);
    struct pipe_log_position *put = &member->puts[member->put_count++];
    *put = *position;
    put->value.data = keep_bytes(position->value);
    return true;
}

static int64_t log_begin(struct pipe_log *log, uint32_t topic, int32_t partition)
{
    (void)log;
    return cluster.parts[topic][partition].begin;
}

static int64_t log_end(const struct pipe_log *log, uint32_t topic, int32_t partition)
{
    const struct kept_part *part = &cluster.parts[topic][partition];
    int64_t end = part->count;
    (void)log;
    while (end > 0 && part->records[end - 1].gap)
        end--;
    return end;
}

static bool log_at_end(struct pipe_log *log, uint32_t topic, int32_t partition, int64_t offset)
{
    return offset >= log_end(log, topic, partition);
}

static enum pipe_log_state log_ready(struct pipe_log *log)
{
    return of(log)->readies++ % 2 == 0 ? PIPE_LOG_WAIT : PIPE_LOG_RECORDS;
}

static bool log_append(struct pipe_log *log, uint32_t topic, int32_t partition, int64_t time_ms,
                       struct pipe_str key, struct pipe_str value)
{
    struct member *member = of(log);
    assert_true(partition >= 0 && (uint32_t)partition < cluster.topics[topic].partitions);
    member->appended =
        pipe_realloc(member->appended, (member->appended_count + 1) * sizeof *member->appended);
    member->appended[member->appended_count++] =
        (struct pending){topic, partition, make_kept(time_ms, key, value)};
    log->pending_bytes += key.size + value.size + 1;
    return true;
}

static void log_abort(struct pipe_log *log)
{
    struct member *member = of(log);
    for (size_t i = 0; i < member->appended_count; i++)
        forget_kept(&member->appended[i].record);
    for (size_t i = 0; i < member->put_count; i++)
        free((char *)member->puts[i].value.data);
    member->appended_count = member->put_count = 0;
    log->pending_bytes = 0;
}

static enum pipe_log_outcome log_commit(struct pipe_log *log)
{
    struct member *member = of(log);
    enum pipe_log_outcome outcome = member->next;
    member->commits++;
    if (member->abort_every > 0 && member->commits % member->abort_every == 0)
        outcome = PIPE_LOG_ABORTED;
    if (outcome != PIPE_LOG_COMMITTED) {
        snprintf(log->error, sizeof log->error, "as the test says");
        log_abort(log);
        return outcome;
    }
    bool touched[TOPICS][PARTITIONS] = {{false}};
    for (size_t i = 0; i < member->appended_count; i++) {
        const struct pending *one = &member->appended[i];
        keep(one->topic, one->partition, &one->record);
        touched[one->topic][one->partition] = true;
    }
    member->appended_count = 0;
    for (uint32_t t = 0; t < TOPICS; t++)
        for (int32_t p = 0; p < PARTITIONS; p++)
            if (touched[t][p])
                keep(t, p, &(struct kept){.gap = true});
    for (size_t i = 0; i < member->put_count; i++) {
        const struct pipe_log_position *put = &member->puts[i];
        struct kept_part *part = &cluster.parts[put->at.topic][put->at.partition];
        assert_true(!part->has_position || put->offset >= part->offset);
        part->has_position = true;
        part->offset = put->offset;
        part->value.size = 0;
        pipe_buf_add(&part->value, put->value.data, put->value.size);
    }
    log_abort(log);
    return outcome;
}

static bool log_put(struct pipe_log *log, const char *name, const void *value, size_t value_bytes)
{
    (void)log, (void)name, (void)value, (void)value_bytes;
    return true;
}

static bool log_get(struct pipe_log *log, const char *name, struct pipe_buf *value, bool *found)
{
    (void)log, (void)name, (void)value;
    *found = false;
    return true;
}

static struct pipe_log_reader *log_reader(struct pipe_log *log, uint32_t topic, int32_t partition,
                                          int64_t offset, const struct pipe_record *constant)
{
    struct pipe_log_reader *reader = pipe_calloc(1, sizeof *reader);
    *reader = (struct pipe_log_reader){
        .member = of(log), .topic = topic, .partition = partition, .offset = offset};
    reader->constant = *constant;
    return reader;
}

static enum pipe_log_state log_read(struct pipe_log_reader *reader, uint32_t max_records,
                                    int64_t before, struct pipe_record **records, uint32_t *count)
{
    struct member *member = reader->member;
    const struct kept_part *part = &cluster.parts[reader->topic][reader->partition];
    int64_t passed_us = now_us - member->polled_us;
    member->longest_us = passed_us > member->longest_us ? passed_us : member->longest_us;
    now_us += member->read_us;
    *count = 0;
    if (!reader->fetched) {
        reader->fetched = true;
        return PIPE_LOG_WAIT;
    }
    if (reader->offset < part->begin) {
        snprintf(member->log.error, sizeof member->log.error, "out of range");
        return PIPE_LOG_FAILED;
    }
    for (; reader->offset < part->count && reader->offset < before; reader->offset++) {
        const struct kept *kept = &part->records[reader->offset];
        if (kept->visible_us > now_us || *count == max_records || *count == 8)
            break;
        if (kept->gap)
            continue;
        struct pipe_record *record = &reader->records[(*count)++];
        *record = reader->constant;
        record->offset = reader->offset;
        record->kafka_time_ms = kept->time_ms;
        record->key = pipe_str_of(kept->key, kept->key_size);
        record->payload = pipe_str_of(kept->value, kept->value_size);
    }
    *records = reader->records;
    return *count > 0 ? PIPE_LOG_RECORDS : PIPE_LOG_END;
}

static int64_t log_position(const struct pipe_log_reader *reader)
{
    return reader->offset;
}

static void log_reader_close(struct pipe_log_reader *reader)
{
    free(reader);
}

static void log_close(struct pipe_log *log)
{
    log_abort(log);
    free(of(log)->appended);
    free(log);
}

static const struct pipe_log_ops ops = {
    .topic = log_topic,
    .join = log_join,
    .poll = log_poll,
    .release = log_release,
    .get_position = log_get_position,
    .put_position = log_put_position,
    .begin = log_begin,
    .end = log_end,
    .at_end = log_at_end,
    .ready = log_ready,
    .append = log_append,
    .commit = log_commit,
    .abort = log_abort,
    .put = log_put,
    .get = log_get,
    .reader = log_reader,
    .read = log_read,
    .position = log_position,
    .reader_close = log_reader_close,
    .close = log_close,
};

static struct pipe_log *open_member(void *context, const char *dir, char *error, size_t error_bytes)
{
    struct member *member = pipe_calloc(1, sizeof *member);
    (void)dir, (void)error, (void)error_bytes;
    member->log.ops = &ops;
    member->log.topics = cluster.topics;
    member->log.topic_count = cluster.topic_count;
    member->log.grouped = true;
    member->log.metadata_bytes = 3000;
    member->polled_us = now_us;
    memset(member->log.incarnation, 'a', 32);
    *(struct member **)context = member;
    return &member->log;
}

#endif
