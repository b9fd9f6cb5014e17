/* decimal.c: decimals of up to 38 digits and exact sums of them (value.h). */
#include "value.h"

#define E19 ((pipe_decimal)10000000000000000000u)

const pipe_decimal pipe_powers_of_ten[PIPE_DECIMAL_DIGITS + 1] = {
    1,
    10,
    100,
    1000,
    10000,
    100000,
    1000000,
    10000000,
    100000000,
    1000000000,
    10000000000,
    100000000000,
    1000000000000,
    10000000000000,
    100000000000000,
    1000000000000000,
    10000000000000000,
    100000000000000000,
    1000000000000000000,
    E19,
    E19 * 10,
    E19 * 100,
    E19 * 1000,
    E19 * 10000,
    E19 * 100000,
    E19 * 1000000,
    E19 * 10000000,
    E19 * 100000000,
    E19 * 1000000000,
    E19 * 10000000000,
    E19 * 100000000000,
    E19 * 1000000000000,
    E19 * 10000000000000,
    E19 * 100000000000000,
    E19 * 1000000000000000,
    E19 * 10000000000000000,
    E19 * 100000000000000000,
    E19 * 1000000000000000000,
    E19 *E19,
};

static pipe_u128 magnitude(pipe_decimal value)
{
    return value < 0 ? -(pipe_u128)value : (pipe_u128)value;
}

bool pipe_decimal_rescale(pipe_decimal value, unsigned from_scale, unsigned to_scale,
                          unsigned precision, pipe_decimal *out)
{
    pipe_decimal result = value;
    if (to_scale > from_scale) {
        if (__builtin_mul_overflow(value, pipe_powers_of_ten[to_scale - from_scale], &result))
            return false;
    } else if (to_scale < from_scale) {
        pipe_decimal divisor = pipe_powers_of_ten[from_scale - to_scale];
        result = value / divisor;
        if (magnitude(value % divisor) * 2 >= (pipe_u128)divisor)
            result += value < 0 ? -1 : 1;
    }
    if (!pipe_decimal_fits(result, precision))
        return false;
    *out = result;
    return true;
}

int pipe_decimal_compare(pipe_decimal a, unsigned a_scale, pipe_decimal b, unsigned b_scale)
{
    if (a_scale > b_scale)
        return -pipe_decimal_compare(b, b_scale, a, a_scale);
    pipe_decimal divisor = pipe_powers_of_ten[b_scale - a_scale];
    pipe_decimal whole = b / divisor, rest = b % divisor;
    return a != whole ? (a > whole) - (a < whole) : (rest < 0) - (rest > 0);
}

size_t pipe_decimal_write(char *to, pipe_decimal value, unsigned scale)
{
    char digits[PIPE_DECIMAL_TEXT_MAX];
    size_t count = 0, size = 0;
    pipe_u128 left = magnitude(value);
    while (left > UINT64_MAX) {
        digits[count++] = (char)('0' + (unsigned)(left % 10));
        left /= 10;
    }
    for (uint64_t small = (uint64_t)left; small > 0 || count <= scale; small /= 10)
        digits[count++] = (char)('0' + small % 10);
    if (value < 0)
        to[size++] = '-';
    while (count > 0) {
        if (count == scale)
            to[size++] = '.';
        to[size++] = digits[--count];
    }
    return size;
}

bool pipe_decimal_read(struct pipe_str text, unsigned precision, unsigned scale, pipe_decimal *out)
{
    const char *at = text.data, *end = text.data + text.size;
    bool negative = at < end && *at == '-';
    at += negative;
    pipe_decimal value = 0, bound = pipe_powers_of_ten[PIPE_DECIMAL_DIGITS - 1];
    size_t whole_digits = 0, fraction_digits = 0;
    bool fraction = false;
    for (; at < end; at++) {
        if (*at == '.' && !fraction && whole_digits > 0) {
            fraction = true;
            continue;
        }
        unsigned digit = (unsigned)(uint8_t)*at - '0';
        if (digit > 9 || value >= bound || (fraction && fraction_digits == scale))
            return false;
        value = value * 10 + digit;
        *(fraction ? &fraction_digits : &whole_digits) += 1;
    }
    if (whole_digits == 0 || (fraction && fraction_digits == 0))
        return false;
    return pipe_decimal_rescale(negative ? -value : value, (unsigned)fraction_digits, scale,
                                precision, out);
}

/* --- Unsigned integers of 512 bits, for exact quotients ------------------------------------------
 */

#define BIG_WORDS 8
struct big {
    uint64_t words[BIG_WORDS]; /* the least first */
};

static struct big big_of(pipe_u128 low, pipe_u128 high)
{
    return (struct big){
        {(uint64_t)low, (uint64_t)(low >> 64), (uint64_t)high, (uint64_t)(high >> 64)}};
}

static unsigned big_bits(const struct big *a)
{
    for (unsigned i = BIG_WORDS; i-- > 0;) {
        if (a->words[i] != 0)
            return i * 64 + 64 - (unsigned)__builtin_clzll(a->words[i]);
    }
    return 0;
}

static void big_multiply(struct big *a, uint64_t factor)
{
    uint64_t carry = 0;
    for (unsigned i = 0; i < BIG_WORDS; i++) {
        pipe_u128 product = (pipe_u128)a->words[i] * factor + carry;
        a->words[i] = (uint64_t)product;
        carry = (uint64_t)(product >> 64);
    }
}

