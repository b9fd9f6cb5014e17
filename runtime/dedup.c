/*
 * dedup.c: the keys that were seen, for as long as the ttl says (semantics.md §2, Dedup).
 *
 * Identity: 16 bytes and a tag. Keys whose encoding has up to 16 bytes, a single text of 16 bytes
 * and UUID text are held exactly, the tag being their form, so two of them are equal exactly if the
 * keys are. Longer keys are a 128-bit SipHash-1-3 under a key that is random for each state
 * directory: a pseudo-random function, so whoever writes the log cannot look for two keys that
 * collide, as he could with a fixed hash or with XXH3, whose seed can be recovered or cancelled
 * out. Their tag is their own, so that no exact key equals a hashed one.
 *
 * Memory: 34 to 46 bytes a key (id_table.h), and what dedup_spill.c keeps of those that left it. A
 * key that is expired but still there counts as forgotten, so the verdict never depends on when
 * memory is freed.
 *
 * State entries: key = cell of expiry time, then serial of the save; value = the keys added by that
 * save. Cells that are over are removed as one range.
 */
#include <stdlib.h>

#include "dedup.h"
#include "aggregates_state.h"

/* --- Identity -----------------------------------------------------------------------------------
 */

/* By character: 1 + the value of a lower-case hex digit; 0: none. */
static const uint8_t hex_digit[256] = {
    ['0'] = 1, ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
    ['8'] = 9, ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
};

/* Tests and packs in one go: this runs once a record. false: not UUID text in lower case. */
static bool pack_uuid(const uint8_t *text, uint8_t to[16])
{
    static const uint8_t places[16] = {0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34};
    unsigned bad = 0;
    if (text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-')
        return false;
    for (unsigned i = 0; i < 16; i++) {
        unsigned high = hex_digit[text[places[i]]] - 1u, low = hex_digit[text[places[i] + 1]] - 1u;
        bad |= high | low;
        to[i] = (uint8_t)(high << 4 | low);
    }
    return bad < 16;
}

#define EXACT_KEY_MOST 37u /* bytes: of UUID text */

/* The identity of a key that is held as it is; false: it is too long for that. The expiry is left
 * 0. */
static bool identify_exactly(const struct pipe_dedup *dedup, const struct pipe_buf *key,
                             struct id *id)
{
    const uint8_t *bytes = key->data;
    size_t size = key->size;
    uint8_t exact[16] = {0};
    if (size == 37 && bytes[0] == 36 && pack_uuid(bytes + 1, exact)) {
        id->meta = ID_TAG_UUID;
    } else if (size <= 16) {
        memcpy(exact, bytes, size);
        id->meta = (int64_t)size;
    } else if (size == 17 && bytes[0] == 16) {
        memcpy(exact, bytes + 1, 16);
        id->meta = ID_TAG_TEXT_16;
    } else {
        return false;
    }
    memcpy(&id->low, exact, 8);
    memcpy(&id->high, exact + 8, 8);
    id_permute(&dedup->hash_key, id);
    return true;
}

/* Of a row whose key was not asked for ahead. */
static __attribute__((noinline)) void identify(const struct pipe_dedup *dedup,
                                               const struct pipe_buf *key, struct id *id)
{
    uint64_t hash[2];
    if (identify_exactly(dedup, key, id))
        return;
    pipe_keyed_hash128(key->data, key->size, (const uint8_t *)&dedup->hash_key, hash);
    *id = (struct id){hash[0], hash[1], ID_TAG_HASHED};
}

/* Keys whose hashes are made together. */
struct hashing {
    struct id *ids[PIPE_KEYED_HASHES];
    const uint8_t *bytes[PIPE_KEYED_HASHES];
    size_t sizes[PIPE_KEYED_HASHES];
    unsigned count;
};

static void hash_together(const struct pipe_dedup *dedup, struct hashing *hashing)
{
    uint64_t hashes[PIPE_KEYED_HASHES][2];
    pipe_keyed_hashes128(hashing->bytes, hashing->sizes, hashing->count,
                         (const uint8_t *)&dedup->hash_key, hashes);
    for (unsigned i = 0; i < hashing->count; i++)
        *hashing->ids[i] = (struct id){hashes[i][0], hashes[i][1], ID_TAG_HASHED};
    hashing->count = 0;
}

static void identify_together(struct pipe_dedup *dedup, uint32_t wanted)
{
    struct hashing hashing;
    hashing.count = 0;
    for (uint32_t left = wanted; left != 0; left &= left - 1) {
        unsigned index = (unsigned)__builtin_ctz(left);
        const struct pipe_buf *key = &dedup->state.keys[index];
        if (key->size <= EXACT_KEY_MOST && identify_exactly(dedup, key, &dedup->ahead[index]))
            continue;
        hashing.ids[hashing.count] = &dedup->ahead[index];
        hashing.bytes[hashing.count] = key->data;
        hashing.sizes[hashing.count] = key->size;
        if (++hashing.count == PIPE_KEYED_HASHES)
            hash_together(dedup, &hashing);
    }
    hash_together(dedup, &hashing);
}

/* --- Cells ------------------------------------------------------------------------------------
 */

static __attribute__((noinline)) struct dedup_cell *other_cell_at(struct pipe_dedup *dedup,
                                                                  int64_t expiry)
{
    int64_t index = pipe_floor_div(expiry, dedup->width);
    uint32_t low = 0, high = dedup->cell_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (dedup->cells[middle].index < index)
            low = middle + 1;
        else
            high = middle;
    }
    dedup->recent = low;
    if (low < dedup->cell_count && dedup->cells[low].index == index)
        return &dedup->cells[low];
    if (dedup->cell_count == dedup->cell_capacity) {
        dedup->cell_capacity = dedup->cell_capacity == 0 ? 32 : dedup->cell_capacity * 2;
        dedup->cells = pipe_realloc(dedup->cells, dedup->cell_capacity * sizeof *dedup->cells);
    }
    memmove(dedup->cells + low + 1, dedup->cells + low,
            (dedup->cell_count - low) * sizeof *dedup->cells);
    dedup->cell_count++;
    dedup->cells[low] = (struct dedup_cell){.index = index};
    pipe_state_due_by(&dedup->state, dedup_end_of(dedup, index));
    return &dedup->cells[low];
}

