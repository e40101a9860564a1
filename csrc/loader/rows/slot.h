/* loader/rows/slot.h -- the memory and the state of one batch.
 *
 * OWNERSHIP  The loader owns slots, even while a user holds the batch.  Records are views into the
 *            scratch, or into the reader's files.
 * THREADS    Until it is ready a slot belongs to its loops, then to the thread that delivers it.
 *            Fields that the lock guards are marked below.
 */
#ifndef PFD_LOADER_SLOT_H
#define PFD_LOADER_SLOT_H
#include "core/multi_thread_loop.h"
#include "core/scratch.h"
#include "loader/plan/plan.h"

/* A damaged record that on_error="skip" or "pad" skips; skipped_rows.c. */
typedef struct pfd_skipped_row {
    int64_t row;    /* in the batch as it was started */
    int64_t place;  /* among the rows that remained when it failed */
    int32_t filler; /* a repeated record: not counted again */
    int32_t reader; /* the reader whose on_error counts */
    int32_t pad;    /* the row stays, zeroed and masked */
    int64_t *ids;   /* owned; file and ordinal for each reader, to pad with; NULL: padded already */
    pfd_error *error; /* owned; NULL after the first PFD_MOST_SKIPPED_ERRORS of a batch */
} pfd_skipped_row;

#define PFD_MOST_SKIPPED_ERRORS 100

/* The memory of the rows of a batch until it is complete: one scratch for each row range. */
typedef struct pfd_arenas {
    struct pfd_arenas *next_free;
    int64_t bytes; /* counted in the loader's ragged_bytes */
    int64_t num_ranges;
    pfd_scratch *ranges[];
} pfd_arenas;

typedef struct pfd_slot {
    struct pfd_loader *loader;
    struct pfd_slot *next_free;
    int32_t number; /* among all slots that the loader ever had; under its lock */

    uint8_t *memory; /* plan->slot_bytes, right after this struct */

    int64_t epoch, step;
    int64_t rows;
    int64_t *first_positions; /* per reader: where the batch begins, for at() */
    const int64_t *positions; /* borrowed: of each row, for at(); NULL: they follow the first one */
    pfd_record **records;  /* per reader: the rows of a stream, or of a batch with several stages;
                              else NULL, and they are the worker's */
    int64_t *row_numbers;  /* with several stages: of each row, in the batch as it was started */
    pfd_scratch *scratch;  /* of the stream records' bytes */
    int64_t scratch_bytes; /* the part of it that is counted in the loader's stream_bytes */
    int32_t end;           /* 1: not a batch, but the end of a stream's epoch */

    uint8_t *values;         /* of the ragged blobs, one after the other */
    int64_t values_capacity; /* bytes */
    int64_t values_counted;  /* the part of them that the loader's ragged_bytes has or expects */
    pfd_arenas *arenas;      /* while the batch is made, if the plan needs them; else NULL */

    int32_t stage; /* the current one; plan->num_stages: joining ragged rows; under the lock */
    pfd_loop *more_loops; /* of the stages after the first, and of the joining */
    int32_t num_more_loops;
    pfd_loop loop;        /* over the rows; its status and error are those of the batch, even if a
                             stream failed before there were rows */
    int32_t started, ready; /* the loop over the rows; under the loader's lock */

    pfd_skipped_row *skipped_rows; /* appended under the loader's lock */
    int64_t num_skipped_rows, skipped_capacity;
    int64_t num_settled; /* skipped rows that pfd_slot_remove_skipped_rows() has handled */
} pfd_slot;

int64_t pfd_slot_cost(const pfd_plan *plan);     /* bytes of a slot, all that belongs to it */
pfd_slot *pfd_slot_create(const pfd_plan *plan); /* NULL: out of memory */
pfd_slot *pfd_slot_of(void *memory);             /* the slot that has this memory */
void pfd_slot_free(pfd_slot *slot);              /* accepts NULL */

pfd_arenas *pfd_arenas_create(const pfd_plan *plan); /* NULL: out of memory */
void pfd_arenas_free(pfd_arenas *arenas);            /* accepts NULL */
void pfd_arenas_reset(pfd_arenas *arenas);
int64_t pfd_arenas_bytes(const pfd_arenas *arenas); /* held */

/* Whether the stream continues with the next batch after this loop failed: only a record was
 * damaged. */
int32_t pfd_slot_loop_can_pass(const pfd_loop *loop);

/* Adds a row and a copy of its error; takes skipped->ids. 0: out of memory. */
int32_t pfd_slot_add_skipped_row(pfd_slot *slot, const pfd_skipped_row *skipped);
void pfd_slot_clear_skipped_rows(pfd_slot *slot);

/* Puts the skipped rows of the stage in order; removes the rows that are not padded from all
 * tensors, and lowers `rows`. */
void pfd_slot_remove_skipped_rows(const pfd_plan *plan, pfd_slot *slot);

/* After the last of several stages: puts the padded rows back, zeroed except for their ids. */
void pfd_slot_insert_padded_rows(const pfd_plan *plan, pfd_slot *slot);
#endif
