/* resolve_ways.c: on how many ways a record of a source comes to a stream. A union of streams that
 * share a source takes what comes through each of them: unions of unions multiply. */
#include "resolve.h"

#define MAX_WAYS 1000

/* Adds those of an input; both lists are in the order in which the sources were visited. */
static void add_ways(struct program *program, struct stream_ways *to,
                     const struct stream_ways *from)
{
    struct stream_ways sum = {0};
    size_t i = 0, k = 0;
    while (i < to->count || k < from->count) {
        struct ways way = i < to->count ? to->items[i] : from->items[k];
        if (i < to->count && k < from->count) {
            const struct ways *other = &from->items[k];
            if (other->source->index < way.source->index)
                way = (struct ways){other->source, 0};
            if (other->source == way.source)
                way.count += other->count;
        }
        i += i < to->count && to->items[i].source == way.source;
        k += k < from->count && from->items[k].source == way.source;
        vec_push(program->arena, &sum, way);
    }
    *to = sum;
}

static void check_ways(struct program *program, struct stream *stream)
{
    const struct stream_ways *ways = &stream->info->ways;
    for (size_t i = 0; i < ways->count; i++) {
        const struct ways *way = &ways->items[i];
        if (way->count <= MAX_WAYS)
            continue;
        struct diag *diag = diag_error(
            program, PC2039, stream->span,
            "a record of `%s` comes to `%s` on %llu ways, and at most %d are allowed",
            way->source->name.text, stream->name.text, (unsigned long long)way->count, MAX_WAYS);
        diag_note(diag, "it makes a row on each: streams that share a source are read together, "
                        "again and again");
        diag_help(diag, "read each stream once, or part them with `divert`, which gives a row to "
                        "one stream only");
        stream->info->too_many_ways = true;
        return;
    }
}

void resolve_ways(struct program *program, struct stream *stream)
{
    struct stream_info *info = stream->info;
    struct stream *const *from = stream->inputs;
    size_t count = stream->input_count;
    if (stream->kind == STREAM_SOURCE) {
        vec_push(program->arena, &info->ways, ((struct ways){stream, 1}));
        return;
    }
    if (stream->kind != STREAM_NORMAL) {
        from = stream->feeders.items;
        count = stream->feeders.count;
    }
    for (size_t i = 0; i < count; i++)
        info->too_many_ways |= from[i]->info->too_many_ways;
    if (info->too_many_ways) /* one message is enough */
        return;
    if (count == 1) {
        info->ways = from[0]->info->ways;
        return;
    }
    for (size_t i = 0; i < count; i++)
        add_ways(program, &info->ways, &from[i]->info->ways);
    check_ways(program, stream);
}
