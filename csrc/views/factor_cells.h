/* views/factor_cells.h -- how often an epoch has each record, by factors that need not be whole.
 *
 * OWNERSHIP  pfd_factor_cells_free() frees what pfd_factor_cells_make() allocated; after a failure
 *            there is nothing to free.
 * THREADS    Everything here may be called from any thread.
 */
#ifndef PFD_VIEWS_FACTOR_CELLS_H
#define PFD_VIEWS_FACTOR_CELLS_H
#include "pyflowdata/op.h"

typedef struct pfd_factor_cells {
    int64_t num_rows;  /* of every epoch */
    int64_t num_cells; /* groups of records with about the same factor, then single records */
    uint64_t *begins; /* of the cells in rows, in 2^-32 of a row, and their end */
    uint32_t *guide;  /* the cell in which each 2^guide_bits begin */
    int guide_bits;
    int64_t *members;  /* where each group's records begin, then those of the single records */
    uint32_t *records; /* of the cells */
} pfd_factor_cells;

/* From n factors, finite and not negative.  PFD_UNSUPPORTED: 2^31 records or rows, or more. */
pfd_status pfd_factor_cells_make(const double *factors, int64_t n, pfd_factor_cells *out,
                                 pfd_error *err);
void pfd_factor_cells_free(pfd_factor_cells *cells);

/* A row of an epoch: the `draw`-th one of its cell, which has so many. */
typedef struct pfd_factor_row {
    int64_t cell, draw, num_draws;
} pfd_factor_row;

/* Row 0 <= row < num_rows of an epoch with a random `offset`. */
pfd_factor_row pfd_factor_cells_find(const pfd_factor_cells *cells, uint32_t offset, int64_t row);

/* Where that search begins. */
static inline const uint32_t *pfd_factor_cells_guide(const pfd_factor_cells *cells,
                                                     uint32_t offset, int64_t row)
{
    return cells->guide + ((((uint64_t)row << 32) + offset) >> cells->guide_bits);
}
#endif
