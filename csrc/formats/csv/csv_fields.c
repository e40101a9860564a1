/* Finds records and fields byte by byte, delimiters by masks of 64 bytes, and numbers by vectors. */
#include "formats/csv/csv_fields.h"

#include "core/bytes.h"
#include "core/cpu.h"
#include "parse/number_pairs.h"
#include "parse/number_text.h"

#include <math.h>
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

int64_t pfd_csv_unescape(const pfd_csv_format *format, const uint8_t *text,
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

/* The loop of all variants. It reads nothing outside the text: the last block overlaps the one
 * before; if it is the only block, it is copied first. */
#define SPLIT(look)                                                                                \
    {                                                                                              \
        int64_t found = 0, at = 0;                                                                 \
        uint64_t quotes = 0;                                                                       \
        for (; at + block_bytes <= size; at += block_bytes) {                                      \
            masks m = look(text + at, delimiter, quote);                                           \
            quotes |= m.quotes;                                                                    \
            if (found < most) found += write_places(m.delimiters, at, ends + found);               \
        }                                                                                          \
        if (at < size) {                                                                           \
            uint8_t copy[block_bytes];                                                             \
            int64_t left = size - at, passed = block_bytes - left;                                 \
            const uint8_t *last = text + size - block_bytes;                                       \
            if (size < block_bytes) {                                                              \
                memset(copy, 0, (size_t)passed);                                                   \
                memcpy(copy + passed, text + at, (size_t)left);                                    \
                last = copy;                                                                       \
            }                                                                                      \
            masks m = look(last, delimiter, quote);                                                \
            quotes |= m.quotes >> passed;                                                          \
            if (found < most) found += write_places(m.delimiters >> passed, at, ends + found);     \
        }                                                                                          \
        *has_quote = quotes != 0 && quote != delimiter;                                            \
        return found < most ? found : most;                                                        \
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

static int64_t split_plain(const uint8_t *text, int64_t size, uint8_t delimiter, uint8_t quote,
                           int64_t most, uint32_t *ends, int32_t *has_quote)
{
    SPLIT(look_plain)
}

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

static int64_t split_neon(const uint8_t *text, int64_t size, uint8_t delimiter, uint8_t quote,
                          int64_t most, uint32_t *ends, int32_t *has_quote)
{
    SPLIT(look_neon)
}
#elif defined(__x86_64__)

PFD_TARGET_AVX2 PFD_INLINE masks look_avx2(const uint8_t *text, uint8_t delimiter, uint8_t quote)
{
    __m256i low = _mm256_loadu_si256((const void *)text);
    __m256i high = _mm256_loadu_si256((const void *)(text + 32));
    __m256i d = _mm256_set1_epi8((char)delimiter), q = _mm256_set1_epi8((char)quote);
    uint32_t d0 = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, d));
    uint32_t d1 = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, d));
    uint32_t q0 = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, q));
    uint32_t q1 = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, q));
    return (masks){d0 | (uint64_t)d1 << 32, q0 | (uint64_t)q1 << 32};
}

PFD_TARGET_AVX2 static int64_t split_avx2(const uint8_t *text, int64_t size, uint8_t delimiter,
                                          uint8_t quote, int64_t most, uint32_t *ends,
                                          int32_t *has_quote)
{
    SPLIT(look_avx2)
}

PFD_TARGET_AVX512 PFD_INLINE masks look_avx512(const uint8_t *text, uint8_t delimiter,
                                                uint8_t quote)
{
    __m512i bytes = _mm512_loadu_si512((const void *)text);
    return (masks){_mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8((char)delimiter)),
                   _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8((char)quote))};
}

PFD_TARGET_AVX512 static int64_t split_avx512(const uint8_t *text, int64_t size, uint8_t delimiter,
                                              uint8_t quote, int64_t most, uint32_t *ends,
                                              int32_t *has_quote)
{
    SPLIT(look_avx512)
}
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

pfd_csv_split_fn pfd_csv_split_best(void)
{
    return pfd_csv_split_at(pfd_simd_level());
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

/* ---- What is not the same on all processors -------------------------------------------------- */
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

/* ---- Numbers --------------------------------------------------------------------------------- */

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

/* Parses 1 to 16 bytes of digits with at most one point.  Returns 0 if the text is anything else.
 */
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

pfd_csv_doubles_fn pfd_csv_doubles_best(void)
{
    return pfd_csv_doubles_at(pfd_simd_level());
}
