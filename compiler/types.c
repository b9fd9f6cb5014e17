/* types.c: types, their names and equality, and the text forms of instants and dates. */
#include <ctype.h>
#include <string.h>
#include "resolve.h"

bool type_is_integer(const struct type *type)
{
    return type->kind == TYPE_INT32 || type->kind == TYPE_INT64;
}

bool type_is_float(const struct type *type)
{
    return type->kind == TYPE_FLOAT32 || type->kind == TYPE_FLOAT64;
}

bool type_is_instant(const struct type *type)
{
    return type->kind == TYPE_TIMESTAMP_MS || type->kind == TYPE_TIMESTAMP_US;
}

bool type_is_nested(const struct type *type)
{
    return type->kind == TYPE_RECORD || type->kind == TYPE_ARRAY || type->kind == TYPE_MAP;
}

bool type_is_numeric(const struct type *type)
{
    return type_is_integer(type) || type_is_float(type) || type->kind == TYPE_DECIMAL;
}

bool type_is_ordered(const struct type *type)
{
    return type_is_numeric(type) || type_is_instant(type) || type->kind == TYPE_DATE ||
           type->kind == TYPE_DURATION || type->kind == TYPE_STRING || type->kind == TYPE_UUID ||
           type->kind == TYPE_BYTES;
}

bool type_is_key(const struct type *type)
{
    return !type_is_nested(type) && !type_is_float(type);
}

static bool records_equal(const struct record_type *a, const struct record_type *b)
{
    if (a == b)
        return true;
    if (a->field_count != b->field_count)
        return false;
    for (size_t i = 0; i < a->field_count; i++) {
        const struct field *x = &a->fields[i], *y = &b->fields[i];
        if (strcmp(x->name, y->name) != 0 || x->nullable != y->nullable ||
            !type_equal(x->type, y->type))
            return false;
    }
    return true;
}

static bool enums_equal(const struct type *a, const struct type *b)
{
    if (a->symbol_count != b->symbol_count)
        return false;
    for (size_t i = 0; i < a->symbol_count; i++)
        if (strcmp(a->symbols[i], b->symbols[i]) != 0)
            return false;
    return true;
}

bool type_equal(const struct type *a, const struct type *b)
{
    if (a == b)
        return true;
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case TYPE_DECIMAL:
        return a->precision == b->precision && a->scale == b->scale;
    case TYPE_STRING:
        return a->is_json == b->is_json;
    case TYPE_ENUM:
        return enums_equal(a, b);
    case TYPE_BYTES:
        return a->fixed_bytes == b->fixed_bytes;
    case TYPE_RECORD:
        return records_equal(a->record, b->record);
    case TYPE_ARRAY:
    case TYPE_MAP:
        return a->element_nullable == b->element_nullable && type_equal(a->element, b->element);
    case TYPE_POISON:
    case TYPE_NULL:
    case TYPE_BOOL:
    case TYPE_INT32:
    case TYPE_INT64:
    case TYPE_FLOAT32:
    case TYPE_FLOAT64:
    case TYPE_UUID:
    case TYPE_DATE:
    case TYPE_TIMESTAMP_MS:
    case TYPE_TIMESTAMP_US:
    case TYPE_DURATION:
        return true;
    }
    return false;
}

static const char *const simple_names[] = {
    [TYPE_POISON] = "?",
    [TYPE_NULL] = "null",
    [TYPE_BOOL] = "bool",
    [TYPE_INT32] = "int32",
    [TYPE_INT64] = "int64",
    [TYPE_FLOAT32] = "float32",
    [TYPE_FLOAT64] = "float64",
    [TYPE_DECIMAL] = "decimal",
    [TYPE_STRING] = "string",
    [TYPE_UUID] = "uuid",
    [TYPE_ENUM] = "enum",
    [TYPE_BYTES] = "bytes",
    [TYPE_DATE] = "date",
    [TYPE_TIMESTAMP_MS] = "timestamp_ms",
    [TYPE_TIMESTAMP_US] = "timestamp_us",
    [TYPE_DURATION] = "duration",
    [TYPE_RECORD] = "record",
    [TYPE_ARRAY] = "array",
    [TYPE_MAP] = "map",
};

