/*
 * dedup.c: the keys that were seen, for as long as the ttl says (semantics.md §2, Dedup).
 *
 * Identity: 16 bytes and a tag. Keys whose encoding has up to 16 bytes, a single text of 16 bytes
 * and UUID text are held exactly, the tag being their form, so two of them are equal exactly if the
 * keys are. Longer keys are a 128-bit SipHash-2-4 under a key that is random for each state
 * directory: a pseudo-random function, so whoever writes the log cannot look for two keys that
 * collide, as he could with a fixed hash or with XXH3, whose seed can be recovered or cancelled
 * out. Their tag is their own, so that no exact key equals a hashed one.
 *
 * Memory: 1024 open-addressing tables chosen by the hash, each rebuilt on its own when four fifths
 * are used, without its expired keys, to five ninths: 30 to 43 bytes a key and no long pause. A
 * key that is expired but still there counts as forgotten, so the verdict never depends on when
 * memory is freed.
 *
 * State entries: key = bucket of expiry time, then serial of the save; value = the keys added by
 * that save. A bucket is a sixteenth of the ttl; those that are over are removed as one range.
 */
#include <stdlib.h>

#include "pipe.h"
#include "state.h"
#include "aggregates_state.h"

#define SEGMENTS 1024u
#define BUCKETS_PER_TTL 16
#define MAX_EXPIRY ((1ll << 58) - 1) /* 11104 AD: later ones are kept for ever */

enum { TAG_FREE, TAG_TEXT_16 = 17, TAG_UUID, TAG_HASHED }; /* 1 to 16: bytes of the encoding */

struct id {
    uint64_t low, high;
    int64_t meta; /* expiry × 32 + tag */
};

struct segment {
    struct id *ids;
    uint32_t capacity, used;
};

struct bucket {
    int64_t index; /* expiry / width */
    uint64_t count;
    bool stored;
};

/* Identities of keys that come next: a power of two of them. */
#define AHEAD 16u
#define AHEAD_SLOTS 2u      /* slots are asked for so many keys after their segments */
#define AHEAD_KEY_BYTES 104 /* longer keys are identified again */

struct ahead {
    struct id id;
    uint64_t place;
    unsigned tag;
    uint32_t key_bytes;
    uint8_t key[AHEAD_KEY_BYTES];
};

struct pipe_dedup {
    const struct pipe_state_def *def;
    struct pipe_hash_key hash_key;
    struct segment *segments;
    int64_t width;
    struct bucket *buckets; /* ascending; only those that may hold living keys */
    uint32_t bucket_count, bucket_capacity, recent;
    uint64_t live;           /* in the buckets */
    uint64_t slots;          /* capacity of all segments */
    int64_t advanced;        /* W up to which buckets were dropped */
    int64_t first_kept;      /* index; all buckets below are dropped */
    bool drop_stored;        /* buckets below the first were stored */
    uint64_t serial;         /* of the next save */
    struct pipe_buf pending; /* struct id, added since the last save */
    struct ahead *ahead; /* [ahead_taken, ahead_count) modulo AHEAD are to come; NULL: none yet */
    uint32_t ahead_taken, ahead_count;
};

static inline int64_t expiry_of(const struct id *id)
{
    int64_t expiry = id->meta >> 5;
    return expiry == MAX_EXPIRY ? PIPE_TIME_MAX : expiry;
}

static inline unsigned tag_of(const struct id *id)
{
    return (unsigned)id->meta & 31;
}

static inline int64_t meta_of(int64_t expiry, unsigned tag)
{
    if (expiry > MAX_EXPIRY)
        expiry = MAX_EXPIRY;
    if (expiry < -MAX_EXPIRY)
        expiry = -MAX_EXPIRY;
    return (int64_t)((uint64_t)expiry << 5 | tag);
}

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

static unsigned identify(const struct pipe_dedup *dedup, const struct pipe_buf *key, struct id *id)
{
    const uint8_t *bytes = key->data;
    size_t size = key->size;
    uint8_t exact[16] = {0};
    unsigned tag;
    if (size == 37 && bytes[0] == 36 && pack_uuid(bytes + 1, exact)) {
        tag = TAG_UUID;
    } else if (size <= 16) {
        memcpy(exact, bytes, size);
        tag = (unsigned)size;
    } else if (size == 17 && bytes[0] == 16) {
        memcpy(exact, bytes + 1, 16);
        tag = TAG_TEXT_16;
    } else {
        uint64_t hash[2];
        pipe_keyed_hash128(bytes, size, (const uint8_t *)&dedup->hash_key, hash);
        id->low = hash[0];
        id->high = hash[1];
        return TAG_HASHED;
    }
    memcpy(&id->low, exact, 8);
    memcpy(&id->high, exact + 8, 8);
    return tag;
}

