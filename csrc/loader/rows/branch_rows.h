/* loader/rows/branch_rows.h -- the rows of a range in each branch of a data set: which records
 * they are.
 *
 * OWNERSHIP  A worker has one pfd_branch_rows for each branch of each tree of its plan.  Records
 *            point into the scratch that they were found with, or into the readers' files.
 * THREADS    One at a time.
 */
#ifndef PFD_LOADER_ROWS_BRANCH_ROWS_H
#define PFD_LOADER_ROWS_BRANCH_ROWS_H
#include "loader/plan/view_tree.h"

typedef struct pfd_branch_rows {
    int64_t n, capacity;
    int64_t row_bytes; /* bytes of a row of all its tensors; 0 where they lie elsewhere; a multiple
                          of 64 */
    uint8_t *memory;   /* capacity * row_bytes, aligned for tensors */
    pfd_places places;
    int64_t *parents;    /* for each row, its row in the branch above */
    pfd_record *records; /* records of a branch with a reader, as its ops take them; in other
                            branches, the records that their rows come from, with files counted
                            among those of all readers; with pieces, that of the first piece */
    pfd_record *drawn;   /* PFD_DRAWN records for the ops of the branch, with ordinals that differ
                            for each draw of a record, and between readers; not set where no op
                            computes */
    pfd_piece *pieces;   /* those of a branch below a view that joins records */
    struct pfd_branch_rows *dealt; /* of a choice: the rows of all branches below it, one branch
                                      after another.  The arrays of these branches are slices of
                                      its arrays, so that many branches of few rows share memory
                                      pages and lines of the processor's cache */
    int64_t *ends;                 /* of a choice: where the rows of each branch end in `dealt` */
} pfd_branch_rows;

/* Room for the rows of each branch; 0: out of memory.  `rows`: of a range; rows[b].row_bytes is set
 * by the caller. */
int32_t pfd_branch_rows_open(const pfd_view_tree *tree, pfd_branch_rows *rows, int64_t capacity);
void pfd_branch_rows_close(const pfd_view_tree *tree, pfd_branch_rows *rows);

/* Asks for what `n` rows of a later batch have in stores, or, with a planner, plans their blocks
 * there; records[i] comes in as below.  `scratch` has memory of the call. */
pfd_status pfd_branch_rows_ahead(const pfd_view_tree *tree, pfd_branch_rows *rows, int64_t n,
                                 const pfd_record *records, const pfd_data_reader *planner,
                                 int64_t batch, pfd_scratch *scratch, pfd_error *err);

/* Finds the records of `n` rows.  records[i] comes in as a place of the outermost view (epoch in
 * offset, position in ordinal) and goes out as the row's record, `filler` as it was; drawn[i] as
 * that of branch 0.  After a failure err->row is the row among these n, and *err has the place of
 * the record. */
pfd_status pfd_branch_rows_find(const pfd_view_tree *tree, pfd_branch_rows *rows, int64_t n,
                                pfd_scratch *scratch, pfd_record *records, pfd_record *drawn,
                                pfd_file_set *files, pfd_error *err);

/* The row of the range that row `row` of a branch belongs to. */
int64_t pfd_branch_rows_outermost(const pfd_view_tree *tree, const pfd_branch_rows *rows, int32_t b,
                                  int64_t row);
#endif
