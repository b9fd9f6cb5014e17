/*
 * schema_json.h: the JSON of an Avro schema, for pipec and its programs. jansson alone refuses two
 * things that a schema may hold: a default (or doc) with U+0000, and a number beyond 64 bits as the
 * default of a float or double.
 */
#ifndef PIPE_SCHEMA_JSON_H
#define PIPE_SCHEMA_JSON_H

#include <jansson.h>

#ifdef __cplusplus
extern "C" {
#endif

/* flags: jansson's of decoding. Outside of defaults and docs no string holds U+0000, so that
 * json_string_value is all of it. Owned by the caller; NULL with *error, whose position is one of
 * `text`. */
json_t *pipe_schema_json(const char *text, size_t size_bytes, size_t flags, json_error_t *error);

#ifdef __cplusplus
}
#endif
#endif
