/*
 * engine_report.c: progress while a run goes on, and at its end what became of every record.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine.h"
#include "follower.h"
#include "process.h"

#define LINE_EVERY_US 5000000   /* plain lines */
#define REWRITE_EVERY_US 200000 /* the line of a terminal */
#define BAR_WIDTH 24

const char *engine_time_text(char to[40], int64_t time_us)
{
    char text[PIPE_TS_US_TEXT + 1] = {0};
    if (time_us == PIPE_TIME_MIN)
        return "-";
    if (time_us == PIPE_TIME_MAX)
        return "the end";
    if (time_us < PIPE_TS_US_MIN || time_us > PIPE_TS_US_MAX) {
        snprintf(to, 40, "%lld us", (long long)time_us);
        return to;
    }
    pipe_ts_us_write(text, time_us);
    snprintf(to, 40, "%s", text);
    return to;
}

/* ---- Progress ---- */

/* Events expected, 0: unknown. */
static uint64_t expected_records(const struct pipe_engine *engine, uint64_t *done)
{
    uint64_t total = 0;
    *done = 0;
    for (uint32_t i = 0; i < engine->plan->source_count; i++) {
        const struct engine_source *source = &engine->sources[i];
        if (source->feeder == NULL || source->paced)
            return 0;
        total += (uint64_t)source->feeder_options.count;
        *done += source->fed;
    }
    *done = *done < total ? *done : total;
    return total;
}

static void rewrite_line(const struct pipe_engine *engine, uint64_t rate, bool last)
{
    char records[64], per_second[32], commits[64], bar[BAR_WIDTH + 1];
    uint64_t done, total = expected_records(engine, &done);
    fprintf(stderr, "\r\033[K%s  ", engine->plan->name);
    if (total > 0) {
        size_t filled = (size_t)(done * BAR_WIDTH / total);
        memset(bar, '.', BAR_WIDTH);
        memset(bar, '#', filled);
        bar[BAR_WIDTH] = '\0';
        fprintf(stderr, "[%s] %3" PRIu64 "%%  ", bar, done * 100 / total);
    }
    fprintf(stderr, "%s  %s/s  %s",
            pipe_counted(records, engine->source_records, "record", "records"),
            pipe_u64_grouped(per_second, rate),
            pipe_counted(commits, engine->commits, "commit", "commits"));
    if (last)
        fputc('\n', stderr);
    fflush(stderr);
}

void report_progress(struct pipe_engine *engine, bool last)
{
    enum pipe_progress when = engine->options->progress;
    if (when == PIPE_PROGRESS_NEVER)
        return;
    int64_t now_us = engine_monotonic_us(), passed = now_us - engine->last_report_us;
    bool terminal = isatty(STDERR_FILENO) == 1;
    if (passed < (terminal ? REWRITE_EVERY_US : LINE_EVERY_US) && !last)
        return;
    uint64_t records = engine->source_records - engine->records_at_report;
    uint64_t rate = passed > 0 ? records * 1000000 / (uint64_t)passed : 0;
    if (last) { /* over the whole run */
        int64_t all = now_us - engine->started_us;
        rate = all > 0 ? engine->source_records * 1000000 / (uint64_t)all : 0;
    }
    engine->last_report_us = now_us;
    engine->records_at_report = engine->source_records;
    if (terminal)
        rewrite_line(engine, rate, last);
    else if (!last || when == PIPE_PROGRESS_ALWAYS)
        pipe_message(PIPE_INFO, "progress",
                     "records=%" PRIu64 " records_per_second=%" PRIu64 " commits=%" PRIu64,
                     engine->source_records, rate, engine->commits);
}

/* ---- The table of streams ---- */

struct table_column {
    const char *title;
    uint64_t (*value)(const struct pipe_stream_def *stream, const struct pipe_counters *counters);
    bool always;         /* else only where some stream has one */
    const char *meaning; /* NULL: the title says it */
};

#define COLUMN(name, expression)                                                                   \
    static uint64_t column_##name(const struct pipe_stream_def *stream,                            \
                                  const struct pipe_counters *c)                                   \
    {                                                                                              \
        (void)stream;                                                                              \
        return (expression);                                                                       \
    }
