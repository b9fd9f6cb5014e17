/*
 * traffic_cli.c: `NAME traffic --to DIR`: generated events as files. All are written under hidden
 * names, synced, and renamed when the last is complete, so that no half-written one shows.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "ledger.h"
#include "log_options.h"
#include "new_file.h"
#include "system_calls.h"
#include "traffic_cli.h"

#define FLUSH_BYTES (1 << 20)
#define RECORDS_A_ROUND 4096
#define LINE_EVERY_US 5000000   /* plain lines */
#define REWRITE_EVERY_US 200000 /* the line of a terminal */
#define BAR_WIDTH 24

struct traffic_file {
    char *path, *hidden; /* hidden: until it is complete */
    struct pipe_output *output;
};

/* The files of one traffic. */
struct traffic_writer {
    const struct pipe_plan *plan;
    const struct pipe_traffic_options *options;
    const struct pipe_traffic_def *def;
    const struct pipe_source_def *source;
    struct pipe_sink_def sink; /* what output.c asks about the format */
    struct pipe_feeder *feeder;
    struct traffic_file *files;
    uint32_t file_count;
    enum pipe_format format; /* of the files */
    FILE *ledger;            /* NULL: none is wanted */
    char *ledger_path, *ledger_hidden;
    struct pipe_buf row;
    uint64_t events, records, bytes;
    uint64_t *faults; /* by fault: how often */
    bool stopped;
    int64_t last_report_us;
    char error[768];
};

static volatile sig_atomic_t stop_requested;

static void request_stop(int signal_number)
{
    (void)signal_number;
    stop_requested = 1;
}

bool traffic_stops(void)
{
    return stop_requested != 0;
}

static void handle_signals(void)
{
    struct sigaction action = {.sa_handler = request_stop};
    sigemptyset(&action.sa_mask);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
}

static bool fail(struct traffic_writer *writer, const char *format, ...) PIPE_PRINTF(2, 3);
static bool fail(struct traffic_writer *writer, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(writer->error, sizeof writer->error, format, args);
    va_end(args);
    log_advise(writer->error, sizeof writer->error);
    return false;
}

/* ---- Opening ---- */

/* What the files hold, and how their names end. NULL: no file can. */
static const char *choose_format(struct traffic_writer *writer, enum pipe_format *format)
{
    const struct pipe_source_def *source = writer->source;
    writer->sink = (struct pipe_sink_def){
        .name = source->name, .kind = PIPE_SINK_FILE, .row = source->row, .format = source->format};
    *format = PIPE_FORMAT_JSONL; /* lines */
    if (source->is_kafka || source->format == PIPE_FORMAT_AVRO) {
        *format = writer->sink.format = PIPE_FORMAT_AVRO;
        writer->sink.avro_schema =
            source->is_kafka ? PIPE_TOPIC_FILE_SCHEMA : source->contract->versions[0].schema_json;
        return "avro";
    }
    switch (source->format) {
    case PIPE_FORMAT_CSV:
        if (source->header)
            *format = PIPE_FORMAT_CSV;
        return "csv";
    case PIPE_FORMAT_JSON:
    case PIPE_FORMAT_JSONL:
        return "jsonl";
    case PIPE_FORMAT_TEXT:
        return "txt";
    case PIPE_FORMAT_AVRO:
    case PIPE_FORMAT_BYTES:
    case PIPE_FORMAT_PARQUET:
        break;
    }
    return NULL;
}

static char *format_text(const char *format, ...) PIPE_PRINTF(1, 2);
static char *format_text(const char *format, ...)
{
    struct pipe_buf text = {0};
    va_list args;
    va_start(args, format);
    pipe_buf_vprintf(&text, format, args);
    va_end(args);
    pipe_buf_add_byte(&text, 0);
    return (char *)text.data;
}

/* Numbers of partitions are as wide as the greatest: files are read in the order of their names. */
static void name_file(const struct traffic_writer *writer, struct traffic_file *file,
                      uint32_t index, const char *extension)
{
    const char *dir = writer->options->to, *source = writer->source->name;
    int width = snprintf(NULL, 0, "%u", writer->file_count - 1);
    char *number =
        writer->source->is_kafka ? format_text("-%0*u", width, index) : format_text("%s", "");
    file->path = format_text("%s/%s%s.%s", dir, source, number, extension);
    file->hidden =
        format_text("%s/.%s%s.%s.%ld.partial", dir, source, number, extension, (long)getpid());
    free(number);
}

