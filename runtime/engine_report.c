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
    char records[32], per_second[32], bar[BAR_WIDTH + 1];
    uint64_t done, total = expected_records(engine, &done);
    fprintf(stderr, "\r\033[K%s  ", engine->plan->name);
    if (total > 0) {
        size_t filled = (size_t)(done * BAR_WIDTH / total);
        memset(bar, '.', BAR_WIDTH);
        memset(bar, '#', filled);
        bar[BAR_WIDTH] = '\0';
        fprintf(stderr, "[%s] %3" PRIu64 "%%  ", bar, done * 100 / total);
    }
    fprintf(stderr, "%s records  %s/s  %" PRIu64 " commits",
            pipe_u64_grouped(records, engine->source_records), pipe_u64_grouped(per_second, rate),
            engine->commits);
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
    bool always; /* else only where some stream has one */
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
COLUMN(out, c->out)

static const struct table_column columns[] = {
    {"in", column_in, true},
    {"dropped", column_dropped, false},
    {"diverted", column_diverted, false},
    {"rejected", column_rejected, false},
    {"elements", column_elements, false},
    {"duplicates", column_duplicate, false},
    {"late", column_late, false},
    {"open", column_open, false},
    {"out", column_out, true},
};
#define COLUMNS (sizeof columns / sizeof columns[0])

/* What can't be seen from a title. */
static void print_units(const struct pipe_plan *plan, const struct pipe_counters *totals, FILE *to)
{
    bool windows = false;
    for (uint32_t s = 0; s < plan->stream_count; s++)
        windows = windows || totals[s].late + totals[s].open + totals[s].window_rejected > 0;
    if (windows)
        fprintf(to, "  late: came after their window had closed; open: in windows not closed yet; "
                    "both, and rejects of\n  windows, count a row once for each window it lies "
                    "in; out of a window counts its rows\n");
}

static void print_streams(const struct pipe_plan *plan, const struct pipe_counters *totals,
                          FILE *to)
{
    int widths[COLUMNS], name_width = (int)strlen("stream");
    char text[32];
    for (size_t c = 0; c < COLUMNS; c++) {
        bool shown = columns[c].always;
        widths[c] = (int)strlen(columns[c].title);
        for (uint32_t s = 0; s < plan->stream_count; s++) {
            uint64_t value = columns[c].value(&plan->streams[s], &totals[s]);
            int width = (int)strlen(pipe_u64_grouped(text, value));
            widths[c] = width > widths[c] ? width : widths[c];
            shown = shown || value > 0;
        }
        widths[c] = shown ? widths[c] : 0;
    }
    for (uint32_t s = 0; s < plan->stream_count; s++) {
        int width = (int)strlen(plan->streams[s].name);
        name_width = width > name_width ? width : name_width;
    }
    fprintf(to, "  %-*s", name_width, "stream");
    for (size_t c = 0; c < COLUMNS; c++) {
        if (widths[c] > 0)
            fprintf(to, "  %*s", widths[c], columns[c].title);
    }
    for (uint32_t s = 0; s < plan->stream_count; s++) {
        fprintf(to, "\n  %-*s", name_width, plan->streams[s].name);
        for (size_t c = 0; c < COLUMNS; c++) {
            if (widths[c] > 0)
                fprintf(to, "  %*s", widths[c],
                        pipe_u64_grouped(text, columns[c].value(&plan->streams[s], &totals[s])));
        }
    }
    fputc('\n', to);
}

void report_counters(const struct pipe_plan *plan, const struct pipe_counters *totals,
                     enum report_scope scope, FILE *to)
{
    uint32_t count;
    char left[32], right[32];
    struct pipe_equation *equations =
        counters_equations(plan, totals, scope == REPORT_DRAINED, &count);
    print_streams(plan, totals, to);
    print_units(plan, totals, to);
    fprintf(to, "\n  conservation\n");
    for (uint32_t i = 0; i < count; i++) {
        const struct pipe_equation *e = &equations[i];
        if (scope == REPORT_SHARE && e->at_most) /* others have shipped or received, too */
            continue;
        const char *sign = e->at_most ? "<=" : "=";
        fprintf(to, "  %-9s  %s: %s %s %s  (%s %s %s)\n", counters_equal(e) ? "equal" : "NOT EQUAL",
                e->stream, e->left_text, sign, e->right_text, pipe_u64_grouped(left, e->left), sign,
                pipe_u64_grouped(right, e->right));
    }
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
    char rows[32], lag[32];
    if (engine->follower == NULL)
        return;
    pipe_follower_figures(engine->follower, sink, &figures);
    if (!figures.follows)
        return;
    fprintf(to, "  %12s    brought into it by this run, in %" PRIu64 " batches",
            pipe_u64_grouped(rows, figures.rows), figures.batches);
    if (figures.lag_records > 0)
        fprintf(to, "; %s offsets behind", pipe_u64_grouped(lag, figures.lag_records));
    if (figures.skipped > 0)
        fprintf(to, "; %s offsets gone before they were read",
                pipe_u64_grouped(lag, figures.skipped));
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
    char text[32];
    for (uint32_t t = 0; t < engine->task_count; t++) {
        if (engine->tasks[t].phase != ENGINE_RUNNING)
            continue;
        here++;
        skipped += engine->tasks[t].skipped;
    }
    fprintf(to, "  rows of all runs of the partitions that this process had at the end: %u of %u\n",
            here, engine->task_count);
    if (skipped > 0)
        fprintf(to, "  never read, since retention was faster: %s records at most\n",
                pipe_u64_grouped(text, skipped));
    if (engine->aborts > 0)
        fprintf(to, "  %s commits of this run were aborted, and made again\n",
                pipe_u64_grouped(text, engine->aborts));
}

/* Ids and windows that memory did not hold. */
static void print_spilled(const struct pipe_engine *engine, FILE *to)
{
    struct pipe_state_spilled spilled = engine_spilled(engine);
    char entries[32], reads[32];
    if (spilled.entries + spilled.reads > 0)
        fprintf(to,
                "\n  beyond --state-memory: %s ids, windows, sessions on disk alone, looked for %s "
                "times\n",
                pipe_u64_grouped(entries, spilled.entries), pipe_u64_grouped(reads, spilled.reads));
}

void report_final(struct pipe_engine *engine, FILE *to)
{
    const struct pipe_plan *plan = engine->plan;
    struct pipe_counters *totals = pipe_calloc(plan->stream_count + 1, sizeof *totals);
    char text[32], rate[32];
    double cpu = pipe_process_cpu_seconds();
    double seconds = (double)(engine_monotonic_us() - engine->started_us) / 1e6;
    counters_total(engine, totals);
    fprintf(to, "\n%s, plan %s%s%s\n\n", plan->name, plan->hash,
            engine->temporary ? "" : ", directory ", engine->temporary ? "" : engine->dir);
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
    if (engine->finished_before)
        fprintf(to, "\n  nothing to do: this run had read all of its input before\n");
    fprintf(to,
            "\n  %s records read now, %.2f s, %.2f CPU seconds, %s records per CPU second, %" PRIu64
            " commits\n",
            pipe_u64_grouped(text, engine->source_records), seconds, cpu,
            pipe_u64_grouped(rate, cpu > 0 ? (uint64_t)((double)engine->source_records / cpu) : 0),
            engine->commits);
    free(totals);
}
