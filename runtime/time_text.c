/* time_text.c: the calendar, instants as text, date_trunc and date_part (value.h, functions.h). */
#include "functions.h"
#include "value.h"

#define SECOND_US INT64_C(1000000)
#define DAY_SECONDS INT64_C(86400)

/* --- Calendar -----------------------------------------------------------------------------------
 */

/*
 * Years are counted from 1 March, so that the leap day comes last, in cycles of 400 years (146,097
 * days). In such a year month m (0 = March) begins at day (153 m + 2) / 5.
 */
#define CYCLE_DAYS 146097
#define DAYS_TO_1970 719468 /* from 0000-03-01 */

int32_t pipe_days_of(int32_t year, unsigned month, unsigned day)
{
    int32_t y = year - (month <= 2);
    int32_t cycle = (int32_t)pipe_floor_div(y, 400), year_in_cycle = y - cycle * 400;
    int32_t day_in_year = (int32_t)((153 * ((month + 9) % 12) + 2) / 5 + day - 1);
    return cycle * CYCLE_DAYS + year_in_cycle * 365 + year_in_cycle / 4 - year_in_cycle / 100 +
           day_in_year - DAYS_TO_1970;
}

static inline struct pipe_civil civil_of(int32_t days)
{
    int64_t shifted = (int64_t)days + DAYS_TO_1970;
    int32_t cycle = (int32_t)pipe_floor_div(shifted, CYCLE_DAYS);
    uint32_t day = (uint32_t)(shifted - (int64_t)cycle * CYCLE_DAYS); /* in the cycle */
    uint32_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
    uint32_t day_in_year = day - (year * 365 + year / 4 - year / 100);
    uint32_t month = (5 * day_in_year + 2) / 153; /* 0 = March */
    return (struct pipe_civil){
        .year = (int32_t)year + cycle * 400 + (month >= 10),
        .month = (uint8_t)(month < 10 ? month + 3 : month - 9),
        .day = (uint8_t)(day_in_year - (153 * month + 2) / 5 + 1),
    };
}

struct pipe_civil pipe_civil_of(int32_t days)
{
    return civil_of(days);
}

bool pipe_civil_ok(int32_t year, unsigned month, unsigned day)
{
    static const uint8_t lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (year < 1 || year > 9999 || month < 1 || month > 12 || day < 1)
        return false;
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return day <= lengths[month - 1] + (unsigned)(month == 2 && leap);
}

/* --- Writing ------------------------------------------------------------------------------------
 */

static inline void put2(char *to, uint32_t value)
{
    to[0] = (char)('0' + value / 10);
    to[1] = (char)('0' + value % 10);
}

static inline void put3(char *to, uint32_t value)
{
    put2(to, value / 10);
    to[2] = (char)('0' + value % 10);
}

static inline void put_date(char *to, int32_t days)
{
    struct pipe_civil civil = civil_of(days);
    uint32_t year = (uint32_t)civil.year % 10000;
    put2(to, year / 100);
    put2(to + 2, year % 100);
    to[4] = to[7] = '-';
    put2(to + 5, civil.month);
    put2(to + 8, civil.day);
}

void pipe_date_write(char to[PIPE_DATE_TEXT], int32_t days)
{
    put_date(to, days);
}

/* Instants that follow one another are mostly of one day: its text, for writing and for reading. */
struct day_text {
    int32_t days;
    char text[PIPE_DATE_TEXT];
};
static _Thread_local struct day_text written = {.days = INT32_MIN}; /* of no day yet */
/* A true pair from the beginning: what is read here is whatever bytes somebody sent. */
static _Thread_local struct day_text taken = {
    .days = 0, .text = {'1', '9', '7', '0', '-', '0', '1', '-', '0', '1'}};

