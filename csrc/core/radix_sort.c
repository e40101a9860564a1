/* Radix sort from the least digit up.  Digits in which all keys agree are left out: few keys use
 * all of their 64 bits. */
#include "core/radix_sort.h"

#include <string.h>

enum { digit_bits = 11, num_values = 1 << digit_bits, num_digits = 6 };

static inline uint32_t digit_of(uint64_t key, int digit)
{
    return (uint32_t)(key >> (digit * digit_bits)) & (num_values - 1);
}

/* Moves indexes to where the keys with their digit begin. */
static void distribute(const uint64_t *keys, int64_t n, int digit, uint32_t *counts,
                       const uint32_t *in, uint32_t *out)
{
    uint32_t begin = 0;
    for (int value = 0; value < num_values; value++) {
        uint32_t count = counts[value];
        counts[value] = begin;
        begin += count;
    }
    for (int64_t i = 0; i < n; i++) out[counts[digit_of(keys[in[i]], digit)]++] = in[i];
}

void pfd_radix_sort(const uint64_t *keys, int64_t n, uint32_t *order, uint32_t *work)
{
    uint32_t *from = order, *to = work;
    uint64_t differing = 0; /* bits */
    for (int64_t i = 0; i < n; i++) {
        from[i] = (uint32_t)i;
        differing |= keys[i] ^ keys[0];
    }
    for (int digit = 0; digit < num_digits; digit++) {
        if (digit_of(differing, digit) == 0) continue;
        uint32_t counts[num_values] = {0};
        for (int64_t i = 0; i < n; i++) counts[digit_of(keys[i], digit)]++;
        distribute(keys, n, digit, counts, from, to);
        uint32_t *sorted = to;
        to = from;
        from = sorted;
    }
    if (from != order) memcpy(order, from, (size_t)n * sizeof *order);
}

/* Negative doubles are ordered by the complement of their bits, below all others. */
uint64_t pfd_double_key(double value)
{
    uint64_t bits, sign = UINT64_C(1) << 63;
    value += 0.0; /* -0.0 and 0.0 are equal */
    memcpy(&bits, &value, sizeof bits);
    return bits & sign ? ~bits : bits | sign;
}

uint64_t pfd_int64_key(int64_t value)
{
    return (uint64_t)value ^ UINT64_C(1) << 63;
}
