/* resolve_constants.c: written constants of tests and traffic against the types of columns. */
#include <string.h>
#include "resolve.h"

static bool misfit(struct program *program, const struct constant *constant,
                   const struct type *type, const char *what)
{
    struct diag *diag =
        diag_error(program, PC2029, constant->span, "%s does not fit %s, which is %s",
                   span_text(program, constant->span), what, type_name(program, type));
    if (type_is_instant(type))
        diag_help(diag, "write '2026-01-31T10:00:00Z', or a duration since 1970: 10s");
    if (type->kind == TYPE_DATE)
        diag_help(diag, "write '2026-01-31'");
    if (type->kind == TYPE_RECORD || type->kind == TYPE_MAP)
        diag_help(diag, "write `(name: value, …)`");
    if (type->kind == TYPE_ARRAY)
        diag_help(diag, "write `[value, …]`");
    return false;
}

static bool number_fits(const struct constant *constant, const struct type *type)
{
    const struct literal_number *number = &constant->number;
    __int128 n = constant->negative ? -number->digits : number->digits;
    unsigned scale = number->is_decimal ? number->scale : 0;
    switch ((int)type->kind) {
    case TYPE_INT32:
    case TYPE_DATE:
        return scale == 0 && n == (int32_t)n;
    case TYPE_INT64:
    case TYPE_TIMESTAMP_MS:
    case TYPE_TIMESTAMP_US:
    case TYPE_DURATION:
        return scale == 0 && n == (int64_t)n;
    case TYPE_FLOAT32:
    case TYPE_FLOAT64:
        return true;
    case TYPE_DECIMAL:
        return scale <= type->scale && int128_scale(&n, type->scale - scale) &&
               digits_of(n) <= type->precision;
    }
    return false;
}

static bool is_base64(const char *text, size_t size)
{
    size_t padding = 0;
    if (size % 4 != 0)
        return false;
    while (padding < 2 && padding < size && text[size - 1 - padding] == '=')
        padding++;
    for (size_t i = 0; i < size - padding; i++)
        if (text[i] == '\0' || !strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                       "0123456789+/",
                                       text[i]))
            return false;
    return true;
}

static bool is_uuid(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? text[i] != '-' : !text[i] || !strchr("0123456789abcdefABCDEF", text[i]))
            return false;
    }
    return size == 36;
}

static bool is_decimal_text(const char *text, size_t size, const struct type *type)
{
    struct constant number = {.kind = CONST_NUMBER};
    size_t i = size > 0 && text[0] == '-', digits = 0;
    for (; i < size; i++) {
        if (text[i] == '.' && !number.number.is_decimal) {
            number.number.is_decimal = true;
            continue;
        }
        if (text[i] < '0' || text[i] > '9' || ++digits > 38)
            return false;
        number.number.digits = number.number.digits * 10 + (text[i] - '0');
        number.number.scale += number.number.is_decimal;
    }
    return digits > 0 && number_fits(&number, type);
}

static bool string_fits(const char *text, size_t size, const struct type *type)
{
    int64_t instant;
    int32_t days;
    switch ((int)type->kind) {
    case TYPE_STRING:
        return true;
    case TYPE_UUID:
        return is_uuid(text, size);
    case TYPE_ENUM:
        for (size_t i = 0; i < type->symbol_count; i++)
            if (strcmp(type->symbols[i], text) == 0)
                return true;
        return false;
    case TYPE_BYTES:
        if (!is_base64(text, size))
            return false;
        size = size / 4 * 3 - (size > 0 && text[size - 1] == '=') -
               (size > 1 && text[size - 2] == '=');
        return type->fixed_bytes == 0 || size == type->fixed_bytes;
    case TYPE_DATE:
        return text_to_date(text, size, &days);
    case TYPE_TIMESTAMP_MS:
    case TYPE_TIMESTAMP_US:
        return text_to_timestamp(text, size, type->kind == TYPE_TIMESTAMP_US, &instant);
    case TYPE_DECIMAL:
        return is_decimal_text(text, size, type);
    }
    return false;
}