#define IS_SOURCE (stream->kind == PIPE_STREAM_SOURCE)
COLUMN(in, IS_SOURCE ? c->read : c->in)
COLUMN(dropped, c->tombstones + c->dropped + c->unnest_empty)
COLUMN(diverted, c->diverted)
COLUMN(rejected,
       c->source_rejected + c->rejected + c->select_rejected + c->too_old + c->window_rejected)
COLUMN(elements, c->elements)
COLUMN(duplicate, c->duplicate)
COLUMN(late, c->late)
COLUMN(open, c->open)
COLUMN(in_flight, counters_in_flight(c))
COLUMN(out, c->out)

static const struct table_column columns[] = {
    {"in", column_in, true, NULL},
    {"dropped", column_dropped, false, "by a where, as a tombstone, or with an empty array"},
    {"diverted", column_diverted, false, NULL},
    {"rejected", column_rejected, false, NULL},
    {"elements", column_elements, false, "of the arrays of the other rows"},
    {"duplicates", column_duplicate, false, NULL},
    {"late", column_late, false, "came after their window had closed"},
    {"open", column_open, false, "in windows and sessions not closed yet"},
    {"in-flight", column_in_flight, false, "sent to the next stage, not yet received there"},
    {"out", column_out, true, NULL},
};
#define COLUMNS (sizeof columns / sizeof columns[0])

struct table {
    const struct pipe_plan *plan;
    const struct pipe_counters *totals;
    int widths[COLUMNS]; /* 0: not shown */
    int name_width;
};

static void measure(struct table *table, enum report_scope scope)
{
    const struct pipe_plan *plan = table->plan;
    char text[32];
    table->name_width = (int)strlen("stream");
    for (size_t c = 0; c < COLUMNS; c++) {
        bool shown = columns[c].always;
        bool known = columns[c].value != column_in_flight || scope != REPORT_SHARE;
        int widest = (int)strlen(columns[c].title);
        for (uint32_t s = 0; s < plan->stream_count; s++) {
            uint64_t value = columns[c].value(&plan->streams[s], &table->totals[s]);
            int width = (int)strlen(pipe_u64_grouped(text, value));
            widest = width > widest ? width : widest;
            shown = shown || value > 0;
        }
        table->widths[c] = shown && known ? widest : 0;
    }
    for (uint32_t s = 0; s < plan->stream_count; s++) {
        int width = (int)strlen(plan->streams[s].name);
        table->name_width = width > table->name_width ? width : table->name_width;
    }
}

#define LEGEND_COLUMNS 100

/* What can't be seen from the titles that are shown. */
static void print_legend(const struct table *table, FILE *to)
{
    size_t used = 0;
    bool pairs = false;
    for (size_t c = 0; c < COLUMNS; c++) {
        const struct table_column *column = &columns[c];
        if (table->widths[c] == 0 || column->meaning == NULL)
            continue;
        size_t size = strlen(column->title) + strlen(column->meaning) + 4;
        bool fits = used > 0 && used + size < LEGEND_COLUMNS;
        fprintf(to, "%s%s: %s",
                fits       ? "; "
                : used > 0 ? ";\n  "
                           : "  ",
                column->title, column->meaning);
        used = fits ? used + size : size;
    }
    for (uint32_t s = 0; s < table->plan->stream_count; s++) {
        const struct pipe_counters *c = &table->totals[s];
        bool window = table->plan->streams[s].has_window;
        pairs = pairs || c->late + c->open + c->window_rejected > 0;
        pairs = pairs || (window && counters_in_flight(c) > 0);
    }
    if (used > 0)
        fputc('\n', to);
    if (pairs)
        fprintf(to, "  where there are windows, these and their rejects count a row once for each "
                    "that it lies in;\n  out counts the rows that the windows made\n");
}

