/*
 * options.c: the command line, by tables: one row an option gives its name, what follows it, and
 * its line of --help.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>

#include "engine.h"
#include "reconcile.h"

#define COMMIT_MS_MAX 3600000
#define SCHEMA_WAIT_MS 30000
#define SCHEMA_WAIT_MOST_MS 86400000
#define TRAFFIC_START_MS 1767225600000 /* 2026-01-01: counted traffic is the same every time */
#define TRAFFIC_COUNT 100000
#define RECORD_BYTES_MIN 16
#define STATE_BYTES_MIN (1 << 10)
#define STATE_BYTES_MAX (1ll << 40)
#define BATCH_RECORDS_MAX 65536
#define RECORD_BYTES_MAX (64 << 20)

/* ---- Words ---- */

static size_t distance(const char *a, const char *b)
{
    size_t row[64], a_size = strlen(a), b_size = strlen(b);
    if (a_size >= 64 || b_size >= 64)
        return 64;
    for (size_t j = 0; j <= b_size; j++)
        row[j] = j;
    for (size_t i = 1; i <= a_size; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b_size; j++) {
            size_t above = row[j], best = diagonal + (a[i - 1] != b[j - 1]);
            best = above + 1 < best ? above + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            diagonal = above;
            row[j] = best;
        }
    }
    return row[b_size];
}

const char *pipe_nearest(const char *word, const char *const *names, size_t count)
{
    const char *nearest = NULL;
    size_t best = strlen(word) / 3 + 1;
    for (size_t i = 0; i < count; i++) {
        size_t far = distance(word, names[i]);
        if (far <= best && (nearest == NULL || far < best)) {
            nearest = names[i];
            best = far;
        }
    }
    return nearest;
}

bool pipe_parse_count(const char *text, int64_t least, int64_t most, int64_t *out)
{
    char digits[24];
    size_t size = 0;
    for (; *text != '\0' && size < sizeof digits - 1; text++) {
        if (*text != '_') /* 1_000_000, as in a pipeline */
            digits[size++] = *text;
    }
    digits[size] = '\0';
    int64_t value;
    if (*text != '\0' || !pipe_i64_read(pipe_str_of(digits, size), false, &value))
        return false;
    if (value < least || value > most)
        return false;
    *out = value;
    return true;
}

/* An integer and a unit: `units` holds (name, factor) pairs. */
struct unit {
    const char *name;
    int64_t factor;
};

static bool parse_unit(const char *text, const struct unit *units, size_t count, int64_t *out)
{
    char digits[32];
    size_t size = strspn(text, "0123456789_");
    int64_t value;
    if (size == 0 || size >= sizeof digits)
        return false;
    memcpy(digits, text, size);
    digits[size] = '\0';
    if (!pipe_parse_count(digits, 0, INT64_MAX, &value))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(text + size, units[i].name) == 0)
            return !__builtin_mul_overflow(value, units[i].factor, out);
    }
    return false;
}

bool pipe_parse_duration_ms(const char *text, int64_t *out)
{
    static const struct unit units[] = {
        {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}};
    return parse_unit(text, units, 5, out);
}

static bool parse_size(const char *text, int64_t *out)
{
    static const struct unit units[] = {
        {"", 1}, {"B", 1}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}};
    return parse_unit(text, units, 5, out);
}

/* ---- Tables ---- */

struct option_row {
    const char *name, *argument, *help;
    /* NULL: taken; else what is wrong with the value. */
    const char *(*take)(void *options, const char *value);
};

static const char *const no_value = "";

static void print_usage(const struct pipe_plan *plan, const char *command, const char *intro,
                        const struct option_row *rows, size_t count)
{
    printf("usage: %s %s\n\n%s\n", plan->name, command, intro);
    if (count > 0)
        printf("options:\n");
    for (size_t i = 0; i < count; i++) {
        char left[64];
        snprintf(left, sizeof left, "%s %s", rows[i].name, rows[i].argument);
        printf("  %-24s %s\n", left, rows[i].help);
    }
}

/* Ends a message. */
static void did_you_mean(const char *nearest)
{
    if (nearest != NULL)
        fprintf(stderr, "; did you mean %s?", nearest);
    fputc('\n', stderr);
}

