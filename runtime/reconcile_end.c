/*
 * reconcile_end.c: how far the run is. What it has committed can be exact long before it has read
 * its input, so that is told beside the verdict, and decides nothing.
 *
 * A file is at its end when that is committed; a topic has none, so there it is that nothing lies
 * behind the committed position. Between stages records are under way while one has not read what
 * another has sent.
 */
#include "reconcile.h"

bool reconcile_task_drained(const struct reconcile *r, uint32_t task)
{
    const struct pipe_engine *engine = r->engine;
    const struct engine_task *of = &engine->tasks[task];
    const struct engine_committed *c = &r->committed[task];
    int32_t source = of->task.stage->source;
    if (r->kafka)
        return !r->undrained[task];
    if (source >= 0 && engine->sources[source].files)
        return c->ended;
    return c->position.offset >= engine->log->ops->end(engine->log, of->topic, of->task.partition);
}

static bool is_of_layer(const struct reconcile_layer *layer, const struct engine_task *task)
{
    const struct pipe_stage_def *stage = task->task.stage;
    return layer->kind == RECONCILE_RAW        ? stage->source == (int32_t)layer->index
           : layer->kind == RECONCILE_EXCHANGE ? stage->exchange == (int32_t)layer->index
                                               : false;
}

bool reconcile_layer_at_end(const struct reconcile *r, const struct reconcile_layer *layer)
{
    for (uint32_t t = 0; t < r->engine->task_count; t++) {
        if (is_of_layer(layer, &r->engine->tasks[t]) && !reconcile_task_drained(r, t))
            return false;
    }
    return !layer->more_traffic;
}

bool reconcile_at_end(const struct reconcile *r)
{
    for (uint32_t i = 0; i < r->layer_count; i++) {
        if (!reconcile_layer_at_end(r, &r->layers[i]))
            return false;
    }
    return true;
}

bool reconcile_is_over(const struct reconcile *r)
{
    for (uint32_t i = 0; i < r->plan->source_count; i++) {
        if (!r->engine->sources[i].files)
            return false;
    }
    return !r->kafka && reconcile_at_end(r);
}

void reconcile_note_unread(struct reconcile *r, struct reconcile_layer *layer, int32_t partition,
                           int64_t offset)
{
    for (uint32_t t = 0; !r->finding && t < r->engine->task_count; t++) {
        const struct engine_task *task = &r->engine->tasks[t];
        if (is_of_layer(layer, task) && task->task.partition == partition)
            layer->unread += offset >= r->committed[t].position.offset;
    }
}

/* ---- In words ---- */

static void print_input(const struct reconcile *r, const struct reconcile_layer *layer,
                        uint64_t there, FILE *to)
{
    const struct engine_source *source = &r->engine->sources[layer->index];
    char read[32], of[32];
    pipe_u64_grouped(read, there - layer->unread);
    pipe_u64_grouped(of, there);
    fprintf(to, "  %s: ", layer->name);
    if (source->standard_input)
        fprintf(to, "standard input was not read to its end");
    else if (layer->unread == 0 && source->files)
        fprintf(to, "%s of %s records read, but that this is the end is not committed", read, of);
    else
        fprintf(to, "%s of %s records read", read, of);
    fprintf(to, "%s\n", layer->more_traffic ? "; its traffic has more to send" : "");
}

static void print_exchange(const struct reconcile_layer *layer, FILE *to)
{
    char received[32], of[32];
    if (layer->shipped > layer->received)
        fprintf(to, "  %s: %s of %s rows sent to the next stage were received\n", layer->name,
                pipe_u64_grouped(received, layer->received), pipe_u64_grouped(of, layer->shipped));
    else
        fprintf(to, "  %s: %s records of the stage before, which tell the time, are not read\n",
                layer->name, pipe_u64_grouped(of, layer->unread));
}

void reconcile_print_end(const struct reconcile *r, FILE *to)
{
    if (reconcile_at_end(r))
        return;
    fprintf(to, "not at the end of the input: what is committed so far was compared; %s goes on\n",
            r->kafka ? "a run of this group" : "the same run, started again,");
    for (uint32_t i = 0; i < r->layer_count; i++) {
        const struct reconcile_layer *layer = &r->layers[i];
        if (reconcile_layer_at_end(r, layer))
            continue;
        if (layer->kind == RECONCILE_RAW)
            print_input(r, layer, reconcile_sum(layer).actual, to);
        else
            print_exchange(layer, to);
    }
}
