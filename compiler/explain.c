/*
 * explain.c: `pipec --explain` as text: a numbered tree in dataflow order, then the stages. Other
 * forms: explain_graph.c.
 */
#include "explain.h"

#include <inttypes.h>
#include <string.h>

/* Memory of one remembered id (runtime/dedup.c), for the bound. */
enum { DEDUP_ID_BYTES = 40 };

struct printer {
    struct program *program;
    struct text *out;
    bool physical;
    double rate;
    unsigned number;
    node_list nodes;
    /* Nodes by stream: the first of a stream, the one behind a node; index + 1, 0: none. */
    uint32_t *first, *next;
    bool *done; /* by index of the stream */
};

const char *explain_duration(struct program *program, int64_t ms)
{
    struct expr literal = {.kind = EXPR_DURATION, .duration_ms = ms};
    return expression_text(program, &literal);
}

static const char *size_text(struct program *program, double bytes)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
    size_t unit = 0;
    while (bytes >= 1000 && unit < 5) {
        bytes /= 1000;
        unit++;
    }
    return arena_printf(program->arena, unit == 0 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
}

/* 432000000 as 432,000,000. */
static const char *grouped(struct program *program, double count)
{
    char digits[64];
    int size = snprintf(digits, sizeof digits, "%.0f", count);
    struct text out = {0};
    for (int i = 0; i < size; i++) {
        if (i > 0 && (size - i) % 3 == 0)
            text_puts(&out, ",");
        text_add(&out, digits + i, 1);
    }
    const char *kept = arena_strndup(program->arena, out.data, out.size);
    text_free(&out);
    return kept;
}

/* The text in the arena; frees the buffer. */
static const char *keep(struct program *program, struct text *out)
{
    const char *kept = arena_strndup(program->arena, out->data != NULL ? out->data : "", out->size);
    text_free(out);
    return kept;
}

const char *explain_names(struct program *program, const json_t *names)
{
    struct text joined = {0};
    size_t i;
    json_t *name;
    json_array_foreach(names, i, name)
        text_printf(&joined, "%s%s", i > 0 ? ", " : "", json_string_value(name));
    return keep(program, &joined);
}

/* One line: number, kind and name indented by depth, then the text. */
static void line(struct printer *printer, int depth, const char *label, const char *text)
{
    char head[160];
    snprintf(head, sizeof head, "%*s%s", depth * 2, "", label);
    text_printf(printer->out, "%3u %-36s %s", ++printer->number, head, text);
    while (printer->out->size > 0 && printer->out->data[printer->out->size - 1] == ' ')
        printer->out->size--;
    text_puts(printer->out, "\n");
}

static void source_line(struct printer *printer, int depth, const struct node_source *source)
{
    struct program *program = printer->program;
    struct arena *arena = program->arena;
    const char *text = source->topic != NULL
                           ? arena_printf(arena, "%s, %" PRId64 " partition%s", source->topic,
                                          source->partitions, source->partitions == 1 ? "" : "s")
                           : arena_printf(arena, "one partition a file");
    if (json_array_size(source->key) > 0)
        text = arena_printf(arena, "%s by %s", text, explain_names(program, source->key));
    text = arena_printf(arena, "%s; %s", text, source->format);
    if (source->contract != NULL)
        text = arena_printf(arena, "%s of contract %s", text, source->contract);
    if (source->event_time != NULL)
        text = arena_printf(arena, "%s; event time %s", text,
                            source->event_time_column != NULL ? source->event_time_column
                                                              : "kafka_time");
    if (source->watermark_ms >= 0)
        text = arena_printf(arena, "%s, watermark %s", text,
                            explain_duration(program, source->watermark_ms));
    if (source->watermark_ms >= 0 && source->topic != NULL)
        text = arena_printf(
            arena, "%s, idle %s%s, ahead %s", text, explain_duration(program, source->idle_ms),
            source->idle_advance ? " advance" : "", explain_duration(program, source->ahead_ms));
    line(printer, depth, arena_printf(arena, "%s source %s", source->transport, source->name),
         text);
}

