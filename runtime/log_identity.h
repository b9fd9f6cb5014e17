/* log_identity.h: which log a database is (log_embedded.c): its layout, its name, and whether all
 * of it is there. */
#ifndef PIPE_LOG_IDENTITY_H
#define PIPE_LOG_IDENTITY_H

#include <rocksdb/c.h>

#include "log.h"

/* The form of keys and values in the database, and what is kept in it: raised with every change to
 * it, so that a program refuses what it would misread. Directories from before layouts were named
 * have layout 1; before 3 the rows of tables were in files only. */
#define LOG_LAYOUT "3"

/* Sets log->incarnation, which a new log gets here, and *batches. False: log->error, and *foreign:
 * it is of another layout. `path` is for messages. */
bool log_identify(struct pipe_log *log, rocksdb_t *db, const rocksdb_readoptions_t *options,
                  const char *path, bool read_only, uint64_t *batches, bool *foreign);

#endif
