/* row_json.c: rows from and to JSON by descriptor (row.h). */
#include "json_read.h"
#include "row_internal.h"

struct json_row {
    struct json_scan scan;
    struct pipe_arena *arena;
    struct pipe_error *error;
    const struct place *place;
    bool avro_default; /* the text is a default of an Avro schema: bytes are strings of code points
                        */
};

static bool read_value(struct json_row *r, const struct pipe_type *type, void *value);

static bool refuse(struct json_row *r, const char *cause)
{
    char field[sizeof r->error->field];
    place_write(r->place, field, sizeof field);
    return pipe_fail(r->error, field, "%s", cause);
}

/* What the scanner found wrong, with the text at that place. */
static bool refuse_scan(struct json_row *r)
{
    char field[sizeof r->error->field];
    place_write(r->place, field, sizeof field);
    size_t left = (size_t)(r->scan.end - r->scan.at);
    if (left == 0)
        return pipe_fail(r->error, field, "no good JSON: %s, at the end", r->scan.cause);
    return pipe_fail(r->error, field, "no good JSON: %s, at %s", r->scan.cause,
                     pipe_quote(r->scan.at, left < 24 ? left : 24).text);
}

static bool refuse_value(struct json_row *r, const struct pipe_type *type, const char *begin)
{
    char field[sizeof r->error->field];
    struct json_scan again = {begin, r->scan.end, NULL, r->scan.depth};
    struct pipe_str text;
    if (r->arena->overflow)
        return refuse(r, "the record needs more memory than a record may");
    if (!json_scan_value(&again, &text)) {
        r->scan = again;
        return refuse_scan(r);
    }
    place_write(r->place, field, sizeof field);
    return pipe_fail(r->error, field, "%s is no %s", pipe_quote(text.data, text.size).text,
                     type_expected(type).text);
}

/* --- Scalars ------------------------------------------------------------------------------------
 */

/* Avro writes bytes in defaults as a string whose code points are the bytes. */
static bool default_bytes(const struct pipe_type *type, struct pipe_str text,
                          struct pipe_arena *arena, void *value)
{
    uint8_t *bytes = pipe_arena_alloc(arena, text.size);
    size_t size = 0;
    if (bytes == NULL)
        return false;
    for (size_t i = 0; i < text.size; i++) {
        uint8_t c = (uint8_t)text.data[i];
        if (c >= 0xC4)
            return false; /* beyond U+00FF */
        bytes[size++] = c < 0x80 ? c : (uint8_t)(c << 6 | ((uint8_t)text.data[++i] & 0x3F));
    }
    if (type->fixed_bytes > 0 && size != type->fixed_bytes)
        return false;
    struct pipe_str all = pipe_str_of(bytes, size);
    if (type->kind == PIPE_BYTES) {
        *(struct pipe_str *)value = all;
        return true;
    }
    struct pipe_reader reader;
    pipe_reader_init(&reader, bytes, size, arena);
    return pipe_avro_decimal_of(&reader, all, type->precision, value);
}

static bool read_scalar(struct json_row *r, const struct pipe_type *type, void *value)
{
    char c = json_peek(&r->scan);
    const char *begin = r->scan.at;
    struct json_text string;
    struct pipe_str text;
    bool good = false;
    if (type->kind == PIPE_STRING && type->is_json) {
        good = json_scan_value(&r->scan, value);
    } else if (type->kind == PIPE_BOOL) {
        *(bool *)value = c == 't';
        good = json_scan_word(&r->scan, PIPE_STR("true")) ||
               json_scan_word(&r->scan, PIPE_STR("false"));
    } else if (c == '"') {
        good = json_scan_string(&r->scan, &string) && json_text_value(string, r->arena, &text);
        bool as_bytes = r->avro_default && (type->kind == PIPE_BYTES || type->kind == PIPE_DECIMAL);
        if (good && as_bytes)
            good = default_bytes(type, text, r->arena, value);
        else if (good)
            good = scalar_from_text(type, text, FROM_JSON_STRING, r->arena, value);
    } else if (c == '-' || (c >= '0' && c <= '9')) {
        good = json_scan_number(&r->scan, &text) &&
               scalar_from_text(type, text, FROM_JSON_NUMBER, r->arena, value);
    }
    return good || refuse_value(r, type, begin);
}

