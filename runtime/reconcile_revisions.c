/*
 * reconcile_revisions.c: the rows of a window that is corrected must stand in the order of their
 * revisions. The re-execution tells window and revision of a row, the scan where it stands; both
 * are joined by the row's hash, then by window.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "reconcile.h"

struct made {
    struct pipe_hash row, window;
    uint64_t revision;
};
struct found {
    struct pipe_hash row;
    uint64_t position;
};
struct joined {
    struct pipe_hash window;
    uint64_t position, revision;
};

void reconcile_made(struct reconcile *r, struct reconcile_layer *layer,
                    const struct pipe_hash *window, uint64_t revision, const struct pipe_hash *row)
{
    struct made made = {*row, *window, revision};
    if (layer->made.entry_bytes == 0) {
        pipe_spill_init(&layer->made, &r->spills, sizeof made);
        pipe_spill_init(&layer->found, &r->spills, sizeof(struct found));
    }
    pipe_spill_add(&layer->made, &made);
}

void reconcile_found(struct reconcile_layer *layer, const struct pipe_hash *row, uint64_t position)
{
    struct found found = {*row, position};
    if (layer->made.entry_bytes != 0)
        pipe_spill_add(&layer->found, &found);
}

static int by_row(const void *a, const void *b) /* both begin with it */
{
    return pipe_hash_order(a, b);
}

static int by_position(const void *a, const void *b)
{
    const struct joined *x = a, *y = b;
    int order = pipe_hash_order(&x->window, &y->window);
    return order != 0 ? order : (x->position > y->position) - (x->position < y->position);
}

static void *sorted(struct pipe_buf *bytes, uint64_t count, size_t size,
                    int (*order)(const void *, const void *))
{
    if (count > 0)
        qsort(bytes->data, count, size, order);
    return bytes->data;
}

static void join(const struct made *made, uint64_t made_count, const struct found *found,
                 uint64_t found_count, struct pipe_spill *to)
{
    uint64_t m = 0;
    for (uint64_t f = 0; f < found_count; f++) {
        while (m < made_count && pipe_hash_order(&made[m].row, &found[f].row) < 0)
            m++;
        if (m == made_count || pipe_hash_order(&made[m].row, &found[f].row) != 0)
            continue;
        struct joined joined = {made[m].window, found[f].position, made[m].revision};
        pipe_spill_add(to, &joined);
    }
}

static void check_order(struct reconcile_layer *layer, const struct joined *rows, uint64_t count)
{
    for (uint64_t i = 1; i < count && layer->trouble[0] == '\0'; i++) {
        if (pipe_hash_order(&rows[i - 1].window, &rows[i].window) != 0 ||
            rows[i - 1].revision < rows[i].revision)
            continue;
        char where[64];
        uint64_t at = rows[i].position;
        if (layer->topic >= 0)
            snprintf(where, sizeof where, "partition %" PRIu64 ", offset %" PRIu64, at >> 44,
                     at & ((UINT64_C(1) << 44) - 1));
        else
            snprintf(where, sizeof where, "row %" PRIu64, at);
        snprintf(layer->trouble, sizeof layer->trouble,
                 "%s: revision %" PRIu64 " of a window stands behind revision %" PRIu64, where,
                 rows[i].revision, rows[i - 1].revision);
    }
}

bool reconcile_check_revisions(struct reconcile *r, struct reconcile_layer *layer)
{
    struct pipe_spill windows;
    struct pipe_buf a = {0}, b = {0};
    uint64_t made, found, count;
    bool ok = true;
    if (layer->made.entry_bytes == 0)
        return true;
    pipe_spill_init(&windows, &r->spills, sizeof(struct joined));
    for (uint32_t p = 0; ok && p < PIPE_SPILL_PARTITIONS; p++) {
        ok = pipe_spill_load(&layer->made, p, &a, &made) &&
             pipe_spill_load(&layer->found, p, &b, &found);
        if (ok)
            join(sorted(&a, made, sizeof(struct made), by_row), made,
                 sorted(&b, found, sizeof(struct found), by_row), found, &windows);
    }
    for (uint32_t p = 0; ok && p < PIPE_SPILL_PARTITIONS; p++) {
        ok = pipe_spill_load(&windows, p, &a, &count);
        if (ok)
            check_order(layer, sorted(&a, count, sizeof(struct joined), by_position), count);
    }
    pipe_spill_free(&windows);
    pipe_spill_free(&layer->made);
    pipe_spill_free(&layer->found);
    pipe_buf_free(&a);
    pipe_buf_free(&b);
    return ok || reconcile_fail(r, PIPE_EXIT_DATA, "%s", r->spills.error);
}
