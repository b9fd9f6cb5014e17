/*
 * key.h: the two texts of a key.
 *
 * Group keys are bytes for hash tables, state and exchanges: each column self-delimiting, and two
 * keys are equal exactly if their bytes are. Integers, dates, instants, enums: zigzag varint.
 * Strings, bytes: varint length, bytes. uuid: its 16 bytes. bool: one byte. decimal: as fixed of 16
 * bytes. A nullable column begins with a byte, 1 for null (nothing follows), else 0. Floats are no
 * keys.
 *
 * Key text is what Kafka sees as the key of a record: language.md §2.
 */
#ifndef PIPE_KEY_H
#define PIPE_KEY_H

#include "avro.h"
#include "json.h"
#include "value.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pipe_row_type;

/* Returns is_null, so that: if (!pipe_key_add_null(buf, row->x_null)) pipe_key_add_i64(buf,
 * row->x); */
static inline bool pipe_key_add_null(struct pipe_buf *buf, bool is_null)
{
    pipe_buf_add_byte(buf, is_null);
    return is_null;
}
static inline void pipe_key_add_bool(struct pipe_buf *buf, bool value)
{
    pipe_buf_add_byte(buf, value);
}
static inline void pipe_key_add_i64(struct pipe_buf *buf, int64_t value) /* i32, date, instants … */
{
    pipe_avro_put_long(buf, value);
}
static inline void pipe_key_add_enum(struct pipe_buf *buf, uint32_t index)
{
    pipe_avro_put_long(buf, index);
}
void pipe_key_add_str_slow(struct pipe_buf *buf, struct pipe_str value);
/* String, bytes. Inline wherever it is: a call costs as much as the copy. */
static inline __attribute__((always_inline)) void pipe_key_add_str(struct pipe_buf *buf,
                                                                   struct pipe_str value)
{
    if (PIPE_UNLIKELY(value.size > PIPE_BYTES_INLINE_MOST ||
                      buf->capacity - buf->size <= PIPE_BYTES_INLINE_MOST)) {
        pipe_key_add_str_slow(buf, value);
        return;
    }
    uint8_t *to = buf->data + buf->size;
    *to = (uint8_t)value.size; /* a varint */
    pipe_bytes_copy(to + 1, value.data, value.size);
    buf->size += 1 + value.size;
}
static inline void pipe_key_add_uuid(struct pipe_buf *buf, struct pipe_str value)
{
    pipe_uuid_to_bytes(value, pipe_buf_reserve(buf, 16));
    buf->size += 16;
}
static inline void pipe_key_add_decimal(struct pipe_buf *buf, pipe_decimal value)
{
    pipe_buf_add(buf, &value, 16);
}

/* Readers move *at on; false if the bytes are no such key. Strings point into the bytes; a uuid is
 * written to the arena. */
bool pipe_varint_get(const uint8_t **at, const uint8_t *end, uint64_t *out); /* canonical only */
bool pipe_key_null(const uint8_t **at, const uint8_t *end, bool *is_null);
bool pipe_key_bool(const uint8_t **at, const uint8_t *end, bool *out);
bool pipe_key_i32(const uint8_t **at, const uint8_t *end, int32_t *out); /* date too */
bool pipe_key_i64(const uint8_t **at, const uint8_t *end, int64_t *out);
bool pipe_key_enum(const uint8_t **at, const uint8_t *end, uint32_t symbol_count, uint32_t *out);
bool pipe_key_str(const uint8_t **at, const uint8_t *end, struct pipe_str *out);
bool pipe_key_uuid(const uint8_t **at, const uint8_t *end, struct pipe_arena *arena,
                   struct pipe_str *out);
bool pipe_key_decimal(const uint8_t **at, const uint8_t *end, pipe_decimal *out);

/* By descriptor: the group key of some columns of a row, and back into a row (other columns
 * untouched). */
void pipe_key_add_columns(struct pipe_buf *buf, const struct pipe_row_type *type, const void *row,
                          const uint32_t *columns, size_t count);
bool pipe_key_read_columns(const uint8_t **at, const uint8_t *end, struct pipe_arena *arena,
                           const struct pipe_row_type *type, void *row, const uint32_t *columns,
                           size_t count);

/* Key text, appended. Generated code for one plain column: string, uuid: the bytes; enum: its
 * symbol; integers: pipe_json_i64; else pipe_json_… between `[`, `,`, `]`. */
void pipe_key_text(struct pipe_buf *buf, const struct pipe_row_type *type, const void *row,
                   const uint32_t *columns, size_t count);

#ifdef __cplusplus
}
#endif

#endif
