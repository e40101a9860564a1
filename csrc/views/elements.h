/* views/elements.h -- rows that are elements of a record: the fields that are divided have an
 * element for each row, along their first dimension; the others are the same in all rows of the
 * record.
 *
 * A pfd_piece (dataset/view.h) is a run of such elements: `length` rows of one record, from element
 * `begin` of `whole` on.
 *
 * THREADS  Everything here may be called from any thread.
 */
#ifndef PFD_VIEWS_ELEMENTS_H
#define PFD_VIEWS_ELEMENTS_H
#include "pyflowdata/op.h"

#define PFD_DIVIDED_ATTR(type)                                                                     \
    PFD_ATTR_ROW(type, divided, PFD_ATTR_LIST_INT64, NULL, 0, 0, NULL,                             \
                 "Which inputs have an element for each row, along their first dimension: "        \
                 "numbers from 0. The other inputs are the same in all rows of a record.")

/* Infers an output for each input.  `whole`: the elements that every record has, as `attr` says;
 * -1: records differ. */
pfd_status pfd_elements_infer(const pfd_infer_args *args, pfd_list_int64 divided, const char *attr,
                              int64_t whole, pfd_error *err);

/* Writes an output for each input; `fields`: their names.  PFD_CORRUPT_DATA: a divided field of a
 * record has another number of elements than `attr` says, which may be that of another field. */
pfd_status pfd_elements_write(const pfd_compute_args *args, pfd_list_string fields,
                              pfd_list_int64 divided, const char *attr, pfd_error *err);
#endif
