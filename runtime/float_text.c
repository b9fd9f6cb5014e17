/*
 * float_text.c: floats as text (value.h). Nothing in the program calls setlocale, so the C
 * library's conversions, which are correctly rounded, use a '.'.
 */
#include "value.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_DIGITS DBL_DECIMAL_DIG

/* value = 0.d1d2…dn * 10^point */
struct digits {
    char text[MAX_DIGITS + 1];
    int count, point;
};

static double read_back(const struct digits *digits, bool single)
{
    char text[MAX_DIGITS + 16];
    snprintf(text, sizeof text, "0.%.*se%d", digits->count, digits->text, digits->point);
    return single ? (double)strtof(text, NULL) : strtod(text, NULL);
}

/* The `count` digits nearest to a positive value. */
static struct digits digits_nearest(double value, int count)
{
    struct digits digits = {.count = count};
    char text[MAX_DIGITS + 16];
    snprintf(text, sizeof text, "%.*e", count - 1, value);
    digits.text[0] = text[0];
    if (count > 1)
        memcpy(digits.text + 1, text + 2, (size_t)count - 1);
    digits.point = atoi(strchr(text, 'e') + 1) + 1;
    return digits;
}

static void add_one_in_last_place(struct digits *digits)
{
    int i = digits->count - 1;
    for (; i >= 0 && digits->text[i] == '9'; i--)
        digits->text[i] = '0';
    if (i >= 0) {
        digits->text[i]++;
        return;
    }
    digits->text[0] = '1';
    digits->point++;
}

/*
 * In the normal range of a type, every decimal of DIG digits (15, for float32 6) has its own float.
 * So if one of at most DIG digits reads back, it is the DIG digits nearest to the value, less their
 * trailing zeros. Below that range precision runs out, and each length has to be tried.
 */
static struct digits digits_shortest(double value, bool single)
{
    int unused;
    /* Below a power of two floats lie closer: the nearest n digits may be just out of reach below
     * it, while those above still read back. */
    bool power_of_two = frexp(value, &unused) == 0.5;
    bool normal = value >= (single ? (double)FLT_MIN : DBL_MIN);
    int most = single ? FLT_DECIMAL_DIG : DBL_DECIMAL_DIG;
    struct digits digits;
    for (int count = !normal ? 1 : single ? FLT_DIG : DBL_DIG; count <= most; count++) {
        digits = digits_nearest(value, count);
        double back = read_back(&digits, single);
        if (back == value)
            break;
        if (power_of_two && back < value) {
            add_one_in_last_place(&digits);
            if (read_back(&digits, single) == value)
                break;
        }
    }
    while (digits.count > 1 && digits.text[digits.count - 1] == '0')
        digits.count--;
    return digits;
}

static size_t put_zeros(char *to, int count)
{
    memset(to, '0', (size_t)count);
    return (size_t)count;
}

static size_t write_digits(char *to, const struct digits *digits)
{
    size_t size = 0, count = (size_t)digits->count;
    if (digits->point > 21 || digits->point < -5) {
        to[size++] = digits->text[0];
        if (count > 1) {
            to[size++] = '.';
            memcpy(to + size, digits->text + 1, count - 1);
            size += count - 1;
        }
        to[size++] = 'e';
        return size + pipe_i64_write(to + size, digits->point - 1);
    }
    if (digits->point <= 0) {
        to[size++] = '0';
        to[size++] = '.';
        size += put_zeros(to + size, -digits->point);
        memcpy(to + size, digits->text, count);
        return size + count;
    }
    size_t whole = (size_t)digits->point;
    if (count <= whole) {
        memcpy(to, digits->text, count);
        return count + put_zeros(to + count, (int)(whole - count));
    }
    memcpy(to, digits->text, whole);
    to[whole] = '.';
    memcpy(to + whole + 1, digits->text + whole, count - whole);
    return count + 1;
}

/*
 * Prices and the like: at most 15 digits, few of them behind the point. m / 10^k of exact doubles
 * is correctly rounded, so equality proves that the digits of m read back; two texts of at most 15
 * digits never read as the same double, so the least k gives the shortest. Returns 0 if it is no
 * such number.
 */
static size_t write_few_digits(char *to, double value)
{
    static const double powers[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6};
    if (value >= 1e9 || value < 1e-5)
        return 0;
    for (unsigned k = 0; k < sizeof powers / sizeof *powers; k++) {
        double scaled = nearbyint(value * powers[k]);
        if (scaled / powers[k] != value)
            continue;
        uint64_t all = (uint64_t)scaled, power = (uint64_t)powers[k];
        size_t size = pipe_u64_write(to, all / power);
        if (k == 0)
            return size;
        to[size] = '.';
        for (uint64_t rest = all % power, i = k; i > 0; i--, rest /= 10)
            to[size + i] = (char)('0' + rest % 10);
        return size + 1 + k;
    }
    return 0;
}

static size_t write_float(char *to, double value, bool single)
{
    size_t size = 0;
    if (signbit(value)) {
        to[size++] = '-';
        value = -value;
    }
    if (value == 0) {
        to[size++] = '0';
        return size;
    }
    size_t few = single && value != nearbyint(value) ? 0 : write_few_digits(to + size, value);
    if (single && value >= 16777216)
        few = 0;
    if (few > 0)
        return size + few;
    struct digits digits = digits_shortest(value, single);
    return size + write_digits(to + size, &digits);
}

size_t pipe_f64_write(char *to, double value)
{
    return write_float(to, value, false);
}

size_t pipe_f32_write(char *to, float value)
{
    return write_float(to, (double)value, true);
}

/* --- Reading ------------------------------------------------------------------------------------
 */

static const char *skip_digits(const char *at, const char *end)
{
    while (at < end && *at >= '0' && *at <= '9')
        at++;
    return at;
}

/* JSON's number: -? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)? */
static bool is_number(struct pipe_str text)
{
    const char *at = text.data, *end = text.data + text.size, *begin;
    if (at < end && *at == '-')
        at++;
    begin = at;
    at = skip_digits(at, end);
    if (at == begin || (*begin == '0' && at - begin > 1))
        return false;
    if (at < end && *at == '.') {
        begin = ++at;
        at = skip_digits(at, end);
        if (at == begin)
            return false;
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        if (at < end && (*at == '+' || *at == '-'))
            at++;
        begin = at;
        at = skip_digits(at, end);
        if (at == begin)
            return false;
    }
    return at == end;
}

static bool read_float(struct pipe_str text, bool single, double *out)
{
    char small[64];
    if (!is_number(text))
        return false;
    char *copy = text.size < sizeof small ? small : pipe_malloc(text.size + 1);
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    double value = single ? (double)strtof(copy, NULL) : strtod(copy, NULL);
    if (copy != small)
        free(copy);
    return pipe_finite_f64(value, out);
}

bool pipe_f64_read(struct pipe_str text, double *out)
{
    return read_float(text, false, out);
}

bool pipe_f32_read(struct pipe_str text, float *out)
{
    double value;
    if (!read_float(text, true, &value))
        return false;
    *out = (float)value;
    return true;
}
