/* formats/parquet/parquet_footer.h -- the footer of a Parquet file: its row groups, their leaves,
 * statistics.
 *
 * A decoder of Parquet may trust the footer, and end the process where it is damaged.  So what this
 * library needs of columns is read here, and the decoder is asked for a row group as a whole.
 *
 * OWNERSHIP  pfd_parquet_footer_free() frees the lists.  Names and bounds point into the scratch of
 *            the read, or into the mapped file: the lists are freed before that scratch is reset.
 * THREADS    Any.
 */
#ifndef PFD_FORMATS_PARQUET_PARQUET_FOOTER_H
#define PFD_FORMATS_PARQUET_PARQUET_FOOTER_H
#include "pyflowdata/pyflowdata.h"

typedef struct pfd_parquet_footer {
    pfd_row_groups found;
    pfd_row_group *groups;
    pfd_row_group_leaf *leaves;
    pfd_row_group_bounds *bounds; /* only those that were asked for */
} pfd_parquet_footer;

/* Reads the footer of a file that begins and ends with PAR1; the caller frees *out in any case.
 * ERRORS  PFD_CORRUPT_DATA names the file and the byte, and the row group and the column where it
 *         is in one.  PFD_OUT_OF_MEMORY. */
pfd_status pfd_parquet_footer_read(const pfd_host *host, const pfd_file *file,
                                   pfd_scratch *scratch, int32_t wants_bounds,
                                   pfd_parquet_footer *out, pfd_error *err);
void pfd_parquet_footer_free(pfd_parquet_footer *footer);
#endif
