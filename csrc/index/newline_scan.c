/* Finds lines with bit masks of 64 bytes and the widest vectors of the processor. */
#include "core/bytes.h"
#include "core/cpu.h"
#include "index/newline_scan.h"

#include <stddef.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { block_size = 64 };

typedef struct block_masks {
    uint64_t newlines, content, returns; /* bit i: byte i of the block */
} block_masks;

typedef block_masks (*masks_fn)(const uint8_t *block);
typedef int64_t (*nth_fn)(uint64_t bits, int64_t n); /* the place of set bit n, 0 the lowest */

/* ---- The reference: byte by byte ------------------------------------------------------------- */
static int is_content(uint8_t byte)
{
    return byte != ' ' && byte != '\t' && byte != '\r' && byte != '\n';
}

static int64_t skip_plain(const uint8_t *text, int64_t size, int64_t *records)
{
    int content = 0;
    if (*records <= 0) return 0;
    for (int64_t i = 0; i < size; i++) {
        if (text[i] != '\n') {
            content |= is_content(text[i]);
            continue;
        }
        *records -= content;
        content = 0;
        if (*records == 0) return i + 1;
    }
    *records -= content;
    return size;
}

static int64_t count_plain(const uint8_t *text, int64_t size)
{
    int64_t n = 0;
    for (int64_t i = 0; i < size; i++) n += text[i] == '\n';
    return n;
}

static int64_t count_records_plain(const uint8_t *text, int64_t size, uint64_t *content)
{
    int64_t n = 0;
    for (int64_t i = 0; i < size; i++) {
        if (text[i] != '\n') {
            *content |= (uint64_t)is_content(text[i]);
            continue;
        }
        n += (int64_t)*content;
        *content = 0;
    }
    return n;
}

static int64_t mark_plain(const uint8_t *text, int64_t size, pfd_line_marker *marker,
                          uint32_t *marks)
{
    int64_t n = 0;
    for (int64_t i = 0; i < size; i++) {
        if (text[i] != '\n') {
            marker->content |= (uint64_t)is_content(text[i]);
            marker->returns |= text[i] == '\r';
            continue;
        }
        if (marker->content)
            marks[n++] = (uint32_t)(i + 1);
        else
            marker->blank_lines++;
        marker->content = 0;
    }
    return n;
}

static int64_t split_plain(const uint8_t *text, int64_t size, int64_t most, uint32_t *newlines)
{
    int64_t n = 0;
    for (int64_t i = 0; i < size && n < most; i++)
        if (text[i] == '\n') newlines[n++] = (uint32_t)i;
    return n;
}

/* ---- The same on masks ----------------------------------------------------------------------- */

/* The end of a text, padded with blanks to a whole block. */
PFD_INLINE const uint8_t *last_block(uint8_t buffer[block_size], const uint8_t *text, int64_t size)
{
    memset(buffer, ' ', block_size);
    memcpy(buffer, text, (size_t)size);
    return buffer;
}

/* Finds the newlines that end a record.  In the sum, each content byte makes a carry.  It runs
 * through the rest of its line, where all bits are 1, and sets the bit of the newline, which is
 * 0. */
PFD_INLINE uint64_t record_ends(block_masks masks, uint64_t *carry)
{
    uint64_t line = ~masks.newlines;
    uint64_t sum, total;
    uint64_t overflow = __builtin_add_overflow(line, masks.content, &sum);
    overflow |= __builtin_add_overflow(sum, *carry, &total);
    *carry = overflow;
    return total & masks.newlines;
}

PFD_INLINE int64_t skip_by_masks(masks_fn masks_of, nth_fn nth, const uint8_t *text, int64_t size,
                                 int64_t *records)
{
    uint8_t buffer[block_size];
    int64_t left = *records;
    uint64_t carry = 0; /* 1: the current line has content */
    if (left <= 0) return 0;
    for (int64_t at = 0; at < size; at += block_size) {
        int whole = size - at >= block_size;
        const uint8_t *block = whole ? text + at : last_block(buffer, text + at, size - at);
        uint64_t ends = record_ends(masks_of(block), &carry);
        int64_t n = __builtin_popcountll(ends);
        if (n >= left) {
            *records = 0;
            return at + nth(ends, left - 1) + 1;
        }
        left -= n;
    }
    *records = left - (int64_t)carry;
    return size;
}

