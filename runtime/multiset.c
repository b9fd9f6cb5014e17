/* multiset.c: see multiset.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "multiset.h"

/* ---- The file behind ---- */

static bool fail(struct pipe_spill_store *store, const char *doing)
{
    if (!store->failed)
        snprintf(store->error, sizeof store->error,
                 "temporary files in %s can't be %s: %s; name another directory with TMPDIR",
                 store->dir, doing, strerror(errno));
    store->failed = true;
    return false;
}

static int open_unnamed(const char *dir)
{
    char path[4200];
    int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0)
        return fd;
    snprintf(path, sizeof path, "%s/pipe-rows.XXXXXX", dir); /* a file system without O_TMPFILE */
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    return fd;
}

bool pipe_spill_store_open(struct pipe_spill_store *store, const char *dir)
{
    *store = (struct pipe_spill_store){.fd = -1};
    dir = dir != NULL ? dir : getenv("TMPDIR");
    if (dir == NULL || dir[0] == '\0')
        dir = access("/var/tmp", W_OK) == 0 ? "/var/tmp" : "/tmp";
    snprintf(store->dir, sizeof store->dir, "%s", dir);
    store->fd = open_unnamed(store->dir);
    return store->fd >= 0 || fail(store, "made");
}

int pipe_spill_store_file(const struct pipe_spill_store *store)
{
    return open_unnamed(store->dir);
}

void pipe_spill_store_close(struct pipe_spill_store *store)
{
    if (store->fd >= 0)
        close(store->fd);
    store->fd = -1;
}

static bool move_block(struct pipe_spill_store *store, uint32_t number, uint8_t *bytes, bool write)
{
    size_t done = 0;
    off_t from = (off_t)number * PIPE_SPILL_BLOCK;
    while (done < PIPE_SPILL_BLOCK && !store->failed) {
        size_t left = PIPE_SPILL_BLOCK - done;
        ssize_t moved = write ? pwrite(store->fd, bytes + done, left, from + (off_t)done)
                              : pread(store->fd, bytes + done, left, from + (off_t)done);
        if (moved < 0 && errno == EINTR)
            continue;
        if (moved == 0)
            errno = EIO; /* the file has become shorter */
        if (moved <= 0)
            return fail(store, write ? "written" : "read");
        done += (size_t)moved;
    }
    return !store->failed;
}

/* ---- Spills ---- */

void pipe_spill_init(struct pipe_spill *spill, struct pipe_spill_store *store, uint32_t entry_bytes)
{
    *spill = (struct pipe_spill){.store = store, .entry_bytes = entry_bytes};
}

void pipe_spill_free(struct pipe_spill *spill)
{
    for (uint32_t p = 0; p < PIPE_SPILL_PARTITIONS; p++) {
        free(spill->parts[p].block);
        free(spill->parts[p].written);
    }
    memset(spill->parts, 0, sizeof spill->parts);
}

static void write_block(struct pipe_spill *spill, struct pipe_spill_part *part)
{
    struct pipe_spill_store *store = spill->store;
    if (part->count == part->capacity) {
        part->capacity = part->capacity == 0 ? 16 : part->capacity * 2;
        part->written = pipe_realloc(part->written, part->capacity * sizeof *part->written);
    }
    if (store->blocks == UINT32_MAX) {
        errno = EFBIG;
        fail(store, "made larger than 16 TiB");
        return;
    }
    if (!move_block(store, store->blocks, part->block, true))
        return;
    part->written[part->count++] = store->blocks++;
    part->entries = 0;
}

void pipe_spill_add(struct pipe_spill *spill, const void *entry)
{
    struct pipe_hash hash;
    memcpy(&hash, entry, sizeof hash);
    struct pipe_spill_part *part = &spill->parts[hash.word[0] >> 56];
    if (spill->store->failed)
        return;
    if (part->block == NULL)
        part->block = pipe_malloc(PIPE_SPILL_BLOCK);
    memcpy(part->block + (size_t)part->entries * spill->entry_bytes, entry, spill->entry_bytes);
    part->entries++;
    spill->entries++;
    if ((size_t)(part->entries + 1) * spill->entry_bytes > PIPE_SPILL_BLOCK)
        write_block(spill, part);
}

bool pipe_spill_load(struct pipe_spill *spill, uint32_t partition, struct pipe_buf *out,
                     uint64_t *count)
{
    const struct pipe_spill_part *part = &spill->parts[partition];
    uint32_t full = PIPE_SPILL_BLOCK / spill->entry_bytes;
    out->size = 0;
    *count = (uint64_t)part->count * full + part->entries;
    for (uint32_t i = 0; i < part->count; i++) {
        uint8_t *to = pipe_buf_reserve(out, PIPE_SPILL_BLOCK);
        if (!move_block(spill->store, part->written[i], to, false))
            return false;
        out->size += (size_t)full * spill->entry_bytes;
    }
    if (part->entries > 0)
        pipe_buf_add(out, part->block, (size_t)part->entries * spill->entry_bytes);
    return !spill->store->failed;
}

