/*
 * inject.c: `NAME inject`: given rows, in given order, into the embedded topic of a source.
 *
 * A batch of rows and the position behind it in the file are one commit of the log, so every row of
 * a file is appended exactly once, however often the command is stopped and repeated. The position
 * is kept under the file's path, with a hash of all lines before it: a file that was changed there
 * is refused, one that has grown goes on.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "engine.h"
#include "options.h"
#include "regular_file.h"

#define BATCH_ROWS 10000
#define BATCH_BYTES (8u << 20)
#define LINE_MAX_BYTES (16u << 20)
#define ROW_MAX_BYTES (64u << 20) /* of what one line's values may take */
#define POSITION_VERSION 1

/* ---- A line ---- */

struct envelope {
    int32_t partition;
    int64_t kafka_time_ms;
    struct pipe_str key, value, text, base64;
    bool partition_null, kafka_time_null, key_null, value_null, text_null, base64_null;
};

#define AT(member) offsetof(struct envelope, member)
static const struct pipe_type int32_type = {.kind = PIPE_INT32};
static const struct pipe_type time_type = {.kind = PIPE_TIMESTAMP_MS};
static const struct pipe_type string_type = {.kind = PIPE_STRING};
static const struct pipe_type any_type = {.kind = PIPE_STRING, .is_json = true};
static const struct pipe_type bytes_type = {.kind = PIPE_BYTES};
static const struct pipe_column envelope_columns[] = {
    {"partition", &int32_type, AT(partition), AT(partition_null), true, false, NULL},
    {"kafka_time", &time_type, AT(kafka_time_ms), AT(kafka_time_null), true, false, NULL},
    {"key", &string_type, AT(key), AT(key_null), true, false, NULL},
    {"value", &any_type, AT(value), AT(value_null), true, false, NULL},
    {"value_text", &string_type, AT(text), AT(text_null), true, false, NULL},
    {"value_base64", &bytes_type, AT(base64), AT(base64_null), true, false, NULL},
};
enum { ENVELOPE_COLUMNS = sizeof envelope_columns / sizeof envelope_columns[0], FIRST_VALUE = 3 };
static const struct pipe_row_type envelope_type = {"row", envelope_columns, ENVELOPE_COLUMNS,
                                                   sizeof(struct envelope)};

struct injection {
    struct pipe_engine *engine;
    const struct pipe_source_def *source;
    uint32_t topic;
    const char *path; /* as given */
    char name[160];   /* of the position in the log's metadata */
    FILE *file;
    struct pipe_buf line, value;
    struct pipe_arena arena;
    int64_t number;   /* of the line in hand, from 1 */
    uint64_t hash;    /* of all lines up to it */
    int64_t done;     /* lines that were appended, by this process or before */
    int64_t appended; /* by this process */
    int64_t batch_rows;
};

static bool bad_line(struct injection *in, const char *format, ...) PIPE_PRINTF(2, 3);
static bool bad_line(struct injection *in, const char *format, ...)
{
    char what[512], before[96] = "";
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    if (in->done > 0)
        snprintf(before, sizeof before, "lines 1 to %" PRId64 " are in the topic, the rest is not",
                 in->done);
    return engine_fail(in->engine, PIPE_EXIT_DATA,
                       "%s:%" PRId64 ": %s; %s. Correct it and run again", in->path, in->number,
                       what, in->done > 0 ? before : "nothing was appended");
}

/* The next line with its line end in in->line; *end at the end of the file. */
static bool read_line(struct injection *in, bool *end)
{
    int byte = EOF;
    in->line.size = 0;
    while (in->line.size < LINE_MAX_BYTES && (byte = getc_unlocked(in->file)) != EOF) {
        pipe_buf_add_byte(&in->line, (uint8_t)byte);
        if (byte == '\n')
            break;
    }
    *end = in->line.size == 0;
    if (ferror(in->file))
        return engine_fail(in->engine, PIPE_EXIT_DATA, "%s can't be read: %s", in->path,
                           strerror(errno));
    if (*end)
        return true;
    in->number++;
    if (in->line.size >= LINE_MAX_BYTES && byte != '\n')
        return bad_line(in, "the line is longer than 16 MiB");
    if (byte == '\n') /* so that a last line may get its line end later */
        in->line.size--;
    in->hash = pipe_hash64(in->line.data, in->line.size, in->hash);
    return true;
}

