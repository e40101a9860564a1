/* index/line_scan.h -- the scan of text files that makes an index of their lines.
 *
 * Files are scanned in pieces by many threads.  A piece does not know whether the line that is open
 * where it begins has content: each is scanned as if it had, and mended where it had not.
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
