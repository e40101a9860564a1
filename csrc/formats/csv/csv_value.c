/* Parses the text of a field as a value of a dtype, and finds which number a cell is. */
#include "formats/csv/csv_value.h"

#include "core/bytes.h"
#include "core/convert.h"
#include "parse/number_text.h"
#include "pyflowdata/op.h"
#include "pyflowdata/pyflowdata.h"

#include <math.h>
#include <string.h>

/* ---- Integers -------------------------------------------------------------------------------- */

/* Parses up to 18 digits, which always fit into int64.  Returns 0 for any other text. */
static inline int scan_short(const uint8_t *at, const uint8_t *end, int64_t *out)
{
    int64_t negative = at < end && *at == '-', value = 0;
    at += negative;
    if (at >= end || end - at > 18) return 0;
    for (; at < end; at++) {
        int64_t digit = *at - '0';
        if ((uint64_t)digit > 9) return 0;
        value = 10 * value + digit;
    }
    *out = negative ? -value : value;
    return 1;
}

#define SCAN(type, least, most)                                                                    \
    {                                                                                              \
        type *to = out;                                                                            \
        for (int64_t i = 0; i < n; i++) {                                                          \
            int64_t value;                                                                         \
            if (!scan_short(text + begin, text + ends[i], &value) || value < (least) ||            \
                value > (most))                                                                    \
                return i;                                                                          \
            to[i] = (type)value;                                                                   \
            begin = (int64_t)ends[i] + 1;                                                          \
        }                                                                                          \
        return n;                                                                                  \
    }

int64_t pfd_csv_integers(int32_t dtype, const uint8_t *text, int64_t begin, const uint32_t *ends,
                         int64_t n, void *out)
{
    switch (dtype) {
    case PFD_INT8: SCAN(int8_t, INT8_MIN, INT8_MAX)
    case PFD_UINT8: SCAN(uint8_t, 0, UINT8_MAX)
    case PFD_INT16: SCAN(int16_t, INT16_MIN, INT16_MAX)
    case PFD_UINT16: SCAN(uint16_t, 0, UINT16_MAX)
    case PFD_INT32: SCAN(int32_t, INT32_MIN, INT32_MAX)
    case PFD_UINT32: SCAN(uint32_t, 0, UINT32_MAX)
    case PFD_INT64: SCAN(int64_t, INT64_MIN, INT64_MAX)
    case PFD_UINT64: SCAN(uint64_t, 0, INT64_MAX)
    default: return 0;
    }
}

/* ---- Bools and floats ------------------------------------------------------------------------ */

static int32_t parse_bool(const uint8_t *text, int64_t size, void *out)
{
    static const struct {
        const char *word;
        uint8_t value;
    } words[] = {{"1", 1}, {"0", 0},  {"true", 1}, {"false", 0}, {"t", 1},
                 {"f", 0}, {"yes", 1}, {"no", 0},  {"y", 1},     {"n", 0}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *word = words[i].word;
        int64_t at = 0, length = (int64_t)strlen(word);
        if (size != length) continue;
        /* 0x20 makes capitals lower case; digits have this bit already. */
        while (at < length && (text[at] | 0x20) == (uint8_t)word[at]) at++;
        if (at < length || (length == 1 && text[0] < '0')) continue;
        memcpy(out, &words[i].value, 1);
        return PFD_PARSED;
    }
    return PFD_NOT_PARSED;
}

static int32_t parse_float(int32_t dtype, const uint8_t *text, int64_t size, void *out)
{
    double value;
    if (size < 1 || pfd_parse_double((const char *)text, size, &value) != size)
        return PFD_NOT_PARSED;
    float narrow = (float)value;
    if (dtype == PFD_FLOAT32)
        memcpy(out, &narrow, sizeof narrow);
    else
        memcpy(out, &value, sizeof value);
    return PFD_PARSED;
}

int32_t pfd_csv_value(int32_t dtype, const uint8_t *text, int64_t size, void *out)
{
    if (dtype == PFD_BOOL) return parse_bool(text, size, out);
    if (pfd_dtype_is_float(dtype)) return parse_float(dtype, text, size, out);
    return pfd_parse_integer(dtype, text, size, out);
}

int32_t pfd_csv_value_is_known(int32_t dtype)
{
    return dtype >= PFD_BOOL && dtype <= PFD_FLOAT64 && dtype != PFD_FLOAT16;
}

const char *pfd_csv_value_kind(int32_t dtype)
{
    if (dtype == PFD_BOOL) return "a bool (true, false, t, f, yes, no, y, n, 1 or 0)";
    if (pfd_dtype_is_float(dtype)) return "a number";
    return "an integer";
}

/* ---- Which number a cell is, by its text ----------------------------------------------------- */

enum { MOST_DIGITS = 4000 }; /* a longer integer is text: Python's int() refuses it */

static inline int32_t is_digit(uint8_t c)
{
    return (uint8_t)(c - '0') <= 9;
}

/* The type of an integer; its digits have no sign and no zero in front. */
static uint32_t type_of_digits(const uint8_t *digits, int64_t size, int32_t is_negative)
{
    if (size <= 15) return is_negative ? PFD_CSV_NEGATIVE : PFD_CSV_INTEGER;
    uint64_t value = 0;
    int32_t fits = size <= 20;
    for (int64_t i = 0; fits && i < size; i++)
        fits = !__builtin_mul_overflow(value, UINT64_C(10), &value) &&
               !__builtin_add_overflow(value, (uint64_t)(digits[i] - '0'), &value);
    uint32_t inexact = PFD_CSV_INEXACT;
    if (fits) { /* it is exact if all its bits that are 1 lie within 53 neighbouring bits */
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

/* The type of a cell that is not digits, or a minus and digits. */
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

/* Whether 8 to 16 bytes are digits and one point, without a needless zero in front. */
static inline int32_t is_usual_float(const uint8_t *at, int64_t size)
{
    if (*at == '0' ? at[1] != '.' : !is_digit(*at)) return 0;
    uint64_t first = pfd_load_le64(at), last = pfd_load_le64(at + size - 8);
    uint64_t found = points(first), other = other_than_digits(first) ^ found;
    uint64_t skipped = size == 16 ? 0 : ~UINT64_C(0) >> 8 * (size - 8); /* also in `first` */
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
