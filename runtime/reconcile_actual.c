/*
 * reconcile_actual.c: what is there: committed topics, files up to their committed length, and the
 * input against the ledger.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "avro_container.h"
#include "reconcile.h"
#include "regular_file.h"

#define BATCH_RECORDS 1024u
#define READ_BYTES (256u << 10)

static void trouble(struct reconcile_layer *layer, const char *format, ...) PIPE_PRINTF(2, 3);
static void trouble(struct reconcile_layer *layer, const char *format, ...)
{
    if (layer->trouble[0] != '\0')
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(layer->trouble, sizeof layer->trouble, format, args);
    va_end(args);
}

/* ---- Topics ---- */

/* One actual row: counted, or (second pass) shown if it should not be there. */
static void take_record(struct reconcile *r, struct reconcile_layer *layer, int64_t place,
                        const struct pipe_record *record)
{
    char where[512];
    if (!r->finding && layer->made.entry_bytes != 0) {
        struct pipe_hash row = pipe_message_hash(place, record->key, record->payload);
        reconcile_found(layer, &row, (uint64_t)record->partition << 44 | (uint64_t)record->offset);
    }
    if (!r->finding) {
        reconcile_add(r, layer, PIPE_ACTUAL, place, record->key, record->payload);
        return;
    }
    snprintf(where, sizeof where, "%.300s, partition %d, offset %" PRId64, layer->place,
             record->partition, record->offset);
    reconcile_wants(r, layer, false, place, record->key, record->payload, where);
}

static bool scan_partition(struct reconcile *r, struct reconcile_layer *layer, int32_t partition)
{
    struct pipe_log *log = r->engine->log;
    struct pipe_record constant = {.partition = partition}, *records;
    uint32_t count;
    enum pipe_log_state state;
    struct pipe_log_reader *reader = log->ops->reader(
        log, (uint32_t)layer->topic, partition, reconcile_begin(r, layer, partition, 0), &constant);
    while ((state = reconcile_read(r, reader, (uint32_t)layer->topic, partition, BATCH_RECORDS,
                                   &records, &count)) == PIPE_LOG_RECORDS) {
        for (uint32_t i = 0; i < count; i++) {
            if (layer->kind == RECONCILE_EXCHANGE)
                reconcile_note_unread(r, layer, partition, records[i].offset);
            bool merged = layer->merges && reconcile_add_partial(r, layer, PIPE_ACTUAL, partition,
                                                                 records[i].payload);
            if (!merged && !reconcile_take_marker(r, layer, partition, records[i].payload))
                take_record(r, layer, partition, &records[i]);
        }
        reconcile_progress(r, count);
    }
    log->ops->reader_close(reader);
    if (state == PIPE_LOG_FAILED)
        trouble(layer, "%.500s", log->error);
    return true;
}

/* ---- Files ---- */

struct lines {
    FILE *file;
    int64_t left; /* bytes of it that were committed */
    struct pipe_buf bytes;
    size_t at;              /* of the next line */
    bool csv;               /* line ends inside of quotes are part of the row */
    int64_t number, offset; /* of the line in hand, from 1; its first byte in the file */
};

/* The next line without its end; false: none. *whole false: the file ends within it. */
static bool next_line(struct lines *lines, struct pipe_str *line, bool *whole)
{
    bool quoted = false;
    size_t at = lines->at;
    for (;;) {
        for (; at < lines->bytes.size; at++) {
            uint8_t byte = lines->bytes.data[at];
            quoted ^= lines->csv && byte == '"';
            if (byte != '\n' || quoted)
                continue;
            *line = pipe_str_of(lines->bytes.data + lines->at, at - lines->at);
            lines->offset += line->size + 1;
            lines->at = at + 1;
            lines->number++;
            return *whole = true;
        }
        memmove(lines->bytes.data, lines->bytes.data + lines->at, lines->bytes.size - lines->at);
        lines->bytes.size -= lines->at;
        at -= lines->at;
        lines->at = 0;
        size_t want = lines->left < (int64_t)READ_BYTES ? (size_t)lines->left : READ_BYTES;
        uint8_t *to = pipe_buf_reserve(&lines->bytes, READ_BYTES);
        size_t got = want > 0 ? fread(to, 1, want, lines->file) : 0;
        lines->bytes.size += got;
        lines->left -= (int64_t)got;
        if (got > 0)
            continue;
        *line = pipe_str_of(lines->bytes.data, lines->bytes.size);
        lines->offset += (int64_t)lines->bytes.size;
        lines->bytes.size = 0;
        lines->number++;
        *whole = false;
        return line->size > 0;
    }
}

static void take_row(struct reconcile *r, struct reconcile_layer *layer, struct pipe_str row,
                     int64_t number, const char *where)
{
    if (!r->finding && layer->made.entry_bytes != 0) {
        struct pipe_hash hash = pipe_message_hash(0, pipe_str_of(NULL, 0), row);
        reconcile_found(layer, &hash, (uint64_t)number);
    }
    if (!r->finding)
        reconcile_add(r, layer, PIPE_ACTUAL, 0, pipe_str_of(NULL, 0), row);
    else
        reconcile_wants(r, layer, false, 0, pipe_str_of(NULL, 0), row, where);
}

