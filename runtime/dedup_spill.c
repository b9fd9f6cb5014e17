/*
 * dedup_spill.c: the ids that leave memory when it is short, and how they are found again.
 *
 * A run is written in the same save that its ids leave memory with: what the store holds of it is
 * committed, and one write. Its pages are parts of the hashes, so one id is one `get`; the entries
 * of single saves that it takes the place of are removed as one range, and so is a run that is
 * over.
 *
 * A filter has room for more runs than the one it is made for, a quarter of what is spilled: so
 * there are some sixteen, however many runs. When there is no memory for filters either, the
 * oldest one goes, and its runs are asked for every key.
 */
#include <stdlib.h>

#include "dedup.h"
#include "aggregates_state.h"

#define PAGE_IDS 128u /* 3 KiB: with its key it fills a block of the store */
#define RUN_IDS_MOST (1u << 22)

/* --- Pages ------------------------------------------------------------------------------------
 */

static void page_key(uint8_t key[DEDUP_PAGE_KEY_BYTES], int64_t cell, uint64_t serial,
                     uint32_t page)
{
    dedup_key(key, 'r', cell, serial);
    page = __builtin_bswap32(page);
    memcpy(key + DEDUP_KEY_BYTES, &page, sizeof page);
}

static uint32_t page_of(const struct id *id, uint32_t pages)
{
    return (uint32_t)id_part(id->low, pages);
}

/* --- Runs -------------------------------------------------------------------------------------
 */

/* A filter with room for so many ids: the last one, or a new one. */
static uint32_t filter_for(struct pipe_dedup *dedup, uint64_t ids)
{
    if (dedup->filter_count > 0) {
        const struct dedup_filter *last = &dedup->filters[dedup->filter_count - 1];
        if (last->ids.words != NULL && last->ids.room >= ids)
            return dedup->filter_count - 1;
    }
    uint64_t room = dedup->spilled / 4;
    dedup->filters =
        pipe_realloc(dedup->filters, (dedup->filter_count + 1) * sizeof *dedup->filters);
    dedup->filters[dedup->filter_count] = (struct dedup_filter){.runs = 0};
    id_filter_init(&dedup->filters[dedup->filter_count].ids, room > ids ? room : ids);
    return dedup->filter_count++;
}

static struct dedup_run *add_run(struct pipe_dedup *dedup, struct dedup_run run)
{
    int64_t end = dedup_end_of(dedup, run.last);
    run.filter = filter_for(dedup, run.count);
    dedup->filters[run.filter].runs++;
    dedup->runs = pipe_realloc(dedup->runs, (dedup->run_count + 1) * sizeof *dedup->runs);
    dedup->runs[dedup->run_count] = run;
    dedup->spilled += run.count;
    dedup->run_due = end < dedup->run_due ? end : dedup->run_due;
    pipe_state_due_by(&dedup->state, end);
    return &dedup->runs[dedup->run_count++];
}

static void drop_filter(struct pipe_dedup *dedup, uint32_t filter)
{
    id_filter_drop(&dedup->filters[filter].ids);
    dedup->filter_count--;
    memmove(dedup->filters + filter, dedup->filters + filter + 1,
            (dedup->filter_count - filter) * sizeof *dedup->filters);
    for (uint32_t i = 0; i < dedup->run_count; i++)
        dedup->runs[i].filter -= dedup->runs[i].filter > filter;
}

void dedup_drop_runs(struct pipe_dedup *dedup, int64_t watermark)
{
    uint32_t kept = 0;
    dedup->run_due = PIPE_TIME_MAX;
    for (uint32_t i = 0; i < dedup->run_count; i++) {
        const struct dedup_run *run = &dedup->runs[i];
        int64_t end = dedup_end_of(dedup, run->last);
        if (end > watermark || end == PIPE_TIME_MAX) {
            dedup->run_due = end < dedup->run_due ? end : dedup->run_due;
            dedup->runs[kept++] = *run;
            continue;
        }
        dedup->spilled -= run->count;
        dedup->filters[run->filter].runs--;
        dedup->drop_spilled = true;
        if (run->last >= dedup->first_kept)
            dedup->first_kept = run->last + 1;
    }
    dedup->run_count = kept;
    for (uint32_t i = dedup->filter_count; i-- > 0;) {
        if (dedup->filters[i].runs == 0)
            drop_filter(dedup, i);
    }
}

void dedup_free_runs(struct pipe_dedup *dedup)
{
    for (uint32_t i = 0; i < dedup->filter_count; i++)
        id_filter_drop(&dedup->filters[i].ids);
    free(dedup->filters);
    free(dedup->runs);
    pipe_buf_free(&dedup->page);
}

uint64_t dedup_trace_bytes(const struct pipe_dedup *dedup)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < dedup->filter_count; i++)
        bytes += id_filter_bytes(&dedup->filters[i].ids);
    return bytes;
}

uint64_t dedup_spill_bytes(const struct pipe_dedup *dedup)
{
    return dedup_trace_bytes(dedup) + dedup->run_count * sizeof *dedup->runs +
           dedup->filter_count * sizeof *dedup->filters + dedup->page.capacity;
}

