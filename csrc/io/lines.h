/* io/lines.h -- text files as a random-access dataset of lines; host->open_lines().
 *
 * The index holds the offset of every 64th or so line; at() walks the rest of the way.  Positions
 * that follow each other are walked as one run.
 * OWNERSHIP  Files are borrowed until close; records are views into them.
 * THREADS    As pfd_dataset_methods in op.h.
 */
#ifndef PFD_IO_LINES_H
#define PFD_IO_LINES_H
#include "pyflowdata/op.h"

pfd_status pfd_lines_open(const pfd_file *files, int64_t num_files, pfd_dataset **out,
                          pfd_error *err);
#endif
