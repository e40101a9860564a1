/* Numbers as decimal text.  Integers are printed two digits at a time.  Floats by Schubfach
 * (R. Giulietti: The Schubfach way to render doubles, 2020), with the table of parse_double.c:
 * three products find the shortest decimal in the interval that rounds to the number.
 */
#include "parse/print_number.h"

#include "core/bfloat16.h"
#include "core/float16.h"
#include "parse/power_of_five.h"

#include <string.h>

__extension__ typedef unsigned __int128 uint128;

enum { MOST_DIGITS = 20 };

static const char pairs[] =
    "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
    "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
    "8081828384858687888990919293949596979899";

/* ---- Integers -------------------------------------------------------------------------------- */

/* Writes the digits of a value in front of `end`, and returns where they begin. */
static uint8_t *digits_before(uint64_t value, uint8_t *end)
{
    while (value >= 100) {
        memcpy(end -= 2, pairs + value % 100 * 2, 2);
        value /= 100;
    }
    if (value < 10) {
        *--end = (uint8_t)('0' + value);
        return end;
    }
    memcpy(end -= 2, pairs + value * 2, 2);
    return end;
}

static int32_t count_digits(uint64_t value)
{
    static const uint64_t powers[MOST_DIGITS] = {
        0, /* so that 0 has a digit */
        UINT64_C(10),
        UINT64_C(100),
        UINT64_C(1000),
        UINT64_C(10000),
        UINT64_C(100000),
        UINT64_C(1000000),
        UINT64_C(10000000),
        UINT64_C(100000000),
        UINT64_C(1000000000),
        UINT64_C(10000000000),
        UINT64_C(100000000000),
        UINT64_C(1000000000000),
        UINT64_C(10000000000000),
        UINT64_C(100000000000000),
        UINT64_C(1000000000000000),
        UINT64_C(10000000000000000),
        UINT64_C(100000000000000000),
        UINT64_C(1000000000000000000),
        UINT64_C(10000000000000000000),
    };
    int32_t bits = 64 - __builtin_clzll(value | 1);
    int32_t guess = bits * 1233 >> 12; /* bits * log10(2) */
    return guess + (value >= powers[guess]);
}

uint8_t *pfd_print_uint64(uint64_t value, uint8_t *to)
{
    uint8_t *end = to + count_digits(value);
    (void)digits_before(value, end);
    return end;
}

uint8_t *pfd_print_int64(int64_t value, uint8_t *to)
{
    if (value >= 0) return pfd_print_uint64((uint64_t)value, to);
    *to = '-';
    return pfd_print_uint64(0 - (uint64_t)value, to + 1);
}

/* ---- The shortest decimal -------------------------------------------------------------------- */

/* digits * 10^exponent */
typedef struct decimal {
    uint64_t digits;
    int32_t exponent;
} decimal;

/* 10^power, scaled into [2^127, 2^128) and rounded up. */
static inline uint128 power_of_ten(int32_t power)
{
    const uint64_t *row = pfd_power_of_five[power - PFD_LEAST_POWER];
    int32_t is_below = power < -27 || power > 55;
    return ((uint128)row[0] << 64 | row[1]) + (uint128)is_below;
}

/* The product divided by 2^128, with the last bit set where the rest is not zero. */
static inline uint64_t round_to_odd(uint128 power, uint64_t factor)
{
    uint128 low = (uint128)(uint64_t)power * factor;
    uint128 high = (uint128)(uint64_t)(power >> 64) * factor + (uint64_t)(low >> 64);
    return (uint64_t)(high >> 64) | ((uint64_t)high > 1);
}

/* Of mantissa * 2^exponent, mantissa > 0.  `is_power`: the next number below is nearer than the
 * next above.  Names as in the paper. */
static decimal shortest(uint64_t mantissa, int32_t exponent, int32_t is_power)
{
    int32_t k = (exponent * 1262611 - (is_power ? 524031 : 0)) >> 22; /* floor(log10(interval)) */
    int32_t h = exponent + (-k * 1741647 >> 19) + 1;                  /* floor(log2(10^-k)) */
    uint128 power = power_of_ten(-k);
    uint64_t is_odd = mantissa & 1; /* the ends of the interval round to even numbers */
    uint64_t lower = round_to_odd(power, (4 * mantissa - 2 + (uint64_t)is_power) << h) + is_odd;
    uint64_t value = round_to_odd(power, 4 * mantissa << h);
    uint64_t upper = round_to_odd(power, (4 * mantissa + 2) << h) - is_odd;

    uint64_t s = value / 4;
    if (s >= 10) {
        uint64_t tens = s / 10;
        int32_t is_below = lower <= 40 * tens, is_above = 40 * tens + 40 <= upper;
        if (is_below != is_above) return (decimal){tens + (uint64_t)is_above, k + 1};
    }
    int32_t is_below = lower <= 4 * s, is_above = 4 * s + 4 <= upper;
    if (is_below != is_above) return (decimal){s + (uint64_t)is_above, k};
    uint64_t middle = 4 * s + 2;
    return (decimal){s + (value > middle || (value == middle && (s & 1))), k};
}

/* ---- Its text -------------------------------------------------------------------------------- */

static decimal without_zeros(decimal number)
{
    while (number.digits % 100 == 0) {
        number.digits /= 100;
        number.exponent += 2;
    }
    if (number.digits % 10 == 0) {
        number.digits /= 10;
        number.exponent++;
    }
    return number;
}

