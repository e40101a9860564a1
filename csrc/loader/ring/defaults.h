/* loader/ring/defaults.h -- threads and batches in flight where the program gives no number, and
 * the most that there may be.
 *
 * THREADS  While a loader is opened; the first one at any time.
 */
#ifndef PFD_LOADER_DEFAULTS_H
#define PFD_LOADER_DEFAULTS_H
#include "loader/ring/loader_fields.h"

int32_t pfd_usual_prefetch(const void *plan, int32_t num_threads);
int32_t pfd_most_threads(const pfd_loader *loader);  /* with PFD_AUTO */
int64_t pfd_most_prefetch(const pfd_loader *loader); /* with PFD_AUTO, or threads that change */
#endif
