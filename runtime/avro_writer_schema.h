/*
 * avro_writer_schema.h: any writer's schema, as far as needed to find where its values end:
 * container files hold records without lengths, and a record of an unknown schema must still be
 * passed over to reach the next.
 */
#ifndef PIPE_AVRO_WRITER_SCHEMA_H
#define PIPE_AVRO_WRITER_SCHEMA_H

#include "avro.h"

struct pipe_writer_schema;

/* From JSON text, at most PIPE_SCHEMA_MAX_BYTES long. NULL: error (of error_bytes) says why. */
#define PIPE_SCHEMA_MAX_BYTES (1024 * 1024)
struct pipe_writer_schema *pipe_writer_schema_parse(const char *json, size_t size_bytes,
                                                    char *error, size_t error_bytes);
void pipe_writer_schema_free(struct pipe_writer_schema *schema);
/* Moves the reader behind one value; false: reader->cause. Values are not judged, only bounds. */
bool pipe_writer_schema_skip(const struct pipe_writer_schema *schema, struct pipe_reader *reader);
/* CRC-64-AVRO of the Parsing Canonical Form; full name of the record ("" for other types). */
uint64_t pipe_writer_schema_fingerprint(const struct pipe_writer_schema *schema);
const char *pipe_writer_schema_name(const struct pipe_writer_schema *schema);

uint64_t pipe_avro_fingerprint(const void *canonical, size_t size_bytes);

#endif