static int unknown_option(const struct pipe_plan *plan, const char *command, const char *word,
                          const struct option_row *rows, size_t count)
{
    const char *names[32];
    for (size_t i = 0; i < count && i < 32; i++)
        names[i] = rows[i].name;
    const char *nearest = pipe_nearest(word, names, count < 32 ? count : 32);
    fprintf(stderr, "%s %s: unknown option '%s'", plan->name, command, word);
    did_you_mean(nearest);
    fprintf(stderr, "%s %s --help lists the options\n", plan->name, command);
    return PIPE_EXIT_USAGE;
}

static const char *take_kafka(void *options, const char *value)
{
    return pipe_kafka_take(&((struct pipe_run_options *)options)->kafka, value);
}

static int bad_value(const struct pipe_plan *plan, const char *command,
                     const struct option_row *row, const char *value, const char *wrong)
{
    if (value == NULL)
        fprintf(stderr, "%s %s: %s needs a value: %s %s\n", plan->name, command, row->name,
                row->name, row->argument);
    else if (row->take == take_kafka) /* it may be a secret */
        fprintf(stderr, "%s %s: %s %.*s: %s\n", plan->name, command, row->name,
                (int)strcspn(value, "="), value, wrong);
    else
        fprintf(stderr, "%s %s: %s '%s': %s\n", plan->name, command, row->name, value, wrong);
    return PIPE_EXIT_USAGE;
}

/* Takes `argv[*at]` (and its value, also as --name=value) by the table. 0: taken. */
static int take_option(const struct pipe_plan *plan, const char *command, int argc, char **argv,
                       int *at, const struct option_row *rows, size_t count, void *options)
{
    char word[64];
    const char *equals = strchr(argv[*at], '='), *value = NULL;
    size_t size = equals != NULL ? (size_t)(equals - argv[*at]) : strlen(argv[*at]);
    snprintf(word, sizeof word, "%.*s", (int)(size < 63 ? size : 63), argv[*at]);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(word, rows[i].name) != 0)
            continue;
        if (rows[i].argument == no_value) {
            if (equals != NULL)
                return bad_value(plan, command, &rows[i], equals + 1, "takes no value");
        } else if (equals != NULL) {
            value = equals + 1;
        } else if (*at + 1 < argc) {
            value = argv[++*at];
        } else {
            return bad_value(plan, command, &rows[i], NULL, NULL);
        }
        const char *wrong = rows[i].take(options, value);
        return wrong == NULL
                   ? 0
                   : bad_value(plan, command, &rows[i], value != NULL ? value : "", wrong);
    }
    return unknown_option(plan, command, word, rows, count);
}

/* ---- run ---- */

static const char *take_embedded(void *options, const char *value)
{
    ((struct pipe_run_options *)options)->embedded = value;
    return value[0] != '\0' ? NULL : "expected a directory";
}

static const char *take_state(void *options, const char *value)
{
    ((struct pipe_run_options *)options)->state = value;
    return value[0] != '\0' ? NULL : "expected a directory";
}

static const char *take_instance(void *options, const char *value)
{
    ((struct pipe_run_options *)options)->kafka.instance = value;
    return value[0] != '\0' ? NULL : "expected a name";
}

static const char *take_group(void *options, const char *value)
{
    ((struct pipe_run_options *)options)->kafka.group = value;
    return value[0] != '\0' ? NULL : "expected the name of a group";
}

static const char *take_accept_gap(void *options, const char *value)
{
    (void)value;
    ((struct pipe_run_options *)options)->accept_gap = true;
    return NULL;
}

static const char *take_path(void *context, const char *value)
{
    struct pipe_run_options *options = context;
    const char *equals = strchr(value, '=');
    if (equals == NULL || equals == value || equals[1] == '\0')
        return "expected NAME=PATH, NAME being a source or sink";
    char *name = pipe_malloc((size_t)(equals - value) + 1);
    memcpy(name, value, (size_t)(equals - value));
    name[equals - value] = '\0';
    options->paths =
        pipe_realloc(options->paths, (options->path_count + 1) * sizeof *options->paths);
    options->paths[options->path_count++] = (struct pipe_path_option){name, equals + 1};
    return NULL;
}

static const char *take_traffic(void *options, const char *value)
{
    (void)value;
    ((struct pipe_run_options *)options)->traffic = true;
    return NULL;
}

