/* loader/counters.h -- what a loader counts, for whoever asks at any time.
 *
 * THREADS  With the loader's `lock` held.
 */
#ifndef PFD_LOADER_COUNTERS_H
#define PFD_LOADER_COUNTERS_H
#include "loader/loader_fields.h"

/* Brings loader->stats up to date. */
void pfd_counters_update(pfd_loader *loader);

/* Keeps the counts of threads and work that are about to be freed.  0: out of memory; then there
 * will be no work to ask for. */
int32_t pfd_counters_keep(pfd_loader *loader);
#endif