/* --- Look-up ----------------------------------------------------------------------------------
 */

struct looking {
    struct id id;
    int64_t judge;
    bool found;
};

static bool compare_id(struct pipe_dedup *dedup, const struct id *id, void *context)
{
    struct looking *looking = context;
    (void)dedup;
    looking->found |= id_equal(id, &looking->id) && looking->judge <= id_expiry(id);
    return true;
}

static bool is_in_run(struct pipe_task *task, struct pipe_dedup *dedup, const struct dedup_run *run,
                      struct looking *looking)
{
    uint8_t key[DEDUP_PAGE_KEY_BYTES];
    bool found;
    page_key(key, run->last, run->serial, page_of(&looking->id, run->pages));
    dedup->reads++;
    if (!dedup->has_reader) {
        pipe_fatal(task, "a spilled id of %s is asked for where there is no store",
                   dedup->def->name);
        return false;
    }
    if (!dedup->reader.get(&dedup->reader, key, sizeof key, &dedup->page, &found)) {
        pipe_fatal(task, "%s", dedup->reader.fault(&dedup->reader));
        return false;
    }
    if (found &&
        !dedup_each_id(dedup, pipe_str_of(dedup->page.data, dedup->page.size), compare_id, looking))
        pipe_fatal(task,
                   "the state is damaged: ids of %s in partition %d are malformed; delete the "
                   "state directory, which is made again from the log",
                   dedup->def->name, (int)task->partition);
    return looking->found;
}

bool dedup_is_spilled(struct pipe_task *task, struct pipe_dedup *dedup, const struct id *id,
                      int64_t judge)
{
    struct looking looking = {.id = *id, .judge = judge};
    for (uint32_t f = 0; f < dedup->filter_count; f++) {
        if (!id_filter_may_have(&dedup->filters[f].ids, id->low))
            continue;
        for (uint32_t i = 0; i < dedup->run_count; i++) {
            const struct dedup_run *run = &dedup->runs[i];
            if (run->filter == f && judge <= dedup_end_of(dedup, run->last) &&
                is_in_run(task, dedup, run, &looking))
                return true;
        }
    }
    return false;
}

/* --- Spilling ---------------------------------------------------------------------------------
 */

struct spilling {
    int64_t begin, end;   /* expiries [begin, end) */
    uint64_t part, parts; /* of the hashes: this one of so many */
    struct dedup_run run;
    struct id *ids;   /* by page */
    uint64_t *starts; /* of the pages, and the end */
};

static bool is_taken(const struct spilling *s, const struct id *id)
{
    return id_expiry(id) >= s->begin && id_expiry(id) < s->end &&
           (s->parts == 1 || id_part(id->low, s->parts) == s->part);
}

/* Sorts the ids that go by their pages. */
static void collect(const struct pipe_dedup *dedup, struct spilling *s)
{
    const struct id_table *table = &dedup->table;
    const struct id *id;
    for (uint64_t at = 0; (id = id_table_each(table, &at)) != NULL;)
        s->run.count += is_taken(s, id);
    s->run.pages = (uint32_t)(s->run.count / PAGE_IDS + 1);
    s->ids = pipe_malloc((s->run.count + 1) * sizeof *s->ids);
    s->starts = pipe_calloc((size_t)s->run.pages + 2, sizeof *s->starts);
    for (uint64_t at = 0; (id = id_table_each(table, &at)) != NULL;) {
        if (is_taken(s, id))
            s->starts[page_of(id, s->run.pages) + 2]++;
    }
    for (uint32_t page = 2; page < s->run.pages + 2; page++)
        s->starts[page] += s->starts[page - 1];
    for (uint64_t at = 0; (id = id_table_each(table, &at)) != NULL;) {
        if (is_taken(s, id))
            s->ids[s->starts[page_of(id, s->run.pages) + 1]++] = *id;
    }
}

static void write_run(struct pipe_dedup *dedup, struct spilling *s,
                      const struct pipe_state_writer *writer)
{
    uint8_t key[DEDUP_PAGE_KEY_BYTES];
    struct pipe_buf *head = &dedup->page;
    head->size = 0;
    pipe_state_put(head, s->run.count);
    pipe_state_put(head, s->run.pages);
    dedup_key(key, 'r', s->run.last, s->run.serial);
    writer->put(writer->context, key, DEDUP_KEY_BYTES, head->data, head->size);
    for (uint32_t page = 0; page < s->run.pages; page++) {
        uint64_t begin = s->starts[page], count = s->starts[page + 1] - begin;
        if (count == 0)
            continue;
        page_key(key, s->run.last, s->run.serial, page);
        writer->put(writer->context, key, sizeof key, &s->ids[begin], count * sizeof *s->ids);
    }
    const struct dedup_run *run = add_run(dedup, s->run);
    for (uint64_t i = 0; i < run->count; i++)
        id_filter_add(&dedup->filters[run->filter].ids, s->ids[i].low);
}

