/* core/xxh64.h -- XXH64, Y. Collet's hash of bytes, seed 0: a checksum that OneRec and MDS files
 * have.
 *
 * THREADS  A pure function.
 */
#ifndef PFD_CORE_XXH64_H
#define PFD_CORE_XXH64_H
#include <stdint.h>

uint64_t pfd_xxh64(const void *data, int64_t size); /* as in pyflowdata.h */
#endif
