/* formats/idx/paired_source.h -- a source that joins two others: a record is the bytes of a
 * record of the first source, then those of the second's record with the same ordinal.
 *
 * OWNERSHIP  If the open succeeds, the new source owns both sources.
 * THREADS    As of a pfd_source in op.h.
 */
#ifndef PFD_FORMATS_IDX_PAIRED_SOURCE_H
#define PFD_FORMATS_IDX_PAIRED_SOURCE_H
#include "pyflowdata/op.h"

/* Both sources must have random access and the same number of records.  File and offset of a record
 * are those of the first source. */
pfd_status pfd_paired_source_open(const pfd_host *host, const pfd_source *first,
                                  const pfd_source *second, pfd_source *out, pfd_error *err);
#endif
