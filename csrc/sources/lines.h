/* sources/lines.h -- text files as a random-access source of lines; host->open_lines().
 *
 * For any order there is a dense index, with the place of every record; for reading in order a
 * sparse one, and at() walks from the nearest block.  Positions that follow each other are walked
 * as one run.
 * OWNERSHIP  Files are borrowed until close; records are views into them, or into the scratch.
 * THREADS    As of a pfd_source in op.h.
 */
#ifndef PFD_SOURCES_LINES_H
#define PFD_SOURCES_LINES_H
#include "pyflowdata/op.h"

pfd_status pfd_lines_open(const pfd_open_args *args, pfd_source *out, pfd_error *err);
#endif
