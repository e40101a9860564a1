/* loader/rows/kernel_chain.h -- runs all ops of a stage over a row range, while the range is in
 * the cache, and runs the ops that need the whole batch over the batch.
 *
 * OWNERSHIP  A worker owns its memory; plan and batch are borrowed for the call.
 * THREADS    One thread at a time per worker; any number of threads in one batch, on ranges that
 *            do not overlap.
 * ERRORS     Name op, file, line, ordinal and byte of the record.
 */
#ifndef PFD_LOADER_ROWS_KERNEL_CHAIN_H
#define PFD_LOADER_ROWS_KERNEL_CHAIN_H
#include "loader/rows/branch_rows.h"
#include "loader/rows/row_batch.h"
#include "loader/watch/work.h"

/* The key of an op's random numbers, and of what it was made: hashes of names take as long as a
 * small range. */
typedef struct pfd_op_key {
    int64_t seed, epoch; /* epoch -1: there is none yet */
    uint64_t key;
} pfd_op_key;

/* What one thread needs for a range; allocated at open. */
typedef struct pfd_worker {
    uint8_t *memory;      /* tensors that are not wanted, for chunk_rows rows */
    pfd_record **records; /* plan->num_record_arrays, chunk_rows each */
    pfd_branch_rows **branches; /* per tree: one per branch; NULL as in plan->trees */
    int64_t *positions;   /* chunk_rows */
    pfd_tensor *tensors;  /* tensors of the range, one per plan tensor */
    pfd_tensor **ports;   /* to tensors: of the current op its inputs, plan->most_inputs, then
                             all tensors in order */
    pfd_op_key *keys;     /* one per op of the plan */
    uint8_t *rows_last;   /* one per op.  1: its last call stated that its rows last.  They then
                             need a copy only if they are in `scratch` */
    pfd_scratch *at_scratch, *scratch;
    int32_t failed_reader; /* whose record failed */
    pfd_work work;
    char apart[64]; /* from the next one, which another thread writes: a cache line */
} pfd_worker;

int32_t pfd_worker_open(const pfd_plan *plan, pfd_worker *worker); /* 0: out of memory */
void pfd_worker_close(const pfd_plan *plan, pfd_worker *worker);   /* accepts a zeroed struct */

/* Reports a row that a policy leaves out; 0: out of memory. */
typedef int32_t (*pfd_skip_row_fn)(pfd_row_batch *batch, const pfd_skipped_row *skipped);

/* Makes rows [begin, end) of a batch, in batch->stage; end - begin <= plan->chunk_rows, or
 * the stage is over the whole batch, and so is the range. A record that fails with PFD_CORRUPT_DATA
 * goes to skip_row() where its reader's on_error says so. An op over the whole batch is then run
 * again without it; what ops before it have made of the batch stays as it is. */
pfd_status pfd_kernel_chain_run(const pfd_plan *plan, pfd_worker *worker, pfd_row_batch *batch,
                                int64_t begin, int64_t end, pfd_skip_row_fn skip_row,
                                pfd_error *err);
#endif
