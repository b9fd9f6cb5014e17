/* emit_clickhouse_types.c: names, types and transforms as ClickHouse writes them. */
#include "emit_clickhouse.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "../runtime/clickhouse_words.h"

void clickhouse_identifier(struct text *out, const char *name)
{
    bool plain = (isalpha((unsigned char)name[0]) || name[0] == '_') &&
                 !clickhouse_is_taken(name, strlen(name));
    for (const char *c = name; *c != '\0'; c++)
        plain = plain && (isalnum((unsigned char)*c) || *c == '_');
    if (plain) {
        text_puts(out, name);
        return;
    }
    text_puts(out, "`");
    for (const char *c = name; *c != '\0'; c++)
        text_printf(out, *c == '`' || *c == '\\' ? "\\%c" : "%c", *c);
    text_puts(out, "`");
}

void clickhouse_table_name(struct text *out, const char *target)
{
    const char *dot = strchr(target, '.');
    struct text database = {0};
    if (dot != NULL) {
        text_add(&database, target, (size_t)(dot - target));
        clickhouse_identifier(out, database.data);
        text_puts(out, ".");
        target = dot + 1;
        text_free(&database);
    }
    clickhouse_identifier(out, target);
}

static void add_nested(struct text *out, const struct type *type, bool nullable)
{
    if (type->kind == TYPE_RECORD) { /* a tuple can't be null: all in it is */
        text_puts(out, "Tuple(");
        for (size_t i = 0; i < type->record->field_count; i++) {
            const struct field *field = &type->record->fields[i];
            text_puts(out, i > 0 ? ", " : "");
            clickhouse_identifier(out, field->name);
            text_puts(out, " ");
            clickhouse_type(out, field->type, field->nullable || nullable);
        }
    } else {
        text_puts(out, type->kind == TYPE_ARRAY ? "Array(" : "Map(String, ");
        clickhouse_type(out, type->element, type->element_nullable);
    }
    text_puts(out, ")");
}

static void add_plain(struct text *out, const struct type *type)
{
    static const char *const names[] = {
        [TYPE_BOOL] = "Bool",
        [TYPE_INT32] = "Int32",
        [TYPE_INT64] = "Int64",
        [TYPE_FLOAT32] = "Float32",
        [TYPE_FLOAT64] = "Float64",
        [TYPE_STRING] = "String",
        [TYPE_BYTES] = "String",
        [TYPE_UUID] = "UUID",
        [TYPE_ENUM] = "String",
        [TYPE_DATE] = "Date32",
        [TYPE_DURATION] = "Int64",
        [TYPE_TIMESTAMP_MS] = "DateTime64(3, 'UTC')",
        [TYPE_TIMESTAMP_US] = "DateTime64(6, 'UTC')",
        [TYPE_MAP] = NULL,
    };
    if (type->kind == TYPE_DECIMAL)
        text_printf(out, "Decimal(%u, %u)", type->precision, type->scale);
    else
        text_puts(out, names[type->kind] != NULL ? names[type->kind] : "String");
}

void clickhouse_type(struct text *out, const struct type *type, bool nullable)
{
    if (type_is_nested(type)) {
        add_nested(out, type, nullable);
        return;
    }
    bool low = type->kind == TYPE_ENUM;
    text_printf(out, "%s%s", low ? "LowCardinality(" : "", nullable ? "Nullable(" : "");
    add_plain(out, type);
    text_printf(out, "%s%s", nullable ? ")" : "", low ? ")" : "");
}

/* ---- transforms ---- */

static const struct field *field_of(const struct record_type *row, const char *name)
{
    for (size_t i = 0; i < row->field_count; i++)
        if (strcmp(row->fields[i].name, name) == 0)
            return &row->fields[i];
    return NULL;
}

const char *transform_name(const struct transform *transform)
{
    return transform->function.text != NULL ? transform->function.text : transform->column.text;
}

void clickhouse_transform(struct text *out, const struct transform *transform,
                          const struct record_type *row)
{
    static const char *const times[][2] = {{"minute", "toStartOfMinute"},
                                           {"hour", "toStartOfHour"},
                                           {"day", "toDate32"},
                                           {"month", "toStartOfMonth"},
                                           {"year", "toStartOfYear"}};
    const char *function = transform->function.text;
    const struct field *field = field_of(row, transform->column.text);
    struct text column = {0};
    clickhouse_identifier(&column, transform->column.text);
    const char *c = column.data;
    if (function == NULL)
        text_puts(out, c);
    else if (strcmp(function, "bucket") == 0)
        text_printf(out, "sipHash64(%s) %% %" PRId64, c, transform->argument);
    else if (strcmp(function, "truncate") == 0 && field != NULL && field->type->kind == TYPE_STRING)
        text_printf(out, "substringUTF8(%s, 1, %" PRId64 ")", c, transform->argument);
    else if (strcmp(function, "truncate") == 0)
        text_printf(out, "%s - positiveModulo(%s, %" PRId64 ")", c, c, transform->argument);
    for (size_t i = 0; function != NULL && i < sizeof times / sizeof *times; i++)
        if (strcmp(function, times[i][0]) == 0)
            text_printf(out, "%s(%s)", times[i][1], c);
    text_free(&column);
}