/* `2026-01-31T10:00:00.`, 20 characters */
static inline void put_seconds(char *to, int64_t seconds)
{
    int32_t days = (int32_t)pipe_floor_div(seconds, DAY_SECONDS);
    uint32_t second = (uint32_t)(seconds - days * DAY_SECONDS) % (uint32_t)DAY_SECONDS;
    if (PIPE_UNLIKELY(written.days != days)) {
        put_date(written.text, days);
        written.days = days;
    }
    memcpy(to, written.text, PIPE_DATE_TEXT);
    to[10] = 'T';
    put2(to + 11, second / 3600);
    put2(to + 14, second / 60 % 60);
    put2(to + 17, second % 60);
    to[13] = to[16] = ':';
    to[19] = '.';
}

void pipe_ts_ms_write(char to[PIPE_TS_MS_TEXT], int64_t ms)
{
    int64_t seconds = pipe_floor_div(ms, 1000);
    put_seconds(to, seconds);
    put3(to + 20, (uint32_t)(ms - seconds * 1000));
    to[23] = 'Z';
}

void pipe_ts_us_write(char to[PIPE_TS_US_TEXT], int64_t us)
{
    int64_t seconds = pipe_floor_div(us, SECOND_US);
    uint32_t fraction = (uint32_t)(us - seconds * SECOND_US);
    put_seconds(to, seconds);
    put3(to + 20, fraction / 1000);
    put3(to + 23, fraction % 1000);
    to[26] = 'Z';
}

/* --- Reading ------------------------------------------------------------------------------------
 */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Exactly `count` digits. */
static bool take_number(const char **at, const char *end, unsigned count, unsigned *out)
{
    unsigned value = 0;
    if ((size_t)(end - *at) < count)
        return false;
    for (; count > 0; count--, ++*at) {
        if (!is_digit(**at))
            return false;
        value = value * 10 + (unsigned)(**at - '0');
    }
    *out = value;
    return true;
}

static bool take(const char **at, const char *end, char c)
{
    if (*at == end || **at != c)
        return false;
    ++*at;
    return true;
}

static bool take_date(const char **at, const char *end, int32_t *days)
{
    unsigned year, month, day;
    const char *begin = *at;
    if (PIPE_LIKELY(end - begin >= PIPE_DATE_TEXT &&
                    memcmp(begin, taken.text, PIPE_DATE_TEXT) == 0)) {
        *at += PIPE_DATE_TEXT;
        *days = taken.days;
        return true;
    }
    if (!take_number(at, end, 4, &year) || !take(at, end, '-') ||
        !take_number(at, end, 2, &month) || !take(at, end, '-') || !take_number(at, end, 2, &day) ||
        !pipe_civil_ok((int32_t)year, month, day))
        return false;
    *days = pipe_days_of((int32_t)year, month, day);
    memcpy(taken.text, begin, PIPE_DATE_TEXT);
    taken.days = *days;
    return true;
}

/* 1 to `most` digits as microseconds; digits beyond the sixth are cut off. */
static bool take_fraction(const char **at, const char *end, unsigned most, unsigned *us)
{
    unsigned digits = 0, value = 0;
    for (; *at < end && is_digit(**at); ++*at, digits++) {
        if (digits == most)
            return false;
        if (digits < 6)
            value = value * 10 + (unsigned)(**at - '0');
    }
    for (unsigned i = digits; i < 6; i++)
        value *= 10;
    *us = value;
    return digits > 0;
}

/* Z, ±hh:mm, and without_colon also ±hhmm; seconds east of UTC. */
static bool take_offset(const char **at, const char *end, bool without_colon, int64_t *seconds)
{
    unsigned hours, minutes;
    if (take(at, end, 'Z') || take(at, end, 'z')) {
        *seconds = 0;
        return true;
    }
    bool west = take(at, end, '-');
    if (!west && !take(at, end, '+'))
        return false;
    if (!take_number(at, end, 2, &hours))
        return false;
    if (!take(at, end, ':') && !without_colon)
        return false;
    if (!take_number(at, end, 2, &minutes) || hours > 23 || minutes > 59)
        return false;
    *seconds = ((int64_t)hours * 60 + minutes) * (west ? -60 : 60);
    return true;
}

static bool in_years(int32_t days, int64_t second, int64_t offset, unsigned us, int64_t *out)
{
    int64_t result = (days * DAY_SECONDS + second - offset) * SECOND_US + us;
    if (!pipe_ts_us_ok(result))
        return false;
    *out = result;
    return true;
}