static const char *take_count(void *context, const char *value)
{
    struct pipe_run_options *options = context;
    options->has_count = true;
    return pipe_parse_count(value, 0, INT64_MAX / 2, &options->feeder.count) ? NULL
                                                                             : "expected a number";
}

static const char *take_rate(void *context, const char *value)
{
    struct pipe_run_options *options = context;
    char digits[32];
    size_t size = strlen(value);
    if (size >= sizeof digits)
        return "expected a number a second, for example 5000/s";
    memcpy(digits, value, size + 1);
    if (size > 2 && strcmp(digits + size - 2, "/s") == 0)
        digits[size - 2] = '\0';
    options->has_rate = true;
    return pipe_parse_count(digits, 1, 1000000000, &options->feeder.rate_per_second)
               ? NULL
               : "expected a number a second, for example 5000/s";
}

static const char *take_seed(void *context, const char *value)
{
    struct pipe_run_options *options = context;
    int64_t seed;
    if (!pipe_parse_count(value, 0, INT64_MAX, &seed))
        return "expected a number";
    options->feeder.seed = (uint64_t)seed;
    options->has_seed = true;
    return NULL;
}

static const char *take_start(void *context, const char *value)
{
    struct pipe_run_options *options = context;
    options->has_start = true;
    return pipe_ts_ms_read(pipe_str_of(value, strlen(value)), &options->feeder.start_ms)
               ? NULL
               : "expected an instant, for example 2026-01-31T10:00:00Z";
}

static const char *take_until_end(void *options, const char *value)
{
    (void)value;
    ((struct pipe_run_options *)options)->until_end = true;
    return NULL;
}

static const char *take_no_output(void *options, const char *value)
{
    (void)value;
    ((struct pipe_run_options *)options)->no_output = true;
    return NULL;
}

static const char *take_replace(void *options, const char *value)
{
    (void)value;
    ((struct pipe_run_options *)options)->replace = true;
    return NULL;
}

static const char *take_batch(void *context, const char *value)
{
    struct pipe_run_options *options = context;
    int64_t count;
    if (!pipe_parse_count(value, 1, BATCH_RECORDS_MAX, &count))
        return "expected a number from 1 to 65536";
    options->batch_records = (uint32_t)count;
    return NULL;
}

static const char *take_commit(void *context, const char *value)
{
    struct pipe_run_options *options = context;
    bool ok = pipe_parse_duration_ms(value, &options->commit_ms) && options->commit_ms >= 1 &&
              options->commit_ms <= COMMIT_MS_MAX;
    return ok ? NULL : "expected a duration from 1ms to 1h, for example 100ms";
}

static const char *take_max_record(void *context, const char *value)
{
    struct pipe_run_options *options = context;
    int64_t size;
    if (!parse_size(value, &size) || size < RECORD_BYTES_MIN || size > RECORD_BYTES_MAX)
        return "expected a size from 16B to 64MiB, for example 1MiB";
    options->max_record_bytes = (uint32_t)size;
    return NULL;
}

static const char *take_state_memory(void *context, const char *value)
{
    struct pipe_run_options *options = context;
    int64_t size;
    if (!parse_size(value, &size) || size < STATE_BYTES_MIN || size > STATE_BYTES_MAX)
        return "expected a size from 1KiB to 1024GiB, for example 512MiB";
    options->state_bytes = (uint64_t)size;
    return NULL;
}

static const char *take_progress(void *context, const char *value)
{
    struct pipe_run_options *options = context;
    static const char *const names[] = {"auto", "never", "always"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(value, names[i]) == 0) {
            options->progress = (enum pipe_progress)i;
            return NULL;
        }
    }
    return "expected auto, never or always";
}

static const char *take_schema_ids(void *options, const char *value)
{
    ((struct pipe_run_options *)options)->schema_ids = value;
    return NULL;
}

static const char *take_schema_wait(void *options, const char *value)
{
    int64_t *wait_ms = &((struct pipe_run_options *)options)->schema_wait_ms;
    return pipe_parse_duration_ms(value, wait_ms) && *wait_ms <= SCHEMA_WAIT_MOST_MS
               ? NULL
               : "expected a duration up to 1d, for example 30s";
}

