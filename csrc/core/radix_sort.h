/* core/radix_sort.h -- the order of numbers, found in linear time.
 *
 * THREADS  Everything here may be called from any thread.
 */
#ifndef PFD_CORE_RADIX_SORT_H
#define PFD_CORE_RADIX_SORT_H
#include <stdint.h>

/* Writes the indexes of keys[0, n) in ascending order of the keys, equal keys in the order of their
 * indexes; 0 <= n < 2^32.  `work` has room for n. */
void pfd_radix_sort(const uint64_t *keys, int64_t n, uint32_t *order, uint32_t *work);

/* Keys in the order of these numbers: of doubles without NaN, and of int64. */
uint64_t pfd_double_key(double value);
uint64_t pfd_int64_key(int64_t value);
#endif
