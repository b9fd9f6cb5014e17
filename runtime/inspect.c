/*
 * inspect.c: `NAME inspect`: what a run directory holds, or a group on Kafka; read only.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "inspect.h"
#include "state_transfer.h"

struct inspection {
    const struct pipe_plan *plan;
    const struct pipe_inspect_options *options;
    struct pipe_log *log;
    struct pipe_counters *totals;
    struct inspect_kafka *kafka; /* NULL: a directory */
    int64_t end;                 /* on Kafka: of the topic of the task in hand */
    bool committed;              /* a plan has committed something */
    bool same_plan, damaged;
};

static bool print_topics(const struct inspection *in)
{
    const struct pipe_log *log = in->log;
    if (in->kafka != NULL)
        return inspect_kafka_topics(in->kafka);
    printf("%-48s %10s %14s\n", "topic", "partitions", "records");
    for (uint32_t t = 0; t < log->topic_count; t++) {
        int64_t records = 0;
        for (uint32_t p = 0; p < log->topics[t].partitions; p++)
            records += log->ops->end(log, t, (int32_t)p);
        printf("%-48s %10u %14" PRId64 "\n", log->topics[t].name, log->topics[t].partitions,
               records);
    }
    return true;
}

static bool task_of(const char *name, uint32_t *stage, int32_t *partition)
{
    char more;
    return sscanf(name, "task/%u/%d%c", stage, partition, &more) == 2;
}

static const char *stage_name(const struct inspection *in, uint32_t stage, char room[32])
{
    if (in->same_plan && stage < in->plan->stage_count)
        return in->plan->stages[stage].name;
    snprintf(room, 32, "stage %u", stage);
    return room;
}

/* One line a task: its position, or its time. */
static bool print_task(void *context, const char *name, struct pipe_str value)
{
    struct inspection *in = context;
    struct engine_committed c;
    uint32_t stage;
    int32_t partition;
    char room[32], watermark[40], broker[40];
    if (!task_of(name, &stage, &partition) || !engine_decode_task(in->plan, value, &c, NULL)) {
        in->damaged = true;
        return false;
    }
    if (in->kafka != NULL && strcmp(in->options->what, "offsets") == 0)
        printf("%-32s %9d %14" PRId64 " %14" PRId64 " %14" PRId64 " %12" PRIu64 "\n",
               stage_name(in, stage, room), partition, c.position.offset, in->end,
               in->end > c.position.offset ? in->end - c.position.offset : 0, c.position.seq);
    else if (strcmp(in->options->what, "offsets") == 0)
        printf("%-32s %9d %14" PRId64 " %12" PRIu64 "  %s\n", stage_name(in, stage, room),
               partition, c.position.offset, c.position.seq, c.ended ? "at the end" : "");
    else
        printf("%-32s %9d  %-28s %-28s\n", stage_name(in, stage, room), partition,
               engine_time_text(watermark, c.watermark),
               c.kafka_time_ms == PIPE_TIME_MIN
                   ? "-"
                   : engine_time_text(broker, c.kafka_time_ms < PIPE_TS_MS_MAX
                                                  ? c.kafka_time_ms * 1000
                                                  : PIPE_TIME_MAX));
    return true;
}

/* As print_task, of a group; `end`: of its topic. */
static bool print_group_task(void *context, const char *name, struct pipe_str value, int64_t end)
{
    struct inspection *in = context;
    in->end = end;
    return print_task(in, name, value);
}

static bool print_tasks(struct inspection *in)
{
    if (in->kafka != NULL && strcmp(in->options->what, "offsets") == 0)
        printf("%-32s %9s %14s %14s %14s %12s\n", "stage", "partition", "offset", "end", "behind",
               "time records");
    else if (strcmp(in->options->what, "offsets") == 0)
        printf("%-32s %9s %14s %12s\n", "stage", "partition", "offset", "time records");
    else
        printf("%-32s %9s  %-28s %-28s\n", "stage", "partition", "watermark",
               "greatest kafka_time");
    if (in->kafka != NULL)
        return inspect_kafka_tasks(in->kafka, print_group_task, in) && !in->damaged;
    return in->log->ops->list(in->log, "task/", print_task, in) && !in->damaged;
}

static bool add_task(void *context, const char *name, struct pipe_str value)
{
    struct inspection *in = context;
    struct engine_committed c;
    (void)name;
    in->damaged = !engine_decode_task(in->plan, value, &c, in->totals);
    return !in->damaged;
}

/* What an operator makes of its entries: how many ids, sessions, windows it holds, and how many of
 * them a run does not keep in memory. */
