/* index/newline_scan.h -- finding and counting lines quickly.
 *
 * A record is a line with at least one byte that is not blank; blanks are space, tab and CR.  Text
 * is looked at in blocks of 64 bytes, of which a machine makes two bit masks: newlines, and bytes
 * that are neither blank nor newline ("content").  All variants give the same results.
 */
#ifndef PFD_INDEX_NEWLINE_SCAN_H
#define PFD_INDEX_NEWLINE_SCAN_H
#include <stdint.h>

/* Where a scan stands that marks records. */
typedef struct pfd_line_marker {
    uint64_t content; /* 1: the current line has content */
    int64_t blank_lines;
    int64_t returns; /* CR seen; not how many */
} pfd_line_marker;

#define PFD_SPLIT_SLACK 80  /* places that mark() and split() may write beyond those they return */

typedef struct pfd_newline_scan {
    const char *name;

    /* Passes *records records of text[0, size), beginning at the start of a line, and returns the
     * offset after the newline of the last one.  Where the text ends first, *records is what was
     * still to pass and size is returned; a last line without newline counts as any other. */
    int64_t (*skip)(const uint8_t *text, int64_t size, int64_t *records);

    /* The newlines of text[0, size). */
    int64_t (*count)(const uint8_t *text, int64_t size);

    /* The newlines of text[0, size) that end records.  *content is 1 where the current line has
     * content: before the text, and then after it. */
    int64_t (*count_records)(const uint8_t *text, int64_t size, uint64_t *content);

    /* Marks the places after the newlines that end records.  Returns how many; size < 2^31, and
     * marks has room for size / 2 + 1 + PFD_SPLIT_SLACK. */
    int64_t (*mark)(const uint8_t *text, int64_t size, pfd_line_marker *marker, uint32_t *marks);

    /* The places of the first newlines, at most `most` and as many as there are: returns how many.
     * size < 2^31, and newlines has room for most + PFD_SPLIT_SLACK. */
    int64_t (*split)(const uint8_t *text, int64_t size, int64_t most, uint32_t *newlines);
} pfd_newline_scan;

/* The fastest one that this processor can run. */
const pfd_newline_scan *pfd_newline_scan_best(void);

/* The i-th one that this processor can run, the plain reference first; NULL past the last. */
const pfd_newline_scan *pfd_newline_scan_at(int32_t i);
#endif
