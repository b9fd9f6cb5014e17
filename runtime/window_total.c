/*
 * window_total.c: what a window holds in total: the merge of its panes, incrementally where a
 * window has many of them.
 */
#include <stdlib.h>

#include "window.h"

#define FEW_PANES 4 /* up to here merging all of them is as cheap */

static void init_total(const struct pipe_window *st, struct window_pane *total)
{
    memset(total, 0, st->stride);
    st->def->acc->init(window_acc(total));
}

struct window_pane *window_new_total(const struct pipe_window *st)
{
    struct window_pane *total = pipe_malloc(st->stride);
    init_total(st, total);
    return total;
}

static void drop_total(const struct pipe_window *st, struct window_pane *total)
{
    if (!st->def->acc->plain)
        st->def->acc->drop(window_acc(total));
}

void window_free_total(const struct pipe_window *st, struct window_pane *total)
{
    if (total == NULL)
        return;
    drop_total(st, total);
    free(total);
}

static void merge(const struct pipe_window *st, struct window_pane *into,
                  const struct window_pane *from)
{
    into->records += from->records;
    into->units += from->units;
    st->def->acc->merge(window_acc(into), window_acc(from));
}

/* The first pane that starts at or after `start`. */
static uint32_t first_from(const struct pipe_window *st, const struct window_entry *entry,
                           int64_t start)
{
    uint32_t low = 0, high = entry->pane_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (window_pane_at(st, entry, middle)->start < start)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_regular(const struct pipe_window *st, const struct window_pane *pane)
{
    return pane->first == window_first_end(st->def, pane->start);
}

static struct window_pane *front_at(const struct pipe_window *st,
                                    const struct window_slider *slider, uint32_t i)
{
    return (struct window_pane *)(void *)(slider->front + (size_t)i * st->stride);
}

static void clear_slider(const struct pipe_window *st, struct window_slider *slider)
{
    for (uint32_t i = 0; i < slider->front_count; i++)
        drop_total(st, front_at(st, slider, i));
    slider->front_count = 0;
    drop_total(st, slider->back);
    init_total(st, slider->back);
}

void window_free_slider(const struct pipe_window *st, struct window_slider *slider)
{
    if (slider == NULL)
        return;
    clear_slider(st, slider);
    window_free_total(st, slider->back);
    free(slider->front);
    free(slider);
}

/* Totals from each regular pane in [low, end) up to the last. */
static void flip(struct pipe_window *st, const struct window_entry *entry,
                 struct window_slider *slider, int64_t low, int64_t end)
{
    clear_slider(st, slider);
    uint32_t begin = first_from(st, entry, low), i = first_from(st, entry, end);
    while (i-- > begin) {
        const struct window_pane *pane = window_pane_at(st, entry, i);
        if (!is_regular(st, pane))
            continue;
        if (slider->front_count == slider->front_capacity) {
            slider->front_capacity = slider->front_capacity == 0 ? 8 : slider->front_capacity * 2;
            slider->front =
                pipe_realloc(slider->front, (size_t)slider->front_capacity * st->stride);
        }
        struct window_pane *top = front_at(st, slider, slider->front_count);
        init_total(st, top);
        top->start = pane->start;
        merge(st, top, pane);
        if (slider->front_count > 0)
            merge(st, top, front_at(st, slider, slider->front_count - 1));
        slider->front_count++;
    }
    slider->valid = true;
    slider->middle = slider->upto = end;
}

static void slide(struct pipe_window *st, const struct window_entry *entry,
                  struct window_slider *slider, int64_t end)
{
    int64_t low = end - st->def->size;
    if (!slider->valid || end < slider->upto || low > slider->middle) {
        flip(st, entry, slider, low, end);
        return;
    }
    while (slider->front_count > 0 && front_at(st, slider, slider->front_count - 1)->start < low)
        drop_total(st, front_at(st, slider, --slider->front_count));
    for (uint32_t i = first_from(st, entry, slider->upto); i < entry->pane_count; i++) {
        const struct window_pane *pane = window_pane_at(st, entry, i);
        if (pane->start >= end)
            break;
        if (is_regular(st, pane))
            merge(st, slider->back, pane);
    }
    slider->upto = end;
}

static void add_slid(struct pipe_window *st, struct window_entry *entry,
                     struct window_slider **slider, int64_t end)
{
    if (*slider == NULL) {
        *slider = pipe_calloc(1, sizeof **slider);
        (*slider)->back = window_new_total(st);
    }
    slide(st, entry, *slider, end);
    if ((*slider)->front_count > 0)
        merge(st, st->total, front_at(st, *slider, (*slider)->front_count - 1));
    merge(st, st->total, (*slider)->back);
}

const struct window_pane *window_total_of(struct pipe_window *st, struct window_entry *entry,
                                          struct window_slider **slider, int64_t end)
{
    uint32_t begin = first_from(st, entry, end - st->def->size);
    const struct window_pane *only =
        begin < entry->pane_count ? window_pane_at(st, entry, begin) : NULL;
    if (only != NULL && only->start < end && only->first <= end &&
        (begin + 1 == entry->pane_count || window_pane_at(st, entry, begin + 1)->start >= end))
        return only;
    drop_total(st, st->total);
    init_total(st, st->total);
    bool slid = st->def->size / st->pane_length > FEW_PANES && entry->pane_count > FEW_PANES;
    if (slid)
        add_slid(st, entry, slider, end);
    for (uint32_t i = begin; i < entry->pane_count && (!slid || entry->irregular > 0); i++) {
        const struct window_pane *pane = window_pane_at(st, entry, i);
        if (pane->start >= end)
            break;
        if (pane->first <= end && !(slid && is_regular(st, pane)))
            merge(st, st->total, pane);
    }
    return st->total;
}
