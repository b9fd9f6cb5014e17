/* numbers.c: integers as text (value.h). */
#include "value.h"

#include <stdio.h>

size_t pipe_u64_write(char *to, uint64_t value)
{
    static const char pairs[] =
        "0001020304050607080910111213141516171819202122232425262728293031323334"
        "3536373839404142434445464748495051525354555657585960616263646566676869"
        "707172737475767778798081828384858687888990919293949596979899";
    char text[PIPE_INT64_TEXT_MAX];
    size_t at = sizeof text;
    while (value >= 100) {
        at -= 2;
        memcpy(text + at, pairs + value % 100 * 2, 2);
        value /= 100;
    }
    if (value >= 10) {
        at -= 2;
        memcpy(text + at, pairs + value * 2, 2);
    } else {
        text[--at] = (char)('0' + value);
    }
    memcpy(to, text + at, sizeof text - at);
    return sizeof text - at;
}

size_t pipe_i64_write(char *to, int64_t value)
{
    if (value >= 0)
        return pipe_u64_write(to, (uint64_t)value);
    *to = '-';
    return 1 + pipe_u64_write(to + 1, -(uint64_t)value);
}

bool pipe_i64_read(struct pipe_str text, bool allow_plus, int64_t *out)
{
    const char *at = text.data, *end = text.data + text.size;
    bool negative = at < end && *at == '-';
    if (negative || (allow_plus && at < end && *at == '+'))
        at++;
    if (at == end)
        return false;
    int64_t value = 0; /* built downwards: the least integer has no positive counterpart */
    for (; at < end; at++) {
        unsigned digit = (unsigned)(uint8_t)*at - '0';
        if (digit > 9 || __builtin_mul_overflow(value, (int64_t)10, &value) ||
            __builtin_sub_overflow(value, (int64_t)digit, &value))
            return false;
    }
    if (!negative && __builtin_sub_overflow((int64_t)0, value, &value))
        return false;
    *out = value;
    return true;
}

bool pipe_i32_read(struct pipe_str text, bool allow_plus, int32_t *out)
{
    int64_t value;
    if (!pipe_i64_read(text, allow_plus, &value) || value != (int32_t)value)
        return false;
    *out = (int32_t)value;
    return true;
}

const char *pipe_u64_grouped(char to[32], uint64_t value)
{
    char digits[24];
    size_t size = pipe_u64_write(digits, value), used = 0;
    for (size_t i = 0; i < size; i++) {
        if (i > 0 && (size - i) % 3 == 0)
            to[used++] = ',';
        to[used++] = digits[i];
    }
    to[used] = '\0';
    return to;
}

const char *pipe_counted(char to[64], uint64_t value, const char *one, const char *many)
{
    char number[32];
    snprintf(to, 64, "%s %.30s", pipe_u64_grouped(number, value), value == 1 ? one : many);
    return to;
}
