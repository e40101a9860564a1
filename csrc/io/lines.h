/* io/lines.h -- text files as a random-access dataset of lines; host->open_lines().
 *
 * The index holds the offset of every 64th or so line; at() walks the rest of the way.  Positions
 * that follow each other are walked as one run.
 * OWNERSHIP  Files are borrowed until close; records are views into them.
 * THREADS    As of a pfd_source in op.h.
 */
#ifndef PFD_IO_LINES_H
#define PFD_IO_LINES_H
#include "pyflowdata/op.h"

pfd_status pfd_lines_open(const pfd_open_args *args, pfd_source *out, pfd_error *err);
#endif
