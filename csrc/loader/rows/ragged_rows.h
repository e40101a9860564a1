/* loader/rows/ragged_rows.h -- checks, keeps and joins the rows of a ragged tensor.
 *
 * An op makes a pfd_ragged_row for each row, which points to its elements anywhere in memory.
 * They are copied to the arena of the row range unless they live as long as the batch is made. When
 * the batch is complete, all rows are copied to one place, in order.
 *
 * THREADS  Any number, on rows that do not overlap.
 */
#ifndef PFD_LOADER_ROWS_RAGGED_ROWS_H
#define PFD_LOADER_ROWS_RAGGED_ROWS_H
#include "loader/rows/row_batch.h"

/* Compares the n rows that an op made with their type.  PFD_INTERNAL names the output and the
 * row. */
pfd_status pfd_ragged_rows_check(const pfd_plan_tensor *tensor, const pfd_ragged_row *rows,
                                 int64_t n, pfd_error *err);

/* Copies rows to the arena, so that all live until it is reset.  Two kinds stay where they are,
 * as they live that long: rows in the bytes of their records, and all rows outside `passing`, the
 * scratch of a call whose rows last; NULL: they do not last. */
pfd_status pfd_ragged_rows_keep(const pfd_plan_tensor *tensor, pfd_ragged_row *rows, int64_t n,
                                const pfd_record *records, const pfd_scratch *passing,
                                pfd_scratch *arena, pfd_error *err);

/* All dimensions of a row. */
void pfd_ragged_row_shape(const pfd_plan_tensor *tensor, const pfd_ragged_row *row,
                          int64_t *shape);

/* Writes the row_splits of the requested ragged blobs, and returns the bytes of all their
 * values, with room for alignment; -1: more than any machine has. */
int64_t pfd_ragged_rows_measure(const pfd_plan *plan, pfd_row_batch *batch);

/* Sets where in batch->values each blob will be. */
void pfd_ragged_rows_place(const pfd_plan *plan, pfd_row_batch *batch);

/* Copies elements and shapes of rows [begin, end) to their places. */
void pfd_ragged_rows_join(const pfd_plan *plan, pfd_row_batch *batch, int64_t begin, int64_t end);
#endif