static bool count_held(struct pipe_store *store, uint32_t stage, int32_t partition, uint32_t index,
                       const struct pipe_state_def *def, uint64_t *held,
                       struct pipe_state_spilled *spilled)
{
    const struct pipe_state_ops *ops = pipe_state_ops_of(def->kind);
    struct pipe_hash_key hash_key;
    if (!pipe_store_task_key(store, stage, partition, &hash_key))
        return false;
    void *state = ops->create(def, &hash_key);
    uint64_t entries;
    bool ok = pipe_store_load_state(store, stage, partition, index, ops, state, &entries);
    *held = ok ? ops->entry_count(state) : 0;
    *spilled = (struct pipe_state_spilled){0};
    if (ok && ops->spilled != NULL)
        ops->spilled(state, spilled);
    ops->destroy(state);
    return ok;
}

/* A window that slides is held in pieces, each once for all windows it lies in. */
static const char *held_unit(const struct pipe_state_def *def, uint64_t held)
{
    if (def->kind == PIPE_STATE_DEDUP)
        return held == 1 ? "id" : "ids";
    if (def->kind == PIPE_STATE_SESSION)
        return held == 1 ? "session" : "sessions";
    if (def->every != def->size)
        return held == 1 ? "pane" : "panes";
    return held == 1 ? "window" : "windows";
}

static bool print_one_state(const struct inspection *in, struct pipe_store *store, uint32_t stage,
                            int32_t partition, uint32_t index)
{
    static const char *const kinds[] = {"dedup", "window", "session"};
    static const char *const phases[] = {"", ", partial", ", merge"};
    const struct pipe_state_def *def = &in->plan->stages[stage].states[index];
    struct pipe_store_usage usage;
    struct pipe_state_spilled spilled;
    uint64_t held;
    char kind[40];
    if (!pipe_store_usage(store, stage, partition, index, &usage) ||
        !count_held(store, stage, partition, index, def, &held, &spilled))
        return false;
    snprintf(kind, sizeof kind, "%s%s", kinds[def->kind], phases[def->phase]);
    printf("%-24s %-18s %9d %12" PRIu64 " %-8s %12" PRIu64 " %14" PRIu64 "\n", def->name, kind,
           partition, held, held_unit(def, held), spilled.entries, usage.bytes);
    return true;
}

static bool print_states(struct inspection *in, struct pipe_store *store)
{
    struct pipe_store_position position;
    bool found;
    printf("%-24s %-18s %9s %12s %-8s %12s %14s\n", "state", "kind", "partition", "held", "",
           "spilled", "bytes");
    for (uint32_t s = 0; s < in->plan->stage_count; s++) {
        for (int32_t p = 0;; p++) {
            if (!pipe_store_load_position(store, s, p, &position, &found))
                return false;
            if (!found)
                break;
            for (uint32_t i = 0; i < in->plan->stages[s].state_count; i++) {
                if (!print_one_state(in, store, s, p, i))
                    return false;
            }
        }
    }
    return true;
}

static bool add_group_task(void *context, const char *name, struct pipe_str value, int64_t end)
{
    (void)end;
    return add_task(context, name, value);
}

/* What operators remember is with the processes. */
static bool print_group_counters(struct inspection *in)
{
    in->totals = pipe_calloc(in->plan->stream_count + 1, sizeof *in->totals);
    bool ok = inspect_kafka_tasks(in->kafka, add_group_task, in);
    if (ok)
        report_counters(in->plan, in->totals, REPORT_UNDER_WAY, stdout);
    free(in->totals);
    return ok;
}

static bool print_state(struct inspection *in)
{
    char error[512];
    bool created;
    if (in->kafka != NULL)
        return print_group_counters(in);
    if (!in->committed) {
        printf("nothing was committed in %s yet\n", in->options->dir);
        return true;
    }
    if (!in->same_plan) {
        fprintf(stderr, "%s inspect: %s is of another plan; use the program of that plan\n",
                in->plan->name, in->options->dir);
        return false;
    }
    struct pipe_store *store =
        pipe_store_open(in->options->dir, true, &created, error, sizeof error);
    if (store == NULL) {
        fprintf(stderr, "%s inspect: %s\n", in->plan->name, error);
        return false;
    }
    bool known = pipe_store_can_read(pipe_store_version(store));
    bool ok = known && print_states(in, store);
    if (!known)
        fprintf(
            stderr,
            "%s inspect: the state in %s is of format %s, this program reads " PIPE_STATE_VERSIONS
            "\n",
            in->plan->name, in->options->dir, pipe_store_version(store));
    else if (!ok)
        fprintf(stderr, "%s inspect: %s\n", in->plan->name, pipe_store_error(store));
    pipe_store_close(store);
    in->totals = pipe_calloc(in->plan->stream_count + 1, sizeof *in->totals);
    ok = ok && in->log->ops->list(in->log, "task/", add_task, in);
    if (ok) {
        printf("\nheld as of the last save; committed counters:\n\n");
        report_counters(in->plan, in->totals, REPORT_UNDER_WAY, stdout);
    }
    free(in->totals);
    return ok;
}

