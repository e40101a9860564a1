/* loader/plan/plan.h -- what a loader computes, settled at open: readers, ops in order, and where
 * the memory of a batch is.
 *
 * A tensor is one output of one node. One that is wanted, or needed by a later stage, lies in the
 * slot for the whole batch; any other lies in the worker's memory for the current row range. What
 * lies there of a ragged tensor is a pfd_ragged_row for each row.
 *
 * Ops run in stages: those of an even one over row ranges, those of an odd one, which need the
 * whole batch, once. A stage begins when the stage before it has ended for the batch. Most loaders
 * have one stage.
 *
 * OWNERSHIP  A plan owns references to its nodes, and its readers.
 * THREADS    open and close: one thread.  In between it is read only, by any thread.
 */
#ifndef PFD_LOADER_PLAN_PLAN_H
#define PFD_LOADER_PLAN_PLAN_H
#include "loader/plan/view_tree.h"

typedef struct pfd_plan_tensor {
    pfd_row_type type;
    const char *name;  /* name of the output */
    int32_t op;        /* index of the plan's op that makes the tensor */
    int64_t row_bytes; /* ragged: of a pfd_ragged_row */
    int64_t offset;    /* place of row 0, in the slot's or in the worker's memory; in a branch's
                          memory, the place of row 0 if there were room for one row */
    int32_t in_slot;   /* 1: wanted, or needed by a later stage */
    int32_t in_branch; /* 1: its rows are those of its op's branch, in memory of the branch */
    int32_t may_point; /* 1: made by a reader in a branch, and only a choice takes its rows: the
                          reader may say in pfd_tensor.rows where they are, so that they are copied
                          once, by the choice */
    int64_t pointers;  /* with may_point: offset of pfd_tensor.rows, in memory of the branch */
    int32_t is_wanted;
    int32_t is_used; /* wanted, or an input of an op */
    int32_t is_ragged;
    int32_t has_shapes;   /* ragged: delivered with the shape of each row */
    int64_t unit;         /* ragged: elements that one in row_splits stands for */
    int64_t unit_bytes;   /* ragged: of these */
    int64_t batch_offset; /* ragged and wanted: of its pfd_ragged_batch in the slot's memory */
    int64_t splits_offset, shapes_offset; /* and of what that points to */
} pfd_plan_tensor;

typedef struct pfd_plan_op {
    pfd_node *node; /* owned reference */
    int32_t reader; /* index of the first reader upstream (itself, for a reader op) */
    int32_t data_set;  /* index of the reader whose data set it is a part of; -1: of none */
    int32_t branch;    /* branch of the data set whose rows it computes; -1: the batch's */
    int32_t pieces_of; /* branch of the inputs of a view that joins records; -1: no such view */
    int32_t is_choice; /* 1: takes each row from one of its inputs, by branch; computes nothing */
    int32_t field;     /* which output of its node a choice takes */
    int32_t num_inputs, num_outputs;
    int32_t has_rows;      /* 1: its rows are in the pfd_branch_rows of its branch */
    int32_t drawn_records; /* else: which of a batch's arrays of records compute() is given */
    int32_t stage;
    int32_t number; /* without a name: among those of the same op, from 0; for its random key */
    int32_t first_output; /* index of the first output; its tensors follow each other */
    int32_t *inputs;      /* tensors; one per input of the op, or of the producer, num_inputs */
    pfd_node *producer;   /* owned reference; the op that this one does as well; NULL: none */
    pfd_fused_compute fused; /* the compute() of both */
} pfd_plan_op;

typedef struct pfd_plan {
    pfd_plan_op *ops; /* in an order in which inputs come first */
    int32_t num_ops;
    pfd_plan_tensor *tensors;
    int32_t num_tensors;
    uint32_t most_inputs; /* the most inputs of one op */
    pfd_data_reader *readers;
    int32_t num_readers;
    int64_t num_file_words; /* of a pfd_file_set */
    pfd_view_tree **trees; /* by reader; NULL for one that is no data set; num_trees of them */
    int32_t num_trees;
    int64_t **branch_bytes; /* by tree: bytes of a row in each branch; NULL as in trees */
    int32_t num_record_arrays; /* in a batch: one per reader; with trees another one per reader,
                                  with the records that random numbers depend on */
    const pfd_bounds *bounds; /* borrowed */
    int32_t *wanted;               /* tensor of each blob that the user asked for */
    int64_t *offsets;              /* their places in the slot; if ragged, of the
                                      pfd_ragged_batch */
    int64_t num_wanted;

    int32_t zip; /* PFD_ZIP_* */
    int32_t num_stages;
    int32_t num_ragged;       /* tensors that are ragged and wanted */
    int32_t keeps_bytes;      /* bytes of rows are kept until the batch is complete */
    int32_t stream;           /* some reader is a stream: batches are read one after the other */
    int64_t num_batches;      /* -1: known at the end of the epoch */
    int64_t known_batches;    /* the same; of a stream, with its end, from its first epoch's end on;
                                 guarded by the loader's lock */
    int64_t local_batch_size; /* rows of a slot */
    int64_t chunk_rows;       /* rows of a range; does not depend on the number of threads, so that
                                 failures repeat */
    int64_t num_chunks;       /* ranges of a full batch */
    int64_t ragged_bytes;     /* bytes of a batch's values, guessed from the size of the files */
    int64_t slot_bytes;       /* multiple of 64 */
    int64_t worker_bytes;
} pfd_plan;

/* Collects the nodes of the blobs, opens the readers, lays out the memory. `zip` and `has_peers`
 * are those of pfd_loader_options, `bounds` are borrowed by the readers.
 * A failure leaves a plan that close() accepts. */
pfd_status pfd_plan_open(pfd_plan *plan, const pfd_blob *blobs, int64_t num_blobs, int32_t zip,
                         int32_t has_peers, const pfd_bounds *bounds, pfd_error *err);
void pfd_plan_close(pfd_plan *plan); /* accepts a zeroed struct */

/* The tree of a reader that makes batches of a data set with views; else NULL. */
static inline const pfd_view_tree *pfd_plan_tree_of(const pfd_plan *plan, int32_t reader)
{
    const pfd_view_tree *tree = reader < plan->num_trees ? plan->trees[reader] : NULL;
    return tree && !tree->is_direct ? tree : NULL;
}

/* A tensor with rows of a type, which lies nowhere yet.  Where only the first dimension varies,
 * row_splits count in it, and no shapes are needed. */
pfd_plan_tensor pfd_plan_tensor_of(const pfd_row_type *type, const char *name);

/* plan_memory.c: decides in which stage each op runs; nothing need be opened. */
void pfd_plan_set_stages(pfd_plan *plan);

/* plan_memory.c: decides the stages, how many rows a range has, and where tensors lie. */
pfd_status pfd_plan_lay_out(pfd_plan *plan, pfd_error *err);

/* plan_memory.c: batches in flight where the program gives no number; `plan` is a pfd_plan. */
int32_t pfd_plan_usual_prefetch(const void *plan, int32_t num_threads);

/* plan_memory.c: to how many threads a search may go, with PFD_AUTO. */
int32_t pfd_plan_most_threads(const pfd_plan *plan, int32_t num_threads, int64_t memory_budget);
#endif
