/* Finds records and fields, parses the elements of the attr columns, finds the columns in the rows
 * of each file, and writes their values. */
#include "formats/csv/csv_rows.h"

#include "core/bytes.h"
#include "core/convert.h"
#include "core/cpu.h"
#include "core/error.h"
#include "formats/csv/csv_value.h"
#include "parse/number_pairs.h"
#include "parse/number_text.h"
#include "parse/row_type.h"
#include "parse/words.h"
#include "pyflowdata/pyflowdata.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Records --------------------------------------------------------------------------------- */

/* Whether a line is blank: it has only spaces and tabs, and none of these is the delimiter. */
static int32_t is_blank(const pfd_csv_format *format, const uint8_t *text, int64_t size)
{
    for (int64_t i = 0; i < size; i++) {
        int blank = text[i] == '\r' || text[i] == ' ' || text[i] == '\t';
        if (!blank || text[i] == format->delimiter) return 0;
    }
    return 1;
}

/* Returns the place of the newline that ends the record at `text`, or `size` if there is none.
 * *open is the place of a quote that is not closed before it, or -1. */
static int64_t find_quoted_end(const pfd_csv_format *format, const uint8_t *text, int64_t size,
                               int64_t *open)
{
    int64_t at = 0;
    *open = -1;
    while (at < size) {
        if (text[at] == format->quote) { /* the field's first byte */
            int closed = 0;
            for (*open = at++; at < size && !closed;) {
                const uint8_t *quote = memchr(text + at, format->quote, (size_t)(size - at));
                if (!quote) return size;
                at = quote + 1 - text;
                closed = at == size || text[at] != format->quote;
                if (!closed) at++;
            }
            if (!closed) return size;
            *open = -1;
        }
        while (at < size && text[at] != format->delimiter && text[at] != '\n') at++;
        if (at == size || text[at] == '\n') return at;
        at++;
    }
    return size;
}

static int32_t is_comment(const pfd_csv_format *format, const uint8_t *text, int64_t size)
{
    int64_t bytes = (int64_t)strlen(format->comment);
    return bytes > 0 && size >= bytes && !memcmp(text, format->comment, (size_t)bytes);
}

int32_t pfd_csv_scan(const pfd_csv_format *format, const uint8_t *text, int64_t size,
                     int32_t is_end, pfd_csv_extent *out)
{
    const uint8_t *newline = memchr(text, '\n', (size_t)size);
    if (!newline && !is_end) return 0;
    int64_t end = newline ? newline - text : size, open = -1;
    out->is_record = !is_comment(format, text, end) && !is_blank(format, text, end);
    if (out->is_record && format->multiline && format->quote != format->delimiter &&
        memchr(text, format->quote, (size_t)end)) {
        end = find_quoted_end(format, text, size, &open);
        if (end == size && !is_end) return 0;
    }
    out->open_quote = open;
    out->next = end < size ? end + 1 : size;
    out->size = end - (end > 0 && text[end - 1] == '\r');
    return 1;
}

/* ---- Fields ---------------------------------------------------------------------------------- */

static int32_t next_quoted(const pfd_csv_format *format, const uint8_t *text, int64_t size,
                           int64_t *at, pfd_csv_field *out)
{
    int64_t begin = *at + 1, from = begin;
    *out = (pfd_csv_field){.begin = begin, .is_quoted = 1};
    for (;;) {
        const uint8_t *quote =
            from < size ? memchr(text + from, format->quote, (size_t)(size - from)) : NULL;
        if (!quote) return PFD_CSV_NOT_CLOSED;
        from = quote + 1 - text;
        if (from == size || text[from] != format->quote) break;
        out->has_escapes = 1;
        from++;
    }
    out->end = from - 1;
    *at = from;
    if (from == size) return PFD_CSV_LAST_FIELD;
    if (text[from] != format->delimiter) return PFD_CSV_AFTER_QUOTE;
    *at = from + 1;
    return PFD_CSV_FIELD;
}

int32_t pfd_csv_next_field(const pfd_csv_format *format, const uint8_t *text, int64_t size,
                           int64_t *at, pfd_csv_field *out)
{
    int32_t has_quotes = format->quote != format->delimiter;
    if (has_quotes && *at < size && text[*at] == format->quote)
        return next_quoted(format, text, size, at, out);
    int64_t end = *at;
    while (end < size && text[end] != format->delimiter && text[end] != format->quote) end++;
    *out = (pfd_csv_field){.begin = *at, .end = end};
    *at = end;
    if (end == size) return PFD_CSV_LAST_FIELD;
    if (has_quotes && text[end] == format->quote) return PFD_CSV_STRAY_QUOTE;
    *at = end + 1;
    return PFD_CSV_FIELD;
}

/* Copies the content of a field, with one quote for two.  Returns its size, at most end - begin. */
static int64_t csv_unescape(const pfd_csv_format *format, const uint8_t *text,
                            const pfd_csv_field *field, uint8_t *out)
{
    int64_t bytes = 0;
    for (int64_t i = field->begin; i < field->end; i++) {
        out[bytes++] = text[i];
        if (field->has_escapes && text[i] == format->quote) i++;
    }
    return bytes;
}

/* ---- Delimiters and quotes, with masks of 64 bytes ------------------------------------------- */

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { block_bytes = 64 };

typedef struct masks {
    uint64_t delimiters, quotes;
} masks;

/* Writes the places of a mask's set bits. Branches depend only on how many bits are set. */
PFD_INLINE int64_t write_places(uint64_t mask, int64_t first, uint32_t *ends)
{
    int64_t n = 0;
    while (mask) {
        ends[n++] = (uint32_t)(first + __builtin_ctzll(mask));
        mask &= mask - 1;
    }
    return n;
}

/* The loop of all variants; rest() looks at the bytes after the last complete block. */
#define SPLIT(target, name, look, rest)                                                            \
    target static int64_t name(const uint8_t *text, int64_t size, uint8_t delimiter, uint8_t quote,\
                               int64_t most, uint32_t *ends, int32_t *has_quote)                   \
    {                                                                                              \
        int64_t found = 0, at = 0;                                                                 \
        uint64_t quotes = 0;                                                                       \
        for (; at + block_bytes <= size; at += block_bytes) {                                      \
            masks m = look(text + at, delimiter, quote);                                           \
            quotes |= m.quotes;                                                                    \
            if (found < most) found += write_places(m.delimiters, at, ends + found);               \
        }                                                                                          \
        if (at < size) {                                                                           \
            masks m = rest(text, at, size, delimiter, quote);                                      \
            quotes |= m.quotes;                                                                    \
            if (found < most) found += write_places(m.delimiters, at, ends + found);               \
        }                                                                                          \
        *has_quote = quotes != 0 && quote != delimiter;                                            \
        return found < most ? found : most;                                                        \
    }

/* Looks at text[at, size), less than a block.  It reads nothing outside the text: its block
 * overlaps the one before; if it is the only block, it is copied first. */
#define REST(target, name, look)                                                                   \
    target PFD_INLINE masks name(const uint8_t *text, int64_t at, int64_t size, uint8_t delimiter, \
                                 uint8_t quote)                                                    \
    {                                                                                              \
        uint8_t copy[block_bytes];                                                                 \
        int64_t left = size - at, passed = block_bytes - left;                                     \
        const uint8_t *last = text + size - block_bytes;                                           \
        if (size < block_bytes) {                                                                  \
            memset(copy, 0, (size_t)passed);                                                       \
            memcpy(copy + passed, text + at, (size_t)left);                                        \
            last = copy;                                                                           \
        }                                                                                          \
        masks m = look(last, delimiter, quote);                                                    \
        return (masks){m.delimiters >> passed, m.quotes >> passed};                                \
    }

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
/* Sets a bit for each zero byte of a word. It is exact: no carry passes from byte to byte. */
PFD_INLINE uint64_t zeros_of(uint64_t word)
{
    const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f);
    uint64_t zeros = ~(((word & low) + low) | word | low) >> 7;
    return zeros * UINT64_C(0x0102040810204080) >> 56;
}

PFD_INLINE masks look_plain(const uint8_t *text, uint8_t delimiter, uint8_t quote)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    masks m = {0};
    for (int i = 0; i < block_bytes; i += 8) {
        uint64_t word;
        memcpy(&word, text + i, sizeof word);
        m.delimiters |= zeros_of(word ^ (ones * delimiter)) << i;
        m.quotes |= zeros_of(word ^ (ones * quote)) << i;
    }
    return m;
}
#else
PFD_INLINE masks look_plain(const uint8_t *text, uint8_t delimiter, uint8_t quote)
{
    masks m = {0};
    for (int i = 0; i < block_bytes; i++) {
        m.delimiters |= (uint64_t)(text[i] == delimiter) << i;
        m.quotes |= (uint64_t)(text[i] == quote) << i;
    }
    return m;
}
#endif