/* ---- dump ---- */

/* Text as a JSON value; bytes that are none as base64, under another name. */
static void put_bytes(struct pipe_buf *line, const char *name, struct pipe_str bytes, bool embed)
{
    char head[64];
    bool text = pipe_utf8_check(bytes.data, bytes.size);
    if (bytes.data == NULL) {
        int size = snprintf(head, sizeof head, ",\"%s\":null", name);
        pipe_buf_add(line, head, (size_t)size);
        return;
    }
    int size = snprintf(head, sizeof head, ",\"%s%s\":", name, text ? "" : "_base64");
    pipe_buf_add(line, head, (size_t)size);
    if (!text)
        pipe_json_base64(line, bytes);
    else if (embed && bytes.size > 0 && bytes.data[0] == '{' && pipe_json_check(bytes))
        pipe_buf_add(line, bytes.data, bytes.size);
    else
        pipe_json_string(line, bytes);
}

/* Topic NULL: the line does not name it. */
static void print_record(struct pipe_buf *line, const char *topic, const struct pipe_record *record)
{
    char head[96];
    int size =
        snprintf(head, sizeof head,
                 "\"partition\":%d,\"offset\":%" PRId64 ",\"kafka_time\":", record->partition,
                 record->offset);
    line->size = 0;
    pipe_buf_add(line, "{", 1);
    if (topic != NULL) {
        pipe_buf_add(line, "\"topic\":", 8);
        pipe_json_string(line, pipe_str_of(topic, strlen(topic)));
        pipe_buf_add(line, ",", 1);
    }
    pipe_buf_add(line, head, (size_t)size);
    if (record->kafka_time_ms < PIPE_TS_MS_MIN || record->kafka_time_ms > PIPE_TS_MS_MAX)
        pipe_json_null(line);
    else
        pipe_json_timestamp_ms(line, record->kafka_time_ms);
    put_bytes(line, "key", record->key, false);
    put_bytes(line, "value", record->payload, true);
    pipe_buf_add(line, "}\n", 2);
    fwrite(line->data, 1, line->size, stdout);
}

/* At most *left records. */
static bool dump_partition(struct inspection *in, uint32_t topic, int32_t partition, int64_t *left)
{
    struct pipe_record constant = {.partition = partition}, *records;
    struct pipe_buf line = {0};
    uint32_t count;
    bool several = in->options->name_count > 1;
    enum pipe_log_state state = PIPE_LOG_END;
    int64_t begin = in->kafka != NULL ? in->log->ops->begin(in->log, topic, partition) : 0;
    int64_t from = in->options->from > begin ? in->options->from : begin;
    struct pipe_log_reader *reader =
        in->log->ops->reader(in->log, topic, partition, from, &constant);
    while (*left > 0 && !ferror(stdout) &&
           (state = pipe_log_read_on(in->log, reader, *left < 1024 ? (uint32_t)*left : 1024,
                                     &records, &count)) == PIPE_LOG_RECORDS) {
        for (uint32_t i = 0; i < count; i++)
            print_record(&line, several ? in->log->topics[topic].name : NULL, &records[i]);
        *left -= count;
    }
    in->log->ops->reader_close(reader);
    pipe_buf_free(&line);
    return state != PIPE_LOG_FAILED;
}

/* The topic of a name; false: after a message. */
static bool find_topic(struct inspection *in, const char *name, uint32_t *found)
{
    const struct pipe_log *log = in->log;
    const char *names[256];
    size_t count = 0;
    for (uint32_t t = 0; t < log->topic_count; t++) {
        const struct pipe_log_topic *topic = &log->topics[t];
        if (count < 256)
            names[count++] = topic->name;
        if (strcmp(topic->name, name) != 0)
            continue;
        *found = t;
        if (in->options->partition < topic->partitions)
            return true;
        fprintf(stderr, "%s inspect: topic %s has the partitions 0 to %u\n", in->plan->name,
                topic->name, topic->partitions - 1);
        return false;
    }
    const char *nearest = pipe_nearest(name, names, count);
    fprintf(stderr, "%s inspect: there is no topic %s", in->plan->name, name);
    if (nearest != NULL)
        fprintf(stderr, "; did you mean %s?\n", nearest);
    else
        fprintf(stderr, "; `%s inspect %s%stopics` lists them\n", in->plan->name,
                in->kafka != NULL ? "" : in->options->dir, in->kafka != NULL ? "" : " ");
    return false;
}

