/*
 * options.c: the command line, by tables: one row an option gives its name, what follows it, and
 * its line of --help.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>

#include "checkpoint.h"
#include "metrics.h"
#include "options.h"

#define COMMIT_MS_MAX 3600000
#define EVENTS_MAX 1000000000000000000
#define SCHEMA_WAIT_MS 30000
#define SCHEMA_WAIT_MOST_MS 86400000
#define RECORD_BYTES_MIN 16
#define STATE_BYTES_MIN (1 << 10)
#define STATE_BYTES_MAX (1ll << 40)
#define BATCH_RECORDS_MAX 65536
#define RECORD_BYTES_MAX (64 << 20)
#define OUTPUTS_MIN (1 << 10)
#define OUTPUTS_MAX (INT64_C(1) << 40)

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

const char option_no_value[] = "";

static void print_usage(const struct pipe_plan *plan, const struct option_command *command)
{
    printf("usage: %s %s\n\n%s\noptions:\n", plan->name, command->usage, command->intro);
    for (size_t i = 0; i < command->row_count; i++) {
        const struct option_row *row = &command->rows[i];
        char left[64];
        snprintf(left, sizeof left, "%s %s", row->name, row->argument);
        if (row->help != NULL)
            printf("  %-24s %s\n", left, row->help);
    }
}

/* Ends a message. */
void option_did_you_mean(const char *nearest)
{
    if (nearest != NULL)
        fprintf(stderr, "; did you mean %s?", nearest);
    fputc('\n', stderr);
}

static int unknown_option(const struct pipe_plan *plan, const struct option_command *command,
                          const char *word)
{
    const char *names[32];
    size_t count = 0;
    for (size_t i = 0; i < command->row_count && count < 32; i++) {
        if (command->rows[i].help != NULL)
            names[count++] = command->rows[i].name;
    }
    fprintf(stderr, "%s %s: unknown option '%s'", plan->name, command->name, word);
    option_did_you_mean(pipe_nearest(word, names, count));
    fprintf(stderr, "%s %s --help lists the options\n", plan->name, command->name);
    return PIPE_EXIT_USAGE;
}

const char *option_take_kafka(void *options, const char *value)
{
    return pipe_kafka_take(&((struct pipe_run_options *)options)->kafka, value);
}

static int bad_value(const struct pipe_plan *plan, const char *command,
                     const struct option_row *row, const char *value, const char *wrong)
{
    if (value == NULL)
        fprintf(stderr, "%s %s: %s needs a value: %s %s\n", plan->name, command, row->name,
                row->name, row->argument);
    else if (row->take == option_take_kafka) /* it may be a secret */
        fprintf(stderr, "%s %s: %s %.*s: %s\n", plan->name, command, row->name,
                (int)strcspn(value, "="), value, wrong);
    else
        fprintf(stderr, "%s %s: %s '%s': %s\n", plan->name, command, row->name, value, wrong);
    return PIPE_EXIT_USAGE;
}

/* Each of its values is about something else: a property, a source or sink. */
static bool has_many(const struct option_row *row)
{
    return row->take == option_take_kafka || row->take == option_take_path;
}

/* Takes `argv[*at]`, and its value: as --name=value, or the next word. 0: taken. `seen`: the rows
 * that were. */
static int take(const struct pipe_plan *plan, const struct option_command *command, int argc,
                char **argv, int *at, uint64_t *seen, void *options)
{
    char word[64];
    const char *equals = strchr(argv[*at], '='), *value = NULL;
    size_t size = equals != NULL ? (size_t)(equals - argv[*at]) : strlen(argv[*at]);
    snprintf(word, sizeof word, "%.*s", (int)(size < 63 ? size : 63), argv[*at]);
    for (size_t i = 0; i < command->row_count; i++) {
        const struct option_row *row = &command->rows[i];
        if (strcmp(word, row->name) != 0)
            continue;
        if (row->argument == option_no_value) {
            if (equals != NULL)
                return bad_value(plan, command->name, row, equals + 1, "takes no value");
        } else if (equals != NULL) {
            value = equals + 1;
        } else if (*at + 1 < argc) {
            value = argv[++*at];
        } else {
            return bad_value(plan, command->name, row, NULL, NULL);
        }
        if (value != NULL && !has_many(row) && (*seen & UINT64_C(1) << i) != 0) {
            fprintf(stderr, "%s %s: %s is given twice; which one counts?\n", plan->name,
                    command->name, word);
            return PIPE_EXIT_USAGE;
        }
        *seen |= UINT64_C(1) << i;
        const char *wrong = row->take(options, value);
        return wrong == NULL
                   ? 0
                   : bad_value(plan, command->name, row, value != NULL ? value : "", wrong);
    }
    return unknown_option(plan, command, word);
}