/* --- Nested values ------------------------------------------------------------------------------
 */

static bool refuse_twice(struct json_row *r, struct pipe_str name, enum json_name_verdict verdict)
{
    char field[sizeof r->error->field];
    if (verdict == JSON_NAME_NO_MEMORY)
        return refuse(r, "the record needs more memory than a record may");
    place_write(r->place, field, sizeof field);
    return pipe_fail(r->error, field, "the name %s is given twice",
                     pipe_quote(name.data, name.size).text);
}

static bool take_name(struct json_row *r, struct pipe_str *name)
{
    struct json_text text;
    if (!json_scan_string(&r->scan, &text))
        return refuse_scan(r);
    if (!json_take(&r->scan, ':')) {
        json_fail(&r->scan, "':' was expected");
        return refuse_scan(r);
    }
    return json_text_value(text, r->arena, name) ||
           refuse(r, "the record needs more memory than a record may");
}

static bool read_nullable(struct json_row *r, const struct pipe_type *type, bool nullable,
                          void *value, bool *is_null)
{
    bool null_is_value = type->kind == PIPE_STRING && type->is_json && !nullable;
    if (json_peek(&r->scan) != 'n' || null_is_value) {
        if (is_null != NULL)
            *is_null = false;
        return read_value(r, type, value);
    }
    const char *begin = r->scan.at;
    if (!nullable)
        return refuse_value(r, type, begin);
    if (!json_scan_word(&r->scan, PIPE_STR("null"))) {
        json_fail(&r->scan, "not a JSON value");
        return refuse_scan(r);
    }
    *is_null = true;
    return true;
}

static bool *null_of(const struct pipe_column *column, void *row)
{
    bool nullable = column->null_offset != PIPE_NOT_NULL;
    return nullable ? (bool *)((char *)row + column->null_offset) : NULL;
}

static bool read_column(struct json_row *r, const struct pipe_column *column, void *row)
{
    struct place place = {r->place, pipe_str_of(column->name, strlen(column->name)), 0};
    r->place = &place;
    bool *is_null = null_of(column, row);
    bool good =
        read_nullable(r, column->type, is_null != NULL, (char *)row + column->offset, is_null);
    r->place = place.up;
    return good;
}

static bool take_default(struct json_row *r, const struct pipe_column *column, void *row)
{
    struct place place = {r->place, pipe_str_of(column->name, strlen(column->name)), 0};
    if (column->has_default) {
        struct json_row inner = *r;
        size_t size = strlen(column->default_json);
        inner.scan = (struct json_scan){column->default_json, column->default_json + size, NULL,
                                        r->scan.depth};
        inner.avro_default = true;
        return read_column(&inner, column, row);
    }
    bool *is_null = null_of(column, row);
    if (is_null != NULL) {
        *is_null = true;
        return true;
    }
    r->place = &place;
    refuse(r, "missing, without a default");
    r->place = place.up;
    return false;
}

/* The column of that name; tried first at `hint`, where it is if the order is that of the columns.
 */
static uint32_t find_column(const struct pipe_row_type *type, struct pipe_str name, uint32_t hint)
{
    for (uint32_t i = 0; i < type->column_count; i++) {
        uint32_t at = hint + i < type->column_count ? hint + i : hint + i - type->column_count;
        const char *candidate = type->columns[at].name;
        if (strncmp(candidate, name.data, name.size) == 0 && candidate[name.size] == '\0' &&
            memchr(name.data, '\0', name.size) == NULL)
            return at;
    }
    return UINT32_MAX;
}

static bool read_fields(struct json_row *r, const struct pipe_row_type *type, bool *seen, void *row)
{
    struct json_names unknown = {NULL, 0, 0};
    bool first = true;
    uint32_t hint = 0;
    while (json_another(&r->scan, '}', &first)) {
        struct pipe_str name;
        if (!take_name(r, &name))
            return false;
        uint32_t at = find_column(type, name, hint);
        if (at == UINT32_MAX) {
            enum json_name_verdict verdict = json_name_add(&unknown, r->arena, name);
            if (verdict != JSON_NAME_NEW)
                return refuse_twice(r, name, verdict);
            if (!json_scan_value(&r->scan, NULL))
                return refuse_scan(r);
            continue;
        }
        if (seen[at])
            return refuse_twice(r, name, JSON_NAME_TWICE);
        seen[at] = true;
        hint = at + 1 < type->column_count ? at + 1 : 0;
        if (!read_column(r, &type->columns[at], row))
            return false;
    }
    return r->scan.cause == NULL || refuse_scan(r);
}

