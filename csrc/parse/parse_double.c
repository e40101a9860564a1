/* Decimal text to the nearest double: a scan, then the cheapest conversion that is exact.
 *
 *   most numbers     mantissa and power of ten are exact doubles: one operation (W. D. Clinger: How
 *                    to read floating point numbers accurately, 1990)
 *   up to 19 digits  128-bit product with a table of powers (D. Lemire: Number parsing at a
 *                    gigabyte per second, 2021; that no exact fallback is needed is shown by
 *                    N. Mushtak and D. Lemire: Fast number parsing without fallback, 2023)
 *   more digits      the same for the first 19 digits and for one more in the last place; where
 *                    the two differ, the C library decides from as many digits as can matter
 */
#include "parse/parse_double.h"
#include "parse/power_of_five.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MANTISSA_BITS = 52,
    MOST_DIGITS = 19,     /* that always fit in 64 bits */
    MOST_POWER = 308,     /* above it every mantissa is infinite */
    DECISIVE_DIGITS = 800 /* with one digit for the rest; a tie has at most 767 */
};

/* Digits saturate here; no text is long enough to bring such an exponent back into range. */
#define MOST_EXPONENT INT64_C(100000000000000000)

__extension__ typedef unsigned __int128 uint128;

/* A scanned number: mantissa * 10^exponent, unless it has too many digits. */
typedef struct decimal {
    uint64_t mantissa; /* of all digits, modulo 2^64 */
    int64_t exponent;
    const char *digits; /* the first digit or point */
    const char *point;  /* where the whole digits end */
    const char *end;    /* of digits and point, before the exponent */
} decimal;

static inline int is_digit(char c)
{
    return (unsigned char)(c - '0') <= 9;
}

/* ---- Scan ------------------------------------------------------------------------------------ */

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
/* Whether all 8 bytes are digits: '0'..'9' are 0x30..0x39, and adding 6 carries what is above. */
static inline int are_8_digits(uint64_t bytes)
{
    return ((bytes & UINT64_C(0xf0f0f0f0f0f0f0f0)) |
            (((bytes + UINT64_C(0x0606060606060606)) & UINT64_C(0xf0f0f0f0f0f0f0f0)) >> 4)) ==
           UINT64_C(0x3333333333333333);
}

/* Digits to pairs, pairs to fours, fours to eight, side by side in one word. */
static inline uint64_t value_of_8_digits(uint64_t bytes)
{
    bytes -= UINT64_C(0x3030303030303030);
    bytes = bytes * 10 + (bytes >> 8);
    uint64_t low = (bytes & UINT64_C(0x000000ff000000ff)) * (100 + (UINT64_C(1000000) << 32));
    uint64_t high = ((bytes >> 16) & UINT64_C(0x000000ff000000ff)) * (1 + (UINT64_C(10000) << 32));
    return (low + high) >> 32;
}

static inline const char *scan_8_digits(const char *at, const char *end, uint64_t *value)
{
    while (end - at >= 8) {
        uint64_t bytes;
        memcpy(&bytes, at, sizeof bytes);
        if (!are_8_digits(bytes)) break;
        *value = *value * 100000000 + value_of_8_digits(bytes);
        at += 8;
    }
    return at;
}
#else
static inline const char *scan_8_digits(const char *at, const char *end, uint64_t *value)
{
    (void)end;
    (void)value;
    return at;
}
#endif

static inline const char *scan_digits(const char *at, const char *end, uint64_t *value)
{
    while (at < end && is_digit(*at)) *value = *value * 10 + (uint64_t)(*at++ - '0');
    return at;
}

/* `at` is after the mantissa; returns it unchanged where no whole exponent follows. */
static const char *scan_exponent(const char *at, const char *end, int64_t *exponent)
{
    if (at == end || (*at != 'e' && *at != 'E')) return at;
    const char *digit = at + 1;
    int negative = digit < end && *digit == '-';
    if (digit < end && (*digit == '-' || *digit == '+')) digit++;
    if (digit == end || !is_digit(*digit)) return at;
    int64_t value = 0;
    for (; digit < end && is_digit(*digit); digit++)
        if (value < MOST_EXPONENT) value = value * 10 + (*digit - '0');
    *exponent += negative ? -value : value;
    return digit;
}

