/*
 * reconcile_raw.c: the input of a source against the ledgers: what the generators must have sent up
 * to their committed positions, made again, against what is in the topic or the files. Without a
 * ledger the input is the truth, and is only read through.
 *
 * On Kafka several generators may have sent into one topic, and what is in it has the broker's
 * times: so there the order is compared of one generator only, and times are not.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "new_file.h"
#include "reconcile.h"
#include "regular_file.h"
#include "system_calls.h"

#define BATCH_RECORDS 1024u

struct raw {
    struct reconcile *r;
    struct reconcile_layer *layer;
    const struct pipe_ledger_head *head; /* of the ledger in hand */
    uint32_t ledgers;                    /* of the source */
    uint32_t partitions;
    uint64_t *sent;              /* records so far, by partition */
    struct pipe_hash *chains[2]; /* by partition: of all records in order; expected, actual */
    bool keyed, timed;           /* keys and times are part of records: topics; embedded ones */
    FILE *given, *made;          /* ledgers: to compare, to write */
    char made_path[4200], hidden[4240]; /* the latter until it is complete */
};

/* What is hashed with key and value. */
static int64_t place_of(const struct raw *raw, int32_t partition, int64_t kafka_time_ms)
{
    uint64_t place = (uint64_t)(partition + 1) * 0x9e3779b97f4a7c15u;
    return (int64_t)(place + (raw->timed ? (uint64_t)kafka_time_ms : 0));
}

static void chain(struct pipe_hash *chain, int64_t place, struct pipe_str key,
                  struct pipe_str value)
{
    struct pipe_hash pair[2] = {*chain, pipe_message_hash(place, key, value)};
    pipe_hash128(pair, sizeof pair, 0, chain->word);
}

/* ---- The ledger ---- */

static bool read_line(FILE *file, struct pipe_buf *line)
{
    int byte;
    line->size = 0;
    while ((byte = fgetc(file)) != EOF && byte != '\n' && line->size < (1u << 20))
        pipe_buf_add_byte(line, (uint8_t)byte);
    return line->size > 0 || byte == '\n';
}

/* The line that was made is in `line`; it is written, or compared with the next of the file. */
static bool ledger_line(struct raw *raw, const struct pipe_buf *line, struct pipe_buf *scratch,
                        uint64_t number)
{
    struct reconcile *r = raw->r;
    if (raw->made != NULL && fwrite(line->data, 1, line->size, raw->made) != line->size)
        return reconcile_fail(r, PIPE_EXIT_DATA, "%s can't be written: %s", raw->hidden,
                              strerror(errno));
    if (raw->given == NULL)
        return true;
    bool there = read_line(raw->given, scratch);
    if (ferror(raw->given))
        return reconcile_fail(r, PIPE_EXIT_DATA, "%s can't be read: %s", r->options->ledger,
                              strerror(errno));
    if (there && scratch->size + 1 == line->size &&
        memcmp(scratch->data, line->data, scratch->size) == 0)
        return true;
    if (raw->layer->trouble[0] == '\0')
        snprintf(raw->layer->trouble, sizeof raw->layer->trouble,
                 "%.200s, line %" PRIu64 ": %.150s", r->options->ledger, number,
                 there ? "not what the generator sends" : "the ledger ends early");
    fclose(raw->given);
    raw->given = NULL;
    return true;
}

static bool write_ledger_head(struct raw *raw, struct pipe_buf *line, struct pipe_buf *scratch)
{
    line->size = 0;
    pipe_ledger_put_head(line, raw->r->plan, raw->head);
    return ledger_line(raw, line, scratch, 1);
}