REST(, rest_plain, look_plain)
SPLIT(, split_plain, look_plain, rest_plain)

#if defined(__AARCH64EL__)
PFD_INLINE masks look_neon(const uint8_t *text, uint8_t delimiter, uint8_t quote)
{
    pfd_bytes16 delimiters[4], quotes[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        pfd_bytes16 bytes = pfd_load16(text + 16 * i);
        delimiters[i] = (pfd_bytes16)(bytes == delimiter);
        quotes[i] = (pfd_bytes16)(bytes == quote);
    }
    return (masks){pfd_bits64(delimiters), pfd_bits64(quotes)};
}

REST(, rest_neon, look_neon)
SPLIT(, split_neon, look_neon, rest_neon)
#elif defined(__x86_64__)

enum { half_bytes = block_bytes / 2 };

PFD_TARGET_AVX2 PFD_INLINE masks look_half(const uint8_t *text, uint8_t delimiter, uint8_t quote)
{
    __m256i bytes = _mm256_loadu_si256((const void *)text);
    __m256i d = _mm256_set1_epi8((char)delimiter), q = _mm256_set1_epi8((char)quote);
    return (masks){(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, d)),
                   (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, q))};
}

PFD_TARGET_AVX2 PFD_INLINE masks look_halves(const uint8_t *low, const uint8_t *high, int64_t apart,
                                             uint8_t delimiter, uint8_t quote)
{
    masks l = look_half(low, delimiter, quote), h = look_half(high, delimiter, quote);
    return (masks){l.delimiters | h.delimiters << apart, l.quotes | h.quotes << apart};
}

PFD_TARGET_AVX2 PFD_INLINE masks look_avx2(const uint8_t *text, uint8_t delimiter, uint8_t quote)
{
    return look_halves(text, text + half_bytes, half_bytes, delimiter, quote);
}

/* As other rests, but of more than half a block without a copy, by two halves that overlap.  A
 * masked load would wait for bytes after the record, which are rarely in the cache. */
PFD_TARGET_AVX2 PFD_INLINE masks rest_avx2(const uint8_t *text, int64_t at, int64_t size,
                                           uint8_t delimiter, uint8_t quote)
{
    int64_t left = size - at;
    const uint8_t *last = text + size - half_bytes;
    if (left > half_bytes)
        return look_halves(text + at, last, left - half_bytes, delimiter, quote);
    uint8_t copy[half_bytes];
    if (size < half_bytes) {
        memset(copy, 0, sizeof copy);
        memcpy(copy + half_bytes - left, text + at, (size_t)left);
        last = copy;
    }
    masks m = look_half(last, delimiter, quote);
    int64_t passed = half_bytes - left;
    return (masks){m.delimiters >> passed, m.quotes >> passed};
}

SPLIT(PFD_TARGET_AVX2, split_avx2, look_avx2, rest_avx2)

PFD_TARGET_AVX512 PFD_INLINE masks look_avx512(const uint8_t *text, uint8_t delimiter,
                                                uint8_t quote)
{
    __m512i bytes = _mm512_loadu_si512((const void *)text);
    return (masks){_mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8((char)delimiter)),
                   _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8((char)quote))};
}

SPLIT(PFD_TARGET_AVX512, split_avx512, look_avx512, rest_avx2)
#endif

pfd_csv_split_fn pfd_csv_split_at(int32_t simd_level)
{
#if defined(__x86_64__)
    if (simd_level >= PFD_SIMD_AVX512) return split_avx512;
    if (simd_level == PFD_SIMD_AVX2) return split_avx2;
#elif defined(__AARCH64EL__)
    if (simd_level == PFD_SIMD_NEON) return split_neon;
#endif
    (void)simd_level;
    return split_plain;
}

/* ---- Numbers --------------------------------------------------------------------------------- */

/* Parses numbers of up to 32 bytes with vectors of 16 bytes: it removes the decimal point, joins
 * the digits, and divides exactly.  All other numbers go to pfd_parse_double(). */

/* Returns 0 if the field is not a finite number. */
static int parse_any(const uint8_t *text, int64_t begin, int64_t end, double *out)
{
    int64_t used = pfd_parse_double((const char *)text + begin, end - begin, out);
    return used > 0 && used == end - begin && isfinite(*out);
}

static int64_t doubles_plain(const uint8_t *text, int64_t size, int64_t begin, const uint32_t *ends,
                             int64_t n, double *out)
{
    (void)size;
    for (int64_t i = 0; i < n; i++) {
        if (!parse_any(text, begin, ends[i], &out[i])) return i;
        begin = (int64_t)ends[i] + 1;
    }
    return n;
}

#if defined(__x86_64__) || defined(__AARCH64EL__)

#if defined(__x86_64__)
#define TARGET PFD_TARGET_AVX2

/* The bytes at these places; 0 where the place is 128. */
TARGET PFD_INLINE pfd_bytes16 bytes_at(pfd_bytes16 bytes, pfd_bytes16 places)
{
    return (pfd_bytes16)_mm_shuffle_epi8((__m128i)bytes, (__m128i)places);
}

/* Shifts all bytes of `low` by one place; the last byte of `high` becomes the first. */
TARGET PFD_INLINE pfd_bytes16 move_on(pfd_bytes16 high, pfd_bytes16 low)
{
    return (pfd_bytes16)_mm_alignr_epi8((__m128i)low, (__m128i)high, 15);
}

/* `one` where the mask is set, else `other`. */
TARGET PFD_INLINE pfd_bytes16 choose(pfd_bytes16 mask, pfd_bytes16 one, pfd_bytes16 other)
{
    return (pfd_bytes16)_mm_blendv_epi8((__m128i)other, (__m128i)one, (__m128i)mask);
}

/* The number of sixteen digits, one per byte. */
TARGET PFD_INLINE uint64_t join_digits(pfd_bytes16 digits)
{
    __m128i pairs = _mm_maddubs_epi16((__m128i)digits, _mm_set1_epi16(0x010a));
    __m128i fours = _mm_madd_epi16(pairs, _mm_set1_epi32(0x00010064));
    __m128i packed = _mm_packus_epi32(fours, fours);
    __m128i eights = _mm_madd_epi16(packed, _mm_set1_epi32(0x00012710));
    uint64_t both = (uint64_t)_mm_cvtsi128_si64(eights);
    return (both & UINT32_MAX) * 100000000 + (both >> 32);
}
#else
#define TARGET

PFD_INLINE pfd_bytes16 bytes_at(pfd_bytes16 bytes, pfd_bytes16 places)
{
    return vqtbl1q_u8(bytes, places);
}

PFD_INLINE pfd_bytes16 move_on(pfd_bytes16 high, pfd_bytes16 low)
{
    return vextq_u8(high, low, 15);
}

PFD_INLINE pfd_bytes16 choose(pfd_bytes16 mask, pfd_bytes16 one, pfd_bytes16 other)
{
    return vbslq_u8(mask, one, other);
}

PFD_INLINE uint64_t join_digits(pfd_bytes16 digits)
{
    uint64x2_t eights = pfd_join_eights(digits);
    return vgetq_lane_u64(eights, 0) * 100000000 + vgetq_lane_u64(eights, 1);
}
#endif

/* The place of the first byte that is 255; all others are 0.  Returns 16 if all are 0. */
PFD_INLINE int first16(pfd_bytes16 found)
{
#if defined(__SSE2__)
    return __builtin_ctz((uint32_t)_mm_movemask_epi8((__m128i)found) | UINT32_C(1) << 16);
#else
    uint8x8_t halves = vshrn_n_u16(vreinterpretq_u16_u8(found), 4); /* four bits of each byte */
    uint64_t bits = vget_lane_u64(vreinterpret_u64_u8(halves), 0);
    return bits ? __builtin_ctzll(bits) / 4 : 16;
#endif
}

/* The places of a vector after `before`, which may be -1. */
TARGET PFD_INLINE pfd_bytes16 places_after(int before)
{
    typedef int8_t places16 __attribute__((vector_size(16)));
    const places16 places = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    return (pfd_bytes16)(places > (int8_t)before);
}

TARGET PFD_INLINE int are_digits(pfd_bytes16 values)
{
    return first16((pfd_bytes16)(values > 9)) == 16;
}

/* The bytes [begin, end), 1 to 16 of them, at the end of a vector; the bytes before them are
 * undefined. Nothing outside the text is read. */
