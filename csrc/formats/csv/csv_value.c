/* Parses one field of text into one value. */
#include "formats/csv/csv_value.h"

#include "core/convert.h"
#include "parse/number_text.h"
#include "pyflowdata/op.h"

#include <string.h>

/* ---- Integers -------------------------------------------------------------------------------- */
typedef struct integer {
    uint64_t magnitude;
    int32_t is_negative;
} integer;

static int32_t scan_integer(const uint8_t *text, int64_t size, integer *out)
{
    const uint8_t *at = text, *end = text + size;
    *out = (integer){.is_negative = size > 0 && *at == '-'};
    if (size > 0 && (*at == '-' || *at == '+')) at++;
    if (at == end) return PFD_CSV_NO_VALUE;
    int32_t fits = 1;
    for (; at < end; at++) {
        uint64_t digit = (uint64_t)(*at - '0'), next;
        if (digit > 9) return PFD_CSV_NO_VALUE;
        if (__builtin_mul_overflow(out->magnitude, UINT64_C(10), &next) ||
            __builtin_add_overflow(next, digit, &out->magnitude))
            fits = 0;
    }
    return fits ? PFD_CSV_VALUE : PFD_CSV_OUT_OF_RANGE;
}

/* The bits of a value without the sign. */
static int32_t bits_of(int32_t dtype)
{
    switch (dtype) {
    case PFD_INT8: return 7;
    case PFD_UINT8: return 8;
    case PFD_INT16: return 15;
    case PFD_UINT16: return 16;
    case PFD_INT32: return 31;
    case PFD_UINT32: return 32;
    case PFD_INT64: return 63;
    default: return 64;
    }
}

/* Writes as many low bytes of the value as the dtype has. */
static void store(int32_t dtype, uint64_t value, void *out)
{
    uint8_t value8 = (uint8_t)value;
    uint16_t value16 = (uint16_t)value;
    uint32_t value32 = (uint32_t)value;
    switch (dtype) {
    case PFD_INT8:
    case PFD_UINT8: memcpy(out, &value8, sizeof value8); return;
    case PFD_INT16:
    case PFD_UINT16: memcpy(out, &value16, sizeof value16); return;
    case PFD_INT32:
    case PFD_UINT32: memcpy(out, &value32, sizeof value32); return;
    default: memcpy(out, &value, sizeof value); return;
    }
}

static int32_t parse_integer(int32_t dtype, const uint8_t *text, int64_t size, void *out)
{
    integer number;
    int32_t found = scan_integer(text, size, &number);
    if (found != PFD_CSV_VALUE) return found;
    int32_t bits = bits_of(dtype);
    int32_t has_sign = dtype == PFD_INT8 || dtype == PFD_INT16 || dtype == PFD_INT32 ||
                       dtype == PFD_INT64;
    uint64_t most = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    if (number.is_negative) most = has_sign ? most + 1 : 0;
    if (number.magnitude > most) return PFD_CSV_OUT_OF_RANGE;
    store(dtype, number.is_negative ? 0 - number.magnitude : number.magnitude, out);
    return PFD_CSV_VALUE;
}

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

/* ---- Others ---------------------------------------------------------------------------------- */
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
        return PFD_CSV_VALUE;
    }
    return PFD_CSV_NO_VALUE;
}

static int32_t parse_float(int32_t dtype, const uint8_t *text, int64_t size, void *out)
{
    double value;
    if (size < 1 || pfd_parse_double((const char *)text, size, &value) != size)
        return PFD_CSV_NO_VALUE;
    float narrow = (float)value;
    if (dtype == PFD_FLOAT32)
        memcpy(out, &narrow, sizeof narrow);
    else
        memcpy(out, &value, sizeof value);
    return PFD_CSV_VALUE;
}

int32_t pfd_csv_value(int32_t dtype, const uint8_t *text, int64_t size, void *out)
{
    if (dtype == PFD_BOOL) return parse_bool(text, size, out);
    if (dtype == PFD_FLOAT32 || dtype == PFD_FLOAT64) return parse_float(dtype, text, size, out);
    return parse_integer(dtype, text, size, out);
}

int32_t pfd_csv_value_is_known(int32_t dtype)
{
    return dtype >= PFD_BOOL && dtype <= PFD_FLOAT64 && dtype != PFD_FLOAT16;
}

int64_t pfd_csv_value_bytes(int32_t dtype)
{
    return pfd_dtype_size(dtype);
}

const char *pfd_csv_value_kind(int32_t dtype)
{
    if (dtype == PFD_BOOL) return "a bool (true, false, t, f, yes, no, y, n, 1 or 0)";
    if (dtype == PFD_FLOAT32 || dtype == PFD_FLOAT64) return "a number";
    return "an integer";
}
