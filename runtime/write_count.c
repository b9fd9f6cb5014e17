/* write_count.c: see write_count.h. Keys: 'w' and "count" or "number", of 8 bytes each. */
#include "write_count.h"

#include <string.h>

static const char count_key[] = "wcount", number_key[] = "wnumber";

void write_count_options(rocksdb_options_t *options)
{
    rocksdb_options_set_uint64add_merge_operator(options);
}

void write_count_add(rocksdb_writebatch_t *batch, uint64_t number)
{
    const uint64_t one = 1;
    rocksdb_writebatch_merge(batch, count_key, sizeof count_key - 1, (const char *)&one,
                             sizeof one);
    rocksdb_writebatch_put(batch, number_key, sizeof number_key - 1, (const char *)&number,
                           sizeof number);
}

static bool get(rocksdb_t *db, const rocksdb_readoptions_t *options, const char *key,
                uint64_t *value, char **error)
{
    size_t size = 0;
    char *got = rocksdb_get(db, options, key, strlen(key), &size, error);
    *value = 0;
    if (got != NULL && size == sizeof *value)
        memcpy(value, got, sizeof *value);
    rocksdb_free(got);
    return *error == NULL;
}

bool write_count_check(rocksdb_t *db, const rocksdb_readoptions_t *options, uint64_t *number,
                       uint64_t *lost, char **error)
{
    uint64_t count;
    *error = NULL;
    *lost = 0;
    if (!get(db, options, number_key, number, error) || !get(db, options, count_key, &count, error))
        return false;
    *lost = *number - count;
    return *lost == 0;
}
