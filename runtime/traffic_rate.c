/* traffic_rate.c: how often events happen (input.h): as text, in metadata, and over time. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "input.h"

#define PER_SECOND 3600
#define MS_PER_HOUR 3600000
#define DIGITS_MOST 13 /* 1000000000/s is 3600000000000/h */

/* Events an hour of one a unit; no unit: a second. 0: it is none. */
static int64_t unit_of(const char *text)
{
    static const struct {
        const char *name;
        int64_t per_hour;
    } units[] = {{"", PER_SECOND}, {"/s", PER_SECOND}, {"/m", 60}, {"/min", 60}, {"/h", 1}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(text, units[i].name) == 0)
            return units[i].per_hour;
    }
    return 0;
}

/* 5000/s, 1.5/m, 1_000/h. */
bool pipe_rate_read(const char *text, int64_t *per_hour)
{
    int64_t number = 0, scale = 1;
    int digits = 0;
    bool point = false;
    for (; (*text >= '0' && *text <= '9') || *text == '_' || *text == '.'; text++) {
        if (*text == '_')
            continue;
        if (*text == '.' && (point || digits == 0))
            return false;
        point = point || *text == '.';
        if (*text == '.')
            continue;
        if (++digits > DIGITS_MOST)
            return false;
        number = number * 10 + (*text - '0');
        scale *= point ? 10 : 1;
    }
    int64_t unit = unit_of(text);
    if (digits == 0 || unit == 0 || number * unit % scale != 0)
        return false;
    *per_hour = number * unit / scale;
    return *per_hour >= 1 && *per_hour <= PIPE_RATE_MOST;
}

void pipe_rate_text(int64_t per_hour, char to[PIPE_RATE_TEXT])
{
    bool seconds = per_hour % PER_SECOND == 0;
    snprintf(to, PIPE_RATE_TEXT, "%" PRId64 "%s", seconds ? per_hour / PER_SECOND : per_hour,
             seconds ? "/s" : "/h");
}

/* Metadata had events a second before there were others. */
int64_t pipe_rate_store(int64_t per_hour)
{
    return per_hour % PER_SECOND == 0 ? per_hour / PER_SECOND : -per_hour;
}

bool pipe_rate_load(int64_t stored, int64_t *per_hour)
{
    if (stored < -PIPE_RATE_MOST || stored > PIPE_RATE_MOST / PER_SECOND || stored == 0)
        return false;
    *per_hour = stored > 0 ? stored * PER_SECOND : -stored;
    return true;
}

int64_t pipe_rate_due_ms(int64_t per_hour, uint64_t event)
{
    uint64_t rate = (uint64_t)per_hour;
    return (int64_t)(event / rate * MS_PER_HOUR + event % rate * MS_PER_HOUR / rate);
}

int64_t pipe_rate_events(int64_t per_hour, int64_t seconds)
{
    return seconds / PER_SECOND * per_hour + seconds % PER_SECOND * per_hour / PER_SECOND;
}
