/* core/crc32c.h -- the CRC-32C (Castagnoli) of bytes: polynomial 0x1EDC6F41, reflected, inverted at
 * the start and at the end.  All variants give the same results.
 *
 * pfd_crc32c(), in pyflowdata.h, is simpler to call.
 * THREADS  Everything here may be called from any thread.
 */
#ifndef PFD_CORE_CRC32C_H
#define PFD_CORE_CRC32C_H
#include <stdint.h>

/* Continues a checksum over data[0, size): `crc` is that of the bytes before, 0 at the start. */
typedef uint32_t (*pfd_crc32c_fn)(uint32_t crc, const uint8_t *data, int64_t size);

/* The fastest one that this processor can run; PYFLOWDATA_SIMD=plain takes the reference. */
pfd_crc32c_fn pfd_crc32c_best(void);

/* The i-th one that this processor can run, the plain reference first; NULL past the last. */
pfd_crc32c_fn pfd_crc32c_at(int32_t i);

#endif
