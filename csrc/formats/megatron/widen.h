/* formats/megatron/widen.h -- copies integers of one dtype into a wider one.
 *
 * A conversion exists if every value of one dtype is also a value of the other.  Both sides may be
 * unaligned.  All variants give the same results.
 */
#ifndef PFD_FORMATS_MEGATRON_WIDEN_H
#define PFD_FORMATS_MEGATRON_WIDEN_H
#include <stdint.h>

typedef void (*pfd_widen_fn)(const uint8_t *from, uint8_t *to, int64_t n);

/* The fastest variant for this processor; NULL: a dtype (PFD_INT8 ...) is not an integer, or some
 * value of `from` does not fit into `to`. */
pfd_widen_fn pfd_widen_best(int32_t from, int32_t to);

/* Returns the variant for one PFD_SIMD_* level, which the processor must have. */
pfd_widen_fn pfd_widen_at(int32_t from, int32_t to, int32_t simd_level);
#endif
