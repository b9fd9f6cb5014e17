/*
 * options_commands.c: the command lines of traffic, reconcile and inspect.
 */
#include "options.h"
#include "reconcile.h"

#define TRAFFIC_COUNT 100000

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

static const char *take_seconds(void *options, const char *value)
{
    return pipe_parse_count(value, 1, 1000000000,
                            &((struct pipe_traffic_options *)options)->seconds)
               ? NULL
               : "expected a number of seconds, from 1 to 1000000000";
}

static const struct option_row traffic_rows[] = {
    {"--to", "DIR", "write the files into DIR, which is made if it is not there", take_to},
    {"--kafka", "KEY=VALUE",
     "write to Kafka: a property of librdkafka, for example "
     "bootstrap.servers=host:9092",
     option_take_kafka},
    {"--traffic", "NAME", "the `traffic` statement to write; without it the first of each source",
     take_traffic_name},
    {"--count", "N", "events (files: 100000; Kafka: without end); faults add records",
     option_take_count},
    {"--seconds", "N", "with Kafka: end after N seconds of events", take_seconds},
    {"--rate", "N/s", "events a second, or /min, /h, in the time of the events (1000/s)",
     option_take_rate},
    {"--seed", "N", "seed (1): the same options, the same bytes", option_take_seed},
    {"--start", "TIME", "time of the first event (2026-01-01T00:00:00Z; in real time: now)",
     option_take_start},
    {"--commit-interval", "D", "with Kafka: a transaction every D (100ms)", option_take_commit},
    {"--ledger", "FILE", "write what was sent, and every fault in it: docs/ledger.md",
     take_traffic_ledger},
    {"--replace", option_no_value, "overwrite these files if they are there", option_take_replace},
    {"--progress", "WHEN", "auto (on a terminal one line), never, always", option_take_progress},
};

static const char traffic_intro[] =
    "Writes the events of the `traffic` statement to files, or to Kafka. The faults of the "
    "statement\n(duplicates, late records, ...) are in them, and a summary on standard error "
    "counts "
    "them.\n\n"
    "  NAME traffic --to data --count 1000000 --seed 7\n"
    "  NAME run --path 'SOURCE=data/SOURCE-*.avro'\n"
    "  PIPE_KAFKA_BOOTSTRAP=host:9092 NAME traffic --rate 5000/s --seconds 60 --seed 7\n\n"
    "Files: as fast as it can. A topic becomes one file a partition, DIR/SOURCE-PARTITION.avro, "
    "with time,\nkey and value of every record; a source that reads files becomes one file in its "
    "format, for example\nDIR/SOURCE.csv. They appear when they are complete; those that are "
    "there are not overwritten\nwithout --replace.\n"
    "Kafka: in real time, with --count as fast as it can. The position is part of each "
    "transaction: "
    "the same\ncommand again goes on where it was stopped or killed, and nothing is lost or sent "
    "twice. Several at once\nneed a --seed each, which gives each its own ids and sessions.\n"
    "Exit: 0 done or stopped, 1 disk or Kafka, 2 usage, 3 other options or another plan than "
    "before.\n";

static const struct option_command traffic_command = {
    .name = "traffic",
    .usage = "traffic [--to DIR] [options]",
    .intro = traffic_intro,
    .rows = traffic_rows,
    .row_count = sizeof traffic_rows / sizeof traffic_rows[0],
};

/* Files or Kafka: 0, or the exit code after a message. */
static int choose_target(const struct pipe_plan *plan, struct pipe_traffic_options *options)
{
    struct pipe_run_options *run = &options->run;
    bool given = run->kafka.property_count > 0 || options->seconds > 0 || run->commit_ms > 0;
    char error[512];
    if (options->to != NULL && given) {
        fprintf(stderr,
                "%s traffic: --kafka, --seconds and --commit-interval are about Kafka, but --to "
                "writes files\n",
                plan->name);
        return PIPE_EXIT_USAGE;
    }
    if (options->seconds > 0 && run->has_count) {
        fprintf(stderr, "%s traffic: --seconds or --count, not both\n", plan->name);
        return PIPE_EXIT_USAGE;
    }
    if (options->to != NULL)
        return 0;
    if (!pipe_kafka_environment(&run->kafka, error, sizeof error)) {
        fprintf(stderr, "%s traffic: %s\n", plan->name, error);
        return PIPE_EXIT_DATA;
    }
    if (pipe_kafka_value(&run->kafka, "bootstrap.servers") != NULL)
        return 0;
    fprintf(stderr,
            "%s traffic: where to? %s traffic --to DIR, or to Kafka with "
            "PIPE_KAFKA_BOOTSTRAP=host:port\n",
            plan->name, plan->name);
    return PIPE_EXIT_USAGE;
}

