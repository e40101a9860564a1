/* sources/frames.h -- files of framed records as a random-access source; host->open_frames().
 *
 * The frames are skimmed once, file by file on many threads, into the same index as that of lines;
 * at() asks frame() for the current frame and reads its record.
 * OWNERSHIP  Files and framing are borrowed until close.
 * THREADS    As of a pfd_source in op.h.
 */
#ifndef PFD_SOURCES_FRAMES_H
#define PFD_SOURCES_FRAMES_H
#include "pyflowdata/op.h"

pfd_status pfd_frames_open(const pfd_open_args *args, const pfd_framing *framing, pfd_source *out,
                           pfd_error *err);
#endif
