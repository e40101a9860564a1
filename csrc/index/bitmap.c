/* Select over a bitmap by sampled ranks (Vigna: Broadword implementation of rank/select queries,
 * 2008, with fewer counts: blocks of 512 bits have one of 32 bits each).
 *
 * Counts are modulo 2^32.  The samples say within 8192 which ones a block can have, so that the
 * difference of two counts is right as a number of 32 bits with a sign. */
#include "index/bitmap.h"

#include "core/cpu.h"
#include "core/error.h"

#include <inttypes.h>
#include <stdlib.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { BLOCK_BITS = 512, BLOCK_WORDS = BLOCK_BITS / 64, SAMPLE = 8192, PIECE = 64 };

/* ---- Opening --------------------------------------------------------------------------------- */

/* The bits of word i that are rows. */
static uint64_t word_of(const pfd_bitmap *bitmap, int64_t i)
{
    int64_t rest = bitmap->num_bits - 64 * i;
    return rest >= 64 ? bitmap->words[i] : bitmap->words[i] & ((UINT64_C(1) << rest) - 1);
}

PFD_INLINE void count_blocks(pfd_bitmap *self)
{
    const int64_t num_words = (self->num_bits + 63) / 64;
    int64_t ones = 0;
    for (int64_t block = 0; block < self->num_blocks; block++) {
        int64_t word = block * BLOCK_WORDS, end = word + BLOCK_WORDS;
        self->before[block] = (uint32_t)ones;
        if (end < num_words)
            for (; word < end; word++) ones += __builtin_popcountll(self->words[word]);
        else
            for (; word < num_words; word++) ones += __builtin_popcountll(word_of(self, word));
    }
    self->before[self->num_blocks] = (uint32_t)ones;
    self->num_ones = ones;
}

#if defined(__x86_64__)
PFD_TARGET_AVX2 static void count_blocks_avx2(pfd_bitmap *self)
{
    count_blocks(self);
}
#endif

static void count(pfd_bitmap *self)
{
#if defined(__x86_64__)
    if (pfd_simd_level() >= PFD_SIMD_AVX2) {
        count_blocks_avx2(self);
        return;
    }
#endif
    count_blocks(self);
}

static void sample_blocks(pfd_bitmap *self)
{
    int64_t ones = 0, next = 0, n = 0;
    for (int64_t block = 0; block < self->num_blocks; block++) {
        ones += self->before[block + 1] - self->before[block];
        if (ones <= next) continue; /* a block has fewer than SAMPLE */
        self->samples[n++] = (uint32_t)block;
        next += SAMPLE;
    }
    self->samples[n] = self->num_blocks > 0 ? (uint32_t)(self->num_blocks - 1) : 0;
}

static pfd_status allocate(uint32_t **out, int64_t n, pfd_error *err)
{
    *out = malloc((size_t)n * sizeof **out);
    return *out ? PFD_OK : pfd_fail_memory(err, n * (int64_t)sizeof **out, "a bitmap");
}

pfd_status pfd_bitmap_open(pfd_bitmap *out, const uint64_t *words, int64_t num_bits, pfd_error *err)
{
    pfd_bitmap self = {.words = words, .num_bits = num_bits};
    if (num_bits > PFD_MOST_BITMAP_BITS)
        return pfd_fail(err, PFD_UNSUPPORTED, "a bitmap of %" PRId64 " bits; it can have %" PRId64,
                        num_bits, PFD_MOST_BITMAP_BITS);
    self.num_blocks = (num_bits + BLOCK_BITS - 1) / BLOCK_BITS;
    PFD_TRY(allocate(&self.before, self.num_blocks + 1, err));
    count(&self);
    pfd_status status = allocate(&self.samples, (self.num_ones + SAMPLE - 1) / SAMPLE + 1, err);
    if (status != PFD_OK) {
        free(self.before);
        return status;
    }
    sample_blocks(&self);
    *out = self;
    return PFD_OK;
}

void pfd_bitmap_close(pfd_bitmap *bitmap)
{
    free(bitmap->before);
    free(bitmap->samples);
}

/* ---- Select ---------------------------------------------------------------------------------- */

#define EACH_BYTE(value) ((value) * UINT64_C(0x0101010101010101))

/* The place of the one with a rank in a word that has more than `rank`. */
typedef int32_t (*select_fn)(uint64_t word, int32_t rank);

