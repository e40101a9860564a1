/* sources/frame_stream.h -- a stream over files of framed records, some of them compressed.
 *
 * OWNERSHIP  Files are borrowed until close; records are copied into the scratch given to next().
 * THREADS    As of a pfd_source in op.h.
 */
#ifndef PFD_SOURCES_FRAME_STREAM_H
#define PFD_SOURCES_FRAME_STREAM_H
#include "sources/frame_call.h"

pfd_status pfd_frame_stream_open(const pfd_open_args *args, const pfd_frame_call *call,
                                 pfd_source *out, pfd_error *err);
#endif
