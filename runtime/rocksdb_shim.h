/* rocksdb_shim.h: what RocksDB's C interface leaves out. */
#ifndef PIPE_ROCKSDB_SHIM_H
#define PIPE_ROCKSDB_SHIM_H

#include <rocksdb/c.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A memtable that is sorted once, when it is flushed; keys are in the order of their bytes. */
#define ROCKSDB_SHIM_VECTOR "pipe_vector"

/* Options as of `text` (`name=value;…`, names that every supported version knows), of a database
 * that keeps no LOG files: RocksDB's messages say nothing that its errors do not, and one that
 * can't be written to a full disk is a failed assertion in it. The caller's to destroy. */
rocksdb_options_t *rocksdb_shim_options(const char *text);

/* From now on an exception that nobody catches (RocksDB could not get memory or start a thread) is
 * one line on standard error, not SIGABRT; exit code 1 for a limit, 4 for anything else. */
void rocksdb_shim_catch(void);

#ifdef __cplusplus
}
#endif
#endif