/* Keyed too, so that exact keys cannot be chosen to fall into one place. */
static inline uint64_t place_of(const struct pipe_dedup *dedup, const struct id *id)
{
    pipe_u128 product = (pipe_u128)(id->low ^ dedup->hash_key.low ^ 0x9E3779B97F4A7C15u) *
                        (id->high ^ dedup->hash_key.high ^ 0xD1B54A32D192ED03u);
    uint64_t folded = (uint64_t)product ^ (uint64_t)(product >> 64);
    product = (pipe_u128)(folded ^ dedup->hash_key.high) * 0xA0761D6478BD642Fu;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline struct segment *segment_of(struct pipe_dedup *dedup, uint64_t place)
{
    return &dedup->segments[place >> 54];
}

static inline uint32_t slot_of(const struct segment *segment, uint64_t place)
{
    return (uint32_t)(((place & UINT32_MAX) * segment->capacity) >> 32);
}

/* The slot with this identity, or the free one where it belongs. */
static inline struct id *find(const struct segment *segment, uint64_t place, const struct id *id,
                              unsigned tag)
{
    uint32_t i = slot_of(segment, place);
    for (;; i = i + 1 == segment->capacity ? 0 : i + 1) {
        struct id *slot = &segment->ids[i];
        if (tag_of(slot) == TAG_FREE ||
            (slot->low == id->low && slot->high == id->high && tag_of(slot) == tag))
            return slot;
    }
}

/* Makes room: keys that are expired at `watermark` go, the rest takes five ninths. */
static void rebuild(struct pipe_dedup *dedup, struct segment *segment, int64_t watermark)
{
    struct segment old = *segment;
    uint32_t live = 0;
    for (uint32_t i = 0; i < old.capacity; i++)
        live += tag_of(&old.ids[i]) != TAG_FREE && expiry_of(&old.ids[i]) >= watermark;
    if (live > UINT32_MAX / 2)
        pipe_out_of_memory();
    segment->capacity = live + live / 5 * 4 + 8;
    segment->ids = pipe_calloc(segment->capacity, sizeof *segment->ids);
    segment->used = live;
    dedup->slots += segment->capacity - (uint64_t)old.capacity;
    for (uint32_t i = 0; i < old.capacity; i++) {
        struct id *id = &old.ids[i];
        if (tag_of(id) != TAG_FREE && expiry_of(id) >= watermark)
            *find(segment, place_of(dedup, id), id, tag_of(id)) = *id;
    }
    free(old.ids);
}

/* --- Buckets ------------------------------------------------------------------------------------
 */

static struct bucket *bucket_at(struct pipe_dedup *dedup, int64_t expiry)
{
    int64_t index = pipe_floor_div(expiry, dedup->width);
    if (dedup->recent < dedup->bucket_count && dedup->buckets[dedup->recent].index == index)
        return &dedup->buckets[dedup->recent];
    uint32_t low = 0, high = dedup->bucket_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (dedup->buckets[middle].index < index)
            low = middle + 1;
        else
            high = middle;
    }
    dedup->recent = low;
    if (low < dedup->bucket_count && dedup->buckets[low].index == index)
        return &dedup->buckets[low];
    if (dedup->bucket_count == dedup->bucket_capacity) {
        dedup->bucket_capacity = dedup->bucket_capacity == 0 ? 32 : dedup->bucket_capacity * 2;
        dedup->buckets =
            pipe_realloc(dedup->buckets, dedup->bucket_capacity * sizeof *dedup->buckets);
    }
    memmove(dedup->buckets + low + 1, dedup->buckets + low,
            (dedup->bucket_count - low) * sizeof *dedup->buckets);
    dedup->bucket_count++;
    dedup->buckets[low] = (struct bucket){.index = index};
    return &dedup->buckets[low];
}

/* The first W at which every key of the bucket is forgotten. */
static int64_t end_of(const struct pipe_dedup *dedup, const struct bucket *bucket)
{
    int64_t end;
    if (__builtin_mul_overflow(bucket->index + 1, dedup->width, &end))
        return PIPE_TIME_MAX;
    return end;
}