/* As `--rate` takes it: rates below one a second by the minute or hour. */
static const char *rate_text(struct program *program, double per_second)
{
    static const struct {
        char unit;
        double seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}};
    unsigned i = 0;
    while (i < 2 && per_second * units[i].seconds < 1 - 1e-9)
        i++;
    return arena_printf(program->arena, "%.10g/%c", per_second * units[i].seconds, units[i].unit);
}

static void dedup_line(struct printer *printer, int depth, const struct node_dedup *dedup)
{
    struct program *program = printer->program;
    const char *text = arena_printf(program->arena, "STATE %s  %s for %s%s%s", dedup->stream,
                                    explain_names(program, dedup->key),
                                    explain_duration(program, dedup->within_ms),
                                    dedup->local_because != NULL ? "; local: " : "",
                                    dedup->local_because != NULL ? dedup->local_because : "");
    double keys = printer->rate * (double)dedup->within_ms / 1000;
    if (printer->rate > 0)
        text = arena_printf(program->arena, "%s  ~%s keys, %s at %s", text, grouped(program, keys),
                            size_text(program, keys * DEDUP_ID_BYTES),
                            rate_text(program, printer->rate));
    else
        text = arena_printf(program->arena, "%s; bound: rate x %s x %d B", text,
                            explain_duration(program, dedup->within_ms), DEDUP_ID_BYTES);
    line(printer, depth, arena_printf(program->arena, "dedup %s", dedup->stream), text);
}

static const char *window_shape(struct program *program, const struct node_window *window)
{
    struct arena *arena = program->arena;
    const char *text;
    if (strcmp(window->window, "session") == 0) {
        text = arena_printf(arena, "session gap %s", explain_duration(program, window->gap_ms));
        if (window->max_ms > 0)
            text =
                arena_printf(arena, "%s max %s", text, explain_duration(program, window->max_ms));
        return text;
    }
    text = arena_printf(arena, "%s %s", window->window, explain_duration(program, window->size_ms));
    if (strcmp(window->window, "hopping") == 0)
        text =
            arena_printf(arena, "%s every %s", text, explain_duration(program, window->every_ms));
    if (window->offset_ms > 0)
        text =
            arena_printf(arena, "%s offset %s", text, explain_duration(program, window->offset_ms));
    return text;
}

static void window_line(struct printer *printer, int depth, const struct node_window *window)
{
    struct program *program = printer->program;
    struct arena *arena = program->arena;
    const char *text =
        arena_printf(arena, "STATE %s  %s", window->stream, window_shape(program, window));
    if (json_array_size(window->group) > 0)
        text = arena_printf(arena, "%s by %s", text, explain_names(program, window->group));
    if (window->lateness_ms > 0)
        text = arena_printf(arena, "%s, lateness %s", text,
                            explain_duration(program, window->lateness_ms));
    text = arena_printf(arena, "%s, emit on %s", text, window->emit);
    if (window->emit_every_ms > 0)
        text = arena_printf(arena, "%s every %s; in memory: what changes in that time", text,
                            explain_duration(program, window->emit_every_ms));
    if (printer->physical && window->local_because != NULL)
        text = arena_printf(arena, "%s; local: %s", text, window->local_because);
    if (printer->physical && window->behind_exchange && strcmp(window->window, "session") != 0)
        text = arena_printf(arena, "%s; merges the partials", text);
    if (window->late != NULL)
        text = arena_printf(arena, "%s; late to %s", text, window->late);
    else if (window->drop_late)
        text = arena_printf(arena, "%s; late rows are dropped and counted", text);
    line(printer, depth, arena_printf(arena, "window %s", window->stream), text);
}

