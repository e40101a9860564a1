/* views/record_table.h -- tables with a number for each record of a data set.
 *
 * OWNERSHIP  The arrays are borrowed, as those of core/tables.h.
 */
#ifndef PFD_VIEWS_RECORD_TABLE_H
#define PFD_VIEWS_RECORD_TABLE_H
#include "dataset/view.h"

/* The numbers of the table that is the attr's value.  PFD_INVALID_ARGUMENT where they are not one
 * of `dtype` for each of the inner view's records, and PFD_UNSUPPORTED for 2^32 records or more. */
pfd_status pfd_record_table(const pfd_view_args *args, const char *attr, int64_t number,
                            int32_t dtype, const void **out, pfd_error *err);

/* The same for numbers that say how often a record is wanted: finite, none negative, and at least
 * one above 0. */
pfd_status pfd_record_weights(const pfd_view_args *args, const char *attr, int64_t number,
                              const double **out, pfd_error *err);
#endif