static bool dump_topic(struct inspection *in, uint32_t topic)
{
    int64_t left = in->options->limit;
    for (uint32_t p = 0; p < in->log->topics[topic].partitions; p++) {
        if (in->options->partition >= 0 && in->options->partition != p)
            continue;
        if (!dump_partition(in, topic, (int32_t)p, &left))
            return false;
    }
    return true;
}

/* Nothing, if one of the topics is none. */
static bool dump(struct inspection *in)
{
    uint32_t topic;
    for (uint32_t i = 0; i < in->options->name_count; i++) {
        if (!find_topic(in, in->options->names[i], &topic))
            return false;
    }
    for (uint32_t i = 0; i < in->options->name_count; i++) {
        if (!find_topic(in, in->options->names[i], &topic) || !dump_topic(in, topic))
            return false;
    }
    return true;
}

/* ---- The command ---- */

static bool compare_plan(struct inspection *in)
{
    struct pipe_buf stored = {0};
    bool found, ok = in->log->ops->get(in->log, "plan", &stored, &found);
    in->committed = ok && found;
    in->same_plan = ok && found && stored.size == strlen(in->plan->hash) &&
                    memcmp(stored.data, in->plan->hash, stored.size) == 0;
    if (ok && found && !in->same_plan)
        fprintf(stderr, "%s inspect: note: %s is of plan %.*s, this program is of %s\n",
                in->plan->name, in->options->dir, (int)(stored.size < 64 ? stored.size : 64),
                (char *)stored.data, in->plan->hash);
    pipe_buf_free(&stored);
    return ok;
}

/* False: after a message; *code says how it ends. */
static bool open_log(struct inspection *in, int *code)
{
    char error[512];
    if (in->options->dir != NULL && !inspect_is_run(in->plan, in->options->dir)) {
        *code = PIPE_EXIT_DATA;
        return false;
    }
    if (in->options->dir != NULL) {
        in->log = pipe_log_embedded_open(in->options->dir, true, error, sizeof error);
        *code = in->log == NULL && errno == EMEDIUMTYPE ? PIPE_EXIT_STATE : PIPE_EXIT_DATA;
    } else {
        in->kafka = inspect_kafka_open(in->plan, &in->options->run.kafka, error, sizeof error);
        in->log = in->kafka != NULL ? in->kafka->log : NULL;
        in->same_plan = in->committed = in->kafka != NULL;
        *code = PIPE_EXIT_DATA;
    }
    if (in->log == NULL)
        fprintf(stderr, "%s inspect: %s\n", in->plan->name, error);
    return in->log != NULL;
}

static void free_options(struct pipe_inspect_options *options)
{
    pipe_options_free(&options->run);
    free(options->words);
}

int pipe_inspect_main(const struct pipe_plan *plan, int argc, char **argv)
{
    struct pipe_inspect_options options;
    struct inspection in = {.plan = plan, .options = &options};
    int code = pipe_options_inspect(plan, argc, argv, &options);
    if (code == 0 && strcmp(options.what, "table") == 0) {
        code = inspect_table(plan, &options) ? PIPE_EXIT_OK : PIPE_EXIT_DATA;
        free_options(&options);
        return code;
    }
    if (code != 0 || !open_log(&in, &code)) {
        free_options(&options);
        return code < 0 ? PIPE_EXIT_OK : code;
    }
    bool ok = in.kafka != NULL || compare_plan(&in);
    if (ok && strcmp(options.what, "topics") == 0)
        ok = print_topics(&in);
    else if (ok && strcmp(options.what, "state") == 0)
        ok = print_state(&in);
    else if (ok && strcmp(options.what, "dump") == 0)
        ok = dump(&in);
    else if (ok)
        ok = print_tasks(&in);
    if (in.damaged)
        fprintf(stderr, "%s inspect: the metadata of a task is malformed, or of another plan\n",
                plan->name);
    else if (!ok && in.log->error[0] != '\0')
        fprintf(stderr, "%s inspect: %s\n", plan->name, in.log->error);
    in.log->ops->close(in.log);
    inspect_kafka_free(in.kafka);
    free_options(&options);
    return ok ? PIPE_EXIT_OK : PIPE_EXIT_DATA;
}