PFD_INLINE int64_t count_by_masks(masks_fn masks_of, const uint8_t *text, int64_t size)
{
    uint8_t buffer[block_size];
    int64_t n = 0;
    for (int64_t at = 0; at < size; at += block_size) {
        int whole = size - at >= block_size;
        const uint8_t *block = whole ? text + at : last_block(buffer, text + at, size - at);
        n += __builtin_popcountll(masks_of(block).newlines);
    }
    return n;
}

PFD_INLINE int64_t count_records_by_masks(masks_fn masks_of, const uint8_t *text, int64_t size,
                                          uint64_t *content)
{
    uint8_t buffer[block_size];
    uint64_t carry = *content;
    int64_t n = 0;
    for (int64_t at = 0; at < size; at += block_size) {
        int whole = size - at >= block_size;
        const uint8_t *block = whole ? text + at : last_block(buffer, text + at, size - at);
        n += __builtin_popcountll(record_ends(masks_of(block), &carry));
    }
    *content = carry;
    return n;
}

PFD_INLINE int64_t mark_by_masks(masks_fn masks_of, const uint8_t *text, int64_t size,
                                 pfd_line_marker *marker, uint32_t *marks)
{
    uint8_t buffer[block_size];
    int64_t blank_lines = marker->blank_lines, n = 0;
    uint64_t carry = marker->content, returns = 0;
    for (int64_t at = 0; at < size; at += block_size) {
        int whole = size - at >= block_size;
        const uint8_t *block = whole ? text + at : last_block(buffer, text + at, size - at);
        block_masks masks = masks_of(block);
        uint64_t ends = record_ends(masks, &carry);
        returns |= masks.returns;
        blank_lines += __builtin_popcountll(masks.newlines ^ ends);
        for (; ends; ends &= ends - 1) marks[n++] = (uint32_t)(at + __builtin_ctzll(ends) + 1);
    }
    *marker = (pfd_line_marker){carry, blank_lines, marker->returns | (returns != 0)};
    return n;
}

PFD_INLINE int64_t split_by_masks(masks_fn masks_of, const uint8_t *text, int64_t size,
                                  int64_t most, uint32_t *newlines)
{
    uint8_t buffer[block_size];
    int64_t n = 0;
    for (int64_t at = 0; at < size && n < most; at += block_size) {
        int whole = size - at >= block_size;
        const uint8_t *block = whole ? text + at : last_block(buffer, text + at, size - at);
        for (uint64_t bits = masks_of(block).newlines; bits; bits &= bits - 1)
            newlines[n++] = (uint32_t)(at + __builtin_ctzll(bits));
    }
    return n < most ? n : most;
}

/* The functions above for one way to make masks. */
#define COUNT_VARIANT(name, target, masks_of, nth)                                                 \
    target static int64_t skip_##name(const uint8_t *text, int64_t size, int64_t *records)         \
    {                                                                                              \
        return skip_by_masks(masks_of, nth, text, size, records);                                  \
    }                                                                                              \
    target static int64_t count_##name(const uint8_t *text, int64_t size)                          \
    {                                                                                              \
        return count_by_masks(masks_of, text, size);                                               \
    }                                                                                              \
    target static int64_t count_records_##name(const uint8_t *text, int64_t size,                  \
                                               uint64_t *content)                                  \
    {                                                                                              \
        return count_records_by_masks(masks_of, text, size, content);                              \
    }

#define LIST_VARIANT(name, target, masks_of)                                                       \
    target static int64_t mark_##name(const uint8_t *text, int64_t size, pfd_line_marker *marker,  \
                                      uint32_t *marks)                                             \
    {                                                                                              \
        return mark_by_masks(masks_of, text, size, marker, marks);                                 \
    }                                                                                              \
    target static int64_t split_##name(const uint8_t *text, int64_t size, int64_t most,            \
                                       uint32_t *newlines)                                         \
    {                                                                                              \
        return split_by_masks(masks_of, text, size, most, newlines);                               \
    }

PFD_INLINE int64_t nth_bit(uint64_t bits, int64_t n)
{
    while (n-- > 0) bits &= bits - 1;
    return __builtin_ctzll(bits);
}

/* ---- Any machine: eight bytes of a word at a time -------------------------------------------- */

