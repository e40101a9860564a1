/* Counting lines by bit masks of 64 bytes, with the widest vectors at hand. */
#include "io/newline_scan.h"

#include <stddef.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define TARGET_AVX2 __attribute__((target("avx2,bmi,popcnt")))
#define TARGET_AVX512 __attribute__((target("avx512bw,bmi,popcnt")))
#endif

#define INLINE static inline __attribute__((always_inline))

enum { block_size = 64 };

typedef struct block_masks {
    uint64_t newlines, content; /* bit i: byte i of the block */
} block_masks;

typedef block_masks (*masks_fn)(const uint8_t *block);

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

/* ---- The same on masks ----------------------------------------------------------------------- */

/* What is left at the end of a text, made a whole block by blanks. */
INLINE const uint8_t *last_block(uint8_t buffer[block_size], const uint8_t *text, int64_t size)
{
    memset(buffer, ' ', block_size);
    memcpy(buffer, text, (size_t)size);
    return buffer;
}

/* The newlines that end a record.  In the sum, each content byte makes a carry that runs through
 * the rest of its line (where all bits are 1) and sets the bit of the newline (where none is). */
INLINE uint64_t record_ends(block_masks masks, uint64_t *carry)
{
    uint64_t line = ~masks.newlines;
    uint64_t sum, total;
    uint64_t overflow = __builtin_add_overflow(line, masks.content, &sum);
    overflow |= __builtin_add_overflow(sum, *carry, &total);
    *carry = overflow;
    return total & masks.newlines;
}

INLINE int64_t skip_by_masks(masks_fn masks_of, const uint8_t *text, int64_t size, int64_t *records)
{
    uint8_t buffer[block_size];
    int64_t left = *records;
    uint64_t carry = 0; /* 1: the line at hand has content */
    if (left <= 0) return 0;
    for (int64_t at = 0; at < size; at += block_size) {
        int whole = size - at >= block_size;
        const uint8_t *block = whole ? text + at : last_block(buffer, text + at, size - at);
        uint64_t ends = record_ends(masks_of(block), &carry);
        int64_t n = __builtin_popcountll(ends);
        if (n >= left) {
            while (--left > 0) ends &= ends - 1;
            *records = 0;
            return at + __builtin_ctzll(ends) + 1;
        }
        left -= n;
    }
    *records = left - (int64_t)carry;
    return size;
}

INLINE int64_t count_by_masks(masks_fn masks_of, const uint8_t *text, int64_t size)
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

/* ---- Any machine: eight bytes of a word at a time -------------------------------------------- */

/* Bit 7 of each byte that equals `byte`, exactly. */
INLINE uint64_t equal_bytes(uint64_t word, uint8_t byte)
{
    const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f);
    uint64_t differs = word ^ (UINT64_C(0x0101010101010101) * byte);
    return ~(((differs & low) + low) | differs | low);
}

/* Bit 7 of each byte, gathered into 8 bits. */
INLINE uint64_t gather(uint64_t tops)
{
    return ((tops >> 7) * UINT64_C(0x0102040810204080)) >> 56;
}

INLINE block_masks masks_words(const uint8_t *block)
{
    block_masks masks = {0, 0};
    for (int i = 0; i < 8; i++) {
        uint64_t word = 0;
        for (int j = 0; j < 8; j++) word |= (uint64_t)block[8 * i + j] << (8 * j);
        uint64_t newline = equal_bytes(word, '\n');
        uint64_t other = newline | equal_bytes(word, ' ') | equal_bytes(word, '\t') |
                         equal_bytes(word, '\r');
        masks.newlines |= gather(newline) << (8 * i);
        masks.content |= gather(other) << (8 * i);
    }
    masks.content = ~masks.content;
    return masks;
}

static int64_t skip_words(const uint8_t *text, int64_t size, int64_t *records)
{
    return skip_by_masks(masks_words, text, size, records);
}

static int64_t count_words(const uint8_t *text, int64_t size)
{
    return count_by_masks(masks_words, text, size);
}

