/* language_help.c: what `pipec help WORD` says of the words that begin statements and clauses. */
#include "command.h"

#include <string.h>

static const struct {
    const char *word, *form, *text;
} words[] = {
    /* statements */
    {"pipeline", "pipeline NAME [commit every 100ms or 16MiB];",
     "names the program and paces its transactions; the first statement"},
    {"contract",
     "contract NAME from 'new.avsc' [accepts 'old.avsc', …] [compatible full [transitive]];",
     "an Avro schema, and the older versions that may still be written; a source or sink names it"},
    {"source", "source NAME from … CLAUSES;",
     "what is read: from, format, contract or columns, event time, watermark, key, rejects to"},
    {"stream", "stream NAME from INPUT[, …] CLAUSES;",
     "rows made of others. The clauses stand in the order in which they act: where, require, "
     "divert,\nunnest, select, dedup; or window, group by, aggregate, lateness, late, emit"},
    {"sink", "sink NAME from STREAM to … exactly once;", "where rows go: to, format, key, …"},
    {"slo", "slo SINK fresh within 2s for 99.9 percent of 30d;",
     "an objective: how many rows are committed how soon after their record"},
    {"traffic", "traffic NAME into SOURCE CLAUSES;",
     "events to be generated: session, steps, field, fault"},
    {"test", "test 'title' given SOURCE at 1s (a: 1) … expect STREAM (b: 2) …;",
     "rows in, rows out: `pipec test FILE` runs it"},
    {"evolve", "evolve from plan 'hash' rebuild NAME because '…';",
     "decides about the state of another plan; checked, and not executed yet"},

    /* sources */
    {"from", "from kafka topic 't' partitions 6 | from file 'glob' | from file '-'",
     "of a source: a topic, files (each a partition), standard input. Of a stream: its inputs"},
    {"partitions", "partitions 6", "of a topic; part of the plan"},
    {"key", "key COLUMN[, …]",
     "of a source: how its producers partition it. Of a sink: the key of its records"},
    {"format", "format csv [header] | jsonl | json | avro | text | bytes | parquet",
     "how records are written; topics: avro (default), json, text, bytes; files: csv, jsonl, avro, "
     "text"},
    {"header", "format csv header", "the first line names the columns, which are found by name"},
    {"columns", "columns (name type [null], …)",
     "of a csv source without contract. Types: bool, int32, int64, float32, float64, "
     "decimal(12, 2),\nstring, uuid, bytes, date, timestamp_ms, timestamp_us, duration"},
    {"event", "event time COLUMN | event time EXPRESSION as NAME | event time kafka_time",
     "when a record happened; null or failing: refused as event_time_invalid"},
    {"watermark", "watermark 1m",
     "how far behind the greatest event time so far records may come; a window closes when the\n"
     "watermark has passed its end, and what comes for it then is late"},
    {"idle", "idle 30s [advance]",
     "of a topic: when a partition without records no longer holds back the others"},
    {"ahead", "ahead 5m",
     "of a topic: how far behind the broker's time an event time may lie in the future; beyond it "
     "is\nrefused as event_time_ahead. Files have none: `event time case when at < '…' then at end "
     "as t`"},
    {"rejects", "rejects to NAME",
     "the stream of refused records, with reason and original bytes; a sink reads it"},

    /* streams */
    {"where", "where CONDITION", "drops rows for which it is false, and counts them"},
    {"require", "require CONDITION else 'reason'",
     "refuses rows for which it is false, to the stream of `rejects to`"},
    {"divert", "divert CONDITION to NAME",
     "moves rows for which it is true to another stream; what is left flows on"},
    {"unnest", "unnest ARRAY as NAME", "makes a row of each element; also NAME_index, from 0"},
    {"select", "select EXPRESSION as NAME, COLUMN, * [except (COLUMN, …)]",
     "the columns from here on; an item after `*` with the name of a column replaces it"},
    {"dedup", "dedup by COLUMN[, …] within 1h",
     "the first row of a key passes, later ones are counted"},
    {"window",
     "window tumbling 1h [offset 5m] | hopping 1h every 5m [offset 1m] | session gap 30m [max 12h]",
     "gathers rows by event time; with group by, aggregate, late, emit. Its row has window_start\n"
     "and window_end, the group columns and the aggregates"},
    {"group", "group by COLUMN[, …]", "one row of a window for each value; without it one in all"},
    {"aggregate", "aggregate CALL as NAME[, …]",
     "count() count(x) count_if(c) sum(x) avg(x) min(x) max(x) first(x) last(x) min_by(x, k)\n"
     "max_by(x, k) count_distinct(x) approx_count_distinct(x) approx_quantile(x, 0.99)"},
    {"lateness", "lateness 5m",
     "how long after its end a window still takes rows, and sends corrections"},
    {"late", "late to NAME | drop late", "where rows go that are too late for their window"},
    {"drop", "drop late | drop tombstones",
     "of a window: rows too late are counted only. Of a source: so are records without a value"},
    {"emit", "emit on close | emit on final | emit on update every 1m",
     "when the row of a window comes: at its end, when lateness is over too, or also before"},

    /* sinks */
    {"to",
     "to kafka topic 't' | clickhouse table 'db.t' | iceberg table 'ns.t' | file 'path' | stdout",
     "where the rows of a sink go"},
    {"exactly", "exactly once | at least once", "what a sink promises; one of them is written"},
    {"at", "at least once",
     "of a sink: rows may come twice after a crash. In a test: when a row comes, `at 5s (…)`"},
    {"commit", "commit every 1s [or 16MiB]", "how often rows are committed"},
    {"order", "order by COLUMN[, …]", "of a table of ClickHouse"},
    {"sort", "sort by COLUMN[, …]", "of a table of Iceberg"},
    {"partition", "partition by day(COLUMN)[, …]",
     "of a table: a column, minute hour day month year (c), bucket(n, c), truncate(n, c)"},
    {"target", "target size 256MiB", "of the files of a table of Iceberg"},
    {"upsert", "upsert by COLUMN[, …] [version COLUMN] [delete when CONDITION]",
     "keeps one row a key, the last"},
    {"append", "append revisions", "keeps all corrections of a window, as rows of their own"},
    {"rollup", "rollup 'db.t' by day(COLUMN) aggregate sum(x) as x",
     "a second table of ClickHouse, which the server keeps"},

    /* traffic */
    {"session", "session 1m..10m pause 1s..30s",
     "of traffic: how long one lasts, and waits between events. Of a window: `session gap 30m`"},
    {"steps", "steps FIELD 'a' to 'b' 70, end 30 …", "how a field goes on from event to event"},
    {"field", "field NAME unique | session | uniform a..b | pick v [weight], … | text n..m",
     "how a field is made; then [null 5 percent] [per session]"},
    {"fault",
     "fault duplicate 1 percent within 1m | out of order … | late … | ahead … | value … | poison …",
     "what goes wrong on purpose"},
};

bool print_word_help(const char *word)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(words[i].word, word) != 0)
            continue;
        printf("%s\n\n%s.\n\ndocs/language.md has it all.\n", words[i].form, words[i].text);
        return true;
    }
    const struct function *function = function_find(word);
    if (function == NULL)
        return false;
    printf("%s(…): %s of ", word, function->is_aggregate ? "an aggregate" : "a function");
    if (function->min_args != function->max_args)
        printf("%u to ", function->min_args);
    printf("%u argument%s.\n\ndocs/language.md, section 4, says what it does.\n",
           function->max_args, function->max_args == 1 ? "" : "s");
    return true;
}
