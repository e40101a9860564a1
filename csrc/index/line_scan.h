/* index/line_scan.h -- scans text files to make an index of their lines.
 *
 * Many threads scan the files in pieces.  A line that is open where a piece begins may have
 * content in an earlier piece.  Each piece is scanned as if it had, and corrected later if it
 * had not.
 *
 * OWNERSHIP  Returns a new image.
 * ERRORS     Those of reading the files; PFD_CANCELLED once the scratch of the args says so.
 */
#ifndef PFD_INDEX_LINE_SCAN_H
#define PFD_INDEX_LINE_SCAN_H
#include "index/index_image.h"
#include "index/newline_scan.h"

/* kind: PFD_INDEX_LINES or PFD_INDEX_BLOCKS. */
pfd_status pfd_line_scan(const pfd_open_args *args, const pfd_newline_scan *scan, int32_t kind,
                         int32_t num_threads, pfd_index_image **out, pfd_error *err);
#endif
