/*
 * avro_resolve.h: records of a schema that was not known when the pipeline was compiled, read into
 * the row of a contract: Avro's schema resolution at run time, as narrow as the compiler's
 * (compatibility.c there): a change of logical type, precision or scale is a break.
 *
 * A program gives the same row, and refuses with the same field and cause, as the decoder that
 * pipec would have generated for the writer's schema. It is made once and never changed; its rows
 * point into the record, the reader's arena and, for defaults, the program, which has to outlive
 * them.
 */
#ifndef PIPE_AVRO_RESOLVE_H
#define PIPE_AVRO_RESOLVE_H

#include "avro_writer_schema.h"
#include "row.h"

struct pipe_resolved;

struct pipe_resolve_reader {
    const struct pipe_row_type *row;
    const char
        *schema_json; /* the schema that `row` was made from: aliases, names, enum defaults */
};

/*
 * Takes `writer` in any case. NULL: the reader cannot read it, and error (of error_bytes) names the
 * field and both types. `same_form`: the two have the same canonical form, which says nothing of
 * logical types: where the writer gives none at all, the reader's is meant.
 */
struct pipe_resolved *pipe_resolve(const struct pipe_resolve_reader *reader,
                                   struct pipe_writer_schema *writer, bool same_form, char *error,
                                   size_t error_bytes);
void pipe_resolved_free(struct pipe_resolved *resolved);

/* Reads one value into the row; false: reader->field and ->cause. All bytes must be used by the
 * caller's test. Any thread. */
bool pipe_resolved_decode(const struct pipe_resolved *resolved, struct pipe_reader *reader,
                          void *row);

#endif
