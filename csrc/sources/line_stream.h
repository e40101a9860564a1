/* sources/line_stream.h -- text files, some of them compressed, as a stream of lines.
 *
 * OWNERSHIP  Files are borrowed until close; records are copied into the scratch given to next().
 * THREADS    As of a pfd_source in op.h.
 */
#ifndef PFD_SOURCES_LINE_STREAM_H
#define PFD_SOURCES_LINE_STREAM_H
#include "pyflowdata/op.h"

pfd_status pfd_line_stream_open(const pfd_open_args *args, pfd_source *out, pfd_error *err);
#endif