static const struct option_row run_rows[] = {
    {"--embedded", "DIR", "keep topics, tables and state in DIR; run it again to go on",
     take_embedded},
    {"--kafka", "KEY=VALUE", "a property of librdkafka, for example bootstrap.servers=host:9092",
     take_kafka},
    {"--state", "DIR", "with Kafka: keep the state there (NAME.state)", take_state},
    {"--instance", "NAME", "with Kafka: of this process (made once, kept with the state)",
     take_instance},
    {"--group", "NAME", "with Kafka: share the topics as this group (pipec.NAME)", take_group},
    {"--accept-gap", no_value, "with Kafka: go on behind records that retention has deleted",
     take_accept_gap},
    {"--path", "NAME=PATH", "give a source (a pattern of files) or a file sink another path",
     take_path},
    {"--replace", no_value, "overwrite files of sinks that are there when a new DIR begins",
     take_replace},
    {"--traffic", no_value, "feed the sources with the generator of the `traffic` statement",
     take_traffic},
    {"--count", "N",
     "events of traffic, then end (again with more: goes on to it); without it, in real time",
     take_count},
    {"--rate", "N/s", "events a second of traffic (1000/s)", take_rate},
    {"--seed", "N", "seed of traffic (1): the same seed, the same bytes", take_seed},
    {"--start", "TIME", "time of the first event of traffic", take_start},
    {"--until-end", no_value, "end when topics are consumed, instead of waiting for more",
     take_until_end},
    {"--no-output", no_value, "discard what goes to sinks (for measurements)", take_no_output},
    {"--commit-interval", "D", "commit every D, for example 500ms", take_commit},
    {"--batch", "N", "read at most N records of a partition at a time (1024)", take_batch},
    {"--max-record", "SIZE", "refuse longer records (1MiB)", take_max_record},
    {"--state-memory", "SIZE",
     "ids and windows beyond this leave memory for the disk (512MiB), at the cost of speed",
     take_state_memory},
    {"--progress", "WHEN", "auto (on a terminal one line), never, always", take_progress},
    {"--schema-ids", "FILE", "lines `ID CONTRACT VERSION` for values that name a schema id",
     take_schema_ids},
    {"--schema-wait", "D",
     "wait so long for a schema id that the registry does not know (30s), then reject",
     take_schema_wait},
};
#define RUN_ROWS (sizeof run_rows / sizeof run_rows[0])

static const char run_intro[] =
    "Reads the sources, runs the pipeline, and commits outputs, positions and time together, so "
    "that a\n"
    "run that is stopped or killed goes on where it was: run the same command again. Files end by\n"
    "themselves; topics are read until SIGTERM (or --until-end). At the end a table shows what "
    "became of\n"
    "every record. Data goes to the sinks, messages to standard error. A file that is there when "
    "its run\n"
    "begins is not overwritten without --replace.\n"
    "With --kafka bootstrap.servers=… or PIPE_KAFKA_BOOTSTRAP, and without --embedded, topics are "
    "those of\n"
    "Kafka, and several processes of one --group share their partitions. PIPE_KAFKA_SASL_PASSWORD "
    "is\n"
    "sasl.password, and so on; PIPE_KAFKA_…_FILE and --kafka KEY=@FILE take the value from a "
    "file.\n"
    "Exit: 0 done or stopped (also by a newer instance of the same name), 1 bad data, "
    "configuration or disk, 2 usage, 3 state of another plan, "
    "secret,\n"
    "input or output, 4 internal error.\n";

static bool is_source_or_sink(const struct pipe_plan *plan, const char *name)
{
    for (uint32_t i = 0; i < plan->source_count; i++) {
        if (strcmp(plan->sources[i].name, name) == 0)
            return true;
    }
    for (uint32_t i = 0; i < plan->sink_count; i++) {
        if (strcmp(plan->sinks[i].name, name) == 0)
            return true;
    }
    return false;
}

static int check_paths(const struct pipe_plan *plan, const char *command,
                       const struct pipe_run_options *options)
{
    for (uint32_t p = 0; p < options->path_count; p++) {
        const char *names[64], *name = options->paths[p].name;
        size_t count = 0;
        if (is_source_or_sink(plan, name))
            continue;
        for (uint32_t i = 0; i < plan->source_count && count < 64; i++)
            names[count++] = plan->sources[i].name;
        for (uint32_t i = 0; i < plan->sink_count && count < 64; i++)
            names[count++] = plan->sinks[i].name;
        const char *nearest = pipe_nearest(name, names, count);
        fprintf(stderr, "%s %s: --path %s=…: there is no source or sink of that name", plan->name,
                command, name);
        did_you_mean(nearest);
        return PIPE_EXIT_USAGE;
    }
    return 0;
}

