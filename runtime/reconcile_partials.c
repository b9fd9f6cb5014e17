/*
 * reconcile_partials.c: partial aggregates whose number depends on the commits (windows over
 * several partitions with lateness that correct their rows): what comes after a window's end is
 * shipped at every commit. They add up, so they are compared added up: for each (exchange
 * partition, key, pane) the merged partial of all that are there must be that of all that should
 * be.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "reconcile.h"
#include "window.h"

#define FRAME_PARTIAL 2 /* exchange.c */
#define ARENA_BYTES (256u << 20)

struct frame {
    struct pipe_hash group;
    uint64_t at; /* in the file of frames */
    uint32_t size;
    int32_t partition;
    uint64_t side;
};

struct partial {
    struct window_partial head;
    struct pipe_reader in; /* at the accumulator */
};

static const struct pipe_state_def *state_of(const struct reconcile *r,
                                             const struct reconcile_layer *layer)
{
    for (uint32_t s = 0; s < r->plan->stage_count; s++) {
        const struct pipe_stage_def *stage = &r->plan->stages[s];
        for (uint32_t i = 0; i < stage->state_count; i++) {
            if (stage->states[i].phase == PIPE_PHASE_PARTIAL &&
                stage->states[i].exchange == layer->index)
                return &stage->states[i];
        }
    }
    return NULL;
}

/* A frame of exchange.c: kind, kafka_time (which is that of the commit, so not compared), partial.
 */
static bool read_frame(const struct pipe_state_def *def, struct pipe_str frame,
                       struct pipe_arena *arena, struct partial *out)
{
    int64_t kafka_time;
    if (frame.size == 0 || frame.data[0] != FRAME_PARTIAL)
        return false;
    pipe_reader_init(&out->in, frame.data, frame.size, arena);
    out->in.at++;
    return pipe_avro_long(&out->in, &kafka_time) && window_read_partial(def, &out->in, &out->head);
}

bool reconcile_add_partial(struct reconcile *r, struct reconcile_layer *layer,
                           enum pipe_multiset_side side, int32_t partition, struct pipe_str frame)
{
    const struct pipe_state_def *def = state_of(r, layer);
    struct partial partial;
    if (def == NULL || !read_frame(def, frame, NULL, &partial))
        return false;
    int64_t window[3] = {partition, partial.head.start, partial.head.first};
    struct frame entry = {
        .at = r->frame_bytes, .size = (uint32_t)frame.size, .partition = partition, .side = side};
    entry.group = pipe_message_hash(partition, partial.head.key,
                                    pipe_str_of((const char *)window, sizeof window));
    if (layer->corrections.entry_bytes == 0)
        pipe_spill_init(&layer->corrections, &r->spills, sizeof entry);
    pipe_spill_add(&layer->corrections, &entry);
    if (r->frames == NULL) {
        int fd = pipe_spill_store_file(&r->spills);
        r->frames = fd >= 0 ? fdopen(fd, "w+") : NULL;
    }
    if (r->frames == NULL || fwrite(frame.data, 1, frame.size, r->frames) != frame.size)
        return reconcile_fail(r, PIPE_EXIT_DATA, "temporary files in %s can't be written: %s",
                              r->spills.dir, strerror(errno));
    r->frame_bytes += frame.size;
    return true;
}

/* ---- Adding up ---- */

static int by_group(const void *a, const void *b)
{
    const struct frame *x = a, *y = b;
    int order = pipe_hash_order(&x->group, &y->group);
    if (order == 0)
        order = (x->side > y->side) - (x->side < y->side);
    return order != 0 ? order : (x->at > y->at) - (x->at < y->at);
}

static bool load_frame(struct reconcile *r, const struct frame *entry, struct pipe_buf *to)
{
    to->size = 0;
    uint8_t *bytes = pipe_buf_reserve(to, entry->size + 1);
    to->size = entry->size;
    return pread(fileno(r->frames), bytes, entry->size, (off_t)entry->at) == (ssize_t)entry->size;
}

struct merging {
    const struct pipe_state_def *def;
    void *total, *one; /* accumulators */
    struct pipe_buf bytes, row;
    struct pipe_arena arena;
};

static void start(const struct pipe_accumulator *acc, void *at)
{
    memset(at, 0, acc->size_bytes);
    acc->init(at);
}

