/* log_recent.c: see log_recent.h. */
#include "log_recent.h"

#include <pthread.h>
#include <stdlib.h>

#define BATCHES_MAX 3u            /* each may have been bigger once, and kept its memory */
#define BYTES_MAX (20ull << 20)   /* of those that nobody is reading: one of a run that is busy */
#define HELD_MAX (40ull << 20)    /* of all, also those that are held and listed no more */
#define SPARES_MAX 1u             /* a batch that is used again: it has grown already */
#define SPARE_BYTES (20ull << 20) /* one that was bigger gives its memory back */

struct recent_batch {
    rocksdb_writebatch_t *batch;
    const uint8_t *data;
    uint64_t bytes;
    struct log_chunk_place *chunks; /* sorted */
    uint32_t count;
    uint32_t holders; /* and one while it is listed */
};

struct log_recent {
    pthread_mutex_t lock;
    struct recent_batch *batches[BATCHES_MAX]; /* the oldest first */
    uint32_t count;
    uint64_t listed_bytes, bytes; /* of all; also of those that are only held */
    rocksdb_writebatch_t *spares[SPARES_MAX];
    uint32_t spare_count;
};

/* ---- Keys and places ---- */

static void put_be(uint8_t *to, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        to[i] = (uint8_t)(value >> (8 * (bytes - 1 - i)));
}

void log_chunk_key(uint8_t to[LOG_CHUNK_KEY_BYTES], uint32_t topic_id, int32_t partition,
                   int64_t base)
{
    to[0] = 'r';
    put_be(to + 1, topic_id, 4);
    put_be(to + 5, (uint32_t)partition, 4);
    put_be(to + 9, (uint64_t)base, 8);
}

void log_chunk_places_add(struct log_chunk_places *places, rocksdb_writebatch_t *batch,
                          const uint8_t key[LOG_CHUNK_KEY_BYTES], size_t size_bytes)
{
    size_t batch_bytes;
    if (places->count == places->capacity) {
        places->capacity = places->capacity * 2 + 64;
        places->items = pipe_realloc(places->items, places->capacity * sizeof *places->items);
    }
    struct log_chunk_place *place = &places->items[places->count++];
    memcpy(place->key, key, LOG_CHUNK_KEY_BYTES);
    rocksdb_writebatch_data(batch, &batch_bytes);
    place->at = batch_bytes - size_bytes; /* a value is the last thing of its entry */
    place->size_bytes = size_bytes;
}

static int compare_places(const void *a, const void *b)
{
    return memcmp(((const struct log_chunk_place *)a)->key,
                  ((const struct log_chunk_place *)b)->key, LOG_CHUNK_KEY_BYTES);
}

static int compare_key(const void *key, const void *place)
{
    return memcmp(key, ((const struct log_chunk_place *)place)->key, LOG_CHUNK_KEY_BYTES);
}

/* ---- Batches ---- */

struct log_recent *log_recent_new(void)
{
    struct log_recent *recent = pipe_calloc(1, sizeof *recent);
    pthread_mutex_init(&recent->lock, NULL);
    return recent;
}

/* With the lock: one holder less. */
static void let_go(struct log_recent *recent, struct recent_batch *batch)
{
    if (--batch->holders > 0)
        return;
    recent->bytes -= batch->bytes;
    if (recent->spare_count < SPARES_MAX && batch->bytes <= SPARE_BYTES)
        recent->spares[recent->spare_count++] = batch->batch;
    else
        rocksdb_writebatch_destroy(batch->batch);
    free(batch->chunks);
    free(batch);
}

static void forget_oldest(struct log_recent *recent)
{
    struct recent_batch *oldest = recent->batches[0];
    recent->count--;
    recent->listed_bytes -= oldest->bytes;
    memmove(recent->batches, recent->batches + 1, recent->count * sizeof(struct recent_batch *));
    let_go(recent, oldest);
}

