/* core/scratch.h -- memory that is freed as a whole.
 *
 * A scratch grows by blocks while it is new and keeps them: after a few resets an equal load
 * allocates nothing.
 * THREADS  One thread at a time.
 */
#ifndef PFD_CORE_SCRATCH_H
#define PFD_CORE_SCRATCH_H
#include "pyflowdata/op.h"

#include <stdatomic.h>

pfd_scratch *pfd_scratch_create(void);                        /* NULL: out of memory */
void pfd_scratch_free(pfd_scratch *scratch);                  /* accepts NULL */
void *pfd_scratch_alloc(pfd_scratch *scratch, int64_t bytes); /* 64-byte aligned; NULL: no memory */
void pfd_scratch_reset(pfd_scratch *scratch); /* what was handed out is invalid from here on; blocks
                                                 are merged so that the next load fits in one */

/* is_cancelled() of the host: the flag is borrowed, 1 means yes; without one it is no. */
void pfd_scratch_set_cancel(pfd_scratch *scratch, const _Atomic int32_t *cancel);
/* Takes over the flag of another scratch, which may be NULL. */
void pfd_scratch_inherit_cancel(pfd_scratch *scratch, const pfd_scratch *from);
int32_t pfd_scratch_is_cancelled(const pfd_scratch *scratch);
int64_t pfd_scratch_bytes(const pfd_scratch *scratch); /* held */
#endif