bool pipe_ts_us_read(struct pipe_str text, int64_t *out_us)
{
    const char *at = text.data, *end = text.data + text.size;
    int32_t days;
    unsigned hour, minute, second, us = 0;
    int64_t offset;
    if (!take_date(&at, end, &days) ||
        !(take(&at, end, 'T') || take(&at, end, 't') || take(&at, end, ' ')) ||
        !take_number(&at, end, 2, &hour) || !take(&at, end, ':') ||
        !take_number(&at, end, 2, &minute) || !take(&at, end, ':') ||
        !take_number(&at, end, 2, &second) || hour > 23 || minute > 59 || second > 59)
        return false;
    if (take(&at, end, '.') && !take_fraction(&at, end, 9, &us))
        return false;
    if (!take_offset(&at, end, false, &offset) || at != end)
        return false;
    return in_years(days, (int64_t)hour * 3600 + minute * 60 + second, offset, us, out_us);
}

bool pipe_ts_ms_read(struct pipe_str text, int64_t *out_ms)
{
    int64_t us;
    if (!pipe_ts_us_read(text, &us))
        return false;
    *out_ms = pipe_floor_div(us, 1000);
    return true;
}

bool pipe_date_read(struct pipe_str text, int32_t *out_days)
{
    const char *at = text.data, *end = text.data + text.size;
    int32_t days;
    if (!take_date(&at, end, &days) || at != end)
        return false;
    *out_days = days;
    return true;
}

/* --- parse_timestamp, format_timestamp ----------------------------------------------------------
 */

