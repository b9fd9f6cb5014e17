/* log_options.c: see log_options.h. */
#include "log_options.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "rocksdb_shim.h"
#include "write_count.h"

/* Few big files, merged 32 at a time at most: below 2 GB nothing is ever written again. */
static void tune_compaction(rocksdb_options_t *options)
{
    rocksdb_universal_compaction_options_t *universal =
        rocksdb_universal_compaction_options_create();
    rocksdb_universal_compaction_options_set_min_merge_width(universal, 32);
    rocksdb_universal_compaction_options_set_size_ratio(universal, 50);
    rocksdb_universal_compaction_options_set_max_size_amplification_percent(universal, INT32_MAX);
    rocksdb_options_set_universal_compaction_options(options, universal);
    rocksdb_universal_compaction_options_destroy(universal);
    rocksdb_options_set_compaction_style(options, rocksdb_universal_compaction);
    rocksdb_options_set_level0_file_num_compaction_trigger(options, 128);
    rocksdb_options_set_level0_slowdown_writes_trigger(options, 1 << 20);
    rocksdb_options_set_level0_stop_writes_trigger(options, 1 << 20);
}

rocksdb_options_t *log_options(rocksdb_block_based_table_options_t *table, bool create, bool direct)
{
    rocksdb_options_t *options =
        rocksdb_shim_options("avoid_flush_during_shutdown=true;max_bgerror_resume_count=0");
    rocksdb_options_set_create_if_missing(options, create);
    rocksdb_options_set_compression(options, rocksdb_no_compression);
    /* What is flushed is seldom read again soon: it need not pass through the page cache. */
    rocksdb_options_set_use_direct_io_for_flush_and_compaction(options, direct);
    rocksdb_options_set_write_buffer_size(options, 24u << 20);
    rocksdb_options_set_max_write_buffer_number(options, 2);
    rocksdb_options_set_max_open_files(options, 512);
    rocksdb_options_set_max_file_opening_threads(options, 1);
    /* A torn last commit is dropped; damage before it is an error. */
    rocksdb_options_set_wal_recovery_mode(options, 0);
    rocksdb_options_set_block_based_table_factory(options, table);
    tune_compaction(options);
    write_count_options(options);
    return options;
}

rocksdb_block_based_table_options_t *log_table_options(rocksdb_cache_t **cache)
{
    rocksdb_block_based_table_options_t *table = rocksdb_block_based_options_create();
    *cache = rocksdb_cache_create_lru(4u << 20);
    rocksdb_block_based_options_set_block_cache(table, *cache);
    rocksdb_block_based_options_set_filter_policy(table,
                                                  rocksdb_filterpolicy_create_bloom_full(10));
    rocksdb_block_based_options_set_checksum(table, 4); /* XXH3 */
    rocksdb_block_based_options_set_block_size(table, 16u << 10);
    return table;
}

const char log_damaged[] =
    "; the log is damaged: restore the directory from a copy, or start over in a new one";

const char *log_cause(char *cause)
{
    if (cause == NULL)
        return "unknown cause";
    size_t size = strlen(cause);
    while (size > 0 && cause[size - 1] == '\n')
        cause[--size] = '\0';
    for (char *end = cause; (end = strchr(end, '\n')) != NULL;)
        *end = ' ';
    return cause;
}

static bool says(const char *cause, const char *words)
{
    return strstr(cause, words) != NULL;
}

static const char file_limit[] =
    "; the limit on the size of a file is reached; raise it (ulimit -f) and start again";

/* By what strerror() says, which stands in the texts of libraries too. NULL: it is none. */
static const char *advice_on_limits(const char *text)
{
    static const struct {
        const char *words, *advice;
    } known[] = {
        {"No space left", "; make room and start again"},
        {"Disk quota", "; make room and start again"},
        {"File too large", file_limit},
        {"Too many open files in system",
         "; too many are open on this machine; close some, or raise "
         "fs.file-max, and start again"},
        {"Too many open files", "; raise the limit on open files (ulimit -n) and start again"},
        {"Cannot allocate memory",
         "; free memory, or raise its limit (ulimit -v), and start again"},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (says(text, known[i].words))
            return known[i].advice;
    }
    return NULL;
}

void log_advise(char *line, size_t line_bytes)
{
    const char *advice = advice_on_limits(line);
    size_t used = strlen(line);
    if (advice != NULL && !says(line, "ulimit") && !says(line, "make room"))
        snprintf(line + used, line_bytes - used, "%s", advice);
}

/* Past the page cache, the rest of a write that was cut at the limit is of no size it can have. */
static bool is_file_limit(const char *cause)
{
    struct rlimit limit;
    return (says(cause, "Invalid argument") && says(cause, "write") &&
            getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY);
}

const char *log_advice(const char *cause, const char *damaged)
{
    if (cause == NULL)
        return "";
    const char *advice = advice_on_limits(cause);
    if (advice != NULL)
        return advice;
    if (is_file_limit(cause))
        return file_limit;
    bool misses = says(cause, "No such file") &&
                  (says(cause, "MANIFEST") || says(cause, ".sst") || says(cause, ".ldb"));
    return misses || says(cause, "Corruption") || says(cause, "not a regular file") ? damaged : "";
}
