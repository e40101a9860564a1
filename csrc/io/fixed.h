/* io/fixed.h -- files of records of one size as a random-access source; host->open_fixed().
 *
 * Where a record lies is arithmetic: there is no index.
 * OWNERSHIP  Files are borrowed until close; the layout is copied.
 * THREADS    As of a pfd_source in op.h.
 */
#ifndef PFD_IO_FIXED_H
#define PFD_IO_FIXED_H
#include "pyflowdata/op.h"

pfd_status pfd_fixed_open(const pfd_open_args *args, const pfd_fixed_layout *layout,
                          pfd_source *out, pfd_error *err);
#endif
