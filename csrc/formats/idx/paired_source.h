/* formats/idx/paired_source.h -- two sources side by side: a record has the bytes of one of the
 * first, then those of the second's with the same ordinal.
 *
 * OWNERSHIP  Both sources are taken over, where the open succeeds.
 * THREADS    As of a pfd_source in op.h.
 */
#ifndef PFD_FORMATS_IDX_PAIRED_SOURCE_H
#define PFD_FORMATS_IDX_PAIRED_SOURCE_H
#include "pyflowdata/op.h"

/* Both are random-access and of one size; all else of a record (file, offset) is the first's. */
pfd_status pfd_paired_source_open(const pfd_host *host, const pfd_source *first,
                                  const pfd_source *second, pfd_source *out, pfd_error *err);
#endif
