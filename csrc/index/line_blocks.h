/* index/line_blocks.h -- the sparse index of lines, for reading in order: how many records end
 * in each block of a text.
 *
 * Its size is 1/1800 of the text.  Finding a record takes a search and, on average, a walk
 * through half a block.
 *
 * OWNERSHIP  The image is borrowed.
 * THREADS    Any.
 */
#ifndef PFD_INDEX_LINE_BLOCKS_H
#define PFD_INDEX_LINE_BLOCKS_H
#include "index/index_image.h"

enum { PFD_LINE_BLOCK_BYTES = 4 * 1024, PFD_BLOCKS_PER_ENTRY = 28 };

typedef struct pfd_line_entry {
    int64_t records_before; /* that end in the file before the first block */
    /* For each block the number of records that end in it, plus 2^15 if its first newline ends one:
     * that depends on the text before the block. */
    uint16_t counts[PFD_BLOCKS_PER_ENTRY];
} pfd_line_entry;

enum { PFD_FIRST_NEWLINE_ENDS = 1 << 15 };

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

/* How many entries a file has. */
int64_t pfd_line_blocks_entries(const pfd_file *file);

/* Returns 0 if the numbers of the image cannot belong to these files. */
int32_t pfd_line_blocks_init(pfd_line_blocks *blocks, const pfd_index_image *image,
                             const pfd_file *const *files);

/* Position in [0, num_records). */
pfd_line_block_start pfd_line_blocks_find(const pfd_line_blocks *blocks, int64_t position);
#endif
