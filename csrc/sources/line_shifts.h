/* sources/line_shifts.h -- on which line of its file a record is, of files that are read once.
 *
 * Record numbers and line numbers differ by the same amount until a blank line comes, or another
 * file.  These changes are noted, a million of them; of records behind, the line is not known.
 *
 * THREADS  Any.
 */
#ifndef PFD_SOURCES_LINE_SHIFTS_H
#define PFD_SOURCES_LINE_SHIFTS_H
#include <stdint.h>

typedef struct pfd_line_shifts pfd_line_shifts;

pfd_line_shifts *pfd_line_shifts_create(void);      /* NULL: out of memory */
void pfd_line_shifts_free(pfd_line_shifts *shifts); /* accepts NULL */

/* From the record `ordinal` on, up to the next one that is noted, lines follow each other: it is on
 * `line`.  Told in order of ordinals; what was told before may be told again. */
void pfd_line_shifts_note(pfd_line_shifts *shifts, int64_t ordinal, int64_t line);

/* The line of a record that was passed; -1: not known. */
int64_t pfd_line_shifts_find(pfd_line_shifts *shifts, int64_t ordinal);
#endif
