/* core/fusion.h -- two ops computed as one.
 *
 * If an op needs only a part of the output of the op before it, both can run as one: the loader
 * gives the fused function of the second op the inputs of the first op and the attrs of both.  The
 * rows are the same with and without fusion, with one exception: a row whose damage is in the part
 * that is not needed fails only without fusion.  registry/builtin_fusions.c lists such pairs.
 */
#ifndef PFD_CORE_FUSION_H
#define PFD_CORE_FUSION_H
#include "pyflowdata/op.h"

/* The first of the two ops, in a call of the fused function. */
typedef struct pfd_producer {
    const void *attrs;
    int32_t *has_failed; /* set by pfd_producer_failed(); 0 before the call */
} pfd_producer;

/* As compute() of the second op, but args->inputs are those of the producer.  Failures of the
 * producer's part are handed to pfd_producer_failed(). */
typedef pfd_status (*pfd_fused_compute)(const pfd_compute_args *args, const pfd_producer *producer,
                                        pfd_error *err);

typedef struct pfd_fusion {
    const pfd_op *producer, *consumer; /* each with one input, the producer with one output */
    pfd_fused_compute compute;
} pfd_fusion;

/* The failure in *err is the producer's: sets has_failed, and returns the status. */
static inline pfd_status pfd_producer_failed(const pfd_producer *producer, const pfd_error *err)
{
    *producer->has_failed = 1;
    return err->status;
}
#endif
