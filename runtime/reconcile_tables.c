/*
 * reconcile_tables.c: tables against the topics that they follow. The topics themselves are sinks
 * or internal, and compared with the re-execution; here every row must be where its position says.
 *
 * A table may lag: what its journal has confirmed is required, what lies behind that is allowed.
 * On Kafka the journal is read first and the table last, so that processes may go on meanwhile.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "follower_internal.h"
#include "native_files.h"
#include "reconcile.h"
#include "reconcile_tables.h"

#define BATCH_RECORDS 1024u

/* ---- Layers ---- */

static void make_table(struct reconcile *r, struct reconcile_layer *layer, uint32_t topic)
{
    const struct pipe_sink_def *sink = &r->plan->sinks[layer->index];
    struct reconcile_table *table = pipe_calloc(1, sizeof *table);
    table->topic = topic;
    table->partitions = r->engine->log->topics[topic].partitions;
    table->marks = pipe_calloc(table->partitions + 1, sizeof *table->marks);
    table->begins = pipe_calloc(table->partitions + 1, sizeof *table->begins);
    table->writer = pipe_native_writer_new(sink->table, sink->row);
    table->reader = pipe_native_reader_new(sink->table, sink->row);
    layer->table = table;
    if (r->on_server) {
        reconcile_make_server_table(r, layer);
        return;
    }
    table->directory = pipe_native_directory(r->options->dir, sink->name);
    snprintf(layer->place, sizeof layer->place, "files %.300s", table->directory);
}

/* In the log, of what the table of a sink follows. */
static uint32_t followed_topic(const struct reconcile *r, uint32_t sink)
{
    uint32_t topic_sink = sink;
    if (r->engine->sinks[sink].followed)
        pipe_plan_followed(r->plan, sink, &topic_sink);
    return r->engine->sinks[topic_sink].topic;
}

void reconcile_make_table(struct reconcile *r, struct reconcile_layer *layer)
{
    make_table(r, layer, followed_topic(r, layer->index));
}

void reconcile_free_table(struct reconcile_table *table)
{
    if (table == NULL)
        return;
    reconcile_free_last(table->last);
    pipe_native_writer_free(table->writer);
    pipe_native_reader_free(table->reader);
    pipe_buf_free(&table->block);
    pipe_buf_free(&table->row);
    free(table->directory);
    free(table->marks);
    free(table->begins);
    free(table);
}

/* ---- Journals ---- */

/* On Kafka the followers have a group of their own. */
static struct pipe_log *open_journals(struct reconcile *r)
{
    struct pipe_kafka_options options = r->options->run.kafka;
    struct pipe_kafka_config config;
    char error[512], group[300];
    if (!r->kafka)
        return r->engine->log;
    snprintf(group, sizeof group, "%.255s.tables", r->group);
    options.group = group;
    struct pipe_log *log = NULL;
    if (pipe_kafka_config(r->plan, &options, &config, error, sizeof error)) {
        config.instance = "reconcile";
        config.read_only = true;
        log = pipe_log_kafka_open(&config, error, sizeof error);
        free((void *)config.properties);
    }
    if (log == NULL)
        reconcile_fail(r, PIPE_EXIT_USAGE, "%s", error);
    return log;
}

static bool read_marks(struct reconcile *r, struct reconcile_layer *layer, struct pipe_log *log)
{
    struct reconcile_table *table = layer->table;
    const char *topic_name = r->engine->log->topics[table->topic].name;
    struct pipe_buf value = {0};
    uint32_t topic = table->topic;
    bool ok = log == r->engine->log || log->ops->topic(log, topic_name, table->partitions, &topic);
    for (uint32_t p = 0; ok && p < table->partitions; p++) {
        struct follower_journal journal;
        char name[400];
        follower_position_name(name, sizeof name, layer->name, topic_name, (int32_t)p);
        const struct pipe_log_position of = {.name = name, .at = {topic, (int32_t)p}};
        struct pipe_log_committed found = {.value = &value};
        ok = log->ops->get_position(log, &of, &found);
        if (!ok || !found.found)
            continue;
        if (!follower_journal_read(pipe_str_of(value.data, value.size), (int32_t)p,
                                   table->partitions, &journal)) {
            snprintf(layer->trouble, sizeof layer->trouble,
                     "its journal of partition %u is malformed", p);
            break;
        }
        table->marks[p] = journal.mark;
    }
    pipe_buf_free(&value);
    return ok || reconcile_fail(r, PIPE_EXIT_DATA, "%s", log->error);
}

