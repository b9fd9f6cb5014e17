/* explain_graph.c: the plan as canonical JSON and as a graph for Mermaid or Graphviz. */
#include "explain.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static json_t *stages_json(const struct program *program)
{
    json_t *list = json_array();
    for (size_t i = 0; i < program->plan->stages.count; i++) {
        const struct stage *stage = program->plan->stages.items[i];
        json_t *item = json_object();
        json_object_set_new(item, "stage", json_integer(stage->index));
        json_object_set_new(item, stage->input != NULL ? "exchange" : "source",
                            json_string(stage->name));
        json_t *states = json_array();
        for (size_t s = 0; s < stage->states.count; s++) {
            static const char *const phases[] = {"local", "partial", "merge"};
            json_t *state = json_object();
            json_object_set_new(state, "stream",
                                json_string(stage->states.items[s]->stream->name.text));
            json_object_set_new(state, "phase", json_string(phases[stage->states.items[s]->phase]));
            json_object_set_new(state, "delay_ms", json_integer(stage->states.items[s]->delay_ms));
            json_array_append_new(states, state);
        }
        json_object_set_new(item, "states", states);
        json_array_append_new(list, item);
    }
    return list;
}

/* Without the nodes that only the physical plan has. */
static json_t *logical_nodes(json_t *nodes)
{
    json_t *kept = json_array();
    size_t i;
    json_t *node;
    json_array_foreach(nodes, i, node)
    {
        if (strcmp(json_string_value(json_object_get(node, "node")), "exchange") != 0)
            json_array_append(kept, node);
    }
    return kept;
}

void explain_json(struct program *program, enum explain_stage stage, struct text *out)
{
    json_t *plan = plan_json(program, false);
    if (stage == EXPLAIN_PHYSICAL)
        json_object_set_new(plan, "stages", stages_json(program));
    else
        json_object_set_new(plan, "nodes", logical_nodes(json_object_get(plan, "nodes")));
    char *text = json_dumps(plan, JSON_SORT_KEYS | JSON_INDENT(1));
    json_decref(plan);
    if (text == NULL) {
        fprintf(stderr, "pipec: out of memory\n");
        exit(4);
    }
    text_puts(out, text);
    text_puts(out, "\n");
    free(text);
}

struct graph {
    struct program *program;
    struct text *out;
    bool mermaid, physical;
};

/* Quotes stand as an entity in Mermaid and escaped in DOT. */
static void quoted(struct graph *graph, const char *text)
{
    text_puts(graph->out, "\"");
    for (; *text != '\0'; text++) {
        if (*text == '"')
            text_puts(graph->out, graph->mermaid ? "#quot;" : "\\\"");
        else if (*text == '\\' && !graph->mermaid)
            text_puts(graph->out, "\\\\");
        else
            text_add(graph->out, text, 1);
    }
    text_puts(graph->out, "\"");
}

static void vertex(struct graph *graph, char kind, size_t index, const char *label)
{
    text_printf(graph->out, "  %c%zu%s", kind, index, graph->mermaid ? "[" : " [label=");
    quoted(graph, label);
    text_puts(graph->out, graph->mermaid ? "]\n" : "];\n");
}

static void edge(struct graph *graph, char from, size_t from_index, char to, size_t to_index,
                 const char *label)
{
    text_printf(graph->out, "  %c%zu %s ", from, from_index, graph->mermaid ? "-->" : "->");
    if (label != NULL && graph->mermaid)
        text_printf(graph->out, "|%s| ", label);
    text_printf(graph->out, "%c%zu", to, to_index);
    if (label != NULL && !graph->mermaid)
        text_printf(graph->out, " [label=\"%s\"]", label);
    text_puts(graph->out, graph->mermaid ? "\n" : ";\n");
}

static const char *stream_label(struct graph *graph, const struct stream *stream)
{
    struct arena *arena = graph->program->arena;
    const char *kind = "";
    switch (stream->kind) {
    case STREAM_SOURCE:
        kind = "source ";
        break;
    case STREAM_REJECTS:
        kind = "rejects ";
        break;
    case STREAM_LATE:
        kind = "late ";
        break;
    case STREAM_DIVERTED:
        kind = "diverted ";
        break;
    case STREAM_NORMAL:
        break;
    }
    const struct step *step = stateful_step(stream);
    const char *suffix = step == NULL ? "" : step->kind == STEP_DEDUP ? ": dedup" : ": window";
    return arena_printf(arena, "%s%s%s", kind, stream->name.text, suffix);
}

static void stream_edges(struct graph *graph, size_t index)
{
    struct program *program = graph->program;
    const struct stream *stream = program->streams.items[index];
    const struct stream_plan *at = &program->plan->streams[index];
    bool side = stream->kind != STREAM_NORMAL;
    size_t count = side ? stream->feeders.count : stream->input_count;
    char into = 's';
    size_t into_index = index;
    if (graph->physical && at->exchange != NULL) {
        vertex(graph, 'x', at->exchange->index,
               arena_printf(program->arena, "exchange %s", at->exchange->name));
        edge(graph, 'x', at->exchange->index, 's', index, NULL);
        into = 'x';
        into_index = at->exchange->index;
    }
    static const char *const labels[] = {NULL, NULL, "rejects", "late", "divert"};
    for (size_t i = 0; i < count; i++) {
        const struct stream *from = side ? stream->feeders.items[i] : stream->inputs[i];
        edge(graph, 's', stream_plan_of(program, from)->index, into, into_index,
             labels[stream->kind]);
    }
}

void explain_graph(struct program *program, enum explain_stage stage, enum explain_format format,
                   struct text *out)
{
    static const char *const sink_kinds[] = {"topic", "table", "table", "file", "stdout"};
    struct graph graph = {program, out, format == EXPLAIN_MERMAID, stage == EXPLAIN_PHYSICAL};
    text_puts(out, graph.mermaid ? "flowchart LR\n" : "digraph pipeline {\n  rankdir=LR;\n");
    for (size_t i = 0; i < program->streams.count; i++)
        vertex(&graph, 's', i, stream_label(&graph, program->streams.items[i]));
    for (size_t i = 0; i < program->sinks.count; i++) {
        const struct sink *sink = program->sinks.items[i];
        vertex(&graph, 'k', i,
               arena_printf(program->arena, "%s %s", sink_kinds[sink->kind],
                            sink->target != NULL ? sink->target : ""));
    }
    for (size_t i = 0; i < program->streams.count; i++)
        stream_edges(&graph, i);
    for (size_t i = 0; i < program->sinks.count; i++)
        edge(&graph, 's', stream_plan_of(program, program->sinks.items[i]->from)->index, 'k', i,
             NULL);
    text_puts(out, graph.mermaid ? "" : "}\n");
}
