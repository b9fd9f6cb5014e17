/* log_options.h: how RocksDB is set up for the embedded log (log_embedded.c). */
#ifndef PIPE_LOG_OPTIONS_H
#define PIPE_LOG_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include <rocksdb/c.h>

/* Both are the caller's to destroy, in this order: options, table options, cache. */
rocksdb_block_based_table_options_t *log_table_options(rocksdb_cache_t **cache);
/* direct: flushes bypass the page cache; not every file system can. */
rocksdb_options_t *log_options(rocksdb_block_based_table_options_t *table, bool create,
                               bool direct);
/* The text of an error of RocksDB in one line, in place; NULL: unknown. */
const char *log_cause(char *cause);
/* What to do about an error of RocksDB, as the end of its line: "; …", or "" where nothing general
 * can be said. `damaged`: what to do if what is on the disk is. */
const char *log_advice(const char *cause, const char *damaged);
/* Appends what to do about a limit or a full disk, if an error's line names it and no advice. */
void log_advise(char *line, size_t line_bytes);
extern const char log_damaged[]; /* what to do about a damaged log */

#endif