static void print_streams(const struct table *table, FILE *to)
{
    const struct pipe_plan *plan = table->plan;
    char text[32];
    fprintf(to, "  %-*s", table->name_width, "stream");
    for (size_t c = 0; c < COLUMNS; c++) {
        if (table->widths[c] > 0)
            fprintf(to, "  %*s", table->widths[c], columns[c].title);
    }
    for (uint32_t s = 0; s < plan->stream_count; s++) {
        fprintf(to, "\n  %-*s", table->name_width, plan->streams[s].name);
        for (size_t c = 0; c < COLUMNS; c++) {
            uint64_t value = columns[c].value(&plan->streams[s], &table->totals[s]);
            if (table->widths[c] > 0)
                fprintf(to, "  %*s", table->widths[c], pipe_u64_grouped(text, value));
        }
    }
    fputc('\n', to);
}

static void print_equation(const struct pipe_equation *e, FILE *to)
{
    char left[32], right[32];
    const char *sign = e->at_most ? "<=" : "=";
    bool equal = counters_equal(e);
    fprintf(to, "  %-9s  %s: %s %s %s  (%s %s %s", equal ? "equal" : "NOT EQUAL", e->stream,
            e->left_text, sign, e->right_text, e->left_terms, sign, e->right_terms);
    if (!equal)
        fprintf(to, ": %s and %s", pipe_u64_grouped(left, e->left),
                pipe_u64_grouped(right, e->right));
    fprintf(to, ")\n");
}

void report_counters(const struct pipe_plan *plan, const struct pipe_counters *totals,
                     enum report_scope scope, FILE *to)
{
    struct table table = {.plan = plan, .totals = totals};
    uint32_t count;
    struct pipe_equation *equations = counters_equations(plan, totals, scope, &count);
    measure(&table, scope);
    print_streams(&table, to);
    print_legend(&table, to);
    fprintf(to, "\n  conservation\n");
    for (uint32_t i = 0; i < count; i++)
        print_equation(&equations[i], to);
    free(equations);
}

static void print_rejects(const struct pipe_engine *engine, FILE *to)
{
    char text[32];
    if (engine->reject_count == 0)
        return;
    fprintf(to, "\n  rejects%s\n",
            engine->log->grouped ? " of this run"
            : engine->resumed    ? " of all runs"
                                 : "");
    for (uint32_t i = 0; i < engine->reject_count; i++)
        fprintf(to, "  %12s  %s  %s\n", pipe_u64_grouped(text, engine->rejects[i].count),
                engine->rejects[i].rule, engine->rejects[i].reason);
}

static void print_table(const struct pipe_engine *engine, uint32_t sink, FILE *to)
{
    struct pipe_follower_figures figures;
    char rows[32], batches[64], lag[64];
    if (engine->follower == NULL)
        return;
    pipe_follower_figures(engine->follower, sink, &figures);
    if (!figures.follows)
        return;
    fprintf(to, "  %12s    brought into it by this run, in %s",
            pipe_u64_grouped(rows, figures.rows),
            pipe_counted(batches, figures.batches, "batch", "batches"));
    if (figures.lag_records > 0)
        fprintf(to, "; %s behind", pipe_counted(lag, figures.lag_records, "offset", "offsets"));
    if (figures.skipped > 0)
        fprintf(to, "; %s gone before being read",
                pipe_counted(lag, figures.skipped, "offset", "offsets"));
    fprintf(to, "%s\n", figures.halted ? "; it stands still" : "");
}

/* Of a sink whose rows are kept, since what writes them to their place is not there yet. */
static const char *kept_instead(const struct pipe_engine *engine, const struct engine_sink *sink)
{
    if (engine->options->no_output || engine_option_path(engine, sink->def->name) != NULL)
        return "";
    return sink->def->kind == PIPE_SINK_ICEBERG   ? ", instead of the Iceberg table"
           : sink->def->kind == PIPE_SINK_PARQUET ? ", instead of Parquet"
                                                  : "";
}

