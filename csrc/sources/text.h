/* sources/text.h -- text files: their beginnings, their line ends, walks over their lines. */
#ifndef PFD_SOURCES_TEXT_H
#define PFD_SOURCES_TEXT_H
#include "files/file_stream.h"
#include "index/line_scan.h"

/* ---- The beginning of a text ----------------------------------------------------------------- */

/* Returns 3 if a UTF-8 byte order mark begins the text, else 0. */
static inline int64_t pfd_text_mark_bytes(const uint8_t *text, int64_t size)
{
    return size >= 3 && text[0] == 0xef && text[1] == 0xbb && text[2] == 0xbf ? 3 : 0;
}

/* *out is the file or, if it is compressed, a file of its decompressed bytes, which `window` holds.
 * The same window may be used for several files in turn.  The caller closes it. */
pfd_status pfd_text_file(const pfd_file *file, pfd_stream_window *window, const pfd_file **out,
                         pfd_error *err);

/* Examines text[0, size), which ends at the end of the file if is_end is 1.  Returns PFD_END if it
 * needs more text; with is_end it must not. */
typedef pfd_status (*pfd_text_look_fn)(void *ctx, const uint8_t *text, int64_t size, int32_t is_end,
                                       pfd_error *err);

/* Calls look() with longer and longer texts from `offset` on; a mapped file is given whole. */
pfd_status pfd_text_look(const pfd_host *host, const pfd_file *file, int64_t offset,
                         pfd_scratch *scratch, pfd_text_look_fn look, void *ctx, pfd_error *err);

/* Sets *head to the offset after a byte order mark and the first `lines` lines, including blank
 * ones. */
pfd_status pfd_text_head(const pfd_host *host, const pfd_file *file, int64_t lines,
                         pfd_scratch *scratch, int64_t *head, pfd_error *err);

/* ---- How lines end --------------------------------------------------------------------------- */

/* Refuses text files whose lines do not end with LF when they are opened, before they are read as
 * one long record or as bytes: a file in UTF-16 or UTF-32, and a file with two or more CR that seem
 * to be line ends: no LF follows, or the only LF is the last byte and after a CR, or, with
 * is_header, they are in the first line, which has the names of columns.  A single line with one CR
 * is accepted, and so is any number of them between two bytes `quote`; 0: nothing is quoted.
 * ERRORS  PFD_UNSUPPORTED with the cause, and what to do; those of reading the files. */
pfd_status pfd_text_check(const pfd_open_args *args, uint8_t quote, int32_t is_header,
                          pfd_error *err);

/* ---- Walks over lines ------------------------------------------------------------------------ */

/* A walk from a place on, line by line.  Mapped files are walked in place.  Windows of other files
 * are read into the scratch; their records live as long as the scratch.  One thread has a walk. */
typedef struct pfd_text_walk {
    const pfd_newline_scan *scan;
    const pfd_file *file;
    pfd_scratch *scratch;
    int64_t at;           /* the beginning of a line */
    int64_t window_bytes; /* how much to read at a time */
    const uint8_t *text;  /* text of [begin, end); `end` is the end of a line or of the file */
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
