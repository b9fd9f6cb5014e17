/*
 * write_count.h: whether a database still holds all that was written to it. RocksDB finds changed
 * bytes by checksums, and files that are missing where its MANIFEST names them. A MANIFEST that was
 * cut between two of its records is well-formed and names fewer files: what an older journal held
 * is gone, what the newest one holds is there.
 *
 * So every batch adds one to a count (a merge, which lives where the batch does) and puts its own
 * number: if older batches are lost and newer ones not, the count is less than the number.
 */
#ifndef PIPE_WRITE_COUNT_H
#define PIPE_WRITE_COUNT_H

#include <stdbool.h>
#include <stdint.h>

#include <rocksdb/c.h>

/* Of options for any opening of such a database. */
void write_count_options(rocksdb_options_t *options);

/* Into the batch that is the number-th of the database, from 1. */
void write_count_add(rocksdb_writebatch_t *batch, uint64_t number);

/* The number of the last batch, 0 in a new database. False: *error (the caller's, for
 * rocksdb_free), or NULL and *lost batches are missing. */
bool write_count_check(rocksdb_t *db, const rocksdb_readoptions_t *options, uint64_t *number,
                       uint64_t *lost, char **error);

#endif