TARGET PFD_INLINE pfd_bytes16 load_to_end(const uint8_t *text, int64_t size, int64_t begin,
                                          int64_t end)
{
    static const uint8_t moves[32] = {128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128,
                                      128, 128, 128, 128, 128, 0,   1,   2,   3,   4,   5,
                                      6,   7,   8,   9,   10,  11,  12,  13,  14,  15};
    if (end >= 16) return pfd_load16(text + end - 16);
    if (begin + 16 <= size)
        return bytes_at(pfd_load16(text + begin), pfd_load16(moves + (end - begin)));
    uint8_t copy[16] = {0};
    memcpy(copy + 16 - (end - begin), text + begin, (size_t)(end - begin));
    return pfd_load16(copy);
}

/* Parses 1 to 16 bytes of digits with at most one point.  Returns 0 for any other text. */
TARGET PFD_INLINE int parse_short(const uint8_t *text, int64_t size, int64_t begin, int64_t end,
                                  double *out)
{
    int before = (int)(15 - (end - begin)); /* last place before the number */
    pfd_bytes16 bytes = load_to_end(text, size, begin, end);
    int point = first16((pfd_bytes16)(bytes == '.') & places_after(before));
    int has_point = point < 16, scale = has_point ? 15 - point : 0;
    if (!has_point) point = -1;

    pfd_bytes16 joined = choose(places_after(point), bytes, move_on(bytes, bytes));
    pfd_bytes16 digits = (joined - '0') & places_after(before + has_point);
    uint64_t mantissa = join_digits(digits);
    *out = (double)(int64_t)mantissa / pfd_powers[scale];
    return are_digits(digits) && end - begin > has_point && mantissa <= UINT64_C(1) << 53;
}

/* Writes mantissa / 10^scale, mantissa < 2^63.  Returns 0 if the result may not be rounded
 * correctly.  divide_avx512() in number_pairs.c has the same steps, and explains why they are
 * exact. */
TARGET PFD_INLINE int divide(uint64_t mantissa, int scale, double *out)
{
    double power = pfd_powers[scale], reciprocal = pfd_reciprocals[scale];
    double high = (double)(int64_t)mantissa;
    double low = (double)((int64_t)mantissa - (int64_t)high);
    double quotient = high * reciprocal;
    double remainder = __builtin_fma(-quotient, power, high);
    double rest = (remainder + low) * reciprocal;
    *out = __builtin_fma(rest, 1 + 0x1p-50, quotient);
    return *out == __builtin_fma(rest, 1 - 0x1p-50, quotient);
}

/* Parses 17 to 32 bytes with at most one point, and up to 18 digits after leading zeros. */
TARGET PFD_INLINE int parse_long(const uint8_t *text, int64_t begin, int64_t end, double *out)
{
    int before = (int)(31 - (end - begin)); /* last place before the number, below 15 */
    uint8_t copy[32] = {0};
    const uint8_t *from = text + end - 32;
    if (end < 32) {
        memcpy(copy + 32 - end, text, (size_t)end);
        from = copy;
    }
    pfd_bytes16 high = pfd_load16(from), low = pfd_load16(from + 16);
    int point = first16((pfd_bytes16)(high == '.') & places_after(before));
    if (point == 16) point += first16((pfd_bytes16)(low == '.'));
    int has_point = point < 32, scale = has_point ? 31 - point : 0;
    if (scale > PFD_MOST_SCALE) return 0;
    if (!has_point) point = -1;

    low = choose(places_after(point - 16), low, move_on(high, low)) - '0';
    high = choose(places_after(point), high, move_on(high, high)) - '0';
    high &= places_after(before + has_point);
    if (!are_digits(high) || !are_digits(low)) return 0;
    uint64_t upper = join_digits(high);
    if (upper >= 900) return 0; /* mantissa of 9 * 10^18 or more */
    return divide(upper * UINT64_C(10000000000000000) + join_digits(low), scale, out);
}

TARGET static int64_t doubles_vectors(const uint8_t *text, int64_t size, int64_t begin,
                                      const uint32_t *ends, int64_t n, double *out)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t end = ends[i];
        if (end <= begin) return i;
        int64_t minus = text[begin] == '-', digits = end - begin - minus;
        double value;
        if (digits >= 1 && digits <= 16 && parse_short(text, size, begin + minus, end, &value))
            out[i] = minus ? -value : value;
        else if (digits > 16 && digits <= 32 && parse_long(text, begin + minus, end, &value))
            out[i] = minus ? -value : value;
        else if (!parse_any(text, begin, end, &out[i]))
            return i;
        begin = end + 1;
    }
    return n;
}
#endif

pfd_csv_doubles_fn pfd_csv_doubles_at(int32_t simd_level)
{
#if defined(__x86_64__) || defined(__AARCH64EL__)
    if (simd_level > PFD_SIMD_PLAIN) return doubles_vectors;
#endif
    (void)simd_level;
    return doubles_plain;
}

/* ---- Elements of the attr columns ------------------------------------------------------------ */

/* One end of a key: a name, or a number if name is NULL. */
typedef struct csv_place {
    const char *name;
    int64_t size, number;
} csv_place;

typedef struct csv_key {
    csv_place first, last; /* equal unless the key is a range */
    int32_t is_range;
} csv_key;

#define GRAMMAR                                                                                    \
    "columns are names, numbers from 0, or ranges a..b of them, separated by |; a name in single " \
    "quotes is used literally"

static pfd_status fail_key(const pfd_host *host, const pfd_csv_column *column, const char *at,
                           int64_t size, const char *what, pfd_error *err)
{
    char text[256];
    return host->fail_attr(err, "columns", NULL, PFD_INVALID_ARGUMENT,
        ": in '%s' %s is %s; " GRAMMAR, column->spec,
        size > 0 ? pfd_quote_bytes((const void *)at, size, text, sizeof text) : "the end", what);
}

enum { most_number = 999999999 };

/* Parses digits.  *value is most_number + 1 for any larger number. */
static int is_digits(const char *text, int64_t size, int64_t *value)
{
    *value = 0;
    for (int64_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9') return 0;
        *value = *value * 10 + (text[i] - '0');
        if (*value > most_number) *value = most_number + 1;
    }
    return size > 0;
}

/* Reads a name up to '|', ".." or the end, or a name in quotes. */
static pfd_status next_place(const pfd_host *host, const pfd_csv_column *column, const char **at,
                             csv_place *out, pfd_error *err)
{
    const char *end = column->key + column->key_size, *from = *at, *next;
    *out = (csv_place){.number = -1};
    if (from < end && *from == '\'') {
        next = memchr(from + 1, '\'', (size_t)(end - from - 1));
        if (!next)
            return fail_key(host, column, from, end - from, "a name without a closing quote", err);
        out->name = from + 1;
        out->size = next - out->name;
        *at = next + 1;
        return PFD_OK;
    }
    for (next = from; next < end && *next != '|'; next++)
        if (*next == '.' && next + 1 < end && next[1] == '.') break;
    *at = next;
    if (next == from) return fail_key(host, column, from, end - from, "not a column", err);
    if (is_digits(from, next - from, &out->number))
        return out->number <= most_number
                   ? PFD_OK
                   : fail_key(host, column, from, next - from,
                              "above 999999999, the largest number of a column", err);
    out->name = from;
    out->size = next - from;
    return PFD_OK;
}

/* Reads the key at *at and moves *at to the next one; start with *at = column->key.  PFD_END: there
 * are no more keys. */
static pfd_status csv_next_key(const pfd_host *host, const pfd_csv_column *column, const char **at,
                               csv_key *out, pfd_error *err)
{
    const char *end = column->key + column->key_size, *begin = *at;
    if (begin > column->key) {
        if (begin == end) return PFD_END;
        if (*begin != '|') return fail_key(host, column, begin, end - begin, "unexpected", err);
        ++*at;
    }
    PFD_TRY(next_place(host, column, at, &out->first, err));
    out->last = out->first;
    out->is_range = end - *at >= 2 && (*at)[0] == '.' && (*at)[1] == '.';
    if (!out->is_range) return PFD_OK;
    *at += 2;
    PFD_TRY(next_place(host, column, at, &out->last, err));
    if (!out->first.name && !out->last.name && out->last.number < out->first.number)
        return fail_key(host, column, begin, *at - begin, "a range that ends before it begins",
                        err);
    return PFD_OK;
}

/* Counts the columns of the keys; *unknown is 1 if one of them is a range of names. */
static pfd_status count_values(const pfd_host *host, pfd_csv_column *column, int64_t *values,
                               int32_t *is_row, int32_t *unknown, pfd_error *err)
{
    csv_key key;
    int64_t keys = 0;
    pfd_status status;
    *values = *unknown = 0;
    *is_row = 0;
    const char *at = column->key;
    for (; (status = csv_next_key(host, column, &at, &key, err)) == PFD_OK; keys++) {
        int32_t named = key.first.name || key.last.name;
        column->has_names |= named;
        *is_row |= key.is_range;
        if (key.is_range && named)
            *unknown = 1;
        else
            *values += key.is_range ? key.last.number - key.first.number + 1 : 1;
    }
    *is_row |= keys > 1;
    return status == PFD_END ? PFD_OK : status;
}

