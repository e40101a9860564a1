/* io/newline_scan.h -- counting lines quickly.
 *
 * A record is a line with at least one byte that is no blank; blanks are space, tab and CR.  Text
 * is looked at in blocks of 64 bytes, of which a machine makes two bit masks: newlines, and bytes
 * that are neither blank nor newline ("content").  All variants give the same results.
 */
#ifndef PFD_IO_NEWLINE_SCAN_H
#define PFD_IO_NEWLINE_SCAN_H
#include <stdint.h>

typedef struct pfd_newline_scan {
    const char *name;

    /* Passes *records records of text[0, size), beginning at the start of a line, and returns the
     * offset behind the newline of the last one.  Where the text ends first, *records is what was
     * still to pass and size is returned; a last line without newline counts as any other. */
    int64_t (*skip)(const uint8_t *text, int64_t size, int64_t *records);

    /* The newlines of text[0, size). */
    int64_t (*count)(const uint8_t *text, int64_t size);
} pfd_newline_scan;

/* The fastest one that this processor can run. */
const pfd_newline_scan *pfd_newline_scan_best(void);

/* The i-th one that this processor can run, the plain reference first; NULL past the last. */
const pfd_newline_scan *pfd_newline_scan_at(int32_t i);
#endif