/* Bit 7 of each byte that equals `byte`, exactly. */
PFD_INLINE uint64_t equal_bytes(uint64_t word, uint8_t byte)
{
    const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f);
    uint64_t differs = word ^ (UINT64_C(0x0101010101010101) * byte);
    return ~(((differs & low) + low) | differs | low);
}

/* Bit 7 of each byte, gathered into 8 bits. */
PFD_INLINE uint64_t gather(uint64_t tops)
{
    return ((tops >> 7) * UINT64_C(0x0102040810204080)) >> 56;
}

PFD_INLINE block_masks masks_words(const uint8_t *block)
{
    block_masks masks = {0, 0, 0};
    for (int i = 0; i < 8; i++) {
        uint64_t word = 0;
        for (int j = 0; j < 8; j++) word |= (uint64_t)block[8 * i + j] << (8 * j);
        uint64_t newline = equal_bytes(word, '\n');
        uint64_t carriage_return = equal_bytes(word, '\r');
        uint64_t other =
            newline | equal_bytes(word, ' ') | equal_bytes(word, '\t') | carriage_return;
        masks.returns |= gather(carriage_return) << (8 * i);
        masks.newlines |= gather(newline) << (8 * i);
        masks.content |= gather(other) << (8 * i);
    }
    masks.content = ~masks.content;
    return masks;
}

COUNT_VARIANT(words, , masks_words, nth_bit)
LIST_VARIANT(words, , masks_words)

#if defined(PFD_HAS_BYTES16)
/* ---- SSE2, NEON: every x86-64, every aarch64 ------------------------------------------------- */
PFD_INLINE block_masks masks_bytes16(const uint8_t *block)
{
    pfd_bytes16 newlines[4], returns[4], content[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        pfd_bytes16 bytes = pfd_load16(block + 16 * i);
        newlines[i] = (pfd_bytes16)(bytes == '\n');
        returns[i] = (pfd_bytes16)(bytes == '\r');
        content[i] = newlines[i] | returns[i] | (pfd_bytes16)(bytes == ' ') |
                     (pfd_bytes16)(bytes == '\t');
    }
    return (block_masks){.newlines = pfd_bits64(newlines),
                         .returns = pfd_bits64(returns),
                         .content = ~pfd_bits64(content)};
}

COUNT_VARIANT(bytes16, , masks_bytes16, nth_bit)
LIST_VARIANT(bytes16, , masks_bytes16)
#endif

#if defined(__x86_64__)
/* A table look-up by the low four bits of a byte tells whether it is content: for these bits the
 * table has the byte that is not content, or a value that never matches. */
#define OTHER_BYTES ' ', 0, 0, 0, 0, 0, 0, 0, 0, '\t', '\n', 0, 0, '\r', 0, 0

/* ---- AVX2 ------------------------------------------------------------------------------------ */
PFD_TARGET_AVX2 PFD_INLINE block_masks masks_avx2(const uint8_t *block)
{
    const __m256i table = _mm256_setr_epi8(OTHER_BYTES, OTHER_BYTES);
    block_masks masks = {0, 0, 0};
    for (int i = 0; i < 2; i++) {
        __m256i bytes = _mm256_loadu_si256((const void *)(block + 32 * i));
        __m256i newline = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('\n'));
        __m256i other = _mm256_cmpeq_epi8(bytes, _mm256_shuffle_epi8(table, bytes));
        __m256i carriage_return = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('\r'));
        masks.returns |= (uint64_t)(uint32_t)_mm256_movemask_epi8(carriage_return) << (32 * i);
        masks.newlines |= (uint64_t)(uint32_t)_mm256_movemask_epi8(newline) << (32 * i);
        masks.content |= (uint64_t)(uint32_t)_mm256_movemask_epi8(other) << (32 * i);
    }
    masks.content = ~masks.content;
    return masks;
}

PFD_TARGET_AVX2 PFD_INLINE int64_t nth_bit_bmi2(uint64_t bits, int64_t n)
{
    return (int64_t)_tzcnt_u64(_pdep_u64(UINT64_C(1) << n, bits));
}

COUNT_VARIANT(avx2, PFD_TARGET_AVX2, masks_avx2, nth_bit_bmi2)
LIST_VARIANT(avx2, PFD_TARGET_AVX2, masks_avx2)

