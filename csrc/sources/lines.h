/* sources/lines.h -- the lines of text files: host->open_lines(), and the numbers of lines.
 *
 * OWNERSHIP  Files are borrowed until close or free; records are views into them, or into the
 *            scratch.
 * THREADS    As of a pfd_source in op.h.  Numbers of lines: any; there is a lock, which is held
 *            while a file is decompressed.
 */
#ifndef PFD_SOURCES_LINES_H
#define PFD_SOURCES_LINES_H
#include "pyflowdata/op.h"

/* ---- The lines of bytes and records ---------------------------------------------------------- */

/* On which line of its file a byte or a record is; for errors.
 *
 * Bytes of files that are read in any order: the newlines before every megabyte are counted once,
 * as far as they are needed, so that the whole file is not counted for each of many damaged lines.
 *
 * Bytes of compressed files: the file is decompressed up to the byte.  The next look-up goes on
 * from there; a byte of the last few megabytes before needs no decompression.
 *
 * Records of files that are read in sequence: a map from record to line, noted on the way.  Records
 * and lines go on together until a blank line comes, or another file; a million of these changes
 * are kept, and the lines of records after that are not known. */

typedef struct pfd_line_numbers pfd_line_numbers;

/* Returns NULL if out of memory. */
pfd_line_numbers *pfd_line_numbers_create(const pfd_file *const *files, int64_t num_files);
void pfd_line_numbers_free(pfd_line_numbers *numbers); /* accepts NULL */

/* The line, from 1, of the byte at `offset` of files[file], 0 <= offset <= size; in a compressed
 * file of its decompressed bytes.  -1: the file cannot be read. */
int64_t pfd_line_numbers_of_byte(pfd_line_numbers *numbers, int64_t file, int64_t offset);

/* ---- Sources --------------------------------------------------------------------------------- */

/* A stream where some files are compressed, else a source for any order.  For any order it has a
 * dense index, with the place of every record.  For reading in order it has a sparse one, and at()
 * walks from the nearest block.  Consecutive positions are walked as one run. */
pfd_status pfd_lines_open(const pfd_open_args *args, pfd_source *out, pfd_error *err);
#endif