static bool check_items(struct program *program, const struct constant *constant,
                        const struct type *type, const char *what)
{
    bool good = true;
    for (size_t i = 0; i < constant->items.count; i++)
        good &=
            check_constant(program, constant->items.items[i], type->element, type->element_nullable,
                           arena_printf(program->arena, "an element of %s", what));
    return good;
}

static bool check_record(struct program *program, const struct constant *constant,
                         const struct record_type *record, const char *what)
{
    bool good = true;
    for (size_t i = 0; i < constant->names.count; i++) {
        int index = field_index(record, constant->names.items[i].text);
        if (index < 0) {
            report_unknown_column(program, constant->names.items[i], record, record->name);
            good = false;
            continue;
        }
        for (size_t j = 0; j < i; j++)
            if (constant->names.items[j].text == constant->names.items[i].text) {
                diag_error(program, PC2011, constant->names.items[i].span, "`%s` is given twice",
                           constant->names.items[i].text);
                good = false;
            }
        const struct field *field = &record->fields[index];
        good &= check_constant(program, constant->items.items[i], field->type, field->nullable,
                               arena_printf(program->arena, "`%s`", field->name));
    }
    const char *missing = "";
    size_t count = 0;
    for (size_t i = 0; i < record->field_count; i++) {
        const struct field *field = &record->fields[i];
        bool given = field->nullable || field->has_default;
        for (size_t j = 0; j < constant->names.count; j++)
            given |= strcmp(constant->names.items[j].text, field->name) == 0;
        if (!given)
            missing = arena_printf(program->arena, "%s%s`%s`", missing, count++ > 0 ? ", " : "",
                                   field->name);
    }
    if (count > 0)
        diag_error(program, PC2028, constant->span, "%s lacks the field%s %s", what,
                   count > 1 ? "s" : "", missing);
    return good && count == 0;
}

bool check_constant(struct program *program, const struct constant *constant,
                    const struct type *type, bool nullable, const char *what)
{
    bool fits = false;
    if (type->kind == TYPE_POISON)
        return true;
    switch (constant->kind) {
    case CONST_NULL:
        if (nullable)
            return true;
        diag_error(program, PC2029, constant->span, "%s is never null", what);
        return false;
    case CONST_NUMBER:
        fits = number_fits(constant, type);
        break;
    case CONST_SIZE:
        fits = type->kind == TYPE_INT64 ||
               (type->kind == TYPE_INT32 && constant->size_bytes <= INT32_MAX);
        break;
    case CONST_BOOL:
        fits = type->kind == TYPE_BOOL;
        break;
    case CONST_DURATION:
        fits = type->kind == TYPE_DURATION || type_is_instant(type);
        break;
    case CONST_STRING:
        fits = string_fits(constant->text, constant->text_bytes, type);
        break;
    case CONST_ROW:
        if (type->kind == TYPE_RECORD)
            return check_record(program, constant, type->record, what);
        if (type->kind == TYPE_MAP)
            return check_items(program, constant, type, what);
        break;
    case CONST_ARRAY:
        if (type->kind == TYPE_ARRAY)
            return check_items(program, constant, type, what);
        break;
    }
    return fits || misfit(program, constant, type, what);
}

const struct field *field_named(struct program *program, const struct record_type *row,
                                const name_list *path, const char *row_of)
{
    const struct field *field = NULL;
    for (size_t i = 0; i < path->count; i++) {
        const struct name *name = &path->items[i];
        int index = row ? field_index(row, name->text) : -1;
        if (index < 0 && row) {
            report_unknown_column(program, *name, row, i == 0 ? row_of : field->name);
            return NULL;
        }
        if (index < 0) {
            diag_error(program, PC2021, name->span, "`%s` is %s, it has no field `%s`", field->name,
                       type_name(program, field->type), name->text);
            return NULL;
        }
        field = &row->fields[index];
        row = field->type->kind == TYPE_RECORD ? field->type->record : NULL;
    }
    return field;
}
