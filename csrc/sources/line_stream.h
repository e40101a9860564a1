/* sources/line_stream.h -- a stream over the lines of text files, some of them compressed.
 *
 * OWNERSHIP  Files are borrowed until close; records are copied into the scratch given to next().
 * THREADS    As of a pfd_source in op.h.
 */
#ifndef PFD_SOURCES_LINE_STREAM_H
#define PFD_SOURCES_LINE_STREAM_H
#include "pyflowdata/op.h"

pfd_status pfd_line_stream_open(const pfd_open_args *args, pfd_source *out, pfd_error *err);
#endif