/* One record as the generator sends it. */
static void expect(struct raw *raw, const struct pipe_feed_record *record, uint64_t number)
{
    struct reconcile *r = raw->r;
    uint32_t partition = (uint32_t)record->partition;
    int64_t place = place_of(raw, record->partition, record->kafka_time_ms);
    struct pipe_str key = raw->keyed ? record->key : pipe_str_of(NULL, 0); /* in files: none */
    char where[200];
    if (r->finding) {
        snprintf(where, sizeof where, "record %" PRIu64 " of the ledger, partition %" PRIu32,
                 number, partition);
        reconcile_wants(r, raw->layer, true, place, key, record->value, where);
        return;
    }
    const struct engine_source *source = &r->engine->sources[raw->layer->index];
    const struct pipe_traffic_def *traffic = &r->plan->traffics[raw->head->traffic];
    const struct engine_committed *c = &r->committed[source->first_task + partition];
    struct pipe_feed_record counted = *record;
    if (r->kafka) /* what is ahead is so by the broker's time; see check_source */
        counted.kafka_time_ms = INT64_MAX / 2;
    if (r->kafka || (int64_t)raw->sent[partition]++ < c->position.offset)
        pipe_ledger_count(&r->ledger_totals[raw->layer->index], traffic, source->def, &counted);
    chain(&raw->chains[0][partition], place, key, record->value);
    reconcile_add(r, raw->layer, PIPE_REQUIRED, place, key, record->value);
}

static bool regenerate(struct raw *raw)
{
    struct reconcile *r = raw->r;
    const struct pipe_traffic_def *traffic = &r->plan->traffics[raw->head->traffic];
    struct pipe_buf line = {0}, scratch = {0};
    struct pipe_feed_record record;
    char error[512];
    struct pipe_feeder *feeder = pipe_feeder_open(r->plan, raw->head->traffic, raw->partitions,
                                                  &raw->head->options, error, sizeof error);
    if (feeder == NULL)
        return reconcile_fail(r, PIPE_EXIT_DATA, "traffic %s: %s", traffic->name, error);
    bool ok = write_ledger_head(raw, &line, &scratch);
    for (uint64_t n = 0; ok && n < raw->head->position; n++) {
        ok = pipe_feeder_next(feeder, &record);
        if (!ok) {
            snprintf(raw->layer->trouble, sizeof raw->layer->trouble,
                     "the generator ends after %" PRIu64 " records, but %" PRIu64 " were sent", n,
                     raw->head->position);
            ok = true;
            break;
        }
        expect(raw, &record, n);
        if (raw->made != NULL || raw->given != NULL) {
            line.size = 0;
            pipe_ledger_put_record(&line, traffic, &r->plan->sources[traffic->source], n, &record);
            ok = ledger_line(raw, &line, &scratch, n + 2);
        }
        reconcile_progress(r, 1);
    }
    /* Of a directory's own: on Kafka traffic is another process's, files are there as a whole. */
    if (ok && !r->kafka && raw->head->options.count > 0 && raw->layer->trouble[0] == '\0')
        raw->layer->more_traffic = pipe_feeder_next(feeder, &record);
    pipe_feeder_close(feeder);
    pipe_buf_free(&line);
    pipe_buf_free(&scratch);
    return ok;
}

/* FILE, FILE.SOURCE of several sources, and of several generators FILE.SOURCE.TRAFFIC.SEED. */
static void name_made(struct raw *raw, const struct reconcile_ledger *ledger)
{
    const struct reconcile *r = raw->r;
    bool several = raw->ledgers > 1;
    char end[200] = "";
    for (uint32_t i = 0; i < r->plan->source_count; i++)
        several = several || (r->has_ledger[i] && i != raw->layer->index);
    if (raw->ledgers > 1)
        snprintf(end, sizeof end, ".%.100s.%" PRIu64, r->plan->traffics[ledger->head.traffic].name,
                 ledger->head.options.seed);
    snprintf(raw->made_path, sizeof raw->made_path, "%.3900s%s%s%s", r->options->ledger_out,
             several ? "." : "", several ? raw->layer->name : "", end);
}

/* The ledger's text is made and compared in the first pass. */
static bool open_files(struct raw *raw, const struct reconcile_ledger *ledger)
{
    struct reconcile *r = raw->r;
    if (r->finding)
        return true;
    if (ledger->given) {
        raw->given = pipe_fopen_regular(r->options->ledger);
        if (raw->given == NULL)
            return reconcile_fail(r, PIPE_EXIT_DATA, "%s can't be opened: %s", r->options->ledger,
                                  pipe_regular_reason(errno));
    }
    if (r->options->ledger_out == NULL)
        return true;
    name_made(raw, ledger);
    char error[600];
    if (!pipe_may_make_file("--ledger-out", raw->made_path, r->run.replace, error, sizeof error))
        return reconcile_fail(r, PIPE_EXIT_DATA, "%s", error);
    snprintf(raw->hidden, sizeof raw->hidden, "%s.%ld.partial", raw->made_path, (long)getpid());
    raw->made = fopen(raw->hidden, "we");
    return raw->made != NULL || reconcile_fail(r, PIPE_EXIT_DATA, "%s can't be written: %s",
                                               raw->hidden, strerror(errno));
}

