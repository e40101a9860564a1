/* check/visit_records.h -- one way through the records of a source.
 *
 * OWNERSHIP  A visit borrows its source and shared hashes.
 * THREADS    One visit per thread; several may share a random-access source and the hashes.
 */
#ifndef PFD_KIT_CHECK_VISIT_RECORDS_H
#define PFD_KIT_CHECK_VISIT_RECORDS_H
#include "check/calls.h"

#include <pthread.h>

/* The hash of each record that a run looks at, by its index; 0: not seen, 1: failed. */
typedef struct pfd_kit_hashes {
    uint64_t *records, *rows;
    pfd_kit_span *spans; /* NULL: not wanted */
    int64_t size;
    pthread_mutex_t *lock;
} pfd_kit_hashes;

typedef struct pfd_kit_visit {
    pfd_kit_call call;
    const pfd_kit_source *source;
    const pfd_record *gathered; /* all records of a reader upstream; NULL: call at() */
    int64_t n;                  /* records that are looked at */
    int32_t order;
    uint64_t seed;
    pfd_kit_hashes hashes;
    pfd_kit_scratch scratch;
    pfd_record *records; /* of the current range */
    int64_t *indices;
    uint64_t *found; /* record hashes, then row hashes of the range */
    pfd_error err;
    int64_t begin;    /* begin of the next range in the visit's order; a stream's position */
    int64_t failures; /* of a stream so far */
} pfd_kit_visit;

int32_t pfd_kit_visit_open(pfd_kit_visit *visit); /* 0: out of memory; close() all the same */
void pfd_kit_visit_close(pfd_kit_visit *visit);

/* Visits all records, by at() or as gathered. */
pfd_status pfd_kit_visit_records(pfd_kit_visit *visit);
/* Visits the next range; PFD_END at the end. */
pfd_status pfd_kit_visit_some(pfd_kit_visit *visit);

/* Visits all records by next(); *yielded is their number. */
pfd_status pfd_kit_visit_stream(pfd_kit_visit *visit, int64_t *yielded);
/* Begin a visit by next(); visit the next range, and add its records to *yielded. */
pfd_status pfd_kit_visit_stream_begin(pfd_kit_visit *visit);
pfd_status pfd_kit_visit_stream_some(pfd_kit_visit *visit, int64_t *yielded);

/* The ordinal of record `index` among `n` of `size`: the first half and the last. */
static inline int64_t pfd_kit_ordinal(int64_t index, int64_t n, int64_t size)
{
    return index < n - n / 2 ? index : size - n + index;
}
#endif
