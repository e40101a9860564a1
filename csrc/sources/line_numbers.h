/* sources/line_numbers.h -- on which line of its file a byte or a record is; for errors.
 *
 * Bytes of files that are read in any order: the newlines before every megabyte are counted once,
 * up to where they were asked for, so that a file with many damaged lines is not counted through
 * for each of them.
 *
 * Bytes of compressed files: the file is decompressed up to there.  A byte after the one that was
 * asked for before costs the way from that one on, one a few megabytes before it nothing.
 *
 * Records of files that are read in sequence: a map from record to line, noted on the way.  Records
 * and lines go on together until a blank line comes, or another file; a million of these changes
 * are kept, and the lines of records after that are not known.
 *
 * OWNERSHIP  Files are borrowed until free.
 * THREADS    Any; there is a lock, which is held while a file is decompressed.
 */
#ifndef PFD_SOURCES_LINE_NUMBERS_H
#define PFD_SOURCES_LINE_NUMBERS_H
#include "pyflowdata/op.h"

typedef struct pfd_line_numbers pfd_line_numbers;

/* Returns NULL if out of memory. */
pfd_line_numbers *pfd_line_numbers_create(const pfd_file *const *files, int64_t num_files);
void pfd_line_numbers_free(pfd_line_numbers *numbers); /* accepts NULL */

/* The line, from 1, of the byte at `offset` of files[file], 0 <= offset <= size; in a compressed
 * file of its decompressed bytes.  -1: the file cannot be read. */
int64_t pfd_line_numbers_of_byte(pfd_line_numbers *numbers, int64_t file, int64_t offset);

/* Notes that record `ordinal` is on `line`, and that each record after it, up to the next noted
 * one, is on the next line.  Call it in the order of ordinals; the same note may be repeated. */
void pfd_line_numbers_note(pfd_line_numbers *numbers, int64_t ordinal, int64_t line);

/* The line of a record that was noted, or follows a noted one; -1: not known. */
int64_t pfd_line_numbers_of_record(pfd_line_numbers *numbers, int64_t ordinal);
#endif