int option_read(const struct pipe_plan *plan, const struct option_command *command, int argc,
                char **argv, void *options)
{
    uint64_t seen = 0;
    for (int i = 0; i < argc; i++) {
        const char *wrong = "options begin with --";
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            print_usage(plan, command);
            return -1;
        }
        if (argv[i][0] == '-') {
            int code = take(plan, command, argc, argv, &i, &seen, options);
            if (code != 0)
                return code;
            continue;
        }
        if (command->take_word != NULL)
            wrong = command->take_word(options, argv[i]);
        if (wrong == NULL)
            continue;
        fprintf(stderr, "%s %s: unexpected '%s'; %s\n", plan->name, command->name, argv[i], wrong);
        return PIPE_EXIT_USAGE;
    }
    return 0;
}

/* ---- plan|apply ---- */

const char *option_take_action(const char **action, const char *word)
{
    if (*action != NULL)
        return "one word is enough, plan or apply";
    if (strcmp(word, "plan") != 0 && strcmp(word, "apply") != 0)
        return "expected plan or apply";
    *action = word;
    return NULL;
}

int option_need_action(const struct pipe_plan *plan, const char *command, const char *action,
                       bool *apply)
{
    *apply = action != NULL && strcmp(action, "apply") == 0;
    if (action != NULL)
        return 0;
    fprintf(stderr, "%s %s: plan or apply? %s %s --help tells more\n", plan->name, command,
            plan->name, command);
    return PIPE_EXIT_USAGE;
}

/* ---- run ---- */

const char *option_take_embedded(void *options, const char *value)
{
    ((struct pipe_run_options *)options)->embedded = value;
    return value[0] != '\0' ? NULL : "expected a directory";
}

const char *option_take_state(void *options, const char *value)
{
    ((struct pipe_run_options *)options)->state = value;
    return value[0] != '\0' ? NULL : "expected a directory";
}

static const char *take_instance(void *options, const char *value)
{
    ((struct pipe_run_options *)options)->kafka.instance = value;
    return value[0] != '\0' ? NULL : "expected a name";
}

const char *option_take_group(void *options, const char *value)
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