static inline struct dedup_cell *cell_at(struct pipe_dedup *dedup, int64_t expiry)
{
    if (PIPE_LIKELY(dedup->recent < dedup->cell_count)) {
        struct dedup_cell *recent = &dedup->cells[dedup->recent];
        uint64_t begin = (uint64_t)recent->index * (uint64_t)dedup->width;
        if (PIPE_LIKELY((uint64_t)expiry - begin < (uint64_t)dedup->width)) /* without division */
            return recent;
    }
    return other_cell_at(dedup, expiry);
}

static void drop_cells(struct pipe_dedup *dedup, int64_t watermark)
{
    uint32_t over = 0;
    /* Keys without an end (MAX) outlive even +∞. */
    for (; over < dedup->cell_count; over++) {
        int64_t end = dedup_end_of(dedup, dedup->cells[over].index);
        if (end > watermark || end == PIPE_TIME_MAX)
            break;
        dedup->live -= dedup->cells[over].count;
        dedup->drop_saved |= dedup->cells[over].saved;
        dedup->first_kept = dedup->cells[over].index + 1;
    }
    if (over == 0)
        return;
    dedup->cell_count -= over;
    memmove(dedup->cells, dedup->cells + over, dedup->cell_count * sizeof *dedup->cells);
    dedup->recent = 0;
}

#define SHRINK_BEYOND 65536u /* ids */

/* Gives memory back when traffic has ebbed away, and when nothing saves. */
static void shrink(struct pipe_dedup *dedup, int64_t watermark)
{
    uint64_t capacity = id_table_capacity(&dedup->table);
    if (capacity > SHRINK_BEYOND && dedup->live == 0) /* all are over at the end of input */
        id_table_free(&dedup->table);
    else if (capacity > SHRINK_BEYOND && dedup->live < capacity / 4)
        id_table_rebuild(&dedup->table, watermark, dedup->live);
    struct id *pending = (struct id *)(void *)dedup->pending.data;
    size_t count = dedup->pending.size / sizeof *pending, kept = 0;
    if (count <= 2 * dedup->live + 4096)
        return;
    for (size_t i = 0; i < count; i++) {
        if (id_expiry(&pending[i]) >= watermark)
            pending[kept++] = pending[i];
    }
    dedup->pending.size = kept * sizeof *pending;
}

