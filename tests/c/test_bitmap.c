/* Look-ups in bitmaps, beside a list of the ones. */
#include "check.h"

#include "core/error.h"
#include "index/bitmap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static uint64_t draw_below(int64_t n)
{
    return (draw_bits() >> 11) % (uint64_t)n;
}

/* Words that end where the bitmap does, for the sanitizer to watch; bits after the last one are
 * set, and must not count. */
static uint64_t *make_words(int64_t bits, uint64_t fill)
{
    size_t n = (size_t)(bits + 63) / 64;
    uint64_t *words = malloc(n > 0 ? n * sizeof *words : 1);
    if (!words) abort();
    for (size_t i = 0; i < n; i++) words[i] = fill;
    if (bits % 64) words[n - 1] |= ~UINT64_C(0) << (bits % 64);
    return words;
}

static void set(uint64_t *words, int64_t bit, int on)
{
    uint64_t mask = UINT64_C(1) << (bit % 64);
    if (on)
        words[bit / 64] |= mask;
    else
        words[bit / 64] &= ~mask;
}

static int64_t list_ones(const uint64_t *words, int64_t bits, int64_t *out)
{
    int64_t n = 0;
    for (int64_t i = 0; i < bits; i++)
        if (words[i / 64] >> (i % 64) & 1) out[n++] = i;
    return n;
}

/* All ranks in order, in reverse, and some at random, in calls of several lengths. */
static void compare(const char *what, const uint64_t *words, int64_t bits)
{
    int64_t *ones = malloc((size_t)(bits + 1) * 3 * sizeof *ones);
    if (!ones) abort();
    int64_t *ranks = ones + bits + 1, *found = ranks + bits + 1;
    int64_t n = list_ones(words, bits, ones), wrong = 0;
    pfd_bitmap bitmap;
    pfd_error err;
    pfd_error_init(&err);
    REQUIRE(pfd_bitmap_open(&bitmap, words, bits, &err) == PFD_OK);
    CHECK(bitmap.num_ones == n && bitmap.num_bits == bits);
    for (int order = 0; order < 3; order++) {
        for (int64_t i = 0; i < n; i++)
            ranks[i] = order == 0 ? i : order == 1 ? n - 1 - i : (int64_t)draw_below(n);
        for (int64_t i = 0, length; i < n; i += length) {
            length = (int64_t)draw_below(1000) + 1;
            length = length < n - i ? length : n - i;
            pfd_bitmap_select(&bitmap, ranks + i, length, found + i);
        }
        for (int64_t i = 0; i < n; i++) wrong += found[i] != ones[ranks[i]];
    }
    if (n > 0) { /* in place */
        pfd_bitmap_select(&bitmap, ranks, n, ranks);
        wrong += memcmp(ranks, found, (size_t)n * sizeof *ranks) != 0;
    }
    check(wrong == 0, "the places of the ones", what, __FILE__, __LINE__);
    pfd_bitmap_close(&bitmap);
    free(ones);
}

static void test_uniform(void)
{
    static const int64_t sizes[] = {0,   1,    2,    63,   64,    65,    511,   512,
                                    513, 1023, 1024, 1025, 8191,  8192,  8193,  16384,
                                    511 * 64 + 17, 100003};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int fill = 0; fill < 3; fill++) {
            uint64_t *words = make_words(sizes[i], fill == 0   ? 0
                                                   : fill == 1 ? ~UINT64_C(0)
                                                               : UINT64_C(0x8000000000000001));
            compare(fill == 0 ? "none" : fill == 1 ? "all" : "ends of words", words, sizes[i]);
            free(words);
        }
    }
}

static void test_random(void)
{
    const int64_t bits = 1000003;
    static const int64_t shares[] = {2, 1000, 100000}; /* one of so many */
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        uint64_t *words = make_words(bits, 0);
        for (int64_t j = 0; j < bits; j++) set(words, j, draw_below(shares[i]) == 0);
        compare("sparse", words, bits);
        for (int64_t j = 0; j < (bits + 63) / 64; j++) words[j] = ~words[j];
        compare("dense", words, bits);
        free(words);
    }
}

/* Long runs of zeros and ones, so that samples lie many blocks apart, or in neighbouring ones. */
static void test_runs(void)
{
    const int64_t bits = 700000;
    uint64_t *words = make_words(bits, 0);
    for (int64_t i = 0, on = 0; i < bits; on = !on)
        for (int64_t end = i + (int64_t)draw_below(60000); i < bits && i <= end; i++)
            set(words, i, (int)on);
    compare("runs", words, bits);
    free(words);
}

static void test_refused(void)
{
    pfd_bitmap bitmap;
    pfd_error err;
    pfd_error_init(&err);
    uint64_t word = 0;
    CHECK(pfd_bitmap_open(&bitmap, &word, PFD_MOST_BITMAP_BITS + 1, &err) == PFD_UNSUPPORTED);
    CHECK(strstr(err.message, "2199023255553 bits"));
}

/* More than 2^32 ones, so that counts wrap.  The words are one piece of memory, mapped again and
 * again; each has all bits but the first. */
static void test_many(void)
{
    const size_t piece = 4 << 20, pieces = 132;
    const int64_t words = (int64_t)(piece / 8 * pieces), ones = words * 63;
    int file = memfd_create("words", 0);
    REQUIRE(file >= 0 && ftruncate(file, (off_t)piece) == 0);
    uint8_t *base = mmap(NULL, piece * pieces, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(base != MAP_FAILED);
    for (size_t i = 0; i < pieces; i++)
        REQUIRE(mmap(base + i * piece, piece, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
                     0) != MAP_FAILED);
    for (size_t i = 0; i < piece / 8; i++) ((uint64_t *)(void *)base)[i] = ~UINT64_C(1);
    pfd_bitmap bitmap;
    pfd_error err;
    pfd_error_init(&err);
    REQUIRE(pfd_bitmap_open(&bitmap, (const uint64_t *)(void *)base, words * 64, &err) == PFD_OK);
    CHECK(ones > INT64_C(1) << 32 && bitmap.num_ones == ones);
    int64_t wrong = 0;
    for (int i = 0; i < 1000; i++) {
        const int64_t first = i < 500 ? (int64_t)draw_below(ones) : ones - 1 - i;
        const int64_t ranks[] = {first, first % 7, ones - 1 - first, ones - 1};
        int64_t found[4];
        pfd_bitmap_select(&bitmap, ranks, 4, found);
        for (int j = 0; j < 4; j++)
            wrong += found[j] != ranks[j] / 63 * 64 + ranks[j] % 63 + 1;
    }
    CHECK(wrong == 0);
    pfd_bitmap_close(&bitmap);
    munmap(base, piece * pieces);
    close(file);
}

int main(void)
{
    test_uniform();
    test_random();
    test_runs();
    test_refused();
    test_many();
    return report();
}
