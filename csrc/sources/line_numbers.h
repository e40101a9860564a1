/* sources/line_numbers.h -- on which line of its file a byte is; for errors.
 *
 * The newlines before every megabyte are counted once, up to where they were asked for, so that a
 * file with many damaged lines is not counted through for each of them.
 *
 * OWNERSHIP  Files and scan are borrowed until free.
 * THREADS    of() may be called from any thread; it takes a lock.
 */
#ifndef PFD_SOURCES_LINE_NUMBERS_H
#define PFD_SOURCES_LINE_NUMBERS_H
#include "index/newline_scan.h"
#include "pyflowdata/op.h"

typedef struct pfd_line_numbers pfd_line_numbers;

pfd_line_numbers *pfd_line_numbers_create(const pfd_file *const *files, int64_t num_files,
                                          const pfd_newline_scan *scan); /* NULL: out of memory */
void pfd_line_numbers_free(pfd_line_numbers *numbers);                   /* accepts NULL */

/* 1-based line of the byte at `offset`, 0 <= offset <= size; -1: the file cannot be read. */
int64_t pfd_line_numbers_of(pfd_line_numbers *numbers, int64_t file, int64_t offset);
#endif