static void drop_buckets(struct pipe_dedup *dedup, int64_t watermark)
{
    uint32_t over = 0;
    /* Keys without an end (MAX) outlive even +∞. */
    while (over < dedup->bucket_count && end_of(dedup, &dedup->buckets[over]) <= watermark &&
           end_of(dedup, &dedup->buckets[over]) != PIPE_TIME_MAX) {
        dedup->live -= dedup->buckets[over].count;
        dedup->drop_stored |= dedup->buckets[over].stored;
        over++;
    }
    if (over == 0)
        return;
    dedup->first_kept = dedup->buckets[over - 1].index + 1;
    dedup->bucket_count -= over;
    memmove(dedup->buckets, dedup->buckets + over, dedup->bucket_count * sizeof *dedup->buckets);
    dedup->recent = 0;
}

/* Gives memory back when traffic has ebbed away, and when nothing saves. */
static void shrink(struct pipe_dedup *dedup, int64_t watermark)
{
    if (dedup->slots > 64 * SEGMENTS && dedup->live < dedup->slots / 4) {
        for (uint32_t i = 0; i < SEGMENTS; i++) {
            if (dedup->segments[i].capacity > 0)
                rebuild(dedup, &dedup->segments[i], watermark);
        }
    }
    struct id *pending = (struct id *)(void *)dedup->pending.data;
    size_t count = dedup->pending.size / sizeof *pending, kept = 0;
    if (count <= 2 * dedup->live + 4096)
        return;
    for (size_t i = 0; i < count; i++) {
        if (expiry_of(&pending[i]) >= watermark)
            pending[kept++] = pending[i];
    }
    dedup->pending.size = kept * sizeof *pending;
}

/* --- Records ------------------------------------------------------------------------------------
 */

static void remember(struct pipe_dedup *dedup, uint64_t place, struct id *slot, const struct id *id,
                     int64_t watermark)
{
    struct segment *segment = segment_of(dedup, place);
    if (slot == NULL || (tag_of(slot) == TAG_FREE && segment->used >= segment->capacity / 5 * 4)) {
        rebuild(dedup, segment, watermark);
        slot = find(segment, place, id, tag_of(id));
    }
    if (tag_of(slot) == TAG_FREE) {
        segment->used++;
    } else if (pipe_floor_div(expiry_of(slot), dedup->width) >= dedup->first_kept) {
        bucket_at(dedup, expiry_of(slot))->count--;
        dedup->live--;
    }
    *slot = *id;
    bucket_at(dedup, expiry_of(id))->count++;
    dedup->live++;
}

void pipe_dedup_ahead(struct pipe_task *task, uint32_t state)
{
    struct pipe_dedup *dedup = task->states[state];
    if (task->key.size > AHEAD_KEY_BYTES)
        return;
    if (dedup->ahead == NULL)
        dedup->ahead = pipe_calloc(AHEAD, sizeof *dedup->ahead);
    struct ahead *ahead = &dedup->ahead[dedup->ahead_count++ % AHEAD];
    if (dedup->ahead_count - dedup->ahead_taken > AHEAD)
        dedup->ahead_taken++;
    ahead->tag = identify(dedup, &task->key, &ahead->id);
    ahead->place = place_of(dedup, &ahead->id);
    ahead->key_bytes = (uint32_t)task->key.size;
    memcpy(ahead->key, task->key.data, task->key.size);
    __builtin_prefetch(segment_of(dedup, ahead->place));
    /* The segment of an earlier one has come by now. */
    uint64_t place = dedup->ahead[(dedup->ahead_count - 1 - AHEAD_SLOTS) % AHEAD].place;
    const struct segment *segment = segment_of(dedup, place);
    if (segment->capacity > 0) {
        const struct id *slot = &segment->ids[slot_of(segment, place)];
        __builtin_prefetch(slot, 1);
        __builtin_prefetch(slot + 2, 1);
    }
}

/* The identity of the key and its place; that of the records since the last one that were not asked
 * for is dropped. */
static unsigned identify_next(struct pipe_dedup *dedup, const struct pipe_buf *key, struct id *id,
                              uint64_t *place)
{
    while (dedup->ahead_taken != dedup->ahead_count) {
        const struct ahead *ahead = &dedup->ahead[dedup->ahead_taken++ % AHEAD];
        if (ahead->key_bytes == key->size && memcmp(ahead->key, key->data, key->size) == 0) {
            *id = ahead->id;
            *place = ahead->place;
            return ahead->tag;
        }
    }
    unsigned tag = identify(dedup, key, id);
    *place = place_of(dedup, id);
    return tag;
}

