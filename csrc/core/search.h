/* core/search.h -- binary search in an ascending table.  A pure function. */
#ifndef PFD_CORE_SEARCH_H
#define PFD_CORE_SEARCH_H
#include "core/cpu.h"

/* The last of items [low, high) whose number is at most `value`; `low` where there is none.
 * `numbers` is the number of item 0; the number of each next item is `stride` bytes further on. */
PFD_INLINE int64_t pfd_last_at_most(const int64_t *numbers, int64_t stride, int64_t low,
                                    int64_t high, int64_t value)
{
    const char *base = (const void *)numbers;
    int64_t n = high - low;
    while (n > 1) { /* without branches, which nobody could predict */
        int64_t half = n / 2;
        int64_t at_most = *(const int64_t *)(const void *)(base + (low + half) * stride) <= value;
        low += half & -at_most;
        n -= half;
    }
    return low;
}
#endif