static pfd_status fail_type(const pfd_host *host, const pfd_csv_column *column, const char *what,
                            pfd_error *err)
{
    return host->fail_attr(err, "columns", NULL, PFD_INVALID_ARGUMENT,
                           ": '%s' %s; a column is bool, an integer, float32, float64 or bytes, "
                           "several columns are an array of numbers", column->spec, what);
}

static pfd_status set_type(const pfd_host *host, const pfd_field_spec *spec, int64_t values,
                           int32_t is_row, int32_t unknown, pfd_csv_column *column, pfd_error *err)
{
    pfd_row_type *type = &column->type;
    *type = spec->type;
    if (!spec->has_type) type->dtype = PFD_FLOAT64;
    if (!pfd_csv_value_is_known(type->dtype))
        return fail_type(host, column, "has a type that text cannot be read as", err);
    column->is_bytes = type->dtype == PFD_UINT8 && type->ndim == 1 && type->shape[0] < 0;
    if (column->is_bytes) {
        column->num_values = 1;
        return is_row ? fail_type(host, column, "has the type bytes and more than one column", err)
                      : PFD_OK;
    }
    if (unknown && !spec->has_shape)
        return host->fail_attr(err, "columns", NULL, PFD_INVALID_ARGUMENT,
                               ": '%s' is a range of names; the type must state its length, as in "
                               "'x=a..z:float32[26]'", column->spec);
    if (!spec->has_shape && is_row) {
        type->ndim = 1;
        type->shape[0] = values;
    }
    int64_t product = 1;
    for (int32_t i = 0; i < type->ndim; i++) {
        if (type->shape[i] < 0)
            return fail_type(host, column,
                             "has a dimension that varies, which the number of columns does not",
                             err);
        if (__builtin_mul_overflow(product, type->shape[i], &product)) product = INT64_MAX;
    }
    if (unknown ? product <= values : product != values)
        return host->fail_attr(err, "columns", NULL, PFD_INVALID_ARGUMENT,
                               ": '%s' has a shape of %" PRId64 " values for %s%" PRId64 " columns",
                               column->spec, product, unknown ? "more than " : "", values);
    column->num_values = product;
    return PFD_OK;
}

pfd_status pfd_csv_column_parse(const pfd_host *host, const char *element, pfd_csv_column *out,
                                pfd_error *err)
{
    pfd_field_spec spec;
    PFD_TRY(pfd_field_spec_parse(host, "columns", element, &spec, err));
    *out = (pfd_csv_column){.spec = element,
                            .name = spec.name,
                            .key = spec.key,
                            .default_text = spec.default_text,
                            .name_size = spec.name_size,
                            .key_size = spec.key_size,
                            .default_size = spec.default_size};
    int64_t values;
    int32_t is_row, unknown;
    PFD_TRY(count_values(host, out, &values, &is_row, &unknown, err));
    return set_type(host, &spec, values, is_row, unknown, out, err);
}

static pfd_status parse_default(const pfd_host *host, const pfd_csv_column *column,
                                const char *text, int64_t size, void *out, pfd_error *err)
{
    if (pfd_csv_value(column->type.dtype, (const void *)text, size, out) == PFD_PARSED)
        return PFD_OK;
    char found[256];
    return host->fail_attr(err, "columns", NULL, PFD_INVALID_ARGUMENT,
                           ": the default %s of '%s' is not %s that %s holds",
                           pfd_quote_bytes((const void *)text, size, found, sizeof found),
                           column->spec, pfd_csv_value_kind(column->type.dtype),
                           pfd_dtype_name(column->type.dtype));
}

pfd_status pfd_csv_defaults(const pfd_host *host, const pfd_csv_column *column, uint8_t *out,
                            pfd_error *err)
{
    const char *text = column->default_text, *end = text + column->default_size;
    int64_t texts = 1, bytes = pfd_dtype_size(column->type.dtype);
    for (const char *c = text; c < end; c++) texts += *c == ',';
    if (texts != 1 && texts != column->num_values)
        return host->fail_attr(err, "columns", NULL, PFD_INVALID_ARGUMENT,
                               ": '%s' has %" PRId64 " defaults for %" PRId64
                               " values; give one for all or one for each", column->spec, texts,
                               column->num_values);
    for (int64_t i = 0; i < texts; i++) {
        uint64_t value;
        const char *comma = memchr(text, ',', (size_t)(end - text));
        int64_t size = (comma ? comma : end) - text;
        PFD_TRY(parse_default(host, column, text, size, &value, err));
        int64_t copies = texts == 1 ? column->num_values : 1;
        for (int64_t k = 0; out && k < copies; k++, out += bytes)
            memcpy(out, &value, (size_t)bytes);
        if (comma) text = comma + 1;
    }
    return PFD_OK;
}

/* ---- Layouts: columns of one file by its header, or by number -------------------------------- */

typedef struct header_name {
    const uint8_t *text;
    int64_t size, field;
} header_name;

/* The state while a layout is made. */
typedef struct maker {
    const pfd_host *host;
    const pfd_file *file;
    int64_t offset;
    const pfd_csv_format *format;
    const pfd_csv_column *column; /* the current one */
    pfd_csv_layout *layout;
    int64_t num_runs;
    header_name *names; /* sorted, one for each field; NULL: no name has been looked up yet */
    uint8_t *texts;     /* of the names */
} maker;

/* Copies the name of a field of the header, at most `capacity` bytes of it, without blanks around
 * it and with one quote for two.  Returns its size. */
static int64_t field_name(const pfd_csv_layout *layout, const pfd_csv_format *format,
                          const pfd_csv_field *field, uint8_t *out, int64_t capacity)
{
    if (field->has_escapes && field->end - field->begin <= capacity)
        return csv_unescape(format, layout->first_row, field, out);
    pfd_bytes name = {layout->first_row + field->begin, field->end - field->begin};
    if (!field->is_quoted) name = pfd_csv_stripped(name);
    if (name.size > capacity) name.size = capacity;
    memcpy(out, name.data, (size_t)name.size);
    return name.size;
}

static int compare_names(const void *left, const void *right)
{
    const header_name *a = left, *b = right;
    int64_t shorter = a->size < b->size ? a->size : b->size;
    int order = memcmp(a->text, b->text, (size_t)shorter);
    return order ? order : (a->size > b->size) - (a->size < b->size);
}

static pfd_status sort_names(maker *m, pfd_error *err)
{
    const pfd_csv_layout *layout = m->layout;
    m->names = calloc((size_t)layout->num_fields, sizeof *m->names);
    m->texts = malloc((size_t)layout->first_row_size + 1);
    if (!m->names || !m->texts)
        return m->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the names of columns");
    uint8_t *text = m->texts;
    int64_t at = 0;
    for (int64_t i = 0; i < layout->num_fields; i++) {
        pfd_csv_field field;
        (void)pfd_csv_next_field(m->format, layout->first_row, layout->first_row_size, &at, &field);
        int64_t size = field_name(layout, m->format, &field, text, field.end - field.begin);
        m->names[i] = (header_name){text, size, i};
        text += size;
    }
    qsort(m->names, (size_t)layout->num_fields, sizeof *m->names, compare_names);
    return PFD_OK;
}

/* Counts the fields with this name; *found is such a field. */
static pfd_status find_name(maker *m, const csv_place *place, int64_t *matches, int64_t *found,
                            pfd_error *err)
{
    if (!m->names) PFD_TRY(sort_names(m, err));
    header_name wanted = {.text = (const uint8_t *)place->name, .size = place->size};
    const header_name *end = m->names + m->layout->num_fields;
    const header_name *any = bsearch(&wanted, m->names, (size_t)m->layout->num_fields,
                                     sizeof wanted, compare_names);
    *matches = 0;
    if (!any) return PFD_OK;
    while (any > m->names && compare_names(any - 1, &wanted) == 0) any--;
    *found = any->field;
    for (; any < end && compare_names(any, &wanted) == 0; any++) ++*matches;
    return PFD_OK;
}

/* "column 3 ('price')", or "column 3" without a header; `out` holds `capacity` >= 256 bytes. */
static const char *csv_layout_name(const pfd_csv_layout *layout, const pfd_csv_format *format,
                                   int64_t field, char *out, size_t capacity)
{
    uint8_t name[64];
    char text[256];
    int64_t at = 0, size = 0;
    pfd_csv_field found;
    for (int64_t i = 0; layout->has_header && i <= field && i < layout->num_fields; i++) {
        (void)pfd_csv_next_field(format, layout->first_row, layout->first_row_size, &at, &found);
        if (i == field) size = field_name(layout, format, &found, name, sizeof name);
    }
    if (layout->has_header && field < layout->num_fields)
        (void)snprintf(out, capacity, "column %" PRId64 " (%s)", field,
                       pfd_quote_bytes(name, size, text, sizeof text));
    else
        (void)snprintf(out, capacity, "column %" PRId64, field);
    return out;
}

