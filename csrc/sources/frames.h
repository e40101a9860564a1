/* sources/frames.h -- a random-access source over files of framed records; host->open_frames().
 *
 * Opening scans the frames once, with many threads, each on another file, and makes an index
 * like that of lines.  at() calls frame() for the wanted frame and reads its record. OWNERSHIP
 * Files and framing are borrowed until close. THREADS    As of a pfd_source in op.h.
 */
#ifndef PFD_SOURCES_FRAMES_H
#define PFD_SOURCES_FRAMES_H
#include "pyflowdata/op.h"

pfd_status pfd_frames_open(const pfd_open_args *args, const pfd_framing *framing, pfd_source *out,
                           pfd_error *err);
#endif
