/* loader/ring/counters.h -- what a loader counts, for whoever asks at any time.
 *
 * The kernel is asked without `lock`, which the threads need: it takes files to open, for each
 * thread.
 */
#ifndef PFD_LOADER_COUNTERS_H
#define PFD_LOADER_COUNTERS_H
#include "loader/ring/loader_fields.h"

/* With `asking` held: brings loader->system up to date. */
void pfd_counters_ask(pfd_loader *loader);

/* With `asking` and `lock` held, after that: keeps the counts of threads and work that are about to
 * be freed.  0: out of memory; then there will be no work to ask for. */
int32_t pfd_counters_keep(pfd_loader *loader);
#endif