static const char month_names[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

bool pipe_time_format_check(struct pipe_str format, struct pipe_error *error)
{
    for (size_t i = 0; i < format.size; i++) {
        if (format.data[i] != '%')
            continue;
        if (++i == format.size)
            return pipe_fail(error, "", "the time format ends with %%; a percent sign is %%%%");
        if (format.data[i] == '\0' || strchr("YmdHMSfbz%", format.data[i]) == NULL)
            return pipe_fail(
                error, "",
                "%%%s in a time format means nothing; there are %%Y %%m %%d %%H %%M %%S "
                "%%f %%b %%z %%%%",
                pipe_quote(format.data + i, 1).text);
    }
    return true;
}

static bool take_month_name(const char **at, const char *end, unsigned *month)
{
    if (end - *at < 3)
        return false;
    for (unsigned m = 0; m < 12; m++) {
        bool same = true;
        for (unsigned i = 0; i < 3; i++)
            same = same && ((*at)[i] | 0x20) == (month_names[m][i] | 0x20);
        if (same) {
            *at += 3;
            *month = m + 1;
            return true;
        }
    }
    return false;
}

enum { YEAR, MONTH, DAY, HOUR, MINUTE, SECOND, FRACTION, PART_COUNT };
struct parts {
    unsigned values[PART_COUNT];
    bool given[PART_COUNT], offset_given;
    int64_t offset;
};

static bool set_part(struct parts *parts, unsigned part, unsigned value)
{
    bool agrees = !parts->given[part] || parts->values[part] == value;
    parts->given[part] = true;
    parts->values[part] = value;
    return agrees;
}

static bool take_part(char letter, const char **at, const char *end, struct parts *parts)
{
    unsigned value;
    int64_t offset;
    switch (letter) {
    case 'Y':
        return take_number(at, end, 4, &value) && set_part(parts, YEAR, value);
    case 'm':
        return take_number(at, end, 2, &value) && set_part(parts, MONTH, value);
    case 'b':
        return take_month_name(at, end, &value) && set_part(parts, MONTH, value);
    case 'd':
        return take_number(at, end, 2, &value) && set_part(parts, DAY, value);
    case 'H':
        return take_number(at, end, 2, &value) && value < 24 && set_part(parts, HOUR, value);
    case 'M':
        return take_number(at, end, 2, &value) && value < 60 && set_part(parts, MINUTE, value);
    case 'S':
        return take_number(at, end, 2, &value) && value < 60 && set_part(parts, SECOND, value);
    case 'f':
        return take_fraction(at, end, 6, &value) && set_part(parts, FRACTION, value);
    case 'z':
        if (!take_offset(at, end, true, &offset) ||
            (parts->offset_given && parts->offset != offset))
            return false;
        parts->offset = offset;
        parts->offset_given = true;
        return true;
    default:
        return take(at, end, letter); /* %% */
    }
}

bool pipe_fn_parse_timestamp_us(struct pipe_str s, struct pipe_str format, int64_t *out)
{
    const char *at = s.data, *end = s.data + s.size;
    struct parts parts = {.values = {[YEAR] = 1970, [MONTH] = 1, [DAY] = 1}};
    for (size_t i = 0; i < format.size; i++) {
        bool percent = format.data[i] == '%' && i + 1 < format.size;
        if (percent ? !take_part(format.data[++i], &at, end, &parts)
                    : !take(&at, end, format.data[i]))
            return false;
    }
    const unsigned *v = parts.values;
    if (at != end || !pipe_civil_ok((int32_t)v[YEAR], v[MONTH], v[DAY]))
        return false;
    return in_years(pipe_days_of((int32_t)v[YEAR], v[MONTH], v[DAY]),
                    (int64_t)v[HOUR] * 3600 + v[MINUTE] * 60 + v[SECOND], parts.offset, v[FRACTION],
                    out);
}

bool pipe_fn_parse_timestamp_ms(struct pipe_str s, struct pipe_str format, int64_t *out)
{
    int64_t us;
    if (!pipe_fn_parse_timestamp_us(s, format, &us))
        return false;
    *out = pipe_floor_div(us, 1000);
    return true;
}

/* `text` is 2026-01-31T10:00:00.123[456]Z */
static size_t put_part(char *to, char letter, const char *text, unsigned fraction_digits)
{
    static const struct {
        char letter;
        uint8_t at, size;
    } places[] = {{'Y', 0, 4}, {'m', 5, 2}, {'d', 8, 2}, {'H', 11, 2}, {'M', 14, 2}, {'S', 17, 2}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (places[i].letter == letter) {
            memcpy(to, text + places[i].at, places[i].size);
            return places[i].size;
        }
    }
    switch (letter) {
    case 'f':
        memcpy(to, text + 20, fraction_digits);
        return fraction_digits;
    case 'b':
        memcpy(to, month_names[(text[5] - '0') * 10 + (text[6] - '0') - 1], 3);
        return 3;
    case 'z':
        memcpy(to, "+0000", 5);
        return 5;
    default:
        *to = letter;
        return 1;
    }
}

static struct pipe_str format_time(struct pipe_arena *arena, const char *text,
                                   unsigned fraction_digits, struct pipe_str format)
{
    char *result = pipe_arena_more(arena, format.size * 3); /* %f: 2 characters become 6 */
    size_t size = 0;
    for (size_t i = 0; i < format.size; i++) {
        if (format.data[i] == '%' && i + 1 < format.size)
            size += put_part(result + size, format.data[++i], text, fraction_digits);
        else
            result[size++] = format.data[i];
    }
    return pipe_str_of(result, size);
}

struct pipe_str pipe_fn_format_timestamp_ms(struct pipe_arena *arena, int64_t ms,
                                            struct pipe_str format)
{
    char text[PIPE_TS_MS_TEXT];
    pipe_ts_ms_write(text, ms);
    return format_time(arena, text, 3, format);
}

struct pipe_str pipe_fn_format_timestamp_us(struct pipe_arena *arena, int64_t us,
                                            struct pipe_str format)
{
    char text[PIPE_TS_US_TEXT];
    pipe_ts_us_write(text, us);
    return format_time(arena, text, 6, format);
}

/* --- date_trunc, date_part ----------------------------------------------------------------------
 */

bool pipe_time_unit_of(struct pipe_str name, enum pipe_time_unit *out)
{
    static const struct pipe_str names[] = {
        [PIPE_UNIT_SECOND] = {"second", 6}, [PIPE_UNIT_MINUTE] = {"minute", 6},
        [PIPE_UNIT_HOUR] = {"hour", 4},     [PIPE_UNIT_DAY] = {"day", 3},
        [PIPE_UNIT_WEEK] = {"week", 4},     [PIPE_UNIT_MONTH] = {"month", 5},
        [PIPE_UNIT_YEAR] = {"year", 4},     [PIPE_UNIT_DOW] = {"dow", 3},
    };
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        if (pipe_str_equal(name, names[i])) {
            *out = (enum pipe_time_unit)i;
            return true;
        }
    }
    return false;
}