static bool read_record(struct json_row *r, const struct pipe_row_type *type, void *row)
{
    bool small[64] = {false}, *seen = small;
    if (type->column_count > sizeof small) {
        seen = pipe_arena_zalloc(r->arena, type->column_count);
        if (seen == NULL)
            return refuse(r, "the record needs more memory than a record may");
    }
    memset(row, 0, type->size_bytes);
    if (!read_fields(r, type, seen, row))
        return false;
    for (uint32_t i = 0; i < type->column_count; i++) {
        if (!seen[i] && !take_default(r, &type->columns[i], row))
            return false;
    }
    return true;
}

static bool read_slots(struct json_row *r, const struct pipe_type *type, struct pipe_items *items)
{
    bool first = true, map = type->kind == PIPE_MAP;
    struct json_names keys = {NULL, 0, 0};
    while (json_another(&r->scan, map ? '}' : ']', &first)) {
        struct place place = {r->place, {NULL, 0}, items->count};
        struct pipe_str key;
        if (items->count == items->capacity && !items_grow(r->arena, items, 8))
            return refuse(r, "too many elements");
        if (map) {
            if (!take_name(r, &key))
                return false;
            enum json_name_verdict verdict = json_name_add(&keys, r->arena, key);
            if (verdict != JSON_NAME_NEW)
                return refuse_twice(r, key, verdict);
            *(struct pipe_str *)((char *)items->slots + (size_t)items->count * items->slot_bytes) =
                key;
            place.name = key.data != NULL ? key : PIPE_STR("");
        }
        r->place = &place;
        void *value = slot_value(type, items->slots, items->count);
        bool *is_null = type->element_nullable ? slot_is_null(type, value) : NULL;
        bool good = read_nullable(r, type->element, is_null != NULL, value, is_null);
        r->place = place.up;
        if (!good)
            return false;
        items->count++;
    }
    return r->scan.cause == NULL || refuse_scan(r);
}

static bool read_nested(struct json_row *r, const struct pipe_type *type, void *value)
{
    char open = type->kind == PIPE_ARRAY ? '[' : '{';
    struct pipe_items items = {.slot_bytes = type->element_bytes};
    json_skip_space(&r->scan);
    const char *begin = r->scan.at;
    if (!json_take(&r->scan, open))
        return refuse_value(r, type, begin);
    if (++r->scan.depth > PIPE_MAX_DEPTH)
        return refuse(r, "nested too deep");
    if (type->kind == PIPE_RECORD) {
        if (!read_record(r, type->record, value))
            return false;
    } else {
        if (!read_slots(r, type, &items))
            return false;
        if (type->kind == PIPE_ARRAY)
            *(struct pipe_array *)value = (struct pipe_array){items.slots, items.count};
        else
            *(struct pipe_map *)value = (struct pipe_map){items.slots, items.count};
    }
    r->scan.depth--;
    return true;
}

static bool read_value(struct json_row *r, const struct pipe_type *type, void *value)
{
    bool nested = type->kind == PIPE_RECORD || type->kind == PIPE_ARRAY || type->kind == PIPE_MAP;
    return nested ? read_nested(r, type, value) : read_scalar(r, type, value);
}

static bool begin_text(struct json_row *r, struct pipe_str text, struct pipe_arena *arena,
                       struct pipe_error *error)
{
    *r = (struct json_row){
        .scan = {text.data, text.data + text.size, NULL, 0}, .arena = arena, .error = error};
    return pipe_utf8_check(text.data, text.size) || refuse(r, "not valid UTF-8");
}

static bool end_text(struct json_row *r)
{
    json_skip_space(&r->scan);
    if (r->scan.at == r->scan.end)
        return true;
    json_fail(&r->scan, "text is left over behind the value");
    return refuse_scan(r);
}

bool pipe_row_from_json(const struct pipe_row_type *type, struct pipe_str text,
                        struct pipe_arena *arena, void *row, struct pipe_error *error)
{
    const struct pipe_type whole = {.kind = PIPE_RECORD, .record = type};
    struct json_row r;
    return begin_text(&r, text, arena, error) && read_nested(&r, &whole, row) && end_text(&r);
}