/* The header, shortened, for a message. */
static const char *shown_row(const pfd_csv_layout *layout, char *out, size_t capacity)
{
    return pfd_quote_bytes(layout->first_row, layout->first_row_size, out, capacity);
}

/* "; did you mean 'x'?" with the name of the header that is most like `name`; "" if none is. */
static const char *near_name(const maker *m, const char *name, int64_t size, char *out,
                             size_t capacity)
{
    int64_t n = m->layout->num_fields;
    const char **names = calloc((size_t)n + 1, sizeof *names);
    char *wanted = strndup(name, (size_t)size);
    for (int64_t i = 0; names && wanted && i < n; i++)
        names[i] = strndup((const char *)m->names[i].text, (size_t)m->names[i].size);
    const char *near = NULL;
    if (names && wanted && names[n > 0 ? n - 1 : 0]) near = pfd_nearest_name(wanted, names, n);
    out[0] = 0;
    if (near) (void)snprintf(out, capacity, "; did you mean '%.100s'?", near);
    for (int64_t i = 0; names && i < n; i++) free((char *)(uintptr_t)names[i]);
    free(names);
    free(wanted);
    return out;
}

static pfd_status fail_no_column(const maker *m, const char *name, int64_t size, pfd_error *err)
{
    char row[256], text[256], near[160];
    return m->host->fail_attr(err, "columns", m->file, PFD_INVALID_ARGUMENT,
                              ": '%s' asks for column %s, which is not one of the %" PRId64
                              " of the header %s%s; columns are found by their exact name, or by "
                              "number from 0", m->column->spec,
                              pfd_quote_bytes((const void *)name, size, text, sizeof text),
                              m->layout->num_fields, shown_row(m->layout, row, sizeof row),
                              near_name(m, name, size, near, sizeof near));
}

static pfd_status place_of(maker *m, const csv_place *place, int64_t *out, pfd_error *err)
{
    char row[256];
    if (place->name) {
        int64_t matches;
        pfd_status status = find_name(m, place, &matches, out, err);
        if (status != PFD_OK || matches == 1) return status;
        if (matches == 0) return fail_no_column(m, place->name, place->size, err);
        return m->host->fail_attr(err, "columns", m->file, PFD_INVALID_ARGUMENT,
                                  ": '%s' asks for a column by a name that %" PRId64
                                  " columns of the header %s have; ask for it by number",
                                  m->column->spec, matches, shown_row(m->layout, row, sizeof row));
    }
    *out = place->number;
    if (*out < m->layout->num_fields) return PFD_OK;
    return m->host->fail_attr(err, "columns", m->file, PFD_INVALID_ARGUMENT,
                              ": '%s' asks for column %" PRId64 ", but the first row %s has "
                              "%" PRId64 " fields; columns are counted from 0", m->column->spec,
                              *out, shown_row(m->layout, row, sizeof row), m->layout->num_fields);
}

static pfd_status find_column(maker *m, pfd_error *err)
{
    csv_key key;
    int64_t values = 0;
    pfd_status status;
    const char *at = m->column->key;
    while ((status = csv_next_key(m->host, m->column, &at, &key, err)) == PFD_OK) {
        int64_t first, last;
        PFD_TRY(place_of(m, &key.first, &first, err));
        PFD_TRY(place_of(m, &key.last, &last, err));
        if (last < first)
            return m->host->fail_attr(err, "columns", m->file, PFD_INVALID_ARGUMENT,
                                      ": in '%s' a range goes from column %" PRId64
                                      " to column %" PRId64 " of this file; a range must not go "
                                      "backwards",
                                      m->column->spec, first, last);
        values += last - first + 1;
        m->layout->runs[m->num_runs++] = (pfd_csv_run){first, last - first + 1};
    }
    if (status != PFD_END) return status;
    if (values == m->column->num_values) return PFD_OK;
    return m->host->fail_attr(err, "columns", m->file, PFD_INVALID_ARGUMENT,
                              ": '%s' is %" PRId64 " columns of this file, but its shape has "
                              "%" PRId64 " values", m->column->spec, values, m->column->num_values);
}

/* ---- The layout ------------------------------------------------------------------------------ */

static pfd_status count_fields(maker *m, pfd_error *err)
{
    pfd_csv_layout *layout = m->layout;
    int64_t at = 0;
    for (;;) {
        pfd_csv_field field;
        int32_t found = pfd_csv_next_field(m->format, layout->first_row, layout->first_row_size,
                                           &at, &field);
        layout->num_fields++;
        if (found == PFD_CSV_LAST_FIELD) return PFD_OK;
        if (found == PFD_CSV_FIELD) continue;
        return m->host->fail_file(err, m->file, m->offset + at, PFD_CORRUPT_DATA,
                                  "the quotes of the %s, which sets the number of fields of a row, "
                                  "do not match; a quoted field ends with a quote before a "
                                  "delimiter (with multiline=True also on a later line), and "
                                  "quote='' reads quotes as text",
                                  layout->has_header ? "header" : "first row");
    }
}

/* At least as many as the keys of all columns: a '|' separates two keys, or is in a quoted name. */
static size_t count_keys(const pfd_csv_table *table)
{
    size_t keys = 1;
    for (int64_t i = 0; i < table->num_columns; i++, keys++)
        for (int64_t k = 0; k < table->columns[i].key_size; k++)
            keys += table->columns[i].key[k] == '|';
    return keys;
}

static pfd_status fill(maker *m, const pfd_csv_table *table, const uint8_t *row, int64_t size,
                       pfd_error *err)
{
    pfd_csv_layout *layout = m->layout;
    size_t num_columns = (size_t)table->num_columns;
    layout->first_row = malloc((size_t)size + 1);
    layout->run_bounds = calloc(num_columns + 1, sizeof *layout->run_bounds);
    layout->runs = calloc(count_keys(table), sizeof *layout->runs);
    if (!layout->first_row || !layout->run_bounds || !layout->runs)
        return m->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for a header");
    memcpy(layout->first_row, row, (size_t)size);
    layout->first_row_size = size;
    pfd_status status = count_fields(m, err);
    for (size_t i = 0; i < num_columns && status == PFD_OK; i++) {
        m->column = &table->columns[i];
        status = find_column(m, err);
        if (status == PFD_INVALID_ARGUMENT) err->byte = m->offset; /* of the header */
        layout->run_bounds[i + 1] = m->num_runs;
    }
    return status;
}

pfd_status pfd_csv_layout_make(const pfd_host *host, const pfd_file *file, int64_t offset,
                               const pfd_csv_table *table, int32_t has_header, const uint8_t *row,
                               int64_t size, pfd_csv_layout **out, pfd_error *err)
{
    *out = NULL;
    maker m = {.host = host, .file = file, .offset = offset, .format = &table->format};
    m.layout = calloc(1, sizeof *m.layout);
    if (!m.layout) return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for a header");
    m.layout->has_header = has_header;
    pfd_status status = fill(&m, table, row, size, err);
    free(m.names);
    free(m.texts);
    if (status == PFD_OK)
        *out = m.layout;
    else
        pfd_csv_layout_free(m.layout);
    return status;
}

void pfd_csv_layout_free(pfd_csv_layout *layout)
{
    if (!layout) return;
    free(layout->first_row);
    free(layout->runs);
    free(layout->run_bounds);
    free(layout);
}

/* ---- Rows: split into fields, of which the selected ones are parsed -------------------------- */

/* One record, and the memory to split it into fields. */
typedef struct row {
    const pfd_csv_table *table;
    const pfd_compute_args *args;
    const pfd_csv_layout *layout;
    const uint8_t *text;
    int64_t size, number;  /* bytes; its number in the range */
    int64_t num_fields;    /* found in this record: at most those of the layout */
    uint32_t *ends;        /* of the fields of a record without quotes */
    pfd_csv_field *fields; /* of a record with quotes; else NULL */
    pfd_csv_field *room;   /* for `fields`; NULL: no record had quotes so far */
    int64_t *joined; /* per column, how many from it on are parsed together; 0: it alone */
    pfd_csv_split_fn split;
    pfd_csv_doubles_fn doubles;
} row;

/* Where a field begins in a record without quotes. */
static int64_t begin_of(const row *r, int64_t i)
{
    return i > 0 ? (int64_t)r->ends[i - 1] + 1 : 0;
}

static pfd_csv_field field_of(const row *r, int64_t i)
{
    if (r->fields) return r->fields[i];
    return (pfd_csv_field){.begin = begin_of(r, i), .end = r->ends[i]};
}