/* The days since 1970-01-01 of an instant or a date. */
static void add_days(struct text *out, const char *column, const struct type *type)
{
    if (type->kind == TYPE_DATE) {
        text_printf(out, "toInt32(%s)", column);
        return;
    }
    bool ms = type->kind == TYPE_TIMESTAMP_MS;
    const char *ticks = ms ? "toUnixTimestamp64Milli" : "toUnixTimestamp64Micro";
    const char *day = ms ? "86400000" : "86400000000";
    text_printf(out, "intDiv(%s(%s) - positiveModulo(%s(%s), %s), %s)", ticks, column, ticks,
                column, day, day);
}

static void add_start_of(struct text *out, const char *column, const struct type *type,
                         int64_t seconds)
{
    bool ms = type->kind == TYPE_TIMESTAMP_MS;
    const char *ticks = ms ? "toUnixTimestamp64Milli" : "toUnixTimestamp64Micro";
    int64_t second = ms ? 1000 : 1000000;
    text_printf(out,
                "addSeconds(toDateTime64(0, 0, 'UTC'), intDiv(%s(%s) - positiveModulo(%s(%s), "
                "%" PRId64 "), %" PRId64 "))",
                ticks, column, ticks, column, seconds * second, second);
}

/* ClickHouse knows the calendar of 1900 to 2299, which is that of any 400 years: 146097 days. (Not
 * by toDayOfYear: it is one too few on the last day of 2299.) */
static void add_first_day(struct text *out, const char *column, const struct type *type,
                          bool is_month, size_t number)
{
    text_puts(out, "addDays(toDate32('1970-01-01'), (");
    add_days(out, column, type);
    text_printf(out, " AS _pipe_days_%zu) + ", number);
    text_puts(out, is_month ? "1 - toDayOfMonth(" : "toInt32(makeDate32(toYear(");
    text_printf(out,
                "addDays(toDate32('1970-01-01'), (positiveModulo(_pipe_days_%zu + 25567, 146097) - "
                "25567 AS _pipe_cycle_%zu)))",
                number, number);
    if (!is_month)
        text_printf(out, ", 1, 1)) - _pipe_cycle_%zu", number);
    text_puts(out, ")");
}

void clickhouse_rollup_key(struct text *out, const struct transform *transform,
                           const struct record_type *row, size_t number)
{
    const char *function = transform->function.text != NULL ? transform->function.text : "";
    const struct field *field = field_of(row, transform->column.text);
    struct text column = {0};
    clickhouse_identifier(&column, transform->column.text);
    if (strcmp(function, "minute") == 0 || strcmp(function, "hour") == 0) {
        add_start_of(out, column.data, field->type, function[0] == 'm' ? 60 : 3600);
    } else if (strcmp(function, "day") == 0) {
        text_puts(out, "addDays(toDate32('1970-01-01'), ");
        add_days(out, column.data, field->type);
        text_puts(out, ")");
    } else if (strcmp(function, "month") == 0 || strcmp(function, "year") == 0) {
        add_first_day(out, column.data, field->type, function[0] == 'm', number);
    } else {
        clickhouse_transform(out, transform, row);
    }
    text_free(&column);
}

void clickhouse_transform_type(struct text *out, const struct transform *transform,
                               const struct record_type *row)
{
    const char *function = transform->function.text;
    const struct field *field = field_of(row, transform->column.text);
    bool nullable = field != NULL && field->nullable;
    const char *type = NULL;
    if (function == NULL || strcmp(function, "truncate") == 0) {
        clickhouse_type(out, field->type, nullable);
        return;
    }
    if (strcmp(function, "bucket") == 0)
        type = "UInt64";
    else
        type = strcmp(function, "minute") == 0 || strcmp(function, "hour") == 0
                   ? "DateTime64(0, 'UTC')"
                   : "Date32";
    text_printf(out, nullable ? "Nullable(%s)" : "%s", type);
}
