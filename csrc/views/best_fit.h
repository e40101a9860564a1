/* views/best_fit.h -- packs the records of one window: best fit, longest first.
 *
 * Each record goes into the pack that it fills best: the one with the least room that is enough.
 * O(log64 of the pack's length) for a record; nothing is allocated after create.
 *
 * THREADS  One at a time.
 */
#ifndef PFD_VIEWS_BEST_FIT_H
#define PFD_VIEWS_BEST_FIT_H
#include "pyflowdata/op.h"

#define PFD_BEST_FIT_MOST_LENGTH (INT64_C(1) << 24)

typedef struct pfd_best_fit pfd_best_fit;

/* For packs of `length` elements, at most PFD_BEST_FIT_MOST_LENGTH, and windows of up to `window`
 * records. */
pfd_status pfd_best_fit_create(int64_t length, int64_t window, pfd_best_fit **out, pfd_error *err);
void pfd_best_fit_free(pfd_best_fit *self); /* accepts NULL */

/* Packs n records with lengths in [0, length]: pack_of[i] is the pack of record i, counted from 0
 * in the order in which they were opened, or -1 for an empty record.  Returns how many packs there
 * are.  A pure function of the lengths. */
int64_t pfd_best_fit_pack(pfd_best_fit *self, const int32_t *lengths, int64_t n, int32_t *pack_of);
#endif
