/* row_internal.h: what the row_*.c files share. */
#ifndef PIPE_ROW_INTERNAL_H
#define PIPE_ROW_INTERNAL_H

#include "row.h"

/* Where text came from: JSON tells numbers and strings apart, CSV does not. */
enum text_origin { FROM_CSV, FROM_JSON_NUMBER, FROM_JSON_STRING };

/* Reads a scalar (not a record, array, map) from text; false without a message. */
bool scalar_from_text(const struct pipe_type *type, struct pipe_str text, enum text_origin origin,
                      struct pipe_arena *arena, void *value);
/* "decimal(10,2)", "timestamp_ms (RFC 3339, or milliseconds since 1970)": what was expected. */
struct type_text {
    char text[128];
};
struct type_text type_expected(const struct pipe_type *type);

/* A place in nested values, for messages: the innermost first. */
struct place {
    const struct place *up;
    struct pipe_str name; /* data NULL: index */
    int64_t index;
};
void place_write(const struct place *place, char *to, size_t size_bytes);

/* Room for one more slot; false beyond the arena's limit or PIPE_MAX_ELEMENTS. `likely`: a guess of
 * how many there will be, which must be bounded by the size of the input. */
bool items_grow(struct pipe_arena *arena, struct pipe_items *items, size_t likely);

static inline bool *slot_is_null(const struct pipe_type *container, void *value)
{
    return (bool *)((char *)value + pipe_type_size(container->element));
}
/* The value of slot i of an array or map. */
static inline void *slot_value(const struct pipe_type *container, const void *slots, uint32_t i)
{
    size_t offset = container->kind == PIPE_MAP ? PIPE_MAP_VALUE_OFFSET : 0;
    return (char *)slots + (size_t)i * container->element_bytes + offset;
}

#endif
