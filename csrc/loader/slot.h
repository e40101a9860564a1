/* loader/slot.h -- the memory of one batch, and what is known of the batch.
 *
 * OWNERSHIP  Slots are the loader's, also while a user holds the batch; records are views into the
 *            scratch, or into the reader's files.
 * THREADS    Until it is ready a slot belongs to its loops, then to who delivers it; what the lock
 *            guards says so below.
 */
#ifndef PFD_LOADER_SLOT_H
#define PFD_LOADER_SLOT_H
#include "core/multi_thread_loop.h"
#include "core/scratch.h"
#include "loader/plan.h"

/* A record that on_error="skip" or "pad" left out. */
typedef struct pfd_bad_row {
    int64_t row;
    int32_t filler;   /* a repeated record: not counted again */
    int32_t reader;   /* whose policy it is */
    int32_t pad;      /* the row stays, zeroed and masked */
    pfd_error *error; /* owned; NULL behind the first PFD_MOST_BAD_ROW_ERRORS of a batch */
} pfd_bad_row;

#define PFD_MOST_BAD_ROW_ERRORS 100

typedef struct pfd_slot {
    struct pfd_loader *loader;
    struct pfd_slot *next_free;

    uint8_t *memory; /* plan->slot_bytes, right behind this struct */

    int64_t epoch, step;
    int64_t rows;
    int64_t *first_positions; /* per reader: where the batch begins, for at() */
    pfd_record **records;     /* per reader: rows of a stream's batch; NULL in random access */
    pfd_scratch *scratch;     /* of the stream records' bytes */
    int64_t scratch_bytes;    /* of them counted in the loader's stream_bytes */
    int32_t end;              /* not a batch, but the end of a stream's epoch */

    pfd_loop loop;        /* over the rows; its status and error are the batch's, also when a
                             stream failed before there were rows */
    int32_t begun, ready; /* the loop over the rows; under the loader's lock */

    pfd_bad_row *bad_rows; /* appended under the loader's lock */
    int64_t num_bad_rows, bad_rows_capacity;
} pfd_slot;

int64_t pfd_slot_cost(const pfd_plan *plan);     /* bytes of a slot, all that belongs to it */
pfd_slot *pfd_slot_create(const pfd_plan *plan); /* NULL: out of memory */
pfd_slot *pfd_slot_of(void *memory);             /* the slot that has this memory */
void pfd_slot_free(pfd_slot *slot);              /* accepts NULL */

/* Adds a row and a copy of its error. 0: out of memory. */
int32_t pfd_slot_add_bad_row(pfd_slot *slot, const pfd_bad_row *bad);
void pfd_slot_clear_bad_rows(pfd_slot *slot);

/* Puts the bad rows in order; takes those that are not padded out of all blobs, and out of `rows`.
 */
void pfd_slot_remove_bad_rows(const pfd_plan *plan, pfd_slot *slot);
#endif
