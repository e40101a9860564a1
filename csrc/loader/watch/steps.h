/* loader/watch/steps.h -- how long a program waits for batches, and how long it takes between them.
 *
 * OWNERSHIP  `kept` is freed by pfd_steps_resume(), or by who frees the loader.
 * THREADS    With the loader's `lock` held.
 */
#ifndef PFD_LOADER_STEPS_H
#define PFD_LOADER_STEPS_H
#include "pyflowdata/pyflowdata.h"

typedef struct pfd_steps {
    int64_t asked_ns, delivered_ns; /* as in pfd_stats */
    int32_t asks;       /* next() was called for a batch that it has not given yet */
    int32_t was_ready;  /* which was complete then */
    int32_t is_restart; /* it is the first batch since open, or since a seek */
    int64_t starts, start_ns;
    int64_t steps, waited_steps, wait_ns, train_ns;
    int64_t longest_train_ns; /* since tuning set it to 0 */
    int64_t period_end_ns;
    pfd_history history;
    int32_t pauses;         /* that are open */
    struct pfd_steps *kept; /* as it was when the first of them began; NULL: none is open */
} pfd_steps;

/* The program asks for a batch; called again while it waits, this has no effect. */
void pfd_steps_ask(pfd_steps *steps, int64_t now_ns, int32_t is_ready);
/* It gets that batch, number `step` of an epoch, of so many rows; so many others are complete. */
void pfd_steps_deliver(pfd_steps *steps, int64_t step, int64_t rows, int64_t num_ready);
/* It gets something else: the end of an epoch, an exception. */
void pfd_steps_forget(pfd_steps *steps);
/* Another batch than the next one is next. */
void pfd_steps_restart(pfd_steps *steps);

/* What is counted between the two does not last.  Pauses may be nested.  0: out of memory. */
int32_t pfd_steps_pause(pfd_steps *steps);
void pfd_steps_resume(pfd_steps *steps);
#endif
