/* views/record_table.h -- tables with a number for each record of a data set: labels, weights,
 * lengths, and the runs of records with the same key.
 *
 * OWNERSHIP  The arrays are borrowed, as those of core/tables.h.
 * THREADS    Everything here may be called from any thread.
 */
#ifndef PFD_VIEWS_RECORD_TABLE_H
#define PFD_VIEWS_RECORD_TABLE_H
#include "dataset/view.h"

/* The numbers of the table that is the attr's value.  PFD_INVALID_ARGUMENT: the table has not one
 * number of `dtype` for each record of the inner view; PFD_UNSUPPORTED: 2^32 records or more. */
pfd_status pfd_record_table(const pfd_view_args *args, const char *attr, int64_t number,
                            int32_t dtype, const void **out, pfd_error *err);

/* The same for numbers that say how often a record is wanted: finite, none negative, and at least
 * one above 0. */
pfd_status pfd_record_weights(const pfd_view_args *args, const char *attr, int64_t number,
                              const double **out, pfd_error *err);

/* ---- Runs: records sorted by keys, those with equal keys together ---------------------------- */

/* Records [0, n), n < 2^32, in ascending order of their keys, those with equal keys in their own
 * order; the caller frees them.  NULL: out of memory. */
uint32_t *pfd_sort_records(const uint64_t *keys, int64_t n);

/* The end of the run that begins at records[i], of keys that differ in their lowest `shift` bits at
 * most. */
static inline int64_t pfd_run_end(const uint64_t *keys, const uint32_t *records, int64_t n,
                                  int64_t i, int shift)
{
    const uint64_t key = keys[records[i]] >> shift;
    do i++;
    while (i < n && keys[records[i]] >> shift == key);
    return i;
}

/* ---- Lengths --------------------------------------------------------------------------------- */

typedef struct pfd_lengths {
    const int32_t *narrow; /* one of the two */
    const int64_t *wide;
    int64_t count;
} pfd_lengths;

static inline int64_t pfd_length_at(const pfd_lengths *lengths, int64_t record)
{
    return lengths->narrow ? lengths->narrow[record] : lengths->wide[record];
}

/* The lengths in the table that the attr names: int32 or int64, none negative, one for each of
 * `records` records.  PFD_INVALID_ARGUMENT names the attr and what is wrong. */
pfd_status pfd_lengths_find(const char *attr, int64_t number, int64_t records, pfd_lengths *out,
                            pfd_error *err);
#endif