int pipe_options_run(const struct pipe_plan *plan, int argc, char **argv,
                     struct pipe_run_options *options)
{
    *options = (struct pipe_run_options){
        .feeder = {.count = -1, .rate_per_second = 1000, .seed = 1},
        .commit_ms = plan->commit_ms > 0 ? plan->commit_ms : 100,
        .commit_bytes = plan->commit_bytes > 0 ? plan->commit_bytes : 16 << 20,
        .max_record_bytes = 1 << 20,
        .schema_wait_ms = SCHEMA_WAIT_MS,
        .state_bytes = PIPE_STATE_BYTES,
    };
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            print_usage(plan, "run [options]", run_intro, run_rows, RUN_ROWS);
            return -1;
        }
        if (argv[i][0] != '-') {
            fprintf(stderr, "%s run: unexpected '%s'; options begin with --\n", plan->name,
                    argv[i]);
            return PIPE_EXIT_USAGE;
        }
        int code = take_option(plan, "run", argc, argv, &i, run_rows, RUN_ROWS, options);
        if (code != 0)
            return code;
    }
    /* Endless traffic begins now and goes on in real time. */
    if (!options->has_start)
        options->feeder.start_ms = options->has_count ? TRAFFIC_START_MS : engine_wall_ms();
    int code = check_paths(plan, "run", options);
    return code != 0 ? code : pipe_options_check_run(plan, options);
}

void pipe_options_free(struct pipe_run_options *options)
{
    for (uint32_t i = 0; i < options->path_count; i++)
        free((char *)options->paths[i].name);
    free(options->paths);
    pipe_kafka_options_free(&options->kafka);
    free(options->default_state);
}

/* ---- traffic ---- */

static const char *take_to(void *options, const char *value)
{
    ((struct pipe_traffic_options *)options)->to = value;
    return value[0] != '\0' ? NULL : "expected a directory";
}

static const char *take_traffic_name(void *options, const char *value)
{
    ((struct pipe_traffic_options *)options)->traffic = value;
    return NULL;
}

static const char *take_traffic_ledger(void *options, const char *value)
{
    ((struct pipe_traffic_options *)options)->ledger = value;
    return value[0] != '\0' ? NULL : "expected a file";
}

static const struct option_row traffic_rows[] = {
    {"--to", "DIR", "write the files into DIR, which is made if it is not there", take_to},
    {"--traffic", "NAME", "the `traffic` statement to write; without it the first of each source",
     take_traffic_name},
    {"--count", "N", "events (100000); faults add records", take_count},
    {"--rate", "N/s", "events a second, in the time of the events (1000/s)", take_rate},
    {"--seed", "N", "seed (1): the same options, the same bytes", take_seed},
    {"--start", "TIME", "time of the first event (2026-01-01T00:00:00Z)", take_start},
    {"--ledger", "FILE", "write what was sent, and every fault in it: docs/ledger.md",
     take_traffic_ledger},
    {"--progress", "WHEN", "auto (on a terminal one line), never, always", take_progress},
};
#define TRAFFIC_ROWS (sizeof traffic_rows / sizeof traffic_rows[0])

static const char traffic_intro[] = "Writes the events of the `traffic` statement to files, as "
                                    "fast as it can. A topic becomes one file\n"
                                    "a partition, DIR/SOURCE-PARTITION.avro, with time, key and "
                                    "value of every record; a source that\n"
                                    "reads files becomes one file in its format, for example "
                                    "DIR/SOURCE.csv. `run --path` reads them:\n\n"
                                    "  NAME traffic --to data --count 1000000 --seed 7\n"
                                    "  NAME run --path 'SOURCE=data/SOURCE-*.avro'\n\n"
                                    "The files appear when they are complete; those of the same "
                                    "name are replaced. The faults of the\n"
                                    "statement (duplicates, late records, ...) are in them, and a "
                                    "summary on standard error counts them.\n"
                                    "Exit: 0 done or stopped, 1 disk, 2 usage.\n";