/* Ids that were to be saved and are in the run now. */
static void drop_pending(struct pipe_dedup *dedup, const struct spilling *s)
{
    struct id *pending = (struct id *)(void *)dedup->pending.data;
    size_t count = dedup->pending.size / sizeof *pending, kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (id_expiry(&pending[i]) >= s->end)
            pending[kept++] = pending[i];
    }
    dedup->pending.size = kept * sizeof *pending;
}

/* How many of the oldest cells hold about so many ids. Those without an end stay. */
static uint32_t oldest_cells(const struct pipe_dedup *dedup, uint64_t ids)
{
    uint32_t cells = 0;
    for (uint64_t taken = 0; cells < dedup->cell_count && taken < ids; cells++) {
        if (dedup_end_of(dedup, dedup->cells[cells].index) == PIPE_TIME_MAX)
            break;
        taken += dedup->cells[cells].count;
    }
    return cells;
}

static void spill_part(struct pipe_dedup *dedup, struct spilling *s, int64_t last,
                       const struct pipe_state_writer *writer)
{
    s->run = (struct dedup_run){.last = last, .serial = dedup->serial++};
    collect(dedup, s);
    if (s->run.count > 0)
        write_run(dedup, s, writer);
    free(s->ids);
    free(s->starts);
}

static void spill_cells(struct pipe_dedup *dedup, uint32_t cells,
                        const struct pipe_state_writer *writer)
{
    bool saved = false, all = dedup->first_kept == PIPE_TIME_MIN;
    uint64_t count = 0;
    int64_t last = dedup->cells[cells - 1].index;
    struct spilling s = {.begin = all ? PIPE_TIME_MIN : dedup_end_of(dedup, dedup->first_kept - 1),
                         .end = dedup_end_of(dedup, last)};
    for (uint32_t i = 0; i < cells; i++) {
        count += dedup->cells[i].count;
        saved |= dedup->cells[i].saved;
    }
    dedup->live -= count;
    s.parts = count / RUN_IDS_MOST + 1;
    for (s.part = 0; s.part < s.parts; s.part++)
        spill_part(dedup, &s, last, writer);
    if (saved)
        dedup_remove_below(writer, 's', last + 1);
    dedup->cell_count -= cells;
    memmove(dedup->cells, dedup->cells + cells, dedup->cell_count * sizeof *dedup->cells);
    dedup->recent = 0;
    drop_pending(dedup, &s);
    id_table_fit(&dedup->table, s.end);
}

void dedup_spill(void *state, uint64_t bytes, bool traces, const struct pipe_state_writer *writer)
{
    struct pipe_dedup *dedup = state;
    uint32_t oldest = 0;
    if (!dedup->has_reader)
        return;
    while (oldest < dedup->filter_count && dedup->filters[oldest].ids.words == NULL)
        oldest++;
    /* The table gets smaller by so much when what stays takes three quarters of it. */
    uint64_t held = id_table_bytes(&dedup->table);
    uint64_t rest = bytes < held ? id_table_fitting(held - bytes) : 0;
    uint32_t cells = oldest_cells(dedup, dedup->live > rest ? dedup->live - rest : 1);
    if (traces && oldest < dedup->filter_count)
        id_filter_drop(&dedup->filters[oldest].ids);
    else if (!traces && cells > 0)
        spill_cells(dedup, cells, writer);
}

/* --- Loading ----------------------------------------------------------------------------------
 */

static bool load_page_id(struct pipe_dedup *dedup, const struct id *id, void *context)
{
    const struct dedup_run *run = &dedup->runs[dedup->run_count - 1];
    const uint32_t *page = context;
    if (dedup_cell_of(dedup, id) > run->last || page_of(id, run->pages) != *page)
        return false;
    id_filter_add(&dedup->filters[run->filter].ids, id->low);
    return true;
}

bool dedup_load_run(struct pipe_dedup *dedup, const uint8_t *key, size_t key_bytes,
                    struct pipe_str value)
{
    struct dedup_run run = {.last = pipe_state_time_of_key(key + 1)};
    struct pipe_reader in;
    memcpy(&run.serial, key + 9, sizeof run.serial);
    run.serial = __builtin_bswap64(run.serial);
    if (key_bytes == DEDUP_KEY_BYTES) {
        uint64_t pages = 0;
        pipe_reader_init(&in, value.data, value.size, NULL);
        if (!pipe_state_get(&in, &run.count) || !pipe_state_get(&in, &pages) || in.at != in.end ||
            run.count == 0 || run.count > RUN_IDS_MOST * 2 || pages != run.count / PAGE_IDS + 1)
            return false;
        run.pages = (uint32_t)pages;
        add_run(dedup, run);
        return true;
    }
    uint32_t page;
    if (key_bytes != DEDUP_PAGE_KEY_BYTES || dedup->run_count == 0)
        return false;
    const struct dedup_run *last = &dedup->runs[dedup->run_count - 1];
    memcpy(&page, key + DEDUP_KEY_BYTES, sizeof page);
    page = __builtin_bswap32(page);
    return last->serial == run.serial && last->last == run.last &&
           dedup_each_id(dedup, value, load_page_id, &page);
}
