/* Numbers as decimal text, read and written independent of locale. */
#include "parse/number_text.h"

#include "core/narrow_floats.h"
#include "pyflowdata/pyflowdata.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Powers of five -------------------------------------------------------------------------- */

__extension__ typedef unsigned __int128 uint128;

uint64_t pfd_powers_of_five[PFD_MOST_POWER - PFD_LEAST_POWER + 1][2];

/* A large number as digits of 32 bits, the lowest one first.  The four digits after the highest one
 * that is not 0 always exist. */
enum { NUM_LIMBS = 32, UNIT = 4 };

static void keep_first_bits(const uint32_t *limbs, int32_t power)
{
    int top = NUM_LIMBS - 1;
    while (!limbs[top]) top--;
    uint128 bits = 0;
    for (int i = 0; i < 4; i++) bits = bits << 32 | limbs[top - i];
    int zeros = __builtin_clz(limbs[top]);
    bits = bits << zeros | (uint64_t)limbs[top - 4] << zeros >> 32;
    bits += power < 0 && power >= PFD_LEAST_ROUNDED_UP;
    uint64_t *row = pfd_powers_of_five[power - PFD_LEAST_POWER];
    row[0] = (uint64_t)(bits >> 64);
    row[1] = (uint64_t)bits;
}

/* At load time, so that reading a number does not have to ask for the table: it takes less than
 * 0.1 ms.  Dividing by 5 again and again, each time rounded down, gives the same as dividing by the
 * power and rounding down once. */
__attribute__((constructor)) static void make_powers_of_five(void)
{
    uint32_t limbs[NUM_LIMBS] = {[UNIT] = 1}, fraction[NUM_LIMBS] = {[NUM_LIMBS - 1] = 1};
    for (int32_t power = 0; power <= PFD_MOST_POWER; power++) {
        uint64_t carry = 0;
        keep_first_bits(limbs, power);
        for (int i = UNIT; i < NUM_LIMBS; i++) {
            carry += (uint64_t)limbs[i] * 5;
            limbs[i] = (uint32_t)carry;
            carry >>= 32;
        }
    }
    for (int32_t power = -1; power >= PFD_LEAST_POWER; power--) {
        uint64_t rest = 0;
        for (int i = NUM_LIMBS - 1; i >= 0; i--) {
            rest = rest << 32 | fraction[i];
            fraction[i] = (uint32_t)(rest / 5);
            rest %= 5;
        }
        keep_first_bits(fraction, power);
    }
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* Decimal text to the nearest double: a scan, then the cheapest conversion that is exact.
 *
 *   most numbers     mantissa and power of ten are exact doubles: one operation (W. D. Clinger: How
 *                    to read floating point numbers accurately, 1990)
 *   up to 19 digits  128-bit product with a table of powers (D. Lemire: Number parsing at a
 *                    gigabyte per second, 2021; that no exact fallback is needed is shown by
 *                    N. Mushtak and D. Lemire: Fast number parsing without fallback, 2023)
 *   more digits      the same for the first 19 digits and for one more in the last place; where
 *                    the two differ, the C library decides from as many digits as can matter */

enum {
    MANTISSA_BITS = 52,
    MOST_DIGITS = 19,     /* that always fit in 64 bits */
    MOST_POWER = 308,     /* above it every mantissa is infinite */
    DECISIVE_DIGITS = 800 /* with one digit for the rest; a tie has at most 767 */
};

/* Digits saturate here; no text is long enough to bring such an exponent back into range. */
#define MOST_EXPONENT INT64_C(100000000000000000)

/* A scanned number: mantissa * 10^exponent, unless it has too many digits. */
typedef struct decimal_text {
    uint64_t mantissa; /* value of all digits, modulo 2^64 */
    int64_t exponent;
    const char *digits; /* the first digit or point */
    const char *point;  /* where the whole digits end */
    const char *end;    /* end of digits and point, before the exponent */
} decimal_text;

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
static const char *scan_decimal(const char *text, const char *end, decimal_text *out)
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
                                     pfd_powers_of_five[exponent - PFD_LEAST_POWER]);
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
static int copy_digits(const decimal_text *number, char *out, int most, int64_t *exponent,
                       int *rest)
{
    int64_t fraction_digits = number->end > number->point ? number->end - number->point - 1 : 0;
    /* The power of ten of the next digit to read. */
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

/* The C library converts exactly.  Its text has no decimal point, which would depend on the
 * locale. */
static double convert_by_library(const decimal_text *number)
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

static double convert_long(const decimal_text *number)
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
static inline int is_mantissa_complete(const decimal_text *number)
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

    decimal_text number;
    const char *rest = scan_decimal(at, end, &number);
    double absolute;
    if (!rest) {
        rest = scan_word(at, end, &absolute);
        if (!rest) return 0;
    } else if (!is_mantissa_complete(&number)) {
        absolute = convert_long(&number);
    } else if (!convert_exact(number.mantissa, number.exponent, &absolute)) {
        absolute = convert_by_table(number.mantissa, number.exponent);
    }
    *value = negative ? -absolute : absolute;
    return rest - text;
}

