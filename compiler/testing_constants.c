/* testing_constants.c: cells in JSON as constants of the language, for messages and --update. */
#include "testing.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    NUMBER_DIGITS = 38,
    NAME_BYTES = 63,
    DURATION_TEXT_DAYS = 365 /* an instant beyond is never written as a duration */
};

/* ---- texts ---- */

/* `'…'`; a string stands on one line and has no escapes. */
static bool add_string(struct text *out, const char *text, size_t size)
{
    text_puts(out, "'");
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '\n' || c == '\r' || c == '\0')
            return false;
        text_add(out, c == '\'' ? "''" : &text[i], c == '\'' ? 2 : 1);
    }
    text_puts(out, "'");
    return true;
}

static bool is_reserved(const char *name)
{
#define RESERVED true
#define FREE false
#define KEYWORD(word, token, status, role)                                                         \
    if (status && strcmp(name, #word) == 0)                                                        \
        return true;
#include "keywords.def"
#undef KEYWORD
#undef RESERVED
#undef FREE
    return false;
}

static bool add_name(struct text *out, const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    size_t size = strlen(name);
    bool plain = size > 0 && strspn(name, letters) == size && (name[0] < '0' || name[0] > '9');
    if (size == 0 || size > NAME_BYTES || strpbrk(name, "\"\r\n") != NULL)
        return false;
    if (plain && !is_reserved(name))
        text_puts(out, name);
    else
        text_printf(out, "\"%s\"", name);
    return true;
}

static void add_duration(struct text *out, int64_t ms)
{
    static const struct {
        const char *unit;
        int64_t ms;
    } units[] = {{"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};
    size_t i = 0;
    if (ms == 0)
        i = 3;
    while (ms % units[i].ms != 0)
        i++;
    text_printf(out, "%" PRId64 "%s", ms / units[i].ms, units[i].unit);
}

/* A JSON number; constants have no exponent, so the point moves. */
static bool add_number(struct text *out, const char *number)
{
    const char *exponent = strpbrk(number, "eE");
    if (exponent == NULL) {
        text_puts(out, number);
        return true;
    }
    long shift = strtol(exponent + 1, NULL, 10);
    char digits[64];
    size_t count = 0;
    long point = -1;
    for (const char *at = number + (number[0] == '-'); at < exponent; at++) {
        if (*at == '.')
            point = (long)count;
        else if (count < sizeof digits)
            digits[count++] = *at;
    }
    point = (point < 0 ? (long)count : point) + shift;
    if (point > NUMBER_DIGITS || (long)count - point > NUMBER_DIGITS)
        return false;
    text_puts(out, number[0] == '-' ? "-" : "");
    text_puts(out, point <= 0 ? "0." : "");
    for (long i = point; i < 0; i++)
        text_puts(out, "0");
    for (size_t i = 0; i < count; i++) {
        text_puts(out, point > 0 && (long)i == point ? "." : "");
        text_add(out, &digits[i], 1);
    }
    for (long i = (long)count; i < point; i++)
        text_puts(out, "0");
    return true;
}

static bool add_instant(struct text *out, const char *text, const struct type *type,
                        const struct constant *style)
{
    bool micros = type->kind == TYPE_TIMESTAMP_US;
    int64_t value;
    bool short_form = text_to_timestamp(text, strlen(text), micros, &value) && value >= 0 &&
                      (!micros || value % 1000 == 0) &&
                      value / (micros ? 1000 : 1) <= DURATION_TEXT_DAYS * INT64_C(86400000);
    if (!short_form || (style != NULL && style->kind != CONST_DURATION))
        return add_string(out, text, strlen(text));
    add_duration(out, value / (micros ? 1000 : 1));
    return true;
}

/* ---- values ---- */

static bool add_value(struct program *program, const json_t *json, const struct type *type,
                      const struct constant *style, struct text *out)
{
    bool good;
    char *cell = json_dumps(json, JSON_ENCODE_ANY | JSON_COMPACT);
    if (cell == NULL)
        out_of_memory();
    good = test_constant(program, cell, type, style, out);
    free(cell);
    return good;
}

static bool add_members(struct program *program, const json_t *object, const struct type *type,
                        struct text *out)
{
    const char *name;
    json_t *value;
    bool first = true, good = true;
    text_puts(out, "(");
    json_object_foreach((json_t *)object, name, value)
    {
        const struct type *member = type->element;
        for (size_t i = 0; type->kind == TYPE_RECORD && i < type->record->field_count; i++)
            if (strcmp(type->record->fields[i].name, name) == 0)
                member = type->record->fields[i].type;
        text_puts(out, first ? "" : ", ");
        first = false;
        good = good && member != NULL && add_name(out, name);
        text_puts(out, ": ");
        good = good && add_value(program, value, member, NULL, out);
    }
    text_puts(out, ")");
    return good;
}

static bool add_items(struct program *program, const json_t *array, const struct type *type,
                      struct text *out)
{
    bool good = true;
    text_puts(out, "[");
    for (size_t i = 0; i < json_array_size(array); i++) {
        text_puts(out, i > 0 ? ", " : "");
        good = good && add_value(program, json_array_get(array, i), type->element, NULL, out);
    }
    text_puts(out, "]");
    return good;
}

/* Values that are texts in JSON. */
static bool add_text(const json_t *json, const struct type *type, const struct constant *style,
                     struct text *out)
{
    const char *text = json_string_value(json);
    if (text == NULL || strlen(text) != json_string_length(json))
        return false;
    if (type->kind == TYPE_DECIMAL)
        return add_number(out, text);
    if (type_is_instant(type))
        return add_instant(out, text, type, style);
    return add_string(out, text, strlen(text));
}

bool test_constant(struct program *program, const char *cell, const struct type *type,
                   const struct constant *style, struct text *out)
{
    bool good = false;
    if (strcmp(cell, "null") == 0)
        return text_puts(out, cell), true;
    switch (type->kind) {
    case TYPE_BOOL:
        return text_puts(out, cell), true;
    case TYPE_INT32:
    case TYPE_INT64:
    case TYPE_FLOAT32:
    case TYPE_FLOAT64:
        return add_number(out, cell);
    case TYPE_DURATION:
        if (cell[0] == '-')
            return add_number(out, cell);
        add_duration(out, strtoll(cell, NULL, 10));
        return true;
    case TYPE_POISON:
    case TYPE_NULL:
        return false;
    case TYPE_DECIMAL:
    case TYPE_STRING:
    case TYPE_UUID:
    case TYPE_ENUM:
    case TYPE_BYTES:
    case TYPE_DATE:
    case TYPE_TIMESTAMP_MS:
    case TYPE_TIMESTAMP_US:
    case TYPE_RECORD:
    case TYPE_ARRAY:
    case TYPE_MAP:
        break;
    }
    json_t *json = json_loads(cell, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    if (json_is_object(json) && (type->kind == TYPE_RECORD || type->kind == TYPE_MAP))
        good = add_members(program, json, type, out);
    else if (json_is_array(json) && type->kind == TYPE_ARRAY)
        good = add_items(program, json, type, out);
    else if (json_is_string(json))
        good = add_text(json, type, style, out);
    json_decref(json);
    return good;
}

const char *test_row_text(struct program *program, const struct test_expect *expect,
                          const struct cells *row, bool *writable)
{
    const struct constant *first =
        expect->expectation->rows.count > 0 ? expect->expectation->rows.items[0] : NULL;
    struct text out = {0};
    *writable = true;
    text_puts(&out, "(");
    for (size_t c = 0; c < expect->column_count; c++) {
        const struct field *field = &expect->stream->row->fields[expect->columns[c]];
        struct text value = {0};
        text_puts(&out, c > 0 ? ", " : "");
        add_name(&out, field->name);
        bool good = test_constant(program, row->texts[c], field->type,
                                  first != NULL ? test_value(first, field->name) : NULL, &value);
        text_printf(&out, ": %s", good ? value.data : row->texts[c]);
        *writable = *writable && good;
        text_free(&value);
    }
    text_puts(&out, ")");
    const char *text = arena_strndup(program->arena, out.data, out.size);
    text_free(&out);
    return text;
}