static bool close_files(struct raw *raw, bool ok)
{
    struct pipe_buf rest = {0};
    if (raw->given != NULL) {
        if (ok && read_line(raw->given, &rest) && raw->layer->trouble[0] == '\0')
            snprintf(raw->layer->trouble, sizeof raw->layer->trouble,
                     "%.300s has more lines than its head says", raw->r->options->ledger);
        fclose(raw->given);
    }
    pipe_buf_free(&rest);
    if (raw->made == NULL)
        return ok;
    bool written =
        !ok || (fflush(raw->made) == 0 && pipe_fsync(fileno(raw->made)) == 0); /* as traffic does */
    written = fclose(raw->made) == 0 && written &&
              (!ok || pipe_show_file(raw->hidden, raw->made_path, raw->r->run.replace));
    if (ok && !written)
        ok = reconcile_fail(raw->r, PIPE_EXIT_DATA, "%s can't be written: %s", raw->made_path,
                            strerror(errno));
    if (!ok)
        unlink(raw->hidden);
    return ok;
}

static bool run_ledger(struct raw *raw, const struct reconcile_ledger *ledger)
{
    raw->head = &ledger->head;
    raw->given = raw->made = NULL;
    bool ok = open_files(raw, ledger);
    return close_files(raw, ok && regenerate(raw));
}

/* ---- What is there ---- */

static void take(struct raw *raw, const struct pipe_record *record)
{
    struct reconcile *r = raw->r;
    int64_t place = place_of(raw, record->partition, record->kafka_time_ms);
    char where[400];
    if (r->finding) {
        snprintf(where, sizeof where, "%.*s, partition %d, offset %" PRId64,
                 (int)(record->topic.size < 300 ? record->topic.size : 300), record->topic.data,
                 record->partition, record->offset);
        reconcile_wants(r, raw->layer, false, place, record->key, record->payload, where);
        return;
    }
    chain(&raw->chains[1][record->partition], place, record->key, record->payload);
    reconcile_note_unread(r, raw->layer, record->partition, record->offset);
    if (raw->ledgers == 0)
        reconcile_add(r, raw->layer, PIPE_REQUIRED, place, record->key, record->payload);
    reconcile_add(r, raw->layer, PIPE_ACTUAL, place, record->key, record->payload);
}

static bool read_topic(struct raw *raw, int32_t partition)
{
    struct pipe_log *log = raw->r->engine->log;
    const struct pipe_log_topic *topic = &log->topics[raw->layer->topic];
    struct pipe_record constant = {.partition = partition,
                                   .topic = pipe_str_of(topic->name, strlen(topic->name))};
    struct pipe_record *records;
    uint32_t count;
    enum pipe_log_state state;
    uint32_t of = (uint32_t)raw->layer->topic;
    uint32_t task = raw->r->engine->sources[raw->layer->index].first_task + (uint32_t)partition;
    int64_t from =
        reconcile_begin(raw->r, raw->layer, partition, raw->ledgers > 0 ? 0 : raw->r->first[task]);
    struct pipe_log_reader *reader = log->ops->reader(log, of, partition, from, &constant);
    while ((state = reconcile_read(raw->r, reader, of, partition, BATCH_RECORDS, &records,
                                   &count)) == PIPE_LOG_RECORDS) {
        for (uint32_t i = 0; i < count; i++)
            take(raw, &records[i]);
        reconcile_progress(raw->r, count);
    }
    log->ops->reader_close(reader);
    if (state == PIPE_LOG_FAILED && raw->layer->trouble[0] == '\0')
        snprintf(raw->layer->trouble, sizeof raw->layer->trouble, "%.500s", log->error);
    return true;
}