void log_recent_free(struct log_recent *recent)
{
    if (recent == NULL)
        return;
    while (recent->count > 0)
        forget_oldest(recent);
    while (recent->spare_count > 0)
        rocksdb_writebatch_destroy(recent->spares[--recent->spare_count]);
    pthread_mutex_destroy(&recent->lock);
    free(recent);
}

static struct recent_batch *make_batch(rocksdb_writebatch_t *batch, struct log_chunk_places *places)
{
    struct recent_batch *made = pipe_calloc(1, sizeof *made);
    size_t bytes;
    qsort(places->items, places->count, sizeof *places->items, compare_places);
    made->batch = batch;
    made->data = (const uint8_t *)rocksdb_writebatch_data(batch, &bytes);
    made->bytes = bytes;
    made->chunks = places->items;
    made->count = places->count;
    made->holders = 1;
    *places = (struct log_chunk_places){0};
    return made;
}

/* Whether the oldest one has to go for so many bytes more. */
static bool is_over(const struct log_recent *recent, uint64_t more)
{
    bool held = recent->batches[0]->holders > 1;
    return recent->count == BATCHES_MAX || recent->bytes > HELD_MAX ||
           (!held && recent->listed_bytes + more > BYTES_MAX);
}

rocksdb_writebatch_t *log_recent_give(struct log_recent *recent, rocksdb_writebatch_t *batch,
                                      struct log_chunk_places *places)
{
    if (places->count == 0)
        return batch; /* nothing to read in it */
    struct recent_batch *made = make_batch(batch, places);
    pthread_mutex_lock(&recent->lock);
    recent->bytes += made->bytes;
    while (recent->count > 0 && is_over(recent, made->bytes))
        forget_oldest(recent);
    if (recent->bytes > HELD_MAX) { /* it alone is too big, or readers hold what is old */
        let_go(recent, made);
    } else {
        recent->batches[recent->count++] = made;
        recent->listed_bytes += made->bytes;
    }
    rocksdb_writebatch_t *next =
        recent->spare_count > 0 ? recent->spares[--recent->spare_count] : NULL;
    pthread_mutex_unlock(&recent->lock);
    return next != NULL ? next : rocksdb_writebatch_create();
}

/* ---- Chunks ---- */

static bool find_recent(struct log_recent *recent, const uint8_t key[LOG_CHUNK_KEY_BYTES],
                        struct log_chunk *chunk)
{
    const struct log_chunk_place *place = NULL;
    pthread_mutex_lock(&recent->lock);
    for (uint32_t i = 0; place == NULL && i < recent->count; i++) {
        struct recent_batch *batch = recent->batches[i];
        place = bsearch(key, batch->chunks, batch->count, sizeof *place, compare_key);
        if (place == NULL)
            continue;
        batch->holders++;
        *chunk = (struct log_chunk){
            .data = batch->data + place->at, .size_bytes = place->size_bytes, .batch = batch};
    }
    pthread_mutex_unlock(&recent->lock);
    return place != NULL;
}

bool log_chunk_get(const struct log_chunk_source *source, const uint8_t key[LOG_CHUNK_KEY_BYTES],
                   struct log_chunk *chunk, char **error)
{
    *chunk = (struct log_chunk){0};
    if (source->recent != NULL && find_recent(source->recent, key, chunk))
        return true;
    chunk->slice = rocksdb_get_pinned(source->db, source->options, (const char *)key,
                                      LOG_CHUNK_KEY_BYTES, error);
    if (chunk->slice == NULL || *error != NULL)
        return false;
    chunk->data = (const uint8_t *)rocksdb_pinnableslice_value(chunk->slice, &chunk->size_bytes);
    return true;
}

void log_chunk_release(const struct log_chunk_source *source, struct log_chunk *chunk)
{
    if (chunk->slice != NULL)
        rocksdb_pinnableslice_destroy(chunk->slice);
    if (chunk->batch != NULL) {
        pthread_mutex_lock(&source->recent->lock);
        let_go(source->recent, chunk->batch);
        pthread_mutex_unlock(&source->recent->lock);
    }
    *chunk = (struct log_chunk){0};
}