/* Every name is known, and one of the three values is there. */
static bool check_names(struct injection *in)
{
    static const char *const names[] = {"partition", "kafka_time", "key",
                                        "value",     "value_text", "value_base64"};
    json_error_t error;
    json_t *json =
        json_loadb((char *)in->line.data, in->line.size,
                   JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL, &error);
    const char *name;
    json_t *value;
    int values = 0;
    bool ok = true;
    if (!json_is_object(json))
        ok = bad_line(in, "expected one JSON object a line, for example {\"value\":{…}}");
    json_object_foreach(json, name, value)
    {
        size_t i = 0;
        while (i < ENVELOPE_COLUMNS && strcmp(names[i], name) != 0)
            i++;
        values += i >= FIRST_VALUE && i < ENVELOPE_COLUMNS;
        if (!ok || i < ENVELOPE_COLUMNS)
            continue;
        const char *nearest = pipe_nearest(name, names, ENVELOPE_COLUMNS);
        ok = bad_line(in, "'%.60s' is no name of a row%s%s", name,
                      nearest != NULL ? "; did you mean " : "", nearest != NULL ? nearest : "");
    }
    json_decref(json);
    return ok && (values == 1 || bad_line(in,
                                          "expected one of value, value_text and value_base64, but "
                                          "there are %d",
                                          values));
}

/* The record's value: encoded by the contract, or the bytes as they are given. */
static bool make_value(struct injection *in, const struct envelope *row, struct pipe_str *value)
{
    struct pipe_error error = {0};
    *value = !row->text_null     ? row->text
             : !row->base64_null ? row->base64
                                 : pipe_str_of(NULL, 0); /* "value": null is no value */
    if (value->data == NULL && value->size == 0 && (!row->text_null || !row->base64_null))
        value->data = "";
    if (row->value_null)
        return true;
    void *decoded = pipe_arena_zalloc(&in->arena, in->source->row_bytes);
    if (decoded == NULL)
        return bad_line(in, "the row takes more than 64 MiB");
    if (!pipe_row_from_json(in->source->row, row->value, &in->arena, decoded, &error))
        return bad_line(in, "value%s%s: %s", error.field[0] != '\0' ? "." : "", error.field,
                        error.detail);
    if (in->source->format == PIPE_FORMAT_JSON) {
        *value = row->value; /* as it is written here */
        return true;
    }
    pipe_record_encode(in->source, decoded, &in->value);
    *value = pipe_str_of(in->value.size > 0 ? (const char *)in->value.data : "", in->value.size);
    return true;
}

static bool append_line(struct injection *in)
{
    struct pipe_log *log = in->engine->log;
    struct envelope row = {0};
    struct pipe_error error = {0};
    struct pipe_str value;
    pipe_arena_reset(&in->arena);
    if (in->line.size == 0)
        return bad_line(in, "the line is empty");
    if (!pipe_utf8_check((char *)in->line.data, in->line.size))
        return bad_line(in, "the line is not valid UTF-8");
    if (!pipe_row_from_json(&envelope_type, pipe_str_of(in->line.data, in->line.size), &in->arena,
                            &row, &error))
        return bad_line(in, "%s%s%s", error.field, error.field[0] != '\0' ? ": " : "",
                        error.detail);
    if (!check_names(in) || !make_value(in, &row, &value))
        return false;
    struct pipe_str key = row.key_null ? pipe_str_of(NULL, 0) : row.key;
    if (!row.key_null && key.data == NULL)
        key.data = "";
    int32_t partition = row.partition_null ? 0 : row.partition;
    if (row.partition_null && !row.key_null)
        partition = pipe_key_partition(key, in->source->partitions);
    if (partition < 0 || (uint32_t)partition >= in->source->partitions)
        return bad_line(in, "partition: %d is none of 0 to %u", partition,
                        in->source->partitions - 1);
    int64_t time_ms = row.kafka_time_null ? in->engine->wall_ms : row.kafka_time_ms;
    in->batch_rows++;
    return log->ops->append(log, in->topic, partition, time_ms, key, value) ||
           engine_log_failed(in->engine);
}

/* ---- The file ---- */

static bool commit_batch(struct injection *in)
{
    struct pipe_log *log = in->engine->log;
    struct pipe_buf position = {0};
    if (in->batch_rows == 0)
        return true;
    pipe_buf_add_byte(&position, POSITION_VERSION);
    pipe_avro_put_long(&position, in->number);
    pipe_avro_put_long(&position, (int64_t)in->hash);
    bool ok = log->ops->put(log, in->name, position.data, position.size) &&
              log->ops->commit(log) == PIPE_LOG_COMMITTED;
    pipe_buf_free(&position);
    if (!ok)
        return engine_log_failed(in->engine);
    in->appended += in->batch_rows;
    in->done = in->number;
    in->batch_rows = 0;
    return true;
}