static const char *name_of(const row *r, int64_t field, char *out, size_t capacity)
{
    return csv_layout_name(r->layout, &r->table->format, field, out, capacity);
}

/* The size of the name of a column in the header, so that the name alone is its key; 0: the header
 * does not have it. A name that outputs cannot have got underscores. */
static int64_t size_in_header(const row *r, const pfd_csv_column *column, int64_t field)
{
    uint8_t name[256];
    int64_t at = 0;
    pfd_csv_field found = {0};
    if (!r->layout->has_header || field < 0 || field >= r->layout->num_fields) return 0;
    for (int64_t i = 0; i <= field; i++)
        (void)pfd_csv_next_field(&r->table->format, r->layout->first_row,
                                 r->layout->first_row_size, &at, &found);
    int64_t size = field_name(r->layout, &r->table->format, &found, name, sizeof name);
    if (size < 1 || size > column->name_size || memcmp(name, column->name, (size_t)size) != 0)
        return 0;
    for (int64_t i = size; i < column->name_size; i++)
        if (column->name[i] != '_') return 0;
    return size;
}

static pfd_status fail_missing(const row *r, const pfd_csv_column *column, int64_t field,
                               int64_t byte, const char *found, pfd_error *err)
{
    char name[512], or_nan[600] = "";
    int64_t in_header = size_in_header(r, column, field);
    const char *key = in_header ? column->name : column->spec; /* a spec begins with NAME=KEY */
    int64_t size = in_header ? in_header : column->key + column->key_size - column->spec;
    int32_t is_float = pfd_dtype_is_float(column->type.dtype);
    const char *dtype = column->is_bytes ? "bytes" : pfd_dtype_name(column->type.dtype);
    const char *value = column->is_bytes ? "none" : is_float ? "nan" : "0";
    if (!column->is_bytes && !is_float && column->type.dtype != PFD_BOOL)
        (void)snprintf(or_nan, sizeof or_nan, ", or '%.*s:float64=nan'",
                       (int)(size < 500 ? size : 500), key);
    return r->args->host->fail_row(
        err, r->number, byte, PFD_CORRUPT_DATA,
        "%s: expected %s for %s, found %s; write '%.*s:%s=%s', which puts %s there%s",
        name_of(r, field, name, sizeof name), pfd_csv_value_kind(column->type.dtype), dtype, found,
        (int)size, key, dtype, value, value, or_nan);
}

/* Reports a cell that does not fit the type of its column, which the attr `columns` states. */
static pfd_status fail_value(const row *r, const pfd_csv_column *column, int64_t field,
                             const pfd_csv_field *at, int32_t found, pfd_error *err)
{
    char name[512], text[256];
    const char *dtype = pfd_dtype_name(column->type.dtype);
    const char *shown =
        pfd_quote_bytes(r->text + at->begin, at->end - at->begin, text, sizeof text);
    if (found == PFD_OUT_OF_RANGE) {
        (void)r->args->host->fail_row(err, r->number, at->begin, PFD_CORRUPT_DATA,
                                      "%s: %s is out of the range of %s, its type",
                                      name_of(r, field, name, sizeof name), shown, dtype);
        return pfd_error_set_attr(err, "columns");
    }
    double number;
    int64_t size = at->end - at->begin;
    int32_t is_number =
        r->args->host->parse_double((const char *)r->text + at->begin, size, &number) == size &&
        size > 0;
    const char *hint = is_number ? "; float64 is the type of such numbers, as in 'name:float64'"
                       : r->layout->has_header
                           ? "; the type of a text column is bytes, as in 'name:bytes'"
                           : "; if the first line of the file is a header, set header='yes'";
    (void)r->args->host->fail_row(
        err, r->number, at->begin, PFD_CORRUPT_DATA, "%s: expected %s for %s, found %s%s",
        name_of(r, field, name, sizeof name), pfd_csv_value_kind(column->type.dtype), dtype, shown,
        hint);
    return pfd_error_set_attr(err, "columns");
}

static pfd_status fail_width(const row *r, int64_t found, int64_t byte, pfd_error *err)
{
    char name[512];
    int64_t expected = r->layout->num_fields;
    const char *whose = r->layout->has_header ? "the header" : "the first row of the file";
    if (found > expected)
        return r->args->host->fail_row(err, r->number, byte, PFD_CORRUPT_DATA,
                                       "found more fields than the %" PRId64 " of %s; "
                                       "uneven_rows='allow' ignores the rest",
                                       expected, whose);
    return r->args->host->fail_row(err, r->number, byte, PFD_CORRUPT_DATA,
                                   "found %" PRId64 " fields, expected %" PRId64
                                   ", as many as %s has: %s is the first that is missing; "
                                   "uneven_rows='allow' reads it as a missing value",
                                   found, expected, whose, name_of(r, found, name, sizeof name));
}

static pfd_status fail_quote(const row *r, int64_t field, int64_t begin, int64_t at, int32_t found,
                             pfd_error *err)
{
    char name[512], text[256];
    const pfd_host *host = r->args->host;
    (void)name_of(r, field, name, sizeof name);
    if (found == PFD_CSV_NOT_CLOSED)
        return host->fail_row(
            err, r->number, begin, PFD_CORRUPT_DATA,
            "%s: a quoted field is not closed at the end of the %s; %s", name,
            r->table->format.multiline ? "record" : "line",
            r->table->format.multiline
                ? "quote='' reads quotes as text"
                : "multiline=True reads fields that continue on the next line, and quote='' reads "
                  "quotes as text");
    if (found == PFD_CSV_STRAY_QUOTE)
        return host->fail_row(
            err, r->number, at, PFD_CORRUPT_DATA,
            "%s: a quote inside a field that does not begin with one; %squote='' reads quotes as "
            "text",
            name,
            r->table->format.multiline
                ? ""
                : "if the field began on an earlier line, multiline=True reads it, and ");
    return host->fail_row(err, r->number, at, PFD_CORRUPT_DATA,
                          "%s: found %s after the quote that ends the field, expected a "
                          "delimiter; inside a quoted field two quotes mean one",
                          name, pfd_quote_bytes(r->text + at, 1, text, sizeof text));
}

static pfd_status split_quoted(row *r, pfd_error *err)
{
    int64_t at = 0, most = r->layout->num_fields;
    pfd_csv_field field;
    if (!r->room) {
        int64_t bytes = r->table->most_fields * (int64_t)sizeof *r->room;
        r->room = r->args->host->alloc(r->args->scratch, bytes);
        if (!r->room) return r->args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for fields");
    }
    r->fields = r->room;
    for (r->num_fields = 0;;) {
        int64_t begin = at;
        int32_t found = pfd_csv_next_field(&r->table->format, r->text, r->size, &at, &field);
        if (found > PFD_CSV_LAST_FIELD) return fail_quote(r, r->num_fields, begin, at, found, err);
        if (r->num_fields == most) {
            if (!r->table->allow_uneven) return fail_width(r, most + 1, begin, err);
        } else {
            r->fields[r->num_fields++] = field;
        }
        if (found == PFD_CSV_LAST_FIELD) break;
    }
    if (r->num_fields < most && !r->table->allow_uneven)
        return fail_width(r, r->num_fields, r->size, err);
    return PFD_OK;
}

static pfd_status split_row(row *r, pfd_error *err)
{
    int64_t most = r->layout->num_fields;
    int32_t has_quote;
    r->fields = NULL;
    if (r->size > INT32_MAX)
        return r->args->host->fail_row(err, r->number, -1, PFD_CORRUPT_DATA,
                                       "the row has %" PRId64 " bytes; a row can have at most "
                                       "2147483647",
                                       r->size);
    int64_t found = r->split(r->text, r->size, r->table->format.delimiter, r->table->format.quote,
                             most, r->ends, &has_quote);
    if (has_quote) return split_quoted(r, err);
    r->num_fields = found < most ? found + 1 : most;
    if (found == most && !r->table->allow_uneven)
        return fail_width(r, most + 1, (int64_t)r->ends[most - 1] + 1, err);
    if (found < most) r->ends[found] = (uint32_t)r->size;
    if (r->num_fields < most && !r->table->allow_uneven)
        return fail_width(r, r->num_fields, r->size, err);
    return PFD_OK;
}

/* ---- Strict numbers -------------------------------------------------------------------------- */

/* The types that a cell must not have in a column of this dtype. */
static uint32_t refused_types(int32_t dtype)
{
    enum { no_integer = PFD_CSV_TEXT | PFD_CSV_FLOAT | PFD_CSV_BEYOND };
    switch (dtype) {
    case PFD_BOOL:
        return 0;
    case PFD_FLOAT32:
    case PFD_FLOAT64:
        return PFD_CSV_TEXT | PFD_CSV_UNSIGNED | PFD_CSV_BEYOND | PFD_CSV_INEXACT |
               PFD_CSV_INFINITE;
    case PFD_UINT8:
    case PFD_UINT16:
    case PFD_UINT32:
    case PFD_UINT64:
        return no_integer | PFD_CSV_NEGATIVE;
    default:
        return no_integer | PFD_CSV_UNSIGNED;
    }
}