int pipe_options_traffic(const struct pipe_plan *plan, int argc, char **argv,
                         struct pipe_traffic_options *options)
{
    *options = (struct pipe_traffic_options){.run = {.feeder = {.count = TRAFFIC_COUNT,
                                                                .rate_per_second = 1000,
                                                                .seed = 1,
                                                                .start_ms = TRAFFIC_START_MS}}};
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            print_usage(plan, "traffic --to DIR [options]", traffic_intro, traffic_rows,
                        TRAFFIC_ROWS);
            return -1;
        }
        if (argv[i][0] != '-') {
            fprintf(stderr, "%s traffic: unexpected '%s'; options begin with --\n", plan->name,
                    argv[i]);
            return PIPE_EXIT_USAGE;
        }
        int code =
            take_option(plan, "traffic", argc, argv, &i, traffic_rows, TRAFFIC_ROWS, options);
        if (code != 0)
            return code;
    }
    if (options->to != NULL)
        return 0;
    fprintf(stderr, "%s traffic: where to? %s traffic --to DIR\n", plan->name, plan->name);
    return PIPE_EXIT_USAGE;
}

/* ---- reconcile ---- */

static const char *take_ledger(void *options, const char *value)
{
    ((struct reconcile_options *)options)->ledger = value;
    return value[0] != '\0' ? NULL : "expected a file";
}

static const char *take_ledger_out(void *options, const char *value)
{
    ((struct reconcile_options *)options)->ledger_out = value;
    return value[0] != '\0' ? NULL : "expected a file";
}

static const char *take_json(void *options, const char *value)
{
    (void)value;
    ((struct reconcile_options *)options)->json = true;
    return NULL;
}

static const struct option_row reconcile_rows[] = {
    {"--json", no_value, "one JSON object instead of the table", take_json},
    {"--ledger", "FILE", "compare the input with this ledger too", take_ledger},
    {"--ledger-out", "FILE", "write the ledger of what `run --traffic` sent", take_ledger_out},
    {"--path", "NAME=PATH", "where a source or sink is now, if it was moved", take_path},
    {"--max-record", "SIZE", "as given to the run", take_max_record},
    {"--schema-ids", "FILE", "as given to the run", take_schema_ids},
    {"--state-memory", "SIZE", "ids and windows beyond this go to temporary files (128MiB)",
     take_state_memory},
    {"--progress", "WHEN", "auto (on a terminal one line), never, always", take_progress},
};
#define RECONCILE_ROWS (sizeof reconcile_rows / sizeof reconcile_rows[0])

static const char reconcile_intro[] =
    "Runs every task again over what is committed in DIR, from the first record and without state, "
    "and\ncompares the rows that come out with those that are there, as multisets: input against "
    "ledger,\nexchanges, every sink. Then equations: ledger, counters, conservation. The first "
    "rows "
    "that differ are\nprinted. Nothing in DIR is changed; the run must be stopped. Temporary files "
    "go to $TMPDIR (/var/tmp).\nThe last line is `exact true` or `exact false`.\n"
    "Exit: 0 exact, 1 not, 2 usage, 3 another plan or input.\n";

int reconcile_read_options(const struct pipe_plan *plan, int argc, char **argv,
                           struct reconcile_options *options)
{
    *options = (struct reconcile_options){.run = {.max_record_bytes = 1 << 20}};
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            print_usage(plan, "reconcile DIR [options]", reconcile_intro, reconcile_rows,
                        RECONCILE_ROWS);
            return -1;
        }
        if (argv[i][0] == '-') {
            int code = take_option(plan, "reconcile", argc, argv, &i, reconcile_rows,
                                   RECONCILE_ROWS, options);
            if (code != 0)
                return code;
        } else if (options->dir != NULL) {
            fprintf(stderr, "%s reconcile: one directory at a time, not also '%s'\n", plan->name,
                    argv[i]);
            return PIPE_EXIT_USAGE;
        } else {
            options->dir = argv[i];
        }
    }
    if (options->dir != NULL)
        return check_paths(plan, "reconcile", &options->run);
    fprintf(stderr, "%s reconcile: which run? %s reconcile DIR\n", plan->name, plan->name);
    return PIPE_EXIT_USAGE;
}

/* ---- inspect ---- */

