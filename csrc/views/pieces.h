/* views/pieces.h -- rows that are pieces of a record: the fields that are divided have a piece for
 * each row, along their first dimension; the others are the same in all rows of the record.
 *
 * A part (dataset/view.h) has `length` rows of one record, from piece `begin` of `whole` on.
 *
 * THREADS  Everything here may be called from any thread.
 */
#ifndef PFD_VIEWS_PIECES_H
#define PFD_VIEWS_PIECES_H
#include "pyflowdata/op.h"

#define PFD_DIVIDED_ATTR(type)                                                                     \
    PFD_ATTR_ROW(type, divided, PFD_ATTR_LIST_INT64, NULL, 0, 0, NULL,                             \
                 "Which inputs have a part for each row, along their first dimension: numbers "    \
                 "from 0. The other inputs are the same in all rows of a record.")

/* Infers an output for each input.  `whole`: the pieces that every record has, as `attr` says; -1:
 * records differ. */
pfd_status pfd_pieces_infer(const pfd_infer_args *args, pfd_list_int64 divided, const char *attr,
                            int64_t whole, pfd_error *err);

/* Writes an output for each input.  PFD_CORRUPT_DATA: a record has another number of pieces than
 * its part says, which has it from `attr`. */
pfd_status pfd_pieces_write(const pfd_compute_args *args, pfd_list_int64 divided, const char *attr,
                            pfd_error *err);
#endif