/* Whether a table got rows, ever, of one that is not compared. */
static bool find_journal(struct reconcile *r, uint32_t sink, struct pipe_log *log)
{
    const struct pipe_log_topic *of = &r->engine->log->topics[followed_topic(r, sink)];
    struct pipe_buf value = {0};
    uint32_t topic = followed_topic(r, sink);
    bool ok = log == r->engine->log || log->ops->topic(log, of->name, of->partitions, &topic);
    for (uint32_t p = 0; ok && !r->left_out[sink] && p < of->partitions; p++) {
        char name[400];
        follower_position_name(name, sizeof name, r->plan->sinks[sink].name, of->name, (int32_t)p);
        const struct pipe_log_position at = {.name = name, .at = {topic, (int32_t)p}};
        struct pipe_log_committed found = {.value = &value};
        ok = log->ops->get_position(log, &at, &found);
        r->left_out[sink] = ok && found.found;
    }
    pipe_buf_free(&value);
    return ok || reconcile_fail(r, PIPE_EXIT_DATA, "%s", log->error);
}

bool reconcile_read_marks(struct reconcile *r)
{
    bool unnamed = r->on_server && r->clickhouse == NULL && !r->options->without_tables;
    struct pipe_log *log = NULL;
    bool ok = true;
    r->left_out = pipe_calloc(r->plan->sink_count + 1, sizeof *r->left_out);
    for (uint32_t i = 0; ok && unnamed && i < r->plan->sink_count; i++) {
        const struct engine_sink *sink = &r->engine->sinks[i];
        if (sink->def->table == NULL || !(sink->followed || sink->is_topic))
            continue;
        if (log == NULL)
            log = open_journals(r);
        ok = log != NULL && find_journal(r, i, log);
    }
    for (uint32_t i = 0; ok && i < r->layer_count; i++) {
        if (r->layers[i].kind != RECONCILE_TABLE)
            continue;
        if (log == NULL)
            log = open_journals(r);
        ok = log != NULL && read_marks(r, &r->layers[i], log);
    }
    if (log != NULL && log != r->engine->log)
        log->ops->close(log);
    return ok;
}

/* ---- Rows ---- */

static bool keep_row(void *context, struct pipe_str json, int32_t partition, int64_t offset)
{
    struct pipe_buf *row = context;
    (void)partition, (void)offset;
    row->size = 0;
    pipe_buf_add(row, json.data, json.size);
    return true;
}

/* A row as the table can have it: some nulls become empty (native.h). */
static bool settle(struct reconcile_layer *layer, const struct pipe_record *record,
                   struct pipe_str *json)
{
    struct reconcile_table *table = layer->table;
    char error[400];
    *json = record->payload;
    if (!pipe_native_lossy(table->writer))
        return true;
    table->block.size = 0;
    if (pipe_native_add(table->writer, record->payload, record->partition, record->offset, error,
                        sizeof error)) {
        pipe_native_finish(table->writer, &table->block);
        if (pipe_native_take(table->reader, pipe_str_of(table->block.data, table->block.size),
                             keep_row, &table->row, error, sizeof error)) {
            *json = pipe_str_of(table->row.data, table->row.size);
            return true;
        }
    }
    if (layer->trouble[0] == '\0')
        snprintf(layer->trouble, sizeof layer->trouble, "%s", error);
    return false;
}

/* A row is its position and its content: `place` is the offset, the key the partition. */
static struct pipe_str partition_key(const int32_t *partition)
{
    return pipe_str_of(partition, sizeof *partition);
}

static void expect_row(struct reconcile *r, struct reconcile_layer *layer,
                       const struct pipe_record *record)
{
    struct reconcile_table *table = layer->table;
    int64_t offset = record->offset;
    bool confirmed = offset < table->marks[record->partition];
    struct pipe_str json;
    char where[512];
    if (!settle(layer, record, &json))
        return;
    struct pipe_str key = partition_key(&record->partition);
    if (r->finding) {
        snprintf(where, sizeof where, "at %s, partition %d, offset %" PRId64,
                 r->engine->log->topics[table->topic].name, record->partition, offset);
        reconcile_wants(r, layer, true, offset, key, json, where);
        return;
    }
    table->unconfirmed += !confirmed;
    if (table->last != NULL)
        reconcile_expect_last(r, layer, confirmed, record->partition, offset, json);
    else
        reconcile_add(r, layer, confirmed ? PIPE_REQUIRED : PIPE_ALLOWED, offset, key, json);
}

static bool expect_partition(struct reconcile *r, struct reconcile_layer *layer, int32_t partition)
{
    struct reconcile_table *table = layer->table;
    struct pipe_log *log = r->engine->log;
    struct pipe_record constant = {.partition = partition}, *records;
    uint32_t count;
    enum pipe_log_state state;
    int64_t begin = r->kafka ? log->ops->begin(log, table->topic, partition) : 0;
    table->begins[partition] = begin > 0 ? begin : 0; /* the topic's layer tells of the others */
    struct pipe_log_reader *reader =
        log->ops->reader(log, table->topic, partition, table->begins[partition], &constant);
    while ((state = reconcile_read(r, reader, table->topic, partition, BATCH_RECORDS, &records,
                                   &count)) == PIPE_LOG_RECORDS) {
        for (uint32_t i = 0; i < count; i++)
            expect_row(r, layer, &records[i]);
        reconcile_progress(r, count);
    }
    log->ops->reader_close(reader);
    if (state == PIPE_LOG_FAILED && layer->trouble[0] == '\0')
        snprintf(layer->trouble, sizeof layer->trouble, "%.500s", log->error);
    return !r->spills.failed;
}

