/* index/newline_scan.h -- finds and counts lines quickly.
 *
 * A record is a line with at least one byte that is not blank; blanks are space, tab and CR.  Each
 * block of 64 bytes becomes two bit masks: newlines, and bytes that are neither blank nor newline
 * ("content").  All variants give the same results.
 */
#ifndef PFD_INDEX_NEWLINE_SCAN_H
#define PFD_INDEX_NEWLINE_SCAN_H
#include <stdint.h>

/* The state of a scan that marks records. */
typedef struct pfd_line_marker {
    uint64_t content; /* 1: the current line has content */
    int64_t blank_lines;
    int64_t returns; /* not 0: the text has CR; it is not their number */
} pfd_line_marker;

#define PFD_SPLIT_SLACK 80  /* places that mark() and split() may write beyond those they return */

typedef struct pfd_newline_scan {
    const char *name;

    /* Skips *records records of text[0, size), which begins with a line, and returns the offset
     * after the newline of the last one.  If the text ends first, it returns `size`, and
     * *records is how many remain; a last line without newline counts too. */
    int64_t (*skip)(const uint8_t *text, int64_t size, int64_t *records);

    /* Counts the newlines of text[0, size). */
    int64_t (*count)(const uint8_t *text, int64_t size);

    /* Counts the newlines of text[0, size) that end records.  *content is 1 if the current line has
     * content: at the call the line that continues in the text, afterwards its last line. */
    int64_t (*count_records)(const uint8_t *text, int64_t size, uint64_t *content);

    /* Marks the places after the newlines that end records.  Returns how many; size < 2^31, and
     * marks has room for size / 2 + 1 + PFD_SPLIT_SLACK. */
    int64_t (*mark)(const uint8_t *text, int64_t size, pfd_line_marker *marker, uint32_t *marks);

    /* Finds the places of the first newlines, at most `most`.  Returns how many.  size < 2^31, and
     * newlines has room for most + PFD_SPLIT_SLACK. */
    int64_t (*split)(const uint8_t *text, int64_t size, int64_t most, uint32_t *newlines);
} pfd_newline_scan;

/* The fastest one that this processor can run. */
const pfd_newline_scan *pfd_newline_scan_best(void);

/* The i-th one that this processor can run, the plain reference first; NULL past the last. */
const pfd_newline_scan *pfd_newline_scan_at(int32_t i);
#endif
