/* index/line_scan.h -- finds and counts lines quickly, and makes the indexes of text files.
 *
 * A record is a line with at least one byte that is not blank; blanks are space, tab and CR.
 *
 * OWNERSHIP  Images that are read are borrowed.
 * THREADS    Any.
 */
#ifndef PFD_INDEX_LINE_SCAN_H
#define PFD_INDEX_LINE_SCAN_H
#include "index/index_image.h"

#include <stdint.h>

/* ---- Lines in memory ------------------------------------------------------------------------- */

/* Each block of 64 bytes becomes two bit masks: newlines, and bytes that are neither blank nor
 * newline ("content").  All variants give the same results. */

static inline int pfd_is_blank(const uint8_t *text, const uint8_t *end)
{
    while (text < end && (*text == ' ' || *text == '\t' || *text == '\r')) text++;
    return text == end;
}

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

/* ---- The sparse index ------------------------------------------------------------------------ */

/* For reading in order: how many records end in each block of a text.  Its size is 1/1800 of the
 * text.  Finding a record takes a search and, on average, a walk through half a block. */

enum { PFD_LINE_BLOCK_BYTES = 4 * 1024, PFD_BLOCKS_PER_ENTRY = 28 };

typedef struct pfd_line_entry {
    int64_t records_before; /* that end in the file before the first block */
    /* For each block the number of records that end in it, plus 2^15 if its first newline ends one:
     * that depends on the text before the block. */
    uint16_t counts[PFD_BLOCKS_PER_ENTRY];
} pfd_line_entry;

typedef struct pfd_line_blocks {
    int64_t num_files, num_records;
    const pfd_index_file *files; /* places are entries */
    const pfd_line_entry *entries;
} pfd_line_blocks;

/* Where to find a record: `skip` ends of records after a place. */
typedef struct pfd_line_block_start {
    int64_t file, offset, skip;
    int32_t first_newline_ends; /* 1: the first newline ends a record */
} pfd_line_block_start;

/* Returns 0 if the numbers of the image cannot belong to these files. */
int32_t pfd_line_blocks_init(pfd_line_blocks *blocks, const pfd_index_image *image,
                             const pfd_file *const *files);

/* Position in [0, num_records). */
pfd_line_block_start pfd_line_blocks_find(const pfd_line_blocks *blocks, int64_t position);

/* ---- The index of lines ---------------------------------------------------------------------- */

/* Scans text files to make an index of their lines, a new image.  Many threads scan the files in
 * pieces.  A line that is open where a piece begins may have content in an earlier piece.  Each
 * piece is scanned as if it had, and corrected later if it had not.
 *
 * kind: PFD_INDEX_LINES or PFD_INDEX_BLOCKS.
 * ERRORS  Those of reading the files; PFD_CANCELLED once the scratch of the args says so. */
pfd_status pfd_line_scan(const pfd_open_args *args, const pfd_newline_scan *scan, int32_t kind,
                         int32_t num_threads, pfd_index_image **out, pfd_error *err);
#endif