/* Whether check_number() would accept a number in a column of any dtype: it does not begin with a
 * needless zero or with a plus, and if it is an integer, all dtypes hold it. */
static inline int32_t is_usual(const uint8_t *cell, int64_t size)
{
    int64_t sign = *cell == '-'; /* numbers are random: no branches */
    uint8_t first = cell[sign], second = cell[sign + (size > sign + 1)];
    int32_t is_plain =
        (size == 1) | ((uint8_t)(first - '1') <= 8) | ((first == '0') & (second == '.'));
    return (is_plain & (size <= 15)) ? 1 : is_plain && memchr(cell, '.', (size_t)size) != NULL;
}

static pfd_status check_number(const row *r, const pfd_csv_column *column, int64_t field,
                               const pfd_csv_field *at, pfd_error *err)
{
    const pfd_bytes cell = {r->text + at->begin, at->end - at->begin};
    if (!(pfd_csv_cell_type(cell) & refused_types(column->type.dtype))) return PFD_OK;
    char name[512], text[256];
    return r->args->host->fail_row(
        err, r->number, at->begin, PFD_CORRUPT_DATA,
        "%s: %s is a number that '%s' (%s) does not keep as written; strict_numbers=False reads "
        "it, and the type bytes keeps the text",
        name_of(r, field, name, sizeof name),
        pfd_quote_bytes(cell.data, cell.size, text, sizeof text), column->spec,
        pfd_dtype_name(column->type.dtype));
}

/* Checks neighbouring fields that are plain numbers, in a record without quotes. */
static inline pfd_status check_plain(const row *r, const pfd_csv_column *column, int64_t first,
                                     int64_t n, pfd_error *err)
{
    int64_t begin = begin_of(r, first);
    for (int64_t i = first; i < first + n; i++) {
        const pfd_csv_field field = {.begin = begin, .end = r->ends[i]};
        if (!is_usual(r->text + begin, field.end - begin))
            PFD_TRY(check_number(r, column, i, &field, err));
        begin = field.end + 1;
    }
    return PFD_OK;
}

/* ---- Values ---------------------------------------------------------------------------------- */

static int32_t is_missing(const row *r, const pfd_csv_field *field)
{
    const pfd_bytes cell = {r->text + field->begin, field->end - field->begin};
    return cell.size == 0 || pfd_csv_is_one_of(&r->table->missing, cell);
}

/* Sets value i of a column from the field `number`. Handles every text, and reports failures. */
static pfd_status set_value(const row *r, int64_t column, int64_t i, int64_t number, uint8_t *out,
                            pfd_error *err)
{
    const pfd_csv_column *about = &r->table->columns[column];
    const uint8_t *defaults = r->table->defaults[column];
    size_t item = (size_t)pfd_dtype_size(about->type.dtype);
    int32_t is_there = number < r->num_fields;
    pfd_csv_field field = {0};
    if (is_there) {
        field = field_of(r, number);
        pfd_bytes cell = {r->text + field.begin, field.end - field.begin};
        cell = pfd_csv_stripped(cell);
        field.begin = cell.data - r->text;
        field.end = field.begin + cell.size;
    }
    if (defaults && is_missing(r, &field)) {
        memcpy(out, defaults + (size_t)i * item, item);
        return PFD_OK;
    }
    if (!is_there)
        return fail_missing(r, about, number, r->size, "the end of a row that is too short", err);
    int32_t found =
        pfd_csv_value(about->type.dtype, r->text + field.begin, field.end - field.begin, out);
    if (found == PFD_PARSED)
        return r->table->is_strict ? check_number(r, about, number, &field, err) : PFD_OK;
    if (field.begin == field.end)
        return fail_missing(r, about, number, field.begin, "an empty field", err);
    if (!is_missing(r, &field)) return fail_value(r, about, number, &field, found, err);
    char text[256];
    return fail_missing(
        r, about, number, field.begin,
        pfd_quote_bytes(r->text + field.begin, field.end - field.begin, text, sizeof text), err);
}

/* Sets values from neighbouring fields as long as these are plain numbers. Returns how many. */
static int64_t set_plain(const row *r, int32_t dtype, int64_t first, int64_t n, uint8_t *out)
{
    enum { at_once = 64 };
    int64_t begin = begin_of(r, first);
    double values[at_once];
    if (dtype == PFD_BOOL) return 0;
    if (!pfd_dtype_is_float(dtype))
        return pfd_csv_integers(dtype, r->text, begin, r->ends + first, n, out);
    if (dtype == PFD_FLOAT64)
        return r->doubles(r->text, r->size, begin, r->ends + first, n, (double *)(void *)out);
    float *narrow = (void *)out;
    for (int64_t done = 0; done < n;) {
        int64_t some = n - done < at_once ? n - done : at_once;
        int64_t got = r->doubles(r->text, r->size, begin, r->ends + first + done, some, values);
        for (int64_t i = 0; i < got; i++) narrow[done + i] = (float)values[i];
        done += got;
        if (got < some) return done;
        begin = (int64_t)r->ends[first + done - 1] + 1;
    }
    return n;
}

static pfd_status set_run(const row *r, int64_t column, int64_t i, const pfd_csv_run *run,
                          uint8_t *out, pfd_error *err)
{
    int32_t dtype = r->table->columns[column].type.dtype;
    int64_t item = pfd_dtype_size(dtype), there = r->num_fields - run->first;
    if (there > run->count) there = run->count;
    for (int64_t k = 0; k < run->count; k++) {
        if (!r->fields && k < there) {
            int64_t n = set_plain(r, dtype, run->first + k, there - k, out + (i + k) * item);
            if (r->table->is_strict)
                PFD_TRY(check_plain(r, &r->table->columns[column], run->first + k, n, err));
            k += n;
        }
        if (k == run->count) break;
        PFD_TRY(set_value(r, column, i + k, run->first + k, out + (i + k) * item, err));
    }
    return PFD_OK;
}

