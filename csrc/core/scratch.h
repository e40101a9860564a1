/* core/scratch.h -- memory that is freed as a whole.
 *
 * A scratch grows by blocks, and keeps them: after a few resets, an equal load allocates nothing.
 *
 * A scratch also keeps memory that others lend it, until it is reset: a kernel whose rows point
 * into borrowed memory, such as a decoded row group, lends this memory to the scratch in place of
 * copying the rows.  The kernel then states that its rows last.
 *
 * A scratch also tells whether reads into it may wait for a store.
 *
 * THREADS  One thread at a time.
 */
#ifndef PFD_CORE_SCRATCH_H
#define PFD_CORE_SCRATCH_H
#include "pyflowdata/op.h"

#include <stdatomic.h>

/* The limits of a loader's work. */
typedef struct pfd_bounds {
    _Atomic int32_t cancelled; /* 1: give up */
    int64_t most_bytes;        /* limit of a scratch, or of a window of a stream; 0: none */
    _Atomic int64_t *retries;  /* calls of the system that were tried again; NULL: not counted */
    struct pfd_arrow_account *decoded; /* of all readers, see sources/arrow_cache.h; NULL: each
                                          reader has one of its own */
    int32_t (*is_interrupted)(void *unused); /* as of pfd_loader_options */
} pfd_bounds;

pfd_scratch *pfd_scratch_create(void);       /* NULL: out of memory */
void pfd_scratch_free(pfd_scratch *scratch); /* accepts NULL */
/* 64-byte aligned. NULL: out of memory, or over the bounds. */
void *pfd_scratch_alloc(pfd_scratch *scratch, int64_t bytes);
void pfd_scratch_reset(pfd_scratch *scratch); /* earlier allocations become invalid; blocks are
                                                 merged so that the next load fits in one */

/* The memory of the rows that one call of a kernel makes. */
typedef struct pfd_call_memory {
    pfd_scratch *lasting; /* takes what the call lends, and is reset later; NULL: the call's scratch
                             takes it */
    int32_t rows_last;    /* the kernel stated that its rows last */
    int64_t elements;     /* of rows that the kernel padded, ... */
    int64_t padded;       /* ... and those of them that are padding */
} pfd_call_memory;

/* Begins a call, whose memory is borrowed until it ends; NULL ends it. */
void pfd_scratch_set_call(pfd_scratch *scratch, pfd_call_memory *call);
/* Lends something, which give_back() ends at the next reset, in any thread.  0: out of memory, and
 * give_back() is not called. */
int32_t pfd_scratch_lend(pfd_scratch *scratch, void (*give_back)(void *lent), void *lent);
/* Where a kernel may put rows that last: what takes the call's loans. */
pfd_scratch *pfd_scratch_lasting(pfd_scratch *scratch);
/* A kernel states of all ragged rows of its call: each one is in the scratch itself, in memory that
 * the call lent, or in memory that lives as long as the loader.  Does nothing outside a call. */
void pfd_scratch_rows_last(pfd_scratch *scratch);
/* A kernel that pads states how many elements its rows have, and how many of these are padding. */
void pfd_scratch_note_padding(pfd_scratch *scratch, int64_t elements, int64_t padded);
/* Whether an address is in the scratch's own memory. */
int32_t pfd_scratch_has(const pfd_scratch *scratch, const void *address);

/* The bounds are borrowed; a new scratch has none. */
void pfd_scratch_set_bounds(pfd_scratch *scratch, const pfd_bounds *bounds);
/* Takes the bounds of another scratch, and whether its reads wait; NULL: none, and they wait. */
void pfd_scratch_inherit(pfd_scratch *scratch, const pfd_scratch *from);
/* Whether reads into the scratch may wait for a store, as they may at first.  If not, a read of
 * bytes that are not in the cache asks for them and fails. */
void pfd_scratch_set_waits(pfd_scratch *scratch, int32_t waits);
int32_t pfd_scratch_waits(const pfd_scratch *scratch);
const pfd_bounds *pfd_scratch_bounds(const pfd_scratch *scratch); /* NULL: none; of NULL too */
int32_t pfd_scratch_is_cancelled(const pfd_scratch *scratch);
int64_t pfd_scratch_most_bytes(const pfd_scratch *scratch); /* INT64_MAX: any number; of NULL too */

/* Bytes that were in use together with those of the alloc() over the bounds; 0: none was. */
int64_t pfd_scratch_refused(const pfd_scratch *scratch);

/* Where the failure `status` in *err came from an alloc() over the bounds, the message says so.
 * Returns status. */
pfd_status pfd_scratch_explain(const pfd_scratch *scratch, pfd_status status, pfd_error *err);
int64_t pfd_scratch_bytes(const pfd_scratch *scratch); /* held */
#endif