static bool stored_position(struct injection *in, int64_t *lines, int64_t *hash)
{
    struct pipe_log *log = in->engine->log;
    struct pipe_buf value = {0};
    struct pipe_reader reader;
    bool found, ok = log->ops->get(log, in->name, &value, &found);
    if (!ok)
        engine_log_failed(in->engine);
    *lines = *hash = 0;
    if (ok && found) {
        pipe_reader_init(&reader, value.data, value.size, NULL);
        ok = value.size > 0 && *reader.at++ == POSITION_VERSION && pipe_avro_long(&reader, lines) &&
             pipe_avro_long(&reader, hash);
        if (!ok)
            engine_fail(in->engine, PIPE_EXIT_DATA, "the log is damaged: metadata %s is malformed",
                        in->name);
    }
    pipe_buf_free(&value);
    return ok;
}

/* Passes over what is in the topic already. */
static bool skip_done(struct injection *in)
{
    int64_t lines, hash;
    bool end = false;
    if (!stored_position(in, &lines, &hash))
        return false;
    in->done = lines;
    while (in->number < lines && !end)
        if (!read_line(in, &end))
            return false;
    return (in->number == lines && (lines == 0 || in->hash == (uint64_t)hash)) ||
           engine_fail(in->engine, PIPE_EXIT_STATE,
                       "%s: its first %" PRId64
                       " lines were appended before, and they have changed since; "
                       "put new rows behind them, or into a file of another name",
                       in->path, lines);
}

static bool append_file(struct injection *in)
{
    bool end = false;
    if (!skip_done(in))
        return false;
    while (read_line(in, &end)) {
        if (end)
            return commit_batch(in);
        if (!append_line(in))
            return false;
        if ((in->batch_rows >= BATCH_ROWS || in->engine->log->pending_bytes >= BATCH_BYTES) &&
            !commit_batch(in))
            return false;
    }
    return false;
}

static bool open_file(struct injection *in)
{
    struct stat about;
    char real[PATH_MAX], hex[65] = "";
    uint8_t digest[32];
    in->file = pipe_fopen_regular(in->path);
    if (in->file == NULL || fstat(fileno(in->file), &about) != 0 ||
        realpath(in->path, real) == NULL)
        return engine_fail(in->engine, PIPE_EXIT_DATA, "%s can't be opened: %s", in->path,
                           errno == ENOTSUP
                               ? "it is not a regular file, so its position can't be remembered"
                               : strerror(errno));
    pipe_hmac_sha256("pipec inject", 12, real, strlen(real), digest);
    pipe_hex_write(hex, digest, 16);
    snprintf(in->name, sizeof in->name, "inject/%.63s/%s", in->source->name, hex);
    return true;
}

static bool inject(struct injection *in)
{
    struct pipe_log *log;
    if (!open_file(in) || !engine_open_log(in->engine) || !engine_check_plan(in->engine))
        return false;
    log = in->engine->log;
    if (!log->ops->topic(log, in->source->target, in->source->partitions, &in->topic))
        return engine_fail(in->engine, PIPE_EXIT_STATE, "%s", log->error);
    return append_file(in);
}

/* ---- The command line ---- */

struct inject_options {
    struct pipe_run_options run; /* first: --embedded */
    const char *source, *file;   /* source NULL: the only one that reads a topic */
};

static const char *take_source(void *options, const char *value)
{
    ((struct inject_options *)options)->source = value;
    return value[0] != '\0' ? NULL : "expected the name of a source";
}

static const char *take_file(void *context, const char *word)
{
    struct inject_options *options = context;
    if (options->file != NULL)
        return "one file at a time";
    options->file = word;
    return NULL;
}

static const struct option_row rows[] = {
    {"--embedded", "DIR", "the run directory; made if it is not there", option_take_embedded},
    {"--source", "NAME", "whose topic; not needed where one source reads a topic", take_source},
};

