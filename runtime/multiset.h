/*
 * multiset.h: multisets of rows too big for memory, compared by content: a row is its 16-byte hash.
 *
 * A spill is a bag of entries of one size that begin with a hash, partitioned by the first byte of
 * it: of each of the 256 partitions one block is in memory, full ones go to a temporary file that
 * all spills of a store share and that has no name. A multiset is compared partition by partition.
 * So of N rows about N / 256 hashes are in memory at once, and 1 MiB a spill: 100 M rows need 13
 * MB.
 *
 * Errors (a full disk): store->failed with store->error, one line; calls then do nothing.
 */
#ifndef PIPE_MULTISET_H
#define PIPE_MULTISET_H

#include "value.h"

#define PIPE_SPILL_PARTITIONS 256u
#define PIPE_SPILL_BLOCK 4096u

struct pipe_hash {
    uint64_t word[2];
};

struct pipe_spill_store {
    int fd;
    uint32_t blocks; /* written */
    bool failed;
    char dir[4096];
    char error[4600];
};
/* `dir` NULL: $TMPDIR, else /var/tmp, else /tmp. False: error. Close it in any case. */
bool pipe_spill_store_open(struct pipe_spill_store *store, const char *dir);
void pipe_spill_store_close(struct pipe_spill_store *store);
/* Another file of this kind, for the caller to close; -1: errno. */
int pipe_spill_store_file(const struct pipe_spill_store *store);

struct pipe_spill_part {
    uint8_t *block;    /* NULL until the first entry */
    uint32_t entries;  /* in the block */
    uint32_t *written; /* blocks in the file, in order */
    uint32_t count, capacity;
};
struct pipe_spill {
    struct pipe_spill_store *store;
    uint32_t entry_bytes; /* a struct that begins with a struct pipe_hash */
    uint64_t entries;
    struct pipe_spill_part parts[PIPE_SPILL_PARTITIONS];
};
void pipe_spill_init(struct pipe_spill *spill, struct pipe_spill_store *store,
                     uint32_t entry_bytes);
void pipe_spill_free(struct pipe_spill *spill);
void pipe_spill_add(struct pipe_spill *spill, const void *entry);
/* All entries of a partition, in the order in which they were added, into `out` (emptied here). */
bool pipe_spill_load(struct pipe_spill *spill, uint32_t partition, struct pipe_buf *out,
                     uint64_t *count);

/* A row must be there once for each time it was REQUIRED, and may be there once more for each time
 * it was ALLOWED. */
enum pipe_multiset_side { PIPE_REQUIRED, PIPE_ALLOWED, PIPE_ACTUAL, PIPE_SIDES };

struct pipe_multiset {
    struct pipe_spill sides[PIPE_SIDES];
};
void pipe_multiset_init(struct pipe_multiset *set, struct pipe_spill_store *store);
void pipe_multiset_free(struct pipe_multiset *set);
void pipe_multiset_add(struct pipe_multiset *set, enum pipe_multiset_side side,
                       const struct pipe_hash *row);

#define PIPE_DIFFERENCES_MAX 256u /* rows told apart; the rest is only counted */
struct pipe_difference {
    struct pipe_hash row;
    uint64_t least, most, actual; /* how often it must, may and does occur */
};
struct pipe_comparison {
    uint64_t expected, actual; /* rows; expected: as many as there are where all is equal */
    uint64_t unique;           /* different rows among the actual ones */
    uint64_t missing, unexpected;
    struct pipe_difference differences[PIPE_DIFFERENCES_MAX]; /* by hash */
    uint32_t difference_count;
};
/* Adds to `out` (zeroed by the caller). False: the store has failed. */
bool pipe_multiset_compare(struct pipe_multiset *set, struct pipe_comparison *out);
/* That of the row, or NULL. */
struct pipe_difference *pipe_difference_of(struct pipe_comparison *comparison,
                                           const struct pipe_hash *row);

/* The content of a row. `place` is hashed with it: a partition, a time. data NULL is not "". */
struct pipe_hash pipe_message_hash(int64_t place, struct pipe_str key, struct pipe_str value);

static inline int pipe_hash_order(const struct pipe_hash *a, const struct pipe_hash *b)
{
    if (a->word[0] != b->word[0])
        return a->word[0] < b->word[0] ? -1 : 1;
    return a->word[1] < b->word[1] ? -1 : a->word[1] > b->word[1];
}

#endif
