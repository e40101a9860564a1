/* Radix sort from the least digit up, of the 33 bits at most that are the first to differ.  In long
 * keys of random bits these tell nearly all apart; the few that they do not are sorted after it. */
#include "core/radix_sort.h"

#include <string.h>

enum { digit_bits = 11, num_values = 1 << digit_bits, most_digits = 3 };
enum { most_bits = most_digits * digit_bits };
enum { few_indexes = 64 }; /* which are sorted by insertion */

static inline uint32_t digit_of(uint64_t key, int32_t bit)
{
    return (uint32_t)(key >> bit) & (num_values - 1);
}

/* Moves indexes to where the keys with their digit begin, which `counts` becomes. */
static void distribute(const uint64_t *keys, int64_t n, int32_t bit, uint32_t *counts,
                       const uint32_t *in, uint32_t *out)
{
    uint32_t begin = 0;
    for (int value = 0; value < num_values; value++) {
        uint32_t count = counts[value];
        counts[value] = begin;
        begin += count;
    }
    for (int64_t i = 0; i < n; i++) out[counts[digit_of(keys[in[i]], bit)]++] = in[i];
}

static void insert(const uint64_t *keys, int64_t n, uint32_t *order)
{
    for (int64_t i = 1; i < n; i++) {
        uint32_t index = order[i];
        int64_t k = i;
        for (; k > 0 && keys[order[k - 1]] > keys[index]; k--) order[k] = order[k - 1];
        order[k] = index;
    }
}

/* Sorts order[0, n), whose keys differ in their lower num_bits at most. */
static void sort(const uint64_t *keys, int64_t n, int32_t num_bits, uint32_t *order, uint32_t *work)
{
    uint32_t *from = order, *to = work, counts[most_digits][num_values] = {{0}};
    const int32_t rest = num_bits > most_bits ? num_bits - most_bits : 0;
    for (int64_t i = 0; i < n; i++) {
        uint64_t key = keys[order[i]] >> rest;
        for (int k = 0; k < most_digits; k++) counts[k][digit_of(key, k * digit_bits)]++;
    }
    for (int k = 0; k < most_digits; k++) {
        int32_t bit = rest + k * digit_bits;
        if (counts[k][digit_of(keys[order[0]], bit)] == n) continue; /* all have it */
        distribute(keys, n, bit, counts[k], from, to);
        uint32_t *sorted = to;
        to = from;
        from = sorted;
    }
    if (from != order) memcpy(order, from, (size_t)n * sizeof *order);
    for (int64_t begin = 0, end; rest > 0 && begin < n; begin = end) {
        uint64_t first = keys[order[begin]] >> rest;
        for (end = begin + 1; end < n && keys[order[end]] >> rest == first;) end++;
        if (end - begin <= few_indexes) insert(keys, end - begin, order + begin);
        else sort(keys, end - begin, rest, order + begin, work);
    }
}

void pfd_radix_sort(const uint64_t *keys, int64_t n, uint32_t *order, uint32_t *work)
{
    uint64_t differing = 0; /* bits */
    for (int64_t i = 0; i < n; i++) {
        order[i] = (uint32_t)i;
        differing |= keys[i] ^ keys[0];
    }
    if (differing > 0) sort(keys, n, 64 - __builtin_clzll(differing), order, work);
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