/* Every partition is an open file. */
static void allow_files(uint32_t count)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= count + 64)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit); /* if it stays too low, opening says so */
}

/* ---- The ledger ---- */

/* The head, which says how many records follow: first with none, at the end with all. */
static bool write_ledger_head(struct traffic_writer *writer)
{
    struct pipe_ledger_head head = {.traffic = (uint32_t)(writer->def - writer->plan->traffics),
                                    .partitions = writer->file_count,
                                    .options = writer->options->run.feeder,
                                    .position = writer->records};
    struct pipe_buf line = {0};
    pipe_ledger_put_head(&line, writer->plan, &head);
    rewind(writer->ledger);
    bool ok = fwrite(line.data, 1, line.size, writer->ledger) == line.size;
    pipe_buf_free(&line);
    return ok || fail(writer, "%s: cannot be written: %s", writer->ledger_hidden, strerror(errno));
}

static bool open_ledger(struct traffic_writer *writer)
{
    if (writer->ledger_path == NULL)
        return true;
    writer->ledger = fopen(writer->ledger_hidden, "w+e");
    if (writer->ledger == NULL)
        return fail(writer, "%s: cannot be created: %s", writer->ledger_hidden, strerror(errno));
    return write_ledger_head(writer);
}

static bool write_ledger_line(struct traffic_writer *writer, const struct pipe_feed_record *record)
{
    struct pipe_buf *line = &writer->row;
    line->size = 0;
    pipe_ledger_put_record(line, writer->def, writer->source, writer->records, record);
    return fwrite(line->data, 1, line->size, writer->ledger) == line->size ||
           fail(writer, "%s: cannot be written: %s", writer->ledger_hidden, strerror(errno));
}

/* Complete and on disk. */
static bool finish_ledger(struct traffic_writer *writer)
{
    if (writer->ledger == NULL)
        return true;
    return write_ledger_head(writer) &&
           ((fflush(writer->ledger) == 0 && pipe_fsync(fileno(writer->ledger)) == 0) ||
            fail(writer, "%s: cannot be written to disk: %s", writer->ledger_hidden,
                 strerror(errno)));
}

static void close_ledger(struct traffic_writer *writer)
{
    if (writer->ledger != NULL)
        fclose(writer->ledger);
    if (writer->ledger_hidden != NULL)
        unlink(writer->ledger_hidden); /* not there if all went well */
    free(writer->ledger_path);
    free(writer->ledger_hidden);
}

/* ---- Opening and closing ---- */

/* One renamed over the other would be lost. */
static bool check_ledger_alone(struct traffic_writer *writer)
{
    char *ledger = pipe_real_path(writer->ledger_path);
    bool ok = true;
    for (uint32_t i = 0; ok && i < writer->file_count; i++) {
        char *file = pipe_real_path(writer->files[i].path);
        ok = strcmp(ledger, file) != 0 ||
             fail(writer, "--ledger %s: is a file of --to as well; name another",
                  writer->ledger_path);
        free(file);
    }
    free(ledger);
    return ok;
}

/* What will be written, and that it takes nobody's place. */
static bool name_files(struct traffic_writer *writer)
{
    const struct pipe_traffic_options *options = writer->options;
    bool several = options->traffic == NULL && writer->plan->traffic_count > 1;
    const char *extension = choose_format(writer, &writer->format);
    if (extension == NULL)
        return fail(writer, "source %s: no file can hold this format", writer->source->name);
    writer->file_count = writer->source->is_kafka ? writer->source->partitions : 1;
    writer->files = pipe_calloc(writer->file_count, sizeof *writer->files);
    for (uint32_t i = 0; i < writer->file_count; i++) {
        name_file(writer, &writer->files[i], i, extension);
        if (!pipe_may_make_file("--to", writer->files[i].path, options->run.replace, writer->error,
                                sizeof writer->error))
            return false;
    }
    if (options->ledger == NULL)
        return true;
    writer->ledger_path = several ? format_text("%s.%s", options->ledger, writer->source->name)
                                  : format_text("%s", options->ledger);
    writer->ledger_hidden = format_text("%s.%ld.partial", writer->ledger_path, (long)getpid());
    return pipe_may_make_file("--ledger", writer->ledger_path, options->run.replace, writer->error,
                              sizeof writer->error) &&
           check_ledger_alone(writer);
}