const char *option_take_path(void *context, const char *value)
{
    struct pipe_run_options *options = context;
    const char *equals = strchr(value, '=');
    if (equals == NULL || equals == value || equals[1] == '\0')
        return "expected NAME=PATH, NAME being a source or sink";
    char *name = pipe_str_dup(pipe_str_of(value, (size_t)(equals - value)));
    for (uint32_t i = 0; i < options->path_count; i++) {
        if (strcmp(options->paths[i].name, name) == 0) {
            free(name);
            return "that source or sink has a path by another --path already";
        }
    }
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

const char *option_take_count(void *context, const char *value)
{
    struct pipe_run_options *options = context;
    options->has_count = true;
    return pipe_parse_count(value, 0, EVENTS_MAX, &options->feeder.count)
               ? NULL
               : "expected a number of events, from 0 to 1000000000000000000";
}

const char *option_take_rate(void *context, const char *value)
{
    struct pipe_run_options *options = context;
    options->has_rate = true;
    return pipe_rate_read(value, &options->feeder.rate_per_hour)
               ? NULL
               : "expected events a second, minute or hour, whole ones an hour, from 1/h to "
                 "1000000000/s, for example 5000/s, 1.5/min or 100/h";
}

const char *option_take_seed(void *context, const char *value)
{
    struct pipe_run_options *options = context;
    int64_t seed;
    if (!pipe_parse_count(value, 0, INT64_MAX, &seed))
        return "expected a number from 0 to 9223372036854775807";
    options->feeder.seed = (uint64_t)seed;
    options->has_seed = true;
    return NULL;
}

const char *option_take_start(void *context, const char *value)
{
    struct pipe_run_options *options = context;
    options->has_start = true;
    return pipe_ts_ms_read(pipe_str_of(value, strlen(value)), &options->feeder.start_ms)
               ? NULL
               : "expected an instant, for example 2026-01-31T10:00:00Z";
}

static const char *take_no_follow(void *options, const char *value)
{
    (void)value;
    ((struct pipe_run_options *)options)->no_follow = true;
    return NULL;
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

const char *option_take_replace(void *options, const char *value)
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

const char *option_take_commit(void *context, const char *value)
{
    struct pipe_run_options *options = context;
    bool ok = pipe_parse_duration_ms(value, &options->commit_ms) && options->commit_ms >= 1 &&
              options->commit_ms <= COMMIT_MS_MAX;
    return ok ? NULL : "expected a duration from 1ms to 1h, for example 100ms";
}

const char *option_take_max_record(void *context, const char *value)
{
    struct pipe_run_options *options = context;
    int64_t size;
    if (!parse_size(value, &size) || size < RECORD_BYTES_MIN || size > RECORD_BYTES_MAX)
        return "expected a size from 16B to 64MiB, for example 1MiB";
    options->max_record_bytes = (uint32_t)size;
    return NULL;
}

static const char *take_max_outputs(void *context, const char *value)
{
    struct pipe_run_options *options = context;
    int64_t size;
    if (!parse_size(value, &size) || size < OUTPUTS_MIN || size > OUTPUTS_MAX)
        return "expected a size from 1KiB to 1024GiB, for example 256MiB";
    options->max_outputs = (uint64_t)size;
    return NULL;
}

const char *option_take_state_memory(void *context, const char *value)
{
    struct pipe_run_options *options = context;
    int64_t size;
    if (!parse_size(value, &size) || size < STATE_BYTES_MIN || size > STATE_BYTES_MAX)
        return "expected a size from 1KiB to 1024GiB, for example 512MiB";
    options->state_bytes = (uint64_t)size;
    return NULL;
}

const char *option_take_progress(void *context, const char *value)
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

const char *option_take_schema_ids(void *options, const char *value)
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
     option_take_embedded},
    {"--kafka", "KEY=VALUE", "a property of librdkafka, for example bootstrap.servers=host:9092",
     option_take_kafka},
    {"--state", "DIR", "with Kafka: keep the state there (NAME.state)", option_take_state},
    {"--instance", "NAME", "with Kafka: of this process (made once, kept with the state)",
     take_instance},
    {"--group", "NAME", "with Kafka: share the topics as this group (pipec.NAME)",
     option_take_group},
    {"--checkpoints", "URL",
     "with Kafka: keep copies of the state in file:///DIR, which the group shares",
     checkpoints_take_url},
    {"--checkpoint-interval", "D", "at most one each D (60s)", checkpoints_take_interval},
    {"--accept-gap", option_no_value, "with Kafka: go on behind records that retention has deleted",
     take_accept_gap},
    {"--path", "NAME=PATH", "give a source (a pattern of files) or a file sink another path",
     option_take_path},
    {"--replace", option_no_value, "overwrite files of sinks that are there when a new DIR begins",
     option_take_replace},
    {"--traffic", option_no_value,
     "feed the topics of sources by the `traffic` statement (files: see `traffic`)", take_traffic},
    {"--count", "N",
     "events of traffic, then end (again with more: goes on to it); without it, in real time",
     option_take_count},
    {"--rate", "N/s", "events of traffic a second, or /min, /h (1000/s)", option_take_rate},
    {"--seed", "N", "seed of traffic (1): the same seed, the same bytes", option_take_seed},
    {"--start", "TIME", "time of the first event of traffic", option_take_start},
    {"--until-end", option_no_value, "end when topics are consumed, instead of waiting for more",
     take_until_end},
    {"--no-output", option_no_value, "discard what goes to sinks (for measurements)",
     take_no_output},
    {"--no-follow", option_no_value, "leave the rows of tables in their topics, for `follow`",
     take_no_follow},
    {"--commit-interval", "D", "commit every D, for example 500ms", option_take_commit},
    {"--batch", "N", "read at most N records of a partition at a time (1024)", take_batch},
    {"--max-record", "SIZE", "refuse longer records (1MiB)", option_take_max_record},
    {"--max-outputs", "SIZE", "stop at a record that makes more than this (256 times --max-record)",
     take_max_outputs},
    {"--state-memory", "SIZE",
     "ids, windows, sessions beyond this leave memory for the disk (512MiB), which is slower",
     option_take_state_memory},
    {"--progress", "WHEN", "auto (on a terminal one line), never, always", option_take_progress},
    {"--listen", "ADDRESS:PORT",
     "serve /metrics, /healthz, /readyz there, or none (Kafka: " METRICS_DEFAULT ")",
     metrics_take_listen},
    {"--schema-ids", "FILE",
     "lines `ID CONTRACT VERSION` for values that name a schema id (PIPE_SCHEMA_IDS)",
     option_take_schema_ids},
    {"--schema-wait", "D",
     "wait so long for a schema id that the registry does not know (30s), then reject",
     take_schema_wait},
};
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
    "configuration, disk or a limit, 2 usage, 3 state of another plan, "
    "secret,\n"
    "input or output, 4 internal error.\n";