static bool scan_lines(struct reconcile *r, struct reconcile_layer *layer, FILE *file,
                       int64_t length)
{
    const struct pipe_sink_def *sink = &r->plan->sinks[layer->index];
    struct lines lines = {.file = file, .left = length, .csv = sink->format == PIPE_FORMAT_CSV};
    struct pipe_str line;
    struct pipe_buf header = {0};
    char where[512];
    bool whole, ok = true;
    pipe_buf_reserve(&lines.bytes, READ_BYTES);
    if (lines.csv && length > 0) {
        pipe_csv_header(sink->row, &header);
        ok = next_line(&lines, &line, &whole) && line.size + 1 == header.size &&
             memcmp(line.data, header.data, line.size) == 0;
        if (!ok)
            trouble(layer, "line 1 is not the header that was written");
    }
    while (next_line(&lines, &line, &whole)) {
        if (!whole)
            trouble(layer, "ends within line %" PRId64, lines.number);
        snprintf(where, sizeof where, "%.300s, line %" PRId64, layer->place, lines.number);
        take_row(r, layer, line, lines.number, where);
        reconcile_progress(r, 1);
    }
    ok = !ferror(file) ||
         reconcile_fail(r, PIPE_EXIT_DATA, "%s can't be read: %s", layer->place, strerror(errno));
    pipe_buf_free(&header);
    pipe_buf_free(&lines.bytes);
    return ok;
}

static void scan_container(struct reconcile *r, struct reconcile_layer *layer, const char *path,
                           int64_t length)
{
    struct pipe_container container = {0};
    struct pipe_input_config config = {.path = path, .length_bytes = length};
    enum pipe_read state = PIPE_READ_DATA;
    struct pipe_str row;
    char where[512];
    int64_t number = 0;
    bool ok = pipe_container_open(&container, &config);
    while (ok && (state = pipe_container_block(&container)) == PIPE_READ_DATA) {
        while (ok && container.given < container.count) {
            ok = pipe_container_record(&container, &row);
            if (!ok)
                break;
            snprintf(where, sizeof where, "%.300s, record %" PRId64, layer->place, number++);
            take_row(r, layer, row, number, where);
            reconcile_progress(r, 1);
        }
    }
    if (!ok || state == PIPE_READ_FAILED)
        trouble(layer, "%.500s", container.error);
    pipe_container_close(&container);
}

static bool committed_length(struct reconcile *r, const char *sink, int64_t *length, bool *found)
{
    struct pipe_buf value = {0};
    struct pipe_reader reader;
    char name[256];
    snprintf(name, sizeof name, "output/%s", sink);
    *length = 0;
    bool ok = r->engine->log->ops->get(r->engine->log, name, &value, found) ||
              reconcile_fail(r, PIPE_EXIT_DATA, "%s", r->engine->log->error);
    if (ok && *found) {
        pipe_reader_init(&reader, value.data, value.size, NULL);
        ok =
            pipe_avro_long(&reader, length) ||
            reconcile_fail(r, PIPE_EXIT_DATA, "the log is damaged: metadata %s is malformed", name);
    }
    pipe_buf_free(&value);
    return ok;
}

/* A run that was killed in a commit leaves some; one at its end can't have. */
static void judge_behind(struct reconcile *r, struct reconcile_layer *layer, int64_t length,
                         int64_t size)
{
    const char *path = r->engine->sinks[layer->index].path;
    if (size <= length)
        return;
    layer->behind_bytes = (uint64_t)(size - length);
    if (reconcile_is_over(r))
        trouble(layer,
                "has %" PRIu64 " bytes behind the %" PRId64 " that were committed, and this run is "
                "at its end, so they are somebody else's: `truncate -s %" PRId64 " %.300s` removes "
                "them",
                layer->behind_bytes, length, length, path);
}

static bool scan_file(struct reconcile *r, struct reconcile_layer *layer)
{
    const struct pipe_sink_def *sink = &r->plan->sinks[layer->index];
    const char *path = r->engine->sinks[layer->index].path;
    struct stat about;
    int64_t length;
    bool found;
    if (!committed_length(r, sink->name, &length, &found))
        return false;
    if (!found)
        return true; /* nothing of it was ever committed */
    FILE *file = pipe_fopen_regular(path);
    if (file == NULL && (errno == ENOENT || errno == ENOTDIR)) {
        trouble(layer, "can't be opened: %s", strerror(errno));
        return true;
    }
    if (file == NULL || fstat(fileno(file), &about) != 0) { /* whether rows are missing is open */
        reconcile_fail(r, PIPE_EXIT_DATA, "%s can't be opened: %s", path,
                       pipe_regular_reason(errno));
        if (file != NULL)
            fclose(file);
        return false;
    }
    if (about.st_size < length) {
        trouble(layer, "has %" PRId64 " bytes, but %" PRId64 " were committed",
                (int64_t)about.st_size, length);
        length = about.st_size;
    }
    bool ok = true;
    if (sink->kind == PIPE_SINK_FILE && sink->format == PIPE_FORMAT_AVRO && length > 0)
        scan_container(r, layer, path, length);
    else
        ok = scan_lines(r, layer, file, length);
    judge_behind(r, layer, length, about.st_size);
    fclose(file);
    return ok;
}

bool reconcile_scan(struct reconcile *r, struct reconcile_layer *layer)
{
    if (layer->topic < 0)
        return scan_file(r, layer);
    const struct pipe_log_topic *topic = &r->engine->log->topics[layer->topic];
    for (uint32_t p = 0; p < topic->partitions; p++) {
        if (!scan_partition(r, layer, (int32_t)p))
            return false;
    }
    return true;
}