/* What was not given. */
static void set_traffic_defaults(struct pipe_traffic_options *options)
{
    struct pipe_run_options *run = &options->run;
    if (options->to != NULL || run->has_count) {
        if (!run->has_count)
            run->feeder.count = TRAFFIC_COUNT;
        if (!run->has_start)
            run->feeder.start_ms = TRAFFIC_START_MS;
        return;
    }
    run->feeder.count =
        options->seconds > 0 ? pipe_rate_events(run->feeder.rate_per_hour, options->seconds) : -1;
    if (!run->has_start)
        run->feeder.start_ms = engine_wall_ms();
}

int pipe_options_traffic(const struct pipe_plan *plan, int argc, char **argv,
                         struct pipe_traffic_options *options)
{
    *options = (struct pipe_traffic_options){
        .run = {.feeder = {.rate_per_hour = RATE_PER_HOUR, .seed = 1}}};
    int code = option_read(plan, &traffic_command, argc, argv, options);
    if (code == 0)
        code = choose_target(plan, options);
    if (code == 0)
        set_traffic_defaults(options);
    return code;
}

/* ---- A directory or Kafka ---- */

/* Where no directory is given, or also something about Kafka. 0: Kafka. */
static int choose_kafka(const struct pipe_plan *plan, const char *command, const char *dir,
                        struct pipe_kafka_options *kafka)
{
    char error[512];
    if (dir != NULL) {
        fprintf(stderr, "%s %s: --kafka and --group are about Kafka, but %s is a directory\n",
                plan->name, command, dir);
        return PIPE_EXIT_USAGE;
    }
    if (!pipe_kafka_environment(kafka, error, sizeof error)) {
        fprintf(stderr, "%s %s: %s\n", plan->name, command, error);
        return PIPE_EXIT_DATA;
    }
    if (pipe_kafka_value(kafka, "bootstrap.servers") != NULL)
        return 0;
    fprintf(stderr,
            "%s %s: which run? %s %s DIR, or one on Kafka with PIPE_KAFKA_BOOTSTRAP=host:port\n",
            plan->name, command, plan->name, command);
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

static const char *take_without_tables(void *options, const char *value)
{
    (void)value;
    ((struct reconcile_options *)options)->without_tables = true;
    return NULL;
}

static const struct option_row reconcile_rows[] = {
    {"--kafka", "KEY=VALUE",
     "instead of DIR: a property of librdkafka, for example bootstrap.servers=host:9092",
     option_take_kafka},
    {"--group", "NAME", "with Kafka: the group (pipec.NAME)", option_take_group},
    {"--json", option_no_value, "one JSON object instead of the table", take_json},
    {"--ledger", "FILE", "compare the input with this ledger too", take_ledger},
    {"--ledger-out", "FILE", "write the ledger of what `run --traffic` sent", take_ledger_out},
    {"--replace", option_no_value, "overwrite the file of --ledger-out if it is there",
     option_take_replace},
    {"--path", "NAME=PATH", "where a source or sink is now, if it was moved", option_take_path},
    {"--max-record", "SIZE", "as given to the run; a directory knows it (1MiB)",
     option_take_max_record},
    {"--schema-ids", "FILE", "as given to the run", option_take_schema_ids},
    {"--state-memory", "SIZE", "ids, windows, sessions beyond this go to temporary files (128MiB)",
     option_take_state_memory},
    {"--without-tables", option_no_value,
     "leave out tables on a server, where PIPE_CLICKHOUSE_URL is not set", take_without_tables},
    {"--progress", "WHEN", "auto (on a terminal one line), never, always", option_take_progress},
};

static const char reconcile_intro[] =
    "Runs every task again over what is committed in DIR, from the first record and without state, "
    "and\ncompares the rows that come out with those that are there, as multisets: input against "
    "ledger,\nexchanges, every sink. Then equations: ledger, counters, conservation. The first "
    "rows "
    "that differ are\nprinted. Nothing in DIR is changed; the run must be stopped. Temporary files "
    "go to $TMPDIR (/var/tmp).\nWithout DIR, with --kafka or PIPE_KAFKA_BOOTSTRAP: what a group "
    "has "
    "committed on Kafka, read_committed,\nas of a moment in which nothing is committed; its "
    "processes may run if they have nothing to do.\n"
    "The last line is `exact true` or `exact false`; there is none if nothing could be compared "
    "(--json: null).\nTables that a server has and nobody names (PIPE_CLICKHOUSE_URL) are not "
    "exact, unless --without-tables.\n"
    "Exit: 0 exact, 1 not, or an error, 2 usage, 3 another plan or input.\n";

static const char *take_directory(void *context, const char *word)
{
    struct reconcile_options *options = context;
    if (options->dir != NULL)
        return "one directory at a time";
    options->dir = word;
    return NULL;
}

static const struct option_command reconcile_command = {
    .name = "reconcile",
    .usage = "reconcile [DIR] [options]",
    .intro = reconcile_intro,
    .rows = reconcile_rows,
    .row_count = sizeof reconcile_rows / sizeof reconcile_rows[0],
    .take_word = take_directory,
};

int reconcile_read_options(const struct pipe_plan *plan, int argc, char **argv,
                           struct reconcile_options *options)
{
    *options = (struct reconcile_options){0};
    int code = option_read(plan, &reconcile_command, argc, argv, options);
    if (code != 0)
        return code;
    bool given = options->run.kafka.property_count > 0 || options->run.kafka.group != NULL;
    if (options->dir == NULL || given)
        return choose_kafka(plan, "reconcile", options->dir, &options->run.kafka);
    return option_check_paths(plan, "reconcile", &options->run);
}

/* ---- inspect ---- */

static const char *take_partition(void *options, const char *value)
{
    ((struct pipe_inspect_options *)options)->dumps = true;
    return pipe_parse_count(value, 0, INT32_MAX,
                            &((struct pipe_inspect_options *)options)->partition)
               ? NULL
               : "expected the number of a partition, from 0 to 2147483647";
}

static const char *take_from(void *options, const char *value)
{
    ((struct pipe_inspect_options *)options)->dumps = true;
    return pipe_parse_count(value, 0, INT64_MAX - 1,
                            &((struct pipe_inspect_options *)options)->from)
               ? NULL
               : "expected an offset, from 0 to 9223372036854775806";
}

static const char *take_limit(void *options, const char *value)
{
    ((struct pipe_inspect_options *)options)->dumps = true;
    return pipe_parse_count(value, 0, INT64_MAX, &((struct pipe_inspect_options *)options)->limit)
               ? NULL
               : "expected a number of records, from 0 to 9223372036854775807";
}

static const struct option_row inspect_rows[] = {
    {"--kafka", "KEY=VALUE",
     "instead of DIR: a property of librdkafka, for example bootstrap.servers=host:9092",
     option_take_kafka},
    {"--group", "NAME", "with Kafka: the group (pipec.NAME)", option_take_group},
    {"--partition", "P", "dump, table: only this partition", take_partition},
    {"--from", "N", "dump, table: begin at offset N", take_from},
    {"--limit", "N", "dump, table: at most N records of each, partition after partition",
     take_limit},
};

static const char inspect_intro[] =
    "Shows what a run directory holds, or without one, with --kafka or PIPE_KAFKA_BOOTSTRAP, what "
    "a group\nhas committed on Kafka; also while it is running. Changes nothing.\n"
    "  topics       topics, their partitions and records (also without a word); those of an "
    "exchange are rows and\n               markers of time\n"
    "  offsets      how far every task has read\n"
    "  watermarks   the time of every task\n"
    "  state        what every operator remembers (not of Kafka), and the counters of every "
    "stream\n"
    "  dump TOPIC…  the records of topics, one JSON object a line; of several topics one after the "
    "other, each line\n               with its topic\n"
    "  table SINK…  the rows in the files of ClickHouse sinks (not of Kafka), the same\n";

static const char *const inspect_words[] = {"topics", "offsets", "watermarks",
                                            "state",  "dump",    "table"};
#define INSPECT_WORDS (sizeof inspect_words / sizeof inspect_words[0])

static bool is_inspect_word(const char *word)
{
    for (size_t i = 0; i < INSPECT_WORDS; i++) {
        if (strcmp(word, inspect_words[i]) == 0)
            return true;
    }
    return false;
}

static int bad_inspect(const struct pipe_plan *plan, const struct pipe_inspect_options *options)
{
    bool table = strcmp(options->what, "table") == 0;
    bool dump = table || strcmp(options->what, "dump") == 0; /* has a word behind it */
    if (!is_inspect_word(options->what)) {
        const char *nearest = pipe_nearest(options->what, inspect_words, INSPECT_WORDS);
        fprintf(stderr, "%s inspect: '%s' is not topics, offsets, watermarks, state, dump or table",
                plan->name, options->what);
        option_did_you_mean(nearest);
        return PIPE_EXIT_USAGE;
    }
    if (dump && options->name_count == 0) {
        fprintf(stderr, "%s inspect: which %s? %s %s%s lists them\n", plan->name,
                table ? "sink" : "topic", plan->name, table ? "explain" : "inspect ",
                table                  ? ""
                : options->dir != NULL ? options->dir
                                       : "topics");
        return PIPE_EXIT_USAGE;
    }
    if (table && options->dir == NULL) {
        fprintf(stderr,
                "%s inspect: the files of a table are in a directory: %s inspect DIR table "
                "%s; on a server, ask that\n",
                plan->name, plan->name, options->names[0]);
        return PIPE_EXIT_USAGE;
    }
    if (!dump && options->name_count > 0) {
        fprintf(stderr, "%s inspect: unexpected '%s' behind '%s'\n", plan->name, options->names[0],
                options->what);
        return PIPE_EXIT_USAGE;
    }
    if (options->dumps && !dump) {
        fprintf(stderr,
                "%s inspect: --partition, --from and --limit are about dump and table, not %s\n",
                plan->name, options->what);
        return PIPE_EXIT_USAGE;
    }
    return 0;
}

struct inspect_line {
    struct pipe_inspect_options options; /* first */
    int count;                           /* of options.words */
};

/* More than there may be are told by bad_inspect, which knows what they stand behind. */
static const char *take_inspect_word(void *context, const char *word)
{
    struct inspect_line *line = context;
    line->options.words[line->count++] = word;
    return NULL;
}

static const struct option_command inspect_command = {
    .name = "inspect",
    .usage = "inspect [DIR] [topics | offsets | watermarks | state | dump TOPIC… | table SINK…] "
             "[options]",
    .intro = inspect_intro,
    .rows = inspect_rows,
    .row_count = sizeof inspect_rows / sizeof inspect_rows[0],
    .take_word = take_inspect_word,
};

/* The words: DIR unless it is Kafka, what, names. */
static void place_words(const struct inspect_line *line, bool kafka,
                        struct pipe_inspect_options *options)
{
    int at = 0;
    options->dir = !kafka && at < line->count ? options->words[at++] : NULL;
    if (at < line->count)
        options->what = options->words[at++];
    options->names = options->words + at;
    options->name_count = (uint32_t)(line->count - at);
}

int pipe_options_inspect(const struct pipe_plan *plan, int argc, char **argv,
                         struct pipe_inspect_options *options)
{
    struct inspect_line line = {
        .options = {.what = "topics", .partition = -1, .from = 0, .limit = INT64_MAX}};
    line.options.words = pipe_calloc((size_t)argc + 1, sizeof *line.options.words);
    int code = option_read(plan, &inspect_command, argc, argv, &line);
    *options = line.options;
    if (code != 0)
        return code;
    const struct pipe_kafka_options *kafka = &options->run.kafka;
    bool given = kafka->property_count > 0 || kafka->group != NULL;
    bool directory = !given && line.count > 0 && !is_inspect_word(options->words[0]);
    if (!directory) {
        code = choose_kafka(plan, "inspect", NULL, &options->run.kafka);
        if (code != 0)
            return code;
    }
    place_words(&line, !directory, options);
    return bad_inspect(plan, options);
}
