/* sources/lines.h -- a random-access source over the lines of text files; host->open_lines().
 *
 * For any order it has a dense index, with the place of every record.  For reading in order it
 * has a sparse one, and at() walks from the nearest block.  Consecutive positions are walked as
 * one run. OWNERSHIP  Files are borrowed until close; records are views into them, or into the
 * scratch. THREADS    As of a pfd_source in op.h.
 */
#ifndef PFD_SOURCES_LINES_H
#define PFD_SOURCES_LINES_H
#include "pyflowdata/op.h"

pfd_status pfd_lines_open(const pfd_open_args *args, pfd_source *out, pfd_error *err);
#endif