static void print_sinks(const struct pipe_engine *engine, FILE *to)
{
    char text[32];
    fprintf(to, "\n  sinks, rows of this run%s\n",
            engine->options->no_output ? " (--no-output: discarded)" : "");
    for (uint32_t i = 0; i < engine->plan->sink_count; i++) {
        const struct engine_sink *sink = &engine->sinks[i];
        bool table = sink->followed || sink->def->table != NULL;
        const char *place = table                  ? sink->def->target
                            : sink->is_topic       ? engine->log->topics[sink->topic].name
                            : sink->path != NULL   ? sink->path
                            : sink->output != NULL ? "standard output"
                                                   : "discarded";
        fprintf(to, "  %12s  %s  %s%s%s\n", pipe_u64_grouped(text, sink->rows), sink->def->name,
                table            ? "table "
                : sink->is_topic ? "topic "
                                 : "",
                place, kept_instead(engine, sink));
        print_table(engine, i, to);
    }
}

/* Which tasks of the group are here, and what they have never seen. */
static void print_shares(const struct pipe_engine *engine, FILE *to)
{
    uint32_t here = 0;
    uint64_t skipped = 0;
    char text[64];
    for (uint32_t t = 0; t < engine->task_count; t++) {
        if (engine->tasks[t].phase != ENGINE_RUNNING)
            continue;
        here++;
        skipped += engine->tasks[t].skipped;
    }
    fprintf(to, "  rows of all runs of the partitions that this process had at the end: %u of %u\n",
            here, engine->task_count);
    if (skipped > 0)
        fprintf(to, "  never read, since retention was faster: at most %s\n",
                pipe_counted(text, skipped, "record", "records"));
    if (engine->aborts > 0)
        fprintf(to, "  aborted, and made again: %s of this run\n",
                pipe_counted(text, engine->aborts, "commit", "commits"));
}

/* Ids and windows that memory did not hold. */
static void print_spilled(const struct pipe_engine *engine, FILE *to)
{
    struct pipe_state_spilled spilled = engine_spilled(engine);
    char entries[32], reads[64];
    if (spilled.entries + spilled.reads > 0)
        fprintf(to,
                "\n  beyond --state-memory: %s ids, windows, sessions on disk alone, looked for "
                "%s\n",
                pipe_u64_grouped(entries, spilled.entries),
                pipe_counted(reads, spilled.reads, "time", "times"));
}

/* Why it has ended, and what there is to do. */
static void print_end(const struct pipe_engine *engine, FILE *to)
{
    bool stopped = engine_stops(engine) && (engine->endless || !engine_is_finished(engine));
    if (engine->finished_before)
        fprintf(to, "  nothing to do: this run had read all of its input before\n");
    else if (!stopped)
        fprintf(to, "  at the end of its input\n");
    else
        fprintf(to, "  stopped%s; %s\n", engine->endless ? "" : " before the end of its input",
                engine->temporary ? "it has no directory (--embedded) to go on from"
                                  : "the same command goes on from here");
}

void report_final(struct pipe_engine *engine, FILE *to)
{
    const struct pipe_plan *plan = engine->plan;
    struct pipe_counters *totals = pipe_calloc(plan->stream_count + 1, sizeof *totals);
    char records[64], rate[32], commits[64];
    double cpu = pipe_process_cpu_seconds();
    double seconds = (double)(engine_monotonic_us() - engine->started_us) / 1e6;
    counters_total(engine, totals);
    fprintf(to, "\n%s, plan %s%s%s\n", plan->name, plan->hash,
            engine->temporary ? "" : ", directory ", engine->temporary ? "" : engine->dir);
    print_end(engine, to);
    fputc('\n', to);
    if (engine->log->grouped)
        print_shares(engine, to);
    else if (engine->resumed)
        fprintf(to, "  rows of all runs in this directory\n");
    report_counters(plan, totals,
                    !group_owns_all(engine)  ? REPORT_SHARE
                    : engine_drained(engine) ? REPORT_DRAINED
                                             : REPORT_UNDER_WAY,
                    to);
    print_rejects(engine, to);
    print_sinks(engine, to);
    print_spilled(engine, to);
    fprintf(to, "\n  %s read now, %.2f s, %.2f CPU seconds, %s records per CPU second, %s\n",
            pipe_counted(records, engine->source_records, "record", "records"), seconds, cpu,
            pipe_u64_grouped(rate, cpu > 0 ? (uint64_t)((double)engine->source_records / cpu) : 0),
            pipe_counted(commits, engine->commits, "commit", "commits"));
    free(totals);
}
