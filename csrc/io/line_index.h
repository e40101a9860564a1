/* io/line_index.h -- where the records of text files begin.
 *
 * THREADS  build and free: one thread.  The rest: any.
 */
#ifndef PFD_IO_LINE_INDEX_H
#define PFD_IO_LINE_INDEX_H
#include "io/newline_scan.h"
#include "pyflowdata/op.h"

/* Files stand one behind the other in all of the text, each ended by a newline. */
typedef struct pfd_line_file {
    int64_t first_record, first_byte;
} pfd_line_file;

typedef struct pfd_line_group pfd_line_group;

typedef struct pfd_line_index {
    const pfd_text_file *texts; /* borrowed */
    int64_t num_files, num_records;
    pfd_line_file *files; /* num_files + 1: the last one holds the totals */
    int shift;            /* a stride is that of 2^shift records */
    int width;            /* and is stored in 2^width bytes */
    int64_t num_groups, capacity;
    pfd_line_group *groups; /* mapped */
} pfd_line_index;

/* Where to look for a record: `skip` records behind a place in a file. */
typedef struct pfd_line_start {
    int64_t file, offset, skip;
} pfd_line_start;

pfd_status pfd_line_index_build(pfd_line_index *index, const pfd_text_file *files,
                                int64_t num_files, const pfd_newline_scan *scan, pfd_error *err);
void pfd_line_index_free(pfd_line_index *index); /* accepts a zeroed one */

/* Positions are in [0, num_records). */
pfd_line_start pfd_line_index_find(const pfd_line_index *index, int64_t position);
int64_t pfd_line_index_file_of(const pfd_line_index *index, int64_t position);

/* Makes the records at n positions, as far as the index knows where they end, without touching
 * their text: that is fetched into the cache meanwhile.  Returns how many it does not know; their
 * size is -1. */
int64_t pfd_line_index_look_up(const pfd_line_index *index, const int64_t *positions, int64_t n,
                               pfd_record *out);
#endif
