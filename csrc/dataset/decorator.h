/* dataset/decorator.h -- what decorators share: making one, reading ahead, and keeping records.
 *
 * Bytes from an inner dataset live as long as the scratch of that call.  A decorator that keeps
 * records for a later call reads through a feed, which has its own scratch, and copies what it
 * keeps into cells.
 *
 * OWNERSHIP  A feed owns its scratch and borrows the inner dataset; a cell owns its copy.
 * THREADS    One thread at a time.
 * ERRORS The errors of the inner dataset are forwarded with err->row = -1: a row of a feed means
 *            nothing to the caller.
 */
#ifndef PFD_DATASET_DECORATOR_H
#define PFD_DATASET_DECORATOR_H
#include "core/scratch.h"
#include "dataset/dataset.h"

/* A zeroed struct of `bytes` that begins with a dataset over `inner`; NULL: out of memory. */
void *pfd_decorator_create(size_t bytes, const pfd_dataset_methods *methods, pfd_dataset *inner,
                           pfd_error *err);

/* Methods of a decorator that owns nothing else, and of one with as many records as its inner. */
void pfd_decorator_close(pfd_dataset *ds);
int64_t pfd_decorator_size(const pfd_dataset *ds);

/* ---- A dataset's records one by one ---------------------------------------------------------- */

#define PFD_RECORDS_PER_FEED 64

typedef struct pfd_record_feed {
    pfd_dataset *inner;   /* borrowed */
    pfd_scratch *scratch; /* memory of the fetched records */
    int64_t next, count;  /* fetched, not taken: records[next ... count) */
    int32_t ended;        /* the inner dataset's epoch is over */
    pfd_record records[PFD_RECORDS_PER_FEED];
} pfd_record_feed;

pfd_status pfd_record_feed_open(pfd_record_feed *feed, pfd_dataset *inner, pfd_error *err);
void pfd_record_feed_close(pfd_record_feed *feed); /* accepts a zeroed one */
/* Goes to the first record of an epoch. */
pfd_status pfd_record_feed_seek(pfd_record_feed *feed, int64_t epoch, pfd_error *err);
/* The next record, valid until the peek after a take; PFD_END after the last one.  After the inner
 * dataset has failed, the next peek calls it again. */
pfd_status pfd_record_feed_peek(pfd_record_feed *feed, const pfd_record **record, pfd_error *err);
void pfd_record_feed_take(pfd_record_feed *feed); /* consumes the peeked record */
/* Whether peek() would answer without calling the inner dataset. */
int32_t pfd_record_feed_is_ready(const pfd_record_feed *feed);

/* ---- Memory for one record, used again and again --------------------------------------------- */

typedef struct pfd_record_cell {
    pfd_record record; /* its data is `memory` */
    uint8_t *memory;
    int64_t capacity;
} pfd_record_cell;

/* Keeps a copy of the record; on failure the cell is unchanged. */
pfd_status pfd_record_cell_store(pfd_record_cell *cell, const pfd_record *record, pfd_error *err);
void pfd_record_cell_free(pfd_record_cell *cell); /* accepts a zeroed one */
#endif