static const struct option_command run_command = {
    .name = "run",
    .usage = "run [options]",
    .intro = run_intro,
    .rows = run_rows,
    .row_count = sizeof run_rows / sizeof run_rows[0],
};

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

int option_check_paths(const struct pipe_plan *plan, const char *command,
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
        option_did_you_mean(nearest);
        return PIPE_EXIT_USAGE;
    }
    return 0;
}

int pipe_options_run(const struct pipe_plan *plan, int argc, char **argv,
                     struct pipe_run_options *options)
{
    *options = (struct pipe_run_options){
        .feeder = {.count = -1, .rate_per_hour = RATE_PER_HOUR, .seed = 1},
        .commit_ms = plan->commit_ms > 0 ? plan->commit_ms : 100,
        .commit_bytes = plan->commit_bytes > 0 ? plan->commit_bytes : 16 << 20,
        .max_record_bytes = 1 << 20,
        .schema_wait_ms = SCHEMA_WAIT_MS,
        .state_bytes = PIPE_STATE_BYTES,
    };
    int code = option_read(plan, &run_command, argc, argv, options);
    if (code != 0)
        return code;
    /* Endless traffic begins now and goes on in real time. */
    if (!options->has_start)
        options->feeder.start_ms = options->has_count ? TRAFFIC_START_MS : engine_wall_ms();
    code = option_check_paths(plan, "run", options);
    return code != 0 ? code : pipe_options_check_run(plan, options);
}

/* ---- follow ---- */

static const struct option_row follow_rows[] = {
    {"--kafka", "KEY=VALUE", "a property of librdkafka, for example bootstrap.servers=host:9092",
     option_take_kafka},
    {"--state", "DIR", "keep the name of the instance there (NAME.state)", option_take_state},
    {"--instance", "NAME", "of this process (made once, kept there)", take_instance},
    {"--group", "NAME", "the group of the runs (pipec.NAME)", option_take_group},
    {"--accept-gap", option_no_value, "go on behind records that retention has deleted",
     take_accept_gap},
    {"--until-end", option_no_value, "end when all that is committed is in the tables",
     take_until_end},
};

static const char follow_intro[] =
    "Brings committed rows from Kafka into the tables of ClickHouse (PIPE_CLICKHOUSE_URL), each "
    "once, and\n"
    "does nothing else: for runs with --no-follow, or beside others, whose partitions it shares "
    "then.\n"
    "Ends by SIGTERM. Exit: as run.\n";

static const struct option_command follow_command = {
    .name = "follow",
    .usage = "follow [options]",
    .intro = follow_intro,
    .rows = follow_rows,
    .row_count = sizeof follow_rows / sizeof follow_rows[0],
};

int pipe_options_follow(const struct pipe_plan *plan, int argc, char **argv,
                        struct pipe_run_options *options)
{
    char error[512];
    *options = (struct pipe_run_options){.commit_ms = 1};
    int code = option_read(plan, &follow_command, argc, argv, options);
    if (code != 0)
        return code;
    if (!pipe_kafka_environment(&options->kafka, error, sizeof error)) {
        fprintf(stderr, "%s follow: %s\n", plan->name, error);
        return PIPE_EXIT_DATA;
    }
    if (pipe_kafka_value(&options->kafka, "bootstrap.servers") != NULL)
        return pipe_options_check_run(plan, options);
    fprintf(stderr,
            "%s follow: where is Kafka? give --kafka bootstrap.servers=host:port, or "
            "PIPE_KAFKA_BOOTSTRAP\n",
            plan->name);
    return PIPE_EXIT_USAGE;
}

void pipe_options_free(struct pipe_run_options *options)
{
    for (uint32_t i = 0; i < options->path_count; i++)
        free((char *)options->paths[i].name);
    free(options->paths);
    pipe_kafka_options_free(&options->kafka);
    free(options->default_state);
}