/* Finds the byte by the sums of the counts of the bytes up to each, then the bit. */
PFD_INLINE int32_t select_plain(uint64_t word, int32_t rank)
{
    uint64_t sums = word - ((word >> 1) & EACH_BYTE(UINT64_C(0x55)));
    sums = (sums & EACH_BYTE(UINT64_C(0x33))) + ((sums >> 2) & EACH_BYTE(UINT64_C(0x33)));
    sums = EACH_BYTE((sums + (sums >> 4)) & EACH_BYTE(UINT64_C(0x0f)));
    const uint64_t tops = EACH_BYTE(UINT64_C(0x80));
    uint64_t passed = ((EACH_BYTE((uint64_t)rank) | tops) - sums) & tops; /* sum <= rank */
    int32_t shift = (int32_t)(EACH_BYTE(passed >> 7) >> 56) * 8;
    uint64_t byte = word >> shift;
    for (rank -= (int32_t)((sums << 8) >> shift & 0xff); rank > 0; rank--) byte &= byte - 1;
    return shift + __builtin_ctzll(byte);
}

/* The last block with at most `rank` ones before it. */
PFD_INLINE int64_t find_block(const pfd_bitmap *bitmap, int64_t rank)
{
    const uint32_t *sample = &bitmap->samples[rank / SAMPLE];
    int64_t block = sample[0], n = sample[1] - block + 1;
    while (n > 1) {
        int64_t half = n / 2;
        int32_t after = (int32_t)((uint32_t)rank - bitmap->before[block + half]);
        block += after >= 0 ? half : 0;
        n -= half;
    }
    return block;
}

/* A rank, as the number of a one in a block. */
typedef struct place {
    int64_t block;
    int32_t rest;
} place;

/* Finds the blocks of some ranks, and fetches them all at once. */
PFD_INLINE void find_blocks(const pfd_bitmap *bitmap, const int64_t *ranks, int64_t n, place *out)
{
    int64_t block = 0, begin = 0, end = 0; /* the ones of the block: [begin, end) */
    for (int64_t i = 0; i < n; i++) {
        const int64_t rank = ranks[i];
        if (rank < begin || rank >= end) {
            block = find_block(bitmap, rank);
            const uint32_t *before = &bitmap->before[block];
            begin = rank - (int32_t)((uint32_t)rank - before[0]);
            end = begin + (int32_t)(before[1] - before[0]);
            __builtin_prefetch(&bitmap->words[block * BLOCK_WORDS]);
        }
        out[i] = (place){block, (int32_t)(rank - begin)};
    }
}

PFD_INLINE void select_by(select_fn select_in_word, const pfd_bitmap *bitmap, const int64_t *ranks,
                          int64_t n, int64_t *out)
{
    place places[PIECE];
    for (int64_t done = 0; done < n; done += PIECE) {
        const int64_t some = n - done < PIECE ? n - done : PIECE;
        find_blocks(bitmap, ranks + done, some, places);
        for (int64_t i = 0; i < some; i++) {
            int64_t word = places[i].block * BLOCK_WORDS;
            int32_t rest = places[i].rest, ones;
            while (rest >= (ones = __builtin_popcountll(bitmap->words[word]))) {
                rest -= ones;
                word++;
            }
            out[done + i] = word * 64 + select_in_word(bitmap->words[word], rest);
        }
    }
}

#if defined(__x86_64__)
PFD_TARGET_AVX2 PFD_INLINE int32_t select_bmi(uint64_t word, int32_t rank)
{
    return (int32_t)_tzcnt_u64(_pdep_u64(UINT64_C(1) << rank, word));
}

PFD_TARGET_AVX2 static void select_avx2(const pfd_bitmap *bitmap, const int64_t *ranks, int64_t n,
                                        int64_t *out)
{
    select_by(select_bmi, bitmap, ranks, n, out);
}
#endif

void pfd_bitmap_select(const pfd_bitmap *bitmap, const int64_t *ranks, int64_t n, int64_t *out)
{
#if defined(__x86_64__)
    if (pfd_simd_level() >= PFD_SIMD_AVX2) {
        select_avx2(bitmap, ranks, n, out);
        return;
    }
#endif
    select_by(select_plain, bitmap, ranks, n, out);
}
