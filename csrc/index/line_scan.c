/* Finds the lines of a text in memory, and makes the indexes of text files. */
#include "index/line_scan.h"

#include "core/bytes.h"
#include "core/cpu.h"
#include "core/error.h"
#include "core/multi_thread_loop.h"
#include "core/scratch.h"
#include "core/search.h"
#include "files/file_read.h"
#include "files/seal.h"
#include "index/record_index.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- Lines in memory ------------------------------------------------------------------------- */

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { block_size = 64 };

typedef struct block_masks {
    uint64_t newlines, content, returns; /* bit i: byte i of the block */
} block_masks;

typedef block_masks (*masks_fn)(const uint8_t *block);
typedef int64_t (*nth_fn)(uint64_t bits, int64_t n); /* the place of set bit n, 0 the lowest */

/* ---- Lines in memory: the reference, byte by byte -------------------------------------------- */

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

/* ---- Lines in memory: the same on masks ------------------------------------------------------ */

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

/* ---- Lines in memory: on any machine, eight bytes of a word at a time ------------------------ */

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
/* ---- Lines in memory: SSE2 and NEON, on every x86-64 and every aarch64 ----------------------- */

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

/* ---- Lines in memory: AVX2 ------------------------------------------------------------------- */

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

/* ---- Lines in memory: AVX-512 ---------------------------------------------------------------- */

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

/* Passes blocks without a newline, four at a time. */
PFD_TARGET_AVX512 PFD_INLINE int64_t pass_empty(const uint8_t *text, int64_t size, int64_t at)
{
    const __m512i newline = _mm512_set1_epi8('\n');
    for (; size - at >= 4 * block_size; at += 4 * block_size) {
        uint64_t bits = 0;
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++)
            bits |= _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(text + at + i * block_size), newline);
        if (bits) break;
    }
    return at;
}

