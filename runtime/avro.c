/* avro.c: the rarer parts of reading and writing Avro's binary encoding (avro.h). */
#include "avro.h"

#include "json.h"
#include "row_internal.h"

#include <stdio.h>

bool pipe_reader_fail(struct pipe_reader *r, const char *cause)
{
    if (r->cause == NULL) {
        r->cause = cause;
        r->has_number = false;
    }
    return false;
}

bool pipe_reader_fail_number(struct pipe_reader *r, const char *cause, int64_t number)
{
    if (r->cause == NULL) {
        r->cause = cause;
        r->number = number;
        r->has_number = true;
    }
    return false;
}

bool pipe_reader_within(struct pipe_reader *r, const char *field, int64_t index)
{
    struct pipe_arena_mark mark = pipe_arena_mark(r->arena);
    const char *inner = r->field != NULL ? r->field : "";
    size_t size = strlen(field) + strlen(inner) + 32;
    const char *dot = *inner != '\0' && *inner != '[' && (*field != '\0' || index >= 0) ? "." : "";
    char *path = pipe_arena_alloc(r->arena, size);
    if (path == NULL) {
        pipe_arena_back_to(r->arena, mark);
        r->field = field; /* the outer name alone */
        return false;
    }
    if (index >= 0)
        snprintf(path, size, "%s[%lld]%s%s", field, (long long)index, dot, inner);
    else
        snprintf(path, size, "%s%s%s", field, dot, inner);
    r->field = path;
    return false;
}

void pipe_reader_error(const struct pipe_reader *r, struct pipe_error *error)
{
    const char *cause = r->cause != NULL ? r->cause : "unknown";
    if (r->has_number)
        pipe_fail(error, r->field, "%s: %lld", cause, (long long)r->number);
    else
        pipe_fail(error, r->field, "%s", cause);
}

bool pipe_avro_long_slow(struct pipe_reader *r, int64_t *out)
{
    const uint8_t *at = r->at;
    uint64_t raw = 0;
    if (PIPE_LIKELY(pipe_avro_long_of_word(r, out)))
        return true;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        if (at == r->end)
            return pipe_reader_fail(r, "the record ends early");
        uint8_t byte = *at++;
        if (shift == 63 && byte > 1)
            break;
        raw |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            r->at = at;
            *out = (int64_t)(raw >> 1) ^ -(int64_t)(raw & 1);
            return true;
        }
    }
    return pipe_reader_fail(r, "an integer is longer than 64 bits");
}

bool pipe_avro_string_slow(struct pipe_reader *r, struct pipe_str *out)
{
    if (!pipe_avro_bytes(r, out))
        return false;
    return PIPE_LIKELY(pipe_utf8_check(out->data, out->size)) ||
           pipe_reader_fail(r, "not valid UTF-8");
}

bool pipe_avro_decimal_of(struct pipe_reader *r, struct pipe_str bytes, unsigned precision,
                          pipe_decimal *out)
{
    const uint8_t *at = (const uint8_t *)bytes.data, *end = at + bytes.size;
    if (at == end)
        return pipe_reader_fail(r, "a decimal of no bytes");
    uint8_t sign = *at & 0x80 ? 0xFF : 0;
    for (; end - at > 16; at++) {
        if (*at != sign || ((at[1] ^ sign) & 0x80))
            return pipe_reader_fail(r, "a decimal has more digits than its type");
    }
    pipe_u128 value = sign ? ~(pipe_u128)0 : 0;
    for (; at < end; at++)
        value = value << 8 | *at;
    if (!pipe_decimal_fits((pipe_decimal)value, precision))
        return pipe_reader_fail(r, "a decimal has more digits than its type");
    *out = (pipe_decimal)value;
    return true;
}

bool pipe_avro_uuid_slow(struct pipe_reader *r, struct pipe_str text, struct pipe_str *out)
{
    char lower[36];
    if (!pipe_uuid_read(text, lower))
        return pipe_reader_fail(r, "not a uuid (36 characters)");
    return pipe_str_copy(r->arena, pipe_str_of(lower, sizeof lower), out) ||
           pipe_reader_fail(r, "the record needs more memory than a record may");
}

bool pipe_avro_json(struct pipe_reader *r, struct pipe_str *out)
{
    return pipe_avro_string(r, out) && (pipe_json_check(*out) || pipe_reader_fail(r, "not JSON"));
}

/* --- Arrays and maps ----------------------------------------------------------------------------
 */

