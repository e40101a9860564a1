/* Which number a cell is, by its text. */
#include "formats/csv/csv_cell_type.h"

#include "core/bytes.h"
#include "parse/number_text.h"

#include <math.h>

enum { MOST_DIGITS = 4000 }; /* a longer integer is text, as Python refuses it */

static inline int32_t is_digit(uint8_t c)
{
    return (uint8_t)(c - '0') <= 9;
}

/* Digits of an integer without a sign and without a zero in front. */
static uint32_t type_of_digits(const uint8_t *digits, int64_t size, int32_t is_negative)
{
    if (size <= 15) return is_negative ? PFD_CSV_NEGATIVE : PFD_CSV_INTEGER;
    uint64_t value = 0;
    int32_t fits = size <= 20;
    for (int64_t i = 0; fits && i < size; i++)
        fits = !__builtin_mul_overflow(value, UINT64_C(10), &value) &&
               !__builtin_add_overflow(value, (uint64_t)(digits[i] - '0'), &value);
    uint32_t inexact = PFD_CSV_INEXACT;
    if (fits) { /* exact where the bits from the first one to the last are 53 at most */
        int32_t bits = 64 - __builtin_clzll(value | 1) - (value ? __builtin_ctzll(value) : 0);
        inexact = bits > 53 ? PFD_CSV_INEXACT : 0;
    }
    if (!fits) return PFD_CSV_BEYOND | inexact;
    uint64_t least = UINT64_C(1) << 63;
    if (is_negative) return (value <= least ? PFD_CSV_NEGATIVE : PFD_CSV_BEYOND) | inexact;
    return (value < least ? PFD_CSV_INTEGER : PFD_CSV_UNSIGNED) | inexact;
}

static const uint8_t *after_digits(const uint8_t *at, const uint8_t *end)
{
    while (at < end && is_digit(*at)) at++;
    return at;
}

/* The end of an exponent; `at` where there is none. */
static const uint8_t *after_exponent(const uint8_t *at, const uint8_t *end)
{
    if (at == end || (*at | 0x20) != 'e') return at;
    const uint8_t *digits = at + 1;
    if (digits < end && (*digits == '-' || *digits == '+')) digits++;
    const uint8_t *after = after_digits(digits, end);
    return after > digits ? after : at;
}

static uint32_t type_of_infinity(const uint8_t *at, const uint8_t *end)
{
    static const char word[] = "infinity";
    int64_t size = end - at;
    if (size != 3 && size != 8) return PFD_CSV_TEXT;
    for (int64_t i = 0; i < size; i++)
        if ((at[i] | 0x20) != (uint8_t)word[i]) return PFD_CSV_TEXT;
    return PFD_CSV_FLOAT;
}

/* Anything but an integer without a sign or with a minus. */
static uint32_t type_of_other(pfd_bytes cell)
{
    const uint8_t *at = cell.data, *end = cell.data + cell.size;
    if (*at == '-' || *at == '+') at++;
    const uint8_t *point = after_digits(at, end), *after = point;
    int64_t whole = point - at;
    int32_t has_point = point < end && *point == '.';
    if (has_point) after = after_digits(point + 1, end);
    if (has_point && ((whole > 1 && *at == '0') || whole + (after - point) == 1))
        return PFD_CSV_TEXT;
    if (after == at) return type_of_infinity(at, end);
    const uint8_t *exponent = after;
    after = after_exponent(after, end);
    if (after < end || (!has_point && after == exponent)) return PFD_CSV_TEXT;
    double value;
    int32_t may_be_large = after > exponent || whole > 300;
    if (!may_be_large || !pfd_parse_double((const char *)cell.data, cell.size, &value))
        return PFD_CSV_FLOAT;
    return isinf(value) ? PFD_CSV_FLOAT | PFD_CSV_INFINITE : PFD_CSV_FLOAT;
}

/* ---- Usual floats ---------------------------------------------------------------------------- */

#define EACH_BYTE(byte) (UINT64_C(0x0101010101010101) * (byte))

/* The top bit of each byte that is not a digit. */
static inline uint64_t other_than_digits(uint64_t bytes)
{
    uint64_t x = bytes ^ EACH_BYTE('0');
    return (((x & EACH_BYTE(0x7f)) + EACH_BYTE(0x76)) | x) & EACH_BYTE(0x80);
}

/* The top bit of each byte that is a point. */
static inline uint64_t points(uint64_t bytes)
{
    uint64_t x = bytes ^ EACH_BYTE('.');
    return ~(((x & EACH_BYTE(0x7f)) + EACH_BYTE(0x7f)) | x) & EACH_BYTE(0x80);
}

/* Whether 8 to 16 bytes are digits and one point, with no zero in front that is written for
 * nothing. */
static inline int32_t is_usual_float(const uint8_t *at, int64_t size)
{
    if (*at == '0' ? at[1] != '.' : !is_digit(*at)) return 0;
    uint64_t first = pfd_load_le64(at), last = pfd_load_le64(at + size - 8);
    uint64_t found = points(first), other = other_than_digits(first) ^ found;
    uint64_t skipped = size == 16 ? 0 : ~UINT64_C(0) >> 8 * (size - 8); /* are in `first`, too */
    uint64_t more = points(last) & ~skipped;
    other |= (other_than_digits(last) & ~skipped) ^ more;
    return !other && __builtin_popcountll(found) + __builtin_popcountll(more) == 1;
}

uint32_t pfd_csv_cell_type(pfd_bytes cell)
{
    int32_t is_negative = *cell.data == '-';
    const uint8_t *digits = cell.data + is_negative, *end = cell.data + cell.size;
    int64_t size = end - digits;
    if (size >= 8 && size <= 16 && is_usual_float(digits, size)) return PFD_CSV_FLOAT;
    size = after_digits(digits, end) - digits;
    if (size == 0 || digits + size < end) return type_of_other(cell);
    if (cell.size > MOST_DIGITS) return PFD_CSV_TEXT;
    if (*digits != '0') return type_of_digits(digits, size, is_negative);
    if (size > 1) return PFD_CSV_TEXT;
    return is_negative ? PFD_CSV_FLOAT : PFD_CSV_INTEGER; /* the integer 0 has no sign */
}