static void exchange_line(struct printer *printer, int depth, const struct node_exchange *exchange)
{
    struct arena *arena = printer->program->arena;
    const char *key = json_array_size(exchange->key) > 0
                          ? explain_names(printer->program, exchange->key)
                          : "one group";
    line(printer, depth, arena_printf(arena, "exchange %s", exchange->stream),
         arena_printf(arena, "%s by %s, %" PRId64 " partition%s: %s", exchange->carries, key,
                      exchange->partitions, exchange->partitions == 1 ? "" : "s",
                      exchange->reason));
}

static void sink_line(struct printer *printer, int depth, const struct node_sink *sink)
{
    struct arena *arena = printer->program->arena;
    const char *text = sink->target != NULL ? sink->target : "";
    if (sink->source_key)
        text = arena_printf(arena, "%s, key of the source", text);
    else if (json_array_size(sink->key) > 0)
        text = arena_printf(arena, "%s, key %s", text, explain_names(printer->program, sink->key));
    if (sink->format != NULL)
        text = arena_printf(arena, "%s%s%s", text, *text != '\0' ? ", " : "", sink->format);
    line(printer, depth, arena_printf(arena, "%s sink %s", sink->kind, sink->name),
         arena_printf(arena, "%s; %s", text, sink->guarantee));
}

static void select_line(struct printer *printer, int depth, const struct node *node)
{
    struct program *program = printer->program;
    struct text items = {0};
    for (size_t i = 0; i < node->step->assigns.count; i++) {
        const struct assign *assign = &node->step->assigns.items[i];
        const char *expr = expression_text(program, assign->expr);
        text_printf(&items, "%s%s", i > 0 ? ", " : "", expr);
        if (strcmp(expr, assign->name) != 0)
            text_printf(&items, " as %s", assign->name);
    }
    line(printer, depth, "select", keep(program, &items));
}

static void clause_line(struct printer *printer, int depth, const struct node *node)
{
    struct arena *arena = printer->program->arena;
    switch (node->kind) {
    case NODE_where:
        line(printer, depth, "where", ((const struct node_where *)node->fields)->text);
        break;
    case NODE_require: {
        const struct node_require *require = node->fields;
        line(printer, depth, "require",
             arena_printf(arena, "%s  else %s", require->text, require->reason));
        break;
    }
    case NODE_divert: {
        const struct node_divert *divert = node->fields;
        line(printer, depth, "divert", arena_printf(arena, "%s  to %s", divert->text, divert->to));
        break;
    }
    case NODE_unnest: {
        const struct node_unnest *unnest = node->fields;
        line(printer, depth, "unnest", arena_printf(arena, "%s as %s", unnest->text, unnest->as));
        break;
    }
    case NODE_select:
        select_line(printer, depth, node);
        break;
    case NODE_dedup:
        dedup_line(printer, depth, node->fields);
        break;
    case NODE_window:
        window_line(printer, depth, node->fields);
        break;
    case NODE_exchange:
        if (printer->physical)
            exchange_line(printer, depth, node->fields);
        break;
    case NODE_sink:
        sink_line(printer, depth, node->fields);
        break;
    default:
        break;
    }
}

static void stream_line(struct printer *printer, int depth, const struct stream *stream)
{
    static const char *const kinds[] = {"source", "stream", "rejects", "late rows", "diverted"};
    struct program *program = printer->program;
    struct text from = {0};
    bool normal = stream->kind == STREAM_NORMAL;
    size_t count = normal ? stream->input_count : stream->feeders.count;
    for (size_t i = 0; i < count; i++) {
        const struct stream *input = normal ? stream->inputs[i] : stream->feeders.items[i];
        text_printf(&from, "%s%s", i > 0 ? ", " : "from ", input->name.text);
    }
    line(printer, depth,
         arena_printf(program->arena, "%s %s", kinds[stream->kind], stream->name.text),
         keep(program, &from));
}