static pfd_status set_bytes(const row *r, int64_t column, int64_t number, pfd_ragged_row *out,
                            pfd_error *err)
{
    const pfd_csv_column *about = &r->table->columns[column];
    const pfd_ragged_row filled = {.data = about->default_text,
                                   .num_elements = about->default_size};
    if (number >= r->num_fields) {
        if (!about->default_text)
            return fail_missing(r, about, number, r->size, "the end of a row that is too short",
                                err);
        *out = filled;
        return PFD_OK;
    }
    pfd_csv_field field = field_of(r, number);
    *out = (pfd_ragged_row){.data = r->text + field.begin, .num_elements = field.end - field.begin};
    if (about->default_text && !field.is_quoted && is_missing(r, &field)) {
        *out = filled;
    } else if (field.has_escapes) {
        uint8_t *copy = r->args->host->alloc(r->args->scratch, field.end - field.begin);
        if (!copy) return r->args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for a field");
        out->num_elements = csv_unescape(&r->table->format, r->text, &field, copy);
        out->data = copy;
    }
    return PFD_OK;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static pfd_status set_column(const row *r, int64_t column, pfd_error *err)
{
    const pfd_tensor *out = r->args->outputs[column];
    const int64_t *bounds = r->layout->run_bounds + column;
    const pfd_csv_run *runs = r->layout->runs;
    if (r->table->columns[column].is_bytes)
        return set_bytes(r, column, runs[bounds[0]].first, &out->rows[r->number], err);
    uint8_t *to = out->data + r->number * out->row_bytes;
    for (int64_t k = bounds[0], i = 0; k < bounds[1]; i += runs[k++].count)
        PFD_TRY(set_run(r, column, i, &runs[k], to, err));
    return PFD_OK;
}

/* ---- Columns that lie side by side ----------------------------------------------------------- */

enum { MOST_JOINED = 64 };

/* Whether a column is one number, of a type whose neighbours are parsed together. */
static int32_t is_number(const row *r, int64_t column)
{
    const int64_t *bounds = r->layout->run_bounds + column;
    return !r->table->columns[column].is_bytes && bounds[1] == bounds[0] + 1 &&
           r->layout->runs[bounds[0]].count == 1;
}

static int64_t field_of_column(const row *r, int64_t column)
{
    return r->layout->runs[r->layout->run_bounds[column]].first;
}

/* Finds how many columns from each one on are numbers of one type in neighbouring fields. */
static void find_joined(row *r)
{
    const pfd_csv_column *columns = r->table->columns;
    for (int64_t k = r->table->num_columns - 1; k >= 0; k--) {
        int32_t goes_on = k + 1 < r->table->num_columns && is_number(r, k) && r->joined[k + 1] &&
                          columns[k].type.dtype == columns[k + 1].type.dtype &&
                          field_of_column(r, k) + 1 == field_of_column(r, k + 1);
        r->joined[k] = is_number(r, k) ? 1 + (goes_on ? r->joined[k + 1] : 0) : 0;
    }
}

/* Copies values that were parsed together, each to its column. */
static void spread(const row *r, int64_t column, int64_t n, int64_t item, const uint8_t *values)
{
    pfd_tensor *const *outputs = r->args->outputs + column;
    int64_t at = r->number * item;
    for (int64_t i = 0; i < n && item == 8; i++) memcpy(outputs[i]->data + at, values + 8 * i, 8);
    for (int64_t i = 0; i < n && item == 4; i++) memcpy(outputs[i]->data + at, values + 4 * i, 4);
    for (int64_t i = 0; i < n && item < 4; i++)
        memcpy(outputs[i]->data + at, values + item * i, (size_t)item);
}

/* How many of n neighbouring fields check_number() need not look at. */
static int64_t count_usual(const row *r, int64_t first, int64_t n)
{
    int64_t begin = begin_of(r, first), i = 0;
    for (; i < n && is_usual(r->text + begin, r->ends[first + i] - begin); i++)
        begin = (int64_t)r->ends[first + i] + 1;
    return i;
}

/* Sets columns from `column` on, which are joined, as long as their fields are plain numbers.
 * Returns how many. */
static inline int64_t set_joined(const row *r, int64_t column)
{
    double values[MOST_JOINED]; /* the largest item */
    int32_t dtype = r->table->columns[column].type.dtype;
    int64_t n = r->joined[column], first = field_of_column(r, column);
    if (n > MOST_JOINED) n = MOST_JOINED;
    if (first + n > r->num_fields) return 0;
    n = set_plain(r, dtype, first, n, (uint8_t *)values);
    if (r->table->is_strict) n = count_usual(r, first, n);
    spread(r, column, n, pfd_dtype_size(dtype), (const uint8_t *)values);
    return n;
}

/* Sets the columns whose cells in this row are left, which is a bit of `left`; NULL: all are. */
static pfd_status set_columns(const row *r, const uint64_t *left, uint64_t bit, pfd_error *err)
{
    for (int64_t k = 0; k < r->table->num_columns; k++) {
        if (left && !(left[k] & bit)) continue;
        if (!r->fields && r->joined[k] > 1) {
            k += set_joined(r, k);
            if (k == r->table->num_columns) break;
        }
        PFD_TRY(set_column(r, k, err));
    }
    return PFD_OK;
}

/* ---- Blocks of rows -------------------------------------------------------------------------- */

/* Most columns of a table are read one after the other for a block of rows: what a column asks for
 * is then done again and again, and rows do not wait for each other.  What is not plain is left for
 * a second pass, row by row, which alone reports failures: so the first one is that of the first
 * row.  Columns of several values are left as well, as their fields are side by side in a row. */

enum { BLOCK_ROWS = 64, BLOCK_PLACES = 2048 }; /* few enough that its texts stay in the cache */

typedef struct block {
    int64_t first, count, places; /* its rows in the range; the ends that a row has room for */
    uint32_t *ends;               /* of the fields of all its rows */
    uint64_t odd;    /* a bit for each row that has quotes, or more or fewer fields than others */
    uint64_t *left;  /* for each column, a bit for each row whose cell is left */
} block;

static void go_to(row *r, const block *b, int64_t i)
{
    const pfd_record *record = &r->args->records[b->first + i];
    r->text = record->data;
    r->size = record->size;
    r->number = b->first + i;
    r->ends = b->ends + i * b->places;
}

static void split_block(row *r, block *b)
{
    int64_t most = r->layout->num_fields;
    b->odd = 0;
    for (int64_t i = 0; i < b->count; i++) {
        int32_t has_quote = 1;
        go_to(r, b, i);
        int64_t found = r->size > INT32_MAX ? 0
                        : r->split(r->text, r->size, r->table->format.delimiter,
                                   r->table->format.quote, most, r->ends, &has_quote);
        r->ends[most - 1] = (uint32_t)r->size;
        b->odd |= (uint64_t)(has_quote || found != most - 1) << i;
    }
    r->num_fields = most;
    r->fields = NULL;
}

static void set_block_bytes(row *r, const block *b, int64_t column)
{
    const pfd_csv_column *about = &r->table->columns[column];
    pfd_ragged_row *out = r->args->outputs[column]->rows + b->first;
    int64_t number = field_of_column(r, column);
    for (int64_t i = 0; i < b->count; i++) {
        if (b->odd >> i & 1) continue;
        go_to(r, b, i);
        const pfd_csv_field field = field_of(r, number);
        out[i] = (pfd_ragged_row){.data = r->text + field.begin,
                                  .num_elements = field.end - field.begin};
        if (about->default_text && is_missing(r, &field)) b->left[column] |= UINT64_C(1) << i;
    }
}

static void set_block_numbers(row *r, const block *b, int64_t column, int64_t n)
{
    for (int64_t i = 0; i < b->count; i++) {
        if (b->odd >> i & 1) continue;
        go_to(r, b, i);
        for (int64_t k = column + set_joined(r, column); k < column + n; k++)
            b->left[k] |= UINT64_C(1) << i;
    }
}

static pfd_status set_left(row *r, const block *b, pfd_error *err)
{
    uint64_t rows = b->odd;
    for (int64_t k = 0; k < r->table->num_columns; k++) rows |= b->left[k];
    for (; rows; rows &= rows - 1) {
        uint64_t bit = rows & -rows;
        int32_t is_odd = (b->odd & bit) != 0;
        go_to(r, b, __builtin_ctzll(rows));
        r->num_fields = r->layout->num_fields;
        r->fields = NULL;
        if (is_odd) PFD_TRY(split_row(r, err));
        PFD_TRY(set_columns(r, is_odd ? NULL : b->left, bit, err));
    }
    return PFD_OK;
}

static pfd_status set_block(row *r, block *b, pfd_error *err)
{
    const uint64_t all = ~UINT64_C(0) >> (BLOCK_ROWS - b->count);
    split_block(r, b);
    for (int64_t k = 0, n; k < r->table->num_columns; k += n) {
        n = r->joined[k] > 0 ? r->joined[k] : 1;
        if (n > MOST_JOINED) n = MOST_JOINED;
        for (int64_t i = k; i < k + n; i++) b->left[i] = 0;
        if (r->table->columns[k].is_bytes)
            set_block_bytes(r, b, k);
        else if (r->joined[k] > 0)
            set_block_numbers(r, b, k, n);
        else
            b->left[k] = all & ~b->odd;
    }
    return set_left(r, b, err);
}

/* How many rows from `first` on, at most `most`, are of files that have the same layout. */
static int64_t count_alike(const pfd_csv_table *table, const pfd_compute_args *args, int64_t first,
                           int64_t most)
{
    int64_t n = 1, end = args->num_rows - first;
    const pfd_csv_layout *layout = table->layouts[args->records[first].file];
    if (most > end) most = end;
    while (n < most && table->layouts[args->records[first + n].file] == layout) n++;
    return n;
}

pfd_status pfd_csv_compute(const pfd_csv_table *table, const pfd_compute_args *args, pfd_error *err)
{
    int64_t places = table->most_fields + PFD_CSV_SPLIT_SLACK + 1, columns = table->num_columns;
    int64_t rows = BLOCK_PLACES / places;
    rows = rows < 1 ? 1 : rows > BLOCK_ROWS ? BLOCK_ROWS : rows;
    row r = {.table = table,
             .args = args,
             .split = pfd_csv_split_at(pfd_simd_level()),
             .joined = args->host->alloc(args->scratch, columns * (int64_t)sizeof *r.joined),
             .doubles = pfd_csv_doubles_at(pfd_simd_level())};
    block b = {.places = places,
               .ends = args->host->alloc(args->scratch, rows * places * (int64_t)sizeof *b.ends),
               .left = args->host->alloc(args->scratch, columns * (int64_t)sizeof *b.left)};
    if (!r.joined || !b.ends || !b.left)
        return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for fields");
    for (; b.first < args->num_rows; b.first += b.count) {
        const pfd_csv_layout *layout = table->layouts[args->records[b.first].file];
        if (!layout)
            return args->host->fail_row(err, b.first, -1, PFD_IO,
                                        "the file changed: it had no rows when it was opened");
        b.count = count_alike(table, args, b.first, rows);
        int32_t is_new = layout != r.layout;
        r.layout = layout;
        if (is_new) find_joined(&r);
        PFD_TRY(set_block(&r, &b, err));
    }
    return PFD_OK;
}