/* --- Records ----------------------------------------------------------------------------------
 */

static __attribute__((noinline)) void make_room(struct pipe_dedup *dedup, int64_t watermark)
{
    if (dedup->run_count > 0) /* memory is short */
        id_table_fit(&dedup->table, watermark);
    else
        id_table_rebuild(&dedup->table, watermark, dedup->live);
}

/* `found` is the id in the table that it takes the place of; NULL: none, and there is room. */
static inline void remember(struct pipe_dedup *dedup, struct id *found, const struct id *id)
{
    if (PIPE_LIKELY(found == NULL)) {
        id_table_add(&dedup->table, id);
    } else {
        if (dedup_cell_of(dedup, found) >= dedup->first_kept) {
            cell_at(dedup, id_expiry(found))->count--;
            dedup->live--;
        }
        *found = *id;
    }
    cell_at(dedup, id_expiry(id))->count++;
    dedup->live++;
}

static void dedup_ask(void *state, uint32_t wanted)
{
    struct pipe_dedup *dedup = state;
    identify_together(dedup, wanted);
    for (uint32_t left = wanted; left != 0; left &= left - 1) {
        const struct id *id = &dedup->ahead[__builtin_ctz(left)];
        if (dedup->table.bucket_count > 0)
            id_table_fetch(&dedup->table, id);
        dedup_spilled_ahead(dedup, id->low);
    }
}

enum pipe_dedup_verdict pipe_dedup(struct pipe_task *task, uint32_t state,
                                   const struct pipe_record *record, bool is_ahead)
{
    struct pipe_dedup *dedup = task->states[state];
    const struct pipe_state_def *def = dedup->def;
    struct pipe_counters *counters = &task->counters[def->stream];
    /* Behind an exchange W depends on where commits put the markers, so it frees memory only: what
     * a record is judged by must be a function of the source's log. It is never less than W. How
     * far W goes at once, past many rows of a window, is such a thing too: these go by their own
     * time, and are never too old. */
    int64_t judge = record->event_time;
    if (PIPE_LIKELY(record->has_position))
        judge =
            pipe_time_sub(def->judge_by_record ? record->watermark : task->watermark, def->delay);
    counters->dedup_in++;
    if (record->event_time < pipe_time_sub(judge, def->ttl)) {
        counters->too_old++;
        return PIPE_TOO_OLD;
    }
    struct id in_hand, *id = &in_hand;
    if (PIPE_LIKELY(is_ahead))
        id = &dedup->ahead[task->ahead_index];
    else
        identify(dedup, &task->key, id);
    struct id *found = id_table_find(&dedup->table, id);
    if ((found != NULL && judge <= id_expiry(found)) ||
        (PIPE_UNLIKELY(dedup->run_count > 0) && dedup_is_spilled(task, dedup, id, judge))) {
        counters->duplicate++;
        return PIPE_DUPLICATE;
    }
    int64_t from = record->event_time > judge ? record->event_time : judge;
    id->meta = id_meta(pipe_time_add(from, def->ttl), id_tag(id));
    if (found == NULL && PIPE_UNLIKELY(id_table_is_full(&dedup->table)))
        make_room(dedup, dedup->advanced); /* rows of a window may come that are behind W */
    remember(dedup, found, id);
    pipe_buf_add(&dedup->pending, id, sizeof *id);
    counters->unique++;
    return PIPE_UNIQUE;
}

/* --- State ------------------------------------------------------------------------------------
 */

static void *dedup_create(const struct pipe_state_def *def, const struct pipe_hash_key *hash_key)
{
    struct pipe_dedup *dedup = pipe_calloc(1, sizeof *dedup);
    dedup->def = def;
    dedup->hash_key = *hash_key;
    dedup->width = def->ttl / CELLS_PER_TTL;
    if (dedup->width < 1000)
        dedup->width = 1000;
    dedup->advanced = dedup->first_kept = PIPE_TIME_MIN;
    dedup->run_due = dedup->state.due = PIPE_TIME_MAX;
    return dedup;
}