/* 1970-01-01 was a Thursday. Monday is 0. */
static int32_t weekday(int32_t days)
{
    return days + 3 - (int32_t)pipe_floor_div(days + 3, 7) * 7;
}

int32_t pipe_fn_date_trunc_date(enum pipe_time_unit unit, int32_t days)
{
    struct pipe_civil civil;
    switch (unit) {
    case PIPE_UNIT_WEEK:
        return days - weekday(days);
    case PIPE_UNIT_MONTH:
        civil = pipe_civil_of(days);
        return days - civil.day + 1;
    case PIPE_UNIT_YEAR:
        civil = pipe_civil_of(days);
        return pipe_days_of(civil.year, 1, 1);
    case PIPE_UNIT_SECOND:
    case PIPE_UNIT_MINUTE:
    case PIPE_UNIT_HOUR:
    case PIPE_UNIT_DAY:
    case PIPE_UNIT_DOW:
        break;
    }
    return days;
}

static int64_t trunc_time(enum pipe_time_unit unit, int64_t time, int64_t per_second)
{
    int64_t step = unit == PIPE_UNIT_SECOND   ? per_second
                   : unit == PIPE_UNIT_MINUTE ? per_second * 60
                   : unit == PIPE_UNIT_HOUR   ? per_second * 3600
                                              : per_second * DAY_SECONDS;
    int64_t steps = pipe_floor_div(time, step);
    if (unit == PIPE_UNIT_WEEK || unit == PIPE_UNIT_MONTH || unit == PIPE_UNIT_YEAR)
        steps = pipe_fn_date_trunc_date(unit, (int32_t)steps);
    return steps * step;
}

int64_t pipe_fn_date_trunc_ms(enum pipe_time_unit unit, int64_t ms)
{
    return trunc_time(unit, ms, 1000);
}

int64_t pipe_fn_date_trunc_us(enum pipe_time_unit unit, int64_t us)
{
    return trunc_time(unit, us, SECOND_US);
}

static int32_t part_of(enum pipe_time_unit unit, int32_t days, int32_t second)
{
    switch (unit) {
    case PIPE_UNIT_SECOND:
        return second % 60;
    case PIPE_UNIT_MINUTE:
        return second / 60 % 60;
    case PIPE_UNIT_HOUR:
        return second / 3600;
    case PIPE_UNIT_DAY:
        return pipe_civil_of(days).day;
    case PIPE_UNIT_MONTH:
        return pipe_civil_of(days).month;
    case PIPE_UNIT_YEAR:
        return pipe_civil_of(days).year;
    case PIPE_UNIT_WEEK: /* refused at compile time */
    case PIPE_UNIT_DOW:
        break;
    }
    return weekday(days) + 1;
}

int32_t pipe_fn_date_part_ms(enum pipe_time_unit unit, int64_t ms)
{
    int64_t seconds = pipe_floor_div(ms, 1000);
    int64_t days = pipe_floor_div(seconds, DAY_SECONDS);
    return part_of(unit, (int32_t)days, (int32_t)(seconds - days * DAY_SECONDS));
}

int32_t pipe_fn_date_part_us(enum pipe_time_unit unit, int64_t us)
{
    return pipe_fn_date_part_ms(unit, pipe_floor_div(us, 1000));
}

int32_t pipe_fn_date_part_date(enum pipe_time_unit unit, int32_t days)
{
    return part_of(unit, days, 0);
}
