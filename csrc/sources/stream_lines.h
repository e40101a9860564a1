/* sources/stream_lines.h -- on which line a byte of a compressed file is; for errors.
 *
 * The file is decompressed up to there; a byte behind the one asked for before costs the way from
 * that one on, one a few megabytes before it nothing.
 *
 * OWNERSHIP  Files are borrowed until free.
 * THREADS    of() may be called from any thread; it holds a lock meanwhile.
 */
#ifndef PFD_SOURCES_STREAM_LINES_H
#define PFD_SOURCES_STREAM_LINES_H
#include "pyflowdata/op.h"

typedef struct pfd_stream_lines pfd_stream_lines;

pfd_stream_lines *pfd_stream_lines_create(const pfd_file *const *files); /* NULL: out of memory */
void pfd_stream_lines_free(pfd_stream_lines *lines);                     /* accepts NULL */

/* 1-based line of the decompressed byte at `offset` of a file; -1: it cannot be read. */
int64_t pfd_stream_lines_of(pfd_stream_lines *lines, int64_t file, int64_t offset);
#endif