static void dedup_destroy(void *state)
{
    struct pipe_dedup *dedup = state;
    id_table_free(&dedup->table);
    dedup_free_runs(dedup);
    free(dedup->cells);
    pipe_buf_free(&dedup->pending);
    pipe_state_free_keys(&dedup->state);
    free(dedup);
}

static void dedup_attach(void *state, const struct pipe_state_reader *reader)
{
    struct pipe_dedup *dedup = state;
    dedup->reader = *reader;
    dedup->has_reader = true;
}

void dedup_key(uint8_t key[DEDUP_KEY_BYTES], char kind, int64_t cell, uint64_t serial)
{
    key[0] = (uint8_t)kind;
    pipe_state_time_key(key + 1, cell);
    serial = __builtin_bswap64(serial);
    memcpy(key + 9, &serial, 8);
}

void dedup_remove_below(const struct pipe_state_writer *writer, char kind, int64_t cell)
{
    uint8_t from = (uint8_t)kind, to[DEDUP_KEY_BYTES];
    dedup_key(to, kind, cell, 0);
    writer->remove_range(writer->context, &from, 1, to, 9);
}

bool dedup_each_id(struct pipe_dedup *dedup, struct pipe_str value,
                   bool (*each)(struct pipe_dedup *dedup, const struct id *id, void *context),
                   void *context)
{
    if (value.size % sizeof(struct id) != 0)
        return false;
    for (size_t at = 0; at < value.size; at += sizeof(struct id)) {
        struct id id;
        memcpy(&id, value.data + at, sizeof id);
        if (id_tag(&id) == ID_TAG_NONE || id_tag(&id) > ID_TAG_HASHED || !each(dedup, &id, context))
            return false;
    }
    return true;
}

static bool load_id(struct pipe_dedup *dedup, const struct id *id, void *cell)
{
    if (dedup_cell_of(dedup, id) != *(const int64_t *)cell)
        return false;
    struct id *found = id_table_find(&dedup->table, id);
    /* A key that came again after it was forgotten may be in two cells: the later one counts. */
    if (found == NULL && id_table_is_full(&dedup->table))
        make_room(dedup, PIPE_TIME_MIN);
    if (found == NULL || id_expiry(found) < id_expiry(id))
        remember(dedup, found, id);
    cell_at(dedup, id_expiry(id))->saved = true;
    return true;
}

static bool dedup_load(void *state, const void *key, size_t key_bytes, const void *value,
                       size_t value_bytes)
{
    struct pipe_dedup *dedup = state;
    const uint8_t *bytes = key;
    dedup->state.due = PIPE_TIME_MIN;
    if (key_bytes < DEDUP_KEY_BYTES)
        return false;
    int64_t cell = pipe_state_time_of_key(bytes + 1);
    uint64_t serial;
    memcpy(&serial, bytes + 9, 8);
    serial = __builtin_bswap64(serial);
    if (serial == UINT64_MAX)
        return false;
    if (serial >= dedup->serial)
        dedup->serial = serial + 1;
    struct pipe_str ids = pipe_str_of(value, value_bytes);
    if (bytes[0] == 'r')
        return dedup_load_run(dedup, bytes, key_bytes, ids);
    return bytes[0] == 's' && key_bytes == DEDUP_KEY_BYTES &&
           dedup_each_id(dedup, ids, load_id, &cell);
}

static int compare_pending(const void *a, const void *b)
{
    const struct id *x = a, *y = b;
    if (x->meta != y->meta)
        return x->meta < y->meta ? -1 : 1;
    if (x->low != y->low)
        return x->low < y->low ? -1 : 1;
    return (x->high > y->high) - (x->high < y->high);
}

/* Brings the keys of the first one's cell to the front; returns how many there are. */
static size_t gather_cell(const struct pipe_dedup *dedup, struct id *ids, size_t count)
{
    int64_t begin = dedup_cell_of(dedup, &ids[0]) * dedup->width, last;
    size_t front = 0;
    if (__builtin_add_overflow(begin, dedup->width - 1, &last))
        last = PIPE_TIME_MAX;
    for (size_t i = 0; i < count; i++) {
        int64_t expiry = id_expiry(&ids[i]);
        if (expiry < begin || expiry > last)
            continue;
        struct id swap = ids[front];
        ids[front++] = ids[i];
        ids[i] = swap;
    }
    return front;
}