/* The number after a sign; returns its end, NULL without a digit. */
static const char *scan_decimal(const char *text, const char *end, decimal *out)
{
    out->mantissa = 0;
    out->exponent = 0;
    out->digits = text;
    const char *at = scan_digits(text, end, &out->mantissa);
    out->point = at;
    if (at < end && *at == '.') {
        const char *fraction = at + 1;
        at = scan_8_digits(fraction, end, &out->mantissa);
        at = scan_digits(at, end, &out->mantissa);
        out->exponent = fraction - at;
        if (out->point == text && at == fraction) return NULL;
    } else if (at == text) {
        return NULL;
    }
    out->end = at;
    return scan_exponent(at, end, &out->exponent);
}

/* The end of "inf", "infinity" or "nan" in any case; NULL for anything else. */
static const char *scan_word(const char *text, const char *end, double *value)
{
    static const char *const words[] = {"infinity", "inf", "nan"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        const char *at = text, *letter = words[i];
        /* 0x20 makes lower case of a capital, and a letter of nothing else. */
        while (*letter && at < end && (*at | 0x20) == *letter) {
            at++;
            letter++;
        }
        if (*letter) continue;
        *value = words[i][0] == 'i' ? (double)INFINITY : (double)NAN;
        return at;
    }
    return NULL;
}

/* ---- Conversion ------------------------------------------------------------------------------ */

#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD == 0
/* One correctly rounded operation on two exact doubles. */
static inline int convert_exact(uint64_t mantissa, int64_t exponent, double *value)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (mantissa > UINT64_C(1) << (MANTISSA_BITS + 1) || exponent < -22 || exponent > 22) return 0;
    *value = exponent < 0 ? (double)mantissa / powers[-exponent]
                          : (double)mantissa * powers[exponent];
    return 1;
}
#else
/* Where doubles are computed with more bits, the result would be rounded twice. */
static inline int convert_exact(uint64_t mantissa, int64_t exponent, double *value)
{
    (void)mantissa;
    (void)exponent;
    (void)value;
    return 0;
}
#endif