static void group_nodes(struct printer *printer)
{
    struct arena *arena = printer->program->arena;
    size_t streams = printer->program->streams.count + 1, nodes = printer->nodes.count + 1;
    printer->done = arena_alloc(arena, streams * sizeof *printer->done);
    printer->first = arena_alloc(arena, streams * sizeof *printer->first);
    printer->next = arena_alloc(arena, nodes * sizeof *printer->next);
    for (size_t i = printer->nodes.count; i-- > 0;) {
        const struct stream *stream = printer->nodes.items[i].stream;
        if (stream == NULL)
            continue;
        printer->next[i] = printer->first[stream->index];
        printer->first[stream->index] = (uint32_t)i + 1;
    }
}

static void tree(struct printer *printer, int depth, const struct stream *stream)
{
    if (printer->done[stream->index])
        return;
    printer->done[stream->index] = true;
    for (uint32_t at = printer->first[stream->index]; at > 0; at = printer->next[at - 1]) {
        const struct node *node = &printer->nodes.items[at - 1];
        if (node->kind == NODE_source)
            source_line(printer, depth, node->fields);
        else if (node->kind == NODE_stream)
            stream_line(printer, depth, stream);
        else
            clause_line(printer, depth + 1, node);
    }
    for (size_t i = 0; i < stream->readers.count; i++)
        tree(printer, depth + 1, stream->readers.items[i]);
}

static void stage_lines(struct printer *printer)
{
    static const char *const phases[] = {"", " (partials)", " (merge)"};
    struct program *program = printer->program;
    text_puts(printer->out, "\nstages\n");
    for (size_t i = 0; i < program->plan->stages.count; i++) {
        const struct stage *stage = program->plan->stages.items[i];
        const char *reads = stage->input != NULL ? "exchange" : "source";
        uint32_t tasks = stage->input != NULL              ? stage->input->partitions
                         : stage->source->source->is_kafka ? stage->source->source->partitions
                                                           : 0;
        const char *count =
            tasks == 0 ? "one task a file"
                       : arena_printf(program->arena, "%u task%s", tasks, tasks == 1 ? "" : "s");
        struct text states = {0};
        for (size_t s = 0; s < stage->states.count; s++)
            text_printf(&states, "%s%s%s", s > 0 ? ", " : "; state ",
                        stage->states.items[s]->stream->name.text,
                        phases[stage->states.items[s]->phase]);
        text_printf(printer->out, "  %u reads %s %s: %s%s\n", stage->index, reads, stage->name,
                    count, keep(program, &states));
    }
}

static void explain_text(struct printer *printer)
{
    struct program *program = printer->program;
    text_printf(printer->out, "%s   plan %08" PRIx64 "\n", program->name,
                program->plan->hash >> 32);
    group_nodes(printer);
    for (size_t i = 0; i < program->streams.count; i++)
        if (program->streams.items[i]->kind == STREAM_SOURCE)
            tree(printer, 0, program->streams.items[i]);
    for (size_t i = 0; i < program->streams.count; i++)
        tree(printer, 0, program->streams.items[i]);
    if (printer->physical)
        stage_lines(printer);
}

void explain(struct program *program, enum explain_stage stage, enum explain_format format,
             double rate_per_second, struct text *out)
{
    if (stage == EXPLAIN_AST) {
        ast_print(program, out);
        return;
    }
    struct printer printer = {.program = program,
                              .out = out,
                              .physical = stage == EXPLAIN_PHYSICAL,
                              .rate = rate_per_second,
                              .nodes = plan_nodes(program)};
    switch (format) {
    case EXPLAIN_TEXT:
        explain_text(&printer);
        break;
    case EXPLAIN_JSON:
        explain_json(program, stage, out);
        break;
    case EXPLAIN_MERMAID:
    case EXPLAIN_DOT:
        explain_graph(program, stage, format, out);
        break;
    }
    plan_nodes_release(&printer.nodes);
}