#define SORT_BEYOND 8 /* cells in one save: usually there are few */

static void dedup_save(void *state, const struct pipe_state_writer *writer)
{
    struct pipe_dedup *dedup = state;
    struct id *pending = (struct id *)(void *)dedup->pending.data;
    size_t count = dedup->pending.size / sizeof *pending, n;
    if (dedup->drop_saved)
        dedup_remove_below(writer, 's', dedup->first_kept);
    if (dedup->drop_spilled)
        dedup_remove_below(writer, 'r', dedup->first_kept);
    dedup->drop_saved = dedup->drop_spilled = false;
    unsigned cells = 0;
    for (size_t begin = 0; begin < count; begin += n, cells++) {
        if (cells == SORT_BEYOND)
            qsort(pending + begin, count - begin, sizeof *pending, compare_pending);
        int64_t index = dedup_cell_of(dedup, &pending[begin]);
        if (cells < SORT_BEYOND) {
            n = gather_cell(dedup, pending + begin, count - begin);
        } else {
            for (n = 1; begin + n < count && dedup_cell_of(dedup, &pending[begin + n]) == index;)
                n++;
        }
        /* Over already: neither needed nor, with its range removed, ever taken away again. */
        if (index < dedup->first_kept)
            continue;
        uint8_t key[DEDUP_KEY_BYTES];
        dedup_key(key, 's', index, dedup->serial);
        writer->put(writer->context, key, sizeof key, &pending[begin], n * sizeof *pending);
        cell_at(dedup, id_expiry(&pending[begin]))->saved = true;
    }
    dedup->serial += count > 0;
    dedup->pending.size = 0;
}

static int64_t dedup_next_due(const struct pipe_dedup *dedup)
{
    int64_t due = dedup->run_due;
    if (dedup->cell_count > 0) {
        int64_t end = dedup_end_of(dedup, dedup->cells[0].index);
        due = end < due ? end : due;
    }
    return due;
}

static void dedup_advance(struct pipe_task *task, uint32_t state, int64_t watermark)
{
    struct pipe_dedup *dedup = task->states[state];
    if (watermark > dedup->advanced) {
        dedup->advanced = watermark;
        drop_cells(dedup, watermark);
        if (dedup->run_due <= watermark)
            dedup_drop_runs(dedup, watermark);
        shrink(dedup, watermark);
    }
    dedup->state.due = dedup_next_due(dedup);
}

static void dedup_settle(struct pipe_task *task, uint32_t state)
{
    (void)task;
    (void)state;
}

static uint64_t dedup_open_pairs(const void *state)
{
    (void)state;
    return 0;
}

static uint64_t dedup_entry_count(const void *state)
{
    const struct pipe_dedup *dedup = state;
    return dedup->live + dedup->spilled;
}

static uint64_t dedup_memory_bytes(const void *state)
{
    const struct pipe_dedup *dedup = state;
    return sizeof *dedup + id_table_bytes(&dedup->table) + dedup->pending.capacity +
           dedup->cell_capacity * sizeof *dedup->cells + dedup_spill_bytes(dedup);
}

static void dedup_spilled(const void *state, struct pipe_state_spilled *out)
{
    const struct pipe_dedup *dedup = state;
    *out = (struct pipe_state_spilled){dedup->spilled, dedup->reads, dedup_trace_bytes(dedup)};
}

const struct pipe_state_ops pipe_dedup_ops = {
    .create = dedup_create,
    .destroy = dedup_destroy,
    .attach = dedup_attach,
    .load = dedup_load,
    .spill = dedup_spill,
    .save = dedup_save,
    .ask = dedup_ask,
    .advance = dedup_advance,
    .settle = dedup_settle,
    .open_pairs = dedup_open_pairs,
    .entry_count = dedup_entry_count,
    .memory_bytes = dedup_memory_bytes,
    .spilled = dedup_spilled,
};

const struct pipe_state_ops *pipe_state_ops_of(enum pipe_state_kind kind)
{
    switch (kind) {
    case PIPE_STATE_DEDUP:
        return &pipe_dedup_ops;
    case PIPE_STATE_WINDOW:
        return &pipe_window_ops;
    case PIPE_STATE_SESSION:
        return &pipe_session_ops;
    }
    return NULL;
}
