/* sources/text_walk.h -- from a place in a text file, line by line.
 *
 * A mapped file is walked in place.  Of another, windows are read into the scratch, and records of
 * them live as long as it.
 *
 * THREADS  A walk belongs to one thread.
 */
#ifndef PFD_SOURCES_TEXT_WALK_H
#define PFD_SOURCES_TEXT_WALK_H
#include "index/newline_scan.h"
#include "pyflowdata/op.h"

typedef struct pfd_text_walk {
    const pfd_newline_scan *scan;
    const pfd_file *file;
    pfd_scratch *scratch;
    int64_t at;           /* the beginning of a line */
    int64_t window_bytes; /* to read at a time */
    const uint8_t *text;  /* of [begin, end), whose end is that of a line or of the file */
    int64_t begin, end;
} pfd_text_walk;

/* Begins at `offset`; about `bytes` will be read. */
pfd_text_walk pfd_text_walk_begin(const pfd_newline_scan *scan, const pfd_file *file,
                                  pfd_scratch *scratch, int64_t offset, int64_t bytes);

/* Goes past the next newline. */
pfd_status pfd_text_walk_pass_line(pfd_text_walk *walk, pfd_error *err);

/* Goes past the newlines that end the next `records` records. */
pfd_status pfd_text_walk_skip(pfd_text_walk *walk, int64_t records, pfd_error *err);

/* Makes up to n records, numbered from `ordinal` on; fewer only at the end of the file. */
pfd_status pfd_text_walk_read(pfd_text_walk *walk, int64_t ordinal, int64_t n, pfd_record *out,
                              int64_t *done, pfd_error *err);

/* Of the lines in the window only: how many records, n at most. */
int64_t pfd_text_walk_window(pfd_text_walk *walk, int64_t ordinal, int64_t n, pfd_record *out);
#endif
