/* loader/ring/tuning.h -- measures a loader in periods, and adjusts it as autotune.h finds.
 *
 * The order of batches and the state of a loader depend on neither: batches are numbered when they
 * are started, whatever number of them is in flight.
 *
 * A search makes no thread of its own: a period ends with the delivery of a batch.
 */
#ifndef PFD_LOADER_TUNING_H
#define PFD_LOADER_TUNING_H
#include "loader/watch/autotune.h"
#include "loader/ring/loader_fields.h"

typedef struct pfd_tuning {
    pfd_autotune tuner;
    int32_t is_measuring;     /* a period */
    int64_t begin_ns, due_ns; /* of it; when it may end */
    /* Counts when it began: */
    int64_t num_chunks, thread_ns, idle_ns, steps, wait_ns, train_ns, batches_made;
    int64_t no_memory_ns, used_ns;
} pfd_tuning;

pfd_status pfd_tuning_open(pfd_loader *loader, pfd_error *err); /* where PFD_AUTO was given */

/* With `lock` held.  Another place of the order is next: the period does not count. */
void pfd_tuning_restart(pfd_loader *loader);
/* Whether a period may be over with the batch that was just delivered. */
static inline int32_t pfd_tuning_is_due(const pfd_loader *loader)
{
    return loader->tuning && loader->steps.delivered_ns >= loader->tuning->due_ns;
}

/* With `consumer` held: when it is due, and what is then found. */
void pfd_tuning_run(pfd_loader *loader);
void pfd_tuning_apply(pfd_loader *loader, int32_t num_threads, int32_t prefetch);
#endif
