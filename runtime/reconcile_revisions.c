/*
 * reconcile_revisions.c: the rows of a window that is corrected must stand in the order of their
 * revisions. The re-execution tells window and revision of a row, the scan where it stands; both
 * are joined by the row's hash, then by window.
 *
 * A row tells its window and revision, unless it is a reject: then rows of several revisions may be
 * the same bytes, and so may those of several windows. Which of its revisions such a row is of is
 * left open, between the least and the greatest; rows that several windows make have no order. Nor
 * have those of which more are found than such windows make: others, which are not corrected, or
 * records make them as well.
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
    uint64_t position;
    uint64_t least, greatest; /* revisions that it may be of */
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

/* What is made as one and the same row, from made[0] on; returns how many. *one: by one window. */
static uint64_t same_rows(const struct made *made, uint64_t count, struct joined *to, bool *one)
{
    uint64_t n = 1;
    *to = (struct joined){made->window, 0, made->revision, made->revision};
    *one = true;
    for (; n < count && pipe_hash_order(&made[n].row, &made->row) == 0; n++) {
        uint64_t revision = made[n].revision;
        *one = *one && pipe_hash_order(&made[n].window, &made->window) == 0;
        to->least = revision < to->least ? revision : to->least;
        to->greatest = revision > to->greatest ? revision : to->greatest;
    }
    return n;
}

static void join(const struct made *made, uint64_t made_count, const struct found *found,
                 uint64_t found_count, struct pipe_spill *to)
{
    uint64_t f = 0;
    for (uint64_t m = 0; m < made_count;) {
        const struct pipe_hash *row = &made[m].row;
        struct joined joined;
        bool one;
        uint64_t revisions = same_rows(made + m, made_count - m, &joined, &one);
        m += revisions;
        while (f < found_count && pipe_hash_order(&found[f].row, row) < 0)
            f++;
        uint64_t end = f;
        while (end < found_count && pipe_hash_order(&found[end].row, row) == 0)
            end++;
        bool ordered = one && end - f <= revisions;
        for (; f < end; f++) {
            joined.position = found[f].position;
            if (ordered)
                pipe_spill_add(to, &joined);
        }
    }
}

#define PARTITION_SHIFT 44 /* of a position, reconcile_actual.c */

/* Rows of one window that stand behind each other: partitions have no order between them. */
static bool is_behind(const struct joined *before, const struct joined *row)
{
    return pipe_hash_order(&before->window, &row->window) == 0 &&
           before->position >> PARTITION_SHIFT == row->position >> PARTITION_SHIFT;
}

static void check_order(struct reconcile_layer *layer, const struct joined *rows, uint64_t count)
{
    uint64_t revision = 0; /* the least that the row before can be of */
    for (uint64_t i = 0; i < count && layer->trouble[0] == '\0'; i++) {
        bool behind = i > 0 && is_behind(&rows[i - 1], &rows[i]);
        uint64_t least = behind && revision >= rows[i].least ? revision + 1 : rows[i].least;
        uint64_t before = revision, at = rows[i].position;
        char where[64];
        revision = least;
        if (least <= rows[i].greatest)
            continue;
        if (layer->topic >= 0)
            snprintf(where, sizeof where, "partition %" PRIu64 ", offset %" PRIu64,
                     at >> PARTITION_SHIFT, at & ((UINT64_C(1) << PARTITION_SHIFT) - 1));
        else
            snprintf(where, sizeof where, "row %" PRIu64, at);
        snprintf(layer->trouble, sizeof layer->trouble,
                 "%s: revision %" PRIu64 " of a window stands behind revision %" PRIu64, where,
                 rows[i].greatest, before);
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
