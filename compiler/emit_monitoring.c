/*
 * emit_monitoring.c: alerts.rules.yml and dashboard.json, on the metrics of a running pipeline
 * (runtime/metrics.def, docs/operations.md). Tests compare the names and labels here with those
 * that a program exports.
 */
#include "emit_artifacts.h"

#include <inttypes.h>
#include <string.h>

/* ---- alerts: several windows and burn rates of the error budget ---- */

struct burn {
    const char *name, *severity;
    int64_t long_ms, short_ms;
    const char *long_text, *short_text;
    double budget; /* share of the budget that is gone when it fires */
};

#define HOUR_MS INT64_C(3600000)

static const struct burn burns[] = {
    {"Fast", "page", HOUR_MS, HOUR_MS / 12, "1h", "5m", 0.02},
    {"Medium", "page", 6 * HOUR_MS, HOUR_MS / 2, "6h", "30m", 0.05},
    {"Slow", "ticket", 72 * HOUR_MS, 6 * HOUR_MS, "3d", "6h", 0.10},
};

static double share(struct literal_number percent)
{
    double value = (double)percent.digits / 100;
    for (unsigned i = 0; i < percent.scale; i++)
        value /= 10;
    return value;
}

static void add_ratio(struct text *out, const struct program *program, const struct slo *slo,
                      const char *window, double threshold)
{
    text_puts(out, "          (1 - sum(rate(pipec_sink_fresh_rows_total");
    text_printf(out, "{pipeline=\"%s\",sink=\"%s\"}[%s]", program->name, slo->sink->name.text,
                window);
    text_puts(out, "))\n             / sum(rate(pipec_sink_rows_total");
    text_printf(out, "{pipeline=\"%s\",sink=\"%s\"}[%s]", program->name, slo->sink->name.text,
                window);
    text_printf(out, "))) > %.6g\n", threshold);
}

/* A label's text in YAML's double quotes. */
static void add_quoted(struct text *out, const char *text)
{
    text_puts(out, "\"");
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\')
            text_puts(out, "\\");
        text_add(out, c, 1);
    }
    text_puts(out, "\"");
}

static void add_alert(struct text *out, const struct program *program, const struct slo *slo,
                      const struct burn *burn)
{
    double allowed = 1 - share(slo->percent);
    double factor = burn->budget * (double)slo->over_ms / (double)burn->long_ms;
    double threshold = (factor > 1 ? factor : 1) * allowed;
    text_printf(out, "      - alert: PipecFreshness%sBurn\n        expr: |-\n", burn->name);
    add_ratio(out, program, slo, burn->long_text, threshold < 1 ? threshold : 0.999999);
    text_puts(out, "          and\n");
    add_ratio(out, program, slo, burn->short_text, threshold < 1 ? threshold : 0.999999);
    text_printf(out,
                "        labels:\n          severity: %s\n          pipeline: ", burn->severity);
    add_quoted(out, program->name);
    text_puts(out, "\n          sink: ");
    add_quoted(out, slo->sink->name.text);
    text_printf(out,
                "\n        annotations:\n          summary: \"%g%% of the error budget of sink %s "
                "went in %s\"\n"
                "          description: \"rows must be committed within %" PRId64
                " ms of their oldest record; the share of stale rows is {{ $value | "
                "humanizePercentage }}\"\n",
                burn->budget * 100, slo->sink->name.text, burn->long_text, slo->within_ms);
}

void write_alerts(struct program *program, struct text *out)
{
    if (program->slos.count == 0)
        return;
    text_printf(out, "# Burn-rate alerts of pipeline %s, one group an slo.\ngroups:\n",
                program->name);
    for (size_t i = 0; i < program->slos.count; i++) {
        const struct slo *slo = program->slos.items[i];
        text_puts(out, "  - name: ");
        add_quoted(out, arena_printf(program->arena, "pipec-%s-%s-%zu", program->name,
                                     slo->sink->name.text, i + 1));
        text_puts(out, "\n    rules:\n");
        size_t count = 0;
        for (size_t b = 0; b < sizeof burns / sizeof *burns; b++)
            if (burns[b].long_ms < slo->over_ms) {
                add_alert(out, program, slo, &burns[b]);
                count++;
            }
        if (count ==
            0) /* an objective over less than an hour: the shortest alert is all there is */
            add_alert(out, program, slo, &burns[0]);
    }
}

/* ---- dashboard ---- */

struct dashboard {
    struct program *program;
    json_t *panels;
    int count;
};