const char *type_name(struct program *program, const struct type *type)
{
    const char *name = simple_names[type->kind];
    switch (type->kind) {
    case TYPE_DECIMAL:
        return arena_printf(program->arena, "decimal(%u,%u)", type->precision, type->scale);
    case TYPE_ENUM:
        return type->enum_name ? arena_printf(program->arena, "enum %s", type->enum_name) : name;
    case TYPE_BYTES:
        return type->fixed_bytes ? arena_printf(program->arena, "bytes(%u)", type->fixed_bytes)
                                 : name;
    case TYPE_RECORD:
        return type->record && type->record->name
                   ? arena_printf(program->arena, "record %s", type->record->name)
                   : name;
    case TYPE_ARRAY:
    case TYPE_MAP:
        return arena_printf(program->arena, "%s(%s%s)", name, type_name(program, type->element),
                            type->element_nullable ? " null" : "");
    case TYPE_STRING:
        return type->is_json ? "string (json)" : name;
    case TYPE_POISON:
    case TYPE_NULL:
    case TYPE_BOOL:
    case TYPE_INT32:
    case TYPE_INT64:
    case TYPE_FLOAT32:
    case TYPE_FLOAT64:
    case TYPE_UUID:
    case TYPE_DATE:
    case TYPE_TIMESTAMP_MS:
    case TYPE_TIMESTAMP_US:
    case TYPE_DURATION:
        return name;
    }
    return name;
}

const struct type *type_simple(enum type_kind kind)
{
    static const struct type types[] = {
        [TYPE_POISON] = {.kind = TYPE_POISON},
        [TYPE_NULL] = {.kind = TYPE_NULL},
        [TYPE_BOOL] = {.kind = TYPE_BOOL},
        [TYPE_INT32] = {.kind = TYPE_INT32},
        [TYPE_INT64] = {.kind = TYPE_INT64},
        [TYPE_FLOAT32] = {.kind = TYPE_FLOAT32},
        [TYPE_FLOAT64] = {.kind = TYPE_FLOAT64},
        [TYPE_STRING] = {.kind = TYPE_STRING},
        [TYPE_UUID] = {.kind = TYPE_UUID},
        [TYPE_BYTES] = {.kind = TYPE_BYTES},
        [TYPE_DATE] = {.kind = TYPE_DATE},
        [TYPE_TIMESTAMP_MS] = {.kind = TYPE_TIMESTAMP_MS},
        [TYPE_TIMESTAMP_US] = {.kind = TYPE_TIMESTAMP_US},
        [TYPE_DURATION] = {.kind = TYPE_DURATION},
    };
    return &types[kind];
}

const struct type *type_decimal(struct program *program, unsigned precision, unsigned scale)
{
    struct type *type = arena_alloc(program->arena, sizeof *type);
    type->kind = TYPE_DECIMAL;
    type->precision = (uint8_t)precision;
    type->scale = (uint8_t)scale;
    return type;
}

/* What people of other languages write, and what it is called here. */
static const char *type_alias(const char *name)
{
    static const char *const aliases[][2] = {
        {"int", "int32"},
        {"integer", "int32"},
        {"bigint", "int64"},
        {"long", "int64"},
        {"smallint", "int32"},
        {"double", "float64"},
        {"float", "float64"},
        {"real", "float32"},
        {"text", "string"},
        {"varchar", "string"},
        {"char", "string"},
        {"boolean", "bool"},
        {"timestamp", "timestamp_ms"},
        {"datetime", "timestamp_ms"},
        {"numeric", "decimal(12,2)"},
        {"binary", "bytes"},
        {"blob", "bytes"},
    };
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (strcasecmp(aliases[i][0], name) == 0)
            return aliases[i][1];
    return NULL;
}

static const struct type *decimal_named(struct program *program, struct name name, int arg_count,
                                        const unsigned *args)
{
    if (arg_count != 2) {
        struct diag *diag =
            diag_error(program, PC3008, name.span, "`decimal` needs a precision and a scale");
        diag_help(diag, "write `decimal(12,2)`: 12 digits, 2 of them behind the point");
        return NULL;
    }
    if (args[0] < 1 || args[0] > 38 || args[1] > args[0]) {
        struct diag *diag = diag_error(program, PC3008, name.span,
                                       "`decimal(%u,%u)` does not exist", args[0], args[1]);
        diag_help(diag, "a decimal has 1 to 38 digits, and at most all of them behind the point");
        return NULL;
    }
    return type_decimal(program, args[0], args[1]);
}

const struct type *type_from_name(struct program *program, struct name name, int arg_count,
                                  const unsigned *args)
{
    static const enum type_kind kinds[] = {
        TYPE_BOOL,         TYPE_INT32,        TYPE_INT64,   TYPE_FLOAT32, TYPE_FLOAT64,
        TYPE_DECIMAL,      TYPE_STRING,       TYPE_UUID,    TYPE_BYTES,   TYPE_DATE,
        TYPE_TIMESTAMP_MS, TYPE_TIMESTAMP_US, TYPE_DURATION};
    const char *known[sizeof kinds / sizeof *kinds];
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        known[i] = simple_names[kinds[i]];
        if (strcmp(known[i], name.text) != 0)
            continue;
        if (kinds[i] == TYPE_DECIMAL)
            return decimal_named(program, name, arg_count, args);
        if (arg_count > 0) {
            struct diag *diag =
                diag_error(program, PC3008, name.span, "`%s` takes no numbers", name.text);
            diag_help(diag, "write `%s`", name.text);
            return NULL;
        }
        return type_simple(kinds[i]);
    }
    struct diag *diag = diag_error(program, PC3007, name.span, "there is no type `%s`", name.text);
    const char *meant = type_alias(name.text);
    if (!meant)
        meant = nearest_name(name.text, known, sizeof kinds / sizeof *kinds);
    if (meant)
        diag_help(diag, "did you mean `%s`?", meant);
    else
        diag_help(diag, "types are bool, int32, int64, float32, float64, decimal(p,s), string, "
                        "uuid, bytes, date, timestamp_ms, timestamp_us, duration");
    return NULL;
}