PFD_TARGET_AVX512 static int64_t split_avx512(const uint8_t *text, int64_t size, int64_t most,
                                              uint32_t *newlines)
{
    enum { LONG = 512 }; /* bytes of a line, on average: others are too short to be passed */
    int64_t n = 0;
    for (int64_t at = 0; at < size && n < most; at += block_size) {
        if (at >= LONG * n) at = pass_empty(text, size, at);
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

/* ---- The sparse index ------------------------------------------------------------------------ */

enum { FIRST_NEWLINE_ENDS = 1 << 15 };

/* How many entries a file has. */
static int64_t line_blocks_entries(const pfd_file *file)
{
    const int64_t bytes = PFD_BLOCKS_PER_ENTRY * PFD_LINE_BLOCK_BYTES;
    return (file->size + bytes - 1) / bytes;
}

int32_t pfd_line_blocks_init(pfd_line_blocks *blocks, const pfd_index_image *image,
                             const pfd_file *const *files)
{
    const pfd_index_header *header = image->header;
    int64_t entries = 0;
    *blocks = (pfd_line_blocks){.num_files = header->num_files,
                                .num_records = header->num_records,
                                .files = image->files,
                                .entries = image->entries};
    for (int64_t i = 0; i < header->num_files; i++) {
        if (image->files[i].first_place != entries) return 0;
        entries += line_blocks_entries(files[i]);
    }
    return image->files[header->num_files].first_place == entries && header->num_entries == entries;
}

pfd_line_block_start pfd_line_blocks_find(const pfd_line_blocks *blocks, int64_t position)
{
    int64_t file = pfd_index_file_of(blocks->files, blocks->num_files, position);
    const pfd_index_file *places = &blocks->files[file];
    int64_t wanted = position - places->first_record; /* records end before this one */
    pfd_line_block_start start = {.file = file, .skip = wanted};
    if (wanted == 0 || places[1].first_place == places->first_place) return start;
    int64_t at = pfd_last_at_most(&blocks->entries->records_before,
                                  (int64_t)sizeof *blocks->entries, places->first_place,
                                  places[1].first_place, wanted - 1);
    const pfd_line_entry *entry = &blocks->entries[at];
    int64_t block = 0, left = wanted - entry->records_before;
    for (; block < PFD_BLOCKS_PER_ENTRY - 1; block++) {
        int64_t count = entry->counts[block] & (FIRST_NEWLINE_ENDS - 1);
        if (left <= count) break;
        left -= count;
    }
    start.offset =
        ((at - places->first_place) * PFD_BLOCKS_PER_ENTRY + block) * PFD_LINE_BLOCK_BYTES;
    start.skip = left;
    start.first_newline_ends = start.offset > 0 && entry->counts[block] >= FIRST_NEWLINE_ENDS;
    return start;
}

/* ---- The index of lines ---------------------------------------------------------------------- */

enum {
    entries_per_piece = 8,
    entry_bytes = PFD_BLOCKS_PER_ENTRY * PFD_LINE_BLOCK_BYTES,
    piece_bytes = entries_per_piece * entry_bytes,
    mark_bytes = 16 * 1024,
    sample_bytes = 1024 * 1024,
    least_reserved = 1024 * 1024 /* strides of a thread */
};

/* The ends of a piece of text: the lines that continue in the pieces before and after it. */
typedef struct piece_ends {
    int32_t starts_blank; /* only blanks before the first newline, or before the end */
    int32_t has_newline;
    int32_t content;      /* whether the line that is open at the end has content */
    int32_t is_line_open; /* the last byte is not a newline */
} piece_ends;

typedef struct worker {
    pfd_scratch *scratch;
    uint32_t *marks;
    pfd_mark_list list;
} worker;

typedef struct line_scan {
    const pfd_open_args *args;
    const pfd_newline_scan *scan;
    int32_t num_threads;
    worker *workers;
    double about_records; /* dense: in all files */
    int64_t *first_piece; /* of each file; one more: all pieces.  A file has one more than text */
    piece_ends *ends;
    pfd_mark_list *lists;    /* dense: of each worker */
    pfd_mark_piece *pieces;  /* dense */
    pfd_line_entry *entries; /* sparse */
    pfd_index_file *files;
} line_scan;

/* ---- The index of lines: pieces -------------------------------------------------------------- */

static piece_ends ends_of(const uint8_t *text, int64_t size, uint64_t content)
{
    const uint8_t *newline = memchr(text, '\n', (size_t)size);
    return (piece_ends){.starts_blank = pfd_is_blank(text, newline ? newline : text + size),
                        .has_newline = newline != NULL,
                        .content = (int32_t)content,
                        .is_line_open = text[size - 1] != '\n'};
}

/* Marks the ends of the records in a piece. */
static pfd_status mark_piece(line_scan *self, int64_t number, const uint8_t *text, int64_t size,
                             int64_t offset, int64_t file, int32_t worker_number, pfd_error *err)
{
    worker *mine = &self->workers[worker_number];
    pfd_mark_list *list = &self->lists[worker_number];
    pfd_mark_piece piece;
    pfd_line_marker marker = {.content = offset > 0};
    pfd_mark_piece_begin(&piece, list, worker_number, file);
    for (int64_t at = 0; at < size; at += mark_bytes) {
        int64_t some = size - at < mark_bytes ? size - at : mark_bytes, before = piece.num_marks;
        marker.blank_lines = marker.returns = 0;
        int64_t n = self->scan->mark(text + at, some, &marker, mine->marks);
        PFD_TRY(pfd_mark_piece_add(&piece, list, offset + at, mine->marks, n, err));
        uint64_t flags = (marker.blank_lines > 0 ? PFD_GROUP_IS_IRREGULAR : 0) |
                         (marker.returns > 0 ? PFD_GROUP_HAS_RETURNS : 0);
        if (flags) PFD_TRY(pfd_mark_piece_flag(&piece, list, before, flags, err));
    }
    self->ends[number] = ends_of(text, size, marker.content);
    self->pieces[number] = piece;
    return PFD_OK;
}

/* Counts the records of a piece. Its entries count from the beginning of the piece. */
static void count_piece(line_scan *self, int64_t number, const uint8_t *text, int64_t size,
                        uint64_t content, pfd_line_entry *entries)
{
    int64_t records = 0;
    for (int64_t at = 0; at < size; at += PFD_LINE_BLOCK_BYTES) {
        int64_t block = at / PFD_LINE_BLOCK_BYTES;
        pfd_line_entry *entry = &entries[block / PFD_BLOCKS_PER_ENTRY];
        int64_t some = size - at < PFD_LINE_BLOCK_BYTES ? size - at : PFD_LINE_BLOCK_BYTES;
        uint64_t flag = content ? FIRST_NEWLINE_ENDS : 0;
        if (block % PFD_BLOCKS_PER_ENTRY == 0) entry->records_before = records;
        int64_t n = self->scan->count_records(text + at, some, &content);
        entry->counts[block % PFD_BLOCKS_PER_ENTRY] = (uint16_t)((uint64_t)n | flag);
        records += n;
    }
    self->ends[number] = ends_of(text, size, content);
}

static pfd_line_entry *entries_of(const line_scan *self, int64_t file, int64_t offset)
{
    return self->entries + self->files[file].first_place + offset / entry_bytes;
}

static pfd_status read_piece(const line_scan *self, int64_t number, int64_t file,
                             pfd_scratch *scratch, const uint8_t **text, int64_t *offset,
                             int64_t *size, pfd_error *err)
{
    *offset = (number - self->first_piece[file]) * piece_bytes;
    *size = self->args->files[file]->size - *offset;
    if (*size > piece_bytes) *size = piece_bytes;
    if (*size <= 0) return PFD_OK;
    pfd_scratch_reset(scratch);
    return pfd_file_read(pfd_file_uncompared(self->args->files[file]), *offset, *size, scratch,
                         text, err);
}

static pfd_status scan_pieces(void *ctx, int64_t begin, int64_t end, int32_t worker_number,
                              pfd_error *err)
{
    line_scan *self = ctx;
    for (int64_t i = begin; i < end; i++) {
        const uint8_t *text;
        int64_t offset, size;
        int64_t file = pfd_last_at_most(self->first_piece, (int64_t)sizeof *self->first_piece, 0,
                                        self->args->num_files, i);
        if (self->args->scratch && pfd_scratch_is_cancelled(self->args->scratch))
            return pfd_fail(err, PFD_CANCELLED, "the loader is closing");
        PFD_TRY(read_piece(self, i, file, self->workers[worker_number].scratch, &text, &offset,
                           &size, err));
        if (size <= 0) continue; /* the piece after a file's text */
        if (self->pieces)
            PFD_TRY(mark_piece(self, i, text, size, offset, file, worker_number, err));
        else
            count_piece(self, i, text, size, offset > 0, entries_of(self, file, offset));
    }
    return PFD_OK;
}

/* ---- The index of lines: the pieces together ------------------------------------------------- */

/* Goes through the pieces in order.  It calls `mend` for each piece whose first line ends in it
 * and turns out to have no content, and `close` for each file, with whether its last line has no
 * newline, and whether that line has content. */
static pfd_status join(line_scan *self,
                       pfd_status (*mend)(line_scan *, int64_t, int64_t, pfd_error *),
                       void (*close)(line_scan *, int64_t, int32_t, int32_t), pfd_error *err)
{
    for (int64_t file = 0; file < self->args->num_files; file++) {
        int32_t content = 0, is_open = 0;
        int64_t last = self->first_piece[file + 1] - 1;
        for (int64_t i = self->first_piece[file]; i < last; i++) {
            int32_t is_first = i == self->first_piece[file];
            if (!is_first && !content && self->ends[i].starts_blank && self->ends[i].has_newline)
                PFD_TRY(mend(self, i, file, err));
            if (self->ends[i].has_newline)
                content = self->ends[i].content;
            else
                content |= !self->ends[i].starts_blank;
            is_open = self->ends[i].is_line_open;
        }
        close(self, file, is_open, content);
    }
    return PFD_OK;
}

static pfd_status mend_marks(line_scan *self, int64_t piece, int64_t file, pfd_error *err)
{
    (void)file, (void)err;
    pfd_mark_piece_drop_first(&self->pieces[piece], self->lists);
    self->pieces[piece].open_flags |= PFD_GROUP_IS_IRREGULAR;
    return PFD_OK;
}

/* Ends a last line without newline where its newline would be. */
static void close_marks(line_scan *self, int64_t file, int32_t is_open, int32_t content)
{
    int64_t end = self->args->files[file]->size + 1;
    pfd_mark_piece *piece = &self->pieces[self->first_piece[file + 1] - 1];
    *piece = (pfd_mark_piece){.file = file};
    if (is_open && content) {
        piece->num_marks = 1;
        piece->first_mark = piece->last_mark = end;
    } else if (is_open) {
        piece->open_flags = PFD_GROUP_IS_IRREGULAR;
    }
    pfd_index_file *files = self->files;
    files[file + 1].first_place = files[file].first_place + end - !is_open;
}

static pfd_status mend_counts(line_scan *self, int64_t piece, int64_t file, pfd_error *err)
{
    const uint8_t *text;
    int64_t offset, size;
    PFD_TRY(read_piece(self, piece, file, self->workers[0].scratch, &text, &offset, &size, err));
    count_piece(self, piece, text, size, 0, entries_of(self, file, offset));
    return PFD_OK;
}

static int64_t records_in(const pfd_line_entry *entry)
{
    int64_t records = 0;
    for (int64_t i = 0; i < PFD_BLOCKS_PER_ENTRY; i++)
        records += entry->counts[i] & (FIRST_NEWLINE_ENDS - 1);
    return records;
}

static void close_counts(line_scan *self, int64_t file, int32_t is_open, int32_t content)
{
    pfd_index_file *files = self->files;
    int64_t records = 0;
    for (int64_t i = files[file].first_place; i < files[file + 1].first_place; i++) {
        self->entries[i].records_before = records;
        records += records_in(&self->entries[i]);
    }
    files[file + 1].first_record = files[file].first_record + records + (is_open && content);
}

/* ---- The index of lines: memory -------------------------------------------------------------- */

static void free_scan(line_scan *self)
{
    for (int32_t i = 0; self->workers && i < self->num_threads; i++) {
        pfd_scratch_free(self->workers[i].scratch);
        free(self->workers[i].marks);
    }
    for (int32_t i = 0; self->lists && i < self->num_threads; i++)
        pfd_mark_list_free(&self->lists[i]);
    free(self->workers);
    free(self->lists);
    free(self->first_piece);
    free(self->ends);
    free(self->pieces);
}

static pfd_status open_scan(line_scan *self, int32_t kind, int width, pfd_error *err)
{
    int64_t num_files = self->args->num_files, pieces = 0;
    size_t threads = (size_t)self->num_threads;
    self->first_piece = calloc((size_t)num_files + 1, sizeof *self->first_piece);
    self->workers = calloc(threads, sizeof *self->workers);
    self->lists = calloc(threads, sizeof *self->lists);
    if (!self->first_piece || !self->workers || !self->lists)
        return pfd_fail_memory(err, num_files, "the scan of the files");
    for (int64_t i = 0; i < num_files; i++) {
        self->first_piece[i] = pieces;
        pieces += (self->args->files[i]->size + piece_bytes - 1) / piece_bytes + 1;
    }
    self->first_piece[num_files] = pieces;
    self->ends = calloc((size_t)pieces + 1, sizeof *self->ends);
    if (kind == PFD_INDEX_LINES) self->pieces = calloc((size_t)pieces + 1, sizeof *self->pieces);
    int64_t share = (int64_t)(1.25 * self->about_records) / self->num_threads;
    if (share < least_reserved) share = 0;
    int whole = self->ends && (kind != PFD_INDEX_LINES || self->pieces);
    for (int32_t i = 0; whole && i < self->num_threads; i++) {
        worker *each = &self->workers[i];
        self->lists[i].width = width;
        if (share > 0) pfd_mark_list_reserve(&self->lists[i], share);
        each->scratch = pfd_scratch_create();
        each->marks = malloc((mark_bytes / 2 + 1 + PFD_SPLIT_SLACK) * sizeof *each->marks);
        whole = each->scratch && each->marks;
    }
    return whole ? PFD_OK : pfd_fail_memory(err, pieces, "the scan of the files");
}

static pfd_status scan_all(line_scan *self, pfd_error *err)
{
    int64_t pieces = self->first_piece[self->args->num_files];
    int32_t threads = pieces > 2 ? self->num_threads : 1; /* small files need no threads */
    return pfd_parallel_for(threads, pieces, 1, scan_pieces, self, err);
}

/* ---- The index of lines: dense and sparse ---------------------------------------------------- */

/* Chooses the strides by the mean line of a sample. */
static pfd_status choose_strides(line_scan *self, pfd_record_marks *marks, pfd_error *err)
{
    int64_t bytes = 0, lines = 1, all_bytes = 0;
    for (int64_t i = 0; i < self->args->num_files && bytes == 0; i++) {
        const pfd_file *file = pfd_file_uncompared(self->args->files[i]);
        const uint8_t *text;
        pfd_scratch *scratch = pfd_scratch_create();
        bytes = file->size < sample_bytes ? file->size : sample_bytes;
        pfd_status status = scratch ? pfd_file_read(file, 0, bytes, scratch, &text, err)
                                    : pfd_fail_memory(err, bytes, "a sample of the text");
        if (status == PFD_OK) lines += self->scan->count(text, bytes);
        pfd_scratch_free(scratch);
        PFD_TRY(status);
    }
    for (int64_t i = 0; i < self->args->num_files; i++) all_bytes += self->args->files[i]->size;
    if (bytes > 0) self->about_records = (double)all_bytes / (double)bytes * (double)lines;
    pfd_record_marks_choose(marks, bytes, lines);
    return PFD_OK;
}

static pfd_status make_marks(line_scan *self, pfd_record_marks *marks, pfd_index_file *files,
                             pfd_index_image **out, pfd_error *err)
{
    int64_t num_files = self->args->num_files;
    PFD_TRY(open_scan(self, PFD_INDEX_LINES, marks->width, err));
    PFD_TRY(scan_all(self, err));
    PFD_TRY(join(self, mend_marks, close_marks, err));
    marks->lists = self->lists;
    marks->pieces = self->pieces;
    marks->num_pieces = self->first_piece[num_files];
    marks->first_number = 1;
    pfd_record_marks_place(marks, files, num_files);
    int64_t records = files[num_files].first_record;
    PFD_TRY(pfd_index_image_create(PFD_INDEX_LINES, num_files,
                                   pfd_record_marks_groups(marks, records), out, err));
    memcpy((*out)->files, files, ((size_t)num_files + 1) * sizeof *files);
    return pfd_record_marks_fill(marks, records, self->num_threads, *out, err);
}

static pfd_status scan_marks(line_scan *self, pfd_index_image **out, pfd_error *err)
{
    pfd_record_marks marks = {0};
    pfd_index_file *files = calloc((size_t)self->args->num_files + 1, sizeof *files);
    if (!files) return pfd_fail_memory(err, self->args->num_files, "the table of files");
    self->files = files;
    pfd_status status = choose_strides(self, &marks, err);
    if (status == PFD_OK) status = make_marks(self, &marks, files, out, err);
    free(files);
    return status;
}

static pfd_status scan_counts(line_scan *self, pfd_index_image **out, pfd_error *err)
{
    int64_t num_files = self->args->num_files, entries = 0;
    for (int64_t i = 0; i < num_files; i++)
        entries += line_blocks_entries(self->args->files[i]);
    PFD_TRY(pfd_index_image_create(PFD_INDEX_BLOCKS, num_files, entries, out, err));
    pfd_index_file *files = (*out)->files;
    for (int64_t i = 0; i < num_files; i++)
        files[i + 1].first_place = files[i].first_place + line_blocks_entries(self->args->files[i]);
    self->files = files;
    self->entries = (*out)->entries;
    PFD_TRY(open_scan(self, PFD_INDEX_BLOCKS, 0, err));
    PFD_TRY(scan_all(self, err));
    PFD_TRY(join(self, mend_counts, close_counts, err));
    (*out)->header->num_records = files[num_files].first_record;
    return PFD_OK;
}

pfd_status pfd_line_scan(const pfd_open_args *args, const pfd_newline_scan *scan, int32_t kind,
                         int32_t num_threads, pfd_index_image **out, pfd_error *err)
{
    line_scan self = {.args = args, .scan = scan, .num_threads = num_threads};
    pfd_index_image *image = NULL;
    pfd_status status =
        kind == PFD_INDEX_LINES ? scan_marks(&self, &image, err) : scan_counts(&self, &image, err);
    free_scan(&self);
    if (status == PFD_OK)
        *out = image;
    else
        pfd_index_image_free(image);
    return status;
}