#define PLACES(n)                                                                                  \
    n + 15, n + 14, n + 13, n + 12, n + 11, n + 10, n + 9, n + 8, n + 7, n + 6, n + 5, n + 4,      \
        n + 3, n + 2, n + 1, n

/* ---- AVX-512 --------------------------------------------------------------------------------- */
PFD_TARGET_AVX512 PFD_INLINE block_masks masks_avx512(const uint8_t *block)
{
    const __m512i table = _mm512_broadcast_i32x4(_mm_setr_epi8(OTHER_BYTES));
    __m512i bytes = _mm512_loadu_si512(block);
    block_masks masks = {
        .newlines = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('\n')),
        .returns = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('\r')),
        .content = _mm512_cmpneq_epi8_mask(bytes, _mm512_shuffle_epi8(table, bytes)),
    };
    return masks;
}

COUNT_VARIANT(avx512, PFD_TARGET_AVX512, masks_avx512, nth_bit_bmi2)

/* Writes base + the place of each set bit, sixteen at a time, so that branches seldom depend on how
 * many are set.  It may write up to 64 places. */
PFD_TARGET_AVX512 PFD_INLINE void write_places(uint64_t bits, int64_t base, uint32_t *out)
{
    const __m512i places = _mm512_set_epi8(PLACES(48), PLACES(32), PLACES(16), PLACES(0));
    __m512i found = _mm512_maskz_compress_epi8(bits, places);
    int64_t n = __builtin_popcountll(bits);
    do {
        __m512i some = _mm512_cvtepu8_epi32(_mm512_castsi512_si128(found));
        _mm512_storeu_si512(out, _mm512_add_epi32(some, _mm512_set1_epi32((int)base)));
        found = _mm512_alignr_epi64(found, found, 2); /* the next sixteen */
        out += 16;
        n -= 16;
    } while (n > 0);
}

PFD_TARGET_AVX512 static int64_t mark_avx512(const uint8_t *text, int64_t size,
                                             pfd_line_marker *marker, uint32_t *marks)
{
    uint8_t buffer[block_size];
    int64_t n = 0;
    for (int64_t at = 0; at < size; at += block_size) {
        int whole = size - at >= block_size;
        const uint8_t *block = whole ? text + at : last_block(buffer, text + at, size - at);
        block_masks masks = masks_avx512(block);
        uint64_t ends = record_ends(masks, &marker->content);
        marker->blank_lines += __builtin_popcountll(masks.newlines ^ ends);
        marker->returns |= masks.returns != 0;
        write_places(ends, at + 1, marks + n);
        n += __builtin_popcountll(ends);
    }
    return n;
}

PFD_TARGET_AVX512 static int64_t split_avx512(const uint8_t *text, int64_t size, int64_t most,
                                              uint32_t *newlines)
{
    int64_t n = 0;
    for (int64_t at = 0; at < size && n < most; at += block_size) {
        uint64_t inside = _bzhi_u64(UINT64_MAX, (unsigned)(size - at < 64 ? size - at : 64));
        __m512i bytes = _mm512_maskz_loadu_epi8(inside, text + at);
        uint64_t bits = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('\n'));
        write_places(bits, at, newlines + n);
        n += __builtin_popcountll(bits);
    }
    return n < most ? n : most;
}
#endif

#define SCAN(name)                                                                                 \
    {#name, skip_##name, count_##name, count_records_##name, mark_##name, split_##name}

static const pfd_newline_scan scans[] = {
    SCAN(plain), SCAN(words),
#if defined(PFD_HAS_BYTES16)
    SCAN(bytes16),
#endif
#if defined(__x86_64__)
    SCAN(avx2), SCAN(avx512),
#endif
};

/* The number of the last variant for a level; for the best level it is the last of all. */
static int32_t last_scan(int32_t simd_level)
{
    return (int32_t)(sizeof scans / sizeof scans[0]) - 1 - PFD_SIMD_MOST + simd_level;
}

const pfd_newline_scan *pfd_newline_scan_at(int32_t i)
{
    return i >= 0 && i <= last_scan(pfd_simd_of_cpu()) ? &scans[i] : NULL;
}

const pfd_newline_scan *pfd_newline_scan_best(void)
{
    return &scans[last_scan(pfd_simd_level())];
}