/* Of rows that are there: true if they are compared. */
static bool is_looked_at(const struct reconcile *r, const struct reconcile_table *table,
                         int32_t partition, int64_t offset)
{
    if (partition < 0 || (uint32_t)partition >= table->partitions)
        return true; /* and expected by nobody */
    if (offset < table->begins[partition])
        return false; /* retention has taken what it was made of */
    return r->ends == NULL || offset < r->ends[table->topic][partition];
}

void reconcile_find_row(struct reconcile *r, struct reconcile_layer *layer, struct pipe_str json,
                        int32_t partition, int64_t offset, const char *where)
{
    struct reconcile_table *table = layer->table;
    struct pipe_str key = partition_key(&partition);
    char text[600];
    reconcile_progress(r, 1);
    if (!is_looked_at(r, table, partition, offset)) {
        if (table->last != NULL && !r->finding)
            reconcile_find_later(r, layer, json);
        return;
    }
    if (r->finding) {
        snprintf(text, sizeof text, "%.400s, _pipe_partition %d, _pipe_offset %" PRId64, where,
                 partition, offset);
        reconcile_wants(r, layer, false, offset, key, json, text);
        return;
    }
    bool known = partition >= 0 && (uint32_t)partition < table->partitions;
    table->found_early += known && offset >= table->marks[partition];
    reconcile_add(r, layer, PIPE_ACTUAL, offset, key, json);
}

/* ---- Files ---- */

struct finding {
    struct reconcile *r;
    struct reconcile_layer *layer;
    const char *where;
};

static bool find_row(void *context, struct pipe_str json, int32_t partition, int64_t offset)
{
    const struct finding *finding = context;
    reconcile_find_row(finding->r, finding->layer, json, partition, offset, finding->where);
    return !finding->r->spills.failed;
}

/* Of opening it: what stands there is not what was written, or nobody may read it. Without room for
 * open files, or on a disk that fails, nothing is known of it. */
static bool is_of_the_file(int cause)
{
    switch (cause) {
    case ENOENT:
    case ENOTSUP: /* regular_file.h */
    case EISDIR:
    case ENOTDIR:
    case ELOOP:
    case ENXIO:
    case ENODEV:
    case EACCES:
    case EPERM:
        return true;
    }
    return false;
}

/* What can't be read may hold any rows: then nothing is said of them. */
static bool find_files(struct reconcile *r, struct reconcile_layer *layer)
{
    const struct pipe_sink_def *sink = &r->plan->sinks[layer->index];
    const char *directory = layer->table->directory;
    struct pipe_native_file *files;
    uint32_t count;
    char error[5000];
    bool ok = pipe_native_list(directory, &files, &count, error, sizeof error);
    int cause = ok ? 0 : errno;
    for (uint32_t i = 0; ok && i < count && !r->spills.failed; i++) {
        struct pipe_native_reader *reader = pipe_native_reader_new(sink->table, sink->row);
        struct finding finding = {r, layer, files[i].name};
        ok = pipe_native_read_file(directory, &files[i], reader, find_row, &finding, error,
                                   sizeof error) ||
             r->spills.failed;
        cause = ok ? 0 : errno;
        pipe_native_reader_free(reader);
    }
    free(files);
    if (cause != 0 && !is_of_the_file(cause))
        return reconcile_fail(r, PIPE_EXIT_DATA, "%.650s", error);
    if (!ok && layer->trouble[0] == '\0')
        snprintf(layer->trouble, sizeof layer->trouble, "%.590s", error);
    return true;
}

/* ---- All of it ---- */

bool reconcile_scan_table(struct reconcile *r, struct reconcile_layer *layer)
{
    struct reconcile_table *table = layer->table;
    for (uint32_t p = 0; p < table->partitions; p++) {
        if (!expect_partition(r, layer, (int32_t)p))
            break;
    }
    bool found = r->spills.failed ||
                 (r->on_server ? reconcile_find_server_rows(r, layer) : find_files(r, layer));
    if (!found)
        return false;
    if (!r->finding && table->last != NULL && !reconcile_judge_last(r, layer))
        return false;
    return !r->spills.failed || reconcile_fail(r, PIPE_EXIT_DATA, "%s", r->spills.error);
}

uint64_t reconcile_not_yet(const struct reconcile_layer *layer)
{
    const struct reconcile_table *table = layer->table;
    if (table == NULL || table->last != NULL)
        return 0; /* of rows that replace others nobody can say how many are to come */
    return table->unconfirmed > table->found_early ? table->unconfirmed - table->found_early : 0;
}