static void add_panel(struct dashboard *dashboard, const char *title, const char *unit,
                      const char *expr, const char *legend)
{
    int at = dashboard->count++;
    json_t *target =
        json_pack("{s:s, s:s, s:s}", "expr", expr, "legendFormat", legend, "refId", "A");
    json_t *place =
        json_pack("{s:i, s:i, s:i, s:i}", "h", 8, "w", 12, "x", at % 2 * 12, "y", at / 2 * 8);
    json_array_append_new(dashboard->panels,
                          json_pack("{s:i, s:s, s:s, s:o, s:{s:{s:s}, s:[]}, s:[o], s:{s:s, s:s}}",
                                    "id", at + 1, "type", "timeseries", "title", title, "gridPos",
                                    place, "fieldConfig", "defaults", "unit", unit, "overrides",
                                    "targets", target, "datasource", "type", "prometheus", "uid",
                                    "${datasource}"));
}

static void add_slo_panels(struct dashboard *dashboard)
{
    struct program *program = dashboard->program;
    for (size_t i = 0; i < program->slos.count; i++) {
        const char *sink = program->slos.items[i]->sink->name.text;
        const char *labels =
            arena_printf(program->arena, "{pipeline=\"%s\",sink=\"%s\"}", program->name, sink);
        add_panel(dashboard, arena_printf(program->arena, "%s: share of fresh rows", sink),
                  "percentunit",
                  arena_printf(program->arena,
                               "sum(rate(pipec_sink_fresh_rows_total%s[5m])) / "
                               "sum(rate(pipec_sink_rows_total%s[5m]))",
                               labels, labels),
                  "fresh");
    }
}

/* Panels of every pipeline. %s in the expression is the pipeline's selector, without its end. */
static const struct {
    const char *title, *unit, *expr, *legend;
} panels[] = {
    {"Records read", "rps", "sum by (stream) (rate(pipec_records_total%s,way=\"read\"}[1m]))",
     "{{stream}}"},
    {"Rows out", "rps", "sum by (stream) (rate(pipec_records_total%s,way=\"out\"}[1m]))",
     "{{stream}}"},
    {"Rejected, late, too old", "rps",
     "sum by (stream, way) (rate(pipec_records_total%s,way=~\"source_rejected|rejected|"
     "select_rejected|window_rejected|late|too_old\"}[1m]))",
     "{{stream}} {{way}}"},
    {"Rejects by reason", "rps",
     "sum by (rule, reason) (rate(pipec_rejected_records_total%s}[1m]))", "{{rule}} {{reason}}"},
    {"Event to commit, 99 of 100", "s",
     "histogram_quantile(0.99, sum by (source, le) "
     "(rate(pipec_event_to_commit_seconds_bucket%s}[5m])))",
     "{{source}}"},
    {"Commit duration, 99 of 100", "s",
     "histogram_quantile(0.99, sum by (le) (rate(pipec_commit_duration_seconds_bucket%s}[5m])))",
     "commit"},
    {"Watermark lag", "s", "max by (stage) (pipec_watermark_lag_seconds%s})", "{{stage}}"},
    {"Age of the newest record read, while there are more", "s",
     "max by (source) (pipec_source_lag_seconds%s})", "{{source}}"},
    {"Records behind", "short", "sum by (source) (pipec_source_lag_records%s})", "{{source}}"},
    {"Transactions that were not committed", "cps",
     "sum by (outcome) (rate(pipec_transactions_total%s,outcome!=\"committed\"}[5m]))",
     "{{outcome}}"},
    {"Rows committed by sink", "rps", "sum by (sink) (rate(pipec_sink_rows_total%s}[1m]))",
     "{{sink}}"},
    {"State in memory", "bytes", "sum by (stream) (pipec_state_memory_bytes%s})", "{{stream}}"},
};

/* The expression with the selector put in. */
static const char *panel_expr(struct dashboard *dashboard, const char *format)
{
    struct arena *arena = dashboard->program->arena;
    const char *hole = strstr(format, "%s");
    return arena_printf(arena, "%.*s{pipeline=\"%s\"%s", (int)(hole - format), format,
                        dashboard->program->name, hole + 2);
}

void write_dashboard(struct program *program, struct text *out)
{
    struct dashboard dashboard = {program, json_array(), 0};
    for (size_t i = 0; i < sizeof panels / sizeof *panels; i++)
        add_panel(&dashboard, panels[i].title, panels[i].unit,
                  panel_expr(&dashboard, panels[i].expr), panels[i].legend);
    add_slo_panels(&dashboard);
    json_t *variable = json_pack("{s:s, s:s, s:s}", "name", "datasource", "type", "datasource",
                                 "query", "prometheus");
    text_json(out, json_pack("{s:s, s:s, s:i, s:s, s:{s:s, s:s}, s:{s:[o]}, s:o}", "title",
                             arena_printf(program->arena, "pipec: %s", program->name), "uid",
                             arena_printf(program->arena, "pipec-%.32s", program->name),
                             "schemaVersion", 39, "refresh", "10s", "time", "from", "now-1h", "to",
                             "now", "templating", "list", variable, "panels", dashboard.panels));
}
