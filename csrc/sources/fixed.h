/* sources/fixed.h -- a random-access source over files of records of one size; host->open_fixed().
 *
 * The place of a record is computed; no index is needed.
 * OWNERSHIP  Files and their array are borrowed until close; layouts are copied.
 * THREADS    As of a pfd_source in op.h.
 */
#ifndef PFD_SOURCES_FIXED_H
#define PFD_SOURCES_FIXED_H
#include "pyflowdata/op.h"

pfd_status pfd_fixed_open(const pfd_open_args *args, const pfd_fixed_layout *layout,
                          pfd_source *out, pfd_error *err);

/* The same over n >= 1 files with a layout for each; record_bytes must be the same in all. */
pfd_status pfd_fixed_open_each(const pfd_file *const *files, const pfd_fixed_layout *layouts,
                               int64_t n, pfd_source *out, pfd_error *err);
#endif