static double from_bits(uint64_t mantissa, int64_t exponent)
{
    uint64_t bits = mantissa | (uint64_t)exponent << MANTISSA_BITS;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The upper 128 bits of mantissa * 5^exponent.  The table's low word is needed only where the bits
 * below those that matter are all ones, so that its carry can reach them. */
static uint128 scaled_product(uint64_t mantissa, const uint64_t *power)
{
    uint128 product = (uint128)mantissa * power[0];
    uint64_t below = UINT64_MAX >> (MANTISSA_BITS + 3);
    if (((uint64_t)(product >> 64) & below) == below)
        product += ((uint128)mantissa * power[1]) >> 64;
    return product;
}

/* mantissa * 10^exponent; names and steps as in the papers named above. */
static double convert_by_table(uint64_t mantissa, int64_t exponent)
{
    enum { INFINITE_EXPONENT = 2047, BIAS = 1023 };
    if (mantissa == 0 || exponent < PFD_LEAST_POWER) return 0.0;
    if (exponent > MOST_POWER) return from_bits(0, INFINITE_EXPONENT);

    int zeros = __builtin_clzll(mantissa);
    uint128 product = scaled_product(mantissa << zeros,
                                     pfd_power_of_five[exponent - PFD_LEAST_POWER]);
    uint64_t high = (uint64_t)(product >> 64), low = (uint64_t)product;
    int upper = (int)(high >> 63);
    int shift = upper + 64 - MANTISSA_BITS - 3;
    uint64_t bits = high >> shift; /* with one bit more than a double has, for rounding */

    /* floor(log2(10^exponent)) in fixed point, exact over the range of the table. */
    int64_t log2_power = (exponent * (152170 + 65536)) >> 16;
    int64_t binary = log2_power + 63 + upper - zeros + BIAS;
    if (binary <= 0) { /* subnormal */
        if (binary <= -63) return 0.0;
        bits >>= 1 - binary;
        bits = (bits + (bits & 1)) >> 1;
        return from_bits(bits, 0); /* rounded up to 2^52 it reads as the least normal number */
    }
    /* Halfway between two doubles, to be rounded to the even one: possible only where 5^exponent,
     * or its reciprocal, fits beside the mantissa. */
    if (low <= 1 && exponent >= -4 && exponent <= 23 && (bits & 3) == 1 && bits << shift == high)
        bits &= ~UINT64_C(1);
    bits = (bits + (bits & 1)) >> 1;
    if (bits >> (MANTISSA_BITS + 1)) { /* rounded up to the next power of two */
        bits >>= 1;
        binary++;
    }
    if (binary >= INFINITE_EXPONENT) return from_bits(0, INFINITE_EXPONENT);
    return from_bits(bits & ~(UINT64_C(1) << MANTISSA_BITS), binary);
}

/* ---- More digits than 64 bits hold ----------------------------------------------------------- */

/* Copies up to `most` digits from the first that is not zero, and returns how many.  *exponent is
 * that of the last one copied, *rest whether a digit that is not zero was left. */
static int copy_digits(const decimal *number, char *out, int most, int64_t *exponent, int *rest)
{
    int64_t fraction_digits = number->end > number->point ? number->end - number->point - 1 : 0;
    /* Of the next digit to read, whose place sinks by one with every digit. */
    int64_t place = number->exponent + fraction_digits + (number->point - number->digits) - 1;
    int used = 0;
    *rest = 0;
    *exponent = 0;
    for (const char *at = number->digits; at < number->end; at++) {
        if (*at == '.') continue;
        if (used < most && (used > 0 || *at != '0')) {
            out[used++] = *at;
            *exponent = place;
        } else if (used == most && *at != '0') {
            *rest = 1;
            return used;
        }
        place--;
    }
    return used;
}

/* The C library converts exactly.  What it is given has no decimal point, so that it does not ask
 * the locale. */
static double convert_by_library(const decimal *number)
{
    char text[DECISIVE_DIGITS + 32];
    int64_t exponent;
    int rest;
    int used = copy_digits(number, text, DECISIVE_DIGITS, &exponent, &rest);
    if (rest) { /* a tie is broken upwards by whatever follows */
        text[used++] = '1';
        exponent--;
    }
    if (exponent > 9999) exponent = 9999;
    if (exponent < -9999) exponent = -9999;
    (void)snprintf(text + used, sizeof text - (size_t)used, "e%d", (int)exponent);
    return strtod(text, NULL);
}

static double convert_long(const decimal *number)
{
    char digits[MOST_DIGITS];
    int64_t exponent;
    int rest;
    int used = copy_digits(number, digits, MOST_DIGITS, &exponent, &rest);
    uint64_t mantissa = 0;
    (void)scan_digits(digits, digits + used, &mantissa);
    double value;
    if (!rest && convert_exact(mantissa, exponent, &value)) return value;
    value = convert_by_table(mantissa, exponent);
    if (!rest || value == convert_by_table(mantissa + 1, exponent)) return value;
    return convert_by_library(number);
}

/* Whether the scanned mantissa is that of all digits, because 64 bits hold them. */
static inline int is_mantissa_whole(const decimal *number)
{
    if (number->end - number->digits <= MOST_DIGITS) return 1;
    const char *first = number->digits;
    while (first < number->end && (*first == '0' || *first == '.')) first++;
    return number->end - first <= MOST_DIGITS; /* may count a point as well: harmless */
}

int64_t pfd_parse_double(const char *text, int64_t size, double *value)
{
    const char *end = text + size, *at = text;
    if (size < 1) return 0;
    int negative = *at == '-';
    if (*at == '-' || *at == '+') at++;

    decimal number;
    const char *rest = scan_decimal(at, end, &number);
    double absolute;
    if (!rest) {
        rest = scan_word(at, end, &absolute);
        if (!rest) return 0;
    } else if (!is_mantissa_whole(&number)) {
        absolute = convert_long(&number);
    } else if (!convert_exact(number.mantissa, number.exponent, &absolute)) {
        absolute = convert_by_table(number.mantissa, number.exponent);
    }
    *value = negative ? -absolute : absolute;
    return rest - text;
}
