/* store_options.c: options of RocksDB that change how fast it is, but nothing that it promises. */
#include <stdlib.h>

#include <rocksdb/c.h>

#include "rocksdb_shim.h"
#include "value.h"

/* Objects that hold nothing, and setters that change nothing. */
#define OBJECT(type)                                                                               \
    rocksdb_##type##_t *rocksdb_##type##_create(void)                                              \
    {                                                                                              \
        return pipe_malloc(1);                                                                     \
    }                                                                                              \
    void rocksdb_##type##_destroy(rocksdb_##type##_t *object)                                      \
    {                                                                                              \
        free(object);                                                                              \
    }
#define SETTER(name, object, value)                                                                \
    void rocksdb_##name(object *of, value to)                                                      \
    {                                                                                              \
        (void)of;                                                                                  \
        (void)to;                                                                                  \
    }
#define BLOCK_SETTER(name, value)                                                                  \
    SETTER(block_based_options_##name, rocksdb_block_based_table_options_t, value)
#define UNIVERSAL_SETTER(name)                                                                     \
    SETTER(universal_compaction_options_##name, rocksdb_universal_compaction_options_t, int)
#define OPTION(name, value) SETTER(options_set_##name, rocksdb_options_t, value)

OBJECT(readoptions)
OBJECT(universal_compaction_options)
SETTER(readoptions_set_fill_cache, rocksdb_readoptions_t, unsigned char)
UNIVERSAL_SETTER(set_size_ratio)
UNIVERSAL_SETTER(set_min_merge_width)
UNIVERSAL_SETTER(set_max_size_amplification_percent)
BLOCK_SETTER(set_block_cache, rocksdb_cache_t *)
BLOCK_SETTER(set_block_size, size_t)
BLOCK_SETTER(set_checksum, char)
BLOCK_SETTER(set_filter_policy, rocksdb_filterpolicy_t *)
OPTION(allow_concurrent_memtable_write, unsigned char)
OPTION(block_based_table_factory, rocksdb_block_based_table_options_t *)
OPTION(compaction_style, int)
OPTION(compression, int)
OPTION(level0_file_num_compaction_trigger, int)
OPTION(level0_slowdown_writes_trigger, int)
OPTION(level0_stop_writes_trigger, int)
OPTION(max_file_opening_threads, int)
OPTION(max_open_files, int)
OPTION(max_write_buffer_number, int)
OPTION(universal_compaction_options, rocksdb_universal_compaction_options_t *)
OPTION(use_direct_io_for_flush_and_compaction, unsigned char)
OPTION(wal_recovery_mode, int)
OPTION(write_buffer_size, size_t)

void rocksdb_options_set_memtable_vector_rep(rocksdb_options_t *options)
{
    (void)options;
}

/* The only one there is: OP_ADD of store.c. */
void rocksdb_options_set_uint64add_merge_operator(rocksdb_options_t *options)
{
    (void)options;
}

rocksdb_block_based_table_options_t *rocksdb_block_based_options_create(void)
{
    return pipe_malloc(1);
}

void rocksdb_block_based_options_destroy(rocksdb_block_based_table_options_t *options)
{
    free(options);
}

rocksdb_cache_t *rocksdb_cache_create_lru(size_t bytes)
{
    (void)bytes;
    return pipe_malloc(1);
}

void rocksdb_cache_destroy(rocksdb_cache_t *cache)
{
    free(cache);
}

/* The options that it is set in own it: it must not be memory of its own here. */
rocksdb_filterpolicy_t *rocksdb_filterpolicy_create_bloom_full(double bits)
{
    (void)bits;
    return NULL;
}

rocksdb_options_t *rocksdb_shim_options(const char *text)
{
    (void)text;
    return rocksdb_options_create();
}

void rocksdb_shim_catch(void)
{
}

/* A simulated store has no files. */
int rocksdb_property_int(rocksdb_t *db, const char *name, uint64_t *out)
{
    (void)db;
    (void)name;
    *out = 0;
    return 0;
}