static const char intro[] =
    "Appends the rows of a file to the embedded topic of a source, in their order. A row is one "
    "JSON\n"
    "object a line:\n"
    "  "
    "{\"key\":\"s1\",\"kafka_time\":\"2026-01-31T10:00:00Z\",\"value\":{\"session_id\":\"s1\",…}}\n"
    "  value          columns of the source; encoded by its contract (newest version) or format;\n"
    "                 null: a record without a value\n"
    "  value_text     instead: the bytes of this text as they are\n"
    "  value_base64   instead: these bytes, whatever they are\n"
    "  key            text of the record's key; none: no key. A source with a `key` clause needs "
    "it\n"
    "  partition      by the key if there is one, else 0\n"
    "  kafka_time     the broker's time; now\n"
    "Every row of a file is appended once: stopped or repeated, the command goes on behind what is "
    "in\n"
    "the topic, and rows that were put behind the last are new. A bad row is told with file, line "
    "and\n"
    "field; nothing of its batch (10,000 rows) is appended. Stop a run of the directory first; run "
    "it\n"
    "again to read the rows.\n"
    "Exit: 0 done, 1 a bad row or disk, 2 usage, 3 the file was changed, or the directory is of\n"
    "another plan.\n";

static const struct option_command command = {
    .name = "inject",
    .usage = "inject --embedded DIR [--source NAME] ROWS.jsonl",
    .intro = intro,
    .rows = rows,
    .row_count = sizeof rows / sizeof rows[0],
    .take_word = take_file,
};

/* 0, -1: help was printed, or the exit code after a message. */
static int read_options(const struct pipe_plan *plan, int argc, char **argv,
                        struct inject_options *options)
{
    int code = option_read(plan, &command, argc, argv, options);
    const char *missing = options->run.embedded == NULL ? "where to?" : "which rows?";
    if (code != 0 || (options->run.embedded != NULL && options->file != NULL))
        return code;
    fprintf(stderr, "%s inject: %s %s inject --embedded DIR --source NAME ROWS.jsonl\n", plan->name,
            missing, plan->name);
    return PIPE_EXIT_USAGE;
}

static const struct pipe_source_def *find_source(const struct pipe_plan *plan, const char *name)
{
    const struct pipe_source_def *found = NULL;
    const char *names[64];
    uint32_t topics = 0, count = 0;
    for (uint32_t i = 0; i < plan->source_count; i++) {
        const struct pipe_source_def *source = &plan->sources[i];
        topics += source->is_kafka;
        if (name != NULL ? strcmp(source->name, name) == 0 : source->is_kafka)
            found = source;
        if (count < 64)
            names[count++] = source->name;
    }
    if (name == NULL && topics != 1) {
        fprintf(stderr,
                topics == 0 ? "%s inject: no source of this pipeline reads a topic\n"
                            : "%s inject: which source? Give --source NAME\n",
                plan->name);
        return NULL;
    }
    if (found == NULL) {
        const char *nearest = pipe_nearest(name, names, count);
        fprintf(stderr, "%s inject: --source '%s': there is no source of that name%s%s\n",
                plan->name, name, nearest != NULL ? "; did you mean " : "",
                nearest != NULL ? nearest : "");
    } else if (!found->is_kafka) {
        fprintf(stderr,
                "%s inject: source %s reads files, not a topic: put the rows into its files\n",
                plan->name, found->name);
        found = NULL;
    }
    return found;
}

int pipe_inject_main(const struct pipe_plan *plan, int argc, char **argv)
{
    struct inject_options options = {0};
    int code = read_options(plan, argc, argv, &options);
    if (code != 0)
        return code < 0 ? PIPE_EXIT_OK : code;
    struct injection in = {.path = options.file, .source = find_source(plan, options.source)};
    if (in.source == NULL)
        return PIPE_EXIT_USAGE;
    in.engine = engine_new(plan, &options.run);
    pipe_arena_init(&in.arena, ROW_MAX_BYTES);
    if (inject(&in)) {
        int64_t before = in.done - in.appended;
        fprintf(stderr, "%s: %" PRId64 " row%s appended to topic %s", in.path, in.appended,
                PIPE_PLURAL(in.appended), in.source->target);
        if (before > 0)
            fprintf(stderr, "; %" PRId64 " were there already", before);
        fputc('\n', stderr);
    } else {
        fprintf(stderr, "%s inject: %s\n", plan->name, in.engine->error);
        code = in.engine->exit_code;
    }
    if (in.file != NULL)
        fclose(in.file);
    engine_close(in.engine);
    pipe_arena_free(&in.arena);
    pipe_buf_free(&in.line);
    pipe_buf_free(&in.value);
    return code;
}
