/*
 * metrics_text.c: Prometheus' text format, version 0.0.4.
 */
#include <inttypes.h>

#include "metrics_internal.h"

enum metrics_type { GAUGE, COUNTER, HISTOGRAM };

static const struct {
    const char *name;
    enum metrics_type type;
    const char *help;
} families[] = {
#define METRIC(id, name, type, help) {name, type, help},
#include "metrics.def"
#undef METRIC
};

static void add(struct metrics_text *text, const char *bytes)
{
    pipe_buf_add(text->to, bytes, strlen(bytes));
}

/* Of a label's value the quote is escaped too. */
static void add_escaped(struct metrics_text *text, const char *value, bool quoted)
{
    for (; *value != '\0'; value++) {
        if (*value == '\n')
            add(text, "\\n");
        else if (*value == '\\')
            add(text, "\\\\");
        else if (*value == '"' && quoted)
            add(text, "\\\"");
        else
            pipe_buf_add(text->to, value, 1);
    }
}

void metrics_family(struct metrics_text *text, enum metrics_id id)
{
    static const char *const types[] = {"gauge", "counter", "histogram"};
    text->name = families[id].name;
    pipe_buf_printf(text->to, "# HELP %s ", text->name);
    add_escaped(text, families[id].help, false);
    pipe_buf_printf(text->to, "\n# TYPE %s %s\n", text->name, types[families[id].type]);
}

static void add_label(struct metrics_text *text, const char *name, const char *value, bool *any)
{
    add(text, *any ? "," : "{");
    *any = true;
    add(text, name);
    add(text, "=\"");
    add_escaped(text, value, true);
    add(text, "\"");
}

/* `name` + `suffix` { labels, then `le` unless it is NULL } and a blank. */
static void add_name(struct metrics_text *text, const char *suffix, const char *le, va_list labels)
{
    bool any = false;
    add(text, text->name);
    add(text, suffix);
    if (text->pipeline != NULL)
        add_label(text, "pipeline", text->pipeline, &any);
    for (const char *label; (label = va_arg(labels, const char *)) != NULL;)
        add_label(text, label, va_arg(labels, const char *), &any);
    if (le != NULL)
        add_label(text, "le", le, &any);
    add(text, any ? "} " : " ");
}

static void add_number(struct metrics_text *text, double value)
{
    if (isnan(value))
        add(text, "NaN");
    else if (isinf(value))
        add(text, value > 0 ? "+Inf" : "-Inf");
    else
        pipe_buf_printf(text->to, "%.15g", value);
}

void metrics_u64(struct metrics_text *text, uint64_t value, ...)
{
    va_list labels;
    va_start(labels, value);
    add_name(text, "", NULL, labels);
    va_end(labels);
    pipe_buf_printf(text->to, "%" PRIu64 "\n", value);
}

void metrics_double(struct metrics_text *text, double value, ...)
{
    va_list labels;
    va_start(labels, value);
    add_name(text, "", NULL, labels);
    va_end(labels);
    add_number(text, value);
    add(text, "\n");
}

__attribute__((sentinel)) static void part(struct metrics_text *text, const char *suffix,
                                           const char *le, ...)
{
    va_list labels;
    va_start(labels, le);
    add_name(text, suffix, le, labels);
    va_end(labels);
}

void metrics_histogram_text(struct metrics_text *text, const struct metrics_histogram *histogram,
                            const struct metrics_bounds *bounds, const char *label,
                            const char *value)
{
    uint64_t total = 0;
    char le[32];
    for (uint32_t i = 0; i <= bounds->count; i++) {
        total += histogram->counts[i];
        snprintf(le, sizeof le, "%.15g", i < bounds->count ? bounds->seconds[i] : 0);
        part(text, "_bucket", i < bounds->count ? le : "+Inf", label, value, NULL);
        pipe_buf_printf(text->to, "%" PRIu64 "\n", total);
    }
    part(text, "_sum", NULL, label, value, NULL);
    add_number(text, histogram->sum_seconds);
    add(text, "\n");
    part(text, "_count", NULL, label, value, NULL);
    pipe_buf_printf(text->to, "%" PRIu64 "\n", total);
}
