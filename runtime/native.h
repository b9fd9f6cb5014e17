/*
 * native.h: blocks of ClickHouse's Native format, as the tables of a plan need them: made from
 * committed rows (one JSON object each, as topics hold them), and read back as such rows.
 *
 * A block is columns behind one another: that of the table's definition, in its order, then
 * _pipe_partition and _pipe_offset. The same rows give the same bytes.
 *
 * Ownership: a writer copies what it is given. Errors: false and one line in `error`: which column,
 * which value, what was expected. Untrusted bytes (rows and blocks) are bounds-checked; nothing
 * larger than the limits is allocated. One thread uses a writer or reader.
 */
#ifndef PIPE_NATIVE_H
#define PIPE_NATIVE_H

#include "pipe.h"

struct pipe_native_writer;

struct pipe_native_writer *pipe_native_writer_new(const struct pipe_table_def *table,
                                                  const struct pipe_row_type *row);
/* Adds the row that `json` holds; false: it is no such row, and nothing was added. */
bool pipe_native_add(struct pipe_native_writer *writer, struct pipe_str json, int32_t partition,
                     int64_t offset, char *error, size_t error_bytes);
uint32_t pipe_native_rows(const struct pipe_native_writer *writer);
size_t pipe_native_bytes(const struct pipe_native_writer *writer);       /* of the block, about */
size_t pipe_native_block_bytes(const struct pipe_native_writer *writer); /* likewise, at most */
/* Appends the block, and forgets its rows; memory is kept for the next one. */
void pipe_native_finish(struct pipe_native_writer *writer, struct pipe_buf *block);
/* The same of several writers of one table: one block, the rows of each behind those of the one
 * before; as if one writer had been given all of them. */
#define PIPE_NATIVE_WRITERS_MAX 16u
void pipe_native_finish_all(struct pipe_native_writer *const *writers, uint32_t count,
                            struct pipe_buf *block);
void pipe_native_clear(struct pipe_native_writer *writer); /* forgets its rows */
/* Forgets its rows, and gives the memory back; the next first row takes as much as the block that
 * was finished last had. */
void pipe_native_shrink(struct pipe_native_writer *writer);
/* Whether some null can't be told from an empty array or map, or from a record of nulls: what is
 * read back then may differ from what was added. */
bool pipe_native_lossy(const struct pipe_native_writer *writer);
void pipe_native_writer_free(struct pipe_native_writer *writer);

/* Reads blocks piece by piece: of a file, or of an answer as it comes. */
struct pipe_native_reader;
struct pipe_native_reader *pipe_native_reader_new(const struct pipe_table_def *table,
                                                  const struct pipe_row_type *row);
/* Takes bytes; calls `each` for every row of a block that is whole, with its JSON object as the
 * sink's encoder writes it and its position. A null that a table can't hold is an empty array or
 * map, or a record of nulls (pipe_native_lossy). False: malformed, or `each` said so (`error` is
 * empty then); the reader is of no more use. */
bool pipe_native_take(struct pipe_native_reader *reader, struct pipe_str bytes,
                      bool (*each)(void *context, struct pipe_str json, int32_t partition,
                                   int64_t offset),
                      void *context, char *error, size_t error_bytes);
bool pipe_native_ends(const struct pipe_native_reader *reader); /* no part of a block is left */
void pipe_native_reader_free(struct pipe_native_reader *reader);

#endif
