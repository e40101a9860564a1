/* views/lengths.h -- the lengths of a data set's records: an array that the program gives.
 *
 * OWNERSHIP  The array is borrowed, as core/tables.h says.
 * THREADS    Everything here may be called from any thread.
 */
#ifndef PFD_VIEWS_LENGTHS_H
#define PFD_VIEWS_LENGTHS_H
#include "pyflowdata/op.h"

typedef struct pfd_lengths {
    const int32_t *narrow; /* one of the two */
    const int64_t *wide;
    int64_t count;
} pfd_lengths;

static inline int64_t pfd_length_at(const pfd_lengths *lengths, int64_t record)
{
    return lengths->narrow ? lengths->narrow[record] : lengths->wide[record];
}

/* The table that the attr `attr` names: int32 or int64 numbers, none of them negative, one for each
 * of `records` records.  PFD_INVALID_ARGUMENT names the attr and what is wrong. */
pfd_status pfd_lengths_find(const char *attr, int64_t number, int64_t records, pfd_lengths *out,
                            pfd_error *err);
#endif