static bool open_writer(struct traffic_writer *writer)
{
    char error[512];
    if (!name_files(writer))
        return false;
    writer->faults = pipe_calloc(writer->def->fault_count + 1, sizeof *writer->faults);
    allow_files(writer->file_count);
    for (uint32_t i = 0; i < writer->file_count; i++) {
        struct traffic_file *file = &writer->files[i];
        struct pipe_output_config config = {.sink = &writer->sink,
                                            .path = file->hidden,
                                            .format = writer->format,
                                            .unsynced = true};
        file->output = pipe_output_open(&config, error, sizeof error);
        if (file->output == NULL)
            return fail(writer, "%s", error);
        if (!pipe_output_begin(file->output))
            return fail(writer, "%s", file->output->error);
    }
    writer->feeder =
        pipe_feeder_open(writer->plan, (uint32_t)(writer->def - writer->plan->traffics),
                         writer->file_count, &writer->options->run.feeder, error, sizeof error);
    return writer->feeder != NULL ? open_ledger(writer) : fail(writer, "%s", error);
}

static void close_writer(struct traffic_writer *writer)
{
    for (uint32_t i = 0; writer->files != NULL && i < writer->file_count; i++) {
        struct traffic_file *file = &writer->files[i];
        if (file->output != NULL)
            file->output->ops->close(file->output);
        if (file->hidden != NULL)
            unlink(file->hidden); /* not there if all went well */
        free(file->path);
        free(file->hidden);
    }
    pipe_feeder_close(writer->feeder);
    close_ledger(writer);
    pipe_buf_free(&writer->row);
    free(writer->files);
    free(writer->faults);
}

/* ---- Writing ---- */

static struct pipe_str envelope(struct pipe_buf *row, const struct pipe_feed_record *record)
{
    row->size = 0;
    pipe_avro_put_long(row, record->kafka_time_ms);
    pipe_avro_put_nullable(row, true, record->key.data == NULL);
    if (record->key.data != NULL)
        pipe_avro_put_bytes(row, record->key);
    pipe_avro_put_nullable(row, true, record->value.data == NULL);
    if (record->value.data != NULL)
        pipe_avro_put_bytes(row, record->value);
    return pipe_str_of(row->data, row->size);
}

static bool write_record(struct traffic_writer *writer, const struct pipe_feed_record *record)
{
    struct pipe_output *output = writer->files[record->partition].output;
    if (writer->ledger != NULL && !write_ledger_line(writer, record))
        return false;
    struct pipe_str row = writer->source->is_kafka ? envelope(&writer->row, record) : record->value;
    writer->records++;
    if (record->duplicate >= 0)
        writer->faults[record->duplicate]++;
    else
        writer->events++;
    if (record->duplicate < 0 && record->fault >= 0)
        writer->faults[record->fault]++;
    if (!output->ops->append(output, row) ||
        (output->pending_bytes >= FLUSH_BYTES && !output->ops->flush(output)))
        return fail(writer, "%s", output->error);
    return true;
}

static void report(struct traffic_writer *writer, bool last)
{
    bool terminal = isatty(STDERR_FILENO) == 1;
    enum pipe_progress when = writer->options->run.progress;
    int64_t now_us = engine_monotonic_us(), passed = now_us - writer->last_report_us;
    uint64_t total = (uint64_t)writer->options->run.feeder.count;
    uint64_t percent = total > 0 ? writer->events * 100 / total : 100;
    if (when == PIPE_PROGRESS_NEVER ||
        (!last && passed < (terminal ? REWRITE_EVERY_US : LINE_EVERY_US)))
        return;
    writer->last_report_us = now_us;
    if (terminal) {
        char bar[BAR_WIDTH + 1];
        memset(bar, '.', BAR_WIDTH);
        memset(bar, '#', percent * BAR_WIDTH / 100);
        bar[BAR_WIDTH] = '\0';
        fprintf(stderr, "\r\033[K%s  [%s] %3" PRIu64 "%%  %" PRIu64 " record%s%s",
                writer->source->name, bar, percent, writer->records, PIPE_PLURAL(writer->records),
                last ? "\n" : "");
    } else if (!last || when == PIPE_PROGRESS_ALWAYS) {
        pipe_message(PIPE_INFO, "progress",
                     "traffic=%s events=%" PRIu64 " of=%" PRIu64 " records=%" PRIu64,
                     writer->def->name, writer->events, total, writer->records);
    }
}