bool pipe_value_from_json(const struct pipe_type *type, bool nullable, struct pipe_str text,
                          struct pipe_arena *arena, void *value, bool *is_null,
                          struct pipe_error *error)
{
    struct json_row r;
    bool null = false;
    if (!begin_text(&r, text, arena, error) || !read_nullable(&r, type, nullable, value, &null) ||
        !end_text(&r))
        return false;
    if (is_null != NULL)
        *is_null = null;
    return true;
}

bool pipe_row_default(const struct pipe_row_type *type, uint32_t column, struct pipe_arena *arena,
                      void *row, struct pipe_error *error)
{
    struct json_row r = {.arena = arena, .error = error};
    return take_default(&r, &type->columns[column], row);
}

/* --- Writing ------------------------------------------------------------------------------------
 */

static void write_slots(const struct pipe_type *type, const void *slots, uint32_t count,
                        struct pipe_buf *buf)
{
    bool map = type->kind == PIPE_MAP;
    pipe_buf_add_byte(buf, map ? '{' : '[');
    for (uint32_t i = 0; i < count; i++) {
        void *value = slot_value(type, slots, i);
        if (i > 0)
            pipe_buf_add_byte(buf, ',');
        if (map) {
            pipe_json_string(buf,
                             *(const struct pipe_str *)((char *)value - PIPE_MAP_VALUE_OFFSET));
            pipe_buf_add_byte(buf, ':');
        }
        if (type->element_nullable && *slot_is_null(type, value))
            pipe_json_null(buf);
        else
            pipe_value_to_json(type->element, value, buf);
    }
    pipe_buf_add_byte(buf, map ? '}' : ']');
}

void pipe_value_to_json(const struct pipe_type *type, const void *value, struct pipe_buf *buf)
{
    const struct pipe_array *array;
    const struct pipe_map *map;
    switch (type->kind) {
    case PIPE_BOOL:
        return pipe_json_bool(buf, *(const bool *)value);
    case PIPE_INT32:
        return pipe_json_i64(buf, *(const int32_t *)value);
    case PIPE_INT64:
    case PIPE_DURATION:
        return pipe_json_i64(buf, *(const int64_t *)value);
    case PIPE_FLOAT32:
        return pipe_json_f32(buf, *(const float *)value);
    case PIPE_FLOAT64:
        return pipe_json_f64(buf, *(const double *)value);
    case PIPE_DECIMAL:
        return pipe_json_decimal(buf, *(const pipe_decimal *)value, type->scale);
    case PIPE_STRING:
        return pipe_json_string(buf, *(const struct pipe_str *)value);
    case PIPE_UUID:
        return pipe_json_clean(buf, *(const struct pipe_str *)value);
    case PIPE_ENUM:
        return pipe_json_enum(buf, type->symbols, *(const uint32_t *)value);
    case PIPE_BYTES:
        return pipe_json_base64(buf, *(const struct pipe_str *)value);
    case PIPE_DATE:
        return pipe_json_date(buf, *(const int32_t *)value);
    case PIPE_TIMESTAMP_MS:
        return pipe_json_timestamp_ms(buf, *(const int64_t *)value);
    case PIPE_TIMESTAMP_US:
        return pipe_json_timestamp_us(buf, *(const int64_t *)value);
    case PIPE_RECORD:
        return pipe_row_to_json(type->record, value, buf);
    case PIPE_ARRAY:
        array = value;
        return write_slots(type, array->items, array->count, buf);
    case PIPE_MAP:
        map = value;
        return write_slots(type, map->entries, map->count, buf);
    }
}

void pipe_row_to_json(const struct pipe_row_type *type, const void *row, struct pipe_buf *buf)
{
    pipe_buf_add_byte(buf, '{');
    for (uint32_t i = 0; i < type->column_count; i++) {
        const struct pipe_column *column = &type->columns[i];
        if (i > 0)
            pipe_buf_add_byte(buf, ',');
        pipe_json_string(buf, pipe_str_of(column->name, strlen(column->name)));
        pipe_buf_add_byte(buf, ':');
        if (pipe_column_is_null(column, row))
            pipe_json_null(buf);
        else
            pipe_value_to_json(column->type, pipe_column_value(column, row), buf);
    }
    pipe_buf_add_byte(buf, '}');
}