/* ---- Multisets ---- */

void pipe_multiset_init(struct pipe_multiset *set, struct pipe_spill_store *store)
{
    for (int side = 0; side < PIPE_SIDES; side++)
        pipe_spill_init(&set->sides[side], store, sizeof(struct pipe_hash));
}

void pipe_multiset_free(struct pipe_multiset *set)
{
    for (int side = 0; side < PIPE_SIDES; side++)
        pipe_spill_free(&set->sides[side]);
}

void pipe_multiset_add(struct pipe_multiset *set, enum pipe_multiset_side side,
                       const struct pipe_hash *row)
{
    pipe_spill_add(&set->sides[side], row);
}

static int by_hash(const void *a, const void *b)
{
    return pipe_hash_order(a, b);
}

/* One side of a partition, sorted. */
struct sorted {
    struct pipe_buf bytes;
    const struct pipe_hash *rows;
    uint64_t count, at;
};

static bool load_sorted(struct pipe_spill *spill, uint32_t partition, struct sorted *to)
{
    if (!pipe_spill_load(spill, partition, &to->bytes, &to->count))
        return false;
    to->at = 0;
    to->rows = (const struct pipe_hash *)(const void *)to->bytes.data;
    if (to->count > 0)
        qsort(to->bytes.data, to->count, sizeof(struct pipe_hash), by_hash);
    return true;
}

static uint64_t take(struct sorted *side, const struct pipe_hash *row)
{
    uint64_t count = 0;
    while (side->at < side->count && pipe_hash_order(&side->rows[side->at], row) == 0) {
        side->at++;
        count++;
    }
    return count;
}

static void judge(struct pipe_comparison *out, const struct pipe_difference *row)
{
    uint64_t due = row->actual < row->least  ? row->least
                   : row->actual > row->most ? row->most
                                             : row->actual;
    out->expected += due;
    out->actual += row->actual;
    out->unique += row->actual > 0;
    if (due > row->actual)
        out->missing += due - row->actual;
    else
        out->unexpected += row->actual - due;
    if (due != row->actual && out->difference_count < PIPE_DIFFERENCES_MAX)
        out->differences[out->difference_count++] = *row;
}

static void compare_sorted(struct sorted sides[PIPE_SIDES], struct pipe_comparison *out)
{
    for (;;) {
        const struct pipe_hash *least = NULL;
        for (int side = 0; side < PIPE_SIDES; side++) {
            if (sides[side].at == sides[side].count)
                continue;
            const struct pipe_hash *row = &sides[side].rows[sides[side].at];
            if (least == NULL || pipe_hash_order(row, least) < 0)
                least = row;
        }
        if (least == NULL)
            return;
        struct pipe_difference row = {.row = *least};
        row.least = take(&sides[PIPE_REQUIRED], &row.row);
        row.most = row.least + take(&sides[PIPE_ALLOWED], &row.row);
        row.actual = take(&sides[PIPE_ACTUAL], &row.row);
        judge(out, &row);
    }
}

bool pipe_multiset_compare(struct pipe_multiset *set, struct pipe_comparison *out)
{
    struct sorted sides[PIPE_SIDES] = {0};
    bool ok = true;
    for (uint32_t p = 0; ok && p < PIPE_SPILL_PARTITIONS; p++) {
        for (int side = 0; ok && side < PIPE_SIDES; side++)
            ok = load_sorted(&set->sides[side], p, &sides[side]);
        if (ok)
            compare_sorted(sides, out);
    }
    for (int side = 0; side < PIPE_SIDES; side++)
        pipe_buf_free(&sides[side].bytes);
    return ok && !set->sides[0].store->failed;
}

struct pipe_difference *pipe_difference_of(struct pipe_comparison *comparison,
                                           const struct pipe_hash *row)
{
    uint32_t low = 0, high = comparison->difference_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = pipe_hash_order(&comparison->differences[middle].row, row);
        if (order == 0)
            return &comparison->differences[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

struct pipe_hash pipe_message_hash(int64_t place, struct pipe_str key, struct pipe_str value)
{
    uint64_t parts[7] = {(uint64_t)place, key.data != NULL, value.data != NULL};
    struct pipe_hash hash;
    pipe_hash128(key.data != NULL ? key.data : "", key.size, 0, parts + 3);
    pipe_hash128(value.data != NULL ? value.data : "", value.size, 0, parts + 5);
    pipe_hash128(parts, sizeof parts, 0, hash.word);
    return hash;
}