static bool write_records(struct traffic_writer *writer)
{
    struct pipe_feed_record record;
    writer->last_report_us = engine_monotonic_us();
    while (!writer->stopped) {
        for (unsigned i = 0; i < RECORDS_A_ROUND; i++) {
            if (!pipe_feeder_next(writer->feeder, &record)) {
                report(writer, true);
                return true;
            }
            if (!write_record(writer, &record))
                return false;
        }
        report(writer, false);
        writer->stopped = stop_requested != 0;
    }
    report(writer, true);
    return true;
}

static bool sync_path(struct traffic_writer *writer, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool ok = fd >= 0 && pipe_fsync(fd) == 0;
    if (!ok)
        fail(writer, "%s: cannot be written to disk: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return ok;
}

/* All complete and on disk, then all renamed. */
static bool show_files(struct traffic_writer *writer)
{
    for (uint32_t i = 0; i < writer->file_count; i++) {
        struct pipe_output *output = writer->files[i].output;
        if (!output->ops->flush(output))
            return fail(writer, "%s", output->error);
        if (!sync_path(writer, writer->files[i].hidden))
            return false;
        writer->bytes += (uint64_t)output->length_bytes;
    }
    if (!finish_ledger(writer))
        return false;
    bool replace = writer->options->run.replace;
    if (writer->ledger != NULL &&
        !pipe_show_file(writer->ledger_hidden, writer->ledger_path, replace))
        return fail(writer, "%s: cannot be created: %s", writer->ledger_path, strerror(errno));
    for (uint32_t i = 0; i < writer->file_count; i++) {
        const struct traffic_file *file = &writer->files[i];
        if (!pipe_show_file(file->hidden, file->path, replace))
            return fail(writer, "%s: cannot be created: %s", file->path, strerror(errno));
    }
    return true;
}

/* ---- The end ---- */

static void print_fault(const struct pipe_row_type *row, const struct pipe_traffic_fault *fault,
                        uint64_t count)
{
    static const char *const kinds[] = {"duplicate", "out of order", "late",
                                        "ahead",     "value",        "poison"};
    char what[96];
    int used = snprintf(what, sizeof what, "%s", kinds[fault->kind]);
    for (uint32_t i = 0; fault->kind == PIPE_FAULT_VALUE && i < fault->path_count; i++) {
        const struct pipe_column *column = &row->columns[fault->path[i]];
        if ((size_t)used < sizeof what)
            used += snprintf(what + used, sizeof what - (size_t)used, "%s%s", i == 0 ? " " : ".",
                             column->name);
        row = column->type->record;
    }
    fprintf(stderr, "  fault %-24s %12" PRIu64 "\n", what, count);
}

void traffic_print_faults(const struct pipe_plan *plan, const struct pipe_traffic_def *def,
                          const uint64_t *counts)
{
    for (uint32_t i = 0; i < def->fault_count; i++)
        print_fault(plan->sources[def->source].row, &def->faults[i], counts[i]);
}

static void print_summary(const struct traffic_writer *writer)
{
    const struct pipe_source_def *source = writer->source;
    fprintf(stderr, "traffic %s into %s: %" PRIu64 " event%s", writer->def->name, source->name,
            writer->events, PIPE_PLURAL(writer->events));
    if (writer->stopped)
        fprintf(stderr, " of %" PRId64 " (stopped)", writer->options->run.feeder.count);
    fprintf(stderr, ", %" PRIu64 " record%s, %" PRIu64 " bytes\n", writer->records,
            PIPE_PLURAL(writer->records), writer->bytes);
    traffic_print_faults(writer->plan, writer->def, writer->faults);
    if (writer->file_count == 1)
        fprintf(stderr, "  file %s\n", writer->files[0].path);
    else
        fprintf(stderr, "  files %s ... %s\n", writer->files[0].path,
                writer->files[writer->file_count - 1].path);
}

/* Before the files of any: none is begun if one of another would be refused. */
static bool may_write(const struct pipe_plan *plan, const struct pipe_traffic_options *options)
{
    bool ok = true;
    for (uint32_t i = 0; ok && i < plan->traffic_count; i++) {
        const struct pipe_traffic_def *def = &plan->traffics[i];
        struct traffic_writer writer = {
            .plan = plan, .options = options, .def = def, .source = &plan->sources[def->source]};
        ok = !traffic_is_wanted(plan, options, i) || name_files(&writer);
        if (!ok)
            fprintf(stderr, "%s traffic: %s\n", plan->name, writer.error);
        close_writer(&writer);
    }
    return ok;
}

static int write_traffic(const struct pipe_plan *plan, const struct pipe_traffic_options *options,
                         const struct pipe_traffic_def *def)
{
    struct traffic_writer writer = {
        .plan = plan, .options = options, .def = def, .source = &plan->sources[def->source]};
    bool ok = open_writer(&writer) && write_records(&writer) && show_files(&writer);
    if (ok)
        print_summary(&writer);
    else
        fprintf(stderr, "%s traffic: %s\n", plan->name, writer.error);
    close_writer(&writer);
    return ok ? PIPE_EXIT_OK : PIPE_EXIT_DATA;
}

bool traffic_is_wanted(const struct pipe_plan *plan, const struct pipe_traffic_options *options,
                       uint32_t index)
{
    if (options->traffic != NULL)
        return strcmp(plan->traffics[index].name, options->traffic) == 0;
    for (uint32_t i = 0; i < index; i++)
        if (plan->traffics[i].source == plan->traffics[index].source)
            return false;
    return true;
}

static int unknown_traffic(const struct pipe_plan *plan, const char *name)
{
    const char *names[64], *nearest;
    size_t count = 0;
    for (uint32_t i = 0; i < plan->traffic_count && count < 64; i++)
        names[count++] = plan->traffics[i].name;
    if (count == 0) {
        fprintf(stderr,
                "%s traffic: this pipeline has no `traffic` statement, so nothing can be made\n",
                plan->name);
        return PIPE_EXIT_USAGE;
    }
    nearest = pipe_nearest(name, names, count);
    fprintf(stderr, "%s traffic: there is no traffic '%s'; ", plan->name, name);
    fprintf(stderr, nearest != NULL ? "did you mean %s?\n" : "there is %s\n",
            nearest != NULL ? nearest : names[0]);
    return PIPE_EXIT_USAGE;
}

static bool any_wanted(const struct pipe_plan *plan, const struct pipe_traffic_options *options)
{
    bool any = false;
    for (uint32_t i = 0; i < plan->traffic_count; i++)
        any = any || traffic_is_wanted(plan, options, i);
    return any;
}

int pipe_traffic_main(const struct pipe_plan *plan, int argc, char **argv)
{
    struct pipe_traffic_options options;
    int code = pipe_options_traffic(plan, argc, argv, &options);
    if (code == PIPE_EXIT_OK && !any_wanted(plan, &options))
        code = unknown_traffic(plan, options.traffic != NULL ? options.traffic : "");
    stop_requested = 0;
    handle_signals();
    if (code == PIPE_EXIT_OK && options.to == NULL)
        code = pipe_traffic_to_kafka(plan, &options);
    if (code == PIPE_EXIT_OK && options.to != NULL && !may_write(plan, &options))
        code = PIPE_EXIT_DATA;
    for (uint32_t i = 0; options.to != NULL && code == PIPE_EXIT_OK && stop_requested == 0 &&
                         i < plan->traffic_count;
         i++) {
        if (traffic_is_wanted(plan, &options, i))
            code = write_traffic(plan, &options, &plan->traffics[i]);
    }
    pipe_options_free(&options.run);
    return code < 0 ? PIPE_EXIT_OK : code;
}