enum pipe_dedup_verdict pipe_dedup(struct pipe_task *task, uint32_t state,
                                   const struct pipe_record *record)
{
    struct pipe_dedup *dedup = task->states[state];
    const struct pipe_state_def *def = dedup->def;
    struct pipe_counters *counters = &task->counters[def->stream];
    int64_t watermark = pipe_time_sub(task->watermark, def->delay);
    /* Behind an exchange W depends on where commits put the markers, so it frees memory only: what
     * a record is judged by must be a function of the source's log. It is never less than W. */
    int64_t judge = watermark;
    if (def->judge_by_record)
        judge = pipe_time_sub(record->watermark, def->delay);
    counters->dedup_in++;
    /* Rows of a window come when W has passed them and are never too old. */
    if (record->has_position && record->event_time < pipe_time_sub(judge, def->ttl)) {
        counters->too_old++;
        return PIPE_TOO_OLD;
    }
    struct id id;
    uint64_t place;
    unsigned tag = identify_next(dedup, &task->key, &id, &place);
    struct segment *segment = segment_of(dedup, place);
    struct id *slot = segment->capacity == 0 ? NULL : find(segment, place, &id, tag);
    if (slot != NULL && tag_of(slot) != TAG_FREE && judge <= expiry_of(slot)) {
        counters->duplicate++;
        return PIPE_DUPLICATE;
    }
    int64_t from = record->event_time > judge ? record->event_time : judge;
    id.meta = meta_of(pipe_time_add(from, def->ttl), tag);
    remember(dedup, place, slot, &id, watermark);
    pipe_buf_add(&dedup->pending, &id, sizeof id);
    counters->unique++;
    return PIPE_UNIQUE;
}

/* --- State --------------------------------------------------------------------------------------
 */

static void *dedup_create(const struct pipe_state_def *def, const struct pipe_hash_key *hash_key)
{
    struct pipe_dedup *dedup = pipe_calloc(1, sizeof *dedup);
    dedup->def = def;
    dedup->hash_key = *hash_key;
    dedup->segments = pipe_calloc(SEGMENTS, sizeof *dedup->segments);
    dedup->width = def->ttl / BUCKETS_PER_TTL;
    if (dedup->width < 1000)
        dedup->width = 1000;
    dedup->advanced = dedup->first_kept = PIPE_TIME_MIN;
    return dedup;
}

static void dedup_destroy(void *state)
{
    struct pipe_dedup *dedup = state;
    for (uint32_t i = 0; i < SEGMENTS; i++)
        free(dedup->segments[i].ids);
    free(dedup->segments);
    free(dedup->buckets);
    pipe_buf_free(&dedup->pending);
    free(dedup->ahead);
    free(dedup);
}

#define KEY_BYTES 16

static void state_key(uint8_t key[KEY_BYTES], int64_t bucket, uint64_t serial)
{
    pipe_state_time_key(key, bucket);
    serial = __builtin_bswap64(serial);
    memcpy(key + 8, &serial, 8);
}

