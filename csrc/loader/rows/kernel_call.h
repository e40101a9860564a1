/* loader/rows/kernel_call.h -- one call of an op's compute(), with all that is checked around it.
 *
 * THREADS  Any number, on rows and scratches of their own.
 * ERRORS   err->row is in the call's range, or -1; the caller adds op and place.
 */
#ifndef PFD_LOADER_ROWS_KERNEL_CALL_H
#define PFD_LOADER_ROWS_KERNEL_CALL_H
#include "core/fusion.h"
#include "core/scratch.h"
#include "loader/plan/plan.h"

typedef struct pfd_kernel_call {
    const pfd_node *node;
    const void *source; /* a reader's source, as in pfd_compute_args */
    int64_t num_rows;
    const pfd_record *records;
    const pfd_tensor *const *inputs;
    pfd_tensor *const *outputs;
    const pfd_plan_tensor *output_types; /* one per output of the op itself */
    pfd_scratch *scratch;
    pfd_call_memory memory; /* `lasting` is set before the call; rows_last is 0 after a failure */
    uint64_t random_key;
    const pfd_node *producer; /* the op whose work and inputs this call has as well; NULL: none */
    pfd_fused_compute fused;  /* with a producer, in place of compute() */
    int32_t producer_has_failed; /* after the call: the failure is the producer's */
} pfd_kernel_call;

/* Empties the ragged outputs, calls compute(), and checks what it returned and made of them. */
pfd_status pfd_kernel_call_run(pfd_kernel_call *call, pfd_error *err);

/* After a failure: the name of the op that failed. */
const char *pfd_kernel_call_failed_op(const pfd_kernel_call *call);

/* A key made of seed, epoch and name; nodes of one op without a name differ by their number. */
uint64_t pfd_node_random_key(const pfd_node *node, int64_t seed, int64_t epoch, int32_t number);

/* A row that is not of a range becomes -1, and the message says so. */
void pfd_check_failed_row(int64_t rows, pfd_error *err);
#endif
