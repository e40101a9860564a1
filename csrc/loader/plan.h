/* loader/plan.h -- what a loader computes, settled at open: readers, ops in order, where blobs lie.
 *
 * A tensor is one output of one node. A wanted one lies in the slot for the whole batch; any other
 * lies in the worker's memory for the row range at hand.
 *
 * OWNERSHIP  A plan owns references to its nodes, and its readers.
 * THREADS    open and close: one thread.  In between it is read only, by any thread.
 */
#ifndef PFD_LOADER_PLAN_H
#define PFD_LOADER_PLAN_H
#include "loader/data_reader.h"

typedef struct pfd_plan_tensor {
    pfd_row_type type;
    int64_t row_bytes;
    int64_t offset;  /* of row 0, in the slot's or in the worker's memory */
    int32_t in_slot; /* 1: wanted */
} pfd_plan_tensor;

typedef struct pfd_plan_op {
    pfd_node *node;       /* owned reference */
    int32_t reader;       /* index of the first reader upstream (itself, for a reader op) */
    int32_t first_output; /* its tensors follow each other */
    int32_t *inputs;      /* tensors; one per input of the op */
} pfd_plan_op;

typedef struct pfd_plan {
    pfd_plan_op *ops; /* in an order in which inputs come first */
    int32_t num_ops;
    pfd_plan_tensor *tensors;
    int32_t num_tensors;
    uint32_t most_inputs; /* of an op */
    pfd_data_reader *readers;
    int32_t num_readers;
    const _Atomic int32_t *cancel; /* borrowed; 1: give up */
    int32_t *wanted;               /* tensor of each blob that the user asked for */
    int64_t *offsets;              /* of the same in the slot */
    int64_t num_wanted;

    int32_t zip;              /* PFD_ZIP_* */
    int32_t stream;           /* some reader is a stream: batches are read one after the other */
    int64_t num_batches;      /* -1: known at the end of the epoch */
    int64_t local_batch_size; /* rows of a slot */
    int64_t chunk_rows;       /* rows of a range; does not depend on the number of threads, so that
                                 failures repeat */
    int64_t slot_bytes;       /* multiple of 64 */
    int64_t worker_bytes;
} pfd_plan;

/* Collects the nodes behind the blobs, opens the readers, lays out the memory. `zip` is PFD_ZIP_*,
 * `cancel` is borrowed by the readers.
 * A failure leaves a plan that close() accepts. */
pfd_status pfd_plan_open(pfd_plan *plan, const pfd_blob *blobs, int64_t num_blobs, int32_t zip,
                         const _Atomic int32_t *cancel, pfd_error *err);
void pfd_plan_close(pfd_plan *plan); /* accepts a zeroed struct */
#endif