/* The count of the next block, 0 at the end; *size is its size in bytes, or -1. */
static bool block_header(struct pipe_reader *r, int64_t *count, int64_t *size)
{
    *size = -1;
    if (!pipe_avro_long(r, count))
        return false;
    if (*count >= 0)
        return *count <= PIPE_MAX_ELEMENTS ||
               pipe_reader_fail_number(r, "too many elements", *count);
    if (*count < -(int64_t)PIPE_MAX_ELEMENTS)
        return pipe_reader_fail_number(r, "negative block count out of range", *count);
    *count = -*count;
    if (!pipe_avro_long(r, size))
        return false;
    if (*size < 0 || *size > r->end - r->at)
        return pipe_reader_fail_number(r, "block size beyond the record", *size);
    return true;
}

void *pipe_avro_item_slow(struct pipe_reader *r, struct pipe_items *items)
{
    int64_t unused;
    if (items->ended || r->cause != NULL)
        return NULL;
    if (items->left == 0) {
        if (!block_header(r, &items->left, &unused))
            return NULL;
        items->ended = items->left == 0;
        if (items->ended)
            return NULL;
    }
    if (items->count == items->capacity) {
        /* Most elements take a byte at least: a count that the input cannot hold gets no memory
         * yet. */
        size_t bytes_left = (size_t)(r->end - r->at), likely = (size_t)items->left;
        if (!items_grow(r->arena, items, likely < bytes_left ? likely : bytes_left)) {
            pipe_reader_fail(r, "too many elements");
            return NULL;
        }
    }
    items->left--;
    return (char *)items->slots + items->slot_bytes * items->count++;
}

static struct pipe_str key_of(const struct pipe_items *items, uint32_t i)
{
    return *(const struct pipe_str *)((const char *)items->slots + items->slot_bytes * i);
}

/* Where the key is in the table of slot numbers + 1, or the free place for it. */
static uint32_t *key_place(const struct pipe_items *items, struct pipe_str key)
{
    uint32_t mask = items->key_slot_count - 1;
    uint32_t at = (uint32_t)pipe_hash64(key.data, key.size, 0) & mask;
    while (items->key_slots[at] != 0 &&
           !pipe_str_equal(key_of(items, items->key_slots[at] - 1), key))
        at = (at + 1) & mask;
    return &items->key_slots[at];
}

bool pipe_avro_map_key(struct pipe_reader *r, struct pipe_items *items, struct pipe_str *key)
{
    enum { FEW = 8 }; /* compared one by one, without a table */
    uint32_t before = items->count - 1;
    if (!pipe_avro_string(r, key))
        return false;
    if (before < FEW) {
        for (uint32_t i = 0; i < before; i++) {
            if (pipe_str_equal(key_of(items, i), *key))
                return pipe_reader_fail(r, "a key is given twice");
        }
        return true;
    }
    if ((size_t)items->count * 2 > items->key_slot_count) {
        uint32_t size = items->key_slot_count == 0 ? 64 : items->key_slot_count * 2;
        uint32_t *slots = pipe_arena_zalloc(r->arena, size * sizeof *slots);
        if (slots == NULL)
            return pipe_reader_fail(r, "too many elements");
        items->key_slots = slots;
        items->key_slot_count = size;
        for (uint32_t i = 0; i < before; i++)
            *key_place(items, key_of(items, i)) = i + 1;
    }
    uint32_t *place = key_place(items, *key);
    if (*place != 0)
        return pipe_reader_fail(r, "a key is given twice");
    *place = items->count;
    return true;
}

bool pipe_avro_skip_block(struct pipe_reader *r, uint32_t *total, int64_t *count)
{
    int64_t size;
    do {
        if (!block_header(r, count, &size))
            return false;
        *total += (uint32_t)*count;
        if (*total > PIPE_MAX_ELEMENTS)
            return pipe_reader_fail_number(r, "too many elements", *total);
        if (size >= 0)
            r->at += size;
    } while (size >= 0 && *count > 0);
    return true;
}

/* --- Writing ------------------------------------------------------------------------------------
 */

void pipe_avro_put_decimal(struct pipe_buf *buf, pipe_decimal value, size_t fixed_bytes)
{
    uint8_t bytes[16];
    uint8_t sign = value < 0 ? 0xFF : 0;
    pipe_u128 left = (pipe_u128)value;
    for (size_t i = sizeof bytes; i-- > 0; left >>= 8)
        bytes[i] = (uint8_t)left;
    size_t skip = 0;
    if (fixed_bytes == 0) {
        while (skip < 15 && bytes[skip] == sign && !((bytes[skip + 1] ^ sign) & 0x80))
            skip++;
        pipe_avro_put_bytes(buf, pipe_str_of(bytes + skip, sizeof bytes - skip));
        return;
    }
    for (size_t i = sizeof bytes; i < fixed_bytes; i++)
        pipe_buf_add_byte(buf, sign);
    skip = fixed_bytes < sizeof bytes ? sizeof bytes - fixed_bytes : 0;
    pipe_buf_add(buf, bytes + skip, sizeof bytes - skip);
}