/* 1.25e-07 */
static uint8_t *print_scientific(decimal number, int32_t count, uint8_t *to)
{
    (void)digits_before(number.digits, to + 1 + count);
    to[0] = to[1];
    to[1] = '.';
    to += count == 1 ? 1 : count + 1;
    int32_t exponent = number.exponent + count - 1;
    *to++ = 'e';
    *to++ = exponent < 0 ? '-' : '+';
    uint32_t size = (uint32_t)(exponent < 0 ? -exponent : exponent);
    if (size >= 100) *to++ = (uint8_t)('0' + size / 100);
    memcpy(to, pairs + size % 100 * 2, 2);
    return to + 2;
}

/* 125000.0, 12.5 or 0.00125 */
static uint8_t *print_plain(decimal number, int32_t count, uint8_t *to)
{
    int32_t point = number.exponent + count; /* digits in front of the point */
    if (point <= 0) {
        memcpy(to, "0.000000", 8);
        to += 2 - point;
        (void)digits_before(number.digits, to + count);
        return to + count;
    }
    if (point >= count) {
        (void)digits_before(number.digits, to + count);
        memset(to + count, '0', (size_t)(point - count));
        memcpy(to + point, ".0", 2);
        return to + point + 2;
    }
    (void)digits_before(number.digits, to + 1 + count);
    memmove(to, to + 1, (size_t)point);
    to[point] = '.';
    return to + count + 1;
}

static uint8_t *print_word(const char *word, uint8_t *to)
{
    memcpy(to, word, 3);
    return to + 3;
}

/* A type of floats. */
typedef struct float_type {
    int32_t mantissa_bits, bias; /* the bias of whole mantissas */
    uint32_t infinite;           /* exponent of infinities */
} float_type;

/* The decimal of a number that is finite and above 0. */
static inline decimal decimal_of(uint64_t bits, uint32_t exponent, float_type type)
{
    if (exponent == 0) return shortest(bits, 1 - type.bias, 0);
    uint64_t mantissa = bits | UINT64_C(1) << type.mantissa_bits;
    int32_t power = (int32_t)exponent - type.bias;
    if (power <= 0 && power >= -type.mantissa_bits &&
        (mantissa & ((UINT64_C(1) << -power) - 1)) == 0)
        return (decimal){mantissa >> -power, 0}; /* a whole number */
    return shortest(mantissa, power, bits == 0 && exponent > 1);
}

/* Words and zeros; NULL: it is another number, whose sign is written. */
static uint8_t *print_special(uint64_t fraction, uint32_t exponent, int32_t is_negative,
                              uint32_t infinite, uint8_t **to)
{
    if (exponent == infinite && fraction) return print_word("nan", *to);
    if (is_negative) *(*to)++ = '-';
    if (exponent == infinite) return print_word("inf", *to);
    return !fraction && !exponent ? print_word("0.0", *to) : NULL;
}

uint8_t *pfd_print_float64(double value, uint8_t *to)
{
    static const float_type type = {52, 1075, 2047};
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
    uint32_t exponent = (uint32_t)(bits >> 52) & 2047;
    uint8_t *end = print_special(fraction, exponent, (int32_t)(bits >> 63), type.infinite, &to);
    if (end) return end;
    decimal number = without_zeros(decimal_of(fraction, exponent, type));
    int32_t count = count_digits(number.digits), point = number.exponent + count;
    return (point > -4 && point <= 16 ? print_plain : print_scientific)(number, count, to);
}

/* NumPy compares the value, and not its text: the float32 nearest to 1e-4 is below it. */
static uint8_t *print_narrow(decimal number, double value, double limit, uint8_t *to)
{
    number = without_zeros(number);
    if (value < 0) value = -value;
    int32_t is_plain = value >= 1e-4 && value < limit;
    return (is_plain ? print_plain : print_scientific)(number, count_digits(number.digits), to);
}

uint8_t *pfd_print_float32(float value, uint8_t *to)
{
    static const float_type type = {23, 150, 255};
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t fraction = bits & ((UINT32_C(1) << 23) - 1), exponent = bits >> 23 & 255;
    uint8_t *end = print_special(fraction, exponent, (int32_t)(bits >> 31), type.infinite, &to);
    return end ? end : print_narrow(decimal_of(fraction, exponent, type), (double)value, 1e6, to);
}

/* `value`: what the bits are.  From `limit` on it is printed with an exponent. */
static uint8_t *print_16_bits(uint16_t bits, float value, float_type type, double limit,
                              uint8_t *to)
{
    uint32_t fraction = bits & ((1u << type.mantissa_bits) - 1);
    uint32_t exponent = (uint32_t)bits >> type.mantissa_bits & type.infinite;
    uint8_t *end = print_special(fraction, exponent, bits >> 15, type.infinite, &to);
    return end ? end : print_narrow(decimal_of(fraction, exponent, type), (double)value, limit, to);
}

uint8_t *pfd_print_float16(uint16_t bits, uint8_t *to)
{
    static const float_type type = {10, 25, 31};
    float value;
    pfd_float16_to_float32(&bits, &value, 1);
    return print_16_bits(bits, value, type, 1e3, to);
}

uint8_t *pfd_print_bfloat16(uint16_t bits, uint8_t *to)
{
    static const float_type type = {7, 134, 255};
    float value;
    pfd_bfloat16_to_float32(&bits, &value, 1);
    return print_16_bits(bits, value, type, 1e6, to);
}