static void big_multiply_power_of_ten(struct big *a, unsigned exponent)
{
    for (; exponent > 19; exponent -= 19)
        big_multiply(a, 10000000000000000000u);
    big_multiply(a, (uint64_t)pipe_powers_of_ten[exponent]);
}

static struct big big_shift_left(const struct big *a, unsigned bits)
{
    struct big out = {{0}};
    for (unsigned i = bits / 64; i < BIG_WORDS; i++) {
        unsigned from = i - bits / 64;
        out.words[i] = a->words[from] << bits % 64;
        if (bits % 64 != 0 && from > 0)
            out.words[i] |= a->words[from - 1] >> (64 - bits % 64);
    }
    return out;
}

static void big_halve(struct big *a)
{
    for (unsigned i = 0; i < BIG_WORDS; i++)
        a->words[i] = a->words[i] >> 1 | (i + 1 < BIG_WORDS ? a->words[i + 1] << 63 : 0);
}

/* a -= b if that is not negative. */
static bool big_subtract(struct big *a, const struct big *b)
{
    struct big out;
    bool borrow = false;
    for (unsigned i = 0; i < BIG_WORDS; i++) {
        uint64_t partial;
        bool under = __builtin_sub_overflow(a->words[i], b->words[i], &partial);
        borrow = __builtin_sub_overflow(partial, (uint64_t)borrow, &out.words[i]) || under;
    }
    if (!borrow)
        *a = out;
    return !borrow;
}

/* The double nearest to numerator / denominator, ties to even. Both below 2^320, no subnormals. */
static double big_ratio(struct big numerator, struct big denominator)
{
    unsigned n_bits = big_bits(&numerator), d_bits = big_bits(&denominator);
    if (n_bits == 0)
        return 0;
    /* Scale so that the quotient has 55 or 56 bits: 53, one to round by, and spare ones. */
    int shift = (int)d_bits + 55 - (int)n_bits;
    if (shift > 0)
        numerator = big_shift_left(&numerator, (unsigned)shift);
    else
        denominator = big_shift_left(&denominator, (unsigned)-shift);
    struct big step = big_shift_left(&denominator, 56);
    uint64_t quotient = 0;
    for (int bit = 56; bit >= 0; bit--, big_halve(&step))
        quotient = quotient << 1 | big_subtract(&numerator, &step);
    unsigned spare = 64 - (unsigned)__builtin_clzll(quotient) - 53;
    uint64_t rest = quotient & ((UINT64_C(1) << spare) - 1), half = UINT64_C(1) << (spare - 1);
    quotient >>= spare;
    if (rest > half || (rest == half && (big_bits(&numerator) > 0 || (quotient & 1))))
        quotient++;
    return ldexp((double)quotient, (int)spare - shift);
}

static double ratio_to_power_of_ten(pipe_u128 low, pipe_u128 high, uint64_t count, unsigned scale)
{
    struct big denominator = big_of(count, 0);
    big_multiply_power_of_ten(&denominator, scale);
    return big_ratio(big_of(low, high), denominator);
}

double pipe_decimal_to_f64(pipe_decimal value, unsigned scale)
{
    double result = ratio_to_power_of_ten(magnitude(value), 0, 1, scale);
    return value < 0 ? -result : result;
}

bool pipe_decimal_from_f64(double value, unsigned precision, unsigned scale, pipe_decimal *out)
{
    int exponent;
    double fraction = frexp(fabs(value), &exponent);
    if (!__builtin_isfinite(value) || exponent > 127)
        return false;
    /* |value| = mantissa * 2^exponent; times 10^scale below 2^(53 + 127). */
    struct big scaled = big_of((uint64_t)ldexp(fraction, 53), 0);
    exponent -= 53;
    big_multiply_power_of_ten(&scaled, scale);
    if (exponent > 0) {
        scaled = big_shift_left(&scaled, (unsigned)exponent);
    } else if (exponent < -200) {
        scaled = big_of(0, 0);
    } else if (exponent < 0) {
        for (int i = exponent; i < -1; i++) /* all but one: that bit decides the rounding */
            big_halve(&scaled);
        bool up = scaled.words[0] & 1;
        big_halve(&scaled);
        pipe_u128 low = ((pipe_u128)scaled.words[1] << 64 | scaled.words[0]) + up;
        scaled.words[0] = (uint64_t)low;
        scaled.words[1] = (uint64_t)(low >> 64);
    }
    if (big_bits(&scaled) > 127)
        return false;
    pipe_decimal result = (pipe_decimal)((pipe_u128)scaled.words[1] << 64 | scaled.words[0]);
    if (!pipe_decimal_fits(result, precision))
        return false;
    *out = value < 0 ? -result : result;
    return true;
}

bool pipe_sum256_to_decimal(const struct pipe_sum256 *sum, unsigned precision, pipe_decimal *out)
{
    pipe_decimal value = (pipe_decimal)sum->low;
    if (sum->high != (value < 0 ? -1 : 0) || !pipe_decimal_fits(value, precision))
        return false;
    *out = value;
    return true;
}

double pipe_sum256_average(const struct pipe_sum256 *sum, uint64_t count, unsigned scale)
{
    bool negative = sum->high < 0;
    pipe_u128 low = negative ? -sum->low : sum->low;
    pipe_u128 high = negative ? ~(pipe_u128)sum->high + (sum->low == 0) : (pipe_u128)sum->high;
    double result = ratio_to_power_of_ten(low, high, count, scale);
    return negative ? -result : result;
}