static const char *take_partition(void *options, const char *value)
{
    return pipe_parse_count(value, 0, INT32_MAX,
                            &((struct pipe_inspect_options *)options)->partition)
               ? NULL
               : "expected a number of a partition";
}

static const char *take_from(void *options, const char *value)
{
    return pipe_parse_count(value, 0, INT64_MAX - 1,
                            &((struct pipe_inspect_options *)options)->from)
               ? NULL
               : "expected an offset";
}

static const char *take_limit(void *options, const char *value)
{
    return pipe_parse_count(value, 0, INT64_MAX, &((struct pipe_inspect_options *)options)->limit)
               ? NULL
               : "expected a number of records";
}

static const struct option_row inspect_rows[] = {
    {"--partition", "P", "dump: only this partition", take_partition},
    {"--from", "N", "dump: begin at offset N", take_from},
    {"--limit", "N", "dump: at most N records, partition after partition", take_limit},
};
#define INSPECT_ROWS (sizeof inspect_rows / sizeof inspect_rows[0])

static const char inspect_intro[] =
    "Shows what a run directory holds; also while it is running. Changes nothing.\n"
    "  topics       topics, their partitions and records (also without a word)\n"
    "  offsets      how far every task has read\n"
    "  watermarks   the time of every task\n"
    "  state        what every operator remembers, and the counters of every stream\n"
    "  dump TOPIC   the records of a topic, one JSON object a line\n";

static const char *const inspect_words[] = {"topics", "offsets", "watermarks", "state", "dump"};

/* `extra` is a word too many, NULL: none; `dumps`: options of dump were given. */
static int bad_inspect(const struct pipe_plan *plan, const struct pipe_inspect_options *options,
                       const char *extra, bool dumps)
{
    bool known = false, dump = strcmp(options->what, "dump") == 0;
    for (size_t i = 0; i < 5; i++)
        known = known || strcmp(options->what, inspect_words[i]) == 0;
    if (options->dir == NULL) {
        fprintf(stderr, "%s inspect: which run? %s inspect DIR [topics]\n", plan->name, plan->name);
        return PIPE_EXIT_USAGE;
    }
    if (!known) {
        const char *nearest = pipe_nearest(options->what, inspect_words, 5);
        fprintf(stderr, "%s inspect: '%s' is not topics, offsets, watermarks, state or dump",
                plan->name, options->what);
        did_you_mean(nearest);
        return PIPE_EXIT_USAGE;
    }
    if (dump && options->topic == NULL) {
        fprintf(stderr, "%s inspect: which topic? %s inspect %s topics lists them\n", plan->name,
                plan->name, options->dir);
        return PIPE_EXIT_USAGE;
    }
    if (extra != NULL || (!dump && options->topic != NULL)) {
        fprintf(stderr, "%s inspect: unexpected '%s' behind '%s'\n", plan->name,
                extra != NULL && dump ? extra : options->topic,
                dump ? options->topic : options->what);
        return PIPE_EXIT_USAGE;
    }
    if (dumps && !dump) {
        fprintf(stderr, "%s inspect: --partition, --from and --limit are about dump, not %s\n",
                plan->name, options->what);
        return PIPE_EXIT_USAGE;
    }
    return 0;
}

int pipe_options_inspect(const struct pipe_plan *plan, int argc, char **argv,
                         struct pipe_inspect_options *options)
{
    int words = 0;
    const char *extra = NULL;
    bool dumps = false;
    *options = (struct pipe_inspect_options){
        .what = "topics", .partition = -1, .from = 0, .limit = INT64_MAX};
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            print_usage(
                plan, "inspect DIR [topics | offsets | watermarks | state | dump TOPIC] [options]",
                inspect_intro, inspect_rows, INSPECT_ROWS);
            return -1;
        }
        if (argv[i][0] == '-') {
            int code =
                take_option(plan, "inspect", argc, argv, &i, inspect_rows, INSPECT_ROWS, options);
            if (code != 0)
                return code;
            dumps = true;
            continue;
        }
        if (words == 0)
            options->dir = argv[i];
        else if (words == 1)
            options->what = argv[i];
        else if (words == 2)
            options->topic = argv[i];
        else if (extra == NULL)
            extra = argv[i];
        words++;
    }
    return bad_inspect(plan, options, extra, dumps);
}