static void drop(const struct pipe_accumulator *acc, void *at)
{
    if (acc->drop != NULL && !acc->plain)
        acc->drop(at);
}

/* The frames [0, count) of one group and side into merging->row: pane, records, accumulator; or the
 * first that is malformed, as it is. */
static bool merge(struct reconcile *r, struct merging *m, const struct frame *frames,
                  uint64_t count)
{
    const struct pipe_accumulator *acc = m->def->acc;
    struct partial partial = {0};
    uint64_t records = 0;
    bool there = true, sound = true;
    start(acc, m->total);
    for (uint64_t i = 0; there && sound && i < count; i++) {
        there = load_frame(r, &frames[i], &m->bytes);
        pipe_arena_reset(&m->arena);
        sound = there &&
                read_frame(m->def, pipe_str_of(m->bytes.data, m->bytes.size), &m->arena, &partial);
        if (!sound)
            break;
        records += partial.head.records;
        start(acc, m->one);
        sound = acc->load(m->one, &partial.in) && partial.in.at == partial.in.end;
        if (sound)
            acc->merge(m->total, m->one);
        drop(acc, m->one);
    }
    m->row.size = 0;
    if (sound) {
        pipe_avro_put_bytes(&m->row, partial.head.key);
        pipe_avro_put_long(&m->row, partial.head.start);
        pipe_avro_put_long(&m->row, partial.head.first);
        pipe_avro_put_long(&m->row, (int64_t)records);
        acc->save(m->total, &m->row);
    } else {
        pipe_buf_add(&m->row, m->bytes.data, m->bytes.size);
    }
    drop(acc, m->total);
    return there;
}

static bool merge_groups(struct reconcile *r, struct reconcile_layer *layer, struct merging *m,
                         const struct frame *frames, uint64_t count)
{
    char where[400];
    for (uint64_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && frames[end].side == frames[i].side &&
                          pipe_hash_order(&frames[end].group, &frames[i].group) == 0;)
            end++;
        if (!merge(r, m, frames + i, end - i))
            return false;
        struct pipe_str row = pipe_str_of(m->row.data, m->row.size);
        int32_t partition = frames[i].partition;
        if (!r->finding) {
            reconcile_add(r, layer, (enum pipe_multiset_side)frames[i].side, partition,
                          pipe_str_of(NULL, 0), row);
            continue;
        }
        snprintf(where, sizeof where, "%.300s, partition %d, %llu partials added up", layer->place,
                 partition, (unsigned long long)(end - i));
        reconcile_wants(r, layer, frames[i].side != PIPE_ACTUAL, partition, pipe_str_of(NULL, 0),
                        row, where);
    }
    return true;
}

bool reconcile_merge_partials(struct reconcile *r, struct reconcile_layer *layer)
{
    const struct pipe_state_def *def = state_of(r, layer);
    struct merging m = {.def = def};
    struct pipe_buf frames = {0};
    uint64_t count;
    bool ok = true;
    if (layer->corrections.entries == 0)
        return true;
    m.total = pipe_calloc(1, def->acc->size_bytes + 1);
    m.one = pipe_calloc(1, def->acc->size_bytes + 1);
    pipe_arena_init(&m.arena, ARENA_BYTES);
    fflush(r->frames);
    for (uint32_t p = 0; ok && p < PIPE_SPILL_PARTITIONS; p++) {
        ok = pipe_spill_load(&layer->corrections, p, &frames, &count);
        if (ok && count > 0)
            qsort(frames.data, count, sizeof(struct frame), by_group);
        ok = ok &&
             merge_groups(r, layer, &m, (const struct frame *)(const void *)frames.data, count);
    }
    pipe_spill_free(&layer->corrections);
    pipe_spill_init(&layer->corrections, &r->spills, 0);
    pipe_buf_free(&frames);
    pipe_buf_free(&m.bytes);
    pipe_buf_free(&m.row);
    pipe_arena_free(&m.arena);
    free(m.total);
    free(m.one);
    return ok || reconcile_fail(r, PIPE_EXIT_DATA, "%s: the partials can't be added up: %s",
                                layer->place, r->spills.failed ? r->spills.error : strerror(errno));
}