#if defined(__x86_64__)
/* ---- SSE2: every x86-64 ---------------------------------------------------------------------- */
INLINE block_masks masks_sse2(const uint8_t *block)
{
    block_masks masks = {0, 0};
    for (int i = 0; i < 4; i++) {
        __m128i bytes = _mm_loadu_si128((const void *)(block + 16 * i));
        __m128i newline = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\n'));
        __m128i space = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(' '));
        __m128i tab = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\t'));
        __m128i carriage_return = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\r'));
        __m128i other = _mm_or_si128(_mm_or_si128(newline, space),
                                     _mm_or_si128(tab, carriage_return));
        masks.newlines |= (uint64_t)(uint32_t)_mm_movemask_epi8(newline) << (16 * i);
        masks.content |= (uint64_t)(uint32_t)_mm_movemask_epi8(other) << (16 * i);
    }
    masks.content = ~masks.content;
    return masks;
}

static int64_t skip_sse2(const uint8_t *text, int64_t size, int64_t *records)
{
    return skip_by_masks(masks_sse2, text, size, records);
}

static int64_t count_sse2(const uint8_t *text, int64_t size)
{
    return count_by_masks(masks_sse2, text, size);
}

/* A byte that is no content is found by one look-up under its low four bits: the table has it
 * there, and at all other places what no byte with these low bits is. */
#define OTHER_BYTES ' ', 0, 0, 0, 0, 0, 0, 0, 0, '\t', '\n', 0, 0, '\r', 0, 0

/* ---- AVX2 ------------------------------------------------------------------------------------ */
TARGET_AVX2 INLINE block_masks masks_avx2(const uint8_t *block)
{
    const __m256i table = _mm256_setr_epi8(OTHER_BYTES, OTHER_BYTES);
    block_masks masks = {0, 0};
    for (int i = 0; i < 2; i++) {
        __m256i bytes = _mm256_loadu_si256((const void *)(block + 32 * i));
        __m256i newline = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('\n'));
        __m256i other = _mm256_cmpeq_epi8(bytes, _mm256_shuffle_epi8(table, bytes));
        masks.newlines |= (uint64_t)(uint32_t)_mm256_movemask_epi8(newline) << (32 * i);
        masks.content |= (uint64_t)(uint32_t)_mm256_movemask_epi8(other) << (32 * i);
    }
    masks.content = ~masks.content;
    return masks;
}

TARGET_AVX2 static int64_t skip_avx2(const uint8_t *text, int64_t size, int64_t *records)
{
    return skip_by_masks(masks_avx2, text, size, records);
}

TARGET_AVX2 static int64_t count_avx2(const uint8_t *text, int64_t size)
{
    return count_by_masks(masks_avx2, text, size);
}

/* ---- AVX-512 --------------------------------------------------------------------------------- */
TARGET_AVX512 INLINE block_masks masks_avx512(const uint8_t *block)
{
    const __m512i table = _mm512_broadcast_i32x4(_mm_setr_epi8(OTHER_BYTES));
    __m512i bytes = _mm512_loadu_si512(block);
    block_masks masks = {
        .newlines = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('\n')),
        .content = _mm512_cmpneq_epi8_mask(bytes, _mm512_shuffle_epi8(table, bytes)),
    };
    return masks;
}

TARGET_AVX512 static int64_t skip_avx512(const uint8_t *text, int64_t size, int64_t *records)
{
    return skip_by_masks(masks_avx512, text, size, records);
}

TARGET_AVX512 static int64_t count_avx512(const uint8_t *text, int64_t size)
{
    return count_by_masks(masks_avx512, text, size);
}
#endif

static const pfd_newline_scan scans[] = {
    {"plain", skip_plain, count_plain},
    {"words", skip_words, count_words},
#if defined(__x86_64__)
    {"sse2", skip_sse2, count_sse2},
    {"avx2", skip_avx2, count_avx2},
    {"avx512", skip_avx512, count_avx512},
#endif
};

const pfd_newline_scan *pfd_newline_scan_at(int32_t i)
{
    int32_t n = sizeof scans / sizeof scans[0];
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi") ||
        !__builtin_cpu_supports("popcnt")) {
        n = 3;
    } else if (!__builtin_cpu_supports("avx512bw")) {
        n = 4;
    }
#endif
    return i >= 0 && i < n ? &scans[i] : NULL;
}

const pfd_newline_scan *pfd_newline_scan_best(void)
{
    int32_t i = 0;
    while (pfd_newline_scan_at(i + 1)) i++;
    return &scans[i];
}