static void store(uint64_t value, int64_t bytes, void *out)
{
    uint32_t four = (uint32_t)value;
    uint16_t two = (uint16_t)value;
    uint8_t one = (uint8_t)value;
    if (bytes == 8) memcpy(out, &value, 8);
    else if (bytes == 4) memcpy(out, &four, 4);
    else if (bytes == 2) memcpy(out, &two, 2);
    else memcpy(out, &one, 1);
}

int32_t pfd_parse_integer(int32_t dtype, const uint8_t *text, int64_t size, void *out)
{
    int32_t is_signed = dtype == PFD_INT8 || dtype == PFD_INT16 || dtype == PFD_INT32 ||
                        dtype == PFD_INT64;
    int32_t is_negative = size > 0 && *text == '-', is_large = 0;
    int64_t bytes = pfd_dtype_size(dtype), i = is_negative || (size > 0 && *text == '+');
    uint64_t most = UINT64_MAX >> (64 - 8 * bytes + is_signed), value = 0;
    if (is_negative) most = is_signed ? most + 1 : 0;
    if (i == size) return PFD_NOT_PARSED;
    for (; i < size; i++) {
        uint64_t digit = (uint64_t)text[i] - '0';
        if (digit > 9) return PFD_NOT_PARSED;
        is_large |= __builtin_mul_overflow(value, 10u, &value) ||
                    __builtin_add_overflow(value, digit, &value);
    }
    if (is_large || value > most) return PFD_OUT_OF_RANGE;
    store(is_negative ? 0 - value : value, bytes, out);
    return PFD_PARSED;
}

/* ---- Writing --------------------------------------------------------------------------------- */

/* Integers are printed two digits at a time.  Floats are printed by Schubfach (R. Giulietti: The
 * Schubfach way to render doubles, 2020), with the table that reading uses: three products find the
 * shortest decimal in the interval that rounds to the number. */

enum { MOST_PRINTED = 20 };

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
    static const uint64_t powers[MOST_PRINTED] = {
        0, /* so that 0 has a digit */
        10u, 100u, 1000u, 10000u, 100000u, 1000000u, 10000000u, 100000000u, 1000000000u,
        10000000000u, 100000000000u, 1000000000000u, 10000000000000u, 100000000000000u,
        1000000000000000u, 10000000000000000u, 100000000000000000u, 1000000000000000000u,
        10000000000000000000u};
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
    const uint64_t *row = pfd_powers_of_five[power - PFD_LEAST_POWER];
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

/* The shortest decimal of mantissa * 2^exponent, mantissa > 0.  `is_power`: the next number below
 * is nearer than the next above.  Names as in the paper. */
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

/* NumPy compares the value, not its text: the float32 nearest to 1e-4 is below 1e-4. */
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

/* Prints a float of these bits, whose value is given; from `limit` on with an exponent. */
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
