/* loader/rows/row_batch.h -- the rows of one batch while they are made, and those that are skipped.
 *
 * A record that fails, because it is damaged or its decoder refuses it, costs its own row only, if
 * the reader's on_error is "skip" or "pad": leave_out() in kernel_chain.c notes the row here, and
 * the rows before and after it are made.  At the end of a stage the row is removed from all
 * tensors; with "pad" it stays, zeroed and masked.  When the batch is delivered,
 * report_skipped_rows() in ring.c counts its skipped rows against max_skipped, and keeps their
 * errors for loader.skipped.  With "raise" the failure is that of the batch.
 *
 * OWNERSHIP  The ring owns the struct and `memory`, and closes the rest.  Records are views into
 *            the arenas, or into the readers' files.
 * THREADS    Threads make ranges that do not overlap.  What the loader's `lock` guards says so.
 */
#ifndef PFD_LOADER_ROWS_ROW_BATCH_H
#define PFD_LOADER_ROWS_ROW_BATCH_H
#include "core/scratch.h"
#include "loader/plan/plan.h"

/* A damaged record that on_error="skip" or "pad" skips. */
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

typedef struct pfd_row_batch {
    uint8_t *memory; /* plan->slot_bytes: where tensors with in_slot are */

    int64_t epoch, step;
    int64_t rows;
    int64_t *first_positions; /* per reader: where the batch begins, for at() */
    const int64_t *positions; /* borrowed: of each row, for at(); NULL: they follow the first one */
    pfd_record **records; /* per reader: the rows of a stream, or of a batch with several stages;
                             else NULL, and they are the worker's */
    pfd_file_set *files; /* that its rows were read from, whose bytes must be those at open */
    int64_t *row_numbers; /* with several stages: of each row, in the batch as it was started */
    int32_t stage; /* the current one; plan->num_stages: joining ragged rows; under the lock */

    uint8_t *values;         /* values of the ragged blobs, one after the other */
    int64_t values_capacity; /* bytes */
    pfd_arenas *arenas;      /* while the batch is made, if the plan needs them; else NULL */

    pfd_skipped_row *skipped_rows; /* appended under the loader's lock */
    int64_t num_skipped_rows, skipped_capacity;
    int64_t num_settled; /* skipped rows that pfd_skipped_rows_remove() has handled */
} pfd_row_batch;

int64_t pfd_row_batch_cost(const pfd_plan *plan); /* bytes, without memory, values and arenas */
int32_t pfd_row_batch_open(const pfd_plan *plan, pfd_row_batch *batch); /* 0: out of memory */
void pfd_row_batch_close(pfd_row_batch *batch); /* accepts one that is not whole */

pfd_arenas *pfd_arenas_create(const pfd_plan *plan); /* NULL: out of memory */
void pfd_arenas_free(pfd_arenas *arenas);            /* accepts NULL */
void pfd_arenas_reset(pfd_arenas *arenas);
int64_t pfd_arenas_bytes(const pfd_arenas *arenas); /* held */

/* Adds a row and a copy of its error; takes skipped->ids. 0: out of memory. */
int32_t pfd_skipped_rows_add(pfd_row_batch *batch, const pfd_skipped_row *skipped);
void pfd_skipped_rows_clear(pfd_row_batch *batch);

/* Puts the skipped rows of the stage in order; removes the rows that are not padded from all
 * tensors, and lowers `rows`. */
void pfd_skipped_rows_remove(const pfd_plan *plan, pfd_row_batch *batch);

/* After the last of several stages: puts the padded rows back, zeroed except for their ids. */
void pfd_skipped_rows_put_back(const pfd_plan *plan, pfd_row_batch *batch);
#endif