/* Exactly `count` digits at *at; -1 if there are none. */
static int take_digits(const char **at, const char *end, unsigned count)
{
    int value = 0;
    if (end - *at < (ptrdiff_t)count)
        return -1;
    for (unsigned i = 0; i < count; i++, (*at)++) {
        if (!isdigit((unsigned char)**at))
            return -1;
        value = value * 10 + (**at - '0');
    }
    return value;
}

static bool take_char(const char **at, const char *end, const char *any_of)
{
    if (*at >= end || **at == '\0' || !strchr(any_of, **at))
        return false;
    (*at)++;
    return true;
}

static int days_in_month(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return days[month - 1] + (month == 2 && leap);
}

/* Days since 1970-01-01 in the proleptic Gregorian calendar. */
static int32_t days_of(int year, int month, int day)
{
    int shifted = month <= 2 ? year - 1 : year;
    int era = (shifted >= 0 ? shifted : shifted - 399) / 400;
    int of_era = shifted - era * 400;
    int of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static bool take_date(const char **at, const char *end, int32_t *days)
{
    int year = take_digits(at, end, 4);
    if (year < 1 || !take_char(at, end, "-"))
        return false;
    int month = take_digits(at, end, 2);
    if (month < 1 || month > 12 || !take_char(at, end, "-"))
        return false;
    int day = take_digits(at, end, 2);
    if (day < 1 || day > days_in_month(year, month))
        return false;
    *days = days_of(year, month, day);
    return true;
}

bool text_to_date(const char *text, size_t size_bytes, int32_t *days)
{
    const char *at = text, *end = text + size_bytes;
    return take_date(&at, end, days) && at == end;
}

/* Up to 9 digits behind a point, as µs; more precise digits than the type keeps must be 0. */
static bool take_fraction(const char **at, const char *end, bool micros, int64_t *us)
{
    *us = 0;
    if (!take_char(at, end, "."))
        return true;
    int64_t unit = 100000;
    unsigned digits = 0;
    for (; *at < end && isdigit((unsigned char)**at); (*at)++, digits++, unit /= 10) {
        int digit = **at - '0';
        if (digit != 0 && (unit == 0 || (!micros && unit < 1000)))
            return false;
        *us += digit * unit;
    }
    return digits > 0 && digits <= 9;
}

static bool take_offset(const char **at, const char *end, int64_t *seconds)
{
    *seconds = 0;
    if (take_char(at, end, "Zz"))
        return true;
    bool minus = *at < end && **at == '-';
    if (!take_char(at, end, "+-"))
        return false;
    int hour = take_digits(at, end, 2);
    if (hour < 0 || hour > 23 || !take_char(at, end, ":"))
        return false;
    int minute = take_digits(at, end, 2);
    if (minute < 0 || minute > 59)
        return false;
    *seconds = (hour * 3600 + minute * 60) * (minus ? -1 : 1);
    return true;
}

bool text_to_timestamp(const char *text, size_t size_bytes, bool micros, int64_t *value)
{
    const char *at = text, *end = text + size_bytes;
    int32_t days;
    int64_t us, offset_seconds;
    if (!take_date(&at, end, &days) || !take_char(&at, end, "Tt "))
        return false;
    int hour = take_digits(&at, end, 2);
    if (hour < 0 || hour > 23 || !take_char(&at, end, ":"))
        return false;
    int minute = take_digits(&at, end, 2);
    if (minute < 0 || minute > 59 || !take_char(&at, end, ":"))
        return false;
    int second = take_digits(&at, end, 2);
    if (second < 0 || second > 59 || !take_fraction(&at, end, micros, &us) ||
        !take_offset(&at, end, &offset_seconds) || at != end)
        return false;
    int64_t seconds = (int64_t)days * 86400 + hour * 3600 + minute * 60 + second - offset_seconds;
    if (seconds < -62135596800 || seconds > 253402300799)
        return false;
    *value = micros ? seconds * 1000000 + us : seconds * 1000 + us / 1000;
    return true;
}