static bool read_file(struct raw *raw, int32_t partition)
{
    struct reconcile *r = raw->r;
    const struct engine_source *source = &r->engine->sources[raw->layer->index];
    struct pipe_record *records;
    uint32_t count;
    char error[512];
    struct pipe_input_config config = {
        .source = source->def,
        .source_index = raw->layer->index,
        .partition = partition,
        .path = source->paths[partition],
        .length_bytes = source->lengths[partition],
        .max_record_bytes = r->engine->options->max_record_bytes,
        .topic = source->def->is_kafka ? source->def->target : source->names[partition],
    };
    struct pipe_input *input = pipe_input_open(&config, error, sizeof error);
    if (input == NULL)
        return reconcile_fail(r, PIPE_EXIT_DATA, "%s", error);
    enum pipe_input_state state;
    while ((state = input->ops->next(input, BATCH_RECORDS, &records, &count)) ==
           PIPE_INPUT_RECORDS) {
        for (uint32_t i = 0; i < count; i++)
            take(raw, &records[i]);
        reconcile_progress(r, count);
    }
    if (state == PIPE_INPUT_FAILED && raw->layer->trouble[0] == '\0')
        snprintf(raw->layer->trouble, sizeof raw->layer->trouble, "%.500s", input->error);
    input->ops->close(input);
    return true;
}

/* ---- Both ---- */

static bool sum_injected(void *context, const char *name, struct pipe_str value)
{
    struct reconcile_layer *layer = context;
    struct pipe_reader reader;
    int64_t version, lines;
    (void)name;
    pipe_reader_init(&reader, value.data, value.size, NULL);
    if (pipe_avro_long(&reader, &version) && pipe_avro_long(&reader, &lines) && lines > 0)
        layer->injected += (uint64_t)lines;
    return true;
}

static void compare_order(struct raw *raw)
{
    raw->layer->disordered = -1;
    for (uint32_t p = 0; p < raw->partitions && raw->layer->disordered < 0; p++) {
        if (pipe_hash_order(&raw->chains[0][p], &raw->chains[1][p]) != 0)
            raw->layer->disordered = (int32_t)p;
    }
}

static bool run_raw(struct raw *raw)
{
    struct reconcile *r = raw->r;
    const struct engine_source *source = &r->engine->sources[raw->layer->index];
    char prefix[160];
    snprintf(prefix, sizeof prefix, "inject/%.63s/", source->def->name);
    raw->layer->injected = 0;
    if (!r->engine->log->ops->list(r->engine->log, prefix, sum_injected, raw->layer))
        return reconcile_fail(r, PIPE_EXIT_DATA, "%s", r->engine->log->error);
    raw->layer->beside = raw->ledgers > 0 ? raw->layer->injected : 0;
    for (uint32_t i = 0; i < r->ledger_count; i++) {
        if (r->ledgers[i].source == raw->layer->index && !run_ledger(raw, &r->ledgers[i]))
            return false;
    }
    for (uint32_t p = 0; p < raw->partitions; p++) {
        if (source->files ? !read_file(raw, (int32_t)p) : !read_topic(raw, (int32_t)p))
            return false;
    }
    if (raw->ledgers == 1 && raw->layer->injected == 0 && !r->finding)
        compare_order(raw);
    return true;
}

bool reconcile_raw(struct reconcile *r, struct reconcile_layer *layer)
{
    const struct engine_source *source = &r->engine->sources[layer->index];
    struct raw raw = {
        .r = r,
        .layer = layer,
        .partitions = source->partitions,
        .keyed = source->def->is_kafka,
        .timed = source->def->is_kafka && !r->kafka,
    };
    for (uint32_t i = 0; i < r->ledger_count; i++)
        raw.ledgers += r->ledgers[i].source == layer->index;
    if (source->standard_input)
        return true;
    raw.sent = pipe_calloc(raw.partitions, sizeof *raw.sent);
    for (int i = 0; i < 2; i++)
        raw.chains[i] = pipe_calloc(raw.partitions, sizeof *raw.chains[i]);
    bool ok = run_raw(&raw);
    free(raw.sent);
    free(raw.chains[0]);
    free(raw.chains[1]);
    return ok;
}
