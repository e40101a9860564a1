/* sources/text_walk.h -- walks through a text file from a place on, line by line.
 *
 * A mapped file is walked in place.  Of other files, windows are read into the scratch; their
 * records live as long as the scratch.
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
    int64_t window_bytes; /* how much to read at a time */
    const uint8_t *text;  /* of [begin, end); `end` is the end of a line or of the file */
    int64_t begin, end;
} pfd_text_walk;

/* Starts a walk at `offset`; `bytes` is an estimate of how much will be read. */
pfd_text_walk pfd_text_walk_begin(const pfd_newline_scan *scan, const pfd_file *file,
                                  pfd_scratch *scratch, int64_t offset, int64_t bytes);

/* Moves after the next newline. */
pfd_status pfd_text_walk_pass_line(pfd_text_walk *walk, pfd_error *err);

/* Moves after the newlines that end the next `records` records. */
pfd_status pfd_text_walk_skip(pfd_text_walk *walk, int64_t records, pfd_error *err);

/* Makes up to n records, numbered from `ordinal` on; fewer only at the end of the file. */
pfd_status pfd_text_walk_read(pfd_text_walk *walk, int64_t ordinal, int64_t n, pfd_record *out,
                              int64_t *done, pfd_error *err);

/* The same with only the lines in the window.  Returns how many records it made, at most n. */
int64_t pfd_text_walk_window(pfd_text_walk *walk, int64_t ordinal, int64_t n, pfd_record *out);
#endif