static bool dedup_load(void *state, const void *key, size_t key_bytes, const void *value,
                       size_t value_bytes)
{
    struct pipe_dedup *dedup = state;
    if (key_bytes != KEY_BYTES || value_bytes % sizeof(struct id) != 0)
        return false;
    int64_t index = pipe_state_time_of_key(key);
    uint64_t serial;
    memcpy(&serial, (const uint8_t *)key + 8, 8);
    serial = __builtin_bswap64(serial);
    if (serial >= dedup->serial)
        dedup->serial = serial + 1;
    for (size_t at = 0; at < value_bytes; at += sizeof(struct id)) {
        struct id id;
        memcpy(&id, (const uint8_t *)value + at, sizeof id);
        unsigned tag = tag_of(&id);
        if (tag == TAG_FREE || tag > TAG_HASHED ||
            pipe_floor_div(expiry_of(&id), dedup->width) != index)
            return false;
        uint64_t place = place_of(dedup, &id);
        struct segment *segment = segment_of(dedup, place);
        struct id *slot = segment->capacity == 0 ? NULL : find(segment, place, &id, tag);
        /* A key that came again after it was forgotten may be in two buckets: the later one counts.
         */
        if (slot == NULL || tag_of(slot) == TAG_FREE || expiry_of(slot) < expiry_of(&id))
            remember(dedup, place, slot, &id, PIPE_TIME_MIN);
        bucket_at(dedup, expiry_of(&id))->stored = true;
    }
    return true;
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

static int64_t bucket_of(const struct pipe_dedup *dedup, const struct id *id)
{
    return pipe_floor_div(expiry_of(id), dedup->width);
}

/* Brings the keys of the first one's bucket to the front; returns how many there are. */
static size_t gather_bucket(const struct pipe_dedup *dedup, struct id *ids, size_t count)
{
    int64_t begin = bucket_of(dedup, &ids[0]) * dedup->width, last;
    size_t front = 0;
    if (__builtin_add_overflow(begin, dedup->width - 1, &last))
        last = PIPE_TIME_MAX;
    for (size_t i = 0; i < count; i++) {
        int64_t expiry = expiry_of(&ids[i]);
        if (expiry < begin || expiry > last)
            continue;
        struct id swap = ids[front];
        ids[front++] = ids[i];
        ids[i] = swap;
    }
    return front;
}

#define SORT_BEYOND 8 /* buckets in one save: usually there are one or two */

static void dedup_save(void *state, const struct pipe_state_writer *writer)
{
    struct pipe_dedup *dedup = state;
    struct id *pending = (struct id *)(void *)dedup->pending.data;
    size_t count = dedup->pending.size / sizeof *pending, n;
    uint8_t key[KEY_BYTES], from[8] = {0};
    if (dedup->drop_stored) {
        state_key(key, dedup->first_kept, 0);
        writer->remove_range(writer->context, from, sizeof from, key, 8);
        dedup->drop_stored = false;
    }
    unsigned buckets = 0;
    for (size_t begin = 0; begin < count; begin += n, buckets++) {
        if (buckets == SORT_BEYOND)
            qsort(pending + begin, count - begin, sizeof *pending, compare_pending);
        int64_t index = bucket_of(dedup, &pending[begin]);
        if (buckets < SORT_BEYOND) {
            n = gather_bucket(dedup, pending + begin, count - begin);
        } else {
            for (n = 1; begin + n < count && bucket_of(dedup, &pending[begin + n]) == index;)
                n++;
        }
        /* Over already: neither needed nor, with its range removed, ever taken away again. */
        if (index < dedup->first_kept)
            continue;
        state_key(key, index, dedup->serial);
        writer->put(writer->context, key, sizeof key, &pending[begin], n * sizeof *pending);
        bucket_at(dedup, expiry_of(&pending[begin]))->stored = true;
    }
    dedup->serial += count > 0;
    dedup->pending.size = 0;
}

static void dedup_advance(struct pipe_task *task, uint32_t state, int64_t watermark)
{
    struct pipe_dedup *dedup = task->states[state];
    if (watermark <= dedup->advanced)
        return;
    dedup->advanced = watermark;
    drop_buckets(dedup, watermark);
    shrink(dedup, watermark);
}

static void dedup_settle(struct pipe_task *task, uint32_t state)
{
    (void)task;
    (void)state;
}

static int64_t dedup_next_due(const void *state)
{
    const struct pipe_dedup *dedup = state;
    return dedup->bucket_count == 0 ? PIPE_TIME_MAX : end_of(dedup, &dedup->buckets[0]);
}

static uint64_t dedup_open_pairs(const void *state)
{
    (void)state;
    return 0;
}

static uint64_t dedup_entry_count(const void *state)
{
    return ((const struct pipe_dedup *)state)->live;
}

static uint64_t dedup_memory_bytes(const void *state)
{
    const struct pipe_dedup *dedup = state;
    return sizeof *dedup + SEGMENTS * sizeof *dedup->segments + dedup->slots * sizeof(struct id) +
           dedup->pending.capacity + dedup->bucket_capacity * sizeof *dedup->buckets;
}

const struct pipe_state_ops pipe_dedup_ops = {
    .create = dedup_create,
    .destroy = dedup_destroy,
    .load = dedup_load,
    .save = dedup_save,
    .advance = dedup_advance,
    .settle = dedup_settle,
    .next_due = dedup_next_due,
    .open_pairs = dedup_open_pairs,
    .entry_count = dedup_entry_count,
    .memory_bytes = dedup_memory_bytes,
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
